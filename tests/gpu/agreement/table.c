/* What the kernels of tests/gpu/kernels compute, in plain C: by these tests/gpu/agreement/verdicts.sh judges them.
 * x, k: 4,096 values to read; y, z: 4,096 places, zeros at first. Floats are compared within a tolerance; where a whole
 * number hangs on a float, the multiply and add that nvcc fuses are fused here. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { N = 4096 };
#define EACH(i, count) for (int i = 0; i < (count); i++)
#define CASE(name) static void name(const float *x, const int32_t *k, float *y, int32_t *z)

static inline float
half(float f)
{
	return (float)(_Float16)f;
}

static inline float
half_toward_zero(float f)
{
	_Float16 h = (_Float16)f;
	uint16_t bits;
	if (fabsf((float)h) > fabsf(f)) {
		memcpy(&bits, &h, 2);
		bits--;
		memcpy(&h, &bits, 2);
	}
	return (float)h;
}

static inline float
bfloat(float f)
{
	uint32_t bits;
	memcpy(&bits, &f, 4);
	bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
	memcpy(&f, &bits, 4);
	return f;
}

/* To a float of 8 bits, to nearest even; smaller than the largest. */
static inline int
eight(float f, int mantissa, int bias, float *back)
{
	int exponent;
	frexpf(fabsf(f), &exponent);
	if (exponent < 2 - bias || f == 0)
		exponent = 2 - bias;
	int steps = (int)rint(ldexp(fabs((double)f), mantissa + 1 - exponent));	/* of the last place */
	*back = (float)ldexp(f < 0 ? -steps : steps, exponent - 1 - mantissa);
	int bits = steps + ((exponent - 2 + bias) << mantissa);
	return bits | (signbit(f) ? 128 : 0);
}

static inline void
sort_each(const int32_t *k, int32_t *z, int length)
{
	EACH(i, N) {
		int first = i / length * length, at = i;
		for (; at > first && z[at - 1] > k[i]; at--)
			z[at] = z[at - 1];
		z[at] = k[i];
	}
}

static inline int
popcount(uint32_t v)
{
	return __builtin_popcount(v);
}

static inline int
clz(uint32_t v)
{
	return v ? __builtin_clz(v) : 32;
}

/* ---- warp.cu */

