"""thaw optimize: what each simplification makes of a small graph, and what it must leave.

Graphs are written as text, with sizes that are names. The result is run beside the graph at sizes that neither declares,
its symbols are those of the graph, and a second run changes nothing.
"""
import json

import numpy as np
import onnx
import onnx.parser
import pytest

from conftest import session

SIZES = ({"n": 3, "m": 5}, {"n": 1, "m": 2}, {"n": 7, "m": 4})
# name: (opset, inputs and result, body, the operators that are left, in order)
MERGED = {
    "identity": (17, "float[n,m] x", "y", "a = Identity(x) y = Relu(a)", "Relu"),
    "cast to the same": (17, "float[n,m] x", "y", "a = Cast<to=1>(x) y = Neg(a)", "Neg"),
    "cast there and back": (17, "int32[n,m] x", "y", "a = Cast<to=7>(x) b = Cast<to=6>(a) y = Add(b, x)", "Add"),
    "cast that loses nothing": (17, "int32[n,m] x", "y", "a = Cast<to=7>(x) y = Cast<to=1>(a)", "Cast"),
    "reshape to the same": (17, "float[n,m] x", "y",
                            "s = Shape(x) a = Reshape(x, s) y = Exp(a)", "Exp"),
    "transposes": (17, "float[n,m,4] x", "y", "a = Transpose<perm=[1,0,2]>(x) y = Transpose<perm=[2,0,1]>(a)", "Transpose"),
    "transposes that cancel": (17, "float[n,m,4] x", "y", "a = Transpose<perm=[1,2,0]>(x) b = Transpose<perm=[2,0,1]>(a) y = Abs(b)",
                               "Abs"),
    "transposes around": (17, "float[n,m,4] x", "y", "a = Transpose<perm=[1,2,0]>(x) b = Sigmoid(a) c = Relu(b) y = Transpose<perm=[2,0,1]>(c)",
                          "Sigmoid Relu"),
    "transposes around two": (17, "float[n,m] x, float[n,m] z", "y",
                              "a = Transpose<perm=[1,0]>(x) b = Transpose<perm=[1,0]>(z) c = Mul(a, b) y = Transpose<perm=[1,0]>(c)", "Mul"),
    "transposes around an unsqueeze": (17, "float[n,m,4] x", "y",
                                       "i = Constant<value_ints=[0]>() a = Transpose<perm=[1,0,2]>(x) b = Unsqueeze(a, i) c = Transpose<perm=[0,2,1,3]>(b) y = Neg(c)",
                                       "Unsqueeze Neg"),
    "transposes around a squeeze": (17, "float[n,1,m,4] x", "y",
                                    "i = Constant<value_ints=[1]>() a = Transpose<perm=[2,1,0,3]>(x) b = Squeeze(a, i) y = Transpose<perm=[1,2,0]>(b)",
                                    "Squeeze Transpose"),
    "unsqueezes": (17, "float[n,m] x", "y", "i = Constant<value_ints=[1]>() j = Constant<value_ints=[0]>() a = Unsqueeze(x, i) y = Unsqueeze(a, j)",
                   "Unsqueeze"),
    "squeezes": (17, "float[1,n,1,m] x", "y", "i = Constant<value_ints=[2]>() j = Constant<value_ints=[0]>() a = Squeeze(x, i) y = Squeeze(a, j)",
                 "Squeeze"),
    "squeezed back": (17, "float[n,m] x", "y", "i = Constant<value_ints=[1]>() a = Unsqueeze(x, i) b = Squeeze(a, i) y = Neg(b)", "Neg"),
    "reshapes": (17, "float[n,m] x", "y", "s = Constant<value_ints=[-1]>() t = Constant<value_ints=[1,-1,1]>() a = Reshape(x, s) y = Reshape(a, t)",
                 "Reshape"),
    "computed shape": (17, "float[n,m,4] x", "y",
                       "s = Shape(x) z = Constant<value_int=0>() a = Gather(s, z) i = Constant<value_ints=[0]>() b = Unsqueeze(a, i)"
                       " l = Constant<value_ints=[-1]>() t = Concat<axis=0>(b, l) y = Reshape(x, t)", "Reshape"),
    "slices along two axes": (17, "float[n,8,8] x", "y",
                              "o = Constant<value_ints=[1]>() e = Constant<value_ints=[6]>() p = Constant<value_ints=[2]>()"
                              " a = Slice(x, o, e, o) y = Slice(a, p, e, p)", "Slice"),
    "slices of slices": (17, "float[n,16] x", "y",
                         "o = Constant<value_ints=[1]>() e = Constant<value_ints=[12]>() p = Constant<value_ints=[3]>()"
                         " a = Slice(x, p, e, o) y = Slice(a, o, p, o)", "Slice"),
    "a slice of the whole": (17, "float[n,m] x", "y",
                             "o = Constant<value_ints=[0]>() e = Constant<value_ints=[9223372036854775807]>() a = Slice(x, o, e, o) y = Abs(a)", "Abs"),
    "concats": (17, "float[n,m] x, float[n,m] z", "y", "a = Concat<axis=1>(x, z) y = Concat<axis=-1>(a, x)", "Concat"),
    "concat of one": (17, "float[n,m] x", "y", "a = Concat<axis=1>(x) y = Neg(a)", "Neg"),
    "a split into one": (18, "float[n,m] x, float[n,m] z", "y", "r = Shape<end=1>(z) a = Split<axis=1, num_outputs=1>(x) b = Split<axis=0>(a, r) y = Neg(b)", "Neg"),
    "split and joined": (17, "float[n,6] x", "y", "a, b = Split<axis=1>(x) c = Concat<axis=1>(a, b) y = Neg(c)", "Neg"),
    "pads": (17, "float[n,m] x", "y", "p = Constant<value_ints=[0,1,0,2]>() q = Constant<value_ints=[1,0,0,1]>() a = Pad(x, p) y = Pad(a, q)", "Pad"),
    "pad by nothing": (17, "float[n,m] x", "y", "p = Constant<value_ints=[0,0,0,0]>() a = Pad(x, p) y = Neg(a)", "Neg"),
    "add 0": (17, "float[n,m] x", "y", "o = Constant<value_float=0.0>() a = Add(o, x) y = Exp(a)", "Exp"),
    "times 1": (17, "float[n,m] x", "y", "o = Constant<value_float=1.0>() a = Mul(x, o) b = Div(a, o) y = Exp(b)", "Exp"),
    "relu and clip": (17, "float[n,m] x", "y", "h = Constant<value_float=0.5>() l = Constant<value_float=-1.0>() a = Relu(x) y = Clip(a, l, h)",
                      "Clip"),
    "clip and relu": (17, "float[n,m] x", "y", "h = Constant<value_float=0.5>() l = Constant<value_float=-1.0>() a = Clip(x, l, h) y = Relu(a)",
                      "Clip"),
    "limits": (17, "float[n,m] x", "y", "h = Constant<value_float=0.5>() l = Constant<value_float=-0.25>() a = Max(x, l) y = Min(a, h)", "Clip"),
    "nots": (17, "bool[n,m] x", "y", "a = Not(x) b = Not(a) y = And(b, x)", "And"),
    "where of not": (17, "bool[n,m] c, float[n,m] x, float[n,m] z", "y", "d = Not(c) y = Where(d, x, z)", "Where"),
    "dropout": (17, "float[n,m] x", "y", "a = Dropout(x) y = Neg(a)", "Neg"),
    "resize to the same": (17, "float[1,3,n,m] x", "y", "r = Constant<value = float[0] {}>() s = Constant<value_floats=[1.0,1.0,1.0,1.0]>()"
                           " a = Resize<mode=\"linear\">(x, r, s) y = Neg(a)", "Neg"),
    "expand before arithmetic": (17, "float[1,m] x, float[n,m] z", "y", "s = Shape(z) a = Expand(x, s) y = Add(a, z)", "Add"),
    "folded": (17, "float[n,m] x", "y", "a = Constant<value_floats=[2.0]>() b = Sqrt(a) c = Exp(b) y = Mul(x, c)", "Mul"),
    "twice": (17, "float[n,m] x", "y", "a = Exp(x) b = Exp(x) y = Sub(a, b)", "Exp Sub"),
    "sizes twice": (17, "float[n,m] x, float[n,m] z", "y",
                    "a = Add(x, z) s = Shape(x) t = Shape(a) u = Add(s, t) y = Expand(a, s) ", "Add"),
    "sequence": (17, "float[n,m] x, float[n,m] z", "y", "s = SequenceConstruct(x, z) o = Constant<value_int=1>() a = SequenceAt(s, o) y = Add(a, x)", "Add"),
    "joined sequence": (17, "float[n,m] x, float[n,m] z", "y", "s = SequenceConstruct(x, z) y = ConcatFromSequence<axis=1>(s)", "Concat"),
    "a mean and its axis back": (17, "float[n,m,8] x", "y",
                                 "i = Constant<value_ints=[-1]>() a = ReduceMean<axes=[2], keepdims=0>(x) y = Unsqueeze(a, i)", "ReduceMean"),
    "a mean without its axis": (18, "float[n,m,8] x", "y",
                                "i = Constant<value_ints=[1]>() a = ReduceMean<keepdims=1>(x, i) b = Squeeze(a, i) y = Neg(b)", "ReduceMean Neg"),
    "the largest of the largest": (18, "float[n,m,8] x", "y",
                                   "i = Constant<value_ints=[1]>() j = Constant<value_ints=[-1]>() a = ReduceMax<keepdims=0>(x, i) y = ReduceMax<keepdims=0>(a, j)",
                                   "ReduceMax"),
    "sums of sums of integers": (18, "int64[n,m,8] x", "y",
                                 "i = Constant<value_ints=[1]>() j = Constant<value_ints=[2]>() a = ReduceSum(x, i) y = ReduceSum(a, j)", "ReduceSum"),
    "two numbers added": (17, "int64[n,m] x", "y",
                          "o = Constant<value_int=9223372036854775807>() l = Constant<value_int=5>() a = Add(o, x) y = Add(a, l)", "Add"),
    "two factors": (17, "int32[n,m] x", "y",
                    "o = Constant<value = int32 {70000}>() l = Constant<value = int32 {90000}>() a = Mul(x, o) y = Mul(l, a)", "Mul"),
    "an optional that is there": (18, "float[n,m] x", "y", "o = Optional(x) h = OptionalHasElement(o) b = Cast<to=1>(h) y = Add(x, b)", "Add"),
    "a part of a shape": (17, "float[n,m,8] x", "y", "o = Constant<value_ints=[0]>() e = Constant<value_ints=[2]>() s = Shape(x) y = Slice(s, o, e)", "Shape"),
    "a condition as a number": (17, "float[n,m] x, float[n,m] z", "y",
                                "o = Constant<value_float=1.0>() l = Constant<value_float=0.0>() c = Less(x, z) y = Where(c, o, l)", "Less Cast"),
    "an einsum of one": (17, "float[n,m,8] x", "y", "a = Einsum<equation=\"ijk -> kij\">(x) y = Neg(a)", "Transpose Neg"),
    "an einsum that is a product": (17, "float[n,m,8] x, float[n,8,m] z", "y", "y = Einsum<equation=\"bij,bjk->bik\">(x, z)", "MatMul"),
    "an einsum of heads": (17, "float[n,m,3,8] x, float[n,m,3,8] z", "y", "y = Einsum<equation=\"bqhd,bkhd->bhqk\">(x, z)",
                           "Transpose Transpose MatMul"),
    "an einsum without its result": (17, "float[n,m] x, float[m,8] z", "y", "y = Einsum<equation=\"ij,jk\">(x, z)", "MatMul"),
    "quantized as it was": (17, "float[n,m] x", "y", "k = Constant<value_float=0.25>() z = Constant<value = int8 {3}>() q = QuantizeLinear(x, k, z) d = DequantizeLinear(q, k, z)"
                            " t = Transpose<perm=[1,0]>(d) r = QuantizeLinear(t, k, z) y = DequantizeLinear(r, k, z)", "QuantizeLinear Transpose DequantizeLinear"),
    "reduced over 1": (17, "float[n,1,m] x", "y", "a = ReduceSum<keepdims=1>(x, i) y = Neg(a)", "Neg"),
}
# What looks alike and is something else: nothing goes.
KEPT = {
    "cast that rounds": (17, "float[n,m] x", "y", "a = Cast<to=6>(x) y = Cast<to=1>(a)"),
    "cast to bool": (17, "float[n,m] x", "y", "a = Cast<to=9>(x) y = Cast<to=1>(a)"),
    "a wide number cut": (17, "int64[n,m] x", "y", "a = Cast<to=6>(x) y = Cast<to=7>(a)"),
    "reshape to another": (17, "float[n,m] x, float[m,n] z", "y", "s = Shape(z) y = Reshape(x, s)"),
    "squeeze of what may be 1": (17, "float[n,1] x", "y", "i = Constant<value_ints=[1]>() y = Squeeze(x, i)"),
    "a slice backwards": (17, "float[n,m] x", "y",
                          "o = Constant<value_ints=[-1]>() e = Constant<value_ints=[-9223372036854775808]>() a = Constant<value_ints=[1]>() y = Slice(x, o, e, a, o)"),
    "add 0 that spreads": (17, "float[m] x", "y", "o = Constant<value = float[1,2,1] {0.0, 0.0}>() y = Add(x, o)"),
    "times nearly 1": (17, "float[n,m] x", "y", "o = Constant<value_float=1.0001>() y = Mul(x, o)"),
    "1 minus": (17, "float[n,m] x", "y", "o = Constant<value_float=0.0>() y = Sub(o, x)"),
    "expand that decides": (17, "float[1,m] x, float[1,m] z, int64[2] s", "y", "a = Expand(x, s) y = Add(a, z)"),
    "pads of two modes": (17, "float[n,m] x", "y", "p = Constant<value_ints=[0,1,0,1]>() a = Pad(x, p) y = Pad<mode=\"edge\">(a, p)"),
    "random numbers": (17, "float[n,m] x", "y", "a = RandomNormalLike(x) b = RandomNormalLike(x) y = Sub(a, b)"),
    "transposes that do not cancel": (17, "float[n,m,4] x", "y", "a = Transpose<perm=[1,2,0]>(x) b = Hardmax<axis=0>(a) y = Transpose<perm=[2,0,1]>(b)"),
    "resize that rounds": (17, "float[1,3,n,m] x", "y", "r = Constant<value = float[0] {}>() s = Constant<value_floats=[1.0,1.0,1.01,1.01]>()"
                           " y = Resize<mode=\"linear\">(x, r, s)"),
    "a mean and another axis": (17, "float[n,m,8] x", "y", "i = Constant<value_ints=[0]>() a = ReduceMean<axes=[2], keepdims=0>(x) y = Unsqueeze(a, i)"),
    "the sum of the largest": (18, "float[n,m,8] x", "y",
                               "i = Constant<value_ints=[1]>() j = Constant<value_ints=[-1]>() a = ReduceMax<keepdims=1>(x, i) y = ReduceSum<keepdims=1>(a, j)"),
    "sums of sums": (18, "float[n,m,8] x", "y", "i = Constant<value_ints=[1]>() j = Constant<value_ints=[2]>() a = ReduceSum(x, i) y = ReduceSum(a, j)"),
    "factors that round": (17, "float[n,m] x", "y", "o = Constant<value_float=3.0>() l = Constant<value_float=0.1>() a = Mul(x, o) y = Mul(a, l)"),
    "numbers of two operators": (17, "int64[n,m] x", "y", "o = Constant<value_int=3>() l = Constant<value_int=5>() a = Add(x, o) y = Mul(a, l)"),
    "an einsum with a diagonal": (17, "float[n,n] x", "y", "y = Einsum<equation=\"ii->i\">(x)"),
    "an einsum that sums two axes": (17, "float[n,m,8] x, float[m,8,5] z", "y", "y = Einsum<equation=\"imj,mjk->ik\">(x, z)"),
    "an einsum that spreads": (17, "float[n,m,8] x, float[1,8,m] z", "y", "y = Einsum<equation=\"bij,bjk->bik\">(x, z)"),
    "quantized otherwise": (17, "float[n,m] x", "y", "k = Constant<value_float=0.25>() l = Constant<value_float=0.5>() z = Constant<value = int8 {3}>() q = QuantizeLinear(x, k, z)"
                            " d = DequantizeLinear(q, k, z) r = QuantizeLinear(d, l, z) y = DequantizeLinear(r, l, z)"),
    "a condition that spreads": (17, "bool[n,1] c, float[n,m] x", "y",
                                 "o = Constant<value_float=1.0>() l = Constant<value = float[1,1,1] {0.0}>() a = Where(c, o, l) y = Add(a, x)"),
    "limits the wrong way": (17, "float[n,m] x", "y", "h = Constant<value_float=-0.5>() l = Constant<value_float=0.25>() a = Max(x, l) y = Min(a, h)"),
}
DTYPES = {1: np.float32, 6: np.int32, 7: np.int64, 9: np.bool_, 10: np.float16, 11: np.float64}


