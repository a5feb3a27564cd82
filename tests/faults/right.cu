// Kernels without a bug, most of them look-alikes of those in wrong.cu: no check may name anything. Above a kernel: how
// tests/unit/t_ptx_faults.c launches it (see there).
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <assert.h>
#include <mma.h>

namespace cg = cooperative_groups;

#define KERNEL(name) extern "C" __global__ void name(const float *x, float *y, unsigned *w, int n)
#define I (int)(blockIdx.x * blockDim.x + threadIdx.x)
#define T (int)threadIdx.x

// ---- bounds

// RUN grid=4 block=32 n=100
KERNEL(guarded)
{
	if (I < n)
		y[I] = x[I] * 2;
}

// RUN grid=1 block=32 n=104
KERNEL(grid_stride)
{
	for (int k = I; k < n; k += (int)(gridDim.x * blockDim.x))
		y[k] = x[k] + 1;
}

// RUN grid=1 block=64 n=64
KERNEL(clamped_neighbours)
{
	y[I] = x[I > 0 ? I - 1 : 0] + x[I < n - 1 ? I + 1 : n - 1];
}

// RUN grid=1 block=32 n=256
KERNEL(aligned_vector)
{
	float4 v = *(const float4 *)(x + T * 4), u = *(const float4 *)(x + 128 + T * 4);
	*(float4 *)(y + T * 4) = v;
	*(float4 *)(y + 128 + T * 4) = u;
}

// RUN grid=1 block=32 n=102
KERNEL(vector_with_tail)
{
	for (int k = T * 4; k < n; k += 128)
		if (k + 3 < n)
			*(float4 *)(y + k) = make_float4(1, 2, 3, 4);
		else
			for (int j = k; j < n; j++)
				y[j] = 0;
}

// RUN grid=1 block=64 n=48
KERNEL(transposed)
{
	int r = T / 12, c = T % 12;
	if (r < 4)
		y[c * 4 + r] = x[r * 12 + c];
}

// RUN grid=1 block=32 n=32
KERNEL(wide_index)
{
	size_t row = (size_t)T << 32, back = row >> 32;
	y[back] = x[back];
}

__constant__ float table[16] = { 1, 2, 3 };
__device__ float module_array[64];

// RUN grid=1 block=32 n=32
KERNEL(constant_table)
{
	y[T] = table[T % 16] + table[(T + 1) % 16];
}

// RUN grid=1 block=64 n=64
KERNEL(module_memory)
{
	module_array[T] = x[T];
	__syncthreads();
	y[T] = module_array[63 - T];
}

// RUN grid=1 block=32 n=32
KERNEL(true_assertion)
{
	assert(x[T] < 32);
	y[T] = 1;
}

// RUN grid=1 block=64 n=64
KERNEL(shared_arrays_side_by_side)
{
	__shared__ float first[32], second[32], third[16];
	if (T < 32)
		first[T] = x[T];
	else
		second[T - 32] = x[T];
	if (T < 16)
		third[T] = 0;
	__syncthreads();
	const float *either = T & 1 ? first : second;
	y[T] = either[T / 2] + third[T % 16];
}

// RUN grid=1 block=64 n=64 shared=512
KERNEL(dynamic_shared_in_two_parts)
{
	extern __shared__ float dynamic[];
	float *a = dynamic, *b = dynamic + blockDim.x;
	a[T] = x[T];
	b[T] = x[63 - T];
	__syncthreads();
	y[T] = a[63 - T] + b[63 - T];
}

// RUN grid=1 block=32 n=32
KERNEL(local_array)
{
	float mine[32];
	for (int k = 0; k < 32; k++)
		mine[k] = x[k] * 2;
	y[T] = mine[(int)x[31 - T]];
}

struct mixed {
	char a;
	double b;
	short c;
};

__device__ __noinline__ double
pass(struct mixed m)
{
	return m.a + m.b + m.c;
}

// RUN grid=1 block=32 n=32
KERNEL(padded_struct_by_value)
{
	struct mixed m = { (char)x[T], x[T] * 2, 3 }, copy = m;
	struct mixed list[4] = { m, copy, m, copy };
	y[T] = (float)pass(list[(int)x[T] % 4]);
}

__device__ __noinline__ int
fibonacci(int k)
{
	return k < 2 ? k : fibonacci(k - 1) + fibonacci(k - 2);
}

// RUN grid=1 block=32 n=32
KERNEL(recursion)
{
	y[T] = (float)fibonacci(T % 9);
}

// ---- initialisation

// RUN grid=1 block=64 n=64
KERNEL(shared_padded_with_zeros)
{
	__shared__ float tile[96];
	tile[T] = x[T];
	if (T < 32)
		tile[64 + T] = 0;
	__syncthreads();
	y[T] = tile[T + 32];
}

// RUN grid=1 block=64 n=64
KERNEL(shared_sum_zeroed)
{
	__shared__ unsigned sum;
	if (T == 0)
		sum = 0;
	__syncthreads();
	atomicAdd(&sum, (unsigned)T);
	__syncthreads();
	y[T] = (float)sum;
}

// RUN grid=1 block=32 n=32 w=zero
KERNEL(scratch_zeroed)
{
	w[T] += 1;
	y[T] = (float)w[T];
}

// RUN grid=1 block=32 n=32 y=zero
KERNEL(sum_into_zeroed_output)
{
	atomicAdd(&y[T], x[T]);
}

// RUN grid=1 block=32 n=32
KERNEL(output_reread_by_its_writer)
{
	y[T] = x[T];
	y[T] += 1;
}

