/* What a kernel needs. In: a parsed kernel. Out: the functions that it may call, callees first, with those that are
 * recursive marked; where its shared variables stand; and how much local memory a thread has. A call through a pointer
 * may be to any function whose address is taken. */
#include <stdlib.h>
#include <string.h>

#include "base/die.h"
#include "ptx/decode.h"

enum { MAX_FUNCTIONS = 4096, RECURSION_LOCAL_BYTES = 16384, ALLOCA_BYTES = 16384 };

typedef void visit(struct decoder *d, const struct operand *o);

static void
visit_operands(struct decoder *d, const struct operand *o, uint32_t n, visit *what)
{
	for (uint32_t k = 0; k < n; k++) {
		what(d, &o[k]);
		if (o[k].n_items && o[k].items)
			visit_operands(d, o[k].items, o[k].kind == O_ADDRESS ? 1 : o[k].n_items, what);
	}
}

static void reach(struct decoder *d, const struct function *f);

static void
reach_operand(struct decoder *d, const struct operand *o)
{
	const struct function *f = o->kind == O_NAME ? module_function(d->module, o->name) : NULL;
	if (f && f->has_body && !f->is_kernel)
		reach(d, f);
}

static bool
calls_pointers(const struct function *f)
{
	for (uint32_t k = 0; k < f->n_statements; k++) {
		const struct statement *s = &f->statements[k];
		if (s->opcode.length >= 4 && !memcmp(s->opcode.at, "call", 4) && s->n_operands
			&& (s->operands[0].kind == O_REGISTER || (s->n_operands > 1 && s->operands[1].kind == O_REGISTER)))
			return true;
	}
	return false;
}

/* A function whose address is taken, in an initialiser or by any kernel, can be called by any call through a pointer:
 * pointers outlive a kernel in memory, and the host may pass them on. */
static void
reach_addressed(struct decoder *d)
{
	for (const struct function *f = d->module->addressed; f && !d->failed; f = f->next_addressed)
		reach(d, f);
}

/* Adds a function after all it calls. A function met again while it is open is recursive. */
static void
reach(struct decoder *d, const struct function *f)
{
	for (uint32_t k = 0; k < d->n_reached; k++)
		if (d->reached[k] == f) {
			/* all functions open since the start of the cycle are on it; one that is met again closed,
			 * but on a cycle, may belong to that of an open one */
			bool inside = false;
			for (uint32_t q = 0; q < d->n_reached && (d->open[k] || d->on_cycle[k]); q++) {
				inside |= q == k || (d->open[q] && d->on_cycle[q]);
				d->on_cycle[q] |= inside && d->open[q];
			}
			return;
		}
	if (d->n_reached == MAX_FUNCTIONS || d->reach_depth > 500) {
		decode_fail(d, "more functions than the PTX machine can take");
		return;
	}
	uint32_t mine = d->n_reached++;
	d->reached[mine] = f;
	d->open[mine] = true;
	d->reach_depth++;
	for (uint32_t k = 0; k < f->n_statements && !d->failed; k++)
		visit_operands(d, f->statements[k].operands, f->statements[k].n_operands, reach_operand);
	if (!d->failed && calls_pointers(f))
		reach_addressed(d);
	d->reach_depth--;
	d->open[mine] = false;
	d->order[d->n_ordered++] = mine;
}

