/* In: how many attempts there were and what the server asked for. Out: how long to wait, or to give up.
 * The wait doubles up to a cap; the server's word counts when it is longer, up to our patience. */
#include "llm/retry.h"

static uint64_t
value_or(uint64_t value, uint64_t otherwise)
{
	return value ? value : otherwise;
}

uint64_t
llm_retry_wait_ms(const struct llm_retry *retry, unsigned attempt, uint64_t retry_after_ms)
{
	uint64_t wait = value_or(retry->first_ms, 1000), cap = value_or(retry->cap_ms, 60000);

	if (attempt >= value_or(retry->attempts, 6) || retry_after_ms > value_or(retry->patience_ms, 300000))
		return UINT64_MAX;
	for (unsigned i = 1; i < attempt && wait < cap; i++)
		wait *= 2;
	if (wait > cap)
		wait = cap;
	return retry_after_ms > wait ? retry_after_ms : wait;
}
