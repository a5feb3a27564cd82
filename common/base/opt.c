/* Command lines from a table. In: argv. Out: values set, and the index of the first operand.
 * The same table prints -h and the OPTIONS section of the man page, so that the three agree. */
#include "base/opt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/die.h"
#include "base/num.h"

const char *const opt_version = KM_VERSION;

static const struct opt builtin[] = {
	{ 'v', "verbose", OPT_COUNT, NULL, NULL, "say more; may be repeated", 0, 0 },
	{ 'q', "quiet", OPT_FLAG, NULL, NULL, "say nothing but errors", 0, 0 },
	{ 'h', "help", OPT_FLAG, NULL, NULL, "show this help", 0, 0 },
	{ 0, "version", OPT_FLAG, NULL, NULL, "show the version", 0, 0 },
	{ 0, NULL, OPT_FLAG, NULL, NULL, NULL, 0, 0 },
};

typedef void visit(const struct opt *o);

static void
each(const struct opt_program *p, visit *f)
{
	for (int t = 0; t < 4 && p->tables[t]; t++)
		for (const struct opt *o = p->tables[t]; o->name; o++)
			f(o);
	for (const struct opt *o = builtin; o->name; o++)
		f(o);
}

static void
print_help(const struct opt *o)
{
	char left[64];

	snprintf(left, sizeof left, "%c%c%s --%s%s%s", o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
		o->letter ? "," : " ", o->name, o->argument ? " " : "", o->argument ? o->argument : "");
	printf("  %-28s %s\n", left, o->help);
}

static void
print_man(const struct opt *o)
{
	printf(".It ");
	if (o->letter)
		printf("Fl %c , ", o->letter);
	printf("Fl -%s", o->name);
	if (o->argument)
		printf(" Ar %s", o->argument);
	printf("\n%c%s.\n", o->help[0] >= 'a' && o->help[0] <= 'z' ? o->help[0] - 32 : o->help[0], o->help + 1);
}

static _Noreturn void
help(const struct opt_program *p)
{
	printf("usage: %s [OPTION...] %s\n%s.\n\nexample: %s\n\n", p->name, p->operands, p->summary, p->example);
	each(p, print_help);
	if (fflush(stdout) || ferror(stdout))
		die(EX_IOERR, "standard output:");
	exit(EX_OK);
}

static _Noreturn void
man_options(const struct opt_program *p)
{
	puts(".Bl -tag -width Ds");
	each(p, print_man);
	puts(".El");
	exit(EX_OK);
}

static const struct opt *
find(const struct opt_program *p, char letter, const char *name, size_t length)
{
	const struct opt *tables[5] = { p->tables[0], p->tables[1], p->tables[2], p->tables[3], builtin };

	for (int t = 0; t < 5; t++)
		for (const struct opt *o = tables[t]; o && o->name; o++)
			if (letter ? o->letter == letter : strlen(o->name) == length && !memcmp(o->name, name, length))
				return o;
	return NULL;
}

static int
set(const struct opt *o, const char *argument, struct buf *err)
{
	uint64_t max = o->max || o->min ? o->max : UINT64_MAX;

	switch (o->kind) {
	case OPT_FLAG: *(bool *)o->value = true; return 0;
	case OPT_COUNT: ++*(int *)o->value; return 0;
	case OPT_STRING: *(const char **)o->value = argument; return 0;
	case OPT_U64:
		if (num_u64(argument, o->min, max, o->value))
			return buf_err(err, "--%s: '%s' is not a number within %llu..%llu", o->name, argument,
				(unsigned long long)o->min, (unsigned long long)max);
		return 0;
	case OPT_BYTES:
		if (num_bytes(argument, o->min, max, o->value))
			return buf_err(err, "--%s: '%s' is not a size such as 64M", o->name, argument);
		return 0;
	case OPT_F64:
		if (num_f64(argument, -1e300, 1e300, o->value))
			return buf_err(err, "--%s: '%s' is not a number", o->name, argument);
		return 0;
	case OPT_CALL:
		return ((int (*)(const char *, struct buf *))o->value)(argument, err);
	}
	return -1;
}

static void
run_builtin(const struct opt_program *p, const struct opt *o)
{
	if (o->letter == 'v')
		die_verbosity++;
	else if (o->letter == 'q')
		die_verbosity = 0;
	else if (o->letter == 'h')
		help(p);
	else {
		printf("%s %s\n", p->name, opt_version);
		exit(EX_OK);
	}
}

/* Applies one option; `inline_argument` is what stood after "=" or the letter, or NULL. Returns whether the
 * next word of argv was used. */
static int
apply(const struct opt_program *p, const struct opt *o, const char *inline_argument, const char *next)
{
	struct buf err = BUF_INIT;

	if (!o->argument) {
		if (inline_argument)
			die(EX_USAGE, "--%s takes no argument; see %s -h", o->name, p->name);
		if (o >= builtin && o < builtin + sizeof builtin / sizeof *builtin)
			run_builtin(p, o);
		else
			set(o, NULL, &err);
		return 0;
	}
	if (!inline_argument && !next)
		die(EX_USAGE, "--%s needs %s; see %s -h", o->name, o->argument, p->name);
	if (set(o, inline_argument ? inline_argument : next, &err))
		die(EX_USAGE, "%s; see %s -h", buf_str(&err), p->name);
	buf_release(&err);
	return !inline_argument;
}

static int
long_option(const struct opt_program *p, const char *word, const char *next)
{
	const char *equals = strchr(word, '=');
	size_t length = equals ? (size_t)(equals - word) : strlen(word);
	const struct opt *o = find(p, 0, word, length);

	if (length == 11 && !memcmp(word, "man-options", 11))
		man_options(p);
	if (!o)
		die(EX_USAGE, "there is no option --%.*s; see %s -h", (int)length, word, p->name);
	return apply(p, o, equals ? equals + 1 : NULL, next);
}

static int
short_options(const struct opt_program *p, const char *letters, const char *next)
{
	for (; *letters; letters++) {
		const struct opt *o = find(p, *letters, NULL, 0);

		if (!o)
			die(EX_USAGE, "there is no option -%c; see %s -h", *letters, p->name);
		if (o->argument)
			return apply(p, o, letters[1] ? letters + 1 : NULL, next);
		apply(p, o, NULL, NULL);
	}
	return 0;
}

int
opt_parse(const struct opt_program *p, int argc, char **argv)
{
	char **operands = xcalloc((size_t)argc + 1, sizeof *operands);
	int i = 1, count = 0;

	die_program = p->name;
	for (; i < argc; i++) {
		const char *word = argv[i];

		if (word[0] != '-' || !word[1]) {
			if (p->runs_command)
				break;
			operands[count++] = argv[i];
		} else if (!strcmp(word, "--")) {
			i++;
			break;
		} else if (word[1] == '-') {
			i += long_option(p, word + 2, argv[i + 1]);
		} else {
			i += short_options(p, word + 1, argv[i + 1]);
		}
	}
	memmove(argv + i - count, operands, (size_t)count * sizeof *operands);
	free(operands);
	return i - count;
}
