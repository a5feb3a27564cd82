# km-review without a terminal: the queue, decisions from the command line, and the filter with its file.

setup() {
	review=$KM_OUT/bin/km-review
	cases=$BATS_TEST_DIRNAME/../data/review/cases.jsonl
	cd "$BATS_TEST_TMPDIR"
}

# A field of a JSON file's line 1, by Python expression on d; of all lines, on l.
json() {
	python3 -c 'import json, sys
l = [json.loads(x) for x in open(sys.argv[1])]
d = l[0] if l else None
print(eval(sys.argv[2]))' "$1" "$2"
}

# Exactly this status, one line on standard error besides counts and footer, with these words in it.
fails() { # status words command...
	local status=$1 words=$2
	shift 2
	set +e
	"$@" >out 2>err
	local got=$?
	set -e
	[ "$got" -eq "$status" ] || { echo "status $got: $(cat err)"; return 1; }
	grep -qF -- "$words" err || { echo "not said: $words; but: $(cat err)"; return 1; }
}

queue() {
	"$review" import -q --queue q.sqlite "$cases"
}

# The present decisions of the queue, with fixed times.
decisions() {
	"$review" export -q --queue q.sqlite "$@" | sed 's/"time":"[^"]*"/"time":"2026-01-01T00:00:00Z"/'
}

@test "import puts each case in once, and a second import changes nothing" {
	"$review" import --queue q.sqlite --stats s.json "$cases" >out 2>err
	[ ! -s out ]
	[ "$(json s.json 'd["in"], d["out"], d["dropped"], d["counters"]["new"]')" = "(4, 0, {'queued': 4}, 4)" ]
	"$review" import -q --queue q.sqlite --stats s.json "$cases"
	[ "$(json s.json 'd["dropped"], d["counters"]["new"], d["counters"]["known"]')" = "({'in_queue': 4}, 0, 4)" ]
}

@test "import takes all cases or none" {
	{ cat "$cases"; echo '{"schema_version":"1.0","task":{"id":"no"}}'; } >bad.jsonl
	fails 65 "stays as it was" "$review" import --queue q.sqlite --rejects r.jsonl bad.jsonl
	[ "$(json r.jsonl 'd["line"], d["stage"], d["code"]')" = "(5, 'review', 'bad_record')" ]
	fails 65 "no task" "$review" decide --queue q.sqlite --task softmax_f32 --accept
}

@test "a decision is exported with who, how, when and why" {
	queue
	"$review" decide -q --queue q.sqlite --task softmax_f32 --reject --reason 'axis D is not said' --actor ann
	decisions >d.jsonl
	[ "$(json d.jsonl 'len(l), d["name"], d["task_id"], d["status"], d["reason"]')" = \
		"(1, 'softmax_f32', '0000000000000000000000000000000d', 'rejected', 'axis D is not said')" ]
	[ "$(json d.jsonl 'd["actor"], d["actor_kind"], d["mode"], len(d["shown_sha256"])')" = "('ann', 'person', 'bulk', 64)" ]
}

@test "the latest decision holds, undo goes back, and the log keeps all" {
	queue
	"$review" decide -q --queue q.sqlite --task softmax_f32 --accept --actor ann
	"$review" decide -q --queue q.sqlite --task softmax_f32 --reject --reason no --actor ann
	decisions >d.jsonl
	[ "$(json d.jsonl '[x["status"] for x in l]')" = "['rejected']" ]
	"$review" decide -q --queue q.sqlite --undo --actor ann
	decisions >d.jsonl
	[ "$(json d.jsonl '[x["status"] for x in l]')" = "['accepted']" ]
	"$review" decide -q --queue q.sqlite --undo --actor ann
	decisions >d.jsonl
	[ ! -s d.jsonl ]
	fails 65 "ann has no decision of mode bulk" "$review" decide --queue q.sqlite --undo --actor ann
	decisions --log >d.jsonl
	[ "$(json d.jsonl '[(x["sequence"], x["status"], x.get("retracts")) for x in l]')" = \
		"[(1, 'accepted', None), (2, 'rejected', None), (3, 'retracted', 2), (4, 'retracted', 1)]" ]
}

@test "decide --all leaves alone what is decided" {
	queue
	"$review" decide -q --queue q.sqlite --task cumsum_f16 --reject --reason no
	"$review" decide -q --queue q.sqlite --task softmax_f32 --skip
	"$review" decide -q --queue q.sqlite --all --accept --actor KernelMosaic --actor-kind program --mode imported --reason checked
	decisions >d.jsonl
	[ "$(json d.jsonl '[(x["name"], x["status"], x["mode"]) for x in l]')" = \
		"[('batch_norm_f32', 'accepted', 'imported'), ('cumsum_f16', 'rejected', 'bulk'), ('max_pool_f32', 'accepted', 'imported'), ('softmax_f32', 'accepted', 'imported')]" ]
}

