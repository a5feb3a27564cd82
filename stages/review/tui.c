/* In: keys. Out: decisions in the queue, one at a time, each on the disk before the next key is read.
 * Views say what stands on their lines; moving, searching and deciding are the same in all of them. */
#include <stdarg.h>

#include "base/die.h"
#include "commands.h"
#include "decisions.h"
#include "screen.h"
#include "view.h"

enum { MAX_REASON_BYTES = 500 };

/* ---- views */

static struct view *
top_view(struct tui *t)
{
	return &t->view[t->depth - 1];
}

size_t
view_count_lines(const struct view *v, const struct tui *t)
{
	(void)t;
	return v->lines.count;
}

void
view_line(const struct view *v, const struct tui *t, size_t index, struct buf *out)
{
	(void)t;
	buf_adds(out, text_line(&v->lines, index));
}

static void
load_view(struct tui *t)
{
	struct view *v = top_view(t);

	text_clear(&v->lines);
	if (v->ops->load)
		v->ops->load(v, t);
}

void
tui_push(struct tui *t, const struct view_ops *ops)
{
	if (t->depth == TUI_VIEWS || (t->depth && top_view(t)->ops == ops))
		return;
	t->view[t->depth++] = (struct view){ .ops = ops };
}

static void
pop(struct tui *t)
{
	text_release(&top_view(t)->lines);
	t->depth--;
	t->quit = t->depth == 0;
}

/* Makes another item the current one, in all views. */
static void
select_item(struct tui *t, size_t item)
{
	t->item = item;
	for (int i = 0; i < t->depth; i++) {
		t->view[i].page = 0;
		t->view[i].current = i == 0 ? item : 0;
		if (i > 0)
			t->view[i].top = 0;
	}
}

void
tui_say(struct tui *t, const char *format, ...)
{
	va_list args;

	buf_reset(&t->message);
	va_start(args, format);
	buf_vaddf(&t->message, format, args);
	va_end(args);
}

int
tui_width(void)
{
	return screen_columns();
}

/* Rows that a view has for its lines. */
static int
view_rows(void)
{
	return screen_rows() - 4;
}

/* ---- drawing */

static void
draw_title(struct tui *t)
{
	const struct queue_item *item = &t->list.item[t->item];
	struct buf left = BUF_INIT, right = BUF_INIT, row = BUF_INIT;

	buf_addf(&left, " km-review  %s%s", top_view(t)->ops == &view_task ? item->name : top_view(t)->ops->name,
		top_view(t)->ops == &view_list ? " of tasks" : "");
	buf_addf(&right, "%zu of %zu ", t->item + 1, t->list.count);
	text_fit(buf_str(&left), tui_width() - text_width(buf_str(&right)), &row);
	buf_adds(&row, buf_str(&right));
	screen_row(0, SCREEN_REVERSE, buf_str(&row));
	buf_release(&left);
	buf_release(&right);
	buf_release(&row);
}

static void
draw_status(struct tui *t)
{
	size_t counts[QUEUE_RETRACT + 1] = { 0 };
	struct buf row = BUF_INIT;

	for (size_t i = 0; i < t->list.count; i++)
		counts[t->list.item[i].action]++;
	buf_addf(&row, " undecided %zu  accepted %zu  rejected %zu  skipped %zu", counts[QUEUE_UNDECIDED],
		counts[QUEUE_ACCEPT], counts[QUEUE_REJECT], counts[QUEUE_SKIP]);
	screen_row(screen_rows() - 2, SCREEN_REVERSE, buf_str(&row));
	buf_release(&row);
}

/* Keeps the current line, or the end of the text, on the screen. */
static void
settle_scroll(struct tui *t)
{
	struct view *v = top_view(t);
	size_t count = v->ops->count(v, t), height = (size_t)view_rows();

	if (v->ops->has_cursor) {
		v->current = v->current < count ? v->current : count ? count - 1 : 0;
		if (v->current < v->top)
			v->top = v->current;
		if (v->current >= v->top + height)
			v->top = v->current - height + 1;
	}
	if (count <= height)
		v->top = 0;
	else if (v->top > count - height)
		v->top = count - height;
}

