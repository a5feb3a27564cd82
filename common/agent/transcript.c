/* In: a folder of recorded turns. Out: turns by phase, branch and number. What is wrong with a transcript
 * is said when it is loaded, with the place, so that a replay never stops half way. */
#include "agent/transcript.h"

#include <sys/stat.h>

#include "agent/tools.h"
#include "rec/json.h"

enum { MAX_BYTES = 4 << 20, MAX_TURNS = 64, MAX_BRANCHES = 256, NAME_MAX_LENGTH = 100 };
#define FORMAT "kernelmosaic-transcript/1"

/* A plain file name: no folders, nothing hidden. */
static bool
is_name(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

	return *name && *name != '.' && strlen(name) <= NAME_MAX_LENGTH && name[strspn(name, allowed)] == '\0';
}

static bool
is_branch(const char *name)
{
	return *name >= 'a' && *name <= 'z' && strlen(name) < POLICY_BRANCH_MAX && strcmp(name, "root") != 0
		&& name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789")] == '\0';
}

/* ---- checking */

static int
check_answers(const json_t *answers, const char *where, struct buf *err)
{
	static const char *const texts[] = { "status", "workload", "check", "kind", NULL };
	const char *key;
	json_t *value;

	if (!json_is_object(answers))
		return buf_err(err, "%s.answers: must be an object", where);
	json_object_foreach((json_t *)answers, key, value) {
		bool known = strcmp(key, "line") == 0 && json_is_integer(value);

		for (int i = 0; texts[i]; i++)
			known |= strcmp(key, texts[i]) == 0 && json_is_string(value);
		if (!known)
			return buf_err(err, "%s.answers.%s: unknown key, or not of its type", where, key);
	}
	return 0;
}

static int
check_keys(const json_t *object, const char *const *known, const char *where, struct buf *err)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)object, key, value) {
		int i = 0;

		while (known[i] && strcmp(known[i], key) != 0)
			i++;
		if (!known[i])
			return buf_err(err, "%s.%s: unknown key", where, key);
	}
	return 0;
}

static int
check_turn(const json_t *turn, bool last, const char *where, struct buf *err)
{
	static const char *const keys[] = { "content", "tool", "source", "answers", "staged_error", NULL };
	const char *tool = rec_json_string(turn, "tool", NULL), *source = rec_json_string(turn, "source", NULL);

	if (!json_is_object(turn) || !json_is_string(json_object_get(turn, "content")))
		return buf_err(err, "%s: must be an object with a content", where);
	if (check_keys(turn, keys, where, err) < 0)
		return -1;
	if (json_object_get(turn, "tool") && (!tool || !tools_known(tool)))
		return buf_err(err, "%s.tool: must be compile, test, profile or submit", where);
	if (!tool != !source)
		return buf_err(err, "%s: tool and source go together", where);
	if (source && !is_name(source))
		return buf_err(err, "%s.source: must be the name of a file in the same folder", where);
	if (json_object_get(turn, "staged_error") && !rec_json_string(turn, "staged_error", NULL))
		return buf_err(err, "%s.staged_error: must be a string", where);
	if (last != (tool && strcmp(tool, "submit") == 0))
		return buf_err(err, "%s: the last turn calls submit, and no earlier one does", where);
	return json_object_get(turn, "answers") ? check_answers(json_object_get(turn, "answers"), where, err) : 0;
}

static int
check_turns(const json_t *turns, const char *where, struct buf *err)
{
	size_t count = json_array_size(turns), i;
	const json_t *turn;

	if (!count || count > MAX_TURNS)
		return buf_err(err, "%s: must be a list of 1 to %d turns", where, MAX_TURNS);
	json_array_foreach(turns, i, turn) {
		char place[128];

		snprintf(place, sizeof place, "%s[%zu]", where, i);
		if (check_turn(turn, i + 1 == count, place, err) < 0)
			return -1;
	}
	return 0;
}

static int
check_branch(const json_t *branch, const json_t *earlier, const char *where, struct buf *err)
{
	static const char *const keys[] = { "branch", "parent", "turns", NULL };
	const char *name = rec_json_string(branch, "branch", ""), *parent = rec_json_string(branch, "parent", "");
	char place[128];

	if (!is_branch(name))
		return buf_err(err, "%s.branch: must match [a-z][a-z0-9]* and not be \"root\"", where);
	if (json_object_get(earlier, name))
		return buf_err(err, "%s.branch: \"%s\" is there already", where, name);
	if (strcmp(parent, "root") != 0 && !json_object_get(earlier, parent))
		return buf_err(err, "%s.parent: must be \"root\" or an earlier branch", where);
	if (check_keys(branch, keys, where, err) < 0)
		return -1;
	snprintf(place, sizeof place, "%s.turns", where);
	return check_turns(json_object_get(branch, "turns"), place, err);
}

static int
check_branches(const json_t *branches, struct buf *err)
{
	json_t *earlier = json_object();
	const json_t *branch;
	int status = 0;
	size_t i;

	if (!json_is_array(branches) || json_array_size(branches) > MAX_BRANCHES)
		status = buf_err(err, "optimize: must be a list of at most %d branches", MAX_BRANCHES);
	json_array_foreach(branches, i, branch) {
		char where[64];

		snprintf(where, sizeof where, "optimize[%zu]", i);
		if (status < 0 || check_branch(branch, earlier, where, err) < 0) {
			status = -1;
			break;
		}
		json_object_set_new(earlier, rec_json_string(branch, "branch", ""), json_true());
	}
	json_decref(earlier);
	return status;
}

