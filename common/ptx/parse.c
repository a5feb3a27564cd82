/* In: PTX text, hostile too. Out: struct ptx_module, with names resolved and nothing decoded. The first
 * error is kept and the token stream then ends, so no function here has to unwind. Every count has a
 * maximum from module.h; recursion is bounded by MAX_SCOPES and by two levels of operand nesting. */
#include <string.h>

#include "base/die.h"
#include "ptx/machine.h"

struct scope {
	struct names *names;			/* made when something is declared */
	struct scope *around;
	uint32_t number;			/* within the function */
};

struct parser {
	struct ptx_module *module;
	struct arena *arena;
	struct lexer lexer;
	struct token token;			/* the one looked at */
	struct function *function;		/* being parsed, NULL at module level */
	struct scope *scope;
	struct location location;
	uint32_t depth;
	bool failed;
	struct buf *err;
	struct function **functions_end;
};

static void
advance(struct parser *p)
{
	if (!p->failed)
		p->token = lex(&p->lexer);
}

static void
fail(struct parser *p, const char *what)
{
	if (p->failed)
		return;
	int shown = p->token.text.length > 40 ? 40 : (int)p->token.text.length;
	if (p->token.kind == TOKEN_END)
		buf_err(p->err, "PTX line %u: %s at the end of the text.", p->token.line, what);
	else if (p->token.kind == TOKEN_BAD)
		buf_err(p->err, "PTX line %u: %s at a character that belongs to no token.", p->token.line, what);
	else
		buf_err(p->err, "PTX line %u: %s at \"%.*s\".", p->token.line, what, shown, p->token.text.at);
	p->failed = true;
	p->token.kind = TOKEN_END;
	p->token.punctuation = 0;
}

static bool
at(const struct parser *p, char punctuation)
{
	return p->token.punctuation == punctuation;
}

static bool
accept(struct parser *p, char punctuation)
{
	if (!at(p, punctuation))
		return false;
	advance(p);
	return true;
}

static void
expect(struct parser *p, char punctuation)
{
	char what[] = "expected ' '";
	what[10] = punctuation;
	if (!accept(p, punctuation))
		fail(p, what);
}

static bool
at_word(const struct parser *p, const char *word)
{
	return p->token.kind == TOKEN_WORD && slice_is(p->token.text, word);
}

static bool
accept_word(struct parser *p, const char *word)
{
	if (!at_word(p, word))
		return false;
	advance(p);
	return true;
}

static struct slice
expect_name(struct parser *p)
{
	struct slice name = p->token.text;
	if (p->token.kind != TOKEN_WORD || name.at[0] == '.')
		fail(p, "expected a name");
	else
		advance(p);
	return name;
}

static uint64_t
expect_integer(struct parser *p, uint64_t max)
{
	uint64_t value = p->token.bits;
	if (p->token.kind != TOKEN_INTEGER || value > max) {
		fail(p, "expected an integer in range");
		return 0;
	}
	advance(p);
	return value;
}

/* Skips to the end of a construct that means nothing here: past ';', or past a balanced { }. */
static void
skip_until(struct parser *p, char end)
{
	uint32_t depth = 0;
	while (p->token.kind != TOKEN_END && p->token.kind != TOKEN_BAD) {
		if (at(p, end) && depth <= (end == '}'))
			break;
		depth += at(p, '{');
		depth -= at(p, '}') && depth;
		advance(p);
	}
	expect(p, end);
}

/* ---- names */

static void
declare(struct parser *p, struct variable *variable)
{
	if (++p->module->n_declared > MAX_VARIABLES)
		fail(p, "too many variables");
	if (!p->scope->names)
		p->scope->names = names_new(p->arena);
	names_put(p->scope->names, p->arena, variable->name, variable);
}

/* A variable by its name, or by the prefix of a register range; *number is the place in the range. */
static struct variable *
resolve(const struct parser *p, struct slice name, uint32_t *number)
{
	struct slice prefix = name;
	uint64_t value = 0, scale = 1;
	while (prefix.length && prefix.at[prefix.length - 1] >= '0' && prefix.at[prefix.length - 1] <= '9') {
		value += scale * (uint64_t)(prefix.at[--prefix.length] - '0');
		scale = scale < 1000000000 ? scale * 10 : scale;
	}
	*number = 0;
	for (const struct scope *s = p->scope; s; s = s->around) {
		struct variable *v = s->names ? names_get(s->names, name) : NULL;
		if (v && !v->registers)
			return v;
		v = s->names && prefix.length < name.length ? names_get(s->names, prefix) : NULL;
		if (v && value < v->registers) {
			*number = (uint32_t)value;
			return v;
		}
	}
	return NULL;
}

