/* Waiting times and the budget, without a server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <pthread.h>
#include <unistd.h>

#include "llm/budget.h"
#include "llm/retry.h"

static void
test_waits(void **state)
{
	const struct llm_retry r = { .attempts = 6, .first_ms = 100, .cap_ms = 500, .patience_ms = 9000 };

	(void)state;
	assert_int_equal(llm_retry_wait_ms(&r, 1, 0), 100);
	assert_int_equal(llm_retry_wait_ms(&r, 2, 0), 200);
	assert_int_equal(llm_retry_wait_ms(&r, 3, 0), 400);
	assert_int_equal(llm_retry_wait_ms(&r, 4, 0), 500);
	assert_int_equal(llm_retry_wait_ms(&r, 5, 0), 500);
	assert_true(llm_retry_wait_ms(&r, 6, 0) == UINT64_MAX);
	/* The server's word counts when it asks for more, up to our patience. */
	assert_int_equal(llm_retry_wait_ms(&r, 1, 50), 100);
	assert_int_equal(llm_retry_wait_ms(&r, 1, 9000), 9000);
	assert_true(llm_retry_wait_ms(&r, 1, 9001) == UINT64_MAX);
}

static void
test_default_waits(void **state)
{
	const struct llm_retry r = { 0 };

	(void)state;
	assert_int_equal(llm_retry_wait_ms(&r, 1, 0), 1000);
	assert_int_equal(llm_retry_wait_ms(&r, 5, 0), 16000);
	assert_true(llm_retry_wait_ms(&r, 6, 0) == UINT64_MAX);
}

static void
test_cost(void **state)
{
	const struct llm_prices p = { 2, 1, 10 };

	(void)state;
	assert_float_equal(llm_cost_usd(&p, 1000000, 400000, 100000), 1.2 + 0.4 + 1.0, 1e-12);
	/* More cached than asked is the server's mistake, and no rebate. */
	assert_float_equal(llm_cost_usd(&p, 1000000, 9000000, 0), 1.0, 1e-12);
}

static struct llm_budget *budget;
static int taken, refused, running, most_running;

static void *
spend(void *context)
{
	(void)context;
	for (int i = 0; i < 50; i++) {
		if (!llm_budget_take(budget, 1.0)) {
			__atomic_add_fetch(&refused, 1, __ATOMIC_SEQ_CST);
			continue;
		}
		__atomic_add_fetch(&taken, 1, __ATOMIC_SEQ_CST);
		int now = __atomic_add_fetch(&running, 1, __ATOMIC_SEQ_CST);
		if (now > __atomic_load_n(&most_running, __ATOMIC_SEQ_CST))
			__atomic_store_n(&most_running, now, __ATOMIC_SEQ_CST);
		usleep(200);
		__atomic_sub_fetch(&running, 1, __ATOMIC_SEQ_CST);
		llm_budget_settle(budget, 1.0, 0.5);
	}
	return NULL;
}

/* 8 threads want 400 requests at 0.5 each, booked at 1: with 20 dollars exactly 39 fit (38 settled are
 * 19, the next booking makes 20; after 39 are settled 19.5 + 1 would pass). */
static void
test_hard_limit(void **state)
{
	pthread_t threads[8];

	(void)state;
	budget = llm_budget_new(0, 20.0, 3);
	taken = refused = running = most_running = 0;
	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, spend, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(taken, 39);
	assert_int_equal(refused, 361);
	assert_true(most_running <= 3);
	assert_true(most_running > 1);
	assert_float_equal(llm_budget_spent(budget).cost_usd, 19.5, 1e-9);
	llm_budget_free(budget);
}

static void
test_request_limit(void **state)
{
	struct llm_budget *b = llm_budget_new(2, 0, 0);

	(void)state;
	assert_true(llm_budget_take(b, 1e9));
	llm_budget_settle(b, 1e9, 1e9);
	assert_true(llm_budget_take(b, 0));
	llm_budget_settle(b, 0, 0);
	assert_false(llm_budget_take(b, 0));
	assert_int_equal(llm_budget_spent(b).requests, 2);
	llm_budget_free(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits), cmocka_unit_test(test_default_waits), cmocka_unit_test(test_cost),
		cmocka_unit_test(test_hard_limit), cmocka_unit_test(test_request_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
