"""thaw lift on a Swin transformer: windows by Reshape, shifted ones with masks, padding up to whole windows, two stages.

Each frozen size stands for itself in the trace, and three traces leave several explanations of some: the nodes decide.
"""
import numpy as np
import pytest

from conftest import session
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
