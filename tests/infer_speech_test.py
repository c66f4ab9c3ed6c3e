"""Networks of the shape of speech models: an If of two sampling rates, a decoder with caches, a Loop that decodes greedily.

What is inferred of every tensor, those in branches and bodies too, is what ONNX Runtime makes, and little is unknown.
"""
import json

import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

import infer_node_test as nodes
from conftest import session

LOWEST, HIGHEST = -2**63, 2**63 - 1
random = np.random.default_rng(5)


def n(op, inputs, outputs, **attributes):
    return h.make_node(op, inputs.split(), outputs.split(), **attributes)


def ints(**lists):
    return [numpy_helper.from_array(np.array(values, np.int64), name) for name, values in lists.items()]


def weights(**shapes):
    return [numpy_helper.from_array(random.standard_normal(shape).astype(np.float32) * np.float32(0.1), name)
            for name, shape in shapes.items()]


def value(name, dtype=T.FLOAT, dims=None):
    return h.make_tensor_value_info(name, dtype, dims)


def model(body, inputs, outputs, initializers):
    graph = h.make_graph(body, "g", inputs, [value(o, t) for o, t in outputs.items()], initializers)
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)


def rate(name, window, hop):
    """A branch: padding, a filter bank, its power spectrum (cut in two from INT64_MIN on), a convolution and an LSTM."""
    half = window // 2 + 1
    body = [n("Unsqueeze", "x one", "u"), n("Pad", "u pads", "p", mode="reflect"), n("Conv", "p bank", "s", strides=[hop]),
            n("Slice", "s lowest half one", "re"), n("Slice", "s half highest one", "im"), n("Mul", "re re", "re2"),
            n("Mul", "im im", "im2"), n("Add", "re2 im2", "power"), n("Conv", "power conv", "c", pads=[1, 1], strides=[2]),
            n("ReduceMean", "c", "mean", axes=[-1]), n("Transpose", "mean", "t", perm=[2, 0, 1]),
            n("Split", "state", "h0 c0", axis=0)]
    body += [h.make_node("LSTM", ["t", "W", "R", "", "", "h0", "c0"], ["y", "h1", "c1"], hidden_size=8),
             n("Concat", "h1 c1", "next", axis=0), n("Squeeze", "h1 zero", "q"), n("MatMul", "q out", "prob")]
    made = ints(one=[1], zero=[0], pads=[0, 0, hop, 0, 0, hop], lowest=[LOWEST], half=[half], highest=[HIGHEST])
    made += weights(bank=(2 * half, 1, window), conv=(6, half, 3), W=(1, 32, 6), R=(1, 32, 8), out=(8, 1))
    graph = h.make_graph(body, name, [], [value("prob"), value("next")], made)
    outer = {"x", "state"}
    for node in graph.node:
        node.input[:] = [f"{name}_{i}" if i and i not in outer else i for i in node.input]
        node.output[:] = [f"{name}_{o}" for o in node.output]
    for named in (*graph.initializer, *graph.output):
        named.name = f"{name}_{named.name}"
    return graph


def activity():
    return model([n("Equal", "rate fast", "is_fast"),
                  n("If", "is_fast", "p next", then_branch=rate("fast16", 16, 4), else_branch=rate("slow8", 8, 2)),
                  n("Sigmoid", "p", "prob")],
                 [value("x", dims=["batch", "samples"]), value("state", dims=[2, "batch", 8]), value("rate", T.INT64, [])],
                 {"prob": T.FLOAT, "next": T.FLOAT}, ints(fast=16000))


