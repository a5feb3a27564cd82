/* In: a parsed kernel. Out: an image, its instructions decoded against the instruction table, with registers
 * as slots of the warp's frame. Functions are decoded callees first. Within a function decode makes drafts in
 * the order of the text with virtual registers; layout.c then orders the blocks and shares slots. */
#include "ptx/decode.h"
#include "ptx/provenance.h"

#include <stdarg.h>
#include <string.h>

#include "base/die.h"

enum { MAX_CONSTANTS = 200000 };

/* ---- messages */

bool
decode_fail(struct decoder *d, const char *format, ...)
{
	if (d->failed || !d->err) {
		d->failed = true;
		return false;
	}
	struct buf reason = BUF_INIT;
	const struct statement *s = d->statement;
	const struct ptx_module *m = d->module;
	va_list args;
	va_start(args, format);
	buf_vaddf(&reason, format, args);
	va_end(args);
	d->failed = true;
	const struct function *k = d->image->kernel;
	buf_addf(d->err, "Kernel %.*s uses ", (int)k->name.length, k->name.at);
	if (s)
		buf_addf(d->err, "%.*s, ", (int)(s->opcode.length > 80 ? 80 : s->opcode.length), s->opcode.at);
	buf_addf(d->err, "%s", buf_str(&reason));
	if (s) {
		buf_addf(d->err, " (line %u of the PTX", s->line);
		const char *file = s->location.line && s->location.file < m->n_files ? m->files[s->location.file] : NULL;
		const char *slash = file ? strrchr(file, '/') : NULL;
		if (file)
			buf_addf(d->err, ", %s:%u", slash ? slash + 1 : file, s->location.line);
		buf_adds(d->err, ")");
	}
	buf_adds(d->err, ".");
	buf_release(&reason);
	return false;
}

/* ---- drafts */

void *
decode_alloc(struct decoder *d, size_t bytes)
{
	return arena_alloc(&d->image->arena, bytes);
}

struct insn *
decode_insn(struct decoder *d)
{
	return &d->drafts[d->n_drafts - 1];
}

bool
decode_in_kernel(const struct decoder *d)
{
	return d->function->is_kernel;
}

int64_t
decode_param_bytes(const struct decoder *d)
{
	return d->image->kernel->public.params_bytes;
}

uint32_t
decode_current_function(const struct decoder *d)
{
	return d->current;
}

bool
decode_is_predicate(const struct decoder *d, const struct operand *o)
{
	return o->kind == O_REGISTER && d->function->register_types[o->reg] == T_PRED;
}

static void
new_draft(struct decoder *d, const struct statement *s)
{
	if (d->n_drafts == d->cap_drafts) {
		d->cap_drafts = d->cap_drafts ? d->cap_drafts * 2 : 256;
		d->drafts = xrealloc(d->drafts, d->cap_drafts * sizeof *d->drafts);
		d->draft_statements = xrealloc(d->draft_statements, d->cap_drafts * sizeof *d->draft_statements);
	}
	struct insn *i = &d->drafts[d->n_drafts];
	d->draft_statements[d->n_drafts++] = s;
	memset(i, 0, sizeof *i);
	i->d = i->a = i->b = i->c = i->e = i->guard = NO_REG;
}

static void
add_use(struct decoder *d, uint32_t reg, int field, bool definition)
{
	if (d->n_uses == d->cap_uses) {
		d->cap_uses = d->cap_uses ? d->cap_uses * 2 : 1024;
		d->uses = xrealloc(d->uses, d->cap_uses * sizeof *d->uses);
	}
	d->uses[d->n_uses++] = (struct use){ d->n_drafts - 1, reg, (uint16_t)field, definition };
}

void
decode_list(struct decoder *d, unsigned n)
{
	struct insn *i = decode_insn(d);
	i->list = decode_alloc(d, n * sizeof *i->list);
	for (unsigned k = 0; k < n; k++)
		i->list[k] = NO_REG;
}

void
decode_pattern(struct decoder *d)
{
	decode_insn(d)->target = d->image->n_patterns++;
}

