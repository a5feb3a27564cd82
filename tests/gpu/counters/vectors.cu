// Sixteen sectors a request.
#include <stdint.h>
__global__ void kernel(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
	if (4 * i + 3 < n) {
		float4 v = ((const float4 *)x)[i];
		((float4 *)y)[i] = make_float4(2 * v.x + 1, 2 * v.y + 1, 2 * v.z + 1, 2 * v.w + 1);
	} else {
		for (int64_t k = 4 * i; k < n; k++)
			y[k] = 2 * x[k] + 1;
	}
}
extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	kernel<<<(unsigned)((N / 4 + 256) / 256), 256, 0, stream>>>(x, y, N);
}
