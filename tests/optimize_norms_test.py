"""thaw optimize: norms in the spellings that exporters have, between Casts, over several axes, of instances and of groups."""
import numpy as np
import onnx
import pytest

from conftest import session
from optimize_fuse_test import AXES, IN, C, W, layer_norm, rms_norm
from optimize_test import feeds, model_of, operators, typed

SIZES = ({"n": 3, "m": 5}, {"n": 2, "m": 7}, {"n": 11, "m": 13})
HALF = "float16[n,m,8] x"
EPS = f"e = {C('0.00001')} "
WEIGHTED = "z = Mul(n, w) y = Add(z, b)"
IMAGE = "float[n,6,m,5] x"
PER_CHANNEL = ("w = Constant<value = float[6,1,1] {1.5, 0.5, 1.0, 2.0, 0.25, 3.0}>() "
               "b = Constant<value = float[1,6,1,1] {0.5, -0.5, 1.0, 0.0, 0.25, -1.0}>() ")


def half_rms(tail, before="c = Cast<to=1>(x)"):
    return f"{AXES}{before} t = {C('2.0')} s = Pow(c, t) u = ReduceMean<keepdims=1>(s, i) {EPS}v = Add(u, e) q = Sqrt(v) r = Reciprocal(q) n = Mul(c, r) {W}{tail}"


def instance(axes="[2,3]", tail="y = Identity(n)", x="x"):
    return (f"i = Constant<value_ints={axes}>() m = ReduceMean<keepdims=1>({x}, i) d = Sub({x}, m) s = Mul(d, d) u = ReduceMean<keepdims=1>(s, i) {EPS}"
            f"v = Add(u, e) r = Sqrt(v) n = Div(d, r) {tail}")


def groups(normed, tail="y = Identity(k)"):
    return f"l = Constant<value_ints=[0,3,-1]>() g = Reshape(x, l) {normed} h = Shape(x) k = Reshape(n, h) {tail}"


OF_GROUPS = "o = Constant<value_floats=[1.0,1.0,1.0]>() z = Constant<value_floats=[0.0,0.0,0.0]>() n = InstanceNormalization(g, o, z)"
TWO = (f"i = Constant<value_ints=[-2,-1]>() m = ReduceMean<keepdims=1>(x, i) d = Sub(x, m) s = Mul(d, d) u = ReduceMean<keepdims=1>(s, i) {EPS}v = Add(u, e) r = Sqrt(v) n = Div(d, r) "
       "w = Constant<value = float[2,3] {1.5, 0.5, 1.0, 2.0, 0.25, 3.0}>() y = Mul(n, w)")