static uint32_t
constant(struct decoder *d, uint64_t bits, uint32_t bytes, enum special special, bool predicate)
{
	struct image *im = d->image;
	uint32_t hash = (uint32_t)(bits * 0x9e3779b97f4a7c15u >> 40) + bytes * 7 + (uint32_t)special * 131 + predicate;
	for (uint32_t n = 0;; n++) {
		uint32_t *slot = &d->constant_table[(hash + n) % CONSTANT_TABLE];
		struct constant *c = *slot ? &im->constants[*slot - 1] : NULL;
		if (c && c->bits == bits && c->bytes == bytes && c->special == special && c->predicate == predicate)
			return CONSTANT_BIT | (*slot - 1);
		if (c)
			continue;
		if (im->n_constants == MAX_CONSTANTS) {
			decode_fail(d, "and has more than %d constants", MAX_CONSTANTS);
			return CONSTANT_BIT;
		}
		if (im->n_constants == d->cap_constants) {
			d->cap_constants = d->cap_constants ? d->cap_constants * 2 : 64;
			im->constants = xrealloc(im->constants, d->cap_constants * sizeof *im->constants);
		}
		im->constants[im->n_constants++] = (struct constant){ bits, bytes, 0, special, predicate };
		*slot = im->n_constants;
		return CONSTANT_BIT | (*slot - 1);
	}
}

/* ---- operands */

static unsigned
register_bytes(const struct decoder *d, uint32_t reg)
{
	return type_bytes((enum type)d->function->register_types[reg]);
}

unsigned
decode_destination(struct decoder *d, const struct operand *o, unsigned bytes, bool exact, int field)
{
	if (o->kind == O_SINK)
		return bytes;
	if (o->kind != O_REGISTER || o->negated) {
		decode_fail(d, "with a destination that is no register");
		return 0;
	}
	if (o->part) {
		decode_fail(d, "with a part of a register");
		return 0;
	}
	unsigned have = register_bytes(d, o->reg);
	if (exact ? have != bytes : have < bytes || have == 1) {
		decode_fail(d, "with a destination register of %u bits for a value of %u", have * 8, bytes * 8);
		return 0;
	}
	add_use(d, o->reg, field, true);
	return have;
}

bool
decode_immediate(const struct operand *o, enum type type, int64_t *bits)
{
	if (o->kind == O_INTEGER) {
		*bits = o->value;
		if (type == T_F32 || type == T_F64)
			return o->value == 0;
		return true;
	}
	if (o->kind != O_FLOAT)
		return false;
	double wide;
	float narrow;
	uint32_t narrow_bits = (uint32_t)o->value;
	if (o->is_double) {
		memcpy(&wide, &o->value, 8);
		narrow = (float)wide;
		memcpy(&narrow_bits, &narrow, 4);
	} else {
		memcpy(&narrow, &narrow_bits, 4);
		wide = narrow;
	}
	if (type_bytes(type) == 8)
		memcpy(bits, &wide, 8);
	else
		*bits = narrow_bits;
	return type_bytes(type) >= 4;
}

static uint32_t
function_index(const struct decoder *d, const struct function *f)
{
	for (uint32_t k = 0; k < d->image->n_functions; k++)
		if (d->image->functions[k].function == f)
			return k;
	return 0;
}

/* The address that a variable's name stands for. Locals are relative to the local pointer. */
static bool
variable_address(struct decoder *d, const struct variable *v, uint64_t *address)
{
	struct image *im = d->image;
	switch (v->storage) {
	case IN_GLOBAL:
	case IN_CONST:
		*address = d->symbol_addresses ? d->symbol_addresses[v->index] : 0x310000000000ull;
		if (!*address)
			return decode_fail(d, "with variable %.*s, which has no address", (int)v->name.length, v->name.at);
		return true;
	case IN_SHARED:
		for (uint32_t k = 0; k < im->n_shared; k++)
			if (im->shared[k].variable == v) {
				*address = im->shared[k].offset;
				return true;
			}
		return decode_fail(d, "with a shared variable that was not found");
	case IN_LOCAL:
	case IN_KERNEL_PARAM:
	case IN_CALL_PARAM:
		*address = v->offset;
		return true;
	case IN_REGISTER:
		break;
	}
	return decode_fail(d, "with a register as an address");
}

