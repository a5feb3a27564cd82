// Tensor cores, ldmatrix, clusters, distributed shared memory, barriers in shared memory.
#include "kernels.h"
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
namespace cg = cooperative_groups;
using namespace nvcuda;

/* One warp: C(16x16) of A(16x16) and B(16x16), given in the type of the fragments. */
template <typename T, typename C, int M, int N, int K>
KERNEL wmma_product(const T *a, const T *b, C *c)
{
	wmma::fragment<wmma::matrix_a, M, N, K, T, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, M, N, K, T, wmma::col_major> fb;
	wmma::fragment<wmma::accumulator, M, N, K, C> fc;
	wmma::fill_fragment(fc, (C)1);
	wmma::load_matrix_sync(fa, a + blockIdx.x * M * K, K);
	wmma::load_matrix_sync(fb, b + blockIdx.x * K * N, K);
	wmma::mma_sync(fc, fa, fb, fc);
	for (int i = 0; i < fc.num_elements; i++)
		fc.x[i] = fc.x[i] + fc.x[i];
	wmma::store_matrix_sync(c + blockIdx.x * M * N, fc, N, wmma::mem_row_major);
}

template <typename T>
KERNEL narrow(const float *x, const int32_t *k, T *to, bool whole) { to[THREAD] = (T)(whole ? (float)(k[THREAD] % 9 - 4) : x[THREAD]); }

template <typename T, typename C, int M, int N, int K>
static void
multiply(const float *x, const int32_t *k, C *c, bool whole, int64_t n, cudaStream_t stream)
{
	T *scratch;
	cudaMallocAsync((void **)&scratch, (size_t)n * sizeof(T), stream);
	narrow<T><<<GRID(n)>>>(x, k, scratch, whole);
	wmma_product<T, C, M, N, K><<<4, 32, 0, stream>>>(scratch, scratch + n / 2, c);
	cudaFreeAsync(scratch, stream);
}
CASE(wmma_half_exact) { multiply<__half, float, 16, 16, 16>(x, k, y, true, n, stream); }
CASE(wmma_half) { multiply<__half, float, 16, 16, 16>(x, k, y, false, n, stream); }
CASE(wmma_half_half) { multiply<__half, __half, 16, 16, 16>(x, k, (__half *)y, true, n, stream); }
CASE(wmma_half_tall) { multiply<__half, float, 32, 8, 16>(x, k, y, true, n, stream); }
CASE(wmma_half_flat) { multiply<__half, float, 8, 32, 16>(x, k, y, true, n, stream); }
CASE(wmma_bfloat_exact) { multiply<__nv_bfloat16, float, 16, 16, 16>(x, k, y, true, n, stream); }
CASE(wmma_bfloat) { multiply<__nv_bfloat16, float, 16, 16, 16>(x, k, y, false, n, stream); }
CASE(wmma_bytes) { multiply<signed char, int, 16, 16, 16>(x, k, z, true, n, stream); }

KERNEL mma_instruction(const float *x, float *y)
{
	unsigned lane = threadIdx.x, a[4], b[2];
	float c[4] = { 1, 2, 3, 4 };
	__half2 h;
	for (int i = 0; i < 4; i++) {
		h = __floats2half2_rn(x[lane * 8 + i * 2], x[lane * 8 + i * 2 + 1]);
		a[i] = *(unsigned *)&h;
	}
	for (int i = 0; i < 2; i++) {
		h = __floats2half2_rn(x[512 + lane * 4 + i * 2], x[512 + lane * 4 + i * 2 + 1]);
		b[i] = *(unsigned *)&h;
	}
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
		: "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
	for (int i = 0; i < 4; i++)
		y[lane * 4 + i] = c[i];
}
CASE(mma_half) { mma_instruction<<<1, 32, 0, stream>>>(x, y); }

KERNEL mma_tf32(const int32_t *k, float *y)
{
	unsigned lane = threadIdx.x, a[4], b[2];
	float c[4] = { 0, 0, 0, 0 };
	for (int i = 0; i < 4; i++)
		a[i] = __float_as_uint((float)(k[lane * 4 + i] % 16));
	for (int i = 0; i < 2; i++)
		b[i] = __float_as_uint((float)(k[256 + lane * 2 + i] % 16 - 8));
	asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
		: "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
	for (int i = 0; i < 4; i++)
		y[lane * 4 + i] = c[i];
}
CASE(mma_tf32_exact) { mma_tf32<<<1, 32, 0, stream>>>(k, y); }

