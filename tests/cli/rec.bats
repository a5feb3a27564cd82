# What every filter does with its input, output, rejects, counts and exits, shown on the plainest: km-check.

setup() {
	check=$KM_OUT/libexec/kernelmosaic/km-check
	cases=$BATS_TEST_DIRNAME/../data/rec/cases.jsonl
	cd "$BATS_TEST_TMPDIR"
}

# A field of the statistics, by Python expression on s.
stat_of() {
	python3 -c 'import json, sys; s = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"
}

@test "cases pass through byte by byte, from a file and from standard input" {
	"$check" -q "$cases" >a
	"$check" -q - <"$cases" >b
	"$check" -q <"$cases" >c
	cmp "$cases" a && cmp "$cases" b && cmp "$cases" c
}

@test "several files are read in order" {
	"$check" -q "$cases" - "$cases" <"$cases" >a
	cat "$cases" "$cases" "$cases" | cmp - a
}

@test "the order does not depend on the threads" {
	yes "$(cat "$cases")" | head -n 800 >many
	"$check" -q --threads 7 -o a many
	"$check" -q -o b many
	cmp many a && cmp many b
}

@test "each kind of bad line is refused once, with its own words, and the rest passes" {
	good=$(head -1 "$cases")
	{
		echo "$good"
		echo '{"schema_version":"1.0","task":{"id":'
		printf '{"schema_version":"1.0","x":"\xff\xfe"}\n'
		printf '{"schema_version":"1.0","x":"a\0b"}\n'
		echo '{"schema_version":"1.0","task":{},"task":{}}'
		echo '{"schema_version":"9.0","task":{}}'
		echo "${good/0.000001/1e999}" | sed 's/"rtol":1e-05/"rtol":1e999/'
		echo "${good/'"rtol":1e-05'/'"rtol":1e-05,"rtol":2'}"
		echo "${good/'"dtype":"float32"'/'"dtype":"float33"'}"
		echo
		head -c 50000000 /dev/zero | tr '\0' 'x'
		echo
		echo "$good"
		printf '%s' "$good"
	} >input
	run "$check" --rejects rejects --stats stats --max-rejects 100% -o out input
	[ "$status" -eq 0 ]
	[ "$(cat out)" = "$good"$'\n'"$good" ]
	[ "$(stat_of stats "s['in'], s['out'], sum(s['rejected'].values())")" = "(13, 2, 11)" ]
	python3 - <<'END'
import json
rows = [json.loads(line) for line in open("rejects")]
words = [(2, "ends in the middle"), (3, "invalid UTF-8"), (4, "NUL byte"), (5, '"task" stands twice'),
    (6, "reads 1.x"), (7, "overflow"), (8, "duplicate"), (9, "float33"), (10, "empty"), (11, "16 MiB"),
    (13, "no newline")]
assert [r["line"] for r in rows] == [line for line, _ in words], rows
for row, (line, word) in zip(rows, words):
    assert word in row["message"], (row["message"], word)
    assert row["file"] == "input" and row["stage"] == "check" and row["code"]
    assert len(row["raw"]) < 5000
END
	# One line on standard error for each, and two at the end.
	[ "${#lines[@]}" -eq 13 ]
}

@test "rejects count against --max-rejects, as a number and as a percentage" {
	{ cat "$cases"; echo '{'; } >input
	run "$check" -q -o out input
	[ "$status" -eq 65 ] && [ ! -e out ]
	run "$check" -q --max-rejects 1 -o out input
	[ "$status" -eq 0 ] && cmp out "$cases"
	run "$check" -q --max-rejects 19% -o out2 input
	[ "$status" -eq 65 ]
	run "$check" -q --max-rejects 20% -o out2 input
	[ "$status" -eq 0 ]
	for bad in -1 101% x % ''; do
		run "$check" --max-rejects "$bad" input
		[ "$status" -eq 64 ]
	done
}

@test "rejects are written even when they are too many" {
	echo '{' >input
	run "$check" -q --rejects rejects input
	[ "$status" -eq 65 ]
	[ "$(wc -l <rejects)" -eq 1 ]
}

@test "shards are disjoint and together the whole" {
	for i in $(seq 0 2); do "$check" -q --shard $i/3 --stats stats.$i "$cases" >shard.$i; done
	sort shard.* | cmp - <(sort "$cases")
	[ "$(stat_of stats.0 "s['in'] == s['out'] + s['dropped'].get('other_shard', 0)")" = True ]
	[ "$(cat shard.? | wc -l)" -eq 4 ]
	python3 - <<'END'
import json
for i in range(3):
    for line in open(f"shard.{i}"):
        assert int(json.loads(line)["task"]["id"][:8], 16) % 3 == i
END
	for bad in 3/3 1 a/b /3 -1/3 0/0; do
		run "$check" --shard $bad "$cases"
		[ "$status" -eq 64 ]
	done
}

@test "a full disk on standard output is exit 74 with one line" {
	run bash -c '"$0" -q "$1" >/dev/full' "$check" "$cases"
	[ "$status" -eq 74 ]
	[[ "$output" == *"standard output: No space left on device"* ]] && [ "${#lines[@]}" -eq 1 ]
}

@test "a reader that goes away ends the filter quietly with 141" {
	yes "$(cat "$cases")" | head -n 12000 >many
	run bash -c '"$0" -q "$1" | head -1 >/dev/null; echo ${PIPESTATUS[0]}' "$check" many
	[ "$output" = 141 ]
}

@test "missing input is 66, an output that cannot be made is 73" {
	run "$check" -q "$cases" nowhere
	[ "$status" -eq 66 ] && [[ "$output" == *nowhere* ]]
	run "$check" -q .
	[ "$status" -eq 66 ]
	run "$check" -q -o nowhere/out "$cases"
	[ "$status" -eq 73 ]
	run "$check" -q --rejects nowhere/out "$cases"
	[ "$status" -eq 73 ]
	run "$check" -q --stats nowhere/out -o out "$cases"
	[ "$status" -eq 73 ]
}

@test "an empty input gives an empty output" {
	: >input
	"$check" -q --stats stats -o out input
	[ -e out ] && [ ! -s out ]
	[ "$(stat_of stats "s['in'], s['out']")" = "(0, 0)" ]
}

@test "statistics and rejects are what their schemas say" {
	echo '{' | cat "$cases" - >input
	"$check" -q --max-rejects 1 --stats stats --rejects rejects input >out
	python3 - <<'END'
import json
s = json.load(open("stats"))
assert s["stage"] == "check" and s["rejected"] == {"bad_json": 1} and s["threads"] == 1
assert s["bytes_out"] > 0 and s["seconds"] >= 0 and "km-check" in s["command"]
r = json.loads(open("rejects").read())
assert list(r) == ["file", "line", "stage", "code", "message", "raw"] and r["raw"] == "{"
END
}

@test "the schema program prints every name that it lists" {
	schema=$KM_OUT/libexec/kernelmosaic/km-schema
	for name in $("$schema"); do "$schema" "$name" >$name.json; done
	python3 -c 'import glob, json; assert len([json.load(open(f)) for f in glob.glob("*.json")]) == 15'
	run "$schema" poem
	[ "$status" -eq 64 ]
}