def decoder():
    """One step: positions and the mask are cut from tables by what the caches hold, the mask from INT64_MIN on."""
    body = [n("Gather", "table ids", "e"), n("Shape", "past_k", "ps"), n("Gather", "ps two", "past"), n("Shape", "ids", "is"),
            n("Gather", "is one", "new"), n("Add", "past new", "total"), n("Unsqueeze", "past axis0", "from"),
            n("Unsqueeze", "total axis0", "to"), n("Slice", "places from to axis0", "place"), n("Add", "e place", "x")]
    for part in "qkv":
        body += [n("MatMul", f"x w{part}", part), n("Reshape", f"{part} heads", f"{part}4"),
                 n("Transpose", f"{part}4", f"{part}t", perm=[0, 2, 1, 3])]
    body += [n("Concat", "past_k kt", "k_all", axis=2), n("Concat", "past_v vt", "v_all", axis=2),
             n("Transpose", "k_all", "kk", perm=[0, 1, 3, 2]), n("MatMul", "qt kk", "scores"),
             n("Slice", "mask from to axis0", "rows"), n("Slice", "rows lowest to axis1", "seen"), n("Add", "scores seen", "masked"),
             n("Softmax", "masked", "p"), n("MatMul", "p v_all", "o"), n("Transpose", "o", "ot", perm=[0, 2, 1, 3]),
             n("Reshape", "ot joined", "oj"), n("Slice", "oj last highest axis1", "ol"), n("Squeeze", "ol axis1", "os"),
             n("MatMul", "os head", "logits")]
    made = ints(two=2, one=1, axis0=[0], axis1=[1], lowest=[LOWEST], highest=[HIGHEST], last=[-1], heads=[0, 0, 2, 4], joined=[0, 0, 8])
    made += weights(table=(11, 8), places=(20, 8), mask=(20, 20), wq=(8, 8), wk=(8, 8), wv=(8, 8), head=(8, 11))
    return model(body, [value("ids", T.INT64, ["b", "s"]), value("past_k", dims=["b", 2, "p", 4]), value("past_v", dims=["b", 2, "p", 4])],
                 {"logits": T.FLOAT, "k_all": T.FLOAT, "v_all": T.FLOAT}, made)


def greedy():
    """A Loop that carries tokens (they grow), the states of an LSTM, a buffer and a count (they stay as large as they are)."""
    steps = [n("Slice", "tokens last highest axis1", "token"), n("Gather", "table token", "e"), n("Transpose", "e", "et", perm=[1, 0, 2]),
             h.make_node("LSTM", ["et", "W", "R", "", "", "hid", "cell"], ["y", "hid_next", "cell_next"], hidden_size=8),
             n("Squeeze", "hid_next axis0", "hs"), n("MatMul", "hs head", "logits"), n("ArgMax", "logits", "best", axis=1),
             n("Concat", "tokens best", "tokens_next", axis=1), n("Equal", "best end", "eq"), n("Cast", "eq", "eqi", to=T.INT64),
             n("ReduceMin", "eqi", "least", keepdims=0), n("Cast", "least", "all", to=T.BOOL), n("Not", "all", "go_next"),
             n("Add", "count step", "count_next"), n("Expand", "count rows", "at"), n("ConstantOfShape", "rows", "update"),
             n("ScatterElements", "buffer at update", "buffer_next", axis=1)]
    body = h.make_graph(
        steps, "body", [value("i", T.INT64, []), value("go", T.BOOL, []), value("tokens", T.INT64), value("hid"), value("cell"),
                        value("count", T.INT64), value("buffer")],
        [value("go_next", T.BOOL), value("tokens_next", T.INT64), value("hid_next"), value("cell_next"), value("count_next", T.INT64),
         value("buffer_next"), value("logits")],
        ints(last=[-1], highest=[HIGHEST], axis0=[0], axis1=[1], end=2, step=1) + weights(table=(11, 8), W=(1, 32, 8), R=(1, 32, 8), head=(8, 11)))
    outer = [n("MatMul", "features w", "enc"), n("ReduceMean", "enc", "m", axes=[1], keepdims=0), n("Unsqueeze", "m zero", "h0"),
             n("Shape", "features", "fs"), n("Gather", "fs first", "b"), n("Unsqueeze", "b zero", "b1"), n("Concat", "b1 one", "rows", axis=0),
             n("ConstantOfShape", "rows", "t0", value=numpy_helper.from_array(np.array([0], np.int64))), n("Concat", "b1 seven", "bs", axis=0),
             n("ConstantOfShape", "bs", "f0"), n("Loop", "trips yes t0 h0 h0 none f0", "tokens_out h_out c_out count_out buffer_out scores", body=body),
             n("Squeeze", "h_out zero", "hq"), n("MatMul", "hq w", "result")]
    made = ints(zero=[0], first=0, one=[1], seven=[7], trips=5, none=0) + weights(w=(8, 8))
    made.append(numpy_helper.from_array(np.array(True), "yes"))
    return model(outer, [value("features", dims=["b", "t", 8])],
                 {"tokens_out": T.INT64, "result": T.FLOAT, "buffer_out": T.FLOAT, "scores": T.FLOAT}, made)


