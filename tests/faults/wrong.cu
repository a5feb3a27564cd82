// Kernels with one bug each. Above a kernel: how tests/unit/t_ptx_faults.c launches it (see there). At the line of the
// bug: the check and the kind that must be named, several kinds where the order of threads decides between them.
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda_fp16.h>
#include <assert.h>

#define KERNEL(name) extern "C" __global__ void name(const float *x, float *y, unsigned *w, int n)
#define I (int)(blockIdx.x * blockDim.x + threadIdx.x)
#define T (int)threadIdx.x

// ---- memcheck: global memory

// RUN grid=4 block=32 n=100
KERNEL(read_past_end_by_one)
{
	if (I > n)
		return;
	float v = x[I]; // BUG memcheck out_of_bounds
	if (I < n)
		y[I] = v;
	else
		y[0] = v;
}

// RUN grid=4 block=32 n=100
KERNEL(write_past_end_by_one)
{
	if (I <= n)
		y[I] = 1; // BUG memcheck out_of_bounds
}

// RUN grid=1 block=32 n=320
KERNEL(row_past_end)
{
	float sum = 0;
	for (int r = 0; r <= n / 32; r++)
		sum += x[r * 32 + T]; // BUG memcheck out_of_bounds
	y[T] = sum;
}

// RUN grid=1 block=64 n=64
KERNEL(before_start)
{
	y[I] = x[I - 1] + x[I]; // BUG memcheck out_of_bounds
}

// RUN grid=1 block=32 n=32
KERNEL(negative_stride)
{
	for (int k = n - 1 - T; k >= -32; k -= 32)
		y[k] = 2; // BUG memcheck out_of_bounds
}

// RUN grid=1 block=32 n=256
KERNEL(misaligned_vector)
{
	float4 v = *(const float4 *)(x + 1 + T * 4); // BUG memcheck misaligned
	y[T] = v.x + v.y + v.z + v.w;
}

// RUN grid=1 block=32 n=256
KERNEL(misaligned_double)
{
	*(double *)(y + 2 * T + 1) = 1.0; // BUG memcheck misaligned
}

// RUN grid=4 block=64 n=256
KERNEL(index_overflow)
{
	int row = I + (1 << 16), pitch = 1 << 15;
	y[row * pitch + I] = 1; // BUG memcheck no_memory|out_of_bounds
}

// RUN grid=1 block=64 n=64
KERNEL(wrong_element_type)
{
	((double *)y)[T] = 1; // BUG memcheck out_of_bounds
}

// RUN grid=1 block=64 n=64
KERNEL(bytes_for_elements)
{
	for (int k = T; k < n * (int)sizeof(float); k += 64)
		y[k] = 0; // BUG memcheck out_of_bounds
}

// RUN grid=1 block=32 n=102
KERNEL(vector_tail)
{
	for (int k = T * 4; k < n; k += 128)
		*(float4 *)(y + k) = make_float4(1, 2, 3, 4); // BUG memcheck out_of_bounds
}

// RUN grid=2 block=64 n=100
KERNEL(no_guard)
{
	y[I] = x[I] * 2; // BUG memcheck out_of_bounds
}

// RUN grid=1 block=64 n=48
KERNEL(swapped_axes)
{
	int r = T / 12, c = T % 12;
	if (r < 4)
		y[c * 12 + r] = x[r * 12 + c]; // BUG memcheck out_of_bounds
}

// RUN grid=1 block=32 n=32
KERNEL(write_to_input)
{
	((float *)x)[T] = 0; // BUG memcheck read_only_write
}

// RUN grid=1 block=32 n=32 freed=w
KERNEL(use_after_free)
{
	y[T] = (float)w[T]; // BUG memcheck use_after_free
}

// RUN grid=1 block=32 n=32
KERNEL(number_for_a_pointer)
{
	const float *p = (const float *)(size_t)n;
	y[T] = p[T]; // BUG memcheck no_memory
}