CASE(warp_sum_butterfly) { EACH(i, N) EACH(j, 32) y[i] += x[i / 32 * 32 + j]; }
CASE(warp_scan_shuffles)
{
	static int32_t v[N];
	EACH(i, N)
		v[i] = k[i] + (i % 32 ? v[i - 1] : 0);
	EACH(i, N)
		z[i] = v[i] + v[i % 8 < 5 ? i + 3 : i] * 3 + v[i / 16 * 16 + i % 32 * 5 % 16];
}
CASE(warp_wide_shuffles)
{
	EACH(i, N) {
		int l = i % 32 < 30 ? i + 2 : i;
		y[i] = (float)(x[i ^ 7] * 3.0) + half(x[i % 32 ? i - 1 : i]);
		z[i] = (int32_t)(((int64_t)k[l] << 33 | l) >> 20);
	}
}
CASE(warp_votes)
{
	EACH(i, N) {
		const int32_t *v = k + i / 32 * 32;
		uint32_t b = 0;
		bool any = false, all = true;
		EACH(j, 32) {
			b |= (uint32_t)(v[j] >> 2 & 1) << j;
			any |= v[j] > 1020;
			all &= v[j] > 20;
		}
		z[i] = (int32_t)(b * 3 + (uint32_t)popcount(b) + any * 7 + all * 11 + 1);
	}
}
CASE(warp_matches)
{
	EACH(i, N) {
		uint32_t m = 0;
		EACH(j, 32)
			m |= (uint32_t)((k[i / 32 * 32 + j] & 7) == (k[i] & 7)) << j;
		z[i] = (int32_t)~m + 5;
	}
}
CASE(warp_reduce_instructions)
{
	EACH(i, N) {
		const int32_t *v = k + i / 32 * 32;
		uint32_t add = 0, most = 0, least = ~0u, or = 0, xor = 0, and = ~0u;
		EACH(j, 32) {
			uint32_t u = (uint32_t)v[j];
			add += u;
			most = u > most ? u : most;
			least = u < least ? u : least;
			or |= u;
			xor ^= u;
			and &= u | 1;
		}
		z[i] = (int32_t)(add + most * 3 - least + (or ^ xor) + and) + (int32_t)most - 500;
	}
}
CASE(control_divergence)
{
	static int32_t r[N];
	EACH(t, N) {
		int v = k[t];
		r[t] = 0;
		if (v & 1)
			r[t] = v * 2;
		else if (v & 2)
			EACH(i, v & 15)
				r[t] += i * v;
		else
			r[t] = (v & 28) == 0 ? 1 : (v & 28) == 4 ? v : (v & 28) == 8 ? -v : (v & 28) == 16 ? v ^ 99 : v / 3;
	}
	EACH(t, N)
		z[t] = r[t] + r[t ^ 1];
}
CASE(warp_partial_mask)
{
	EACH(t, N) {
		const int32_t *v = k + t / 32 * 32;
		uint32_t ballot = 0, sum = 0;
		for (int j = 1; j < 32; j += 3) {
			ballot |= (uint32_t)(v[j] & 1) << j;
			sum += (uint32_t)v[j];
		}
		z[t] = t % 32 % 3 == 1 ? v[28] + (int32_t)(ballot + sum) : -1;
	}
}
CASE(block_sum_tree)
{
	EACH(b, N / 256) {
		double sum = 1;
		bool large = false;
		EACH(t, 256) {
			float v = x[b * 256 + t];
			sum += v + (double)(v > 0);
			large |= v > 3;
		}
		EACH(t, 256)
			y[b * 256 + t] = (float)(sum + large);
	}
}
CASE(sort_bitonic) { sort_each(k, z, 512); }
CASE(sort_odd_even)
{
	EACH(i, N) {
		int at = i;
		for (; at > i / 64 * 64 && y[at - 1] > x[i]; at--)
			y[at] = y[at - 1];
		y[at] = x[i];
	}
}
CASE(sort_radix) { sort_each(k, z, 256); }
CASE(sort_by_rank) { sort_each(k, z, 256); }
CASE(scan_block) { EACH(i, N) z[i] = k[i] + (i % 256 ? z[i - 1] : 0); }
CASE(scan_blelloch) { EACH(i, N) z[i] = i % 512 ? z[i - 1] + k[i - 1] : 0; }
CASE(scan_chained_blocks) { EACH(i, N) z[i] = k[i] + (i ? z[i - 1] : 0); }
CASE(warp_compaction)
{
	EACH(b, N / 256) {
		int at = 0;
		EACH(t, 256)
			if (k[b * 256 + t] % 3 == 0)
				z[b * 256 + at++] = k[b * 256 + t];
		while (at < 256)
			z[b * 256 + at++] = -1;
	}
}
CASE(groups_tiles)
{
	EACH(i, N) {
		const float *v = x + i / 8 * 8;
		int largest = INT32_MIN, ballot = 0, before = 0;
		EACH(j, 8) {
			y[i] += v[j];
			largest = (int)(v[j] * 100) > largest ? (int)(v[j] * 100) : largest;
			ballot |= (v[j] > 0) << j;
			before += j < i % 8 ? i % 256 / 8 * 8 + j : 0;
		}
		y[i] += x[i % 8 < 6 ? i + 2 : i];
		z[i] = largest + i % 256 / 8 * 1000 + ballot + before;
	}
}
CASE(groups_coalesced)
{
	EACH(i, N) {
		const int32_t *v = k + i / 32 * 32;
		int size = 0, rank = 0, first = -1;
		EACH(j, 32) {
			if (v[j] & 1) {
				first = first < 0 ? v[j] : first;
				size++;
				rank += j < i % 32;
			}
			z[i] += (v[j] & 3) == (k[i] & 3) ? v[j] : 0;
		}
		z[i] += k[i] & 1 ? size * 100 + rank + first : 0;
	}
}
CASE(groups_grid_sync)
{
	static int32_t before[N];
	memcpy(z, k, N * 4);
	for (int round = 1; round < 4; round++) {
		memcpy(before, z, N * 4);
		EACH(i, N)
			z[i] += before[(i + 256 * round) % N];
	}
}
CASE(barriers_named) { EACH(i, N) y[i] = 2 * x[i / 256 * 256 + ((255 - i % 256) ^ 63)]; }
CASE(atomics_histogram) { EACH(i, N) z[k[i] & 63]++; }
CASE(atomics_integers)
{
	int count[16] = { 0 };
	int64_t sum[16] = { 0 }, most[16] = { 0 };
	EACH(i, N) {
		int v = k[i], at = v & 15;
		z[at] = v > z[at] ? v : z[at];
		z[32 + at] |= v;
		z[64 + at] ^= v * 77;
		z[80 + at] -= v;
		count[at]++;
		sum[at] += (int64_t)v << 30;
		most[at] = (int64_t)v << 31 > most[at] ? (int64_t)v << 31 : most[at];
	}
	EACH(at, 16) {
		z[96 + at] = count[at] % 101;
		z[112 + at] = (51 - count[at] % 51) % 51;
		memcpy(z + 128 + 2 * at, sum + at, 8);
		memcpy(z + 160 + 2 * at, most + at, 8);
	}
	EACH(i, 256)
		z[256 + i] = 5;
}
CASE(atomics_floats)
{
	double sum[32] = { 0 };
	_Float16 halves[32][2] = { { 0 } };
	float bfloats[64][2] = { { 0 } };
	EACH(i, N) {
		int v = k[i] & 7, at = i & 31;
		y[at] += (float)v;
		sum[at] += v;
		halves[at][0] += (_Float16)(v & 1);
		halves[at][1] += (_Float16)(v >> 1 & 1);
		bfloats[i & 63][0] += (float)(v & 1);
		bfloats[i & 63][1] += 1;
	}
	memcpy(y + 64, sum, sizeof sum);
	memcpy(y + 128, halves, sizeof halves);
	EACH(i, 64) {
		uint32_t low, high;
		memcpy(&low, &bfloats[i][0], 4);
		memcpy(&high, &bfloats[i][1], 4);
		low = low >> 16 | high;
		memcpy(y + 192 + i, &low, 4);
	}
}
CASE(atomics_float_order)
{
	double sum[8] = { 0 };
	EACH(i, N)
		sum[i & 7] += x[i];
	EACH(i, 8)
		y[i] = (float)sum[i];
}
CASE(atomics_spin_lock) { z[0] = 256; }
CASE(atomics_last_block)
{
	EACH(i, N) {
		z[i / 256 + 1] += k[i] & 1;
		z[0] += k[i] & 1;
	}
}
CASE(atomics_float_max) { EACH(i, N) y[i & 3] = fmaxf(y[i & 3], x[i]); }
CASE(graph_breadth_first)
{
	z[0] = 1;
	for (int now = 1; now < 6; now++)
		EACH(i, N)
			for (int edge = 0; edge < 3 && z[i] == now; edge++)
				if (z[(k[i] * (edge + 1) + i * 5) % N] == 0)
					z[(k[i] * (edge + 1) + i * 5) % N] = now + 1;
}

