/* Examples of the math language as text: a task with values, "---", a spec. Read by unit tests and nothing
 * else; the format is the one of the blocks in common/math/LANGUAGE.md. */
#ifndef TESTS_MATH_EXAMPLE_H
#define TESTS_MATH_EXAMPLE_H

#include "base/arena.h"
#include "base/die.h"
#include "math/math.h"

enum { EXAMPLE_MAX = 16 };

struct example {
	int line;			/* of the block in its file */
	struct arena arena;
	struct math_axis axes[EXAMPLE_MAX];
	struct math_given given[EXAMPLE_MAX];
	struct math_scalar scalars[EXAMPLE_MAX];
	struct math_tensor inputs[EXAMPLE_MAX], outputs[EXAMPLE_MAX];
	const char *input_values[EXAMPLE_MAX], *output_values[EXAMPLE_MAX];
	struct math_task task;
	size_t given_count;
	const char *error;		/* the message expected, or NULL */
	const char *spec;
	int64_t axis_values[EXAMPLE_MAX];
	struct tensor input_tensors[EXAMPLE_MAX], expected[EXAMPLE_MAX];
	const struct tensor *input_list[EXAMPLE_MAX];
};

static void
example_bad(const struct example *e, const char *what)
{
	die(1, "example at line %d: %s", e->line, what);
}

static char *
example_word(struct example *e, const char **at)
{
	const char *start;

	while (**at == ' ')
		++*at;
	start = *at;
	while (**at && **at != ' ')
		++*at;
	return arena_strndup(&e->arena, start, (size_t)(*at - start));
}

static void
example_axis(struct example *e, const char *at)
{
	struct math_axis *axis = &e->axes[e->task.axis_count++];
	char *word, *end;
	long long value;

	axis->name = example_word(e, &at);
	word = example_word(e, &at);
	while (*at == ' ')
		at++;
	value = strtoll(at, &end, 10);
	if (strcmp(word, "fixed") == 0) {
		axis->fixed = true;
		axis->value = value;
	} else if (*end)
		axis->expression = arena_strdup(&e->arena, at);
	else
		e->given[e->given_count++] = (struct math_given){ axis->name, value };
}

static enum dtype
example_dtype(struct example *e, const char **at)
{
	const char *name = example_word(e, at);
	enum dtype dtype = DTYPE_COUNT;

	if (dtype_from_name(name, strlen(name), &dtype))
		example_bad(e, "unknown dtype");
	return dtype;
}

static void
example_scalar(struct example *e, const char *at)
{
	struct math_scalar *s = &e->scalars[e->task.scalar_count++];

	s->name = example_word(e, &at);
	s->dtype = example_dtype(e, &at);
	s->real = strtod(at, NULL);
	s->integer = (int64_t)s->real;
}

static void
example_tensor(struct example *e, const char *at, struct math_tensor *t, const char **values)
{
	t->name = example_word(e, &at);
	t->dtype = example_dtype(e, &at);
	at = strchr(at, '[');
	if (!at)
		example_bad(e, "no shape");
	for (at++; *at && *at != ']';) {
		size_t n = strcspn(at, ",]");

		t->shape[t->rank++] = arena_strndup(&e->arena, at, n);
		at += n + (at[n] == ',');
	}
	*values = arena_strdup(&e->arena, at + 1);
}

static void
example_fill(struct example *e, struct tensor *t, const char *values)
{
	int64_t count = tensor_elements(t), i = 0;
	char *end;

	while (*values == ' ')
		values++;
	if (!*values)
		return;		/* zeros will do where an error is expected */
	for (; *values; i++) {
		double value;

		if (i == count)
			example_bad(e, "too many values");
		if (strncmp(values, "true", 4) == 0 || strncmp(values, "false", 5) == 0) {
			value = *values == 't';
			end = (char *)values + strcspn(values, " ");
		} else
			value = strtod(values, &end);
		if (end == values)
			example_bad(e, "a value is no number");
		tensor_set(t, i, value);
		for (values = end; *values == ' ';)
			values++;
	}
	if (i != count)
		example_bad(e, "too few values");
}

