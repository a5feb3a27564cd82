#!/usr/bin/env python3
"""Seconds per verified and timed candidate: here, and by torch's load_inline with KernelBench's protocol.

The other side is written from the protocol's published description (its README and paper, 2025-2026): a process for each
candidate, load_inline, five correctness trials with seeds drawn from one, the reference first, allclose at 1e-4, then
three warm-ups and 100 trials with CUDA events, a synchronisation and a fill of 256 MiB before each, the mean; the
reference is timed in the same way. It takes one candidate after another, as that protocol does.

Before it touches the GPU it waits for this side's lock on it, if --lock names one, so that other tests of this side may
run meanwhile on other processors; the wait is not counted.

This side is measured twice: one candidate after another (compared with the other side like with like), and all at once
as its own programs do. Each part is printed as soon as it is there, so that a run that is cut still gives figures.
Needs torch with CUDA, nvcc and ninja.

usage: side_by_side.py [--seconds S] [--other N] [--warm N] [--only ours|theirs] [--lock FILE] EIGHT FILE...
  EIGHT      the program that tests/gpu/eight.c makes
  --seconds  begin nothing on the other side after S seconds (500); what was begun is stopped at S + 60
  --other    take only the first N files on the other side
  --warm     of these, only the first N with their builds cached
  --lock     a file to hold by flock while the other side uses the GPU: kernelmosaic-gpu-UUID.lock in /run/lock or /tmp
"""
import argparse, json, os, shutil, subprocess, sys, tempfile, time

N = 30000000
START = time.time()

CANDIDATE = r'''
import json, sys, time
begin = time.time()
def said(part, **more):
    print(json.dumps({"part": part, "at": round(time.time() - begin, 3), **more}), flush=True)
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
said("import", torch=torch.__version__)
module = load_inline(name=name, cpp_sources="torch::Tensor forward(torch::Tensor x);", cuda_sources=source,
                     functions=["forward"], verbose=False)
said("build")
if len(sys.argv) > 4 and sys.argv[4]:
    import fcntl
    lock = open(sys.argv[4])
    fcntl.flock(lock, fcntl.LOCK_EX)
    said("wait")
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
said("check", right=bool(right))
if right:
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
    said("time", us=round(own, 2), reference_us=round(timed(reference), 2))
'''
PARTS = ["import", "build", "check", "time"]


def one_of_theirs(path, extensions, stop, lock):
    """What one candidate took, by part; None when it was stopped or failed."""
    env = dict(os.environ, TORCH_EXTENSIONS_DIR=extensions, TORCH_CUDA_ARCH_LIST="9.0")
    name = "kb_" + os.path.basename(path)[:-3]
    begin, last, out = time.time(), 0.0, {"file": os.path.basename(path)}
    with tempfile.TemporaryFile("w+") as errors:
        p = subprocess.Popen([sys.executable, "-c", CANDIDATE, name, path, str(N), lock], env=env, stdout=subprocess.PIPE,
                             stderr=errors, text=True)
        killer = subprocess.Popen(["sh", "-c", "sleep $1; kill -9 $2", "sh", str(max(1, stop - time.time())), str(p.pid)])
        for line in p.stdout:
            said = json.loads(line)
            out[said["part"] + "_s"] = round(said["at"] - last, 3)
            last = said["at"]
            out.update({k: v for k, v in said.items() if k not in ("part", "at")})
        status = p.wait()
        out["seconds"] = round(time.time() - begin - out.get("wait_s", 0), 3)
        killer.kill()
        killer.wait()
        if status:
            errors.seek(0)
            out["failed"] = "stopped" if status == -9 else errors.read()[-800:]
    return out


def summary_of(which, done):
    if not done:
        return None
    mean = lambda key: round(sum(r.get(key, 0) for r in done) / len(done), 3)
    summary = {"candidates": len(done), "seconds_each": mean("seconds"),
               "parts_each": {p: mean(p + "_s") for p in PARTS}}
    print(f"theirs {which}, one after another: {json.dumps(summary)}", flush=True)
    return summary


def theirs(files, warm, seconds, lock):
    """Each file with a cold cache, then at once with its build cached, so that a cut run has both."""
    done = {"cold": [], "builds cached": []}
    extensions = tempfile.mkdtemp(prefix="km-side-")
    try:
        for number, path in enumerate(files):
            for which in list(done)[:2 if number < warm else 1]:
                if time.time() - START > seconds:
                    print(f"theirs: no time for {os.path.basename(path)} ({which}) and what follows", flush=True)
                    return done
                r = one_of_theirs(path, extensions, START + seconds + 60, lock)
                print(f"theirs {which}: {json.dumps(r)}", flush=True)
                if "failed" in r:
                    return done
                done[which].append(r)
    finally:
        shutil.rmtree(extensions, ignore_errors=True)
    return done


def ours(eight, files):
    """Phases by name, as the program prints them."""
    phases = {}
    p = subprocess.Popen([eight] + files, stdout=subprocess.PIPE, text=True)
    for line in p.stdout:
        print("ours:", line.rstrip(), flush=True)
        r = json.loads(line)
        if "phase" in r:
            phases[r["phase"]] = r
    if p.wait():
        sys.exit(f"{eight} ended with {p.returncode}")
    return phases


def main():
    a = argparse.ArgumentParser(usage=__doc__)
    a.add_argument("--seconds", type=float, default=500)
    a.add_argument("--other", type=int, default=1000)
    a.add_argument("--warm", type=int, default=1000)
    a.add_argument("--lock", default="")
    a.add_argument("--only", choices=["ours", "theirs"])
    a.add_argument("eight")
    a.add_argument("file", nargs="+")
    a = a.parse_args()
    mine = ours(a.eight, a.file) if a.only != "theirs" else {}
    if a.only == "ours":
        return
    done = theirs(a.file[:a.other], a.warm, a.seconds, a.lock)
    cold, warm = (summary_of(which, done[which]) for which in done)
    rows = (("cold", "cold cache", cold), ("builds cached", "builds cached", warm),
            ("evaluations stored", "evaluations stored; the other side's builds cached", warm))
    for ending, which, other in rows:
        phases = [f"{how}, {ending}" for how in ("one by one", "all at once")]
        for phase in phases:
            if other and phase in mine:
                each = mine[phase]["seconds_each"]
                print(f"{which}: theirs one after another {other['seconds_each']} s each; ours, {phase}: {each} s each; "
                      f"{other['seconds_each'] / each:.1f} times", flush=True)


main()