def zeros(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


# name: (model, feeds, sizes, the tensors with a size that only running tells)
MODELS = {
    "fast": (activity, {"x": zeros(3, 64), "state": zeros(2, 3, 8), "rate": np.array(16000)}, {"batch": 3, "samples": 64}, set()),
    "slow": (activity, {"x": zeros(1, 41), "state": zeros(2, 1, 8), "rate": np.array(8000)}, {"batch": 1, "samples": 41}, set()),
    "decoder": (decoder, {"ids": zeros(2, 3, dtype=np.int64), "past_k": zeros(2, 2, 5, 4), "past_v": zeros(2, 2, 5, 4)},
                {"b": 2, "s": 3, "p": 5}, set()),
    "greedy": (greedy, {"features": zeros(2, 6, 8)}, {"b": 2, "t": 6},
               {"tokens_out", "scores", "tokens_next", "token", "e", "et", "y"}),
}


@pytest.mark.parametrize("name", MODELS)
def test_sizes_are_those_that_run_and_none_is_unknown(thaw, save, name):
    build, feeds, sizes, growing = MODELS[name]
    path = save(build())
    seen = thaw.json("inspect", path, "--tensors")
    assert not seen["problems"]
    open_sizes = {v["name"] for v in seen["tensors"] if v["dims"] is None or None in v["dims"]}
    assert open_sizes == growing, json.dumps([v for v in seen["tensors"] if v["name"] in open_sizes ^ growing])
    for output, made in zip(seen["outputs"], session(path).run(None, feeds), strict=True):
        verdict = nodes.compare(output["dims"], made.shape, sizes, {})
        assert verdict == "known" or (verdict == "unknown" and output["name"] in growing), (output, made.shape)


@pytest.mark.parametrize("name", ["fast", "decoder", "greedy"])
def test_nothing_of_them_is_frozen(thaw, save, name):
    assert not [f for f in thaw.findings(save(MODELS[name][0]())) if f["code"].startswith("THAW01")]


@pytest.mark.parametrize("name, sizes", [("fast", {"batch": 1, "samples": 64}), ("decoder", {"b": 1, "s": 3, "p": 5}),
                                         ("decoder", {"b": 1, "s": 1, "p": 19}), ("greedy", {"b": 1, "t": 6})])
def test_what_is_declared_as_a_number_is_not_frozen_by_the_network(thaw, save, name, sizes):
    """Heads that the columns of a weight are split into are no size of the caches, whose heads they meet."""
    declared = MODELS[name][0]()
    for tensor in declared.graph.input:
        for dim in tensor.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_value = sizes[dim.dim_param]
    assert not [f for f in thaw.findings(save(declared)) if f["code"].startswith("THAW01")]


def test_a_branch_needs_what_it_needs_only_where_it_runs(thaw, save):
    """torch's squeeze of an axis that may be 1: the branch that squeezes runs where it is."""
    squeezed = h.make_graph([n("Squeeze", "x axis", "flat"), n("Unsqueeze", "flat axis", "back")], "then", [], [value("back")])
    whole = h.make_graph([n("Identity", "x", "same")], "else", [], [value("same")])
    path = save(model([n("Shape", "x", "shape"), n("Gather", "shape first", "size"), n("Equal", "size one", "is_one"),
                       n("If", "is_one", "y", then_branch=squeezed, else_branch=whole), n("Add", "y x", "z")],
                      [value("x", dims=["b", "m"])], {"z": T.FLOAT}, ints(axis=[0], first=0, one=1)))
    report = thaw.json("check", path, "--sizes", "b=1..9,m=1..9", code=0)
    assert report["findings"] == [] and report["proof"]["refuted"] == report["proof"]["unknown"] == 0
