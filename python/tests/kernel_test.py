"""A notebook's kernel that is interrupted, restarted or killed: the worker is another or gone."""
import time

import pytest

from conftest import mlp, model

jupyter_client = pytest.importorskip("jupyter_client")
pytest.importorskip("ipykernel")


@pytest.fixture
def kernel():
    manager = jupyter_client.KernelManager(kernel_name="python3")
    manager.start_kernel()
    yield manager
    manager.shutdown_kernel(now=True)


def client_of(kernel):
    client = kernel.client()
    client.start_channels()
    client.wait_for_ready(timeout=120)
    return client


def said(client, code, timeout=120):
    """What a cell prints, and the name of the error that ends it."""
    printed, wrong = [], []

    def take(message):
        if message["msg_type"] == "stream":
            printed.append(message["content"]["text"])
        elif message["msg_type"] == "error":
            wrong.append(message["content"]["ename"])

    client.execute_interactive(code, timeout=timeout, output_hook=take, store_history=False)
    return "".join(printed).strip(), wrong[0] if wrong else None


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone_within(pid, seconds):
    end = time.monotonic() + seconds
    while is_alive(pid):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


CELL = """
import os
import numpy as np
import onnx_thaw as thaw

def children():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == os.getpid():
                    found.append(int(pid))
        except OSError:
            pass
    return found

session = thaw.Session(PATH)
assert session.run({"x": np.zeros((1, 2, 32), np.float32)})["y"].shape == (1, 2, 32)
print(*children())
"""


@pytest.mark.parametrize("now", [True, False])
def test_a_kernel_that_is_restarted_has_another_worker(save, kernel, now):
    code = f"PATH = {str(save(mlp(), 'm'))!r}\n{CELL}"
    client = client_of(kernel)
    text, wrong = said(client, code)
    assert wrong is None
    before = int(text)
    assert is_alive(before)
    client.stop_channels()
    kernel.restart_kernel(now=now)
    assert gone_within(before, 10)
    client = client_of(kernel)
    text, wrong = said(client, code)
    assert wrong is None and int(text) != before and is_alive(int(text))
    client.stop_channels()
    kernel.shutdown_kernel(now=True)
    assert gone_within(int(text), 10)


def test_a_cell_that_is_interrupted_leaves_the_kernel_as_it_was(save, kernel):
    # A loop without an end: nothing but an interrupt stops it.
    body = "b (int64 i, bool c, float[n] v) => (bool d, float[n] w) { d = Identity(c) w = Neg(v) }"
    endless = save(model(f"g (float[n] x) => (float[n] y) <bool go = {{1}}> {{ y = Loop(\"\", go, x) <body = {body}> }}"), "endless")
    client = client_of(kernel)
    code = f"PATH = {str(save(mlp(), 'm'))!r}\n{CELL}"
    text, wrong = said(client, code)
    assert wrong is None and text
    import threading
    took = []

    def interrupt():
        time.sleep(2)
        took.append(time.monotonic())
        kernel.interrupt_kernel()

    thread = threading.Thread(target=interrupt)
    thread.start()
    _, wrong = said(client, f"thaw.run({str(endless)!r}, {{'x': np.ones(2, np.float32)}})")
    ended = time.monotonic()
    thread.join()
    assert wrong == "KeyboardInterrupt" and ended - took[0] < 20  # a second on a machine that has nothing else to do
    text, wrong = said(client, "print(session.run({'x': np.ones((1, 2, 32), np.float32)})['y'].shape, len(children()))")
    assert wrong is None and text == "(1, 2, 32) 1"
    client.stop_channels()
