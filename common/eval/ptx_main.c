/* km-ptx IN OUT: the PTX worker. In: IN/{job.json, plan, device.ptx, device.fatbin, inputs.bin}. Out:
 * OUT/report.json and OUT/outputs.bin. Buffers are mapped where the plan recorded them, so that a device
 * pointer is a host pointer; nothing but inputs, poisoned outputs and scratch is there to be read. */
#include "eval/ptx_worker.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/die.h"
#include "rec/json.h"

enum { PAGE_BYTES = 4096, MAX_FILE_BYTES = 64 << 20 };
#define MAX_INPUT_BYTES ((size_t)2 << 30)

static struct buf
read_input(const char *folder, const char *name, size_t max_bytes)
{
	struct buf path = BUF_INIT, content = BUF_INIT, err = BUF_INIT;

	buf_addf(&path, "%s/%s", folder, name);
	if (buf_read_file(&content, buf_str(&path), max_bytes, &err))
		die(EX_NOINPUT, "%s", buf_str(&err));
	buf_release(&path);
	return content;
}

static void
read_elements(const json_t *buffer, struct elements *e)
{
	const json_t *shape = json_object_get(buffer, "shape");

	e->rank = (int)json_array_size(shape);
	if (e->rank > MAX_RANK)
		die(EX_DATAERR, "job.json: an output of %d dimensions", e->rank);
	for (int i = 0; i < e->rank; i++)
		e->shape[i] = json_integer_value(json_array_get(shape, (size_t)i));
	e->bytes = (uint32_t)rec_json_integer(buffer, "element_bytes", 0);
}

static void
read_job(struct worker *w, const char *folder)
{
	struct buf text = read_input(folder, "job.json", MAX_FILE_BYTES), err = BUF_INIT;
	json_t *job = rec_json_parse(buf_str(&text), text.len, &err), *item;
	json_t *list = json_object_get(job, "buffers");
	size_t i;

	if (!job || json_array_size(list) > MAX_BUFFERS)
		die(EX_DATAERR, "job.json: %s", buf_str(&err));
	json_array_foreach(list, i, item) {
		w->buffer[i] = (struct plan_buffer){ rec_json_string(item, "name", "?"),
			(uint64_t)rec_json_integer(item, "address", 0), (uint64_t)rec_json_integer(item, "bytes", 0),
			rec_json_boolean(item, "output", 0) };
		w->poison[i] = (int)rec_json_integer(item, "poison", 0xff);
		read_elements(item, &w->elements[i]);
	}
	w->buffers = (uint32_t)json_array_size(list);
	w->checked = rec_json_boolean(job, "checked", 0);
	w->budget = (uint64_t)rec_json_integer(job, "budget", 0);
	w->estimates = rec_json_boolean(job, "estimate", 0);
	w->schedule = (uint64_t)rec_json_integer(job, "schedule", 0);
	/* The names stay borrowed from the job, which lives as long as the process. */
	buf_release(&text);
}

static void
read_code(struct worker *w, const char *folder)
{
	struct buf ptx = read_input(folder, "device.ptx", MAX_FILE_BYTES), err = BUF_INIT;
	struct buf fatbin = read_input(folder, "device.fatbin", MAX_FILE_BYTES);
	struct buf text = read_input(folder, "plan", PLAN_MAX_BYTES);
	enum cuda_verdict verdict;

	w->info = ptxinfo_read(buf_str(&ptx), ptx.len, buf_str(&fatbin), fatbin.len, &err);
	w->module = w->info ? ptx_parse(buf_str(&ptx), ptx.len, &err) : NULL;
	if (!w->module)
		die(EX_DATAERR, "device.ptx: %s", buf_str(&err));
	w->plan = plan_parse(buf_str(&text), text.len, w->info, w->buffer, w->buffers, &verdict, &err);
	if (!w->plan)
		die(EX_DATAERR, "plan: %s", buf_str(&err));
	w->gpu = roofline_gpu(w->plan->profile);
	if (!w->gpu)
		die(EX_DATAERR, "plan: the GPU %s is not one that estimates are made for", w->plan->profile);
	w->occupancy = occupancy_gpu(w->gpu->arch);
	buf_release(&ptx);
	buf_release(&fatbin);
	buf_release(&text);
}

