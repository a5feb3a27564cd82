# km-diversify: cells are filled, ranks are one order for every N, and nothing else decides.

setup() {
	diversify=$KM_OUT/bin/km-diversify
	cases=$BATS_TEST_DIRNAME/../data/rec/dedupe.jsonl
	cd "$BATS_TEST_TMPDIR"
}

@test "without -n all are selected, in rank order, with their cells" {
	"$diversify" -q -o out "$cases"
	python3 - <<'END'
import json
cases = [json.loads(line) for line in open("out")]
assert len(cases) == 16
assert [c["curation"]["rank"] for c in cases] == list(range(1, 17))
assert all(c["curation"]["selected"] for c in cases)
for c in cases:
    t = c["task"]
    assert c["curation"]["cell"] == "/".join([t["op_type"], t["outputs"][0]["dtype"], "+".join(t["forms"])])
END
}

@test "every cell gets a task before any gets a second" {
	"$diversify" -q -o out "$cases"
	python3 - <<'END'
import json
cells = [json.loads(line)["curation"]["cell"] for line in open("out")]
assert len(set(cells)) == 6 == len(set(cells[:6])), cells
END
}

@test "selected and reserve are one order, whatever N" {
	"$diversify" -q -o all "$cases"
	for n in 0 1 5 16 99; do
		"$diversify" -q -n $n --reserve rest -o chosen --stats stats "$cases"
		cat chosen rest | sed 's/"selected":[a-z]*/"selected":true/' | cmp - all
		[ "$(wc -l <chosen)" -eq $((n > 16 ? 16 : n)) ]
		run grep -q '"selected":false' chosen
		[ "$status" -eq 1 ]
		run grep -q '"selected":true' rest
		[ "$status" -eq 1 ]
		python3 -c 'import json; s = json.load(open("stats")); assert s["in"] == s["out"] + s["dropped"].get("reserve", 0)'
	done
}

@test "the order of the input and the threads change nothing, the seed does" {
	"$diversify" -q -o a "$cases"
	tac "$cases" | "$diversify" -q --threads 4 -o b
	cmp a b
	"$diversify" -q --seed 2 -o c "$cases"
	run cmp -s a c
	[ "$status" -eq 1 ]
}

@test "within a cell the second task is unlike the first" {
	python3 - "$cases" <<'END'
import json, sys
base = json.loads(open(sys.argv[1]).readline())
def variant(number, text, tags):
    case = json.loads(json.dumps(base))
    case["task"].update(id="%032x" % number, name="v%d" % number, tags=tags)
    case["task"]["math_spec"]["text"] = text
    return case
near = [variant(i, "y[i,j] = exp(x[i,j])", ["same:tag"]) for i in range(9)]
far = [variant(9, "y[i,j] = sum(sqrt(abs(x[i,k])) for k)", ["other:tag", "more:tags"])]
open("input", "w").write("".join(json.dumps(c) + "\n" for c in near + far))
END
	for seed in 1 2 3 4 5; do
		"$diversify" -q -n 2 --seed $seed input | grep -q '"name": "v9"'
	done
}

@test "statistics count cells and their entropy" {
	"$diversify" -q -n 6 --stats stats -o out "$cases"
	python3 - <<'END'
import json
from math import log2
c = json.load(open("stats"))["counters"]
assert c["cells"] == 6 and c["cells_filled"] == 6
assert c["entropy_millibits"] == round(1000 * log2(6)), c
END
}

@test "wrong numbers are refused" {
	for bad in -1 x 1.5 ''; do
		run "$diversify" -n "$bad" "$cases"
		[ "$status" -eq 64 ]
	done
}
