"""thaw batch on operators that ONNX's node tests have none of: com.microsoft's, and quantization that looks at a whole sample."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from batch_models_test import TOLERANCE, batch, samples_agree  # noqa: F401 (batch is a fixture)

FLOAT = TensorProto.FLOAT
rng = np.random.default_rng(7)


def draw(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def model_of(nodes, samples, shared, constants, opset=17, outputs=("y",)):
    """Inputs are declared as the arrays are; a first axis of 1 is a sample's batch."""
    inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for name, v in {**samples, **shared}.items()]
    graph = helper.make_graph(nodes, "g", inputs, [onnx.ValueInfoProto(name=name) for name in outputs],
                              [numpy_helper.from_array(v, name) for name, v in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1), helper.make_opsetid("ai.onnx.ml", 3)], ir_version=9)


def another(value):
    """Floats are drawn anew; integers (positions, ids) move by a rotation that keeps them in range."""
    return draw(*value.shape) if value.dtype == np.float32 else np.roll(value, 1, axis=-1)


def heads(b, length=5, hidden=12):
    return {name: draw(b, length, hidden) for name in "qkv"}


def ms(op, inputs, outputs="y", **attributes):
    return helper.make_node(op, inputs.split(","), outputs.split(","), op, domain="com.microsoft", **attributes)


def ml(op, inputs, outputs="y", **attributes):
    return helper.make_node(op, inputs.split(","), outputs.split(","), op, domain="ai.onnx.ml", **attributes)


POSITIONS = {"cos": np.cos(draw(11, 3)), "sin": np.sin(draw(11, 3))}
SHIFTED = np.array([[3, 4, 5, 6, 7]], np.int64)
NORM = {"gamma": draw(12), "beta": draw(12), "bias": draw(12)}
PACKED = {"B": rng.integers(0, 255, (7, 1, 16)).astype(np.uint8), "scales": draw(7, 1)}


def q(array):
    return np.clip(np.round(array * 40), -127, 127).astype(np.int8)


