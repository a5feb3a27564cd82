import os
import time


class Properties:
    multi_processor_count = 4


class Stream:
    cuda_stream = 0


class Event:
    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        self.at = time.perf_counter()

    def query(self):
        return False

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        return (end.at - self.at) * 1e3


def is_available():
    return os.environ["CUDA_VISIBLE_DEVICES"].startswith("GPU-5b5b")


def init():
    pass


def synchronize():
    pass


def current_stream():
    return Stream


def get_device_properties(_):
    return Properties
