/* The terminal. The only file that knows curses; monochrome, so that it reads the same everywhere. */
#ifndef REVIEW_SCREEN_H
#define REVIEW_SCREEN_H

#include "base/buf.h"

enum screen_style { SCREEN_PLAIN, SCREEN_BOLD, SCREEN_REVERSE };

/* Keys: a character as its code point, or one of these. */
enum {
	SCREEN_NOTHING = -1,	/* none for a tenth of a second: look around, and ask again */
	SCREEN_GONE = -2,	/* the terminal was closed, or a signal asks the program to end */
	SCREEN_ENTER = '\n', SCREEN_ESCAPE = 27, SCREEN_TAB = '\t', SCREEN_BACKSPACE = 127,
	SCREEN_UP = 0x200000, SCREEN_DOWN, SCREEN_PAGE_UP, SCREEN_PAGE_DOWN, SCREEN_HOME, SCREEN_END, SCREEN_BACK_TAB,
	SCREEN_RESIZE, SCREEN_OTHER
};

/* 0, or -1 with a sentence when there is no terminal to draw on: *status gets the exit status. */
int screen_open(int *status, struct buf *err);
/* Gives the terminal back as it was; harmless when it is not open. */
void screen_close(void);
int screen_rows(void);
int screen_columns(void);

void screen_begin(void);
/* Exactly one row, from the left, filled with blanks or cut. Rows outside the screen are ignored. */
void screen_row(int row, enum screen_style style, const char *text);
/* Shows what was drawn since screen_begin; cursor_column < 0 hides the cursor. */
void screen_end(int cursor_row, int cursor_column);
/* Draws everything again, whatever the terminal is thought to show. */
void screen_repaint(void);
int screen_key(void);
/* The signal behind SCREEN_GONE; 0 if the terminal was closed. */
int screen_signal(void);

#endif