static void
draw_lines(struct tui *t)
{
	struct view *v = top_view(t);
	size_t count = v->ops->count(v, t);
	struct buf row = BUF_INIT;

	for (int i = 0; i < view_rows(); i++) {
		size_t index = v->top + (size_t)i;

		if (index >= count)
			break;
		buf_reset(&row);
		v->ops->line(v, t, index, &row);
		screen_row(2 + i, v->ops->has_cursor && index == v->current ? SCREEN_REVERSE : SCREEN_PLAIN, buf_str(&row));
	}
	buf_release(&row);
}

static bool
is_too_small(void)
{
	return screen_rows() < TUI_MIN_ROWS || screen_columns() < TUI_MIN_COLUMNS;
}

static void
draw_body(struct tui *t)
{
	struct view *v = top_view(t);
	struct buf heading = BUF_INIT;

	settle_scroll(t);
	draw_title(t);
	v->ops->heading(v, t, &heading);
	screen_row(1, SCREEN_BOLD, buf_str(&heading));
	draw_lines(t);
	draw_status(t);
	buf_release(&heading);
}

/* bottom: the last row; NULL: the message, or else a reminder of the keys. */
static void
draw(struct tui *t, const char *bottom, int cursor_column)
{
	static const char reminder[] = "a accept  r reject  s skip  u undo  n next  Tab form  ? help  q quit";

	screen_begin();
	if (is_too_small()) {
		struct buf row = BUF_INIT;

		buf_addf(&row, "too small: %dx%d at least", TUI_MIN_COLUMNS, TUI_MIN_ROWS);
		screen_row(0, SCREEN_PLAIN, buf_str(&row));
		buf_release(&row);
		cursor_column = -1;
	} else {
		draw_body(t);
		screen_row(screen_rows() - 1, SCREEN_PLAIN, bottom ? bottom : t->message.len ? buf_str(&t->message) : reminder);
	}
	screen_end(screen_rows() - 1, cursor_column);
}

/* ---- a line of input on the last row */

static void
add_character(struct buf *line, int key)
{
	char bytes[5] = { 0 };
	unsigned code = (unsigned)key;
	size_t count = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	if (code < 0x20 || code == 0x7f || code > 0x10ffff || line->len + count > MAX_REASON_BYTES)
		return;
	for (size_t i = count; i-- > 1; code >>= 6)
		bytes[i] = (char)(0x80 | (code & 0x3f));
	bytes[0] = (char)(count == 1 ? code : (0xf00u >> count & 0xf0u) | code);
	buf_add(line, bytes, count);
}

static void
remove_character(struct buf *line)
{
	while (line->len && ((unsigned char)line->data[line->len - 1] & 0xc0) == 0x80)
		line->len--;
	if (line->len)
		line->len--;
	if (line->data)
		line->data[line->len] = '\0';
}

/* True: Enter was pressed, and the line is in `line`. */
static bool
ask(struct tui *t, const char *question, struct buf *line)
{
	struct buf row = BUF_INIT;
	int key = SCREEN_NOTHING;

	buf_reset(line);
	while (key != SCREEN_ENTER && key != SCREEN_ESCAPE && key != SCREEN_GONE) {
		buf_reset(&row);
		/* The end of a long line is what its writer wants to see. */
		buf_addf(&row, "%s %s", question, buf_str(line));
		draw(t, buf_str(&row), text_width(buf_str(&row)));
		key = screen_key();
		if (key == SCREEN_BACKSPACE)
			remove_character(line);
		else if (key == 'U' - '@')
			buf_reset(line);
		else if (key == SCREEN_RESIZE)
			load_view(t);
		else if (key > 0)
			add_character(line, key);
	}
	t->quit = t->quit || key == SCREEN_GONE;
	buf_release(&row);
	return key == SCREEN_ENTER;
}

/* ---- decisions */

/* The next item after the current one that is undecided, or else skipped; the current one is looked at last. */
static bool
find_undecided(const struct tui *t, size_t *found)
{
	static const enum queue_action order[] = { QUEUE_UNDECIDED, QUEUE_SKIP };

	for (int o = 0; o < 2; o++) {
		for (size_t i = 1; i <= t->list.count; i++) {
			size_t item = (t->item + i) % t->list.count;

			if (t->list.item[item].action == order[o]) {
				*found = item;
				return true;
			}
		}
	}
	return false;
}

static void
add_message(struct tui *t, const char *text)
{
	buf_addf(&t->message, "%s%s", t->message.len ? "; " : "", text);
}

