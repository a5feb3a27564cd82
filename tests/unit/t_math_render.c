/*
 * A spec as LaTeX and as C. LaTeX is compared with golden text; C is compiled and run on the examples of
 * LANGUAGE.md and must agree with the evaluator.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>

#include "base/io.h"
#include "base/spawn.h"
#include "math/c.h"
#include "math/latex.h"
#include "math_example.h"
#include "tensor/compare.h"

/* ---- C */

static enum dtype
passed(enum dtype dtype)
{
	return dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16 ? DTYPE_FLOAT32 : dtype;
}

static const char *
passed_name(enum dtype dtype)
{
	return dtype_c_name(passed(dtype));
}

/* A function of one signature around the rendered one: tensors, axes and scalars from arrays. */
static void
add_wrapper(const struct example *e, struct buf *text)
{
	const char *comma = "";
	int axes = 0;

	buf_adds(text, "void\ncall(void **tensors, const int64_t *axes, const double *scalars)\n{\n\t(void)axes;\n\t(void)scalars;\n"
		"\treference(");
	for (size_t i = 0; i < e->task.input_count + e->task.output_count; i++, comma = ", ")
		buf_addf(text, "%stensors[%zu]", comma, i);
	for (size_t i = 0; i < e->task.axis_count; i++)
		if (!e->axes[i].fixed && !e->axes[i].expression) {
			buf_addf(text, "%saxes[%d]", comma, axes++);
			comma = ", ";
		}
	for (size_t i = 0; i < e->task.scalar_count; i++, comma = ", ")
		buf_addf(text, "%s(%s)scalars[%zu]", comma, passed_name(e->scalars[i].dtype), i);
	buf_adds(text, ");\n}\n");
}

static void
compile(const struct example *e, const char *folder, const struct buf *text)
{
	char source[200], library[200];
	char *argv[] = { "/usr/bin/env", "gcc", "-std=c11", "-Wall", "-Wextra", "-Werror",
		"-Wno-unused-parameter", "-O0",
		"-ffp-contract=off", "-shared", "-fPIC", "-o", library, source, "-lm", NULL };
	char *envp[] = { "PATH=/usr/bin:/bin:/usr/local/bin", NULL };
	struct buf output = BUF_INIT, err = BUF_INIT;
	struct spawn_result result;

	snprintf(source, sizeof source, "%s/%d.c", folder, e->line);
	snprintf(library, sizeof library, "%s/%d.so", folder, e->line);
	assert_int_equal(io_write_file(source, text->data, text->len, &err), 0);
	assert_int_equal(spawn_run(&(struct spawn){ .argv = argv, .envp = envp, .output = &output,
		.errors = &output,
		.wall_ms = 60000 }, &result, &err), 0);
	if (result.exit_status)
		fail_msg("example at line %d: %s\n%s", e->line, buf_str(&output), text->data);
	buf_release(&output);
	buf_release(&err);
}

/* The tensor as the function takes it. */
static void
convert(struct tensor *to, const struct tensor *from, enum dtype dtype, bool poison)
{
	assert_int_equal(tensor_init(to, from->name, passed(dtype), from->rank, from->shape, NULL), 0);
	if (poison)
		memset(to->data, 0xff, to->bytes);
	for (int64_t i = 0; i < tensor_elements(to) && !poison; i++) {
		if (dtype_is_float(dtype))
			tensor_set(to, i, tensor_get(from, i));
		else
			tensor_set_integer(to, i, tensor_get_integer(from, i));
	}
}

static void
run_and_compare(const struct example *e, const char *folder)
{
	struct tensor tensors[2 * EXAMPLE_MAX];
	void *data[2 * EXAMPLE_MAX], *library;
	double scalars[EXAMPLE_MAX];
	int64_t axes[EXAMPLE_MAX];
	char path[200];
	size_t inputs = e->task.input_count, all = inputs + e->task.output_count;
	struct compare_result result;

	for (size_t i = 0; i < all; i++) {
		convert(&tensors[i], i < inputs ? &e->input_tensors[i] : &e->expected[i - inputs],
			i < inputs ? e->inputs[i].dtype : e->outputs[i - inputs].dtype, i >= inputs);
		data[i] = tensors[i].data;
	}
	for (size_t i = 0, n = 0; i < e->task.axis_count; i++)
		if (!e->axes[i].fixed && !e->axes[i].expression)
			axes[n++] = e->axis_values[i];
	for (size_t i = 0; i < e->task.scalar_count; i++)
		scalars[i] = dtype_round(e->scalars[i].dtype, e->scalars[i].real);
	snprintf(path, sizeof path, "%s/%d.so", folder, e->line);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(library);
	void (*call)(void **, const int64_t *, const double *);
	*(void **)&call = dlsym(library, "call");
	assert_non_null(call);
	call(data, axes, scalars);
	for (size_t k = 0; k < e->task.output_count; k++)
		if (compare_tensors(&tensors[inputs + k], &e->expected[k], e->outputs[k].dtype == DTYPE_FLOAT64
			? (struct tolerance){ 1e-14, 1e-14 } : (struct tolerance){ 1e-6, 1e-7 }, &result, NULL)
				|| result.mismatched)
			fail_msg("example at line %d: C gives %s[%lld] = %g, expected %g", e->line,
				e->outputs[k].name,
				(long long)result.first_mismatch, result.got, result.expected);
	dlclose(library);
	for (size_t i = 0; i < all; i++)
		tensor_release(&tensors[i]);
}

