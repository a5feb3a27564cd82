/* A task in, the text of a C program out. The program is ours and the reference is a stranger's: arrays lie
 * against unmapped pages, and the fault handler says which array was left and on which side. */
#include "eval/reference_driver.h"

static const char head[] =
	"#define _GNU_SOURCE\n"
	"#include <fcntl.h>\n#include <signal.h>\n#include <stdbool.h>\n#include <stdint.h>\n#include <stdio.h>\n"
	"#include <stdlib.h>\n#include <string.h>\n#include <sys/mman.h>\n#include <unistd.h>\n\n"
	"enum { PAGE = 4096, OUT_OF_BOUNDS = 97, CRASHED = 98, FAILED = 99 };\n"
	"struct array { const char *name; int output; size_t bytes, mapped; unsigned char *map, *data; };\n";

static const char body[] =
	"static void\nsay(const char *what, const char *name)\n{\n"
	"\tchar line[200];\n"
	"\tint length = snprintf(line, sizeof line, \"%s%s\\n\", what, name);\n"
	"\tif (write(2, line, (size_t)length) < 0)\n\t\t_exit(FAILED);\n}\n\n"
	"static void\nfault(int number, siginfo_t *info, void *context)\n{\n"
	"\tunsigned char *at = info->si_addr;\n\t(void)context;\n"
	"\tif (number == SIGSEGV || number == SIGBUS)\n"
	"\t\tfor (int i = 0; i < ARRAYS; i++) {\n"
	"\t\t\tstruct array *a = &array[i];\n"
	"\t\t\tif (at < a->map || at >= a->map + a->mapped + 2 * PAGE)\n\t\t\t\tcontinue;\n"
	"\t\t\tif (at >= a->map + PAGE + a->mapped)\n\t\t\t\tsay(\"it goes past the end of \", a->name);\n"
	"\t\t\telse if (at < a->map + PAGE)\n\t\t\t\tsay(\"it goes before the start of \", a->name);\n"
	"\t\t\telse\n\t\t\t\tsay(\"it writes to its input \", a->name);\n"
	"\t\t\t_exit(OUT_OF_BOUNDS);\n\t\t}\n"
	"\tsay(\"it crashed with \", strsignal(number));\n\t_exit(CRASHED);\n}\n\n"
	"static void\nplace(struct array *a, int in)\n{\n"
	"\ta->mapped = (a->bytes + PAGE - 1) / PAGE * PAGE;\n"
	"\ta->map = mmap(NULL, a->mapped + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);\n"
	"\tif (a->map == MAP_FAILED || (a->mapped && mprotect(a->map + PAGE, a->mapped, PROT_READ | PROT_WRITE)))\n"
	"\t\t_exit(FAILED);\n"
	"\ta->data = a->map + PAGE + a->mapped - a->bytes;\n"
	"\tmemset(a->map + PAGE, 0xa5, a->mapped - a->bytes);\n"
	"\tif (a->output) {\n\t\tmemset(a->data, 0xff, a->bytes);\n\t\treturn;\n\t}\n"
	"\tfor (size_t done = 0; done < a->bytes;) {\n"
	"\t\tssize_t got = read(in, a->data + done, a->bytes - done);\n"
	"\t\tif (got <= 0)\n\t\t\t_exit(FAILED);\n\t\tdone += (size_t)got;\n\t}\n"
	"\tif (a->mapped && mprotect(a->map + PAGE, a->mapped, PROT_READ))\n\t\t_exit(FAILED);\n}\n\n"
	"static void\nfinish(struct array *a, int out)\n{\n"
	"\tfor (unsigned char *p = a->map + PAGE; p < a->data; p++)\n"
	"\t\tif (*p != 0xa5) {\n\t\t\tsay(\"it goes before the start of \", a->name);\n\t\t\t_exit(OUT_OF_BOUNDS);\n\t\t}\n"
	"\tfor (size_t done = 0; a->output && done < a->bytes;) {\n"
	"\t\tssize_t put = write(out, a->data + done, a->bytes - done);\n"
	"\t\tif (put <= 0)\n\t\t\t_exit(FAILED);\n\t\tdone += (size_t)put;\n\t}\n}\n\n"
	"int\nmain(int argc, char **argv)\n{\n"
	"\tstatic const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };\n"
	"\tstack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };\n"
	"\tstruct sigaction action = { .sa_sigaction = fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };\n"
	"\tint in = open(argv[1], O_RDONLY);\n\n"
	"\tif (argc != 3 + ARRAYS + AXES || in < 0 || sigaltstack(&stack, NULL))\n\t\treturn FAILED;\n"
	"\tfor (int i = 0; i < 5; i++)\n\t\tsigaction(signals[i], &action, NULL);\n"
	"\tfor (int i = 0; i < ARRAYS; i++) {\n"
	"\t\tarray[i].bytes = strtoull(argv[3 + i], NULL, 10);\n\t\tplace(&array[i], in);\n\t}\n"
	"\tclose(in);\n"
	"\tcall(argv + 3 + ARRAYS);\n"
	"\tint out = open(argv[2], O_WRONLY | O_CREAT | O_EXCL, 0600);\n"
	"\tif (out < 0)\n\t\treturn FAILED;\n"
	"\tfor (int i = 0; i < ARRAYS; i++)\n\t\tfinish(&array[i], out);\n"
	"\t_exit(0);\n}\n";

