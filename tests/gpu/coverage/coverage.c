/* The two ends of the pipeline that brings an H200's answers into the repository.
 * coverage generate >PROBES            what collect runs on the GPU
 * coverage rows                        rows and types without a probe
 * coverage compare RESULTS VALUES [WHOLE]   runs every probe on the PTX machine as well: the answers in compact
 *                                      form to VALUES (.tsv.zst), disagreements on standard output, and the
 *                                      whole answers of those to WHOLE */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/die.h"
#include "base/io.h"
#include "hash/id.h"
#include "verdict.h"
#include "zst/zst.h"

/* ---- generate: operands that probes share are written once */

enum { MAX_DATA = 1 << 14 };
struct generator {
	char ids[MAX_DATA][HASH_ID_HEX];
	unsigned n_ids, n_probes;
};

static unsigned
data_id(struct generator *g, const struct buf *in)
{
	char id[HASH_ID_HEX];
	hash_id(in->data, in->len, id);
	for (unsigned k = 0; k < g->n_ids; k++)
		if (!strcmp(g->ids[k], id))
			return k;
	if (g->n_ids == MAX_DATA)
		die(EX_SOFTWARE, "more than %d sets of operands", MAX_DATA);
	memcpy(g->ids[g->n_ids], id, sizeof id);
	printf("data %u %zu\n", g->n_ids, in->len);
	fwrite(in->data, 1, in->len, stdout);
	return g->n_ids++;
}

static void
tilde(const char *name, char *out)
{
	while (*name)
		*out++ = *name == ' ' ? '~' : *name, name++;
	*out = 0;
}

static void
write_probe(const struct probe *p, void *context)
{
	struct generator *g = context;
	char name[PROBE_NAME_MAX];
	unsigned id = data_id(g, &p->in);
	tilde(p->name, name);
	printf("probe %s %u %u %u %u %u %u %zu\n", name, id, p->grid, p->block, p->cluster, p->shared_bytes, p->out_bytes,
		p->text.len);
	fwrite(p->text.data, 1, p->text.len, stdout);
	g->n_probes++;
}

/* ---- rows */

static void
note_type(const struct probe *p, void *context)
{
	struct buf *seen = context;
	buf_addf(&seen[p->row], " %s ", p->type);
}

static void
list_rows(void)
{
	size_t n = probe_row_count();
	struct buf *seen = xcalloc(n, sizeof *seen);
	probes_each(note_type, seen);
	for (size_t row = 0; row < n; row++) {
		char *types = xstrdup(probe_row_types(row)), *save = types;
		if (!seen[row].len)
			printf("%zu\t%s\n", row, probe_row_text(row));
		for (char *type = seen[row].len ? strsep(&types, " ") : NULL; type; type = strsep(&types, " ")) {
			char word[24];
			snprintf(word, sizeof word, " %s ", type);
			if (*type && !strstr(buf_str(&seen[row]), word))
				printf("%zu\t%s\t%s\n", row, probe_row_text(row), type);
		}
		free(save);
		buf_release(&seen[row]);
	}
	free(seen);
}

/* ---- compare */

static void
read_results(struct answers *answers, const char *path)
{
	struct buf text = BUF_INIT, err = BUF_INIT;
	size_t capacity = 0;
	if (buf_read_file(&text, path, (size_t)4 << 30, &err))
		die(EX_NOINPUT, "%s", buf_str(&err));
	for (size_t at = 0; at < text.len;) {
		char name[200], status[100];
		size_t bytes;
		char *end = memchr(text.data + at, '\n', text.len - at);
		if (!end || sscanf(text.data + at, "result %199s %99s %zu", name, status, &bytes) != 3
			|| bytes > text.len - (size_t)(end + 1 - text.data))
			die(EX_DATAERR, "%s: a result at byte %zu is broken", path, at);
		if (answers->count == capacity) {
			capacity = capacity ? capacity * 2 : 1024;
			answers->list = xrealloc(answers->list, capacity * sizeof *answers->list);
		}
		for (char *c = name; *c; c++)
			*c = *c == '~' ? ' ' : *c;
		struct answer *a = &answers->list[answers->count++];
		*a = (struct answer){ .name = xstrdup(name), .status = xstrdup(status), .whole = xmalloc(bytes + 1),
			.whole_bytes = bytes };
		memcpy(a->whole, end + 1, bytes);
		at = (size_t)(end + 1 - text.data) + bytes;
	}
	buf_release(&text);
	answers_sort(answers);
}

