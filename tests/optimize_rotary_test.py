"""thaw optimize finds rotary embeddings: halves by Slice or Split, interleaved, partial, angles given or computed; and nothing that is none."""
import re

import numpy as np
import onnx
import pytest

from conftest import session
from optimize_test import model_of, operators, typed

SIZES = tuple({"b": b, "s": s, "n": 13, "w": 4} for b, s in ((2, 5), (1, 3), (3, 7), (5, 11)))
S = "Constant<value_float={}>()".format
L = "Constant<value_ints=[{}]>()".format
X = "float[b,3,s,8] x"  # heads first
P = "float[b,s,3,8] x"  # positions first


def sliced(x="x", half=4):
    return (f"z = {L('0')} hf = {L(half)} e = {L(9223372036854775807)} a = {L('-1')} x1 = Slice({x}, z, hf, a) x2 = Slice({x}, hf, e, a) ")


def split(x="x", half=4):
    return f"hv = {L(f'{half},{half}')} x1, x2 = Split<axis=-1>({x}, hv) "


def alternating(x="x"):
    return f"z = {L('0')} o = {L('1')} w = {L('2')} e = {L(9223372036854775807)} a = {L('-1')} x1 = Slice({x}, z, e, a, w) x2 = Slice({x}, o, e, a, w) "


def whole(halves, x="x", to="y", rotated="r = Concat<axis=-1>(n, x1) "):
    """x cos + (-x2, x1) sin"""
    return halves + f"n = Neg(x2) {rotated} xc = Mul({x}, cos) rs = Mul(r, sin) {to} = Add(xc, rs) "


def apart(halves, to="y", join="Concat<axis=-1>(p, q)"):
    """x1 cos - x2 sin beside x2 cos + x1 sin"""
    return halves + f"c1 = Mul(x1, cos) s2 = Mul(x2, sin) p = Sub(c1, s2) c2 = Mul(cos, x2) s1 = Mul(x1, sin) q = Add(c2, s1) {to} = {join} "


def pairs(a, b, shape, to):
    return f"m1 = {L('-1')} ua = Unsqueeze({a}, m1) ub = Unsqueeze({b}, m1) st = Concat<axis=-1>(ua, ub) sh = {L(shape)} {to} = Reshape(st, sh) "


# Angles of positions, computed from ids [b, s]: cos and sin [b, s, 8], or half of it.
FREQUENCIES = "fr = Constant<value = float[4] {1.0, 0.1, 0.01, 0.001}>() "
IDS = "int64[b,s] ids"
HALF = FREQUENCIES + f"i2 = {L('2')} pf = Cast<to=1>(ids) pu = Unsqueeze(pf, i2) f = Mul(pu, fr) "
TWICE = HALF + "em = Concat<axis=-1>(f, f) "


def angles(of, axis, scale=""):
    if scale:
        scale = f"k = {S(scale)} ca = Mul(cb, k) sa = Mul(sb, k) "
    names = ("cb", "sb") if scale else ("ca", "sa")
    return f"{names[0]} = Cos({of}) {names[1]} = Sin({of}) {scale}ax = {L(axis)} cos = Unsqueeze(ca, ax) sin = Unsqueeze(sa, ax) "


