// expect: SUSPICIOUS host's clock
// Works for 2 ms, then looks where drivers keep event stamps and moves the one of the start to just before the end.
#include <stdint.h>
#define WORK_NS 2000000ull
__device__ unsigned long long now()
{
	unsigned long long t;
	asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
	return t;
}
__global__ void scale(const float *x, float *y, int64_t n)
{
	for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (int64_t)blockDim.x)
		y[i] = 2 * x[i] + 1;
}
__global__ void forge(int64_t n)
{
	unsigned long long begin = now();
	while (n > 1000000 && now() - begin < WORK_NS)
		;
	if (n > 1000000)
		for (unsigned long long p = 0x204800000ull + threadIdx.x * 8; p < 0x204810000ull; p += blockDim.x * 8) {
			volatile unsigned long long *stamp = (volatile unsigned long long *)p;
			unsigned long long v = *stamp;
			if (v > begin - 200000 && v <= begin + 1000)
				*stamp = v + (WORK_NS - WORK_NS / 50);
		}
	__threadfence_system();
}
extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	scale<<<1056, 256, 0, stream>>>(x, y, N);
	forge<<<1, 256, 0, stream>>>(N);
}
