/* In: a path. Out: the raw specs that it stands for, each read, completed and turned into a case, or refused
 * with a reason. Only a path that gives nothing at all is an error of the whole run. */
#include "gather.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "base/die.h"
#include "base/io.h"
#include "contract.h"
#include "rec/case.h"
#include "refuse.h"
#include "spec.h"

enum { MAX_SPECS = 1 << 20 };

static struct raw_spec *
add(struct raw_specs *specs, const char *file, uint64_t line)
{
	struct raw_spec *s;

	if (specs->count == specs->capacity) {
		specs->capacity = specs->capacity ? 2 * specs->capacity : 64;
		specs->list = xrealloc(specs->list, specs->capacity * sizeof *specs->list);
	}
	s = &specs->list[specs->count++];
	*s = (struct raw_spec){ .file = xstrdup(file), .line = line };
	return s;
}

void
gather_release(struct raw_specs *specs)
{
	for (size_t i = 0; i < specs->count; i++) {
		struct raw_spec *s = &specs->list[i];

		free(s->file);
		buf_release(&s->text);
		buf_release(&s->reason.message);
		buf_release(&s->out);
		task_free(s->task);
	}
	free(specs->list);
	*specs = (struct raw_specs){ 0 };
}

/* ---- spec folders */

/* What was derived came last; in the record it stands where a reader looks for it. Returned owned. */
static json_t *
in_order(json_t *section)
{
	static const char *const keys[] = { "id", "name", "op_type", "tags", "forms", "prompt", "reference", "math_spec",
		"oracle", "axes", "scalars", "inputs", "outputs", "rtol", "atol", "reduction", "workloads", "examples",
		"prototype", "license", "source" };
	json_t *ordered = json_object();

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (json_object_get(section, keys[i]))
			json_object_set(ordered, keys[i], json_object_get(section, keys[i]));
	json_object_update_missing(ordered, section);
	return ordered;
}

static void
write_case(struct raw_spec *s, json_t *section)
{
	static const char *const names[] = { "task" };
	json_t *const values[] = { in_order(section) };
	static const char empty[] = "{\"schema_version\":\"" REC_SCHEMA_VERSION "\"}";
	struct buf err = BUF_INIT;
	struct rec_case c;

	if (rec_case_scan(&c, empty, sizeof empty - 1, &err) < 0 || rec_case_splice(&c, 1, names, values, &s->out, &err) < 0)
		refuse(&s->reason, "bad_record", "%s", buf_str(&err));
	json_decref(values[0]);
	buf_release(&err);
}

static void
add_folder(struct raw_specs *specs, const char *path)
{
	struct raw_spec *s = add(specs, path, 0);
	json_t *section = spec_read(path, &s->text, &s->reason);

	if (section)
		s->task = contract_complete(section, &s->reason);
	if (s->task)
		write_case(s, section);
	json_decref(section);
}

