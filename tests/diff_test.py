"""`diff`: exit 0 for equal models, 1 and what differs for others."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from inspect_json_test import FLOAT, conv_net, model


def changed(items):
    return {i["name"]: [d["property"] for d in i["differences"]] for i in items if i["change"] == "changed"}


def names(items, change):
    return [i["name"] for i in items if i["change"] == change]


@pytest.fixture
def diff(thaw, save):
    """diff(a, b): the report of two models, its exit code checked against what it says."""
    def compare(a, b, *args):
        run = thaw.json("diff", save(a, "a"), save(b, "b"), *args, code=(0, 1))
        thaw("diff", save(a, "a"), save(b, "b"), *args, code=0 if run["equal"] else 1)
        return run
    return compare


def test_a_model_equals_itself(diff):
    report = diff(conv_net(), conv_net())
    assert report["equal"] and report["matched_nodes"] == 3


def test_an_attribute(diff):
    other = conv_net()
    next(a for a in other.graph.node[0].attribute if a.name == "strides").ints[:] = [2, 3]
    report = diff(conv_net(), other)
    assert not report["equal"]
    item, = report["nodes"]
    assert item["name"] == "Conv 'conv'"
    assert item["differences"] == [{"property": "attribute strides", "a": "[2, 2]", "b": "[2, 3]"}]
    assert changed(report["inferred_shapes"]).keys() == {"'features'", "'out'"}


def test_an_attribute_that_one_lacks(diff):
    other = conv_net()
    other.graph.node[0].attribute.append(helper.make_attribute("group", 1))
    assert diff(conv_net(), other)["nodes"][0]["differences"] == [{"property": "attribute group", "a": "", "b": "1"}]


def test_weights_by_value(diff):
    other = conv_net()
    array = np.ones((7, 3, 3, 3), np.float32)
    array[1, 2, 0, 1] = 1.25
    array[6, 0, 0, 0] = 0.5
    other.graph.initializer[0].CopyFrom(numpy_helper.from_array(array, "weight"))
    report = diff(conv_net(), other)
    assert report["nodes"] == []
    item, = report["weights"]
    assert item["name"] == "'weight'"
    assert item["differences"][0]["message"] == "2 of 189 elements differ, by at most 0.5"
    assert diff(conv_net(), other, "--no-weights")["equal"]


def constant(value):
    tensor = numpy_helper.from_array(np.array([3, value, 5], np.float32), "c")
    return model([helper.make_node("Constant", [], ["c"], name="c", value=tensor),
                  helper.make_node("Mul", ["x", "c"], ["y"])], [("x", FLOAT, ["n", 3])], [("y", FLOAT, None)])


def test_weights_in_constant_nodes(diff):
    report = diff(constant(7.0), constant(7.5))
    assert report["nodes"][0]["differences"] == [{"property": "attribute value", "message": "another value of float32 [3]"}]
    assert diff(constant(7.0), constant(7.5), "--no-weights")["equal"]


def test_a_default_that_one_lacks(diff):
    """Before IR version 4 every initializer is an input too; without it, the input must be fed."""
    def with_default(m):
        m.ir_version = 3
        m.graph.input.append(helper.make_tensor_value_info("weight", FLOAT, (7, 3, 3, 3)))
        return m
    other = with_default(conv_net())
    del other.graph.initializer[:]
    assert names(diff(with_default(conv_net()), other)["weights"], "removed") == ["'weight' float32 [7, 3, 3, 3]"]


def test_weights_in_another_form_are_the_same_weights(diff):
    other = conv_net()
    other.graph.initializer[0].CopyFrom(helper.make_tensor("weight", FLOAT, (7, 3, 3, 3), [1.0] * 189))
    assert other.graph.initializer[0].float_data and not conv_net().graph.initializer[0].float_data
    assert diff(conv_net(), other)["equal"]


def test_weights_by_type(diff):
    other = conv_net()
    other.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.ones((7, 3, 3, 1), np.float32), "weight"))
    assert diff(conv_net(), other)["weights"][0]["differences"][0] == {
        "property": "type", "a": "float32 [7, 3, 3, 3]", "b": "float32 [7, 3, 3, 1]"}


def test_the_interface(diff):
    other = conv_net()
    other.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 5
    del other.graph.output[1]
    report = diff(conv_net(), other)
    assert changed(report["inputs"]) == {"'image'": ["type"]}
    assert names(report["outputs"], "removed") == ["'shape'"]


def test_the_order_of_outputs(diff):
    other = conv_net()
    outputs = list(other.graph.output)[::-1]
    del other.graph.output[:]
    other.graph.output.extend(outputs)
    assert changed(diff(conv_net(), other)["outputs"]) == {"all of them": ["order"]}


def test_the_header(diff):
    other = conv_net()
    other.ir_version, other.producer_name = 9, "another"
    other.opset_import[0].version = 18
    helper.set_model_props(other, {"key": "text"})
    assert [d["property"] for d in diff(conv_net(), other)["header"]] == ["IR version", "opset of ai.onnx", "producer",
                                                                     "metadata key"]


def chain(*ops, stem="t"):
    """x through unary operators."""
    nodes, last = [], "x"
    for i, op in enumerate(ops):
        nodes.append(helper.make_node(op, [last], [f"{stem}{i}"]))
        last = f"{stem}{i}"
    nodes[-1].output[0] = "y"
    return model(nodes, [("x", FLOAT, ["n", 5])], [("y", FLOAT, ["n", 5])])


def test_a_node_added_and_one_removed(diff):
    a = chain("Relu", "Exp", "Abs", "Tanh")
    b = chain("Relu", "Exp", "Abs", "Tanh")
    b.graph.node.insert(2, helper.make_node("Neg", ["t1"], ["extra"], name="minus"))
    b.graph.node[3].input[0] = "extra"
    report = diff(a, b)
    assert names(report["nodes"], "added") == ["Neg 'minus'"]
    assert changed(report["nodes"]) == {"Abs 't2'": ["input 0"]}
    assert names(diff(b, a)["nodes"], "removed") == ["Neg 'minus'"]
    assert report["operators"] == [{"property": "Neg", "a": "0", "b": "1"}]


def test_other_names_are_no_other_model(diff):
    ops = ["Relu", "Exp", "Abs", "Tanh", "Relu", "Exp", "Sigmoid"] * 30
    report = diff(chain(*ops), chain(*ops, stem="other"))
    assert not report["equal"] and report["equal_except_names"]
    assert {"a": "t0", "b": "other0"} in report["renamed"]


def test_nodes_are_found_again_under_other_names(diff):
    ops = ["Relu", "Exp", "Abs", "Tanh", "Relu", "Exp", "Sigmoid"] * 30
    more = [*ops[:100], "Neg", "Floor", *ops[100:]]
    report = diff(chain(*ops), chain(*more, stem="other"))
    assert sorted(i["name"].split()[0] for i in report["nodes"] if i["change"] == "added") == ["Floor", "Neg"]
    assert names(report["nodes"], "removed") == []
    assert len(changed(report["nodes"])) == 1  # the one that reads them


def test_a_subgraph(diff):
    def choose(op):
        def branch(name, kind):
            node = helper.make_node(kind, ["x"], [f"{name}_out"])
            return helper.make_graph([node], name, [], [helper.make_tensor_value_info(f"{name}_out", FLOAT, None)])
        return model([helper.make_node("If", ["c"], ["y"], name="if", then_branch=branch("t", op), else_branch=branch("e", "Exp"))],
                     [("c", TensorProto.BOOL, []), ("x", FLOAT, ["n", 5])], [("y", FLOAT, None)])
    report = diff(choose("Relu"), choose("Abs"))
    assert names(report["nodes"], "removed") == ["Relu 't_out', in If 'if'.then_branch"]
    assert names(report["nodes"], "added") == ["Abs 't_out', in If 'if'.then_branch"]
    assert diff(choose("Relu"), choose("Relu"))["equal"]


def test_declared_dims_of_inner_values(diff):
    a, b = chain("Relu", "Exp", "Abs"), chain("Relu", "Exp", "Abs")
    a.graph.value_info.append(helper.make_tensor_value_info("t0", FLOAT, ["?", 5]))
    b.graph.value_info.append(helper.make_tensor_value_info("t0", FLOAT, ["n", 5]))
    b.graph.value_info.append(helper.make_tensor_value_info("t1", FLOAT, ["n", 5]))
    declared = {i["name"]: (d["a"], d["b"]) for i in diff(a, b)["value_info"] for d in i["differences"]}
    assert declared == {"'t0'": ("float32 [?, 5]", "float32 [n, 5]"), "'t1'": ("none", "float32 [n, 5]")}
    assert changed(diff(b, a)["value_info"]).keys() == {"'t0'", "'t1'"}


def test_external_weights_in_one_file_are_not_read(thaw, tmp_path):
    """Both models name the same place in a file that holds nothing: comparing its bytes would say so."""
    m = conv_net()
    onnx.save(m, tmp_path / "a.onnx", save_as_external_data=True, size_threshold=0, location="w.data")
    (tmp_path / "b.onnx").write_bytes((tmp_path / "a.onnx").read_bytes())
    assert thaw.json("diff", tmp_path / "a.onnx", tmp_path / "b.onnx", code=0)["equal"]


def test_text_lists_what_differs(thaw, save):
    a, b = chain("Relu", "Exp", "Abs"), chain("Relu", "Neg", "Abs")
    text = thaw("diff", save(a, "a"), save(b, "b"), code=1).stdout
    assert "  - Exp 't1'" in text.splitlines() and "  + Neg 't1'" in text.splitlines()
    assert text.splitlines()[-1].startswith("The models differ")


def test_a_long_list_is_cut_unless_all_is_asked_for(thaw, save):
    a, b = chain(*["Relu"] * 40), chain(*["Abs"] * 40)
    cut = thaw("diff", save(a, "a"), save(b, "b"), code=1).stdout
    assert cut.count("  - Relu") == 20 and "--all" in cut
    assert thaw("diff", save(a, "a"), save(b, "b"), "--all", code=1).stdout.count("  - Relu") == 40
