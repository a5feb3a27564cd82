// Matrix products, convolutions, stencils, attention. See launches.c.
#include <cuda_fp16.h>
#include <mma.h>

extern "C" __global__ void
matmul_naive(const float *a, const float *b, float *c, int n)
{
	int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
	float sum = 0;
	for (int k = 0; k < n; k++)
		sum += a[row * n + k] * b[k * n + column];
	c[row * n + column] = sum;
}

// lanes along the rows: neither a nor c is coalesced
extern "C" __global__ void
matmul_uncoalesced(const float *a, const float *b, float *c, int n)
{
	int row = blockIdx.x * 32 + threadIdx.x, column = blockIdx.y * 8 + threadIdx.y;
	float sum = 0;
	for (int k = 0; k < n; k++)
		sum += a[row * n + k] * b[k * n + column];
	c[row * n + column] = sum;
}

template <int T>
__device__ static void
tiled(const float *a, const float *b, float *c, int n)
{
	__shared__ float as[T][T], bs[T][T];
	int row = blockIdx.y * T + threadIdx.y, column = blockIdx.x * T + threadIdx.x;
	float sum = 0;
	for (int t = 0; t < n; t += T) {
		as[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
		bs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
		__syncthreads();
		for (int k = 0; k < T; k++)
			sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
		__syncthreads();
	}
	c[row * n + column] = sum;
}

extern "C" __global__ void
matmul_tiled_16(const float *a, const float *b, float *c, int n)
{
	tiled<16>(a, b, c, n);
}

extern "C" __global__ void
matmul_tiled_32(const float *a, const float *b, float *c, int n)
{
	tiled<32>(a, b, c, n);
}

extern "C" __global__ void
matmul_double(const double *a, const double *b, double *c, int n)
{
	__shared__ double as[16][16], bs[16][16];
	int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
	double sum = 0;
	for (int t = 0; t < n; t += 16) {
		as[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
		bs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
		__syncthreads();
		for (int k = 0; k < 16; k++)
			sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
		__syncthreads();
	}
	c[row * n + column] = sum;
}

// 64x64 of c for 256 threads, 4x4 each
extern "C" __global__ void
sgemm_4x4(const float *a, const float *b, float *c, int n)
{
	__shared__ float as[16][64], bs[16][64];
	int tx = threadIdx.x % 16, ty = threadIdx.x / 16, row = blockIdx.y * 64, column = blockIdx.x * 64;
	float sum[4][4] = {};
	for (int t = 0; t < n; t += 16) {
		for (int k = threadIdx.x; k < 1024; k += 256) {
			as[k % 16][k / 16] = a[(row + k / 16) * n + t + k % 16];
			bs[k / 64][k % 64] = b[(t + k / 64) * n + column + k % 64];
		}
		__syncthreads();
		for (int k = 0; k < 16; k++) {
			float x[4], y[4];
			for (int i = 0; i < 4; i++) {
				x[i] = as[k][ty * 4 + i];
				y[i] = bs[k][tx * 4 + i];
			}
			for (int i = 0; i < 4; i++)
				for (int j = 0; j < 4; j++)
					sum[i][j] += x[i] * y[j];
		}
		__syncthreads();
	}
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 4; j++)
			c[(row + ty * 4 + i) * n + column + tx * 4 + j] = sum[i][j];
}

// 128x128 of c for 256 threads, 8x8 each, loads of float4
extern "C" __global__ void
sgemm_8x8(const float *a, const float *b, float *c, int n)
{
	__shared__ float as[8][128], bs[8][128];
	int tx = threadIdx.x % 16, ty = threadIdx.x / 16, row = blockIdx.y * 128, column = blockIdx.x * 128;
	float sum[8][8] = {};
	int ar = threadIdx.x / 2, ac = threadIdx.x % 2 * 4, br = threadIdx.x / 32, bc = threadIdx.x % 32 * 4;
	for (int t = 0; t < n; t += 8) {
		float4 v = *(const float4 *)&a[(row + ar) * n + t + ac];
		as[ac][ar] = v.x;
		as[ac + 1][ar] = v.y;
		as[ac + 2][ar] = v.z;
		as[ac + 3][ar] = v.w;
		*(float4 *)&bs[br][bc] = *(const float4 *)&b[(t + br) * n + column + bc];
		__syncthreads();
		for (int k = 0; k < 8; k++) {
			float x[8], y[8];
			*(float4 *)&x[0] = *(const float4 *)&as[k][ty * 8];
			*(float4 *)&x[4] = *(const float4 *)&as[k][ty * 8 + 4];
			*(float4 *)&y[0] = *(const float4 *)&bs[k][tx * 8];
			*(float4 *)&y[4] = *(const float4 *)&bs[k][tx * 8 + 4];
			for (int i = 0; i < 8; i++)
				for (int j = 0; j < 8; j++)
					sum[i][j] += x[i] * y[j];
		}
		__syncthreads();
	}
	for (int i = 0; i < 8; i++)
		for (int j = 0; j < 8; j += 4)
			*(float4 *)&c[(row + ty * 8 + i) * n + column + tx * 8 + j] = *(float4 *)&sum[i][j];
}

extern "C" __global__ void
hgemm_half2(const __half2 *a, const __half2 *b, __half2 *c, int n)
{
	__shared__ __half2 as[16][16], bs[32][16];
	int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, half = n / 2;
	__half2 sum = __float2half2_rn(0);
	for (int t = 0; t < half; t += 16) {
		as[threadIdx.y][threadIdx.x] = a[row * half + t + threadIdx.x];
		bs[threadIdx.y][threadIdx.x] = b[(2 * t + threadIdx.y) * half + column];
		bs[threadIdx.y + 16][threadIdx.x] = b[(2 * t + 16 + threadIdx.y) * half + column];
		__syncthreads();
		for (int k = 0; k < 16; k++) {
			__half2 v = as[threadIdx.y][k];
			sum = __hfma2(__low2half2(v), bs[2 * k][threadIdx.x], sum);
			sum = __hfma2(__high2half2(v), bs[2 * k + 1][threadIdx.x], sum);
		}
		__syncthreads();
	}
	c[row * half + column] = sum;
}

using namespace nvcuda;

// a warp for each 16x16 of c, fragments from global memory
extern "C" __global__ void
wmma_global(const __half *a, const __half *b, float *c, int n)
{
	int warp = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, row = warp / (n / 16) * 16, column = warp % (n / 16) * 16;
	wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
	wmma::fill_fragment(fc, 0.0f);
	for (int k = 0; k < n; k += 16) {
		wmma::load_matrix_sync(fa, a + row * n + k, n);
		wmma::load_matrix_sync(fb, b + k * n + column, n);
		wmma::mma_sync(fc, fa, fb, fc);
	}
	wmma::store_matrix_sync(c + row * n + column, fc, n, wmma::mem_row_major);
}

// 64x64 of c for four warps, 32x32 each, tiles of 64x32 and 32x64 in shared memory
extern "C" __global__ void
wmma_shared(const __half *a, const __half *b, float *c, int n)
{
	__shared__ __half as[64][40], bs[32][72];
	int warp = threadIdx.x / 32, wr = warp / 2 * 32, wc = warp % 2 * 32, row = blockIdx.y * 64, column = blockIdx.x * 64;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc[2][2];
	for (int i = 0; i < 4; i++)
		wmma::fill_fragment(fc[i / 2][i % 2], 0.0f);
	for (int t = 0; t < n; t += 32) {
		for (int k = threadIdx.x; k < 256; k += 128) {
			*(uint4 *)&as[k / 4][k % 4 * 8] = *(const uint4 *)&a[(row + k / 4) * n + t + k % 4 * 8];
			*(uint4 *)&bs[k / 8][k % 8 * 8] = *(const uint4 *)&b[(t + k / 8) * n + column + k % 8 * 8];
		}
		__syncthreads();
		for (int k = 0; k < 32; k += 16) {
			wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa[2];
			wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb[2];
			for (int i = 0; i < 2; i++) {
				wmma::load_matrix_sync(fa[i], &as[wr + i * 16][k], 40);
				wmma::load_matrix_sync(fb[i], &bs[k][wc + i * 16], 72);
			}
			for (int i = 0; i < 4; i++)
				wmma::mma_sync(fc[i / 2][i % 2], fa[i / 2], fb[i % 2], fc[i / 2][i % 2]);
		}
		__syncthreads();
	}
	for (int i = 0; i < 4; i++)
		wmma::store_matrix_sync(c + (row + wr + i / 2 * 16) * n + column + wc + i % 2 * 16, fc[i / 2][i % 2], n,
			wmma::mem_row_major);
}

__device__ static void
mma_16816(float *c, const unsigned *a, const unsigned *b)
{
	asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
		: "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// a row-major, b column-major; 128x64 of c for four warps, 64x32 each; ldmatrix, tiles by cp.async, two stages
extern "C" __global__ void
mma_pipelined(const __half *a, const __half *b, float *c, int n)
{
	__shared__ __half as[2][128][40], bs[2][64][40];
	int warp = threadIdx.x / 32, lane = threadIdx.x % 32, wr = warp / 2 * 64, wc = warp % 2 * 32;
	int row = blockIdx.y * 128, column = blockIdx.x * 64;
	float sum[4][4][4] = {};
	auto load = [&](int stage, int t) {
		for (int k = threadIdx.x; k < 512; k += 128) {
			unsigned to = (unsigned)__cvta_generic_to_shared(&as[stage][k / 4][k % 4 * 8]);
			asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(&a[(row + k / 4) * n + t + k % 4 * 8]));
		}
		for (int k = threadIdx.x; k < 256; k += 128) {
			unsigned to = (unsigned)__cvta_generic_to_shared(&bs[stage][k / 4][k % 4 * 8]);
			asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(&b[(column + k / 4) * n + t + k % 4 * 8]));
		}
		asm volatile("cp.async.commit_group;");
	};
	load(0, 0);
	for (int t = 0, stage = 0; t < n; t += 32, stage ^= 1) {
		if (t + 32 < n) {
			load(stage ^ 1, t + 32);
			asm volatile("cp.async.wait_group 1;");
		} else {
			asm volatile("cp.async.wait_group 0;");
		}
		__syncthreads();
		for (int k = 0; k < 32; k += 16) {
			unsigned fa[4][4], fb[4][2];
			for (int i = 0; i < 4; i++) {
				unsigned at = (unsigned)__cvta_generic_to_shared(&as[stage][wr + i * 16 + lane % 16][k + lane / 16 * 8]);
				asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
					: "=r"(fa[i][0]), "=r"(fa[i][1]), "=r"(fa[i][2]), "=r"(fa[i][3]) : "r"(at));
			}
			for (int j = 0; j < 4; j++) {
				unsigned at = (unsigned)__cvta_generic_to_shared(&bs[stage][wc + j * 8 + lane % 8][k + lane / 8 % 2 * 8]);
				asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
					: "=r"(fb[j][0]), "=r"(fb[j][1]) : "r"(at));
			}
			for (int i = 0; i < 4; i++)
				for (int j = 0; j < 4; j++)
					mma_16816(sum[i][j], fa[i], fb[j]);
		}
		__syncthreads();
	}
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 4; j++) {
			float *to = c + (row + wr + i * 16 + lane / 4) * n + column + wc + j * 8 + lane % 4 * 2;
			*(float2 *)to = make_float2(sum[i][j][0], sum[i][j][1]);
			*(float2 *)(to + 8 * n) = make_float2(sum[i][j][2], sum[i][j][3]);
		}
}

