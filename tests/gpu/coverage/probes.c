/* In: the instruction table as ptx_list_instructions writes it. Out: probes for every row. Here: which
 * spellings of a row's modifiers are tried, and the values of operands. The hard idea: a row's pattern is a
 * product of alternatives; products beyond MAX_PRODUCT are cut by taking all pairs of their two longest items
 * and letting the others rotate. */
#include "make.h"

#include <string.h>

#include "base/die.h"
#include "ptx/ptx.h"

enum { MAX_PRODUCT = 700, MAX_ITEMS = 24, MAX_ALTERNATIVES = 32 };

static struct table_row *rows;
static size_t n_rows;

/* ---- the table */

static char *
field_of(char **at)
{
	char *start = *at;
	start[strcspn(start, "\t\n")] ? (*at = start + strcspn(start, "\t\n") + 1, start[strcspn(start, "\t\n")] = 0)
		: (*at = start + strlen(start), 0);
	return start;
}

static void
read_table(void)
{
	struct buf list = BUF_INIT;
	if (rows)
		return;
	ptx_list_instructions(&list);
	for (size_t k = 0; k < list.len; k++)
		n_rows += list.data[k] == '\n';
	rows = xcalloc(n_rows + 1, sizeof *rows);
	char *text = buf_detach(&list), *at = text;
	for (size_t k = 0; k < n_rows; k++) {
		struct table_row *r = &rows[k];
		char *end = strchr(at, '\n');
		struct buf words = BUF_INIT;
		*end = 0;
		r->opcode = field_of(&at);
		r->pattern = field_of(&at);
		r->operands = field_of(&at);
		r->types = field_of(&at);
		buf_addf(&words, "%s %s", r->opcode, r->pattern);
		r->text = buf_detach(&words);
		at = end + 1;
	}
}

size_t
probe_row_count(void)
{
	read_table();
	return n_rows;
}

const char *
probe_row_text(size_t row)
{
	return rows[row].text;
}

const char *
probe_row_types(size_t row)
{
	return rows[row].types;
}

/* ---- types */

static const struct operand_type operand_types[] = {
	{ "u8", 8, 'u' }, { "s8", 8, 's' }, { "b8", 8, 'b' }, { "u16", 16, 'u' }, { "s16", 16, 's' }, { "b16", 16, 'b' },
	{ "u32", 32, 'u' }, { "s32", 32, 's' }, { "b32", 32, 'b' }, { "u64", 64, 'u' }, { "s64", 64, 's' }, { "b64", 64, 'b' },
	{ "f32", 32, 'f' }, { "f64", 64, 'f' }, { "f16", 16, 'h' }, { "f16x2", 32, 'H' }, { "bf16", 16, 'w' }, { "bf16x2", 32, 'W' },
	{ "tf32", 32, 'f' }, { "e4m3x2", 16, 'b' }, { "e5m2x2", 16, 'b' }, { "pred", 1, 'p' }, { "count", 32, 'c' },
	{ "u16x2", 32, 'b' }, { "s16x2", 32, 'b' }, { "b128", 128, 'b' },
};

const struct operand_type *
operand_type_find(const char *name)
{
	for (size_t k = 0; k < sizeof operand_types / sizeof *operand_types; k++)
		if (!strcmp(operand_types[k].name, name))
			return &operand_types[k];
	return NULL;
}

bool
spelling_has(const struct spelling *s, const char *word)
{
	for (unsigned k = 0; k < s->n_words; k++)
		if (!strcmp(s->words[k], word))
			return true;
	return false;
}

void
spelling_init(struct spelling *s, size_t index, const struct table_row *row, const char *text)
{
	const char *at = strchr(text, '.');
	memset(s, 0, sizeof *s);
	s->index = index;
	s->row = row;
	snprintf(s->text, sizeof s->text, "%s", text);
	while (at && *at && s->n_words < MAX_WORDS) {
		size_t length = 1 + strcspn(at + 1, ".");
		snprintf(s->words[s->n_words], sizeof s->words[0], "%.*s", (int)length, at);
		const struct operand_type *t = operand_type_find(s->words[s->n_words] + 1);
		if (t && s->n_types < 6)
			s->types[s->n_types++] = t;
		s->n_words++;
		at += length;
	}
}

/* ---- spellings of a pattern */

struct item {
	const char *at[MAX_ALTERNATIVES];
	size_t length[MAX_ALTERNATIVES];
	unsigned count;
};

