#!/bin/bash
# verdicts.sh prepare FOLDER [OTHERS...]: tasks and cases of this repository's kernels, each with an oracle, in FOLDER.
# verdicts.sh run FOLDER DEVICE:           evaluates them (km-verify), on cpu or cuda.
# verdicts.sh compare FOLDER:              compares what both devices said; exit 1 at a difference without explanation.
# verdicts.sh all FOLDER [OTHERS...]:      all of these, on a machine with a GPU.
# OTHERS: a folder with other people's kernels, measured but not kept: tasks/ of spec folders (km-ingest(1)), and list, a
# line for each: task, name, file, with tabs between. A file is a solution as any other; a kernel that comes with a solve()
# of its own parameters is renamed by a #define above its text, and called by a solve() of ours below it.
# KM_OUT: where the programs are. STORE: a store to keep builds in, by default in FOLDER. ENGINE: more options.
set -eu
cd "$(dirname "$0")/../../.."
here=tests/gpu/agreement out=${KM_OUT:-out} what=${1:-} folder=${2:-}
[ -n "$folder" ] || { sed -n '2,10s/^# //p' "$here/verdicts.sh" >&2; exit 64; }
mkdir -p "$folder"
store=${STORE:-$folder/store}
engine=(--store "$store" --threads "${THREADS:-2}" ${ENGINE:-})

# spec NAME AXES INPUTS OUTPUTS WORKLOAD-AXES TOLERANCE: a task of one shape, with a C reference
spec() {
	local role
	mkdir -p "$folder/tasks/$1"
	{
		printf '{"format": "kernelmosaic-spec/1", "name": "%s", ' "$1"
		printf '"forms": ["reference_program"], "oracle": "reference_program",\n'
		printf ' "op_type": "test", "tags": [], "axes": [%s],\n "inputs": [%s],\n "outputs": [%s],\n' "$2" "$3" "$4"
		printf ' "tolerance": {"rtol": %s, "atol": %s},\n "workloads": [' "$6" "$6"
		for role in check check profile; do
			printf '{"name": "%s", "role": "%s", "axes": {%s}%s}%s' "${role}_$((++number))" $role "$5" \
				"$([ $number -ne 2 ] || printf ', "held_out": true')" "$([ $role = profile ] || printf ', ')"
		done
		printf '],\n "license": "CC-BY-4.0", "source": {"kind": "original", "author": "KernelMosaic"}}\n'
	} >"$folder/tasks/$1/task.json"
	number=0
}
number=0

