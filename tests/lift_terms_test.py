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


def cut(end):
    """x[:, :end(n)]."""
    def trace(n):
        net = Net()
        return net.model([1, n, 3], net.add("Slice", "x", net.ints(0), net.ints(end(n)), net.ints(1)))
    return trace


def strided(n):
    """What three convolutions of stride 2 leave, but the last: ceil(n / 8) - 1."""
    net = Net()
    x, left = net.add("Transpose", "x", perm=[0, 2, 1]), n
    for _ in range(3):
        x, left = net.add("MaxPool", x, kernel_shape=[3], strides=[2], pads=[1, 1]), -(-left // 2)
    return net.model([1, n, 3], net.add("Slice", x, net.ints(0), net.ints(left - 1), net.ints(2)))


def padded(window):
    """Filled up to whole windows, and cut down again: nothing happens at multiples."""
    def trace(n):
        net = Net()
        whole = net.add("Pad", "x", net.ints(0, 0, 0, 0, -n % window, 0))
        pieces = net.add("Reshape", whole, net.ints(1, -(-n // window), window, 3))
        back = net.add("Reshape", net.add("Softmax", pieces, axis=2), net.ints(1, -(-n // window) * window, 3))
        return net.model([1, n, 3], net.add("Slice", back, net.ints(0), net.ints(n), net.ints(1)))
    return trace


ENDS = {
    "half": lambda n: n // 2, "half up": lambda n: -(-n // 2), "a third": lambda n: n // 3, "two thirds": lambda n: 2 * n // 3,
    "whole eights": lambda n: n // 8 * 8, "whole fives": lambda n: n // 5 * 5, "all but the last": lambda n: n - 1, "all but 7": lambda n: n - 7,
    "no more than 40": lambda n: min(n, 40), "eighths": lambda n: -(-n // 8), "and one": lambda n: -(-n // 8) + 1, "seven eighths": lambda n: int(n * 0.875),
    "all": lambda n: n,
}
TRACED = [(37, 58, 83), (29, 46, 71), (40, 53, 97), (32, 64, 128), (48, 64, 96), (50, 100, 150), (56, 80, 112), (37, 82), (64, 128)]
FUNCTIONS = {**{name: cut(end) for name, end in ENDS.items()}, "behind three strides": strided,
             "windows of 8": padded(8), "windows of 7": padded(7)}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_trace_gives_a_wrong_number(thaw, save, tmp_path, name):
    """Telling traces, two, and those that share divisors: right, ended by the guard, or refused."""
    trace, right = FUNCTIONS[name], 0
    wanted = {n: session(save(trace(n), f"wanted_{n}")) for n in (17, 23, 48, 61, 64, 79, 90, 96, 103, 120, 125)}
    for sizes in TRACED:
        out = tmp_path / f"lifted_{'_'.join(map(str, sizes))}.onnx"
        if thaw("lift", *[save(trace(n), f"trace_{n}") for n in sizes], "-o", out, code=(0, 1)).returncode:
            continue
        run = session(out)
        for n, truth in wanted.items():
            x = np.random.default_rng(n).standard_normal([1, n, 3], dtype=np.float32)
            try:
                got = run.run(None, {"x": x})[0]
            except Exception as error:
                assert "guard" in str(error), (sizes, n)
                continue
            right += 1
            assert np.array_equal(got, truth.run(None, {"x": x})[0]), (sizes, n)
    assert right > len(wanted)
