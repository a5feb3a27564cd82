/* Kernels: their registration, their launches, and what the runtime tells about them.
 *
 * In: what nvcc's host code and the program call. Out: launches for the back end, with the argument bytes laid out as
 * the PTX says; `void **arguments` has no sizes, so the back end knows them from the device code. Which configuration
 * gives which error was read off an H200. */
#include <string.h>

#include "base/occupancy.h"
#include "cuda/cuda.h"
#include "cuda/runtime/front.h"

/* ---- what nvcc's host code calls; not declared in the toolkit's C headers */
EXPORT void **__cudaRegisterFatBinary(void *wrapper);
EXPORT void __cudaRegisterFatBinaryEnd(void **handle);
EXPORT void __cudaUnregisterFatBinary(void **handle);
EXPORT char __cudaInitModule(void **handle);
EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int thread_limit,
	uint3 *thread_id, uint3 *block_id, dim3 *block, dim3 *grid, int *warp_size);
EXPORT void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t bytes,
	int constant, int global);
EXPORT void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int external,
	size_t bytes, int constant, int global);
EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream);
EXPORT cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
EXPORT cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function);
EXPORT cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
	cudaStream_t stream);

enum { MAX_CONFIGURATIONS = 64, MAX_BLOCK = 1024, MAX_BLOCK_Z = 64, MAX_GRID_YZ = 65535, DEFAULT_DYNAMIC = 49152,
	MAX_CLUSTER = 8, MAX_CLUSTER_NON_PORTABLE = 16, MAX_IMAGES = 256 };

struct function {
	const void *host;
	const struct runtime_kernel *kernel;	/* NULL: not in the device code */
	uint32_t dynamic_limit;
	int carveout;
	bool non_portable;			/* clusters of more than 8 blocks are allowed */
	int cluster[3];				/* set by cudaFuncSetAttribute, zeros: not set */
	int cluster_policy;
};

struct configuration {
	dim3 grid, block;
	size_t shared;
	cudaStream_t stream;
};

struct variable {
	const void *host;
	const struct runtime_symbol *symbol;
};

static struct function functions[MAX_FUNCTIONS];
static struct variable variables[MAX_FUNCTIONS];
static unsigned function_count, variable_count, image_count;
static int images[MAX_IMAGES];	/* a handle is the address of an image's number */
static struct configuration configurations[MAX_CONFIGURATIONS];
static unsigned configuration_count;

void **
__cudaRegisterFatBinary(void *wrapper)
{
	int image = back_register(wrapper);

	if (image_count == MAX_IMAGES)
		refuse(UNSUPPORTED, "the program registers more than %d device images", MAX_IMAGES);
	images[image_count] = image;
	return (void **)(void *)&images[image_count++];
}

static int
image_of(void **handle)
{
	return *(const int *)(const void *)handle;
}

void
__cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

void
__cudaUnregisterFatBinary(void **handle)
{
	(void)handle;
}

char
__cudaInitModule(void **handle)
{
	(void)handle;
	return 1;
}

void
__cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int thread_limit,
	uint3 *thread_id, uint3 *block_id, dim3 *block, dim3 *grid, int *warp_size)
{
	struct function *f = &functions[function_count];

	(void)device, (void)thread_limit, (void)thread_id, (void)block_id, (void)block, (void)grid, (void)warp_size;
	if (function_count == MAX_FUNCTIONS)
		refuse(UNSUPPORTED, "the program has more than %d kernels", MAX_FUNCTIONS);
	*f = (struct function){ .host = host, .kernel = back_kernel(image_of(handle), name), .carveout = -1 };
	if (f->kernel)
		f->dynamic_limit = f->kernel->static_shared < DEFAULT_DYNAMIC ? DEFAULT_DYNAMIC - f->kernel->static_shared : 0;
	function_count++;
}

void
__cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t bytes, int constant,
	int global)
{
	const struct runtime_symbol *symbol = back_symbol(image_of(handle), name);

	(void)device, (void)external, (void)bytes, (void)constant, (void)global;
	if (variable_count == MAX_FUNCTIONS)
		refuse(UNSUPPORTED, "the program has more than %d device variables", MAX_FUNCTIONS);
	if (symbol)
		variables[variable_count++] = (struct variable){ host, symbol };
}

