"""thaw optimize finds attention in the forms that exporters write: heads merged, grouped and packed, masks that choose, casts, Einsum."""
import numpy as np
import onnx
import pytest

from conftest import session
from optimize_test import model_of, operators, typed

SIZES = ({"b": 2, "s": 5, "t": 7, "z": 6}, {"b": 1, "s": 3, "t": 2, "z": 3}, {"b": 3, "s": 7, "t": 11, "z": 17}, {"b": 5, "s": 11, "t": 13, "z": 19})
S = "Constant<value_float={}>()".format
L = "Constant<value_ints=[{}]>()".format
IN = "float[b,s,32] q, float[b,s,32] k, float[b,s,32] v"
CROSS = "float[b,s,32] q, float[b,t,32] k, float[b,t,32] v"
GROUPED = "float[b,s,32] q, float[b,s,16] k, float[b,s,16] v"
SPLIT = f"h = {L('0,0,4,8')} "
JOIN = f"u = Transpose<perm=[0,2,1,3]>(o) j = {L('0,0,32')} y = Reshape(u, j)"
SCALE = f"c = {S('0.35355339')} "


def head(x, to=None, perm="[0,2,1,3]", shape="h"):
    return f"{x}r = Reshape({x}, {shape}) {to or x + 'h'} = Transpose<perm={perm}>({x}r) "


def heads(keys="[0,2,3,1]"):
    return SPLIT + head("q") + head("k", perm=keys) + head("v")


def tail(scores="m", values="vh", softmax="Softmax<axis=-1>"):
    return f" p = {softmax}({scores}) o = MatMul(p, {values}) {JOIN}"


def scaled(mask):
    return heads() + SCALE + "n = MatMul(qh, kh) l = Mul(n, c) " + mask + tail()


def merged(mask="m = Identity(n) "):
    """Batch and heads as one axis, as BART and OPT write it."""
    return (SPLIT + head("q") + head("k") + head("v") + SCALE
            + "sq = Shape(q) i1 = Constant<value_int=1>() i0 = Constant<value_ints=[0]>() ns = Gather(sq, i1) ni = Unsqueeze(ns, i0)"
            + " m1 = Constant<value_ints=[-1]>() e8 = Constant<value_ints=[8]>() e4 = Constant<value_ints=[4]>() tr = Concat<axis=0>(m1, ni, e8)"
            + " qm = Reshape(qh, tr) km = Reshape(kh, tr) vm = Reshape(vh, tr) qs = Mul(qm, c) kt = Transpose<perm=[0,2,1]>(km) n = MatMul(qs, kt) "
            + mask + "p = Softmax<axis=-1>(m) w = MatMul(p, vm) tb = Concat<axis=0>(m1, e4, ni, e8) o = Reshape(w, tb) " + JOIN)


def repeated(how):
    """Two heads of keys and values for four of queries."""
    return (SPLIT + f"g = {L('0,0,2,8')} " + head("q") + head("k", shape="g") + head("v", shape="g") + SCALE + how("k", "kf") + how("v", "vf")
            + "kt = Transpose<perm=[0,1,3,2]>(kf) n = MatMul(qh, kt) m = Mul(n, c) " + tail(values="vf"))


def by_expand(x, to):
    return (f"{x}2 = {L('2')} {x}u = Unsqueeze({x}h, {x}2) {x}x = Constant<value_ints=[1,1,2,1,1]>() {x}e = Expand({x}u, {x}x)"
            f" {x}a = {L('0,4,-1,8')} {to} = Reshape({x}e, {x}a) ")


def by_tile(x, to):
    return by_expand(x, to).replace("Expand", "Tile")


def by_concat(x, to):
    return f"{x}2 = {L('2')} {x}u = Unsqueeze({x}h, {x}2) {x}e = Concat<axis=2>({x}u, {x}u) {x}a = {L('0,4,-1,8')} {to} = Reshape({x}e, {x}a) "


