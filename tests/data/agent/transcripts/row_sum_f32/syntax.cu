__global__ void rows(const float *x, float *y, int64_t N, int64_t D)
{
	int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0

	if (i < N)
		y[i] = sum;
}

extern "C" void solve(const float *x, float *y, int64_t N, int64_t D, cudaStream_t stream)
{
	rows<<<(unsigned)((N + 127) / 128), 128, 0, stream>>>(x, y, N, D);
}
