// Each row sorted by a bitonic network: one thread for an element, which stays in a register. Partners within a warp
// swap by shuffles; only distances of 32 and more go through shared memory and barriers.
#include <stdint.h>

#define ALL 0xffffffffu

__global__ void sort_row(const int32_t *x, int32_t *y, int64_t D)
{
	extern __shared__ int32_t element[];
	int i = threadIdx.x;
	int32_t own = i < D ? x[(int64_t)blockIdx.x * D + i] : INT32_MAX;

	for (int size = 2; size <= (int)blockDim.x; size *= 2) {
		bool ascending = (i & size) == 0;
		int distance = size / 2;

		for (; distance >= 32; distance /= 2) {
			element[i] = own;
			__syncthreads();
			int32_t other = element[i ^ distance];

			own = ((i & distance) == 0) == ascending ? min(own, other) : max(own, other);
			__syncthreads();
		}
		for (; distance > 0; distance /= 2) {
			int32_t other = __shfl_xor_sync(ALL, own, distance);

			own = ((i & distance) == 0) == ascending ? min(own, other) : max(own, other);
		}
	}
	if (i < D)
		y[(int64_t)blockIdx.x * D + i] = own;
}

extern "C" void solve(const int32_t *x, int32_t *y, int64_t R, int64_t D, cudaStream_t stream)
{
	unsigned width = 32;

	while (width < D)
		width *= 2;
	sort_row<<<(unsigned)R, width, width * sizeof(int32_t), stream>>>(x, y, D);
}
