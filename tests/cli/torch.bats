# PyTorch modules as references: run in double by a Python in the sandbox, whatever they do.

setup_file() {
	bats_require_minimum_version 1.5.0
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	export PATH="$KM_OUT/bin:$PATH" data=tests/data/torch
}

setup() {
	W="$BATS_TEST_TMPDIR"
}

# spec NAME [FORM]: a folder of a small task, whose reference.py comes on standard input.
spec() {
	mkdir -p "$W/specs/$1"
	cat >"$W/specs/$1/reference.py"
	cat >"$W/specs/$1/task.json" <<-END
	{"format": "kernelmosaic-spec/1", "name": "$1", "forms": ["${2:-reference_program}"], "oracle": "reference_program",
	 "op_type": "elementwise", "axes": [{"name": "N"}, {"name": "D"}],
	 "inputs": [{"name": "x", "dtype": "float32", "shape": ["N", "D"], "domain": {"distribution": "normal"}}],
	 "outputs": [{"name": "y", "dtype": "float32", "shape": ["N", "D"]}], "tolerance": {"rtol": 1e-4, "atol": 1e-4},
	 "workloads": [{"name": "odd", "role": "check", "axes": {"N": 3, "D": 5}},
	  {"name": "held", "role": "check", "axes": {"N": 2, "D": 9}, "held_out": true},
	  {"name": "shape", "role": "profile", "axes": {"N": 4, "D": 8}},
	  {"name": "real", "role": "bench", "axes": {"N": 4, "D": 8}}], "license": "CC-BY-4.0",
	 "source": {"kind": "original", "author": "KernelMosaic"}}
	END
}

# module: the head of a reference.py, then the lines of forward.
module() {
	printf 'import os, signal, time, torch\nclass Model(torch.nn.Module):\n    def forward(self, %s):\n' "$1"
	sed 's/^/        /'
}

@test "a task with a PyTorch oracle is solved and verified on held-out workloads" {
	km-ingest -q --store "$W/store" "$data/specs" >"$W/ingest"
	km-review -q --default unreviewed "$W/ingest" |
		km-solve -q --store "$W/store" --transcripts "$data/transcripts" --guidance '' |
		km-verify -q --store "$W/store" >"$W/verify"
	python3 - "$W/verify" <<'END'
import json, sys
case = json.loads(open(sys.argv[1]).readline())
assert case["task"]["reference"]["language"] == "pytorch"
prompt = case["trajectories"][0]["messages"][1]["content"]
assert "```python\nimport torch" in prompt, prompt
finals = [e for e in case["evaluations"] if e.get("final")]
assert {e["workload"] for e in finals} == {"odd", "held", "shape"} or any(e["held_out"] for e in finals), finals
assert all(e["status"] == "PASSED" for e in finals), finals
assert any(e["max_absolute_error"] > 0 for e in finals), finals
END
}

@test "a math spec and a PyTorch module agree, or the task is refused" {
	module 'x' <<<'return torch.relu(x) * 0.5' | spec same
	module 'x' <<<'return torch.relu(x)' | spec other
	echo 'y[i,j] = 0.5 * max(x[i,j], 0)' | tee "$W/specs/same/spec.math" >"$W/specs/other/spec.math"
	run --separate-stderr km-ingest -q --max-rejects 100% --store "$W/store" --rejects "$W/rejects" "$W/specs"
	[ "$status" = 0 ]
	[ "${#lines[@]}" = 1 ] || { echo "$output $stderr"; return 1; }
	[[ $output == *'"name":"same"'* ]]
	[ "${#stderr_lines[@]}" = 1 ]
	[[ $stderr == *"other: spec.math and reference.py disagree on "*" elements of 'y'"* ]]
	grep -q '"code":"forms_disagree"' "$W/rejects"
}