// nothing but tensor instructions
extern "C" __global__ void
mma_peak(float *out, int rounds)
{
	float c[4][4] = {};
	unsigned a[4] = { threadIdx.x, 1, 2, 3 }, b[2] = { threadIdx.x, 1 };
	for (int r = 0; r < rounds; r++)
		for (int k = 0; k < 4; k++)
			mma_16816(c[k], a, b);
	out[blockIdx.x * blockDim.x + threadIdx.x] = c[0][0] + c[1][1] + c[2][2] + c[3][3];
}

extern "C" __global__ void
wmma_tf32(const float *a, const float *b, float *c, int n)
{
	int warp = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, row = warp / (n / 16) * 16, column = warp % (n / 16) * 16;
	wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, 8, float> fc;
	wmma::fill_fragment(fc, 0.0f);
	for (int k = 0; k < n; k += 8) {
		wmma::load_matrix_sync(fa, a + row * n + k, n);
		wmma::load_matrix_sync(fb, b + k * n + column, n);
		for (int i = 0; i < fa.num_elements; i++)
			fa.x[i] = wmma::__float_to_tf32(fa.x[i]);
		for (int i = 0; i < fb.num_elements; i++)
			fb.x[i] = wmma::__float_to_tf32(fb.x[i]);
		wmma::mma_sync(fc, fa, fb, fc);
	}
	wmma::store_matrix_sync(c + row * n + column, fc, n, wmma::mem_row_major);
}

