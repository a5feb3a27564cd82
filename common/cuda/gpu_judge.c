/* The command `time`: a candidate's outputs on inputs made on the device, against those of a trusted solution in every
 * element and for the oracle at some; then its times. Nothing of several gigabytes is copied to the host.
 *
 * The trusted solution is the baseline: it runs after the candidate, whose outputs lie in memory that is not mapped
 * while anything runs. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/die.h"
#include "cuda/gpu_time.h"
#include "rec/json.h"

enum { PART_PLAN = 1, PART_PTX, PART_FATBIN, PART_INPUTS, PART_BASE_PLAN, PART_BASE_PTX, PART_BASE_FATBIN, PARTS,
	MAX_SAMPLED = 1 << 16 };

struct comparison {	/* as in gpu_kernels.cu */
	unsigned long long mismatched, first, absolute_bits, relative_bits;
};

/* ---- outputs in memory that nothing sees */

static uint64_t
whole_granules(uint64_t bytes)
{
	return (bytes + CUDA_GRANULE - 1) & ~(CUDA_GRANULE - 1);
}

/* Where an output's copy starts in the kept memory. */
static uint64_t
place_of(const struct timing *t, uint32_t region)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < region; i++)
		if (t->g->region[i].output)
			at += (t->g->region[i].bytes + CUDA_ALIGNMENT - 1) & ~(uint64_t)(CUDA_ALIGNMENT - 1);
	return at;
}

static CUresult
map_kept(struct timing *t, CUdeviceptr *at)
{
	CUmemAllocationProp property = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = t->g->device } };
	CUmemAccessDesc access = { property.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUresult result = CUDA_SUCCESS;

	if (!t->kept_bytes) {
		t->kept_bytes = whole_granules(place_of(t, t->g->regions) + 1);
		result = CALL(cuMemCreate, &t->kept, t->kept_bytes, &property, 0);
	}
	if (result == CUDA_SUCCESS)
		result = CALL(cuMemAddressReserve, at, t->kept_bytes, 0, 0, 0);
	if (result == CUDA_SUCCESS)
		result = CALL(cuMemMap, *at, t->kept_bytes, 0, t->kept, 0);
	return result == CUDA_SUCCESS ? CALL(cuMemSetAccess, *at, t->kept_bytes, &access, 1) : result;
}

static CUresult
unmap_kept(struct timing *t, CUdeviceptr at)
{
	CUresult result = CALL(cuCtxSynchronize);

	if (result == CUDA_SUCCESS)
		result = CALL(cuMemUnmap, at, t->kept_bytes);
	return result == CUDA_SUCCESS ? CALL(cuMemAddressFree, at, t->kept_bytes) : result;
}

CUresult
timing_keep_outputs(struct timing *t)
{
	CUdeviceptr kept;
	CUresult result = map_kept(t, &kept);

	for (uint32_t i = 0; i < t->g->regions && result == CUDA_SUCCESS; i++) {
		const struct gpu_region *r = &t->g->region[i];

		if (r->output && r->bytes)
			result = CALL(cuMemcpyDtoDAsync, kept + place_of(t, i), r->address - CUDA_ARENA + t->g->base, r->bytes,
				t->g->stream[PLAN_GIVEN_STREAM]);
	}
	return result == CUDA_SUCCESS ? unmap_kept(t, kept) : result;
}

static CUresult
compare_one(struct timing *t, const struct gpu_region *r, int output, CUdeviceptr got, CUdeviceptr want,
	struct timing_compared *c)
{
	const json_t *o = json_array_get(json_object_get(t->job, "outputs"), (size_t)output);
	CUstream stream = t->g->stream[PLAN_GIVEN_STREAM];
	struct comparison figures = { 0, UINT64_MAX, 0, 0 };
	uint64_t n = r->bytes / r->element_bytes;
	int dtype = (int)rec_json_integer(o, "dtype", 0);
	double rtol = rec_json_number(o, "rtol", 0), atol = rec_json_number(o, "atol", 0), absolute, relative;
	void *arguments[] = { &got, &want, &n, &dtype, &rtol, &atol, &t->g->figures };
	CUresult result = CALL(cuMemcpyHtoDAsync, t->g->figures, &figures, sizeof figures, stream);

