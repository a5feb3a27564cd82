/* Memory for one record. In: sizes. Out: zeroed memory that lives until the reset.
 * Blocks double up to 1 MiB; a request larger than that gets a block of its own. */
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#include "base/die.h"

struct arena_block {
	struct arena_block *next;
	size_t used, size;
	_Alignas(16) char bytes[];
};

static struct arena_block *
add_block(struct arena *a, size_t bytes)
{
	size_t size = a->head ? a->head->size * 2 : 4096;

	if (size > 1 << 20)
		size = 1 << 20;
	if (size < bytes)
		size = bytes;
	struct arena_block *block = xmalloc(sizeof *block + size);
	block->next = a->head;
	block->used = 0;
	block->size = size;
	a->head = block;
	return block;
}

void *
arena_alloc(struct arena *a, size_t bytes)
{
	size_t need = (bytes + 15) & ~(size_t)15;
	struct arena_block *block = a->head;

	if (!block || block->size - block->used < need)
		block = add_block(a, need);
	void *memory = block->bytes + block->used;
	block->used += need;
	return memset(memory, 0, need);
}

char *
arena_strndup(struct arena *a, const char *text, size_t length)
{
	char *copy = arena_alloc(a, length + 1);

	memcpy(copy, text, length);
	return copy;
}

char *
arena_strdup(struct arena *a, const char *text)
{
	return arena_strndup(a, text, strlen(text));
}

void
arena_release(struct arena *a)
{
	while (a->head) {
		struct arena_block *next = a->head->next;

		free(a->head);
		a->head = next;
	}
}

void
arena_reset(struct arena *a)
{
	struct arena_block *keep = a->head;

	if (!keep)
		return;
	a->head = keep->next;
	arena_release(a);
	keep->next = NULL;
	keep->used = 0;
	a->head = keep;
}
