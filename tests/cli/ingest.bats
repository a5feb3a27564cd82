# km-ingest: what it makes of good specs, and that each bad one gives one line, one reject and the right status,
# and leaves its neighbours as they are.

setup() {
	ingest=$KM_OUT/bin/km-ingest
	model=$BATS_TEST_DIRNAME/../data/ingest/row_mean_f32
	cd "$BATS_TEST_TMPDIR"
	mkdir specs
}

# A copy of the model spec under another name, with changes to its task.json as Python on t.
spec() { # name [python]
	cp -r "$model" "specs/$1"
	python3 -IS - "specs/$1/task.json" "$1" "${2:-}" <<-'END'
		import json, sys
		path, name, change = sys.argv[1:]
		t = json.load(open(path))
		t["name"] = name
		exec(change)
		json.dump(t, open(path, "w"))
	END
}

# A field of a file of JSON lines, by Python expression on l, the list of lines.
json() {
	python3 -ISc 'import json, sys
l = [json.loads(x) for x in open(sys.argv[1])]
print(eval(sys.argv[2]))' "$1" "$2"
}

# specs/bad is refused with this code and these words, in one line on standard error and one reject; a
# and z beside it go out as always. Without running the forms.
refused() { # code words
	[ -d specs/a ] || spec a
	[ -d specs/z ] || spec z
	"$ingest" --no-check --max-rejects 100% --rejects r.jsonl --stats s.json -o out.jsonl specs 2>err ||
		{ echo "status $?: $(cat err)"; return 1; }
	python3 -IS - "$@" <<-'END'
		import json, sys
		def lines(path): return [json.loads(x) for x in open(path)]
		r, out, s, err = lines("r.jsonl"), lines("out.jsonl"), lines("s.json")[0], open("err").read().split("\n")
		told = [x for x in err if x.startswith("km-ingest: specs/bad: ")]
		assert len(r) == 1 and len(told) == 1, (r, err)
		r = r[0]
		assert (r["stage"], r["line"], r["file"], r["code"]) == ("ingest", 0, "specs/bad", sys.argv[1]), r
		assert sys.argv[2] in r["message"] and told[0].endswith(r["message"]), r["message"]
		assert [x["task"]["name"] for x in out] == ["a", "z"]
		assert (s["in"], s["out"], sum(s["rejected"].values())) == (3, 2, 1)
		assert len(err) == 4, err	# the refusal, the counts, the footer, and the end
	END
}

# specs/bad made by a change of its task.json.
refused_when() { # python code words
	rm -rf specs/bad
	spec bad "$1"
	refused "$2" "$3"
}

# ---- good specs

@test "a spec becomes a case, complete, and its forms agree" {
	"$ingest" -q --store st "$model" >out.jsonl
	[ "$(json out.jsonl 'len(l), l[0]["schema_version"], l[0]["task"]["name"], len(l[0]["task"]["id"])')" = \
		"(1, '1.0', 'row_mean_f32', 32)" ]
	[ "$(json out.jsonl 'l[0]["task"]["prototype"]')" = \
		'extern "C" void solve(const float *x, const int32_t *k, float *y, int64_t N, int64_t D, float scale, cudaStream_t stream)' ]
	[ "$(json out.jsonl '[w["min_memory_bytes"] for w in l[0]["task"]["workloads"]]')" = \
		"[12, 420, 380, 262656, 67141632]" ]
	json out.jsonl 'l[0]["task"]["math_spec"]["latex"]' | grep -q 'sum_'
	[ "$(json out.jsonl 'l[0]["task"]["rtol"], l[0]["task"]["reduction"], "tolerance" in l[0]["task"]')" = "(1e-05, 'D', False)" ]
	[ "$(json out.jsonl 'list(l[0]["task"])[:3]')" = "['id', 'name', 'op_type']" ]
}

