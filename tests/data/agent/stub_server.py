#!/usr/bin/env python3
"""An OpenAI-compatible server without a model, for tests.

usage: stub_server.py PORT_FILE LOG_FILE SOURCES... [--status N] [--first N] [--delay SECONDS] [--bodies FILE]

The k-th assistant message of a conversation tests SOURCES[k], the last one is submitted. Each request
adds a line to LOG_FILE: the SHA-256 of its body. --status makes the first --first requests fail. --bodies keeps whole requests.
"""
import argparse
import hashlib
import http.server
import json
import os
import threading
import time

parser = argparse.ArgumentParser()
parser.add_argument("port_file")
parser.add_argument("log_file")
parser.add_argument("sources", nargs="+")
parser.add_argument("--status", type=int, default=200)
parser.add_argument("--first", type=int, default=0)
parser.add_argument("--delay", type=float, default=0)
parser.add_argument("--bodies")
options = parser.parse_args()
sources = [open(path).read() for path in options.sources]
lock = threading.Lock()
seen = 0


class Handler(http.server.BaseHTTPRequestHandler):
    def reply(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except BrokenPipeError:
            pass    # the client was killed, as some tests do

    def do_POST(self):
        global seen
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with lock:
            seen += 1
            number = seen
            with open(options.log_file, "a") as log:
                log.write(hashlib.sha256(body).hexdigest() + "\n")
            if options.bodies:
                with open(options.bodies, "ab") as bodies:
                    bodies.write(body + b"\n")
        time.sleep(options.delay)
        if number <= options.first:
            self.reply(options.status, {"error": {"message": "not now"}})
            return
        if self.headers.get("Authorization") != "Bearer sk-test-key":
            self.reply(401, {"error": {"message": "wrong key"}})
            return
        request = json.loads(body)
        step = sum(m["role"] == "assistant" for m in request["messages"])
        step = min(step, len(sources) - 1)
        tool = "submit" if step == len(sources) - 1 else "test"
        call = {"id": "r%d" % number, "type": "function",
                "function": {"name": tool, "arguments": json.dumps({"source": sources[step]})}}
        self.reply(200, {"model": "stub-1", "choices": [{"finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": "Step %d." % step, "tool_calls": [call]}}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10}})

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(options.port_file + ".tmp", "w") as file:
    file.write(str(server.server_port))
os.rename(options.port_file + ".tmp", options.port_file)
server.serve_forever()
