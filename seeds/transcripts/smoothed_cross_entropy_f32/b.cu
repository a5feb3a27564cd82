// Label-smoothed cross entropy in two launches: one thread for a row, then one thread for the mean.
#include <math.h>
#include <stdint.h>

__global__ void row_losses(const float *x, const int64_t *target, float *losses, int64_t R, int64_t V, float eps)
{
	int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
	float m = -INFINITY, sum = 0, plain = 0;

	if (i >= R)
		return;
	const float *row = x + i * V;
	for (int64_t j = 0; j < V; j++)
		m = fmaxf(m, row[j]);
	for (int64_t j = 0; j < V; j++) {
		sum += expf(row[j] - m);
		plain += row[j];
	}
	losses[i] = m + logf(sum) - (1.0f - eps) * row[target[i]] - eps * plain / (float)V;
}

__global__ void mean(const float *losses, float *loss, int64_t R)
{
	double sum = 0;

	for (int64_t i = 0; i < R; i++)
		sum += losses[i];
	loss[0] = (float)(sum / (double)R);
}

extern "C" void solve(const float *x, const int64_t *target, float *loss, int64_t R, int64_t V, float eps,
	cudaStream_t stream)
{
	float *losses;

	cudaMallocAsync((void **)&losses, R * sizeof *losses, stream);
	row_losses<<<(unsigned)((R + 31) / 32), 32, 0, stream>>>(x, target, losses, R, V, eps);
	mean<<<1, 1, 0, stream>>>(losses, loss, R);
	cudaFreeAsync(losses, stream);
}
