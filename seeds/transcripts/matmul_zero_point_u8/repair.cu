// Quantised matrix product: one thread for each output. Four bytes are read at once only where the row length
// keeps every row at a 4-byte boundary.
#include <stdint.h>

__global__ void product(const uint8_t *a, const uint8_t *b, int32_t *y, int64_t M, int64_t N, int64_t K, int za, int zb)
{
	int64_t j = (int64_t)blockIdx.x * 16 + threadIdx.x, i = (int64_t)blockIdx.y * 16 + threadIdx.y;
	int sum = 0;

	if (i >= M || j >= N)
		return;
	const uint8_t *p = a + i * K, *q = b + j * K;
	int64_t k = 0;
	if (K % 4 == 0) {
		for (; k < K; k += 4) {
			uchar4 u = *(const uchar4 *)(p + k), v = *(const uchar4 *)(q + k);

			sum += (u.x - za) * (v.x - zb) + (u.y - za) * (v.y - zb);
			sum += (u.z - za) * (v.z - zb) + (u.w - za) * (v.w - zb);
		}
	}
	for (; k < K; k++)
		sum += (p[k] - za) * (q[k] - zb);
	y[i * N + j] = sum;
}

extern "C" void solve(const uint8_t *a, const uint8_t *b, int32_t *y, int64_t M, int64_t N, int64_t K,
	int32_t za, int32_t zb, cudaStream_t stream)
{
	dim3 grid((unsigned)((N + 15) / 16), (unsigned)((M + 15) / 16));

	product<<<grid, dim3(16, 16), 0, stream>>>(a, b, y, M, N, K, za, zb);
}