/* 1 if the example could be written as C. */
static int
check_c(const struct example *e, const char *folder)
{
	struct buf err = BUF_INIT, text = BUF_INIT;
	struct math_spec *spec = math_parse(e->spec, strlen(e->spec), &e->task, &err);
	int rendered = spec && !e->error && math_c(spec, "reference", &text, &err) == 0;

	if (rendered) {
		add_wrapper(e, &text);
		compile(e, folder, &text);
		run_and_compare(e, folder);
	} else if (!e->error)
		print_message("example at line %d: %s\n", e->line, buf_str(&err));
	math_free(spec);
	buf_release(&text);
	buf_release(&err);
	return rendered;
}

static void
check_file(const char *path, int least)
{
	struct buf err = BUF_INIT;
	char *text = example_text(path), *folder = io_temp_dir("t_math_render", &err);
	const char *at = text;
	int line = 0, rendered = 0;
	struct example e;

	assert_non_null(folder);
	while (example_next(&at, &line, &e)) {
		rendered += check_c(&e, folder);
		example_release(&e);
	}
	print_message("%d examples compiled and run\n", rendered);
	assert_true(rendered >= least);
	io_remove_tree(folder, &err);
	free(folder);
	free(text);
	buf_release(&err);
}

static void
c_of_the_language(void **state)
{
	(void)state;
	check_file("common/math/LANGUAGE.md", 20);
}

static void
c_of_more(void **state)
{
	(void)state;
	check_file("tests/data/math/render.md", 8);
}

/* A recurrence that no plain loop follows is refused, not rendered wrongly. */
static void
c_refuses(void **state)
{
	static const char *const specs[] = {
		"y[i,j] = y[i,j-1; 0] + y[i,j+1; 0] + x[i,j]",
		"y[i,j] = (y[j,i-1] if j > i else 0) + x[i,j]",
		"y[i,j] = a[i,j] + x[i,j]\na[i,j] = y[i,j-1; 0]",
	};
	static const struct math_axis axes[] = { { .name = "N" } };
	static const struct math_tensor input = { "x", DTYPE_FLOAT32, 2, { "N", "N" } };
	static const struct math_tensor output = { "y", DTYPE_FLOAT32, 2, { "N", "N" } };
	struct math_task task = { axes, 1, NULL, 0, &input, 1, &output, 1 };

	(void)state;
	for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
		struct buf err = BUF_INIT, text = BUF_INIT;
		struct math_spec *spec = math_parse(specs[i], strlen(specs[i]), &task, &err);

		assert_non_null(spec);
		assert_int_equal(math_c(spec, "f", &text, &err), -1);
		assert_non_null(strstr(buf_str(&err), "plain loops"));
		assert_int_equal(text.len, 0);
		math_free(spec);
		buf_release(&text);
		buf_release(&err);
	}
}

/* ---- LaTeX */

