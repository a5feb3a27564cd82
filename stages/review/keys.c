/* In: a key. Out: what it asks for; and the help, which is this same table. */
#include "screen.h"
#include "view.h"

static const struct {
	enum request request;
	int keys[4];
	const char *shown, *help;
} table[] = {
	{ REQUEST_ACCEPT, { 'a' }, "a", "accept it, and go to the next undecided task" },
	{ REQUEST_REJECT, { 'r' }, "r", "reject it for a reason, and go to the next undecided one" },
	{ REQUEST_SKIP, { 's' }, "s", "skip it: it stays undecided and comes last" },
	{ REQUEST_UNDO, { 'u' }, "u", "take back your last decision, as often as you like" },
	{ REQUEST_NEXT, { 'n' }, "n", "go to the next undecided task" },
	{ REQUEST_PREVIOUS, { 'p' }, "p", "go to the previous task" },
	{ REQUEST_OPEN, { SCREEN_ENTER }, "Enter", "list: open the task" },
	{ REQUEST_NEXT_PAGE, { SCREEN_TAB }, "Tab", "task: show its next form, or its contract" },
	{ REQUEST_PREVIOUS_PAGE, { SCREEN_BACK_TAB }, "S-Tab", "task: show its previous form" },
	{ REQUEST_DOWN, { 'j', SCREEN_DOWN }, "j, Down", "one line down" },
	{ REQUEST_UP, { 'k', SCREEN_UP }, "k, Up", "one line up" },
	{ REQUEST_SCREEN_DOWN, { SCREEN_PAGE_DOWN, ' ' }, "PgDn, Space", "one screen down" },
	{ REQUEST_SCREEN_UP, { SCREEN_PAGE_UP, 'b' }, "PgUp, b", "one screen up" },
	{ REQUEST_FIRST, { SCREEN_HOME, 'g' }, "Home, g", "to the first line" },
	{ REQUEST_LAST, { SCREEN_END, 'G' }, "End, G", "to the last line" },
	{ REQUEST_SEARCH, { '/' }, "/", "search in the list, or in what is shown of the task" },
	{ REQUEST_SEARCH_AGAIN, { '.' }, ".", "search again" },
	{ REQUEST_HELP, { '?' }, "?", "show this help" },
	{ REQUEST_REPAINT, { 'L' - '@' }, "C-l", "draw the screen again" },
	{ REQUEST_BACK, { 'q', SCREEN_ESCAPE }, "q, Esc", "close this view; q in the list ends the review" },
	{ REQUEST_QUIT, { 'Q' }, "Q", "end the review; every decision is on the disk already" },
};

enum request
keys_request(int key)
{
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		for (int k = 0; k < 4 && table[i].keys[k]; k++)
			if (table[i].keys[k] == key)
				return table[i].request;
	return REQUEST_NONE;
}

void
keys_help(struct buf *out)
{
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		buf_addf(out, "  %-13s%s\n", table[i].shown, table[i].help);
}
