/* The launch plan: parsed from a text that a stranger may have written, checked, and written again.
 *
 * In: text, the kept device code's tables, the buffers of the job. Out: struct plan, or a verdict with one sentence.
 * The one hard idea: nothing in the text is believed. Sizes come from the PTX, addresses from the job, and a list
 * of live ranges follows the allocations line by line, so each operation is judged when it is read. */
#include <ctype.h>
#include <stdlib.h>

#include "base/die.h"
#include "cuda/plan.h"

enum { MAX_SHARED_BYTES = 232448, MAX_FIELDS = 16 };
#define MAX_UPLOAD_BYTES (1u << 20)
#define MAX_SCRATCH_AT_ONCE (256ull << 20)

struct range {
	uint64_t address, bytes;
	bool live, writable, scratch;
};

struct parser {
	const char *at, *end;
	uint32_t line;
	const struct ptxinfo *info;
	const struct plan_buffer *job_buffers;
	uint32_t job_count;
	struct plan *plan;
	struct range *range;	/* buffers, variables, scratch, in order of appearance */
	uint32_t ranges, range_room, operation_room, kernel_room;
	uint64_t next_scratch;	/* first arena address that no buffer was given yet */
	uint64_t live_scratch, call_upload;
	bool recorded[PLAN_MAX_EVENTS], stream_known[PLAN_MAX_STREAMS];
	enum cuda_verdict verdict;
	struct buf *reason;
	const char *field[MAX_FIELDS];
	size_t field_length[MAX_FIELDS];
	int fields;
};

int
plan_place(uint64_t *next, uint64_t bytes, uint64_t *address)
{
	uint64_t room, slot;

	if (bytes > CUDA_REGION_BYTES - CUDA_GRANULE)
		return -1;
	room = (bytes + CUDA_GRANULE - 1) / CUDA_GRANULE * CUDA_GRANULE;
	if (!room)
		room = CUDA_GRANULE;
	slot = room + CUDA_GRANULE;
	if (*next < CUDA_ARENA || *next - CUDA_ARENA > CUDA_REGION_BYTES - slot)
		return -1;
	*address = *next + room - (bytes + CUDA_ALIGNMENT - 1) / CUDA_ALIGNMENT * CUDA_ALIGNMENT;
	if (!bytes)
		*address -= CUDA_ALIGNMENT;
	*next += slot;
	return 0;
}

/* ---- fields */
static int
bad(struct parser *p, const char *format, ...)
{
	va_list args;

	p->verdict = CUDA_SUSPICIOUS;
	if (p->reason) {
		buf_addf(p->reason, "the launch plan is not one that the recorder writes: line %u ", p->line);
		va_start(args, format);
		buf_vaddf(p->reason, format, args);
		va_end(args);
	}
	return -1;
}

/* Splits the next line at spaces; the last field takes what is left. 1, 0 at the end of the text, -1. Fields are not
 * NUL-terminated. */
static int
read_line(struct parser *p)
{
	const char *stop, *field;

	p->fields = 0;
	p->line++;
	if (p->at == p->end)
		return 0;
	stop = memchr(p->at, '\n', (size_t)(p->end - p->at));
	if (!stop)
		return bad(p, "does not end");
	for (field = p->at;;) {
		const char *space = p->fields == MAX_FIELDS - 1 ? NULL : memchr(field, ' ', (size_t)(stop - field));

		p->field[p->fields] = field;
		p->field_length[p->fields++] = (size_t)((space ? space : stop) - field);
		if (!space)
			break;
		field = space + 1;
	}
	p->at = stop + 1;
	return 1;
}

static bool
field_is(const struct parser *p, int i, const char *text)
{
	return i < p->fields && p->field_length[i] == strlen(text) && !memcmp(p->field[i], text, p->field_length[i]);
}

static int
need_fields(struct parser *p, int count)
{
	return p->fields == count ? 0 : bad(p, "has %d fields instead of %d", p->fields, count);
}

static int
field_number(struct parser *p, int i, uint64_t max, uint64_t *out)
{
	uint64_t value = 0;
	size_t n = p->field_length[i];

	if (!n || n > 20 || (n > 1 && p->field[i][0] == '0'))
		return bad(p, "has a malformed number");
	for (size_t c = 0; c < n; c++) {
		unsigned digit = (unsigned)(p->field[i][c] - '0');

		if (digit > 9 || value > (UINT64_MAX - digit) / 10)
			return bad(p, "has a malformed number");
		value = value * 10 + digit;
	}
	if (value > max)
		return bad(p, "has a number over its limit of %llu", (unsigned long long)max);
	*out = value;
	return 0;
}

static int
hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int
field_address(struct parser *p, int i, uint64_t *out)
{
	const char *text = p->field[i];
	size_t n = p->field_length[i];
	uint64_t value = 0;

	if (n < 3 || n > 18 || text[0] != '0' || text[1] != 'x' || (text[2] == '0' && n > 3))
		return bad(p, "has a malformed address");
	for (size_t c = 2; c < n; c++) {
		if (hex_digit(text[c]) < 0)
			return bad(p, "has a malformed address");
		value = value << 4 | (uint64_t)hex_digit(text[c]);
	}
	*out = value;
	return 0;
}

