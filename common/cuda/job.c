/* The job of one recording: a table of the device code, the buffers, the arguments, the limits.
 *
 * In and out: lines of space-separated fields, first a word. Both ends are ours, so the reader only guards against
 * mistakes: any line that it does not understand is an error. */

#include "base/num.h"
#include "cuda/job.h"

enum { MAX_FIELDS = 16 + 2 * PTXINFO_MAX_PARAMETERS };

void
job_write(const struct job_facts *f, struct buf *out)
{
	const struct ptxinfo *info = f->info;
	uint32_t pointer = 0;

	buf_addf(out, "profile %s\nlimits %llu %llu %llu\nnext %llu\n", f->profile_name, (unsigned long long)f->scratch_bytes,
		(unsigned long long)f->cpu_seconds, (unsigned long long)f->wall_seconds, (unsigned long long)f->next_address);
	for (uint32_t i = 0; i < info->kernels; i++) {
		const struct ptxinfo_kernel *k = &info->kernel[i];

		buf_addf(out, "kernel %s %u %u %u %u %u %u %u %u %u %u %u %u", k->name, k->registers, k->static_shared,
			k->local_bytes, k->constant_bytes, k->max_threads, k->required_block[0], k->required_block[1],
			k->required_block[2], k->required_cluster[0], k->required_cluster[1], k->required_cluster[2],
			k->parameter_bytes);
		for (uint32_t p = 0; p < k->parameters; p++)
			buf_addf(out, " %u %u", k->parameter[p].offset, k->parameter[p].bytes);
		buf_addc(out, '\n');
	}
	for (uint32_t i = 0; i < info->symbols; i++)
		buf_addf(out, "symbol %s %llu %llu\n", info->symbol[i].name, (unsigned long long)info->symbol[i].address,
			(unsigned long long)info->symbol[i].bytes);
	for (uint32_t i = 0; i < f->buffer_count; i++)
		buf_addf(out, "buffer %s %llu %llu %d\n", f->buffers[i].name, (unsigned long long)f->buffers[i].address,
			(unsigned long long)f->buffers[i].bytes, f->buffers[i].output);
	for (int i = 0; i < (f->others ? 2 : 1) * f->count; i++) {
		const struct cuda_argument *a = i < f->count ? &f->arguments[i] : &f->others[i - f->count];

		if (i == f->count)
			buf_adds(out, "set\n");
		if (a->kind == CUDA_SCALAR)
			buf_addf(out, "value %llu\n", (unsigned long long)a->bits);
		else
			buf_addf(out, "pointer %llu\n", (unsigned long long)f->buffers[pointer++].address);
	}
}

/* ---- reading */
struct fields {
	char *text[MAX_FIELDS];
	uint64_t number[MAX_FIELDS];	/* of those that are numbers, else 0 */
	int count;
};

static void
split(char *line, struct fields *f)
{
	f->count = 0;
	while (line && f->count < MAX_FIELDS) {
		char *space = strchr(line, ' ');

		if (space)
			*space++ = 0;
		f->number[f->count] = 0;
		num_u64(line, 0, UINT64_MAX, &f->number[f->count]);
		f->text[f->count++] = line;
		line = space;
	}
}

static int
take_kernel(struct job_text *j, const struct fields *f, struct runtime_kernel *k)
{
	struct runtime_parameter *parameter;

	if (f->count < 14 || f->count % 2)
		return -1;
	*k = (struct runtime_kernel){ .name = arena_strdup(&j->arena, f->text[1]), .registers = (uint32_t)f->number[2],
		.static_shared = (uint32_t)f->number[3], .local_bytes = (uint32_t)f->number[4],
		.constant_bytes = (uint32_t)f->number[5], .max_threads = (uint32_t)f->number[6],
		.parameter_bytes = (uint32_t)f->number[13], .parameters = (uint32_t)(f->count - 14) / 2 };
	for (int i = 0; i < 3; i++) {
		k->required_block[i] = (uint32_t)f->number[7 + i];
		k->required_cluster[i] = (uint32_t)f->number[10 + i];
	}
	parameter = arena_alloc(&j->arena, (k->parameters + 1) * sizeof *parameter);
	for (uint32_t p = 0; p < k->parameters; p++) {
		parameter[p] = (struct runtime_parameter){ (uint32_t)f->number[14 + 2 * p], (uint32_t)f->number[15 + 2 * p] };
		if (k->parameter_bytes > CUDA_MAX_PARAMETER_BYTES || parameter[p].offset > k->parameter_bytes ||
		    parameter[p].bytes > k->parameter_bytes - parameter[p].offset)
			return -1;
	}
	k->parameter = parameter;
	return 0;
}

static int
take_line(struct job_text *j, const struct fields *f)
{
	struct recorder_job *job = &j->job;
	const char *word = f->text[0];

	if (!strcmp(word, "profile") && f->count == 2) {
		job->profile_name = arena_strdup(&j->arena, f->text[1]);
	} else if (!strcmp(word, "limits") && f->count == 4) {
		job->scratch_bytes = f->number[1];
		j->cpu_seconds = f->number[2];
		j->wall_seconds = f->number[3];
	} else if (!strcmp(word, "next") && f->count == 2) {
		job->next_address = f->number[1];
	} else if (!strcmp(word, "kernel")) {
		return take_kernel(j, f, (struct runtime_kernel *)&job->kernel[job->kernels++]);
	} else if (!strcmp(word, "symbol") && f->count == 4) {
		((struct runtime_symbol *)job->symbol)[job->symbols++] = (struct runtime_symbol){
			arena_strdup(&j->arena, f->text[1]), f->number[2], f->number[3] };
	} else if (!strcmp(word, "buffer") && f->count == 5) {
		((struct recorder_buffer *)job->buffer)[job->buffers++] = (struct recorder_buffer){
			arena_strdup(&j->arena, f->text[1]), f->number[2], f->number[3], f->number[4] != 0 };
	} else if (!strcmp(word, "set") && f->count == 1 && j->sets < JOB_SETS) {
		j->sets++;
	} else if ((!strcmp(word, "value") || !strcmp(word, "pointer")) && f->count == 2 &&
	    j->arguments[j->sets - 1] < CUDA_MAX_ARGUMENTS) {
		j->argument[j->sets - 1][j->arguments[j->sets - 1]++] = (struct job_argument){ *word == 'p', f->number[1] };
	} else {
		return -1;
	}
	return 0;
}

static uint32_t
count_lines(const char *text, const char *word)
{
	uint32_t count = 0;

	for (const char *line = text; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
		count += !strncmp(line, word, strlen(word));
	return count;
}

int
job_parse(const char *text, struct job_text *j, struct buf *err)
{
	struct fields *f = arena_alloc(&j->arena, sizeof *f);
	char *copy = arena_strdup(&j->arena, text), *next;

	j->sets = 1;
	j->job.kernel = arena_alloc(&j->arena, (count_lines(text, "kernel ") + 1) * sizeof *j->job.kernel);
	j->job.symbol = arena_alloc(&j->arena, (count_lines(text, "symbol ") + 1) * sizeof *j->job.symbol);
	j->job.buffer = arena_alloc(&j->arena, (count_lines(text, "buffer ") + 1) * sizeof *j->job.buffer);
	for (char *line = copy; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		split(line, f);
		if (take_line(j, f) < 0)
			return buf_err(err, "the recording's job has a line that starts with '%.40s' and is not understood", line);
	}
	if (!j->job.profile_name)
		return buf_err(err, "the recording's job has no profile");
	return 0;
}
