"""Models that draw random numbers, as those that speak and those that sample do: what is made of one is run beside it with the same
numbers on both sides, so that what differs is what was changed."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from conftest import session

FLOAT = TensorProto.FLOAT
DRAWING = {"RandomNormalLike", "RandomUniformLike", "RandomNormal", "RandomUniform", "Bernoulli"}


def sampler(opset=17, extra=(), last="c"):
    """A mean and a deviation of each place, a number drawn around it, one of all batches, and places that are left out."""
    rng = np.random.default_rng(3)
    weights = [numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name) for name, shape in (("w", (4, 8)), ("v", (8, 4)))]
    node = helper.make_node
    nodes = [node("MatMul", ["x", "w"], ["h"]), node("RandomNormalLike", ["h"], ["r"], mean=0.1, scale=0.5), node("Mul", ["r", "h"], ["m"]),
             node("Add", ["h", "m"], ["a"]), node("Identity", ["a"], ["same"]), node("RandomUniform", [], ["u"], shape=[1, 8], low=-1.0, high=2.0),
             node("Add", ["same", "u"], ["b"]), node("RandomUniformLike", ["b"], ["e"]), node("Add", ["b", "e"], ["f"]), node("Sigmoid", ["f"], ["p"]),
             node("Bernoulli", ["p"], ["k"]), node("Mul", ["f", "k"], ["c"]), *extra, node("MatMul", [last, "v"], ["y"])]
    graph = helper.make_graph(nodes, "sampler", [helper.make_tensor_value_info("x", FLOAT, ["n", 4])], [helper.make_tensor_value_info("y", FLOAT, ["n", 4])], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


VERBS = {"optimize": (), "optimize for ort": ("--target", "ort"), "convert": ("--to", "f16"), "convert to int4": ("--to", "int4", "--block", "16"), "pin": ("--sizes", "n=3")}


@pytest.mark.parametrize("opset", [15, 17, 21])
@pytest.mark.parametrize("verb", VERBS)
def test_what_is_made_of_a_model_that_draws_agrees_with_it(thaw, save, tmp_path, verb, opset):
    out = tmp_path / "out.onnx"
    run = thaw(verb.split()[0], save(sampler(opset)), "-o", out, *VERBS[verb], code=0)
    assert "DIFFERS" not in run.stdout
    drawing = [n.op_type for n in onnx.load(out).graph.node if n.op_type in DRAWING]
    assert sorted(drawing) == ["Bernoulli", "RandomNormalLike", "RandomUniform", "RandomUniformLike"], "it draws as before"
    twice = [session(out).run(None, {"x": np.ones((3, 4), np.float32)})[0] for _ in range(2)]
    assert twice[0].shape == (3, 4) and np.isfinite(twice[0]).all()


def test_parts_agree_with_the_whole(thaw, save, tmp_path):
    run = thaw("split", save(sampler()), "--at", "a", "-o", tmp_path / "parts", code=0)
    assert "agrees with the original" in run.stdout


def test_verify_gives_both_sides_the_same_numbers(thaw, save, tmp_path):
    model, out = save(sampler()), tmp_path / "out.onnx"
    thaw("optimize", model, "-o", out, code=0)
    run = thaw("verify", out, "--against", model, code=0)
    assert "agrees at 3 sizes" in run.stdout and "the same numbers on both sides" in run.stdout and "Removing" not in run.stdout


def test_what_differs_is_found_all_the_same(thaw, save, tmp_path):
    other = tmp_path / "other.onnx"
    onnx.save(sampler(extra=[helper.make_node("Neg", ["c"], ["d"])], last="d"), other)
    run = thaw("verify", other, "--against", save(sampler()))
    assert run.returncode == 1 and "differs" in run.stdout