/* Exactly `bytes` bytes into memory of the plan's arena. */
static int
field_bytes(struct parser *p, int i, size_t bytes, const uint8_t **out)
{
	const char *text = p->field[i];
	uint8_t *copy;

	*out = NULL;
	if (!bytes)
		return field_is(p, i, "-") ? 0 : bad(p, "has bytes where there are none");
	if (p->field_length[i] != 2 * bytes)
		return bad(p, "has %zu digits for %zu bytes", p->field_length[i], bytes);
	copy = arena_alloc(&p->plan->arena, bytes);
	for (size_t b = 0; b < bytes; b++) {
		int high = hex_digit(text[2 * b]), low = hex_digit(text[2 * b + 1]);

		if (high < 0 || low < 0)
			return bad(p, "has malformed bytes");
		copy[b] = (uint8_t)(high << 4 | low);
	}
	*out = copy;
	return 0;
}

static int
field_stream(struct parser *p, int i, struct plan_operation *o)
{
	uint64_t stream;

	if (field_number(p, i, PLAN_MAX_STREAMS - 1, &stream) < 0)
		return -1;
	o->stream = (uint16_t)stream;
	if (stream > PLAN_GIVEN_STREAM && !p->stream_known[stream])
		return bad(p, "uses a stream that was not created");
	if (stream == PLAN_LEGACY_STREAM && o->kind <= PLAN_UPLOAD)
		p->plan->legacy_stream = true;
	if (stream >= p->plan->streams)
		p->plan->streams = (uint32_t)stream + 1;
	return 0;
}

/* ---- live memory */
static void
add_range(struct parser *p, struct range r)
{
	if (p->ranges == p->range_room) {
		p->range_room = p->range_room ? 2 * p->range_room : 64;
		p->range = xrealloc(p->range, p->range_room * sizeof r);
	}
	p->range[p->ranges++] = r;
}

static uint64_t
rows_bytes(const struct plan_memory *m, uint64_t pitch)
{
	return m->height && m->width ? (m->height - 1) * pitch + m->width : 0;
}

static int
check_inside(struct parser *p, uint64_t address, uint64_t bytes, bool write)
{
	if (!bytes)
		return 0;
	for (uint32_t i = 0; i < p->ranges; i++) {
		const struct range *r = &p->range[i];

		if (!r->live || address < r->address || address - r->address > r->bytes ||
		    bytes > r->bytes - (address - r->address))
			continue;
		if (write && !r->writable)
			return bad(p, "writes an input");
		return 0;
	}
	return bad(p, "names %llu bytes at 0x%llx, which are not inside one live buffer", (unsigned long long)bytes,
		(unsigned long long)address);
}

/* ---- lines, one function each */
static struct plan_operation *
add_operation(struct parser *p, enum plan_kind kind)
{
	struct plan *plan = p->plan;
	struct plan_operation *o;

	if (!plan->calls || plan->operations - plan->call_start[plan->calls - 1] == PLAN_MAX_OPERATIONS) {
		bad(p, plan->calls ? "is one operation too many" : "stands before the first call");
		return NULL;
	}
	if (plan->operations == p->operation_room) {
		struct plan_operation *wide;

		p->operation_room = p->operation_room ? 2 * p->operation_room : 16;
		wide = arena_alloc(&plan->arena, p->operation_room * sizeof *wide);
		if (plan->operations)
			memcpy(wide, plan->operation, plan->operations * sizeof *wide);
		plan->operation = wide;
	}
	o = &plan->operation[plan->operations++];
	*o = (struct plan_operation){ .kind = kind, .line = p->line };
	return o;
}

static int
line_profile(struct parser *p)
{
	if (need_fields(p, 2) < 0 || p->plan->profile || !p->field_length[1] || p->field_length[1] > 64)
		return bad(p, "names no profile");
	for (size_t i = 0; i < p->field_length[1]; i++) {
		char c = p->field[1][i];

		if (!islower((unsigned char)c) && !isdigit((unsigned char)c) && c != '-' && c != '_')
			return bad(p, "names no profile");
	}
	p->plan->profile = arena_strndup(&p->plan->arena, p->field[1], p->field_length[1]);
	return 0;
}

static int
line_buffer(struct parser *p)
{
	const struct plan_buffer *expected = p->plan->buffers < p->job_count ? &p->job_buffers[p->plan->buffers] : NULL;
	uint64_t address, bytes;

	if (need_fields(p, 5) < 0 || field_address(p, 3, &address) < 0 || field_number(p, 4, UINT64_MAX, &bytes) < 0)
		return -1;
	if (!expected || !field_is(p, 1, expected->output ? "output" : "input") || !field_is(p, 2, expected->name) ||
	    address != expected->address || bytes != expected->bytes)
		return bad(p, "is not the buffer that solve() was given");
	p->plan->buffers++;
	return 0;
}

