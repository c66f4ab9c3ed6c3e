"""Axes that mean nothing as sizes: real and imaginary parts, and whatever constants take apart position by position."""
import numpy as np
import onnx
import pytest

from check_rules_test import F, ints, model, node
from conftest import session, worst


def scalar(name, value):
    return onnx.numpy_helper.from_array(np.int64(value), name)


def taken_apart(dims, axis, how):
    """Parts along an axis, squared and added, then flattened by a frozen target."""
    count, nodes, inits, parts = dims[axis], [], [ints("axis", [axis]), ints("to", [dims[0], -1])], []
    for k in range(count):
        inits += [scalar(f"i{k}", k), ints(f"b{k}", [k]), ints(f"e{k}", [k + 1])]
        if how == "gather":
            nodes.append(node("Gather", ["x", f"i{k}"], f"p{k}", axis=axis))
        else:
            nodes += [node("Slice", ["x", f"b{k}", f"e{k}", "axis"], f"s{k}"), node("Squeeze", [f"s{k}", "axis"], f"p{k}")]
        nodes.append(node("Mul", [f"p{k}", f"p{k}"], f"q{k}"))
        parts.append(f"q{k}")
    nodes += [node("Sum", parts, "sum"), node("Softmax", ["sum"], "soft", axis=-1), node("Reshape", ["soft", "to"], "y")]
    return model(nodes, [("x", F, dims)], [("y", F, None)], inits)


@pytest.mark.parametrize("how", ["gather", "slice"])
@pytest.mark.parametrize("dims, axis", [([1, 5, 7, 2], 3), ([1, 3, 6, 8], 1), ([1, 2, 9], 1), ([1, 5, 2], 2)])
def test_an_axis_that_constants_take_apart_stays(thaw, save, tmp_path, how, dims, axis):
    path, fixed = save(taken_apart(dims, axis, how)), tmp_path / "fixed.onnx"
    thaw("fix", path, "-o", fixed, code=0)
    now = [d.dim_param or d.dim_value for d in onnx.load(fixed).graph.input[0].type.tensor_type.shape.dim]
    assert now[axis] == dims[axis] and isinstance(now[0], str)
    others = [3 if k == 0 else d if k == axis else d + 4 for k, d in enumerate(dims)]
    feeds = {"x": np.random.default_rng(0).standard_normal(others).astype(np.float32)}
    assert worst(session(fixed).run(None, feeds), session(taken_apart(others, axis, how)).run(None, feeds)) < 1e-6


def test_magnitudes_of_pairs(thaw, save, tmp_path):
    nodes = [node("ReduceL2", ["x"], "m", axes=[3], keepdims=0), node("Reshape", ["m", "to"], "y")]
    path, fixed = save(model(nodes, [("x", F, [1, 6, 10, 2])], [("y", F, None)], [ints("to", [1, 60])])), tmp_path / "fixed.onnx"
    thaw("fix", path, "-o", fixed, code={0, 1})
    if fixed.exists():
        assert onnx.load(fixed).graph.input[0].type.tensor_type.shape.dim[3].dim_value == 2
