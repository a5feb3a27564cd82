// Clip by global norm in two launches: partial sums of squares, then a scaling in which every block adds up all
// the partial sums again for itself.
#include <stdint.h>

#define THREADS 256
#define MAX_PARTS 512
#define ALL 0xffffffffu

// The sum over the block, valid in every thread.
__device__ double block_sum(double value)
{
	__shared__ double warps[THREADS / 32];

	for (int offset = 16; offset > 0; offset /= 2)
		value += __shfl_xor_sync(ALL, value, offset);
	if (threadIdx.x % 32 == 0)
		warps[threadIdx.x / 32] = value;
	__syncthreads();
	value = 0;
	for (int w = 0; w < THREADS / 32; w++)
		value += warps[w];
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

__global__ void scale(const float *x, float *y, float *norm, const double *parts, int count, int64_t N, float max_norm)
{
	int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
	double sum = 0;

	for (int p = threadIdx.x; p < count; p += THREADS)
		sum += parts[p];
	double length = sqrt(block_sum(sum));
	float factor = length > max_norm ? (float)(max_norm / length) : 1.0f;

	if (i < N)
		y[i] = x[i] * factor;
	if (i == 0)
		norm[0] = (float)length;
}

extern "C" void solve(const float *x, float *y, float *norm, int64_t N, float max_norm, cudaStream_t stream)
{
	int64_t blocks = (N + THREADS - 1) / THREADS;
	int parts = (int)(blocks < MAX_PARTS ? blocks : MAX_PARTS);
	double *scratch;

	cudaMallocAsync((void **)&scratch, MAX_PARTS * sizeof *scratch, stream);
	sum_squares<<<parts, THREADS, 0, stream>>>(x, scratch, N);
	scale<<<(unsigned)blocks, THREADS, 0, stream>>>(x, y, norm, scratch, parts, N, max_norm);
	cudaFreeAsync(scratch, stream);
}
