// The few functions of cuBLAS that llm.c's dev/cuda programs call, as plain kernels, so that the programs link and run
// without the library. Matrices are column by column. cublasLt is refused: its programs say so themselves.
#include <cublas_v2.h>
#include <cublasLt.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>

template <typename T, typename A>
__global__ void gemm(bool ta, bool tb, int m, int n, int k, A alpha, const T *a, int lda, long long sa, const T *b, int ldb,
	long long sb, A beta, T *c, int ldc, long long sc)
{
	int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
	if (row >= m || column >= n)
		return;
	a += blockIdx.z * sa;
	b += blockIdx.z * sb;
	c += blockIdx.z * sc;
	float sum = 0;
	for (int i = 0; i < k; i++)
		sum += (float)a[ta ? (size_t)row * lda + i : (size_t)i * lda + row] *
			(float)b[tb ? (size_t)i * ldb + column : (size_t)column * ldb + i];
	T *at = &c[(size_t)column * ldc + row];
	*at = (T)((float)alpha * sum + ((float)beta != 0 ? (float)beta * (float)*at : 0));
}

template <typename T, typename A>
static cublasStatus_t run(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, A alpha, const T *a, int lda,
	long long sa, const T *b, int ldb, long long sb, A beta, T *c, int ldc, long long sc, int batch)
{
	dim3 block(32, 4), grid((m + 31) / 32, (n + 3) / 4, batch);
	gemm<T, A><<<grid, block>>>(ta != CUBLAS_OP_N, tb != CUBLAS_OP_N, m, n, k, alpha, a, lda, sa, b, ldb, sb, beta, c, ldc, sc);
	return cudaGetLastError() == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

static int handle;

extern "C" {
cublasStatus_t cublasCreate_v2(cublasHandle_t *h) { *h = (cublasHandle_t)&handle; return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasDestroy_v2(cublasHandle_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) { return CUBLAS_STATUS_SUCCESS; }

cublasStatus_t cublasSgemm_v2(cublasHandle_t, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
	const float *alpha, const float *a, int lda, const float *b, int ldb, const float *beta, float *c, int ldc)
{
	return run(ta, tb, m, n, k, *alpha, a, lda, 0LL, b, ldb, 0LL, *beta, c, ldc, 0LL, 1);
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
	const float *alpha, const float *a, int lda, long long sa, const float *b, int ldb, long long sb, const float *beta,
	float *c, int ldc, long long sc, int batch)
{
	return run(ta, tb, m, n, k, *alpha, a, lda, sa, b, ldb, sb, *beta, c, ldc, sc, batch);
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
	const void *alpha, const void *a, cudaDataType type, int lda, long long sa, const void *b, cudaDataType, int ldb,
	long long sb, const void *beta, void *c, cudaDataType, int ldc, long long sc, int batch, cublasComputeType_t compute,
	cublasGemmAlgo_t)
{
	bool half_scale = compute == CUBLAS_COMPUTE_16F;
	float x = half_scale ? (float)*(const half *)alpha : *(const float *)alpha;
	float y = half_scale ? (float)*(const half *)beta : *(const float *)beta;
	if (type == CUDA_R_16F)
		return run(ta, tb, m, n, k, x, (const half *)a, lda, sa, (const half *)b, ldb, sb, y, (half *)c, ldc, sc, batch);
	if (type == CUDA_R_16BF)
		return run(ta, tb, m, n, k, x, (const __nv_bfloat16 *)a, lda, sa, (const __nv_bfloat16 *)b, ldb, sb, y,
			(__nv_bfloat16 *)c, ldc, sc, batch);
	if (type == CUDA_R_32F)
		return run(ta, tb, m, n, k, x, (const float *)a, lda, sa, (const float *)b, ldb, sb, y, (float *)c, ldc, sc, batch);
	return CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasSgemv_v2(cublasHandle_t, cublasOperation_t t, int m, int n, const float *alpha, const float *a, int lda,
	const float *x, int, const float *beta, float *y, int)
{
	bool turned = t != CUBLAS_OP_N;
	return run(t, CUBLAS_OP_N, turned ? n : m, 1, turned ? m : n, *alpha, a, lda, 0LL, x, turned ? m : n, 0LL, *beta, y,
		turned ? n : m, 0LL, 1);
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *h) { *h = (cublasLtHandle_t)&handle; return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }
#define REFUSE(name, ...) cublasStatus_t name(__VA_ARGS__) { return CUBLAS_STATUS_NOT_SUPPORTED; }
REFUSE(cublasLtMatmulDescCreate, cublasLtMatmulDesc_t *, cublasComputeType_t, cudaDataType_t)
REFUSE(cublasLtMatmulDescDestroy, cublasLtMatmulDesc_t)
REFUSE(cublasLtMatmulDescSetAttribute, cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, const void *, size_t)
REFUSE(cublasLtMatrixLayoutCreate, cublasLtMatrixLayout_t *, cudaDataType, uint64_t, uint64_t, int64_t)
REFUSE(cublasLtMatrixLayoutDestroy, cublasLtMatrixLayout_t)
REFUSE(cublasLtMatmulPreferenceCreate, cublasLtMatmulPreference_t *)
REFUSE(cublasLtMatmulPreferenceDestroy, cublasLtMatmulPreference_t)
REFUSE(cublasLtMatmulPreferenceSetAttribute, cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t, const void *,
	size_t)
REFUSE(cublasLtMatmulAlgoGetHeuristic, cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
	cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int, cublasLtMatmulHeuristicResult_t *, int *)
REFUSE(cublasLtMatmul, cublasLtHandle_t, cublasLtMatmulDesc_t, const void *, const void *, cublasLtMatrixLayout_t,
	const void *, cublasLtMatrixLayout_t, const void *, const void *, cublasLtMatrixLayout_t, void *, cublasLtMatrixLayout_t,
	const cublasLtMatmulAlgo_t *, void *, size_t, cudaStream_t)
}