static void
go_to_undecided(struct tui *t)
{
	size_t found;

	if (!find_undecided(t, &found))
		add_message(t, "every task is decided");
	else if (found == t->item)
		add_message(t, "this is the last undecided task");
	else
		select_item(t, found);
}

static void
decide(struct tui *t, enum queue_action action, const char *reason)
{
	struct queue_item *item = &t->list.item[t->item];
	struct queue_decision d = { .task_id = item->task_id, .shown_sha256 = item->shown_sha256, .name = item->name,
		.action = action, .actor = review_actor(), .actor_kind = review_actor_kind(), .mode = "interactive",
		.reason = reason };
	struct buf err = BUF_INIT;

	if (queue_decide(t->queue, &d, &err) < 0 || queue_refresh(t->queue, &t->list, t->item, &err) < 0) {
		tui_say(t, "NOT SAVED: %s", buf_str(&err));
	} else {
		tui_say(t, "%s %s (u takes it back)", decisions_status(action), item->name);
		go_to_undecided(t);
	}
	buf_release(&err);
}

static void
reject(struct tui *t)
{
	struct buf reason = BUF_INIT;

	if (!ask(t, "Why is it rejected? (Esc: not at all)", &reason))
		tui_say(t, "nothing was decided");
	else if (strspn(buf_str(&reason), " ") == reason.len)
		tui_say(t, "nothing was decided: a rejection needs a reason");
	else
		decide(t, QUEUE_REJECT, buf_str(&reason));
	buf_release(&reason);
}

static void
undo(struct tui *t)
{
	struct buf err = BUF_INIT;
	int64_t row = 0;
	int got = queue_undo(t->queue, review_actor(), review_actor_kind(), "interactive", &row, &err);

	for (size_t i = 0; got > 0 && i < t->list.count; i++) {
		if (t->list.item[i].row != row)
			continue;
		got = queue_refresh(t->queue, &t->list, i, &err) < 0 ? -1 : 1;
		select_item(t, i);
		tui_say(t, "the decision about %s is taken back", t->list.item[i].name);
	}
	if (got == 0)
		tui_say(t, "there is no decision of yours to take back");
	if (got < 0)
		tui_say(t, "NOT SAVED: %s", buf_str(&err));
	buf_release(&err);
}

/* ---- moving and searching */

static void
move(struct tui *t, enum request request)
{
	struct view *v = top_view(t);
	size_t count = v->ops->count(v, t), screen = (size_t)view_rows();
	size_t *at = v->ops->has_cursor ? &v->current : &v->top;
	size_t last = v->ops->has_cursor ? count - 1 : count > screen ? count - screen : 0;

	switch (request) {
	case REQUEST_UP: *at -= *at > 0; break;
	case REQUEST_DOWN: *at += *at < last; break;
	case REQUEST_SCREEN_UP: *at -= *at < screen ? *at : screen; break;
	case REQUEST_SCREEN_DOWN: *at = *at + screen < last ? *at + screen : last; break;
	case REQUEST_FIRST: *at = 0; break;
	case REQUEST_LAST: *at = last; break;
	default: break;
	}
	if (v->ops->has_cursor)
		t->item = v->current;
}

/* From the line after the current one, round to it again. */
static void
search(struct tui *t)
{
	struct view *v = top_view(t);
	size_t count = v->ops->count(v, t), from = v->ops->has_cursor ? v->current : v->top;
	struct buf line = BUF_INIT;
	size_t i = 1;

	for (; t->search.len && i <= count; i++) {
		size_t index = (from + i) % count;

		buf_reset(&line);
		v->ops->line(v, t, index, &line);
		if (!text_holds(buf_str(&line), buf_str(&t->search)))
			continue;
		v->top = v->ops->has_cursor ? v->top : index;
		v->current = index;
		if (v->ops->has_cursor)
			t->item = index;
		break;
	}
	if (i > count || !t->search.len)
		tui_say(t, "not found: %s", buf_str(&t->search));
	buf_release(&line);
}

static void
ask_search(struct tui *t)
{
	struct buf word = BUF_INIT;

	if (ask(t, "/", &word)) {
		if (word.len) {
			buf_reset(&t->search);
			buf_adds(&t->search, buf_str(&word));
		}
		search(t);
	}
	buf_release(&word);
}

