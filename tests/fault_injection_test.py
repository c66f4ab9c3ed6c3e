"""Every verb that writes, killed or failed at each call that changes files: what it writes is all old or all new, and the next
run takes away what was left."""
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from check_rules_test import F, floats, model, node
from conftest import SOURCE
from models.checkpoints import copy_checkpoint

FIXTURES = SOURCE / "tests" / "fixtures"
# Calls before the first that gives a file a name, of which so many are tried.
SAMPLED = 4


@pytest.fixture(scope="module")
def place_of(tmp_path_factory):
    """A folder in memory, where that is to be had: what is flushed takes no time there."""
    if not os.access("/dev/shm", os.W_OK):
        yield lambda name: tmp_path_factory.mktemp(name)
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield lambda name: Path(tempfile.mkdtemp(prefix=name, dir=folder))


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    if not shutil.which("gcc"):
        pytest.skip("no gcc to make the library that stops the command")
    library = tmp_path_factory.mktemp("shim") / "stop_at.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, SOURCE / "tests" / "tools" / "stop_at.c", "-ldl"], check=True)
    return library


def product(path, seed, rows="rows", out=None, data=None):
    """Two products, with weights in a file of their own; of other numbers for another seed."""
    rng = np.random.default_rng(seed)
    weights = [numpy_helper.from_array(rng.standard_normal((64, 64)).astype(np.float32), name) for name in "wv"]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"], f"first of {seed}"), helper.make_node("MatMul", ["h", "v"], ["i"], "second"),
             helper.make_node("Relu", ["i"], ["y"]) if seed == 1 else helper.make_node("Tanh", ["i"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, 64])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [out or rows, 64])], weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.parent.mkdir(exist_ok=True)
    onnx.save(made, path, save_as_external_data=True, location=data or f"{path.stem}.data", size_threshold=0)


def checkpoint(folder, part, seed):
    def drawn(weights):
        rng = np.random.default_rng(seed)
        return {k: (t, dims, (np.frombuffer(data, np.uint16) ^ np.uint16(rng.integers(2) << 15)).tobytes())
                for k, (t, dims, data) in weights.items()}
    copy_checkpoint(FIXTURES / "qwen2_5_vl" / part, folder, change=drawn)
    (folder / "tokenizer.json").write_text(f'{{"seed": {seed}}}')
    (folder / "tokenizer_config.json").write_text("{}")


def models(folder, seed):
    product(folder / "m.onnx", seed)
    product(folder / "f.onnx", seed, out="other")
    for size in (2, 3, 5):
        product(folder / f"t{size}.onnx", seed, size)
    rng = np.random.default_rng(seed)
    (folder / "samples").mkdir()
    np.savez(folder / "samples" / "0.npz", x=rng.standard_normal((3, 64)).astype(np.float32))
    np.save(folder / "x.npy", rng.standard_normal((3, 64)).astype(np.float32))
    (folder / "plan.json").write_text('{"default": "int8-blocks"}')
    shutil.copy(FIXTURES / "inputs" / ("tone.wav" if seed == 1 else "stereo.flac"), folder / "sound")


