/* Probes of memory instructions. In: the rows ld, st, ldu, atom, red, whose modifiers multiply to too many
 * spellings, so that the ones to try are listed here: every type in every space and vector, every order and
 * scope, every hint. Out: kernels whose final memory does not depend on timing: each thread has a place of its
 * own, and shared places see only operations that commute. */
#include "make.h"

#include <string.h>

static const char *const memory_types[] = { "b8", "u8", "s8", "b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64",
	"s64",
	"f64", "b128" };

static char
letter(unsigned bits)
{
	return bits == 64 ? 'q' : bits == 16 ? 'h' : 'r';
}

/* 32 bytes for each thread; operand k supplies bytes 8k.. */
static void
four_operands(struct maker *m)
{
	const struct operand_type *b64 = operand_type_find("b64");
	const struct operand_type *types[] = { b64, b64, b64, b64 };
	for (unsigned k = 0; k < 4; k++) {
		make_values(m, k, 4, types);
		make_load(m, k, b64, 1 + k);
	}
}

/* The address of the thread's 32 bytes in the space, in %q10, and those bytes filled from %q1..%q4 */
static void
place(struct maker *m, const char *space)
{
	if (!strcmp(space, "local"))
		make_text(m, "\tmov.u64 %%q10, stack;\n");
	else if (!strncmp(space, "shared", 6))
		make_text(m, "\tmov.u32 %%r30, %%tid.x;\n\tmov.u64 %%q10, space;\n\tmul.wide.u32 %%q11, %%r30, 32;\n"
			"\tadd.u64 %%q10, %%q10, %%q11;\n");
	else if (!strcmp(space, "const"))
		make_text(m, "\tmov.u64 %%q10, table;\n\tand.b32 %%r30, %%t, 7;\n\tmul.wide.u32 %%q11, %%r30, 32;\n"
			"\tadd.u64 %%q10, %%q10, %%q11;\n");
	else	/* the out area behind the results: 32 bytes each */
		make_text(m, "\tld.param.u64 %%q10, [pout];\n\tmul.wide.u32 %%q11, %%t, 32;\n\tadd.u64 %%q10, %%q10, %%q11;\n"
			"\tcvta.to.global.u64 %%q10, %%q10;\n\tadd.u64 %%q10, %%q10, %u;\n", SLOT * 4);
}

static void
fill(struct maker *m, const char *space)
{
	const char *real = *space ? space : "global";
	for (unsigned k = 0; k < 4; k++)
		make_text(m, "\tst.%s.u64 [%%q10+%u], %%q%u;\n", real, 8 * k, 1 + k);
}

/* A generic address of a space is that of the global window only after cvta. */
static void
vector_operand(struct maker *m, unsigned vector, unsigned bits, unsigned reg)
{
	make_text(m, vector > 1 ? "{" : "");
	for (unsigned k = 0; k < vector; k++)
		make_text(m, "%s%%%c%u", k ? ", " : "", letter(bits), reg + k);
	make_text(m, vector > 1 ? "}" : "");
}

