#!/bin/bash
# agreement.sh [-j JOBS] [-o FOLDER] GROUP=PATH...
# Runs programs on a GPU and on the PTX machine (km-run), the same binaries, and compares what they leave bit for bit.
# PATH is a folder of solutions (files that export solve()), or of kernels (files that include kernels.h).
# A line for each: GROUP, name, same|close|different|status, figures, what explains a difference. Then the counts.
# KM_OUT says where km-run was built; NVCC_OPTIONS are added to the command line of nvcc.
set -u
here=$(cd "$(dirname "$0")" && pwd)
jobs=1 folder=
while getopts j:o: option; do
	case $option in
	j) jobs=$OPTARG ;;
	o) folder=$OPTARG ;;
	*) exit 64 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -ge 1 ] || { sed -n '2,6s/^# //p' "$0" >&2; exit 64; }
work=${folder:-$(mktemp -d)}
mkdir -p "$work"
work=$(cd "$work" && pwd)
km_run=$(realpath "${KM_OUT:-out}/bin/km-run") || exit 69
${CC:-cc} -O2 -o "$work/compare" "$here/compare.c" -lm || exit 69
: >"$work/not_built"
export here work km_run

build() { # group, file: a program, and the PTX in it
	local group=$1 file=$2 name mode=solution
	name=$(basename "$file" .cu | tr -c 'A-Za-z0-9_\n' _)
	name=${group}__$(printf %s "$file" | md5sum | head -c 6)_$name
	grep -q '"kernels.h"' "$file" && mode=kernels
	mkdir -p "$work/$name.keep"
	if timeout 300 nvcc -std=c++17 -arch=sm_90 -O2 -w -lineinfo -cudart shared ${NVCC_OPTIONS:-} \
		-keep -keep-dir "$work/$name.keep" \
		-DSOLUTION="\"$file\"" -DKERNELS="\"$file\"" -I"$(dirname "$file")" -o "$work/$name" "$here/$mode.cu" \
		>"$work/$name.log" 2>&1; then
		cat "$work/$name.keep"/*.ptx >"$work/$name.ptx" 2>/dev/null
		if [ $mode = kernels ]; then
			sed -n 's/^CASE(\([a-z0-9_]*\)).*/\1/p' "$file" | sed "s|^|$group\t$name\t|"
		else
			printf '%s\t%s\t-\t%s\n' "$group" "$name" "$file"
		fi
	else
		printf '%s\t%s\n' "$group" "$file" >>"$work/not_built"
	fi
	rm -rf "$work/$name.keep"
}

classes() { # instruction classes whose results are not defined to the last bit
	local ptx=$1
	grep -qE '\.approx|div\.full' "$ptx" && printf ' approximate'
	grep -qE '(atom|red)[a-z.:_]*\.add[a-z.:]*\.(f|bf)' "$ptx" && printf ' float_atomics'
	grep -qE '(mma|wgmma)' "$ptx" && printf ' tensor_cores'
	grep -qE '(atom|red)[a-z.:_]*\.(cas|exch)' "$ptx" && printf ' cas_or_exch'
	true
}

run() { # group, program, case or -, file
	local group=$1 program=$2 case=$3 id=$2 arguments=
	[ "$case" = - ] || { id=${program}__$case; arguments=$case; }
	timeout 60 "$work/$program" $arguments "$work/$id.gpu" >"$work/$id.gpu.txt" 2>&1
	echo "exit $?" >>"$work/$id.gpu.txt"
	timeout 120 "$km_run" "$work/$program" $arguments "$work/$id.cpu" >"$work/$id.cpu.txt" 2>&1
	echo "exit $?" >>"$work/$id.cpu.txt"
	printf '%s\t%s\t%s\t%s\t%s\n' "$group" "$id" "$("$work/compare" "$work/$id.gpu" "$work/$id.cpu")" \
		"$(classes "$work/$program.ptx")" \
		"$(grep -hm1 -E 'km-run|block \(|nsupported' "$work/$id.cpu.txt" | cut -c1-200)"
	rm -f "$work/$id.gpu" "$work/$id.cpu"
}
export -f build classes run

for part in "$@"; do
	find "${part#*=}" -name '*.cu' -type f -print0 | sort -z | while IFS= read -r -d '' file; do
		printf '%s\0%s\0' "${part%%=*}" "$(realpath "$file")"
	done
done | xargs -0 -r -n2 -P"$jobs" bash -c 'build "$1" "$2"' _ >"$work/programs"
awk -F'\t' '{ printf "%s%c%s%c%s%c", $1, 0, $2, 0, $3, 0 }' "$work/programs" |
	xargs -0 -r -n3 -P"$jobs" bash -c 'run "$1" "$2" "$3"' _ | sort >"$work/results.tsv"
cat "$work/results.tsv"
awk -F'\t' '{ n[$1 "\t" $3]++; all[$3]++ } END {
	for (k in n) print "# " k ": " n[k]
	for (k in all) print "# all\t" k ": " all[k] }' "$work/results.tsv" | sort
echo "# not built by nvcc: $(wc -l <"$work/not_built" 2>/dev/null || echo 0)"