// RUN grid=1 block=32 n=32
KERNEL(copies_waited_for)
{
	__shared__ float tile[32];
	unsigned to = (unsigned)__cvta_generic_to_shared(tile + T);
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(x + T));
	asm volatile("cp.async.commit_group;");
	asm volatile("cp.async.wait_group 0;" ::: "memory");
	__syncthreads();
	y[T] = tile[31 - T];
}

// RUN grid=1 block=64 n=512
KERNEL(copies_in_two_stages)
{
	__shared__ float tile[2][64];
	float sum = 0;
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(&tile[0][T])), "l"(x + T));
	asm volatile("cp.async.commit_group;");
	for (int k = 0; k < 8; k++) {
		if (k < 7)
			asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(&tile[k + 1 & 1][T])),
				"l"(x + (k + 1) * 64 + T));
		asm volatile("cp.async.commit_group;");
		asm volatile("cp.async.wait_group 1;" ::: "memory");
		__syncthreads();
		sum += tile[k & 1][63 - T];
		__syncthreads();
		y[k * 64 + T] = sum;
	}
}

// ---- barriers and collectives

// RUN grid=1 block=32 n=32
KERNEL(lanes_meet_at_one_barrier)
{
	float v = x[T];
	if (v < 16)
		v = v * 3 + 1;
	else
		v = v - 2;
	__syncthreads();
	y[T] = v;
}

// RUN grid=1 block=96 n=72
KERNEL(barrier_after_exit)
{
	__shared__ float tile[72];
	if (T >= n)
		return;
	tile[T] = x[T];
	__syncthreads();
	y[T] = tile[71 - T];
}

// RUN grid=1 block=64 n=64
KERNEL(barrier_in_a_loop)
{
	__shared__ float tile[64];
	float sum = 0;
	for (int k = 0; k < 5; k++) {
		tile[T] = x[(T + k) % 64];
		__syncthreads();
		sum += tile[63 - T];
		__syncthreads();
	}
	y[T] = sum;
}

// RUN grid=1 block=64 n=64
KERNEL(barrier_counts)
{
	int some = __syncthreads_count(x[T] < 16), all = __syncthreads_and(some == 32), any = __syncthreads_or(T == 5);
	y[T] = (float)(some + all + any);
}

// RUN grid=1 block=32 n=24
KERNEL(shuffle_of_those_that_stay)
{
	unsigned mask = __ballot_sync(0xffffffff, I < n);
	if (I >= n)
		return;
	float v = x[I];
	for (int k = 4; k; k /= 2)
		v += __shfl_xor_sync(mask, v, k);
	y[I] = v;
}

// RUN grid=1 block=32 n=32
KERNEL(shuffle_within_halves)
{
	float v = x[T];
	if (T < 16)
		v += __shfl_xor_sync(0x0000ffff, v, 8);
	else
		v -= __shfl_xor_sync(0xffff0000, v, 8);
	y[T] = v;
}

// RUN grid=1 block=32 n=32
KERNEL(votes)
{
	unsigned m = __ballot_sync(0xffffffff, x[T] < 7), a = __match_any_sync(0xffffffff, T % 4);
	y[T] = (float)(__popc(m) + __popc(a) + __any_sync(0xffffffff, T == 3) + __reduce_add_sync(0xffffffff, T));
}

// RUN grid=1 block=64 n=64
KERNEL(named_barriers)
{
	__shared__ float tile[64];
	tile[T] = x[T];
	if (T < 32)
		asm volatile("bar.sync 1, 32;" ::: "memory");
	else
		asm volatile("bar.sync 2, 32;" ::: "memory");
	y[T] = tile[T ^ 1];
}

// RUN grid=1 block=64 n=64
KERNEL(producer_and_consumer)
{
	__shared__ float tile[32];
	for (int k = 0; k < 4; k++)
		if (T < 32) {
			tile[T] = x[T] * (float)k;
			asm volatile("bar.arrive 1, 64;" ::: "memory");
			asm volatile("bar.sync 2, 64;" ::: "memory");
			y[T] = 0;
		} else {
			asm volatile("bar.sync 1, 64;" ::: "memory");
			y[T] = tile[63 - T];
			asm volatile("bar.arrive 2, 64;" ::: "memory");
		}
}

// RUN grid=1 block=96 n=96
KERNEL(producer_and_two_consumers)
{
	__shared__ float tile[2][32];
	if (T < 32) {
		for (int k = 0; k < 6; k++) {
			if (k >= 2)
				asm volatile("bar.sync %0, 96;" ::"r"(3 + (k & 1)) : "memory");
			tile[k & 1][T] = x[T] + (float)k;
			asm volatile("bar.arrive %0, 96;" ::"r"(1 + (k & 1)) : "memory");
		}
		y[T] = 0;
	} else {
		float sum = 0;
		for (int k = 0; k < 6; k++) {
			asm volatile("bar.sync %0, 96;" ::"r"(1 + (k & 1)) : "memory");
			sum += tile[k & 1][31 - T % 32];
			if (k < 4)
				asm volatile("bar.arrive %0, 96;" ::"r"(3 + (k & 1)) : "memory");
		}
		y[T] = sum;
	}
}

// ---- order within a warp

// RUN grid=1 block=32 n=32
KERNEL(lanes_with_syncwarp)
{
	__shared__ float sum[64];
	sum[T] = x[T];
	sum[T + 32] = 0;
	__syncwarp();
	for (int k = 16; k; k /= 2) {
		float v = sum[T + k];
		__syncwarp();
		sum[T] += v;
		__syncwarp();
	}
	y[T] = sum[0];
}