# name: (nodes, inputs that differ, inputs that are the same, constants, outputs)
CASES = {
    "rotary": lambda b: ([ms("RotaryEmbedding", "x,ids,cos,sin", num_heads=2, rotary_embedding_dim=6)], dict(x=draw(b, 5, 12), ids=np.repeat(SHIFTED, b, 0)), {}, POSITIONS),
    "rotary, shared positions": lambda b: ([ms("RotaryEmbedding", "x,ids,cos,sin", num_heads=2, rotary_embedding_dim=6)], dict(x=draw(b, 5, 12)), dict(ids=np.repeat(SHIFTED, b, 0)), POSITIONS),
    "rotary, tables of its own": lambda b: ([ms("RotaryEmbedding", "x,ids,cos,sin", num_heads=2, rotary_embedding_dim=6)], dict(x=draw(b, 5, 12), cos=draw(11, 3), sin=draw(11, 3)),
                                            dict(ids=np.repeat(SHIFTED, b, 0)), {}),
    "standard rotary, tables of its own": lambda b: ([helper.make_node("RotaryEmbedding", ["x", "cos", "sin", "ids"], ["y"])], dict(x=draw(b, 2, 5, 6), cos=draw(11, 3), ids=np.repeat(SHIFTED, b, 0)),
                                                     dict(sin=draw(11, 3)), {}),
    "rotary by an offset": lambda b: ([ms("RotaryEmbedding", "x,ids,cos,sin")], dict(x=draw(b, 2, 5, 6)), dict(ids=np.array([3], np.int64)), POSITIONS),
    "attention": lambda b: ([ms("MultiHeadAttention", "q,k,v,bias", num_heads=2)], heads(b), {}, dict(bias=draw(36))),
    "attention, padded": lambda b: ([ms("MultiHeadAttention", "q,k,v,,mask", num_heads=2)], dict(**heads(b), mask=np.repeat(np.array([[1, 1, 0, 1, 1]], np.int32), b, 0)), {}, {}),
    "attention, one mask for all": lambda b: ([ms("MultiHeadAttention", "q,k,v,,,mask", num_heads=2)], heads(b), dict(mask=draw(1, 2, 5, 5)), {}),
    "attention, a mask each": lambda b: ([ms("MultiHeadAttention", "q,k,v,,,mask", num_heads=2)], dict(**heads(b), mask=draw(1, 2, 5, 5)), {}, {}),
    "attention, keys for all": lambda b: ([ms("MultiHeadAttention", "q,k,v", num_heads=2)], dict(q=draw(b, 5, 12)), dict(k=draw(b, 7, 12), v=draw(b, 7, 12)), {}),
    "attention with a past": lambda b: ([ms("MultiHeadAttention", "q,k,v,,,,pk,pv", "y,nk,nv", num_heads=2)], dict(**heads(b), pk=draw(b, 2, 3, 6), pv=draw(b, 2, 3, 6)), {}, {}, ("y", "nk", "nv")),
    "attention of BERT": lambda b: ([ms("Attention", "x,w,bias,mask", num_heads=2)], dict(x=draw(b, 5, 12)), dict(mask=np.ones((b, 5), np.int32)), dict(w=draw(12, 36), bias=draw(36))),
    "attention of GPT-2": lambda b: ([ms("Attention", "x,w,bias,,past", "y,next", num_heads=2, unidirectional=1)], dict(x=draw(b, 5, 12), past=draw(2, b, 2, 3, 6)), {}, dict(w=draw(12, 36), bias=draw(36)), ("y", "next")),
    "grouped queries": lambda b: ([ms("GroupQueryAttention", "q,k,v,,,lens,total", "y,nk,nv", num_heads=4, kv_num_heads=2)], dict(q=draw(b, 3, 32), k=draw(b, 3, 16), v=draw(b, 3, 16)),
                                  dict(lens=np.full(b, 2, np.int32), total=np.array(3, np.int32)), {}, ("y", "nk", "nv")),
    "grouped queries with a past": lambda b: ([ms("GroupQueryAttention", "q,k,v,pk,pv,lens,total", "y,nk,nv", num_heads=4, kv_num_heads=2)],
                                              dict(q=draw(b, 1, 32), k=draw(b, 1, 16), v=draw(b, 1, 16), pk=draw(b, 2, 4, 8), pv=draw(b, 2, 4, 8)),
                                              dict(lens=np.full(b, 4, np.int32), total=np.array(5, np.int32)), {}, ("y", "nk", "nv")),
    "skip and norm": lambda b: ([ms("SkipLayerNormalization", "x,s,gamma,beta,bias", "y,,,sum")], dict(x=draw(b, 5, 12), s=draw(b, 5, 12)), {}, NORM, ("y", "sum")),
    "skip and norm, one skip for all": lambda b: ([ms("SkipSimplifiedLayerNormalization", "x,s,gamma", "y,,,sum")], dict(x=draw(b, 5, 12)), dict(s=draw(5, 12)), NORM, ("y", "sum")),
    "skip and norm of rows": lambda b: ([ms("SkipLayerNormalization", "x,s,gamma,beta")], dict(x=draw(5, 12), s=draw(5, 12)), {}, NORM),
    "4-bit weights": lambda b: ([ms("MatMulNBits", "x,B,scales", K=32, N=7, bits=4, block_size=32)], dict(x=draw(b, 5, 32)), {}, PACKED),
    "4-bit weights of rows": lambda b: ([ms("MatMulNBits", "x,B,scales", K=32, N=7, bits=4, block_size=32)], dict(x=draw(b + 2, 32)), {}, PACKED),
    "fused product, turned": lambda b: ([ms("FusedMatMul", "x,z", transA=1, alpha=0.5)], dict(x=draw(b, 5, 3), z=draw(b, 5, 7)), {}, {}),
    "fused product, weights turned": lambda b: ([ms("FusedMatMul", "x,w", transB=1)], dict(x=draw(b, 5, 3)), {}, dict(w=draw(7, 3))),
    "fused product of weights": lambda b: ([ms("FusedMatMul", "w,x", transA=1, transB=1)], dict(x=draw(b, 5, 3)), {}, dict(w=draw(3, 7))),
    "fused rows": lambda b: ([ms("FusedGemm", "x,w,c", activation="Relu")], dict(x=draw(1, 5)), {}, dict(w=draw(5, 3), c=draw(3))),
    "Gelu with a bias": lambda b: ([ms("BiasGelu", "x,bias", "z"), ms("FastGelu", "z", "z2"), ms("QuickGelu", "z2", alpha=1.5)], dict(x=draw(b, 5, 12)), {}, NORM),
    "embeddings": lambda b: ([ms("EmbedLayerNormalization", "ids,,words,places,,gamma,beta", "y,mask")], dict(ids=np.repeat(np.array([[3, 1, 4, 1, 5]], np.int32), b, 0)), {},
                             dict(words=draw(9, 12), places=draw(11, 12), **NORM)),
    "experts": lambda b: ([ms("MoE", "x,r,w1,,w2", k=1, activation_type="relu")], dict(x=draw(b, 5, 4), r=draw(b * 5, 3)), {}, dict(w1=draw(3, 4, 8), w2=draw(3, 8, 4))),
    "quantized for each sample": lambda b: ([helper.make_node("DynamicQuantizeLinear", ["x"], ["a", "s", "p"]), helper.make_node("MatMulInteger", ["a", "w", "p", "wp"], ["i"]),
                                             helper.make_node("Cast", ["i"], ["f"], to=FLOAT), helper.make_node("Mul", ["f", "s"], ["y"])],
                                            dict(x=draw(b, 5, 12)), {}, dict(w=q(draw(12, 7)), wp=np.array(3, np.int8))),
    "quantized for each sample, both sides": lambda b: ([helper.make_node("DynamicQuantizeLinear", ["x"], ["a", "s", "p"]), helper.make_node("DynamicQuantizeLinear", ["z"], ["b", "t", "o"]),
                                                         helper.make_node("MatMulInteger", ["a", "b", "p", "o"], ["i"]), helper.make_node("Cast", ["i"], ["f"], to=FLOAT),
                                                         helper.make_node("Mul", ["f", "s"], ["g"]), helper.make_node("Mul", ["g", "t"], ["y"])], dict(x=draw(b, 5, 12), z=draw(b, 12, 7)), {}, {}),
    "quantized keys for all": lambda b: ([helper.make_node("DynamicQuantizeLinear", ["z"], ["b", "t", "o"]), helper.make_node("MatMulInteger", ["w", "b", "wp", "o"], ["i"]),
                                          helper.make_node("Cast", ["i"], ["f"], to=FLOAT), helper.make_node("Mul", ["f", "t"], ["y"])],
                                         dict(z=draw(b, 12, 7)), {}, dict(w=(q(draw(5, 12)).view(np.uint8)), wp=np.array(131, np.uint8))),
    "quantized images": lambda b: ([helper.make_node("DynamicQuantizeLinear", ["x"], ["a", "s", "p"]), helper.make_node("ConvInteger", ["a", "w", "p", "wp"], ["i"], pads=[1, 0, 1, 2], strides=[2, 1]),
                                    helper.make_node("Cast", ["i"], ["f"], to=FLOAT), helper.make_node("Mul", ["f", "s"], ["y"])],
                                   dict(x=draw(b, 3, 7, 5)), {}, dict(w=(q(draw(2, 3, 3, 3)).view(np.uint8)), wp=np.array(131, np.uint8))),
    "quantized and back": lambda b: ([helper.make_node("DynamicQuantizeLinear", ["x"], ["a", "s", "p"]), helper.make_node("DequantizeLinear", ["a", "s", "p"], ["d"]),
                                      helper.make_node("QuantizeLinear", ["d", "s", "p"], ["e"]), helper.make_node("Cast", ["e"], ["f"], to=FLOAT), helper.make_node("Add", ["f", "d"], ["y"])],
                                     dict(x=draw(b, 5, 7)), {}, {}),
    "bounds and axes as attributes": lambda b: ([helper.make_node("Slice", ["x"], ["a"], starts=[1, 0], ends=[4, -1], axes=[1, 2]), helper.make_node("Transpose", ["a"], ["t"], perm=[2, 1, 0]),
                                                 helper.make_node("Slice", ["t"], ["c"], starts=[1], ends=[5]), helper.make_node("Unsqueeze", ["c"], ["u"], axes=[0, 2]),
                                                 helper.make_node("Pad", ["u"], ["d"], pads=[0, 0, 0, 1, 0, 0, 0, 0, 2, 0]), helper.make_node("Squeeze", ["d"], ["e"], axes=[2]),
                                                 helper.make_node("Softmax", ["e"], ["y"])], dict(x=draw(b, 5, 7)), {}, {}),
    "one hot, with values of its own": lambda b: ([helper.make_node("ArgMax", ["x"], ["i"], axis=1, keepdims=0), helper.make_node("ReduceMax", ["x"], ["high"], axes=[0, 1, 2], keepdims=0),
                                                   helper.make_node("ReduceMin", ["x"], ["low"], axes=[0, 1, 2], keepdims=0), helper.make_node("Unsqueeze", ["high", "zero"], ["h"]),
                                                   helper.make_node("Unsqueeze", ["low", "zero"], ["l"]), helper.make_node("Concat", ["l", "h"], ["v"], axis=0),
                                                   helper.make_node("OneHot", ["i", "depth", "v"], ["y"], axis=1), helper.make_node("OneHot", ["fixed", "depth", "v"], ["z"], axis=0)],
                                                  dict(x=draw(b, 5, 7)), {}, dict(zero=np.array([0]), depth=np.array(5), fixed=np.array([[1, 3, 4]])), ("y", "z")),
    "crops": lambda b: ([ms("CropAndResize", "x,regions,numbers,size")], dict(x=draw(b, 2, 7, 5), regions=np.array([[0.1, 0.2, 0.6, 0.9], [0, 0.1, 0.7, 0.8], [0.3, 0, 1, 0.5]], np.float32)),
                        dict(numbers=np.array([b - 1, 0, b - 1], np.int32)), dict(size=np.array([3, 2], np.int32))),
    "distances": lambda b: ([ms("CDist", "x,w", metric="sqeuclidean")], dict(x=draw(5, 3)), {}, dict(w=draw(7, 3))),
    "an axis put in": lambda b: ([ms("ExpandDims", "x,axis")], dict(x=draw(b, 5)), {}, dict(axis=np.array(1, np.int32))),
    "an axis unfolded": lambda b: ([ms("UnfoldTensor", "x", dim=1, size=3, step=2)], dict(x=draw(b, 7, 2)), {}, {}),
    "quantized join": lambda b: ([ms("QuantizeLinear", "x,s,p", "a"), ms("QLinearConcat", "s,p,a,s,p,a,t,p", "c", axis=1), ms("DequantizeLinear", "c,s,p")], dict(x=draw(b, 5, 3)), {},
                                 dict(s=np.array(0.02, np.float32), t=np.array(0.03, np.float32), p=np.array(128, np.uint8))),
    "integer product with scales": lambda b: ([helper.make_node("QuantizeLinear", ["x", "s", "p"], ["a"]), ms("MatMulIntegerToFloat", "a,w,s,t,p,,bias")], dict(x=draw(b, 5, 3)), {},
                                              dict(s=np.array(0.02, np.float32), p=np.array(128, np.uint8), w=q(draw(3, 7)), t=np.array(0.03, np.float32), bias=draw(7))),
    "packed rows": lambda b: ([ms("GatherBlockQuantized", "w,ids,s", bits=4, block_size=16, gather_axis=0, quantize_axis=1)], dict(ids=np.repeat(np.array([[3, 1, 4, 0]]), b, 0)), {},
                              dict(w=rng.integers(0, 255, (5, 16)).astype(np.uint8), s=draw(5, 2))),
    "rows of features": lambda b: ([ml("Scaler", "x", "a", offset=[0.5, 1.0, -1.0], scale=[2.0, 3.0, 0.5]), ml("Normalizer", "a", "n", norm="L2"), ml("ArrayFeatureExtractor", "n,which", "f"),
                                    ml("LinearRegressor", "f", "y", coefficients=[1.0, -2.0], intercepts=[0.25]), ml("Binarizer", "n", "z", threshold=0.1)],
                                   dict(x=draw(b, 3)), {}, dict(which=np.array([2, 0])), ("y", "z")),
    "a tree": lambda b: ([ml("TreeEnsembleRegressor", "x", nodes_falsenodeids=[2, 0, 0], nodes_featureids=[1, 0, 0], nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"], nodes_nodeids=[0, 1, 2],
                             nodes_treeids=[0, 0, 0], nodes_truenodeids=[1, 0, 0], nodes_values=[0.1, 0.0, 0.0], target_ids=[0, 0], target_nodeids=[1, 2], target_treeids=[0, 0],
                             target_weights=[1.5, -2.5], n_targets=1)], dict(x=draw(b, 3)), {}, {}),
    "limits of its own": lambda b: ([helper.make_node("ReduceMax", ["x"], ["m"], keepdims=0), helper.make_node("Mul", ["m", "half"], ["h"]), helper.make_node("Clip", ["x", "", "h"], ["y"])],
                                    dict(x=draw(b, 5, 7)), {}, dict(half=np.array(0.5, np.float32))),
    "what a list keeps": lambda b: ([helper.make_node("Compress", ["x", "keep"], ["y"], axis=1), helper.make_node("Compress", ["x", "keep"], ["z"])], dict(x=draw(b, 5, 3)), {},
                                    dict(keep=np.array([1, 0, 1, 1, 0], bool)), ("y", "z")),
    "words": lambda b: ([helper.make_node("TfIdfVectorizer", ["x"], ["y"], mode="TF", min_gram_length=1, max_gram_length=2, max_skip_count=0, ngram_counts=[0, 3], ngram_indexes=[0, 1, 2, 3, 4],
                                          pool_int64s=[1, 2, 3, 1, 2, 2, 3])], dict(x=np.repeat(np.array([[1, 2, 3, 2, 1, 3, 2]], np.int64), b, 0)), {}, {}),
}
OPSETS = {"standard rotary, tables of its own": (23,), "bounds and axes as attributes": (7, 9), "quantized for each sample": (11, 17), "quantized images": (11, 17), "quantized and back": (12, 17)}


@pytest.mark.parametrize("b", [1, 3])
@pytest.mark.parametrize("name", CASES)
def test_each_sample_is_as_it_is_alone(save, batch, name, b):
    """b: the batch that a sample is of its own. 1 becomes the batch; 3 gets one before it."""
    nodes, differing, same, constants, *outputs = CASES[name](b)
    # Lengths and sizes cannot be drawn.
    given = [text for key, value in same.items() if value.dtype.kind in "iub" and value.size
             for text in ("--values", f"{key}={','.join(str(int(v)) for v in value.ravel())}")]
    samples = [differing] + [{key: another(value) for key, value in differing.items()} for _ in range(4)]
    for opset in OPSETS.get(name, (17,)):
        model = save(model_of(nodes, differing, same, constants, opset, *outputs))
        batched, _ = batch(model, "--inputs", ",".join(differing), *given, *(["--new-axis"] if b > 1 else []))
        assert samples_agree(model, batched, samples, same) <= TOLERANCE
