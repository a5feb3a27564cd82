// Memory: vectors, shared memory, constants, local arrays, hints, tiles, symbols, copies behind the thread's back.
#include "kernels.h"
#include <cuda_pipeline.h>

KERNEL vector_access(const float *x, float *y)
{
	float4 a = reinterpret_cast<const float4 *>(x)[THREAD];
	float2 b = reinterpret_cast<const float2 *>(x)[THREAD * 2 + 1];
	reinterpret_cast<float4 *>(y)[THREAD] = make_float4(a.w, a.z + b.x, a.y - b.y, a.x * 2);
}
CASE(memory_float4) { vector_access<<<(unsigned)(n / 1024), 256, 0, stream>>>(x, y); }

KERNEL byte_access(const int32_t *k, int32_t *z)
{
	const uchar4 v = reinterpret_cast<const uchar4 *>(k)[THREAD];
	const short2 s = reinterpret_cast<const short2 *>(k)[THREAD];
	reinterpret_cast<uchar4 *>(z)[THREAD] = make_uchar4(v.y, v.x, (uint8_t)s.x, (uint8_t)(s.y + v.w));
}
CASE(memory_bytes) { byte_access<<<GRID(n)>>>(k, z); }

KERNEL hints(const float *x, float *y)
{
	float v = __ldg(x + THREAD) + __ldcs(x + (THREAD ^ 1)) + __ldcg(x + (THREAD ^ 2)) + __ldca(x + (THREAD ^ 4));
	__stcs(y + THREAD, v);
	__stwt(y + THREAD, __ldcv(y + THREAD) * 2);
}
CASE(memory_hints) { hints<<<GRID(n)>>>(x, y); }

