/* The trusted reader of PTX, the fatbin check, and the stand-in runtime's completeness. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/io.h"
#include "base/spawn.h"
#include "cuda/cuda.h"
#include "cuda/elf_view.h"
#include "cuda/fatbin.h"
#include "cuda/ptxinfo.h"

static void
tables_are_read(void **state)
{
	struct buf text = BUF_INIT, err = BUF_INIT;
	struct ptxinfo *info;
	const struct ptxinfo_kernel *add, *cl;

	(void)state;
	assert_int_equal(buf_read_file(&text, "tests/fuzz/corpus/cuda_ptxinfo/sm_90", 1 << 20, &err), 0);
	info = ptxinfo_read(text.data, text.len, NULL, 0, &err);
	if (!info)
		fail_msg("%s", buf_str(&err));
	assert_int_equal(info->kernels, 2);
	add = ptxinfo_kernel(info, "_Z3addPKf");
	assert_non_null(add);
	assert_int_equal(add->parameters, 3);
	assert_int_equal(add->parameter[0].offset, 0);
	assert_int_equal(add->parameter[0].bytes, 8);
	assert_false(add->parameter[0].aggregate);
	assert_int_equal(add->parameter[1].offset, 8);
	assert_int_equal(add->parameter[1].bytes, 24);
	assert_true(add->parameter[1].aggregate);
	assert_int_equal(add->parameter[2].offset, 32);
	assert_int_equal(add->parameter_bytes, 34);
	assert_int_equal(add->max_threads, 256);
	cl = ptxinfo_kernel(info, "cl");
	assert_int_equal(cl->max_threads, 64);
	assert_int_equal(cl->required_block[0], 64);
	assert_int_equal(cl->required_cluster[0], 2);
	assert_int_equal(cl->parameter_bytes, 0);
	assert_null(ptxinfo_kernel(info, "vprintf"));
	assert_int_equal(info->symbols, 2);
	assert_int_equal(ptxinfo_symbol(info, "c")->address, CUDA_SYMBOLS);
	assert_int_equal(ptxinfo_symbol(info, "c")->bytes, 16);
	assert_true(ptxinfo_symbol(info, "c")->constant);
	assert_int_equal(ptxinfo_symbol(info, "table")->bytes, 16);
	assert_int_equal(ptxinfo_symbol(info, "table")->address, CUDA_SYMBOLS + 2 * CUDA_GRANULE);
	assert_null(ptxinfo_symbol(info, "raw"));
	ptxinfo_free(info);
	buf_release(&text);
	buf_release(&err);
}

static void
parameters_are_aligned(void **state)
{
	static const char text[] = ".entry m(.param .u8 a, .param .u64 b, .param .align 4 .b8 c[6], .param .f16 d) { ret; }";
	static const uint32_t offsets[] = { 0, 8, 16, 22 };
	struct ptxinfo *info = ptxinfo_read(text, sizeof text - 1, NULL, 0, NULL);

	(void)state;
	assert_non_null(info);
	for (int i = 0; i < 4; i++)
		assert_int_equal(info->kernel[0].parameter[i].offset, offsets[i]);
	assert_int_equal(info->kernel[0].parameter_bytes, 24);
	ptxinfo_free(info);
}

static void
broken_text_is_refused(void **state)
{
	static const char *const texts[] = {
		".entry k(.param .u64 a",
		".entry k(.param .nonsense a) { }",
		".entry k(.param .align 3 .b8 a[4]) { }",
		".entry k(.param .b8 a[40000]) { }",
		".entry k(.param .b8 a[99999999999999999999]) { }",
		".entry k() { { }",
		".entry k() { } .entry k() { }",
		".global .b8 a[68719476736]; .global .b8 b[68719476736];",
		".global .b8 a[4294967296][4294967296];",
		".entry (",
		".global .attribute(.managed",
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct buf err = BUF_INIT;

		if (ptxinfo_read(texts[i], strlen(texts[i]), NULL, 0, &err) || !err.len)
			fail_msg("%s", texts[i]);
		buf_release(&err);
	}
}

/* The seed of the fuzzer: two bytes of length, a shared object, nvcc's fatbin. */
static void
images_are_compared(void **state)
{
	static const char ptx[] = ".entry _Z1kPf(.param .u64 a) { ret; }";
	struct buf seed = BUF_INIT, err = BUF_INIT;
	struct ptxinfo *info = ptxinfo_read(ptx, sizeof ptx - 1, NULL, 0, NULL);
	char *object, *fatbin;
	size_t object_bytes, fatbin_bytes;

	(void)state;
	assert_int_equal(buf_read_file(&seed, "tests/fuzz/corpus/cuda_fatbin/one-kernel", 1 << 20, &err), 0);
	object_bytes = (size_t)((uint8_t)seed.data[0] | (uint8_t)seed.data[1] << 8);
	object = seed.data + 2;
	fatbin = object + object_bytes;
	fatbin_bytes = seed.len - 2 - object_bytes;
	assert_int_equal(fatbin_check(object, object_bytes, fatbin, fatbin_bytes, &err), 0);
	assert_int_equal(fatbin_resources(fatbin, fatbin_bytes, info, &err), 0);
	assert_int_equal(info->kernel[0].static_shared, 256);
	assert_int_equal(info->kernel[0].registers, 10);
	fatbin[fatbin_bytes / 2] ^= 1;
	assert_int_equal(fatbin_check(object, object_bytes, fatbin, fatbin_bytes, &err), -1);
	fatbin[fatbin_bytes / 2] ^= 1;
	assert_int_equal(fatbin_check(object, object_bytes, fatbin, fatbin_bytes - 8, &err), -1);
	for (size_t n = 0; n < object_bytes; n += 37)
		assert_int_equal(fatbin_check(object, n, fatbin, fatbin_bytes, &err), -1);
	ptxinfo_free(info);
	buf_release(&seed);
	buf_release(&err);
}