FUSED = {
    "mean of a sum": (18, "portable", IN, layer_norm(mean="Div(k, c8)", tail=WEIGHTED).replace("m = Div", f"c8 = {C('8.0')} k = ReduceSum<keepdims=1>(x, i) m = Div"),
                      "LayerNormalization"),
    "centred twice": (18, "portable", IN, layer_norm(square="m2 = ReduceMean<keepdims=1>(x, i) d2 = Sub(x, m2) s = Mul(d2, d)", tail=WEIGHTED), "LayerNormalization"),
    "axis put back": (18, "portable", IN, layer_norm(mean="Unsqueeze(k, i)", tail=WEIGHTED).replace("m = Uns", "k = ReduceMean<keepdims=0>(x, i) m = Uns"),
                      "LayerNormalization"),
    "weight in three axes": (18, "portable", IN, layer_norm(tail="z = Mul(n, w3) y = Add(z, b)").replace("w = Constant<value = float[8]", "w3 = Constant<value = float[1,1,8]"),
                             "LayerNormalization"),
    "before its opset, of ort": (13, "ort", IN, layer_norm(tail=WEIGHTED).replace("ReduceMean<keepdims=1>(x, i)", "ReduceMean<axes=[-1]>(x)")
                                 .replace("ReduceMean<keepdims=1>(s, i)", "ReduceMean<axes=[2]>(s)"), "LayerNormalization"),
    "two axes": (18, "portable", "float[n,m,2,3] x", TWO, "LayerNormalization"),
    "sum of squares": (18, "ort", IN, rms_norm(square=f"c8 = {C('0.125')} k = ReduceSumSquare<keepdims=1>(x, i)").replace("u = ReduceMean<keepdims=1>(s, i)", "u = Mul(k, c8)"),
                       "SimplifiedLayerNormalization"),
    "length": (18, "ort", IN, rms_norm(square=f"c8 = {C('8.0')} t = {C('2.0')} k = ReduceL2<keepdims=1>(x, i) p = Pow(k, t)").replace("u = ReduceMean<keepdims=1>(s, i)", "u = Div(p, c8)"),
               "SimplifiedLayerNormalization"),
    "weight first": (18, "ort", IN, W + rms_norm(end="r = Sqrt(v) q = Mul(x, w) y = Div(q, r)", tail="").replace(W, ""), "SimplifiedLayerNormalization"),
    "1 + w": (18, "ort", IN, rms_norm(tail=f"o = {C('1.0')} p = Add(w, o) y = Mul(n, p)"), "SimplifiedLayerNormalization"),
    "between casts": (18, "ort", HALF, half_rms("h = Cast<to=10>(n) k = Cast<to=10>(w) y = Mul(k, h)"), "SimplifiedLayerNormalization"),
    "between casts, all of it": (18, "ort", HALF + ", float16[8] q2", half_rms("k = Cast<to=1>(q2) h = Mul(n, k) y = Cast<to=10>(h)"), "SimplifiedLayerNormalization"),
    "layer norm between casts": (18, "portable", "float16[n,m,8] p", "x = Cast<to=1>(p) " + layer_norm(tail="h = Cast<to=10>(n) k = Cast<to=10>(w) c = Cast<to=10>(b) z = Mul(h, k) y = Add(z, c)"),
                                 "LayerNormalization"),
    "bias, sum and layer norm": (18, "ort", "float[n,m,8] p, float[n,m,8] q", "j = Constant<value = float[8] {0.5,1.5,2.5,3.5,4.5,5.5,6.5,7.5}>() a = Add(p, j) x = Add(a, q) "
                                 + layer_norm(tail="z = Mul(n, w) a2 = Add(z, b) y = Sub(a2, x)"), "SkipLayerNormalization Sub"),
    "bias, sum and rms norm": (18, "ort", "float[n,m,8] p, float[n,m,8] q", "j = Constant<value = float[8] {0.5,1.5,2.5,3.5,4.5,5.5,6.5,7.5}>() a = Add(j, p) x = Add(q, a) "
                               + rms_norm(), "SkipSimplifiedLayerNormalization"),
    "instance norm": (18, "portable", IMAGE, instance(tail=PER_CHANNEL + WEIGHTED), "InstanceNormalization"),
    "instance norm alone": (18, "portable", IMAGE, instance(), "InstanceNormalization"),
    "instance norm of ort": (18, "ort", IMAGE, instance(axes="[-1,-2]", tail=PER_CHANNEL + "y = Mul(w, n)"), "InstanceNormalization"),
    "group norm": (21, "portable", IMAGE, groups(OF_GROUPS, PER_CHANNEL + "z2 = Mul(k, w) y = Add(z2, b)"), "GroupNormalization"),
    "group norm, by arithmetic": (21, "portable", IMAGE, groups(instance("[2]", "", "g"), PER_CHANNEL + "z2 = Mul(k, w) y = Add(z2, b)"), "GroupNormalization"),
    "group norm of ort": (21, "ort", IMAGE, groups(instance("[2]", "", "g"), PER_CHANNEL + "z2 = Mul(k, w) y = Add(z2, b)"),
                          "Reshape InstanceNormalization Shape Reshape Mul Add"),
}
NOT_FUSED = {
    "before its opset": (13, "portable", IN, layer_norm(tail=WEIGHTED).replace("ReduceMean<keepdims=1>(x, i)", "ReduceMean<axes=[-1]>(x)")
                         .replace("ReduceMean<keepdims=1>(s, i)", "ReduceMean<axes=[2]>(s)"), "LayerNormalization"),
    "norm in 64 bits": (18, "portable", "double[n,m,8] x", layer_norm().replace(C("0.00001"), "Constant<value = double[1] {0.00001}>()").replace("Constant<value_float=2.0>()", "Constant<value = double[1] {2.0}>()")
                        .split("w = ")[0] + "y = Identity(n)", "LayerNormalization"),
    "sum over another count": (18, "ort", IN, rms_norm(square=f"c8 = {C('0.25')} k = ReduceSumSquare<keepdims=1>(x, i)").replace("u = ReduceMean<keepdims=1>(s, i)", "u = Mul(k, c8)"),
                               "SimplifiedLayerNormalization"),
    "weight over another axis": (18, "portable", "float[n,8,8] x", layer_norm(tail="y = Mul(n, w2)").replace("w = Constant<value = float[8]", "w2 = Constant<value = float[8,1]"),
                                 "LayerNormalization Mul"),
    "an output on the way": (18, "ort", IN, rms_norm(tail="p = Mul(w, n) y = Sub(p, u)"), "SimplifiedLayerNormalization"),
    "first axes": (18, "portable", "float[n,m,2,3] x", TWO.replace("[-2,-1]", "[0,1]"), "LayerNormalization"),
    "instance norm over one axis": (18, "portable", IMAGE, instance("[2]"), "InstanceNormalization"),
    "instance norm with rows": (18, "portable", "float[n,6,6,m] x", instance("[2,3]", "w = Constant<value = float[6,1] {1.5, 0.5, 1.0, 2.0, 0.25, 3.0}>() y = Mul(n, w)"), "Normalization "),
    "groups of the batch": (21, "portable", IMAGE, groups(OF_GROUPS).replace("[0,3,-1]", "[-1,3,10]"), "GroupNormalization"),
    "groups that are scaled": (21, "portable", IMAGE, groups(OF_GROUPS.replace("1.0,1.0,1.0", "1.0,2.0,1.0")), "GroupNormalization"),
    "groups before opset 21": (18, "portable", IMAGE, groups(OF_GROUPS), "GroupNormalization"),
}