@test "cases come in order of name, whatever the order of paths, and threads do not show" {
	for name in c a b; do spec $name; done
	"$ingest" -q --store st specs/c specs/a specs/b >one.jsonl
	"$ingest" -q --store st --threads 3 specs >two.jsonl
	"$ingest" -q --store st specs/ >three.jsonl
	cmp one.jsonl two.jsonl && cmp one.jsonl three.jsonl
	[ "$(json one.jsonl '[x["task"]["name"] for x in l]')" = "['a', 'b', 'c']" ]
}

@test "a hidden prompt is not in the record, a hidden oracle is" {
	spec a 't["forms"] = ["math_spec"]; t["oracle"] = "reference_program"'
	"$ingest" -q --no-check specs >out.jsonl
	[ "$(json out.jsonl '"prompt" in l[0]["task"], "reference" in l[0]["task"], l[0]["task"]["forms"]')" = \
		"(False, True, ['math_spec'])" ]
}

@test "the id follows the contract, not the name" {
	spec a; spec b; spec c 't["workloads"][1]["axes"]["D"] = 34'; spec d 't["tolerance"]["rtol"] = 2e-5'
	"$ingest" -q --no-check specs >out.jsonl
	[ "$(json out.jsonl 'len(set(x["task"]["id"] for x in l)), l[0]["task"]["id"] == l[1]["task"]["id"]')" = "(3, True)" ]
}

@test "cases go through again as they were, with what later stages added" {
	spec a; spec b
	"$ingest" -q --no-check specs | sed 's/}$/,"x_more":{"z":1.50, "a":[ ]}}/' >cases.jsonl
	"$ingest" -q --no-check cases.jsonl >again.jsonl
	cmp cases.jsonl again.jsonl
	"$ingest" -q --no-check - <cases.jsonl | cmp cases.jsonl -
	zstd -q cases.jsonl
	"$ingest" -q --no-check -o again.jsonl.zst cases.jsonl.zst
	zstdcat again.jsonl.zst | cmp cases.jsonl -
	"$ingest" -q --store st cases.jsonl | cmp cases.jsonl -
}

@test "an exact float output may have a tolerance of 0; an integer output needs none" {
	spec a 't["tolerance"] = {"rtol": 0, "atol": 0}'
	spec b 't["outputs"][0]["dtype"] = "int32"; del t["tolerance"]; t["forms"] = ["math_spec"]; t["examples"] = []'
	rm specs/b/reference.c
	echo 'y[i] = k[i]' >specs/b/spec.math
	"$ingest" -q --no-check specs >out.jsonl
	[ "$(json out.jsonl '[(x["task"]["rtol"], x["task"]["atol"]) for x in l]')" = "[(0.0, 0.0), (0.0, 0.0)]" ]
}

# ---- task.json as text

@test "task.json: not JSON, cut, not UTF-8, a NUL byte, a key twice, a number out of range, too deep" {
	bad_text() { # file-maker words
		rm -rf specs/bad
		spec bad
		eval "$1" <"$model/task.json" >specs/bad/task.json
		refused bad_json "$2"
	}
	bad_text 'echo hello' 'task.json:1:'
	bad_text 'head -c 300' 'task.json:'
	bad_text 'sed s/reduction/r\\xffduction/' 'decode byte 0xff'
	bad_text 'sed s/reduction/r\\x00duction/' 'control character 0x0'
	bad_text 'sed "s/\"tags\"/\"name\": \"b\", \"tags\"/"' 'name'
	bad_text 'sed s/4096/1e999/' 'task.json:'
	bad_text 'sed s/4096/99999999999999999999/' 'task.json:'
	bad_text 'head -c 100000 /dev/zero | tr "\\0" "["' 'task.json:'
	bad_text 'cat; echo "{}"' 'task.json:'
}

