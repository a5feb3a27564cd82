#!/usr/bin/env python3
"""Reads a release and says what is wrong with it: python3 read_release.py RELEASE SCHEMAS

Shares no code with the writer: the standard library, and the zstd program to decompress. Prints one line for each
problem and exits with 1, or a summary and 0.
"""
import fnmatch
import hashlib
import json
import os
import re
import struct
import subprocess
import sys

CONFIGS = ["tasks", "solutions", "sft_trajectories", "sft_direct"]
SPLITS = ["train", "validation", "test"]
LICENSES = {"CC-BY-4.0", "CC0-1.0", "Apache-2.0", "MIT", "BSD-3-Clause"}
SIDE_FILES = {"MANIFEST.json", "BUILD.json"}
STATUSES = {"PASSED", "COMPILE_ERROR", "RUNTIME_ERROR", "INCORRECT_SHAPE", "INCORRECT_NUMERICAL", "TIMEOUT",
            "UNSUPPORTED", "SUSPICIOUS"}

problems = []


def wrong(where, what):
    problems.append(f"{where}: {what}")


def need(condition, where, what):
    if not condition:
        wrong(where, what)
    return condition


def no_duplicates(pairs):
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError("a key stands twice")
    return dict(pairs)


def parse(text):
    def refuse(word):
        raise ValueError(f"{word} is no JSON number")
    return json.loads(text, object_pairs_hook=no_duplicates, parse_constant=refuse)


# ---- JSON Schema, as much of it as schemas/ uses

TYPES = {"object": dict, "array": list, "string": str, "null": type(None)}


def has_type(value, name):
    if name == "boolean":
        return isinstance(value, bool)
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def validate(value, schema, root, path):
    """Yields what is wrong. Fields that the schema does not know are wrong too: a release has none."""
    if "$ref" in schema:
        yield from validate(value, root["$defs"][schema["$ref"].rsplit("/", 1)[1]], root, path)
        return
    if "anyOf" in schema:
        tries = [list(validate(value, s, root, path)) for s in schema["anyOf"]]
        if all(tries):
            yield tries[0][0]
        return
    types = schema.get("type")
    if types is not None:
        types = types if isinstance(types, list) else [types]
        if not any(has_type(value, t) for t in types):
            yield f"{path} is not {' or '.join(types)}"
            return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path} is {value!r}"
    if isinstance(value, str):
        if len(value) < schema.get("minLength", 0):
            yield f"{path} is empty"
        if "pattern" in schema and not re.search(schema["pattern"], value):
            yield f"{path} is {value!r}"
    if has_type(value, "number"):
        if value < schema.get("minimum", value) or value > schema.get("maximum", value):
            yield f"{path} is out of range"
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield f"{path} has no item"
        for i, item in enumerate(value):
            yield from validate(item, schema.get("items", {}), root, f"{path}[{i}]")
    if isinstance(value, dict) and "properties" in schema:
        for key in schema.get("required", []):
            if key not in value:
                yield f"{path}.{key} is missing"
        for key, item in value.items():
            if key not in schema["properties"]:
                yield f"{path}.{key} is unknown"
            else:
                yield from validate(item, schema["properties"][key], root, f"{path}.{key}")
    elif isinstance(value, dict) and isinstance(schema.get("additionalProperties"), dict):
        for key, item in value.items():
            yield from validate(item, schema["additionalProperties"], root, f"{path}.{key}")


# ---- files and the manifest

def decompress(path):
    if not path.endswith(".zst"):
        with open(path, "rb") as f:
            return f.read()
    run = subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if run.returncode:
        raise ValueError(run.stderr.decode(errors="replace").strip())
    return run.stdout


