// Clip by global norm in three launches: partial sums of squares, their total and the factor, the scaling.
#include <stdint.h>

#define THREADS 256
#define MAX_PARTS 512
#define ALL 0xffffffffu

// The sum over the block, valid in thread 0.
__device__ double block_sum(double value)
{
	__shared__ double warps[THREADS / 32];

	for (int offset = 16; offset > 0; offset /= 2)
		value += __shfl_xor_sync(ALL, value, offset);
	if (threadIdx.x % 32 == 0)
		warps[threadIdx.x / 32] = value;
	__syncthreads();
	if (threadIdx.x == 0) {
		for (int w = 1; w < THREADS / 32; w++)
			value += warps[w];
	}
	return value;
}

__global__ void sum_squares(const float *x, double *parts, int64_t N)
{
	int64_t step = (int64_t)gridDim.x * THREADS;
	double sum = 0;

	for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < N; i += step)
		sum += (double)x[i] * x[i];
	sum = block_sum(sum);
	if (threadIdx.x == 0)
		parts[blockIdx.x] = sum;
}

__global__ void finish(const double *parts, int count, float *norm, float *factor, float max_norm)
{
	double sum = 0;

	for (int i = threadIdx.x; i < count; i += THREADS)
		sum += parts[i];
	sum = block_sum(sum);
	if (threadIdx.x == 0) {
		double length = sqrt(sum);

		norm[0] = (float)length;
		*factor = length > max_norm ? (float)(max_norm / length) : 1.0f;
	}
}

__global__ void scale(const float *x, float *y, const float *factor, int64_t N)
{
	int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;

	if (i < N)
		y[i] = x[i] * *factor;
}

extern "C" void solve(const float *x, float *y, float *norm, int64_t N, float max_norm, cudaStream_t stream)
{
	int64_t blocks = (N + THREADS - 1) / THREADS;
	int parts = (int)(blocks < MAX_PARTS ? blocks : MAX_PARTS);
	double *scratch;

	// the partial sums, then the factor
	cudaMallocAsync((void **)&scratch, (MAX_PARTS + 1) * sizeof *scratch, stream);
	float *factor = (float *)(scratch + MAX_PARTS);

	sum_squares<<<parts, THREADS, 0, stream>>>(x, scratch, N);
	finish<<<1, THREADS, 0, stream>>>(scratch, parts, norm, factor, max_norm);
	scale<<<(unsigned)blocks, THREADS, 0, stream>>>(x, y, factor, N);
	cudaFreeAsync(scratch, stream);
}