static void
load_probe(struct maker *m, const struct spelling *s)
{
	const struct operand_type *type = s->types[0];
	static const char *const spaces[] = { "global", "shared", "local", "const", "param" };
	unsigned vector = spelling_has(s, ".v2") ? 2 : spelling_has(s, ".v4") ? 4 : spelling_has(s, ".v8") ? 8 : 1;
	unsigned bits = type->bits < 32 && type->bits != 16 ? 32 : type->bits;
	const char *space = "";
	for (size_t k = 0; k < s->n_words; k++)
		for (size_t q = 0; q < 5; q++)
			if (!strncmp(s->words[k] + 1, spaces[q], strlen(spaces[q])))
				space = spaces[q];
	make_begin(m, s, NULL, THREADS);
	four_operands(m);
	if (strcmp(space, "param")) {
		place(m, space);
		if (strcmp(space, "const"))
			fill(m, space);
		if (!strcmp(s->row->opcode, "ldu") || spelling_has(s, ".nc"))	/* memory that nobody writes */
			make_text(m, "\tld.param.u64 %%q10, [pin];\n\tmul.wide.u32 %%q11, %%t, 32;\n\tadd.u64 %%q10, %%q10, %%q11;\n"
				"\tcvta.to.global.u64 %%q10, %%q10;\n");
		if (!*space)
			make_text(m, "\tcvta.global.u64 %%q10, %%q10;\n");
	}
	if (bits == 128) {
		make_text(m, "\t.reg .b128 %%z<2>;\n\t%s %%z0, [%s];\n\tmov.b128 {%%q30, %%q31}, %%z0;\n", s->text,
			strcmp(space, "param") ? "%q10" : "pblock+16");
		make_store(m, 64, "%q30");
		make_store(m, 64, "%q31");
	} else {
		make_text(m, "\t%s ", s->text);
		vector_operand(m, vector, bits, bits == 16 ? 20 : 30);
		make_text(m, strcmp(space, "param") ? ", [%%q10];\n" : ", [pblock+32];\n");
		for (unsigned k = 0; k < vector; k++) {
			char reg[16];
			snprintf(reg, sizeof reg, "%%%c%u", letter(bits), (bits == 16 ? 20 : 30) + k);
			make_store(m, bits, reg);
		}
	}
	/* room for the threads' places: the results come first, at most four of them unless the load is wider */
	m->slots = m->slots < 4 ? 4 : m->slots;
	m->slots += 4;
	make_end(m);
}

static void
store_probe(struct maker *m, const struct spelling *s)
{
	const struct operand_type *type = s->types[0];
	unsigned vector = spelling_has(s, ".v2") ? 2 : spelling_has(s, ".v4") ? 4 : 1;
	unsigned bits = type->bits < 32 && type->bits != 16 ? 32 : type->bits;
	const char *space = spelling_has(s, ".shared") || spelling_has(s, ".shared::cta") ? "shared"
		: spelling_has(s, ".local") ? "local" : spelling_has(s, ".global") ? "global" : "";
	make_begin(m, s, NULL, THREADS);
	four_operands(m);
	place(m, space);
	if (*space && strcmp(space, "global"))
		for (unsigned k = 0; k < 4; k++)
			make_text(m, "\tst.%s.u64 [%%q10+%u], 0;\n", space, 8 * k);
	make_text(m, "\tmov.b64 {%%r30, %%r31}, %%q1;\n\tmov.b64 {%%r32, %%r33}, %%q2;\n"
		"\tmov.b64 {%%h20, %%h21, %%h22, %%h23}, %%q3;\n"
		"\tmov.u64 %%q30, %%q1;\n\tmov.u64 %%q31, %%q2;\n\tmov.u64 %%q32, %%q3;\n\tmov.u64 %%q33, %%q4;\n"
			"\tmov.u64 %%q12, %%q10;\n");
	if (!*space)
		make_text(m, "\tcvta.global.u64 %%q12, %%q10;\n");
	if (bits == 128) {
		make_text(m, "\t.reg .b128 %%z<2>;\n\tmov.b128 %%z0, {%%q30, %%q31};\n\t%s [%%q12], %%z0;\n", s->text);
	} else {
		make_text(m, "\t%s [%%q12], ", s->text);
		vector_operand(m, vector, bits, bits == 16 ? 20 : 30);
		make_text(m, ";\n");
	}
	for (unsigned k = 0; k < 4; k++) {
		make_text(m, "\tld.%s.u64 %%q40, [%%q10+%u];\n", *space ? space : "global", 8 * k);
		make_store(m, 64, "%q40");
	}
	m->slots += 4;
	make_end(m);
}

