"""Models that run at every size although they are full of constants that could be taken for a frozen size: the place
where a check that guesses would raise a false alarm. Each maker returns (model, feeds(size...), sizes)."""
import numpy as np
from onnx import numpy_helper

from .builder import FLOAT, INT64, Builder

WIDTH = 8


def learned_positions():
    """GPT-2: a table of 64 positions, of which the first `seq` are taken."""
    b = Builder("learned_positions", seed=41)
    ids = b.input("ids", INT64, ["batch", "seq"])
    x = b.op("Gather", b.weight("wte", 50, WIDTH, fan=1), ids, axis=0)
    ends = b.op("Unsqueeze", b.size(ids, 1), [0])
    x = b.op("Add", x, b.op("Slice", b.weight("wpe", 1, 64, WIDTH, fan=1), [0], ends, [1], [1]))
    b.output(b.linear(x, "out", WIDTH, 50), "logits", FLOAT, ["batch", "seq", 50])
    return b.model(), lambda n, s: {"ids": np.arange(n * s).reshape(n, s) % 50}, ((3, 7), (2, 61))


def queries():
    """DETR: ten learned queries for each sample, whatever the size of the memory."""
    b = Builder("queries", seed=43)
    memory = b.input("memory", FLOAT, ["batch", "places", WIDTH])
    q = b.expand(b.weight("queries", 1, 10, WIDTH, fan=1), [b.size(memory, 0), -1, -1])
    scores = b.op("Softmax", b.op("MatMul", q, b.op("Transpose", memory, perm=[0, 2, 1])), axis=-1)
    b.output(b.op("MatMul", scores, memory), "found", FLOAT, ["batch", 10, WIDTH])
    return b.model(), lambda n, s: {"memory": np.ones((n, s, WIDTH), np.float32)}, ((3, 7), (2, 10))


def chunks():
    """Pads to a multiple of 10, works on chunks of 10, cuts back."""
    b = Builder("chunks", seed=47)
    x = b.input("x", FLOAT, ["batch", "time", WIDTH])
    steps = b.size(x, 1)
    missing = b.op("Mod", b.op("Sub", 10, b.op("Mod", steps, 10)), 10)
    y = b.op("Pad", x, b.shape([0, 0, 0, 0, missing, 0]))
    y = b.reshape(y, [-1, 10, WIDTH])
    y = b.op("Softmax", b.op("Add", y, b.weight("chunk.position", 1, 10, WIDTH, fan=1)), axis=1)
    y = b.reshape(y, [b.size(x, 0), -1, WIDTH])
    y = b.op("Slice", y, [0], b.op("Unsqueeze", steps, [0]), [1], [1])
    b.output(y, "y", FLOAT, ["batch", "time", WIDTH])
    return b.model(), lambda n, s: {"x": np.ones((n, s, WIDTH), np.float32)}, ((3, 7), (2, 31))


def merged_windows():
    """Patches in fours, brought into the order in which a list of the data names them, normalized, and merged four to a row."""
    b = Builder("merged_windows", seed=59)
    x = b.input("x", FLOAT, ["patches", WIDTH])
    kept = b.input("kept", INT64, ["rows"])  # 1 for each four that there are
    patches = b.size(x, 0)
    y = b.op("Reshape", x, b.shape([b.op("Div", patches, 4), 4, -1]))
    order = b.op("Reshape", b.op("NonZero", kept), [-1])
    y = b.op("Reshape", b.op("Gather", y, order, axis=0), b.shape([patches, -1]))
    y = b.op("Mul", y, b.weight("norm.weight", WIDTH, fan=1))
    y = b.linear(b.op("Reshape", y, [-1, 4 * WIDTH]), "merger", 4 * WIDTH, WIDTH)
    b.output(y, "y", FLOAT, ["fours", WIDTH])
    return b.model(), lambda n, _: {"x": np.ones((4 * n, WIDTH), np.float32), "kept": np.ones(n, np.int64)}, ((3, 0), (7, 0))


def cache():
    """One layer of a decoder with a cache: past and present are joined, names of sums in the outputs."""
    b = Builder("cache", seed=53)
    x = b.input("x", FLOAT, ["batch", "seq", WIDTH])
    past = b.input("past", FLOAT, ["batch", 2, "past_len", 4])
    k = b.op("Transpose", b.reshape(b.linear(x, "k", WIDTH, WIDTH), [0, 0, 2, 4]), perm=[0, 2, 1, 3])
    present = b.op("Concat", past, k, axis=2)
    q = b.op("Transpose", b.reshape(b.linear(x, "q", WIDTH, WIDTH), [0, 0, 2, 4]), perm=[0, 2, 1, 3])
    scores = b.op("MatMul", q, b.op("Transpose", present, perm=[0, 1, 3, 2]))
    y = b.op("MatMul", b.op("Softmax", scores, axis=-1), present)
    y = b.reshape(b.op("Transpose", y, perm=[0, 2, 1, 3]), [0, 0, WIDTH])
    b.output(y, "y", FLOAT, ["batch", "seq", WIDTH])
    b.output(present, "present", FLOAT, ["batch", 2, "past_len + seq", 4])

    def feeds(n, s):
        return {"x": np.ones((n, s, WIDTH), np.float32), "past": np.ones((n, 2, s + 4, 4), np.float32)}
    return b.model(), feeds, ((3, 7), (2, 11))


def pooled():
    """A classifier: pooling to 1 x 1, then a flat product."""
    b = Builder("pooled", seed=59)
    x = b.input("image", FLOAT, ["batch", 3, "height", "width"])
    x = b.op("Conv", x, b.weight("conv", WIDTH, 3, 3, 3), strides=[2, 2], pads=[1] * 4, kernel_shape=[3, 3])
    x = b.op("Flatten", b.op("GlobalAveragePool", b.op("Relu", x)), axis=1)
    b.output(b.op("Gemm", x, b.weight("fc", 10, WIDTH), transB=1), "scores", FLOAT, ["batch", 10])
    return b.model(), lambda n, s: {"image": np.ones((n, 3, s, s + 2), np.float32)}, ((3, 7), (2, 23))


def looped():
    """A state of zeros made to the batch's size, and a recurrence over any length."""
    b = Builder("looped", seed=61)
    x = b.input("x", FLOAT, ["time", "batch", WIDTH])
    zero = numpy_helper.from_array(np.zeros(1, np.float32))
    state = b.op("ConstantOfShape", b.shape([1, b.size(x, 1), 5]), value=zero)
    w, r = b.weight("W", 1, 15, WIDTH), b.weight("R", 1, 15, 5)
    y = b.op("GRU", x, w, r, None, None, state, outputs=2, hidden_size=5)
    b.output(b.op("Squeeze", y[1], [0]), "last", FLOAT, ["batch", 5])
    return b.model(), lambda n, s: {"x": np.ones((s, n, WIDTH), np.float32)}, ((3, 7), (2, 5))


SOUND = {f.__name__: f for f in (learned_positions, queries, chunks, merged_windows, cache, pooled, looped)}
