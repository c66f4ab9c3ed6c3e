"""Integers that no rule gives: the cheapest of all terms, where the traces tell it from the others, and a trace that tells where they do not."""
import numpy as np
import pytest

from conftest import session
from lift_net import Net


def stretched(n):
    """F.interpolate(size=3 * n // 2)."""
    net = Net()
    return net.model([1, 4, n], net.add("Resize", "x", "", "", net.ints(1, 4, 3 * n // 2), mode="nearest"))


def shortened(n):
    """44.1 kHz of 48, rounded up."""
    net = Net()
    return net.model([1, 4, n], net.add("Resize", "x", "", "", net.ints(1, 4, -(-7 * n // 8)), mode="nearest"))


def best(n):
    """topk(min(300, n)), as two-stage detectors do."""
    net = Net()
    return net.model([1, 2, n], net.add("Slice", "x", net.ints(0), net.ints(min(n, 300)), net.ints(2)))


def few(n):
    """topk(min(8, n))."""
    net = Net()
    return net.model([1, 2, n], net.add("Slice", "x", net.ints(0), net.ints(min(n, 8)), net.ints(2)))


def lifted(thaw, save, tmp_path, trace, sizes, code=0):
    out = tmp_path / "lifted.onnx"
    report = thaw.json("lift", *[save(trace(n), f"trace_{n}") for n in sizes], "-o", out, code=code)
    assert out.exists() == (code == 0)
    return out, report


@pytest.mark.parametrize("trace, traced, unseen", [
    (stretched, (13, 22, 35), (29, 64, 7, 2)),
    (stretched, (17, 31, 50), (29, 64, 7, 2)),
    (shortened, (130, 211, 345), (129, 200, 263, 8)),
    (best, (131, 211, 523), (40, 299, 301, 800)),
])
def test_what_the_traces_tell_is_right_at_other_sizes(thaw, save, tmp_path, trace, traced, unseen):
    out, _ = lifted(thaw, save, tmp_path, trace, traced)
    for n in unseen:
        wanted = session(save(trace(n), "wanted"))
        x = np.random.default_rng(n).standard_normal(wanted.get_inputs()[0].shape, dtype=np.float32)
        assert np.array_equal(session(out).run(None, {"x": x})[0], wanted.run(None, {"x": x})[0]), n


def test_what_they_do_not_tell_is_left_open_with_a_trace_that_tells(thaw, save, tmp_path):
    _, report = lifted(thaw, save, tmp_path, few, (3, 5, 12), code=1)
    assert any("it may be " in note["message"] and "which a trace at x_dim2 = " in note["message"] for note in report["unexplained"])
