/*
 * Expressions: come in an op and a frame of lanes, goes out a value in each lane.
 * The hard idea is laziness in lanes: what `if`, `and` and `or` leave out is packed away before it is
 * evaluated, so that a subscript out of range in a branch not taken is no error. See plan.h.
 */
#include <math.h>
#include <stdarg.h>

#include "math/plan.h"

int
math_fail(struct math_run *run, const struct op *op, const char *format, ...)
{
	va_list args;

	if (run->err) {
		buf_addf(run->err, "%d:%d: ", op->line, op->column);
		va_start(args, format);
		buf_vaddf(run->err, format, args);
		va_end(args);
	}
	return EVAL_FAILED;
}

/* Steps are to follow time: a fixed part for each op, and more for what calls the mathematical library. */
int
math_count_steps(struct math_run *run, const struct op *op, int lanes)
{
	bool dear = (op->kind == NODE_CALL && op->function->kind == FUNCTION_REAL) || op->kind == NODE_POWER;

	run->steps += 16 + (uint64_t)lanes * (dear ? 8 : 1);
	if (run->steps <= run->step_limit)
		return EVAL_OK;
	return math_fail(run, op, "the evaluation takes more than %llu steps",
		(unsigned long long)run->step_limit);
}

union lane *
math_take(struct math_run *run, size_t lanes)
{
	union lane *taken = run->scratch + run->scratch_used;

	if (EVAL_SCRATCH_LANES - run->scratch_used < lanes) {
		buf_err(run->err, "The spec needs more working memory than the evaluator has.");
		return NULL;
	}
	run->scratch_used += lanes;
	return taken;
}

int *
math_take_numbers(struct math_run *run, size_t count)
{
	return (int *)math_take(run, (count + 1) / 2);
}

int
math_pack(struct math_run *run, const struct frame *frame, const int *select, int count, struct frame *out)
{
	int64_t *lane = (int64_t *)math_take(run, (size_t)count);

	if (!lane)
		return EVAL_FAILED;
	for (int i = 0; i < count; i++)
		lane[i] = frame_lane(frame, select[i]);
	*out = (struct frame){ frame->env, frame->vector, count, lane[0], lane };
	/* neighbours stay neighbours, which keeps the fast way to tensors */
	if (lane[count - 1] - lane[0] == count - 1)
		out->lane = NULL;
	return EVAL_OK;
}

static void
to_real(union lane *lanes, int count)
{
	for (int i = 0; i < count; i++)
		lanes[i].real = (double)lanes[i].integer;
}

int
math_eval_as(struct math_run *run, const struct op *op, enum math_type type, const struct frame *frame,
	union lane *out)
{
	int status = math_eval(run, op, frame, out);

	if (!status && type == MATH_REAL && op->type == MATH_INTEGER)
		to_real(out, frame->lanes);
	return status;
}

/* As math_eval_as, but only lane 0 when the value is the same in all. */
static int
eval_operand(struct math_run *run, const struct op *op, enum math_type type, const struct frame *frame,
	union lane *out, bool *uniform)
{
	struct frame one = frame_one(frame);

	*uniform = frame_uniform(frame, op);
	return math_eval_as(run, op, type, *uniform ? &one : frame, out);
}

/* ---- arithmetic */

/* out = expression of x (out itself) and y (b), either of which may be one value for all lanes. */
#define BINARY_LOOP(field, type, expression) do { \
		if (a_uniform) { \
			type x = out[0].field; \
			for (int i = 0; i < n; i++) { type y = b[i].field; out[i].field = (expression); } \
		} else if (b_uniform) { \
			type y = b[0].field; \
			for (int i = 0; i < n; i++) { type x = out[i].field; out[i].field = (expression); } \
		} else { \
			for (int i = 0; i < n; i++) { type x = out[i].field, y = b[i].field; out[i].field = (expression); } \
		} \
	} while (0)

static void
real_arithmetic(enum node_kind kind, union lane *out, const union lane *b, bool a_uniform, bool b_uniform, int n)
{
	switch (kind) {
	case NODE_ADD: BINARY_LOOP(real, double, x + y); break;
	case NODE_SUBTRACT: BINARY_LOOP(real, double, x - y); break;
	case NODE_MULTIPLY: BINARY_LOOP(real, double, x * y); break;
	case NODE_DIVIDE: BINARY_LOOP(real, double, x / y); break;
	/* x^2 is x*x by definition (LANGUAGE.md): the commonest power is exact and quick */
	default: BINARY_LOOP(real, double, y == 2 ? x * x : pow(x, y)); break;
	}
}

