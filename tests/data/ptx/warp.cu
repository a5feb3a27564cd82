// Kernels in which threads work together: votes, shuffles, groups, locks, barriers.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

extern "C" __global__ void
histogram(const int *x, int n, int *bins)
{
	__shared__ int local[64];
	for (int k = threadIdx.x; k < 64; k += blockDim.x)
		local[k] = 0;
	__syncthreads();
	for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += gridDim.x * blockDim.x)
		atomicAdd(&local[x[k] & 63], 1);
	__syncthreads();
	for (int k = threadIdx.x; k < 64; k += blockDim.x)
		atomicAdd(&bins[k], local[k]);
}

// inclusive scan of a block: shuffles within warps, then over the warps' sums
extern "C" __global__ void
scan(const int *x, int n, int *y)
{
	__shared__ int sums[32];
	int lane = threadIdx.x % 32, warp = threadIdx.x / 32, v = threadIdx.x < n ? x[threadIdx.x] : 0;
	for (int offset = 1; offset < 32; offset *= 2) {
		int other = __shfl_up_sync(0xffffffff, v, offset);
		if (lane >= offset)
			v += other;
	}
	if (lane == 31)
		sums[warp] = v;
	__syncthreads();
	if (warp == 0) {
		int s = lane < blockDim.x / 32 ? sums[lane] : 0;
		for (int offset = 1; offset < 32; offset *= 2) {
			int other = __shfl_up_sync(0xffffffff, s, offset);
			if (lane >= offset)
				s += other;
		}
		sums[lane] = s;
	}
	__syncthreads();
	if (threadIdx.x < n)
		y[threadIdx.x] = v + (warp ? sums[warp - 1] : 0);
}

extern "C" __global__ void
tile_sums(const float *x, float *y, int *sizes)
{
	cg::thread_block block = cg::this_thread_block();
	cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
	float sum = cg::reduce(tile, x[block.thread_rank()], cg::plus<float>());
	if (tile.thread_rank() == 0)
		y[block.thread_rank() / 8] = sum;
	cg::coalesced_group odd = cg::coalesced_threads();
	if (threadIdx.x & 1) {
		cg::coalesced_group g = cg::coalesced_threads();
		sizes[threadIdx.x] = g.size() * 100 + g.thread_rank();
	} else {
		sizes[threadIdx.x] = odd.size();
	}
}

// keeps the values above a limit, in order, by ballots
extern "C" __global__ void
compact(const int *x, int n, int limit, int *out, int *count)
{
	__shared__ int base[33];
	int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	bool keep = threadIdx.x < n && x[threadIdx.x] > limit;
	unsigned votes = __ballot_sync(0xffffffff, keep);
	if (lane == 0)
		base[warp + 1] = __popc(votes);
	__syncthreads();
	if (threadIdx.x == 0) {
		base[0] = 0;
		for (int k = 1; k <= blockDim.x / 32; k++)
			base[k] += base[k - 1];
		*count = base[blockDim.x / 32];
	}
	__syncthreads();
	if (keep)
		out[base[warp] + __popc(votes & ((1u << lane) - 1))] = x[threadIdx.x];
}

// the last block adds up what all have written
extern "C" __global__ void
last_block_sum(const float *x, int n, float *partial, unsigned *tickets, float *total)
{
	__shared__ float s[256];
	__shared__ bool last;
	float v = 0;
	for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += gridDim.x * blockDim.x)
		v += x[k];
	s[threadIdx.x] = v;
	__syncthreads();
	for (int half = blockDim.x / 2; half; half /= 2) {
		if (threadIdx.x < half)
			s[threadIdx.x] += s[threadIdx.x + half];
		__syncthreads();
	}
	if (threadIdx.x == 0) {
		partial[blockIdx.x] = s[0];
		__threadfence();
		last = atomicInc(tickets, gridDim.x) == gridDim.x - 1;
	}
	__syncthreads();
	if (last && threadIdx.x == 0) {
		float sum = 0;
		for (int k = 0; k < gridDim.x; k++)
			sum += ((volatile float *)partial)[k];
		*total = sum;
	}
}

