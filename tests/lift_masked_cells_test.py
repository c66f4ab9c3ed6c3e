"""Detectors' cells of which those near an edge are left out: nearer than a share of the side (Deformable DETR, RT-DETR), so many at each end, or
so many pixels."""
import numpy as np
import pytest

from lift_net import Net, seen_of, up

CHANNELS = 2
UNSEEN = {45: 77, 61: 52, 83: 131, 118: 94, 149: 203, 251: 170}  # widths by height


def places(h, w):
    """The middles of cells [h * w, 2] along their sides, in float32."""
    y, x = np.meshgrid(np.arange(h, dtype=np.float32), np.arange(w, dtype=np.float32), indexing="ij")
    return np.stack([(x + np.float32(0.5)) / np.float32(w), (y + np.float32(0.5)) / np.float32(h)], -1).reshape(-1, 2)


def by_share(share):
    return lambda h, w, stride: ((places(h, w) > np.float32(share)) & (places(h, w) < np.float32(1 - share))).all(-1)


def by_border(count, pixels=False):
    def inner(h, w, stride):
        cells = count // stride if pixels else count
        y, x = np.divmod(np.arange(h * w), w)
        return (y >= cells) & (y < h - cells) & (x >= cells) & (x < w - cells)
    return inner


def anchors(h, w, inner, size):
    """Log-odds of places and of a size; the largest float where a cell is left out."""
    at = np.concatenate([places(h, w), np.full((h * w, 2), size, np.float32)], -1)
    with np.errstate(divide="ignore"):
        odds = np.log(at / (1 - at))
    return np.where(inner[:, None], odds, np.finfo(np.float32).max).astype(np.float32)


def detector(h, w, inner, chooses=True, has_anchors=True, strides=(4, 8)):
    """Levels of a pyramid, joined cell by cell; features of the cells that are left out are 0."""
    net, x, levels, sides = Net(), "x", [], []
    weight = net.constant(np.random.default_rng(1).standard_normal((CHANNELS, CHANNELS, 3, 3), dtype=np.float32))
    stride, rows, columns = 1, h, w
    while stride < max(strides):
        x, stride, rows, columns = net.add("Conv", x, weight, strides=[2, 2], pads=[1, 1, 1, 1]), stride * 2, up(rows, 2), up(columns, 2)
        if stride in strides:
            levels.append(net.add("Transpose", net.add("Reshape", x, net.ints(1, CHANNELS, rows * columns)), perm=[0, 2, 1]))
            sides.append((rows, columns, stride))
    y = net.add("Concat", *levels, axis=1) if len(levels) > 1 else levels[0]
    held = [inner(*each) for each in sides]
    mask = np.concatenate(held)[None, :, None]
    if chooses:
        y = net.add("Where", net.constant(mask), y, net.constant(np.float32(0)))
    else:
        y = net.add("Mul", y, net.constant(mask.astype(np.float32)))
    if has_anchors:
        tables = [anchors(*each[:2], left, 0.05 * 2 ** i) for i, (each, left) in enumerate(zip(sides, held, strict=True))]
        y = net.add("Concat", y, net.constant(np.concatenate(tables)[None]), axis=2)
    return net.model([1, CHANNELS, h, w], y)


def lifted(thaw, save, tmp_path, widths, inner, **options):
    widths = widths | UNSEEN
    return lambda heights: seen_of(thaw, save, tmp_path, lambda h: detector(h, widths[h], inner, **options), heights, list(UNSEEN))


OPTIONS = [{}, {"chooses": False}, {"has_anchors": False}, {"strides": (2,)}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_share_that_the_levels_tell(thaw, save, tmp_path, options):
    widths = {78: 122, 115: 79, 174: 197}  # of the first level, 39 cells along a side or more, 50 of which leave one out
    seen = lifted(thaw, save, tmp_path, widths, by_share(0.01), **({"strides": (2, 4, 8)} | options))(list(widths))
    assert set(seen.values()) == {"right"}, seen


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("share", [0.02, 0.0225, 0.03])
def test_other_shares_hold_where_the_traces_tell(thaw, save, tmp_path, share, options):
    widths = {53: 122, 115: 79, 174: 197}
    seen = lifted(thaw, save, tmp_path, widths, by_share(share), **options)(list(widths))
    assert "right" in seen.values() and set(seen.values()) <= {"right", "guard"}, seen


@pytest.mark.parametrize("chooses", [True, False])
def test_nothing_is_known_where_no_cell_is_left_out(thaw, save, tmp_path, chooses):
    widths = {53: 61, 44: 79, 70: 47}
    seen = lifted(thaw, save, tmp_path, widths, by_share(0.02), chooses=chooses)(list(widths))
    assert seen[61] == "right", seen
    assert {seen[h] for h in (83, 118, 149, 251)} == {"guard"}, seen


@pytest.mark.parametrize("draw", [*range(12), 19, 83, 105, 126])
def test_drawn(thaw, save, tmp_path, draw):
    random = np.random.default_rng(draw)
    share = float(random.choice([0.01, 0.02, 0.025, 0.03, 0.04, 0.05, 0.07, 0.1]))
    count = int(random.integers(1, 3))
    inner = (by_share(share), by_share(share), by_border(8 * count, pixels=True), by_border(count))[draw % 4]
    unit = int(random.choice([1, 1, 8, 32]))
    heights = [int(n) for n in random.choice(np.setdiff1d(np.arange(64, 224, unit), list(UNSEEN)), 3, replace=False)]
    widths = dict(zip(heights, (int(w) * unit for w in random.choice(np.arange(48 // unit + 1, 224 // unit + 1), 3, replace=False)), strict=True))
    options = {"chooses": bool(draw % 2), "has_anchors": draw % 5 > 1, "strides": ((4, 8), (4,), (2, 4, 8))[draw % 3]}
    seen = lifted(thaw, save, tmp_path, widths, inner, **options)(heights)
    assert set(seen.values()) <= {"right", "guard"}, (share, widths, seen)


@pytest.mark.parametrize("strides", [(8, 16, 32), (8,)])
@pytest.mark.parametrize(("widths", "unseen"), [({512: 448, 640: 576, 768: 704}, {576: 640, 736: 512, 704: 320, 1024: 1024}),
                                                ({512: 256, 640: 320, 768: 384}, {576: 352, 736: 288, 544: 544, 1024: 1024})], ids=str)
def test_grids_are_those_of_the_levels(thaw, save, tmp_path, widths, unseen, strides):
    """Where all sides are multiples of 64, or one is twice the other, cells of other grids are as many, and leave out as many rows."""
    sides = widths | unseen
    seen = seen_of(thaw, save, tmp_path, lambda h: detector(h, sides[h], by_share(0.01), has_anchors=False, strides=strides), list(widths), list(unseen))
    assert set(seen.values()) <= {"right", "guard"} and [*seen.values()].count("right") >= 2, seen