// RUN grid=1 block=64 n=64
KERNEL(volatile_warp_reduction)
{
	__shared__ float sum[64];
	volatile float *v = sum;
	sum[T] = x[T];
	__syncthreads();
	if (T < 32) {
		v[T] += v[T + 32];
		v[T] += v[T + 16];
		v[T] += v[T + 8];
		v[T] += v[T + 4];
		v[T] += v[T + 2];
		v[T] += v[T + 1];
	}
	__syncthreads();
	y[T] = sum[0];
}

// RUN grid=1 block=32 n=32
KERNEL(halves_with_syncwarp)
{
	__shared__ float tile[32];
	tile[T] = x[T];
	if (T < 16) {
		__syncwarp(0x0000ffff);
		y[T] = tile[15 - T];
	} else {
		__syncwarp(0xffff0000);
		y[T] = tile[47 - T];
	}
}

// RUN grid=1 block=64 n=64
KERNEL(shuffle_orders_lanes)
{
	__shared__ float tile[64];
	tile[T] = x[T];
	float v = __shfl_xor_sync(0xffffffff, x[T], 1);
	y[T] = tile[T ^ 1] - v;
}

// ---- order within a block

// RUN grid=1 block=256 n=1024
KERNEL(tile_loop)
{
	__shared__ float tile[256];
	float sum = 0;
	for (int k = 0; k < n; k += 256) {
		tile[T] = x[k + T];
		__syncthreads();
		for (int j = 0; j < 256; j += 8)
			sum += tile[(j + T) % 256];
		__syncthreads();
		y[k + T] = sum;
	}
}

// RUN grid=1 block=256 n=1024
KERNEL(tile_loop_with_two_buffers)
{
	__shared__ float tile[2][256];
	float sum = 0;
	for (int k = 0; k < 4; k++) {
		tile[k & 1][T] = x[k * 256 + T];
		__syncthreads();
		for (int j = 0; j < 256; j += 8)
			sum += tile[k & 1][(j + T) % 256];
		y[k * 256 + T] = sum;
	}
}

// RUN grid=1 block=128 n=128
KERNEL(tree)
{
	__shared__ float sum[128];
	sum[T] = x[T];
	__syncthreads();
	for (int k = 64; k; k /= 2) {
		if (T < k)
			sum[T] += sum[T + k];
		__syncthreads();
	}
	y[T] = sum[0];
}

// RUN grid=1 block=128 n=128
KERNEL(tree_that_ends_in_shuffles)
{
	__shared__ float sum[128];
	sum[T] = x[T];
	__syncthreads();
	if (T < 64)
		sum[T] += sum[T + 64];
	__syncthreads();
	float v = 0;
	if (T < 32) {
		v = sum[T] + sum[T + 32];
		for (int k = 16; k; k /= 2)
			v += __shfl_down_sync(0xffffffff, v, k);
		if (T == 0)
			sum[0] = v;
	}
	__syncthreads();
	y[T] = sum[0];
}

// RUN grid=1 block=128 n=128
KERNEL(all_write_the_same)
{
	__shared__ int found;
	found = 0;
	__syncthreads();
	if (x[T] > 3)
		found = 1;
	__syncthreads();
	y[T] = (float)found;
}

// RUN grid=1 block=256 n=1024
KERNEL(reduction_slot_guarded)
{
	__shared__ float part[8];
	for (int r = 0; r < 4; r++) {
		float v = x[r * 256 + T];
		for (int k = 16; k; k /= 2)
			v += __shfl_xor_sync(0xffffffff, v, k);
		__syncthreads();
		if (T % 32 == 0)
			part[T / 32] = v;
		__syncthreads();
		float sum = 0;
		for (int k = 0; k < 8; k++)
			sum += part[k];
		y[r * 256 + T] = sum;
	}
}

// RUN grid=1 block=128 n=128
KERNEL(scan)
{
	__shared__ float scanned[128];
	scanned[T] = x[T];
	__syncthreads();
	for (int k = 1; k < 128; k *= 2) {
		float v = T >= k ? scanned[T - k] : 0;
		__syncthreads();
		scanned[T] += v;
		__syncthreads();
	}
	y[T] = scanned[T];
}

// RUN grid=1 block=128 n=128
KERNEL(scan_with_two_buffers)
{
	__shared__ float scanned[2][128];
	int from = 0;
	scanned[0][T] = x[T];
	__syncthreads();
	for (int k = 1; k < 128; k *= 2) {
		scanned[1 - from][T] = scanned[from][T] + (T >= k ? scanned[from][T - k] : 0);
		from = 1 - from;
		__syncthreads();
	}
	y[T] = scanned[from][T];
}

// RUN grid=1 block=256 n=256
KERNEL(transpose)
{
	__shared__ float tile[16][17];
	int r = T / 16, c = T % 16;
	tile[r][c] = x[T];
	__syncthreads();
	y[T] = tile[c][r];
}

// RUN grid=1 block=128 n=128
KERNEL(broadcast)
{
	__shared__ float mean;
	if (T == 0)
		mean = x[5];
	__syncthreads();
	y[T] = x[T] - mean;
}

// RUN grid=1 block=128 n=128
KERNEL(shared_histogram)
{
	__shared__ unsigned count[16];
	if (T < 16)
		count[T] = 0;
	__syncthreads();
	atomicAdd(&count[(int)x[T] % 16], 1);
	__syncthreads();
	y[T] = (float)count[T % 16];
}

