/* The record table: every field of every record, in the order in which schemas/ shows them.
 * Nothing comes in; schema.c reads it. Names are the field's own: FlashInfer Trace for tasks, workloads
 * and evaluation status, OpenAI chat messages for conversations. To add a field, add its line. */
#include "rec/schema.h"
#include "rec/table.h"

#define TEXTS(name, ...) static const char *const name[] = { __VA_ARGS__, NULL }
TEXTS(task_forms, "natural_language", "reference_program", "math_spec");
TEXTS(oracles, "math_spec", "reference_program");
TEXTS(reference_languages, "c", "pytorch");
TEXTS(dtypes, "float64", "float32", "float16", "bfloat16", "int64", "int32", "uint8", "bool");
TEXTS(roles, "check", "profile", "bench");
TEXTS(review_statuses, "accepted", "rejected", "unreviewed");
TEXTS(actor_kinds, "person", "program");
TEXTS(review_modes, "interactive", "bulk", "imported", "replayed");
TEXTS(phases, "solve", "repair", "optimize");
TEXTS(origins, "authored", "sampled");
TEXTS(statuses, "PASSED", "COMPILE_ERROR", "RUNTIME_ERROR", "INCORRECT_SHAPE", "INCORRECT_NUMERICAL", "TIMEOUT",
	"UNSUPPORTED", "SUSPICIOUS");
TEXTS(message_roles, "system", "user", "assistant", "tool");
TEXTS(call_types, "function");
TEXTS(splits, "train", "validation", "test");
TEXTS(benchmark_checks, "not_run", "clear", "same_operation", "text_near", "structure_near");

