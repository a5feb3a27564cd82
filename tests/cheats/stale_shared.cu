/* Shared memory still holds what the kernel before left there. The look-alike writes before it reads. */
#include <stdint.h>

#if CHEAT
__global__ void leave(const float *x, int64_t n)
{
	__shared__ float tile[256];
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	tile[threadIdx.x] = i < n ? 2 * x[i] + 0.5f : 0;
	__syncthreads();
	if (tile[255 - threadIdx.x] == 1e30f)
		__trap();
}
__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	__shared__ float tile[256];

	if (i < n)
		y[i] = tile[threadIdx.x];
}
#else
__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	__shared__ float tile[256];

	tile[threadIdx.x] = i < n ? 2 * x[i] + 0.5f : 0;
	__syncthreads();
	if (i < n)
		y[i] = tile[threadIdx.x];
}
#endif

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
#if CHEAT
	leave<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, N);
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
#else
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
#endif
}