static bool
power_overflows(int64_t base, int64_t exponent, int64_t *out)
{
	int64_t result = 1;
	bool overflow = false;

	while (exponent > 0) {
		if (exponent & 1)
			overflow |= __builtin_mul_overflow(result, base, &result);
		exponent >>= 1;
		if (exponent)
			overflow |= __builtin_mul_overflow(base, base, &base);
		if (overflow)
			return true;
	}
	*out = result;
	return false;
}

static int64_t
floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static bool
overflowing(enum node_kind kind, int64_t x, int64_t y, int64_t *z)
{
	switch (kind) {
	case NODE_ADD: return __builtin_add_overflow(x, y, z);
	case NODE_SUBTRACT: return __builtin_sub_overflow(x, y, z);
	case NODE_MULTIPLY: return __builtin_mul_overflow(x, y, z);
	case NODE_DIV:
		if (x == INT64_MIN && y == -1)
			return true;
		*z = floor_div(x, y);
		return false;
	case NODE_MOD:
		*z = y == -1 ? 0 : x - floor_div(x, y) * y;
		return false;
	default:
		return power_overflows(x, y, z);
	}
}

static int
integer_arithmetic(struct math_run *run, const struct op *op, union lane *out, const union lane *b,
	bool a_uniform,
	bool b_uniform, int n)
{
	int64_t x = out[0].integer, y;
	bool overflow = false;

	for (int i = 0; i < n; i++) {
		if (!a_uniform)
			x = out[i].integer;
		y = b[b_uniform ? 0 : i].integer;
		if (y == 0 && (op->kind == NODE_DIV || op->kind == NODE_MOD))
			return math_fail(run, op, "division by zero");
		if (y < 0 && op->kind == NODE_POWER)
			return math_fail(run, op, "an integer to a negative power; make one of them real");
		overflow |= overflowing(op->kind, x, y, &out[i].integer);
	}
	return overflow ? math_fail(run, op, "integer overflow") : EVAL_OK;
}

static int
eval_arithmetic(struct math_run *run, const struct op *op, const struct frame *frame, union lane *out)
{
	union lane *b = math_take(run, (size_t)frame->lanes);
	bool a_uniform, b_uniform;
	int status;

	if (!b)
		return EVAL_FAILED;
	if ((status = eval_operand(run, op->children[0], op->type, frame, out, &a_uniform))
		|| (status = eval_operand(run, op->children[1], op->type, frame, b, &b_uniform)))
		return status;
	if (op->type == MATH_INTEGER)
		return integer_arithmetic(run, op, out, b, a_uniform, b_uniform, frame->lanes);
	/* with one lane both are uniform; any of the loops does */
	real_arithmetic(op->kind, out, b, a_uniform, b_uniform, frame->lanes);
	return EVAL_OK;
}

static int
eval_negate(struct math_run *run, const struct op *op, const struct frame *frame, union lane *out)
{
	int status = math_eval(run, op->children[0], frame, out);
	bool overflow = false;

	if (status)
		return status;
	for (int i = 0; i < frame->lanes; i++) {
		if (op->type == MATH_REAL)
			out[i].real = -out[i].real;
		else
			overflow |= __builtin_sub_overflow(INT64_C(0), out[i].integer, &out[i].integer);
	}
	return overflow ? math_fail(run, op, "integer overflow") : EVAL_OK;
}

/* ---- comparisons and logic */

#define COMPARE_LOOP(expression) for (int i = 0; i < n; i++) { \
		if (reals) { double x = a[i].real, y = b[i].real; out[i].integer &= (expression); } \
		else { int64_t x = a[i].integer, y = b[i].integer; out[i].integer &= (expression); } \
	} break

static void
compare(enum comparison comparison, bool reals, const union lane *a, const union lane *b, union lane *out, int n)
{
	switch (comparison) {
	case COMPARE_LT: COMPARE_LOOP(x < y);
	case COMPARE_LE: COMPARE_LOOP(x <= y);
	case COMPARE_GT: COMPARE_LOOP(x > y);
	case COMPARE_GE: COMPARE_LOOP(x >= y);
	case COMPARE_EQ: COMPARE_LOOP(x == y);
	case COMPARE_NE: COMPARE_LOOP(x != y);
	}
}

static int
eval_compare(struct math_run *run, const struct op *op, const struct frame *frame, union lane *out)
{
	int n = frame->lanes, status;
	union lane *a = math_take(run, 2 * (size_t)n), *b = a + n, *swap;

	if (!a)
		return EVAL_FAILED;
	for (int i = 0; i < n; i++)
		out[i].integer = 1;
	if ((status = math_eval_as(run, op->children[0], op->compared, frame, a)))
		return status;
	for (int c = 0; c + 1 < op->count; c++) {
		if ((status = math_eval_as(run, op->children[c + 1], op->compared, frame, b)))
			return status;
		compare(op->comparisons[c], op->compared == MATH_REAL, a, b, out, n);
		swap = a;
		a = b;
		b = swap;
	}
	return EVAL_OK;
}

