"""A client of `thaw mcp`: a process that is spoken to line by line."""
import json
import os
import selectors
import subprocess
import time

VERSION, CAPABILITIES = "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"
SECONDS = 60


class Server:
    def __init__(self, thaw, *words, initialize="2025-11-25", **kw):
        self.process = subprocess.Popen([thaw.path, "mcp", *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, **kw)
        self.last, self.rest = 0, b""
        if initialize:
            self.introduction = self.ask("initialize", protocolVersion=initialize, capabilities={}, clientInfo={"name": "test", "version": "1"})
            self.notify("notifications/initialized")

    def write(self, line):
        self.process.stdin.write(line if isinstance(line, bytes) else (line + "\n").encode())
        self.process.stdin.flush()

    def send(self, method, **params):
        """Sends a request, and gives its id."""
        self.last += 1
        self.write(json.dumps({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}))
        return self.last

    def notify(self, method, **params):
        self.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))

    def read(self, seconds=SECONDS):
        """The next message; None where nothing comes, or the server has ended."""
        end = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in self.rest:
                if not selector.select(max(0, end - time.monotonic())):
                    return None
                got = os.read(self.process.stdout.fileno(), 1 << 16)
                if not got:
                    return None
                self.rest += got
        line, _, self.rest = self.rest.partition(b"\n")
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0" and ("result" in message) != ("error" in message)
        return message

    def answer(self, number):
        message = self.read()
        assert message is not None and message["id"] == number, message
        return message

    def ask(self, method, **params):
        message = self.answer(self.send(method, **params))
        assert "result" in message, message
        return message["result"]

    def refused(self, method, **params):
        return self.answer(self.send(method, **params))["error"]

    def call(self, tool, **arguments):
        """The result of a call whose arguments have the options' names, with "_" for "-"."""
        return self.ask("tools/call", name=tool, arguments={name.replace("_", "-"): value for name, value in arguments.items()})

    def report(self, tool, **arguments):
        result = self.call(tool, **arguments)
        assert not result["isError"], result
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        return result["structuredContent"]

    def error(self, tool, **arguments):
        """The sentence of a call that fails."""
        result = self.call(tool, **arguments)
        assert result["isError"], result
        text, = (part["text"] for part in result["content"])
        return text

    def children(self):
        pid = self.process.pid
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(child) for child in file.read().split()]

    def end(self):
        self.process.stdin.close()
        code = self.process.wait(timeout=SECONDS)
        rest = self.rest + self.process.stdout.read()
        errors = self.process.stderr.read().decode()
        self.process.stdout.close()
        self.process.stderr.close()
        return code, rest, errors

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None and not self.process.stdin.closed:
            code, rest, errors = self.end()
            assert kind or (code, rest, errors) == (0, b"", "")
        self.process.kill()
        self.process.wait()


def meta(version="2026-07-28", **more):
    return {"_meta": {VERSION: version, CAPABILITIES: {}, **more}}
