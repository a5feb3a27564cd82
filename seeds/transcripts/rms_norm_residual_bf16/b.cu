// Residual add and RMS normalisation in two launches: the first adds and leaves the scale of every row in
// scratch memory, the second normalises element by element.
#include <cuda_bf16.h>
#include <stdint.h>

#define THREADS 256
#define WARPS (THREADS / 32)
#define ALL 0xffffffffu

__global__ void add(const __nv_bfloat16 *x, const __nv_bfloat16 *r, __nv_bfloat16 *h, float *scale,
	int64_t D, float eps)
{
	__shared__ float parts[WARPS];
	int64_t row = (int64_t)blockIdx.x * D;
	float squares = 0;

	for (int64_t j = threadIdx.x; j < D; j += THREADS) {
		float s = __bfloat162float(x[row + j]) + __bfloat162float(r[row + j]);

		h[row + j] = __float2bfloat16(s);
		squares += s * s;
	}
	for (int offset = 16; offset > 0; offset /= 2)
		squares += __shfl_xor_sync(ALL, squares, offset);
	if (threadIdx.x % 32 == 0)
		parts[threadIdx.x / 32] = squares;
	__syncthreads();
	if (threadIdx.x == 0) {
		squares = 0;
		for (int w = 0; w < WARPS; w++)
			squares += parts[w];
		scale[blockIdx.x] = rsqrtf(squares / (float)D + eps);
	}
}

__global__ void normalise(const __nv_bfloat16 *x, const __nv_bfloat16 *r, const float *g, const float *scale,
	__nv_bfloat16 *y, int64_t total, int64_t D)
{
	int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;

	if (i < total)
		y[i] = __float2bfloat16((__bfloat162float(x[i]) + __bfloat162float(r[i])) * scale[i / D] * g[i % D]);
}

extern "C" void solve(const __nv_bfloat16 *x, const __nv_bfloat16 *r, const float *g,
	__nv_bfloat16 *h, __nv_bfloat16 *y, int64_t R, int64_t D, float eps, cudaStream_t stream)
{
	float *scale;

	cudaMallocAsync((void **)&scale, R * sizeof *scale, stream);
	add<<<(unsigned)R, THREADS, 0, stream>>>(x, r, h, scale, D, eps);
	normalise<<<(unsigned)((R * D + THREADS - 1) / THREADS), THREADS, 0, stream>>>(x, r, g, scale, y, R * D, D);
	cudaFreeAsync(scale, stream);
}
