/* What the kernels of tests/faults/wrong.cu were meant to compute. By these tests/gpu/agreement/verdicts.sh judges
 * them, so that a bug that a device does not stop is seen where it shows in a result. As right.c, whose functions
 * stand above these. */
KERNEL(read_past_end_by_one) { EACH(i, n) y[i] = x[i]; }
KERNEL(write_past_end_by_one) { EACH(i, n) y[i] = 1; }
KERNEL(row_past_end) { EACH(t, 32) EACH(r, n / 32) y[t] += x[r * 32 + t]; }
KERNEL(before_start) { EACH(i, n) y[i] = (i ? x[i - 1] : 0) + x[i]; }
KERNEL(negative_stride) { EACH(i, n) y[i] = 2; }
KERNEL(misaligned_vector) { EACH(t, 32) y[t] = sum_of(x + 1 + t * 4, 4); }
KERNEL(misaligned_double) { EACH(t, 32) y[2 * t + 1] = 1.875f; }
KERNEL(index_overflow) { EACH(i, n) y[i] = 1; }
KERNEL(wrong_element_type) { EACH(i, n) y[i] = 1; }
KERNEL(bytes_for_elements) { EACH(i, n) y[i] = 0; }
KERNEL(vector_tail) { EACH(i, n) y[i] = (float)(i % 4 + 1); }
KERNEL(no_guard) { EACH(i, n) y[i] = x[i] * 2; }
KERNEL(swapped_axes) { EACH(r, 4) EACH(c, 12) y[c * 4 + r] = x[r * 12 + c]; }
KERNEL(write_to_input) { EACH(i, n) y[i] = 0; }
KERNEL(use_after_free) { EACH(i, n) y[i] = 0; }
KERNEL(number_for_a_pointer) { EACH(i, n) y[i] = x[i]; }
KERNEL(far_into_the_neighbour) { EACH(i, n) y[i] = x[i]; }
KERNEL(atomic_out_of_bounds) { EACH(t, 32) w[t + 32] = 1; }
KERNEL(constant_out_of_bounds) { EACH(t, n) y[t] = t == 0 ? 2 : t == 1 ? 3 : 0; }
KERNEL(module_array_out_of_bounds) { EACH(i, n) y[i] = 0; }
KERNEL(failed_assertion) { EACH(i, n) y[i] = 1; }
KERNEL(shared_out_of_bounds) { EACH(t, n) y[t] = x[(t + 1) % 48]; }
KERNEL(shared_into_the_neighbour) { EACH(t, n) y[t] = x[t % 32] + 1; }
KERNEL(shared_into_the_next_variable) { EACH(t, n) y[t] = x[t % 32] + 1; }
KERNEL(dynamic_shared_too_small) { EACH(t, n) y[t] = x[63 - t]; }
KERNEL(shared_before_start) { EACH(t, n) y[t] = 1; }
KERNEL(local_out_of_bounds) { EACH(t, n) y[t] = x[t % 8]; }
KERNEL(endless_recursion) { EACH(i, n) y[i] = 0; }
KERNEL(shared_in_part_uninitialised) { EACH(t, n) y[t] = t < 16 ? 0 : x[63 - t]; }
KERNEL(shared_sum_not_zeroed) { EACH(t, n) y[t] = 2016; }
KERNEL(scratch_uninitialised) { EACH(t, n) y[t] = 1; }
KERNEL(sum_into_uninitialised_output) { EACH(t, n) y[t] = x[t]; }
KERNEL(output_read_before_all_is_written) { EACH(t, n) y[t] = t ? x[31 - t] : 0; }
KERNEL(local_uninitialised) { EACH(t, n) y[t] = x[(int)x[t]]; }
KERNEL(copy_not_waited_for) { EACH(t, n) y[t] = x[31 - t]; }
KERNEL(output_written_in_part) { EACH(i, n) y[i] = x[i]; }
KERNEL(output_every_other_row) { EACH(i, n) y[i] = x[i]; }
KERNEL(barrier_in_both_branches) { EACH(t, n) y[t] = x[t] < 16 ? 3 : 9; }
KERNEL(barrier_for_some_lanes) { EACH(t, n) y[t] = x[t] + 1; }
KERNEL(barrier_in_a_loop_of_unequal_length) { EACH(t, n) y[t] = sum_of(x, t + 1); }
KERNEL(warps_at_different_barriers) { EACH(t, n) y[t] = t < 32 ? 1 : 2; }
KERNEL(shuffle_after_exit) { EACH(i, n) y[i] = sum_of(x, n); }
KERNEL(shuffle_in_a_branch) { EACH(t, n) y[t] = x[t] < 16 && t < 16 ? x[t] + x[t + 16] : x[t]; }
KERNEL(shuffle_without_oneself) { EACH(t, n) y[t] = x[t] + x[t ^ 1]; }
KERNEL(syncwarp_without_oneself) { EACH(t, n) y[t] = t < 31 ? x[30 - t] : 0; }
KERNEL(named_barrier_for_too_many) { EACH(t, n) y[t] = x[t]; }
KERNEL(named_barrier_for_part_of_a_warp) { EACH(t, n) y[t] = x[t]; }
KERNEL(barrier_counts_disagree) { EACH(t, n) y[t] = x[t]; }
KERNEL(shuffle_against_barrier) { EACH(t, n) y[t] = x[t] < 16 ? x[t] + x[t ^ 16] : x[t]; }
KERNEL(flag_that_nobody_sets) { EACH(t, n) y[t] = 1; }
KERNEL(lock_that_stays_locked) { EACH(t, n) y[t] = 1; }
KERNEL(missing_barrier_after_load) { EACH(t, n) y[t] = x[255 - t]; }
KERNEL(missing_first_barrier_in_tile_loop) { sums_of_rounds(x, y, 4, 0); }
KERNEL(missing_second_barrier_in_tile_loop) { sums_of_rounds(x, y, 4, 0); }
KERNEL(tree_without_barrier) { EACH(t, n) y[t] = sum_of(x, 128); }
KERNEL(lanes_without_syncwarp) { EACH(t, n) y[t] = sum_of(x, 32); }
KERNEL(lanes_exchange_without_syncwarp) { EACH(t, n) y[t] = x[t ^ 1]; }
KERNEL(all_write_one_place) { EACH(t, n) y[t] = x[127]; }
KERNEL(reduction_slot_reused) { EACH(i, n) y[i] = sum_of(x + i / 256 * 256, 256); }
KERNEL(scan_without_second_barrier) { EACH(t, n) y[t] = sum_of(x, t + 1); }
KERNEL(transpose_without_barrier) { EACH(t, n) y[t] = x[t % 16 * 16 + t / 16]; }
KERNEL(broadcast_without_barrier) { EACH(t, n) y[t] = x[t] - x[5]; }
KERNEL(shared_histogram_zeroed_late) { counts_of(x, y, n); }
KERNEL(shared_histogram_read_early) { counts_of(x, y, n); }
KERNEL(read_by_all_before_the_last_warp_writes) { EACH(t, n) y[t] = x[3] + x[5]; }
KERNEL(halves_of_a_word) { EACH(t, n) y[t] = 1; }
KERNEL(producer_without_named_barrier) { EACH(t, n) y[t] = t < 32 ? 0 : x[63 - t]; }
KERNEL(histogram_without_atomics) { EACH(i, n) w[(int)x[i] % 16]++; }
KERNEL(stencil_in_place) { EACH(i, n) y[i] = i > 0 && i < n - 1 ? x[i - 1] + x[i + 1] : x[i]; }
KERNEL(all_blocks_write_one_place) { y[0] = x[0]; }
SUMMED(last_block_without_fence)
KERNEL(last_block_without_fence) { last_block(x, y, w, n); }
SUMMED(last_block_with_block_fence)
KERNEL(last_block_with_block_fence) { last_block(x, y, w, n); }
SUMMED(last_block_without_barrier)
KERNEL(last_block_without_barrier) { each_warp_counts(x, y, w, n); w[0] = 4; }
KERNEL(atomics_of_block_scope) { w[0] = 256; }
KERNEL(lock_without_fence) { w[1] = 4; }
KERNEL(flag_is_plain) { EACH(b, 4) w[8 + b] = 5; w[0] = 3; }
KERNEL(block_reads_what_a_warp_writes) { EACH(t, n) y[t] = x[t] + x[t ^ 32]; }
KERNEL(volatile_sum) { EACH(b, 8) w[0] += (uint32_t)x[b * 64] + 1; }
KERNEL(volatile_count) { EACH(t, n) y[t] = 8; }
