/* In: matrix instructions over operands of many kinds (exponents near and far, denormals, few products, infinities and
 * NaN). Out: all bits of the results, as a hash, against those that an H200 gave for the same operands. */
#include "ptx_rig.h"

#include <xxhash.h>

enum kind { F16, BF16, TF32, E4M3, E5M2, F32, F64, INTEGER };
enum { WARPS_OF_REGIME = 16, REGIMES = 7, WARPS = WARPS_OF_REGIME * REGIMES, NOT_A_NUMBER_REGIME = 4 };

struct shape {
	const char *text;
	enum kind a, b, c;
	uint32_t n_a, n_b, n_c;			/* registers of a lane; D has as many as C */
	uint64_t hash;
};

/* ---- operands: the same as those that the hashes were made with */

static uint64_t
next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;	/* splitmix64 */
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static const struct {
	int exponent, fraction;
} widths[] = { [F16] = { 5, 10 }, [BF16] = { 8, 7 }, [TF32] = { 8, 10 }, [E4M3] = { 4, 3 }, [E5M2] = { 5, 2 }, [F32] = { 8, 23 },
	[F64] = { 11, 52 } };

/* Biased exponents anywhere: in the middle of the wide types, with denormals now and then */
static int
any_exponent(enum kind kind, int regime, uint64_t q)
{
	int top = (1 << widths[kind].exponent) - 1, e = (int)((q >> 8) % (uint64_t)top);
	if (kind == E4M3)
		e = (int)((q >> 8) % 16);
	if (kind == TF32 || kind == BF16 || kind == F32)
		e = 127 - 60 + (int)((q >> 8) % 120);
	if (kind == F64)
		e = 1023 - 300 + (int)((q >> 8) % 600);
	return regime == 3 && kind != E4M3 && (q >> 40) % 8 == 0 ? 0 : e;
}

static uint64_t
element(uint64_t *state, enum kind kind, int regime, bool is_c)
{
	static const int spreads[REGIMES] = { 1, 4, 12, 0, 0, 3, 2 };
	uint64_t r = next(state), q = next(state);
	if (kind == INTEGER)
		return (uint32_t)r;
	int fraction = widths[kind].fraction, top = (1 << widths[kind].exponent) - 1, bias = top / 2, e;
	int spread = is_c && regime == 2 ? 30 : spreads[regime];
	uint64_t m = r & ((1ull << fraction) - 1);
	if (regime == 3 || regime == NOT_A_NUMBER_REGIME) {
		e = any_exponent(kind, regime, q);
		if (kind == E4M3 && e == 15 && m == 7)
			m = 6;
		int odd = regime == NOT_A_NUMBER_REGIME ? (int)((q >> 30) % 96) : 99;
		if (odd < 4)
			e = odd < 2 ? top : 0;
		if (odd < 3)
			m = odd == 1 || (odd == 0 && kind == E4M3) ? (1ull << fraction) - 1 : 0;
	} else {
		e = bias + (int)((q >> 8) % (uint64_t)(2 * spread + 1)) - spread;
		e = e < 0 ? 0 : e >= top ? top - 1 : e;
		if (regime == 5 && (q >> 30) % 5)
			e = 0, m = 0;
		if (regime == 6)
			m &= ~((1ull << (fraction - 2)) - 1);
	}
	return ((q & 1) << (widths[kind].exponent + fraction) | (uint64_t)e << fraction | m) << (kind == TF32 ? 13 : 0);
}

static uint64_t
word(uint64_t *state, enum kind kind, int regime, bool is_c)
{
	int bits = kind == F16 || kind == BF16 ? 16 : kind == E4M3 || kind == E5M2 ? 8 : 64;
	uint64_t v = element(state, kind, regime, is_c);
	for (int at = bits; at < 32; at += bits)
		v |= element(state, kind, regime, is_c) << at;
	return v;
}

