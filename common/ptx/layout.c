/* In: the drafts of one function, with virtual registers. Out: its code in the image.
 *
 * Blocks are put in an order in which every loop is contiguous and every block stands before the blocks that
 * it leads to, save for back edges. The scheduler always runs the lanes with the lowest instruction index, so
 * in this order lanes that diverged meet again at the first place they can (thread frontiers; Diamos et al.,
 * MICRO 2011). Registers then get slots by linear scan over their live ranges: a slot is shared by registers
 * that are never live together, which keeps frames in the first-level cache. Two registers of one
 * instruction never share, so handlers need not care about overlap. */
#include <string.h>

#include "base/die.h"
#include "ptx/decode.h"
#include "ptx/provenance.h"

enum { MAX_LOOP_DEPTH = 100, N_CLASSES = 5 };

struct flow_block {
	uint32_t start, end;			/* drafts */
	uint32_t *successors;
	uint32_t n_successors;
	uint32_t code_start, code_end;		/* in the image, once placed; end excluded */
	bool falls_through, placed;
};

struct layout {
	struct decoder *d;
	struct flow_block *blocks;
	uint32_t n_blocks;
	uint32_t *block_of;			/* draft to block */
	uint32_t *order, n_order;
	uint32_t *first_use;			/* draft to its first entry in d->uses */
	uint32_t *code_of;			/* draft to image code */
	/* ordering */
	uint32_t *region, n_regions;		/* block to the set of blocks being ordered; 0 when none */
	uint32_t *visit, *low, visits;
	uint32_t *stack, n_stack;
	bool *stacked;
	/* registers */
	uint32_t *dense, n_dense;		/* register + 1 is there: its number */
	uint32_t *registers;			/* number to register */
	uint32_t *first, *last;			/* live range in image code, by number */
	uint32_t *slot;				/* place in its class */
	uint32_t class_slots[N_CLASSES];
	struct provenance provenance;
};

static bool
ends_block(const struct insn *i)
{
	return i->kind == K_BRANCH || i->kind == K_BRANCH_TABLE || i->kind == K_RETURN || i->kind == K_EXIT;
}

/* Guards are not in the drafts yet; they are the first use of their draft. */
static bool
is_guarded(const struct layout *l, uint32_t draft)
{
	uint32_t u = l->first_use[draft];
	return u < l->d->n_uses && l->d->uses[u].insn == draft && l->d->uses[u].field == F_GUARD;
}

static void
find_blocks(struct layout *l, const uint32_t *starts)
{
	struct decoder *d = l->d;
	uint32_t n = d->n_drafts;
	bool *leader = xcalloc(n + 1, sizeof *leader);
	leader[0] = true;
	for (uint32_t k = 0; k < n; k++) {
		struct insn *i = &d->drafts[k];
		if (i->kind == K_BRANCH) {
			i->target = starts[i->target];
			leader[i->target] = true;
		} else if (i->kind == K_BRANCH_TABLE) {
			for (int64_t t = 0; t < i->imm; t++) {
				i->list[t] = starts[i->list[t]];
				leader[i->list[t]] = true;
			}
		}
		if (ends_block(i))
			leader[k + 1] = true;
	}
	l->blocks = xcalloc(n + 1, sizeof *l->blocks);
	l->block_of = xmalloc((n + 1) * sizeof *l->block_of);
	for (uint32_t k = 0; k < n; k++) {
		if (leader[k])
			l->blocks[l->n_blocks++].start = k;
		l->block_of[k] = l->n_blocks - 1;
		l->blocks[l->n_blocks - 1].end = k + 1;
	}
	free(leader);
}

static void
add_successor(struct layout *l, struct flow_block *b, uint32_t draft)
{
	uint32_t block = l->block_of[draft];
	for (uint32_t k = 0; k < b->n_successors; k++)
		if (b->successors[k] == block)
			return;
	b->successors[b->n_successors++] = block;
}

static void
find_successors(struct layout *l)
{
	struct decoder *d = l->d;
	for (uint32_t k = 0; k < l->n_blocks; k++) {
		struct flow_block *b = &l->blocks[k];
		struct insn *i = &d->drafts[b->end - 1];
		bool guarded = is_guarded(l, b->end - 1);
		uint32_t targets = i->kind == K_BRANCH_TABLE ? (uint32_t)i->imm : i->kind == K_BRANCH;
		b->falls_through = guarded || !ends_block(i);
		b->successors = decode_alloc(d, (targets + 1) * sizeof *b->successors);
		if (i->kind == K_BRANCH)
			add_successor(l, b, i->target);
		for (uint32_t t = 0; i->kind == K_BRANCH_TABLE && t < targets && t < 4096; t++)
			add_successor(l, b, i->list[t]);
		if (b->falls_through)
			add_successor(l, b, b->end);
	}
}