static int
eval_not(struct math_run *run, const struct op *op, const struct frame *frame, union lane *out)
{
	int status = math_eval(run, op->children[0], frame, out);

	for (int i = 0; i < frame->lanes && !status; i++)
		out[i].integer = !out[i].integer;
	return status;
}

/* Evaluates op in the lanes of `select` and puts the values where those lanes are in out. */
static int
eval_selected(struct math_run *run, const struct op *op, enum math_type type, const struct frame *frame,
	const int *select, int count, union lane *out)
{
	struct frame packed;
	union lane *values;
	int status;

	if (count == 0)
		return EVAL_OK;
	if (count == frame->lanes)
		return math_eval_as(run, op, type, frame, out);
	if (math_pack(run, frame, select, count, &packed) || !(values = math_take(run, (size_t)count)))
		return EVAL_FAILED;
	if ((status = math_eval_as(run, op, type, &packed, values)))
		return status;
	for (int i = 0; i < count; i++)
		out[select[i]] = values[i];
	return EVAL_OK;
}

/* The right operand only in the lanes that the left one leaves open. */
static int
eval_logic(struct math_run *run, const struct op *op, const struct frame *frame, union lane *out)
{
	int *select = math_take_numbers(run, (size_t)frame->lanes), count = 0, status;
	int64_t open = op->kind == NODE_AND;

	if (!select)
		return EVAL_FAILED;
	if ((status = math_eval(run, op->children[0], frame, out)))
		return status;
	for (int i = 0; i < frame->lanes; i++)
		if (out[i].integer == open)
			select[count++] = i;
	return eval_selected(run, op->children[1], MATH_BOOLEAN, frame, select, count, out);
}

static int
eval_if(struct math_run *run, const struct op *op, const struct frame *frame, union lane *out)
{
	int *chosen = math_take_numbers(run, 2 * (size_t)frame->lanes), *other = chosen + frame->lanes;
	int chosen_count = 0, other_count = 0, status;
	union lane *condition = math_take(run, (size_t)frame->lanes);
	bool uniform;

	if (!chosen || !condition)
		return EVAL_FAILED;
	if ((status = eval_operand(run, op->children[0], MATH_BOOLEAN, frame, condition, &uniform)))
		return status;
	if (uniform)
		return math_eval_as(run, op->children[condition[0].integer ? 1 : 2], op->type, frame, out);
	for (int i = 0; i < frame->lanes; i++) {
		if (condition[i].integer)
			chosen[chosen_count++] = i;
		else
			other[other_count++] = i;
	}
	status = eval_selected(run, op->children[1], op->type, frame, chosen, chosen_count, out);
	return status ? status : eval_selected(run, op->children[2], op->type, frame, other, other_count, out);
}

/* ---- functions */

static int
to_integer(struct math_run *run, const struct op *op, union lane *lane)
{
	double value = op->function->one(lane->real);

	if (!(value >= -0x1p63 && value < 0x1p63))
		return isnan(value) ? math_fail(run, op, "%s of NaN has no value", op->function->name)
			: math_fail(run, op, "%s of %g is not a 64-bit integer", op->function->name, lane->real);
	lane->integer = (int64_t)value;
	return EVAL_OK;
}

static int64_t
saturate(enum dtype dtype, union lane lane, bool real)
{
	int64_t low = -128, high = 127;
	double rounded;

	if (dtype != DTYPE_COUNT)
		dtype_integer_range(dtype, &low, &high);
	if (!real)
		return lane.integer < low ? low : lane.integer > high ? high : lane.integer;
	rounded = nearbyint(lane.real);
	if (isnan(rounded))
		return 0;
	return rounded <= (double)low ? low : rounded >= (double)high ? high : (int64_t)rounded;
}

static int
eval_unary_call(struct math_run *run, const struct op *op, const struct frame *frame, union lane *out)
{
	const struct function *f = op->function;
	bool integer = op->children[0]->type == MATH_INTEGER;
	bool keeps = f->kind == FUNCTION_TO_INTEGER || f->kind == FUNCTION_SATURATE || f->kind == FUNCTION_INT;
	int status = math_eval_as(run, op->children[0], keeps ? op->children[0]->type : MATH_REAL, frame, out);

	for (int i = 0; i < frame->lanes && !status; i++)
		switch (f->kind) {
		case FUNCTION_REAL: out[i].real = f->one(out[i].real); break;
		case FUNCTION_TO_INTEGER: status = integer ? EVAL_OK : to_integer(run, op, &out[i]); break;
		case FUNCTION_SATURATE: out[i].integer = saturate(f->dtype, out[i], !integer); break;
		case FUNCTION_ROUND_TO: out[i].real = dtype_round(f->dtype, out[i].real); break;
		case FUNCTION_TEST: out[i].integer = f->one(out[i].real) != 0; break;
		default: break;
		}
	return status;
}