static void
open_scope(struct parser *p)
{
	struct scope *s = arena_alloc(p->arena, sizeof *s);
	struct function *f = p->function;
	if (++p->depth > MAX_SCOPES)
		fail(p, "too many nested scopes");
	if (f) {
		s->number = f->n_scopes++;
		if (!(s->number & (s->number - 1))) {
			uint32_t *grown = arena_alloc(p->arena, (s->number ? s->number * 2 : 1) * sizeof *grown);
			if (s->number)
				memcpy(grown, f->scope_parents, s->number * sizeof *grown);
			f->scope_parents = grown;
		}
		f->scope_parents[s->number] = s->number ? p->scope->number : 0;
	}
	s->around = p->scope;
	p->scope = s;
}

static void
close_scope(struct parser *p)
{
	p->depth--;
	p->scope = p->scope->around;
}

/* ---- declarations */

static void
add_registers(struct parser *p, struct variable *v)
{
	struct function *f = p->function;
	uint32_t count = v->registers ? v->registers : 1;
	if (!f) {
		fail(p, "a register outside of a function");
		return;
	}
	p->module->n_registers += count;
	if (count > MAX_REGISTERS || f->n_registers + count > MAX_REGISTERS || p->module->n_registers > MAX_ALL_REGISTERS) {
		fail(p, "too many registers");
		return;
	}
	if (f->n_registers + count > f->cap_registers) {
		uint32_t cap = (f->n_registers + count) * 2;
		uint8_t *grown = arena_alloc(p->arena, cap);
		if (f->n_registers)
			memcpy(grown, f->register_types, f->n_registers);
		f->register_types = grown;
		f->cap_registers = cap;
	}
	if (type_bytes(v->type) == 1 && v->type != T_PRED) {
		fail(p, "an 8-bit register, which PTX does not have,");
		return;
	}
	v->first_register = f->n_registers;
	memset(f->register_types + f->n_registers, v->type, count);
	f->n_registers += count;
}

static uint32_t
align_up(uint64_t value, uint32_t align)
{
	return (uint32_t)((value + align - 1) / align * align);
}

/* ".align 4 .v2 .b8" and the like, up to the name. */
static void
type_words(struct parser *p, struct variable *v)
{
	uint32_t vector = 1, align = 0;
	bool pointer = false;
	while (p->token.kind == TOKEN_WORD && p->token.text.at[0] == '.') {
		enum type type = type_find(p->token.text);
		if (type) {
			v->type = type;
		} else if (accept_word(p, ".align")) {
			uint32_t n = (uint32_t)expect_integer(p, 1 << 20);
			if (!n || (n & (n - 1)))
				fail(p, "an alignment that is no power of two");
			align = pointer ? align : n;
			continue;
		} else if (at_word(p, ".v2") || at_word(p, ".v4")) {
			vector = p->token.text.at[2] == '2' ? 2 : 4;
		} else if (at_word(p, ".ptr")) {
			pointer = true;
		} else if (accept_word(p, ".attribute")) {
			expect(p, '(');
			skip_until(p, ')');
			continue;
		} else if (!at_word(p, ".global") && !at_word(p, ".const") && !at_word(p, ".shared") && !at_word(p, ".local")) {
			fail(p, "an unknown word in a declaration");
		}
		advance(p);
	}
	if (!v->type || !type_bytes(v->type))
		fail(p, "a declaration without a known type");
	v->bytes = (uint64_t)type_bytes(v->type) * vector;
	v->align = align ? align : v->bytes ? (uint32_t)v->bytes : 1;
}

static void
array_sizes(struct parser *p, struct variable *v)
{
	while (accept(p, '[')) {
		if (accept(p, ']')) {
			v->bytes = 0;
			continue;
		}
		uint64_t n = expect_integer(p, 1ull << 36);
		expect(p, ']');
		if (v->bytes && n > (1ull << 36) / v->bytes)
			fail(p, "an array that is too large");
		v->bytes *= n;
	}
}

static void
init_bytes(struct parser *p, struct variable *v, uint64_t offset, uint64_t bits)
{
	unsigned size = type_bytes(v->type) > 8 ? 8 : type_bytes(v->type);
	if (v->bytes && offset + size > v->bytes) {
		fail(p, "more initialisers than elements");
		return;
	}
	if (!v->init || offset + size > v->init_bytes) {
		uint64_t have = v->init_bytes, cap = have;
		while (cap < offset + size)
			cap = cap ? cap * 2 : 64;
		uint8_t *grown = arena_alloc(p->arena, cap);
		if (have)
			memcpy(grown, v->init, have);
		v->init = grown;
		v->init_bytes = cap;
	}
	memcpy(v->init + offset, &bits, size);
}

