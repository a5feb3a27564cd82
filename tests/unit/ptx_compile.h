/* nvcc for the tests of the PTX machine: PTX with line information, kept beside the program while the source is older. */
#ifndef TESTS_PTX_COMPILE_H
#define TESTS_PTX_COMPILE_H

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ptx_rig.h"

#include "base/io.h"
#include "base/spawn.h"

/* The PTX of FOLDER/NAME.cu, appended to ptx. */
static inline void
compile_in(const char *folder, const char *name, struct buf *ptx)
{
	char self[4096], kept[4200], cached[4400], source[256];
	struct stat a, b;
	struct buf err = BUF_INIT;
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	assert_true(n > 0);
	self[n] = 0;
	*strrchr(self, '/') = 0;
	snprintf(kept, sizeof kept, "%s/ptx", self);
	snprintf(cached, sizeof cached, "%s/%s.ptx", kept, name);
	snprintf(source, sizeof source, "%s/%s.cu", folder, name);
	assert_int_equal(io_make_dirs(kept, &err), 0);
	if (stat(source, &a))
		fail_msg("%s is not there: run the test from the repository's root", source);
	if (stat(cached, &b) || b.st_mtime < a.st_mtime) {
		char temporary[4500];
		snprintf(temporary, sizeof temporary, "%s.tmp%d", cached, (int)getpid());
		char *argv[] = { "/bin/sh", "-c", "PATH=$PATH:/usr/local/cuda/bin exec nvcc -std=c++17 -arch=sm_90 "
			"-lineinfo -ptx -o \"$1\" \"$2\"",
			"sh", temporary, source, NULL };
		struct spawn how = { .argv = argv, .envp = (char *[]){ "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", NULL },
			.errors = &err, .wall_ms = 300000 };
		struct spawn_result result;
		if (spawn_run(&how, &result, &err) || result.exit_status)
			fail_msg("nvcc: %s", buf_str(&err));
		assert_int_equal(rename(temporary, cached), 0);
	}
	if (buf_read_file(ptx, cached, 64 << 20, &err))
		fail_msg("%s", buf_str(&err));
	buf_release(&err);
}

#endif
