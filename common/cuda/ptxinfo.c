/* A small reader of PTX: entries with their parameter layout, module variables, thread limits.
 *
 * In: PTX as nvcc wrote it, and the fatbin for what its kernels need. Out: tables. It does not understand instructions:
 * bodies are skipped by counting braces outside comments and strings, and everything it needs stands at module
 * level. Parameters are laid out in order, each at a multiple of its alignment, as the ABI says. */
#include <ctype.h>
#include <stdlib.h>

#include "base/die.h"
#include "base/num.h"
#include "cuda/cuda.h"
#include "cuda/fatbin.h"
#include "cuda/ptxinfo.h"

struct reader {
	const char *at, *end;
	struct buf *err;
	struct ptxinfo *info;
	uint64_t next_symbol;
	uint32_t kernel_room, symbol_room;
};

struct token {
	const char *text;
	size_t length;	/* 0: end of text */
};

static const struct { const char *name; uint32_t bytes; } scalar_types[] = {
	{ ".u64", 8 }, { ".s64", 8 }, { ".b64", 8 }, { ".f64", 8 }, { ".u32", 4 }, { ".s32", 4 }, { ".b32", 4 },
	{ ".f32", 4 }, { ".u16", 2 }, { ".s16", 2 }, { ".b16", 2 }, { ".f16", 2 }, { ".bf16", 2 }, { ".u8", 1 },
	{ ".s8", 1 }, { ".b8", 1 }, { ".f16x2", 4 }, { ".bf16x2", 4 }, { ".b128", 16 },
};

static void
skip_blanks(struct reader *r)
{
	while (r->at < r->end) {
		if (isspace((unsigned char)*r->at)) {
			r->at++;
		} else if (r->end - r->at > 1 && r->at[0] == '/' && r->at[1] == '/') {
			while (r->at < r->end && *r->at != '\n')
				r->at++;
		} else if (r->end - r->at > 1 && r->at[0] == '/' && r->at[1] == '*') {
			const char *close = memmem(r->at + 2, (size_t)(r->end - r->at - 2), "*/", 2);

			r->at = close ? close + 2 : r->end;
		} else {
			return;
		}
	}
}

static bool
is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.' || c == '%';
}

/* A word (directives and dotted names are one), a string, or a single punctuation character. */
static struct token
next_token(struct reader *r)
{
	struct token t = { r->at, 0 };

	skip_blanks(r);
	t.text = r->at;
	if (r->at == r->end)
		return t;
	if (*r->at == '"') {
		r->at++;
		while (r->at < r->end && *r->at != '"')
			r->at++;
		if (r->at < r->end)
			r->at++;
	} else if (is_word(*r->at)) {
		while (r->at < r->end && is_word(*r->at))
			r->at++;
	} else {
		r->at++;
	}
	t.length = (size_t)(r->at - t.text);
	return t;
}

static bool
token_is(struct token t, const char *text)
{
	return t.length == strlen(text) && !memcmp(t.text, text, t.length);
}

static int
token_number(struct token t, uint64_t max, uint64_t *out)
{
	char digits[24];

	if (!t.length || t.length >= sizeof digits)
		return -1;
	memcpy(digits, t.text, t.length);
	digits[t.length] = 0;
	return num_u64(digits, 0, max, out);
}

static uint32_t
type_bytes(struct token t)
{
	for (size_t i = 0; i < sizeof scalar_types / sizeof *scalar_types; i++)
		if (token_is(t, scalar_types[i].name))
			return scalar_types[i].bytes;
	return 0;
}

static const char *
keep_name(struct reader *r, struct token t)
{
	if (!t.length || t.length > PTXINFO_MAX_NAME || !is_word(*t.text)) {
		buf_err(r->err, "the PTX has a name that is empty, malformed or over %d characters", PTXINFO_MAX_NAME);
		return NULL;
	}
	return arena_strndup(&r->info->arena, t.text, t.length);
}

/* Past the block whose opening brace was read. */
static int
skip_block(struct reader *r)
{
	int depth = 1;

	while (depth) {
		struct token t = next_token(r);

		if (!t.length)
			return buf_err(r->err, "the PTX ends inside a block");
		depth += token_is(t, "{");
		depth -= token_is(t, "}");
	}
	return 0;
}

/* Past a declaration's semicolon, initialisers and all. */
static int
skip_statement(struct reader *r, struct token t)
{
	while (!token_is(t, ";")) {
		if (!t.length)
			return buf_err(r->err, "the PTX ends inside a declaration");
		t = next_token(r);
	}
	return 0;
}

/* ---- what a variable or a parameter says about itself: ".align 8 .b8 name[24]" */
struct declaration {
	const char *name;
	uint64_t alignment, element_bytes, bytes;
	bool array, managed;
};