static void
one_access(struct maker *m, size_t index, const struct table_row *row, const char *words, const char *vector, const char *type)
{
	struct spelling s;
	char text[100];
	snprintf(text, sizeof text, "%s%s%s.%s", row->opcode, words, vector, type);
	spelling_init(&s, index, row, text);
	if (!strcmp(row->opcode, "st"))
		store_probe(m, &s);
	else
		load_probe(m, &s);
}

static void
accesses(struct maker *m, size_t index, const struct table_row *row)
{
	static const char *const load_spaces[] = { "", ".global", ".shared", ".shared::cta", ".local", ".const", ".param", NULL };
	static const char *const store_spaces[] = { "", ".global", ".shared", ".shared::cta", ".local", NULL };
	static const char *const ldu_spaces[] = { ".global", NULL };
	static const char *const load_words[] = { ".weak.global", ".volatile", ".volatile.global", ".volatile.shared",
		".relaxed.cta.global",
		".relaxed.gpu.global", ".relaxed.sys", ".relaxed.cluster.shared", ".acquire.cta.shared", ".acquire.gpu.global",
			".acquire.sys",
		".global.nc", ".global.ca", ".global.cg", ".global.cs", ".global.lu", ".global.cv", ".global.nc.L1::no_allocate.L2::128B",
		".global.L1::evict_last", ".global.L1::evict_first", ".global.L1::evict_normal", ".global.L1::evict_unchanged",
			".global.L2::64B",
		".global.L2::256B", ".local.ca", ".param::entry", NULL };
	static const char *const store_words[] = { ".weak.global", ".volatile", ".volatile.global", ".volatile.shared",
		".relaxed.cta.global",
		".relaxed.gpu.global", ".relaxed.sys", ".relaxed.cluster.shared", ".release.cta.shared", ".release.gpu.global",
			".release.sys",
		".global.wb", ".global.cg", ".global.cs", ".global.wt", ".global.L1::no_allocate", ".global.L1::evict_last",
		".global.L1::evict_first", ".local.wb", NULL };
	static const char *const vectors[] = { "", ".v2", ".v4" };
	bool load = !strcmp(row->opcode, "ld"), store = !strcmp(row->opcode, "st");
	const char *const *spaces = load ? load_spaces : store ? store_spaces : ldu_spaces;
	for (; *spaces; spaces++)
		for (size_t v = 0; v < 3; v++)
			for (size_t t = 0; t < sizeof memory_types / sizeof *memory_types; t++) {
				unsigned bytes = operand_type_find(memory_types[t])->bits / 8 << v;
				if (bytes <= 16 && (bytes < 16 || v || strstr(row->pattern, ".b128")))
					one_access(m, index, row, *spaces, vectors[v], memory_types[t]);
			}
	for (const char *const *w = load ? load_words : store ? store_words : NULL; w && *w; w++) {
		one_access(m, index, row, *w, "", "b32");
		one_access(m, index, row, *w, strstr(*w, "relaxed") || strstr(*w, "acquire") || strstr(*w, "release") ? "" : ".v2",
			"f64");
	}
}

/* ---- atomics: [0] the thread's own place, [1] one that all lanes of the warp hit, [2] the answer */

static bool
commutes(const char *op)
{
	return strcmp(op, "exch") && strcmp(op, "cas");
}

/* Small whole numbers, so that sums of floats are exact in any order */
static void
small_numbers(struct maker *m, const struct operand_type *type, const char *from, unsigned reg)
{
	bool half = strchr("hHwW", type->class);
	make_text(m, "\tand.b32 %%r50, %s, 7;\n\tcvt.rn.f32.u32 %%r51, %%r50;\n", from);
	if (type->class == 'f')
		make_text(m, type->bits == 64 ? "\tcvt.f64.f32 %%q%u, %%r51;\n" : "\tmov.b32 %%r%u, %%r51;\n", reg);
	if (!half)
		return;
	make_text(m, "\tcvt.rn.%s.f32 %%h30, %%r51;\n\tmov.b32 %%r52, {%%h30, %%h30};\n", type->class == 'h'
		|| type->class == 'H' ? "f16" : "bf16");
	make_text(m, type->bits == 16 ? "\tmov.b16 %%h%u, %%h30;\n" : "\tmov.b32 %%r%u, %%r52;\n", reg);
}