static double
real_max(double x, double y)
{
	return isnan(x) || x > y ? x : y;
}

static double
real_min(double x, double y)
{
	return isnan(x) || x < y ? x : y;
}

/* min, max, clamp, atan2, hypot, bit functions: folds the next argument b into out. */
static void
fold_argument(const struct op *op, int argument, union lane *out, const union lane *b, int n)
{
	const struct function *f = op->function;
	bool takes_max = f->name[0] == 'c' ? argument == 1 : f->name[1] == 'a';

	for (int i = 0; i < n; i++) {
		if (f->kind == FUNCTION_REAL)
			out[i].real = f->two(out[i].real, b[i].real);
		else if (f->kind == FUNCTION_BITS)
			out[i].integer = f->integers(out[i].integer, b[i].integer);
		else if (op->type == MATH_REAL)
			out[i].real = takes_max ? real_max(out[i].real, b[i].real) : real_min(out[i].real,
				b[i].real);
		else if ((out[i].integer < b[i].integer) == takes_max)
			out[i].integer = b[i].integer;
	}
}

static int
eval_magnitude(struct math_run *run, const struct op *op, union lane *out, int n)
{
	bool sign = op->function->name[0] == 's';

	for (int i = 0; i < n; i++) {
		double x = out[i].real;
		int64_t k = out[i].integer;

		if (op->type == MATH_REAL)
			out[i].real = !sign ? fabs(x) : isnan(x) ? x : (x > 0) - (x < 0);
		else if (!sign && k == INT64_MIN)
			return math_fail(run, op, "integer overflow");
		else
			out[i].integer = sign ? (k > 0) - (k < 0) : k < 0 ? -k : k;
	}
	return EVAL_OK;
}

static int
eval_call(struct math_run *run, const struct op *op, const struct frame *frame, union lane *out)
{
	union lane *b;
	int status;

	if (op->count == 1 && op->function->kind != FUNCTION_SAME)
		return eval_unary_call(run, op, frame, out);
	if ((status = math_eval_as(run, op->children[0], op->type, frame, out)))
		return status;
	if (op->count == 1)
		return eval_magnitude(run, op, out, frame->lanes);
	if (!(b = math_take(run, (size_t)frame->lanes)))
		return EVAL_FAILED;
	for (int i = 1; i < op->count; i++) {
		if ((status = math_eval_as(run, op->children[i], op->type, frame, b)))
			return status;
		fold_argument(op, i, out, b, frame->lanes);
	}
	return EVAL_OK;
}

/* ---- any op */

static int
eval_kind(struct math_run *run, const struct op *op, const struct frame *frame, union lane *out)
{
	switch (op->kind) {
	case NODE_INDEX:
		if (op->number != frame->vector)
			out[0].integer = frame->env[op->number];
		else
			for (int i = 0; i < frame->lanes; i++)
				out[i].integer = frame_lane(frame, i);
		return EVAL_OK;
	case NODE_ACCESS: return math_eval_access(run, op, frame, out);
	case NODE_CALL: return eval_call(run, op, frame, out);
	case NODE_REDUCE: return math_eval_reduce(run, op, frame, out);
	case NODE_IF: return eval_if(run, op, frame, out);
	case NODE_AND: case NODE_OR: return eval_logic(run, op, frame, out);
	case NODE_NOT: return eval_not(run, op, frame, out);
	case NODE_COMPARE: return eval_compare(run, op, frame, out);
	case NODE_NEGATE: return eval_negate(run, op, frame, out);
	default: return eval_arithmetic(run, op, frame, out);
	}
}

int
math_eval(struct math_run *run, const struct op *op, const struct frame *frame, union lane *out)
{
	size_t mark = run->scratch_used;
	int status;

	if (op->kind <= NODE_BOOLEAN) {
		for (int i = 0; i < frame->lanes; i++)
			out[i] = op->value;
		return EVAL_OK;
	}
	if (frame->vector >= 0 && frame_uniform(frame, op)) {
		struct frame one = frame_one(frame);

		status = math_eval(run, op, &one, out);
		for (int i = 1; i < frame->lanes; i++)
			out[i] = out[0];
		return status;
	}
	if (math_count_steps(run, op, frame->lanes))
		return EVAL_FAILED;
	run->depth++;
	status = eval_kind(run, op, frame, out);
	run->depth--;
	run->scratch_used = mark;
	return status;
}