// RUN grid=1 block=32 n=32
KERNEL(far_into_the_neighbour)
{
	y[T] = x[T + 17408]; // BUG memcheck out_of_bounds
}

// RUN grid=1 block=64 n=64 w=zero
KERNEL(atomic_out_of_bounds)
{
	atomicAdd(&w[T + 32], 1); // BUG memcheck out_of_bounds
}

__constant__ float table[16] = { 1, 2, 3 };
__device__ float global_array[20];

// RUN grid=1 block=32 n=32
KERNEL(constant_out_of_bounds)
{
	y[T] = table[T + n - 31]; // BUG memcheck out_of_bounds
}

// RUN grid=1 block=32 n=32
KERNEL(module_array_out_of_bounds)
{
	global_array[T] = 1; // BUG memcheck out_of_bounds
}

// RUN grid=1 block=32 n=32
KERNEL(failed_assertion)
{
	assert(x[T] < 20); // BUG memcheck assert
	y[T] = 1;
}

// ---- memcheck: shared and local memory

// RUN grid=1 block=64 n=64
KERNEL(shared_out_of_bounds)
{
	__shared__ float tile[48];
	tile[T] = x[T]; // BUG memcheck out_of_bounds
	__syncthreads();
	y[T] = tile[(T + 1) % 48];
}

// RUN grid=1 block=64 n=64
KERNEL(shared_into_the_neighbour)
{
	__shared__ float first[32], second[32];
	if (T < 32)
		second[T] = 1;
	__syncthreads();
	if (T < 33)
		first[T + n - 64] = x[T]; // BUG memcheck out_of_bounds
	__syncthreads();
	y[T] = first[T % 32] + second[T % 32];
}

// RUN grid=1 block=64 n=64
KERNEL(shared_into_the_next_variable)
{
	__shared__ float first[32], second[32];
	if (T < 32) {
		first[T] = 1;
		second[T] = x[T];
	}
	__syncthreads();
	first[T & n / 2] = x[T]; // BUG memcheck out_of_bounds
	__syncthreads();
	y[T] = first[T % 32] + second[T % 32];
}

// RUN grid=1 block=64 n=64 shared=128
KERNEL(dynamic_shared_too_small)
{
	extern __shared__ float dynamic[];
	dynamic[T] = x[T]; // BUG memcheck out_of_bounds
	__syncthreads();
	y[T] = dynamic[63 - T];
}

// RUN grid=1 block=32 n=32
KERNEL(shared_before_start)
{
	__shared__ float tile[33];
	if (T < 8)
		tile[T - (n - 31)] = 1; // BUG memcheck out_of_bounds
	__syncthreads();
	y[T] = tile[T % 7];
}

// RUN grid=1 block=32 n=32
KERNEL(local_out_of_bounds)
{
	float mine[8];
	for (int k = 0; k < 8; k++)
		mine[k] = x[k];
	mine[(int)x[T]] = 5; // BUG memcheck out_of_bounds
	y[T] = mine[T % 8];
}

// RUN grid=1 block=32 n=32
__device__ __noinline__ float
deeper(const float *x, int k)
{
	float mine[64];
	for (int j = 0; j < 64; j++)
		mine[j] = x[j % 32] + (float)k;
	return k < -1 ? 0 : mine[(k + (int)x[0]) & 63] + deeper(x, k + 1) * mine[k & 63]; // BUG memcheck stack_overflow
}

KERNEL(endless_recursion)
{
	y[T] = deeper(x, T);
}

// ---- initcheck

// RUN grid=1 block=64 n=64
KERNEL(shared_in_part_uninitialised)
{
	__shared__ float tile[64];
	if (T < 48)
		tile[T] = x[T];
	__syncthreads();
	y[T] = tile[63 - T]; // BUG initcheck uninitialised_read
}

// RUN grid=1 block=64 n=64
KERNEL(shared_sum_not_zeroed)
{
	__shared__ unsigned sum;
	atomicAdd(&sum, (unsigned)T); // BUG initcheck uninitialised_read
	__syncthreads();
	y[T] = (float)sum;
}