void *
worker_map_pages(uint64_t address, uint64_t bytes)
{
	uint64_t start = address & ~(uint64_t)(PAGE_BYTES - 1);
	uint64_t end = (address + (bytes ? bytes : 1) + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);

	for (uint64_t page = start; page < end;) {
		uint64_t length = end - page;
		void *got = mmap((void *)page, length, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (got == (void *)page)
			break;
		if (errno != EEXIST || page != start)
			die(EX_TEMPFAIL, "cannot map %llu bytes at %#llx:", (unsigned long long)length,
				(unsigned long long)page);
		page += PAGE_BYTES;	/* the first page is a neighbour's */
	}
	return (void *)address;
}

void
worker_check(int status, struct buf *err)
{
	if (status)
		die(EX_SOFTWARE, "%s", buf_str(err));
}

static void
place_symbols(struct worker *w)
{
	struct buf err = BUF_INIT;

	for (uint32_t i = 0; i < w->plan->symbols; i++) {
		const struct ptxinfo_symbol *symbol = &w->plan->symbol[i];
		worker_map_pages(symbol->address, symbol->bytes);
		worker_check(ptx_place_symbol(w->machine, symbol->name, symbol->address, &err), &err);
	}
	worker_check(ptx_write_symbols(w->machine, &err), &err);
}

void
worker_fill_inputs(const struct worker *w, const struct buf *inputs)
{
	size_t at = 0;

	for (uint32_t i = 0; i < w->buffers; i++) {
		const struct plan_buffer *b = &w->buffer[i];

		if (b->output)
			continue;
		if (b->bytes > inputs->len - at)
			die(EX_DATAERR, "the inputs are too short");
		if (b->bytes)
			memcpy((void *)b->address, inputs->data + at, b->bytes);
		at += b->bytes;
	}
}

static void
place_buffers(struct worker *w)
{
	struct buf err = BUF_INIT;

	for (uint32_t i = 0; i < w->buffers; i++) {
		struct plan_buffer *b = &w->buffer[i];
		void *memory = worker_map_pages(b->address, b->bytes);

		if (b->output)
			memset(memory, w->poison[i], b->bytes);
		worker_check(ptx_map(w->machine, b->name, b->address, b->bytes, b->output ? PTX_READ_WRITE : PTX_READ,
			!b->output, &err), &err);
	}
	worker_fill_inputs(w, &w->inputs);
}

/* Before later calls poison them anew. */
static void
check_outputs(struct worker *w)
{
	for (uint32_t i = 0; i < w->buffers; i++)
		if (w->buffer[i].output)
			ptx_check_written(w->machine, w->buffer[i].address, w->elements[i].bytes, w->elements[i].rank,
				w->elements[i].shape);
}

int
main(int argc, char **argv)
{
	static struct worker w;
	struct buf err = BUF_INIT;
	struct ptx_options options = { .max_findings = MAX_FINDINGS };

	die_program = "km-ptx";
	if (argc != 3)
		die(EX_USAGE, "usage: km-ptx IN OUT");
	read_job(&w, argv[1]);
	read_code(&w, argv[1]);
	options.checked = options.racecheck = w.checked;
	w.machine = ptx_machine_new(w.module, &options, &err);
	if (!w.machine)
		die(EX_UNAVAILABLE, "%s", buf_str(&err));
	place_symbols(&w);
	w.inputs = read_input(argv[1], "inputs.bin", MAX_INPUT_BYTES);
	w.others = read_input(argv[1], "others.bin", MAX_INPUT_BYTES);
	place_buffers(&w);
	worker_run_plan(&w);
	if (w.checked && w.status == PTX_OK)
		check_outputs(&w);
	if (w.checked && w.status == PTX_OK && !ptx_error_count(w.machine))
		worker_check_filled_once(&w);
	if (w.checked && w.status == PTX_OK && !ptx_error_count(w.machine) && !w.keeps_state)
		worker_repeat_call(&w);
	worker_write_outputs(&w, argv[2]);
	worker_write_report(&w, argv[2]);
	return 0;
}
