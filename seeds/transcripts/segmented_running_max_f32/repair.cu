// Running maximum that starts anew at marks: one warp for a row, 32 steps at a time. A segmented scan by shuffles
// joins (mark seen, maximum) pairs; the last lane's pair is carried to the next 32 steps.
#include <math.h>
#include <stdint.h>

#define WARPS 4
#define ALL 0xffffffffu

__global__ void running_max(const float *x, const bool *start, float *y, int64_t R, int64_t T)
{
	int64_t row = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
	int lane = threadIdx.x % 32;
	float carry = -INFINITY;

	if (row >= R)
		return;
	for (int64_t first = 0; first < T; first += 32) {
		int64_t t = first + lane;
		float largest = t < T ? x[row * T + t] : -INFINITY;
		bool seen = t < T && (t == 0 || start[row * T + t]);

		for (int offset = 1; offset < 32; offset *= 2) {
			float left = __shfl_up_sync(ALL, largest, offset);
			bool left_seen = __shfl_up_sync(ALL, (int)seen, offset);

			if (lane >= offset && !seen) {
				largest = fmaxf(largest, left);
				seen = left_seen;
			}
		}
		// no mark up to here in this stretch: the segment began earlier
		if (!seen)
			largest = fmaxf(largest, carry);
		if (t < T)
			y[row * T + t] = largest;
		carry = __shfl_sync(ALL, largest, 31);
	}
}

extern "C" void solve(const float *x, const bool *start, float *y, int64_t R, int64_t T, cudaStream_t stream)
{
	running_max<<<(unsigned)((R + WARPS - 1) / WARPS), WARPS * 32, 0, stream>>>(x, start, y, R, T);
}
