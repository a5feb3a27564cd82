/* In: an opcode with its modifiers. Out: the row of the instruction table that it means, and the modifiers
 * as fields. A row's pattern lists the modifiers in order, so that what no row spells is refused. */
#include "ptx/table.h"

#include <string.h>

enum { MAX_MODS = 20 };

static const struct {
	const char *word;
	uint8_t field, value;
} dictionary[] = {
	{ ".rn", M_ROUND, ROUND_RN }, { ".rz", M_ROUND, ROUND_RZ }, { ".rm", M_ROUND, ROUND_RM }, { ".rp", M_ROUND, ROUND_RP },
	{ ".rna", M_ROUND, ROUND_RNA }, { ".rni", M_ROUND_INT, ROUND_RN }, { ".rzi", M_ROUND_INT, ROUND_RZ },
	{ ".rmi", M_ROUND_INT, ROUND_RM }, { ".rpi", M_ROUND_INT, ROUND_RP }, { ".ftz", M_FTZ, 1 }, { ".sat", M_SAT, 1 },
	{ ".satfinite", M_SATFINITE, 1 }, { ".oob", M_OOB, 1 }, { ".relu", M_RELU, 1 }, { ".cc", M_CC, 1 }, { ".NaN", M_NAN, 1 },
	{ ".xorsign", M_XORSIGN, 1 }, { ".abs", M_ABS, 1 }, { ".eq", M_COMPARE, CMP_EQ }, { ".ne", M_COMPARE, CMP_NE },
	{ ".lt", M_COMPARE, CMP_LT }, { ".le", M_COMPARE, CMP_LE }, { ".gt", M_COMPARE, CMP_GT }, { ".ge", M_COMPARE, CMP_GE },
	{ ".lo", M_HALF, 1 }, { ".hi", M_HALF, 2 }, { ".wide", M_HALF, 3 }, { ".ls", M_COMPARE, CMP_LE },
	{ ".hs", M_COMPARE, CMP_GE }, { ".equ", M_COMPARE, CMP_EQU }, { ".neu", M_COMPARE, CMP_NEU },
	{ ".ltu", M_COMPARE, CMP_LTU }, { ".leu", M_COMPARE, CMP_LEU }, { ".gtu", M_COMPARE, CMP_GTU },
	{ ".geu", M_COMPARE, CMP_GEU }, { ".num", M_COMPARE, CMP_NUM }, { ".nan", M_COMPARE, CMP_NAN },
	{ ".and", M_BOOL, OP_AND }, { ".or", M_BOOL, OP_OR }, { ".xor", M_BOOL, OP_XOR }, { ".add", M_BOOL, OP_ADD },
	{ ".min", M_BOOL, OP_MIN }, { ".max", M_BOOL, OP_MAX }, { ".exch", M_BOOL, OP_EXCH }, { ".cas", M_BOOL, OP_CAS },
	{ ".inc", M_BOOL, OP_INC }, { ".dec", M_BOOL, OP_DEC }, { ".popc", M_BOOL, OP_POPC },
	{ ".global", M_SPACE, PTX_SPACE_GLOBAL }, { ".shared", M_SPACE, PTX_SPACE_SHARED },
	{ ".shared::cta", M_SPACE, PTX_SPACE_SHARED }, { ".shared::cluster", M_SPACE, PTX_SPACE_SHARED },
	{ ".local", M_SPACE, PTX_SPACE_LOCAL },
	{ ".const", M_SPACE, PTX_SPACE_CONST }, { ".param", M_SPACE, PTX_SPACE_PARAM },
	{ ".param::entry", M_SPACE, PTX_SPACE_PARAM }, { ".param::func", M_SPACE, PTX_SPACE_PARAM },
	{ ".v2", M_VECTOR, 2 }, { ".v4", M_VECTOR, 4 }, { ".v8", M_VECTOR, 8 }, { ".volatile", M_VOLATILE, ORDER_RELAXED },
	{ ".relaxed", M_VOLATILE, ORDER_RELAXED }, { ".acquire", M_VOLATILE, ORDER_ACQUIRE },
	{ ".release", M_VOLATILE, ORDER_RELEASE }, { ".acq_rel", M_VOLATILE, ORDER_BOTH }, { ".sc", M_VOLATILE, ORDER_BOTH },
	{ ".cta", M_SCOPE, SCOPE_BLOCK }, { ".cluster", M_SCOPE, SCOPE_CLUSTER }, { ".gpu", M_SCOPE, SCOPE_GRID },
	{ ".gl", M_SCOPE, SCOPE_GRID }, { ".sys", M_SCOPE, SCOPE_GRID }, { ".mmio", M_VOLATILE, 1 }, { ".to", M_TO, 1 },
	{ ".up", M_DIRECTION, 1 },
	{ ".down", M_DIRECTION, 2 }, { ".bfly", M_DIRECTION, 3 }, { ".idx", M_DIRECTION, 4 }, { ".any", M_DIRECTION, 1 },
	{ ".all", M_DIRECTION, 2 }, { ".uni", M_DIRECTION, 3 }, { ".ballot", M_DIRECTION, 4 }, { ".l", M_DIRECTION, 1 },
	{ ".r", M_DIRECTION, 2 }, { ".wrap", M_WRAP, 1 }, { ".clamp", M_WRAP, 2 }, { ".shiftamt", M_SHIFTAMT, 1 },
	{ ".f4e", M_WRAP, 1 }, { ".b4e", M_WRAP, 2 }, { ".rc8", M_WRAP, 3 }, { ".ecl", M_WRAP, 4 }, { ".ecr", M_WRAP, 5 },
	{ ".rc16", M_WRAP, 6 }, { ".trans", M_TRANS, 1 }, { ".x1", M_COUNT, 1 }, { ".x2", M_COUNT, 2 }, { ".x4", M_COUNT, 4 },
	{ ".m16n8k4", M_SHAPE, MAT_M16N8K4 }, { ".m16n8k8", M_SHAPE, MAT_M16N8K8 }, { ".m16n8k16", M_SHAPE, MAT_M16N8K16 },
	{ ".m16n16k16", M_SHAPE, MAT_M16N16K16 }, { ".m32n8k16", M_SHAPE, MAT_M32N8K16 },
	{ ".m8n32k16", M_SHAPE, MAT_M8N32K16 }, { ".m16n16k8", M_SHAPE, MAT_M16N16K8 },
	{ ".m16n8k32", M_SHAPE, MAT_M16N8K32 }, { ".m8n8k4", M_SHAPE, MAT_M8N8K4 },
	{ ".m8n8k16", M_SHAPE, MAT_M8N8K16 }, { ".m8n8k32", M_SHAPE, MAT_M8N8K32 }, { ".m8n8k128", M_SHAPE, MAT_M8N8K128 },
	{ ".m16n8k64", M_SHAPE, MAT_M16N8K64 }, { ".m16n8k128", M_SHAPE, MAT_M16N8K128 }, { ".m16n8k256", M_SHAPE, MAT_M16N8K256 },
	{ ".ca", M_CACHE, 1 }, { ".cg", M_CACHE, 2 }, { ".L2::cache_hint", M_POLICY, 1 },
};

