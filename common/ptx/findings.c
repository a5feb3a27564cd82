/* In: a fault at an instruction, seen by a lane. Out: a list of findings, one for each (kind, place), with the
 * source line that .loc gave, the thread, the buffer and a sentence; repetitions only count. A place is a source line,
 * since a loop that was unrolled has it many times, or without lines what is touched. */
#include <stdarg.h>
#include <string.h>

#include "base/die.h"
#include "ptx/machine.h"

enum { N_PLACES = 4096 };

struct findings {
	struct ptx_finding *list;
	size_t count, max;
	uint64_t dropped;
	uint64_t dropped_places[N_PLACES / 64];	/* a bit by hash of what was dropped, so that it counts once */
	struct arena arena;
};

struct findings *
findings_new(size_t max)
{
	struct findings *f = xcalloc(1, sizeof *f);
	f->max = max;
	f->list = xcalloc(max, sizeof *f->list);
	return f;
}

void
findings_free(struct findings *f)
{
	if (!f)
		return;
	arena_release(&f->arena);
	free(f->list);
	free(f);
}

void
findings_reset(struct findings *f)
{
	arena_reset(&f->arena);
	f->count = 0;
	f->dropped = 0;
	memset(f->dropped_places, 0, sizeof f->dropped_places);
}

size_t
findings_count(const struct findings *f)
{
	return f->count;
}

const struct ptx_finding *
findings_at(const struct findings *f, size_t index)
{
	return index < f->count ? &f->list[index] : NULL;
}

/* The others keep their order. */
static void
remove_at(struct findings *f, size_t index)
{
	memmove(f->list + index, f->list + index + 1, (f->count - index - 1) * sizeof *f->list);
	f->count--;
}

void
findings_remove(struct findings *f, const char *message)
{
	for (size_t k = 0; k < f->count; k++)
		if (f->list[k].message == message) {
			remove_at(f, k);
			return;
		}
}

bool
ptx_is_warning(const struct ptx_finding *f)
{
	return f->warning;
}

size_t
findings_errors(const struct findings *f)
{
	size_t errors = 0;
	for (size_t k = 0; k < f->count; k++)
		errors += !ptx_is_warning(&f->list[k]);
	return errors;
}

static void
count_dropped(struct findings *f, const struct ptx_finding *one)
{
	uint32_t line = one->line ? one->line : one->ptx_line;
	uint32_t place = (line * PTX_N_KINDS + one->kind) % N_PLACES;
	f->dropped += !(f->dropped_places[place / 64] >> place % 64 & 1);
	f->dropped_places[place / 64] |= 1ull << place % 64;
}

static size_t
count_of_check(const struct findings *f, enum ptx_check check)
{
	size_t count = 0;
	for (size_t k = 0; k < f->count; k++)
		count += f->list[k].check == check;
	return count;
}

/* Which one of a full list gives way, f->count: none. An error is worth more than a warning, and the first of its check
 * more than one of several: a barrier that lacks is a race and a hundred reads of what nobody wrote. */
static size_t
to_give_way(const struct findings *f, const struct ptx_finding *new)
{
	bool first = !count_of_check(f, new->check);
	for (size_t k = f->count; k-- > 0;)
		if (f->list[k].warning >= new->warning && count_of_check(f, f->list[k].check) > 1
			&& (first || f->list[k].warning > new->warning))
			return k;
	for (size_t k = f->count; first && k-- > 0;)
		if (count_of_check(f, f->list[k].check) > 1 || f->list[k].warning > new->warning)
			return k;
	return f->count;
}

/* False when the list is full, and the new one no better than those in it. */
static bool
make_room(struct findings *f, const struct ptx_finding *new)
{
	if (f->count < f->max)
		return true;
	size_t k = to_give_way(f, new);
	count_dropped(f, k < f->count ? &f->list[k] : new);
	if (k == f->count)
		return false;
	remove_at(f, k);
	return true;
}