def check_file(root, entry):
    """The uncompressed bytes, or None."""
    path = os.path.join(root, entry["path"])
    try:
        with open(path, "rb") as f:
            raw = f.read()
        need(len(raw) == entry["bytes"], entry["path"], f"has {len(raw)} bytes, not {entry['bytes']}")
        need(hashlib.sha256(raw).hexdigest() == entry["sha256"], entry["path"], "is not the file of the manifest")
        content = decompress(path)
    except (OSError, ValueError) as error:
        wrong(entry["path"], str(error))
        return None
    need(len(content) == entry["content_bytes"], entry["path"], "its content has another size")
    need(hashlib.sha256(content).hexdigest() == entry["content_sha256"], entry["path"], "its content is another")
    if entry["config"]:
        need(content.endswith(b"\n"), entry["path"], "does not end with a newline")
        need(content.count(b"\n") == entry["records"], entry["path"], f"does not hold {entry['records']} records")
    return content


def content_hash(files):
    digest = hashlib.sha256()
    for entry in files:
        for text in (entry["path"].encode(), entry["content_sha256"].encode()):
            digest.update(struct.pack("<Q", len(text)) + text)
    return digest.hexdigest()


def check_shard_names(files):
    seen = {}
    for entry in files:
        if not entry["config"]:
            continue
        match = re.fullmatch(r"(\w+)/(\w+)-(\d{5})-of-(\d{5})\.jsonl\.zst", entry["path"])
        if need(match, entry["path"], "is no name of a shard"):
            config, split, number, count = match.groups()
            need((config, split) == (entry["config"], entry["split"]), entry["path"], "says another config or split")
            need(config in CONFIGS and split in SPLITS, entry["path"], "is of an unknown config or split")
            seen.setdefault((config, split, int(count)), []).append(int(number))
    for (config, split, count), numbers in seen.items():
        need(sorted(numbers) == list(range(count)), f"{config}/{split}", f"shards {sorted(numbers)} of {count}")
        need(sum(1 for c, s, _ in seen if (c, s) == (config, split)) == 1, f"{config}/{split}", "two numbers of shards")


def read_files(root, manifest, schemas):
    """{config: [(split, row)]} in the order of the files, and the card's text."""
    rows = {config: [] for config in CONFIGS}
    card = ""
    listed = set()
    for entry in manifest["files"]:
        need(entry["path"] not in listed, entry["path"], "is listed twice")
        listed.add(entry["path"])
        content = check_file(root, entry)
        if content is None:
            continue
        if not entry["config"]:
            card = content.decode() if entry["path"] == "README.md" else card
            continue
        for number, line in enumerate(content.decode().splitlines(), 1):
            where = f"{entry['path']}:{number}"
            try:
                row = parse(line)
            except ValueError as error:
                wrong(where, str(error))
                continue
            schema = schemas[entry["config"]]
            for problem in validate(row, schema, schema, entry["config"]):
                wrong(where, problem)
            rows[entry["config"]].append((entry["split"], row))
    there = {os.path.relpath(os.path.join(folder, name), root)
             for folder, _, names in os.walk(root) for name in names}
    for path in sorted(there - listed - SIDE_FILES):
        wrong(path, "is not in the manifest")
    return rows, card


# ---- rows

def check_ids(rows):
    for config, pairs in rows.items():
        ids = [row["id"] for _, row in pairs]
        need(len(set(ids)) == len(ids), config, "an id stands twice")
        tasks = [row["id" if config == "tasks" else "task_id"] for _, row in pairs]
        for split in SPLITS:
            part = [t for (s, _), t in zip(pairs, tasks) if s == split]
            need(part == sorted(part), f"{config}/{split}", "is not in order of task id")


def check_splits(rows):
    split_of = {}
    for config, pairs in rows.items():
        for split, row in pairs:
            task = row["id" if config == "tasks" else "task_id"]
            need(split_of.setdefault(task, split) == split, config, f"task {task} lies in two splits")
    tasks = {row["id"] for _, row in rows["tasks"]}
    need(set(split_of) == tasks, "tasks", "rows of other configs are of tasks that are not there")


def is_resolved(solution):
    final = [e for e in solution["evaluations"] if e["final"]]
    return bool(final) and all(e["status"] == "PASSED" for e in solution["evaluations"])


