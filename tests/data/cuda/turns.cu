// What a solution keeps from one call to the next: the axis N is 10000 * kind + the number of elements.
__constant__ float table[4];
__global__ void add(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = x[i] + 1 + table[i % 4];
}

void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	static float *scratch;
	static int64_t room;
	static float *first_y;
	static int blocks, calls;
	int64_t n = N % 10000;
	int grid = (int)((n + 255) / 256);
	calls++;
	switch (N / 10000) {
	case 0:	// scratch that grows
		if (n > room) {
			if (scratch)
				cudaFree(scratch);
			cudaMalloc(&scratch, n * sizeof(float));
			room = n;
		}
		add<<<grid, 256, 0, stream>>>(x, scratch, n);
		add<<<grid, 256, 0, stream>>>(scratch, y, n);
		break;
	case 1:	// scratch for the first call's size
		if (!scratch)
			cudaMalloc(&scratch, n * sizeof(float));
		add<<<grid, 256, 0, stream>>>(x, scratch, n);
		add<<<grid, 256, 0, stream>>>(scratch, y, n);
		break;
	case 2:	// the first call's grid
		if (!blocks)
			blocks = grid;
		add<<<blocks, 256, 0, stream>>>(x, y, n);
		break;
	case 3:	// works for the first call's size only
		if (!room)
			room = n;
		if (n == room)
			add<<<grid, 256, 0, stream>>>(x, y, n);
		break;
	case 4:	// the first call's output
		if (!first_y)
			first_y = y;
		add<<<grid, 256, 0, stream>>>(x, first_y, n);
		break;
	case 5: {	// a table that is filled once
		float values[4] = { 1, 2, 3, 4 };
		if (calls == 1)
			cudaMemcpyToSymbolAsync(table, values, sizeof values, 0, cudaMemcpyHostToDevice, stream);
		add<<<grid, 256, 0, stream>>>(x, y, n);
		break;
	}
	}
}
