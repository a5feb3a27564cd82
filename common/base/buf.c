/* Growing bytes. In: pieces. Out: one contiguous, NUL-terminated text.
 * Capacity doubles, so that n additions cost n copies at most. */
#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/die.h"

void
buf_reserve(struct buf *b, size_t more)
{
	size_t need = b->len + more + 1;

	if (need <= b->cap)
		return;
	size_t cap = b->cap ? b->cap : 64;
	while (cap < need)
		cap *= 2;
	b->data = xrealloc(b->data, cap);
	b->cap = cap;
}

void
buf_add(struct buf *b, const void *bytes, size_t count)
{
	buf_reserve(b, count);
	if (count)
		memcpy(b->data + b->len, bytes, count);
	b->len += count;
	b->data[b->len] = 0;
}

void
buf_adds(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}

void
buf_addc(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void
buf_vaddf(struct buf *b, const char *format, va_list args)
{
	va_list again;

	va_copy(again, args);
	int length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (length < 0)
		return;
	buf_reserve(b, (size_t)length);
	vsnprintf(b->data + b->len, (size_t)length + 1, format, args);
	b->len += (size_t)length;
}

void
buf_addf(struct buf *b, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	buf_vaddf(b, format, args);
	va_end(args);
}

void
buf_reset(struct buf *b)
{
	b->len = 0;
	if (b->data)
		b->data[0] = 0;
}

void
buf_release(struct buf *b)
{
	free(b->data);
	*b = (struct buf)BUF_INIT;
}

const char *
buf_str(const struct buf *b)
{
	return b->data ? b->data : "";
}

char *
buf_detach(struct buf *b)
{
	buf_reserve(b, 0);
	char *data = b->data;

	data[b->len] = 0;
	*b = (struct buf)BUF_INIT;
	return data;
}

int
buf_read_fd(struct buf *b, int fd, size_t max_bytes)
{
	size_t start = b->len;

	for (;;) {
		buf_reserve(b, 65536);
		ssize_t got = read(fd, b->data + b->len, b->cap - b->len - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		b->len += (size_t)got;
		b->data[b->len] = 0;
		if (b->len - start > max_bytes) {
			errno = EFBIG;
			return -1;
		}
		if (got == 0)
			return 0;
	}
}

int
buf_read_file(struct buf *b, const char *path, size_t max_bytes, struct buf *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0)
		return buf_err(err, "%s: %s", path, strerror(errno));
	int status = buf_read_fd(b, fd, max_bytes);
	int saved = errno;
	close(fd);
	if (status == 0)
		return 0;
	if (saved == EFBIG)
		return buf_err(err, "%s: larger than %zu bytes", path, max_bytes);
	return buf_err(err, "%s: %s", path, strerror(saved));
}

void
buf_elide(struct buf *b, size_t max_bytes)
{
	if (b->len <= max_bytes)
		return;
	size_t head = max_bytes * 3 / 4, tail = max_bytes - head;
	struct buf cut = BUF_INIT;

	buf_add(&cut, b->data, head);
	buf_addf(&cut, "\n[... %zu bytes left out ...]\n", b->len - head - tail);
	buf_add(&cut, b->data + b->len - tail, tail);
	buf_release(b);
	*b = cut;
}

int
buf_err(struct buf *err, const char *format, ...)
{
	va_list args;

	if (err) {
		va_start(args, format);
		buf_vaddf(err, format, args);
		va_end(args);
	}
	return -1;
}