/* An entry of a folder of specs: folders are specs, Python files were meant as such, all else is none. */
static void
add_entry(struct raw_specs *specs, const char *folder, const char *name)
{
	struct buf path = BUF_INIT;
	const char *dot = strrchr(name, '.');
	struct stat st;

	buf_addf(&path, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", name);
	if (stat(buf_str(&path), &st) < 0)
		refuse(&add(specs, buf_str(&path), 0)->reason, "unreadable", "%s", strerror(errno));
	else if (S_ISDIR(st.st_mode))
		add_folder(specs, buf_str(&path));
	else if (dot && !strcmp(dot, ".py"))
		refuse(&add(specs, buf_str(&path), 0)->reason, "unsupported_format",
			"PyTorch modules are not read yet: write the task as a spec folder");
	buf_release(&path);
}

static int
add_folder_of_folders(struct raw_specs *specs, const char *path, int *status, struct buf *err)
{
	struct dirent **names;
	int count = scandir(path, &names, NULL, alphasort);
	size_t before = specs->count;

	if (count < 0) {
		*status = EX_NOINPUT;
		return buf_err(err, "%s: %s", path, strerror(errno));
	}
	for (int i = 0; i < count; i++) {
		if (names[i]->d_name[0] != '.' && specs->count < MAX_SPECS)
			add_entry(specs, path, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	if (specs->count > before)
		return 0;
	*status = EX_NOINPUT;
	return buf_err(err, "%s: there is no task.json in this folder, and no spec folder", path);
}

/* A folder is a spec when it holds one of a spec's files, even if task.json is what it lacks. */
static bool
is_spec_folder(const char *path)
{
	static const char *const names[] = { "task.json", "prompt.md", "reference.c", "reference.py", "spec.math",
		"definition.json" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct buf file = BUF_INIT;
		struct stat st;
		bool there;

		buf_addf(&file, "%s/%s", path, names[i]);
		there = lstat(buf_str(&file), &st) == 0;
		buf_release(&file);
		if (there)
			return true;
	}
	return false;
}

/* ---- files of cases */

/* All other sections of the case stay as they are; a task that was complete stays byte for byte too. */
static void
complete_case(struct raw_spec *s)
{
	static const char *const names[] = { "task" };
	struct buf err = BUF_INIT;
	json_t *section = NULL, *before = NULL;
	struct rec_case c;

	if (rec_case_scan(&c, buf_str(&s->text), s->text.len, &err) < 0) {
		refuse(&s->reason, "bad_json", "%s", buf_str(&err));
	} else if (!(section = rec_case_section(&c, "task", &err))) {
		refuse(&s->reason, "bad_record", "%s", buf_str(&err));
	} else {
		before = json_deep_copy(section);
		s->task = contract_complete(section, &s->reason);
	}
	if (s->task && json_equal(before, section))
		buf_add(&s->out, s->text.data, s->text.len);
	else if (s->task && rec_case_splice(&c, 1, names, &section, &s->out, &err) < 0)
		refuse(&s->reason, "bad_record", "%s", buf_str(&err));
	json_decref(before);
	json_decref(section);
	buf_release(&err);
}

static int
add_lines(struct raw_specs *specs, const char *path, int *status, struct buf *err)
{
	struct io_in *in = io_open_in(path, err);
	struct buf line = BUF_INIT;
	enum io_line got = IO_EOF;

	*status = EX_NOINPUT;
	if (!in)
		return -1;
	while (specs->count < MAX_SPECS && (got = io_read_line(in, &line, REC_CASE_MAX_BYTES, err)) != IO_EOF &&
	    got != IO_ERROR) {
		struct raw_spec *s = add(specs, io_name(in), io_line_number(in));

		buf_add(&s->text, buf_str(&line), line.len);
		if (got == IO_TOO_LONG)
			refuse(&s->reason, "too_large", "the line is longer than %d bytes", REC_CASE_MAX_BYTES);
		else if (got == IO_TRUNCATED)
			refuse(&s->reason, "truncated", "the last line has no newline: the file was cut");
		else
			complete_case(s);
	}
	*status = EX_IOERR;
	buf_release(&line);
	io_close_in(in);
	return got == IO_ERROR ? -1 : 0;
}

static bool
ends_with(const char *text, const char *suffix)
{
	size_t length = strlen(text), tail = strlen(suffix);

	return length >= tail && !strcmp(text + length - tail, suffix);
}

int
gather_path(struct raw_specs *specs, const char *path, int *status, struct buf *err)
{
	struct stat st;

	*status = EX_NOINPUT;
	if (!strcmp(path, "-"))
		return add_lines(specs, path, status, err);
	if (!*path || stat(path, &st) < 0)
		return buf_err(err, "%s: %s", path, strerror(*path ? errno : ENOENT));
	if (S_ISDIR(st.st_mode) && is_spec_folder(path)) {
		add_folder(specs, path);
		return 0;
	}
	if (S_ISDIR(st.st_mode))
		return add_folder_of_folders(specs, path, status, err);
	if (ends_with(path, ".jsonl") || ends_with(path, ".jsonl.zst"))
		return add_lines(specs, path, status, err);
	if (ends_with(path, ".py")) {
		refuse(&add(specs, path, 0)->reason, "unsupported_format",
			"PyTorch modules are not read yet: write the task as a spec folder");
		return 0;
	}
	*status = EX_USAGE;
	return buf_err(err, "%s: neither a spec folder nor a file of cases (.jsonl, .jsonl.zst)", path);
}
