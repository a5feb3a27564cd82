# km-verify --replay: an evaluation from its record, equal to the last bit, or what differs.
bats_require_minimum_version 1.5.0

setup_file() {
	export W="$BATS_FILE_TMPDIR" STORE="$BATS_FILE_TMPDIR/store"
	"$KM_OUT/bin/km-ingest" -q --store "$STORE" -o "$W/tasks.jsonl" tests/cheats/tasks/affine tests/cheats/tasks/rows
	python3 - >"$W/cases.jsonl" <<'P'
import json, os
kernel = """#include <stdint.h>
__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
	if (i < n)
		y[%s] = 2 * x[i] + 0.5f;
}
extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
}
"""
for line in open(os.environ["W"] + "/tasks.jsonl"):
    case = json.loads(line)
    case["solutions"] = [{"task_id": case["task"]["id"], "phase": "solve", "source": source, "origin": {"kind": "authored"}}
        for source in (kernel % "i", kernel % "i + 1", kernel.replace(";", "", 1) % "i")
        if case["task"]["name"] == "cheat_affine"]
    print(json.dumps(case))
P
	"$KM_OUT/bin/km-verify" -q --all --store "$STORE" -o "$W/verified.jsonl" "$W/cases.jsonl"
}

replay() {
	"$KM_OUT/bin/km-verify" --store "$STORE" --replay "$@"
}

# The id of an evaluation by Python condition on e.
id() {
	python3 -c "import json
print(next(e['id'] for l in open('$W/verified.jsonl') for e in json.loads(l).get('evaluations', []) if $1))"
}

# The verified cases with one evaluation changed by the Python statement on e.
changed() {
	python3 - "$W" "$1" "$2" <<'P'
import json, sys
for case in map(json.loads, open(sys.argv[1] + "/verified.jsonl")):
    for e in case.get("evaluations", []):
        if e["id"] == sys.argv[2]:
            exec(sys.argv[3])
    print(json.dumps(case))
P
}

@test "passed, failed and unbuilt evaluations come out as they are recorded, without the stored answer" {
	for which in 'e["status"] == "PASSED" and e["workload"] == "held"' 'e["status"] == "RUNTIME_ERROR"' 'e["status"] == "COMPILE_ERROR"' 'e.get("role") == "profile"'; do
		id=$(id "$which")
		rm -rf "$STORE/evaluations"
		replay "$id" "$W/verified.jsonl" >"$W/again" 2>"$W/said"
		grep -q "evaluation $id came out as it is recorded" "$W/said"
		python3 -c "import json; e = json.load(open('$W/again')); assert e['id'] == '$id', e"
	done
}

@test "each kind of difference is named, and the exit status is 1" {
	id=$(id 'e["status"] == "PASSED" and e["workload"] == "more"')
	while IFS='|' read -r change said; do
		changed "$id" "$change" >"$W/changed.jsonl"
		run -1 replay "$id" "$W/changed.jsonl"
		grep -qF "$said" <<<"$output" || { echo "$change: $output"; false; }
	done <<'T'
e["status"] = "TIMEOUT"|status was "TIMEOUT" and is "PASSED"
e["counters"]["lane_instructions"] += 1|counters.lane_instructions was
e["outputs"][0]["xxh3_128"] = "0" * 32|outputs was
e["max_absolute_error"] = 0.125|max_absolute_error was 0.125 and is
e["findings"] = [{"check": "memcheck", "kind": "trap"}]|findings was [{"check"
e["reason"] = "because"|reason was "because" and is nothing
del e["compared_elements"]|compared_elements was nothing and is 4099
T
}

@test "a verdict is not changed, and who the record was for does not matter" {
	id=$(id 'e["workload"] == "odd"')
	changed "$id" 'e["final"] = False' >"$W/changed.jsonl"
	replay "$id" "$W/changed.jsonl" >/dev/null
}

@test "what cannot be repeated is refused with the reason" {
	id=$(id 'e["workload"] == "odd"')
	run -65 replay "$id" --seed 77 "$W/verified.jsonl"
	grep -q "seed 77: see --seed" <<<"$output"
	changed "$id" 'e["target"] = "sm_90"' >"$W/changed.jsonl"
	run -65 replay "$id" "$W/changed.jsonl"
	grep -q "it was made on sm_90, and this is ptx-sm_90" <<<"$output"
	changed "$id" 'e["protocol"] = 1' >"$W/changed.jsonl"
	run -65 replay "$id" "$W/changed.jsonl"
	grep -q "it was made by protocol 1" <<<"$output"
	run -65 replay 00000000000000000000000000000000 "$W/verified.jsonl"
	grep -q "no case has an evaluation with the id 0000" <<<"$output"
}
