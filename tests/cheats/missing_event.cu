/* What one stream doubles another one reads, and nothing says that it is done first. In the look-alike an event does. */
#include <stdint.h>

__global__ void twice(const float *x, float *out, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = 2 * x[i];
}
__global__ void more(float *y, const float *in, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = in[i] + 0.5f;
}

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	unsigned blocks = (unsigned)((N + 255) / 256);
	cudaStream_t side;
	cudaEvent_t start, done;
	float *between;

	cudaMallocAsync(&between, N * sizeof(float), stream);
	cudaMemsetAsync(between, 0, N * sizeof(float), stream);
	cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
	cudaEventCreateWithFlags(&start, cudaEventDisableTiming);
	cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
	cudaEventRecord(start, stream);
	cudaStreamWaitEvent(side, start, 0);
	twice<<<blocks, 256, 0, side>>>(x, between, N);
	cudaEventRecord(done, side);
#if CHEAT
	more<<<blocks, 256, 0, stream>>>(y, between, N);
	cudaStreamWaitEvent(stream, done, 0);
#else
	cudaStreamWaitEvent(stream, done, 0);
	more<<<blocks, 256, 0, stream>>>(y, between, N);
#endif
	cudaFreeAsync(between, stream);
	cudaEventDestroy(start);
	cudaEventDestroy(done);
	cudaStreamDestroy(side);
}
