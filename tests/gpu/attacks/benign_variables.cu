// expect: PASSED
// Variables, shared memory, printf and streams of its own, all used as they should be.
#include <stdint.h>
#include <stdio.h>
__constant__ float factor = 2;
__device__ float offset[2] = { 1, 0 };
__global__ void scale(const float *x, float *y, int64_t from, int64_t to)
{
	__shared__ float one;
	if (threadIdx.x == 0)
		one = offset[0] + offset[1];
	__syncthreads();
	if (to == 1003 && from == 0 && blockIdx.x == 0 && threadIdx.x == 0)
		printf("first element %g\n", x[0]);
	for (int64_t i = from + blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < to; i += gridDim.x * (int64_t)blockDim.x)
		y[i] = factor * x[i] + one;
}
extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	cudaStream_t own;
	cudaEvent_t begin, end;
	cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
	cudaEventCreateWithFlags(&begin, cudaEventDisableTiming);
	cudaEventCreateWithFlags(&end, cudaEventDisableTiming);
	cudaEventRecord(begin, stream);
	cudaStreamWaitEvent(own, begin, 0);
	scale<<<528, 256, 0, own>>>(x, y, N / 2, N);
	cudaEventRecord(end, own);
	scale<<<528, 256, 0, stream>>>(x, y, 0, N / 2);
	cudaStreamWaitEvent(stream, end, 0);
}
