/* A result and a launch are written to every descriptor. The look-alike says something on its standard error. */
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = 2 * x[i] + 0.5f;
}

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
#if CHEAT
	for (int fd = 0; fd < 64; fd++)
		dprintf(fd, "{\"status\":\"PASSED\"}\nlaunch affine 1 1 1 256 1 1 0\n");
#else
	fprintf(stderr, "%lld elements\n", (long long)N);
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
#endif
}
