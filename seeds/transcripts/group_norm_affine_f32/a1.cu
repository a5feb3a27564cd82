// Group normalisation, one block for a group, in two passes over x with deviations from the group's first
// element; four neighbouring values in one access where L is a multiple of 4.
#include <stdint.h>

#define THREADS 256
#define WARPS (THREADS / 32)
#define ALL 0xffffffffu

__device__ __forceinline__ void add(float &sum, float &square, float v)
{
	sum += v;
	square = fmaf(v, v, square);
}

// WIDTH is 4 where L is a multiple of 4, else 1.
template <int WIDTH>
__global__ void group_norm(const float *x, const float *w, const float *b, float *y,
	int64_t G, int64_t K, int64_t L, float eps)
{
	__shared__ float2 parts[WARPS];
	int count = (int)(K * L), channel = (int)(blockIdx.x % G * K), length = (int)L;
	const float *in = x + (int64_t)blockIdx.x * count;
	float *out = y + (int64_t)blockIdx.x * count;
	float base = in[0], sum = 0, square = 0;

	for (int i = threadIdx.x; i < count / WIDTH; i += THREADS) {
		if (WIDTH == 4) {
			float4 v = ((const float4 *)in)[i];

			add(sum, square, v.x - base);
			add(sum, square, v.y - base);
			add(sum, square, v.z - base);
			add(sum, square, v.w - base);
		} else {
			add(sum, square, in[i] - base);
		}
	}
	for (int offset = 16; offset > 0; offset /= 2) {
		sum += __shfl_xor_sync(ALL, sum, offset);
		square += __shfl_xor_sync(ALL, square, offset);
	}
	if (threadIdx.x % 32 == 0)
		parts[threadIdx.x / 32] = make_float2(sum, square);
	__syncthreads();
	sum = square = 0;
	for (int i = 0; i < WARPS; i++) {
		sum += parts[i].x;
		square += parts[i].y;
	}

	float mean = sum / (float)count;
	float scale = rsqrtf(fmaxf(square / (float)count - mean * mean, 0.0f) + eps);
	float shift = base + mean;
	for (int i = threadIdx.x; i < count / WIDTH; i += THREADS) {
		int c = channel + i * WIDTH / length;
		float gain = scale * w[c], offset = b[c];

		if (WIDTH == 4) {
			float4 v = ((const float4 *)in)[i];

			v.x = (v.x - shift) * gain + offset;
			v.y = (v.y - shift) * gain + offset;
			v.z = (v.z - shift) * gain + offset;
			v.w = (v.w - shift) * gain + offset;
			((float4 *)out)[i] = v;
		} else {
			out[i] = (in[i] - shift) * gain + offset;
		}
	}
}

extern "C" void solve(const float *x, const float *w, const float *b, float *y,
	int64_t N, int64_t G, int64_t K, int64_t L, float eps, cudaStream_t stream)
{
	if (L % 4)
		group_norm<1><<<(unsigned)(N * G), THREADS, 0, stream>>>(x, w, b, y, G, K, L, eps);
	else
		group_norm<4><<<(unsigned)(N * G), THREADS, 0, stream>>>(x, w, b, y, G, K, L, eps);
}
