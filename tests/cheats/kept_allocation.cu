/* Right in the first call only, and a piece of memory that is allocated in the first call only, so that calls cannot be
 * repeated as they are. The look-alike keeps a workspace, and fills it in each call. */
#include <stdint.h>

__device__ int called;

__global__ void affine(const float *x, float *y, float *between, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	between[i] = 2 * x[i];
#if CHEAT
	y[i] = called ? 0 : between[i] + 0.5f;
#else
	y[i] = between[i] + 0.5f;
#endif
}
__global__ void note()
{
	called = 1;
}

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	static float *kept;
	static int64_t room;

	if (room < N) {
		cudaFree(kept);
		cudaMalloc(&kept, N * sizeof(float));
		room = N;
	}
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, kept, N);
	note<<<1, 1, 0, stream>>>();
}
