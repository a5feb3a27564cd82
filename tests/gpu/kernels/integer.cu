// Integers: bits, wide products, division, packed bytes, 64 and 128 bits.
#include "kernels.h"

KERNEL bit_counts(const int32_t *k, int32_t *z)
{
	unsigned v = (unsigned)k[THREAD] * 2654435761u;
	z[THREAD] = __popc(v) | __clz(v) << 8 | __ffs(v) << 16 | __clz(__brev(v)) << 24;
}
CASE(bits_count) { bit_counts<<<GRID(n)>>>(k, z); }

KERNEL morton(const int32_t *k, int32_t *z)
{
	unsigned a = k[THREAD] & 0xffff, b = THREAD & 0xffff, r = 0;
	for (int i = 0; i < 16; i++)
		r |= (a >> i & 1) << 2 * i | (b >> i & 1) << (2 * i + 1);
	z[THREAD] = (int)r;
}
CASE(bits_interleave) { morton<<<GRID(n)>>>(k, z); }

KERNEL funnel(const int32_t *k, int32_t *z)
{
	unsigned v = (unsigned)k[THREAD] * 747796405u, w = v ^ 0x9e3779b9u;
	int s = k[THREAD] & 63;
	z[THREAD] = (int)(__funnelshift_l(v, w, s) ^ __funnelshift_rc(v, w, s) ^ __byte_perm(v, w, 0x3716) ^ (v << (s & 31)));
}
CASE(bits_funnel) { funnel<<<GRID(n)>>>(k, z); }

KERNEL wide_products(const int32_t *k, int32_t *z)
{
	int64_t a = (int64_t)k[THREAD] * 0x123456789abcdefll, b = (int64_t)THREAD * -977;
	z[THREAD] = (int)(__mulhi((int)a, (int)b) ^ (int)__umul64hi((uint64_t)a, (uint64_t)b) ^ (int)(__mul64hi(a, b) >> 7) ^ __mul24((int)a, (int)b));
}
CASE(integer_wide_products) { wide_products<<<GRID(n)>>>(k, z); }

KERNEL divisions(const int32_t *k, int32_t *z, int by)
{
	int a = k[THREAD] * 7919 - 1000000, b = (int)THREAD % 97 - 48;
	int64_t l = (int64_t)a * 1000003;
	b = b ? b : by;
	z[THREAD] = a / b + a % b * 3 + (int)(l / b) + (int)(l % (b * 17ll)) + (int)((unsigned)a / (unsigned)(b & 255 | 1)) + a / 10;
}
CASE(integer_divisions) { divisions<<<GRID(n)>>>(k, z, 13); }

KERNEL int128_steps(const int32_t *k, int32_t *z)
{
	unsigned __int128 s = (unsigned __int128)k[THREAD] * 0x5851f42d4c957f2dull + THREAD;
	for (int i = 0; i < 5; i++)
		s = s * 0x2360ed051fc65da4ull + (s >> 61) + 1442695040888963407ull;
	z[THREAD] = (int)(s >> 70) ^ (int)s;
}
CASE(integer_128_bits) { int128_steps<<<GRID(n)>>>(k, z); }

KERNEL dot_bytes(const int32_t *k, int32_t *z)
{
	int a = k[THREAD] * 0x01030507, b = (int)(THREAD * 0x9e3779b1u);
	z[THREAD] = __dp4a(a, b, 5) + (int)__dp4a((unsigned)a, (unsigned)b, 7u) + __dp2a_lo(a, b, 9) - __dp2a_hi(a, b, 11);
}
CASE(integer_dot_bytes) { dot_bytes<<<GRID(n)>>>(k, z); }

KERNEL packed_simd(const int32_t *k, int32_t *z)
{
	unsigned a = (unsigned)k[THREAD] * 0x9e3779b1u, b = a * 31 + THREAD;
	z[THREAD] = (int)(__vadd4(a, b) ^ __vabsdiffu4(a, b) ^ __vmaxs2(a, b) ^ __vcmpgtu4(a, b) ^ __vavgu4(a, b) ^ __vsadu2(a, b) ^ __vminu4(a, b));
}
CASE(integer_packed_simd) { packed_simd<<<GRID(n)>>>(k, z); }

KERNEL saturations(const int32_t *k, int32_t *z)
{
	int a = k[THREAD] * 4200000 - 2000000000, b = (int)THREAD * 500000;
	int sum, difference;
	asm("add.sat.s32 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
	asm("sub.sat.s32 %0, %1, %2;" : "=r"(difference) : "r"(-a), "r"(b));
	z[THREAD] = sum ^ difference ^ (int)__usad(a, b, 3) ^ __hadd(a, b) ^ __rhadd(a, b);
}
CASE(integer_saturation) { saturations<<<GRID(n)>>>(k, z); }

KERNEL small_types(const int32_t *k, int32_t *z)
{
	int8_t a = (int8_t)k[THREAD];
	uint8_t b = (uint8_t)(k[THREAD] * 3);
	int16_t c = (int16_t)(k[THREAD] * 257);
	uint16_t d = (uint16_t)(c + b);
	z[THREAD] = a * b + c / (a | 1) + (d >> (b & 15)) + (int8_t)(a + b) + (c < (int16_t)d) + (int)(bool)(a & 2);
}
CASE(integer_small_types) { small_types<<<GRID(n)>>>(k, z); }

KERNEL lop3_tricks(const int32_t *k, int32_t *z)
{
	unsigned a = (unsigned)k[THREAD] * 0x85ebca6bu, b = a >> 3 ^ THREAD, c = b * 7;
	unsigned majority = (a & b) | (b & c) | (a & c), choice = (a & b) | (~a & c), parity = a ^ b ^ c, odd = ~(a | b) & c;
	z[THREAD] = (int)(majority + choice * 3 + parity * 5 + odd * 7);
}
CASE(bits_three_inputs) { lop3_tricks<<<GRID(n)>>>(k, z); }

KERNEL hash_rounds(const int32_t *k, int32_t *z)
{
	uint32_t h = (uint32_t)k[THREAD];
	for (int i = 0; i < 10; i++) {
		h ^= h >> 16;
		h *= 0x85ebca6b;
		h = h << 13 | h >> 19;
		h += 0xe6546b64;
	}
	z[THREAD] = (int32_t)h;
}
CASE(integer_hash) { hash_rounds<<<GRID(n)>>>(k, z); }

KERNEL gcd_and_power(const int32_t *k, int32_t *z)
{
	unsigned a = (unsigned)k[THREAD] + 1, b = THREAD % 360 + 1, e = THREAD & 31;
	uint64_t power = 1, base = a;
	while (b) {
		unsigned t = a % b;
		a = b;
		b = t;
	}
	for (; e; e >>= 1, base = base * base % 1000000007)
		if (e & 1)
			power = power * base % 1000000007;
	z[THREAD] = (int)(a * 31 + power);
}
CASE(integer_gcd_power) { gcd_and_power<<<GRID(n)>>>(k, z); }

KERNEL bit_fields(const int32_t *k, int32_t *z)
{
	struct fields { unsigned a : 5, b : 11; int c : 9; unsigned d : 7; } f;
	unsigned v = (unsigned)k[THREAD] * 0xc2b2ae35u;
	f.a = v;
	f.b = v >> 3;
	f.c = (int)(v >> 11);
	f.d = v >> 20;
	z[THREAD] = (int)f.a + (int)f.b * 3 + f.c * 5 + (int)f.d * 7;
}
CASE(bits_fields) { bit_fields<<<GRID(n)>>>(k, z); }
