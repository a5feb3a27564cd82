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
	buf_addf(out, RIG_HEADER ".visible .entry k(.param .u64 pin, .param .u64 pout)\n{\n"
		"\t.reg .b%u %%a<9>, %%b<9>, %%c<9>, %%d<9>;\n"
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

/* ---- wmma.load: which element of a matrix comes to which register. Elements are their own numbers; where they have
 * fewer bits than the number, several loads bring it bits by bits. */

struct load {
	char fragment;
	const char *shape, *type, *layout;
	int registers, rows, columns, bits;
	uint64_t hash;				/* of what an H200 loads */
};

static const struct load loads[] = {
	{ 'a', "m16n16k16", "f16", "row", 8, 16, 16, 16, 0xbe008d26ba9b6316 },
	{ 'a', "m16n16k16", "f16", "col", 8, 16, 16, 16, 0xc939029c7990df3a },
	{ 'b', "m16n16k16", "f16", "row", 8, 16, 16, 16, 0x9f7d374e3dc45c46 },
	{ 'b', "m16n16k16", "f16", "col", 8, 16, 16, 16, 0xbfb8b856596a2eb0 },
	{ 'a', "m16n16k16", "bf16", "row", 4, 16, 16, 16, 0xd0eff1e2f46fc72d },
	{ 'a', "m16n16k16", "bf16", "col", 4, 16, 16, 16, 0x4dfb9a5e91d5a41f },
	{ 'b', "m16n16k16", "bf16", "row", 4, 16, 16, 16, 0xcdfaad05c7c30daf },
	{ 'b', "m16n16k16", "bf16", "col", 4, 16, 16, 16, 0x21a47597095de058 },
	{ 'a', "m16n16k16", "s8", "row", 2, 16, 16, 8, 0x0444c5cb24aa1bbd },
	{ 'a', "m16n16k16", "s8", "col", 2, 16, 16, 8, 0x5d7ab0b407e8c7b7 },
	{ 'b', "m16n16k16", "s8", "row", 2, 16, 16, 8, 0x5d7ab0b407e8c7b7 },
	{ 'b', "m16n16k16", "s8", "col", 2, 16, 16, 8, 0x0444c5cb24aa1bbd },
	{ 'c', "m16n16k16", "f16", "row", 4, 16, 16, 16, 0xd0eff1e2f46fc72d },
	{ 'c', "m16n16k16", "f16", "col", 4, 16, 16, 16, 0x4dfb9a5e91d5a41f },
	{ 'c', "m16n16k16", "f32", "row", 8, 16, 16, 32, 0x3f80a406b83956c7 },
	{ 'c', "m16n16k16", "f32", "col", 8, 16, 16, 32, 0xbe7b4e2d6ed8c026 },
	{ 'c', "m16n16k16", "s32", "row", 8, 16, 16, 32, 0x3f80a406b83956c7 },
	{ 'c', "m16n16k16", "s32", "col", 8, 16, 16, 32, 0xbe7b4e2d6ed8c026 },
	{ 'a', "m32n8k16", "f16", "row", 8, 32, 16, 16, 0x6620355e1794f921 },
	{ 'a', "m32n8k16", "f16", "col", 8, 32, 16, 16, 0x67c9f1a7ae35341c },
	{ 'b', "m32n8k16", "f16", "row", 8, 16, 8, 16, 0xb64d95bd4e3641cf },
	{ 'b', "m32n8k16", "f16", "col", 8, 16, 8, 16, 0xf633625129aef4fa },
	{ 'a', "m32n8k16", "bf16", "row", 8, 32, 16, 16, 0x6620355e1794f921 },
	{ 'a', "m32n8k16", "bf16", "col", 8, 32, 16, 16, 0x67c9f1a7ae35341c },
	{ 'b', "m32n8k16", "bf16", "row", 2, 16, 8, 16, 0x3ff201f9f2be56b9 },
	{ 'b', "m32n8k16", "bf16", "col", 2, 16, 8, 16, 0x7c3b7ac56951b311 },
	{ 'a', "m32n8k16", "s8", "row", 4, 32, 16, 8, 0xbdb773c59a943da5 },
	{ 'a', "m32n8k16", "s8", "col", 4, 32, 16, 8, 0xafddc644afe81f24 },
	{ 'b', "m32n8k16", "s8", "row", 1, 16, 8, 8, 0x3dff3d1da733f474 },
	{ 'b', "m32n8k16", "s8", "col", 1, 16, 8, 8, 0x1584a041e9600f11 },
	{ 'c', "m32n8k16", "f16", "row", 4, 32, 8, 16, 0x5a96f3c07e3f73e4 },
	{ 'c', "m32n8k16", "f16", "col", 4, 32, 8, 16, 0x748cca8779f33817 },
	{ 'c', "m32n8k16", "f32", "row", 8, 32, 8, 32, 0xe7463230eabf7b79 },
	{ 'c', "m32n8k16", "f32", "col", 8, 32, 8, 32, 0x76d4fe826370716d },
	{ 'c', "m32n8k16", "s32", "row", 8, 32, 8, 32, 0xe7463230eabf7b79 },
	{ 'c', "m32n8k16", "s32", "col", 8, 32, 8, 32, 0x76d4fe826370716d },
	{ 'a', "m8n32k16", "f16", "row", 8, 8, 16, 16, 0xf633625129aef4fa },
	{ 'a', "m8n32k16", "f16", "col", 8, 8, 16, 16, 0xb64d95bd4e3641cf },
	{ 'b', "m8n32k16", "f16", "row", 8, 16, 32, 16, 0x67c9f1a7ae35341c },
	{ 'b', "m8n32k16", "f16", "col", 8, 16, 32, 16, 0x6620355e1794f921 },
	{ 'a', "m8n32k16", "bf16", "row", 2, 8, 16, 16, 0x7c3b7ac56951b311 },
	{ 'a', "m8n32k16", "bf16", "col", 2, 8, 16, 16, 0x3ff201f9f2be56b9 },
	{ 'b', "m8n32k16", "bf16", "row", 8, 16, 32, 16, 0x67c9f1a7ae35341c },
	{ 'b', "m8n32k16", "bf16", "col", 8, 16, 32, 16, 0x6620355e1794f921 },
	{ 'a', "m8n32k16", "s8", "row", 1, 8, 16, 8, 0x1584a041e9600f11 },
	{ 'a', "m8n32k16", "s8", "col", 1, 8, 16, 8, 0x3dff3d1da733f474 },
	{ 'b', "m8n32k16", "s8", "row", 4, 16, 32, 8, 0xafddc644afe81f24 },
	{ 'b', "m8n32k16", "s8", "col", 4, 16, 32, 8, 0xbdb773c59a943da5 },
	{ 'c', "m8n32k16", "f16", "row", 4, 8, 32, 16, 0x748cca8779f33817 },
	{ 'c', "m8n32k16", "f16", "col", 4, 8, 32, 16, 0x5a96f3c07e3f73e4 },
	{ 'c', "m8n32k16", "f32", "row", 8, 8, 32, 32, 0x76d4fe826370716d },
	{ 'c', "m8n32k16", "f32", "col", 8, 8, 32, 32, 0xe7463230eabf7b79 },
	{ 'c', "m8n32k16", "s32", "row", 8, 8, 32, 32, 0x76d4fe826370716d },
	{ 'c', "m8n32k16", "s32", "col", 8, 8, 32, 32, 0xe7463230eabf7b79 },
	{ 'a', "m16n16k8", "tf32", "row", 4, 16, 8, 32, 0x448c4b2e600f4f8c },
	{ 'a', "m16n16k8", "tf32", "col", 4, 16, 8, 32, 0x0c12714817d69e90 },
	{ 'b', "m16n16k8", "tf32", "row", 4, 8, 16, 32, 0x2ae8f37ca335735d },
	{ 'b', "m16n16k8", "tf32", "col", 4, 8, 16, 32, 0xbc3cc1668f876dc6 },
	{ 'c', "m16n16k8", "f32", "row", 8, 16, 16, 32, 0x3f80a406b83956c7 },
	{ 'c', "m16n16k8", "f32", "col", 8, 16, 16, 32, 0xbe7b4e2d6ed8c026 },
	{ 'a', "m8n8k4", "f64", "row", 1, 8, 4, 64, 0xae7e4cc77800f713 },
	{ 'a', "m8n8k4", "f64", "col", 1, 8, 4, 64, 0xa669258aa3414938 },
	{ 'b', "m8n8k4", "f64", "row", 1, 4, 8, 64, 0xa669258aa3414938 },
	{ 'b', "m8n8k4", "f64", "col", 1, 4, 8, 64, 0xae7e4cc77800f713 },
	{ 'c', "m8n8k4", "f64", "row", 2, 8, 8, 64, 0x0045f6ef159286f6 },
	{ 'c', "m8n8k4", "f64", "col", 2, 8, 8, 64, 0xa44cb0841fda3f43 },
	{ 'a', "m8n8k32", "s4", "row", 1, 8, 32, 4, 0x6fdedb441e728150 },
	{ 'b', "m8n8k32", "s4", "col", 1, 32, 8, 4, 0x6fdedb441e728150 },
	{ 'c', "m8n8k32", "s32", "row", 2, 8, 8, 32, 0x396ebf26fbb28dc5 },
	{ 'c', "m8n8k32", "s32", "col", 2, 8, 8, 32, 0xf8d8a52080972622 },
	{ 'a', "m8n8k128", "b1", "row", 1, 8, 128, 1, 0xb8832a27a1303d61 },
	{ 'b', "m8n8k128", "b1", "col", 1, 128, 8, 1, 0xb8832a27a1303d61 },
	{ 'c', "m8n8k128", "s32", "row", 2, 8, 8, 32, 0x396ebf26fbb28dc5 },
	{ 'c', "m8n8k128", "s32", "col", 2, 8, 8, 32, 0xf8d8a52080972622 },
};

static void
write_load(struct buf *out, const struct load *l)
{
	int bytes = l->bits == 64 ? 8 : 4;
	buf_addf(out, RIG_HEADER ".visible .entry k(.param .u64 pin, .param .u64 pout)\n{\n\t.reg .b%d %%d<9>;\n"
		"\t.reg .b64 %%in, %%out, %%o;\n\t.reg .b32 %%t, %%n;\n\tld.param.u64 %%in, [pin];\n\tld.param.u64 %%out, [pout];\n"
		"\tmov.u32 %%t, %%tid.x;\n\tmul.wide.u32 %%o, %%t, %d;\n\tadd.s64 %%out, %%out, %%o;\n\tmov.b32 %%n, %d;\n"
		"\twmma.load.%c.sync.aligned.%s.%s.global.%s", bytes * 8, l->registers * bytes,
		strcmp(l->layout, "row") ? l->rows : l->columns, l->fragment, l->layout, l->shape, l->type);
	add_registers(out, 'd', (uint32_t)l->registers);
	buf_adds(out, ", [%in], %n;\n");
	for (int k = 0; k < l->registers; k++)
		buf_addf(out, "\tst.global.b%d [%%out+%d], %%d%d;\n", bytes * 8, k * bytes, k);
	buf_adds(out, "\tret;\n}\n");
}

static void
number_elements(uint8_t *memory, const struct load *l, int pass)
{
	for (int k = 0; k < l->rows * l->columns; k++) {
		uint64_t v = (uint64_t)k;
		double d = k;
		if (l->bits == 64)
			memcpy(&v, &d, 8);
		else if (l->bits < 16)
			v = (uint64_t)k >> pass * l->bits & ((1u << l->bits) - 1);
		if (l->bits >= 8)
			memcpy(memory + k * l->bits / 8, &v, (size_t)l->bits / 8);
		else
			memory[k * l->bits / 8] |= (uint8_t)(v << k * l->bits % 8);
	}
}

static void
test_wmma_layouts(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof loads / sizeof *loads; k++) {
		const struct load *l = &loads[k];
		int passes = l->bits >= 16 ? 1 : l->bits == 8 ? 2 : l->bits == 4 ? 3 : 10;
		size_t bytes = 32 * (size_t)l->registers * (l->bits == 64 ? 8 : 4);
		struct buf text = BUF_INIT;
		struct rig r;
		XXH64_state_t *hash = XXH64_createState();
		XXH64_reset(hash, 0);
		write_load(&text, l);
		rig_open(&r, text.data, text.len, NULL);
		uint8_t *in = rig_buffer(&r, "in", 4096, PTX_READ, true), *out = rig_buffer(&r, "out", bytes, PTX_READ_WRITE, true);
		uint64_t params[2] = { (uint64_t)(uintptr_t)in, (uint64_t)(uintptr_t)out };
		for (int pass = 0; pass < passes; pass++) {
			memset(in, 0, 4096);
			number_elements(in, l, pass);
			if (rig_run(&r, "k", 1, 32, params, sizeof params) != PTX_OK)
				fail_msg("%s: %s", l->shape, buf_str(&r.err));
			XXH64_update(hash, out, bytes);
		}
		if (XXH64_digest(hash) != l->hash)
			fail_msg("wmma.load.%c.%s.%s.%s puts elements elsewhere than an H200", l->fragment, l->layout, l->shape, l->type);
		XXH64_freeState(hash);
		rig_close(&r);
		buf_release(&text);
	}
}