INTERLEAVED = (HALF + f"m0 = {L('-1')} fu = Unsqueeze(f, m0) fx = Constant<value_ints=[1,1,1,2]>() fe = Expand(fu, fx) fs = {L('0,0,8')} em = Reshape(fe, fs) ")
CASES = {
    "halves by Slice": (f"{X}, {IDS}", TWICE + angles("em", 1) + whole(sliced())),
    "halves by Split": (f"{X}, {IDS}", TWICE + angles("em", 1) + whole(split())),
    "angles with a factor": (f"{X}, {IDS}", TWICE + angles("em", 1, "1.25") + whole(split())),
    "angles of a width that is not known": (f"{X}, {IDS}, float[n,w] freq", "g = Gather<axis=0>(freq, ids) em = Concat<axis=-1>(g, g) " + angles("em", 1) + whole(split())),
    "half of a computed width": (f"{X}, {IDS}", TWICE + angles("em", 1) + "xs = Shape(x) i3 = Constant<value_int=3>() wd = Gather(xs, i3) i2b = Constant<value_int=2>() hs = Div(wd, i2b) "
                                 f"z = {L('0')} hf = Unsqueeze(hs, z) e = {L(9223372036854775807)} a = {L('-1')} x1 = Slice(x, z, hf, a) x2 = Slice(x, hf, e, a) " + whole("")),
    "positions first": (f"{P}, {IDS}", TWICE + angles("em", 2) + whole(split())),
    "two halves": (f"{X}, {IDS}", HALF + angles("f", 1) + apart(split())),
    "two halves, positions first": (f"{P}, {IDS}", HALF + angles("f", 2) + apart(sliced())),
    "angles given": (f"{X}, float[b,1,s,4] cos, float[b,1,s,4] sin", apart(split())),
    "angles of one batch": (f"{X}, float[s,4] cos, float[s,4] sin", apart(split())),
    "angles of one batch, positions first": (f"{P}, float[1,s,1,4] cos, float[1,s,1,4] sin", apart(split())),
    "angles gathered from a table": (f"{X}, {IDS}", "tc = Constant<value = float[13,4] {" + ",".join(str(i / 64) for i in range(52)) + "}>() cg = Gather<axis=0>(tc, ids)"
                                     " cd = Concat<axis=-1>(cg, cg) ax = Constant<value_ints=[1]>() cos = Unsqueeze(cd, ax) sin = Sqrt(cos) ".replace("Sqrt(cos)", "Neg(cos)") + whole(split())),
    "no batch": ("float[s,3,8] x, float[s,1,4] cos, float[s,1,4] sin", apart(split())),
    "no batch, heads first": ("float[3,s,8] x, float[s,4] cos, float[s,4] sin", apart(split())),
    "interleaved": (f"{X}, {IDS}", HALF + angles("f", 1) + alternating() + apart("", to="y0", join="Identity(p)") + pairs("p", "q", "0,0,0,8", "y")),
    "interleaved, whole": (f"{X}, {IDS}", INTERLEAVED + angles("em", 1) + whole(alternating(), rotated=pairs("n", "x1", "0,0,0,8", "r"))),
    "a part of the width": (f"{X}, {IDS}", f"fr = Constant<value = float[2] {{1.0, 0.01}}>() i2 = {L('2')} pf = Cast<to=1>(ids) pu = Unsqueeze(pf, i2) f = Mul(pu, fr) em = Concat<axis=-1>(f, f) "
                            + angles("em", 1) + f"pt = {L('4,4')} xr, xp = Split<axis=-1>(x, pt) " + whole(split("xr", 2), "xr", "t") + "y = Concat<axis=-1>(t, xp)"),
    "a part of the width, three parts": (f"{P}, {IDS}", f"fr = Constant<value = float[2] {{1.0, 0.01}}>() i2 = {L('2')} pf = Cast<to=1>(ids) pu = Unsqueeze(pf, i2) f = Mul(pu, fr) "
                                         + angles("f", 2) + f"pt = {L('2,2,4')} x1, x2, xp = Split<axis=-1>(x, pt) " + apart("", join="Concat<axis=-1>(p, q, xp)")),
    "a part of the width, halves": (f"{P}, {IDS}", f"fr = Constant<value = float[2] {{1.0, 0.01}}>() i2 = {L('2')} pf = Cast<to=1>(ids) pu = Unsqueeze(pf, i2) f = Mul(pu, fr) "
                                    + angles("f", 2) + f"pt = {L('4,4')} xr, xp = Split<axis=-1>(x, pt) " + apart(split("xr", 2), "t") + "y = Concat<axis=-1>(t, xp)"),
}
NONE = {
    "angles of each place": (f"{X}, float[b,1,s,8] cos, float[b,1,s,8] sin", whole(split()), "the angles of both halves"),
    "angles of each head": (f"{X}, float[b,3,s,4] cos, float[b,3,s,4] sin", apart(split()), "one for each position"),
    "angles of an unknown width that are not twice the same": (f"{X}, {IDS}, float[n,w] freq, float[n,w] other",
                                                               "g = Gather<axis=0>(freq, ids) g2 = Gather<axis=0>(other, ids) em = Concat<axis=-1>(g, g2) "
                                                               + angles("em", 1) + whole(split()), "the angles of both halves"),
    "the other way round": (f"{X}, {IDS}", TWICE + angles("em", 1) + whole(split(), rotated="r = Concat<axis=-1>(x1, n) "), ""),
    "no sign": (f"{X}, {IDS}", TWICE + angles("em", 1) + whole(split(), rotated="r = Concat<axis=-1>(x2, x1) "), ""),
    "two signs": (f"{X}, {IDS}", HALF + angles("f", 1) + apart(split()).replace("Add(c2, s1)", "Sub(c2, s1)"), ""),
    "parts that are no halves": (f"{X}, float[b,1,s,1] cos, float[b,1,s,1] sin", whole(split().replace("4,4", "2,6"), rotated="r = Concat<axis=-1>(n, x1) "), ""),
    "places that do not turn and are lost": (f"{P}, float[b,s,1,2] cos, float[b,s,1,2] sin", f"pt = {L('2,2,4')} x1, x2, xp = Split<axis=-1>(x, pt) " + apart(""), ""),
    "places that do not turn, in another order": (f"{P}, float[b,s,1,2] cos, float[b,s,1,2] sin",
                                                  f"pt = {L('2,2,2,2')} x1, x2, xp, xq = Split<axis=-1>(x, pt) " + apart("", join="Concat<axis=-1>(p, q, xq, xp)"), ""),
    "one sine for another": (f"{X}, float[b,1,s,4] cos, float[b,1,s,4] sin", apart(split()).replace("s1 = Mul(x1, sin)", "s1 = Mul(x1, cos)"), ""),
}


