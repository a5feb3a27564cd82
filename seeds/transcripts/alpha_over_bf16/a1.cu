// Premultiplied "over" in bfloat16: one thread for two neighbouring pixels, 16 bytes in one access. An odd last
// pixel is finished by one extra thread.
#include <cuda_bf16.h>
#include <stdint.h>

__device__ __forceinline__ float2 widen(unsigned word)
{
	return __bfloat1622float2(*reinterpret_cast<__nv_bfloat162 *>(&word));
}

__device__ __forceinline__ unsigned narrow(float low, float high)
{
	__nv_bfloat162 two = __floats2bfloat162_rn(low, high);

	return *reinterpret_cast<unsigned *>(&two);
}

// One pixel in two words: red and green, blue and alpha.
__device__ __forceinline__ uint2 over_one(unsigned front0, unsigned front1, unsigned back0, unsigned back1)
{
	float2 f0 = widen(front0), f1 = widen(front1), b0 = widen(back0), b1 = widen(back1);
	float through = 1.0f - f1.y;

	return make_uint2(narrow(fmaf(through, b0.x, f0.x), fmaf(through, b0.y, f0.y)),
		narrow(fmaf(through, b1.x, f1.x), fmaf(through, b1.y, f1.y)));
}

__global__ void over(const uint2 *front, const uint2 *back, uint2 *y, int64_t P)
{
	int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (2 * i + 1 < P) {
		uint4 f = ((const uint4 *)front)[i], b = ((const uint4 *)back)[i];
		uint2 first = over_one(f.x, f.y, b.x, b.y), second = over_one(f.z, f.w, b.z, b.w);

		((uint4 *)y)[i] = make_uint4(first.x, first.y, second.x, second.y);
	} else if (2 * i < P) {
		uint2 f = front[2 * i], b = back[2 * i];

		y[2 * i] = over_one(f.x, f.y, b.x, b.y);
	}
}

extern "C" void solve(const __nv_bfloat16 *front, const __nv_bfloat16 *back, __nv_bfloat16 *y,
	int64_t P, cudaStream_t stream)
{
	int64_t threads = (P + 1) / 2;

	over<<<(unsigned)((threads + 255) / 256), 256, 0, stream>>>((const uint2 *)front,
		(const uint2 *)back, (uint2 *)y, P);
}
