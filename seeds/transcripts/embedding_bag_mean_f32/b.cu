// Mean of the table rows of a bag: one thread for a bag walks through all features of all its rows.
#include <stdint.h>

__global__ void bag_mean(const float *table, const int64_t *id, float *y, int64_t B, int64_t L, int64_t D)
{
	int64_t bag = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, count = 0;

	if (bag >= B)
		return;
	for (int64_t l = 0; l < L; l++)
		count += id[bag * L + l] >= 0;
	for (int64_t d = 0; d < D; d++) {
		float sum = 0;

		for (int64_t l = 0; l < L; l++) {
			int64_t row = id[bag * L + l];

			if (row >= 0)
				sum += table[row * D + d];
		}
		y[bag * D + d] = count ? sum / (float)count : 0.0f;
	}
}

extern "C" void solve(const float *table, const int64_t *id, float *y,
	int64_t B, int64_t L, int64_t V, int64_t D, cudaStream_t stream)
{
	bag_mean<<<(unsigned)((B + 63) / 64), 64, 0, stream>>>(table, id, y, B, L, D);
}
