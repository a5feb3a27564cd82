// The other one: a kernel of the same name, and a variable too.
static __device__ int state = 2;
static __global__ void same_name(int *x) { *x *= state; }

int second(int x)
{
	int *at;
	cudaMalloc(&at, 4);
	cudaMemcpy(at, &x, 4, cudaMemcpyHostToDevice);
	same_name<<<1, 1>>>(at);
	cudaMemcpy(&x, at, 4, cudaMemcpyDeviceToHost);
	return x;
}