static void
add_alternatives(struct item *item, const char *p, size_t length, char separator)
{
	for (size_t start = 0; start < length && item->count < MAX_ALTERNATIVES;) {
		const char *bar = memchr(p + start, separator, length - start);
		size_t end = bar ? (size_t)(bar - p) : length;
		item->at[item->count] = p + start;
		item->length[item->count++] = end - start;
		start = end + 1;
	}
}

static unsigned
pattern_items(const struct table_row *row, struct item *items)
{
	unsigned n = 0;
	for (const char *p = row->pattern; *p && n < MAX_ITEMS;) {
		size_t length = strcspn(p, " ");
		struct item *item = &items[n];
		memset(item, 0, sizeof *item);
		bool optional = length && p[length - 1] == '?';
		if (length == 1 && *p == 'T')
			add_alternatives(item, row->types, strlen(row->types), ' ');
		else if (length)
			add_alternatives(item, p, length - optional, '|');
		if (optional)
			item->length[item->count++] = 0;
		n += length > 0;
		p += length;
		p += strspn(p, " ");
	}
	return n;
}

/* Comparisons and flushes that a type does not have */
static bool
makes_sense(const struct spelling *s)
{
	const char *op = s->row->opcode;
	if (!strncmp(s->text, "red.async", 9))
		return spelling_has(s, ".relaxed") && spelling_has(s, ".cluster");
	/* of video instructions with a second operation those whose types are one */
	if (*op == 'v' && (spelling_has(s, ".add") || spelling_has(s, ".min") || spelling_has(s, ".max")))
		return s->types[0] == s->types[1] && (s->n_types < 3 || !s->types[2] || s->types[0] == s->types[2]);
	if (strcmp(op, "setp") && strcmp(op, "set") && strcmp(op, "slct"))
		return true;
	const struct operand_type *t = s->n_types ? s->types[s->n_types - 1] : NULL;
	bool real = t && strchr("fhHwW", t->class);
	if (!t)
		return false;
	if (spelling_has(s, ".ftz") && (!real || t->bits == 64 || t->class == 'w' || t->class == 'W'))
		return false;
	if (*op == 's' && op[1] == 'l')
		return true;
	static const char *const unsigned_only[] = { ".lo", ".ls", ".hi", ".hs" };
	static const char *const real_only[] = { ".equ", ".neu", ".ltu", ".leu", ".gtu", ".geu", ".num", ".nan" };
	for (unsigned k = 0; k < 4; k++)
		if (spelling_has(s, unsigned_only[k]) && t->class != 'u')
			return false;
	for (unsigned k = 0; k < 8; k++)
		if (spelling_has(s, real_only[k]) && !real)
			return false;
	return t->class != 'b' || spelling_has(s, ".eq") || spelling_has(s, ".ne");
}

static void
spell(struct spelling *s, size_t index, const struct item *items, unsigned n, const unsigned *choice)
{
	struct buf text = BUF_INIT;
	buf_adds(&text, rows[index].opcode);
	for (unsigned k = 0; k < n; k++) {
		const struct item *item = &items[k];
		size_t length = item->length[choice[k]];
		if (length && *item->at[choice[k]] != '.')
			buf_addc(&text, '.');
		buf_add(&text, item->at[choice[k]], length);
	}
	spelling_init(s, index, &rows[index], buf_str(&text));
	buf_release(&text);
}

static void
visit_spelling(struct maker *m, const struct spelling *s)
{
	if (!async_probe(m, s) && !cluster_probe(m, s) && !memory_probe(m, s) && !register_probe(m, s) && !warp_probe(m, s)
		&& !matrix_probe(m, s) && !video_probe(m, s))
		control_probe(m, s);
}

static void
all_spellings(struct maker *m, size_t index, const struct item *items, unsigned n, size_t product)
{
	struct spelling s;
	for (size_t k = 0; k < product; k++) {
		unsigned choice[MAX_ITEMS];
		size_t rest = k;
		for (unsigned i = 0; i < n; i++) {
			choice[i] = (unsigned)(rest % items[i].count);
			rest /= items[i].count;
		}
		spell(&s, index, items, n, choice);
		if (makes_sense(&s))
			visit_spelling(m, &s);
	}
}

static void
longest_pair(const struct item *items, unsigned n, unsigned *first, unsigned *second)
{
	*first = *second = 0;
	for (unsigned k = 1; k < n; k++)
		if (items[k].count > items[*first].count)
			*first = k;
	*second = *first ? 0 : 1;
	for (unsigned k = 0; k < n; k++)
		if (k != *first && items[k].count > items[*second].count)
			*second = k;
}

