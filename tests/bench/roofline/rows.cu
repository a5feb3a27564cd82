// Reductions, scans, histograms, softmax and normalisation. See launches.c.
#include <cuda_fp16.h>

__device__ static float
warp_sum(float v)
{
	for (int o = 16; o; o >>= 1)
		v += __shfl_xor_sync(0xffffffff, v, o);
	return v;
}

__device__ static float
warp_max(float v)
{
	for (int o = 16; o; o >>= 1)
		v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, o));
	return v;
}

__device__ static float
block_sum(float v)
{
	__shared__ float part[32];
	v = warp_sum(v);
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = v;
	__syncthreads();
	return warp_sum(threadIdx.x % 32 < blockDim.x / 32 ? part[threadIdx.x % 32] : 0);
}

__device__ static float
block_max(float v)
{
	__shared__ float part[32];
	v = warp_max(v);
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = v;
	__syncthreads();
	return warp_max(threadIdx.x % 32 < blockDim.x / 32 ? part[threadIdx.x % 32] : -INFINITY);
}

// one atomic for each element, all on one address
extern "C" __global__ void
reduce_atomic_each(const float *in, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		atomicAdd(out, in[i]);
}

extern "C" __global__ void
reduce_tree_divergent(const float *in, float *out)
{
	__shared__ float s[256];
	s[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
	__syncthreads();
	for (int step = 1; step < 256; step *= 2) {
		if (threadIdx.x % (2 * step) == 0)
			s[threadIdx.x] += s[threadIdx.x + step];
		__syncthreads();
	}
	if (!threadIdx.x)
		out[blockIdx.x] = s[0];
}

extern "C" __global__ void
reduce_tree_conflicts(const float *in, float *out)
{
	__shared__ float s[256];
	s[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
	__syncthreads();
	for (int step = 1; step < 256; step *= 2) {
		int at = 2 * step * threadIdx.x;
		if (at < 256)
			s[at] += s[at + step];
		__syncthreads();
	}
	if (!threadIdx.x)
		out[blockIdx.x] = s[0];
}

extern "C" __global__ void
reduce_tree(const float *in, float *out)
{
	__shared__ float s[256];
	int i = blockIdx.x * 512 + threadIdx.x;
	s[threadIdx.x] = in[i] + in[i + 256];
	__syncthreads();
	for (int step = 128; step; step /= 2) {
		if (threadIdx.x < step)
			s[threadIdx.x] += s[threadIdx.x + step];
		__syncthreads();
	}
	if (!threadIdx.x)
		out[blockIdx.x] = s[0];
}

extern "C" __global__ void
reduce_shuffle(const float4 *in, float *out, int n)
{
	float sum = 0;
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		float4 v = in[i];
		sum += v.x + v.y + v.z + v.w;
	}
	sum = block_sum(sum);
	if (!threadIdx.x)
		atomicAdd(out, sum);
}

extern "C" __global__ void
dot_product(const float *a, const float *b, float *out, int n)
{
	float sum = 0;
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		sum += a[i] * b[i];
	sum = block_sum(sum);
	if (!threadIdx.x)
		atomicAdd(out, sum);
}

extern "C" __global__ void
reduce_columns(const float *in, float *out, int rows, int columns)
{
	int c = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;
	for (int r = 0; r < rows; r++)
		sum += in[(long)r * columns + c];
	out[c] = sum;
}

extern "C" __global__ void
reduce_rows_thread(const float *in, float *out, int columns)
{
	int r = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;
	for (int c = 0; c < columns; c++)
		sum += in[(long)r * columns + c];
	out[r] = sum;
}

extern "C" __global__ void
softmax_thread_row(const float *x, float *y, int columns)
{
	long r = blockIdx.x * blockDim.x + threadIdx.x;
	float most = -INFINITY, sum = 0;
	for (int c = 0; c < columns; c++)
		most = fmaxf(most, x[r * columns + c]);
	for (int c = 0; c < columns; c++)
		sum += expf(x[r * columns + c] - most);
	for (int c = 0; c < columns; c++)
		y[r * columns + c] = expf(x[r * columns + c] - most) / sum;
}

extern "C" __global__ void
softmax_warp_row(const float *x, float *y, int columns)
{
	long r = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	int lane = threadIdx.x % 32;
	float most = -INFINITY, sum = 0;
	for (int c = lane; c < columns; c += 32)
		most = fmaxf(most, x[r * columns + c]);
	most = warp_max(most);
	for (int c = lane; c < columns; c += 32)
		sum += __expf(x[r * columns + c] - most);
	sum = 1 / warp_sum(sum);
	for (int c = lane; c < columns; c += 32)
		y[r * columns + c] = __expf(x[r * columns + c] - most) * sum;
}

extern "C" __global__ void
softmax_block_row(const float *x, float *y, int columns)
{
	const float *row = x + (long)blockIdx.x * columns;
	float most = -INFINITY, sum = 0;
	for (int c = threadIdx.x; c < columns; c += blockDim.x)
		most = fmaxf(most, row[c]);
	most = block_max(most);
	for (int c = threadIdx.x; c < columns; c += blockDim.x)
		sum += expf(row[c] - most);
	sum = block_sum(sum);
	for (int c = threadIdx.x; c < columns; c += blockDim.x)
		y[(long)blockIdx.x * columns + c] = expf(row[c] - most) / sum;
}

extern "C" __global__ void
softmax_online(const float4 *x, float4 *y, int columns)
{
	const float4 *row = x + (long)blockIdx.x * columns;
	float most = -1e30f, sum = 0;
	for (int c = threadIdx.x; c < columns; c += blockDim.x) {
		float4 v = row[c];
		float m = fmaxf(fmaxf(most, fmaxf(v.x, v.y)), fmaxf(v.z, v.w));
		sum = sum * __expf(most - m) + __expf(v.x - m) + __expf(v.y - m) + __expf(v.z - m) + __expf(v.w - m);
		most = m;
	}
	float all = block_max(most);
	sum = 1 / block_sum(sum * __expf(most - all));
	for (int c = threadIdx.x; c < columns; c += blockDim.x) {
		float4 v = row[c];
		y[(long)blockIdx.x * columns + c] = make_float4(__expf(v.x - all) * sum, __expf(v.y - all) * sum,
			__expf(v.z - all) * sum, __expf(v.w - all) * sum);
	}
}

extern "C" __global__ void
layernorm_block(const float *x, const float *w, const float *b, float *y, int columns)
{
	const float *row = x + (long)blockIdx.x * columns;
	float sum = 0, square = 0;
	for (int c = threadIdx.x; c < columns; c += blockDim.x)
		sum += row[c];
	float mean = block_sum(sum) / columns;
	for (int c = threadIdx.x; c < columns; c += blockDim.x)
		square += (row[c] - mean) * (row[c] - mean);
	float scale = rsqrtf(block_sum(square) / columns + 1e-5f);
	for (int c = threadIdx.x; c < columns; c += blockDim.x)
		y[(long)blockIdx.x * columns + c] = (row[c] - mean) * scale * w[c] + b[c];
}

// a warp for each row of 1024, kept in registers
extern "C" __global__ void
layernorm_warp(const float4 *x, const float4 *w, const float4 *b, float4 *y)
{
	long r = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	int lane = threadIdx.x % 32;
	float4 v[8];
	float sum = 0, square = 0;
	for (int k = 0; k < 8; k++) {
		v[k] = x[r * 256 + k * 32 + lane];
		sum += v[k].x + v[k].y + v[k].z + v[k].w;
	}
	float mean = warp_sum(sum) / 1024;
	for (int k = 0; k < 8; k++) {
		v[k] = make_float4(v[k].x - mean, v[k].y - mean, v[k].z - mean, v[k].w - mean);
		square += v[k].x * v[k].x + v[k].y * v[k].y + v[k].z * v[k].z + v[k].w * v[k].w;
	}
	float s = rsqrtf(warp_sum(square) / 1024 + 1e-5f);
	for (int k = 0; k < 8; k++) {
		float4 p = w[k * 32 + lane], q = b[k * 32 + lane];
		y[r * 256 + k * 32 + lane] = make_float4(v[k].x * s * p.x + q.x, v[k].y * s * p.y + q.y,
			v[k].z * s * p.z + q.z, v[k].w * s * p.w + q.w);
	}
}

extern "C" __global__ void
rmsnorm_half(const __half2 *x, const __half2 *w, __half2 *y, int columns)
{
	const __half2 *row = x + (long)blockIdx.x * columns;
	float square = 0;
	for (int c = threadIdx.x; c < columns; c += blockDim.x) {
		float2 v = __half22float2(row[c]);
		square += v.x * v.x + v.y * v.y;
	}
	float s = rsqrtf(block_sum(square) / (2 * columns) + 1e-5f);
	for (int c = threadIdx.x; c < columns; c += blockDim.x)
		y[(long)blockIdx.x * columns + c] = __hmul2(__hmul2(row[c], __float2half2_rn(s)), w[c]);
}

extern "C" __global__ void
cross_entropy(const float *x, const unsigned *target, float *loss, int columns)
{
	const float *row = x + (long)blockIdx.x * columns;
	float most = -INFINITY, sum = 0;
	for (int c = threadIdx.x; c < columns; c += blockDim.x)
		most = fmaxf(most, row[c]);
	most = block_max(most);
	for (int c = threadIdx.x; c < columns; c += blockDim.x)
		sum += __expf(row[c] - most);
	sum = block_sum(sum);
	if (!threadIdx.x)
		loss[blockIdx.x] = __logf(sum) + most - row[target[blockIdx.x]];
}

extern "C" __global__ void
argmax_rows(const float *x, int *out, int columns)
{
	long r = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	int lane = threadIdx.x % 32, best = 0;
	float most = -INFINITY;
	for (int c = lane; c < columns; c += 32)
		if (x[r * columns + c] > most) {
			most = x[r * columns + c];
			best = c;
		}
	for (int o = 16; o; o >>= 1) {
		float v = __shfl_xor_sync(0xffffffff, most, o);
		int at = __shfl_xor_sync(0xffffffff, best, o);
		if (v > most || (v == most && at < best)) {
			most = v;
			best = at;
		}
	}
	if (!lane)
		out[r] = best;
}

extern "C" __global__ void
scan_hillis_steele(const float *in, float *out)
{
	__shared__ float s[2][256];
	int i = blockIdx.x * 256 + threadIdx.x, from = 0;
	s[0][threadIdx.x] = in[i];
	__syncthreads();
	for (int step = 1; step < 256; step *= 2) {
		s[!from][threadIdx.x] = s[from][threadIdx.x] + (threadIdx.x >= step ? s[from][threadIdx.x - step] : 0);
		from = !from;
		__syncthreads();
	}
	out[i] = s[from][threadIdx.x];
}

extern "C" __global__ void
scan_warp(const float *in, float *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float v = in[i];
	for (int step = 1; step < 32; step *= 2) {
		float before = __shfl_up_sync(0xffffffff, v, step);
		if (threadIdx.x % 32 >= step)
			v += before;
	}
	out[i] = v;
}

extern "C" __global__ void
scan_rows_serial(const float *in, float *out, int rows, int columns)
{
	int c = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;
	for (int r = 0; r < rows; r++)
		out[(long)r * columns + c] = sum += in[(long)r * columns + c];
}

extern "C" __global__ void
histogram_global(const unsigned *in, unsigned *bins, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&bins[in[i]], 1);
}