def model_of(opset, inputs, result, body):
    text = f"""<ir_version: 9, opset_import: ["" : {opset}]> g ({inputs}) => ({result})
    {"<int64[1] i = {1}>" if "(x, i)" in body and "i = " not in body else ""} {{ {body} }}"""
    text = text.replace(f"=> ({result})", f"=> (float {result})")
    model = onnx.parser.parse_model(text)
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    return model


def typed(model):
    """The result's type, as ONNX infers it."""
    inferred = onnx.shape_inference.infer_shapes(onnx.ModelProto.FromString(_without_outputs(model).SerializeToString()))
    types = {v.name: v.type.tensor_type.elem_type for v in inferred.graph.value_info}
    for output in model.graph.output:
        output.type.tensor_type.elem_type = types.get(output.name, 1)
    return model


def _without_outputs(model):
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.output[:]
    return copy


def feeds(model, sizes, rng, integers=lambda rng, shape: rng.integers(-9, 9, shape)):
    """What the inputs take at these sizes, drawn; `integers`: the others than floats."""
    fed = {}
    for value in model.graph.input:
        tensor = value.type.tensor_type
        shape = [sizes[d.dim_param] if d.dim_param else d.dim_value for d in tensor.shape.dim]
        dtype = DTYPES[tensor.elem_type]
        if np.issubdtype(dtype, np.floating):
            fed[value.name] = rng.standard_normal(shape).astype(dtype)
        elif value.name == "s":  # a shape
            fed[value.name] = np.array([3, sizes["m"]])
        else:
            fed[value.name] = np.asarray(integers(rng, shape)).astype(dtype)
    return fed


