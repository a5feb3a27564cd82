/* In: a folder of short texts about CUDA. Out: those that fit an operation and a phase, with the hash of
 * each, so that a trajectory can say which it saw. A text opens with two lines that say where it fits. */
#include <dirent.h>

#include "agent/prompt.h"
#include "base/die.h"
#include "hash/sha256.h"
#include "rec/json.h"

enum { MAX_TEXTS = 200, MAX_BYTES = 64 << 10 };

struct text {
	char *name, *op_types, *phases, *body;
	char sha256[SHA256_HEX];
};

struct guidance {
	struct text text[MAX_TEXTS];
	int count;
};

/* "KEY: VALUE\n" at *at; the value returned owned, *at moved behind it; NULL if it is not there. */
static char *
take_line(const char **at, const char *key)
{
	size_t n = strlen(key), length;
	char *value;

	if (strncmp(*at, key, n) != 0)
		return NULL;
	*at += n;
	length = strcspn(*at, "\n");
	value = xstrndup(*at, length);
	*at += length + ((*at)[length] == '\n');
	return value;
}

static int
parse_text(struct text *t, const char *name, const struct buf *file, struct buf *err)
{
	const char *at = buf_str(file);

	sha256_hex(at, file->len, t->sha256);
	t->name = xstrndup(name, strlen(name) - 3);
	if (strncmp(at, "---\n", 4) == 0) {
		at += 4;
		t->op_types = take_line(&at, "op_types: ");
		t->phases = t->op_types ? take_line(&at, "phases: ") : NULL;
	}
	if (!t->phases || strncmp(at, "---\n", 4) != 0)
		return buf_err(err, "%s: must open with the lines ---, op_types: ..., phases: ..., ---", name);
	t->body = xstrdup(at + 4);
	return 0;
}

static int
load_text(struct guidance *g, const char *directory, const char *name, struct buf *err)
{
	struct buf path = BUF_INIT, file = BUF_INIT;
	int status;

	if (g->count == MAX_TEXTS)
		return buf_err(err, "%s: more than %d texts", directory, MAX_TEXTS);
	buf_addf(&path, "%s/%s", directory, name);
	status = buf_read_file(&file, path.data, MAX_BYTES, err);
	if (status == 0)
		status = parse_text(&g->text[g->count++], name, &file, err);
	buf_release(&path);
	buf_release(&file);
	return status;
}

static int
is_text(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);

	return entry->d_name[0] != '.' && n > 3 && strcmp(entry->d_name + n - 3, ".md") == 0
		&& strcmp(entry->d_name, "README.md") != 0;
}

static int
by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

struct guidance *
guidance_load(const char *directory, struct buf *err)
{
	struct guidance *g = xcalloc(1, sizeof *g);
	struct dirent **entries = NULL;
	int count = 0, status = 0;

	if (directory && *directory)
		count = scandir(directory, &entries, is_text, by_bytes);
	if (count < 0)
		status = buf_err(err, "%s: this folder of guidance cannot be read", directory);
	for (int i = 0; i < count; i++) {
		if (status == 0)
			status = load_text(g, directory, entries[i]->d_name, err);
		free(entries[i]);
	}
	free(entries);
	if (status == 0)
		return g;
	guidance_free(g);
	return NULL;
}

void
guidance_free(struct guidance *g)
{
	if (!g)
		return;
	for (int i = 0; i < g->count; i++) {
		free(g->text[i].name);
		free(g->text[i].op_types);
		free(g->text[i].phases);
		free(g->text[i].body);
	}
	free(g);
}

/* Whether a word stands in a list of words. */
static bool
lists(const char *words, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = words; (p = strstr(p, word)); p += n)
		if ((p == words || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
			return true;
	return false;
}

void
guidance_choose(const struct guidance *g, const char *op_type, enum agent_phase phase, struct buf *text,
	json_t **used)
{
	*used = json_array();
	for (int i = 0; g && i < g->count; i++) {
		const struct text *t = &g->text[i];

		if (!lists(t->phases, agent_phase_name(phase)))
			continue;
		if (!lists(t->op_types, "any") && !lists(t->op_types, op_type))
			continue;
		buf_addf(text, "\n%s", t->body);
		json_array_append_new(*used, json_pack("{s:s,s:s}", "name", t->name, "sha256", t->sha256));
	}
}
