// Each row sorted by counting: one thread for an element finds how many elements of the row come before it, which
// is its place in the sorted row.
#include <stdint.h>

#define THREADS 256

__global__ void sort_row(const int32_t *x, int32_t *y, int64_t D)
{
	const int32_t *row = x + (int64_t)blockIdx.x * D;

	for (int i = threadIdx.x; i < D; i += THREADS) {
		int32_t own = row[i];
		int place = 0;

		for (int k = 0; k < D; k++)
			place += row[k] < own || (row[k] == own && k < i);
		y[(int64_t)blockIdx.x * D + place] = own;
	}
}

extern "C" void solve(const int32_t *x, int32_t *y, int64_t R, int64_t D, cudaStream_t stream)
{
	sort_row<<<(unsigned)R, THREADS, 0, stream>>>(x, y, D);
}