uint64_t
findings_dropped(const struct findings *f)
{
	return f->dropped;
}

const char *
findings_last_message(const struct findings *f)
{
	return f->count ? f->list[f->count - 1].message : "";
}

/* The buffer that an address belongs to or lies near. */
static const struct buffer *
near_buffer(const struct machine_core *core, uint64_t address)
{
	const struct buffer *best = NULL;
	uint64_t best_distance = 1ull << 30;
	for (uint32_t k = 0; k < core->n_buffers; k++) {
		const struct buffer *b = &core->buffers[k];
		uint64_t end = b->address + b->size;
		uint64_t distance = address < b->address ? b->address - address : address >= end ? address - end : 0;
		if (distance < best_distance) {
			best_distance = distance;
			best = b;
		}
	}
	return best;
}

static const struct shared_place *
shared_variable(const struct image *im, uint64_t offset, const struct variable *known)
{
	const struct shared_place *best = NULL;
	for (uint32_t k = 0; known && k < im->n_shared; k++)
		if (im->shared[k].variable == known)
			return &im->shared[k];
	for (uint32_t k = 0; k < im->n_shared; k++)
		if (im->shared[k].offset <= offset && (!best || im->shared[k].offset >= best->offset))
			best = &im->shared[k];
	return best;
}

/* What is touched at f->address, borrowed, and where in it; without a name when that is not known. */
static struct slice
memory_name(const struct machine_core *core, const struct variable *variable, const struct buffer *object, struct ptx_finding *f)
{
	f->offset_bytes = (int64_t)f->address;
	if (f->space == PTX_SPACE_SHARED) {
		const struct shared_place *p = shared_variable(core->image, f->address, variable);
		f->offset_bytes -= p ? p->offset : 0;
		return p ? p->variable->name : (struct slice){ NULL, 0 };
	}
	if (f->space != PTX_SPACE_GLOBAL && f->space != PTX_SPACE_CONST)
		return (struct slice){ NULL, 0 };
	const struct buffer *b = object ? object : near_buffer(core, f->address);
	f->offset_bytes -= b ? (int64_t)b->address : 0;
	return b ? (struct slice){ b->name, (uint32_t)strlen(b->name) } : (struct slice){ NULL, 0 };
}

/* Without its folders: where a compiler ran is nobody's business, and differs by machine. */
static const char *
file_name(const struct machine_core *core, uint32_t index)
{
	const char *path = index < core->module->n_files ? core->module->files[index] : NULL;
	const char *slash = path ? strrchr(path, '/') : NULL;
	return slash ? slash + 1 : path;
}

static void
name_place(struct findings *fs, const struct machine_core *core, const struct insn *i, struct ptx_finding *f)
{
	const struct source *s = &core->image->sources[i->place];
	const char *file = s->location.line ? file_name(core, s->location.file) : NULL;
	f->ptx_line = s->line;
	f->line = s->location.line;
	f->file = file ? arena_strdup(&fs->arena, file) : NULL;
	if (s->location.inlined_line) {
		file = file_name(core, s->location.inlined_file);
		f->inlined_file = file ? arena_strdup(&fs->arena, file) : NULL;
		f->inlined_line = s->location.inlined_line;
	}
}

static void
name_thread(const struct warp *w, uint32_t lane, struct ptx_finding *f)
{
	const struct block *b = w->block;
	uint32_t t = w->number * LANES + lane;
	memcpy(f->block, b->index, sizeof f->block);
	f->thread[0] = t % b->dim[0];
	f->thread[1] = t / b->dim[0] % b->dim[1];
	f->thread[2] = t / b->dim[0] / b->dim[1];
}

