/* Architectures: what is asked for, what nvcc compiles for, which profile answers; and machine code of each architecture
 * read as ptxas says it is. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "cuda/arch.h"
#include "cuda/build.h"
#include "cuda/profile.h"
#include "cuda/ptxinfo.h"

static void
only_what_the_machine_runs_is_asked_for(void **state)
{
	static const char *const bad[] = { "", "sm_", "sm_75", "sm_100", "90a", "compute_90", "sm_ 90", "-90" };
	struct buf err = BUF_INIT;

	(void)state;
	assert_int_equal(cuda_arch_parse("sm_80", &err), 80);
	assert_int_equal(cuda_arch_parse("89", &err), 89);
	assert_int_equal(cuda_arch_parse("sm_90", &err), 90);
	assert_int_equal(err.len, 0);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		buf_reset(&err);
		assert_int_equal(cuda_arch_parse(bad[i], &err), -1);
		assert_non_null(strstr(buf_str(&err), "sm_80, sm_89 and sm_90"));
	}
	buf_release(&err);
}

/* 95 and 999 do not exist: their GPUs would translate the PTX of what nvcc 13 knows before them. */
static void
gpus_get_what_nvcc_knows(void **state)
{
	static const int cases[][2] = { { 80, 80 }, { 86, 86 }, { 89, 89 }, { 90, 90 }, { 95, 90 }, { 100, 100 }, { 120, 120 } };
	struct buf err = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(cuda_arch_for_gpu(cases[i][0], &err), cases[i][1]);
	assert_true(cuda_arch_for_gpu(999, &err) >= 120);
	assert_int_equal(err.len, 0);
	assert_int_equal(cuda_arch_for_gpu(75, &err), -1);
	assert_string_equal(buf_str(&err), "it is of sm_75, and code is built for sm_80 and later");
	buf_release(&err);
}

static void
profiles_are_of_the_gpu_or_its_nearest(void **state)
{
	static const struct { int arch; const char *name, *profile; } cases[] = {
		{ 90, NULL, "h200" }, { 90, "NVIDIA H200", "h200" }, { 90, "NVIDIA H100 80GB HBM3", "h100" },
		{ 80, NULL, "a100" }, { 80, "NVIDIA A30", "a100" }, { 89, NULL, "rtx4090" }, { 89, "NVIDIA L40S", "l40s" },
		{ 89, "NVIDIA L4", "rtx4090" }, { 100, "NVIDIA B200", "b200" }, { 103, NULL, "b200" }, { 121, NULL, "rtx5090" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *name = cuda_arch_profile(cases[i].arch, cases[i].name);
		struct buf path = BUF_INIT, text = BUF_INIT, err = BUF_INIT;
		struct gpu_profile profile;

		assert_string_equal(name, cases[i].profile);
		buf_addf(&path, "common/cuda/profiles/%s.profile", name);
		assert_int_equal(buf_read_file(&text, buf_str(&path), 1 << 20, &err), 0);
		assert_int_equal(profile_parse(buf_str(&text), &profile, &err), 0);
		/* 75 and 76: the compute capability. The nearest older GPU stands for 103 and 121. */
		assert_int_equal(10 * profile.attribute[75] + profile.attribute[76], cases[i].arch / 10 == 8 || cases[i].arch == 90
			? cases[i].arch : cases[i].arch / 10 * 10);
		buf_release(&path);
		buf_release(&text);
	}
}

/* ptxas.txt of a source of ours says the truth. */
static void
machine_code_is_read_as_ptxas_says(void **state)
{
	static const char source[] = "__global__ void k(const float *x, float *y)\n{\n\t__shared__ float tile[300];\n"
		"\ttile[threadIdx.x] = x[threadIdx.x];\n\t__syncthreads();\n\ty[threadIdx.x] = sinf(tile[299 - threadIdx.x]);\n}\n"
		"extern \"C\" void solve(const float *x, float *y, cudaStream_t stream) { k<<<1, 32, 0, stream>>>(x, y); }\n";
	static const struct cuda_argument arguments[] = { { CUDA_INPUT, "x", "float32", 0, 0 },
		{ CUDA_OUTPUT, "y", "float32", 0, 0 } };
	static const int archs[] = { 80, 89, 90, 100, 120 };
	struct buf prelude = BUF_INIT, err = BUF_INIT, path = BUF_INIT;
	char *folder = io_temp_dir("t_cuda_arch", &err);

	(void)state;
	assert_int_equal(cuda_prelude(arguments, 2, &prelude, &err), 0);
	for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
		struct cuda_build build;
		struct buf ptx = BUF_INIT, fatbin = BUF_INIT, said = BUF_INIT, target = BUF_INIT;
		const char *file[] = { "device.ptx", "device.fatbin", "ptxas.txt" };
		struct buf *content[] = { &ptx, &fatbin, &said };
		unsigned registers = 0;

		assert_int_equal(cuda_build(source, sizeof source - 1, buf_str(&prelude), archs[i], folder, NULL, &build, &err), 0);
		assert_int_equal(build.verdict, CUDA_OK);
		for (int k = 0; k < 3; k++) {
			buf_reset(&path);
			buf_addf(&path, "%s/%s", build.folder, file[k]);
			assert_int_equal(buf_read_file(content[k], buf_str(&path), 1 << 24, &err), 0);
		}
		buf_addf(&target, ".target sm_%d\n", archs[i]);
		assert_non_null(strstr(buf_str(&ptx), buf_str(&target)));
		struct ptxinfo *info = ptxinfo_read(buf_str(&ptx), ptx.len, fatbin.data, fatbin.len, &err);
		assert_non_null(info);
		assert_int_equal(info->kernels, 1);
		const char *used = strstr(buf_str(&said), "Used ");
		assert_int_equal(used && sscanf(used, "Used %u registers", &registers), 1);
		assert_int_equal(info->kernel[0].registers, registers);
		assert_int_equal(info->kernel[0].static_shared, 1200);
		ptxinfo_free(info);
		for (int k = 0; k < 3; k++)
			buf_release(content[k]);
		buf_release(&target);
		cuda_build_release(&build);
	}
	buf_release(&prelude);
	buf_release(&path);
	buf_release(&err);
	io_remove_tree(folder, NULL);
	free(folder);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_the_machine_runs_is_asked_for),
		cmocka_unit_test(gpus_get_what_nvcc_knows),
		cmocka_unit_test(profiles_are_of_the_gpu_or_its_nearest),
		cmocka_unit_test(machine_code_is_read_as_ptxas_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
