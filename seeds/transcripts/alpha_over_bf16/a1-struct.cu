// Premultiplied "over" in bfloat16: one thread for two neighbouring pixels, 16 bytes in one access. An odd last
// pixel is finished by one extra thread.
#include <cuda_bf16.h>
#include <stdint.h>

// red, green, blue and alpha of two pixels, as four words of two values each
struct __align__(16) pair {
	__nv_bfloat162 word[4];
};

__device__ __forceinline__ void over_one(const __nv_bfloat162 *front, const __nv_bfloat162 *back, __nv_bfloat162 *y)
{
	float2 f0 = __bfloat1622float2(front[0]), f1 = __bfloat1622float2(front[1]);
	float2 b0 = __bfloat1622float2(back[0]), b1 = __bfloat1622float2(back[1]);
	float through = 1.0f - f1.y;

	y[0] = __floats2bfloat162_rn(fmaf(through, b0.x, f0.x), fmaf(through, b0.y, f0.y));
	y[1] = __floats2bfloat162_rn(fmaf(through, b1.x, f1.x), fmaf(through, b1.y, f1.y));
}

__global__ void over(const __nv_bfloat162 *front, const __nv_bfloat162 *back, __nv_bfloat162 *y, int64_t P)
{
	int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (2 * i + 1 < P) {
		pair f = ((const pair *)front)[i], b = ((const pair *)back)[i], out;

		over_one(f.word, b.word, out.word);
		over_one(f.word + 2, b.word + 2, out.word + 2);
		((pair *)y)[i] = out;
	} else if (2 * i < P) {
		over_one(front + 4 * i, back + 4 * i, y + 4 * i);
	}
}

extern "C" void solve(const __nv_bfloat16 *front, const __nv_bfloat16 *back, __nv_bfloat16 *y,
	int64_t P, cudaStream_t stream)
{
	int64_t threads = (P + 1) / 2;

	over<<<(unsigned)((threads + 255) / 256), 256, 0, stream>>>((const __nv_bfloat162 *)front,
		(const __nv_bfloat162 *)back, (__nv_bfloat162 *)y, P);
}
