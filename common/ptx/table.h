/* The instruction table: one row for each form of an opcode. It is the single source for decoding, for the
 * list of what is covered (ptx_list_instructions) and for the tests. Rows stand beside their handlers in
 * exec_*.c; to add an instruction, write its handler and a row there. */
#ifndef PTX_TABLE_H
#define PTX_TABLE_H

#include "ptx/machine.h"

/* What the modifiers of one instruction said; 0 is "not given" except where noted. */
enum field {
	M_ROUND,		/* enum rounding */
	M_ROUND_INT,		/* enum rounding, of .rni and so on */
	M_FTZ, M_SAT, M_SATFINITE, M_RELU, M_OOB, M_CC, M_NAN, M_XORSIGN, M_ABS,
	M_COMPARE,		/* enum compare */
	M_BOOL,			/* 1 and, 2 or, 3 xor; also the operation of atom and redux (enum operation) */
	M_HALF,			/* 1 lo, 2 hi, 3 wide */
	M_SPACE,		/* enum ptx_space */
	M_VECTOR,		/* 2, 4, 8 */
	M_VOLATILE,		/* any ordering stronger than weak: ORDER_RELAXED and so on */
	M_SCOPE,		/* SCOPE_BLOCK and so on */
	M_TO,			/* cvta.to */
	M_DIRECTION,		/* shfl, vote, match: by order of the names */
	M_WRAP,			/* shf */
	M_SHIFTAMT,
	M_TRANS,
	M_COUNT,		/* ldmatrix .x1 .x2 .x4 */
	M_LAYOUT_A, M_LAYOUT_B,	/* 1 row, 2 col; in order of appearance */
	M_SHAPE,		/* enum matrix shape */
	M_CACHE,		/* .ca .cg .cs: 1 and up; 2 is .cg */
	M_POLICY,		/* .L2::cache_hint: one more operand, a policy */
	M_N
};
enum rounding { ROUND_NONE, ROUND_RN, ROUND_RZ, ROUND_RM, ROUND_RP, ROUND_RNA };
enum compare {
	CMP_NONE, CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE, CMP_EQU, CMP_NEU, CMP_LTU, CMP_LEU, CMP_GTU, CMP_GEU,
	CMP_NUM, CMP_NAN, CMP_N
};
enum operation {
	OP_NONE, OP_AND, OP_OR, OP_XOR, OP_ADD, OP_MIN, OP_MAX, OP_EXCH, OP_CAS, OP_INC, OP_DEC, OP_POPC
};
enum matrix_shape { MAT_NONE, MAT_M16N8K4, MAT_M16N8K8, MAT_M16N8K16, MAT_M16N16K16, MAT_M32N8K16, MAT_M8N32K16, MAT_M16N16K8,
	MAT_M16N8K32, MAT_M8N8K4, MAT_M8N8K16, MAT_M8N8K32, MAT_M8N8K128, MAT_M16N8K64, MAT_M16N8K128, MAT_M16N8K256 };

struct mods {
	uint8_t field[M_N];
	enum type types[4];
	unsigned n_types;
};

struct decoder;
struct row;
/* Fills the instruction that the decoder is building. False after decode_fail. */
typedef bool decode_row(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s);

struct row {
	const char *opcode;
	/* Modifiers in order, separated by blanks: ".rn|.rz?" is one of them or nothing; "T" is a type that
	 * has a handler in run; several types in a pattern are taken in order into mods.types. */
	const char *pattern;
	/* Operands, separated by blanks: a letter for the role and a type. Roles: d destination, a b c e
	 * sources in order. Types: T the instruction's, W of twice its size, U u32, P a predicate, or a name. NULL
	 * when decode reads them itself. */
	const char *operands;
	decode_row *decode;		/* NULL: by operands and run alone */
	handler *run[T_N];
	handler *run_imm[T_N];		/* the last source is in insn.imm; may be absent */
	uint8_t sub;			/* put in insn.sub */
	bool float_control;		/* .ftz, .rz/.rm/.rp and .sat are done by a wrapper around the handler */
	bool collective;		/* waits for the lanes in the mask of its last source */
	bool any_order;			/* modifiers may stand in any order, as ptxas takes them and libraries write them */
};

struct rows {
	const struct row *rows;
	size_t count;
};
extern const struct rows rows_int, rows_float, rows_half, rows_convert, rows_compare, rows_memory, rows_async, rows_atomic,
	rows_warp, rows_matrix, rows_wmma, rows_cluster, rows_stack, rows_video, rows_control;
/* A row whose decode function reads the operands itself. */
#define DECODED(op, mods, function) { .opcode = op, .pattern = mods, .decode = function }
#define ROWS(name, array) const struct rows name = { array, sizeof array / sizeof *array }

/* The row that an opcode with modifiers means, and what the modifiers said. NULL when there is none. */
const struct row *row_find(struct slice opcode, struct mods *mods);

/* ---- decode.c, for the rows' decode functions */
enum operand_field { F_D, F_A, F_B, F_C, F_E, F_LIST };

struct insn *decode_insn(struct decoder *d);
/* A destination register of `bytes` (1 is a predicate). exact: no wider register will do. Returns the bytes of
 * the register, 0 after decode_fail. O_SINK gives NO_REG where allowed. */
unsigned decode_destination(struct decoder *d, const struct operand *o, unsigned bytes, bool exact, int field);
/* A source: register, immediate, special register or address. Returns its bytes as decode_destination. */
unsigned decode_source(struct decoder *d, const struct operand *o, enum type type, bool exact, int field);
/* A predicate source; its negation goes to insn.negated, bit by field (1 << field). */
bool decode_predicate(struct decoder *d, const struct operand *o, int field);
/* Value of an integer or float immediate in the bits of type. */
bool decode_immediate(const struct operand *o, enum type type, int64_t *bits);
/* [base + offset]: sets a, imm, size of the address register (insn.mode = 4 or 8) and resolves the space. */
bool decode_address(struct decoder *d, const struct operand *o, int base_field, int64_t *offset, unsigned *base_bytes);
/* Room for n more registers in insn.list. */
void decode_list(struct decoder *d, unsigned n);
bool decode_by_operands(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s);
bool decode_flush(struct decoder *d);		/* .ftz: denormal sources are zeros. Always true. */
void decode_pattern(struct decoder *d);		/* gives the instruction a pattern */
bool decode_in_kernel(const struct decoder *d);		/* not in a function that is called */
int64_t decode_param_bytes(const struct decoder *d);		/* of the kernel */
uint32_t decode_current_function(const struct decoder *d);
bool decode_is_predicate(const struct decoder *d, const struct operand *o);
void *decode_alloc(struct decoder *d, size_t bytes);
/* "uses OPCODE, which ..." with the reason; always false. */
bool decode_fail(struct decoder *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool decode_call(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s);
bool decode_branch(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s);
bool decode_branch_table(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s);

#endif
