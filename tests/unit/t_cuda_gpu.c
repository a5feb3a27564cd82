/* What the GPU worker and its supervisor share without a GPU: figures from samples, and messages. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cuda/gpu_stats.h"
#include "cuda/message.h"

static void
quantiles_lie_between_samples(void **unused)
{
	const double samples[] = { 4, 1, 3, 2 };

	(void)unused;
	assert_true(stats_quantile(samples, 4, 0) == 1 && stats_quantile(samples, 4, 1) == 4);
	assert_true(stats_quantile(samples, 4, 0.5) == 2.5);
	assert_true(isnan(stats_quantile(samples, 0, 0.5)));
}

/* Normal samples of known spread, by a fixed generator: the interval has the width that theory gives, and holds 0. */
static void
a_trimmed_mean_has_its_interval(void **unused)
{
	enum { COUNT = 400, ROUNDS = 200 };
	double logs[COUNT], width = 0;
	uint64_t state = 1;
	int missed = 0;

	(void)unused;
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < COUNT; i++) {
			double sum = 0;

			for (int k = 0; k < 12; k++) {
				state = state * 6364136223846793005ull + 1442695040888963407ull;
				sum += (double)(state >> 11) * 0x1p-53;
			}
			logs[i] = 0.01 * (sum - 6);
		}
		struct stats_ratio r = stats_trimmed(logs, COUNT);
		missed += r.low > 1 || r.high < 1;
		width += (r.high - r.low) / ROUNDS;
	}
	/* 2 * 1.96 * 0.01 / sqrt(400) is 0.00196; a tenth trimmed at each end costs 3% for normal samples. */
	assert_true(width > 0.0019 && width < 0.0022);
	assert_in_range(missed, 2, 22);
}

static void
outliers_are_trimmed(void **unused)
{
	double logs[100];

	(void)unused;
	for (int i = 0; i < 100; i++)
		logs[i] = i < 9 ? 5 : 0.02;
	struct stats_ratio r = stats_trimmed(logs, 100);
	assert_true(fabs(r.ratio - exp(0.02)) < 1e-12);
	assert_true(isnan(stats_trimmed(logs, 9).ratio));
}

static void
messages_arrive_whole(void **unused)
{
	struct message sent = MESSAGE_INIT, got = MESSAGE_INIT;
	int pair[2];

	(void)unused;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	buf_adds(&sent.part[0], "{}");
	buf_add(&sent.part[2], "a\0b", 3);
	sent.parts = 3;
	assert_int_equal(message_send(pair[0], &sent), 0);
	assert_int_equal(message_receive(pair[1], 1000, 100, &got), 1);
	assert_int_equal(got.parts, 3);
	assert_string_equal(buf_str(&got.part[0]), "{}");
	assert_int_equal(got.part[1].len, 0);
	assert_memory_equal(got.part[2].data, "a\0b", 3);
	assert_int_equal(message_receive(pair[1], 10, 100, &got), 0);	/* nothing comes */
	assert_int_equal(message_send(pair[0], &sent), 0);
	assert_int_equal(message_receive(pair[1], 1000, 4, &got), -1);	/* over the limit */
	close(pair[0]);
	close(pair[1]);
	message_release(&sent);
	message_release(&got);
}

static void
what_is_no_message_is_refused(void **unused)
{
	static const char noise[80] = "no message at all";
	struct message got = MESSAGE_INIT;
	int pair[2];

	(void)unused;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(write(pair[0], noise, sizeof noise), sizeof noise);
	assert_int_equal(message_receive(pair[1], 1000, 1 << 20, &got), -1);
	close(pair[0]);
	assert_int_equal(message_receive(pair[1], 1000, 1 << 20, &got), -1);
	close(pair[1]);
	message_release(&got);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles_lie_between_samples),
		cmocka_unit_test(a_trimmed_mean_has_its_interval),
		cmocka_unit_test(outliers_are_trimmed),
		cmocka_unit_test(messages_arrive_whole),
		cmocka_unit_test(what_is_no_message_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
