/* In: what each request may cost at most. Out: leave to send it, or not. The one idea: money is booked
 * before a request is sent, at the most it can cost, so the limit holds however many are in flight. */
#include "llm/budget.h"

#include <pthread.h>

#include "base/die.h"

struct llm_budget {
	pthread_mutex_t lock;
	pthread_cond_t place;
	uint64_t max_requests;
	double max_cost_usd, booked_usd;
	unsigned max_concurrent, running;
	struct llm_spent spent;
};

double
llm_cost_usd(const struct llm_prices *p, int64_t prompt, int64_t cached, int64_t completion)
{
	if (cached > prompt)
		cached = prompt;
	return ((double)(prompt - cached) * p->input_per_million + (double)cached * p->cached_input_per_million
		+ (double)completion * p->output_per_million) / 1e6;
}

struct llm_budget *
llm_budget_new(uint64_t max_requests, double max_cost_usd, unsigned max_concurrent)
{
	struct llm_budget *b = xcalloc(1, sizeof *b);

	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->place, NULL);
	b->max_requests = max_requests;
	b->max_cost_usd = max_cost_usd;
	b->max_concurrent = max_concurrent ? max_concurrent : 4;
	return b;
}

void
llm_budget_free(struct llm_budget *b)
{
	if (!b)
		return;
	pthread_cond_destroy(&b->place);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

static bool
fits(const struct llm_budget *b, double most_usd)
{
	if (b->max_requests && b->spent.requests >= b->max_requests)
		return false;
	return !(b->max_cost_usd > 0) || b->spent.cost_usd + b->booked_usd + most_usd <= b->max_cost_usd;
}

bool
llm_budget_take(struct llm_budget *b, double most_usd)
{
	bool taken;

	pthread_mutex_lock(&b->lock);
	/* A request in flight is booked at its most and will cost less, so waiting for it may make room. */
	while (b->running >= b->max_concurrent || (!fits(b, most_usd) && b->running))
		pthread_cond_wait(&b->place, &b->lock);
	taken = fits(b, most_usd);
	if (taken) {
		b->running++;
		b->spent.requests++;
		b->booked_usd += most_usd;
	}
	pthread_mutex_unlock(&b->lock);
	return taken;
}

void
llm_budget_settle(struct llm_budget *b, double most_usd, double spent_usd)
{
	pthread_mutex_lock(&b->lock);
	b->running--;
	/* With nothing in flight the booking is exactly zero; sums of doubles may leave a crumb. */
	b->booked_usd = b->running ? b->booked_usd - most_usd : 0;
	b->spent.cost_usd += spent_usd;
	pthread_cond_broadcast(&b->place);
	pthread_mutex_unlock(&b->lock);
}

void
llm_budget_count(struct llm_budget *b, int64_t prompt, int64_t completion, int64_t cached)
{
	pthread_mutex_lock(&b->lock);
	b->spent.prompt_tokens += (uint64_t)prompt;
	b->spent.completion_tokens += (uint64_t)completion;
	b->spent.cached_tokens += (uint64_t)cached;
	pthread_mutex_unlock(&b->lock);
}

struct llm_spent
llm_budget_spent(struct llm_budget *b)
{
	struct llm_spent spent;

	pthread_mutex_lock(&b->lock);
	spent = b->spent;
	pthread_mutex_unlock(&b->lock);
	return spent;
}