static int
line_kernel(struct parser *p)
{
	struct plan *plan = p->plan;
	const struct ptxinfo_kernel *k;
	uint64_t index;
	char *name;

	if (need_fields(p, 3) < 0 || field_number(p, 1, UINT32_MAX, &index) < 0)
		return -1;
	if (index != plan->kernels || index >= PTXINFO_MAX_KERNELS || p->field_length[2] > PTXINFO_MAX_NAME)
		return bad(p, "is kernel %llu where %u was expected", (unsigned long long)index, plan->kernels);
	name = arena_strndup(&plan->arena, p->field[2], p->field_length[2]);
	k = strlen(name) == p->field_length[2] ? ptxinfo_kernel(p->info, name) : NULL;
	if (!k)
		return bad(p, "names a kernel that is not in the device code that nvcc made");
	for (uint32_t i = 0; i < plan->kernels; i++)
		if (!strcmp(plan->kernel[i].name, name))
			return bad(p, "names a kernel twice");
	if (plan->kernels == p->kernel_room) {
		struct plan_kernel *wide;

		p->kernel_room = p->kernel_room ? 2 * p->kernel_room : 8;
		wide = arena_alloc(&plan->arena, p->kernel_room * sizeof *wide);
		if (plan->kernels)
			memcpy(wide, plan->kernel, plan->kernels * sizeof *wide);
		plan->kernel = wide;
	}
	plan->kernel[plan->kernels] = (struct plan_kernel){ name, k->parameters, k->parameter_bytes,
		arena_alloc(&plan->arena, (k->parameters + 1) * sizeof *k->parameter), k->registers, k->static_shared };
	if (k->parameters)
		memcpy((void *)plan->kernel[plan->kernels].parameter, k->parameter, k->parameters * sizeof *k->parameter);
	plan->kernels++;
	return 0;
}

static int
line_call(struct parser *p)
{
	uint64_t index;

	if (need_fields(p, 2) < 0 || field_number(p, 1, PLAN_MAX_CALLS - 1, &index) < 0)
		return -1;
	if (index != p->plan->calls)
		return bad(p, "is call %llu where %u was expected", (unsigned long long)index, p->plan->calls);
	p->plan->call_start[p->plan->calls++] = p->plan->operations;
	p->call_upload = 0;
	return 0;
}

static int
check_launch(struct parser *p, const struct plan_launch *l)
{
	const struct ptxinfo_kernel *k = ptxinfo_kernel(p->info, p->plan->kernel[l->kernel].name);
	uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
	bool clustered = l->cluster[0] || l->cluster[1] || l->cluster[2];

	if (!l->grid[0] || !l->grid[1] || !l->grid[2] || l->grid[1] > 65535 || l->grid[2] > 65535 ||
	    l->grid[0] > INT32_MAX)
		return bad(p, "launches an impossible grid");
	if (!threads || l->block[0] > 1024 || l->block[1] > 1024 || l->block[2] > 64 || threads > k->max_threads)
		return bad(p, "launches an impossible block");
	for (int i = 0; i < 3 && k->required_block[0]; i++)
		if (l->block[i] != k->required_block[i])
			return bad(p, "launches a block of another shape than the kernel requires");
	if ((uint64_t)l->dynamic_shared_bytes + k->static_shared > MAX_SHARED_BYTES)
		return bad(p, "launches with too much shared memory");
	for (int i = 0; i < 3 && clustered; i++)
		if (!l->cluster[i] || l->grid[i] % l->cluster[i])
			return bad(p, "launches a cluster that does not divide the grid");
	if (clustered && (l->cluster[0] > 16 || l->cluster[1] > 16 || l->cluster[2] > 16 ||
	    l->cluster[0] * l->cluster[1] * l->cluster[2] > 16))
		return bad(p, "launches a cluster of more than 16 blocks");
	return 0;
}

static int
line_launch(struct parser *p)
{
	struct plan_operation *o = add_operation(p, PLAN_LAUNCH);
	struct plan_launch l = { 0 };
	uint64_t value[14] = { 0 };

	if (!o || need_fields(p, 15) < 0 || field_stream(p, 2, o) < 0)
		return -1;
	for (int i = 1; i < 14; i++)
		if (i != 2 && field_number(p, i, UINT32_MAX, &value[i]) < 0)
			return -1;
	if (value[1] >= p->plan->kernels || value[10] > 1)
		return bad(p, "launches a kernel that was not named");
	l.kernel = (uint32_t)value[1];
	for (int i = 0; i < 3; i++) {
		l.grid[i] = (uint32_t)value[3 + i];
		l.block[i] = (uint32_t)value[6 + i];
		l.cluster[i] = (uint32_t)value[11 + i];
	}
	l.dynamic_shared_bytes = (uint32_t)value[9];
	l.cooperative = value[10];
	l.argument_bytes = p->plan->kernel[l.kernel].parameter_bytes;
	if (field_bytes(p, 14, l.argument_bytes, &l.arguments) < 0 || check_launch(p, &l) < 0)
		return -1;
	o->launch = l;
	return 0;
}

