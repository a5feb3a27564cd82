/* km-inspect FILE.ptx...: for each kernel of each file whether the PTX machine can decode it, with all it calls,
 * or the sentence that says why not. km-inspect --list: the instruction table, one row a line. */
#include "base/die.h"
#include "base/footer.h"
#include "base/io.h"
#include "base/opt.h"
#include "ptx/ptx.h"

enum { MAX_PTX_BYTES = 64 << 20 };

static bool list;
static const struct opt options[] = {
	{ .name = "list", .kind = OPT_FLAG, .value = &list, .help = "print the instruction table" },
	{ .name = NULL },
};

static void
inspect(const char *path, struct buf *out)
{
	struct buf text = BUF_INIT, err = BUF_INIT;
	struct ptx_module *module = NULL;
	if (buf_read_file(&text, path, MAX_PTX_BYTES, &err))
		die(EX_NOINPUT, "%s", buf_str(&err));
	module = ptx_parse(text.data, text.len, &err);
	if (!module)
		buf_addf(out, "%s\t-\t%s\n", path, buf_str(&err));
	for (size_t k = 0; module && k < ptx_kernel_count(module); k++) {
		const char *kernel = ptx_kernel_at(module, k)->name;
		buf_reset(&err);
		buf_addf(out, "%s\t%s\t%s\n", path, kernel, ptx_kernel_check(module, kernel, &err) ? buf_str(&err) : "decoded");
	}
	ptx_module_free(module);
	buf_release(&text);
	buf_release(&err);
}

int
main(int argc, char **argv)
{
	static const struct opt_program program = {
		.name = "km-inspect", .operands = "[FILE.ptx...]", .summary = "say which kernels the PTX machine can run",
		.example = "km-inspect kernels.ptx", .tables = { options },
	};
	struct buf text = BUF_INIT, err = BUF_INIT;
	footer_start(argc, argv);
	int first = opt_parse(&program, argc, argv);
	if (list)
		ptx_list_instructions(&text);
	for (int k = first; k < argc; k++)
		inspect(argv[k], &text);
	struct io_out *out = io_open_out("-", &err);
	if (!out)
		die(EX_CANTCREAT, "%s", buf_str(&err));
	io_write(out, text.data, text.len);
	if (io_commit(out, &err))
		die(EX_IOERR, "%s", buf_str(&err));
	buf_release(&text);
	buf_release(&err);
	return 0;
}
