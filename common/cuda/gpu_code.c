/* PTX, fatbin and plan text in, functions and relocated arguments out. Buffers keep their recorded addresses; only
 * words that point into the module's variables move, for the driver alone says where those lie. */
#include "cuda/gpu.h"

#include <string.h>

#include "base/die.h"

enum { MAX_SYMBOL_BYTES = 256 << 20 };

/* Words of eight bytes at any offset: structures may be packed. */
static void
relocate(const struct gpu *g, const struct gpu_code *code, uint8_t *bytes, uint64_t count)
{
	for (uint64_t i = 0; i + 8 <= count;) {
		uint64_t word, moved;

		memcpy(&word, bytes + i, 8);
		moved = gpu_address(g, code, word);
		memcpy(bytes + i, &moved, 8);
		i += moved == word ? 1 : 8;
	}
}

static void
relocate_arguments(const struct gpu *g, struct gpu_code *code)
{
	for (uint32_t i = 0; i < code->plan->operations; i++) {
		const struct plan_operation *o = &code->plan->operation[i];
		const uint8_t *from = o->kind == PLAN_LAUNCH ? o->launch.arguments : o->kind == PLAN_UPLOAD ? o->memory.data : NULL;
		uint64_t bytes = o->kind == PLAN_LAUNCH ? o->launch.argument_bytes : o->kind == PLAN_UPLOAD ? o->memory.width : 0;

		free(code->arguments[i]);
		code->arguments[i] = NULL;
		if (!from)
			continue;
		code->arguments[i] = xmalloc(bytes + 1);
		if (bytes)
			memcpy(code->arguments[i], from, bytes);
		relocate(g, code, code->arguments[i], bytes);
	}
}

/* The driver's layout against that of the plan. 0, or -1 with a sentence. */
static int
check_layout(CUfunction function, const struct plan_kernel *k, struct buf *err)
{
	size_t offset, bytes;
	uint32_t i = 0;

	for (; CALL(cuFuncGetParamInfo, function, i, &offset, &bytes) == CUDA_SUCCESS; i++)
		if (i >= k->parameters || offset != k->parameter[i].offset || bytes != k->parameter[i].bytes)
			return buf_err(err, "the driver lays out parameter %u of kernel %s otherwise than the PTX", i, k->name);
	return i == k->parameters ? 0 : buf_err(err, "the driver counts %u parameters of kernel %s, the PTX %u", i, k->name,
		k->parameters);
}

/* The most shared memory and the largest cluster that any launch of the kernel asks for. */
static CUresult
allow_launches(const struct gpu_code *code, uint32_t kernel)
{
	uint32_t shared = 0, cluster = 0;
	CUresult result = CUDA_SUCCESS;

	for (uint32_t i = 0; i < code->plan->operations; i++) {
		const struct plan_launch *l = &code->plan->operation[i].launch;
		uint32_t blocks;

		if (code->plan->operation[i].kind != PLAN_LAUNCH || l->kernel != kernel)
			continue;
		blocks = l->cluster[0] * l->cluster[1] * l->cluster[2];
		shared = l->dynamic_shared_bytes > shared ? l->dynamic_shared_bytes : shared;
		cluster = blocks > cluster ? blocks : cluster;
	}
	if (shared > 48 << 10)
		result = CALL(cuFuncSetAttribute, code->function[kernel], CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
			(int)shared);
	if (result == CUDA_SUCCESS && cluster > 8)
		result = CALL(cuFuncSetAttribute, code->function[kernel], CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
	return result;
}

static CUresult
find_symbols(struct gpu_code *code)
{
	for (uint32_t i = 0; i < code->plan->symbols; i++) {
		CUdeviceptr at;
		size_t bytes;
		CUresult result = CALL(cuModuleGetGlobal, &at, &bytes, code->module, code->plan->symbol[i].name);

		if (result == CUDA_ERROR_NOT_FOUND) {	/* the machine code has no such variable: nothing uses it */
			code->symbol_address[i] = code->plan->symbol[i].address;
			continue;
		}
		if (result != CUDA_SUCCESS)
			return result;
		code->symbol_address[i] = at;
	}
	return CUDA_SUCCESS;
}

static bool
symbol_is_real(const struct gpu_code *code, uint32_t i)
{
	return code->symbol_address[i] != code->plan->symbol[i].address && code->plan->symbol[i].bytes;
}

CUresult
gpu_code_variables(const struct gpu_code *code, struct buf *out)
{
	buf_reset(out);
	for (uint32_t i = 0; i < code->plan->symbols; i++) {
		uint64_t bytes = code->plan->symbol[i].bytes;

		if (!symbol_is_real(code, i) || out->len + bytes > MAX_SYMBOL_BYTES)
			continue;
		buf_reserve(out, bytes);
		CUresult result = CALL(cuMemcpyDtoH, out->data + out->len, code->symbol_address[i], bytes);
		if (result != CUDA_SUCCESS)
			return result;
		out->len += bytes;
	}
	return CUDA_SUCCESS;
}

static CUresult
put_variables(const struct gpu_code *code, const struct buf *content, CUstream stream)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < code->plan->symbols; i++) {
		uint64_t bytes = code->plan->symbol[i].bytes;

		if (!symbol_is_real(code, i) || at + bytes > MAX_SYMBOL_BYTES)
			continue;
		CUresult result = CALL(cuMemcpyHtoDAsync, code->symbol_address[i], content->data + at, bytes, stream);
		if (result != CUDA_SUCCESS)
			return result;
		at += bytes;
	}
	return CUDA_SUCCESS;
}

