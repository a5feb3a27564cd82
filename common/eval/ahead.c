/* A built solution in, a recording for each of its workloads out. A recording is a process of some 15 ms in the sandbox and
 * a check workload needs two; one after another they would take longer than the GPU does. */
#include "eval/ahead.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/die.h"
#include "eval/workload.h"

struct ahead {
	const struct session *session;
	int count;
	struct one {
		const struct ahead *all;
		const struct task_workload *workload;
		pthread_t thread;
		struct cuda_recording recording;
		struct buf err;
		int status;
		bool taken;
	} one[];
};

static void *
record(void *context)
{
	struct one *o = context;

	o->status = workload_record(o->all->session, o->workload, &o->recording, &o->err);
	return NULL;
}

struct ahead *
ahead_start(const struct session *s, enum eval_select select)
{
	struct ahead *a = xcalloc(1, sizeof *a + (size_t)s->task->workloads * sizeof *a->one);

	a->session = s;
	for (int i = 0; i < s->task->workloads; i++) {
		struct one *o = &a->one[a->count];

		if (!session_selects(&s->task->workload[i], select))
			continue;
		*o = (struct one){ .all = a, .workload = &s->task->workload[i], .recording = CUDA_RECORDING_INIT };
		/* Where there is no thread to be had, it is recorded when it is needed. */
		if (pthread_create(&o->thread, NULL, record, o) == 0)
			a->count++;
	}
	return a;
}

int
ahead_take(struct ahead *a, const struct task_workload *w, struct cuda_recording *recording, struct buf *err)
{
	for (int i = 0; a && i < a->count; i++) {
		struct one *o = &a->one[i];

		if (o->workload != w || o->taken)
			continue;
		pthread_join(o->thread, NULL);
		o->taken = true;
		*recording = o->recording;
		if (o->status)
			buf_err(err, "%s", buf_str(&o->err));
		buf_release(&o->err);
		return o->status ? -1 : 1;
	}
	return 0;
}

void
ahead_free(struct ahead *a)
{
	for (int i = 0; a && i < a->count; i++)
		if (!a->one[i].taken) {
			pthread_join(a->one[i].thread, NULL);
			cuda_recording_release(&a->one[i].recording);
			buf_release(&a->one[i].err);
		}
	free(a);
}
