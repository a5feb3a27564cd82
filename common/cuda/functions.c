/* The list of runtime functions as a table and as a page of documentation.
 *
 * In: runtime/functions.h, from which the stand-in itself is made. Out: rows, and RUNTIME.md, which a test compares. */
#include <stdbool.h>
#include <stdlib.h>

#include "cuda/functions.h"

#define RECORDED(name) { #name, "recorded", "done", NULL },
#define ANSWERED(name) { #name, "answered", "answered", NULL },
#define ACCEPTED(name) { #name, "accepted", "accepted", NULL },
#define PROGRAM(name, reason) { #name, "refused", "done", reason },
#define REFUSED(name, reason) { #name, "refused", "refused", reason },
static struct cuda_function functions[] = {
#include "cuda/runtime/functions.h"
};

enum { MAX_LINE = 95 };

static int
compare_names(const void *a, const void *b)
{
	return strcmp(((const struct cuda_function *)a)->name, ((const struct cuda_function *)b)->name);
}

const struct cuda_function *
cuda_functions(size_t *count)
{
	*count = sizeof functions / sizeof *functions;
	qsort(functions, *count, sizeof *functions, compare_names);
	return functions;
}

/* Rows that are alike make one line. */
static void
write_names(struct buf *out, const struct cuda_function *f, size_t count, const char *in_solution, const char *reason)
{
	const char *before = "";
	size_t line = out->len;

	for (size_t i = 0; i < count; i++) {
		if (strcmp(f[i].in_solution, in_solution) != 0 ||
		    (reason ? strcmp(f[i].in_program, "refused") != 0 || strcmp(f[i].reason, reason) != 0 :
			!strcmp(f[i].in_program, "refused")))
			continue;
		if (!reason && f[i].reason)
			buf_addf(out, "- %s: %s\n", f[i].name, f[i].reason);
		else
			buf_addf(out, "%s%s", out->len - line > MAX_LINE ? (line = out->len, ",\n") : before, f[i].name);
		before = ", ";
	}
}

static void
write_refused(struct buf *out, const struct cuda_function *f, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		bool told = strcmp(f[i].in_program, "refused") != 0;

		for (size_t k = 0; k < i && !told; k++)
			told = !strcmp(f[k].in_program, "refused") && !strcmp(f[k].reason, f[i].reason);
		if (told)
			continue;
		buf_addf(out, "\n*%c%s.* ", f[i].reason[0] >= 'a' && f[i].reason[0] <= 'z' ? f[i].reason[0] - 'a' + 'A' :
			f[i].reason[0], f[i].reason + 1);
		write_names(out, f, count, "refused", f[i].reason);
		buf_adds(out, "\n");
	}
}

void
cuda_functions_write(struct buf *out)
{
	static const struct { const char *in_solution, *head; } parts[] = {
		{ "recorded", "In a solution part of its launch plan; in a whole program (km-run) done" },
		{ "answered", "Answered from the device code, the GPU profile, or what the program set before" },
		{ "accepted", "Accepted, without effect on any result" },
	};
	size_t count;
	const struct cuda_function *f = cuda_functions(&count);

	buf_addf(out, "# The CUDA runtime's functions, and what becomes of them here\n\nMade by `km-run --functions`; all %zu "
		"functions that `libcudart.so.13` of CUDA 13.0 exports.\nErrors are those that the runtime gives.\n", count);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		buf_addf(out, "\n## %s\n\n", parts[i].head);
		write_names(out, f, count, parts[i].in_solution, NULL);
		buf_adds(out, "\n");
	}
	buf_adds(out, "\nA copy from the device to the host is done in a whole program and refused in a solution: host code may "
		"not read device memory.\n\n## Done in a whole program, refused in a solution\n\n");
	write_names(out, f, count, "refused", NULL);
	buf_adds(out, "\n## Refused in both, by name\n");
	write_refused(out, f, count);
}
