// Group normalisation: the K*L values of a group are contiguous, and one block handles one group. The mean and
// the mean square come from one pass.
#include <stdint.h>

#define THREADS 256
#define WARPS (THREADS / 32)
#define ALL 0xffffffffu

__global__ void group_norm(const float *x, const float *w, const float *b, float *y,
	int64_t G, int64_t K, int64_t L, float eps)
{
	__shared__ float sums[WARPS], squares[WARPS];
	int64_t count = K * L, first = (int64_t)blockIdx.x * count;
	int64_t channel = blockIdx.x % G * K;
	float sum = 0, square = 0;

	for (int64_t i = threadIdx.x; i < count; i += THREADS) {
		float v = x[first + i];

		sum += v;
		square += v * v;
	}
	for (int offset = 16; offset > 0; offset /= 2) {
		sum += __shfl_xor_sync(ALL, sum, offset);
		square += __shfl_xor_sync(ALL, square, offset);
	}
	if (threadIdx.x % 32 == 0) {
		sums[threadIdx.x / 32] = sum;
		squares[threadIdx.x / 32] = square;
	}
	__syncthreads();
	sum = square = 0;
	for (int i = 0; i < WARPS; i++) {
		sum += sums[i];
		square += squares[i];
	}

	float mean = sum / (float)count;
	float scale = rsqrtf(square / (float)count - mean * mean + eps);
	for (int64_t i = threadIdx.x; i < count; i += THREADS) {
		int64_t c = channel + i / L;

		y[first + i] = (x[first + i] - mean) * scale * w[c] + b[c];
	}
}

extern "C" void solve(const float *x, const float *w, const float *b, float *y,
	int64_t N, int64_t G, int64_t K, int64_t L, float eps, cudaStream_t stream)
{
	group_norm<<<(unsigned)(N * G), THREADS, 0, stream>>>(x, w, b, y, G, K, L, eps);
}
