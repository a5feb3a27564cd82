/* Properties of the search tree: width, virtual loss, independence of the order of outcomes in time,
 * and the arithmetic of scores and values against numbers worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "agent/tree.h"
#include "base/buf.h"

/* A pretended world: the reward of a node depends on where it is, and some fail. */
static enum tree_state
world(const struct tree *t, int node, double *reward)
{
	unsigned h = 2166136261u;

	for (int n = node; n >= 0; n = t->nodes[n].parent)
		h = (h ^ (unsigned)(t->nodes[n].number + 1)) * 16777619u;
	*reward = (double)(h >> 8 & 0xffff) / 65536.0 - 0.3;
	return h % 5 == 0 ? TREE_FAILED : TREE_CORRECT;
}

static void
grow(struct tree *t, int width, int total)
{
	int chosen[64];

	tree_init(t, 0, 0.7, 6);
	for (int done = 0; done < total;) {
		int count = 0;

		while (count < width && (chosen[count] = tree_choose(t)) >= 0)
			count++;
		for (int i = 0; i < count; i++) {
			double reward;
			enum tree_state state = world(t, chosen[i], &reward);

			tree_finish(t, chosen[i], state, reward);
		}
		done += count;
		if (!count)
			break;
	}
}

static void
describe(const struct tree *t, struct buf *out)
{
	for (size_t i = 0; i < t->count; i++)
		buf_addf(out, "%d %d %d %d %d %.17g %.17g\n", t->nodes[i].parent, t->nodes[i].number, t->nodes[i].state,
			t->nodes[i].visits, t->nodes[i].failures, t->nodes[i].reward_sum, t->nodes[i].best);
}

/* Visits are what they count: nodes of the subtree; nothing stays pending. */
static void
check_sums(const struct tree *t)
{
	for (size_t i = 0; i < t->count; i++) {
		int visits = 0, failures = 0, children = 0;
		double sum = 0;

		for (size_t k = i; k < t->count; k++) {
			int n = (int)k;

			while (n > (int)i)
				n = t->nodes[n].parent;
			if (n != (int)i || t->nodes[k].state == TREE_WITHDRAWN)
				continue;
			visits++;
			failures += t->nodes[k].state == TREE_FAILED;
			sum += t->nodes[k].state == TREE_CORRECT ? t->nodes[k].reward : 0;
			children += t->nodes[k].parent == (int)i;
		}
		if (t->nodes[i].state == TREE_WITHDRAWN)
			continue;
		assert_int_equal(t->nodes[i].visits, visits);
		assert_int_equal(t->nodes[i].failures, failures);
		assert_int_equal(t->nodes[i].children, children);
		assert_float_equal(t->nodes[i].reward_sum, sum, 1e-12);
		assert_int_not_equal(t->nodes[i].state, TREE_PENDING);
	}
	assert_int_equal(t->pending, 0);
}

static void
test_sums(void **state)
{
	(void)state;
	for (int width = 1; width <= 8; width++) {
		struct tree t;

		grow(&t, width, 60);
		check_sums(&t);
		for (size_t i = 1; i < t.count; i++) {
			assert_int_equal(t.nodes[t.nodes[i].parent].state, TREE_CORRECT);
			assert_true(t.nodes[i].number < 6);
		}
		tree_release(&t);
	}
}

static void
test_same_tree(void **state)
{
	struct buf first = BUF_INIT, second = BUF_INIT, wide = BUF_INIT;
	struct tree t;

	(void)state;
	grow(&t, 3, 40);
	describe(&t, &first);
	tree_release(&t);
	grow(&t, 3, 40);
	describe(&t, &second);
	tree_release(&t);
	grow(&t, 1, 40);
	describe(&t, &wide);
	tree_release(&t);
	assert_string_equal(first.data, second.data);
	/* The width is part of the question. */
	assert_string_not_equal(first.data, wide.data);
	buf_release(&first);
	buf_release(&second);
	buf_release(&wide);
}

/* Four equal children; without virtual loss a round would go down the same one four times. */
static void
test_virtual_loss_spreads(void **state)
{
	int chosen[4], seen[8] = { 0 };
	struct tree t;

	(void)state;
	tree_init(&t, 0, 0.7, 4);
	for (int i = 0; i < 4; i++)
		tree_finish(&t, tree_choose(&t), TREE_CORRECT, 0.1);
	t.nodes[0].closed = true;
	for (int i = 0; i < 4; i++) {
		chosen[i] = tree_choose(&t);
		seen[t.nodes[chosen[i]].parent]++;
	}
	for (int i = 1; i <= 4; i++)
		assert_int_equal(seen[i], 1);
	assert_int_equal(t.pending, 4);
	assert_int_equal(t.nodes[0].visits, 9);
	assert_int_equal(t.nodes[0].failures, 4);
	tree_release(&t);
}

