/* Questions about the device, answered from the profile of the target GPU.
 *
 * In: the candidate's queries. Out: the profile's figures; device properties are the attributes under other names. */
#include <cuda_profiler_api.h>
#include <stddef.h>
#include <string.h>

#include "cuda/recorder/state.h"

#undef cudaGetDeviceProperties

EXPORT cudaError_t
cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
	if (device)
		return fail(cudaErrorInvalidDevice);
	if (!value || (int)attribute < 0 || (int)attribute >= PROFILE_ATTRIBUTES || !job->profile->has_attribute[attribute])
		return fail(cudaErrorInvalidValue);
	*value = job->profile->attribute[attribute];
	return cudaSuccess;
}

#define INT(field, attribute) { offsetof(struct cudaDeviceProp, field), cudaDevAttr##attribute, false }
#define SIZE(field, attribute) { offsetof(struct cudaDeviceProp, field), cudaDevAttr##attribute, true }
static const struct { size_t offset; enum cudaDeviceAttr attribute; bool is_size; } properties[] = {
	SIZE(sharedMemPerBlock, MaxSharedMemoryPerBlock), INT(regsPerBlock, MaxRegistersPerBlock), INT(warpSize, WarpSize),
	SIZE(memPitch, MaxPitch), INT(maxThreadsPerBlock, MaxThreadsPerBlock), INT(maxThreadsDim[0], MaxBlockDimX),
	INT(maxThreadsDim[1], MaxBlockDimY), INT(maxThreadsDim[2], MaxBlockDimZ), INT(maxGridSize[0], MaxGridDimX),
	INT(maxGridSize[1], MaxGridDimY), INT(maxGridSize[2], MaxGridDimZ), SIZE(totalConstMem, TotalConstantMemory),
	INT(major, ComputeCapabilityMajor), INT(minor, ComputeCapabilityMinor), SIZE(textureAlignment, TextureAlignment),
	SIZE(texturePitchAlignment, TexturePitchAlignment), INT(multiProcessorCount, MultiProcessorCount),
	INT(integrated, Integrated), INT(canMapHostMemory, CanMapHostMemory), SIZE(surfaceAlignment, SurfaceAlignment),
	INT(concurrentKernels, ConcurrentKernels), INT(ECCEnabled, EccEnabled), INT(tccDriver, TccDriver),
	INT(asyncEngineCount, AsyncEngineCount), INT(unifiedAddressing, UnifiedAddressing),
	INT(memoryBusWidth, GlobalMemoryBusWidth), INT(l2CacheSize, L2CacheSize),
	INT(persistingL2CacheMaxSize, MaxPersistingL2CacheSize), INT(maxThreadsPerMultiProcessor, MaxThreadsPerMultiProcessor),
	INT(streamPrioritiesSupported, StreamPrioritiesSupported), INT(globalL1CacheSupported, GlobalL1CacheSupported),
	INT(localL1CacheSupported, LocalL1CacheSupported),
	SIZE(sharedMemPerMultiprocessor, MaxSharedMemoryPerMultiprocessor),
	INT(regsPerMultiprocessor, MaxRegistersPerMultiprocessor), INT(managedMemory, ManagedMemory),
	INT(isMultiGpuBoard, IsMultiGpuBoard), INT(hostNativeAtomicSupported, HostNativeAtomicSupported),
	INT(pageableMemoryAccess, PageableMemoryAccess), INT(concurrentManagedAccess, ConcurrentManagedAccess),
	INT(computePreemptionSupported, ComputePreemptionSupported), INT(cooperativeLaunch, CooperativeLaunch),
	SIZE(sharedMemPerBlockOptin, MaxSharedMemoryPerBlockOptin),
	INT(maxBlocksPerMultiProcessor, MaxBlocksPerMultiprocessor),
	INT(accessPolicyMaxWindowSize, MaxAccessPolicyWindowSize),
	SIZE(reservedSharedMemPerBlock, ReservedSharedMemoryPerBlock), INT(memoryPoolsSupported, MemoryPoolsSupported),
	INT(clusterLaunch, ClusterLaunch),
};