SINGLE = ["--external", "single", "--no-check"]
# What is called in a folder with inputs `in`, for outputs in `out`.
CALLS = {
    "inspect": ["inspect", "in/m.onnx", "--annotate", "-o", "out/o.onnx", "--external", "single"],
    "report": ["inspect", "in/m.onnx", "--report", "out/page.html"],
    "fix": ["fix", "in/f.onnx", "-o", "out/o.onnx", *SINGLE],
    "batch": ["batch", "in/m.onnx", "-o", "out/o.onnx", "--no-check"],
    "fix in place": ["fix", "out/o.onnx", "-o", "out/o.onnx", "--in-place", *SINGLE],
    "lift": ["lift", "in/t2.onnx", "in/t3.onnx", "in/t5.onnx", "-o", "out/o.onnx", "--no-check"],
    "optimize": ["optimize", "in/m.onnx", "-o", "out/o.onnx", *SINGLE],
    "convert": ["convert", "in/m.onnx", "--plan", "in/plan.json", "-o", "out/o.onnx", "--no-check"],
    "pin": ["pin", "in/m.onnx", "--sizes", "rows=3", "-o", "out/o.onnx", *SINGLE],
    "pin several": ["pin", "in/m.onnx", "--sizes", "rows=3", "--sizes", "rows=4", "-o", "out/o.onnx", *SINGLE],
    "split": ["split", "in/m.onnx", "--parts", "2", "-o", "out", *SINGLE],
    "build": ["build", "in", "-o", "out", "--part", "vision", "--no-check"],
    "build genai": ["build", "in", "-o", "out", "--part", "text", "--genai", "--no-check"],
    "inputs": ["inputs", "in/sound", "--for", "qwen3_asr", "-o", "out/o.npz"],
    "merge": ["sensitivity", "merge", "in/report", "-o", "out"],
    "plan": ["plan", "in/report", "--max-bytes", "1M", "-o", "out/plan.json", "--no-check"],
    "run": ["run", "in/m.onnx", "--input", "x=in/x.npy", "-o", "out/o.npz"],
    "sensitivity": ["sensitivity", "in/m.onnx", "--data", "in/samples", "-o", "out"],
}
RUNTIME = ("run", "sensitivity")
INPUTS = {"build": "tower", "build genai": "decoder"}
RESULTS = {"plan": ("out", "in/report")}  # the folders that it writes to, each for itself
# Files that a call reads, of each kind.
MODEL = ["in/m.onnx", "in/m.data"]
READ = {
    "inspect": MODEL, "report": ["in/m.onnx"], "fix": ["in/f.onnx", "in/f.data"], "batch": MODEL, "lift": ["in/t3.onnx", "in/t5.data"],
    "optimize": MODEL, "convert": [*MODEL, "in/plan.json"], "pin": MODEL, "pin several": MODEL, "split": MODEL,
    "build": ["in/model.safetensors", "in/config.json"], "build genai": ["in/tokenizer.json"], "inputs": ["in/sound"],
    "merge": ["in/report/report.json"], "plan": ["in/report/report.json"], "run": [*MODEL, "in/x.npy"],
    "sensitivity": [*MODEL, "in/samples/0.npz"],
}
# The call, and what the outputs' folder holds: nothing, an older result, also beside a file of the user's or a folder;
# an older result where no two folders can be exchanged; where files have no existence without a name; and where ONNX Runtime loads
# the new one first.
CASES = [*((call, "over an older") for call in CALLS),
         *((call, place) for call in ("split", "optimize") for place in ("new", "with a file", "with a folder")),
         *((call, place) for call in ("split", "build genai", "pin several") for place in ("without exchange",)),
         *((call, place) for call in ("split", "fix") for place in ("without nameless files", "loaded"))]
THOROUGH = [("optimize", "over an older"), *(("split", place) for place in ("over an older", "with a folder", "without exchange")),
            ("build genai", "over an older")]


@pytest.fixture(scope="module")
def start_of(thaw, place_of):
    """A folder to call in: inputs, and outputs as an older call has made them of other inputs."""
    made = {}

    def inputs(folder, kind, seed):
        folder.mkdir()
        if kind:
            return checkpoint(folder / "in", kind, seed)
        models(folder / "in", seed)
        thaw("sensitivity", "in/m.onnx", "--data", "in/samples", "-o", "in/report", code=0, cwd=folder)

    def make(call, place):
        kind = INPUTS.get(call, "")
        if kind not in made:
            folder = place_of("start")
            inputs(folder / "now", kind, 1)
            inputs(folder / "before", kind, 2)
            made[kind] = folder
        folder = place_of("case") / "start"
        shutil.copytree(made[kind] / "before", folder)
        if call == "fix in place":
            product(folder / "out" / "o.onnx", 1, out="other", data="o.onnx.data")
            return folder
        (folder / "out").mkdir()
        if place != "new":
            thaw(*CALLS[call], code={0, 1}, cwd=folder, runtime=call in RUNTIME)
            if call == "sensitivity":
                (folder / "out" / "measured.jsonl").unlink()  # goes on while it measures
        shutil.rmtree(folder / "in")
        shutil.copytree(made[kind] / "now" / "in", folder / "in")
        if place == "with a file":
            (folder / "out" / "README").write_text("mine")
        if place == "with a folder":
            (folder / "out" / "notes").mkdir()
            (folder / "out" / "notes" / "README").write_text("mine")
        return folder
    return make


