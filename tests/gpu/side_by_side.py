#!/usr/bin/env python3
"""Seconds per verified and timed candidate: here, and by torch's load_inline with KernelBench's protocol.

The other side is written from the protocol's published description (its README and paper, 2025-2026): a process for each
candidate, load_inline, five correctness trials with seeds drawn from one, the reference first, allclose at 1e-4, then
three warm-ups and 100 trials with CUDA events, a synchronisation and a fill of 256 MiB before each, the mean; the
reference is timed in the same way. Needs torch with CUDA, nvcc and ninja.

usage: side_by_side.py EIGHT FILE...      EIGHT: the program that tests/gpu/eight.c makes
"""
import json, os, re, shutil, subprocess, sys, tempfile, time

N = 30000000

CANDIDATE = r'''
import json, sys, time
begin = time.time()
import torch
from torch.utils.cpp_extension import load_inline
name, path, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
source = open(path).read() + """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
torch::Tensor forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    solve(x.data_ptr<float>(), y.data_ptr<float>(), x.numel(), at::cuda::getCurrentCUDAStream());
    return y;
}
"""
imported = time.time()
module = load_inline(name=name, cpp_sources="torch::Tensor forward(torch::Tensor x);", cuda_sources=source,
                     functions=["forward"], verbose=False)
built = time.time()
def reference(x): return 2 * x + 1
torch.manual_seed(42)
seeds = [int(s) for s in torch.randint(0, 2**32 - 1, (5,))]
right = True
for seed in seeds:
    torch.manual_seed(seed)
    x = torch.rand(n).cuda()
    expected = reference(x)
    torch.cuda.synchronize()
    got = module.forward(x)
    torch.cuda.synchronize()
    right &= got.shape == expected.shape and torch.allclose(got, expected, atol=1e-4, rtol=1e-4)
checked = time.time()
def timed(f):
    x = torch.rand(n).cuda()
    for _ in range(3):
        f(x)
    torch.cuda.synchronize()
    out = []
    for trial in range(101):
        torch.cuda.synchronize()
        torch.empty(256 * 1024 * 1024, dtype=torch.int8, device="cuda").fill_(42)
        torch.cuda.synchronize()
        a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        a.record(); f(x); b.record()
        torch.cuda.synchronize()
        out.append(a.elapsed_time(b))
    out = out[1:]
    return 1e3 * sum(out) / len(out)
own = timed(module.forward)
other = timed(reference)
end = time.time()
print(json.dumps({"right": bool(right), "us": own, "reference_us": other, "import_s": imported - begin,
                  "build_s": built - imported, "check_s": checked - built, "time_s": end - checked}))
'''

def theirs(files, extensions):
    env = dict(os.environ, TORCH_EXTENSIONS_DIR=extensions, TORCH_CUDA_ARCH_LIST="9.0")
    seconds, parts, verdicts = [], [], {}
    for path in files:
        name = "kb_" + os.path.basename(path)[:-3]
        begin = time.time()
        p = subprocess.run([sys.executable, "-c", CANDIDATE, name, path, str(N)], env=env, capture_output=True, text=True)
        seconds.append(time.time() - begin)
        if p.returncode:
            print("the other side failed on", path, p.stderr[-1500:], file=sys.stderr)
            return None
        r = json.loads(p.stdout.strip().splitlines()[-1])
        parts.append(r)
        verdicts[os.path.basename(path)] = ["right" if r["right"] else "wrong", round(r["us"], 2)]
    mean = lambda key: round(sum(r[key] for r in parts) / len(parts), 3)
    return {"seconds_each": round(sum(seconds) / len(seconds), 3), "import_s": mean("import_s"), "build_s": mean("build_s"),
            "check_s": mean("check_s"), "time_s": mean("time_s"), "verdicts": verdicts}

def main():
    eight, files = sys.argv[1], sys.argv[2:]
    ours = json.loads(subprocess.run([eight] + files, capture_output=True, text=True, check=True).stdout)
    n = ours["candidates"]
    extensions = tempfile.mkdtemp(prefix="km-side-")
    cold, warm = theirs(files, extensions), None
    if cold:
        warm = theirs(files, extensions)
    shutil.rmtree(extensions, ignore_errors=True)
    out = {"ours": ours, "theirs_cold": cold, "theirs_warm": warm}
    if cold and warm:
        out["times_faster"] = {"cold": round(cold["seconds_each"] / (ours["cold_s"] / n), 1),
                               "builds cached": round(warm["seconds_each"] / (ours["builds_cached_s"] / n), 1),
                               "evaluations stored": round(warm["seconds_each"] / (ours["evaluations_stored_s"] / n), 1)}
    print(json.dumps(out, indent=1))

main()
