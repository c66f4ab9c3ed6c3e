"""thaw inspect --cost: what operators compute and move, as expressions; numbers at sizes, against formulas of their own."""
import json

import numpy as np
import onnx
import onnx.parser
import pytest

from conftest import SOURCE

TEXT = '<ir_version: 9, opset_import: ["" : {opset}, "com.microsoft" : 1]> g ({inputs}) => (float[r] y) {{ {body} }}'
# name: (opset, inputs, body, operator, operations as an expression)
CASES = {
    "MatMul": (17, "float[b,n,8] x, float[8,5] w", "y = MatMul(x, w)", "MatMul", "80*b*n"),
    "Gemm, transposed": (17, "float[8,n] x, float[5,8] w", "y = Gemm<transA=1,transB=1>(x, w)", "Gemm", "80*n"),
    "Conv": (17, "float[b,4,h,w] x, float[6,2,3,3] k", "y = Conv<group=2,pads=[1,1,1,1]>(x, k)", "Conv", "216*b*h*w"),
    "ConvTranspose": (17, "float[b,4,h] x, float[4,3,2] k", "y = ConvTranspose<strides=[2]>(x, k)", "ConvTranspose", "48*b*h"),
    "Einsum": (17, "float[b,n,d] x, float[b,m,d] z", 'y = Einsum<equation="bnd,bmd->bnm">(x, z)', "Einsum", "2*b*d*m*n"),
    "elementwise": (17, "float[n,m] x, float[m] z", "y = Add(x, z)", "Add", "n*m"),
    "reduction": (17, "float[n,m] x", "y = ReduceMean<axes=[1]>(x)", "ReduceMean", "n*m"),
    "movement": (17, "float[n,m] x", "y = Transpose<perm=[1,0]>(x)", "Transpose", 0),
    "Attention": (23, "float[b,2,s,4] q, float[b,2,t,4] k, float[b,2,t,6] v", "y = Attention(q, k, v)", "Attention", "40*b*s*t"),
    "MultiHeadAttention": (17, "float[b,s,8] q, float[b,t,8] k, float[b,t,8] v", "y = com.microsoft.MultiHeadAttention<num_heads=2>(q, k, v)",
                           "com.microsoft.MultiHeadAttention", "32*b*s*t"),
    "LSTM": (17, "float[s,b,5] x, float[1,12,5] w, float[1,12,3] u", "y = LSTM<hidden_size=3>(x, w, u)", "LSTM", "192*s*b"),
}


def model_of(opset, inputs, body):
    return onnx.parser.parse_model(TEXT.format(opset=opset, inputs=inputs, body=body))


def same(text, wanted):
    """Two expressions, by their values at several sizes."""
    if not isinstance(text, str) or not isinstance(wanted, str):
        return text == wanted
    names = {name: 3 + 2 * i for i, name in enumerate("bdhmnrstw")}
    return all(eval(text, {n: v + k for n, v in names.items()}) == eval(wanted, {n: v + k for n, v in names.items()}) for k in (0, 4, 9))


@pytest.mark.parametrize("name", CASES)
def test_operations(thaw, save, name):
    opset, inputs, body, op, wanted = CASES[name]
    cost = thaw.json("inspect", save(model_of(opset, inputs, body)), "--cost")["cost"]
    (entry,) = [e for e in cost["operators"] if e["op"] == op]
    assert same(entry["flops"], wanted), entry
    assert entry["nodes_without_flops"] == 0 and same(cost["flops"], wanted)


def test_bytes_are_those_of_operands_and_results(thaw, save):
    model = save(model_of(17, "float[n,8] x, float16[8,5] w", "v = Cast<to=1>(w) y = MatMul(x, v)"))
    by = {e["op"]: e["bytes_moved"] for e in thaw.json("inspect", model, "--cost")["cost"]["operators"]}
    assert by["Cast"] == 8 * 5 * (2 + 4)
    assert same(by["MatMul"], "4*(n*8 + 8*5 + n*5)")


def test_numbers_at_sizes_in_the_text(thaw, save):
    model = save(model_of(17, "float[b,n,8] x, float[8,5] w", "y = MatMul(x, w)"))
    text = thaw("inspect", model, "--cost", "--sizes", "b=2,n=1000", code=0).stdout
    assert "160,000" in text and "Cost" in text
    assert "80*b*n" in thaw("inspect", model, "--cost", code=0).stdout


