// Group normalisation, one block for a group, in two passes over x: sums of the deviations from the group's
// first element give mean and variance together without cancellation.
#include <stdint.h>

#define THREADS 256
#define WARPS (THREADS / 32)
#define ALL 0xffffffffu

__global__ void group_norm(const float *x, const float *w, const float *b, float *y,
	int64_t G, int64_t K, int64_t L, float eps)
{
	__shared__ float2 parts[WARPS];
	int64_t count = K * L, first = (int64_t)blockIdx.x * count;
	int64_t channel = blockIdx.x % G * K;
	float base = x[first], sum = 0, square = 0;

	for (int64_t i = threadIdx.x; i < count; i += THREADS) {
		float v = x[first + i] - base;

		sum += v;
		square += v * v;
	}
	for (int offset = 16; offset > 0; offset /= 2) {
		sum += __shfl_xor_sync(ALL, sum, offset);
		square += __shfl_xor_sync(ALL, square, offset);
	}
	if (threadIdx.x % 32 == 0)
		parts[threadIdx.x / 32] = make_float2(sum, square);
	__syncthreads();
	sum = square = 0;
	for (int i = 0; i < WARPS; i++) {
		sum += parts[i].x;
		square += parts[i].y;
	}

	// mean and variance of x - base; the variance is that of x
	float mean = sum / (float)count;
	float scale = rsqrtf(fmaxf(square / (float)count - mean * mean, 0.0f) + eps);
	float shift = base + mean;
	for (int64_t k = 0; k < K; k++) {
		float gain = scale * w[channel + k], offset = b[channel + k];

		for (int64_t l = threadIdx.x; l < L; l += THREADS)
			y[first + k * L + l] = (x[first + k * L + l] - shift) * gain + offset;
	}
}

extern "C" void solve(const float *x, const float *w, const float *b, float *y,
	int64_t N, int64_t G, int64_t K, int64_t L, float eps, cudaStream_t stream)
{
	group_norm<<<(unsigned)(N * G), THREADS, 0, stream>>>(x, w, b, y, G, K, L, eps);
}