static const struct shape shapes[] = {
	{ "m16n8k8.row.col.f32.f16.f16.f32", F16, F16, F32, 2, 1, 4, 0x56d70b14ae2095e0 },
	{ "m16n8k8.row.col.f16.f16.f16.f16", F16, F16, F16, 2, 1, 2, 0x1275a0211b1a32e4 },
	{ "m16n8k8.row.col.f32.bf16.bf16.f32", BF16, BF16, F32, 2, 1, 4, 0x3b95dbce04e5c612 },
	{ "m16n8k16.row.col.f32.f16.f16.f32", F16, F16, F32, 4, 2, 4, 0xc2a08f737c3574d8 },
	{ "m16n8k16.row.col.f16.f16.f16.f16", F16, F16, F16, 4, 2, 2, 0x7b4c466728dc2f29 },
	{ "m16n8k16.row.col.f32.bf16.bf16.f32", BF16, BF16, F32, 4, 2, 4, 0x0bdb74e07010edd8 },
	{ "m16n8k4.row.col.f32.tf32.tf32.f32", TF32, TF32, F32, 2, 1, 4, 0xe8b10f6098c76ef9 },
	{ "m16n8k8.row.col.f32.tf32.tf32.f32", TF32, TF32, F32, 4, 2, 4, 0xac299352d6aecec0 },
	{ "m16n8k32.row.col.f32.e4m3.e4m3.f32", E4M3, E4M3, F32, 4, 2, 4, 0x290e02b4fc671679 },
	{ "m16n8k32.row.col.f32.e4m3.e5m2.f32", E4M3, E5M2, F32, 4, 2, 4, 0xefedee9d0a99ac3b },
	{ "m16n8k32.row.col.f32.e5m2.e4m3.f32", E5M2, E4M3, F32, 4, 2, 4, 0xffdb359a0e40b9ee },
	{ "m16n8k32.row.col.f32.e5m2.e5m2.f32", E5M2, E5M2, F32, 4, 2, 4, 0x91c9fd08d8b9f7b7 },
	{ "m16n8k16.row.col.f32.e4m3.e4m3.f32", E4M3, E4M3, F32, 2, 1, 4, 0x39e9aba2a05725e1 },
	{ "m16n8k32.row.col.f16.e4m3.e4m3.f16", E4M3, E4M3, F16, 4, 2, 2, 0xa8bde1f3162ed469 },
	{ "m8n8k4.row.col.f64.f64.f64.f64", F64, F64, F64, 1, 1, 2, 0x54c06e17d38ca018 },
	{ "m16n8k4.row.col.f64.f64.f64.f64", F64, F64, F64, 2, 1, 4, 0xa6acb22d0987cc2b },
	{ "m16n8k8.row.col.f64.f64.f64.f64", F64, F64, F64, 4, 2, 4, 0x3570c0030d128eea },
	{ "m16n8k16.row.col.f64.f64.f64.f64", F64, F64, F64, 8, 4, 4, 0x74f5025b9ee4bb1e },
	{ "m16n8k32.row.col.s32.s4.u4.s32", INTEGER, INTEGER, INTEGER, 2, 1, 4, 0xb953b006404770fe },
	{ "m16n8k64.row.col.s32.s4.s4.s32", INTEGER, INTEGER, INTEGER, 4, 2, 4, 0x2ef13c39aeb65189 },
	{ "m8n8k32.row.col.s32.s4.s4.s32", INTEGER, INTEGER, INTEGER, 1, 1, 2, 0x5ef4b003ecad28ac },
	{ "m8n8k16.row.col.s32.s8.u8.s32", INTEGER, INTEGER, INTEGER, 1, 1, 2, 0xd72419f6688c0076 },
	{ "m8n8k128.row.col.s32.b1.b1.s32.xor.popc", INTEGER, INTEGER, INTEGER, 1, 1, 2, 0x9edbefa6f184aa04 },
	{ "m8n8k128.row.col.s32.b1.b1.s32.and.popc", INTEGER, INTEGER, INTEGER, 1, 1, 2, 0x1dd35b2e81ee8d04 },
	{ "m16n8k128.row.col.s32.b1.b1.s32.xor.popc", INTEGER, INTEGER, INTEGER, 2, 1, 4, 0x45b79d45c1aa6b93 },
	{ "m16n8k128.row.col.s32.b1.b1.s32.and.popc", INTEGER, INTEGER, INTEGER, 2, 1, 4, 0x25216dc646c81024 },
	{ "m16n8k256.row.col.s32.b1.b1.s32.xor.popc", INTEGER, INTEGER, INTEGER, 4, 2, 4, 0x16f84d3b86b8935a },
	{ "m16n8k256.row.col.s32.b1.b1.s32.and.popc", INTEGER, INTEGER, INTEGER, 4, 2, 4, 0x750d61acdcf66ab6 },
};

/* ---- a kernel for a shape: each lane loads A, B and C, and stores D */

static void
add_registers(struct buf *out, char letter, uint32_t count)
{
	buf_adds(out, " {");
	for (uint32_t k = 0; k < count; k++)
		buf_addf(out, "%s%%%c%u", k ? ", " : "", letter, k);
	buf_adds(out, "}");
}

