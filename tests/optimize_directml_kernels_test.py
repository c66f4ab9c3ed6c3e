"""thaw optimize --target directml: operators get the form that has a kernel, in the opset that has most, and no model gets worse."""
import numpy as np
import onnx
import onnx.parser
import pytest

from conftest import run
from optimize_test import feeds, operators

ONES = "s = Shape(x) o = ConstantOfShape<value = float[1] {2.5}>(s) y = Concat<axis=0>(x, o)"
GRID = "y = GridSample<mode=\"linear\">(x, w)"
RANGE = "z = Constant<value_int=0>() u = Constant<value_int=1>() "
LENGTH = "sx = Shape<start=1,end=2>(x) lx = Squeeze(sx) "

# name: (opset, inputs, body, arguments, opset afterwards, operators that must be there, that must not)
FORMS = {
    "a constant of a shape, 20": (20, "float[n,m] x", ONES, (), 19, {"ConstantOfShape"}, {"Expand"}),
    "a constant of a shape, 23": (23, "float[n,m] x", ONES, (), 19, {"ConstantOfShape"}, {"Expand"}),
    "a constant of a shape, its opset asked for": (23, "float[n,m] x", ONES, ("--opset", "20"), 20, {"Expand"}, {"ConstantOfShape"}),
    "zeros of a shape, its opset asked for": (20, "float[n,m] x", ONES.replace("<value = float[1] {2.5}>", ""), ("--opset", "20"), 20, {"Expand"}, {"ConstantOfShape"}),
    "what it has kernels for": (20, "float[n,m] x", "i = IsNaN(x) y = Where(i, x, x)", (), 20, set(), set()),
    "a gelu": (20, "float[n,m] x", "y = Gelu(x)", (), 20, {"Erf"}, {"Gelu"}),
    "a gelu, its opset asked for": (20, "float[n,m] x", 'y = Gelu<approximate="tanh">(x)', ("--opset", "20"), 20, {"Tanh"}, {"Gelu"}),
    "a hard swish": (18, "float[n,m] x", "y = HardSwish(x)", (), 18, {"HardSigmoid"}, {"HardSwish"}),
    "a hard swish of opset 22": (22, "float[n,m] x", "y = HardSwish(x)", (), 20, {"HardSigmoid"}, {"HardSwish"}),
    "a mish": (18, "float[n,m] x", "y = Mish(x)", (), 18, {"Softplus", "Tanh"}, {"Mish"}),
    "an image that a grid looks at": (20, "float[n,3,h,w_] x, float[n,4,5,2] w", GRID, (), 19, {"GridSample"}, set()),
    "positions along floats": (17, "float[n,m,8] x", LENGTH + RANGE + "p = Range(z, lx, u) c = Cast<to=1>(p) g = Unsqueeze(c, f) h = Unsqueeze(g, e) y = Add(x, h)", (), 17,
                               {"CumSum", "Slice"}, {"Range", "Shape"}),
    "positions behind a past": (17, "int64[n,m] x, float[n,2,p,8] w", LENGTH + RANGE + "sp = Shape<start=2,end=3>(w) lp = Squeeze(sp) all = Add(lp, lx) q = Range(lp, all, u) r = Add(x, q)"
                                " y = Cast<to=1>(r)", (), 17, {"CumSum"}, {"Range", "Shape"}),
    "positions of a past and what is new": (17, "float[n,m] x, float[n,2,p,8] w", LENGTH + RANGE + "sp = Shape<start=2,end=3>(w) lp = Squeeze(sp) all = Add(lp, lx) q = Range(z, all, u)"
                                            " y = Cast<to=1>(q)", (), 17, {"CumSum", "Concat"}, {"Range", "Shape"}),
    "positions from a number on": (17, "int32[n,m] x", LENGTH + "k = Constant<value_int=2>() u = Constant<value_int=1>() l2 = Add(lx, k) q = Range(k, l2, u) y = Cast<to=1>(q)", (), 17,
                                   {"CumSum"}, {"Range", "Shape"}),
    "causal attention": (23, "float[n,4,m,8] x, float[n,4,k,8] w, float[n,4,k,8] v", "y = Attention<is_causal=1>(x, w, v)", (), 20, {"CumSum", "Softmax"}, {"Range", "Shape", "Attention"}),
    "causal attention behind a past": (23, "float[n,m,32] x, float[n,m,32] w, float[n,m,32] v, float[n,4,p,8] pk, float[n,4,p,8] pv",
                                       "y, ok, ov = Attention<is_causal=1, q_num_heads=4, kv_num_heads=4>(x, w, v, , pk, pv)", (), 20, {"CumSum"}, {"Range", "Shape", "Attention"}),
    "every second position stays": (17, "float[n,m] x", LENGTH + "z = Constant<value_int=0>() u = Constant<value_int=2>() q = Range(z, lx, u) y = Cast<to=1>(q)", (), 17, {"Range"}, {"CumSum"}),
    "a weight in blocks": (21, "float[n,m,32] x", "b = DequantizeLinear<axis=0,block_size=16>(weight, scale, point) y = MatMul(x, b)", (), 20, {"MatMul"}, {"DequantizeLinear"}),
}
SIZES = ({"n": 2, "m": 5, "k": 3, "p": 4, "h": 6, "w_": 7}, {"n": 1, "m": 11, "k": 7, "p": 1, "h": 3, "w_": 4}, {"n": 3, "m": 1, "k": 2, "p": 0, "h": 5, "w_": 2})


