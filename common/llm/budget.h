/* Hard limits on requests and money, and on how many requests run at once. */
#ifndef LLM_BUDGET_H
#define LLM_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* US dollars for a million tokens. */
struct llm_prices {
	double input_per_million, cached_input_per_million, output_per_million;
};
double llm_cost_usd(const struct llm_prices *prices, int64_t prompt, int64_t cached, int64_t completion);

struct llm_budget;
/* Limits of 0 are none, except concurrency, which is then 4. Returned owned; safe from threads. */
struct llm_budget *llm_budget_new(uint64_t max_requests, double max_cost_usd, unsigned max_concurrent);
void llm_budget_free(struct llm_budget *b);

/* Waits for a free place, then books one request at the most it can cost. False, and nothing booked:
 * it might pass a limit. */
bool llm_budget_take(struct llm_budget *b, double most_usd);
/* Gives the place back and replaces the booking by what was spent. */
void llm_budget_settle(struct llm_budget *b, double most_usd, double spent_usd);

struct llm_spent {
	uint64_t requests, prompt_tokens, completion_tokens, cached_tokens;
	double cost_usd;
};
void llm_budget_count(struct llm_budget *b, int64_t prompt, int64_t completion, int64_t cached);
struct llm_spent llm_budget_spent(struct llm_budget *b);

#endif