struct comparison {
	struct answers results;
	struct answers old;		/* of probes that this run did not have */
	struct io_out *values;
	FILE *whole;
	unsigned counts[8];
	char *last;
};

static void
write_answer(struct comparison *c, const struct answer *a)
{
	struct buf line = BUF_INIT;
	buf_addf(&line, "%s\t%s\t%s\t%s\t", a->name, a->text_id, a->status, a->hash);
	for (size_t k = 0; k < a->raw_bytes; k++)
		buf_addf(&line, "%02x", a->raw[k]);
	buf_addc(&line, '\n');
	io_write(c->values, line.data, line.len);
	buf_release(&line);
}

static void
compare_probe(const struct probe *p, void *context)
{
	static const char *const words[] = { "same", "within", "DIFFERENT", "UNSUPPORTED", "not PTX", "stale" };
	struct comparison *c = context;
	struct answer a = { 0 };
	const struct answer *result = answers_find(&c->results, p->name);
	struct buf why = BUF_INIT, raw = BUF_INIT;
	char id[TEXT_ID], hash[HASH_ID_HEX] = "";
	double worst;
	if (!result)
		return;
	a = *result;
	probe_text_id(p, id);
	if (!strcmp(a.status, "ran")) {
		if (a.whole_bytes != p->out_bytes)
			die(EX_DATAERR, "%s has an output of another size", p->name);
		answer_canonical(p, a.whole);
		hash_id(a.whole, a.whole_bytes, hash);
		answer_sample(p, a.whole, &raw);
	}
	a.text_id = id;
	a.hash = hash;
	a.raw = (uint8_t *)raw.data;
	a.raw_bytes = raw.len;
	enum verdict v = probe_judge(p, &a, &worst, &why, NULL);
	c->counts[v]++;
	write_answer(c, &a);
	if (v == DIFFERENT || v == UNSUPPORTED_HERE)
		printf("%s\t%s\t%s\n", words[v], p->name, buf_str(&why));
	else if (v == NOT_PTX)
		printf("%s\t%s\t%.*s\n", words[v], p->name, (int)strcspn((char *)result->whole, "\n"), (char *)result->whole);
	else if (v == WITHIN)
		printf("%s\t%s\t%.3f of the error allowed\n", words[v], p->name, worst);
	if (v == DIFFERENT && c->whole && !strcmp(a.status, "ran")) {
		fprintf(c->whole, "result %s %s %zu\n", p->name, a.status, a.whole_bytes);
		fwrite(a.whole, 1, a.whole_bytes, c->whole);
	}
	buf_release(&why);
	buf_release(&raw);
}

static void
compare(const char *results, const char *values, const char *whole)
{
	struct comparison c = { 0 };
	struct buf err = BUF_INIT;
	read_results(&c.results, results);
	c.values = io_open_out(values, &err);
	c.whole = whole ? fopen(whole, "wb") : NULL;
	if (!c.values || (whole && !c.whole))
		die(EX_CANTCREAT, "%s", buf_str(&err));
	probes_each(compare_probe, &c);
	if (io_commit(c.values, &err))
		die(EX_IOERR, "%s", buf_str(&err));
	if (c.whole)
		fclose(c.whole);
	printf("%u the same, %u within the error allowed, %u different, %u not supported here, %u that are not PTX\n", c.counts[SAME],
		c.counts[WITHIN], c.counts[DIFFERENT], c.counts[UNSUPPORTED_HERE], c.counts[NOT_PTX]);
	answers_release(&c.results);
}

int
main(int argc, char **argv)
{
	static struct generator generator;
	zst_register();
	if (argc == 2 && !strcmp(argv[1], "generate")) {
		probes_each(write_probe, &generator);
		fprintf(stderr, "%u probes, %u sets of operands\n", generator.n_probes, generator.n_ids);
	} else if (argc == 2 && !strcmp(argv[1], "rows")) {
		list_rows();
	} else if (argc >= 4 && argc <= 5 && !strcmp(argv[1], "compare")) {
		compare(argv[2], argv[3], argv[4]);
	} else {
		die(EX_USAGE, "usage: coverage generate | coverage rows | coverage compare RESULTS VALUES [WHOLE]");
	}
	return fflush(stdout) ? EX_IOERR : 0;
}