/* ---- order of blocks */

struct visit_frame {
	uint32_t block, next;
};

static void order_region(struct layout *l, const uint32_t *blocks, uint32_t n, uint32_t depth);

static uint32_t
next_successor(const struct layout *l, struct visit_frame *f, uint32_t region)
{
	/* later blocks first: the order of finishing, reversed, then stays close to that of the text */
	const struct flow_block *b = &l->blocks[f->block];
	uint32_t best = NO_REG;
	for (uint32_t k = 0; k < b->n_successors; k++) {
		uint32_t s = b->successors[k];
		if (l->region[s] == region && s < f->next && (best == NO_REG || s > best))
			best = s;
	}
	f->next = best;
	return best;
}

/* Tarjan's strongly connected components from one root, without recursion. Components are appended to
 * `found`, each as its length and its members, the root of the component first. */
static void
components(struct layout *l, uint32_t root, uint32_t region, uint32_t *found, uint32_t *n_found)
{
	struct visit_frame *frames = xmalloc((l->n_blocks + 1) * sizeof *frames);
	uint32_t depth = 0;
	frames[depth++] = (struct visit_frame){ root, NO_REG };
	l->visit[root] = l->low[root] = ++l->visits;
	l->stack[l->n_stack++] = root;
	l->stacked[root] = true;
	while (depth) {
		struct visit_frame *f = &frames[depth - 1];
		uint32_t s = f->next ? next_successor(l, f, region) : NO_REG, b = f->block;
		if (s != NO_REG) {
			if (!l->visit[s]) {
				l->visit[s] = l->low[s] = ++l->visits;
				l->stack[l->n_stack++] = s;
				l->stacked[s] = true;
				frames[depth++] = (struct visit_frame){ s, NO_REG };
			} else if (l->stacked[s] && l->visit[s] < l->low[b]) {
				l->low[b] = l->visit[s];
			}
			continue;
		}
		depth--;
		if (depth && l->low[b] < l->low[frames[depth - 1].block])
			l->low[frames[depth - 1].block] = l->low[b];
		if (l->low[b] != l->visit[b])
			continue;
		uint32_t at = l->n_stack;
		while (l->stack[at - 1] != b)
			at--;
		at--;
		found[(*n_found)++] = l->n_stack - at;
		for (uint32_t k = at; k < l->n_stack; k++) {
			l->stacked[l->stack[k]] = false;
			found[(*n_found)++] = l->stack[k];
		}
		l->n_stack = at;
	}
	free(frames);
}

static void
order_component(struct layout *l, const uint32_t *members, uint32_t n, uint32_t depth)
{
	l->order[l->n_order++] = members[0];	/* a loop's head, then its body */
	if (n > 1)
		order_region(l, members + 1, n - 1, depth + 1);
}

static int
by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

static void
order_region(struct layout *l, const uint32_t *blocks, uint32_t n, uint32_t depth)
{
	uint32_t *sorted = xmalloc(n * sizeof *sorted), *found = xmalloc((size_t)n * 2 * sizeof *found), n_found = 0;
	memcpy(sorted, blocks, n * sizeof *sorted);
	qsort(sorted, n, sizeof *sorted, by_number);
	if (depth > MAX_LOOP_DEPTH) {
		memcpy(l->order + l->n_order, sorted, n * sizeof *sorted);
		l->n_order += n;
	} else {
		uint32_t region = ++l->n_regions;
		for (uint32_t k = 0; k < n; k++) {
			l->region[sorted[k]] = region;
			l->visit[sorted[k]] = 0;
		}
		/* the last root's components come first in the result, so the first block is visited last */
		for (uint32_t k = n; k-- > 0;)
			if (!l->visit[sorted[k]] && (depth || k == 0))
				components(l, sorted[k], region, found, &n_found);
		/* found in reverse topological order: walk it backwards, by the lengths that stand before */
		uint32_t *heads = xmalloc((n + 1) * sizeof *heads), n_heads = 0;
		for (uint32_t at = 0; at < n_found; at += found[at] + 1)
			heads[n_heads++] = at;
		while (n_heads--)
			order_component(l, &found[heads[n_heads] + 1], found[heads[n_heads]], depth);
		free(heads);
	}
	free(sorted);
	free(found);
}

