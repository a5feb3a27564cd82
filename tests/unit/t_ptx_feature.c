/* In: the kernels of tests/data/ptx/, compiled by nvcc (kept beside this program while the source is older). Out:
 * their results against plain C, with the checked mode on: right kernels must give no finding. */
#include <math.h>

#include "ptx_compile.h"

static struct rig rig;

static void
open_file(const char *name)
{
	static struct buf texts[5];
	static const char *const names[5] = { "warp", "number", "memory", "matrix", "wide" };
	struct ptx_options options = { .checked = true, .racecheck = true, .budget = 400000000 };
	for (int k = 0; k < 5; k++)
		if (!strcmp(names[k], name)) {
			if (!texts[k].len)
				compile_in("tests/data/ptx", name, &texts[k]);
			rig_open(&rig, texts[k].data, texts[k].len, &options);
		}
}

static void
launch(const char *kernel, uint32_t gx, uint32_t gy, uint32_t bx, uint32_t by, uint32_t shared, const void *params, size_t bytes)
{
	struct ptx_launch l = { .kernel = kernel, .grid = { gx, gy, 1 }, .block = { bx, by, 1 }, .dynamic_shared = shared,
		.params = params, .params_bytes = bytes };
	enum ptx_status status = ptx_launch(rig.machine, &l, &rig.counters, &rig.err);
	if (status != PTX_OK)
		fail_msg("%s: %s: %s", kernel, ptx_status_name(status), buf_str(&rig.err));
	if (ptx_finding_count(rig.machine))
		fail_msg("%s: %s", kernel, ptx_finding_at(rig.machine, 0)->message);
}
static void *
input(size_t bytes)
{
	return rig_buffer(&rig, "in", bytes, PTX_READ, true);
}

static void *
output(size_t bytes)
{
	return rig_buffer(&rig, "out", bytes, PTX_READ_WRITE, false);
}

static void *
zeroed(size_t bytes)
{
	void *memory = rig_buffer(&rig, "zeroed", bytes, PTX_READ_WRITE, true);
	return memset(memory, 0, bytes);
}

static uint32_t
noise(uint32_t k)
{
	k = (k ^ k >> 16) * 0x45d9f3b;
	k = (k ^ k >> 16) * 0x45d9f3b;
	return k ^ k >> 16;
}

/* ---- warp.cu */

static void
test_histogram(void **state)
{
	(void)state;
	enum { N = 5000 };
	open_file("warp");
	int *x = input(N * 4), *bins = zeroed(64 * 4), expected[64] = { 0 };
	for (int k = 0; k < N; k++) {
		x[k] = (int)(noise((uint32_t)k) % 1000);
		expected[x[k] & 63]++;
	}
	struct { int *x; int n; int *bins; } p = { x, N, bins };
	launch("histogram", 3, 1, 128, 1, 0, &p, sizeof p);
	assert_memory_equal(bins, expected, sizeof expected);
	rig_close(&rig);
}

static void
test_scan(void **state)
{
	(void)state;
	open_file("warp");
	int *x = input(1000 * 4), *y = output(1000 * 4), sum = 0;
	for (int k = 0; k < 1000; k++)
		x[k] = (int)(noise((uint32_t)k) % 100) - 50;
	struct { int *x; int n; int *y; } p = { x, 1000, y };
	launch("scan", 1, 1, 1024, 1, 0, &p, sizeof p);
	for (int k = 0; k < 1000; k++)
		assert_int_equal(y[k], sum += x[k]);
	rig_close(&rig);
}

static void
test_tiles(void **state)
{
	(void)state;
	open_file("warp");
	float *x = input(64 * 4), *y = output(8 * 4);
	int *sizes = output(64 * 4);
	for (int k = 0; k < 64; k++)
		x[k] = (float)k;
	struct { float *x, *y; int *sizes; } p = { x, y, sizes };
	launch("tile_sums", 1, 1, 64, 1, 0, &p, sizeof p);
	for (int k = 0; k < 8; k++)
		assert_true(y[k] == (float)(k * 64 + 28));
	for (int k = 0; k < 64; k++)
		assert_int_equal(sizes[k], k & 1 ? 1600 + k % 32 / 2 : 32);
	rig_close(&rig);
}

static void
test_compact(void **state)
{
	(void)state;
	open_file("warp");
	int *x = input(256 * 4), *out = output(256 * 4), *count = output(4), n = 0;
	for (int k = 0; k < 250; k++)
		x[k] = (int)(noise((uint32_t)k) % 100);
	struct { int *x; int n, limit; int *out, *count; } p = { x, 250, 40, out, count };
	launch("compact", 1, 1, 256, 1, 0, &p, sizeof p);
	for (int k = 0; k < 250; k++)
		if (x[k] > 40)
			assert_int_equal(out[n++], x[k]);
	assert_int_equal(*count, n);
	rig_close(&rig);
}

