"""thaw optimize puts a cache inside attention: the past beside the new keys and values, the joined ones an output of the operator; and
leaves it outside where that would be another model."""
import numpy as np
import onnx
import pytest

import build_text_test as text
from conftest import session
from models.decoding import greedy
from optimize_attention_test import heads
from optimize_test import model_of, typed

# Prefills, steps of one token, several tokens behind a past, several samples of each.
SIZES = [{"b": b, "s": s, "p": p, "r": p + 1, "t": s + p, "s + p": s + p} for b, s, p in ((1, 1, 0), (2, 5, 0), (1, 1, 7), (3, 1, 4), (2, 3, 7), (1, 11, 2))]
HEADS, KEPT, WIDTH = 4, 2, 8
L = "Constant<value_ints=[{}]>()".format
IN = "float[b,s,32] q, float[b,s,{w}] k, float[b,s,{w}] v, float[b,{h},p,8] pk, float[b,{h},p,8] pv".format
MANY, FEW = IN(w=32, h=4), IN(w=16, h=2)
MASK = ", float[b,1,s,t] a"
SPLIT = f"h = {L('0,0,4,8')} g = {L('0,0,2,8')} " + heads("q")
JOINED = "ak = Concat<axis=2>(pk, kh) av = Concat<axis=-2>(pv, vh) "
REPEATED = f"u2 = {L('2')} e = {L('1,1,2,1,1')} rs = {L('0,4,-1,8')} " + "".join(f"x{c} = Unsqueeze(a{c}, u2) y{c} = Expand(x{c}, e) z{c} = Reshape(y{c}, rs) " for c in "kv")
TAIL = f" p = Softmax<axis=-1>(m) o = MatMul(p, {{}}) u = Transpose<perm=[0,2,1,3]>(o) j = {L('0,0,32')} y = Reshape(u, j) "
GIVEN = "present_k = Identity(ak) present_v = Identity(av) "


def new(c, split="h"):
    return f"{c}r = Reshape({c}, {split}) {c}h = Transpose<perm=[0,2,1,3]>({c}r) "


def attend(keys, values, mask="m = Identity(n)", between=""):
    return f"w = Transpose<perm=[0,1,3,2]>({keys}) c = Constant<value_float=0.35355339>() sc = MatMul(qh, w) n = Mul(sc, c) {between} {mask}" + TAIL.format(values)


FOLDED = (f"f = {L('0,2,-1,8')} fq = Reshape(qh, f) w = Transpose<perm=[0,1,3,2]>(ak) sf = MatMul(fq, w) s4 = Shape(qh) ba = Slice(s4, i0, i3) t4 = Shape(ak) te = Slice(t4, i2, i3)"
          " sh = Concat<axis=0>(ba, te) n = Reshape(sf, sh) m = Add(n, a) p = Softmax<axis=-1>(m) fb = Concat<axis=0>(l0, te) pf = Reshape(p, fb) of = MatMul(pf, av)"
          f" bk = {L('0,4,-1,8')} o = Reshape(of, bk) u = Transpose<perm=[0,2,1,3]>(o) j = {L('0,0,32')} y = Reshape(u, j) ")
SMALL = f"i0 = {L('0')} i2 = {L('2')} i3 = {L('3')} l0 = {L('0,2,-1')} "
PAIR = SPLIT + new("k") + new("v") + JOINED
GROUPS = SPLIT + new("k", "g") + new("v", "g") + JOINED
OUT = "y, float present_k, float present_v"
CASES = {
    "as many heads of keys": (MANY + MASK, OUT, PAIR + GIVEN + attend("ak", "av", "m = Add(n, a)")),
    "no mask": (MANY, OUT, PAIR + GIVEN + attend("ak", "av")),
    "a cache that is no output": (MANY, "y", PAIR + attend("ak", "av")),
    "repeated heads of keys": (FEW + MASK, OUT, GROUPS + GIVEN + REPEATED + attend("zk", "zv", "m = Add(n, a)")),
    "repeated heads of keys, no mask": (FEW, OUT, GROUPS + GIVEN + REPEATED + attend("zk", "zv")),
    "queries of a group folded": (FEW + ", float[b,1,s,total] a", OUT, SMALL + GROUPS + GIVEN + FOLDED),
    "a mask of one row": (FEW + ", float[b,1,1,t] a", OUT, GROUPS + GIVEN + REPEATED + attend("zk", "zv", "m = Add(n, a)")),
    "keys that are read afterwards": (MANY, OUT, PAIR + attend("ak", "av") + "present_k = Neg(ak) present_v = Abs(av)"),
}
OUTSIDE = {
    "the new ones first": (MANY, OUT, PAIR.replace("(pk, kh)", "(kh, pk)").replace("(pv, vh)", "(vh, pv)") + GIVEN + attend("ak", "av"), "as many new keys"),
    "the new values first": (MANY, OUT, PAIR.replace("(pv, vh)", "(vh, pv)") + GIVEN + attend("ak", "av"), "as many new keys"),
    "a past in two parts": (MANY, OUT, PAIR.replace("(pk, kh)", "(pk, pk, kh)").replace("(pv, vh)", "(pv, pv, vh)") + GIVEN + attend("ak", "av"), ""),
    "keys that a mask is made of": (MANY + ", float[b,1,s,t] af", OUT, PAIR + GIVEN + attend(
        "ak", "av", "m = Add(n, a)", "rk = ReduceMax<keepdims=0>(ak) rr = Relu(rk) a = Mul(rr, af)"), "read before"),
    "a mask for each head": (FEW + ", float[b,4,s,t] a", OUT, GROUPS + GIVEN + REPEATED + attend("zk", "zv", "m = Add(n, a)"), "masks of their own"),
    "another number of new keys": (MANY.replace("float[b,s,32] k, float[b,s,32] v", "float[b,r,32] k, float[b,r,32] v"), OUT, PAIR + GIVEN + attend("ak", "av"), "as many new keys"),
}