static const struct field axis[] = {
	{ "name", KIND_STRING, .flags = REQUIRED, .about = "dimension name", .form = FORM_NAME },
	{ "value", KIND_INTEGER, .flags = POSITIVE | NULLABLE, .about = "constant axes" },
	{ "expr", KIND_STRING, .flags = NONEMPTY | NULLABLE,
		.about = "derived axes: an integer expression over the others" },
	{ 0 }
};
static const struct field scalar[] = {
	{ "name", KIND_STRING, .flags = REQUIRED, .form = FORM_NAME },
	{ "dtype", KIND_STRING, .flags = REQUIRED, .choices = dtypes },
	{ "value", KIND_NUMBER, .flags = REQUIRED },
	{ 0 }
};
static const struct field domain[] = {
	{ "distribution", KIND_STRING, .flags = REQUIRED,
		.about = "normal, uniform, integers, permutation, ...",
		.form = FORM_NAME },
	{ "mean", KIND_NUMBER_OR_TEXT, .flags = NULLABLE },
	{ "scale", KIND_NUMBER_OR_TEXT, .flags = NULLABLE },
	{ "p", KIND_NUMBER_OR_TEXT, .flags = NULLABLE },
	{ "value", KIND_NUMBER_OR_TEXT, .flags = NULLABLE },
	{ "low", KIND_NUMBER_OR_TEXT, .flags = NULLABLE, .about = "a number, or an axis by name" },
	{ "high", KIND_NUMBER_OR_TEXT, .flags = NULLABLE,
		.about = "a number, or an axis by name; excluded for integers" },
	{ 0 }
};
static const struct field input[] = {
	{ "name", KIND_STRING, .flags = REQUIRED, .form = FORM_NAME },
	{ "dtype", KIND_STRING, .flags = REQUIRED, .choices = dtypes },
	{ "shape", KIND_STRING, .flags = REQUIRED | ARRAY | NONEMPTY,
		.about = "axis names or expressions over them, slowest first" },
	{ "domain", KIND_RECORD, .flags = REQUIRED, .about = "how values are drawn", .record = "domain" },
	{ 0 }
};
static const struct field output[] = {
	{ "name", KIND_STRING, .flags = REQUIRED, .form = FORM_NAME },
	{ "dtype", KIND_STRING, .flags = REQUIRED, .choices = dtypes },
	{ "shape", KIND_STRING, .flags = REQUIRED | ARRAY | NONEMPTY,
		.about = "axis names or expressions over them, slowest first" },
	{ 0 }
};
static const struct field workload[] = {
	{ "name", KIND_STRING, .flags = REQUIRED, .form = FORM_NAME },
	{ "role", KIND_STRING, .flags = REQUIRED,
		.about = "check: small and judged; profile: counted; bench: for a GPU", .choices = roles },
	{ "axes", KIND_INTEGER_MAP, .flags = REQUIRED | NOT_NEGATIVE, .about = "sizes of the variable axes" },
	{ "held_out", KIND_BOOLEAN, .flags = 0, .about = "never shown to the agent" },
	{ "min_memory_bytes", KIND_INTEGER, .flags = NOT_NEGATIVE, .about = "tensors together" },
	{ 0 }
};
static const struct field example[] = {
	{ "axes", KIND_INTEGER_MAP, .flags = NOT_NEGATIVE },
	{ "inputs", KIND_MAP, .flags = REQUIRED, .about = "nested lists by tensor name" },
	{ "outputs", KIND_MAP, .flags = REQUIRED, .about = "nested lists by tensor name" },
	{ 0 }
};
static const struct field reference[] = {
	{ "language", KIND_STRING, .flags = REQUIRED, .choices = reference_languages },
	{ "source", KIND_STRING, .flags = REQUIRED | NONEMPTY },
	{ 0 }
};
static const struct field math_spec[] = {
	{ "language", KIND_STRING, .flags = REQUIRED | NONEMPTY },
	{ "text", KIND_STRING, .flags = REQUIRED | NONEMPTY },
	{ "latex", KIND_STRING, .flags = NULLABLE },
	{ 0 }
};
static const struct field task_source[] = {
	{ "kind", KIND_STRING, .flags = REQUIRED | NONEMPTY, .about = "original, ..." },
	{ "author", KIND_STRING, .flags = 0 },
	{ 0 }
};
static const struct field task[] = {
	{ "id", KIND_STRING, .flags = REQUIRED, .about = "XXH3-128 of the contract", .form = FORM_ID },
	{ "name", KIND_STRING, .flags = REQUIRED,
		.about = "stable name, by which decisions and transcripts cite the task",
		.form = FORM_NAME },
	{ "op_type", KIND_STRING, .flags = REQUIRED | NONEMPTY, .about = "operation family" },
	{ "tags", KIND_STRING, .flags = ARRAY, .about = "namespace:value" },
	{ "forms", KIND_STRING, .flags = REQUIRED | ARRAY | SOME,
		.about = "what a model is shown", .choices = task_forms },
	{ "prompt", KIND_STRING, .flags = NULLABLE, .about = "Markdown; form natural_language" },
	{ "reference", KIND_RECORD, .flags = NULLABLE,
		.about = "form reference_program, or a hidden oracle", .record = "reference" },
	{ "math_spec", KIND_RECORD, .flags = NULLABLE,
		.about = "form math_spec, or a hidden oracle", .record = "math_spec" },
	{ "oracle", KIND_STRING, .flags = REQUIRED, .about = "the executable truth", .choices = oracles },
	{ "axes", KIND_RECORD, .flags = REQUIRED | ARRAY, .record = "axis" },
	{ "scalars", KIND_RECORD, .flags = ARRAY, .record = "scalar" },
	{ "inputs", KIND_RECORD, .flags = REQUIRED | ARRAY, .record = "input" },
	{ "outputs", KIND_RECORD, .flags = REQUIRED | ARRAY | SOME, .record = "output" },
	{ "rtol", KIND_NUMBER, .flags = REQUIRED | NOT_NEGATIVE, .about = "relative tolerance" },
	{ "atol", KIND_NUMBER, .flags = REQUIRED | NOT_NEGATIVE, .about = "absolute tolerance" },
	{ "reduction", KIND_STRING, .flags = NULLABLE,
		.about = "length of the longest sum, an expression over axes" },
	{ "workloads", KIND_RECORD, .flags = REQUIRED | ARRAY | SOME, .record = "workload" },
	{ "examples", KIND_RECORD, .flags = ARRAY,
		.about = "worked examples, run against the oracle", .record = "example" },
	{ "prototype", KIND_STRING, .flags = REQUIRED | NONEMPTY, .about = "what a solution exports" },
	{ "license", KIND_STRING, .flags = REQUIRED | NONEMPTY },
	{ "source", KIND_RECORD, .flags = REQUIRED, .record = "task_source" },
	{ 0 }
};
static const struct field curation[] = {
	{ "exact_hash", KIND_STRING, .flags = 0, .form = FORM_ID },
	{ "normalised_hash", KIND_STRING, .flags = 0,
		.about = "of the forms without their names, blanks and comments", .form = FORM_ID },
	{ "duplicates_dropped", KIND_INTEGER, .flags = NOT_NEGATIVE,
		.about = "tasks that this one stands for" },
	{ "benchmark_check", KIND_STRING, .flags = 0,
		.about = "nearness to a benchmark", .choices = benchmark_checks },
	{ "cell", KIND_STRING, .flags = NONEMPTY, .about = "op_type/dtype/forms" },
	{ "rank", KIND_INTEGER, .flags = POSITIVE, .about = "1 is chosen first" },
	{ "selected", KIND_BOOLEAN, .flags = 0 },
	{ 0 }
};
static const struct field review[] = {
	{ "status", KIND_STRING, .flags = REQUIRED, .choices = review_statuses },
	{ "shown_sha256", KIND_STRING, .flags = NULLABLE,
		.about = "of all that was shown", .form = FORM_SHA256 },
	{ "actor", KIND_STRING, .flags = NULLABLE },
	{ "actor_kind", KIND_STRING, .flags = NULLABLE, .choices = actor_kinds },
	{ "mode", KIND_STRING, .flags = NULLABLE, .choices = review_modes },
	{ "decided_mode", KIND_STRING, .flags = NULLABLE, .about = "how a replayed decision was made",
		.choices = review_modes },
	{ "time", KIND_STRING, .flags = NULLABLE, .form = FORM_TIME },
	{ "reason", KIND_STRING, .flags = NULLABLE },
	{ 0 }
};
static const struct field origin[] = {
	{ "kind", KIND_STRING, .flags = REQUIRED,
		.about = "authored for this project, or sampled from a model", .choices = origins },
	{ "author", KIND_STRING, .flags = NULLABLE },
	{ "model", KIND_STRING, .flags = NULLABLE },
	{ "policy_sha256", KIND_STRING, .flags = NULLABLE, .form = FORM_SHA256 },
	{ "staged_error", KIND_STRING, .flags = NULLABLE, .about = "the fault that was put in on purpose" },
	{ 0 }
};
static const struct field solution[] = {
	{ "id", KIND_STRING, .flags = REQUIRED, .about = "of the task and the source", .form = FORM_ID },
	{ "task_id", KIND_STRING, .flags = REQUIRED, .form = FORM_ID },
	{ "phase", KIND_STRING, .flags = REQUIRED, .choices = phases },
	{ "parent_id", KIND_STRING, .flags = NULLABLE,
		.about = "the solution that this one changes", .form = FORM_ID },
	{ "branch", KIND_STRING, .flags = NULLABLE },
	{ "source", KIND_STRING, .flags = REQUIRED, .about = "one .cu file" },
	{ "source_sha256", KIND_STRING, .flags = REQUIRED, .form = FORM_SHA256 },
	{ "origin", KIND_RECORD, .flags = REQUIRED, .record = "origin" },
	{ 0 }
};
static const struct field mismatch[] = {
	{ "output", KIND_STRING, .flags = REQUIRED },
	{ "index", KIND_INTEGER, .flags = ARRAY | NULLABLE },
	{ "expected", KIND_NUMBER_OR_TEXT, .flags = NULLABLE },
	{ "got", KIND_NUMBER_OR_TEXT, .flags = NULLABLE },
	{ 0 }
};
static const struct field finding[] = {
	{ "check", KIND_STRING, .flags = REQUIRED | NONEMPTY,
		.about = "memcheck, initcheck, synccheck, racecheck" },
	{ "severity", KIND_STRING, .flags = NULLABLE, .about = "warning: no verdict follows from it; absent: an error" },
	{ "kind", KIND_STRING, .flags = REQUIRED | NONEMPTY,
		.about = "out_of_bounds, misaligned, use_after_free, uninitialised_read, never_written, write_write, "
			"write_read (a read after a write), read_write, ..." },
	{ "kernel", KIND_STRING, .flags = NULLABLE },
	{ "file", KIND_STRING, .flags = NULLABLE },
	{ "line", KIND_INTEGER, .flags = NOT_NEGATIVE | NULLABLE },
	{ "inlined_file", KIND_STRING, .flags = NULLABLE, .about = "where the code of file and line was inlined" },
	{ "inlined_line", KIND_INTEGER, .flags = NOT_NEGATIVE | NULLABLE },
	{ "block", KIND_INTEGER, .flags = ARRAY | NULLABLE, .about = "x, y, z" },
	{ "thread", KIND_INTEGER, .flags = ARRAY | NULLABLE, .about = "x, y, z" },
	{ "space", KIND_STRING, .flags = NULLABLE, .about = "global, shared, local, ..." },
	{ "buffer", KIND_STRING, .flags = NULLABLE },
	{ "offset_bytes", KIND_INTEGER, .flags = NULLABLE },
	{ "size_bytes", KIND_INTEGER, .flags = NULLABLE },
	{ "lanes", KIND_INTEGER, .flags = NOT_NEGATIVE | NULLABLE, .about = "how many did the same" },
	{ "other_file", KIND_STRING, .flags = NULLABLE, .about = "of a race: the other access" },
	{ "other_line", KIND_INTEGER, .flags = NOT_NEGATIVE | NULLABLE },
	{ "other_block", KIND_INTEGER, .flags = ARRAY | NULLABLE, .about = "x, y, z" },
	{ "other_thread", KIND_INTEGER, .flags = ARRAY | NULLABLE, .about = "x, y, z" },
	{ "message", KIND_STRING, .flags = NULLABLE },
	{ 0 }
};
static const struct field output_hash[] = {
	{ "name", KIND_STRING, .flags = REQUIRED, .form = FORM_NAME },
	{ "xxh3_128", KIND_STRING, .flags = REQUIRED, .about = "of the bytes, as they lie in memory", .form = FORM_ID },
	{ 0 }
};
static const struct field timing_gpu[] = {
	{ "name", KIND_STRING, .flags = REQUIRED | NONEMPTY },
	{ "uuid", KIND_STRING, .flags = REQUIRED },
	{ "driver_version", KIND_INTEGER, .flags = NOT_NEGATIVE, .about = "13000: of CUDA 13.0" },
	{ "clock_khz", KIND_INTEGER, .flags = NOT_NEGATIVE, .about = "the highest of the multiprocessors" },
	{ "memory_clock_khz", KIND_INTEGER, .flags = NOT_NEGATIVE },
	{ 0 }
};
static const struct field timing_noise[] = {
	{ "pairs", KIND_INTEGER, .flags = REQUIRED | NOT_NEGATIVE },
	{ "ratio", KIND_NUMBER, .flags = NULLABLE, .about = "trimmed mean of the pairs, 1 but for noise" },
	{ "interval", KIND_NUMBER, .flags = ARRAY | NULLABLE, .about = "95%: low, high" },
	{ 0 }
};
static const struct field timing_baseline[] = {
	{ "kind", KIND_STRING, .flags = REQUIRED | NONEMPTY, .about = "first_correct: the task's first correct solution" },
	{ "solution_id", KIND_STRING, .flags = NULLABLE, .form = FORM_ID },
	{ "median_us", KIND_NUMBER, .flags = NULLABLE | NOT_NEGATIVE, .about = "absent where it is this solution" },
	{ "pairs", KIND_INTEGER, .flags = NULLABLE | NOT_NEGATIVE, .about = "in random order, each on the same inputs" },
	{ "ratio", KIND_NUMBER, .flags = NULLABLE | NOT_NEGATIVE,
		.about = "time of this solution over the baseline's: trimmed mean of the pairs; none below 10 us" },
	{ "interval", KIND_NUMBER, .flags = ARRAY | NULLABLE, .about = "95%: low, high" },
	{ "missing", KIND_STRING, .flags = NULLABLE | NONEMPTY,
		.about = "why it was not timed: it no longer builds, or is no longer recorded" },
	{ 0 }
};
static const struct field timing_host_check[] = {
	{ "event_us", KIND_NUMBER, .flags = 0, .about = "by events, less an empty kernel" },
	{ "host_us", KIND_NUMBER, .flags = 0, .about = "by the host's clock, less an empty kernel" },
	{ "gap_us", KIND_NUMBER, .flags = 0, .about = "from the event before the flush to the start" },
	{ "empty_gap_us", KIND_NUMBER, .flags = 0, .about = "the same before an empty kernel" },
	{ 0 }
};
static const struct field timing_pytorch_mode[] = {
	{ "median_us", KIND_NUMBER, .flags = NULLABLE | NOT_NEGATIVE,
		.about = "by events, caches flushed, not paired with this solution" },
	{ "interval", KIND_NUMBER, .flags = ARRAY | NULLABLE, .about = "95% of the median: low, high" },
	{ "count", KIND_INTEGER, .flags = NULLABLE | NOT_NEGATIVE, .about = "of samples" },
	{ "queued", KIND_BOOLEAN, .flags = NULLABLE,
		.about = "each call was queued before it began; false: some host time is in it" },
	{ "samples", KIND_STRING, .flags = NULLABLE, .about = "in the store: float32 microseconds", .form = FORM_ID },
	{ "speedup", KIND_NUMBER, .flags = NULLABLE | NOT_NEGATIVE,
		.about = "PyTorch's median over this solution's: more than 1 is faster than PyTorch; none below 10 us" },
	{ "reason", KIND_STRING, .flags = NULLABLE, .about = "why there is no time" },
	{ 0 }
};
static const struct field timing_pytorch[] = {
	{ "version", KIND_STRING, .flags = NULLABLE, .about = "of torch" },
	{ "eager", KIND_RECORD, .flags = NULLABLE, .record = "timing_pytorch_mode" },
	{ "compile", KIND_RECORD, .flags = NULLABLE, .about = "by torch.compile", .record = "timing_pytorch_mode" },
	{ "reason", KIND_STRING, .flags = NULLABLE, .about = "why there is neither" },
	{ 0 }
};
static const struct field timing[] = {
	{ "protocol", KIND_INTEGER, .flags = REQUIRED | NOT_NEGATIVE, .about = "TIMING_PROTOCOL" },
	{ "gpu", KIND_RECORD, .flags = REQUIRED, .record = "timing_gpu" },
	{ "median_us", KIND_NUMBER, .flags = REQUIRED | NOT_NEGATIVE, .about = "of solve() by events, caches flushed" },
	{ "empty_kernel_us", KIND_NUMBER, .flags = NULLABLE | NOT_NEGATIVE, .about = "the same of a kernel that does nothing" },
	{ "copy_gb_per_s", KIND_NUMBER, .flags = NULLABLE | NOT_NEGATIVE, .about = "measured: read and written together" },
	{ "floor_us", KIND_NUMBER, .flags = NULLABLE | NOT_NEGATIVE, .about = "outputs at that rate: less is SUSPICIOUS" },
	{ "operations", KIND_INTEGER, .flags = NOT_NEGATIVE },
	{ "graph", KIND_BOOLEAN, .flags = 0, .about = "launched as a CUDA graph: the plan is long" },
	{ "noise", KIND_RECORD, .flags = NULLABLE, .about = "this solution against itself", .record = "timing_noise" },
	{ "baseline", KIND_RECORD, .flags = NULLABLE, .record = "timing_baseline" },
	{ "pytorch", KIND_RECORD, .flags = NULLABLE, .about = "of the task's PyTorch module on the same GPU",
		.record = "timing_pytorch" },
	{ "host_check", KIND_RECORD, .flags = NULLABLE, .record = "timing_host_check" },
	{ "judged_launches", KIND_INTEGER, .flags = NOT_NEGATIVE | NULLABLE,
		.about = "timed ones whose outputs were compared with the baseline's in every element" },
	{ "oracle_elements", KIND_INTEGER, .flags = NOT_NEGATIVE | NULLABLE,
		.about = "compared with the oracle; 0 where it has no math spec or would take too long" },
	{ "samples", KIND_STRING, .flags = NULLABLE, .about = "in the store: float32 triples, this solution's then the baseline's",
		.form = FORM_ID },
	{ 0 }
};
/* By launch; the names of Nsight Compute's metrics stand in common/cuda/ncu.c. */
#define MEASURED(name, text) { name, KIND_NUMBER, .flags = NULLABLE | NOT_NEGATIVE, .about = text }
#define COUNTED(name, text) { name, KIND_INTEGER, .flags = NULLABLE | NOT_NEGATIVE, .about = text }
static const struct field hardware_launch[] = {
	{ "kernel", KIND_STRING, .flags = REQUIRED },
	MEASURED("duration_us", "under the profiler, caches flushed; not the time of solve()"),
	COUNTED("registers_per_thread", NULL),
	MEASURED("dram_percent", "of peak throughput"),
	MEASURED("l2_percent", "of peak sectors"),
	MEASURED("l1_percent", "of peak passes, L1 and shared memory"),
	MEASURED("occupancy_percent", "achieved: resident warps of those that fit"),
	MEASURED("issue_percent", "issue slots in use"),
	MEASURED("tensor_percent", "tensor pipe in use"),
	MEASURED("fma_percent", "fp32 multiply-add pipe in use"),
	MEASURED("alu_percent", "integer and logic pipe in use"),
	MEASURED("fp64_percent", "fp64 pipe in use"),
	MEASURED("special_percent", "pipe of special functions and conversions in use"),
	COUNTED("dram_read_bytes", NULL),
	COUNTED("dram_write_bytes", "while it ran: what stays in L2 is written later"),
	COUNTED("l2_read_sectors", "32 bytes each, from L2 to L1"),
	COUNTED("l2_write_sectors", "from L1 to L2"),
	MEASURED("l2_hit_percent", NULL),
	MEASURED("l1_hit_percent", NULL),
	COUNTED("global_read_requests", "one a warp and instruction"),
	COUNTED("global_read_sectors", "asked of L1"),
	COUNTED("global_write_requests", NULL),
	COUNTED("global_write_sectors", NULL),
	COUNTED("shared_wavefronts", "passes of shared memory's data pipe"),
	COUNTED("shared_bank_conflicts", "passes beyond the first"),
	COUNTED("warp_instructions", "of machine code"),
	COUNTED("lane_instructions", NULL),
	MEASURED("waiting_memory", "warps an issue that wait for global or local memory"),
	MEASURED("waiting_shared", "for shared memory or special functions"),
	MEASURED("waiting_barrier", "at a barrier"),
	MEASURED("waiting_math_pipe", "for an arithmetic pipe"),
	MEASURED("waiting_memory_queue", "for room in the queue of global and local memory"),
	MEASURED("waiting_shared_queue", "for room in the queue of shared memory"),
	{ 0 }
};
static const struct field hardware_counters[] = {
	{ "tool", KIND_STRING, .flags = REQUIRED | NONEMPTY, .about = "ncu and its version" },
	{ "launches", KIND_RECORD, .flags = ARRAY | NULLABLE, .about = "of the call, in order; a counter that was not read is absent",
		.record = "hardware_launch" },
	{ "launches_left_out", KIND_INTEGER, .flags = NULLABLE | NOT_NEGATIVE, .about = "beyond the first 16" },
	{ "reason", KIND_STRING, .flags = NULLABLE, .about = "why nothing was counted" },
	{ 0 }
};
static const struct field traffic[] = {
	{ "buffer", KIND_STRING, .flags = REQUIRED },
	{ "size_bytes", KIND_INTEGER, .flags = REQUIRED | NOT_NEGATIVE },
	{ "read_bytes", KIND_INTEGER, .flags = REQUIRED | NOT_NEGATIVE, .about = "asked for by the threads" },
	{ "write_bytes", KIND_INTEGER, .flags = REQUIRED | NOT_NEGATIVE },
	{ "footprint_bytes", KIND_INTEGER, .flags = REQUIRED | NOT_NEGATIVE, .about = "in distinct sectors of 32 bytes" },
	{ 0 }
};
static const struct field estimate_part[] = {
	{ "name", KIND_STRING, .flags = REQUIRED, .about = "dram, l2, shared, issue, fp32, tensor, latency, launch, ..." },
	{ "time_us", KIND_NUMBER, .flags = REQUIRED | NOT_NEGATIVE },
	{ 0 }
};
static const struct field estimate[] = {
	{ "gpu", KIND_STRING, .flags = REQUIRED | NONEMPTY },
	{ "time_us", KIND_NUMBER, .flags = REQUIRED | NOT_NEGATIVE, .about = "by a roofline model, three digits; not measured" },
	{ "limiter", KIND_STRING, .flags = REQUIRED, .about = "the longest part of the longest launch" },
	{ "kernel", KIND_STRING, .flags = REQUIRED, .about = "of the longest launch" },
	{ "parts", KIND_RECORD, .flags = REQUIRED | ARRAY, .about = "of the longest launch, alone; they overlap",
		.record = "estimate_part" },
	{ "resident_threads", KIND_INTEGER, .flags = REQUIRED | NOT_NEGATIVE,
		.about = "of the longest launch, that fit on a multiprocessor" },
	{ 0 }
};
static const struct field evaluation[] = {
	{ "id", KIND_STRING, .flags = REQUIRED,
		.about = "of solution, workload, trial, target and protocol", .form = FORM_ID },
	{ "solution_id", KIND_STRING, .flags = REQUIRED, .form = FORM_ID },
	{ "workload", KIND_STRING, .flags = NULLABLE, .about = "none where the build already failed" },
	{ "role", KIND_STRING, .flags = NULLABLE, .choices = roles },
	{ "held_out", KIND_BOOLEAN, .flags = 0 },
	{ "trial", KIND_INTEGER, .flags = NOT_NEGATIVE },
	{ "schedule", KIND_INTEGER, .flags = NOT_NEGATIVE,
		.about = "seed of the order of blocks and warps on the PTX machine; absent: the plain order" },
	{ "target", KIND_STRING, .flags = REQUIRED | NONEMPTY,
		.about = "ptx-sm_90: the PTX machine; cuda-sm_90: a GPU; with the architecture that was compiled for" },
	{ "protocol", KIND_INTEGER, .flags = REQUIRED | NOT_NEGATIVE, .about = "VERDICT_PROTOCOL" },
	{ "status", KIND_STRING, .flags = REQUIRED, .choices = statuses },
	{ "reason", KIND_STRING, .flags = NULLABLE, .about = "one line" },
	{ "max_absolute_error", KIND_NUMBER, .flags = NULLABLE,
		.about = "three digits; absent where it is not finite" },
	{ "max_relative_error", KIND_NUMBER, .flags = NULLABLE,
		.about = "three digits; absent where it is not finite" },
	{ "mismatched_elements", KIND_INTEGER, .flags = NOT_NEGATIVE | NULLABLE },
	{ "compared_elements", KIND_INTEGER, .flags = NOT_NEGATIVE | NULLABLE },
	{ "first_mismatch", KIND_RECORD, .flags = NULLABLE, .record = "mismatch" },
	{ "outputs", KIND_RECORD, .flags = ARRAY | NULLABLE,
		.about = "hashes, where the run reached its end: equal on two devices if equal bit for bit",
		.record = "output_hash" },
	{ "repeatable", KIND_BOOLEAN, .flags = 0,
		.about = "false: a GPU gave other bits when it ran the same call again" },
	{ "findings", KIND_RECORD, .flags = ARRAY | NULLABLE, .about = "errors first", .record = "finding" },
	{ "findings_dropped", KIND_INTEGER, .flags = NOT_NEGATIVE | NULLABLE,
		.about = "how many more there were than the list holds" },
	{ "counters", KIND_INTEGER_MAP, .flags = NOT_NEGATIVE | NULLABLE,
		.about = "counted by the PTX machine" },
	{ "cost", KIND_NUMBER, .flags = NOT_NEGATIVE | NULLABLE, .about = "weighted sum of counters; no time" },
	{ "timing", KIND_RECORD, .flags = NULLABLE, .about = "measured on a GPU; in no id", .record = "timing" },
	{ "hardware_counters", KIND_RECORD, .flags = NULLABLE, .about = "by Nsight Compute, where asked for; in no id",
		.record = "hardware_counters" },
	{ "traffic", KIND_RECORD, .flags = ARRAY | NULLABLE, .about = "by buffer, on a profile workload", .record = "traffic" },
	{ "estimate", KIND_RECORD, .flags = NULLABLE, .about = "of a model from the counters; never a measured time",
		.record = "estimate" },
	{ "compile_log", KIND_STRING, .flags = NULLABLE, .about = "head and tail, 4 KB" },
	{ "printed", KIND_STRING, .flags = NULLABLE, .about = "by device code" },
	{ "final", KIND_BOOLEAN, .flags = 0, .about = "given by the independent verdict" },
	{ 0 }
};
static const struct field function_call[] = {
	{ "name", KIND_STRING, .flags = REQUIRED | NONEMPTY },
	{ "arguments", KIND_MAP, .flags = REQUIRED, .about = "an object, not text" },
	{ 0 }
};
static const struct field tool_call[] = {
	{ "id", KIND_STRING, .flags = REQUIRED | NONEMPTY },
	{ "type", KIND_STRING, .flags = REQUIRED, .choices = call_types },
	{ "function", KIND_RECORD, .flags = REQUIRED, .record = "function_call" },
	{ 0 }
};
static const struct field message[] = {
	{ "role", KIND_STRING, .flags = REQUIRED, .choices = message_roles },
	{ "content", KIND_STRING, .flags = NULLABLE },
	{ "reasoning_content", KIND_STRING, .flags = NULLABLE },
	{ "tool_calls", KIND_RECORD, .flags = ARRAY | NULLABLE, .record = "tool_call" },
	{ "tool_call_id", KIND_STRING, .flags = NULLABLE },
	{ "name", KIND_STRING, .flags = NULLABLE },
	{ 0 }
};
static const struct field turn[] = {
	{ "message_index", KIND_INTEGER, .flags = REQUIRED | NOT_NEGATIVE,
		.about = "among the trajectory's own messages" },
	{ "solution_id", KIND_STRING, .flags = NULLABLE, .form = FORM_ID },
	{ "status", KIND_STRING, .flags = NULLABLE, .about = "evaluation status of what the turn did" },
	{ "reward", KIND_NUMBER, .flags = NULLABLE },
	{ "outcome", KIND_STRING, .flags = NULLABLE,
		.about = "passed, improved, unchanged, regressed, failed" },
	{ "tool", KIND_STRING, .flags = NULLABLE },
	{ "metrics", KIND_MAP, .flags = NULLABLE, .about = "tokens and money, where a model was asked" },
	{ "staged_error", KIND_STRING, .flags = NULLABLE, .about = "the fault that was put in on purpose" },
	{ 0 }
};
static const struct field search[] = {
	{ "method", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ "node", KIND_INTEGER, .flags = NULLABLE },
	{ "visits", KIND_INTEGER, .flags = NULLABLE },
	{ "value", KIND_NUMBER, .flags = NULLABLE,
	.about = "mean reward of the correct nodes from this one down" },
	{ "best_subtree_value", KIND_NUMBER, .flags = NULLABLE },
	{ "reward", KIND_NUMBER, .flags = NULLABLE, .about = "log of baseline cost over own cost" },
	{ "width", KIND_INTEGER, .flags = NULLABLE },
	{ 0 }
};
static const struct field guidance[] = {
	{ "name", KIND_STRING, .flags = REQUIRED | NONEMPTY },
	{ "sha256", KIND_STRING, .flags = REQUIRED, .form = FORM_SHA256 },
	{ 0 }
};
static const struct field trajectory[] = {
	{ "id", KIND_STRING, .flags = REQUIRED, .form = FORM_ID },
	{ "task_id", KIND_STRING, .flags = REQUIRED, .form = FORM_ID },
	{ "phase", KIND_STRING, .flags = REQUIRED, .choices = phases },
	{ "branch", KIND_STRING, .flags = NULLABLE },
	{ "parent_id", KIND_STRING, .flags = NULLABLE,
		.about = "the trajectory that this one continues", .form = FORM_ID },
	{ "sample", KIND_INTEGER, .flags = NOT_NEGATIVE },
	{ "prompt_sha256", KIND_STRING, .flags = NULLABLE, .about = "of the messages that opened it",
		.form = FORM_SHA256 },
	{ "origin", KIND_RECORD, .flags = REQUIRED, .record = "origin" },
	{ "messages", KIND_RECORD, .flags = REQUIRED | ARRAY,
		.about = "new ones only; the parent's come before", .record = "message" },
	{ "tools", KIND_STRING, .flags = ARRAY, .about = "names of the tools offered" },
	{ "turns", KIND_RECORD, .flags = ARRAY, .record = "turn" },
	{ "solution_id", KIND_STRING, .flags = NULLABLE,
		.about = "the solution that it ended with", .form = FORM_ID },
	{ "stale", KIND_BOOLEAN, .flags = REQUIRED,
		.about = "the replay met another verdict than the one it answers" },
	{ "stale_reason", KIND_STRING, .flags = NULLABLE },
	{ "final_metrics", KIND_MAP, .flags = NULLABLE, .about = "tokens and money of the whole" },
	{ "guidance", KIND_RECORD, .flags = ARRAY, .about = "texts that were shown", .record = "guidance" },
	{ "search", KIND_RECORD, .flags = NULLABLE, .about = "its node in the tree of an optimization",
		.record = "search" },
	{ "exit_status", KIND_STRING, .flags = REQUIRED | NONEMPTY,
		.about = "submitted, turn_limit, no_answer" },
	{ 0 }
};
static const struct field case_fields[] = {
	{ "schema_version", KIND_STRING, .flags = REQUIRED, .form = FORM_VERSION },
	{ "task", KIND_RECORD, .flags = REQUIRED, .about = "ingest", .record = "task" },
	{ "curation", KIND_RECORD, .flags = 0, .about = "dedupe, diversify", .record = "curation" },
	{ "review", KIND_RECORD, .flags = 0, .about = "review", .record = "review" },
	{ "solutions", KIND_RECORD, .flags = ARRAY, .about = "solve, repair, optimize", .record = "solution" },
	{ "evaluations", KIND_RECORD, .flags = ARRAY,
		.about = "solve, repair, optimize, verify", .record = "evaluation" },
	{ "trajectories", KIND_RECORD, .flags = ARRAY,
		.about = "solve, repair, optimize", .record = "trajectory" },
	{ 0 }
};

