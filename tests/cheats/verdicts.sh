#!/bin/bash
# verdicts.sh DEVICE quick|rest|all: puts the corpus to the final verdict and compares what comes out with corpus.txt.
# Prints a line for each cheat and look-alike that got another verdict than it must; exit 1 if there is any.
# KM_OUT: where the programs are. STORE: a work store to keep builds in; by default one that is thrown away. ENGINE: more
# options of the engine. JUDGED: where to keep the judged cases.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
device=$1 which=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
engine=(--store "${STORE:-$work/store}" -q ${ENGINE:-})
"$KM_OUT/bin/km-ingest" "${engine[@]}" -o "$work/tasks.jsonl" "$here/tasks"
python3 - "$here" "$which" "$work" <<'P'
import json, re, sys
here, which, work = sys.argv[1:]
tasks = {case["task"]["name"][len("cheat_"):]: case for case in map(json.loads, open(work + "/tasks.jsonl"))}

def half(text, cheat):
    """The source without the other half: a solution is one plain text."""
    out, keep = [], [True]
    for line in text.split("\n"):
        word = line.strip()
        if word in ("#if CHEAT", "#if !CHEAT"):
            keep.append((word == "#if CHEAT") == cheat)
        elif word == "#else" and len(keep) > 1:
            keep[-1] = not keep[-1]
        elif word == "#endif" and len(keep) > 1:
            keep.pop()
        elif all(keep):
            out.append(line)
    assert len(keep) == 1
    return "\n".join(out)

cases, expected = open(work + "/cases.jsonl", "w"), open(work + "/expected", "w")
for line in open(here + "/corpus.txt"):
    if line.startswith("#"):
        continue
    item, name, task, cpu, cuda, _ = re.split(r"\s*(?<!\\)\|\s*", line.strip(), maxsplit=5)
    if name == "-" or (which != "all" and item.startswith("*") != (which == "quick")):
        continue
    text = open(f"{here}/{name}.cu").read()
    for cheat in (True, False):
        source, case = half(text, cheat), json.loads(json.dumps(tasks[task]))
        label = name + (" cheat" if cheat else " look-alike")
        case["solutions"] = [{"task_id": case["task"]["id"], "phase": "solve", "source": source,
            "origin": {"kind": "authored", "author": label}}]
        print(json.dumps(case), file=cases)
        print(label, cpu.replace("\\", "") if cheat else "PASSED", cuda.replace("\\", "") if cheat else "PASSED", sep="\t",
            file=expected)
P
"$KM_OUT/bin/km-verify" "${engine[@]}" --device "$device" --threads "${THREADS:-2}" -o "$work/judged.jsonl" \
	"$work/cases.jsonl" 2>"$work/said" || { tail -5 "$work/said"; exit 1; }
[ -z "${JUDGED:-}" ] || cp "$work/judged.jsonl" "$JUDGED"
python3 - "$work" "$device" <<'P'
import json, sys
work, device = sys.argv[1:]
expected = {label: (cpu, cuda)[device != "cpu"].split("|") for label, cpu, cuda in
    (line.rstrip("\n").split("\t") for line in open(work + "/expected"))}
wrong = seen = 0
for case in map(json.loads, open(work + "/judged.jsonl")):
    label, finals = case["solutions"][0]["origin"]["author"], case["evaluations"]
    decisive = next((e for e in finals if e["status"] != "PASSED"), finals[-1])
    seen += 1
    if decisive["status"] not in expected[label]:
        wrong += 1
        print(f"{label}: {decisive['status']} and not {' or '.join(expected[label])}: {decisive.get('workload', 'build')}: "
            f"{decisive.get('reason', '')}")
print(f"{seen} of {len(expected)} sources judged on {device}, {wrong} not as they must be")
sys.exit(wrong > 0 or seen != len(expected) or not expected)
P
