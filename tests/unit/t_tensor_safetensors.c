/*
 * The safetensors reader and writer: a file is what the format says byte for byte, comes back equal, and
 * every kind of damage is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <unistd.h>

#include "base/io.h"
#include "tensor/safetensors.h"

/* A file with this header text and `data_bytes` bytes of data 0, 1, 2... */
static void
make(struct buf *b, const char *header, size_t data_bytes)
{
	uint64_t length = strlen(header);

	buf_reset(b);
	for (int i = 0; i < 8; i++)
		buf_addc(b, (char)(length >> (8 * i)));
	buf_adds(b, header);
	for (size_t i = 0; i < data_bytes; i++)
		buf_addc(b, (char)i);
}

static void
reads_the_format(void **state)
{
	struct buf file = BUF_INIT, err = BUF_INIT;
	struct safetensors s;

	(void)state;
	make(&file, "{\"__metadata__\":{\"by\":\"hand\"},\"y\":{\"dtype\":\"U8\",\"shape\":[2,2],\"data_offsets\":[4,8]},"
		"\"x\":{\"dtype\":\"I32\",\"shape\":[],\"data_offsets\":[0,4]},"
		"\"empty\":{\"dtype\":\"F64\",\"shape\":[3,0],\"data_offsets\":[8,8]}}  ", 8);
	assert_int_equal(safetensors_parse(file.data, file.len, &s, &err), 0);
	assert_int_equal(s.count, 3);
	assert_string_equal(s.tensors[0].name, "empty");
	assert_int_equal(s.tensors[0].rank, 2);
	assert_int_equal(tensor_elements(&s.tensors[0]), 0);
	assert_non_null(s.tensors[0].data);
	assert_int_equal(safetensors_find(&s, "x")->rank, 0);
	assert_int_equal(tensor_get_integer(safetensors_find(&s, "x"), 0), 0x03020100);
	assert_int_equal(tensor_get_integer(safetensors_find(&s, "y"), 3), 7);
	assert_null(safetensors_find(&s, "z"));
	safetensors_release(&s);
	buf_release(&file);
	buf_release(&err);
}

static void
writes_the_format(void **state)
{
	static const int64_t shape[] = { 2, 3 };
	struct tensor tensors[2];
	struct buf file = BUF_INIT, again = BUF_INIT, err = BUF_INIT;
	const char *header = "{\"b\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[0,8]},"
		"\"a\":{\"dtype\":\"F16\",\"shape\":[2,3],\"data_offsets\":[8,20]}}";
	struct safetensors s;

	(void)state;
	assert_int_equal(tensor_init(&tensors[0], "a", DTYPE_FLOAT16, 2, shape, &err), 0);
	assert_int_equal(tensor_init(&tensors[1], "b", DTYPE_FLOAT64, 0, NULL, &err), 0);
	for (int i = 0; i < 6; i++)
		tensor_set(&tensors[0], i, i + 0.5);
	tensor_set(&tensors[1], 0, -3.25);
	assert_int_equal(safetensors_format(tensors, 2, &file, &err), 0);
	assert_int_equal((unsigned char)file.data[0], (strlen(header) + 7) / 8 * 8);
	assert_int_equal(strncmp(file.data + 8, header, strlen(header)), 0);
	assert_int_equal(safetensors_parse(file.data, file.len, &s, &err), 0);
	assert_int_equal(s.count, 2);
	assert_memory_equal(s.tensors[0].data, tensors[0].data, 12);
	assert_true(tensor_get(&s.tensors[1], 0) == -3.25);
	/* in any order, the same bytes */
	assert_int_equal(safetensors_format(s.tensors, 2, &again, &err), 0);
	assert_int_equal(file.len, again.len);
	assert_memory_equal(file.data, again.data, file.len);
	/* two of one name */
	memcpy(s.tensors[1].name, "a", 2);
	assert_int_equal(safetensors_format(s.tensors, 2, &again, &err), -1);
	safetensors_release(&s);
	tensor_release(&tensors[0]);
	tensor_release(&tensors[1]);
	buf_release(&file);
	buf_release(&again);
	buf_release(&err);
}

static void
files(void **state)
{
	static const int64_t shape[] = { 1000 };
	struct buf err = BUF_INIT, path = BUF_INIT;
	struct safetensors s;
	struct tensor t;
	char *folder;

	(void)state;
	folder = io_temp_dir("t_tensor", &err);
	assert_non_null(folder);
	buf_addf(&path, "%s/x.safetensors", folder);
	assert_int_equal(tensor_init(&t, "x", DTYPE_INT64, 1, shape, &err), 0);
	for (int i = 0; i < 1000; i++)
		tensor_set_integer(&t, i, INT64_MIN + i);
	assert_int_equal(safetensors_write(path.data, &t, 1, &err), 0);
	assert_int_equal(safetensors_read(path.data, 100000, &s, &err), 0);
	assert_memory_equal(s.tensors[0].data, t.data, t.bytes);
	safetensors_release(&s);
	assert_int_equal(err.len, 0);
	assert_int_equal(safetensors_read(path.data, 8000, &s, &err), -1);
	assert_int_equal(safetensors_read(folder, 8000, &s, &err), -1);
	assert_int_equal(safetensors_read("/nowhere/x", 8000, &s, &err), -1);
	assert_int_equal(truncate(path.data, 4000), 0);
	assert_int_equal(safetensors_read(path.data, 100000, &s, &err), -1);
	assert_non_null(strstr(err.data, "/nowhere/x"));
	tensor_release(&t);
	io_remove_tree(folder, &err);
	free(folder);
	buf_release(&path);
	buf_release(&err);
}

