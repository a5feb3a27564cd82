/* A candidate and a baseline in, pairs of times out. Before each pair the inputs are made anew on the device; before each
 * launch outputs, scratch and variables are put back, and 512 MiB are written and read; the whole plan waits in the queue
 * meanwhile.
 *
 * Device code can overwrite the stamps of events. So each launch is read at once, and the host's clock has its say: from
 * event P, which the host sees while the flush runs, to the end, less the same of an empty kernel. For that the host
 * must have queued everything before P comes: a kernel that spins for a while stands before it. */
#include "cuda/gpu_time.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/die.h"
#include "rec/json.h"

enum { FLUSH_BYTES = 512 << 20, STEP_PAIRS = 20, EMPTY_LAUNCHES = 40, DIRECT_OPERATIONS = 30, SPIN_NS = 60000,
	SPIN_NS_OPERATION = 8000, WARM_LAUNCHES = 5, WARM_MS = 80, UP_LAUNCHES = 8, RATE_NS = 50000, COPY_RUNS = 20,
	JUDGED_ONE_IN = 12 };

#define CLOCK_SHARE 0.97

/* xorshift64*: the order of pairs, and which launches are judged. */
uint32_t
timing_draw(struct timing *t, uint32_t below)
{
	t->random ^= t->random >> 12;
	t->random ^= t->random << 25;
	t->random ^= t->random >> 27;
	return (uint32_t)((t->random * 0x2545F4914F6CDD1Dull) >> 33) % below;
}

static CUstream
stream_of(const struct timing *t)
{
	return t->g->stream[PLAN_GIVEN_STREAM];
}

/* ---- memory before a launch */

static CUresult
put_back(struct timing *t, struct timing_side *side, int poison)
{
	CUresult result = CUDA_SUCCESS;

	for (uint32_t i = 0; i < t->g->regions && result == CUDA_SUCCESS; i++)
		if (t->g->region[i].output || t->g->region[i].scratch)
			result = gpu_poison(t->g, &t->g->region[i], poison, stream_of(t));
	if (result == CUDA_SUCCESS && side)
		result = gpu_code_restore(t->g, &side->code, stream_of(t));
	return result == CUDA_SUCCESS ? CALL(cuStreamSynchronize, stream_of(t)) : result;
}

static CUresult
flush(struct timing *t)
{
	uint64_t n = FLUSH_BYTES / 16;
	uint32_t value = (uint32_t)t->random, blocks = 8 * (uint32_t)t->g->multiprocessors;
	void *written[] = { &t->flush, &n, &value }, *read[] = { &t->flush, &n, &t->g->figures };
	CUresult result = gpu_own_launch(t->g, OWN_WRITE, blocks, 0, stream_of(t), written);

	return result == CUDA_SUCCESS ? gpu_own_launch(t->g, OWN_READ, blocks, 0, stream_of(t), read) : result;
}

/* ---- one launch */

static CUresult
issue(struct timing *t, struct timing_side *side)
{
	static const struct gpu_replay how = { .timing = true };
	const char *kernel;

	if (!side)
		return gpu_own_launch(t->g, OWN_EMPTY, 1, 0, stream_of(t), NULL);
	if (side->graph)
		return CALL(cuGraphLaunch, side->graph, stream_of(t));
	return gpu_replay(t->g, &side->code, &how, &kernel);
}

static CUresult
queue(struct timing *t, struct timing_side *side, uint32_t extra)
{
	uint64_t spin = SPIN_NS + SPIN_NS_OPERATION * (uint64_t)(side && !side->graph ? side->operations : 1);
	void *arguments[] = { &spin };
	CUresult result = gpu_own_launch(t->g, OWN_SPIN, 1, 0, stream_of(t), arguments);

	if (result == CUDA_SUCCESS)
		result = CALL(cuEventRecord, t->p, stream_of(t));
	if (result == CUDA_SUCCESS)
		result = flush(t);
	/* The start stamp is not always as far from what is before it. */
	for (uint32_t more = extra; more && result == CUDA_SUCCESS; more--)
		result = gpu_own_launch(t->g, OWN_EMPTY, 1, 0, stream_of(t), NULL);
	if (result == CUDA_SUCCESS)
		result = CALL(cuEventRecord, t->start, stream_of(t));
	if (result == CUDA_SUCCESS)
		result = issue(t, side);
	return result == CUDA_SUCCESS ? CALL(cuEventRecord, t->end, stream_of(t)) : result;
}

static CUresult
wait_for(CUevent event)
{
	CUresult result;

	while ((result = CALL(cuEventQuery, event)) == CUDA_ERROR_NOT_READY)
		;
	return result;
}

