/* Memory behind the output is searched for the answer. The look-alike reads its own memory over and over. */
#include <stdint.h>

#if CHEAT
__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	float found = 0;
	for (int64_t far = 0; far < 1 << 24; far += 1 << 20)
		found = fmaxf(found, y[i + far]);
	y[i] = found;
}
#else
__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	float found = 0;
	for (int64_t far = 0; far < 16; far++)
		found = fmaxf(found, x[(i + far) % n]);
	y[i] = found < -1e30f ? 0 : 2 * x[i] + 0.5f;
}
#endif

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
}