# A kernel of tests/faults: what it gets is said in the comment above it (tests/unit/t_ptx_faults.c).
fault() { # right|wrong, name, run line
	local name=$2 grid block n shared x zeroed='' sum='' freed=0 file=$folder/src/$1_$2.cu
	local y='cudaMemsetAsync(y, 0, N * 4, stream);' result='cudaMemsetAsync(z, 0, 256, stream);'
	grid=$(sed -n 's/.*grid=\([0-9]*\).*/\1/p' <<<"$3") block=$(sed -n 's/.*block=\([0-9]*\).*/\1/p' <<<"$3")
	n=$(sed -n 's/.* n=\([0-9]*\).*/\1/p' <<<"$3") shared=$(sed -n 's/.*shared=\([0-9]*\).*/\1/p' <<<"$3")
	if [[ $3 == *w=zero* ]]; then
		zeroed='cudaMemsetAsync(w, 0, 256, stream);'
		result='cudaMemcpyAsync(z, w, 256, cudaMemcpyDeviceToDevice, stream);'
	fi
	[[ $3 != *freed=w* ]] || freed=1
	case $name in # bugs about an output that nobody wrote; of the right ones none needs an output of zeros but these
	sum_into_uninitialised_output | output_read_before_all_is_written | output_written_in_part | output_every_other_row | \
		stencil_in_place | block_reads_what_a_warp_writes) y='' ;;
	esac
	[ "$1" = wrong ] || [[ $3 == *y=zero* ]] || y=''
	x=$((n < 32 ? 32 : n))
	! grep -qs "^SUMMED($name)" $here/{right,wrong}.c || sum='sum_up<<<1, 1, 0, stream>>>(y, N);'
	# The file without its other kernels, and without headers that this one does not need.
	awk -v name="$name" '/^KERNEL\(/ && index($0, "KERNEL(" name ")") != 1 { skip = 1 }
		!skip { print } skip && /^}/ { skip = 0 }' "tests/faults/$1.cu" >"$file.part"
	awk 'BEGIN { word["cooperative_groups"] = word["cooperative_groups/reduce"] = word["cg"] = "[^a-z_]cg::"
			word["cub/block/block_reduce"] = "cub::"; word["cub/block/block_scan"] = "BlockScan"
			word["cuda/atomic"] = "cuda::atomic"; word["cuda/barrier"] = "cuda::barrier"
			word["cuda_bf16"] = "bfloat16"; word["cuda_fp16"] = "__half"; word["mma"] = "wmma" }
		NR == FNR { text = text "\n" $0; next }
		/^#include|^namespace cg/ { key = $0; gsub(/#include <|\.c?uh>|\.h>|>|namespace | =.*/, "", key)
			if (key in word && text !~ word[key]) next }
		{ print }' <(grep -v '^#include\|^namespace\|^//' "$file.part") "$file.part" >"$file"
	rm "$file.part"
	cat >>"$file" <<-C
		static __global__ void sum_up(float *y, int64_t n)
		{
			float sum = 0;
			for (int64_t i = 0; i < n; i++) {
				sum += y[i];
				y[i] = 0;
			}
			y[0] = sum;
		}
		extern "C" void solve(const float *x, float *y, int32_t *z, float *echo, int64_t N, cudaStream_t stream)
		{
			unsigned *w;
			(void)sum_up;
			cudaMemcpyAsync(echo, x + 1, $((x - 1)) * 4, cudaMemcpyDeviceToDevice, stream);
			cudaMemcpyAsync(echo + $((x - 1)), x, 4, cudaMemcpyDeviceToDevice, stream);
			cudaMallocAsync((void **)&w, 256, stream);
			$zeroed
			$y
			$([ $freed = 0 ] || echo 'cudaFreeAsync(w, stream);')
			$name<<<$grid, $block, ${shared:-0}, stream>>>(x, y, w, (int)N);
			$sum
			$result
			$([ $freed = 1 ] || echo 'cudaFreeAsync(w, stream);')
		}
	C
	spec "$1_$name" "{\"name\": \"N\"}, {\"name\": \"X\", \"value\": $x}, {\"name\": \"W\", \"value\": 64}" \
		'{"name": "x", "dtype": "float32", "shape": ["X"], "domain": {"distribution": "integers", "low": 0, "high": 32}}' \
		'{"name": "y", "dtype": "float32", "shape": ["N"]}, {"name": "z", "dtype": "int32", "shape": ["W"]},
		{"name": "echo", "dtype": "float32", "shape": ["X"]}' "\"N\": $n" 1e-5
	{
		cat $here/right.c
		[ "$1" = right ] || cat $here/wrong.c
		cat <<-C
			void reference(const float *x, float *y, int32_t *z, float *echo, int64_t N)
			{
				memset(y, 0, (size_t)N * 4);
				memset(z, 0, 256);
				$name(x, y, (uint32_t *)z, (int)N);
				if (${#sum} > 0) {
					y[0] = sum_of(y, (int)N);
					memset(y + 1, 0, (size_t)(N - 1) * 4);
				}
				for (int i = 0; i < $x; i++)
					echo[i] = x[(i + 1) % $x];
			}
		C
	} >"$folder/tasks/$1_$name/reference.c"
	printf '%s\t%s\t%s\t%s\n' "$1" "$1_$name" "$name" "$file"
}

# A CASE of tests/gpu/kernels.
table() { # file, name
	local file=$folder/src/table_$2.cu tolerance=1e-4
	case $2 in half_* | bfloat_* | float_fast*) tolerance=2e-2 ;; esac
	{
		sed '/#pragma once/d; /#ifdef SOLVE/,/#endif/d' tests/gpu/kernels/kernels.h
		sed '/#include "kernels.h"/d' "$1"
		cat <<-C
			extern "C" void solve(const float *x, const int32_t *k, float *y, int32_t *z, float *echo, int64_t n,
				cudaStream_t stream)
			{
				cudaMemsetAsync(y, 0, n * 4, stream);
				cudaMemsetAsync(z, 0, n * 4, stream);
				cudaMemcpyAsync(echo, x + 1, (n - 1) * 4, cudaMemcpyDeviceToDevice, stream);
				cudaMemcpyAsync(echo + n - 1, x, 4, cudaMemcpyDeviceToDevice, stream);
				$2(x, k, y, z, n, stream);
			}
		C
	} >"$file"
	spec "table_$2" '{"name": "N"}' \
		'{"name": "x", "dtype": "float32", "shape": ["N"], "domain": {"distribution": "uniform", "low": -2, "high": 2}},
		{"name": "k", "dtype": "int32", "shape": ["N"], "domain": {"distribution": "integers", "low": 0, "high": 1024}}' \
		'{"name": "y", "dtype": "float32", "shape": ["N"]}, {"name": "z", "dtype": "int32", "shape": ["N"]},
		{"name": "echo", "dtype": "float32", "shape": ["N"]}' '"N": 4096' $tolerance
	{
		cat $here/table.c
		cat <<-C
			void reference(const float *x, const int32_t *k, float *y, int32_t *z, float *echo, int64_t n)
			{
				memset(y, 0, N * 4);
				memset(z, 0, N * 4);
				$2(x, k, y, z);
				for (int i = 0; i < N; i++)
					echo[i] = x[(i + 1) % N];
				(void)n;
			}
		C
	} >"$folder/tasks/table_$2/reference.c"
	printf 'table\ttable_%s\t%s\t%s\n' "$2" "$2" "$file"
}

