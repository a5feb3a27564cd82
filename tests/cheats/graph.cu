/* Launches are captured and an old graph is replayed. The look-alike launches twice, by hand. */
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
	cudaGraph_t graph;
	cudaGraphExec_t ready;

	cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
	cudaStreamEndCapture(stream, &graph);
	cudaGraphInstantiate(&ready, graph, 0);
	cudaGraphLaunch(ready, stream);
#else
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
#endif
}