static int
check_rows(struct parser *p, const struct plan_memory *m)
{
	if (m->width > CUDA_REGION_BYTES || m->height > CUDA_REGION_BYTES || m->pitch > CUDA_REGION_BYTES ||
	    m->source_pitch > CUDA_REGION_BYTES || (m->height > 1 && (m->pitch < m->width ||
	    (m->source && m->source_pitch < m->width))))
		return bad(p, "has impossible rows");
	/* Both factors are below 2^37: the product of rows and pitch fits in 74 bits, so bound it by division. */
	if (m->height && m->pitch > CUDA_REGION_BYTES / m->height)
		return bad(p, "has impossible rows");
	if (m->height && m->source_pitch > CUDA_REGION_BYTES / m->height)
		return bad(p, "has impossible rows");
	return 0;
}

static int
line_memset(struct parser *p)
{
	struct plan_operation *o = add_operation(p, PLAN_MEMSET);
	struct plan_memory m = { 0 };
	uint64_t value, size;

	if (!o || need_fields(p, 8) < 0 || field_stream(p, 1, o) < 0 || field_address(p, 2, &m.address) < 0 ||
	    field_number(p, 3, UINT64_MAX, &m.pitch) < 0 || field_number(p, 4, UINT32_MAX, &value) < 0 ||
	    field_number(p, 5, 4, &size) < 0 || field_number(p, 6, UINT64_MAX, &m.width) < 0 ||
	    field_number(p, 7, UINT64_MAX, &m.height) < 0 || check_rows(p, &m) < 0)
		return -1;
	if ((size != 1 && size != 2 && size != 4) || m.width % size || m.address % size ||
	    (size < 4 && value >> (8 * size)))
		return bad(p, "has an impossible pattern");
	m.value = (uint32_t)value;
	m.value_bytes = (uint32_t)size;
	o->memory = m;
	return check_inside(p, m.address, rows_bytes(&m, m.pitch), true);
}

static int
line_copy(struct parser *p)
{
	struct plan_operation *o = add_operation(p, PLAN_COPY);
	struct plan_memory m = { 0 };

	if (!o || need_fields(p, 8) < 0 || field_stream(p, 1, o) < 0 || field_address(p, 2, &m.address) < 0 ||
	    field_number(p, 3, UINT64_MAX, &m.pitch) < 0 || field_address(p, 4, &m.source) < 0 ||
	    field_number(p, 5, UINT64_MAX, &m.source_pitch) < 0 || field_number(p, 6, UINT64_MAX, &m.width) < 0 ||
	    field_number(p, 7, UINT64_MAX, &m.height) < 0 || check_rows(p, &m) < 0)
		return -1;
	o->memory = m;
	return check_inside(p, m.address, rows_bytes(&m, m.pitch), true) < 0 ||
		check_inside(p, m.source, rows_bytes(&m, m.source_pitch), false) < 0 ? -1 : 0;
}

static int
line_upload(struct parser *p)
{
	struct plan_operation *o = add_operation(p, PLAN_UPLOAD);
	struct plan_memory m = { .height = 1, .once = field_is(p, 0, "upload_once") };

	if (!o || need_fields(p, 5) < 0 || field_stream(p, 1, o) < 0 || field_address(p, 2, &m.address) < 0 ||
	    field_number(p, 3, MAX_UPLOAD_BYTES, &m.width) < 0 || field_bytes(p, 4, m.width, &m.data) < 0)
		return -1;
	m.pitch = m.width;
	p->call_upload += m.width;
	p->plan->upload_bytes += m.width;
	if (p->call_upload > MAX_UPLOAD_BYTES)
		return bad(p, "uploads more than 1 MiB");
	o->memory = m;
	return check_inside(p, m.address, m.width, true);
}

static int
line_allocate(struct parser *p)
{
	struct plan_operation *o = add_operation(p, PLAN_ALLOCATE);
	uint64_t address, bytes, granule;

	if (!o || need_fields(p, 4) < 0 || field_stream(p, 1, o) < 0 || field_address(p, 2, &address) < 0 ||
	    field_number(p, 3, CUDA_REGION_BYTES, &bytes) < 0)
		return -1;
	granule = address / CUDA_GRANULE * CUDA_GRANULE;
	if (!bytes || address % CUDA_ALIGNMENT || address < CUDA_ARENA || granule < p->next_scratch ||
	    address - CUDA_ARENA > CUDA_REGION_BYTES || bytes > CUDA_REGION_BYTES - (address - CUDA_ARENA))
		return bad(p, "allocates memory at an impossible address");
	p->next_scratch = (address + bytes + 2 * CUDA_GRANULE - 1) / CUDA_GRANULE * CUDA_GRANULE;
	add_range(p, (struct range){ address, bytes, true, true, true });
	p->live_scratch += bytes;
	if (p->live_scratch > p->plan->scratch_bytes)
		p->plan->scratch_bytes = p->live_scratch;
	o->scratch.address = address;
	o->scratch.bytes = bytes;
	return 0;
}

static int
line_free(struct parser *p)
{
	struct plan_operation *o = add_operation(p, PLAN_FREE);
	uint64_t address;

	if (!o || need_fields(p, 3) < 0 || field_stream(p, 1, o) < 0 || field_address(p, 2, &address) < 0)
		return -1;
	for (uint32_t i = 0; i < p->ranges; i++)
		if (p->range[i].scratch && p->range[i].live && p->range[i].address == address) {
			p->range[i].live = false;
			p->live_scratch -= p->range[i].bytes;
			o->scratch.address = address;
			o->scratch.bytes = p->range[i].bytes;
			return 0;
		}
	return bad(p, "frees memory that is not allocated");
}

