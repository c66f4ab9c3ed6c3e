"""A text-line recognizer (CRNN): convolutions to height 1, an LSTM in both directions along the width, a softmax.

static(batch, width): a trace that declares batch and width dynamic and froze both inside: the shape before the LSTM,
the zeros of its first state, the shape after it. With `hide_batch` the batch's place in both shapes is -1 and the state is
left out: other batches run, and so does a width of twice the size, as a batch of twice the size with every value in the
wrong place.
dynamic(): the same weights at every batch and width.
"""
import numpy as np
from onnx import numpy_helper

from .builder import FLOAT, Builder

HEIGHT, CHANNELS, HIDDEN, LETTERS = 16, 16, 12, 37


def dynamic():
    return _model(None, None, False)


def static(batch, width, hide_batch=False):
    """width: a multiple of 4."""
    return _model(batch, width, hide_batch)


def feeds(batch, width, seed=0):
    return {"x": np.random.default_rng(seed).standard_normal((batch, 3, HEIGHT, width), dtype=np.float32)}


def _model(batch, width, hide_batch):
    b = Builder("ocr", seed=29)
    x = b.input("x", FLOAT, ["batch", 3, HEIGHT, "width"])
    planes = 3
    for i, (stride, kernel) in enumerate((((2, 2), 3), ((2, 2), 3), ((2, 1), 3), ((2, 1), 3))):
        with b.scope(f"conv{i}"):
            weight = b.weight(f"conv{i}.weight", CHANNELS, planes, kernel, kernel)
            x = b.op("Conv", x, weight, b.weight(f"conv{i}.bias", CHANNELS, fan=100), kernel_shape=[kernel] * 2,
                     strides=list(stride), pads=[1] * 4, dilations=[1, 1], group=1)
            x, planes = b.op("Relu", x), CHANNELS
    with b.scope("sequence"):
        rows, steps = b.size(x, 0, batch), b.size(x, 3, width and width // 4)
        x = b.reshape(x, [-1 if hide_batch else rows, CHANNELS, steps])
        x = b.op("Transpose", x, perm=[2, 0, 1])
        if hide_batch:
            state = None
        elif batch:
            state = b.constant(np.zeros((2, batch, HIDDEN), np.float32))
        else:
            zero = numpy_helper.from_array(np.zeros(1, np.float32))
            state = b.op("ConstantOfShape", b.shape([2, rows, HIDDEN]), value=zero)
        x = b.op("LSTM", x, b.weight("lstm.W", 2, 4 * HIDDEN, CHANNELS, fan=CHANNELS),
                 b.weight("lstm.R", 2, 4 * HIDDEN, HIDDEN, fan=HIDDEN), b.weight("lstm.B", 2, 8 * HIDDEN, fan=100),
                 None, state, state, outputs=3, hidden_size=HIDDEN, direction="bidirectional")[0]
        x = b.op("Transpose", x, perm=[2, 0, 1, 3])  # [steps, 2, batch, hidden] -> [batch, steps, 2, hidden]
        x = b.reshape(x, [-1 if hide_batch else rows, steps, 2 * HIDDEN])
    with b.scope("head"):
        x = b.op("Softmax", b.linear(x, "head", 2 * HIDDEN, LETTERS), axis=2)
    b.output(x, "letters", FLOAT, ["batch", "steps", LETTERS])
    return b.model()
