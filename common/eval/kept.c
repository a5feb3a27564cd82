/* An id in, the JSON object that the store has by it out, and the other way round. */
#include "eval/kept.h"

#include "rec/json.h"

int
kept_json(struct store *store, const char *kind, const char *id, json_t **object, struct buf *err)
{
	struct buf text = BUF_INIT, why = BUF_INIT;
	int there = store_get(store, kind, id, &text, &why);

	*object = there == 1 ? rec_json_parse(buf_str(&text), text.len, &why) : NULL;
	if (there == STORE_DAMAGED || (there == 1 && !json_is_object(*object)))
		there = store_remove(store, kind, id, err);
	else if (there < 0)
		buf_err(err, "%s", buf_str(&why));
	if (there != 1) {
		json_decref(*object);
		*object = NULL;
	}
	buf_release(&text);
	buf_release(&why);
	return there;
}

int
keep_json(struct store *store, const char *kind, const char *id, const json_t *object, struct buf *err)
{
	struct buf text = BUF_INIT;

	rec_json_dump(object, &text);
	int status = store_put(store, kind, id, text.data, text.len, err);
	buf_release(&text);
	return status;
}
