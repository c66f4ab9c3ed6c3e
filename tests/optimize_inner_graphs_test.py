"""thaw optimize finds fusions in the branches of an If, as merged decoders have them, and in the body of a Loop."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from conftest import session
from models import text_decoder
from optimize_spellings_test import SIZES, feed_of, unoptimized
from spellings import NEAR_MISSES, SPELLINGS, fits

FIRST = helper.make_tensor_value_info("first", TensorProto.BOOL, [])


def branch(graph, name, negated, weights):
    """The graph as a branch; what it reads that neither it nor its weights are is the main graph's."""
    made = {output: f"{output}_{name}" for node in graph.node for output in node.output} | {w.name: f"{w.name}_{name}" for w in weights}
    nodes = []
    for node in graph.node:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        copy.name = node.name and f"{node.name}_{name}"
        copy.input[:] = [made.get(i, i) for i in node.input]
        copy.output[:] = [made.get(o, o) for o in node.output]
        nodes.append(copy)
    results = []
    for value in graph.output:
        result = made[value.name]
        if negated and value.type.tensor_type.elem_type != TensorProto.BOOL:
            nodes.append(helper.make_node("Neg", [result], [result + "_negated"]))
            result += "_negated"
        results.append(helper.make_tensor_value_info(result, value.type.tensor_type.elem_type, None))
    own = [onnx.TensorProto.FromString(w.SerializeToString()) for w in weights]
    for weight in own:
        weight.name = made[weight.name]
    return helper.make_graph(nodes, name, [], results, own)


def in_branches(model, shared):
    """The model twice, in the branches of an If; the second gives its results with another sign."""
    graph = model.graph
    inner = [] if shared else graph.initializer
    chosen = helper.make_node("If", ["first"], [o.name for o in graph.output], then_branch=branch(graph, "one", False, inner),
                              else_branch=branch(graph, "two", True, inner))
    made = helper.make_graph([chosen], "chosen", [*graph.input, FIRST], graph.output, graph.initializer if shared else [])
    return helper.make_model(made, opset_imports=model.opset_import, ir_version=model.ir_version)


def branches(path):
    """Operators of the main graph and of each of the branches."""
    graph = onnx.load(path).graph
    main = [node.op_type for node in graph.node if node.op_type != "If"]
    (chosen,) = [node for node in graph.node if node.op_type == "If"]
    return main, [[node.op_type for node in a.g.node] for a in sorted(chosen.attribute, key=lambda a: a.name, reverse=True)]


def optimized(thaw, save, tmp_path, case, shared=False):
    model = in_branches(case.model(), shared)
    path, out = save(model), tmp_path / "out.onnx"
    thaw("optimize", path, "-o", out, "--target", case.target, "--no-check", code=0)
    before, after, rng = unoptimized(path), session(out), np.random.default_rng(2)
    del model.graph.input[-1]
    for sizes in SIZES:
        feed = feed_of(model, sizes, rng)
        for first in (True, False):
            feed["first"] = np.array(first)
            for wanted, got in zip(before.run(None, feed), after.run(None, feed), strict=True):
                tolerance = 1e-2 if wanted.dtype == np.float16 else 1e-4
                np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance * max(0.1, float(np.abs(wanted).max())))
    assert thaw.json("optimize", out, "--target", case.target, "--dry-run", "--no-check", code=0)["changed"] == []
    return branches(out)


def require_fused(left, case):
    wanted = case.left.split() if isinstance(case.left, str) else case.left
    main, branches_of = left
    for one in branches_of:
        assert all(op in one for op in wanted if op not in main), left
        assert fits([*main, *one], wanted) or isinstance(case.left, str), left


@pytest.mark.parametrize("name", sorted(SPELLINGS)[::6])
def test_a_spelling_fuses_in_both_branches(thaw, save, tmp_path, name):
    require_fused(optimized(thaw, save, tmp_path, SPELLINGS[name]), SPELLINGS[name])


@pytest.mark.parametrize("name", sorted(n for n in SPELLINGS if "attention" in n or ("norm" in n and "batch" not in n))[::5])
def test_weights_that_the_branches_share_are_the_main_graphs(thaw, save, tmp_path, name):
    require_fused(optimized(thaw, save, tmp_path, SPELLINGS[name], shared=True), SPELLINGS[name])


