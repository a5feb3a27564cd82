// Floating point: fp32 with every rounding, fp64, fp16, bf16, fp8, conversions, fast and accurate functions.
#include "kernels.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

KERNEL roundings(const float *x, float *y)
{
	float a = x[THREAD], b = x[THREAD ^ 1] * 3.7f + 0.01f;
	y[THREAD] = __fadd_rz(a, b) + __fmul_ru(a, b) - __fdiv_rd(a, b) + __frcp_rn(b) + __fsqrt_rz(fabsf(a)) + __fmaf_rd(a, b, a);
}
CASE(float_roundings) { roundings<<<GRID(n)>>>(x, y); }

KERNEL classes(const float *x, float *y, int32_t *z)
{
	float a = x[THREAD], odd = THREAD % 5 == 0 ? INFINITY : THREAD % 7 == 0 ? NAN : THREAD % 11 == 0 ? 1e-40f : a;
	z[THREAD] = isnan(odd) | isinf(odd) << 1 | signbit(odd) << 2 | (odd < a) << 3 | (odd == a) << 4 | !(odd > a) << 5 | ilogbf(a) << 8;
	y[THREAD] = fminf(odd, a) + fmaxf(a, -1.0f) + copysignf(2, a) + nextafterf(a, 10.0f) + ldexpf(a, 3) + fdimf(a, 0.5f);
}
CASE(float_classes) { classes<<<GRID(n)>>>(x, y, z); }

KERNEL to_integers(const float *x, int32_t *z)
{
	float a = x[THREAD] * 1000.3f;
	z[THREAD] = __float2int_rn(a) + __float2int_rz(a) * 3 + __float2int_ru(a) * 5 + __float2int_rd(a) * 7
		+ (int)__float2ll_rn(a * 1e7f) + (int)__float2uint_rn(fabsf(a)) + (int)rintf(a) + (int)roundf(a) + (int)truncf(a);
}
CASE(float_to_integers) { to_integers<<<GRID(n)>>>(x, z); }

KERNEL denormals(const float *x, float *y)
{
	float tiny = x[THREAD] * 1e-38f;
	y[THREAD] = tiny * 0.125f + tiny * 0.5f - tiny * 0.0625f;
}
CASE(float_denormals) { denormals<<<GRID(n)>>>(x, y); }

KERNEL fast_functions(const float *x, float *y)
{
	float a = x[THREAD], p = fabsf(a) + 0.1f;
	y[THREAD] = __expf(a) + __logf(p) + __sinf(a) * __cosf(a) + __fdividef(a, p) + __powf(p, 1.5f) + rsqrtf(p);
}
CASE(float_fast_functions) { fast_functions<<<GRID(n)>>>(x, y); }

KERNEL accurate_functions(const float *x, float *y)
{
	float a = x[THREAD], p = fabsf(a) + 0.1f;
	y[THREAD] = expf(a) + logf(p) + sinf(a * 20) + cosf(a) + tanf(a) + atan2f(a, p) + powf(p, a) + erff(a) + tanhf(a) + cbrtf(a) + log1pf(p)
		+ expm1f(a) + asinhf(a) + lgammaf(p);
}
CASE(float_accurate_functions) { accurate_functions<<<GRID(n)>>>(x, y); }

KERNEL doubles(const float *x, float *y)
{
	double a = x[THREAD], b = 1 + a * a, s = 0;
	for (int i = 1; i < 20; i++)
		s = fma(s, a / b, 1.0 / i);
	y[THREAD] = (float)(s + sqrt(b) - __dadd_rd(a, b) * __drcp_rn(b) + floor(a * 10));
}
CASE(double_arithmetic) { doubles<<<GRID(n)>>>(x, y); }

KERNEL double_functions(const float *x, float *y)
{
	double a = x[THREAD], p = fabs(a) + 0.1;
	y[THREAD] = (float)(exp(a) + log(p) + sin(a * 9) + pow(p, a) + erf(a) + cbrt(p) + tgamma(p + 1) + atan(a) + hypot(a, p) + fmod(a, 0.37));
}
CASE(double_functions) { double_functions<<<GRID(n)>>>(x, y); }

