/*
 * Whole operations against loops written by hand: the evaluator at sizes where its rows are cut (more than
 * 256 lanes), packed (guards), padded and short. Elements asked for alone must have the same bits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/die.h"
#include "math/math.h"
#include "tensor/compare.h"
#include "tensor/generate.h"

enum { MAX = 8 };

struct fixture {
	struct math_axis axes[MAX];
	struct math_given given[MAX];
	struct math_scalar scalars[MAX];
	struct math_tensor inputs[MAX], outputs[MAX];
	struct math_task task;
	size_t given_count;
	int64_t values[MAX];
	struct tensor tensors[MAX], got[MAX];
	double *in[MAX];	/* inputs as double */
};

static struct fixture f;

static void
begin(void)
{
	memset(&f, 0, sizeof f);
	f.task = (struct math_task){ f.axes, 0, f.scalars, 0, f.inputs, 0, f.outputs, 0 };
}

static void
axis(const char *name, int64_t value)
{
	f.axes[f.task.axis_count++].name = name;
	f.given[f.given_count++] = (struct math_given){ name, value };
}

static void
derived(const char *name, const char *expression)
{
	f.axes[f.task.axis_count].name = name;
	f.axes[f.task.axis_count++].expression = expression;
}

static struct math_tensor
shaped(const char *name, enum dtype dtype, const char *shape)
{
	struct math_tensor t = { name, dtype, 0, { NULL } };
	static const char *const letters[] = { "A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M",
		"N", "O", "P", "Q", "R",
		"S", "T", "U", "V", "W", "X", "Y", "Z" };

	for (; *shape; shape++)
		t.shape[t.rank++] = letters[*shape - 'A'];
	return t;
}

static void
input(const char *name, enum dtype dtype, const char *shape, struct generate_domain domain)
{
	size_t i = f.task.input_count++;
	unsigned char key[32] = { (unsigned char)(i + 1), 77 };
	int64_t extents[TENSOR_MAX_RANK];
	struct buf err = BUF_INIT;

	if (i == 0 && math_resolve_axes(f.axes, f.task.axis_count, f.given, f.given_count, f.values, &err))
		fail_msg("%s", buf_str(&err));
	f.inputs[i] = shaped(name, dtype, shape);
	if (math_resolve_shape(&f.inputs[i], f.axes, f.task.axis_count, f.values, extents, &err)
		|| tensor_init(&f.tensors[i], name, dtype, f.inputs[i].rank, extents, &err)
		|| generate_tensor(key, &domain, &f.tensors[i], &err))
		fail_msg("%s", buf_str(&err));
	f.in[i] = xcalloc((size_t)tensor_elements(&f.tensors[i]) + 1, sizeof(double));
	for (int64_t k = 0; k < tensor_elements(&f.tensors[i]); k++)
		f.in[i][k] = dtype_load(dtype, (const char *)f.tensors[i].data + (size_t)k * dtype_bytes(dtype));
}

static void
output(const char *name, enum dtype dtype, const char *shape)
{
	f.outputs[f.task.output_count++] = shaped(name, dtype, shape);
}

static const struct generate_domain normal = { .distribution = GENERATE_NORMAL, .scale = 1 };

/* A few elements alone, each from a fresh run and from one that remembers. */
static void
check_elements(const struct math_spec *spec, const struct tensor *const *list)
{
	struct buf err = BUF_INIT;
	struct math_run *run = math_bind(spec, f.values, list, NULL, &err);

	for (size_t k = 0; k < f.task.output_count; k++) {
		int64_t count = tensor_elements(&f.got[k]), subscripts[TENSOR_MAX_RANK];

		for (int i = 0; i < 40 && count; i++) {
			int64_t element = (int64_t)i * 7919 % count;
			struct math_value value;

			tensor_subscripts(f.got[k].rank, f.got[k].shape, element, subscripts);
			if (math_element(run, k, subscripts, &value, &err))
				fail_msg("%s", buf_str(&err));
			if (value.is_integer)
				assert_true(value.integer == tensor_get_integer(&f.got[k], element));
			else
				assert_memory_equal(&value.real, (char *)f.got[k].data + 8 * element, 8);
		}
	}
	math_run_free(run);
	buf_release(&err);
}

