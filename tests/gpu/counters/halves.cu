// Bytes of two: half a sector for each eight lanes.
#include <stdint.h>
#include <cuda_fp16.h>
__device__ __half kept[1 << 23];
__global__ void narrow(const float *x, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
	if (i < n && i < 1 << 23)
		kept[i] = __float2half(0 * x[i]);
}
__global__ void widen(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = 2 * x[i] + 1 + __half2float(kept[i & ((1 << 23) - 1)]);
}
extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	narrow<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, N);
	widen<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
}