extern "C" __global__ void
matvec_warp(const float *a, const float *x, float *y, int columns)
{
	long r = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	float sum = 0;
	for (int c = threadIdx.x % 32; c < columns; c += 32)
		sum += a[r * columns + c] * x[c];
	for (int o = 16; o; o >>= 1)
		sum += __shfl_xor_sync(0xffffffff, sum, o);
	if (threadIdx.x % 32 == 0)
		y[r] = sum;
}

extern "C" __global__ void
matvec_thread(const float *a, const float *x, float *y, int columns)
{
	long r = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;
	for (int c = 0; c < columns; c++)
		sum += a[r * columns + c] * x[c];
	y[r] = sum;
}

// one 8x8 product for each warp
extern "C" __global__ void
matmul_batched_small(const float *a, const float *b, float *c)
{
	long m = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	int lane = threadIdx.x % 32;
	for (int e = lane; e < 64; e += 32) {
		float sum = 0;
		for (int k = 0; k < 8; k++)
			sum += a[m * 64 + e / 8 * 8 + k] * b[m * 64 + k * 8 + e % 8];
		c[m * 64 + e] = sum;
	}
}

extern "C" __global__ void
convolution_1d(const float *in, const float *w, float *out, int n, int taps)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;
	if (i >= n)
		return;
	for (int k = 0; k < taps; k++)
		sum += in[i + k] * w[k];
	out[i] = sum;
}