static int
line_event(struct parser *p)
{
	bool record = field_is(p, 0, "record"), await = field_is(p, 0, "await");
	struct plan_operation *o = add_operation(p, record ? PLAN_EVENT_RECORD : await ? PLAN_AWAIT : PLAN_EVENT_WAIT);
	uint64_t event;

	if (!o || need_fields(p, await ? 2 : 3) < 0 || (!await && field_stream(p, record ? 2 : 1, o) < 0) ||
	    field_number(p, record || await ? 1 : 2, PLAN_MAX_EVENTS - 1, &event) < 0)
		return -1;
	if (!record && !p->recorded[event])
		return bad(p, "waits for an event that was not recorded");
	p->recorded[event] = true;
	o->event = (uint32_t)event;
	if (event >= p->plan->events)
		p->plan->events = (uint32_t)event + 1;
	return 0;
}

static int
line_synchronise(struct parser *p)
{
	struct plan_operation *o = add_operation(p, PLAN_SYNCHRONISE);

	p->plan->device_synchronised = true;
	if (!o || need_fields(p, 2) < 0)
		return -1;
	o->whole_device = field_is(p, 1, "device");
	return o->whole_device ? 0 : field_stream(p, 1, o);
}

static int
line_stream(struct parser *p)
{
	uint64_t stream;

	if (need_fields(p, 3) < 0 || field_number(p, 1, PLAN_MAX_STREAMS - 1, &stream) < 0)
		return -1;
	if (stream <= PLAN_GIVEN_STREAM || p->stream_known[stream])
		return bad(p, "creates a stream that is there");
	p->stream_known[stream] = true;
	p->plan->independent[stream] = field_is(p, 2, "independent");
	return p->plan->independent[stream] || field_is(p, 2, "blocking") ? 0 : bad(p, "creates a stream of no known kind");
}

static int
line_refuse(struct parser *p)
{
	static const enum cuda_verdict allowed[] = { CUDA_RUNTIME_ERROR, CUDA_TIMEOUT, CUDA_UNSUPPORTED, CUDA_SUSPICIOUS };

	for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
		if (!field_is(p, 1, cuda_verdict_name(allowed[i])) || p->fields < 3 || !p->field_length[2])
			continue;
		p->verdict = allowed[i];
		for (const char *c = p->field[2]; c < p->at - 1 && c - p->field[2] < 512 && p->reason; c++)
			buf_addc(p->reason, isprint((unsigned char)*c) ? *c : '?');
		return -1;
	}
	return bad(p, "refuses without a reason");
}

static const struct { const char *word; int (*read)(struct parser *p); } lines[] = {
	{ "launch", line_launch }, { "memset", line_memset }, { "copy", line_copy }, { "upload", line_upload },
	{ "upload_once", line_upload },
	{ "allocate", line_allocate }, { "free", line_free }, { "record", line_event }, { "wait", line_event },
	{ "await", line_event },
	{ "synchronise", line_synchronise }, { "stream", line_stream }, { "kernel", line_kernel }, { "buffer", line_buffer },
	{ "call", line_call }, { "profile", line_profile },
};

static void
start_memory(struct parser *p)
{
	struct plan *plan = p->plan;

	plan->buffer = arena_alloc(&plan->arena, (p->job_count + 1) * sizeof *plan->buffer);
	p->next_scratch = CUDA_ARENA;
	for (uint32_t i = 0; i < p->job_count; i++) {
		const struct plan_buffer *b = &p->job_buffers[i];
		uint64_t past = (b->address + b->bytes + 2 * CUDA_GRANULE - 1) / CUDA_GRANULE * CUDA_GRANULE;

		plan->buffer[i] = *b;
		plan->buffer[i].name = arena_strdup(&plan->arena, b->name);
		add_range(p, (struct range){ b->address, b->bytes, true, b->output, false });
		if (past > p->next_scratch)
			p->next_scratch = past;
	}
	plan->symbols = p->info->symbols;
	plan->symbol = arena_alloc(&plan->arena, (plan->symbols + 1) * sizeof *plan->symbol);
	for (uint32_t i = 0; i < plan->symbols; i++) {
		plan->symbol[i] = p->info->symbol[i];
		plan->symbol[i].name = arena_strdup(&plan->arena, p->info->symbol[i].name);
		add_range(p, (struct range){ plan->symbol[i].address, plan->symbol[i].bytes, true, true, false });
	}
}

