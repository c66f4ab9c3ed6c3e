"""Nodes, graphs and functions with too many or too few values: a sentence that names the node, from every verb."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

F, I64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
MODELS = {}


def value(name, kind=F, dims=("n", 4)):
    return helper.make_tensor_value_info(name, kind, None if dims is None else list(dims))


def body(nodes=(), inputs=(), outputs=(), kind=F):
    return helper.make_graph(list(nodes), "body", [value(i, kind, None) for i in inputs],
                             [value(o, kind, None) for o in outputs])


def node(op, inputs, outputs, name="culprit", **attributes):
    return helper.make_node(op, inputs, outputs, name=name, **attributes)


RELU = helper.make_node("Relu", ["x"], ["r"])
COPY = helper.make_node("Identity", ["b"], ["z"])


def model(maker):
    """The model of nodes over x [n, 4], a condition and a number of turns; outputs y, and what else it names."""
    made = maker()
    nodes, outputs = made[0], made[1]
    extra = made[2] if len(made) > 2 else {}
    constants = [numpy_helper.from_array(np.array(3, np.int64), "turns"),
                 numpy_helper.from_array(np.array(True), "yes"),
                 numpy_helper.from_array(np.zeros([1], np.int64), "zero")]
    inputs = extra.pop("inputs", [value("x"), value("c", BOOL, [])])
    graph = helper.make_graph(nodes, "hostile", inputs, [value(o, dims=None) for o in outputs], constants)
    opset = extra.pop("opset", 17)
    MODELS[maker.__name__] = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("mine", 1)], ir_version=8, **extra)
    return maker


@model
def if_whose_branches_return_nothing():
    return [node("If", ["c"], ["y"], then_branch=body(), else_branch=body())], ["y"]


@model
def if_whose_else_returns_less():
    return [node("If", ["c"], ["y", "y2"], then_branch=body([RELU], outputs=["r", "r"]),
                 else_branch=body([RELU], outputs=["r"]))], ["y", "y2"]


@model
def if_with_a_known_condition_whose_branch_returns_nothing():
    return [node("If", ["yes"], ["y"], then_branch=body(), else_branch=body([RELU], outputs=["r"])),
            helper.make_node("Add", ["x", "y"], ["s"])], ["s"]


@model
def if_of_samples_whose_branches_return_nothing():
    return [helper.make_node("ReduceMax", ["x"], ["m"], keepdims=0), helper.make_node("Cast", ["m"], ["t"], to=BOOL),
            node("If", ["t"], ["y"], then_branch=body(), else_branch=body())], ["y"]


@model
def if_without_branches():
    return [node("If", ["c"], ["y"])], ["y"]


@model
def if_whose_branch_takes_a_value():
    branch = body([COPY], ["b"], ["z"])
    return [node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)], ["y"]


@model
def if_in_a_branch():
    inner = body([node("If", ["c"], ["q"], then_branch=body(), else_branch=body())], outputs=["q"])
    return [node("If", ["c"], ["y"], "around", then_branch=inner, else_branch=body([RELU], outputs=["r"]))], ["y"]


@model
def sequence_map_whose_body_returns_nothing():
    return [helper.make_node("SequenceConstruct", ["x"], ["s"]), node("SequenceMap", ["s"], ["t"], body=body()),
            helper.make_node("SequenceAt", ["t", "turns"], ["y"])], ["y"]


@model
def sequence_map_with_more_results():
    return [helper.make_node("SequenceConstruct", ["x"], ["s"]),
            node("SequenceMap", ["s"], ["t", "u"], body=body([COPY], ["b"], ["z"])),
            helper.make_node("SequenceAt", ["u", "turns"], ["y"])], ["y"]


@model
def loop_whose_body_returns_nothing():
    return [node("Loop", ["turns", "yes", "x"], ["y"], body=body())], ["y"]


@model
def loop_whose_body_takes_nothing():
    return [node("Loop", ["turns", "yes", "x"], ["y"],
                 body=body([helper.make_node("Identity", ["yes"], ["go"]), RELU], outputs=["go", "r"]))], ["y"]


@model
def loop_that_gives_more_than_its_body():
    inner = body([helper.make_node("Identity", ["go_in"], ["go"]), COPY], ["i", "go_in", "b"], ["go", "z"])
    return [node("Loop", ["turns", "yes", "x"], ["y", "y2", "y3"], body=inner)], ["y", "y3"]


@model
def loop_without_a_body():
    return [node("Loop", ["turns", "yes", "x"], ["y"])], ["y"]


@model
def loop_without_operands():
    return [node("Loop", [], ["y"], body=body([RELU], outputs=["r"]))], ["y"]


@model
def scan_whose_body_takes_nothing():
    return [node("Scan", ["x"], ["y"], num_scan_inputs=1, body=body([RELU], outputs=["r"]))], ["y"]


@model
def scan_whose_body_returns_nothing():
    return [node("Scan", ["x", "x"], ["y", "y2"], num_scan_inputs=1, body=body(inputs=["a", "b"]))], ["y"]


@model
def shape_without_result():
    return [node("Shape", ["x"], []), helper.make_node("Relu", ["x"], ["y"])], ["y"]


@model
def shape_whose_result_is_left_out():
    return [node("Shape", ["x"], [""]), helper.make_node("Relu", ["x"], ["y"])], ["y"]


@model
def size_whose_result_is_left_out():
    return [node("Size", ["x"], [""]), helper.make_node("Relu", ["x"], ["y"])], ["y"]


@model
def concat_of_nothing():
    return [node("Concat", [], ["z"], axis=0), helper.make_node("Add", ["x", "z"], ["y"])], ["y"]


@model
def conv_whose_data_is_left_out():
    return [node("Conv", ["", "x"], ["y"])], ["y"]


@model
def relu_of_three():
    return [node("Relu", ["x", "x", "x"], ["y"])], ["y"]


@model
def split_without_result():
    return [node("Split", ["x"], []), helper.make_node("Relu", ["x"], ["y"])], ["y"]


@model
def call_with_more_results_than_the_function():
    function = helper.make_function("mine", "Short", ["a"], ["z"], [helper.make_node("Relu", ["a"], ["z"])],
                                    [helper.make_opsetid("", 17)])
    return [node("Short", ["x"], ["y", "y2"], domain="mine")], ["y", "y2"], {"functions": [function]}


@model
def call_with_more_operands_than_the_function():
    function = helper.make_function("mine", "Short", [], ["z"], [helper.make_node("Constant", [], ["z"],
                                    value_float=1.0)], [helper.make_opsetid("", 17)])
    return [node("Short", ["x"], ["z"], domain="mine"), helper.make_node("Add", ["x", "z"], ["y"])], ["y"], {
        "functions": [function]}


@model
def function_with_a_broken_if():
    function = helper.make_function("mine", "Broken", ["a", "k"], ["z"],
                                    [node("If", ["k"], ["z"], then_branch=body(), else_branch=body())],
                                    [helper.make_opsetid("", 17)])
    return [helper.make_node("Broken", ["x", "c"], ["y"], domain="mine")], ["y"], {"functions": [function]}


@model
def pad_without_pads():
    return [node("Pad", ["x"], ["y"])], ["y"], {"opset": 9}


@model
def cast_to_nothing():
    return [node("Cast", ["x"], ["y"])], ["y"]


# Not refused for how many values they have: a sentence or a result, and no harm.
STRANGE = {}


def strange(maker):
    model(maker)
    STRANGE[maker.__name__] = MODELS.pop(maker.__name__)
    return maker


@strange
def loop_of_another_domain():
    return [node("Loop", ["x", "x", "x"], ["y"], domain="mine", body=body())], ["y"]


@strange
def scan_that_scans_more_than_it_has():
    return [node("Scan", ["x"], ["y"], num_scan_inputs=2**40, body=body([COPY], ["b"], ["z"]))], ["y"]


@strange
def scan_that_scans_less_than_nothing():
    return [node("Scan", ["x"], ["y"], num_scan_inputs=-2**63, body=body([COPY], ["b"], ["z"])),
            helper.make_node("Relu", ["y"], ["r"])], ["r"]


@strange
def pads_that_are_no_integers():
    pads = numpy_helper.from_array(np.array([0, 0, 1, 1], np.complex64))
    return [helper.make_node("Constant", [], ["pads"], value=pads), helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]),
            node("Pad", ["t", "pads"], ["p"]), helper.make_node("Transpose", ["p"], ["y"], perm=[1, 0])], ["y"], {
                "inputs": [value("x", dims=[3, 4])]}


@strange
def attention_without_operands():
    return [node("Attention", [], ["z"], domain="com.microsoft", num_heads=2),
            helper.make_node("Add", ["x", "z"], ["y"])], ["y"]


@strange
def gather_along_an_axis_that_is_not_there():
    return [node("Gather", ["x", "x"], ["y"], axis=-10**9)], ["y"], {
        "inputs": [value("x", dims=[1, 4, 4])]}


@strange
def flatten_past_the_last_axis():
    return [node("Flatten", ["x"], ["y"], axis=2**40)], ["y"]


@strange
def swap_past_an_unknown_rank():
    rank = helper.make_node("Reshape", ["x", "sizes"], ["u"])
    return [rank, node("Attention", ["x", "", "", "", "u"], ["y"], domain="com.microsoft", num_heads=2)], ["y"], {
        "inputs": [value("x", dims=[1, 4, 4]), value("sizes", I64, ["k"])]}


@strange
def gru_of_unknown_rank():
    rank = helper.make_node("Reshape", ["x", "sizes"], ["u"])
    return [rank, node("GRU", ["u", "u", "u", "", "", "u"], ["y", "y2"], hidden_size=4)], ["y"], {
        "inputs": [value("x", dims=[1, 4, 4]), value("sizes", I64, ["k"])]}


@strange
def rotary_of_a_number():
    return [node("RotaryEmbedding", ["c", "c", "c", "c"], ["y"], domain="com.microsoft")], ["y"], {
        "inputs": [value("c", dims=[])]}


@strange
def convolution_with_an_attribute_of_none():
    weight = numpy_helper.from_array(np.ones([2, 3, 3, 3], np.float32))
    return [helper.make_node("Constant", [], ["w"], value=weight), node("Conv", ["i", "w"], ["y"], keepdims=1)], ["y"], {
        "inputs": [value("i", dims=[1, 3, 8, 8])]}


@strange
def sizes_whose_sum_is_no_integer():
    sizes = numpy_helper.from_array(np.array([1, 2**63 - 1], np.int64))
    return [helper.make_node("Constant", [], ["sizes"], value=sizes), node("Reshape", ["x", "sizes"], ["y"])], ["y"], {
        "inputs": [value("x", dims=[1, "n"])]}


def turned_twice(perm):
    return [helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]), node("Transpose", ["t"], ["y"], perm=perm)], ["y"]


@model
def pads_that_are_one_number():
    return [node("Pad", ["x"], ["y"], pads=2)], ["y"], {"opset": 7, "inputs": [value("x", dims=[1, 4])]}


@strange
def least_of_what_is_left_out():
    return [node("Min", ["x", ""], ["m"]), node("Sum", ["", "m"], ["s"]), node("Mean", ["s", ""], ["y"])], ["y"]


@strange
def exponential_of_what_is_left_out():
    return [node("Exp", [""], ["e"]), node("ReduceSum", [""], ["r"]), node("Div", ["e", "r"], ["d"]),
            node("MatMul", ["d", "x"], ["y"])], ["y"]


@model
def transpose_by_an_axis_that_is_not_there():
    return turned_twice([0, 2])


@model
def transpose_by_an_axis_from_the_end():
    return turned_twice([1, -2])


@model
def transpose_by_one_axis_twice():
    return turned_twice([0, 0])


VERBS = {
    "batch": lambda path, out: ["batch", path, "-o", out],
    "batch, unchecked": lambda path, out: ["batch", path, "-o", out, "--no-check", "--allow-loop"],
    "batch, one input": lambda path, out: ["batch", path, "-o", out, "--no-check", "--inputs", "x"],
    "fix": lambda path, out: ["fix", path, "-o", out],
    "check": lambda path, out: ["check", path],
    "inspect": lambda path, out: ["inspect", path, "--tensors"],
    "lift": lambda path, out: ["lift", path, path, "-o", out, "--no-check"],
    "optimize": lambda path, out: ["optimize", path, "-o", out, "--no-check"],
    "optimize, newer": lambda path, out: ["optimize", path, "-o", out, "--no-check", "--opset", "23", "--target", "ort"],
    "convert": lambda path, out: ["convert", path, "-o", out, "--no-check", "--no-optimize", "--to", "f16"],
    "convert, blocks": lambda path, out: ["convert", path, "-o", out, "--no-check", "--to", "int4", "--form", "qdq"],
    "convert, int8": lambda path, out: ["convert", path, "-o", out, "--no-check", "--to", "int8", "--dynamic"],
    "pin": lambda path, out: ["pin", path, "-o", out, "--no-check", "--sizes", "n=3"],
    "split": lambda path, out: ["split", path, "-o", out.with_suffix(""), "--no-check", "--parts", "2"],
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("verb", VERBS)
def test_a_wrong_number_of_values_is_told_with_its_node(thaw, save, tmp_path, verb, name):
    path, out = save(MODELS[name]), tmp_path / "out.onnx"
    run = thaw(*VERBS[verb](path, out), code={0, 1, 2}, timeout=20)
    text = run.stdout + run.stderr
    if verb in ("check", "inspect"):
        assert "culprit" in text and "expected" in text, text
        return
    assert run.returncode == 2 and len(run.stderr.splitlines()) == 1 and "culprit" in run.stderr, text
    assert not out.exists()


@pytest.mark.parametrize("name", STRANGE)
@pytest.mark.parametrize("verb", VERBS)
def test_what_is_not_known_does_no_harm(thaw, save, tmp_path, verb, name):
    run = thaw(*VERBS[verb](save(STRANGE[name]), tmp_path / "out.onnx"), code={0, 1, 2}, timeout=20)
    assert run.returncode != 2 or len(run.stderr.splitlines()) == 1, run.stderr


def test_checked_by_onnx_itself():
    """ONNX's checker and shape inference accept none of them either, so that no good model is refused."""
    for name, made in MODELS.items():
        with pytest.raises((onnx.checker.ValidationError, onnx.shape_inference.InferenceError)):
            onnx.checker.check_model(made, full_check=True)
            pytest.fail(name)


