"""Networks as exporters write them, node by node, for the tests of lifting."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from conftest import session


class Net:
    """A graph that is written node by node; integers are initializers, wherever they are read."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, array):
        self.constants.append(numpy_helper.from_array(np.asarray(array, order="C"), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def add(self, op, *inputs, **attributes):
        self.nodes.append(helper.make_node(op, list(inputs), [f"v{len(self.nodes)}"], name=f"n{len(self.nodes)}", **attributes))
        return self.nodes[-1].output[0]

    def model(self, dims, result, opset=18):
        self.nodes.append(helper.make_node("Identity", [result], ["y"]))
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9, producer_name="pytorch")


def up(a, b):
    return -(-a // b)


def seen_of(thaw, save, tmp_path, build, lengths, unseen, within=1e-6):
    """What the lifted model comes to at each length that no trace has: "right", "wrong", "guard" or "error"; nothing where it is refused.
    build: the model at a length, of one input and one output."""
    paths = [save(build(n), f"trace_{n}") for n in lengths]
    out = tmp_path / "lifted.onnx"
    if thaw("lift", *paths, "-o", out).returncode:
        return {}
    run, seen = session(out), {}
    for n in unseen:
        at = build(n)
        x = np.random.default_rng(n).standard_normal([axis.dim_value for axis in at.graph.input[0].type.tensor_type.shape.dim], dtype=np.float32)
        wanted = session(save(at, "wanted")).run(None, {"x": x})[0]
        try:
            got = run.run(None, {"x": x})[0]
            seen[n] = "right" if got.shape == wanted.shape and np.abs(got - wanted).max() < within else "wrong"
        except Exception as error:
            seen[n] = "guard" if "guard_Reshape" in str(error) else "error"
    return seen
