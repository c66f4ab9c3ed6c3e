"""A lift from two traces: what nothing tells apart is not written, and the report says which third size tells."""
import numpy as np
import pytest

from conftest import session
from lift_net import Net


def lifted(thaw, save, tmp_path, trace, sizes, code):
    out = tmp_path / "lifted.onnx"
    report = thaw.json("lift", *[save(trace(*size), f"trace_{'x'.join(map(str, size))}") for size in sizes], "-o", out, code=code)
    assert out.exists() == (code == 0)
    return out, report


def messages(report):
    return [note["message"] for note in report["unexplained"]]


def marks(n):
    """Ones before place n // 16 of eight: 1 of 19, 2 of 37."""
    net = Net()
    return net.model([n, 8], net.add("Add", "x", net.constant((np.arange(8) < n // 16).astype(np.float32))))


def test_two_formulas_as_plain_are_refused(thaw, save, tmp_path):
    _, report = lifted(thaw, save, tmp_path, marks, [(19,), (37,)], 1)
    assert any("two traces do not determine whether it is" in m and "add a third trace at x_dim0 = " in m for m in messages(report))


def windows(h, w):
    """How large each window of 32 x 32 is, written with how many there are across and down."""
    net, down, across = Net(), -(-h // 32), -(-w // 32)
    x = net.add("MaxPool", "x", kernel_shape=[32, 32], strides=[32, 32], ceil_mode=1)
    x = net.add("Reshape", x, net.ints(1, 5, 1, down, across))
    return net.model([1, 5, h, w], net.add("ReduceMax", x, net.ints(3), keepdims=0))


def test_a_number_that_both_share_is_what_the_others_leave(thaw, save, tmp_path):
    """Three windows cover 77 rows and 90; a Reshape holds as many elements as its data."""
    out, _ = lifted(thaw, save, tmp_path, windows, [(77, 59), (90, 131)], 0)
    x = np.random.default_rng(0).standard_normal((1, 5, 150, 40), dtype=np.float32)
    wanted = session(save(windows(150, 40), "wanted")).run(None, {"x": x})[0]
    assert np.array_equal(session(out).run(None, {"x": x})[0], wanted)


def convolutions(h, w, depth=3):
    """TensorFlow's "same": convolutions of stride 2, each padded as its own size asks for, as Conv's `pads`."""
    net, x, size = Net(), "x", (h, w)
    kernel = net.constant(np.random.default_rng(3).standard_normal((3, 3, 3, 3), dtype=np.float32))
    for _ in range(depth):
        x = net.add("Conv", x, kernel, strides=[2, 2], pads=[size[0] % 2, size[1] % 2, 1, 1])
        size = -(-size[0] // 2), -(-size[1] // 2)
    return net.model([1, 3, h, w], x)


@pytest.mark.parametrize("depth, sizes", [(3, [(64, 96), (77, 60)]), (3, [(45, 30), (64, 96)]), (5, [(64, 96), (77, 59)])])
def test_a_pad_that_no_trace_varies_is_as_those_of_its_kind(thaw, save, tmp_path, depth, sizes):
    """The third convolution has even sizes in both traces, or other amounts than those before it; the fourth of five is even."""
    out, _ = lifted(thaw, save, tmp_path, lambda h, w: convolutions(h, w, depth), sizes, 0)
    for h, w in [(88, 70), (101, 115), (33, 47), (66, 50)]:
        x = np.random.default_rng(h).standard_normal((1, 3, h, w), dtype=np.float32)
        wanted = session(save(convolutions(h, w, depth), "wanted")).run(None, {"x": x})[0]
        got = session(out).run(None, {"x": x})[0]
        assert got.shape == wanted.shape and np.abs(got - wanted).max() <= 1e-5 * np.abs(wanted).max(), (h, w)


def stretched(n):
    """F.interpolate(size=3 * n // 2)."""
    net = Net()
    sizes = net.add("Concat", net.ints(1, 4), net.ints(3 * n // 2), axis=0)
    return net.model([1, 4, n], net.add("Resize", "x", "", "", sizes, mode="nearest"))


@pytest.mark.parametrize("sizes", [[(13,), (22,)], [(13,), (35,)], [(10,), (31,)], [(17,), (29,)]])
def test_windows_of_a_size_that_fits_the_two_are_no_explanation(thaw, save, tmp_path, sizes):
    """7 * ceil(n / 7) + 5 is 19 at 13 and 33 at 22, and 40 at 29: right would be 43."""
    _, report = lifted(thaw, save, tmp_path, stretched, sizes, 1)
    assert not any("ceil" in note["message"] for note in report["lifted"])


ROWS = np.random.default_rng(7).standard_normal((64, 4), dtype=np.float32)


def last_rows(n):
    """Learned rows that end with the same one at each length; which one starts is a coincidence of two lengths."""
    net = Net()
    return net.model([n, 4], net.add("Add", "x", net.constant(ROWS[64 - n:])))


def test_a_table_known_by_its_last_rows_needs_a_third_length(thaw, save, tmp_path):
    lifted(thaw, save, tmp_path, last_rows, [(13,), (29,)], 1)
    out, _ = lifted(thaw, save, tmp_path, last_rows, [(13,), (29,), (18,)], 0)
    x = np.random.default_rng(0).standard_normal((23, 4), dtype=np.float32)
    assert np.array_equal(session(out).run(None, {"x": x})[0], x + ROWS[41:])


def test_over_budget_says_that_the_traces_are_square(thaw, save):
    """What squares leave open is searched through; what they lack is said before --max-visits."""
    traces = [save(convolutions(n, n), f"square_{n}") for n in (31, 45, 64)]
    failed = thaw("lift", *traces, "--max-visits", "40", "-o", traces[0].with_name("lifted.onnx"), code=2)
    assert "axes 2 and 3 of 'x' are as long as each other in every trace" in failed.stderr
    assert "trace one size whose axes 2 and 3 differ, or give --max-visits" in failed.stderr