static void
rotating_spellings(struct maker *m, size_t index, const struct item *items, unsigned n)
{
	unsigned first, second, turn = 0, choice[MAX_ITEMS];
	struct spelling s;
	longest_pair(items, n, &first, &second);
	for (unsigned a = 0; a < items[first].count; a++)
		for (unsigned b = 0; b < items[second].count; b++, turn++)
			for (unsigned attempt = 0; attempt < 24; attempt++) {
				for (unsigned k = 0; k < n; k++)
					choice[k] = (unsigned)(mix(turn * 64u + k + attempt * 4096u) % items[k].count);
				choice[first] = a;
				choice[second] = b;
				spell(&s, index, items, n, choice);
				if (makes_sense(&s)) {
					visit_spelling(m, &s);
					break;
				}
			}
}

static void
row_probes(struct maker *m, size_t index)
{
	struct item items[MAX_ITEMS];
	if (memory_row(m, index, &rows[index]))
		return;
	unsigned n = pattern_items(&rows[index], items);
	size_t product = 1;
	for (unsigned k = 0; k < n && product <= MAX_PRODUCT; k++)
		product *= items[k].count;
	if (product <= MAX_PRODUCT)
		all_spellings(m, index, items, n, product);
	else
		rotating_spellings(m, index, items, n);
}

void
probes_each(probe_visit *visit, void *context)
{
	struct maker m = { .visit = visit, .context = context };
	read_table();
	for (size_t k = 0; k < n_rows; k++)
		row_probes(&m, k);
	buf_release(&m.probe.text);
	buf_release(&m.probe.in);
}

/* ---- values */

uint64_t
mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static const uint64_t integers[] = { 0, 1, 2, 3, 7, 8, 31, 32, 33, 63, 64, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x10000,
	0x12345678, 0x7fffff, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff, 0x100000000, 0x123456789abcdef0,
	0x7fffffffffffffff, 0x8000000000000000, 0x8000000000000001, 0xfffffffffffffffe, 0xffffffffffffffff };
static const uint64_t counts[] = { 0, 1, 5, 8, 15, 16, 17, 24, 31, 32, 33, 40, 63, 64, 65, 127, 128, 255, 256, 257, 0x7fffffff,
	0x80000000, 0xffffffff };
/* zeros, ones, ties, denormals, limits, infinities, NaNs quiet and signalling, values around integer limits */
static const uint64_t floats[] = { 0, 0x80000000, 0x3f800000, 0xbf800000, 0x3f000000, 0x3fc00000, 0x40200000, 0xc0200000,
	0x3effffff, 0x3f7fffff, 0x3f800001, 0x3f801000, 0x40490fdb, 0xc2c80000, 1, 0x80000001, 0x7fffff, 0x807fffff, 0x800000,
	0x80800000, 0x33800000, 0x38800000, 0x387fc000, 0x477fe000, 0x477ff000, 0x4b000001, 0x4effffff, 0x4f000000, 0xcf000000,
	0x4f800000, 0x5f000000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x7f800001 };
static const uint64_t doubles[] = { 0, 0x8000000000000000, 0x3ff0000000000000, 0xbff0000000000000, 0x3fe0000000000000,
	0x4004000000000000, 0x3fefffffffffffff, 0x3ff0000000000001, 0x3ff0010000000001, 0x400921fb54442d18, 1, 0x8000000000000001,
	0x000fffffffffffff, 0x0010000000000000, 0x8010000000000000, 0x41dfffffffc00000, 0x41e0000000000000, 0xc1e0000000200000,
	0x43dfffffffffffff, 0x43e0000000000000, 0x43f0000000000000, 0x47efffffe0000000, 0x47effffff0000000, 0x36a0000000000000,
	0x3690000000000001, 0x40effc0000000000, 0x40f0000000000000, 0x3e70000000000000, 0x3e60000000000001, 0x7fefffffffffffff,
	0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0xfff8000012345678, 0x7ff0000000000001 };
static const uint64_t halves[] = { 0, 0x8000, 0x3c00, 0xbc00, 0x3c01, 0x3bff, 1, 0x8001, 0x3ff, 0x400, 0x401, 0x8400,
	0x7bff, 0xfbff,
	0x7c00, 0xfc00, 0x7e00, 0xfe12, 0x7c01, 0x3555, 0x4248, 0x6bff, 0x1400, 0x1401, 0x0c00, 0x5bff, 0xc500, 0x6400 };
