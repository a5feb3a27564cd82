/* What the PTX worker found, as JSON for the process that asked, and the bytes of the outputs. */
#include "eval/ptx_worker.h"

#include <string.h>

#include "base/die.h"
#include "base/io.h"
#include "eval/names.h"
#include "rec/json.h"

static json_t *
triple(const uint32_t v[3])
{
	return json_pack("[i, i, i]", (int)v[0], (int)v[1], (int)v[2]);
}

static json_t *
readable(const char *text)
{
	struct buf out = BUF_INIT;

	names_readable(text, &out);
	json_t *value = rec_json_text(buf_str(&out), out.len);
	buf_release(&out);
	return value;
}

/* The other access of a race. */
static void
add_other(const struct ptx_finding *f, json_t *out)
{
	if (f->other_file && f->other_line) {
		json_object_set_new(out, "other_file", rec_json_text(f->other_file, strlen(f->other_file)));
		json_object_set_new(out, "other_line", json_integer(f->other_line));
	}
	json_object_set_new(out, "other_block", triple(f->other_block));
	json_object_set_new(out, "other_thread", triple(f->other_thread));
}

static json_t *
finding_json(const struct ptx_finding *f)
{
	json_t *out = json_pack("{s:s, s:s}", "check", ptx_check_name(f->check), "kind", ptx_kind_name(f->kind));

	if (ptx_is_warning(f))
		json_object_set_new(out, "severity", json_string("warning"));
	if (f->kernel[0])
		json_object_set_new(out, "kernel", readable(f->kernel));
	if (f->file)
		json_object_set_new(out, "file", rec_json_text(f->file, strlen(f->file)));
	if (f->line)
		json_object_set_new(out, "line", json_integer(f->line));
	if (f->inlined_file && f->inlined_line) {
		json_object_set_new(out, "inlined_file", rec_json_text(f->inlined_file, strlen(f->inlined_file)));
		json_object_set_new(out, "inlined_line", json_integer(f->inlined_line));
	}
	if (f->kernel[0]) {
		json_object_set_new(out, "block", triple(f->block));
		json_object_set_new(out, "thread", triple(f->thread));
	}
	json_object_set_new(out, "space", json_string(ptx_space_name(f->space)));
	if (f->buffer) {
		json_object_set_new(out, "buffer", readable(f->buffer));
		json_object_set_new(out, "offset_bytes", json_integer(f->offset_bytes));
	}
	if (f->size_bytes)
		json_object_set_new(out, "size_bytes", json_integer(f->size_bytes));
	json_object_set_new(out, "lanes", json_integer((json_int_t)f->count));
	if (f->pair)
		add_other(f, out);
	json_object_set_new(out, "message", readable(f->message));
	return out;
}

static json_t *
counters_json(const struct ptx_counters *c)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
		"lane_instructions", (json_int_t)c->lane_instructions, "warp_instructions", (json_int_t)c->warp_instructions,
		"global_read_requests", (json_int_t)c->global_read_requests,
		"global_write_requests", (json_int_t)c->global_write_requests,
		"global_read_sectors", (json_int_t)c->global_read_sectors,
		"global_write_sectors", (json_int_t)c->global_write_sectors,
		"local_requests", (json_int_t)c->local_requests, "shared_requests", (json_int_t)c->shared_requests,
		"shared_bank_conflicts", (json_int_t)c->shared_bank_conflicts, "atomics", (json_int_t)c->atomics,
		"barriers", (json_int_t)c->barriers, "divergent_branches", (json_int_t)c->divergent_branches,
		"blocks", (json_int_t)c->blocks);
}

/* Beside the counters, on a profile workload: instructions by kind, sectors by where they were found. */
static void
add_profile_counters(const struct ptx_profile *p, json_t *counters)
{
	struct buf name = BUF_INIT;

	for (size_t i = 0; i < MIX_N; i++) {
		if (!p->mix[i])
			continue;
		buf_reset(&name);
		buf_addf(&name, "%s_instructions", roofline_mix_name(i));
		json_object_set_new(counters, buf_str(&name), json_integer((json_int_t)p->mix[i]));
	}
	json_object_set_new(counters, "l1_hit_sectors", json_integer((json_int_t)p->l1_hit_sectors));
	json_object_set_new(counters, "l2_sectors", json_integer((json_int_t)p->l2_sectors));
	json_object_set_new(counters, "dram_sectors", json_integer((json_int_t)p->dram_sectors));
	buf_release(&name);
}

