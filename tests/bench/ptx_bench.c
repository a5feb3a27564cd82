/* In: the folder with ptx_bench.ptx, the PTX of ptx_bench.cu. Out: a line for each kernel: milliseconds on the PTX
 * machine (CPU time, best of five), milliseconds of the same loop in plain C (this file is compiled with -O2), and the
 * multiple. The result is compared first, so that only right answers are timed. Sizes other than the usual ones can be given,
 * for numba_simulator.py. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/die.h"
#include "ptx/ptx.h"

enum { REPEATS = 5 };
static int n_add = 1 << 20, rows = 4096, columns = 1024, side = 256;
#define ARENA 0x300000000000ull

static struct ptx_machine *machine;
static uint64_t next_address = ARENA;

static double
now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);	/* other work on the machine does not count */
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static float *
buffer(const char *name, size_t count)
{
	size_t bytes = count * sizeof(float), mapped = (bytes + 4095) & ~(size_t)4095;
	struct buf err = BUF_INIT;
	float *memory = mmap((void *)(uintptr_t)next_address, mapped, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (memory == MAP_FAILED)
		die(EX_UNAVAILABLE, "cannot map %zu bytes:", bytes);
	for (size_t k = 0; k < count; k++)
		memory[k] = (float)((k * 2654435761u >> 8 & 1023) / 512.0 - 1);
	if (ptx_map(machine, name, next_address, bytes, PTX_READ_WRITE, true, &err))
		die(EX_SOFTWARE, "%s", buf_str(&err));
	next_address += mapped + (1 << 20);
	return memory;
}

static double
launch(const char *kernel, const uint32_t grid[3], const uint32_t block[3], const void *params, size_t bytes,
	struct ptx_counters *counters)
{
	struct ptx_launch l = { .kernel = kernel, .params = params, .params_bytes = bytes };
	struct buf err = BUF_INIT;
	double best = INFINITY;
	memcpy(l.grid, grid, sizeof l.grid);
	memcpy(l.block, block, sizeof l.block);
	for (int k = 0; k < REPEATS; k++) {
		double start = now_ms();
		if (ptx_launch(machine, &l, counters, &err) != PTX_OK)
			die(EX_SOFTWARE, "%s", buf_str(&err));
		best = fmin(best, now_ms() - start);
	}
	return best;
}

static void
show(const char *name, double machine_ms, double plain_ms, const struct ptx_counters *c)
{
	printf("%-22s %9.3f ms  plain C -O2 %8.3f ms  %6.1fx  %.2f G lane instructions/s\n", name, machine_ms, plain_ms,
		machine_ms / plain_ms, (double)c->lane_instructions / machine_ms / 1e6);
}

static void
check(const char *name, const float *got, const float *expected, size_t count, float tolerance)
{
	for (size_t k = 0; k < count; k++)
		if (!(fabsf(got[k] - expected[k]) <= tolerance))
			die(EX_SOFTWARE, "%s: element %zu is %g instead of %g", name, k, got[k], expected[k]);
}

static __attribute__((noinline)) void
plain_add(const float *a, const float *b, float *c, int n)
{
	for (int i = 0; i < n; i++)
		c[i] = a[i] + b[i];
}

static __attribute__((noinline)) void
plain_softmax(const float *x, float *y, int n_rows, int n_columns)
{
	for (int r = 0; r < n_rows; r++, x += n_columns, y += n_columns) {
		float greatest = -INFINITY, sum = 0;
		for (int c = 0; c < n_columns; c++)
			greatest = fmaxf(greatest, x[c]);
		for (int c = 0; c < n_columns; c++)
			sum += y[c] = expf(x[c] - greatest);
		for (int c = 0; c < n_columns; c++)
			y[c] /= sum;
	}
}

static __attribute__((noinline)) void
plain_matmul(const float *a, const float *b, float *c, int n)
{
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) {
			float sum = 0;
			for (int k = 0; k < n; k++)
				sum += a[i * n + k] * b[k * n + j];
			c[i * n + j] = sum;
		}
}

static double
best_of(void (*run)(void *), void *context)
{
	double best = INFINITY;
	for (int k = 0; k < REPEATS; k++) {
		double start = now_ms();
		run(context);
		best = fmin(best, now_ms() - start);
	}
	return best;
}

