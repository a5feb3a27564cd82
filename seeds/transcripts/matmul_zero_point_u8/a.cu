// Quantised matrix product, tiled: 32 rows of a and of b, 64 bytes deep, in shared memory as words; every thread
// makes 2 x 2 outputs. The zero points are taken off afterwards, from the sums of the rows:
// sum (a - za)(b - zb) = sum ab - zb sum a - za sum b + K za zb.
#include <stdint.h>

#define TILE 32
#define WORDS 16

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

__device__ __forceinline__ int byte_of(uint32_t word, int byte)
{
	return word >> 8 * byte & 255;
}

__global__ void product(const uint8_t *a, const uint8_t *b, int32_t *y, int64_t M, int64_t N, int64_t K, int za, int zb)
{
	__shared__ uint32_t left[TILE][WORDS + 1], right[TILE][WORDS + 1];
	int64_t i0 = (int64_t)blockIdx.y * TILE, j0 = (int64_t)blockIdx.x * TILE;
	int thread = threadIdx.y * 16 + threadIdx.x;
	int sum[2][2] = {}, sum_a[2] = {}, sum_b[2] = {};

	for (int64_t k0 = 0; k0 < K; k0 += 4 * WORDS) {
		for (int e = thread; e < TILE * WORDS; e += 256) {
			int64_t row = e / WORDS, k = k0 + e % WORDS * 4;

			left[e / WORDS][e % WORDS] = i0 + row < M ? load_word(a + (i0 + row) * K, k, K) : 0;
			right[e / WORDS][e % WORDS] = j0 + row < N ? load_word(b + (j0 + row) * K, k, K) : 0;
		}
		__syncthreads();
#pragma unroll 4
		for (int w = 0; w < WORDS; w++) {
			uint32_t p[2] = { left[threadIdx.y][w], left[threadIdx.y + 16][w] };
			uint32_t q[2] = { right[threadIdx.x][w], right[threadIdx.x + 16][w] };

#pragma unroll
			for (int byte = 0; byte < 4; byte++) {
				int a0 = byte_of(p[0], byte), a1 = byte_of(p[1], byte);
				int b0 = byte_of(q[0], byte), b1 = byte_of(q[1], byte);

				sum[0][0] += a0 * b0;
				sum[0][1] += a0 * b1;
				sum[1][0] += a1 * b0;
				sum[1][1] += a1 * b1;
				sum_a[0] += a0;
				sum_a[1] += a1;
				sum_b[0] += b0;
				sum_b[1] += b1;
			}
		}
		__syncthreads();
	}
	for (int r = 0; r < 2; r++) {
		for (int c = 0; c < 2; c++) {
			int64_t i = i0 + threadIdx.y + 16 * r, j = j0 + threadIdx.x + 16 * c;

			if (i < M && j < N)
				y[i * N + j] = sum[r][c] - zb * sum_a[r] - za * sum_b[c] + (int)K * za * zb;
		}
	}
}

extern "C" void solve(const uint8_t *a, const uint8_t *b, int32_t *y, int64_t M, int64_t N, int64_t K,
	int32_t za, int32_t zb, cudaStream_t stream)
{
	dim3 grid((unsigned)((N + TILE - 1) / TILE), (unsigned)((M + TILE - 1) / TILE));

	product<<<grid, dim3(16, 16), 0, stream>>>(a, b, y, M, N, K, za, zb);
}
