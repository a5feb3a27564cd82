# --arch: what a solution is compiled for decides which of its paths run, what its host code is told and what fits.
bats_require_minimum_version 1.5.0

setup_file() {
	export W="$BATS_FILE_TMPDIR" STORE="$BATS_FILE_TMPDIR/store"
	"$KM_OUT/bin/km-ingest" -q --store "$STORE" -o "$W/tasks.jsonl" tests/cheats/tasks/affine
	python3 - <<'P'
import json, os
source = """#include <stdint.h>
#include <cuda_fp8.h>
#include <cuda_bf16.h>
#ifdef __CUDA_ARCH__
#define ARCH __CUDA_ARCH__
#else
#define ARCH 0
#endif
__global__ void affine(const float *x, float *y, int64_t n)
{
	extern __shared__ float scratch[];
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
	float one = float(__nv_fp8_e4m3(1.0f)) * __bfloat162float(__hmul(__float2bfloat16(2.0f), __float2bfloat16(0.5f)));
#if ARCH >= 800
	one *= (float)__reduce_max_sync(0xffffffff, 1u);
#endif
	scratch[threadIdx.x] = %(add)s;
	if (i < n)
		y[i] = 2 * x[i] * one + scratch[threadIdx.x];
}
extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	int bytes = %(bytes)s;
	cudaFuncSetAttribute(affine, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
	affine<<<(unsigned)((N + 255) / 256), 256, bytes, stream>>>(x, y, N);
}
"""
sources = {
    "any": source % {"add": "0.5f", "bytes": "1024"},
    "only80": source % {"add": "ARCH == 800 ? 0.5f : 9", "bytes": "1024"},
    "only89": source % {"add": "ARCH == 890 ? 0.5f : 9", "bytes": "1024"},
    "large": source % {"add": "0.5f", "bytes": "200 * 1024"},
    "clusters": source.replace("affine<<<(unsigned)((N + 255) / 256), 256, bytes, stream>>>(x, y, N);", """
	cudaLaunchAttribute cluster = { cudaLaunchAttributeClusterDimension };
	cluster.val.clusterDim = { 2, 1, 1 };
	cudaLaunchConfig_t config = { dim3((unsigned)((N + 511) / 512) * 2), dim3(256), (size_t)bytes, stream, &cluster, 1 };
	cudaLaunchKernelEx(&config, affine, x, y, N);""") % {"add": "0.5f", "bytes": "1024"},
    "asks": source.replace("int bytes = ", """int device = 0, major = 0, minor = 0;
	cudaGetDevice(&device);
	cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
	cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
	int bytes = 10 * major + minor == 89 ? 1024 : """) % {"add": "0.5f", "bytes": "200 * 1024"},
}
task = json.loads(open(os.environ["W"] + "/tasks.jsonl").readline())
for name, text in sources.items():
    solution = {"task_id": task["task"]["id"], "phase": "solve", "source": text, "origin": {"kind": "authored"}}
    with open(os.environ["W"] + "/" + name + ".jsonl", "w") as out:
        print(json.dumps(dict(task, solutions=[solution])), file=out)
P
}

# verdict NAME OPTION...: targets and statuses of the solution's evaluations.
verdict() {
	local name="$1"
	shift
	"$KM_OUT/bin/km-verify" -q --all --store "$STORE" "$@" "$W/$name.jsonl" >"$W/judged.jsonl"
	python3 - "$W/judged.jsonl" <<'P'
import json, sys
evaluations = json.loads(open(sys.argv[1]).readline()).get("evaluations", [])
print(*sorted({"%s %s" % (e["target"], e["status"]) for e in evaluations if e["status"] != "PASSED"} or
    {"%s %s" % (e["target"], e["status"]) for e in evaluations}))
P
}

@test "sm_90 is what is compiled for where nothing is said" {
	[ "$(verdict any)" = "ptx-sm_90 PASSED" ]
	[ "$(verdict any --arch sm_90)" = "ptx-sm_90 PASSED" ]
}

@test "code of sm_80 and sm_89 runs, and is told so at compile time" {
	[ "$(verdict any --arch sm_80)" = "ptx-sm_80 PASSED" ]
	[ "$(verdict any --arch sm_89)" = "ptx-sm_89 PASSED" ]
	[ "$(verdict only80 --arch sm_80)" = "ptx-sm_80 PASSED" ]
	[ "$(verdict only80 --arch sm_89)" = "ptx-sm_89 INCORRECT_NUMERICAL" ]
	[ "$(verdict only89 --arch sm_89)" = "ptx-sm_89 PASSED" ]
	[ "$(verdict only89)" = "ptx-sm_90 INCORRECT_NUMERICAL" ]
}

@test "a block gets the shared memory and the clusters of that architecture, and host code is told of such a GPU" {
	[ "$(verdict large)" = "ptx-sm_90 PASSED" ]
	[ "$(verdict large --arch sm_80)" = "ptx-sm_80 RUNTIME_ERROR" ]
	[ "$(verdict clusters)" = "ptx-sm_90 PASSED" ]
	[ "$(verdict clusters --arch sm_89)" = "ptx-sm_89 RUNTIME_ERROR" ]
	[ "$(verdict asks)" = "ptx-sm_90 PASSED" ]
	[ "$(verdict asks --arch sm_89)" = "ptx-sm_89 PASSED" ]
}

@test "estimates are for a GPU of that architecture" {
	verdict any --arch sm_89
	grep -q '"gpu":"NVIDIA GeForce RTX 4090"' "$W/judged.jsonl"
	verdict any --arch sm_80
	grep -q '"gpu":"NVIDIA A100 SXM4 80GB"' "$W/judged.jsonl"
}

@test "an evaluation is repeated on its own architecture only" {
	verdict any --arch sm_80
	id="$(python3 -c "import json; print(json.loads(open('$W/judged.jsonl').readline())['evaluations'][0]['id'])")"
	run "$KM_OUT/bin/km-verify" --store "$STORE" --replay "$id" "$W/judged.jsonl"
	[ "$status" -eq 65 ] && [[ "$output" == *"made on ptx-sm_80, and this is ptx-sm_90: see --device and --arch"* ]]
	"$KM_OUT/bin/km-verify" -q --store "$STORE" --arch sm_80 --replay "$id" "$W/judged.jsonl" >/dev/null
}

@test "another architecture, or one beside a GPU, is a wrong option" {
	for option in sm_75 sm_100 90a fast; do
		run "$KM_OUT/bin/km-verify" --store "$STORE" --arch "$option" "$W/any.jsonl"
		[ "$status" -eq 64 ] && [ "${#lines[@]}" -eq 1 ]
	done
	run "$KM_OUT/bin/km-verify" --store "$STORE" --arch sm_90 --device cuda "$W/any.jsonl"
	[ "$status" -eq 64 ] && [ "${#lines[@]}" -eq 1 ]
}