/* The host reaches a managed variable through a pointer, which is set here. */
void
__cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int external, size_t bytes,
	int constant, int global)
{
	const struct runtime_symbol *symbol;

	if (!back_executes)
		refuse(UNSUPPORTED, "the __managed__ variable %s is not supported: host and device share no memory", name);
	symbol = back_symbol(image_of(handle), name);
	if (!symbol)
		return;
	*host = (void *)(uintptr_t)symbol->address;
	__cudaRegisterVar(handle, (char *)host, device, name, external, bytes, constant, global);
}

static struct function *
find_function(const void *host)
{
	for (unsigned i = 0; i < function_count; i++)
		if (functions[i].host == host && functions[i].kernel)
			return &functions[i];
	return NULL;
}

const struct runtime_symbol *
find_symbol(const void *variable)
{
	for (unsigned i = 0; i < variable_count; i++)
		if (variables[i].host == variable)
			return variables[i].symbol;
	return NULL;
}

static const struct occupancy_gpu *
device(void)
{
	const int *attribute = back_profile()->attribute;

	return occupancy_gpu(10 * attribute[cudaDevAttrComputeCapabilityMajor] + attribute[cudaDevAttrComputeCapabilityMinor]);
}

static struct occupancy_kernel
resources(const struct function *f)
{
	return (struct occupancy_kernel){ f->kernel->registers, f->kernel->static_shared, f->kernel->max_threads,
		f->dynamic_limit, f->carveout, device() };
}

/* ---- launches */
struct launch {
	dim3 grid, block, cluster;
	size_t shared;
	cudaStream_t stream;
	bool cooperative;
};

/* The runtime's error for a configuration that cannot run, and why. */
static cudaError_t
check_launch(const struct function *f, const struct launch *l, const char **why)
{
	const struct runtime_kernel *k = f->kernel;
	uint64_t threads = (uint64_t)l->block.x * l->block.y * l->block.z;
	struct occupancy_kernel r = resources(f);
	const uint32_t *need = k->required_block, *cluster = k->required_cluster;
	uint32_t cx = l->cluster.x, cy = l->cluster.y, cz = l->cluster.z;

	*why = "a dimension of the grid is 0 or over its limit";
	if (!l->grid.x || !l->grid.y || !l->grid.z || l->grid.x > INT32_MAX || l->grid.y > MAX_GRID_YZ ||
	    l->grid.z > MAX_GRID_YZ)
		return cudaErrorInvalidValue;
	*why = "a dimension of the block is 0 or over its limit";
	if (!threads || l->block.x > MAX_BLOCK || l->block.y > MAX_BLOCK || l->block.z > MAX_BLOCK_Z)
		return cudaErrorInvalidValue;
	*why = "the block has more than 1024 threads";
	if (threads > MAX_BLOCK)
		return cudaErrorInvalidValue;
	*why = "the block has more threads than __launch_bounds__ allows";
	if (threads > k->max_threads)
		return cudaErrorInvalidValue;
	*why = "the block has not the shape that the kernel requires";
	if (need[0] && (need[0] != l->block.x || need[1] != l->block.y || need[2] != l->block.z))
		return cudaErrorInvalidValue;
	*why = f->dynamic_limit <= DEFAULT_DYNAMIC ? "the block wants more shared memory than the 48 KiB allowed without "
		"cudaFuncAttributeMaxDynamicSharedMemorySize" : "the block wants more dynamic shared memory than was set";
	if (l->shared > f->dynamic_limit)
		return cudaErrorInvalidValue;
	*why = "the block has more threads than the kernel's registers allow";
	if (threads > occupancy_max_threads(&r))
		return cudaErrorLaunchOutOfResources;
	*why = "this GPU knows no clusters";
	if (cx && !back_profile()->attribute[cudaDevAttrClusterLaunch])
		return cudaErrorNotSupported;
	*why = "the grid is no multiple of the cluster, or the cluster is not the one that the kernel requires";
	if ((cx || cy || cz) && (!cx || !cy || !cz || l->grid.x % cx || l->grid.y % cy || l->grid.z % cz))
		return cudaErrorInvalidClusterSize;
	*why = f->non_portable ? "the cluster has more than 16 blocks" : "the cluster has more than the 8 blocks allowed "
		"without cudaFuncAttributeNonPortableClusterSizeAllowed";
	if ((uint64_t)cx * cy * cz > (f->non_portable ? MAX_CLUSTER_NON_PORTABLE : MAX_CLUSTER))
		return cudaErrorInvalidClusterSize;
	*why = "the cluster is not the one that the kernel requires";
	if (cluster[0] && (cluster[0] != cx || cluster[1] != cy || cluster[2] != cz))
		return cudaErrorInvalidClusterSize;
	*why = "the grid does not fit the device at once";
	if (l->cooperative && (uint64_t)l->grid.x * l->grid.y * l->grid.z > (uint64_t)occupancy_blocks(&r, (uint32_t)threads,
	    l->shared) * (uint32_t)back_profile()->attribute[cudaDevAttrMultiProcessorCount])
		return cudaErrorCooperativeLaunchTooLarge;
	return cudaSuccess;
}