def by_gather(x, to):
    return f"{x}i = {L('0,0,1,1')} {to} = Gather<axis=1>({x}h, {x}i) "


def in_another_order(x, to):
    return f"{x}i = {L('0,1,0,1')} {to} = Gather<axis=1>({x}h, {x}i) "


PACKED = "float[b,s,96] x"
THREE = f"f = {L('0,0,3,4,8')} r = Reshape(x, f) t = Transpose<perm=[2,0,3,1,4]>(r) "
ONE_BY_ONE = "".join(f"{n}i = Constant<value_int={i}>() {n}h = Gather<axis=0>(t, {n}i) " for i, n in enumerate("qkv"))
AFTER_PACKED = SCALE + "kt = Transpose<perm=[0,1,3,2]>(kh) n = MatMul(qh, kt) m = Mul(n, c) " + tail()
FOLDED = (f"h = {L('0,0,4,8')} g = {L('0,0,2,8')} " + head("q") + head("k", perm="[0,2,3,1]", shape="g") + head("v", shape="g") + SCALE
          + f"f = {L('0,2,-1,8')} qf = Reshape(qh, f) n = MatMul(qf, kh) a4 = {L('0,4,-1,0')} l = Reshape(n, a4) z = Mul(l, c) MASK p = Softmax<axis=-1>(m)"
          f" a2 = {L('0,2,-1,0')} pf = Reshape(p, a2) w = MatMul(pf, vh) b4 = {L('0,4,-1,8')} o = Reshape(w, b4) " + JOIN)
CLEARED = f"nan = IsNaN(p) z0 = {S('0.0')} pc = Where(nan, z0, p) o = MatMul(pc, vh)"
HALF = "float16[b,s,32] q, float16[b,s,32] k, float16[b,s,32] v"
# As GPT-2 has it: scores * kept - 1e4 * (1 - kept).
ERASED = f"kf = Cast<to=1>(a) one = {S('1.0')} w = {S('10000.0')} lk = Mul(l, kf) less = {{less}} big = Mul(less, w) m = {{m}}"
TRIANGLE = ("all = Constant<value = float[1,1,12,12] {" + ",".join(str(float(j <= i)) for i in range(12) for j in range(12)) + "}>() qs = Shape(q)"
            f" o1 = {L('1')} o2 = {L('2')} sz = Slice(qs, o1, o2) z2 = {L('0,0')} both = Concat<axis=0>(sz, sz) x23 = {L('2,3')} kf = Slice(all, z2, both, x23) ")