static void
latex(void **state)
{
	static const struct math_axis axes[] = { { .name = "N" }, { .name = "D" } };
	static const struct math_scalar scalars[] = { { .name = "eps", .dtype = DTYPE_FLOAT32, .real = 1e-5 } };
	static const struct math_tensor inputs[] = { { "x", DTYPE_FLOAT32, 2, { "N", "D" } }, { "in_k",
		DTYPE_INT32, 1, { "N" } } };
	static const struct math_tensor output = { "y", DTYPE_FLOAT32, 2, { "N", "D" } };
	struct math_task task = { axes, 2, scalars, 1, inputs, 2, &output, 1 };
	static const struct {
		const char *spec, *latex;
	} cases[] = {
		{ "y[i,j] = x[i,j] / sum(x[i,k] for k) + eps",
			"y_{i, j} &= \\frac{x_{i, j}}{\\sum_{k=0}^{D-1} x_{i, k}} + \\mathrm{eps} "
			"&& 0 \\le i < N,\\ 0 \\le j < D\n" },
		{ "y[i,j] = sum(x[i,k] for k) + 1", "\\left(\\sum_{k=0}^{D-1} x_{i, k}\\right) + 1" },
		{ "y[i,j] = 1 + sum(x[i,k] + 1 for k)", "1 + \\sum_{k=0}^{D-1} \\left(x_{i, k} + 1\\right) &&" },
		{ "y[i,j] = (x[i,j] - 1) * -x[i,j]",
			"\\left(x_{i, j} - 1\\right) \\cdot \\left(-x_{i, j}\\right)" },
		{ "y[i,j] = x[i,j] - (x[i,j] - 2e-3)", "x_{i, j} - \\left(x_{i, j} - 2 \\cdot 10^{-3}\\right)" },
		{ "y[i,j] = (-x[i,j])^2", "\\left(-x_{i, j}\\right)^{2}" },
		{ "y[i,j] = max(x[i,k] for k if k <= j)",
			"\\max_{\\substack{0 \\le k < D \\\\ k \\le j}} x_{i, k}" },
		{ "y[i,j] = x[i,j] if x[i,j] > 0 else 0",
			"\\begin{cases} x_{i, j} & \\text{if } x_{i, j} > 0 \\\\ 0 & \\text{otherwise} "
			"\\end{cases}" },
		{ "y[i,j] = x[i-1,j; 0] + x[i,j-1; 0]",
			"\\end{aligned}\n\nElements of $x$ outside its range count as $0$.\n" },
		{ "y[i,j] = x[i-1,j; 0] + x[i,j-1; 1]", "\\operatorname{pad}\\left(x_{i, j - 1},\\ 1\\right)" },
		{ "y[i,j] = in_k[i] div 2 + in_k[i] mod 2",
			"\\left\\lfloor \\frac{\\mathrm{in\\_k}_{i}}{2} \\right\\rfloor + "
			"\\mathrm{in\\_k}_{i} \\bmod 2" },
		{ "y[i,j] = f16(x[i,j]) * rsqrt(eps)",
			"\\operatorname{f16}\\left(x_{i, j}\\right) \\cdot \\frac{1}{\\sqrt{\\mathrm{eps}}}" },
		{ "y[i,j] = f16(x[i,j])", "$\\operatorname{f16}(a)$ is $a$ rounded to the nearest float16" },
		{ "y[i,j] = argmax(x[i,k] for k)", "give the smallest index" },
		{ "y[i,j] = sum(1 for k in j+1..D, b in 3)", "\\sum_{k=j + 1}^{D-1} \\sum_{b=0}^{2} 1" },
		{ "y[i,j] = 1 if not (i == j or i > 2 and j > 2) else 0",
			"\\lnot \\left(i = j \\lor i > 2 \\land j > 2\\right)" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf text = BUF_INIT, err = BUF_INIT;
		struct math_spec *spec = math_parse(cases[i].spec, strlen(cases[i].spec), &task, &err);

		if (!spec)
			fail_msg("%s: %s", cases[i].spec, buf_str(&err));
		math_latex(spec, &text);
		if (!strstr(text.data, cases[i].latex))
			fail_msg("%s:\n%s\nlacks\n%s", cases[i].spec, text.data, cases[i].latex);
		math_free(spec);
		buf_release(&text);
		buf_release(&err);
	}
}

static void
latex_as_markdown(void **state)
{
	static const struct { const char *latex, *markdown; } cases[] = {
		{ "\\begin{aligned}\na\n\\end{aligned}\n", "$$\n\\begin{aligned}\na\n\\end{aligned}\n$$\n\n" },
		{ "\\begin{aligned}\na\n\\end{aligned}\n\nOn ties, $i$.\n",
			"$$\n\\begin{aligned}\na\n\\end{aligned}\n$$\n\nOn ties, $i$.\n\n" },
		{ "y = x", "$$\ny = x\n$$\n\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf text = BUF_INIT;

		math_latex_markdown(cases[i].latex, &text);
		assert_string_equal(buf_str(&text), cases[i].markdown);
		buf_release(&text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(latex), cmocka_unit_test(latex_as_markdown), cmocka_unit_test(c_refuses),
		cmocka_unit_test(c_of_the_language), cmocka_unit_test(c_of_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
