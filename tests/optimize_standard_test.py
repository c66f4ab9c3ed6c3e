"""Operators of com.microsoft in ONNX's own: each that is lowered, its attributes varied, beside ONNX Runtime's kernel of it."""
import itertools

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from conftest import run

MS = "com.microsoft"
random = np.random.default_rng(5)
OPSETS = (13, 17, 21, 23)


def f(*shape):
    return random.standard_normal(shape).astype(np.float32)


def u8(*shape):
    return random.integers(0, 200, shape).astype(np.uint8)


def i8(*shape):
    return random.integers(-90, 90, shape).astype(np.int8)


def i32(*values):
    return np.array(values, np.int32)


def i64(*values):
    return np.array(values, np.int64)


def ids(rows, columns, top):
    return random.integers(0, top, (rows, columns)).astype(np.int32)


def each(**options):
    """Dicts with every combination of the options; None leaves one out."""
    for values in itertools.product(*options.values()):
        yield {k: v for k, v in zip(options, values) if v is not None}


S, S2, S3 = np.float32(0.05), np.float32(0.03), np.float32(0.06)
Z, Z8 = np.uint8(100), np.int8(3)
ACTIVATIONS = [{"activation": "Relu"}, {"activation": "Tanh"}, {"activation": "Sigmoid"},
               {"activation": "LeakyRelu", "activation_params": [0.2]}, {"activation": "Clip", "activation_params": [-0.3, 0.8]},
               {"activation": "HardSigmoid", "activation_params": [0.3, 0.4]}]
GEMM_ACTIVATIONS = [{"activation": "Relu"}, {"activation": "Tanh"}, {"activation": "Sigmoid"}, {"activation": "Softplus"},
                    {"activation": "Softsign"}, {"activation": "LeakyRelu", "activation_alpha": 0.2},
                    {"activation": "Elu", "activation_alpha": 0.7}, {"activation": "ThresholdedRelu", "activation_alpha": 0.4},
                    {"activation": "HardSigmoid", "activation_alpha": 0.3, "activation_beta": 0.4},
                    {"activation": "Selu", "activation_alpha": 1.5, "activation_gamma": 1.1}]
MATMUL = {(0, 0): (f(2, 4, 3, 5), f(2, 4, 5, 7)), (1, 0): (f(2, 4, 5, 3), f(2, 4, 5, 7)),
          (0, 1): (f(2, 4, 3, 5), f(2, 4, 7, 5)), (1, 1): (f(2, 4, 5, 3), f(2, 4, 7, 5))}


def moved(x):
    """The first axis of the matrices before those of the batch: what transBatch moves back."""
    return np.ascontiguousarray(np.moveaxis(x, -2, 0))


