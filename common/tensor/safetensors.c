/*
 * safetensors files: come in bytes from anywhere, go out tensors, and the reverse.
 * The hard idea is to believe nothing: the header is bounded before it is read, each offset is held
 * against the dtype and shape, and the data must be covered once, without gap or overlap.
 */
#include "tensor/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/die.h"
#include "base/io.h"

/* Where bytes come from: memory, or a descriptor when `bytes` is NULL. */
struct source {
	const char *bytes;
	int fd;
	uint64_t size;
};

static int
read_at(const struct source *source, uint64_t offset, void *out, uint64_t count, struct buf *err)
{
	char *to = out;

	if (source->bytes) {
		memcpy(out, source->bytes + offset, count);
		return 0;
	}
	while (count) {
		ssize_t got = pread(source->fd, to, count, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return buf_err(err, "The file cannot be read: %s.", got < 0 ? strerror(errno)
				: "it became shorter");
		to += got;
		offset += (uint64_t)got;
		count -= (uint64_t)got;
	}
	return 0;
}

/* ---- reading */

struct entry {
	const char *name;	/* the header's */
	enum dtype dtype;
	int rank;
	int64_t shape[TENSOR_MAX_RANK];
	uint64_t begin, end;	/* in the data */
};

static int
parse_shape(const char *name, json_t *shape, struct entry *entry, struct buf *err)
{
	size_t rank = json_array_size(shape);

	if (!json_is_array(shape) || rank > TENSOR_MAX_RANK)
		return buf_err(err, "Tensor '%s' has no shape of at most %d dimensions.", name, TENSOR_MAX_RANK);
	for (size_t d = 0; d < rank; d++) {
		json_t *extent = json_array_get(shape, d);

		if (!json_is_integer(extent) || json_integer_value(extent) < 0)
			return buf_err(err, "Tensor '%s' has a dimension that is not a natural number.", name);
		entry->shape[d] = json_integer_value(extent);
	}
	entry->rank = (int)rank;
	return 0;
}

static int
parse_offsets(const char *name, json_t *offsets, uint64_t data_bytes, struct entry *entry, struct buf *err)
{
	json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);

	if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end)
		|| json_integer_value(begin) < 0 || json_integer_value(end) < json_integer_value(begin)
		|| (uint64_t)json_integer_value(end) > data_bytes)
		return buf_err(err, "Tensor '%s' has no data_offsets within the %" PRIu64 " bytes of data.", name,
			data_bytes);
	entry->begin = (uint64_t)json_integer_value(begin);
	entry->end = (uint64_t)json_integer_value(end);
	return 0;
}

static int
parse_entry(const char *name, json_t *value, uint64_t data_bytes, struct entry *entry, struct buf *err)
{
	json_t *dtype_text = json_object_get(value, "dtype");
	uint64_t bytes;

	entry->name = name;
	if (!json_is_object(value) || json_object_size(value) != 3)
		return buf_err(err, "Tensor '%s' is not described by dtype, shape and data_offsets.", name);
	if (!json_is_string(dtype_text) || dtype_from_safetensors_name(json_string_value(dtype_text),
		json_string_length(dtype_text), &entry->dtype))
		return buf_err(err, "Tensor '%s' has a dtype that is not supported.", name);
	if (parse_shape(name, json_object_get(value, "shape"), entry, err)
		|| parse_offsets(name, json_object_get(value, "data_offsets"), data_bytes, entry, err)
		|| tensor_size(entry->dtype, entry->rank, entry->shape, NULL, &bytes, err))
		return -1;
	if (bytes != entry->end - entry->begin)
		return buf_err(err, "Tensor '%s' needs %" PRIu64 " bytes, its data_offsets span %" PRIu64 ".",
			name, bytes,
			entry->end - entry->begin);
	return 0;
}

static int
parse_metadata(json_t *value, struct buf *err)
{
	const char *key;
	json_t *text;

	if (!json_is_object(value))
		return buf_err(err, "__metadata__ is not an object.");
	json_object_foreach(value, key, text)
		if (!json_is_string(text))
			return buf_err(err, "__metadata__ has a value that is not a string.");
	return 0;
}

static int
by_offset(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(((const struct tensor *)a)->name, ((const struct tensor *)b)->name);
}

static int
check_coverage(struct entry *entries, size_t count, uint64_t data_bytes, struct buf *err)
{
	uint64_t at = 0;

	qsort(entries, count, sizeof *entries, by_offset);
	for (size_t i = 0; i < count; i++) {
		if (entries[i].begin != at)
			return buf_err(err, "Tensor '%s' begins at byte %" PRIu64 " of the data, not at %" PRIu64
				" where the one before it ends.", entries[i].name, entries[i].begin, at);
		at = entries[i].end;
	}
	if (at != data_bytes)
		return buf_err(err, "The last %" PRIu64 " bytes of the data belong to no tensor.",
			data_bytes - at);
	return 0;
}

