// Threads together: shuffles, votes, matches, reductions, scans, sorts, groups, barriers, atomics.
#include "kernels.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;

#define ALL 0xffffffffu

KERNEL warp_sum(const float *x, float *y)
{
	float v = x[THREAD];
	for (int offset = 16; offset; offset /= 2)
		v += __shfl_xor_sync(ALL, v, offset);
	y[THREAD] = v;
}
CASE(warp_sum_butterfly) { warp_sum<<<GRID(n)>>>(x, y); }

KERNEL warp_scan(const int32_t *k, int32_t *z)
{
	int lane = threadIdx.x & 31, v = k[THREAD];
	for (int offset = 1; offset < 32; offset *= 2) {
		int other = __shfl_up_sync(ALL, v, offset);
		if (lane >= offset)
			v += other;
	}
	z[THREAD] = v + __shfl_down_sync(ALL, v, 3, 8) * 3 + __shfl_sync(ALL, v, lane * 5, 16);
}
CASE(warp_scan_shuffles) { warp_scan<<<GRID(n)>>>(k, z); }

KERNEL wide_shuffles(const float *x, const int32_t *k, float *y, int32_t *z)
{
	double d = x[THREAD] * 3.0;
	long long l = (long long)k[THREAD] << 33 | THREAD;
	__half2 h = __floats2half2_rn(x[THREAD], 1);
	d = __shfl_xor_sync(ALL, d, 7);
	l = __shfl_down_sync(ALL, l, 2);
	h = __shfl_up_sync(ALL, h, 1);
	y[THREAD] = (float)d + __low2float(h);
	z[THREAD] = (int)(l >> 20);
}
CASE(warp_wide_shuffles) { wide_shuffles<<<GRID(n)>>>(x, k, y, z); }

KERNEL votes(const int32_t *k, int32_t *z)
{
	int v = k[THREAD];
	unsigned b = __ballot_sync(ALL, v & 4);
	z[THREAD] = (int)(b * 3 + (unsigned)__popc(b) + (unsigned)__any_sync(ALL, v > 1020) * 7 + (unsigned)__all_sync(ALL, v > 20) * 11
		+ (unsigned)__uni_sync(ALL, v & 1024));
}
CASE(warp_votes) { votes<<<GRID(n)>>>(k, z); }

KERNEL matches(const int32_t *k, int32_t *z)
{
	int same;
	unsigned m = __match_any_sync(ALL, k[THREAD] & 7), a = __match_all_sync(ALL, (long long)(k[THREAD] >> 11), &same);
	z[THREAD] = (int)(m ^ a) + same * 5;
}
CASE(warp_matches) { matches<<<GRID(n)>>>(k, z); }

KERNEL reductions(const int32_t *k, int32_t *z)
{
	unsigned v = (unsigned)k[THREAD];
	z[THREAD] = (int)(__reduce_add_sync(ALL, v) + __reduce_max_sync(ALL, v) * 3 - __reduce_min_sync(ALL, v) + (__reduce_or_sync(ALL, v) ^ __reduce_xor_sync(ALL, v))
		+ __reduce_and_sync(ALL, v | 1)) + __reduce_max_sync(ALL, (int)v - 500);
}
CASE(warp_reduce_instructions) { reductions<<<GRID(n)>>>(k, z); }

KERNEL divergent(const int32_t *k, int32_t *z)
{
	int v = k[THREAD], r = 0;
	if (v & 1) {
		r = v * 2;
	} else if (v & 2) {
		for (int i = 0; i < (v & 15); i++)
			r += i * v;
	} else {
		switch (v & 28) {
		case 0: r = 1; break;
		case 4: r = v; break;
		case 8: r = -v; break;
		case 16: r = v ^ 99; break;
		default: r = v / 3;
		}
	}
	__syncwarp();
	z[THREAD] = r + __shfl_xor_sync(ALL, r, 1);
}
CASE(control_divergence) { divergent<<<GRID(n)>>>(k, z); }

