/* km-check: reads cases, checks every section against the record table, and writes them on unchanged.
 * The plainest filter there is: what it shows of rejects, counts, shards and exits holds for all of them. */
#include "base/footer.h"
#include "rec/filter.h"

static const char *const sections[] = {
	"task", "curation", "review", "solutions", "evaluations", "trajectories"
};

static enum filter_verdict
check(void *context, const struct rec_case *in, struct buf *out, struct filter_reason *reason)
{
	(void)context;
	for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
		size_t length;
		json_t *value;

		if (i > 0 && !rec_case_raw(in, sections[i], &length))
			continue;
		value = rec_case_section(in, sections[i], &reason->message);
		if (!value) {
			reason->code = "bad_record";
			return FILTER_REJECT;
		}
		json_decref(value);
	}
	buf_add(out, in->line, in->length);
	return FILTER_PASS;
}

int
main(int argc, char **argv)
{
	static const struct opt_program program = {
		.name = "km-check", .operands = "[FILE...]", .summary = "check cases against the record table",
		.example = "km-check --rejects bad.jsonl cases.jsonl >good.jsonl", .tables = { filter_options },
	};
	static const struct filter filter = { .stage = "check", .transform = check };
	int first;

	footer_start(argc, argv);
	first = opt_parse(&program, argc, argv);
	return filter_run(&filter, argc - first, argv + first);
}
