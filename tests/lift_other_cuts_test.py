"""What is cut back to the size that it is added to, along the side that some trace has in part: the other side is cut too."""
import numpy as np
import pytest

from conftest import session
from lift_left_out_test import lifted
from lift_net import Net

WIDTH = 4
TRACES, UNSEEN = [(12, 15), (14, 21), (6, 18)], [(13, 16), (7, 9), (16, 31), (11, 20)]  # no trace has an odd number of rows


def upsampled(net, x):
    kernel = np.random.default_rng(0).standard_normal((WIDTH, 1, 2, 2), dtype=np.float32)
    return net.add("ConvTranspose", x, net.constant(kernel), strides=[2, 2], group=WIDTH)


def resized(net, x):
    return net.add("Resize", x, "", net.constant(np.array([1, 1, 2, 2], np.float32)), mode="nearest", nearest_mode="floor",
                   coordinate_transformation_mode="asymmetric")


def trace(h, w, up=upsampled, joined=False):
    """A branch at half the size, which is padded to a whole one, and cut back by a Slice where there is more than a cell for each."""
    net, more = Net(), (h % 2, w % 2)
    x = net.add("Relu", "x")
    y = net.add("Pad", x, net.ints(0, 0, 0, 0, 0, 0, *more)) if any(more) else x
    y = up(net, net.add("AveragePool", y, kernel_shape=[2, 2], strides=[2, 2]))
    for axis, size in ((2, h), (3, w)):
        if size % 2:
            y = net.add("Slice", y, net.ints(0), net.ints(size), net.ints(axis), net.ints(1))
    return net.model([1, WIDTH, h, w], net.add("Concat", x, y, axis=1) if joined else net.add("Add", x, y))


def image(h, w):
    return np.random.default_rng(h * 100 + w).standard_normal((1, WIDTH, h, w), dtype=np.float32)


@pytest.mark.parametrize("how", [dict(), dict(up=resized), dict(joined=True)], ids=["added", "resized", "joined"])
def test_the_side_that_every_trace_has_whole_is_cut_too(thaw, save, tmp_path, how):
    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": trace(h, w, **how) for h, w in TRACES})
    for h, w in [*TRACES, *UNSEEN]:
        got, wanted = (s.run(None, {"x": image(h, w)})[0] for s in (run, session(save(trace(h, w, **how), "wanted"))))
        assert got.shape == wanted.shape and np.abs(got - wanted).max() < 1e-6, (h, w)


def test_a_side_that_nothing_makes_longer_is_not_cut(thaw, save, tmp_path):
    """Half the columns, and all rows."""
    def wide(h, w):
        net = Net()
        x = net.add("Relu", "x")
        y = net.add("Pad", x, net.ints(0, 0, 0, 0, 0, 0, 0, 1)) if w % 2 else x
        y = net.add("AveragePool", y, kernel_shape=[1, 2], strides=[1, 2])
        y = net.add("Resize", y, "", net.constant(np.array([1, 1, 1, 2], np.float32)), mode="nearest")
        y = net.add("Slice", y, net.ints(0), net.ints(w), net.ints(3), net.ints(1)) if w % 2 else y
        return net.model([1, WIDTH, h, w], net.add("Add", x, y))

    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": wide(h, w) for h, w in TRACES})
    for h, w in UNSEEN:
        got, wanted = (s.run(None, {"x": image(h, w)})[0] for s in (run, session(save(wide(h, w), "wanted"))))
        assert np.array_equal(got, wanted), (h, w)
