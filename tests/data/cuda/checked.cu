// Everything that the quick check has to take: templates, the runtime's typed overloads, constants of the C library.
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { fprintf(stderr, "%s\n", cudaGetErrorString(e)); exit(1); } } while (0)

__constant__ float weights[32];
__device__ int counter;

static int blocks_for(int64_t n, int threads) { return (int)((n + threads - 1) / threads); }
__device__ __forceinline__ float lift(float v) { return fmaxf(v, -INFINITY) + FLT_MAX * 0 + INT_MAX * 0.0f; }

template <typename T, int STEP> __global__ void __launch_bounds__(256) run(const T *x, T *y, int64_t n)
{
	extern __shared__ float s[];
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
	s[threadIdx.x] = i < n ? lift(x[i]) * weights[threadIdx.x % 32] : 0;
	__syncthreads();
	float v = __shfl_down_sync(0xffffffffu, s[threadIdx.x], STEP);
	if (i < n)
		y[i] = v + expf(s[threadIdx.x]);
	atomicAdd(&counter, 1);
}

void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	float *scratch;
	int blocks = blocks_for(N, 256), most;
	CHECK(cudaMallocAsync(&scratch, N * sizeof *scratch, stream));
	CHECK(cudaFuncSetAttribute(run<float, 2>, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
	CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&most, run<float, 2>, 256, 0));
	CHECK(cudaMemcpyToSymbolAsync(weights, scratch, 128, 0, cudaMemcpyDeviceToDevice, stream));
	run<float, 1><<<dim3(blocks), 256, 1024, stream>>>(x, scratch, N);
	run<float, 2><<<blocks, 256, 1024, stream>>>(scratch, y, N);
	CHECK(cudaGetLastError());
	CHECK(cudaFreeAsync(scratch, stream));
}
