"""Constants in the graphs that nodes hold, the branches of an If, are solved like all others."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from conftest import session


def trace(n, turned=False):
    """The rows as a list, negative where their sum is; `turned`: the branches change places."""
    def branch(name, op, constant):
        value = numpy_helper.from_array(np.array([2 * n, 3]), f"{name}_shape")
        nodes = [helper.make_node(op, ["x"], [f"{name}_value"]), helper.make_node("Reshape", [f"{name}_value", f"{name}_shape"], [f"{name}_rows"])]
        if constant:
            nodes.insert(0, helper.make_node("Constant", [], [f"{name}_shape"], value=value))
        return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(f"{name}_rows", TensorProto.FLOAT, None)], [] if constant else [value])

    zero = numpy_helper.from_array(np.float32(0), "zero")
    nodes = [helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0), helper.make_node("Greater", ["sum", "zero"], ["positive"]),
             helper.make_node("If", ["positive"], ["y"], then_branch=branch("some", "Neg" if turned else "Relu", True),
                              else_branch=branch("others", "Relu" if turned else "Neg", False))]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, n, 3])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [zero])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def test_a_size_in_a_branch_is_solved(thaw, save, tmp_path):
    out = tmp_path / "lifted.onnx"
    thaw("lift", *[save(trace(n), f"trace_{n}") for n in (5, 8, 12)], "-o", out, code=0)
    run = session(out)
    for n in (1, 5, 7, 12, 31):
        for sign in (1, -1):
            x = sign * np.random.default_rng(n).random((2, n, 3), dtype=np.float32)
            assert np.array_equal(run.run(None, {"x": x})[0], np.abs(x).reshape(2 * n, 3)), (n, sign)


def test_branches_of_other_operators_are_another_model(thaw, save, tmp_path):
    out = tmp_path / "lifted.onnx"
    thaw("lift", save(trace(5), "trace_5"), save(trace(8, turned=True), "trace_8"), "-o", out, code={1, 2})
    assert not out.exists()
