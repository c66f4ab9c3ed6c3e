"""`inspect --format json`: the contract that others read."""

import math

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def model(nodes, inputs, outputs, initializers=(), **keywords):
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [info(*i) for i in inputs], [info(*o) for o in outputs], list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, **keywords)


def conv_net():
    weight = numpy_helper.from_array(np.ones((7, 3, 3, 3), np.float32), "weight")
    return model(
        [helper.make_node("Conv", ["image", "weight"], ["features"], name="conv", strides=[2, 2], pads=[1, 1, 1, 1]),
         helper.make_node("Shape", ["features"], ["shape"], name="shape"),
         helper.make_node("Relu", ["features"], ["out"], name="relu")],
        [("image", FLOAT, ["n", 3, "h", 11])], [("out", FLOAT, ["a", "b", "c", "d"]), ("shape", INT64, [4])],
        [weight], producer_name="a maker", producer_version="3.5")


def test_inputs_and_outputs_stand_in_the_models_order(thaw, save):
    seen = thaw.json("inspect", save(conv_net()), code=0)
    assert seen["inputs"] == [{"name": "image", "dtype": "float32", "dims": ["n", 3, "h", 11]}]
    assert [o["name"] for o in seen["outputs"]] == ["out", "shape"]
    assert seen["outputs"][0]["dtype"] == "float32"
    n, channels, height, width = seen["outputs"][0]["dims"]
    assert (n, channels, width) == ("n", 7, 6)
    for h in (5, 8, 13, 97):
        assert eval(height, {"h": h, "floor": math.floor, "ceil": math.ceil}) == (h + 2 - 3) // 2 + 1
    assert seen["outputs"][1] == {"name": "shape", "dtype": "int64", "dims": [4]}


def test_values_are_what_nodes_make(thaw, save):
    seen = thaw.json("inspect", save(conv_net()), code=0)
    assert [(v["name"], v["op"]) for v in seen["tensors"]] == [("features", "Conv"), ("shape", "Shape"), ("out", "Relu")]
    assert seen["tensors"][0]["dims"] == seen["outputs"][0]["dims"]


def test_the_graph_in_numbers(thaw, save):
    seen = thaw.json("inspect", save(conv_net()), code=0)
    assert seen["nodes"] == 3
    assert seen["operators"] == {"Conv": 1, "Relu": 1, "Shape": 1}
    assert seen["opset_imports"] == {"ai.onnx": 17}
    assert seen["ir_version"] == 8
    assert seen["producer"] == "a maker 3.5"
    assert seen["weights"] == {"count": 1, "bytes": 7 * 3 * 3 * 3 * 4, "external_bytes": 0}
    assert seen["constants"] == {"count": 0, "bytes": 0}
    assert seen["problems"] == [] and seen["unknown_operators"] == []


def test_constants_are_counted_apart(thaw, save):
    tensor = numpy_helper.from_array(np.ones((2, 3), np.float64), "c")
    m = model([helper.make_node("Constant", [], ["y"], value=tensor)], [], [("y", TensorProto.DOUBLE, None)])
    seen = thaw.json("inspect", save(m), code=0)
    assert seen["constants"] == {"count": 1, "bytes": 48} and seen["weights"]["count"] == 0


def test_symbols_say_where_they_come_from(thaw, save):
    seen = thaw.json("inspect", save(conv_net()), code=0)
    assert [(s["name"], s["kind"]) for s in seen["symbols"]] == [("n", "input_dim"), ("h", "input_dim")]
    assert all(s["range"][1] is None for s in seen["symbols"])


def test_weights_are_listed_on_demand(thaw, save):
    path = save(conv_net())
    assert "initializers" not in thaw.json("inspect", path)
    seen = thaw.json("inspect", path, "--weights")
    assert seen["initializers"] == [{"name": "weight", "dtype": "float32", "dims": [7, 3, 3, 3]}]


def test_only_lists_the_names_that_match(thaw, save):
    seen = thaw.json("inspect", save(conv_net()), "--only", "s*")
    assert [v["name"] for v in seen["tensors"]] == ["shape"]
    assert len(seen["outputs"]) == 2


def test_elements_of_small_integer_tensors(thaw, save):
    seen = thaw.json("inspect", save(conv_net()), "--tensors")
    shape = next(v for v in seen["tensors"] if v["name"] == "shape")
    assert shape["elements"] == seen["outputs"][0]["dims"]


def test_a_size_that_depends_on_the_data_is_null(thaw, save):
    m = model([helper.make_node("NonZero", ["x"], ["where"])], [("x", FLOAT, ["n", 5])], [("where", INT64, None)])
    seen = thaw.json("inspect", save(m), code=0)
    assert seen["outputs"] == [{"name": "where", "dtype": "int64", "dims": [2, None]}]


def test_an_unknown_rank_is_null(thaw, save):
    m = model([helper.make_node("Reshape", ["x", "shape"], ["y"])],
              [("x", FLOAT, ["n", 5]), ("shape", INT64, ["k"])], [("y", FLOAT, None)])
    seen = thaw.json("inspect", save(m), code=0)
    assert seen["outputs"] == [{"name": "y", "dtype": "float32", "dims": None}]


def test_an_inputs_values_stand_in_dims(thaw, save):
    m = model([helper.make_node("Reshape", ["x", "shape"], ["y"])],
              [("x", FLOAT, ["n", 5]), ("shape", INT64, [2])], [("y", FLOAT, None)])
    seen = thaw.json("inspect", save(m), code=0)
    assert len(seen["outputs"][0]["dims"]) == 2
    assert ("shape[0]", "input_value") in [(s["name"], s["kind"]) for s in seen["symbols"]]


