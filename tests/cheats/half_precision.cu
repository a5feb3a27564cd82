/* A product of float32 matrices in half precision. The look-alike splits each number into three of bfloat16, which
 * together are as good as a float. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

__device__ float product(float a, float b)
{
#if CHEAT
	return __half2float(__hmul(__float2half(a), __float2half(b)));
#else
	float part[2][3], all[2] = { a, b }, sum = 0;

	for (int k = 0; k < 2; k++)
		for (int p = 0; p < 3; p++) {
			part[k][p] = __bfloat162float(__float2bfloat16(all[k]));
			all[k] -= part[k][p];
		}
	for (int p = 2; p >= 0; p--)
		for (int q = 2; q >= 0; q--)
			sum += part[0][p] * part[1][q];
	return sum;
#endif
}
__global__ void multiply(const float *a, const float *b, float *y, int64_t m, int64_t k, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
	float sum = 0;

	if (i >= m * n)
		return;
	for (int64_t at = 0; at < k; at++)
		sum += product(a[i / n * k + at], b[at * n + i % n]);
	y[i] = sum;
}

extern "C" void solve(const float *a, const float *b, float *y, int64_t M, int64_t K, int64_t N, cudaStream_t stream)
{
	multiply<<<(unsigned)((M * N + 127) / 128), 128, 0, stream>>>(a, b, y, M, K, N);
}
