"""Pooling to a fixed number of cells, as exporters write it: by what divides at the size of the trace."""
import itertools

import numpy as np
import pytest

from conftest import session
from lift_left_out_test import lifted
from lift_net import Net

CELLS = (2, 3)
TRACES, UNSEEN = [(16, 24), (13, 11), (20, 15)], [(17, 23), (7, 29), (31, 19), (1, 2), (12, 18)]


def image(h, w):
    return np.random.default_rng(h * 100 + w).standard_normal((1, 4, h, w), dtype=np.float32)


def window(cell, cells, side):
    return cell * side // cells, -(-(cell + 1) * side // cells)


def pooled(x, cells=CELLS):
    out = np.empty((*x.shape[:2], *cells), np.float32)
    for i, j in itertools.product(*map(range, cells)):
        (top, bottom), (left, right) = window(i, cells[0], x.shape[2]), window(j, cells[1], x.shape[3])
        out[:, :, i, j] = x[:, :, top:bottom, left:right].mean((2, 3))
    return out


def longest(cells, side):
    """How many entries are gathered for each cell, and how many of them are its own where they are not the same."""
    rest = side % cells
    if rest and cells % rest:
        own = np.array([b - a for a, b in (window(i, cells, side) for i in range(cells))])
        return side // cells + 2, own
    return side // cells + (rest > 0), None


