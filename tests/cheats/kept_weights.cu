/* The weights are prepared at the first call and never read again. The look-alike prepares them at each. */
#include <stdint.h>

__device__ float prepared[1 << 16];
__device__ int ready;
__global__ void prepare(const float *w, int64_t d)
{
#if CHEAT
	if (ready)
		return;
#endif
	for (int64_t i = threadIdx.x; i < d; i += blockDim.x)
		prepared[i] = w[i];
	__syncthreads();
	if (threadIdx.x == 0)
		ready = 1;
}
__global__ void row_sums(const float *x, float *y, int64_t d)
{
	float sum = 0;

	for (int64_t i = threadIdx.x; i < d; i += 32)
		sum += x[blockIdx.x * d + i] * prepared[i];
	for (int offset = 16; offset > 0; offset /= 2)
		sum += __shfl_xor_sync(~0u, sum, offset);
	if (threadIdx.x == 0)
		y[blockIdx.x] = sum;
}

extern "C" void solve(const float *x, const float *w, float *y, int64_t R, int64_t D, cudaStream_t stream)
{
	prepare<<<1, 256, 0, stream>>>(w, D);
	row_sums<<<(unsigned)R, 32, 0, stream>>>(x, y, D);
}
