"""thaw optimize: arithmetic that an operator stands for, in the spellings that exporters have; what only looks like it stays."""
import numpy as np
import onnx
import pytest

from conftest import session
from optimize_test import feeds, model_of, operators, typed

SIZES = ({"n": 3, "m": 5}, {"n": 1, "m": 2}, {"n": 7, "m": 11}, {"n": 2, "m": 13})
C = "Constant<value_float={}>()".format
IN = "float[n,m,8] x"
W = "w = Constant<value = float[8] {1.5, 0.5, 1.0, 2.0, 0.25, 1.0, 3.0, 0.75}>() "
B = "b = Constant<value = float[8] {0.5, -0.5, 1.0, 0.0, 0.25, -1.0, 0.0, 0.75}>() "
AXES = "i = Constant<value_ints=[-1]>() "


def erf(spelling, root="1.4142135"):
    return {"div": f"r = {C(root)} d = Div(x, r)", "mul": f"r = {C('0.70710678')} d = Mul(r, x)",
            "sqrt": f"t = {C('2.0')} r = Sqrt(t) d = Div(x, r)"}[spelling] + " e = Erf(d) o = " + C("1.0") + " "


def tanh_gelu(cube):
    return (f"k = {C('0.044715')} s = {C('0.7978845608')} o = {C('1.0')} h = {C('0.5')} t = {C('3.0')} {cube} l = Mul(k, c) a = Add(x, l)"
            " f = Mul(a, s) g = Tanh(f) q = Add(g, o) p = Mul(x, q) y = Mul(p, h)")


def layer_norm(mean="ReduceMean<keepdims=1>(x, i)", square="t = Constant<value_float=2.0>() s = Pow(d, t)", end="r = Sqrt(v) n = Div(d, r)", tail="y = Identity(n)"):
    return f"{AXES}m = {mean} d = Sub(x, m) {square} u = ReduceMean<keepdims=1>(s, i) e = {C('0.00001')} v = Add(u, e) {end} {W}{B}{tail}"


def rms_norm(square="s = Mul(x, x)", end="r = Sqrt(v) n = Div(x, r)", tail="y = Mul(w, n)"):
    return f"{AXES}{square} u = ReduceMean<keepdims=1>(s, i) e = {C('0.00001')} v = Add(u, e) {end} {W}{tail}"


