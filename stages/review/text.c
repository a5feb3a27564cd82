/* In: text of a task, which anyone may have written. Out: what fits on a line of the terminal. A prompt with
 * an escape sequence must not move the cursor, and a wide character takes two columns. */
#include "text.h"

#include <ctype.h>
#include <stdlib.h>
#include <wchar.h>

#include "base/die.h"

enum { TAB = 8 };

/* One character as it will be shown: its bytes (of the text, or a stand-in), its columns. */
struct glyph {
	const char *bytes;
	size_t length, taken;	/* bytes to show; bytes of the text that it stands for */
	int columns;
};

/* Characters that show nothing, or turn what follows round: a reviewer must see what a compiler sees. */
static bool
deceives(wchar_t c)
{
	return (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) ||
		c == 0xfeff || c == 0x00ad || c == 0x061c || (c >= 0xe0000 && c <= 0xe007f);
}

static struct glyph
next_glyph(const char *text, size_t length)
{
	struct glyph g = { "?", 1, 1, 1 };
	mbstate_t state = { 0 };
	wchar_t wide;
	size_t count = mbrtowc(&wide, text, length, &state);
	int columns;

	if (count == 0 || count > length)
		return g;
	columns = wcwidth(wide);
	g.taken = count;
	if (columns < 0 || deceives(wide))
		return g;
	g.bytes = text;
	g.length = count;
	g.columns = columns;
	return g;
}

static void
begin_line(struct text_lines *l)
{
	if (l->count == l->capacity) {
		l->capacity = l->capacity ? 2 * l->capacity : 64;
		l->start = xrealloc(l->start, l->capacity * sizeof *l->start);
	}
	l->start[l->count++] = l->bytes.len;
}

static void
add_blanks(struct buf *out, int count)
{
	for (; count > 0; count--)
		buf_addc(out, ' ');
}

static void
break_line(struct text_lines *l, int indent, int *column)
{
	buf_add(&l->bytes, "", 1);
	begin_line(l);
	add_blanks(&l->bytes, indent);
	*column = indent;
}

/* How many columns the word at the start of text takes, as far as it matters. */
static int
word_columns(const char *text, size_t length, int most)
{
	int columns = 0;

	while (length && !isspace((unsigned char)*text) && columns <= most) {
		struct glyph g = next_glyph(text, length);

		columns += g.columns;
		text += g.taken;
		length -= g.taken;
	}
	return columns;
}

static int
indent_of(const char *line, size_t length, int width)
{
	int indent = 0;

	for (size_t i = 0; i < length && (line[i] == ' ' || line[i] == '\t'); i++)
		indent += line[i] == '\t' ? TAB - indent % TAB : 1;
	return indent < width / 2 ? indent : 0;
}

/* One line of the text: broken before a word that does not fit, or inside one that fits nowhere. */
static void
wrap_line(const char *line, size_t length, int width, struct text_lines *l)
{
	int indent = indent_of(line, length, width), column = 0;
	bool at_word = true;

	begin_line(l);
	while (length) {
		struct glyph g = next_glyph(line, length);
		int blanks = *line == '\t' ? TAB - column % TAB : *line == ' ';

		if (at_word && !blanks && column > indent) {
			int word = word_columns(line, length, width);

			if (column + word > width && word <= width - indent)
				break_line(l, indent, &column);
		}
		at_word = blanks > 0;
		if (blanks && column + blanks <= width) {
			add_blanks(&l->bytes, blanks);
			column += blanks;
		} else if (!blanks) {
			if (column + g.columns > width)
				break_line(l, indent, &column);
			buf_add(&l->bytes, g.bytes, g.length);
			column += g.columns;
		}
		line += g.taken;
		length -= g.taken;
	}
	buf_add(&l->bytes, "", 1);
}

void
text_wrap(const char *text, size_t length, int width, struct text_lines *lines)
{
	while (length) {
		const char *end = memchr(text, '\n', length);
		size_t line = end ? (size_t)(end - text) : length;

		wrap_line(text, line && text[line - 1] == '\r' ? line - 1 : line, width < 4 ? 4 : width, lines);
		line += end != NULL;
		text += line;
		length -= line;
	}
}

const char *
text_line(const struct text_lines *lines, size_t index)
{
	return lines->bytes.data + lines->start[index];
}

void
text_clear(struct text_lines *lines)
{
	buf_reset(&lines->bytes);
	lines->count = 0;
}

void
text_release(struct text_lines *lines)
{
	buf_release(&lines->bytes);
	free(lines->start);
	*lines = (struct text_lines){ 0 };
}

void
text_fit(const char *text, int width, struct buf *out)
{
	size_t length = strlen(text), room = out->len;
	int column = 0, column_of_room = 0;

	while (length) {
		struct glyph g = next_glyph(text, length);

		/* Up to here there is room for the mark of a cut. */
		if (column < width) {
			room = out->len;
			column_of_room = column;
		}
		if (column + g.columns > width) {
			out->len = room;
			column = column_of_room;
			if (width > 0) {
				buf_addc(out, '~');
				column++;
			}
			break;
		}
		buf_add(out, g.bytes, g.length);
		column += g.columns;
		text += g.taken;
		length -= g.taken;
	}
	add_blanks(out, width - column);
	if (out->data)
		out->data[out->len] = '\0';
}

int
text_width(const char *text)
{
	size_t length = strlen(text);
	int columns = 0;

	while (length) {
		struct glyph g = next_glyph(text, length);

		columns += g.columns;
		text += g.taken;
		length -= g.taken;
	}
	return columns;
}

bool
text_holds(const char *text, const char *word)
{
	return strcasestr(text, word) != NULL;
}