KERNEL halves(const float *x, float *y)
{
	__half a = __float2half(x[THREAD]), b = __float2half_rz(x[THREAD ^ 1]);
	__half2 p = __halves2half2(a, b), q = __hfma2(p, __float2half2_rn(1.5f), p);
	y[THREAD] = __half2float(__hadd(a, b)) + __half2float(__hfma(a, b, a)) + __low2float(q) - __high2float(__hmul2(p, q))
		+ __half2float(__hdiv(a, __hadd(__habs(b), __float2half(0.5f)))) + (float)__hgt(a, b) + __half2float(hsqrt(__habs(a)));
}
CASE(half_arithmetic) { halves<<<GRID(n)>>>(x, y); }

KERNEL half_functions(const float *x, float *y)
{
	__half a = __float2half(x[THREAD]);
	y[THREAD] = __half2float(hexp(a)) + __half2float(hlog(__hadd(__habs(a), __float2half(1)))) + __half2float(hsin(a)) + __half2float(hrcp(__hadd(__habs(a),
		__float2half(1)))) + __half2float(hrsqrt(__hadd(__habs(a), __float2half(1))));
}
CASE(half_functions_fast) { half_functions<<<GRID(n)>>>(x, y); }

KERNEL half_comparisons(const float *x, int32_t *z)
{
	__half2 a = __floats2half2_rn(x[THREAD], x[THREAD ^ 1]), b = __floats2half2_rn(x[THREAD ^ 2], x[THREAD ^ 3]);
	__half2 m = __hmax2(a, b), l = __hmin2_nan(a, b), e = __hge2(a, b);
	z[THREAD] = __hbeq2(a, a) + 2 * __hblt2(a, b) + (int)__half2uint_rn(__habs(__low2half(m))) * 4 + __half2int_rd(__high2half(l)) * 64
		+ (int)__low2float(e) * 8192;
}
CASE(half_comparisons_packed) { half_comparisons<<<GRID(n)>>>(x, z); }

KERNEL bfloats(const float *x, float *y)
{
	__nv_bfloat16 a = __float2bfloat16(x[THREAD]), b = __float2bfloat16_rz(x[THREAD ^ 1]);
	__nv_bfloat162 p = __halves2bfloat162(a, b), q = __hfma2(p, p, p);
	y[THREAD] = __bfloat162float(__hmul(a, b)) + __bfloat162float(__hfma(a, b, a)) + __low2float(q) + __high2float(__hmax2(p, q)) + __bfloat162float(__hneg(b));
}
CASE(bfloat_arithmetic) { bfloats<<<GRID(n)>>>(x, y); }

KERNEL eights(const float *x, float *y, int32_t *z)
{
	__nv_fp8_e4m3 a(x[THREAD] * 20);
	__nv_fp8_e5m2 b(x[THREAD] * 3000);
	__nv_fp8x2_e4m3 pair(make_float2(x[THREAD], x[THREAD ^ 1]));
	float2 back = (float2)pair;
	z[THREAD] = a.__x | b.__x << 8 | pair.__x << 16;
	y[THREAD] = (float)a + (float)b + back.x - back.y;
}
CASE(fp8_conversions) { eights<<<GRID(n)>>>(x, y, z); }

KERNEL mixed_conversions(const float *x, const int32_t *k, float *y, int32_t *z)
{
	int64_t l = (int64_t)k[THREAD] * 0x10001000100ll - 12345678901ll;
	y[THREAD] = (float)l + (float)(uint64_t)l + __half2float(__int2half_rn(k[THREAD])) + (float)(double)l + __uint2float_rz((unsigned)l);
	z[THREAD] = (int)(double)(x[THREAD] * 1e6f) ^ (int)(int64_t)((double)x[THREAD] * 1e12) ^ (int)(uint8_t)(x[THREAD] * 50 + 100);
}
CASE(conversions_mixed) { mixed_conversions<<<GRID(n)>>>(x, k, y, z); }

KERNEL kahan(const float *x, float *y, int64_t n)
{
	float sum = 0, lost = 0;
	for (int i = 0; i < 200; i++) {
		float v = x[(THREAD + i * 37) % n] - lost, t = sum + v;
		lost = (t - sum) - v;
		sum = t;
	}
	y[THREAD] = sum;
}
CASE(float_compensated_sum) { kahan<<<GRID(n)>>>(x, y, n); }

KERNEL polynomial(const float *x, float *y)
{
	float a = x[THREAD], p = 0.3f;
#pragma unroll
	for (int i = 0; i < 12; i++)
		p = p * a + (float)(i % 3 - 1);
	y[THREAD] = p;
}
CASE(float_polynomial) { polynomial<<<GRID(n)>>>(x, y); }
