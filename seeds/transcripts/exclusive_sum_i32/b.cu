// Exclusive prefix sum in three launches, each thread alone with 16 consecutive elements: sums, a scan of the sums
// by one thread, and a second walk over the elements.
#include <stdint.h>

#define THREADS 256
#define ITEMS 16

__global__ void sum_items(const int32_t *x, int64_t *before, int64_t N)
{
	int64_t thread = (int64_t)blockIdx.x * THREADS + threadIdx.x;
	int64_t sum = 0;

	if (thread * ITEMS >= N)
		return;
	for (int64_t i = thread * ITEMS; i < (thread + 1) * ITEMS && i < N; i++)
		sum += x[i];
	before[thread] = sum;
}

__global__ void scan_sums(int64_t *before, int64_t count)
{
	int64_t sum = 0;

	for (int64_t i = 0; i < count; i++) {
		int64_t own = before[i];

		before[i] = sum;
		sum += own;
	}
}

__global__ void scan_items(const int32_t *x, int64_t *y, const int64_t *before, int64_t N)
{
	int64_t thread = (int64_t)blockIdx.x * THREADS + threadIdx.x;

	if (thread * ITEMS >= N)
		return;
	int64_t sum = before[thread];
	for (int64_t i = thread * ITEMS; i < (thread + 1) * ITEMS && i < N; i++) {
		y[i] = sum;
		sum += x[i];
	}
}

extern "C" void solve(const int32_t *x, int64_t *y, int64_t N, cudaStream_t stream)
{
	int64_t threads = (N + ITEMS - 1) / ITEMS;
	unsigned blocks = (unsigned)((threads + THREADS - 1) / THREADS);
	int64_t *before;

	cudaMallocAsync((void **)&before, threads * sizeof *before, stream);
	sum_items<<<blocks, THREADS, 0, stream>>>(x, before, N);
	scan_sums<<<1, 1, 0, stream>>>(before, threads);
	scan_items<<<blocks, THREADS, 0, stream>>>(x, y, before, N);
	cudaFreeAsync(before, stream);
}
