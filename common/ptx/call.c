/* Calls of functions. In: lanes at a call or a return. Out: lanes at the callee's start, or behind the call, with
 * arguments and results copied between the areas of both. Every function has one frame in a warp; what the frame of a
 * recursive one held for the lanes that enter it again is kept aside until they return. */
#include <string.h>

#include "base/die.h"
#include "ptx/warp.h"

struct saved_frame {
	struct saved_frame *before[LANES];
	uint32_t callee, references;
	char bytes[];
};

static void
copy_parameters(struct warp *w, uint32_t mask, const struct call_argument *list, uint32_t count,
	const struct image_function *from, const struct image_function *to)
{
	for (uint32_t k = 0; k < count; k++)
		EACH_IN(mask, l)
			memcpy(w->frame + to->area + (size_t)l * to->area_bytes + list[k].to,
				w->frame + from->area + (size_t)l * from->area_bytes + list[k].from, list[k].bytes);
}

_Noreturn void
bad_call(struct warp *w, const struct insn *i, uint32_t mask, enum ptx_kind kind, const char *what)
{
	struct finding_place place = { .check = PTX_MEMCHECK, .kind = kind, .lane = (uint32_t)__builtin_ctz(mask),
		.space = PTX_SPACE_LOCAL };
	report(w, i, &place, "%s", what);
	longjmp(w->core->stop, PTX_FAULT);
}

/* A recursive function has one frame as all others; what it held for these lanes is kept aside. */
static void
save_frame(struct warp *w, const struct insn *i, uint32_t mask, uint32_t callee)
{
	const struct image_function *f = &w->core->image->functions[callee];
	size_t bytes = sizeof(struct saved_frame) + f->frame_bytes;
	if (w->core->memory_used + bytes > w->core->options.max_memory)
		bad_call(w, i, mask, PTX_STACK_OVERFLOW, "Recursion used up the memory that a launch may have");
	struct saved_frame *s = xmalloc(bytes);
	w->core->memory_used += bytes;
	s->callee = callee;
	s->references = (uint32_t)__builtin_popcount(mask);
	memcpy(s->bytes, w->frame + f->frame, f->frame_bytes);
	EACH_IN(mask, l) {
		s->before[l] = w->saved[l];
		w->saved[l] = s;
	}
}

static void
drop_saved(struct warp *w, uint32_t lane)
{
	struct saved_frame *s = w->saved[lane];
	w->saved[lane] = s->before[lane];
	if (--s->references)
		return;
	w->core->memory_used -= sizeof *s + w->core->image->functions[s->callee].frame_bytes;
	free(s);
}

static void
restore_frame(struct warp *w, uint32_t lane, const struct image_function *f)
{
	static const uint32_t bytes[] = { 4, 2, 4, 8, 16 };
	const char *saved = w->saved[lane]->bytes - f->frame;
	for (uint32_t k = 0; k < f->class_slots[0]; k++) {
		uint32_t at = f->class_offset[0] + k * 4, old;
		memcpy(&old, saved + at, 4);
		set_predicate(w, at, old, 1u << lane);
	}
	for (int c = 1; c < 5; c++)
		for (uint32_t k = 0; k < f->class_slots[c]; k++) {
			uint32_t at = f->class_offset[c] + (k * LANES + lane) * bytes[c];
			memcpy(w->frame + at, saved + at, bytes[c]);
		}
	memcpy(w->frame + f->local_pointer + lane * 8, saved + f->local_pointer + lane * 8, 8);
	memcpy(w->frame + f->area + (size_t)lane * f->area_bytes, saved + f->area + (size_t)lane * f->area_bytes, f->area_bytes);
	drop_saved(w, lane);
}

static void
enter(struct warp *w, struct group *g, const struct insn *i, uint32_t mask, uint32_t callee)
{
	const struct image *im = w->core->image;
	const struct image_function *from = &im->functions[i->call->caller], *to = &im->functions[callee];
	if (g->depth + 1 >= MAX_CALL_DEPTH)
		bad_call(w, i, mask, PTX_STACK_OVERFLOW, "Calls nested more than 200 deep");
	uint64_t locals[LANES];
	memcpy(locals, w->frame + from->local_pointer, sizeof locals);
	EACH_IN(mask, l) {
		locals[l] += from->local_bytes;
		if (locals[l] + to->local_bytes > w->block->local_bytes && to->local_bytes)
			bad_call(w, i, 1u << l, PTX_STACK_OVERFLOW, "Calls used up the local memory of the thread");
	}
	/* the arguments of a call to oneself stand in the frame that is kept aside, and stay readable there */
	if (to->recursive)
		save_frame(w, i, mask, callee);
	copy_parameters(w, mask, i->call->arguments, i->call->n_arguments, from, to);
	if (!w->returns[g->depth])
		w->returns[g->depth] = xcalloc(LANES, sizeof **w->returns);
	EACH_IN(mask, l) {
		((u64 *)(w->frame + to->local_pointer))[l] = locals[l];
		if (w->block->local_initialised)
			memset(w->block->local_initialised + (size_t)(w->number * LANES + l) * w->block->local_bytes
				+ locals[l], 0, to->local_bytes);
		w->returns[g->depth][l] = g->pc;
		w->depth[l]++;
		if (w->allocated)		/* what the callee allocates is freed when it returns */
			w->allocated[g->depth + 1][l] = w->allocated[g->depth][l];
	}
}

