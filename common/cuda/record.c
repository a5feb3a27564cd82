/* Recording: solve() runs in the sandbox, plans come back, one is believed.
 *
 * In: a build, arguments, a GPU profile. Out: the plan of one call, or a verdict with its reason. The one hard idea: the
 * first three recordings differ in what a stack, a heap and a load address happen to hold (first against second) and in
 * where device memory lies (second against third). Bytes of a struct argument that differ first were never written and
 * become zero; a value that differs first is not a function of the arguments; what differs only in the third and is no
 * plain pointer depends on addresses, and is told. The fourth and the fifth hold what differed among many more calls. */
#include <stdlib.h>

#include "base/die.h"
#include "base/io.h"
#include "base/spawn.h"
#include "cuda/job.h"
#include "cuda/record.h"
#include "sandbox/sandbox.h"

/* COMPARED: with each other. MANY_CALLS, COUNTERS_AHEAD: the numbers of the other two; as in km-record. */
enum { RECORDINGS = 5, COMPARED = 3, MANY_CALLS = 3, COUNTERS_AHEAD = 4, IN_TURN = 4,
	DEFAULT_WALL_MS = 20000, MAX_OUTPUT = 64 << 10 };
/* Of the wall clock a quarter may be computing; km-record waits up to this many times it for a busy machine. */
enum { CPU_SHARE = 4, PATIENCE = 7 };
#define DEFAULT_PROFILE "h200"
#define DEFAULT_MEMORY (4ull << 30)
#define SHIFT 0x080000000000ull	/* of the third recording; as in km-record */

/* ---- comparing recordings */
struct comparison {
	struct plan *a;
	const struct plan *b;
	bool shifted;			/* b's device addresses are a's plus SHIFT, in argument bytes */
	struct buf *reason;
};

static int
differ(const struct comparison *c, const char *what)
{
	return buf_err(c->reason, "two recordings of solve() differ: %s; it must depend on its arguments alone", what);
}

static bool
in_device_memory(uint64_t address)
{
	return address - CUDA_ARENA < CUDA_REGION_BYTES || address - CUDA_SYMBOLS < CUDA_REGION_BYTES;
}

static uint64_t
load_word(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof word);
	return word;
}

/* A pointer to host memory: wrong in a kernel, yet no sign of cheating. The memory checker names it. */
static bool
host_pointer(uint64_t word)
{
	uint64_t high = word >> 40;

	return high >= 0x55 && high <= 0x7f;
}

static void
mark_undefined(const struct comparison *c, struct plan_launch *l, uint32_t byte)
{
	if (!l->undefined)
		l->undefined = memset(arena_alloc(&c->a->arena, l->argument_bytes), 0, l->argument_bytes);
	l->undefined[byte] = 1;
}

static int
compare_parameter(const struct comparison *c, const struct ptxinfo_parameter *p, struct plan_launch *l, const uint8_t *b,
	const char *kernel)
{
	uint8_t *a = (uint8_t *)l->arguments + p->offset;

	for (uint32_t i = 0; i < p->bytes; i++) {
		if (a[i] == b[i])
			continue;
		if (p->aggregate) {
			a[i] = 0;
			mark_undefined(c, l, p->offset + i);
		} else if (p->bytes != 8 || !host_pointer(load_word(a)) || !host_pointer(load_word(b)))
			return buf_err(c->reason, "two recordings of solve() differ in an argument of kernel %s; arguments must "
				"depend on those of solve() alone", kernel);
	}
	return 0;
}

/* Plain pointers differ by SHIFT as 8-byte words, at any offset; all else is told of. */
static void
compare_shifted(const uint8_t *a, const uint8_t *b, uint32_t bytes, bool *other)
{
	const uint32_t lowest = 5;	/* SHIFT changes the sixth byte of a word first */

	for (uint32_t i = 0; i < bytes; i++) {
		uint32_t word = i - lowest;

		if (a[i] == b[i])
			continue;
		if (i < lowest || word + 8 > bytes || !in_device_memory(load_word(a + word)) ||
		    load_word(b + word) != load_word(a + word) + SHIFT) {
			*other = true;
			return;
		}
		i = word + 7;
	}
}

