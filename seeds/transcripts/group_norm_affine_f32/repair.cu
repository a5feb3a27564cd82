// Group normalisation: the K*L values of a group are contiguous, and one block handles one group. The mean is
// known before any deviation is squared, so nothing cancels.
#include <stdint.h>

#define THREADS 256
#define WARPS (THREADS / 32)
#define ALL 0xffffffffu

// The sum over the block, valid in every thread. slots is used by no other call.
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

__global__ void group_norm(const float *x, const float *w, const float *b, float *y,
	int64_t G, int64_t K, int64_t L, float eps)
{
	__shared__ float sums[WARPS], squares[WARPS];
	int64_t count = K * L, first = (int64_t)blockIdx.x * count;
	int64_t channel = blockIdx.x % G * K;
	float sum = 0, square = 0;

	for (int64_t i = threadIdx.x; i < count; i += THREADS)
		sum += x[first + i];
	float mean = block_sum(sum, sums) / (float)count;

	for (int64_t i = threadIdx.x; i < count; i += THREADS) {
		float deviation = x[first + i] - mean;

		square += deviation * deviation;
	}
	float scale = rsqrtf(block_sum(square, squares) / (float)count + eps);

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
