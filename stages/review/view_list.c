/* The list of tasks: one line each, with what holds for it. */
#include "view.h"

#include "decisions.h"

/* Rows and heading are one layout: the name takes what the others leave. */
static void
add_row(const char *mark, const char *name, const char *family, const char *dtypes, const char *forms,
	const char *status, int width, struct buf *out)
{
	int name_width = width - 2 - 14 - 17 - 4 - 12;

	text_fit(mark, 2, out);
	text_fit(name, (name_width < 16 ? 16 : name_width) - 1, out);
	buf_addc(out, ' ');
	text_fit(family, 13, out);
	buf_addc(out, ' ');
	text_fit(dtypes, 16, out);
	buf_addc(out, ' ');
	text_fit(forms, 3, out);
	buf_addc(out, ' ');
	buf_adds(out, status);
}

static size_t
count(const struct view *v, const struct tui *t)
{
	(void)v;
	return t->list.count;
}

static void
line(const struct view *v, const struct tui *t, size_t index, struct buf *out)
{
	const struct queue_item *item = &t->list.item[index];
	const char *status = item->action ? decisions_status(item->action) : item->lapsed ? "changed" : "";

	(void)v;
	add_row(item->action == QUEUE_ACCEPT ? "+" : item->action == QUEUE_REJECT ? "-" : " ", item->name, item->family,
		item->dtypes, item->forms, status, tui_width(), out);
}

static void
heading(struct view *v, struct tui *t, struct buf *out)
{
	(void)v;
	(void)t;
	add_row("", "task", "family", "dtypes", "ECM", "decision", tui_width(), out);
}

static bool
request(struct view *v, struct tui *t, enum request request)
{
	(void)v;
	if (request != REQUEST_OPEN)
		return false;
	tui_push(t, &view_task);
	return true;
}

const struct view_ops view_list = { "list", NULL, count, line, heading, request, true };