static unsigned
name_source(struct decoder *d, const struct operand *o, enum type type, int field)
{
	const struct function *f = module_function(d->module, o->name);
	const struct variable *v = o->kind == O_VARIABLE ? o->variable : f ? NULL : module_variable(d->module, o->name);
	uint64_t address = 0;
	if (!v && !f)
		return decode_fail(d, "with an unknown name, %.*s", (int)o->name.length, o->name.at);
	if (type_bytes(type) < 4)
		return decode_fail(d, "with an address in less than 32 bits");
	if (f && !(address = function_address(f)))
		return decode_fail(d, "with the address of %.*s, which has no body", (int)o->name.length, o->name.at);
	if (v && !variable_address(d, v, &address))
		return 0;
	address += (uint64_t)o->value;		/* "name+8" */
	if (v && v->storage == IN_LOCAL) {
		decode_insn(d)->imm = (int64_t)address;
		d->local_source = true;
		add_use(d, d->local_pointer, field, false);
		return 8;
	}
	add_use(d, constant(d, address, type_bytes(type), SR_NONE, false), field, false);
	return type_bytes(type);
}

unsigned
decode_source(struct decoder *d, const struct operand *o, enum type type, bool exact, int field)
{
	unsigned bytes = type_bytes(type);
	int64_t bits;
	if (o->negated) {
		decode_fail(d, "with a negated source");
		return 0;
	}
	if (o->part) {
		decode_fail(d, "with a part of a register");
		return 0;
	}
	if (o->kind == O_REGISTER) {
		unsigned have = register_bytes(d, o->reg);
		if (exact ? have != bytes : have < bytes || have == 1) {
			decode_fail(d, "with a source register of %u bits for a value of %u", have * 8, bytes * 8);
			return 0;
		}
		add_use(d, o->reg, field, false);
		return have;
	}
	if (o->kind == O_SPECIAL) {
		unsigned have = special_bytes((enum special)o->value);
		if (o->value >= SR_CLOCK) {
			decode_fail(d, "with a clock outside of mov");
			return 0;
		}
		if (exact && have != bytes) {		/* mov.u32 of %clock64 and the like: the low half */
			decode_fail(d, "with a special register of another size");
			return 0;
		}
		add_use(d, constant(d, 0, have, (enum special)o->value, false), field, false);
		return have;
	}
	if (o->kind == O_VARIABLE || o->kind == O_NAME)
		return name_source(d, o, type, field);
	if (!decode_immediate(o, type, &bits)) {
		decode_fail(d, "with a source that does not fit its type");
		return 0;
	}
	if (bytes < 8)
		bits &= (1ll << bytes * 8) - 1;
	add_use(d, constant(d, (uint64_t)bits, bytes, SR_NONE, false), field, false);
	return bytes;
}

bool
decode_predicate(struct decoder *d, const struct operand *o, int field)
{
	if (o->kind == O_INTEGER && !o->negated) {
		add_use(d, constant(d, o->value ? FULL : 0, 4, SR_NONE, true), field, false);
		return true;
	}
	if (o->kind == O_SPECIAL && o->value == SR_IS_EXPLICIT_CLUSTER && !o->negated) {
		add_use(d, constant(d, 0, 4, SR_IS_EXPLICIT_CLUSTER, true), field, false);
		return true;
	}
	if (o->kind != O_REGISTER || d->function->register_types[o->reg] != T_PRED)
		return decode_fail(d, "with a source that is no predicate");
	if (o->negated)
		decode_insn(d)->negated |= (uint16_t)(1 << field);
	add_use(d, o->reg, field, false);
	return true;
}