static void
test_last_block(void **state)
{
	(void)state;
	open_file("warp");
	float *x = input(3000 * 4), *partial = output(7 * 4), *total = output(4), expected = 0;
	unsigned *tickets = zeroed(4);
	for (int k = 0; k < 3000; k++)
		expected += x[k] = (float)(noise((uint32_t)k) % 16);
	struct { float *x; int n; float *partial; unsigned *tickets; float *total; } p = { x, 3000, partial, tickets, total };
	launch("last_block_sum", 7, 1, 256, 1, 0, &p, sizeof p);
	assert_true(*total == expected);
	rig_close(&rig);
}

static void
test_legacy_reduce(void **state)
{
	(void)state;
	open_file("warp");
	float *x = input(64 * 4), *y = output(4);
	for (int k = 0; k < 64; k++)
		x[k] = (float)(k * k);
	struct { float *x, *y; } p = { x, y };
	launch("legacy_reduce", 1, 1, 32, 1, 0, &p, sizeof p);
	assert_true(*y == 63 * 64 * 127 / 6);
	rig_close(&rig);
}

static void
test_spin_locks(void **state)
{
	(void)state;
	open_file("warp");
	int *lock = zeroed(4), *value = zeroed(4), *order = output(32 * 4);
	struct { int *lock, *value; } p = { lock, value };
	launch("spin_lock", 3, 1, 96, 1, 0, &p, sizeof p);
	assert_int_equal(*value, 3 * 96);
	*lock = 0;
	struct { int *turn, *order; } q = { lock, order };
	launch("turns", 1, 1, 32, 1, 0, &q, sizeof q);
	for (int k = 0; k < 32; k++)
		assert_int_equal(order[k], 31 - k);
	rig_close(&rig);
}

static void
test_named_barriers(void **state)
{
	(void)state;
	open_file("warp");
	int *x = input(10 * 32 * 4), *y = output(10 * 32 * 4);
	for (int k = 0; k < 320; k++)
		x[k] = k * 3;
	struct { int *x, *y; int rounds; } p = { x, y, 10 };
	launch("producer_consumer", 1, 1, 64, 1, 0, &p, sizeof p);
	for (int k = 0; k < 320; k++)
		assert_int_equal(y[k], k * 6 + 1);
	rig_close(&rig);
}

static void
test_collectives(void **state)
{
	(void)state;
	open_file("warp");
	int *x = input(32 * 4), *out = output(256 * 4), sum = 0, most = 0, odd = 0, has77 = 0, has5 = 0, fewer = 1, high = 1;
	for (int k = 0; k < 32; k++) {
		x[k] = (int)(noise((uint32_t)k) % 900);
		sum += x[k];
		most = x[k] > most ? x[k] : most;
		odd += x[k] & 1;
		has77 |= x[k] == 77;
		has5 |= x[k] == 5;
		fewer &= x[k] < 1000;
		high &= x[k] >> 16 == 0;
	}
	struct { int *x, *out; } p = { x, out };
	launch("collectives", 1, 1, 32, 1, 0, &p, sizeof p);
	for (int l = 0; l < 32; l++) {
		uint32_t equal = 0;
		for (int k = 0; k < 32; k++)
			equal |= (uint32_t)((x[k] & 3) == (x[l] & 3)) << k;
		assert_int_equal(out[l], sum);
		assert_int_equal(out[32 + l], most);
		assert_int_equal((uint32_t)out[64 + l], equal);
		assert_int_equal((uint32_t)out[96 + l], high ? 0xffffffffu + 1 : 0);
		assert_int_equal(out[128 + l], odd);
		assert_int_equal(out[160 + l], has77 * 2 + 1);
		assert_int_equal(out[192 + l], has5 * 2 + fewer);
		if (l < 16)
			assert_int_equal(out[224 + l], x[l % 8 + 3 < 8 ? l + 3 : l]);
		else
			assert_int_equal(out[224 + l], x[l / 4 * 4 + 1] + 16);
	}
	rig_close(&rig);
}

static int
loop_sum(int n)
{
	int sum = 0;
	for (int k = 0; k < n; k++) {
		sum += k & 1 ? k * 3 : -k;
		sum += sum > 50 ? 0 : 2;
	}
	return sum;
}

