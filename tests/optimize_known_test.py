"""thaw optimize: branches that every size decides, loops of no rounds, and parts of a tensor that a sequence holds."""
import numpy as np
import onnx
import pytest

from conftest import session
from optimize_control_test import LEFT as LOOPS
from optimize_control_test import clean, loop_model
from optimize_test import assert_equal_everywhere, model_of, typed

BRANCHES = "<then_branch = one () => (float t) { t = Exp(a) }, else_branch = other () => (float e) { e = Neg(a) }>"


def branching(condition, taken="", x="float[n,m,8] x"):
    """An If over a product, whose condition is `c`; the branch may stand in its place."""
    body = (f"h = Constant<value_ints=[8,2]>() v = Constant<value_float=0.5>() w = Expand(v, h) a = MatMul(x, w) o = Constant<value_int=1>()"
            f" {condition} b = If(c) {BRANCHES} y = Relu(b)")
    return typed(model_of(18, x, "y", body)), f"MatMul {taken} Relu"


DECIDED = {
    "a rank": ("s = Shape(a) r = Size(s) k = Constant<value_int=3>() c = Equal(r, k)", "Exp"),
    "the shape of a shape": ("s = Shape(a) r = Shape(s) k = Constant<value_ints=[4]>() c = Equal(r, k)", "Neg"),
    "a size that a weight gives": ("s = Shape(a) k = Constant<value_int=2>() r = Gather(s, k) c = Equal(r, o)", "Neg"),
    "a size that is not below 0": ("s = Shape(a) r = Gather(s, o) k = Constant<value_int=0>() c = GreaterOrEqual(r, k)", "Exp"),
    "two sizes that are one": ("s = Shape(a) r = Gather(s, o) p = Shape(x) q = Gather(p, o) c = Equal(r, q)", "Exp"),
}
OPEN = {
    "a free size": "s = Shape(a) r = Gather(s, o) c = Equal(r, o)",
    "two free sizes": "s = Shape(a) r = Gather(s, o) z = Constant<value_int=0>() q = Gather(s, z) c = Equal(r, q)",
    "what is computed": "g = ReduceSum<keepdims=0>(a) k = Constant<value_float=0.0>() c = Greater(g, k)",
}


@pytest.mark.parametrize("name", DECIDED)
def test_a_branch_that_every_size_takes(thaw, save, tmp_path, name):
    model, left = branching(*DECIDED[name])
    path, out = save(model), tmp_path / "out.onnx"
    assert clean(thaw, path, out, "--max-growth", "100") == left
    assert_equal_everywhere(path, out)


@pytest.mark.parametrize("name", OPEN)
def test_a_branch_that_some_sizes_take_stays(thaw, save, tmp_path, name):
    model, _ = branching(OPEN[name])
    path, out = save(model), tmp_path / "out.onnx"
    assert "If" in clean(thaw, path, out).split()
    assert_equal_everywhere(path, out)


def test_a_branch_that_a_frozen_size_decides_stays(thaw, save, tmp_path):
    """What reads a size that an earlier constant froze may go the other way once it is free."""
    body = ("t = Constant<value_ints=[1,4,8]>() a = Reshape(x, t) s = Shape(a) k = Constant<value_int=1>() r = Gather(s, k) l = Constant<value_int=4>()"
            f" c = Equal(r, l) b = If(c) {BRANCHES} y = Relu(b)")
    path, out = save(typed(model_of(18, "float[n,m] x", "y", body))), tmp_path / "out.onnx"
    assert "If" in clean(thaw, path, out).split()


@pytest.mark.parametrize("given", [{"rounds": 0}, {"rounds": -2}, {"rounds": 3, "keep_on": False}, {"rounds": 40, "keep_on": False}])
def test_a_loop_of_no_rounds_is_what_it_begins_with(thaw, save, tmp_path, given):
    path, out = save(loop_model(scans=False, **given)), tmp_path / "out.onnx"
    assert clean(thaw, path, out) == "Relu"
    assert_equal_everywhere(path, out)


@pytest.mark.parametrize("name", ["no round", "a condition that is false"])
def test_what_no_round_collects_is_left(thaw, save, tmp_path, name):
    assert "Loop" in clean(thaw, save(loop_model(**LOOPS[name])), tmp_path / "out.onnx")


