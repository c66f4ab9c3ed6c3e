"""Every rule of `thaw check`: a small model that has what it looks for, and one beside it that has not."""
import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

F = T.FLOAT


def ints(name, values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def floats(name, *dims):
    return numpy_helper.from_array(np.full(dims, 0.5, np.float32), name)


def model(nodes, inputs, outputs, inits=(), value_info=(), opset=17):
    def info(name, dtype, dims):
        return h.make_tensor_value_info(name, dtype, dims)
    graph = h.make_graph(list(nodes), "g", [info(*i) for i in inputs], [info(*o) for o in outputs], list(inits),
                         value_info=[info(*v) for v in value_info])
    return h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=8)


def node(op, inputs, output, **attributes):
    return h.make_node(op, inputs, [output], name=f"{op}_{output}", **attributes)


def codes(thaw, path, *args):
    return {f["code"] for f in thaw.findings(path, *args)}


def only(thaw, path, code):
    found = [f for f in thaw.findings(path) if f["code"] == code]
    assert len(found) == 1, found
    return found[0]


def branch(op):
    return h.make_graph([h.make_node(op, ["x"], [op])], op, [], [h.make_tensor_value_info(op, F, None)])


# code -> (a model that has it, the tensor or node that the finding names, a model that has not)
CASES = {
    "THAW001": (model([node("MatMul", ["a", "b"], "y")], [("a", F, ["n", 4]), ("b", F, [5, "m"])], [("y", F, None)]), "MatMul_y",
                model([node("MatMul", ["a", "b"], "y")], [("a", F, ["n", 5]), ("b", F, [5, "m"])], [("y", F, None)])),
    "THAW002": (model([h.make_node("Mystery", ["x"], ["y"], domain="")], [("x", F, ["n"])], [("y", F, None)]), "",
                model([node("Relu", ["x"], "y")], [("x", F, ["n"])], [("y", F, None)])),
    "THAW003": (model([node("MaxPool", ["x"], "p", kernel_shape=[2], strides=[2]), node("Relu", ["p"], "y")],
                      [("x", F, [1, 3, "s"])], [("y", F, None)], value_info=[("p", F, [1, 3, "s"])]), "p",
                model([node("MaxPool", ["x"], "p", kernel_shape=[2], strides=[2]), node("Relu", ["p"], "y")],
                      [("x", F, [1, 3, "s"])], [("y", F, None)], value_info=[("p", F, [1, 3, "half"])])),
    "THAW004": (model([node("Relu", ["x"], "p"), node("Relu", ["p"], "y")], [("x", F, ["n", 4])], [("y", F, None)],
                      value_info=[("p", F, [0, 4])]), "p",
                model([node("Relu", ["x"], "p"), node("Relu", ["p"], "y")], [("x", F, ["n", 4])], [("y", F, None)],
                      value_info=[("p", F, ["n", 4])])),
    "THAW005": (model([node("MatMul", ["x", "w"], "p"), node("Relu", ["p"], "y")], [("x", F, ["n", 8])], [("y", F, None)],
                      [floats("w", 8, 32)], [("p", F, ["n", 8])]), "p",
                model([node("MatMul", ["x", "w"], "p"), node("Relu", ["p"], "y")], [("x", F, ["n", 8])], [("y", F, None)],
                      [floats("w", 8, 32)], [("p", F, ["n", 32])])),
    "THAW010": (model([node("Expand", ["w", "to"], "e"), node("Add", ["x", "e"], "y")], [("x", F, ["n", 4])], [("y", F, None)],
                      [ints("to", [7, 4]), floats("w", 1, 4)]), "to",
                model([node("Shape", ["x"], "to"), node("Expand", ["w", "to"], "e"), node("Add", ["x", "e"], "y")],
                      [("x", F, ["n", 4])], [("y", F, None)], [floats("w", 1, 4)])),
    "THAW011": (model([h.make_node("Split", ["x", "parts"], ["a", "b"], axis=0, name="s"), node("Concat", ["b", "a"], "y", axis=0)],
                      [("x", F, ["n", 4])], [("y", F, None)], [ints("parts", [3, 8])]), "parts",
                model([h.make_node("Split", ["x", "parts"], ["a", "b"], axis=1, name="s"), node("Concat", ["b", "a"], "y", axis=1)],
                      [("x", F, ["n", 11])], [("y", F, None)], [ints("parts", [3, 8])])),
    "THAW012": (model([node("Slice", ["x", "zero", "end", "zero"], "s"), node("Add", ["s", "table"], "y")],
                      [("x", F, ["n", 4])], [("y", F, None)], [ints("zero", [0]), ints("end", [7]), floats("table", 7, 4)]), "end",
                model([node("Slice", ["x", "zero", "end", "one"], "s"), node("Relu", ["s"], "y")],
                      [("x", F, ["n", 8])], [("y", F, None)], [ints("zero", [0]), ints("end", [4]), ints("one", [1])])),
    "THAW013": (model([node("Add", ["x", "table"], "y")], [("x", F, ["n", 4])], [("y", F, None)], [floats("table", 7, 4)]), "table",
                model([node("Add", ["x", "table"], "y")], [("x", F, ["n", 4])], [("y", F, None)], [floats("table", 1, 4)])),
    "THAW014": (model([node("Gather", ["x", "order"], "g", axis=0), node("Add", ["g", "table"], "y")], [("x", F, ["n", 4])],
                      [("y", F, None)], [ints("order", [2, 0, 1, 4, 3]), floats("table", 5, 4)]), "order",
                model([node("Gather", ["x", "order"], "y", axis=1)], [("x", F, ["n", 4])], [("y", F, None)],
                      [ints("order", [2, 0, 1, 3])])),
    "THAW015": (model([node("Flatten", ["x"], "f", axis=1), node("MatMul", ["f", "w"], "y")], [("x", F, ["n", 4, "h"])],
                      [("y", F, None)], [floats("w", 28, 5)]), "w",
                model([node("MatMul", ["x", "w"], "y")], [("x", F, ["n", "h", 28])], [("y", F, None)], [floats("w", 28, 5)])),
    "THAW016": (model([node("Reshape", ["x", "to"], "r"), node("Add", ["r", "table"], "y")], [("x", F, ["n", "s", 8])],
                      [("y", F, None)], [ints("to", [-1, 7, 2, 4]), floats("table", 7, 1, 4)]), "to",
                model([node("Reshape", ["x", "to"], "y")], [("x", F, ["n", "s", 8])], [("y", F, None)], [ints("to", [0, -1, 2, 4])])),
    "THAW017": (model([node("Gather", ["x", "order"], "g", axis=0), node("Add", ["g", "table"], "y")], [("x", F, ["n", 4])],
                      [("y", F, None)], [ints("order", [0, 3, 1, 4, 2, 5]), floats("table", 6, 4)]), "",
                model([node("Add", ["x", "table"], "y")], [("x", F, ["n", 4])], [("y", F, None)], [floats("table", 1, 4)])),
    "THAW018": (model([node("Transpose", ["x"], "t", perm=[2, 3, 0, 1]), node("Reshape", ["t", "to"], "y")],
                      [("x", F, [1, 2, "h", "w"])], [("y", F, None)], [ints("to", [-1, 1])]), "y",
                model([node("Transpose", ["x"], "t", perm=[0, 2, 3, 1]), node("Reshape", ["t", "to"], "y")],
                      [("x", F, [1, 2, "h", "w"])], [("y", F, None)], [ints("to", [0, -1, 2])])),
    "THAW020": (model([node("Range", ["start", "stop", "step"], "y")], [("stop", F, [])], [("y", F, None)],
                      [numpy_helper.from_array(np.float32(0), "start"), numpy_helper.from_array(np.float32(1 / 28), "step")]), "",
                model([node("Range", ["start", "stop", "step"], "y")], [("stop", F, [])], [("y", F, None)],
                      [numpy_helper.from_array(np.float32(0), "start"), numpy_helper.from_array(np.float32(1), "step")])),
    "THAW021": (model([node("Cast", ["x"], "half", to=T.FLOAT16), node("MatMul", ["half", "w"], "y")], [("x", F, ["n", 8])],
                      [("y", F, None)], [floats("w", 8, 3)]), "w",
                model([node("MatMul", ["x", "w"], "y")], [("x", F, ["n", 8])], [("y", F, None)], [floats("w", 8, 3)])),
    "THAW030": (model([node("Mish", ["x"], "y")], [("x", F, ["n"])], [("y", F, None)], opset=18), "Mish_y",
                model([node("Softplus", ["x"], "s"), node("Tanh", ["s"], "t"), node("Mul", ["x", "t"], "y")], [("x", F, ["n"])],
                      [("y", F, None)], opset=18)),
    "THAW031": (model([node("Relu", ["x"], "y")], [("x", F, ["n"])], [("y", F, None)], opset=21), "",
                model([node("Relu", ["x"], "y")], [("x", F, ["n"])], [("y", F, None)], opset=20)),
    "THAW032": (model([node("Mod", ["x", "seven"], "y")], [("x", T.INT64, ["n"])], [("y", T.INT64, None)], [ints("seven", 7)]), "Mod_y",
                model([node("Div", ["x", "seven"], "y")], [("x", T.INT64, ["n"])], [("y", T.INT64, None)], [ints("seven", 7)])),
    "THAW033": (model([node("If", ["c"], "y", then_branch=branch("Relu"), else_branch=branch("Neg"))],
                      [("x", F, ["n"]), ("c", T.BOOL, [])], [("y", F, None)]), "If_y",
                model([node("Relu", ["x"], "a"), node("Neg", ["x"], "b"), node("Where", ["c", "a", "b"], "y")],
                      [("x", F, ["n"]), ("c", T.BOOL, [])], [("y", F, None)])),
    "THAW034": (model([node("Shape", ["x"], "s"), node("Gather", ["s", "zero"], "n", axis=0), node("Concat", ["n", "rest"], "to", axis=0),
                       node("Reshape", ["x", "to"], "y")], [("x", F, ["n", 12])], [("y", F, None)], [ints("zero", [0]), ints("rest", [3, 4])]),
                "to",
                model([node("Reshape", ["x", "to"], "y")], [("x", F, ["n", 12])], [("y", F, None)], [ints("to", [0, 3, 4])])),
    "THAW035": (model([node("Squeeze", ["x"], "y")], [("x", F, ["n", "m", 5])], [("y", F, None)]), "y",
                model([node("Squeeze", ["x", "one"], "y")], [("x", F, ["n", "m", 5])], [("y", F, None)], [ints("one", [1])])),
}