	if (result == CUDA_SUCCESS && n)
		result = gpu_own_launch(t->g, OWN_COMPARE, 8 * (uint32_t)t->g->multiprocessors, 0, stream, arguments);
	if (result == CUDA_SUCCESS)
		result = CALL(cuStreamSynchronize, stream);
	if (result == CUDA_SUCCESS)
		result = CALL(cuMemcpyDtoH, &figures, t->g->figures, sizeof figures);
	memcpy(&absolute, &figures.absolute_bits, sizeof absolute);
	memcpy(&relative, &figures.relative_bits, sizeof relative);
	if (figures.mismatched && !c->mismatched) {
		c->first = figures.first;
		c->output = output;
	}
	c->mismatched += figures.mismatched;
	c->elements += n;
	c->absolute = fmax(c->absolute, absolute);
	c->relative = fmax(c->relative, relative);
	return result;
}

CUresult
timing_compare_outputs(struct timing *t, bool kept_is_candidate, struct timing_compared *c)
{
	CUdeviceptr kept;
	CUresult result = map_kept(t, &kept);
	int output = 0;

	for (uint32_t i = 0; i < t->g->regions && result == CUDA_SUCCESS; i++) {
		const struct gpu_region *r = &t->g->region[i];
		CUdeviceptr now = r->address - CUDA_ARENA + t->g->base, then = kept + place_of(t, i);

		if (!r->output)
			continue;
		result = compare_one(t, r, output++, kept_is_candidate ? then : now, kept_is_candidate ? now : then, c);
	}
	c->launches++;
	return result == CUDA_SUCCESS ? unmap_kept(t, kept) : result;
}

/* ---- the verdict before the clock */

/* The elements of the outputs that the oracle will be asked for; the candidate's answers go to out. */
static CUresult
gather(struct timing *t, struct buf *out)
{
	CUstream stream = t->g->stream[PLAN_GIVEN_STREAM];
	CUresult result = CUDA_SUCCESS;
	size_t output = 0;

	for (uint32_t i = 0; i < t->g->regions && result == CUDA_SUCCESS; i++) {
		const struct gpu_region *r = &t->g->region[i];
		const json_t *list, *item;
		uint64_t numbers[4096 + 64], n = 0;
		size_t k;

		if (!r->output)
			continue;
		list = json_object_get(json_array_get(json_object_get(t->job, "outputs"), output++), "sampled");
		json_array_foreach(list, k, item)
			if (n < sizeof numbers / sizeof *numbers && (uint64_t)json_integer_value(item) < r->bytes / r->element_bytes)
				numbers[n++] = (uint64_t)json_integer_value(item);
		if (!n)
			continue;
		CUdeviceptr from = r->address - CUDA_ARENA + t->g->base, at = t->g->figures, to = at + sizeof numbers;
		uint32_t bytes = r->element_bytes;
		void *arguments[] = { &from, &at, &n, &bytes, &to };
		result = CALL(cuMemcpyHtoDAsync, at, numbers, n * sizeof *numbers, stream);
		if (result == CUDA_SUCCESS)
			result = gpu_own_launch(t->g, OWN_GATHER, (uint32_t)(n + 255) / 256, 0, stream, arguments);
		if (result == CUDA_SUCCESS)
			result = CALL(cuStreamSynchronize, stream);
		buf_reserve(out, n * bytes);
		if (result == CUDA_SUCCESS)
			result = CALL(cuMemcpyDtoH, out->data + out->len, to, n * bytes);
		out->len += n * bytes;
	}
	return result;
}

static CUresult
run_untimed(struct timing *t, struct gpu_code *code, bool careful, const char **kernel)
{
	struct gpu_replay how = { .one_stream = careful, .careful = careful, .scrub = true };
	CUresult result = timing_generate(t, 0);

	for (uint32_t i = 0; i < t->g->regions && result == CUDA_SUCCESS; i++)
		if (t->g->region[i].output)
			result = gpu_poison(t->g, &t->g->region[i], 0, t->g->stream[PLAN_GIVEN_STREAM]);
	if (result == CUDA_SUCCESS)
		result = gpu_replay(t->g, code, &how, kernel);
	return result == CUDA_SUCCESS ? CALL(cuCtxSynchronize) : result;
}

