/* In: nothing. Out: the table of launches, and buffers filled from it. Sizes are such that an H200 takes between some
 * microseconds and some milliseconds, and the PTX machine seconds at most. */
#include "roofline/launches.h"

#include <stdlib.h>
#include <string.h>

const char *const roofline_modules[N_MODULES] = { "memory", "rows", "compute", "tiles" };

#define G(...) { __VA_ARGS__ }
#define L(name, size, grid, block, shared, arguments) { name, size, grid, block, shared, arguments }

const struct roofline_launch roofline_launches[] = {
	/* ---- memory.cu */
	L("empty", "1", G(1, 1, 1), G(32, 1, 1), 0, ""),
	L("fill", "16M", G(65536, 1, 1), G(256, 1, 1), 0, "o:64M i:16M x:3"),
	L("copy_float", "1M", G(4096, 1, 1), G(256, 1, 1), 0, "f:1M o:4M i:1M"),
	L("copy_float", "16M", G(65536, 1, 1), G(256, 1, 1), 0, "f:16M o:64M i:16M"),
	L("copy_float4", "64M", G(65536, 1, 1), G(256, 1, 1), 0, "f:64M o:256M i:16M"),
	L("copy_double", "8M", G(32768, 1, 1), G(256, 1, 1), 0, "d:8M o:64M i:8M"),
	L("copy_byte", "16M", G(65536, 1, 1), G(256, 1, 1), 0, "b:16M o:16M i:16M"),
	L("copy_short", "16M", G(65536, 1, 1), G(256, 1, 1), 0, "b:32M o:32M i:16M"),
	L("copy_grid_stride", "16M", G(528, 1, 1), G(256, 1, 1), 0, "f:16M o:64M i:4M"),
	L("copy_shifted", "8M", G(32768, 1, 1), G(256, 1, 1), 0, "f:9M o:32M i:8M"),
	L("read_strided_2", "8M", G(32768, 1, 1), G(256, 1, 1), 0, "f:16M o:32M i:8M"),
	L("read_strided_8", "4M", G(16384, 1, 1), G(256, 1, 1), 0, "f:32M o:16M i:4M"),
	L("write_strided_4", "4M", G(16384, 1, 1), G(256, 1, 1), 0, "f:4M o:64M i:4M"),
	L("copy_chunk_per_thread", "16M", G(2048, 1, 1), G(256, 1, 1), 0, "f:16M o:64M i:32"),
	L("saxpy", "4M", G(16384, 1, 1), G(256, 1, 1), 0, "x:2 f:4M f:4M i:4M"),
	L("saxpy", "32M", G(131072, 1, 1), G(256, 1, 1), 0, "x:2 f:32M f:32M i:32M"),
	L("triad_float4", "32M", G(32768, 1, 1), G(256, 1, 1), 0, "f:32M f:32M o:128M x:2 i:8M"),
	L("structs_to_arrays", "8M", G(32768, 1, 1), G(256, 1, 1), 0, "f:24M o:32M o:32M o:32M i:8M"),
	L("transpose_naive", "2048", G(64, 64, 1), G(32, 8, 1), 0, "f:4M o:16M i:2048"),
	L("transpose_naive", "4096", G(128, 128, 1), G(32, 8, 1), 0, "f:16M o:64M i:4096"),
	L("transpose_conflicts", "4096", G(128, 128, 1), G(32, 8, 1), 0, "f:16M o:64M i:4096"),
	L("transpose_padded", "4096", G(128, 128, 1), G(32, 8, 1), 0, "f:16M o:64M i:4096"),
	L("gather", "in 2M", G(16384, 1, 1), G(256, 1, 1), 0, "f:2M u:4M:2M o:16M i:4M"),
	L("gather", "in 64M", G(16384, 1, 1), G(256, 1, 1), 0, "f:64M u:4M:64M o:16M i:4M"),
	L("gather_near", "4M", G(16384, 1, 1), G(256, 1, 1), 0, "f:5M u:4M:64 o:16M i:4M"),
	L("scatter", "in 32M", G(8192, 1, 1), G(256, 1, 1), 0, "f:2M u:2M:32M o:128M i:2M"),
	L("embedding", "32K x 512", G(8192, 1, 1), G(128, 1, 1), 0, "f:32M u:32K:64K o:64M i:512"),
	L("pointer_chase", "4 warps", G(4, 1, 1), G(32, 1, 1), 0, "c:16M:7919 o:1K i:512"),
	L("pointer_chase", "8K warps", G(1024, 1, 1), G(256, 1, 1), 0, "c:16M:7919 o:1M i:16"),
	L("reread_l2", "4M", G(528, 1, 1), G(512, 1, 1), 0, "f:4M o:2M i:1M i:8"),
	L("reread_l1", "16K", G(264, 1, 1), G(512, 1, 1), 0, "f:4K o:1M i:4K i:64"),
	L("read_all", "64M", G(1056, 1, 1), G(256, 1, 1), 0, "f:64M o:4 i:16M"),
	L("permute_heads", "16M", G(65536, 1, 1), G(256, 1, 1), 0, "f:16M o:64M i:16 i:16K i:64"),
	L("rope", "8M", G(16384, 1, 1), G(256, 1, 1), 0, "f:8M f:128K o:32M i:64 i:1K"),
	L("adam", "8M", G(32768, 1, 1), G(256, 1, 1), 0, "f:8M f:8M f:8M b:32M i:8M"),
	/* ---- rows.cu */
	L("reduce_atomic_each", "1M", G(4096, 1, 1), G(256, 1, 1), 0, "f:1M o:4 i:1M"),
	L("reduce_tree_divergent", "8M", G(32768, 1, 1), G(256, 1, 1), 0, "f:8M o:128K"),
	L("reduce_tree_conflicts", "8M", G(32768, 1, 1), G(256, 1, 1), 0, "f:8M o:128K"),
	L("reduce_tree", "16M", G(32768, 1, 1), G(256, 1, 1), 0, "f:16M o:128K"),
	L("reduce_shuffle", "16M", G(1056, 1, 1), G(256, 1, 1), 0, "f:16M o:4 i:4M"),
	L("reduce_shuffle", "64M", G(1056, 1, 1), G(256, 1, 1), 0, "f:64M o:4 i:16M"),
	L("dot_product", "16M", G(1056, 1, 1), G(256, 1, 1), 0, "f:16M f:16M o:4 i:16M"),
	L("reduce_columns", "4096 x 4096", G(32, 1, 1), G(128, 1, 1), 0, "f:16M o:16K i:4096 i:4096"),
	L("reduce_rows_thread", "8192 x 1024", G(64, 1, 1), G(128, 1, 1), 0, "f:8M o:32K i:1024"),
	L("softmax_thread_row", "8192 x 512", G(64, 1, 1), G(128, 1, 1), 0, "f:4M o:16M i:512"),
	L("softmax_warp_row", "16K x 512", G(4096, 1, 1), G(128, 1, 1), 0, "f:8M o:32M i:512"),
	L("softmax_block_row", "4096 x 2048", G(4096, 1, 1), G(256, 1, 1), 0, "f:8M o:32M i:2048"),
	L("softmax_block_row", "512 x 16K", G(512, 1, 1), G(512, 1, 1), 0, "f:8M o:32M i:16K"),
	L("softmax_online", "4096 x 4096", G(4096, 1, 1), G(256, 1, 1), 0, "f:16M o:64M i:1024"),
	L("layernorm_block", "8192 x 1024", G(8192, 1, 1), G(256, 1, 1), 0, "f:8M f:1024 f:1024 o:32M i:1024"),
	L("layernorm_warp", "16K x 1024", G(4096, 1, 1), G(128, 1, 1), 0, "f:16M f:1024 f:1024 o:64M"),
	L("rmsnorm_half", "8192 x 4096", G(8192, 1, 1), G(256, 1, 1), 0, "h:32M h:4096 o:64M i:2048"),
	L("cross_entropy", "1024 x 16K", G(1024, 1, 1), G(512, 1, 1), 0, "f:16M u:1024:16K o:4K i:16K"),
	L("argmax_rows", "16K x 512", G(4096, 1, 1), G(128, 1, 1), 0, "f:8M o:64K i:512"),
	L("scan_hillis_steele", "4M", G(16384, 1, 1), G(256, 1, 1), 0, "f:4M o:16M"),
	L("scan_warp", "8M", G(32768, 1, 1), G(256, 1, 1), 0, "f:8M o:32M"),
	L("scan_rows_serial", "1024 x 8192", G(64, 1, 1), G(128, 1, 1), 0, "f:8M o:32M i:1024 i:8192"),
	L("histogram_global", "4M", G(528, 1, 1), G(256, 1, 1), 0, "u:4M:256 o:1K i:4M"),
	L("histogram_shared", "16M", G(528, 1, 1), G(256, 1, 1), 0, "u:16M:256 o:1K i:16M"),
	L("histogram_contended", "4M", G(264, 1, 1), G(256, 1, 1), 0, "u:4M:256 o:16 i:4M"),
	L("scatter_add", "in 4M", G(8192, 1, 1), G(256, 1, 1), 0, "f:2M u:2M:4M o:16M i:2M"),
	L("compact", "8M", G(32768, 1, 1), G(256, 1, 1), 0, "u:8M:1000 o:32M o:4 i:8M i:500"),
	L("bitonic_sort", "2M", G(4096, 1, 1), G(256, 1, 1), 0, "u:2M:1000000"),
	/* ---- compute.cu */
	L("fma_parallel", "1024 blocks", G(1056, 1, 1), G(256, 1, 1), 0, "o:2M i:512 x:0.999 x:0.5"),
	L("fma_serial", "1 warp", G(132, 1, 1), G(32, 1, 1), 0, "o:64K i:8192 x:0.999 x:0.5"),
	L("fma_double", "528 blocks", G(528, 1, 1), G(256, 1, 1), 0, "o:2M i:512 y:0.999 y:0.5"),
	L("fma_half2", "528 blocks", G(528, 1, 1), G(256, 1, 1), 0, "o:2M i:64"),
	L("fma_half2", "1056 blocks", G(1056, 1, 1), G(256, 1, 1), 0, "o:2M i:256"),
	L("integer_mad", "1056 blocks", G(1056, 1, 1), G(256, 1, 1), 0, "o:2M i:1024"),
	L("integer_hash", "1M", G(4096, 1, 1), G(256, 1, 1), 0, "u:1M:1000000 o:4M i:64"),
	L("integer_division", "512K", G(2048, 1, 1), G(256, 1, 1), 0, "u:512K:1000000 o:2M i:7 i:32"),
	L("integer_64", "256K", G(1024, 1, 1), G(256, 1, 1), 0, "o:2M i:256"),
	L("population_count", "8M", G(1024, 1, 1), G(256, 1, 1), 0, "b:32M b:128 o:1M i:32"),
	L("special_functions", "512K", G(2048, 1, 1), G(256, 1, 1), 0, "f:512K o:2M i:64"),
	L("gelu", "16M", G(65536, 1, 1), G(256, 1, 1), 0, "f:16M o:64M i:16M"),
	L("silu_half", "16M", G(32768, 1, 1), G(256, 1, 1), 0, "h:16M o:32M i:8M"),
	L("power", "4M", G(16384, 1, 1), G(256, 1, 1), 0, "f:4M o:16M x:2.5"),
	L("sine_precise", "4M", G(16384, 1, 1), G(256, 1, 1), 0, "f:4M o:16M"),
	L("exp_double", "2M", G(8192, 1, 1), G(256, 1, 1), 0, "d:2M o:16M"),
	L("divide", "1M", G(4096, 1, 1), G(256, 1, 1), 0, "f:1M f:1M o:4M i:32"),
	L("divergent_switch", "512K", G(2048, 1, 1), G(256, 1, 1), 0, "u:512K:1000 o:2M i:32"),
	L("divergent_switch", "64K", G(256, 1, 1), G(256, 1, 1), 0, "u:64K:1000 o:256K i:64"),
	L("mandelbrot", "1024", G(32, 128, 1), G(32, 8, 1), 0, "o:4M i:1024 i:256"),
	L("uneven_lanes", "1M", G(4096, 1, 1), G(256, 1, 1), 0, "u:1M:1000 o:4M"),
	L("nbody", "4K", G(16, 1, 1), G(256, 1, 1), 0, "f:16K o:64K i:4K"),
	L("nbody", "8K", G(32, 1, 1), G(256, 1, 1), 0, "f:32K o:128K i:8K"),
	L("shared_reads", "1056 blocks", G(1056, 1, 1), G(256, 1, 1), 0, "o:2M i:512"),
	L("shared_conflicts_8", "528 blocks", G(528, 1, 1), G(256, 1, 1), 0, "o:1M i:512"),
	L("shared_conflicts_32", "528 blocks", G(528, 1, 1), G(128, 1, 1), 0, "o:1M i:512"),
	L("barriers", "1056 blocks", G(1056, 1, 1), G(256, 1, 1), 0, "o:2M i:256"),
	L("low_occupancy", "4M", G(132, 1, 1), G(128, 1, 1), 200 * 1024, "f:4M o:16M i:4M"),
	L("few_blocks", "1M", G(8, 1, 1), G(256, 1, 1), 0, "f:1M o:4M i:1M"),
	L("many_small_blocks", "8M", G(262144, 1, 1), G(32, 1, 1), 0, "f:8M o:32M"),
	L("local_array", "512K", G(2048, 1, 1), G(256, 1, 1), 0, "u:512K:1000000 o:2M i:64"),
	L("monte_carlo", "256K", G(1024, 1, 1), G(256, 1, 1), 0, "o:1M i:256"),
	/* ---- tiles.cu */
	L("matmul_naive", "512", G(32, 32, 1), G(16, 16, 1), 0, "f:256K f:256K o:1M i:512"),
	L("matmul_naive", "768", G(48, 48, 1), G(16, 16, 1), 0, "f:576K f:576K o:2304K i:768"),
	L("matmul_uncoalesced", "512", G(16, 64, 1), G(32, 8, 1), 0, "f:256K f:256K o:1M i:512"),
	L("matmul_tiled_16", "768", G(48, 48, 1), G(16, 16, 1), 0, "f:576K f:576K o:2304K i:768"),
	L("matmul_tiled_32", "768", G(24, 24, 1), G(32, 32, 1), 0, "f:576K f:576K o:2304K i:768"),
	L("matmul_double", "512", G(32, 32, 1), G(16, 16, 1), 0, "d:256K d:256K o:2M i:512"),
	L("sgemm_4x4", "1024", G(16, 16, 1), G(256, 1, 1), 0, "f:1M f:1M o:4M i:1024"),
	L("sgemm_8x8", "512", G(4, 4, 1), G(256, 1, 1), 0, "f:256K f:256K o:1M i:512"),
	L("sgemm_8x8", "1536", G(12, 12, 1), G(256, 1, 1), 0, "f:2304K f:2304K o:9M i:1536"),
	L("hgemm_half2", "512", G(16, 32, 1), G(16, 16, 1), 0, "h:256K h:256K o:512K i:512"),
	L("hgemm_half2", "1024", G(32, 64, 1), G(16, 16, 1), 0, "h:1M h:1M o:2M i:1024"),
	L("wmma_global", "512", G(256, 1, 1), G(128, 1, 1), 0, "h:256K h:256K o:1M i:512"),
	L("wmma_shared", "1024", G(16, 16, 1), G(128, 1, 1), 0, "h:1M h:1M o:4M i:1024"),
	L("mma_pipelined", "1024", G(16, 8, 1), G(128, 1, 1), 0, "h:1M h:1M o:4M i:1024"),
	L("mma_peak", "264 blocks", G(264, 1, 1), G(256, 1, 1), 0, "o:1M i:64"),
	L("wmma_tf32", "512", G(256, 1, 1), G(128, 1, 1), 0, "f:256K f:256K o:1M i:512"),
	L("matvec_warp", "8192 x 2048", G(2048, 1, 1), G(128, 1, 1), 0, "f:16M f:2048 o:32K i:2048"),
	L("matvec_thread", "8192 x 1024", G(64, 1, 1), G(128, 1, 1), 0, "f:8M f:1024 o:32K i:1024"),
	L("matmul_batched_small", "64K", G(16384, 1, 1), G(128, 1, 1), 0, "f:4M f:4M o:16M"),
	L("convolution_1d", "4M", G(16384, 1, 1), G(256, 1, 1), 0, "f:5M f:31 o:16M i:4M i:31"),
	L("convolution_2d", "16 x 16 x 256", G(8, 32, 16), G(32, 8, 1), 0, "f:1M f:2304 o:4M i:256 i:256 i:16"),
	L("blur_shared", "2048", G(64, 128, 1), G(32, 16, 1), 0, "f:4M o:16M i:2048"),
	L("depthwise_3x3", "64 x 256", G(8, 32, 64), G(32, 8, 1), 0, "f:4M f:1K o:16M i:256 i:256"),
	L("stencil_5", "4096", G(128, 512, 1), G(32, 8, 1), 0, "f:16M o:64M i:4096"),
	L("stencil_7", "256", G(8, 32, 1), G(32, 8, 1), 0, "f:16M o:64M i:256"),
	L("max_pool", "16 x 1024", G(16, 64, 16), G(32, 8, 1), 0, "f:16M o:16M i:1024"),
	L("upsample", "2048", G(128, 512, 1), G(32, 8, 1), 0, "f:4M o:64M i:2048"),
	L("attention_naive", "4 x 256", G(256, 4, 1), G(128, 1, 1), 1024, "f:64K f:64K f:64K o:256K i:256"),
	L("attention_flash", "8 x 512", G(8, 8, 1), G(64, 1, 1), 0, "f:256K f:256K f:256K o:1M i:512"),
	L("attention_flash", "16 x 1024", G(16, 16, 1), G(64, 1, 1), 0, "f:1M f:1M f:1M o:4M i:1024"),
	L("pairwise_distance", "1024 x 64", G(64, 64, 1), G(16, 16, 1), 0, "f:64K f:64K o:4M i:1024 i:64"),
};
const size_t roofline_n_launches = sizeof roofline_launches / sizeof *roofline_launches;