/* ---- memory.cu */

CASE(memory_float4)
{
	for (int i = 0; i < N; i += 4) {
		y[i] = x[i + 3];
		y[i + 1] = 2 * x[i + 2];
		y[i + 2] = x[i + 1] - x[i + 3];
		y[i + 3] = 2 * x[i];
	}
}
CASE(memory_bytes)
{
	EACH(i, N) {
		uint8_t v[4], to[4];
		memcpy(v, k + i, 4);
		to[0] = v[1];
		to[1] = v[0];
		to[2] = v[0];
		to[3] = (uint8_t)(v[2] + v[3]);
		memcpy(z + i, to, 4);
	}
}
CASE(memory_hints) { EACH(i, N) y[i] = 2 * (x[i] + x[i ^ 1] + x[i ^ 2] + x[i ^ 4]); }
CASE(memory_transpose) { EACH(i, N) y[i % 64 * 64 + i / 64] = x[i]; }
CASE(memory_constants)
{
	static const float weights[16] = { 1, -2, 3, -4, 5, -6, 7, -8, 0.5f, 0.25f, 0.125f, 9, 10, 11, 12, 13 };
	static const int32_t order[8] = { 3, 1, 4, 1, 5, 9, 2, 6 };
	EACH(t, N) {
		EACH(i, 16)
			y[t] = fmaf(weights[i], x[t ^ i], y[t]);
		z[t] = order[t & 7];
	}
}
CASE(memory_local_arrays)
{
	EACH(t, N) {
		float values[24];
		EACH(i, 24)
			values[i] = x[t ^ i];
		EACH(i, 24)
			values[(k[t] + i) % 24] = fmaf(values[i * 7 % 24], 0.5f, values[(k[t] + i) % 24]);
		y[t] = values[k[t] % 24];
		z[t] = k[t] % 40 * k[t] & 255;
	}
}
CASE(memory_dynamic_shared) { EACH(i, N) y[i] = x[i / 256 * 256 + (i % 256 * 37 + 11) % 256]; }
CASE(memory_80_kilobytes_shared) { EACH(i, 1024) y[i] = x[i % 256 * 7919 % 20000 % 4096] + (float)(i % 256 * 7919 % 20000); }
CASE(memory_device_symbols)
{
	EACH(i, N) {
		z[i] = (i & 63) * 3 + 1;
		y[i] = x[i] * 2.5f;
	}
}
CASE(memory_structures)
{
	EACH(i, N) {
		float a[3] = { 1, 2, 3 };
		a[i % 3] += x[i];
		y[i] = fmaf(a[1], a[2], a[0]);
		z[i] = -44;
	}
}
CASE(memory_tiled_matmul) { EACH(i, N) EACH(j, 64) y[i] = fmaf(x[i / 64 * 64 + j], x[j * 64 + i % 64], y[i]); }
CASE(async_pipeline) { EACH(i, N) EACH(j, 6) y[i] += x[((i ^ 3) + j * 256) % N]; }
CASE(async_zero_fill)
{
	EACH(i, N) {
		int from = i % 256 * 5 & 127;
		const float *v = x + (i / 256 * 32 + from) * 4;
		y[i] = v[0] + v[1] * 2 + (from % 5 ? v[3] - v[2] : 0);
	}
}
CASE(memory_scratch) { EACH(i, N) y[i] = x[N - 1 - i] * x[N - 1 - i]; }
CASE(memory_stencil)
{
	static const float weight[5] = { 1, -4, 6, -4, 1 };
	EACH(i, N)
		EACH(j, 5)
			y[i] += i + j >= 2 && i + j - 2 < N ? weight[j] * x[i + j - 2] : 0;
}
CASE(memory_gather) { EACH(i, N) y[i] = x[k[i]] + x[k[i] * 31 % N]; }

