// Running maximum that starts anew at marks: one warp for a row, 128 steps at a time. A lane first walks through its own
// four neighbouring steps, then the warp joins one (mark seen, maximum) pair for each lane by shuffles, and the lane
// corrects its steps before its first mark by what came before.
#include <math.h>
#include <stdint.h>

#define WARPS 4
#define PER 4
#define ALL 0xffffffffu

__global__ void running_max(const float *x, const bool *start, float *y, int64_t R, int64_t T)
{
	int64_t row = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
	int lane = threadIdx.x % 32;
	bool whole = T % PER == 0;
	float carry = -INFINITY;

	if (row >= R)
		return;
	const float *in = x + row * T;
	const bool *marks = start + row * T;
	float *out = y + row * T;
	for (int64_t first = 0; first < T; first += 32 * PER) {
		int64_t t = first + lane * PER;
		float value[PER], largest = -INFINITY;
		bool mark[PER], seen = false;

		if (whole && t < T) {
			float4 v = *(const float4 *)(in + t);
			uchar4 m = *(const uchar4 *)(marks + t);

			value[0] = v.x, value[1] = v.y, value[2] = v.z, value[3] = v.w;
			mark[0] = m.x, mark[1] = m.y, mark[2] = m.z, mark[3] = m.w;
		} else {
#pragma unroll
			for (int k = 0; k < PER; k++) {
				value[k] = t + k < T ? in[t + k] : -INFINITY;
				mark[k] = t + k < T && marks[t + k];
			}
		}
		// the running maximum among the own steps; mark[k] becomes "a mark has been seen up to k"
#pragma unroll
		for (int k = 0; k < PER; k++) {
			largest = mark[k] ? value[k] : fmaxf(largest, value[k]);
			seen |= mark[k];
			value[k] = largest;
			mark[k] = seen;
		}
		for (int offset = 1; offset < 32; offset *= 2) {
			float left = __shfl_up_sync(ALL, largest, offset);
			bool left_seen = __shfl_up_sync(ALL, (int)seen, offset);

			if (lane >= offset && !seen) {
				largest = fmaxf(largest, left);
				seen = left_seen;
			}
		}
		if (!seen)
			largest = fmaxf(largest, carry);

		// what everything before this lane's steps comes to; before the first lane that is the carry
		float before = __shfl_up_sync(ALL, largest, 1);

		if (lane == 0)
			before = carry;
		carry = __shfl_sync(ALL, largest, 31);
#pragma unroll
		for (int k = 0; k < PER; k++)
			value[k] = mark[k] ? value[k] : fmaxf(value[k], before);
		if (whole && t < T) {
			*(float4 *)(out + t) = make_float4(value[0], value[1], value[2], value[3]);
		} else {
#pragma unroll
			for (int k = 0; k < PER; k++) {
				if (t + k < T)
					out[t + k] = value[k];
			}
		}
	}
}

extern "C" void solve(const float *x, const bool *start, float *y, int64_t R, int64_t T, cudaStream_t stream)
{
	running_max<<<(unsigned)((R + WARPS - 1) / WARPS), WARPS * 32, 0, stream>>>(x, start, y, R, T);
}
