// Sobel edge strength: a block stages the 10 x 34 patch of its 8 x 32 pixels in shared memory.
#include <stdint.h>

#define ROWS 8
#define COLUMNS 32

__global__ void sobel(const uint8_t *x, uint8_t *y, int64_t H, int64_t W)
{
	__shared__ uint8_t patch[ROWS + 2][COLUMNS + 2];
	int64_t i0 = (int64_t)blockIdx.y * ROWS, j0 = (int64_t)blockIdx.x * COLUMNS;

	for (int e = threadIdx.y * COLUMNS + threadIdx.x; e < (ROWS + 2) * (COLUMNS + 2); e += ROWS * COLUMNS) {
		int64_t i = i0 + e / (COLUMNS + 2) - 1, j = j0 + e % (COLUMNS + 2) - 1;

		i = i < 0 ? 0 : i < H ? i : H - 1;
		j = j < 0 ? 0 : j < W ? j : W - 1;
		patch[e / (COLUMNS + 2)][e % (COLUMNS + 2)] = x[i * W + j];
	}
	__syncthreads();
	int64_t i = i0 + threadIdx.y, j = j0 + threadIdx.x;
	if (i >= H || j >= W)
		return;
	const uint8_t *above = &patch[threadIdx.y][threadIdx.x], *here = &patch[threadIdx.y + 1][threadIdx.x];
	const uint8_t *below = &patch[threadIdx.y + 2][threadIdx.x];
	int gx = above[2] + 2 * here[2] + below[2] - above[0] - 2 * here[0] - below[0];
	int gy = below[0] + 2 * below[1] + below[2] - above[0] - 2 * above[1] - above[2];

	y[i * W + j] = (uint8_t)min(abs(gx) + abs(gy), 255);
}

extern "C" void solve(const uint8_t *x, uint8_t *y, int64_t H, int64_t W, cudaStream_t stream)
{
	dim3 grid((unsigned)((W + COLUMNS - 1) / COLUMNS), (unsigned)((H + ROWS - 1) / ROWS));

	sobel<<<grid, dim3(COLUMNS, ROWS), 0, stream>>>(x, y, H, W);
}