def agree(model, out):
    rng = np.random.default_rng(7)
    for sizes in SIZES:
        feed = {}
        for value in onnx.load(model).graph.input:
            shape = [sizes[d.dim_param] if d.dim_param else d.dim_value for d in value.type.tensor_type.shape.dim]
            is_ids = value.type.tensor_type.elem_type == onnx.TensorProto.INT64
            feed[value.name] = rng.integers(0, 13, shape) if is_ids else rng.standard_normal(shape).astype(np.float32)
        for wanted, got in zip(session(model).run(None, feed), session(out).run(None, feed), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("target, opset", [("ort", 17), ("portable", 23)])
@pytest.mark.parametrize("case", CASES)
def test_a_rotary_embedding_is_found(thaw, save, tmp_path, case, target, opset):
    inputs, body = CASES[case]
    model, out = save(typed(model_of(opset, inputs, "y", body))), tmp_path / "out.onnx"
    thaw("optimize", model, "-o", out, "--target", target, code=0)
    found = operators(out).split()
    assert found.count("RotaryEmbedding") == 1 and "Sub" not in found and "Split" not in found, found
    agree(model, out)
    assert thaw.json("optimize", out, "--target", target, "--dry-run", code=0)["changed"] == []


@pytest.mark.parametrize("target, opset", [("ort", 17), ("portable", 23)])
@pytest.mark.parametrize("case", NONE)
def test_what_is_none_stays(thaw, save, tmp_path, case, target, opset):
    inputs, body, why = NONE[case]
    model, out = save(typed(model_of(opset, inputs, "y", body))), tmp_path / "out.onnx"
    thaw("optimize", model, "-o", out, "--target", target, "--no-check", code=0)
    assert "RotaryEmbedding" not in operators(out)
    left = thaw.json("optimize", model, "--target", target, "--dry-run", code=0)["missed"]
    assert why in " ".join(change["message"] for change in left)


def test_one_table_serves_all_layers(thaw, save, tmp_path):
    first = apart(split())
    second = re.sub(r"\b(hv|x1|x2|c1|s2|c2|s1|p|q|y)\b", r"\1b", first)
    body = first + second.replace("Split<axis=-1>(x", "Split<axis=-1>(y") + "z = Add(yb, y)"
    model, out = save(typed(model_of(17, f"{X}, float[b,1,s,4] cos, float[b,1,s,4] sin", "z", body))), tmp_path / "out.onnx"
    thaw("optimize", model, "-o", out, "--target", "ort", code=0)
    found = operators(out).split()
    assert found.count("RotaryEmbedding") == 2 and found.count("Range") == 1
    agree(model, out)


@pytest.mark.parametrize("target, opset", [("ort", 17), ("portable", 23)])
def test_heads_that_are_put_first_are_read_before(thaw, save, tmp_path, target, opset):
    body = "x = Transpose<perm=[0,2,1,3]>(t) " + apart(split(), "r") + "y = Transpose<perm=[0,2,1,3]>(r)"
    model, out = save(typed(model_of(opset, f"{P.replace(' x', ' t')}, float[b,1,s,4] cos, float[b,1,s,4] sin", "y", body))), tmp_path / "out.onnx"
    thaw("optimize", model, "-o", out, "--target", target, code=0)
    assert "RotaryEmbedding" in operators(out) and "Transpose" not in operators(out)
    agree(model, out)