static void
evaluate(const char *text)
{
	const struct tensor *list[MAX];
	struct buf err = BUF_INIT;
	struct math_spec *spec = math_parse(text, strlen(text), &f.task, &err);
	struct math_run *run;

	for (int i = 0; i < MAX; i++)
		list[i] = &f.tensors[i];
	run = spec ? math_bind(spec, f.values, list, NULL, &err) : NULL;
	if (!run || math_evaluate(run, f.got, &err))
		fail_msg("%s", buf_str(&err));
	check_elements(spec, list);
	math_run_free(run);
	math_free(spec);
	buf_release(&err);
}

/* Output k against values computed by hand, which are freed. */
static void
expect(size_t k, double *expected, double tolerance)
{
	int64_t count = tensor_elements(&f.got[k]);

	for (int64_t i = 0; i < count; i++) {
		double got = tensor_get(&f.got[k], i);

		if (!(got == expected[i] || fabs(got - expected[i]) <= tolerance * (1 + fabs(expected[i]))))
			fail_msg("%s[%lld] is %.17g, expected %.17g", f.got[k].name, (long long)i, got,
				expected[i]);
	}
	free(expected);
}

static void
end(void)
{
	for (int i = 0; i < MAX; i++) {
		tensor_release(&f.tensors[i]);
		tensor_release(&f.got[i]);
		free(f.in[i]);
	}
}

static double *
room(int64_t count)
{
	return xcalloc((size_t)count + 1, sizeof(double));
}

/* ---- the operations */

static void
softmax(void **state)
{
	(void)state;
	for (int d = 1; d < 700; d += 233) {
		enum { ROWS = 5 };
		double *y = room(ROWS * d);

		begin();
		axis("N", ROWS);
		axis("D", d);
		input("x", DTYPE_FLOAT32, "ND", normal);
		output("y", DTYPE_FLOAT32, "ND");
		evaluate("m[i] = max(x[i,j] for j)\ne[i,j] = exp(x[i,j] - m[i])\ny[i,j] = e[i,j] / sum(e[i,k] for k)");
		for (int i = 0; i < ROWS; i++) {
			const double *x = f.in[0] + i * d;
			double max = -INFINITY, sum = 0;

			for (int j = 0; j < d; j++)
				max = fmax(max, x[j]);
			for (int j = 0; j < d; j++)
				sum += exp(x[j] - max);
			for (int j = 0; j < d; j++)
				y[i * d + j] = exp(x[j] - max) / sum;
		}
		expect(0, y, 1e-14);
		end();
	}
}

static void
matmul(void **state)
{
	static const int sizes[][3] = { { 3, 300, 17 }, { 300, 3, 17 }, { 2, 2, 600 }, { 1, 1, 1 }, { 40, 40,
		0 } };

	(void)state;
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		int m = sizes[s][0], n = sizes[s][1], k = sizes[s][2];
		double *c = room(m * n);

		begin();
		axis("M", m);
		axis("N", n);
		axis("K", k);
		input("a", DTYPE_FLOAT16, "MK", normal);
		input("b", DTYPE_BFLOAT16, "KN", normal);
		output("c", DTYPE_FLOAT32, "MN");
		evaluate("c[i,j] = sum(a[i,p] * b[p,j] for p)");
		for (int i = 0; i < m; i++)
			for (int j = 0; j < n; j++)
				for (int p = 0; p < k; p++)
					c[i * n + j] += f.in[0][i * k + p] * f.in[1][p * n + j];
		expect(0, c, 0);
		end();
	}
}

