/* km-verify: the final verdict. In: cases with solutions. Out: the same cases with evaluations of the best
 * solution on all check workloads, the held-out ones too, and on inputs nobody has seen. What fails here
 * is reported and not replaced by the next best: a verdict that chose its answer would be no verdict. */
#include <math.h>
#include <sys/random.h>

#include "agent/sections.h"
#include "base/die.h"
#include "base/footer.h"
#include "eval/eval.h"
#include "eval/evaluation.h"
#include "eval/torch_time.h"
#include "rec/filter.h"
#include "rec/json.h"
#include "replay.h"
#include "zst/zst.h"

enum { SOURCE_MAX_BYTES = 1 << 20 };

static bool verify_all, fresh;
static const char *replayed;	/* id of an evaluation */
static const char *source_path;
static struct buf source = BUF_INIT;	/* of source_path */
static uint64_t replays, differences;
static uint64_t verified, passed, failed, unsolved, run, stored;

static const struct opt verify_options[] = {
	{ 0, "all", OPT_FLAG, &verify_all, NULL,
		"give every solution that passed a final verdict, not only the best", 0, 0 },
	{ 0, "source", OPT_STRING, &source_path, "FILE.cu",
		"judge FILE.cu in place of the solutions in the cases, and print the verdict on standard error", 0, 0 },
	{ 0, "fresh", OPT_FLAG, &fresh, NULL,
		"draw new inputs at random, print the verdicts on standard error, and pass cases through unchanged", 0, 0 },
	{ 0, "schedule", OPT_U64, &eval_args.schedule, "SEED",
		"run blocks and warps of the PTX machine in another order, drawn from SEED, print the verdicts "
		"on standard error, and pass cases through unchanged", 1, INT64_MAX },
	{ 0, "replay", OPT_STRING, &replayed, "EVALUATION",
		"run the evaluation with this id once more, say what differs, and write the new one; give no verdicts", 0, 0 },
	{ 0, NULL, OPT_FLAG, NULL, NULL, NULL, 0, 0 },
};
static const struct filter_counter counters[] = { { "solutions_verified", &verified }, { "solutions_passed", &passed },
	{ "solutions_failed", &failed }, { "unsolved", &unsolved }, { "evaluations_run", &run },
	{ "evaluations_stored", &stored }, { NULL, NULL } };

struct verify {
	struct eval *eval;
	struct task *task;
	struct sections sections;
};

/* ---- which solutions */

/* The cost of a solution that passed before this stage, infinite when it was not profiled or never
 * evaluated, NAN when it failed. */
static double
cost_so_far(const struct verify *v, const json_t *solution)
{
	struct sections_verdict verdict = sections_verdict(&v->sections, rec_json_string(solution, "id", ""));

	if (verdict.status && strcmp(verdict.status, "PASSED") != 0)
		return NAN;
	return isnan(verdict.cost) ? INFINITY : verdict.cost;
}

/* Handed in by a conversation. Solutions that came without conversations all count. */
static bool
is_submitted(const struct verify *v, const json_t *solution)
{
	const char *id = rec_json_string(solution, "id", "");
	const json_t *trajectory;
	size_t i;

	json_array_foreach(v->sections.trajectories, i, trajectory)
		if (strcmp(rec_json_string(trajectory, "solution_id", ""), id) == 0)
			return true;
	return json_array_size(v->sections.trajectories) == 0;
}

/* Lowest cost; of equal ones the earliest. NULL: nothing passed. Borrowed. */
static const json_t *
best_solution(const struct verify *v)
{
	const json_t *best = NULL, *solution;
	double least = NAN;
	size_t i;

	json_array_foreach(v->sections.solutions, i, solution) {
		double cost = cost_so_far(v, solution);

		if (isnan(cost) || !is_submitted(v, solution) || (best && !(cost < least)))
			continue;
		best = solution;
		least = cost;
	}
	return best;
}

/* ---- the verdict */