static int
parse_lines(struct parser *p)
{
	int got = read_line(p);

	if (got < 0)
		return -1;
	if (got && p->fields && field_is(p, 0, "refuse"))
		return line_refuse(p);
	if (!got || p->fields != 2 || !field_is(p, 0, "plan") || !field_is(p, 1, "1"))
		return bad(p, "is not 'plan 1'");
	while ((got = read_line(p)) > 0 && !field_is(p, 0, "end")) {
		size_t i = 0, count = sizeof lines / sizeof *lines;

		while (i < count && !field_is(p, 0, lines[i].word))
			i++;
		if (i == count)
			return bad(p, "starts with an unknown word");
		if (lines[i].read(p) < 0)
			return -1;
	}
	if (got < 0)
		return -1;
	if (!got || p->fields != 1 || p->at != p->end)
		return bad(p, "is not the one 'end'");
	if (!p->plan->calls || p->plan->buffers != p->job_count || !p->plan->profile)
		return bad(p, "ends a plan without its profile, its buffers or a call");
	return 0;
}

struct plan *
plan_parse(const char *text, size_t bytes, const struct ptxinfo *info, const struct plan_buffer *buffers,
	uint32_t count, enum cuda_verdict *verdict, struct buf *reason)
{
	struct parser p = { text, text + bytes, .info = info, .job_buffers = buffers, .job_count = count,
		.plan = xcalloc(1, sizeof *p.plan), .reason = reason };
	int failed;

	p.plan->streams = PLAN_GIVEN_STREAM + 1;
	start_memory(&p);
	if (bytes > PLAN_MAX_BYTES) {
		p.verdict = CUDA_UNSUPPORTED;
		failed = buf_err(reason, "the launch plan is over %u MiB", PLAN_MAX_BYTES >> 20);
	} else {
		failed = parse_lines(&p);
	}
	p.plan->call_start[p.plan->calls] = p.plan->operations;
	free(p.range);
	*verdict = failed ? p.verdict : CUDA_OK;
	if (!failed)
		return p.plan;
	plan_free(p.plan);
	return NULL;
}

void
plan_free(struct plan *plan)
{
	if (!plan)
		return;
	arena_release(&plan->arena);
	free(plan);
}

/* ---- streams
 * clock[s][t]: how many operations of stream t are certainly done before the next one of stream s starts. The
 * host has such a clock as well: waiting raises it, and work issued afterwards starts from it. */
struct clocks {
	uint32_t done[PLAN_MAX_STREAMS + 1][PLAN_MAX_STREAMS];	/* the last row is the host's */
};

static void
join_clock(uint32_t *into, const uint32_t *from)
{
	for (int i = 0; i < PLAN_MAX_STREAMS; i++)
		if (from[i] > into[i])
			into[i] = from[i];
}

static const char *
operation_name(const struct plan *plan, const struct plan_operation *o)
{
	static const char *const names[] = { NULL, "a memset", "a copy", "an upload" };

	return o->kind == PLAN_LAUNCH ? plan->kernel[o->launch.kernel].name : names[o->kind];
}

/* The legacy stream's operation waits for all blocking streams, and what is issued to them later waits for it. */
static void
join_blocking(const struct plan *plan, struct clocks *c, bool before)
{
	uint32_t *legacy = c->done[PLAN_LEGACY_STREAM];

	for (uint32_t s = PLAN_GIVEN_STREAM; s < PLAN_MAX_STREAMS; s++)
		if (!plan->independent[s])
			join_clock(before ? legacy : c->done[s], before ? c->done[s] : legacy);
}

static void
follow_operation(const struct plan *plan, const struct plan_operation *o, struct clocks *c,
	uint32_t (*event)[PLAN_MAX_STREAMS], uint32_t *issued)
{
	uint32_t *host = c->done[PLAN_MAX_STREAMS], *mine = c->done[o->stream];

	if (o->kind == PLAN_SYNCHRONISE) {
		for (uint32_t s = 0; s < PLAN_MAX_STREAMS; s++)
			if (o->whole_device || s == o->stream)
				join_clock(host, c->done[s]);
		return;
	}
	if (o->kind == PLAN_AWAIT) {
		join_clock(host, event[o->event]);
		return;
	}
	join_clock(mine, host);
	if (o->stream == PLAN_LEGACY_STREAM)
		join_blocking(plan, c, true);
	if (o->kind == PLAN_EVENT_RECORD)
		memcpy(event[o->event], mine, sizeof *event);
	else if (o->kind == PLAN_EVENT_WAIT)
		join_clock(mine, event[o->event]);
	else if (o->kind <= PLAN_UPLOAD)
		mine[o->stream] = ++issued[o->stream];
	if (o->stream == PLAN_LEGACY_STREAM)
		join_blocking(plan, c, false);
}

int
plan_check_joined(const struct plan *plan, uint32_t call, struct buf *reason)
{
	struct clocks *c = xcalloc(1, sizeof *c);
	uint32_t (*event)[PLAN_MAX_STREAMS] = xcalloc(plan->events + 1, sizeof *event);
	uint32_t issued[PLAN_MAX_STREAMS] = { 0 };
	const struct plan_operation *last[PLAN_MAX_STREAMS] = { NULL };
	int failed = 0;

	for (uint32_t i = plan->call_start[call]; i < plan->call_start[call + 1]; i++) {
		const struct plan_operation *o = &plan->operation[i];

		follow_operation(plan, o, c, event, issued);
		if (o->kind <= PLAN_UPLOAD)
			last[o->stream] = o;
	}
	join_clock(c->done[PLAN_GIVEN_STREAM], c->done[PLAN_MAX_STREAMS]);
	for (uint32_t s = 0; s < PLAN_MAX_STREAMS && !failed; s++)
		if (c->done[PLAN_GIVEN_STREAM][s] < issued[s])
			failed = buf_err(reason, "work on another stream (the last is %s) is not joined back to `stream` before "
				"solve() returns: record an event after it and let `stream` wait for that event",
				operation_name(plan, last[s]));
	free(event);
	free(c);
	return failed;
}