def operators(path):
    return " ".join(node.op_type for node in onnx.load(path).graph.node)


def assert_equal_everywhere(before, after, random=False):
    model = onnx.load(before)
    one, other = session(before), session(after)
    assert [i.name for i in other.get_inputs()] == [i.name for i in one.get_inputs()]
    assert [i.shape for i in other.get_inputs()] == [i.shape for i in one.get_inputs()]
    assert [o.name for o in other.get_outputs()] == [o.name for o in one.get_outputs()]
    rng = np.random.default_rng(0)
    for sizes in SIZES:
        feed = feeds(model, sizes, rng)
        for wanted, got in zip(one.run(None, feed), other.run(None, feed), strict=True):
            assert got.dtype == wanted.dtype and got.shape == wanted.shape
            if not random:
                np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("name", MERGED)
def test_a_simplification(thaw, save, tmp_path, name):
    opset, inputs, result, body, left = MERGED[name]
    model = save(typed(model_of(opset, inputs, result, body)))
    out, again = tmp_path / "out.onnx", tmp_path / "again.onnx"
    report = thaw.json("optimize", model, "-o", out, "--no-check", "--level", "clean", code=0)
    assert operators(out) == left, report["changed"]
    assert_equal_everywhere(model, out)
    assert thaw.json("optimize", out, "-o", again, "--no-check", "--level", "clean", code=0)["changed"] == []
    assert again.read_bytes() == out.read_bytes()


