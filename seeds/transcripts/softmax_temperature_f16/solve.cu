// Row softmax with a temperature, one block for a row, in three passes over the row: maximum, sum, result.
#include <cuda_fp16.h>
#include <math.h>
#include <stdint.h>

#define THREADS 128
#define WARPS (THREADS / 32)
#define ALL 0xffffffffu

__global__ void softmax(const __half *x, const float *t, __half *y, int64_t D)
{
	__shared__ float largest[WARPS], sums[WARPS];
	const __half *in = x + (int64_t)blockIdx.x * D;
	__half *out = y + (int64_t)blockIdx.x * D;
	float scale = 1.0f / t[blockIdx.x], m = -INFINITY, sum = 0;

	for (int64_t j = threadIdx.x; j < D; j += THREADS)
		m = fmaxf(m, __half2float(in[j]) * scale);
	for (int offset = 16; offset > 0; offset /= 2)
		m = fmaxf(m, __shfl_xor_sync(ALL, m, offset));
	if (threadIdx.x % 32 == 0)
		largest[threadIdx.x / 32] = m;
	__syncthreads();
	for (int w = 0; w < WARPS; w++)
		m = fmaxf(m, largest[w]);

	for (int64_t j = threadIdx.x; j < D; j += THREADS)
		sum += expf(__half2float(in[j]) * scale - m);
	for (int offset = 16; offset > 0; offset /= 2)
		sum += __shfl_xor_sync(ALL, sum, offset);
	if (threadIdx.x % 32 == 0)
		sums[threadIdx.x / 32] = sum;
	__syncthreads();
	sum = 0;
	for (int w = 0; w < WARPS; w++)
		sum += sums[w];

	for (int64_t j = threadIdx.x; j < D; j += THREADS)
		out[j] = __float2half(expf(__half2float(in[j]) * scale - m) / sum);
}

extern "C" void solve(const __half *x, const float *t, __half *y, int64_t R, int64_t D, cudaStream_t stream)
{
	softmax<<<(unsigned)R, THREADS, 0, stream>>>(x, t, y, D);
}
