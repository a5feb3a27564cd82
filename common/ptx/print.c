/* In: calls of vprintf and __assertfail by lanes. Out: text in the machine's buffer, never on a stream of the
 * process; a finding for a failed assertion. Formats and strings are read through checked accesses, one
 * conversion at a time, and each conversion is handed to snprintf with a format built here. */
#include <string.h>

#include "ptx/machine.h"

enum { MAX_STRING = 4096, MAX_SPEC = 24, MAX_DIGITS = 3, COST_OF_CALL = 1024, COST_OF_CHARACTER = 48 };

/* Printing costs the budget what it takes in time, in lane instructions: a kernel that only prints would not end by it. */
static void
charge_text(struct machine_core *core, uint64_t calls, uint64_t characters)
{
	uint64_t cost = COST_OF_CALL * calls + COST_OF_CHARACTER * characters;

	if (cost > core->budget_left)
		longjmp(core->stop, PTX_BUDGET);
	core->budget_left -= cost;
}

/* Whether all numbers of a conversion are short: a field may be 999 characters wide, not a billion. */
static bool
short_numbers(const char *spec, size_t used)
{
	size_t digits = 0;

	for (size_t k = 0; k < used; k++) {
		digits = spec[k] >= '0' && spec[k] <= '9' ? digits + 1 : 0;
		if (digits > MAX_DIGITS)
			return false;
	}
	return true;
}

/* A NUL-terminated string of the device, at most MAX_STRING bytes of it. */
static void
device_string(const struct insn *i, struct warp *w, uint32_t lane, uint64_t address, struct buf *out)
{
	for (int n = 0; n < MAX_STRING; n++) {
		char c = *lane_pointer(i, w, lane, address + (uint64_t)n, 1, ACCESS_READ, PTX_SPACE_GENERIC);
		if (!c)
			return;
		buf_addc(out, c);
	}
}

static uint64_t
call_parameter(const struct insn *i, const struct warp *w, uint32_t lane, unsigned k)
{
	const struct image_function *f = &w->core->image->functions[i->imm];
	uint64_t value;
	memcpy(&value, w->frame + f->area + (size_t)lane * f->area_bytes + i->list[k], 8);
	return value;
}

struct arguments {
	uint64_t at;				/* generic address of the next one */
	unsigned count;
};

static uint64_t
next_argument(const struct insn *i, struct warp *w, uint32_t lane, struct arguments *a, unsigned bytes)
{
	uint64_t value = 0;
	a->at = (a->at + bytes - 1) & ~(uint64_t)(bytes - 1);
	memcpy(&value, lane_pointer(i, w, lane, a->at, bytes, ACCESS_READ, PTX_SPACE_GENERIC), bytes);
	a->at += bytes;
	a->count++;
	return value;
}

/* One conversion from its '%'. Returns the characters of the format used. */
static size_t
conversion(const struct insn *i, struct warp *w, uint32_t lane, const char *format, struct arguments *a, struct buf *out)
{
	char spec[MAX_SPEC + 8];
	size_t n = 1, used = 0;
	spec[used++] = '%';
	while (format[n] && strchr("-+ #0123456789.*", format[n]) && used < MAX_SPEC) {
		if (format[n] == '*')
			used += (size_t)snprintf(spec + used, 12, "%d", (int)next_argument(i, w, lane, a, 4) % 1000);
		else
			spec[used++] = format[n];
		n++;
	}
	bool wide = false;
	while (format[n] && strchr("hlzjtL", format[n])) {
		wide |= format[n] != 'h' && format[n] != 'L';
		n++;
	}
	char c = format[n], text[512] = "";
	if (!c)
		return n;
	if (used > 12 || !short_numbers(spec, used)) {
		spec[1] = 0;
		used = 1;
	}
	if (strchr("diouxX", c)) {
		uint64_t v = next_argument(i, w, lane, a, wide ? 8 : 4);
		memcpy(spec + used, (char[]){ 'l', 'l', c, 0 }, 4);
		snprintf(text, sizeof text, spec, strchr("di", c) && !wide ? (long long)(int32_t)v : (long long)v);
	} else if (strchr("fFeEgGaA", c)) {
		uint64_t bits = next_argument(i, w, lane, a, 8);
		double v;
		memcpy(&v, &bits, 8);
		memcpy(spec + used, (char[]){ c, 0 }, 2);
		snprintf(text, sizeof text, spec, v);
	} else if (c == 'c') {
		snprintf(text, sizeof text, "%c", (int)next_argument(i, w, lane, a, 4));
	} else if (c == 'p') {
		snprintf(text, sizeof text, "%#llx", (unsigned long long)next_argument(i, w, lane, a, 8));
	} else if (c == 's') {
		struct buf *string = &w->core->scratch[2];
		buf_reset(string);
		device_string(i, w, lane, next_argument(i, w, lane, a, 8), string);
		charge_text(w->core, 0, string->len);
		memcpy(spec + used, "s", 2);
		snprintf(text, sizeof text, spec, buf_str(string));
	} else {
		snprintf(text, sizeof text, "%%");
	}
	buf_adds(out, text);
	return n + 1;
}

static void
print_lane(const struct insn *i, struct warp *w, uint32_t lane)
{
	struct machine_core *core = w->core;
	struct buf *format = &core->scratch[0], *text = &core->scratch[1];
	struct arguments a = { call_parameter(i, w, lane, 1), 0 };
	buf_reset(format);
	buf_reset(text);
	device_string(i, w, lane, call_parameter(i, w, lane, 0), format);
	const char *f = buf_str(format);
	while (*f && text->len < MAX_STRING) {
		if (*f == '%')
			f += conversion(i, w, lane, f, &a, text);
		else
			buf_addc(text, *f++);
	}
	charge_text(core, 1, format->len + text->len);
	size_t room = core->options.max_output - core->output.len;
	buf_add(&core->output, buf_str(text), text->len < room ? text->len : room);
	const struct image_function *fn = &core->image->functions[i->imm];
	uint32_t printed = a.count;
	if (i->list[2] != NO_REG)
		memcpy(w->frame + fn->area + (size_t)lane * fn->area_bytes + i->list[2], &printed, 4);
}

void
print_call(const struct insn *i, struct warp *w, uint32_t mask, uint32_t wide)
{
	UNUSED(wide);
	EACH_IN(mask, lane)
		print_lane(i, w, lane);
}

void
assert_call(const struct insn *i, struct warp *w, uint32_t mask, uint32_t wide)
{
	UNUSED(wide);
	uint32_t lane = (uint32_t)__builtin_ctz(mask);
	struct buf *what = &w->core->scratch[0], *file = &w->core->scratch[1];
	buf_reset(what);
	buf_reset(file);
	device_string(i, w, lane, call_parameter(i, w, lane, 0), what);
	device_string(i, w, lane, call_parameter(i, w, lane, 1), file);
	unsigned line = (unsigned)call_parameter(i, w, lane, 2);
	struct finding_place place = { .check = PTX_MEMCHECK, .kind = PTX_ASSERT, .lane = lane };
	const char *slash = strrchr(buf_str(file), '/');
	report(w, i, &place, "Assertion \"%s\" failed (%s:%u)", buf_str(what), slash ? slash + 1 : buf_str(file), line);
	longjmp(w->core->stop, PTX_FAULT);
}
