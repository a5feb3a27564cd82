/* Arrays of fp16 and bf16 to floats and back, rounding to nearest even; NaN becomes the GPU's, 0x7fff. */
#ifndef PTX_HALF_H
#define PTX_HALF_H

#include <immintrin.h>

#include "ptx/approx.h"
#include "ptx/machine.h"

static inline void
f16_to_floats(f32 *to, const u16 *from, int n)
{
	for (int k = 0; k < n; k += 8)
		_mm256_storeu_ps((float *)to + k, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(from + k))));
}

static inline void
f16_from_floats(u16 *to, const f32 *from, int n)
{
	for (int k = 0; k < n; k += 8) {
		__m256 v = _mm256_loadu_ps((const float *)from + k);
		__m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
		__m128i nan16 = _mm_packs_epi32(_mm256_castsi256_si128(nan), _mm256_extracti128_si256(nan, 1));
		__m128i h = _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT);
		h = _mm_blendv_epi8(h, _mm_set1_epi16(0x7fff), nan16);
		_mm_storeu_si128((__m128i *)(void *)(to + k), h);
	}
}

static inline void
bf16_to_floats(f32 *to, const u16 *from, int n)
{
	VECTORISE for (int k = 0; k < n; k++)
		to[k] = bf16_widen(from[k]);
}

static inline void
bf16_from_floats(u16 *to, const f32 *from, int n)
{
	VECTORISE for (int k = 0; k < n; k++)
		to[k] = bf16_round(from[k]);
}

static inline float
f16_widen(uint16_t h)
{
	return _cvtsh_ss(h);
}

static inline uint16_t
f16_round(float f)
{
	return f != f ? 0x7fff : (uint16_t)_cvtss_sh(f, _MM_FROUND_TO_NEAREST_INT);
}

#endif
