"""THAW018 where a batch is free: samples that meet are found, samples that are apart are not, held against what ONNX Runtime computes."""
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper as h
from onnx import load, numpy_helper

from conftest import run, session

RNG = np.random.default_rng(2)


def ints(name, *values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def floats(name, *dims):
    return numpy_helper.from_array(RNG.standard_normal(dims).astype(np.float32), name)


def net(nodes, inits, dims=("batch", 4, 6)):
    made = [h.make_node(op, i.split(), o.split(), name=f"{op}_{o.split()[0]}", **a) for op, i, o, a in nodes]
    graph = h.make_graph(made, "g", [h.make_tensor_value_info("x", T.FLOAT, list(dims))], [h.make_tensor_value_info("y", T.FLOAT, None)], inits)
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)


W = floats("w", 6, 6)
MEET = {
    "min-max over all": ([("ReduceMax", "x", "high", {"keepdims": 0}), ("ReduceMin", "x", "low", {"keepdims": 0}), ("Sub", "x low", "s", {}),
                          ("Sub", "high low", "r", {}), ("Div", "s r", "y", {})], []),
    "mean over the batch": ([("ReduceMean", "x", "m", {"axes": [0]}), ("Sub", "x m", "y", {})], []),
    "softmax over the batch": ([("Softmax", "x", "y", {"axis": 0})], []),
    "gram of rows": ([("Reshape", "x to", "r", {}), ("Transpose", "r", "t", {}), ("MatMul", "r t", "y", {})], [ints("to", -1, 6)]),
    "gram of the batch": ([("Flatten", "x", "r", {}), ("Transpose", "r", "t", {}), ("MatMul", "r t", "y", {})], []),
    "top of all": ([("Reshape", "x to", "r", {}), ("TopK", "r k", "y i", {"axis": 0})], [ints("to", -1), ints("k", 3)]),
    "attention over folded tokens": ([("Reshape", "x to", "r", {}), ("MatMul", "r w", "q", {}), ("Transpose", "r", "t", {}), ("MatMul", "q t", "s", {}),
                                      ("Softmax", "s", "p", {}), ("MatMul", "p r", "o", {}), ("Reshape", "o back", "y", {})], [ints("to", -1, 6), ints("back", -1, 4, 6), W]),
    "folded, and a layer": ([("Reshape", "x to", "r", {}), ("MatMul", "r w", "y", {})], [ints("to", -1, 6), W]),
    "scaled by the largest": ([("Abs", "x", "a", {}), ("ReduceMax", "a", "m", {}), ("Div", "x m", "d", {}), ("MatMul", "d w", "y", {})], [W]),
}
# A Reshape by 1 and -1: that was a batch of one, and is a frozen size (THAW016), which `thaw fix` mends.
ONE = {
    "reshape by 1": ([("Transpose", "x", "t", {"perm": [0, 2, 1]}), ("Reshape", "t to", "y", {})], [ints("to", 1, 6, -1)]),
    "joined": ([("Reshape", "x to", "a", {}), ("MatMul", "x w", "z", {}), ("Reshape", "z to", "b", {}), ("Concat", "a b", "c", {"axis": 2}),
                ("Sigmoid", "c", "y", {})], [ints("to", 1, 4, -1), W]),
    "and then turned": ([("Reshape", "x to", "a", {}), ("Transpose", "a", "y", {"perm": [0, 2, 1]})], [ints("to", 1, 8, -1)]),
    "behind a computed size": ([("Transpose", "x", "t", {"perm": [1, 0, 2]}), ("Reshape", "t to", "a", {}), ("Relu", "a", "y", {})], [ints("to", 4, 1, -1)]),
    "and 1 in a computed shape": ([("Reshape", "x to", "a", {}), ("MatMul", "a w", "m", {}), ("Reshape", "m flat", "y", {})],
                                  [ints("to", 1, -1, 6), ints("flat", 1, -1), W]),
}
APART = {
    "layers": ([("MatMul", "x w", "m", {}), ("Relu", "m", "r", {}), ("ReduceMax", "r", "top", {"axes": [1]}), ("Softmax", "top", "y", {"axis": 1})], [W]),
    "attention in a sample": ([("Transpose", "x", "t", {"perm": [0, 2, 1]}), ("MatMul", "x t", "s", {}), ("Softmax", "s", "p", {}), ("MatMul", "p x", "y", {})], []),
    "folded and back": ([("Reshape", "x to", "r", {}), ("MatMul", "r w", "m", {}), ("Reshape", "m back", "y", {})], [ints("to", -1, 6), ints("back", -1, 4, 6), W]),
    "top of a sample": ([("TopK", "x k", "y i", {"axis": 2})], [ints("k", 3)]),
    "windows": ([("Reshape", "x to", "r", {}), ("Transpose", "r", "t", {"perm": [0, 2, 1]}), ("MatMul", "r t", "s", {}), ("Softmax", "s", "p", {}),
                 ("MatMul", "p r", "o", {}), ("Reshape", "o back", "y", {})], [ints("to", -1, 2, 6), ints("back", -1, 4, 6)]),
    "as many zeros": ([("Shape", "x", "s", {}), ("ConstantOfShape", "s", "z", {}), ("ReduceSum", "z", "n", {}), ("Add", "x n", "y", {})], []),
    "the batch last": ([("Transpose", "x", "t", {"perm": [2, 1, 0]}), ("Relu", "t", "y", {})], []),
    "masked": ([("Reshape", "x to", "r", {}), ("Transpose", "r", "t", {}), ("MatMul", "r t", "s", {}), ("Shape", "s", "size", {}), ("ConstantOfShape", "size", "zeros", {}),
                ("EyeLike", "zeros", "eye", {"dtype": T.FLOAT}), ("Mul", "s eye", "k", {}), ("MatMul", "k r", "o", {}), ("Reshape", "o back", "y", {})],
               [ints("to", -1, 6), ints("back", -1, 4, 6)]),
}