static void
atomic_operands(struct maker *m, const struct operand_type *type)
{
	const struct operand_type *types[] = { type, type };
	bool real = strchr("fhHwW", type->class);
	make_values(m, 0, 2, types);
	make_values(m, 1, 2, types);
	make_load(m, 0, type, 1);
	make_load(m, 1, type, 2);
	if (real) {
		make_text(m, "\tshr.u32 %%r53, %%t, 3;\n");
		small_numbers(m, type, "%t", 1);
		small_numbers(m, type, "%r53", 2);
	}
}

static void
atomic_probe(struct maker *m, const struct spelling *s, const char *op)
{
	const struct operand_type *type = s->types[0];
	bool red = !strcmp(s->row->opcode, "red"), shared = strstr(s->text, ".shared") != NULL;
	bool generic = !shared && !spelling_has(s, ".global"), same = !strcmp(op, "inc") || !strcmp(op, "dec");
	char c = letter(type->bits);
	const char *space = shared ? "shared" : "global";
	make_begin(m, s, NULL, THREADS);
	atomic_operands(m, type);
	place(m, space);
	if (shared)
		make_text(m, "\tst.shared.u64 [%%q10], 0;\n\tst.shared.u64 [%%q10+8], 0;\n\tbar.sync 0;\n");
	make_text(m, "\tst.%s.b%u [%%q10], %%%c1;\n\tmov.u64 %%q12, %%q10;\n", space, type->bits, c);
	/* the first lane's second place, for the warp */
	make_text(m, "\tmul.wide.u32 %%q13, %%lane, 32;\n\tsub.u64 %%q13, %%q10, %%q13;\n\tbar.sync 0;\n");
	if (generic)
		make_text(m, "\tcvta.global.u64 %%q12, %%q12;\n\tcvta.global.u64 %%q13, %%q13;\n");
	if (!strcmp(op, "cas"))	/* half of the lanes name what is there */
		make_text(m, "\tand.b32 %%r55, %%t, 1;\n\tsetp.eq.u32 %%p1, %%r55, 0;\n\t@%%p1 mov.b%u %%%c3, %%%c1;\n"
			"\t@!%%p1 mov.b%u %%%c3, %%%c2;\n",
			type->bits, c, c, type->bits, c, c);
	if (red)
		make_text(m, "\t%s [%%q12], %%%c2;\n", s->text, c);
	else if (!strcmp(op, "cas"))
		make_text(m, "\t%s %%%c20, [%%q12], %%%c3, %%%c2;\n", s->text, c, c, c);
	else
		make_text(m, "\t%s %%%c20, [%%q12], %%%c2;\n", s->text, c, c);
	if (commutes(op)) {
		if (same)
			make_text(m, "\tmov.u32 %%r2, 9;\n");
		make_text(m, red ? "\t%s [%%q13+8], %%%c2;\n" : "\t%s %%%c21, [%%q13+8], %%%c2;\n", s->text, c, c);
	}
	make_text(m, "\tbar.sync 0;\n\tld.%s.u64 %%q40, [%%q10];\n\tld.%s.u64 %%q41, [%%q10+8];\n", space, space);
	make_store(m, 64, "%q40");
	make_store(m, 64, "%q41");
	if (!red) {
		char reg[8];
		snprintf(reg, sizeof reg, "%%%c20", c);
		make_store(m, type->bits, reg);
	}
	m->slots = 8;
	make_end(m);
}

