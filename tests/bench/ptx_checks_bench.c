/* In: the folder with ptx_bench.ptx, the PTX of ptx_bench.cu. Out: for each kernel, what each check costs: the time of
 * a launch with it as a multiple of the plain launch, in which memcheck is always on. CPU time, best of seven rounds in
 * which the checks take turns, so that a slow moment of the machine does not fall on one of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/die.h"
#include "ptx/ptx.h"

enum { N = 1 << 20, ROWS = 1024, COLUMNS = 1024, SIDE = 192, ROUNDS = 7, CHECKS = 4 };
#define ARENA 0x300000000000ull

static const struct {
	const char *name;
	struct ptx_options options;
} check[CHECKS] = {
	{ "plain", { 0 } },
	{ "initcheck", { .checked = true } },
	{ "racecheck", { .racecheck = true } },
	{ "both", { .checked = true, .racecheck = true } },
};

static double
now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* The next buffer, as input or as an output that nothing has written. */
static void *
buffer(struct ptx_machine *machine, uint64_t *next, const char *name, size_t count, bool input)
{
	size_t bytes = count * sizeof(float), mapped = (bytes + 4095) & ~(size_t)4095;
	struct buf err = BUF_INIT;
	float *memory = mmap((void *)(uintptr_t)*next, mapped, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (memory == MAP_FAILED)
		die(EX_UNAVAILABLE, "cannot map %zu bytes:", bytes);
	for (size_t k = 0; k < count; k++)
		memory[k] = (float)((k * 2654435761u >> 8 & 1023) / 512.0 - 1);
	if (ptx_map(machine, name, *next, bytes, input ? PTX_READ : PTX_READ_WRITE, input, &err))
		die(EX_SOFTWARE, "%s", buf_str(&err));
	*next += mapped + (2 << 20);
	return memory;
}

static double
one_launch(const struct ptx_module *module, const struct ptx_options *options, struct ptx_launch l, size_t input, size_t output,
	bool two_inputs, int last)
{
	struct buf err = BUF_INIT;
	struct ptx_machine *machine = ptx_machine_new(module, options, &err);
	uint64_t next = ARENA;
	if (!machine)
		die(EX_UNAVAILABLE, "%s", buf_str(&err));
	struct { void *in[3]; int n; } params = { { 0 }, last };
	void *a = buffer(machine, &next, "a", input, true), *b = buffer(machine, &next, "b", input, true);
	void *c = buffer(machine, &next, "c", output, false);
	int at = 0;
	params.in[at++] = a;
	if (two_inputs)
		params.in[at++] = b;
	params.in[at++] = c;
	memcpy(&params.in[at], &last, sizeof last);
	l.params = &params;
	l.params_bytes = sizeof params;
	double start = now_ms();
	if (ptx_launch(machine, &l, NULL, &err) != PTX_OK)
		die(EX_SOFTWARE, "%s", buf_str(&err));
	double ms = now_ms() - start;
	if (ptx_finding_count(machine))
		die(EX_SOFTWARE, "%s", ptx_finding_at(machine, 0)->message);
	ptx_machine_free(machine);
	return ms;
}

static void
bench(const struct ptx_module *module, const char *title, struct ptx_launch l, size_t input, size_t output, bool two_inputs,
	int last)
{
	double best[CHECKS];
	for (int k = 0; k < CHECKS; k++)
		best[k] = INFINITY;
	for (int r = 0; r < ROUNDS; r++)
		for (int k = 0; k < CHECKS; k++)
			best[k] = fmin(best[k], one_launch(module, &check[k].options, l, input, output, two_inputs, last));
	printf("%-28s %8.2f ms plain", title, best[0]);
	for (int k = 1; k < CHECKS; k++)
		printf("  %s %.2fx", check[k].name, best[k] / best[0]);
	printf("\n");
}

int
main(int argc, char **argv)
{
	struct buf text = BUF_INIT, err = BUF_INIT, path = BUF_INIT;
	die_program = "ptx_checks_bench";
	if (argc < 2)
		die(EX_USAGE, "give the folder of ptx_bench.ptx");
	buf_addf(&path, "%s/ptx_bench.ptx", argv[1]);
	if (buf_read_file(&text, buf_str(&path), 64 << 20, &err))
		die(EX_NOINPUT, "%s", buf_str(&err));
	struct ptx_module *module = ptx_parse(text.data, text.len, &err);
	if (!module)
		die(EX_DATAERR, "%s", buf_str(&err));
	bench(module, "vector add 1M", (struct ptx_launch){ .kernel = "vector_add", .grid = { N / 256, 1, 1 },
		.block = { 256, 1, 1 } }, N, N, true, N);
	bench(module, "row softmax 1024x1024", (struct ptx_launch){ .kernel = "row_softmax", .grid = { ROWS, 1, 1 },
		.block = { 256, 1, 1 } }, (size_t)ROWS * COLUMNS, (size_t)ROWS * COLUMNS, false, COLUMNS);
	bench(module, "tiled matrix product 192^3", (struct ptx_launch){ .kernel = "tiled_matmul",
		.grid = { SIDE / 16, SIDE / 16, 1 }, .block = { 16, 16, 1 } }, (size_t)SIDE * SIDE, (size_t)SIDE * SIDE, true, SIDE);
	ptx_module_free(module);
	buf_release(&text);
	buf_release(&err);
	buf_release(&path);
	return 0;
}
