/* The launch lets what comes after it begin before it ends. The look-alike launches through the same call, without that. */
#include <stdint.h>

__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = 2 * x[i] + 0.5f;
}

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
#if CHEAT
	cudaLaunchAttribute early = {};
	cudaLaunchConfig_t config = {};

	early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
	early.val.programmaticStreamSerializationAllowed = 1;
	config.gridDim = dim3((unsigned)((N + 255) / 256));
	config.blockDim = dim3(256);
	config.stream = stream;
	config.attrs = &early;
	config.numAttrs = 1;
	cudaLaunchKernelEx(&config, affine, x, y, N);
#else
	cudaLaunchConfig_t config = {};

	config.gridDim = dim3((unsigned)((N + 255) / 256));
	config.blockDim = dim3(256);
	config.stream = stream;
	cudaLaunchKernelEx(&config, affine, x, y, N);
#endif
}
