"""thaw optimize: which numbers are the constants of a formula, and which are others; a fusion that differs is left out."""
import ml_dtypes
import numpy as np
import pytest

from conftest import session
from optimize_fuse_test import AXES, IN, WEIGHTED, C, W, layer_norm
from optimize_test import model_of, operators, typed

ROOT, TANH_SCALE, CUBE = 0.5 ** 0.5, (2 / np.pi) ** 0.5, 0.044715
FORMATS = {"float32": np.float32, "bfloat16": ml_dtypes.bfloat16, "float16": np.float16}


def gelu(half="0.5", root="0.70710678", one="1.0"):
    return f"k = {C(root)} d = Mul(x, k) e = Erf(d) o = {C(one)} a = Add(e, o) h = {C(half)} p = Mul(h, x) y = Mul(p, a)"


def gelu_by_tanh(scale, cube):
    return (f"k = {C(cube)} s = {C(scale)} o = {C('1.0')} h = {C('0.5')} c = Mul(x, x) q = Mul(c, x) l = Mul(k, q) a = Add(x, l)"
            " f = Mul(a, s) g = Tanh(f) b = Add(g, o) p = Mul(x, b) y = Mul(p, h)")


def hard_swish(offset):
    return f"t = {C(offset)} l = {C('0.0')} h = {C('6.0')} a = Add(x, t) c = Clip(a, l, h) p = Mul(x, c) y = Div(p, h)"


def root_mean_square(count):
    return f"{AXES}s = Mul(x, x) u = ReduceSum<keepdims=1>(s, i) c = {C(count)} z = Div(u, c) e = {C('0.00001')} v = Add(z, e) r = Sqrt(v) n = Div(x, r) {W}y = Mul(n, w)"


OTHERS = {
    "gelu, 0.7087": gelu(root="0.7087"), "gelu, 0.709": gelu(root="0.709"), "gelu, 1.0005": gelu(one="1.0005"), "gelu, 1.002": gelu(one="1.002"),
    "gelu, 0.501": gelu(half="0.501"), "gelu by tanh, 0.7987": gelu_by_tanh("0.7987", "0.044715"), "gelu by tanh, 0.0447": gelu_by_tanh("0.79788456", "0.0447"),
    "hard swish, 3.003": hard_swish("3.003"), "norm, power of 2.003": layer_norm(square=f"q = Abs(d) t = {C('2.003')} s = Pow(q, t)", tail=WEIGHTED),
    "norm, a count of 7.99": root_mean_square("7.99"),
}


def optimized(thaw, save, tmp_path, body, *options):
    model, out = save(typed(model_of(18, IN, "y", body))), tmp_path / "out.onnx"
    report = thaw.json("optimize", model, "-o", out, "--target", "ort", *options, code=0)
    return model, out, report


def error(model, out, scale=1):
    feed = {"x": scale * np.random.default_rng(1).standard_normal((3, 5, 8)).astype(np.float32)}
    return max(np.abs(got - wanted).max() for got, wanted in zip(session(out).run(None, feed), session(model).run(None, feed), strict=True))


@pytest.mark.parametrize("name", OTHERS)
def test_another_number_is_no_constant(thaw, save, tmp_path, name):
    model, out, report = optimized(thaw, save, tmp_path, OTHERS[name])
    assert not {"Gelu", "FastGelu", "HardSwish", "LayerNormalization", "SimplifiedLayerNormalization"} & set(operators(out).split())
    assert not report["rejected_passes"] and error(model, out) < 1e-5


@pytest.mark.parametrize("stored", FORMATS)
def test_a_constant_as_it_is_stored(thaw, save, tmp_path, stored):
    def number(value):
        return repr(float(FORMATS[stored](value)))

    for body, fused in ((gelu(root=number(ROOT)), "Gelu"), (gelu(root=number(ROOT)).replace("Mul(x, k)", "Div(x, k)").replace(number(ROOT), number(2 * ROOT)), "Gelu"),
                        (gelu_by_tanh(number(TANH_SCALE), number(CUBE)), "FastGelu")):
        model, out, _ = optimized(thaw, save, tmp_path, body)
        assert operators(out) == fused
        assert error(model, out) < (1e-5 if stored == "float32" else 4e-3)


OVERFLOWS = f"k = {C('100.0')} h = Mul(x, k) f = Exp(h) o = {C('1.0')} g = Add(f, o) l = Log(g)"


def test_a_fusion_that_differs_is_left_out(thaw, save, tmp_path):
    """log(1 + e^x) overflows, and Softplus does not: the result is written without it, with the norm beside it."""
    body = f"{OVERFLOWS} {layer_norm(tail='p = Mul(n, w) q = Add(p, b) y = Sub(l, q)')}"
    model, out, report = optimized(thaw, save, tmp_path, body)
    assert [left["pass"] for left in report["rejected_passes"]] == ["activations"] and "'y'" in report["rejected_passes"][0]["message"]
    left = operators(out).split()
    assert "LayerNormalization" in left and "Log" in left and "Softplus" not in left
    assert all(check["agrees"] for check in report["checks"])
    text = thaw("optimize", model, "-o", out, "--target", "ort", code=0).stdout
    assert "skipped passes" in text and "activations: with it, output 'y'" in text


def test_what_differs_without_fusions_too_is_not_written(thaw, save, tmp_path):
    """What Dropout leaves out in training is other each time."""
    dropout = "i = Identity(x) h = Constant<value_float=0.5>() b = Constant<value = bool {1}>() r = Dropout(i, h, b) y = Add(x, r)"
    model, out = save(typed(model_of(18, IN, "y", dropout))), tmp_path / "out.onnx"
    message = thaw("optimize", model, "-o", out, code=1).stdout
    assert "nothing was written: results differ without fusions too" in message and "identities" in message
    assert not out.exists()
