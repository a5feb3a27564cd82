// One file of tests/gpu/kernels as a program: nvcc -DKERNELS='"warp.cu"' kernels.cu.
// PROGRAM --list prints the cases, PROGRAM CASE DUMP runs one.
#include "harness.h"
#include KERNELS

enum { N = 4096 };

template <typename T>
static T *
input(uint64_t seed, T (*make)(uint64_t))
{
	std::vector<T> host(N);
	T *device = nullptr;
	for (uint64_t i = 0; i < N; i++)
		host[i] = make(harness::mix(seed + i));
	cudaMalloc((void **)&device, N * sizeof(T));
	cudaMemcpy(device, host.data(), N * sizeof(T), cudaMemcpyHostToDevice);
	return device;
}

template <typename T>
static T *
output(void)
{
	T *device = nullptr;
	cudaMalloc((void **)&device, N * sizeof(T));
	cudaMemset(device, 0, N * sizeof(T));
	harness::dumps.push_back({ harness::type_word<T>(), device, N * sizeof(T), sizeof(T) });
	return device;
}

int
main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--list"))
		for (kernel_case *c = kernel_case::first; c; c = c->next)
			puts(c->name);
	for (kernel_case *c = kernel_case::first; argc == 3 && c; c = c->next) {
		if (strcmp(c->name, argv[1]))
			continue;
		cudaStream_t stream;
		cudaStreamCreate(&stream);
		const float *x = input<float>(1 << 20, [](uint64_t r) { return (float)(int64_t)(r >> 40) / (1 << 22) - 2; });
		const int32_t *k = input<int32_t>(2 << 20, [](uint64_t r) { return (int32_t)(r >> 40 & 1023); });
		float *y = output<float>();
		int32_t *z = output<int32_t>();
		cudaStreamSynchronize(stream);
		cudaDeviceSynchronize();
		c->run(x, k, y, z, N, stream);
		return harness::finish(argv[2]);
	}
	return argc == 2 ? 0 : 64;
}
