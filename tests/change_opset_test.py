"""thaw optimize --opset: each node in the form that it has in another opset, to the same numbers in ONNX Runtime."""
import numpy as np
import onnx
import onnx.parser
import pytest
from onnx.backend.test.loader import load_model_tests

from conftest import run
from optimize_test import feeds, operators

TO = 20
# name: (opset, inputs, body, operators of the result)
CASES = {
    "axes become an operand": (11, "float[n,1,m] x", "a = Squeeze<axes=[1]>(x) y = Unsqueeze<axes=[0]>(a)", "Squeeze Unsqueeze"),
    "a sum over axes": (11, "float[n,m,4] x", "y = ReduceSum<axes=[1],keepdims=0>(x)", "ReduceSum"),
    "a mean over axes": (13, "float[n,m,4] x", "y = ReduceMean<axes=[-1,0]>(x)", "ReduceMean"),
    "a maximum over all": (13, "float[n,m,4] x", "y = ReduceMax<keepdims=0>(x)", "ReduceMax"),
    "limits become operands": (6, "float[n,m] x", "y = Clip<min=-0.5,max=0.25>(x)", "Clip"),
    "one limit": (6, "float[n,m] x", "y = Clip<max=0.25>(x)", "Clip"),
    "pads become operands": (2, "float[n,m] x", 'y = Pad<pads=[0,1,2,0],value=0.5,mode="constant">(x)', "Pad"),
    "ends of slices": (9, "float[n,m,8] x", "y = Slice<axes=[2,0],starts=[1,0],ends=[-1,2]>(x)", "Slice"),
    "lengths of parts": (11, "float[n,m,8] x", "a, y = Split<axis=2,split=[3,5]>(x)", "Split"),
    "even parts": (13, "float[n,m,8] x", "a, b = Split<axis=2>(x) y = Sub(a, b)", "Split Sub"),
    "softmax over the last axis": (11, "float[n,m,8] x", "y = Softmax<axis=2>(x)", "Softmax"),
    "softmax over several": (11, "float[n,m,8] x", "y = Softmax(x)", "Flatten Softmax Shape Reshape"),
    "log softmax over several": (9, "float[n,m,8] x", "y = LogSoftmax<axis=0>(x)", "Flatten LogSoftmax Shape Reshape"),
    "the largest few": (9, "float[n,8] x", "y, i = TopK<axis=1,k=3>(x)", "TopK"),
    "dropout": (11, "float[n,m] x", "y = Dropout<ratio=0.3>(x)", "Dropout"),
    "batch norm": (11, "float[n,4,m] x, float[4] s, float[4] b, float[4] u, float[4] v", "w = Abs(v) y = BatchNormalization(x, s, b, u, w)",
                   "Abs BatchNormalization"),
    "upsampling": (8, "float[n,2,m,k] x", 'y = Upsample<mode="nearest",scales=[1.0,1.0,2.0,3.0]>(x)', "Resize"),
    "upsampling by lines": (8, "float[n,2,m,k] x", 'y = Upsample<mode="linear",scales=[1.0,1.0,2.0,2.0]>(x)', "Resize"),
    "resizing before opset 11": (10, "float[n,2,m,k] x", 's = Constant<value=float[4]{1.0,1.0,2.0,2.0}>() y = Resize<mode="nearest">(x, s)',
                                 "Resize"),
    "places of a grid": (16, "float[n,2,m,k] x, float[n,3,5,2] g", 'y = GridSample<mode="bilinear">(x, g)', "GridSample"),
    "regions": (15, "float[n,2,9,9] x, float[r,4] q, int64[r] i", "b = Abs(q) y = RoiAlign<output_height=3,output_width=2,spatial_scale=1.0>(x, b, i)",
                "Abs RoiAlign"),
    "argmax": (11, "float[n,m] x", "y = ArgMax<axis=1>(x)", "ArgMax"),
    "only types": (7, "float[n,m] x, float[m] z", "a = Add(x, z) b = Relu(a) c = Exp(b) y = Max(c, x)", "Add Relu Exp Max"),
    "a branch": (11, "float[n,m] x", "z = ReduceSum<axes=[0],keepdims=0>(x) y = Unsqueeze<axes=[1]>(z)", "ReduceSum Unsqueeze"),
    "convolution and pools": (11, "float[n,2,h,w] x", "p = MaxPool<kernel_shape=[2,2],strides=[2,2]>(x) q = AveragePool<kernel_shape=[3,3],pads=[1,1,1,1]>(p)"
                              " y = GlobalAveragePool(q)", "MaxPool AveragePool GlobalAveragePool"),
    "scatter": (9, "float[n,8] x, float[n,2] u, int64[n,2] i", "y = Scatter<axis=1>(x, i, u)", "ScatterElements"),
}
SIZES = ({"n": 2, "m": 3, "k": 4, "h": 9, "w": 7, "r": 2}, {"n": 3, "m": 5, "k": 2, "h": 8, "w": 12, "r": 3})


