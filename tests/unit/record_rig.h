/* For the tests of the recorder: one signature of solve(), and builds of files for it. */
#ifndef TESTS_RECORD_RIG_H
#define TESTS_RECORD_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/io.h"
#include "cuda/record.h"

static char *cache;		/* folder of the builds, made by the test's set-up */
static struct cuda_argument arguments[] = {
	{ CUDA_INPUT, "x", "float32", 4096, 0 },
	{ CUDA_OUTPUT, "y", "float32", 4096, 0 },
	{ CUDA_SCALAR, "N", "int64", 0, 0 },
};

/* The folder of the build, owned; NULL with what the compiler said on standard error. */
static char *
build_file(const char *path)
{
	struct buf source = BUF_INIT, prelude = BUF_INIT, err = BUF_INIT;
	struct cuda_build build = CUDA_BUILD_INIT;

	if (buf_read_file(&source, path, 1 << 20, &err) < 0 || cuda_prelude(arguments, 3, &prelude, &err) < 0 ||
	    cuda_build(source.data, source.len, buf_str(&prelude), CUDA_ARCH_DEFAULT, cache, NULL, &build, &err) < 0)
		print_error("%s\n", buf_str(&err));
	else if (build.verdict != CUDA_OK)
		print_error("%s\n", buf_str(&build.log));
	buf_release(&source);
	buf_release(&prelude);
	buf_release(&err);
	buf_release(&build.log);
	return build.folder;
}

#endif