static void
convolution(void **state)
{
	enum { N = 2, C = 3, H = 9, W = 300, K = 4, R = 3, S = 2, P = 1, HO = (H + 2 * P - R) / S + 1, WO = (W
		+ 2 * P - R) / S + 1 };
	double *y = room(N * K * HO * WO);

	(void)state;
	begin();
	axis("N", N);
	axis("C", C);
	axis("H", H);
	axis("W", W);
	axis("K", K);
	f.axes[f.task.axis_count++] = (struct math_axis){ "R", true, R, NULL };
	derived("P", "(H + 2*1 - R) div 2 + 1");
	derived("Q", "(W + 2*1 - R) div 2 + 1");
	input("x", DTYPE_FLOAT32, "NCHW", normal);
	input("w", DTYPE_FLOAT32, "KCRR", normal);
	input("b", DTYPE_FLOAT32, "K", normal);
	output("y", DTYPE_FLOAT32, "NKPQ");
	evaluate("y[n,k,p,q] = b[k] + sum(x[n, c, p*2 + r - 1, q*2 + s - 1; 0] * w[k,c,r,s] for c, r, s)");
	for (int n = 0; n < N; n++)
		for (int k = 0; k < K; k++)
			for (int p = 0; p < HO; p++)
				for (int q = 0; q < WO; q++) {
					double sum = 0;

					for (int c = 0; c < C; c++)
						for (int r = 0; r < R; r++)
							for (int s = 0; s < R; s++) {
								int h = p * S + r - P, w = q * S + s - P;

								if (h >= 0 && h < H && w >= 0 && w < W)
									sum += f.in[0][((n * C + c) * H + h) * W
										+ w] * f.in[1][((k * C + c) * R
										+ r) * R + s];
							}
					y[((n * K + k) * HO + p) * WO + q] = f.in[2][k] + sum;
				}
	expect(0, y, 1e-13);
	end();
}

static void
layer_norm(void **state)
{
	enum { N = 7, D = 257 };
	double *y = room(N * D);

	(void)state;
	begin();
	axis("N", N);
	axis("D", D);
	f.scalars[f.task.scalar_count++] = (struct math_scalar){ "eps", DTYPE_FLOAT32, 1e-5, 0 };
	input("x", DTYPE_FLOAT32, "ND", normal);
	input("g", DTYPE_FLOAT32, "D", normal);
	input("b", DTYPE_FLOAT32, "D", normal);
	output("y", DTYPE_FLOAT32, "ND");
	evaluate("u[i] = sum(x[i,j] for j) / D\nv[i] = sum((x[i,j]-u[i])^2 for j) / D\n"
		"y[i,j] = (x[i,j]-u[i]) * rsqrt(v[i]+eps) * g[j] + b[j]");
	for (int i = 0; i < N; i++) {
		const double *x = f.in[0] + i * D;
		double mean = 0, variance = 0;

		for (int j = 0; j < D; j++)
			mean += x[j] / D;
		for (int j = 0; j < D; j++)
			variance += (x[j] - mean) * (x[j] - mean) / D;
		for (int j = 0; j < D; j++)
			y[i * D + j] = (x[j] - mean) / sqrt(variance + (double)1e-5f) * f.in[1][j] + f.in[2][j];
	}
	expect(0, y, 1e-12);
	end();
}

/* Four ways to say the same, one of them against the order of the elements. */
static void
cumulative_sum(void **state)
{
	static const char *const texts[] = {
		"y[i,j] = y[i,j-1; 0] + x[i,j]", "y[i,j] = (y[i,j-1] if j > 0 else 0) + x[i,j]",
		"y[i,j] = sum(x[i,k] for k if k <= j)",
			"y[i,j] = z[i,D-1-j]\nz[i,j in D] = z[i,j+1; 0] + x[i,D-1-j]",
	};
	enum { N = 3, D = 600 };

	(void)state;
	for (int t = 0; t < 4; t++) {
		double *y = room(N * D);

		begin();
		axis("N", N);
		axis("D", D);
		input("x", DTYPE_FLOAT64, "ND", normal);
		output("y", DTYPE_FLOAT64, "ND");
		evaluate(texts[t]);
		for (int i = 0; i < N * D; i++)
			y[i] = (i % D ? y[i - 1] : 0) + f.in[0][i];
		expect(0, y, 0);
		end();
	}
}