/* k: four spaces, each without an order and with two that rotate */
static void
one_atomic(struct maker *m, size_t index, const struct table_row *row, const char *op, const char *type, unsigned k,
	unsigned turn)
{
	static const char *const orders[] = { ".relaxed.gpu", ".acquire.cta", ".release.gpu", ".acq_rel.sys",
		".relaxed.cluster", ".gpu",
		".cta", ".sys" };
	static const char *const spaces[] = { "", ".global", ".shared", ".shared::cta" };
	const char *order = k / 4 ? orders[turn % 8] : "";
	struct spelling s;
	char text[120];
	if (!strcmp(row->opcode, "red") && strstr(order, "acq"))
		order = ".release.cta";
	snprintf(text, sizeof text, "%s%s%s.%s%s.%s", row->opcode, order, spaces[k % 4], op,
		strstr(row->pattern, ".noftz") ? ".noftz" : "", type);
	spelling_init(&s, index, row, text);
	atomic_probe(m, &s, op);
}

static void
atomics(struct maker *m, size_t index, const struct table_row *row)
{
	static const char *const ops[] = { "add", "min", "max", "and", "or", "xor", "inc", "dec", "exch", "cas" };
	struct buf types = BUF_INIT;
	unsigned turn = 0;
	for (size_t o = 0; o < 10; o++) {
		char word[16];
		snprintf(word, sizeof word, ".%s", ops[o]);
		if (!strstr(row->pattern, word))
			continue;
		buf_reset(&types);
		buf_adds(&types, row->types);
		for (char *type = types.data; type && *type;) {
			size_t length = strcspn(type, " ");
			char *next = type[length] ? type + length + 1 : NULL;
			type[length] = 0;
			for (unsigned k = 0; k < 12 && strcmp(type, "b128"); k++)
				one_atomic(m, index, row, ops[o], type, k, turn++);
			type = next;
		}
	}
	buf_release(&types);
}

/* ---- copies to shared memory behind the thread's back */

static void
async_copy(struct maker *m, size_t index, const struct table_row *row)
{
	static const struct {
		const char *words, *operands, *variant;
	} forms[] = { { ".ca.shared.global", "4", "4" }, { ".ca.shared.global", "8", "8" }, { ".ca.shared.global", "16", "16" },
		{ ".cg.shared.global", "16", "16" }, { ".ca.shared.global.L2::128B", "16", "16" }, { ".cg.shared.global.L2::256B",
			"16", "16" },
		{ ".ca.shared.global.L2::64B", "8", "8" }, { ".ca.shared::cta.global", "4", "4" }, { ".ca.shared.global",
			"16, %r40", "part" },
		{ ".cg.shared.global", "16, %r40", "part" }, { ".ca.shared.global", "4, %r41", "part of 4" } };
	static const char *const waits[] = { "cp.async.commit_group;\n\tcp.async.wait_group 0", "cp.async.wait_all" };
	for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
		struct spelling s;
		char text[100];
		snprintf(text, sizeof text, "cp.async%s", forms[k].words);
		spelling_init(&s, index, row, text);
		make_begin(m, &s, forms[k].variant, THREADS);
		four_operands(m);
		place(m, "shared");
		fill(m, "shared");
		make_text(m, "\tmov.u32 %%r30, %%tid.x;\n\tmov.u32 %%r31, space;\n\tmad.lo.u32 %%r32, %%r30, 32, %%r31;\n"
			"\tand.b32 %%r40, %%t, 15;\n"
			"\tadd.u32 %%r40, %%r40, 1;\n\tand.b32 %%r41, %%t, 3;\n\tld.param.u64 %%q14, [pin];\n\tmul.wide.u32 %%q11, %%t, 16;\n"
			"\tadd.u64 %%q14, %%q14, %%q11;\n\tbar.sync 0;\n");
		make_text(m, "\t%s [%%r32], [%%q14], %s;\n\t%s;\n\tbar.sync 0;\n", text, forms[k].operands, waits[k & 1]);
		make_text(m, "\txor.b32 %%r33, %%r30, 255;\n\tmad.lo.u32 %%r33, %%r33, 32, %%r31;\n");
		for (unsigned q = 0; q < 3; q++) {
			make_text(m, "\tld.shared.u64 %%q40, [%%r33+%u];\n", 8 * q);
			make_store(m, 64, "%q40");
		}
		make_end(m);
	}
}

