// Row softmax with a temperature, one block for a row. A row of at most 2048 elements stays in registers, eight
// at a time from one 16-byte access, so that global memory is read once; other rows take the two-pass way.
#include <cuda_fp16.h>
#include <math.h>
#include <stdint.h>

#define THREADS 128
#define WARPS (THREADS / 32)
#define ALL 0xffffffffu
#define LOG2E 1.4426950408889634f

// Eight values in one 16-byte access; a struct of four pairs would be moved in four pieces.
union eight {
	uint4 words;
	__half2 pair[4];

	__device__ eight() {}
};

__device__ __forceinline__ float block_max(float m, float *slots)
{
	for (int offset = 16; offset > 0; offset /= 2)
		m = fmaxf(m, __shfl_xor_sync(ALL, m, offset));
	if (threadIdx.x % 32 == 0)
		slots[threadIdx.x / 32] = m;
	__syncthreads();
	for (int w = 0; w < WARPS; w++)
		m = fmaxf(m, slots[w]);
	return m;
}

__device__ __forceinline__ float block_sum(float sum, float *slots)
{
	for (int offset = 16; offset > 0; offset /= 2)
		sum += __shfl_xor_sync(ALL, sum, offset);
	if (threadIdx.x % 32 == 0)
		slots[threadIdx.x / 32] = sum;
	__syncthreads();
	sum = 0;
	for (int w = 0; w < WARPS; w++)
		sum += slots[w];
	return sum;
}

// GROUPS groups of eight for each thread; D is a multiple of 8 and at most GROUPS * 8 * THREADS.
template <int GROUPS>
__global__ void softmax_in_registers(const __half *x, const float *t, __half *y, int D)
{
	__shared__ float largest[WARPS], sums[WARPS];
	const uint4 *in = (const uint4 *)(x + (int64_t)blockIdx.x * D);
	uint4 *out = (uint4 *)(y + (int64_t)blockIdx.x * D);
	float scale = LOG2E / t[blockIdx.x], m = -INFINITY, sum = 0;
	float v[GROUPS][8];

#pragma unroll
	for (int g = 0; g < GROUPS; g++) {
		int at = threadIdx.x + g * THREADS;

		if (at < D / 8) {
			eight e;

			e.words = in[at];

#pragma unroll
			for (int k = 0; k < 4; k++) {
				float2 two = __half22float2(e.pair[k]);

				v[g][2 * k] = two.x * scale;
				v[g][2 * k + 1] = two.y * scale;
				m = fmaxf(m, fmaxf(v[g][2 * k], v[g][2 * k + 1]));
			}
		}
	}
	m = block_max(m, largest);
#pragma unroll
	for (int g = 0; g < GROUPS; g++) {
		if (threadIdx.x + g * THREADS < D / 8) {
#pragma unroll
			for (int k = 0; k < 8; k++) {
				v[g][k] = exp2f(v[g][k] - m);
				sum += v[g][k];
			}
		}
	}
	float inverse = 1.0f / block_sum(sum, sums);
#pragma unroll
	for (int g = 0; g < GROUPS; g++) {
		int at = threadIdx.x + g * THREADS;

		if (at < D / 8) {
			eight e;

#pragma unroll
			for (int k = 0; k < 4; k++)
				e.pair[k] = __floats2half2_rn(v[g][2 * k] * inverse, v[g][2 * k + 1] * inverse);
			out[at] = e.words;
		}
	}
}

__global__ void softmax(const __half *x, const float *t, __half *y, int64_t D)
{
	__shared__ float largest[WARPS], sums[WARPS];
	const __half *in = x + (int64_t)blockIdx.x * D;
	__half *out = y + (int64_t)blockIdx.x * D;
	float scale = LOG2E / t[blockIdx.x], m = -INFINITY, sum = 0;

	for (int64_t j = threadIdx.x; j < D; j += THREADS)
		m = fmaxf(m, __half2float(in[j]) * scale);
	m = block_max(m, largest);
	for (int64_t j = threadIdx.x; j < D; j += THREADS)
		sum += exp2f(__half2float(in[j]) * scale - m);
	float inverse = 1.0f / block_sum(sum, sums);
	for (int64_t j = threadIdx.x; j < D; j += THREADS)
		out[j] = __float2half(exp2f(__half2float(in[j]) * scale - m) * inverse);
}

extern "C" void solve(const __half *x, const float *t, __half *y, int64_t R, int64_t D, cudaStream_t stream)
{
	if (D % 8 == 0 && D <= 8 * THREADS)
		softmax_in_registers<1><<<(unsigned)R, THREADS, 0, stream>>>(x, t, y, (int)D);
	else if (D % 8 == 0 && D <= 16 * THREADS)
		softmax_in_registers<2><<<(unsigned)R, THREADS, 0, stream>>>(x, t, y, (int)D);
	else
		softmax<<<(unsigned)R, THREADS, 0, stream>>>(x, t, y, D);
}