/* The candidate on the workload's own inputs, and the trusted solution on the same. */
static CUresult
first_run(struct timing *t, struct buf *sampled, const char **kernel)
{
	const struct gpu_region *where = NULL;
	uint64_t lost = 0;
	CUresult result = run_untimed(t, &t->candidate.code, true, kernel);

	if (result == CUDA_SUCCESS)
		result = gather(t, sampled);
	if (result == CUDA_SUCCESS)
		result = gpu_lost_canaries(t->g, &lost, &where);
	if (result == CUDA_SUCCESS && lost) {
		t->status = "RUNTIME_ERROR";
		buf_addf(&t->reason, "%llu bytes next to %s were overwritten", (unsigned long long)lost,
			where->scratch ? "scratch memory" : "an output");
		return result;
	}
	if (result == CUDA_SUCCESS)
		result = timing_keep_outputs(t);
	gpu_unmap_scratch(t->g);
	if (result != CUDA_SUCCESS || !t->has_baseline)
		return result;
	*kernel = NULL;
	result = run_untimed(t, &t->baseline.code, false, kernel);
	if (result == CUDA_SUCCESS)
		result = timing_compare_outputs(t, true, &t->first);
	gpu_unmap_scratch(t->g);
	if (t->first.mismatched) {
		t->status = "INCORRECT_NUMERICAL";
		buf_addf(&t->reason, "%llu of %llu elements differ from those of the task's first correct solution by more than the "
			"tolerance", (unsigned long long)t->first.mismatched, (unsigned long long)t->first.elements);
	}
	return result;
}

/* ---- the report */

static json_t *
ratio_json(const struct timing_ratio *r)
{
	return json_pack("{s:i, s:f, s:[f, f]}", "pairs", (int)r->pairs, "ratio", r->figures.ratio, "interval",
		r->figures.low, r->figures.high);
}

static json_t *
compared_json(const struct timing_compared *c)
{
	return json_pack("{s:i, s:I, s:I, s:f, s:f}", "launches", (int)c->launches, "elements", (json_int_t)c->elements,
		"mismatched", (json_int_t)c->mismatched, "max_absolute", c->absolute, "max_relative", c->relative);
}

static void
add_samples(const struct timing_side *side, struct buf *out)
{
	for (uint32_t i = 0; i < side->samples; i++) {
		float values[] = { (float)side->sample[i].event_us, (float)side->sample[i].gap_us, (float)side->sample[i].host_us };

		buf_add(out, values, sizeof values);
	}
}

static void
add_figures(struct timing *t)
{
	double floor_us = rec_json_number(t->job, "least_bytes", 0) / t->copy_bytes_us;
	double median = timing_median_us(&t->candidate);
	json_t *r = t->report;

	json_object_set_new(r, "median_us", json_real(median));
	json_object_set_new(r, "empty_kernel_us", json_real(timing_median_us(&t->empty)));
	json_object_set_new(r, "copy_gb_s", json_real(t->copy_bytes_us / 1e3));
	json_object_set_new(r, "floor_us", json_real(floor_us));
	json_object_set_new(r, "graph", json_boolean(t->candidate.graph != NULL));
	json_object_set_new(r, "operations", json_integer(t->candidate.operations));
	json_object_set_new(r, "noise", ratio_json(&t->against_itself));
	if (t->has_baseline) {
		json_object_set_new(r, "baseline_us", json_real(timing_median_us(&t->baseline)));
		json_object_set_new(r, "against_baseline", ratio_json(&t->against_baseline));
		json_object_set_new(r, "judged", compared_json(&t->timed));
		json_object_set_new(r, "baseline_graph", json_boolean(t->baseline.graph != NULL));
	}
	timing_check_clock(t, &t->candidate, "host_check");
	if (t->timed.mismatched) {
		t->status = "SUSPICIOUS";
		buf_adds(&t->reason, "a timed launch gave outputs that differ from those of the trusted solution");
	} else if (median < 0.9 * floor_us && !strcmp(t->status, "PASSED")) {
		t->status = "SUSPICIOUS";
		buf_addf(&t->reason, "%.2f us are less than its tensors take to be read and written once (%.2f us at the measured "
			"copy rate)", median, floor_us);
	}
}

static CUresult
measure(struct timing *t)
{
	uint32_t least = (uint32_t)rec_json_integer(t->job, "least_pairs", 100);
	uint32_t most = (uint32_t)rec_json_integer(t->job, "most_pairs", TIMING_MAX_PAIRS);
	uint32_t noise = (uint32_t)rec_json_integer(t->job, "noise_pairs", 50);
	CUresult result = timing_start(t);

	most = most > TIMING_MAX_PAIRS ? TIMING_MAX_PAIRS : most;
	if (result == CUDA_SUCCESS && t->has_baseline)
		result = timing_run(t, &t->candidate, &t->baseline, least, most, &t->against_baseline);
	/* Without a baseline the pairs of the candidate against itself are all there is. */
	if (result == CUDA_SUCCESS && !t->timed.mismatched)
		result = timing_run(t, &t->candidate, &t->candidate, t->has_baseline ? noise : least,
			t->has_baseline ? noise : most, &t->against_itself);
	if (result == CUDA_SUCCESS)
		add_figures(t);
	return result;
}