static void
async_group(struct maker *m, size_t index, const struct table_row *row, const char *text, const char *code)
{
	struct spelling s;
	spelling_init(&s, index, row, text);
	make_begin(m, &s, NULL, THREADS);
	four_operands(m);
	make_text(m, "\tmov.u32 %%r30, %%tid.x;\n\tmov.u32 %%r31, space;\n\tmad.lo.u32 %%r32, %%r30, 32, %%r31;\n"
		"\tld.param.u64 %%q14, [pin];\n"
		"\tmul.wide.u32 %%q11, %%t, 16;\n\tadd.u64 %%q14, %%q14, %%q11;\n\tcp.async.ca.shared.global [%%r32], [%%q14], 16;\n"
		"\tcp.async.commit_group;\n\tcp.async.ca.shared.global [%%r32+16], [%%q14], 16;\n%s\tbar.sync 0;\n", code);
	for (unsigned q = 0; q < 2; q++) {
		make_text(m, "\tld.shared.u64 %%q40, [%%r32+%u];\n", 8 * q);
		make_store(m, 64, "%q40");
	}
	make_text(m, "\tcp.async.wait_all;\n\tld.shared.u64 %%q40, [%%r32+24];\n");
	make_store(m, 64, "%q40");
	make_end(m);
}

/* Executed between a store and a load that has to see it. */
static void
without_value(struct maker *m, const struct spelling *s, const char *operands)
{
	make_begin(m, s, NULL, THREADS);
	four_operands(m);
	place(m, "global");
	make_text(m, "\tst.global.u64 [%%q10], %%q1;\n\t%s%s;\n\tld.global.u64 %%q40, [%%q10];\n", s->text, operands);
	make_store(m, 64, "%q40");
	m->slots = 8;
	make_end(m);
}

static void
fences(struct maker *m, size_t index, const struct table_row *row)
{
	static const char *const words[] = { ".sc.cta", ".sc.gpu", ".sc.sys", ".sc.cluster", ".acq_rel.cta", ".acq_rel.gpu",
		".acq_rel.sys",
		".acq_rel.cluster", ".proxy.alias", ".proxy.async", ".proxy.async.global", ".proxy.async.shared::cta",
		".mbarrier_init.release.cluster" };
	for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
		struct spelling s;
		char text[64];
		if (!strstr(row->pattern, k < 8 ? ".sc" : k < 12 ? ".proxy" : ".mbarrier_init"))
			continue;
		snprintf(text, sizeof text, "fence%s", words[k]);
		spelling_init(&s, index, row, text);
		without_value(m, &s, "");
	}
}

bool
memory_row(struct maker *m, size_t index, const struct table_row *row)
{
	const char *op = row->opcode;
	if (!strncmp(row->pattern, ".async", 6) && strcmp(op, "cp"))
		return false;
	if (!strcmp(op, "ld") || !strcmp(op, "st") || !strcmp(op, "ldu")) {
		if (strstr(row->pattern, ".b64"))
			accesses(m, index, row);
		return strstr(row->pattern, ".b64") != NULL;
	}
	if (!strcmp(op, "atom") || !strcmp(op, "red")) {
		if (!strstr(row->pattern, " T") || strstr(row->pattern, ".v2") || strstr(row->pattern, ".async"))
			return false;
		atomics(m, index, row);
		return true;
	}
	if (!strcmp(op, "fence")) {
		fences(m, index, row);
		return true;
	}
	if (strcmp(op, "cp") || strncmp(row->pattern, ".async", 6) || strstr(row->pattern, "bulk") || strstr(row->pattern,
		"mbarrier"))
		return false;
	if (strstr(row->pattern, ".ca|.cg")) {
		async_copy(m, index, row);
	} else if (strstr(row->pattern, ".commit_group")) {
		async_group(m, index, row, "cp.async.commit_group", "\tcp.async.commit_group;\n\tcp.async.wait_group 1;\n");
		async_group(m, index, row, "cp.async.wait_all", "\tcp.async.wait_all;\n");
	} else {
		async_group(m, index, row, "cp.async.wait_group", "\tcp.async.commit_group;\n\tcp.async.wait_group 0;\n");
	}
	return true;
}