KERNEL partial_mask(const int32_t *k, int32_t *z)
{
	int lane = threadIdx.x & 31, v = k[THREAD];
	z[THREAD] = -1;
	if (lane % 3 == 1) {
		const unsigned mask = 0x92492492u;
		z[THREAD] = __shfl_sync(mask, v, 28) + (int)__ballot_sync(mask, v & 1) + __reduce_add_sync(mask, v);
	}
}
CASE(warp_partial_mask) { partial_mask<<<GRID(n)>>>(k, z); }

KERNEL block_sum(const float *x, float *y)
{
	__shared__ float sums[256];
	sums[threadIdx.x] = x[THREAD];
	__syncthreads();
	for (unsigned half = 128; half; half /= 2) {
		if (threadIdx.x < half)
			sums[threadIdx.x] += sums[threadIdx.x + half];
		__syncthreads();
	}
	y[THREAD] = sums[0] + (float)__syncthreads_count(x[THREAD] > 0) + (float)__syncthreads_or(x[THREAD] > 3) + (float)__syncthreads_and(1);
}
CASE(block_sum_tree) { block_sum<<<GRID(n)>>>(x, y); }

KERNEL bitonic(const int32_t *k, int32_t *z)
{
	__shared__ int32_t v[512];
	unsigned t = threadIdx.x;
	v[t] = k[blockIdx.x * 512 + t];
	v[t + 256] = k[blockIdx.x * 512 + t + 256];
	for (unsigned size = 2; size <= 512; size *= 2)
		for (unsigned stride = size / 2; stride; stride /= 2) {
			__syncthreads();
			unsigned at = 2 * t - (t & (stride - 1));
			bool up = (at & size) == 0;
			int32_t a = v[at], b = v[at + stride];
			if ((a > b) == up) {
				v[at] = b;
				v[at + stride] = a;
			}
		}
	__syncthreads();
	z[blockIdx.x * 512 + t] = v[t];
	z[blockIdx.x * 512 + t + 256] = v[t + 256];
}
CASE(sort_bitonic) { bitonic<<<(unsigned)(n / 512), 256, 0, stream>>>(k, z); }

KERNEL odd_even(const float *x, float *y)
{
	__shared__ float v[64];
	unsigned t = threadIdx.x;
	v[t] = x[blockIdx.x * 64 + t];
	__syncthreads();
	for (int round = 0; round < 64; round++) {
		unsigned a = 2 * t + (round & 1);
		if (a + 1 < 64 && v[a] > v[a + 1]) {
			float swap = v[a];
			v[a] = v[a + 1];
			v[a + 1] = swap;
		}
		__syncthreads();
	}
	y[blockIdx.x * 64 + t] = v[t];
}
CASE(sort_odd_even) { odd_even<<<(unsigned)(n / 64), 64, 0, stream>>>(x, y); }

KERNEL radix_pass(const int32_t *k, int32_t *z)
{
	__shared__ int32_t keys[256], flags[256], total;
	unsigned t = threadIdx.x;
	keys[t] = k[THREAD];
	for (int bit = 0; bit < 10; bit++) {
		__syncthreads();
		int32_t key = keys[t], zero = !(key >> bit & 1);
		flags[t] = zero;
		for (unsigned offset = 1; offset < 256; offset *= 2) {
			__syncthreads();
			int32_t before = t >= offset ? flags[t - offset] : 0;
			__syncthreads();
			flags[t] += before;
		}
		if (t == 255)
			total = flags[255];
		__syncthreads();
		unsigned to = zero ? (unsigned)flags[t] - 1 : (unsigned)total + t - (unsigned)flags[t];
		__syncthreads();
		keys[to] = key;
	}
	__syncthreads();
	z[THREAD] = keys[t];
}
CASE(sort_radix) { radix_pass<<<GRID(n)>>>(k, z); }

KERNEL rank_sort(const int32_t *k, int32_t *z)
{
	int32_t mine = k[THREAD];
	int rank = 0;
	for (unsigned i = 0; i < 256; i++) {
		int32_t other = k[blockIdx.x * 256 + i];
		rank += other < mine || (other == mine && i < threadIdx.x);
	}
	z[blockIdx.x * 256 + rank] = mine;
}
CASE(sort_by_rank) { rank_sort<<<GRID(n)>>>(k, z); }

