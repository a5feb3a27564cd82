# solve, repair, optimize, verify on one task, with real verdicts.
load agent.bash

setup_file() {
	agent_setup
	km-ingest -q --store "$S/store" -o "$S/tasks.jsonl" $DATA/specs
	stage solve "$S/tasks.jsonl" "$S/solved.jsonl"
	stage repair "$S/solved.jsonl" "$S/repaired.jsonl"
	stage optimize "$S/repaired.jsonl" "$S/optimized.jsonl"
	verify "$S/optimized.jsonl" "$S/verified.jsonl"
}

setup() { agent_setup; }

# A copy of the transcripts to change.
own_transcripts() {
	export TRANSCRIPTS="$BATS_TEST_TMPDIR/transcripts"
	cp -r $DATA/transcripts "$TRANSCRIPTS"
	T="$TRANSCRIPTS/row_sum_f32"
}

@test "solve: faults are found as the transcript says" {
	[ "$(ask "$S/solved.jsonl" 'statuses("solve")')" = "['COMPILE_ERROR', 'RUNTIME_ERROR']" ]
	[ "$(ask "$S/solved.jsonl" '[t["stale"] for t in c["trajectories"]]')" = "[False]" ]
	[ "$(ask "$S/solved.jsonl" 'c["trajectories"][0]["exit_status"]')" = submitted ]
	[ "$(ask "$S/solved.jsonl" 'c["trajectories"][0]["origin"]["kind"]')" = authored ]
	[ "$(stat_of "$S/solved.jsonl.stats" turns)" = 2 ]
	[ "$(stat_of "$S/solved.jsonl.stats" stale)" = 0 ]
}

@test "repair: continues the conversation and passes" {
	[ "$(ask "$S/repaired.jsonl" 'statuses("repair")')" = "['PASSED', 'PASSED']" ]
	[ "$(ask "$S/repaired.jsonl" 'c["trajectories"][1]["parent_id"] == c["trajectories"][0]["id"]')" = True ]
	[ "$(ask "$S/repaired.jsonl" 'c["trajectories"][1]["stale"]')" = False ]
	[ "$(ask "$S/repaired.jsonl" 'c["solutions"][1]["parent_id"] == c["solutions"][0]["id"]')" = True ]
	[ "$(stat_of "$S/repaired.jsonl.stats" repaired)" = 1 ]
	# The verdict that it opens with shows the line.
	ask "$S/repaired.jsonl" 'c["trajectories"][1]["messages"][0]["content"]' | grep -q '^>   9'
}

@test "optimize: one branch better, one worse, one wrong" {
	[ "$(ask "$S/optimized.jsonl" '{b: t["turns"][-1]["outcome"] for b, t in tree().items()}')" = \
		"{'a': 'improved', 'b': 'regressed', 'a1': 'failed'}" ]
	[ "$(ask "$S/optimized.jsonl" 'tree()["a"]["search"]["reward"] > 0 > tree()["b"]["search"]["reward"]')" = True ]
	[ "$(ask "$S/optimized.jsonl" 'tree()["a1"]["parent_id"] == tree()["a"]["id"]')" = True ]
	[ "$(ask "$S/optimized.jsonl" 'tree()["a1"]["turns"][0]["status"]')" = INCORRECT_NUMERICAL ]
	[ "$(stat_of "$S/optimized.jsonl.stats" nodes)" = 3 ]
}

@test "verify: the cheapest, on the held-out workload too" {
	[ "$(ask "$S/verified.jsonl" 'sorted((e["workload"], e["status"], e["trial"]) for e in c["evaluations"] if e.get("final"))')" = \
		"[('held', 'PASSED', 1), ('odd', 'PASSED', 1), ('one', 'PASSED', 1), ('shape', 'PASSED', 1)]" ]
	[ "$(ask "$S/verified.jsonl" '{source(e["solution_id"]) for e in c["evaluations"] if e.get("final")} == {open("tests/data/agent/transcripts/row_sum_f32/warp.cu").read()}')" = True ]
	[ "$(stat_of "$S/verified.jsonl.stats" solutions_passed)" = 1 ]
}

@test "the held-out workload is nowhere before verify" {
	[ "$(ask "$S/optimized.jsonl" '[e for e in c["evaluations"] if e["held_out"] or e.get("final")]')" = "[]" ]
	[ "$(ask "$S/optimized.jsonl" '"held" in json.dumps(c["trajectories"]) or "D=70" in json.dumps(c["trajectories"])')" = False ]
}

