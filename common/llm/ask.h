/* One answer from one model: sends, waits and sends again, within the budget. */
#ifndef LLM_ASK_H
#define LLM_ASK_H

#include "llm/budget.h"
#include "llm/client.h"

/* Every attempt is booked in the budget at most_usd first. An attempt that was answered costs what its
 * usage says; one that was lost on the way, or says nothing about usage, costs most_usd; one that the
 * server turned away costs nothing. *cost_usd: of the attempt that was answered. Blocks while waiting. */
enum llm_outcome llm_ask(const struct llm_endpoint *endpoint, struct llm_budget *budget,
	const struct llm_prices *prices, double most_usd, const char *body, unsigned first_call,
	struct llm_reply *reply, double *cost_usd, struct buf *err);

#endif