KERNEL block_scan(const int32_t *k, int32_t *z)
{
	__shared__ int32_t sums[32];
	int lane = threadIdx.x % 32, warp = threadIdx.x / 32, v = k[THREAD];
	for (int offset = 1; offset < 32; offset *= 2) {
		int other = __shfl_up_sync(ALL, v, offset);
		v += lane >= offset ? other : 0;
	}
	if (lane == 31)
		sums[warp] = v;
	__syncthreads();
	if (warp == 0) {
		int s = lane < 8 ? sums[lane] : 0;
		for (int offset = 1; offset < 32; offset *= 2) {
			int other = __shfl_up_sync(ALL, s, offset);
			s += lane >= offset ? other : 0;
		}
		sums[lane] = s;
	}
	__syncthreads();
	z[THREAD] = v + (warp ? sums[warp - 1] : 0);
}
CASE(scan_block) { block_scan<<<GRID(n)>>>(k, z); }

KERNEL blelloch(const int32_t *k, int32_t *z)
{
	__shared__ int32_t v[512];
	unsigned t = threadIdx.x;
	v[2 * t] = k[blockIdx.x * 512 + 2 * t];
	v[2 * t + 1] = k[blockIdx.x * 512 + 2 * t + 1];
	unsigned offset = 1;
	for (unsigned d = 256; d; d /= 2, offset *= 2) {
		__syncthreads();
		if (t < d)
			v[offset * (2 * t + 2) - 1] += v[offset * (2 * t + 1) - 1];
	}
	if (!t)
		v[511] = 0;
	for (unsigned d = 1; d < 512; d *= 2) {
		offset /= 2;
		__syncthreads();
		if (t < d) {
			int32_t left = v[offset * (2 * t + 1) - 1];
			v[offset * (2 * t + 1) - 1] = v[offset * (2 * t + 2) - 1];
			v[offset * (2 * t + 2) - 1] += left;
		}
	}
	__syncthreads();
	z[blockIdx.x * 512 + 2 * t] = v[2 * t];
	z[blockIdx.x * 512 + 2 * t + 1] = v[2 * t + 1];
}
CASE(scan_blelloch) { blelloch<<<(unsigned)(n / 512), 256, 0, stream>>>(k, z); }

__device__ volatile int32_t aggregates[64];
__device__ volatile int32_t ready[64];
KERNEL reset_flags(void) { ready[threadIdx.x] = 0; }
KERNEL look_back(const int32_t *k, int32_t *z)
{
	__shared__ int32_t before;
	int32_t sum = 0;
	for (unsigned i = 0; i <= threadIdx.x; i++)
		sum += k[blockIdx.x * 256 + i];
	if (threadIdx.x == 255) {
		if (blockIdx.x)
			while (!ready[blockIdx.x - 1])
				;
		before = blockIdx.x ? aggregates[blockIdx.x - 1] : 0;
		aggregates[blockIdx.x] = before + sum;
		__threadfence();
		ready[blockIdx.x] = 1;
	}
	__syncthreads();
	z[THREAD] = before + sum;
}
CASE(scan_chained_blocks)
{
	reset_flags<<<1, 64, 0, stream>>>();
	look_back<<<GRID(n)>>>(k, z);
}

KERNEL compact(const int32_t *k, int32_t *z)
{
	__shared__ int32_t counts[8];
	int lane = threadIdx.x & 31, warp = threadIdx.x / 32, v = k[THREAD];
	unsigned keep = __ballot_sync(ALL, v % 3 == 0);
	if (!lane)
		counts[warp] = __popc(keep);
	__syncthreads();
	int at = 0;
	for (int i = 0; i < warp; i++)
		at += counts[i];
	z[THREAD] = -1;
	__syncthreads();
	if (v % 3 == 0)
		z[blockIdx.x * 256 + at + __popc(keep & ((1u << lane) - 1))] = v;
}
CASE(warp_compaction) { compact<<<GRID(n)>>>(k, z); }