template <int TILE>
KERNEL transpose(const float *x, float *y, int width)
{
	__shared__ float tile[TILE][TILE + 1];
	int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
	tile[threadIdx.y][threadIdx.x] = x[row * width + column];
	__syncthreads();
	y[(blockIdx.x * TILE + threadIdx.y) * width + blockIdx.y * TILE + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
CASE(memory_transpose) { transpose<16><<<dim3(4, 4), dim3(16, 16), 0, stream>>>(x, y, 64); }

__constant__ float weights[16] = { 1, -2, 3, -4, 5, -6, 7, -8, 0.5f, 0.25f, 0.125f, 9, 10, 11, 12, 13 };
__constant__ int32_t order[8] = { 3, 1, 4, 1, 5, 9, 2, 6 };
KERNEL constants(const float *x, float *y, int32_t *z)
{
	float s = 0;
	for (int i = 0; i < 16; i++)
		s += weights[i] * x[THREAD ^ i];
	y[THREAD] = s;
	z[THREAD] = order[THREAD & 7];
}
CASE(memory_constants) { constants<<<GRID(n)>>>(x, y, z); }

KERNEL local_arrays(const float *x, const int32_t *k, float *y, int32_t *z)
{
	float values[24];
	unsigned char marks[40];
	for (int i = 0; i < 24; i++)
		values[i] = x[THREAD ^ i];
	for (int i = 0; i < 40; i++)
		marks[i] = (unsigned char)(i * k[THREAD]);
	for (int i = 0; i < 24; i++)
		values[(k[THREAD] + i) % 24] += values[(i * 7) % 24] * 0.5f;
	y[THREAD] = values[k[THREAD] % 24];
	z[THREAD] = marks[k[THREAD] % 40];
}
CASE(memory_local_arrays) { local_arrays<<<GRID(n)>>>(x, k, y, z); }

KERNEL dynamic_shared(const float *x, float *y)
{
	extern __shared__ float space[];
	int *back = (int *)(space + blockDim.x);
	space[threadIdx.x] = x[THREAD];
	back[threadIdx.x] = (threadIdx.x * 37 + 11) % blockDim.x;
	__syncthreads();
	y[THREAD] = space[back[threadIdx.x]];
}
CASE(memory_dynamic_shared) { dynamic_shared<<<(unsigned)(n / 256), 256, 2048, stream>>>(x, y); }

KERNEL big_shared(const float *x, float *y)
{
	extern __shared__ float big[];
	for (int i = threadIdx.x; i < 20000; i += blockDim.x)
		big[i] = x[i % 4096] + (float)i;
	__syncthreads();
	y[THREAD] = big[(threadIdx.x * 7919) % 20000];
}
CASE(memory_80_kilobytes_shared)
{
	cudaFuncSetAttribute(big_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 80000);
	big_shared<<<4, 256, 80000, stream>>>(x, y);
}

__device__ int32_t counters[64];
__device__ float held = 2.5f;
KERNEL use_symbols(const float *x, float *y, int32_t *z)
{
	z[THREAD] = counters[THREAD & 63];
	y[THREAD] = x[THREAD] * held;
}
KERNEL set_symbols(void) { counters[threadIdx.x] = (int)threadIdx.x * 3 + 1; }
CASE(memory_device_symbols)
{
	set_symbols<<<1, 64, 0, stream>>>();
	use_symbols<<<GRID(n)>>>(x, y, z);
}

struct nested {
	float a[3];
	int32_t b;
	struct { int16_t c, d; } e;
};
KERNEL structures(nested value, const float *x, float *y, int32_t *z)
{
	nested mine = value;
	mine.a[THREAD % 3] += x[THREAD];
	y[THREAD] = mine.a[0] + mine.a[1] * mine.a[2];
	z[THREAD] = mine.b * mine.e.c - mine.e.d;
}
CASE(memory_structures)
{
	nested value = { { 1, 2, 3 }, 7, { -5, 9 } };
	structures<<<GRID(n)>>>(value, x, y, z);
}

KERNEL tiled_matmul(const float *a, const float *b, float *c)
{
	__shared__ float ta[16][16], tb[16][16];
	float s = 0;
	int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
	for (int t = 0; t < 64; t += 16) {
		ta[threadIdx.y][threadIdx.x] = a[row * 64 + t + threadIdx.x];
		tb[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * 64 + column];
		__syncthreads();
		for (int i = 0; i < 16; i++)
			s += ta[threadIdx.y][i] * tb[i][threadIdx.x];
		__syncthreads();
	}
	c[row * 64 + column] = s;
}
CASE(memory_tiled_matmul) { tiled_matmul<<<dim3(4, 4), dim3(16, 16), 0, stream>>>(x, x, y); }

KERNEL pipelined(const float *x, float *y, int stages)
{
	__shared__ alignas(16) float buffer[2][256];
	float s = 0;
	__pipeline_memcpy_async(&buffer[0][threadIdx.x], x + THREAD, 4);
	__pipeline_commit();
	for (int i = 1; i <= stages; i++) {
		if (i < stages)
			__pipeline_memcpy_async(&buffer[i & 1][threadIdx.x], x + (THREAD + i * 256) % 4096, 4);
		__pipeline_commit();
		__pipeline_wait_prior(1);
		__syncthreads();
		s += buffer[(i - 1) & 1][threadIdx.x ^ 3];
		__syncthreads();
	}
	y[THREAD] = s;
}
CASE(async_pipeline) { pipelined<<<GRID(n)>>>(x, y, 6); }

KERNEL async_vectors(const float *x, float *y)
{
	__shared__ alignas(16) float4 buffer[128];
	if (threadIdx.x < 128)
		__pipeline_memcpy_async(&buffer[threadIdx.x], reinterpret_cast<const float4 *>(x) + blockIdx.x * 32 + threadIdx.x, 16, threadIdx.x % 5 ? 0 : 8);
	__pipeline_commit();
	__pipeline_wait_prior(0);
	__syncthreads();
	float4 v = buffer[(threadIdx.x * 5) & 127];
	y[THREAD] = v.x + v.y * 2 - v.z + v.w;
}
CASE(async_zero_fill) { async_vectors<<<GRID(n)>>>(x, y); }

KERNEL scratch_first(const float *x, float *scratch) { scratch[THREAD] = x[THREAD] * x[THREAD]; }
KERNEL scratch_second(const float *scratch, float *y, int64_t n) { y[THREAD] = scratch[n - 1 - THREAD]; }
CASE(memory_scratch)
{
	float *scratch;
	cudaMallocAsync((void **)&scratch, (size_t)n * 4, stream);
	cudaMemsetAsync(scratch, 0, (size_t)n * 4, stream);
	scratch_first<<<GRID(n)>>>(x, scratch);
	scratch_second<<<GRID(n)>>>(scratch, y, n);
	cudaFreeAsync(scratch, stream);
}

KERNEL stencil(const float *x, float *y, int64_t n)
{
	__shared__ float line[256 + 4];
	int64_t i = THREAD;
	line[threadIdx.x + 2] = x[i];
	if (threadIdx.x < 2)
		line[threadIdx.x] = i >= 2 ? x[i - 2] : 0;
	if (threadIdx.x >= 254)
		line[threadIdx.x + 4] = i + 2 < n ? x[i + 2] : 0;
	__syncthreads();
	y[i] = line[threadIdx.x] - 4 * line[threadIdx.x + 1] + 6 * line[threadIdx.x + 2] - 4 * line[threadIdx.x + 3] + line[threadIdx.x + 4];
}
CASE(memory_stencil) { stencil<<<GRID(n)>>>(x, y, n); }

KERNEL gather(const float *x, const int32_t *k, float *y, int64_t n)
{
	for (int64_t i = THREAD; i < n; i += (int64_t)gridDim.x * blockDim.x)
		y[i] = x[k[i]] + x[(k[i] * 31) % n];
}
CASE(memory_gather) { gather<<<3, 96, 0, stream>>>(x, k, y, n); }
