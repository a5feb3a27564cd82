# km-package on hand-made cases, and a reader that shares no code with it. The release is then broken on
# purpose, to see that the reader would notice.

setup() {
	package=$KM_OUT/bin/km-package
	data=$BATS_TEST_DIRNAME/../data/rec
	cases=$data/release.jsonl
	schemas=$BATS_TEST_DIRNAME/../../schemas
	reader=$BATS_TEST_DIRNAME/../release/read_release.py
	cd "$BATS_TEST_TMPDIR"
}

read_release() { python3 "$reader" "$1" "$schemas"; }

# refused RELEASE WORDS: the reader finds it wrong, in these words.
refused() {
	run read_release "$1"
	[ "$status" -eq 1 ] || { echo "not noticed: $2"; return 1; }
	[[ "$output" == *"$2"* ]] || { echo "$output"; return 1; }
}

# edit FILE EXPRESSION: rewrites a shard, row by row, with the Python statement applied to the list `rows`,
# and brings the manifest in line, so that only what the rows say is wrong.
edit() {
	python3 - "$1" "$2" "$3" <<'END'
import hashlib, json, struct, subprocess, sys
root, path, statement = sys.argv[1:]
full = f"{root}/{path}"
rows = [json.loads(line) for line in subprocess.run(["zstd", "-dcq", full], stdout=subprocess.PIPE).stdout.splitlines()]
exec(statement)
content = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows).encode()
raw = subprocess.run(["zstd", "-cq"], input=content, stdout=subprocess.PIPE).stdout
open(full, "wb").write(raw)
manifest = json.load(open(f"{root}/MANIFEST.json"))
for entry in manifest["files"]:
    if entry["path"] == path:
        entry.update(bytes=len(raw), sha256=hashlib.sha256(raw).hexdigest(), records=len(rows),
                     content_bytes=len(content), content_sha256=hashlib.sha256(content).hexdigest())
digest = hashlib.sha256()
for entry in manifest["files"]:
    for text in (entry["path"].encode(), entry["content_sha256"].encode()):
        digest.update(struct.pack("<Q", len(text)) + text)
manifest["content_sha256"] = digest.hexdigest()
json.dump(manifest, open(f"{root}/MANIFEST.json", "w"), indent=1)
END
}

@test "times that were measured are in the rows, and the card says how many are faster than PyTorch" {
	python3 - "$cases" >timed <<'END'
import json, sys
case = next(c for c in map(json.loads, open(sys.argv[1])) if any(e.get("final") for e in c["evaluations"]))
last = [e for e in case["evaluations"] if e.get("final")][-1]
mode = {"median_us": 80.0, "interval": [79.0, 81.0], "count": 100, "queued": True, "speedup": 2.0}
timing = {"protocol": 1, "gpu": {"name": "NVIDIA H200", "uuid": "x"}, "median_us": 40.0,
          "baseline": {"kind": "first_correct", "median_us": 50.0, "ratio": 0.8},
          "pytorch": {"version": "2.11", "eager": mode, "compile": {**mode, "median_us": 20.0, "speedup": 0.5}}}
last["timing"] = timing
print(json.dumps(case))
timing["pytorch"] = {"version": "1.13", "reason": "torch 1.13 of python has no CUDA"}
timing["baseline"] = {"kind": "first_correct"}
open("bare", "w").write(json.dumps(case) + "\n")
END
	"$package" -q -o rel timed
	read_release rel
	python3 - <<'END'
import glob, json, subprocess
rows = [json.loads(line) for path in glob.glob("rel/solutions/*")
        for line in subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE).stdout.splitlines()]
timed = [e["timing"] for r in rows for e in r["evaluations"] if e["timing"]]
assert timed == [{"gpu": "NVIDIA H200", "median_us": 40.0, "baseline_us": 50.0, "baseline_ratio": 0.8, "torch": "2.11",
                  "eager_us": 80.0, "eager_speedup": 2.0, "compile_us": 20.0, "compile_speedup": 0.5}], timed
card = open("rel/README.md").read()
assert "- 1 evaluations of `bench` workloads were timed, on NVIDIA H200 (1)." in card
assert "No time was measured" not in card
assert "| PyTorch | final solutions timed beside it | faster than it |\n| --- | ---: | ---: |\n" \
    "| `torch.compile` | 1 | 0 |\n| eager | 1 | 1 |\n" in card, card
END
	"$package" -q -o rel2 bare
	read_release rel2
	! grep "timed beside it" rel2/README.md || return 1
	grep -q "timed, on NVIDIA H200" rel2/README.md
	"$package" -q -o rel3 "$cases"
	grep -q "No time was measured on a GPU" rel3/README.md
}

@test "the release is what an independent reader expects" {
	"$package" -q -o rel --stats stats "$cases"
	run read_release rel
	[ "$status" -eq 0 ]
	[ "$output" = "12 tasks, 16 solutions, 12 sft_trajectories, 10 sft_direct: all good" ]
	python3 - <<'END'
import json
s = json.load(open("stats"))
assert s["in"] == 14 and s["out"] == 12 and s["dropped"] == {"review_rejected": 1, "not_reviewed": 1}, s
assert s["counters"]["stale_trajectories"] == 1 and s["counters"]["resolved"] == 10, s
END
}