/* ---- rows of the release: every field always there, null where it does not apply, so that column types
 * can be read from any row */
static const struct field named_size[] = {
	{ "name", KIND_STRING, .flags = REQUIRED },
	{ "value", KIND_INTEGER, .flags = REQUIRED },
	{ 0 }
};
static const struct field row_workload[] = {
	{ "name", KIND_STRING, .flags = REQUIRED },
	{ "role", KIND_STRING, .flags = REQUIRED, .choices = roles },
	{ "axes", KIND_RECORD, .flags = REQUIRED | ARRAY,
		.about = "a list, since names differ by task", .record = "named_size" },
	{ "held_out", KIND_BOOLEAN, .flags = REQUIRED },
	{ "min_memory_bytes", KIND_INTEGER, .flags = REQUIRED | NULLABLE },
	{ 0 }
};
static const struct field row_input[] = {
	{ "name", KIND_STRING, .flags = REQUIRED },
	{ "dtype", KIND_STRING, .flags = REQUIRED, .choices = dtypes },
	{ "shape", KIND_STRING, .flags = REQUIRED | ARRAY },
	{ "domain", KIND_STRING, .flags = REQUIRED, .about = "JSON text" },
	{ 0 }
};
static const struct field row_review[] = {
	{ "status", KIND_STRING, .flags = REQUIRED, .choices = review_statuses },
	{ "actor_kind", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ "mode", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ "time", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ "reason", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ "shown_sha256", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ 0 }
};
static const struct field row_origin[] = {
	{ "kind", KIND_STRING, .flags = REQUIRED, .choices = origins },
	{ "author", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ "model", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ "policy_sha256", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ "staged_error", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ 0 }
};
static const struct field row_curation[] = {
	{ "exact_hash", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ "normalised_hash", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ "duplicates_dropped", KIND_INTEGER, .flags = REQUIRED | NULLABLE },
	{ "benchmark_check", KIND_STRING, .flags = REQUIRED, .choices = benchmark_checks },
	{ "cell", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ "rank", KIND_INTEGER, .flags = REQUIRED | NULLABLE },
	{ 0 }
};
static const struct field tasks_row[] = {
	{ "schema_version", KIND_STRING, .flags = REQUIRED, .form = FORM_VERSION },
	{ "id", KIND_STRING, .flags = REQUIRED, .form = FORM_ID },
	{ "name", KIND_STRING, .flags = REQUIRED | NONEMPTY },
	{ "op_type", KIND_STRING, .flags = REQUIRED | NONEMPTY },
	{ "tags", KIND_STRING, .flags = REQUIRED | ARRAY },
	{ "forms", KIND_STRING, .flags = REQUIRED | ARRAY | SOME,
		.about = "what a model is shown", .choices = task_forms },
	{ "oracle", KIND_STRING, .flags = REQUIRED, .choices = oracles },
	{ "prompt", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ "reference", KIND_RECORD, .flags = REQUIRED | NULLABLE,
		.about = "shown if forms says so; else the hidden oracle",
		.record = "reference" },
	{ "math_spec", KIND_RECORD, .flags = REQUIRED | NULLABLE,
		.about = "shown if forms says so; else the hidden oracle",
		.record = "math_spec" },
	{ "axes", KIND_RECORD, .flags = REQUIRED | ARRAY, .record = "axis" },
	{ "scalars", KIND_RECORD, .flags = REQUIRED | ARRAY, .record = "scalar" },
	{ "inputs", KIND_RECORD, .flags = REQUIRED | ARRAY, .record = "row_input" },
	{ "outputs", KIND_RECORD, .flags = REQUIRED | ARRAY | SOME, .record = "output" },
	{ "rtol", KIND_NUMBER, .flags = REQUIRED },
	{ "atol", KIND_NUMBER, .flags = REQUIRED },
	{ "reduction", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ "workloads", KIND_RECORD, .flags = REQUIRED | ARRAY | SOME, .record = "row_workload" },
	{ "examples", KIND_STRING, .flags = REQUIRED | NULLABLE, .about = "JSON text" },
	{ "prototype", KIND_STRING, .flags = REQUIRED | NONEMPTY },
	{ "curation", KIND_RECORD, .flags = REQUIRED, .record = "row_curation" },
	{ "review", KIND_RECORD, .flags = REQUIRED, .record = "row_review" },
	{ "resolved", KIND_BOOLEAN, .flags = REQUIRED,
		.about = "its final solution passed every final evaluation" },
	{ "final_solution_id", KIND_STRING, .flags = REQUIRED | NULLABLE, .form = FORM_ID },
	{ "final_status", KIND_STRING, .flags = REQUIRED | NULLABLE,
		.about = "first final status that is not PASSED, or PASSED",
		.choices = statuses },
	{ "license", KIND_STRING, .flags = REQUIRED | NONEMPTY },
	{ "source", KIND_RECORD, .flags = REQUIRED, .record = "task_source" },
	{ 0 }
};
static const struct field row_mismatch[] = {
	{ "output", KIND_STRING, .flags = REQUIRED },
	{ "index", KIND_INTEGER, .flags = REQUIRED | ARRAY },
	{ "expected", KIND_STRING, .flags = REQUIRED | NULLABLE, .about = "as text, which has nan and inf" },
	{ "got", KIND_STRING, .flags = REQUIRED | NULLABLE, .about = "as text, which has nan and inf" },
	{ 0 }
};
static const struct field row_finding[] = {
	{ "check", KIND_STRING, .flags = REQUIRED },
	{ "kind", KIND_STRING, .flags = REQUIRED },
	{ "severity", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ "kernel", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ "line", KIND_INTEGER, .flags = REQUIRED | NULLABLE },
	{ "block", KIND_INTEGER, .flags = REQUIRED | ARRAY },
	{ "thread", KIND_INTEGER, .flags = REQUIRED | ARRAY },
	{ "space", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ "buffer", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ "offset_bytes", KIND_INTEGER, .flags = REQUIRED | NULLABLE },
	{ "size_bytes", KIND_INTEGER, .flags = REQUIRED | NULLABLE },
	{ "lanes", KIND_INTEGER, .flags = REQUIRED | NULLABLE },
	{ "other_line", KIND_INTEGER, .flags = REQUIRED | NULLABLE },
	{ "message", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ 0 }
};
static const struct field row_timing[] = {
	{ "gpu", KIND_STRING, .flags = REQUIRED },
	{ "median_us", KIND_NUMBER, .flags = REQUIRED, .about = "of solve() by events, caches flushed" },
	{ "baseline_us", KIND_NUMBER, .flags = REQUIRED | NULLABLE,
		.about = "the task's first correct solution; null where it is this one" },
	{ "baseline_ratio", KIND_NUMBER, .flags = REQUIRED | NULLABLE,
		.about = "time of this solution over that one's, by pairs; none below 10 us" },
	{ "torch", KIND_STRING, .flags = REQUIRED | NULLABLE, .about = "version of PyTorch" },
	{ "eager_us", KIND_NUMBER, .flags = REQUIRED | NULLABLE, .about = "the task's PyTorch module" },
	{ "eager_speedup", KIND_NUMBER, .flags = REQUIRED | NULLABLE,
		.about = "eager_us over median_us: more than 1 is faster than PyTorch; none below 10 us" },
	{ "compile_us", KIND_NUMBER, .flags = REQUIRED | NULLABLE, .about = "the same by torch.compile" },
	{ "compile_speedup", KIND_NUMBER, .flags = REQUIRED | NULLABLE },
	{ 0 }
};
static const struct field row_evaluation[] = {
	{ "id", KIND_STRING, .flags = REQUIRED, .form = FORM_ID },
	{ "workload", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ "role", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ "held_out", KIND_BOOLEAN, .flags = REQUIRED },
	{ "trial", KIND_INTEGER, .flags = REQUIRED | NULLABLE },
	{ "target", KIND_STRING, .flags = REQUIRED },
	{ "protocol", KIND_INTEGER, .flags = REQUIRED },
	{ "final", KIND_BOOLEAN, .flags = REQUIRED },
	{ "status", KIND_STRING, .flags = REQUIRED, .choices = statuses },
	{ "reason", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ "max_absolute_error", KIND_NUMBER, .flags = REQUIRED | NULLABLE,
		.about = "null where it is not finite" },
	{ "max_relative_error", KIND_NUMBER, .flags = REQUIRED | NULLABLE,
		.about = "null where it is not finite" },
	{ "mismatched_elements", KIND_INTEGER, .flags = REQUIRED | NULLABLE },
	{ "compared_elements", KIND_INTEGER, .flags = REQUIRED | NULLABLE },
	{ "first_mismatch", KIND_RECORD, .flags = REQUIRED | NULLABLE, .record = "row_mismatch" },
	{ "findings", KIND_RECORD, .flags = REQUIRED | ARRAY, .record = "row_finding" },
	{ "counters", KIND_RECORD, .flags = REQUIRED | ARRAY,
		.about = "counted by the PTX machine", .record = "named_size" },
	{ "cost", KIND_NUMBER, .flags = REQUIRED | NULLABLE, .about = "weighted sum of counters; no time" },
	{ "timing", KIND_RECORD, .flags = REQUIRED | NULLABLE, .about = "measured on a GPU", .record = "row_timing" },
	{ "compile_log", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ 0 }
};
static const struct field solutions_row[] = {
	{ "schema_version", KIND_STRING, .flags = REQUIRED, .form = FORM_VERSION },
	{ "id", KIND_STRING, .flags = REQUIRED, .form = FORM_ID },
	{ "task_id", KIND_STRING, .flags = REQUIRED, .form = FORM_ID },
	{ "task_name", KIND_STRING, .flags = REQUIRED },
	{ "op_type", KIND_STRING, .flags = REQUIRED },
	{ "phase", KIND_STRING, .flags = REQUIRED, .choices = phases },
	{ "branch", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ "parent_id", KIND_STRING, .flags = REQUIRED | NULLABLE, .form = FORM_ID },
	{ "origin", KIND_RECORD, .flags = REQUIRED, .record = "row_origin" },
	{ "source", KIND_STRING, .flags = REQUIRED },
	{ "source_sha256", KIND_STRING, .flags = REQUIRED, .form = FORM_SHA256 },
	{ "status", KIND_STRING, .flags = REQUIRED | NULLABLE,
		.about = "first status that is not PASSED, or PASSED; null: not evaluated",
		.choices = statuses },
	{ "final", KIND_BOOLEAN, .flags = REQUIRED, .about = "this is what the task was answered with" },
	{ "resolved", KIND_BOOLEAN, .flags = REQUIRED,
		.about = "it has final evaluations, and all of them passed" },
	{ "cost", KIND_NUMBER, .flags = REQUIRED | NULLABLE, .about = "of the profile workload; no time" },
	{ "evaluations", KIND_RECORD, .flags = REQUIRED | ARRAY, .record = "row_evaluation" },
	{ "license", KIND_STRING, .flags = REQUIRED | NONEMPTY },
	{ 0 }
};
static const struct field row_arguments[] = {
	{ "source", KIND_STRING, .flags = REQUIRED | NULLABLE, .about = "null where a call went without" },
	{ 0 }
};
static const struct field row_function[] = {
	{ "name", KIND_STRING, .flags = REQUIRED | NONEMPTY },
	{ "arguments", KIND_RECORD, .flags = REQUIRED, .about = "an object, not text",
	.record = "row_arguments" },
	{ 0 }
};
static const struct field row_call[] = {
	{ "id", KIND_STRING, .flags = REQUIRED | NONEMPTY },
	{ "type", KIND_STRING, .flags = REQUIRED, .choices = call_types },
	{ "function", KIND_RECORD, .flags = REQUIRED, .record = "row_function" },
	{ 0 }
};
static const struct field row_message[] = {
	{ "role", KIND_STRING, .flags = REQUIRED, .choices = message_roles },
	{ "content", KIND_STRING, .flags = REQUIRED },
	{ "reasoning_content", KIND_STRING, .flags = 0 },
	{ "tool_calls", KIND_RECORD, .flags = ARRAY | SOME, .record = "row_call" },
	{ "tool_call_id", KIND_STRING, .flags = 0 },
	{ "train", KIND_BOOLEAN, .flags = REQUIRED, .about = "may be learnt from" },
	{ 0 }
};
static const struct field tool_property[] = {
	{ "type", KIND_STRING, .flags = REQUIRED },
	{ "description", KIND_STRING, .flags = REQUIRED },
	{ 0 }
};
static const struct field tool_properties[] = {
	{ "source", KIND_RECORD, .flags = REQUIRED, .record = "tool_property" },
	{ 0 }
};
static const struct field tool_parameters[] = {
	{ "type", KIND_STRING, .flags = REQUIRED },
	{ "properties", KIND_RECORD, .flags = REQUIRED, .record = "tool_properties" },
	{ "required", KIND_STRING, .flags = REQUIRED | ARRAY },
	{ 0 }
};
static const struct field tool_function[] = {
	{ "name", KIND_STRING, .flags = REQUIRED | NONEMPTY },
	{ "description", KIND_STRING, .flags = REQUIRED },
	{ "parameters", KIND_RECORD, .flags = REQUIRED, .about = "JSON Schema", .record = "tool_parameters" },
	{ 0 }
};
static const struct field tool[] = {
	{ "type", KIND_STRING, .flags = REQUIRED, .choices = call_types },
	{ "function", KIND_RECORD, .flags = REQUIRED, .record = "tool_function" },
	{ 0 }
};
static const struct field row_turn[] = {
	{ "message_index", KIND_INTEGER, .flags = REQUIRED | NOT_NEGATIVE,
		.about = "among the row's messages" },
	{ "phase", KIND_STRING, .flags = REQUIRED, .choices = phases },
	{ "solution_id", KIND_STRING, .flags = REQUIRED | NULLABLE, .form = FORM_ID },
	{ "status", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ "reward", KIND_NUMBER, .flags = REQUIRED | NULLABLE },
	{ "outcome", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ "tool", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ "staged_error", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ 0 }
};
static const struct field row_search[] = {
	{ "method", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ "node", KIND_INTEGER, .flags = REQUIRED | NULLABLE },
	{ "visits", KIND_INTEGER, .flags = REQUIRED | NULLABLE },
	{ "value", KIND_NUMBER, .flags = REQUIRED | NULLABLE,
	.about = "mean reward of the correct nodes from this one down" },
	{ "best_subtree_value", KIND_NUMBER, .flags = REQUIRED | NULLABLE },
	{ "reward", KIND_NUMBER, .flags = REQUIRED | NULLABLE, .about = "log of baseline cost over own cost" },
	{ 0 }
};
static const struct field sft_trajectories_row[] = {
	{ "schema_version", KIND_STRING, .flags = REQUIRED, .form = FORM_VERSION },
	{ "id", KIND_STRING, .flags = REQUIRED, .about = "of the branch's last trajectory", .form = FORM_ID },
	{ "task_id", KIND_STRING, .flags = REQUIRED, .form = FORM_ID },
	{ "task_name", KIND_STRING, .flags = REQUIRED },
	{ "op_type", KIND_STRING, .flags = REQUIRED },
	{ "forms", KIND_STRING, .flags = REQUIRED | ARRAY | SOME, .choices = task_forms },
	{ "branch", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ "phases", KIND_STRING, .flags = REQUIRED | ARRAY | SOME,
		.about = "from the root on", .choices = phases },
	{ "trajectory_ids", KIND_STRING, .flags = REQUIRED | ARRAY | SOME,
		.about = "from the root on", .form = FORM_ID },
	{ "messages", KIND_RECORD, .flags = REQUIRED | ARRAY | SOME, .record = "row_message" },
	{ "tools", KIND_RECORD, .flags = REQUIRED | ARRAY, .record = "tool" },
	{ "turns", KIND_RECORD, .flags = REQUIRED | ARRAY, .record = "row_turn" },
	{ "solution_id", KIND_STRING, .flags = REQUIRED | NULLABLE, .form = FORM_ID },
	{ "resolved", KIND_BOOLEAN, .flags = REQUIRED,
		.about = "the solution has final evaluations, and all of them passed" },
	{ "final_status", KIND_STRING, .flags = REQUIRED | NULLABLE,
		.about = "null: not put to the final verdict", .choices = statuses },
	{ "status", KIND_STRING, .flags = REQUIRED | NULLABLE,
		.about = "on the workloads that the agent saw", .choices = statuses },
	{ "cost", KIND_NUMBER, .flags = REQUIRED | NULLABLE,
		.about = "of the solution, on the profile workload; no time" },
	{ "cost_ratio", KIND_NUMBER, .flags = REQUIRED | NULLABLE,
		.about = "cost over that of the task's first passing solution" },
	{ "exit_status", KIND_STRING, .flags = REQUIRED },
	{ "search", KIND_RECORD, .flags = REQUIRED | NULLABLE,
	.about = "the leaf's node in the tree of an optimization",
		.record = "row_search" },
	{ "guidance", KIND_RECORD, .flags = REQUIRED | ARRAY, .about = "texts that were shown",
	.record = "guidance" },
	{ "origin", KIND_RECORD, .flags = REQUIRED, .record = "row_origin" },
	{ "license", KIND_STRING, .flags = REQUIRED | NONEMPTY },
	{ 0 }
};
static const struct field sft_direct_row[] = {
	{ "schema_version", KIND_STRING, .flags = REQUIRED, .form = FORM_VERSION },
	{ "id", KIND_STRING, .flags = REQUIRED, .about = "of the solution", .form = FORM_ID },
	{ "task_id", KIND_STRING, .flags = REQUIRED, .form = FORM_ID },
	{ "task_name", KIND_STRING, .flags = REQUIRED },
	{ "op_type", KIND_STRING, .flags = REQUIRED },
	{ "forms", KIND_STRING, .flags = REQUIRED | ARRAY | SOME, .choices = task_forms },
	{ "messages", KIND_RECORD, .flags = REQUIRED | ARRAY | SOME, .record = "row_message" },
	{ "solution_id", KIND_STRING, .flags = REQUIRED, .form = FORM_ID },
	{ "resolved", KIND_BOOLEAN, .flags = REQUIRED, .about = "always true here" },
	{ "cost", KIND_NUMBER, .flags = REQUIRED | NULLABLE, .about = "on the profile workload; no time" },
	{ "origin", KIND_RECORD, .flags = REQUIRED, .record = "row_origin" },
	{ "license", KIND_STRING, .flags = REQUIRED | NONEMPTY },
	{ 0 }
};