WEIGHTED = "z = Mul(n, w) y = Add(z, b)"
FUSED = {
    "gelu": (20, "portable", IN, erf("div") + f"a = Add(e, o) p = Mul(x, a) h = {C('0.5')} y = Mul(p, h)", "Gelu"),
    "gelu, product": (20, "portable", IN, erf("mul") + f"a = Add(o, e) h = {C('0.5')} p = Mul(h, x) y = Mul(p, a)", "Gelu"),
    "gelu, computed root": (20, "portable", IN, erf("sqrt") + f"a = Add(e, o) h = {C('2.0')} p = Mul(a, x) y = Div(p, h)", "Gelu"),
    "gelu of ort": (17, "ort", IN, erf("div") + f"a = Add(e, o) p = Mul(x, a) h = {C('0.5')} y = Mul(p, h)", "Gelu"),
    "gelu by tanh": (20, "portable", IN, tanh_gelu("c = Pow(x, t)"), "Gelu"),
    "gelu by tanh, products": (20, "portable", IN, tanh_gelu("z = Mul(x, x) c = Mul(z, x)"), "Gelu"),
    "fast gelu": (17, "ort", IN, tanh_gelu("c = Pow(x, t)"), "FastGelu"),
    "quick gelu": (17, "ort", IN, f"k = {C('1.702')} a = Mul(x, k) s = Sigmoid(a) y = Mul(s, x)", "QuickGelu"),
    "silu": (17, "ort", IN, "s = Sigmoid(x) y = Mul(x, s)", "QuickGelu"),
    "bias gelu": (17, "ort", "float[n,m,8] z", B + "x = Add(b, z) " + erf("div") + f"a = Add(e, o) p = Mul(x, a) h = {C('0.5')} y = Mul(p, h)", "BiasGelu"),
    "hard swish": (17, "portable", IN, f"t = {C('3.0')} l = {C('0.0')} h = {C('6.0')} a = Add(x, t) c = Clip(a, l, h) p = Mul(x, c) y = Div(p, h)", "HardSwish"),
    "hard swish of its gate": (17, "portable", IN, "s = HardSigmoid<alpha=0.16666667>(x) y = Mul(x, s)", "HardSwish"),
    "hard sigmoid": (17, "portable", IN, f"t = {C('3.0')} l = {C('0.0')} h = {C('6.0')} a = Add(x, t) c = Clip(a, l, h) y = Div(c, h)", "HardSigmoid"),
    "softplus": (17, "portable", IN, f"o = {C('1.0')} e = Exp(x) a = Add(e, o) y = Log(a)", "Softplus"),
    "mish": (18, "portable", IN, f"o = {C('1.0')} e = Exp(x) a = Add(e, o) s = Log(a) t = Tanh(s) y = Mul(t, x)", "Mish"),
    "layer norm": (18, "portable", IN, layer_norm(tail=WEIGHTED), "LayerNormalization"),
    "layer norm, square by product": (18, "portable", IN, layer_norm(square="s = Mul(d, d)", tail=WEIGHTED), "LayerNormalization"),
    "layer norm, root by power": (18, "portable", IN, layer_norm(end=f"g = {C('-0.5')} r = Pow(v, g) n = Mul(d, r)", tail=WEIGHTED), "LayerNormalization"),
    "layer norm, reciprocal": (18, "portable", IN, layer_norm(end="q = Sqrt(v) r = Reciprocal(q) n = Mul(r, d)", tail=WEIGHTED), "LayerNormalization"),
    "layer norm alone": (18, "portable", IN, layer_norm(), "LayerNormalization"),
    "layer norm without bias": (18, "portable", IN, layer_norm(tail="y = Mul(w, n)"), "LayerNormalization"),
    "rms norm": (23, "portable", IN, rms_norm(), "RMSNormalization"),
    "rms norm of ort": (18, "ort", IN, rms_norm(), "SimplifiedLayerNormalization"),
    "rms norm, pow and reciprocal": (18, "ort", IN, rms_norm("t = Constant<value_float=2.0>() s = Pow(x, t)", "q = Sqrt(v) r = Reciprocal(q) n = Mul(x, r)"),
                                     "SimplifiedLayerNormalization"),
    "sum and layer norm": (18, "ort", "float[n,m,8] p, float[n,m,8] q", "x = Add(p, q) " + layer_norm(tail="z = Mul(n, w) a = Add(z, b) y = Sub(a, x)"),
                           "SkipLayerNormalization Sub"),
    "sum and rms norm": (18, "ort", "float[n,m,8] p, float[n,m,8] q", "x = Add(p, q) " + rms_norm(), "SkipSimplifiedLayerNormalization"),
}
NOT_FUSED = {
    "gelu with 0.75": (20, "portable", IN, erf("div", "0.75") + f"a = Add(e, o) p = Mul(x, a) h = {C('0.5')} y = Mul(p, h)", "Gelu"),
    "gelu before its opset": (17, "portable", IN, erf("div") + f"a = Add(e, o) p = Mul(x, a) h = {C('0.5')} y = Mul(p, h)", "Gelu"),
    "gelu of two tensors": (20, "portable", "float[n,m,8] x, float[n,m,8] z", erf("div") + f"a = Add(e, o) p = Mul(z, a) h = {C('0.5')} y = Mul(p, h)", "Gelu"),
    "norm over another axis": (18, "portable", IN, layer_norm(tail=WEIGHTED).replace("[-1]", "[1]"), "LayerNormalization"),
    "norm of two axes": (18, "portable", IN, layer_norm(mean="ReduceMean<keepdims=1>(x, j)", tail=WEIGHTED).replace("i = ", "j = Constant<value_ints=[1]>() i = "),
                         "LayerNormalization"),
    "norm with an eps for each place": (18, "portable", IN, layer_norm(tail=WEIGHTED).replace(C("0.00001"), "Constant<value = float[8] {0.1,0.2,0.1,0.2,0.1,0.2,0.1,0.2}>()"),
                                        "LayerNormalization"),
    "rms norm over axis 1": (18, "ort", IN, rms_norm().replace("[-1]", "[1]"), "SimplifiedLayerNormalization"),
    "hard swish of another gate": (17, "portable", IN, "s = HardSigmoid<alpha=0.2>(x) y = Mul(x, s)", "HardSwish"),
    "sum that spreads": (18, "ort", "float[n,m,8] p, float[1,m,8] q", "x = Add(p, q) " + rms_norm(), "SkipSimplifiedLayerNormalization"),
}


def optimize(thaw, save, tmp_path, case):
    opset, target, inputs, body, _ = case
    model, out = save(typed(model_of(opset, inputs, "y", body))), tmp_path / "out.onnx"
    thaw("optimize", model, "-o", out, "--target", target, code=0)
    rng = np.random.default_rng(1)
    for sizes in SIZES:
        feed = feeds(onnx.load(model), sizes, rng)
        for wanted, got in zip(session(model).run(None, feed), session(out).run(None, feed), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=2e-5)
    assert thaw.json("optimize", out, "--target", target, "--dry-run", code=0)["changed"] == []
    return model, out


@pytest.mark.parametrize("name", FUSED)
def test_a_fusion(thaw, save, tmp_path, name):
    _, out = optimize(thaw, save, tmp_path, FUSED[name])
    assert operators(out) == FUSED[name][-1]


@pytest.mark.parametrize("name", NOT_FUSED)
def test_what_only_looks_alike_is_not_fused(thaw, save, tmp_path, name):
    _, out = optimize(thaw, save, tmp_path, NOT_FUSED[name])
    assert NOT_FUSED[name][-1] not in operators(out).split()


def test_what_is_read_elsewhere_is_not_fused(thaw, save, tmp_path):
    body = erf("div") + f"a = Add(e, o) p = Mul(x, a) h = {C('0.5')} q = Mul(p, h) y = Sub(q, a)"
    _, out = optimize(thaw, save, tmp_path, (20, "portable", IN, body, ""))
    assert "Gelu" not in operators(out)


def test_clean_fuses_nothing(thaw, save, tmp_path):
    model, out = save(typed(model_of(18, IN, "y", layer_norm(tail=WEIGHTED)))), tmp_path / "out.onnx"
    thaw("optimize", model, "-o", out, "--level", "clean", code=0)
    assert "LayerNormalization" not in operators(out)
