/* GPUs in, ready workers out. Starting a worker takes 0.3 s, ending one 0.1 s and checking a candidate a few ms, so
 * threads start workers ahead of need, and others end them. Who fails is replaced at once, the GPU is asked to run a
 * known kernel, and one that cannot is not used again. */
#include "eval/gpu_pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/die.h"
#include "base/num.h"
#include "cuda/arch.h"
#include "rec/json.h"

/* SPARES wait on each GPU, STARTERS threads make them; up to MAX_ENDING wait for ENDERS threads. */
enum { MAX_GPUS = 64, SPARES = 6, STARTERS = 3, ENDERS = 2, MAX_ENDING = 16,
	START_WALL_MS = 60000, PROBE_WALL_MS = 15000, PROBES = 3 };

struct device {
	struct gpu_pool *pool;
	int number;
	char uuid[64];
	json_t *description;
	struct gpu_gate gate;
	pthread_t starter[STARTERS], ender[ENDERS];
	/* below: guarded by the pool's mutex */
	struct gpu_worker *spare[SPARES], *ending[MAX_ENDING];
	int spares, endings, starting, sessions, failed_starts;
	bool retired;
};

struct gpu_pool {
	struct device device[MAX_GPUS];
	int devices;
	int arch;			/* that code is compiled for: of the oldest GPU */
	const char *profile;		/* of that GPU */
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool closing;
	struct gpu_counts counts;
	double opened;
	struct buf why;			/* of the last failed start */
};

/* ---- starting workers */

static void
retire(struct device *d, const char *why)
{
	if (d->retired)
		return;
	d->retired = true;
	d->pool->counts.retired++;
	warn("GPU %d (%s) is retired: %s", d->number, d->uuid, why);
}

/* A GPU whose workers do not start is of no use, once none is left that did. */
static void
take_start(struct device *d, struct gpu_worker *w, const struct buf *why)
{
	struct gpu_pool *pool = d->pool;

	d->starting--;
	if (w) {
		w->gpu = (int)(d - pool->device);
		d->spare[d->spares++] = w;
		d->failed_starts = 0;
		pool->counts.workers++;
	} else {
		buf_reset(&pool->why);
		buf_adds(&pool->why, buf_str(why));
		if (++d->failed_starts >= PROBES)
			retire(d, buf_str(why));
	}
	pthread_cond_broadcast(&pool->changed);
}

static void *
start_workers(void *context)
{
	struct device *d = context;
	struct gpu_pool *pool = d->pool;

	pthread_mutex_lock(&pool->mutex);
	for (;;) {
		struct buf why = BUF_INIT;

		while (!pool->closing && !d->retired && d->spares + d->starting >= SPARES)
			pthread_cond_wait(&pool->changed, &pool->mutex);
		if (pool->closing || d->retired)
			break;
		d->starting++;
		pthread_mutex_unlock(&pool->mutex);
		/* Beside whatever runs: contexts that come and go are not seen in the times of kernels (tests/gpu/noise.c). */
		double begin = clock_seconds();
		struct gpu_worker *w = gpu_worker_start(d->number, START_WALL_MS, &why);
		double seconds = clock_seconds() - begin;
		pthread_mutex_lock(&pool->mutex);
		pool->counts.start_seconds += seconds;
		take_start(d, w, &why);
		buf_release(&why);
	}
	pthread_mutex_unlock(&pool->mutex);
	return NULL;
}

/* The pool's mutex is held. NULL when the GPU is retired. */
static struct gpu_worker *
take_spare(struct device *d)
{
	while (!d->spares && !d->retired)
		pthread_cond_wait(&d->pool->changed, &d->pool->mutex);
	if (d->retired && !d->spares)
		return NULL;
	struct gpu_worker *w = d->spare[0];
	memmove(d->spare, d->spare + 1, (size_t)--d->spares * sizeof *d->spare);
	pthread_cond_broadcast(&d->pool->changed);
	return w;
}

/* ---- ending workers */

