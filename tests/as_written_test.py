"""What a verb writes is loaded by ONNX Runtime at its defaults before it takes its name, and nothing is left of that. What differs only by
ONNX Runtime's own fusions does not differ."""
import os
import signal
import subprocess
import time

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from convert_half_test import model, random
from convert_loads_test import contrib_qdq

F32, I64 = TensorProto.FLOAT, TensorProto.INT64


def mlp(**weights):
    return model("g (float[batch, 24] x) => (float[batch, 24] y) { t = Transpose<perm = [1, 0]>(x) u = Transpose<perm = [1, 0]>(t) "
                 "h = MatMul(u, w) r = Relu(h) y = Add(r, b) }", w=random(24, 24), b=random(24), **weights)


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


VERBS = {"optimize": [], "fix": [], "pin": ["--sizes", "batch=3"], "convert": ["--to", "int4"], "batch": [], "split": ["--parts", "2"],
         "inspect": ["--annotate"]}


@pytest.mark.parametrize("check", [True, False], ids=["run", "loaded"])
@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_loads_what_it_writes(thaw, save, tmp_path, verb, check):
    path = save(mlp())
    folder = tmp_path / "out"
    folder.mkdir()
    out = folder if verb == "split" else folder / "o.onnx"
    skip = ["--no-check"] if not check and verb != "inspect" else []
    rename = ["--rename", "batch=n"] if verb == "fix" else []  # so that there is something to write
    report = thaw.json(verb, path, *VERBS[verb], *skip, *rename, "-o", out, code=0)
    assert report["load_check"]["status"] in ("loaded", "ran"), report["load_check"]
    written = [name for name in files_below(folder) if name.endswith(".onnx")]
    assert written and files_below(folder) == sorted(os.path.relpath(name, folder) for name in report["files"])
    for name in written:
        ort.InferenceSession(folder / name, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("external", ["single", "keep"])
@pytest.mark.parametrize("where", ["beside", "elsewhere", "over"])
def test_data_files_stand_where_they_are_looked_for(thaw, tmp_path, external, where):
    """Data that is written, copied, kept beside the model, or replaced: loaded from files, and each has one name in the end."""
    source = tmp_path / "in"
    source.mkdir()
    onnx.save(mlp(), source / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=64)
    out = {"beside": source / "o.onnx", "elsewhere": tmp_path / "o.onnx", "over": tmp_path / "o.onnx"}[where]
    for _ in range(2 if where == "over" else 1):
        report = thaw.json("optimize", source / "m.onnx", "--external", external, "-o", out, code=0)
        assert report["load_check"]["status"] == "ran"
    assert not [name for name in files_below(tmp_path) if ".thaw-" in name]
    for file in report["files"]:
        assert os.stat(file).st_nlink == 1
    x = random(5, 24)
    wanted, got = (ort.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0] for path in (source / "m.onnx", out))
    np.testing.assert_allclose(got, wanted, atol=1e-5)


def test_what_is_refused_leaves_what_was_there(thaw, save, tmp_path):
    path = save(contrib_qdq(), "contrib")
    out = tmp_path / "o.onnx"
    thaw("optimize", save(mlp(), "other"), "-o", out, code=0)
    before = out.read_bytes()
    names = files_below(tmp_path)
    report = thaw.json("convert", path, "--to", "f16", "-o", out, code=1)
    assert report["load_check"]["status"] == "failed" and report["files"] == []
    assert "ONNX Runtime does not load the result" in report["load_check"]["message"] and ".thaw-" not in report["load_check"]["message"]
    assert out.read_bytes() == before and files_below(tmp_path) == names


def test_what_was_not_loaded_before_is_told_apart(thaw, save, tmp_path):
    """ONNX Runtime has no such operator; the model is no worse for it."""
    node = helper.make_node("Imagined", ["x"], ["y"], domain="some.where")
    graph = helper.make_graph([helper.make_node("Identity", ["z"], ["x"]), node], "g", [helper.make_tensor_value_info("z", F32, ["n"])],
                              [helper.make_tensor_value_info("y", F32, ["n"])])
    path = save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("some.where", 1)], ir_version=8))
    report = thaw.json("optimize", path, "--no-check", "-o", tmp_path / "o.onnx", code=0)
    assert report["load_check"]["status"] == "skipped" and "neither the result nor the original loads" in report["load_check"]["message"]
    told = thaw("optimize", path, "--no-check", "-o", tmp_path / "o.onnx", code=0).stdout
    assert "warning: not loaded in ONNX Runtime" in told