static void
init_name(struct parser *p, struct variable *v, uint64_t offset)
{
	bool generic = accept_word(p, "generic");
	if (generic)
		expect(p, '(');
	struct relocation reloc = { offset, expect_name(p), 0 };
	if (generic)
		expect(p, ')');
	bool minus = at(p, '-');
	if (accept(p, '+') || accept(p, '-')) {
		int64_t n = (int64_t)expect_integer(p, INT64_MAX);
		reloc.addend = minus ? -n : n;
	}
	if (type_bytes(v->type) != 8)
		fail(p, "an address that does not fit its element");
	init_bytes(p, v, offset, 0);
	uint32_t n = v->n_relocations++;
	if (!(n & (n - 1)) || !n) {
		struct relocation *grown = arena_alloc(p->arena, (n ? n * 2 : 1) * sizeof *grown);
		if (n)
			memcpy(grown, v->relocations, n * sizeof *grown);
		v->relocations = grown;
	}
	v->relocations[n] = reloc;
}

static uint64_t
float_bits(const struct token *token, enum type type, bool minus)
{
	uint64_t bits = token->bits;
	if (token->kind == TOKEN_FLOAT) {
		uint32_t narrow = (uint32_t)bits ^ (minus ? 0x80000000u : 0);
		float f;
		memcpy(&f, &narrow, 4);
		double d = f;
		memcpy(&bits, &d, 8);
		return type == T_F64 ? bits : narrow;
	}
	bits ^= minus ? 1ull << 63 : 0;
	if (type == T_F64)
		return bits;
	double d;
	memcpy(&d, &bits, 8);
	float f = (float)d;
	uint32_t narrow;
	memcpy(&narrow, &f, 4);
	return narrow;
}

static void
initialiser(struct parser *p, struct variable *v)
{
	uint64_t offset = 0;
	uint32_t depth = 0;
	do {
		while (accept(p, '{'))
			depth++;
		bool minus = accept(p, '-');
		if (p->token.kind == TOKEN_WORD && !minus) {
			init_name(p, v, offset);
		} else if (p->token.kind == TOKEN_INTEGER) {
			uint64_t bits = minus ? -p->token.bits : p->token.bits;
			init_bytes(p, v, offset, bits);
			advance(p);
			if (at(p, '('))
				fail(p, "a masked address in an initialiser");
		} else if (p->token.kind == TOKEN_FLOAT || p->token.kind == TOKEN_DOUBLE) {
			init_bytes(p, v, offset, float_bits(&p->token, v->type, minus));
			advance(p);
		} else if (!at(p, '}')) {
			fail(p, "expected an initialiser");
		}
		offset += type_bytes(v->type);
		while (depth && accept(p, '}'))
			depth--;
	} while (accept(p, ',') && depth);
	if (depth)
		fail(p, "expected '}'");
	if (v->bytes && v->init_bytes > v->bytes)
		v->init_bytes = v->bytes;
	if (!v->bytes)
		v->bytes = v->init_bytes = offset;
}

/* Gives locals and call parameters their place in the area that each thread has. */
static void
place_in_function(struct parser *p, struct variable *v)
{
	struct function *f = p->function;
	if (v->storage != IN_LOCAL && v->storage != IN_CALL_PARAM)
		return;
	if (!f) {
		fail(p, "a local variable outside of a function");
		return;
	}
	uint32_t *area = v->storage == IN_LOCAL ? &f->local_bytes : &f->call_param_bytes;
	uint32_t max = v->storage == IN_LOCAL ? 1 << 19 : 1 << 20;
	if (v->bytes > max || *area > max) {
		fail(p, "more local memory than a thread can have");
		return;
	}
	v->offset = align_up(*area, v->align > 16 ? v->align : 16);
	*area = v->offset + (uint32_t)v->bytes;
}

static void
add_module_variable(struct parser *p, struct variable *v)
{
	struct ptx_module *m = p->module;
	struct variable *known = module_variable(m, v->name);
	if (v->storage != IN_GLOBAL && v->storage != IN_CONST)
		return;
	if (p->function) {
		fail(p, "a global variable inside of a function");
		return;
	}
	names_put(m->variable_names, p->arena, v->name, v);
	if (known) {				/* a definition after its declaration, or a repeated declaration */
		v->index = known->index;
		m->variables[v->index] = known->external ? v : known;
		return;
	}
	size_t n = m->n_variables++;
	if (!(n & (n - 1)) || !n) {
		struct variable **grown = arena_alloc(p->arena, (n ? n * 2 : 1) * sizeof *grown);
		if (n)
			memcpy(grown, m->variables, n * sizeof *grown);
		m->variables = grown;
	}
	v->index = (uint32_t)n;
	m->variables[n] = v;
}

