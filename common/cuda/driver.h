/* The CUDA driver, found at run time: one binary serves machines with and without a GPU. */
#ifndef CUDA_DRIVER_H
#define CUDA_DRIVER_H

#include <cuda.h>
#include <cudaProfiler.h>

#include "base/buf.h"

/* Every entry point that is used. The names are those of the header, which maps them to the versions in force. */
#define DRIVER_ENTRIES(X) \
	X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) \
	X(cuDeviceGetCount) X(cuDeviceGet) X(cuDeviceGetAttribute) X(cuDeviceGetName) X(cuDeviceGetUuid) \
	X(cuDeviceTotalMem) X(cuDevicePrimaryCtxRetain) X(cuCtxSetCurrent) X(cuCtxSynchronize) X(cuCtxSetLimit) \
	X(cuModuleLoadData) X(cuModuleUnload) X(cuModuleGetFunction) X(cuModuleGetGlobal) \
	X(cuFuncGetParamInfo) X(cuFuncGetAttribute) X(cuFuncSetAttribute) X(cuLaunchKernelEx) \
	X(cuMemAlloc) X(cuMemFree) X(cuMemGetInfo) X(cuMemHostAlloc) X(cuMemFreeHost) \
	X(cuMemAddressReserve) X(cuMemAddressFree) X(cuMemCreate) X(cuMemRelease) X(cuMemMap) X(cuMemUnmap) \
	X(cuMemSetAccess) X(cuMemGetAllocationGranularity) \
	X(cuMemsetD8Async) X(cuMemsetD16Async) X(cuMemsetD32Async) \
	X(cuMemsetD2D8Async) X(cuMemsetD2D16Async) X(cuMemsetD2D32Async) \
	X(cuMemcpyDtoDAsync) X(cuMemcpyHtoDAsync) X(cuMemcpyDtoHAsync) X(cuMemcpyDtoH) X(cuMemcpy2DAsync) \
	X(cuStreamCreate) X(cuStreamDestroy) X(cuStreamSynchronize) X(cuStreamWaitEvent) \
	X(cuStreamBeginCapture) X(cuStreamEndCapture) \
	X(cuGraphInstantiateWithFlags) X(cuGraphUpload) X(cuGraphLaunch) X(cuGraphExecDestroy) X(cuGraphDestroy) \
	X(cuEventCreate) X(cuEventDestroy) X(cuEventRecord) X(cuEventQuery) X(cuEventSynchronize) X(cuEventElapsedTime) \
	X(cuProfilerStart) X(cuProfilerStop)

struct driver {
#define DRIVER_MEMBER(name) __typeof__(&name) name##_;
	DRIVER_ENTRIES(DRIVER_MEMBER)
#undef DRIVER_MEMBER
};
extern struct driver driver;

/* Loads the library that $KM_LIBCUDA names, or libcuda.so.1, and initialises it. 0, or -1 with a sentence (no
 * driver, a driver too old for an entry point, no GPU): callers exit EX_UNAVAILABLE. */
int driver_open(struct buf *err);

/* "CUDA_ERROR_ILLEGAL_ADDRESS". Static. */
const char *driver_error(CUresult result);

/* CALL(cuMemFree, p): the entry point by the name that the manual gives it. */
#define CALL(name, ...) (driver.name##_(__VA_ARGS__))

#endif
