# The policy "openai" against a server without a model: requests, limits, resuming.
load agent.bash

setup_file() {
	agent_setup
	km-ingest -q --store "$S/store" -o "$S/tasks.jsonl" $DATA/specs
	# Evaluations are the engine's business: all tests share them, each has its own answers.
	export KM_TEST_KEY=sk-test-key
}

setup() {
	agent_setup
	W="$BATS_TEST_TMPDIR"
	STORE="$W/store"
	export KM_TEST_KEY=sk-test-key
	mkdir -p "$STORE"
	cp -r "$S/store/." "$STORE/"
	: >"$STORE/journal"
	touch "$W/requests"
}

teardown() {
	[ -z "$SERVER" ] || { kill "$SERVER"; wait "$SERVER" 2>/dev/null; } || true
	# Builds and evaluations of this test serve the next ones.
	for kind in builds evaluations expected; do
		[ ! -d "$STORE/$kind" ] || cp -rn "$STORE/$kind" "$S/store/" 2>/dev/null || true
	done
}

serve() {	# serve [OPTION...]: submits after one test
	rm -f "$W/port"
	python3 $DATA/stub_server.py "$W/port" "$W/requests" $DATA/transcripts/row_sum_f32/{beyond,fixed}.cu "$@" 3>&- &
	SERVER=$!
	for i in $(seq 100); do [ -s "$W/port" ] && break; sleep 0.05; done
	policy
}

stop() { kill $SERVER; wait $SERVER 2>/dev/null || true; SERVER=; }

policy() {	# policy [MEMBERS]
	cat >"$W/policy.json" <<JSON
{"kind": "openai", "base_url": "http://127.0.0.1:$(cat "$W/port")/v1", "model": "m", "terms": "tests only",
 "key_env": "KM_TEST_KEY", "max_attempts": 2, "retry_first_ms": 1, "sampling": {"max_tokens": 1000},
 "prices": {"input_per_million": 1, "output_per_million": 2}${1:+, $1}}
JSON
}

sample() {	# sample OUT [OPTION...]
	local out="$1"
	shift
	stage solve "$S/tasks.jsonl" "$out" --policy "$W/policy.json" "$@"
}

requests() { wc -l <"$W/requests"; }

