#!/bin/bash
# Tests that need a GPU: one line and 69 where there is none. KM_OUT: where programs were built; KM_SANDBOX: the level.
set -u
cd "$(dirname "$0")/../.."
out=${KM_OUT:-out}
what=$("$out/libexec/kernelmosaic/km-gpu" --list 2>&1) || { echo "test-gpu: no test was run: ${what#km-gpu: }"; exit 69; }
echo "test-gpu: $(grep -o '"name":"[^"]*"' <<<"$what" | cut -d'"' -f4 | sort | uniq -c | tr -s ' \n' ' ')"
failed=0
step() {
	echo "== $*"
	"$@" || { failed=1; echo "-- failed"; }
}
# Steps that need more than a GPU.
pytorch() {
	"$out/gpu/torch" "${KM_PYTHON:-/usr/bin/python3}"
	local status=$?
	[ $status != 69 ] || { echo "-- not run: set KM_PYTHON to a Python whose torch has CUDA"; return 0; }
	return $status
}
counters() {
	"$out/gpu/counters" "${KM_NCU:-ncu}" tests/gpu/counters/*.cu
	local status=$?
	[ $status != 69 ] || { echo "-- not run: no Nsight Compute that may count here"; return 0; }
	return $status
}
step "$out/gpu/attacks" tests/gpu/attacks/honest.cu $(ls tests/gpu/attacks/*.cu | grep -v /honest.cu)
step env KM_OUT="$out" THREADS=8 tests/cheats/verdicts.sh cuda all
agreement=$(mktemp -d)
step env KM_OUT="$out" THREADS=16 tests/gpu/agreement/verdicts.sh all "$agreement"
rm -rf "$agreement"
step "$out/gpu/batch" 200 20
step "$out/gpu/noise" "${NOISE_REPETITIONS:-5}"
step pytorch
step counters
exit $failed