def cases():
    """(operator, operands, attributes, number of outputs, domain)"""
    x, bias = f(2, 5, 12), f(12)
    yield "Gelu", [x], {}, 1
    for options in each(alpha=[None, 1.0, 0.5]):
        yield "QuickGelu", [x], options, 1
    for op, more in itertools.product(("FastGelu", "BiasGelu"), ([bias], [])):
        if op == "FastGelu" or more:
            yield op, [x, *more], {}, 1
    for options in each(transA=[None, 1], transB=[None, 1], alpha=[None, 0.25], transBatchA=[None, 1], transBatchB=[None, 1]):
        a, b = MATMUL[(options.get("transA", 0), options.get("transB", 0))]
        a, b = moved(a) if options.get("transBatchA") else a, moved(b) if options.get("transBatchB") else b
        yield "FusedMatMul", [a, b], options, 1
    yield "TransposeMatMul", [f(2, 5, 3), f(2, 5, 7)], {"transA": 1, "alpha": 2.0}, 1
    for activation, options, with_c in itertools.product(GEMM_ACTIVATIONS, each(transA=[None, 1], transB=[None, 1]), (True, False)):
        a, b = f(*((5, 3) if options.get("transA") else (3, 5))), f(*((7, 5) if options.get("transB") else (5, 7)))
        yield "FusedGemm", [a, b, *([f(7)] if with_c else [])], {"alpha": 0.5, "beta": 2.0, **activation, **options}, 1
    for activation, options, more in itertools.product(ACTIVATIONS, each(strides=[None, [2, 1]], pads=[None, [1, 0, 2, 1]], group=[None, 2]),
                                                       ("", "b", "bz")):
        image, w = f(2, 4, 9, 7), f(6, 4 // options.get("group", 1), 3, 3)
        pads, strides = options.get("pads", [0] * 4), options.get("strides", [1, 1])
        out = [(n + pads[i] + pads[i + 2] - 3) // strides[i] + 1 for i, n in enumerate((9, 7))]
        operands = [image, w] + ([f(6)] if "b" in more else []) + ([f(2, 6, *out)] if "z" in more else [])
        yield "FusedConv", operands, {**activation, **options}, 1
    yield "FusedConv", [f(2, 4, 9), f(6, 4, 3)], {"activation": "Relu", "auto_pad": "SAME_UPPER"}, 1
    skip, gamma, beta = f(2, 5, 12), f(12), f(12)
    for more, outputs, options in itertools.product(([], [beta], [beta, bias], [None, bias]), (1, 4), each(epsilon=[None, 1e-3])):
        yield "SkipLayerNormalization", [x, skip, gamma, *more], options, outputs
    yield "SkipLayerNormalization", [x, f(1, 5, 12), gamma, beta], {"epsilon": 1e-5}, 1
    yield "SkipLayerNormalization", [x, f(5, 12), gamma, beta], {"epsilon": 1e-5}, 1
    yield "SkipLayerNormalization", [f(5, 12), f(5, 12), gamma, beta], {"epsilon": 1e-5}, 1
    for more, outputs, options in itertools.product(([], [bias]), (1, 4), each(epsilon=[None, 1e-3])):
        yield "SkipSimplifiedLayerNormalization", [x, skip, gamma, *more], options, outputs
    yield "SimplifiedLayerNormalization", [x, gamma], {"epsilon": 1e-4}, 1, ""
    words, places, kinds, tokens = f(20, 12), f(9, 12), f(3, 12), ids(2, 5, 20)
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    for segments, masks, positions, outputs in itertools.product((True, False), (True, False), (True, False), (2, 3)):
        operands = [tokens, ids(2, 5, 3) if segments else None, words, places, kinds if segments else None, gamma, beta,
                    mask if masks else None, ids(2, 5, 9) if positions else None]
        yield "EmbedLayerNormalization", operands, {"epsilon": 1e-5}, outputs
    cos, sin = f(9, 2), f(9, 2)
    for options, at in itertools.product(each(interleaved=[None, 1]), (i64(3), np.array([[0, 1, 2, 3, 4], [2, 3, 4, 5, 6]], np.int64))):
        yield "RotaryEmbedding", [f(2, 5, 12), at, cos, sin], options, 1
        yield "RotaryEmbedding", [f(2, 3, 5, 4), at, cos, sin], options, 1
        yield "RotaryEmbedding", [f(2, 5, 18), at, cos, sin], {**options, "num_heads": 3, "rotary_embedding_dim": 4}, 1
    for a, b, z in ((u8(2, 5, 7), u8(2, 5, 7), Z), (i8(5, 7), i8(7), Z8), (u8(2, 5, 7), u8(1, 5, 1), Z)):
        for op in ("QLinearAdd", "QLinearMul"):
            yield op, [a, S, z, b, S2, z, S3, z], {}, 1
    for a, z in ((u8(2, 5, 7), Z), (i8(5, 7), Z8)):
        yield "QLinearSigmoid", [a, S, z, np.float32(1 / 256), z], {}, 1
        yield "QLinearLeakyRelu", [a, S, z, S2, z], {"alpha": 0.2}, 1
        yield "QLinearConcat", [S3, z, a, S, z, a, S2, z], {"axis": 1}, 1
        yield "QLinearWhere", [np.array(random.integers(0, 2, a.shape), bool), a, S, z, a, S2, z, S3, z], {}, 1
    yield "QLinearGlobalAveragePool", [u8(2, 4, 5, 7), S, Z, S2, Z], {"channels_last": 0}, 1
    yield "QLinearAveragePool", [u8(2, 4, 5, 7), S, Z, S2, Z], {"channels_last": 0, "kernel_shape": [3, 2], "strides": [2, 1]}, 1
    for more in ([], [Z], [Z, Z8], [Z, Z8, f(7)], [None, None, f(7)]):
        yield "MatMulIntegerToFloat", [u8(3, 5), i8(5, 7), S, S2, *more], {}, 1
    yield "MatMulIntegerToFloat", [u8(2, 3, 5), i8(5, 7), S, np.abs(f(7)), Z, i8(7), f(7)], {}, 1
    yield "QuantizeLinear", [f(2, 5), S, Z], {}, 1
    yield "QuantizeLinear", [f(2, 5), np.abs(f(5)), u8(5)], {"axis": 1}, 1
    yield "DequantizeLinear", [u8(2, 5), S, Z], {}, 1
    yield "DequantizeLinear", [i8(2, 5), np.abs(f(2)), i8(2)], {"axis": 0}, 1
    for options in each(upper=[None, 0, 1]):
        yield "Trilu", [f(2, 5, 7), i64(1).reshape(())], options, 1
    for mode in ("constant", "reflect", "edge"):
        yield "Pad", [f(2, 5), i64(1, 0, 1, 2)] + ([np.float32(3)] if mode == "constant" else []), {"mode": mode}, 1
    yield "ExpandDims", [f(2, 5), i32(1).reshape(())], {}, 1
    for mode, padding, corners in itertools.product(("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (0, 1)):
        yield "GridSample", [f(2, 3, 5, 7), random.uniform(-1.2, 1.2, (2, 4, 6, 2)).astype(np.float32)], {
            "mode": mode, "padding_mode": padding, "align_corners": corners}, 1
    for metric in ("euclidean", "sqeuclidean"):
        yield "CDist", [f(4, 3), f(6, 3)], {"metric": metric}, 1


def constant_operand(op, i):
    """Operands that kernels, or ONNX before some opset, want as constants."""
    return (op == "ExpandDims" and i == 1) or (op == "Pad" and i > 0) or op.startswith("Q") or op in ("MatMulIntegerToFloat", "DequantizeLinear")


def model_of(op, operands, attributes, outputs, domain, opset):
    names = ["" if x is None else f"in{i}" for i, x in enumerate(operands)]
    results = [f"out{i}" if outputs < 4 or i in (0, 3) else "" for i in range(outputs)]
    node = helper.make_node(op, names, results, domain=domain, **attributes)
    inputs, constants, feeds = [], [], {}
    for i, (name, x) in enumerate(zip(names, operands)):
        if x is None:
            continue
        x = np.asarray(x)
        if constant_operand(op, i) and (x.ndim < 2 or i == 1):
            constants.append(numpy_helper.from_array(x, name))
        else:
            feeds[name] = x
            inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape))
    graph = helper.make_graph([node], "g", inputs, [helper.make_empty_tensor_value_info(r) for r in results if r], constants)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid(MS, 1), helper.make_opsetid("com.microsoft.nchwc", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10), feeds


CASES = [(*case, MS) if len(case) == 4 else case for case in cases()]


def chunks():
    """By operator; the long lists in parts, so that a test says where it fails."""
    names = list(dict.fromkeys(case[0] for case in CASES))
    return [(name, [case for case in CASES if case[0] == name]) for name in names]


# At which opsets ONNX has what an operator stands for.
FIRST = {"GridSample": 16, "Trilu": 14}


@pytest.mark.parametrize("name,own", chunks(), ids=[name for name, _ in chunks()])
def test_says_the_same_in_onnx(thaw, tmp_path, name, own):
    ran = 0
    for number, (op, operands, attributes, outputs, domain) in enumerate(own):
        opsets = [o for o in OPSETS if o >= FIRST.get(name, 0)]
        # Every opset once, then one after another.
        for opset in opsets if number == 0 else [opsets[number % len(opsets)]]:
            model, feeds = model_of(op, operands, attributes, outputs, domain, opset)
            expected = run(model, feeds)
            given, out = tmp_path / "given.onnx", tmp_path / "out.onnx"
            onnx.save(model, given)
            thaw("optimize", given, "-o", out, "--target", "portable", "--only", "standard", "--no-check", code=0)
            made = onnx.load(out)
            assert {n.domain for n in made.graph.node} <= {""}, (attributes, opset)
            assert [i.domain for i in made.opset_import] == [""]
            for a, b in zip(expected, run(made, feeds)):
                assert a.dtype == b.dtype and a.shape == b.shape
                near = 1 if a.dtype.kind in "iu" and name.startswith("QLinear") else 3e-5
                np.testing.assert_allclose(b.astype(np.float64), a.astype(np.float64), rtol=3e-5, atol=near, err_msg=f"{attributes} {opset}")
            ran += 1
    assert ran >= len(own)


def gelu(x):
    from math import erf
    return x * 0.5 * (1 + np.vectorize(erf)(x / np.sqrt(2)))


def gelu_by_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))