@test "the export is the same bytes each time, and survives import into a new queue" {
	queue
	"$review" decide -q --queue q.sqlite --all --accept --actor ann
	"$review" export -q --queue q.sqlite -o a.jsonl
	"$review" export -q --queue q.sqlite >b.jsonl
	cmp a.jsonl b.jsonl
	"$review" import -q --queue other.sqlite --decisions a.jsonl "$cases"
	"$review" import -q --queue other.sqlite --decisions a.jsonl "$cases"
	"$review" export -q --queue other.sqlite -o c.jsonl
	cmp a.jsonl c.jsonl
	"$review" export -q --queue other.sqlite --log -o log.jsonl
	[ "$(wc -l <log.jsonl)" -eq 4 ]
}

@test "import --replace takes other tasks off the list, and keeps their decisions" {
	queue
	"$review" decide -q --queue q.sqlite --task softmax_f32 --accept
	head -2 "$cases" >two.jsonl
	"$review" import -q --queue q.sqlite --replace two.jsonl
	fails 65 'no task "softmax_f32"' "$review" decide --queue q.sqlite --task softmax_f32 --accept
	decisions >d.jsonl
	[ "$(json d.jsonl '[x["name"] for x in l]')" = "['softmax_f32']" ]
}

# ---- the filter

reviewed() {
	queue
	"$review" decide -q --queue q.sqlite --task softmax_f32 --accept --actor ann --reason good
	"$review" decide -q --queue q.sqlite --task cumsum_f16 --reject --reason bad
	decisions >d.jsonl
}

@test "the filter passes what was accepted, drops what was rejected, holds the rest" {
	reviewed
	"$review" --decisions d.jsonl --stats s.json "$cases" >out 2>err
	[ "$(json s.json 'd["in"], d["out"], d["dropped"]')" = "(4, 1, {'undecided': 2, 'rejected': 1})" ]
	grep -q 'held back without a decision: 2' err
	[ "$(json out 'd["task"]["name"], d["review"]["status"], d["review"]["mode"], d["review"]["decided_mode"]')" = \
		"('softmax_f32', 'accepted', 'replayed', 'bulk')" ]
	[ "$(json out 'd["review"]["actor"], d["review"]["actor_kind"], d["review"]["reason"], d["review"]["time"]')" = \
		"('ann', 'person', 'good', '2026-01-01T00:00:00Z')" ]
}

@test "all else of a case passes through byte by byte" {
	reviewed
	"$review" -q --decisions d.jsonl "$cases" | sed 's/,"review":{[^}]*}//' >out
	grep softmax_f32 "$cases" | cmp - out
}

@test "--default unreviewed passes the undecided ones, marked, and still drops the rejected" {
	reviewed
	"$review" -q --decisions d.jsonl --default unreviewed --stats s.json "$cases" >out
	[ "$(json out '[(x["task"]["name"], x["review"]["status"]) for x in l]')" = \
		"[('batch_norm_f32', 'unreviewed'), ('max_pool_f32', 'unreviewed'), ('softmax_f32', 'accepted')]" ]
	[ "$(json s.json 'd["dropped"]')" = "{'rejected': 1}" ]
	"$review" -q --default unreviewed "$cases" >out
	[ "$(json out 'len(l), set(x["review"]["status"] for x in l)')" = "(4, {'unreviewed'})" ]
	"$review" -q --default hold --stats s.json "$cases" >out
	[ "$(json s.json 'd["out"], d["dropped"]')" = "(0, {'undecided': 4})" ]
}

@test "a decision lapses when anything that was shown changes, and is listed as stale" {
	reviewed
	for change in 's/"KernelMosaic"/"Somebody"/' 's/"atol":1e-06/"atol":2e-06/' 's/sum \/ D/sum \/ (D + 1)/' \
		's/"scale":2/"scale":3/' 's/"D":33/"D":34/'; do
		sed "$change" "$cases" >changed.jsonl
		! cmp -s "$cases" changed.jsonl
		"$review" --decisions d.jsonl --stats s.json changed.jsonl >out 2>err
		[ "$(json s.json 'd["out"], d["counters"]["accepted"], d["counters"]["stale"] > 0')" = "(0, 0, True)" ]
		grep -q 'stale decision: softmax_f32 was accepted by ann at 2026-01-01T00:00:00Z' err
	done
	sed 's/0000000000d"/0000000000e"/' "$cases" >changed.jsonl
	"$review" --decisions d.jsonl changed.jsonl >out 2>err
	grep -q 'softmax_f32 .* its contract has changed' err
}