bool
decode_address(struct decoder *d, const struct operand *o, int base_field, int64_t *offset, unsigned *base_bytes)
{
	if (o->kind != O_ADDRESS || o->n_items != 1)
		return decode_fail(d, "with an operand that is no address");
	const struct operand *base = o->items;
	struct operand named = *base;
	*offset = o->value;
	*base_bytes = 8;
	if (base->kind == O_NAME && (named.variable = module_variable(d->module, base->name)))
		named.kind = O_VARIABLE;
	if (base->kind == O_REGISTER) {
		*base_bytes = register_bytes(d, base->reg);
		if ((*base_bytes != 4 && *base_bytes != 8) || base->negated)
			return decode_fail(d, "with an address in a register of %u bits", *base_bytes * 8);
		add_use(d, base->reg, base_field, false);
		return true;
	}
	if (named.kind == O_INTEGER) {
		*offset = (int64_t)((uint64_t)*offset + (uint64_t)named.value);
		return true;
	}
	uint64_t address;
	if (named.kind != O_VARIABLE)
		return decode_fail(d, "with an address that is no register and no variable");
	if (!variable_address(d, named.variable, &address))
		return false;
	if (named.variable->storage == IN_LOCAL)
		add_use(d, d->local_pointer, base_field, false);
	*offset = (int64_t)((uint64_t)*offset + address);
	struct insn *i = decode_insn(d);
	static const uint8_t spaces[] = { [IN_GLOBAL] = PTX_SPACE_GLOBAL, [IN_CONST] = PTX_SPACE_CONST,
		[IN_SHARED] = PTX_SPACE_SHARED, [IN_LOCAL] = PTX_SPACE_LOCAL, [IN_KERNEL_PARAM] = PTX_SPACE_PARAM,
		[IN_CALL_PARAM] = PTX_SPACE_PARAM };
	if (i->space == PTX_SPACE_GENERIC)
		i->space = spaces[named.variable->storage];
	return true;
}

/* ---- rows that are described by their operands alone */

static enum type
operand_type(const char *code, size_t length, enum type type)
{
	static const enum type wide[T_N] = { [T_U16] = T_U32, [T_S16] = T_S32, [T_U32] = T_U64, [T_S32] = T_S64 };
	if (length == 1)
		switch (*code) {
		case 'T':
			return type;
		case 'W':
			return wide[type];
		case 'U':
			return T_U32;
		case 'P':
			return T_PRED;
		}
	return type_find((struct slice){ code, (uint32_t)length });
}

static void
set_float_control(struct insn *i, const struct mods *mods, enum type type)
{
	bool round = mods->field[M_ROUND] > ROUND_RN;
	if (!round && !mods->field[M_FTZ] && !mods->field[M_SAT])
		return;
	i->inner = i->run;
	i->run = float_control;
	i->mode = mods->field[M_ROUND];
	i->flag = (uint8_t)(mods->field[M_FTZ] | mods->field[M_SAT] << 1);
	i->size = (uint8_t)type;
}

bool
decode_flush(struct decoder *d)
{
	struct insn *i = decode_insn(d);
	i->inner = i->run;
	i->run = flush_sources;
	return true;
}

bool
decode_by_operands(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	enum type type = mods->n_types ? mods->types[mods->n_types - 1] : T_B32;
	struct insn *i = decode_insn(d);
	const char *p = row->operands ? row->operands : "";
	unsigned k = 0;
	i->run = row->run[type] ? row->run[type] : row->run[T_NONE];
	i->sub = row->sub;
	while (*p) {
		size_t length = strcspn(p, " ");
		const char *role = strchr("dabce", *p);
		if (k >= s->n_operands)
			return decode_fail(d, "with %u operands", s->n_operands);
		const struct operand *o = &s->operands[k++];
		enum type t = operand_type(p + 1, length - 1, type);
		int field = (int)(role - "dabce");
		int64_t bits;
		bool last = !p[length];
		if (field == F_D && t != T_PRED) {
			if (o->kind == O_SINK)
				return decode_fail(d, "without a destination");
			if (!decode_destination(d, o, type_bytes(t), true, field))
				return false;
		} else if (field == F_D) {
			if (!decode_destination(d, o, 1, true, field))
				return false;
		} else if (t == T_PRED) {
			if (!decode_predicate(d, o, field))
				return false;
		} else if (last && row->run_imm[type] && decode_immediate(o, t, &bits)) {
			i->run = row->run_imm[type];
			i->imm = bits;
		} else if (!decode_source(d, o, t, true, field)) {
			return false;
		}
		p += length;
		p += strspn(p, " ");
	}
	if (k != s->n_operands)
		return decode_fail(d, "with %u operands", s->n_operands);
	if (row->float_control)
		set_float_control(i, mods, type);
	if (row->collective)
		i->kind = K_COLLECTIVE;
	return i->run != NULL || decode_fail(d, "which has no handler");
}

