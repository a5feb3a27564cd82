/* GPUs in, ready workers out. Starting a worker takes 0.3 s and running a candidate a few ms, so threads start workers
 * ahead of need. Who fails is replaced at once, the GPU is asked to run a known kernel, and one that cannot is not
 * used again. */
#include "eval/gpu_pool.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/die.h"
#include "base/num.h"
#include "rec/json.h"

/* SPARES wait on each GPU, STARTERS threads make them. */
enum { MAX_GPUS = 64, SPARES = 6, STARTERS = 3, START_WALL_MS = 60000, PROBE_WALL_MS = 15000, PROBES = 3,
	MIN_SM = 90 };

struct device {
	struct gpu_pool *pool;
	int number, lock;
	char uuid[64];
	json_t *description;
	pthread_mutex_t turn;		/* one command at a time */
	pthread_t starter[STARTERS];
	/* below: guarded by the pool's mutex */
	struct gpu_worker *spare[SPARES];
	int spares, starting, sessions, failed_starts, alone;	/* alone: commands that want or have the GPU alone */
	bool retired;
};

struct gpu_pool {
	struct device device[MAX_GPUS];
	int devices;
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

static int
open_lock(const char *uuid, struct buf *err)
{
	static const char *const folders[] = { "/run/lock", "/tmp" };
	struct buf path = BUF_INIT;
	int lock = -1;

	for (int i = 0; i < 2 && lock < 0; i++) {
		buf_reset(&path);
		buf_addf(&path, "%s/kernelmosaic-gpu-%s.lock", folders[i], uuid);
		/* Another user's file in a sticky folder may be opened, but not with O_CREAT. */
		lock = open(buf_str(&path), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
		if (lock < 0)
			lock = open(buf_str(&path), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_CREAT, 0666);
		if (lock >= 0)
			fchmod(lock, 0666);
	}
	if (lock < 0)
		buf_err(err, "cannot make the lock of GPU %s in /run/lock or /tmp", uuid);
	buf_release(&path);
	return lock;
}

/* Other processes time things too: the lock of a descriptor of its own keeps out of their way. */
static struct gpu_worker *
start_shared(const struct device *d, struct buf *why)
{
	int lock = open_lock(d->uuid, why);

	if (lock < 0)
		return NULL;
	while (flock(lock, LOCK_SH))
		;
	struct gpu_worker *w = gpu_worker_start(d->number, START_WALL_MS, why);
	close(lock);
	return w;
}

static void *
start_workers(void *context)
{
	struct device *d = context;
	struct gpu_pool *pool = d->pool;

	pthread_mutex_lock(&pool->mutex);
	for (;;) {
		struct buf why = BUF_INIT;

		/* Making a context is work for the GPU: not while something is timed. */
		while (!pool->closing && !d->retired && (d->spares + d->starting >= SPARES || (d->alone && d->spares)))
			pthread_cond_wait(&pool->changed, &pool->mutex);
		if (pool->closing || d->retired)
			break;
		d->starting++;
		pthread_mutex_unlock(&pool->mutex);
		struct gpu_worker *w = start_shared(d, &why);
		pthread_mutex_lock(&pool->mutex);
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
		if (rec_json_integer(item, "sm", 0) < MIN_SM) {
			*status = EX_UNAVAILABLE;
			return buf_err(err, "GPU %d (%s) is of sm_%d, and code is built for sm_%d", number,
				rec_json_string(item, "name", "?"), (int)rec_json_integer(item, "sm", 0), MIN_SM);
		}
		*d = (struct device){ .pool = pool, .number = number, .description = json_incref((json_t *)item) };
		snprintf(d->uuid, sizeof d->uuid, "%s", uuid);
		*status = EX_CANTCREAT;
		d->lock = open_lock(uuid, err);
		if (d->lock < 0)
			return -1;
		pthread_mutex_init(&d->turn, NULL);
		pool->devices++;
	}
	*status = EX_USAGE;
	if (list && named != entries(list))
		return buf_err(err, "--device cuda:%s: there are GPUs 0 to %d here", list, (int)json_array_size(all) - 1);
	return 0;
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
	if (!all || add_devices(pool, all, list, status, err)) {
		gpu_pool_close(pool);
		pool = NULL;
	} else {
		*status = EX_OK;
		pool->opened = clock_seconds();
		for (int i = 0; i < pool->devices; i++)
			for (int k = 0; k < STARTERS; k++)
				if (pthread_create(&pool->device[i].starter[k], NULL, start_workers, &pool->device[i]))
					die(EX_OSERR, "cannot start a thread:");
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
		while (d->spares)
			gpu_worker_end(d->spare[--d->spares]);
		close(d->lock);
		json_decref(d->description);
		pthread_mutex_destroy(&d->turn);
	}
	buf_release(&pool->why);
	pthread_cond_destroy(&pool->changed);
	pthread_mutex_destroy(&pool->mutex);
	free(pool);
}

const char *
gpu_pool_target(const struct gpu_pool *pool)
{
	(void)pool;
	return "cuda-sm_90";
}

void
gpu_pool_counts(struct gpu_pool *pool, struct gpu_counts *counts)
{
	pthread_mutex_lock(&pool->mutex);
	*counts = pool->counts;
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
	pthread_mutex_unlock(&d->pool->mutex);
	/* Taking a context down is work for the GPU as well. */
	pthread_mutex_lock(&d->turn);
	gpu_worker_end(session->worker);
	pthread_mutex_unlock(&d->turn);
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
	if (gpu_worker_ask(w, &m, PROBE_WALL_MS, &signalled, &ended) == GPU_REPLY_OK && m.parts == 1) {
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
	pthread_mutex_lock(&d->turn);
	examine(d);
	pthread_mutex_unlock(&d->turn);
}

static void
set_alone(struct device *d, int change)
{
	pthread_mutex_lock(&d->pool->mutex);
	d->alone += change;
	pthread_cond_broadcast(&d->pool->changed);
	pthread_mutex_unlock(&d->pool->mutex);
}

enum gpu_reply
gpu_pool_ask(struct gpu_session *session, struct message *m, uint64_t wall_ms, enum gpu_hold hold, bool *signalled,
	struct buf *ended)
{
	struct device *d = device_of(session);

	set_alone(d, hold == GPU_ALONE ? 1 : 0);
	pthread_mutex_lock(&d->turn);
	while (flock(d->lock, hold == GPU_ALONE ? LOCK_EX : LOCK_SH))
		;
	double begin = clock_seconds();
	enum gpu_reply reply = gpu_worker_ask(session->worker, m, wall_ms, signalled, ended);
	double end = clock_seconds();
	if (reply != GPU_REPLY_OK)
		examine(d);
	flock(d->lock, LOCK_UN);
	pthread_mutex_unlock(&d->turn);
	pthread_mutex_lock(&d->pool->mutex);
	d->pool->counts.commands++;
	d->pool->counts.kills += reply == GPU_REPLY_LATE;
	d->pool->counts.command_seconds += end - begin;
	pthread_mutex_unlock(&d->pool->mutex);
	set_alone(d, hold == GPU_ALONE ? -1 : 0);
	return reply;
}

/* ---- turns of others */

/* By a lock of its own: taking a shared one on the device's own descriptor could change what a command holds. */
int
gpu_pool_take_turn(struct gpu_pool *pool, const char *uuid, enum gpu_hold hold, struct gpu_turn *turn, struct buf *err)
{
	struct device *d = NULL;

	for (int i = 0; i < pool->devices && !d; i++)
		if (!strcmp(pool->device[i].uuid, uuid))
			d = &pool->device[i];
	if (!d)
		return buf_err(err, "GPU %s is none of those that are used", uuid);
	*turn = (struct gpu_turn){ d, hold, open_lock(uuid, err) };
	if (turn->lock < 0)
		return -1;
	if (hold == GPU_ALONE) {
		set_alone(d, 1);
		pthread_mutex_lock(&d->turn);
	}
	while (flock(turn->lock, hold == GPU_ALONE ? LOCK_EX : LOCK_SH))
		;
	return 0;
}

void
gpu_pool_end_turn(struct gpu_turn *turn)
{
	close(turn->lock);
	if (turn->hold == GPU_ALONE) {
		pthread_mutex_unlock(&turn->device->turn);
		set_alone(turn->device, -1);
	}
}

int
gpu_pool_number(const struct gpu_turn *turn)
{
	return turn->device->number;
}