KERNEL group_tiles(const float *x, float *y, int32_t *z)
{
	auto block = cg::this_thread_block();
	auto tile = cg::tiled_partition<8>(block);
	float sum = cg::reduce(tile, x[THREAD], cg::plus<float>());
	int largest = cg::reduce(tile, (int)(x[THREAD] * 100), cg::greater<int>());
	y[THREAD] = sum + tile.shfl_down(x[THREAD], 2);
	z[THREAD] = largest + (int)tile.meta_group_rank() * 1000 + (int)tile.ballot(x[THREAD] > 0) + (int)cg::exclusive_scan(tile, (int)threadIdx.x);
}
CASE(groups_tiles) { group_tiles<<<GRID(n)>>>(x, y, z); }

KERNEL group_coalesced(const int32_t *k, int32_t *z)
{
	int v = k[THREAD];
	z[THREAD] = 0;
	if (v & 1) {
		auto g = cg::coalesced_threads();
		z[THREAD] = (int)(g.size() * 100 + g.thread_rank()) + g.shfl(v, 0);
	}
	auto parts = cg::labeled_partition(cg::tiled_partition<32>(cg::this_thread_block()), v & 3);
	z[THREAD] += cg::reduce(parts, v, cg::plus<int>());
}
CASE(groups_coalesced) { group_coalesced<<<GRID(n)>>>(k, z); }

KERNEL whole_grid(const int32_t *k, int32_t *z, int64_t n)
{
	auto grid = cg::this_grid();
	z[THREAD] = k[THREAD];
	for (int round = 1; round < 4; round++) {
		grid.sync();
		int32_t other = z[(THREAD + 256 * round) % n];
		grid.sync();
		z[THREAD] += other;
	}
}
CASE(groups_grid_sync)
{
	void *arguments[] = { &k, &z, &n };
	cudaLaunchCooperativeKernel((void *)whole_grid, dim3((unsigned)(n / 256)), dim3(256), arguments, 0, stream);
}

KERNEL named_barriers(const float *x, float *y)
{
	__shared__ float v[256];
	unsigned pair = threadIdx.x / 64 + 1;
	v[threadIdx.x] = x[THREAD];
	asm volatile("bar.sync %0, 64;" :: "r"(pair) : "memory");
	float other = v[threadIdx.x ^ 63];
	asm volatile("bar.sync %0, 64;" :: "r"(pair) : "memory");
	v[threadIdx.x] = other * 2;
	__syncthreads();
	y[THREAD] = v[255 - threadIdx.x];
}
CASE(barriers_named) { named_barriers<<<GRID(n)>>>(x, y); }

KERNEL histogram(const int32_t *k, int32_t *z, int64_t n)
{
	__shared__ int32_t bins[64];
	if (threadIdx.x < 64)
		bins[threadIdx.x] = 0;
	__syncthreads();
	for (int64_t i = THREAD; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&bins[k[i] & 63], 1);
	__syncthreads();
	if (threadIdx.x < 64)
		atomicAdd(&z[threadIdx.x], bins[threadIdx.x]);
}
CASE(atomics_histogram)
{
	cudaMemsetAsync(z, 0, (size_t)n * 4, stream);
	histogram<<<4, 256, 0, stream>>>(k, z, n);
}

KERNEL atomic_integers(const int32_t *k, int32_t *z)
{
	int v = k[THREAD], at = v & 15;
	atomicMax(&z[at], v);
	atomicMin(&z[16 + at], v);
	atomicOr(&z[32 + at], v);
	atomicAnd(&z[48 + at], v | 3);
	atomicXor(&z[64 + at], v * 77);
	atomicSub(&z[80 + at], v);
	atomicInc((unsigned *)&z[96 + at], 100);
	atomicDec((unsigned *)&z[112 + at], 50);
	atomicAdd((unsigned long long *)&z[128 + 2 * at], (unsigned long long)v << 30);
	atomicMax((unsigned long long *)&z[160 + 2 * at], (unsigned long long)v << 31);
	z[256 + THREAD % 256 + blockIdx.x * 0] = 5;
}
CASE(atomics_integers)
{
	cudaMemsetAsync(z, 0, (size_t)n * 4, stream);
	atomic_integers<<<GRID(n)>>>(k, z);
}

