# km-ingest refuses tasks that a kernel passes which does not do the work, each kind by its own code; a neighbour of each
# that differs by one word is taken.

bats_require_minimum_version 1.5.0

# spec NAME MATH DOMAIN [TOLERANCE]: a folder with one elementwise task.
spec() {
	mkdir -p "$BATS_TEST_TMPDIR/specs/$1"
	echo "$2" >"$BATS_TEST_TMPDIR/specs/$1/spec.math"
	cat >"$BATS_TEST_TMPDIR/specs/$1/task.json" <<T
{"format": "kernelmosaic-spec/1", "name": "$1", "forms": ["math_spec"], "oracle": "math_spec", "op_type": "elementwise",
 "axes": [{"name": "N"}], "inputs": [{"name": "x", "dtype": "float32", "shape": ["N"], "domain": $3}],
 "outputs": [{"name": "y", "dtype": "float32", "shape": ["N"]}], "tolerance": {"rtol": ${4:-1e-4}, "atol": ${4:-1e-4}},
 "workloads": [{"name": "one", "role": "check", "axes": {"N": 1}}, {"name": "odd", "role": "check", "axes": {"N": 1003}},
  {"name": "held", "role": "check", "axes": {"N": 515}, "held_out": true}, {"name": "shape", "role": "profile", "axes": {"N": 4096}}],
 "license": "CC-BY-4.0", "source": {"kind": "original", "author": "nobody"}}
T
}

@test "degenerate tasks are refused, each with its code" {
	local unit='{"distribution": "uniform", "low": 0, "high": 1}' minus='{"distribution": "uniform", "low": -1, "high": 0}'
	local normal='{"distribution": "normal"}'
	spec zeros_pass 'y[i] = max(x[i], 0)' "$minus"
	spec zeros_fine 'y[i] = max(x[i], -0.5)' "$minus"
	spec constant_passes 'y[i] = 5 + x[i] / 100000' "$unit"
	spec constant_fine 'y[i] = 5 + x[i] / 100' "$unit"
	spec inputs_unused 'y[i] = (i mod 7) * 0.5 + x[i] * 0' "$normal"
	spec inputs_fine 'y[i] = (i mod 7) * 0.5 + x[i]' "$normal"
	spec identity_passes 'y[i] = max(x[i], 0)' "$unit"
	spec identity_fine 'y[i] = max(x[i], 0)' "$normal"
	spec half_passes 'y[i] = 2 * x[i] if i < N div 2 else 0' "$normal"
	spec half_fine 'y[i] = 2 * x[i] if i < N div 2 + 1 else 0' "$normal"
	spec tolerance_too_wide 'y[i] = 2 * x[i]' "$normal" 0.3
	spec tolerance_fine 'y[i] = 2 * x[i]' "$normal" 0.1
	spec sample_passes 'y[i] = x[0] + x[i] / 1000000' "$normal"
	spec sample_fine 'y[i] = x[0] + x[i] / 100' "$normal"
	"$KM_OUT/bin/km-ingest" --store "$BATS_TEST_TMPDIR/store" -o "$BATS_TEST_TMPDIR/out.jsonl" \
		--rejects "$BATS_TEST_TMPDIR/rejects.jsonl" --max-rejects 7 "$BATS_TEST_TMPDIR/specs"
	python3 - "$BATS_TEST_TMPDIR" <<'P'
import json, sys
rejects = [json.loads(l) for l in open(sys.argv[1] + "/rejects.jsonl")]
for r in rejects:
    print(r["file"], r["code"], r["message"])
    assert r["code"] in r["file"], r
    assert "passes on all check workloads" in r["message"]
assert len(rejects) == 7
names = sorted(json.loads(l)["task"]["name"] for l in open(sys.argv[1] + "/out.jsonl"))
assert names == ["constant_fine", "half_fine", "identity_fine", "inputs_fine", "sample_fine",
    "tolerance_fine", "zeros_fine"], names
P
}

@test "a reference that says something else each time is refused" {
	local W="$BATS_TEST_TMPDIR" draw
	for draw in 0 1; do
		mkdir -p "$W/specs/draws_$draw"
		cat >"$W/specs/draws_$draw/reference.c" <<C
#include <stdint.h>
#include <time.h>
void reference(const float *x, float *y, int64_t N)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	for (int64_t i = 0; i < N; i++)
		y[i] = 2 * x[i] + $draw * t.tv_nsec;
}
C
		cat >"$W/specs/draws_$draw/task.json" <<T
{"format": "kernelmosaic-spec/1", "name": "draws_$draw", "forms": ["reference_program"], "oracle": "reference_program",
 "op_type": "elementwise", "axes": [{"name": "N"}],
 "inputs": [{"name": "x", "dtype": "float32", "shape": ["N"], "domain": {"distribution": "normal"}}],
 "outputs": [{"name": "y", "dtype": "float32", "shape": ["N"]}], "tolerance": {"rtol": 1e-4, "atol": 1e-4},
 "workloads": [{"name": "odd", "role": "check", "axes": {"N": 1003}},
  {"name": "held", "role": "check", "axes": {"N": 515}, "held_out": true}, {"name": "shape", "role": "profile", "axes": {"N": 4096}}],
 "license": "CC-BY-4.0", "source": {"kind": "original", "author": "nobody"}}
T
	done
	"$KM_OUT/bin/km-ingest" --store "$W/store" -o "$W/out.jsonl" --rejects "$W/rejects.jsonl" --max-rejects 1 "$W/specs"
	grep -q '"code":"reference_not_repeatable"' "$W/rejects.jsonl" && grep -q draws_1 "$W/rejects.jsonl"
	[ "$(wc -l <"$W/out.jsonl")" -eq 1 ] && grep -q '"name":"draws_0"' "$W/out.jsonl"
}