static const struct rows *const segments[] = {
	&rows_int, &rows_float, &rows_half, &rows_convert, &rows_compare, &rows_memory, &rows_async, &rows_atomic, &rows_warp,
	&rows_matrix, &rows_wmma, &rows_cluster, &rows_stack, &rows_video, &rows_control,
};
enum { N_SEGMENTS = sizeof segments / sizeof *segments };

static void
apply_word(struct mods *mods, struct slice word)
{
	enum type type = type_find(word);
	if (type && mods->n_types < 4)
		mods->types[mods->n_types++] = type;
	if (slice_is(word, ".row") || slice_is(word, ".col")) {
		uint8_t layout = word.at[1] == 'r' ? 1 : 2;
		mods->field[mods->field[M_LAYOUT_A] ? M_LAYOUT_B : M_LAYOUT_A] = layout;
	}
	for (size_t i = 0; i < sizeof dictionary / sizeof *dictionary; i++)
		if (slice_is(word, dictionary[i].word)) {
			mods->field[dictionary[i].field] = dictionary[i].value;
			return;
		}
}

/* Does one of the alternatives of a pattern's item, such as ".rn|.rz?", equal the word? */
static bool
item_matches(const char *item, size_t length, struct slice word, const struct row *row)
{
	if (length == 1 && *item == 'T') {
		enum type type = type_find(word);
		return type && row->run[type];
	}
	for (size_t start = 0; start < length;) {
		const char *bar = memchr(item + start, '|', length - start);
		size_t end = bar ? (size_t)(bar - item) : length;
		if (end - start == word.length && !memcmp(item + start, word.at, word.length))
			return true;
		start = end + 1;
	}
	return false;
}

