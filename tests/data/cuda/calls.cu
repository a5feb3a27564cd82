// Calls of the runtime by family: the axis N says which. tests/unit/t_cuda_record_calls.c names them by the same numbers.
#include <array>
#include <cstdio>
#include <vector>

__global__ void add(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = x[i] + 1;
}
__global__ void twice(const float *x, float *y, int64_t n) { y[threadIdx.x] = 2 * x[threadIdx.x]; }
__global__ void __cluster_dims__(2) pair(float *y) { y[0] = 1; }
template <int BLOCK, typename T> __global__ void blocked(const T *x, T *y) { y[threadIdx.x % BLOCK] = x[threadIdx.x]; }
__constant__ float table[16];

// Host code that runs before solve().
static const std::vector<int64_t> sizes = [] { std::vector<int64_t> v; for (int i = 1; i < 4; i++) v.push_back(i * 64); return v; }();

template <int BLOCK> static void launch_blocked(const float *x, float *y, cudaStream_t stream)
{
	blocked<BLOCK, float><<<BLOCK / 32, BLOCK, 0, stream>>>(x, y);
}

static void launch_with(const float *x, float *y, cudaStream_t stream, cudaLaunchAttribute attribute)
{
	cudaLaunchConfig_t config = {};
	config.gridDim = 16;
	config.blockDim = 32;
	config.stream = stream;
	config.attrs = &attribute;
	config.numAttrs = 1;
	cudaLaunchKernelEx(&config, add, x, y, (int64_t)512);
}