/* One timed launch. The host sees the start stamp's event arrive before any code of the candidate runs, so nothing that
 * this code writes moves that moment. host_us is NAN when P came before the host was done with queueing. */
CUresult
timing_launch(struct timing *t, struct timing_side *side, struct timing_sample *s)
{
	float event_ms = 0, gap_ms = 0;
	uint32_t extra = side ? timing_draw(t, 4) : 0;
	CUresult result = queue(t, side, extra);
	bool late = result == CUDA_SUCCESS && CALL(cuEventQuery, t->p) == CUDA_SUCCESS;

	if (result == CUDA_SUCCESS)
		result = wait_for(t->p);
	if (result == CUDA_SUCCESS)
		result = wait_for(t->start);
	double begin = (double)clock_ns() / 1e3;
	if (result == CUDA_SUCCESS)
		result = wait_for(t->end);
	double end = (double)clock_ns() / 1e3;
	if (result == CUDA_SUCCESS)
		result = CALL(cuStreamSynchronize, stream_of(t));
	if (result == CUDA_SUCCESS)
		result = CALL(cuEventElapsedTime, &event_ms, t->start, t->end);
	if (result == CUDA_SUCCESS)
		result = CALL(cuEventElapsedTime, &gap_ms, t->p, t->start);
	*s = (struct timing_sample){ event_ms * 1e3, gap_ms * 1e3, late ? NAN : end - begin, extra };
	return result;
}

/* Puts memory back, launches, and keeps the sample with the side. */
CUresult
timing_prepared_launch(struct timing *t, struct timing_side *side, uint64_t launch, struct timing_sample *s)
{
	CUresult result = timing_renew_inputs(t, launch);

	if (result == CUDA_SUCCESS)
		result = put_back(t, side, (int)(launch & 1));
	return result == CUDA_SUCCESS ? timing_launch(t, side, s) : result;
}

/* ---- before the first pair */

/* The granules of all scratch of both plans, each mapped once. */
static bool
map_scratch(struct timing *t)
{
	struct { uint64_t start, end; } all[GPU_MAX_REGIONS];
	uint32_t count = 0;

	for (int side = 0; side < 2; side++) {
		const struct plan *plan = side ? t->baseline.code.plan : t->candidate.code.plan;

		for (uint32_t i = 0; plan && i < plan->operations; i++) {
			const struct plan_operation *o = &plan->operation[i];

			if (o->kind != PLAN_ALLOCATE || count == GPU_MAX_REGIONS)
				continue;
			all[count].start = o->scratch.address & ~(CUDA_GRANULE - 1);
			all[count++].end = (o->scratch.address + o->scratch.bytes + CUDA_GRANULE) & ~(CUDA_GRANULE - 1);
		}
	}
	for (bool merged = true; merged;) {
		merged = false;
		for (uint32_t i = 0; i < count; i++)
			for (uint32_t k = i + 1; k < count; k++)
				if (all[i].start <= all[k].end && all[k].start <= all[i].end) {
					all[i].start = all[k].start < all[i].start ? all[k].start : all[i].start;
					all[i].end = all[k].end > all[i].end ? all[k].end : all[i].end;
					all[k--] = all[--count];
					merged = true;
				}
	}
	for (uint32_t i = 0; i < count; i++) {
		struct gpu_region wanted = { .address = all[i].start, .bytes = all[i].end - all[i].start, .scratch = true,
			.is_float = true };
		if (!gpu_map(t->g, &wanted))
			return false;
	}
	return true;
}

static uint32_t
operations_of(const struct plan *plan)
{
	uint32_t count = 0;

	for (uint32_t i = plan->call_start[0]; i < plan->call_start[1]; i++)
		count += plan->operation[i].kind != PLAN_ALLOCATE && plan->operation[i].kind != PLAN_FREE;
	return count;
}

/* A plan that the queue does not take in the time of the flush runs as a graph. 0, or the driver's error. */
static CUresult
make_graph(struct timing *t, struct timing_side *side)
{
	CUgraph graph = NULL;
	CUresult result;

	side->operations = operations_of(side->code.plan);
	if (side->operations <= DIRECT_OPERATIONS)
		return CUDA_SUCCESS;
	result = CALL(cuStreamBeginCapture, stream_of(t), CU_STREAM_CAPTURE_MODE_GLOBAL);
	if (result != CUDA_SUCCESS)
		return result;
	result = issue(t, side);
	CUresult ended = CALL(cuStreamEndCapture, stream_of(t), &graph);
	if (result == CUDA_SUCCESS)
		result = ended;
	if (result == CUDA_SUCCESS)
		result = CALL(cuGraphInstantiateWithFlags, &side->graph, graph, 0);
	if (result == CUDA_SUCCESS)
		result = CALL(cuGraphUpload, side->graph, stream_of(t));
	if (graph)
		CALL(cuGraphDestroy, graph);
	return result;
}