struct arrays {
	float *a, *b, *c, *plain;
};

static void
run_add(void *context)
{
	struct arrays *v = context;
	plain_add(v->a, v->b, v->plain, n_add);
}

static void
run_softmax(void *context)
{
	struct arrays *v = context;
	plain_softmax(v->a, v->plain, rows, columns);
}

static void
run_matmul(void *context)
{
	struct arrays *v = context;
	plain_matmul(v->a, v->b, v->plain, side);
}

static void
bench_add(void)
{
	size_t n = (size_t)n_add;
	struct arrays v = { buffer("a", n), buffer("b", n), buffer("c", n), calloc(n, sizeof(float)) };
	struct { const float *a, *b; float *c; int n; } params = { v.a, v.b, v.c, n_add };
	struct ptx_counters counters;
	double ms = launch("vector_add", (uint32_t[]){ (uint32_t)n_add / 256, 1, 1 }, (uint32_t[]){ 256, 1, 1 }, &params,
		sizeof params, &counters);
	double plain = best_of(run_add, &v);
	check("vector_add", v.c, v.plain, n, 0);
	show("vector add", ms, plain, &counters);
	free(v.plain);
}

static void
bench_softmax(void)
{
	size_t n = (size_t)rows * (size_t)columns;
	struct arrays v = { buffer("x", n), NULL, buffer("y", n), calloc(n, sizeof(float)) };
	struct { const float *x; float *y; int columns; } params = { v.a, v.c, columns };
	struct ptx_counters counters;
	double ms = launch("row_softmax", (uint32_t[]){ (uint32_t)rows, 1, 1 }, (uint32_t[]){ 256, 1, 1 }, &params,
		sizeof params, &counters);
	double plain = best_of(run_softmax, &v);
	check("row_softmax", v.c, v.plain, n, 1e-6f);
	show("row softmax", ms, plain, &counters);
	free(v.plain);
}

static void
bench_matmul(void)
{
	size_t n = (size_t)side * (size_t)side;
	struct arrays v = { buffer("ma", n), buffer("mb", n), buffer("mc", n), calloc(n, sizeof(float)) };
	struct { const float *a, *b; float *c; int n; } params = { v.a, v.b, v.c, side };
	struct ptx_counters counters;
	double ms = launch("tiled_matmul", (uint32_t[]){ (uint32_t)side / 16, (uint32_t)side / 16, 1 },
		(uint32_t[]){ 16, 16, 1 }, &params, sizeof params, &counters);
	double plain = best_of(run_matmul, &v);
	check("tiled_matmul", v.c, v.plain, n, 1e-4f);
	show("tiled matrix product", ms, plain, &counters);
	free(v.plain);
}

int
main(int argc, char **argv)
{
	struct buf text = BUF_INIT, err = BUF_INIT;
	die_program = "ptx_bench";
	char path[4096];
	if (argc < 2)
		die(EX_USAGE, "give the folder of ptx_bench.ptx, and --checked, or elements, rows, columns and side of the matrices");
	if (argc == 6) {
		n_add = (int)strtol(argv[2], NULL, 10);
		rows = (int)strtol(argv[3], NULL, 10);
		columns = (int)strtol(argv[4], NULL, 10);
		side = (int)strtol(argv[5], NULL, 10);
	}
	snprintf(path, sizeof path, "%s/ptx_bench.ptx", argv[1]);
	if (buf_read_file(&text, path, 64 << 20, &err))
		die(EX_NOINPUT, "%s", buf_str(&err));
	struct ptx_module *module = ptx_parse(text.data, text.len, &err);
	struct ptx_options options = { .checked = argc > 2 && !strcmp(argv[2], "--checked") };
	machine = module ? ptx_machine_new(module, &options, &err) : NULL;
	if (!machine)
		die(EX_DATAERR, "%s", buf_str(&err));
	bench_add();
	bench_softmax();
	bench_matmul();
	ptx_machine_free(machine);
	ptx_module_free(module);
	buf_release(&text);
	buf_release(&err);
	return 0;
}