def made(save, opset, case):
    """The model as a file; `total` is declared as the sum that it is."""
    inputs, outputs, body = case[:3]
    model = typed(model_of(opset, inputs, outputs, body))
    for value in model.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param == "total":
                dim.dim_param = "s + p"
    return save(model)


def agree(model, out):
    rng = np.random.default_rng(5)
    inputs = onnx.load(model).graph.input
    for sizes in SIZES:
        feed = {}
        for value in inputs:
            shape = [sizes[d.dim_param] if d.dim_param else d.dim_value for d in value.type.tensor_type.shape.dim]
            feed[value.name] = rng.standard_normal(shape).astype(np.float32)
        for wanted, got in zip(session(model).run(None, feed), session(out).run(None, feed), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


def node_of(path, name):
    (node,) = [n for n in onnx.load(path).graph.node if n.op_type == name]
    return node


BY_TARGET = [("ort", 17, "MultiHeadAttention", 6), ("portable", 23, "Attention", 4)]
TARGETS = pytest.mark.parametrize("target, opset, name, past", BY_TARGET)


@TARGETS
@pytest.mark.parametrize("case", CASES)
def test_a_cache_goes_inside(thaw, save, tmp_path, case, target, opset, name, past):
    model, out = made(save, opset, CASES[case]), tmp_path / "out.onnx"
    thaw("optimize", model, "-o", out, "--target", target, code=0)
    node = node_of(out, name)
    assert list(node.input[past:past + 2]) == ["pk", "pv"] and len(node.output) == 3
    nodes = onnx.load(out).graph.node
    assert not {n.op_type for n in nodes} & {"Softmax", "MatMul"}
    joined = {*node.input[6:8], *node.output[1:], "pk", "pv"}
    assert not [n for n in nodes if n.op_type in ("Concat", "Expand", "Unsqueeze") and joined & set(n.input)], "keys are read as they are"
    agree(model, out)
    assert thaw.json("optimize", out, "--target", target, "--dry-run", code=0)["changed"] == []


# Attention takes masks of each head; MultiHeadAttention shares keys by queries that are folded, with one mask for all.
@pytest.mark.parametrize("target, opset, name, past, case", [(*by, case) for by in BY_TARGET for case in OUTSIDE if by[0] == "ort" or "each head" not in case])
def test_a_cache_stays_outside(thaw, save, tmp_path, target, opset, name, past, case):
    why = OUTSIDE[case][3]
    model, out = made(save, opset, OUTSIDE[case]), tmp_path / "out.onnx"
    said = thaw("optimize", model, "-o", out, "--target", target, "--explain", code=0).stdout
    node = node_of(out, name)
    assert len(node.output) == 1 and len(node.input) <= past
    if why:
        assert "its cache outside" in said and why in said
    agree(model, out)


@pytest.mark.parametrize("family", text.FAMILIES)
def test_a_decoder_writes_the_same_tokens(thaw, tmp_path, family):
    """Prefills with padding, then steps of one token, of several samples: as the decoder before, which gives those of transformers."""
    refs = text.references(family)
    thaw("build", text.checkpoint(family), "-o", tmp_path / "built", "--part", "text", "--kv-cache", code=0)
    out = tmp_path / "out.onnx"
    thaw("optimize", tmp_path / "built" / "text.onnx", "-o", out, "--target", "ort", code=0)
    graph = onnx.load(out, load_external_data=False).graph
    attention = [n for n in graph.node if n.op_type == "MultiHeadAttention"]
    assert attention and all(n.input[6].startswith("past_key_values") and n.output[1].startswith("present") for n in attention)
    assert not [n for n in graph.node if n.op_type == "Expand" and n.input[0].startswith("present")]
    tokens = greedy(session(out), refs["prompt"], refs["prompt_mask"], refs["tokens"].shape[1])
    assert (tokens == refs["tokens"]).all()