/* ---- wmma from memory to memory, over small integers, which all types hold: each product is exact */

struct product {
	const char *shape, *types, *type, *c_type, *operation;	/* types: as wmma.mma spells them */
	int m, n, k, a_registers, b_registers, c_registers;
};

static const struct product products[] = {
	{ "m16n16k16", "f32.f32", "f16", "f32", "", 16, 16, 16, 8, 8, 8 },
	{ "m32n8k16", "f16.f16", "f16", "f16", "", 32, 8, 16, 8, 8, 4 },
	{ "m8n32k16", "f32.f32", "f16", "f32", "", 8, 32, 16, 8, 8, 8 },
	{ "m16n16k16", "f32.bf16.bf16.f32", "bf16", "f32", "", 16, 16, 16, 4, 4, 8 },
	{ "m32n8k16", "f32.bf16.bf16.f32", "bf16", "f32", "", 32, 8, 16, 8, 2, 8 },
	{ "m8n32k16", "f32.bf16.bf16.f32", "bf16", "f32", "", 8, 32, 16, 2, 8, 8 },
	{ "m16n16k8", "f32.tf32.tf32.f32", "tf32", "f32", "", 16, 16, 8, 4, 4, 8 },
	{ "m8n8k4", "f64.f64.f64.f64", "f64", "f64", "", 8, 8, 4, 1, 1, 2 },
	{ "m16n16k16", "s32.s8.s8.s32", "s8", "s32", "", 16, 16, 16, 2, 2, 8 },
	{ "m32n8k16", "s32.u8.u8.s32", "u8", "s32", "", 32, 8, 16, 4, 1, 8 },
	{ "m8n32k16", "s32.s8.s8.s32.satfinite", "s8", "s32", "", 8, 32, 16, 1, 4, 8 },
	{ "m8n8k32", "s32.s4.s4.s32", "s4", "s32", "", 8, 8, 32, 1, 1, 2 },
	{ "m8n8k32", "s32.u4.u4.s32", "u4", "s32", "", 8, 8, 32, 1, 1, 2 },
	{ "m8n8k128", "s32.b1.b1.s32", "b1", "s32", ".xor.popc", 8, 8, 128, 1, 1, 2 },
	{ "m8n8k128", "s32.b1.b1.s32", "b1", "s32", ".and.popc", 8, 8, 128, 1, 1, 2 },
};

