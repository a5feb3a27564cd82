/* km-schema NAME: the JSON Schema of one record, from the table that the loader uses; without a name,
 * the list of names. schemas/NAME.json is its output, and a test compares the two. */
#include "base/die.h"
#include "base/footer.h"
#include "base/io.h"
#include "base/opt.h"
#include "rec/schema.h"

static const struct opt options[] = { { .name = NULL } };

int
main(int argc, char **argv)
{
	static const struct opt_program program = {
		.name = "km-schema", .operands = "[NAME]", .summary = "print the JSON Schema of a record",
		.example = "km-schema task >schemas/task.json", .tables = { options },
	};
	struct buf text = BUF_INIT, err = BUF_INIT;
	struct io_out *out;
	int first;

	footer_start(argc, argv);
	first = opt_parse(&program, argc, argv);
	if (argc - first > 1)
		die(EX_USAGE, "one name at most");
	if (first == argc)
		for (const char *const *name = rec_schema_names; *name; name++)
			buf_addf(&text, "%s\n", *name);
	else if (rec_schema_write(argv[first], &text) < 0)
		die(EX_USAGE, "there is no record \"%s\"", argv[first]);
	out = io_open_out("-", &err);
	if (!out)
		die(EX_CANTCREAT, "%s", buf_str(&err));
	io_write(out, text.data, text.len);
	if (io_commit(out, &err) < 0)
		die(EX_IOERR, "%s", buf_str(&err));
	buf_release(&text);
	buf_release(&err);
	return 0;
}
