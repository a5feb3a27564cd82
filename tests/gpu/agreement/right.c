/* What the kernels of tests/faults/right.cu compute, in plain C: by these tests/gpu/agreement/verdicts.sh judges them.
 * x: as many elements as the kernel gets, values 0 to 31; y: n elements; w: 64 words. y and w are zeros at first.
 * A function that SUMMED names is compared by the sum of y alone: which thread or block comes last is open. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#define EACH(i, count) for (int i = 0; i < (count); i++)
#define KERNEL(name) static void name(const float *x, float *y, uint32_t *w, int n)
#define SUMMED(name) enum { name##_is_summed = 1 };

static inline float
sum_of(const float *x, int count)
{
	float sum = 0;
	EACH(i, count)
		sum += x[i];
	return sum;
}

static inline float
most_of(const float *x, int count)
{
	float most = x[0];
	EACH(i, count)
		most = fmaxf(most, x[i]);
	return most;
}

static inline uint32_t
bits_of(float f)
{
	uint32_t bits;
	memcpy(&bits, &f, 4);
	return bits;
}

static inline int
fibonacci(int k)
{
	return k < 2 ? k : fibonacci(k - 1) + fibonacci(k - 2);
}

static inline void
sums_of_rounds(const float *x, float *y, int rounds, int each)
{
	EACH(t, 256) {
		float sum = 0;
		EACH(k, rounds) {
			for (int j = 0; j < 256; j += 8)
				sum += x[k * 256 + (j + t) % 256];
			if (each)
				y[k * 256 + t] = sum;
		}
		if (!each)
			y[t] = sum;
	}
}

static inline void
counts_of(const float *x, float *y, int n)
{
	EACH(t, n)
		y[t] = 0;
	EACH(t, n)
		EACH(i, n)
			y[t] += (int)x[i] % 16 == t % 16;
}

static inline void
square_of(const float *x, float *y, int width)
{
	EACH(r, width)
		EACH(c, width) {
			y[r * width + c] = 0;
			EACH(k, width)
				y[r * width + c] += x[r * width + k] * x[k * width + c];
		}
}

static inline void
softmax_of(const float *x, float *y, int n)
{
	double most = most_of(x, n), sum = 0;
	EACH(i, n)
		sum += exp(x[i] - most);
	EACH(i, n)
		y[i] = (float)(exp(x[i] - most) / sum);
}

KERNEL(guarded) { EACH(i, n) y[i] = x[i] * 2; }
KERNEL(grid_stride) { EACH(i, n) y[i] = x[i] + 1; }
KERNEL(clamped_neighbours) { EACH(i, n) y[i] = x[i ? i - 1 : 0] + x[i < n - 1 ? i + 1 : i]; }
KERNEL(aligned_vector) { EACH(i, n) y[i] = x[i]; }
KERNEL(vector_with_tail) { EACH(i, n) y[i] = i < 100 ? (float)(i % 4 + 1) : 0; }
KERNEL(transposed) { EACH(r, 4) EACH(c, 12) y[c * 4 + r] = x[r * 12 + c]; }
KERNEL(wide_index) { EACH(i, n) y[i] = x[i]; }
KERNEL(constant_table)
{
	static const float table[16] = { 1, 2, 3 };
	EACH(i, n)
		y[i] = table[i % 16] + table[(i + 1) % 16];
}
KERNEL(module_memory) { EACH(i, n) y[i] = x[63 - i]; }
KERNEL(true_assertion) { EACH(i, n) y[i] = 1; }
KERNEL(shared_arrays_side_by_side) { EACH(t, n) y[t] = x[(t & 1 ? 0 : 32) + t / 2]; }
KERNEL(dynamic_shared_in_two_parts) { EACH(t, n) y[t] = x[63 - t] + x[t]; }
KERNEL(local_array) { EACH(t, n) y[t] = x[(int)x[31 - t]] * 2; }
KERNEL(padded_struct_by_value) { EACH(t, n) y[t] = 3 * x[t] + 3; }
KERNEL(recursion) { EACH(t, n) y[t] = (float)fibonacci(t % 9); }
KERNEL(shared_padded_with_zeros) { EACH(t, n) y[t] = t < 32 ? x[t + 32] : 0; }
KERNEL(shared_sum_zeroed) { EACH(t, n) y[t] = 2016; }
KERNEL(scratch_zeroed) { EACH(t, n) { w[t] = 1; y[t] = 1; } }
KERNEL(sum_into_zeroed_output) { EACH(t, n) y[t] = x[t]; }
KERNEL(output_reread_by_its_writer) { EACH(t, n) y[t] = x[t] + 1; }
KERNEL(copies_waited_for) { EACH(t, n) y[t] = x[31 - t]; }
KERNEL(copies_in_two_stages)
{
	EACH(t, 64) {
		float sum = 0;
		EACH(k, 8)
			y[k * 64 + t] = sum += x[k * 64 + 63 - t];
	}
}
KERNEL(lanes_meet_at_one_barrier) { EACH(t, n) y[t] = x[t] < 16 ? x[t] * 3 + 1 : x[t] - 2; }
KERNEL(barrier_after_exit) { EACH(t, n) y[t] = x[71 - t]; }
KERNEL(barrier_in_a_loop) { EACH(t, n) EACH(k, 5) y[t] += x[(63 - t + k) % 64]; }
KERNEL(barrier_counts)
{
	int some = 0;
	EACH(t, n)
		some += x[t] < 16;
	EACH(t, n)
		y[t] = (float)(some + (some == 32) + 1);
}
KERNEL(shuffle_of_those_that_stay) { EACH(i, n) y[i] = sum_of(x + i / 8 * 8, 8); }
KERNEL(shuffle_within_halves) { EACH(t, n) y[t] = t < 16 ? x[t] + x[t ^ 8] : x[t] - x[t ^ 8]; }
KERNEL(votes)
{
	int few = 0;
	EACH(t, n)
		few += x[t] < 7;
	EACH(t, n)
		y[t] = (float)(few + 8 + 1 + 496);
}
KERNEL(named_barriers) { EACH(t, n) y[t] = x[t ^ 1]; }
KERNEL(producer_and_consumer) { EACH(t, n) y[t] = t < 32 ? 0 : x[63 - t] * 3; }
KERNEL(producer_and_two_consumers) { EACH(t, n) y[t] = t < 32 ? 0 : 6 * x[31 - t % 32] + 15; }
KERNEL(lanes_with_syncwarp) { EACH(t, n) y[t] = sum_of(x, 32); }
KERNEL(volatile_warp_reduction) { EACH(t, n) y[t] = sum_of(x, 64); }
KERNEL(halves_with_syncwarp) { EACH(t, n) y[t] = x[t < 16 ? 15 - t : 47 - t]; }
KERNEL(shuffle_orders_lanes) { EACH(t, n) y[t] = 0; }
KERNEL(tile_loop) { sums_of_rounds(x, y, 4, 1); }
KERNEL(tile_loop_with_two_buffers) { sums_of_rounds(x, y, 4, 1); }
KERNEL(tree) { EACH(t, n) y[t] = sum_of(x, 128); }
KERNEL(tree_that_ends_in_shuffles) { EACH(t, n) y[t] = sum_of(x, 128); }
KERNEL(all_write_the_same) { EACH(t, n) y[t] = most_of(x, n) > 3; }
KERNEL(reduction_slot_guarded) { EACH(i, n) y[i] = sum_of(x + i / 256 * 256, 256); }
KERNEL(scan) { EACH(t, n) y[t] = sum_of(x, t + 1); }
KERNEL(scan_with_two_buffers) { EACH(t, n) y[t] = sum_of(x, t + 1); }
KERNEL(transpose) { EACH(t, n) y[t] = x[t % 16 * 16 + t / 16]; }
KERNEL(broadcast) { EACH(t, n) y[t] = x[t] - x[5]; }
KERNEL(shared_histogram) { counts_of(x, y, n); }
KERNEL(neighbouring_halves) { EACH(t, n) y[t] = x[63 - t]; }
KERNEL(neighbouring_bytes) { EACH(t, n) y[t] = x[63 - t]; }
KERNEL(neighbouring_bytes_of_global_memory)
{
	EACH(t, n) {
		((uint8_t *)w)[t] = (uint8_t)x[t];
		y[t] = x[63 - t] + (float)((int)x[t] & 1);
	}
}
KERNEL(odd_even_sort)
{
	EACH(t, n)
		y[t] = x[t * 37 % 128];
	EACH(r, 8)
		for (int a = r & 1; a + 1 < 128; a += 2)
			if (y[a] > y[a + 1]) {
				float v = y[a];
				y[a] = y[a + 1];
				y[a + 1] = v;
			}
}
KERNEL(bitonic_sort)
{
	EACH(t, n) {
		int at = t;
		for (; at > 0 && y[at - 1] > x[t]; at--)
			y[at] = y[at - 1];
		y[at] = x[t];
	}
}
KERNEL(flag_in_shared_memory) { EACH(t, n) y[t] = t < 32 ? x[7] : 0; }
SUMMED(compacted_by_an_atomic_counter)
KERNEL(compacted_by_an_atomic_counter) { EACH(t, n) y[t] = x[t] < 10 ? x[t] : -1; }
KERNEL(float_maximum_by_compare_and_swap) { EACH(t, n) y[t] = most_of(x, n); }
KERNEL(float_maximum_by_guarded_atomic) { EACH(t, n) y[t] = most_of(x, n); }
KERNEL(histogram) { EACH(i, n) w[(int)x[i] % 16]++; }
KERNEL(stencil) { EACH(i, n) y[i] = x[i ? i - 1 : i] + x[i < n - 1 ? i + 1 : i]; }
KERNEL(blocks_write_the_same) { EACH(i, n) y[i] = 1; }
SUMMED(last_block)
KERNEL(last_block)
{
	EACH(b, 4)
		w[8 + b] = (uint32_t)x[b * 64];
	w[0] = 4;
	EACH(i, n)
		y[i] = i < 4 ? (float)w[8 + i] : 1;
}
SUMMED(last_block_of_all_threads)
KERNEL(last_block_of_all_threads)
{
	EACH(i, 16)
		w[8 + i] = (uint32_t)x[i / 4 * 64 + i % 4];
	EACH(i, n)
		y[i] = i < 16 ? (float)w[8 + i] : 1;
}
SUMMED(last_block_by_atomic_inc)
KERNEL(last_block_by_atomic_inc)
{
	EACH(b, 4)
		w[8 + b] = (uint32_t)x[b * 64];
	EACH(t, 64)
		y[t] = x[0] + x[64] + x[128] + x[192];
}
SUMMED(each_warp_counts)
KERNEL(each_warp_counts)
{
	EACH(i, 8)
		w[8 + i] = (uint32_t)x[i * 32];
	w[0] = 8;
	EACH(i, n)
		y[i] = i < 8 ? (float)w[8 + i] : 1;
}
KERNEL(spin_lock) { w[1] = 4; }
KERNEL(spin_lock_with_volatile_data) { w[1] = 4; }
KERNEL(spin_lock_of_each_lane) { w[1] = 64; }
KERNEL(look_back)
{
	float total = 0;
	EACH(b, 4) {
		w[b] = 1;
		EACH(t, 32)
			y[b * 32 + t] = x[b * 32 + t] + total;
		total += sum_of(x + b * 32, 32);
		w[16 + b] = bits_of(total);
	}
}
KERNEL(look_back_with_plain_data)
{
	float total = 0;
	EACH(b, 4) {
		w[b] = 1;
		EACH(t, 32)
			y[b * 32 + t] = x[b * 32 + t] + total;
		total += x[b * 32];
		w[16 + b] = bits_of(total);
	}
}
KERNEL(look_back_with_atomic_ref)
{
	uint32_t total = 0;
	EACH(b, 4) {
		w[b] = 1;
		w[16 + b] = total += (uint32_t)x[b * 32];
	}
}
KERNEL(tickets) { w[0] = 4; EACH(i, n) y[i] = x[i]; }
KERNEL(block_scope_in_its_block) { EACH(b, 4) w[b] = 64; EACH(i, n) y[i] = 64; }
KERNEL(global_maximum_guarded) { w[0] = (uint32_t)most_of(x, n); }
KERNEL(double_sum_by_compare_and_swap)
{
	double sum = sum_of(x, n);
	memcpy(w, &sum, 8);
}
KERNEL(cub_reduce) { EACH(i, n) y[i] = sum_of(x + i / 128 * 128, 128); }
KERNEL(cub_scan)
{
	EACH(b, 2) {
		float inclusive = 0, sum = 0;
		EACH(t, 128) {
			y[b * 128 + t] = sum;
			sum += inclusive += x[b * 128 + t];
		}
	}
}
KERNEL(cub_reduce_in_raking_order) { EACH(i, n) y[i] = sum_of(x + i / 128 * 128, 128); }
KERNEL(groups) { EACH(i, n) y[i] = x[i ^ 3] + sum_of(x + i / 16 * 16, 16) + x[i / 64 * 64 + 63 - i % 64]; }
KERNEL(coalesced_group) { EACH(i, n) w[0] += x[i] < 9; }
KERNEL(matrix_fragments) { square_of(x, y, 16); }
KERNEL(softmax_of_warps) { EACH(k, n / 32) softmax_of(x + 32 * k, y + 32 * k, 32); }
KERNEL(arrive_and_wait) { EACH(t, n) y[t] = x[63 - t]; }
KERNEL(layer_norm)
{
	EACH(b, 4) {
		const float *v = x + b * 128;
		double mean = sum_of(v, 128) / 128, squares = 0;
		EACH(t, 128)
			squares += v[t] * v[t];
		EACH(t, 128)
			y[b * 128 + t] = (float)((v[t] - mean) / sqrt(squares / 128 - mean * mean + 1e-5));
	}
}
KERNEL(softmax_of_a_block) { EACH(b, 4) softmax_of(x + b * 128, y + b * 128, 128); }
KERNEL(matrix_product) { square_of(x, y, 32); }
KERNEL(matrix_product_in_registers) { square_of(x, y, 32); }
KERNEL(stencil_with_halo) { EACH(i, n) y[i] = (i ? x[i - 1] : 0) + x[i] + (i + 1 < n ? x[i + 1] : 0); }
KERNEL(histogram_of_each_warp)
{
	counts_of(x, y, n);
	EACH(t, n)
		y[t] = t < 16 ? y[t] : 0;
}
KERNEL(compaction_by_ballot)
{
	EACH(b, 2) {
		int kept = 0;
		EACH(t, 64)
			if (x[b * 64 + t] < 20)
				y[b * 64 + kept++] = x[b * 64 + t];
	}
}
KERNEL(attention_row)
{
	float score[128];
	EACH(t, 128) {
		score[t] = 0;
		EACH(k, 4)
			score[t] += x[k] * x[t * 4 + k] * 0.01f;
	}
	softmax_of(score, score, 128);
	EACH(t, 128)
		EACH(j, 4)
			EACH(k, 128)
				y[t * 4 + j] += score[k] * x[k * 4 + j];
}
KERNEL(sum_by_atomics_of_blocks) { y[0] = sum_of(x, n); }
KERNEL(pairs_of_halves)
{
	EACH(i, 128) {
		_Float16 pair[4] = { (_Float16)x[i], 1, (_Float16)(2 * x[i]), 2 };
		memcpy(y + 2 * i, pair, 8);
	}
}
KERNEL(bf16_in_shared_memory) { EACH(i, n) y[i] = (i % 64 ? x[i - 1] : 0) + (i % 64 < 63 ? x[i + 1] : 0); }
KERNEL(bits_packed_by_lanes) { EACH(t, n) y[t] = x[63 - t] > 10; }
SUMMED(queue_between_warps)
KERNEL(queue_between_warps) { EACH(t, n) y[t] = x[t]; }
KERNEL(slot_taken_by_compare_and_swap) { EACH(t, n) y[t] = 1; }
KERNEL(union_of_two_views) { EACH(t, n) y[t] = (float)bits_of(x[63 - t / 2]); }
KERNEL(early_leavers) { EACH(t, n) y[t] = t < 32 ? x[31 - t] + x[63 - t] : 0; }
KERNEL(ping_pong_in_global_memory) { EACH(i, n) y[i] = x[i / 32 * 32 + (i + 1) % 32]; }
KERNEL(function_with_shared_memory) { EACH(t, n) y[t] = 2 * sum_of(x, 64); }
KERNEL(pipeline_of_barriers) { for (int t = 64; t < n; t++) EACH(k, 6) y[t] += x[(127 - t + k) % 128]; }
KERNEL(strided_bank_free_tile) { EACH(i, n) y[i] = x[i / 64 * 64 + i % 8 * 8 + i % 64 / 8]; }
KERNEL(double_precision_sum) { EACH(t, n) y[t] = sum_of(x, 64); }
KERNEL(volatile_turns)
{
	w[0] = 8;
	EACH(b, 8)
		w[8] += (uint32_t)x[b * 64];
}
KERNEL(volatile_mailbox)
{
	EACH(i, 4)
		y[32] += x[i] + 1;
	w[8] = (uint32_t)x[3] + 1;
}
KERNEL(volatile_look_back)
{
	uint32_t sum = 0;
	EACH(b, 8) {
		w[b] = sum += (uint32_t)x[b * 64];
		w[16 + b] = 1;
	}
}
KERNEL(volatile_under_a_lock) { w[8] = 8; }
