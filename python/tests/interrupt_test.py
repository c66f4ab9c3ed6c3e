"""Ctrl-C ends a call soon and leaves nothing behind; forks and threads have workers of their own."""
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import onnx
import pytest

import onnx_thaw as thaw
from conftest import mlp, model, numbers, python

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


def doubles(save):
    return save(model("g (float[n] x) => (float[n] y) { y = Add(x, x) }"), "doubles")


def test_a_session_goes_on_in_a_fork(save):
    """On both sides, at the same time: what one of them asks for, the other must not get."""
    done = python("""
import faulthandler, os, sys, threading
import numpy as np
import onnx_thaw as thaw
session = thaw.Session(sys.argv[1])

def check(first):
    for i in range(first, first + 40):
        assert (session.run({"x": np.full(3, i, np.float32)})["y"] == 2 * i).all()

check(0)
over, failed = False, []

def busy(first):
    while not over:
        try:
            check(first)
            thaw.check(sys.argv[1])
        except Exception as error:
            failed.append(error)
            return

threads = [threading.Thread(target=busy, args=(1000 * i,)) for i in (1, 2)]
for thread in threads:
    thread.start()
codes = []
for round in range(8):
    children = []
    for i in range(3):
        pid = os.fork()
        if pid == 0:
            faulthandler.dump_traceback_later(60, exit=True)
            check(10000 * i)
            thaw.check(sys.argv[1])
            assert thaw.run(sys.argv[1], {"x": np.ones(2, np.float32)}).outputs["y"].tolist() == [2, 2]
            os._exit(0)
        children.append(pid)
    check(5000)
    codes += [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
over = True
for thread in threads:
    thread.join()
check(0)
print(set(codes), failed)
""", doubles(save), timeout=300)
    assert done.stdout.strip() == "{0} []", done.stderr


POOL = """
import multiprocessing, sys
import numpy as np
import onnx_thaw as thaw

def double(i):
    session = thaw.Session(sys.argv[1])
    both = [session.run({"x": np.full(2, i, np.float32)})["y"].tolist()]
    if before is not None:
        both.append(before.run({"x": np.full(2, i, np.float32)})["y"].tolist())
    return both == [[2 * i, 2 * i]] * len(both)

before = None
if __name__ == "__main__":
    before = thaw.Session(sys.argv[1])
    with multiprocessing.get_context(sys.argv[2]).Pool(3) as pool:
        print(all(pool.map(double, range(24))), before.run({"x": np.ones(1, np.float32)})["y"].tolist())
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_pools_of_processes(save, tmp_path, method):
    script = tmp_path / "pool.py"
    script.write_text(POOL)
    done = subprocess.run([sys.executable, script, doubles(save), method], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.strip() == "True [2.0]", done.stderr


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_a_data_loader(save, tmp_path, method):
    pytest.importorskip("torch")
    script = tmp_path / "loader.py"
    script.write_text("""
import sys
import numpy as np, torch
import onnx_thaw as thaw

class Doubled(torch.utils.data.Dataset):
    def __init__(self):
        self.session = thaw.Session(sys.argv[1]) if sys.argv[2] == "fork" else None
    def __len__(self):
        return 40
    def __getitem__(self, i):
        if self.session is None:
            self.session = thaw.Session(sys.argv[1])
        return self.session.run({"x": np.full(2, i, np.float32)})["y"]

if __name__ == "__main__":
    data = Doubled()
    loader = torch.utils.data.DataLoader(data, batch_size=4, num_workers=2, multiprocessing_context=sys.argv[2])
    for epoch in range(2):
        assert torch.cat(list(loader))[:, 0].tolist() == [2.0 * i for i in range(40)]
    print("fine", data[3].tolist())
""")
    done = subprocess.run([sys.executable, script, doubles(save), method], capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.strip() == "fine [6.0, 6.0]", done.stderr


def test_threads_share_a_session_and_have_their_own(save):
    path = doubles(save)
    shared, wrong = thaw.Session(path), []

    def work(first):
        own = thaw.Session(path)
        for i in range(first, first + 50):
            for session in (shared, own):
                if session.run({"x": np.full(2, i, np.float32)})["y"].tolist() != [2 * i, 2 * i]:
                    wrong.append(i)

    threads = [threading.Thread(target=work, args=(1000 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


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


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core has one thread")
def test_threads_are_bounded(save):
    code = """
import os, sys, time
import onnx_thaw as thaw
limits = thaw.Limits()
limits.threads = int(sys.argv[2])
thaw.set_limits(limits)
session = thaw.Session(sys.argv[1], threads=int(sys.argv[3]))
with open(f"/proc/self/task/{os.getpid()}/children") as file:
    worker = file.read().split()
counts = []
for _ in range(20):  # a thread of its start may still end
    counts += [len(os.listdir(f"/proc/{pid}/task")) for pid in worker]
    time.sleep(0.05)
print(min(counts))
"""
    path = save(mlp(), "m")
    one, given, free = (int(python(code, path, limit, threads).stdout) for limit, threads in ((1, 0), (1, 8), (0, 0)))
    assert one == given < free


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
