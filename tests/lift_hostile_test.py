"""thaw lift on traces that were damaged, each at random places: a sentence or a result, never a crash."""
import random
import resource

import numpy as np
import onnx
import pytest

from models.families import BY_NAME


def damage(model, rng):
    nodes = model.graph.node
    node = rng.choice(nodes)
    kind = rng.randrange(6)
    if kind == 0:
        nodes.remove(node)
    elif kind == 1 and node.input:
        node.input[rng.randrange(len(node.input))] = rng.choice(list(rng.choice(nodes).output) or [""])
    elif kind == 2:
        node.op_type = rng.choice(nodes).op_type
    elif kind == 3 and node.attribute:
        node.attribute.remove(rng.choice(node.attribute))
    elif kind == 4 and node.input:
        del node.input[rng.randrange(len(node.input)):]
    else:
        constants = [n for n in nodes if n.op_type == "Constant" and n.attribute
                     and n.attribute[0].t.data_type == onnx.TensorProto.INT64]
        tensor = rng.choice(constants).attribute[0].t
        values = onnx.numpy_helper.to_array(tensor).copy()
        if values.size:
            values.flat[rng.randrange(values.size)] = rng.choice([0, -1, 1, 7, 10**6, 2**62, -2**63])
            tensor.CopyFrom(onnx.numpy_helper.from_array(values))


@pytest.mark.parametrize("name", ["audio_encoder", "vision_tower_folded", "text_decoder"])
def test_damaged_traces_end_in_a_sentence_or_a_result(thaw, save, tmp_path, name):
    family, rng = BY_NAME[name], random.Random(7)
    whole = [family.static(*size).SerializeToString() for size in family.sizes]
    ends = set()
    for _case in range(40):
        paths = []
        for i, data in enumerate(whole):
            model = onnx.ModelProto.FromString(data)
            for _ in range(rng.choice([0, 1, 1, 3])):
                damage(model, rng)
            paths.append(save(model, f"trace_{i}"))
        run = thaw("lift", *paths, "-o", tmp_path / "out.onnx", "--no-check", code={0, 1, 2})
        ends.add(run.returncode)
        if run.returncode == 2:
            assert run.stderr.startswith("thaw: ") and "expected" in run.stderr, run.stderr
    assert {1, 2} <= ends or {0, 2} <= ends
    # A Concat of nothing, and no size that differs.
    empty = onnx.ModelProto.FromString(whole[0])
    next(n for n in empty.graph.node if n.op_type == "Concat").ClearField("input")
    thaw("lift", save(empty, "a"), save(empty, "b"), "-o", tmp_path / "out.onnx", "--no-check", code={0, 1, 2})


def trace(size, node, outputs=("y",)):
    """A trace at that size: a node over x, and what a frozen Reshape makes of it."""
    inputs = [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [size, 4])]
    nodes = [onnx.helper.make_node("Relu", ["x"], ["r"]), node, onnx.helper.make_node("Neg", ["n"], ["y"])]
    graph = onnx.helper.make_graph(
        nodes, "trace", inputs, [onnx.helper.make_tensor_value_info(o, onnx.TensorProto.FLOAT, None) for o in outputs])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize(("a", "b", "outputs", "what"), [
    (("Concat", ["r", "r"], {"axis": 1}), ("Concat", ["r", "r", "r"], {"axis": 1}), [["y"], ["y"]], "operands"),
    (("Concat", ["r", "r", "r"], {"axis": 1}), ("Concat", ["r", "r"], {"axis": 1}), [["y"], ["y"]], "operands"),
    (("Softmax", ["r"], {}), ("Softmax", ["r"], {"axis": 0}), [["y"], ["y"]], "axis"),
    (("Softmax", ["r"], {}), ("Softmax", ["r"], {}), [["y"], ["y", "r"]], "outputs"),
    (("Softmax", ["r"], {}), ("Softmax", ["r"], {}), [["y", "r"], ["y", "n"]], "output"),
])
def test_traces_that_do_other_things_are_not_lifted(thaw, save, tmp_path, a, b, outputs, what):
    paths = [save(trace(size, onnx.helper.make_node(op, operands, ["n"], **attributes), named), f"trace_{size}")
             for size, (op, operands, attributes), named in zip((3, 5), (a, b), outputs, strict=True)]
    run = thaw("lift", *paths, "-o", tmp_path / "out.onnx", "--no-check", code={1, 2})
    assert what in run.stdout + run.stderr and not (tmp_path / "out.onnx").exists(), run.stdout + run.stderr