def optimize(thaw, save, tmp_path, case):
    opset, target, inputs, body, _ = case
    model, out = save(typed(model_of(opset, inputs, "y", body))), tmp_path / "out.onnx"
    thaw("optimize", model, "-o", out, "--target", target, code=0)
    assert out.stat().st_size <= model.stat().st_size + 128 + 96  # names of nodes that had none, and thaw.proof
    rng = np.random.default_rng(1)
    for sizes in SIZES:
        feed = feeds(onnx.load(model), sizes, rng)
        for wanted, got in zip(session(model).run(None, feed), session(out).run(None, feed), strict=True):
            assert got.dtype == wanted.dtype
            tolerance = 1e-2 if wanted.dtype == np.float16 else 1e-4
            np.testing.assert_allclose(got.astype(np.float32), wanted.astype(np.float32), rtol=tolerance, atol=tolerance / 5)
    assert thaw.json("optimize", out, "--target", target, "--dry-run", code=0)["changed"] == []
    return out


@pytest.mark.parametrize("name", FUSED)
def test_a_norm(thaw, save, tmp_path, name):
    assert operators(optimize(thaw, save, tmp_path, FUSED[name])) in (FUSED[name][-1], "ConstantOfShape " + FUSED[name][-1])


@pytest.mark.parametrize("name", NOT_FUSED)
def test_what_only_looks_like_a_norm_stays(thaw, save, tmp_path, name):
    left = operators(optimize(thaw, save, tmp_path, NOT_FUSED[name])).split()
    wanted = NOT_FUSED[name][-1]
    if wanted == "LayerNormalization Mul":
        assert left[-2:] == wanted.split()
    elif wanted == "Normalization ":
        assert left[-1] == "Mul"
    else:
        assert wanted not in left


def test_a_norm_of_a_wide_tensor_adds_no_weight(thaw, save, tmp_path):
    """The weight of ones that the operator asks for is made by a node where the file would grow by it."""
    body = layer_norm().split("w = ")[0] + "y = Identity(n)"
    model, out = save(typed(model_of(18, "float[n,m,4096] x", "y", body))), tmp_path / "out.onnx"
    report = thaw.json("optimize", model, "-o", out, code=0)
    assert operators(out) == "ConstantOfShape LayerNormalization"
    assert report["weight_bytes_after"] <= report["weight_bytes_before"] + 16