static const uint64_t bfloats[] = { 0, 0x8000, 0x3f80, 0xbf80, 0x3f81, 0x3f7f, 1, 0x8001, 0x7f, 0x80, 0x8080, 0x4049,
	0x3eab, 0x3b80,
	0x3b81, 0x4380, 0x4381, 0xc2c9, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0, 0xffd2, 0x7f81, 0x5000, 0x2f01, 0x40e0, 0x4214,
		0xa180 };

struct edges {
	const uint64_t *values;
	unsigned count;
};
#define EDGES(array) (struct edges){ array, sizeof array / sizeof *array }

static struct edges
edges_of(const struct operand_type *type)
{
	switch (type->class) {
	case 'f': return type->bits == 64 ? EDGES(doubles) : EDGES(floats);
	case 'h': case 'H': return EDGES(halves);
	case 'w': case 'W': return EDGES(bfloats);
	case 'c': return EDGES(counts);
	default: return EDGES(integers);
	}
}

static uint64_t
edge(const struct operand_type *type, unsigned pick)
{
	struct edges e = edges_of(type);
	uint64_t v = e.values[pick % e.count];
	if (type->class == 'H' || type->class == 'W')
		v |= e.values[(pick * 7 + 3) % e.count] << 16;
	return v;
}

/* Numbers of like magnitude, so that sums and differences have something to round */
static uint64_t
moderate(const struct operand_type *type, uint64_t r)
{
	switch (type->class) {
	case 'f':
		return type->bits == 64 ? (r & 0x800fffffffffffff) | (1015 + (r >> 52 & 15)) << 52
			: (r & 0x807fffff) | (119 + (r >> 40 & 15)) << 23;
	case 'h': case 'H':
		return (r & 0x83ff83ff) | (11 + (r >> 40 & 7)) << 10 | (11 + (r >> 44 & 7)) << 26;
	case 'w': case 'W':
		return (r & 0x807f807f) | (123 + (r >> 40 & 7)) << 7 | (123 + (r >> 44 & 7)) << 23;
	case 'c':
		return r % 70;
	default:
		return r & 1 ? (uint64_t)((int64_t)(r >> 8 & 511) - 256) : 1ull << (r >> 8 & 63);
	}
}

static uint64_t
operand_value(unsigned k, unsigned n, const struct operand_type *const *types, unsigned t)
{
	const struct operand_type *type = types[k];
	uint64_t r = mix(t * 8u + k);
	if (n == 1 && t < edges_of(type).count * (type->bits == 32 && type->class != 'f' ? 3u : 1u))
		return edge(type, t);
	if (n == 2 && t < 1400) {
		unsigned first = edges_of(types[0]).count;
		return edge(type, k ? t / first : t % first);
	}
	if (n > 2 && t < THREADS / 2)
		return edge(type, (unsigned)(r >> 20));
	switch (t & 3) {
	case 0:
		return r >> 32 | r << 32;
	case 1:
		return moderate(type, r);
	case 2:			/* near the first operand, or its opposite */
		return k && type == types[0] ? (operand_value(0, n, types, t) + (r & 3)) ^ (r & 4 ? 1ull << (type->bits - 1) : 0)
			: moderate(type, r);
	default:
		return r & 1024 ? edge(type, (unsigned)(r >> 20)) : moderate(type, r);
	}
}

void
make_values(struct maker *m, unsigned k, unsigned n, const struct operand_type *const *types)
{
	for (unsigned t = 0; t < THREADS; t++) {
		uint64_t v = operand_value(k, n, types, t);
		unsigned bits = types[k]->bits == 1 ? 1 : types[k]->bits < 32 ? types[k]->bits == 8 ? 32 : 16 : types[k]->bits;
		if (bits < 64)
			v &= (1ull << bits) - 1;
		buf_add(&m->probe.in, &v, 8);
	}
}

void
make_input(struct maker *m, const void *bytes, size_t count)
{
	buf_add(&m->probe.in, bytes, count);
}

/* ---- PTX text */

void
make_text(struct maker *m, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	buf_vaddf(&m->probe.text, format, args);
	va_end(args);
}

