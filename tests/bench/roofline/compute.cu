// Arithmetic by kind: throughput and latency, divergence, occupancy, shared memory. See launches.c.
#include <cuda_fp16.h>

extern "C" __global__ void
fma_parallel(float *out, int steps, float a, float b)
{
	float v[8];
	for (int k = 0; k < 8; k++)
		v[k] = threadIdx.x + k;
	for (int s = 0; s < steps; s++)
		for (int k = 0; k < 8; k++)
			v[k] = v[k] * a + b;
	float sum = 0;
	for (int k = 0; k < 8; k++)
		sum += v[k];
	out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void
fma_serial(float *out, int steps, float a, float b)
{
	float v = threadIdx.x;
#pragma unroll 8
	for (int s = 0; s < steps; s++)
		v = v * a + b;
	out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

extern "C" __global__ void
fma_double(double *out, int steps, double a, double b)
{
	double v[4];
	for (int k = 0; k < 4; k++)
		v[k] = threadIdx.x + k;
	for (int s = 0; s < steps; s++)
		for (int k = 0; k < 4; k++)
			v[k] = v[k] * a + b;
	out[blockIdx.x * blockDim.x + threadIdx.x] = v[0] + v[1] + v[2] + v[3];
}

extern "C" __global__ void
fma_half2(__half2 *out, int steps)
{
	__half2 v[8], a = __float2half2_rn(0.5f), b = __float2half2_rn(0.25f);
	for (int k = 0; k < 8; k++)
		v[k] = __float2half2_rn((float)(threadIdx.x + k));
	for (int s = 0; s < steps; s++)
		for (int k = 0; k < 8; k++)
			v[k] = __hfma2(v[k], a, b);
	for (int k = 1; k < 8; k++)
		v[0] = __hadd2(v[0], v[k]);
	out[blockIdx.x * blockDim.x + threadIdx.x] = v[0];
}

extern "C" __global__ void
integer_mad(unsigned *out, int steps)
{
	unsigned v[4];
	for (int k = 0; k < 4; k++)
		v[k] = threadIdx.x + k;
	for (int s = 0; s < steps; s++)
		for (int k = 0; k < 4; k++)
			v[k] = v[k] * 1664525u + 1013904223u;
	out[blockIdx.x * blockDim.x + threadIdx.x] = v[0] ^ v[1] ^ v[2] ^ v[3];
}

extern "C" __global__ void
integer_hash(const unsigned *in, unsigned *out, int rounds)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i];
	for (int r = 0; r < rounds; r++) {
		v ^= v >> 16;
		v *= 0x7feb352du;
		v ^= v >> 15;
		v *= 0x846ca68bu;
		v ^= v >> 16;
	}
	out[i] = v;
}

extern "C" __global__ void
integer_division(const unsigned *in, unsigned *out, unsigned d, int rounds)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i], sum = 0;
	for (int r = 0; r < rounds; r++) {
		sum += v / (d + r) + v % (d + r);
		v = v * 3 + 1;
	}
	out[i] = sum;
}

extern "C" __global__ void
integer_64(unsigned long long *out, int steps)
{
	unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x, v = i, w = i + 1;
	for (int s = 0; s < steps; s++) {
		v = v * 6364136223846793005ull + 1442695040888963407ull;
		w ^= w << 13;
		w ^= w >> 7;
		w ^= w << 17;
	}
	out[i] = v ^ w;
}

extern "C" __global__ void
population_count(const unsigned *a, const unsigned *b, unsigned *out, int words)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
	unsigned sum = 0;
	for (int w = 0; w < words; w++)
		sum += __popc(a[(long)w * n + i] ^ b[w]);
	out[i] = sum;
}

extern "C" __global__ void
special_functions(const float *in, float *out, int rounds)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float v = in[i], sum = 0;
	for (int r = 0; r < rounds; r++) {
		sum += __expf(v) + rsqrtf(v * v + 1) + __sinf(v);
		v += 0.01f;
	}
	out[i] = sum;
}

extern "C" __global__ void
gelu(const float *in, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		float x = in[i];
		out[i] = 0.5f * x * (1 + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
	}
}

extern "C" __global__ void
silu_half(const __half2 *in, __half2 *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		float2 v = __half22float2(in[i]);
		out[i] = __floats2half2_rn(v.x / (1 + __expf(-v.x)), v.y / (1 + __expf(-v.y)));
	}
}

extern "C" __global__ void
power(const float *in, float *out, float e)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	out[i] = powf(fabsf(in[i]) + 0.5f, e);
}

extern "C" __global__ void
sine_precise(const float *in, float *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	out[i] = sinf(in[i] * 100) + cosf(in[i]);
}

extern "C" __global__ void
exp_double(const double *in, double *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	out[i] = exp(in[i]) * log(in[i] + 2);
}

extern "C" __global__ void
divide(const float *a, const float *b, float *out, int rounds)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float v = a[i], w = b[i] + 2;
	for (int r = 0; r < rounds; r++)
		v = v / w + 1;
	out[i] = v;
}

