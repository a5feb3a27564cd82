/* Jobs of the generator in, memory out that is empty until it is read. A thread answers the page faults (userfaultfd, of
 * user mode only, which needs no privilege) with 4 KiB of elements each: a sampled output of a gigabyte reads little. */
#include "eval/lazy.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/die.h"
#include "eval/tolerance.h"

enum { LAZY_PAGE = 4096, LAZY_MAX_TENSORS = 64 };

struct lazy {
	int faults, stop[2];
	pthread_t thread;
	bool started;
	int count;
	struct {
		char *memory;
		uint64_t mapped, bytes;
		size_t element_bytes;
		bool widened;		/* to double, and changed */
		struct generate_job job;
	} tensor[LAZY_MAX_TENSORS];
	struct lazy_change change;
	atomic_uint_fast64_t made;
};

static void
make_element(const struct lazy *l, int tensor, uint64_t element, char *out)
{
	const struct generate_job *job = &l->tensor[tensor].job;
	uint64_t plain;

	if (!l->tensor[tensor].widened) {
		generate_element(job, element, out);
		return;
	}
	generate_element(job, element, &plain);
	double value = tolerance_changed(dtype_load((enum dtype)job->dtype, &plain), element, l->change.step, l->change.draw,
		(uint32_t)tensor);
	memcpy(out, &value, sizeof value);
}

static void
make_page(struct lazy *l, uint64_t address)
{
	static _Thread_local uint64_t page[LAZY_PAGE / sizeof(uint64_t)];

	for (int i = 0; i < l->count; i++) {
		uint64_t at = address - (uint64_t)(uintptr_t)l->tensor[i].memory;
		size_t size = l->tensor[i].element_bytes;

		if (address < (uint64_t)(uintptr_t)l->tensor[i].memory || at >= l->tensor[i].mapped)
			continue;
		memset(page, 0, sizeof page);
		for (uint64_t k = 0; k < LAZY_PAGE && at + k < l->tensor[i].bytes; k += size)
			make_element(l, i, (at + k) / size, (char *)page + k);
		struct uffdio_copy copy = { .dst = address, .src = (uint64_t)(uintptr_t)page, .len = LAZY_PAGE };
		if (ioctl(l->faults, UFFDIO_COPY, &copy) && errno != EEXIST)
			die(EX_OSERR, "cannot place a page of inputs:");
		atomic_fetch_add(&l->made, LAZY_PAGE);
		return;
	}
}

static void *
answer_faults(void *context)
{
	struct lazy *l = context;
	struct pollfd p[] = { { l->faults, POLLIN, 0 }, { l->stop[0], POLLIN | POLLHUP, 0 } };

	for (;;) {
		struct uffd_msg m;

		if (poll(p, 2, -1) < 0)
			continue;
		if (p[1].revents)
			return NULL;
		if (read(l->faults, &m, sizeof m) == sizeof m && m.event == UFFD_EVENT_PAGEFAULT)
			make_page(l, m.arg.pagefault.address & ~(uint64_t)(LAZY_PAGE - 1));
	}
}

static int
add_tensor(struct lazy *l, struct tensor *t, const struct generate_job *job, struct buf *err)
{
	uint64_t mapped = (t->bytes + LAZY_PAGE) & ~(uint64_t)(LAZY_PAGE - 1);

	if (job->distribution == CORE_PROBABILITY)
		return buf_err(err, "rows of probabilities are not made element by element");
	void *memory = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return buf_err(err, "cannot map %llu bytes for an input", (unsigned long long)mapped);
	l->tensor[l->count].memory = t->data = memory;
	l->tensor[l->count].mapped = mapped;
	l->tensor[l->count].bytes = t->bytes;
	l->tensor[l->count].element_bytes = dtype_bytes(t->dtype);
	l->tensor[l->count].widened = l->change.step != 0 && dtype_is_float(t->dtype);
	l->tensor[l->count++].job = *job;
	struct uffdio_register range = { .range = { (uint64_t)(uintptr_t)memory, mapped }, .mode = UFFDIO_REGISTER_MODE_MISSING };
	return ioctl(l->faults, UFFDIO_REGISTER, &range) ? buf_err(err, "userfaultfd refuses the memory of an input") : 0;
}

struct lazy *
lazy_open(struct tensor *tensors, const struct generate_job *jobs, int count, const struct lazy_change *change,
	struct buf *err)
{
	struct lazy *l = xcalloc(1, sizeof *l);
	struct uffdio_api api = { .api = UFFD_API };
	int status = count > LAZY_MAX_TENSORS ? buf_err(err, "there are too many inputs") : 0;

	l->change = change ? *change : (struct lazy_change){ 0 };
	l->stop[0] = l->stop[1] = -1;
	l->faults = (int)syscall(SYS_userfaultfd, UFFD_USER_MODE_ONLY | O_CLOEXEC | O_NONBLOCK);
	if (status == 0 && (l->faults < 0 || ioctl(l->faults, UFFDIO_API, &api)))
		status = buf_err(err, "this kernel gives no userfaultfd: %s", strerror(errno));
	for (int i = 0; i < count && status == 0; i++)
		status = add_tensor(l, &tensors[i], &jobs[i], err);
	if (status == 0 && pipe2(l->stop, O_CLOEXEC))
		status = buf_err(err, "cannot make a pipe: %s", strerror(errno));
	if (status == 0 && pthread_create(&l->thread, NULL, answer_faults, l))
		status = buf_err(err, "cannot start a thread");
	l->started = status == 0;
	if (status == 0)
		return l;
	lazy_close(l);
	return NULL;
}

uint64_t
lazy_made_bytes(const struct lazy *lazy)
{
	return atomic_load(&lazy->made);
}

void
lazy_close(struct lazy *l)
{
	if (!l)
		return;
	if (l->stop[1] >= 0)
		close(l->stop[1]);
	if (l->started)
		pthread_join(l->thread, NULL);
	for (int i = 0; i < l->count; i++)
		munmap(l->tensor[i].memory, l->tensor[i].mapped);
	if (l->faults >= 0)
		close(l->faults);
	if (l->stop[0] >= 0)
		close(l->stop[0]);
	free(l);
}
