// One of two source files, each with a device image of its own.
#include <cstdio>

__device__ int state = 20;
static __global__ void same_name(int *x) { *x = state + 1; }
int second(int x);

int main()
{
	int *x, y;
	cudaMalloc(&x, 4);
	same_name<<<1, 1>>>(x);
	cudaMemcpy(&y, x, 4, cudaMemcpyDeviceToHost);
	printf("%d %d\n", y, second(y));
}