extern "C" __global__ void
histogram_shared(const unsigned *in, unsigned *bins, int n)
{
	__shared__ unsigned s[256];
	s[threadIdx.x] = 0;
	__syncthreads();
	for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
		atomicAdd(&s[in[i]], 1);
	__syncthreads();
	atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}

// all lanes hit one of four bins
extern "C" __global__ void
histogram_contended(const unsigned *in, unsigned *bins, int n)
{
	__shared__ unsigned s[4];
	if (threadIdx.x < 4)
		s[threadIdx.x] = 0;
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&s[in[i] & 3], in[i]);
	__syncthreads();
	if (threadIdx.x < 4)
		atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}

extern "C" __global__ void
scatter_add(const float *in, const unsigned *index, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		atomicAdd(&out[index[i]], in[i]);
}

extern "C" __global__ void
compact(const unsigned *in, unsigned *out, unsigned *count, int n, unsigned limit)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
	unsigned v = i < n ? in[i] : limit, keep = __ballot_sync(0xffffffff, v < limit), base = 0;
	if (!lane && keep)
		base = atomicAdd(count, __popc(keep));
	base = __shfl_sync(0xffffffff, base, 0);
	if (v < limit)
		out[base + __popc(keep & ((1u << lane) - 1))] = v;
}

extern "C" __global__ void
bitonic_sort(unsigned *data)
{
	__shared__ unsigned s[512];
	unsigned *mine = data + (long)blockIdx.x * 512;
	s[threadIdx.x] = mine[threadIdx.x];
	s[threadIdx.x + 256] = mine[threadIdx.x + 256];
	for (int size = 2; size <= 512; size *= 2)
		for (int step = size / 2; step; step /= 2) {
			__syncthreads();
			int low = threadIdx.x / step * step * 2 + threadIdx.x % step, high = low + step;
			bool up = !(low & size);
			unsigned a = s[low], b = s[high];
			if ((a > b) == up) {
				s[low] = b;
				s[high] = a;
			}
		}
	__syncthreads();
	mine[threadIdx.x] = s[threadIdx.x];
	mine[threadIdx.x + 256] = s[threadIdx.x + 256];
}