@test "a finished stage changes nothing and runs nothing" {
	for step in "solve solved" "repair repaired" "optimize optimized"; do
		set -- $step
		stage "$1" "$S/$2.jsonl" "$BATS_TEST_TMPDIR/again.jsonl"
		cmp "$S/$2.jsonl" "$BATS_TEST_TMPDIR/again.jsonl"
		[ "$(stat_of "$BATS_TEST_TMPDIR/again.jsonl.stats" evaluations_run)" = 0 ]
		[ "$(stat_of "$BATS_TEST_TMPDIR/again.jsonl.stats" turns)" = 0 ]
	done
	# solve and repair on what later stages added
	stage solve "$S/verified.jsonl" "$BATS_TEST_TMPDIR/again.jsonl"
	cmp "$S/verified.jsonl" "$BATS_TEST_TMPDIR/again.jsonl"
	verify "$S/verified.jsonl" "$BATS_TEST_TMPDIR/again.jsonl"
	cmp "$S/verified.jsonl" "$BATS_TEST_TMPDIR/again.jsonl"
	[ "$(stat_of "$BATS_TEST_TMPDIR/again.jsonl.stats" evaluations_run)" = 0 ]
}

@test "the same store gives the same bytes without a single new evaluation" {
	stage solve "$S/tasks.jsonl" "$BATS_TEST_TMPDIR/s.jsonl"
	stage repair "$BATS_TEST_TMPDIR/s.jsonl" "$BATS_TEST_TMPDIR/r.jsonl"
	stage optimize "$BATS_TEST_TMPDIR/r.jsonl" "$BATS_TEST_TMPDIR/o.jsonl"
	verify "$BATS_TEST_TMPDIR/o.jsonl" "$BATS_TEST_TMPDIR/v.jsonl"
	cmp "$S/verified.jsonl" "$BATS_TEST_TMPDIR/v.jsonl"
	for out in s r o v; do
		[ "$(stat_of "$BATS_TEST_TMPDIR/$out.jsonl.stats" evaluations_run)" = 0 ]
	done
	[ "$(stat_of "$BATS_TEST_TMPDIR/s.jsonl.stats" evaluations_stored)" -gt 0 ]
	[ -z "$(grep '^evaluated' "$S/store/journal" | sort | uniq -d)" ]
}

@test "a task without a transcript passes through, counted" {
	TRANSCRIPTS=/nonexistent stage solve "$S/tasks.jsonl" "$BATS_TEST_TMPDIR/o.jsonl"
	[ "$(ask "$BATS_TEST_TMPDIR/o.jsonl" 'c["trajectories"][0]["exit_status"]')" = no_answer ]
	[ "$(ask "$BATS_TEST_TMPDIR/o.jsonl" 'c["solutions"]')" = "[]" ]
	[ "$(stat_of "$BATS_TEST_TMPDIR/o.jsonl.stats" no_answer)" = 1 ]
	for name in repair optimize; do
		stage $name "$BATS_TEST_TMPDIR/o.jsonl" "$BATS_TEST_TMPDIR/p.jsonl"
		cmp "$BATS_TEST_TMPDIR/o.jsonl" "$BATS_TEST_TMPDIR/p.jsonl"
	done
	verify "$BATS_TEST_TMPDIR/o.jsonl" "$BATS_TEST_TMPDIR/p.jsonl"
	cmp "$BATS_TEST_TMPDIR/o.jsonl" "$BATS_TEST_TMPDIR/p.jsonl"
	[ "$(stat_of "$BATS_TEST_TMPDIR/p.jsonl.stats" unsolved)" = 1 ]
	# When there is an answer later, it is taken.
	stage solve "$BATS_TEST_TMPDIR/o.jsonl" "$BATS_TEST_TMPDIR/p.jsonl"
	cmp "$S/solved.jsonl" "$BATS_TEST_TMPDIR/p.jsonl"
}

@test "what review rejected is dropped, what it released passes" {
	sed 's/}$/,"review":{"status":"rejected"}}/' "$S/tasks.jsonl" >"$BATS_TEST_TMPDIR/r.jsonl"
	stage solve "$BATS_TEST_TMPDIR/r.jsonl" "$BATS_TEST_TMPDIR/o.jsonl"
	[ ! -s "$BATS_TEST_TMPDIR/o.jsonl" ]
	[ "$(stat_of "$BATS_TEST_TMPDIR/o.jsonl.stats" not_accepted)" = 1 ]
	for status in accepted unreviewed; do
		sed 's/}$/,"review":{"status":"'$status'"}}/' "$S/tasks.jsonl" >"$BATS_TEST_TMPDIR/r.jsonl"
		stage solve "$BATS_TEST_TMPDIR/r.jsonl" "$BATS_TEST_TMPDIR/o.jsonl"
		[ "$(wc -l <"$BATS_TEST_TMPDIR/o.jsonl")" = 1 ]
	done
}