static void
order_blocks(struct layout *l)
{
	uint32_t n = l->n_blocks, *all = xmalloc((n + 1) * sizeof *all);
	l->order = xcalloc(n + 1, sizeof *l->order);
	l->region = xcalloc(n + 1, sizeof *l->region);
	l->visit = xcalloc(n + 1, sizeof *l->visit);
	l->low = xcalloc(n + 1, sizeof *l->low);
	l->stack = xcalloc(n + 1, sizeof *l->stack);
	l->stacked = xcalloc(n + 1, sizeof *l->stacked);
	for (uint32_t k = 0; k < n; k++)
		all[k] = k;
	order_region(l, all, n, 0);		/* from block 0 alone: what it does not lead to is left out */
	free(all);
}

/* ---- code */

static struct insn *
append(struct layout *l, const struct insn *draft, const struct statement *s)
{
	struct decoder *d = l->d;
	struct image *im = d->image;
	if (im->n_code == d->cap_code) {
		d->cap_code = d->cap_code ? d->cap_code * 2 : 1024;
		im->code = xrealloc(im->code, d->cap_code * sizeof *im->code);
		im->sources = xrealloc(im->sources, d->cap_code * sizeof *im->sources);
	}
	im->sources[im->n_code] = (struct source){ .line = s->line, .location = s->location, .opcode = s->opcode,
		.function = d->function };
	provenance_mark(&l->provenance, s, &im->sources[im->n_code]);
	im->code[im->n_code] = *draft;
	return &im->code[im->n_code++];
}

static void
emit(struct layout *l)
{
	struct decoder *d = l->d;
	for (uint32_t k = 0; k < l->n_order; k++) {
		uint32_t number = l->order[k];
		struct flow_block *b = &l->blocks[number];
		b->code_start = d->image->n_code;
		b->placed = true;
		for (uint32_t at = b->start; at < b->end; at++) {
			l->code_of[at] = d->image->n_code;
			append(l, &d->drafts[at], d->draft_statements[at]);
		}
		const struct insn *end = &d->drafts[b->end - 1];
		struct insn extra = { .kind = K_JOIN, .guard = NO_REG, .flag = 1, .target = b->end };
		bool next = k + 1 < l->n_order && l->order[k + 1] == number + 1;
		if (b->falls_through && !next)
			extra.kind = K_BRANCH;
		if (b->falls_through && (!next || end->kind == K_RUN))
			append(l, &extra, d->draft_statements[b->end - 1]);
		b->code_end = d->image->n_code;
	}
	struct image_function *f = &d->image->functions[d->current];
	for (uint32_t k = f->entry; k < d->image->n_code; k++) {
		struct insn *i = &d->image->code[k];
		if (i->kind == K_BRANCH)
			i->target = l->blocks[l->block_of[i->target]].code_start;
		for (int64_t t = 0; i->kind == K_BRANCH_TABLE && t < i->imm; t++)
			i->list[t] = l->blocks[l->block_of[i->list[t]]].code_start;
	}
	f->end = d->image->n_code;
}

/* ---- live ranges */

static unsigned
class_of(const struct layout *l, uint32_t reg)
{
	unsigned bytes = reg == l->d->local_pointer ? 8 : type_bytes((enum type)l->d->function->register_types[reg]);
	return bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : bytes == 8 ? 3 : 4;
}

static void
number_registers(struct layout *l)
{
	struct decoder *d = l->d;
	l->dense = xcalloc(d->function->n_registers + 2, sizeof *l->dense);
	l->registers = xmalloc((d->n_uses + 1) * sizeof *l->registers);
	for (uint32_t u = 0; u < d->n_uses; u++) {
		uint32_t reg = d->uses[u].reg;
		if (reg & CONSTANT_BIT || reg == d->local_pointer || l->dense[reg])
			continue;
		l->registers[l->n_dense] = reg;
		l->dense[reg] = ++l->n_dense;
	}
	l->first = xmalloc((l->n_dense + 1) * sizeof *l->first);
	l->last = xcalloc(l->n_dense + 1, sizeof *l->last);
	l->slot = xcalloc(l->n_dense + 1, sizeof *l->slot);
	memset(l->first, 0xff, (l->n_dense + 1) * sizeof *l->first);
}

static void
extend(struct layout *l, uint32_t number, uint32_t place)
{
	if (place < l->first[number])
		l->first[number] = place;
	if (place > l->last[number])
		l->last[number] = place;
}

static bool
dense_number(const struct layout *l, const struct use *u, uint32_t *number)
{
	if (u->reg & CONSTANT_BIT || u->reg == l->d->local_pointer)
		return false;
	*number = l->dense[u->reg] - 1;
	return true;
}

