"""thaw optimize --target ort: heads that share keys become GroupQueryAttention where each query sees the keys up to its own, no past is
joined, and there is no size 0; where a mask may hide all of a row, or shows a later key, the kernel would give other numbers, and it stays
MultiHeadAttention."""
import numpy as np
import onnx
import pytest

from conftest import session
from optimize_cache_test import FEW, GROUPS, OUT, REPEATED, L, attend
from optimize_test import model_of, typed

SIZES = [{"b": b, "s": s, "s + 1": s + 1} for b, s in ((1, 1), (2, 5), (3, 7), (1, 11), (5, 13))]
IN = "float[b,s,32] q, float[b,s,16] k, float[b,s,16] v"
MORE, FIXED = IN.replace("[b,s", "[1,r") + ", float[s] z", IN.replace("[b,s", "[2,7")  # r: one more than any size
PLAIN = GROUPS[:GROUPS.index("ak =")] + "ak = Identity(kh) av = Identity(vh) " + REPEATED
POSITIONS = (f"u0 = {L('0')} u1 = {L('1')} sq = Shape<start=1, end=2>(q) n0 = Constant<value_int=0>() n1 = Constant<value_int=1>() size = Squeeze(sq, u0) "
             "pos = Range(n0, size, n1) row = Unsqueeze(pos, u1) column = Unsqueeze(pos, u0) two = Concat<axis=0>(sq, sq) ")
NUMBERS = "zero = Constant<value_float=0.0>() low = Constant<value_float={}>() ".format
LOW = NUMBERS("-3.4e38")
ONES = "ones = ConstantOfShape<value = int64[1] {1}>(two) "


def masked(mask, low=LOW, tail="m = Add(n, a)"):
    return POSITIONS + low + mask + PLAIN + attend("zk", "zv", tail)


def kept(condition, **how):
    return masked(condition + " a = Where(c2, zero, low) ", **how)


# name: (body, whether the kernel needs the mask too)
CAUSAL = {
    "keys up to the query": (kept("c2 = LessOrEqual(column, row)"), False),
    "not a later key": (kept("c1 = Greater(column, row) c2 = Not(c1)"), False),
    "queries from the key on": (kept("c2 = GreaterOrEqual(row, column)"), False),
    "keys below the next position": (kept("nx = Add(row, n1) c2 = Less(column, nx)"), False),
    "four axes": (kept("c1 = LessOrEqual(column, row) u01 = Constant<value_ints=[0,1]>() c2 = Unsqueeze(c1, u01)"), False),
    "for each sample": (kept("c1 = LessOrEqual(column, row) bq = Shape<start=0, end=1>(q) all = Concat<axis=0>(bq, u1, sq, sq) c2 = Expand(c1, all)"), False),
    "a triangle of ones": (kept(ONES + "t = Trilu<upper=0>(ones) c2 = Cast<to=9>(t)"), False),
    "a triangle of low numbers": (masked("full = ConstantOfShape<value = float[1] {-1e9}>(two) a = Trilu<upper=1>(full, n1) "), False),
    "a triangle times a condition": (masked("full = ConstantOfShape<value = float[1] {-1e9}>(two) t = Trilu<upper=1>(full, n1) later = Greater(column, row) f = Cast<to=1>(later) a = Mul(t, f) "), False),
    "chosen scores": (masked("keep = LessOrEqual(column, row) ", tail="m = Where(keep, n, low)"), False),
    "minus infinity": (kept("c2 = LessOrEqual(column, row)", low=NUMBERS("-1.0").replace("low", "one") + "low = Div(one, zero) "), False),
    "a window": (kept("far = Constant<value_int=3>() old = Sub(row, far) c1 = LessOrEqual(column, row) c0 = Greater(column, old) c2 = And(c0, c1)"), True),
    "two masks": (kept("far = Constant<value_int=2>() old = Sub(row, far) c2 = LessOrEqual(column, row) c0 = Less(column, old) a2 = Where(c0, low, zero)", tail="i1 = Add(n, a) m = Add(i1, a2)"), True),
}
OTHERS = {
    "no mask": (IN, PLAIN + attend("zk", "zv")),
    "a later key": (IN, kept("nx = Add(row, n1) c2 = LessOrEqual(column, nx)")),
    "not its own key": (IN, kept("c2 = Less(column, row)", low=NUMBERS("-1e9"))),
    "keys from the query on": (IN, kept("c2 = GreaterOrEqual(column, row)")),
    "a window without an end": (IN, kept("far = Constant<value_int=3>() old = Sub(row, far) c2 = Greater(column, old)")),
    "a row that may see nothing": (IN + ", bool[b,s] keep", kept("c1 = LessOrEqual(column, row) u12 = Constant<value_ints=[1,2]>() k4 = Unsqueeze(keep, u12) c2 = And(c1, k4)", low=NUMBERS("-1e9"))),
    "a mask that still counts": (IN, kept("c2 = LessOrEqual(column, row)", low=NUMBERS("-5.0"))),
    "a mask that is an input": (IN + ", float[s,s] a", PLAIN + attend("zk", "zv", "m = Add(n, a)")),
    "positions of another input": (IN + ", float[t,4] z", kept("c2 = LessOrEqual(column, row)").replace("Shape<start=1, end=2>(q)", "Shape<start=0, end=1>(z)")),
    "positions two apart": (IN, kept("twice = Add(row, row) c2 = LessOrEqual(column, twice)")),
    "as many heads of keys": ("float[b,s,32] q, float[b,s,32] k, float[b,s,32] v",
                              POSITIONS + LOW + "c2 = LessOrEqual(column, row) a = Where(c2, zero, low) " + f"h = {L('0,0,4,8')} " + "".join(
                                  f"{x}r = Reshape({x}, h) {x}h = Transpose<perm=[0,2,1,3]>({x}r) " for x in "qkv") + attend("kh", "vh", "m = Add(n, a)")),
}


