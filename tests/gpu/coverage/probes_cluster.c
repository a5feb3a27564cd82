/* Probes of clusters: blocks of four that read each other's shared memory between two cluster barriers. In: one
 * spelling. Out: a kernel in which it takes the part it has in such an exchange. Shared addresses differ between
 * machines, so only what is read through them is kept. */
#include "make.h"

#include <string.h>

enum { CLUSTER = 4 };

struct exchange {
	const char *map, *rank, *arrive, *wait;
};

static void
begin(struct maker *m, const struct spelling *s, const struct exchange *x)
{
	make_begin(m, s, NULL, THREADS);
	m->probe.cluster = CLUSTER;
	make_text(m, "\tmov.u32 %%r30, %%tid.x;\n\tmov.u32 %%r31, space;\n\tmad.lo.u32 %%r32, %%r30, 4, %%r31;\n"
		"\tmul.lo.u32 %%r33, %%t, 0x9E3779B1;\n\tst.shared.u32 [%%r32], %%r33;\n\t%s;\n\t%s;\n"
		"\tmov.u32 %%r34, %%cluster_ctarank;\n\tadd.u32 %%r35, %%r34, 1;\n\tand.b32 %%r35, %%r35, 3;\n", x->arrive, x->wait);
}

static void
end(struct maker *m, const struct exchange *x)
{
	make_store(m, 32, "%r20");
	make_store(m, 32, "%r21");
	make_text(m, "\t%s;\n\t%s;\n", x->arrive, x->wait);	/* nobody leaves while others read its memory */
	make_end(m);
}

static void
cluster_exchange(struct maker *m, const struct spelling *s, const struct exchange *x)
{
	bool generic = !strstr(x->map, "shared"), wide = strstr(x->map, "64") != NULL;
	begin(m, s, x);
	if (generic)
		make_text(m, "\tcvt.u64.u32 %%q3, %%r32;\n\tcvta.shared.u64 %%q3, %%q3;\n\t%s %%q4, %%q3, %%r35;\n"
			"\tld.u32 %%r20, [%%q4];\n"
			"\tgetctarank.u64 %%r21, %%q4;\n", x->map);
	else if (wide)
		make_text(m, "\tcvt.u64.u32 %%q3, %%r32;\n\t%s %%q4, %%q3, %%r35;\n\tld.shared::cluster.u32 %%r20, [%%q4];\n"
			"\t%s %%r21, %%q4;\n",
			x->map, x->rank);
	else
		make_text(m, "\t%s %%r4, %%r32, %%r35;\n\tld.shared::cluster.u32 %%r20, [%%r4];\n\t%s %%r21, %%r4;\n", x->map, x->rank);
	end(m, x);
}

bool
cluster_probe(struct maker *m, const struct spelling *s)
{
	struct exchange x = { "mapa.shared::cluster.u32", "getctarank.shared::cluster.u32", "barrier.cluster.arrive",
		"barrier.cluster.wait" };
	const char *op = s->row->opcode;
	bool barrier = !strcmp(op, "barrier") && spelling_has(s, ".cluster");
	if (!strcmp(op, "mapa"))
		x.map = s->text;
	else if (!strcmp(op, "getctarank"))
		x.rank = s->text;
	else if (barrier && spelling_has(s, ".arrive"))
		x.arrive = s->text;
	else if (barrier)
		x.wait = s->text;
	else
		return false;
	struct buf released = BUF_INIT;
	if (spelling_has(s, ".relaxed")) {		/* orders nothing itself */
		buf_addf(&released, "fence.acq_rel.cluster;\n\t%s", x.arrive);
		x.arrive = buf_str(&released);
	}
	if (strstr(s->text, "64"))
		x.map = !strcmp(op, "mapa") ? s->text : spelling_has(s, ".shared::cluster") ? "mapa.shared::cluster.u64" : "mapa.u64";
	if (!strcmp(op, "mapa") && strstr(s->text, "64"))
		x.rank = "getctarank.shared::cluster.u64";
	cluster_exchange(m, s, &x);
	buf_release(&released);
	return true;
}