def test_what_is_not_known_is_said(thaw, save):
    text = '<ir_version: 9, opset_import: ["" : 17, "other" : 1]> g (float[n] x) => (float[n] y) { a = other.Thing(x) y = Relu(a) }'
    cost = thaw.json("inspect", save(onnx.parser.parse_model(text)), "--cost")["cost"]
    assert cost["nodes_without_flops"] >= 1 and cost["nodes"] == 2


def test_a_decoder_takes_two_operations_a_weight_and_token(thaw, tmp_path):
    """The rule of thumb for transformers: 2 x parameters x tokens, attention's scores aside."""
    thaw("build", SOURCE / "tests" / "fixtures" / "qwen2" / "decoder", "-o", tmp_path, "--part", "text", code=0)
    (path,) = tmp_path.glob("text*.onnx")
    model = onnx.load(path)
    weights = sum(int(np.prod(i.dims)) for i in model.graph.initializer if len(i.dims) == 2)
    sizes = [d for i in model.graph.input for d in (x.dim_param for x in i.type.tensor_type.shape.dim) if d]
    tokens = 8
    setting = ",".join(f"{name}={1 if 'batch' in name else tokens if 'past' not in name else 1}" for name in dict.fromkeys(sizes))
    cost = json.loads(thaw("inspect", path, "--cost", "--sizes", setting, "--format", "json").stdout)["cost"]
    products = sum(e["flops"] for e in cost["operators"] if e["op"] in ("MatMul", "Gemm"))
    assert 0.5 < products / (2 * weights * tokens) < 4


def looped(trips, condition, go):
    """A Loop over x whose body is one Relu, and goes on as long as `go` says."""
    text = ('<ir_version: 9, opset_import: ["" : 17]> g (float[n,8] x, int64[1] k, bool c) => (float[n,8] y) {{ '
            'yes = Constant<value_int=1>() t = Cast<to=9>(yes) s = Shape(x) z = Constant<value_ints=[0]>() rows = Gather(s, z) '
            'y = Loop<body = g (int64 i, bool go, float[n,8] a) => (bool on, float[n,8] b) {{ b = Relu(a) on = {go} }}>({trips}, {condition}, x) }}')
    return onnx.parser.parse_model(text.format(trips=trips, condition=condition, go=go))


@pytest.mark.parametrize(("trips", "condition", "go", "wanted"), [
    ("rows", "", "Identity(go)", "n*n*8"),
    ("rows", "t", "Identity(go)", "n*n*8"),
    ("rows", "", "Not(go)", "n*n*8"),  # without a condition none is asked for
    ("rows", "t", "Not(go)", None),
    ("rows", "c", "Identity(go)", None),
    ("", "t", "Identity(go)", None),
], ids=lambda value: str(value))
def test_a_loop_costs_its_rounds(thaw, save, trips, condition, go, wanted):
    cost = thaw.json("inspect", save(looped(trips, condition, go)), "--cost")["cost"]
    (relu,) = [e for e in cost["operators"] if e["op"] == "Relu"]
    if wanted is None:
        assert relu["nodes_without_flops"] == 1 and relu["flops"] == 0
    else:
        assert relu["nodes_without_flops"] == 0 and same(relu["flops"], wanted), relu


def test_a_scan_and_branches_cost_what_is_run(thaw, save):
    scan = ('<ir_version: 9, opset_import: ["" : 17]> g (float[n,m] x, bool c) => (float[n,m] y, float[n,m] z) { '
            'y = Scan<num_scan_inputs=1, scan_input_axes=[1], scan_output_axes=[1], body = g (float[n] a) => (float[n] b) { b = Relu(a) }>(x) '
            'k = Constant<value_int=1>() t = Cast<to=9>(k) '
            'z = If<then_branch = g () => (float[n,m] p) { p = Neg(x) }, else_branch = g () => (float[n,m] q) { q = Abs(x) }>(t) }')
    by = {e["op"]: e["flops"] for e in thaw.json("inspect", save(onnx.parser.parse_model(scan)), "--cost")["cost"]["operators"]}
    assert same(by["Relu"], "n*m") and same(by["Neg"], "n*m") and by["Abs"] == 0
