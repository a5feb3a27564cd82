/* When to send again, and after how long. */
#ifndef LLM_RETRY_H
#define LLM_RETRY_H

#include <stdint.h>

struct llm_retry {
	unsigned attempts;	/* in all, the first included; 0: 6 */
	uint64_t first_ms;	/* wait before the second attempt; 0: 1,000. Doubles each time. */
	uint64_t cap_ms;	/* longest own wait; 0: 60,000 */
	uint64_t patience_ms;	/* longest Retry-After that is obeyed; 0: 300,000; longer means giving up */
};

/* Milliseconds to wait after attempt number `attempt` (1 is the first); the server's Retry-After counts
 * if it is longer. UINT64_MAX: give up. */
uint64_t llm_retry_wait_ms(const struct llm_retry *retry, unsigned attempt, uint64_t retry_after_ms);

#endif
