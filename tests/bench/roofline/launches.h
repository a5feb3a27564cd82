/* The kernels of the roofline's judgement: one table of launches for two programs, gpu.c, which times them
 * on a GPU, and roofline.c, which counts them on the PTX machine. Buffers are filled alike in both. */
#ifndef ROOFLINE_LAUNCHES_H
#define ROOFLINE_LAUNCHES_H

#include <stddef.h>
#include <stdint.h>

enum { MAX_ARGUMENTS = 8, N_MODULES = 4 };

struct roofline_launch {
	const char *kernel, *size;	/* the two together name the launch */
	uint32_t grid[3], block[3], dynamic_shared;
	/* One word for each parameter; numbers may end in K or M (binary):
	 *   f:N float, d:N double, h:N half, each in [-1, 1); u:N:B uint32 below B; b:N bytes below 64; c:N:B uint32,
	 *   the next place of a walk through all N; o:N zero bytes; i:V int32; x:V float; y:V double */
	const char *arguments;
};
extern const struct roofline_launch roofline_launches[];
extern const size_t roofline_n_launches;
/* Base names of the .cu files. */
extern const char *const roofline_modules[N_MODULES];

struct roofline_argument {
	char kind;			/* the letter above */
	size_t bytes;			/* of the buffer, 0 for a number */
	uint64_t count, bound;
	double value;
};
/* Takes the words apart; returns how many, -1 when they are wrong. */
int roofline_arguments(const struct roofline_launch *launch, struct roofline_argument out[MAX_ARGUMENTS]);
/* Fills a buffer of argument->bytes; `which` is the argument's index. */
void roofline_fill(const struct roofline_argument *argument, int which, void *memory);
/* Writes the parameter block: addresses[k] for buffers, values for numbers. offsets get where each stands.
 * Returns its bytes. */
size_t roofline_parameters(const struct roofline_argument *arguments, int n, const uint64_t *addresses, uint8_t *block,
	size_t *offsets);

#endif