enum dtype
reference_dtype(enum dtype dtype)
{
	return dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16 ? DTYPE_FLOAT32 : dtype;
}

static const struct task_tensor *
tensor_at(const struct task *t, int i)
{
	return i < t->inputs ? &t->input[i] : &t->output[i - t->inputs];
}

static bool
variable(const struct task_axis *axis)
{
	return !axis->constant && !axis->expression;
}

static void
prototype(const struct task *t, struct buf *out)
{
	const char *comma = "";

	buf_adds(out, "void reference(");
	for (int i = 0; i < t->inputs + t->outputs; i++, comma = ", ")
		buf_addf(out, "%s%s%s *", comma, i < t->inputs ? "const " : "",
			dtype_c_name(reference_dtype(tensor_at(t, i)->dtype)));
	for (int i = 0; i < t->axes; i++)
		if (variable(&t->axis[i]))
			buf_adds(out, ", int64_t");
	for (int i = 0; i < t->scalars; i++)
		buf_addf(out, ", %s", dtype_c_name(reference_dtype(t->scalar[i].dtype)));
	buf_adds(out, ");\n\n");
}

static void
call(const struct task *t, struct buf *out)
{
	int axes = 0;

	buf_adds(out, "static void\ncall(char **axis)\n{\n\t(void)axis;\n\treference(");
	for (int i = 0; i < t->inputs + t->outputs; i++)
		buf_addf(out, "%s(void *)array[%d].data", i ? ", " : "", i);
	for (int i = 0; i < t->axes; i++)
		if (variable(&t->axis[i]))
			buf_addf(out, ", strtoll(axis[%d], NULL, 10)", axes++);
	for (int i = 0; i < t->scalars; i++)
		buf_addf(out, ", (%s)%a", dtype_c_name(reference_dtype(t->scalar[i].dtype)),
			dtype_round(t->scalar[i].dtype, t->scalar[i].value));
	buf_adds(out, ");\n}\n\n");
}

void
reference_driver(const struct task *t, struct buf *out)
{
	int axes = 0;

	for (int i = 0; i < t->axes; i++)
		axes += variable(&t->axis[i]);
	buf_adds(out, head);
	buf_addf(out, "enum { ARRAYS = %d, AXES = %d };\n", t->inputs + t->outputs, axes);
	buf_adds(out, "static struct array array[ARRAYS] = {\n");
	for (int i = 0; i < t->inputs + t->outputs; i++)
		buf_addf(out, "\t{ .name = \"%s\", .output = %d },\n", tensor_at(t, i)->name, i >= t->inputs);
	buf_adds(out, "};\n");
	prototype(t, out);
	call(t, out);
	buf_adds(out, body);
}