@test "modules that are wrong or hostile are refused one by one, each with its code" {
	spec syntax <<<'class Model(:'
	spec no_model <<<'import torch'
	module 'x, q' <<<'return x' | spec parameter
	module 'x' <<<'return x.transpose(0, 1)' | spec shape
	module 'x' <<<'return x, x' | spec count
	module 'x' <<<'raise ValueError("none of it")' | spec raises
	module 'x' <<<'while True: pass' | spec endless
	module 'x' <<<$'signal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(1000)' | spec sleeps
	module 'x' <<<'os._exit(0)' | spec exits
	module 'x' <<<'return torch.tensor(float(open("/etc/shadow").read()))' | spec reads
	module 'x' <<<$'import socket\nsocket.create_connection(("127.0.0.1", 22))' | spec connects
	module 'x' <<<'return 2 * x + 0 * len(str(vars(torch)))' | spec good
	run --separate-stderr km-ingest -q --max-rejects 100% --threads 4 --store "$W/store" --rejects "$W/rejects" "$W/specs"
	[ "$status" = 0 ]
	[[ $output == *'"name":"good"'* ]]
	[ "${#lines[@]}" = 1 ] || { echo "$output $stderr"; return 1; }
	python3 - "$W/rejects" <<'END'
import json, sys
got = {}
for line in open(sys.argv[1]):
    row = json.loads(line)
    got[row["file"].rsplit("/", 1)[1]] = row["code"], row["message"]
want = {
    "syntax": ("reference_does_not_compile", "SyntaxError"),
    "no_model": ("reference_does_not_compile", "class Model"),
    "parameter": ("reference_does_not_compile", "forward's parameter q is no input, axis or scalar"),
    "shape": ("reference_crashed", "has the shape [5, 3] where the task has [3, 5]"),
    "count": ("reference_crashed", "returns 2 values"),
    "raises": ("reference_crashed", "ValueError: none of it (line 4)"),
    "endless": ("reference_timeout", "does not return"),
    "sleeps": ("reference_timeout", "does not return"),
    "exits": ("reference_exited", "instead of returning"),
    "reads": ("reference_crashed", "FileNotFoundError"),
    "connects": ("reference_crashed", ""),
}
for name, (code, words) in want.items():
    assert got[name][0] == code and words in got[name][1], (name, got[name])
assert len(got) == len(want), got
END
}

@test "a module that kills the Python of all fails alone" {
	module 'x' <<<$'os.kill(os.getppid(), 9)\ntime.sleep(5)' | spec kills
	for name in a b c; do
		module 'x' <<<$'time.sleep(0.3)\nreturn x * 2' | spec $name
	done
	run --separate-stderr km-ingest -q --max-rejects 100% --threads 4 --store "$W/store" "$W/specs"
	[ "$status" = 0 ]
	[ "${#lines[@]}" = 3 ] || { echo "$output $stderr"; return 1; }
	[ "${#stderr_lines[@]}" = 1 ]
	[[ $stderr == *"kills: reference.py ended the Python that ran it, twice" ]]
}

@test "without torch a task that needs it is 69 with one line that says what to install" {
	[ "$(km_sandbox_level)" = namespaces ] || skip "no level namespaces here"
	mkdir "$W/empty"
	run --separate-stderr bwrap --dev-bind / / --ro-bind "$W/empty" /usr/lib/python3/dist-packages/torch -- \
		km-ingest -q --store "$W/store" "$data/specs"
	[ "$status" = 69 ] || { echo "$status $stderr"; return 1; }
	[ "${#stderr_lines[@]}" = 1 ]
	[[ $stderr == *"has no torch: install python3-torch"* ]]
	run --separate-stderr km-ingest -q --store "$W/store" --python /nowhere/python3 "$data/specs"
	[ "$status" = 69 ] || { echo "$status $stderr"; return 1; }
	[ "${#stderr_lines[@]}" = 1 ]
}

km_sandbox_level() { "$KM_OUT/libexec/kernelmosaic/km-sandbox" --level 2>/dev/null; }
