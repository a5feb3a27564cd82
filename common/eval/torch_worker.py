"""Runs and times the PyTorch modules of tasks, for common/eval/torch.c and torch_time.c.

In: streams, as common/sandbox/server.h says. Each carries a request: its head (lengths of two parts, and the seconds it
may take), a JSON text, and bytes. Out, on the same stream: one byte of state, a length, and that many bytes: a sentence
where the state is a failure. Torch is imported once; each request runs in a fork, and is killed at its time.

{"do": "run", "source", "outputs", "values"} and a safetensors file of inputs: the module in double precision on the CPU;
the answer is a safetensors file.
{"do": "describe"}: {"torch", "cuda"} of this Python.
{"do": "time", "source", "outputs", "values", "gpu", "mode", "inputs"} and a generate_job for each input: times on a GPU, in
the dtypes of the task. It makes itself ready, answers READY, waits for a byte, which means that nobody else uses the GPU
now, and answers again: {"samples_us", "queued"}.
"""
import array
import ctypes
import inspect
import json
import math
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

OK, DOES_NOT_COMPILE, FAILED, TOO_SLOW, EXITED, NO_GPU, READY = range(7)
MAX_BYTES = 4 << 30
FLUSH_BYTES = 512 << 20
WARM_CALLS, LEAST_SAMPLES, MOST_SAMPLES, STEP_SAMPLES, SAMPLING_S = 5, 100, 1000, 50, 20
SPIN_NS, MOST_SPIN_NS, PATIENCE_OF_QUEUE = 100_000, 20_000_000, 10
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


def failure(reason):
    return Refused(FAILED, f"{type(reason).__name__}: {reason}{place_of(reason)}")


def outputs_of(got, wanted):
    """What forward returned, as a list of tensors of the task's shapes."""
    got = list(got) if isinstance(got, (list, tuple)) else [got]
    if len(got) != len(wanted) or not all(isinstance(t, torch.Tensor) for t in got):
        raise Refused(FAILED, f"forward returns {len(got)} values where the task has {len(wanted)} output tensors")
    for tensor, output in zip(got, wanted):
        if list(tensor.shape) != output["shape"]:
            raise Refused(FAILED, f"output {output['name']} has the shape {list(tensor.shape)} where the task has "
                                  f"{output['shape']}")
    return got


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
        raise failure(reason)
    wanted = request["outputs"]
    got = outputs_of(got, wanted)
    return write_tensors({output["name"]: tensor.to(torch.float64 if output["float"] else torch.int64)
                          for tensor, output in zip(got, wanted)})


# ---- times


class Kernels:
    """The engine's own kernels (gpu_kernels.cu) beside torch's, in the same context: they make inputs of the task's
    domain, flush the caches, and keep the stream busy while the host queues."""

    def __init__(self):
        self.driver = ctypes.CDLL(os.environ.get("KM_LIBCUDA", "libcuda.so.1"))
        with open(os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "gpu_kernels.fatbin"), "rb") as file:
            self.image = file.read()
        self.module = ctypes.c_void_p()
        self.must(self.driver.cuModuleLoadData(ctypes.byref(self.module), self.image), "loading the engine's kernels")
        self.functions = {}

    @staticmethod
    def must(result, what):
        if result:
            raise Refused(NO_GPU, f"{what} failed: error {result} of the driver")

    def launch(self, name, blocks, *arguments):
        if name not in self.functions:
            function = ctypes.c_void_p()
            self.must(self.driver.cuModuleGetFunction(ctypes.byref(function), self.module, name.encode()), name)
            self.functions[name] = function
        pointers = (ctypes.c_void_p * len(arguments))(*[ctypes.addressof(a) for a in arguments])
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        self.must(self.driver.cuLaunchKernel(self.functions[name], blocks, 1, 1, 256, 1, 1, 0, stream, pointers, None), name)


