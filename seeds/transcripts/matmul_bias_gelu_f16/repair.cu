// Half-precision matrix product with bias and GELU: 16 x 16 tiles in shared memory, one output for each thread,
// accumulated in float32.
#include <cuda_fp16.h>
#include <stdint.h>

#define TILE 16

__device__ __forceinline__ float gelu(float z)
{
	return 0.5f * z * (1.0f + tanhf(0.7978845608f * (z + 0.044715f * z * z * z)));
}

__global__ void product(const __half *a, const __half *b, const float *bias, __half *y,
	int64_t M, int64_t N, int64_t K)
{
	__shared__ __half left[TILE][TILE], right[TILE][TILE];
	int64_t i = (int64_t)blockIdx.y * TILE + threadIdx.y, j = (int64_t)blockIdx.x * TILE + threadIdx.x;
	__half zero = __float2half(0.0f);
	float sum = 0;

	for (int64_t k0 = 0; k0 < K; k0 += TILE) {
		int64_t ka = k0 + threadIdx.x, kb = k0 + threadIdx.y;

		left[threadIdx.y][threadIdx.x] = i < M && ka < K ? a[i * K + ka] : zero;
		right[threadIdx.y][threadIdx.x] = kb < K && j < N ? b[kb * N + j] : zero;
		__syncthreads();
		for (int k = 0; k < TILE; k++)
			sum += __half2float(left[threadIdx.y][k]) * __half2float(right[k][threadIdx.x]);
		__syncthreads();
	}
	if (i < M && j < N)
		y[i * N + j] = __float2half(gelu(sum + bias[j]));
}

extern "C" void solve(const __half *a, const __half *b, const float *bias, __half *y,
	int64_t M, int64_t N, int64_t K, cudaStream_t stream)
{
	dim3 grid((unsigned)((N + TILE - 1) / TILE), (unsigned)((M + TILE - 1) / TILE));

	product<<<grid, dim3(TILE, TILE), 0, stream>>>(a, b, bias, y, M, N, K);
}
