"""Values of inner graphs with names of the graph around them, as ONNX Runtime takes them: every verb that edits a model
writes it, and what it writes agrees."""
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import int8_nets
from conftest import run

FLOAT = TensorProto.FLOAT
X = np.array([[1.0, -3.0], [-2.0, 0.5]], np.float32)


def info(name, dims, dtype=FLOAT):
    return helper.make_tensor_value_info(name, dtype, dims)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def graph(nodes, inputs, outputs, constants=()):
    return helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(v, k) for k, v in constants])


def model(nodes, inputs, outputs, constants=()):
    return helper.make_model(graph(nodes, inputs, outputs, constants), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def branch(op, name):
    """Gives `name`, through an Identity."""
    return graph([node(op, "x", "t"), node("Identity", "t", name)], [], [info(name, ("n", 2))])


def branches(name):
    return node("If", "c", name, then_branch=branch("Relu", name), else_branch=branch("Neg", name))


C = info("c", (), TensorProto.BOOL)
x, y, z = info("x", ("n", 2)), info("y", ("n", 2)), info("z", ("n", 2))
W = ("w", np.array([[1, 2], [3, -4]], np.float32))


def scan():
    body = graph([node("Add", "s v", "t"), node("Identity", "t", "y"), node("Identity", "t", "o")],
                 [info("s", (2,)), info("v", (2,))], [info("y", (2,)), info("o", (2,))])
    return model([node("Scan", "s0 x", "y z", body=body, num_scan_inputs=1)], [info("s0", (2,)), x],
                 [info("y", (2,)), z])


def loop():
    body = graph([node("Identity", "on", "more"), node("MatMul", "s w", "t"), node("Identity", "t", "y")],
                 [info("i", (), TensorProto.INT64), info("on", (), TensorProto.BOOL), info("s", ("n", 2))],
                 [info("more", (), TensorProto.BOOL), info("y", ("n", 2))])
    return model([helper.make_node("Loop", ["count", "", "x"], ["y"], body=body)], [info("count", (), TensorProto.INT64), x], [y], [W])


def nested():
    inner = graph([branches("y")], [], [y])
    return model([node("If", "c", "y", then_branch=inner, else_branch=branch("Abs", "y"))], [C, x], [y])


MODELS = {
    "an If's output": model([branches("y")], [C, x], [y]),
    "an If's output that more is made of": model([branches("m"), node("MatMul", "m w", "k"), node("Identity", "k", "y")], [C, x], [y], [W]),
    "a Scan's output": scan(),
    "a Loop's output": loop(),
    "an If in an If": nested(),
}
WAYS = {
    "optimize": ["optimize"],
    "optimize for ort": ["optimize", "--target", "ort"],
    "optimize for directml": ["optimize", "--target", "directml"],
    "f16": ["convert", "--to", "f16"],
    "bf16": ["convert", "--to", "bf16"],
    "int8": ["convert", "--to", "int8", "--dynamic"],
    "int4": ["convert", "--to", "int4", "--block", "16"],
    "pin": ["pin", "--sizes", "n=2"],
}
NEAR = {"f16": 1e-2, "int8": 0.1, "int4": 1.0}


def feeds(of):
    given = {"c": np.array(True), "x": X, "s0": np.array([0.5, 1], np.float32), "count": np.array(3)}
    return {i.name: given[i.name] for i in of.graph.input}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MODELS)
def test_is_written_and_agrees(thaw, save, tmp_path, name, way):
    given, out = MODELS[name], tmp_path / "out.onnx"
    expected = run(given, feeds(given))
    verb, *options = WAYS[way]
    # Who finds nothing to convert says so, and DirectML takes no graph in a graph.
    made = thaw(verb, save(given), "-o", out, *options, code={0, 1})
    assert "unique_name" not in made.stderr and "DIFFERS" not in made.stdout, made.stdout
    if not out.exists():
        assert verb == "convert" and made.returncode == 1, made.stdout
        return
    if way == "bf16":
        return  # ONNX Runtime's CPU has no kernels for it
    for a, b in zip(expected, int8_nets.run(out, feeds(given))):
        np.testing.assert_allclose(b, a, rtol=NEAR.get(way, 1e-6), atol=NEAR.get(way, 1e-6) * 10)
