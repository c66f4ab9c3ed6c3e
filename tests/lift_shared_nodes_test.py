"""Nodes that a size makes one: an exporter writes what is computed of two constants once, where the two are equal at that size."""
import numpy as np
import pytest
from onnx import helper

from conftest import session
from lift_net import Net

WINDOW, WIDTH = 8, 4


def rows(n):
    return np.random.default_rng(n).standard_normal((1, n, WIDTH), dtype=np.float32)


def causal(n, window=None):
    back = np.arange(n)[:, None] - np.arange(n)
    return (back >= 0) & (back < (window or n))


def biases(net, mask):
    """What is kept of the mask, as it is added to scores."""
    kept = net.add("And", net.constant(mask), net.add("Greater", "first", net.constant(np.float32(-100))))
    return net.add("Where", kept, net.constant(np.float32(0)), net.constant(np.float32(-1e9)))


def attended(net, x, bias):
    scores = net.add("MatMul", x, net.add("Transpose", x, perm=[0, 2, 1]))
    return net.add("MatMul", net.add("Softmax", net.add("Add", scores, bias), axis=-1), x)


def trace(n, layers):
    """Layers by turns with all that was before and with a window of it. As long as the text is no longer than that, one mask."""
    net = Net()
    net.nodes.append(helper.make_node("ReduceSum", ["x"], ["first"], name="first", keepdims=0))
    full = biases(net, causal(n))
    near = full if n <= WINDOW else biases(net, causal(n, WINDOW))
    x = "x"
    for layer in range(layers):
        x = attended(net, x, near if layer % 2 else full)
    return net.model([1, n, WIDTH], x)


def wanted(x, layers):
    x, n = x[0].astype(np.float64), x.shape[1]
    for layer in range(layers):
        scores = np.where(causal(n, WINDOW if layer % 2 else None), x @ x.T, -1e9)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        x = weights / weights.sum(-1, keepdims=True) @ x
    return x[None]


@pytest.mark.parametrize("lengths", [(7, 12, 19), (12, 7, 19), (21, 13, 5)])
@pytest.mark.parametrize("layers", [2, 4])
def test_two_masks_that_are_one_in_a_short_trace_are_two(thaw, save, tmp_path, lengths, layers):
    paths = [save(trace(n, layers), f"trace_{n}") for n in lengths]
    out = tmp_path / "lifted.onnx"
    thaw("lift", *paths, "-o", out, code=0)
    run = session(out)
    for n in (*lengths, 3, WINDOW, WINDOW + 1, 26):
        got = run.run(None, {"x": rows(n)})[0]
        assert np.allclose(got, wanted(rows(n), layers), atol=1e-4), n


@pytest.mark.parametrize("lengths", [(9, 14, 21), (12, 9, 21), (21, 13, 5)])
def test_two_constants_that_are_one_in_a_short_trace_are_two(thaw, save, tmp_path, lengths):
    """Masks that were folded to numbers: the first trace has one for both layers, as large as it is."""
    def trace_of(n):
        net = Net()
        full = net.constant(np.where(causal(n), 0, -1e9).astype(np.float32))
        near = full if n <= 14 else net.constant(np.where(causal(n, 14), 0, -1e9).astype(np.float32))
        return net.model([1, n, WIDTH], attended(net, attended(net, "x", full), near))

    paths = [save(trace_of(n), f"trace_{n}") for n in lengths]
    out = tmp_path / "lifted.onnx"
    thaw("lift", *paths, "-o", out, code=0)
    run = session(out)
    for n in (*lengths, 3, 14, 15, 33):
        x = rows(n)[0].astype(np.float64)
        for window in (None, 14):
            scores = np.where(causal(n, window), x @ x.T, -1e9)
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            x = weights / weights.sum(-1, keepdims=True) @ x
        assert np.allclose(run.run(None, {"x": rows(n)})[0], x[None], atol=1e-4), n