int
transcript_check(const json_t *root, const char *task_name, struct buf *err)
{
	static const char *const keys[] = { "format", "task", "author", "solve", "repair", "optimize", NULL };

	if (!json_is_object(root) || strcmp(rec_json_string(root, "format", ""), FORMAT) != 0)
		return buf_err(err, "format: must be \"" FORMAT "\"");
	if (check_keys(root, keys, "transcript", err) < 0)
		return -1;
	if (task_name && strcmp(rec_json_string(root, "task", ""), task_name) != 0)
		return buf_err(err, "task: must be \"%s\", the folder's name", task_name);
	if (!*rec_json_string(root, "author", ""))
		return buf_err(err, "author: must be a name");
	if (check_turns(json_object_get(root, "solve"), "solve", err) < 0)
		return -1;
	if (json_object_get(root, "repair") && check_turns(json_object_get(root, "repair"), "repair", err) < 0)
		return -1;
	return json_object_get(root, "optimize") ? check_branches(json_object_get(root, "optimize"), err) : 0;
}

/* ---- loading */

/* Hashing in the order of citation makes the digest one of all that the transcript says. */
static int
load_sources(struct transcript *t, const char *folder, const json_t *turns, struct sha256_state *digest,
	struct buf *err)
{
	const json_t *turn;
	size_t i;

	json_array_foreach(turns, i, turn) {
		const char *name = rec_json_string(turn, "source", NULL);
		struct buf path = BUF_INIT, text = BUF_INIT;
		int status = 0;

		if (!name || json_object_get(t->sources, name))
			continue;
		buf_addf(&path, "%s/%s", folder, name);
		status = buf_read_file(&text, path.data, POLICY_MAX_SOURCE_BYTES, err);
		if (status == 0) {
			sha256_text(digest, name);
			sha256_part(digest, buf_str(&text), text.len);
			json_object_set_new(t->sources, name, rec_json_text(buf_str(&text), text.len));
		}
		buf_release(&path);
		buf_release(&text);
		if (status < 0)
			return -1;
	}
	return 0;
}

static int
load_all_sources(struct transcript *t, const char *folder, struct sha256_state *digest, struct buf *err)
{
	const json_t *branch;
	size_t i;

	if (load_sources(t, folder, json_object_get(t->root, "solve"), digest, err) < 0
			|| load_sources(t, folder, json_object_get(t->root, "repair"), digest, err) < 0)
		return -1;
	json_array_foreach(json_object_get(t->root, "optimize"), i, branch)
		if (load_sources(t, folder, json_object_get(branch, "turns"), digest, err) < 0)
			return -1;
	return 0;
}

static int
parse(struct transcript *t, const char *path, const struct buf *text, const char *task_name, struct buf *err)
{
	struct buf why = BUF_INIT;
	int status = 0;

	t->root = rec_json_parse(buf_str(text), text->len, &why);
	if (!t->root || transcript_check(t->root, task_name, &why) < 0)
		status = buf_err(err, "%s: %s", path, buf_str(&why));
	buf_release(&why);
	return status;
}

int
transcript_load(struct transcript *t, const char *directory, const char *task_name, struct buf *err)
{
	struct buf folder = BUF_INIT, path = BUF_INIT, text = BUF_INIT;
	struct sha256_state *digest = sha256_start();
	uint8_t bytes[SHA256_BYTES];
	struct stat st;
	int status = 0;

	*t = (struct transcript){ NULL, json_object(), "" };
	buf_addf(&folder, "%s/%s", directory, task_name);
	buf_addf(&path, "%s/transcript.json", folder.data);
	if (is_name(task_name) && stat(path.data, &st) == 0) {
		status = 1;
		if (buf_read_file(&text, path.data, MAX_BYTES, err) < 0
				|| parse(t, path.data, &text, task_name, err) < 0)
			status = -1;
		sha256_part(digest, buf_str(&text), text.len);
		if (status == 1 && load_all_sources(t, folder.data, digest, err) < 0)
			status = -1;
	}
	sha256_end(digest, bytes);
	sha256_to_hex(bytes, t->sha256);
	buf_release(&folder);
	buf_release(&path);
	buf_release(&text);
	if (status < 1)
		transcript_release(t);
	return status;
}

void
transcript_release(struct transcript *t)
{
	json_decref(t->root);
	json_decref(t->sources);
	*t = (struct transcript){ 0 };
}

/* ---- looking up */

const json_t *
transcript_turn(const struct transcript *t, enum agent_phase phase, const char *branch, uint64_t turn)
{
	const json_t *entry;
	size_t i;

	if (phase != PHASE_OPTIMIZE)
		return json_array_get(json_object_get(t->root, agent_phase_name(phase)), turn);
	json_array_foreach(json_object_get(t->root, "optimize"), i, entry)
		if (strcmp(rec_json_string(entry, "branch", ""), branch) == 0)
			return json_array_get(json_object_get(entry, "turns"), turn);
	return NULL;
}

const char *
transcript_branch(const struct transcript *t, const char *parent, uint64_t child)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(t->root, "optimize"), i, entry)
		if (strcmp(rec_json_string(entry, "parent", ""), parent) == 0 && child-- == 0)
			return rec_json_string(entry, "branch", NULL);
	return NULL;
}
