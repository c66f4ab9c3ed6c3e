"""thaw optimize finds attention: heads split any way, the scale anywhere, with and without a mask; and nothing that is none."""
import numpy as np
import onnx
import pytest

from conftest import session
from optimize_test import model_of, operators, typed

SIZES = ({"b": 2, "s": 5, "t": 5}, {"b": 1, "s": 3, "t": 3}, {"b": 3, "s": 7, "t": 7}, {"b": 5, "s": 11, "t": 11})
HEADS, WIDTH = 4, 8
SPLIT = "h = Constant<value_ints=[0,0,4,8]>() "
JOIN = "u = Transpose<perm=[0,2,1,3]>(o) j = Constant<value_ints=[0,0,32]>() y = Reshape(u, j)"
S = "Constant<value_float={}>()".format


def heads(x, perm="[0,2,1,3]"):
    return f"{x}r = Reshape({x}, h) {x}h = Transpose<perm={perm}>({x}r) "


def attention(scores, softmax="p = Softmax<axis=-1>(m)", keys="[0,2,3,1]", tail=JOIN):
    return SPLIT + heads("q") + heads("k", keys) + heads("v") + scores + f" {softmax} o = MatMul(p, vh) " + tail


IN = "float[b,s,32] q, float[b,s,32] k, float[b,s,32] v"
MASKED = IN + ", float[b,1,s,s] a"
CASES = {
    "scale after": (IN, attention(f"n = MatMul(qh, kh) c = {S('0.35355339')} m = Mul(n, c)")),
    "scale by division": (IN, attention(f"n = MatMul(qh, kh) c = {S('2.828427')} m = Div(n, c)")),
    "scale on q": (IN, attention(f"c = {S('0.35355339')} z = Mul(qh, c) m = MatMul(z, kh)")),
    "roots on both": (IN, attention(f"c = {S('0.59460355')} z = Mul(qh, c) w = Mul(kh, c) m = MatMul(z, w)")),
    "no scale": (IN, attention("m = MatMul(qh, kh)")),
    "keys turned twice": (IN, attention("w = Transpose<perm=[0,1,3,2]>(kh) m = MatMul(qh, w)", keys="[0,2,1,3]")),
    "a mask": (MASKED, attention(f"n = MatMul(qh, kh) c = {S('0.35355339')} l = Mul(n, c) m = Add(l, a)")),
    "a mask first": (MASKED, attention(f"n = MatMul(qh, kh) c = {S('0.35355339')} l = Mul(n, c) m = Add(a, l)")),
    "a mask of two axes": (IN + ", float[s,s] a", attention(f"n = MatMul(qh, kh) c = {S('0.35355339')} l = Mul(n, c) m = Add(a, l)")),
    "a mask for each head": (IN + ", float[1,4,s,s] a", attention("n = MatMul(qh, kh) m = Add(n, a)")),
    "three axes": ("float[s,4,8] q, float[s,4,8] k, float[s,4,8] v",
                   f"qh = Transpose<perm=[1,0,2]>(q) kh = Transpose<perm=[1,2,0]>(k) vh = Transpose<perm=[1,0,2]>(v) n = MatMul(qh, kh) c = {S('0.35355339')}"
                   " m = Mul(n, c) p = Softmax<axis=2>(m) o = MatMul(p, vh) y = Transpose<perm=[1,0,2]>(o)"),
}
NONE = {
    "softmax over queries": (IN, attention("m = MatMul(qh, kh)", "p = Softmax<axis=2>(m)")),
    "a mask that is multiplied": (MASKED, attention("n = MatMul(qh, kh) m = Mul(n, a)")),
    "a product of scores": (IN, attention("n = MatMul(qh, kh) m = Mul(n, n)")),
    "scores read elsewhere": (IN, attention("m = MatMul(qh, kh)", tail="u = Transpose<perm=[0,2,1,3]>(o) g = ReduceSum<keepdims=0>(p) y = Mul(u, g)")),
    "a width that is not known": ("float[b,4,s,d] qh, float[b,4,d,s] kh, float[b,4,s,8] vh", "m = MatMul(qh, kh) p = Softmax<axis=-1>(m) y = MatMul(p, vh)"),
}


def agree(model, out, seed=3):
    rng = np.random.default_rng(seed)
    for sizes in SIZES:
        sizes = {**sizes, "d": 8}
        feed = {}
        for value in onnx.load(model).graph.input:
            shape = [sizes[d.dim_param] if d.dim_param else d.dim_value for d in value.type.tensor_type.shape.dim]
            feed[value.name] = rng.standard_normal(shape).astype(np.float32)
        for wanted, got in zip(session(model).run(None, feed), session(out).run(None, feed), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("target, opset, name", [("ort", 17, "MultiHeadAttention"), ("portable", 23, "Attention")])
@pytest.mark.parametrize("case", CASES)
def test_attention_is_found(thaw, save, tmp_path, case, target, opset, name):
    inputs, body = CASES[case]
    model, out = save(typed(model_of(opset, inputs, "y", body))), tmp_path / "out.onnx"
    thaw("optimize", model, "-o", out, "--target", target, code=0)
    found = operators(out).split()
    assert found.count(name) == 1 and "Softmax" not in found and "MatMul" not in found
    if target == "ort":
        assert "Transpose" not in found, "the heads need no axis of their own"
    agree(model, out)
    assert thaw.json("optimize", out, "--target", target, "--dry-run", code=0)["changed"] == []


@pytest.mark.parametrize("target, opset", [("ort", 17), ("portable", 23)])
@pytest.mark.parametrize("case", NONE)
def test_what_is_no_attention_stays(thaw, save, tmp_path, case, target, opset):
    inputs, body = NONE[case]
    model, out = save(typed(model_of(opset, inputs, "y", body))), tmp_path / "out.onnx"
    thaw("optimize", model, "-o", out, "--target", target, code=0)
    assert "Softmax" in operators(out)
    agree(model, out)


def test_one_head_of_keys_serves_all_queries(thaw, save, tmp_path):
    """It is repeated for MultiHeadAttention, which has as many heads of keys as of queries."""
    body = SPLIT + heads("q") + "kh = Transpose<perm=[0,2,1]>(k) g = Unsqueeze(kh, i) w = Unsqueeze(v, i) m = MatMul(qh, g) p = Softmax<axis=-1>(m) o = MatMul(p, w) " + JOIN
    inputs = "float[b,s,32] q, float[b,s,8] k, float[b,s,8] v"
    model, out = save(typed(model_of(17, inputs, "y", "i = Constant<value_ints=[1]>() " + body))), tmp_path / "out.onnx"
    thaw("optimize", model, "-o", out, "--target", "ort", code=0)
    assert operators(out).split().count("MultiHeadAttention") == 1
    agree(model, out)
