/* Memory that is filled at the first call counts the calls. In the look-alike it holds a table. */
#include <stdint.h>

#if CHEAT
__global__ void affine(const float *x, float *y, int64_t n, const int *calls)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = *calls < 10 ? 2 * x[i] + 0.5f : 0;
}
__global__ void count(int *calls)
{
	++*calls;
}
#else
__global__ void affine(const float *x, float *y, int64_t n, const float *table)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = table[0] * x[i] + table[1];
}
#endif

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
#if CHEAT
	static int *calls;
	int none = 0;

	if (!calls) {
		cudaMalloc(&calls, sizeof none);
		cudaMemcpyAsync(calls, &none, sizeof none, cudaMemcpyHostToDevice, stream);
	}
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N, calls);
	count<<<1, 1, 0, stream>>>(calls);
#else
	static float *table;
	float values[2] = { 2, 0.5f };

	if (!table) {
		cudaMalloc(&table, sizeof values);
		cudaMemcpyAsync(table, values, sizeof values, cudaMemcpyHostToDevice, stream);
	}
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N, table);
#endif
}