/* ---- control flow */

static bool
branch_target(struct decoder *d, const struct operand *o, uint32_t scope, uint32_t *target)
{
	const struct label *l = o->kind == O_NAME ? function_label(d->function, o->name, scope) : NULL;
	if (!l || l->is_table || l->is_prototype)
		return decode_fail(d, "with a label that is not there");
	*target = l->statement;
	return true;
}

bool
decode_branch(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	UNUSED(row);
	UNUSED(mods);
	struct insn *i = decode_insn(d);
	i->kind = K_BRANCH;
	return s->n_operands == 1 ? branch_target(d, &s->operands[0], s->scope, &i->target)
		: decode_fail(d, "with %u operands", s->n_operands);
}

bool
decode_branch_table(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	UNUSED(row);
	UNUSED(mods);
	struct insn *i = decode_insn(d);
	const struct label *l;
	if (s->n_operands != 2 || s->operands[1].kind != O_NAME
		|| !(l = function_label(d->function, s->operands[1].name, s->scope)) || !l->is_table)
		return decode_fail(d, "without its list of targets");
	if (l->n_targets > 4096)
		return decode_fail(d, "with more than 4096 targets");
	if (!decode_source(d, &s->operands[0], T_U32, true, F_A))
		return false;
	i->kind = K_BRANCH_TABLE;
	i->imm = l->n_targets;
	decode_list(d, l->n_targets);
	for (uint32_t k = 0; k < l->n_targets; k++)
		if (!branch_target(d, &l->targets[k], l->scope, &i->list[k]))
			return false;
	return true;
}

static bool
call_arguments(struct decoder *d, const struct operand *list, const struct variable *formal, bool returns,
	struct call_argument *out, uint32_t count, bool known)
{
	for (uint32_t k = 0; k < count; k++) {
		const struct operand *o = &list->items[k];
		if (o->kind != O_VARIABLE || o->variable->storage != IN_CALL_PARAM)
			return decode_fail(d, "with an argument that is no .param variable");
		uint32_t mine = o->variable->offset, theirs = known ? formal->offset : 0;
		uint32_t bytes = (uint32_t)o->variable->bytes;
		if (known && formal->bytes != bytes)
			return decode_fail(d, "with an argument of %u bytes for a parameter of %u", bytes, (unsigned)formal->bytes);
		out[k] = returns ? (struct call_argument){ theirs, mine, bytes } : (struct call_argument){ mine, theirs, bytes };
		if (known)
			formal = formal->next;
	}
	return true;
}

static bool
builtin_call(struct decoder *d, struct slice name, const struct operand *args, const struct operand *rets)
{
	static const struct {
		const char *name;
		handler *run;
		uint32_t n;
	} builtins[] = { { "vprintf", print_call, 2 }, { "__assertfail", assert_call, 5 } };
	for (size_t b = 0; b < sizeof builtins / sizeof *builtins; b++) {
		if (!slice_is(name, builtins[b].name))
			continue;
		uint32_t n = builtins[b].n;
		if (!args || args->n_items != n || (rets && rets->n_items > 1))
			return decode_fail(d, "of %s with other arguments than it has", builtins[b].name);
		struct insn *i = decode_insn(d);
		i->run = builtins[b].run;
		i->sub = (uint8_t)n;
		i->imm = d->current;
		decode_list(d, n + 1);
		for (uint32_t k = 0; k <= n; k++) {
			const struct operand *o = k < n ? &args->items[k] : rets && rets->n_items ? &rets->items[0] : NULL;
			if (o && (o->kind != O_VARIABLE || o->variable->storage != IN_CALL_PARAM))
				return decode_fail(d, "with an argument that is no .param variable");
			i->list[k] = o ? o->variable->offset : NO_REG;
		}
		return true;
	}
	return decode_fail(d, "of %.*s, which the PTX machine does not provide", (int)name.length, name.at);
}