extern "C" __global__ void
divergent_switch(const unsigned *in, float *out, int rounds)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned which = in[i] & 7;
	float v = i * 0.001f;
	for (int r = 0; r < rounds; r++)
		switch (which) {
		case 0: v = v * 1.01f + 1; break;
		case 1: v = sqrtf(v + 1); break;
		case 2: v = __expf(-v); break;
		case 3: v = v * v * 0.5f - 1; break;
		case 4: v = fabsf(v) + 0.1f; break;
		case 5: v = __logf(v * v + 1); break;
		case 6: v = 1 / (v + 3); break;
		default: v = __sinf(v); break;
		}
	out[i] = v;
}

extern "C" __global__ void
mandelbrot(unsigned *out, int width, int limit)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, n = 0;
	float cr = -2 + 3.0f * x / width, ci = -1.5f + 3.0f * y / width, r = 0, i = 0;
	while (n < limit && r * r + i * i < 4) {
		float t = r * r - i * i + cr;
		i = 2 * r * i + ci;
		r = t;
		n++;
	}
	out[y * width + x] = n;
}

// half of each warp's lanes have ten times the work
extern "C" __global__ void
uneven_lanes(const unsigned *in, float *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, n = in[i] & 1 ? 200 : 20;
	float v = i;
	for (int k = 0; k < n; k++)
		v = v * 0.999f + 0.5f;
	out[i] = v;
}

extern "C" __global__ void
nbody(const float4 *body, float4 *force, int n)
{
	__shared__ float4 tile[256];
	float4 me = body[blockIdx.x * 256 + threadIdx.x];
	float fx = 0, fy = 0, fz = 0;
	for (int t = 0; t < n; t += 256) {
		tile[threadIdx.x] = body[t + threadIdx.x];
		__syncthreads();
		for (int k = 0; k < 256; k++) {
			float dx = tile[k].x - me.x, dy = tile[k].y - me.y, dz = tile[k].z - me.z;
			float s = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), f = tile[k].w * s * s * s;
			fx += f * dx;
			fy += f * dy;
			fz += f * dz;
		}
		__syncthreads();
	}
	force[blockIdx.x * 256 + threadIdx.x] = make_float4(fx, fy, fz, 0);
}

extern "C" __global__ void
shared_reads(float *out, int rounds)
{
	__shared__ float s[1024];
	for (int k = threadIdx.x; k < 1024; k += blockDim.x)
		s[k] = k;
	__syncthreads();
	float sum = 0;
	for (int r = 0; r < rounds; r++)
		sum += s[(threadIdx.x + r * 32) & 1023] + s[(threadIdx.x + r * 64) & 1023];
	out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void
shared_conflicts_8(float *out, int rounds)
{
	__shared__ float s[2048];
	for (int k = threadIdx.x; k < 2048; k += blockDim.x)
		s[k] = k;
	__syncthreads();
	float sum = 0;
	for (int r = 0; r < rounds; r++)
		sum += s[(threadIdx.x * 8 + r) & 2047];
	out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void
shared_conflicts_32(float *out, int rounds)
{
	__shared__ float s[4096];
	for (int k = threadIdx.x; k < 4096; k += blockDim.x)
		s[k] = k;
	__syncthreads();
	float sum = 0;
	for (int r = 0; r < rounds; r++)
		sum += s[(threadIdx.x * 32 + r) & 4095];
	out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void
barriers(float *out, int rounds)
{
	__shared__ float s[256];
	s[threadIdx.x] = threadIdx.x;
	for (int r = 0; r < rounds; r++) {
		__syncthreads();
		float v = s[(threadIdx.x + 1) & 255];
		__syncthreads();
		s[threadIdx.x] = v + 1;
	}
	out[blockIdx.x * 256 + threadIdx.x] = s[threadIdx.x];
}

// so much shared memory that one block of 128 threads fits
extern "C" __global__ void
low_occupancy(const float *in, float *out, int n)
{
	extern __shared__ float s[];
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		s[threadIdx.x] = in[i];
		out[i] = s[threadIdx.x] * 2;
	}
}

extern "C" __global__ void
few_blocks(const float *in, float *out, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		out[i] = in[i] * in[i] + 1;
}

extern "C" __global__ void
many_small_blocks(const float *in, float *out)
{
	int i = blockIdx.x * 32 + threadIdx.x;
	out[i] = in[i] * 2;
}

// a thread's array that is indexed at run time lives in local memory
extern "C" __global__ void
local_array(const unsigned *in, unsigned *out, int rounds)
{
	unsigned v[64], i = blockIdx.x * blockDim.x + threadIdx.x, x = in[i];
	for (int k = 0; k < 64; k++)
		v[k] = x + k;
	for (int r = 0; r < rounds; r++) {
		x = x * 5 + v[(x >> 8) & 63];
		v[x & 63] += x;
	}
	out[i] = v[x & 63];
}

extern "C" __global__ void
monte_carlo(unsigned *out, int steps)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, state = i * 747796405u + 2891336453u, hits = 0;
	for (int s = 0; s < steps; s++) {
		state = state * 747796405u + 2891336453u;
		float x = (state >> 8) * (1.0f / 16777216);
		state = state * 747796405u + 2891336453u;
		float y = (state >> 8) * (1.0f / 16777216);
		hits += x * x + y * y < 1;
	}
	out[i] = hits;
}