/* ---- requests */

static bool
decide_request(struct tui *t, enum request request)
{
	switch (request) {
	case REQUEST_ACCEPT: decide(t, QUEUE_ACCEPT, ""); return true;
	case REQUEST_SKIP: decide(t, QUEUE_SKIP, ""); return true;
	case REQUEST_REJECT: reject(t); return true;
	case REQUEST_UNDO: undo(t); return true;
	case REQUEST_NEXT: go_to_undecided(t); return true;
	case REQUEST_PREVIOUS:
		if (t->item > 0)
			select_item(t, t->item - 1);
		else
			tui_say(t, "this is the first task");
		return true;
	default: return false;
	}
}

static void
perform(struct tui *t, enum request request)
{
	struct view *v = top_view(t);

	if (v->ops->request(v, t, request))
		return;
	/* Nothing is decided behind the help. */
	if (v->ops != &view_help && decide_request(t, request))
		return;
	switch (request) {
	case REQUEST_SEARCH: ask_search(t); break;
	case REQUEST_SEARCH_AGAIN: search(t); break;
	case REQUEST_HELP: tui_push(t, &view_help); break;
	case REQUEST_REPAINT: screen_repaint(); break;
	case REQUEST_BACK: pop(t); break;
	case REQUEST_QUIT: t->quit = true; break;
	default: move(t, request); break;
	}
}

/* Reads the list again when another program has changed the queue; the current item stays. */
static int
follow_queue(struct tui *t, struct buf *err)
{
	int64_t version = queue_version(t->queue), row = t->list.item[t->item].row;
	struct queue_list list;

	if (version == t->version)
		return 0;
	if (queue_list(t->queue, &list, err) < 0)
		return -1;
	t->version = version;
	if (!list.count) {
		queue_list_release(&list);
		return 0;
	}
	queue_list_release(&t->list);
	t->list = list;
	t->item = t->item < list.count ? t->item : list.count - 1;
	for (size_t i = 0; i < list.count; i++)
		if (list.item[i].row == row)
			t->item = i;
	t->view[0].current = t->item;
	return 1;
}

static void
run(struct tui *t)
{
	struct buf err = BUF_INIT;
	bool changed = true;

	while (!t->quit) {
		int key, followed = follow_queue(t, &err);

		if (followed < 0)
			die(queue_status(t->queue), "%s", buf_str(&err));
		if (changed || followed)
			load_view(t);
		if (changed || followed)
			draw(t, NULL, -1);
		key = screen_key();
		changed = key != SCREEN_NOTHING;
		if (key == SCREEN_GONE)
			t->quit = true;
		else if (changed && key != SCREEN_RESIZE) {
			buf_reset(&t->message);
			/* On a screen that shows nothing, keys must not decide anything. */
			if (!is_too_small() || keys_request(key) == REQUEST_QUIT)
				perform(t, keys_request(key));
		}
	}
	buf_release(&err);
}

static void
close_tui(struct tui *t)
{
	while (t->depth > 0)
		pop(t);
	queue_list_release(&t->list);
	queue_close(t->queue);
	buf_release(&t->message);
	buf_release(&t->search);
}

int
review_tui(int argc, char **argv)
{
	static struct tui t;
	struct buf err = BUF_INIT;
	int status;
	size_t first;

	if (argc)
		die(EX_USAGE, "tui shows the queue, and %s was given; put it there by km-review import", argv[0]);
	(void)review_actor();
	t.queue = queue_open(review_args.queue, false, &status, &err);
	if (!t.queue)
		die(status, "%s", buf_str(&err));
	t.version = queue_version(t.queue);
	if (queue_list(t.queue, &t.list, &err) < 0)
		die(queue_status(t.queue), "%s", buf_str(&err));
	if (!t.list.count)
		die(EX_NOINPUT, "%s: the queue is empty; put cases there by km-review import", review_args.queue);
	if (screen_open(&status, &err) < 0)
		die(status, "%s", buf_str(&err));
	tui_push(&t, &view_list);
	t.item = t.list.count - 1;
	select_item(&t, find_undecided(&t, &first) ? first : 0);
	run(&t);
	screen_close();
	close_tui(&t);
	status = screen_signal() ? 128 + screen_signal() : EX_OK;
	return status;
}