@test "a transcript that answers another verdict is stale" {
	own_transcripts
	sed -i 's/"line": 6/"line": 4/' "$T/transcript.json"
	stage solve "$S/tasks.jsonl" "$BATS_TEST_TMPDIR/o.jsonl"
	[ "$(ask "$BATS_TEST_TMPDIR/o.jsonl" 'c["trajectories"][0]["stale"]')" = True ]
	ask "$BATS_TEST_TMPDIR/o.jsonl" 'c["trajectories"][0]["stale_reason"]' | grep -q '^line: the transcript answers 4, the verdict says 6$'
	[ "$(stat_of "$BATS_TEST_TMPDIR/o.jsonl.stats" stale)" = 1 ]
}

@test "another source in a transcript has another outcome" {
	own_transcripts
	cp "$T/fixed.cu" "$T/beyond.cu"
	stage solve "$S/tasks.jsonl" "$BATS_TEST_TMPDIR/o.jsonl"
	[ "$(ask "$BATS_TEST_TMPDIR/o.jsonl" 'statuses("solve")')" = "['COMPILE_ERROR', 'PASSED']" ]
	stage repair "$BATS_TEST_TMPDIR/o.jsonl" "$BATS_TEST_TMPDIR/p.jsonl"
	cmp "$BATS_TEST_TMPDIR/o.jsonl" "$BATS_TEST_TMPDIR/p.jsonl"
}

@test "a malformed transcript refuses its record with the place" {
	own_transcripts
	sed -i 's/"tool": "compile"/"tool": "shell"/' "$T/transcript.json"
	run -65 stage solve "$S/tasks.jsonl" "$BATS_TEST_TMPDIR/o.jsonl" --max-rejects 0 --rejects "$BATS_TEST_TMPDIR/rejects"
	grep -q '"code":"bad_transcript"' "$BATS_TEST_TMPDIR/rejects"
	grep -q 'solve\[0\].tool' "$BATS_TEST_TMPDIR/rejects"
}

@test "redo: a changed transcript is seen only when asked, and drops what grew from the old one" {
	own_transcripts
	cp "$T/fixed.cu" "$T/beyond.cu"
	stage solve "$S/verified.jsonl" "$BATS_TEST_TMPDIR/o.jsonl"
	cmp "$S/verified.jsonl" "$BATS_TEST_TMPDIR/o.jsonl"
	stage solve "$S/verified.jsonl" "$BATS_TEST_TMPDIR/o.jsonl" --redo changed
	[ "$(ask "$BATS_TEST_TMPDIR/o.jsonl" 'statuses("solve")')" = "['COMPILE_ERROR', 'PASSED']" ]
	[ "$(ask "$BATS_TEST_TMPDIR/o.jsonl" 'len(c["trajectories"]), len(c["solutions"])')" = "(1, 1)" ]
	stage solve "$S/solved.jsonl" "$BATS_TEST_TMPDIR/o.jsonl" --redo failed
	[ "$(ask "$BATS_TEST_TMPDIR/o.jsonl" 'statuses("solve")')" = "['COMPILE_ERROR', 'PASSED']" ]
}

@test "redo all with nothing changed gives the same bytes" {
	stage solve "$S/solved.jsonl" "$BATS_TEST_TMPDIR/o.jsonl" --redo all
	cmp "$S/solved.jsonl" "$BATS_TEST_TMPDIR/o.jsonl"
	stage repair "$S/repaired.jsonl" "$BATS_TEST_TMPDIR/o.jsonl" --redo all
	cmp "$S/repaired.jsonl" "$BATS_TEST_TMPDIR/o.jsonl"
	stage optimize "$S/optimized.jsonl" "$BATS_TEST_TMPDIR/o.jsonl" --redo all
	cmp "$S/optimized.jsonl" "$BATS_TEST_TMPDIR/o.jsonl"
}

@test "a conversation ends at the limit of turns" {
	stage solve "$S/tasks.jsonl" "$BATS_TEST_TMPDIR/o.jsonl" --max-turns 1
	[ "$(ask "$BATS_TEST_TMPDIR/o.jsonl" 'c["trajectories"][0]["exit_status"], len(c["trajectories"][0]["turns"])')" = "('turn_limit', 1)" ]
}

@test "guidance is recorded by name and hash" {
	km-solve -q --store "$S/store" --transcripts $DATA/transcripts --guidance seeds/guidance -o "$BATS_TEST_TMPDIR/o.jsonl" "$S/tasks.jsonl"
	want="$(sha256sum seeds/guidance/row-reductions.md | cut -c1-64)"
	[ "$(ask "$BATS_TEST_TMPDIR/o.jsonl" '[g["sha256"] for g in c["trajectories"][0]["guidance"] if g["name"] == "row-reductions"]')" = "['$want']" ]
	ask "$BATS_TEST_TMPDIR/o.jsonl" 'c["trajectories"][0]["messages"][0]["content"]' | grep -q '^## Reducing rows$'
}