def table(numbers, *dims, op="Gather"):
    """A trace over x [len(numbers), *dims] and a table of these numbers."""
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node(op, ["x", "k"], ["y"])], "trace",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [len(numbers), *dims])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)], [onnx.numpy_helper.from_array(numbers, "k")])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)


def bits_of_reals(rows):
    """Reals whose bits are taken for integers, one of them not quite the multiple that it seems to be."""
    bits = np.outer(np.arange(rows), [1, 2, 1]).astype(np.float32).view(np.uint32)
    bits[0, 2], bits[3, 1] = bits[1, 2], bits[3, 1] ^ 1 << 14
    return bits


def few_seconds():
    resource.setrlimit(resource.RLIMIT_CPU, (8, 9))


@pytest.mark.parametrize("traces", [
    # Which of a million buckets a place is in is not worked out bucket by bucket.
    [table(bits_of_reals(rows), 4) for rows in (4, 6)],
    # Windows along a side of no tensor, and rows as far apart as it is long.
    [table(np.arange(n), side) for n, side in ((3, 2**63 - 1), (5, 2**62), (7, 2**62 + 2))],
    [table(bits_of_reals(rows).view(np.float32), 3, side, 3, op="Add") for rows, side in ((4, 2**40), (6, 3))],
], ids=["large numbers", "sides of no tensor", "rows far apart"])
def test_small_traces_cost_little(thaw, save, tmp_path, traces):
    paths = [save(trace, f"trace_{i}") for i, trace in enumerate(traces)]
    run = thaw("lift", *paths, "-o", tmp_path / "out.onnx", "--no-check", code={0, 1, 2}, preexec_fn=few_seconds)
    assert "memory" not in run.stderr, run.stderr


def test_sizes_that_no_tensor_has_are_refused(thaw, save, tmp_path):
    traces = []
    for side in (4, 2**63 - 1):
        node = onnx.helper.make_node("Relu", ["x"], ["y"])
        value = [onnx.helper.make_tensor_value_info(name, 1, [1, side]) for name in "xy"]
        graph = onnx.helper.make_graph([node], "g", value[:1], value[1:])
        traces.append(save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)))
    line = thaw.error("lift", *traces, "-o", tmp_path / "out.onnx", "--no-check")
    assert "axis 1 of the input 'x' has the size 9223372036854775807" in line


def test_traces_that_contradict_themselves_are_said_to(thaw, save, tmp_path):
    """As an exporter writes them: what is joined to the data fits it in no trace."""
    def trace(n):
        nodes = [onnx.helper.make_node("Reshape", ["x", "shape"], ["y"]), onnx.helper.make_node("Concat", ["y", "odd"], ["z"], axis=1)]
        constants = [onnx.numpy_helper.from_array(np.array([n, 4]), "shape"),
                     onnx.numpy_helper.from_array(np.ones((n + 1, 2), np.float32), "odd")]
        graph = onnx.helper.make_graph(nodes, "g", [onnx.helper.make_tensor_value_info("x", 1, [n * 4])],
                                       [onnx.helper.make_tensor_value_info("z", 1, None)], constants)
        return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)
    run = thaw("lift", *[save(trace(n), f"trace_{n}") for n in (5, 7, 11)], "-o", tmp_path / "out.onnx", code=1)
    assert "trace_11.onnx contradicts itself there" in " ".join(run.stdout.split())
    assert not (tmp_path / "out.onnx").exists()
