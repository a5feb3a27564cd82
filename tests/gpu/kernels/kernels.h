// What the files of kernels share. A CASE is a solution of one small task: x and k are n values to read, y and z
// n places to write. Its result does not depend on the order in which threads run. With -DSOLVE=NAME a file
// is the solution NAME: it exports solve() with the same parameters.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cuda_runtime.h>

#define PARAMETERS const float *x, const int32_t *k, float *y, int32_t *z, int64_t n, cudaStream_t stream
#define KERNEL static __global__ void
#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)
#define GRID(n) (unsigned)((n) / 256), 256, 0, stream

struct kernel_case {
	const char *name;
	void (*run)(PARAMETERS);
	kernel_case *next;
	kernel_case(const char *its_name, void (*its_run)(PARAMETERS)) : name(its_name), run(its_run), next(first) { first = this; }
	static inline kernel_case *first;
};

#define CASE(name) \
	static void name(PARAMETERS); \
	static kernel_case name##_case(#name, name); \
	static void name(PARAMETERS)

#ifdef SOLVE
static void SOLVE(PARAMETERS);
extern "C" void solve(PARAMETERS) { SOLVE(x, k, y, z, n, stream); }
#endif