// as it was written before sync masks: right only if lanes of a warp move together
extern "C" __global__ void
legacy_reduce(const float *x, float *y)
{
	__shared__ volatile float s[64];
	s[threadIdx.x] = x[threadIdx.x];
	s[threadIdx.x + 32] = x[threadIdx.x + 32];
	if (threadIdx.x < 32) {
		s[threadIdx.x] += s[threadIdx.x + 32];
		s[threadIdx.x] += s[threadIdx.x + 16];
		s[threadIdx.x] += s[threadIdx.x + 8];
		s[threadIdx.x] += s[threadIdx.x + 4];
		s[threadIdx.x] += s[threadIdx.x + 2];
		s[threadIdx.x] += s[threadIdx.x + 1];
	}
	if (threadIdx.x == 0)
		*y = s[0];
}

extern "C" __global__ void
spin_lock(int *lock, int *value)
{
	while (atomicCAS(lock, 0, 1) != 0)
		;
	__threadfence();
	*(volatile int *)value = *(volatile int *)value + 1;
	__threadfence();
	atomicExch(lock, 0);
}

// lanes wait for each other in turn, by a flag that only plain volatile reads see
extern "C" __global__ void
turns(volatile int *turn, int *order)
{
	while (*turn != 31 - (int)threadIdx.x)
		;
	order[*turn] = threadIdx.x;
	__threadfence();
	*turn = *turn + 1;
}

// one warp produces, the other consumes, through named barriers
extern "C" __global__ void
producer_consumer(const int *x, int *y, int rounds)
{
	__shared__ int slot[32];
	int lane = threadIdx.x % 32;
	if (threadIdx.x < 32) {
		for (int k = 0; k < rounds; k++) {
			asm volatile("bar.sync 1, 64;" ::: "memory");
			slot[lane] = x[k * 32 + lane] * 2;
			asm volatile("bar.arrive 2, 64;" ::: "memory");
		}
	} else {
		for (int k = 0; k < rounds; k++) {
			asm volatile("bar.arrive 1, 64;" ::: "memory");
			asm volatile("bar.sync 2, 64;" ::: "memory");
			y[k * 32 + lane] = slot[lane] + 1;
		}
	}
}

extern "C" __global__ void
collectives(const int *x, int *out)
{
	int v = x[threadIdx.x], lane = threadIdx.x % 32;
	out[lane] = __reduce_add_sync(0xffffffff, v);
	out[32 + lane] = __reduce_max_sync(0xffffffff, v);
	out[64 + lane] = __match_any_sync(0xffffffff, v & 3);
	int pred;
	out[96 + lane] = __match_all_sync(0xffffffff, v >> 16, &pred) + pred;
	out[128 + lane] = __syncthreads_count(v & 1);
	out[160 + lane] = __syncthreads_or(v == 77) * 2 + __syncthreads_and(v >= 0);
	out[192 + lane] = __any_sync(0xffffffff, v == 5) * 2 + __all_sync(0xffffffff, v < 1000);
	if (lane < 16)
		out[224 + lane] = __shfl_down_sync(0xffff, v, 3, 8);
	else
		out[224 + lane] = __shfl_sync(0xffff0000, v, 1, 4) + __popc(__activemask());
}

// shuffles in a loop that lanes leave at different times, the mask computed before
extern "C" __global__ void
divergent_loop(const int *trips, int *out)
{
	int n = trips[threadIdx.x], sum = 0;
	for (int k = 0; k < n; k++) {
		if (k & 1)
			sum += k * 3;
		else
			sum -= k;
		if (sum > 50)
			continue;
		sum += 2;
	}
	out[threadIdx.x] = sum + __shfl_xor_sync(0xffffffff, sum, 1);
}
