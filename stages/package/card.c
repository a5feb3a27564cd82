/* Summaries and counts come in, the dataset card goes out. Every number in it is counted from the rows of
 * this release; where something was not done, it says so. */
#include "card.h"

#include <ctype.h>

#include "base/die.h"
#include "rec/json.h"
#include "rec/schema.h"
#include "rows.h"

static const char *const splits[] = { "train", "validation", "test" };
enum { SPLITS = 3 };

static json_int_t
count_of(const struct card *c, const char *group, const char *key)
{
	return rec_json_integer(json_object_get(c->totals, group), key, 0);
}

static json_int_t
sum_of(const struct card *c, const char *group)
{
	json_int_t sum = 0;
	const char *key;
	json_t *n;

	json_object_foreach(json_object_get(c->totals, group), key, n)
		sum += json_integer_value(n);
	return sum;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Keys of a group in alphabetical order; *count of them, returned owned. */
static const char **
sorted_keys(const json_t *group, size_t *count)
{
	const char **keys = xcalloc(json_object_size(group) + 1, sizeof *keys), *key;
	json_t *ignored;

	*count = 0;
	json_object_foreach((json_t *)group, key, ignored)
		keys[(*count)++] = key;
	qsort(keys, *count, sizeof *keys, by_name);
	return keys;
}

static json_int_t
config_rows(const struct card *c, const char *config)
{
	json_int_t rows = 0;

	for (int s = 0; s < SPLITS; s++)
		rows += rec_json_integer(json_object_get(c->rows, config), splits[s], 0);
	return rows;
}

/* ---- front matter */

static const char *
size_category(json_int_t rows)
{
	static const struct {
		json_int_t below;
		const char *name;
	} sizes[] = { { 1000, "n<1K" }, { 10000, "1K<n<10K" }, { 100000, "10K<n<100K" }, { 1000000,
		"100K<n<1M" } };

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		if (rows < sizes[i].below)
			return sizes[i].name;
	return "1M<n<10M";
}

static void
add_licenses(const struct card *c, struct buf *out)
{
	const json_t *license;
	size_t i;

	buf_adds(out, "license:\n");
	json_array_foreach(c->licenses, i, license) {
		buf_adds(out, "- ");
		for (const char *p = json_string_value(license); *p; p++)
			buf_addc(out, (char)tolower((unsigned char)*p));
		buf_addc(out, '\n');
	}
}

static void
add_configs(const struct card *c, struct buf *out)
{
	buf_adds(out, "configs:\n");
	for (int i = 0; i < ROWS_CONFIGS; i++) {
		if (!config_rows(c, rows_configs[i].name))
			continue;
		buf_addf(out, "- config_name: %s\n%s  data_files:\n", rows_configs[i].name, i == 0 ?
			"  default: true\n" : "");
		for (int s = 0; s < SPLITS; s++)
			if (rec_json_integer(json_object_get(c->rows, rows_configs[i].name), splits[s], 0))
				buf_addf(out, "  - split: %s\n    path: %s/%s-*.jsonl.zst\n", splits[s],
					rows_configs[i].name, splits[s]);
	}
}

/* Types of all columns: read off the rows they would differ where a split has nulls only. */
static void
add_features(const struct card *c, struct buf *out)
{
	buf_adds(out, "dataset_info:\n");
	for (int i = 0; i < ROWS_CONFIGS; i++) {
		if (!config_rows(c, rows_configs[i].name))
			continue;
		buf_addf(out, "- config_name: %s\n  features:\n", rows_configs[i].name);
		if (rec_schema_features(rows_configs[i].name, 2, out) < 0)
			die(EX_SOFTWARE, "the columns of %s are not fixed", rows_configs[i].name);
	}
}

static void
add_front_matter(const struct card *c, struct buf *out)
{
	json_int_t most = 0;

	for (int i = 0; i < ROWS_CONFIGS; i++)
		if (config_rows(c, rows_configs[i].name) > most)
			most = config_rows(c, rows_configs[i].name);
	buf_adds(out, "---\n");
	add_licenses(c, out);
	buf_addf(out,
		"pretty_name: KernelMosaic\nlanguage:\n- en\ntask_categories:\n- text-generation\ntags:\n- "
		"cuda\n- code\n"
		"- gpu-kernels\n- tool-use\n- agent\nsize_categories:\n- %s\n", size_category(most));
	add_configs(c, out);
	add_features(c, out);
	buf_adds(out, "---\n\n");
}

/* ---- text */

static void
add_introduction(const struct card *c, struct buf *out)
{
	buf_addf(out, "# KernelMosaic\n\n"
		"CUDA kernel tasks, solutions that were run and judged, and the conversations that led to "
		"them. "
		"%lld tasks over %zu operation families; %lld solutions, %lld of which passed a final verdict "
		"on held-out "
		"workloads; %lld conversations to train on.\n\n", (long long)json_array_size(c->summaries),
		json_object_size(json_object_get(c->totals, "tasks")), (long long)sum_of(c, "solutions"),
		(long long)sum_of(c, "solutions_resolved"), (long long)config_rows(c, "sft_trajectories"));
}

static void
add_config_table(const struct card *c, struct buf *out)
{
	static const char *const about[] = {
		"what to compute, in the forms that a model is shown, with tensors, workloads and the oracle",
		"every source that was tried, with all its evaluations",
		"one row for each branch, from first attempt to last optimisation; per-message `train`",
		"the same tasks answered at once: the ablation pair of the trajectories",
	};

	buf_adds(out,
		"## Configs\n\n| config | train | validation | test | what |\n| --- | ---: | ---: | ---: | "
		"--- |\n");
	for (int i = 0; i < ROWS_CONFIGS; i++) {
		buf_addf(out, "| `%s` |", rows_configs[i].name);
		for (int s = 0; s < SPLITS; s++)
			buf_addf(out, " %lld |", (long long)rec_json_integer(json_object_get(c->rows,
				rows_configs[i].name), splits[s], 0));
		buf_addf(out, " %s |\n", about[i]);
	}
	buf_adds(out,
		"\nThe split is a hash of the task's id, so all rows of a task lie in one split of every "
		"config. "
		"A split without rows has no file.\n\n"
		"```python\nfrom datasets import load_dataset    # pip install datasets zstandard\n"
		"rows = load_dataset(\"path/to/this/folder\", \"sft_trajectories\", split=\"train\")\n"
		"rows = rows.filter(lambda row: row[\"resolved\"])\n```\n\n"
		"`messages` are OpenAI chat messages; the arguments of tool calls are objects, and `tools` is "
		"a list of "
		"function definitions, so that a chat template takes both as they are. Columns are described "
		"in the "
		"`schemas/` folder of the toolkit.\n\n");
}

static void
add_train_rule(struct buf *out)
{
	buf_adds(out, "### What `train` means\n\n"
		"`train` is true for an assistant message whose tool calls all came back as PASSED. It is "
		"false for every other "
		"role, and for an assistant message that called no tool, that carries a staged fault, whose "
		"source failed or was "
		"UNSUPPORTED, that made the cost worse than that of the solution its branch set out from, whose "
		"source did one of "
		"these in another turn of the row (a compile passes that a later test does not), or whose source "
		"failed the final verdict. Such messages stay in the row as context for "
		"what follows. Rows of "
		"one task share their opening messages.\n\n"
		"`resolved` is true when the branch's last solution has final evaluations and none of its "
		"evaluations did anything "
		"but pass. `final_status` is null for branches whose solution was not put to the final "
		"verdict.\n\n");
}

static void
add_method(const struct card *c, struct buf *out)
{
	json_int_t sampled = count_of(c, "trajectories", "sampled");

	buf_adds(out, "## How it was made\n\n"
		"Raw specs were read and their forms run against each other (ingest), repeated tasks dropped "
		"(dedupe), a spread "
		"subset ranked (diversify), and decisions on them looked up (review). A policy then wrote a "
		"first implementation "
		"(solve), mended what failed (repair), and searched over correct kernels for lower cost "
		"(optimize), each time "
		"through tools that compile and run. At the end one solution of each task, the cheapest that "
		"a conversation handed "
		"in, was run on all check workloads including the held-out one (verify). If it failed there, "
		"it was not replaced "
		"by the next best.\n\n");
	buf_adds(out,
		"Kernels were compiled by nvcc to PTX and run on an interpreter of PTX, which checks every "
		"access to "
		"memory and compares every output element with the task's oracle in double precision. Host "
		"code ran in a sandbox, "
		"against a stand-in for the CUDA runtime that records launches.\n\n");
	if (sampled)
		buf_addf(out,
			"%lld of %lld conversations were sampled from a model, the others are authored: "
			"written for this "
			"project against the tools' real answers. `origin` tells them apart in every "
			"row.\n\n", (long long)sampled,
			(long long)sum_of(c, "trajectories"));
	else
		buf_adds(out,
			"All conversations are authored: the assistant's messages were written for this "
			"project against the "
			"tools' real answers, and replayed. No model was sampled, so there are no token "
			"counts and no prices. All tool "
			"results come from running the tools.\n\n");
}

/* Times, and how far they go. */
static void
add_timed(const struct card *c, struct buf *out)
{
	size_t count;
	const char **keys = sorted_keys(json_object_get(c->totals, "timed"), &count);

	buf_addf(out, "- %lld evaluations of `bench` workloads were timed, on", (long long)sum_of(c, "timed"));
	for (size_t i = 0; i < count; i++)
		buf_addf(out, "%s %s (%lld)", i ? "," : "", keys[i], (long long)count_of(c, "timed", keys[i]));
	buf_adds(out, ". Times of different GPUs do not compare. PyTorch's are medians of its own launches, not paired with "
		"the solution's.\n");
	free(keys);
}

static void
add_limits(const struct card *c, struct buf *out)
{
	json_int_t people = count_of(c, "decided", "person");

	buf_adds(out, "## Limits\n\n");
	if (sum_of(c, "timed"))
		add_timed(c, out);
	else
		buf_adds(out, "- No time was measured on a GPU. `bench` workloads are stated and were not run.\n");
	buf_adds(out, "- `cost` is a weighted sum of counted instructions and memory "
		"sectors on one "
		"profile workload. It is neither a time nor an estimate of one, and a lower cost need not "
		"mean a faster kernel.\n"
		"- A kernel that passed has passed on the workloads listed with it, on the PTX interpreter. "
		"Races between warps are "
		"not proof of failure there, and features of recent GPUs that it does not know are "
		"UNSUPPORTED.\n");
	if (count_of(c, "staged_faults", "authored"))
		buf_addf(out,
			"- %lld turns carry a fault that was put in on purpose (`staged_error` says which), "
			"so the rates of "
			"failure and repair below are not those of any model.\n", (long long)count_of(c,
				"staged_faults", "authored"));
	buf_addf(out,
		"- A person decided on %lld of %lld tasks, one by one, in review; %lld were released "
		"unreviewed.\n",
		(long long)people, (long long)json_array_size(c->summaries), (long long)count_of(c, "review",
		"unreviewed"));
	if (count_of(c, "benchmark_check", "not_run"))
		buf_addf(out,
			"- Nearness to benchmarks was not examined for %lld of %lld tasks "
			"(`curation.benchmark_check` is "
			"`not_run`).\n", (long long)count_of(c, "benchmark_check", "not_run"),
				(long long)json_array_size(c->summaries));
	buf_adds(out, "- Tasks of one operation family may lie in different splits.\n\n");
}

/* ---- tables */

static void
add_stage_table(const struct card *c, struct buf *out)
{
	const json_t *stage;
	size_t i;

	if (!json_array_size(c->stages))
		return;
	buf_adds(out,
		"### From specs to tasks\n\n| stage | in | out | dropped | refused |\n| --- | ---: | ---: | "
		"--- | --- |\n");
	json_array_foreach(c->stages, i, stage) {
		static const char *const groups[] = { "dropped", "rejected" };

		buf_addf(out, "| %s | %lld | %lld |", rec_json_string(stage, "stage", ""),
			(long long)rec_json_integer(stage, "in", 0), (long long)rec_json_integer(stage, "out",
			0));
		for (int g = 0; g < 2; g++) {
			const json_t *group = json_object_get(stage, groups[g]);
			size_t count;
			const char **keys = sorted_keys(group, &count);

			for (size_t k = 0; k < count; k++)
				buf_addf(out, "%s %s %lld", k ? "," : "", keys[k],
					(long long)rec_json_integer(group, keys[k], 0));
			buf_adds(out, count ? " |" : " 0 |");
			free(keys);
		}
		buf_addc(out, '\n');
	}
	buf_addc(out, '\n');
}

static void
add_origin_table(const struct card *c, struct buf *out)
{
	static const struct {
		const char *group, *words;
	} lines[] = {
		{ "solutions", "solutions" }, { "solutions_passed",
			"of them correct on the workloads that the agent saw" },
		{ "solutions_resolved", "of them passed the final verdict" }, { "trajectories",
		"conversations" },
		{ "trajectories_stale", "of them stale, and left out of the rows to train on" }, { "turns",
		"turns" },
		{ "staged_faults", "turns with a staged fault" },
	};

	buf_adds(out, "### By origin\n\n| | authored | sampled |\n| --- | ---: | ---: |\n");
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		buf_addf(out, "| %s | %lld | %lld |\n", lines[i].words, (long long)count_of(c, lines[i].group,
			"authored"),
			(long long)count_of(c, lines[i].group, "sampled"));
	buf_addf(out, "\n%lld evaluations, %lld of them final. Targets:", (long long)sum_of(c, "evaluations"),
		(long long)count_of(c, "evaluations", "final"));
	for (size_t count, k = 0, once = 1; once; once = 0) {
		const char **keys = sorted_keys(json_object_get(c->totals, "targets"), &count);

		for (k = 0; k < count; k++)
			buf_addf(out, "%s `%s`", k ? "," : "", keys[k]);
		free(keys);
	}
	buf_adds(out, ".\n\n");
}

/* One line for each key of `group`, with a second count beside it. */
static void
add_pair_table(const struct card *c, const char *head, const char *group, const char *second, struct buf *out)
{
	size_t count;
	const char **keys = sorted_keys(json_object_get(c->totals, group), &count);

	buf_addf(out, "%s\n| --- | ---: | ---: |\n", head);
	for (size_t i = 0; i < count; i++)
		buf_addf(out, "| %s | %lld | %lld |\n", keys[i], (long long)count_of(c, group, keys[i]),
			(long long)count_of(c, second, keys[i]));
	if (!count)
		buf_adds(out, "| none | 0 | 0 |\n");
	buf_addc(out, '\n');
	free(keys);
}

static void
add_count_table(const struct card *c, const char *head, const char *group, struct buf *out)
{
	size_t count;
	const char **keys = sorted_keys(json_object_get(c->totals, group), &count);

	buf_addf(out, "%s\n| --- | ---: |\n", head);
	for (size_t i = 0; i < count; i++)
		buf_addf(out, "| %s | %lld |\n", keys[i], (long long)count_of(c, group, keys[i]));
	if (!count)
		buf_adds(out, "| none | 0 |\n");
	buf_addc(out, '\n');
	free(keys);
}

static void
add_statistics(const struct card *c, struct buf *out)
{
	buf_adds(out, "## Statistics\n\n");
	add_stage_table(c, out);
	add_origin_table(c, out);
	buf_adds(out, "### Tasks\n\n");
	add_pair_table(c, "| family | tasks | resolved |", "tasks", "resolved", out);
	add_pair_table(c, "| forms shown | tasks | resolved |", "forms", "resolved_forms", out);
	buf_adds(out, "E: English, C: reference program in C or PyTorch, M: math spec.\n\n");
	add_pair_table(c, "| dtype of the first output | tasks | resolved |", "dtype", "resolved_dtype", out);
	if (sum_of(c, "pytorch"))
		add_pair_table(c, "| PyTorch | final solutions timed beside it | faster than it |", "pytorch", "faster_than_pytorch",
			out);
	buf_adds(out, "### First attempts that were handed in with a fault\n\n");
	add_pair_table(c, "| fault | handed in | repaired |", "faults", "repaired", out);
	buf_adds(out, "### What came back, over all turns\n\n");
	add_count_table(c, "| status | turns |", "turn_status", out);
	buf_adds(out, "### Branches of the search, by cost against the solution that they set out from\n\n");
	add_count_table(c, "| outcome | branches |", "branches", out);
}

static void
add_task_table(const struct card *c, struct buf *out)
{
	const json_t *s;
	size_t i;

	buf_adds(out,
		"## All tasks\n\n`repaired` is stale where the recorded repair answers another verdict than "
		"the one that "
		"came; stale branches are not counted. `branches` counts better, equal, worse and failed ones "
		"by cost; `cost` is "
		"that of the final solution over that of the first correct one.\n\n"
		"| task | family | dtype | forms | split | review | first attempt | repaired | branches | "
		"cost | final verdict |\n"
		"| --- | --- | --- | --- | --- | --- | --- | --- | --- | ---: | --- |\n");
	json_array_foreach(c->summaries, i, s) {
		double ratio = rec_json_number(s, "cost_ratio", 0);

		buf_addf(out, "| %s | %s | %s | %s | %s | %s | %s | %s |", rec_json_string(s, "name", ""),
			rec_json_string(s, "op_type", ""), rec_json_string(s, "dtype", ""), rec_json_string(s,
			"forms", ""),
			rec_json_string(s, "split", ""), rec_json_string(s, "review", ""), rec_json_string(s,
			"first", "none"),
			rec_json_string(s, "repair", ""));
		buf_addf(out, " %lld/%lld/%lld/%lld |", (long long)rec_json_integer(s, "better", 0),
			(long long)rec_json_integer(s, "equal", 0), (long long)rec_json_integer(s, "worse", 0),
			(long long)rec_json_integer(s, "failed", 0));
		if (ratio > 0)
			buf_addf(out, " %.3f |", ratio);
		else
			buf_adds(out, " |");
		buf_addf(out, " %s |\n", rec_json_string(s, "final", ""));
	}
	buf_addc(out, '\n');
}

void
card_write(const struct card *card, struct buf *out)
{
	add_front_matter(card, out);
	add_introduction(card, out);
	add_config_table(card, out);
	add_train_rule(out);
	add_method(card, out);
	add_limits(card, out);
	add_statistics(card, out);
	add_task_table(card, out);
	buf_adds(out,
		"## Licences\n\nPrompts, specs and conversations: the licence in each row, CC-BY-4.0 for our "
		"own. Code and "
		"kernels: Apache-2.0.\n\n`MANIFEST.json` lists every file with its hash; `BUILD.json` says "
		"with what it was "
		"made.\n");
}
