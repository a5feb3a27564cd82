# Solutions that attack: each gets its verdict in one line, and everything around it stays as it was.

setup_file() {
	root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	export root bin="$KM_OUT/bin" data="$BATS_TEST_DIRNAME/../data/hostile" work="$BATS_FILE_TMPDIR"
	while IFS=$'\t' read -r name _; do
		mkdir -p "$work/specs/$name" "$work/transcripts/$name"
		sed "s/NAME/$name/" "$data/task.json" >"$work/specs/$name/task.json"
		echo "Add two vectors. Attack: $name." >"$work/specs/$name/prompt.md"
		echo 'z[i] = x[i] + y[i]' >"$work/specs/$name/spec.math"
		cp "$data/$name.cu" "$work/transcripts/$name/solve.cu"
		printf '{"format": "kernelmosaic-transcript/1", "task": "%s", "author": "KernelMosaic",
 "solve": [{"content": "Here.", "tool": "submit", "source": "solve.cu"}]}\n' "$name" \
			>"$work/transcripts/$name/transcript.json"
	done <"$data/expected.tsv"
	"$bin/km-ingest" --no-check --store "$work/store" "$work/specs" |
		"$bin/km-review" --decisions /dev/null --default unreviewed |
		"$bin/km-solve" --store "$work/store" --transcripts "$work/transcripts" --threads 2 >"$work/solved.jsonl"
}

# The status and reason of the last evaluation of a task.
verdict() {
	python3 - "$work/solved.jsonl" "$1" <<'P'
import json, sys
for line in open(sys.argv[1]):
    case = json.loads(line)
    if case["task"]["name"] == sys.argv[2]:
        last = case["evaluations"][-1]
        log = last.get("compile_log", "").replace("\n", " ")
        print(last["status"], last.get("reason", "").replace("\n", "\\n"), log)
P
}

@test "every hostile solution gets its verdict" {
	failed=0
	while IFS=$'\t' read -r name status says; do
		got=$(verdict "$name")
		if [[ $got != "$status "* || $got != *"$says"* ]]; then
			echo "$name: expected $status with '$says', got: $got"
			failed=1
		fi
	done <"$data/expected.tsv"
	[ "$failed" -eq 0 ]
}

@test "no verdict shows a line of /etc/shadow" {
	head -c 20 /etc/shadow >"$work/secret" || skip "not root"
	! grep -qF "$(cat "$work/secret")" "$work/solved.jsonl"
}

@test "nothing is left behind" {
	! pgrep -f "$work" >/dev/null
}

@test "the second run evaluates nothing but what met the clock" {
	before=$(grep -c '^evaluated' "$work/store/journal")
	"$bin/km-ingest" --no-check --store "$work/store" "$work/specs/honest" |
		"$bin/km-review" --decisions /dev/null --default unreviewed |
		"$bin/km-solve" --store "$work/store" --transcripts "$work/transcripts" >"$work/again.jsonl"
	[ "$(grep -c '^evaluated' "$work/store/journal")" -eq "$before" ]
	diff "$work/again.jsonl" <(grep '"name":"honest"' "$work/solved.jsonl")
}
