/* Names of types and special registers, and their sizes: the two vocabularies that parser, decoder and
 * messages share. */
#include "ptx/module.h"

static const struct {
	const char *name;
	unsigned bytes;
} types[T_N] = {
	[T_NONE] = { "none", 0 }, [T_PRED] = { "pred", 1 }, [T_B8] = { "b8", 1 }, [T_B16] = { "b16", 2 },
	[T_B32] = { "b32", 4 }, [T_B64] = { "b64", 8 }, [T_B128] = { "b128", 16 }, [T_U8] = { "u8", 1 },
	[T_U16] = { "u16", 2 }, [T_U32] = { "u32", 4 }, [T_U64] = { "u64", 8 }, [T_S8] = { "s8", 1 },
	[T_S16] = { "s16", 2 }, [T_S32] = { "s32", 4 }, [T_S64] = { "s64", 8 }, [T_F16] = { "f16", 2 },
	[T_F16X2] = { "f16x2", 4 }, [T_BF16] = { "bf16", 2 }, [T_BF16X2] = { "bf16x2", 4 }, [T_F32] = { "f32", 4 },
	[T_F64] = { "f64", 8 }, [T_TF32] = { "tf32", 4 }, [T_E4M3X2] = { "e4m3x2", 2 }, [T_E5M2X2] = { "e5m2x2", 2 },
	[T_E4M3] = { "e4m3", 1 }, [T_E5M2] = { "e5m2", 1 }, [T_S4] = { "s4", 0 }, [T_U4] = { "u4", 0 }, [T_B1] = { "b1", 0 },
};

static const char *const specials[SR_N] = {
	[SR_TID_X] = "%tid.x", [SR_TID_Y] = "%tid.y", [SR_TID_Z] = "%tid.z", [SR_NTID_X] = "%ntid.x",
	[SR_NTID_Y] = "%ntid.y", [SR_NTID_Z] = "%ntid.z", [SR_CTAID_X] = "%ctaid.x", [SR_CTAID_Y] = "%ctaid.y",
	[SR_CTAID_Z] = "%ctaid.z", [SR_NCTAID_X] = "%nctaid.x", [SR_NCTAID_Y] = "%nctaid.y",
	[SR_NCTAID_Z] = "%nctaid.z", [SR_LANEID] = "%laneid", [SR_WARPID] = "%warpid", [SR_NWARPID] = "%nwarpid",
	[SR_LANEMASK_EQ] = "%lanemask_eq", [SR_LANEMASK_LT] = "%lanemask_lt", [SR_LANEMASK_LE] = "%lanemask_le",
	[SR_LANEMASK_GT] = "%lanemask_gt", [SR_LANEMASK_GE] = "%lanemask_ge", [SR_SMID] = "%smid",
	[SR_NSMID] = "%nsmid", [SR_GRIDID] = "%gridid", [SR_DYNAMIC_SMEM] = "%dynamic_smem_size",
	[SR_TOTAL_SMEM] = "%total_smem_size", [SR_WARP_SZ] = "WARP_SZ", [SR_CLUSTER_CTARANK] = "%cluster_ctarank",
	[SR_CLUSTER_NCTARANK] = "%cluster_nctarank", [SR_CLUSTER_CTAID_X] = "%cluster_ctaid.x",
	[SR_CLUSTER_CTAID_Y] = "%cluster_ctaid.y", [SR_CLUSTER_CTAID_Z] = "%cluster_ctaid.z",
	[SR_CLUSTER_NCTAID_X] = "%cluster_nctaid.x", [SR_CLUSTER_NCTAID_Y] = "%cluster_nctaid.y",
	[SR_CLUSTER_NCTAID_Z] = "%cluster_nctaid.z", [SR_CLUSTERID_X] = "%clusterid.x", [SR_CLUSTERID_Y] = "%clusterid.y",
	[SR_CLUSTERID_Z] = "%clusterid.z", [SR_NCLUSTERID_X] = "%nclusterid.x", [SR_NCLUSTERID_Y] = "%nclusterid.y",
	[SR_NCLUSTERID_Z] = "%nclusterid.z", [SR_IS_EXPLICIT_CLUSTER] = "%is_explicit_cluster", [SR_ENVREG1] = "%envreg1",
	[SR_ENVREG2] = "%envreg2", [SR_AGGR_SMEM] = "%aggr_smem_size", [SR_RESERVED_BEGIN] = "%reserved_smem_offset_begin",
	[SR_RESERVED_END] = "%reserved_smem_offset_end", [SR_RESERVED_CAP] = "%reserved_smem_offset_cap",
	[SR_RESERVED_0] = "%reserved_smem_offset_0", [SR_RESERVED_1] = "%reserved_smem_offset_1",
	[SR_GRAPH_EXEC] = "%current_graph_exec", [SR_CLOCK] = "%clock", [SR_CLOCK64] = "%clock64",
	[SR_GLOBALTIMER] = "%globaltimer", [SR_CLOCK_HI] = "%clock_hi", [SR_GLOBALTIMER_LO] = "%globaltimer_lo",
	[SR_GLOBALTIMER_HI] = "%globaltimer_hi",
};

enum type
type_find(struct slice name)
{
	if (name.length && name.at[0] == '.')
		name = (struct slice){ name.at + 1, name.length - 1 };
	for (int i = T_PRED; i < T_N; i++)
		if (slice_is(name, types[i].name))
			return (enum type)i;
	return T_NONE;
}

const char *
type_name(enum type type)
{
	return types[type].name;
}

unsigned
type_bytes(enum type type)
{
	return types[type].bytes;
}

bool
type_is_signed(enum type type)
{
	return type == T_S8 || type == T_S16 || type == T_S32 || type == T_S64;
}

enum special
special_find(struct slice name)
{
	if (!name.length || (name.at[0] != '%' && name.at[0] != 'W'))
		return SR_NONE;
	for (int i = SR_NONE + 1; i < SR_N; i++)
		if (slice_is(name, specials[i]))
			return (enum special)i;
	return SR_NONE;
}

unsigned
special_bytes(enum special special)
{
	return special == SR_CLOCK64 || special == SR_GLOBALTIMER || special == SR_GRIDID || special == SR_GRAPH_EXEC ? 8 : 4;
}