static int
read_declaration(struct reader *r, struct token *t, struct declaration *d)
{
	uint64_t count;

	*d = (struct declaration){ .alignment = 0 };
	for (;; *t = next_token(r)) {
		if (token_is(*t, ".ptr")) {	/* says how the pointer is used, not how it is laid out */
			*t = next_token(r);
			if (!token_is(*t, ".align"))
				*t = next_token(r);
			*t = next_token(r);
			continue;
		}
		if (token_is(*t, ".attribute")) {	/* of those there is .managed, in parentheses */
			while (t->length && !token_is(*t, ")")) {
				d->managed |= token_is(*t, ".managed");
				*t = next_token(r);
			}
			continue;
		}
		if (token_is(*t, ".align")) {
			*t = next_token(r);
			if (token_number(*t, 1 << 16, &d->alignment) < 0 || !d->alignment ||
			    d->alignment & (d->alignment - 1))
				return buf_err(r->err, "the PTX has an alignment that is no power of two");
		} else if (type_bytes(*t)) {
			d->element_bytes = type_bytes(*t);
		} else if (!t->length || *t->text != '.') {
			break;
		}
	}
	if (!d->element_bytes || !(d->name = keep_name(r, *t)))
		return buf_err(r->err, "the PTX has a declaration without a known type");
	if (!d->alignment)
		d->alignment = d->element_bytes;
	d->bytes = d->element_bytes;
	*t = next_token(r);
	while (token_is(*t, "[")) {
		d->array = true;
		*t = next_token(r);
		if (token_is(*t, "]"))
			count = 0;
		else if (token_number(*t, CUDA_REGION_BYTES, &count) < 0 ||
		    (count && d->bytes > CUDA_REGION_BYTES / count) || (*t = next_token(r), !token_is(*t, "]")))
			return buf_err(r->err, "the PTX has an array %s of unreadable size", d->name);
		d->bytes *= count;
		*t = next_token(r);
	}
	return 0;
}

static void *
grown(struct reader *r, void *old, uint32_t count, uint32_t *room, size_t bytes)
{
	void *wide;

	if (count < *room)
		return old;
	*room = *room ? *room * 2 : 8;
	wide = arena_alloc(&r->info->arena, *room * bytes);
	if (count)
		memcpy(wide, old, count * bytes);
	return wide;
}

static int
read_parameters(struct reader *r, struct ptxinfo_kernel *k)
{
	uint32_t room = 0, at = 0;
	struct token t = next_token(r);

	while (!token_is(t, ")")) {
		struct declaration d;

		if (!token_is(t, ".param"))
			return buf_err(r->err, "kernel %s has an unreadable parameter list", k->name);
		t = next_token(r);
		if (read_declaration(r, &t, &d) < 0)
			return -1;
		at = (at + (uint32_t)d.alignment - 1) & ~((uint32_t)d.alignment - 1);
		if (k->parameters == PTXINFO_MAX_PARAMETERS || d.bytes > CUDA_MAX_PARAMETER_BYTES ||
		    at + d.bytes > CUDA_MAX_PARAMETER_BYTES)
			return buf_err(r->err, "kernel %s has more than %d bytes of parameters", k->name,
				CUDA_MAX_PARAMETER_BYTES);
		k->parameter = grown(r, k->parameter, k->parameters, &room, sizeof *k->parameter);
		k->parameter[k->parameters++] = (struct ptxinfo_parameter){ at, (uint32_t)d.bytes, d.array };
		at += (uint32_t)d.bytes;
		k->parameter_bytes = at;
		if (token_is(t, ","))
			t = next_token(r);
	}
	return 0;
}

/* ".maxntid 256, 1, 1" and its like: up to three numbers. Returns the token after them. */
static struct token
read_three(struct reader *r, uint32_t out[3])
{
	struct token t = next_token(r);

	out[0] = out[1] = out[2] = 1;
	for (int i = 0; i < 3; i++) {
		uint64_t value;

		if (token_number(t, UINT32_MAX, &value) < 0)
			break;
		out[i] = (uint32_t)value;
		t = next_token(r);
		if (!token_is(t, ","))
			break;
		t = next_token(r);
	}
	return t;
}

static uint32_t
product(const uint32_t n[3])
{
	uint64_t all = n[0] > 1024 || n[1] > 1024 || n[2] > 1024 ? 1024 : (uint64_t)n[0] * n[1] * n[2];

	return all > 1024 ? 1024 : (uint32_t)all;
}

static int
read_entry(struct reader *r)
{
	struct ptxinfo *info = r->info;
	struct ptxinfo_kernel k = { .max_threads = 1024 };
	struct token t = next_token(r);
	uint32_t three[3];

	if (info->kernels == PTXINFO_MAX_KERNELS)
		return buf_err(r->err, "the PTX has more than %d kernels", PTXINFO_MAX_KERNELS);
	if (!(k.name = keep_name(r, t)))
		return -1;
	t = next_token(r);
	if (token_is(t, "(")) {
		if (read_parameters(r, &k) < 0)
			return -1;
		t = next_token(r);
	}
	while (t.length && !token_is(t, "{") && !token_is(t, ";")) {
		if (token_is(t, ".maxntid")) {
			t = read_three(r, three);
			k.max_threads = product(three);
		} else if (token_is(t, ".reqntid")) {
			t = read_three(r, k.required_block);
			k.max_threads = product(k.required_block);
		} else if (token_is(t, ".reqnctapercluster")) {
			t = read_three(r, k.required_cluster);
		} else {
			t = next_token(r);
		}
	}
	if (token_is(t, "{") && skip_block(r) < 0)
		return -1;
	info->kernel = grown(r, info->kernel, info->kernels, &r->kernel_room, sizeof k);
	info->kernel[info->kernels++] = k;
	return 0;
}

