"""thaw convert --to f16: what may leave float16's range stays in float32 until something brings it back, whatever comes in."""
import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from conftest import run

RNG = np.random.default_rng(31)
WIDTH = 64


def random(*shape):
    return (RNG.standard_normal(shape) / np.sqrt(shape[0] if len(shape) > 1 else 1)).astype(np.float32)


CONSTANTS = {
    "two": np.float32(2), "three": np.float32(3), "minus_half": np.float32(-0.5), "half": np.float32(0.5), "one": np.float32(1),
    "eps": np.float32(1e-6), "larger_eps": np.float32(1e-3), "c": np.float32(0.044715), "large": np.float32(300), "small": np.float32(1 / 300),
    "axis": np.array([-1], np.int64), "w": random(WIDTH, WIDTH), "w2": random(WIDTH, WIDTH), "gamma": random(WIDTH) + 1, "beta": random(WIDTH),
    "bands": np.abs(random(40, WIDTH)), "limit": np.float32(1e-9), "shape": np.array([-1, WIDTH], np.int64), "wide_shape": np.array([-1, 1, WIDTH], np.int64),
}


def spelled(body, opset, result="y"):
    """A model over x, [n, 64], with the constants that its body names. ReduceMean has its axes as opsets before 18 write them."""
    made = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : {opset}]>\ng (float[n, {WIDTH}] x) => (float[n, m] {result}) {{ {body} }}')
    if opset < 13:
        body_axes(made)
    used = {name for node in made.graph.node for name in node.input}
    made.graph.initializer.extend(numpy_helper.from_array(np.asarray(a), name) for name, a in CONSTANTS.items() if name in used)
    return made


def body_axes(made):
    for node in made.graph.node:
        if node.op_type == "ReduceSum" and len(node.input) == 2:
            del node.input[1]
            node.attribute.append(onnx.helper.make_attribute("axes", [-1]))


