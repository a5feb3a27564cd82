# What every stage does with input, output and store that are bad, in loops over all stages. What belongs to one
# stage alone (specs, transcripts, decisions, hostile solutions) is tested with that stage.
load agent.bash

FILTERS="dedupe diversify review solve repair optimize verify package"
RUNNERS="solve repair optimize verify"

# Two tasks through all stages: one with its transcript, one that nobody solves.
setup_file() {
	agent_setup
	mkdir -p "$S/specs" "$S/tmp"
	cp -r $DATA/specs/row_sum_f32 "$S/specs/"
	cp -r $DATA/specs/row_sum_f32 "$S/specs/other"
	sed -i 's/"row_sum_f32"/"other"/' "$S/specs/other/task.json"
	sed -i 's/sum/max/' "$S/specs/other/spec.math"
	km-ingest -q --no-check --store "$S/store" -o "$S/ingest" "$S/specs"
	km-dedupe -q -o "$S/dedupe" "$S/ingest"
	km-diversify -q -o "$S/diversify" "$S/dedupe"
	km-review -q --default unreviewed -o "$S/review" "$S/diversify"
	one solve "$S/store" "$S/review" -o "$S/solve"
	one repair "$S/store" "$S/solve" -o "$S/repair"
	one optimize "$S/store" "$S/repair" -o "$S/optimize"
	one verify "$S/store" "$S/optimize" -o "$S/verify"
	[ "$(wc -l <"$S/verify")" = 2 ]
	cp "$S/verify" "$S/good.jsonl"
}

setup() {
	agent_setup
	W="$BATS_TEST_TMPDIR" good="$S/good.jsonl"
	export TMPDIR="$W/tmp"
	mkdir -p "$TMPDIR"
	export -f one
	export DATA
}

km_sandbox() { "$KM_OUT/libexec/kernelmosaic/km-sandbox" "$@"; }

# one STAGE STORE INPUT [OPTION...]: runs a stage on one file; package needs a folder for -o besides.
one() {
	local stage="$1" store="$2" input="$3"
	shift 3
	case $stage in
	ingest)
		set -- --store "$store" "$@"
		[ -n "$CHECK" ] || set -- --no-check "$@"	# which needs neither store nor sandbox
		;;
	review) set -- --default unreviewed "$@" ;;
	solve | repair | optimize) set -- --store "$store" --transcripts $DATA/transcripts --guidance '' "$@" ;;
	verify) set -- --store "$store" "$@" ;;
	esac
	"km-$stage" -q "$@" "$input"
}

