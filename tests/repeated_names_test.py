"""A name that is made twice: what ONNX Runtime reads is read, and told; what it refuses is refused."""
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from conftest import run

FLOAT = TensorProto.FLOAT
X = {"x": np.array([[1.0, -3.0]], np.float32)}


def tensor(values, name="a"):
    return numpy_helper.from_array(np.array(values, np.float32), name)


def constant(values=None, **attributes):
    return helper.make_node("Constant", [], ["a"], **(attributes or {"value": tensor(values)}))


def node(op, inputs, outputs):
    return helper.make_node(op, inputs.split(), outputs.split())


def info(name, dims=("n", 2)):
    return helper.make_tensor_value_info(name, FLOAT, dims)


def model(nodes, initializers=(), inputs=("x",), outputs=("y",), a_dims=(2,)):
    values = [info(i, a_dims if i == "a" else ("n", 2)) for i in inputs]
    graph = helper.make_graph(nodes, "g", values, [info(o, None) for o in outputs], list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


ADD = node("Add", "x a", "y")
# What ONNX Runtime gives for each is asked of it, not written here.
READ = {
    "two initializers": model([ADD], [tensor([7, 7]), tensor([9, 8])]),
    "three initializers": model([ADD], [tensor([1, 1]), tensor([2, 2]), tensor([3, 4])]),
    "a node and an initializer": model([constant([5, 6]), ADD], [tensor([7, 7])]),
    "two nodes": model([constant([5, 5]), constant([6, 8]), ADD]),
    "one of them after what reads it": model([constant([5, 5]), node("Add", "x a", "b"), constant([6, 8]), node("Add", "b a", "y")]),
    "a node in another form": model([constant([5, 5]), constant(value_floats=[2.0, 4.0]), ADD]),
    "a node and an input": model([constant([5, 6]), ADD], inputs=("x", "a")),
    "a node, an input and its default": model([constant([5, 6]), ADD], [tensor([7, 7])], inputs=("x", "a")),
    "two nodes and an input": model([constant([5, 6]), constant([4, 3]), ADD], inputs=("x", "a")),
    "an input with two defaults": model([ADD], [tensor([1, 1]), tensor([2, 3])], inputs=("x", "a")),
    "an output": model([constant([5, 5]), constant([8, 9]), ADD], outputs=("y", "a")),
}
REFUSED = {
    "nodes that compute": model([node("Neg", "x", "a"), node("Abs", "x", "a"), ADD]),
    "a node that computes and an initializer": model([node("Neg", "x", "a"), ADD], [tensor([7, 7])]),
    "a node that computes and a Constant": model([node("Neg", "x", "a"), constant([5, 5]), ADD]),
    "a Constant and a node that computes": model([constant([5, 5]), node("Neg", "x", "a"), ADD]),
    "outputs of one node": model([node("Split", "x", "a a"), ADD]),
    "inputs": model([ADD], inputs=("x", "a", "a")),
    "initializers of two shapes": model([ADD], [tensor([7, 7]), tensor([[9, 9]])]),
    "initializers of two types": model([ADD], [numpy_helper.from_array(np.array([7, 7]), "a"), tensor([9, 9])]),
    "an initializer and a node of two shapes": model([constant([5]), ADD], [tensor([7, 7])]),
}


@pytest.mark.parametrize("case", READ)
def test_what_the_runtime_reads_is_read(thaw, save, tmp_path, case):
    path, fixed = save(READ[case]), tmp_path / "fixed.onnx"
    wanted = run(READ[case], X)
    (finding,) = thaw.findings(path, "--select", "THAW006")
    assert finding["location"]["tensor"] == "a" and "the last" in finding["message"]
    thaw("inspect", path, code=0)
    report = thaw.json("fix", path, "-o", fixed, code=0)
    assert [c["where"] for c in report["changed"] if c["code"] == "THAW006"] == ["a"]
    assert all(np.array_equal(a, b) for a, b in zip(run(str(fixed), X), wanted, strict=True))
    assert thaw.findings(fixed, "--select", "THAW006") == []
    assert "nothing to change" in thaw("fix", fixed, "-o", tmp_path / "again.onnx", code=0).stdout


@pytest.mark.parametrize("case", ["two nodes", "a node and an initializer"])
def test_other_verbs_work_on_it(thaw, save, tmp_path, case):
    path, batched = save(READ[case]), tmp_path / "batched.onnx"
    thaw("batch", path, "-o", batched, "--new-axis", code=0)
    wanted = run(READ[case], X)[0]
    assert np.array_equal(run(str(batched), {"x": X["x"][None]})[0][0], wanted)
    thaw("verify", path, "--against", path, code=0)


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_runtime_refuses_is_refused(thaw, save, case):
    with pytest.raises(Exception, match="ONNXRuntimeError"):
        run(REFUSED[case], X)
    assert "'a'" in thaw.error("inspect", save(REFUSED[case]))


def of_one_name(values):
    """Three nodes named k, one of them in a branch, where it is the only one; another is named k_1."""
    branch = helper.make_graph([helper.make_node("Neg", ["b"], ["t"], "k")], "branch", [], [info("t")])
    nodes = [helper.make_node("Abs", ["x"], ["a"], "k"), helper.make_node("Neg", ["a"], ["b"], "k"), helper.make_node("Exp", ["b"], ["c"], "k_1"),
             helper.make_node("If", ["yes"], ["d"], "k", then_branch=branch, else_branch=branch), helper.make_node("Add", ["c", "d"], ["y"], "sum")]
    return model(nodes, [numpy_helper.from_array(np.array(values), "yes")])


def test_nodes_of_one_name_get_names_of_their_own(thaw, save, tmp_path):
    given, fixed, out = of_one_name(True), tmp_path / "fixed.onnx", tmp_path / "out.onnx"
    path = save(given)
    findings = thaw.findings(path, "--select", "THAW006")
    assert len(findings) == 2 and all(each["severity"] == "error" and "'k'" in each["message"] for each in findings)
    with pytest.raises(Exception, match="same node name"):
        run(given, X)
    report = thaw.json("fix", path, "-o", fixed, code=0)
    assert [change["code"] for change in report["changed"]] == ["THAW006", "THAW006"]
    thaw("optimize", fixed, "-o", out, code=0)
    for written in (fixed, out):
        np.testing.assert_allclose(run(str(written), X)[0], np.exp(-np.abs(X["x"])) + np.abs(X["x"]), rtol=1e-5)
    assert thaw.findings(fixed, "--select", "THAW006") == []
