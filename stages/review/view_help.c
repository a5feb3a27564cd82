/* The help: the table of keys. */
#include "view.h"

static void
load(struct view *v, struct tui *t)
{
	struct buf text = BUF_INIT;

	(void)t;
	keys_help(&text);
	text_wrap(buf_str(&text), text.len, tui_width(), &v->lines);
	buf_release(&text);
}

static void
heading(struct view *v, struct tui *t, struct buf *out)
{
	(void)v;
	(void)t;
	buf_adds(out, "Keys");
}

static bool
request(struct view *v, struct tui *t, enum request request)
{
	(void)v;
	(void)t;
	return request == REQUEST_HELP || request == REQUEST_OPEN;
}

const struct view_ops view_help = { "help", load, view_count_lines, view_line, heading, request, false };