X, BIAS, W = f(2, 5, 12), f(12), f(12, 8)
NO_KERNEL = {  # on ONNX Runtime's CPU: held against the definition
    "BiasAdd": ([X, BIAS, X[::-1].copy()], lambda x, b, skip: x + b + skip),
    "BiasSplitGelu": ([X, BIAS], lambda x, b: (x + b)[..., :6] * gelu((x + b)[..., 6:])),
    "GemmFastGelu": ([X, W, f(8)], lambda x, w, b: gelu_by_tanh(x @ w + b)),
}


@pytest.mark.parametrize("opset", [13, 20])
@pytest.mark.parametrize("op", NO_KERNEL)
def test_follows_the_definition(thaw, save, tmp_path, op, opset):
    operands, definition = NO_KERNEL[op]
    model, feeds = model_of(op, operands, {}, 1, MS, opset)
    thaw("optimize", save(model), "-o", tmp_path / "out.onnx", "--target", "portable", "--no-check", code=0)
    np.testing.assert_allclose(run(onnx.load(tmp_path / "out.onnx"), feeds)[0], definition(*operands), rtol=1e-4, atol=1e-5)


def test_inside_a_branch_and_of_what_the_branch_returns(thaw, save, tmp_path):
    text = """<ir_version: 9, opset_import: ["" : 17, "com.microsoft" : 1]> g (float[n,m] x, bool go) => (float[n,m] y) {
      y = If(go) <then_branch = a () => (float[n,m] t) { t = com.microsoft.Gelu(x) },
                  else_branch = b () => (float[n,m] e) { e = com.microsoft.QuickGelu<alpha=1.5>(x) }> }"""
    model, out = onnx.parser.parse_model(text), tmp_path / "out.onnx"
    thaw("optimize", save(model), "-o", out, code=0)
    made = onnx.load(out)
    assert [i.domain for i in made.opset_import] == [""]
    for go in (True, False):
        feeds = {"x": f(3, 4), "go": np.array(go)}
        np.testing.assert_allclose(run(made, feeds)[0], run(model, feeds)[0], rtol=1e-5, atol=1e-6)


