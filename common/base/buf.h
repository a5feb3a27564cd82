/* Growing bytes. data is always NUL-terminated once anything was added; len does not count it. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>

struct buf {
	char *data;
	size_t len, cap;
};
#define BUF_INIT { NULL, 0, 0 }

void buf_add(struct buf *b, const void *bytes, size_t count);
void buf_adds(struct buf *b, const char *text);
void buf_addc(struct buf *b, char c);
void buf_addf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_vaddf(struct buf *b, const char *format, va_list args);
/* Room for `more` bytes beyond len, which the caller fills and adds to len itself. */
void buf_reserve(struct buf *b, size_t more);
/* Forgets the content, keeps the memory. */
void buf_reset(struct buf *b);
/* Frees the memory and leaves an empty buffer. */
void buf_release(struct buf *b);
/* The text, "" when empty. Borrowed until the next change. */
const char *buf_str(const struct buf *b);
/* The memory, NUL-terminated, returned owned; the buffer is empty afterwards. */
char *buf_detach(struct buf *b);

/* Appends a whole file of at most max_bytes. 0, or -1 with a sentence in err. */
int buf_read_file(struct buf *b, const char *path, size_t max_bytes, struct buf *err);
/* Appends all that fd gives, at most max_bytes. 0, or -1 with errno (EFBIG: more than max_bytes). */
int buf_read_fd(struct buf *b, int fd, size_t max_bytes);
/* Keeps head and tail when longer than max_bytes, with a line between that counts what is gone. */
void buf_elide(struct buf *b, size_t max_bytes);

/* Error convention of the library: a function returns 0 or -1 (NULL) and appends one complete
 * sentence to `struct buf *err`. This helper does both: return buf_err(err, "..."); err may be NULL. */
int buf_err(struct buf *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
