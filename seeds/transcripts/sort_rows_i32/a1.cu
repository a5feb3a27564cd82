// Each row sorted by a bitonic network with eight neighbouring elements in the registers of a thread. Distances below
// 8 are swaps within a thread, below 256 shuffles within a warp; only the last steps of rows of more than 256
// elements go through shared memory.
#include <stdint.h>

#define PER 8
#define ALL 0xffffffffu

// Steps of distance PER/2, ..., 1 among the elements of the thread, all in the same direction.
__device__ __forceinline__ void merge_own(int32_t *e, bool ascending)
{
#pragma unroll
	for (int distance = PER / 2; distance > 0; distance /= 2) {
#pragma unroll
		for (int k = 0; k < PER; k++) {
			if (k & distance)
				continue;
			int32_t least = min(e[k], e[k + distance]), most = max(e[k], e[k + distance]);

			e[k] = ascending ? least : most;
			e[k + distance] = ascending ? most : least;
		}
	}
}

// Sizes 2, 4, ..., PER / 2, whose directions depend on the place within the thread alone.
__device__ __forceinline__ void sort_within(int32_t *e)
{
#pragma unroll
	for (int size = 2; size < PER; size *= 2) {
#pragma unroll
		for (int distance = size / 2; distance > 0; distance /= 2) {
#pragma unroll
			for (int k = 0; k < PER; k++) {
				if (k & distance)
					continue;
				int32_t least = min(e[k], e[k + distance]), most = max(e[k], e[k + distance]);

				e[k] = k & size ? most : least;
				e[k + distance] = k & size ? least : most;
			}
		}
	}
}

__global__ void sort_row(const int32_t *x, int32_t *y, int D, int width)
{
	extern __shared__ int32_t element[];
	const int32_t *in = x + (int64_t)blockIdx.x * D;
	int32_t *out = y + (int64_t)blockIdx.x * D;
	int thread = threadIdx.x;
	int32_t e[PER];

	// which elements a thread starts with does not matter, so they are loaded in a coalesced way
#pragma unroll
	for (int k = 0; k < PER; k++) {
		int i = thread + k * (int)blockDim.x;

		e[k] = i < D ? in[i] : INT32_MAX;
	}
	sort_within(e);
	merge_own(e, (thread & 1) == 0);
	for (int size = 2 * PER; size <= width; size *= 2) {
		bool ascending = (thread & size / PER) == 0;
		int apart = size / PER / 2;

		for (; apart >= 32; apart /= 2) {
			bool keep_least = ((thread & apart) == 0) == ascending;

#pragma unroll
			for (int k = 0; k < PER; k++)
				element[k * (int)blockDim.x + thread] = e[k];
			__syncthreads();
#pragma unroll
			for (int k = 0; k < PER; k++) {
				int32_t other = element[k * (int)blockDim.x + (thread ^ apart)];

				e[k] = keep_least ? min(e[k], other) : max(e[k], other);
			}
			__syncthreads();
		}
		for (; apart > 0; apart /= 2) {
			bool keep_least = ((thread & apart) == 0) == ascending;

#pragma unroll
			for (int k = 0; k < PER; k++) {
				int32_t other = __shfl_xor_sync(ALL, e[k], apart);

				e[k] = keep_least ? min(e[k], other) : max(e[k], other);
			}
		}
		merge_own(e, ascending);
	}
	if (D % 4 == 0) {
		int4 *quads = (int4 *)out;

		if (thread * PER < D)
			quads[2 * thread] = make_int4(e[0], e[1], e[2], e[3]);
		if (thread * PER + 4 < D)
			quads[2 * thread + 1] = make_int4(e[4], e[5], e[6], e[7]);
	} else {
#pragma unroll
		for (int k = 0; k < PER; k++) {
			if (thread * PER + k < D)
				out[thread * PER + k] = e[k];
		}
	}
}

extern "C" void solve(const int32_t *x, int32_t *y, int64_t R, int64_t D, cudaStream_t stream)
{
	// a whole warp at least, whose empty places sort to the end
	int width = 32 * PER;

	while (width < D)
		width *= 2;
	sort_row<<<(unsigned)R, width / PER, width > 32 * PER ? width * sizeof(int32_t) : 0, stream>>>(x, y, (int)D, width);
}
