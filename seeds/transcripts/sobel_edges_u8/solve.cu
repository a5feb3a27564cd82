// Sobel edge strength: one thread for each pixel, its eight neighbours read with clamped coordinates.
#include <stdint.h>

__global__ void sobel(const uint8_t *x, uint8_t *y, int64_t H, int64_t W)
{
	int64_t j = (int64_t)blockIdx.x * 32 + threadIdx.x, i = (int64_t)blockIdx.y * 8 + threadIdx.y;

	if (i >= H || j >= W)
		return;
	int64_t left = j > 0 ? j - 1 : 0, right = j + 1 < W ? j + 1 : j;
	const uint8_t *above = x + (i > 0 ? i - 1 : 0) * W, *here = x + i * W;
	const uint8_t *below = x + (i + 1 < H ? i + 1 : i) * W;
	int gx = above[right] + 2 * here[right] + below[right] - above[left] - 2 * here[left] - below[left];
	int gy = below[left] + 2 * below[j] + below[right] - above[left] - 2 * above[j] - above[right];

	y[i * W + j] = (uint8_t)(abs(gx) + abs(gy));
}

extern "C" void solve(const uint8_t *x, uint8_t *y, int64_t H, int64_t W, cudaStream_t stream)
{
	dim3 grid((unsigned)((W + 31) / 32), (unsigned)((H + 7) / 8));

	sobel<<<grid, dim3(32, 8), 0, stream>>>(x, y, H, W);
}
