"""Tables over a size: centres of cells in shares of an image's side that they do not fill, boxes in shares of its shorter side (SSD), and numbers
of the cells of a grid, of the longer side, and of their logarithms."""
import numpy as np
import pytest

from lift_alike_sides_test import CHANNELS, KERNEL, beside_table, cells, image
from lift_net import Net, seen_of, up

UNSEEN = {45: 77, 61: 52, 84: 131, 118: 94, 150: 203, 251: 170, 96: 160, 192: 224}  # widths by height
TELLING, WHOLE = {67: 101, 89: 54, 114: 83}, {64: 96, 128: 64, 96: 160}
BOXES = np.array([[14, 20, 3.5, 31], [5, 9, 11, 27], [2.5, 4, 8, 16]])


def centres(h, w, r, c):
    y, x = cells(r, c)
    return np.stack([(x + 0.5) * 8 / w, (y + 0.5) * 8 / h], -1)


# Of an image of h x w and its cells of 8 x 8, r x c: [r * c, columns].
TABLES = {
    "centres": centres,
    "columns only": lambda h, w, r, c: centres(h, w, r, c)[:, :1],
    "centres over the longer side": lambda h, w, r, c: centres(max(h, w), max(h, w), r, c),
    "centres over the shorter side": lambda h, w, r, c: centres(min(h, w), min(h, w), r, c),
    "boxes": lambda h, w, r, c: np.tile(BOXES, (r * c, 1)).reshape(r * c, -1) / min(h, w),
    "one after the other": lambda h, w, r, c: np.resize(BOXES, (r * c, 4)) / max(h, w),
    "edges": lambda h, w, r, c: np.stack([cells(r, c)[1] * 8 / w, cells(r, c)[1] * 8 / w + 6 / w], -1),
    "centres and boxes": lambda h, w, r, c: np.concatenate([centres(h, w, r, c), np.tile(BOXES[:1], (r * c, 1)) / min(h, w)], -1),
}

NUMBERS = {
    "root of cells": lambda h, w, r, c: np.sqrt(r * c) / 12,
    "over cells": lambda h, w, r, c: 3 / (r * c),
    "over the longer side": lambda h, w, r, c: 1 / (0.5 * max(h, w)),
    "shorter side": lambda h, w, r, c: min(h, w) / 96,
    "between cells": lambda h, w, r, c: 8 * c - 4.5,
    "half of the longer side": lambda h, w, r, c: max(h, w) / 2,
    "logarithm over that of a number": lambda h, w, r, c: np.log(r * c) / np.log(64),
    "logarithm": lambda h, w, r, c: 0.5 * np.log(r * c),
    "logarithm of a share": lambda h, w, r, c: np.log(h * w / 4096),
}


def with_table(of):
    def model(h, w):
        net, x, r, c = image(h, w, 8)
        return net.model([1, CHANNELS, h, w], beside_table(net, x, of(h, w, r, c)))
    return model


def with_number(of):
    def model(h, w):
        net, x, r, c = image(h, w, 8)
        mean = net.add("ReduceMean", x, net.ints(2), keepdims=0)
        return net.model([1, CHANNELS, h, w], net.add("Mul", mean, net.constant(np.float32(of(h, w, r, c)))))
    return model


def lift_at(thaw, save, tmp_path, build, sides):
    widths = UNSEEN | sides
    return seen_of(thaw, save, tmp_path, lambda h: build(h, widths[h]), list(sides), list(UNSEEN))


@pytest.mark.parametrize("table", TABLES)
def test_tables(thaw, save, tmp_path, table):
    seen = lift_at(thaw, save, tmp_path, with_table(TABLES[table]), TELLING)
    assert set(seen.values()) == {"right"}, seen


MULTIPLES = [WHOLE, {64: 64, 96: 96, 160: 160}, {72: 120, 88: 56}, {48: 104, 80: 160, 64: 136}, {104: 48, 160: 80, 136: 64},
             {104: 184, 184: 72}, {48: 88, 168: 48}, {80: 72, 72: 64}]


