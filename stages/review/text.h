/* Text from outside as columns of a terminal: UTF-8 in, nothing that a terminal would obey out. */
#ifndef REVIEW_TEXT_H
#define REVIEW_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Lines of a page, already as wide as the screen at most. */
struct text_lines {
	struct buf bytes;	/* lines one after the other, each ended by NUL */
	size_t *start;
	size_t count, capacity;
};

/* Appends the text in lines of at most `width` columns. Tabs become blanks; control characters and bytes
 * that are not UTF-8 become '?'. Long lines go on in the next line, indented as they were. */
void text_wrap(const char *text, size_t length, int width, struct text_lines *lines);
const char *text_line(const struct text_lines *lines, size_t index);
void text_clear(struct text_lines *lines);
void text_release(struct text_lines *lines);

/* Appends as much of a text as fits into `width` columns, cleaned likewise, and blanks up to `width`.
 * A text that is cut ends in '~'. */
void text_fit(const char *text, int width, struct buf *out);
/* Columns of a cleaned text. */
int text_width(const char *text);
/* Does `text` hold `word`? Letters of ASCII are equal in either case. */
bool text_holds(const char *text, const char *word);

#endif
