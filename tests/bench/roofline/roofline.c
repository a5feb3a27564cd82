/* roofline count FOLDER TIMES >WORK: runs the launches of launches.c on the PTX machine, FOLDER/{memory,rows,compute,
 *   tiles}.ptx, and writes the work that it counted, a JSON line each. TIMES (of roofline_gpu) says the registers.
 * roofline judge WORK TIMES: estimates for the H200 beside its times; rank correlation and ratios, apart for the half of
 *   the kernels that the parameters were fitted on and for the other half, which was never used for it.
 * roofline compare WORK NCU: the counts beside those of Nsight Compute for the same launches, as ratios.
 * roofline fit WORK TIMES: fits the parameters on the first half and prints them as they stand in common/ptx/roofline.c. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "base/die.h"
#include "ptx/ptx.h"
#include "rec/json.h"
#include "roofline/launches.h"

enum { PAGE = 4096, MAX_LAUNCHES = 512, WORK_FIELDS = sizeof(struct roofline_work) / sizeof(double) };
#define ARENA 0x300000000000ull
#define SYMBOLS 0x310000000000ull

static const char *const work_names[WORK_FIELDS] = { "blocks", "warps", "resident_blocks", "issue_slots", "fp32", "fp64", "fp16",
	"integer", "special", "convert", "shuffle", "tensor_fp16", "tensor_tf32", "tensor_fp64", "tensor_int8", "tensor_fp8",
	"passes", "l2_sectors", "dram_sectors", "dirty_sectors", "l2_atomics", "serial_atomics", "path_cycles" };
static const char *const parameter_names[ROOFLINE_PARAMETERS] = { "dram", "l2", "passes", "issue", "pipes", "tensor", "atomics",
	"serial", "latency", "write_back", "block_cycles", "launch_us", "power" };

/* ---- files of JSON lines */

static json_t *
read_lines(const char *path)
{
	struct buf text = BUF_INIT, err = BUF_INIT;
	json_t *lines = json_array();
	if (buf_read_file(&text, path, 16 << 20, &err))
		die(EX_NOINPUT, "%s", buf_str(&err));
	for (const char *at = buf_str(&text), *end; *at; at = *end ? end + 1 : end) {
		end = strchrnul(at, '\n');
		json_t *line = rec_json_parse(at, (size_t)(end - at), &err);
		if (!line)
			die(EX_DATAERR, "%s: %s", path, buf_str(&err));
		json_array_append_new(lines, line);
	}
	buf_release(&text);
	return lines;
}

static const json_t *
find_line(const json_t *lines, const char *kernel, const char *size)
{
	size_t k;
	json_t *line;
	json_array_foreach((json_t *)lines, k, line)
		if (!strcmp(rec_json_string(line, "kernel", ""), kernel) && !strcmp(rec_json_string(line, "size", ""), size))
			return line;
	return NULL;
}

/* ---- count */

/* What both count: the PTX machine and Nsight Compute. */
#define COUNT(name, value) \
	static uint64_t name(const struct ptx_profile *p, const struct ptx_counters *c) { (void)p, (void)c; return value; }
COUNT(read_requests, c->global_read_requests)
COUNT(read_sectors, c->global_read_sectors)
COUNT(write_requests, c->global_write_requests)
COUNT(write_sectors, c->global_write_sectors)
COUNT(bank_conflicts, c->shared_bank_conflicts)
COUNT(l1_hits, p->l1_hit_sectors)
COUNT(l2_sectors, p->l2_sectors)
COUNT(dram_sectors, p->dram_sectors)
COUNT(warp_instructions, c->warp_instructions)
COUNT(lane_instructions, c->lane_instructions)
static const struct {
	const char *ours, *theirs, *title;
	uint64_t (*of)(const struct ptx_profile *p, const struct ptx_counters *c);
	double unit;			/* of theirs in ours */
} counts[] = {
	{ "read_requests", "load_requests", "rd-req", read_requests, 1 },
	{ "read_sectors", "load_sectors", "rd-sect", read_sectors, 1 },
	{ "write_requests", "store_requests", "wr-req", write_requests, 1 },
	{ "write_sectors", "store_sectors", "wr-sect", write_sectors, 1 },
	{ "bank_conflicts", "shared_conflicts", "conflict", bank_conflicts, 1 },
	{ "l1_hits", "load_hit_sectors", "l1-hits", l1_hits, 1 },
	{ "l2_sectors", "l2_sectors", "l2-sect", l2_sectors, 1 },
	{ "dram_sectors", "dram_read_bytes", "dram-rd", dram_sectors, 1.0 / 32 },
	{ "warp_instructions", "warp_instructions", "warp-ins", warp_instructions, 1 },
	{ "lane_instructions", "thread_instructions", "lane-ins", lane_instructions, 1 },
};
enum { N_COUNTS = sizeof counts / sizeof *counts };