def findings(thaw, path):
    return [f for f in thaw.findings(path) if f["code"] == "THAW018"]


@pytest.mark.parametrize("name", MEET)
@pytest.mark.parametrize("batch", ["batch", "image_batch_size"])
def test_samples_that_meet_are_found(thaw, save, name, batch):
    made = net(*MEET[name], dims=(batch, 4, 6))
    found = findings(thaw, save(made))
    assert len(found) == 1 and found[0]["severity"] == "warning" and any("thaw batch" in c for c in found[0]["commands"])
    # It is true: what comes of two samples is not what comes of each, row by row.
    x = RNG.standard_normal((2, 4, 6)).astype(np.float32) * np.array([1, 3], np.float32).reshape(2, 1, 1)
    y, first = run(made, {"x": x})[0], run(made, {"x": x[:1]})[0]
    assert y.shape[0] != 2 or first.shape[0] != 1 or not np.allclose(y[:1], first, atol=1e-5)


@pytest.mark.parametrize("name", APART)
def test_samples_that_are_apart_have_no_finding(thaw, save, name):
    assert not findings(thaw, save(net(*APART[name])))


def batched(case, integers):
    """A node test whose first input, of floats, has a batch for its first axis; integers are fed, or constants as in most models."""
    import infer_node_test as nodes
    feeds = {i.name: nodes.array(x) for i, x in zip(case.model.graph.input, case.data[0][0])}
    made = nodes.symbolic(case.model, case.data[0][0])
    first = case.model.graph.input[0].name if case.model.graph.input else None
    if not made or (integers and not any(x.dtype.kind in "iub" for x in feeds.values())):
        return None
    if first is None or feeds[first].dtype.kind != "f" or feeds[first].ndim == 0:
        return None
    model = made[0]
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    for info in list(model.graph.input) if integers else []:
        if feeds[info.name].dtype.kind in "iub":
            model.graph.initializer.append(numpy_helper.from_array(feeds.pop(info.name), info.name))
            model.graph.input.remove(info)
    nodes.forget_types(model)
    return model, feeds, first


