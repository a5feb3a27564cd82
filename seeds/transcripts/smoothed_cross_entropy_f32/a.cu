// Label-smoothed cross entropy in two launches. One warp takes a row, so that no barrier is needed; it walks through the
// row once, with a running maximum and a sum that is rescaled when the maximum grows, four logits at a time where the
// rows are aligned. Then one block adds the rows up in a fixed order.
#include <math.h>
#include <stdint.h>

#define WARPS 4
#define THREADS 128
#define ALL 0xffffffffu

__device__ __forceinline__ void take(float v, float &m, float &sum, float &plain)
{
	if (v > m) {
		sum *= __expf(m - v);
		m = v;
	}
	sum += __expf(v - m);
	plain += v;
}

// Four at a time need one rescaling instead of four.
__device__ __forceinline__ void take_four(float4 v, float &m, float &sum, float &plain)
{
	float top = fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w));

	if (top > m) {
		sum *= __expf(m - top);
		m = top;
	}
	sum += __expf(v.x - m) + __expf(v.y - m) + __expf(v.z - m) + __expf(v.w - m);
	plain += v.x + v.y + v.z + v.w;
}

__global__ void row_losses(const float *x, const int64_t *target, float *losses, int64_t R, int64_t V, float eps)
{
	int64_t i = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
	int lane = threadIdx.x % 32;
	float m = -INFINITY, sum = 0, plain = 0;

	if (i >= R)
		return;
	const float *row = x + i * V;
	if (V % 4 == 0) {
		for (int64_t j = lane; j < V / 4; j += 32)
			take_four(((const float4 *)row)[j], m, sum, plain);
	} else {
		for (int64_t j = lane; j < V; j += 32)
			take(row[j], m, sum, plain);
	}
	float top = m;
	for (int offset = 16; offset > 0; offset /= 2)
		top = fmaxf(top, __shfl_xor_sync(ALL, top, offset));
	// a lane that has seen nothing has m = -inf and sum = 0, and exp(-inf) is 0
	sum *= __expf(m - top);
	for (int offset = 16; offset > 0; offset /= 2) {
		sum += __shfl_xor_sync(ALL, sum, offset);
		plain += __shfl_xor_sync(ALL, plain, offset);
	}
	if (lane == 0)
		losses[i] = top + logf(sum) - (1.0f - eps) * row[target[i]] - eps * plain / (float)V;
}

__global__ void mean(const float *losses, float *loss, int64_t R)
{
	__shared__ float slots[THREADS / 32];
	float sum = 0;

	for (int64_t i = threadIdx.x; i < R; i += THREADS)
		sum += losses[i];
	for (int offset = 16; offset > 0; offset /= 2)
		sum += __shfl_xor_sync(ALL, sum, offset);
	if (threadIdx.x % 32 == 0)
		slots[threadIdx.x / 32] = sum;
	__syncthreads();
	if (threadIdx.x == 0)
		loss[0] = (slots[0] + slots[1] + slots[2] + slots[3]) / (float)R;
}

extern "C" void solve(const float *x, const int64_t *target, float *loss, int64_t R, int64_t V, float eps,
	cudaStream_t stream)
{
	float *losses;

	cudaMallocAsync((void **)&losses, R * sizeof *losses, stream);
	row_losses<<<(unsigned)((R + WARPS - 1) / WARPS), WARPS * 32, 0, stream>>>(x, target, losses, R, V, eps);
	mean<<<1, THREADS, 0, stream>>>(losses, loss, R);
	cudaFreeAsync(losses, stream);
}