static void
place_shared(struct decoder *d, const struct operand *o)
{
	const struct variable *v = o->kind == O_VARIABLE ? o->variable : NULL;
	struct image *im = d->image;
	if (!v || v->storage != IN_SHARED || (v->external && !v->bytes) != d->place_dynamic)
		return;
	for (uint32_t k = 0; k < im->n_shared; k++)
		if (im->shared[k].variable == v)
			return;
	if (!(im->n_shared & (im->n_shared - 1))) {
		struct shared_place *grown = decode_alloc(d, (im->n_shared ? im->n_shared * 2 : 1) * sizeof *grown);
		if (im->n_shared)
			memcpy(grown, im->shared, im->n_shared * sizeof *grown);
		im->shared = grown;
	}
	uint64_t align = v->align ? v->align : 1;
	uint64_t offset = (im->shared_bytes + align - 1) / align * align;
	if (offset + v->bytes > WINDOW_BYTES / 2) {
		decode_fail(d, "more shared memory than a block can have");
		return;
	}
	im->shared[im->n_shared++] = (struct shared_place){ v, (uint32_t)offset };
	if (!d->place_dynamic)
		im->shared_bytes = (uint32_t)(offset + v->bytes);
	else if (offset > im->shared_bytes)
		im->shared_bytes = (uint32_t)offset;	/* all dynamic arrays start at one place */
}

/* Static shared variables first, in the order of their first use; the dynamic ones behind. */
static void
lay_out_shared(struct decoder *d)
{
	for (int pass = 0; pass < 2; pass++) {
		d->place_dynamic = pass;
		for (uint32_t f = 0; f < d->image->n_functions; f++) {
			const struct function *fn = d->image->functions[f].function;
			for (uint32_t k = 0; k < fn->n_statements && !d->failed; k++)
				visit_operands(d, fn->statements[k].operands, fn->statements[k].n_operands, place_shared);
		}
	}
}

static bool
uses_alloca(const struct function *f)
{
	for (uint32_t k = 0; k < f->n_statements; k++)
		if (f->statements[k].opcode.length > 7 && !memcmp(f->statements[k].opcode.at, "alloca.", 7))
			return true;
	return false;
}

/* Local memory of the deepest chain of calls; callees stand before their callers. */
static void
local_sizes(struct decoder *d)
{
	struct image *im = d->image;
	uint64_t total = 0;
	for (uint32_t f = 0; f < im->n_functions; f++) {
		im->functions[f].local_bytes = (im->functions[f].function->local_bytes + 15) / 16 * 16;
		total += im->functions[f].local_bytes;
		im->recursive |= im->functions[f].recursive;
		if (uses_alloca(im->functions[f].function))
			im->dynamic_local = ALLOCA_BYTES;
	}
	total += (im->recursive ? RECURSION_LOCAL_BYTES : 0) + im->dynamic_local;
	if (total > 1 << 20)
		decode_fail(d, "more local memory than a thread can have");
	im->local_bytes = (uint32_t)total;
}

static int
compare_numbers(const void *a, const void *b, void *functions)
{
	const struct image_function *f = functions;
	uint32_t x = f[*(const uint32_t *)a].function->number, y = f[*(const uint32_t *)b].function->number;
	return (x > y) - (x < y);
}

static void
order_by_number(struct decoder *d)
{
	struct image *im = d->image;
	im->by_number = decode_alloc(d, (im->n_functions + 1) * sizeof *im->by_number);
	for (uint32_t k = 0; k < im->n_functions; k++)
		im->by_number[k] = k;
	qsort_r(im->by_number, im->n_functions, sizeof *im->by_number, compare_numbers, im->functions);
}

bool
find_functions(struct decoder *d)
{
	struct image *im = d->image;
	size_t n = MAX_FUNCTIONS;
	d->reached = xcalloc(n, sizeof *d->reached);
	d->order = xcalloc(n, sizeof *d->order);
	d->open = xcalloc(n, 1);
	d->on_cycle = xcalloc(n, 1);
	reach(d, im->kernel);
	im->functions = decode_alloc(d, (d->n_ordered + 1) * sizeof *im->functions);
	for (uint32_t k = 0; k < d->n_ordered; k++) {
		struct image_function *f = &im->functions[im->n_functions++];
		f->function = d->reached[d->order[k]];
		f->recursive = d->on_cycle[d->order[k]];
	}
	order_by_number(d);
	lay_out_shared(d);
	local_sizes(d);
	return !d->failed;
}