/* Bytes read and written a microsecond, the best of several. */
static CUresult
measure_copy(struct timing *t)
{
	uint64_t n = FLUSH_BYTES / 2 / 16;
	CUdeviceptr to = t->flush + FLUSH_BYTES / 2;
	void *arguments[] = { &t->flush, &to, &n };
	CUresult result = CUDA_SUCCESS;
	float ms;

	for (int i = 0; i < COPY_RUNS && result == CUDA_SUCCESS; i++) {
		result = CALL(cuEventRecord, t->start, stream_of(t));
		if (result == CUDA_SUCCESS)
			result = gpu_own_launch(t->g, OWN_COPY, 16 * (uint32_t)t->g->multiprocessors, 0, stream_of(t), arguments);
		if (result == CUDA_SUCCESS)
			result = CALL(cuEventRecord, t->end, stream_of(t));
		if (result == CUDA_SUCCESS)
			result = CALL(cuStreamSynchronize, stream_of(t));
		if (result == CUDA_SUCCESS)
			result = CALL(cuEventElapsedTime, &ms, t->start, t->end);
		if (result == CUDA_SUCCESS && ms > 0)
			t->copy_bytes_us = fmax(t->copy_bytes_us, FLUSH_BYTES / ((double)ms * 1e3));
	}
	return result;
}

/* After the same preparation: what it leaves in the caches makes the flush longer. */
static CUresult
measure_empty(struct timing *t)
{
	struct timing_side *empty = &t->empty;
	CUresult result = CUDA_SUCCESS;

	for (uint32_t i = 0; i < EMPTY_LAUNCHES && result == CUDA_SUCCESS; i++) {
		struct timing_sample s;

		result = timing_prepared_launch(t, NULL, i / 2, &s);	/* as pairs are */
		empty->sample[empty->samples++] = s;
	}
	return result;
}

/* Is a multiprocessor's clock near the highest? */
static CUresult
clock_is_up(struct timing *t, bool *up)
{
	uint64_t nanoseconds = RATE_NS, figures[2] = { 0, 1 };
	void *arguments[] = { &nanoseconds, &t->g->figures };
	CUresult result = gpu_own_launch(t->g, OWN_RATE, 1, 0, stream_of(t), arguments);

	if (result == CUDA_SUCCESS)
		result = CALL(cuMemcpyDtoHAsync, figures, t->g->figures, sizeof figures, stream_of(t));
	if (result == CUDA_SUCCESS)
		result = CALL(cuStreamSynchronize, stream_of(t));
	*up = result == CUDA_SUCCESS && (double)figures[0] * 1e6 > CLOCK_SHARE * t->g->clock_khz * (double)figures[1];
	return result;
}

/* An idle GPU has low clocks. Work raises them; one that its power holds below the highest gets some time for it. */
static CUresult
raise_clocks(struct timing *t)
{
	uint64_t begin = clock_ns();
	CUresult result = CUDA_SUCCESS;

	for (int up = 0; up < UP_LAUNCHES && clock_ns() - begin < WARM_MS * 1000000ull && result == CUDA_SUCCESS;) {
		struct timing_sample s;
		bool is_up = false;

		result = timing_launch(t, NULL, &s);
		if (result == CUDA_SUCCESS)
			result = clock_is_up(t, &is_up);
		up = is_up ? up + 1 : 0;
	}
	return result;
}

static CUresult
warm_up(struct timing *t)
{
	CUresult result = CUDA_SUCCESS;
	struct timing_sample s;

	for (int i = 0; i < WARM_LAUNCHES && result == CUDA_SUCCESS; i++) {
		result = timing_prepared_launch(t, &t->candidate, 0, &s);
		if (result == CUDA_SUCCESS && t->has_baseline)
			result = timing_prepared_launch(t, &t->baseline, 0, &s);
	}
	return result;
}

CUresult
timing_start(struct timing *t)
{
	CUresult result;

	t->flush = 0;
	if (!map_scratch(t) || CALL(cuMemAlloc, &t->flush, FLUSH_BYTES) != CUDA_SUCCESS)
		return CUDA_ERROR_OUT_OF_MEMORY;
	gpu_must(CALL(cuEventCreate, &t->p, CU_EVENT_DEFAULT), "making an event");
	gpu_must(CALL(cuEventCreate, &t->start, CU_EVENT_DEFAULT), "making an event");
	gpu_must(CALL(cuEventCreate, &t->end, CU_EVENT_DEFAULT), "making an event");
	result = make_graph(t, &t->candidate);
	if (result == CUDA_SUCCESS && t->has_baseline)
		result = make_graph(t, &t->baseline);
	if (result == CUDA_SUCCESS)
		result = raise_clocks(t);
	if (result == CUDA_SUCCESS)
		result = measure_copy(t);
	if (result == CUDA_SUCCESS)
		result = measure_empty(t);
	return result == CUDA_SUCCESS ? warm_up(t) : result;
}

