/* In: sums of products of halves that rounding to float first would get wrong. Out: the halves nearest to the exact
 * values (worked out with fractions), by the machine's fma in all lanes and both halves of a register. */
#include "ptx_rig.h"

static const char fma_text[] = RIG_HEADER
	".visible .entry fma(.param .u64 data)\n{\n\t.reg .b32 %r<8>;\n\t.reg .b64 %rd<4>;\n"
	"\tld.param.u64 %rd1, [data];\n"
	"\tmov.u32 %r1, %tid.x;\n\tmul.wide.u32 %rd2, %r1, 16;\n\tadd.s64 %rd3, %rd1, %rd2;\n"
	"\tld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd3];\n\tfma.rn.f16x2 %r5, %r2, %r3, %r4;\n"
	"\tst.global.u32 [%rd3+12], %r5;\n\tret;\n}\n";

static void
test_halves_are_rounded_once(void **state)
{
	static const uint16_t cases[][4] = { { 0xd31c, 0xe100, 0x913b, 0x7871 }, { 0xd820, 0xdb50, 0x0954, 0x778b },
		{ 0x62ee, 0x2b81, 0xf3cd, 0xf3c7 }, { 0x69ea, 0xc100, 0x807b, 0xef65 }, { 0xd9b6, 0x5100, 0x0948, 0xef23 },
		{ 0xe2c6, 0xc956, 0xb81f, 0x7085 }, { 0x3c00, 0x3c00, 0xbc00, 0x0000 }, { 0x7c00, 0x0000, 0x3c00, 0x7fff },
		{ 0x7bff, 0x7bff, 0x0000, 0x7c00 }, { 0x0001, 0x3800, 0x0000, 0x0000 }, { 0x0001, 0x3a00, 0x0000, 0x0001 } };
	enum { N = sizeof cases / sizeof *cases };
	struct rig r;
	(void)state;
	rig_open(&r, fma_text, sizeof fma_text - 1, NULL);
	uint32_t (*data)[4] = rig_buffer(&r, "data", 32 * sizeof *data, PTX_READ_WRITE, true);
	for (int l = 0; l < 32; l++)
		for (int k = 0; k < 4; k++)
			data[l][k] = k == 3 ? 0 : cases[l % N][k] | (uint32_t)cases[(l + 1) % N][k] << 16;
	const void *params = data;
	assert_int_equal(rig_run(&r, "fma", 1, 32, &params, sizeof params), PTX_OK);
	for (int l = 0; l < 32; l++)
		assert_int_equal(data[l][3], cases[l % N][3] | (uint32_t)cases[(l + 1) % N][3] << 16);
	rig_close(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_halves_are_rounded_once) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
