"""What a node needs to run is known of its output behind it: a size that it gives is neither -1 nor a copy in a Reshape's target."""
import numpy as np
import onnx.parser
import pytest

from conftest import session

# torch's GroupNorm behind the convolutions of a recording, which shrink it without padding.
NORMED = """t = Constant<value_ints=[0,4,-1]>() r = Reshape(c, t) a = Constant<value_floats=[1.0,1.0,1.0,1.0]>() z = Constant<value_floats=[0.0,0.0,0.0,0.0]>()
  n = InstanceNormalization(r, a, z) s = Shape(c) y = Reshape(n, s)"""
CONV = "w{0} = Constant<value = float[16,{1},{2}] {{{3}}}>() "


def weight(name, channels, kernel):
    rng = np.random.default_rng(kernel)
    return CONV.format(name, channels, kernel, ",".join(f"{x:.4f}" for x in rng.standard_normal(16 * channels * kernel)))


def model_of(body, inputs="float[b,1,s] x"):
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g ({inputs}) => (float[b,q,p] y) {{ {body} }}')


ONE = weight(1, 1, 10) + "c = Conv<strides=[5]>(x, w1) " + NORMED
THREE = (weight(1, 1, 10) + weight(2, 16, 3) + weight(3, 16, 2)
         + "d = Conv<strides=[5]>(x, w1) e = Conv<strides=[2]>(d, w2) c = Conv<strides=[2]>(e, w3) " + NORMED)


@pytest.mark.parametrize(("body", "length"), [(ONE, "floor(s/5) - 1"), (THREE, None)])
def test_sizes_behind_convolutions_are_known(thaw, save, tmp_path, body, length):
    path, out = save(model_of(body)), tmp_path / "out.onnx"
    seen = thaw.json("inspect", path)
    dims = seen["outputs"][0]["dims"]
    assert dims[:2] == ["b", 16] and "?" not in str(dims[2]) and "max" not in str(dims[2])
    assert length is None or dims[2] == length
    thaw("optimize", path, "-o", out, code=0)
    for b, s in ((1, 90), (3, 131)):
        feed = {"x": np.random.default_rng(s).standard_normal((b, 1, s)).astype(np.float32)}
        np.testing.assert_allclose(session(out).run(None, feed)[0], session(path).run(None, feed)[0], rtol=1e-4, atol=1e-4)


def test_what_no_node_implies_may_be_minus_one(thaw, save):
    """The same number, but reckoned: where s is short it is -1, and the rest goes there."""
    body = ("h = Shape(x) i = Constant<value_ints=[2]>() l = Gather(h, i) f = Constant<value_ints=[5]>() o = Constant<value_ints=[1]>()"
            " v = Div(l, f) k = Sub(v, o) z = Constant<value_ints=[0]>() m = Constant<value_ints=[1]>() t = Concat<axis=0>(z, m, k) y = Reshape(x, t)")
    dims = thaw.json("inspect", save(model_of(body)))["outputs"][0]["dims"]
    assert dims[2] != "floor(s/5) - 1"