// RUN grid=1 block=64 n=64
KERNEL(neighbouring_halves)
{
	__shared__ __half tile[64];
	tile[T] = __float2half(x[T]);
	__syncthreads();
	y[T] = __half2float(tile[63 - T]);
}

// RUN grid=1 block=64 n=64
KERNEL(neighbouring_bytes)
{
	__shared__ unsigned char tile[64];
	tile[T] = (unsigned char)x[T];
	__syncthreads();
	y[T] = (float)tile[63 - T];
}

// RUN grid=1 block=64 n=64 w=zero
KERNEL(neighbouring_bytes_of_global_memory)
{
	unsigned char *bytes = (unsigned char *)w;
	bytes[T] = (unsigned char)x[T];
	__syncthreads();
	y[T] = (float)(bytes[63 - T] + (w[T / 4] >> T % 4 * 8 & 1));
}

// RUN grid=1 block=128 n=128
KERNEL(odd_even_sort)
{
	__shared__ float list[128];
	list[T] = x[(T * 37) % 128];
	__syncthreads();
	for (int r = 0; r < 8; r++) {
		int a = 2 * T + (r & 1);
		if (a + 1 < 128 && list[a] > list[a + 1]) {
			float v = list[a];
			list[a] = list[a + 1];
			list[a + 1] = v;
		}
		__syncthreads();
	}
	y[T] = list[T];
}

// RUN grid=1 block=64 n=64
KERNEL(bitonic_sort)
{
	__shared__ float list[64];
	list[T] = x[(T * 29) % 64];
	__syncthreads();
	for (int k = 2; k <= 64; k *= 2)
		for (int j = k / 2; j; j /= 2) {
			int other = T ^ j;
			if (other > T && (T & k ? list[T] < list[other] : list[T] > list[other])) {
				float v = list[T];
				list[T] = list[other];
				list[other] = v;
			}
			__syncthreads();
		}
	y[T] = list[T];
}

// RUN grid=1 block=64 n=64
KERNEL(flag_in_shared_memory)
{
	__shared__ volatile int ready;
	__shared__ float value;
	if (T == 0)
		ready = 0;
	__syncthreads();
	if (T == 32) {
		value = x[7];
		__threadfence_block();
		ready = 1;
	}
	if (T < 32) {
		while (!ready)
			;
		__threadfence_block();
		y[T] = value;
	} else {
		y[T] = 0;
	}
}

// RUN grid=1 block=128 n=128
KERNEL(compacted_by_an_atomic_counter)
{
	__shared__ int count;
	__shared__ float kept[128];
	if (T == 0)
		count = 0;
	__syncthreads();
	if (x[T] < 10)
		kept[atomicAdd(&count, 1)] = x[T];
	__syncthreads();
	y[T] = T < count ? kept[T] : -1;
}

// RUN grid=1 block=128 n=128
KERNEL(float_maximum_by_compare_and_swap)
{
	__shared__ int most;
	if (T == 0)
		most = 0;
	__syncthreads();
	int v = __float_as_int(x[T]), old = most, seen;
	do {
		seen = old;
		if (seen >= v)
			break;
		old = atomicCAS(&most, seen, v);
	} while (old != seen);
	__syncthreads();
	y[T] = __int_as_float(most);
}

// RUN grid=1 block=128 n=128
KERNEL(float_maximum_by_guarded_atomic)
{
	__shared__ int most;
	if (T == 0)
		most = 0;
	__syncthreads();
	int v = __float_as_int(x[T]);
	if (v > most)
		atomicMax(&most, v);
	__syncthreads();
	y[T] = __int_as_float(most);
}

// ---- order between blocks

// RUN grid=4 block=64 n=256 w=zero
KERNEL(histogram)
{
	atomicAdd(&w[(int)x[I] % 16], 1);
	y[I] = 0;
}

// RUN grid=4 block=64 n=256
KERNEL(stencil)
{
	y[I] = x[I > 0 ? I - 1 : I] + x[I < n - 1 ? I + 1 : I];
}

// RUN grid=4 block=64 n=256
KERNEL(blocks_write_the_same)
{
	y[I] = 1;
	y[0] = 1;
}

// RUN grid=4 block=64 n=256 w=zero
KERNEL(last_block)
{
	__shared__ bool last;
	if (T == 0) {
		w[8 + blockIdx.x] = (unsigned)x[I];
		__threadfence();
		last = atomicAdd(&w[0], 1) == gridDim.x - 1;
	}
	__syncthreads();
	y[I] = last && T < 4 ? (float)w[8 + T] : 1;
}

// RUN grid=4 block=64 n=256 w=zero
KERNEL(last_block_of_all_threads)
{
	__shared__ bool last;
	if (T < 4)
		w[8 + 4 * blockIdx.x + T] = (unsigned)x[I];
	__threadfence();
	__syncthreads();
	if (T == 0)
		last = atomicAdd(&w[0], 1) == gridDim.x - 1;
	__syncthreads();
	y[I] = last && T < 16 ? (float)w[8 + T] : 1;
	if (last && T == 0)
		w[0] = 0;
}

// RUN grid=4 block=64 n=256 w=zero
KERNEL(last_block_by_atomic_inc)
{
	__shared__ unsigned ticket;
	if (T == 0) {
		w[8 + blockIdx.x] = (unsigned)x[I];
		__threadfence();
		ticket = atomicInc(&w[0], gridDim.x - 1);
	}
	__syncthreads();
	float sum = 0;
	if (ticket == gridDim.x - 1) {
		__threadfence();
		for (int k = 0; k < 4; k++)
			sum += (float)w[8 + k];
	}
	y[I] = sum;
}