SQUARES = "q = Mul(a, a) m = ReduceMean<axes = [-1]>(q) e = Add(m, eps) "
CENTRED = "b = ReduceMean<axes = [-1]>(x) a = Sub(x, b) q = Pow(a, two) m = ReduceMean<axes = [-1]>(q) e = Add(m, eps) s = Sqrt(e) "
END = " g = Mul(d, gamma) y = MatMul(g, w)"
# Whose results are right whatever comes in: by name, what is computed of x.
FORMS = {
    "rms: a quotient": "a = Identity(x) " + SQUARES + "s = Sqrt(e) d = Div(a, s)" + END,
    "rms: a reciprocal": "a = MatMul(x, w2) " + SQUARES + "s = Sqrt(e) r = Reciprocal(s) d = Mul(a, r)" + END,
    "rms: one over": "a = MatMul(x, w2) " + SQUARES + "s = Sqrt(e) r = Div(one, s) d = Mul(r, a)" + END,
    "rms: a power": "a = MatMul(x, w2) " + SQUARES + "s = Pow(e, minus_half) d = Mul(a, s)" + END,
    "rms: epsilon outside": "a = MatMul(x, w2) q = Pow(a, two) m = ReduceMean<axes = [-1]>(q) s = Sqrt(m) e = Add(s, eps) d = Div(a, e)" + END,
    "rms: moved before the root": "a = MatMul(x, w2) q = Mul(a, a) m = ReduceMean<axes = [-1]>(q) u = Reshape(m, wide1) v = Reshape(u, wide0) e = Add(v, eps) s = Sqrt(e) d = Div(a, s)" + END,
    "layer norm": CENTRED + "d = Div(a, s) g = Mul(d, gamma) h = Add(g, beta) y = MatMul(h, w)",
    "layer norm: of two means": """q = Mul(x, x) m = ReduceMean<axes = [-1]>(q) b = ReduceMean<axes = [-1]>(x) c2 = Mul(b, b) v = Sub(m, c2)
        e = Add(v, eps) s = Sqrt(e) a = Sub(x, b) d = Div(a, s)""" + END,
    "length": "a = MatMul(x, w2) q = Mul(a, a) t = ReduceSum<keepdims = 1>(q, axis) s = Sqrt(t) h = Max(s, limit) d = Div(a, h)" + END,
    "length: one node": "a = MatMul(x, w2) s = ReduceL2<axes = [-1]>(a) h = Clip(s, limit) d = Div(a, h)" + END,
    "sum of sizes": "a = MatMul(x, w2) b = Abs(a) t = ReduceSum<keepdims = 1>(b, axis) d = Div(a, t)" + END,
    "bands of a spectrum": "a = MatMul(x, w2) r = Mul(x, x) i = Mul(a, a) p = Add(r, i) t = Transpose(p) k = MatMul(bands, t) l = Add(k, larger_eps) y = Log(l)",
    "spectrum": "a = MatMul(x, w2) r = Mul(x, x) i = Mul(a, a) p = Add(r, i) d = Sqrt(p)" + END,
    "log of a spectrum": "a = MatMul(x, w2) r = Mul(x, x) i = Mul(a, a) p = Add(r, i) l = Add(p, larger_eps) d = Log(l)" + END,
    "cube in a tanh": "a = MatMul(x, w2) p = Pow(a, three) k = Mul(p, c) s = Add(a, k) d = Tanh(s)" + END,
    "a factor and its inverse": "h = Mul(x, large) d = Mul(h, small)" + END,
}
# The same, of exponentials: they may have 15, more and float32 has none.
EXPONENTIALS = {
    "softmax": "a = MatMul(x, w2) e = Exp(a) t = ReduceSum<keepdims = 1>(e, axis) d = Div(e, t)" + END,
    "softmax: a reciprocal": "a = MatMul(x, w2) e = Exp(a) t = ReduceSum<keepdims = 1>(e, axis) r = Reciprocal(t) d = Mul(e, r)" + END,
    "softmax: the maximum off": "a = MatMul(x, w2) t = ReduceMax<axes = [-1]>(a) b = Sub(a, t) e = Exp(b) u = ReduceSum<keepdims = 1>(e, axis) d = Div(e, u)" + END,
    "sigmoid": "a = MatMul(x, w2) b = Neg(a) e = Exp(b) f = Add(e, one) r = Reciprocal(f) d = Mul(a, r)" + END,
    "sigmoid: of itself": "a = MatMul(x, w2) e = Exp(a) f = Add(e, one) d = Div(e, f)" + END,
    "tanh": "a = MatMul(x, w2) e = Sinh(a) f = Cosh(a) d = Div(e, f)" + END,
    "softplus": "a = MatMul(x, w2) e = Exp(a) f = Add(e, one) l = Log(f) t = Tanh(l) d = Mul(a, t)" + END,
    "log": "a = MatMul(x, w2) e = Exp(a) d = Log(e)" + END,
    "log of a softmax": "a = MatMul(x, w2) p = Softmax(a) d = Log(p)" + END,
}
CONSTANTS |= {"wide1": np.array([-1, 1, 1], np.int64), "wide0": np.array([-1, 1], np.int64)}


def decibels(wanted, got):
    wanted, got = wanted.astype(np.float64), got.astype(np.float64)
    with np.errstate(all="ignore"):
        return 10 * np.log10((wanted**2).sum() / ((wanted - got)**2).sum())


def convert(thaw, path, *args):
    out = path.with_name(f"{path.stem}_f16.onnx")
    return out, thaw.json("convert", path, "-o", out, "--to", "f16", *args, code=0)


# Their kernels sum in float32, as ONNX says; its own evaluator does not.
NORMS = {"LayerNormalization", "SimplifiedLayerNormalization", "LpNormalization"}


def in_true_float16(path, feeds):
    made = onnx.load(path)
    if NORMS & {n.op_type for n in made.graph.node}:
        return run(path, feeds)[0]
    with np.errstate(all="ignore"):
        return ReferenceEvaluator(made).run(None, feeds)[0]


def assert_holds(thaw, path, scales, *args):
    out, report = convert(thaw, path, *args)
    assert not [w for w in report["warnings"] if "overflow float16" in w], report["warnings"]
    for scale in scales:
        feeds = {"x": (np.random.default_rng(5).standard_normal((7, WIDTH)) * scale).astype(np.float32)}
        assert decibels(run(path, feeds)[0], in_true_float16(out, feeds)) > 40, (scale, args)
    return out, report