extern "C" __global__ void
convolution_2d(const float *in, const float *w, float *out, int width, int height, int channels)
{
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, o = blockIdx.z;
	float sum = 0;
	for (int c = 0; c < channels; c++)
		for (int ky = 0; ky < 3; ky++)
			for (int kx = 0; kx < 3; kx++) {
				int px = x + kx - 1, py = y + ky - 1;
				if (px >= 0 && px < width && py >= 0 && py < height)
					sum += in[(c * height + py) * width + px] * w[((o * channels + c) * 3 + ky) * 3 + kx];
			}
	out[((long)o * height + y) * width + x] = sum;
}

extern "C" __global__ void
blur_shared(const float *in, float *out, int width)
{
	__shared__ float s[20][36];
	int x0 = blockIdx.x * 32, y0 = blockIdx.y * 16;
	for (int k = threadIdx.y * 32 + threadIdx.x; k < 720; k += 512) {
		int x = min(max(x0 + k % 36 - 2, 0), width - 1), y = min(max(y0 + k / 36 - 2, 0), width - 1);
		s[k / 36][k % 36] = in[y * width + x];
	}
	__syncthreads();
	float sum = 0;
	for (int ky = 0; ky < 5; ky++)
		for (int kx = 0; kx < 5; kx++)
			sum += s[threadIdx.y + ky][threadIdx.x + kx];
	out[(y0 + threadIdx.y) * width + x0 + threadIdx.x] = sum / 25;
}

extern "C" __global__ void
depthwise_3x3(const float *in, const float *w, float *out, int width, int height)
{
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, c = blockIdx.z;
	const float *plane = in + (long)c * width * height;
	float sum = 0;
	for (int ky = -1; ky <= 1; ky++)
		for (int kx = -1; kx <= 1; kx++)
			if (x + kx >= 0 && x + kx < width && y + ky >= 0 && y + ky < height)
				sum += plane[(y + ky) * width + x + kx] * w[c * 9 + (ky + 1) * 3 + kx + 1];
	out[((long)c * height + y) * width + x] = sum;
}

extern "C" __global__ void
stencil_5(const float *in, float *out, int n)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
		out[y * n + x] = 0.25f * (in[y * n + x - 1] + in[y * n + x + 1] + in[(y - 1) * n + x] + in[(y + 1) * n + x]);
}