static int
compare_launch(const struct comparison *c, struct plan_launch *a, const struct plan_launch *b, bool *other)
{
	const struct plan_kernel *k = &c->a->kernel[a->kernel];

	if (strcmp(k->name, c->b->kernel[b->kernel].name) != 0)
		return differ(c, "in a kernel");
	for (int i = 0; i < 3; i++)
		if (a->grid[i] != b->grid[i] || a->block[i] != b->block[i] || a->cluster[i] != b->cluster[i])
			return differ(c, "in a grid or block");
	if (a->dynamic_shared_bytes != b->dynamic_shared_bytes || a->cooperative != b->cooperative)
		return differ(c, "in a launch configuration");
	if (c->shifted) {
		compare_shifted(a->arguments, b->arguments, a->argument_bytes, other);
		return 0;
	}
	for (uint32_t i = 0; i < k->parameters; i++)
		if (compare_parameter(c, &k->parameter[i], a, b->arguments + k->parameter[i].offset, k->name) < 0)
			return -1;
	return 0;
}

static int
compare_memory(const struct comparison *c, const struct plan_operation *a, const struct plan_operation *b, bool *other)
{
	const struct plan_memory *x = &a->memory, *y = &b->memory;

	if (x->address != y->address || x->source != y->source || x->pitch != y->pitch ||
	    x->source_pitch != y->source_pitch || x->width != y->width || x->height != y->height || x->value != y->value ||
	    x->value_bytes != y->value_bytes)
		return differ(c, "in a memset or copy");
	if (a->kind != PLAN_UPLOAD || !memcmp(x->data, y->data, x->width))
		return 0;
	if (!c->shifted)
		return differ(c, "in bytes that are uploaded");
	compare_shifted(x->data, y->data, (uint32_t)x->width, other);
	return 0;
}

static int
compare_operation(const struct comparison *c, struct plan_operation *a, const struct plan_operation *b, bool *other)
{
	if (a->kind != b->kind || a->stream != b->stream || a->event != b->event)
		return differ(c, "in the order of operations");
	switch (a->kind) {
	case PLAN_LAUNCH:
		return compare_launch(c, &a->launch, &b->launch, other);
	case PLAN_MEMSET:
	case PLAN_COPY:
	case PLAN_UPLOAD:
		return compare_memory(c, a, b, other);
	case PLAN_ALLOCATE:
	case PLAN_FREE:
		return a->scratch.address == b->scratch.address && a->scratch.bytes == b->scratch.bytes ? 0 :
			differ(c, "in an allocation");
	default:
		return 0;
	}
}

/* Two recordings, operation by operation; undefined bytes of a become zero, and are marked. */
static int
compare_recordings(struct comparison *c, bool *other)
{
	if (c->a->operations != c->b->operations || c->a->calls != c->b->calls ||
	    memcmp(c->a->call_start, c->b->call_start, (c->a->calls + 1) * sizeof *c->a->call_start) != 0)
		return differ(c, "in the number of operations");
	for (uint32_t i = 0; i < c->a->operations; i++)
		if (compare_operation(c, &c->a->operation[i], &c->b->operation[i], other) < 0)
			return -1;
	return 0;
}

/* ---- later calls
 * A later call has to do what an earlier one did, in the same recording or in another: kernels, sizes and values alike,
 * and addresses at the same place of the same buffer. Scratch is the same when one buffer always stands for the other
 * and is no smaller. Uploads may be missing in the later call, for a table in constant memory needs to be filled once. */
struct call {
	const struct plan *plan;
	uint32_t number, first_buffer;	/* where the buffers of its arguments start in the plan's list */
};

struct scratch_pair {
	uint64_t first, second;
};

struct calls {
	struct call first, second;
	struct scratch_pair *pair;
	uint32_t pairs;
	bool any_address;	/* where they point is not looked at */
};

enum owner { NOBODY, BUFFER, SCRATCH };

