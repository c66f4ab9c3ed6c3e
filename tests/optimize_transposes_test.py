"""thaw optimize: Transposes move through what works along any axes alike, where fewer are left then."""
import numpy as np
import onnx
import pytest

from conftest import session
from optimize_control_test import clean
from optimize_test import assert_equal_everywhere, model_of, operators, typed

T, B = "Transpose<perm=[0,2,1]>", "a = Transpose<perm=[0,2,1]>(x)"
X = "float[n,m,4] x"
# name: (opset, inputs, body, the operators that are left)
MOVED = {
    "a bias by channel": (17, X, f"{B} w = Constant<value = float[1,4,1] {{1.5, 2.5, -3.5, 0.1}}>() b = Add(a, w) c = Sigmoid(b) y = {T}(c)", "Add Sigmoid"),
    "a bias of fewer axes": (17, X, f"{B} w = Constant<value = float[4,1] {{1.5, 2.5, -3.5, 0.1}}>() b = Mul(w, a) y = {T}(b)", "Mul"),
    "a choice": (17, X, f"{B} k = Constant<value_float=0.0>() c = Greater(a, k) d = Where(c, a, k) y = {T}(d)", "Greater Where"),
    "parts that are joined": (17, X, f"{B} d = Neg(x) e = {T}(d) f = Concat<axis=1>(a, e) y = {T}(f)", "Neg Concat"),
    "parts": (13, X, f"{B} s = Constant<value_ints=[1,3]>() c, d = Split<axis=1>(a, s) e = {T}(c) f = {T}(d) y = Concat<axis=-1>(f, e)", "Split Concat"),
    "a softmax": (17, X, f"{B} c = Softmax<axis=1>(a) y = {T}(c)", "Softmax"),
    "a softmax over the last axis": (17, X, f"{B} c = Softmax(a) y = {T}(c)", "Softmax"),
    "a pad": (17, X, f"{B} p = Constant<value_ints=[0,1,0,0,2,3]>() c = Pad(a, p) y = {T}(c)", "Pad"),
    "a slice": (17, X, f"{B} o = Constant<value_ints=[1]>() e = Constant<value_ints=[3]>() i = Constant<value_ints=[-2]>() c = Slice(a, o, e, i) y = {T}(c)", "Slice"),
    "a slice by int32": (17, X, f"{B} o = Constant<value = int32[1] {{1}}>() e = Constant<value = int32[1] {{3}}>() i = Constant<value = int32[1] {{-2}}>() c = Slice(a, o, e, i) y = {T}(c)", "Slice"),
    "a slice by int32 in steps": (13, X, f"{B} o = Constant<value = int32[2] {{0, 1}}>() e = Constant<value = int32[2] {{4, 3}}>() i = Constant<value = int32[2] {{1, 0}}>() s = Constant<value = int32[2] {{2, 1}}>() c = Slice(a, o, e, i, s) y = {T}(c)", "Slice"),
    "the largest": (17, X, f"{B} c = ReduceMax<axes=[1], keepdims=1>(a) y = {T}(c)", "ReduceMax"),
    "the largest, without its axis": (18, X, f"i = Constant<value_ints=[1]>() {B} y = ReduceMax<keepdims=0>(a, i)", "ReduceMax"),
    "the place of the largest": (17, X, f"{B} c = ArgMax<axis=1, keepdims=0>(a) y = Cast<to=1>(c)", "ArgMax Cast"),
    "another tensor": (17, f"{X}, float[n,4,m] z", f"{B} c = Mul(a, z) d = Neg(c) y = {T}(d)", "Transpose Mul Neg"),
    "two ways": (17, X, f"{B} c = Exp(a) d = Neg(a) e = {T}(c) f = {T}(d) y = Sub(e, f)", "Exp Neg Sub"),
    "an unsqueeze": (17, X, f"i = Constant<value_ints=[1]>() {B} c = Unsqueeze(a, i) y = Transpose<perm=[0,1,3,2]>(c)", "Unsqueeze"),
    "a squeeze": (17, "float[n,1,m,4] x", "i = Constant<value_ints=[2]>() a = Transpose<perm=[0,2,1,3]>(x) c = Squeeze(a, i) d = Neg(c) y = Transpose<perm=[0,2,1]>(d)",
                  "Squeeze Neg Transpose"),
    "a value that is returned too": (17, X, f"{B} c = Exp(a) d = Neg(c) e = {T}(c) f = {T}(d) y = Sub(e, f)", "Exp Neg Sub"),
    "three axes": (17, "float[n,m,4,5] x", "a = Transpose<perm=[0,2,3,1]>(x) w = Constant<value = float[4,1,1] {1.5, 2.5, -3.5, 0.1}>() b = Add(a, w) c = Relu(b)"
                   " y = Transpose<perm=[0,3,1,2]>(c)", "Add Relu"),
    "others that become one": (17, "float[n,m,4,5] x", "a = Transpose<perm=[0,2,3,1]>(x) c = Softmax<axis=1>(a) y = Transpose<perm=[1,0,2,3]>(c)", "Softmax Transpose"),
}
STAYS = {
    "one alone": (17, X, f"{B} y = Exp(a)"),
    "another tensor, once": (17, f"{X}, float[n,4,m] z", f"{B} c = Mul(a, z) y = Neg(c)"),
    "a norm over the last axes": (17, X, f"w = Constant<value_floats=[1.0,2.0,3.0,4.0]>() {B} b = {T}(a) d = Neg(a) c = LayerNormalization<axis=1>(d, s) e = {T}(c) y = Add(b, e)"),
    "a softmax over all axes from one on": (12, X, f"{B} c = Softmax<axis=1>(a) y = {T}(c)"),
    "sums, which round": (17, X, f"{B} c = ReduceMean<axes=[1], keepdims=1>(a) y = {T}(c)"),
    "small ones for a large one": (17, "float[m,1,n] x, float[1,n,m] z", "a = Transpose<perm=[2,1,0]>(x) b = Transpose<perm=[1,2,0]>(z) c = Add(a, b) y = Neg(c)"),
    "positions": (17, "float[n,m,4,4] x", "a = Transpose<perm=[0,1,3,2]>(x) c = MaxPool<kernel_shape=[1,2]>(a) y = Transpose<perm=[0,1,3,2]>(c)"),
    "an upper triangle": (17, "float[n,m,4] x", f"{B} c = Trilu(a) y = {T}(c)"),
}


