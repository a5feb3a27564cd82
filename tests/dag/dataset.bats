# Three tasks through the whole DAG: any number of shards and any number of kills give the same release.
load common

setup_file() {
	export specs="$BATS_FILE_TMPDIR/specs" reference="$BATS_FILE_TMPDIR/one"
	mkdir -p "$specs"
	for task in $(cat "$BATS_TEST_DIRNAME/three-tasks"); do
		cp -r "$BATS_TEST_DIRNAME/../../seeds/specs/$task" "$specs/"
	done
	load common
	dataset "$reference" "$specs" SHARDS=1
}

@test "the release is whole: the independent reader agrees" {
	run python3 "$root/tests/release/read_release.py" "$reference/release" "$root/schemas"
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "every task is verified on held-out workloads" {
	zstd -dcq "$reference"/release/solutions/*.zst | python3 -c '
import json, sys
rows = [json.loads(line) for line in sys.stdin]
resolved = {row["task_name"] for row in rows if row.get("resolved")}
held_out = {e["workload"] for row in rows for e in row["evaluations"] if e.get("final") and e.get("held_out")}
assert len(resolved) == 3, resolved
assert held_out, "no final evaluation on a held-out workload"
'
}

@test "three shards give the same release as one" {
	dataset "$BATS_TEST_TMPDIR/out" "$specs" SHARDS=3 STORE="$reference/store"
	diff <(digest "$reference/release") <(digest "$BATS_TEST_TMPDIR/out/release")
}

@test "a fresh store and one thread give the same release" {
	dataset "$BATS_TEST_TMPDIR/out" "$specs" SHARDS=2 THREADS=1
	diff <(digest "$reference/release") <(digest "$BATS_TEST_TMPDIR/out/release")
}

@test "ten kills at random moments change nothing and repeat nothing" {
	out="$BATS_TEST_TMPDIR/out"
	for i in 1 2 3 4 5 6 7 8 9 10; do
		killed_after "$((RANDOM % 5)).$((RANDOM % 10))" "$out" "$specs" SHARDS=2
	done
	dataset "$out" "$specs" SHARDS=2
	diff <(digest "$reference/release") <(digest "$out/release")
	[ -s "$out/store/journal" ]
	[ -z "$(evaluated_twice "$out/store")" ]
	[ -z "$(pgrep -f "$out" || true)" ]
}

@test "a second run does nothing" {
	run dataset "$reference" "$specs" SHARDS=1
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}
