#!/bin/bash
# llm.c's self-checking CUDA programs on the PTX machine: usage: llmc.sh DIR [PROGRAM...], DIR being llm.c's dev/cuda.
# A copy is made in which sizes are reduced and benchmarks are cut to one turn; kernels and checks stay as they are. Each
# kernel number is one run of the program, which compares all of its block sizes with its own CPU reference.
# LLMC_T, LLMC_C: those sizes of two programs; LLMC_EDIT: a sed expression more ('s/^#define ENABLE_BF16//' for float);
# LLMC_CHECKS: options of km-run (--races); LLMC_SECONDS: for a run; LLMC_WORK: a folder to keep.
# Prints: program, kernel, agrees | differs | finding | unsupported | refused | timeout, seconds, and the first words.
set -u
[ $# -ge 1 ] || { echo "usage: $0 LLM.C/dev/cuda [PROGRAM...]" >&2; exit 64; }
[ -f "$1/common.h" ] ||
	{ echo "llmc.sh: $1 is no dev/cuda of llm.c: bring it by git clone https://github.com/karpathy/llm.c" >&2; exit 66; }
here=$(cd "$(dirname "$0")" && pwd)
out=${KM_OUT:-$here/../../out}
cuda=${CUDA:-/usr/local/cuda}
source=$1
shift
work=${LLMC_WORK:-$(mktemp -d)}
[ -n "${LLMC_WORK:-}" ] || trap 'rm -rf "$work"' EXIT
cp "$source"/*.cu "$source"/*.h "$work"

# Sizes that a kernel may assume stay multiples of what it assumes: rows of 1024 and more for those that give a thread
# or a warp several vectors.
sizes='s/int B = [0-9]+;/int B = 2;/; s/int T = 1024;/int T = 64;/; s/repeat_times = [0-9]+/repeat_times = 1/'
reduce() { # program: its own changes
	case $1 in
	softmax_forward|classifier_fused) echo 's/ T = 1024;/ T = 16;/; s/ B = 8;/ B = 2;/; s/V = 50257/V = 4099/' ;;
	crossentropy_*) echo 's/V = 50257/V = 1031/' ;;
	encoder_*) echo 's/V = 50257/V = 1031/; s/C = 768/C = 384/' ;;
	adamw) echo 's/num_parameters = 1048576/num_parameters = 65536/' ;;
	# Its kernel 6 reads whole blocks of a row, up to the block size: LLMC_T=1024 for that one.
	attention_backward)
		echo "s/int T = 64;/int T = ${LLMC_T:-128};/; s/int B = 2;/int B = 1;/; s/C = 768/C = 64/; s/NH = 12/NH = 2/" ;;
	attention_*|trimat_forward)
		echo 's/int T = 64;/int T = 128;/; s/int B = 2;/int B = 1;/; s/C = 768/C = 256/; s/NH = 12/NH = 4/' ;;
	matmul_*) echo 's/C = 768;/C = 128;/; s/OC = 768 \* 4/OC = 256/' ;;
	layernorm_backward) echo "s/T = 1024/T = 32/; s/C = 1600/C = ${LLMC_C:-1600}/" ;;
	esac
}

build() { # program
	sed -E -e "$sizes" -e "$(reduce "$1")" -e "${LLMC_EDIT:-}" "$source/$1.cu" >"$work/$1.cu"
	"$cuda/bin/nvcc" -std=c++17 -O3 --use_fast_math -arch=sm_90 -cudart shared -lineinfo -Xcompiler -fopenmp \
		-o "$work/$1" "$work/$1.cu" "$work/cublas.o" >"$work/$1.log" 2>&1
}

kernels() { # program: numbers that its switch knows
	grep -oE 'case [0-9]+:' "$source/$1.cu" | tr -dc '0-9\n' | sort -nu | awk '$1 <= 16' | grep . || echo 1
}

judge() { # status: one word and a reason, from the program's output
	local said
	said=$(grep -h '^km-run: ' "$work/errors" | grep -v 'times between events' | head -1)
	if [ "$1" = 124 ]; then echo "timeout -"
	elif grep -q 'Invalid kernel number' "$work/output"; then echo "unknown -"
	elif grep -q ' does not support ' <<<"$said"; then echo "unsupported ${said#km-run: }"
	elif grep -q 'is not possible' <<<"$said"; then echo "refused ${said#km-run: }"
	elif [ -n "$said" ]; then echo "finding ${said#km-run: }"
	elif grep -q 'cuBLAS ERROR\|cublas' "$work/output"; then echo "refused $(grep -m1 -i cublas "$work/output")"
	elif grep -q 'Mismatch' "$work/output"; then echo "differs $(grep -m1 Mismatch "$work/output")"
	elif [ "$1" != 0 ]; then echo "failed $(tail -1 "$work/output") (exit status $1)"
	elif grep -qi 'match' "$work/output"; then echo "agrees -"
	else echo "unchecked -"
	fi
}

"$cuda/bin/nvcc" -std=c++17 -O2 -arch=sm_90 -cudart shared -lineinfo -c -o "$work/cublas.o" "$here/llmc/cublas.cu" || exit 69
[ $# -gt 0 ] || set -- $(cd "$source" && ls *.cu | sed 's/\.cu$//' | grep -v nccl)
for program; do
	build "$program" || { echo "$program - not built: $(grep -m1 error "$work/$program.log")"; continue; }
	for kernel in $(kernels "$program"); do
		start=$(date +%s.%N)
		timeout "${LLMC_SECONDS:-120}" "$out/bin/km-run" ${LLMC_CHECKS:-} "$work/$program" "$kernel" \
			>"$work/output" 2>"$work/errors"
		judged=$(judge $?)
		[ "${judged%% *}" = unknown ] && continue
		printf '%-30s %2s %-12s %6.1f s  %s\n' "$program" "$kernel" "${judged%% *}" \
			"$(echo "$(date +%s.%N) - $start" | bc)" "${judged#* }"
	done
done