static void
test_divergent_loop(void **state)
{
	(void)state;
	open_file("warp");
	int *trips = input(32 * 4), *out = output(32 * 4);
	for (int k = 0; k < 32; k++)
		trips[k] = (int)(noise((uint32_t)k) % 40);
	struct { int *trips, *out; } p = { trips, out };
	launch("divergent_loop", 1, 1, 32, 1, 0, &p, sizeof p);
	for (int k = 0; k < 32; k++)
		assert_int_equal(out[k], loop_sum(trips[k]) + loop_sum(trips[k ^ 1]));
	assert_true(rig.counters.divergent_branches > 0);
	rig_close(&rig);
}

/* ---- number.cu */

static float
half_value(uint16_t h)
{
	int e = h >> 10 & 31, m = h & 1023;
	float v = e == 31 ? m ? NAN : INFINITY : e ? ldexpf((float)(1024 + m), e - 25) : ldexpf((float)m, -24);
	return h & 0x8000 ? -v : v;
}

static float
bf16_value(uint16_t h)
{
	uint32_t bits = (uint32_t)h << 16;
	float f;
	memcpy(&f, &bits, 4);
	return f;
}

static void
near(const char *what, int index, double got, double expected, double tolerance)
{
	if (!(fabs(got - expected) <= tolerance * (1 + fabs(expected))))
		fail_msg("%s %d: %.17g instead of %.17g", what, index, got, expected);
}

static void
test_halves(void **state)
{
	(void)state;
	open_file("number");
	uint16_t *x = input(128 * 2), *y = zeroed(128 * 2);
	for (int k = 0; k < 128; k++) {
		x[k] = (uint16_t)(0x3000 + k * 37);
		y[k] = (uint16_t)(0x3c00 + k);
	}
	struct { void *x, *y; int n; float a; } p = { x, y, 64, 0.5f };
	launch("half2_axpy", 1, 1, 64, 1, 0, &p, sizeof p);
	for (int k = 0; k < 128; k++)
		near("half2_axpy", k, half_value(y[k]), 0.5 * half_value(x[k]) + half_value((uint16_t)(0x3c00 + k)), 1.0 / 2048);
	uint16_t *z = output(64 * 4 * 2);
	int *flags = output(64 * 4);
	struct { void *x, *y; int *flags; } q = { x, z, flags };
	launch("half_functions", 1, 1, 64, 1, 0, &q, sizeof q);
	for (int k = 0; k < 64; k++) {
		float v = half_value(x[k]);
		near("hexp", k, half_value(z[k * 4]), exp(v), 1.0 / 700);
		near("hsqrt", k, half_value(z[k * 4 + 1]), sqrt(v), 1.0 / 1500);
		near("hmax", k, half_value(z[k * 4 + 2]), fmax(v, 0.25), 0);
		near("tanh", k, half_value(z[k * 4 + 3]), tanh(v), 1.0 / 1500);
		assert_int_equal(flags[k], 1);
	}
	rig_close(&rig);
}

static void
test_bf16(void **state)
{
	(void)state;
	open_file("number");
	uint16_t *x = input(40 * 2), *y = output(40 * 2);
	double sum = 0;
	for (int k = 0; k < 40; k++) {
		x[k] = (uint16_t)(0x3e00 + k * 11);
		sum += (double)bf16_value(x[k]) * bf16_value(x[k]);
	}
	struct { void *x, *y; int n; } p = { x, y, 40 };
	launch("bf16_norm", 1, 1, 32, 1, 0, &p, sizeof p);
	for (int k = 0; k < 40; k++)
		near("bf16_norm", k, bf16_value(y[k]), bf16_value(x[k]) / sqrt(sum / 40 + 1e-5), 1.0 / 80);
	rig_close(&rig);
}

static void
test_functions(void **state)
{
	(void)state;
	open_file("number");
	double *x = input(32 * 8), *y = output(32 * 8 * 8);
	float *fx = input(32 * 4), *fy = output(32 * 8 * 4);
	for (int k = 0; k < 32; k++) {
		x[k] = (k - 15.7) * 1.37;
		fx[k] = (float)(k - 15.7) * 0.21f;
	}
	struct { double *x, *y; } p = { x, y };
	launch("doubles", 1, 1, 32, 1, 0, &p, sizeof p);
	struct { float *x, *y; } q = { fx, fy };
	launch("floats", 1, 1, 32, 1, 0, &q, sizeof q);
	for (int k = 0; k < 32; k++) {
		double v = x[k], f = fx[k], e[] = { sin(v), exp(v / 10), log(fabs(v) + 1), pow(fabs(v), 1.5), cbrt(v), erf(v / 4),
			fmod(v, 0.75), atan2(v, 2) };
		double g[] = { sin((double)(fx[k] * 1000)), exp(f), log(fabs(f) + 1), pow(fabs(f), 1.5), erf(f),
			tanh(f), sin(f), f / 3.7f };
		for (int n = 0; n < 8; n++) {
			near("doubles", k * 8 + n, y[k * 8 + n], e[n], 1e-14);
			near("floats", k * 8 + n, fy[k * 8 + n], g[n], 1e-6);
		}
	}
	rig_close(&rig);
}