/* After the word of the storage: type, then names up to the semicolon. */
static void
declaration(struct parser *p, enum storage storage, bool external)
{
	struct variable common = { .storage = storage, .external = external };
	type_words(p, &common);
	do {
		struct variable *v = arena_alloc(p->arena, sizeof *v);
		*v = common;
		v->name = expect_name(p);
		if (storage == IN_REGISTER && accept(p, '<')) {
			v->registers = (uint32_t)expect_integer(p, MAX_REGISTERS);
			if (!v->registers)
				fail(p, "an empty range of registers");
			expect(p, '>');
		}
		array_sizes(p, v);
		if (accept(p, '='))
			initialiser(p, v);
		if (p->failed)
			return;
		if (storage == IN_REGISTER)
			add_registers(p, v);
		place_in_function(p, v);
		add_module_variable(p, v);
		declare(p, v);
	} while (accept(p, ','));
	expect(p, ';');
}

static bool
storage_word(struct parser *p, enum storage *storage)
{
	static const struct {
		const char *word;
		enum storage storage;
	} words[] = {
		{ ".reg", IN_REGISTER }, { ".global", IN_GLOBAL }, { ".const", IN_CONST }, { ".shared", IN_SHARED },
		{ ".local", IN_LOCAL }, { ".param", IN_CALL_PARAM },
	};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (accept_word(p, words[i].word)) {
			*storage = words[i].storage;
			return true;
		}
	return false;
}

/* ---- operands */

static void operand(struct parser *p, struct operand *out, int depth);

/* A comma-separated list up to the closing character, as items of out. */
static void
operand_items(struct parser *p, struct operand *out, char close, int depth)
{
	struct operand items[64];
	uint32_t n = 0;
	if (!at(p, close))
		do {
			if (n == 64) {
				fail(p, "too many operands");
				return;
			}
			memset(&items[n], 0, sizeof items[n]);
			operand(p, &items[n++], depth + 1);
		} while (!p->failed && accept(p, ','));
	expect(p, close);
	out->n_items = n;
	out->items = arena_alloc(p->arena, (n ? n : 1) * sizeof *items);
	memcpy(out->items, items, n * sizeof *items);
}

/* "b3210" and "h1" as parts of a register; 0: it is no such thing. */
static uint32_t
register_part(struct slice text)
{
	char most = text.length && *text.at == 'h' ? '3' : '7';
	uint32_t count = text.length - 1, part;
	if (text.length < 2 || text.length > 5 || (*text.at != 'b' && *text.at != 'h'))
		return 0;
	part = (uint32_t)*text.at << PART_LETTER | count << PART_COUNT;
	for (uint32_t k = 0; k < count; k++) {
		char digit = text.at[text.length - 1 - k];
		if (digit < '0' || digit > most)
			return 0;
		part |= (uint32_t)(digit - '0') << PART_DIGIT * k;
	}
	return part;
}

/* A register of which a part is named, "%r1.h0". */
static struct variable *
resolve_part(const struct parser *p, struct slice name, struct operand *out, uint32_t *number)
{
	const char *dot = memrchr(name.at, '.', name.length);
	uint32_t length = dot ? (uint32_t)(dot - name.at) : 0;
	out->part = length ? register_part((struct slice){ dot + 1, name.length - length - 1 }) : 0;
	return out->part ? resolve(p, (struct slice){ name.at, length }, number) : NULL;
}

static void
word_operand(struct parser *p, struct operand *out)
{
	struct slice name = p->token.text;
	uint32_t number;
	advance(p);
	if (slice_is(name, "_")) {
		out->kind = O_SINK;
		return;
	}
	struct variable *v = resolve(p, name, &number);
	enum special special = v ? SR_NONE : special_find(name);
	if (!v && !special)
		v = resolve_part(p, name, out, &number);
	out->name = name;
	if (v && v->storage == IN_REGISTER) {
		out->kind = O_REGISTER;
		out->reg = v->first_register + number;
	} else if (v) {
		out->kind = O_VARIABLE;
		out->variable = v;
	} else if (special) {
		out->kind = O_SPECIAL;
		out->value = special;
	} else {
		out->kind = O_NAME;
	}
}

