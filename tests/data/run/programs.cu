// Small whole programs in one: the first argument says which. What they print is compared by tests/cli/run.bats.
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call) check(call, #call)
static void check(cudaError_t error, const char *what)
{
	if (error == cudaSuccess)
		return;
	printf("%.40s: %s (%s)\n", what, cudaGetErrorString(error), cudaGetErrorName(error));
	exit(1);
}

__global__ void add(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		z[i] = x[i] + y[i];
}

__global__ void beyond(float *x, int n) { x[blockIdx.x * blockDim.x + threadIdx.x + n] = 1; }
__global__ void misaligned(char *x) { *(float *)(x + 1) = 1; }
__global__ void trap() { __trap(); }
__global__ void endless(int *x) { while (*(volatile int *)x != 5) *x += 7; }
__global__ void sum_uninitialised(float *x, float *y) { *y = x[0] + x[1]; }
__global__ void race(int *x) { __shared__ int s[256]; s[threadIdx.x] = threadIdx.x; *x = s[255 - threadIdx.x]; }
__global__ void hello(int n) { printf("hello from %d\n", n); }

__constant__ float scale[4];
__device__ int counter = 5;
__managed__ int shared_counter = 3;
typedef int int_function(int);
__device__ int unused(int v) { return v; }
__device__ int twice(int v) { return v * 2; }
__device__ int square(int v) { return v * v; }
__device__ int_function *chosen = twice, *never = unused;
__global__ void fill_functions(int_function **table) { table[0] = square; table[1] = never; }
__global__ void apply_to(int_function *f, int v, int *y) { *y = f(v); }
__global__ void use_symbols(float *y) { y[threadIdx.x] = scale[threadIdx.x]; if (!threadIdx.x) { counter++; shared_counter *= 2; } }

__global__ void grid_sum(const float *x, float *partial, float *total, int n)
{
	float sum = 0;
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		sum += x[i];
	for (int d = 16; d; d /= 2)
		sum += __shfl_down_sync(~0u, sum, d);
	if (!threadIdx.x)
		partial[blockIdx.x] = sum;
	cooperative_groups::this_grid().sync();
	if (!blockIdx.x && !threadIdx.x) {
		*total = 0;
		for (int i = 0; i < gridDim.x; i++)
			*total += partial[i];
	}
}

// Which function a table holds is seen by kernels alone.
typedef float (*operation)(float);
static __device__ float twice(float x) { return 2 * x; }
static __device__ float square(float x) { return x * x; }
static __device__ operation table[2] = { twice, square };
__global__ void apply(int which, float *x) { *x = table[which](*x); }

static void vector_add()
{
	const int n = 1000;
	std::vector<float> x(n), y(n), z(n);
	float *dx, *dy, *dz;
	for (int i = 0; i < n; i++)
		x[i] = i, y[i] = 2 * i;
	CHECK(cudaMalloc(&dx, n * 4));
	CHECK(cudaMalloc(&dy, n * 4));
	CHECK(cudaMalloc(&dz, n * 4));
	CHECK(cudaMemcpy(dx, x.data(), n * 4, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpyAsync(dy, y.data(), n * 4, cudaMemcpyDefault, 0));
	add<<<(n + 255) / 256, 256>>>(dx, dy, dz, n);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(z.data(), dz, n * 4, cudaMemcpyDeviceToHost));
	printf("z[999] = %g\n", z[999]);
	CHECK(cudaFree(dx));
	CHECK(cudaFree(dy));
	CHECK(cudaFree(dz));
	CHECK(cudaDeviceReset());
}

static void fault(const char *kind)
{
	float *x;
	CHECK(cudaMalloc(&x, 400));
	if (!strcmp(kind, "freed"))
		CHECK(cudaFree(x));
	if (!strcmp(kind, "misaligned"))
		misaligned<<<1, 1>>>((char *)x);
	else if (!strcmp(kind, "trap"))
		trap<<<1, 1>>>();
	else if (!strcmp(kind, "endless"))
		endless<<<1, 1>>>((int *)x);
	else
		beyond<<<1, 32>>>(x, !strcmp(kind, "freed") ? 0 : 69);	// the last thread is one too far
	cudaError_t launched = cudaGetLastError();
	cudaError_t waited = cudaDeviceSynchronize(), again = cudaMemset(x, 0, 4), last = cudaGetLastError();
	printf("%d %d %d %d\n", launched == waited || launched == cudaSuccess, waited, again, last);
	cudaDeviceReset();
	CHECK(cudaMalloc(&x, 400));
	add<<<1, 1>>>(x, x, x, 1);
	CHECK(cudaDeviceSynchronize());
	printf("usable after a reset\n");
}

static void symbols()
{
	float host[4] = { 1, 2, 3, 4 }, *y, back[4];
	int count;
	size_t bytes;
	void *at;
	CHECK(cudaMalloc(&y, 16));
	CHECK(cudaMemcpyToSymbol(scale, host, 8));
	CHECK(cudaMemcpyToSymbol(scale, host + 2, 8, 8));
	use_symbols<<<1, 4>>>(y);
	CHECK(cudaMemcpy(back, y, 16, cudaMemcpyDeviceToHost));
	CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
	CHECK(cudaGetSymbolSize(&bytes, scale));
	CHECK(cudaGetSymbolAddress(&at, counter));
	printf("%g %g %g %g, counter %d, %zu bytes, managed %d\n", back[0], back[1], back[2], back[3], count, bytes, shared_counter);
	CHECK(cudaMemset(at, 0, 4));
	CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
	printf("counter %d, outside %s\n", count, cudaGetErrorName(cudaMemcpyToSymbol(scale, host, 8, 9)));
}

/* The host passes a device function's address from one kernel's module-wide table to another kernel. */
static void functions()
{
	static int_function *host[2], **table;
	int *y, back;
	CHECK(cudaMalloc(&y, 4));
	CHECK(cudaMalloc(&table, sizeof host));
	CHECK(cudaMemcpyFromSymbol(&host[0], chosen, sizeof host[0]));
	fill_functions<<<1, 1>>>(table);
	CHECK(cudaMemcpy(&host[1], table, sizeof host[1], cudaMemcpyDeviceToHost));
	for (int k = 0; k < 2; k++) {
		apply_to<<<1, 1>>>(host[k], 5, y);
		CHECK(cudaMemcpy(&back, y, 4, cudaMemcpyDeviceToHost));
		printf("%d\n", back);
	}
}

static void many()
{
	int *x;
	for (int k = 0; k < 16000; k++)
		CHECK(cudaMalloc(&x, 256));
	printf("allocated\n");
}

static void events()
{
	cudaStream_t a, b;
	cudaEvent_t start, stop, unrecorded;
	float ms = -1, *x;
	CHECK(cudaStreamCreate(&a));
	CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
	CHECK(cudaEventCreate(&start));
	CHECK(cudaEventCreate(&stop));
	CHECK(cudaEventCreate(&unrecorded));
	CHECK(cudaMallocAsync(&x, 4096, a));
	CHECK(cudaMemsetAsync(x, 0, 4096, a));
	CHECK(cudaEventRecord(start, a));
	add<<<4, 256, 0, a>>>(x, x, x, 1024);
	CHECK(cudaEventRecord(stop, a));
	CHECK(cudaStreamWaitEvent(b, stop, 0));
	add<<<4, 256, 0, b>>>(x, x, x, 1024);
	CHECK(cudaStreamSynchronize(b));
	CHECK(cudaEventElapsedTime(&ms, start, stop));
	printf("%s, unrecorded: %s\n", ms > 0.002 && ms < 1 ? "a plausible time" : "an odd time",
		cudaGetErrorName(cudaEventElapsedTime(&ms, start, unrecorded)));
	CHECK(cudaLaunchHostFunc(a, [](void *what) { printf("host function: %s\n", (char *)what); }, (void *)"called"));
	for (int i = 0; i < 200; i++) {	// more than there are at a time
		cudaStream_t s;
		CHECK(cudaStreamCreate(&s));
		CHECK(cudaStreamDestroy(s));
	}
	CHECK(cudaFreeAsync(x, a));
	CHECK(cudaStreamDestroy(a));
}

static void managed()
{
	float *x, *pinned, *device;
	static float own[64];
	cudaPointerAttributes about;
	CHECK(cudaMallocManaged(&x, 256 * 4));
	CHECK(cudaMallocHost(&pinned, 256 * 4));
	for (int i = 0; i < 256; i++)
		x[i] = i, pinned[i] = 1;
	add<<<1, 256>>>(x, pinned, x, 256);
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaHostRegister(own, sizeof own, cudaHostRegisterMapped));
	CHECK(cudaHostGetDevicePointer(&device, own, 0));
	add<<<1, 64>>>(x, x, device, 64);
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaPointerGetAttributes(&about, x));
	printf("%g %g, type %d\n", x[255], own[63], about.type == cudaMemoryTypeManaged);
	CHECK(cudaHostUnregister(own));
	CHECK(cudaFreeHost(pinned));
	CHECK(cudaFree(x));
}