// RUN grid=4 block=64 n=256 w=zero
KERNEL(each_warp_counts)
{
	__shared__ int last;
	if (T == 0)
		last = 0;
	__syncthreads();
	if (T % 32 == 0) {
		w[8 + I / 32] = (unsigned)x[I];
		__threadfence();
		if (atomicAdd(&w[0], 1) == gridDim.x * 2 - 1)
			atomicExch(&last, 1);
	}
	__syncthreads();
	y[I] = last && T < 8 ? (float)w[8 + T] : 1;
}

// RUN grid=4 block=32 n=128 w=zero
KERNEL(spin_lock)
{
	if (T == 0) {
		while (atomicCAS(&w[0], 0, 1))
			;
		__threadfence();
		w[1] += 1;
		__threadfence();
		atomicExch(&w[0], 0);
	}
	y[I] = 0;
}

// RUN grid=4 block=32 n=128 w=zero
KERNEL(spin_lock_with_volatile_data)
{
	volatile unsigned *v = w;
	if (T == 0) {
		while (atomicExch(&w[0], 1))
			;
		v[1] = v[1] + 1;
		__threadfence();
		atomicExch(&w[0], 0);
	}
	y[I] = 0;
}

// RUN grid=2 block=32 n=64 w=zero
KERNEL(spin_lock_of_each_lane)
{
	bool done = false;
	while (!done)
		if (atomicCAS(&w[0], 0, 1) == 0) {
			w[1] += 1;
			__threadfence();
			atomicExch(&w[0], 0);
			done = true;
		}
	y[I] = 0;
}

// RUN grid=4 block=32 n=128 w=zero
KERNEL(look_back)
{
	__shared__ float before;
	float v = x[I];
	for (int k = 16; k; k /= 2)
		v += __shfl_xor_sync(0xffffffff, v, k);
	if (T == 0) {
		volatile unsigned *flag = w, *sum = w + 16;
		float total = 0;
		if (blockIdx.x) {
			while (!flag[blockIdx.x - 1])
				;
			__threadfence();
			total = __uint_as_float(sum[blockIdx.x - 1]);
		}
		sum[blockIdx.x] = __float_as_uint(total + v);
		__threadfence();
		flag[blockIdx.x] = 1;
		before = total;
	}
	__syncthreads();
	y[I] = x[I] + before;
}

// RUN grid=4 block=32 n=128 w=zero
KERNEL(look_back_with_plain_data)
{
	__shared__ float before;
	if (T == 0) {
		volatile unsigned *flag = w;
		float total = 0;
		if (blockIdx.x) {
			while (!flag[blockIdx.x - 1])
				;
			__threadfence();
			total = __uint_as_float(w[16 + blockIdx.x - 1]);
		}
		w[16 + blockIdx.x] = __float_as_uint(total + x[I]);
		__threadfence();
		flag[blockIdx.x] = 1;
		before = total;
	}
	__syncthreads();
	y[I] = x[I] + before;
}

// RUN grid=4 block=32 n=128 w=zero
KERNEL(look_back_with_atomic_ref)
{
	if (T == 0) {
		cuda::atomic_ref<unsigned, cuda::thread_scope_device> mine(w[blockIdx.x]);
		unsigned total = 0;
		if (blockIdx.x) {
			cuda::atomic_ref<unsigned, cuda::thread_scope_device> flag(w[blockIdx.x - 1]);
			while (!flag.load(cuda::std::memory_order_acquire))
				;
			total = w[16 + blockIdx.x - 1];
		}
		w[16 + blockIdx.x] = total + (unsigned)x[I];
		mine.store(1, cuda::std::memory_order_release);
	}
	y[I] = 0;
}

// RUN grid=4 block=32 n=128 w=zero
KERNEL(tickets)
{
	__shared__ unsigned block;
	if (T == 0)
		block = atomicAdd(&w[0], 1);
	__syncthreads();
	y[block * 32 + T] = x[block * 32 + T];
}

// RUN grid=4 block=64 n=256 w=zero
KERNEL(block_scope_in_its_block)
{
	atomicAdd_block(&w[blockIdx.x], 1);
	__syncthreads();
	y[I] = (float)w[blockIdx.x];
}

// RUN grid=4 block=64 n=256 w=zero
KERNEL(global_maximum_guarded)
{
	unsigned v = (unsigned)x[I];
	if (v > w[0])
		atomicMax(&w[0], v);
	y[I] = 0;
}

// RUN grid=4 block=64 n=256 w=zero
KERNEL(double_sum_by_compare_and_swap)
{
	unsigned long long *at = (unsigned long long *)w, old = *at, seen;
	do {
		seen = old;
		old = atomicCAS(at, seen, (unsigned long long)__double_as_longlong(__longlong_as_double((long long)seen) + x[I]));
	} while (old != seen);
	y[I] = 0;
}

// ---- libraries

// RUN grid=2 block=128 n=256
KERNEL(cub_reduce)
{
	typedef cub::BlockReduce<float, 128> reduce;
	__shared__ typename reduce::TempStorage storage;
	__shared__ float all;
	float sum = reduce(storage).Sum(x[I]);
	if (T == 0)
		all = sum;
	__syncthreads();
	y[I] = all;
}

// RUN grid=2 block=128 n=256
KERNEL(cub_scan)
{
	typedef cub::BlockScan<float, 128> block_scan;
	__shared__ typename block_scan::TempStorage storage;
	float v;
	block_scan(storage).InclusiveSum(x[I], v);
	__syncthreads();
	float u;
	block_scan(storage).ExclusiveSum(v, u);
	y[I] = u;
}