CASES = {
    "a scale computed from the width": (IN, heads("[0,2,1,3]") + "sh = Shape(qh) e1 = Constant<value_ints=[-1]>() e2 = Constant<value_ints=[9223372036854775807]>()"
                                        " wi = Slice(sh, e1, e2) wf = Cast<to=1>(wi) wr = Sqrt(wf) one = Constant<value_floats=[1.0]>() ws = Div(one, wr) root = Sqrt(ws)"
                                        " qs = Mul(qh, root) kt = Transpose<perm=[0,1,3,2]>(kh) ks = Mul(kt, root) m = MatMul(qs, ks) " + tail()),
    "a mask of keys": (IN + ", float[b,1,1,s] a", scaled("m = Add(l, a)")),
    "a mask of keys, other queries": (CROSS + ", float[b,1,1,t] a", scaled("m = Add(l, a)")),
    "a mask taken off": (IN + ", float[b,1,s,s] a", scaled("m = Sub(l, a)")),
    "a mask cut to the keys": (IN + ", float[b,1,s,z] a", scaled(f"ks = Shape(k) o1 = {L('1')} o2 = {L('2')} tt = Slice(ks, o1, o2) z1 = {L('0')} x3 = {L('3')} cut = Slice(a, z1, tt, x3) m = Add(l, cut)")),
    "a mask of one column": (IN + ", float[b,1,s,1] a", scaled("m = Add(l, a)")),
    "two masks": (IN + ", float[b,1,1,s] a, float[1,4,s,s] d", scaled("l2 = Add(l, d) m = Add(a, l2)")),
    "a mask before the scale": (IN + ", float[b,1,s,s] a", heads() + SCALE + "n = MatMul(qh, kh) l = Add(n, a) m = Mul(l, c) " + tail()),
    "a mask that chooses": (IN + ", bool[b,1,s,s] a", scaled(f"w = {S('-1e9')} m = Where(a, l, w)")),
    "a mask that chooses what goes": (IN + ", bool[b,1,1,s] a", scaled(f"w = {S('-3.4028234663852886e38')} m = Where(a, w, l)")),
    "a mask that chooses, added": (IN + ", bool[s,s] a", scaled(f"z = {S('0.0')} w = {S('-1e9')} a2 = Where(a, z, w) m = Add(l, a2)")),
    "a mask of numbers": (IN + ", int64[b,s] a", scaled(f"x1 = {L('1,2')} a4 = Unsqueeze(a, x1) af = Cast<to=1>(a4) one = {S('1.0')} inv = Sub(one, af) w = {S('-10000.0')}"
                                                        " am = Mul(inv, w) m = Add(l, am)")),
    "a mask that scores are multiplied by": (IN + ", bool[b,1,s,s] a", scaled(ERASED.format(less="Sub(one, kf)", m="Sub(lk, big)"))),
    "a mask that scores are multiplied by, the other way round": (IN + ", bool[b,1,1,s] a", scaled(ERASED.format(less="Sub(kf, one)", m="Add(big, lk)"))),
    "a constant that scores are multiplied by": (IN, scaled(TRIANGLE + ERASED.replace("kf = Cast<to=1>(a)", "").format(less="Sub(one, kf)", m="Sub(lk, big)"))),
    "weights that are cleared": (IN, scaled("m = Identity(l)").replace("o = MatMul(p, vh)", CLEARED)),
    "a mask of infinities, weights cleared": (IN + ", bool[b,1,s,s] a", scaled(f"one = {S('-1.0')} nil = {S('0.0')} w = Div(one, nil) m = Where(a, w, l)").replace("o = MatMul(p, vh)", CLEARED)),
    "a mask that chooses, weights cleared": (IN + ", bool[b,1,1,s] a", scaled(f"w = {S('-3.38e38')} m = Where(a, l, w)").replace(
        "o = MatMul(p, vh)", f"z0 = {S('0.0')} pc = Where(a, p, z0) o = MatMul(pc, vh)")),
    "a mask that chooses what goes, weights cleared": (IN + ", bool[b,1,s,s] a", scaled(f"w = {S('-1e9')} m = Where(a, w, l)").replace(
        "o = MatMul(p, vh)", f"z0 = {S('0.0')} pc = Where(a, z0, p) o = MatMul(pc, vh)")),
    "a scale before the heads": (IN, SCALE + "q2 = Mul(q, c) " + heads().replace("Reshape(q, h)", "Reshape(q2, h)") + "m = MatMul(qh, kh) " + tail()),
    "a scale after the split": (IN, heads().replace("qr = Reshape(q, h)", SCALE + "q2 = Reshape(q, h) qr = Mul(q2, c)") + "m = MatMul(qh, kh) " + tail()),
    "a limit from below": (IN + ", float[b,1,s,s] a", scaled(f"l2 = Add(l, a) w = {S('-3.4028234663852886e38')} m = Max(l2, w)")),
    "a number added": (IN, scaled(f"w = {S('-5.0')} m = Add(l, w)")),
    "batch and heads merged": (IN, merged()),
    "batch and heads merged, a mask": (IN + ", float[b,1,s,s] a",
                                       merged("t4 = Concat<axis=0>(m1, e4, ni, ni) t3 = Concat<axis=0>(m1, ni, ni) n4 = Reshape(n, t4) nm = Add(n4, a) m = Reshape(nm, t3) ")),
    "no heads that are known": ("float[b,s,8] q, float[b,t,8] k, float[b,t,6] v", SCALE + "kt = Transpose<perm=[0,2,1]>(k) n = MatMul(q, kt) m = Mul(n, c) p = Softmax<axis=2>(m) y = MatMul(p, v)"),
    "no heads that are known, a mask": ("float[b,s,8] q, float[b,t,8] k, float[b,t,8] v, float[b,s,t] a",
                                        SCALE + "kt = Transpose<perm=[0,2,1]>(k) n = MatMul(q, kt) l = Mul(n, c) m = Add(l, a) p = Softmax<axis=2>(m) y = MatMul(p, v)"),
    "three axes of known size": ("float[6,s,8] q, float[6,t,8] k, float[6,t,8] v", SCALE + "kt = Transpose<perm=[0,2,1]>(k) n = MatMul(q, kt) m = Mul(n, c) p = Softmax<axis=2>(m) y = MatMul(p, v)"),
    "packed, gathered": (PACKED, THREE + ONE_BY_ONE + AFTER_PACKED),
    "packed, split and squeezed": (PACKED, THREE + f"z = {L('0')} ones = {L('1,1,1')} qa, ka, va = Split<axis=0>(t, ones) "
                                   + "".join(f"{n}h = Squeeze({n}a, z) " for n in "qkv") + AFTER_PACKED),
    "packed, split before": (PACKED, f"thirds = {L('32,32,32')} q, k, v = Split<axis=-1>(x, thirds) " + heads("[0,2,1,3]") + AFTER_PACKED),
    "einsum": (IN, SPLIT + "".join(f"{n}h = Reshape({n}, h) " for n in "qkv") + SCALE + 'n = Einsum<equation="bqhd,bkhd->bhqk">(qh, kh) m = Mul(n, c) p = Softmax<axis=-1>(m)'
               f' o = Einsum<equation="bhqk,bkhd->bqhd">(p, vh) j = {L("0,0,32")} y = Reshape(o, j)'),
    "einsum, heads first": (IN, heads("[0,2,1,3]") + SCALE + 'n = Einsum<equation="bhqd,bhkd->bhqk">(qh, kh) m = Mul(n, c) p = Softmax<axis=-1>(m)'
                            ' o = Einsum<equation="bhqk,bhkd->bhqd">(p, vh) ' + JOIN),
    "heads repeated by Expand": (GROUPED, repeated(by_expand)),
    "heads repeated by Tile": (GROUPED, repeated(by_tile)),
    "heads repeated by Concat": (GROUPED, repeated(by_concat)),
    "heads repeated by Gather": (GROUPED, repeated(by_gather)),
    "heads repeated another way": (GROUPED, repeated(in_another_order)),
    "one head of keys": ("float[b,s,32] q, float[b,s,8] k, float[b,s,8] v",
                         SPLIT + head("q") + SCALE + f"x1 = {L('1')} ku = Unsqueeze(k, x1) vu = Unsqueeze(v, x1) kt = Transpose<perm=[0,1,3,2]>(ku) n = MatMul(qh, kt) m = Mul(n, c) " + tail(values="vu")),
    "queries folded": (GROUPED, FOLDED.replace("MASK", "m = Identity(z)")),
    "queries folded, a mask": (GROUPED + ", float[b,1,s,s] a", FOLDED.replace("MASK", "m = Add(z, a)")),
    "groups an axis": (GROUPED + ", float[b,1,1,s,s] a", f"h = {L('0,0,2,2,8')} g = {L('0,0,2,1,8')} " + head("q", perm="[0,2,3,1,4]") + head("k", perm="[0,2,3,4,1]", shape="g")
                       + head("v", perm="[0,2,3,1,4]", shape="g") + SCALE + "n = MatMul(qh, kh) l = Mul(n, c) m = Add(l, a) p = Softmax<axis=-1>(m) o = MatMul(p, vh)"
                       f" u = Transpose<perm=[0,3,1,2,4]>(o) j = {L('0,0,32')} y = Reshape(u, j)"),
    "keys and values of a cache": (IN + ", float[b,4,t,8] pk, float[b,4,t,8] pv", heads("[0,2,1,3]") + SCALE + "kc = Concat<axis=2>(pk, kh) vc = Concat<axis=2>(pv, vh)"
                                   " kt = Transpose<perm=[0,1,3,2]>(kc) n = MatMul(qh, kt) m = Mul(n, c) " + tail(values="vc")),
    "float16, softmax in float32": (HALF + ", float[b,1,s,s] a", heads() + "" + SCALE.replace("c =", "c0 =") + "c = Cast<to=10>(c0) n = MatMul(qh, kh) l = Mul(n, c) f = Cast<to=1>(l) g = Add(f, a)"
                                    f" e = Softmax<axis=-1>(g) p = Cast<to=10>(e) o = MatMul(p, vh) {JOIN}"),
    "float16, products in float32": (HALF, heads() + SCALE + f"qf = Cast<to=1>(qh) kf = Cast<to=1>(kh) n = MatMul(qf, kf) m = Mul(n, c) e = Softmax<axis=-1>(m) p = Cast<to=10>(e) o = MatMul(p, vh) {JOIN}"),
}
TURNED = {"keys and values of a cache", "heads repeated another way"}  # heads stand first in what else reads them


