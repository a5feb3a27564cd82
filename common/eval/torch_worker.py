"""Runs the PyTorch references of tasks, for common/eval/torch.c.

In: streams, as common/sandbox/server.h says. Each carries a request: its head (lengths of two texts, and the seconds it
may take), a JSON text {"source", "outputs", "values"}, and a safetensors file with the inputs. Out, on the same stream:
one byte of state, a length, and either a safetensors file or a sentence. Torch is imported once; each request runs in a
fork, in double precision on the CPU, and is killed at its time.
"""
import array
import ctypes
import inspect
import json
import os
import select
import signal
import socket
import struct
import sys
import time

try:
    import torch
    torch.nn.Module, torch.float64
except (ImportError, AttributeError) as reason:
    print(reason, file=sys.stderr)
    sys.exit(69)

OK, DOES_NOT_COMPILE, FAILED, TOO_SLOW, EXITED = range(5)
MAX_BYTES = 4 << 30
HEAD, ANSWER = struct.Struct("=QQQ"), struct.Struct("=BQ")
DTYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
          "I64": torch.int64, "I32": torch.int32, "U8": torch.uint8, "BOOL": torch.bool}


class Refused(Exception):
    """What is wrong with the reference: a state and a sentence."""


def receive(stream, count):
    data = bytearray(count)
    view = memoryview(data)
    while view:
        got = stream.recv_into(view)
        if not got:
            raise EOFError
        view = view[got:]
    return data


def answer(stream, state, payload):
    stream.sendall(ANSWER.pack(state, len(payload)) + payload)


def read_tensors(data):
    length = struct.unpack_from("<Q", data)[0]
    tensors = {}
    for name, entry in json.loads(bytes(data[8:8 + length])).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        dtype = DTYPES[entry["dtype"]]
        part = bytearray(data[8 + length + begin:8 + length + end])
        flat = torch.frombuffer(part, dtype=dtype) if part else torch.empty(0, dtype=dtype)
        tensors[name] = flat.reshape(entry["shape"])
    return tensors


def write_tensors(tensors):
    header, parts, at = {}, [], 0
    for name, tensor in tensors.items():
        tensor = tensor.contiguous()
        part = ctypes.string_at(tensor.data_ptr(), 8 * tensor.numel()) if tensor.numel() else b""
        header[name] = {"dtype": "F64" if tensor.dtype == torch.float64 else "I64", "shape": list(tensor.shape),
                        "data_offsets": [at, at + len(part)]}
        parts.append(part)
        at += len(part)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(parts)


def load_model(source):
    scope = {"__name__": "reference"}
    try:
        exec(compile(source, "reference.py", "exec"), scope)
    except Exception as reason:
        raise Refused(DOES_NOT_COMPILE, f"{type(reason).__name__}: {reason}")
    model = scope.get("Model")
    if not (isinstance(model, type) and issubclass(model, torch.nn.Module)):
        raise Refused(DOES_NOT_COMPILE, "there is no class Model(torch.nn.Module)")
    return model


def arguments_of(model, values):
    chosen = {}
    for name, parameter in inspect.signature(model.forward).parameters.items():
        if name in values:
            chosen[name] = values[name]
        elif parameter.default is parameter.empty:
            raise Refused(DOES_NOT_COMPILE, f"forward's parameter {name} is no input, axis or scalar of the task")
    return chosen


def place_of(reason):
    """The line of reference.py where it happened."""
    trace, line = reason.__traceback__, None
    while trace:
        if trace.tb_frame.f_code.co_filename == "reference.py":
            line = trace.tb_lineno
        trace = trace.tb_next
    return f" (line {line})" if line else ""


def run(request, tensors):
    torch.set_default_dtype(torch.float64)
    values = {name: t.double() if t.dtype.is_floating_point else t for name, t in tensors.items()}
    values.update(request["values"])
    model_class = load_model(request["source"])
    try:
        model = model_class().double().eval()
        with torch.no_grad():
            got = model(**arguments_of(model, values))
    except Refused:
        raise
    except Exception as reason:
        raise Refused(FAILED, f"{type(reason).__name__}: {reason}{place_of(reason)}")
    got = list(got) if isinstance(got, (list, tuple)) else [got]
    wanted = request["outputs"]
    if len(got) != len(wanted) or not all(isinstance(t, torch.Tensor) for t in got):
        raise Refused(FAILED, f"forward returns {len(got)} values where the task has {len(wanted)} output tensors")
    outputs = {}
    for tensor, output in zip(got, wanted):
        if list(tensor.shape) != output["shape"]:
            raise Refused(FAILED, f"output {output['name']} has the shape {list(tensor.shape)} where the task has "
                                  f"{output['shape']}")
        outputs[output["name"]] = tensor.to(torch.float64 if output["float"] else torch.int64)
    return write_tensors(outputs)


def work(stream, request, tensors):
    try:
        answer(stream, OK, run(json.loads(request), read_tensors(tensors)))
    except Refused as refused:
        answer(stream, refused.args[0], refused.args[1].encode()[:1000])


class Worker:
    def __init__(self):
        self.packets = socket.socket(fileno=0)
        self.children = {}      # by pid: stream and the time of its end

    def accept(self):
        """False when there is nothing more to come."""
        data, control, _, _ = self.packets.recvmsg(1, socket.CMSG_SPACE(4))
        if not data or not control:
            return False
        stream = socket.socket(fileno=array.array("i", control[0][2])[0])
        try:
            texts, tensors, seconds = HEAD.unpack(receive(stream, HEAD.size))
            if texts + tensors > MAX_BYTES:
                raise EOFError
            request, inputs = receive(stream, texts), receive(stream, tensors)
        except (EOFError, OSError):
            stream.close()
            return True
        pid = os.fork()
        if pid == 0:
            try:
                self.packets.close()
                for other, _ in self.children.values():
                    other.close()
                work(stream, bytes(request), inputs)
            finally:
                os._exit(0)
        self.children[pid] = stream, time.monotonic() + seconds
        return True

    def end(self, pid, status):
        stream, deadline = self.children.pop(pid)
        try:
            # One that answered has closed the matter: what is said after it is not read.
            if os.WIFSIGNALED(status):
                answer(stream, TOO_SLOW if time.monotonic() >= deadline else EXITED,
                       f"signal {os.WTERMSIG(status)}".encode())
            else:
                answer(stream, EXITED, b"it ended the process")
        except OSError:
            pass
        stream.close()

    def reap(self):
        now = time.monotonic()
        for pid, (_, deadline) in list(self.children.items()):
            if now >= deadline:
                os.kill(pid, signal.SIGKILL)
        while self.children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            self.end(pid, status)

    def serve(self):
        wake, woken = os.pipe()
        os.set_blocking(woken, False)
        signal.set_wakeup_fd(woken)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while True:
            wait = min((end for _, end in self.children.values()), default=None)
            ready, _, _ = select.select([0, wake], [], [], None if wait is None else max(0, wait - time.monotonic()))
            if wake in ready:
                os.read(wake, 4096)
            self.reap()
            if 0 in ready and not self.accept():
                return


torch.set_num_threads(1)        # no threads before a fork
Worker().serve()