class Input:
    def __init__(self, spec, job):
        self.tensor = torch.empty(spec["shape"], dtype=DTYPES[spec["dtype"]], device="cuda")
        self.job, self.rows, self.count = job, spec["rows"], spec["count"]

    def make(self, kernels, launch):
        """Another draw for each launch, as the engine does it."""
        if not self.tensor.numel():
            return
        key = struct.unpack_from("=II", self.job)
        job = ctypes.create_string_buffer(struct.pack("=II", (key[0] ^ launch * 0x9E3779B9) & 0xffffffff, key[1]) +
                                          self.job[8:], len(self.job))
        first, number = ctypes.c_uint64(0), ctypes.c_uint64(self.rows or self.count)
        size, at = ctypes.c_uint32(self.tensor.element_size()), ctypes.c_uint64(self.tensor.data_ptr())
        if self.rows:
            kernels.launch("km_generate_rows", min(self.rows, 65536), job, first, number, size, at)
        else:
            kernels.launch("km_generate", min((self.count + 255) // 256, 8192), job, first, number, size, at)


class Timer:
    """A call of a module, its inputs on the GPU, and what stands before each launch of it."""

    def __init__(self, request, jobs):
        os.environ["CUDA_VISIBLE_DEVICES"] = request["gpu"]
        if not torch.cuda.is_available():
            raise Refused(NO_GPU, "it finds none")
        torch.cuda.init()
        self.spin_ns, self.queued = SPIN_NS, True
        self.flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
        self.kernels = Kernels()
        size = len(jobs) // max(1, len(request["inputs"]))
        self.inputs = {spec["name"]: Input(spec, bytes(jobs[i * size:(i + 1) * size]))
                       for i, spec in enumerate(request["inputs"])}
        self.blocks = 8 * torch.cuda.get_device_properties(0).multi_processor_count
        self.model_class = load_model(request["source"])
        self.prepare(request)

    def prepare(self, request):
        values = {name: made.tensor for name, made in self.inputs.items()}
        floats = [t.dtype for t in values.values() if t.dtype.is_floating_point]
        values.update(request["values"])
        self.make_inputs(0)
        try:
            model = self.model_class().eval()
            model = model.to(device="cuda", dtype=floats[0]) if floats else model.to(device="cuda")
            arguments = arguments_of(model, values)
            if request["mode"] == "compile":
                model = torch.compile(model)
            self.call = lambda: model(**arguments)
            got = outputs_of(self.call(), request["outputs"])
            del got
            for _ in range(WARM_CALLS):
                torch.cuda.synchronize()
                begin = time.perf_counter_ns()
                self.call()
                self.spin_ns = min(MOST_SPIN_NS, SPIN_NS + 2 * (time.perf_counter_ns() - begin))
            torch.cuda.synchronize()
        except Refused:
            raise
        except Exception as reason:
            raise failure(reason)

    def make_inputs(self, launch):
        for made in self.inputs.values():
            made.make(self.kernels, launch)

    def queue(self, start, end):
        """Spin, write and read 512 MiB, the call between two events: all queued before the first event comes, or it is
        the host that is timed."""
        memory, words = ctypes.c_uint64(self.flush.data_ptr()), ctypes.c_uint64(FLUSH_BYTES // 16)
        self.kernels.launch("km_spin", 1, ctypes.c_uint64(self.spin_ns))
        self.kernels.launch("km_write", self.blocks, memory, words, ctypes.c_uint32(1))
        self.kernels.launch("km_read", self.blocks, memory, words, memory)
        start.record()
        self.call()
        end.record()
        return not start.query()

    def sample(self, launch):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.make_inputs(launch)
        for _ in range(PATIENCE_OF_QUEUE):
            torch.cuda.synchronize()
            in_time = self.queue(start, end)
            end.synchronize()
            if in_time or not self.queued or self.spin_ns >= MOST_SPIN_NS:
                break
            self.spin_ns *= 2
        self.queued &= in_time
        return start.elapsed_time(end) * 1000

    def samples(self):
        """Until the 95% interval of the median is within 0.5% of it, but at least 100."""
        taken, deadline = [], time.monotonic() + SAMPLING_S
        while len(taken) < MOST_SAMPLES and time.monotonic() < deadline:
            taken.append(self.sample(len(taken) + 1))
            if len(taken) >= LEAST_SAMPLES and len(taken) % STEP_SAMPLES == 0:
                ordered, half = sorted(taken), 0.98 * math.sqrt(len(taken))
                low, high = ordered[int(len(taken) / 2 - half)], ordered[int(len(taken) / 2 + half)]
                if high - low <= 0.01 * ordered[len(taken) // 2]:
                    break
        return taken


def measure(stream, request, jobs):
    with torch.no_grad():
        try:
            timer = Timer(request, jobs)
        except Refused:
            raise
        except Exception as reason:
            raise Refused(NO_GPU, f"{type(reason).__name__}: {reason}")
        answer(stream, READY, b"")
        receive(stream, 1)
        try:
            taken = timer.samples()
        except Exception as reason:
            raise failure(reason)
    return json.dumps({"samples_us": taken, "queued": timer.queued}).encode()


def describe():
    return json.dumps({"torch": str(torch.__version__), "cuda": torch.version.cuda}).encode()


def work(stream, request, part):
    request = json.loads(request)
    try:
        if request["do"] == "time":
            answer(stream, OK, measure(stream, request, part))
        else:
            answer(stream, OK, describe() if request["do"] == "describe" else run(request, read_tensors(part)))
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
            request, part = receive(stream, texts), receive(stream, tensors)
        except (EOFError, OSError):
            stream.close()
            return True
        pid = os.fork()
        if pid == 0:
            try:
                self.packets.close()
                for other, _ in self.children.values():
                    other.close()
                torch.seed()    # so that a module which draws random numbers is found out
                work(stream, bytes(request), part)
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
