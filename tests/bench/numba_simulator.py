#!/usr/bin/env python3
"""The kernels of ptx_bench.cu on numba's CUDA simulator, beside the PTX machine in the same run.

usage: numba_simulator.py PTX_BENCH FOLDER   (programs and PTX of `make bench`; numba must be importable)
Sizes are such that the simulator, which runs a thread of the system for each CUDA thread, ends within seconds. Both sides
give CPU time, the best of some runs, of the launch alone; the results are compared with numpy before the ratio counts.
"""
import os
import subprocess
import sys
import time

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
import math  # noqa: E402

import numpy as np  # noqa: E402
from numba import cuda, float32  # noqa: E402

ELEMENTS, ROWS, COLUMNS, SIDE = 4096, 4, 1024, 32


@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


@cuda.jit
def row_softmax(x, y):
    part = cuda.shared.array(256, float32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    greatest = float32(-math.inf)
    for c in range(t, x.shape[1], 256):
        greatest = max(greatest, x[row, c])
    part[t] = greatest
    cuda.syncthreads()
    step = 128
    while step:
        if t < step:
            part[t] = max(part[t], part[t + step])
        cuda.syncthreads()
        step //= 2
    greatest = part[0]
    cuda.syncthreads()
    total = float32(0)
    for c in range(t, x.shape[1], 256):
        e = float32(math.exp(x[row, c] - greatest))
        y[row, c] = e
        total += e
    part[t] = total
    cuda.syncthreads()
    step = 128
    while step:
        if t < step:
            part[t] += part[t + step]
        cuda.syncthreads()
        step //= 2
    total = part[0]
    for c in range(t, x.shape[1], 256):
        y[row, c] /= total


@cuda.jit
def tiled_matmul(a, b, c):
    rows = cuda.shared.array((16, 16), float32)
    columns = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * 16 + ty, cuda.blockIdx.x * 16 + tx
    total = float32(0)
    for t in range(0, a.shape[0], 16):
        rows[ty, tx] = a[row, t + tx]
        columns[ty, tx] = b[t + ty, column]
        cuda.syncthreads()
        for k in range(16):
            total += rows[ty, k] * columns[k, tx]
        cuda.syncthreads()
    c[row, column] = total


def milliseconds(launch):
    """CPU time of the process: its threads are the simulator's."""
    best = math.inf
    for _ in range(2):
        start = time.process_time()
        launch()
        best = min(best, time.process_time() - start)
    return best * 1e3


def machine_times(program, folder):
    command = [program, folder, *map(str, (ELEMENTS, ROWS, COLUMNS, SIDE))]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [float(line[22:].split()[0]) for line in lines]


def simulator_times():
    random = np.random.default_rng(1)
    a, b = (random.random(ELEMENTS, dtype=np.float32) for _ in range(2))
    c = np.zeros_like(a)
    yield milliseconds(lambda: vector_add[ELEMENTS // 256, 256](a, b, c))
    assert np.array_equal(c, a + b)
    x = random.random((ROWS, COLUMNS), dtype=np.float32)
    y = np.zeros_like(x)
    yield milliseconds(lambda: row_softmax[ROWS, 256](x, y))
    e = np.exp(x - x.max(axis=1, keepdims=True))
    assert np.allclose(y, e / e.sum(axis=1, keepdims=True), rtol=1e-5)
    p, q = (random.random((SIDE, SIDE), dtype=np.float32) for _ in range(2))
    r = np.zeros_like(p)
    yield milliseconds(lambda: tiled_matmul[(SIDE // 16, SIDE // 16), (16, 16)](p, q, r))
    assert np.allclose(r, p @ q, rtol=1e-5)


def main():
    names = (f"vector add {ELEMENTS}", f"row softmax {ROWS}x{COLUMNS}", f"tiled matrix product {SIDE}^3")
    for name, ours, theirs in zip(names, machine_times(*sys.argv[1:3]), simulator_times()):
        print(f"{name:28} PTX machine {ours:8.3f} ms  numba's simulator {theirs:9.1f} ms  {theirs / ours:8.0f}x")


if __name__ == "__main__":
    main()