/* ---- order of what moves bytes */
struct moved {
	const struct plan_operation *operation;
	uint32_t number;			/* on its stream */
	uint32_t known[PLAN_MAX_STREAMS];	/* what is done when it is, on each stream */
};

static bool
overlap(uint64_t a, uint64_t b, uint64_t a_bytes, uint64_t b_bytes)
{
	return a < b + b_bytes && b < a + a_bytes;
}

static bool
conflict(const struct plan_memory *a, const struct plan_memory *b)
{
	return overlap(a->address, b->address, a->width, b->width) ||
		(a->source && overlap(a->source, b->address, a->width, b->width)) ||
		(b->source && overlap(a->address, b->source, a->width, b->width));
}

int
plan_check_order(const struct plan *plan, uint32_t call, struct buf *reason)
{
	uint32_t start = plan->call_start[call], end = plan->call_start[call + 1], count = 0;
	struct clocks *c = xcalloc(1, sizeof *c);
	uint32_t (*event)[PLAN_MAX_STREAMS] = xcalloc(plan->events + 1, sizeof *event), issued[PLAN_MAX_STREAMS] = { 0 };
	struct moved *moved = xcalloc(end - start + 1, sizeof *moved);
	int failed = 0;

	for (uint32_t i = start; i < end && !failed; i++) {
		const struct plan_operation *o = &plan->operation[i];
		struct moved *m = &moved[count];

		follow_operation(plan, o, c, event, issued);
		if (o->kind < PLAN_MEMSET || o->kind > PLAN_UPLOAD || o->memory.height != 1 || !o->memory.width)
			continue;
		m->operation = o;
		m->number = issued[o->stream];
		memcpy(m->known, c->done[o->stream], sizeof m->known);
		for (uint32_t k = 0; k < count && !failed; k++)
			if (m->known[moved[k].operation->stream] < moved[k].number &&
			    conflict(&moved[k].operation->memory, &o->memory))
				failed = buf_err(reason, "%s and %s on another stream touch the same bytes, and no event orders "
					"them: let one stream wait for the other", operation_name(plan, moved[k].operation),
					operation_name(plan, o));
		count++;
	}
	free(moved);
	free(event);
	free(c);
	return failed;
}

/* ---- another order */
struct step {
	uint32_t operation, next;		/* on its stream; 0: none, else a step's number + 1 */
	bool counts;				/* frees do not: nobody waits for one */
	uint32_t known[PLAN_MAX_STREAMS];	/* how many of each stream have to be done before */
};

static bool
ready(const struct step *s, const uint32_t *done)
{
	for (int t = 0; t < PLAN_MAX_STREAMS; t++)
		if (s->known[t] > done[t])
			return false;
	return true;
}

static bool
is_step(const struct plan_operation *o)
{
	return o->kind <= PLAN_UPLOAD || o->kind == PLAN_FREE;
}

static uint32_t
list_steps(const struct plan *plan, uint32_t call, struct step *step, uint32_t *head)
{
	struct clocks *c = xcalloc(1, sizeof *c);
	uint32_t (*event)[PLAN_MAX_STREAMS] = xcalloc(plan->events + 1, sizeof *event), issued[PLAN_MAX_STREAMS] = { 0 };
	uint32_t *link[PLAN_MAX_STREAMS], count = 0;

	for (int s = 0; s < PLAN_MAX_STREAMS; s++)
		link[s] = &head[s];
	for (uint32_t i = plan->call_start[call]; i < plan->call_start[call + 1]; i++) {
		const struct plan_operation *o = &plan->operation[i];

		follow_operation(plan, o, c, event, issued);
		if (!is_step(o))
			continue;
		struct step *s = &step[count++];
		s->operation = i;
		s->counts = o->kind <= PLAN_UPLOAD;
		memcpy(s->known, c->done[o->stream], sizeof s->known);
		s->known[o->stream] -= s->counts;
		*link[o->stream] = count;
		link[o->stream] = &s->next;
	}
	free(event);
	free(c);
	return count;
}

/* The stream whose next step may start: of several the one that was issued last, and the late one only when it is alone.
 * PLAN_MAX_STREAMS: none. */
static uint32_t
next_stream(const struct step *step, const uint32_t *head, const uint32_t *done, uint32_t late)
{
	uint32_t best = PLAN_MAX_STREAMS;

	for (uint32_t s = 0; s < PLAN_MAX_STREAMS; s++)
		if (head[s] && ready(&step[head[s] - 1], done) && (best == PLAN_MAX_STREAMS || best == late ||
		    (s != late && head[s] > head[best])))
			best = s;
	return best;
}