@test "what is not shown does not lapse a decision" {
	reviewed
	sed 's/"x_note"/"curation":{"rank":1},"x_note"/; s/"license"/"new_field":1,"license"/' "$cases" >changed.jsonl
	"$review" -q --decisions d.jsonl changed.jsonl >out
	[ "$(json out 'len(l), d["task"]["new_field"]')" = "(1, 1)" ]
}

@test "a changed task leaves its old decision in the export, until it is decided again" {
	reviewed
	sed 's/"KernelMosaic"/"Somebody"/' "$cases" >changed.jsonl
	"$review" import -q --queue q.sqlite changed.jsonl
	decisions >e.jsonl
	cmp d.jsonl e.jsonl
	"$review" decide -q --queue q.sqlite --task softmax_f32 --reject --reason changed
	decisions >e.jsonl
	[ "$(json e.jsonl '[(x["name"], x["status"], x["reason"]) for x in l]')" = \
		"[('cumsum_f16', 'rejected', 'bad'), ('softmax_f32', 'rejected', 'changed')]" ]
}

@test "the result does not depend on threads, and counts only interactive decisions of persons as such" {
	reviewed
	for i in $(seq 50); do cat "$cases"; done >many.jsonl
	"$review" -q --decisions d.jsonl --threads 4 -o a many.jsonl
	"$review" -q --decisions d.jsonl -o b many.jsonl
	cmp a b
	sed 's/"mode":"bulk"/"mode":"interactive"/' d.jsonl >i.jsonl
	"$review" -q --decisions d.jsonl --stats s.json "$cases" >out
	"$review" -q --decisions i.jsonl --stats t.json "$cases" >out
	[ "$(json s.json 'd["counters"]["decided_by_person_at_the_screen"]')" = 0 ]
	[ "$(json t.json 'd["counters"]["decided_by_person_at_the_screen"]')" = 2 ]
	sed -i 's/"person"/"program"/' i.jsonl
	"$review" -q --decisions i.jsonl --stats t.json "$cases" >out
	[ "$(json t.json 'd["counters"]["decided_by_person_at_the_screen"]')" = 0 ]
}

# ---- bad input and wrong usage

@test "a bad decisions file is refused by line" {
	reviewed
	refused() { # words, sed script for line 2
		sed "2$2" d.jsonl >bad.jsonl
		fails 65 "bad.jsonl:2: " "$review" --decisions bad.jsonl "$cases"
		grep -qF -- "$1" err || { cat err; return 1; }
		[ "$(wc -l <err)" -eq 1 ] && [ ! -s out ]
	}
	refused 'task_id is not 32' 's/"task_id":"0/"task_id":"x/'
	refused 'status "skipped"' 's/"accepted"/"skipped"/'
	refused '"actor" is missing' 's/"actor":/"agent":/'
	refused 'actor_kind "robot"' 's/"person"/"robot"/'
	refused 'mode "guess"' 's/"bulk"/"guess"/'
	refused 'time "yesterday"' 's/"2026[^"]*"/"yesterday"/'
	refused 'shown_sha256 is not 64' 's/"shown_sha256":"./"shown_sha256":"/'
	refused '' 's/}$//'
	refused '' 's/ann/\xff/'
	refused '' 's/"reason"/"actor"/'
	head -1 d.jsonl >>d.jsonl
	fails 65 "decided twice" "$review" --decisions d.jsonl "$cases"
}

@test "a decisions file that is cut is refused" {
	reviewed
	head -c -1 d.jsonl >cut.jsonl
	fails 65 "was cut" "$review" --decisions cut.jsonl "$cases"
	fails 65 "longer than" "$review" --decisions <(head -c 70000 /dev/zero | tr '\0' x; echo) "$cases"
}

@test "missing files are told apart" {
	fails 66 "none.jsonl" "$review" --decisions none.jsonl "$cases"
	fails 66 "km-review import" "$review" export --queue none.sqlite
	fails 66 "km-review import" "$review" tui --queue none.sqlite
	fails 66 "km-review import" "$review" decide --queue none.sqlite --all --accept
	fails 66 "none.jsonl" "$review" import --queue q.sqlite none.jsonl
}