/* ---- side files */
static const struct field manifest_file[] = {
	{ "path", KIND_STRING, .flags = REQUIRED | NONEMPTY },
	{ "bytes", KIND_INTEGER, .flags = REQUIRED | NOT_NEGATIVE, .about = "of the file" },
	{ "sha256", KIND_STRING, .flags = REQUIRED, .about = "of the file", .form = FORM_SHA256 },
	{ "records", KIND_INTEGER, .flags = REQUIRED | NOT_NEGATIVE | NULLABLE },
	{ "content_bytes", KIND_INTEGER, .flags = REQUIRED | NOT_NEGATIVE, .about = "uncompressed" },
	{ "content_sha256", KIND_STRING, .flags = REQUIRED, .about = "uncompressed", .form = FORM_SHA256 },
	{ "config", KIND_STRING, .flags = REQUIRED | NULLABLE },
	{ "split", KIND_STRING, .flags = REQUIRED | NULLABLE, .choices = splits },
	{ 0 }
};
static const struct field protocols[] = {
	{ "verdict", KIND_INTEGER, .flags = REQUIRED | ARRAY | NOT_NEGATIVE,
		.about = "VERDICT_PROTOCOL of every evaluation in the release" },
	{ 0 }
};
static const struct field manifest[] = {
	{ "schema_version", KIND_STRING, .flags = REQUIRED, .form = FORM_VERSION },
	{ "seed", KIND_INTEGER, .flags = REQUIRED | NOT_NEGATIVE },
	{ "protocols", KIND_RECORD, .flags = REQUIRED, .record = "protocols" },
	{ "counts", KIND_INTEGER_MAP, .flags = REQUIRED | NOT_NEGATIVE },
	{ "content_sha256", KIND_STRING, .flags = REQUIRED,
		.about = "of path and content_sha256 of all files, in order",
		.form = FORM_SHA256 },
	{ "files", KIND_RECORD, .flags = REQUIRED | ARRAY | SOME, .record = "manifest_file" },
	{ 0 }
};
static const struct field build[] = {
	{ "schema_version", KIND_STRING, .flags = REQUIRED, .form = FORM_VERSION },
	{ "time", KIND_STRING, .flags = REQUIRED, .form = FORM_TIME },
	{ "versions", KIND_MAP, .flags = REQUIRED, .about = "programs and libraries, by name" },
	{ "command", KIND_STRING, .flags = REQUIRED },
	{ "stages", KIND_RECORD, .flags = ARRAY,
		.about = "what --stats of the stages before wrote", .record = "stats" },
	{ 0 }
};
static const struct field reject[] = {
	{ "file", KIND_STRING, .flags = REQUIRED },
	{ "line", KIND_INTEGER, .flags = REQUIRED | NOT_NEGATIVE },
	{ "stage", KIND_STRING, .flags = REQUIRED | NONEMPTY },
	{ "code", KIND_STRING, .flags = REQUIRED | NONEMPTY },
	{ "message", KIND_STRING, .flags = REQUIRED | NONEMPTY },
	{ "raw", KIND_STRING, .flags = REQUIRED, .about = "head and tail of the record" },
	{ 0 }
};
static const struct field stats[] = {
	{ "stage", KIND_STRING, .flags = REQUIRED | NONEMPTY },
	{ "in", KIND_INTEGER, .flags = REQUIRED | NOT_NEGATIVE },
	{ "out", KIND_INTEGER, .flags = REQUIRED | NOT_NEGATIVE },
	{ "dropped", KIND_INTEGER_MAP, .flags = REQUIRED | NOT_NEGATIVE, .about = "by code" },
	{ "rejected", KIND_INTEGER_MAP, .flags = REQUIRED | NOT_NEGATIVE, .about = "by code" },
	{ "counters", KIND_INTEGER_MAP, .flags = REQUIRED | NOT_NEGATIVE },
	{ "threads", KIND_INTEGER, .flags = REQUIRED | POSITIVE },
	{ "seconds", KIND_NUMBER, .flags = REQUIRED | NOT_NEGATIVE },
	{ "bytes_in", KIND_INTEGER, .flags = REQUIRED | NOT_NEGATIVE },
	{ "bytes_out", KIND_INTEGER, .flags = REQUIRED | NOT_NEGATIVE },
	{ "version", KIND_STRING, .flags = REQUIRED },
	{ "command", KIND_STRING, .flags = REQUIRED },
	{ 0 }
};