/* Whose address it is: the number of the buffer, or where the scratch starts. */
static enum owner
owner_of(const struct call *c, uint64_t address, uint64_t *which, uint64_t *offset, uint64_t *bytes)
{
	const struct plan *plan = c->plan;

	for (uint32_t i = 0; i < plan->buffers; i++)
		if (address - plan->buffer[i].address <= plan->buffer[i].bytes) {
			*which = i - c->first_buffer;
			*offset = address - plan->buffer[i].address;
			return BUFFER;
		}
	for (uint32_t i = 0; i < plan->call_start[c->number + 1]; i++) {
		const struct plan_operation *o = &plan->operation[i];

		if (o->kind != PLAN_ALLOCATE || address - o->scratch.address >= o->scratch.bytes)
			continue;
		*which = o->scratch.address;
		*offset = address - o->scratch.address;
		*bytes = o->scratch.bytes;
		return SCRATCH;
	}
	return NOBODY;
}

static bool
same_address(struct calls *c, uint64_t first, uint64_t second)
{
	uint64_t a, b, offset_a, offset_b, bytes_a = 0, bytes_b = 0;
	enum owner owner = owner_of(&c->first, first, &a, &offset_a, &bytes_a);

	if (c->any_address)
		return true;
	if (owner == NOBODY)
		return first == second;
	if (owner_of(&c->second, second, &b, &offset_b, &bytes_b) != owner || offset_a != offset_b)
		return false;
	if (owner == BUFFER)
		return a == b;
	for (uint32_t i = 0; i < c->pairs; i++)
		if (c->pair[i].first == a || c->pair[i].second == b)
			return c->pair[i].first == a && c->pair[i].second == b;
	c->pair[c->pairs++] = (struct scratch_pair){ a, b };
	return bytes_b >= bytes_a;
}

/* Those of the host differ from call to call, and no kernel can follow them. */
static bool
same_pointer(struct calls *c, uint64_t first, uint64_t second)
{
	return in_device_memory(first) ? same_address(c, first, second) : host_pointer(first) && host_pointer(second);
}

static bool
same_arguments(struct calls *c, const struct plan_launch *l, const struct plan_launch *m)
{
	const uint8_t *first = l->arguments, *second = m->arguments;
	uint32_t bytes = l->argument_bytes;

	for (uint32_t i = 0; i < bytes; i++) {
		bool found = false;

		if (first[i] == second[i] || (l->undefined && l->undefined[i]))
			continue;
		/* A differing byte belongs to a pointer that starts at most seven bytes before it. */
		for (uint32_t back = 0; back < 8 && back <= i && !found; back++) {
			uint32_t word = i - back;

			if (word + 8 <= bytes && same_pointer(c, load_word(first + word), load_word(second + word))) {
				i = word + 7;
				found = true;
			}
		}
		if (!found)
			return false;
	}
	return true;
}

/* Pointers that are equal byte by byte may still mean different buffers. */
static bool
same_pointers(struct calls *c, const struct plan_launch *l, const struct plan_launch *m)
{
	const struct plan_kernel *k = &c->first.plan->kernel[l->kernel];

	for (uint32_t i = 0; i < k->parameters; i++) {
		uint32_t at = k->parameter[i].offset;

		if (k->parameter[i].bytes == 8 && in_device_memory(load_word(l->arguments + at)) &&
		    !same_address(c, load_word(l->arguments + at), load_word(m->arguments + at)))
			return false;
	}
	return true;
}

static bool
same_launch(struct calls *c, const struct plan_launch *l, const struct plan_launch *m)
{
	return !strcmp(c->first.plan->kernel[l->kernel].name, c->second.plan->kernel[m->kernel].name) &&
		!memcmp(l->grid, m->grid, sizeof l->grid) && !memcmp(l->block, m->block, sizeof l->block) &&
		!memcmp(l->cluster, m->cluster, sizeof l->cluster) && l->dynamic_shared_bytes == m->dynamic_shared_bytes &&
		l->cooperative == m->cooperative && l->argument_bytes == m->argument_bytes && same_pointers(c, l, m) &&
		same_arguments(c, l, m);
}