@test "a model's conversation, its tokens and its cost" {
	serve
	sample "$W/o.jsonl"
	[ "$(ask "$W/o.jsonl" 'statuses("solve")')" = "['RUNTIME_ERROR', 'PASSED']" ]
	[ "$(ask "$W/o.jsonl" '[c["trajectories"][0]["origin"][k] for k in ("kind", "model", "terms")]')" = "['sampled', 'm', 'tests only']" ]
	[ "$(ask "$W/o.jsonl" 'c["trajectories"][0]["origin"]["policy_sha256"]')" = "$(sha256sum "$W/policy.json" | cut -c1-64)" ]
	[ "$(ask "$W/o.jsonl" 'c["trajectories"][0]["final_metrics"]["total_prompt_tokens"]')" = 200 ]
	[ "$(stat_of "$W/o.jsonl.stats" prompt_tokens)" = 200 ]
	[ "$(stat_of "$W/o.jsonl.stats" cost_micro_usd)" = 240 ]
	[ "$(requests)" = 2 ]
	# Again, from the answers: not one request, the same bytes.
	sample "$W/again.jsonl"
	[ "$(requests)" = 2 ]
	cmp "$W/o.jsonl" "$W/again.jsonl"
	[ "$(stat_of "$W/again.jsonl.stats" answers_stored)" = 2 ]
	# --frozen needs neither server nor key.
	stop
	env -u KM_TEST_KEY km-solve -q --store "$STORE" --guidance '' --policy "$W/policy.json" --frozen -o "$W/again.jsonl" "$S/tasks.jsonl"
	cmp "$W/o.jsonl" "$W/again.jsonl"
	# The key is nowhere.
	! grep -rq sk-test-key "$STORE" "$W"/*.jsonl*
}

@test "an answer that was damaged is refused in one line, and neither used nor paid for again" {
	serve
	sample "$W/o.jsonl"
	cp -r "$STORE/answers" "$W/answers"
	for change in ': >"$file"' 'truncate -s 20 "$file"' 'truncate -s -1 "$file"' 'sed -i s/assistant/assistAnt/ "$file"' \
		'head -c 3000 /dev/urandom >"$file"' 'echo "{}" >"$file"'; do
		rm -r "$STORE/answers"
		cp -r "$W/answers" "$STORE/answers"
		find "$STORE/answers" -type f | while read -r file; do eval "$change"; done
		run --separate-stderr sample "$W/p.jsonl"
		[ "$status" = 75 ]
		[ "${#stderr_lines[@]}" = 1 ]
		[[ $stderr == *"/answers/"*" is damaged"*"remove it"* ]]
		[ ! -e "$W/p.jsonl" ]
		[ "$(requests)" = 2 ]
	done
	# Removed, as the line says, they are asked for again.
	rm -r "$STORE/answers"
	sample "$W/p.jsonl"
	cmp "$W/o.jsonl" "$W/p.jsonl"
	[ "$(requests)" = 4 ]
}

@test "samples are conversations of their own" {
	serve
	sample "$W/o.jsonl" --samples 2
	[ "$(requests)" = 4 ]
	[ "$(ask "$W/o.jsonl" 'len(c["trajectories"]), len({t["id"] for t in c["trajectories"]}), len(c["solutions"])')" = "(2, 2, 2)" ]
	# One more sample later: only that one is asked for.
	stage solve "$W/o.jsonl" "$W/more.jsonl" --policy "$W/policy.json" --samples 3
	[ "$(requests)" = 6 ]
	[ "$(ask "$W/more.jsonl" '[t["sample"] for t in c["trajectories"]]')" = "[0, 1, 2]" ]
}

@test "told to wait, it waits and goes on" {
	serve --status 429 --first 1
	sample "$W/o.jsonl"
	[ "$(requests)" = 3 ]
	[ "$(ask "$W/o.jsonl" 'c["trajectories"][0]["exit_status"]')" = submitted ]
}

@test "a server that fails: 75, and the same command goes on later" {
	serve --status 500 --first 2
	run --separate-stderr -75 sample "$W/o.jsonl"
	[ ! -e "$W/o.jsonl" ]
	grep -q 'status 500' <<<"$stderr"
	sample "$W/o.jsonl"
	[ "$(ask "$W/o.jsonl" 'c["trajectories"][0]["exit_status"]')" = submitted ]
}

@test "a wrong key and no key" {
	serve
	KM_TEST_KEY=sk-another run --separate-stderr -75 sample "$W/o.jsonl"
	grep -q 'status 401: wrong key' <<<"$stderr"
	! grep -q sk-another <<<"$stderr"
	unset KM_TEST_KEY
	run --separate-stderr -64 sample "$W/o.jsonl"
	grep -q KM_TEST_KEY <<<"$stderr"
	[ "$(requests)" = 1 ]
}

@test "a limit of requests ends conversations, a higher one continues them unpaid twice" {
	serve
	policy '"max_requests": 1'
	sample "$W/o.jsonl"
	[ "$(requests)" = 1 ]
	[ "$(ask "$W/o.jsonl" 'c["trajectories"][0]["exit_status"], len(c["trajectories"][0]["turns"])')" = "('no_answer', 1)" ]
	[ "$(stat_of "$W/o.jsonl.stats" requests_over_budget)" = 1 ]
	policy '"max_requests": 5'
	stage solve "$W/o.jsonl" "$W/p.jsonl" --policy "$W/policy.json"
	[ "$(requests)" = 2 ]
	[ "$(ask "$W/p.jsonl" 'statuses("solve")')" = "['RUNTIME_ERROR', 'PASSED']" ]
}

@test "a dry run asks nothing, changes nothing, and says what is next" {
	serve
	run --separate-stderr -0 km-solve --store "$STORE" --policy "$W/policy.json" --samples 3 --dry-run -o "$W/o.jsonl" "$S/tasks.jsonl"
	[ "$(requests)" = 0 ]
	grep -q 'dry run: 3 requests are next, for at most \$0\.0' <<<"$stderr"
	cmp "$S/tasks.jsonl" "$W/o.jsonl"
}

@test "killed with a request under way: reported, and no answer paid twice" {
	serve --delay 2
	# The program itself in the background, not a function: the signal must reach it.
	km-solve -q --store "$STORE" --guidance '' --policy "$W/policy.json" -o "$W/o.jsonl" "$S/tasks.jsonl" 3>&- &
	for i in $(seq 400); do grep -q '^asked' "$STORE/journal" && break; sleep 0.05; done
	kill -9 $!
	wait $! 2>/dev/null || true
	[ "$(grep -c '^asked' "$STORE/journal")" = 1 ]
	[ "$(grep -c '^answered' "$STORE/journal")" = 0 ]
	sleep 1
	# The second turn this time: the first is answered and kept.
	km-solve --store "$STORE" --guidance '' --policy "$W/policy.json" -o "$W/o.jsonl" "$S/tasks.jsonl" 2>"$W/err" 3>&- &
	for i in $(seq 400); do [ "$(grep -c '^asked' "$STORE/journal")" = 3 ] && break; sleep 0.05; done
	kill -9 $!
	wait $! 2>/dev/null || true
	grep -q '1 request had been sent when an earlier run ended, and may have been paid for' "$W/err"
	sample "$W/o.jsonl"
	[ "$(ask "$W/o.jsonl" 'c["trajectories"][0]["exit_status"]')" = submitted ]
	[ -z "$(grep '^answered' "$STORE/journal" | sort | uniq -d)" ]
	[ "$(grep -c '^answered' "$STORE/journal")" = 2 ]
}

@test "repair and optimize with a model" {
	serve
	stage solve "$S/tasks.jsonl" "$W/s.jsonl" --max-turns 12
	stage repair "$W/s.jsonl" "$W/r.jsonl" --policy "$W/policy.json"
	[ "$(ask "$W/r.jsonl" 'statuses("repair")[-1]')" = PASSED ]
	stage optimize "$W/r.jsonl" "$W/o.jsonl" --policy "$W/policy.json" --width 2 --iterations 3
	[ "$(ask "$W/o.jsonl" 'sorted(tree())')" = "['n1', 'n2', 'n3']" ]
	before="$(requests)"
	stage optimize "$W/r.jsonl" "$W/again.jsonl" --policy "$W/policy.json" --width 2 --iterations 3
	cmp "$W/o.jsonl" "$W/again.jsonl"
	[ "$(requests)" = "$before" ]
}
