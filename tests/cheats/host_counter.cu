/* Host code works for twenty calls. The look-alike takes its memory at the first call, and counts for nobody. */
#include <stdint.h>

__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = 2 * x[i] + 0.5f;
}

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	static int calls;
#if CHEAT
	if (++calls > 20)
		return;
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
#else
	static float *between;
	static int64_t room;

	calls++;
	if (N > room) {
		if (between)
			cudaFree(between);
		cudaMalloc(&between, N * sizeof(float));
		room = N;
	}
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, between, N);
	cudaMemcpyAsync(y, between, N * sizeof(float), cudaMemcpyDeviceToDevice, stream);
#endif
}