static bool
same_work(struct calls *c, const struct plan_operation *a, const struct plan_operation *b)
{
	const struct plan_memory *x = &a->memory, *y = &b->memory;

	if (a->kind != b->kind)
		return false;
	if (a->kind == PLAN_LAUNCH)
		return same_launch(c, &a->launch, &b->launch);
	return x->pitch == y->pitch && x->source_pitch == y->source_pitch && x->width == y->width &&
		x->height == y->height && x->value == y->value && x->value_bytes == y->value_bytes &&
		same_address(c, x->address, y->address) && (!x->source || same_address(c, x->source, y->source)) &&
		(a->kind != PLAN_UPLOAD || !memcmp(x->data, y->data, x->width));
}

static const struct plan_operation *
next_work(const struct call *c, uint32_t *i)
{
	while (*i < c->plan->call_start[c->number + 1])
		if (c->plan->operation[(*i)++].kind <= PLAN_UPLOAD)
			return &c->plan->operation[*i - 1];
	return NULL;
}

static uint32_t
launches(const struct call *c)
{
	uint32_t count = 0;

	for (uint32_t i = c->plan->call_start[c->number]; i < c->plan->call_start[c->number + 1]; i++)
		count += c->plan->operation[i].kind == PLAN_LAUNCH;
	return count;
}

/* Whether the second call does what the first did. Uploads that it leaves out are marked in `once` (NULL: not), by the
 * numbers of the first call's operations. */
static bool
same_calls(struct call first, struct call second, bool any_address, struct plan *once)
{
	struct calls c = { first, second, xcalloc(first.plan->operations + 1, sizeof *c.pair), 0, any_address };
	uint32_t i = first.plan->call_start[first.number], j = second.plan->call_start[second.number];
	const struct plan_operation *a, *b = next_work(&second, &j);
	bool same = true;

	while (same && (a = next_work(&first, &i))) {
		if (b && same_work(&c, a, b))
			b = next_work(&second, &j);
		else if ((same = a->kind == PLAN_UPLOAD) && once)
			once->operation[i - 1].memory.once = true;
	}
	free(c.pair);
	return same && !b;
}

static int
compare_calls(struct plan *plan, struct buf *reason)
{
	if (same_calls((struct call){ plan, 0, 0 }, (struct call){ plan, 1, 0 }, false, plan))
		return 0;
	return buf_err(reason, "solve() does not do the same work when it is called a second time with the same arguments");
}

/* The calls of a later plan against the first call of all. */
static int
compare_later_calls(const struct plan *plan, const struct plan *later, bool any_address, enum cuda_verdict *verdict,
	struct buf *reason)
{
	struct call first = { plan, 0, 0 };

	for (uint32_t i = 0; i < later->calls; i++) {
		struct call second = { later, i, 0 };

		if (same_calls(first, second, any_address, NULL))
			continue;
		*verdict = CUDA_SUSPICIOUS;
		return buf_err(reason, "solve() does %s work when it was called many times before with the same arguments",
			launches(&second) < launches(&first) ? "less" : "other");
	}
	return 0;
}

/* ---- one recording */
struct recording {
	struct ptxinfo *info;
	struct plan_buffer *buffer;
	uint32_t buffers;
	struct buf job, profile, plan[RECORDINGS];
	char profile_name[65];
};

/* After those that were placed before. */
static int
place_buffers(struct recording *r, const struct cuda_argument *arguments, int count, uint64_t *next, struct buf *err)
{
	r->buffer = xrealloc(r->buffer, (r->buffers + (size_t)count + 1) * sizeof *r->buffer);
	for (int i = 0; i < count; i++) {
		struct plan_buffer *b = &r->buffer[r->buffers];

		if (arguments[i].kind == CUDA_SCALAR)
			continue;
		*b = (struct plan_buffer){ arguments[i].name, 0, arguments[i].bytes, arguments[i].kind == CUDA_OUTPUT };
		if (plan_place(next, b->bytes, &b->address) < 0)
			return buf_err(err, "the tensors of the task do not fit the arena of %llu GiB",
				CUDA_REGION_BYTES >> 30);
		r->buffers++;
	}
	return 0;
}

