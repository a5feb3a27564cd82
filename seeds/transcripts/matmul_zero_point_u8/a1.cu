// Quantised matrix product, tiled: 64 rows of a and of b, 32 bytes deep, in shared memory as words; every thread
// makes 4 x 4 outputs, one dot product of four bytes for each pair of words (dp4a). The zero points are taken off
// afterwards, from the sums of the rows: sum (a - za)(b - zb) = sum ab - zb sum a - za sum b + K za zb.
#include <stdint.h>

#define TILE 64
#define WORDS 8
#define PER 4

// The word of four bytes at column k of a row, zero behind its end.
__device__ __forceinline__ uint32_t load_word(const uint8_t *row, int64_t k, int64_t K)
{
	uint32_t word = 0;

	if (K % 4 == 0)
		return k < K ? *(const uint32_t *)(row + k) : 0;
	for (int byte = 0; byte < 4; byte++) {
		if (k + byte < K)
			word |= (uint32_t)row[k + byte] << 8 * byte;
	}
	return word;
}

__global__ void product(const uint8_t *a, const uint8_t *b, int32_t *y, int64_t M, int64_t N, int64_t K, int za, int zb)
{
	__shared__ uint32_t left[TILE][WORDS + 1], right[TILE][WORDS + 1];
	int64_t i0 = (int64_t)blockIdx.y * TILE, j0 = (int64_t)blockIdx.x * TILE;
	int thread = threadIdx.y * 16 + threadIdx.x;
	unsigned sum[PER][PER] = {}, sum_a[PER] = {}, sum_b[PER] = {};
	const unsigned ones = 0x01010101u;

	for (int64_t k0 = 0; k0 < K; k0 += 4 * WORDS) {
		for (int e = thread; e < TILE * WORDS; e += 256) {
			int64_t row = e / WORDS, k = k0 + e % WORDS * 4;

			left[e / WORDS][e % WORDS] = i0 + row < M ? load_word(a + (i0 + row) * K, k, K) : 0;
			right[e / WORDS][e % WORDS] = j0 + row < N ? load_word(b + (j0 + row) * K, k, K) : 0;
		}
		__syncthreads();
#pragma unroll
		for (int w = 0; w < WORDS; w++) {
			uint32_t p[PER], q[PER];

#pragma unroll
			for (int r = 0; r < PER; r++) {
				p[r] = left[threadIdx.y + 16 * r][w];
				q[r] = right[threadIdx.x + 16 * r][w];
				sum_a[r] = __dp4a(p[r], ones, sum_a[r]);
				sum_b[r] = __dp4a(q[r], ones, sum_b[r]);
			}
#pragma unroll
			for (int r = 0; r < PER; r++) {
#pragma unroll
				for (int c = 0; c < PER; c++)
					sum[r][c] = __dp4a(p[r], q[c], sum[r][c]);
			}
		}
		__syncthreads();
	}
#pragma unroll
	for (int r = 0; r < PER; r++) {
#pragma unroll
		for (int c = 0; c < PER; c++) {
			int64_t i = i0 + threadIdx.y + 16 * r, j = j0 + threadIdx.x + 16 * c;

			if (i < M && j < N)
				y[i * N + j] = (int)sum[r][c] - zb * (int)sum_a[r] - za * (int)sum_b[c] + (int)K * za * zb;
		}
	}
}

extern "C" void solve(const uint8_t *a, const uint8_t *b, int32_t *y, int64_t M, int64_t N, int64_t K,
	int32_t za, int32_t zb, cudaStream_t stream)
{
	dim3 grid((unsigned)((N + TILE - 1) / TILE), (unsigned)((M + TILE - 1) / TILE));

	product<<<grid, dim3(16, 16), 0, stream>>>(a, b, y, M, N, K, za, zb);
}
