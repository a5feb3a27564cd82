/* noise [REPETITIONS [churn]]: how well the timing protocol repeats itself. Each evaluation times a kernel against the
 * same kernel in another build, REPETITIONS times (50); then against one that does 2% more. Prints a table. With `churn`
 * other processes make and end contexts on the GPU all the while, by no lock. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/io.h"
#include "base/num.h"
#include "cuda/gpu_stats.h"
#include "cuda/record.h"
#include "eval/bench.h"
#include "eval/gpu_worker.h"
#include "sandbox/sandbox.h"
#include "task.h"

enum { MAX_REPETITIONS = 200, CHURNERS = 3 };

static atomic_bool churning;
static atomic_int churned;

static void *
churn(void *none)
{
	while (atomic_load(&churning)) {
		struct buf err = BUF_INIT;
		struct gpu_worker *w = gpu_worker_start(0, 60000, &err);

		if (!w)
			die(EX_TEMPFAIL, "%s", buf_str(&err));
		gpu_worker_end(w);
		atomic_fetch_add(&churned, 1);
	}
	return none;
}

/* Sizes for an H200: what is meant to take so long there. Copies move 8 bytes an element; chains multiply and add. */
static const struct row {
	const char *name;
	uint64_t elements;
	int chain;	/* 0: a copy */
	bool planted;	/* the candidate does 2% more */
} rows[] = {
	{ "copy 20 us", 6500000, 0, false }, { "copy 50 us", 16500000, 0, false }, { "copy 200 us", 66000000, 0, false },
	{ "chain 2,000 us", 270336, 240000, false },
	{ "chain 200 us + 2%", 270336, 23500, true }, { "chain 2,000 us + 2%", 270336, 240000, true },
};

static char *
source_of(const struct row *r, int chain)
{
	struct buf text = BUF_INIT;

	buf_addf(&text, "#include <stdint.h>\n__global__ void work(const float *x, float *y, int64_t n)\n{\n"
		"	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;\n	if (i >= n) return;\n"
		"	float v = x[i];\n	for (int k = 0; k < %d; k++) v = fmaf(v, 0.999f, 0.5f);\n	y[i] = %sv;\n}\n"
		"extern \"C\" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)\n"
		"{ work<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N); }\n", chain, r->chain ? "" : "2 * ");
	return buf_detach(&text);
}

struct prepared {
	struct cuda_build build;
	struct cuda_recording recording;
};

static void
prepare(const struct task *t, const struct task_workload *w, const char *source, const char *builds, struct prepared *p)
{
	struct cuda_argument arguments[CUDA_MAX_ARGUMENTS];
	struct buf prelude = BUF_INIT, err = BUF_INIT;
	int count = task_arguments(t, w, arguments);

	*p = (struct prepared){ CUDA_BUILD_INIT, CUDA_RECORDING_INIT };
	if (cuda_prelude(arguments, count, &prelude, &err) ||
	    cuda_build(source, strlen(source), buf_str(&prelude), CUDA_ARCH_DEFAULT, builds, NULL, &p->build, &err) ||
	    p->build.verdict != CUDA_OK ||
	    cuda_record(p->build.folder, arguments, count, NULL, NULL, &p->recording, &err) || p->recording.verdict != CUDA_OK)
		die(EX_SOFTWARE, "%s%s%s", buf_str(&err), buf_str(&p->build.log), buf_str(&p->recording.reason));
	buf_release(&prelude);
}