# Rules of a target are asked with one.
ARGUMENTS = {code: ("--target", "directml") for code in CASES if code.startswith("THAW03")}


@pytest.mark.parametrize("code", CASES)
def test_the_rule_finds_what_it_looks_for(thaw, save, code):
    bad, name, _ = CASES[code]
    found = [f for f in thaw.findings(save(bad, "bad"), *ARGUMENTS.get(code, ())) if f["code"] == code]
    assert found, f"{code} finds nothing"
    assert not name or any(name in (f["where"].get("tensor"), f["where"].get("node")) for f in found), found


@pytest.mark.parametrize("code", CASES)
def test_the_rule_is_silent_where_there_is_nothing(thaw, save, code):
    assert code not in codes(thaw, save(CASES[code][2], "good"), *ARGUMENTS.get(code, ()))


@pytest.mark.parametrize("code", ARGUMENTS)
def test_rules_of_targets_want_a_target(thaw, save, code):
    assert not any(f.startswith("THAW03") for f in codes(thaw, save(CASES[code][0])))


def test_a_clash_names_both_tensors(thaw, save):
    message = only(thaw, save(CASES["THAW003"][0]), "THAW003")["message"]
    assert "'x'" in message and "'p'" in message and "'s'" in message


def test_a_frozen_size_says_where_it_comes_from_and_what_it_should_be(thaw, save):
    finding = only(thaw, save(CASES["THAW013"][0]), "THAW013")
    assert "input 'x' axis 0 (n)" in finding["source"]
    assert finding["details"]["should be"] == "n" and finding["details"]["frozen at"] == "7"


def test_rules_can_be_chosen_and_left_out(thaw, save):
    path = save(CASES["THAW014"][0])
    assert codes(thaw, path, "--rule", "THAW013") == {"THAW013"}
    assert "THAW013" not in codes(thaw, path, "--ignore", "THAW013")
    assert "THAW999" in thaw.error("check", path, "--rule", "THAW999")


def test_every_rule_is_documented(thaw):
    from conftest import SOURCE
    text = (SOURCE / "docs" / "rules.md").read_text()
    for code in CASES:
        assert f"\n## {code} " in text, code
    rules = (SOURCE / "src" / "thaw" / "check" / "rules.cc").read_text()
    import re
    for code in re.findall(r'"(THAW\d{3})"', rules):
        assert f"\n## {code} " in text, code