static void
number_operand(struct parser *p, struct operand *out, bool minus)
{
	if (p->token.kind == TOKEN_INTEGER) {
		out->kind = O_INTEGER;
		out->value = (int64_t)(minus ? -p->token.bits : p->token.bits);
	} else {
		out->kind = O_FLOAT;
		out->is_double = p->token.kind == TOKEN_DOUBLE;
		out->value = (int64_t)float_bits(&p->token, out->is_double ? T_F64 : T_F32, minus);
	}
	advance(p);
}

/* After '[': base, sign and offset. */
static void
address_operand(struct parser *p, struct operand *out, int depth)
{
	out->kind = O_ADDRESS;
	out->items = arena_alloc(p->arena, sizeof *out->items);
	out->n_items = 1;
	operand(p, out->items, depth + 1);
	while (at(p, '+') || at(p, '-')) {
		bool minus = at(p, '-');
		advance(p);
		minus ^= accept(p, '-');
		uint64_t n = expect_integer(p, UINT64_MAX);
		out->value = (int64_t)((uint64_t)out->value + (minus ? -n : n));
	}
	while (accept(p, ',')) {		/* tensor coordinates: parsed, and refused by the decoder */
		struct operand ignored = { 0 };
		operand(p, &ignored, depth + 1);
		out->n_items = 2;
	}
	expect(p, ']');
}

/* A name; outside of brackets the address of a variable may have an offset. */
static void
named_operand(struct parser *p, struct operand *out, int depth)
{
	word_operand(p, out);
	if (depth > 1 || (out->kind != O_VARIABLE && out->kind != O_NAME))
		return;
	while (at(p, '+') || at(p, '-')) {
		bool minus = at(p, '-');
		advance(p);
		uint64_t n = expect_integer(p, INT64_MAX);
		out->value = (int64_t)((uint64_t)out->value + (minus ? -n : n));
	}
}

static void
operand(struct parser *p, struct operand *out, int depth)
{
	if (depth > 3) {
		fail(p, "operands nested too deeply");
		return;
	}
	if (accept(p, '{')) {
		out->kind = O_VECTOR;
		operand_items(p, out, '}', depth);
		return;
	}
	if (accept(p, '(')) {
		out->kind = O_LIST;
		operand_items(p, out, ')', depth);
		return;
	}
	if (accept(p, '[')) {
		address_operand(p, out, depth);
		return;
	}
	bool not = accept(p, '!'), minus = !not && accept(p, '-');
	if (p->token.kind == TOKEN_WORD)
		named_operand(p, out, depth);
	else if (!not && (p->token.kind == TOKEN_INTEGER || p->token.kind == TOKEN_FLOAT || p->token.kind == TOKEN_DOUBLE))
		number_operand(p, out, minus), minus = false;
	else
		fail(p, "expected an operand");
	out->negated = not || minus;
	if (depth < 3 && accept(p, '|')) {
		struct operand *pair = arena_alloc(p->arena, 2 * sizeof *pair);
		pair[0] = *out;
		operand(p, &pair[1], 3);
		*out = (struct operand){ .kind = O_PAIR, .items = pair, .n_items = 2 };
	}
}

/* ---- statements */

static struct statement *
add_statement(struct parser *p)
{
	struct function *f = p->function;
	if (++p->module->n_statements > MAX_STATEMENTS)
		fail(p, "too many instructions");
	if (f->n_statements == f->cap_statements) {
		uint32_t cap = f->cap_statements ? f->cap_statements * 2 : 64;
		struct statement *grown = arena_alloc(p->arena, cap * sizeof *grown);
		if (f->n_statements)
			memcpy(grown, f->statements, f->n_statements * sizeof *grown);
		f->statements = grown;
		f->cap_statements = cap;
	}
	return &f->statements[f->n_statements++];
}

static void
instruction(struct parser *p)
{
	struct statement s = { .guard = -1, .line = p->token.line, .scope = p->scope->number, .location = p->location };
	if (accept(p, '@')) {
		struct operand guard = { 0 };
		s.guard_negated = accept(p, '!');
		operand(p, &guard, 3);
		if (guard.kind != O_REGISTER || p->failed || p->function->register_types[guard.reg] != T_PRED) {
			fail(p, "a guard that is no predicate");
			return;
		}
		s.guard = (int32_t)guard.reg;
	}
	s.opcode = expect_name(p);
	struct operand all = { 0 };
	operand_items(p, &all, ';', 0);
	s.operands = all.items;
	s.n_operands = (uint16_t)all.n_items;
	if (!p->failed)
		*add_statement(p) = s;
}