# What a stage wrote to PLACE, as one stream; of package the rows of the release.
content() {
	if [ -d "$1" ]; then
		(cd "$1" && for file in */*.zst; do echo "$file"; zstd -dcq "$file"; done)
	else
		cat "$1"
	fi
}

# fails STAGE STATUS WORDS COMMAND...: exactly one line on standard error, with these words.
fails() {
	local stage="$1" wanted="$2" words="$3"
	shift 3
	run --separate-stderr "$@"
	stderr=$(grep -v 'got no answer' <<<"$stderr")	# the task that nobody solves
	mapfile -t stderr_lines <<<"$stderr"
	if [ "$status" != "$wanted" ] || [[ $stderr != "km-$stage: "*"$words"* ]] || [ "${#stderr_lines[@]}" != 1 ]; then
		echo "km-$stage: status $status instead of $wanted, standard error: $stderr"
		return 1
	fi
}

# The bad lines, each between good ones, and what the refusals have to say.
bad_lines() {
	python3 - "$good" "$W/input" <<'END'
import sys
first, second = open(sys.argv[1], "rb").read().splitlines()
def change(old, new):
    assert old in first, old
    return first.replace(old, new, 1)
bad = [
    first[:len(first) // 2],                                            # cut
    change(b'"prompt":"', b'"prompt":"\xff\xfe'),                       # not UTF-8
    change(b'"prompt":"', b'"prompt":"\0'),                             # a NUL byte
    b'{"schema_version":"1.0","task":"' + b"x" * 50_000_000 + b'"}',    # 50 MB
    change(b'"task":', b'"task":{},"task":'),                           # a key twice, outside
    change(b'"op_type":', b'"op_type":"pool","op_type":'),              # and inside
    change(b'"rtol":1e-05', b'"rtol":1e999'),                           # beyond a double
    change(b'"rtol":1e-05', b'"rtol":-1'),                              # beyond what makes sense
    change(b'"D":33', b'"D":99999999999999999999'),                     # beyond 64 bits
    change(b'"D":33', b'"D":-33'),
    change(b'"float32"', b'"float33"'),
    change(b'"schema_version":"1.0"', b'"schema_version":"2.0"'),
    change(b'"task":{', b'"task":[{').replace(b'},"', b'}],"', 1),      # brackets that do not match
    change(b'"tags":["reduce:row"]', b'"tags":' + b"[" * 100000 + b"]" * 100000),
    change(b'"id":"', b'"id":"../../'),
    b"null", b"[]", b"", b"{}", b'{"schema_version":"1.0"}',
]
with open(sys.argv[2], "wb") as out:
    out.write(first + b"\n")
    for line in bad:
        out.write(line + b"\n")
    out.write(second + b"\n" + first)                                   # the last one without newline
print(len(bad) + 1)
END
}

@test "bad lines: refused one by one in every stage, and the good ones around them come out as ever" {
	bad=$(bad_lines)
	for stage in $FILTERS; do
		one $stage "$S/store" "$good" -o "$W/$stage.want"
		rm -f "$W/rejects" "$W/stats"
		run --separate-stderr one $stage "$S/store" "$W/input" --max-rejects 100% --rejects "$W/rejects" \
			--stats "$W/stats" -o "$W/$stage.got"
		[ "$status" = 0 ] || { echo "$stage: $status: $stderr"; return 1; }
		diff <(content "$W/$stage.want") <(content "$W/$stage.got") || { echo "$stage"; return 1; }
		python3 - "$W/rejects" "$W/stats" "$stage" "$bad" "$stderr" <<'END' || { echo "$stage"; return 1; }
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
stats, stage, bad = json.load(open(sys.argv[2])), sys.argv[3], int(sys.argv[4])
lines = [row["line"] for row in rows]
missed = [n for n in range(2, bad + 1) if n not in lines]
assert not missed, f"not refused: lines {missed}"
assert lines == list(range(2, bad + 1)) + [bad + 2], lines
for row in rows:
    assert row["stage"] == stage and row["code"] and row["message"] and "\n" not in row["message"], row
    assert len(row["raw"]) < 5000 and row["file"].endswith("/input")
assert stats["in"] == bad + 2
assert stats["in"] == stats["out"] + sum(stats["dropped"].values()) + sum(stats["rejected"].values()), stats
assert sum(stats["rejected"].values()) == bad, stats
said = [line for line in sys.argv[5].splitlines() if "got no answer" not in line]
assert all(line.startswith(f"km-{stage}: ") for line in said), said
assert len(said) in (bad, 21), said
END
	done
}

@test "bad lines: one is 65 by default or with --max-rejects 0, the line is said, and nothing is written" {
	head -1 "$good" >"$W/input"
	echo '{"schema_version":"1.0","task":{"id":' >>"$W/input"
	for stage in $FILTERS; do
		run --separate-stderr one $stage "$S/store" "$W/input" --max-rejects 0 --rejects "$W/$stage.rejects" -o "$W/$stage.out"
		[ "$status" = 65 ] || { echo "$stage: $status"; return 1; }
		[ ! -e "$W/$stage.out" ] || { echo "$stage wrote"; return 1; }
		[ "$(wc -l <"$W/$stage.rejects")" = 1 ]
		[[ ${stderr_lines[0]} == "km-$stage: $W/input:2: "* ]] || { echo "$stage: $stderr"; return 1; }
		[ "${#stderr_lines[@]}" = 2 ]
	done
	[ -z "$(find "$W" -name '*.tmp.*')" ]
}

@test "tensors that do not fit in memory are refused with their bytes, before anything runs" {
	sed 's/"D":33/"D":1099511627776/' "$S/review" >"$W/input"
	for stage in $RUNNERS; do
		run --separate-stderr one $stage "$W/store" "$W/input" --max-rejects 100% --rejects "$W/rejects" -o "$W/out"
		[ "$status" = 0 ]
		[ ! -s "$W/out" ]
		[ "$(wc -l <"$W/rejects")" = 2 ]
		[[ ${stderr_lines[0]} == *"input:1: workload 'odd' needs "*" bytes for its tensors, more than the "* ]]
		[ "${#stderr_lines[@]}" = 2 ]
	done
	[ ! -s "$W/store/journal" ]
}

# ---- input and output that are not there

@test "standard output that is full is 74 with one line, in every stage" {
	for stage in ingest $FILTERS; do
		[ $stage != package ] || continue	# it writes a folder: see the full disk below
		fails $stage 74 "standard output: No space left on device" \
			bash -c 'one "$@" >/dev/full' - $stage "$S/store" "$good"
		fails $stage 74 "/dev/full: No space left on device" one $stage "$S/store" "$good" -o /dev/full
	done
}

@test "a release that the disk does not hold is 74 with one line, and nothing of it stays" {
	run --separate-stderr bwrap --dev-bind / / --size 4096 --tmpfs "$W/tmp" -- \
		bash -c 'cd "$1"; km-package -q -o rel "$2"; s=$?; ls; exit $s' - "$W/tmp" "$good"
	[ "$status" = 74 ] || { echo "$status $stderr"; return 1; }
	[ -z "$output" ]
	[ "${#stderr_lines[@]}" = 1 ]
	[[ $stderr == *"No space left"* ]]
}

@test "a reader that goes away ends every stage quietly, and no temporary file stays" {
	for stage in ingest $FILTERS; do
		[ $stage != package ] || continue
		{
			sleep 0.2
			s=0
			one $stage "$S/store" "$good" --rejects "$W/rejects" 2>"$W/err" || s=$?
			echo $s >"$W/status"
		} | true
		[ "$(cat "$W/status")" = 141 ] || { echo "$stage: $(cat "$W/status")"; return 1; }
		[ ! -s "$W/err" ] || { echo "$stage: $(cat "$W/err")"; return 1; }
		[ -z "$(find "$W" -name '*.tmp.*')" ] || { echo "$stage"; return 1; }
	done
}

@test "no input is 66, a wrong option 64, no place for the output or the store 73: one line each, in every stage" {
	: >"$W/file"
	for stage in ingest $FILTERS; do
		fails $stage 66 "nowhere" one $stage "$S/store" "$W/nowhere" -o "$W/o"
		fails $stage 64 "--colour" one $stage "$S/store" "$good" --colour blue -o "$W/o"
		fails $stage 64 "--seed" one $stage "$S/store" "$good" --seed x -o "$W/o"
		fails $stage 64 "--max-rejects" one $stage "$S/store" "$good" --max-rejects 101% -o "$W/o"
		fails $stage 73 "$W/no" one $stage "$S/store" "$good" -o "$W/no/o"
		fails $stage 73 "$W/no" one $stage "$S/store" "$good" -o "$W/o" --rejects "$W/no/r"
		[ ! -e "$W/o" ] || { echo "$stage wrote"; return 1; }
	done
	[ -z "$(find "$W" -name '*.tmp.*')" ]
	export CHECK=1
	for stage in ingest $RUNNERS; do
		fails $stage 73 "$W/file" one $stage "$W/file" "$good" -o "$W/o"
		fails $stage 73 "$W/file/below" one $stage "$W/file/below" "$good" -o "$W/o"
		fails $stage 64 "tpu" one $stage "$S/store" "$good" --device tpu -o "$W/o"
		ldconfig -p | grep -q libcuda.so.1 ||
			fails $stage 69 "cuda:99" one $stage "$S/store" "$good" --device cuda:99 -o "$W/o"
	done
}

# ---- a machine that lacks something

@test "no nvcc, no bubblewrap, a store that is read-only: 69 or 73 with one line that says what to do" {
	[ "$(km_sandbox --level 2>/dev/null)" = namespaces ] || skip "no level namespaces here"
	nvcc=$(readlink -f "${CUDA:-/usr/local/cuda}/bin/nvcc")	# the one built in: that on PATH may be another
	export CHECK=1
	for stage in ingest $RUNNERS; do
		fails $stage 69 "install CUDA Toolkit 13" \
			bwrap --dev-bind / / --ro-bind /dev/null "$nvcc" -- bash -c 'one "$@"' - $stage "$W/store" "$good"
		fails $stage 69 "install the package bubblewrap" \
			bwrap --dev-bind / / --ro-bind /dev/null /usr/bin/bwrap -- bash -c 'one "$@"' - $stage "$W/store" "$good"
		fails $stage 73 "$S/store" \
			bwrap --dev-bind / / --ro-bind "$S/store" "$S/store" -- bash -c 'one "$@"' - $stage "$S/store" "$good"
	done
}

# ---- a store that is damaged

# damaged KIND CHANGE: a copy of the store in $W/store with every file of a kind changed by the shell text CHANGE.
damaged() {
	rm -rf "$W/store"
	cp -r "$S/store" "$W/store"
	find "$W/store/$1" -type f | while read -r file; do eval "$2"; done
}

@test "damaged evaluations are made again, and the result is the same" {
	for change in ': >"$file"' 'truncate -s 20 "$file"' 'truncate -s -1 "$file"' 'head -c 3000 /dev/urandom >"$file"' \
		'sed -i s/PASSED/FAILED/ "$file"' 'echo "{}" >"$file"'; do
		damaged evaluations "$change"
		one verify "$W/store" "$S/optimize" -o "$W/out" --stats "$W/stats"
		cmp "$S/verify" "$W/out" || { echo "$change"; return 1; }
		[ "$(stat_of "$W/stats" evaluations_run)" -gt 0 ] || { echo "$change: was taken for sound"; return 1; }
		# What was mended is sound.
		one verify "$W/store" "$S/optimize" -o "$W/out" --stats "$W/stats"
		[ "$(stat_of "$W/stats" evaluations_run)" = 0 ]
	done
}

@test "damaged builds are built again" {
	damaged builds 'case $file in *.so | *.ptx) truncate -s 100 "$file" ;; esac'
	rm -r "$W/store/evaluations"
	one verify "$W/store" "$S/optimize" -o "$W/out"
	cmp "$S/verify" "$W/out"
	damaged builds 'case $file in */verdict) echo WRONG >"$file" ;; *) : >"$file" ;; esac'
	rm -r "$W/store/evaluations"
	one verify "$W/store" "$S/optimize" -o "$W/out"
	cmp "$S/verify" "$W/out"
}