// RUN grid=1 block=32 n=32
KERNEL(scratch_uninitialised)
{
	w[T] += 1; // BUG initcheck uninitialised_read
	y[T] = 1;
}

// RUN grid=1 block=32 n=32
KERNEL(sum_into_uninitialised_output)
{
	atomicAdd(&y[T], x[T]); // BUG initcheck uninitialised_read
}

// RUN grid=1 block=32 n=32
KERNEL(output_read_before_all_is_written)
{
	if (T < 31)
		y[T] = x[T];
	__syncthreads();
	float v = y[31 - T]; // BUG initcheck uninitialised_read
	__syncthreads();
	y[T] = v;
}

// RUN grid=1 block=32 n=32
KERNEL(local_uninitialised)
{
	float mine[32];
	for (int k = 0; k < (int)x[8]; k++)
		mine[k] = x[k];
	y[T] = mine[(int)x[T]]; // BUG initcheck uninitialised_read
}

// RUN grid=1 block=32 n=32
KERNEL(copy_not_waited_for)
{
	__shared__ float tile[32];
	unsigned to = (unsigned)__cvta_generic_to_shared(tile + T);
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(x + T));
	asm volatile("cp.async.commit_group;");
	__syncthreads();
	y[T] = tile[31 - T]; // BUG initcheck uninitialised_read
}

// RUN grid=1 block=32 n=64
KERNEL(output_written_in_part) // BUG initcheck never_written
{
	y[T] = x[T];
}

// RUN grid=2 block=16 n=64
KERNEL(output_every_other_row) // BUG initcheck never_written
{
	y[blockIdx.x * 32 + T] = x[T];
}

// ---- synccheck

// RUN grid=1 block=32 n=32
KERNEL(barrier_in_both_branches)
{
	if (x[T] < 16) {
		y[T] = 1;
		__syncthreads(); // BUG synccheck divergent_barrier
	} else {
		y[T] = 3;
		__threadfence_block();
		__syncthreads(); // BUG synccheck divergent_barrier
	}
	y[T] *= 3;
}

// RUN grid=1 block=32 n=32
KERNEL(barrier_for_some_lanes)
{
	if (x[T] < 16) {
		y[T] = 1;
		__syncthreads(); // BUG synccheck divergent_barrier
	}
	y[T] = x[T] + 1;
}

// RUN grid=1 block=64 n=64
KERNEL(barrier_in_a_loop_of_unequal_length)
{
	float sum = 0;
	for (int k = 0; k <= T; k++) {
		sum += x[k];
		__syncthreads(); // BUG synccheck divergent_barrier|barrier_mismatch|deadlock
	}
	y[T] = sum;
}

// RUN grid=1 block=64 n=64
KERNEL(warps_at_different_barriers)
{
	if (T < 32) {
		y[T] = 1;
		__syncthreads(); // BUG synccheck barrier_mismatch
	} else {
		y[T] = 2;
		__threadfence_block();
		__syncthreads(); // BUG synccheck barrier_mismatch
	}
}

// RUN grid=1 block=32 n=24
KERNEL(shuffle_after_exit)
{
	if (I >= n)
		return;
	float v = x[I];
	for (int k = 16; k; k /= 2)
		v += __shfl_xor_sync(0xffffffff, v, k); // BUG synccheck exited_lanes_in_mask
	y[I] = v;
}

// RUN grid=1 block=32 n=32
KERNEL(shuffle_in_a_branch)
{
	float v = x[T];
	if (v < 16)
		v += __shfl_down_sync(0xffff, v, 16); // BUG synccheck exited_lanes_in_mask
	y[T] = v;
}

// RUN grid=1 block=32 n=32
KERNEL(shuffle_without_oneself)
{
	float v = x[T];
	v += __shfl_xor_sync(0xffff, v, 1); // BUG synccheck lane_not_in_mask
	y[T] = v;
}