def model_of(opset, inputs, body):
    text = f'<ir_version: 4, opset_import: ["" : {opset}]> g ({inputs}) => (float[r_] y) {{ {body} }}'
    model = onnx.parser.parse_model(text)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    if "ArgMax" in body:
        model.graph.output[0].type.tensor_type.elem_type = 7
    return model


def draw(model, sizes):
    places = lambda rng, shape: np.zeros(shape, np.int64) + np.arange(shape[-1]) % 2
    return feeds(model, sizes, np.random.default_rng(sum(sizes.values())), places)


@pytest.mark.parametrize("name", CASES)
def test_the_numbers_stay(thaw, save, tmp_path, name):
    opset, inputs, body, wanted = CASES[name]
    model = model_of(opset, inputs, body)
    path, out = save(model), tmp_path / "out.onnx"
    report = thaw.json("optimize", path, "-o", out, "--opset", TO, "--only", "constants", code=0)
    made = onnx.load(out)
    assert [i.version for i in made.opset_import if not i.domain] == [TO] and made.ir_version >= 9
    assert operators(out) == wanted
    assert any(c["pass"] == "change the opset" for c in report["changed"])
    for sizes in SIZES:
        fed = draw(model, sizes)
        for before, after in zip(run(path, fed), run(out, fed), strict=True):
            np.testing.assert_allclose(before, after, rtol=1e-6, atol=1e-6)  # another kernel adds up in another order


def test_inside_a_branch(thaw, save, tmp_path):
    text = """<ir_version: 7, opset_import: ["" : 11]> g (float[n,m] x, bool go) => (float[n] y) {
      y = If(go) <then_branch = a () => (float[n] t) { t = ReduceSum<axes=[1],keepdims=0>(x) },
                  else_branch = b () => (float[n] e) { e = ReduceMax<axes=[1],keepdims=0>(x) }> }"""
    path, out = save(onnx.parser.parse_model(text)), tmp_path / "out.onnx"
    thaw("optimize", path, "-o", out, "--opset", 21, code=0)
    for go in (True, False):
        fed = {"x": np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32), "go": np.array(go)}
        np.testing.assert_array_equal(run(path, fed)[0], run(out, fed)[0])


def test_what_has_no_equal_is_named(thaw, save, tmp_path):
    out = tmp_path / "out.onnx"
    cases = {
        "which pixel is the nearest": (8, "float[n,2,m,k] x", 'y = Upsample<mode="nearest",scales=[1.0,1.0,0.5,0.5]>(x)'),
        "its mask has another type": (9, "float[n,m] x", "a, y = Dropout(x)"),
    }
    for why, (opset, inputs, body) in cases.items():
        message = thaw.error("optimize", save(model_of(opset, inputs, body)), "-o", out, "--opset", TO)
        assert why in message and "has no equal in opset 20" in message
    plain = save(model_of(17, "float[n,m] x", "y = Relu(x)"))
    assert "expected 17 to" in thaw.error("optimize", plain, "-o", out, "--opset", 13)
    message = thaw.error("optimize", plain, "-o", out, "--opset", 99)
    assert "opset 99 is asked for" in message and "keep the model's" in message
    assert not out.exists()