@test "folders and files of the store that are in each other's place are refused in one line" {
	damaged evaluations 'rm "$file"; mkdir "$file"'
	fails verify 75 "evaluations" one verify "$W/store" "$S/optimize" -o "$W/out"
	[ ! -e "$W/out" ]
	rm -rf "$W/store/journal"
	mkdir "$W/store/journal"
	fails verify 73 "journal" one verify "$W/store" "$S/optimize" -o "$W/out"
}

# ---- kills, and two at once

# killed STAGE SECONDS STORE INPUT OUT: runs it, kills it with SIGKILL, and fails if a process of it lives on.
killed() {
	python3 - "$@" <<'END'
import ctypes, os, signal, subprocess, sys, time
stage, seconds, store, source, out = sys.argv[1:]
ctypes.CDLL(None).prctl(36, 1)      # PR_SET_CHILD_SUBREAPER: who loses its parent becomes ours
data = "tests/data/agent"
options = {"ingest": ["--no-check", "--store", store], "review": ["--default", "unreviewed"],
    "verify": ["--store", store, "--threads", "2"]}
agent = ["--store", store, "--transcripts", f"{data}/transcripts", "--guidance", ""]
own = options.get(stage, agent if stage in ("solve", "repair", "optimize") else [])
child = subprocess.Popen([f"km-{stage}", "-q", *own, "-o", out, "--rejects", out + ".rejects", source],
    stdin=subprocess.DEVNULL)
time.sleep(float(seconds))
was_running = child.poll() is None
child.kill()
child.wait()
end = time.time() + 5
while time.time() < end:
    try:
        pid, _ = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        sys.exit(0 if was_running else 3)
    if pid == 0:
        time.sleep(0.02)
os.system(f"ps -o pid,ppid,args --ppid {os.getpid()}")
sys.exit(1)
END
}