/* What is left of them at the end of the pool is ended as well. */
static void *
end_workers(void *context)
{
	struct device *d = context;
	struct gpu_pool *pool = d->pool;

	pthread_mutex_lock(&pool->mutex);
	for (;;) {
		while (!pool->closing && !d->endings)
			pthread_cond_wait(&pool->changed, &pool->mutex);
		if (!d->endings)
			break;
		struct gpu_worker *w = d->ending[--d->endings];
		pthread_cond_broadcast(&pool->changed);
		pthread_mutex_unlock(&pool->mutex);
		gpu_worker_end(w);
		pthread_mutex_lock(&pool->mutex);
	}
	pthread_mutex_unlock(&pool->mutex);
	return NULL;
}

/* The pool's mutex is held. Not more than some wait to be ended, for each has memory on the GPU. */
static void
end_soon(struct device *d, struct gpu_worker *w)
{
	while (d->endings == MAX_ENDING)
		pthread_cond_wait(&d->pool->changed, &d->pool->mutex);
	d->ending[d->endings++] = w;
	pthread_cond_broadcast(&d->pool->changed);
}

static void
start_thread(pthread_t *thread, void *(*run)(void *), void *context)
{
	if (pthread_create(thread, NULL, run, context))
		die(EX_OSERR, "cannot start a thread:");
}

/* ---- opening */

/* Is the GPU in the list? *named counts the entries that name one. */
static bool
is_listed(const char *list, int number, const char *uuid, int *named)
{
	bool found = false;

	if (!list)
		return true;
	for (const char *at = list; *at;) {
		size_t length = strcspn(at, ",");
		char *entry = xstrndup(at, length);
		const char *id = strncmp(entry, "GPU-", 4) ? entry : entry + 4;
		uint64_t n;
		bool same = !strcmp(id, uuid) || (num_u64(entry, 0, 1023, &n) == 0 && (int)n == number);

		found |= same;
		*named += same;
		free(entry);
		at += length + (at[length] == ',');
	}
	return found;
}

static int
entries(const char *list)
{
	int count = 1;

	for (; *list; list++)
		count += *list == ',';
	return count;
}

static int
add_devices(struct gpu_pool *pool, const json_t *all, const char *list, int *status, struct buf *err)
{
	const json_t *item;
	int named = 0;
	size_t i;

	json_array_foreach(all, i, item) {
		int number = (int)rec_json_integer(item, "number", -1);
		const char *uuid = rec_json_string(item, "uuid", "");
		struct device *d = &pool->device[pool->devices];

		if (!is_listed(list, number, uuid, &named) || pool->devices == MAX_GPUS)
			continue;
		*d = (struct device){ .pool = pool, .number = number, .description = json_incref((json_t *)item) };
		snprintf(d->uuid, sizeof d->uuid, "%s", uuid);
		*status = EX_CANTCREAT;
		if (gpu_gate_open(&d->gate, uuid, err)) {
			json_decref(d->description);
			return -1;
		}
		pool->devices++;
	}
	*status = EX_USAGE;
	if (list && named != entries(list))
		return buf_err(err, "--device cuda:%s: there are GPUs 0 to %d here", list, (int)json_array_size(all) - 1);
	return 0;
}

/* Code for the oldest of them runs on all: later ones translate its PTX. */
static int
choose_arch(struct gpu_pool *pool, int *status, struct buf *err)
{
	const json_t *oldest = NULL;
	struct buf why = BUF_INIT;

	for (int i = 0; i < pool->devices; i++)
		if (!oldest || rec_json_integer(pool->device[i].description, "sm", 0) < rec_json_integer(oldest, "sm", 0))
			oldest = pool->device[i].description;
	*status = EX_UNAVAILABLE;
	if (!oldest)
		return buf_err(err, "there is no GPU here");
	pool->arch = cuda_arch_for_gpu((int)rec_json_integer(oldest, "sm", 0), &why);
	if (pool->arch < 0)
		buf_err(err, "GPU %d (%s): %s", (int)rec_json_integer(oldest, "number", 0), rec_json_string(oldest, "name", "?"),
			buf_str(&why));
	pool->profile = cuda_arch_profile((int)rec_json_integer(oldest, "sm", 0), rec_json_string(oldest, "name", ""));
	buf_release(&why);
	return pool->arch < 0 ? -1 : 0;
}