def check_solutions(rows):
    for _, s in rows["solutions"]:
        where = f"solution {s['id']}"
        need(hashlib.sha256(s["source"].encode()).hexdigest() == s["source_sha256"], where, "its hash is another")
        need(s["resolved"] == is_resolved(s), where, "resolved is not what its evaluations say")
        failed = [e["status"] for e in s["evaluations"] if e["status"] != "PASSED"]
        need((s["status"] == "PASSED") == (bool(s["evaluations"]) and not failed), where, "status is not theirs")
        need(all(e["status"] in STATUSES for e in s["evaluations"]), where, "an unknown status")
        pairs = [(e["id"], e["final"]) for e in s["evaluations"]]
        need(len(set(pairs)) == len(pairs), where, "an evaluation stands twice")
        need(not any(e["held_out"] and not e["final"] for e in s["evaluations"]), where, "a held-out workload was seen")


def check_tasks(rows, solutions):
    finals = {s["task_id"]: s for s in solutions.values() if s["final"]}
    need(len(finals) == sum(s["final"] for s in solutions.values()), "solutions", "a task has two final solutions")
    for _, t in rows["tasks"]:
        final = finals.get(t["id"])
        where = f"task {t['name']}"
        need(t["final_solution_id"] == (final and final["id"]), where, "names another final solution")
        need(t["resolved"] == bool(final and final["resolved"]), where, "resolved is not that of its solution")
        need(t["review"]["status"] in ("accepted", "unreviewed"), where, "was not accepted")
        names = [w["name"] for w in t["workloads"]]
        need(len(set(names)) == len(names), where, "two workloads of one name")
        shown = {"natural_language": t["prompt"], "reference_program": t["reference"], "math_spec": t["math_spec"]}
        need(all(shown[form] for form in t["forms"]), where, "shows a form that is not there")
        need(shown[t["oracle"]], where, "has no oracle")
        for workload in {e["workload"] for s in solutions.values() if s["task_id"] == t["id"]
                         for e in s["evaluations"] if e["workload"]}:
            need(workload in names, where, f"was run on {workload}, which is none of its workloads")


def check_licenses(rows):
    for config, pairs in rows.items():
        for _, row in pairs:
            parts = set(row["license"].split(" AND "))
            need(parts and parts <= LICENSES, f"{config} {row['id']}", f"licence {row['license']!r}")


# ---- conversations

def check_messages(where, messages, tools):
    """What TRL and chat templates rely on."""
    roles = [m["role"] for m in messages]
    need(set(roles) <= {"system", "user", "assistant", "tool"}, where, f"roles {set(roles)}")
    need("system" not in roles[1:], where, "a system message that is not the first")
    need("assistant" in roles and roles[0] in ("system", "user"), where, "no conversation")
    open_calls, used = [], set()
    for i, m in enumerate(messages):
        if m["role"] == "tool":
            if need(open_calls, where, f"message {i} answers no call"):
                need(m.get("tool_call_id") == open_calls.pop(0), where, f"message {i} answers another call")
            continue
        need(not open_calls, where, f"message {i} comes before calls were answered")
        need("tool_call_id" not in m, where, f"message {i} is no answer")
        need(m["role"] == "assistant" or "tool_calls" not in m, where, f"message {i} may not call")
        need(m["role"] == "assistant" or not m["train"], where, f"message {i} is not for training")
        for call in m.get("tool_calls", []):
            need(call["id"] not in used, where, f"call id {call['id']} stands twice")
            used.add(call["id"])
            open_calls.append(call["id"])
            need(call["function"]["name"] in tools, where, f"tool {call['function']['name']} was not offered")
            need(isinstance(call["function"]["arguments"], dict), where, "arguments are no object")
    need(not open_calls, where, "a call is not answered")


def check_learnt_sources(where, t):
    """A source that went wrong in any turn is learnt from in none."""
    calls, bad = {}, set()
    for turn in t["turns"]:
        index = turn["message_index"]
        number = calls[index] = calls.get(index, -1) + 1
        of_message = t["messages"][index].get("tool_calls", []) if index < len(t["messages"]) else []
        went_wrong = turn["status"] != "PASSED" or turn["staged_error"] or turn["outcome"] in ("failed", "regressed")
        if went_wrong and number < len(of_message):
            bad.add(of_message[number]["function"]["arguments"].get("source"))
    for i, m in enumerate(t["messages"]):
        sources = {call["function"]["arguments"].get("source") for call in m.get("tool_calls", [])}
        need(not (m["train"] and sources & bad), where, f"message {i} trains a source that went wrong in another turn")