@pytest.mark.parametrize("options", [(), ("--no-optimize",), ("--target", "ort"), ("--target", "directml")], ids=lambda o: "".join(o[-1:]) or "portable")
@pytest.mark.parametrize("name", FORMS)
def test_what_is_brought_back_is_right_whatever_comes_in(thaw, save, name, options):
    out, _ = assert_holds(thaw, save(spelled(FORMS[name], 17), "form"), (1, 100, 600), *options)
    weights = {i.name: i.data_type for i in onnx.load(out).graph.initializer if i.dims == [WIDTH, WIDTH]}
    assert set(weights.values()) == {onnx.TensorProto.FLOAT16}, weights


@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize("name", FORMS)
def test_older_opsets_too(thaw, save, name, opset):
    assert_holds(thaw, save(spelled(FORMS[name], opset), "form"), (1, 600), "--no-optimize")


@pytest.mark.parametrize("options", [(), ("--no-optimize",)], ids=["", "plain"])
@pytest.mark.parametrize("name", EXPONENTIALS)
def test_exponentials_that_are_brought_back(thaw, save, name, options):
    assert_holds(thaw, save(spelled(EXPONENTIALS[name], 17), "form"), (1, 15), *options)


# What is as large in the result itself, or in what a layer reads.
UNHELD = {
    "a square into a layer": "a = MatMul(x, w2) q = Mul(a, a) y = MatMul(q, w)",
    "an exponential into a layer": "a = MatMul(x, w2) e = Exp(a) y = MatMul(e, w)",
    "what vanishes": "a = Mul(x, tiny) y = MatMul(a, w)",
}
CONSTANTS["tiny"] = np.float32(1e-6)


@pytest.mark.parametrize("name", UNHELD)
def test_what_nothing_brings_back_is_said(thaw, save, name):
    path = save(spelled(UNHELD[name], 17), "unheld")
    _, report = convert(thaw, path, "--no-optimize", "--no-check")
    assert [w for w in report["warnings"] if "overflow float16" in w and "--data" in w]


def test_nothing_is_said_of_layers_and_gates(thaw, save):
    path = save(spelled("""n = LayerNormalization(x, gamma, beta) a = MatMul(n, w) s = Sigmoid(a) g = Mul(a, s) b = MatMul(n, w2) p = Mul(g, b)
        o = MatMul(p, w) y = Add(o, x)""", 17), "gates")
    out, report = convert(thaw, path)
    assert not report["warnings"]
    assert sum(n.op_type == "Cast" for n in onnx.load(out).graph.node) == 2


def test_what_samples_show_decides_instead(thaw, save, tmp_path):
    path = save(spelled(FORMS["rms: epsilon outside"], 17), "shown")
    np.savez(tmp_path / "calm.npz", x=random(3, WIDTH))
    _, held = convert(thaw, path, "--no-optimize")
    _, report = convert(thaw, path, "--no-optimize", "--data", tmp_path / "calm.npz")
    assert any("which may overflow float16" in n["message"] for n in held["not_converted"])
    assert not any("may overflow float16" in n["message"] for n in report["not_converted"])


# 1e9 is infinity where it masks, and a number elsewhere.
NUMBERS = {
    "a padded result": ("h = MatMul(x, w) p = Pad(h, pads, low) y = Identity(p)", True),
    "a product": ("h = MatMul(x, w) y = Mul(h, high)", True),
    "a mask": ("z = Greater(x, beta) h = MatMul(x, w) m = Where(z, h, low) y = Softmax(m)", False),
    "a mask that is added": ("z = Greater(x, beta) k = Cast<to = 1>(z) i = Sub(one, k) n = Mul(i, low) h = MatMul(x, w) m = Add(h, n) y = Softmax(m)", False),
    "padding under a maximum": ("p = Pad(x, pads, low) y = ReduceMax<axes = [-1]>(p)", False),
}
CONSTANTS |= {"low": np.float32(-1e9), "high": np.float32(3e9), "pads": np.array([0, 1, 0, 1], np.int64)}


@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_no_mask_is_a_number(thaw, save, name):
    body, is_number = NUMBERS[name]
    path = save(spelled(body, 17), "numbers")
    out, report = convert(thaw, path, "--no-optimize")
    assert any("exceed 65504" in n["message"] for n in report["not_converted"]) == is_number
    feeds = {"x": random(5, WIDTH)}
    assert decibels(run(path, feeds)[0], in_true_float16(out, feeds)) > 50
