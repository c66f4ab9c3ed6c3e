"""`thaw verify --prove` of attention: written node by node and as one operator, and what is nearly the same."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from prove_test import node, proofs, verdicts

FLOAT = TensorProto.FLOAT
HEADS, SHARED, WIDTH = 4, 2, 16  # heads of queries and of keys, and how wide each is
X = [("q", FLOAT, ("n", "m", HEADS * WIDTH)), ("k", FLOAT, ("n", "m", SHARED * WIDTH)), ("v", FLOAT, ("n", "m", SHARED * WIDTH))]
CONSTANTS = {
    "heads": [0, 0, HEADS, WIDTH], "shared": [0, 0, SHARED, WIDTH], "groups": [1, 1, HEADS // SHARED, 1, 1], "repeated": [0, HEADS, -1, WIDTH], "merged": [0, 0, HEADS * WIDTH],
    "zero": np.int64(0), "one": np.int64(1), "two": np.int64(2), "first": [0], "second": [1], "third": [2], "column": [-1, 1], "last": [-1],
    "none": np.float32(0), "scale": np.float32(0.25), "other_scale": np.float32(0.26), "low": np.float32(-1e30), "lowest": np.float32(-np.inf), "some": np.float32(-2),
}


def model(nodes, opset=17):
    info = helper.make_tensor_value_info
    constants = [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in CONSTANTS.items()]
    graph = helper.make_graph(nodes, "g", [info(n, t, list(d)) for n, t, d in X], [info("y", FLOAT, None)], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)], ir_version=10)


def positions():
    """Keys i along a row and queries j along a column."""
    return [node("Shape", "k", "sizes"), node("Gather", "sizes one", "count"), node("Range", "zero count one", "keys"), node("Reshape", "keys column", "queries")]


SEES = {"": [node("LessOrEqual", "keys queries", "seen")],
        "less": [node("Less", "keys queries", "seen")],
        "later": [node("LessOrEqual", "queries keys", "seen")],
        "window": [node("LessOrEqual", "keys queries", "a"), node("Sub", "queries two", "b"), node("Greater", "keys b", "c"), node("And", "a c", "seen")],
        "larger window": [node("LessOrEqual", "keys queries", "a"), node("Sub", "queries two", "b"), node("GreaterOrEqual", "keys b", "c"), node("And", "a c", "seen")]}
MASKS = {"added": [node("Where", "seen none low", "mask"), node("Add", "scaled mask", "masked")],
         "added infinity": [node("Not", "seen", "hidden"), node("Where", "hidden lowest none", "mask"), node("Add", "mask scaled", "masked")],
         "in place": [node("Where", "seen scaled lowest", "masked")],
         "a little": [node("Where", "seen none some", "mask"), node("Add", "scaled mask", "masked")],
         "turned around": [node("Where", "seen low none", "mask"), node("Add", "scaled mask", "masked")]}


def plain(sees="", mask="added", scale="scale", repeat="third"):
    """Attention node by node; `repeat` says before which axis heads of keys are repeated."""
    nodes = [node("Reshape", "q heads", "q4"), node("Transpose", "q4", "query", perm=[0, 2, 1, 3])]
    for name in "kv":
        nodes += [node("Reshape", f"{name} shared", f"{name}4"), node("Transpose", f"{name}4", f"{name}t", perm=[0, 2, 1, 3])]
        order = [0, 1, 2, 3, 4] if repeat == "third" else [0, 2, 1, 3, 4]  # a head for those beside it, or for each second one
        nodes += [node("Unsqueeze", f"{name}t third", f"{name}u"), node("Expand", f"{name}u groups", f"{name}e"), node("Transpose", f"{name}e", f"{name}o", perm=order),
                  node("Reshape", f"{name}o repeated", f"{name}r")]
    nodes += [node("Transpose", "kr", "key", perm=[0, 1, 3, 2]), node("MatMul", "query key", "scores"), node("Mul", f"scores {scale}", "scaled")]
    nodes += [*positions(), *SEES[sees], *MASKS[mask], node("Softmax", "masked", "weights", axis=-1), node("MatMul", "weights vr", "weighed")]
    return model([*nodes, node("Transpose", "weighed", "turned", perm=[0, 2, 1, 3]), node("Reshape", "turned merged", "y")], 23)


def grouped(**attributes):
    """com.microsoft's GroupQueryAttention, of samples that are as long as there are positions."""
    lengths = [node("Shape", "k", "all"), node("Slice", "all second third", "total"), node("Slice", "all first second", "batch"), node("Sub", "total second", "before"),
               node("Expand", "before batch", "each"), node("Cast", "each", "lengths", to=TensorProto.INT32), node("Cast", "total", "longest", to=TensorProto.INT32)]
    inputs = ["q", "k", "v", "", "", "lengths", "longest"]
    made = helper.make_node("GroupQueryAttention", inputs, ["y"], domain="com.microsoft", num_heads=HEADS, kv_num_heads=SHARED, **{"scale": 0.25, **attributes})
    return model([*lengths, made], 23)