# leftovers STORE: temporary files there, beside the outputs, and in $TMPDIR.
leftovers() {
	find "$W" -name '*.tmp.*'
	find "$TMPDIR" -mindepth 1
	[ -z "$1" ] || find "$1/tmp" "$1/builds/new" -mindepth 1 2>/dev/null || true
}

@test "kill -9 in the middle of every stage that runs solutions, and the same command again" {
	declare -A before=([solve]=review [repair]=solve [optimize]=repair [verify]=optimize)
	for stage in $RUNNERS; do
		input="$S/${before[$stage]}" middle=0
		for pause in 0.$((RANDOM % 9 + 1)) 0.$((RANDOM % 9 + 1)); do
			s=0
			killed $stage $pause "$W/$stage.store" "$input" "$W/$stage" || s=$?
			[ $s != 1 ] || { echo "$stage: a process is left after $pause s"; return 1; }
			[ $s = 3 ] || { middle=1; [ ! -e "$W/$stage" ] || { echo "$stage: half an output"; return 1; }; }
		done
		[ $middle = 1 ] || { echo "$stage was never killed in its middle"; return 1; }
		one $stage "$W/$stage.store" "$input" -o "$W/$stage" --rejects "$W/$stage.rejects"
		cmp "$S/$stage" "$W/$stage" || { echo "$stage: other bytes"; return 1; }
		[ -z "$(grep '^evaluated' "$W/$stage.store/journal" | sort | uniq -d)" ] || { echo "$stage: twice"; return 1; }
		[ -z "$(leftovers "$W/$stage.store")" ] || { leftovers "$W/$stage.store"; return 1; }
	done
}