// RUN grid=2 block=128 n=256
KERNEL(cub_reduce_in_raking_order)
{
	typedef cub::BlockReduce<float, 128, cub::BLOCK_REDUCE_RAKING> reduce;
	__shared__ typename reduce::TempStorage storage;
	__shared__ float all;
	float sum = reduce(storage).Sum(x[I]);
	if (T == 0)
		all = sum;
	__syncthreads();
	y[I] = all;
}

// RUN grid=2 block=64 n=128
KERNEL(groups)
{
	__shared__ float tile[64];
	cg::thread_block block = cg::this_thread_block();
	cg::thread_block_tile<16> part = cg::tiled_partition<16>(block);
	tile[T] = x[I];
	part.sync();
	float v = tile[T ^ 3] + cg::reduce(part, x[I], cg::plus<float>());
	block.sync();
	y[I] = v + tile[63 - T];
}

// RUN grid=2 block=64 n=128 w=zero
KERNEL(coalesced_group)
{
	if (x[I] < 9) {
		cg::coalesced_group g = cg::coalesced_threads();
		if (g.thread_rank() == 0)
			atomicAdd(&w[0], g.size());
	}
	y[I] = 0;
}

// RUN grid=1 block=32 n=256
KERNEL(matrix_fragments)
{
	using namespace nvcuda;
	__shared__ __half a[256];
	__shared__ float c[256];
	for (int k = T; k < 256; k += 32)
		a[k] = __float2half(x[k]);
	__syncwarp();
	wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
	wmma::fill_fragment(fc, 0.0f);
	wmma::load_matrix_sync(fa, a, 16);
	wmma::load_matrix_sync(fb, a, 16);
	wmma::mma_sync(fc, fa, fb, fc);
	wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
	__syncwarp();
	for (int k = T; k < 256; k += 32)
		y[k] = c[k];
}

// RUN grid=2 block=64 n=128
KERNEL(softmax_of_warps)
{
	float v = x[I], most = v;
	for (int k = 16; k; k /= 2)
		most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, k));
	float e = __expf(v - most), sum = e;
	for (int k = 16; k; k /= 2)
		sum += __shfl_xor_sync(0xffffffff, sum, k);
	y[I] = e / sum;
}

// RUN grid=1 block=64 n=64
KERNEL(arrive_and_wait)
{
	__shared__ float tile[64];
#pragma nv_diag_suppress static_var_with_dynamic_init
	__shared__ cuda::barrier<cuda::thread_scope_block> barrier;
	if (T == 0)
		init(&barrier, 64);
	__syncthreads();
	tile[T] = x[T];
	barrier.arrive_and_wait();
	y[T] = tile[63 - T];
	barrier.arrive_and_wait();
	tile[T] = 0;
}

// ---- what solutions are made of

// RUN grid=4 block=128 n=512
KERNEL(layer_norm)
{
	__shared__ float part[2][4];
	float v = x[I], sum = v, squares = v * v;
	for (int k = 16; k; k /= 2) {
		sum += __shfl_down_sync(0xffffffff, sum, k);
		squares += __shfl_down_sync(0xffffffff, squares, k);
	}
	if (T % 32 == 0) {
		part[0][T / 32] = sum;
		part[1][T / 32] = squares;
	}
	__syncthreads();
	if (T < 32) {
		sum = T < 4 ? part[0][T] : 0;
		squares = T < 4 ? part[1][T] : 0;
		for (int k = 2; k; k /= 2) {
			sum += __shfl_down_sync(0xffffffff, sum, k);
			squares += __shfl_down_sync(0xffffffff, squares, k);
		}
		if (T == 0) {
			part[0][0] = sum / 128;
			part[1][0] = rsqrtf(squares / 128 - sum / 128 * (sum / 128) + 1e-5f);
		}
	}
	__syncthreads();
	y[I] = (v - part[0][0]) * part[1][0];
}

// RUN grid=4 block=128 n=512
KERNEL(softmax_of_a_block)
{
	__shared__ float most, sum;
	__shared__ float part[4];
	float v = x[I], m = v;
	for (int k = 16; k; k /= 2)
		m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, k));
	if (T % 32 == 0)
		part[T / 32] = m;
	__syncthreads();
	if (T == 0)
		most = fmaxf(fmaxf(part[0], part[1]), fmaxf(part[2], part[3]));
	__syncthreads();
	float e = expf(v - most), s = e;
	for (int k = 16; k; k /= 2)
		s += __shfl_xor_sync(0xffffffff, s, k);
	if (T % 32 == 0)
		part[T / 32] = s;
	__syncthreads();
	if (T == 0)
		sum = part[0] + part[1] + part[2] + part[3];
	__syncthreads();
	y[I] = e / sum;
}

// RUN grid=4 block=256 n=1024
KERNEL(matrix_product)
{
	__shared__ float a[16][16], b[16][17];
	int r = T / 16, c = T % 16, row = blockIdx.x / 2 * 16 + r, column = blockIdx.x % 2 * 16 + c;
	float sum = 0;
	for (int k = 0; k < 32; k += 16) {
		a[r][c] = x[row * 32 + k + c];
		b[r][c] = x[(k + r) * 32 + column];
		__syncthreads();
		for (int j = 0; j < 16; j++)
			sum += a[r][j] * b[j][c];
		__syncthreads();
	}
	y[row * 32 + column] = sum;
}

