/* Hardware counters of a call's launches in, a few lines about the longest of them out: few enough that a model reads
 * them, and each with a figure that a change of the kernel can move. */
#include "agent/hardware.h"

#include <math.h>
#include <stdlib.h>

#include "rec/json.h"

enum { SHOWN_LAUNCHES = 3, MAX_LAUNCHES = 64 };
/* Below this share of its peak, a part is not what a kernel waits for. */
#define BUSY_PERCENT 50.0

struct figure { const char *field, *name; };

static const struct figure parts[] = {
	{ "dram_percent", "DRAM" }, { "l2_percent", "L2" }, { "l1_percent", "L1 and shared memory" },
	{ "issue_percent", "issue slots" }, { "tensor_percent", "tensor cores" }, { "fma_percent", "fp32 pipe" },
	{ "alu_percent", "integer pipe" }, { "fp64_percent", "fp64 pipe" }, { "special_percent", "special function pipe" },
};
static const struct figure waits[] = {
	{ "waiting_memory", "global or local memory" }, { "waiting_shared", "shared memory or special functions" },
	{ "waiting_barrier", "a barrier" }, { "waiting_math_pipe", "an arithmetic pipe" },
	{ "waiting_memory_queue", "room in the global memory queue" }, { "waiting_shared_queue", "room in the shared memory queue" },
};
#define COUNT(list) (sizeof (list) / sizeof *(list))

static double
number(const json_t *launch, const char *field)
{
	return rec_json_number(launch, field, NAN);
}

/* The largest of the figures; NULL: none was counted. */
static const struct figure *
largest(const json_t *launch, const struct figure *list, size_t count)
{
	const struct figure *best = NULL;

	for (size_t i = 0; i < count; i++)
		if (!isnan(number(launch, list[i].field)) &&
		    (!best || number(launch, list[i].field) > number(launch, best->field)))
			best = &list[i];
	return best;
}

static void
add_busiest(const json_t *launch, struct buf *out)
{
	const struct figure *best = largest(launch, parts, COUNT(parts));
	double most = best ? number(launch, best->field) : NAN;
	int shown = 0;

	buf_addf(out, "kernel %s, counted on the GPU:", rec_json_string(launch, "kernel", ""));
	if (!best)
		buf_adds(out, " no part's use is known");
	else if (most >= BUSY_PERCENT)
		buf_addf(out, " limited by %s, %.0f%% of peak", best->name, most);
	else
		buf_addf(out, " no part is busy (%s most, %.0f%% of peak): it waits, or has too little work", best->name, most);
	for (size_t i = 0; i < COUNT(parts); i++)
		if (&parts[i] != best && number(launch, parts[i].field) >= 10)
			buf_addf(out, "%s%s %.0f%%", shown++ ? ", " : "; ", parts[i].name, number(launch, parts[i].field));
	buf_addc(out, '\n');
}

/* "NAME VALUE" with a separator, where above / below is known. */
static void
add_ratio(const json_t *launch, const char *above, const char *below, double scale, const char *name, const char *unit,
	struct buf *out)
{
	double n = number(launch, below), value = scale * number(launch, above) / n;

	if (n > 0 && !isnan(value))
		buf_addf(out, "; %s %.3g%s", name, value, unit);
}

static void
add_use(const json_t *launch, struct buf *out)
{
	double occupancy = number(launch, "occupancy_percent"), conflicts = number(launch, "shared_bank_conflicts");
	struct buf line = BUF_INIT;

	if (!isnan(occupancy))
		buf_addf(&line, "; occupancy %.0f%% with %lld registers a thread", occupancy,
			(long long)rec_json_integer(launch, "registers_per_thread", 0));
	add_ratio(launch, "lane_instructions", "warp_instructions", 1, "active lanes", " of 32", &line);
	add_ratio(launch, "global_read_sectors", "global_read_requests", 1, "sectors a read request", "", &line);
	add_ratio(launch, "global_write_sectors", "global_write_requests", 1, "sectors a write request", "", &line);
	if (conflicts > 0)
		add_ratio(launch, "shared_bank_conflicts", "shared_wavefronts", 100, "bank conflicts", "% of shared memory passes",
			&line);
	if (line.len)
		buf_addf(out, "%s\n", line.data + 2);
	buf_release(&line);
}

static void
add_memory(const json_t *launch, struct buf *out)
{
	const struct figure *wait = largest(launch, waits, COUNT(waits));
	double read = number(launch, "dram_read_bytes"), written = number(launch, "dram_write_bytes");
	double l1 = number(launch, "l1_hit_percent"), l2 = number(launch, "l2_hit_percent");
	struct buf line = BUF_INIT;

	if (!isnan(read) && !isnan(written))
		buf_addf(&line, "; DRAM read %.4g MB, written %.4g MB", read / 1e6, written / 1e6);
	if (!isnan(l1) && !isnan(l2))
		buf_addf(&line, "; hits in L1 %.0f%%, in L2 %.0f%%", l1, l2);
	if (wait && number(launch, wait->field) >= 0.5)
		buf_addf(&line, "; warps wait most for %s (%.3g warps an issue)", wait->name, number(launch, wait->field));
	if (line.len)
		buf_addf(out, "%s\n", line.data + 2);
	buf_release(&line);
}

static int
longer_first(const void *a, const void *b)
{
	double x = number(*(const json_t *const *)a, "duration_us"), y = number(*(const json_t *const *)b, "duration_us");

	return (x < y) - (x > y);
}

void
hardware_describe(const json_t *counters, struct buf *out)
{
	const json_t *list = json_object_get(counters, "launches"), *sorted[MAX_LAUNCHES];
	const char *reason = rec_json_string(counters, "reason", "");
	size_t count = json_array_size(list);

	if (*reason)
		buf_addf(out, "nothing was counted on the GPU: %s\n", reason);
	count = count < MAX_LAUNCHES ? count : MAX_LAUNCHES;
	for (size_t i = 0; i < count; i++)
		sorted[i] = json_array_get(list, i);
	if (count > SHOWN_LAUNCHES)
		qsort(sorted, count, sizeof *sorted, longer_first);
	for (size_t i = 0; i < count && i < SHOWN_LAUNCHES; i++) {
		add_busiest(sorted[i], out);
		add_use(sorted[i], out);
		add_memory(sorted[i], out);
	}
}