static json_t *
traffic_json(const struct ptx_profile *p)
{
	json_t *out = json_array();

	for (uint32_t i = 0; i < p->n_buffers; i++) {
		const struct ptx_profile_buffer *b = p->buffers[i];

		json_array_append_new(out, json_pack("{s:o, s:I, s:I, s:I, s:I}", "buffer", readable(b->name), "size_bytes",
			(json_int_t)b->size_bytes, "read_bytes", (json_int_t)b->read_bytes, "write_bytes",
			(json_int_t)b->write_bytes, "footprint_bytes", (json_int_t)b->footprint_bytes));
	}
	return out;
}

static json_t *
estimate_json(const struct worker *w, const struct ptx_profile *p)
{
	enum { WARP = 32 };
	json_t *parts = json_array();
	double total = p->time_us + w->transfer_us, warps = p->longest_work.warps / p->longest_work.blocks;

	for (size_t i = 0; i < roofline_parts(); i++)
		if (p->longest.part_us[i] >= p->longest.time_us / 20)
			json_array_append_new(parts, json_pack("{s:s, s:f}", "name", roofline_part_name(i), "time_us",
				rec_json_round3(p->longest.part_us[i])));
	return json_pack("{s:s, s:f, s:s, s:o, s:o, s:I}", "gpu", w->gpu->title, "time_us", rec_json_round3(total),
		"limiter", p->longest.limiter, "kernel", readable(p->kernel), "parts", parts, "resident_threads",
		(json_int_t)(p->longest_work.resident_blocks * warps * WARP));
}

static const char *
verdict(const struct worker *w)
{
	switch (w->status) {
	case PTX_OK: return ptx_error_count(w->machine) ? "RUNTIME_ERROR" : w->keeps_state ? "SUSPICIOUS" : "PASSED";
	case PTX_BUDGET: case PTX_DEADLOCK: return "TIMEOUT";	/* a GPU knows only that it does not end */
	case PTX_UNSUPPORTED: return "UNSUPPORTED";
	case PTX_FAULT: case PTX_REFUSED: break;
	}
	return "RUNTIME_ERROR";
}

static void
add_findings(const struct worker *w, bool warnings, json_t *list)
{
	for (size_t i = 0; i < ptx_finding_count(w->machine); i++)
		if (ptx_is_warning(ptx_finding_at(w->machine, i)) == warnings)
			json_array_append_new(list, finding_json(ptx_finding_at(w->machine, i)));
}

void
worker_write_report(struct worker *w, const char *folder)
{
	struct buf path = BUF_INIT, text = BUF_INIT, err = BUF_INIT;
	json_t *findings = json_array();
	const struct buf *printed = ptx_output(w->machine);

	add_findings(w, false, findings);
	if (w->status == PTX_OK && json_array_size(findings))
		buf_adds(&w->reason, rec_json_string(json_array_get(findings, 0), "message", ""));
	add_findings(w, true, findings);
	if (w->where.len)
		buf_addf(&w->reason, " %s", buf_str(&w->where));
	json_t *report = json_pack("{s:s, s:o, s:o, s:o, s:o}", "status", verdict(w), "reason",
		readable(buf_str(&w->reason)), "findings", findings, "counters",
		counters_json(&w->total), "printed", rec_json_text(buf_str(printed), printed->len));
	if (ptx_findings_dropped(w->machine))
		json_object_set_new(report, "findings_dropped", json_integer((json_int_t)ptx_findings_dropped(w->machine)));
	const struct ptx_profile *profile = ptx_profile(w->machine);
	if (profile && profile->kernel) {
		add_profile_counters(profile, json_object_get(report, "counters"));
		json_object_set_new(report, "traffic", traffic_json(profile));
		json_object_set_new(report, "estimate", estimate_json(w, profile));
	}
	rec_json_dump(report, &text);
	buf_addf(&path, "%s/report.json", folder);
	worker_check(io_write_file(buf_str(&path), buf_str(&text), text.len, &err), &err);
}

void
worker_write_outputs(const struct worker *w, const char *folder)
{
	struct buf path = BUF_INIT, err = BUF_INIT;

	buf_addf(&path, "%s/outputs.bin", folder);
	struct io_out *out = io_open_out(buf_str(&path), &err);
	if (!out)
		die(EX_CANTCREAT, "%s", buf_str(&err));
	for (uint32_t i = 0; i < w->buffers; i++)
		if (w->buffer[i].output)
			io_write(out, (const void *)w->buffer[i].address, w->buffer[i].bytes);
	if (io_commit(out, &err))
		die(EX_IOERR, "%s", buf_str(&err));
	buf_reset(&path);
	buf_addf(&path, "%s/reordered.bin", folder);
	if (w->reordered.len)
		worker_check(io_write_file(buf_str(&path), w->reordered.data, w->reordered.len, &err), &err);
}
