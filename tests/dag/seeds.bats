# All seeds through the whole DAG, with the work store of the last `make dataset` where there is one: what the
# corpus has to show. Nothing here is told; everything is counted in the cases that came out.
load common

setup_file() {
	load common
	export out="$BATS_FILE_TMPDIR/out" store="$KM_OUT/store"
	dataset "$out" seeds/specs STORE="$store"
	zstd -dcq "$out/data/verify-0.jsonl.zst" >"$BATS_FILE_TMPDIR/cases.jsonl"
}

# Runs the Python text on standard input with `cases`, a list of all cases, and helpers that say what a case shows.
count() {
	python3 - "$BATS_FILE_TMPDIR/cases.jsonl" "$@" <<P
import json, sys
cases = [json.loads(line) for line in open(sys.argv[1])]

def solutions(case, phase):
    return [s for s in case["solutions"] if s["phase"] == phase]

def judged(case, solution, final=False):
    return [e for e in case["evaluations"] if e["solution_id"] == solution["id"] and bool(e.get("final")) == final]

def fault(case, solution):
    """None if it passed, else the finding's kind or the status."""
    for e in judged(case, solution):
        if e["status"] != "PASSED":
            finding = (e.get("findings") or [None])[0]
            return finding["check"] + " " + finding["kind"] if finding else e["status"]
    return None

def submitted(case, phase):
    ids = [t["solution_id"] for t in case["trajectories"] if t["phase"] == phase]
    return next((s for s in case["solutions"] if ids and s["id"] == ids[-1]), None)

def cost(case, solution):
    return next((e["cost"] for e in judged(case, solution) if "cost" in e), None)

$(cat)
P
}

@test "at least 20 tasks, 8 families, all seven combinations of forms, several dtypes" {
	count <<'P'
families = {c["task"]["op_type"] for c in cases}
forms = {tuple(sorted(c["task"]["forms"])) for c in cases}
narrow = [c for c in cases if any(t["dtype"] not in ("float32", "float64") for t in c["task"]["inputs"] + c["task"]["outputs"])]
print(len(cases), "tasks,", len(families), "families,", len(forms), "combinations,", len(narrow), "with other dtypes")
assert len(cases) >= 20 and len(families) >= 8 and len(forms) == 7 and len(narrow) >= 5
P
}

@test "every task is solved and passes on its held-out workloads" {
	count <<'P'
for case in cases:
    final = [e for e in case["evaluations"] if e.get("final")]
    assert any(e.get("held_out") for e in final), case["task"]["name"]
    best = {e["solution_id"] for e in final} - {e["solution_id"] for e in case["evaluations"] if e["status"] != "PASSED"}
    assert best, case["task"]["name"]
print(len(cases), "of", len(cases))
P
}

@test "no transcript is stale: every turn answers the verdict that it got" {
	count <<'P'
stale = [(c["task"]["name"], t["phase"], t.get("stale_reason")) for c in cases for t in c["trajectories"] if t.get("stale")]
assert not stale, stale
P
}

@test "at least 8 first attempts have a fault, of at least five kinds, and a repair that passes" {
	count <<'P'
kinds = {}
for case in cases:
    first, mended = submitted(case, "solve"), submitted(case, "repair")
    if first and fault(case, first):
        assert mended and fault(case, mended) is None, case["task"]["name"]
        kinds.setdefault(fault(case, first), []).append(case["task"]["name"])
for kind, names in sorted(kinds.items()):
    print(kind, *names)
assert sum(map(len, kinds.values())) >= 8
for kind in ("compiler error", "memcheck out_of_bounds", "initcheck uninitialised_read", "synccheck divergent_barrier", "INCORRECT_NUMERICAL"):
    assert kind in kinds, kind
P
}

@test "at least 6 tasks are optimized on two or more branches, one better and one worse by the cost" {
	count <<'P'
good = []
for case in cases:
    start = submitted(case, "repair") or submitted(case, "solve")
    costs = [cost(case, s) for s in solutions(case, "optimize") if cost(case, s)]
    if min(costs, default=1e99) < cost(case, start) < max(costs, default=0):
        good.append(case["task"]["name"])
print(len(good), *good)
assert len(good) >= 6
P
}

@test "at least 8 solutions use shared memory and barriers, at least 4 several kernels" {
	count <<'P'
shared, several = [], []
for case in cases:
    final = [s for s in case["solutions"] if judged(case, s, final=True)]
    counters = [e["counters"] for s in final for e in judged(case, s, final=True) if e.get("role") == "profile"]
    if any(c["barriers"] and c["shared_requests"] for c in counters):
        shared.append(case["task"]["name"])
    if any(s["source"].count("<<<") > 1 for s in final):
        several.append(case["task"]["name"])
print("shared", len(shared), "several", len(several))
assert len(shared) >= 8 and len(several) >= 4
P
}

@test "changing a transcript changes the outcome" {
	cp -r "$root/seeds/transcripts" "$BATS_TEST_TMPDIR/transcripts"
	mkdir "$BATS_TEST_TMPDIR/specs"
	cp -r "$root/seeds/specs/softmax_temperature_f16" "$BATS_TEST_TMPDIR/specs/"
	sed -i 's/<<</<<<0 * /' "$BATS_TEST_TMPDIR"/transcripts/softmax_temperature_f16/solve*.cu
	dataset "$BATS_TEST_TMPDIR/out" "$BATS_TEST_TMPDIR/specs" STORE="$store" TRANSCRIPTS="$BATS_TEST_TMPDIR/transcripts"
	zstd -dcq "$BATS_TEST_TMPDIR/out/data/verify-0.jsonl.zst" | python3 -c '
import json, sys
case = json.loads(sys.stdin.readline())
assert all(e["status"] != "PASSED" for e in case["evaluations"] if "workload" in e), case["evaluations"]
assert not any(e.get("final") for e in case["evaluations"])
'
}
