// What nvcc emits seldom: tiles of several warps, whose scratch is in reserved shared memory, alloca, and the intrinsics
// that become video instructions.
#include <alloca.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

// sums of 64 and of 128 threads, and the sums of those before within 64; neighbours in a tile read each other
extern "C" __global__ void
wide_tiles(const int *x, int *sums, int *before, int *neighbours)
{
	__shared__ cg::block_tile_memory<256> scratch;
	__shared__ int kept[256];
	cg::thread_block block = cg::this_thread_block(scratch);
	auto two = cg::tiled_partition<64>(block);
	auto four = cg::tiled_partition<128>(block);
	int rank = block.thread_rank(), at = blockIdx.x * blockDim.x + rank, v = x[at];
	int small = cg::reduce(two, v, cg::plus<int>());
	int large = cg::reduce(four, v, cg::greater<int>());
	before[at] = cg::exclusive_scan(two, v);
	kept[rank] = v;
	two.sync();
	neighbours[at] = kept[two.meta_group_rank() * 64 + (two.thread_rank() + 33) % 64];
	sums[at] = small * 1000 + large;
}

__device__ __noinline__ int
sum_of_copy(const int *x, int n, int depth)
{
	int *copy = (int *)alloca(n * sizeof *copy);
	for (int k = 0; k < n; k++)
		copy[k] = x[k] + depth;
	int below = depth ? sum_of_copy(copy, n - 1, depth - 1) : 0;
	for (int k = 0; k < n; k++)
		below += copy[k];
	return below;
}

// each thread takes another number, and again in each of three calls
extern "C" __global__ void
allocate(const int *x, int *y)
{
	y[threadIdx.x] = sum_of_copy(x, 4 + threadIdx.x % 7, 2) + sum_of_copy(x + 1, 3, 0);
}

extern "C" __global__ void
bytes(const unsigned *x, unsigned *y, int n)
{
	int k = threadIdx.x;
	unsigned a = x[k], b = x[k + n];
	y[k] = __vabsdiffu4(a, b);
	y[k + n] = __vsadu4(a, b);
	y[k + 2 * n] = __vabsdiffs4(a, b);
	y[k + 3 * n] = __vsads4(a, b);
	y[k + 4 * n] = __vabsss4(a);
	y[k + 5 * n] = __vsadu2(a, b);
}