static void
report(const struct verify *v, const json_t *solution, const struct eval_summary *summary, const json_t *evaluations)
{
	struct buf races = BUF_INIT;
	const char *workload = rec_json_string(summary->decisive, "workload", "");
	bool ok = strcmp(summary->status, "PASSED") == 0;

	__atomic_add_fetch(&verified, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(ok ? &passed : &failed, 1, __ATOMIC_RELAXED);
	const char *why = rec_json_string(summary->decisive, "reason", "");
	if (ok)
		evaluation_race_warnings(evaluations, &races);
	if (!ok)
		warn("%s: solution %s: %s%s%s in the final verdict%s%.*s", v->task->name, rec_json_string(solution, "id", ""),
			summary->status, *workload ? " on workload " : "", workload, *why ? ": " : "", (int)strcspn(why, "\n"), why);
	else if (fresh || eval_args.schedule || source_path || races.len)
		note("%s: solution %s: PASSED%s%s", v->task->name, rec_json_string(solution, "id", ""),
			fresh ? " on fresh inputs" : eval_args.schedule ? " under another schedule" : "", buf_str(&races));
	buf_release(&races);
}

/* The time that was measured, beside what PyTorch takes. */
static void
report_time(const struct verify *v, const json_t *solution, const struct eval_summary *summary)
{
	const json_t *timing = json_object_get(summary->decisive, "timing");
	struct buf others = BUF_INIT;

	torch_times_text(timing, &others);
	if (timing && !strcmp(summary->status, "PASSED"))
		note("%s: solution %s: %.6g us on workload %s%s", v->task->name, rec_json_string(solution, "id", ""),
			rec_json_number(timing, "median_us", NAN), rec_json_string(summary->decisive, "workload", ""), buf_str(&others));
	buf_release(&others);
}

/* Appends the evaluations, marked final. 0, or -1: ours. */
static int
give_verdict(struct verify *v, const json_t *solution, json_t *finals, struct buf *err)
{
	struct eval_summary summary;
	json_t *evaluations, *evaluation;
	size_t i;

	if (eval_solution(v->eval, v->task, rec_json_string(solution, "source", ""), EVAL_ALL, &evaluations, &summary,
			err) < 0)
		return -1;
	report(v, solution, &summary, evaluations);
	report_time(v, solution, &summary);
	json_array_foreach(evaluations, i, evaluation) {
		json_t *final = json_copy(evaluation);

		json_object_set_new(final, "final", json_true());
		json_array_append_new(finals, final);
	}
	json_decref(evaluations);
	return 0;
}

static int
give_verdicts(struct verify *v, json_t *finals, struct buf *err)
{
	const json_t *best = best_solution(v), *solution;
	size_t i;

	if (!best) {
		__atomic_add_fetch(&unsolved, 1, __ATOMIC_RELAXED);
		return 0;
	}
	if (give_verdict(v, best, finals, err) < 0)
		return -1;
	json_array_foreach(v->sections.solutions, i, solution)
		if (verify_all && solution != best && !isnan(cost_so_far(v, solution))
				&& give_verdict(v, solution, finals, err) < 0)
			return -1;
	return 0;
}

/* Earlier final verdicts give way to the new ones. */
static json_t *
without_finals(const json_t *evaluations)
{
	json_t *kept = json_array(), *e;
	size_t i;

	json_array_foreach(evaluations, i, e)
		if (!rec_json_boolean(e, "final", 0))
			json_array_append(kept, e);
	return kept;
}

static int
write_case(const struct verify *v, const json_t *finals, const struct rec_case *in, struct buf *out, struct buf *err)
{
	static const char *const names[] = { "evaluations", "solutions", "trajectories" };
	const struct sections *s = &v->sections;
	json_t *all = without_finals(s->evaluations);
	int status = 0;

	json_array_extend(all, (json_t *)finals);
	if (fresh || eval_args.schedule || (!s->changed && json_equal(all, s->evaluations)))
		buf_add(out, in->line, in->length);
	else	/* what did not change keeps its bytes */
		status = rec_case_splice(in, source_path ? 3 : s->changed ? 2 : 1, names,
			(json_t *const[]){ all, s->solutions, s->trajectories }, out, err);
	json_decref(all);
	return status;
}

/* ---- the filter */

/* The source from the command line in place of what the case has. 0, or -1 with a sentence. */
static int
take_source(struct verify *v, struct buf *err)
{
	json_t *solution = json_pack("{s:s, s:s, s:o, s:{s:s}}", "task_id", v->task->id, "phase", "solve", "source",
		rec_json_text(buf_str(&source), source.len), "origin", "kind", "authored");

	sections_release(&v->sections);
	v->sections = (struct sections){ json_pack("[o]", solution), json_array(), json_array(), true };
	return sections_settle_solution(solution, v->task->id, err) < 0 ? -1 : 0;
}

/* NULL, or the code of the refusal. */
static const char *
load(struct verify *v, const struct rec_case *in, struct buf *err)
{
	json_t *section = rec_case_section(in, "task", err);

	if (section)
		v->task = task_load_known(section, err);
	json_decref(section);
	if (!v->task)
		return "bad_task";
	if (source_path ? take_source(v, err) : sections_load(&v->sections, v->task->id, in, err))
		return "bad_sections";
	return NULL;
}

/* The evaluation asked for, run again: its new record is the output; cases without it are left out. */
static enum filter_verdict
replay(struct verify *v, struct buf *out, struct filter_reason *reason)
{
	const json_t *record = replay_find(v->sections.evaluations, replayed);
	const json_t *solution = record ? sections_solution(&v->sections, rec_json_string(record, "solution_id", "")) : NULL;
	json_t *evaluation = NULL;

	reason->code = "not_replayed";
	if (!record)
		return FILTER_DROP;
	if (!solution) {
		buf_err(&reason->message, "the solution of evaluation %s is not in its case", replayed);
		return FILTER_REJECT;
	}
	int status = eval_again(v->eval, v->task, rec_json_string(solution, "source", ""), record, &evaluation,
		&reason->message);
	if (status) {
		reason->code = status > 0 ? "cannot_replay" : "try_again";
		reason->exit_status = eval_failure(v->eval);
		return status > 0 ? FILTER_REJECT : FILTER_RETRY;
	}
	__atomic_add_fetch(&replays, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&differences, replay_compare(record, evaluation), __ATOMIC_RELAXED);
	rec_json_dump(evaluation, out);
	json_decref(evaluation);
	reason->code = NULL;
	return FILTER_PASS;
}

static enum filter_verdict
transform(void *context, const struct rec_case *in, struct buf *out, struct filter_reason *reason)
{
	struct verify v = { .eval = context };
	struct buf *err = &reason->message;
	json_t *finals = json_array();
	enum filter_verdict verdict = FILTER_REJECT;

	reason->code = load(&v, in, err);
	if (!reason->code && replayed) {
		verdict = replay(&v, out, reason);
	} else if (!reason->code && give_verdicts(&v, finals, err) < 0) {
		reason->code = "try_again";
		reason->exit_status = eval_failure(v.eval);
		verdict = FILTER_RETRY;
	} else if (!reason->code) {
		if (write_case(&v, finals, in, out, err) < 0)
			reason->code = "bad_result";
		else
			verdict = FILTER_PASS;
	}
	eval_counts(v.eval, &run, &stored);
	json_decref(finals);
	sections_release(&v.sections);
	task_free(v.task);
	return verdict;
}

static uint64_t
chosen_seed(void)
{
	uint64_t salt;

	if (!fresh)
		return filter_args.seed;
	if (getrandom(&salt, sizeof salt, 0) != sizeof salt)
		die(EX_OSERR, "no random numbers:");
	return salt;
}

int
main(int argc, char **argv)
{
	static const struct opt_program program = { "km-verify", "[FILE...]",
		"give the final verdict on solutions, with held-out workloads and unseen inputs",
		"km-verify -o verified.jsonl optimized.jsonl",
		{ verify_options, eval_option_table, filter_options }, false };
	struct filter filter = { .stage = "verify", .transform = transform, .default_max_rejects = UINT64_MAX,
		.counters = counters };
	struct buf err = BUF_INIT;
	struct eval *eval;
	int first, status = 0;

	footer_start(argc, argv);
	zst_register();
	first = opt_parse(&program, argc, argv);
	if (source_path && replayed)
		die(EX_USAGE, "--source and --replay: an evaluation is replayed with the solution in its case");
	if (source_path && buf_read_file(&source, source_path, SOURCE_MAX_BYTES, &err))
		die(EX_NOINPUT, "%s", buf_str(&err));
	eval = eval_open(chosen_seed(), &status, &err);
	if (!eval)
		die(status, "%s", buf_str(&err));
	filter.context = eval;
	if (replayed)
		filter.default_max_rejects = 0;
	status = filter_run(&filter, argc - first, argv + first);
	eval_close(eval);
	return status || !replayed ? status : replay_exit_status(replayed, replays, differences);
}
