// Mean of the kept entries of each row: one block for a row, shuffles within warps, then the first warp adds up
// what the warps left in shared memory.
#include <stdint.h>

#define THREADS 256
#define ALL 0xffffffffu

__global__ void masked_mean(const float *x, const bool *keep, float *y, int64_t D)
{
	__shared__ float sums[32];
	__shared__ int counts[32];
	const float *row = x + (int64_t)blockIdx.x * D;
	const bool *kept = keep + (int64_t)blockIdx.x * D;
	int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	float sum = 0;
	int count = 0;

	for (int64_t j = threadIdx.x; j < D; j += THREADS) {
		if (kept[j]) {
			sum += row[j];
			count++;
		}
	}
	for (int offset = 16; offset > 0; offset /= 2) {
		sum += __shfl_xor_sync(ALL, sum, offset);
		count += __shfl_xor_sync(ALL, count, offset);
	}
	if (lane == 0) {
		sums[warp] = sum;
		counts[warp] = count;
	}
	__syncthreads();
	if (warp == 0) {
		sum = lane < THREADS / 32 ? sums[lane] : 0.0f;
		count = lane < THREADS / 32 ? counts[lane] : 0;
		for (int offset = 16; offset > 0; offset /= 2) {
			sum += __shfl_xor_sync(ALL, sum, offset);
			count += __shfl_xor_sync(ALL, count, offset);
		}
		if (lane == 0)
			y[blockIdx.x] = count ? sum / count : 0.0f;
	}
}

extern "C" void solve(const float *x, const bool *keep, float *y, int64_t R, int64_t D, cudaStream_t stream)
{
	masked_mean<<<(unsigned)R, THREADS, 0, stream>>>(x, keep, y, D);
}
