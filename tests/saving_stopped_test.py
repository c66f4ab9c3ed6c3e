"""A save that is killed, or that fails, at any call that changes files: the path holds the old model or the new, whole."""
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from check_rules_test import F, floats, model, node
from conftest import SOURCE, session
from models import tower_cases
from models.checkpoints import copy_checkpoint
from models.weighted import made, written

TOWER = SOURCE / "tests" / "fixtures" / "qwen2_5_vl" / "tower"
BOTH = ["w.bin", "w.bin"]
OWN = ["m.onnx.data", "m.onnx.data"]


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    if not shutil.which("gcc"):
        pytest.skip("no gcc to make the library that stops the command")
    library = tmp_path_factory.mktemp("shim") / "stop_at.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, SOURCE / "tests" / "tools" / "stop_at.c", "-ldl"], check=True)
    return library


class Case:
    """A folder before the call, the call, and what the model at `output` may answer."""

    def __init__(self, folder, output, arguments, feeds):
        self.start, self.output, self.arguments, self.feeds = folder, output, arguments, feeds

    def answer(self, folder):
        path = folder / self.output
        return session(path).run(None, self.feeds) if path.exists() else None


def fix_case(tmp_path, kind):
    feeds = {"x": np.random.default_rng(3).standard_normal((2, 11, 12), dtype=np.float32)}
    folder = tmp_path / "start"
    if kind == "in place":
        written(made(1, batched=True), folder / "m.onnx", OWN)
        return Case(folder, "m.onnx", ["fix", "m.onnx", "-o", "m.onnx", "--in-place", "--external", "single", "--no-check"], feeds)
    written(made(1, batched=True), folder / "in" / "m.onnx", BOTH)
    (folder / "out").mkdir()
    how = ["--external", "single"] if kind != "new, copied" else []
    if kind != "new" and kind != "new, copied":
        written(made(2, batched=True), folder / "out" / "m.onnx", OWN)
    return Case(folder, "out/m.onnx", ["fix", "in/m.onnx", "-o", "out/m.onnx", *how, "--no-check"], feeds)


def batch_case(tmp_path, kind):
    folder = tmp_path / "start"
    written(made(1), folder / "in" / "m.onnx", ["w.bin", "v.bin"])
    (folder / "out").mkdir()
    if kind == "over another":
        written(made(2), folder / "out" / "m.onnx", OWN)
    feeds = {"x": np.random.default_rng(3).standard_normal((1, 12), dtype=np.float32)}
    return Case(folder, "out/m.onnx", ["batch", "in/m.onnx", "-o", "out/m.onnx", "--no-check"], feeds)


def build_case(thaw, tmp_path):
    def negated(weights):
        return {k: (t, dims, (np.frombuffer(data, np.uint16) ^ 0x8000).tobytes()) for k, (t, dims, data) in weights.items()}
    folder = tmp_path / "start"
    copy_checkpoint(TOWER, folder / "older", change=negated)
    thaw("build", folder / "older", "-o", folder / "out", "--part", "vision", code=0)
    shutil.copytree(TOWER, folder / "in")
    feeds = tower_cases.inputs("qwen2_5_vl", tower_cases.CASES["qwen2_5_vl"][0], 0)
    return Case(folder, "out/vision.onnx", ["build", "in", "-o", "out", "--part", "vision"], feeds)


def case_of(thaw, tmp_path, name):
    verb, _, kind = name.partition(": ")
    if verb == "build":
        return build_case(thaw, tmp_path)
    return fix_case(tmp_path, kind) if verb == "fix" else batch_case(tmp_path, kind)


def same(a, b):
    if a is None or b is None:
        return a is b
    return all(x.shape == y.shape and np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def names(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


CASES = ["fix: new", "fix: new, copied", "fix: over another", "fix: in place", "batch: new", "batch: over another", "build: over an older"]


@pytest.mark.parametrize("how", ["kill", "fail", "kill, files with names"])
@pytest.mark.parametrize("name", CASES)
def test_the_old_model_or_the_new(thaw, shim, tmp_path, name, how):
    case = case_of(thaw, tmp_path, name)
    old, folder, log = case.answer(case.start), tmp_path / "work", tmp_path / "log"

    def stopped(number):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(case.start, folder)
        log.write_text("")
        environment = {**os.environ, "LD_PRELOAD": str(shim), "STOP_AT": str(number), "STOP_LOG": str(log), "STOP_HOW": how.split(",")[0]}
        if "names" in how:
            environment["STOP_NAMED"] = "1"
        run = subprocess.run([thaw.path, *case.arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
        return run, log.read_text().split("\n")[:-1]

    run, calls = stopped(0)
    assert run.returncode == 0, run.stderr
    new = case.answer(folder)
    assert new is not None and (name == "fix: in place" or not same(old, new))
    whole, seen = names(folder), set()
    for number in range(1, len(calls) + 1):
        run, reached = stopped(number)
        where = f"{how} at {reached[number - 1]}: exit {run.returncode} {run.stderr}"
        answer = case.answer(folder)
        assert same(answer, old) or same(answer, new), where
        seen.add("new" if same(answer, new) else "old")
        left = [n for n in names(folder) if ".thaw-" in n]
        if how == "kill":
            assert run.returncode == -9, where
            # Only a rename takes the place of a file, and it needs a name: the moment between the two is left. Before it the
            # files lie where ONNX Runtime loads them, in one folder, which the next run takes away once it is old.
            tried = [n for n in left if (folder / n).is_dir()]
            assert len(tried) <= 1 and all(n in tried or str(Path(n).parent) in tried for n in left) or (
                len(left) == 1 and reached[number - 1].endswith("renameat")), (where, left)
            for n in tried:
                os.utime(folder / n, (0, 0))
        elif how == "fail":
            # A folder that cannot be taken away stays.
            assert run.returncode in (0, 2) and (not left or reached[number - 1].endswith("remove")), (where, left)
            if run.returncode == 2 and same(answer, old) and name != "fix: in place":
                assert set(names(folder)) <= set(names(case.start)), where
        # What was left stands in nobody's way.
        again = subprocess.run([thaw.path, *case.arguments], cwd=folder, capture_output=True, text=True, timeout=60)
        assert again.returncode == 0 and (name == "fix: in place" or same(case.answer(folder), new)), (where, again.stderr)
        # In place, there may be nothing left to write.
        cleared = not any((folder / n).is_dir() for n in names(folder) if ".thaw-" in n)
        assert how != "kill" or cleared or name == "fix: in place", where
    assert seen == ({"new"} if name == "fix: in place" else {"old", "new"}) and whole


@pytest.mark.parametrize("width", [1 << 13, 1 << 18])  # copied by the process, and by the system
def test_a_file_that_is_shortened_while_it_is_read(thaw, shim, tmp_path, width):
    big = model([node("Add", ["x", "w"], "p"), node("Relu", ["p"], "y")], [("x", F, [1, width])], [("y", F, None)], [floats("w", width)])
    path, out = tmp_path / "m.onnx", tmp_path / "out.onnx"
    path.write_bytes(big.SerializeToString())
    environment = {**os.environ, "LD_PRELOAD": str(shim), "STOP_AT": "1", "STOP_HOW": "shorten", "STOP_FILE": str(path)}
    run = subprocess.run([thaw.path, "batch", path, "-o", out, "--no-check"], env=environment, capture_output=True, text=True, timeout=60)
    assert run.returncode == 2 and "is shorter than it was" in run.stderr and str(path) in run.stderr, run
    assert sorted(os.listdir(tmp_path)) == ["m.onnx"]
