"""thaw optimize --target directml: an opset and forms that DirectML takes, the same numbers, and what is left is said."""
import numpy as np
import onnx
import onnx.parser
import pytest

from conftest import SOURCE, run
from optimize_test import feeds, operators

# name: (opset, inputs, body, operators that must be there, that must not)
FORMS = {
    "positions of tokens": (17, "int64[n,m] ids", "s = Shape<start=1,end=2>(ids) l = Squeeze(s) z = Constant<value_int=0>()"
                            " o = Constant<value_int=1>() p = Range(z, l, o) q = Unsqueeze(p, f) f2 = Add(ids, q) y = Cast<to=1>(f2)", {"CumSum"}, {"Range"}),
    "positions of one sequence": (17, "int32[m] ids", "s = Shape(ids) l = Squeeze(s) z = Constant<value_int=0>() o = Constant<value_int=1>()"
                                  " p = Range(z, l, o) q = Cast<to=6>(p) a = Add(ids, q) y = Cast<to=1>(a)", {"CumSum"}, {"Range"}),
    "a convolution over one axis": (17, "float[n,4,m] x, float[4,3,5] w, float[3] b",
                                    "y = ConvTranspose<strides=[2],pads=[1,2],output_padding=[1]>(x, w, b)", {"ConvTranspose", "Unsqueeze", "Squeeze"}, set()),
    "attention in an opset without": (23, "float[n,4,m,8] q, float[n,4,k,8] e, float[n,4,k,8] v", "y = Attention(q, e, v)", {"Softmax"}, {"Attention"}),
    "a gelu": (20, "float[n,m] x", "c = Constant<value_float=1.41421356>() o = Constant<value_float=1.0>() h = Constant<value_float=0.5>() d = Div(x, c) e = Erf(d)"
               " a = Add(e, o) b = Mul(x, a) y = Mul(b, h)", {"Erf"}, {"Gelu"}),
    "a hard swish": (17, "float[n,m] x", "t = Constant<value_float=3.0>() z = Constant<value_float=0.0>() s = Constant<value_float=6.0>() a = Add(x, t) c = Clip(a, z, s)"
                     " d = Mul(x, c) y = Div(d, s)", {"Mul"}, {"HardSwish"}),
    "a range of the data stays": (17, "float[n,m] x, int64 count", "z = Constant<value_int=0>() o = Constant<value_int=1>() p = Range(z, count, o)"
                                  " c = Cast<to=1>(p) t = ReduceSum<keepdims=0>(c) y = Add(x, t)", {"Range"}, {"CumSum"}),
}


def model_of(opset, inputs, body):
    model = onnx.parser.parse_model(f'<ir_version: {10 if opset > 20 else 9}, opset_import: ["" : {opset}]> g ({inputs}) => (float[r_] y) {{ {body} }}')
    model.graph.output[0].type.tensor_type.ClearField("shape")
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([0]), "f"))
    return model


@pytest.mark.parametrize("name", FORMS)
def test_forms(thaw, save, tmp_path, name):
    opset, inputs, body, there, gone = FORMS[name]
    model = model_of(opset, inputs, body)
    path, out, again = save(model), tmp_path / "out.onnx", tmp_path / "again.onnx"
    thaw("optimize", path, "-o", out, "--target", "directml", code={0, 1})
    left = set(operators(out).split())
    assert there <= left and not gone & left, left
    assert all(i.version <= 20 for i in onnx.load(out).opset_import if not i.domain)
    for sizes in ({"n": 2, "m": 5, "k": 3}, {"n": 3, "m": 11, "k": 7}):
        fed = feeds(model, sizes, np.random.default_rng(sizes["n"]), lambda rng, shape: rng.integers(1, 9, shape))
        for before, after in zip(run(path, fed), run(out, fed), strict=True):
            np.testing.assert_allclose(before, after, rtol=1e-5, atol=1e-6)
    assert thaw.json("optimize", out, "-o", again, "--target", "directml", code={0, 1})["changed"] == []


def test_what_is_left_is_said(thaw, save, tmp_path):
    text = """<ir_version: 9, opset_import: ["" : 17]> g (float[n,m] x, bool go) => (float[n,m] y) {
      y = If(go) <then_branch = a () => (float[n,m] t) { t = Exp(x) }, else_branch = b () => (float[n,m] e) { e = Softmax(x) }> }"""
    path, out = save(onnx.parser.parse_model(text)), tmp_path / "out.onnx"
    report = thaw.json("optimize", path, "-o", out, "--target", "directml", code={0, 1})
    assert {finding["code"] for finding in report["findings"]} == {"THAW033"}
    text = thaw("optimize", path, "-o", out, "--target", "directml", code=1).stdout
    assert "unsupported by DirectML" in text and "THAW033" in text