# Each table with each sides, in shares of these and of what the cells fill in turns.
@pytest.mark.parametrize("table, sides, of", [(table, sides, ("side", "cells")[(i + j) % 2]) for i, table in enumerate(TABLES) for j, sides in enumerate(MULTIPLES)])
def test_tables_of_sides_that_are_multiples(thaw, save, tmp_path, table, of, sides):
    """Cells fill them: nothing tells (x + 0.5) / c of c cells from (x + 0.5) * 8 / w. Nor 1 / 184 from the longer side, where it is the same in
    every trace; the area is a multiple of the shorter one then."""
    def build(h, w):
        net, x, r, c = image(h, w, 8)
        shares_of = (h, w) if of == "side" else (8 * r, 8 * c)
        return net.model([1, CHANNELS, h, w], beside_table(net, x, TABLES[table](*shares_of, r, c)))
    seen = lift_at(thaw, save, tmp_path, build, sides)
    assert set(seen.values()) <= {"right", "guard"}, seen
    assert sides != WHOLE or seen[192] == "right", seen


@pytest.mark.parametrize("table", TABLES)
def test_side_that_is_the_shorter_in_every_trace(thaw, save, tmp_path, table):
    seen = lift_at(thaw, save, tmp_path, with_table(TABLES[table]), {67: 101, 54: 89, 83: 114})
    assert seen[45] == seen[84] == "right" and set(seen.values()) <= {"right", "guard"}, seen


# Of an image whose longer side is 160 in every trace; made of it: its results.
OF_LONGER = {
    "one over it": lambda net, longer: net.add("Mul", "x", net.constant(np.float32(1 / longer))),
    "its last place": lambda net, longer: net.add("Sub", "x", net.constant(np.float32(longer - 1))),
    "a third of it": lambda net, longer: net.add("Add", "x", net.constant(np.float32(longer / 3))),
    "its root": lambda net, longer: net.add("Mul", "x", net.constant(np.float32(np.sqrt(longer)))),
    "one over its root": lambda net, longer: net.add("Mul", "x", net.constant(np.float32(1 / np.sqrt(longer)))),
    "its logarithm": lambda net, longer: net.add("Mul", "x", net.constant(np.float32(np.log(longer)))),
    "shares of it": lambda net, longer: net.add("Mul", "x", net.constant(np.array([14, 5], np.float32).reshape(1, 2, 1, 1) / np.float32(longer))),
}
# Nothing is: numbers that models have, and some that are whole pixels of 640 or 800.
ORDINARY = [0.05, 0.01, 1 / 6, 1 / 3, 6, 100, 0.044715, 1 / 255, 127.5, 0.125, 1e-5]
LONGEST = [{160: 120, 80: 160}, {800: 480, 320: 800}, {200: 64, 96: 200}, {640: 256, 128: 640}]


def lift_images(thaw, save, tmp_path, sides, made):
    """made: the last value of a net over the image."""
    def build(h, w):
        net = Net()
        return net.model([1, CHANNELS, h, w], made(net, h, w))
    return lift_at(thaw, save, tmp_path, build, sides)


@pytest.mark.parametrize("of", OF_LONGER)
def test_numbers_of_a_longer_side_that_no_trace_varies(thaw, save, tmp_path, of):
    seen = lift_images(thaw, save, tmp_path, LONGEST[0], lambda net, h, w: OF_LONGER[of](net, max(h, w)))
    assert seen.pop(96) == "right" and set(seen.values()) == {"guard"}, seen  # 96 x 160


@pytest.mark.parametrize("sides", LONGEST, ids=str)
def test_ordinary_numbers_beside_such_a_side(thaw, save, tmp_path, sides):
    def made(net, h, w):
        x = "x"
        for number in ORDINARY:
            x = net.add("Mul", x, net.constant(np.float32(number)))
        return x
    seen = lift_images(thaw, save, tmp_path, sides, made)
    assert set(seen.values()) == {"right"}, seen