def check_trajectories(rows, solutions):
    for _, t in rows["sft_trajectories"]:
        where = f"sft_trajectories {t['id']}"
        tools = {tool["function"]["name"] for tool in t["tools"]}
        check_messages(where, t["messages"], tools)
        need(len(t["phases"]) == len(t["trajectory_ids"]), where, "phases do not fit trajectories")
        need(t["trajectory_ids"][-1] == t["id"], where, "is not its last trajectory")
        for turn in t["turns"]:
            index = turn["message_index"]
            if not need(index < len(t["messages"]), where, f"turn at message {index}"):
                continue
            message = t["messages"][index]
            need(message["role"] == "assistant", where, f"turn at message {index}, which is no assistant's")
            bad = turn["status"] != "PASSED" or turn["staged_error"] or turn["outcome"] in ("failed", "regressed")
            need(not (bad and message["train"]), where, f"message {index} trains a turn that went wrong")
            need(turn["solution_id"] is None or turn["solution_id"] in solutions, where, "a turn's solution is missing")
        check_learnt_sources(where, t)
        with_turn = {turn["message_index"] for turn in t["turns"]}
        need(all(i in with_turn for i, m in enumerate(t["messages"]) if m["train"]), where, "trains without a verdict")
        solution = solutions.get(t["solution_id"])
        need(t["solution_id"] is None or solution, where, "its solution is missing")
        need(t["resolved"] == bool(solution and solution["resolved"]), where, "resolved is not that of its solution")
        if t["final_status"] not in (None, "PASSED"):
            handed_in = [m for m in t["messages"] for c in m.get("tool_calls", []) if c["function"]["name"] == "submit"]
            need(not handed_in[-1]["train"], where, "trains an answer that failed")


def check_direct(rows, solutions, tasks):
    for _, d in rows["sft_direct"]:
        where = f"sft_direct {d['id']}"
        check_messages(where, d["messages"], set())
        solution = solutions.get(d["solution_id"])
        if need(solution, where, "its solution is missing"):
            need(solution["resolved"] and d["resolved"], where, "is not resolved")
            need(solution["final"], where, "is not the final solution")
            answer = d["messages"][-1]["content"]
            need(answer == f"```cuda\n{solution['source'].rstrip(chr(10))}\n```\n" or
                 answer == f"```cuda\n{solution['source']}```\n", where, "the answer is another source")
            need(tasks[d["task_id"]]["prototype"] in d["messages"][0]["content"], where, "does not show the prototype")
    need({d["task_id"] for _, d in rows["sft_direct"]} == {t for t in tasks if tasks[t]["resolved"]}, "sft_direct",
         "is not the set of resolved tasks")


# ---- the card

def front_matter(card):
    """Keys of the YAML head with the lines that belong to each; enough for what a card holds."""
    lines = card.split("\n")
    if not need(lines[0] == "---" and "---" in lines[1:], "README.md", "has no front matter"):
        return {}
    keys, key = {}, None
    for line in lines[1:lines.index("---", 1)]:
        match = re.fullmatch(r"(\w+):(.*)", line)
        if match:
            key = match.group(1)
            keys[key] = [match.group(2).strip()] if match.group(2).strip() else []
        elif need(key and re.fullmatch(r" *- .+|  +.+", line), "README.md", f"line {line!r} is no YAML that I know"):
            keys[key].append(line)
    return keys


