"""thaw lift on a Swin transformer: windows by Reshape, shifted ones with masks, padding up to whole windows, two stages.

Each frozen size stands for itself in the trace, and three traces leave several explanations of some: the nodes decide.
"""
import numpy as np
import pytest

from conftest import session
from lift_net import Net, up
from models import swin

UNSEEN = ((1, 8, 8), (7, 72, 136), (2, 136, 72), (1, 16, 200), (4, 104, 40))


def traces(save, sizes):
    return [save(swin.static(*size), "swin_" + "x".join(map(str, size))) for size in sizes]


@pytest.mark.parametrize("sizes", [
    ((2, 40, 56), (3, 88, 24), (5, 72, 104)),
    ((2, 40, 56), (3, 88, 24), (5, 72, 104), (7, 16, 136)),
    ((3, 24, 104), (1, 64, 40), (2, 80, 16)),
    ((2, 40, 56), (3, 88, 24), (5, 64, 104)),  # as much padding of the height in each, and as much as it is rolled by
])
def test_equals_the_trace_at_any_batch_and_size(thaw, save, tmp_path, sizes):
    out = tmp_path / "lifted.onnx"
    run = thaw("lift", *traces(save, sizes), "-o", out, code=0)
    assert "shape inference: passes at" in run.stdout
    lifted = session(out)
    for size in (*sizes, *UNSEEN):
        feed = swin.feeds(*size)
        got, wanted = lifted.run(None, feed)[0], session(swin.static(*size)).run(None, feed)[0]
        assert got.shape == wanted.shape and np.abs(got - wanted).max() <= 1e-5, size


def test_the_batch_alone_may_stay_one(thaw, save, tmp_path):
    out = tmp_path / "lifted.onnx"
    thaw("lift", *traces(save, ((1, 40, 56), (1, 88, 24), (1, 72, 104))), "-o", out, code=0)
    feed = swin.feeds(1, 136, 72)
    assert np.abs(session(out).run(None, feed)[0] - session(swin.static(1, 136, 72)).run(None, feed)[0]).max() <= 1e-5


def test_a_side_that_every_trace_has_whole_is_cut_as_the_other_is(thaw, save, tmp_path):
    """Widths are whole windows in each of them, so that no Slice cuts them: the one that cuts the height tells where."""
    sizes = ((2, 40, 24), (3, 88, 48), (5, 104, 96))
    paths = [save(swin.static(*size, left_out=True), "swin_" + "x".join(map(str, size))) for size in sizes]
    out = tmp_path / "lifted.onnx"
    thaw("lift", *paths, "-o", out, code=0)
    lifted = session(out)
    for size in (*sizes, *UNSEEN):
        feed = swin.feeds(*size)
        got, wanted = lifted.run(None, feed)[0], session(swin.static(*size)).run(None, feed)[0]
        assert got.shape == wanted.shape and np.abs(got - wanted).max() <= 1e-5, size


def test_traces_that_do_not_tell_are_refused(thaw, save, tmp_path):
    """The padding is 2 along both sides in each of them: what it is at other sizes is not told."""
    out = tmp_path / "lifted.onnx"
    run = thaw("lift", *traces(save, ((2, 40, 40), (3, 88, 88), (5, 136, 136))), "-o", out, code=1)
    assert "shape inference fails at" in run.stdout and "at image_dim0 =" in run.stdout
    assert not out.exists()


def video(frames, h, w, window=3, told=True):
    """Windows of every second frame and 3 x 3 cells, shifted by a cell; padded by what nodes make of the sides, and cut back as Swin's are.
    told: whether the nodes that make them are there."""
    net, half = Net(), frames // 2 if told else up(frames, 2)
    high, wide = (side + -side % window for side in (h, w))

    def rolled(x, by, axis, size):
        parts = [(by % size, 1 << 31), (0, by % size)]
        return net.add("Concat", *(net.add("Slice", x, net.ints(a), net.ints(b), net.ints(axis), net.ints(1)) for a, b in parts), axis=axis)

    def side(x, axis):
        return net.add("Gather", net.add("Shape", x), net.ints(axis))

    def missing(size, window):
        return net.add("Mod", net.add("Sub", window, net.add("Mod", size, window)), window)

    x = net.add("Slice", "x", net.ints(int(told)), net.ints(1 << 31), net.ints(1), net.ints(2))
    amounts = [missing(side(x, axis), net.ints(window)) for axis in (2, 3)] if told else [net.ints(high - h, wide - w)]
    more = net.add("Concat", net.ints(*6 * [0]), missing(side(x, 1), side(x, 1)), *amounts, net.ints(0), axis=0)
    y = rolled(rolled(net.add("Pad", x, more), 1, 2, high), 1, 3, wide)
    y = net.add("Reshape", y, net.ints(1, half, high // window, window, wide // window, window, 4))
    y = net.add("Reshape", net.add("Transpose", y, perm=[0, 2, 4, 1, 3, 5, 6]), net.ints(high * wide // window**2, half * window**2, 4))
    y = net.add("Sub", y, net.add("ReduceMean", y, net.ints(1)))
    y = net.add("Reshape", y, net.ints(1, high // window, wide // window, half, window, window, 4))
    y = net.add("Reshape", net.add("Transpose", y, perm=[0, 3, 1, 4, 2, 5, 6]), net.ints(1, half, high, wide, 4))
    y = rolled(rolled(y, -1, 2, high), -1, 3, wide)
    for axis, size, whole in ((2, h, high), (3, w, wide)):
        y = net.add("Slice", y, net.ints(0), net.ints(size), net.ints(axis), net.ints(1)) if size < whole else y
    return net.model([1, frames, h, w, 4], net.add("Add", x, y))


def test_a_side_that_every_trace_has_whole_beside_one_that_is_never_padded(thaw, save, tmp_path):
    """That frames are not padded stands in no expression of theirs: as if it were cut back, a width was cut again and again."""
    sizes, unseen = ((5, 7, 9), (10, 11, 21), (15, 17, 15)), ((6, 13, 12), (13, 8, 18), (9, 16, 24))
    out = tmp_path / "lifted.onnx"
    thaw("lift", *(save(video(*size), "video_" + "x".join(map(str, size))) for size in sizes), "-o", out, code=0)
    lifted = session(out)
    for size in (*sizes, *unseen):
        x = np.random.default_rng(sum(size)).standard_normal((1, *size, 4), dtype=np.float32)
        got, wanted = (run.run(None, {"x": x})[0] for run in (lifted, session(save(video(*size), "wanted"))))
        assert got.shape == wanted.shape and np.abs(got - wanted).max() <= 1e-5, size


def test_a_size_that_follows_from_another_in_every_trace_is_held_by_the_guard(thaw, save, tmp_path):
    """Each trace has three columns less than three times its frames, and elsewhere nodes contradict each other."""
    sizes = ((4, 7, 9), (6, 11, 15), (8, 17, 21))
    out = tmp_path / "lifted.onnx"
    run = thaw("lift", *(save(video(*size, told=False), "video_" + "x".join(map(str, size))) for size in sizes), "-o", out, code=0)
    assert "the model contradicts itself elsewhere" in run.stdout
    lifted = session(out)
    for size in ((4, 7, 15), (8, 13, 9), (6, 16, 21)):
        with pytest.raises(Exception, match="guard_Reshape"):
            lifted.run(None, {"x": np.zeros((1, *size, 4), np.float32)})