CUresult
gpu_code_restore(struct gpu *g, struct gpu_code *code, CUstream stream)
{
	(void)g;
	return put_variables(code, &code->initial, stream);
}

CUresult
gpu_code_extrapolate(struct gpu_code *code, const struct buf *before, uint32_t calls, bool *changed, CUstream stream)
{
	struct buf now = BUF_INIT;
	CUresult result = gpu_code_variables(code, &now);
	uint64_t at = 0;

	*changed = result == CUDA_SUCCESS && now.len == before->len && now.len && memcmp(now.data, before->data, now.len) != 0;
	for (uint32_t i = 0; *changed && i < code->plan->symbols && at < now.len; i++) {
		uint64_t bytes = code->plan->symbol[i].bytes;

		if (!symbol_is_real(code, i) || bytes > now.len - at)
			continue;
		for (uint64_t offset = 0; offset + 4 <= bytes; offset += 4) {
			uint32_t was, is;

			memcpy(&was, before->data + at + offset, 4);
			memcpy(&is, now.data + at + offset, 4);
			is += calls * (is - was);
			memcpy(now.data + at + offset, &is, 4);
		}
		at += bytes;
	}
	if (*changed)
		result = put_variables(code, &now, stream);
	if (*changed && result == CUDA_SUCCESS)
		result = CALL(cuStreamSynchronize, stream);
	buf_release(&now);
	return result;
}

CUresult
gpu_code_load(struct gpu *g, struct gpu_code *code, struct buf *err)
{
	CUresult result;

	if (code->module)
		CALL(cuModuleUnload, code->module);
	code->module = NULL;
	result = CALL(cuModuleLoadData, &code->module, code->fatbin.data);
	for (uint32_t i = 0; i < code->plan->kernels && result == CUDA_SUCCESS; i++) {
		result = CALL(cuModuleGetFunction, &code->function[i], code->module, code->plan->kernel[i].name);
		if (result == CUDA_SUCCESS && check_layout(code->function[i], &code->plan->kernel[i], err))
			die(EX_SOFTWARE, "%s", buf_str(err));
		if (result == CUDA_SUCCESS)
			result = allow_launches(code, i);
	}
	if (result == CUDA_SUCCESS)
		result = find_symbols(code);
	if (result == CUDA_SUCCESS)
		result = gpu_code_variables(code, &code->initial);
	if (result == CUDA_SUCCESS)
		relocate_arguments(g, code);
	return result;
}

int
gpu_code_open(struct gpu *g, struct gpu_code *code, const struct buf *ptx, const struct buf *fatbin,
	const struct buf *plan, const struct plan_buffer *buffers, uint32_t count, struct buf *err)
{
	enum cuda_verdict verdict;

	(void)g;
	*code = (struct gpu_code){ .info = ptxinfo_read(buf_str(ptx), ptx->len, fatbin->data, fatbin->len, err) };
	if (!code->info)
		return -1;
	code->plan = plan_parse(buf_str(plan), plan->len, code->info, buffers, count, &verdict, err);
	if (!code->plan)
		return -1;
	buf_add(&code->fatbin, fatbin->data, fatbin->len);
	code->function = xcalloc(code->plan->kernels + 1, sizeof *code->function);
	code->symbol_address = xcalloc(code->plan->symbols + 1, sizeof *code->symbol_address);
	code->arguments = xcalloc(code->plan->operations + 1, sizeof *code->arguments);
	return 0;
}

void
gpu_code_close(struct gpu *g, struct gpu_code *code)
{
	(void)g;
	if (code->module)
		CALL(cuModuleUnload, code->module);
	for (uint32_t i = 0; code->plan && i < code->plan->operations; i++)
		free(code->arguments[i]);
	free(code->arguments);
	free(code->function);
	free(code->symbol_address);
	buf_release(&code->fatbin);
	buf_release(&code->initial);
	if (code->plan)
		plan_free(code->plan);
	if (code->info)
		ptxinfo_free(code->info);
	*code = (struct gpu_code){ .info = NULL };
}
