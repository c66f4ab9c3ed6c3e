"""thaw optimize: Attention of opset 23 and later reads heads as projections give them, and no Transpose is left."""
import numpy as np
import onnx
import onnx.parser
import pytest

from conftest import run
from optimize_test import feeds, operators

HEADS, WIDTH = 4, 8
SIZES = ({"n": 2, "m": 5, "k": 3, "p": 4}, {"n": 1, "m": 1, "k": 7, "p": 9}, {"n": 3, "m": 6, "k": 6, "p": 0})


def apart(name, heads=HEADS, width=WIDTH):
    return f"i{name} = Constant<value_ints=[0,0,{heads},{width}]>() r{name} = Reshape({name}, i{name}) t{name} = Transpose<perm=[0,2,1,3]>(r{name}) "


def together(name, heads=HEADS, width=WIDTH):
    return f"u = Transpose<perm=[0,2,1,3]>({name}) iu = Constant<value_ints=[0,0,{heads * width}]>() y = Reshape(u, iu)"


Q, K, V = "float[n,m,32] q", "float[n,k,32] e", "float[n,k,32] v"
PAST = "float[n,4,p,8] pk, float[n,4,p,8] pv"
ROTARY = "float[64,4] c, float[64,4] d, int64[n,m] at"
SCORES = "ec = Transpose<perm=[0,1,3,2]>(te) s = MatMul(tq, ec) f = Constant<value_float=0.35355339>() g = Mul(s, f) w = Softmax<axis=-1>(g) a = MatMul(w, tv) "

# name: (inputs, body, further outputs, whether the heads stay joined)
CASES = {
    "as it is": (f"{Q}, {K}, {V}", apart("q") + apart("e") + apart("v") + "a = Attention(tq, te, tv) " + together("a"), "", True),
    "causal": (f"{Q}, {K}, {V}", apart("q") + apart("e") + apart("v") + "a = Attention<is_causal=1, scale=0.25>(tq, te, tv) " + together("a"), "", True),
    "a mask for each head": (f"{Q}, {K}, {V}, float[n,4,m,k] b", apart("q") + apart("e") + apart("v") + "a = Attention(tq, te, tv, b) " + together("a"), "", True),
    "a mask of two axes and a softcap": (f"{Q}, {K}, {V}, float[m,k] b", apart("q") + apart("e") + apart("v") + "a = Attention<softcap=20.0>(tq, te, tv, b) " + together("a"), "", True),
    "shared heads": (f"{Q}, float[n,k,16] e, float[n,k,16] v", apart("q") + apart("e", 2) + apart("v", 2) + "a = Attention(tq, te, tv) " + together("a"), "", True),
    "values of another width": (f"{Q}, {K}, float[n,k,12] v", apart("q") + apart("e") + apart("v", 4, 3) + "a = Attention(tq, te, tv) " + together("a", 4, 3), "", True),
    "a cache": (f"{Q}, float[n,m,32] e, float[n,m,32] v, {PAST}", apart("q") + apart("e") + apart("v") + "a, ok, ov = Attention<is_causal=1>(tq, te, tv, '', pk, pv) ".replace("''", "")
                + together("a"), ", float[n,4,r,8] ok, float[n,4,r,8] ov", True),
    "turned by angles": (f"{Q}, float[n,m,32] e, float[n,m,32] v, {ROTARY}", apart("q") + apart("e") + apart("v") + "oq = RotaryEmbedding(tq, c, d, at) oe = RotaryEmbedding<interleaved=1>(te, c, d, at) "
                         "a = Attention(oq, oe, tv) " + together("a"), "", True),
    "a norm of each head": (f"{Q}, {K}, {V}, float[8] g", apart("q") + apart("e") + apart("v") + "l = RMSNormalization<axis=-1>(rq, g) tl = Transpose<perm=[0,2,1,3]>(l) "
                            "a = Attention(tl, te, tv) " + together("a"), "", True),
    "as arithmetic": (f"{Q}, {K}, {V}", apart("q") + apart("e") + apart("v") + SCORES + together("a"), "", True),
    "a result with heads apart": (f"{Q}, {K}, {V}", apart("q") + apart("e") + apart("v") + "a = Attention(tq, te, tv) y = Neg(a)", "", False),
    "keys that stand with heads apart": (f"{Q}, float[n,4,k,8] te, {V}", apart("q") + apart("v") + "a = Attention(tq, te, tv) " + together("a"), "", False),
    "another turn of the result": (f"{Q}, {K}, {V}", apart("q") + apart("e") + apart("v") + "a = Attention(tq, te, tv) y = Transpose<perm=[0,3,2,1]>(a)", "", False),
}


def model_of(name, opset):
    inputs, body, more, _ = CASES[name]
    model = onnx.parser.parse_model(f'<ir_version: 11, opset_import: ["" : {opset}]> g ({inputs}) => (float[r_] y{more}) {{ {body} }}')
    model.graph.output[0].type.tensor_type.ClearField("shape")
    return model


@pytest.mark.parametrize(("opset", "target"), [(23, "portable"), (24, "portable"), (23, "ort")])
@pytest.mark.parametrize("name", CASES)
def test_heads(thaw, save, tmp_path, name, opset, target):
    model = model_of(name, opset)
    path, out, again = save(model), tmp_path / "out.onnx", tmp_path / "again.onnx"
    thaw("optimize", path, "-o", out, "--target", target, code=0)
    left = operators(out).split()
    if name == "as arithmetic" and target == "ort":
        assert "MultiHeadAttention" in left
    else:
        (node,) = [node for node in onnx.load(out).graph.node if node.op_type == "Attention"]
        is_joined = {"q_num_heads", "kv_num_heads"} <= {attribute.name for attribute in node.attribute}
        assert is_joined == CASES[name][3]
        assert ("Transpose" not in left) == CASES[name][3]
    assert [i.type for i in onnx.load(out).graph.input] == [i.type for i in model.graph.input]
    for sizes in SIZES:
        fed = feeds(model, sizes, np.random.default_rng(sizes["n"]), lambda rng, shape: rng.integers(0, 60, shape))
        for before, after in zip(run(path, fed), run(out, fed), strict=True):
            np.testing.assert_allclose(before, after, rtol=1e-5, atol=1e-6)
    assert thaw.json("optimize", out, "-o", again, "--target", target, code=0)["changed"] == []