static void
write_kernel(struct buf *out, const struct shape *s)
{
	uint32_t bytes = s->a == F64 ? 8 : 4, at = 0, counts[4] = { s->n_a, s->n_b, s->n_c, s->n_c };
	buf_addf(out, RIG_HEADER ".visible .entry k(.param .u64 pin, .param .u64 pout)\n{\n\t.reg .b%u %%a<9>, %%b<9>, %%c<9>, %%d<9>;\n"
		"\t.reg .b64 %%in, %%out, %%o;\n\t.reg .b32 %%t, %%n, %%s;\n\tld.param.u64 %%in, [pin];\n\tld.param.u64 %%out, [pout];\n"
		"\tmov.u32 %%t, %%ctaid.x;\n\tmov.u32 %%n, %%ntid.x;\n\tmov.u32 %%s, %%tid.x;\n\tmad.lo.s32 %%t, %%t, %%n, %%s;\n"
		"\tmul.wide.u32 %%o, %%t, %u;\n\tadd.s64 %%in, %%in, %%o;\n\tmul.wide.u32 %%o, %%t, %u;\n\tadd.s64 %%out, %%out, %%o;\n",
		bytes * 8, (s->n_a + s->n_b + s->n_c) * bytes, s->n_c * bytes);
	for (int q = 0; q < 3; q++)
		for (uint32_t k = 0; k < counts[q]; k++, at += bytes)
			buf_addf(out, "\tld.global.b%u %%%c%u, [%%in+%u];\n", bytes * 8, "abc"[q], k, at);
	buf_addf(out, "\tmma.sync.aligned.%s", s->text);
	for (int q = 3; q < 7; q++) {
		add_registers(out, "abcd"[q % 4], counts[q % 4]);
		buf_adds(out, q < 6 ? "," : ";\n");
	}
	for (uint32_t k = 0; k < s->n_c; k++)
		buf_addf(out, "\tst.global.b%u [%%out+%u], %%d%u;\n", bytes * 8, k * bytes, k);
	buf_adds(out, "\tret;\n}\n");
}

static void
check_shape(void **state)
{
	const struct shape *s = *state;
	uint32_t bytes = s->a == F64 ? 8 : 4, n = s->n_a + s->n_b + s->n_c;
	size_t regime_bytes = (size_t)WARPS_OF_REGIME * 32 * s->n_c * bytes;
	struct buf text = BUF_INIT;
	struct rig r;
	uint64_t random = 12345;
	write_kernel(&text, s);
	rig_open(&r, text.data, text.len, NULL);
	char *in = rig_buffer(&r, "in", (size_t)WARPS * 32 * n * bytes, PTX_READ, true);
	char *out = rig_buffer(&r, "out", REGIMES * regime_bytes, PTX_READ_WRITE, true);
	for (uint32_t k = 0; k < WARPS * 32 * n; k++) {
		uint32_t q = k % n;
		enum kind kind = q < s->n_a ? s->a : q < s->n_a + s->n_b ? s->b : s->c;
		int regime = (int)(k / (32 * n) / WARPS_OF_REGIME);
		uint64_t v = bytes == 8 ? element(&random, kind, regime, q >= s->n_a + s->n_b)
			: word(&random, kind, regime, q >= s->n_a + s->n_b);
		memcpy(in + (size_t)k * bytes, &v, bytes);
	}
	uint64_t params[2] = { (uint64_t)(uintptr_t)in, (uint64_t)(uintptr_t)out };
	if (rig_run(&r, "k", WARPS, 32, params, sizeof params) != PTX_OK)
		fail_msg("%s: %s", s->text, buf_str(&r.err));
	XXH64_state_t *hash = XXH64_createState();
	XXH64_reset(hash, 0);
	for (int regime = 0; regime < REGIMES; regime++)
		if (s->a != F64 || regime != NOT_A_NUMBER_REGIME)	/* which NaN fp64 gives is not kept */
			XXH64_update(hash, out + (size_t)regime * regime_bytes, regime_bytes);
	uint64_t got = XXH64_digest(hash);
	XXH64_freeState(hash);
	if (got != s->hash)
		fail_msg("%s: the results hash to %016llx, those of an H200 to %016llx", s->text, (unsigned long long)got,
			(unsigned long long)s->hash);
	rig_close(&r);
	buf_release(&text);
}

int
main(void)
{
	enum { SHAPES = sizeof shapes / sizeof *shapes };
	static struct CMUnitTest list[SHAPES];
	for (size_t k = 0; k < SHAPES; k++)
		list[k] = (struct CMUnitTest){ shapes[k].text, check_shape, NULL, NULL, (void *)(uintptr_t)&shapes[k] };
	return cmocka_run_group_tests_name("ptx tensor cores", list, NULL, NULL);
}
