# The corpus of cheats, tests/cheats/corpus.txt, on the PTX machine: the part of it that is marked for `make test`. The
# rest is in tests/long, the same on a GPU in tests/gpu.

@test "cheats get the verdicts that they must, and their look-alikes pass" {
	tests/cheats/verdicts.sh cpu quick
}

@test "every item of the list has its cheats, or a reason why there can be none" {
	python3 - <<'P'
import os, re
items, names = set(), []
for line in open("tests/cheats/corpus.txt"):
    if line.startswith("#"):
        continue
    item, name, task, cpu, cuda, why = re.split(r"\s*(?<!\\)\|\s*", line.strip(), maxsplit=5)
    items.add(item.lstrip("*"))
    assert len(why) > 15, line
    if name == "-":
        assert not task and not cpu and not cuda, line
        continue
    names.append(name)
    assert "PASSED" != cpu and os.path.isdir("tests/cheats/tasks/" + task), line
    text = open(f"tests/cheats/{name}.cu").read()
    assert "#if CHEAT" in text or "#if !CHEAT" in text, name
assert items >= {str(i) for i in range(1, 47)} | {"d"}, items
assert len(names) == len(set(names))
assert set(names) == {f[:-3] for f in os.listdir("tests/cheats") if f.endswith(".cu")}
print(len(names), "cheats")
P
}

@test "a race within one warp passes, and is told" {
	cat >"$BATS_TEST_TMPDIR/rows.cu" <<'C'
#include <stdint.h>
__global__ void row_sums(const float *x, const float *w, float *y, int64_t d)
{
	__shared__ float part[32];
	float sum = 0;
	for (int64_t i = threadIdx.x; i < d; i += 32)
		sum += x[blockIdx.x * d + i] * w[i];
	part[threadIdx.x] = sum;
	if (threadIdx.x)
		return;
	for (int i = 1; i < 32; i++)
		sum += part[i];
	y[blockIdx.x] = sum;
}
extern "C" void solve(const float *x, const float *w, float *y, int64_t R, int64_t D, cudaStream_t stream)
{
	row_sums<<<(unsigned)R, 32, 0, stream>>>(x, w, y, D);
}
C
	"$KM_OUT/bin/km-ingest" -q --store "$BATS_TEST_TMPDIR/store" -o "$BATS_TEST_TMPDIR/task.jsonl" tests/cheats/tasks/rows
	run "$KM_OUT/bin/km-verify" --store "$BATS_TEST_TMPDIR/store" --source "$BATS_TEST_TMPDIR/rows.cu" \
		-o "$BATS_TEST_TMPDIR/judged.jsonl" "$BATS_TEST_TMPDIR/task.jsonl"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *'PASSED, with 1 race warning'* ]]
	grep -q '"severity":"warning"' "$BATS_TEST_TMPDIR/judged.jsonl"
}

@test "what fails in another order only says so behind its reason" {
	cat >"$BATS_TEST_TMPDIR/streams.cu" <<'C'
#include <stdint.h>
__global__ void twice(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = 2 * x[i];
}
__global__ void more(float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
	if (i < n)
		y[i] += 0.5f;
}
extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	cudaStream_t side;
	cudaEvent_t done;
	cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
	cudaEventCreate(&done);
	twice<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
	more<<<(unsigned)((N + 255) / 256), 256, 0, side>>>(y, N);
	cudaEventRecord(done, side);
	cudaStreamWaitEvent(stream, done, 0);
	cudaEventDestroy(done);
	cudaStreamDestroy(side);
}
C
	"$KM_OUT/bin/km-ingest" -q --store "$BATS_TEST_TMPDIR/store" -o "$BATS_TEST_TMPDIR/task.jsonl" tests/cheats/tasks/affine
	run "$KM_OUT/bin/km-verify" --store "$BATS_TEST_TMPDIR/store" --source "$BATS_TEST_TMPDIR/streams.cu" \
		-o "$BATS_TEST_TMPDIR/judged.jsonl" "$BATS_TEST_TMPDIR/task.jsonl"
	echo "$output"
	[[ $output == *'RUNTIME_ERROR on workload odd in the final verdict: Read of 4 bytes of global memory that nothing '* ]]
	[[ $output == *' of the PTX). It was run in another order of its streams, blocks and warps, which a GPU may take as well.'* ]]
}