// RUN grid=1 block=64 n=1024
KERNEL(matrix_product_in_registers)
{
	__shared__ float4 a[32][8], b[32][8];
	int r = T / 8 * 4, c = T % 8;
	float4 sum[4] = {};
	for (int k = T; k < 256; k += 64) {
		a[k / 8][k % 8] = ((const float4 *)x)[k];
		b[k / 8][k % 8] = ((const float4 *)x)[k];
	}
	__syncthreads();
	for (int k = 0; k < 32; k++)
		for (int j = 0; j < 4; j++) {
			float v = ((const float *)a[r + j])[k];
			float4 u = b[k][c];
			sum[j].x += v * u.x;
			sum[j].y += v * u.y;
			sum[j].z += v * u.z;
			sum[j].w += v * u.w;
		}
	for (int j = 0; j < 4; j++)
		((float4 *)y)[(r + j) * 8 + c] = sum[j];
}

// RUN grid=4 block=64 n=256
KERNEL(stencil_with_halo)
{
	__shared__ float tile[66];
	tile[T + 1] = x[I];
	if (T == 0)
		tile[0] = I ? x[I - 1] : 0;
	if (T == 63)
		tile[65] = I + 1 < n ? x[I + 1] : 0;
	__syncthreads();
	y[I] = tile[T] + tile[T + 1] + tile[T + 2];
}

// RUN grid=1 block=128 n=128
KERNEL(histogram_of_each_warp)
{
	__shared__ unsigned count[4][16];
	if (T < 64)
		count[T / 16][T % 16] = 0;
	__syncthreads();
	atomicAdd(&count[T / 32][(int)x[T] % 16], 1);
	__syncthreads();
	y[T] = T < 16 ? (float)(count[0][T] + count[1][T] + count[2][T] + count[3][T]) : 0;
}

// RUN grid=2 block=64 n=128
KERNEL(compaction_by_ballot)
{
	__shared__ float kept[64];
	__shared__ int start[2];
	bool keep = x[I] < 20;
	unsigned mask = __ballot_sync(0xffffffff, keep);
	int before = __popc(mask & ((1u << T % 32) - 1));
	if (T % 32 == 0)
		start[T / 32] = __popc(mask);
	__syncthreads();
	if (keep)
		kept[(T < 32 ? 0 : start[0]) + before] = x[I];
	__syncthreads();
	y[I] = T < start[0] + start[1] ? kept[T] : 0;
}

// RUN grid=1 block=128 n=512
KERNEL(attention_row)
{
	__shared__ float score[128], most, sum;
	float dot = 0;
	for (int k = 0; k < 4; k++)
		dot += x[k] * x[T * 4 + k] * 0.01f;
	score[T] = dot;
	__syncthreads();
	if (T == 0) {
		float m = score[0];
		for (int k = 1; k < 128; k++)
			m = fmaxf(m, score[k]);
		most = m;
	}
	__syncthreads();
	score[T] = expf(score[T] - most);
	__syncthreads();
	if (T == 0) {
		float s = 0;
		for (int k = 0; k < 128; k++)
			s += score[k];
		sum = s;
	}
	__syncthreads();
	for (int j = 0; j < 4; j++) {
		float v = 0;
		for (int k = 0; k < 128; k++)
			v += score[k] * x[k * 4 + j];
		y[T * 4 + j] = v / sum + (float)T * 0;
	}
}

// RUN grid=4 block=64 n=256 y=zero
KERNEL(sum_by_atomics_of_blocks)
{
	__shared__ float part[2];
	float v = x[I];
	for (int k = 16; k; k /= 2)
		v += __shfl_xor_sync(0xffffffff, v, k);
	if (T % 32 == 0)
		part[T / 32] = v;
	__syncthreads();
	if (T == 0)
		atomicAdd(y, part[0] + part[1]);
}

// RUN grid=2 block=64 n=256
KERNEL(pairs_of_halves)
{
	__half2 *to = (__half2 *)y;
	to[2 * I] = __floats2half2_rn(x[I], 1);
	to[2 * I + 1] = __hmul2(to[2 * I], __float2half2_rn(2));
}

// RUN grid=2 block=64 n=128
KERNEL(bf16_in_shared_memory)
{
	__shared__ __nv_bfloat16 tile[130];
	tile[T + 1] = __float2bfloat16(x[I]);
	if (T == 0)
		tile[0] = tile[65] = __float2bfloat16(0.0f);
	__syncthreads();
	y[I] = __bfloat162float(tile[T]) + __bfloat162float(tile[T + 2 > 65 ? 65 : T + 2]);
}

// RUN grid=1 block=64 n=64
KERNEL(bits_packed_by_lanes)
{
	__shared__ unsigned char flags[64];
	__shared__ unsigned words[2];
	flags[T] = x[T] > 10;
	__syncthreads();
	unsigned word = __ballot_sync(0xffffffff, flags[63 - T]);
	if (T % 32 == 0)
		words[T / 32] = word;
	__syncthreads();
	y[T] = (float)(words[T / 32] >> T % 32 & 1);
}

// RUN grid=1 block=96 n=96
KERNEL(queue_between_warps)
{
	__shared__ int head;
	__shared__ float item[96];
	if (T == 0)
		head = 0;
	__syncthreads();
	int at = atomicAdd(&head, 1);
	item[at] = x[T];
	__syncthreads();
	y[T] = item[95 - T];
}