static void
label(struct parser *p, struct slice name)
{
	struct label *l = arena_alloc(p->arena, sizeof *l);
	l->name = name;
	l->scope = p->scope->number;
	l->statement = p->function->n_statements;
	if (++p->module->n_declared > MAX_VARIABLES)
		fail(p, "too many labels");
	if (accept_word(p, ".branchtargets")) {
		struct operand list = { 0 };
		l->is_table = true;
		uint32_t cap = 0;
		do {
			if (l->n_targets == cap) {
				cap = cap ? cap * 2 : 16;
				struct operand *grown = arena_alloc(p->arena, cap * sizeof *grown);
				if (l->n_targets)
					memcpy(grown, l->targets, l->n_targets * sizeof *grown);
				l->targets = grown;
			}
			list = (struct operand){ .kind = O_NAME, .name = expect_name(p) };
			l->targets[l->n_targets++] = list;
		} while (!p->failed && accept(p, ','));
		expect(p, ';');
	} else if (at_word(p, ".callprototype") || at_word(p, ".calltargets")) {
		l->is_prototype = true;
		skip_until(p, ';');
	}
	if (!p->function->labels)
		p->function->labels = names_new(p->arena);
	l->same_name = names_get(p->function->labels, name);
	names_put(p->function->labels, p->arena, name, l);
}

static void
loc_directive(struct parser *p)
{
	struct location l = { 0 };
	l.file = (uint32_t)expect_integer(p, UINT32_MAX);
	l.line = (uint32_t)expect_integer(p, UINT32_MAX);
	expect_integer(p, UINT32_MAX);
	while (accept(p, ',')) {
		if (accept_word(p, "inlined_at")) {
			l.inlined_file = (uint32_t)expect_integer(p, UINT32_MAX);
			l.inlined_line = (uint32_t)expect_integer(p, UINT32_MAX);
			expect_integer(p, UINT32_MAX);
		} else if (accept_word(p, "function_name")) {
			expect_name(p);
			if (accept(p, '+'))
				expect_integer(p, UINT32_MAX);
		} else {
			fail(p, "an unknown part of .loc");
		}
	}
	if (l.line)				/* line 0 means: of no line; the one before tells the reader more */
		p->location = l;
}

static void
body(struct parser *p)
{
	expect(p, '{');
	open_scope(p);
	while (!p->failed && !at(p, '}')) {
		enum storage storage;
		if (at(p, '{')) {
			body(p);
		} else if (storage_word(p, &storage)) {
			declaration(p, storage, false);
		} else if (accept_word(p, ".loc")) {
			loc_directive(p);
		} else if (accept_word(p, ".pragma")) {
			skip_until(p, ';');
		} else if (at(p, '@')) {
			instruction(p);
		} else if (p->token.kind == TOKEN_WORD && p->token.text.at[0] != '.') {
			struct lexer before = p->lexer;
			struct token word = p->token;
			advance(p);
			if (accept(p, ':')) {
				label(p, word.text);
			} else if (!p->failed) {
				p->lexer = before;
				p->token = word;
				instruction(p);
			}
		} else if (!accept(p, ';')) {
			fail(p, "expected an instruction");
		}
	}
	expect(p, '}');
	close_scope(p);
}

/* ---- functions */

static void
params(struct parser *p, struct function *f, bool returns)
{
	struct variable **end = returns ? &f->returns : &f->params;
	uint32_t *count = returns ? &f->n_returns : &f->n_params;
	uint64_t offset = 0;
	*end = NULL;
	*count = 0;
	expect(p, '(');
	while (!p->failed && !at(p, ')')) {
		struct variable *v = arena_alloc(p->arena, sizeof *v);
		if (!accept_word(p, ".param"))
			fail(p, "expected .param");
		v->storage = f->is_kernel ? IN_KERNEL_PARAM : IN_CALL_PARAM;
		type_words(p, v);
		v->name = expect_name(p);
		array_sizes(p, v);
		if (p->failed || (f->is_kernel && (offset = align_up(offset, v->align)) + v->bytes > MAX_PARAM_BYTES)) {
			fail(p, "more parameter bytes than a kernel can have");
			return;
		}
		v->index = (*count)++;
		v->offset = (uint32_t)offset;
		offset += v->bytes;
		place_in_function(p, v);
		declare(p, v);
		*end = v;
		end = &v->next;
		if (!accept(p, ','))
			break;
	}
	expect(p, ')');
	if (f->is_kernel)
		f->public.params_bytes = (uint32_t)offset;
}

static void
public_params(struct parser *p, struct function *f)
{
	struct ptx_param *list = arena_alloc(p->arena, (f->n_params + 1) * sizeof *list);
	size_t n = 0;
	for (struct variable *v = f->params; v; v = v->next)
		list[n++] = (struct ptx_param){ arena_strndup(p->arena, v->name.at, v->name.length), v->offset,
			(uint32_t)v->bytes, v->align };
	f->public.params = list;
	f->public.n_params = n;
	f->public.name = arena_strndup(p->arena, f->name.at, f->name.length);
}