/* The other side of a race. */
static void
name_other(struct findings *fs, const struct warp *w, const struct finding_place *place, struct ptx_finding *f)
{
	const struct block *b = w->block;
	const struct source *s = &w->core->image->sources[place->other_place];
	uint32_t warp = place->other_who / LANES, t = warp % b->n_warps * LANES + place->other_who % LANES;
	uint32_t block = warp / b->n_warps;
	f->pair = true;
	f->other_block[0] = block % b->grid[0];
	f->other_block[1] = block / b->grid[0] % b->grid[1];
	f->other_block[2] = block / b->grid[0] / b->grid[1];
	f->other_thread[0] = t % b->dim[0];
	f->other_thread[1] = t / b->dim[0] % b->dim[1];
	f->other_thread[2] = t / b->dim[0] / b->dim[1];
	f->other_line = s->location.line;
	const char *file = s->location.line ? file_name(w->core, s->location.file) : NULL;
	f->other_file = file ? arena_strdup(&fs->arena, file) : NULL;
}

static void
add_other(const struct ptx_finding *f, struct buf *m)
{
	if (!f->pair)
		return;
	buf_addf(m, "; the other is block (%u,%u,%u) thread (%u,%u,%u)", f->other_block[0], f->other_block[1], f->other_block[2],
		f->other_thread[0], f->other_thread[1], f->other_thread[2]);
	if (f->other_file)
		buf_addf(m, " at %s:%u", f->other_file, f->other_line);
}

static void
write_message(struct findings *fs, const struct machine_core *core, const struct insn *i, struct ptx_finding *f,
	const struct buf *what)
{
	struct buf m = BUF_INIT;
	const struct source *s = &core->image->sources[i->place];
	buf_addf(&m, "%s", buf_str(what));
	buf_addf(&m, ", in block (%u,%u,%u) thread (%u,%u,%u) of kernel %s", f->block[0], f->block[1], f->block[2],
		f->thread[0], f->thread[1], f->thread[2], f->kernel);
	if (f->file)
		buf_addf(&m, " at %s:%u", f->file, f->line);
	if (f->inlined_line && f->inlined_file)
		buf_addf(&m, ", inlined at %s:%u", f->inlined_file, f->inlined_line);
	add_other(f, &m);
	buf_addf(&m, " (%.*s, line %u of the PTX).", (int)(s->opcode.length > 60 ? 60 : s->opcode.length), s->opcode.at, s->line);
	f->message = arena_strndup(&fs->arena, m.data, m.len);
	buf_release(&m);
}

/* Is it the place of the finding? */
static bool
same_place(const struct ptx_finding *f, const struct ptx_finding *new, const struct source *s, struct slice buffer)
{
	if (f->kind != new->kind || f->warning != new->warning || f->space != new->space || strcmp(f->kernel, new->kernel))
		return false;
	if (f->line)
		return f->line == s->location.line && f->inlined_line == s->location.inlined_line;
	return f->ptx_line == s->line || (f->buffer && strlen(f->buffer) == buffer.length
		&& !memcmp(f->buffer, buffer.at, buffer.length));
}

const char *
report(struct warp *w, const struct insn *i, const struct finding_place *place, const char *format, ...)
{
	struct machine_core *core = w->core;
	struct findings *fs = core->findings;
	const struct source *source = &core->image->sources[i->place];
	struct ptx_finding new = { .check = place->check, .kind = place->kind, .warning = place->warning, .space = place->space,
		.address = place->address, .size_bytes = place->size, .count = 1, .kernel = core->image->kernel->public.name,
		.line = source->location.line, .ptx_line = source->line };
	struct slice buffer = { NULL, 0 };
	if (place->size)
		buffer = memory_name(core, source->variable, place->object, &new);
	for (size_t k = 0; k < fs->count; k++)
		if (same_place(&fs->list[k], &new, source, buffer)) {
			fs->list[k].count++;
			return NULL;
		}
	if (!make_room(fs, &new))
		return NULL;
	struct ptx_finding *f = &fs->list[fs->count];
	*f = new;
	f->kernel = arena_strdup(&fs->arena, new.kernel);
	name_thread(w, place->lane, f);
	name_place(fs, core, i, f);
	if (buffer.at)
		f->buffer = arena_strndup(&fs->arena, buffer.at, buffer.length);
	if (place->pair)
		name_other(fs, w, place, f);
	struct buf what = BUF_INIT;
	va_list args;
	va_start(args, format);
	buf_vaddf(&what, format, args);
	va_end(args);
	if (f->buffer)
		buf_addf(&what, " (byte %lld of %s)", (long long)f->offset_bytes, f->buffer);
	write_message(fs, core, i, f, &what);
	buf_release(&what);
	return fs->list[fs->count++].message;
}