def content(path):
    """The bytes of a file, of a model with its weights: those may lie under other names."""
    if path.suffix != ".onnx":
        return path.read_bytes()
    return onnx.load(path).SerializeToString()


def is_left(name):
    return ".thaw-" in name


def is_data(name):
    return name.endswith((".data", "measured.jsonl"))


def outputs(folder, result):
    """What is there, without data and what a killed run has left."""
    names = [str(p.relative_to(folder)) for p in (folder / result).rglob("*") if p.is_file()]
    return {name: content(folder / name) for name in names if not is_data(name) and not is_left(name)}


def files_in(folder):
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


def is_missing_some(now, before, after):
    """Whether entries are missing, and none of the new ones is beside one of the old."""
    changed = {name for name in {**before, **after} if before.get(name) != after.get(name)}
    return all(now[name] in (before.get(name), after.get(name)) for name in now) and any(
        all(now.get(name) in (None, whole.get(name)) for name in changed) for whole in (before, after))


def tried(calls, how, every, start):
    """The numbers of the calls that are tried: where the process is killed every so many of those that give files names."""
    first = next((i for i, call in enumerate(calls) if call.split()[1] in ("linkat", "renameat", "exchange", "renameat2")), 0)
    early, late = list(range(1, first + 1)), list(range(first + 1, len(calls) + 1))
    if os.environ.get("THAW_ALL_CALLS"):
        return early + late
    if how != "kill":
        every, start = max(every, 4), start + ("eio", "enospc").index(how) * 2
    late = late[start % every::every]
    return early[::max(1, len(early) // SAMPLED)] + late


@pytest.mark.parametrize("how", ["kill", "eio", "enospc"])
@pytest.mark.parametrize(("call", "place"), CASES)
def test_the_old_or_the_new(thaw, shim, start_of, place_of, call, place, how):
    start, work = start_of(call, place), place_of("work")
    folder, log = work / "folder", work / "log"
    environment = dict(os.environ)
    if call not in RUNTIME and place != "loaded":
        environment["THAW_ONNXRUNTIME"] = "none"
    if place == "without exchange":
        environment["STOP_NO_EXCHANGE"] = "1"
    if place == "without nameless files":
        environment["STOP_NAMED"] = "1"

    def called(**also):
        return subprocess.run([thaw.path, *CALLS[call]], cwd=folder, env=environment | also, capture_output=True, text=True, timeout=60)

    def stopped(number):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(start, folder)
        log.write_text("")
        run = called(LD_PRELOAD=str(shim), STOP_AT=str(number), STOP_LOG=str(log), STOP_HOW=how)
        return run, log.read_text().split("\n")[:-1]

    def results(of):
        return [outputs(of, result) for result in RESULTS.get(call, ("out",))]

    run, calls = stopped(0)
    assert run.returncode in (0, 1), run.stderr
    before, after, all_files, seen = results(start), results(folder), files_in(folder), set()
    assert before != after and not any(map(is_left, all_files)), all_files
    inputs = [name for name in files_in(start) if name.startswith("in/") and not name.startswith(RESULTS.get(call, ("out",)))]
    exchanges = any(line.endswith(" exchange") for line in calls)
    # Verbs that write one model go the same way: others of the calls for each.
    every = 1 if (call, place) in THOROUGH else 3
    for number in tried(calls, how, every, CASES.index((call, place))):
        run, reached = stopped(number)
        where = f"{how} at {reached[number - 1:number]}: exit {run.returncode} {run.stderr}{sorted(files_in(folder))}"
        for now, old, new in zip(results(folder), before, after, strict=True):
            seen.add("new" if now == new else "old")
            if now in (old, new):
                continue
            assert how == "kill" and not exchanges and len(new) > 1 and is_missing_some(now, old, new), where
        if how == "kill":
            assert run.returncode == -9, where
        elif run.returncode == 2:
            assert len(run.stderr.splitlines()) == 1 and run.stderr.startswith("thaw: "), where
            # What a folder that cannot be flushed has is in place, and the error says so.
            assert results(folder)[0] == before[0] or "in place" in run.stderr or call in ("sensitivity", "plan"), where
        else:
            assert run.returncode in (0, 1) and results(folder) == after, where
        for name in inputs:
            assert (folder / name).read_bytes() == (start / name).read_bytes(), (where, name)
        again = called()
        assert again.returncode in (0, 1) and results(folder) == after, (where, again.stderr, sorted(files_in(folder)))
        files = files_in(folder)
        assert not any(map(is_left, files)) and len(files) == len(all_files), (where, sorted(files))
    assert seen and (how != "kill" or every > 1 or seen == {"old", "new"}), seen


@pytest.mark.parametrize(("call", "read"), [(call, read) for call, files in READ.items() for read in files])
def test_a_source_that_changes(thaw, shim, start_of, place_of, call, read):
    """Written to in place while it is read, once the output is being written: nothing is."""
    start, work = start_of(call, "over an older"), place_of("work")
    folder, log = work / "folder", work / "log"
    environment = os.environ | {"LD_PRELOAD": str(shim), "STOP_LOG": str(log), "STOP_HOW": "overwrite", "STOP_FILE": read}
    before = outputs(start, "out")

    def stopped(number):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(start, folder)
        log.write_text("")
        run = subprocess.run([thaw.path, *CALLS[call]], cwd=folder, env=environment | {"STOP_AT": str(number)}, capture_output=True, text=True, timeout=60)
        return run, [line.split()[1] for line in log.read_text().splitlines()]

    calls = stopped(0)[1]
    # The flush of the first file; some files are read later.
    last = len(calls) - 1 - calls[::-1].index("write")
    number = calls.index("fsync", last if call in ("sensitivity", "build genai") else 0) + 1
    run, _ = stopped(number)
    lines = run.stderr.splitlines()
    assert run.returncode == 2 and len(lines) == 1, (run, calls)
    assert read in lines[0] and "has changed since it was read" in lines[0], lines
    assert outputs(folder, "out") == before and not any(map(is_left, files_in(folder)))


@pytest.mark.parametrize("width", [1 << 13, 1 << 18])  # copied by the process, and by the system
def test_a_file_that_is_shortened_while_it_is_read(thaw, shim, tmp_path, width):
    big = model([node("Add", ["x", "w"], "p"), node("Relu", ["p"], "y")], [("x", F, [1, width])], [("y", F, None)], [floats("w", width)])
    path, out = tmp_path / "m.onnx", tmp_path / "out.onnx"
    path.write_bytes(big.SerializeToString())
    environment = {**os.environ, "LD_PRELOAD": str(shim), "STOP_AT": "1", "STOP_HOW": "shorten", "STOP_FILE": str(path)}
    run = subprocess.run([thaw.path, "batch", path, "-o", out, "--no-check"], env=environment, capture_output=True, text=True, timeout=60)
    assert run.returncode == 2 and "is shorter than it was" in run.stderr and str(path) in run.stderr, run
    assert sorted(os.listdir(tmp_path)) == ["m.onnx"]
