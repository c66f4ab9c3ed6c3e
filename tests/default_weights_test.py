"""Initializers that are inputs too are defaults that hardly anyone replaces: every verb takes them as the constants that they are, and says so."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

from conftest import run, validate, worst


def net(as_inputs, ir_version=8):
    """A head whose Reshape target, Slice bounds and axes are initializers; `as_inputs` lists them all as inputs too."""
    rng = np.random.default_rng(3)
    inits = [numpy_helper.from_array(rng.standard_normal((4, 3, 3, 3)).astype(np.float32), "w")]
    inits += [numpy_helper.from_array(np.array(v, np.int64), k)
              for k, v in {"to": [1, -1, 4], "start": [0], "end": [2**31], "axis": [1], "step": [2]}.items()]
    nodes = [h.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), h.make_node("Transpose", ["c"], ["t"], perm=[0, 2, 3, 1]),
             h.make_node("Reshape", ["t", "to"], ["r"], name="head"), h.make_node("Slice", ["r", "start", "end", "axis", "step"], ["y"])]
    inputs = [h.make_tensor_value_info("x", T.FLOAT, [1, 3, "h", "w_"])]
    if as_inputs:
        inputs += [h.make_tensor_value_info(t.name, t.data_type, list(t.dims)) for t in inits]
    graph = h.make_graph(nodes, "g", inputs, [h.make_tensor_value_info("y", T.FLOAT, [1, None, 4])], inits)
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=ir_version)


@pytest.mark.parametrize("ir_version", [3, 4, 8])
def test_every_verb_sees_what_it_sees_of_constants(thaw, save, tmp_path, ir_version):
    listed, plain = save(net(True, ir_version), "listed"), save(net(False), "plain")
    seen = {}
    for path in (listed, plain):
        check = thaw.json("check", path)
        inspected = thaw.json("inspect", path)
        pinned, batched, fixed = (tmp_path / f"{path.stem}_{verb}.onnx" for verb in ("pin", "batch", "fix"))
        reports = [thaw.json("pin", path, "-o", pinned, "--sizes", "h=8,w_=6", code=0), thaw.json("batch", path, "-o", batched, code=0),
                   thaw.json("fix", path, "-o", fixed, code={0, 1})]
        for verb, report in zip(("check", "inspect", "pin", "batch", "fix"), [check, inspected, *reports], strict=True):
            validate(report, verb)
            counted = report["models"][0] if verb == "pin" else report
            assert (counted["overridable_initializers"] > 0) == (path == listed and ir_version >= 4), verb
        def dims(p):
            return [d.dim_param or d.dim_value for d in onnx.load(p).graph.output[0].type.tensor_type.shape.dim]
        seen[path] = ([f["message"].replace("listed", "plain") for f in check["findings"]], inspected["outputs"], dims(pinned), dims(batched))
    assert seen[listed] == seen[plain]
    assert seen[plain][2] == [1, 24, 4] and seen[plain][3][0] == "batch"


def test_weights_stay_inputs_that_may_be_fed(thaw, save, tmp_path):
    """The weight is an input of what `batch` writes, and feeding another gives what the model gives; what became another constant is none."""
    made = tmp_path / "batched.onnx"
    thaw("batch", save(net(True)), "-o", made, code=0)
    inputs = {i.name for i in onnx.load(made).graph.input}
    assert {"x", "w"} <= inputs
    rng = np.random.default_rng(5)
    x, w = rng.standard_normal((3, 3, 6, 4)).astype(np.float32), rng.standard_normal((4, 3, 3, 3)).astype(np.float32)
    each = np.concatenate([run(net(True), {"x": x[i:i + 1], "w": w})[0] for i in range(3)])
    assert worst(run(onnx.load(made), {"x": x, "w": w}), [each]) < 1e-5
    for name in inputs - {"x"}:  # whatever is still offered is read
        assert any(name in n.input for n in onnx.load(made).graph.node)


def test_verify_still_feeds_them(thaw, save, tmp_path):
    model = save(net(True))
    np.savez(tmp_path / "feeds.npz", x=np.ones((1, 3, 4, 4), np.float32), w=np.zeros((4, 3, 3, 3), np.float32))
    ran = thaw("run", model, "--input", tmp_path / "feeds.npz", "-o", tmp_path / "out.npz")
    assert ran.returncode == 0, ran.stderr
    assert not np.load(tmp_path / "out.npz")["y"].any()


def test_optimize_leaves_them_unless_told(thaw, save, tmp_path):
    """The verb that has --constant-weights takes them as numbers that vary without it."""
    made = tmp_path / "o.onnx"
    thaw("optimize", save(net(True)), "-o", made, code=0)
    if made.exists():
        assert {"w", "to", "end"} <= {i.name for i in onnx.load(made).graph.input}