static cudaError_t
launch(const void *host, const struct launch *l, void **arguments)
{
	static uint8_t bytes[CUDA_MAX_PARAMETER_BYTES];
	struct function *f = find_function(host);
	int stream = stream_number(l->stream, f ? f->kernel->name : "a kernel");
	const char *why;
	cudaError_t error;

	if (!f || stream < 0) {
		note_launch(false);
		return fail_because(!f ? host ? cudaErrorInvalidResourceHandle : cudaErrorInvalidDeviceFunction :
			cudaErrorInvalidResourceHandle, "a launch failed: its %s is none", f ? "stream" : "kernel");
	}
	error = check_launch(f, l, &why);
	if (error) {
		note_launch(false);
		return fail_because(error, "the launch of %.200s failed: %s (grid %u %u %u, block %u %u %u, %zu bytes of dynamic "
			"shared memory): %s", f->kernel->name, runtime_error_text((int)error), l->grid.x, l->grid.y, l->grid.z, l->block.x,
			l->block.y, l->block.z, l->shared, why);
	}
	memset(bytes, 0, f->kernel->parameter_bytes);
	for (uint32_t i = 0; i < f->kernel->parameters; i++)
		memcpy(bytes + f->kernel->parameter[i].offset, arguments[i], f->kernel->parameter[i].bytes);
	note_launch(true);
	return done(back_launch(&(struct back_launch){ f->kernel, stream, { l->grid.x, l->grid.y, l->grid.z },
		{ l->block.x, l->block.y, l->block.z }, { l->cluster.x, l->cluster.y, l->cluster.z }, (uint32_t)l->shared,
		l->cooperative, bytes }));
}

/* The cluster that a kernel has without an attribute of the launch: fixed at compile time, or set before. */
static dim3
own_cluster(const struct function *f)
{
	const uint32_t *fixed = f ? f->kernel->required_cluster : NULL;

	if (!f)
		return (dim3){ 0, 0, 0 };
	return fixed[0] ? (dim3){ fixed[0], fixed[1], fixed[2] } :
		(dim3){ (unsigned)f->cluster[0], (unsigned)f->cluster[1], (unsigned)f->cluster[2] };
}

static cudaError_t
launch_plain(const void *host, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream,
	bool cooperative)
{
	struct launch l = { grid, block, own_cluster(find_function(host)), shared, stream, cooperative };

	return launch(host, &l, arguments);
}

unsigned
__cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream)
{
	if (configuration_count == MAX_CONFIGURATIONS)
		return 1;
	configurations[configuration_count++] = (struct configuration){ grid, block, shared, stream };
	return 0;
}

cudaError_t
__cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
	const struct configuration *c;

	if (!configuration_count)
		return fail(cudaErrorMissingConfiguration);
	c = &configurations[--configuration_count];
	*grid = c->grid;
	*block = c->block;
	*shared = c->shared;
	memcpy(stream, &c->stream, sizeof c->stream);
	return cudaSuccess;
}

cudaError_t
__cudaGetKernel(cudaKernel_t *kernel, const void *function)
{
	*kernel = (cudaKernel_t)(uintptr_t)function;
	return cudaSuccess;
}

cudaError_t
__cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream)
{
	return launch_plain(kernel, grid, block, arguments, shared, stream, false);
}

EXPORT cudaError_t
cudaGetKernel(cudaKernel_t *kernel, const void *function)
{
	if (!kernel || !find_function(function))
		return fail(kernel ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidValue);
	return __cudaGetKernel(kernel, function);
}

EXPORT cudaError_t
cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream)
{
	return launch_plain(function, grid, block, arguments, shared, stream, false);
}

