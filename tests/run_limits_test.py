"""ONNX Runtime runs in a process of its own: what never ends, takes all memory or crashes is an error of one line."""
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import time
import zipfile
import zlib
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from conftest import SOURCE
from costly_models import functions

F, BOOL, INT64 = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64
GIGABYTE = 1 << 30


def value(name, dtype, dims):
    return helper.make_tensor_value_info(name, dtype, dims)


def model(nodes, inputs, outputs, constants=()):
    constants = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants]
    graph = helper.make_graph(nodes, "hungry", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def endless(dims=(1, 4), reshape=()):
    """Adds 1 for ever; `reshape` freezes a size before it."""
    body = helper.make_graph([helper.make_node("Identity", ["go"], ["again"]), helper.make_node("Add", ["v", "one"], ["w"])], "body",
                             [value("i", INT64, []), value("go", BOOL, []), value("v", F, None)],
                             [value("again", BOOL, []), value("w", F, None)])
    first = [helper.make_node("Reshape", ["x", "shape"], ["start"])] if reshape else [helper.make_node("Relu", ["x"], ["start"])]
    constants = [("true", np.array(True)), ("one", np.float32(1))]
    if reshape:
        constants.append(("shape", np.array(reshape, np.int64)))
    return model([*first, helper.make_node("Loop", ["", "true", "start"], ["y"], body=body)], [value("x", F, list(dims))],
                 [value("y", F, None)], constants)


def expanded(rows):
    """Rows of four from one row: 16 bytes each."""
    return model([helper.make_node("Expand", ["x", "shape"], ["wide"]), helper.make_node("ReduceMax", ["wide"], ["y"], keepdims=0)],
                 [value("x", F, [1, 4])], [value("y", F, None)], [("shape", np.array([rows, 4], np.int64))])


def doubled():
    return model([helper.make_node("Add", ["x", "x"], ["y"])], [value("x", F, ["n", 4])], [value("y", F, ["n", 4])])


def calls(verb, path, tmp_path):
    out = tmp_path / "out.onnx"
    return {"run": ["run", path, "--random"], "verify": ["verify", path, "--against", path], "batch": ["batch", path, "-o", out],
            "lift": ["lift", path, tmp_path / "two.onnx", "-o", out]}[verb]


@pytest.mark.parametrize("verb", ["run", "verify", "batch", "lift"])
def test_a_loop_that_never_ends_is_stopped(thaw, save, tmp_path, verb):
    path = save(endless())
    if verb == "lift":
        path = save(endless(("n", 4), (2, 8)), "one")
        onnx.save(endless(("n", 4), (3, 8)), tmp_path / "two.onnx")
        values = [f"{stem}.npz" for stem in ("one", "two")]
        for name, rows in zip(values, (4, 6), strict=True):
            np.savez(tmp_path / name, x=np.ones((rows, 4), np.float32))
        extra = [word for name in values for word in ("--trace-values", tmp_path / name)]
    else:
        extra = []
    started = time.monotonic()
    run = thaw(*calls(verb, path, tmp_path), *extra, "--timeout", "3", code=1 if verb == "verify" else 2, timeout=60)
    said = run.stdout + run.stderr
    assert said.count("was stopped while the model ran, after 3 s of the call") == 1 and "--timeout" in said, said
    assert time.monotonic() - started < 20
    assert not (tmp_path / "out.onnx").exists()


def test_check_runs_no_further_once_a_run_took_too_long(thaw, save):
    """Each finding has sizes that break the model; at the first of them it never gets there."""
    base = endless(("n", 4))
    shapes = [numpy_helper.from_array(np.array([8, size], np.int64), f"s{size}") for size in (2, 4, 6)]
    after = [helper.make_node("Reshape", ["y", f"s{size}"], [f"z{size}"]) for size in (2, 4, 6)]
    graph = helper.make_graph([*base.graph.node, *after], "late", list(base.graph.input), [value(f"z{size}", F, None) for size in (2, 4, 6)],
                              [*base.graph.initializer, *shapes])
    path = save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    started = time.monotonic()
    text = thaw("check", path, "--sizes", "n=1..16", "--run", "--timeout", "3", "--all", code=1, timeout=60).stdout
    assert text.count("was stopped while the model ran, after 3 s of the call") == 1 and "not run: it took too long at other sizes" in text, text
    assert time.monotonic() - started < 15


def test_fix_says_that_nothing_was_compared(thaw, save, tmp_path):
    path = save(endless(("n", 4), (1, 4)))
    run = thaw("fix", path, "-o", tmp_path / "out.onnx", "--timeout", "1", code={0, 1}, timeout=60)
    assert not (tmp_path / "out.onnx").exists() or "was stopped while the model ran" in run.stdout, run.stdout


@pytest.mark.parametrize("rows, how", [(1 << 26, []), (1 << 40, []), (1 << 26, ["--optimization", "none"])])
def test_memory_is_limited(thaw, save, rows, how):
    line = thaw.error("run", save(expanded(rows)), "--random", "--max-memory", "300M", *how, timeout=60)
    assert "ONNX Runtime needs more than --max-memory 300 MiB" in line, line
    assert "code" in thaw.json("run", save(expanded(rows)), "--random", "--max-memory", "300M", *how, code=2)["error"]


def multiplied(count, size=1500):
    """ONNX Runtime multiplies constants while it loads this: a file of some hundred bytes that takes as long to load as is asked."""
    nodes = [helper.make_node("ConstantOfShape", ["s"], ["m0"], value=numpy_helper.from_array(np.array([1 / size], np.float32)))]
    nodes += [helper.make_node("MatMul", [f"m{i}", "m0"], [f"m{i + 1}"]) for i in range(count)]
    nodes += [helper.make_node("ReduceMax", [f"m{count}"], ["r"], keepdims=0), helper.make_node("Mul", ["x", "r"], ["y"])]
    return model(nodes, [value("x", F, ["n", 4])], [value("y", F, ["n", 4])], [("s", np.array([size, size], np.int64))])


def waited(what, *said):
    started_at = time.monotonic()
    return what(*said), time.monotonic() - started_at


@pytest.fixture(scope="module")
def slow_to_load(thaw, tmp_path_factory):
    """A model, and how long a call of one load takes: the least of several, as the machine may have been busy with something else."""
    path = tmp_path_factory.mktemp("slow") / "model.onnx"
    onnx.save(multiplied(20), path)
    return path, min(waited(lambda: thaw("run", path, "--sizes", "n=2", code=0))[1] for _ in range(4))


@pytest.mark.parametrize("verb", ["verify", "optimize", "pin"])
def test_loads_of_one_call_have_one_time(thaw, slow_to_load, tmp_path, verb):
    """The model loads within the time once, and no call takes it as often as it loads."""
    path, once = slow_to_load
    seconds = round(1.3 * once, 2)
    out = tmp_path / "out.onnx"
    call = {"verify": ["--against", path, "--sizes", "n=2|3"], "optimize": ["-o", out], "pin": ["--sizes", "n=3", "-o", out]}[verb]
    run, took = waited(lambda: thaw(verb, path, *call, "--timeout", seconds, code={0, 1, 2}))
    assert took < seconds + max(1, 0.1 * seconds) + 0.5 * once + 2, (took, once)
    if run.returncode != 0:
        assert f"{seconds:g} s" in run.stdout + run.stderr, run
    if verb == "verify":  # two models, one after the other, each of which loads in the time
        assert run.returncode != 0 and f"after {seconds:g} s of the call" in run.stdout + run.stderr, run


def turning(nodes, constants, last, turns, dims):
    """Nodes, and behind the last value a Loop of so many turns."""
    body = helper.make_graph([helper.make_node("Identity", ["go"], ["again"]), helper.make_node("Add", ["v", "one"], ["w"])], "body",
                             [value("i", INT64, []), value("go", BOOL, []), value("v", F, None)], [value("again", BOOL, []), value("w", F, None)])
    return model([*nodes, helper.make_node("Loop", ["turns", "true", last], ["y"], body=body)], [value("x", F, dims)], [value("y", F, None)],
                 [*constants, ("true", np.array(True)), ("one", np.float32(1)), ("turns", np.array(turns, np.int64))])


def test_runs_of_one_call_have_one_time(thaw, save):
    """Each run ends in time, all of them do not; and those that are left are not begun."""
    path = save(turning([], [], "x", 300_000, ["n", 4]))
    _, once = waited(lambda: thaw("run", path, "--sizes", "n=2", code=0))
    sizes = "|".join(str(n) for n in range(1, 41))
    for times in (2, 4, 8, 16):  # of 80 runs; a machine that is busy with something else gets through none in a short time
        seconds = round(times * once + 0.5, 2)
        run, took = waited(lambda limit=seconds: thaw("verify", path, "--against", path, "--sizes", f"n={sizes}", "--timeout", limit, code=1))
        assert took < seconds + max(1, 0.1 * seconds) + 2, (took, once)
        assert "after" in run.stdout and "of the call" in run.stdout, run.stdout
        if re.search(r"agrees +n=1\b", run.stdout):
            return
    raise AssertionError(run.stdout)


def test_sensitivity_ends_with_its_time_and_goes_on_where_it_was(thaw, save, tmp_path):
    """What was not asked for any more is no failure of the nodes."""
    rng = np.random.default_rng(0)
    nodes = [helper.make_node("MatMul", [f"h{i}" if i else "x", f"w{i}"], [f"h{i + 1}"], name=f"n{i}") for i in range(8)]
    weights = [(f"w{i}", (rng.standard_normal((32, 32)) / 6).astype(np.float32)) for i in range(8)]
    path = save(turning(nodes, weights, "h8", 60_000, [2, 32]))
    (tmp_path / "data").mkdir()
    np.savez(tmp_path / "data" / "0.npz", x=rng.standard_normal((2, 32)).astype(np.float32))
    call = ["sensitivity", path, "--data", tmp_path / "data", "--to", "int4", "--no-optimize"]
    _, took = waited(lambda: thaw(*call, "-o", tmp_path / "whole", code=0))
    units = json.loads((tmp_path / "whole" / "report.json").read_text())["units"]
    for share in (0.4, 0.8):
        out = tmp_path / f"report {share}"
        run = thaw(*call, "-o", out, "--timeout", round(share * took, 2), code={0, 2})
        assert "of the call" in run.stderr or run.returncode == 0, run
        assert not (out / "report.json").exists() or run.returncode == 0
        assert '"why"' not in (out / "measured.jsonl").read_text()
        thaw(*call, "-o", out, "--resume", code=0)
        report = json.loads((out / "report.json").read_text())
        assert report["failed"] == 0 and report["units"] == units


@pytest.mark.parametrize("call", [["check"], ["optimize", "--no-check", "-o", "out.onnx"]], ids=lambda call: call[0])
def test_what_thaw_itself_computes_ends_too(thaw, save, tmp_path, call):
    path = save(functions(48, 2))
    options = ["--max-visits", str(10**15), "--timeout", "0.5"]
    line, took = waited(lambda: thaw.error(call[0], path, *call[1:], *options, cwd=tmp_path, timeout=60))
    assert "the call was ended after 0.5 s, while inferring sizes" in line and "--timeout" in line, line
    assert 1 < took < 5 and os.listdir(tmp_path) == [path.name]
    error = json.loads(thaw(call[0], path, *call[1:], *options, "--format", "json", cwd=tmp_path, timeout=60, code=2).stdout)["error"]
    assert error["code"] == "out_of_budget" and "inferring sizes" in error["what"]


def test_memory_is_of_both_processes(thaw, save, tmp_path):
    """What the call holds is not ONNX Runtime's to take, and the other way round."""
    nodes = [helper.make_node("ReduceMax", ["a"], ["m"], keepdims=0), helper.make_node("Expand", ["m", "shape"], ["wide"]),
             helper.make_node("ReduceMax", ["wide"], ["y"], keepdims=0)]
    path = save(model(nodes, [value("a", F, ["n", 1024])], [value("y", F, [])], [("shape", np.array([1024 * 40, 1024], np.int64))]))
    for rows, code in ((4, 0), (1024 * 36, 2)):  # 160 MiB in ONNX Runtime, twice; beside nothing, and beside 144 MiB
        np.save(tmp_path / "a.npy", np.zeros((rows, 1024), np.float32))
        run = thaw("run", path, "--input", f"a={tmp_path / 'a.npy'}", "--max-memory", "400M", "--optimization", "none", code=code)
        assert code == 0 or "needs more than --max-memory 400 MiB" in run.stderr, run
    three = save(model([helper.make_node("ReduceMax", [n], ["m" + n], keepdims=0) for n in "abc"], [value(n, F, ["n", 1024]) for n in "abc"],
                       [value("m" + n, F, []) for n in "abc"]))
    given = [word for n in "abc" for word in ("--input", f"{n}={tmp_path / 'a.npy'}")]
    assert "the call needs more than --max-memory 300 MiB" in thaw.error("run", three, *given, "--max-memory", "300M")
    thaw("run", three, *given, "--max-memory", "2G", code=0)


def test_memory_is_of_all_models_at_once(thaw, save):
    """Two that are loaded at a time count together; those that are closed do not."""
    size = 5000
    nodes = [helper.make_node("ConstantOfShape", ["s"], ["held"], value=numpy_helper.from_array(np.array([1 / size], np.float32))),
             helper.make_node("MatMul", ["x", "held"], ["y"])]
    path = save(model(nodes, [value("x", F, ["n", size])], [value("y", F, ["n", size])], [("s", np.array([size, size], np.int64))]))
    enough = next(m for m in range(125, 500, 25) if thaw("run", path, "--sizes", "n=2", "--max-memory", f"{m}M").returncode == 0)
    two = ["verify", path, "--against", path, "--sizes", "n=1|2|3"]
    run = thaw(*two, "--max-memory", f"{enough}M", code={1, 2})
    assert f"needs more than --max-memory {enough} MiB" in run.stdout + run.stderr, run
    thaw(*two, "--max-memory", f"{enough + 150}M", code=0)


def test_many_threads_take_nothing_of_the_limit(thaw, save):
    """Stacks do not count, however many there are."""
    thaw("run", save(doubled()), "--sizes", "n=3", "--threads", "64", "--max-memory", "300M", code=0)


def test_results_count_too(thaw, save):
    """Each output is small enough, all of them are not."""
    names = [f"y{i}" for i in range(40)]
    nodes = [helper.make_node("Expand", ["x", "shape"], [name]) for name in names]
    many = model(nodes, [value("x", F, [1, 4])], [value(name, F, None) for name in names], [("shape", np.array([1 << 20, 4], np.int64))])
    assert "needs more than --max-memory" in thaw.error("run", save(many), "--random", "--max-memory", "300M", timeout=60)


@pytest.mark.parametrize("limit", ["1M", "10M", "20M", "30M", "50M"])
def test_too_little_to_load_it_is_an_error(thaw, save, limit):
    run = thaw("run", save(doubled()), "--sizes", "n=3", "--max-memory", limit, code={0, 2})
    assert run.returncode == 0 or f"needs more than --max-memory {limit[:-1]} MiB" in run.stderr, run.stderr
    assert len(run.stderr.splitlines()) <= 1 and (run.returncode == 2 or limit not in ("1M", "10M")), run


@pytest.mark.parametrize("kilobytes", [60_000, 80_000, 90_000, 100_000, 120_000, 150_000])
def test_a_limit_from_outside_is_an_error_too(thaw, save, kilobytes):
    command = f"ulimit -v {kilobytes}; exec '{thaw.path}' run '{save(doubled())}' --sizes n=3"
    run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert run.returncode in (0, 2) and len(run.stderr.splitlines()) <= 1, run
    assert run.returncode == 0 or run.stderr.startswith("thaw: "), run


def test_limits_are_numbers(thaw, save):
    path = save(doubled())
    assert "--timeout" in thaw.error("run", path, "--timeout", "soon")
    assert "--timeout" in thaw.error("run", path, "--timeout", "-1")
    assert "--max-memory" in thaw.error("run", path, "--max-memory", "much")
    thaw("run", path, "--sizes", "n=3", "--timeout", "0", "--max-memory", "1GB", code=0)
    assert "--timeout" not in thaw("inspect", "--help").stdout


def state(pid):
    """As /proc says: Z has ended, and waits to be collected."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "gone"


def group(pid):
    lines = subprocess.run(["ps", "-e", "-o", "pgid=,pid="], capture_output=True, text=True).stdout.splitlines()
    return [int(member) for leader, member in map(str.split, lines) if int(leader) == pid]


def started(thaw, *arguments, members=2, **kw):
    """A call in a process group of its own, once its worker is there, and the group."""
    process = subprocess.Popen([thaw.path, *map(str, arguments)], start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, **kw)
    deadline = time.monotonic() + 30
    while len(group(process.pid)) < members and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)  # it runs
    return process, group(process.pid)


@pytest.mark.parametrize("everyone", [True, False], ids=["Ctrl-C", "to the command alone"])
@pytest.mark.parametrize("what", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_signal_ends_both_processes_and_leaves_nothing(thaw, save, tmp_path, what, everyone):
    path = save(endless())
    before = sorted(os.listdir(tmp_path))
    process, members = started(thaw, "batch", path, "-o", tmp_path / "out.onnx", "--timeout", "0")
    assert len(members) == 2
    (os.killpg if everyone else os.kill)(process.pid, what)
    sent = time.monotonic()
    assert process.wait(timeout=5) == -what
    while any(state(pid) not in ("Z", "gone") for pid in members) and time.monotonic() - sent < 5:
        time.sleep(0.01)
    assert time.monotonic() - sent < 2, [state(pid) for pid in members]
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("what", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL, signal.SIGBUS])
def test_a_worker_that_crashes_is_an_error(thaw, save, tmp_path, what):
    process, members = started(thaw, "run", save(endless()), "--random")
    (worker,) = set(members) - {process.pid}
    os.kill(worker, what)
    _, text = process.communicate(timeout=10)
    assert process.returncode == 2 and len(text.splitlines()) == 1 and f"was ended by {what.name}" in text, text


def test_verify_goes_on_after_a_crash(thaw, save):
    """The worker of one size ends; another runs the next."""
    path = save(endless(("n", 4)))
    process, members = started(thaw, "verify", path, "--against", path, "--sizes", "n=1|2", "--timeout", "2", "--format", "json")
    (worker,) = set(members) - {process.pid}
    os.kill(worker, signal.SIGSEGV)
    text, _ = process.communicate(timeout=60)
    assert process.returncode == 1, text
    assert "SIGSEGV" in text and "was stopped while the model ran" in text, text


def test_the_worker_is_not_for_typing(thaw):
    assert "unknown option" in thaw.error("--onnxruntime-worker", "0", "0")


@pytest.mark.parametrize("broken", ["nothing", "not a program", "another program"])
def test_a_worker_that_cannot_be_started_is_an_error(thaw, save, tmp_path, broken):
    program = tmp_path / "worker"
    if broken == "another program":
        program = shutil.which("true")
    elif broken == "not a program":
        program.write_text("#!/no/such/shell\n")
        program.chmod(0o755)
    line = thaw.error("run", save(doubled()), "--sizes", "n=3", env={**os.environ, "THAW_WORKER": str(program)})
    assert "ONNX Runtime" in line, line


def test_a_model_is_read_by_thaw_before_onnx_runtime(thaw, tmp_path):
    """What Thaw refuses is not even a reason to start it."""
    path = tmp_path / "m.onnx"
    short = model([helper.make_node("Add", ["x"], ["y"])], [value("x", F, [1, 4])], [value("y", F, None)])
    path.write_bytes(short.SerializeToString())
    environment = {**os.environ, "THAW_WORKER": str(tmp_path / "nothing"), "THAW_ONNXRUNTIME": str(tmp_path / "nothing.so")}
    for call in (["run", path, "--random"], ["verify", path, "--against", path]):
        assert "cannot be" not in thaw.error(*call, env=environment)
    good = tmp_path / "good.onnx"
    good.write_bytes(doubled().SerializeToString())
    line = thaw.error("verify", good, "--against", path, env=environment)
    assert "1 operand" in line, line
    path.write_bytes(doubled().SerializeToString()[:-3])
    assert "m.onnx" in thaw.error("run", path, "--sizes", "n=3", env=environment)


def bomb(path, dims, name="x"):
    """An archive of zeros in the shape `dims`, whose header and sizes agree: a thousandth of what it says."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(dims)}, }}"
    start = b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + header.ljust(117).encode() + b"\n"
    size = len(start) + 4 * int(np.prod(dims))
    piece = zlib.compressobj(9, zlib.DEFLATED, -15)
    zeros = piece.compress(bytes(1 << 20)) + piece.flush(zlib.Z_FULL_FLUSH)
    first = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = first.compress(start) + first.flush(zlib.Z_FULL_FLUSH) + zeros * ((size - len(start)) >> 20)
    info = (20).to_bytes(2, "little") + b"\0\0" + (8).to_bytes(2, "little") + bytes(4) + bytes(4) + len(data).to_bytes(4, "little") + \
        size.to_bytes(4, "little") + (len(name) + 4).to_bytes(2, "little") + bytes(2)
    entry = f"{name}.npy".encode()
    local = b"PK\x03\x04" + info + entry
    directory = b"PK\x01\x02" + bytes(2) + info + bytes(2) + bytes(2) + bytes(2) + bytes(4) + bytes(4) + entry
    end = b"PK\x05\x06" + bytes(4) + (1).to_bytes(2, "little") * 2 + len(directory).to_bytes(4, "little") + \
        (len(local) + len(data)).to_bytes(4, "little") + bytes(2)
    path.write_bytes(local + data + directory + end)
    assert zipfile.ZipFile(path).infolist()[0].file_size == size
    return path


@pytest.mark.parametrize("how", ["run", "run, named", "verify", "verify, reference"])
def test_an_archive_is_refused_by_its_shapes_before_it_is_decompressed(thaw, save, tmp_path, how):
    path = save(model([helper.make_node("Relu", ["x"], ["y"])], [value("x", F, [1, 4])], [value("y", F, [1, 4])]))
    archive = bomb(tmp_path / "in.npz", [1, 1 << 29])
    assert archive.stat().st_size < 4 << 20
    named = f"x={archive}" if "named" in how else archive
    call = ["run", path, "--input", named]
    if how == "verify":
        call = ["verify", path, "--against", path, "--input", archive]
    if how == "verify, reference":
        with zipfile.ZipFile(archive, "a") as more, more.open("y.npy", "w") as file:
            np.lib.format.write_array(file, np.zeros((1, 4), np.float32))
        call = ["verify", path, "--against", archive]

    def limit():
        resource.setrlimit(resource.RLIMIT_DATA, (GIGABYTE, GIGABYTE))
    started = time.monotonic()
    line = thaw.error(*call, preexec_fn=limit, timeout=60)
    assert "float32[1,536870912]" in line and "[1,4]" in line and "in.npz" in line, line
    assert time.monotonic() - started < 10


def test_an_array_that_fits_the_model_is_held_against_memory(thaw, save, tmp_path):
    line = thaw.error("run", save(doubled()), "--input", bomb(tmp_path / "in.npz", [1 << 27, 4]), "--max-memory", "500M")
    assert "would take 2147483648 bytes" in line and "--max-memory" in line, line
    hole = tmp_path / "hole.npy"
    with open(hole, "wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (1 << 39, 4)})
        file.truncate(file.tell() + (1 << 43))
    assert "would take" in thaw.error("run", save(doubled()), "--input", f"x={hole}")


def test_what_a_trace_was_fed_is_read_by_its_shape_alone(thaw, save, tmp_path):
    """lift needs the numbers of integers only."""
    for name, rows in (("one", 4), ("two", 6)):
        save(model([helper.make_node("Reshape", ["x", "shape"], ["y"])], [value("x", F, ["n", 4])], [value("y", F, None)],
                   [("shape", np.array([rows // 2, 8], np.int64))]), name)
        bomb(tmp_path / f"{name}.npz", [1 << 27, rows])

    def limit():
        resource.setrlimit(resource.RLIMIT_DATA, (GIGABYTE, GIGABYTE))
    run = thaw("lift", tmp_path / "one.onnx", tmp_path / "two.onnx", "-o", tmp_path / "out.onnx", "--no-check", "--trace-values",
               tmp_path / "one.npz", "--trace-values", tmp_path / "two.npz", preexec_fn=limit, timeout=60)
    assert "memory" not in run.stderr, run.stderr


def test_the_page_says_what_the_limits_are():
    page = (SOURCE / "docs" / "robustness.md").read_text()
    assert all(word in page for word in ("--timeout", "--max-memory", "600", "THAW_WORKER"))
