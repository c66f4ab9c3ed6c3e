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
    "THAW006": (model([node("Add", ["x", "c"], "y")], [("x", F, ["n", 2])], [("y", F, None)], [floats("c", 2), floats("c", 2)]), "c",
                model([node("Add", ["x", "c"], "y")], [("x", F, ["n", 2])], [("y", F, None)], [floats("c", 2)])),
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
    assert not name or any(name in (f["location"].get("tensor"), f["location"].get("node")) for f in found), found


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
    assert codes(thaw, path, "--select", "THAW013") == {"THAW013"}
    assert "THAW013" not in codes(thaw, path, "--ignore", "THAW013")
    assert "THAW999" in thaw.error("check", path, "--select", "THAW999")


def test_every_rule_is_documented(thaw):
    from conftest import SOURCE
    text = (SOURCE / "docs" / "rules.md").read_text()
    for code in CASES:
        assert f"\n## {code} " in text, code
    rules = (SOURCE / "src" / "thaw" / "check" / "rules.cc").read_text()
    import re
    for code in re.findall(r'"(THAW\d{3})"', rules):
        assert f"\n## {code} " in text, code


def test_a_frozen_shape_names_the_attribute_that_froze_it(thaw, save):
    parts = h.make_node("Split", ["x"], ["a", "b"], axis=0, name="s", split=[3, 8])
    bad = model([parts, node("Concat", ["b", "a"], "y", axis=0)], [("x", F, ["n", 4])], [("y", F, None)], opset=11)
    found, = [f for f in thaw.findings(save(bad)) if f["code"] in {"THAW010", "THAW011"}]
    assert "attribute 'split' of 's'" in found["message"] and found["location"]["node"] == "s"


def test_every_frozen_shape_names_a_constant_or_is_none(thaw, save):
    """The last axis of a grid is 2 because GridSample says so: nothing was frozen."""
    grid = model([node("GridSample", ["x", "grid"], "y")], [("x", F, [1, 3, 8, 8]), ("grid", F, [1, 5, 6, 2])], [("y", F, None)])
    assert not codes(thaw, save(grid)) & {"THAW010", "THAW013", "THAW015"}
    free = model([node("GridSample", ["x", "grid"], "y")], [("x", F, ["n", 3, 8, 8]), ("grid", F, ["n", 5, 6, "two"])], [("y", F, None)])
    assert not codes(thaw, save(free)) & {"THAW010", "THAW013", "THAW015"}


@pytest.mark.parametrize("frozen", ["a", "b"])
def test_of_inputs_of_one_size_the_one_that_was_frozen_is_named(thaw, save, frozen):
    path = save(model([node("Expand", ["w", "to"], "e"), node("Add", [frozen, "e"], "s"), node("Concat", ["a", "b"], "c", axis=0)],
                      [("a", F, [1, 7, 4]), ("b", F, [1, 7, 4])], [("s", F, None), ("c", F, None)],
                      [ints("to", [1, 7, 4]), floats("w", 1, 1, 4)]))
    assert f"input '{frozen}' axis 1" in only(thaw, path, "THAW010")["source"]


def test_features_that_are_declared_as_a_number_are_no_finding(thaw, save):
    """A weight takes the 4 features that a pool leaves of the 8 that the input declares: there is nothing to declare."""
    pool = h.make_node("AveragePool", ["x"], ["p"], kernel_shape=[2], strides=[2])
    declared = model([pool, node("MatMul", ["p", "w"], "y")], [("x", F, [1, 5, 8])], [("y", F, None)], [floats("w", 4, 3)])
    assert "THAW015" not in codes(thaw, save(declared))
    free = model([pool, node("MatMul", ["p", "w"], "y")], [("x", F, ["n", 5, "features"])], [("y", F, None)], [floats("w", 4, 3)])
    assert "THAW015" in codes(thaw, save(free))


def test_layers_that_are_taken_apart_are_no_frozen_slice(thaw, save):
    one = [node("Slice", ["state", f"at{i}", f"at{i + 1}", "at0"], f"h{i}") for i in range(2)]
    path = save(model([*one, node("Add", ["h0", "h1"], "s"), node("Mul", ["s", "x"], "m"), node("Add", ["m", "table"], "y")],
                      [("state", F, [2, 1, 8]), ("x", F, [1, 5, 8])], [("y", F, None)],
                      [ints(f"at{i}", [i]) for i in range(3)] + [floats("table", 5, 8)]))
    assert "THAW012" not in codes(thaw, path)


