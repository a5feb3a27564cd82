// Each row sorted by a bitonic network in shared memory: one block for a row, one thread for an element of the row
// padded to a power of two with the largest int32.
#include <stdint.h>

__global__ void sort_row(const int32_t *x, int32_t *y, int64_t D)
{
	extern __shared__ int32_t element[];
	int i = threadIdx.x;

	element[i] = i < D ? x[(int64_t)blockIdx.x * D + i] : INT32_MAX;
	__syncthreads();
	for (int size = 2; size <= (int)blockDim.x; size *= 2) {
		for (int distance = size / 2; distance > 0; distance /= 2) {
			int partner = i ^ distance;

			if (partner < i) {
				__syncthreads();
				continue;
			}
			int32_t low = element[i], high = element[partner];
			bool ascending = (i & size) == 0;

			if ((low > high) == ascending) {
				element[i] = high;
				element[partner] = low;
			}
			__syncthreads();
		}
	}
	if (i < D)
		y[(int64_t)blockIdx.x * D + i] = element[i];
}

extern "C" void solve(const int32_t *x, int32_t *y, int64_t R, int64_t D, cudaStream_t stream)
{
	unsigned width = 1;

	while (width < D)
		width *= 2;
	sort_row<<<(unsigned)R, width, width * sizeof(int32_t), stream>>>(x, y, D);
}