extern "C" __global__ void
stencil_7(const float *in, float *out, int n)
{
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
	for (int z = 1; z < n - 1; z++) {
		long i = ((long)z * n + y) * n + x;
		if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
			out[i] = in[i] * -6 + in[i - 1] + in[i + 1] + in[i - n] + in[i + n] + in[i - (long)n * n] + in[i + (long)n * n];
	}
}

extern "C" __global__ void
max_pool(const float *in, float *out, int width)
{
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
	long plane = (long)blockIdx.z * width * width;
	const float *p = in + plane + (long)y * 2 * width + x * 2;
	out[plane / 4 + (long)y * (width / 2) + x] = fmaxf(fmaxf(p[0], p[1]), fmaxf(p[width], p[width + 1]));
}

extern "C" __global__ void
upsample(const float *in, float *out, int width)
{
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, big = width * 2;
	float fx = fminf(fmaxf(x * 0.5f - 0.25f, 0), width - 1), fy = fminf(fmaxf(y * 0.5f - 0.25f, 0), width - 1);
	int x0 = fx, y0 = fy, x1 = min(x0 + 1, width - 1), y1 = min(y0 + 1, width - 1);
	float u = fx - x0, v = fy - y0;
	out[y * big + x] = (1 - v) * ((1 - u) * in[y0 * width + x0] + u * in[y0 * width + x1])
		+ v * ((1 - u) * in[y1 * width + x0] + u * in[y1 * width + x1]);
}

// a block for each query; scores of all keys in shared memory
extern "C" __global__ void
attention_naive(const float *q, const float *k, const float *v, float *out, int length)
{
	extern __shared__ float score[];
	__shared__ float total, most;
	const float *query = q + ((long)blockIdx.y * length + blockIdx.x) * 64, *keys = k + (long)blockIdx.y * length * 64,
		*values = v + (long)blockIdx.y * length * 64;
	for (int t = threadIdx.x; t < length; t += blockDim.x) {
		float s = 0;
		for (int d = 0; d < 64; d++)
			s += query[d] * keys[t * 64 + d];
		score[t] = s * 0.125f;
	}
	__syncthreads();
	if (!threadIdx.x) {
		float m = score[0], sum = 0;
		for (int t = 1; t < length; t++)
			m = fmaxf(m, score[t]);
		for (int t = 0; t < length; t++)
			sum += __expf(score[t] - m);
		most = m;
		total = sum;
	}
	__syncthreads();
	if (threadIdx.x < 64) {
		float sum = 0;
		for (int t = 0; t < length; t++)
			sum += __expf(score[t] - most) * values[t * 64 + threadIdx.x];
		out[((long)blockIdx.y * length + blockIdx.x) * 64 + threadIdx.x] = sum / total;
	}
}

// a thread for each query, keys and values through shared memory, one pass
extern "C" __global__ void
attention_flash(const float *q, const float *k, const float *v, float *out, int length)
{
	__shared__ float ks[32][64], vs[32][64];
	long base = (long)blockIdx.y * length * 64;
	int row = blockIdx.x * 64 + threadIdx.x;
	float query[64], sum[64], most = -1e30f, total = 0;
	for (int d = 0; d < 64; d++) {
		query[d] = q[base + row * 64 + d] * 0.125f;
		sum[d] = 0;
	}
	for (int t = 0; t < length; t += 32) {
		__syncthreads();
		for (int e = threadIdx.x; e < 2048; e += 64) {
			ks[e / 64][e % 64] = k[base + t * 64 + e];
			vs[e / 64][e % 64] = v[base + t * 64 + e];
		}
		__syncthreads();
		for (int j = 0; j < 32; j++) {
			float s = 0;
			for (int d = 0; d < 64; d++)
				s += query[d] * ks[j][d];
			float m = fmaxf(most, s), scale = __expf(most - m), p = __expf(s - m);
			total = total * scale + p;
			most = m;
			for (int d = 0; d < 64; d++)
				sum[d] = sum[d] * scale + p * vs[j][d];
		}
	}
	for (int d = 0; d < 64; d++)
		out[base + row * 64 + d] = sum[d] / total;
}

extern "C" __global__ void
pairwise_distance(const float *a, const float *b, float *out, int n, int width)
{
	int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y;
	float sum = 0;
	for (int d = 0; d < width; d++) {
		float e = a[i * width + d] - b[j * width + d];
		sum += e * e;
	}
	out[i * n + j] = sqrtf(sum);
}
