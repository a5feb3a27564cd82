// Sliding-window attention: a block of 128 threads serves 32 queries of a head. The 47 keys and then the 47 values
// that they can see are staged in shared memory; four threads share a query, first its 16 scores (four each), then
// its features.
#include <math.h>
#include <stdint.h>

#define WINDOW 16
#define QUERIES 32
#define SEEN (QUERIES + WINDOW - 1)
#define THREADS 128
#define MAX_D 128
#define ALL 0xffffffffu

// Copies rows first .. first + count - 1 of a head into shared memory, zeros where there is no such row.
__device__ void stage(float *rows, const float *head, int64_t first, int count, int64_t T, int D, int pitch)
{
	for (int e = threadIdx.x; e < count * D; e += THREADS) {
		int r = e / D, d = e - r * D;
		int64_t row = first + r;

		rows[r * pitch + d] = row >= 0 && row < T ? head[row * D + d] : 0.0f;
	}
}

__global__ void window_attention(const float *q, const float *k, const float *v, float *y, int64_t T, int D)
{
	extern __shared__ float shared[];
	int pitch = D | 1;
	float *seen = shared, *queries = shared + SEEN * pitch;
	__shared__ float weights[QUERIES][WINDOW + 1];
	int64_t first = (int64_t)blockIdx.x * QUERIES, head = (int64_t)blockIdx.y * T * D;
	int query = threadIdx.x / 4, part = threadIdx.x % 4;
	float score[4] = {}, largest = -INFINITY, total = 0;

	stage(queries, q + head, first, QUERIES, T, D, pitch);
	stage(seen, k + head, first - WINDOW + 1, SEEN, T, D, pitch);
	__syncthreads();
	// score s of this thread belongs to the key that is staged at query + part + 4 * s
	for (int d = 0; d < D; d++) {
		float own = queries[query * pitch + d];

#pragma unroll
		for (int s = 0; s < 4; s++)
			score[s] = fmaf(own, seen[(query + part + 4 * s) * pitch + d], score[s]);
	}
	float scale = rsqrtf((float)D);
#pragma unroll
	for (int s = 0; s < 4; s++) {
		bool exists = first + query - WINDOW + 1 + part + 4 * s >= 0;

		score[s] = exists ? score[s] * scale : -INFINITY;
		largest = fmaxf(largest, score[s]);
	}
	largest = fmaxf(largest, __shfl_xor_sync(ALL, largest, 1));
	largest = fmaxf(largest, __shfl_xor_sync(ALL, largest, 2));
#pragma unroll
	for (int s = 0; s < 4; s++) {
		score[s] = __expf(score[s] - largest);
		total += score[s];
	}
	total += __shfl_xor_sync(ALL, total, 1);
	total += __shfl_xor_sync(ALL, total, 2);
#pragma unroll
	for (int s = 0; s < 4; s++)
		weights[query][part + 4 * s] = score[s] / total;
	__syncthreads();
	stage(seen, v + head, first - WINDOW + 1, SEEN, T, D, pitch);
	__syncthreads();
	for (int e = threadIdx.x; e < QUERIES * D; e += THREADS) {
		int r = e / D, d = e - r * D;
		float sum = 0;

#pragma unroll
		for (int j = 0; j < WINDOW; j++)
			sum = fmaf(weights[r][j], seen[(r + j) * pitch + d], sum);
		if (first + r < T)
			y[head + (first + r) * D + d] = sum;
	}
}

extern "C" void solve(const float *q, const float *k, const float *v, float *y,
	int64_t H, int64_t T, int64_t D, cudaStream_t stream)
{
	size_t bytes = (SEEN + QUERIES) * (D | 1) * sizeof(float);
	dim3 grid((unsigned)((T + QUERIES - 1) / QUERIES), (unsigned)H);

	// 79 rows of at most 129 floats are less than 48 KB, so no opt-in is needed
	window_attention<<<grid, THREADS, bytes, stream>>>(q, k, v, y, T, (int)D);
}