def check_features(lines, rows, schemas):
    """The columns that the card declares are those of the schemas, in order."""
    columns, config = {}, None
    for line in lines:
        name, column = re.match(r"- config_name: (\w+)$", line), re.match(r"  - name: (\w+)$", line)
        if name:
            config = name.group(1)
            columns[config] = []
        elif column:
            columns[config].append(column.group(1))
    for config in CONFIGS:
        wanted = list(schemas[config]["properties"]) if rows[config] else None
        need(columns.get(config) == wanted, "README.md", f"the columns of {config} are not those of its schema")


def check_card(card, manifest, rows, schemas):
    head = front_matter(card)
    for key in ("license", "pretty_name", "language", "task_categories", "tags", "size_categories", "configs",
                "dataset_info"):
        need(head.get(key), "README.md", f"no {key} in the front matter")
    need("- cc-by-4.0" in head.get("license", []) or "- apache-2.0" in head.get("license", []), "README.md", "licences")
    shards = [entry["path"] for entry in manifest["files"] if entry["config"]]
    config = split = None
    covered, names = [], []
    for line in head.get("configs", []):
        name, other, path = (re.match(pattern, line) for pattern in
                             (r"- config_name: (\w+)$", r"  - split: (\w+)$", r"    path: (\S+)$"))
        if name:
            config = name.group(1)
            names.append(config)
        elif other:
            split = other.group(1)
        elif path:
            found = fnmatch.filter(shards, path.group(1))
            need(found, "README.md", f"{path.group(1)} is no file")
            need(all(f.startswith(f"{config}/{split}-") for f in found), "README.md", f"{path.group(1)} mixes splits")
            covered += found
    need(sorted(covered) == sorted(shards), "README.md", "its configs do not name every shard once")
    need(names == [c for c in CONFIGS if rows[c]], "README.md", f"its configs are {names}")
    check_features(head.get("dataset_info", []), rows, schemas)
    for _, task in rows["tasks"]:
        need(f"| {task['name']} |" in card, "README.md", f"does not list {task['name']}")


def check_counts(manifest, rows):
    counts = manifest["counts"]
    for config in CONFIGS:
        need(counts[config] == len(rows[config]), "MANIFEST.json", f"counts {counts[config]} {config}")
    need(counts["resolved"] == sum(t["resolved"] for _, t in rows["tasks"]), "MANIFEST.json", "counts other resolved")
    protocols = sorted({e["protocol"] for _, s in rows["solutions"] for e in s["evaluations"]})
    need(manifest["protocols"]["verdict"] == protocols, "MANIFEST.json", f"protocols are {protocols}")


def load(path, schema):
    with open(path, encoding="utf-8") as f:
        value = parse(f.read())
    for problem in validate(value, schema, schema, os.path.basename(path)):
        wrong(os.path.basename(path), problem)
    return value


def main():
    root, schema_folder = sys.argv[1:]
    schemas = {}
    for name in CONFIGS + ["manifest", "build"]:
        with open(os.path.join(schema_folder, f"{name}.json"), encoding="utf-8") as f:
            schemas[name] = json.load(f)
    try:
        manifest = load(os.path.join(root, "MANIFEST.json"), schemas["manifest"])
        load(os.path.join(root, "BUILD.json"), schemas["build"])
        check_shard_names(manifest["files"])
        need(content_hash(manifest["files"]) == manifest["content_sha256"], "MANIFEST.json", "content_sha256")
        rows, card = read_files(root, manifest, schemas)
        solutions = {s["id"]: s for _, s in rows["solutions"]}
        tasks = {t["id"]: t for _, t in rows["tasks"]}
        check_ids(rows)
        check_splits(rows)
        check_solutions(rows)
        check_tasks(rows, solutions)
        check_licenses(rows)
        check_trajectories(rows, solutions)
        check_direct(rows, solutions, tasks)
        check_card(card, manifest, rows, schemas)
        check_counts(manifest, rows)
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        # What was found wrong before explains it, if anything does.
        wrong(type(error).__name__, str(error))
    for problem in problems[:50]:
        print(problem)
    if problems:
        print(f"{len(problems)} problems")
        return 1
    print(", ".join(f"{len(rows[c])} {c}" for c in CONFIGS) + ": all good")
    return 0


if __name__ == "__main__":
    sys.exit(main())
