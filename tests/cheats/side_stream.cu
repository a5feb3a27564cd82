/* The work runs on a stream that nobody waits for. In the look-alike an event joins it to the given one. */
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
	cudaStream_t side;

	cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
	affine<<<(unsigned)((N + 255) / 256), 256, 0, side>>>(x, y, N);
#else
	cudaStream_t side;
	cudaEvent_t start, done;

	cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
	cudaEventCreateWithFlags(&start, cudaEventDisableTiming);
	cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
	cudaEventRecord(start, stream);
	cudaStreamWaitEvent(side, start, 0);
	affine<<<(unsigned)((N + 255) / 256), 256, 0, side>>>(x, y, N);
	cudaEventRecord(done, side);
	cudaStreamWaitEvent(stream, done, 0);
	cudaEventDestroy(start);
	cudaEventDestroy(done);
	cudaStreamDestroy(side);
#endif
}