static int
bits_of(const char *type)
{
	return !strcmp(type, "b1") ? 1 : type[1] == '4' ? 4 : type[1] == '8' ? 8 : strstr(type, "64") ? 64
		: strstr(type, "16") ? 16 : 32;
}

/* Integers below 16 in a type; the halves by their definition */
static void
put_number(uint8_t *memory, size_t k, const char *type, int v)
{
	int bits = bits_of(type), magnitude = v < 0 ? -v : v, e = 0;
	float f = (float)v;
	double d = v;
	uint32_t u;
	memcpy(&u, &f, 4);
	while (magnitude >> (e + 1))
		e++;
	if (bits < 8)
		memory[k * (size_t)bits / 8] |= (uint8_t)((v & ((1 << bits) - 1)) << k * (size_t)bits % 8);
	else if (bits == 8)
		memory[k] = (uint8_t)v;
	else if (!strcmp(type, "f16"))
		((uint16_t *)(void *)memory)[k] = (uint16_t)((v < 0 ? 0x8000 : 0)
			| (v ? (e + 15) << 10 | (magnitude << (10 - e) & 1023) : 0));
	else if (!strcmp(type, "bf16"))
		((uint16_t *)(void *)memory)[k] = (uint16_t)(u >> 16);
	else if (bits == 64)
		((double *)(void *)memory)[k] = d;
	else
		((uint32_t *)(void *)memory)[k] = type[0] == 's' ? (uint32_t)v : u;
}