void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	float host[16] = { 1, 2 };
	cudaLaunchAttribute attribute = {};
	switch (N) {
	// memory, on the legacy default stream
	case 0:
		cudaMemset(y, 1, 64);
		cudaMemset2D(y, 128, 2, 64, 4);
		add<<<1, 32, 0, stream>>>(x, y, 32);
		break;
	case 1:
		cudaMemcpy(y, host, 8, cudaMemcpyHostToDevice);
		cudaMemcpy2D(y, 8, x, 16, 8, 2, cudaMemcpyDeviceToDevice);
		cudaMemcpyToSymbol(table, host, 8, 4);
		break;
	case 2: {	// three dimensions
		cudaPitchedPtr box;
		cudaMalloc3D(&box, make_cudaExtent(8, 2, 2));
		cudaMemset3DAsync(box, 0, make_cudaExtent(8, 2, 2), stream);
		cudaMemcpy3DParms p = {};
		p.srcPtr = make_cudaPitchedPtr((void *)x, 8, 8, 2);
		p.dstPtr = box;
		p.extent = make_cudaExtent(8, 2, 2);
		p.kind = cudaMemcpyDeviceToDevice;
		cudaMemcpy3DAsync(&p, stream);
		cudaFree(box.ptr);
		break;
	}
	case 3:
		cudaMemcpy(host, x, 4, cudaMemcpyDeviceToHost);
		break;
	case 4:
		cudaMemcpyFromSymbol(host, table, 4);
		break;
	// streams and events
	case 10: {	// the legacy stream waits for a blocking one
		cudaStream_t own;
		cudaStreamCreate(&own);
		add<<<1, 32, 0, own>>>(x, y, 32);
		cudaMemset(y, 0, 4);
		cudaStreamDestroy(own);
		break;
	}
	case 11: {	// but not for an independent one
		cudaStream_t own;
		cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
		add<<<1, 32, 0, own>>>(x, y, 32);
		cudaMemset(y, 0, 4);
		break;
	}
	case 12:
		add<<<1, 32, 0, cudaStreamPerThread>>>(x, y, 32);
		break;
	case 13: {
		cudaEvent_t event;
		cudaEventCreate(&event);
		add<<<1, 32>>>(x, y, 32);
		cudaEventRecord(event);
		cudaStreamWaitEvent(stream, event, 0);
		cudaStreamSynchronize(0);
		cudaEventSynchronize(event);
		break;
	}
	case 14:
		cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
		break;
	// memory pools
	case 20: {
		cudaMemPool_t pool;
		uint64_t threshold = 1 << 20, back = 0;
		float *scratch;
		cudaDeviceGetDefaultMemPool(&pool, 0);
		cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold);
		cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &back);
		cudaMallocFromPoolAsync((void **)&scratch, back == threshold ? 512 : 1, pool, stream);
		cudaFreeAsync(scratch, stream);
		cudaMemPoolTrimTo(pool, 0);
		break;
	}
	// clusters and launch attributes
	case 30:
		attribute.id = cudaLaunchAttributeClusterDimension;
		attribute.val.clusterDim = { 16, 1, 1 };
		cudaFuncSetAttribute(add, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
		launch_with(x, y, stream, attribute);
		break;
	case 31:
		attribute.id = cudaLaunchAttributeClusterDimension;
		attribute.val.clusterDim = { 16, 1, 1 };
		launch_with(x, y, stream, attribute);
		break;
	case 32:
		pair<<<4, 32, 0, stream>>>(y);
		break;
	case 33:
		pair<<<5, 32, 0, stream>>>(y);
		break;
	case 34:
		attribute.id = cudaLaunchAttributeCooperative;
		attribute.val.cooperative = 1;
		launch_with(x, y, stream, attribute);
		break;
	case 35:
		attribute.id = cudaLaunchAttributePriority;
		attribute.val.priority = -1;
		launch_with(x, y, stream, attribute);
		break;
	case 36:
		attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
		attribute.val.programmaticStreamSerializationAllowed = 1;
		launch_with(x, y, stream, attribute);
		break;
	case 37:
		attribute.id = cudaLaunchAttributeLaunchCompletionEvent;
		launch_with(x, y, stream, attribute);
		break;
	// host code of all kinds around launches
	case 40: {
		void (*kernels[])(const float *, float *, int64_t) = { add, twice };
		std::array<int, 2> blocks = { 64, 32 };
		for (int i = 0; i < 2; i++)
			kernels[i]<<<1, blocks[i], 0, stream>>>(x, y, sizes[i]);
		break;
	}
	case 41: {
		int64_t n = 32;
		void *arguments[] = { &x, &y, &n };
		cudaKernel_t kernel;
		cudaGetKernel(&kernel, (const void *)twice);
		cudaLaunchKernel((const void *)add, dim3(1), dim3(32), arguments, 0, stream);
		cudaLaunchKernel((const void *)kernel, dim3(1), dim3(32), arguments, 0, stream);
		break;
	}
	case 42:
		launch_blocked<64>(x, y, stream);
		launch_blocked<128>(x, y, stream);
		break;
	// questions
	case 50: {
		cudaLaunchConfig_t config = {};
		cudaFuncAttributes about;
		int portable = 0, most = 0, threads = 0;
		config.gridDim = 16;
		config.blockDim = 128;
		cudaOccupancyMaxPotentialClusterSize(&portable, add, &config);
		cudaFuncSetAttribute(add, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
		cudaOccupancyMaxPotentialClusterSize(&most, add, &config);
		cudaFuncGetAttributes(&about, add);
		threads = about.maxThreadsPerBlock;
		printf("%d %d %d %s\n", portable, most, threads, cudaGetErrorString(cudaPeekAtLastError()));
		break;
	}
	// refused, by name
	case 60: { cudaEvent_t e; float ms; cudaEventCreate(&e); cudaEventElapsedTime(&ms, e, e); break; }
	case 61: cudaLaunchHostFunc(stream, [](void *) {}, nullptr); break;
	case 62: cudaHostRegister(host, sizeof host, 0); break;
	case 63: cudaDeviceReset(); break;
	case 64: { void *mapped; cudaHostAlloc(&mapped, 64, cudaHostAllocMapped); break; }
	case 65: { cudaArray_t a; cudaMallocArray(&a, nullptr, 4, 4); break; }
	case 66: { void *f; cudaDriverEntryPointQueryResult r; cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &f, 12000, 0, &r); break; }
	case 67: cudaDeviceSetLimit(cudaLimitStackSize, 1 << 16); break;
	}
}
