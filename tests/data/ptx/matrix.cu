// Matrix products with and without tensor instructions, attention.
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

// attention of one head, 32 queries of 16 channels, online softmax
extern "C" __global__ void
attention(const float *q, const float *k, const float *v, float *out, int keys)
{
	__shared__ float ks[32][16], vs[32][16];
	float mine[16], sum[16] = {}, total = 0, greatest = -INFINITY;
	for (int c = 0; c < 16; c++)
		mine[c] = q[threadIdx.x * 16 + c] * 0.25f;
	for (int base = 0; base < keys; base += 32) {
		__syncthreads();
		for (int c = 0; c < 16; c++) {
			ks[threadIdx.x][c] = base + threadIdx.x < keys ? k[(base + threadIdx.x) * 16 + c] : 0;
			vs[threadIdx.x][c] = base + threadIdx.x < keys ? v[(base + threadIdx.x) * 16 + c] : 0;
		}
		__syncthreads();
		for (int j = 0; j < 32 && base + j < keys; j++) {
			float s = 0;
			for (int c = 0; c < 16; c++)
				s += mine[c] * ks[j][c];
			float next = fmaxf(greatest, s), scale = __expf(greatest - next), p = __expf(s - next);
			total = total * scale + p;
			for (int c = 0; c < 16; c++)
				sum[c] = sum[c] * scale + p * vs[j][c];
			greatest = next;
		}
	}
	for (int c = 0; c < 16; c++)
		out[threadIdx.x * 16 + c] = sum[c] / total;
}

// C (16x8) = A (16x16, row) * B (16x8, column) by one mma, operands through ldmatrix, brought by cp.async
extern "C" __global__ void
tensor_product(const __half *a, const __half *b, float *c)
{
	__shared__ __align__(16) __half as[16 * 16], bs[8 * 16];
	int lane = threadIdx.x;
	unsigned to = (unsigned)__cvta_generic_to_shared(as + lane * 8);
	asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" :: "r"(to), "l"(a + lane * 8));
	if (lane < 16) {
		to = (unsigned)__cvta_generic_to_shared(bs + lane * 8);
		asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" :: "r"(to), "l"(b + lane * 8));
	}
	asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;");
	__syncthreads();
	unsigned ra[4], rb[2];
	float rc[4] = {};
	unsigned from = (unsigned)__cvta_generic_to_shared(as + (lane % 16) * 16 + lane / 16 * 8);
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
		: "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(from));
	from = (unsigned)__cvta_generic_to_shared(bs + (lane % 8) * 16 + lane / 8 % 2 * 8);
	asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(rb[0]), "=r"(rb[1]) : "r"(from));
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
		: "+f"(rc[0]), "+f"(rc[1]), "+f"(rc[2]), "+f"(rc[3])
		: "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
	for (int q = 0; q < 4; q++)
		c[(lane / 4 + q / 2 * 8) * 8 + lane % 4 * 2 + q % 2] = rc[q];
}

// C (16x16) = A (16x32, row) * B (32x16, column) by wmma
extern "C" __global__ void
wmma_product(const __half *a, const __half *b, float *c)
{
	wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
	wmma::fill_fragment(fc, 1.0f);
	for (int k = 0; k < 32; k += 16) {
		wmma::load_matrix_sync(fa, a + k, 32);
		wmma::load_matrix_sync(fb, b + k, 32);
		wmma::mma_sync(fc, fa, fb, fc);
	}
	for (int k = 0; k < fc.num_elements; k++)
		fc.x[k] *= 2;
	wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