struct gpu_pool *
gpu_pool_open(const char *list, int *status, struct buf *err)
{
	struct gpu_pool *pool = xcalloc(1, sizeof *pool);
	struct buf text = BUF_INIT;
	json_t *all = NULL;

	pthread_mutex_init(&pool->mutex, NULL);
	pthread_cond_init(&pool->changed, NULL);
	if (gpu_worker_list(&text, status, err) == 0) {
		*status = EX_UNAVAILABLE;
		all = rec_json_parse(buf_str(&text), text.len, err);
	}
	if (!all || add_devices(pool, all, list, status, err) || choose_arch(pool, status, err)) {
		gpu_pool_close(pool);
		pool = NULL;
	} else {
		*status = EX_OK;
		pool->opened = clock_seconds();
		for (int i = 0; i < pool->devices; i++)
			for (int k = 0; k < STARTERS; k++)
				start_thread(&pool->device[i].starter[k], start_workers, &pool->device[i]);
		for (int i = 0; i < pool->devices; i++)
			for (int k = 0; k < ENDERS; k++)
				start_thread(&pool->device[i].ender[k], end_workers, &pool->device[i]);
	}
	json_decref(all);
	buf_release(&text);
	return pool;
}

void
gpu_pool_close(struct gpu_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->mutex);
	pool->closing = true;
	pthread_cond_broadcast(&pool->changed);
	pthread_mutex_unlock(&pool->mutex);
	for (int i = 0; i < pool->devices; i++) {
		struct device *d = &pool->device[i];

		for (int k = 0; k < STARTERS; k++)
			if (d->starter[k])
				pthread_join(d->starter[k], NULL);
		for (int k = 0; k < ENDERS; k++)
			if (d->ender[k])
				pthread_join(d->ender[k], NULL);
		while (d->spares)
			gpu_worker_end(d->spare[--d->spares]);
		gpu_gate_close(&d->gate);
		json_decref(d->description);
	}
	buf_release(&pool->why);
	pthread_cond_destroy(&pool->changed);
	pthread_mutex_destroy(&pool->mutex);
	free(pool);
}

int
gpu_pool_arch(const struct gpu_pool *pool)
{
	return pool->arch;
}

const char *
gpu_pool_profile(const struct gpu_pool *pool)
{
	return pool->profile;
}

void
gpu_pool_counts(struct gpu_pool *pool, struct gpu_counts *counts)
{
	pthread_mutex_lock(&pool->mutex);
	*counts = pool->counts;
	for (int i = 0; i < pool->devices; i++)
		counts->command_seconds += gpu_gate_busy(&pool->device[i].gate);
	counts->pool_seconds = (clock_seconds() - pool->opened) * pool->devices;
	pthread_mutex_unlock(&pool->mutex);
}

/* ---- sessions */

/* The GPU with the fewest sessions; the pool's mutex is held. */
static struct device *
choose(struct gpu_pool *pool)
{
	struct device *best = NULL;

	for (int i = 0; i < pool->devices; i++)
		if (!pool->device[i].retired && (!best || pool->device[i].sessions < best->sessions))
			best = &pool->device[i];
	return best;
}

int
gpu_pool_enlist(struct gpu_session *session, struct buf *err)
{
	struct gpu_pool *pool = session->pool;
	int status = 0;

	double begin = clock_seconds();
	pthread_mutex_lock(&pool->mutex);
	while (!session->worker) {
		struct device *d = choose(pool);

		if (!d) {
			status = buf_err(err, "no GPU is left: %s", pool->why.len ? buf_str(&pool->why) : "all are retired");
			break;
		}
		d->sessions++;
		session->worker = take_spare(d);
		if (!session->worker)
			d->sessions--;
	}
	pool->counts.worker_wait_seconds += clock_seconds() - begin;
	pthread_mutex_unlock(&pool->mutex);
	return status;
}

static struct device *
device_of(const struct gpu_session *session)
{
	return &session->pool->device[session->worker->gpu];
}

const json_t *
gpu_pool_device(const struct gpu_session *session)
{
	return device_of(session)->description;
}

void
gpu_session_close(struct gpu_session *session)
{
	if (!session->worker)
		return;
	struct device *d = device_of(session);
	pthread_mutex_lock(&d->pool->mutex);
	d->sessions--;
	end_soon(d, session->worker);
	pthread_mutex_unlock(&d->pool->mutex);
	session->worker = NULL;
}

/* ---- health */

