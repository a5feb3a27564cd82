/* In: PTX texts, good and hostile. Out: kernels, parameter layouts and variables of the good ones; one sentence
 * with the line for the others, and never a crash: truncations and mutations of a real module are tried too. */
#include "ptx_rig.h"

static struct ptx_module *
parse(const char *text, struct buf *err)
{
	buf_reset(err);
	return ptx_parse(text, strlen(text), err);
}

static const char module_text[] =
	"//\n// a comment\n.version 9.0\n.target sm_90, debug\n.address_size 64\n"
	".extern .func (.param .b32 func_retval0) vprintf (.param .b64 a, .param .b64 b);\n"
	".visible .global .align 4 .f32 table[3] = {0f3F800000, 2.5, -1};\n"
	".global .align 8 .u64 pointers[2] = {generic(table)+4, table};\n"
	".const .align 2 .b8 letters[5] = {97, 98, 99, 100};\n"
	".global .align 16 .v4 .f32 vector;\n"
	".extern .shared .align 16 .b8 dynamic[];\n"
	".func (.param .b32 r) twice(.param .b32 x)\n{\n\t.reg.b32 %v<2>;\n\tld.param.b32 %v1, [x];\n\tadd.s32 %v1, %v1, %v1;\n"
	"\tst.param.b32 [r+0], %v1;\n\tret;\n}\n"
	".visible .entry second(.param .u32 n) .maxntid 64, 2, 1 .minnctapersm 2 { ret; }\n"
	".visible .entry first(\n\t.param .u8 a,\n\t.param .u64 .ptr .global .align 16 b,\n\t.param .align 8 .b8 c[20],\n"
	"\t.param .f64 d\n)\n.reqntid 32\n{\n\t.reg .b32 %r<4>;\n\t.reg .pred %p;\n\t.shared .align 8 .f64 tile[10];\n"
	"\t.local .align 4 .b8 mine[12];\n\tmov.u32 %r1, tile;\n\tmov.u32 %r2, dynamic;\n\t{\n\t.param .b32 p;\n\t.param .b32 q;\n"
	"\tst.param.b32 [p], %r1;\n\tcall.uni (q), twice, (p);\n\tld.param.b32 %r3, [q+0];\n\t}\n"
	"\tsetp.eq.s32 %p, %r1, %r2;\n\t@!%p bra END;\n\tbar.sync 0;\nEND:\n\tret;\n}\n"
	".file 1 \"a.cu\", 12345, 678\n.section .debug_str\n{\n$L_info: .b8 65, 66\n}\n";

static void
test_module(void **state)
{
	(void)state;
	struct buf err = BUF_INIT;
	struct ptx_module *m = parse(module_text, &err);
	if (!m)
		fail_msg("%s", buf_str(&err));
	assert_int_equal(ptx_kernel_count(m), 2);
	const struct ptx_kernel *k = ptx_kernel_at(m, 1);
	assert_string_equal(k->name, "first");
	assert_ptr_equal(k, ptx_kernel_find(m, "first"));
	assert_null(ptx_kernel_find(m, "twice"));
	assert_null(ptx_kernel_at(m, 2));
	assert_int_equal(k->n_params, 4);
	static const uint32_t layout[4][3] = { { 0, 1, 1 }, { 8, 8, 8 }, { 16, 20, 8 }, { 40, 8, 8 } };
	for (int p = 0; p < 4; p++) {
		assert_int_equal(k->params[p].offset, layout[p][0]);
		assert_int_equal(k->params[p].size, layout[p][1]);
		assert_int_equal(k->params[p].align, layout[p][2]);
	}
	assert_int_equal(k->params_bytes, 48);
	assert_int_equal(k->shared_bytes, 80);
	assert_int_equal(k->local_bytes, 16);
	assert_int_equal(k->required_threads[0], 32);
	assert_int_equal(k->required_threads[1], 1);
	k = ptx_kernel_find(m, "second");
	assert_int_equal(k->max_threads[0], 64);
	assert_int_equal(k->max_threads[1], 2);
	assert_int_equal(k->required_threads[0], 0);
	assert_int_equal(ptx_kernel_check(m, "first", &err), 0);
	assert_int_equal(ptx_kernel_check(m, "third", &err), -1);
	ptx_module_free(m);
	buf_release(&err);
}

