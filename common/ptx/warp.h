/* What the files that run warps share: warp.c chooses lanes and runs them, barrier.c holds them at barriers, call.c takes
 * them into functions and back, wait.c finds those that only wait. Not for other files. */
#ifndef PTX_WARP_H
#define PTX_WARP_H

#include "ptx/machine.h"

/* Where a lane stands: the deepest call first, then the lowest instruction. */
#define KEY(depth, pc) ((uint32_t)(255 - (depth)) << 24 | (pc))
#define KEY_PC(key) ((key) & 0xffffff)

/* The lanes being executed. */
struct group {
	uint32_t pc, mask, wide, depth;
	uint32_t next;			/* least key of the groups that could run instead; NO_REG: none */
};

static inline void
set_keys(struct warp *w, uint32_t mask, uint32_t key)
{
	EACH_LANE(l)
		w->key[l] = mask >> l & 1 ? key : w->key[l];
}

/* Do all lanes of mask stand at the place of its first? */
static inline bool
at_one_place(const struct warp *w, uint32_t mask)
{
	uint32_t key = w->key[__builtin_ctz(mask)], differ = 0;
	for (int l = 0; l < LANES; l++)
		differ |= mask >> l & 1 ? w->key[l] ^ key : 0;
	return !differ;
}

/* ---- warp.c */
/* Chooses the lanes to run. False when none can. */
bool pick(struct warp *w, struct group *g);
/* Lanes of mask go to one place, those of rest to the next instruction; then the choice is made anew. */
bool split(struct warp *w, struct group *g, uint32_t mask, uint32_t key, uint32_t rest);
/* The instruction that ends a straight run, for the lanes in mask of the group. False: nothing left to run. */
bool control(struct warp *w, struct group *g, const struct insn *i, uint32_t mask);
/* Counts instructions of that many lanes, and stops the launch when its budget is used up. */
void charge(struct machine_core *core, uint64_t instructions, uint64_t lanes);

/* ---- barrier.c */
/* Lanes arrive at a barrier of the block; with `wait` they stay until it is complete. */
void arrive(struct warp *w, const struct insn *i, uint32_t mask, uint32_t pc, bool wait);
void cluster_arrive(struct warp *w, const struct insn *i, uint32_t mask);
/* Lanes that have to wait stay at the instruction. Returns those that go on. */
uint32_t cluster_wait(struct warp *w, const struct insn *i, uint32_t mask);
/* The lanes end: barriers that waited only for them are complete. */
void exit_lanes(struct warp *w, uint32_t mask);

/* ---- call.c */
/* Calls and returns of the lanes in mask. False when the warp has nothing left to run. */
bool call(struct warp *w, struct group *g, const struct insn *i, uint32_t mask);
bool leave(struct warp *w, struct group *g, uint32_t mask);
_Noreturn void bad_call(struct warp *w, const struct insn *i, uint32_t mask, enum ptx_kind kind, const char *what);

/* ---- wait.c */
/* After a turn that looks like waiting, and once in a while: does the warp do anything else? Sets w->spins. */
void look_closer(struct warp *w, uint64_t *executed);
/* Asks anew of a warp that spins, after memory changed. */
void look_again(struct warp *w, uint64_t *executed);

#endif
