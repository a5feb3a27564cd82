// Log-softmax over the valid part of each row: one warp for a row, three passes, no shared memory.
#include <math.h>
#include <stdint.h>

#define WARPS 4
#define ALL 0xffffffffu

__global__ void log_softmax(const float *x, const int32_t *len, float *y, int64_t R, int64_t D)
{
	int64_t i = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
	int lane = threadIdx.x % 32;

	if (i >= R)
		return;
	const float *in = x + i * D;
	float *out = y + i * D;
	int valid = len[i];
	float m = -INFINITY, sum = 0;

	for (int j = lane; j < valid; j += 32)
		m = fmaxf(m, in[j]);
	for (int offset = 16; offset > 0; offset /= 2)
		m = fmaxf(m, __shfl_xor_sync(ALL, m, offset));
	for (int j = lane; j < valid; j += 32)
		sum += expf(in[j] - m);
	for (int offset = 16; offset > 0; offset /= 2)
		sum += __shfl_xor_sync(ALL, sum, offset);

	float shift = m + logf(sum);
	for (int64_t j = lane; j < D; j += 32)
		out[j] = j < valid ? in[j] - shift : 0.0f;
}

extern "C" void solve(const float *x, const int32_t *len, float *y, int64_t R, int64_t D, cudaStream_t stream)
{
	log_softmax<<<(unsigned)((R + WARPS - 1) / WARPS), WARPS * 32, 0, stream>>>(x, len, y, R, D);
}