@pytest.mark.parametrize("target", ["ort", "portable"])
def test_a_merged_decoder_has_in_each_branch_what_the_decoder_has(thaw, save, tmp_path, target):
    plain, merged = tmp_path / "plain.onnx", tmp_path / "merged.onnx"
    decoder = text_decoder.dynamic(layers=2)
    thaw("optimize", save(decoder), "-o", plain, "--target", target, "--no-check", code=0)
    path = save(in_branches(decoder, shared=True))
    thaw("optimize", path, "-o", merged, "--target", target, "--no-check", code=0)
    wanted = sorted(node.op_type for node in onnx.load(plain).graph.node)
    main, (one, two) = branches(merged)
    assert main == [] and sorted(one) == wanted and sorted(op for op in two if op != "Neg") == [op for op in wanted if op != "Neg"]
    before, after = unoptimized(path), session(merged)
    feed = text_decoder.feeds(3, 7)
    for first in (True, False):
        feed["first"] = np.array(first)
        for expected, got in zip(before.run(None, feed), after.run(None, feed), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5 * float(np.abs(expected).max()))


@pytest.mark.parametrize("name", sorted(NEAR_MISSES)[::6])
def test_a_near_miss_stays_in_both_branches(thaw, save, tmp_path, name):
    main, (one, two) = optimized(thaw, save, tmp_path, NEAR_MISSES[name])
    assert not set(NEAR_MISSES[name].without) & {*main, *one, *two}


def test_the_body_of_a_loop(thaw, save, tmp_path):
    root = numpy_helper.from_array(np.array(2 ** 0.5, np.float32), "root")
    one, half = numpy_helper.from_array(np.array(1, np.float32), "one"), numpy_helper.from_array(np.array(0.5, np.float32), "half")
    nodes = [helper.make_node("Div", ["a", "root"], ["d"]), helper.make_node("Erf", ["d"], ["e"]),
             helper.make_node("Add", ["e", "one"], ["f"]), helper.make_node("Mul", ["a", "f"], ["m"]),
             helper.make_node("Mul", ["m", "half"], ["z"]), helper.make_node("Identity", ["go"], ["on"])]
    body = helper.make_graph(nodes, "body", [helper.make_tensor_value_info("i", TensorProto.INT64, []),
                                             helper.make_tensor_value_info("go", TensorProto.BOOL, []),
                                             helper.make_tensor_value_info("a", TensorProto.FLOAT, None)],
                             [helper.make_tensor_value_info("on", TensorProto.BOOL, []), helper.make_tensor_value_info("z", TensorProto.FLOAT, None)])
    graph = helper.make_graph([helper.make_node("Loop", ["turns", "", "x"], ["y"], body=body)], "g",
                              [helper.make_tensor_value_info("turns", TensorProto.INT64, []),
                               helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 8])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 8])], [root, one, half])
    path = save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9))
    out = tmp_path / "out.onnx"
    thaw("optimize", path, "-o", out, code=0)
    (loop,) = onnx.load(out).graph.node
    (inner,) = [a.g for a in loop.attribute]
    assert "Gelu" in [node.op_type for node in inner.node] and "Erf" not in [node.op_type for node in inner.node]
    feed = {"turns": np.array(3), "x": np.random.default_rng(0).standard_normal((5, 8)).astype(np.float32)}
    np.testing.assert_allclose(session(out).run(None, feed)[0], unoptimized(path).run(None, feed)[0], rtol=1e-5, atol=1e-6)


def test_what_is_computed_before_a_loop_stays_there(thaw, save, tmp_path):
    """Only the last product of a Gelu is in the loop; the rest of it is computed once."""
    text = ('<ir_version: 9, opset_import: ["" : 20]> g (float[n,8] x, int64 turns) => (float[k,n,8] y) { '
            'yes = Constant<value = bool {1}>() root = Constant<value_float=1.41421356>() one = Constant<value_float=1.0>() half = Constant<value_float=0.5>() '
            'd = Div(x, root) e = Erf(d) f = Add(e, one) m = Mul(x, f) '
            'y = Loop<body = b (int64 i, bool go) => (bool on, float[n,8] z) { on = Identity(go) z = Mul(m, half) }>(turns, yes) }')
    path, out = save(onnx.parser.parse_model(text)), tmp_path / "out.onnx"
    thaw("optimize", path, "-o", out, code=0)
    assert "Erf" in [node.op_type for node in onnx.load(out).graph.node]