static uint64_t
reversed(uint64_t v)
{
	uint64_t r = 0;
	for (int k = 0; k < 64; k++)
		r |= (v >> k & 1) << (63 - k);
	return r;
}

static void
test_integers(void **state)
{
	(void)state;
	open_file("number");
	int64_t *x = input(32 * 8), *y = output(32 * 8 * 8);
	int *d = input(32 * 4);
	for (int k = 0; k < 32; k++) {
		x[k] = (int64_t)((uint64_t)noise((uint32_t)k) << 32 | noise((uint32_t)k + 99)) >> (k % 20);
		d[k] = (int)noise((uint32_t)k + 7) >> (k % 28) | 1;
	}
	struct { void *x, *d, *y; } p = { x, d, y };
	launch("integers", 1, 1, 32, 1, 0, &p, sizeof p);
	for (int k = 0; k < 32; k++) {
		int64_t v = x[k];
		int n = d[k], low = (int)v, dot = 5;
		uint8_t b[8];
		memcpy(b, &low, 4);
		memcpy(b + 4, &n, 4);
		uint32_t permuted = b[3] | b[4] << 8 | b[1] << 16 | (uint32_t)b[2] << 24;
		for (int q = 0; q < 4; q++)
			dot += (int8_t)b[q] * (int8_t)b[4 + q];
		int shift = k & 31;
		uint32_t funnel = shift ? (uint32_t)n << shift | (uint32_t)low >> (32 - shift) : (uint32_t)n;
		assert_int_equal(y[k * 8], v / n);
		assert_int_equal(y[k * 8 + 1], v % n);
		assert_int_equal((uint64_t)y[k * 8 + 2], (uint64_t)v / (unsigned)n);
		assert_int_equal(y[k * 8 + 3], (int64_t)low * n >> 32);
		assert_int_equal(y[k * 8 + 4], (v ? __builtin_clzll((uint64_t)v) : 64) * 1000 + __builtin_popcountll((uint64_t)v));
		assert_int_equal(y[k * 8 + 5], (int)((unsigned)(low / n) + (unsigned)(low % n) * 7u));
		assert_int_equal((uint64_t)y[k * 8 + 6], reversed((uint64_t)v) ^ permuted);
		assert_int_equal((uint32_t)y[k * 8 + 7], funnel + (uint32_t)dot + (uint32_t)__builtin_ffs(n));
	}
	unsigned *a = input(16), *c = input(16), *s = output(16);
	memcpy(a, (unsigned[]){ 0xffffffff, 0xffffffff, 5, 0x80000000 }, 16);
	memcpy(c, (unsigned[]){ 1, 0, 0xfffffffa, 0x7fffffff }, 16);
	struct { void *a, *b, *c; } q = { a, c, s };
	launch("big_sum", 1, 1, 1, 1, 0, &q, sizeof q);
	assert_memory_equal(s, ((unsigned[]){ 0, 0, 0, 0 }), 16);
	rig_close(&rig);
}

static void
test_inline_assembly(void **state)
{
	(void)state;
	open_file("number");
	unsigned *x = input(32 * 4), *y = output(32 * 4);
	for (unsigned k = 0; k < 32; k++)
		x[k] = k * 17;
	struct { void *x, *y; } p = { x, y };
	launch("inline_assembly", 1, 1, 32, 1, 0, &p, sizeof p);
	for (unsigned k = 0; k < 32; k++)
		assert_int_equal(y[k], x[k] * (x[k] > 100 ? 7 : 9) + 1 + (x[k] ? x[k] >> 4 & 255 : 12345) * 65536);
	rig_close(&rig);
}

static void
test_fp8(void **state)
{
	(void)state;
	open_file("number");
	static const float in[] = { 0, 1, -1.0625f, 1.1f, 448, 500, -1000, 0.001953125f, 0.0009765625f, 0.0005f,
		57344, 70000, 240.5f, 3.3f };
	static const float e4m3[] = { 0, 1, -1, 1.125f, 448, 448, -448, 0.001953125f, 0, 0, 448, 448, 240, 3.25f };
	static const float e5m2[] = { 0, 1, -1, 1, 448, 512, -1024, 0.001953125f, 0.0009765625f, 0.00048828125f,
		57344, 57344, 256, 3.5f };
	enum { N = sizeof in / sizeof *in };
	float *x = input(N * 4), *y = output(N * 8);
	memcpy(x, in, sizeof in);
	struct { void *x, *y; } p = { x, y };
	launch("fp8_round_trip", 1, 1, N, 1, 0, &p, sizeof p);
	for (int k = 0; k < N; k++) {
		near("e4m3", k, y[k * 2], e4m3[k], 0);
		near("e5m2", k, y[k * 2 + 1], e5m2[k], 0);
	}
	rig_close(&rig);
}

