#!/usr/bin/env bats
# Whole CUDA programs on the PTX machine: what they compute, and what they are told when something is wrong.

setup_file() {
	export out=$(cd "${KM_OUT:-out}" && pwd)
	export nvcc=${CUDA:-/usr/local/cuda}/bin/nvcc
	export dir=$(mktemp -d)
	cd "$BATS_TEST_DIRNAME/../data/run" || return 1
	"$nvcc" -cudart shared -lineinfo -std=c++17 -arch=sm_90 -o "$dir/programs" programs.cu
	# Two source files, for the oldest architecture, compressed as nvcc does by default.
	"$nvcc" -cudart shared -o "$dir/two" two_a.cu two_b.cu
	"$nvcc" -cudart static -o "$dir/static" two_a.cu two_b.cu
}

teardown_file() {
	rm -rf "$dir"
}

setup() {
	cd "$dir" || return 1
}

km_run() {
	run "$out/bin/km-run" "$@"
}

@test "kernels, copies both ways and the program's own exit status" {
	km_run ./programs add
	[ "$status" -eq 0 ]
	[ "$output" = "z[999] = 2997" ]
	km_run ./programs device x 7
	[ "$status" -eq 7 ]
	[ "$output" = "NVIDIA H200, 132 multiprocessors, 8 blocks" ]
	PATH=$dir:$PATH km_run programs add
	[ "$status" -eq 0 ]
	[ "$output" = "z[999] = 2997" ]
}

@test "variables of constant, device and managed memory" {
	km_run ./programs symbols
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = "1 2 3 4, counter 6, 16 bytes, managed 6" ]
	[[ "$output" == *"counter 0, outside cudaErrorInvalidValue"* ]]
}

@test "a device function has one address in all kernels, which the host may pass on" {
	km_run ./programs functions
	[ "$status" -eq 0 ]
	[ "$output" = $'10\n25' ]
}

@test "many allocations take a time that grows with their number, not with its square" {
	run timeout 15 "$out/bin/km-run" ./programs many
	[ "$status" -eq 0 ]
	[ "$output" = "allocated" ]
}

@test "streams, events with times that are said to be made up, and host functions" {
	km_run ./programs events
	[ "$status" -eq 0 ]
	[[ "$output" == *"km-run: times between events are made up"* ]]
	[[ "$output" == *"a plausible time, unrecorded: cudaErrorInvalidResourceHandle"* ]]
	[[ "$output" == *"host function: called"* ]]
	km_run -q ./programs events
	[[ "$output" != *"made up"* ]]
}

@test "managed, pinned and registered memory are shared with kernels" {
	km_run ./programs managed
	[ "$status" -eq 0 ]
	[ "$output" = "256 128, type 1" ]
}

@test "copies and sets in two and three dimensions" {
	km_run ./programs copies
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = "pitch 512: zzzzzzzzzz...... aaaazzzzzz......" ]
	[[ "$output" == *"bbbbbbbb, wrong way cudaErrorInvalidValue, too much cudaErrorInvalidValue"* ]]
}

@test "tables of kernels and of device functions" {
	km_run ./programs pointers
	[ "$status" -eq 0 ]
	[ "$output" = 36 ]
}

@test "a cooperative launch has barriers across the grid, and must fit the device" {
	km_run ./programs cooperative
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = "sum 5000" ]
	[[ "$output" == *cudaErrorCooperativeLaunchTooLarge ]]
}

@test "what kernels print comes where the host waits" {
	km_run ./programs print
	[ "$output" = "$(printf 'before\nhello from 7\nafter')" ]
}

@test "several source files, compressed PTX of an older architecture" {
	km_run ./two
	[ "$status" -eq 0 ]
	[ "$output" = "21 42" ]
	readelf -d ./two | grep -q libcudart.so.13
}

@test "an access out of bounds is told with its place, stays an error, and goes with a reset" {
	km_run ./programs fault beyond
	[ "$status" -eq 0 ]
	[[ "${lines[0]}" == "km-run: Out of bounds: write of 4 bytes in global memory (byte 400 of allocation 1), in block (0,0,0) thread (31,0,0)"*"programs.cu:24"* ]]
	[ "${lines[1]}" = "1 700 700 700" ]
	[ "${lines[2]}" = "usable after a reset" ]
}

@test "freed, misaligned and trapping accesses have their own errors" {
	km_run ./programs fault freed
	[[ "$output" == *"km-run: Freed memory"*"1 700 "* ]]
	km_run ./programs fault misaligned
	[[ "$output" == *"km-run: Misaligned"*"1 716 716 716"* ]]
	km_run ./programs fault trap
	[[ "$output" == *"km-run: "*"trap"*"1 719 719 719"* ]]
}

@test "a kernel that does not end runs out of its budget" {
	km_run --budget 100000 ./programs fault endless
	[[ "$output" == *"budget of 100000 lane instructions"*"1 702 702 702"* ]]
}

