/*
 * Two explicit time steps of heat flow on an H x W grid with conductivity k (positive) at every cell. What
 * flows between two neighbours is the mean of their conductivities times the difference of their values;
 * nothing flows through the border. y is u after both steps, each of length dt.
 */
#include <stdint.h>

struct grid {
	const float *u, *k;
	int64_t H, W;
	double dt;
};

/* What cell (i, j) gains from its neighbour (p, q) by the values read with at. */
static double flow(const struct grid *g, double (*at)(const struct grid *, int64_t, int64_t),
	int64_t i, int64_t j, int64_t p, int64_t q)
{
	if (p < 0 || p >= g->H || q < 0 || q >= g->W)
		return 0;
	return 0.5 * ((double)g->k[i * g->W + j] + g->k[p * g->W + q]) * (at(g, p, q) - at(g, i, j));
}

static double step(const struct grid *g, double (*at)(const struct grid *, int64_t, int64_t), int64_t i, int64_t j)
{
	return at(g, i, j) + g->dt * (flow(g, at, i, j, i - 1, j) + flow(g, at, i, j, i + 1, j)
		+ flow(g, at, i, j, i, j - 1) + flow(g, at, i, j, i, j + 1));
}

static double before(const struct grid *g, int64_t i, int64_t j)
{
	return g->u[i * g->W + j];
}

static double after_one(const struct grid *g, int64_t i, int64_t j)
{
	return step(g, before, i, j);
}

void reference(const float *u, const float *k, float *y, int64_t H, int64_t W, float dt)
{
	struct grid g = { u, k, H, W, dt };

	for (int64_t i = 0; i < H; i++) {
		for (int64_t j = 0; j < W; j++)
			y[i * W + j] = (float)step(&g, after_one, i, j);
	}
}
