// Residual add and RMS normalisation: one block for a row, two passes over x and r.
#include <cuda_bf16.h>
#include <stdint.h>

#define THREADS 256
#define WARPS (THREADS / 32)
#define ALL 0xffffffffu

__global__ void add_and_normalise(const __nv_bfloat16 *x, const __nv_bfloat16 *r, const float *g,
	__nv_bfloat16 *h, __nv_bfloat16 *y, int64_t D, float eps)
{
	__shared__ float parts[WARPS];
	int64_t row = (int64_t)blockIdx.x * D;
	float squares = 0;

	for (int64_t j = threadIdx.x; j < D; j += THREADS) {
		float s = __bf16_to_float(x[row + j]) + __bf16_to_float(r[row + j]);

		h[row + j] = __float2bfloat16(s);
		squares += s * s;
	}
	for (int offset = 16; offset > 0; offset /= 2)
		squares += __shfl_xor_sync(ALL, squares, offset);
	if (threadIdx.x % 32 == 0)
		parts[threadIdx.x / 32] = squares;
	__syncthreads();
	squares = 0;
	for (int w = 0; w < WARPS; w++)
		squares += parts[w];

	float scale = rsqrtf(squares / (float)D + eps);
	for (int64_t j = threadIdx.x; j < D; j += THREADS) {
		float s = __bfloat162float(x[row + j]) + __bfloat162float(r[row + j]);

		y[row + j] = __float2bfloat16(s * scale * g[j]);
	}
}

extern "C" void solve(const __nv_bfloat16 *x, const __nv_bfloat16 *r, const float *g,
	__nv_bfloat16 *h, __nv_bfloat16 *y, int64_t R, int64_t D, float eps, cudaStream_t stream)
{
	add_and_normalise<<<(unsigned)R, THREADS, 0, stream>>>(x, r, g, h, y, D, eps);
}