static void
test_print(void **state)
{
	(void)state;
	open_file("number");
	struct { int n; double d; const char *unused; } p = { -42, 3.14159, NULL };
	launch("print", 1, 1, 32, 1, 0, &p, sizeof p);
	assert_string_equal(buf_str(ptx_output(rig.machine)), "thread 0 of print: -42  3.14 1234567890123 z ff%\n"
		"thread 1 of print: -42  3.14 1234567890123 z ff%\n");
	/* the budget is one of time, and a character takes longer than an instruction */
	assert_in_range(rig.counters.budget_used, 2 * 5000, 2 * 20000);
	ptx_clear_output(rig.machine);
	launch("print", 1, 1, 1, 1, 0, &p, sizeof p);
	assert_int_equal(ptx_output(rig.machine)->len, 49);
	rig_close(&rig);
}

static void
test_assert(void **state)
{
	(void)state;
	open_file("number");
	int *x = input(32 * 4);
	for (int k = 0; k < 32; k++)
		x[k] = k;
	struct { int *x; int limit; } p = { x, 32 };
	launch("check", 1, 1, 32, 1, 0, &p, sizeof p);
	p.limit = 20;
	assert_int_equal(rig_run(&rig, "check", 1, 32, &p, sizeof p), PTX_FAULT);
	const struct ptx_finding *f = ptx_finding_at(rig.machine, 0);
	assert_int_equal(f->kind, PTX_ASSERT);
	assert_int_equal(f->thread[0], 20);
	assert_non_null(strstr(f->message, "x[threadIdx.x] < limit"));
	assert_non_null(strstr(f->file, "number.cu"));
	rig_close(&rig);
}

/* ---- memory.cu */

static void
test_transpose(void **state)
{
	(void)state;
	enum { R = 64, C = 96 };
	open_file("memory");
	float *x = input(R * C * 4), *y = output(R * C * 4);
	for (int k = 0; k < R * C; k++)
		x[k] = (float)k;
	struct { void *x, *y; int rows, columns; } p = { x, y, R, C };
	launch("transpose", C / 32, R / 32, 8, 32, 0, &p, sizeof p);
	for (int r = 0; r < R; r++)
		for (int c = 0; c < C; c++)
			assert_true(y[c * R + r] == x[r * C + c]);
	rig_close(&rig);
}

static void
test_dynamic_shared(void **state)
{
	(void)state;
	open_file("memory");
	float *x = input(64 * 4), *y = output(64 * 4);
	for (int k = 0; k < 64; k++)
		x[k] = (float)k;
	struct { void *x, *y; } p = { x, y };
	launch("dynamic_reverse", 1, 1, 64, 1, 64 * 12, &p, sizeof p);
	for (int k = 0; k < 64; k++)
		assert_true(y[k] == (float)((63 - k) * 3));
	struct ptx_launch l = { .kernel = "dynamic_reverse", .grid = { 1, 1, 1 }, .block = { 64, 1, 1 },
		.dynamic_shared = 64 * 12 - 8,
		.params = &p, .params_bytes = sizeof p };
	assert_int_equal(ptx_launch(rig.machine, &l, NULL, NULL), PTX_FAULT);
	assert_int_equal(ptx_finding_at(rig.machine, 0)->kind, PTX_OUT_OF_BOUNDS);
	assert_int_equal(ptx_finding_at(rig.machine, 0)->thread[0], 63);
	rig_close(&rig);
}

