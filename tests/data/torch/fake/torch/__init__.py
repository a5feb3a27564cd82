"""As much of PyTorch as torch_worker.py needs to time a module, with a "GPU" that is the host's memory. For tests with
tests/gpu/standin.c, whose kernels write there."""
import ctypes
import math
import mmap
import time

from . import cuda, nn, version  # noqa: F401

__version__ = "9.9+fake"


class dtype:
    def __init__(self, code, size, is_floating_point):
        self.code, self.itemsize, self.is_floating_point = code, size, is_floating_point


float64, float32 = dtype("d", 8, True), dtype("f", 4, True)
float16, bfloat16 = dtype("e", 2, True), dtype("H", 2, True)
int64, int32, uint8, bool = dtype("q", 8, False), dtype("i", 4, False), dtype("B", 1, False), dtype("?", 1, False)


class Tensor:
    def __init__(self, shape, dtype):
        self.shape, self.dtype = list(shape), dtype
        self.memory = mmap.mmap(-1, max(1, self.numel() * dtype.itemsize))

    def numel(self):
        return math.prod(self.shape)

    def element_size(self):
        return self.dtype.itemsize

    def data_ptr(self):
        return ctypes.addressof(ctypes.c_char.from_buffer(self.memory))

    def tolist(self):
        return memoryview(self.memory).cast("B").cast(self.dtype.code)[:self.numel()].tolist()

    def __mul__(self, other):
        time.sleep(2e-4)
        return Tensor(self.shape, self.dtype)


def empty(shape, dtype, device):
    assert device == "cuda"
    return Tensor([shape] if isinstance(shape, int) else shape, dtype)


class no_grad:
    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass


def compile(model):
    if getattr(model, "cannot_be_compiled", False):
        raise RuntimeError("no C compiler\nand much more\n" * 100)
    return model


def seed():
    pass


def set_num_threads(_):
    pass