/* call{.uni} [(returns),] function or pointer [, (arguments)] [, prototype] */
bool
decode_call(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	UNUSED(row);
	UNUSED(mods);
	uint16_t n = s->n_operands, k = 0;
	const struct operand *o = s->operands, *rets = NULL, *args = NULL;
	if (k < n && o[k].kind == O_LIST)
		rets = &o[k++];
	if (k >= n || (o[k].kind != O_NAME && o[k].kind != O_REGISTER))
		return decode_fail(d, "without a function");
	const struct operand *target = &o[k++];
	if (k < n && o[k].kind == O_LIST)
		args = &o[k++];
	bool pointer = target->kind == O_REGISTER;
	const struct function *f = pointer ? NULL : module_function(d->module, target->name);
	if (!pointer && (!f || !f->has_body))
		return builtin_call(d, target->name, args, rets);
	struct call_site *call = decode_alloc(d, sizeof *call);
	call->n_arguments = args ? args->n_items : 0;
	call->n_returns = rets ? rets->n_items : 0;
	call->caller = d->current;
	call->callee = f ? function_index(d, f) : 0;
	call->arguments = decode_alloc(d, (call->n_arguments + 1) * sizeof *call->arguments);
	call->returns = decode_alloc(d, (call->n_returns + 1) * sizeof *call->returns);
	if (f && (f->is_kernel || f->n_params != call->n_arguments || f->n_returns != call->n_returns))
		return decode_fail(d, "with other arguments than its function has");
	if ((args && !call_arguments(d, args, f ? f->params : NULL, false, call->arguments, args->n_items, f != NULL))
		|| (rets && !call_arguments(d, rets, f ? f->returns : NULL, true, call->returns, rets->n_items, f != NULL)))
		return false;
	if (pointer && !decode_source(d, target, T_U64, true, F_A))
		return false;
	struct insn *i = decode_insn(d);
	i->kind = pointer ? K_CALL_POINTER : K_CALL;
	i->call = call;
	return true;
}

/* ---- functions */

static bool
decode_statement(struct decoder *d, const struct statement *s)
{
	struct mods mods;
	d->statement = s;
	const struct row *row = row_find(s->opcode, &mods);
	if (!row)
		return decode_fail(d, "which the PTX machine does not support");
	new_draft(d, s);
	d->local_source = false;
	if (s->guard >= 0) {
		add_use(d, (uint32_t)s->guard, F_GUARD, false);
		decode_insn(d)->guard_negated = s->guard_negated;
	}
	if (!(row->decode ? row->decode : decode_by_operands)(d, row, &mods, s))
		return false;
	/* the address of a local variable is known to mov alone, which adds it to the local pointer */
	if (d->local_source && decode_insn(d)->run != move_local)
		return decode_fail(d, "with the address of a local variable");
	if (d->cap_drafts > MAX_STATEMENTS * 2)
		return decode_fail(d, "in a function that is too long");
	return true;
}

static bool
decode_function(struct decoder *d, uint32_t index)
{
	d->current = index;
	d->function = d->image->functions[index].function;
	d->n_drafts = d->n_uses = 0;
	d->local_pointer = d->function->n_registers;
	uint32_t *starts = xmalloc((d->function->n_statements + 2) * sizeof *starts);
	for (uint32_t k = 0; k < d->function->n_statements; k++) {
		starts[k] = d->n_drafts;
		if (!decode_statement(d, &d->function->statements[k])) {
			free(starts);
			return false;
		}
	}
	/* a function may end in a label, or without ret */
	static const struct statement end = { .opcode = { "ret", 3 }, .guard = -1 };
	starts[d->function->n_statements] = d->n_drafts;
	d->statement = NULL;
	new_draft(d, d->function->n_statements ? &d->function->statements[d->function->n_statements - 1] : &end);
	decode_insn(d)->kind = d->function->is_kernel ? K_EXIT : K_RETURN;
	decode_insn(d)->flag = 1;
	bool fine = layout_function(d, starts);
	free(starts);
	return fine;
}