static void
attention(void **state)
{
	enum { B = 2, H = 4, G = 2, T = 33, D = 5 };
	double *y = room(B * H * T * D);

	(void)state;
	begin();
	axis("B", B);
	axis("H", H);
	axis("T", T);
	axis("D", D);
	f.axes[f.task.axis_count++] = (struct math_axis){ "G", true, G, NULL };
	derived("K", "H div G");
	input("q", DTYPE_FLOAT32, "BHTD", normal);
	input("k", DTYPE_FLOAT32, "BKTD", normal);
	input("v", DTYPE_FLOAT32, "BKTD", normal);
	output("y", DTYPE_FLOAT32, "BHTD");
	evaluate("s[b,h,i,j] = sum(q[b,h,i,d] * k[b, h div G, j, d] for d) / sqrt(D)\n"
		"m[b,h,i] = max(s[b,h,i,j] for j if j <= i)\n"
		"p[b,h,i,j] = exp(s[b,h,i,j] - m[b,h,i]) if j <= i else 0\n"
		"y[b,h,i,d] = sum(p[b,h,i,j] * v[b, h div G, j, d] for j) / sum(p[b,h,i,j] for j)");
	for (int bh = 0; bh < B * H; bh++)
		for (int i = 0; i < T; i++) {
			int kv = (bh / H * (H / G) + bh % H / G) * T;
			double s[T], max = -INFINITY, sum = 0;

			for (int j = 0; j <= i; j++) {
				s[j] = 0;
				for (int d = 0; d < D; d++)
					s[j] += f.in[0][(bh * T + i) * D + d] * f.in[1][(kv + j) * D + d];
				s[j] /= sqrt(D);
				max = fmax(max, s[j]);
			}
			for (int j = 0; j <= i; j++)
				sum += s[j] = exp(s[j] - max);
			for (int d = 0; d < D; d++)
				for (int j = 0; j <= i; j++)
					y[(bh * T + i) * D + d] += s[j] * f.in[2][(kv + j) * D + d] / sum;
		}
	expect(0, y, 1e-12);
	end();
}

static void
pooling(void **state)
{
	enum { C = 3, W = 601, WO = (W + 2 - 3) / 2 + 1 };
	double *largest = room(C * WO), *average = room(C * WO);

	(void)state;
	begin();
	axis("C", C);
	axis("W", W);
	derived("P", "(W + 2 - 3) div 2 + 1");
	input("x", DTYPE_FLOAT32, "CW", normal);
	output("y", DTYPE_FLOAT32, "CP");
	output("z", DTYPE_FLOAT32, "CP");
	evaluate("y[c,o] = max(x[c, o*2 + r - 1; -inf] for r in 3)\n"
		"z[c,o] = sum(x[c,o*2+r-1] for r in 3 if 0 <= o*2+r-1 < W) / sum(1 for r in 3 if 0 <= o*2+r-1 < W)");
	for (int c = 0; c < C; c++)
		for (int o = 0; o < WO; o++) {
			int count = 0;

			largest[c * WO + o] = -INFINITY;
			for (int at = o * 2 - 1; at < o * 2 + 2; at++)
				if (at >= 0 && at < W) {
					largest[c * WO + o] = fmax(largest[c * WO + o], f.in[0][c * W + at]);
					average[c * WO + o] += f.in[0][c * W + at];
					count++;
				}
			average[c * WO + o] /= count;
		}
	expect(0, largest, 0);
	expect(1, average, 1e-15);
	end();
}

