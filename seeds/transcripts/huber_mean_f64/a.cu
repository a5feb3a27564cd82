// Mean Huber loss in double precision in two launches: at most 64 blocks, whose threads take pairs of elements in one
// 16-byte access and so share the cost of a block sum among many; then one block adds the partial sums up
// in a fixed order.
#include <stdint.h>

#define THREADS 256
#define MAX_PARTS 64
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

__device__ __forceinline__ double huber(double difference, double delta)
{
	double distance = fabs(difference);

	return distance <= delta ? 0.5 * distance * distance : delta * (distance - 0.5 * delta);
}

__global__ void partial_sums(const double *prediction, const double *truth, double *parts, int64_t N, double delta)
{
	int64_t step = (int64_t)gridDim.x * THREADS, start = (int64_t)blockIdx.x * THREADS + threadIdx.x;
	double sum = 0;

	for (int64_t i = start; i < N / 2; i += step) {
		double2 p = ((const double2 *)prediction)[i], t = ((const double2 *)truth)[i];

		sum += huber(p.x - t.x, delta) + huber(p.y - t.y, delta);
	}
	if (N % 2 && start == 0)
		sum += huber(prediction[N - 1] - truth[N - 1], delta);
	sum = block_sum(sum);
	if (threadIdx.x == 0)
		parts[blockIdx.x] = sum;
}

__global__ void finish(const double *parts, int count, double *loss, int64_t N)
{
	double sum = 0;

	for (int i = threadIdx.x; i < count; i += THREADS)
		sum += parts[i];
	sum = block_sum(sum);
	if (threadIdx.x == 0)
		loss[0] = sum / (double)N;
}

extern "C" void solve(const double *prediction, const double *truth, double *loss, int64_t N, double delta,
	cudaStream_t stream)
{
	int64_t blocks = (N / 2 + THREADS) / THREADS;
	int count = (int)(blocks < MAX_PARTS ? blocks : MAX_PARTS);
	double *parts;

	cudaMallocAsync((void **)&parts, MAX_PARTS * sizeof *parts, stream);
	partial_sums<<<count, THREADS, 0, stream>>>(prediction, truth, parts, N, delta);
	finish<<<1, THREADS, 0, stream>>>(parts, count, loss, N);
	cudaFreeAsync(parts, stream);
}