static bool
same_sizes(const struct variable *formal, uint32_t n_formal, const struct call_argument *list, uint32_t n)
{
	bool same = n == n_formal;
	for (uint32_t k = 0; same && k < n; k++, formal = formal->next)
		same = formal->bytes == list[k].bytes;
	return same;
}

/* The function of the image whose address this is. */
static bool
function_at(const struct image *im, uint64_t pointer, uint32_t *index)
{
	uint32_t low = 0, high = im->n_functions;
	uint64_t number = (pointer - CODE_WINDOW) / 16 - 1;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (im->functions[im->by_number[middle]].function->number < number)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == im->n_functions)
		return false;
	*index = im->by_number[low];
	return function_address(im->functions[*index].function) == pointer && pointer;
}

bool
call(struct warp *w, struct group *g, const struct insn *i, uint32_t mask)
{
	const struct image *im = w->core->image;
	uint32_t rest = g->mask & ~mask, todo = mask;
	while (todo) {
		uint32_t callee = i->call->callee, lanes = todo;
		if (i->kind == K_CALL_POINTER) {
			uint64_t pointer = REG(u64, i->a)[__builtin_ctz(todo)];
			lanes = 0;
			EACH_IN(todo, l)
				lanes |= (uint32_t)(REG(u64, i->a)[l] == pointer) << l;
			if (!function_at(im, pointer, &callee))
				bad_call(w, i, lanes, PTX_BAD_CALL, "A call through a pointer that is no function");
			const struct function *f = im->functions[callee].function;
			if (!same_sizes(f->params, f->n_params, i->call->arguments, i->call->n_arguments)
				|| !same_sizes(f->returns, f->n_returns, i->call->returns, i->call->n_returns))
				bad_call(w, i, lanes, PTX_BAD_CALL, "A call through a pointer to a function with other parameters");
			const struct variable *v = f->params;
			for (uint32_t k = 0; k < f->n_params; k++, v = v->next)
				i->call->arguments[k].to = v->offset;
		}
		enter(w, g, i, lanes, callee);
		set_keys(w, lanes, KEY(g->depth + 1, im->functions[callee].entry));
		todo &= ~lanes;
	}
	return split(w, g, 0, 0, rest);
}

/* The lane goes back behind its call, with the values that the function returns. */
static void
return_lane(struct warp *w, uint32_t lane, uint32_t depth, const struct image_function *from)
{
	const struct image *im = w->core->image;
	uint32_t pc = w->returns[depth - 1][lane];
	const struct insn *i = &w->core->code[pc];
	const struct image_function *to = &im->functions[i->call->caller];
	char values[256], *kept = NULL;
	uint32_t total = 0;
	for (uint32_t k = 0; k < i->call->n_returns; k++)
		total += i->call->returns[k].bytes;
	char *at = total <= sizeof values ? values : (kept = xmalloc(total));
	const struct variable *v = from->function->returns;
	for (uint32_t k = 0, n = 0; k < i->call->n_returns; n += i->call->returns[k++].bytes, v = v->next)
		memcpy(at + n, w->frame + from->area + (size_t)lane * from->area_bytes + v->offset, i->call->returns[k].bytes);
	if (from->recursive)
		restore_frame(w, lane, from);
	for (uint32_t k = 0, n = 0; k < i->call->n_returns; n += i->call->returns[k++].bytes)
		memcpy(w->frame + to->area + (size_t)lane * to->area_bytes + i->call->returns[k].to, at + n,
			i->call->returns[k].bytes);
	free(kept);
	w->depth[lane]--;
	w->key[lane] = KEY(depth - 1, pc + 1);
}

bool
leave(struct warp *w, struct group *g, uint32_t mask)
{
	const struct image *im = w->core->image;
	uint32_t f = 0;
	while (g->pc < im->functions[f].entry || g->pc >= im->functions[f].end)
		f++;
	EACH_IN(mask, l)
		return_lane(w, l, g->depth, &im->functions[f]);
	return split(w, g, 0, 0, g->mask & ~mask);
}

void
block_release(struct block *block)
{
	for (uint32_t n = 0; n < block->n_warps; n++) {
		struct warp *w = &block->warps[n];
		for (uint32_t l = 0; l < LANES; l++)
			while (w->saved[l])
				drop_saved(w, l);
		for (int d = 0; d < MAX_CALL_DEPTH; d++)
			free(w->returns[d]);
		memset(w->returns, 0, sizeof w->returns);
	}
}