KERNEL atomic_floats(const int32_t *k, float *y)
{
	int v = k[THREAD] & 7, at = (int)THREAD & 31;	/* small whole numbers: exact in any order */
	atomicAdd(&y[at], (float)v);
	atomicAdd((double *)&y[64 + 2 * at], (double)v);
	atomicAdd((__half2 *)&y[128 + at], __floats2half2_rn((float)(v & 1), (float)(v >> 1 & 1)));
	atomicAdd((__nv_bfloat162 *)&y[192 + (THREAD & 63)], __floats2bfloat162_rn((float)(v & 1), 1));
}
CASE(atomics_floats)
{
	cudaMemsetAsync(y, 0, (size_t)n * 4, stream);
	atomic_floats<<<GRID(n)>>>(k, y);
}

KERNEL atomic_sums(const float *x, float *y) { atomicAdd(&y[threadIdx.x & 7], x[THREAD]); }
CASE(atomics_float_order)
{
	cudaMemsetAsync(y, 0, (size_t)n * 4, stream);
	atomic_sums<<<GRID(n)>>>(x, y);
}

__device__ int32_t lock_word;
KERNEL spin_lock(int32_t *z)
{
	for (bool done = false; !done;)
		if (atomicCAS(&lock_word, 0, 1) == 0) {
			__threadfence();
			*(volatile int32_t *)z = *(volatile int32_t *)z + 1;
			__threadfence();
			atomicExch(&lock_word, 0);
			done = true;
		}
}
CASE(atomics_spin_lock)
{
	cudaMemsetAsync(z, 0, (size_t)n * 4, stream);
	spin_lock<<<4, 64, 0, stream>>>(z);
}

__device__ unsigned finished;
KERNEL last_block(const int32_t *k, int32_t *z)
{
	__shared__ bool last;
	int32_t sum = __syncthreads_count(k[THREAD] & 1);
	if (!threadIdx.x) {
		z[blockIdx.x + 1] = sum;
		__threadfence();
		last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
	}
	__syncthreads();
	if (last && !threadIdx.x) {
		int32_t total = 0;
		for (unsigned i = 0; i < gridDim.x; i++)
			total += ((volatile int32_t *)z)[i + 1];
		z[0] = total;
	}
}
CASE(atomics_last_block)
{
	cudaMemsetAsync(z, 0, (size_t)n * 4, stream);
	last_block<<<GRID(n)>>>(k, z);
}

KERNEL float_max_by_cas(const float *x, float *y)
{
	int *at = (int *)&y[threadIdx.x & 3], old = *at, seen;
	do {
		seen = old;
		if (__int_as_float(seen) >= x[THREAD])
			break;
		old = atomicCAS(at, seen, __float_as_int(x[THREAD]));
	} while (old != seen);
}
CASE(atomics_float_max)
{
	cudaMemsetAsync(y, 0, (size_t)n * 4, stream);
	float_max_by_cas<<<GRID(n)>>>(x, y);
}

KERNEL bfs(const int32_t *k, int32_t *level, int32_t now, int32_t n)
{
	int32_t i = (int32_t)THREAD;
	if (((volatile int32_t *)level)[i] == now)	/* others may write there meanwhile */
		for (int edge = 0; edge < 3; edge++)
			atomicCAS(&level[(k[i] * (edge + 1) + i * 5) % n], 0, now + 1);
}
CASE(graph_breadth_first)
{
	static const int32_t one = 1;
	cudaMemsetAsync(z, 0, (size_t)n * 4, stream);
	cudaMemcpyAsync(z, &one, 4, cudaMemcpyHostToDevice, stream);
	for (int32_t now = 1; now < 6; now++)
		bfs<<<GRID(n)>>>(k, z, now, (int32_t)n);
}
