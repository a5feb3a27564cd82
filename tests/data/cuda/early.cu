// Host code that runs before solve(): a static initialiser may compute, and may not reach for files.
#include <stdio.h>

static FILE *file = fopen("/etc/passwd", "r");

__global__ void k(float *y) { y[0] = 1; }

void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	if (file)
		k<<<1, 1, 0, stream>>>(y);
}
