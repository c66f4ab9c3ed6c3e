"""Ctrl-C ends a call soon and leaves nothing behind; forks and threads have workers of their own."""
import os
import signal
import subprocess
import sys
import time

import numpy as np
import onnx
import pytest

import onnx_thaw as thaw
from conftest import mlp, numbers, python

CODE = """
import sys, time, os, signal, threading
import onnx_thaw as thaw
kind, path, folder = sys.argv[1:]
thaw.load(path)
print("begun", flush=True)
try:
    if kind == "sensitivity":
        thaw.sensitivity(path, folder + "/report", data=folder + "/samples", to=["int4", "int8-blocks", "int3"])
    elif kind == "convert":
        thaw.convert(path, folder + "/out.onnx", to="int4", method="gptq", data=folder + "/samples")
    elif kind == "verify":
        thaw.verify(path, path, sizes="batch=1..64,seq=1..64", points=4000)
    elif kind == "search":
        thaw.convert(path, folder + "/out.onnx", to="int4", method="search", check=False)
    print("done", flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    print(thaw.inspect(path).outputs[0].dims, flush=True)
    x = thaw.run(path, random=True).outputs["y"]
    print("runs", flush=True)
"""


@pytest.mark.parametrize("kind", ["sensitivity", "convert", "verify", "search"])
def test_an_interrupt_ends_a_call(save, tmp_path, kind):
    path = save(mlp(width=1024 if kind == "search" else 256, layers=24), "m")
    (tmp_path / "samples").mkdir()
    for i in range(8):
        np.savez(tmp_path / "samples" / f"{i}.npz", x=numbers(4, 64, 1024 if kind == "search" else 256))
    process = subprocess.Popen([sys.executable, "-c", CODE, kind, str(path), str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.7)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    said = process.stdout.readline()
    took = time.monotonic() - begin
    rest = process.stdout.read()
    code = process.wait(timeout=60)
    if said == "done\n":
        pytest.skip("it was done before")
    assert code == 0
    assert said == "interrupted\n" and "runs" in rest
    assert took < 5, took  # a second on a machine that has nothing else to do
    if (tmp_path / "out.onnx").exists():  # written whole just before
        onnx.checker.check_model(tmp_path / "out.onnx", full_check=True)
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".") or name.endswith((".part", ".tmp"))]


def test_a_fork_has_a_worker_of_its_own(save):
    path = save(mlp(), "m")
    done = python("""
import os, sys, onnx_thaw as thaw
path = sys.argv[1]
def check():
    return thaw.run(path, random=True, sizes="batch=2,seq=3").outputs["y"].shape == (2, 3, 32)
assert check()
children = []
for _ in range(3):
    pid = os.fork()
    if pid == 0:
        os._exit(0 if check() else 1)
    children.append(pid)
assert check()
print([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children], check())
""", path)
    assert done.stdout.strip() == "[0, 0, 0] True", done.stderr


def test_no_worker_outlives_its_process(save):
    path = save(mlp(), "m")
    done = python("import os, sys, onnx_thaw as thaw; thaw.run(sys.argv[1], random=True); print(os.getpid())", path)
    time.sleep(0.5)
    parents = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                parents[int(pid)] = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            continue
    assert int(done.stdout) not in parents.values()


def test_a_call_ends_within_the_limits():
    done = python("""
import onnx_thaw as thaw
limits = thaw.Limits()
limits.timeout = 5
thaw.set_limits(limits)
print(thaw.limits().timeout)
""")
    assert done.stdout.strip() == "5.0", done.stderr
    assert thaw.limits().timeout == 0