@test "task.json: empty, missing, a folder, a FIFO, 50 MB" {
	spec bad
	: >specs/bad/task.json
	refused bad_json 'task.json:'
	rm specs/bad/task.json
	refused missing_file 'the folder has no task.json'
	mkdir specs/bad/task.json
	refused unreadable 'task.json is not a regular file'
	rmdir specs/bad/task.json
	mkfifo specs/bad/task.json
	refused unreadable 'task.json is not a regular file'
	rm specs/bad/task.json
	{ printf '{"format": "'; head -c 50000000 /dev/zero | tr '\0' x; printf '"}'; } >specs/bad/task.json
	refused too_large 'task.json has 50000014 bytes, and 1048576 are allowed'
}

# ---- fields

@test "a key that is not known is an error, with the one that was meant" {
	refused_when 't["tolerence"] = t.pop("tolerance")' bad_field 'unknown key "tolerence"; is "tolerance" meant?'
	refused_when 't["axes"][2]["vlaue"] = t["axes"][2].pop("value")' bad_field 'axes[2]: unknown key "vlaue"; is "value" meant?'
	refused_when 't["inputs"][0]["domain"]["hihg"] = 1' bad_field 'inputs[0].domain: unknown key "hihg"; is "high" meant?'
	refused_when 't["colour"] = "red"' bad_field 'unknown key "colour"'
	! grep -q meant err
}

@test "keys that are missing and types that are wrong are named by their path" {
	refused_when 'del t["license"]' bad_field 'key "license" is missing'
	refused_when 'del t["outputs"][0]["shape"]' bad_field 'outputs[0]: key "shape" is missing'
	refused_when 'del t["inputs"][1]["domain"]' bad_field 'inputs[1]: key "domain" is missing'
	refused_when 't["workloads"][0]["axes"]["N"] = "1"' bad_field 'workloads[0].axes must be an object of integers'
	refused_when 't["workloads"][0]["axes"]["N"] = 1.0' bad_field 'workloads[0].axes must be an object of integers'
	refused_when 't["scalars"][0]["value"] = None' bad_field 'scalars[0].value must be a number'
	refused_when 't["axes"] = {}' bad_field 'axes must be an array of objects'
	refused_when 't["axes"][1] = 7' bad_field 'axes[1] must be an object'
	refused_when 't["forms"] = [1]' bad_field 'forms must be an array of strings'
	refused_when 't["examples"][0]["inputs"]["x"] = ["a"]' bad_field 'examples[0].inputs must be an object of arrays of numbers'
	refused_when 't["op_type"] = ""' bad_field 'op_type must be a string that is not empty'
	refused_when 't["format"] = "kernelmosaic-spec/2"' unsupported_format 'this program reads "kernelmosaic-spec/1"'
}

@test "names" {
	refused_when 't["name"] = "Bad"' bad_name 'a-z, 0-9 and _'
	refused_when 't["name"] = "../bad"' bad_name 'a-z, 0-9 and _'
	refused_when 't["name"] = "9bad"' bad_name 'beginning with a letter'
	refused_when 't["name"] = "x" * 64' bad_name '64 characters'
	refused_when 't["axes"][0]["name"] = "solve"' bad_task "'solve' has a reserved name"
	refused_when 't["inputs"][0]["name"] = "stream"' bad_task "'stream' has a reserved name"
	refused_when 't["outputs"][0]["name"] = "double"' bad_task "'double' has a reserved name"
	refused_when 't["scalars"][0]["name"] = "no space"' bad_task "'no space' is not a name"
	refused_when 't["scalars"][0]["name"] = "x"' bad_task "the name 'x' is used twice"
}

@test "licence and source" {
	refused_when 't["license"] = "GPL-3.0"' bad_license 'license "GPL-3.0" is not one of CC-BY-4.0'
	refused_when 'del t["source"]["author"]' bad_source 'names its author'
	for license in CC0-1.0 Apache-2.0 MIT BSD-3-Clause; do spec "$(echo "$license" | tr 'A-Z.-' 'a-z__')" "t['license'] = '$license'"; done
	rm -rf specs/bad
	"$ingest" -q --no-check specs >out.jsonl
	[ "$(wc -l <out.jsonl)" -eq 6 ]
}