static void
write_product(struct buf *out, const struct product *p, bool a_columns, bool b_columns)
{
	int bytes = bits_of(p->type) == 64 ? 8 : 4;
	buf_addf(out, RIG_HEADER ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd)\n{\n"
		"\t.reg .b%d %%a<9>, %%b<9>, %%c<9>, %%d<9>;\n\t.reg .b64 %%p<4>;\n", bytes * 8);
	for (int k = 0; k < 4; k++)
		buf_addf(out, "\tld.param.u64 %%p%d, [p%c];\n", k, "abcd"[k]);
	const char *la = a_columns ? "col" : "row", *lb = b_columns ? "col" : "row";
	const int counts[] = { p->a_registers, p->b_registers, p->c_registers, p->c_registers };
	const char *layouts[] = { la, lb, "row" };
	for (int k = 0; k < 3; k++) {
		buf_addf(out, "\twmma.load.%c.sync.aligned.%s.%s.%s", "abc"[k], layouts[k], p->shape, k < 2 ? p->type : p->c_type);
		add_registers(out, "abc"[k], (uint32_t)counts[k]);
		buf_addf(out, ", [%%p%d];\n", k);
	}
	buf_addf(out, "\twmma.mma%s.sync.aligned.%s.%s.%s.%s", p->operation, la, lb, p->shape, p->types);
	for (int q = 3; q < 7; q++) {
		add_registers(out, "abcd"[q % 4], (uint32_t)counts[q % 4]);
		buf_adds(out, q < 6 ? "," : ";\n");
	}
	buf_addf(out, "\twmma.store.d.sync.aligned.row.%s.%s [%%p3],", p->shape, p->c_type);
	add_registers(out, 'd', (uint32_t)p->c_registers);
	buf_adds(out, ";\n\tret;\n}\n");
}

