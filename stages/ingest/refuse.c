/* In: a code and a format. Out: the first reason that was given, for the rejects file. */
#include "refuse.h"

int
refuse(struct filter_reason *reason, const char *code, const char *format, ...)
{
	va_list args;

	if (reason->code)
		return -1;
	reason->code = code;
	va_start(args, format);
	buf_vaddf(&reason->message, format, args);
	va_end(args);
	return -1;
}