/* A round of 2 at the start grows two children of the root, not a child of a child without an outcome. */
static void
test_pending_has_no_children(void **state)
{
	struct tree t;

	(void)state;
	tree_init(&t, 0, 0.7, 0);
	for (int i = 0; i < 5; i++)
		assert_int_equal(t.nodes[tree_choose(&t)].parent, 0);
	tree_release(&t);
}

static void
test_withdrawn(void **state)
{
	struct tree t;
	int a, b;

	(void)state;
	tree_init(&t, 0, 0.7, 0);
	a = tree_choose(&t);
	b = tree_choose(&t);
	tree_finish(&t, a, TREE_CORRECT, 0.5);
	tree_finish(&t, b, TREE_WITHDRAWN, 0);
	assert_true(t.nodes[0].closed);
	assert_int_equal(t.nodes[0].visits, 2);
	assert_int_equal(t.nodes[0].children, 1);
	/* The root is closed, so its child grows; when that is closed too, nothing can. */
	b = tree_choose(&t);
	assert_int_equal(t.nodes[b].parent, a);
	tree_finish(&t, b, TREE_WITHDRAWN, 0);
	assert_int_equal(tree_choose(&t), -1);
	check_sums(&t);
	tree_release(&t);
}

static void
test_failed_never_grows(void **state)
{
	struct tree t;

	(void)state;
	tree_init(&t, 0, 0.7, 2);
	tree_finish(&t, tree_choose(&t), TREE_FAILED, 0);
	tree_finish(&t, tree_choose(&t), TREE_FAILED, 0);
	assert_int_equal(tree_choose(&t), -1);
	tree_release(&t);
}

/* Root 0, children 1.0 and 0.5: rewards span 0..1. The first: mean 1.0 over one visit, and
 * 0.7 sqrt(ln 3 / 1); the second has 0.5 and the same term. Then the first gets a failed child:
 * its mean is 1.0 / 2, the term 0.7 sqrt(ln 4 / 2). */
static void
test_score(void **state)
{
	struct tree t;

	(void)state;
	tree_init(&t, 0, 0.7, 2);
	tree_finish(&t, tree_choose(&t), TREE_CORRECT, 1.0);
	tree_finish(&t, tree_choose(&t), TREE_CORRECT, 0.5);
	assert_int_equal(t.count, 3);
	assert_int_equal(t.nodes[2].parent, 0);
	assert_float_equal(tree_score(&t, 1), 1.0 + 0.7 * sqrt(log(3)), 1e-12);
	assert_float_equal(tree_score(&t, 2), 0.5 + 0.7 * sqrt(log(3)), 1e-12);
	assert_int_equal(tree_choose(&t), 3);
	assert_int_equal(t.nodes[3].parent, 1);
	tree_finish(&t, 3, TREE_FAILED, 0);
	assert_float_equal(tree_score(&t, 1), 0.5 + 0.7 * sqrt(log(4) / 2), 1e-12);
	assert_float_equal(tree_value(&t, 1), 1.0, 1e-12);
	assert_float_equal(tree_value(&t, 0), 0.5, 1e-12);
	assert_float_equal(t.nodes[0].best, 1.0, 1e-12);
	tree_release(&t);
}

/* Scores do not depend on the unit or the zero of the rewards: costs of any size search alike. */
static void
test_affine_invariance(void **state)
{
	struct tree a, b;

	(void)state;
	tree_init(&a, 0, 0.7, 3);
	tree_init(&b, -5, 0.7, 3);
	for (int i = 0; i < 30; i++) {
		double reward;
		int n = tree_choose(&a), m = tree_choose(&b);
		enum tree_state outcome;

		assert_int_equal(n, m);
		if (n < 0)
			break;
		outcome = world(&a, n, &reward);
		tree_finish(&a, n, outcome, reward);
		tree_finish(&b, m, outcome, 17 * reward - 5);
		assert_int_equal(a.nodes[n].parent, b.nodes[m].parent);
	}
	tree_release(&a);
	tree_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums), cmocka_unit_test(test_same_tree), cmocka_unit_test(test_virtual_loss_spreads),
		cmocka_unit_test(test_pending_has_no_children), cmocka_unit_test(test_withdrawn),
		cmocka_unit_test(test_failed_never_grows), cmocka_unit_test(test_score),
		cmocka_unit_test(test_affine_invariance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
