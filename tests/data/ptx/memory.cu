// Memory of all kinds, calls, recursion, function pointers, tables.
extern __shared__ float dynamic[];

extern "C" __global__ void
transpose(const float4 *x, float *y, int rows, int columns)
{
	__shared__ float tile[32][33];
	int r = blockIdx.y * 32 + threadIdx.y, c4 = blockIdx.x * 8 + threadIdx.x;
	float4 v = x[r * (columns / 4) + c4];
	tile[threadIdx.y][threadIdx.x * 4] = v.x;
	tile[threadIdx.y][threadIdx.x * 4 + 1] = v.y;
	tile[threadIdx.y][threadIdx.x * 4 + 2] = v.z;
	tile[threadIdx.y][threadIdx.x * 4 + 3] = v.w;
	__syncthreads();
	for (int k = 0; k < 4; k++) {
		int row = threadIdx.x * 4 + k;
		y[(blockIdx.x * 32 + threadIdx.y) * rows + blockIdx.y * 32 + row] = tile[row][threadIdx.y];
	}
}

extern "C" __global__ void
dynamic_reverse(const float *x, float *y)
{
	double *second = (double *)(dynamic + blockDim.x);
	dynamic[threadIdx.x] = x[threadIdx.x];
	second[threadIdx.x] = x[threadIdx.x] * 2;
	__syncthreads();
	y[threadIdx.x] = dynamic[blockDim.x - 1 - threadIdx.x] + second[blockDim.x - 1 - threadIdx.x];
}

__constant__ float weights[5] = { 1, 2, 3, 2, 1 };
__device__ int counter = 40;
__device__ const char *names[3] = { "one", "two", "three" };

extern "C" __global__ void
stencil(const float *x, float *y, int n)
{
	int k = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;
	for (int o = -2; o <= 2; o++)
		if (k + o >= 0 && k + o < n)
			sum += weights[o + 2] * x[k + o];
	if (k < n)
		y[k] = sum;
	if (k == 0)
		atomicAdd(&counter, 2);
}

extern "C" __global__ void
read_tables(char *out, int *count)
{
	const char *s = names[threadIdx.x];
	out[threadIdx.x] = s[threadIdx.x % 3];
	if (threadIdx.x == 0)
		*count = counter;
}

__device__ __noinline__ int
ackermann(int m, int n)
{
	if (m == 0)
		return n + 1;
	if (n == 0)
		return ackermann(m - 1, 1);
	return ackermann(m - 1, ackermann(m, n - 1));
}

struct tree {
	int key[4];
	double weight;
};

__device__ __noinline__ tree
grow(tree t, int by)
{
	tree r = t;
	for (int k = 0; k < 4; k++)
		r.key[k] += by * k;
	r.weight *= 1.5;
	return r;
}

// passes the address of a local array down a recursion
__device__ __noinline__ int
fill(int *slots, int depth)
{
	int mine[4] = { depth, depth + 1, depth + 2, depth + 3 };
	if (depth == 0)
		return slots[0];
	int below = fill(mine, depth - 1);
	slots[depth & 3] += below;
	return mine[depth & 3] + below + slots[(depth + 1) & 3];
}

extern "C" __global__ void
calls(int *out, double *weight)
{
	int t = threadIdx.x, slots[4] = { 1, 2, 3, 4 };
	out[t] = t < 8 ? ackermann(2, t) : -1;
	tree start = { { t, t, t, t }, 2.0 }, end = grow(start, t);
	weight[t] = end.weight + end.key[3];
	out[32 + t] = fill(slots, t % 5);
}

typedef int operation(int, int);
__device__ int plus(int a, int b) { return a + b; }
__device__ int minus(int a, int b) { return a - b; }
__device__ int times(int a, int b) { return a * b; }
__device__ operation *const operations[3] = { plus, minus, times };

extern "C" __global__ void
pointers(const int *which, int *out)
{
	int t = threadIdx.x;
	out[t] = operations[which[t]](t, 3);
}

extern "C" __global__ void
local_arrays(const int *order, int *out)
{
	int stack[32], t = threadIdx.x;
	char bytes[16];
	for (int k = 0; k < 32; k++)
		stack[order[k]] = k * t;
	for (int k = 0; k < 16; k++)
		bytes[order[k] & 15] = (char)(k + t);
	out[t] = stack[order[t]] * 1000 + bytes[t & 15];
}

extern "C" __global__ void
dense_switch(const int *x, int *y)
{
	int v = x[threadIdx.x], r;
	switch (v) {
	case 0: r = 11; break;
	case 1: r = v * threadIdx.x; break;
	case 2: r = threadIdx.x - 7; break;
	case 3: r = -1; break;
	case 4: r = v << (threadIdx.x & 7); break;
	case 5: r = 99; break;
	case 6: r = (int)threadIdx.x % 3; break;
	case 7: r = ~v; break;
	default: r = 5000;
	}
	y[threadIdx.x] = r;
}

extern "C" __global__ void
atomics(int *i, unsigned *u, float *f, double *d, unsigned long long *l)
{
	int t = threadIdx.x;
	atomicAdd(&i[0], t);
	atomicMax(&i[1], t * 3);
	atomicMin(&i[2], -t);
	atomicXor(&i[3], 1 << (t & 31));
	i[8 + t] = atomicSub(&i[4], 1);
	atomicInc(&u[0], 20);
	atomicDec(&u[1], 20);
	atomicAdd(f, 0.5f);
	atomicAdd(d, 0.25);
	atomicAdd(l, 1ull << 33);
	atomicMax(l + 1, (unsigned long long)t << 40);
	unsigned old = u[2], assumed;
	do {
		assumed = old;
		old = atomicCAS(&u[2], assumed, assumed * 2 + 1 > 5000 ? 1 : assumed + t);
	} while (assumed != old);
}
