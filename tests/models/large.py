"""Large graphs and large weights, made quickly: chain(n) nodes, external(folder, gigabytes) of weights in no space."""
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

F = TensorProto.FLOAT


def chain(nodes):
    """`nodes` nodes in a row on [batch, seq, 8]: half of them arithmetic, half the exporter's chain that computes a
    shape and reshapes with it, so that values have to be followed all the way."""
    made, x, i = [], "x", 0
    constants = [numpy_helper.from_array(np.array(v, np.int64), n) for n, v in
                 (("zero", 0), ("one", 1), ("axis", [0]), ("heads", [2]), ("rest", [-1]), ("width", [8]))]
    constants.append(numpy_helper.from_array(np.full(8, 0.5, np.float32), "scale"))

    def add(op, inputs, **attributes):
        nonlocal i
        out = f"v{i}"
        made.append(helper.make_node(op, inputs, [out], f"n{i}", **attributes))
        i += 1
        return out

    while nodes - len(made) >= 14:
        batch = add("Unsqueeze", [add("Gather", [add("Shape", [x]), "zero"]), "axis"])
        seq = add("Unsqueeze", [add("Gather", [add("Shape", [x]), "one"]), "axis"])
        y = add("Reshape", [x, add("Concat", [batch, seq, "heads", "rest"], axis=0)])
        y = add("Relu", [y])
        y = add("Transpose", [y], perm=[0, 1, 3, 2])
        y = add("Reshape", [y, add("Concat", [batch, seq, "width"], axis=0)])
        x = add("Add", [add("Mul", [y, "scale"]), x]) if nodes - len(made) >= 2 else y
    while len(made) < nodes:
        x = add("Relu", [x])
    graph = helper.make_graph(made, "chain", [helper.make_tensor_value_info("x", F, ["batch", "seq", 8])],
                              [helper.make_tensor_value_info(x, F, ["batch", "seq", 8])], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def wide(branches):
    """One input read by `branches` nodes whose outputs one Concat joins."""
    made = [helper.make_node("Relu", ["x"], [f"v{i}"], f"n{i}") for i in range(branches)]
    made.append(helper.make_node("Concat", [f"v{i}" for i in range(branches)], ["y"], "join", axis=1))
    graph = helper.make_graph(made, "wide", [helper.make_tensor_value_info("x", F, ["n", 3])],
                              [helper.make_tensor_value_info("y", F, ["n", 3 * branches])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def external(folder, gigabytes=2, tensors=8):
    """model.onnx and weights.data in `folder`: MatMuls in a row whose weights are one sparse file of that size."""
    folder = Path(folder)
    size = int(gigabytes * 2**30) // tensors
    width = int(np.sqrt(size / 4))
    size = width * width * 4
    with open(folder / "weights.data", "wb") as file:
        file.truncate(size * tensors)
    weights, made, x = [], [], "x"
    for i in range(tensors):
        weight = TensorProto(name=f"w{i}", data_type=F, dims=[width, width], data_location=TensorProto.EXTERNAL)
        for key, value in (("location", "weights.data"), ("offset", i * size), ("length", size)):
            weight.external_data.add(key=key, value=str(value))
        weights.append(weight)
        made.append(helper.make_node("MatMul", [x, f"w{i}"], [f"y{i}"], f"matmul{i}"))
        x = f"y{i}"
    graph = helper.make_graph(made, "external", [helper.make_tensor_value_info("x", F, ["n", width])],
                              [helper.make_tensor_value_info(x, F, ["n", width])], weights)
    path = folder / "model.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path
