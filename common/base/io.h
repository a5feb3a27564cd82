/* Lines in, checked bytes out, and files that appear whole or not at all. */
#ifndef BASE_IO_H
#define BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* A codec sits between a file descriptor and the bytes; zst registers one for ".zst". */
struct io_codec {
	const char *suffix;
	/* State for one stream, or NULL with a sentence in err. */
	void *(*open_read)(int fd, struct buf *err);
	/* Bytes decoded (0 at a clean end), or -1 with a sentence: damage and truncation are errors. */
	long (*read)(void *state, void *bytes, size_t size, struct buf *err);
	void (*close_read)(void *state);
	void *(*open_write)(int fd, struct buf *err);
	int (*write)(void *state, const void *bytes, size_t count, struct buf *err);
	/* Ends the stream; 0 or -1. Frees the state in either case. */
	int (*close_write)(void *state, struct buf *err);
};
void io_register(const struct io_codec *codec);

/* ---- input */
struct io_in;
enum io_line { IO_LINE = 1, IO_EOF = 0, IO_ERROR = -1, IO_TOO_LONG = -2, IO_TRUNCATED = -3 };
/* "-" is standard input; a registered suffix, or the codec's magic on standard input, decodes.
 * NULL with a sentence in err. Returned owned. */
struct io_in *io_open_in(const char *path, struct buf *err);
/* One line without its newline into `line` (replaced). IO_TOO_LONG: over max_bytes, the rest was
 * skipped and `line` holds its first 4 KB. IO_TRUNCATED: the last line has no newline. */
enum io_line io_read_line(struct io_in *in, struct buf *line, size_t max_bytes, struct buf *err);
const char *io_name(const struct io_in *in);	/* for messages; "standard input". Borrowed. */
uint64_t io_line_number(const struct io_in *in);
void io_close_in(struct io_in *in);

/* ---- output */
struct io_out;
/* "-" and /dev/stdout are standard output, /dev/fd/N the descriptor N; else PATH.tmp.PID in the same folder,
 * renamed by io_commit. Where PATH is a link to a file, that file is meant. What killed runs left of such
 * temporary files is removed. */
struct io_out *io_open_out(const char *path, struct buf *err);
/* Errors are kept and reported by io_commit; io_failed asks early. EPIPE ends the program quietly (141). */
void io_write(struct io_out *out, const void *bytes, size_t count);
bool io_failed(const struct io_out *out);
/* Flushes, checks, fsyncs and renames. 0, or -1 with a sentence. Frees in either case. */
int io_commit(struct io_out *out, struct buf *err);
/* A temporary file is locked (flock) by whoever writes it. io_take_over removes one that nobody holds: its writer
 * was killed. io_own locks a new one; false: it was taken over in between, and is to be made again. */
bool io_take_over(int folder, const char *name);
bool io_own(int fd);
/* Drops the temporary file and frees. */
void io_abandon(struct io_out *out);

/* All bytes to a descriptor, over interruptions. 0, or -1 with errno. */
int io_write_fd(int fd, const void *bytes, size_t count);
/* The same to a socket, and a peer that is gone is -1 instead of SIGPIPE. */
int io_send_fd(int socket, const void *bytes, size_t count);
/* Reads exactly count bytes. 0, or -1 with errno; errno 0 when the file ends before. */
int io_read_fd(int fd, void *into, size_t count);
/* Writes a whole file by temporary and rename, unless it already holds these bytes. */
int io_write_file(const char *path, const void *bytes, size_t count, struct buf *err);
/* mkdir -p. */
int io_make_dirs(const char *path, struct buf *err);
/* rm -r, never following links; missing is success. */
int io_remove_tree(const char *path, struct buf *err);
/* A fresh folder below $TMPDIR or /tmp, mode 0700. Returned owned; the caller removes it. */
char *io_temp_dir(const char *prefix, struct buf *err);

#endif