@pytest.mark.parametrize("name", KEPT)
def test_what_only_looks_alike_stays(thaw, save, tmp_path, name):
    opset, inputs, result, body = KEPT[name]
    model = save(typed(model_of(opset, inputs, result, body)))
    out = tmp_path / "out.onnx"
    thaw("optimize", model, "-o", out, "--no-check", "--level", "clean", code=0)
    computed = [node.op_type for node in onnx.load(model).graph.node if node.op_type != "Constant"]
    assert operators(out) == " ".join(computed)
    if name != "expand that decides":
        assert_equal_everywhere(model, out, random=name == "random numbers")


def test_the_name_of_an_output_stays(thaw, save, tmp_path):
    model = save(typed(model_of(17, "float[n,m] x", "y", "a = Relu(x) y = Identity(a)")))
    out = tmp_path / "out.onnx"
    thaw("optimize", model, "-o", out, code=0)
    assert operators(out) == "Relu" and onnx.load(out).graph.output[0].name == "y"


def test_an_output_keeps_what_is_declared_of_it(thaw, save, tmp_path):
    """Also where what takes its place has a declaration of its own."""
    model = typed(model_of(17, "float[n,m] x", "y", "a = Relu(x) y = Identity(a)"))
    model.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("y", 1, ["n", 4]))
    model.graph.value_info.append(onnx.helper.make_tensor_value_info("a", 1, ["unk__3", None]))
    out = tmp_path / "out.onnx"
    thaw("optimize", save(model), "-o", out, "--no-check", code=0)
    assert operators(out) == "Relu" and onnx.load(out).graph.output[0] == model.graph.output[0]