EXPORT cudaError_t
cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
	if (device)
		return fail(cudaErrorInvalidDevice);
	if (!p)
		return fail(cudaErrorInvalidValue);
	memset(p, 0, sizeof *p);
	memcpy(p->name, job->profile->name, sizeof p->name);
	p->totalGlobalMem = job->profile->memory_total;
	for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
		int value = job->profile->attribute[properties[i].attribute];
		size_t wide = (size_t)value;
		char *at = (char *)p + properties[i].offset;

		memcpy(at, properties[i].is_size ? (void *)&wide : (void *)&value,
			properties[i].is_size ? sizeof wide : sizeof value);
	}
	return cudaSuccess;
}

EXPORT cudaError_t
cudaGetDevice(int *device)
{
	if (!device)
		return fail(cudaErrorInvalidValue);
	*device = 0;
	return cudaSuccess;
}

EXPORT cudaError_t
cudaSetDevice(int device)
{
	return device ? fail(cudaErrorInvalidDevice) : cudaSuccess;
}

EXPORT cudaError_t
cudaInitDevice(int device, unsigned device_flags, unsigned flags)
{
	(void)device_flags, (void)flags;
	return cudaSetDevice(device);
}

EXPORT cudaError_t
cudaGetDeviceCount(int *count)
{
	if (!count)
		return fail(cudaErrorInvalidValue);
	*count = 1;
	return cudaSuccess;
}

EXPORT cudaError_t
cudaGetDeviceFlags(unsigned *flags)
{
	if (!flags)
		return fail(cudaErrorInvalidValue);
	*flags = cudaDeviceMapHost;
	return cudaSuccess;
}

EXPORT cudaError_t
cudaSetDeviceFlags(unsigned flags)
{
	(void)flags;
	return cudaSuccess;
}

EXPORT cudaError_t
cudaRuntimeGetVersion(int *version)
{
	if (!version)
		return fail(cudaErrorInvalidValue);
	*version = CUDART_VERSION;
	return cudaSuccess;
}

EXPORT cudaError_t
cudaDriverGetVersion(int *version)
{
	if (!version)
		return fail(cudaErrorInvalidValue);
	*version = job->profile->driver_version;
	return cudaSuccess;
}

EXPORT cudaError_t
cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return cudaSuccess;
}

EXPORT cudaError_t
cudaDeviceGetLimit(size_t *value, enum cudaLimit limit)
{
	if ((int)limit < 0 || (int)limit >= PROFILE_LIMITS || !job->profile->has_limit[limit])
		return fail(cudaErrorUnsupportedLimit);
	*value = job->profile->limit[limit];
	return cudaSuccess;
}

EXPORT cudaError_t
cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
	(void)value;
	if ((int)limit < 0 || (int)limit >= PROFILE_LIMITS || !job->profile->has_limit[limit])
		return fail(cudaErrorUnsupportedLimit);
	refuse(UNSUPPORTED, "cudaDeviceSetLimit is not supported: a solution runs with the device's own limits");
}

EXPORT cudaError_t
cudaDeviceGetCacheConfig(enum cudaFuncCache *config)
{
	*config = cudaFuncCachePreferNone;
	return cudaSuccess;
}

EXPORT cudaError_t
cudaDeviceSetCacheConfig(enum cudaFuncCache config)
{
	(void)config;
	return cudaSuccess;
}

/* The default pool: a release threshold changes no result. */
EXPORT cudaError_t
cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
	static char handle;

	if (device)
		return fail(cudaErrorInvalidDevice);
	*pool = (cudaMemPool_t)(void *)&handle;
	return cudaSuccess;
}

EXPORT cudaError_t
cudaDeviceGetMemPool(cudaMemPool_t *pool, int device)
{
	return cudaDeviceGetDefaultMemPool(pool, device);
}

EXPORT cudaError_t
cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
	(void)pool, (void)attribute, (void)value;
	return cudaSuccess;
}

EXPORT cudaError_t
cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep)
{
	(void)pool, (void)keep;
	return cudaSuccess;
}

EXPORT cudaError_t
cudaProfilerStart(void)
{
	return cudaSuccess;
}

EXPORT cudaError_t
cudaProfilerStop(void)
{
	return cudaSuccess;
}
