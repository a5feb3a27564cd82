/* UTF-8, strictly: no overlong forms, no surrogates, nothing above U+10FFFF. Private to rec. */
#ifndef REC_UTF8_H
#define REC_UTF8_H

#include <stddef.h>

/* Bytes of the well-formed sequence at text (1 to 4), or 0 if there is none within `length`. */
static inline size_t
utf8_length(const unsigned char *text, size_t length)
{
	unsigned lead = length ? text[0] : 0x80;
	unsigned low = 0x80, high = 0xBF;
	size_t count;

	if (lead < 0x80)
		return 1;
	if (lead < 0xC2 || lead > 0xF4)
		return 0;
	count = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
	if (count > length)
		return 0;
	/* The second byte alone tells overlong forms, surrogates and too large values apart. */
	if (lead == 0xE0)
		low = 0xA0;
	else if (lead == 0xED)
		high = 0x9F;
	else if (lead == 0xF0)
		low = 0x90;
	else if (lead == 0xF4)
		high = 0x8F;
	if (text[1] < low || text[1] > high)
		return 0;
	for (size_t i = 2; i < count; i++)
		if ((text[i] & 0xC0) != 0x80)
			return 0;
	return count;
}

#endif
