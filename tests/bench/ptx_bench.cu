// nvcc -arch=sm_90 -ptx ptx_bench.cu: the kernels of ptx_bench.c
extern "C" __global__ void
vector_add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		c[i] = a[i] + b[i];
}

// one block of 256 threads for each row; reductions by shuffles
__device__ float
block_reduce(float v, bool maximum)
{
	__shared__ float part[32];
	for (int offset = 16; offset; offset >>= 1) {
		float other = __shfl_xor_sync(0xffffffff, v, offset);
		v = maximum ? fmaxf(v, other) : v + other;
	}
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = v;
	__syncthreads();
	v = threadIdx.x % 32 < blockDim.x / 32 ? part[threadIdx.x % 32] : maximum ? -INFINITY : 0;
	for (int offset = 16; offset; offset >>= 1) {
		float other = __shfl_xor_sync(0xffffffff, v, offset);
		v = maximum ? fmaxf(v, other) : v + other;
	}
	return v;
}

extern "C" __global__ void
row_softmax(const float *x, float *y, int columns)
{
	const float *row = x + (long)blockIdx.x * columns;
	float *out = y + (long)blockIdx.x * columns;
	float greatest = -INFINITY, sum = 0;
	for (int c = threadIdx.x; c < columns; c += blockDim.x)
		greatest = fmaxf(greatest, row[c]);
	greatest = block_reduce(greatest, true);
	for (int c = threadIdx.x; c < columns; c += blockDim.x) {
		float e = __expf(row[c] - greatest);
		out[c] = e;
		sum += e;
	}
	sum = block_reduce(sum, false);
	for (int c = threadIdx.x; c < columns; c += blockDim.x)
		out[c] /= sum;
}

// tiles of 16x16 in shared memory
extern "C" __global__ void
tiled_matmul(const float *a, const float *b, float *c, int n)
{
	__shared__ float as[16][16], bs[16][16];
	int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
	float sum = 0;
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