static int
read_profile(struct recording *r, const char *name, struct buf *err)
{
	char *path;
	int got;

	if (!name)
		name = DEFAULT_PROFILE;
	if (strlen(name) >= sizeof r->profile_name)
		return buf_err(err, "the GPU profile's name '%.80s' is too long", name);
	path = profile_path(name, err);
	if (!path)
		return -1;
	memcpy(r->profile_name, name, strlen(name) + 1);
	got = buf_read_file(&r->profile, path, 1 << 20, err);
	free(path);
	return got;
}

static int
read_build_file(const char *folder, const char *name, size_t max, struct buf *out, struct buf *err)
{
	struct buf path = BUF_INIT;
	int got;

	buf_addf(&path, "%s/%s", folder, name);
	got = buf_read_file(out, buf_str(&path), max, err);
	buf_release(&path);
	return got;
}

static struct ptxinfo *
read_info(const char *folder, struct buf *err)
{
	struct buf ptx = BUF_INIT, fatbin = BUF_INIT;
	struct ptxinfo *info = NULL;

	if (read_build_file(folder, "device.ptx", PTXINFO_MAX_BYTES, &ptx, err) == 0 &&
	    read_build_file(folder, "device.fatbin", PTXINFO_MAX_BYTES, &fatbin, err) == 0)
		info = ptxinfo_read(buf_str(&ptx), ptx.len, buf_str(&fatbin), fatbin.len, err);
	buf_release(&ptx);
	buf_release(&fatbin);
	return info;
}

static int
run_recorder(struct recording *r, const char *folder, int recordings, const struct cuda_limits *limits,
	struct cuda_recording *result, struct buf *err)
{
	static const char *const argv[] = { "/kernelmosaic/km-record", "/in/solution.so", "/in/job", "/in/profile",
		"/kernelmosaic/recorder/libcudart.so.13", "/out/plan", NULL };
	/* Without its cache of freed blocks malloc fills each block with the pattern that km-record sets. */
	static const char *const environment[] = { "PATH=/usr/bin", "LC_ALL=C", "GLIBC_TUNABLES=glibc.malloc.tcache_count=0",
#ifdef CUDA_SANITIZED
		"ASAN_OPTIONS=max_malloc_fill_size=0:detect_leaks=0",
#endif
		NULL };
	struct buf object = BUF_INIT;
	struct sandbox_input inputs[] = {
		{ .name = "solution.so", .path = NULL },
		{ .name = "job", .bytes = buf_str(&r->job), .count = r->job.len },
		{ .name = "profile", .bytes = buf_str(&r->profile), .count = r->profile.len },
	};
	struct sandbox_output outputs[RECORDINGS] = {
		{ .name = "plan.0", .content = &r->plan[0], .max_bytes = PLAN_MAX_BYTES },
		{ .name = "plan.1", .content = &r->plan[1], .max_bytes = PLAN_MAX_BYTES },
		{ .name = "plan.2", .content = &r->plan[2], .max_bytes = PLAN_MAX_BYTES },
		{ .name = "plan.3", .content = &r->plan[MANY_CALLS], .max_bytes = PLAN_MAX_BYTES },
		{ .name = "plan.4", .content = &r->plan[COUNTERS_AHEAD], .max_bytes = PLAN_MAX_BYTES },
	};
	struct sandbox_job job = { .argv = argv, .environment = environment, .inputs = inputs, .input_count = 3, .outputs = outputs,
		.output_count = (size_t)recordings, .aslr_off = true, .output = &result->output, .errors = &result->output };
	struct sandbox_result ran;
	uint64_t wall_ms = limits && limits->wall_ms ? limits->wall_ms : DEFAULT_WALL_MS;
	int status = -1;

