// More answers of the runtime: clusters, attributes, managed memory, handles, times of events. Prints what each call returned,
// what was then the last error, and what came out. facts.expected came from the same solve() on an H200 with CUDA's own
// runtime, built with -DWHOLE. Lines that start with "whole" are for whole programs only.
#include <stdio.h>

__global__ void k(float *x) { if (x) x[threadIdx.x] = 1; }
__global__ void __cluster_dims__(2, 1, 1) pair(float *x) { if (x) x[0] = 1; }
__global__ void __cluster_dims__(1, 1, 1) single(float *x) { if (x) x[0] = 1; }
__global__ void big(float *x) { extern __shared__ float s[]; s[threadIdx.x] = 1; __syncthreads(); if (x) x[0] = s[5]; }
static void no_kernel() {}

static void tell(const char *what, cudaError_t e)
{
	cudaError_t peek = cudaPeekAtLastError(), last = cudaGetLastError(), then = cudaGetLastError();
	printf("%s: %d, last %d", what, e, last);
	if (peek != last || then)
		printf(" (peek %d then %d)", peek, then);
}
#define T(call) tell(#call, call), puts("")
#define V(call, value) tell(#call, call), printf(", %lld\n", (long long)(value))

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t s)
{
	cudaLaunchConfig_t c = {};
	cudaLaunchAttribute at[2];
	cudaFuncAttributes fa;
	cudaKernel_t kernel = 0;
	int a = -7;

	c.gridDim = 32; c.blockDim = 128; c.stream = s; c.attrs = at; c.numAttrs = 0;
	V(cudaOccupancyMaxPotentialClusterSize(&a, k, &c), a);
	V(cudaOccupancyMaxPotentialClusterSize(&a, pair, &c), a);
	V(cudaOccupancyMaxPotentialClusterSize(&a, single, &c), a);
	V(cudaOccupancyMaxPotentialClusterSize(&a, (const void *)no_kernel, &c), a);
	c.gridDim = 3;
	V(cudaOccupancyMaxPotentialClusterSize(&a, k, &c), a);
	c.gridDim = 1;
	V(cudaOccupancyMaxPotentialClusterSize(&a, k, &c), a);
	c.gridDim = 32; c.blockDim = 1024;
	V(cudaOccupancyMaxPotentialClusterSize(&a, k, &c), a);
	c.blockDim = 2048; a = -7;
	V(cudaOccupancyMaxPotentialClusterSize(&a, k, &c), a);
	c.blockDim = 1024; c.dynamicSmemBytes = 200000; a = -7;
	V(cudaOccupancyMaxPotentialClusterSize(&a, big, &c), a);
	T(cudaFuncSetAttribute(big, cudaFuncAttributeMaxDynamicSharedMemorySize, 200000));
	V(cudaOccupancyMaxPotentialClusterSize(&a, big, &c), a);
	T(cudaFuncSetAttribute(k, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
	c.dynamicSmemBytes = 0; c.blockDim = 128;
	V(cudaOccupancyMaxPotentialClusterSize(&a, k, &c), a);
	c.blockDim = 1024; c.gridDim = 64;
	V(cudaOccupancyMaxPotentialClusterSize(&a, k, &c), a);
	T(cudaFuncSetAttribute(k, cudaFuncAttributeNonPortableClusterSizeAllowed, 2));
	T(cudaFuncSetAttribute(k, cudaFuncAttributeNonPortableClusterSizeAllowed, -1));
	T(cudaFuncSetAttribute(k, cudaFuncAttributeNonPortableClusterSizeAllowed, 0));
	T(cudaFuncSetAttribute(k, cudaFuncAttributeClusterDimMustBeSet, 1));
	T(cudaFuncSetAttribute(k, cudaFuncAttributeRequiredClusterWidth, 2));
	T(cudaFuncSetAttribute(k, cudaFuncAttributeRequiredClusterHeight, 1));
	T(cudaFuncSetAttribute(k, cudaFuncAttributeRequiredClusterDepth, 1));
	T(cudaFuncSetAttribute(k, cudaFuncAttributeRequiredClusterWidth, 0));
	T(cudaFuncSetAttribute(k, cudaFuncAttributeRequiredClusterWidth, -1));
	T(cudaFuncSetAttribute(pair, cudaFuncAttributeRequiredClusterWidth, 2));
	T(cudaFuncSetAttribute(k, cudaFuncAttributeClusterSchedulingPolicyPreference, 0));
	T(cudaFuncSetAttribute(k, cudaFuncAttributeClusterSchedulingPolicyPreference, 1));
	T(cudaFuncSetAttribute(k, cudaFuncAttributeClusterSchedulingPolicyPreference, 9));
	T(cudaFuncGetAttributes(&fa, pair));
	printf("pair %d %d %d %d %d %d\n", fa.clusterDimMustBeSet, fa.requiredClusterWidth, fa.requiredClusterHeight,
		fa.requiredClusterDepth, fa.clusterSchedulingPolicyPreference, fa.nonPortableClusterSizeAllowed);
	T(cudaFuncGetAttributes(&fa, k));
	printf("k %d %d %d %d %d %d\n", fa.clusterDimMustBeSet, fa.requiredClusterWidth, fa.requiredClusterHeight,
		fa.requiredClusterDepth, fa.clusterSchedulingPolicyPreference, fa.nonPortableClusterSizeAllowed);
	at[0].id = cudaLaunchAttributeClusterDimension;
	at[0].val.clusterDim.x = 2; at[0].val.clusterDim.y = at[0].val.clusterDim.z = 1;
	c.gridDim = 32; c.blockDim = 128; c.numAttrs = 1; a = -7;
	V(cudaOccupancyMaxPotentialClusterSize(&a, k, &c), a);
	T(cudaGetKernel(&kernel, (const void *)no_kernel)); printf("%d\n", kernel != 0);
	T(cudaGetKernel(&kernel, (const void *)0));
	T(cudaGetKernel(0, (const void *)k));
	T(cudaGetKernel(&kernel, (const void *)k)); printf("%d\n", kernel != 0);
	V(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&a, k, 0, 0), a);
	V(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&a, k, 2048, 0), a);
	V(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&a, k, -1, 0), a);
	V(cudaOccupancyMaxActiveBlocksPerMultiprocessor(0, k, 32, 0), a);
	V(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&a, k, 32, 300000), a);
	(void)x, (void)y, (void)N;