/* A fresh worker runs the known-good kernel: the candidate's own context says nothing about the GPU. */
static bool
is_healthy(struct device *d)
{
	struct message m = MESSAGE_INIT;
	struct buf ended = BUF_INIT;
	bool healthy = false, signalled;

	pthread_mutex_lock(&d->pool->mutex);
	struct gpu_worker *w = take_spare(d);
	d->pool->counts.probes++;
	pthread_mutex_unlock(&d->pool->mutex);
	if (!w)
		return false;
	buf_adds(&m.part[0], "{\"do\":\"probe\"}");
	m.parts = 1;
	gpu_gate_enter(&d->gate, GPU_SHARED);
	enum gpu_reply reply = gpu_worker_ask(w, &m, PROBE_WALL_MS, &signalled, &ended);
	gpu_gate_leave(&d->gate, GPU_SHARED);
	if (reply == GPU_REPLY_OK && m.parts == 1) {
		struct buf why = BUF_INIT;
		json_t *answer = rec_json_parse(buf_str(&m.part[0]), m.part[0].len, &why);

		healthy = rec_json_boolean(answer, "healthy", 0);
		json_decref(answer);
		buf_release(&why);
	}
	/* It has run nothing but our own kernel: it may still serve. */
	pthread_mutex_lock(&d->pool->mutex);
	if (healthy && d->spares + d->starting < SPARES) {
		d->spare[d->spares++] = w;
		w = NULL;
	}
	d->pool->counts.failed_probes += !healthy;
	pthread_cond_broadcast(&d->pool->changed);
	pthread_mutex_unlock(&d->pool->mutex);
	gpu_worker_end(w);
	message_release(&m);
	buf_release(&ended);
	return healthy;
}

static void
examine(struct device *d)
{
	for (int i = 0; i < PROBES; i++)
		if (is_healthy(d))
			return;
	pthread_mutex_lock(&d->pool->mutex);
	retire(d, "a kernel that is known to be good fails on it");
	pthread_cond_broadcast(&d->pool->changed);
	pthread_mutex_unlock(&d->pool->mutex);
}

void
gpu_pool_distrust(struct gpu_session *session)
{
	struct device *d = device_of(session);

	gpu_session_close(session);
	examine(d);
}

enum gpu_reply
gpu_pool_ask(struct gpu_session *session, struct message *m, uint64_t wall_ms, enum gpu_hold hold, bool *signalled,
	struct buf *ended)
{
	struct device *d = device_of(session);
	double asked = clock_seconds();

	gpu_gate_enter(&d->gate, hold);
	double begin = clock_seconds();
	gpu_gate_work(&d->gate, 1);
	enum gpu_reply reply = gpu_worker_ask(session->worker, m, wall_ms, signalled, ended);
	gpu_gate_work(&d->gate, -1);
	double end = clock_seconds();
	gpu_gate_leave(&d->gate, hold);
	/* Not while the GPU is held: the probe may have to wait for a worker that starts. */
	if (reply != GPU_REPLY_OK)
		examine(d);
	pthread_mutex_lock(&d->pool->mutex);
	d->pool->counts.commands++;
	d->pool->counts.kills += reply == GPU_REPLY_LATE;
	d->pool->counts.turn_wait_seconds += begin - asked;
	d->pool->counts.alone_seconds += hold == GPU_ALONE ? end - begin : 0;
	pthread_mutex_unlock(&d->pool->mutex);
	return reply;
}

/* ---- turns of others */

int
gpu_pool_take_turn(struct gpu_pool *pool, const char *uuid, enum gpu_hold hold, struct gpu_turn *turn, struct buf *err)
{
	struct device *d = NULL;

	for (int i = 0; i < pool->devices && !d; i++)
		if (!strcmp(pool->device[i].uuid, uuid))
			d = &pool->device[i];
	if (!d)
		return buf_err(err, "GPU %s is none of those that are used", uuid);
	*turn = (struct gpu_turn){ d, hold };
	gpu_gate_enter(&d->gate, hold);
	return 0;
}

void
gpu_pool_end_turn(struct gpu_turn *turn)
{
	gpu_gate_leave(&turn->device->gate, turn->hold);
}

int
gpu_pool_number(const struct gpu_turn *turn)
{
	return turn->device->number;
}
