#!/bin/bash
# table.sh VERIFIED.jsonl[.zst] [MAX]: makes small mistakes in solutions that passed (mutants.py) and judges each finally, on
# held-out workloads too. Prints how many of each kind were made and how many passed, then those that passed, with their
# line: each is a question to its task's workloads, domains and tolerance. KM_OUT: where the programs are. THREADS, ENGINE:
# as for verdicts.sh of tests/cheats. Exit 1 when nothing could be judged.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case $1 in *.zst) zstd -dcq "$1" >"$work/verified.jsonl" ;; *) cp "$1" "$work/verified.jsonl" ;; esac
python3 "$here/mutants.py" "$work/verified.jsonl" "${2:-1}" >"$work/mutants.jsonl"
"$KM_OUT/bin/km-verify" --store "$work/store" -q ${ENGINE:-} --threads "${THREADS:-2}" -o "$work/judged.jsonl" \
	"$work/mutants.jsonl" 2>"$work/said" || { tail -5 "$work/said"; exit 1; }
python3 - "$work/judged.jsonl" <<'P'
import collections, json, sys
made, passed, survivors = collections.Counter(), collections.Counter(), []
for case in map(json.loads, open(sys.argv[1])):
    task, kind, line = case["solutions"][0]["origin"]["author"].split("|")
    finals = [e for e in case["evaluations"] if e.get("final")]
    if any(e["status"] == "COMPILE_ERROR" for e in finals):
        continue
    made[kind] += 1
    if finals and all(e["status"] == "PASSED" for e in finals):
        passed[kind] += 1
        survivors.append((kind, task, line, case["solutions"][0]["source"].split("\n")[max(0, int(line) - 1)].strip()[:100]))
for kind in sorted(made):
    print("%-30s %3d made %3d passed" % (kind, made[kind], passed[kind]))
for survivor in sorted(survivors):
    print(" | ".join(survivor))
sys.exit(not made)
P