@test "host code that touches device memory" {
	km_run ./programs touch
	[ "$status" -eq 139 ]
	[[ "$output" == *"km-run: host code touches device memory at an allocation + 20 bytes"* ]]
}

@test "memory that nothing has written, when asked for, and an exit status for tests" {
	km_run ./programs uninitialised
	[ "$status" -eq 0 ]
	[ "$output" = done ]
	km_run --check ./programs uninitialised
	[ "$status" -eq 0 ]
	[[ "$output" == *"km-run: Read of 4 bytes of global memory that nothing has written"*done* ]]
	km_run --check --error-exit 99 ./programs uninitialised
	[ "$status" -eq 99 ]
	[[ "$output" == *done* ]]
	km_run --check --error-exit 99 ./programs add
	[ "$status" -eq 0 ]
}

@test "races between threads, when asked for" {
	km_run ./programs race
	[ "$status" -eq 0 ]
	[ "$output" = done ]
	km_run --races --error-exit 99 ./programs race
	[ "$status" -eq 99 ]
	[[ "$output" == *"programs.cu:"*done* ]]
	km_run --races --error-exit 99 --schedule 5 ./programs add
	[ "$status" -eq 0 ]
}

@test "launches and calls that fail say why, and give the runtime's error" {
	km_run ./programs launch
	[[ "${lines[0]}" == "km-run: the launch of _Z3addPKfS0_Pfi failed: invalid argument"* ]]
	[ "${lines[1]}" = cudaErrorInvalidValue ]
	km_run ./programs graph
	[[ "${lines[0]}" == "km-run: cudaGraphCreate is not possible: CUDA graphs"* ]]
	[ "${lines[1]}" = cudaErrorNotSupported ]
}

@test "-v gives a line for each launch" {
	km_run -v ./programs add
	[[ "$output" == *"km-run: _Z3addPKfS0_Pfi<<<(4, 1, 1), (256, 1, 1), 0>>>: OK, "*" lane instructions"* ]]
}

@test "programs that cannot be run are told apart before they start" {
	km_run ./static
	[ "$status" -eq 65 ]
	[[ "$output" == *"build it with nvcc -cudart shared" ]]
	km_run ./missing
	[ "$status" -eq 66 ]
	km_run no-such-program-anywhere
	[ "$status" -eq 66 ]
	km_run
	[ "$status" -eq 64 ]
	km_run --profile nonsense ./programs
	[ "$status" -eq 69 ]
	km_run sh -c 'echo a script; exit 3'
	[ "$status" -eq 3 ]
	[ "$output" = "a script" ]
}

@test "a program gets the GPU of the profile, and the code that this GPU would take" {
	"$nvcc" -cudart shared -gencode arch=compute_80,code=compute_80 -gencode arch=compute_90,code=compute_90 \
		-o architecture "$BATS_TEST_DIRNAME/../data/run/architecture.cu"
	km_run -q ./architecture
	[ "$output" = "code of sm_90 on 9.0, 132 multiprocessors, 200 KiB: cudaSuccess" ]
	km_run -q --profile a100 ./architecture
	[[ "$output" == *"code of sm_80 on 8.0, 108 multiprocessors, 200 KiB: cudaErrorInvalidValue"* ]]
	km_run -q --profile rtx4090 ./architecture
	[[ "$output" == *"code of sm_80 on 8.9, 128 multiprocessors, 200 KiB: cudaErrorInvalidValue"* ]]
	km_run -q --profile b200 ./architecture
	[ "$output" = "code of sm_90 on 10.0, 148 multiprocessors, 200 KiB: cudaSuccess" ]
}

@test "the page of functions is made from the list, and the list is what NVIDIA's library exports" {
	"$out/bin/km-run" --functions | diff - "$BATS_TEST_DIRNAME/../../common/cuda/RUNTIME.md"
	exported() { nm -D "$1" | awk '$2 == "T" && $3 !~ /kernelmosaic/ { sub(/@.*/, "", $3); print $3 }' | sort; }
	real=$(dirname "$nvcc")/../lib64/libcudart.so.13
	[ -e "$real" ] || skip "there is no libcudart.so.13 to compare with"
	for back in recorder machine; do
		diff <(exported "$real") <(exported "$out/libexec/kernelmosaic/$back/libcudart.so.13")
	done
}

@test "the runtime's answers about clusters, attributes, managed memory and events are those of an H200" {
	"$nvcc" -cudart shared -DWHOLE -include cstdint -std=c++17 -arch=sm_90 -o "$BATS_TEST_TMPDIR/facts" \
		"$BATS_TEST_DIRNAME/../data/cuda/facts.cu"
	"$KM_OUT/bin/km-run" "$BATS_TEST_TMPDIR/facts" 2>/dev/null | diff "$BATS_TEST_DIRNAME/../data/cuda/facts.expected" -
}
