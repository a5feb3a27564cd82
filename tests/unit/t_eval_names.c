/* Mangled names in sentences. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "eval/names.h"

static void
names_read_as_in_the_source(void **state)
{
	static const char *const cases[][2] = {
		{ "_Z5scalePfl", "scale" },
		{ "kernel _Z11masked_meanPKfPKbPfl, at", "kernel masked_mean, at" },
		{ "of _ZZ11masked_meanPKfPKbPflE6counts.", "of counts." },
		{ "_ZN12_GLOBAL__N_15reachEPf", "reach" },
		{ "_Z4tileILi16ELb1EEvPKfPf", "tile" },
		{ "_ZN2km5inner4stepEv", "step" },
		{ "_ZL7weights", "weights" },
		{ "plain solve_1 and _Zebra _Z99short _Z", "plain solve_1 and _Zebra _Z99short _Z" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf out = BUF_INIT;

		names_readable(cases[i][0], &out);
		assert_string_equal(buf_str(&out), cases[i][1]);
		buf_release(&out);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(names_read_as_in_the_source) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
