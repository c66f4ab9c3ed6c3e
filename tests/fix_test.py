"""`thaw fix`: what it changes computes the same at the old size and the right thing at new ones; what it leaves, it says."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

from check_rules_test import F, ints, model, node
from conftest import session, worst


def resized(frozen):
    """x halved by a pool, brought back by a Resize to x's size: computed, or frozen at 38 x 62."""
    nodes = [node("AveragePool", ["x"], "p", kernel_shape=[2, 2], strides=[2, 2])]
    inits = [ints("two", [2]), ints("four", [4]), ints("zero", [0])]
    if frozen:
        inits.append(ints("sizes", [2, 3, 38, 62]))
    else:
        nodes.append(node("Shape", ["x"], "sizes"))
    nodes += [node("Resize", ["p", "", "", "sizes"], "u", mode="nearest"), node("Add", ["x", "u"], "y")]
    return model(nodes, [("x", F, ["n", 3, "h", "w"])], [("y", F, None)], inits)


def attention(frozen):
    """Splits 12 features into 3 heads and merges them again by constants frozen at batch 2, length 11."""
    b, s = 2, 11
    inits = [ints("split", [b, s, 3, 4] if frozen else [0, 0, 3, 4]), ints("merge", [b, s, 12] if frozen else [0, 0, 12])]
    nodes = [node("Reshape", ["x", "split"], "r"), node("Transpose", ["r"], "t", perm=[0, 2, 1, 3]), node("Softmax", ["t"], "m", axis=2),
             node("Transpose", ["m"], "b", perm=[0, 2, 1, 3]), node("Reshape", ["b", "merge"], "y")]
    return model(nodes, [("x", F, ["batch", "seq", 12])], [("y", F, None)], inits)


@pytest.mark.parametrize("make, sizes", [(resized, [(2, 3, 38, 62), (5, 3, 14, 26), (1, 3, 46, 22)]),
                                         (attention, [(2, 11, 12), (3, 7, 12), (5, 13, 12)])])
def test_a_frozen_size_becomes_an_expression(thaw, save, tmp_path, make, sizes):
    path, fixed = save(make(True), "frozen"), tmp_path / "fixed.onnx"
    report = thaw.json("fix", path, "-o", fixed, code=0)
    assert report["changed"] and not report["remaining"], report
    reference, mended = session(make(False)), session(fixed)
    for dims in sizes:
        feeds = {"x": np.random.default_rng(7).standard_normal(dims, dtype=np.float32)}
        assert worst(mended.run(None, feeds), reference.run(None, feeds)) == 0, dims
    assert [f for f in thaw.findings(fixed) if f["severity"] == "error"] == []


def test_a_table_is_left_and_said_so(thaw, save, tmp_path):
    table = numpy_helper.from_array(np.arange(28, dtype=np.float32).reshape(7, 4), "table")
    path = save(model([node("Add", ["x", "table"], "y")], [("x", F, ["n", 4])], [("y", F, None)], [table]))
    report = thaw.json("fix", path, "--dry-run", code=1)
    assert [n for n in report["remaining"] if n["where"] == "table" and n["code"] == "THAW013"]


def test_names_are_unique_for_each_size_and_true_ones_stay(thaw, save, tmp_path):
    nodes = [node("MaxPool", ["x"], "p", kernel_shape=[2], strides=[2]), node("Relu", ["p"], "q"), node("Relu", ["q"], "y")]
    m = model(nodes, [("x", F, ["batch", 3, "length"])], [("y", F, ["batch", 3, "half"])],
              value_info=[("p", F, ["?", 3, "length"]), ("q", F, ["batch", 3, "half"])])
    fixed = tmp_path / "fixed.onnx"
    thaw("fix", save(m), "-o", fixed, code=0)
    graph = onnx.load(fixed).graph
    dims = {v.name: [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim]
            for v in [*graph.input, *graph.value_info, *graph.output]}
    assert dims == {"x": ["batch", 3, "length"], "p": ["batch", 3, "half"], "q": ["batch", 3, "half"], "y": ["batch", 3, "half"]}