// RUN grid=1 block=32 n=32
KERNEL(syncwarp_without_oneself)
{
	__shared__ float tile[32];
	tile[T] = x[T];
	__syncwarp(0x7fffffff); // BUG synccheck lane_not_in_mask
	if (T < 31)
		y[T] = tile[30 - T];
	else
		y[T] = 0;
}

// RUN grid=1 block=64 n=64
KERNEL(named_barrier_for_too_many)
{
	y[T] = x[T];
	asm volatile("bar.sync 1, 96;" ::: "memory"); // BUG synccheck deadlock
}

// RUN grid=1 block=64 n=64
KERNEL(named_barrier_for_part_of_a_warp)
{
	y[T] = x[T];
	asm volatile("bar.sync 1, %0;" ::"r"(n - 24) : "memory"); // BUG synccheck barrier_mismatch
}

// RUN grid=1 block=64 n=64
KERNEL(barrier_counts_disagree)
{
	y[T] = x[T];
	if (T < 32)
		asm volatile("bar.sync 1, 64;" ::: "memory"); // BUG synccheck barrier_mismatch
	else
		asm volatile("bar.sync 1, 32;" ::: "memory"); // BUG synccheck barrier_mismatch
}

// RUN grid=1 block=32 n=32
KERNEL(shuffle_against_barrier)
{
	float v = x[T];
	if (v < 16)
		v += __shfl_xor_sync(0xffffffff, v, 16); // BUG synccheck deadlock
	else
		__syncthreads(); // BUG synccheck deadlock
	y[T] = v;
}

// RUN grid=1 block=32 n=32 w=zero
KERNEL(flag_that_nobody_sets)
{
	volatile unsigned *flag = w;
	while (!flag[3]) // BUG synccheck deadlock
		;
	y[T] = 1;
}

// RUN grid=2 block=32 n=64 w=zero
KERNEL(lock_that_stays_locked)
{
	if (T == 0)
		while (atomicCAS(&w[0], 0, 1)) // BUG synccheck deadlock
			;
	y[I] = 1;
}

// ---- racecheck: shared memory

// RUN grid=1 block=256 n=256
KERNEL(missing_barrier_after_load)
{
	__shared__ float tile[256];
	tile[T] = x[T];
	y[T] = tile[255 - T]; // BUG racecheck write_read|read_write initcheck uninitialised_read
}

// RUN grid=1 block=256 n=1024
KERNEL(missing_first_barrier_in_tile_loop)
{
	__shared__ float tile[256];
	float sum = 0;
	for (int k = 0; k < n; k += 256) {
		tile[T] = x[k + T]; // BUG racecheck read_write
		for (int j = 0; j < 256; j += 8)
			sum += tile[(j + T) % 256]; // BUG racecheck write_read initcheck uninitialised_read
		__syncthreads();
	}
	y[T] = sum;
}

// RUN grid=1 block=256 n=1024
KERNEL(missing_second_barrier_in_tile_loop)
{
	__shared__ float tile[256];
	float sum = 0;
	for (int k = 0; k < n; k += 256) {
		tile[T] = x[k + T] + k; // BUG racecheck read_write|write_read
		__syncthreads();
		for (int j = 0; j < 256; j += 8)
			sum += tile[(j + T) % 256]; // BUG racecheck write_read|read_write
	}
	y[T] = sum;
}

// RUN grid=1 block=128 n=128
KERNEL(tree_without_barrier)
{
	__shared__ float sum[128];
	sum[T] = x[T];
	__syncthreads();
	for (int k = 64; k; k /= 2)
		if (T < k)
			sum[T] += sum[T + k]; // BUG racecheck write_read|read_write
	__syncthreads();
	y[T] = sum[0];
}

// RUN grid=1 block=32 n=32 lanes
KERNEL(lanes_without_syncwarp)
{
	__shared__ float sum[64];
	sum[T] = x[T];
	sum[T + 32] = 0;
	__syncwarp();
	for (int k = 16; k; k /= 2)
		sum[T] += sum[T + k]; // BUG racecheck write_read|read_write
	__syncwarp();
	y[T] = sum[0];
}