@test "a file that is no queue is refused and left alone" {
	cp "$cases" notes.txt
	fails 65 "not a review queue" "$review" export --queue notes.txt
	fails 65 "not a review queue" "$review" import --queue notes.txt "$cases"
	cmp "$cases" notes.txt
	sqlite3 other.sqlite 'CREATE TABLE t (x)'
	fails 65 "not a review queue" "$review" import --queue other.sqlite "$cases"
}

@test "a queue that another program holds is temporary" {
	queue
	mkfifo say
	sqlite3 q.sqlite <say >held 3>&- &
	exec 9>say
	echo 'BEGIN IMMEDIATE; SELECT 1;' >&9
	while ! grep -q 1 held; do sleep 0.05; done
	fails 75 "another program" "$review" decide --queue q.sqlite --all --accept
	exec 9>&-
	wait
	"$review" decide -q --queue q.sqlite --all --accept
}

@test "wrong usage is 64 with a reason" {
	queue
	fails 64 "no --decisions" "$review" "$cases"
	fails 64 "hold or unreviewed" "$review" --default maybe "$cases"
	fails 64 "--reject needs a --reason" "$review" decide --queue q.sqlite --all --reject
	fails 64 "one of --accept" "$review" decide --queue q.sqlite --all --accept --skip
	fails 64 "one of --accept" "$review" decide --queue q.sqlite --all
	fails 64 "--task NAME or --all" "$review" decide --queue q.sqlite --accept
	fails 64 "interactive decisions are made in" "$review" decide --queue q.sqlite --all --accept --mode interactive
	fails 64 "person or program" "$review" decide --queue q.sqlite --all --accept --actor-kind robot
	fails 64 "one line" "$review" decide --queue q.sqlite --all --accept --reason $'two\nlines'
	fails 64 "--task has no meaning" "$review" export --queue q.sqlite --task x
	fails 64 "--log has no meaning" "$review" --log "$cases"
	fails 64 "no option --colour" "$review" tui --colour
	decisions --log >log
	[ ! -s log ]
}

@test "standard output that is full, and a reader that goes away" {
	queue
	"$review" decide -q --queue q.sqlite --all --accept
	fails 74 "No space left" bash -c '"$0" export --queue q.sqlite >/dev/full' "$review"
	decisions >d.jsonl
	fails 74 "No space left" bash -c '"$0" --decisions d.jsonl "$1" >/dev/full' "$review" "$cases"
	fails 73 "none/d.jsonl" "$review" export --queue q.sqlite -o none/d.jsonl
}

@test "kill -9 during imports and decisions: the same command again ends as if nothing had been" {
	for i in $(seq 300); do sed "s/_f\(16\|32\)\"/_$i\"/; s/\"id\":\"..../\"id\":\"$(printf %04x $i)/" "$cases"; done >many.jsonl
	"$review" import -q --queue whole.sqlite many.jsonl
	for i in 1 2 3 4 5; do
		"$review" import -q --queue q.sqlite many.jsonl & pid=$!
		sleep "0.0$i"
		kill -9 $pid 2>/dev/null || true
		wait $pid || true
		[ ! -e q.sqlite ] || [ "$(sqlite3 q.sqlite 'SELECT count(*) FROM item' 2>/dev/null || echo 0)" = 0 ] ||
			[ "$(sqlite3 q.sqlite 'SELECT count(*) FROM item')" = 1200 ]
	done
	"$review" import -q --queue q.sqlite many.jsonl
	"$review" decide -q --queue q.sqlite --all --accept & pid=$!
	sleep 0.02
	kill -9 $pid 2>/dev/null || true
	wait $pid || true
	"$review" decide -q --queue q.sqlite --all --accept
	"$review" export -q --queue q.sqlite | wc -l | grep -qx 1200
}

@test "the seeds' decisions are about the seeds as they are: else make seed-decisions" {
	seeds=$BATS_TEST_DIRNAME/../../seeds
	"$KM_OUT/bin/km-ingest" -q --no-check "$seeds/specs" >seeds.jsonl
	"$review" -q --decisions "$seeds/review/decisions.jsonl" --stats s.json -o out.jsonl seeds.jsonl
	[ "$(json s.json 'd["in"] == d["out"], d["counters"]["stale"], d["counters"]["undecided"]')" = "(True, 0, 0)" ]
	[ "$(wc -l <"$seeds/review/decisions.jsonl")" -eq "$(wc -l <seeds.jsonl)" ]
	# Nobody pretends that a person looked.
	[ "$(json "$seeds/review/decisions.jsonl" 'set((x["actor_kind"], x["mode"]) for x in l if x["actor"] == "KernelMosaic")')" = \
		"{('program', 'imported')}" ]
}