@test "forms, oracle and their files" {
	refused_when 't["forms"] = []' bad_forms 'forms is empty'
	refused_when 't["forms"] = ["english"]' bad_forms 'there is no form "english"'
	refused_when 't["forms"] *= 2' bad_forms '"natural_language" stands twice'
	refused_when 't["oracle"] = "natural_language"' bad_forms 'oracle "natural_language" is not'
	rm specs/bad -rf; spec bad; rm specs/bad/prompt.md
	refused missing_file 'form "natural_language" needs prompt.md'
	spec bad 2>/dev/null || true; rm -rf specs/bad; spec bad 't["forms"] = ["natural_language"]'; rm specs/bad/spec.math
	refused missing_file 'oracle "math_spec" needs spec.math'
	rm -rf specs/bad
	refused_when 't["forms"] = ["natural_language"]; del t["examples"]' missing_examples 'worked examples'
}

@test "files of the folder: empty, not UTF-8, NUL, too large, unknown, of another project" {
	file() { # python-free maker, code, words
		rm -rf specs/bad
		spec bad
		(cd specs/bad && eval "$1")
		refused "$2" "$3"
	}
	file ': >prompt.md' missing_text 'prompt.md is empty'
	file 'echo "  " >spec.math' missing_text 'spec.math is empty'
	file 'printf "one\ntwo \xc3\x28\n" >prompt.md' bad_text 'prompt.md:2: the line is not UTF-8'
	file 'printf "ab\0c" >reference.c' bad_text 'reference.c: byte 3 is NUL'
	file 'head -c 70000 /dev/zero | tr "\0" "#" >spec.math' too_large 'spec.math has 70000 bytes, and 65536 are allowed'
	file 'rm prompt.md; mkfifo prompt.md' unreadable 'prompt.md is not a regular file'
	file 'rm prompt.md; ln -s prompt.md prompt.md' unreadable 'prompt.md: '
	file 'mv spec.math spec.maths' unknown_file 'spec.maths: not a file of a spec folder; is spec.math meant?'
	file 'echo x >notes.txt' unknown_file 'notes.txt: not a file of a spec folder'
	file 'echo x >model.py' unsupported_format 'a PyTorch module is called reference.py'
	file 'rm *; echo {} >definition.json' unsupported_format 'FlashInfer Trace definitions are not read yet'
	rm -rf specs/bad; spec bad; echo x >specs/bad/README.md; echo x >specs/bad/.hidden; echo x >specs/bad/LICENSE
	"$ingest" -q --no-check specs/bad >/dev/null
}

@test "a PyTorch module among specs is refused by name" {
	spec a
	echo 'class Model: pass' >specs/bad.py
	"$ingest" --no-check --max-rejects 1 --rejects r.jsonl -o out.jsonl specs 2>err
	[ "$(json r.jsonl 'len(l), l[0]["code"], l[0]["file"]')" = "(1, 'unsupported_format', 'specs/bad.py')" ]
	[ "$(wc -l <out.jsonl)" -eq 1 ]
}

@test "workloads" {
	refused_when 'for w in t["workloads"]: w["held_out"] = w["role"] == "check"' bad_workloads 'no check workload is shown'
	refused_when 'del t["workloads"][2]["held_out"]' bad_workloads '0 check workloads are held out'
	refused_when 't["workloads"][1]["held_out"] = True' bad_workloads '2 check workloads are held out'
	refused_when 't["workloads"][3]["held_out"] = True' bad_workloads 'only a check workload can be held out'
	refused_when 'del t["workloads"][3]' bad_workloads '0 profile workloads'
	refused_when 't["workloads"][0]["role"] = "test"' bad_workloads 'workloads[0]: role "test"'
	refused_when 't["workloads"][1]["name"] = "one"' bad_task "workload 'one' is there twice"
	refused_when 'del t["workloads"][1]["axes"]["D"]' bad_task "workload 'odd': "
	refused_when 't["workloads"][1]["axes"]["X"] = 1' bad_task "workload 'odd': "
	refused_when 't["workloads"][1]["axes"]["H"] = 1' bad_task "workload 'odd': "
	refused_when 't["workloads"][1]["axes"]["D"] = -4' bad_task "workload 'odd': "
}