static void
test_variables(void **state)
{
	(void)state;
	struct rig r;
	rig_open(&r, module_text, sizeof module_text, NULL);	/* with its NUL, as nvcc embeds it */
	assert_int_equal(ptx_symbol_count(r.module), 4);
	const struct ptx_symbol *s = ptx_symbol_find(r.module, "table");
	assert_int_equal(s->size, 12);
	assert_true(s->initialised);
	float *table = (float *)(uintptr_t)ptx_symbol_address(r.machine, "table");
	assert_true(table[0] == 1 && table[1] == 2.5f);
	uint64_t *pointers = (uint64_t *)(uintptr_t)ptx_symbol_address(r.machine, "pointers");
	assert_int_equal(pointers[0], (uint64_t)(uintptr_t)table + 4);
	assert_int_equal(pointers[1], (uint64_t)(uintptr_t)table);
	const char *letters = (const char *)(uintptr_t)ptx_symbol_address(r.machine, "letters");
	assert_memory_equal(letters, "abcd\0", 5);
	assert_int_equal(ptx_symbol_address(r.machine, "vector") % 16, 0);
	assert_false(ptx_symbol_find(r.module, "vector")->initialised);
	table[0] = 99;
	assert_int_equal(ptx_write_symbols(r.machine, NULL), 0);
	assert_true(table[0] == 1);
	rig_close(&r);
}

static void
test_refuses(void **state)
{
	(void)state;
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "\n\nnonsense", "line 3" },
		{ ".entry", "expected a name" },
		{ ".entry k(.param .u64 p", "expected ')'" },
		{ ".entry k() { add.s32 %r1", "at the end" },
		{ ".entry k() {\n add.s32 a b;\n}", "line 2" },
		{ ".entry k() { .reg .b32 %r<0>; }", "empty range" },
		{ ".entry k() { .reg .b32 %r<99999999>; }", "in range" },
		{ ".entry k() { .reg .b8 %r; ret; }", "8-bit register" },
		{ ".entry k() { .reg .foo %r; }", "unknown word" },
		{ ".entry k() { .local .b8 x[99999999]; }", "local memory" },
		{ ".entry k() { @7 ret; }", "predicate" },
		{ ".entry k() { .reg .b32 %r; @%r ret; }", "predicate" },
		{ ".entry k() { {{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{ ", "nested" },
		{ ".entry k() { mov {{{{{{a}}}}}}, b; }", "nested too deeply" },
		{ ".entry k() { ret; } .entry k() { ret; }", "twice" },
		{ ".entry k(.param .align 8 .b8 x[40000]) { ret; }", "parameter bytes" },
		{ ".entry k(.param .align 3 .b8 x[4]) { ret; }", "power of two" },
		{ ".global .b8 x[2] = {1, 2, 3};", "more initialisers" },
		{ ".global .b8 x[3] = {1, 2", "expected" },
		{ ".global .b32 x = y;", "does not fit" },
		{ ".global .b8 x[68719476737];", "in range" },
		{ ".local .b8 x[4];", "outside of a function" },
		{ ".reg .b32 %r;", "outside of a function" },
		{ ".file 1 7", "file name" },
		{ ".file 99999999 \"x\"", "in range" },
		{ ".section .debug { ", "expected" },
		{ "\"open string", "expected a declaration" },
		{ "\x80\xff", "no token" },
		{ ".entry k() { .loc 1; }", "integer" },
		{ ".entry k() { .loc 1 1 1, elsewhere 1 1 1; }", ".loc" },
	};
	struct buf err = BUF_INIT;
	for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
		struct ptx_module *m = parse(bad[k].text, &err);
		if (m || !strstr(buf_str(&err), bad[k].says))
			fail_msg("%s: %s", bad[k].text, m ? "was accepted" : buf_str(&err));
		assert_int_equal(buf_str(&err)[err.len - 1], '.');
	}
	buf_release(&err);
}