static void
dimensions(struct parser *p, uint32_t out[3])
{
	out[1] = out[2] = 1;
	for (int i = 0; i < 3; i++) {
		out[i] = (uint32_t)expect_integer(p, UINT32_MAX);
		if (!accept(p, ','))
			break;
	}
}

static void
performance_directives(struct parser *p, struct function *f)
{
	while (!p->failed && p->token.kind == TOKEN_WORD && p->token.text.at[0] == '.') {
		if (accept_word(p, ".maxntid"))
			dimensions(p, f->public.max_threads);
		else if (accept_word(p, ".reqntid"))
			dimensions(p, f->public.required_threads);
		else if (accept_word(p, ".minnctapersm") || accept_word(p, ".maxnreg") || accept_word(p, ".maxnctapersm")
			|| accept_word(p, ".noreturn") || accept_word(p, ".abi_preserve") || accept_word(p, ".abi_preserve_control")
			|| accept_word(p, ".reqnctapercluster") || accept_word(p, ".explicitcluster")
			|| accept_word(p, ".maxclusterrank") || accept_word(p, ".blocksareclusters"))
			while (p->token.kind == TOKEN_INTEGER || at(p, ','))
				advance(p);
		else if (accept_word(p, ".pragma"))
			skip_until(p, ';');
		else
			fail(p, "an unknown directive of a function");
	}
}

static struct function *
function_named(struct parser *p, struct slice name)
{
	struct function *f = module_function(p->module, name);
	if (f)
		return f;
	f = arena_alloc(p->arena, sizeof *f);
	f->name = name;
	names_put(p->module->function_names, p->arena, name, f);
	*p->functions_end = f;
	p->functions_end = &f->next;
	return f;
}

/* After .func or .entry. A declaration may come first and be repeated; one body is allowed. */
static void
function(struct parser *p, bool is_kernel)
{
	struct function *f = arena_alloc(p->arena, sizeof *f), *known;
	f->is_kernel = is_kernel;
	f->line = p->token.line;
	p->function = f;
	p->location = (struct location){ 0 };
	open_scope(p);
	if (at(p, '('))
		params(p, f, true);
	f->name = expect_name(p);
	if (at(p, '('))
		params(p, f, false);
	performance_directives(p, f);
	if (at(p, '{')) {
		f->has_body = true;
		body(p);
	} else {
		expect(p, ';');
	}
	close_scope(p);
	p->function = NULL;
	if (p->failed)
		return;
	known = function_named(p, f->name);
	if (known->has_body && f->has_body)
		fail(p, "a function defined twice");
	if (!known->has_body) {
		struct function *next = known->next;
		*known = *f;
		known->next = next;
	}
	/* the list's end may point into the struct that was just overwritten, and still does */
}

/* ---- the module */

static void
file_directive(struct parser *p)
{
	struct ptx_module *m = p->module;
	uint32_t index = (uint32_t)expect_integer(p, 65535);
	if (p->token.kind != TOKEN_STRING) {
		fail(p, "expected a file name");
		return;
	}
	if (index >= m->n_files) {
		char **grown = arena_alloc(p->arena, (index + 1) * 2 * sizeof *grown);
		if (m->n_files)
			memcpy(grown, m->files, m->n_files * sizeof *grown);
		m->files = grown;
		m->n_files = (index + 1) * 2;
	}
	m->files[index] = arena_strndup(p->arena, p->token.text.at, p->token.text.length);
	advance(p);
	while (accept(p, ','))
		expect_integer(p, UINT64_MAX);
}

static void
module_item(struct parser *p)
{
	enum storage storage;
	bool external = false;
	while (at_word(p, ".extern") || at_word(p, ".visible") || at_word(p, ".weak") || at_word(p, ".common")) {
		external |= at_word(p, ".extern");
		advance(p);
	}
	if (accept_word(p, ".func"))
		function(p, false);
	else if (accept_word(p, ".entry"))
		function(p, true);
	else if (storage_word(p, &storage))
		declaration(p, storage, external);
	else if (accept_word(p, ".version") || accept_word(p, ".address_size"))
		advance(p);
	else if (accept_word(p, ".target"))
		do
			advance(p);
		while (accept(p, ','));
	else if (accept_word(p, ".file"))
		file_directive(p);
	else if (accept_word(p, ".section"))
		skip_until(p, '}');
	else if (accept_word(p, ".pragma") || accept_word(p, ".alias"))
		skip_until(p, ';');
	else if (!accept(p, ';'))
		fail(p, "expected a declaration");
}

