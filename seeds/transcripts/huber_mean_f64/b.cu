// Mean Huber loss in double precision in two launches: partial sums of up to 512 blocks, each by a tree in shared
// memory, then one block adds them up in a fixed order.
#include <stdint.h>

#define THREADS 256
#define MAX_PARTS 512

// The sum over the block, valid in thread 0: a tree in shared memory, one barrier for each level.
__device__ double block_sum(double value)
{
	__shared__ double tree[THREADS];

	tree[threadIdx.x] = value;
	__syncthreads();
	for (int half = THREADS / 2; half > 0; half /= 2) {
		if ((int)threadIdx.x < half)
			tree[threadIdx.x] += tree[threadIdx.x + half];
		__syncthreads();
	}
	return tree[0];
}

__global__ void partial_sums(const double *prediction, const double *truth, double *parts, int64_t N, double delta)
{
	int64_t step = (int64_t)gridDim.x * THREADS;
	double sum = 0;

	for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < N; i += step) {
		double distance = fabs(prediction[i] - truth[i]);

		sum += distance <= delta ? 0.5 * distance * distance : delta * (distance - 0.5 * delta);
	}
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
	int64_t blocks = (N + THREADS - 1) / THREADS;
	int count = (int)(blocks < MAX_PARTS ? blocks : MAX_PARTS);
	double *parts;

	cudaMallocAsync((void **)&parts, MAX_PARTS * sizeof *parts, stream);
	partial_sums<<<count, THREADS, 0, stream>>>(prediction, truth, parts, N, delta);
	finish<<<1, THREADS, 0, stream>>>(parts, count, loss, N);
	cudaFreeAsync(parts, stream);
}