def test_what_is_no_tensor_has_a_type(thaw, save):
    m = model([helper.make_node("SplitToSequence", ["x"], ["parts"], axis=0)], [("x", FLOAT, ["n", 5])], [])
    m.graph.output.append(helper.make_tensor_sequence_value_info("parts", FLOAT, None))
    seen = thaw.json("inspect", save(m), code=0)
    assert seen["outputs"] == [{"name": "parts", "type": "sequence(tensor(float32))", "dims": None}]


def test_values_of_subgraphs_say_where_they_are(thaw, save):
    def branch(name, node):
        return helper.make_graph([node], name, [], [helper.make_tensor_value_info(node.output[0], FLOAT, None)])

    m = model([helper.make_node("If", ["c"], ["y"], name="choose",
                                then_branch=branch("t", helper.make_node("Relu", ["x"], ["t_out"])),
                                else_branch=branch("e", helper.make_node("Exp", ["x"], ["e_out"])))],
              [("c", TensorProto.BOOL, []), ("x", FLOAT, ["n", 5])], [("y", FLOAT, None)])
    values = {v["name"]: v for v in thaw.json("inspect", save(m), code=0)["tensors"]}
    assert values["t_out"]["graph"] == "If 'choose'.then_branch"
    assert values["e_out"]["graph"] == "If 'choose'.else_branch"
    assert "graph" not in values["y"]
    assert values["y"]["dims"] == values["t_out"]["dims"] == ["n", 5]


def test_a_node_that_cannot_run_is_a_problem(thaw, save):
    m = model([helper.make_node("Transpose", ["x"], ["y"], name="turn", perm=[0, 1, 2])],
              [("x", FLOAT, ["n", 5])], [("y", FLOAT, None)])
    problems = thaw.json("inspect", save(m), code=0)["problems"]
    assert [(p["location"]["node"], p["location"]["op"]) for p in problems] == [("turn", "Transpose")] and problems[0]["message"]


def test_what_must_hold_is_an_obligation(thaw, save):
    m = model([helper.make_node("MatMul", ["x", "y"], ["z"], name="mul")],
              [("x", FLOAT, ["a", "b"]), ("y", FLOAT, ["c", "d"])], [("z", FLOAT, None)])
    obligations = thaw.json("inspect", save(m), code=0)["obligations"]
    assert [(o["location"]["node"], o["kind"], {o["a"], o["b"]}) for o in obligations] == [("mul", "equal", {"b", "c"})]


def test_an_operator_without_a_rule_is_named(thaw, save):
    m = model([helper.make_node("Mystery", ["x"], ["y"], domain="my.domain")], [("x", FLOAT, ["n", 5])], [("y", FLOAT, [3])])
    m.opset_import.append(helper.make_opsetid("my.domain", 2))
    seen = thaw.json("inspect", save(m), code=0)
    assert seen["unknown_operators"] == ["my.domain.Mystery"]
    assert seen["assumed_shapes"] == ["y"] and seen["outputs"][0]["dims"] == [3]


def test_set_looks_at_one_size(thaw, save):
    seen = thaw.json("inspect", save(conv_net()), "--sizes", "h=13,n=5", code=0)
    assert seen["sizes"] == {"h": 13, "n": 5}
    assert seen["outputs"][0]["dims"] == [5, 7, 7, 6] and seen["inputs"][0]["dims"] == [5, 3, 13, 11]
    assert seen["symbols"] == []


@pytest.mark.parametrize("spec, says", [("hh=13", "there is no size 'hh'"), ("h=-3", "cannot be -3"),
                                        ("h=1..4", "more than one value"), ("h", "h")])
def test_a_size_that_cannot_be_set_is_an_error(thaw, save, spec, says):
    assert says in thaw.error("inspect", save(conv_net()), "--sizes", spec)


def test_names_that_are_not_text_give_valid_json(thaw, tmp_path):
    m = conv_net()
    m.graph.node[0].name = "QQQQ"
    data = m.SerializeToString().replace(b"QQQQ", b"\xff\xfe\x1b\"").replace(b"features", b"f\xe9atures")
    path = tmp_path / "odd.onnx"
    path.write_bytes(data)
    run = thaw("inspect", path, "--format", "json")
    if run.returncode == 0:  # a loader that refuses such names is right too
        assert '"f\\ufffdatures"' in run.stdout
    else:
        assert run.returncode == 2 and run.stderr.startswith("thaw: ")


def test_each_kind_of_statement_has_its_name(thaw, save):
    """What Add, MatMul, Reshape and Conv need of sizes that are free."""
    weight = numpy_helper.from_array(np.ones((2, 3, 3, 3), np.float32), "w")
    nodes = [helper.make_node("Add", ["a", "b"], ["added"], name="add"), helper.make_node("MatMul", ["c", "d"], ["product"], name="matmul"),
             helper.make_node("Reshape", ["e", "to"], ["rows"], name="reshape"), helper.make_node("Conv", ["f", "w"], ["seen"], name="conv")]
    inputs = [("a", FLOAT, ["m"]), ("b", FLOAT, ["n"]), ("c", FLOAT, ["p", "q"]), ("d", FLOAT, ["r", "s"]), ("e", FLOAT, ["t"]),
              ("f", FLOAT, [1, 3, "u", 9])]
    outputs = [(name, FLOAT, None) for name in ("added", "product", "rows", "seen")]
    seen = thaw.json("inspect", save(model(nodes, inputs, outputs, [weight, numpy_helper.from_array(np.array([-1, 7]), "to")])), code=0)
    assert {o["location"]["node"]: o["kind"] for o in seen["obligations"]} == {"add": "broadcast", "matmul": "equal", "reshape": "divisible", "conv": "at_most"}