void
make_begin(struct maker *m, const struct spelling *s, const char *variant, uint32_t threads)
{
	struct probe *p = &m->probe;
	struct buf text = p->text, in = p->in;
	buf_reset(&text);
	buf_reset(&in);
	*p = (struct probe){ .row = s->index, .text = text, .in = in };
	snprintf(p->name, sizeof p->name, "%s%s%.24s", s->text, variant ? "/" : "", variant ? variant : "");
	m->slots = 0;
	m->threads = threads;
	p->block = threads < BLOCK ? threads : BLOCK;
	p->grid = threads / p->block;
	for (unsigned k = 0; k < s->n_types; k++)	/* the type that the row's list names */
		if (!*p->type || strstr(s->row->types, s->types[k]->name))
			snprintf(p->type, sizeof p->type, "%s", s->types[k]->name);
}

static void
make_prologue(struct maker *m, struct buf *out)
{
	buf_addf(out, ".version %s\n.target %s\n.address_size 64\n.const .align 16 .b32 table[64] = {", m->version ? m->version
		: "8.6",
		m->target ? m->target : "sm_90");
	for (unsigned k = 0; k < 64; k++)
		buf_addf(out, "%s%u", k ? "," : "", (unsigned)(mix(k) >> 32));
	buf_adds(out, "};\n.global .align 16 .b8 cell[16];\n");
	if (strstr(buf_str(&m->probe.text), "callee"))
		buf_adds(out, ".func (.param .b32 d) callee(.param .b32 a)\n{\n\t.reg .b32 %x;\n\tld.param.b32 %x, [a];\n"
			"\tmad.lo.u32 %x, %x, 3, 5;\n\tst.param.b32 [d], %x;\n\tret;\n}\n");
	buf_addf(out, ".visible .entry probe(.param .u64 pin, .param .u64 pout, .param .align 16 .b8 pblock[256])\n"
		".maxntid %u, 1, 1\n", m->probe.block);
	buf_adds(out, "{\n\t.reg .b64 %q<60>, %in, %out;\n\t.reg .b32 %r<200>, %t, %lane;\n"
		"\t.reg .b16 %h<40>;\n\t.reg .pred %p<30>;\n");
	if (strstr(buf_str(&m->probe.text), "space"))
		buf_adds(out, "\t.shared .align 128 .b8 space[16384];\n");
	if (strstr(buf_str(&m->probe.text), "stack"))
		buf_adds(out, "\t.local .align 16 .b8 stack[64];\n");
	buf_adds(out, "\tld.param.u64 %in, [pin];\n\tld.param.u64 %out, [pout];\n\tmov.u32 %r0, %ctaid.x;\n\tmov.u32 %r1, %ntid.x;\n"
		"\tmov.u32 %t, %tid.x;\n\tmad.lo.u32 %t, %r0, %r1, %t;\n\tmov.u32 %lane, %laneid;\n"
		"\tcvta.to.global.u64 %in, %in;\n\tcvta.to.global.u64 %out, %out;\n");
	buf_adds(out, "\tmul.wide.u32 %q0, %t, 8;\n\tadd.u64 %in, %in, %q0;\n\tadd.u64 %out, %out, %q0;\n");
}

void
make_load(struct maker *m, unsigned k, const struct operand_type *type, unsigned reg)
{
	unsigned at = k * m->threads * 8;
	if (type->class == 'p')
		make_text(m, "\tld.global.u32 %%r9, [%%in+%u];\n\tand.b32 %%r9, %%r9, 1;\n\tsetp.ne.u32 %%p%u, %%r9, 0;\n", at, reg);
	else
		make_text(m, "\tld.global.b%u %%%c%u, [%%in+%u];\n", type->bits == 8 ? 32 : type->bits,
			type->bits == 64 ? 'q' : type->bits == 16 ? 'h' : 'r', reg, at);
}

void
make_store(struct maker *m, unsigned bits, const char *reg)
{
	unsigned at = m->slots++ * m->threads * 8;
	if (bits == 1)
		make_text(m, "\tselp.b32 %%r9, 1, 0, %s;\n\tst.global.b32 [%%out+%u], %%r9;\n", reg, at);
	else
		make_text(m, "\tst.global.b%u [%%out+%u], %s;\n", bits, at, reg);
}

void
make_end(struct maker *m)
{
	struct buf whole = BUF_INIT;
	make_prologue(m, &whole);
	buf_add(&whole, m->probe.text.data, m->probe.text.len);
	buf_adds(&whole, "\tret;\n}\n");
	buf_release(&m->probe.text);
	m->probe.text = whole;
	m->probe.out_bytes = m->slots * m->threads * 8;
	m->visit(&m->probe, m->context);
	m->version = m->target = NULL;
}