// RUN grid=1 block=32 n=32 lanes
KERNEL(lanes_exchange_without_syncwarp)
{
	__shared__ float tile[32];
	tile[T] = x[T];
	y[T] = tile[T ^ 1]; // BUG racecheck write_read
}

// RUN grid=1 block=128 n=128
KERNEL(all_write_one_place)
{
	__shared__ float last;
	last = x[T]; // BUG racecheck write_write
	__syncthreads();
	y[T] = last;
}

// RUN grid=1 block=256 n=1024
KERNEL(reduction_slot_reused)
{
	__shared__ float part[8];
	for (int r = 0; r < 4; r++) {
		float v = x[r * 256 + T];
		for (int k = 16; k; k /= 2)
			v += __shfl_xor_sync(0xffffffff, v, k);
		if (T % 32 == 0)
			part[T / 32] = v; // BUG racecheck read_write|write_read
		__syncthreads();
		float sum = 0;
		for (int k = 0; k < 8; k++)
			sum += part[k]; // BUG racecheck write_read|read_write
		y[r * 256 + T] = sum;
	}
}

// RUN grid=1 block=128 n=128
KERNEL(scan_without_second_barrier)
{
	__shared__ float scan[128];
	scan[T] = x[T];
	__syncthreads();
	for (int k = 1; k < 128; k *= 2) {
		float v = T >= k ? scan[T - k] : 0; // BUG racecheck write_read|read_write
		scan[T] += v; // BUG racecheck read_write|write_read
		__syncthreads();
	}
	y[T] = scan[T];
}

// RUN grid=1 block=256 n=256
KERNEL(transpose_without_barrier)
{
	__shared__ float tile[16][17];
	int r = T / 16, c = T % 16;
	tile[r][c] = x[T];
	y[T] = tile[c][r]; // BUG racecheck write_read|read_write initcheck uninitialised_read
}

// RUN grid=1 block=128 n=128
KERNEL(broadcast_without_barrier)
{
	__shared__ float mean;
	if (T == 0)
		mean = x[5];
	y[T] = x[T] - mean; // BUG racecheck write_read initcheck uninitialised_read
}

// RUN grid=1 block=128 n=128
KERNEL(shared_histogram_zeroed_late)
{
	__shared__ unsigned count[16];
	if (T >= 112)
		count[T - 112] = 0; // BUG racecheck write_write
	atomicAdd(&count[(int)x[T] % 16], 1); // BUG racecheck write_write initcheck uninitialised_read
	__syncthreads();
	y[T] = (float)count[T % 16];
}

// RUN grid=1 block=128 n=128
KERNEL(shared_histogram_read_early)
{
	__shared__ unsigned count[16];
	if (T < 16)
		count[T] = 0;
	__syncthreads();
	atomicAdd(&count[(int)x[T] % 16], 1); // BUG racecheck read_write
	y[T] = (float)count[T % 16]; // BUG racecheck write_read
}

// RUN grid=1 block=128 n=128
KERNEL(read_by_all_before_the_last_warp_writes)
{
	__shared__ float value;
	if (T == 0)
		value = x[3];
	__syncthreads();
	float v = value;
	if (T == 127)
		value = x[5]; // BUG racecheck read_write
	__syncthreads();
	y[T] = v + value;
}

// RUN grid=1 block=64 n=64
KERNEL(halves_of_a_word)
{
	__shared__ __half tile[66];
	tile[T + 1] = __float2half(x[T]);
	tile[T] = __float2half(1.0f); // BUG racecheck write_write
	__syncthreads();
	y[T] = __half2float(tile[T]);
}

// RUN grid=1 block=64 n=64
KERNEL(producer_without_named_barrier)
{
	__shared__ float tile[32];
	if (T < 32) {
		tile[T] = x[T];
		asm volatile("bar.arrive 1, 64;" ::: "memory");
		tile[T] = x[T] * 2; // BUG racecheck read_write|write_read
		y[T] = 0;
	} else {
		asm volatile("bar.sync 1, 64;" ::: "memory");
		y[T] = tile[63 - T]; // BUG racecheck write_read|read_write
	}
}

