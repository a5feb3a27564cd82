// Kernels that move data: copies by width and stride, transposes, gathers, fills, streams. See launches.c.
extern "C" __global__ void
empty()
{
}

extern "C" __global__ void
fill(float *out, int n, float value)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		out[i] = value;
}

extern "C" __global__ void
copy_float(const float *in, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		out[i] = in[i];
}

extern "C" __global__ void
copy_float4(const float4 *in, float4 *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		out[i] = in[i];
}

extern "C" __global__ void
copy_double(const double *in, double *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		out[i] = in[i];
}

extern "C" __global__ void
copy_byte(const unsigned char *in, unsigned char *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		out[i] = in[i];
}

extern "C" __global__ void
copy_short(const unsigned short *in, unsigned short *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		out[i] = in[i];
}

extern "C" __global__ void
copy_grid_stride(const float4 *in, float4 *out, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		out[i] = in[i];
}

extern "C" __global__ void
copy_shifted(const float *in, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		out[i] = in[i + 1];
}

extern "C" __global__ void
read_strided_2(const float *in, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		out[i] = in[(long)i * 2];
}

extern "C" __global__ void
read_strided_8(const float *in, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		out[i] = in[(long)i * 8];
}

extern "C" __global__ void
write_strided_4(const float *in, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		out[(long)i * 4] = in[i];
}

// every thread walks its own stretch: neighbours are far apart
extern "C" __global__ void
copy_chunk_per_thread(const float *in, float *out, int chunk)
{
	long from = (long)(blockIdx.x * blockDim.x + threadIdx.x) * chunk;
	for (int k = 0; k < chunk; k++)
		out[from + k] = in[from + k];
}

extern "C" __global__ void
saxpy(float a, const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = a * x[i] + y[i];
}

extern "C" __global__ void
triad_float4(const float4 *a, const float4 *b, float4 *c, float s, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		float4 x = a[i], y = b[i];
		c[i] = make_float4(x.x + s * y.x, x.y + s * y.y, x.z + s * y.z, x.w + s * y.w);
	}
}

extern "C" __global__ void
structs_to_arrays(const float *in, float *x, float *y, float *z, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		x[i] = in[i * 3];
		y[i] = in[i * 3 + 1];
		z[i] = in[i * 3 + 2];
	}
}

extern "C" __global__ void
transpose_naive(const float *in, float *out, int n)
{
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
	for (int k = 0; k < 32; k += 8)
		out[(long)x * n + y + k] = in[(long)(y + k) * n + x];
}

extern "C" __global__ void
transpose_conflicts(const float *in, float *out, int n)
{
	__shared__ float tile[32][32];
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
	for (int k = 0; k < 32; k += 8)
		tile[threadIdx.y + k][threadIdx.x] = in[(long)(y + k) * n + x];
	__syncthreads();
	x = blockIdx.y * 32 + threadIdx.x;
	y = blockIdx.x * 32 + threadIdx.y;
	for (int k = 0; k < 32; k += 8)
		out[(long)(y + k) * n + x] = tile[threadIdx.x][threadIdx.y + k];
}

extern "C" __global__ void
transpose_padded(const float *in, float *out, int n)
{
	__shared__ float tile[32][33];
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
	for (int k = 0; k < 32; k += 8)
		tile[threadIdx.y + k][threadIdx.x] = in[(long)(y + k) * n + x];
	__syncthreads();
	x = blockIdx.y * 32 + threadIdx.x;
	y = blockIdx.x * 32 + threadIdx.y;
	for (int k = 0; k < 32; k += 8)
		out[(long)(y + k) * n + x] = tile[threadIdx.x][threadIdx.y + k];
}

extern "C" __global__ void
gather(const float *in, const unsigned *index, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		out[i] = in[index[i]];
}

extern "C" __global__ void
gather_near(const float *in, const unsigned *index, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		out[i] = in[i + index[i]];
}

extern "C" __global__ void
scatter(const float *in, const unsigned *index, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		out[index[i]] = in[i];
}

// rows of a table, one warp for each
extern "C" __global__ void
embedding(const float *table, const unsigned *index, float *out, int columns)
{
	int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	const float *from = table + (long)index[row] * columns;
	for (int c = threadIdx.x % 32; c < columns; c += 32)
		out[(long)row * columns + c] = from[c];
}

// each load waits for the one before
extern "C" __global__ void
pointer_chase(const unsigned *next, unsigned *out, int steps)
{
	unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
	for (int k = 0; k < steps; k++)
		at = next[at];
	out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}

// the same few megabytes again and again
extern "C" __global__ void
reread_l2(const float4 *in, float *out, int n, int times)
{
	float sum = 0;
	for (int t = 0; t < times; t++)
		for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
			float4 v = __ldcg(&in[(i + t * 4099) % n]);
			sum += v.x + v.y + v.z + v.w;
		}
	out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// every block reads the same small array
extern "C" __global__ void
reread_l1(const float *in, float *out, int n, int times)
{
	float sum = 0;
	for (int t = 0; t < times; t++)
		for (int i = threadIdx.x; i < n; i += blockDim.x)
			sum += in[i] * t;
	out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void
read_all(const float4 *in, float *out, int n)
{
	float sum = 0;
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		float4 v = in[i];
		sum += v.x + v.y + v.z + v.w;
	}
	if (sum == 12345.678f)
		out[0] = sum;
}

extern "C" __global__ void
permute_heads(const float *in, float *out, int heads, int length, int width)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	int w = i % width, h = i / width % heads, l = i / width / heads;
	out[((long)h * length + l) * width + w] = in[i];
}

// rotary embedding: pairs, sine and cosine by tables
extern "C" __global__ void
rope(const float2 *in, const float2 *table, float2 *out, int half, int length)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, position = i / half % length;
	float2 v = in[i], t = table[position * half + i % half];
	out[i] = make_float2(v.x * t.x - v.y * t.y, v.x * t.y + v.y * t.x);
}

extern "C" __global__ void
adam(float *w, const float *g, float *m, float *v, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	float gi = g[i], mi = 0.9f * m[i] + 0.1f * gi, vi = 0.999f * v[i] + 0.001f * gi * gi;
	m[i] = mi;
	v[i] = vi;
	w[i] -= 0.001f * mi / (sqrtf(vi) + 1e-8f);
}