static json_t *
load_header(const struct source *source, uint64_t *header_bytes, struct buf *err)
{
	unsigned char prefix[8];
	json_error_t problem;
	char *text;
	json_t *header;

	if (source->size < sizeof prefix) {
		buf_err(err, "The file has %" PRIu64 " bytes, too few for safetensors.", source->size);
		return NULL;
	}
	if (read_at(source, 0, prefix, sizeof prefix, err))
		return NULL;
	*header_bytes = 0;
	for (int i = 8; i-- > 0;)
		*header_bytes = *header_bytes << 8 | prefix[i];
	if (*header_bytes > SAFETENSORS_MAX_HEADER_BYTES || *header_bytes > source->size - sizeof prefix) {
		buf_err(err, "The header claims %" PRIu64 " bytes, more than there are or than %" PRIu64 ".",
			*header_bytes, SAFETENSORS_MAX_HEADER_BYTES);
		return NULL;
	}
	text = xmalloc(*header_bytes + 1);
	header = NULL;
	if (!read_at(source, sizeof prefix, text, *header_bytes, err)) {
		header = json_loadb(text, *header_bytes, JSON_REJECT_DUPLICATES, &problem);
		if (!header)
			buf_err(err, "The header is not JSON: %s.", problem.text);
	}
	free(text);
	return header;
}

static int
parse_entries(json_t *header, uint64_t data_bytes, struct entry *entries, size_t *count, struct buf *err)
{
	const char *name;
	json_t *value;

	*count = 0;
	json_object_foreach(header, name, value) {
		if (strcmp(name, "__metadata__") == 0) {
			if (parse_metadata(value, err))
				return -1;
			continue;
		}
		if (parse_entry(name, value, data_bytes, &entries[*count], err))
			return -1;
		++*count;
	}
	return check_coverage(entries, *count, data_bytes, err);
}

/* Memory is taken only here, after coverage has shown that it is no more than the file's own size. */
static int
load_tensors(const struct source *source, uint64_t data_at, const struct entry *entries, size_t count,
	struct safetensors *out, struct buf *err)
{
	out->tensors = xcalloc(count + 1, sizeof *out->tensors);
	for (size_t i = 0; i < count; i++) {
		struct tensor *t = &out->tensors[out->count];

		if (tensor_init(t, entries[i].name, entries[i].dtype, entries[i].rank, entries[i].shape, err))
			goto fail;
		out->count++;
		if (read_at(source, data_at + entries[i].begin, t->data, t->bytes, err))
			goto fail;
	}
	qsort(out->tensors, count, sizeof *out->tensors, by_name);
	return 0;
fail:
	safetensors_release(out);
	return -1;
}

static int
load(const struct source *source, struct safetensors *out, struct buf *err)
{
	uint64_t header_bytes;
	json_t *header = load_header(source, &header_bytes, err);
	struct entry *entries = NULL;
	size_t count;
	int result = -1;

	out->tensors = NULL;
	out->count = 0;
	if (!header)
		return -1;
	if (!json_is_object(header) || json_object_size(header) > SAFETENSORS_MAX_TENSORS + 1) {
		buf_err(err, "The header is not an object of at most %d tensors.", SAFETENSORS_MAX_TENSORS);
	} else {
		entries = xcalloc(json_object_size(header) + 1, sizeof *entries);
		if (!parse_entries(header, source->size - 8 - header_bytes, entries, &count, err))
			result = load_tensors(source, 8 + header_bytes, entries, count, out, err);
	}
	free(entries);
	json_decref(header);
	return result;
}

int
safetensors_parse(const void *bytes, size_t size, struct safetensors *out, struct buf *err)
{
	struct source source = { bytes ? bytes : "", -1, size };

	return load(&source, out, err);
}

int
safetensors_read(const char *path, uint64_t max_bytes, struct safetensors *out, struct buf *err)
{
	struct source source = { NULL, open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), 0 };
	struct buf why = BUF_INIT;
	struct stat status;
	int result = -1;

	out->tensors = NULL;
	out->count = 0;
	if (source.fd < 0 || fstat(source.fd, &status))
		buf_err(&why, "%s.", strerror(errno));
	else if (!S_ISREG(status.st_mode) || (uint64_t)status.st_size > max_bytes)
		buf_err(&why, "It is not a regular file of at most %" PRIu64 " bytes.", max_bytes);
	else {
		source.size = (uint64_t)status.st_size;
		result = load(&source, out, &why);
	}
	if (result)
		buf_err(err, "%s: %s", path, buf_str(&why));
	buf_release(&why);
	if (source.fd >= 0)
		close(source.fd);
	return result;
}

