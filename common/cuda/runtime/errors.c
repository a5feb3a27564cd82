/* The runtime's last error, the names of all, and the words for those that are returned here.
 *
 * In: a number. Out: text as the runtime of CUDA 13.0 gives it. */
#include <stdarg.h>
#include <stdio.h>

#include "cuda/runtime/front.h"

enum { MAX_WORDS = 500 };

static cudaError_t last_error;
static bool launch_failed;
static char first_failure[MAX_WORDS];

static const struct { int error; const char *words; } texts[] = {
	{ 0, "no error" },
	{ 1, "invalid argument" },
	{ 2, "out of memory" },
	{ 12, "invalid pitch argument" },
	{ 13, "invalid device symbol" },
	{ 21, "invalid copy direction for memcpy" },
	{ 52, "__global__ function call is not configured" },
	{ 98, "invalid device function" },
	{ 101, "invalid device ordinal" },
	{ 215, "limit is not supported on this architecture" },
	{ 400, "invalid resource handle" },
	{ 600, "device not ready" },
	{ 700, "an illegal memory access was encountered" },
	{ 701, "too many resources requested for launch" },
	{ 702, "the launch timed out and was terminated" },
	{ 710, "device-side assert triggered" },
	{ 714, "hardware stack error" },
	{ 715, "an illegal instruction was encountered" },
	{ 716, "misaligned address" },
	{ 719, "unspecified launch failure" },
	{ 720, "too many blocks in cooperative launch" },
	{ 801, "operation not supported" },
	{ 912, "a kernel launch error has occurred due to cluster misconfiguration" },
};

#define NAME(error) { error, #error }
static const struct { int error; const char *name; } names[] = {
	NAME(cudaSuccess), NAME(cudaErrorInvalidValue), NAME(cudaErrorMemoryAllocation),
	NAME(cudaErrorInitializationError), NAME(cudaErrorCudartUnloading), NAME(cudaErrorProfilerDisabled),
	NAME(cudaErrorProfilerNotInitialized), NAME(cudaErrorProfilerAlreadyStarted),
	NAME(cudaErrorProfilerAlreadyStopped), NAME(cudaErrorInvalidConfiguration),
	NAME(cudaErrorInvalidPitchValue), NAME(cudaErrorInvalidSymbol), NAME(cudaErrorInvalidHostPointer),
	NAME(cudaErrorInvalidDevicePointer), NAME(cudaErrorInvalidTexture),
	NAME(cudaErrorInvalidTextureBinding), NAME(cudaErrorInvalidChannelDescriptor),
	NAME(cudaErrorInvalidMemcpyDirection), NAME(cudaErrorAddressOfConstant),
	NAME(cudaErrorTextureFetchFailed), NAME(cudaErrorTextureNotBound),
	NAME(cudaErrorSynchronizationError), NAME(cudaErrorInvalidFilterSetting),
	NAME(cudaErrorInvalidNormSetting), NAME(cudaErrorMixedDeviceExecution),
	NAME(cudaErrorNotYetImplemented), NAME(cudaErrorMemoryValueTooLarge), NAME(cudaErrorStubLibrary),
	NAME(cudaErrorInsufficientDriver), NAME(cudaErrorCallRequiresNewerDriver),
	NAME(cudaErrorInvalidSurface), NAME(cudaErrorDuplicateVariableName),
	NAME(cudaErrorDuplicateTextureName), NAME(cudaErrorDuplicateSurfaceName),
	NAME(cudaErrorDevicesUnavailable), NAME(cudaErrorIncompatibleDriverContext),
	NAME(cudaErrorMissingConfiguration), NAME(cudaErrorPriorLaunchFailure),
	NAME(cudaErrorLaunchMaxDepthExceeded), NAME(cudaErrorLaunchFileScopedTex),
	NAME(cudaErrorLaunchFileScopedSurf), NAME(cudaErrorSyncDepthExceeded),
	NAME(cudaErrorLaunchPendingCountExceeded), NAME(cudaErrorInvalidDeviceFunction),
	NAME(cudaErrorNoDevice), NAME(cudaErrorInvalidDevice), NAME(cudaErrorDeviceNotLicensed),
	NAME(cudaErrorSoftwareValidityNotEstablished), NAME(cudaErrorStartupFailure),
	NAME(cudaErrorInvalidKernelImage), NAME(cudaErrorDeviceUninitialized),
	NAME(cudaErrorMapBufferObjectFailed), NAME(cudaErrorUnmapBufferObjectFailed),
	NAME(cudaErrorArrayIsMapped), NAME(cudaErrorAlreadyMapped), NAME(cudaErrorNoKernelImageForDevice),
	NAME(cudaErrorAlreadyAcquired), NAME(cudaErrorNotMapped), NAME(cudaErrorNotMappedAsArray),
	NAME(cudaErrorNotMappedAsPointer), NAME(cudaErrorECCUncorrectable), NAME(cudaErrorUnsupportedLimit),
	NAME(cudaErrorDeviceAlreadyInUse), NAME(cudaErrorPeerAccessUnsupported), NAME(cudaErrorInvalidPtx),
	NAME(cudaErrorInvalidGraphicsContext), NAME(cudaErrorNvlinkUncorrectable),
	NAME(cudaErrorJitCompilerNotFound), NAME(cudaErrorUnsupportedPtxVersion),
	NAME(cudaErrorJitCompilationDisabled), NAME(cudaErrorUnsupportedExecAffinity),
	NAME(cudaErrorUnsupportedDevSideSync), NAME(cudaErrorContained), NAME(cudaErrorInvalidSource),
	NAME(cudaErrorFileNotFound), NAME(cudaErrorSharedObjectSymbolNotFound),
	NAME(cudaErrorSharedObjectInitFailed), NAME(cudaErrorOperatingSystem),
	NAME(cudaErrorInvalidResourceHandle), NAME(cudaErrorIllegalState), NAME(cudaErrorLossyQuery),
	NAME(cudaErrorSymbolNotFound), NAME(cudaErrorNotReady), NAME(cudaErrorIllegalAddress),
	NAME(cudaErrorLaunchOutOfResources), NAME(cudaErrorLaunchTimeout),
	NAME(cudaErrorLaunchIncompatibleTexturing), NAME(cudaErrorPeerAccessAlreadyEnabled),
	NAME(cudaErrorPeerAccessNotEnabled), NAME(cudaErrorSetOnActiveProcess),
	NAME(cudaErrorContextIsDestroyed), NAME(cudaErrorAssert), NAME(cudaErrorTooManyPeers),
	NAME(cudaErrorHostMemoryAlreadyRegistered), NAME(cudaErrorHostMemoryNotRegistered),
	NAME(cudaErrorHardwareStackError), NAME(cudaErrorIllegalInstruction),
	NAME(cudaErrorMisalignedAddress), NAME(cudaErrorInvalidAddressSpace), NAME(cudaErrorInvalidPc),
	NAME(cudaErrorLaunchFailure), NAME(cudaErrorCooperativeLaunchTooLarge),
	NAME(cudaErrorTensorMemoryLeak), NAME(cudaErrorNotPermitted), NAME(cudaErrorNotSupported),
	NAME(cudaErrorSystemNotReady), NAME(cudaErrorSystemDriverMismatch),
	NAME(cudaErrorCompatNotSupportedOnDevice), NAME(cudaErrorMpsConnectionFailed),
	NAME(cudaErrorMpsRpcFailure), NAME(cudaErrorMpsServerNotReady), NAME(cudaErrorMpsMaxClientsReached),
	NAME(cudaErrorMpsMaxConnectionsReached), NAME(cudaErrorMpsClientTerminated),
	NAME(cudaErrorCdpNotSupported), NAME(cudaErrorCdpVersionMismatch),
	NAME(cudaErrorStreamCaptureUnsupported), NAME(cudaErrorStreamCaptureInvalidated),
	NAME(cudaErrorStreamCaptureMerge), NAME(cudaErrorStreamCaptureUnmatched),
	NAME(cudaErrorStreamCaptureUnjoined), NAME(cudaErrorStreamCaptureIsolation),
	NAME(cudaErrorStreamCaptureImplicit), NAME(cudaErrorCapturedEvent),
	NAME(cudaErrorStreamCaptureWrongThread), NAME(cudaErrorTimeout),
	NAME(cudaErrorGraphExecUpdateFailure), NAME(cudaErrorExternalDevice),
	NAME(cudaErrorInvalidClusterSize), NAME(cudaErrorFunctionNotLoaded),
	NAME(cudaErrorInvalidResourceType), NAME(cudaErrorInvalidResourceConfiguration),
	NAME(cudaErrorUnknown),
};

