# Whose verdict is it: a file of one's own, and records whose ids are not those of what stands in them.
bats_require_minimum_version 1.5.0

setup_file() {
	export W="$BATS_FILE_TMPDIR" STORE="$BATS_FILE_TMPDIR/store"
	"$KM_OUT/bin/km-ingest" -q --store "$STORE" -o "$W/task.jsonl" tests/cheats/tasks/affine
	cat >"$W/right.cu" <<'C'
#include <stdint.h>
__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = 2 * x[i] + 0.5f;
}
extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
}
C
	sed 's/0.5f/0.25f/' "$W/right.cu" >"$W/wrong.cu"
	"$KM_OUT/bin/km-verify" -q --store "$STORE" --source "$W/right.cu" -o "$W/judged.jsonl" "$W/task.jsonl"
}

verify() {
	run "$KM_OUT/bin/km-verify" --store "$STORE" "$@"
}

# The judged case after a Python statement on it.
changed() {
	python3 -c "
import json
case = json.loads(open('$W/judged.jsonl').readline())
solution = case['solutions'][0]
$1
print(json.dumps(case))" >"$W/changed.jsonl"
}

@test "a file of one's own is judged, with the reason where it fails" {
	verify --source "$W/right.cu" -o "$W/out" "$W/task.jsonl"
	[ "$status" -eq 0 ] && [[ "$output" == *"cheat_affine: solution "*": PASSED"* ]]
	verify --source "$W/wrong.cu" -o "$W/out" "$W/judged.jsonl"
	[ "$status" -eq 0 ] && [[ "$output" == *"INCORRECT_NUMERICAL on workload "*"differ from the oracle"* ]]
	python3 - "$W/out" "$W/wrong.cu" <<'P'
import hashlib, json, sys
case, source = json.loads(open(sys.argv[1]).readline()), open(sys.argv[2]).read()
[solution] = case["solutions"]
assert solution["source"] == source and solution["source_sha256"] == hashlib.sha256(source.encode()).hexdigest()
assert {e["solution_id"] for e in case["evaluations"]} == {solution["id"]} and case["trajectories"] == []
P
	verify --source "$W/none.cu" "$W/task.jsonl"
	[ "$status" -eq 66 ] && [[ "$output" == *"none.cu"* ]]
	verify --source "$W/right.cu" --replay 0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f "$W/task.jsonl"
	[ "$status" -eq 64 ]
}

@test "what follows from a solution is filled in, and refused where it is another's" {
	changed 'del solution["id"], solution["source_sha256"]'
	verify -q -o "$W/out" "$W/changed.jsonl"
	[ "$status" -eq 0 ] && python3 -c "import json; assert json.load(open('$W/out')) == json.load(open('$W/judged.jsonl'))"
	changed 'solution["id"] = "0" * 32'
	verify -o "$W/out" "$W/changed.jsonl"
	[[ "$output" == *"a solution's id is 0000"*"and its task and source make it "* ]] && [ ! -s "$W/out" ]
	changed 'solution["source_sha256"] = "0" * 64'
	verify -o "$W/out" "$W/changed.jsonl"
	[[ "$output" == *"a solution's source_sha256 is 0000"* ]] && [ ! -s "$W/out" ]
}

@test "an edited task does not answer for the one whose id it kept" {
	changed 'case["task"]["math_spec"]["text"] = "y[i] = 2 * x[i] + 0.25"'
	verify --source "$W/wrong.cu" -o "$W/out" "$W/changed.jsonl"
	[[ "$output" == *"task.id is "*", and its content makes it "* ]] && [ ! -s "$W/out" ]
	verify --source "$W/wrong.cu" -o "$W/out" "$W/task.jsonl"
	[[ "$output" == *"INCORRECT_NUMERICAL"* ]]
}

@test "a release takes no id of other content, and no verdict without its workloads" {
	review='case["review"] = {"status": "accepted", "actor": "a", "actor_kind": "person", "mode": "interactive", "time": "2026-01-31T12:00:00Z", "reason": "", "shown_sha256": "0" * 64}'
	changed "$review"
	run "$KM_OUT/bin/km-package" -q -o "$W/release" "$W/changed.jsonl"
	[ "$status" -eq 0 ] && zstdcat "$W"/release/solutions/*.zst | grep -q '"resolved":true'
	changed "$review; case['evaluations'] = [e for e in case['evaluations'] if not e.get('held_out')]"
	rm -r "$W/release"
	run "$KM_OUT/bin/km-package" -q -o "$W/release" "$W/changed.jsonl"
	[ "$status" -eq 0 ] && zstdcat "$W"/release/solutions/*.zst | grep -q '"resolved":false'
	rm -r "$W/release"
	changed "$review; solution['source'] += ' '"
	run "$KM_OUT/bin/km-package" -q -o "$W/release" "$W/changed.jsonl"
	[ "$status" -eq 65 ] && [[ "$output" == *"make it "* ]] && [ ! -e "$W/release" ]
}