static void
top_k(void **state)
{
	enum { N = 4, D = 90, K = 7 };
	double *y = room(N * K), *at = room(N * K);

	(void)state;
	begin();
	axis("N", N);
	axis("D", D);
	axis("K", K);
	/* few values, so that ties abound */
	input("x", DTYPE_INT32, "ND", (struct generate_domain){ .distribution = GENERATE_INTEGERS,
		.low_integer = 0, .high_integer = 9 });
	output("y", DTYPE_INT32, "NK");
	output("at", DTYPE_INT64, "NK");
	evaluate("rank[i,j] = sum(1 for k if x[i,k] > x[i,j] or x[i,k] == x[i,j] and k < j)\n"
		"at[i,r] = sum(j for j in D if rank[i,j] == r)\ny[i,r] = x[i,at[i,r]]");
	for (int i = 0; i < N; i++)
		for (int r = 0; r < K; r++) {
			int best = -1;

			for (int j = 0; j < D; j++) {
				bool used = false;

				for (int q = 0; q < r; q++)
					used |= at[i * K + q] == j;
				if (!used && (best < 0 || f.in[0][i * D + j] > f.in[0][i * D + best]))
					best = j;
			}
			at[i * K + r] = best;
			y[i * K + r] = f.in[0][i * D + best];
		}
	expect(0, y, 0);
	expect(1, at, 0);
	end();
}

static void
histogram_and_gather(void **state)
{
	enum { N = 1000, V = 11, D = 3 };
	double *h = room(V), *y = room(N * D), *c = room(N);

	(void)state;
	begin();
	axis("N", N);
	axis("V", V);
	axis("D", D);
	input("id", DTYPE_INT64, "N", (struct generate_domain){ .distribution = GENERATE_INTEGERS,
		.low_integer = 0, .high_integer = V });
	input("w", DTYPE_FLOAT32, "VD", normal);
	input("b", DTYPE_BOOL, "N", (struct generate_domain){ .distribution = GENERATE_BERNOULLI, .p = 0.3 });
	output("h", DTYPE_INT32, "V");
	output("y", DTYPE_FLOAT32, "ND");
	output("c", DTYPE_INT64, "N");
	evaluate("h[b0] = sum(1 for i if id[i] == b0 and b[i])\ny[i,j] = w[id[i], j]\nc[i] = c[i-1; 0] + int(b[i])");
	for (int i = 0; i < N; i++) {
		h[(int)f.in[0][i]] += f.in[2][i] != 0;
		c[i] = (i ? c[i - 1] : 0) + f.in[2][i];
		for (int j = 0; j < D; j++)
			y[i * D + j] = f.in[1][(int)f.in[0][i] * D + j];
	}
	expect(0, h, 0);
	expect(1, y, 0);
	expect(2, c, 0);
	end();
}

/* Three definitions that need one another, one step back in time. */
static void
recurrent_network(void **state)
{
	enum { T = 20, D = 40 };
	double *h = room(T * D), c[D] = { 0 }, before[D] = { 0 };

	(void)state;
	begin();
	axis("T", T);
	axis("D", D);
	input("x", DTYPE_FLOAT32, "TD", normal);
	input("u", DTYPE_FLOAT32, "DD", (struct generate_domain){ .distribution = GENERATE_NORMAL,
		.scale = 0.2 });
	output("h", DTYPE_FLOAT32, "TD");
	evaluate("z[t,j] = sigmoid(x[t,j] + sum(u[j,k] * h[t-1,k; 0] for k))\nc[t,j] = z[t,j] * c[t-1,j; 0] + x[t,j]\n"
		"h[t,j] = tanh(c[t,j])");
	for (int t = 0; t < T; t++) {
		for (int j = 0; j < D; j++) {
			double z = 0;

			for (int k = 0; k < D; k++)
				z += f.in[1][j * D + k] * before[k];
			c[j] = c[j] / (1 + exp(-(f.in[0][t * D + j] + z))) + f.in[0][t * D + j];
			h[t * D + j] = tanh(c[j]);
		}
		for (int j = 0; j < D; j++)
			before[j] = h[t * D + j];
	}
	expect(0, h, 1e-12);
	end();
}