def test_without_onnx_runtime_nothing_is_loaded_and_that_is_said(thaw, save, tmp_path):
    out = tmp_path / "o.onnx"
    env = {**os.environ, "THAW_ONNXRUNTIME": "/nowhere/libonnxruntime.so"}
    report = thaw.json("optimize", save(mlp()), "--no-check", "-o", out, code=0, env=env)
    assert report["load_check"]["status"] == "skipped" and out.exists()


def test_a_killed_trial_is_cleared_away_by_the_next(thaw, tmp_path):
    """Killed while ONNX Runtime loads a model of some size, the old model stands; the next run leaves nothing but its own files."""
    path, folder = tmp_path / "m.onnx", tmp_path / "out"
    folder.mkdir()
    weights = {f"w{i}": np.ones((1500, 1500), np.float32) for i in range(6)}
    nodes = [helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"x{i + 1}"]) for i in range(6)]
    graph = helper.make_graph([*nodes, helper.make_node("Identity", ["x6"], ["y"])], "g", [helper.make_tensor_value_info("x0", F32, ["n", 1500])],
                              [helper.make_tensor_value_info("y", F32, ["n", 1500])], [numpy_helper.from_array(w, name) for name, w in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    command = [str(thaw.path), "optimize", str(path), "--external", "single", "-o", str(folder / "o.onnx")]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    left = []
    while running.poll() is None and not left:
        left = [name for name in os.listdir(folder) if name.startswith(".thaw-")]
        time.sleep(0.0005)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert not (folder / "o.onnx").exists() or not left
    for name in os.listdir(folder):
        os.utime(folder / name, (0, 0))
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    assert files_below(folder) == ["o.onnx", "o.onnx.data"]


def bert_layer(mask=-10000.0, width=8, heads=2):
    """One layer of attention as BERT has it, which ONNX Runtime fuses where it finds it in one piece."""
    rng = np.random.default_rng(0)
    weights = {name: rng.standard_normal((width, width)).astype(np.float32) for name in ("wq", "wk", "wv", "wo")}
    weights |= {name: rng.standard_normal(width).astype(np.float32) for name in ("bq", "bk", "bv", "bo", "scale", "shift")}
    weights |= {"one": np.float32(1), "far": np.float32(mask), "root": np.float32((width // heads) ** 0.5),
                "split": np.array([0, 0, heads, width // heads], np.int64), "join": np.array([0, 0, width], np.int64)}
    n = helper.make_node
    nodes = [n("LayerNormalization", ["x", "scale", "shift"], ["h"], axis=-1), n("Unsqueeze", ["kept"], ["m1"], axes=[1]),
             n("Unsqueeze", ["m1"], ["m2"], axes=[2]), n("Cast", ["m2"], ["m3"], to=F32), n("Sub", ["one", "m3"], ["m4"]),
             n("Mul", ["m4", "far"], ["m"])]
    for part, perm in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        nodes += [n("MatMul", ["h", "w" + part], [part + "0"]), n("Add", [part + "0", "b" + part], [part + "1"]),
                  n("Reshape", [part + "1", "split"], [part + "2"]), n("Transpose", [part + "2"], [part], perm=perm)]
    nodes += [n("MatMul", ["q", "k"], ["s0"]), n("Div", ["s0", "root"], ["s1"]), n("Add", ["s1", "m"], ["s2"]),
              n("Softmax", ["s2"], ["p"], axis=3), n("MatMul", ["p", "v"], ["c0"]), n("Transpose", ["c0"], ["c1"], perm=[0, 2, 1, 3]),
              n("Reshape", ["c1", "join"], ["c"]), n("MatMul", ["c", "wo"], ["o0"]), n("Add", ["o0", "bo"], ["o1"]), n("Add", ["o1", "h"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F32, ["batch", 3, width]), helper.make_tensor_value_info("kept", I64, ["batch", 3])],
                              [helper.make_tensor_value_info("y", F32, ["batch", 3, width])], [numpy_helper.from_array(np.asarray(w), name) for name, w in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=8)


def run_plainly(path, feeds):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, feeds)[0]


@pytest.mark.parametrize("verb", ["optimize", "pin"])
def test_what_only_fusions_change_is_no_difference(thaw, save, tmp_path, verb):
    """-10000 and more, added to scores: ONNX Runtime's attention rounds that otherwise, and finds itself in one of the two models alone."""
    path, out = save(bert_layer(), "bert"), tmp_path / "o.onnx"
    thaw(verb, path, *(["--sizes", "batch=2"] if verb == "pin" else []), "-o", out, code=0)
    rng = np.random.default_rng(1)
    feeds = {"x": rng.standard_normal((2, 3, 8)).astype(np.float32), "kept": np.array([[1, 7, 0], [0, 1, 1]], np.int64)}
    np.testing.assert_allclose(run_plainly(out, feeds), run_plainly(path, feeds), atol=1e-6)