SCALES = [value("x", dims=[6]), value("s", dims=[3])]


@pytest.mark.parametrize(("nodes", "inputs", "opset"), [
    ([node("Clip", ["x", "low"], ["y"])], [value("x", dims=[2, 4]), value("low", dims=[4])], 17),
    ([node("MeanVarianceNormalization", ["x"], ["y"])], [value("x", dims=[3])], 13),
    ([node("QuantizeLinear", ["x", "s"], ["y"])], SCALES, 13),
    ([node("Transpose", ["x"], ["y"], perm=[-3, 2, 1])], [value("x", dims=[2, 3, 4])], 17),
], ids=["Clip", "MeanVarianceNormalization", "QuantizeLinear", "Transpose"])
def test_what_cannot_run_is_said_and_not_batched(thaw, save, tmp_path, nodes, inputs, opset):
    graph = helper.make_graph(nodes, "broken", inputs, [helper.make_empty_tensor_value_info("y")])
    path = save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8))
    assert "THAW001" in [finding["code"] for finding in thaw.findings(path)]
    out = tmp_path / "out.onnx"
    thaw.error("batch", path, "-o", out, "--no-check", "--allow-loop")
    assert not out.exists()


def test_no_loop_is_written_that_the_opset_does_not_have(thaw, save, tmp_path):
    nodes = [node("LayerNormalization", ["x", "w"], ["y"])]  # which no opset before 17 has, either
    graph = helper.make_graph(nodes, "old", [value("x", dims=[2, 4]), value("w", dims=[4])],
                              [helper.make_empty_tensor_value_info("y")])
    path = save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 8)], ir_version=4))
    line = thaw.error("batch", path, "-o", tmp_path / "out.onnx", "--no-check", "--allow-loop")
    assert "culprit" in line and "opset 9" in line, line
