#!/bin/bash
# decode-corpus.sh [-j JOBS] [-k FOLDER] DIR [NVCC-OPTION...]
# Compiles every .cu file below DIR to PTX for sm_90, as it is, and asks the PTX machine which kernels it can decode.
# Prints a table: files, compiled, kernels, decoded, and what the others use. -k keeps PTX, logs and answers in FOLDER.
# KM_OUT says where km-inspect was built.
set -u
jobs=1 keep=
while getopts j:k: option; do
	case $option in
	j) jobs=$OPTARG ;;
	k) keep=$OPTARG ;;
	*) exit 64 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -ge 1 ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 64; }
dir=$1
[ -d "$dir" ] || { echo "decode-corpus.sh: there is no folder $dir: bring CUDA sources, for one by" \
	"git clone https://github.com/NVIDIA/cuda-samples" >&2; exit 66; }
shift
inspect=$(realpath "${KM_OUT:-out}/libexec/kernelmosaic/km-inspect") || exit 69
work=${keep:-$(mktemp -d)}
mkdir -p "$work"
[ "$keep" ] || trap 'rm -rf "$work"' EXIT

compile() { # index, file, options: a file's own folder is searched for headers, as when it is built there
	local out=$1 file=$2
	shift 2
	timeout 300 nice nvcc -std=c++17 -arch=sm_90 -ptx -w -I"$(dirname "$file")" "$@" -o "$out.ptx" "$file" >"$out.log" 2>&1 ||
		{ rm -f "$out.ptx"; echo "$file" >"$out.failed"; }
}
export -f compile

export NVCC_OPTIONS="$*"
find "$dir" -name '*.cu' -type f | sort >"$work/files"
n=0
while read -r file; do
	n=$((n + 1))
	printf '%s/%04d\0%s\0' "$work" "$n" "$file"
done <"$work/files" | xargs -0 -r -n2 -P"$jobs" bash -c 'compile "$0" "$1" $NVCC_OPTIONS'

: >"$work/answers"
for ptx in "$work"/*.ptx; do
	[ -e "$ptx" ] && "$inspect" "$ptx" >>"$work/answers" 2>"$work/inspect.log" || true
done
sort -u -o "$work/answers" "$work/answers"
echo "files $(wc -l <"$work/files"), compiled $(find "$work" -name '*.ptx' | wc -l), kernels $(wc -l <"$work/answers")," \
	"decoded $(grep -c '	decoded$' "$work/answers")"
grep -v '	decoded$' "$work/answers" | sed -n 's/.* uses \([^ ,]*\).*/\1/p' | sort | uniq -c | sort -rn
grep -v '	decoded$' "$work/answers" | grep -v ' uses ' | cut -f3 | sort | uniq -c | sort -rn | head -20
