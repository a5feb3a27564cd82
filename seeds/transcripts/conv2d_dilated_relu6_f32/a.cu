// Dilated 3 x 3 convolution with bias and ReLU6: every thread makes one pixel of four output channels, so that a
// value of x is loaded once for four multiply-adds; the weights of the block sit in shared memory.
#include <stdint.h>

#define TAPS 3
#define SPREAD 2
#define CHANNELS 4
#define CHUNK 32
#define THREADS 128

__global__ void conv(const float *x, const float *w, const float *b, float *y,
	int64_t C, int64_t H, int64_t W, int64_t K)
{
	// for each input channel of a chunk and each tap, the weights of the four output channels
	__shared__ float4 weights[CHUNK][TAPS * TAPS];
	int64_t groups = (K + CHANNELS - 1) / CHANNELS;
	int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x;
	int64_t n = blockIdx.y / groups, k0 = blockIdx.y % groups * CHANNELS;
	bool mine = at < H * W;
	int64_t p = mine ? at / W : 0, q = mine ? at % W : 0;
	float z[CHANNELS];

#pragma unroll
	for (int k = 0; k < CHANNELS; k++)
		z[k] = k0 + k < K ? b[k0 + k] : 0.0f;
	for (int64_t c0 = 0; c0 < C; c0 += CHUNK) {
		int depth = C - c0 < CHUNK ? (int)(C - c0) : CHUNK;

		for (int e = threadIdx.x; e < depth * TAPS * TAPS * CHANNELS; e += THREADS) {
			int k = e % CHANNELS, rest = e / CHANNELS;

			((float *)weights)[e] = k0 + k < K ? w[((k0 + k) * C + c0) * TAPS * TAPS + rest] : 0.0f;
		}
		__syncthreads();
		if (mine) {
			const float *in = x + (n * C + c0) * H * W + at;

			for (int c = 0; c < depth; c++, in += H * W) {
#pragma unroll
				for (int r = 0; r < TAPS; r++) {
					int64_t row = p + SPREAD * (r - 1);

					if (row < 0 || row >= H)
						continue;
#pragma unroll
					for (int s = 0; s < TAPS; s++) {
						int64_t column = q + SPREAD * (s - 1);

						if (column < 0 || column >= W)
							continue;
						float v = in[SPREAD * (r - 1) * W + SPREAD * (s - 1)];
						float4 t = weights[c][r * TAPS + s];

						z[0] = fmaf(v, t.x, z[0]);
						z[1] = fmaf(v, t.y, z[1]);
						z[2] = fmaf(v, t.z, z[2]);
						z[3] = fmaf(v, t.w, z[3]);
					}
				}
			}
		}
		__syncthreads();
	}
#pragma unroll
	for (int k = 0; k < CHANNELS; k++) {
		if (mine && k0 + k < K)
			y[(n * K + k0 + k) * H * W + at] = fminf(fmaxf(z[k], 0.0f), 6.0f);
	}
}

extern "C" void solve(const float *x, const float *w, const float *b, float *y,
	int64_t N, int64_t C, int64_t H, int64_t W, int64_t K, cudaStream_t stream)
{
	int64_t groups = (K + CHANNELS - 1) / CHANNELS;
	dim3 grid((unsigned)((H * W + THREADS - 1) / THREADS), (unsigned)(N * groups));

	conv<<<grid, THREADS, 0, stream>>>(x, w, b, y, C, H, W, K);
}