static void
test_symbols(void **state)
{
	(void)state;
	open_file("memory");
	float *x = input(100 * 4), *y = output(100 * 4);
	char *letters = output(3);
	int *count = output(4);
	for (int k = 0; k < 100; k++)
		x[k] = (float)(k % 7);
	struct { void *x, *y; int n; } p = { x, y, 100 };
	launch("stencil", 4, 1, 32, 1, 0, &p, sizeof p);
	for (int k = 0; k < 100; k++) {
		float sum = 0;
		for (int o = -2; o <= 2; o++)
			sum += k + o >= 0 && k + o < 100 ? (float)(3 - abs(o)) * x[k + o] : 0;
		assert_true(y[k] == sum);
	}
	struct { char *out; int *count; } q = { letters, count };
	launch("read_tables", 1, 1, 3, 1, 0, &q, sizeof q);
	assert_memory_equal(letters, "owr", 3);
	assert_int_equal(*count, 42);
	assert_int_equal(*(int *)(uintptr_t)ptx_symbol_address(rig.machine, "counter"), 42);
	assert_int_equal(ptx_write_symbols(rig.machine, NULL), 0);
	launch("read_tables", 1, 1, 3, 1, 0, &q, sizeof q);
	assert_int_equal(*count, 40);
	const struct ptx_symbol *s = ptx_symbol_find(rig.module, "weights");
	assert_non_null(s);
	assert_int_equal(s->size, 20);
	assert_int_equal(s->space, PTX_SPACE_CONST);
	rig_close(&rig);
}

