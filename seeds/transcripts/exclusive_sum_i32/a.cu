// Exclusive prefix sum in three launches with shuffles: a thread adds eight neighbouring elements in registers, a
// warp scans the sums of its threads by shuffles, and only the sums of warps meet in shared memory.
#include <stdint.h>

#define THREADS 256
#define ITEMS 8
#define CHUNK (THREADS * ITEMS)
#define WARPS (THREADS / 32)
#define ALL 0xffffffffu

// What the threads before this one hold together; total gets the sum over the block.
__device__ __forceinline__ int64_t sum_before(int64_t own, int64_t *warps, int64_t &total)
{
	int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	int64_t upto = own, before = 0;

	for (int offset = 1; offset < 32; offset *= 2) {
		int64_t left = __shfl_up_sync(ALL, upto, offset);

		if (lane >= offset)
			upto += left;
	}
	if (lane == 31)
		warps[warp] = upto;
	__syncthreads();
	total = 0;
#pragma unroll
	for (int w = 0; w < WARPS; w++) {
		if (w == warp)
			before = total;
		total += warps[w];
	}
	__syncthreads();
	return before + upto - own;
}

// Sums of the chunks only; the elements are read again by the third kernel, which is cheaper than writing y twice.
__global__ void sum_chunks(const int32_t *x, int64_t *totals, int64_t N)
{
	__shared__ int64_t warps[WARPS];
	int64_t first = (int64_t)blockIdx.x * CHUNK;
	int sum = 0;
	int64_t total;

	if (first + CHUNK <= N) {
		const int4 *in = (const int4 *)(x + first);
		int4 low = in[threadIdx.x], high = in[threadIdx.x + THREADS];

		sum = low.x + low.y + low.z + low.w + high.x + high.y + high.z + high.w;
	} else {
		for (int64_t i = first + threadIdx.x; i < N; i += THREADS)
			sum += x[i];
	}
	sum_before(sum, warps, total);
	if (threadIdx.x == 0)
		totals[blockIdx.x] = total;
}

__global__ void scan_totals(int64_t *totals, int64_t blocks)
{
	__shared__ int64_t warps[WARPS];
	int64_t before = 0, total;

	for (int64_t first = 0; first < blocks; first += THREADS) {
		int64_t b = first + threadIdx.x;
		int64_t here = sum_before(b < blocks ? totals[b] : 0, warps, total);

		if (b < blocks)
			totals[b] = before + here;
		before += total;
	}
}

__global__ void scan_chunks(const int32_t *x, int64_t *y, const int64_t *totals, int64_t N)
{
	__shared__ int64_t warps[WARPS];
	int64_t first = (int64_t)blockIdx.x * CHUNK + threadIdx.x * ITEMS;
	int32_t item[ITEMS];
	int64_t sum = 0, total;

	if (first + ITEMS <= N) {
		*(int4 *)item = *(const int4 *)(x + first);
		*(int4 *)(item + 4) = *(const int4 *)(x + first + 4);
	} else {
#pragma unroll
		for (int k = 0; k < ITEMS; k++)
			item[k] = first + k < N ? x[first + k] : 0;
	}
#pragma unroll
	for (int k = 0; k < ITEMS; k++)
		sum += item[k];
	sum = totals[blockIdx.x] + sum_before(sum, warps, total);
	if (first + ITEMS <= N) {
#pragma unroll
		for (int k = 0; k < ITEMS; k += 2) {
			longlong2 two = make_longlong2(sum, sum + item[k]);

			*(longlong2 *)(y + first + k) = two;
			sum = two.y + item[k + 1];
		}
	} else {
#pragma unroll
		for (int k = 0; k < ITEMS; k++) {
			if (first + k < N)
				y[first + k] = sum;
			sum += item[k];
		}
	}
}

extern "C" void solve(const int32_t *x, int64_t *y, int64_t N, cudaStream_t stream)
{
	int64_t blocks = (N + CHUNK - 1) / CHUNK;
	int64_t *totals;

	cudaMallocAsync((void **)&totals, blocks * sizeof *totals, stream);
	sum_chunks<<<(unsigned)blocks, THREADS, 0, stream>>>(x, totals, N);
	scan_totals<<<1, THREADS, 0, stream>>>(totals, blocks);
	scan_chunks<<<(unsigned)blocks, THREADS, 0, stream>>>(x, y, totals, N);
	cudaFreeAsync(totals, stream);
}