@test "axes" {
	refused_when 't["axes"][3]["expr"] = "D div"' bad_task '1:'
	refused_when 't["axes"][3]["expr"] = "D div 0"' bad_task "workload 'one'"
	refused_when 't["axes"][3]["expr"] = "H + 1"' bad_task "workload 'one'"
	refused_when 't["axes"][3]["value"] = 3' bad_task "axis 'H' has both"
	refused_when 't["outputs"][0]["shape"] = ["M"]' bad_task "names 'M', which is no axis"
	refused_when 't["inputs"][0]["dtype"] = "float8"' bad_task "unknown dtype 'float8'"
}

@test "tensors that do not fit in memory are refused, with their bytes" {
	refused_when 't["workloads"][4]["axes"] = {"N": 1000000, "D": 1000000}' too_large "workload 'real' needs 4000008000000 bytes"
	refused_when 't["workloads"][1]["axes"] = {"N": 65536, "D": 65536}' too_large "workload 'odd' needs 17180393472 bytes"
	refused_when 't["workloads"][4]["axes"] = {"N": 9000000000000000000, "D": 9000000000000000000}' too_large "workload 'real' needs"
}

@test "domains" {
	refused_when 't["inputs"][0]["domain"] = {"distribution": "gauss"}' bad_domain 'there is no distribution "gauss"'
	refused_when 't["inputs"][0]["domain"] = {"distribution": "normal", "low": 1}' bad_domain 'distribution "normal" has no "low"'
	refused_when 't["inputs"][0]["domain"]["low"] = 2' bad_task "'x'"
	refused_when 't["inputs"][1]["domain"]["high"] = "D +"' bad_task "'k'"
	refused_when 't["inputs"][1]["domain"]["high"] = "Q"' bad_task "'k'"
}

@test "tolerances" {
	refused_when 'del t["tolerance"]' bad_tolerance 'a float output needs a tolerance'
	refused_when 't["tolerance"]["rtol"] = -1' bad_tolerance 'rtol is -1'
	refused_when 't["tolerance"]["rtol"] = 1.5' bad_tolerance 'rtol is 1.5'
	refused_when 't["tolerance"]["atol"] = -1e-9' bad_tolerance 'atol is -1e-09'
	refused_when 't["tolerance"]["reduction"] = "D *"' bad_tolerance 'tolerance.reduction:1:'
	refused_when 't["tolerance"]["reduction"] = "Q"' bad_tolerance 'tolerance.reduction:1:1'
}

@test "a math spec that does not parse or type says line and column" {
	math() { # text words
		rm -rf specs/bad
		spec bad
		printf '%b' "$1" >specs/bad/spec.math
		refused bad_math "$2"
	}
	math '# note\ny[i] = sum(x[i,j] for j' 'spec.math:2:'
	math 'y[i] = x[i]\n' 'spec.math:1:8'
	math 'y[i] = scale * q[i]\n' 'spec.math:1:16'
	math 'm[i] = k[i]\n' 'spec.math:'
}

@test "of two specs of one name the second is refused" {
	spec a; spec z
	spec bad 't["name"] = "a"'
	"$ingest" --no-check --max-rejects 1 --rejects r.jsonl -o out.jsonl specs 2>err
	[ "$(json r.jsonl 'l[0]["code"], l[0]["file"], l[0]["message"]')" = \
		"('duplicate_name', 'specs/bad', 'the name \"a\" is taken by specs/a')" ]
	[ "$(json out.jsonl '[x["task"]["name"] for x in l]')" = "['a', 'z']" ]
}

# ---- cases

