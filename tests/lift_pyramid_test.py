"""Traces of networks over several levels of a pyramid: what is made for each level and joined, as detectors keep it."""
import itertools

import numpy as np
import pytest

from conftest import session
from lift_left_out_test import lifted
from lift_net import Net

STRIDES, WIDTH = (2, 4, 8), 4
SIZES, UNSEEN = [(26, 39), (41, 28), (64, 57)], [(31, 71), (23, 17), (97, 83)]


def image(h, w):
    return np.random.default_rng(h * 100 + w).standard_normal((1, WIDTH, h, w), dtype=np.float32)


def sides(h, w):
    return [(h // s, w // s) for s in STRIDES]


def centres(h, w):
    """[h * w, 2]: x and y of each cell, between 0 and 1, row by row."""
    y, x = np.meshgrid((np.arange(h) + np.float32(0.5)) / np.float32(h), (np.arange(w) + np.float32(0.5)) / np.float32(w), indexing="ij")
    return np.stack([x, y], -1).reshape(-1, 2).astype(np.float32)


def logits(p):
    return np.log(p / (np.float32(1) - p)).astype(np.float32)


def boxes(h, w):
    """[n, 4] of all levels: centres, and a width and height that each level has."""
    return np.concatenate([np.concatenate([centres(*side), np.full((side[0] * side[1], 2), np.float32(0.05 * 2**level))], 1)
                           for level, side in enumerate(sides(h, w))])


def starts(h, w):
    return np.cumsum([0] + [a * b for a, b in sides(h, w)])[:-1]


def trace(h, w, table):
    """Each level's cells in a row, joined, and what is told of them; the first cell of each level; the sides."""
    net, levels = Net(), []
    for stride, (tall, wide) in zip(STRIDES, sides(h, w)):
        x = net.add("AveragePool", "x", kernel_shape=[stride, stride], strides=[stride, stride])
        levels.append(net.add("Reshape", x, net.ints(1, WIDTH, tall * wide)))
    x = net.add("Transpose", net.add("Concat", *levels, axis=2), perm=[0, 2, 1])
    x = net.add("Add", x, net.constant(table[None]))
    firsts = net.add("Gather", x, net.constant(starts(h, w)), axis=1)
    scale = net.add("Reshape", net.add("Cast", net.constant(np.array(sides(h, w))), to=1), net.ints(1, 6, 1))
    return net.model([1, WIDTH, h, w], net.add("Concat", x, firsts, net.add("Mul", scale, net.constant(np.ones((1, 1, WIDTH), np.float32))), axis=1))


def wanted(h, w, table):
    levels = []
    for stride, (tall, wide) in zip(STRIDES, sides(h, w)):
        cut = image(h, w)[:, :, :tall * stride, :wide * stride].reshape(1, WIDTH, tall, stride, wide, stride)
        levels.append(cut.mean((3, 5)).reshape(1, WIDTH, -1))
    x = np.concatenate(levels, 2).transpose(0, 2, 1) + table
    return np.concatenate([x, x[:, starts(h, w)], np.repeat(np.array(sides(h, w)).reshape(1, 6, 1), WIDTH, 2)], 1)


def check(thaw, save, tmp_path, make):
    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": trace(h, w, make(h, w)) for h, w in SIZES})
    for h, w in [*SIZES, *UNSEEN]:
        got, true = run.run(None, {"x": image(h, w)})[0], wanted(h, w, make(h, w))
        assert got.shape == true.shape and np.abs(got - true).max() < 2e-5, (h, w)


def test_boxes_of_all_levels(thaw, save, tmp_path):
    check(thaw, save, tmp_path, boxes)


def test_boxes_as_logits(thaw, save, tmp_path):
    check(thaw, save, tmp_path, lambda h, w: logits(boxes(h, w)))


def test_learned_numbers_of_each_level(thaw, save, tmp_path):
    learned = np.random.default_rng(5).standard_normal((3, WIDTH), dtype=np.float32)
    check(thaw, save, tmp_path, lambda h, w: np.concatenate([np.tile(row, (a * b, 1)) for row, (a, b) in zip(learned, sides(h, w))]))


def test_a_level_that_nothing_gives(thaw, save, tmp_path):
    """Noise in the second of three pieces: nothing is written."""
    paths = []
    for h, w in SIZES:
        table = boxes(h, w)
        first, second = starts(h, w)[1:]
        table[first:second] = np.random.default_rng(h).standard_normal((second - first, 4))
        paths.append(save(trace(h, w, table), f"trace_{h}x{w}"))
    thaw("lift", *paths, "-o", tmp_path / "out.onnx", code=1)
    assert not (tmp_path / "out.onnx").exists()


def waves(h, w, counted):
    """DETR's positions, [h * w, 4]: sines and cosines of places from 0 to 2 pi, cells counted from 1 or by their centres."""
    def places(n):
        return (np.arange(1, n + 1, dtype=np.float32) - np.float32(0 if counted else 0.5)) / np.float32(n + 1e-6) * np.float32(2 * np.pi)
    y, x = np.meshgrid(places(h), places(w), indexing="ij")
    return np.stack([np.sin(y), np.cos(y / 10), np.sin(x), np.cos(x / 100)], -1).reshape(-1, 4).astype(np.float32)


def test_waves_over_each_level_and_what_was_learned_of_it(thaw, save, tmp_path):
    learned = np.random.default_rng(6).standard_normal((3, WIDTH), dtype=np.float32)
    for counted in (True, False):
        check(thaw, save, tmp_path, lambda h, w, c=counted: np.concatenate(
            [waves(*side, c) + row for row, side in zip(learned, sides(h, w))]).astype(np.float32))


def test_waves_of_places_over_a_grid(thaw, save, tmp_path):
    check(thaw, save, tmp_path, lambda h, w: np.concatenate([waves(*side, True) for side in sides(h, w)]))


def test_boxes_of_several_shapes_in_each_cell(thaw, save, tmp_path):
    """Three rows a cell, as default boxes have them; the model joins as many."""
    shapes = np.array([[0.1, 0.1], [0.2, 0.1], [0.1, 0.2]], np.float32)

    def table(h, w):
        return np.concatenate([np.concatenate([np.repeat(centres(*side), 3, 0), np.tile(shapes * np.float32(2**level), (side[0] * side[1], 1))], 1)
                               for level, side in enumerate(sides(h, w))])

    def trace(h, w):
        net, levels = Net(), []
        for stride, (tall, wide) in zip(STRIDES, sides(h, w)):
            x = net.add("AveragePool", "x", kernel_shape=[stride, stride], strides=[stride, stride])
            x = net.add("Reshape", net.add("Concat", x, x, x, axis=1), net.ints(1, 3, WIDTH, tall, wide))
            levels.append(net.add("Reshape", net.add("Transpose", x, perm=[0, 3, 4, 1, 2]), net.ints(1, tall * wide * 3, WIDTH)))
        return net.model([1, WIDTH, h, w], net.add("Add", net.add("Concat", *levels, axis=1), net.constant(table(h, w))))

    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": trace(h, w) for h, w in SIZES})
    for h, w in [*SIZES, *UNSEEN]:
        firsts = np.cumsum([0] + [a * b for a, b in sides(h, w)])
        true = np.concatenate([np.repeat(wanted(h, w, np.float32(0))[:, a:b], 3, 1) for a, b in itertools.pairwise(firsts)], 1) + table(h, w)
        got = run.run(None, {"x": image(h, w)})[0]
        assert got.shape == true.shape and np.abs(got - true).max() < 1e-5, (h, w)


def anchors(h, w):
    """Two boxes for each cell of 64 x 64, and of what is left: as far apart as the image over how many there are, rounded down."""
    rows, columns = -(-h // 64), -(-w // 64)
    y, x = np.meshgrid(np.arange(rows) * (h // rows), np.arange(columns) * (w // columns), indexing="ij")
    places = np.stack([x, y, x, y], -1).reshape(-1, 1, 4)
    return (places + np.array([[-32, -32, 32, 32], [-45, -23, 45, 23]])).reshape(-1, 4).astype(np.float32)


def anchored(h, w):
    net = Net()
    cells = net.add("MaxPool", "x", kernel_shape=[1, 1], strides=[64, 64])
    cells = net.add("Reshape", cells, net.ints(1, 1, -(-h // 64) * -(-w // 64)))
    mean = net.add("ReduceMean", cells, keepdims=0)
    # A coarser level, of which ceil(w / 128) + 55 is as far as the cells are apart in these three.
    coarse = net.add("Reshape", net.add("MaxPool", "x", kernel_shape=[1, 1], strides=[128, 128]), net.ints(1, 1, -(-h // 128) * -(-w // 128)))
    mean = net.add("Reshape", net.add("Add", mean, net.add("ReduceMean", coarse, keepdims=0)), net.ints(1))
    return net.model([1, 1, h, w], net.add("Add", net.constant(anchors(h, w)), mean))


def test_anchors_of_several_shapes(thaw, save, tmp_path):
    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": anchored(h, w) for h, w in [(416, 608), (608, 416), (320, 544)]})
    for h, w in [(416, 608), (544, 320), (640, 480), (33, 71), (353, 129)]:
        assert np.array_equal(run.run(None, {"x": np.zeros((1, 1, h, w), np.float32)})[0], anchors(h, w)), (h, w)


def test_anchors_whose_rounding_no_trace_tells(thaw, save, tmp_path):
    """160 / 3 leaves 1: two cells further on, 2 * floor(160 / 3) and floor(2 * 160 / 3) are the same."""
    paths = [save(anchored(h, w), f"trace_{h}x{w}") for h, w in [(96, 160), (160, 96), (224, 192)]]
    thaw("lift", *paths, "-o", tmp_path / "lifted.onnx", code=1)


def spread(h, w, kernel, is_number):
    """The places of the cells behind a stride of 8: apart by 8, or by the side over how many there are, as torchvision's anchors."""
    net, pad = Net(), (kernel - 8 + 1) // 2
    rows, columns = ((n + 2 * pad - kernel) // 8 + 1 for n in (h, w))
    down, across = (8, 8) if is_number else (h // rows, w // columns)
    x = net.add("MaxPool", "x", kernel_shape=[kernel] * 2, strides=[8, 8], pads=[pad] * 4)
    x = net.add("Reshape", x, net.ints(1, rows * columns, 1))
    places = np.stack([np.tile(np.arange(columns) * across, rows), np.repeat(np.arange(rows) * down, columns)], 1)
    return net.model([1, 1, h, w], net.add("Add", x, net.constant(places.astype(np.float32))))


@pytest.mark.parametrize("is_number", [True, False])
@pytest.mark.parametrize("kernel", [8, 9, 11])
def test_places_that_are_as_far_apart_in_every_trace(thaw, save, tmp_path, kernel, is_number):
    for number, sizes in enumerate([[(64, 96), (96, 160), (160, 128)], [(64, 135), (70, 78), (144, 110)], [(67, 101), (89, 53), (113, 83)]]):
        out = tmp_path / f"lifted_{number}.onnx"
        thaw("lift", *[save(spread(*size, kernel, is_number), f"trace_{size[0]}x{size[1]}") for size in sizes], "-o", out, code=0)
        run, right = session(out), 0
        for h, w in [(71, 107), (90, 62), (121, 75), (128, 160), (179, 133), (64, 72)]:
            x = np.zeros((1, 1, h, w), np.float32)
            try:
                got = run.run(None, {"x": x})[0]
            except Exception as error:
                assert "guard_Reshape" in str(error), (sizes, h, w)
                continue
            right += 1
            assert np.array_equal(got, session(save(spread(h, w, kernel, is_number), "wanted")).run(None, {"x": x})[0]), (sizes, h, w)
        assert right > 0