@pytest.mark.parametrize("family", ["qwen2", "qwen3_vl"])
def test_a_decoder_that_directml_takes(thaw, tmp_path, family):
    thaw("build", SOURCE / "tests" / "fixtures" / family / "decoder", "-o", tmp_path / "onnx", "--part", "text", "--kv-cache", code=0)
    (path,) = (tmp_path / "onnx").glob("text*.onnx")
    out = tmp_path / "out.onnx"
    text = thaw("optimize", path, "-o", out, "--target", "directml", code={0, 1}).stdout
    assert "Range" not in {node.op_type for node in onnx.load(out, load_external_data=False).graph.node}
    found = thaw.json("check", out, "--target", "directml")["findings"]
    assert ("DirectML supports every node" in text) == (not [f for f in found if "THAW030" <= f["code"] <= "THAW035"])


def branch(name, body):
    return f"{name} = {name[0]} () => (float[n,m] {name[0]}o) {{ {body} }}"


def choice(then, otherwise):
    return f"y = If(go) <{branch('then_branch', then)}, {branch('else_branch', otherwise)}>"


BODY = "s_ = Add(s, x) o = Identity(s_)"
BODIES = {
    "adds": BODY,
    "adds the other way round": BODY.replace("s, x", "x, s"),
    "takes off": BODY.replace("Add", "Sub"),
    "adds twice": "t = Add(s, x) s_ = Add(t, x) o = Identity(s_)",
    "gives what it was": "s_ = Add(s, x) o = Identity(s)",
}


def scanned(body, attributes=""):
    return f"z, y = Scan<num_scan_inputs=1{attributes}, body = f (float[m] s, float[m] x) => (float[m] s_, float[m] o) {{ {BODIES[body]} }}>(c, v)"


ROUNDS = "sv = Shape(v) i0 = Constant<value_int=0>() t = Gather(sv, i0) "
GOES = "yes = Constant<value = bool {1}>() "
LOOP_SUM = (
    ROUNDS
    + GOES
    + "z, y = Loop<body = f (int64 i, bool ci, float[m] s) => (bool co, float[m] s_, float[m] o) "
    "{ co = Identity(ci) x = Gather(v, i) s_ = Add(s, x) o = Identity(s_) }>(t, yes, c)"
)


def looped(body):
    return (
        ROUNDS
        + GOES
        + f"y = Loop<body = f (int64 i, bool ci) => (bool co, float[m] o) {{ co = Identity(ci) x = Gather(v, i) {body} }}>(t, yes)"
    )


