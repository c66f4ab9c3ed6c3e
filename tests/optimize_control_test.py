"""thaw optimize: functions become their nodes, loops of a few known rounds their rounds, and constants inside subgraphs are folded."""
import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import helper

from conftest import session
from optimize_test import assert_equal_everywhere, operators

FLOAT = onnx.TensorProto.FLOAT
FUNCTIONS = """<ir_version: 9, opset_import: ["" : 18, "here" : 1]>
g (float[n,m] x) => (float[n,m] y) { a = here.twice <by = 3.0> (x) y = here.plus (a, x) }
<opset_import: ["" : 18, "here" : 1], domain: "here"> twice <by>(x) => (y) { k = Constant<value_float : float = @by>() z = Mul(x, k) y = here.plus (z, x) }
<opset_import: ["" : 18], domain: "here"> plus (a, b) => (c) { c = Add(a, b) }"""


def value(name, elem=FLOAT, shape=None):
    return helper.make_tensor_value_info(name, elem, shape)


def scalar(name, number, dtype):
    return onnx.numpy_helper.from_array(np.array(number, dtype), name)


def loop_model(rounds=3, keep_on=None, body_nodes=None, state="s_out", condition=None, weight=False, scans=True, inner=(), kind=FLOAT):
    """A Loop that carries one tensor and gives what it was each round."""
    nodes = body_nodes or [helper.make_node("Cast", ["i"], ["f"], to=FLOAT), helper.make_node("Add", ["s_in", "f"], ["t"]),
                           helper.make_node("Mul", ["t", "k"], ["s_out"]), helper.make_node("Neg", ["s_out"], ["scan"])]
    end = [] if condition else [helper.make_node("Identity", ["cond"], ["on"])]
    outputs = [value(condition or "on", onnx.TensorProto.BOOL, []), value(state)] + ([value("scan", kind)] if scans else [])
    body = helper.make_graph(nodes + end, "body", [value("i", onnx.TensorProto.INT64, []), value("cond", onnx.TensorProto.BOOL, []), value("s_in")], outputs,
                             [scalar("k", 0.5, np.float32), *inner])
    initializers = [scalar("count", rounds, np.int64)] + ([scalar("go", keep_on, np.bool_)] if keep_on is not None else [])
    loop = helper.make_node("Loop", ["count", "go" if keep_on is not None else "", "x"], ["last"] + (["all"] if scans else []), body=body)
    tail = [helper.make_node("Relu", ["last"], ["y"])] + ([helper.make_node("Abs", ["all"], ["z"])] if scans else [])
    results = [value("y")] + ([value("z", kind)] if scans else [])
    graph = helper.make_graph([loop, *tail], "g", [value("x", FLOAT, ["n", "m"])], results, initializers)
    return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)])


def clean(thaw, model, out, *options):
    thaw("optimize", model, "-o", out, "--level", "clean", "--no-check", *options, code=0)
    again = out.with_name("again.onnx")
    assert thaw.json("optimize", out, "-o", again, "--level", "clean", "--no-check", *options, code=0)["changed"] == []
    return operators(out)


def test_functions_become_their_nodes(thaw, save, tmp_path):
    model, out = save(onnx.parser.parse_model(FUNCTIONS)), tmp_path / "out.onnx"
    assert clean(thaw, model, out) == "Mul Add Add"
    assert list(onnx.load(out).functions) == [] and [opset.domain for opset in onnx.load(out).opset_import] == [""]
    assert_equal_everywhere(model, out)


def test_functions_are_kept_where_one_asks_for_that(thaw, save, tmp_path):
    model, out = save(onnx.parser.parse_model(FUNCTIONS)), tmp_path / "out.onnx"
    assert clean(thaw, model, out, "--skip", "functions") == "twice plus"
    assert len(onnx.load(out).functions) == 2
    assert_equal_everywhere(model, out)