def test_a_newer_opset_has_more_to_fuse_to(thaw, save, tmp_path):
    body = ("w = Constant<value_float=1.4142135381698608>() h = Constant<value_float=0.5>() o = Constant<value_float=1.0>()"
            " d = Div(x, w) e = Erf(d) f = Add(e, o) g = Mul(x, f) y = Mul(g, h)")
    path, out = save(model_of(17, "float[n,m] x", body)), tmp_path / "out.onnx"
    thaw("optimize", path, "-o", out, code=0)
    assert "Erf" in operators(out)
    thaw("optimize", path, "-o", out, "--opset", 20, code=0)
    assert operators(out) == "Gelu"


# name: (opset, inputs, body, opset asked for, operators of the result that tell)
OLDER = {
    "axes stay operands": (23, "float[n,m,4] x", "a = Constant<value_ints=[1]>() y = ReduceMean(x, a)", 20, {"ReduceMean"}),
    "places of a grid": (22, "float[n,2,m,k] x, float[n,3,5,2] g", 'y = GridSample<mode="cubic">(x, g)', 18, {"GridSample"}),
    "gelu": (20, "float[n,m] x", "y = Gelu(x)", 18, {"Erf"}),
    "gelu by tanh": (20, "float[n,m] x", 'y = Gelu<approximate="tanh">(x)', 19, {"Tanh"}),
    "root mean square": (23, "float[n,m,8] x, float[8] w", "y = RMSNormalization<epsilon=1e-3>(x, w)", 20, {"ReduceMean", "Sqrt"}),
    "groups": (21, "float[n,6,m,k] x, float[6] s, float[6] b", "y = GroupNormalization<num_groups=3>(x, s, b)", 20, {"InstanceNormalization"}),
    "attention": (23, "float[n,4,m,8] q, float[n,4,k,8] e, float[n,4,k,6] v", "y = Attention(q, e, v)", 20, {"Softmax"}),
    "attention that shares heads": (23, "float[n,6,m,8] q, float[n,2,k,8] e, float[n,2,k,8] v, float[m,k] b", "y = Attention<scale=0.2>(q, e, v, b)",
                                    20, {"Expand", "Softmax"}),
    "causal attention over packed heads": (23, "float[n,m,24] q, float[n,m,24] e, float[n,m,24] v",
                                           "y = Attention<q_num_heads=3,kv_num_heads=3,is_causal=1>(q, e, v)", 20, {"LessOrEqual"}),
    "attention that caps its scores": (23, "float[n,4,m,8] q, float[n,4,k,8] e, float[n,4,k,6] v, float[m,k] b",
                                       "y = Attention<softcap=0.7>(q, e, v, b)", 20, {"Tanh", "Softmax"}),
    "attention with a mask of integers": (23, "float[n,4,m,8] q, float[n,4,k,8] e, float[n,4,k,6] v, int32[m,k] b", "y = Attention(q, e, v, b)", 20,
                                         {"Cast", "Softmax"}),
    "rotation": (23, "float[n,m,24] x, float[n,m,2] c, float[n,m,2] s",
                 "y = RotaryEmbedding<num_heads=3,rotary_embedding_dim=4>(x, c, s)", 20, {"Concat"}),
    "rotation of pairs": (23, "float[n,3,m,8] x, float[9,4] c, float[9,4] s, int64[n,m] p", "y = RotaryEmbedding<interleaved=1>(x, c, s, p)", 20, {"Gather"}),
}