/* What a block reads before it writes, and what it writes for sure. */
static void
local_sets(struct layout *l, const struct flow_block *b, uint64_t *reads, uint64_t *writes)
{
	for (uint32_t at = b->start; at < b->end; at++) {
		bool guarded = is_guarded(l, at);
		for (int definition = 0; definition < 2; definition++)
			for (uint32_t u = l->first_use[at], n; u < l->d->n_uses && l->d->uses[u].insn == at; u++) {
				const struct use *use = &l->d->uses[u];
				if (use->definition != definition || !dense_number(l, use, &n))
					continue;
				uint64_t bit = 1ull << (n & 63);
				if ((!definition || guarded) && !(writes[n >> 6] & bit))
					reads[n >> 6] |= bit;
				if (definition && !guarded)
					writes[n >> 6] |= bit;
			}
	}
}

static void
live_ranges(struct layout *l, uint32_t words)
{
	size_t row = words, size = row * l->n_blocks;
	uint64_t *in = xcalloc(size + 1, 8), *out = xcalloc(size + 1, 8), *writes = xcalloc(size + 1, 8);
	for (uint32_t k = 0; k < l->n_order; k++)
		local_sets(l, &l->blocks[l->order[k]], in + row * l->order[k], writes + row * l->order[k]);
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t k = l->n_order; k-- > 0;) {
			uint32_t n = l->order[k];
			const struct flow_block *b = &l->blocks[n];
			for (uint32_t w = 0; w < words; w++) {
				uint64_t leaving = 0;
				for (uint32_t s = 0; s < b->n_successors; s++)
					leaving |= in[row * b->successors[s] + w];
				uint64_t entering = in[row * n + w] | (leaving & ~writes[row * n + w]);
				changed |= entering != in[row * n + w];
				in[row * n + w] = entering;
				out[row * n + w] = leaving;
			}
		}
	}
	for (uint32_t k = 0; k < l->n_order; k++) {
		uint32_t n = l->order[k];
		const struct flow_block *b = &l->blocks[n];
		for (uint32_t w = 0; w < words; w++) {
			for (uint64_t rest = in[row * n + w]; rest; rest &= rest - 1)
				extend(l, w * 64 + (uint32_t)__builtin_ctzll(rest), b->code_start);
			for (uint64_t rest = out[row * n + w]; rest; rest &= rest - 1)
				extend(l, w * 64 + (uint32_t)__builtin_ctzll(rest), b->code_end - 1);
		}
	}
	free(in);
	free(out);
	free(writes);
}

static void
find_ranges(struct layout *l)
{
	struct decoder *d = l->d;
	uint32_t words = (l->n_dense + 63) / 64, n;
	const struct image_function *f = &d->image->functions[d->current];
	for (uint32_t u = 0; u < d->n_uses; u++)
		if (dense_number(l, &d->uses[u], &n) && l->code_of[d->uses[u].insn] != NO_REG)
			extend(l, n, l->code_of[d->uses[u].insn]);
	if ((uint64_t)words * l->n_blocks <= 8 << 20)
		live_ranges(l, words);
	else					/* too much to analyse: every register has its own slot */
		for (n = 0; n < l->n_dense; n++) {
			l->first[n] = f->entry;
			l->last[n] = f->end - 1;
		}
}

/* Linear scan: at each instruction the slots of ranges that ended before it are free again. */
static void
assign_slots(struct layout *l)
{
	const struct image_function *f = &l->d->image->functions[l->d->current];
	uint32_t length = f->end - f->entry;
	uint32_t *begin = xmalloc((length + 1) * sizeof *begin), *end = xmalloc((length + 1) * sizeof *end);
	uint32_t *next_begin = xmalloc((l->n_dense + 1) * sizeof *begin), *next_end = xmalloc((l->n_dense + 1) * sizeof *end);
	uint32_t *free_slots[N_CLASSES], n_free[N_CLASSES] = { 0 };
	memset(begin, 0xff, (length + 1) * sizeof *begin);
	memset(end, 0xff, (length + 1) * sizeof *end);
	for (unsigned c = 0; c < N_CLASSES; c++)
		free_slots[c] = xmalloc((l->n_dense + 1) * sizeof **free_slots);
	for (uint32_t n = 0; n < l->n_dense; n++) {
		if (l->first[n] == NO_REG)	/* only in code that nothing leads to */
			continue;
		uint32_t from = l->first[n] - f->entry, to = l->last[n] - f->entry;
		next_begin[n] = begin[from];
		begin[from] = n;
		next_end[n] = end[to];
		end[to] = n;
	}
	for (uint32_t at = 0; at < length; at++) {
		for (uint32_t n = begin[at]; n != NO_REG; n = next_begin[n]) {
			unsigned c = class_of(l, l->registers[n]);
			l->slot[n] = n_free[c] ? free_slots[c][--n_free[c]] : l->class_slots[c]++;
		}
		for (uint32_t n = end[at]; n != NO_REG; n = next_end[n]) {
			unsigned c = class_of(l, l->registers[n]);
			free_slots[c][n_free[c]++] = l->slot[n];
		}
	}
	for (unsigned c = 0; c < N_CLASSES; c++)
		free(free_slots[c]);
	free(begin);
	free(end);
	free(next_begin);
	free(next_end);
}