static void
measure(const struct row *r, struct gpu_pool *pool, struct eval *engine, const char *folder, int repetitions)
{
	struct task *t = test_task(r->elements);
	const struct task_workload *w = &t->workload[t->workloads - 1];
	char *plain = source_of(r, r->chain), *more = source_of(r, r->planted ? r->chain + r->chain / 50 : r->chain);
	struct prepared candidate, baseline;
	double ratio[MAX_REPETITIONS], off[MAX_REPETITIONS], noise[MAX_REPETITIONS], median[MAX_REPETITIONS], pairs = 0;
	double host[MAX_REPETITIONS], gap[MAX_REPETITIONS];
	int n = 0, suspicious = 0;

	prepare(t, w, more, folder, &candidate);
	prepare(t, w, plain, folder, &baseline);
	for (int i = 0; i < repetitions; i++) {
		struct bench_request request = { .task = t, .workload = w, .key = { (uint64_t)i, 0, plain },
			.solution_id = "", .folder = candidate.build.folder, .recording = &candidate.recording,
			.baseline_id = "0", .baseline_folder = baseline.build.folder, .baseline_recording = &baseline.recording,
			.store = eval_store(engine), .noise_pairs = 10, .any_outputs = true };
		struct gpu_session session = { pool, NULL };
		struct run_result run;
		struct buf err = BUF_INIT;
		json_t *timing;

		if (bench_run(&session, &request, &run, &timing, &err))
			die(EX_TEMPFAIL, "%s", buf_str(&err));
		const json_t *b = json_object_get(timing, "baseline"), *h = json_object_get(timing, "host_check");
		if (strcmp(run.status, "PASSED")) {
			if (!suspicious++)
				printf("  %s: %s: %s\n", r->name, run.status, buf_str(&run.reason));
		}
		if (timing) {
			ratio[n] = rec_json_number(b, "ratio", NAN);
			noise[n] = rec_json_number(json_object_get(timing, "noise"), "ratio", NAN);
			median[n] = rec_json_number(timing, "median_us", NAN);
			host[n] = rec_json_number(h, "host_us", NAN) - rec_json_number(h, "event_us", NAN);
			gap[n] = rec_json_number(h, "gap_us", NAN) - rec_json_number(h, "empty_gap_us", NAN);
			pairs += (double)rec_json_integer(b, "pairs", 0);
			n++;
		}
		json_decref(timing);
		run_release(&run);
		gpu_session_close(&session);
		buf_release(&err);
	}
	for (int i = 0; i < n; i++)
		off[i] = fabs(ratio[i] - 1);
	printf("%-20s %8.2f us %6.1f pairs  ratio median %.4f  95%% of |ratio - 1| below %.2f%%  most %.2f%%  noise field median %.4f"
		"  host - events %+.2f..%+.2f us  gap %+.1f..%+.1f us  not PASSED %d\n", r->name, stats_quantile(median, (size_t)n, 0.5),
		pairs / n, stats_quantile(ratio, (size_t)n, 0.5), 100 * stats_quantile(off, (size_t)n, 0.95),
		100 * stats_quantile(off, (size_t)n, 1), stats_quantile(noise, (size_t)n, 0.5), stats_quantile(host, (size_t)n, 0),
		stats_quantile(host, (size_t)n, 1), stats_quantile(gap, (size_t)n, 0), stats_quantile(gap, (size_t)n, 1), suspicious);
	fflush(stdout);
	cuda_recording_release(&candidate.recording);
	cuda_recording_release(&baseline.recording);
	cuda_build_release(&candidate.build);
	cuda_build_release(&baseline.build);
	free(plain);
	free(more);
	task_free(t);
}

int
main(int argc, char **argv)
{
	struct buf err = BUF_INIT, builds = BUF_INIT;
	char *folder = io_temp_dir("km-noise", &err);
	uint64_t repetitions = 50;
	int status;

	die_program = "noise";
	pthread_t churner[CHURNERS];

	if ((argc > 1 && num_u64(argv[1], 1, MAX_REPETITIONS, &repetitions)) || (argc > 2 && strcmp(argv[2], "churn")))
		die(EX_USAGE, "usage: noise [REPETITIONS [churn]]");
	if (getenv("KM_SANDBOX") && sandbox_option(getenv("KM_SANDBOX"), &err))
		die(EX_USAGE, "%s", buf_str(&err));
	struct eval *engine = test_engine(folder);
	struct gpu_pool *pool = gpu_pool_open(NULL, &status, &err);
	if (!pool)
		die(status, "%s", buf_str(&err));
	buf_addf(&builds, "%s/builds", folder);
	atomic_store(&churning, argc > 2);
	for (int i = 0; i < CHURNERS && argc > 2; i++)
		if (pthread_create(&churner[i], NULL, churn, NULL))
			die(EX_OSERR, "cannot start a thread:");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		measure(&rows[i], pool, engine, buf_str(&builds), rows[i].planted && repetitions > 10 ? 10 : (int)repetitions);
	atomic_store(&churning, false);
	for (int i = 0; i < CHURNERS && argc > 2; i++)
		pthread_join(churner[i], NULL);
	if (argc > 2)
		printf("%d contexts were made and ended meanwhile\n", atomic_load(&churned));
	gpu_pool_close(pool);
	eval_close(engine);
	io_remove_tree(folder, NULL);
	free(folder);
	buf_release(&builds);
	return 0;
}