/* ---- matrix.cu */

/* Four products of M x K by K x N, the second by columns, each plus one and doubled. */
static inline void
products(const float *a, const float *b, float *c, int rows, int columns, int depth)
{
	EACH(p, 4)
		EACH(i, rows)
			EACH(j, columns) {
				double sum = 1;
				EACH(l, depth)
					sum += (double)a[(p * rows + i) * depth + l] * b[(p * columns + j) * depth + l];
				c[(p * rows + i) * columns + j] = (float)(2 * sum);
			}
}

static inline void
whole_products(const int32_t *k, float *c, int rows, int columns)
{
	static float v[N];
	EACH(i, N)
		v[i] = (float)(k[i] % 9 - 4);
	products(v, v + N / 2, c, rows, columns, 16);
}

static inline void
narrow_products(const float *x, float *c, float (*narrow)(float))
{
	static float v[N];
	EACH(i, N)
		v[i] = narrow(x[i]);
	products(v, v + N / 2, c, 16, 16, 16);
}

CASE(wmma_half_exact) { whole_products(k, y, 16, 16); }
CASE(wmma_half) { narrow_products(x, y, half); }
CASE(wmma_half_half)
{
	static float c[1024];
	whole_products(k, c, 16, 16);
	EACH(i, 1024) {
		_Float16 h = (_Float16)c[i];
		memcpy((char *)y + 2 * i, &h, 2);
	}
}
CASE(wmma_half_tall) { whole_products(k, y, 32, 8); }
CASE(wmma_half_flat) { whole_products(k, y, 8, 32); }
CASE(wmma_bfloat_exact) { whole_products(k, y, 16, 16); }
CASE(wmma_bfloat) { narrow_products(x, y, bfloat); }
CASE(wmma_bytes)
{
	static float c[1024];
	whole_products(k, c, 16, 16);
	EACH(i, 1024)
		z[i] = (int32_t)c[i];
}

/* Where an instruction's fragments lie: element e of a lane of the accumulator of 8 columns. */
static inline int
row_of(int lane, int e)
{
	return lane / 4 + e / 2 * 8;
}

static inline int
column_of(int lane, int e)
{
	return lane % 4 * 2 + e % 2;
}

CASE(mma_half)
{
	float a[16][16], b[16][8];
	EACH(lane, 32) {
		EACH(e, 8)
			a[lane / 4 + (e / 2 & 1) * 8][lane % 4 * 2 + e % 2 + e / 4 * 8] = half(x[lane * 8 + e]);
		EACH(e, 4)
			b[lane % 4 * 2 + e % 2 + e / 2 * 8][lane / 4] = half(x[512 + lane * 4 + e]);
	}
	EACH(lane, 32)
		EACH(e, 4) {
			double sum = e + 1;
			EACH(l, 16)
				sum += (double)a[row_of(lane, e)][l] * b[l][column_of(lane, e)];
			y[lane * 4 + e] = (float)sum;
		}
}
CASE(mma_tf32_exact)
{
	float a[16][8], b[8][8];
	EACH(lane, 32) {
		EACH(e, 4)
			a[lane / 4 + e % 2 * 8][lane % 4 + e / 2 * 4] = (float)(k[lane * 4 + e] % 16);
		EACH(e, 2)
			b[lane % 4 + e * 4][lane / 4] = (float)(k[256 + lane * 2 + e] % 16 - 8);
	}
	EACH(lane, 32)
		EACH(e, 4)
			EACH(l, 8)
				y[lane * 4 + e] += a[row_of(lane, e)][l] * b[l][column_of(lane, e)];
}
CASE(mma_doubles)
{
	EACH(lane, 32)
		EACH(e, 2) {
			double sum = e ? 0.25 : 0.5;
			EACH(l, 4)
				sum += (double)x[lane / 4 * 4 + l] * x[32 + column_of(lane, e) * 4 + l];
			y[lane * 2 + e] = (float)sum;
		}
}
CASE(mma_bytes_mixed)
{
	int a[16][32], b[32][8];
	static const int start[4] = { 7, 0, -7, 100 };
	EACH(lane, 32) {
		EACH(e, 16)
			a[lane / 4 + (e / 4 & 1) * 8][lane % 4 * 4 + e % 4 + e / 8 * 16] =
				(int8_t)((uint32_t)k[lane * 4 + e / 4] * 0x9e3779b1u >> e % 4 * 8);
		EACH(e, 8)
			b[lane % 4 * 4 + e % 4 + e / 4 * 16][lane / 4] =
				(uint8_t)((uint32_t)k[128 + lane * 2 + e / 4] * 0x85ebca6bu >> e % 4 * 8);
	}
	EACH(lane, 32)
		EACH(e, 4) {
			z[lane * 4 + e] = start[e];
			EACH(l, 32)
				z[lane * 4 + e] += a[row_of(lane, e)][l] * b[l][column_of(lane, e)];
		}
}
CASE(matrix_loads_and_stores)
{
	EACH(p, 4)
		EACH(m, 4)
			EACH(lane, 32) {
				const int32_t *rows = k + p * 128 + m * 32;
				uint32_t plain = (uint32_t)rows[lane] * 65537, low = (uint32_t)rows[lane % 4 * 8 + lane / 8];
				uint32_t turned = low | (uint32_t)rows[lane % 4 * 8 + 4 + lane / 8] << 16;
				const uint32_t stored[4] = { turned ^ plain, turned + plain, plain, turned };
				z[p * 128 + m * 32 + lane] = (int32_t)stored[m];
			}
}
CASE(cluster_neighbours)
{
	EACH(i, N) {
		int block = i / 256;
		y[i] = x[(block / 4 * 4 + (block + 1) % 4) * 256 + 255 - i % 256] + (float)(block % 4 * 10);
	}
}
CASE(cluster_shared_atomics) { EACH(i, N) z[i / 512 * 128 + (k[i] & 127)]++; }
CASE(barrier_in_shared_memory) { EACH(i, N) EACH(j, 3) y[i] += x[i / 256 * 256 + ((i % 256 * 5 + j) & 255)] + (float)j; }