void
report_never_written(struct findings *fs, const struct buffer *b, uint64_t first_byte, uint32_t element_bytes,
	const char *message)
{
	struct ptx_finding new = { .check = PTX_INITCHECK, .kind = PTX_NEVER_WRITTEN, .warning = true, .kernel = "",
		.space = PTX_SPACE_GLOBAL, .ptx_line = (uint32_t)(b->address >> 8), .offset_bytes = (int64_t)first_byte,
		.address = b->address + first_byte, .size_bytes = element_bytes, .count = 1 };
	if (!make_room(fs, &new))
		return;
	new.ptx_line = 0;
	new.buffer = arena_strdup(&fs->arena, b->name);
	new.message = arena_strdup(&fs->arena, message);
	fs->list[fs->count++] = new;
}

void
whole_warp(struct warp *w, const struct insn *i, uint32_t mask)
{
	struct finding_place place = { .check = PTX_SYNCCHECK, .kind = PTX_EXITED_LANES_IN_MASK };

	if (mask == FULL)
		return;
	place.lane = (uint32_t)__builtin_ctz(mask);
	report(w, i, &place, "A matrix instruction needs all lanes of the warp, and has 0x%08x", mask);
	longjmp(w->core->stop, PTX_FAULT);
}

/* ---- names */

const char *
ptx_check_name(enum ptx_check check)
{
	static const char *const names[] = { "memcheck", "initcheck", "synccheck", "racecheck" };
	return names[check];
}

const char *
ptx_kind_name(enum ptx_kind kind)
{
	static const char *const names[PTX_N_KINDS] = {
		[PTX_OUT_OF_BOUNDS] = "out_of_bounds", [PTX_MISALIGNED] = "misaligned", [PTX_USE_AFTER_FREE] = "use_after_free",
		[PTX_NO_MEMORY] = "no_memory", [PTX_READ_ONLY_WRITE] = "read_only_write",
		[PTX_STACK_OVERFLOW] = "stack_overflow", [PTX_BAD_CALL] = "bad_call",
		[PTX_UNINITIALISED_READ] = "uninitialised_read", [PTX_DIVERGENT_BARRIER] = "divergent_barrier",
		[PTX_BARRIER_MISMATCH] = "barrier_mismatch", [PTX_EXITED_LANES_IN_MASK] = "exited_lanes_in_mask",
		[PTX_LANE_NOT_IN_MASK] = "lane_not_in_mask", [PTX_TRAP] = "trap", [PTX_ASSERT] = "assert", [PTX_STUCK] = "deadlock",
		[PTX_WRITE_WRITE_RACE] = "write_write", [PTX_WRITE_READ_RACE] = "write_read",
		[PTX_READ_WRITE_RACE] = "read_write", [PTX_NEVER_WRITTEN] = "never_written",
	};
	return names[kind];
}

const char *
ptx_space_name(enum ptx_space space)
{
	static const char *const names[] = { "generic", "global", "shared", "local", "const", "param" };
	return names[space];
}

const char *
ptx_status_name(enum ptx_status status)
{
	static const char *const names[] = { "OK", "FAULT", "BUDGET", "UNSUPPORTED", "DEADLOCK", "REFUSED" };
	return names[status];
}
