/* In: a request body and a budget. Out: the model's message, or why there is none. Each attempt is paid
 * for separately: a connection that broke may have cost as much as one that did not. */
#include "llm/ask.h"

#include <errno.h>
#include <time.h>

static void
wait_ms(uint64_t ms)
{
	struct timespec left = { (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 };

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

static double
attempt_cost(enum llm_outcome outcome, const struct llm_reply *reply, const struct llm_prices *prices,
	double most_usd)
{
	if (outcome == LLM_OK && reply->has_usage)
		return llm_cost_usd(prices, reply->prompt_tokens, reply->cached_tokens, reply->completion_tokens);
	return outcome == LLM_OK || outcome == LLM_LOST || outcome == LLM_UNUSABLE ? most_usd : 0;
}

static bool
again(enum llm_outcome outcome)
{
	return outcome == LLM_BUSY || outcome == LLM_LOST || outcome == LLM_UNREACHABLE;
}

enum llm_outcome
llm_ask(const struct llm_endpoint *endpoint, struct llm_budget *budget, const struct llm_prices *prices,
	double most_usd, const char *body, unsigned first_call, struct llm_reply *reply, double *cost_usd,
	struct buf *err)
{
	for (unsigned attempt = 1;; attempt++) {
		struct buf why = BUF_INIT;
		uint64_t retry_after_ms = 0, wait;
		enum llm_outcome outcome;

		if (!llm_budget_take(budget, most_usd)) {
			buf_err(err, "The budget of requests or money allows no further request.");
			return LLM_OVER_BUDGET;
		}
		outcome = llm_send(endpoint, body, first_call, reply, &retry_after_ms, &why);
		*cost_usd = attempt_cost(outcome, reply, prices, most_usd);
		llm_budget_settle(budget, most_usd, *cost_usd);
		if (outcome == LLM_OK && reply->has_usage)
			llm_budget_count(budget, reply->prompt_tokens, reply->completion_tokens, reply->cached_tokens);
		wait = again(outcome) ? llm_retry_wait_ms(&endpoint->retry, attempt, retry_after_ms) : UINT64_MAX;
		if (wait == UINT64_MAX) {
			buf_adds(err, buf_str(&why));
			if (again(outcome))
				buf_err(err, " Gave up after %u attempt%s.", attempt, attempt == 1 ? "" : "s");
			buf_release(&why);
			return outcome;
		}
		buf_release(&why);
		wait_ms(wait);
	}
}
