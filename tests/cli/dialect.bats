# What CUDA C++ a solution may be written in, beyond what nvcc takes without a flag.
bats_require_minimum_version 1.5.0

setup_file() {
	export W="$BATS_FILE_TMPDIR" STORE="$BATS_FILE_TMPDIR/store"
	"$KM_OUT/bin/km-ingest" -q --store "$STORE" -o "$W/task.jsonl" tests/cheats/tasks/affine
}

passes() {
	cat >"$W/solution.cu"
	run "$KM_OUT/bin/km-verify" --store "$STORE" --source "$W/solution.cu" -o "$W/out" "$W/task.jsonl"
	[ "$status" -eq 0 ] && [[ "$output" == *": PASSED"* ]]
}

@test "lambdas for the device, and constexpr functions of the host in kernels" {
	passes <<'C'
#include <stdint.h>
#include <array>
#include <algorithm>
constexpr float twice(float x) { return 2 * x; }
template <class F> __global__ void apply(const float *x, float *y, int64_t n, F f)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = f(x[i]);
}
extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	apply<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N, [=] __device__ (float v) { return twice(v) + std::min(0.5f, 3.0f); });
}
C
}

@test "CUB's functions for blocks, by the header of the whole library" {
	passes <<'C'
#include <stdint.h>
#include <cub/cub.cuh>
__global__ void affine(const float *x, float *y, int64_t n)
{
	typedef cub::BlockReduce<float, 256> R;
	__shared__ typename R::TempStorage t;
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
	float s = R(t).Sum(0.5f / 256);
	__shared__ float h;
	if (threadIdx.x == 0) h = s;
	__syncthreads();
	if (i < n)
		y[i] = 2 * x[i] + h;
}
extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
}
C
}