def test_a_function_of_another_opset_stays(thaw, save, tmp_path):
    text = FUNCTIONS.replace('<opset_import: ["" : 18], domain', '<opset_import: ["" : 17], domain')
    model, out = save(onnx.parser.parse_model(text)), tmp_path / "out.onnx"
    assert clean(thaw, model, out) == "Mul plus plus"
    assert [f.name for f in onnx.load(out).functions] == ["plus"]
    assert_equal_everywhere(model, out)


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("keep_on", [None, True])
def test_a_loop_of_a_few_rounds_becomes_them(thaw, save, tmp_path, rounds, keep_on):
    model, out = save(loop_model(rounds, keep_on)), tmp_path / "out.onnx"
    assert "Loop" not in clean(thaw, model, out)
    assert_equal_everywhere(model, out)


def test_constants_of_a_body_stand_once(thaw, save, tmp_path):
    inner = [onnx.numpy_helper.from_array(np.arange(25, dtype=np.float32).reshape(5, 5), "w")]
    nodes = [helper.make_node("MatMul", ["s_in", "w"], ["t"]), helper.make_node("Mul", ["t", "k"], ["s_out"])]
    model, out = save(loop_model(4, True, nodes, scans=False, inner=inner)), tmp_path / "out.onnx"
    assert clean(thaw, model, out).split().count("MatMul") == 4
    assert sorted(len(i.raw_data) for i in onnx.load(out).graph.initializer) == [4, 100]
    feed = {"x": np.ones((3, 5), np.float32)}
    np.testing.assert_array_equal(session(out).run(None, feed)[0], session(model).run(None, feed)[0])


def test_a_round_that_gives_on_what_it_got(thaw, save, tmp_path):
    nodes = [helper.make_node("Mul", ["s_in", "k"], ["scan"])]
    model, out = save(loop_model(2, True, nodes, state="s_in")), tmp_path / "out.onnx"
    assert "Loop" not in clean(thaw, model, out)
    assert_equal_everywhere(model, out)


LEFT = {
    "many rounds": {"rounds": 17},
    "no round": {"rounds": 0},
    "a condition that is false": {"keep_on": False},
    "a round that collects its number": {"body_nodes": [helper.make_node("Mul", ["s_in", "k"], ["s_out"]), helper.make_node("Identity", ["i"], ["scan"])],
                                            "kind": onnx.TensorProto.INT64},
    "a condition that is computed": {"keep_on": True, "condition": "go_on", "body_nodes": [
        helper.make_node("ReduceMax", ["s_in"], ["top"], keepdims=0), helper.make_node("Less", ["top", "k"], ["go_on"]),
        helper.make_node("Add", ["s_in", "k"], ["s_out"]), helper.make_node("Neg", ["s_out"], ["scan"])]},
}


@pytest.mark.parametrize("name", LEFT)
def test_other_loops_stay(thaw, save, tmp_path, name):
    model, out = save(loop_model(**LEFT[name])), tmp_path / "out.onnx"
    assert "Loop" in clean(thaw, model, out)
    if name != "no round":
        assert_equal_everywhere(model, out)


def test_constants_inside_a_branch_are_folded(thaw, save, tmp_path):
    def branch(name, op):
        nodes = [helper.make_node("Sqrt", ["two"], [f"r_{name}"]), helper.make_node("Exp", [f"r_{name}"], [f"e_{name}"]), helper.make_node(op, ["x", f"e_{name}"], [f"o_{name}"])]
        return helper.make_graph(nodes, name, [], [value(f"o_{name}")])

    nodes = [helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0), helper.make_node("Greater", ["sum", "two"], ["c"]),
             helper.make_node("If", ["c"], ["y"], then_branch=branch("one", "Add"), else_branch=branch("other", "Mul"))]
    graph = helper.make_graph(nodes, "g", [value("x", FLOAT, ["n", "m"])], [value("y")], [scalar("two", 2.0, np.float32)])
    model = save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)]))
    out = tmp_path / "out.onnx"
    clean(thaw, model, out)
    branches = [a.g for a in onnx.load(out).graph.node[-1].attribute]
    assert [[node.op_type for node in b.node] for b in branches] in ([["Add"], ["Mul"]], [["Mul"], ["Add"]])
    assert_equal_everywhere(model, out)
