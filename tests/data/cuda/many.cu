// What depends on how often solve() was called, when, and by whom, and what only seems to: the axis N is 10000 * kind +
// the number of elements.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <unistd.h>

__constant__ float table[4];
__global__ void add(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = x[i] + 1 + table[i % 4];
}

void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	static int calls;
	static int64_t many;
	static unsigned left = 4000000;
	static float *kept, *ring[2];
	int64_t n = N % 10000;
	int grid = (int)((n + 255) / 256);
	cudaStream_t own;
	cudaEvent_t done;

	calls++;
	many++;
	switch (N / 10000) {
	case 0:	// works twenty times
		if (calls > 20)
			return;
		break;
	case 1:	// fails once
		if (calls == 300)
			return;
		break;
	case 2:	// works for weeks
		if (many > 5000000)
			return;
		break;
	case 3:	// the same, counted down
		if ((int)--left < 0)
			return;
		break;
	case 4:	// the same, with less of a grid
		if (calls > 100000)
			grid = 1;
		break;
	case 5:	// on some days
		if (time(NULL) / 86400 % 8 == 3)
			return;
		break;
	case 6:	// by some processes
		if (getpid() > 4000)
			return;
		break;
	case 7:	// where nobody is at home
		if (getenv("HOME"))
			return;
		break;
	case 8:	// works twenty times, and leaves memory behind
		cudaMallocAsync(&kept, 4096, stream);
		if (calls > 20)
			return;
		break;
	case 9:	// works twenty times, and leaves streams behind
		cudaStreamCreate(&own);
		if (calls > 20)
			return;
		break;
	case 10:	// memory that is kept
		if (!kept)
			cudaMalloc(&kept, n * sizeof(float));
		add<<<grid, 256, 0, stream>>>(x, kept, n);
		break;
	case 11:	// memory of this call
		cudaMallocAsync(&kept, n * sizeof(float), stream);
		add<<<grid, 256, 0, stream>>>(x, kept, n);
		cudaFreeAsync(kept, stream);
		break;
	case 12:	// a stream and an event of this call
		cudaStreamCreate(&own);
		cudaEventCreate(&done);
		cudaEventRecord(done, stream);
		cudaStreamWaitEvent(own, done, 0);
		add<<<grid, 256, 0, own>>>(x, y, n);
		cudaEventRecord(done, own);
		cudaStreamWaitEvent(stream, done, 0);
		cudaEventDestroy(done);
		cudaStreamDestroy(own);
		return;
	case 13:	// streams and memory that nobody gives back
		cudaStreamCreate(&own);
		cudaMallocAsync(&kept, 100000, stream);
		break;
	case 14:	// two pieces of memory, by turns
		if (!ring[0]) {
			cudaMalloc(&ring[0], n * sizeof(float));
			cudaMalloc(&ring[1], n * sizeof(float));
		}
		add<<<grid, 256, 0, stream>>>(x, ring[calls % 2], n);
		break;
	case 15: {	// a table that is filled once
		float values[4] = { 1, 2, 3, 4 };
		if (calls == 1)
			cudaMemcpyToSymbolAsync(table, values, sizeof values, 0, cudaMemcpyHostToDevice, stream);
		break;
	}
	case 16:	// memory that each call gives back for the one before
		if (kept)
			cudaFree(kept);
		cudaMalloc(&kept, n * sizeof(float));
		add<<<grid, 256, 0, stream>>>(x, kept, n);
		break;
	case 17:	// says what it does
		printf("call %d of process %d at %ld\n", calls, (int)getpid(), (long)time(NULL));
		break;
	case 18:	// counts for nobody
		break;
	}
	add<<<grid, 256, 0, stream>>>(x, y, n);
}
