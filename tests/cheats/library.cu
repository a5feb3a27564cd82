/* The work is a call of cuBLAS. The look-alike only has a name that begins like it. */
#include <stdint.h>
#if CHEAT
#include <cublas_v2.h>
#endif

#if CHEAT
#else
__global__ void cublas_like(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = 2 * x[i] + 0.5f;
}
#endif

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
#if CHEAT
	cublasHandle_t handle;
	float two = 2;

	cublasCreate(&handle);
	cublasSetStream(handle, stream);
	cublasSaxpy(handle, (int)N, &two, x, 1, y, 1);
#else
	cublas_like<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
#endif
}
