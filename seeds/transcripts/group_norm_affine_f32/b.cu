// Group normalisation in two launches: mean and scale of every group to scratch memory, then one thread for each
// element, which finds its group and channel from the flat index.
#include <stdint.h>

#define THREADS 256
#define WARPS (THREADS / 32)
#define ALL 0xffffffffu

__device__ float block_sum(float value, float *slots)
{
	for (int offset = 16; offset > 0; offset /= 2)
		value += __shfl_xor_sync(ALL, value, offset);
	if (threadIdx.x % 32 == 0)
		slots[threadIdx.x / 32] = value;
	__syncthreads();
	value = 0;
	for (int i = 0; i < WARPS; i++)
		value += slots[i];
	return value;
}

__global__ void statistics(const float *x, float2 *statistic, int64_t count, float eps)
{
	__shared__ float sums[WARPS], squares[WARPS];
	int64_t first = (int64_t)blockIdx.x * count;
	float sum = 0, square = 0;

	for (int64_t i = threadIdx.x; i < count; i += THREADS)
		sum += x[first + i];
	float mean = block_sum(sum, sums) / (float)count;

	for (int64_t i = threadIdx.x; i < count; i += THREADS) {
		float deviation = x[first + i] - mean;

		square += deviation * deviation;
	}
	square = block_sum(square, squares);
	if (threadIdx.x == 0)
		statistic[blockIdx.x] = make_float2(mean, rsqrtf(square / (float)count + eps));
}

__global__ void apply(const float *x, const float *w, const float *b, const float2 *statistic, float *y,
	int64_t total, int64_t C, int64_t K, int64_t L)
{
	int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;

	if (i >= total)
		return;
	float2 s = statistic[i / (K * L)];
	int64_t c = i / L % C;
	y[i] = (x[i] - s.x) * s.y * w[c] + b[c];
}

extern "C" void solve(const float *x, const float *w, const float *b, float *y,
	int64_t N, int64_t G, int64_t K, int64_t L, float eps, cudaStream_t stream)
{
	int64_t total = N * G * K * L;
	float2 *statistic;

	cudaMallocAsync((void **)&statistic, N * G * sizeof *statistic, stream);
	statistics<<<(unsigned)(N * G), THREADS, 0, stream>>>(x, statistic, K * L, eps);
	apply<<<(unsigned)((total + THREADS - 1) / THREADS), THREADS, 0, stream>>>(x, w, b, statistic, y,
		total, G * K, K, L);
	cudaFreeAsync(statistic, stream);
}
