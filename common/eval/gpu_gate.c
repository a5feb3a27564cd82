/* Who wants a GPU in, who may use it now out. In this process a lock that prefers those who time; between processes one on
 * a file named after the GPU, which the first of this process's sharers takes for all of them. */
#include "eval/gpu_gate.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

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

int
gpu_gate_open(struct gpu_gate *gate, const char *uuid, struct buf *err)
{
	pthread_rwlockattr_t attributes;

	*gate = (struct gpu_gate){ .lock = open_lock(uuid, err) };
	if (gate->lock < 0)
		return -1;
	pthread_rwlockattr_init(&attributes);
	pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&gate->order, &attributes);
	pthread_rwlockattr_destroy(&attributes);
	pthread_mutex_init(&gate->mutex, NULL);
	return 0;
}

void
gpu_gate_close(struct gpu_gate *gate)
{
	close(gate->lock);
	pthread_rwlock_destroy(&gate->order);
	pthread_mutex_destroy(&gate->mutex);
}

static void
lock_file(const struct gpu_gate *gate, int how)
{
	while (flock(gate->lock, how))
		;
}

void
gpu_gate_enter(struct gpu_gate *gate, enum gpu_hold hold)
{
	if (hold == GPU_ALONE) {
		pthread_rwlock_wrlock(&gate->order);
		lock_file(gate, LOCK_EX);
		return;
	}
	pthread_rwlock_rdlock(&gate->order);
	pthread_mutex_lock(&gate->mutex);
	if (!gate->sharing++)
		lock_file(gate, LOCK_SH);
	pthread_mutex_unlock(&gate->mutex);
}

void
gpu_gate_leave(struct gpu_gate *gate, enum gpu_hold hold)
{
	pthread_mutex_lock(&gate->mutex);
	if (hold == GPU_ALONE || !--gate->sharing)
		lock_file(gate, LOCK_UN);
	pthread_mutex_unlock(&gate->mutex);
	pthread_rwlock_unlock(&gate->order);
}

void
gpu_gate_work(struct gpu_gate *gate, int change)
{
	double now = clock_seconds();

	pthread_mutex_lock(&gate->mutex);
	if (gate->working)
		gate->busy += now - gate->working_since;
	gate->working_since = now;
	gate->working += change;
	pthread_mutex_unlock(&gate->mutex);
}

double
gpu_gate_busy(struct gpu_gate *gate)
{
	gpu_gate_work(gate, 0);
	return gate->busy;
}