/* ---- pairs */

static double
half_width(const struct stats_ratio *r)
{
	return (r->high - r->low) / (2 * r->ratio);
}

/* One pair in random order, on the same inputs. A side against itself gives the noise. */
static CUresult
run_pair(struct timing *t, struct timing_side *a, struct timing_side *b, uint64_t launch, bool judged, double *log_ratio)
{
	struct timing_sample sample[2];
	bool swapped = timing_draw(t, 2);
	CUresult result = CUDA_SUCCESS;

	for (int i = 0; i < 2 && result == CUDA_SUCCESS; i++) {
		bool is_b = (i == 1) != swapped;

		result = timing_prepared_launch(t, is_b ? b : a, launch, &sample[is_b]);
		if (result == CUDA_SUCCESS && judged)
			result = i == 0 ? timing_keep_outputs(t) : timing_compare_outputs(t, is_b, &t->timed);
	}
	*log_ratio = log(sample[0].event_us / sample[1].event_us);
	if (result == CUDA_SUCCESS && a != b && a->samples < TIMING_MAX_PAIRS) {
		a->sample[a->samples++] = sample[0];
		b->sample[b->samples++] = sample[1];
	} else if (result == CUDA_SUCCESS && !t->has_baseline && a->samples + 2 <= TIMING_MAX_PAIRS) {
		a->sample[a->samples++] = sample[0];
		a->sample[a->samples++] = sample[1];
	}
	return result;
}

CUresult
timing_run(struct timing *t, struct timing_side *a, struct timing_side *b, uint32_t least, uint32_t most,
	struct timing_ratio *out)
{
	CUresult result = CUDA_SUCCESS;

	while (out->pairs < most && result == CUDA_SUCCESS) {
		/* The first pair and about one in twelve are judged. */
		bool judged = a != b && (out->pairs == 0 || timing_draw(t, JUDGED_ONE_IN) == 0);

		result = run_pair(t, a, b, t->launches++, judged, &out->log_ratio[out->pairs]);
		if (result != CUDA_SUCCESS || t->timed.mismatched)
			break;
		out->pairs++;
		if (out->pairs < least || out->pairs % STEP_PAIRS)
			continue;
		out->figures = stats_trimmed(out->log_ratio, out->pairs);
		if (half_width(&out->figures) <= t->half_interval)
			break;
	}
	out->figures = stats_trimmed(out->log_ratio, out->pairs);
	return result;
}

/* ---- is the clock to be believed? */

static double
median_of(const struct timing_side *side, int which)
{
	double values[TIMING_MAX_PAIRS];
	size_t count = 0;

	for (uint32_t i = 0; i < side->samples; i++) {
		const struct timing_sample *s = &side->sample[i];

		/* Those alone whose way from P to the start is the same. */
		if (!isnan(s->host_us) && !s->extra)
			values[count++] = which == 0 ? s->event_us : which == 1 ? s->gap_us : s->host_us;
	}
	return stats_quantile(values, count, 0.5);
}

double
timing_median_us(const struct timing_side *side)
{
	double values[TIMING_MAX_PAIRS];

	for (uint32_t i = 0; i < side->samples; i++)
		values[i] = side->sample[i].event_us;
	return stats_quantile(values, side->samples, 0.5);
}

/* Events and the host's clock, each less the same of an empty kernel, and the time from P to the start stamp. */
void
timing_check_clock(struct timing *t, struct timing_side *side, const char *name)
{
	double event = median_of(side, 0) - median_of(&t->empty, 0), gap = median_of(side, 1), usual = median_of(&t->empty, 1);
	double host = median_of(side, 2) - median_of(&t->empty, 2);
	json_t *check = json_pack("{s:f, s:f, s:f, s:f}", "event_us", event, "host_us", host, "gap_us", gap, "empty_gap_us",
		usual);

	if (isnan(event) || isnan(host)) {
		json_decref(check);
		json_object_set_new(t->report, name, json_null());
		return;
	}
	json_object_set_new(t->report, name, check);
	/* A forged stamp makes the events say less than the host, never more. */
	if (host - event > 1 + 0.01 * event || fabs(gap - usual) > 3 + 0.01 * event) {
		t->status = "SUSPICIOUS";
		buf_reset(&t->reason);
		buf_addf(&t->reason, "the events say %.1f us more than an empty kernel and the host's clock %.1f us; the flush before "
			"the start took %.1f us instead of %.1f us", event, host, gap, usual);
	}
}