def test_a_shape_chain_becomes_zero_and_minus_one(thaw, save, tmp_path):
    nodes = [node("Shape", ["x"], "s"), node("Gather", ["s", "first"], "n", axis=0), node("Unsqueeze", ["n", "axis"], "n1"),
             node("Concat", ["n1", "rest"], "to", axis=0), node("Reshape", ["x", "to"], "y")]
    m = model(nodes, [("x", F, ["n", 4, "s", 3])], [("y", F, None)],
              [numpy_helper.from_array(np.int64(0), "first"), ints("axis", [0]), ints("rest", [-1, 12])])
    fixed = tmp_path / "fixed.onnx"
    thaw("fix", save(m), "-o", fixed, code=0)
    mended = onnx.load(fixed).graph
    assert [n.op_type for n in mended.node] == ["Reshape"]
    assert numpy_helper.to_array(mended.initializer[0]).tolist() == [0, -1, 12]
    x = {"x": np.arange(5 * 7 * 12, dtype=np.float32).reshape(5, 4, 7, 3)}
    assert worst(session(fixed).run(None, x), session(m).run(None, x)) == 0


def test_nothing_is_written_where_nothing_changes(thaw, save, tmp_path):
    path, fixed = save(model([node("Relu", ["x"], "y")], [("x", F, ["n", 4])], [("y", F, ["n", 4])])), tmp_path / "fixed.onnx"
    report = thaw.json("fix", path, "-o", fixed, code=0)
    assert report["changed"] == [] and report["output"] is None and not fixed.exists()


def test_a_dry_run_writes_nothing(thaw, save, tmp_path):
    path, fixed = save(resized(True)), tmp_path / "fixed.onnx"
    assert thaw.json("fix", path, "-o", fixed, "--dry-run", code=0)["changed"]
    assert not fixed.exists()


def test_an_output_file_is_chosen_once(thaw, save):
    path = save(resized(True))
    thaw("fix", path, code=0)
    assert "model.fixed.onnx: is there already" in thaw.error("fix", path)


@pytest.mark.parametrize("op, opset", [("LayerNormalization", 13), ("SimplifiedLayerNormalization", 13), ("SimplifiedLayerNormalization", 18)])
@pytest.mark.parametrize("data, scale", [(TensorProto.FLOAT16, F), (F, TensorProto.FLOAT16), (F, F)])
def test_a_norm_of_onnxruntimes_own_gives_what_its_scale_is(thaw, save, tmp_path, op, opset, data, scale):
    """Below opset 17 LayerNormalization is none of ONNX's; a declaration that says otherwise does not load."""
    numbers = np.ones(8, np.float32 if scale == F else np.float16)
    operands = [numpy_helper.from_array(numbers, "w"), *([numpy_helper.from_array(0 * numbers, "b")] if op.startswith("L") else [])]
    m = model([node("Cast", ["x"], "h", to=data), node(op, ["h", *(t.name for t in operands)], "l", axis=-1), node("Cast", ["l"], "y", to=F)],
              [("x", F, ["n", 8])], [("y", F, ["?", 8])], operands, [("l", scale, ["n", 8])], opset=opset)
    path, fixed = save(m), tmp_path / "fixed.onnx"
    report = thaw.json("fix", path, "-o", fixed, code=0)
    assert [c for c in report["changed"] if c["where"] == "l"] == []
    x = {"x": np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32)}
    assert np.array_equal(session(fixed).run(None, x)[0], session(path).run(None, x)[0])


def test_a_size_that_something_else_freezes_is_written_by_no_second_fix_either(thaw, save, tmp_path):
    nodes = [node("LogSoftmax", ["x"], "p", axis=1),
             node("NegativeLogLikelihoodLoss", ["p", "t", "w"], "z", reduction="none")]
    inputs = [("x", F, [3, 5]), ("t", onnx.TensorProto.INT64, [3]), ("w", F, [5])]
    path = save(model(nodes, inputs, [("z", F, [3]), ("p", F, [3, "?"])]))
    once, twice = tmp_path / "once.onnx", tmp_path / "twice.onnx"
    thaw("fix", path, "-o", once, "--no-check", code={0, 1})
    thaw("fix", once, "-o", twice, "--no-check", code={0, 1})
    assert once.exists() and not twice.exists()
