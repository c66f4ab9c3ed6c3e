"""Images that are resized up to whole patches where a side is none, and back: nothing of it is written where both sides are."""
import numpy as np
import pytest

from conftest import session
from lift_left_out_test import lifted
from lift_net import Net

PATCH, WIDTH = 3, 4
TRACES, UNSEEN = [(12, 20), (15, 18), (9, 25)], [(14, 21), (13, 13), (16, 30), (7, 23)]  # no trace has a part of a patch in its height


def resized(net, x, h, w):
    return net.add("Resize", x, "", "", net.ints(1, WIDTH, h, w), mode="linear", coordinate_transformation_mode="half_pixel")


def trace(h, w, tall=PATCH, back=True, between=lambda net, x: x):
    """Each cell less its patch's largest, of patches of `tall` x PATCH."""
    net, rows, columns = Net(), -(-h // tall), -(-w // PATCH)
    whole = (rows * tall, columns * PATCH)
    x = net.add("Relu", "x")
    y = between(net, x if whole == (h, w) else resized(net, x, *whole))
    if tall == 1:
        y = net.add("Reshape", y, net.ints(WIDTH, whole[0], columns, PATCH))
        y = net.add("Sub", y, net.add("ReduceMax", y, net.ints(3), keepdims=1))
    else:
        y = net.add("Reshape", y, net.ints(WIDTH * rows, tall, columns, PATCH))
        y = net.add("Sub", y, net.add("ReduceMax", y, net.ints(1, 3), keepdims=1))
    y = net.add("Reshape", y, net.ints(1, WIDTH, *whole))
    if back:
        y = net.add("Add", x, y if whole == (h, w) else resized(net, y, h, w))
    return net.model([1, WIDTH, h, w], y)


def image(h, w):
    return np.random.default_rng(h * 100 + w).standard_normal((1, WIDTH, h, w), dtype=np.float32)


def same_as_traces(run, save, sizes, **how):
    for h, w in sizes:
        got, wanted = (s.run(None, {"x": image(h, w)})[0] for s in (run, session(save(trace(h, w, **how), "wanted"))))
        assert got.shape == wanted.shape and np.abs(got - wanted).max() < 1e-6, (h, w)


def smoothed(net, x):
    kernel = np.full((WIDTH, 1, 3, 3), 1 / 9, np.float32)
    return net.add("Conv", x, net.constant(kernel), pads=[1, 1, 1, 1], group=WIDTH)


@pytest.mark.parametrize("how", [dict(), dict(back=False), dict(between=smoothed)], ids=["back", "as it is", "behind a convolution"])
def test_the_side_that_every_trace_has_whole_is_resized_too(thaw, save, tmp_path, how):
    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": trace(h, w, **how) for h, w in TRACES})
    same_as_traces(run, save, [*TRACES, *UNSEEN], **how)


def test_a_side_that_is_not_cut_keeps_its_size(thaw, save, tmp_path):
    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": trace(h, w, tall=1) for h, w in TRACES})
    same_as_traces(run, save, [*TRACES, *UNSEEN], tall=1)