@test "a source that a later turn finds wrong is not learnt from when it compiles" {
	python3 - "$cases" >compiled.jsonl <<'END'
import copy, json, sys
for line in open(sys.argv[1]):
    case = json.loads(line)
    if case["task"]["name"] != "softmax_story_f32":
        continue
    t = next(t for t in case["trajectories"] if t["phase"] == "solve")
    i = t["turns"][0]["message_index"]
    call, answer = copy.deepcopy(t["messages"][i:i + 2])     # the faulty source again, as a compile that passes
    call["tool_calls"][0]["function"]["name"] = "compile"
    t["messages"][i:i] = [call, answer]
    turn = {**t["turns"][0], "tool": "compile", "status": "PASSED", "outcome": "passed", "solution_id": None}
    turn.pop("staged_error", None)
    t["turns"][0]["message_index"] += 2
    t["turns"].insert(0, turn)
    print(json.dumps(case))
END
	"$package" -q -o rel compiled.jsonl
	zstd -dcq rel/sft_trajectories/*.zst >rows
	python3 - <<'END'
import json
rows = [json.loads(line) for line in open("rows")]
assert rows
for r in rows:
    first, second = [m for m in r["messages"] if m["role"] == "assistant"][:2]
    assert first["tool_calls"][0]["function"]["name"] == "compile" and not first["train"] and not second["train"]
END
	edit rel "sft_trajectories/$(basename rel/sft_trajectories/*.zst)" \
		'[m for m in rows[0]["messages"] if m["role"] == "assistant"][0]["train"] = True'
	refused rel "trains a source that went wrong in another turn"
}

@test "branches, training flags and verdicts are those of the story" {
	"$package" -q -o rel "$cases"
	zstd -dcq rel/sft_trajectories/*.zst >rows
	python3 - <<'END'
import json
rows = [json.loads(line) for line in open("rows")]
story = {r["branch"]: r for r in rows if r["task_name"] == "softmax_story_f32"}
assert sorted(story) == ["a1", "b"], story.keys()        # "a" goes on in a1; "c" is stale
a1, b = story["a1"], story["b"]
assert a1["phases"] == ["solve", "repair", "optimize", "optimize"] and b["phases"] == ["solve", "repair", "optimize"]
assert [m["train"] for m in a1["messages"] if m["role"] == "assistant"] == [False, False, True, True, True, True]
assert [m["train"] for m in b["messages"] if m["role"] == "assistant"] == [False, False, True, False]
assert (a1["resolved"], a1["final_status"], a1["cost_ratio"]) == (True, "PASSED", 0.6)
assert (b["resolved"], b["final_status"], b["cost_ratio"]) == (False, None, 1.25)
assert a1["origin"]["staged_error"] == "the guard is missing"
lost = [r for r in rows if r["task_name"] == "falls_at_the_end_f32"][0]
assert not lost["resolved"] and lost["final_status"] == "INCORRECT_NUMERICAL" and lost["status"] == "PASSED"
assert not any(m["train"] for m in lost["messages"])
assert [r["origin"]["kind"] for r in rows].count("sampled") == 1
assert not [r for r in rows if r["task_name"] == "no_answer_f32"]
END
}

@test "shards and order of the input and threads leave no trace" {
	"$package" -q -o a "$cases"
	split -n l/7 "$cases" part.
	"$package" -q --threads 5 -o b part.ag part.ab part.aa part.ac part.ae part.ad part.af
	rm a/BUILD.json b/BUILD.json
	diff -r a b
}

@test "small shards are cut at rows and numbered" {
	"$package" -q -o rel --shard-bytes 3K "$cases"
	run read_release rel
	[ "$status" -eq 0 ]
	[ -e rel/tasks/train-00002-of-00005.jsonl.zst ]
}

@test "the reader notices files that are not those of the manifest" {
	"$package" -q -o good "$cases"
	shard=tasks/train-00000-of-00001.jsonl.zst
	cp -r good a; printf 'X' | dd of=a/$shard bs=1 seek=100 conv=notrunc status=none
	refused a "is not the file of the manifest"
	cp -r good b; truncate -s -10 b/$shard
	refused b "$shard"
	cp -r good c; rm c/$shard
	refused c "No such file"
	cp -r good d; echo >d/extra
	refused d "extra: is not in the manifest"
	cp -r good e; sed -i 's/10 of which/11 of which/' e/README.md
	refused e "README.md: is not the file of the manifest"
}

@test "the reader notices rows that are wrong in themselves" {
	"$package" -q -o good "$cases"
	T=tasks/train-00000-of-00001.jsonl.zst S=solutions/train-00000-of-00001.jsonl.zst
	J=sft_trajectories/train-00000-of-00001.jsonl.zst D=sft_direct/train-00000-of-00001.jsonl.zst
	while IFS='|' read -r file statement words; do
		rm -rf bad; cp -r good bad
		edit bad "${!file}" "$statement"
		refused bad "$words"
	done <<'END'
T|rows.append(rows[0])|an id stands twice
T|rows.reverse()|order of task id
T|rows[0]["license"] = ""|license
T|rows[0]["license"] = "GPL-3.0"|licence
T|rows[0]["resolved"] = not rows[0]["resolved"]|resolved is not that of its solution
T|rows[0]["surprise"] = 1|surprise is unknown
T|del rows[0]["prompt"]|prompt is missing
T|del rows[0]|rows of other configs
S|rows[0]["source"] += " "|its hash is another
S|rows[0]["evaluations"][-1]["status"] = "TIMEOUT"|resolved is not what its evaluations say
S|rows[0]["evaluations"][0]["held_out"] = True|a held-out workload was seen
S|rows[0]["task_id"] = "0" * 32|of tasks that are not there
J|rows[0]["messages"][1]["role"] = "system"|a system message that is not the first
J|rows[0]["messages"][-1]["tool_call_id"] = "call99999"|answers another call
J|rows[0]["messages"].pop()|a call is not answered
J|rows[0]["messages"][1]["train"] = True|is not for training
J|rows[0]["messages"][2]["tool_calls"][0]["function"]["arguments"] = "{}"|arguments
J|rows[0]["turns"][0]["status"] = "TIMEOUT"|trains a turn that went wrong
J|rows[0]["tools"] = []|was not offered
D|rows[0]["messages"][-1]["content"] = "no"|the answer is another source
D|rows.pop()|is not the set of resolved tasks
END
}

@test "the reader notices a task in two splits" {
	"$package" -q -o rel "$cases"
	edit rel sft_direct/validation-00000-of-00001.jsonl.zst 'rows[0]["task_id"] = __import__("json").loads(subprocess.run(["zstd", "-dcq", f"{root}/tasks/train-00000-of-00001.jsonl.zst"], stdout=subprocess.PIPE).stdout.splitlines()[0])["id"]'
	refused rel "lies in two splits"
}

@test "the card's configs name the shards, and the reader checks them" {
	"$package" -q -o rel "$cases"
	sed -i 's,path: tasks/test-,path: tasks/tset-,' rel/README.md
	refused rel "tasks/tset-*.jsonl.zst is no file"
	"$package" -q -o rel "$cases"
	sed -i 's/^  - name: op_type$/  - name: op_typ/' rel/README.md
	refused rel "the columns of tasks"
}

@test "two cases of one task are refused, and the release that stands there stays" {
	"$package" -q -o rel "$cases"
	cp -r rel before
	head -1 "$cases" | cat "$cases" - >twice
	run "$package" -q -o rel --rejects rejects twice
	[ "$status" -eq 65 ]
	grep -q task_twice rejects
	diff -r before rel
	run "$package" -q -o rel --max-rejects 1 twice
	[ "$status" -eq 0 ]
}

@test "a folder that is no release is left alone" {
	mkdir precious; echo >precious/thesis
	run "$package" -q -o precious "$cases"
	[ "$status" -eq 73 ] && [ -e precious/thesis ]
	[[ "$output" == *"is no release"* ]]
	run "$package" -q -o nowhere/rel "$cases"
	[ "$status" -eq 73 ]
	run "$package" -q "$cases"
	[ "$status" -eq 64 ]
	mkdir empty
	"$package" -q -o empty/ "$cases"
	read_release empty
}

@test "a run killed in the middle leaves the old release, and the next one sweeps up" {
	"$package" -q -o rel "$cases"
	cp -r rel before
	"$package" -q -o rel <(cat "$cases"; sleep 5) & pid=$!
	sleep 0.3
	kill -9 $pid
	wait $pid || true
	diff -r before rel
	mkdir rel.tmp.$pid
	"$package" -q -o rel "$cases"
	[ ! -e rel.tmp.$pid ]
	read_release rel
}

@test "counts of earlier stages reach the card, their commands BUILD.json" {
	mkdir side
	"$KM_OUT/bin/km-dedupe" -q --stats side/dedupe.stats.json -o unique "$data/dedupe.jsonl"
	"$package" -q -o rel --stages side "$cases"
	grep -q '| dedupe | 16 | 10 | duplicate_exact 1, duplicate_math 3, duplicate_prompt 1, duplicate_reference 1 | 0 |' rel/README.md
	grep -q 'km-dedupe' rel/BUILD.json
	run grep -q 'km-dedupe' rel/README.md
	[ "$status" -eq 1 ]
	read_release rel
	echo '{' >side/review.stats.json
	run "$package" -q -o rel --stages side "$cases"
	[ "$status" -eq 65 ]
	read_release rel
}

@test "no case at all gives a release without rows" {
	"$package" -q -o rel </dev/null
	[ -e rel/MANIFEST.json ]
	grep -q '| `tasks` | 0 | 0 | 0 |' rel/README.md
}
