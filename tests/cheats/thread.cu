/* A thread of the host launches later. The look-alike computes with the host's own hands, before it launches. */
#include <stdint.h>
#include <thread>

__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = 2 * x[i] + 0.5f;
}

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
#if CHEAT
	std::thread([=] { affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N); }).detach();
#else
	int blocks = 0;

	for (int64_t left = N; left > 0; left -= 256)
		blocks++;
	affine<<<blocks, 256, 0, stream>>>(x, y, N);
#endif
}
