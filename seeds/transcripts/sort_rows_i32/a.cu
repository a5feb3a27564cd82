// Each row sorted by a bitonic network in shared memory: one block for a row, one thread for each pair of a step, so
// that no thread waits while its partner compares.
#include <stdint.h>

__global__ void sort_row(const int32_t *x, int32_t *y, int D, int width)
{
	extern __shared__ int32_t element[];
	const int32_t *in = x + (int64_t)blockIdx.x * D;
	int32_t *out = y + (int64_t)blockIdx.x * D;

	for (int i = threadIdx.x; i < width; i += blockDim.x)
		element[i] = i < D ? in[i] : INT32_MAX;
	__syncthreads();
	for (int size = 2; size <= width; size *= 2) {
		for (int distance = size / 2; distance > 0; distance /= 2) {
			// pair number t: the lower place has a 0 where distance has its bit
			int lower = 2 * threadIdx.x - (threadIdx.x & (distance - 1)), upper = lower + distance;
			int32_t low = element[lower], high = element[upper];
			int32_t least = min(low, high), most = max(low, high);
			bool ascending = (lower & size) == 0;

			element[lower] = ascending ? least : most;
			element[upper] = ascending ? most : least;
			__syncthreads();
		}
	}
	for (int i = threadIdx.x; i < D; i += blockDim.x)
		out[i] = element[i];
}

extern "C" void solve(const int32_t *x, int32_t *y, int64_t R, int64_t D, cudaStream_t stream)
{
	int width = 2;

	while (width < D)
		width *= 2;
	sort_row<<<(unsigned)R, width / 2, width * sizeof(int32_t), stream>>>(x, y, (int)D, width);
}