/* Texts that parse, but that no kernel can be decoded from */
static void
test_check_refuses(void **state)
{
	(void)state;
	static const struct {
		const char *body, *says;
	} bad[] = {
		{ "frobnicate.u32 %r1, %r2;", "uses frobnicate.u32" },
		{ "add.s32 %r1, %r2;", "operands" },
		{ "add.s32 %r1, %r2, %r3, %r1;", "operands" },
		{ "add.s64 %r1, %r2, %r3;", "32 bits for a value of 64" },
		{ "add.s32 %r1, %d1, %r3;", "64 bits for a value of 32" },
		{ "add.s32 7, %r2, %r3;", "no register" },
		{ "add.s32 %r1, %r2, elsewhere;", "unknown name" },
		{ "add.s32 %r1, %p1, %r3;", "source register" },
		{ "add.s32 _, %r1, %r3;", "destination" },
		{ "bra NOWHERE;", "label" },
		{ "brx.idx %r1, NOWHERE;", "targets" },
		{ "ld.global.u32 %r1, [%h1];", "16 bits" },
		{ "ld.global.v2.u32 {%r1}, [%d1];", "length" },
		{ "ld.global.v2.u32 {%r1, %d1}, [%d1];", "different sizes" },
		{ "ld.global.u32 %r1, %r2;", "no address" },
		{ "st.param.u32 [n], %r1;", "kernel parameter" },
		{ "ld.param.u32 %r1, [n+40000];", "beyond" },
		{ "ld.param.u32 %r1, [n+4];", "beyond" },
		{ "ld.param.u64 %d1, [n];", "beyond" },
		{ "call nobody, (n);", "nobody" },
		{ "setp.eq.s32 %r1, %r1, %r2;", "destination" },
		{ "setp.lt.b32 %p1, %r1, %r2;", "no order" },
		{ "selp.b32 %r1, %r1, %r1, %r1;", "no predicate" },
		{ "mov.b64 %d1, {%r1, %r2, %r3};", "parts" },
		{ "lop3.b32 %r1, %r1, %r2, %r3, 256;", "table" },
		{ "cvt.u32.u64 %r1, %clock64;", "clock" },
		{ "atom.global.add.u32 %r1, [%d1], %r2, %r3;", "operands" },
		{ "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r1,%r1}, {%r1}, {%r1}, {%r1};", "length" },
	};
	struct buf err = BUF_INIT, text = BUF_INIT;
	for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
		buf_reset(&text);
		buf_adds(&text, RIG_HEADER ".entry k(.param .u32 n)\n{\n.reg .b32 %r<9>;\n.reg .b64 %d<9>;\n"
			".reg .b16 %h<9>;\n.reg .pred %p<9>;\n");
		buf_adds(&text, bad[k].body);
		buf_adds(&text, "\n}\n");
		struct ptx_module *m = parse(text.data, &err);
		if (!m)
			fail_msg("%s: %s", bad[k].body, buf_str(&err));
		buf_reset(&err);
		if (!ptx_kernel_check(m, "k", &err) || !strstr(buf_str(&err), bad[k].says))
			fail_msg("%s: %s", bad[k].body, buf_str(&err));
		assert_non_null(strstr(buf_str(&err), "line 10"));
		ptx_module_free(m);
	}
	buf_release(&err);
	buf_release(&text);
}

/* Whatever the bytes: parse, and decode what parses. */
static void
swallow(const char *text, size_t length)
{
	struct ptx_module *m = ptx_parse(text, length, NULL);
	for (size_t k = 0; m && k < ptx_kernel_count(m); k++)
		ptx_kernel_check(m, ptx_kernel_at(m, k)->name, NULL);
	ptx_module_free(m);
}

static void
test_truncations(void **state)
{
	(void)state;
	for (size_t length = 0; length < sizeof module_text; length++) {
		char *exact = malloc(length + !length);		/* so that a sanitizer sees a read past the end */
		memcpy(exact, module_text, length);
		swallow(exact, length);
		free(exact);
	}
}

static void
test_mutations(void **state)
{
	(void)state;
	static const char *const pieces[] = { "{", "}", "(", ")", "[", "]", ";", ",", "%r1", "%p", "0", "-1",
		".b32", ".reg", "bra", "@",
		"99999999999999999999", "\"", "/*", "//", "\n", "\0", ".param", "tile", "twice", "!", "|", "<", ">", "+", "=" };
	uint64_t seed = 1;
	char text[sizeof module_text + 64];
	for (int round = 0; round < 3000; round++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		size_t at = (size_t)(seed >> 33) % sizeof module_text, cut = (size_t)(seed >> 20) % 9;
		const char *piece = pieces[(seed >> 40) % (sizeof pieces / sizeof *pieces)];
		size_t length = strlen(piece), rest = at + cut < sizeof module_text ? sizeof module_text - at - cut : 0;
		memcpy(text, module_text, at);
		memcpy(text + at, piece, length);
		memcpy(text + at + length, module_text + sizeof module_text - rest, rest);
		swallow(text, at + length + rest);
	}
}

static void
test_table_lists_itself(void **state)
{
	(void)state;
	struct buf out = BUF_INIT;
	size_t lines = 0;
	ptx_list_instructions(&out);
	for (size_t k = 0; k < out.len; k++)
		lines += out.data[k] == '\n';
	assert_true(lines > 250);
	assert_non_null(strstr(out.data, "\nmul\t.wide T\tdW aT bT\tu16 u32 s16 s32\n"));
	assert_non_null(strstr(out.data, "\nshfl\t.sync .up|.down|.bfly|.idx .b32\t\n"));
	buf_release(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_module), cmocka_unit_test(test_variables), cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_check_refuses), cmocka_unit_test(test_truncations), cmocka_unit_test(test_mutations),
		cmocka_unit_test(test_table_lists_itself),
	};
	return cmocka_run_group_tests_name("ptx parser", tests, NULL, NULL);
}