LEFT = """<ir_version: 9, opset_import: ["" : 17, "com.microsoft" : 1]> g (float[2,3,12] x, float[2,3,12] s, float[12] w) => (y, m) {
  y, m = com.microsoft.SkipLayerNormalization(x, s, w) }"""


def test_what_has_no_equal_is_said(thaw, save, tmp_path):
    """Its statistics are no output of ONNX's. A target that was asked for by name counts in the exit code."""
    model = onnx.parser.parse_model(LEFT)
    for value in model.graph.output:
        value.type.tensor_type.elem_type = TensorProto.FLOAT
    path, out = save(model), tmp_path / "out.onnx"
    report = thaw.json("optimize", path, "-o", out, "--no-check", "--target", "portable", code=1)
    assert [finding["code"] for finding in report["findings"]] == ["THAW030"]
    assert ["standard", "its statistics are outputs"] in [[left["pass"], left["message"]] for left in report["missed"]]
    text = thaw("optimize", path, "-o", out, "--no-check", code=0).stdout
    assert "unsupported by a portable runtime" in text and "THAW030" in text
    assert not thaw.json("optimize", path, "-o", out, "--no-check", "--target", "ort", code=0)["findings"]


def test_onnx_runtime_keeps_its_own(thaw, save, tmp_path):
    model, _ = model_of("FusedMatMul", [f(2, 3, 5), f(2, 5, 4)], {"alpha": 0.5}, 1, MS, 17)
    thaw("optimize", save(model), "-o", tmp_path / "out.onnx", "--target", "ort", code=0)
    assert [n.op_type for n in onnx.load(tmp_path / "out.onnx").graph.node] == ["FusedMatMul"]
