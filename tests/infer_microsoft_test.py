"""The shape rules of com.microsoft against ONNX Runtime: each operator at sizes that are distinct, its inputs' dims as symbols."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper

sys.path.insert(0, os.path.dirname(__file__))
import infer_node_test as nodes

random = np.random.default_rng(11)
MS = "com.microsoft"


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


def ones(*shape):
    return np.ones(shape, np.int32)


S = np.float32(0.05)  # a scale
Z = np.uint8(100)     # a zero point
Z8 = np.int8(3)
B, L, P, N, H = 2, 5, 7, 3, 4  # batch, sequence, past, heads, head size
D = N * H


def ids(rows, columns, top):
    return random.integers(0, top, (rows, columns)).astype(np.int32)


# operator: (inputs, attributes, number of outputs); names may repeat with a suffix after a space.
CASES = {
    "Attention": ([f(B, L, 11), f(11, 3 * D), f(3 * D)], {"num_heads": N}, 2),
    "Attention past": ([f(B, L, 11), f(11, 3 * D), f(3 * D), None, f(2, B, N, P, H)], {"num_heads": N}, 2),
    "Attention unequal": ([f(B, L, 11), f(11, 2 * D + 2 * N), f(2 * D + 2 * N)],
                          {"num_heads": N, "qkv_hidden_sizes": [D, D, 2 * N]}, 1),
    "Attention mask": ([f(B, L, 11), f(11, 3 * D), f(3 * D), ones(B, L)], {"num_heads": N}, 1),
    "Attention mask of lengths": ([f(B, L, 11), f(11, 3 * D), f(3 * D), i32(L, 3)], {"num_heads": N}, 1),
    "Attention mask of ends": ([f(B, L, 11), f(11, 3 * D), f(3 * D), i32(L, L, 0, 1)], {"num_heads": N}, 1),
    "Attention mask of pairs": ([f(B, L, 11), f(11, 3 * D), f(3 * D), ones(B, L, L)], {"num_heads": N}, 1),
    "Attention mask past": ([f(B, L, 11), f(11, 3 * D), f(3 * D), ones(B, P + L), f(2, B, N, P, H)], {"num_heads": N}, 2),
    "Attention bias": ([f(B, L, 11), f(11, 3 * D), f(3 * D), None, None, f(B, N, L, L)], {"num_heads": N}, 1),
    "Attention bias shared": ([f(B, L, 11), f(11, 3 * D), f(3 * D), None, None, f(1, 1, L, L)], {"num_heads": N}, 1),
    "MultiHeadAttention": ([f(B, L, D), f(B, 13, D), f(B, 13, 2 * N)], {"num_heads": N}, 1),
    "MultiHeadAttention past": ([f(B, L, D), f(B, L, D), f(B, L, D), None, None, None, f(B, N, P, H), f(B, N, P, H)],
                                {"num_heads": N}, 3),
    "MultiHeadAttention no past": ([f(B, L, D), f(B, L, D), f(B, L, D)], {"num_heads": N}, 3),
    "MultiHeadAttention cross": ([f(B, L, D), f(B, N, 13, H), f(B, N, 13, H)], {"num_heads": N}, 1),
    "MultiHeadAttention mask": ([f(B, L, D), f(B, 13, D), f(B, 13, D), None, ones(B, 13)], {"num_heads": N}, 1),
    "MultiHeadAttention mask of lengths": ([f(B, L, D), f(B, 13, D), f(B, 13, D), None, i32(13, 4)], {"num_heads": N}, 1),
    "MultiHeadAttention mask of pairs": ([f(B, L, D), f(B, 13, D), f(B, 13, D), None, ones(B, L, 13)], {"num_heads": N}, 1),
    "MultiHeadAttention mask past": ([f(B, L, D), f(B, L, D), f(B, L, D), None, ones(B, P + L), None, f(B, N, P, H), f(B, N, P, H)],
                                     {"num_heads": N}, 3),
    "MultiHeadAttention bias": ([f(B, L, D), f(B, 13, D), f(B, 13, D), f(3 * D), None, f(B, N, L, 13)], {"num_heads": N}, 1),
    "MultiHeadAttention bias shared": ([f(B, L, D), f(B, 13, D), f(B, 13, D), None, None, f(1, 1, L, 13)], {"num_heads": N}, 1),
    "MultiHeadAttention cross mask": ([f(B, L, D), f(B, N, 13, H), f(B, N, 13, H), None, ones(B, 13)], {"num_heads": N}, 1),
    "GroupQueryAttention": ([f(B, L, 6 * 8), f(B, L, 2 * 8), f(B, L, 2 * 8), None, None, i32(L - 1, L - 1), i32(L)],
                            {"num_heads": 6, "kv_num_heads": 2}, 3),
    "GroupQueryAttention packed": ([f(B, L, 10 * 8), None, None, None, None, i32(L - 1, L - 1), i32(L)],
                                   {"num_heads": 6, "kv_num_heads": 2}, 3),
    "GroupQueryAttention past": ([f(B, 1, 48), f(B, 1, 16), f(B, 1, 16), f(B, 2, P, 8), f(B, 2, P, 8), i32(P, P), i32(P + 1)],
                                 {"num_heads": 6, "kv_num_heads": 2}, 3),
    "GroupQueryAttention buffer": ([f(B, 1, 48), f(B, 1, 16), f(B, 1, 16), f(B, 2, 17, 8), f(B, 2, 17, 8), i32(P, P), i32(P + 1)],
                                   {"num_heads": 6, "kv_num_heads": 2}, 3),
    "GroupQueryAttention bias": ([f(B, 1, 48), f(B, 1, 16), f(B, 1, 16), f(B, 2, P, 8), f(B, 2, P, 8), i32(P, P), i32(P + 1),
                                  None, None, None, f(B, 6, 1, P + 1)], {"num_heads": 6, "kv_num_heads": 2}, 3),
    "GroupQueryAttention rotary": ([f(B, 1, 96), f(B, 1, 32), f(B, 1, 32), f(B, 2, P, 16), f(B, 2, P, 16), i32(P, P), i32(P + 1),
                                    f(20, 8), f(20, 8)], {"num_heads": 6, "kv_num_heads": 2, "do_rotary": 1}, 3),
    "DecoderMaskedMultiHeadAttention mask": ([f(B, 1, D), f(B, 1, D), f(B, 1, D), ones(B, P + 1), None, f(B, N, 17, H), f(B, N, 17, H), i32(P)],
                                             {"num_heads": N, "past_present_share_buffer": 1}, 3),
    "DecoderMaskedMultiHeadAttention": ([f(B, 1, D), f(B, 1, D), f(B, 1, D), None, None, f(B, N, 17, H), f(B, N, 17, H), i32(P)],
                                        {"num_heads": N, "past_present_share_buffer": 1}, 3),
    "RotaryEmbedding": ([f(B, L, 3 * 8), np.arange(B * L).reshape(B, L) % 9, f(9, 4), f(9, 4)], {}, 1),
    "RotaryEmbedding heads": ([f(B, N, L, 8), np.arange(B * L).reshape(B, L) % 9, f(9, 4), f(9, 4)], {}, 1),
    "QAttention": ([u8(B, L, 11), u8(11, 3 * D), f(3 * D), S, S, None, Z, Z], {"num_heads": N}, 1),
    "QAttention mask": ([u8(B, L, 11), u8(11, 3 * D), f(3 * D), S, S, ones(B, L), Z, Z], {"num_heads": N}, 1),
    "QAttention past": ([u8(B, L, 11), u8(11, 3 * D), f(3 * D), S, S, None, Z, Z, f(2, B, N, P, H)], {"num_heads": N}, 2),
    "SkipLayerNormalization": ([f(B, L, 11), f(B, L, 11), f(11), f(11), f(11)], {}, 4),
    "SkipLayerNormalization wide": ([f(B, L, 11), f(L, 11), f(11)], {}, 1),
    "SkipSimplifiedLayerNormalization": ([f(B, L, 11), f(B, L, 11), f(11), f(11)], {}, 4),
    "EmbedLayerNormalization": ([ids(B, L, 9), ids(B, L, 2), f(9, 12), f(20, 12), f(2, 12), f(12), f(12), ids(B, L, 2)],
                                {"mask_index_type": 1}, 3),
    "EmbedLayerNormalization plain": ([ids(B, L, 9), None, f(9, 12), f(20, 12), None, f(12), f(12)], {"mask_index_type": 0}, 2),
    "Gelu": ([f(B, L, 7)], {}, 1),
    "QuickGelu": ([f(B, L, 7)], {}, 1),
    "FastGelu": ([f(B, L, 7), f(7)], {}, 1),
    "BiasGelu": ([f(B, L, 7), f(7)], {}, 1),
    "MatMulNBits": ([f(B, L, 48), u8(10, 2, 16), f(20)], {"K": 48, "N": 10, "bits": 4, "block_size": 32}, 1),
    "MatMulBnb4": ([f(B, L, 48), u8(240), f(15)], {"K": 48, "N": 10, "block_size": 32, "quant_type": 1}, 1),
    "QLinearAdd": ([u8(B, 1, 7), S, Z, u8(L, 7), S, Z, S, Z], {}, 1),
    "QLinearMul": ([u8(B, L, 7), S, Z, u8(7), S, Z, S, Z], {}, 1),
    "QLinearSigmoid": ([u8(B, L), S, Z, S, Z], {}, 1),
    "QLinearLeakyRelu": ([u8(B, L), S, Z, S, Z], {}, 1),
    "QLinearSoftmax": ([u8(B, L), S, Z, S, Z], {"axis": 1, "opset": 13}, 1),
    "QLinearWhere": ([np.ones((B, 1), bool), u8(B, L), S, Z, u8(L), S, Z, S, Z], {}, 1),
    "QLinearConcat": ([S, Z, u8(B, 3), S, Z, u8(B, 4), S, Z], {"axis": -1}, 1),
    "QLinearAveragePool": ([u8(B, 3, 11, 13), S, Z, S, Z], {"kernel_shape": [3, 2], "strides": [2, 3], "pads": [1, 0, 1, 1], "ceil_mode": 1}, 1),
    "QLinearAveragePool last": ([u8(B, 11, 13, 3), S, Z, S, Z], {"kernel_shape": [3, 2], "strides": [2, 2], "channels_last": 1}, 1),
    "QLinearGlobalAveragePool": ([u8(B, 3, 11, 13), S, Z, S, Z], {}, 1),
    "QLinearGlobalAveragePool last": ([u8(B, 11, 13, 3), S, Z, S, Z], {"channels_last": 1}, 1),
    "QLinearConv": ([u8(B, 11, 13, 4), S, Z, u8(6, 2, 3, 5), S, Z, S, Z], {"group": 2, "channels_last": 1, "strides": [2, 1]}, 1),
    "QGemm": ([u8(L, 11), S, Z, u8(11, 7), S, Z], {}, 1),
    "QGemm turned": ([u8(11, L), S, Z, i8(7, 11), S, Z8, None, S, Z], {"transA": 1, "transB": 1}, 1),
    "DynamicQuantizeMatMul": ([f(B, L, 11), u8(11, 7), S, Z, f(7)], {}, 1),
    "MatMulIntegerToFloat": ([u8(B, L, 11), u8(11, 7), S, S, Z, Z, f(7)], {}, 1),
    "DynamicQuantizeLSTM": ([f(L, B, 11), u8(1, 11, 4 * 6), u8(1, 6, 4 * 6), f(1, 8 * 6), None, None, None, None,
                             f(1) * 0 + S, u8(1), f(1) * 0 + S, u8(1)], {"hidden_size": 6}, 3),
    "QuantizeLinear": ([f(B, L), S, Z], {}, 1),
    "DequantizeLinear": ([u8(B, L), S, Z], {}, 1),
    "FusedMatMul": ([f(B, 11, L), f(11, 7)], {"transA": 1, "alpha": 0.5}, 1),
    "FusedMatMul both": ([f(B, 3, 11, L), f(3, 7, 11)], {"transA": 1, "transB": 1}, 1),
    "FusedMatMul batch": ([f(L, B, 11), f(B, 11, 7)], {"transBatchA": 1}, 1),
    "TransposeMatMul": ([f(L, 11), f(7, 11)], {"transB": 1}, 1),
    "FusedGemm": ([f(L, 11), f(11, 7), f(7)], {"activation": "Relu"}, 1),
    "FusedConv": ([f(B, 4, 11, 13), f(6, 2, 3, 5), f(6)], {"group": 2, "activation": "Relu", "strides": [2, 3]}, 1),
    "NhwcMaxPool": ([u8(B, 11, 13, 3)], {"kernel_shape": [3, 2], "strides": [2, 2]}, 1),
    "GatherBlockQuantized": ([u8(9, 16), ids(B, L, 9), f(9, 2)],
                             {"bits": 4, "block_size": 16, "quantize_axis": 1, "gather_axis": 0}, 1),
    "GatherBlockQuantized bytes": ([u8(9, 32), ids(B, L, 9), f(9, 2)],
                                   {"bits": 8, "block_size": 16, "quantize_axis": 1, "gather_axis": 0}, 1),
    "Inverse": ([f(B, 5, 5)], {}, 1),
    "Trilu": ([f(B, L, 7)], {}, 1),
    "Unique": ([f(11)], {}, 3),
    "Pad": ([f(B, L), i64(1, 2, 3, 0)], {}, 1),
    "NGramRepeatBlock": ([ids(B, L, 9).astype(np.int64), f(B, 17)], {"ngram_size": 2}, 1),
    "CropAndResize": ([f(B, 3, 11, 13), abs(f(7, 4)), i32(0, 1, 0, 1, 0, 1, 0), i32(5, 4)], {}, 1),
    "GridSample": ([f(B, 3, 11, 13), f(B, 5, 7, 2)], {}, 1),
    "ExpandDims": ([f(B, L), np.array(-2, np.int32)], {}, 1),
    "CDist": ([f(L, 7), f(11, 7)], {"metric": "euclidean"}, 1),
    "UnfoldTensor": ([f(B, 11, 3)], {"dim": 1, "size": 4, "step": 3}, 1),
    "MurmurHash3": ([ids(B, L, 9)], {}, 1),
    "MoE": ([f(L, 8), f(L, 3), f(3, 12, 8), f(3, 12), f(3, 8, 12), f(3, 8)], {"k": 1, "activation_type": "relu"}, 1),
    "LinearAttention": ([f(B, L, 6 * 4), f(B, L, 3 * 4), f(B, L, 3 * 5)],
                        {"q_num_heads": 6, "kv_num_heads": 3, "update_rule": "linear"}, 2),
    "CausalConvWithState": ([f(B, 6, 11), f(6, 1, 4)], {}, 2),
    "SimplifiedLayerNormalization": ([f(B, L, 7), f(7)], {}, 1),
}
# Inputs that ONNX Runtime takes with declared sizes only.
DECLARED = {"EmbedLayerNormalization": {2, 3, 4, 5, 6}}
# What only running tells: the number of distinct elements, batch axes that move.
NOT_KNOWN = {"Unique", "FusedMatMul batch"}

TYPES = {np.dtype(np.float32): T.FLOAT, np.dtype(np.int64): T.INT64, np.dtype(np.int32): T.INT32, np.dtype(np.uint8): T.UINT8,
         np.dtype(np.int8): T.INT8, np.dtype(bool): T.BOOL}


def build(op, inputs, attributes, outputs):
    """The model with symbolic dims, its feeds, the symbols' sizes and the integer inputs' values."""
    names, infos, feeds, sizes, values = [], [], {}, {}, {}
    for i, x in enumerate(inputs):
        names.append("" if x is None else f"x{i}")
        if x is None:
            continue
        x = np.asarray(x)
        fixed = (x.ndim == 1 and x.dtype.kind in "iu") or i in DECLARED.get(op, ())
        dims = list(x.shape) if fixed else [f"d{i}_{j}" for j in range(x.ndim)]
        sizes.update({f"d{i}_{j}": size for j, size in enumerate(x.shape)})
        infos.append(helper.make_tensor_value_info(f"x{i}", TYPES[x.dtype], dims))
        feeds[f"x{i}"] = x
        if x.dtype.kind in "iu":
            values[f"x{i}"] = x.ravel().tolist()
    ys = [f"y{k}" for k in range(outputs)]
    domain = "" if op == "SimplifiedLayerNormalization" else MS
    node = helper.make_node(op, names, ys, domain=domain, **attributes)
    graph = helper.make_graph([node], "g", infos, [helper.make_empty_tensor_value_info(y) for y in ys])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(MS, 1)], ir_version=8)
    return model, feeds, sizes, values


def run(model, feeds):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


@pytest.fixture(scope="module")
def answers():
    if not Path(nodes.TOOL).exists():
        pytest.skip("infer_batch is not built")
    return dict(zip(CASES, nodes.infer([build(name.split()[0], *case)[0] for name, case in CASES.items()])))


@pytest.mark.parametrize("name", CASES)
def test_sizes_are_those_of_onnx_runtime(name, answers):
    model, feeds, sizes, values = build(name.split()[0], *CASES[name])
    answer = answers[name]
    assert not answer.get("error") and not answer["unknown_operators"], answer
    assert not answer["problems"], answer["problems"]
    for output, computed in zip(answer["outputs"], run(model, feeds), strict=True):
        verdict = nodes.compare(output["dims"], computed.shape, sizes, values)
        assert verdict != "contradicted", (output, computed.shape)
        assert verdict == "known" or name.split(" ")[0] in NOT_KNOWN or name in NOT_KNOWN, (output, computed.shape)
