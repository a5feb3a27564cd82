/* km-review: the human queue. Cases go into a queue, a person decides on the terminal, decisions come out as
 * a file, and by that file cases are let through, dropped or held back. This file holds the command line. */
#include "base/die.h"
#include "base/footer.h"
#include "base/opt.h"
#include "commands.h"
#include "rec/filter.h"
#include "zst/zst.h"

struct review_args review_args = { .queue = "out/store/review.sqlite" };

static const struct opt review_options[] = {
	{ 0, "queue", OPT_STRING, &review_args.queue, "FILE",
		"the review queue, out/store/review.sqlite when not given; for import, tui, decide and export", 0, 0 },
	{ 0, "decisions", OPT_STRING, &review_args.decisions, "FILE",
		"the decisions that the filter applies, or that import takes into the queue", 0, 0 },
	{ 0, "default", OPT_STRING, &review_args.otherwise, "hold|unreviewed",
		"what the filter does with tasks that nobody decided: hold them back, as when not given, or pass them marked", 0, 0 },
	{ 0, "replace", OPT_FLAG, &review_args.replace, NULL,
		"import: take tasks off the list that are not among these cases; their decisions stay", 0, 0 },
	{ 0, "task", OPT_STRING, &review_args.task, "NAME", "decide: about this task", 0, 0 },
	{ 0, "all", OPT_FLAG, &review_args.all, NULL, "decide: about every task that is not decided", 0, 0 },
	{ 0, "accept", OPT_FLAG, &review_args.accept, NULL, "decide: let it through", 0, 0 },
	{ 0, "reject", OPT_FLAG, &review_args.reject, NULL, "decide: drop it; needs a reason", 0, 0 },
	{ 0, "skip", OPT_FLAG, &review_args.skip, NULL, "decide: put it off; it stays undecided", 0, 0 },
	{ 0, "undo", OPT_FLAG, &review_args.undo, NULL, "decide: take back the actor's last decision of this mode", 0, 0 },
	{ 0, "reason", OPT_STRING, &review_args.reason, "TEXT", "decide: why, in one line", 0, 0 },
	{ 0, "actor", OPT_STRING, &review_args.actor, "NAME", "who decides; the user's name when not given", 0, 0 },
	{ 0, "actor-kind", OPT_STRING, &review_args.actor_kind, "person|program",
		"decide: what the actor is; a person when not given", 0, 0 },
	{ 0, "mode", OPT_STRING, &review_args.mode, "bulk|imported",
		"decide: how the decision came about; bulk when not given", 0, 0 },
	{ 0, "log", OPT_FLAG, &review_args.log, NULL, "export: every decision ever made, with retractions", 0, 0 },
	{ .name = NULL }
};

static const struct opt_program program = {
	.name = "km-review",
	.operands = "[import|tui|decide|export] [FILE...]",
	.summary = "put cases before a reviewer, and let through what was accepted",
	.example = "km-review --decisions seeds/review/decisions.jsonl -o reviewed.jsonl curated.jsonl",
	.tables = { review_options, filter_options, NULL },
};

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "import", review_import },
	{ "tui", review_tui },
	{ "decide", review_decide },
	{ "export", review_export },
	{ NULL, review_filter },	/* no word at all */
};

/* ---- which option belongs where: one that would be ignored is an error */

enum { FILTER = 1, IMPORT = 2, TUI = 4, DECIDE = 8, EXPORT = 16 };

static const struct {
	const char *name;
	const void *value;	/* const char ** or bool * */
	bool is_flag;
	unsigned commands;
} belongs[] = {
	{ "--decisions", &review_args.decisions, false, FILTER | IMPORT },
	{ "--default", &review_args.otherwise, false, FILTER },
	{ "--replace", &review_args.replace, true, IMPORT },
	{ "--task", &review_args.task, false, DECIDE },
	{ "--all", &review_args.all, true, DECIDE },
	{ "--accept", &review_args.accept, true, DECIDE },
	{ "--reject", &review_args.reject, true, DECIDE },
	{ "--skip", &review_args.skip, true, DECIDE },
	{ "--undo", &review_args.undo, true, DECIDE },
	{ "--reason", &review_args.reason, false, DECIDE },
	{ "--actor", &review_args.actor, false, DECIDE | TUI },
	{ "--actor-kind", &review_args.actor_kind, false, DECIDE },
	{ "--mode", &review_args.mode, false, DECIDE },
	{ "--log", &review_args.log, true, EXPORT },
	{ "--rejects", &filter_args.rejects, false, FILTER | IMPORT },
	{ "--stats", &filter_args.stats, false, FILTER | IMPORT },
	{ "--max-rejects", &filter_args.max_rejects, false, FILTER | IMPORT },
	{ "--shard", &filter_args.shard, false, FILTER },
};

static void
check_options(const struct command *command)
{
	static const unsigned masks[] = { IMPORT, TUI, DECIDE, EXPORT, FILTER };
	unsigned mask = masks[command - commands];

	for (size_t i = 0; i < sizeof belongs / sizeof *belongs; i++) {
		bool given = belongs[i].is_flag ? *(const bool *)belongs[i].value :
			*(const char *const *)belongs[i].value != NULL;

		if (given && !(belongs[i].commands & mask))
			die(EX_USAGE, "%s has no meaning %s%s; see %s -h", belongs[i].name, command->name ? "for " : "without a ",
				command->name ? command->name : "subcommand, which comes first", program.name);
	}
	if (strcmp(filter_args.output, "-") && !(mask & (FILTER | EXPORT)))
		die(EX_USAGE, "%s writes no cases, so --output has no meaning", command->name);
}

int
main(int argc, char **argv)
{
	const struct command *command = commands;
	int first;

	footer_start(argc, argv);
	zst_register();
	while (command->name && (argc < 2 || strcmp(command->name, argv[1])))
		command++;
	if (command->name) {
		argc--;
		argv++;
	}
	first = opt_parse(&program, argc, argv);
	check_options(command);
	return command->run(argc - first, argv + first);
}