def standard(**attributes):
    """ONNX's Attention."""
    return model([helper.make_node("Attention", ["q", "k", "v"], ["y"], q_num_heads=HEADS, kv_num_heads=SHARED, **{"scale": 0.25, "is_causal": 1, **attributes})], 23)


@pytest.mark.parametrize("mask", ["added", "added infinity", "in place"])
@pytest.mark.parametrize(("sees", "one"), [("", grouped()), ("window", grouped(local_window_size=2)), ("", standard())], ids=["causal", "window", "standard"])
def test_attention_as_one_operator(thaw, save, mask, sees, one):
    outputs = proofs(thaw, save(one, "one"), save(plain(sees, mask), "plain"))
    assert verdicts(outputs) == {"y": "proven"}, outputs


@pytest.mark.parametrize("one", [grouped(), standard()], ids=["grouped", "standard"])
@pytest.mark.parametrize("change", [{"sees": "less"}, {"sees": "later"}, {"sees": "window"}, {"mask": "a little"}, {"mask": "turned around"}, {"scale": "other_scale"}, {"repeat": "second"}],
                         ids=lambda change: " ".join(next(iter(change.items()))))
def test_what_is_nearly_attention(thaw, save, one, change):
    outputs = proofs(thaw, save(one, "one"), save(plain(**change), "plain"))
    assert verdicts(outputs) == {"y": "differs"}, outputs


def test_a_window_that_is_one_larger(thaw, save):
    for sees, window in (("window", 3), ("larger window", 2), ("", 2)):
        outputs = proofs(thaw, save(grouped(local_window_size=window), "one"), save(plain(sees, "in place"), "plain"))
        assert verdicts(outputs) == {"y": "differs"}, (sees, window, outputs)
    outputs = proofs(thaw, save(grouped(local_window_size=3), "one"), save(plain("larger window", "in place"), "plain"))
    assert verdicts(outputs) == {"y": "proven"}, outputs


@pytest.mark.parametrize(("number", "verdict"), [(0, "proven"), (1, "differs")])
def test_rows_that_a_mask_leaves_nothing_of(thaw, save, number, verdict):
    """0 in place of NaN goes from what is weighed to the weights; another number does not."""
    def guarded(before):
        weights = [*positions(), node("Less", "keys queries", "seen"), node("Where", "seen none lowest", "mask"), node("MatMul", "q qt", "scores"), node("Add", "scores mask", "masked"),
                   node("Softmax", "masked", "weights", axis=-1)]
        name = "guard" if before else f"number{number}"
        guard = lambda x, y: [node("IsNaN", x, "nan"), node("Where", f"nan {name} {x}", y)]
        rest = [*guard("weights", "w"), node("MatMul", "w v", "y")] if before else [node("MatMul", "weights v", "u"), *guard("u", "y")]
        made = model([node("Transpose", "q", "qt", perm=[0, 2, 1]), *weights, *rest], 23)
        made.graph.initializer.extend([onnx.numpy_helper.from_array(np.float32(0), "guard"), onnx.numpy_helper.from_array(np.float32(number), f"number{number}")])
        return made
    outputs = proofs(thaw, save(guarded(False), "after"), save(guarded(True), "before"))
    assert verdicts(outputs) == {"y": verdict}, outputs