@pytest.mark.parametrize("name", MOVED)
def test_transposes_that_go(thaw, save, tmp_path, name):
    opset, inputs, body, left = MOVED[name]
    path, out = save(typed(model_of(opset, inputs, "y", body))), tmp_path / "out.onnx"
    assert clean(thaw, path, out) == left
    assert_equal_everywhere(path, out)


@pytest.mark.parametrize("name", STAYS)
def test_transposes_that_would_only_move_stay(thaw, save, tmp_path, name):
    opset, inputs, body = STAYS[name]
    model = model_of(opset, inputs, "y", body)
    if "(d, s)" in body:
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones((4, 1), np.float32), "s"))
    path, out = save(typed(model)), tmp_path / "out.onnx"
    before = [n.op_type for n in onnx.load(path).graph.node].count("Transpose")
    assert clean(thaw, path, out).split().count("Transpose") == min(before, 2)
    if name != "a norm over the last axes":
        assert_equal_everywhere(path, out)


def test_sums_stay_at_every_level(thaw, save, tmp_path):
    """They would round otherwise, and a norm over the last axis is none without its Transposes."""
    body = "a = Transpose<perm=[0,2,3,1]>(x) c = ReduceMean<axes=[1,2], keepdims=1>(a) y = Transpose<perm=[0,3,1,2]>(c)"
    path, out = save(typed(model_of(17, "float[n,3,m,m] x", "y", body))), tmp_path / "out.onnx"
    thaw("optimize", path, "-o", out, code=0)
    assert operators(out) == "Transpose ReduceMean Transpose"
    x = np.random.default_rng(0).standard_normal((2, 3, 7, 7)).astype(np.float32)
    np.testing.assert_allclose(session(out).run(None, {"x": x})[0], session(path).run(None, {"x": x})[0], rtol=1e-5, atol=1e-6)


def test_a_weight_that_is_read_twice_is_not_stored_twice(thaw, save, tmp_path):
    """Nor is a large constant that nothing else reads."""
    body = f"{B} b = Add(a, w) c = {T}(b) d = Mul(x, v) y = Sub(c, d)"
    rng = np.random.default_rng(0)
    for shared in (True, False):
        model = model_of(17, "float[n,64,64] x", "y", body.replace("v)", "w)") if shared else body)
        for name in "w" if shared else "wv":
            model.graph.initializer.append(onnx.numpy_helper.from_array(rng.standard_normal((64, 64)).astype(np.float32), name))
        path, out = save(typed(model)), tmp_path / "out.onnx"
        left = clean(thaw, path, out)
        assert left == ("Transpose Add Transpose Mul Sub" if shared else "Add Mul Sub")
        assert sum(len(i.raw_data) for i in onnx.load(out).graph.initializer) == sum(len(i.raw_data) for i in onnx.load(path).graph.initializer)
        x = rng.standard_normal((3, 64, 64)).astype(np.float32)
        np.testing.assert_array_equal(session(out).run(None, {"x": x})[0], session(path).run(None, {"x": x})[0])


def test_a_network_of_channels_last_needs_two(thaw, save, tmp_path):
    """As TensorFlow's converter writes it: each convolution between two Transposes."""
    body = ("a = Transpose<perm=[0,3,1,2]>(x) b = Conv<pads=[1,1,1,1]>(a, k) c = Transpose<perm=[0,2,3,1]>(b) d = Add(c, u) e = Relu(d)"
            " f = Transpose<perm=[0,3,1,2]>(e) g = Conv<pads=[1,1,1,1]>(f, l) h = Transpose<perm=[0,2,3,1]>(g) i = PRelu(h, p)"
            " j = Concat<axis=3>(i, e) q = Transpose<perm=[0,3,1,2]>(j) r = MaxPool<kernel_shape=[2,2]>(q) y = Transpose<perm=[0,2,3,1]>(r)")
    model, rng = model_of(17, "float[n,m,w,3] x", "y", body), np.random.default_rng(0)
    for name, shape in (("k", (8, 3, 3, 3)), ("l", (8, 8, 3, 3)), ("u", (8,)), ("p", (1, 1, 8))):
        model.graph.initializer.append(onnx.numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name))
    path, out = save(typed(model)), tmp_path / "out.onnx"
    assert clean(thaw, path, out).split().count("Transpose") == 2
    for n, m, w in ((2, 9, 7), (1, 4, 12)):
        x = rng.standard_normal((n, m, w, 3)).astype(np.float32)
        np.testing.assert_array_equal(session(out).run(None, {"x": x})[0], session(path).run(None, {"x": x})[0])