KERNEL mma_double(const float *x, float *y)
{
	double a = x[threadIdx.x], b = x[32 + threadIdx.x], c = 0.5, d = 0.25;
	asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+d"(c), "+d"(d) : "d"(a), "d"(b));
	y[threadIdx.x * 2] = (float)c;
	y[threadIdx.x * 2 + 1] = (float)d;
}
CASE(mma_doubles) { mma_double<<<1, 32, 0, stream>>>(x, y); }

KERNEL mma_bytes(const int32_t *k, int32_t *z)
{
	unsigned lane = threadIdx.x, a[4], b[2];
	int c[4] = { 7, 0, -7, 100 };
	for (int i = 0; i < 4; i++)
		a[i] = (unsigned)k[lane * 4 + i] * 0x9e3779b1u;
	for (int i = 0; i < 2; i++)
		b[i] = (unsigned)k[128 + lane * 2 + i] * 0x85ebca6bu;
	asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
		: "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
	for (int i = 0; i < 4; i++)
		z[lane * 4 + i] = c[i];
}
CASE(mma_bytes_mixed) { mma_bytes<<<1, 32, 0, stream>>>(k, z); }

KERNEL load_matrices(const int32_t *k, int32_t *z)
{
	__shared__ alignas(16) int32_t rows[128];
	unsigned r[4], t[4], at = (unsigned)__cvta_generic_to_shared(&rows[(threadIdx.x & 31) * 4]);
	for (int i = 0; i < 4; i++)
		rows[threadIdx.x * 4 + i] = k[blockIdx.x * 128 + threadIdx.x * 4 + i] * 65537;
	__syncwarp();
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(t[0]), "=r"(t[1]), "=r"(t[2]), "=r"(t[3]) : "r"(at));
	__syncwarp();
	asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" :: "r"(at), "r"(t[0] ^ r[0]), "r"(t[1] + r[1]), "r"(r[2]), "r"(t[3]) : "memory");
	__syncwarp();
	for (int i = 0; i < 4; i++)
		z[blockIdx.x * 128 + threadIdx.x * 4 + i] = rows[threadIdx.x * 4 + i];
}
CASE(matrix_loads_and_stores) { load_matrices<<<4, 32, 0, stream>>>(k, z); }

__global__ void __cluster_dims__(4, 1, 1)
cluster_ring(const float *x, float *y)
{
	__shared__ float mine[256];
	auto cluster = cg::this_cluster();
	mine[threadIdx.x] = x[THREAD];
	cluster.sync();
	float *other = cluster.map_shared_rank(mine, (cluster.block_rank() + 1) % 4);
	y[THREAD] = other[255 - threadIdx.x] + (float)cluster.block_rank() * 10;
	cluster.sync();
}
CASE(cluster_neighbours) { cluster_ring<<<GRID(n)>>>(x, y); }

__global__ void __cluster_dims__(2, 1, 1)
cluster_histogram(const int32_t *k, int32_t *z)
{
	__shared__ int32_t bins[64];
	auto cluster = cg::this_cluster();
	if (threadIdx.x < 64)
		bins[threadIdx.x] = 0;
	cluster.sync();
	int bin = k[THREAD] & 127;
	atomicAdd(cluster.map_shared_rank(bins, (unsigned)bin / 64) + bin % 64, 1);
	cluster.sync();
	if (threadIdx.x < 64)
		z[blockIdx.x * 64 + threadIdx.x] = bins[threadIdx.x];
}
CASE(cluster_shared_atomics) { cluster_histogram<<<GRID(n)>>>(k, z); }

KERNEL shared_barrier(const float *x, float *y)
{
	using barrier = cuda::barrier<cuda::thread_scope_block>;
	__shared__ alignas(8) char place[sizeof(barrier)];
	__shared__ float v[256];
	barrier *bar = (barrier *)place;
	if (!threadIdx.x)
		init(bar, blockDim.x);
	__syncthreads();
	float s = 0;
	for (int i = 0; i < 3; i++) {
		v[threadIdx.x] = x[THREAD] + (float)i;
		bar->arrive_and_wait();
		s += v[(threadIdx.x * 5 + i) & 255];
		bar->wait(bar->arrive());
	}
	y[THREAD] = s;
}
CASE(barrier_in_shared_memory) { shared_barrier<<<GRID(n)>>>(x, y); }
