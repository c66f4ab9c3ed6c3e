"""One network in which every operator that takes sizes took one from the trace: [batch, time, 6] in and out.

static(batch, time) has each size as a constant; dynamic() computes them. A step whose size is wrong is wrong, or fails.
"""
import numpy as np
from onnx import numpy_helper

from .builder import FLOAT, Builder

WIDTH, LIMIT = 6, 64  # LIMIT: what the signal is padded to inside


def dynamic():
    return _model(None, None)


def static(batch, time):
    """time below LIMIT."""
    return _model(batch, time)


def feeds(batch, time, seed=0):
    return {"x": np.random.default_rng(seed).standard_normal((batch, time, WIDTH), dtype=np.float32)}


def _model(batch, time):
    b = Builder("frozen_operators", seed=37)
    x = b.input("x", FLOAT, ["batch", "time", WIDTH])
    rows, steps = b.size(x, 0, batch), b.size(x, 1, time)
    vector = (lambda s: b.constant([s]) if isinstance(s, int) else b.op("Unsqueeze", s, [0]))

    with b.scope("constant_of_shape"):
        filler = numpy_helper.from_array(np.array([0.25], np.float32))
        x = b.op("Add", x, b.op("ConstantOfShape", b.shape([rows, steps, WIDTH]), value=filler))
    with b.scope("range"):
        limit = b.constant(steps) if isinstance(steps, int) else steps
        line = b.op("Cast", b.op("Range", 0, limit, 1), to=FLOAT)
        x = b.op("Add", x, b.op("Unsqueeze", b.op("Sin", line), [0, 2]))
    with b.scope("expand"):
        x = b.op("Mul", x, b.op("Expand", b.weight("expand.weight", 1, 1, WIDTH), b.shape([rows, steps, WIDTH])))
    with b.scope("tile"):
        x = b.op("Add", x, b.op("Tile", b.weight("tile.weight", 1, 1, WIDTH), b.shape([rows, steps, 1])))
    with b.scope("pad"):
        # Up to LIMIT, a running sum over the whole, and cut back.
        amount = b.arithmetic("Sub", LIMIT, steps) if isinstance(steps, int) else b.op("Sub", LIMIT, steps)
        x = b.op("Pad", x, b.shape([0, 0, 0, 0, amount, 0]))
        x = b.op("Mul", b.op("CumSum", x, 1), 0.1)
        x = b.op("Slice", x, [0], vector(steps), [1], [1])
    with b.scope("split"):
        first = b.arithmetic("Div", steps, 3)
        lengths = b.shape([first, b.arithmetic("Sub", steps, first)])
        head, tail = b.op("Split", x, lengths, outputs=2, axis=1)
        x = b.op("Concat", tail, b.op("Neg", head), axis=1)
    with b.scope("reshape"):
        x = b.op("Softmax", b.reshape(x, [rows, b.arithmetic("Mul", steps, WIDTH)]), axis=1)
        x = b.op("Mul", b.reshape(x, [rows, steps, WIDTH]), 20.0)
    with b.scope("gather"):
        back = b.constant(np.arange(time)[::-1].copy()) if time else \
            b.op("Sub", b.op("Sub", steps, 1), b.op("Range", 0, steps, 1))
        x = b.op("Add", x, b.op("Mul", b.op("Gather", x, back, axis=1), 0.5))
    with b.scope("mask"):
        future = b.constant(np.triu(np.full((time, time), -1e4, np.float32), 1)) if time else \
            b.op("Trilu", b.op("Expand", np.array([[-1e4]], np.float32), b.shape([steps, steps])), 1, upper=1)
        scores = b.op("Add", b.op("MatMul", x, b.op("Transpose", x, perm=[0, 2, 1])), future)
        x = b.op("MatMul", b.op("Softmax", scores, axis=-1), x)
    with b.scope("one_hot"):
        depth = b.constant(steps) if isinstance(steps, int) else steps
        last = b.op("OneHot", b.op("ArgMax", x, axis=1, keepdims=0), depth, np.array([0, 1], np.float32), axis=1)
        x = b.op("Add", x, last)
    b.output(x, "y", FLOAT, ["batch", "time", WIDTH])
    return b.model()