// RUN grid=1 block=64 n=64
KERNEL(slot_taken_by_compare_and_swap)
{
	__shared__ unsigned key[128];
	key[T] = key[T + 64] = ~0u;
	__syncthreads();
	unsigned at = (unsigned)x[T] * 7 % 128;
	while (atomicCAS(&key[at], ~0u, (unsigned)T) != ~0u)
		at = (at + 1) % 128;
	__syncthreads();
	unsigned seen = 0;
	for (int k = 0; k < 128; k++)
		seen += key[k] == (unsigned)T;
	y[T] = (float)seen;
}

// RUN grid=1 block=64 n=64
KERNEL(union_of_two_views)
{
	__shared__ union {
		float f[64];
		unsigned u[64];
		double d[32];
	} tile;
	tile.f[T] = x[T];
	__syncthreads();
	unsigned v = tile.u[63 - T];
	__syncthreads();
	if (T < 32)
		tile.d[T] = v;
	__syncthreads();
	y[T] = (float)tile.d[T / 2];
}

// RUN grid=1 block=64 n=64
KERNEL(early_leavers)
{
	__shared__ float tile[64];
	tile[T] = x[T];
	__syncthreads();
	y[T] = 0;
	if (T >= 32)
		return;
	tile[T] += tile[T + 32];
	__syncwarp();
	y[T] = tile[31 - T];
}

// RUN grid=2 block=32 n=64
KERNEL(ping_pong_in_global_memory)
{
	y[I] = x[I];
	__syncthreads();
	float v = y[blockIdx.x * 32 + (T + 1) % 32];
	__syncthreads();
	y[I] = v;
}

// RUN grid=1 block=64 n=64
KERNEL(function_with_shared_memory)
{
	struct sum {
		__device__ __noinline__ static float of(float v)
		{
			__shared__ float part[2];
			for (int k = 16; k; k /= 2)
				v += __shfl_xor_sync(0xffffffff, v, k);
			__syncthreads();
			part[threadIdx.x / 32] = v;
			__syncthreads();
			return part[0] + part[1];
		}
	};
	y[T] = sum::of(x[T]) + sum::of(x[63 - T]);
}

// RUN grid=1 block=128 n=128
KERNEL(pipeline_of_barriers)
{
	__shared__ float tile[2][64];
#pragma nv_diag_suppress static_var_with_dynamic_init
	__shared__ cuda::barrier<cuda::thread_scope_block> full[2], empty[2];
	if (T == 0)
		for (int k = 0; k < 2; k++) {
			init(&full[k], 128);
			init(&empty[k], 128);
		}
	__syncthreads();
	float sum = 0;
	if (T < 64) {
		for (int k = 0; k < 6; k++) {
			if (k >= 2)
				empty[k & 1].arrive_and_wait();
			tile[k & 1][T] = x[(T + k) % 128];
			(void)full[k & 1].arrive();
		}
		empty[0].arrive_and_wait();
		empty[1].arrive_and_wait();
	} else {
		for (int k = 0; k < 6; k++) {
			full[k & 1].arrive_and_wait();
			sum += tile[k & 1][127 - T];
			(void)empty[k & 1].arrive();
		}
	}
	y[T] = sum;
}

// RUN grid=2 block=64 n=128
KERNEL(strided_bank_free_tile)
{
	__shared__ float tile[8][9];
	tile[T / 8][T % 8] = x[I];
	__syncthreads();
	y[I] = tile[T % 8][T / 8];
}

// RUN grid=1 block=64 n=64
KERNEL(double_precision_sum)
{
	__shared__ double sum[64];
	sum[T] = x[T];
	for (int k = 32; k; k /= 2) {
		__syncthreads();
		if (T < k)
			sum[T] += sum[T + k];
	}
	__syncthreads();
	y[T] = (float)sum[0];
}

// ---- flags that are volatile: not atomic, and right

// RUN grid=8 block=64 n=512 w=zero
KERNEL(volatile_turns)
{
	volatile unsigned *turn = w;
	if (T == 0) {
		while (turn[0] != blockIdx.x)
			;
		__threadfence();
		w[8] += (unsigned)x[I];
		__threadfence();
		turn[0] = turn[0] + 1;
	}
	y[I] = 0;
}

// RUN grid=2 block=32 n=64 w=zero
KERNEL(volatile_mailbox)
{
	volatile unsigned *box = w;
	float sum = 0;
	for (unsigned k = 0; T == 0 && k < 4; k++) {
		while ((box[0] == 0) != (blockIdx.x == 0))
			;
		__threadfence();
		if (blockIdx.x == 0)
			w[8] = (unsigned)x[k] + 1;
		else
			sum += w[8];
		__threadfence();
		box[0] = blockIdx.x == 0;
	}
	y[I] = sum;
}

// RUN grid=8 block=64 n=512 w=zero
KERNEL(volatile_look_back)
{
	volatile unsigned *sum = w, *ready = w + 16;
	if (T == 0) {
		unsigned before = 0;
		if (blockIdx.x) {
			while (!ready[blockIdx.x - 1])
				;
			__threadfence();
			before = sum[blockIdx.x - 1];
		}
		sum[blockIdx.x] = before + (unsigned)x[I];
		__threadfence();
		ready[blockIdx.x] = 1;
	}
	y[I] = 0;
}

// RUN grid=8 block=64 n=512 w=zero
KERNEL(volatile_under_a_lock)
{
	volatile unsigned *sum = w + 8;
	if (T == 0) {
		while (atomicCAS(&w[0], 0, 1))
			;
		__threadfence();
		sum[0] = sum[0] + 1;
		__threadfence();
		atomicExch(&w[0], 0);
	}
	y[I] = 0;
}
