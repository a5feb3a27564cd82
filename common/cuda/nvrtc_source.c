/* Finds device functions that mention host functions, without parsing C++.
 *
 * In: a source. Out: a name, or nothing. Text is read as words, strings and comments skipped. A block that opens at the
 * outermost level belongs to the words before it: namespaces and extern "C" are entered, a block after a parameter list
 * is a function, which is for the device when __global__ or __device__ stands before it. */
#include <ctype.h>
#include <string.h>

#include "cuda/nvrtc_headers.h"
#include "cuda/nvrtc_source.h"

enum { MAX_NAMES = 256, MAX_HEAD = 256 };

struct word {
	const char *text;
	size_t length;
};

struct scan {
	const char *at, *end;
	struct word host[MAX_NAMES];	/* functions defined without __device__ */
	int hosts;
	bool second;			/* the pass that looks for them */
	struct buf *name;
};

static void
skip_quoted(struct scan *s, char quote)
{
	for (s->at++; s->at < s->end && *s->at != quote && *s->at != '\n'; s->at++)
		if (*s->at == '\\')
			s->at++;
	if (s->at < s->end)
		s->at++;
}

static bool
is_word_character(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* A word or one character; length 0 at the end. Preprocessor lines are skipped whole. */
static struct word
next_word(struct scan *s)
{
	while (s->at < s->end) {
		const char *start = s->at;
		const char *rest;

		if (s->end - s->at > 1 && s->at[0] == '/' && s->at[1] == '/') {
			rest = memchr(s->at, '\n', (size_t)(s->end - s->at));
			s->at = rest ? rest : s->end;
		} else if (s->end - s->at > 1 && s->at[0] == '/' && s->at[1] == '*') {
			rest = memmem(s->at + 2, (size_t)(s->end - s->at - 2), "*/", 2);
			s->at = rest ? rest + 2 : s->end;
		} else if (*s->at == '#') {
			while (s->at < s->end && (*s->at != '\n' || s->at[-1] == '\\'))
				s->at++;
		} else if (*s->at == '"' || *s->at == '\'') {
			skip_quoted(s, *s->at);
			if (s->at > s->end)
				s->at = s->end;
			return (struct word){ start, 1 };
		} else if (is_word_character(*s->at)) {
			while (s->at < s->end && is_word_character(*s->at))
				s->at++;
			return (struct word){ start, (size_t)(s->at - start) };
		} else if (!isspace((unsigned char)*s->at++)) {
			return (struct word){ start, 1 };
		}
	}
	return (struct word){ s->end, 0 };
}

static bool
word_is(struct word w, const char *text)
{
	return w.length == strlen(text) && !memcmp(w.text, text, w.length);
}

/* True when the body mentions a host function. */
static bool
read_body(struct scan *s, bool device)
{
	int depth = 1;

	while (depth) {
		struct word w = next_word(s);

		if (!w.length)
			return false;
		depth += word_is(w, "{");
		depth -= word_is(w, "}");
		if (!device || !s->second || !is_word_character(*w.text))
			continue;
		for (int i = 0; i < s->hosts; i++)
			if (s->host[i].length == w.length && !memcmp(s->host[i].text, w.text, w.length)) {
				buf_add(s->name, w.text, w.length);
				return true;
			}
	}
	return false;
}

struct head {
	struct word word[MAX_HEAD];
	int words;
};

static bool
head_has(const struct head *h, const char *text)
{
	for (int i = 0; i < h->words; i++)
		if (word_is(h->word[i], text))
			return true;
	return false;
}

/* The word before the first parenthesis that follows a name (not that of an attribute). */
static struct word
function_name(const struct head *h)
{
	for (int i = 1; i < h->words; i++)
		if (word_is(h->word[i], "(") && is_word_character(*h->word[i - 1].text) &&
		    !word_is(h->word[i - 1], "__launch_bounds__") && !word_is(h->word[i - 1], "__attribute__") &&
		    !word_is(h->word[i - 1], "__align__") && !word_is(h->word[i - 1], "alignas") &&
		    !word_is(h->word[i - 1], "decltype"))
			return h->word[i - 1];
	return (struct word){ NULL, 0 };
}

static bool
read_file(struct scan *s)
{
	struct head h = { .words = 0 };
	struct word w, name;

	while ((w = next_word(s)).length) {
		if (word_is(w, ";") || word_is(w, "}")) {
			h.words = 0;
		} else if (!word_is(w, "{")) {
			if (h.words < MAX_HEAD)
				h.word[h.words++] = w;
		} else if (!head_has(&h, "(") && (head_has(&h, "namespace") || head_has(&h, "extern") ||
		    head_has(&h, "struct") || head_has(&h, "class"))) {
			h.words = 0;	/* entered: members are read like functions */
		} else {
			bool device = head_has(&h, "__global__") || head_has(&h, "__device__");

			name = function_name(&h);
			if (!device && name.length && !s->second && s->hosts < MAX_NAMES && !word_is(name, "solve"))
				s->host[s->hosts++] = name;
			if (read_body(s, device))
				return true;
			h.words = 0;
		}
	}
	return false;
}

bool
nvrtc_mixes_host_and_device(const char *source, size_t bytes, struct buf *name)
{
	struct scan s = { source, source + bytes, .name = name };

	read_file(&s);
	if (!s.hosts)
		return false;
	s.at = source;
	s.second = true;
	return read_file(&s);
}

static uint32_t
known_header(const char *name, size_t length)
{
	for (int i = 0; i < nvrtc_known_count; i++)
		if (strlen(nvrtc_known[i]) == length && !memcmp(nvrtc_known[i], name, length))
			return (uint32_t)1 << i;
	return 0;
}

uint32_t
nvrtc_known_headers(const char *source)
{
	uint32_t found = 0;

	for (const char *line = source; line; line = strchr(line, '\n')) {
		line += strspn(line, "\n \t");
		if (*line != '#')
			continue;
		const char *word = line + 1 + strspn(line + 1, " \t");
		if (strncmp(word, "include", 7))
			continue;
		const char *name = word + 7 + strspn(word + 7, " \t<\"");
		found |= known_header(name, strcspn(name, ">\"\n"));
	}
	return found;
}