def test_what_a_loop_meets_before_its_states_settle_is_no_finding(thaw, save):
    """The window of 7 rows is cut from rows that grow: only before the first iteration are they as many as the input's."""
    body = h.make_graph([node("Slice", ["acc", "zero", "end", "zero"], "window"), node("ReduceSum", ["window", "zero"], "row"),
                         node("Concat", ["acc", "row"], "next", axis=0), node("Identity", ["go"], "on")], "body",
                        [h.make_tensor_value_info("i", T.INT64, []), h.make_tensor_value_info("go", T.BOOL, []),
                         h.make_tensor_value_info("acc", F, None)],
                        [h.make_tensor_value_info("on", T.BOOL, []), h.make_tensor_value_info("next", F, None)])
    path = save(model([node("Add", ["x", "table"], "s"), node("Loop", ["trips", "", "s"], "y", body=body)], [("x", F, ["n", 4])],
                      [("y", F, None)], [ints("zero", [0]), ints("end", [7]), ints("trips", 3), floats("table", 7, 4)]))
    found = codes(thaw, path)
    assert "THAW013" in found and "THAW012" not in found


@pytest.mark.parametrize("batch, severity", [(32, "warning"), ("n", "warning"), (1, "note")])
def test_samples_merged_into_rows_are_found_at_any_declared_batch(thaw, save, batch, severity):
    def head(perm, to):
        return save(model([h.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), node("Transpose", ["c"], "t", perm=perm),
                           node("Reshape", ["t", "to"], "r"), node("Sigmoid", ["r"], "y")], [("x", F, [batch, 3, 16, 16])],
                          [("y", F, None)], [floats("w", 2, 3, 3, 3), ints("to", to)]))
    finding = only(thaw, head([2, 3, 0, 1], [-1, 1]), "THAW018")
    assert finding["severity"] == severity and finding["location"]["tensor"] == "y"
    assert "THAW018" not in codes(thaw, head([0, 2, 3, 1], [0, -1, 1]))


def test_rows_of_channels_are_not_taken_for_a_batch(thaw, save):
    path = save(model([node("Transpose", ["x"], "t", perm=[1, 2, 0]), node("Reshape", ["t", "to"], "y")], [("x", F, [3, 16, 16])],
                      [("y", F, None)], [ints("to", [-1, 1])]))
    assert "THAW018" not in codes(thaw, path)


def test_places_as_many_as_channels_freeze_no_weight(thaw, save):
    """64 channels of 8 by 8 places as 64 rows of 64: what is computed holds every element, at any size."""
    nodes = [node("Conv", ["x", "w"], "c", strides=[8, 8]), node("Shape", ["c"], "s"), *(node("Gather", ["s", f"at{i}"], f"s{i}", axis=0) for i in (1, 2, 3)),
             node("Mul", ["s2", "s3"], "places"), node("Unsqueeze", ["places", "zero"], "p"), node("Unsqueeze", ["s1", "zero"], "n"),
             node("Concat", ["any", "p", "n"], "to", axis=0), node("Reshape", ["c", "to"], "y")]
    path = save(model(nodes, [("x", F, [1, 3, 64, 64])], [("y", F, None)],
                      [floats("w", 64, 3, 8, 8), ints("any", [-1]), ints("zero", [0]), *(ints(f"at{i}", i) for i in (1, 2, 3))]))
    assert not codes(thaw, path) & {"THAW010", "THAW013", "THAW016"}


@pytest.mark.parametrize("opset", [13, 17])
def test_a_name_that_outputs_share_stops_nothing(thaw, save, opset):
    """ONNX Runtime gives outputs buffers of their own: it runs, and the finding says so; tensors inside clash as before."""
    from conftest import run
    halves = [node("MaxPool", ["x"], "p", kernel_shape=[2], strides=[2]), node("MaxPool", ["p"], "y", kernel_shape=[2], strides=[2])]
    outputs = model(halves, [("x", F, [1, 3, "s"])], [("p2", F, [1, 3, "out"]), ("y", F, [1, 3, "out"])], opset=opset)
    outputs.graph.node.append(node("Relu", ["p"], "p2"))
    finding = only(thaw, save(outputs), "THAW003")
    assert finding["severity"] == "warning" and "the model runs" in finding["consequence"]
    assert run(outputs, {"x": np.ones((1, 3, 16), np.float32)})[1].shape == (1, 3, 4)
    assert only(thaw, save(CASES["THAW003"][0]), "THAW003")["severity"] == "error"


def test_a_declared_name_that_meets_a_number_is_a_frozen_size(thaw, save):
    """Of an output that a Resize freezes the graph is wrong, and not the name."""
    resized = model([node("Resize", ["x", "", "", "to"], "r"), node("Relu", ["r"], "a"), node("Squeeze", ["a", "one"], "y")],
                    [("x", F, ["batch", 1, "height", "width"])], [("y", F, ["batch", "height", "width"])], [ints("to", [1, 1, 70, 98]), ints("one", [1])])
    found = [f for f in thaw.findings(save(resized)) if f["code"] != "THAW004"]
    assert found and {f["code"] for f in found} == {"THAW010"} and all("Resize" in str(f["location"]) for f in found)
    assert any("for every input size" in f["consequence"] for f in found)