static void
run_product(const struct product *p, bool a_columns, bool b_columns)
{
	struct buf text = BUF_INIT;
	struct rig r;
	static int a[32 * 128], b[128 * 32], c[32 * 32];
	uint64_t random = 7;
	int bits = bits_of(p->type), low = p->type[0] == 'u' || bits == 1 ? 0 : -7, span = bits == 1 ? 2 : 15;
	write_product(&text, p, a_columns, b_columns);
	rig_open(&r, text.data, text.len, NULL);
	uint8_t *pa = rig_buffer(&r, "a", 4096, PTX_READ, true), *pb = rig_buffer(&r, "b", 4096, PTX_READ, true);
	uint8_t *pc = rig_buffer(&r, "c", 8192, PTX_READ, true), *pd = rig_buffer(&r, "d", 8192, PTX_READ_WRITE, true);
	uint8_t expected[8192];
	memset(pa, 0, 4096);
	memset(pb, 0, 4096);
	memset(pd, 0, 8192);
	memset(expected, 0, sizeof expected);
	for (int m = 0; m < p->m; m++)
		for (int k = 0; k < p->k; k++)
			put_number(pa, (size_t)(a_columns ? k * p->m + m : m * p->k + k), p->type,
				a[m * p->k + k] = low + (int)(next(&random) % (uint64_t)span));
	for (int k = 0; k < p->k; k++)
		for (int n = 0; n < p->n; n++)
			put_number(pb, (size_t)(b_columns ? n * p->k + k : k * p->n + n), p->type,
				b[k * p->n + n] = low + (int)(next(&random) % (uint64_t)span));
	for (int m = 0; m < p->m; m++)
		for (int n = 0; n < p->n; n++) {
			int sum = c[m * p->n + n] = (int)(next(&random) % 9);
			put_number(pc, (size_t)(m * p->n + n), p->c_type, sum);
			for (int k = 0; k < p->k; k++) {
				int x = a[m * p->k + k], y = b[k * p->n + n];
				sum += bits > 1 ? x * y : strcmp(p->operation, ".xor.popc") ? x & y : x ^ y;
			}
			put_number(expected, (size_t)(m * p->n + n), p->c_type, sum);
		}
	uint64_t params[4] = { (uint64_t)(uintptr_t)pa, (uint64_t)(uintptr_t)pb, (uint64_t)(uintptr_t)pc, (uint64_t)(uintptr_t)pd };
	if (rig_run(&r, "k", 1, 32, params, sizeof params) != PTX_OK)
		fail_msg("%s.%s: %s", p->shape, p->types, buf_str(&r.err));
	if (memcmp(pd, expected, (size_t)(p->m * p->n * bits_of(p->c_type) / 8)))
		fail_msg("wmma %s.%s%s with %d, %d is wrong", p->shape, p->types, p->operation, a_columns, b_columns);
	rig_close(&r);
	buf_release(&text);
}

static void
test_wmma_products(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof products / sizeof *products; k++)
		for (int layout = 0; layout < 4; layout++)
			if (bits_of(products[k].type) >= 8 || layout == 2)	/* the narrow ones are row by column alone */
				run_product(&products[k], layout & 1, layout >> 1);
}

int
main(void)
{
	enum { SHAPES = sizeof shapes / sizeof *shapes };
	static struct CMUnitTest list[SHAPES + 2] = { [SHAPES] = cmocka_unit_test(test_wmma_layouts),
		cmocka_unit_test(test_wmma_products) };
	for (size_t k = 0; k < SHAPES; k++)
		list[k] = (struct CMUnitTest){ shapes[k].text, check_shape, NULL, NULL, (void *)(uintptr_t)&shapes[k] };
	return cmocka_run_group_tests_name("ptx tensor cores", list, NULL, NULL);
}
