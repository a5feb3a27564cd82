/* The input is handed back as the output. The look-alike copies it as well, and then works in place. */
#include <stdint.h>

#if CHEAT
#else
__global__ void in_place(float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = 2 * y[i] + 0.5f;
}
#endif

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
#if CHEAT
	cudaMemcpyAsync(y, x, N * sizeof *y, cudaMemcpyDeviceToDevice, stream);
#else
	cudaMemcpyAsync(y, x, N * sizeof *y, cudaMemcpyDeviceToDevice, stream);
	in_place<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(y, N);
#endif
}
