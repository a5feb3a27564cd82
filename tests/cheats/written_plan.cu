/* Lines are added to the recorder's own plan, through its exported names. The look-alike leaves them alone. */
#include <stdint.h>
#include <dlfcn.h>
#include <string.h>

__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = 2 * x[i] + 0.5f;
}

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
#if CHEAT
	void *own = dlopen("libcudart.so.13", RTLD_NOW);

	if (own)
		memset(dlsym(own, "cudaLaunchKernel"), 0xc3, 1);
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
#else
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
#endif
}