static void
defer(struct decoder *d, struct use use)
{
	if (d->n_deferred == d->cap_deferred) {
		d->cap_deferred = d->cap_deferred ? d->cap_deferred * 2 : 1024;
		d->deferred = xrealloc(d->deferred, d->cap_deferred * sizeof *d->deferred);
	}
	d->deferred[d->n_deferred++] = use;
}

static void
patch_fields(struct layout *l, const uint32_t *class_offset)
{
	static const uint32_t bytes[N_CLASSES] = { 4, 64, 128, 256, 512 };
	struct decoder *d = l->d;
	struct image_function *f = &d->image->functions[d->current];
	for (uint32_t u = 0; u < d->n_uses; u++) {
		struct use use = d->uses[u];
		uint32_t n;
		use.insn = l->code_of[use.insn];
		if (use.insn == NO_REG)
			continue;
		if (use.reg & CONSTANT_BIT) {
			defer(d, use);
		} else if (!dense_number(l, &use, &n)) {
			set_field(&d->image->code[use.insn], use.field, f->local_pointer);
		} else {
			unsigned c = class_of(l, use.reg);
			set_field(&d->image->code[use.insn], use.field, class_offset[c] + l->slot[n] * bytes[c]);
		}
	}
}

static bool
lay_out_frame(struct layout *l)
{
	static const uint32_t bytes[N_CLASSES] = { 4, 64, 128, 256, 512 };
	struct decoder *d = l->d;
	struct image_function *f = &d->image->functions[d->current];
	uint32_t class_offset[N_CLASSES];
	uint64_t at = d->image->frame_bytes;
	f->frame = (uint32_t)at;
	f->local_pointer = (uint32_t)at;
	at += 256;
	for (unsigned c = N_CLASSES; c-- > 0;) {
		class_offset[c] = f->class_offset[c] = (uint32_t)at;
		f->class_slots[c] = l->class_slots[c];
		at += (uint64_t)l->class_slots[c] * bytes[c];
	}
	at = (at + 63) / 64 * 64;
	f->area = (uint32_t)at;
	f->area_bytes = (d->function->call_param_bytes + 15) / 16 * 16;
	at += (uint64_t)f->area_bytes * LANES;
	if (at > 64 << 20)
		return decode_fail(d, "more registers than the PTX machine can take");
	f->frame_bytes = (uint32_t)at - f->frame;
	d->image->frame_bytes = (uint32_t)at;
	patch_fields(l, class_offset);
	return true;
}

static void
index_uses(struct layout *l)
{
	struct decoder *d = l->d;
	uint32_t u = 0;
	l->first_use = xmalloc((d->n_drafts + 1) * sizeof *l->first_use);
	l->code_of = xmalloc((d->n_drafts + 1) * sizeof *l->code_of);
	memset(l->code_of, 0xff, (d->n_drafts + 1) * sizeof *l->code_of);
	for (uint32_t k = 0; k < d->n_drafts; k++) {
		l->first_use[k] = u;
		while (u < d->n_uses && d->uses[u].insn == k)
			u++;
	}
}

bool
layout_function(struct decoder *d, const uint32_t *starts)
{
	struct layout l = { .d = d };
	d->image->functions[d->current].entry = d->image->n_code;
	index_uses(&l);
	find_blocks(&l, starts);
	find_successors(&l);
	order_blocks(&l);
	provenance_find(d->function, &l.provenance);
	emit(&l);
	provenance_release(&l.provenance);
	number_registers(&l);
	find_ranges(&l);
	assign_slots(&l);
	bool fine = lay_out_frame(&l);
	free(l.blocks);
	free(l.block_of);
	free(l.order);
	free(l.first_use);
	free(l.code_of);
	free(l.region);
	free(l.visit);
	free(l.low);
	free(l.stack);
	free(l.stacked);
	free(l.dense);
	free(l.registers);
	free(l.first);
	free(l.last);
	free(l.slot);
	return fine;
}