# ingest reads files and folders only: its own tests kill it.
@test "kill -9 in the middle of every other stage, and the same command again" {
	mkfifo "$W/fifo"
	for stage in dedupe diversify review package; do
		# The input stops in the middle, so that is where the kill comes.
		{
			cat "$good"
			sleep 3
		} >"$W/fifo" 3>&- &
		s=0
		killed $stage 0.3 "$W/$stage.store" "$W/fifo" "$W/$stage.out" || s=$?
		kill %1 2>/dev/null || true
		wait || true
		[ $s = 0 ] || { echo "$stage: $s"; return 1; }
		[ ! -e "$W/$stage.out" ] || { echo "$stage: half an output"; return 1; }
		one $stage "$W/$stage.store" "$good" -o "$W/$stage.out" --rejects "$W/$stage.out.rejects"
		one $stage "$W/$stage.store" "$good" -o "$W/$stage.want"
		diff <(content "$W/$stage.want") <(content "$W/$stage.out") || { echo "$stage"; return 1; }
		[ -z "$(leftovers '')" ] || { leftovers ''; return 1; }
	done
}

@test "the same command twice at once, on one store: both give the same, and each evaluation is kept once" {
	one verify "$W/store" "$S/optimize" -o "$W/a" 3>&- &
	one verify "$W/store" "$S/optimize" -o "$W/b" 3>&-
	wait $!
	cmp "$S/verify" "$W/a"
	cmp "$S/verify" "$W/b"
	[ -n "$(grep '^evaluated' "$W/store/journal")" ]
	[ -z "$(grep '^evaluated' "$W/store/journal" | sort | uniq -d)" ]
	[ -z "$(leftovers "$W/store")" ]
}
