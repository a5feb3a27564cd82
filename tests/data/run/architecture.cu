/* Says which architecture's code runs, on which GPU, and whether a block of 200 KiB of shared memory can start. */
#include <cstdio>

__global__ void ask(int *arch)
{
#ifdef __CUDA_ARCH__
	*arch = __CUDA_ARCH__ / 10;
#endif
}

int main()
{
	int *device, arch = 0;
	cudaDeviceProp properties;

	cudaGetDeviceProperties(&properties, 0);
	cudaMalloc(&device, sizeof arch);
	ask<<<1, 1>>>(device);
	cudaMemcpy(&arch, device, sizeof arch, cudaMemcpyDeviceToHost);
	cudaError_t large = cudaFuncSetAttribute(ask, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10);
	printf("code of sm_%d on %d.%d, %d multiprocessors, 200 KiB: %s\n", arch, properties.major, properties.minor,
		properties.multiProcessorCount, cudaGetErrorName(large));
	return 0;
}