def taken_apart(net, x, sides, cells, mend=lambda lengths: lengths):
    """PyTorch's decomposition (torch/_decomp/decompositions.py, adaptive_avg_pool2d), node by node as it is exported."""
    counts, own = zip(*(longest(c, side) for c, side in zip(cells, sides)))
    starts = [np.arange(c) * side // c for c, side in zip(cells, sides)]
    rows, columns = (np.minimum(start[:, None] + np.arange(count), side - 1) for start, count, side in zip(starts, counts, sides))
    places = np.stack(np.broadcast_arrays(rows[:, :, None, None], columns), -1)
    x = net.add("Transpose", x, perm=[2, 3, 0, 1])
    x = net.add("Transpose", net.add("GatherND", x, net.constant(places)), perm=[4, 5, 0, 1, 2, 3])
    if own[0] is None and own[1] is None:
        return net.add("ReduceMean", x, net.ints(-3, -1), keepdims=0)
    for axis, lengths in enumerate(own):
        if lengths is None:
            continue
        mask = np.arange(counts[axis]) >= lengths[:, None]
        x = net.add("Where", net.constant(mask[..., None, None] if axis == 0 else mask), net.constant(np.float32(0)), x)
    total = None
    for a, b in itertools.product(*map(range, counts)):
        each = net.add("Gather", net.add("Gather", x, net.constant(np.int64(a)), axis=3), net.constant(np.int64(b)), axis=4)
        total = each if total is None else net.add("Add", total, each)
    lengths = [np.array(count) if each is None else each for count, each in zip(counts, own)]
    by = mend(lengths[0].reshape(-1, 1) * lengths[1])
    return net.add("Div", total, net.constant(by.astype(np.float32)))


def trace(h, w, cells=CELLS, **how):
    net = Net()
    x = net.add("Relu", "x")
    if h % cells[0] == 0 and w % cells[1] == 0:
        kernel = [h // cells[0], w // cells[1]]
        x = net.add("AveragePool", x, kernel_shape=kernel, strides=kernel, pads=[0, 0, 0, 0])
    else:
        x = taken_apart(net, x, (h, w), cells, **how)
    return net.model([1, 4, h, w], net.add("Neg", x))


@pytest.mark.parametrize("cells", [CELLS, (6, 4), (1, 5)], ids=str)
def test_cells_of_any_size(thaw, save, tmp_path, cells):
    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": trace(h, w, cells) for h, w in TRACES})
    for h, w in [*TRACES, *UNSEEN]:
        got = run.run(None, {"x": image(h, w)})[0]
        assert np.abs(got + pooled(np.maximum(image(h, w), 0), cells)).max() < 1e-5, (h, w)


def test_where_all_are_whole_a_part_is_an_error(thaw, save, tmp_path):
    """Nothing tells what becomes of the rest."""
    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": trace(h, w) for h, w in [(16, 24), (22, 9), (10, 33)]})
    for h, w in [(14, 15), (26, 69)]:
        assert np.abs(run.run(None, {"x": image(h, w)})[0] + pooled(np.maximum(image(h, w), 0))).max() < 1e-5, (h, w)
    for h, w in [(17, 24), (16, 23)]:
        with pytest.raises(Exception, match="Reshape"):
            run.run(None, {"x": image(h, w)})


def test_what_divides_by_something_else_is_no_average(thaw, save, tmp_path):
    paths = [save(trace(h, w, mend=lambda lengths: lengths + (lengths == lengths.max())), f"trace_{h}x{w}") for h, w in TRACES]
    assert "not the same" in thaw.error("lift", *paths, "-o", tmp_path / "out.onnx")
    assert not (tmp_path / "out.onnx").exists()


def test_windows_that_are_no_cells_stay_as_they_are(thaw, save, tmp_path):
    """2 x 2 everywhere, which tile the image at some sizes."""
    def plain(h, w):
        net = Net()
        return net.model([1, 4, h, w], net.add("AveragePool", "x", kernel_shape=[2, 2], strides=[2, 2]))

    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": plain(h, w) for h, w in TRACES})
    for h, w in [(17, 23), (12, 18)]:
        wanted = session(save(plain(h, w), "wanted")).run(None, {"x": image(h, w)})[0]
        assert np.array_equal(run.run(None, {"x": image(h, w)})[0], wanted), (h, w)


def pool_to(cells, to_the_end=True, op="AveragePool"):
    """Adaptive pooling as deployments write it: a stride of floor(n / cells), and a kernel of what the last window has left, or of ceil(n / cells)."""
    def build(h, w):
        strides = [side // c for side, c in zip((h, w), cells)]
        kernel = [side - (c - 1) * s if to_the_end else -(-side // c) for side, c, s in zip((h, w), cells, strides)]
        net = Net()
        x = net.add(op, net.add("Relu", "x"), kernel_shape=kernel, strides=strides)
        return net.model([1, 4, h, w], net.add("Neg", x))
    return build


@pytest.mark.parametrize("op", ["AveragePool", "MaxPool"])
@pytest.mark.parametrize("cells", [(1, 1), (2, 2), (3, 3), (6, 6), (3, 1), (2, 5)], ids=str)
def test_windows_that_end_with_the_side(thaw, save, tmp_path, cells, op):
    build = pool_to(cells, op=op)
    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": build(h, w) for h, w in [(17, 23), (14, 12), (20, 29)]})
    for h, w in [(13, 11), (7, 29), (31, 19), (12, 18), (24, 30), (8, 9)]:
        wanted = session(save(build(h, w), "wanted")).run(None, {"x": image(h, w)})[0]
        got = run.run(None, {"x": image(h, w)})[0]
        assert got.shape == wanted.shape and np.abs(got - wanted).max() < 1e-5, (h, w)


@pytest.mark.parametrize("to_the_end", [True, False])
@pytest.mark.parametrize("traces", [[(13, 12), (19, 9), (21, 16)], [(14, 13), (23, 17), (20, 11)]], ids=["both alike", "told"])
def test_windows_of_a_part_are_refused(thaw, save, tmp_path, to_the_end, traces):
    """Windows of ceil(n / 3) entries are more than 3 at some sizes. Where both are as long in every trace, nothing tells which they are."""
    build = pool_to((3, 3), to_the_end)
    paths = [save(build(h, w), f"trace_{h}x{w}") for h, w in traces]
    if to_the_end and traces[0] == (14, 13):
        thaw("lift", *paths, "-o", tmp_path / "out.onnx", code=0)
    else:
        assert "kernel_shape" in thaw("lift", *paths, "-o", tmp_path / "out.onnx", code=1).stdout


LEAST = 7  # cells, where a side is shorter


def trace_of_no_fewer(h, w, least=(LEAST, LEAST)):
    """A kernel that asks for so many rows and columns: a shorter side is pooled to as many cells, and no other."""
    net, cells = Net(), (max(h, least[0]), max(w, least[1]))
    x = net.add("Relu", "x")
    if cells != (h, w):
        x = taken_apart(net, x, (h, w), cells)
    return net.model([1, 4, h, w], net.add("Neg", x))


def test_no_fewer_cells_than_a_kernel_has(thaw, save, tmp_path):
    traces = [(8, 9), (9, 6), (12, 10)]
    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": trace_of_no_fewer(h, w) for h, w in traces})
    for h, w in [*traces, (10, 4), (7, 7), (15, 23), (8, 1)]:
        got = run.run(None, {"x": image(h, w)})[0]
        assert np.abs(got + pooled(np.maximum(image(h, w), 0), (h, max(w, LEAST)))).max() < 1e-5, (h, w)


def test_both_sides_may_be_the_short_one(thaw, save, tmp_path):
    traces = [(8, 9), (9, 6), (5, 10)]
    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": trace_of_no_fewer(h, w) for h, w in traces})
    for h, w in [*traces, (4, 4), (15, 23), (3, 12)]:
        got = run.run(None, {"x": image(h, w)})[0]
        assert np.abs(got + pooled(np.maximum(image(h, w), 0), (max(h, LEAST), max(w, LEAST)))).max() < 1e-5, (h, w)


def test_how_few_cells_is_one_number(thaw, save, tmp_path):
    """8 cells of 5 columns, 7 of 6: no number is the least of both."""
    paths = [save(trace_of_no_fewer(h, w, (1, least)), f"trace_{h}x{w}") for h, w, least in [(8, 9, 7), (9, 6, 7), (12, 5, 8), (10, 12, 7)]]
    thaw("lift", *paths, "-o", tmp_path / "out.onnx", code=1)
    assert not (tmp_path / "out.onnx").exists()
