// Exclusive prefix sum in three launches: each block scans 1024 elements and leaves its total, one block scans the
// totals, and every block adds what came before it.
#include <stdint.h>

#define THREADS 1024

// The inclusive sum over the block up to and with this thread.
__device__ int64_t block_scan(int64_t value, int64_t *slots)
{
	slots[threadIdx.x] = value;
	__syncthreads();
	for (int offset = 1; offset < THREADS; offset *= 2) {
		int64_t left = (int)threadIdx.x >= offset ? slots[threadIdx.x - offset] : 0;

		__syncthreads();
		slots[threadIdx.x] += left;
		__syncthreads();
	}
	return slots[threadIdx.x];
}

__global__ void scan_blocks(const int32_t *x, int64_t *y, int64_t *totals, int64_t N)
{
	__shared__ int64_t slots[THREADS];
	int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
	int64_t own = i < N ? x[i] : 0;
	int64_t upto = block_scan(own, slots);

	if (i < N)
		y[i] = upto - own;
	if (threadIdx.x == THREADS - 1)
		totals[blockIdx.x] = upto;
}

// Turns the totals into what comes before each block, THREADS of them at a time.
__global__ void scan_totals(int64_t *totals, int64_t blocks)
{
	__shared__ int64_t slots[THREADS];
	int64_t before = 0;

	for (int64_t first = 0; first < blocks; first += THREADS) {
		int64_t b = first + threadIdx.x;
		int64_t own = b < blocks ? totals[b] : 0;
		int64_t upto = block_scan(own, slots);

		if (b < blocks)
			totals[b] = before + upto - own;
		before += slots[THREADS - 1];
		__syncthreads();
	}
}

__global__ void add_before(int64_t *y, const int64_t *totals, int64_t N)
{
	int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;

	if (i < N)
		y[i] += totals[blockIdx.x];
}

extern "C" void solve(const int32_t *x, int64_t *y, int64_t N, cudaStream_t stream)
{
	int64_t blocks = (N + THREADS - 1) / THREADS;
	int64_t *totals;

	cudaMallocAsync((void **)&totals, blocks * sizeof *totals, stream);
	scan_blocks<<<(unsigned)blocks, THREADS, 0, stream>>>(x, y, totals, N);
	scan_totals<<<1, THREADS, 0, stream>>>(totals, blocks);
	add_before<<<(unsigned)blocks, THREADS, 0, stream>>>(y, totals, N);
	cudaFreeAsync(totals, stream);
}