// ---- racecheck: global memory

// RUN grid=4 block=64 n=256 w=zero
KERNEL(histogram_without_atomics)
{
	w[(int)x[I] % 16]++; // BUG racecheck write_read|write_write|read_write
	y[I] = 0;
}

// RUN grid=4 block=64 n=256
KERNEL(stencil_in_place)
{
	y[I] = x[I];
	__syncthreads();
	if (I > 0 && I < n - 1)
		y[I] = y[I - 1] + y[I + 1]; // BUG racecheck write_read|read_write initcheck uninitialised_read
}

// RUN grid=4 block=64 n=256
KERNEL(all_blocks_write_one_place)
{
	if (T == 0)
		y[0] = x[I + blockIdx.x]; // BUG racecheck write_write
	if (I)
		y[I] = 0;
}

// RUN grid=4 block=64 n=256 w=zero
KERNEL(last_block_without_fence)
{
	__shared__ bool last;
	if (T == 0) {
		w[8 + blockIdx.x] = (unsigned)x[I];
		last = atomicAdd(&w[0], 1) == gridDim.x - 1;
	}
	__syncthreads();
	y[I] = last && T < 4 ? (float)w[8 + T] : 1; // BUG racecheck write_read
}

// RUN grid=4 block=64 n=256 w=zero
KERNEL(last_block_with_block_fence)
{
	__shared__ bool last;
	if (T == 0) {
		w[8 + blockIdx.x] = (unsigned)x[I];
		__threadfence_block();
		last = atomicAdd(&w[0], 1) == gridDim.x - 1;
	}
	__syncthreads();
	y[I] = last && T < 4 ? (float)w[8 + T] : 1; // BUG racecheck write_read
}

// RUN grid=4 block=64 n=256 w=zero
KERNEL(last_block_without_barrier)
{
	__shared__ bool last;
	if (T % 32 == 0)
		w[8 + I / 32] = (unsigned)x[I];
	if (T == 0) {
		__threadfence();
		last = atomicAdd(&w[0], 1) == gridDim.x - 1;
	}
	__syncthreads();
	y[I] = last && T < 8 ? (float)w[8 + T] : 1; // BUG racecheck write_read
}

// RUN grid=4 block=64 n=256 w=zero
KERNEL(atomics_of_block_scope)
{
	atomicAdd_block(&w[0], 1); // BUG racecheck write_write
	y[I] = 0;
}

// RUN grid=4 block=32 n=128 w=zero
KERNEL(lock_without_fence)
{
	if (T == 0) {
		while (atomicCAS(&w[0], 0, 1))
			;
		w[1] += 1; // BUG racecheck write_read|write_write
		atomicExch(&w[0], 0);
	}
	y[I] = 0;
}

// RUN grid=4 block=64 n=256 w=zero
KERNEL(flag_is_plain)
{
	if (T == 0) {
		w[8 + blockIdx.x] = 5;
		__threadfence();
		w[0] = blockIdx.x; // BUG racecheck write_write
	}
	y[I] = 0;
}

// RUN grid=8 block=64 n=512 w=zero schedule=1
KERNEL(volatile_sum)
{
	volatile unsigned *sum = w;
	if (T == 0)
		sum[0] = sum[0] + (unsigned)x[I] + 1; // BUG racecheck write_write
	y[I] = 0;
}

// RUN grid=1 block=256 n=256 schedule=1
KERNEL(volatile_count)
{
	__shared__ volatile int count;
	if (T == 0)
		count = 0;
	__syncthreads();
	if (T % 32 == 0)
		count = count + 1; // BUG racecheck write_write
	__syncthreads();
	y[T] = count;
}

// RUN grid=1 block=64 n=64
KERNEL(block_reads_what_a_warp_writes)
{
	y[T] = x[T];
	y[T] += y[T ^ 32]; // BUG racecheck write_read|read_write initcheck uninitialised_read
}
