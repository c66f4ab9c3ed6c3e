"""thaw lift on loops over windows: each body in a model of its own, traced at sizes with 1 to 4 windows, right at others.

The truth at a size that no trace has is the trace at that size.
"""
import json

import numpy as np
import onnx
import pytest

from conftest import session
from models.builder import FLOAT, Builder

FLOAT16 = onnx.TensorProto.FLOAT16
HEADS, HEAD, WINDOW = 2, 4, 5
WIDTH = HEADS * HEAD
LOWEST = float(np.finfo(np.float32).min)  # a window of which nothing may be seen is a mean of all of it
SIZES, UNSEEN = (7, 13, 18), (3, 5, 11, 20, 31)


def windows(n, size=WINDOW):
    return [size] * (n // size) + ([n % size] if n % size else [])


def cut(b, x, lengths, axis, how):
    """The pieces of x, in one of the ways of exporters."""
    if how == "split":
        pieces = b.op("Split", x, b.constant(lengths), outputs=len(lengths), axis=axis)
        return pieces if len(lengths) > 1 else [pieces]
    ends = np.cumsum(lengths)
    return [b.slice(x, int(end - length), int(end), axis) for end, length in zip(ends, lengths)]


def heads(b, x):
    """[n, width] -> [1, heads, n, head]"""
    return b.op("Unsqueeze", b.op("Transpose", b.reshape(x, [-1, HEADS, HEAD]), perm=[1, 0, 2]), [0])


def masks(b, lengths, x):
    """Of a mask [1, n, n], made of ones for the rows and of some positions for the columns, the blocks along its diagonal (CANINE)."""
    seen = b.op("Unsqueeze", b.op("Cast", b.op("Less", b.op("ReduceMean", x, axes=[1], keepdims=0), -0.1), to=FLOAT), [0, 1])
    mask = b.op("Mul", b.constant(np.ones((1, sum(lengths), 1), np.float32)), seen)
    ends = np.cumsum(lengths)
    for end, length in zip(ends, lengths):
        rows = b.slice(mask, int(end - length), int(end), 1)
        yield b.op("Mul", b.op("Sub", 1.0, b.slice(rows, int(end - length), int(end), 2)), LOWEST)


def attention(b, lengths, x, how, frozen=False, layer="", masked=False):
    """A softmax over each window; frozen: the window's length is in every branch's Reshape; masked: by the blocks of one mask."""
    q, k, v = (cut(b, heads(b, b.linear(x, f"{layer}{part}_proj", WIDTH, WIDTH)), lengths, 2, how) for part in "qkv")
    mixed, blocks = [], list(masks(b, lengths, x)) if masked else None
    for i, length in enumerate(lengths):
        scores = b.op("Mul", b.op("MatMul", q[i], b.op("Transpose", k[i], perm=[0, 1, 3, 2])), 0.5)
        if masked:
            scores = b.op("Add", scores, blocks[i])
        y = b.op("Transpose", b.op("MatMul", b.op("Softmax", scores, axis=-1), v[i]), perm=[0, 2, 1, 3])
        mixed.append(b.reshape(y, [1, length if frozen else -1, WIDTH]))
    return b.op("Squeeze", b.op("Concat", *mixed, axis=1), [0])


def each(body, axis=0, join=None):
    """A loop over windows of [n, width] itself."""
    def loop(b, lengths, x, how):
        pieces = [body(b, piece, length) for piece, length in zip(cut(b, x, lengths, axis, how), lengths)]
        return b.op("Concat", *pieces, axis=axis if join is None else join)
    return loop


def minus(op, **attributes):
    return lambda b, x, length: b.op("Sub", x, b.op(op, x, *attributes.get("inputs", ()), **{
        k: v for k, v in attributes.items() if k != "inputs"}))


def relative(b, x, length):
    """A table of the window's own size: its entries are where in the window a position stands."""
    return b.op("Add", x, b.constant(np.arange(length, dtype=np.float32)[:, None] * 0.25))


def norm_and_weights(b, x, length):
    y = b.op("LayerNormalization", x, b.constant(np.linspace(0.5, 2, WIDTH).astype(np.float32)), axis=-1)
    return b.op("Gemm", y, b.constant(np.sin(np.arange(WIDTH * 24.0)).reshape(WIDTH, 24).astype(np.float32)))


def both_ways(b, lengths, x, how):
    """Two results of every branch, joined along different axes."""
    pieces = cut(b, x, lengths, 0, how)
    up = [b.op("Mul", p, b.op("ReduceMax", p, axes=[0], keepdims=1)) for p in pieces]
    turned = [b.op("Softmax", b.op("Transpose", u, perm=[1, 0]), axis=1) for u in up]
    one, other = b.op("Concat", *up, axis=0), b.op("Concat", *turned, axis=1)
    return b.op("Add", one, b.op("Transpose", other, perm=[1, 0]))


LOOPS = {
    "attention": attention,
    "attention_frozen": lambda b, lengths, x, how: attention(b, lengths, x, how, frozen=True),
    "attention_masked": lambda b, lengths, x, how: attention(b, lengths, x, how, masked=True),
    "mean": each(minus("ReduceMean", axes=[0], keepdims=1)),
    "sum": each(minus("ReduceSum", inputs=([0],), keepdims=1)),
    "largest": each(minus("ReduceMax", axes=[0], keepdims=1)),
    "smallest": each(minus("ReduceMin", axes=[0], keepdims=1)),
    "softmax_along_rows": each(lambda b, x, length: b.op("Softmax", x, axis=0)),
    "contraction": each(lambda b, x, length: b.op("MatMul", x, b.op("MatMul", b.op("Transpose", x, perm=[1, 0]), x))),
    "relative": each(relative),
    "norm_and_weights": each(norm_and_weights),
    "both_ways": both_ways,
}


def trace(n, loop, how="split", window=WINDOW, dtype=FLOAT):
    b = Builder("windows", seed=5)
    x = b.input("x", FLOAT, ["n", WIDTH])
    y = b.op("Cast", b.op("Tanh", x), to=dtype)
    y = loop(b, windows(n, window), y, how)
    b.output(b.op("Identity", b.op("Cast", y, to=FLOAT)), "y", FLOAT, ["n", "width"])
    return b.model()


def lift(thaw, save, tmp_path, make, sizes=SIZES, code=0):
    out = tmp_path / "lifted.onnx"
    values = tmp_path / "values.json"
    values.write_text(json.dumps({f"t{n}.onnx": {"x": {"shape": [n, WIDTH]}} for n in sizes}))
    run = thaw("lift", *(save(make(n), f"t{n}") for n in sizes), "-o", out, "--trace-values", values, code=code)
    return out, run.stdout + run.stderr


def feed(n):
    return {"x": np.random.default_rng(n).standard_normal((n, WIDTH), dtype=np.float32)}


def assert_right(out, make, sizes=(*SIZES, *UNSEEN), bound=1e-5):
    lifted = session(out)
    for n in sizes:
        got, wanted = lifted.run(None, feed(n))[0], session(make(n)).run(None, feed(n))[0]
        assert got.shape == wanted.shape and np.abs(got - wanted).max() <= bound, n


@pytest.mark.parametrize("how", ["split", "slice"])
@pytest.mark.parametrize("name", LOOPS)
def test_a_body_is_right_at_every_number_of_windows(thaw, save, tmp_path, name, how):
    make = lambda n: trace(n, LOOPS[name], how)
    out, _ = lift(thaw, save, tmp_path, make)
    assert_right(out, make)


def test_a_trace_with_a_single_window_aligns(thaw, save, tmp_path):
    make = lambda n: trace(n, attention)
    out, printed = lift(thaw, save, tmp_path, make, sizes=(4, 13, 22))
    assert_right(out, make)


def test_half_precision(thaw, save, tmp_path):
    make = lambda n: trace(n, each(lambda b, x, length: b.op("Softmax", x, axis=0)), dtype=FLOAT16)
    out, _ = lift(thaw, save, tmp_path, make)
    assert_right(out, make, bound=1e-3)


def test_whole_windows_only(thaw, save, tmp_path):
    """Traces that have no short window: the size is known from them all the same."""
    make = lambda n: trace(n, attention)
    out, printed = lift(thaw, save, tmp_path, make, sizes=(10, 15, 25))
    assert "windows of 5" in printed
    assert_right(out, make)


def test_two_layers_share_what_they_need(thaw, save, tmp_path):
    def twice(b, lengths, x, how):
        return attention(b, lengths, attention(b, lengths, x, how, layer="1."), how, layer="2.")
    make = lambda n: trace(n, twice)
    out, _ = lift(thaw, save, tmp_path, make)
    assert_right(out, make)
    kinds = [node.op_type for node in onnx.load(out).graph.node]
    assert kinds.count("ScatterElements") == 1 and kinds.count("Softmax") == 2


@pytest.mark.parametrize("body, words", [
    (lambda b, x, length: b.op("CumSum", x, 0, reverse=1), "CumSum"),
    (lambda b, x, length: b.op("TopK", x, [1], axis=0, outputs=2)[0], "TopK"),
    (lambda b, x, length: b.op("Div", x, b.op("Cast", b.op("Size", x), to=FLOAT)), "the number of positions"),
    (lambda b, x, length: b.op("Slice", x, [-1], [2**40], [0]), "Slice"),
    (lambda b, x, length: b.reshape(b.op("Transpose", b.reshape(x, [WIDTH, -1]), perm=[1, 0]), [-1, WIDTH]), "order"),
])
def test_what_cannot_see_padding_is_refused_by_name(thaw, save, tmp_path, body, words):
    out, printed = lift(thaw, save, tmp_path, lambda n: trace(n, each(body)), code=1)
    assert words in printed and not out.exists()


def test_a_state_that_is_carried_along_is_no_loop_over_windows(thaw, save, tmp_path):
    def carried(b, lengths, x, how):
        done = [b.op("Tanh", piece) for piece in cut(b, x, lengths, 0, how)]
        for i in range(1, len(done)):
            done[i] = b.op("Add", done[i], b.op("ReduceMean", done[i - 1], axes=[0], keepdims=1))
        return b.op("Concat", *done, axis=0)
    out, printed = lift(thaw, save, tmp_path, lambda n: trace(n, carried), code={1, 2})
    assert not out.exists()


def test_what_every_trace_does_equally_often_stays(thaw, save, tmp_path):
    """Two halves of the channels are no windows."""
    def halves(b, lengths, x, how):
        parts = [b.op("Softmax", part, axis=1) for part in cut(b, x, [4, 4], 1, how)]
        return b.op("Concat", *parts, axis=1)
    make = lambda n: trace(n, halves)
    out, printed = lift(thaw, save, tmp_path, make)
    assert "windows" not in printed
    assert_right(out, make)
