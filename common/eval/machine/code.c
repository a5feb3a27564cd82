/* Device images: from what nvcc's code registers to kernels that can be launched.
 *
 * In: the wrapper around a fatbin in the program's memory. Out: for each image a module and a machine, its kernels with
 * the layout of their parameters, its variables with addresses. A program may have several, one for each source file. */
#include <stdlib.h>
#include <string.h>

#include "base/die.h"
#include "cuda/fatbin.h"
#include "eval/machine/state.h"

enum { WRAPPER_MAGIC = 0x466243b1, ATTRIBUTE_MAJOR = 75, ATTRIBUTE_MINOR = 76, MACHINE_ARCHITECTURE = 90 };

struct image *images[MAX_IMAGES];
int image_count;

/* The newest architecture whose PTX the GPU of the profile would take, and the machine knows. */
static unsigned
architecture(void)
{
	const int *attribute = options()->profile.attribute;
	unsigned gpu = (unsigned)(10 * attribute[ATTRIBUTE_MAJOR] + attribute[ATTRIBUTE_MINOR]);

	return gpu < MACHINE_ARCHITECTURE ? gpu : MACHINE_ARCHITECTURE;
}

static void
add_kernels(struct image *image, const struct ptxinfo *info)
{
	image->kernel = xcalloc(info->kernels + 1, sizeof *image->kernel);
	image->kernels = info->kernels;
	for (uint32_t i = 0; i < info->kernels; i++) {
		const struct ptxinfo_kernel *k = &info->kernel[i];
		const struct ptx_kernel *code = ptx_kernel_find(image->module, k->name);
		struct runtime_parameter *parameter = xcalloc(k->parameters + 1, sizeof *parameter);

		for (uint32_t p = 0; p < k->parameters; p++)
			parameter[p] = (struct runtime_parameter){ k->parameter[p].offset, k->parameter[p].bytes };
		image->kernel[i] = (struct runtime_kernel){ .name = k->name, .parameters = k->parameters,
			.parameter_bytes = k->parameter_bytes, .parameter = parameter, .registers = k->registers,
			.static_shared = code ? code->shared_bytes : 0, .local_bytes = code ? code->local_bytes : 0,
			.constant_bytes = k->constant_bytes, .max_threads = k->max_threads, .image = image_count };
		memcpy(image->kernel[i].required_block, k->required_block, sizeof k->required_block);
		memcpy(image->kernel[i].required_cluster, k->required_cluster, sizeof k->required_cluster);
	}
}

static int
add_symbols(struct image *image, const struct ptxinfo *info, struct buf *err)
{
	image->symbol = xcalloc(info->symbols + 1, sizeof *image->symbol);
	for (uint32_t i = 0; i < info->symbols; i++) {
		const struct ptxinfo_symbol *s = &info->symbol[i];
		uint64_t address = memory_for_symbol(s->bytes, s->managed);

		image->symbol[image->symbols++] = (struct runtime_symbol){ s->name, address, s->bytes };
		runtime_add_memory(s->name, address, s->bytes, s->managed ? MEMORY_MANAGED : MEMORY_DEVICE, true);
		if (ptx_place_symbol(image->machine, s->name, address, err) < 0)
			return -1;
	}
	return ptx_write_symbols(image->machine, err);
}

static int
read_image(const void *fatbin, struct image *image, struct buf *err)
{
	size_t bytes = fatbin_bytes(fatbin);
	struct buf ptx = BUF_INIT, ignored = BUF_INIT;
	struct ptxinfo *info;
	int status = -1;

	if (!bytes)
		return buf_err(err, "it is no fatbin of a known form");
	if (fatbin_ptx(fatbin, bytes, architecture(), &ptx, err) < 0)
		return -1;
	/* Without machine code the numbers of registers stay unknown, which only occupancy asks for. */
	info = ptxinfo_read(buf_str(&ptx), ptx.len, fatbin, bytes, &ignored);
	if (!info)
		info = ptxinfo_read(buf_str(&ptx), ptx.len, NULL, 0, err);
	image->module = info ? ptx_parse(buf_str(&ptx), ptx.len, err) : NULL;
	image->machine = image->module ? ptx_machine_new(image->module, &options()->ptx, err) : NULL;
	if (image->machine) {
		memory_open();
		memory_map_all(image->machine);
		add_kernels(image, info);
		status = add_symbols(image, info, err);
		memory_close();
	}
	buf_release(&ptx);
	buf_release(&ignored);
	return status;	/* names in info live as long as the program */
}

int
back_register(const void *wrapper)
{
	struct { int magic, version; const void *data; } w;
	struct image *image = xcalloc(1, sizeof *image);
	struct buf err = BUF_INIT;

	memcpy(&w, wrapper, sizeof w);
	if (w.magic != WRAPPER_MAGIC || image_count == MAX_IMAGES)
		refuse(UNSUPPORTED, "the program's device image is not wrapped as nvcc 13 does it");
	if (read_image(w.data, image, &err) < 0)
		refuse(UNSUPPORTED, "the program's device image cannot be run: %s", buf_str(&err));
	images[image_count] = image;
	return image_count++;
}

const struct runtime_kernel *
back_kernel(int image, const char *name)
{
	for (uint32_t i = 0; i < images[image]->kernels; i++)
		if (!strcmp(images[image]->kernel[i].name, name))
			return &images[image]->kernel[i];
	return NULL;
}

const struct runtime_symbol *
back_symbol(int image, const char *name)
{
	for (uint32_t i = 0; i < images[image]->symbols; i++)
		if (!strcmp(images[image]->symbol[i].name, name))
			return &images[image]->symbol[i];
	return NULL;
}