bool
plan_other_order(const struct plan *plan, uint32_t call, uint32_t late, uint32_t *order)
{
	uint32_t start = plan->call_start[call], end = plan->call_start[call + 1], head[PLAN_MAX_STREAMS] = { 0 };
	uint32_t done[PLAN_MAX_STREAMS] = { 0 }, n = 0, stream;
	uint64_t scratch = 0;
	bool other = false;

	for (uint32_t i = start; i < end; i++)
		if (plan->operation[i].kind == PLAN_ALLOCATE)
			scratch += plan->operation[i].scratch.bytes;
	if (scratch > plan->scratch_bytes && scratch > MAX_SCRATCH_AT_ONCE)
		return false;
	struct step *step = xcalloc(end - start + 1, sizeof *step);
	uint32_t count = list_steps(plan, call, step, head);
	for (; n < count && (stream = next_stream(step, head, done, late)) < PLAN_MAX_STREAMS; n++) {
		const struct step *s = &step[head[stream] - 1];

		order[n] = s->operation + 1;
		other |= head[stream] != n + 1;
		done[stream] += s->counts;
		head[stream] = s->next;
	}
	order[n] = 0;
	free(step);
	return other && n == count;
}

/* ---- writing */
static void
write_bytes(struct buf *out, const uint8_t *bytes, size_t count)
{
	static const char digits[] = "0123456789abcdef";

	if (!count)
		buf_addc(out, '-');
	buf_reserve(out, 2 * count);
	for (size_t i = 0; i < count; i++) {
		buf_addc(out, digits[bytes[i] >> 4]);
		buf_addc(out, digits[bytes[i] & 15]);
	}
}

static void
write_operation(const struct plan_operation *o, struct buf *out)
{
	const struct plan_launch *l = &o->launch;
	const struct plan_memory *m = &o->memory;
	unsigned long long address = m->address, pitch = m->pitch, width = m->width, height = m->height;

	switch (o->kind) {
	case PLAN_LAUNCH:
		buf_addf(out, "launch %u %u %u %u %u %u %u %u %u %d %u %u %u ", l->kernel, o->stream, l->grid[0],
			l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], l->dynamic_shared_bytes,
			l->cooperative, l->cluster[0], l->cluster[1], l->cluster[2]);
		write_bytes(out, l->arguments, l->argument_bytes);
		break;
	case PLAN_MEMSET:
		buf_addf(out, "memset %u 0x%llx %llu %u %u %llu %llu", o->stream, address, pitch, m->value,
			m->value_bytes, width, height);
		break;
	case PLAN_COPY:
		buf_addf(out, "copy %u 0x%llx %llu 0x%llx %llu %llu %llu", o->stream, address, pitch,
			(unsigned long long)m->source, (unsigned long long)m->source_pitch, width, height);
		break;
	case PLAN_UPLOAD:
		buf_addf(out, "upload%s %u 0x%llx %llu ", m->once ? "_once" : "", o->stream, address, width);
		write_bytes(out, m->data, m->width);
		break;
	case PLAN_ALLOCATE:
		buf_addf(out, "allocate %u 0x%llx %llu", o->stream, (unsigned long long)o->scratch.address,
			(unsigned long long)o->scratch.bytes);
		break;
	case PLAN_FREE:
		buf_addf(out, "free %u 0x%llx", o->stream, (unsigned long long)o->scratch.address);
		break;
	case PLAN_EVENT_RECORD:
		buf_addf(out, "record %u %u", o->event, o->stream);
		break;
	case PLAN_EVENT_WAIT:
		buf_addf(out, "wait %u %u", o->stream, o->event);
		break;
	case PLAN_AWAIT:
		buf_addf(out, "await %u", o->event);
		break;
	case PLAN_SYNCHRONISE:
		if (o->whole_device)
			buf_adds(out, "synchronise device");
		else
			buf_addf(out, "synchronise %u", o->stream);
		break;
	}
	buf_addc(out, '\n');
}

void
plan_write(const struct plan *plan, struct buf *out)
{
	buf_addf(out, "plan 1\nprofile %s\n", plan->profile);
	for (uint32_t i = 0; i < plan->buffers; i++)
		buf_addf(out, "buffer %s %s 0x%llx %llu\n", plan->buffer[i].output ? "output" : "input",
			plan->buffer[i].name, (unsigned long long)plan->buffer[i].address,
			(unsigned long long)plan->buffer[i].bytes);
	for (uint32_t i = 0; i < plan->kernels; i++)
		buf_addf(out, "kernel %u %s\n", i, plan->kernel[i].name);
	for (uint32_t s = PLAN_GIVEN_STREAM + 1; s < plan->streams; s++)
		buf_addf(out, "stream %u %s\n", s, plan->independent[s] ? "independent" : "blocking");
	for (uint32_t call = 0; call < plan->calls; call++) {
		buf_addf(out, "call %u\n", call);
		for (uint32_t i = plan->call_start[call]; i < plan->call_start[call + 1]; i++)
			write_operation(&plan->operation[i], out);
	}
	buf_adds(out, "end\n");
}
