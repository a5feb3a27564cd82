# What the agent's tests share: one small task with its transcript, and a look into cases.
DATA=tests/data/agent

agent_setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	export PATH="$KM_OUT/bin:$PATH" S="$BATS_FILE_TMPDIR"
	bats_require_minimum_version 1.5.0
}

# ask FILE EXPRESSION: a Python expression over `c`, the first case of the file, and `cases`, all of them.
ask() {
	python3 - "$@" <<'PYTHON'
import json, sys
cases = [json.loads(line) for line in open(sys.argv[1])]
c = cases[0] if cases else None
def tree():
    return {t["branch"]: t for t in c["trajectories"] if t["phase"] == "optimize"}
def statuses(phase):
    return [turn["status"] for t in c["trajectories"] if t["phase"] == phase for turn in t["turns"]]
def source(solution_id):
    return next(s["source"] for s in c["solutions"] if s["id"] == solution_id)
print(eval(sys.argv[2]))
PYTHON
}

# stat FILE COUNTER: a number of a --stats file, wherever it stands.
stat_of() {
	python3 - "$@" <<'PYTHON'
import json, sys
def find(value, key):
    if isinstance(value, dict):
        if key in value:
            return value[key]
        value = list(value.values())
    if isinstance(value, list):
        for v in value:
            got = find(v, key)
            if got is not None:
                return got
print(find(json.load(open(sys.argv[1])), sys.argv[2]))
PYTHON
}

stage() {	# stage NAME IN OUT [OPTION...]
	local name="$1" in="$2" out="$3"
	shift 3
	"km-$name" -q --store "${STORE:-$S/store}" --transcripts "${TRANSCRIPTS:-$DATA/transcripts}" --guidance '' \
		--stats "$out.stats" -o "$out" "$@" "$in"
}

verify() {	# verify IN OUT [OPTION...]
	local in="$1" out="$2"
	shift 2
	km-verify -q --store "${STORE:-$S/store}" --stats "$out.stats" -o "$out" "$@" "$in"
}
