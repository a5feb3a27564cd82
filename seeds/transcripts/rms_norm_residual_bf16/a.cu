// Residual add and RMS normalisation: one block for a row. Where a row is a multiple of 8 and at most 2048 wide,
// every thread keeps eight sums in registers, so that x and r are read once and in 16-byte accesses.
#include <cuda_bf16.h>
#include <stdint.h>

#define THREADS 256
#define WARPS (THREADS / 32)
#define ALL 0xffffffffu

// Eight values in one 16-byte access; a struct of four pairs would be moved in four pieces.
union eight {
	uint4 words;
	__nv_bfloat162 pair[4];

	__device__ eight() {}
};

// The sum over the block, valid in every thread.
__device__ __forceinline__ float block_sum(float value)
{
	__shared__ float parts[WARPS];

	for (int offset = 16; offset > 0; offset /= 2)
		value += __shfl_xor_sync(ALL, value, offset);
	if (threadIdx.x % 32 == 0)
		parts[threadIdx.x / 32] = value;
	__syncthreads();
	value = 0;
	for (int w = 0; w < (int)blockDim.x / 32; w++)
		value += parts[w];
	return value;
}

__global__ void in_registers(const uint4 *x, const uint4 *r, const float4 *g, uint4 *h, uint4 *y, int D, float eps)
{
	int64_t at = (int64_t)blockIdx.x * (D / 8) + threadIdx.x;
	bool mine = threadIdx.x < D / 8;
	float s[8], squares = 0;

	if (mine) {
		eight a, b, sum;

		a.words = x[at];
		b.words = r[at];
#pragma unroll
		for (int k = 0; k < 4; k++) {
			float2 p = __bfloat1622float2(a.pair[k]), q = __bfloat1622float2(b.pair[k]);

			s[2 * k] = p.x + q.x;
			s[2 * k + 1] = p.y + q.y;
			squares += s[2 * k] * s[2 * k] + s[2 * k + 1] * s[2 * k + 1];
			sum.pair[k] = __floats2bfloat162_rn(s[2 * k], s[2 * k + 1]);
		}
		h[at] = sum.words;
	}
	float scale = rsqrtf(block_sum(squares) / (float)D + eps);

	if (mine) {
		float4 low = g[2 * threadIdx.x], high = g[2 * threadIdx.x + 1];
		eight out;

		out.pair[0] = __floats2bfloat162_rn(s[0] * scale * low.x, s[1] * scale * low.y);
		out.pair[1] = __floats2bfloat162_rn(s[2] * scale * low.z, s[3] * scale * low.w);
		out.pair[2] = __floats2bfloat162_rn(s[4] * scale * high.x, s[5] * scale * high.y);
		out.pair[3] = __floats2bfloat162_rn(s[6] * scale * high.z, s[7] * scale * high.w);
		y[at] = out.words;
	}
}

__global__ void any_width(const __nv_bfloat16 *x, const __nv_bfloat16 *r, const float *g,
	__nv_bfloat16 *h, __nv_bfloat16 *y, int64_t D, float eps)
{
	int64_t row = (int64_t)blockIdx.x * D;
	float squares = 0;

	for (int64_t j = threadIdx.x; j < D; j += THREADS) {
		float s = __bfloat162float(x[row + j]) + __bfloat162float(r[row + j]);

		h[row + j] = __float2bfloat16(s);
		squares += s * s;
	}
	float scale = rsqrtf(block_sum(squares) / (float)D + eps);

	for (int64_t j = threadIdx.x; j < D; j += THREADS) {
		float s = __bfloat162float(x[row + j]) + __bfloat162float(r[row + j]);

		y[row + j] = __float2bfloat16(s * scale * g[j]);
	}
}

extern "C" void solve(const __nv_bfloat16 *x, const __nv_bfloat16 *r, const float *g,
	__nv_bfloat16 *h, __nv_bfloat16 *y, int64_t R, int64_t D, float eps, cudaStream_t stream)
{
	if (D % 8 == 0 && D <= 8 * THREADS)
		in_registers<<<(unsigned)R, (unsigned)((D / 8 + 31) / 32 * 32), 0, stream>>>((const uint4 *)x,
			(const uint4 *)r, (const float4 *)g, (uint4 *)h, (uint4 *)y, (int)D, eps);
	else
		any_width<<<(unsigned)R, THREADS, 0, stream>>>(x, r, g, h, y, D, eps);
}