static uint64_t
number(const char **at)
{
	char *end;
	uint64_t v = strtoull(*at, &end, 10);
	if (*end == 'K' || *end == 'M')
		v <<= *end++ == 'K' ? 10 : 20;
	*at = end;
	return v;
}

int
roofline_arguments(const struct roofline_launch *launch, struct roofline_argument out[MAX_ARGUMENTS])
{
	int n = 0;
	for (const char *at = launch->arguments; *at; n++) {
		if (n == MAX_ARGUMENTS || at[1] != ':')
			return -1;
		struct roofline_argument *a = &out[n];
		*a = (struct roofline_argument){ .kind = *at };
		at += 2;
		if (a->kind == 'x' || a->kind == 'y') {
			char *end;
			a->value = strtod(at, &end);
			at = end;
		} else {
			a->count = number(&at);
		}
		if (*at == ':') {
			at++;
			a->bound = number(&at);
		}
		a->bytes = a->count
			* (strchr("fuc", a->kind) ? 4 : a->kind == 'd' ? 8 : a->kind == 'h' ? 2 : strchr("bo", a->kind) != NULL);
		if ((*at && *at != ' ') || !strchr("fdhubcoixy", a->kind))
			return -1;
		at += *at == ' ';
	}
	return n;
}

static uint64_t
mixed(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* +-0 and normal numbers of magnitude below 1: sign, exponents 10 to 14, all mantissas. */
static uint16_t
random_half(uint64_t bits)
{
	return (uint16_t)((bits & 0x83ff) | (10 + (bits >> 20) % 5) << 10);
}

void
roofline_fill(const struct roofline_argument *a, int which, void *memory)
{
	uint64_t seed = (uint64_t)which << 40;
	memset(memory, 0, a->kind == 'o' ? a->bytes : 0);
	for (uint64_t k = 0; k < a->count && a->kind != 'o'; k++) {
		uint64_t r = mixed(seed + k);
		switch (a->kind) {
		case 'f': ((float *)memory)[k] = (float)(r >> 40) / 8388608.0f - 1; break;
		case 'd': ((double *)memory)[k] = (double)(r >> 11) / 4503599627370496.0 - 1; break;
		case 'h': ((uint16_t *)memory)[k] = random_half(r); break;
		case 'u': ((uint32_t *)memory)[k] = (uint32_t)(r % a->bound); break;
		case 'b': ((uint8_t *)memory)[k] = (uint8_t)(r & 0x3f); break;
		case 'c': ((uint32_t *)memory)[k] = (uint32_t)((k * 69069 + a->bound) % a->count); break;
		}
	}
}

size_t
roofline_parameters(const struct roofline_argument *arguments, int n, const uint64_t *addresses, uint8_t *block, size_t *offsets)
{
	size_t at = 0;
	for (int k = 0; k < n; k++) {
		const struct roofline_argument *a = &arguments[k];
		size_t bytes = a->kind == 'i' || a->kind == 'x' ? 4 : 8;
		float single = (float)a->value;
		at = (at + bytes - 1) & ~(bytes - 1);
		offsets[k] = at;
		memcpy(block + at, a->kind == 'i' ? (const void *)&a->count : a->kind == 'x' ? (const void *)&single
			: a->kind == 'y' ? (const void *)&a->value : (const void *)&addresses[k], bytes);
		at += bytes;
	}
	return at;
}