P = "o = Constant<value_int=1>() f = Constant<value_int=0>()"  # places
PARTS = {
    "two of two": ("float[n,m,8] x", f"{P} l = Constant<value_ints=[5,3]>() q = SplitToSequence<axis=2>(x, l) a = SequenceAt(q, f) b = SequenceAt(q, o)"
                   " c = Neg(a) d = Neg(b) y = Concat<axis=-1>(d, c)", "Split Neg Neg Concat"),
    "one of two": ("float[n,m,8] x", f"{P} l = Constant<value_ints=[5,3]>() q = SplitToSequence<axis=-1>(x, l) y = SequenceAt(q, o)", "Slice"),
    "the last of two": ("float[n,m,8] x", "g = Constant<value_int=-1>() l = Constant<value_ints=[5,3]>() q = SplitToSequence<axis=-1>(x, l) y = SequenceAt(q, g)",
                        "Slice"),
    "parts of one size": ("float[n,m,7] x", f"{P} l = Constant<value_int=4>() q = SplitToSequence<axis=2>(x, l) a = SequenceAt(q, o) b = SequenceAt(q, f)"
                          " c = Neg(a) d = Neg(b) y = Concat<axis=-1>(d, c)", "Split Neg Neg Concat"),
    "a part of a free size": ("float[n,m,7] x", f"{P} l = Constant<value_int=1>() q = SplitToSequence<axis=1>(x, l) a = SequenceAt(q, o) b = SequenceAt(q, f)"
                              " y = Sub(a, b)", "Slice Slice Sub"),
    "a step of a free size": ("float[m,n,7] x", "g = Constant<value_int=-1>() q = SplitToSequence<axis=0>(x) y = SequenceAt(q, g)", "Slice"),
    "a step without its axis": ("float[n,m,7] x", f"{P} q = SplitToSequence<axis=1, keepdims=0>(x) a = SequenceAt(q, o) b = SequenceAt(q, f) y = Sub(a, b)",
                                "Gather Gather Sub"),
    "a part that is read twice": ("float[n,m,8] x", f"{P} l = Constant<value_ints=[5,3]>() q = SplitToSequence<axis=2>(x, l) a = SequenceAt(q, f) b = SequenceAt(q, f)"
                                      " y = Add(a, b)", "Split Add"),
}
WHOLE = {
    "a part from the end": ("float[n,m,7] x", "l = Constant<value_int=2>() g = Constant<value_int=-1>() q = SplitToSequence<axis=1>(x, l) y = SequenceAt(q, g)"),
    "a place that is computed": ("float[n,m,8] x, int64 p", "l = Constant<value_ints=[5,3]>() q = SplitToSequence<axis=2>(x, l) y = SequenceAt(q, p)"),
    "sizes that are computed": ("float[n,m,8] x, int64[2] p", "o = Constant<value_int=1>() q = SplitToSequence<axis=2>(x, p) y = SequenceAt(q, o)"),
    "a sequence that is read whole": ("float[n,m,8] x", "o = Constant<value_int=1>() q = SplitToSequence<axis=1>(x) a = SequenceAt(q, o) b = ConcatFromSequence<axis=0>(q) y = Add(a, b)"),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_a_sequence_is_taken_as_it_is(thaw, save, tmp_path, name):
    inputs, body, left = PARTS[name]
    path, out = save(typed(model_of(18, inputs, "y", body))), tmp_path / "out.onnx"
    assert clean(thaw, path, out) == left
    assert_equal_everywhere(path, out)


@pytest.mark.parametrize("name", WHOLE)
def test_other_sequences_stay(thaw, save, tmp_path, name):
    inputs, body = WHOLE[name]
    path, out = save(typed(model_of(18, inputs, "y", body))), tmp_path / "out.onnx"
    assert "SplitToSequence" in clean(thaw, path, out)


@pytest.mark.parametrize(("inputs", "body", "left"), [
    ("bool[n,1] c, float[n,m] x", "a = Exp(x) b = Exp(x) d = Where(c, a, b) y = Neg(d)", "Exp Neg"),
    ("bool[n,m] c, float[n,1] x", "a = Where(c, x, x) y = Neg(a)", "Where Neg"),  # the condition spreads it
])
def test_a_choice_between_one_and_the_same(thaw, save, tmp_path, inputs, body, left):
    path, out = save(typed(model_of(18, inputs, "y", body))), tmp_path / "out.onnx"
    assert clean(thaw, path, out) == left
    assert_equal_everywhere(path, out)


def test_parts_in_an_old_opset(thaw, save, tmp_path):
    """In opset 11, where Split takes its sizes as an attribute."""
    body = "o = Constant<value_int=1>() f = Constant<value_int=0>() q = SplitToSequence<axis=1>(x, l) a = SequenceAt(q, f) b = SequenceAt(q, o) y = Concat<axis=1>(b, a)"
    model = typed(model_of(11, "float[n,5] x", "y", body.replace("o = Constant<value_int=1>() f = Constant<value_int=0>()", "")))
    for name, array in (("o", np.array(1)), ("f", np.array(0)), ("l", np.array([2, 3]))):
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    path, out = save(model), tmp_path / "out.onnx"
    assert clean(thaw, path, out) == "Split Concat"
    x = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32)
    np.testing.assert_array_equal(session(out).run(None, {"x": x})[0], session(path).run(None, {"x": x})[0])