#ifdef WHOLE
	cudaEvent_t e, f, g;
	float ms = -7, *d = (float *)16;
	printf("whole ");  T(cudaMallocManaged(&d, 0)); printf("%d\n", d == 0);
	printf("whole ");  T(cudaMallocManaged((float **)0, 16));
	printf("whole ");  T(cudaMallocManaged(&d, 16, 9));
	printf("whole ");  T(cudaMallocManaged(&d, 16)); T(cudaFree(d));
	cudaEventCreate(&e); cudaEventCreate(&f); cudaEventCreateWithFlags(&g, cudaEventDisableTiming);
	printf("whole ");  V(cudaEventElapsedTime(&ms, e, f), ms);
	cudaEventRecord(e, s);
	printf("whole ");  V(cudaEventElapsedTime(&ms, e, f), ms);
	printf("whole ");  V(cudaEventElapsedTime(&ms, f, e), ms);
	cudaEventRecord(g, s); cudaStreamSynchronize(s);
	printf("whole ");  V(cudaEventElapsedTime(&ms, e, g), ms);
	printf("whole ");  V(cudaEventElapsedTime(&ms, 0, e), ms);
	printf("whole ");  V(cudaEventElapsedTime(0, e, e), ms);
	printf("whole ");  V(cudaEventElapsedTime(&ms, e, e), ms);
#endif
}
#ifdef WHOLE
int main()
{
	cudaStream_t s;
	cudaStreamCreate(&s);
	solve(0, 0, 0, s);
	return 0;
}
#endif