@test "verify: what fails on held-out data is reported, not replaced" {
	own_transcripts
	sed 's/	if (lane == 0)/	if (D == 70)\n		sum = 0;\n&/' $DATA/transcripts/row_sum_f32/warp.cu >"$T/warp.cu"
	stage optimize "$S/repaired.jsonl" "$BATS_TEST_TMPDIR/o.jsonl"
	[ "$(ask "$BATS_TEST_TMPDIR/o.jsonl" 'tree()["a"]["turns"][-1]["outcome"]')" = improved ]
	run --separate-stderr verify "$BATS_TEST_TMPDIR/o.jsonl" "$BATS_TEST_TMPDIR/v.jsonl"
	[ "$status" = 0 ]
	grep -q 'INCORRECT_NUMERICAL on workload held in the final verdict' <<<"$stderr"
	[ "$(ask "$BATS_TEST_TMPDIR/v.jsonl" '{e["solution_id"] for e in c["evaluations"] if e.get("final")} == {tree()["a"]["solution_id"]}')" = True ]
	[ "$(ask "$BATS_TEST_TMPDIR/v.jsonl" '[(e["workload"], e["status"]) for e in c["evaluations"] if e.get("final")][-1]')" = "('held', 'INCORRECT_NUMERICAL')" ]
	[ "$(stat_of "$BATS_TEST_TMPDIR/v.jsonl.stats" solutions_failed)" = 1 ]
	# With --all the others get their verdicts too.
	verify "$BATS_TEST_TMPDIR/o.jsonl" "$BATS_TEST_TMPDIR/v.jsonl" --all 2>/dev/null
	[ "$(ask "$BATS_TEST_TMPDIR/v.jsonl" 'len({e["solution_id"] for e in c["evaluations"] if e.get("final")})')" = 3 ]
}

@test "verify --fresh: new inputs, same bytes" {
	run --separate-stderr km-verify --store "$S/store" --fresh -o "$BATS_TEST_TMPDIR/o.jsonl" "$S/verified.jsonl"
	[ "$status" = 0 ]
	cmp "$S/verified.jsonl" "$BATS_TEST_TMPDIR/o.jsonl"
	grep -q 'PASSED on fresh inputs' <<<"$stderr"
}

@test "verify --schedule: another order, same bytes, and a question of its own" {
	run --separate-stderr km-verify --store "$S/store" --schedule 7 --stats "$BATS_TEST_TMPDIR/o.stats" -o "$BATS_TEST_TMPDIR/o.jsonl" "$S/verified.jsonl"
	[ "$status" = 0 ]
	cmp "$S/verified.jsonl" "$BATS_TEST_TMPDIR/o.jsonl"
	grep -q 'PASSED under another schedule' <<<"$stderr"
	[ "$(stat_of "$BATS_TEST_TMPDIR/o.stats" evaluations_stored)" = 0 ]
	run km-verify --store "$S/store" --schedule 7 --device cuda "$S/verified.jsonl"
	[ "$status" = 64 ]
	run km-verify --store "$S/store" --schedule 0 "$S/verified.jsonl"
	[ "$status" = 64 ]
}

@test "killed and run again: the same bytes, and no evaluation twice" {
	export STORE="$BATS_TEST_TMPDIR/store"
	for pause in 0.3 1.5 3; do
		# The program itself, not a function: the signal must reach it.
		km-solve -q --store "$STORE" --transcripts $DATA/transcripts --guidance '' -o "$BATS_TEST_TMPDIR/o.jsonl" \
			"$S/tasks.jsonl" 3>&- &
		sleep $pause
		kill -9 $! 2>/dev/null || true
		wait $! 2>/dev/null || true
	done
	stage solve "$S/tasks.jsonl" "$BATS_TEST_TMPDIR/o.jsonl"
	cmp "$S/solved.jsonl" "$BATS_TEST_TMPDIR/o.jsonl"
	[ -z "$(grep '^evaluated' "$STORE/journal" | sort | uniq -d)" ]
}

@test "wrong usage" {
	run -64 km-solve --redo sometimes
	run -64 km-optimize --width 0
	run -66 km-repair --guidance /nonexistent "$S/tasks.jsonl"
	for name in solve repair optimize verify; do
		run -0 km-$name -h
		[[ "$output" == *"example: km-$name"* ]]
	done
}