	buf_addf(&object, "%s/solution.so", folder);
	inputs[0].path = buf_str(&object);
	job.limits.wall_ms = wall_ms * PATIENCE * RECORDINGS + 5000;
	job.limits.cpu_s = wall_ms / 1000 + 5;
	job.limits.address_space_bytes = SANDBOX_UNLIMITED;	/* the arena is 64 GiB of nothing */
	job.limits.data_bytes = limits && limits->memory_bytes ? limits->memory_bytes : DEFAULT_MEMORY;
#ifdef CUDA_SANITIZED
	job.limits.data_bytes = SANDBOX_UNLIMITED;
#endif
	job.limits.output_max_bytes = MAX_OUTPUT;
	if (sandbox_run(&job, &ran, err) < 0)
		goto out;
	result->wall_ns = ran.wall_ns;
	status = 0;
	if (ran.cause == SANDBOX_EXITED && ran.exit_status == 0 && outputs[0].state == SANDBOX_FILE_OK)
		goto out;
	if (ran.cause == SANDBOX_EXITED && ran.exit_status != 0) {
		status = buf_err(err, "the recorder failed with exit status %d: %.300s", ran.exit_status,
			buf_str(&result->output));
	} else if (ran.cause == SANDBOX_LAUNCH_FAILED) {
		status = buf_err(err, "the recorder could not be started");
	} else if (ran.cause == SANDBOX_EXITED) {
		result->verdict = CUDA_UNSUPPORTED;
		buf_addf(&result->reason, "the recording left no launch plan of at most %u MiB", PLAN_MAX_BYTES >> 20);
	} else {
		result->verdict = ran.cause == SANDBOX_SIGNALLED ? CUDA_RUNTIME_ERROR : CUDA_TIMEOUT;
		buf_adds(&result->reason, "host code took the recorder down: ");
		sandbox_describe(&job, &ran, &result->reason);
	}
out:
	buf_release(&object);
	return status;
}

/* What it printed is part of a record: plain text, bounded. */
static void
clean_output(struct buf *output)
{
	for (size_t i = 0; i < output->len; i++) {
		unsigned char c = (unsigned char)output->data[i];

		if (c != '\n' && c != '\t' && (c < 32 || c > 126))
			output->data[i] = '?';
	}
	buf_elide(output, CUDA_LOG_BYTES);
}

static void
fail(struct cuda_recording *result, enum cuda_verdict verdict, const struct buf *reason)
{
	result->verdict = verdict;
	buf_reset(&result->reason);
	buf_adds(&result->reason, buf_str(reason));
}

/* The plan of call 0 alone, through the text, so that every figure in it is that of one call. */
static struct plan *
first_call(struct recording *r, struct plan *plan, struct buf *reason)
{
	struct buf text = BUF_INIT;
	enum cuda_verdict verdict;
	struct plan *one;
	uint8_t *undefined;

	plan->operations = plan->call_start[1];
	plan->calls = 1;
	plan_write(plan, &text);
	one = plan_parse(buf_str(&text), text.len, r->info, r->buffer, r->buffers, &verdict, reason);
	for (uint32_t i = 0; one && i < one->operations; i++)
		if (one->operation[i].kind == PLAN_LAUNCH && (undefined = plan->operation[i].launch.undefined)) {
			struct plan_launch *l = &one->operation[i].launch;

			l->undefined = memcpy(arena_alloc(&one->arena, l->argument_bytes), undefined, l->argument_bytes);
		}
	if (one)
		one->host_address_words = plan->host_address_words;
	buf_release(&text);
	return one;
}

/* Plans that stand one after the other, each against the first call. 0, or -1 with a sentence. */
static int
judge_one_after_the_other(const struct recording *r, const struct buf *text, const struct plan *plan, bool any_address,
	enum cuda_verdict *verdict, struct buf *reason)
{
	static const char end[] = "\nend\n";
	const char *at = buf_str(text), *stop = at + text->len;
	int status = 0;

	while (at < stop && status == 0) {
		const char *last = memmem(at, (size_t)(stop - at), end, sizeof end - 1);
		const char *next = last ? last + sizeof end - 1 : stop;
		struct plan *later = plan_parse(at, (size_t)(next - at), r->info, r->buffer, r->buffers, verdict, reason);

		status = later ? compare_later_calls(plan, later, any_address, verdict, reason) : -1;
		plan_free(later);
		at = next;
	}
	return status;
}