def listed_weights(ir_version):
    """A convolution and its norm, all weights of which are inputs too, as some exporters list them."""
    rng = np.random.default_rng(0)
    weights = {"w": rng.standard_normal((4, 3, 3, 3)), **{name: rng.random(4) + 0.5 for name in ("s", "b", "u", "v")}}
    model = model_of(9, "float[n,3,h,h] x, float[4,3,3,3] w, float[4] s, float[4] b, float[4] u, float[4] v", "y",
                     "a = Conv(x, w) c = BatchNormalization(a, s, b, u, v) y = Relu(c)")
    model.ir_version = ir_version
    model.graph.initializer.extend(onnx.numpy_helper.from_array(w.astype(np.float32), name) for name, w in weights.items())
    return model


def test_weights_that_a_caller_may_replace_stay_unless_asked(thaw, save, tmp_path):
    path, out, again = save(listed_weights(4)), tmp_path / "out.onnx", tmp_path / "again.onnx"
    report = thaw.json("optimize", path, "-o", out, code=0)
    assert operators(out) == "Conv BatchNormalization Relu" and report["overridable_initializers"] == 5
    assert "5 weights are also inputs" in thaw("optimize", path, "-o", out, code=0).stdout
    report = thaw.json("optimize", path, "-o", out, "--constant-weights", code=0)
    assert operators(out) == "Conv Relu" and report["overridable_initializers"] == 0 and all(c["agrees"] for c in report["checks"])
    assert [i.name for i in onnx.load(out).graph.input] == ["x"]
    x = np.random.default_rng(1).standard_normal((2, 3, 9, 9)).astype(np.float32)
    np.testing.assert_allclose(session(path).run(None, {"x": x})[0], session(out).run(None, {"x": x})[0], rtol=1e-4, atol=1e-5)
    assert thaw.json("optimize", out, "-o", again, "--constant-weights", code=0)["changed"] == []


def test_weights_of_an_old_file_are_constants(thaw, save, tmp_path):
    path, out = save(listed_weights(3)), tmp_path / "out.onnx"
    report = thaw.json("optimize", path, "-o", out, code=0)
    assert operators(out) == "Conv Relu" and report["overridable_initializers"] == 0


def test_an_old_file_that_needs_nothing_stays_as_it_is(thaw, save, tmp_path):
    model = model_of(9, "float[n,3,h,h] x, float[4,3,3,3] w", "y", "y = Conv(x, w)")
    model.ir_version = 3
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.random.default_rng(0).standard_normal((4, 3, 3, 3)).astype(np.float32), "w"))
    path, out = save(model), tmp_path / "out.onnx"
    assert thaw.json("optimize", path, "-o", out, code=0)["changed"] == []
    assert onnx.load(out) == onnx.load(path)


def test_an_input_that_is_returned_stays_an_identity(thaw, save, tmp_path):
    model = save(typed(model_of(17, "float[n,m] x", "y", "y = Identity(x)")))
    out = tmp_path / "out.onnx"
    report = thaw.json("optimize", model, "-o", out, code=0)
    assert report["changed"] == [] and onnx.load(out) == onnx.load(model)


def test_a_frozen_size_is_not_written_twice(thaw, save, tmp_path):
    """A shape read from what an earlier constant froze is no constant."""
    body = ("t = Constant<value_ints=[1,4,8]>() a = Reshape(x, t) s = Shape(a) z = Constant<value_int=2>() b = Gather(s, z)"
            " i = Constant<value_ints=[0]>() c = Unsqueeze(b, i) l = Constant<value_ints=[-1]>() u = Concat<axis=0>(l, c) y = Reshape(a, u)")
    model = save(typed(model_of(17, "float[n,m] x", "y", body)))
    out = tmp_path / "out.onnx"
    thaw("optimize", model, "-o", out, "--no-check", "--level", "clean", code=0)
    targets = [onnx.numpy_helper.to_array(i).tolist() for i in onnx.load(out).graph.initializer]
    assert [-1, 8] not in targets


def test_a_size_that_keeps_its_place_is_written_beside_frozen_ones(thaw, save, tmp_path):
    """Of the very tensor that is reshaped; another one's may be frozen, or of another size elsewhere."""
    frozen = "t = Constant<value_ints=[1,4,8]>() a = Reshape(x, t) z = Constant<value_int=0>() i = Constant<value_ints=[0]>() l = Constant<value_ints=[-1]>()"
    parts = " s = Shape({}) b = Gather(s, {}) c = Unsqueeze(b, i) u = Concat<axis=0>({}) y = Reshape(a, u)"
    out = tmp_path / "out.onnx"
    for of, place, order, left in (("a", "z", "c, l", "Reshape"), ("x", "z", "c, l", "Reshape Shape Gather Unsqueeze Concat Reshape"),
                                   ("a", "z", "l, c", "Reshape Shape Gather Unsqueeze Concat Reshape")):
        thaw("optimize", save(typed(model_of(17, "float[1,n,m] x", "y", frozen + parts.format(of, place, order)))), "-o", out, "--no-check", "--level", "clean", code=0)
        assert operators(out) == left, (of, order)


