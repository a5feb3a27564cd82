// Calls of the runtime that fail, or nearly: prints what each returned, what was then the last error, and what was left.
// The expected line in errors.expected came from the same solve() on an H200 with CUDA's own runtime.
#include <stdio.h>

__global__ void k(float *x) { if (x) x[threadIdx.x] = 1; }
__global__ void __launch_bounds__(256) k256(float *x) { if (x) x[threadIdx.x] = 1; }
__global__ void fixed(float *x) { __shared__ float s[4096]; s[threadIdx.x] = 1; __syncthreads(); if (x) x[0] = s[5]; }
__global__ void full(float *x) { __shared__ float s[12288]; s[threadIdx.x] = 1; __syncthreads(); if (x) x[0] = s[5]; }
__global__ void dyn(float *x) { extern __shared__ float s[]; s[threadIdx.x] = 1; __syncthreads(); if (x) x[0] = s[5]; }
__global__ void __cluster_dims__(2, 1, 1) pair(float *x) { if (x) x[0] = 1; }
__global__ void many(float *x, int n)
{
	float a[200], s = 0;
	for (int i = 0; i < 200; i++) a[i] = x[i * n];
	for (int j = 0; j < n; j++) for (int i = 0; i < 200; i++) a[i] = a[i] * a[(i + 7) % 200] + 1;
	for (int i = 0; i < 200; i++) s += a[i];
	x[0] = s;
}
__device__ float global_value[16];
__constant__ float constant_value[16];
static void no_kernel() {}

