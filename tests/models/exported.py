"""Small networks as exporters leave them at one size: detectors, attention by constants, norms of old opsets, old files.

Each maker returns an `Export`: the model, inputs at the size of the export, and other sizes of the input that the network
itself (not the file) would take.
"""
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from onnx import helper

from .builder import FLOAT, Builder


@dataclass(frozen=True)
class Export:
    model: object
    feeds: Callable            # (*dims of x) -> inputs
    dims: tuple                # of x at the export
    others: tuple = ()         # of x elsewhere


def images(*dims):
    return {"x": np.random.default_rng(sum(dims)).standard_normal(dims).astype(np.float32)}


def _conv(b, x, name, width_in, width, stride=1, kernel=3):
    weight = b.weight(f"{name}.weight", width, width_in, kernel, kernel, fan=width_in * kernel * kernel)
    return b.op("Conv", x, weight, b.weight(f"{name}.bias", width, fan=100), kernel_shape=[kernel] * 2, strides=[stride] * 2,
                pads=[kernel // 2] * 4)


def detector_with_anchors(side=640, dims=None, anchors=True):
    """Boxes are moved from a table of anchors of this side's strides; scores and the pyramid's Resize know no table.

    Two anchors at each place of stride 8: at 640, 12800 of them.
    """
    b = Builder("detector_with_anchors", opset=11, ir_version=6, seed=61)
    x = b.input("x", FLOAT, dims or [1, 3, side, side])
    fine, up, coarse = _pyramid(b, x, 8, [1, 8, side // 8, side // 8])
    fine = b.op("Add", fine, up)
    count = 2 * (side // 8) ** 2
    scores = b.reshape(b.op("Transpose", _conv(b, fine, "score", 8, 2), perm=[0, 2, 3, 1]), [1, -1, 1])
    boxes = b.reshape(b.op("Transpose", _conv(b, fine, "box", 8, 8), perm=[0, 2, 3, 1]), [1, -1, 4])
    if anchors:
        boxes = b.op("Add", boxes, b.initializer("anchors", b.rng.random((1, count, 4)).astype(np.float32)))
    else:
        boxes = b.op("Relu", boxes)
    b.output(b.op("Sigmoid", scores), "scores", FLOAT, [1, count, 1])
    b.output(boxes, "boxes", FLOAT, [1, count, 4])
    b.output(coarse, "coarse", FLOAT, [1, 8, side // 16, side // 16])
    return Export(b.model(), images, (1, 3, side, side), ((1, 3, side // 2, side // 2), (2, 3, side, side)))


def _pyramid(b, x, width, sizes):
    """The map of stride 8, that of stride 16 brought to these sizes, and that of stride 16."""
    fine = _conv(b, b.op("Relu", _conv(b, x, "stem", 3, width, stride=4)), "fine", width, width, stride=2)
    coarse = _conv(b, b.op("Relu", fine), "coarse", width, width, stride=2)
    nothing = b.constant(np.zeros(0, np.float32))
    up = b.op("Resize", coarse, nothing, nothing, b.constant(sizes), mode="nearest",
              coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    return fine, up, coarse


def resize_frozen_at_one_image(declared=("batch", 3, 320, 320)):
    """A pyramid whose Resize takes sizes [1, 24, 40, 40], beside an output that folds batch and places by -1."""
    b = Builder("resize_frozen_at_one_image", opset=11, ir_version=6, seed=67)
    x = b.input("x", FLOAT, list(declared))
    fine, up, _ = _pyramid(b, x, 24, [1, 24, 40, 40])
    b.output(_conv(b, up, "point", 24, 4), "points", FLOAT, [declared[0], 4, 40, 40])
    y = b.op("Transpose", _conv(b, fine, "score", 24, 2), perm=[2, 3, 0, 1])
    b.output(b.op("Sigmoid", b.reshape(y, [-1, 1])), "scores", FLOAT, [3200, 1])
    return Export(b.model(), images, (1, 3, 320, 320), ((2, 3, 320, 320), (1, 3, 160, 224)))


def scaled_attention(dims=(1, 4, 8), heads=2, declared=None):
    """Attention by Reshape, of one input, all sizes constants."""
    batch, time, width = dims
    b = Builder("scaled_attention", opset=13, ir_version=7, seed=71)
    x = b.input("x", FLOAT, list(declared or dims))
    split = b.reshape(x, [batch, time, heads, width // heads])
    q = b.op("Transpose", split, perm=[0, 2, 1, 3])
    k = b.op("Transpose", split, perm=[0, 2, 3, 1])
    weights = b.op("Softmax", b.op("Mul", b.op("MatMul", q, k), 0.5), axis=-1)
    y = b.op("Transpose", b.op("MatMul", weights, q), perm=[0, 2, 1, 3])
    b.output(b.reshape(y, [batch, time, width]), "y", FLOAT, list(declared or dims))
    return Export(b.model(), images, dims, ((2, 7, width), (3, 5, width), (1, 11, width)))


def projected_attention(dims=(1, 5, 8), heads=2, declared=None):
    """The same with weights, and a table of positions for this length."""
    batch, time, width = dims
    b = Builder("projected_attention", opset=13, ir_version=7, seed=73)
    x = b.input("x", FLOAT, list(declared or dims))
    h = b.op("Add", x, b.weight("positions", 1, time, width, fan=4))
    q, k, v = (b.op("Transpose", b.reshape(b.linear(h, n, width, width), [batch, time, heads, width // heads]), perm=[0, 2, 1, 3])
               for n in "qkv")
    weights = b.op("Softmax", b.op("Mul", b.op("MatMul", q, b.op("Transpose", k, perm=[0, 1, 3, 2])), 0.5), axis=-1)
    y = b.reshape(b.op("Transpose", b.op("MatMul", weights, v), perm=[0, 2, 1, 3]), [batch, time, width])
    b.output(b.linear(y, "out", width, width), "y", FLOAT, list(declared or dims))
    return Export(b.model(), images, dims, ((2, time, width), (3, time, width), (1, 11, width)))


def norm_by_hand(dims=(1, 7, 8), declared=None):
    """LayerNormalization in parts, as before opset 17, flattened and brought back by constants."""
    batch, time, width = dims
    b = Builder("norm_by_hand", opset=12, ir_version=7, seed=79)
    x = b.input("x", FLOAT, list(declared or dims))
    centered = b.op("Sub", x, b.op("ReduceMean", x, axes=[-1], keepdims=1))
    variance = b.op("ReduceMean", b.op("Pow", centered, 2.0), axes=[-1], keepdims=1)
    y = b.op("Div", centered, b.op("Sqrt", b.op("Add", variance, 1e-5)))
    y = b.op("Relu", b.linear(b.reshape(y, [batch * time, width]), "in", width, 12))
    y = b.reshape(b.linear(y, "out", 12, width), [batch, time, width])
    b.output(b.op("Add", x, y), "y", FLOAT, list(declared or dims))
    return Export(b.model(), images, dims, ((2, 11, width), (3, 5, width)))


def norm_of_runtime(dims=("batch", "time", 8)):
    """ONNX Runtime's own LayerNormalization, which below opset 17 stands in the standard domain."""
    b = Builder("norm_of_runtime", opset=13, ir_version=7, seed=83)
    x = b.input("x", FLOAT, list(dims))
    y = b.layer_norm(b.reshape(x, [1, -1, 8]), "norm", 8)
    b.output(b.reshape(y, [b.size(x, 0), b.size(x, 1), 8]), "y", FLOAT, ["?", "?", 8])
    return Export(b.model(), images, (2, 5, 8), ((3, 7, 8),))


def old_file(dims=("n", 3, "h", "w")):
    """IR version 3, where every initializer is among the inputs: an average taken at the export's size."""
    b = Builder("old_file", opset=9, ir_version=3, seed=89)
    x = b.input("x", FLOAT, list(dims))
    y = b.op("Relu", _conv(b, x, "stem", 3, 8, stride=2))
    shape = b.op("Shape", y)
    merged = b.op("Concat", b.op("Slice", shape, starts=[0], ends=[2], axes=[0]), [-1], axis=0)
    y = b.op("ReduceMean", b.op("Reshape", y, merged), axes=[2], keepdims=0)
    b.output(y, "y", FLOAT, ["?", 8])
    m = b.model()
    for t in m.graph.initializer:
        m.graph.input.append(helper.make_tensor_value_info(t.name, t.data_type, t.dims))
    return Export(m, images, (2, 3, 10, 14), ((3, 3, 22, 6),))