/* The word that an item takes: the next, or the first left that suits; n_words when there is none. */
static size_t
find_word(const char *item, size_t length, const struct row *row, const struct slice *words, size_t n_words, uint32_t used)
{
	for (size_t k = 0; k < n_words; k++) {
		if (used >> k & 1)
			continue;
		if (item_matches(item, length, words[k], row))
			return k;
		if (!row->any_order)
			break;
	}
	return n_words;
}

static bool
row_matches(const struct row *row, const struct slice *words, size_t n_words, struct mods *mods)
{
	const char *p = row->pattern + strspn(row->pattern, " ");
	uint32_t used = 0;
	memset(mods, 0, sizeof *mods);
	while (*p) {
		size_t length = strcspn(p, " ");
		bool optional = p[length - 1] == '?';
		size_t k = find_word(p, length - optional, row, words, n_words, used);
		if (k < n_words) {
			apply_word(mods, words[k]);
			used |= 1u << k;
		} else if (!optional) {
			return false;
		}
		p += length;
		p += strspn(p, " ");
	}
	return used == (1u << n_words) - 1;
}

const struct row *
row_find(struct slice opcode, struct mods *mods)
{
	struct slice words[MAX_MODS];
	size_t n_words = 0;
	uint32_t head = 0;
	while (head < opcode.length && opcode.at[head] != '.')
		head++;
	for (uint32_t at = head; at < opcode.length;) {
		uint32_t end = at + 1;
		while (end < opcode.length && opcode.at[end] != '.')
			end++;
		if (n_words == MAX_MODS)
			return NULL;
		words[n_words++] = (struct slice){ opcode.at + at, end - at };
		at = end;
	}
	for (size_t s = 0; s < N_SEGMENTS; s++)
		for (size_t r = 0; r < segments[s]->count; r++) {
			const struct row *row = &segments[s]->rows[r];
			if (!strncmp(row->opcode, opcode.at, head) && !row->opcode[head]
				&& row_matches(row, words, n_words, mods))
				return row;
		}
	return NULL;
}

static void
list_row(const struct row *row, struct buf *out)
{
	bool typed = false;

	buf_addf(out, "%s\t%s\t%s", row->opcode, row->pattern, row->operands ? row->operands : "");
	for (int t = 0; t < T_N; t++)
		if (row->run[t] && strchr(row->pattern, 'T')) {
			buf_addf(out, "%s%s", typed ? " " : "\t", type_name((enum type)t));
			typed = true;
		}
	buf_addc(out, '\n');
}

void
ptx_list_instructions(struct buf *out)
{
	for (size_t s = 0; s < N_SEGMENTS; s++)
		for (size_t r = 0; r < segments[s]->count; r++)
			list_row(&segments[s]->rows[r], out);
}
