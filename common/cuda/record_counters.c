/* In: a loaded object, before and after calls into it. Out: its counters, moved far ahead.
 * A solution that stops working after so many calls needs to count them; a word of its static memory that grows by the
 * same each time is such a counter, and no number of calls that can be tried is as high as one that it may wait for. */
#include "cuda/record_counters.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "base/die.h"

enum { NOTES = 3, MAX_SEGMENTS = 8, LOWEST_POINTER_BITS = 40 };
#define MAX_BYTES (16u << 20)

static struct {
	const void *function;
	uint8_t *segment[MAX_SEGMENTS];
	size_t bytes[MAX_SEGMENTS], all;
	int segments, notes;
	uint8_t *note[NOTES];		/* the last three, the newest last */
} watched;

static void
add_segment(uintptr_t start, uintptr_t end)
{
	if (end <= start || watched.segments == MAX_SEGMENTS)
		return;
	watched.segment[watched.segments] = (uint8_t *)start;
	watched.bytes[watched.segments++] = end - start;
	watched.all += end - start;
}

/* What the loader made read-only after it had relocated it is left out. */
static int
look_at_object(struct dl_phdr_info *info, size_t size, void *unused)
{
	uintptr_t fixed = 0, fixed_end = 0;
	bool found = false;

	(void)size, (void)unused;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + h->p_vaddr;

		found = found || (h->p_type == PT_LOAD && (uintptr_t)watched.function - start < h->p_memsz);
		if (h->p_type == PT_GNU_RELRO) {
			fixed = start & ~(uintptr_t)4095;
			fixed_end = (start + h->p_memsz) & ~(uintptr_t)4095;
		}
	}
	for (int i = 0; found && i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		uintptr_t start = (info->dlpi_addr + h->p_vaddr + 7) & ~(uintptr_t)7, end = start + (h->p_memsz & ~(size_t)7);

		if (h->p_type != PT_LOAD || !(h->p_flags & PF_W))
			continue;
		if (fixed_end <= start || fixed >= end) {
			add_segment(start, end);
		} else {
			add_segment(start, fixed);
			add_segment(fixed_end, end);
		}
	}
	return found;
}

bool
record_counters_watch(const void *function)
{
	watched.function = function;
	dl_iterate_phdr(look_at_object, NULL);
	if (!watched.all || watched.all > MAX_BYTES)
		return false;
	for (int i = 0; i < NOTES; i++)
		watched.note[i] = xcalloc(1, watched.all);
	return true;
}

void
record_counters_note(void)
{
	uint8_t *oldest = watched.note[0], *to = oldest;

	memmove(watched.note, watched.note + 1, (NOTES - 1) * sizeof *watched.note);
	watched.note[NOTES - 1] = oldest;
	for (int i = 0; i < watched.segments; i++) {
		memcpy(to, watched.segment[i], watched.bytes[i]);
		to += watched.bytes[i];
	}
	watched.notes++;
}

static uint32_t
word(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof value);
	return value;
}

/* Of the host or of the device: neither counts anything. */
static bool
is_pointer(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof value);
	return value >> LOWEST_POINTER_BITS && value >> 48 == 0;
}

bool
record_counters_jump(uint32_t calls)
{
	bool any = false;
	size_t at = 0;

	for (int s = 0; watched.notes >= NOTES && s < watched.segments; s++)
		for (size_t i = 0; i < watched.bytes[s]; i += sizeof(uint32_t), at += sizeof(uint32_t)) {
			uint32_t each = word(watched.note[2] + at) - word(watched.note[1] + at), now;

			if (!each || each != word(watched.note[1] + at) - word(watched.note[0] + at) ||
			    is_pointer(watched.note[2] + (at & ~(size_t)7)))
				continue;
			now = word(watched.segment[s] + i) + each * calls;
			memcpy(watched.segment[s] + i, &now, sizeof now);
			any = true;
		}
	return any;
}