/* What fails only with counters that were moved by force says nothing; work that is then another one does. Nor does it
 * say anything that many calls need more than the recorder has. */
static void
judge_later_calls(const struct recording *r, const struct plan *plan, enum cuda_verdict *verdict, struct buf *reason)
{
	struct buf why = BUF_INIT;

	*verdict = CUDA_OK;
	if (judge_one_after_the_other(r, &r->plan[MANY_CALLS], plan, false, verdict, &why) < 0) {
		if (*verdict == CUDA_UNSUPPORTED) {
			*verdict = CUDA_OK;
		} else {
			buf_adds(reason, buf_str(&why));
			buf_adds(reason, *verdict == CUDA_SUSPICIOUS ? "" : " (after many calls with the same arguments)");
		}
	} else if (judge_one_after_the_other(r, &r->plan[COUNTERS_AHEAD], plan, true, verdict, &why) < 0) {
		bool refused = r->plan[COUNTERS_AHEAD].len > 7 && !memcmp(buf_str(&r->plan[COUNTERS_AHEAD]), "refuse ", 7);

		if (refused)
			*verdict = CUDA_OK;
		else
			buf_adds(reason, buf_str(&why));
	}
	buf_release(&why);
}

static void
judge_plans(struct recording *r, struct cuda_recording *result)
{
	struct plan *plan[COMPARED] = { NULL };
	struct buf reason = BUF_INIT;
	enum cuda_verdict verdict = CUDA_OK;
	bool unused = false;

	for (int i = 0; i < COMPARED; i++) {
		plan[i] = plan_parse(buf_str(&r->plan[i]), r->plan[i].len, r->info, r->buffer, r->buffers, &verdict, &reason);
		if (!plan[i]) {
			/* The first may refuse; later ones only repeat what it did. */
			if (i && verdict != CUDA_TIMEOUT)
				verdict = CUDA_SUSPICIOUS;
			fail(result, verdict, &reason);
			goto out;
		}
	}
	verdict = CUDA_SUSPICIOUS;
	if (plan[0]->calls != 2 || strcmp(plan[0]->profile, r->profile_name) != 0)
		buf_err(&reason, "the launch plan is not one that the recorder writes: it has %u calls", plan[0]->calls);
	else if (compare_recordings(&(struct comparison){ plan[0], plan[1], false, &reason }, &unused) == 0 &&
	    /* What the first lost as undefined is undefined in the third as well. */
	    compare_recordings(&(struct comparison){ plan[1], plan[2], true, &reason }, &plan[0]->host_address_words) == 0 &&
	    compare_calls(plan[0], &reason) == 0) {
		verdict = plan_check_joined(plan[0], 0, &reason) < 0 || plan_check_order(plan[0], 0, &reason) < 0 ?
			CUDA_RUNTIME_ERROR : CUDA_OK;
	}
	if (verdict == CUDA_OK)
		judge_later_calls(r, plan[0], &verdict, &reason);
	if (verdict != CUDA_OK) {
		fail(result, verdict, &reason);
		goto out;
	}
	result->plan = first_call(r, plan[0], &reason);
	if (result->plan)
		result->verdict = CUDA_OK;
	else
		fail(result, CUDA_SUSPICIOUS, &reason);
out:
	for (int i = 0; i < COMPARED; i++)
		plan_free(plan[i]);
	buf_release(&reason);
}

/* Three recordings of the arguments, or with others one of the calls in turn. 0 with result filled as far as running
 * goes, or -1 with a sentence. */
static int
run_recordings(struct recording *r, const char *folder, const struct cuda_argument *arguments,
	const struct cuda_argument *others, int count, const char *profile, const struct cuda_limits *limits,
	struct cuda_recording *result, struct buf *err)
{
	struct job_facts facts = { .arguments = arguments, .others = others, .count = count, .next_address = CUDA_ARENA };
	struct gpu_profile figures;
	uint64_t wall_ms = limits && limits->wall_ms ? limits->wall_ms : DEFAULT_WALL_MS;

