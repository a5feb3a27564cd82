# km-dedupe on hand-made pairs: what counts as the same, what does not, and that the order changes nothing.

setup() {
	dedupe=$KM_OUT/bin/km-dedupe
	cases=$BATS_TEST_DIRNAME/../data/rec/dedupe.jsonl
	cd "$BATS_TEST_TMPDIR"
}

names() {
	python3 -c 'import json, sys
for line in open(sys.argv[1]): print(json.loads(line)["task"]["name"])' "$1"
}

@test "each way of being the same is found, and named with the task that is kept" {
	"$dedupe" -q --dropped dropped --stats stats -o out "$cases"
	python3 - <<'END'
import json
rows = [json.loads(line) for line in open("dropped")]
assert [(r["code"], r["name"], r["kept_name"]) for r in rows] == [
    ("duplicate_math", "bb_softmax_renamed", "aa_softmax"),
    ("duplicate_reference", "ee_reference_renamed", "dd_reference"),
    ("duplicate_prompt", "hh_prompt_case", "gg_prompt"),
    ("duplicate_math", "ll_minus_renamed", "jj_minus"),
    ("duplicate_math", "mm_softmax_axes", "aa_softmax"),
    ("duplicate_exact", "nn_softmax_same_id", "aa_softmax")], rows
s = json.load(open("stats"))
assert s["in"] == 16 and s["out"] == 10 and sum(s["dropped"].values()) == 6, s
END
}

@test "other dtypes, functions, operators, argument orders and constants are no duplicates" {
	"$dedupe" -q -o out "$cases"
	[ "$(names out)" = "$(printf '%s\n' aa_softmax cc_softmax_f16 dd_reference ff_reference_log gg_prompt ii_prompt_minus \
		jj_minus kk_minus_swapped oo_constant pp_constant)" ]
}

@test "PyTorch modules are the same but for comments and blanks, of which strings hold none" {
	python3 - "$cases" <<'END'
import json, sys
case = next(c for c in map(json.loads, open(sys.argv[1])) if c["task"]["name"] == "dd_reference")
head = "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n"
bodies = {
    "first": '        return torch.einsum("i#a", x)\n',
    "second": '        return torch.einsum("i#b", x)\n',
    "comment": '\n        # said "twice\n        return  torch.einsum( "i#a",x )  # and here\n',
    "blank": '        return torch.einsum("i #a", x)\n',
    "quotes": "        return torch.einsum('i\\'#a', x)\n",
    "quotes_too": "        return torch.einsum('i\\'#b', x)\n",
    "long": '        """a\n # b"""\n        return x\n',
    "long_too": '        """a\n # c"""\n        return x\n',
    "open": '        return "x # a\n',
    "open_too": '        return "x # b',
    "words": "        return x if x is not x else x\n",
    "words_too": "        return x  if\tx is  not x else   x # why\n",
}
with open("modules", "w") as out:
    for i, (name, body) in enumerate(bodies.items()):
        case["task"].update(name=name, id="%032x" % (i + 1))
        case["task"]["reference"] = {"language": "pytorch", "source": head + body}
        out.write(json.dumps(case) + "\n")
END
	"$dedupe" -q --dropped dropped -o out modules
	[ "$(names out | LC_ALL=C sort | tr '\n' ' ')" = "blank comment long long_too open open_too quotes quotes_too second words " ]
}

@test "what is kept says what it stands for, and keeps its other bytes" {
	"$dedupe" -q -o out "$cases"
	python3 - "$cases" <<'END'
import json, sys
before = {json.loads(line)["task"]["name"]: line.rstrip("\n") for line in open(sys.argv[1])}
for line in open("out"):
    case = json.loads(line)
    curation = case["curation"]
    assert curation["benchmark_check"] == "not_run"
    assert len(curation["exact_hash"]) == 32 and len(curation["normalised_hash"]) == 32
    assert line.startswith(before[case["task"]["name"]][:-1])
counts = {json.loads(line)["task"]["name"]: json.loads(line)["curation"]["duplicates_dropped"] for line in open("out")}
assert counts["aa_softmax"] == 3 and counts["pp_constant"] == 0, counts
END
}

@test "the order of the input, the number of files and the threads change nothing" {
	"$dedupe" -q -o a "$cases"
	tac "$cases" | "$dedupe" -q -o b
	split -n l/3 "$cases" part.
	"$dedupe" -q --threads 5 -o c part.ac part.aa part.ab
	cmp a b && cmp a c
}

@test "a second run drops nothing and changes nothing" {
	"$dedupe" -q -o a "$cases"
	"$dedupe" -q -o b a
	[ "$(names a)" = "$(names b)" ]
}

@test "the same record twice is one record" {
	cat "$cases" "$cases" >twice
	"$dedupe" -q --stats stats -o a twice
	"$dedupe" -q -o b "$cases"
	[ "$(names a)" = "$(names b)" ]
	grep -q '"duplicate_exact":' stats
}

@test "a task that is no task is refused, and the rest stays" {
	{ head -2 "$cases"; echo '{"schema_version":"1.0","task":{"id":"x"}}'; } >input
	run "$dedupe" --rejects rejects -o out input
	[ "$status" -eq 65 ]
	[[ "$output" == *"input:3: task.id"* ]]
	[ ! -e out ]
	run "$dedupe" -q --max-rejects 1 -o out input
	[ "$status" -eq 0 ] && [ "$(wc -l <out)" -eq 1 ]
}

@test "compressed files are read and written, and damage is an error" {
	zstd -q "$cases" -o in.jsonl.zst
	"$dedupe" -q -o out.jsonl.zst in.jsonl.zst
	"$dedupe" -q -o plain "$cases"
	zstd -qdc out.jsonl.zst | cmp - plain
	head -c 1000 in.jsonl.zst >cut.jsonl.zst
	run "$dedupe" -q -o out2 cut.jsonl.zst
	[ "$status" -eq 74 ] && [ ! -e out2 ]
	[[ "$output" == *"was cut"* ]]
}

@test "a full disk is exit 74 and leaves no file" {
	run "$dedupe" -q -o /dev/full "$cases"
	[ "$status" -eq 74 ]
	run bash -c '"$0" -q "$1" >/dev/full' "$dedupe" "$cases"
	[ "$status" -eq 74 ]
}

@test "a run killed in the middle leaves no output, and the next gives the whole one" {
	yes "$(cat "$cases")" | head -n 6000 >many
	"$dedupe" -q -o whole many
	"$dedupe" -q -o out <(cat many; sleep 5) & pid=$!
	sleep 0.3
	kill -9 $pid
	[ ! -e out ]
	"$dedupe" -q -o out many
	cmp whole out
}
