/* A refused call whose name is put together. The look-alike puts the name of its own kernel together. */
#include <stdint.h>
#define PASTE(a, b) a##b

__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = 2 * x[i] + 0.5f;
}

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
#if CHEAT
	cudaGraph_t graph;

	PASTE(cudaStream, BeginCapture)(stream, cudaStreamCaptureModeGlobal);
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
	PASTE(cudaStream, EndCapture)(stream, &graph);
#else
	PASTE(aff, ine)<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
#endif
}