def has_own_rows(model, feeds, first, output):
    """Whether the first and the last sample keep a row of the output while the others change; None where that does not run."""
    x = feeds[first] if len(feeds[first]) > 1 else np.concatenate([feeds[first], feeds[first] * 0.5 + 0.3]).astype(feeds[first].dtype)
    others = (x * 0.4 + 0.7 + RNG.random(x.shape)).astype(x.dtype)
    try:
        s = session(model)
        y, after_first, before_last = (s.run([output], feeds | {first: v})[0] for v in
                                       (x, np.concatenate([x[:1], others[1:]]), np.concatenate([others[:-1], x[-1:]])))
    except Exception:  # ONNX Runtime has no kernel for it, or not for that many
        return None
    at = [a for a in range(y.ndim) if y.shape[a] == len(x)]
    return any(np.array_equal(y.take(0, a), after_first.take(0, a)) and np.array_equal(y.take(-1, a), before_last.take(-1, a)) for a in at)


def test_what_is_said_of_node_tests_is_true(thaw, tmp_path):
    """ONNX's own node tests: where samples are said to meet, what the output has of one changes with the others."""
    import infer_node_test as nodes
    made = {}
    for case in nodes.load_cases():
        for integers in (False, True):
            if one := batched(case, integers):
                made[f"{case.name}_{integers}"] = one
                (tmp_path / f"{case.name}_{integers}.onnx").write_bytes(one[0].SerializeToString())
    report = thaw.json("check", tmp_path, "--select", "THAW018")
    found = {Path(m["model"]).stem: m["findings"][0]["location"]["tensor"] for m in report["models"] if m.get("findings")}
    says = {name: has_own_rows(*made[name], output) for name, output in found.items()}
    assert len(made) > 1500 and list(says.values()).count(False) > 40
    assert not [name for name, is_apart in says.items() if is_apart] and list(says.values()).count(None) < 10


@pytest.mark.parametrize("name", [*MEET, *ONE])
@pytest.mark.parametrize("first", ["frames", "N", "points"])
def test_frames_and_points_are_there_to_meet(thaw, save, name, first):
    assert not [f for f in thaw.findings(save(net(*(MEET | ONE)[name], dims=(first, 4, 6)))) if f["code"] in ("THAW016", "THAW018")]


def test_a_letter_is_a_batch_of_images(thaw, save):
    assert len(findings(thaw, save(net(*MEET["min-max over all"], dims=("N", 3, 4, 6))))) == 1


def test_a_loss_and_a_quantizers_scale_are_what_was_asked_for(thaw, save):
    assert not findings(thaw, save(net([("ReduceMean", "x", "y", {"keepdims": 0})], [])))
    codes = [("DynamicQuantizeLinear", "x", "q s z", {}), ("DequantizeLinear", "q s z", "y", {})]
    assert not findings(thaw, save(net(codes, [])))


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("declared", [False, True])
def test_a_batch_of_one_that_a_reshape_folds_is_mended(thaw, save, tmp_path, name, declared):
    made = net(*ONE[name], dims=("batch", 4, 6))
    x = RNG.standard_normal((3, 4, 6)).astype(np.float32)
    each = [run(made, {"x": x[k:k + 1]})[0] for k in range(3)]
    axis = 1 if name == "behind a computed size" else 0
    if declared:
        shape = [f"d{k}" for k in range(each[0].ndim)]
        shape[axis] = "batch"
        made.graph.output[0].CopyFrom(h.make_tensor_value_info("y", T.FLOAT, shape))
    found = [f for f in thaw.findings(save(made)) if f["severity"] != "note" and f["code"] != "THAW004"]
    assert found and {f["code"] for f in found} == {"THAW016"}
    assert all(any(f"thaw {verb}" in c for c in f["commands"]) for f in found for verb in ("fix", "batch"))
    fixed = tmp_path / "fixed.onnx"
    thaw("fix", save(made), "-o", fixed, code=0)
    assert not [f for f in thaw.findings(fixed) if f["severity"] != "note"]
    assert np.array_equal(run(load(fixed), {"x": x})[0], np.concatenate(each, axis))