/* ---- every function of the real runtime is there, so that any program loads and is told by name */
static bool
exports(const struct elf_view *view, const char *name)
{
	Elf64_Shdr section, strings;
	Elf64_Sym symbol;

	for (unsigned i = 0; elf_section(view, i, &section); i++) {
		if (section.sh_type != SHT_DYNSYM || !elf_section(view, section.sh_link, &strings))
			continue;
		for (uint64_t s = 0; s < section.sh_size / sizeof symbol; s++) {
			memcpy(&symbol, elf_section_bytes(view, &section) + s * sizeof symbol, sizeof symbol);
			if (symbol.st_shndx != SHN_UNDEF && !strcmp(elf_string(view, &strings, symbol.st_name), name))
				return true;
		}
	}
	return false;
}

static void
runtime_is_complete(void **state)
{
	struct buf real = BUF_INIT, ours = BUF_INIT, err = BUF_INIT, toolkit = BUF_INIT;
	char *path = spawn_libexec("recorder/libcudart.so.13");
	struct elf_view theirs, view;
	Elf64_Shdr section, strings;
	Elf64_Sym symbol;
	int seen = 0;

	(void)state;
	buf_addf(&toolkit, "%s/lib64/libcudart.so.13", getenv("CUDA") ? getenv("CUDA") : "/usr/local/cuda");
	if (buf_read_file(&real, buf_str(&toolkit), 64 << 20, &err) < 0 ||
	    buf_read_file(&ours, path, 64 << 20, &err) < 0)
		fail_msg("%s", buf_str(&err));
	assert_true(elf_open(&theirs, real.data, real.len) && elf_open(&view, ours.data, ours.len));
	for (unsigned i = 0; elf_section(&theirs, i, &section); i++) {
		if (section.sh_type != SHT_DYNSYM || !elf_section(&theirs, section.sh_link, &strings))
			continue;
		for (uint64_t s = 0; s < section.sh_size / sizeof symbol; s++) {
			const char *name;

			memcpy(&symbol, elf_section_bytes(&theirs, &section) + s * sizeof symbol, sizeof symbol);
			name = elf_string(&theirs, &strings, symbol.st_name);
			if (symbol.st_shndx == SHN_UNDEF || !strstr(name, "cuda") || !strncmp(name, "lib", 3))
				continue;
			seen++;
			if (!exports(&view, name))
				fail_msg("the recorder lacks %s", name);
		}
	}
	assert_true(seen > 400);
	/* And nothing of its own besides what km-record calls. */
	assert_false(exports(&view, "refuse"));
	assert_false(exports(&view, "fail"));
	free(path);
	buf_release(&toolkit);
	buf_release(&real);
	buf_release(&ours);
	buf_release(&err);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_are_read),
		cmocka_unit_test(parameters_are_aligned),
		cmocka_unit_test(broken_text_is_refused),
		cmocka_unit_test(images_are_compared),
		cmocka_unit_test(runtime_is_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