static void
decoder_release(struct decoder *d)
{
	free(d->drafts);
	free(d->draft_statements);
	free(d->uses);
	free(d->deferred);
	free(d->constant_table);
	free(d->reached);
	free(d->order);
	free(d->open);
	free(d->on_cycle);
}

void
kernel_sizes(const struct ptx_module *module, struct function *kernel)
{
	struct image im = { .kernel = kernel };
	struct decoder d = { .module = module, .image = &im };
	if (find_functions(&d)) {
		kernel->public.shared_bytes = im.shared_bytes;
		kernel->public.local_bytes = im.local_bytes;
	}
	decoder_release(&d);
	arena_release(&im.arena);
}

/* ---- the image */

static void
place_constants(struct decoder *d)
{
	struct image *im = d->image;
	for (int pass = 0; pass < 2; pass++)			/* predicates and narrow ones last keep the rest aligned */
		for (uint32_t k = 0; k < im->n_constants; k++) {
			struct constant *c = &im->constants[k];
			if (c->predicate != (pass == 1))
				continue;
			c->offset = im->frame_bytes;
			im->frame_bytes += c->predicate ? 4 : c->bytes * LANES < 64 ? 64 : c->bytes * LANES;
		}
	im->frame_bytes = (im->frame_bytes + 63) / 64 * 64;
	for (uint32_t k = 0; k < im->n_constants; k++)
		im->reserved_shared |= im->constants[k].special >= SR_RESERVED_BEGIN && im->constants[k].special <= SR_RESERVED_1;
	for (uint32_t k = 0; k < im->n_code; k++)
		im->code[k].place = k;
	for (uint32_t k = 0; k < d->n_deferred; k++) {
		const struct use *u = &d->deferred[k];
		set_field(&im->code[u->insn], u->field, im->constants[u->reg & ~CONSTANT_BIT].offset);
	}
}

struct image *
image_new(const struct ptx_module *module, const struct function *kernel, const uint64_t *symbol_addresses,
	bool *unsupported, struct buf *err)
{
	struct image *im = xcalloc(1, sizeof *im);
	struct buf ignored = BUF_INIT;
	struct decoder d = { .module = module, .image = im, .symbol_addresses = symbol_addresses, .err = err ? err : &ignored };
	im->kernel = kernel;
	d.constant_table = xcalloc(CONSTANT_TABLE, sizeof *d.constant_table);
	bool fine = find_functions(&d);
	for (uint32_t f = 0; fine && f < im->n_functions; f++)
		fine = decode_function(&d, f);
	if (fine && im->n_code >= 1 << 24) {
		decode_fail(&d, "more instructions than the PTX machine can take");
		fine = false;
	}
	if (fine) {
		place_constants(&d);
		im->entry = im->functions[im->n_functions - 1].entry;
		im->patterns = aligned_alloc(64, (im->n_patterns + 1) * sizeof *im->patterns);
		if (!im->patterns)
			die(EX_TEMPFAIL, "out of memory");
		memset(im->patterns, 0, (im->n_patterns + 1) * sizeof *im->patterns);
		provenance_place(im);
	}
	decoder_release(&d);
	buf_release(&ignored);
	*unsupported = !fine;
	if (!fine) {
		image_free(im);
		return NULL;
	}
	return im;
}

void
image_free(struct image *im)
{
	if (!im)
		return;
	arena_release(&im->arena);
	free(im->code);
	free(im->sources);
	free(im->constants);
	free(im->patterns);
	free(im);
}

int
ptx_kernel_check(const struct ptx_module *module, const char *kernel, struct buf *err)
{
	const struct function *f = module_function(module, (struct slice){ kernel, (uint32_t)strlen(kernel) });
	if (!f || !f->is_kernel || !f->has_body)
		return buf_err(err, "The PTX has no kernel named %s.", kernel);
	bool unsupported;
	struct image *im = image_new(module, f, NULL, &unsupported, err);
	image_free(im);
	return im ? 0 : -1;
}
