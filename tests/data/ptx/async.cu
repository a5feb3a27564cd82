// cuda::barrier, cuda::pipeline and memcpy_async as they are compiled. Each kernel adds 1 to n floats by way of
// shared memory, stage after stage.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;
constexpr int TILE = 128;

extern "C" __global__ void
with_primitives(const float *in, float *out, int tiles)
{
	__shared__ float stage[2][TILE];
	int t = threadIdx.x;
	__pipeline_memcpy_async(&stage[0][t], in + t, 4);
	__pipeline_commit();
	for (int k = 0; k < tiles; k++) {
		if (k + 1 < tiles)
			__pipeline_memcpy_async(&stage[(k + 1) & 1][t], in + (k + 1) * TILE + t, 4);
		__pipeline_commit();
		__pipeline_wait_prior(1);
		__syncthreads();
		out[k * TILE + t] = stage[k & 1][TILE - 1 - t] + 1;
		__syncthreads();
	}
}

extern "C" __global__ void
with_pipeline(const float *in, float *out, int tiles)
{
	__shared__ alignas(16) float stage[2][TILE];
	__shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
	auto block = cg::this_thread_block();
	auto pipe = cuda::make_pipeline(block, &state);
	for (int k = 0, ahead = 0; k < tiles; k++) {
		for (; ahead < tiles && ahead < k + 2; ahead++) {
			pipe.producer_acquire();
			cuda::memcpy_async(block, stage[ahead & 1], in + ahead * TILE, cuda::aligned_size_t<16>(TILE * 4), pipe);
			pipe.producer_commit();
		}
		pipe.consumer_wait();
		out[k * TILE + threadIdx.x] = stage[k & 1][TILE - 1 - threadIdx.x] + 1;
		pipe.consumer_release();
	}
}

extern "C" __global__ void
with_split_pipeline(const float *in, float *out, int tiles)
{
	__shared__ alignas(16) float stage[2][TILE];
	__shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
	auto block = cg::this_thread_block();
	bool produces = threadIdx.x < 32;
	auto pipe = cuda::make_pipeline(block, &state, produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
	auto warp = cg::tiled_partition<32>(block);
	for (int k = 0; k < tiles; k++) {
		if (produces) {
			pipe.producer_acquire();
			cuda::memcpy_async(warp, stage[k & 1], in + k * TILE, cuda::aligned_size_t<16>(TILE * 4), pipe);
			pipe.producer_commit();
		} else {
			pipe.consumer_wait();
			int t = threadIdx.x - 32;
			out[k * TILE + t] = stage[k & 1][TILE - 1 - t] + 1;
			pipe.consumer_release();
		}
	}
}

extern "C" __global__ void
with_barrier(const float *in, float *out, int tiles)
{
	__shared__ alignas(16) float stage[TILE];
	__shared__ cuda::barrier<cuda::thread_scope_block> ready;
	auto block = cg::this_thread_block();
	if (threadIdx.x == 0)
		init(&ready, blockDim.x);
	__syncthreads();
	for (int k = 0; k < tiles; k++) {
		cuda::memcpy_async(block, stage, in + k * TILE, cuda::aligned_size_t<16>(TILE * 4), ready);
		ready.arrive_and_wait();
		float v = stage[TILE - 1 - threadIdx.x];
		auto token = ready.arrive();
		out[k * TILE + threadIdx.x] = v + 1;
		ready.wait(std::move(token));
	}
}

extern "C" __global__ void
with_groups(const float *in, float *out, int tiles)
{
	__shared__ alignas(16) float stage[TILE];
	auto block = cg::this_thread_block();
	for (int k = 0; k < tiles; k++) {
		cg::memcpy_async(block, stage, in + k * TILE, sizeof stage);
		cg::wait(block);
		out[k * TILE + threadIdx.x] = stage[TILE - 1 - threadIdx.x] + 1;
		block.sync();
	}
}

extern "C" __global__ void
with_bulk(const float *in, float *out, int tiles)
{
	__shared__ alignas(128) float stage[TILE];
	__shared__ cuda::barrier<cuda::thread_scope_block> ready;
	if (threadIdx.x == 0) {
		init(&ready, blockDim.x);
		cuda::device::experimental::fence_proxy_async_shared_cta();
	}
	__syncthreads();
	for (int k = 0; k < tiles; k++) {
		cuda::barrier<cuda::thread_scope_block>::arrival_token token;
		if (threadIdx.x == 0) {
			cuda::device::experimental::cp_async_bulk_global_to_shared(stage, in + k * TILE, sizeof stage, ready);
			token = cuda::device::barrier_arrive_tx(ready, 1, sizeof stage);
		} else {
			token = ready.arrive();
		}
		ready.wait(std::move(token));
		float v = stage[TILE - 1 - threadIdx.x] + 1;
		__syncthreads();
		stage[threadIdx.x] = v;
		cuda::device::experimental::fence_proxy_async_shared_cta();
		__syncthreads();
		if (threadIdx.x == 0) {
			cuda::device::experimental::cp_async_bulk_shared_to_global(out + k * TILE, stage, sizeof stage);
			cuda::device::experimental::cp_async_bulk_commit_group();
			cuda::device::experimental::cp_async_bulk_wait_group_read<0>();
		}
		__syncthreads();
	}
}
