/* Text in, the same text with readable names out. Only source names are read, each a length and an identifier;
 * that is enough for kernels, their shared arrays and variables, and needs no C++ library. */
#include "eval/names.h"

#include <ctype.h>
#include <stdbool.h>

struct name {
	const char *at;
	size_t length;
};

/* "<number><identifier>" at p, not past end; NULL when there is none. Returns where it ends. */
static const char *
source_name(const char *p, const char *end, struct name *name)
{
	size_t length = 0;

	while (p < end && isdigit((unsigned char)*p) && length < 4096)
		length = length * 10 + (size_t)(*p++ - '0');
	if (length == 0 || length > (size_t)(end - p))
		return NULL;
	*name = (struct name){ p, length };
	return p + length;
}

/* The last of the names that stand one after the other from p: namespaces first, the thing itself at the end. */
static bool
last_of_names(const char *p, const char *end, struct name *name)
{
	struct name next;
	bool found = false;

	while (p && p < end && (p = source_name(p, end, &next))) {
		*name = next;
		found = true;
	}
	return found;
}

static bool
read_name(const char *start, const char *end, struct name *name)
{
	const char *p = start + 2;

	if (p < end && *p == 'Z') {
		/* A variable of a function: its own name follows the last E that a name can follow. */
		for (const char *e = end - 1; e > p; e--)
			if (*e == 'E' && last_of_names(e + 1, end, name))
				return true;
		return false;
	}
	while (p < end && (*p == 'N' || *p == 'L'))
		p++;
	return last_of_names(p, end, name);
}

void
names_readable(const char *text, struct buf *out)
{
	for (const char *p = text; *p;) {
		const char *end = p;
		struct name name;

		while (isalnum((unsigned char)*end) || *end == '_' || *end == '$')
			end++;
		if (end == p) {
			buf_addc(out, *p++);
			continue;
		}
		if (end - p > 3 && p[0] == '_' && p[1] == 'Z' && read_name(p, end, &name))
			buf_add(out, name.at, name.length);
		else
			buf_add(out, p, (size_t)(end - p));
		p = end;
	}
}
