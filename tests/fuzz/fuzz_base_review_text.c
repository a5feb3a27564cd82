/* Text of a task on the review screen: no line is wider than asked for, and no byte is one that a terminal
 * obeys. The first byte is the width. */
#include <locale.h>
#include <stdint.h>

#include "../../stages/review/text.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_bytes(const char *line)
{
	for (; *line; line++)
		if ((unsigned char)*line < 0x20 || *line == 0x7f)
			abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;
	struct text_lines lines = { 0 };
	struct buf row = BUF_INIT;
	char *copy;
	int width;

	setlocale(LC_ALL, "C.UTF-8");
	if (size < 1)
		return 0;
	width = data[0] % 120;
	text_wrap(text, size - 1, width, &lines);
	for (size_t i = 0; i < lines.count; i++) {
		check_bytes(text_line(&lines, i));
		if (text_width(text_line(&lines, i)) > (width < 4 ? 4 : width))
			abort();
	}
	copy = xstrndup(text, size - 1);
	text_fit(copy, width, &row);
	check_bytes(buf_str(&row));
	if (text_width(buf_str(&row)) != width)
		abort();
	free(copy);
	buf_release(&row);
	text_release(&lines);
	return 0;
}