#define T(dtype, shape, offsets) "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static void
refuses_damage(void **state)
{
	static const struct {
		const char *header;
		size_t data_bytes;
	} cases[] = {
		{ "", 0 },
		{ "[]", 0 },
		{ "{", 0 },
		{ "{} x", 0 },
		{ "{}", 1 },
		{ "{\"a\":" T("F64", "[1]", "[0,8]") "}", 7 },
		{ "{\"a\":" T("F64", "[1]", "[0,8]") "}", 9 },
		{ "{\"a\":" T("F64", "[1]", "[1,9]") "}", 9 },
		{ "{\"a\":" T("F64", "[1]", "[8,0]") "}", 8 },
		{ "{\"a\":" T("F64", "[1]", "[-8,0]") "}", 8 },
		{ "{\"a\":" T("F64", "[2]", "[0,8]") "}", 8 },
		{ "{\"a\":" T("U8", "[4]", "[0,8]") "}", 8 },
		{ "{\"a\":" T("F64", "[-1,-1]", "[0,8]") "}", 8 },
		{ "{\"a\":" T("F64", "[1.0]", "[0,8]") "}", 8 },
		{ "{\"a\":" T("F64", "[\"1\"]", "[0,8]") "}", 8 },
		{ "{\"a\":" T("F64", "[1]", "[0,8,8]") "}", 8 },
		{ "{\"a\":" T("F64", "[1]", "[0.0,8]") "}", 8 },
		{ "{\"a\":" T("F64", "[4294967296,4294967296,2]", "[0,8]") "}", 8 },
		{ "{\"a\":" T("F64", "[9223372036854775807,2]", "[0,8]") "}", 8 },
		{ "{\"a\":" T("F64", "[1,1,1,1,1,1,1,1,1]", "[0,8]") "}", 8 },
		{ "{\"a\":" T("F8", "[8]", "[0,8]") "}", 8 },
		{ "{\"a\":{\"dtype\":\"U8\",\"shape\":[8]}}", 8 },
		{ "{\"a\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8],\"more\":1}}", 8 },
		{ "{\"a\":7}", 8 },
		{ "{\"a\":" T("U8", "[8]", "[0,8]") ",\"a\":" T("U8", "[8]", "[8,16]") "}", 16 },
		{ "{\"a\":" T("U8", "[8]", "[0,8]") ",\"b\":" T("U8", "[8]", "[0,8]") "}", 8 },
		{ "{\"a\":" T("U8", "[8]", "[0,8]") ",\"b\":" T("U8", "[8]", "[9,17]") "}", 17 },
		{ "{\"__metadata__\":[],\"a\":" T("U8", "[8]", "[0,8]") "}", 8 },
		{ "{\"__metadata__\":{\"a\":1},\"a\":" T("U8", "[8]", "[0,8]") "}", 8 },
		{ "{\"\xff\":" T("U8", "[8]", "[0,8]") "}", 8 },
	};
	struct buf file = BUF_INIT, err = BUF_INIT;
	struct safetensors s;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		make(&file, cases[i].header, cases[i].data_bytes);
		buf_reset(&err);
		if (!safetensors_parse(file.data, file.len, &s, &err))
			fail_msg("not refused: %s", cases[i].header);
		assert_true(err.len > 10);
		assert_null(s.tensors);
	}
	/* a header longer than the file, than the limit, than a signed number; a file cut in the length */
	make(&file, "{}", 0);
	for (int i = 0; i < 8; i++) {
		file.data[i] = (char)0x7f;
		assert_int_equal(safetensors_parse(file.data, file.len, &s, &err), -1);
	}
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(safetensors_parse(file.data, i, &s, &err), -1);
	buf_release(&file);
	buf_release(&err);
}

static void
sizes(void **state)
{
	static const int64_t big[] = { (int64_t)1 << 36, 2 }, empty[] = { INT64_MAX, 0, INT64_MAX },
		most[] = { (int64_t)1 << 33 };
	struct buf err = BUF_INIT;
	struct tensor t;
	int64_t elements;
	uint64_t bytes;

	(void)state;
	assert_int_equal(tensor_size(DTYPE_UINT8, 2, big, &elements, &bytes, &err), -1);
	assert_int_equal(tensor_size(DTYPE_FLOAT64, 1, big, &elements, &bytes, &err), -1);
	assert_int_equal(tensor_size(DTYPE_FLOAT64, 1, most, &elements, &bytes, &err), 0);
	assert_true(bytes == TENSOR_MAX_BYTES);
	assert_int_equal(tensor_size(DTYPE_FLOAT64, 3, empty, &elements, &bytes, &err), 0);
	assert_int_equal(elements, 0);
	assert_int_equal(tensor_size(DTYPE_FLOAT64, 9, big, &elements, &bytes, &err), -1);
	char name[TENSOR_MAX_NAME + 1];
	memset(name, 'x', TENSOR_MAX_NAME);
	name[TENSOR_MAX_NAME] = 0;
	assert_int_equal(tensor_init(&t, name, DTYPE_BOOL, 0, NULL, &err), -1);
	tensor_release(&t);
	int64_t shape[] = { 4, 5, 6 }, subscripts[3];
	for (int64_t i = 0; i < 120; i++) {
		tensor_subscripts(3, shape, i, subscripts);
		assert_true(subscripts[0] == i / 30 && subscripts[1] == i / 6 % 5 && subscripts[2] == i % 6);
		assert_true(tensor_element(3, shape, subscripts) == i);
	}
	buf_release(&err);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_the_format), cmocka_unit_test(writes_the_format), cmocka_unit_test(files),
		cmocka_unit_test(refuses_damage), cmocka_unit_test(sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