static void
losses(void **state)
{
	enum { N = 50, C = 300 };
	double *loss = room(1), *arg = room(N);

	(void)state;
	begin();
	axis("N", N);
	axis("C", C);
	input("x", DTYPE_FLOAT32, "NC", normal);
	input("id", DTYPE_INT64, "N", (struct generate_domain){ .distribution = GENERATE_INTEGERS,
		.low_integer = 0, .high_integer = C });
	output("loss", DTYPE_FLOAT32, "");
	output("arg", DTYPE_INT64, "N");
	evaluate("m[i] = max(x[i,j] for j)\nlse[i] = m[i] + log(sum(exp(x[i,j] - m[i]) for j))\n"
		"loss = sum(lse[i] - x[i, id[i]] for i) / N\narg[i] = argmax(x[i,j] for j)");
	for (int i = 0; i < N; i++) {
		const double *x = f.in[0] + i * C;
		double sum = 0;

		for (int j = 0; j < C; j++) {
			sum += exp(x[j]);
			if (x[j] > x[(int)arg[i]])
				arg[i] = j;
		}
		loss[0] += (log(sum) - x[(int)f.in[1][i]]) / N;
	}
	expect(0, loss, 1e-12);
	expect(1, arg, 0);
	end();
}

/* Rows whose ends both stick out, walked backwards, diagonally and with a gap. */
static void
rows(void **state)
{
	enum { N = 700 };
	double *a = room(N), *b = room(N), *c = room(N), *d = room(N), *e = room(N);

	(void)state;
	begin();
	axis("N", N);
	input("x", DTYPE_FLOAT32, "N", normal);
	output("a", DTYPE_FLOAT32, "N");
	output("b", DTYPE_FLOAT32, "N");
	output("c", DTYPE_FLOAT32, "N");
	output("d", DTYPE_FLOAT32, "N");
	output("e", DTYPE_FLOAT32, "N");
	evaluate("e[i] = x[N - i; 7]\na[i] = x[500 - 2*i; x[i] * 2]\nb[i] = x[i - 300; -1] + x[3*i; 0]\n"
		"c[i] = sum(x[j] for j in i-2..i+3 if 0 <= j < N and j mod 2 == 0)\n"
			"d[i] = x[i*i mod N] * x[N-1-i] if i mod 3 != 1 else i");
	for (int i = 0; i < N; i++) {
		a[i] = 500 - 2 * i >= 0 ? f.in[0][500 - 2 * i] : f.in[0][i] * 2;
		b[i] = (i >= 300 ? f.in[0][i - 300] : -1) + (3 * i < N ? f.in[0][3 * i] : 0);
		for (int j = i - 2; j < i + 3; j++)
			c[i] += j >= 0 && j < N && j % 2 == 0 ? f.in[0][j] : 0;
		e[i] = i ? f.in[0][N - i] : 7;
		d[i] = i % 3 != 1 ? f.in[0][i * i % N] * f.in[0][N - 1 - i] : i;
	}
	expect(0, a, 0);
	expect(1, b, 0);
	expect(2, c, 0);
	expect(3, d, 0);
	expect(4, e, 0);
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(softmax), cmocka_unit_test(matmul), cmocka_unit_test(convolution),
			cmocka_unit_test(layer_norm),
		cmocka_unit_test(cumulative_sum), cmocka_unit_test(attention), cmocka_unit_test(pooling),
			cmocka_unit_test(top_k),
		cmocka_unit_test(histogram_and_gather), cmocka_unit_test(recurrent_network),
			cmocka_unit_test(losses),
		cmocka_unit_test(rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