static void
list_kernels(struct parser *p)
{
	struct ptx_module *m = p->module;
	size_t n = 0;
	for (struct function *f = m->functions; f; f = f->next)
		n += f->is_kernel && f->has_body;
	m->kernels = arena_alloc(p->arena, (n + 1) * sizeof *m->kernels);
	for (struct function *f = m->functions; f; f = f->next)
		if (f->is_kernel && f->has_body) {
			public_params(p, f);
			m->kernels[m->n_kernels++] = f;
		}
}

static void
mark_addressed(struct ptx_module *m, struct slice name)
{
	struct function *f = module_function(m, name);
	if (!f || f->addressed || !f->has_body || f->is_kernel)
		return;
	f->addressed = true;
	f->next_addressed = m->addressed;
	m->addressed = f;
}

/* Numbers the functions, and marks those that pointers can be to: of tables, and of instructions other than calls. */
static void
list_functions(struct parser *p)
{
	struct ptx_module *m = p->module;
	uint32_t number = 0;
	for (struct function *f = m->functions; f; f = f->next) {
		f->number = number++;
		for (uint32_t k = 0; k < f->n_statements; k++) {
			const struct statement *s = &f->statements[k];
			if (s->opcode.length >= 4 && !memcmp(s->opcode.at, "call", 4))
				continue;
			for (uint32_t o = 0; o < s->n_operands; o++)
				if (s->operands[o].kind == O_NAME)
					mark_addressed(m, s->operands[o].name);
		}
	}
	for (size_t v = 0; v < m->n_variables; v++)
		for (uint32_t r = 0; r < m->variables[v]->n_relocations; r++)
			mark_addressed(m, m->variables[v]->relocations[r].name);
}

static void
list_symbols(struct parser *p)
{
	struct ptx_module *m = p->module;
	m->symbols = arena_alloc(p->arena, (m->n_variables + 1) * sizeof *m->symbols);
	for (size_t i = 0; i < m->n_variables; i++) {
		struct variable *v = m->variables[i];
		m->symbols[i] = (struct ptx_symbol){ arena_strndup(p->arena, v->name.at, v->name.length),
			v->storage == IN_CONST ? PTX_SPACE_CONST : PTX_SPACE_GLOBAL, v->bytes, v->align, v->external,
			v->init_bytes != 0 };
	}
}

struct ptx_module *
ptx_parse(const char *text, size_t length, struct buf *err)
{
	if (length > MAX_TEXT_BYTES) {
		buf_err(err, "The PTX text has %zu bytes; the maximum is %d.", length, MAX_TEXT_BYTES);
		return NULL;
	}
	struct ptx_module *m = xcalloc(1, sizeof *m);
	m->text = xmalloc(length + 1);
	if (length)
		memcpy(m->text, text, length);
	m->text[length] = 0;
	m->text_bytes = length;
	struct parser p = { .module = m, .arena = &m->arena, .err = err, .functions_end = &m->functions };
	p.lexer = (struct lexer){ m->text, m->text + length, 1 };
	m->function_names = names_new(&m->arena);
	m->variable_names = names_new(&m->arena);
	open_scope(&p);
	advance(&p);
	/* nvcc's PTX may end in the NUL of a C string */
	while (!p.failed && p.token.kind != TOKEN_END && !(p.token.kind == TOKEN_BAD && p.token.text.at[0] == 0))
		module_item(&p);
	if (p.failed) {
		ptx_module_free(m);
		return NULL;
	}
	list_functions(&p);
	list_kernels(&p);
	list_symbols(&p);
	for (size_t k = 0; k < m->n_kernels; k++)
		kernel_sizes(m, m->kernels[k]);
	return m;
}

struct function *
module_function(const struct ptx_module *module, struct slice name)
{
	return names_get(module->function_names, name);
}

struct variable *
module_variable(const struct ptx_module *module, struct slice name)
{
	return names_get(module->variable_names, name);
}

const struct label *
function_label(const struct function *f, struct slice name, uint32_t scope)
{
	const struct label *first = f->labels ? names_get(f->labels, name) : NULL;
	for (; first; scope = f->scope_parents[scope]) {
		for (const struct label *l = first; l; l = l->same_name)
			if (l->scope == scope)
				return l;
		if (!scope)
			break;
	}
	return NULL;
}

void
ptx_module_free(struct ptx_module *m)
{
	if (!m)
		return;
	arena_release(&m->arena);
	free(m->text);
	free(m);
}