def test_equal_weights_are_stored_once_and_a_tied_one_stays_one(thaw, save, tmp_path):
    rng = np.random.default_rng(0)
    weight = rng.standard_normal((64, 64)).astype(np.float32)
    other = weight.copy()
    other[30, 30] += 1  # the ends are the same
    initializers = [onnx.numpy_helper.from_array(w, name) for name, w in (("w", weight), ("v", weight), ("u", other))]
    nodes = [onnx.helper.make_node("MatMul", ["x", "w"], ["a"]), onnx.helper.make_node("MatMul", ["a", "v"], ["b"]),
             onnx.helper.make_node("MatMul", ["b", "u"], ["y"])]
    graph = onnx.helper.make_graph(nodes, "g", [onnx.helper.make_tensor_value_info("x", 1, ["n", 64])],
                                   [onnx.helper.make_tensor_value_info("y", 1, ["n", 64])], initializers)
    model = save(onnx.helper.make_model(graph, ir_version=9, opset_imports=[onnx.helper.make_opsetid("", 17)]))
    out = tmp_path / "out.onnx"
    report = thaw.json("optimize", model, "-o", out, code=0)
    assert sorted(i.name for i in onnx.load(out).graph.initializer) == ["u", "w"]
    assert report["weight_bytes_after"] == report["weight_bytes_before"] * 2 // 3
    assert all(check["agrees"] for check in report["checks"])


def test_folding_does_not_let_the_file_grow(thaw, save, tmp_path):
    body = "s = Constant<value_ints=[256,256]>() c = ConstantOfShape(s) e = Exp(c) y = MatMul(x, e)"
    model = save(typed(model_of(17, "float[n,256] x", "y", body)))
    out = tmp_path / "out.onnx"
    thaw("optimize", model, "-o", out, "--no-check", "--level", "clean", code=0)
    assert "ConstantOfShape" in operators(out) and out.stat().st_size < 2000
    thaw("optimize", model, "-o", out, "--no-check", "--max-growth", "1mb", code=0)
    assert operators(out) == "MatMul" and out.stat().st_size > 256 * 256 * 4


@pytest.mark.parametrize("others", [False, True])
def test_a_weight_that_is_cut_and_joined_again_is_one(thaw, save, tmp_path, others):
    # As LSTMs are exported, their gates in another order: nothing else reads the weight, in however many parts it is read.
    body = """a = Constant<value_ints=[0]>() b = Constant<value_ints=[20]>() c = Constant<value_ints=[40]>() d = Constant<value_ints=[60]>()
      i = Slice(w, a, b, a) f = Slice(w, c, d, a) o = Slice(w, b, c, a) j = Concat<axis=0>(i, f, o) t = Transpose<perm=[1,0]>(j) y = MatMul(x, t)"""
    if others:
        body = body.replace("y = MatMul(x, t)", "m = MatMul(x, t) k = Slice(w, a, d, a) n = Neg(k) s = ReduceSum<keepdims=0>(x) q = Mul(n, s) r = MatMul(q, m2) y = Add(m, r)")
    made = model_of(18, "float[n,64] x, float[64,60] m2" if others else "float[n,64] x", "y", body)
    made.graph.initializer.append(onnx.numpy_helper.from_array(np.random.default_rng(0).standard_normal((60, 64), np.float32), "w"))
    model, out = save(typed(made)), tmp_path / "out.onnx"
    thaw("optimize", model, "-o", out, "--no-check", "--level", "clean", code=0)
    assert ("Slice" in operators(out)) == others
    assert out.stat().st_size < 60 * 64 * 4 + 3000


def test_a_weight_that_both_branches_cut_alike_is_cut_once(thaw, save, tmp_path):
    # As models for two rates of sampling are exported: each branch has its own numbers, and the weight is theirs together.
    branch = """{ a = Constant<value_ints=[0]>() b = Constant<value_ints=[20]>() c = Constant<value_ints=[40]>() d = Constant<value_ints=[60]>()
      i = Slice(w, a, b, a) f = Slice(w, c, d, a) o = Slice(w, b, c, a) j = Concat<axis=0>(i, f, o) t = Transpose<perm=[1,0]>(j) m = MatMul(x, t) r = OP(m) }"""
    made = onnx.parser.parse_model(f"""<ir_version: 9, opset_import: ["" : 17]> g (float[n,64] x, bool go) => (float[n,60] y) {{
      y = If(go) <then_branch = p () => (float[n,60] r) {branch.replace("OP", "Exp")}, else_branch = q () => (float[n,60] r) {branch.replace("OP", "Neg")}> }}""")
    made.graph.initializer.append(onnx.numpy_helper.from_array(np.random.default_rng(0).standard_normal((60, 64), np.float32), "w"))
    model, out, again = save(made), tmp_path / "out.onnx", tmp_path / "again.onnx"
    thaw("optimize", model, "-o", out, "--level", "clean", code=0)
    inside = [node.op_type for attribute in onnx.load(out).graph.node[0].attribute for node in attribute.g.node]
    assert operators(out) == "If" and sorted(inside) == ["Exp", "MatMul", "MatMul", "Neg"]
    assert out.stat().st_size < model.stat().st_size
    assert thaw.json("optimize", out, "-o", again, "--level", "clean", code=0)["changed"] == []
    for go in (True, False):
        fed = {"x": np.random.default_rng(1).standard_normal((3, 64)).astype(np.float32), "go": np.array(go)}
        np.testing.assert_allclose(session(model).run(None, fed)[0], session(out).run(None, fed)[0], rtol=1e-5)


