/* Clusters of blocks: the rows of their barrier, which warp.c keeps, and addresses in the shared memory of another
 * block of the cluster. Such an address is that in the block's own memory with its rank, plus one, above bit 24:
 * memory.c finds the block by it. */
#include "ptx/lanes.h"
#include "ptx/table.h"

enum { RANK_SHIFT = 24 };
_Static_assert(WINDOW_BYTES == 1ull << RANK_SHIFT, "an offset in shared memory stays below the rank");

/* The block's own memory keeps its plain address, so that pointers to the same place are equal. */
#define OF_RANK(address, to) (((address) & (WINDOW_BYTES - 1)) \
	| ((to) == w->block->rank ? 0 : (uint64_t)((to) + 1) << RANK_SHIFT))
#define RANK_OF(address) ((address) >> RANK_SHIFT ? (uint32_t)((address) >> RANK_SHIFT) - 1 : own)

BINARY_ONE(map_shared_32, u32, u32, u32, OF_RANK(x, y))
BINARY_ONE(map_shared_64, u64, u64, u32, OF_RANK(x, y))
BINARY_ONE(map_generic, u64, u64, u32, SHARED_WINDOW + OF_RANK(x - SHARED_WINDOW, y))

#define RANK(name, type, expression) \
HANDLER(name) \
{ \
	const type *a = REG(type, i->a); \
	uint32_t own = w->block->rank; \
	UNUSED(wide); \
	EACH_IN(mask, l) { \
		const type x = a[l]; \
		REG(u32, i->d)[l] = expression; \
	} \
}
RANK(rank_shared_32, u32, RANK_OF(x))
RANK(rank_shared_64, u64, RANK_OF(x))
RANK(rank_generic, u64, RANK_OF(x - SHARED_WINDOW))

static bool
decode_cluster_barrier(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	UNUSED(mods);
	decode_insn(d)->kind = row->sub ? K_CLUSTER_WAIT : K_CLUSTER_ARRIVE;
	return !s->n_operands || decode_fail(d, "with %u operands", s->n_operands);
}

static const struct row rows[] = {
	DECODED("barrier", ".cluster .arrive .release|.relaxed? .aligned?", decode_cluster_barrier),
	{ .opcode = "barrier", .pattern = ".cluster .wait .acquire? .aligned?", .decode = decode_cluster_barrier, .sub = 1 },
	{ "mapa", ".shared::cluster T", "dT aT bU", .run = { [T_U32] = map_shared_32, [T_U64] = map_shared_64 } },
	{ "mapa", "T", "dT aT bU", .run = { [T_U64] = map_generic } },
	{ "getctarank", ".shared::cluster T", "dU aT", .run = { [T_U32] = rank_shared_32, [T_U64] = rank_shared_64 } },
	{ "getctarank", "T", "dU aT", .run = { [T_U64] = rank_generic } },
};
ROWS(rows_cluster, rows);