static void
example_line(struct example *e, const char *line)
{
	const char *at = line;
	const char *word = example_word(e, &at);

	if (strcmp(word, "axis") == 0)
		example_axis(e, at);
	else if (strcmp(word, "scalar") == 0)
		example_scalar(e, at);
	else if (strcmp(word, "input") == 0) {
		example_tensor(e, at, &e->inputs[e->task.input_count], &e->input_values[e->task.input_count]);
		e->task.input_count++;
	} else if (strcmp(word, "output") == 0) {
		example_tensor(e, at, &e->outputs[e->task.output_count], &e->output_values[e->task.output_count]);
		e->task.output_count++;
	} else if (strcmp(word, "error") == 0)
		e->error = arena_strdup(&e->arena, at + 1);
	else
		example_bad(e, "unknown line");
}

static void
example_tensors(struct example *e)
{
	struct buf err = BUF_INIT;
	int64_t shape[TENSOR_MAX_RANK];

	if (math_resolve_axes(e->axes, e->task.axis_count, e->given, e->given_count, e->axis_values, &err))
		example_bad(e, buf_str(&err));
	for (size_t i = 0; i < e->task.input_count + e->task.output_count; i++) {
		bool input = i < e->task.input_count;
		size_t k = input ? i : i - e->task.input_count;
		const struct math_tensor *t = input ? &e->inputs[k] : &e->outputs[k];
		struct tensor *to = input ? &e->input_tensors[k] : &e->expected[k];
		enum dtype dtype = input ? t->dtype : dtype_is_float(t->dtype) ? DTYPE_FLOAT64 : DTYPE_INT64;

		if (math_resolve_shape(t, e->axes, e->task.axis_count, e->axis_values, shape, &err)
			|| tensor_init(to, t->name, dtype, t->rank, shape, &err))
			example_bad(e, buf_str(&err));
		example_fill(e, to, input ? e->input_values[k] : e->output_values[k]);
		if (input)
			e->input_list[k] = to;
	}
	buf_release(&err);
}

/* The next block from *at, which begins after line *line; false after the last. Release it. */
static bool
example_next(const char **at, int *line, struct example *e)
{
	bool inside = false;
	const char *spec = NULL;

	memset(e, 0, sizeof *e);
	e->task = (struct math_task){ e->axes, 0, e->scalars, 0, e->inputs, 0, e->outputs, 0 };
	while (**at) {
		size_t n = strcspn(*at, "\n");
		char *text = arena_strndup(&e->arena, *at, n);
		const char *start = *at;

		*at += n + ((*at)[n] == '\n');
		++*line;
		if (!inside && strcmp(text, "```example") == 0) {
			inside = true;
			e->line = *line;
		} else if (inside && !spec && strcmp(text, "---") == 0)
			spec = *at;
		else if (inside && strcmp(text, "```") == 0) {
			if (!spec)
				example_bad(e, "no spec");
			e->spec = arena_strndup(&e->arena, spec, (size_t)(start - spec));
			example_tensors(e);
			return true;
		} else if (inside && !spec && *text)
			example_line(e, text);
	}
	arena_release(&e->arena);
	return false;
}

static void
example_release(struct example *e)
{
	for (int i = 0; i < EXAMPLE_MAX; i++) {
		tensor_release(&e->input_tensors[i]);
		tensor_release(&e->expected[i]);
	}
	arena_release(&e->arena);
}

/* A whole file, returned owned. Tests run in the root of the repository. */
static char *
example_text(const char *path)
{
	struct buf text = BUF_INIT, err = BUF_INIT;

	if (buf_read_file(&text, path, 1 << 20, &err))
		die(1, "%s", buf_str(&err));
	return buf_detach(&text);
}

#endif