static void
fail(struct timing *t, CUresult result, const char *kernel, json_t *findings)
{
	json_t *finding = gpu_fault(result, kernel);

	t->status = finding ? "RUNTIME_ERROR" : "INFRASTRUCTURE";
	buf_reset(&t->reason);
	if (result == CUDA_ERROR_OUT_OF_MEMORY) {
		t->status = "UNSUPPORTED";
		buf_adds(&t->reason, "its buffers and scratch need more memory than the GPU has");
	} else if (finding) {
		buf_adds(&t->reason, rec_json_string(finding, "message", ""));
		json_array_append_new(findings, finding);
	} else {
		buf_addf(&t->reason, "the driver gave %s", driver_error(result));
	}
}

static void
open_codes(struct timing *t, struct message *m, const struct plan_buffer *buffers, uint32_t count)
{
	struct buf err = BUF_INIT;

	if (gpu_code_open(t->g, &t->candidate.code, &m->part[PART_PTX], &m->part[PART_FATBIN], &m->part[PART_PLAN], buffers,
	    count, &err))
		die(EX_DATAERR, "%s", buf_str(&err));
	t->has_baseline = m->part[PART_BASE_PLAN].len > 0;
	if (t->has_baseline && gpu_code_open(t->g, &t->baseline.code, &m->part[PART_BASE_PTX], &m->part[PART_BASE_FATBIN],
	    &m->part[PART_BASE_PLAN], buffers, count, &err))
		die(EX_DATAERR, "the baseline: %s", buf_str(&err));
	buf_release(&err);
}

void
gpu_time(struct gpu *g, const json_t *job, struct message *m)
{
	static struct timing timing;	/* a worker times one candidate after another, each afresh */
	struct timing *t = &timing;
	struct gpu_region regions[GPU_MAX_BUFFERS];
	struct plan_buffer buffers[GPU_MAX_BUFFERS];
	uint32_t count = gpu_read_buffers(job, regions, buffers), inputs = 0;
	struct buf parts[2] = { BUF_INIT, BUF_INIT }, err = BUF_INIT, printed = BUF_INIT;
	json_t *findings = json_array();
	const char *kernel = NULL;

	*t = (struct timing){ .g = g, .job = job, .status = "PASSED", .report = json_object(), .launches = 1,
		.random = (uint64_t)rec_json_integer(job, "seed", 1) * 2 + 1,
		.half_interval = rec_json_number(job, "half_interval", 0.005), .inputs = (void *)m->part[PART_INPUTS].data };
	for (uint32_t i = 0; i < count; i++)
		inputs += !buffers[i].output;
	if (m->parts != PARTS || m->part[PART_INPUTS].len != inputs * sizeof *t->inputs)
		die(EX_DATAERR, "the job describes other inputs than it has");
	open_codes(t, m, buffers, count);
	CUresult result = gpu_code_load(g, &t->candidate.code, &err);
	if (result == CUDA_SUCCESS && t->has_baseline)
		result = gpu_code_load(g, &t->baseline.code, &err);
	if (result == CUDA_SUCCESS && !gpu_place_buffers(g, regions, count, NULL))
		result = CUDA_ERROR_OUT_OF_MEMORY;
	if (result == CUDA_SUCCESS)
		result = first_run(t, &parts[0], &kernel);
	gpu_take_printed(g, &printed);
	if (result == CUDA_SUCCESS && !strcmp(t->status, "PASSED") && rec_json_boolean(job, "timed", 1))
		result = measure(t);
	if (result == CUDA_SUCCESS && !strcmp(t->status, "PASSED") && rec_json_boolean(job, "counted", 0))
		result = timing_count(t, &kernel);
	gpu_take_printed(g, NULL);
	if (result != CUDA_SUCCESS)
		fail(t, result, kernel, findings);
	add_samples(&t->candidate, &parts[1]);
	add_samples(&t->baseline, &parts[1]);
	json_object_set_new(t->report, "first", compared_json(&t->first));
	json_object_set_new(t->report, "samples", json_pack("[i, i]", (int)t->candidate.samples, (int)t->baseline.samples));
	json_object_set_new(t->report, "status", json_string(t->status));
	json_object_set_new(t->report, "reason", rec_json_text(buf_str(&t->reason), t->reason.len));
	json_object_set_new(t->report, "printed", rec_json_text(buf_str(&printed), printed.len));
	json_object_set_new(t->report, "findings", findings);
	gpu_answer(g, t->report, parts, 2);
	_exit(0);	/* timing is the last that a worker does: whatever it left goes with it */
}