def feed_of(model, sizes, rng):
    feed = {}
    for value in onnx.load(model).graph.input:
        kind = value.type.tensor_type
        shape = [sizes[d.dim_param] if d.dim_param else d.dim_value for d in kind.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        if dtype == np.bool_:
            feed[value.name] = rng.random(shape) < 0.5
            feed[value.name][..., 0] = True
            if len(shape) > 2:
                feed[value.name][0, ..., -1:, :] = True  # all of a row, too
        elif dtype == np.int64:
            feed[value.name] = (rng.random(shape) < 0.6).astype(np.int64)
            feed[value.name][..., 0] = 1
        else:
            feed[value.name] = rng.standard_normal(shape).astype(dtype)
    return feed


def agree(model, out, half=False):
    rng = np.random.default_rng(5)
    for sizes in SIZES:
        feed = feed_of(model, sizes, rng)
        for wanted, got in zip(session(model).run(None, feed), session(out).run(None, feed), strict=True):
            assert got.dtype == wanted.dtype
            np.testing.assert_allclose(got, wanted, rtol=2e-2 if half else 1e-4, atol=2e-3 if half else 1e-5)


def built(save, opset, inputs, body):
    return save(typed(model_of(opset, inputs, "y", body)))


@pytest.mark.parametrize("target, opset, name", [("ort", 17, "MultiHeadAttention"), ("portable", 23, "Attention")])
@pytest.mark.parametrize("case", CASES)
def test_attention_is_found(thaw, save, tmp_path, case, target, opset, name):
    inputs, body = CASES[case]
    model, out = built(save, opset, inputs, body), tmp_path / "out.onnx"
    thaw("optimize", model, "-o", out, "--target", target, code=0)
    found = operators(out).split()
    assert found.count(name) == 1 and "Softmax" not in found and "MatMul" not in found and "Einsum" not in found, found
    if case.startswith("a scale"):
        assert "Mul" not in found, "the operator scales"
    if target == "ort" and case not in TURNED:
        assert "Transpose" not in found, "the heads need no axis of their own"
    agree(model, out, "float16" in inputs)
    assert thaw.json("optimize", out, "--target", target, "--dry-run", code=0)["changed"] == []


CAP = f"k5 = {S('5.0')} d = Div(l, k5) th = Tanh(d) sc = Mul(th, k5) "
# What looks alike: inputs, body, and why it is not fused.
NEAR = {
    "softmax over queries": (IN, heads() + SCALE + "n = MatMul(qh, kh) m = Mul(n, c) " + tail(softmax="Softmax<axis=2>"), "softmax over axis 2"),
    "a masked score that still counts": (IN + ", bool[b,1,s,s] a", scaled(f"w = {S('-5.0')} m = Where(a, l, w)"), "no large negative number"),
    "scores times a tensor": (IN + ", float[b,1,s,s] a", scaled("m = Mul(l, a)"), "multiplied by a tensor"),
    "scores times what may be no mask": (IN + ", float[b,1,s,s] a", scaled(ERASED.format(less="Sub(one, kf)", m="Sub(lk, big)")), "not known to be of ones and zeros"),
    "scores times one mask, less another": (IN + ", bool[b,1,s,s] a, bool[b,1,s,s] d", scaled("kd = Cast<to=1>(d) " + ERASED.format(less="Sub(one, kd)", m="Sub(lk, big)")), "the scores"),
    "scores times a mask, with more where it is not": (IN + ", bool[b,1,s,s] a", scaled(ERASED.format(less="Sub(one, kf)", m="Add(lk, big)")), "multiplied by a tensor"),
    "a cap with a mask": (IN + ", float[b,1,s,s] a", scaled(CAP + "m = Add(sc, a)"), "softcap"),
    "a mask inside the cap": (IN + ", float[b,1,s,s] a", heads() + SCALE + "n = MatMul(qh, kh) l1 = Mul(n, c) l = Add(l1, a) " + CAP + "m = Identity(sc) " + tail(), "inside the softcap"),
    "a mask of other rows": (IN + ", float[b,1,z,s] a", scaled("m = Add(l, a)"), "the axes of the mask"),
    "a mask for each head of another count": (IN + ", float[b,h1,1,s] a", scaled("m = Add(l, a)"), "the axes of the mask"),
    "scores that are read twice": (IN, scaled("m = Identity(l) ") + " e = ReduceMax<keepdims=0>(l)", "read by something else"),
    "weights that are read twice": (IN, scaled("m = Identity(l) ") + " e = ReduceMax<keepdims=0>(p)", "its weights are read"),
    "weights cleared by another mask": (IN + ", bool[b,1,s,s] a, bool[b,1,s,s] d", scaled(f"w = {S('-1e9')} m = Where(a, l, w)").replace(
        "o = MatMul(p, vh)", f"z0 = {S('0.0')} pc = Where(d, p, z0) o = MatMul(pc, vh)"), "where no mask of the scores is"),
    "a softmax of fewer bits": (IN, heads() + SCALE + f"n = MatMul(qh, kh) l = Mul(n, c) g = Cast<to=10>(l) ew = Softmax<axis=-1>(g) p = Cast<to=1>(ew) o = MatMul(p, vh) {JOIN}", "fewer bits"),
    "heads that are not counted": ("float[b,g,s,8] q, float[b,g,8,s] k, float[b,g,s,8] v", SCALE + "n = MatMul(q, k) m = Mul(n, c) p = Softmax<axis=-1>(m) y = MatMul(p, v)",
                                   "how many heads"),
}


@pytest.mark.parametrize("target, opset", [("ort", 17), ("portable", 23)])
@pytest.mark.parametrize("case", NEAR)
def test_what_is_no_attention_stays_and_says_why(thaw, save, tmp_path, case, target, opset):
    inputs, body, why = NEAR[case]
    model = model_of(opset, inputs, "y", body)
    if " e = " in body:
        model.graph.output.append(onnx.helper.make_tensor_value_info("e", onnx.TensorProto.FLOAT, None))
    model, out = save(typed(model)), tmp_path / "out.onnx"
    thaw("optimize", model, "-o", out, "--target", target, "--no-check", code=0)
    assert "Softmax" in operators(out)
    (left,) = thaw.json("optimize", out, "--target", target, "--dry-run", code=0)["missed"]
    assert left["pass"] == "attention" and why in left["message"]
    assert why in thaw("optimize", out, "--target", target, "--dry-run", "--explain", code=0).stdout


@pytest.mark.parametrize("which, why", [("m", "the scores are an output"), ("p", "its weights are an output")])
def test_scores_that_are_an_output_stay(thaw, save, tmp_path, which, why):
    model = model_of(17, IN, "y", scaled("m = Identity(l)"))
    model.graph.output.append(onnx.helper.make_tensor_value_info(which, onnx.TensorProto.FLOAT, None))
    model = save(typed(model))
    thaw("optimize", model, "-o", tmp_path / "out.onnx", "--target", "ort", code=0)
    assert "Softmax" in operators(tmp_path / "out.onnx")
    assert why in thaw("optimize", model, "--dry-run", "--target", "ort", "--explain", code=0).stdout


def test_a_cap_is_attentions_own(thaw, save, tmp_path):
    model, out = built(save, 23, IN, scaled(CAP + "m = Identity(sc) ")), tmp_path / "out.onnx"
    thaw("optimize", model, "-o", out, code=0)
    assert operators(out).split().count("Attention") == 1 and "Tanh" not in operators(out)
    agree(model, out)
    thaw("optimize", model, "-o", out, "--target", "ort", code=0)
    assert "Tanh" in operators(out)
    agree(model, out)


def test_one_mask_is_written_for_all_layers(thaw, save, tmp_path):
    """A row for each query is needed once, not in each layer."""
    layer = (head("q", "qh{0}").replace("qr", "qr{0}") + SCALE + "n{0} = MatMul(qh{0}, kh) l{0} = Mul(n{0}, c) m{0} = Add(l{0}, a) p{0} = Softmax<axis=-1>(m{0}) o{0} = MatMul(p{0}, vh)"
             " u{0} = Transpose<perm=[0,2,1,3]>(o{0}) y{0} = Reshape(u{0}, j) ").replace("c = ", "c{0} = ").replace(", c)", ", c{0})")
    body = SPLIT + head("k", perm="[0,2,3,1]") + head("v") + f"j = {L('0,0,32')} " + layer.format(1) + layer.replace("Reshape(q, h)", "Reshape(y1, h)").format(2) + "y = Identity(y2)"
    model, out = built(save, 17, IN + ", float[b,1,1,s] a", body), tmp_path / "out.onnx"
    thaw("optimize", model, "-o", out, "--target", "ort", code=0)
    found = operators(out).split()
    assert found.count("MultiHeadAttention") == 2 and found.count("Expand") == 1
    agree(model, out)


@pytest.mark.parametrize("opset, body", [
    (12, scaled("m = Identity(l)").replace("<axis=-1>(m)", "<axis=3>(m)")),
    (17, heads("[0,2,1,3]") + "n = com.microsoft.FusedMatMul<transB=1, alpha=0.25>(qh, kh) " + tail("n"))], ids=["an old opset", "FusedMatMul"])
def test_other_operators(thaw, save, tmp_path, opset, body):
    model = model_of(opset, IN, "y", body)
    model.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    model, out = save(typed(model)), tmp_path / "out.onnx"
    thaw("optimize", model, "-o", out, "--target", "ort", code=0)
    assert operators(out).split().count("MultiHeadAttention") == 1 and "Softmax" not in operators(out)
    agree(model, out)


def test_a_softmax_of_an_old_opset_is_over_all_axes_behind(thaw, save, tmp_path):
    """Before opset 13 its default is axis 1, and what is behind that is one axis."""
    model, out = save(typed(model_of(12, IN, "y", scaled("m = Identity(l)").replace("Softmax<axis=-1>(m)", "Softmax(m)")))), tmp_path / "out.onnx"
    thaw("optimize", model, "-o", out, "--target", "ort", code=0)
    assert "Softmax" in operators(out)
    agree(model, out)
