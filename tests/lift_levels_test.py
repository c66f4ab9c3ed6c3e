"""Levels that are halved and doubled again, where what the one lacks is the same in every trace, and what another one lacks is not."""
import numpy as np
import pytest

from conftest import session
from lift_net import Net, seen_of, up

CHANNELS = 2
WIDTHS = {27: 25, 40: 32, 62: 41}  # by height: two levels of these lack nothing in any trace
UNSEEN = {33: 37, 38: 43, 29: 46, 51: 28, 64: 55, 36: 30}


def image(net, h, w, result):
    return net.model([1, CHANNELS, h, w], result)


def hourglass(h, w, depth=3, before=False):
    """Halved, doubled, and the lost row or column repeated: behind the last one, or before the first. What a level has is added to it."""
    net = Net()

    def level(x, h, w, depth):
        if depth == 0:
            return x
        y = level(net.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), h // 2, w // 2, depth - 1)
        y = net.add("Resize", y, "", net.constant(np.array([1, 1, 2, 2], np.float32)), mode="nearest",
                    coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        lost = [0, 0, h % 2, w % 2]
        pads = [*lost, 0, 0, 0, 0] if before else [0, 0, 0, 0, *lost]
        return net.add("Add", x, net.add("Pad", y, net.ints(*pads), mode="edge"))

    return image(net, h, w, level("x", h, w, depth))


@pytest.mark.parametrize("before", (False, True))
def test_levels_that_lack_nothing_in_any_trace(thaw, save, tmp_path, before):
    widths = WIDTHS | UNSEEN
    seen = seen_of(thaw, save, tmp_path, lambda h: hourglass(h, widths[h], before=before), list(WIDTHS), list(UNSEEN))
    assert set(seen.values()) == {"right"}, seen


def same(rows, columns, levels=5):
    """Convolutions that are padded as TensorFlow's "same" is: those of one entry and one step by nothing."""
    net, x, h, w = Net(), "x", rows, columns
    narrow, wide = (net.constant(np.full((CHANNELS, 1, k, k), 0.3, np.float32)) for k in (1, 3))
    for _ in range(levels):
        x = net.add("Conv", net.add("Pad", x, net.ints(*[0] * 8)), narrow, group=CHANNELS)
        lacks = [1 + side % 2 for side in (h, w)]  # of three entries and a step of two
        x = net.add("Pad", x, net.ints(0, 0, *[n // 2 for n in lacks], 0, 0, *[n - n // 2 for n in lacks]))
        x = net.add("Relu", net.add("Conv", x, wide, strides=[2, 2], group=CHANNELS))
        h, w = up(h, 2), up(w, 2)
    return image(net, rows, columns, x)


SAME = {64: 96, 77: 59, 90: 131}  # the second level's columns are all multiples of 6, the fourth's rows of 2


def test_pads_of_one_kind_that_add_nothing(thaw, save, tmp_path):
    widths = SAME | UNSEEN
    seen = seen_of(thaw, save, tmp_path, lambda h: same(h, widths[h]), list(SAME), list(UNSEEN))
    assert set(seen.values()) == {"right"}, seen


def remainder(n, width=3):
    """Blocks of 5 twice: filled up by an amount that was written down, and by what the graph computes, as it is exported where the last
    block is shorter. Where none is, the graph adds 5 all the same, and there is no such model."""
    net, many = Net(), up(n, 5)
    x = net.add("Reshape", net.add("Pad", "x", net.ints(0, 0, 0, 0, -n % 5, 0)), net.ints(1, many, 5, width))
    x = net.add("Sub", x, net.add("ReduceMax", x, net.ints(2), keepdims=1))
    x = net.add("Slice", net.add("Reshape", x, net.ints(1, many * 5, width)), net.ints(0), net.ints(n), net.ints(1))
    length = net.add("Gather", net.add("Shape", x), net.ints(1), axis=0)
    lacks = net.add("Sub", net.ints(5), net.add("Mod", length, net.ints(5)))
    x = net.add("Pad", x, net.add("Concat", net.ints(0, 0, 0, 0), lacks, net.ints(0), axis=0))
    blocks = net.add("Mul", net.add("Gather", net.add("Shape", x), net.ints(0), axis=0), net.ints(many))
    x = net.add("Reshape", x, net.add("Concat", net.ints(1), blocks, net.ints(5, -1), axis=0))
    x = net.add("MatMul", x, net.constant(np.eye(width, dtype=np.float32) * 0.5))
    return net.model([1, n, width], net.add("ReduceMax", x, net.ints(2), keepdims=0))


def test_a_branch_for_a_remainder(thaw, save, tmp_path):
    seen = seen_of(thaw, save, tmp_path, remainder, (26, 52, 43), (27, 31, 58, 64, 89, 122))
    assert set(seen.values()) == {"right"}, seen
    for n in (30, 45, 60, 85):
        with pytest.raises(Exception, match="guard_Reshape"):
            session(tmp_path / "lifted.onnx").run(None, {"x": np.zeros((1, n, 3), np.float32)})


def rarely_apart(n, width=40):
    """Two pools of one window, of which one looks at a position more: at one size of 40 it gives one more than the other."""
    net = Net()
    x = net.add("Transpose", net.add("Reshape", "x", net.ints(n, 3)), perm=[1, 0])
    x = net.add("Reshape", x, net.ints(1, 3, n))
    pool = dict(kernel_shape=[width], strides=[width])
    more = net.add("MaxPool", net.add("Pad", x, net.ints(0, 0, 0, 0, 0, 1)), **pool)
    return net.model([1, n, 3], net.add("Add", net.add("AveragePool", x, **pool), more))


def test_sizes_that_only_a_proof_finds(thaw, save, tmp_path):
    seen = seen_of(thaw, save, tmp_path, rarely_apart, (85, 131, 172), (96, 118, 120, 141, 158))
    assert set(seen.values()) == {"right"}, seen
    for n in (119, 159):
        with pytest.raises(Exception, match="guard_Reshape"):
            session(tmp_path / "lifted.onnx").run(None, {"x": np.zeros((1, n, 3), np.float32)})


def spread(h, w, levels, half):
    """Anchors as torchvision spreads them: as far apart as a side over the cells of a level, rounded down."""
    net, x, rows, columns, parts, anchors = Net(), "x", h, w, [], []
    for level in range(1, 7):
        x = net.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
        rows, columns = up(rows, 2), up(columns, 2)
        if level in levels:
            parts.append(net.add("Transpose", net.add("Reshape", x, net.ints(1, CHANNELS, rows * columns)), perm=[0, 2, 1]))
            y, x_of = np.meshgrid(np.arange(rows) * (h // rows), np.arange(columns) * (w // columns), indexing="ij")
            anchors.append(np.stack([x_of - half, y - half, x_of + half, y + half], -1).reshape(-1, 4).astype(np.float32))
    y = net.add("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]
    return image(net, h, w, net.add("Concat", y, net.constant(np.concatenate(anchors)[None]), axis=2))


@pytest.mark.parametrize("levels", [(6,), (4, 5, 6)], ids=str)
@pytest.mark.parametrize("draw", range(12))
def test_anchors_that_are_spread_over_a_side(thaw, save, tmp_path, draw, levels):
    """224, 256 and 320 over 4, 4 and 5 cells are 56, 64 and 64, which is 8 * (ceil(w / 64) + 3) as well where w is 224, 320 and 288."""
    unit = (32, 32, 16, 1)[draw % 4]
    random = np.random.default_rng(draw)
    heights = random.choice(np.arange(160 // unit, 420 // unit), 3, replace=False) * unit
    widths = random.choice(np.arange(160 // unit, 420 // unit), 3, replace=False) * unit
    traces = {224: 224, 256: 320, 320: 288} if draw == 0 else {int(h): int(w) for h, w in zip(heights, widths, strict=True)}
    unseen = {h: w for h, w in {640: 640, 288: 256, 448: 320, 352: 512, 301: 267}.items() if h not in traces}
    widths = traces | unseen
    seen = seen_of(thaw, save, tmp_path, lambda h: spread(h, widths[h], levels, 16), list(traces), list(unseen))
    assert set(seen.values()) <= {"right", "guard"}, (traces, seen)


def test_names_what_tells_of_anchors_that_are_spread(thaw, save, tmp_path):
    traces = [save(spread(h, w, (4, 5, 6), 16), f"trace_{h}") for h, w in {224: 224, 256: 320, 320: 288}.items()]
    done = thaw("lift", *traces, "-o", tmp_path / "lifted.onnx")
    assert done.returncode == 1 and "add a trace at x_dim2 = 352" in done.stdout, done.stdout
    told = {224: 224, 256: 320, 352: 352}
    seen = seen_of(thaw, save, tmp_path, lambda h: spread(h, (told | {288: 256, 416: 480})[h], (4, 5, 6), 16), list(told), [288, 416])
    assert set(seen.values()) == {"right"}, seen