@pytest.mark.parametrize("name", OLDER)
def test_the_numbers_stay_in_an_older_opset(thaw, save, tmp_path, name):
    opset, inputs, body, to, wanted = OLDER[name]
    model = model_of(opset, inputs, body)
    model.ir_version = 11
    path, out = save(model), tmp_path / "out.onnx"
    thaw("optimize", path, "-o", out, "--opset", to, "--level", "clean", code=0)
    made = onnx.load(out)
    assert [i.version for i in made.opset_import if not i.domain] == [to] and wanted <= set(operators(out).split())
    for sizes in SIZES:
        fed = draw(model, sizes)
        for before, after in zip(run(path, fed), run(out, fed), strict=True):
            np.testing.assert_allclose(before, after, rtol=1e-4, atol=2e-6)


TYPES_OF_LATER = {  # name: (opset, inputs, body, opset asked for, what is said)
    "a Cast to 4 bits": (21, "int8[n,m] x", "a = Cast<to=22>(x) y = Cast<to=3>(a)", 20, "it takes no int4 there"),
    "codes of 16 bits": (21, "float[n,m] x, float s, int16 z", "q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z)", 20, "it takes no int16 there"),
    "half scales": (21, "uint8[n,4] x, uint8[4,4] w, float16 s, uint8 z", "y = QLinearMatMul(x, s, z, w, s, z, s, z)", 20, "it takes no float16 there"),
    "in a branch": (22, "bfloat16[n,m] x, bool go",
                    "y = If(go) <then_branch = a () => (bfloat16[n,m] t) { t = Round(x) }, else_branch = b () => (bfloat16[n,m] e) { e = Neg(x) }>", 20,
                    "it takes no bfloat16 there"),
    "angles of another rotation": (23, "float[n,3,m,8] x, float[9,4] c, float[9,4] s, int64[n,m] p",
                                   "y = RotaryEmbedding<rotary_embedding_dim=4>(x, c, s, p)", 20, "its angles are not half as many as it turns"),
}


@pytest.mark.parametrize("name", TYPES_OF_LATER)
def test_what_an_older_opset_does_not_take_is_refused(thaw, save, tmp_path, name):
    opset, inputs, body, to, wanted = TYPES_OF_LATER[name]
    model, out = model_of(opset, inputs, body), tmp_path / "out.onnx"
    model.ir_version = 11
    message = thaw.error("optimize", save(model), "-o", out, "--opset", to)
    assert wanted in message and f"has no equal in opset {to}" in message and not out.exists()


NAMES = ("test_attention_", "test_rotary_embedding", "test_rms_normalization", "test_gelu", "test_swish", "test_group_normalization")


def test_onnxs_own_cases_of_newer_operators(thaw, save, tmp_path):
    """Against the outputs that ONNX gives, without its own newer kernels."""
    told, refused = 0, set()
    for case in load_model_tests(kind="node"):
        if not case.name.startswith(NAMES) or "expanded" in case.name:
            continue
        path, out = save(case.model, case.name), tmp_path / "out.onnx"
        to = 18 if "gelu" in case.name else 20
        call = thaw("optimize", path, "-o", out, "--opset", to, "--only", "constants", "--no-check")
        if call.returncode:
            assert "has no equal in opset" in call.stderr, (case.name, call.stderr)
            refused.add(case.name)
            continue
        inputs, outputs = case.data_sets[0]
        fed = dict(zip([i.name for i in case.model.graph.input], inputs, strict=True))
        try:
            got = run(out, fed)
        except Exception as error:  # a type that ONNX Runtime has no kernel for
            assert "implementation" in str(error) or "NOT_IMPLEMENTED" in str(error), (case.name, str(error)[:300])
            continue
        told += 1
        for a, b in zip(got, outputs, strict=True):
            np.testing.assert_allclose(a.astype(np.float32), b.astype(np.float32), rtol=2e-3, atol=2e-3, err_msg=case.name)
    assert told >= 60, (told, refused)
