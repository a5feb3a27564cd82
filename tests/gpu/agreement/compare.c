/* compare GPU.dump CPU.dump: what two runs of one program of harness.h left. One word, then figures:
 * same (bit for bit), close (within the tolerance that a judge would grant), different, status (one of them failed).
 *
 * cc -O2 -o compare compare.c -lm */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dump {
	char *bytes, *at, *end;
	char status[64];
};

static void
read_dump(struct dump *d, const char *path)
{
	FILE *f = fopen(path, "rb");
	snprintf(d->status, sizeof d->status, "no_dump");
	if (!f)
		return;
	fseek(f, 0, SEEK_END);
	size_t count = (size_t)ftell(f);
	rewind(f);
	d->bytes = malloc(count + 1);
	if (!d->bytes || fread(d->bytes, 1, count, f) != count)
		exit(1);
	fclose(f);
	d->bytes[count] = 0;
	d->end = d->bytes + count;
	char *line_end = memchr(d->bytes, '\n', count);
	if (!line_end || sscanf(d->bytes, "status %63s", d->status) != 1)
		return;
	d->at = line_end + 1;
}

static bool
next_buffer(struct dump *d, char type[8], size_t *count)
{
	char *line_end = d->at && d->at < d->end ? memchr(d->at, '\n', (size_t)(d->end - d->at)) : NULL;
	if (!line_end || sscanf(d->at, "buffer %7s %zu", type, count) != 2)
		return false;
	d->at = line_end + 1;
	return true;
}

static size_t
size_of(const char *type)
{
	return strstr(type, "64") ? 8 : strstr(type, "32") ? 4 : strstr(type, "16") ? 2 : 1;
}

static double
number(const char *type, const char *at)
{
	uint64_t bits = 0;
	float f;
	double d;
	memcpy(&bits, at, size_of(type));
	if (*type == 'i')
		return size_of(type) == 8 ? (double)(int64_t)bits : size_of(type) == 4 ? (double)(int32_t)bits : (double)bits;
	if (!strcmp(type, "f64")) {
		memcpy(&d, &bits, 8);
		return d;
	}
	if (!strcmp(type, "f16")) {
		int e = (int)(bits >> 10 & 31), m = (int)(bits & 1023);
		d = e == 31 ? m ? NAN : INFINITY : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
		return bits & 0x8000 ? -d : d;
	}
	uint32_t low = (uint32_t)(*type == 'b' ? bits << 16 : bits);
	memcpy(&f, &low, 4);
	return f;
}

struct result {
	size_t elements, bits_differ, beyond;
	double worst;
};

static double
tolerance(const char *type)
{
	return *type == 'i' ? 0 : !strcmp(type, "f64") ? 1e-9 : !strcmp(type, "f32") ? 1e-4 : !strcmp(type, "f16") ? 4e-3 : 3e-2;
}

/* The error is taken against the value, or the root mean square of the buffer where that is greater. */
static void
compare_buffer(struct result *r, const char *type, const char *a, const char *b, size_t count)
{
	size_t size = size_of(type), finite = 0;
	double squares = 0;
	for (size_t k = 0; k < count; k++) {
		double v = number(type, a + k * size);
		if (isfinite(v) && v != 0) {
			squares += v * v;
			finite++;
		}
	}
	double scale = finite ? sqrt(squares / (double)finite) : 1;
	r->elements += count;
	for (size_t k = 0; k < count; k++) {
		if (!memcmp(a + k * size, b + k * size, size))
			continue;
		double x = number(type, a + k * size), y = number(type, b + k * size);
		r->bits_differ++;
		if ((isnan(x) && isnan(y)) || x == y)
			continue;
		double error = fabs(x - y) / fmax(fmax(fabs(x), fabs(y)), scale);
		if (!(error <= tolerance(type)))
			r->beyond++;
		if (!(error <= r->worst))
			r->worst = error;
	}
}

int
main(int argc, char **argv)
{
	struct dump a = { 0 }, b = { 0 };
	struct result r = { 0 };
	char type[8], other[8];
	size_t count, other_count;
	if (argc != 3)
		return 64;
	read_dump(&a, argv[1]);
	read_dump(&b, argv[2]);
	if (strcmp(a.status, b.status) || strcmp(a.status, "cudaSuccess")) {
		printf("%s\t%s %s\n", strcmp(a.status, b.status) ? "status" : "same", a.status, b.status);
		return 0;
	}
	while (next_buffer(&a, type, &count)) {
		if (!next_buffer(&b, other, &other_count) || strcmp(type, other) || count != other_count) {
			printf("different\tthe buffers are not the same\n");
			return 0;
		}
		compare_buffer(&r, type, a.at, b.at, count);
		a.at += count * size_of(type);
		b.at += count * size_of(type);
	}
	printf("%s\t%zu of %zu elements differ, %zu beyond tolerance, worst %.3g\n",
		!r.bits_differ ? "same" : r.beyond ? "different" : "close", r.bits_differ, r.elements, r.beyond, r.worst);
	return 0;
}