def model_of(opset, inputs, body):
    more = ", float[n,4,r,8] ok, float[n,4,r,8] ov" if "ok, ov" in body else ""
    model = onnx.parser.parse_model(f'<ir_version: {10 if opset > 20 else 9}, opset_import: ["" : {opset}]> g ({inputs}) => (float[r_] y{more}) {{ {body} }}')
    model.graph.output[0].type.tensor_type.ClearField("shape")
    rng = np.random.default_rng(0)
    constants = {"f": np.array([0]), "e": np.array([2])}
    if "weight" in body:
        constants |= {"weight": rng.integers(0, 255, (32, 16)).astype(np.uint8), "scale": rng.random((2, 16)).astype(np.float32) / 10,
                      "point": np.full((2, 16), 128, np.uint8)}
    model.graph.initializer.extend(onnx.numpy_helper.from_array(value, name) for name, value in constants.items())
    return model


def findings(thaw, path):
    return [f for f in thaw.json("check", path, "--target", "directml")["findings"] if "THAW030" <= f["code"] <= "THAW035"]


@pytest.mark.parametrize("name", FORMS)
def test_forms(thaw, save, tmp_path, name):
    opset, inputs, body, arguments, opset_after, there, gone = FORMS[name]
    model = model_of(opset, inputs, body)
    path, out, again = save(model), tmp_path / "out.onnx", tmp_path / "again.onnx"
    thaw("optimize", path, "-o", out, "--target", "directml", *arguments, code={0, 1})
    left = set(operators(out).split())
    assert there <= left and not gone & left, left
    assert [i.version for i in onnx.load(out).opset_import if not i.domain] == [opset_after]
    assert not [f for f in findings(thaw, out) if f["code"] != "THAW034"]
    share = 1e-2 if "blocks" in name else 1e-5  # ONNX Runtime takes 8 bits of what is multiplied with a weight in blocks
    for sizes in SIZES:
        fed = feeds(model, sizes, np.random.default_rng(sizes["n"]), lambda rng, shape: rng.integers(1, 9, shape))
        for before, after in zip(run(path, fed), run(out, fed), strict=True):
            np.testing.assert_allclose(before, after, rtol=0, atol=share * max(1, np.abs(before).max(initial=0)))
    assert thaw.json("optimize", out, "-o", again, "--target", "directml", *arguments, code={0, 1})["changed"] == []


@pytest.mark.parametrize("kind", ["four bits", "a last block that is cut"])
def test_blocks_that_have_no_older_form(thaw, save, tmp_path, kind):
    model = model_of(21, "float[n,m,32] x", "b = DequantizeLinear<axis=0,block_size=16>(weight, scale, point) y = MatMul(x, b) ")
    if kind == "four bits":
        for name, shape in (("weight", (32, 16)), ("point", (2, 16))):
            (old,) = [value for value in model.graph.initializer if value.name == name]
            old.CopyFrom(onnx.helper.make_tensor(name, onnx.TensorProto.UINT4, shape, np.full(shape, 7).ravel()))
    else:
        model.graph.node[0].attribute[1].i = 24
    path, out = save(model), tmp_path / "out.onnx"
    report = thaw.json("optimize", path, "-o", out, "--target", "directml", "--dry-run", "--no-check", code={0, 1})
    assert "DequantizeLinear" in " ".join(change["message"] for change in report["missed"])


def test_no_model_gets_worse(thaw, save, tmp_path):
    """AffineGrid has no form in opset 19: the model stays in 20, and its constant of a shape is expanded."""
    body = "s = Shape(x) g = AffineGrid(t, s) v = GridSample(x, g) q = Shape(v) o = ConstantOfShape<value = float[1] {1.0}>(q) y = Add(v, o)"
    path, out = save(model_of(20, "float[n,3,h,w_] x, float[n,2,3] t", body)), tmp_path / "out.onnx"
    thaw("optimize", path, "-o", out, "--target", "directml", code={0, 1})
    left = operators(out).split()
    assert "AffineGrid" in left and "ConstantOfShape" not in left
    before = {f["location"]["node"] for f in findings(thaw, path)}
    assert {f["location"]["node"] for f in findings(thaw, out)} < before


def test_volumes_that_a_grid_looks_at(thaw, save, tmp_path):
    """GridSample of opset 16 knows images alone."""
    path, out = save(model_of(20, "float[n,3,h,w_,m] x, float[n,4,5,2,3] w", GRID)), tmp_path / "out.onnx"
    report = thaw.json("optimize", path, "-o", out, "--target", "directml", code={0, 1})
    assert report["changed"] == [] and [f["code"] for f in report["findings"]] == ["THAW030"]