static void cooperative()
{
	int n = 5000, blocks = 7;
	std::vector<float> host(n, 1);
	float *x, *partial, *total, sum;
	CHECK(cudaMalloc(&x, n * 4));
	CHECK(cudaMalloc(&partial, blocks * 4));
	CHECK(cudaMalloc(&total, 4));
	CHECK(cudaMemcpy(x, host.data(), n * 4, cudaMemcpyHostToDevice));
	void *arguments[] = { &x, &partial, &total, &n };
	CHECK(cudaLaunchCooperativeKernel((void *)grid_sum, dim3(blocks), dim3(32), arguments, 0, 0));
	CHECK(cudaMemcpy(&sum, total, 4, cudaMemcpyDeviceToHost));
	printf("sum %g\n", sum);
	blocks = 1 << 20;
	printf("%s\n", cudaGetErrorName(cudaLaunchCooperativeKernel((void *)grid_sum, dim3(blocks), dim3(32), arguments, 0, 0)));
}

static void copies()
{
	char host[6][10], back[6][16], *x;
	size_t pitch;
	memset(host, 'a', sizeof host);
	memset(back, '.', sizeof back);
	CHECK(cudaMallocPitch(&x, &pitch, 10, 6));
	CHECK(cudaMemset2D(x, pitch, 'z', 10, 6));
	CHECK(cudaMemcpy2D(x + pitch, pitch, host, 10, 4, 2, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy2D(back, 16, x, pitch, 10, 6, cudaMemcpyDeviceToHost));
	printf("pitch %zu: %.16s %.16s\n", pitch, back[0], back[1]);
	cudaPitchedPtr box;
	CHECK(cudaMalloc3D(&box, make_cudaExtent(8, 3, 2)));
	CHECK(cudaMemset3D(box, 'b', make_cudaExtent(8, 3, 2)));
	char room[2][3][8];
	cudaMemcpy3DParms p = {};
	p.srcPtr = box;
	p.dstPtr = make_cudaPitchedPtr(room, 8, 8, 3);
	p.extent = make_cudaExtent(8, 3, 2);
	p.kind = cudaMemcpyDeviceToHost;
	CHECK(cudaMemcpy3D(&p));
	printf("%.8s, wrong way %s, too much %s\n", room[1][2], cudaGetErrorName(cudaMemcpy(back, x, 4, cudaMemcpyHostToDevice)),
		cudaGetErrorName(cudaMemset(x, 0, 6 * pitch + 1)));
}

// Kernels chosen from a table on the host, which call functions from a table on the device.
static void pointers()
{
	void (*kernels[])(int, float *) = { apply, apply };
	float *x, y = 3;
	CHECK(cudaMalloc(&x, 4));
	CHECK(cudaMemcpy(x, &y, 4, cudaMemcpyHostToDevice));
	for (int i = 0; i < 2; i++)
		kernels[i]<<<1, 1>>>(i, x);
	CHECK(cudaMemcpy(&y, x, 4, cudaMemcpyDeviceToHost));
	printf("%g\n", y);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "add";
	if (!strcmp(what, "add")) vector_add();
	else if (!strcmp(what, "symbols")) symbols();
	else if (!strcmp(what, "functions")) functions();
	else if (!strcmp(what, "many")) many();
	else if (!strcmp(what, "events")) events();
	else if (!strcmp(what, "managed")) managed();
	else if (!strcmp(what, "cooperative")) cooperative();
	else if (!strcmp(what, "copies")) copies();
	else if (!strcmp(what, "pointers")) pointers();
	else if (!strcmp(what, "fault")) fault(argv[2]);
	else if (!strcmp(what, "print")) { hello<<<1, 1>>>(7); printf("before\n"); CHECK(cudaDeviceSynchronize()); printf("after\n"); }
	else if (!strcmp(what, "touch")) { float *x; CHECK(cudaMalloc(&x, 400)); printf("%g\n", x[5]); }
	else if (!strcmp(what, "uninitialised")) {
		float *x;
		CHECK(cudaMalloc(&x, 16));
		CHECK(cudaMemset(x, 0, 4));
		sum_uninitialised<<<1, 1>>>(x, x + 2);
		CHECK(cudaDeviceSynchronize());
		printf("done\n");
	}
	else if (!strcmp(what, "race")) {
		int *x;
		CHECK(cudaMalloc(&x, 4));
		race<<<1, 256>>>(x);
		CHECK(cudaDeviceSynchronize());
		printf("done\n");
	}
	else if (!strcmp(what, "launch")) {
		add<<<1, 2048>>>(nullptr, nullptr, nullptr, 0);
		printf("%s\n", cudaGetErrorName(cudaGetLastError()));
	}
	else if (!strcmp(what, "graph")) { cudaGraph_t g; printf("%s\n", cudaGetErrorName(cudaGraphCreate(&g, 0))); }
	else if (!strcmp(what, "device")) {
		cudaDeviceProp p;
		int blocks;
		CHECK(cudaGetDeviceProperties(&p, 0));
		CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 256, 0));
		printf("%s, %d multiprocessors, %d blocks\n", p.name, p.multiProcessorCount, blocks);
	}
	return argc > 3 ? atoi(argv[3]) : 0;
}