def agree(model, out):
    rng = np.random.default_rng(5)
    for sizes in SIZES:
        sizes = {**sizes, "t": sizes["s + 1"]}
        feed = {}
        for value in onnx.load(model).graph.input:
            shape = [sizes[d.dim_param] if d.dim_param else d.dim_value for d in value.type.tensor_type.shape.dim]
            drawn = rng.standard_normal(shape)
            feed[value.name] = drawn > 0.3 if value.type.tensor_type.elem_type == onnx.TensorProto.BOOL else drawn.astype(np.float32)
        for wanted, got in zip(session(model).run(None, feed), session(out).run(None, feed), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


def optimized(thaw, save, tmp_path, inputs, body):
    made, out = typed(model_of(17, inputs, "y", body)), tmp_path / "out.onnx"
    for value in made.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param == "r":
                dim.dim_param = "s + 1"
    model = save(made)
    thaw("optimize", model, "-o", out, "--target", "ort", code=0)
    agree(model, out)
    assert thaw.json("optimize", out, "--target", "ort", "--dry-run", code=0)["changed"] == []
    return [n for n in onnx.load(out).graph.node if "Attention" in n.op_type], onnx.load(out)


@pytest.mark.parametrize("inputs", [MORE, FIXED], ids=["any size", "fixed"])
@pytest.mark.parametrize("case", CAUSAL)
def test_heads_that_share_keys_up_to_the_query(thaw, save, tmp_path, case, inputs):
    body, has_mask = CAUSAL[case]
    (node,), model = optimized(thaw, save, tmp_path, inputs, body)
    assert node.op_type == "GroupQueryAttention"
    assert (len(node.input) > 7) == has_mask
    operators = {n.op_type for n in model.graph.node}
    assert not operators & {"Softmax", "MatMul", "Tile"} and (has_mask or not operators & {"Where", "Range", "Trilu"})
    given = {d.dim_param for i in model.graph.input for d in i.type.tensor_type.shape.dim if d.dim_param}
    assert given == ({"s", "s + 1"} if inputs == MORE else set()), "the sizes keep their names"


@pytest.mark.parametrize("inputs", [IN, IN.replace("[b,s", "[b,7"), IN.replace("[b,s", "[2,s")])
def test_a_size_that_may_be_0(thaw, save, tmp_path, inputs):
    """The kernel refuses no tokens, and no samples end its process."""
    found, _ = optimized(thaw, save, tmp_path, inputs, CAUSAL["keys up to the query"][0])
    assert [node.op_type for node in found] == ["MultiHeadAttention"]


@pytest.mark.parametrize("case", OTHERS)
def test_what_the_kernel_would_compute_otherwise(thaw, save, tmp_path, case):
    inputs, body = OTHERS[case]
    found, _ = optimized(thaw, save, tmp_path, inputs.replace("[b,s", "[1,r").replace("[s,s", "[r,r") + ", float[s] z1", body)
    assert "GroupQueryAttention" not in [node.op_type for node in found]


def test_a_past_stays_with_the_other_kernel(thaw, save, tmp_path):
    """It is faster there: docs/internals/how-optimize-works.md."""
    body = GROUPS + "present_k = Identity(ak) present_v = Identity(av) " + REPEATED + attend("zk", "zv")
    one = FEW.replace("[b,s,", "[1,1,").replace("[b,2,", "[1,2,")
    model, out = save(typed(model_of(17, one, OUT, body))), tmp_path / "out.onnx"
    thaw("optimize", model, "-o", out, "--target", "ort", code=0)
    assert [n.op_type for n in onnx.load(out).graph.node if "Attention" in n.op_type] == ["MultiHeadAttention"]