static int
ackermann(int m, int n)
{
	return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

static int
fill(int *slots, int depth)
{
	int mine[4] = { depth, depth + 1, depth + 2, depth + 3 };
	if (depth == 0)
		return slots[0];
	int below = fill(mine, depth - 1);
	slots[depth & 3] += below;
	return mine[depth & 3] + below + slots[(depth + 1) & 3];
}

static void
test_calls(void **state)
{
	(void)state;
	open_file("memory");
	int *out = output(64 * 4);
	double *weight = output(32 * 8);
	struct { void *out, *weight; } p = { out, weight };
	launch("calls", 1, 1, 32, 1, 0, &p, sizeof p);
	for (int t = 0; t < 32; t++) {
		int slots[4] = { 1, 2, 3, 4 };
		assert_int_equal(out[t], t < 8 ? ackermann(2, t) : -1);
		assert_true(weight[t] == 3.0 + t * 4);
		assert_int_equal(out[32 + t], fill(slots, t % 5));
	}
	rig_close(&rig);
}

static void
test_function_pointers(void **state)
{
	(void)state;
	open_file("memory");
	int *which = input(32 * 4), *out = output(32 * 4);
	for (int t = 0; t < 32; t++)
		which[t] = t % 3;
	struct { void *which, *out; } p = { which, out };
	launch("pointers", 1, 1, 32, 1, 0, &p, sizeof p);
	for (int t = 0; t < 32; t++)
		assert_int_equal(out[t], t % 3 == 0 ? t + 3 : t % 3 == 1 ? t - 3 : t * 3);
	rig_close(&rig);
}

static void
test_local_arrays(void **state)
{
	(void)state;
	open_file("memory");
	int *order = input(32 * 4), *out = output(32 * 4);
	for (int k = 0; k < 32; k++)
		order[k] = (k * 5 + 3) % 32;
	struct { void *order, *out; } p = { order, out };
	launch("local_arrays", 1, 1, 32, 1, 0, &p, sizeof p);
	for (int t = 0; t < 32; t++) {
		int stack[32];
		char bytes[16];
		for (int k = 0; k < 32; k++)
			stack[order[k]] = k * t;
		for (int k = 0; k < 16; k++)
			bytes[order[k] & 15] = (char)(k + t);
		assert_int_equal(out[t], stack[order[t]] * 1000 + bytes[t & 15]);
	}
	rig_close(&rig);
}

static void
test_switch(void **state)
{
	(void)state;
	open_file("memory");
	int *x = input(32 * 4), *y = output(32 * 4);
	for (int t = 0; t < 32; t++)
		x[t] = t * 7 % 10;
	struct { void *x, *y; } p = { x, y };
	launch("dense_switch", 1, 1, 32, 1, 0, &p, sizeof p);
	for (int t = 0; t < 32; t++) {
		int v = x[t], e[] = { 11, v * t, t - 7, -1, v << (t & 7), 99, t % 3, ~v };
		assert_int_equal(y[t], v < 8 ? e[v] : 5000);
	}
	rig_close(&rig);
}

static void
test_atomics(void **state)
{
	(void)state;
	open_file("memory");
	int *i = zeroed(200 * 4), seen[64] = { 0 };
	unsigned *u = zeroed(12);
	float *f = zeroed(4);
	double *d = zeroed(8);
	unsigned long long *l = zeroed(16);
	u[1] = 3;
	i[4] = 63;
	struct { void *i, *u, *f, *d, *l; } p = { i, u, f, d, l };
	launch("atomics", 1, 1, 64, 1, 0, &p, sizeof p);
	assert_int_equal(i[0], 63 * 32);
	assert_int_equal(i[1], 189);
	assert_int_equal(i[2], -63);
	assert_int_equal(i[3], 0);
	assert_int_equal(i[4], -1);
	for (int t = 0; t < 64; t++)
		seen[i[8 + t]]++;
	for (int t = 0; t < 64; t++)
		assert_int_equal(seen[t], 1);
	assert_int_equal(u[0], 64 % 21);
	assert_int_equal(u[1], (3 + 21 * 4 - 64) % 21);
	assert_true(*f == 32 && *d == 16);
	assert_int_equal(l[0], 64ull << 33);
	assert_int_equal(l[1], 63ull << 40);
	assert_int_equal(u[2], 63 * 32);
	rig_close(&rig);
}

/* ---- matrix.cu */

static void
test_attention(void **state)
{
	(void)state;
	enum { KEYS = 75 };
	open_file("matrix");
	float *q = input(32 * 16 * 4), *k = input(KEYS * 16 * 4), *v = input(KEYS * 16 * 4), *out = output(32 * 16 * 4);
	for (int n = 0; n < 32 * 16; n++)
		q[n] = (float)(noise((uint32_t)n) % 100) / 50 - 1;
	for (int n = 0; n < KEYS * 16; n++) {
		k[n] = (float)(noise((uint32_t)n + 5000) % 100) / 50 - 1;
		v[n] = (float)(noise((uint32_t)n + 9000) % 100) / 50 - 1;
	}
	struct { void *q, *k, *v, *out; int keys; } p = { q, k, v, out, KEYS };
	launch("attention", 1, 1, 32, 1, 0, &p, sizeof p);
	for (int r = 0; r < 32; r++) {
		double total = 0, sum[16] = { 0 };
		for (int j = 0; j < KEYS; j++) {
			double s = 0;
			for (int c = 0; c < 16; c++)
				s += 0.25 * q[r * 16 + c] * k[j * 16 + c];
			total += exp(s);
			for (int c = 0; c < 16; c++)
				sum[c] += exp(s) * v[j * 16 + c];
		}
		for (int c = 0; c < 16; c++)
			near("attention", r * 16 + c, out[r * 16 + c], sum[c] / total, 1e-5);
	}
	rig_close(&rig);
}

/* Halves of small integers, so that every sum is exact */
static uint16_t
small_half(int v)
{
	uint16_t sign = v < 0 ? 0x8000 : 0;
	int m = v < 0 ? -v : v, e = 0;
	if (!m)
		return 0;
	while (m >> (e + 1))
		e++;
	return (uint16_t)(sign | (e + 15) << 10 | (m << (10 - e) & 1023));
}

static void
test_tensor_products(void **state)
{
	(void)state;
	open_file("matrix");
	uint16_t *a = input(16 * 32 * 2), *b = input(16 * 32 * 2);
	float *c = output(16 * 8 * 4), *d = output(16 * 16 * 4);
	int va[512], vb[512];
	for (int k = 0; k < 512; k++) {
		va[k] = (int)(noise((uint32_t)k) % 15) - 7;
		vb[k] = (int)(noise((uint32_t)k + 777) % 15) - 7;
		a[k] = small_half(va[k]);
		b[k] = small_half(vb[k]);
	}
	struct { void *a, *b, *c; } p = { a, b, c };
	launch("tensor_product", 1, 1, 32, 1, 0, &p, sizeof p);
	for (int r = 0; r < 16; r++)
		for (int n = 0; n < 8; n++) {
			int sum = 0;
			for (int k = 0; k < 16; k++)
				sum += va[r * 16 + k] * vb[n * 16 + k];
			assert_true(c[r * 8 + n] == (float)sum);
		}
	p.c = d;
	launch("wmma_product", 1, 1, 32, 1, 0, &p, sizeof p);
	for (int r = 0; r < 16; r++)
		for (int n = 0; n < 16; n++) {
			int sum = 1;
			for (int k = 0; k < 32; k++)
				sum += va[r * 32 + k] * vb[n * 32 + k];
			assert_true(d[r * 16 + n] == (float)(2 * sum));
		}
	rig_close(&rig);
}

/* ---- wide.cu */

static void
test_wide_tiles(void **state)
{
	(void)state;
	enum { N = 512, BLOCK = 256 };
	open_file("wide");
	int *x = input(N * 4), *sums = output(N * 4), *before = output(N * 4), *neighbours = output(N * 4);
	for (int k = 0; k < N; k++)
		x[k] = (int)(noise((uint32_t)k) % 201) - 100;
	void *p[] = { x, sums, before, neighbours };
	launch("wide_tiles", 2, 1, BLOCK, 1, 0, p, sizeof p);
	for (int k = 0; k < N; k++) {
		int two = k / 64 * 64, four = k / 128 * 128, sum = 0, most = x[four], prefix = 0;
		for (int j = two; j < two + 64; j++) {
			sum += x[j];
			prefix += j < k ? x[j] : 0;
		}
		for (int j = four; j < four + 128; j++)
			most = x[j] > most ? x[j] : most;
		assert_int_equal(sums[k], sum * 1000 + most);
		assert_int_equal(before[k], prefix);
		assert_int_equal(neighbours[k], x[two + (k % 64 + 33) % 64]);
	}
	rig_close(&rig);
}

static int
sum_of_copy(const int *x, int n, int depth)
{
	int copy[16], sum = 0;
	for (int k = 0; k < n; k++)
		sum += copy[k] = x[k] + depth;
	return sum + (depth ? sum_of_copy(copy, n - 1, depth - 1) : 0);
}

static void
test_alloca(void **state)
{
	(void)state;
	open_file("wide");
	int *x = input(64 * 4), *y = output(96 * 4);
	for (int k = 0; k < 64; k++)
		x[k] = (int)noise((uint32_t)k) >> 8;
	void *p[] = { x, y };
	launch("allocate", 1, 1, 96, 1, 0, p, sizeof p);
	for (int k = 0; k < 96; k++)
		assert_int_equal(y[k], sum_of_copy(x, 4 + k % 7, 2) + sum_of_copy(x + 1, 3, 0));
	rig_close(&rig);
}

/* Distances of the elements of `bits` bits of a and b: each, cut to its width, and their sum */
static void
distances(uint32_t a, uint32_t b, int bits, bool is_signed, uint32_t *each, uint32_t *sum)
{
	*each = *sum = 0;
	for (int at = 0; at < 32; at += bits) {
		int64_t x = a >> at & ((1u << bits) - 1), y = b >> at & ((1u << bits) - 1);
		if (is_signed) {
			x -= x >> (bits - 1) << bits;
			y -= y >> (bits - 1) << bits;
		}
		int64_t d = x > y ? x - y : y - x;
		*each |= (uint32_t)d << at;
		*sum += (uint32_t)d;
	}
}

static void
test_byte_intrinsics(void **state)
{
	(void)state;
	enum { N = 256 };
	open_file("wide");
	uint32_t *x = input(2 * N * 4), *y = output(6 * N * 4), each, sum;
	for (int k = 0; k < 2 * N; k++)
		x[k] = noise((uint32_t)k + 7);
	struct {
		void *x, *y;
		int n;
	} p = { x, y, N };
	launch("bytes", 1, 1, N, 1, 0, &p, sizeof p);
	for (int k = 0; k < N; k++) {
		distances(x[k], x[k + N], 8, false, &each, &sum);
		assert_int_equal(y[k], each);
		assert_int_equal(y[k + N], sum);
		distances(x[k], x[k + N], 8, true, &each, &sum);
		assert_int_equal(y[k + 2 * N], each);
		assert_int_equal(y[k + 3 * N], sum);
		for (int at = 0; at < 32; at += 8) {
			int v = (int8_t)(x[k] >> at), magnitude = v == -128 ? 127 : v < 0 ? -v : v;
			assert_int_equal(y[k + 4 * N] >> at & 0xff, magnitude);
		}
		distances(x[k], x[k + N], 16, false, &each, &sum);
		assert_int_equal(y[k + 5 * N], sum);
	}
	rig_close(&rig);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_histogram), cmocka_unit_test(test_scan), cmocka_unit_test(test_tiles),
		cmocka_unit_test(test_compact), cmocka_unit_test(test_last_block), cmocka_unit_test(test_legacy_reduce),
		cmocka_unit_test(test_spin_locks), cmocka_unit_test(test_named_barriers), cmocka_unit_test(test_collectives),
		cmocka_unit_test(test_divergent_loop), cmocka_unit_test(test_halves), cmocka_unit_test(test_bf16),
		cmocka_unit_test(test_functions), cmocka_unit_test(test_integers), cmocka_unit_test(test_inline_assembly),
		cmocka_unit_test(test_fp8), cmocka_unit_test(test_print), cmocka_unit_test(test_assert),
		cmocka_unit_test(test_transpose), cmocka_unit_test(test_dynamic_shared), cmocka_unit_test(test_symbols),
		cmocka_unit_test(test_calls), cmocka_unit_test(test_function_pointers), cmocka_unit_test(test_local_arrays),
		cmocka_unit_test(test_switch), cmocka_unit_test(test_atomics), cmocka_unit_test(test_attention),
		cmocka_unit_test(test_tensor_products),
		cmocka_unit_test(test_wide_tiles), cmocka_unit_test(test_alloca), cmocka_unit_test(test_byte_intrinsics),
	};
	return cmocka_run_group_tests_name("ptx features", tests, NULL, NULL);
}
