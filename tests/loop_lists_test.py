"""A Loop whose body declares its iteration number and condition as lists of one, as tf2onnx writes them: ONNX Runtime gives it those."""
import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper as h
from onnx import load, numpy_helper

from conftest import run, worst


def net(number, condition):
    """Rows of x, from the iteration number on, summed: a Slice reads the number as a list; `number` and `condition` are declared dims."""
    as_list = [] if number else [h.make_node("Unsqueeze", ["i", "zero"], ["at"])]
    at = "i" if number else "at"
    still = [h.make_node("Identity", ["go"], ["on"])]
    body = h.make_graph([*as_list, h.make_node("Slice", ["x", at, "end", "zero"], ["rows"]), h.make_node("ReduceSum", ["rows", "zero"], ["sum"], keepdims=0),
                         h.make_node("Add", ["s", "sum"], ["next"]), *still], "body",
                        [h.make_tensor_value_info("i", T.INT64, number), h.make_tensor_value_info("go", T.BOOL, condition), h.make_tensor_value_info("s", T.FLOAT, [3])],
                        [h.make_tensor_value_info("on", T.BOOL, condition), h.make_tensor_value_info("next", T.FLOAT, [3])])
    inits = [numpy_helper.from_array(np.array(v, d), k)
             for k, v, d in [("trips", 3, np.int64), ("true", np.full(condition, True), bool), ("end", [2**31], np.int64), ("zero", [0], np.int64), ("start", [0, 0, 0], np.float32)]]
    graph = h.make_graph([h.make_node("Loop", ["trips", "true", "start"], ["y"], body=body, name="loop")], "g",
                         [h.make_tensor_value_info("x", T.FLOAT, ["n", 3])], [h.make_tensor_value_info("y", T.FLOAT, [3])], inits)
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8)


@pytest.mark.parametrize("condition", [[], [1]])
@pytest.mark.parametrize("number", [[], [1]])
def test_a_body_has_what_it_declares(thaw, save, tmp_path, number, condition):
    model = net(number, condition)
    x = np.random.default_rng(1).standard_normal((5, 3)).astype(np.float32)
    want = run(model, {"x": x})
    assert not [f for f in thaw.findings(save(model)) if f["code"] == "THAW001"]
    made = tmp_path / "pinned.onnx"
    thaw("pin", save(model), "--sizes", "n=5", "-o", made, code=0)
    assert not [n for n in load(made).graph.node if n.op_type == "Loop"]
    assert worst(run(load(made), {"x": x}), want) < 1e-5