/* ---- control.cu */

static inline int
fibonacci(int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static inline int
ackermann(int m, int n)
{
	return !m ? n + 1 : !n ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

CASE(control_recursion) { EACH(i, 256) z[i] = fibonacci(k[i] % 11); }
CASE(control_deep_recursion) { EACH(i, 64) z[i] = ackermann(k[i] % 3, k[i] % 4); }
CASE(control_function_pointers)
{
	EACH(i, N) {
		float a = x[i], b = x[i ^ 1];
		y[i] = (k[i] & 3) == 1 ? a * b : (k[i] & 3) == 2 ? (a < b ? a : b) : a + b + 1;
	}
}
CASE(control_virtual_functions) { EACH(i, N) y[i] = k[i] & 1 ? x[i] * x[i] : 3.25f * x[i] * x[i]; }
CASE(control_functor) { EACH(i, N) y[i] = fmaf(x[i], 2.5f, (float)(i & 3)); }
CASE(control_templates)
{
	EACH(i, N) {
		int at = i;
		for (int j = 9; j; at ^= j--)
			y[i] += x[at] * (float)j;
		y[i] += x[at];
	}
}
CASE(control_switch)
{
	EACH(i, N) {
		int v = k[i];
		const int r[13] = { v + 1, v * 3, v ^ 0x55, v - 7, v << 2, v >> 1, ~v, v / 5, v % 5, v * v, v & 0xf0, v & 0xf0,
			v | 0x0f };
		z[i] = v % 19 < 13 ? r[v % 19] : -1;
	}
}
CASE(control_loops)
{
	EACH(i, N)
		for (uint32_t v = (uint32_t)k[i] + 1; v != 1 && z[i] <= 500; z[i]++)
			v = v & 1 ? 3 * v + 1 : v / 2;
}
CASE(control_early_exit)
{
	EACH(t, N) {
		z[t] = 1;
		for (int i = 0; !(k[t] & 1) && i < 10 && (k[t] >> i) % 7 != 3; i++)
			z[t] += i;
	}
}
CASE(control_printf) { EACH(i, 32) z[i] = k[i]; }
CASE(control_many_launches)
{
	static float from[N];
	memcpy(from, x, sizeof from);
	EACH(step, 11) {
		EACH(i, N)
			y[i] = 0.25f * (from[(i + N - 1) % N] + 2 * from[i] + from[(i + 1) % N]);
		memcpy(from, y, sizeof from);
	}
}
CASE(control_three_dimensions)
{
	EACH(i, 24 * 120) {
		int t = i % 120, b = i / 120;
		z[i] = t % 5 * 100 + t / 5 % 4 * 10 + t / 20 + b % 3 * 1000 + b / 3 % 2 * 3000 + b / 6 * 7000;
	}
}
CASE(control_mandelbrot)
{
	EACH(t, N) {
		float re = (float)(t % 64) / 24 - 2, im = (float)(t / 64) / 24 - 1.3f, a = 0, b = 0;
		for (; z[t] < 60 && fmaf(a, a, b * b) < 4; z[t]++) {
			float next = fmaf(a, a, -(b * b)) + re;
			b = fmaf(2 * a, b, im);
			a = next;
		}
	}
}
CASE(control_edit_distance)
{
	EACH(t, N) {
		int row[17];
		EACH(i, 17)
			row[i] = i;
		for (int j = 1; j <= 16; j++) {
			int diagonal = row[0];
			row[0] = j;
			for (int i = 1; i <= 16; i++) {
				int cost = ((k[(t + i) & 4095] ^ k[(t * 3 + j) & 4095]) & 3) != 0, up = row[i];
				int way = (row[i] < row[i - 1] ? row[i] : row[i - 1]) + 1;
				row[i] = way < diagonal + cost ? way : diagonal + cost;
				diagonal = up;
			}
		}
		z[t] = row[16];
	}
}
CASE(control_matrix_inverse)
{
	EACH(t, N) {
		double m[4][8];
		EACH(r, 4)
			EACH(c, 4) {
				m[r][c] = x[(t * 16 + r * 4 + c) & 4095] + (r == c ? 6.0 : 0);
				m[r][c + 4] = r == c;
			}
		EACH(p, 4) {
			double pivot = m[p][p];
			EACH(c, 8)
				m[p][c] /= pivot;
			EACH(r, 4) {
				double f = m[r][p];
				for (int c = 0; r != p && c < 8; c++)
					m[r][c] -= f * m[p][c];
			}
		}
		y[t] = (float)(m[0][4] + m[1][5] + m[2][6] + m[3][7]);
	}
}

/* ---- floating.cu */

CASE(float_roundings)
{
	EACH(i, N) {
		double a = x[i], b = fmaf(x[i ^ 1], 3.7f, 0.01f);
		y[i] = (float)(a + b + a * b - a / b + 1 / b + sqrt(fabs(a)) + a * b + a);
	}
}
CASE(float_classes)
{
	EACH(t, N) {
		float a = x[t], odd = t % 5 == 0 ? INFINITY : t % 7 == 0 ? NAN : t % 11 == 0 ? 1e-40f : a;
		const bool bit[6] = { isnan(odd), isinf(odd), signbit(odd), odd < a, odd == a, !(odd > a) };
		z[t] = (int32_t)((uint32_t)(a == 0 ? INT32_MIN : ilogbf(a)) << 8);
		EACH(i, 6)
			z[t] |= bit[i] << i;
		y[t] = fminf(odd, a) + fmaxf(a, -1.0f) + copysignf(2, a) + nextafterf(a, 10.0f) + ldexpf(a, 3) + fdimf(a, 0.5f);
	}
}
CASE(float_to_integers)
{
	EACH(i, N) {
		float a = x[i] * 1000.3f;
		z[i] = (int32_t)((int64_t)rintf(a) + (int64_t)a * 3 + (int64_t)ceilf(a) * 5 + (int64_t)floorf(a) * 7
			+ (int32_t)(int64_t)rintf(a * 1e7f) + (int64_t)rintf(fabsf(a)) + (int64_t)rintf(a) + (int64_t)roundf(a) + (int64_t)a);
	}
}
CASE(float_denormals) { EACH(i, N) y[i] = (float)(x[i] * 1e-38 * 0.5625); }
CASE(float_fast_functions)
{
	EACH(i, N) {
		double a = x[i], p = fabs(a) + 0.1;
		y[i] = (float)(exp(a) + log(p) + sin(a) * cos(a) + a / p + pow(p, 1.5) + 1 / sqrt(p));
	}
}
CASE(float_accurate_functions)
{
	EACH(i, N) {
		double a = x[i], p = fabsf(x[i]) + 0.1f;
		y[i] = (float)(exp(a) + log(p) + sin(x[i] * 20.0f) + cos(a) + tan(a) + atan2(a, p) + pow(p, a) + erf(a) + tanh(a)
			+ cbrt(a) + log1p(p) + expm1(a) + asinh(a) + lgamma(p));
	}
}
CASE(double_arithmetic)
{
	EACH(t, N) {
		double a = x[t], b = 1 + a * a, s = 0;
		for (int i = 1; i < 20; i++)
			s = fma(s, a / b, 1.0 / i);
		y[t] = (float)(s + sqrt(b) - (a + b) / b + floor(a * 10));
	}
}
CASE(double_functions)
{
	EACH(i, N) {
		double a = x[i], p = fabs(a) + 0.1;
		y[i] = (float)(exp(a) + log(p) + sin(a * 9) + pow(p, a) + erf(a) + cbrt(p) + tgamma(p + 1) + atan(a) + hypot(a, p)
			+ fmod(a, 0.37));
	}
}
CASE(half_arithmetic)
{
	EACH(i, N) {
		double a = half(x[i]), b = half_toward_zero(x[i ^ 1]);
		y[i] = (float)(a + b + a * b + a + 2.5 * a - b * half((float)(2.5 * b)) + a / (fabs(b) + 0.5) + (a > b) + sqrt(fabs(a)));
	}
}
CASE(half_functions_fast)
{
	EACH(i, N) {
		double a = half(x[i]), p = fabs(a) + 1;
		y[i] = (float)(exp(a) + log(p) + sin(a) + 1 / p + 1 / sqrt(p));
	}
}
CASE(half_comparisons_packed)
{
	EACH(i, N) {
		float a[2] = { half(x[i]), half(x[i ^ 1]) }, b[2] = { half(x[i ^ 2]), half(x[i ^ 3]) };
		z[i] = 1 + 2 * (a[0] < b[0] && a[1] < b[1]) + (int)rintf(fabsf(fmaxf(a[0], b[0]))) * 4
			+ (int)floorf(fminf(a[1], b[1])) * 64 + (a[0] >= b[0]) * 8192;
	}
}
CASE(bfloat_arithmetic)
{
	EACH(i, N) {
		double a = bfloat(x[i]), b;
		uint32_t bits;
		float f;
		memcpy(&bits, x + (i ^ 1), 4);
		bits &= 0xffff0000;
		memcpy(&f, &bits, 4);
		b = f;
		y[i] = (float)(a * b + a * b + a + a * a + a + fmax(b, b * b + b) - b);
	}
}
CASE(fp8_conversions)
{
	EACH(i, N) {
		float a, b, c, d;
		int first = eight(x[i] * 20, 3, 7, &a), second = eight(x[i] * 3000, 2, 15, &b);
		int third = eight(x[i], 3, 7, &c), fourth = eight(x[i ^ 1], 3, 7, &d);
		z[i] = (int32_t)((uint32_t)first | (uint32_t)second << 8 | (uint32_t)third << 16 | (uint32_t)fourth << 24);
		y[i] = a + b + c - d;
	}
}
CASE(conversions_mixed)
{
	EACH(i, N) {
		int64_t l = (int64_t)k[i] * 0x10001000100ll - 12345678901ll;
		y[i] = (float)l + (float)(uint64_t)l + (float)k[i] + (float)(double)l + (float)(uint32_t)l;
		z[i] = (int32_t)(double)(x[i] * 1e6f) ^ (int32_t)(int64_t)((double)x[i] * 1e12) ^ (uint8_t)(int32_t)fmaf(x[i], 50, 100);
	}
}
CASE(float_compensated_sum)
{
	EACH(t, N) {
		double sum = 0;
		EACH(i, 200)
			sum += x[(t + i * 37) % N];
		y[t] = (float)sum;
	}
}
CASE(float_polynomial)
{
	EACH(t, N) {
		y[t] = 0.3f;
		EACH(i, 12)
			y[t] = fmaf(y[t], x[t], (float)(i % 3 - 1));
	}
}

/* ---- integer.cu */

CASE(bits_count)
{
	EACH(i, N) {
		uint32_t v = (uint32_t)k[i] * 2654435761u;
		uint32_t first = v ? (uint32_t)__builtin_ctz(v) : 32, at = v ? first + 1 : 0;
		z[i] = (int32_t)((uint32_t)popcount(v) | (uint32_t)clz(v) << 8 | at << 16 | first << 24);
	}
}
CASE(bits_interleave)
{
	EACH(t, N) {
		uint32_t r = 0;
		EACH(i, 16)
			r |= (uint32_t)(k[t] >> i & 1) << 2 * i | (uint32_t)(t >> i & 1) << (2 * i + 1);
		z[t] = (int32_t)r;
	}
}
CASE(bits_funnel)
{
	EACH(i, N) {
		uint32_t v = (uint32_t)k[i] * 747796405u, w = v ^ 0x9e3779b9u, s = k[i] & 63;
		uint64_t both = (uint64_t)w << 32 | v;
		uint32_t bytes = (uint32_t)(both >> 48 & 255) | (uint32_t)(both >> 8 & 255) << 8 | (uint32_t)(both >> 56) << 16
			| (v >> 24) << 24;
		z[i] = (int32_t)((uint32_t)(both << (s & 31) >> 32) ^ (uint32_t)(both >> (s > 32 ? 32 : s)) ^ bytes ^ v << (s & 31));
	}
}
CASE(integer_wide_products)
{
	EACH(i, N) {
		int64_t a = (int64_t)((uint64_t)k[i] * 0x123456789abcdefull), b = (int64_t)i * -977;
		int64_t high = (int64_t)((int64_t)(int32_t)a * (int32_t)b >> 32), wide = (int64_t)((__int128)a * b >> 64);
		uint64_t unsigned_high = (uint64_t)((unsigned __int128)(uint64_t)a * (uint64_t)b >> 64);
		int64_t a24 = (int32_t)((uint32_t)a << 8) >> 8, b24 = (int32_t)((uint32_t)b << 8) >> 8;
		z[i] = (int32_t)high ^ (int32_t)unsigned_high ^ (int32_t)(wide >> 7) ^ (int32_t)(a24 * b24);
	}
}
CASE(integer_divisions)
{
	EACH(i, N) {
		int a = k[i] * 7919 - 1000000, b = i % 97 - 48;
		int64_t l = (int64_t)a * 1000003;
		b = b ? b : 13;
		z[i] = (int32_t)((uint32_t)(a / b) + (uint32_t)(a % b * 3) + (uint32_t)(l / b) + (uint32_t)(l % (b * 17ll))
			+ (uint32_t)a / (uint32_t)((b & 255) | 1) + (uint32_t)(a / 10));
	}
}
CASE(integer_128_bits)
{
	EACH(t, N) {
		unsigned __int128 s = (unsigned __int128)k[t] * 0x5851f42d4c957f2dull + (unsigned)t;
		EACH(i, 5)
			s = s * 0x2360ed051fc65da4ull + (s >> 61) + 1442695040888963407ull;
		z[t] = (int32_t)(s >> 70) ^ (int32_t)s;
	}
}
CASE(integer_dot_bytes)
{
	EACH(i, N) {
		uint32_t a = (uint32_t)k[i] * 0x01030507u, b = (uint32_t)i * 0x9e3779b1u, sum = 5 + 7 + 9 - 11;
		EACH(j, 4) {
			int32_t wide = (int16_t)(a >> j % 2 * 16) * (int8_t)(b >> 8 * j);
			sum += (uint32_t)((int8_t)(a >> 8 * j) * (int8_t)(b >> 8 * j)) + (a >> 8 * j & 255) * (b >> 8 * j & 255);
			sum += (uint32_t)(j < 2 ? wide : -wide);
		}
		z[i] = (int32_t)sum;
	}
}
CASE(integer_packed_simd)
{
	EACH(i, N) {
		uint32_t a = (uint32_t)k[i] * 0x9e3779b1u, b = a * 31 + (uint32_t)i, r = 0;
		EACH(j, 4) {
			uint32_t p = a >> 8 * j & 255, q = b >> 8 * j & 255;
			uint32_t lanes = (p + q) ^ (p > q ? p - q : q - p) ^ (p > q ? 255 : 0) ^ (p + q + 1) / 2 ^ (p < q ? p : q);
			r ^= (lanes & 255) << 8 * j;
		}
		uint32_t sum = 0;
		EACH(j, 2) {
			uint32_t p = a >> 16 * j & 65535, q = b >> 16 * j & 65535;
			r ^= ((int16_t)p > (int16_t)q ? p : q) << 16 * j;
			sum += p > q ? p - q : q - p;
		}
		z[i] = (int32_t)(r ^ sum);
	}
}
static inline int32_t
saturated(int64_t v)
{
	return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
}

CASE(integer_saturation)
{
	EACH(i, N) {
		int32_t a = (int32_t)((uint32_t)k[i] * 4200000u - 2000000000u), b = i * 500000, minus = (int32_t)-(uint32_t)a;
		uint32_t u = (uint32_t)a, v = (uint32_t)b;
		z[i] = saturated((int64_t)a + b) ^ saturated((int64_t)minus - b) ^ (int32_t)((u > v ? u - v : v - u) + 3)
			^ (int32_t)(((int64_t)a + b) >> 1) ^ (int32_t)(((int64_t)a + b + 1) >> 1);
	}
}
CASE(integer_small_types)
{
	EACH(i, N) {
		int8_t a = (int8_t)k[i];
		uint8_t b = (uint8_t)(k[i] * 3);
		int16_t c = (int16_t)(k[i] * 257);
		uint16_t d = (uint16_t)(c + b);
		z[i] = a * b + c / (a | 1) + (d >> (b & 15)) + (int8_t)(a + b) + (c < (int16_t)d) + (a & 2 ? 1 : 0);
	}
}
CASE(bits_three_inputs)
{
	EACH(i, N) {
		uint32_t a = (uint32_t)k[i] * 0x85ebca6bu, b = a >> 3 ^ (uint32_t)i, c = b * 7;
		z[i] = (int32_t)(((a & b) | (b & c) | (a & c)) + ((a & b) | (~a & c)) * 3 + (a ^ b ^ c) * 5 + (~(a | b) & c) * 7);
	}
}
CASE(integer_hash)
{
	EACH(t, N) {
		uint32_t h = (uint32_t)k[t];
		EACH(i, 10) {
			h = (h ^ h >> 16) * 0x85ebca6bu;
			h = (h << 13 | h >> 19) + 0xe6546b64u;
		}
		z[t] = (int32_t)h;
	}
}
CASE(integer_gcd_power)
{
	EACH(t, N) {
		uint32_t a = (uint32_t)k[t] + 1, b = (uint32_t)t % 360 + 1;
		uint64_t power = 1, base = a;
		while (b) {
			uint32_t rest = a % b;
			a = b;
			b = rest;
		}
		EACH(i, t & 31)
			power = power * base % 1000000007;
		z[t] = (int32_t)(a * 31 + power);
	}
}
CASE(bits_fields)
{
	EACH(i, N) {
		uint32_t v = (uint32_t)k[i] * 0xc2b2ae35u;
		int32_t signed_field = (int32_t)(v >> 11 << 23) >> 23;
		z[i] = (int32_t)(v & 31) + (int32_t)(v >> 3 & 2047) * 3 + signed_field * 5 + (int32_t)(v >> 20 & 127) * 7;
	}
}