static struct ptx_module *modules[N_MODULES];

static void
load_modules(const char *folder)
{
	for (int k = 0; k < N_MODULES; k++) {
		struct buf path = BUF_INIT, text = BUF_INIT, err = BUF_INIT;
		buf_addf(&path, "%s/%s.ptx", folder, roofline_modules[k]);
		if (buf_read_file(&text, buf_str(&path), 64 << 20, &err))
			die(EX_NOINPUT, "%s", buf_str(&err));
		modules[k] = ptx_parse(text.data, text.len, &err);
		if (!modules[k])
			die(EX_DATAERR, "%s: %s", buf_str(&path), buf_str(&err));
		buf_release(&path);
		buf_release(&text);
	}
}

static size_t
whole_pages(size_t bytes)
{
	return (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
}

static void *
map_pages(uint64_t address, size_t bytes)
{
	void *memory = mmap((void *)(uintptr_t)address, whole_pages(bytes), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (memory != (void *)(uintptr_t)address)
		die(EX_UNAVAILABLE, "cannot map %zu bytes:", bytes);
	return memory;
}

/* Gives the module's variables addresses; returns where they end. */
static uint64_t
place_symbols(struct ptx_machine *machine, const struct ptx_module *module)
{
	struct buf err = BUF_INIT;
	uint64_t at = SYMBOLS;
	for (size_t k = 0; k < ptx_symbol_count(module); k++)
		at += whole_pages(ptx_symbol_at(module, k)->size + 1);
	if (at != SYMBOLS)
		map_pages(SYMBOLS, at - SYMBOLS);
	at = SYMBOLS;
	for (size_t k = 0; k < ptx_symbol_count(module); k++) {
		if (ptx_place_symbol(machine, ptx_symbol_at(module, k)->name, at, &err))
			die(EX_SOFTWARE, "%s", buf_str(&err));
		at += whole_pages(ptx_symbol_at(module, k)->size + 1);
	}
	if (ptx_write_symbols(machine, &err))
		die(EX_SOFTWARE, "%s", buf_str(&err));
	return at;
}

static const struct ptx_module *
module_of(const char *kernel)
{
	for (int k = 0; k < N_MODULES; k++)
		if (ptx_kernel_find(modules[k], kernel))
			return modules[k];
	die(EX_DATAERR, "no module has a kernel named %s", kernel);
}

static void
print_work(const struct roofline_launch *l, const struct ptx_profile *profile, const struct ptx_counters *c)
{
	printf("{\"kernel\": \"%s\", \"size\": \"%s\"", l->kernel, l->size);
	for (int k = 0; k < WORK_FIELDS; k++)
		printf(", \"%s\": %.12g", work_names[k], ((const double *)&profile->last_work)[k]);
	printf(", \"counters\": {");
	for (int k = 0; k < N_COUNTS; k++)
		printf("%s\"%s\": %" PRIu64, k ? ", " : "", counts[k].ours, counts[k].of(profile, c));
	printf("}}\n");
	fflush(stdout);
}

static void
count_launch(const struct roofline_launch *l, const json_t *times)
{
	struct roofline_argument arguments[MAX_ARGUMENTS];
	uint64_t addresses[MAX_ARGUMENTS] = { 0 }, at = ARENA;
	size_t offsets[MAX_ARGUMENTS];
	uint8_t block[256];
	struct buf err = BUF_INIT;
	int n = roofline_arguments(l, arguments);
	const struct ptx_module *module = module_of(l->kernel);
	struct ptx_options options = { .profile = roofline_gpu("h200") };
	struct ptx_machine *machine = ptx_machine_new(module, &options, &err);
	if (!machine || n < 0)
		die(EX_SOFTWARE, "%s: %s", l->kernel, n < 0 ? "wrong arguments" : buf_str(&err));
	uint64_t symbols_end = place_symbols(machine, module);
	for (int k = 0; k < n; k++) {
		if (!arguments[k].bytes)
			continue;
		addresses[k] = at;
		roofline_fill(&arguments[k], k, map_pages(at, arguments[k].bytes));
		if (ptx_map(machine, "buffer", at, arguments[k].bytes, PTX_READ_WRITE, true, &err))
			die(EX_SOFTWARE, "%s", buf_str(&err));
		at += whole_pages(arguments[k].bytes) + (1 << 20);
	}
	struct ptx_launch launch = { .kernel = l->kernel, .dynamic_shared = l->dynamic_shared, .params = block,
		.params_bytes = roofline_parameters(arguments, n, addresses, block, offsets),
		.registers = (uint32_t)rec_json_integer(find_line(times, l->kernel, l->size), "registers", 0) };
	memcpy(launch.grid, l->grid, sizeof launch.grid);
	memcpy(launch.block, l->block, sizeof launch.block);
	struct ptx_counters counters = { 0 };
	if (ptx_launch(machine, &launch, &counters, &err) != PTX_OK)
		die(EX_SOFTWARE, "%s %s: %s", l->kernel, l->size, buf_str(&err));
	print_work(l, ptx_profile(machine), &counters);
	for (int k = 0; k < n; k++)
		if (arguments[k].bytes)
			munmap((void *)(uintptr_t)addresses[k], whole_pages(arguments[k].bytes));
	if (symbols_end != SYMBOLS)
		munmap((void *)(uintptr_t)SYMBOLS, symbols_end - SYMBOLS);
	ptx_machine_free(machine);
	buf_release(&err);
}

/* ---- judge */

struct sample {
	const char *kernel, *size;
	struct roofline_work work;
	double measured_us;
	bool fitted;				/* of the half that the parameters are fitted on */
};
static struct sample samples[MAX_LAUNCHES];
static size_t n_samples;

/* The halves are fixed by the kernel's name alone, so that all sizes of a kernel are in one: FNV-1a, lowest bit of the
 * folded hash. */
static bool
is_fitted(const char *kernel)
{
	uint32_t h = 2166136261u;
	for (; *kernel; kernel++)
		h = (h ^ (uint8_t)*kernel) * 16777619u;
	h ^= h >> 16;
	return (h ^ h >> 8) & 1;
}

static void
load_samples(const char *work_path, const char *times_path)
{
	json_t *work = read_lines(work_path), *times = read_lines(times_path);
	for (size_t k = 0; k < json_array_size(work) && k < MAX_LAUNCHES; k++) {
		const json_t *w = json_array_get(work, k);
		struct sample *s = &samples[n_samples];
		s->kernel = rec_json_string(w, "kernel", "");
		s->size = rec_json_string(w, "size", "");
		const json_t *t = find_line(times, s->kernel, s->size);
		if (!t)
			continue;
		for (int f = 0; f < WORK_FIELDS; f++)
			((double *)&s->work)[f] = rec_json_number(w, work_names[f], NAN);
		s->measured_us = rec_json_number(t, "median_us", NAN);
		s->fitted = is_fitted(s->kernel);
		n_samples++;
	}
}

static double
estimated_us(const struct sample *s, const struct roofline_parameters *p, const char **limiter)
{
	struct roofline_estimate e;
	roofline_time(&s->work, roofline_gpu("h200"), p, &e);
	if (limiter)
		*limiter = e.limiter;
	return e.time_us;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Rank of each value, ties by their mean. */
static void
ranks(const double *v, double *rank, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		double less = 0, same = 0;
		for (size_t j = 0; j < n; j++) {
			less += v[j] < v[k];
			same += v[j] == v[k];
		}
		rank[k] = less + (same + 1) / 2;
	}
}

static double
correlation(const double *a, const double *b, size_t n)
{
	double ma = 0, mb = 0, ab = 0, aa = 0, bb = 0;
	for (size_t k = 0; k < n; k++) {
		ma += a[k] / (double)n;
		mb += b[k] / (double)n;
	}
	for (size_t k = 0; k < n; k++) {
		ab += (a[k] - ma) * (b[k] - mb);
		aa += (a[k] - ma) * (a[k] - ma);
		bb += (b[k] - mb) * (b[k] - mb);
	}
	return ab / sqrt(aa * bb);
}

static void
judge_half(bool fitted)
{
	static double measured[MAX_LAUNCHES], estimated[MAX_LAUNCHES], ratio[MAX_LAUNCHES], rank[2][MAX_LAUNCHES];
	size_t n = 0, kernels = 0, within = 0;
	for (size_t k = 0; k < n_samples; k++) {
		if (samples[k].fitted != fitted)
			continue;
		measured[n] = samples[k].measured_us;
		estimated[n] = estimated_us(&samples[k], &roofline_fitted, NULL);
		ratio[n] = estimated[n] / measured[n];
		within += ratio[n] > 0.5 && ratio[n] < 2;
		kernels += !k || strcmp(samples[k].kernel, samples[k - 1].kernel);
		n++;
	}
	ranks(measured, rank[0], n);
	ranks(estimated, rank[1], n);
	qsort(ratio, n, sizeof *ratio, by_value);
	printf("%-22s %zu kernels, %zu launches: Spearman %.3f, ratio of estimate to time: median %.2f, quartiles %.2f to %.2f, "
		"within a factor of 2: %zu\n", fitted ? "fitted on" : "not seen by the fit", kernels, n, correlation(rank[0], rank[1], n),
		ratio[n / 2], ratio[n / 4], ratio[n * 3 / 4], within);
}

static void
judge(void)
{
	printf("%-24s %-16s %5s %10s %10s %6s  %s\n", "kernel", "size", "half", "H200 us", "estimate", "ratio", "limiter");
	for (size_t k = 0; k < n_samples; k++) {
		const char *limiter;
		double us = estimated_us(&samples[k], &roofline_fitted, &limiter);
		printf("%-24s %-16s %5s %10.1f %10.1f %6.2f  %s\n", samples[k].kernel, samples[k].size,
			samples[k].fitted ? "fit" : "judge", samples[k].measured_us, us, us / samples[k].measured_us, limiter);
	}
	judge_half(true);
	judge_half(false);
}

/* ---- compare */

static double
counted_by_ncu(const json_t *line, int k)
{
	if (!strcmp(counts[k].theirs, "l2_sectors"))
		return rec_json_number(line, "l2_read_sectors", NAN) + rec_json_number(line, "l2_write_sectors", NAN);
	return rec_json_number(line, counts[k].theirs, NAN) * counts[k].unit;
}

/* Our counts over those of Nsight Compute for the same launch; "-" where both are 0. */
static void
compare(const char *work_path, const char *ncu_path)
{
	static double ratio[N_COUNTS][MAX_LAUNCHES];
	json_t *work = read_lines(work_path), *ncu = read_lines(ncu_path), *w;
	size_t n[N_COUNTS] = { 0 }, near[N_COUNTS] = { 0 }, only[N_COUNTS] = { 0 }, i;
	printf("%-24s %-16s", "ours / Nsight Compute", "size");
	for (int k = 0; k < N_COUNTS; k++)
		printf(" %8s", counts[k].title);
	json_array_foreach(work, i, w) {
		const char *kernel = rec_json_string(w, "kernel", ""), *size = rec_json_string(w, "size", "");
		const json_t *line = find_line(ncu, kernel, size);
		if (!line)
			continue;
		printf("\n%-24s %-16s", kernel, size);
		for (int k = 0; k < N_COUNTS; k++) {
			double ours = rec_json_number(json_object_get(w, "counters"), counts[k].ours, 0), theirs = counted_by_ncu(line, k);
			if (theirs > 0 && ours > 0) {
				ratio[k][n[k]++] = ours / theirs;
				near[k] += fabs(ours / theirs - 1) <= 0.02;
				printf(" %8.3f", ours / theirs);
			} else {
				only[k] += ours > 0 || theirs > 0;
				printf(ours > 0 ? "     ours" : theirs > 0 ? "   theirs" : "        -");
			}
		}
	}
	printf("\n%-41s", "median");
	for (int k = 0; k < N_COUNTS; k++) {
		qsort(ratio[k], n[k], sizeof *ratio[k], by_value);
		printf(" %8.3f", n[k] ? ratio[k][n[k] / 2] : NAN);
	}
	printf("\n%-41s", "within 2%, of");
	for (int k = 0; k < N_COUNTS; k++)
		printf(" %4zu/%-3zu", near[k], n[k]);
	printf("\n%-41s", "counted by one of the two only");
	for (int k = 0; k < N_COUNTS; k++)
		printf(" %8zu", only[k]);
	printf("\n");
}

/* ---- fit */

/* Robust: an error counts by its logarithm, and a great one not by its square. Each kernel has the same weight. */
static double
loss(const struct roofline_parameters *p)
{
	double sum = 0;
	for (size_t k = 0; k < n_samples; k++) {
		if (!samples[k].fitted)
			continue;
		double sizes = 0;
		for (size_t j = 0; j < n_samples; j++)
			sizes += !strcmp(samples[j].kernel, samples[k].kernel);
		double error = log(estimated_us(&samples[k], p, NULL) / samples[k].measured_us);
		sum += (sqrt(1 + error * error * 4) - 1) / sizes;
	}
	return sum;
}

/* Each parameter in turn, by factors, as long as it helps. */
static void
fit(void)
{
	struct roofline_parameters best = roofline_fitted;
	static const double most[ROOFLINE_PARAMETERS] = { 1, 1, 1, 1, 1, 1, 1e4, 1e4, 4, 1, 1e4, 10, 12 };
	double least_loss = loss(&best);
	printf("before: %.4f\n", least_loss);
	for (double step = 1.5; step > 1.005; step = sqrt(step))
		for (int round = 0; round < 20; round++)
			for (int k = 0; k < ROOFLINE_PARAMETERS * 2; k++) {
				struct roofline_parameters next = best;
				double *v = (double *)&next + k / 2;
				*v = fmin(*v * (k & 1 ? step : 1 / step), most[k / 2]);
				double l = loss(&next);
				if (l < least_loss - 1e-9) {
					least_loss = l;
					best = next;
				}
			}
	printf("after: %.4f\n", least_loss);
	for (int k = 0; k < ROOFLINE_PARAMETERS; k++)
		printf(".%s = %.3g%s", parameter_names[k], ((double *)&best)[k], k + 1 < ROOFLINE_PARAMETERS ? ", " : ",\n");
}

int
main(int argc, char **argv)
{
	die_program = "roofline";
	if (argc == 4 && !strcmp(argv[1], "count")) {
		load_modules(argv[2]);
		json_t *times = read_lines(argv[3]);
		for (size_t k = 0; k < roofline_n_launches; k++)
			count_launch(&roofline_launches[k], times);
		return 0;
	}
	if (argc == 4 && !strcmp(argv[1], "compare")) {
		compare(argv[2], argv[3]);
		return 0;
	}
	if (argc != 4 || (strcmp(argv[1], "judge") && strcmp(argv[1], "fit")))
		die(EX_USAGE, "usage: roofline count FOLDER TIMES | judge WORK TIMES | compare WORK NCU | fit WORK TIMES");
	load_samples(argv[2], argv[3]);
	if (!strcmp(argv[1], "fit"))
		fit();
	else
		judge();
	return 0;
}
