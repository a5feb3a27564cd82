// Control: calls, recursion, function pointers, templates, virtual functions, switches, early exits, printf, several kernels.
#include "kernels.h"
#include <cassert>

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
KERNEL recursion(const int32_t *k, int32_t *z) { z[THREAD] = fibonacci(k[THREAD] % 11); }
CASE(control_recursion) { recursion<<<4, 64, 0, stream>>>(k, z); }

__device__ __noinline__ int ackermann(int m, int n)
{
	return !m ? n + 1 : !n ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
KERNEL deep_recursion(const int32_t *k, int32_t *z) { z[THREAD] = ackermann(k[THREAD] % 3, k[THREAD] % 4); }
CASE(control_deep_recursion) { deep_recursion<<<2, 32, 0, stream>>>(k, z); }

typedef float (*operation)(float, float);
__device__ float plus_one(float a, float b) { return a + b + 1; }
__device__ float times(float a, float b) { return a * b; }
__device__ float lesser(float a, float b) { return a < b ? a : b; }
__device__ operation const operations[] = { plus_one, times, lesser, plus_one };
KERNEL pointers(const float *x, const int32_t *k, float *y) { y[THREAD] = operations[k[THREAD] & 3](x[THREAD], x[THREAD ^ 1]); }
CASE(control_function_pointers) { pointers<<<GRID(n)>>>(x, k, y); }

struct figure {
	__device__ virtual float area(float a) const = 0;
};
struct square : figure {
	__device__ float area(float a) const override { return a * a; }
};
struct disc : figure {
	__device__ float area(float a) const override { return 3.25f * a * a; }
};
KERNEL virtual_calls(const float *x, const int32_t *k, float *y)
{
	square s;
	disc d;
	const figure *f = k[THREAD] & 1 ? static_cast<const figure *>(&s) : &d;
	y[THREAD] = f->area(x[THREAD]);
}
CASE(control_virtual_functions) { virtual_calls<<<GRID(n)>>>(x, k, y); }

template <typename F>
KERNEL apply(const float *x, float *y, F f) { y[THREAD] = f(x[THREAD], (int)THREAD); }
struct scale {
	float by;
	__device__ float operator()(float v, int i) const { return v * by + (float)(i & 3); }
};
CASE(control_functor) { apply<<<GRID(n)>>>(x, y, scale{ 2.5f }); }

template <int N>
__device__ float unrolled(const float *x, int at) { return x[at] * N + unrolled<N - 1>(x, at ^ N); }
template <>
__device__ float unrolled<0>(const float *x, int at) { return x[at]; }
KERNEL templates(const float *x, float *y) { y[THREAD] = unrolled<9>(x, (int)THREAD); }
CASE(control_templates) { templates<<<GRID(n)>>>(x, y); }

KERNEL big_switch(const int32_t *k, int32_t *z)
{
	int v = k[THREAD], r;
	switch (v % 19) {
	case 0: r = v + 1; break;
	case 1: r = v * 3; break;
	case 2: r = v ^ 0x55; break;
	case 3: r = v - 7; break;
	case 4: r = v << 2; break;
	case 5: r = v >> 1; break;
	case 6: r = ~v; break;
	case 7: r = v / 5; break;
	case 8: r = v % 5; break;
	case 9: r = v * v; break;
	case 10: r = 100; /* fall through */
	case 11: r = v & 0xf0; break;
	case 12: r = v | 0x0f; break;
	default: r = -1;
	}
	z[THREAD] = r;
}
CASE(control_switch) { big_switch<<<GRID(n)>>>(k, z); }

KERNEL collatz(const int32_t *k, int32_t *z)
{
	unsigned v = (unsigned)k[THREAD] + 1;
	int steps = 0;
	while (v != 1) {
		v = v & 1 ? 3 * v + 1 : v / 2;
		if (++steps > 500)
			break;
	}
	z[THREAD] = steps;
}
CASE(control_loops) { collatz<<<GRID(n)>>>(k, z); }

KERNEL leave_early(const int32_t *k, int32_t *z)
{
	z[THREAD] = 1;
	if (k[THREAD] & 1)
		return;
	for (int i = 0; i < 10; i++) {
		if ((k[THREAD] >> i) % 7 == 3)
			return;
		z[THREAD] += i;
	}
}
CASE(control_early_exit) { leave_early<<<GRID(n)>>>(k, z); }

KERNEL printing(const int32_t *k, int32_t *z)
{
	if (THREAD == 5)
		printf("thread %d holds %d, %s %.3f %c %lld %x\n", (int)THREAD, k[THREAD], "text", 2.5, 'q', 1ll << 40, 255);
	assert(k[THREAD] >= 0);
	z[THREAD] = k[THREAD];
}
CASE(control_printf) { printing<<<1, 32, 0, stream>>>(k, z); }

KERNEL one_step(const float *from, float *to, int64_t n)
{
	int64_t i = THREAD;
	to[i] = 0.25f * (from[(i + n - 1) % n] + 2 * from[i] + from[(i + 1) % n]);
}
CASE(control_many_launches)
{
	float *half;
	cudaMallocAsync((void **)&half, (size_t)n * 4, stream);
	one_step<<<GRID(n)>>>(x, y, n);
	for (int i = 0; i < 5; i++) {
		one_step<<<GRID(n)>>>(y, half, n);
		one_step<<<GRID(n)>>>(half, y, n);
	}
	cudaFreeAsync(half, stream);
}

KERNEL three_dimensions(int32_t *z)
{
	unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
	unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
	z[block * 120 + thread] = (int)(threadIdx.x * 100 + threadIdx.y * 10 + threadIdx.z + blockIdx.x * 1000 + blockIdx.y * 3000 + blockIdx.z * 7000);
}
CASE(control_three_dimensions) { three_dimensions<<<dim3(3, 2, 4), dim3(5, 4, 6), 0, stream>>>(z); }

KERNEL mandelbrot(int32_t *z)
{
	float re = (float)(THREAD % 64) / 24 - 2, im = (float)(THREAD / 64) / 24 - 1.3f, a = 0, b = 0;
	int i = 0;
	for (; i < 60 && a * a + b * b < 4; i++) {
		float t = a * a - b * b + re;
		b = 2 * a * b + im;
		a = t;
	}
	z[THREAD] = i;
}
CASE(control_mandelbrot) { mandelbrot<<<GRID(n)>>>(z); }

KERNEL edit_distance(const int32_t *k, int32_t *z)
{
	int row[17];
	for (int i = 0; i <= 16; i++)
		row[i] = i;
	for (int j = 1; j <= 16; j++) {
		int diagonal = row[0];
		row[0] = j;
		for (int i = 1; i <= 16; i++) {
			int cost = ((k[(THREAD + i) & 4095] ^ k[(THREAD * 3 + j) & 4095]) & 3) != 0, up = row[i];
			row[i] = min(min(row[i] + 1, row[i - 1] + 1), diagonal + cost);
			diagonal = up;
		}
	}
	z[THREAD] = row[16];
}
CASE(control_edit_distance) { edit_distance<<<GRID(n)>>>(k, z); }

KERNEL matrix_inverse(const float *x, float *y)
{
	float m[4][8];
	for (int r = 0; r < 4; r++)
		for (int c = 0; c < 4; c++) {
			m[r][c] = x[(THREAD * 16 + r * 4 + c) & 4095] + (r == c ? 6.0f : 0.0f);
			m[r][c + 4] = r == c;
		}
	for (int p = 0; p < 4; p++) {
		float inverse = 1 / m[p][p];
		for (int c = 0; c < 8; c++)
			m[p][c] *= inverse;
		for (int r = 0; r < 4; r++)
			if (r != p) {
				float f = m[r][p];
				for (int c = 0; c < 8; c++)
					m[r][c] -= f * m[p][c];
			}
	}
	y[THREAD] = m[0][4] + m[1][5] + m[2][6] + m[3][7];
}
CASE(control_matrix_inverse) { matrix_inverse<<<GRID(n)>>>(x, y); }