# The kernels that tests/gpu/attacks.c and eight.c run: y = 2 x + 1.
scaled() {
	local file
	mkdir -p "$folder/tasks/scaled"
	sed 's/cheat_affine/scaled/; s/1e-06/1e-05/' tests/cheats/tasks/affine/task.json >"$folder/tasks/scaled/task.json"
	echo 'y[i] = 2 * x[i] + 1' >"$folder/tasks/scaled/spec.math"
	for file in tests/gpu/attacks/*.cu tests/gpu/eight/*.cu; do
		printf '%s\tscaled\t%s\t%s\n' "$(basename "$(dirname "$file")")" "$(basename "$file" .cu)" "$file"
	done
}

cheats() {
	local item name task rest half file
	while IFS='|' read -r item name task rest; do
		read -r name <<<"$name"
		read -r task <<<"$task"
		[[ $item != \#* ]] && [ "$name" != - ] || continue
		for half in 1 0; do
			file=$folder/src/cheat_${name}_$half.cu
			# a solution is one plain text: what it does not do must not stand in it either
			awk -v cheat=$half '{ word = $0; gsub(/^[ \t]+|[ \t]+$/, "", word) }
				word ~ /^#if !?CHEAT$/ { keep[++depth] = (word == "#if CHEAT") == cheat; next }
				depth && word == "#else" { keep[depth] = !keep[depth]; next }
				depth && word == "#endif" { depth--; next }
				{ for (i = 1; i <= depth; i++) if (!keep[i]) next; print }' "tests/cheats/$name.cu" >"$file"
			printf 'cheats\tcheat_%s\t%s\t%s\n' "$task" "$name$([ $half = 1 ] || echo .right)" "$file"
		done
	done <tests/cheats/corpus.txt
}

others() { # folder
	local name
	name=$(basename "$1")
	sed "s/^/$name\t/" "$1/list"
}

prepare() {
	local file name line
	rm -rf "$folder/tasks" "$folder/src" "$folder/list"
	mkdir -p "$folder/tasks" "$folder/src"
	{
		for file in seeds/transcripts/*/*.cu; do
			name=$(basename "$(dirname "$file")")
			printf 'seeds\t%s\t%s\t%s\n' "$name" "$name.$(basename "$file" .cu)" "$file"
		done
		cheats
		scaled
		for file in right wrong; do
			awk '/^\/\/ RUN/ { run = $0 } /^KERNEL\(/ { gsub(/KERNEL\(|\).*/, ""); print $0 "\t" run }' tests/faults/$file.cu |
				while IFS=$'\t' read -r name line; do fault $file "$name" "$line"; done
		done
		for file in tests/gpu/kernels/*.cu; do
			for name in $(sed -n 's/^CASE(\([a-z0-9_]*\)).*/\1/p' "$file"); do table "$file" "$name"; done
		done
		for file; do others "$file"; done
	} >"$folder/list"
	"$out/bin/km-ingest" "${engine[@]}" -q -o "$folder/tasks.jsonl" seeds/specs tests/cheats/tasks "$folder/tasks" \
		$(for file; do echo "$file/tasks"; done)
	"$out/gpu/verdicts" cases "$folder/tasks.jsonl" "$folder/list" >"$folder/cases.jsonl"
	echo "$(wc -l <"$folder/cases.jsonl") kernels, $(wc -l <"$folder/tasks.jsonl") tasks"
}

evaluate() { # cpu|cuda
	"$out/bin/km-verify" "${engine[@]}" -q --device "$1" -o "$folder/$1.jsonl" "$folder/cases.jsonl" 2>"$folder/$1.said" ||
		{ tail -3 "$folder/$1.said"; exit 1; }
}

compare() {
	"$out/gpu/verdicts" compare "$store/builds" $here/known.txt "$folder/cpu.jsonl" "$folder/cuda.jsonl"
}

shift 2
case $what in
prepare) prepare "$@" ;;
run) evaluate "$1" ;;
compare) compare ;;
all) prepare "$@" && evaluate cuda && evaluate cpu && compare ;;
*) exit 64 ;;
esac
