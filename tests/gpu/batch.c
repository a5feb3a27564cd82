/* batch [CANDIDATES [BAD [THREADS [timed|checked]]]]: right and wrong candidates with some that crash, hang or corrupt their
 * context mixed in, all evaluated on a GPU; then the same without those, in a fresh store. Prints how long it took, how
 * busy the GPU was kept, and how many verdicts of the others differ between the two runs. Exit 1 when one does. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/io.h"
#include "base/num.h"
#include "eval/gpu.h"
#include "sandbox/sandbox.h"
#include "task.h"

enum { MAX_CANDIDATES = 2000, BENCH_ELEMENTS = 30000000 };

/* Every fourth never ends. */
static const char *const bad_bodies[] = {
	"while (clock64() >= 0) ;",
	"y[(i + 1) << 40] = 1;",					/* illegal address */
	"*(double *)((char *)y + 4) = x[0];",				/* misaligned */
	"__trap();",
	"((float *)x)[i] = 0;",						/* writes an input */
};

static const char *
bad_body(int number)
{
	return bad_bodies[number % 4 ? 1 + (number - number / 4 - 1) % 4 : 0];
}

static struct candidate {
	char *source;
	bool bad;
	char *verdict[2];	/* with the bad ones, and without */
} candidate[MAX_CANDIDATES];
static int candidates, next_candidate, run_number;
static struct eval *engine;
static struct task *task;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void
make_candidates(int count, int bad)
{
	for (int i = 0; i < count; i++) {
		struct buf text = BUF_INIT;
		bool is_bad = bad && i % (count / bad) == count / bad / 2;
		const char *body = is_bad ? bad_body(i / (count / bad)) : i % 7 == 3 ? "y[i] = 2 * x[i] + 1.01f;"
			: i % 11 == 5 ? "if (i % 97) y[i] = 2 * x[i] + 1;" : "y[i] = 2 * x[i] + 1;";

		/* Names and unrolling differ, so that no two are one build. */
		buf_addf(&text, "#include <stdint.h>\n__global__ void work%d(const float *x, float *y, int64_t n)\n{\n"
			"	for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (int64_t)blockDim.x) {\n"
			"		%s\n	}\n}\n"
			"extern \"C\" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)\n"
			"{ work%d<<<%d, %d, 0, stream>>>(x, y, N); }\n", i, body, i, 132 * (1 + i % 8), 64 << i % 4);
		candidate[i].source = buf_detach(&text);
		candidate[i].bad = is_bad;
	}
	candidates = count;
}

/* Statuses and the bits of the outputs; times are no part of a verdict. */
static char *
verdict_of(const json_t *list)
{
	struct buf text = BUF_INIT;
	const json_t *e;
	size_t i;

	json_array_foreach(list, i, e) {
		buf_addf(&text, "%s %s", rec_json_string(e, "workload", "-"), rec_json_string(e, "status", ""));
		if (json_object_get(e, "outputs"))
			rec_json_canonical(json_object_get(e, "outputs"), &text);
		buf_adds(&text, "; ");
	}
	return buf_detach(&text);
}

static void *
evaluate_some(void *none)
{
	for (;;) {
		struct eval_summary summary;
		struct buf err = BUF_INIT;
		json_t *list;

		pthread_mutex_lock(&mutex);
		while (run_number == 1 && next_candidate < candidates && candidate[next_candidate].bad)
			next_candidate++;
		int i = next_candidate < candidates ? next_candidate++ : -1;
		pthread_mutex_unlock(&mutex);
		if (i < 0)
			return none;
		if (eval_solution(engine, task, candidate[i].source, EVAL_ALL, &list, &summary, &err)) {
			candidate[i].verdict[run_number] = xstrdup(buf_str(&err));
			warn("candidate %d: %s", i, buf_str(&err));
		} else {
			candidate[i].verdict[run_number] = verdict_of(list);
			json_decref(list);
		}
		buf_release(&err);
	}
}

static void
run_all(int number, int threads, const char *folder)
{
	struct buf store = BUF_INIT;
	pthread_t thread[64];
	struct timespec a, b;
	struct gpu_counts counts;

	buf_addf(&store, "%s/store%d", folder, number);
	run_number = number;
	next_candidate = 0;
	engine = test_engine(buf_str(&store));
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (int i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, evaluate_some, NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	clock_gettime(CLOCK_MONOTONIC, &b);
	double seconds = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
	gpu_pool_counts(eval_gpus(engine), &counts);
	printf("run %s: %.1f s; the GPU had a command for %.1f s of it (%.0f%%), a timing one for %.1f s; contexts took %.1f s to "
		"make, one after the other; %d threads waited %.1f s for a worker and %.1f s for their turn; %llu workers, "
		"%llu commands, %llu killed, %llu probes, %llu of them failed, %llu GPUs retired\n",
		number ? "without the bad ones" : "with the bad ones",
		seconds, counts.command_seconds, 100 * counts.command_seconds / seconds, counts.alone_seconds, counts.start_seconds,
		threads, counts.worker_wait_seconds, counts.turn_wait_seconds, (unsigned long long)counts.workers,
		(unsigned long long)counts.commands, (unsigned long long)counts.kills, (unsigned long long)counts.probes,
		(unsigned long long)counts.failed_probes, (unsigned long long)counts.retired);
	fflush(stdout);
	eval_close(engine);
	buf_release(&store);
}

int
main(int argc, char **argv)
{
	struct buf err = BUF_INIT;
	char *folder = io_temp_dir("km-batch", &err);
	uint64_t count = 200, bad = 20, threads = 8;
	int different = 0, others = 0, bad_passed = 0;

	die_program = "batch";
	if ((argc > 1 && num_u64(argv[1], 10, MAX_CANDIDATES, &count)) || (argc > 2 && num_u64(argv[2], 0, count, &bad)) ||
	    (argc > 3 && num_u64(argv[3], 1, 64, &threads)))
		die(EX_USAGE, "usage: batch [CANDIDATES [BAD [THREADS [timed|checked]]]]");
	if (getenv("KM_SANDBOX") && sandbox_option(getenv("KM_SANDBOX"), &err))
		die(EX_USAGE, "%s", buf_str(&err));
	task = test_task(argc > 4 && !strcmp(argv[4], "timed") ? BENCH_ELEMENTS : 0);
	make_candidates((int)count, (int)bad);
	run_all(0, (int)threads, folder);
	run_all(1, (int)threads, folder);
	for (int i = 0; i < candidates; i++) {
		if (candidate[i].bad) {
			bad_passed += strstr(candidate[i].verdict[0], "RUNTIME_ERROR") == NULL &&
				strstr(candidate[i].verdict[0], "TIMEOUT") == NULL;
			continue;
		}
		others++;
		if (strcmp(candidate[i].verdict[0], candidate[i].verdict[1])) {
			printf("candidate %d: with: %s without: %s\n", i, candidate[i].verdict[0], candidate[i].verdict[1]);
			different++;
		}
	}
	printf("%d candidates, %d bad of which %d without RUNTIME_ERROR or TIMEOUT; of the %d others %d got another verdict\n",
		candidates, candidates - others, bad_passed, others, different);
	task_free(task);
	io_remove_tree(folder, NULL);
	free(folder);
	return different || bad_passed;
}