@test "bad lines among cases are refused by line, and the rest goes on" {
	spec a; spec b; spec c
	"$ingest" -q --no-check specs >good.jsonl
	{
		sed -n 1p good.jsonl
		echo 'no json'
		echo '{"schema_version":"1.0"}'
		sed -n 2p good.jsonl | sed 's/"license":"CC-BY-4.0"/"license":"none"/'
		sed -n 2p good.jsonl | sed 's/"D":33/"D":35/'
		sed -n 2p good.jsonl | sed 's/"op_type":"reduction"/"op_type":7/'
		sed -n 2p good.jsonl | sed 's/float \*y/double *y/'
		head -c 20000000 /dev/zero | tr '\0' x; echo
		sed -n 2p good.jsonl
		sed -n 3p good.jsonl | head -c -1
	} >mixed.jsonl
	"$ingest" --no-check --max-rejects 100% --rejects r.jsonl --stats s.json -o out.jsonl mixed.jsonl 2>err
	[ "$(json r.jsonl '[(x["line"], x["code"]) for x in l]')" = \
		"[(2, 'bad_json'), (3, 'bad_record'), (4, 'bad_license'), (5, 'stale_field'), (6, 'bad_record'), (7, 'stale_field'), (8, 'too_large'), (10, 'truncated')]" ]
	head -2 good.jsonl | cmp - out.jsonl
	[ "$(json s.json 'l[0]["in"], l[0]["out"], sum(l[0]["rejected"].values())')" = "(10, 2, 8)" ]
	[ "$(json r.jsonl 'max(len(x["raw"]) for x in l) < 5000')" = True ]
}

# ---- running the forms: one run of many bad specs at once, since each of them takes its time

@test "forms that disagree, wrong examples, and references that misbehave" {
	body() { # name, statements put at the start of reference()
		spec "$1"
		sed -i "s|^{|{\n\t$2|; s|^#include <stdint.h>|#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n#include <sys/socket.h>|" "specs/$1/reference.c"
	}
	spec a; spec z
	spec disagree; sed -i 's|sum / D|sum / (D + 1)|' specs/disagree/reference.c
	spec example 't["examples"][0]["outputs"]["y"] = [1.5, 6.0]'
	spec example_size 't["examples"][0]["inputs"]["x"] = [1, 2, 3]'
	spec math_fails; echo 'y[i] = scale * x[i,k[i]+D]' >specs/math_fails/spec.math
	spec syntax; echo '}' >>specs/syntax/reference.c
	spec no_function; echo 'int other;' >specs/no_function/reference.c
	body crash '*(volatile int *)8 = 1;'
	body beyond 'y[N] = 1;'
	body far_beyond 'y[N + 100000] = 1;'
	body read_beyond 'if (x[N * D] > 7) return;'
	body write_input '((float *)x)[0] = 1;'
	body exits 'exit(0);'
	body exits_3 '_exit(3);'
	body aborts 'abort();'
	body loops 'for (volatile int go = 1; go;) ;'
	body opens_file 'fgetc(fopen("/etc/passwd", "r"));'
	body opens_socket 'if (socket(AF_INET, SOCK_STREAM, 0) < 0) abort();'
	local status=0
	"$ingest" --store st --threads 4 --max-rejects 100% --rejects r.jsonl --stats s.json -o out.jsonl specs 2>err || status=$?
	[ "$status" -eq 0 ] || { cat err; return 1; }
	json r.jsonl '"\n".join(x["file"][6:] + " " + x["code"] for x in l)' | tee codes
	diff codes - <<-'END'
		aborts reference_crashed
		beyond reference_out_of_bounds
		crash reference_crashed
		disagree forms_disagree
		example example_wrong
		example_size example_wrong
		exits reference_exited
		exits_3 reference_exited
		far_beyond reference_crashed
		loops reference_timeout
		math_fails oracle_fails
		no_function reference_does_not_compile
		opens_file reference_crashed
		opens_socket reference_crashed
		read_beyond reference_out_of_bounds
		syntax reference_does_not_compile
		write_input reference_out_of_bounds
	END
	[ "$(json out.jsonl '[x["task"]["name"] for x in l]')" = "['a', 'z']" ]
	[ "$(grep -c 'km-ingest: specs/' err)" -eq 17 ]
	json r.jsonl '[x["message"] for x in l if x["code"] == "forms_disagree"][0]' | grep -q "disagree on .* of 'y' in workload"
	json r.jsonl '[x["message"] for x in l if x["file"] == "specs/example"][0]' | grep -q "example 1: 'y' says 6 at element 1"
	json r.jsonl '[x["message"] for x in l if x["file"] == "specs/math_fails"][0]' | grep -q '1:'
	[ "$(json r.jsonl 'any("\n" in x["message"] for x in l)')" = False ]
}