const struct record rec_table[] = {
	{ "case", case_fields, true, "one task through all stages: one line of JSON" },
	{ "task", task, true, "what to compute, how it is shown, and what judges it" },
	{ "curation", curation, true, "what dedupe and diversify found" },
	{ "review", review, true, "a decision, which cites what was shown" },
	{ "solution", solution, true, "one .cu source" },
	{ "evaluation", evaluation, true, "what happened when a solution met a workload" },
	{ "trajectory", trajectory, true, "a conversation, or the part of it that a branch adds" },
	{ "tasks", tasks_row, true, "a row of the config tasks" },
	{ "solutions", solutions_row, true, "a row of the config solutions" },
	{ "sft_trajectories", sft_trajectories_row, true, "a row of the config sft_trajectories" },
	{ "sft_direct", sft_direct_row, true, "a row of the config sft_direct" },
	{ "manifest", manifest, true, "MANIFEST.json" },
	{ "build", build, true, "BUILD.json" },
	{ "reject", reject, true, "a line of a rejects file" },
	{ "stats", stats, true, "what --stats writes" },
	{ "axis", axis, false, NULL },
	{ "scalar", scalar, false, NULL },
	{ "domain", domain, false, NULL },
	{ "input", input, false, NULL },
	{ "output", output, false, NULL },
	{ "workload", workload, false, NULL },
	{ "example", example, false, NULL },
	{ "reference", reference, false, NULL },
	{ "math_spec", math_spec, false, NULL },
	{ "task_source", task_source, false, NULL },
	{ "origin", origin, false, NULL },
	{ "mismatch", mismatch, false, NULL },
	{ "output_hash", output_hash, false, NULL },
	{ "traffic", traffic, false, NULL },
	{ "estimate", estimate, false, NULL },
	{ "estimate_part", estimate_part, false, NULL },
	{ "finding", finding, false, NULL },
	{ "timing", timing, false, NULL },
	{ "timing_gpu", timing_gpu, false, NULL },
	{ "timing_noise", timing_noise, false, NULL },
	{ "timing_baseline", timing_baseline, false, NULL },
	{ "timing_pytorch", timing_pytorch, false, NULL },
	{ "timing_pytorch_mode", timing_pytorch_mode, false, NULL },
	{ "timing_host_check", timing_host_check, false, NULL },
	{ "hardware_counters", hardware_counters, false, NULL },
	{ "hardware_launch", hardware_launch, false, NULL },
	{ "function_call", function_call, false, NULL },
	{ "tool_call", tool_call, false, NULL },
	{ "message", message, false, NULL },
	{ "turn", turn, false, NULL },
	{ "search", search, false, NULL },
	{ "guidance", guidance, false, NULL },
	{ "named_size", named_size, false, NULL },
	{ "row_workload", row_workload, false, NULL },
	{ "row_input", row_input, false, NULL },
	{ "row_review", row_review, false, NULL },
	{ "row_origin", row_origin, false, NULL },
	{ "row_curation", row_curation, false, NULL },
	{ "row_mismatch", row_mismatch, false, NULL },
	{ "row_finding", row_finding, false, NULL },
	{ "row_evaluation", row_evaluation, false, NULL },
	{ "row_timing", row_timing, false, NULL },
	{ "row_arguments", row_arguments, false, NULL },
	{ "row_function", row_function, false, NULL },
	{ "row_call", row_call, false, NULL },
	{ "row_message", row_message, false, NULL },
	{ "row_turn", row_turn, false, NULL },
	{ "row_search", row_search, false, NULL },
	{ "tool_property", tool_property, false, NULL },
	{ "tool_properties", tool_properties, false, NULL },
	{ "tool_parameters", tool_parameters, false, NULL },
	{ "tool_function", tool_function, false, NULL },
	{ "tool", tool, false, NULL },
	{ "manifest_file", manifest_file, false, NULL },
	{ "protocols", protocols, false, NULL },
	{ NULL, NULL, false, NULL }
};

const char *const rec_schema_names[] = {
	"case", "task", "curation", "review", "solution", "evaluation", "trajectory", "tasks", "solutions",
	"sft_trajectories", "sft_direct", "manifest", "build", "reject", "stats", NULL
};