# name: (inputs, results, body, whether it goes)
CONTROL = {
    "branches element by element": (
        "float[n,m] x, bool go",
        "float[n,m] y",
        choice("to = Exp(x)", "k = Neg(x) eo = Relu(k)"),
        True,
    ),
    "branches with constants": (
        "float[n,m] x, bool go",
        "float[n,m] y",
        choice("k = Constant<value_float=2.0>() to = Mul(x, k)", "w = Constant<value_float=3.0>() eo = Sub(x, w)"),
        True,
    ),
    "a branch that gives what is there": (
        "float[n,m] x, float[n,m] w, bool go",
        "float[n,m] y",
        choice("to = Identity(w)", "eo = Abs(x)"),
        True,
    ),
    "a branch over rows": ("float[n,m] x, bool go", "float[n,m] y", choice("to = Exp(x)", "eo = Softmax(x)"), False),
    "branches of two sizes": (
        "float[n,m] x, float[m] w, bool go",
        "float[a,b] y",
        choice("to = Exp(x)", "eo = Exp(w)")
        .replace("(float[n,m] to)", "(float[a,b] to)")
        .replace("(float[n,m] eo)", "(float[b] eo)"),
        False,
    ),
    "a branch that divides integers": (
        "int64[n,m] x, int64[n,m] w, bool go",
        "int64[n,m] y",
        choice("to = Div(x, w)", "eo = Neg(x)").replace("float[n,m]", "int64[n,m]"),
        False,
    ),
    "sizes that may not go together": (
        "float[n,m] x, float[k] w, bool go",
        "float[n,m] y",
        choice("to = Add(x, w)", "eo = Neg(x)"),
        False,
    ),
    "a branch that multiplies": (
        "float[n,m] x, float[m,m] w, bool go",
        "float[n,m] y",
        choice("to = Exp(x)", "eo = MatMul(x, w)"),
        True,
    ),
    "a branch that multiplies five times": (
        "float[n,m] x, float[m,m] w, bool go",
        "float[n,m] y",
        choice("to = Exp(x)", "a1 = MatMul(x, w) a2 = MatMul(a1, w) a3 = MatMul(a2, w) a4 = MatMul(a3, w) eo = MatMul(a4, w)"),
        False,
    ),
    "matrices that may not go together": (
        "float[n,m] x, float[k,m] w, bool go",
        "float[n,m] y",
        choice("to = Exp(x)", "eo = MatMul(x, w)"),
        False,
    ),
    "a sum by rounds": ("float[m] c, float[n,m] v", "float[m] z, float[n,m] y", LOOP_SUM, True),
    "a difference by rounds": (
        "float[m] c, float[n,m] v",
        "float[m] z, float[n,m] y",
        LOOP_SUM.replace("Add(s, x)", "Sub(s, x)"),
        False,
    ),
    "a loop over rows": ("float[n,m] v", "float[n,m] y", looped("a = Exp(x) o = Neg(a)"), True),
    "a loop over rows and what is the same for all": (
        "float[n,m] v, float[m] w, float[m,m] q",
        "float[n,m] y",
        looped("k = Constant<value_float=2.0>() a = Mul(x, k) b = Add(a, w) o = MatMul(b, q)"),
        True,
    ),
    "a loop that spreads rows": (
        "float[n,m] v, float[3,m] w",
        "float[n,3,m] y",
        looped("o = Sub(w, x)").replace("(bool co, float[m] o)", "(bool co, float[3,m] o)"),
        True,
    ),
    "a loop that reads the next row": (
        "float[n,m] v",
        "float[n,m] y",
        looped("j = Sub(i, i) q = Gather(v, j) o = Mul(x, q)"),
        False,
    ),
    "a loop over places in rows": ("float[n,m] v", "float[n,m] y", looped("o = Softmax(x)"), False),
    "a scan over rows": (
        "float[n,m] v, float[n,m] w",
        "float[n,m] y",
        "y = Scan<num_scan_inputs=2, body = f (float[m] x, float[m] u) => (float[m] o) { a = Tanh(x) o = Mul(a, u) }>(v, w)",
        True,
    ),
    "a scan over rows from the end": (
        "float[n,m] v",
        "float[n,m] y",
        "y = Scan<num_scan_inputs=1, scan_input_directions=[1], body = f (float[m] x) => (float[m] o) { o = Tanh(x) }>(v)",
        False,
    ),
    "a sum along rows": ("float[m] c, float[n,m] v", "float[m] z, float[n,m] y", scanned("adds"), True),
    "a sum the other way round": (
        "float[m] c, float[n,m] v",
        "float[m] z, float[n,m] y",
        scanned("adds the other way round"),
        True,
    ),
    "a sum along columns": (
        "float[m] c, float[m,n] v",
        "float[m] z, float[m,n] y",
        scanned("adds", ", scan_input_axes=[1], scan_output_axes=[-1]"),
        True,
    ),
    "a sum from the end": (
        "float[m] c, float[n,m] v",
        "float[m] z, float[n,m] y",
        scanned("adds", ", scan_input_directions=[1]"),
        False,
    ),
    "a difference": ("float[m] c, float[n,m] v", "float[m] z, float[n,m] y", scanned("takes off"), False),
    "a sum of twice as much": ("float[m] c, float[n,m] v", "float[m] z, float[n,m] y", scanned("adds twice"), False),
    "sums of what was before": (
        "float[m] c, float[n,m] v",
        "float[m] z, float[n,m] y",
        scanned("gives what it was"),
        False,
    ),
}


@pytest.mark.parametrize("name", CONTROL)
def test_graphs_inside_a_graph(thaw, save, tmp_path, name):
    inputs, results, body, goes = CONTROL[name]
    model = onnx.parser.parse_model(
        f'<ir_version: 9, opset_import: ["" : 17]> g ({inputs}) => ({results}) {{ {body} }}'
    )
    path, out, again = save(model), tmp_path / "out.onnx", tmp_path / "again.onnx"
    report = thaw.json("optimize", path, "-o", out, "--target", "directml", code={0, 1})
    assert goes != bool({"If", "Scan", "Loop"} & set(operators(out).split()))
    assert goes == (not report["findings"])
    for sizes in (
        {"n": 2, "m": 5, "k": 5},
        {"n": 3, "m": 1, "k": 1},
        {"n": 1, "m": 7, "k": 7},
        {"n": 4, "m": 3, "k": 3},
    ):
        fed = feeds(model, sizes, np.random.default_rng(sizes["n"]), lambda rng, shape: rng.integers(1, 9, shape))
        for go in (True, False):
            if "go" in fed:
                fed["go"] = np.array(go)
            for before, after in zip(run(path, fed), run(out, fed), strict=True):
                np.testing.assert_allclose(before, after, rtol=1e-5, atol=1e-6)
    assert thaw.json("optimize", out, "-o", again, "--target", "directml", code={0, 1})["changed"] == []


@pytest.mark.parametrize(("opset", "name"), [(8, "branches element by element"), (10, "a sum along rows")])
def test_an_opset_that_lacks_what_it_takes(thaw, save, tmp_path, opset, name):
    inputs, results, body, _ = CONTROL[name]
    path = save(onnx.parser.parse_model(f'<ir_version: 4, opset_import: ["" : {opset}]> g ({inputs}) => ({results}) {{ {body} }}'))
    report = thaw.json("optimize", path, "-o", tmp_path / "out.onnx", "--target", "directml", code={0, 1})
    assert {finding["code"] for finding in report["findings"]} == {"THAW033"}