static void tell(cudaError_t e)
{
	cudaError_t peek = cudaPeekAtLastError(), last = cudaGetLastError(), then = cudaGetLastError();
	if (peek != last || then)
		printf("(peek %d last %d then %d)", peek, last, then);
	printf(e == last ? "%d " : "%d!%d ", e, last);
}
#define T(call) tell(call)
#define L(...) do { __VA_ARGS__; tell(cudaPeekAtLastError()); } while (0)

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t s)
{
	float host[4] = { 0 };
	float *m;
	void *q;
	int a, least, greatest;
	size_t z, o;
	cudaEvent_t e, e2;
	cudaStream_t s2;
	cudaDeviceProp p;
	cudaFuncAttributes fa;
	cudaPointerAttributes pa;

	cudaMalloc(&m, 1 << 20);
	L(k<<<1, 1025, 0, s>>>(m)); L(k<<<1, dim3(32, 33), 0, s>>>(m)); L(k<<<0, 32, 0, s>>>(m)); L(k<<<1, 0, 0, s>>>(m));
	L(k<<<dim3(1, 65536), 32, 0, s>>>(m)); L(k<<<dim3(1, 1, 65536), 32, 0, s>>>(m)); L(k<<<dim3(1, 65535), 32, 0, s>>>(m));
	L(k<<<2147483648u, 32, 0, s>>>(0)); L(k<<<1, dim3(1, 1, 65), 0, s>>>(m)); L(k<<<1, dim3(1, 1, 64), 0, s>>>(m));
	L(k<<<1, 32, 49152, s>>>(m)); L(k<<<1, 32, 49153, s>>>(m)); L(k<<<1, 32, 232449, s>>>(m));
	L(fixed<<<1, 32, 32768, s>>>(m)); L(fixed<<<1, 32, 32769, s>>>(m)); L(full<<<1, 32, 0, s>>>(m)); L(full<<<1, 32, 1, s>>>(m));
	L(k256<<<1, 256, 0, s>>>(m)); L(k256<<<1, 257, 0, s>>>(m)); L(many<<<1, 1024, 0, s>>>(m, 0));
	L(pair<<<1, 32, 0, s>>>(m)); L(pair<<<2, 32, 0, s>>>(m)); L(pair<<<3, 32, 0, s>>>(m));
	T(cudaFuncSetAttribute(dyn, cudaFuncAttributeMaxDynamicSharedMemorySize, 232449));
	T(cudaFuncSetAttribute(dyn, cudaFuncAttributeMaxDynamicSharedMemorySize, -1));
	T(cudaFuncSetAttribute(dyn, cudaFuncAttributeMaxDynamicSharedMemorySize, 1000));
	L(dyn<<<1, 32, 1001, s>>>(m)); L(dyn<<<1, 32, 1000, s>>>(m));
	T(cudaFuncSetAttribute(dyn, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000));
	L(dyn<<<1, 32, 100000, s>>>(m)); L(dyn<<<1, 32, 100001, s>>>(m));
	T(cudaFuncSetAttribute(fixed, cudaFuncAttributeMaxDynamicSharedMemorySize, 232448 - 16384));
	T(cudaFuncSetAttribute(fixed, cudaFuncAttributeMaxDynamicSharedMemorySize, 232448 - 16383));
	L(fixed<<<1, 32, 232448 - 16384, s>>>(m));
	T(cudaFuncSetAttribute(dyn, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
	T(cudaFuncSetAttribute(dyn, cudaFuncAttributePreferredSharedMemoryCarveout, 101));
	T(cudaFuncSetAttribute(dyn, (cudaFuncAttribute)77, 1));
	T(cudaFuncSetAttribute((void *)no_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1));
	void *arguments[] = { &m };
	T(cudaLaunchKernel((void *)no_kernel, 1, 1, arguments, 0, s)); T(cudaLaunchKernel((void *)0, 1, 1, arguments, 0, s));
	T(cudaLaunchCooperativeKernel((void *)k, 100000, 1024, arguments, 0, s));
	T(cudaLaunchCooperativeKernel((void *)k, 264, 1024, arguments, 0, s));
	T(cudaLaunchCooperativeKernel((void *)k, 265, 1024, arguments, 0, s));
	cudaLaunchConfig_t c = {};
	cudaLaunchAttribute at[1];
	c.gridDim = 4; c.blockDim = 32; c.stream = s; c.attrs = at; c.numAttrs = 1;
	at[0].id = cudaLaunchAttributeClusterDimension;
	at[0].val.clusterDim.x = 3; at[0].val.clusterDim.y = at[0].val.clusterDim.z = 1;
	T(cudaLaunchKernelEx(&c, k, m));
	at[0].val.clusterDim.x = 16; c.gridDim = 16; T(cudaLaunchKernelEx(&c, k, m));
	at[0].val.clusterDim.x = 2; T(cudaLaunchKernelEx(&c, k, m));
	at[0].val.clusterDim.x = 0; T(cudaLaunchKernelEx(&c, k, m));
	T(cudaMalloc(&q, 0)); printf("%d ", q == 0); T(cudaMalloc((void **)0, 16)); T(cudaMalloc(&q, 1ull << 50));
	T(cudaMallocAsync(&q, 0, s)); printf("%d ", q == 0); T(cudaFreeAsync(q, s)); T(cudaMallocAsync(&q, 1ull << 50, s));
	T(cudaMallocAsync(&q, 1000, s)); T(cudaFreeAsync(q, s)); T(cudaFreeAsync(q, s)); T(cudaFree(0)); T(cudaFreeAsync(0, s));
	T(cudaFree((void *)0x1234)); T(cudaFree(m + 1));
	T(cudaMemsetAsync(m, 0, 1 << 20, s)); T(cudaMemsetAsync(m, 0, (1 << 20) + 1, s)); T(cudaMemsetAsync(host, 0, 4, s));
	T(cudaMemsetAsync(0, 0, 4, s)); T(cudaMemsetAsync(0, 0, 0, s)); T(cudaMemsetAsync(host, 0, 0, s));
	T(cudaMemcpyAsync(m, m + 8, 4, cudaMemcpyHostToDevice, s)); T(cudaMemcpyAsync(m, host, 4, cudaMemcpyDeviceToDevice, s));
	T(cudaMemcpyAsync(host, host + 1, 4, cudaMemcpyDefault, s)); T(cudaMemcpyAsync(m, host, 4, cudaMemcpyDefault, s));
	T(cudaMemcpyAsync(m, host, 4, (cudaMemcpyKind)9, s)); T(cudaMemcpyAsync(host, m, 4, cudaMemcpyHostToDevice, s));
	T(cudaMemcpyAsync(m, 0, 4, cudaMemcpyHostToDevice, s)); T(cudaMemcpyAsync(m, host, 0, cudaMemcpyHostToDevice, s));
	T(cudaMemcpyAsync(m, m + 262144, 4, cudaMemcpyDeviceToDevice, s));
	T(cudaMemcpyAsync(m, m + 262144 - 1, 5, cudaMemcpyDeviceToDevice, s));
	T(cudaMemcpyAsync(m, m + 1, 64, cudaMemcpyDeviceToDevice, s));
	T(cudaMemset2DAsync(m, 16, 0, 17, 3, s)); T(cudaMemset2DAsync(m, 32, 0, 17, 3, s));
	T(cudaMemcpy2DAsync(m, 16, m + 1024, 16, 17, 2, cudaMemcpyDeviceToDevice, s));
	T(cudaMemcpy2DAsync(m, 32, m + 1024, 32, 17, 2, cudaMemcpyDeviceToDevice, s));
	T(cudaEventCreate(&e)); T(cudaEventCreateWithFlags(&e2, 99)); T(cudaEventCreateWithFlags(&e2, cudaEventDisableTiming));
	T(cudaStreamWaitEvent(s, e, 0)); T(cudaEventQuery(e)); T(cudaEventSynchronize(e)); T(cudaStreamWaitEvent(s, 0, 0));
	T(cudaStreamWaitEvent(s, e, 7)); T(cudaEventRecord(e, s)); T(cudaEventRecord(0, s));
	T(cudaStreamCreateWithFlags(&s2, 9)); T(cudaStreamCreateWithPriority(&s2, cudaStreamNonBlocking, -5));
	T(cudaStreamGetPriority(s2, &a)); printf("%d ", a); T(cudaStreamDestroy(s2));
	T(cudaSetDevice(1)); T(cudaSetDevice(-1)); T(cudaSetDevice(0)); T(cudaDeviceGetAttribute(&a, cudaDevAttrWarpSize, 1));
	T(cudaDeviceGetAttribute(&a, (cudaDeviceAttr)150, 0)); T(cudaGetDeviceProperties(&p, 3));
	T(cudaDeviceGetStreamPriorityRange(&least, &greatest)); printf("%d %d ", least, greatest);
	T(cudaDeviceGetLimit(&z, cudaLimitStackSize)); printf("%zu ", z); T(cudaDeviceGetLimit(&z, (cudaLimit)9));
	T(cudaMemcpyToSymbolAsync(constant_value, host, 16, 0, cudaMemcpyHostToDevice, s));
	T(cudaMemcpyToSymbolAsync(constant_value, host, 16, 60, cudaMemcpyHostToDevice, s));
	T(cudaMemcpyToSymbolAsync(host, host, 16, 0, cudaMemcpyHostToDevice, s));
	T(cudaGetSymbolSize(&z, global_value)); printf("%zu ", z); T(cudaGetSymbolSize(&z, host));
	T(cudaGetSymbolAddress(&q, constant_value));
	T(cudaFuncSetCacheConfig(k, (cudaFuncCache)7)); T(cudaFuncSetCacheConfig(k, cudaFuncCachePreferL1));
	T(cudaPointerGetAttributes(&pa, host)); printf("%d %d ", pa.type, pa.device);
	T(cudaPointerGetAttributes(&pa, m)); printf("%d %d ", pa.type, pa.device);
	T(cudaFuncGetAttributes(&fa, (void *)no_kernel)); T(cudaFuncGetAttributes(&fa, fixed));
	printf("%zu %zu %zu %d %d %d %d %d %d ", fa.sharedSizeBytes, fa.constSizeBytes, fa.localSizeBytes, fa.maxThreadsPerBlock,
		fa.numRegs, fa.ptxVersion, fa.binaryVersion, fa.maxDynamicSharedSizeBytes, fa.preferredShmemCarveout);
	T(cudaFuncGetParamInfo((void *)many, 1, &o, &z)); printf("%zu %zu ", o, z); T(cudaFuncGetParamInfo((void *)many, 2, &o, &z));
	T(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&a, (void *)no_kernel, 32, 0));
	T(cudaGetDeviceProperties(&p, 0));
	printf("%s %zu %zu %d %d %zu %zu %d %d %d %d %d %zu %zu %d %d %zu %zu %d %d %d %d %d %d %zu %d %d %zu\n", p.name,
		p.totalGlobalMem, p.sharedMemPerBlock, p.regsPerBlock, p.warpSize, p.memPitch, p.totalConstMem, p.maxThreadsPerBlock,
		p.maxThreadsDim[2], p.maxGridSize[0], p.major, p.minor, p.textureAlignment, p.texturePitchAlignment,
		p.multiProcessorCount, p.canMapHostMemory, p.surfaceAlignment, p.sharedMemPerMultiprocessor, p.regsPerMultiprocessor,
		p.asyncEngineCount, p.memoryBusWidth, p.l2CacheSize, p.persistingL2CacheMaxSize, p.maxThreadsPerMultiProcessor,
		p.sharedMemPerBlockOptin, p.maxBlocksPerMultiProcessor, p.accessPolicyMaxWindowSize, p.reservedSharedMemPerBlock);
	k<<<1, 32, 0, s>>>(y);
	cudaFuncSetAttribute(fixed, cudaFuncAttributeMaxDynamicSharedMemorySize, 32768);
	cudaFuncSetAttribute(dyn, cudaFuncAttributeMaxDynamicSharedMemorySize, 49152);
	cudaFree(m);
	cudaEventDestroy(e);
	cudaEventDestroy(e2);
	(void)x, (void)N;
}
