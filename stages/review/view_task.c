/* One task: its forms and its contract, a page each, and what was decided about it. */
#include "view.h"

#include <jansson.h>

#include "decisions.h"
#include "rec/json.h"
#include "shown.h"

/* The task that the queue keeps; NULL, with a message on the screen, when it cannot be read. */
static json_t *
read_task(struct tui *t)
{
	struct buf text = BUF_INIT, err = BUF_INIT;
	json_t *task = NULL;

	if (queue_task(t->queue, t->list.item[t->item].row, &text, &err) == 0)
		task = rec_json_parse(buf_str(&text), text.len, &err);
	if (!task)
		tui_say(t, "%s", buf_str(&err));
	buf_release(&text);
	buf_release(&err);
	return task;
}

/* The next page that the task has, in either direction. */
static int
turn(const json_t *task, int page, int step)
{
	for (int i = 0; i < SHOWN_PAGES; i++) {
		page = (page + step + SHOWN_PAGES) % SHOWN_PAGES;
		if (shown_page_name(task, page))
			break;
	}
	return page;
}

static void
add_decision(const struct queue_item *item, struct buf *out)
{
	if (item->action)
		buf_addf(out, "%s by %s (%s, %s)%s%s\n", decisions_status(item->action), item->actor, item->actor_kind, item->mode,
			*item->reason ? ": " : "", item->reason);
	else
		buf_adds(out, item->lapsed ? "undecided: it was decided before, and has changed since\n" : "undecided\n");
	buf_addc(out, '\n');
}

static void
load(struct view *v, struct tui *t)
{
	json_t *task = read_task(t);
	struct buf text = BUF_INIT;

	add_decision(&t->list.item[t->item], &text);
	if (task) {
		if (!shown_page_name(task, v->page))
			v->page = turn(task, v->page, 1);
		shown_page_text(task, v->page, &text);
	}
	text_wrap(buf_str(&text), text.len, tui_width(), &v->lines);
	json_decref(task);
	buf_release(&text);
}

static void
heading(struct view *v, struct tui *t, struct buf *out)
{
	json_t *task = read_task(t);

	for (int page = 0; task && page < SHOWN_PAGES; page++) {
		const char *name = shown_page_name(task, page);

		if (name)
			buf_addf(out, page == v->page ? "[%s] " : " %s  ", name);
	}
	json_decref(task);
}

static bool
request(struct view *v, struct tui *t, enum request request)
{
	json_t *task;

	if (request != REQUEST_NEXT_PAGE && request != REQUEST_PREVIOUS_PAGE)
		return false;
	task = read_task(t);
	if (task)
		v->page = turn(task, v->page, request == REQUEST_NEXT_PAGE ? 1 : -1);
	json_decref(task);
	v->top = 0;
	return true;
}

const struct view_ops view_task = { "task", load, view_count_lines, view_line, heading, request, false };