const char *
runtime_error_text(int error)
{
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (texts[i].error == error)
			return texts[i].words;
	return NULL;
}

EXPORT const char *
cudaGetErrorName(cudaError_t error)
{
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].error == (int)error)
			return names[i].name;
	return "unrecognized error code";
}

/* Errors that are never returned here have their name for words. */
EXPORT const char *
cudaGetErrorString(cudaError_t error)
{
	const char *words = runtime_error_text((int)error);

	return words ? words : cudaGetErrorName(error);
}

/* ---- the last one */
cudaError_t
fail(cudaError_t error)
{
	if (error)
		last_error = error;
	return error;
}

cudaError_t
fail_because(cudaError_t error, const char *format, ...)
{
	char words[MAX_WORDS];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof words, format, args);
	va_end(args);
	if (!*first_failure)
		snprintf(first_failure, sizeof first_failure, "%s", words);
	back_failed(words);
	return fail(error);
}

cudaError_t
done(int error)
{
	return fail((cudaError_t)error);
}

void
note_launch(bool succeeded)
{
	launch_failed = !succeeded;
}

const char *
runtime_failure(bool *stands)
{
	*stands = launch_failed || last_error;
	return first_failure;
}

void
runtime_reset_failure(void)
{
	launch_failed = false;
	last_error = cudaSuccess;
	*first_failure = 0;
}

EXPORT cudaError_t
cudaGetLastError(void)
{
	cudaError_t error = back_sticky() ? (cudaError_t)back_sticky() : last_error;

	last_error = cudaSuccess;
	return error;
}

EXPORT cudaError_t
cudaPeekAtLastError(void)
{
	return back_sticky() ? (cudaError_t)back_sticky() : last_error;
}
