// Runs one function of device pointers and scalars on inputs made from its parameters' types, and writes what it
// left: the same program gives the same inputs to NVIDIA's runtime and to the PTX machine's. Inputs are the
// pointers to const, or all at first; whole numbers are taken as extents that get smaller from left to right.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace harness {

inline size_t elements = 1 << 18;
inline unsigned n_pointers, n_integers;
inline FILE *out;

inline uint64_t
mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

template <typename T> const char *type_word() { return std::is_same<T, float>::value ? "f32" : std::is_same<T, double>::value ? "f64"
	: std::is_same<T, __half>::value ? "f16" : std::is_same<T, __nv_bfloat16>::value ? "bf16" : sizeof(T) == 4 ? "i32" : sizeof(T) == 8 ? "i64"
	: sizeof(T) == 2 ? "i16" : "i8"; }

template <typename T>
T
value(uint64_t r)
{
	double v = (double)(int64_t)(r >> 40) / (1 << 23) - 1;
	if constexpr (std::is_same<T, __half>::value)
		return __float2half((float)v);
	else if constexpr (std::is_same<T, __nv_bfloat16>::value)
		return __float2bfloat16((float)v);
	else if constexpr (std::is_floating_point<T>::value)
		return (T)v;
	else if constexpr (std::is_integral<T>::value)
		return (T)(r >> 33 & 7);
	else {
		T t;
		memset((void *)&t, 0, sizeof t);
		return t;
	}
}

struct dump {
	const char *type;
	void *device;
	size_t bytes, size;
};
inline std::vector<dump> dumps;

template <typename A, bool POINTER = std::is_pointer<A>::value>
struct argument;

template <typename A>
struct argument<A, true> {
	using T = std::remove_cv_t<std::remove_pointer_t<A>>;
	static A
	make()
	{
		if constexpr (std::is_same<A, cudaStream_t>::value || std::is_void<T>::value) {
			return nullptr;
		} else {
			std::vector<T> host(elements);
			uint64_t seed = ++n_pointers * 0x100000000ull;
			void *device = nullptr;
			for (size_t i = 0; i < elements; i++)
				host[i] = value<T>(mix(seed + i));
			cudaMalloc(&device, elements * sizeof(T));
			cudaMemcpy(device, host.data(), elements * sizeof(T), cudaMemcpyHostToDevice);
			if (!std::is_const<std::remove_pointer_t<A>>::value)
				dumps.push_back({ type_word<T>(), device, elements * sizeof(T), sizeof(T) });
			return (A)device;
		}
	}
};

template <typename A>
struct argument<A, false> {
	static A
	make()
	{
		static const int extents[] = { 40, 24, 16, 8, 6, 4, 3, 2, 2, 1, 1, 1 };
		if constexpr (std::is_floating_point<A>::value)
			return (A)0.5;
		else
			return (A)extents[n_integers < 11 ? n_integers++ : 11];
	}
};

/* "status WORD", then "buffer TYPE COUNT" and its bytes for each */
inline int
finish(const char *path)
{
	cudaError_t status = cudaDeviceSynchronize(), last = cudaGetLastError();
	if (status == cudaSuccess)
		status = last;
	out = fopen(path, "wb");
	if (!out)
		return 1;
	fprintf(out, "status %s\n", cudaGetErrorName(status));
	for (size_t k = 0; status == cudaSuccess && k < dumps.size(); k++) {
		std::vector<char> bytes(dumps[k].bytes);
		cudaMemcpy(bytes.data(), dumps[k].device, dumps[k].bytes, cudaMemcpyDeviceToHost);
		fprintf(out, "buffer %s %zu\n", dumps[k].type, dumps[k].bytes / dumps[k].size);
		fwrite(bytes.data(), 1, bytes.size(), out);
	}
	fclose(out);
	fflush(nullptr);
	return 0;
}

template <typename R, typename... A>
int
drive(R (*function)(A...), const char *path)
{
	unsigned integers = 0;
	((integers += std::is_integral<A>::value), ...);
	std::tuple<A...> arguments{ argument<A>::make()... };	/* braces: from left to right */
	if (integers == 1)
		std::apply([](auto &...a) { ((std::is_integral<std::decay_t<decltype(a)>>::value ? (void)(a = (std::decay_t<decltype(a)>)((long long)200)) : (void)0), ...); },
			arguments);
	std::apply(function, arguments);
	return finish(path);
}

}
