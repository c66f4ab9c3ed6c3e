"""The shape rules of ai.onnx at older opsets against ONNX Runtime, over drawn attributes: declared sizes and symbols."""

import collections
import os
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper

sys.path.insert(0, os.path.dirname(__file__))
import infer_node_test as nodes

OPSETS = (7, 9, 10, 11, 12, 13, 17, 18, 20, 21)
TYPES = {np.dtype(np.float32): T.FLOAT, np.dtype(np.int64): T.INT64, np.dtype(np.uint8): T.UINT8}
Case = collections.namedtuple("Case", "op opset inputs outputs constants attributes")


class Draw:
    """Cases of one opset, drawn from a fixed seed."""

    def __init__(self, opset):
        self.opset, self.cases, self.random = opset, [], np.random.default_rng(opset)

    def n(self, low, high):
        return int(self.random.integers(low, high))

    def one(self, *choices):
        return choices[self.n(0, len(choices))]

    def f(self, *shape):
        return self.random.random(shape, dtype=np.float32)

    def u8(self, *shape):
        return self.random.integers(0, 9, shape).astype(np.uint8)

    def add(self, op, *inputs, outputs=1, constants=(), since=1, until=99, **attributes):
        """`constants`: numbers of inputs that are initializers."""
        if since <= self.opset < until:
            self.cases.append(Case(op, self.opset, inputs, outputs, constants, attributes))

    def windows(self):
        x = self.f(2, 3, self.n(5, 12), self.n(5, 12))
        kernel, strides, group = [self.n(1, 4), self.n(1, 4)], [self.n(1, 4), self.n(1, 4)], self.one(1, 3)
        pads = [self.n(0, kernel[0]), self.n(0, kernel[1]), self.n(0, kernel[0]), self.n(0, kernel[1])]
        auto = self.one("SAME_UPPER", "SAME_LOWER", "VALID")
        explicit = {"kernel_shape": kernel, "strides": strides, "pads": pads}
        ceil = {"ceil_mode": self.n(0, 2)}
        self.add("MaxPool", x, **explicit, until=10)
        self.add("MaxPool", x, **explicit, **ceil, dilations=[self.n(1, 3), 1], since=10)
        self.add("MaxPool", x, kernel_shape=kernel, strides=strides, auto_pad=auto, outputs=2, since=8)
        self.add("AveragePool", x, **explicit, **ceil, since=10)
        self.add("LpPool", x, **explicit, **ceil, since=18)
        dilations = [self.n(1, 3), self.n(1, 3)]
        self.add("Conv", x, self.f(6, 3 // group, *kernel), self.f(6), strides=strides, pads=pads, group=group, dilations=dilations)
        self.add("Conv", x, self.f(6, 3 // group, *kernel), strides=strides, auto_pad=auto, group=group)
        extra = [self.n(0, strides[0]), self.n(0, strides[1])]
        self.add("ConvTranspose", x, self.f(3, 4, *kernel), strides=strides, pads=pads, group=group, dilations=dilations,
                 output_padding=extra)
        self.add("ConvTranspose", x, self.f(3, 4, *kernel), strides=strides, auto_pad=auto)
        self.add("ConvInteger", self.u8(*x.shape), self.u8(4, 3, *kernel), strides=strides, since=10)
        self.add("QLinearConv", self.u8(*x.shape), np.float32(1), np.uint8(0), self.u8(4, 3, *kernel), np.float32(1), np.uint8(0),
                 np.float32(1), np.uint8(0), pads=pads, since=10)
        self.add("MaxUnpool", self.f(1, 1, 2, 3), np.arange(6).reshape(1, 1, 2, 3), kernel_shape=[2, 2], strides=[2, 2], since=9)
        for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
            self.add(op, x)

    def reductions(self):
        x, axis, keep = self.f(2, 3, 5, 7), self.n(-4, 4), self.n(0, 2)
        for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2", "ReduceLogSumExp"):
            moved = 13 if op == "ReduceSum" else 18
            self.add(op, x, axes=[axis], keepdims=keep, since=11, until=moved)
            self.add(op, x, np.array([axis]), keepdims=keep, since=moved)
            self.add(op, x, keepdims=keep)
        self.add("ArgMax", x, axis=axis % 4, keepdims=keep)
        for op in ("Softmax", "LogSoftmax", "Hardmax"):
            self.add(op, x, axis=axis % 4)
        self.add("CumSum", x, np.array(1), since=11)

    def products(self):
        self.add("Gemm", self.f(4, 5), self.f(6, 5), self.f(6), transB=1)
        self.add("MatMul", self.f(2, 1, 4, 5), self.f(3, 5, 6))
        self.add("MatMul", self.f(5), self.f(3, 5, 6))
        self.add("MatMul", self.f(3, 4, 5), self.f(5))
        self.add("MatMulInteger", self.u8(2, 4, 5), self.u8(5, 3), since=10)
        self.add("Einsum", self.f(2, 3, 4), self.f(2, 4, 5), equation="bij,bjk", since=12)
        self.add("Einsum", self.f(2, 3, 4, 4), equation="...ii->...", since=12)
        self.add("Det", self.f(2, 3, 4, 4), since=11)
        for op in ("Add", "Mul", "Pow", "Less", "PRelu"):
            self.add(op, self.f(2, 3, 5), self.f(3, 1))
        self.add("Dropout", self.f(2, 3), outputs=2)

    def recurrent(self):
        hidden, size, direction = self.n(2, 5), self.n(2, 5), self.one("forward", "reverse", "bidirectional")
        d = 2 if direction == "bidirectional" else 1
        for op, gates, outputs in (("LSTM", 4, 3), ("GRU", 3, 2), ("RNN", 1, 2)):
            self.add(op, self.f(7, 2, size), self.f(d, gates * hidden, size), self.f(d, gates * hidden, hidden), outputs=outputs,
                     hidden_size=hidden, direction=direction)

    def sizes(self):
        x, none = self.f(2, 3, self.n(5, 12), self.n(5, 12)), np.zeros(0, np.float32)
        scales = np.array([1, 1, self.one(.5, 2, 1.5, .7, .6), self.one(.5, 2, 3, .8)], np.float32)
        self.add("Upsample", x, np.maximum(scales, 1), constants=(1,), since=9, until=10)
        self.add("Resize", x, scales, constants=(1,), since=10, until=11)
        self.add("Resize", x, none, scales, constants=(1, 2), since=11)
        for policy in ("not_larger", "not_smaller"):
            self.add("Resize", x, None, None, np.array([self.n(2, 30), self.n(2, 30)]), axes=[2, 3],
                     keep_aspect_ratio_policy=policy, since=18)
        self.add("CenterCropPad", x, np.array([9, 2]), axes=[3, -2], since=18)
        self.add("Col2Im", self.f(1, 30, 5), np.array([5, 5]), np.array([1, 5]), since=18)
        self.add("AffineGrid", self.f(2, 2, 3), np.array([2, 3, 5, 6]), since=20)
        self.add("GridSample", x, self.f(2, 4, 5, 2), since=16)
        sided, length = self.n(0, 2), np.array(self.n(3, 12))
        self.add("STFT", self.f(2, 64, 1), np.array(self.n(3, 9)), self.f(16), onesided=sided, since=17)
        self.add("DFT", self.f(2, 9, 5, 1), length, axis=self.n(1, 3), onesided=sided, since=17, until=20)
        self.add("DFT", self.f(2, 9, 5, 1), length, np.array(self.n(1, 3)), onesided=sided, since=20)
        self.add("HannWindow", np.array(9), since=17)

    def normalizations(self):
        x = self.f(2, 6, 5, 4)
        self.add("BatchNormalization", x, *(self.f(6) for _ in range(4)))
        self.add("InstanceNormalization", x, self.f(6), self.f(6))
        self.add("LayerNormalization", x, self.f(5, 4), self.f(5, 4), outputs=3, axis=2, since=17)
        groups = self.f(3 if self.opset < 21 else 6)
        self.add("GroupNormalization", x, groups, groups, num_groups=3, since=18)
        for reduction in ("none", "mean"):
            self.add("NegativeLogLikelihoodLoss", self.f(3, 5, 2), np.zeros((3, 2), np.int64), reduction=reduction, since=12)
            self.add("SoftmaxCrossEntropyLoss", self.f(3, 5, 2), np.zeros((3, 2), np.int64), reduction=reduction, outputs=2, since=12)
        self.add("RoiAlign", self.f(2, 3, 9, 9), self.f(6, 4), np.zeros(6, np.int64), output_height=3, output_width=2, since=10)
        self.add("MaxRoiPool", self.f(2, 3, 9, 9), np.array([[0, 0, 0, 2, 2], [1, 1, 1, 3, 3]], np.float32), pooled_shape=[2, 3])


def draw(opset):
    d = Draw(opset)
    for _ in range(4):
        for family in (d.windows, d.reductions, d.products, d.recurrent, d.sizes, d.normalizations):
            family()
    return d.cases


def build(case, symbols):
    names, infos, constants, feeds, sizes, values = [], [], [], {}, {}, {}
    for i, x in enumerate(case.inputs):
        names.append("" if x is None else f"x{i}")
        if x is None:
            continue
        x = np.asarray(x)
        if i in case.constants:
            constants.append(onnx.numpy_helper.from_array(x, f"x{i}"))
            continue
        fixed = not symbols or (x.ndim == 1 and x.dtype.kind in "iu")
        infos.append(helper.make_tensor_value_info(f"x{i}", TYPES[x.dtype], list(x.shape) if fixed else [f"d{i}_{j}" for j in range(x.ndim)]))
        sizes.update({f"d{i}_{j}": n for j, n in enumerate(x.shape)})
        feeds[f"x{i}"] = x
        if x.dtype.kind in "iu":
            values[f"x{i}"] = x.ravel().tolist()
    ys = [f"y{k}" for k in range(case.outputs)]
    graph = helper.make_graph([helper.make_node(case.op, names, ys, **case.attributes)], "g", infos,
                              [helper.make_empty_tensor_value_info(y) for y in ys], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", case.opset)], ir_version=8), feeds, sizes, values


@pytest.mark.parametrize("symbols", [False, True], ids=["declared", "symbols"])
@pytest.mark.parametrize("opset", OPSETS)
def test_sizes_are_those_of_onnx_runtime(opset, symbols):
    import onnxruntime
    if not Path(nodes.TOOL).exists():
        pytest.skip("infer_batch is not built")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    cases = draw(opset)
    built = [build(case, symbols) for case in cases]
    compared = 0
    for case, (model, feeds, sizes, values), answer in zip(cases, built, nodes.infer([b[0] for b in built])):
        try:
            session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
            computed = session.run(None, feeds)
        except Exception:  # drawn attributes that do not fit, kernels that it does not have
            continue
        where = (case.op, case.attributes, [x.shape for x in feeds.values()])
        assert not answer["problems"], (*where, answer["problems"])
        for output, y in zip(answer["outputs"], computed, strict=True):
            assert nodes.compare(output["dims"], y.shape, sizes, values) == "known", (*where, output, y.shape)
            compared += 1
    assert compared > 0.8 * len(cases)
