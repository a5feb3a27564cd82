/* In: rows of text. Out: a terminal that shows them, and the keys that are pressed. Whatever ends the
 * program, the terminal is given back first: signals are noted and reported as SCREEN_GONE, die() leaves by
 * exit(), and crashes end curses on their way out. */
#include "screen.h"

#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sysexits.h>
#include <unistd.h>

#include "text.h"

static bool is_open;
static volatile sig_atomic_t caught;

static void
catch(int signal_number)
{
	caught = signal_number;
}

/* endwin is not made for handlers; with the program lost anyway, a readable terminal is worth the try. */
static void
crash(int signal_number)
{
	signal(signal_number, SIG_DFL);
	screen_close();
	raise(signal_number);
}

static void
install_handlers(void)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	static const int crashing[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
	struct sigaction action = { .sa_handler = catch };

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
		sigaction(ending[i], &action, NULL);
	action.sa_handler = crash;
	for (size_t i = 0; i < sizeof crashing / sizeof *crashing; i++)
		sigaction(crashing[i], &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

int
screen_open(int *status, struct buf *err)
{
	const char *name = getenv("TERM");

	*status = EX_UNAVAILABLE;
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return buf_err(err, "the review needs a terminal on standard input and output; without one, use km-review "
			"decide");
	setlocale(LC_ALL, "");
	if (strcmp(nl_langinfo(CODESET), "UTF-8"))
		setlocale(LC_CTYPE, "C.UTF-8");
	set_escdelay(25);
	if (!name || !*name || !newterm(NULL, stdout, stdin))
		return buf_err(err, "the terminal \"%s\" is not known here; set TERM", name ? name : "");
	is_open = true;
	atexit(screen_close);
	install_handlers();
	cbreak();
	noecho();
	nonl();
	intrflush(stdscr, FALSE);
	keypad(stdscr, TRUE);
	timeout(100);
	return 0;
}

void
screen_close(void)
{
	if (is_open)
		endwin();
	is_open = false;
}

int
screen_rows(void)
{
	return LINES;
}

int
screen_columns(void)
{
	return COLS;
}

void
screen_begin(void)
{
	erase();
}

void
screen_row(int row, enum screen_style style, const char *text)
{
	static const attr_t attributes[] = { A_NORMAL, A_BOLD, A_REVERSE };
	struct buf fitted = BUF_INIT;

	if (row < 0 || row >= LINES)
		return;
	text_fit(text, COLS, &fitted);
	attrset(attributes[style]);
	mvaddstr(row, 0, buf_str(&fitted));
	attrset(A_NORMAL);
	buf_release(&fitted);
}

void
screen_end(int cursor_row, int cursor_column)
{
	curs_set(cursor_column >= 0);
	if (cursor_column >= 0)
		move(cursor_row, cursor_column < COLS ? cursor_column : COLS - 1);
	refresh();
}

void
screen_repaint(void)
{
	clearok(curscr, TRUE);
}

/* A closed terminal gives no key for ever; poll tells it from one where nobody types. */
static int
no_key(void)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	static int empty_reads;

	if (caught || poll(&in, 1, 0) < 0)
		return caught ? SCREEN_GONE : SCREEN_NOTHING;
	if (in.revents & (POLLHUP | POLLERR | POLLNVAL))
		return SCREEN_GONE;
	empty_reads = in.revents & POLLIN ? empty_reads + 1 : 0;
	return empty_reads > 20 ? SCREEN_GONE : SCREEN_NOTHING;
}

int
screen_key(void)
{
	static const struct {
		wint_t code;
		int key;
	} special[] = {
		{ KEY_UP, SCREEN_UP }, { KEY_DOWN, SCREEN_DOWN }, { KEY_PPAGE, SCREEN_PAGE_UP },
		{ KEY_NPAGE, SCREEN_PAGE_DOWN }, { KEY_HOME, SCREEN_HOME }, { KEY_END, SCREEN_END },
		{ KEY_BTAB, SCREEN_BACK_TAB }, { KEY_RESIZE, SCREEN_RESIZE }, { KEY_ENTER, SCREEN_ENTER },
		{ KEY_BACKSPACE, SCREEN_BACKSPACE },
	};
	wint_t code = 0;
	int kind = get_wch(&code);

	if (caught)
		return SCREEN_GONE;
	if (kind == ERR)
		return no_key();
	if (kind == OK)
		return code == '\r' ? SCREEN_ENTER : code == 8 ? SCREEN_BACKSPACE : (int)code;
	for (size_t i = 0; i < sizeof special / sizeof *special; i++)
		if (special[i].code == code)
			return special[i].key;
	return SCREEN_OTHER;
}

int
screen_signal(void)
{
	return caught;
}