@pytest.mark.parametrize("sides", [{64: 48, 32: 64}, {160: 120, 80: 160}], ids=str)
def test_padding_to_a_square(thaw, save, tmp_path, sides):
    seen = lift_images(thaw, save, tmp_path, sides, lambda net, h, w: net.add("Pad", "x", net.ints(0, 0, 0, 0, 0, 0, max(h, w) - h, max(h, w) - w)))
    assert set(seen.values()) <= {"right", "guard"}, seen


@pytest.mark.parametrize("table", ["centres", "boxes"])
def test_sides_that_change_places(thaw, save, tmp_path, table):
    """As many cells in every trace: no table grows, and what would tell is said."""
    paths = [save(with_table(TABLES[table])(*size), f"trace_{size[0]}") for size in ((72, 104), (104, 72))]
    report = thaw.json("lift", *paths, "-o", tmp_path / "lifted.onnx", code=1)
    assert any("it is 72 x 104, 104 x 72: of one area in every trace" in note["message"] for note in report["unexplained"]), report["unexplained"]


def padded(h, w):
    """Every second cell of a padded map, in shares of it: half of the map is one more than there are cells where its sides are even."""
    net, x = Net(), "x"
    for _ in range(2):
        x, h, w = net.add("Conv", x, net.constant(KERNEL), strides=[2, 2], pads=[1, 1, 1, 1]), up(h, 2), up(w, 2)
    x, r, c = net.add("Pad", x, net.ints(0, 0, 1, 1, 0, 0, 1, 1)), up(h, 2), up(w, 2)
    x = net.add("Reshape", net.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2]), net.ints(1, CHANNELS, r * c))
    y, z = cells(r, c)
    return net, beside_table(net, x, np.stack([(2 * z + 0.5) / (w + 2), (2 * y + 0.5) / (h + 2)], -1))


@pytest.mark.parametrize("sides", [{133: 110, 96: 70, 74: 45}, {128: 112, 96: 64, 72: 48}, {72: 112, 96: 64}], ids=str)
def test_one_more_than_there_are(thaw, save, tmp_path, sides):
    def build(h, w):
        net, y = padded(h, w)
        return net.model([1, CHANNELS, h, w], y)
    seen = lift_at(thaw, save, tmp_path, build, sides)
    assert set(seen.values()) <= {"right", "guard"}, seen


@pytest.mark.parametrize("sides", [TELLING, {133: 110, 96: 70, 74: 45}, {101: 133, 54: 83, 67: 70}], ids=str)
@pytest.mark.parametrize("part", [2, 1, 0.75])
def test_middle_in_parts_of_the_longer_side(thaw, save, tmp_path, sides, part):
    """Both sides stand in one list, which says nothing of a number by itself: it may be of the side that is the longer in every trace."""
    def build(h, w):
        net, x, r, c = image(h, w, 8)
        mean = net.add("ReduceMean", x, net.ints(2), keepdims=0)  # of two channels
        middle = net.add("Sub", mean, net.constant(np.array([[w / 2, h / 2]], np.float32)))
        return net.model([1, CHANNELS, h, w], net.add("Div", middle, net.constant(np.float32(max(h, w) / part))))
    seen = lift_at(thaw, save, tmp_path, build, sides)
    assert set(seen.values()) <= {"right", "guard"} and "right" in seen.values(), seen


@pytest.mark.parametrize("sides", [TELLING, WHOLE, {72: 120, 88: 56}, {104: 184, 184: 72, 120: 184}], ids=str)
@pytest.mark.parametrize("number", NUMBERS)
def test_numbers(thaw, save, tmp_path, number, sides):
    seen = lift_at(thaw, save, tmp_path, with_number(NUMBERS[number]), sides)
    assert set(seen.values()) <= {"right", "guard"}, seen
    assert sides != TELLING or "right" in seen.values(), seen