/* ---- spellings with an effect that is not seen in a value, or seen only by another thread */

static void
windows(struct maker *m, const struct spelling *s)
{
	const char *space = s->words[s->n_words - 2] + 1;
	bool to = spelling_has(s, ".to");
	if (!strcmp(space, "param"))
		return;
	make_begin(m, s, NULL, THREADS);
	four_operands(m);
	place(m, space);
	if (strcmp(space, "const"))
		fill(m, space);
	if (to)
		make_text(m, "\tcvta.%s.u64 %%q20, %%q10;\n\t%s %%q21, %%q20;\n\tld.%s.u64 %%q40, [%%q21+8];\n", space, s->text, space);
	else
		make_text(m, "\t%s %%q20, %%q10;\n\tld.u64 %%q40, [%%q20+8];\n\tcvta.to.%s.u64 %%q21, %%q20;\n", s->text, space);
	make_text(m, "\tsub.u64 %%q41, %%q21, %%q10;\n");
	make_store(m, 64, "%q40");
	make_store(m, 64, "%q41");
	m->slots = 8;
	make_end(m);
}

static void
isspacep(struct maker *m, const struct spelling *s)
{
	static const char *const bases[] = { "global", "shared", "local", "const" };
	make_begin(m, s, NULL, THREADS);
	for (unsigned k = 0; k < 4; k++) {
		char reg[8];
		snprintf(reg, sizeof reg, "%%p%u", 10 + k);
		place(m, bases[k]);
		make_text(m, "\tcvta.%s.u64 %%q20, %%q10;\n\t%s %s, %%q20;\n", bases[k], s->text, reg);
		make_store(m, 1, reg);
	}
	m->slots = 8;
	make_end(m);
}

/* What a discarded line holds is not defined until it is written again. */
static void
discard(struct maker *m, const struct spelling *s)
{
	make_begin(m, s, NULL, THREADS);
	four_operands(m);
	place(m, "global");
	make_text(m, "\tand.b32 %%r30, %%t, 3;\n\tsetp.eq.u32 %%p1, %%r30, 0;\n\tmov.u64 %%q12, %%q10;\n");
	if (!spelling_has(s, ".global"))
		make_text(m, "\tcvta.global.u64 %%q12, %%q10;\n");
	make_text(m, "\t@%%p1 %s [%%q12], 128;\n\tbar.sync 0;\n", s->text);
	fill(m, "global");
	make_text(m, "\tld.global.u64 %%q40, [%%q10];\n");
	make_store(m, 64, "%q40");
	m->slots = 8;
	make_end(m);
}

bool
memory_probe(struct maker *m, const struct spelling *s)
{
	const char *op = s->row->opcode;
	if (!strcmp(op, "cvta"))
		windows(m, s);
	else if (!strcmp(op, "isspacep"))
		isspacep(m, s);
	else if (!strcmp(op, "membar") || !strcmp(op, "griddepcontrol"))
		without_value(m, s, "");
	else if (!strncmp(op, "prefetch", 8))
		without_value(m, s, spelling_has(s, ".local") ? "" : " [%q10]");
	else if (!strcmp(op, "discard"))
		discard(m, s);
	else if (!strcmp(op, "applypriority"))
		without_value(m, s, " [%q10], 128");
	else if (!strcmp(op, "nanosleep"))
		without_value(m, s, " 20");
	else if (!strcmp(op, "pmevent"))
		without_value(m, s, " 3");
	else
		return false;
	return true;
}