EXPORT cudaError_t
cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared,
	cudaStream_t stream)
{
	return launch_plain(function, grid, block, arguments, shared, stream, true);
}

EXPORT cudaError_t
cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **arguments)
{
	struct launch l = { 0 };

	if (!config)
		return fail(cudaErrorInvalidValue);
	l = (struct launch){ config->gridDim, config->blockDim, own_cluster(find_function(function)),
		config->dynamicSmemBytes, config->stream, false };
	for (unsigned i = 0; i < config->numAttrs; i++) {
		const cudaLaunchAttribute *a = &config->attrs[i];

		switch (a->id) {
		case cudaLaunchAttributeIgnore:
		case cudaLaunchAttributePriority:
		case cudaLaunchAttributeClusterSchedulingPolicyPreference:
		case cudaLaunchAttributePreferredSharedMemoryCarveout:
			break;	/* they change no result */
		case cudaLaunchAttributeCooperative:
			l.cooperative = a->val.cooperative;
			break;
		case cudaLaunchAttributeClusterDimension:
			l.cluster = (dim3){ a->val.clusterDim.x, a->val.clusterDim.y, a->val.clusterDim.z };
			if (!l.cluster.x || !l.cluster.y || !l.cluster.z) {
				note_launch(false);
				return fail_because(cudaErrorInvalidClusterSize, "a launch failed: a dimension of the cluster is 0");
			}
			break;
		case cudaLaunchAttributeProgrammaticStreamSerialization:
			/* Where launches run one after the other the permission to overlap need not be used. */
			if (!a->val.programmaticStreamSerializationAllowed || back_executes)
				break;
			refuse(UNSUPPORTED, "programmatic dependent launch is not supported: work could run past the end of its stream");
		default:
			refuse(UNSUPPORTED, "cudaLaunchKernelEx with launch attribute %d is not supported", (int)a->id);
		}
	}
	return launch(function, &l, arguments);
}

/* ---- what the runtime knows of a kernel */
EXPORT cudaError_t
cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value)
{
	struct function *f = find_function(function);
	const uint32_t *fixed;

	if (!f)
		return fail_because(cudaErrorInvalidResourceHandle, "cudaFuncSetAttribute failed: no such kernel");
	fixed = f->kernel->required_cluster;
	switch (attribute) {
	case cudaFuncAttributeMaxDynamicSharedMemorySize:
		if (value < 0 || (uint64_t)value + f->kernel->static_shared > device()->shared_block_bytes)
			return fail_because(cudaErrorInvalidValue, "cudaFuncSetAttribute failed: %d bytes of dynamic shared memory are "
				"more than a block can have", value);
		f->dynamic_limit = (uint32_t)value;
		return cudaSuccess;
	case cudaFuncAttributePreferredSharedMemoryCarveout:
		if (value < -1 || value > 100)
			return fail(cudaErrorInvalidValue);
		f->carveout = value;
		return cudaSuccess;
	case cudaFuncAttributeNonPortableClusterSizeAllowed:
		f->non_portable = value != 0;
		return cudaSuccess;
	case cudaFuncAttributeRequiredClusterWidth:
	case cudaFuncAttributeRequiredClusterHeight:
	case cudaFuncAttributeRequiredClusterDepth:
		if (value < 0)
			return fail(cudaErrorInvalidValue);
		if (fixed[0] && fixed[attribute - cudaFuncAttributeRequiredClusterWidth] != (uint32_t)value)
			return fail(cudaErrorNotPermitted);
		f->cluster[attribute - cudaFuncAttributeRequiredClusterWidth] = value;
		return cudaSuccess;
	case cudaFuncAttributeClusterSchedulingPolicyPreference:
		if (value < cudaClusterSchedulingPolicyDefault || value > cudaClusterSchedulingPolicyLoadBalancing)
			return fail(cudaErrorInvalidValue);
		f->cluster_policy = value;
		return cudaSuccess;
	default:
		return fail(cudaErrorInvalidValue);
	}
}

EXPORT cudaError_t
cudaFuncSetCacheConfig(const void *function, enum cudaFuncCache config)
{
	if (!find_function(function))
		return fail(cudaErrorInvalidResourceHandle);
	return config < cudaFuncCachePreferNone || config > cudaFuncCachePreferEqual ? fail(cudaErrorInvalidValue) : cudaSuccess;
}

