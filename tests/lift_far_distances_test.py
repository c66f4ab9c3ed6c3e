"""A lift of relative attention from traces that are shorter than its buckets: which distances share one is not told."""
import math

import numpy as np
import pytest

from conftest import session
from lift_net import Net

HEADS = 2


def t5_bucket(behind, numbers, both):
    """Raffel et al. 2020, as transformers has it."""
    number = 0
    distance = max(-behind, 0)
    if both:
        numbers //= 2
        number = numbers if behind > 0 else 0
        distance = abs(behind)
    exact = numbers // 2
    if distance < exact:
        return number + distance
    return number + min(exact + int(math.log(distance / exact) / math.log(128 / exact) * (numbers - exact)), numbers - 1)


def attention(n, number_of, numbers):
    net = Net()
    table = net.constant(np.random.default_rng(1).standard_normal((numbers, HEADS), dtype=np.float32))
    index = net.constant(np.array([[number_of(column - row) for column in range(n)] for row in range(n)], np.int64))
    bias = net.add("Transpose", net.add("Unsqueeze", net.add("Gather", table, index), net.ints(0)), perm=[0, 3, 1, 2])
    return net.model([1, HEADS, n, n], net.add("Softmax", net.add("Add", "x", bias)))


def lift(thaw, save, tmp_path, sizes, number_of, numbers, code):
    traces = [save(attention(n, number_of, numbers), f"trace_{n}") for n in sizes]
    out = tmp_path / "lifted.onnx"
    report = thaw.json("lift", *traces, "-o", out, code=code)
    assert out.exists() == (code == 0)
    return out, report


def assert_right(out, save, number_of, numbers, n):
    x = np.random.default_rng(n).standard_normal((1, HEADS, n, n), dtype=np.float32)
    wanted = session(save(attention(n, number_of, numbers), "wanted")).run(None, {"x": x})[0]
    np.testing.assert_allclose(session(out).run(None, {"x": x})[0], wanted, atol=1e-6)


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("sizes", [(5, 7), (4, 5, 7)])
def test_buckets_that_no_trace_reaches_are_asked_for(thaw, save, tmp_path, both, sizes):
    _, report = lift(thaw, save, tmp_path, sizes, lambda d: t5_bucket(d, 32, both), 32, 1)
    assert any("up to 6," in note["message"] and "32 or more" in note["message"] for note in report["unexplained"]), report["unexplained"]


@pytest.mark.parametrize("both", [True, False])
def test_a_longer_trace_tells(thaw, save, tmp_path, both):
    def number_of(d):
        return t5_bucket(d, 32, both)
    out, _ = lift(thaw, save, tmp_path, (7, 61, 150), number_of, 32, 0)
    for n in (3, 29, 97, 211):
        assert_right(out, save, number_of, 32, n)


def test_positions_that_go_on_are_lifted(thaw, save, tmp_path):
    out, _ = lift(thaw, save, tmp_path, (5, 7, 11), lambda d: d + 63, 127, 0)
    for n in (3, 29, 64):
        assert_right(out, save, lambda d: d + 63, 127, n)
