// Arithmetic of many types, with printf and assert.
#include <assert.h>
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

extern "C" __global__ void
half2_axpy(const __half2 *x, __half2 *y, int n, float a)
{
	int k = blockIdx.x * blockDim.x + threadIdx.x;
	if (k < n)
		y[k] = __hfma2(__float2half2_rn(a), x[k], y[k]);
}

extern "C" __global__ void
half_functions(const __half *x, __half *y, int *flags)
{
	int k = threadIdx.x;
	__half v = x[k];
	y[k * 4] = hexp(v);
	y[k * 4 + 1] = hsqrt(__habs(v));
	y[k * 4 + 2] = __hmax(v, __float2half(0.25f));
	y[k * 4 + 3] = __float2half(tanhf(__half2float(v)));
	flags[k] = __hgt(v, __float2half(0.f)) + 2 * __hisnan(v);
}

extern "C" __global__ void
bf16_norm(const __nv_bfloat16 *x, __nv_bfloat16 *y, int n)
{
	float sum = 0;
	for (int k = 0; k < n; k++)
		sum += __bfloat162float(x[k]) * __bfloat162float(x[k]);
	float scale = rsqrtf(sum / n + 1e-5f);
	for (int k = threadIdx.x; k < n; k += blockDim.x)
		y[k] = __hmul(x[k], __float2bfloat16(scale));
}

extern "C" __global__ void
doubles(const double *x, double *y)
{
	int k = threadIdx.x;
	double v = x[k];
	y[k * 8] = sin(v);
	y[k * 8 + 1] = exp(v / 10);
	y[k * 8 + 2] = log(fabs(v) + 1);
	y[k * 8 + 3] = pow(fabs(v), 1.5);
	y[k * 8 + 4] = cbrt(v);
	y[k * 8 + 5] = erf(v / 4);
	y[k * 8 + 6] = fmod(v, 0.75);
	y[k * 8 + 7] = atan2(v, 2.0);
}

extern "C" __global__ void
floats(const float *x, float *y)
{
	int k = threadIdx.x;
	float v = x[k];
	y[k * 8] = sinf(v * 1000);
	y[k * 8 + 1] = expf(v);
	y[k * 8 + 2] = logf(fabsf(v) + 1);
	y[k * 8 + 3] = powf(fabsf(v), 1.5f);
	y[k * 8 + 4] = erff(v);
	y[k * 8 + 5] = tanhf(v);
	y[k * 8 + 6] = __sinf(v);
	y[k * 8 + 7] = v / 3.7f;
}

extern "C" __global__ void
integers(const long long *x, const int *d, long long *y)
{
	int k = threadIdx.x;
	long long v = x[k];
	int n = d[k];
	y[k * 8] = v / n;
	y[k * 8 + 1] = v % n;
	y[k * 8 + 2] = (long long)((unsigned long long)v / (unsigned)n);
	y[k * 8 + 3] = __mulhi((int)v, n);
	y[k * 8 + 4] = __clzll(v) * 1000 + __popcll(v);
	y[k * 8 + 5] = (int)v / n + ((int)v % n) * 7;
	y[k * 8 + 6] = __brevll(v) ^ __byte_perm((unsigned)v, n, 0x2143);
	y[k * 8 + 7] = __funnelshift_l((unsigned)v, (unsigned)n, k) + __dp4a((int)v, n, 5) + __ffs(n);
}

extern "C" __global__ void
big_sum(const unsigned *a, const unsigned *b, unsigned *c)
{
	asm("add.cc.u32 %0, %4, %8;\n\taddc.cc.u32 %1, %5, %9;\n\taddc.cc.u32 %2, %6, %10;\n\taddc.u32 %3, %7, %11;"
		: "=r"(c[0]), "=r"(c[1]), "=r"(c[2]), "=r"(c[3])
		: "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]));
}

extern "C" __global__ void
inline_assembly(const unsigned *x, unsigned *y)
{
	unsigned v = x[threadIdx.x], r, s;
	asm("{\n\t.reg .pred p;\n\t.reg .u32 t;\n\tsetp.gt.u32 p, %1, 100;\n\tselp.u32 t, 7, 9, p;\n\tmad.lo.u32 %0, %1, t, 1;\n\t}"
		: "=r"(r) : "r"(v));
	asm("{\n\t.reg .pred p;\n\tsetp.eq.u32 p, %1, 0;\n\t@p bra DONE;\n\tbfe.u32 %0, %1, 4, 8;\n\tbra END;\n"
		"DONE:\n\tmov.u32 %0, 12345;\nEND:\n\t}" : "=r"(s) : "r"(v));
	y[threadIdx.x] = r + s * 65536;
}

extern "C" __global__ void
fp8_round_trip(const float *x, float *y)
{
	__nv_fp8_e4m3 a(x[threadIdx.x]);
	__nv_fp8_e5m2 b(x[threadIdx.x]);
	y[threadIdx.x * 2] = float(a);
	y[threadIdx.x * 2 + 1] = float(b);
}

extern "C" __global__ void
print(int n, double d, const char *unused)
{
	if (threadIdx.x < 2)
		printf("thread %d of %s: %d %5.2f %lld %c %x%%\n", threadIdx.x, "print", n, d, 1234567890123ll, 'z', 255);
}

extern "C" __global__ void
check(const int *x, int limit)
{
	assert(x[threadIdx.x] < limit);
}
