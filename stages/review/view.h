/* The terminal program: a stack of views, each a table of functions, and one table of keys. */
#ifndef REVIEW_VIEW_H
#define REVIEW_VIEW_H

#include <stdbool.h>

#include "store/queue.h"
#include "text.h"

/* What a key asks for. The table of keys in keys.c gives each its keys and its line of help. */
enum request {
	REQUEST_NONE,
	REQUEST_ACCEPT, REQUEST_REJECT, REQUEST_SKIP, REQUEST_UNDO, REQUEST_NEXT, REQUEST_PREVIOUS,
	REQUEST_OPEN, REQUEST_NEXT_PAGE, REQUEST_PREVIOUS_PAGE,
	REQUEST_UP, REQUEST_DOWN, REQUEST_SCREEN_UP, REQUEST_SCREEN_DOWN, REQUEST_FIRST, REQUEST_LAST,
	REQUEST_SEARCH, REQUEST_SEARCH_AGAIN, REQUEST_HELP, REQUEST_REPAINT, REQUEST_BACK, REQUEST_QUIT
};

/* The request of a key; REQUEST_NONE if it has none. */
enum request keys_request(int key);
/* The help, one line for each request, made from the same table. Appended. */
void keys_help(struct buf *out);

struct tui;
struct view;

struct view_ops {
	const char *name;
	/* Makes `lines` for the present width, whenever what is shown or the width has changed. NULL: lines are
	 * made one at a time, by count and line. */
	void (*load)(struct view *v, struct tui *t);
	size_t (*count)(const struct view *v, const struct tui *t);
	void (*line)(const struct view *v, const struct tui *t, size_t index, struct buf *out);
	/* The row under the title: column heads, tabs. */
	void (*heading)(struct view *v, struct tui *t, struct buf *out);
	/* A request of its own; false: not mine. */
	bool (*request)(struct view *v, struct tui *t, enum request request);
	bool has_cursor;	/* one line is the current one; else the lines are scrolled */
};
extern const struct view_ops view_list, view_task, view_help;

struct view {
	const struct view_ops *ops;
	struct text_lines lines;
	size_t current, top;	/* the current line; the first one on the screen */
	int page;		/* task view: the page that is shown */
};

enum { TUI_VIEWS = 3, TUI_MIN_ROWS = 8, TUI_MIN_COLUMNS = 40 };

struct tui {
	struct queue *queue;
	int64_t version;		/* of the queue, when the list was read */
	struct queue_list list;
	size_t item;			/* the current one; list.count is never 0 */
	struct view view[TUI_VIEWS];
	int depth;			/* views on the stack; the last one is on the screen */
	struct buf message, search;
	bool quit;
};

/* For views that load: count and line of `lines`. */
size_t view_count_lines(const struct view *v, const struct tui *t);
void view_line(const struct view *v, const struct tui *t, size_t index, struct buf *out);

/* Puts a view on top of the stack. */
void tui_push(struct tui *t, const struct view_ops *ops);
/* One line on the last row until the next key. */
void tui_say(struct tui *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Columns for a view's lines. */
int tui_width(void);

#endif
