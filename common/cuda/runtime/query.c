/* Questions about the device, answered from the profile of the target GPU.
 *
 * In: the candidate's queries. Out: the profile's figures; device properties are the attributes under other names. */
#include <cuda_profiler_api.h>
#include <stddef.h>
#include <string.h>

#include "cuda/runtime/front.h"

#undef cudaGetDeviceProperties

EXPORT cudaError_t
cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
	if (device)
		return fail(cudaErrorInvalidDevice);
	if (!value || (int)attribute < 0 || (int)attribute >= PROFILE_ATTRIBUTES || !back_profile()->has_attribute[attribute])
		return fail(cudaErrorInvalidValue);
	*value = back_profile()->attribute[attribute];
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
	memcpy(p->name, back_profile()->name, sizeof p->name);
	p->totalGlobalMem = back_profile()->memory_total;
	for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
		int value = back_profile()->attribute[properties[i].attribute];
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
	*version = back_profile()->driver_version;
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
	if ((int)limit < 0 || (int)limit >= PROFILE_LIMITS || !back_profile()->has_limit[limit])
		return fail(cudaErrorUnsupportedLimit);
	*value = back_profile()->limit[limit];
	return cudaSuccess;
}

EXPORT cudaError_t
cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
	(void)value;
	if ((int)limit < 0 || (int)limit >= PROFILE_LIMITS || !back_profile()->has_limit[limit])
		return fail(cudaErrorUnsupportedLimit);
	if (!back_executes)
		refuse(UNSUPPORTED, "cudaDeviceSetLimit is not supported: a solution runs with the device's own limits");
	return cudaSuccess;
}

EXPORT cudaError_t
cudaDeviceGetCacheConfig(enum cudaFuncCache *config)
{
	if (!config)
		return fail(cudaErrorInvalidValue);
	*config = cudaFuncCachePreferNone;
	return cudaSuccess;
}

EXPORT cudaError_t
cudaDeviceSetCacheConfig(enum cudaFuncCache config)
{
	(void)config;
	return cudaSuccess;
}

/* ---- what only a program of one's own may ask or do: there is one device, and limits change no result */
EXPORT cudaError_t
cudaChooseDevice(int *device, const struct cudaDeviceProp *wanted)
{
	(void)wanted;
	return back_executes ? cudaGetDevice(device) : refused("cudaChooseDevice");
}

EXPORT cudaError_t
cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	if (!back_executes)
		return refused("cudaDeviceCanAccessPeer");
	if (!can || device || peer)
		return fail(cudaErrorInvalidDevice);
	*can = 0;
	return cudaSuccess;
}

EXPORT cudaError_t
cudaDeviceGetPCIBusId(char *id, int bytes, int device)
{
	static const char only[] = "0000:00:00.0";

	if (!back_executes)
		return refused("cudaDeviceGetPCIBusId");
	if (device)
		return fail(cudaErrorInvalidDevice);
	if (!id || bytes < (int)sizeof only)
		return fail(cudaErrorInvalidValue);
	memcpy(id, only, sizeof only);
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

/* ---- what changes speed alone */
EXPORT cudaError_t
cudaCtxResetPersistingL2Cache(void)
{
	return cudaSuccess;
}

EXPORT cudaError_t
cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *config)
{
	if (!config)
		return fail(cudaErrorInvalidValue);
	*config = cudaSharedMemBankSizeFourByte;
	return cudaSuccess;
}

EXPORT cudaError_t
cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config)
{
	(void)config;
	return cudaSuccess;
}

EXPORT cudaError_t
cudaFuncSetSharedMemConfig(const void *function, enum cudaSharedMemConfig config)
{
	(void)function, (void)config;
	return cudaSuccess;
}
