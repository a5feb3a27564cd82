/* The fast path of memory instructions: all lanes' addresses at once. */
#ifndef PTX_ACCESS_H
#define PTX_ACCESS_H

#include "ptx/machine.h"

/* A request whose addresses were all found good: lane l is at base + pattern->relative[l]. */
struct access {
	char *base;
	const struct pattern *pattern;
};

/* Checks and counts the request of the lanes in mask, `size` bytes each. False: the slow path has to look at
 * each lane (it also counts, and finds the fault if there is one). */
bool access_all(const struct insn *i, struct warp *w, uint32_t mask, uint32_t size, int access, struct access *out);
/* The slow path: a host pointer for each lane in mask. */
void access_each(const struct insn *i, struct warp *w, uint32_t mask, uint32_t size, int access, char **pointers);

#endif
