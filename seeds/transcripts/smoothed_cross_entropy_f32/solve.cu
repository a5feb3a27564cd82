// Label-smoothed cross entropy in two launches: one block for a row writes its loss to scratch, then one block adds
// the rows up in a fixed order.
#include <math.h>
#include <stdint.h>

#define THREADS 128
#define WARPS (THREADS / 32)
#define ALL 0xffffffffu

__device__ float block_max(float value, float *slots)
{
	for (int offset = 16; offset > 0; offset /= 2)
		value = fmaxf(value, __shfl_xor_sync(ALL, value, offset));
	if (threadIdx.x % 32 == 0)
		slots[threadIdx.x / 32] = value;
	__syncthreads();
	for (int w = 0; w < WARPS; w++)
		value = fmaxf(value, slots[w]);
	return value;
}

__device__ float block_sum(float value, float *slots)
{
	for (int offset = 16; offset > 0; offset /= 2)
		value += __shfl_xor_sync(ALL, value, offset);
	if (threadIdx.x % 32 == 0)
		slots[threadIdx.x / 32] = value;
	__syncthreads();
	value = 0;
	for (int w = 0; w < WARPS; w++)
		value += slots[w];
	return value;
}

__global__ void row_losses(const float *x, const int64_t *target, float *losses, int64_t V, float eps)
{
	__shared__ float slots[WARPS];
	const float *row = x + (int64_t)blockIdx.x * V;
	float m = -INFINITY, sum = 0, plain = 0;

	for (int64_t j = threadIdx.x; j < V; j += THREADS)
		m = fmaxf(m, row[j]);
	m = block_max(m, slots);
	for (int64_t j = threadIdx.x; j < V; j += THREADS) {
		sum += expf(row[j] - m);
		plain += row[j];
	}
	sum = block_sum(sum, slots);
	plain = block_sum(plain, slots);
	if (threadIdx.x == 0)
		losses[blockIdx.x] = m + logf(sum) - (1.0f - eps) * row[target[blockIdx.x]] - eps * plain / (float)V;
}

__global__ void mean(const float *losses, float *loss, int64_t R)
{
	__shared__ float slots[WARPS];
	float sum = 0;

	for (int64_t i = threadIdx.x; i < R; i += THREADS)
		sum += losses[i];
	sum = block_sum(sum, slots);
	if (threadIdx.x == 0)
		loss[0] = sum / (float)R;
}

extern "C" void solve(const float *x, const int64_t *target, float *loss, int64_t R, int64_t V, float eps,
	cudaStream_t stream)
{
	float *losses;

	cudaMallocAsync((void **)&losses, R * sizeof *losses, stream);
	row_losses<<<(unsigned)R, THREADS, 0, stream>>>(x, target, losses, V, eps);
	mean<<<1, THREADS, 0, stream>>>(losses, loss, R);
	cudaFreeAsync(losses, stream);
}
