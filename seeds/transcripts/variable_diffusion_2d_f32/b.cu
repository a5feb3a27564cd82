// Two explicit steps of heat flow in one launch: a block stages a 20 x 36 patch of u and k, makes the first step on
// the inner 18 x 34 of it and the second on its own 16 x 32 cells.
#include <stdint.h>

#define ROWS 16
#define COLUMNS 32
#define HALO 2
#define HIGH (ROWS + 2 * HALO)
#define WIDE (COLUMNS + 2 * HALO)
#define THREADS 256

// Cell (r, c) of the patch after one step; (i, j) is its place in the grid. Nothing flows from cells outside the
// grid, which the patch does not hold.
__device__ float stepped(float (*u)[WIDE], float (*k)[WIDE], int r, int c, int64_t i, int64_t j,
	int64_t H, int64_t W, float dt)
{
	float own = u[r][c], conductivity = k[r][c], gain = 0;

	if (i > 0)
		gain += (conductivity + k[r - 1][c]) * (u[r - 1][c] - own);
	if (i + 1 < H)
		gain += (conductivity + k[r + 1][c]) * (u[r + 1][c] - own);
	if (j > 0)
		gain += (conductivity + k[r][c - 1]) * (u[r][c - 1] - own);
	if (j + 1 < W)
		gain += (conductivity + k[r][c + 1]) * (u[r][c + 1] - own);
	return own + 0.5f * dt * gain;
}

__global__ void two_steps(const float *u, const float *k, float *y, int64_t H, int64_t W, float dt)
{
	__shared__ float before[HIGH][WIDE], conductivity[HIGH][WIDE], after[HIGH][WIDE];
	int64_t top = (int64_t)blockIdx.y * ROWS - HALO, left = (int64_t)blockIdx.x * COLUMNS - HALO;

	for (int e = threadIdx.x; e < HIGH * WIDE; e += THREADS) {
		int64_t i = top + e / WIDE, j = left + e % WIDE;

		if (i >= 0 && i < H && j >= 0 && j < W) {
			before[e / WIDE][e % WIDE] = u[i * W + j];
			conductivity[e / WIDE][e % WIDE] = k[i * W + j];
		}
	}
	__syncthreads();
	for (int e = threadIdx.x; e < HIGH * WIDE; e += THREADS) {
		int r = e / WIDE, c = e % WIDE;
		int64_t i = top + r, j = left + c;

		if (r > 0 && r < HIGH - 1 && c > 0 && c < WIDE - 1 && i >= 0 && i < H && j >= 0 && j < W)
			after[r][c] = stepped(before, conductivity, r, c, i, j, H, W, dt);
	}
	__syncthreads();
	for (int e = threadIdx.x; e < ROWS * COLUMNS; e += THREADS) {
		int r = e / COLUMNS + HALO, c = e % COLUMNS + HALO;
		int64_t i = top + r, j = left + c;

		if (i < H && j < W)
			y[i * W + j] = stepped(after, conductivity, r, c, i, j, H, W, dt);
	}
}

extern "C" void solve(const float *u, const float *k, float *y, int64_t H, int64_t W, float dt, cudaStream_t stream)
{
	dim3 grid((unsigned)((W + COLUMNS - 1) / COLUMNS), (unsigned)((H + ROWS - 1) / ROWS));

	two_steps<<<grid, THREADS, 0, stream>>>(u, k, y, H, W, dt);
}
