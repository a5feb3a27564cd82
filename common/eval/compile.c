/* A solution's source in, its build out, or an evaluation that says where the compiler stopped.
 * nvcc is the judge; the quick check asks a warm NVRTC first and falls back on nvcc where that can't know. */
#include <string.h>

#include "cuda/build.h"
#include "cuda/nvrtc.h"
#include "eval/evaluation.h"
#include "eval/session.h"
#include "rec/json.h"

int
session_compile(const struct eval *e, const struct task *t, const char *source, struct cuda_build *b, struct buf *err)
{
	struct cuda_argument arguments[CUDA_MAX_ARGUMENTS];
	struct buf prelude = BUF_INIT;
	int status = cuda_prelude(arguments, task_arguments(t, NULL, arguments), &prelude, err);

	if (status == 0)
		status = cuda_build(source, strlen(source), buf_str(&prelude), e->arch, e->builds, NULL, b, err);
	buf_release(&prelude);
	return status;
}

int
session_build(struct session *s, struct buf *err)
{
	if (s->built)
		return 0;
	int status = session_compile(s->eval, s->task, s->source, &s->build, err);

	s->built = status == 0;
	return status;
}

/* The compiler's first error as a finding, so that a repair can cite its line. */
static json_t *
compiler_finding(const char *log)
{
	for (const char *line = log; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		const char *end = strchrnul(line, '\n'), *open = memchr(line, '(', (size_t)(end - line));
		const char *error = strstr(line, "error");
		char *after = NULL;
		long number = open ? strtol(open + 1, &after, 10) : 0;

		if (error && error < end && after && *after == ')' && number > 0)
			return json_pack("{s:s, s:s, s:o, s:i, s:o}", "check", "compiler", "kind", "error",
				"file", rec_json_text(line, (size_t)(open - line)), "line", (int)number,
				"message", rec_json_text(error, (size_t)(end - error)));
	}
	return NULL;
}

/* The line of a log that says most: the first with an error, else the first. */
static void
add_telling_line(const char *log, struct buf *out)
{
	const char *told = NULL;

	for (const char *line = log; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		size_t length = strcspn(line, "\n");
		bool error = memmem(line, length, "error", 5) || memmem(line, length, "undefined reference", 19);

		if (length && (error || !told))
			told = line;
		if (error)
			break;
	}
	if (told)
		buf_addf(out, "%.*s", (int)strcspn(told, "\n"), told);
	else
		buf_adds(out, "nvcc refuses it without words");
}

json_t *
session_build_failure(const struct question *q, const struct cuda_build *b)
{
	bool compiler = b->verdict == CUDA_COMPILE_ERROR;
	json_t *finding = compiler ? compiler_finding(buf_str(&b->log)) : NULL;
	struct buf reason = BUF_INIT;

	if (finding)
		buf_adds(&reason, rec_json_string(finding, "message", ""));
	else if (compiler)
		add_telling_line(buf_str(&b->log), &reason);
	else
		buf_adds(&reason, buf_str(&b->log));
	json_t *evaluation = evaluation_start(q, cuda_verdict_name(b->verdict), buf_str(&reason));
	buf_release(&reason);

	if (compiler)
		json_object_set_new(evaluation, "compile_log", rec_json_text(buf_str(&b->log), b->log.len));
	if (finding)
		json_object_set_new(evaluation, "findings", json_pack("[o]", finding));
	return evaluation;
}

int
eval_compile(struct eval *e, const struct task *t, const char *source, struct buf *log, struct buf *err)
{
	struct cuda_argument arguments[CUDA_MAX_ARGUMENTS];
	struct cuda_build b = CUDA_BUILD_INIT;
	struct buf prelude = BUF_INIT;
	enum cuda_check quick;
	int status = cuda_prelude(arguments, task_arguments(t, NULL, arguments), &prelude, err);

	if (status == 0)
		status = cuda_quick_check(e->checker, source, strlen(source), buf_str(&prelude), NULL, &quick, log, err);
	buf_release(&prelude);
	if (status)
		return -1;
	if (quick != CUDA_CHECK_ASK_NVCC)
		return quick == CUDA_CHECK_OK;
	buf_reset(log);
	if (session_compile(e, t, source, &b, err))
		return -1;
	buf_add(log, buf_str(&b.log), b.log.len);
	status = b.verdict == CUDA_OK;
	cuda_build_release(&b);
	return status;
}