/* ---- writing */

static int
by_alignment_then_name(const void *a, const void *b)
{
	const struct tensor *x = *(const struct tensor *const *)a, *y = *(const struct tensor *const *)b;
	size_t x_bytes = dtype_bytes(x->dtype), y_bytes = dtype_bytes(y->dtype);

	if (x_bytes != y_bytes)
		return x_bytes > y_bytes ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int
by_pointed_name(const void *a, const void *b)
{
	return by_name(*(const struct tensor *const *)a, *(const struct tensor *const *)b);
}

static int
check_names(const struct tensor **sorted, size_t count, struct buf *err)
{
	if (count > SAFETENSORS_MAX_TENSORS)
		return buf_err(err, "%zu tensors are more than a file holds (%d).", count,
			SAFETENSORS_MAX_TENSORS);
	qsort(sorted, count, sizeof *sorted, by_pointed_name);
	for (size_t i = 0; i < count; i++) {
		if (strcmp(sorted[i]->name, "__metadata__") == 0)
			return buf_err(err, "A tensor cannot be named __metadata__.");
		if (i && strcmp(sorted[i - 1]->name, sorted[i]->name) == 0)
			return buf_err(err, "Two tensors are named '%s'.", sorted[i]->name);
	}
	return 0;
}

static int
add_entry(json_t *header, const struct tensor *t, uint64_t *at)
{
	json_t *shape = json_array();
	json_t *entry;

	for (int d = 0; d < t->rank; d++)
		json_array_append_new(shape, json_integer(t->shape[d]));
	entry = json_pack("{s:s, s:o, s:[I, I]}", "dtype", dtype_safetensors_name(t->dtype), "shape", shape,
		"data_offsets", (json_int_t)*at, (json_int_t)(*at + t->bytes));
	*at += t->bytes;
	/* json_object_set_new refuses names that are not UTF-8 */
	return json_object_set_new(header, t->name, entry);
}

/* Length and header, padded; `sorted` is left in the order of the data. */
static int
format_header(const struct tensor **sorted, size_t count, struct buf *out, struct buf *err)
{
	json_t *header;
	uint64_t at = 0, length;
	char *text;

	if (check_names(sorted, count, err))
		return -1;
	qsort(sorted, count, sizeof *sorted, by_alignment_then_name);
	header = json_object();
	for (size_t i = 0; i < count; i++)
		if (add_entry(header, sorted[i], &at)) {
			json_decref(header);
			return buf_err(err, "A tensor has a name that is not UTF-8.");
		}
	text = json_dumps(header, JSON_COMPACT);
	json_decref(header);
	if (!text)
		return buf_err(err, "The header cannot be written.");
	length = (strlen(text) + 7) / 8 * 8;
	for (int i = 0; i < 8; i++)
		buf_addc(out, (char)(length >> (8 * i)));
	buf_adds(out, text);
	for (uint64_t i = strlen(text); i < length; i++)
		buf_addc(out, ' ');
	free(text);
	return 0;
}

static const struct tensor **
pointers(const struct tensor *tensors, size_t count)
{
	const struct tensor **sorted = xcalloc(count + 1, sizeof *sorted);

	for (size_t i = 0; i < count; i++)
		sorted[i] = &tensors[i];
	return sorted;
}

int
safetensors_format(const struct tensor *tensors, size_t count, struct buf *out, struct buf *err)
{
	const struct tensor **sorted = pointers(tensors, count);
	int result = format_header(sorted, count, out, err);

	for (size_t i = 0; i < count && !result; i++)
		buf_add(out, sorted[i]->data, sorted[i]->bytes);
	free(sorted);
	return result;
}

int
safetensors_write(const char *path, const struct tensor *tensors, size_t count, struct buf *err)
{
	const struct tensor **sorted = pointers(tensors, count);
	struct buf header = BUF_INIT;
	int result = format_header(sorted, count, &header, err);
	struct io_out *out = result ? NULL : io_open_out(path, err);

	if (out) {
		io_write(out, header.data, header.len);
		for (size_t i = 0; i < count; i++)
			io_write(out, sorted[i]->data, sorted[i]->bytes);
		result = io_commit(out, err);
	} else
		result = -1;
	buf_release(&header);
	free(sorted);
	return result;
}

const struct tensor *
safetensors_find(const struct safetensors *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(s->tensors[i].name, name) == 0)
			return &s->tensors[i];
	return NULL;
}

void
safetensors_release(struct safetensors *s)
{
	for (size_t i = 0; i < s->count; i++)
		tensor_release(&s->tensors[i]);
	free(s->tensors);
	s->tensors = NULL;
	s->count = 0;
}