	if (place_buffers(r, arguments, count, &facts.next_address, err) < 0 ||
	    (others && place_buffers(r, others, count, &facts.next_address, err) < 0) || read_profile(r, profile, err) < 0 ||
	    profile_parse(buf_str(&r->profile), &figures, err) < 0 || !(r->info = read_info(folder, err)))
		return -1;
	facts.info = r->info;
	facts.buffers = r->buffer;
	facts.buffer_count = r->buffers;
	facts.scratch_bytes = figures.memory_free;
	facts.wall_seconds = (wall_ms + 999) / 1000;
	facts.cpu_seconds = (wall_ms / CPU_SHARE + 999) / 1000;
	facts.profile_name = r->profile_name;
	job_write(&facts, &r->job);
	return run_recorder(r, folder, others ? 1 : RECORDINGS, limits, result, err);
}

static void
release(struct recording *r)
{
	ptxinfo_free(r->info);
	free(r->buffer);
	buf_release(&r->job);
	buf_release(&r->profile);
	for (int i = 0; i < RECORDINGS; i++)
		buf_release(&r->plan[i]);
}

int
cuda_record(const char *folder, const struct cuda_argument *arguments, int count, const char *profile,
	const struct cuda_limits *limits, struct cuda_recording *result, struct buf *err)
{
	struct recording r = { .info = NULL };
	int status;

	*result = (struct cuda_recording)CUDA_RECORDING_INIT;
	status = run_recordings(&r, folder, arguments, NULL, count, profile, limits, result, err);
	if (status == 0) {
		if (!result->reason.len)
			judge_plans(&r, result);
		if (result->verdict == CUDA_OK) {
			result->info = r.info;
			r.info = NULL;
		}
		clean_output(&result->output);
	}
	release(&r);
	if (status < 0)
		cuda_recording_release(result);
	return status;
}

/* ---- calls in turn */
static void
judge_turns(struct recording *r, const struct plan *alone, struct cuda_recording *result)
{
	struct buf reason = BUF_INIT;
	enum cuda_verdict verdict;
	struct plan *plan = plan_parse(buf_str(&r->plan[0]), r->plan[0].len, r->info, r->buffer, r->buffers, &verdict, &reason);

	for (uint32_t i = 1; plan && verdict == CUDA_OK && i < IN_TURN; i += 2) {
		struct call first = { alone, 0, 0 }, second = { plan, i, 0 };

		if (plan->calls == IN_TURN && same_calls(first, second, false, NULL))
			continue;
		verdict = plan->calls != IN_TURN || launches(&second) < launches(&first) ? CUDA_SUSPICIOUS : CUDA_RUNTIME_ERROR;
		buf_adds(&reason, verdict == CUDA_SUSPICIOUS ? "solve() launches less when it was called with other sizes before" :
			"solve() does other work when it was called with other sizes before: it keeps something, such as scratch "
			"memory or a size, that fits that call only");
	}
	if (verdict != CUDA_OK)
		fail(result, verdict, &reason);
	else
		result->verdict = CUDA_OK;
	plan_free(plan);
	buf_release(&reason);
}

int
cuda_record_in_turn(const char *folder, const struct cuda_argument *arguments, const struct cuda_argument *others,
	int count, const char *profile, const struct cuda_limits *limits, const struct plan *alone,
	struct cuda_recording *result, struct buf *err)
{
	struct recording r = { .info = NULL };
	int status;

	*result = (struct cuda_recording)CUDA_RECORDING_INIT;
	status = run_recordings(&r, folder, arguments, others, count, profile, limits, result, err);
	if (status == 0 && !result->reason.len)
		judge_turns(&r, alone, result);
	if (status == 0)
		clean_output(&result->output);
	release(&r);
	if (status < 0)
		cuda_recording_release(result);
	return status;
}

void
cuda_recording_release(struct cuda_recording *recording)
{
	buf_release(&recording->reason);
	buf_release(&recording->output);
	plan_free(recording->plan);
	ptxinfo_free(recording->info);
	*recording = (struct cuda_recording)CUDA_RECORDING_INIT;
}
