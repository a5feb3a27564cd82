# Held-out workloads never reach agent feedback: a solution that is right for the shapes it was shown and wrong for the
# held-out one gets its final verdict, and then all agent stages run on what verify wrote. Whatever they send to a model
# and whatever they write about the conversations is searched for the held-out workload's name, sizes and values.
load agent.bash

setup() {
	agent_setup
	W="$BATS_TEST_TMPDIR"
	STORE="$W/store"
	export KM_TEST_KEY=sk-test-key
}

teardown() {
	[ -z "$SERVER" ] || { kill "$SERVER"; wait "$SERVER" 2>/dev/null; } || true
}

@test "agents see nothing of what the final verdict saw" {
	python3 - >"$W/shown.cu" <<'P'
# The cheat of the corpus that knows the shown row lengths only.
out, keep = [], True
for line in open("tests/cheats/visible_shapes.cu"):
    if line.startswith("#if !CHEAT"):
        keep = False
    elif line.startswith("#endif"):
        keep = True
    elif keep:
        out.append(line)
print("".join(out), end="")
P
	sed 's/515/511/' "$W/shown.cu" >"$W/first.cu"
	python3 $DATA/stub_server.py "$W/port" "$W/requests" --bodies "$W/bodies" "$W/first.cu" "$W/shown.cu" 3>&- &
	SERVER=$!
	for i in $(seq 100); do [ -s "$W/port" ] && break; sleep 0.05; done
	cat >"$W/policy.json" <<JSON
{"kind": "openai", "base_url": "http://127.0.0.1:$(cat "$W/port")/v1", "model": "m", "terms": "tests only",
 "key_env": "KM_TEST_KEY", "sampling": {"max_tokens": 1000}, "prices": {"input_per_million": 1, "output_per_million": 2}}
JSON
	km-ingest -q --store "$STORE" -o "$W/tasks.jsonl" tests/cheats/tasks/rows
	agent() { "km-$1" -q --store "$STORE" --policy "$W/policy.json" --guidance '' --redo all -o "$W/$2" "$W/$3"; }
	agent solve solved.jsonl tasks.jsonl
	km-verify -q --store "$STORE" -o "$W/verified.jsonl" "$W/solved.jsonl" 2>/dev/null
	# The verdict is there, with a mismatch that would be worth knowing.
	[ "$(ask "$W/verified.jsonl" '[(e["workload"], e["status"]) for e in c["evaluations"] if e.get("final")][-1]')" = \
		"('held', 'INCORRECT_NUMERICAL')" ]
	agent repair repaired.jsonl verified.jsonl
	agent optimize optimized.jsonl repaired.jsonl
	agent solve again.jsonl verified.jsonl
	[ "$(wc -l <"$W/bodies")" -ge 2 ]
	python3 - "$W" <<'P'
import json, re, sys
folder = sys.argv[1]
verified = json.loads(open(folder + "/verified.jsonl").readline())
held = next(w for w in verified["task"]["workloads"] if w.get("held_out"))
final = next(e for e in verified["evaluations"] if e.get("final") and e.get("held_out"))
texts = open(folder + "/bodies").read().splitlines()
for name in ("solved", "repaired", "optimized", "again"):
    texts += [json.dumps(t) for t in json.loads(open(f"{folder}/{name}.jsonl").readline())["trajectories"]]
shown = [w for w in verified["task"]["workloads"] if not w.get("held_out")]
# The search finds what is shown, so it would find the rest.
assert any(re.search(r"\b515\b", t) for t in texts) and any('INCORRECT_NUMERICAL' in t for t in texts)
secrets = [r"\b" + held["name"] + r"\b"] + [rf"\b{v}\b" for v in held["axes"].values()]
secrets += [re.escape(final["id"]), re.escape(final["outputs"][0]["xxh3_128"]), re.escape(str(final["first_mismatch"]["expected"])[:9])]
secrets += ["final_verdict", rf"\b{final['mismatched_elements']} of {final['compared_elements']}\b"]
for secret in secrets:
    for text in texts:
        found = re.search(secret, text)
        assert not found, (secret, text[max(0, found.start() - 200):found.end() + 200])
print(len(texts), "texts,", len(secrets), "things to look for")
P
}