EXPORT cudaError_t
cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function)
{
	const struct function *f = find_function(function);
	struct occupancy_kernel r;
	dim3 cluster;

	if (!f)
		return fail(cudaErrorInvalidResourceHandle);
	r = resources(f);
	cluster = own_cluster(f);
	memset(attributes, 0, sizeof *attributes);
	attributes->sharedSizeBytes = f->kernel->static_shared;
	attributes->constSizeBytes = f->kernel->constant_bytes;
	attributes->localSizeBytes = f->kernel->local_bytes;
	attributes->maxThreadsPerBlock = (int)occupancy_max_threads(&r);
	attributes->numRegs = (int)f->kernel->registers;
	attributes->ptxVersion = attributes->binaryVersion = 90;
	attributes->maxDynamicSharedSizeBytes = (int)f->dynamic_limit;
	attributes->preferredShmemCarveout = f->carveout;
	attributes->nonPortableClusterSizeAllowed = f->non_portable;
	attributes->clusterSchedulingPolicyPreference = f->cluster_policy;
	attributes->clusterDimMustBeSet = f->kernel->required_cluster[0] != 0;
	attributes->requiredClusterWidth = (int)cluster.x;
	attributes->requiredClusterHeight = (int)cluster.y;
	attributes->requiredClusterDepth = (int)cluster.z;
	return cudaSuccess;
}

EXPORT cudaError_t
cudaFuncGetName(const char **name, const void *function)
{
	const struct function *f = find_function(function);

	if (!f || !name)
		return fail(cudaErrorInvalidResourceHandle);
	*name = f->kernel->name;
	return cudaSuccess;
}

EXPORT cudaError_t
cudaFuncGetParamInfo(const void *function, size_t index, size_t *offset, size_t *bytes)
{
	const struct function *f = find_function(function);

	if (!f)
		return fail(cudaErrorInvalidResourceHandle);
	if (index >= f->kernel->parameters || !offset)
		return fail(cudaErrorInvalidValue);
	*offset = f->kernel->parameter[index].offset;
	if (bytes)
		*bytes = f->kernel->parameter[index].bytes;
	return cudaSuccess;
}

EXPORT cudaError_t
cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int threads, size_t shared,
	unsigned flags)
{
	const struct function *f = find_function(function);
	struct occupancy_kernel r;

	(void)flags;
	if (!f)
		return fail(cudaErrorInvalidResourceHandle);
	if (!blocks || threads <= 0)
		return fail(cudaErrorInvalidValue);
	r = resources(f);
	*blocks = (int)occupancy_blocks(&r, (uint32_t)threads, shared);
	return cudaSuccess;
}

EXPORT cudaError_t
cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int threads, size_t shared)
{
	return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0);
}

EXPORT cudaError_t
cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *function, int blocks, int threads)
{
	const struct function *f = find_function(function);
	struct occupancy_kernel r;

	if (!f)
		return fail(cudaErrorInvalidResourceHandle);
	r = resources(f);
	if (!bytes || blocks < 1 || threads < 1 || occupancy_blocks(&r, (uint32_t)threads, 0) < (uint32_t)blocks)
		return fail(cudaErrorInvalidValue);
	*bytes = occupancy_dynamic_shared(&r, (uint32_t)blocks, (uint32_t)threads);
	return cudaSuccess;
}

/* How many clusters run at once depends on which multiprocessors of a chip are switched off, so that is not answered. */
EXPORT cudaError_t
cudaOccupancyMaxPotentialClusterSize(int *blocks, const void *function, const cudaLaunchConfig_t *config)
{
	const struct function *f = find_function(function);
	struct occupancy_kernel r;
	uint64_t threads;

	if (!f)
		return fail(cudaErrorInvalidResourceHandle);
	if (!blocks || !config)
		return fail(cudaErrorInvalidValue);
	r = resources(f);
	threads = (uint64_t)config->blockDim.x * config->blockDim.y * config->blockDim.z;
	if (!threads)
		return fail(cudaErrorInvalidValue);
	*blocks = threads > MAX_BLOCK || !occupancy_blocks(&r, (uint32_t)threads, config->dynamicSmemBytes) ? 0 :
		f->non_portable ? MAX_CLUSTER_NON_PORTABLE : MAX_CLUSTER;
	return cudaSuccess;
}
