/* The codec for ".zst". Compressed bytes come in from a descriptor and plain ones go out, or the reverse.
 * The hard idea: a clean end is only where a frame has just ended; anywhere else the file was cut, and a
 * reader that took that for the end would lose records in silence. */
#include "zst/zst.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>
#include <zstd.h>

#include "base/die.h"
#include "base/io.h"

enum { LEVEL = 3, CHUNK_BYTES = 1 << 17 };

struct reader {
	ZSTD_DCtx *context;
	int fd;
	bool between_frames, any;
	ZSTD_inBuffer in;
	char chunk[CHUNK_BYTES];
};

struct writer {
	ZSTD_CCtx *context;
	int fd;
	char chunk[CHUNK_BYTES];
};

static void *
open_read(int fd, struct buf *err)
{
	struct reader *r = xcalloc(1, sizeof *r);

	(void)err;
	r->context = ZSTD_createDCtx();
	if (!r->context)
		die(EX_TEMPFAIL, "out of memory");
	r->fd = fd;
	r->in.src = r->chunk;
	r->between_frames = true;
	return r;
}

/* Bytes read, 0 at the end of the file, -1 with a sentence. */
static int
refill(struct reader *r, struct buf *err)
{
	ssize_t got;

	do
		got = read(r->fd, r->chunk, sizeof r->chunk);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return buf_err(err, "cannot read compressed data: %s", strerror(errno));
	r->in.size = (size_t)got;
	r->in.pos = 0;
	return got > 0;
}

static long
read_plain(void *state, void *bytes, size_t size, struct buf *err)
{
	struct reader *r = state;
	ZSTD_outBuffer out = { bytes, size, 0 };

	while (out.pos == 0) {
		size_t before = r->in.pos, left;
		int more = 1;

		if (r->in.pos == r->in.size)
			more = refill(r, err);
		if (more < 0)
			return -1;
		if (!more && r->between_frames && r->any)
			return 0;
		if (!more && r->between_frames)
			return buf_err(err, "the zstd file is empty: it was cut");
		before = r->in.pos;
		left = ZSTD_decompressStream(r->context, &out, &r->in);
		if (ZSTD_isError(left))
			return buf_err(err, "the zstd data is damaged: %s", ZSTD_getErrorName(left));
		/* What is still inside the decoder comes out without more input; if nothing does, the end is
		 * missing. */
		if (!more && out.pos == 0)
			return buf_err(err, "the zstd data ends in the middle of a frame: the file was cut");
		if (r->in.pos > before || out.pos) {
			r->any = true;
			r->between_frames = left == 0;
		}
	}
	return (long)out.pos;
}

static void
close_read(void *state)
{
	struct reader *r = state;

	ZSTD_freeDCtx(r->context);
	free(r);
}

static void *
open_write(int fd, struct buf *err)
{
	struct writer *w = xcalloc(1, sizeof *w);

	w->context = ZSTD_createCCtx();
	w->fd = fd;
	if (w->context && !ZSTD_isError(ZSTD_CCtx_setParameter(w->context, ZSTD_c_compressionLevel, LEVEL)) &&
	    !ZSTD_isError(ZSTD_CCtx_setParameter(w->context, ZSTD_c_checksumFlag, 1)))
		return w;
	buf_err(err, "zstd cannot start");
	ZSTD_freeCCtx(w->context);
	free(w);
	return NULL;
}

static int
compress(struct writer *w, const void *bytes, size_t count, ZSTD_EndDirective mode, struct buf *err)
{
	ZSTD_inBuffer in = { bytes, count, 0 };
	size_t left;

	do {
		ZSTD_outBuffer out = { w->chunk, sizeof w->chunk, 0 };

		left = ZSTD_compressStream2(w->context, &out, &in, mode);
		if (ZSTD_isError(left))
			return buf_err(err, "zstd: %s", ZSTD_getErrorName(left));
		if (io_write_fd(w->fd, w->chunk, out.pos) < 0)
			return buf_err(err, "cannot write compressed data: %s", strerror(errno));
	} while (mode == ZSTD_e_end ? left > 0 : in.pos < in.size);
	return 0;
}

static int
write_plain(void *state, const void *bytes, size_t count, struct buf *err)
{
	return compress(state, bytes, count, ZSTD_e_continue, err);
}

static int
close_write(void *state, struct buf *err)
{
	struct writer *w = state;
	int status = compress(w, "", 0, ZSTD_e_end, err);

	ZSTD_freeCCtx(w->context);
	free(w);
	return status;
}

void
zst_register(void)
{
	static const struct io_codec codec = {
		.suffix = ".zst", .open_read = open_read, .read = read_plain, .close_read = close_read,
		.open_write = open_write, .write = write_plain, .close_write = close_write,
	};

	io_register(&codec);
}

int
zst_decode(const void *bytes, size_t count, size_t max_bytes, struct buf *out, struct buf *err)
{
	unsigned long long plain = ZSTD_getFrameContentSize(bytes, count);
	size_t got;

	if (plain == ZSTD_CONTENTSIZE_ERROR || plain == ZSTD_CONTENTSIZE_UNKNOWN || plain > max_bytes)
		return buf_err(err, "the compressed bytes are no zstd frame that says its size, or are over %zu bytes", max_bytes);
	buf_reserve(out, (size_t)plain + 1);
	got = ZSTD_decompress(out->data + out->len, (size_t)plain, bytes, count);
	if (ZSTD_isError(got))
		return buf_err(err, "cannot decompress: %s", ZSTD_getErrorName(got));
	out->len += got;
	out->data[out->len] = 0;
	return 0;
}

const char *
zst_version(void)
{
	return ZSTD_versionString();
}
