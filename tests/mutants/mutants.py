#!/usr/bin/env python3
"""mutants.py VERIFIED.jsonl MAX: right solutions in, cases with one wrong one each out.

Takes the shortest solution of each case that passed its final verdict, makes at most MAX of each kind of small mistake in
it, and writes a case for each. The mistakes are those that people and models make; some change nothing that a task
promises (a comparison of numbers that are never equal), so a survivor is a question, not yet a hole."""
import collections, json, random, re, sys

NUMBER = r"(?<![\w.])(\d+\.\d*(?:e-?\d+)?f?|\d+e-?\d+f?)(?![\w.])"

def scaled(m):
    return "(%s * 1.01%s)" % (m[1], "f" if m[1].endswith("f") else "")

# kind: what is looked for, what is put in its place
KINDS = {
    "bound one less": (r"(?<![<\-])<\s*([A-Za-z_]\w*)\b(?!\s*[<(>,])", lambda m: "< %s - 1" % m[1]),
    "divisor one less": (r"/\s*((?:\((?:float|double)\)\s*)?)([A-Za-z_]\w*)\b(?!\s*[\[(])",
        lambda m: "/ %s(%s - 1)" % (m[1], m[2])),
    "divisor one less when large": (r"/\s*((?:\((?:float|double)\)\s*)?)([A-Za-z_]\w*)\b(?!\s*[\[(])",
        lambda m: "/ %s(%s > 100 ? %s - 1 : %s)" % (m[1], m[2], m[2], m[2])),
    "term left out": (r"\+\s*([A-Za-z_]\w*)\s*(?=[;)])", lambda m: ""),
    "other sign": (r"(?<=[\w)\]]) - (?=[A-Za-z_(])", lambda m: " + "),
    "largest is smallest": (r"\b(fmaxf|fmax|max)\(", lambda m: {"fmaxf": "fminf(", "fmax": "fmin(", "max": "min("}[m[1]]),
    "maximum starts at zero": (r"-(?:INFINITY|FLT_MAX|CUDART_INF_F|__int_as_float\(0x7f800000\)|3\.4\d*e38f?)", lambda m: "0.0f"),
    "constant one percent off": (NUMBER, scaled),
    "sum in half precision": (r"\b(\w+) \+= ([^;]*[a-z][^;]*);",
        lambda m: "%s = __half2float(__float2half((float)(%s + (%s))));" % (m[1], m[1], m[2])),
    "ties the other way": (r"(?<![<>=!\-]) (<=|>=|<|>) (?=[A-Za-z_])(?![^;]*;[^;]*\+\+)",
        lambda m: {"<=": " < ", ">=": " > ", "<": " <= ", ">": " >= "}[m[1]]),
    "barrier left out": (r"__syncthreads\(\);", lambda m: ""),
    "mask of lanes": (r"0xffffffffu?", lambda m: "0x7fffffffu"),
}

def body_start(source):
    """Prototypes and includes stay: mistakes are made behind the first opening brace."""
    return source.find("{")

def changed(kind, source, draw, most):
    pattern, put = KINDS[kind]
    places = [m for m in re.finditer(pattern, source) if m.start() > body_start(source)]
    for m in draw.sample(places, min(most, len(places))):
        yield source[:m.start()] + put(m) + source[m.end():], source.count("\n", 0, m.start()) + 1

def with_scalar(source, name, value):
    """solve() gets another value than it was given."""
    m = re.search(r"solve\([^)]*\)\s*\{", source)
    return source[:m.end()] + " %s = %s;" % (name, value) + source[m.end():] if m else None

def mutants(case, source, draw, most):
    for kind in KINDS:
        for text, line in changed(kind, source, draw, most):
            yield kind, line, text
    for scalar in case["task"].get("scalars", []):
        for kind, value in (("scalar is one", "1"), ("scalar is zero", "0"),
                ("scalar one percent off", scalar["name"] + " * 1.01f")):
            text = with_scalar(source, scalar["name"], value)
            if text:
                yield "%s" % kind, 0, text

def main():
    most, draw = int(sys.argv[2]), random.Random(1)
    for line in open(sys.argv[1]):
        case = json.loads(line)
        passed = {e["solution_id"] for e in case["evaluations"] if e.get("final") and e["status"] == "PASSED"}
        sources = sorted((s["source"] for s in case["solutions"] if s["id"] in passed), key=len)
        if not sources:
            continue
        seen = collections.Counter()
        for kind, at, text in mutants(case, "#include <cuda_fp16.h>\n" + sources[0], draw, most):
            out = {k: case[k] for k in ("schema_version", "task", "curation", "review") if k in case}
            seen[kind] += 1
            out["solutions"] = [{"task_id": case["task"]["id"], "phase": "solve", "source": text,
                "origin": {"kind": "authored", "author": "%s|%s|%d" % (case["task"]["name"], kind, at)}}]
            print(json.dumps(out))

main()
