/* What parse.c makes of PTX text and decode.c reads: functions as lists of statements, names resolved.
 * Everything lives in the module's arena; text slices point into the module's copy of the text. */
#ifndef PTX_MODULE_H
#define PTX_MODULE_H

#include "base/arena.h"
#include "ptx/lex.h"
#include "ptx/ptx.h"

enum limits {
	MAX_TEXT_BYTES = 64 << 20,
	MAX_STATEMENTS = 1000000,		/* in a module */
	MAX_REGISTERS = 1000000,		/* in a function */
	MAX_ALL_REGISTERS = 8000000,		/* in a module */
	MAX_VARIABLES = 200000,			/* in a module */
	MAX_SCOPES = 64,			/* nested */
	MAX_PARAM_BYTES = 32764,		/* of a kernel */
	MAX_CALL_DEPTH = 200			/* return addresses of a thread */
};

/* Fundamental types, in the order of the names in types.c. */
enum type {
	T_NONE, T_PRED, T_B8, T_B16, T_B32, T_B64, T_B128, T_U8, T_U16, T_U32, T_U64, T_S8, T_S16, T_S32, T_S64,
	T_F16, T_F16X2, T_BF16, T_BF16X2, T_F32, T_F64, T_TF32, T_E4M3X2, T_E5M2X2, T_E4M3, T_E5M2, T_S4, T_U4, T_B1,
	T_N
};
/* ".f32" or "f32" gives T_F32; T_NONE when it is no type. */
enum type type_find(struct slice name);
const char *type_name(enum type type);
/* Bytes of a value; 1 for pred, 0 for T_NONE and the sub-byte types. */
unsigned type_bytes(enum type type);
bool type_is_signed(enum type type);

/* Special registers that exist; the order of the names in types.c. */
enum special {
	SR_NONE, SR_TID_X, SR_TID_Y, SR_TID_Z, SR_NTID_X, SR_NTID_Y, SR_NTID_Z, SR_CTAID_X, SR_CTAID_Y, SR_CTAID_Z,
	SR_NCTAID_X, SR_NCTAID_Y, SR_NCTAID_Z, SR_LANEID, SR_WARPID, SR_NWARPID, SR_LANEMASK_EQ, SR_LANEMASK_LT,
	SR_LANEMASK_LE, SR_LANEMASK_GT, SR_LANEMASK_GE, SR_SMID, SR_NSMID, SR_GRIDID, SR_DYNAMIC_SMEM, SR_TOTAL_SMEM,
	SR_WARP_SZ, SR_CLUSTER_CTARANK, SR_CLUSTER_NCTARANK, SR_CLUSTER_CTAID_X, SR_CLUSTER_CTAID_Y, SR_CLUSTER_CTAID_Z,
	SR_CLUSTER_NCTAID_X, SR_CLUSTER_NCTAID_Y, SR_CLUSTER_NCTAID_Z, SR_CLUSTERID_X, SR_CLUSTERID_Y, SR_CLUSTERID_Z,
	SR_NCLUSTERID_X, SR_NCLUSTERID_Y, SR_NCLUSTERID_Z, SR_IS_EXPLICIT_CLUSTER, SR_ENVREG1, SR_ENVREG2,
	SR_AGGR_SMEM, SR_RESERVED_BEGIN, SR_RESERVED_END, SR_RESERVED_CAP, SR_RESERVED_0, SR_RESERVED_1, SR_GRAPH_EXEC,
	SR_CLOCK, SR_CLOCK64, SR_GLOBALTIMER, SR_CLOCK_HI, SR_GLOBALTIMER_LO, SR_GLOBALTIMER_HI,
	SR_N
};
enum special special_find(struct slice name);
unsigned special_bytes(enum special special);

enum storage { IN_REGISTER, IN_GLOBAL, IN_CONST, IN_SHARED, IN_LOCAL, IN_KERNEL_PARAM, IN_CALL_PARAM };

struct relocation {
	uint64_t offset;			/* where in the variable, 8 bytes */
	struct slice name;			/* of a variable or function */
	int64_t addend;
};