@pytest.mark.parametrize("zeros", [True, False])
def test_zeros_that_a_recurrence_begins_with_go(thaw, save, tmp_path, zeros):
    """As PyTorch exports them: as many as the batch asks for. Anything else stays."""
    made = model_of(17, "float[n,m,4] x", "y, float h", """s = Shape(x) z = Constant<value_int=1>() b = Gather(s, z) i = Constant<value_ints=[0]>() c = Unsqueeze(b, i)
      o = Constant<value_ints=[1]>() l = Constant<value_ints=[3]>() t = Concat<axis=0>(o, c, l) k = ConstantOfShape VALUE(t) y, h = LSTM<hidden_size=3>(x, w, r, e, , k, k)"""
                    .replace("VALUE", "" if zeros else "<value = float[1] {0.5}>"))
    rng = np.random.default_rng(0)
    made.graph.initializer.extend(onnx.numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)
                                  for name, shape in (("w", (1, 12, 4)), ("r", (1, 12, 3)), ("e", (1, 24))))
    model, out = save(made), tmp_path / "out.onnx"
    thaw("optimize", model, "-o", out, "--level", "clean", code=0)
    assert (operators(out) == "LSTM") == zeros
    assert_equal_everywhere(model, out)


def test_a_branch_that_is_known_is_taken(thaw, save, tmp_path):
    then = onnx.helper.make_graph([onnx.helper.make_node("Exp", ["x"], ["t"])], "then", [], [onnx.helper.make_tensor_value_info("t", 1, None)])
    other = onnx.helper.make_graph([onnx.helper.make_node("Neg", ["x"], ["e"])], "else", [], [onnx.helper.make_tensor_value_info("e", 1, None)])
    yes = onnx.numpy_helper.from_array(np.array(True), "yes")
    nodes = [onnx.helper.make_node("If", ["yes"], ["a"], then_branch=then, else_branch=other), onnx.helper.make_node("Abs", ["a"], ["y"])]
    graph = onnx.helper.make_graph(nodes, "g", [onnx.helper.make_tensor_value_info("x", 1, ["n", "m"])],
                                   [onnx.helper.make_tensor_value_info("y", 1, None)], [yes])
    model = save(onnx.helper.make_model(graph, ir_version=9, opset_imports=[onnx.helper.make_opsetid("", 17)]))
    out = tmp_path / "out.onnx"
    thaw("optimize", model, "-o", out, code=0)
    assert operators(out) == "Exp Abs"
    assert_equal_everywhere(model, out)


def test_passes_are_chosen_by_name(thaw, save, tmp_path):
    body = "a = Identity(x) b = Exp(a) c = Exp(a) y = Sub(b, c)"
    model = save(typed(model_of(17, "float[n,m] x", "y", body)))
    out = tmp_path / "out.onnx"
    thaw("optimize", model, "-o", out, "--only", "identities", code=0)
    assert operators(out) == "Exp Exp Sub"
    thaw("optimize", model, "-o", out, "--skip", "identities", code=0)
    assert operators(out) == "Identity Exp Sub"
    message = thaw.error("optimize", model, "-o", out, "--only", "identites")
    assert "there is no pass 'identites' (did you mean 'identities'?)" in message and "share-nodes" in message and "--only" in message


def test_fewer_bytes_than_none_are_refused(thaw, save):
    message = thaw.error("optimize", save(typed(model_of(17, "float[n,m] x", "y", "y = Neg(x)"))), "--dry-run", "--max-growth", "-1")
    assert "--max-growth" in message and "'-1'" in message


def test_the_text_says_what_was_done_and_where(thaw, save, tmp_path):
    model = save(typed(model_of(17, "float[n,m] x", "y", "a = Identity(x) b = Exp(a) c = Exp(a) y = Sub(b, c)")))
    out = tmp_path / "out.onnx"
    text = thaw("optimize", model, "-o", out, code=0).stdout
    assert "nodes: 4 -> 2" in text and "drop an Identity" in text and f"wrote {out}" in text
    assert "agrees with the original at" in text
    dry = thaw("optimize", model, "--dry-run", "--explain", code=0).stdout
    assert "compute once" in dry and "dry run; nothing was written" in dry
    report = json.loads(thaw("optimize", model, "--dry-run", "--format", "json", code=0).stdout)
    assert (report["nodes_before"], report["nodes_after"], report["output"]) == (4, 2, None)
    # Nine tensors of 64 x 64 numbers are read and written, and five in the end.
    assert "bytes read and written, each free size 64: 0.15 MB -> 0.08 MB" in dry
    moved = json.loads(thaw("optimize", model, "--dry-run", "--explain", "--format", "json", code=0).stdout)
    assert (moved["bytes_moved_before"], moved["bytes_moved_after"]) == (9 * 64 * 64 * 4, 5 * 64 * 64 * 4)
    assert moved["nodes_without_bytes_moved_before"] == moved["nodes_without_bytes_moved_after"] == 0


