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
}

setup() {
	agent_setup
	W="$BATS_TEST_TMPDIR" good="$S/verify"
	export TMPDIR="$W/tmp"
	mkdir -p "$TMPDIR"
}

# one STAGE STORE INPUT [OPTION...]: runs a stage on one file; package needs a folder for -o besides.
one() {
	local stage="$1" store="$2" input="$3"
	shift 3
	case $stage in
	ingest) set -- --no-check --store "$store" "$@" ;;
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
said = sys.argv[5].splitlines()
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
