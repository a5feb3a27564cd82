/* Kernels: their registration, their launches, and what the runtime tells about them.
 *
 * In: what nvcc's host code and the candidate call. Out: launch lines of the plan, with the argument bytes laid out as
 * the PTX says; `void **arguments` has no sizes, so they come with the job. Which configuration gives which error was
 * read off an H200. */
#include <string.h>

#include "cuda/cuda.h"
#include "cuda/occupancy.h"
#include "cuda/recorder/state.h"

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
	MAX_SHARED = 232448, MAX_CLUSTER = 8 };

struct function {
	const void *host;
	const struct recorder_kernel *kernel;	/* NULL: not in the device code that nvcc kept */
	uint32_t dynamic_limit;
	int carveout, number;			/* number: the plan's, -1 before the first launch */
};

struct configuration {
	dim3 grid, block;
	size_t shared;
	cudaStream_t stream;
};

struct variable {
	const void *host;
	const struct recorder_symbol *symbol;
};

static struct function functions[MAX_FUNCTIONS];
static struct variable variables[MAX_FUNCTIONS];
static unsigned function_count, variable_count, fatbins;
static int kernel_numbers;
static struct configuration configurations[MAX_CONFIGURATIONS];
static unsigned configuration_count;

void **
__cudaRegisterFatBinary(void *wrapper)
{
	static void *handle;

	if (fatbins++)
		refuse(SUSPICIOUS, "the program registers a second device image; device code comes from nvcc alone");
	handle = wrapper;
	return &handle;
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

	(void)handle, (void)device, (void)thread_limit, (void)thread_id, (void)block_id, (void)block, (void)grid,
		(void)warp_size;
	if (!job || function_count == MAX_FUNCTIONS)
		return;
	*f = (struct function){ host, NULL, 0, -1, -1 };
	for (uint32_t i = 0; i < job->kernels; i++)
		if (!strcmp(job->kernel[i].name, name))
			f->kernel = &job->kernel[i];
	if (f->kernel)
		f->dynamic_limit = f->kernel->static_shared < DEFAULT_DYNAMIC ? DEFAULT_DYNAMIC - f->kernel->static_shared : 0;
	function_count++;
}

void
__cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t bytes, int constant,
	int global)
{
	(void)handle, (void)device, (void)external, (void)bytes, (void)constant, (void)global;
	if (!job || variable_count == MAX_FUNCTIONS)
		return;
	for (uint32_t i = 0; i < job->symbols; i++)
		if (!strcmp(job->symbol[i].name, name))
			variables[variable_count++] = (struct variable){ host, &job->symbol[i] };
}

void
__cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int external, size_t bytes,
	int constant, int global)
{
	(void)handle, (void)host, (void)device, (void)external, (void)bytes, (void)constant, (void)global;
	refuse(UNSUPPORTED, "the __managed__ variable %s is not supported: host and device share no memory", name);
}

static struct function *
find_function(const void *host)
{
	for (unsigned i = 0; i < function_count; i++)
		if (functions[i].host == host && functions[i].kernel)
			return &functions[i];
	return NULL;
}

const struct recorder_symbol *
find_symbol(const void *variable)
{
	for (unsigned i = 0; i < variable_count; i++)
		if (variables[i].host == variable)
			return variables[i].symbol;
	return NULL;
}