struct variable {
	struct slice name;
	enum storage storage;
	enum type type;				/* of an element */
	uint32_t align;
	uint64_t bytes;				/* 0: extern shared array of open size */
	uint32_t registers;			/* IN_REGISTER: how many, 0 for a plain name */
	uint32_t first_register;
	uint32_t index;				/* position in its list */
	bool external;
	uint8_t *init;				/* init_bytes of them, the rest is zero */
	uint64_t init_bytes;
	struct relocation *relocations;
	uint32_t n_relocations;
	uint32_t offset;			/* kernel and call parameters, local: byte offset in their area */
	struct variable *next;
};

enum operand_kind {
	O_REGISTER, O_SPECIAL, O_INTEGER, O_FLOAT, O_VARIABLE, O_FUNCTION, O_NAME, O_VECTOR, O_ADDRESS, O_PAIR, O_SINK,
	O_LIST
};

/* Parts of a register that a video instruction names: 'b' or 'h', how many, and their numbers, the lowest first. */
enum { PART_LETTER = 24, PART_COUNT = 16, PART_DIGIT = 4 };

struct operand {
	enum operand_kind kind;
	bool negated;				/* "!" before a predicate, "-" before a register */
	bool is_double;				/* O_FLOAT: written as a double */
	uint32_t reg;				/* O_REGISTER */
	uint32_t part;				/* O_REGISTER: PART of "%r1.h0" and "%r1.b3210", 0: the whole */
	uint32_t n_items;			/* O_VECTOR, O_LIST, O_PAIR (2), O_ADDRESS (1: the base) */
	int64_t value;				/* O_INTEGER, O_FLOAT (bits of a double or a float), O_ADDRESS (offset),
						 * O_SPECIAL */
	struct slice name;			/* O_NAME, O_FUNCTION */
	struct variable *variable;
	struct function *function;
	struct operand *items;
};

struct location {
	uint32_t file, line;			/* by .loc; file is an index of .file */
	uint32_t inlined_file, inlined_line;	/* 0 when not inlined */
};

struct statement {
	struct slice opcode;			/* with all modifiers: "ld.global.v4.f32" */
	int32_t guard;				/* register, -1 when there is none */
	bool guard_negated;
	uint16_t n_operands;
	struct operand *operands;
	uint32_t line;				/* in the PTX */
	uint32_t scope;
	struct location location;
};

/* A label, a .branchtargets list or a .callprototype; all are found by name and scope. */
struct label {
	struct slice name;
	uint32_t scope, statement;
	struct operand *targets;		/* of .branchtargets */
	uint32_t n_targets;
	bool is_table, is_prototype;
	struct label *same_name;	/* declared before, in another scope */
};

struct function {
	struct slice name;
	bool is_kernel, has_body;
	struct variable *params, *returns;	/* lists in order */
	uint32_t n_params, n_returns;
	struct statement *statements;
	uint32_t n_statements, cap_statements;
	uint8_t *register_types;		/* enum type of each register */
	uint32_t n_registers, cap_registers;
	struct names *labels;			/* name to struct label, NULL when there are none */
	uint32_t *scope_parents;		/* scope number to the one around it */
	uint32_t n_scopes;
	uint32_t call_param_bytes;		/* area of .param variables, own and for calls, for each thread */
	uint32_t local_bytes;			/* area of .local variables, for each thread */
	uint32_t line;
	uint32_t number;			/* in the order of the text; its address follows from it */
	bool addressed;				/* its address is taken somewhere: calls through pointers may be to it */
	struct function *next_addressed;
	struct ptx_kernel public;		/* for kernels */
	struct function *next;
};

struct ptx_module {
	struct arena arena;
	char *text;
	size_t text_bytes;
	struct function *functions;		/* list in order of the text, without bodiless repeats */
	struct function *addressed;
	struct function **kernels;
	size_t n_kernels;
	struct variable **variables;		/* global and constant, in order */
	struct ptx_symbol *symbols;		/* parallel */
	size_t n_variables;
	char **files;				/* by .file index, NULL where none */
	uint32_t n_files;
	uint32_t n_statements, n_declared;
	uint64_t n_registers;
	struct names *function_names, *variable_names;
};

/* The label that a statement in `scope` means by name, or NULL. */
const struct label *function_label(const struct function *function, struct slice name, uint32_t scope);
struct function *module_function(const struct ptx_module *module, struct slice name);
struct variable *module_variable(const struct ptx_module *module, struct slice name);

#endif
