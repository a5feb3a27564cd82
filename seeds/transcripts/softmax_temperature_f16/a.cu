// Row softmax with a temperature, one block for a row, in two passes: a running maximum with a sum that is
// rescaled when the maximum grows, then the result.
#include <cuda_fp16.h>
#include <math.h>
#include <stdint.h>

#define THREADS 128
#define WARPS (THREADS / 32)
#define ALL 0xffffffffu
#define LOG2E 1.4426950408889634f

// Joins the sum of exponentials relative to the maximum m with another one; powers of 2 throughout.
__device__ __forceinline__ void join(float &m, float &sum, float other_m, float other_sum)
{
	float top = fmaxf(m, other_m);

	// a lane that has seen nothing has the maximum -inf and the sum 0
	if (top == -INFINITY)
		return;
	sum = sum * exp2f(m - top) + other_sum * exp2f(other_m - top);
	m = top;
}

__global__ void softmax(const __half *x, const float *t, __half *y, int64_t D)
{
	__shared__ float largest[WARPS], sums[WARPS];
	const __half *in = x + (int64_t)blockIdx.x * D;
	__half *out = y + (int64_t)blockIdx.x * D;
	float scale = LOG2E / t[blockIdx.x], m = -INFINITY, sum = 0;

	for (int64_t j = threadIdx.x; j < D; j += THREADS) {
		float v = __half2float(in[j]) * scale;

		if (v > m) {
			sum *= exp2f(m - v);
			m = v;
		}
		sum += exp2f(v - m);
	}
	for (int offset = 16; offset > 0; offset /= 2)
		join(m, sum, __shfl_xor_sync(ALL, m, offset), __shfl_xor_sync(ALL, sum, offset));
	if (threadIdx.x % 32 == 0) {
		largest[threadIdx.x / 32] = m;
		sums[threadIdx.x / 32] = sum;
	}
	__syncthreads();
	m = largest[0];
	sum = sums[0];
	for (int w = 1; w < WARPS; w++)
		join(m, sum, largest[w], sums[w]);

	float inverse = 1.0f / sum;
	for (int64_t j = threadIdx.x; j < D; j += THREADS)
		out[j] = __float2half(exp2f(__half2float(in[j]) * scale - m) * inverse);
}

extern "C" void solve(const __half *x, const float *t, __half *y, int64_t R, int64_t D, cudaStream_t stream)
{
	softmax<<<(unsigned)R, THREADS, 0, stream>>>(x, t, y, D);
}