static struct occupancy_kernel
resources(const struct function *f)
{
	return (struct occupancy_kernel){ f->kernel->registers, f->kernel->static_shared, f->kernel->max_threads,
		f->dynamic_limit, f->carveout };
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
	const struct recorder_kernel *k = f->kernel;
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
	*why = "the grid is no multiple of the cluster, or the cluster is not the one that the kernel requires";
	if ((cx || cy || cz) && (!cx || !cy || !cz || l->grid.x % cx || l->grid.y % cy || l->grid.z % cz ||
	    (uint64_t)cx * cy * cz > MAX_CLUSTER))
		return cudaErrorInvalidClusterSize;
	if (cluster[0] && (cluster[0] != cx || cluster[1] != cy || cluster[2] != cz))
		return cudaErrorInvalidClusterSize;
	*why = "the grid does not fit the device at once";
	if (l->cooperative && (uint64_t)l->grid.x * l->grid.y * l->grid.z > (uint64_t)occupancy_blocks(&r, (uint32_t)threads,
	    l->shared) * (uint32_t)job->profile->attribute[cudaDevAttrMultiProcessorCount])
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
			"shared memory): %s", f->kernel->name, error_text(error), l->grid.x, l->grid.y, l->grid.z, l->block.x,
			l->block.y, l->block.z, l->shared, why);
	}
	if (f->number < 0) {
		f->number = kernel_numbers++;
		plan_line("kernel %d %s\n", f->number, f->kernel->name);
	}
	memset(bytes, 0, f->kernel->parameter_bytes);
	for (uint32_t i = 0; i < f->kernel->parameters; i++)
		memcpy(bytes + f->kernel->parameter[i].offset, arguments[i], f->kernel->parameter[i].bytes);
	plan_operation(bytes, f->kernel->parameter_bytes, "launch %d %d %u %u %u %u %u %u %zu %d %u %u %u ", f->number, stream,
		l->grid.x, l->grid.y, l->grid.z, l->block.x, l->block.y, l->block.z, l->shared, l->cooperative, l->cluster.x,
		l->cluster.y, l->cluster.z);
	note_launch(true);
	return cudaSuccess;
}

/* A cluster fixed at compile time needs no attribute. */
static cudaError_t
launch_plain(const void *host, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream,
	bool cooperative)
{
	const struct function *f = find_function(host);
	struct launch l = { grid, block, { 0, 0, 0 }, shared, stream, cooperative };

	if (f && f->kernel->required_cluster[0])
		l.cluster = (dim3){ f->kernel->required_cluster[0], f->kernel->required_cluster[1],
			f->kernel->required_cluster[2] };
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
	const struct function *f = find_function(function);
	struct launch l = { 0 };

	if (!config)
		return fail(cudaErrorInvalidValue);
	l = (struct launch){ config->gridDim, config->blockDim, { 0, 0, 0 }, config->dynamicSmemBytes, config->stream, false };
	if (f && f->kernel->required_cluster[0])
		l.cluster = (dim3){ f->kernel->required_cluster[0], f->kernel->required_cluster[1],
			f->kernel->required_cluster[2] };
	for (unsigned i = 0; i < config->numAttrs; i++) {
		const cudaLaunchAttribute *a = &config->attrs[i];

		switch (a->id) {
		case cudaLaunchAttributeIgnore:
		case cudaLaunchAttributePriority:
			break;
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
			if (!a->val.programmaticStreamSerializationAllowed)
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

	if (!f)
		return fail_because(cudaErrorInvalidResourceHandle, "cudaFuncSetAttribute failed: no such kernel");
	switch (attribute) {
	case cudaFuncAttributeMaxDynamicSharedMemorySize:
		if (value < 0 || (uint64_t)value + f->kernel->static_shared > MAX_SHARED)
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
		refuse(UNSUPPORTED, "clusters of more than %d blocks are not supported", MAX_CLUSTER);
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

	if (!f)
		return fail(cudaErrorInvalidResourceHandle);
	r = resources(f);
	memset(attributes, 0, sizeof *attributes);
	attributes->sharedSizeBytes = f->kernel->static_shared;
	attributes->constSizeBytes = f->kernel->constant_bytes;
	attributes->localSizeBytes = f->kernel->local_bytes;
	attributes->maxThreadsPerBlock = (int)occupancy_max_threads(&r);
	attributes->numRegs = (int)f->kernel->registers;
	attributes->ptxVersion = attributes->binaryVersion = 90;
	attributes->maxDynamicSharedSizeBytes = (int)f->dynamic_limit;
	attributes->preferredShmemCarveout = f->carveout;
	if (f->kernel->required_cluster[0]) {
		attributes->clusterDimMustBeSet = 1;
		attributes->requiredClusterWidth = (int)f->kernel->required_cluster[0];
		attributes->requiredClusterHeight = (int)f->kernel->required_cluster[1];
		attributes->requiredClusterDepth = (int)f->kernel->required_cluster[2];
	}
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
	if (!blocks || threads < 0)
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