# ---- the run as a whole

@test "one refused spec is 65 by default, and then -o writes nothing" {
	spec a; spec bad 't["license"] = "none"'
	run "$ingest" --no-check --rejects r.jsonl -o out.jsonl specs
	[ "$status" -eq 65 ]
	[ ! -e out.jsonl ] && [ "$(wc -l <r.jsonl)" -eq 1 ]
	[[ $output == *"1 of 2 records were refused"* ]]
	run "$ingest" -q --no-check --max-rejects 40% -o out.jsonl specs
	[ "$status" -eq 65 ]
	run "$ingest" -q --no-check --max-rejects 50% -o out.jsonl specs
	[ "$status" -eq 0 ] && [ "$(wc -l <out.jsonl)" -eq 1 ]
}

@test "paths that give nothing are 66, before anything is written" {
	spec a
	for path in none specs/none '' specs/a/none.jsonl; do
		run "$ingest" --no-check -o out.jsonl specs "$path"
		[ "$status" -eq 66 ]
		[ "${#lines[@]}" -eq 1 ] && [ ! -e out.jsonl ]
	done
	mkdir empty
	run "$ingest" --no-check empty
	[ "$status" -eq 66 ]
	[[ $output == *"no spec folder"* ]]
}

@test "wrong usage is 64" {
	spec a
	for arguments in '' '--no-such specs' '--shard 0/2 specs' '--max-rejects many specs' 'specs/a/prompt.md'; do
		run "$ingest" $arguments
		[ "$status" -eq 64 ]
		[ "${#lines[@]}" -eq 1 ] || { echo "$output"; return 1; }
	done
}

@test "output that fails: a full disk is 74, a folder that is not there 73, a reader that leaves is quiet" {
	spec a
	run bash -c '"$0" -q --no-check specs >/dev/full' "$ingest"
	[ "$status" -eq 74 ]
	[[ $output == *"No space left"* ]]
	run "$ingest" -q --no-check -o none/out.jsonl specs
	[ "$status" -eq 73 ]
	for i in $(seq 40); do spec "s$i"; done
	run bash -c 'set -o pipefail; "$0" -q --no-check specs specs/a 2>err | true; cat err' "$ingest"
	! [[ $output == *"Broken pipe"* ]]
}

@test "kill -9 at any moment leaves no half output, and the same command again gives the same" {
	for i in $(seq 12); do spec "s$i"; done
	"$ingest" -q --store whole -o whole.jsonl specs
	for delay in 0.02 0.1 0.3 0.6; do
		"$ingest" -q --store st -o out.jsonl specs & local pid=$!
		sleep $delay
		kill -9 $pid 2>/dev/null || true
		wait $pid || true
		[ ! -e out.jsonl ] || cmp whole.jsonl out.jsonl
	done
	"$ingest" -q --store st -o out.jsonl specs
	cmp whole.jsonl out.jsonl
}

@test "seeds are all accepted" {
	"$ingest" -q --store st --threads 2 -o out.jsonl "$BATS_TEST_DIRNAME/../../seeds/specs"
	[ "$(wc -l <out.jsonl)" -eq "$(ls "$BATS_TEST_DIRNAME/../../seeds/specs" | wc -l)" ]
}