def test_what_cannot_be_compared_is_not_written(thaw, save, tmp_path):
    """A model that ONNX Runtime does not run, as of an operator that it does not know."""
    text = """<ir_version: 9, opset_import: ["" : 17, "elsewhere" : 1]> g (float[n,m] x) => (float[n,m] y) { a = Identity(x) b = elsewhere.Unknown(a) y = Neg(b) }"""
    model, out = save(onnx.parser.parse_model(text)), tmp_path / "out.onnx"
    said = thaw("optimize", model, "-o", out, code=1).stdout
    assert "the original does not run here" in said and "nothing was written" in said and not out.exists()
    assert "--values" in said and "--no-check" in said
    report = thaw.json("optimize", model, "-o", out, code=1)
    assert report["not_compared"] and report["output"] is None and report["changed"]
    thaw("optimize", model, "-o", out, "--no-check", code=0)
    assert operators(out) == "Unknown Neg"
    again = tmp_path / "again.onnx"
    thaw("optimize", out, "-o", again, code=0)  # needs nothing, so that there is nothing to compare
    assert again.read_bytes() == out.read_bytes()


def test_one_size_alone_is_said_in_a_whole_sentence(thaw, save, tmp_path):
    text = """<ir_version: 9, opset_import: ["" : 17]> g (float[n,3] x) => (float[4,3] y) <int64[2] s = {4, 3}> { a = Reshape(x, s) b = Neg(a) y = Neg(b) }"""
    report = thaw.json("optimize", save(onnx.parser.parse_model(text)), "-o", tmp_path / "out.onnx", code=0)
    assert [line for line in report["not_compared"] if line.startswith("no other size")] == ["no other size was found at which it runs"]


# Patches that come in windows of two by two, as a tower takes them: the grid says how many there are.
PATCHES = """<ir_version: 9, opset_import: ["" : 17]> g (float[n,4] x, int64[k,3] grid) => (float[a,b,c] y) <int64[1] last = {-1}, int64[1] four = {4}, int64 zero = {0}, int64 one = {1}, int64 two = {2}> {
  row = Gather(grid, zero) t = Gather(row, zero) h = Gather(row, one) w = Gather(row, two) h2 = Div(h, two) w2 = Div(w, two)
  axis = Constant<value_ints=[0]>()
  tt = Unsqueeze(t, axis) hh = Unsqueeze(h2, axis) ww = Unsqueeze(w2, axis) pair = Constant<value_ints=[2]>()
  shape = Concat<axis=0>(tt, hh, pair, ww, pair, four) p = Reshape(x, shape) q = Transpose<perm=[0,1,3,2,4,5]>(p)
  s = Constant<value_ints=[0,-1,16]>() r = Reshape(q, s) e = Neg(r) y = Neg(e) }"""


def test_a_tower_is_compared_at_grids_that_its_patches_fill(thaw, save, tmp_path):
    report = thaw.json("optimize", save(onnx.parser.parse_model(PATCHES)), "-o", tmp_path / "out.onnx", code=0)
    assert [check["case"] for check in report["checks"]] == ["n=4", "n=64"] and report["not_compared"] == []


def test_a_trace_of_a_tower_is_compared_at_its_own_grid(thaw, save, tmp_path):
    model = onnx.parser.parse_model(PATCHES.replace("p = Reshape(x,", "moved = Add(x, table) p = Reshape(moved,"))
    table = np.random.default_rng(1).standard_normal((60, 4)).astype(np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(table, "table"))
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 60
    report = thaw.json("optimize", save(model), "-o", tmp_path / "out.onnx", code=0)
    assert len(report["checks"]) == 1 and report["checks"][0]["agrees"]


def test_what_runs_with_one_mask_only_is_given_it(thaw, save, tmp_path):
    """Lists of lengths that were traced with so many places of a mask, as many as no other mask has."""
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        g (float[rows,4] x, int64[rows] mask) => (float[first,4] y, float[second,4] z) {
          zero = Constant<value_ints=[0]>() lengths = Constant<value_ints=[5,2]>()
          at = NonZero(mask) places = Squeeze(at, zero) kept = Gather<axis=0>(x, places) same = Identity(kept)
          y, b = Split<axis=0>(same, lengths) z = Neg(b) }""")
    path, out = save(model), tmp_path / "out.onnx"
    mask = np.zeros(11, np.int64)
    mask[:7] = 1
    np.save(tmp_path / "mask.npy", mask)
    np.savez(tmp_path / "all.npz", mask=mask, x=np.arange(44, dtype=np.float32).reshape(11, 4))
    assert "--input" in thaw("optimize", path, "-o", out, code=1).stdout and not out.exists()
    for given in (f"mask={tmp_path / 'mask.npy'}", tmp_path / "all.npz"):
        thaw("optimize", path, "-o", out, "--input", given, code=0)
        assert "Identity" not in [n.op_type for n in onnx.load(out).graph.node]
        out.unlink()
    thaw("split", path, "-o", tmp_path / "parts", "--at", "kept", "--input", tmp_path / "all.npz", code=0)
    message = thaw.error("optimize", path, "-o", out, "--input", f"maks={tmp_path / 'mask.npy'}")
    assert "maks" in message and not out.exists()