/* Each variable gets granules of its own, so that running off its end leaves the mapping on a GPU's map too. */
static int
read_symbol(struct reader *r, bool constant)
{
	struct ptxinfo *info = r->info;
	struct token t = next_token(r);
	struct declaration d;
	uint64_t slot;

	if (read_declaration(r, &t, &d) < 0 || skip_statement(r, t) < 0)
		return -1;
	if (info->symbols == PTXINFO_MAX_SYMBOLS)
		return buf_err(r->err, "the PTX has more than %d variables", PTXINFO_MAX_SYMBOLS);
	slot = (d.bytes + 2 * CUDA_GRANULE - 1) & ~(CUDA_GRANULE - 1);
	if (d.alignment > CUDA_GRANULE || slot > CUDA_SYMBOLS + CUDA_REGION_BYTES - r->next_symbol)
		return buf_err(r->err, "the PTX has more than %llu bytes of variables", (unsigned long long)CUDA_REGION_BYTES);
	info->symbol = grown(r, info->symbol, info->symbols, &r->symbol_room, sizeof *info->symbol);
	info->symbol[info->symbols++] = (struct ptxinfo_symbol){ d.name, r->next_symbol, d.bytes, (uint32_t)d.alignment,
		constant, d.managed };
	r->next_symbol += slot;
	return 0;
}

static int
read_module(struct reader *r)
{
	bool external = false;

	for (;;) {
		struct token t = next_token(r);

		if (!t.length)
			return 0;
		if (token_is(t, ".extern")) {
			external = true;
			continue;
		}
		if (token_is(t, ".entry") ? read_entry(r) < 0 :
		    (token_is(t, ".global") || token_is(t, ".const")) && !external ?
			read_symbol(r, token_is(t, ".const")) < 0 :
		    token_is(t, "{") ? skip_block(r) < 0 : false)
			return -1;
		if (*t.text != '.' || token_is(t, ".entry") || token_is(t, ".func"))
			external = false;
	}
}

static int
compare_kernels(const void *a, const void *b)
{
	return strcmp(((const struct ptxinfo_kernel *)a)->name, ((const struct ptxinfo_kernel *)b)->name);
}

struct ptxinfo *
ptxinfo_read(const char *ptx, size_t ptx_bytes, const void *fatbin, size_t fatbin_bytes, struct buf *err)
{
	struct ptxinfo *info = xcalloc(1, sizeof *info);
	struct reader r = { ptx, ptx + ptx_bytes, err, info, CUDA_SYMBOLS, 0, 0 };
	uint32_t constant_bytes = 0;

	if (ptx_bytes > PTXINFO_MAX_BYTES || fatbin_bytes > PTXINFO_MAX_BYTES) {
		buf_err(err, "the device code is over %d MiB", PTXINFO_MAX_BYTES >> 20);
		goto fail;
	}
	if (read_module(&r) < 0)
		goto fail;
	if (info->kernels)
		qsort(info->kernel, info->kernels, sizeof *info->kernel, compare_kernels);
	for (uint32_t i = 1; i < info->kernels; i++)
		if (!strcmp(info->kernel[i - 1].name, info->kernel[i].name)) {
			buf_err(err, "the PTX defines kernel %s twice", info->kernel[i].name);
			goto fail;
		}
	for (uint32_t i = 0; i < info->symbols; i++)
		constant_bytes += info->symbol[i].constant ? (uint32_t)info->symbol[i].bytes : 0;
	for (uint32_t i = 0; i < info->kernels; i++)
		info->kernel[i].constant_bytes = constant_bytes;
	if (fatbin && fatbin_resources(fatbin, fatbin_bytes, info, err) < 0)
		goto fail;
	return info;
fail:
	ptxinfo_free(info);
	return NULL;
}

void
ptxinfo_free(struct ptxinfo *info)
{
	if (!info)
		return;
	arena_release(&info->arena);
	free(info);
}

const struct ptxinfo_kernel *
ptxinfo_kernel(const struct ptxinfo *info, const char *name)
{
	struct ptxinfo_kernel key = { .name = name };

	return info->kernels ? bsearch(&key, info->kernel, info->kernels, sizeof key, compare_kernels) : NULL;
}

const struct ptxinfo_symbol *
ptxinfo_symbol(const struct ptxinfo *info, const char *name)
{
	for (uint32_t i = 0; i < info->symbols; i++)
		if (!strcmp(info->symbol[i].name, name))
			return &info->symbol[i];
	return NULL;
}
