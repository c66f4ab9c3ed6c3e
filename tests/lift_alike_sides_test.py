"""Grids of as many columns as rows in every trace, though the image's sides differ: 400 x 400 and 288 x 304 are 13 x 13 and 9 x 10 or 9 x 9 by how
32 is rounded. Nothing in a table says then which of the two it is counted by."""
import re

import numpy as np
import pytest

from lift_net import Net, seen_of, up

CHANNELS = 2
UNSEEN = {45: 77, 61: 52, 83: 131, 118: 94, 149: 203, 251: 170, 128: 96, 100: 100}  # widths by height
LEARNED = np.random.default_rng(5).standard_normal((6, 7, 3)) / 8
KERNEL = np.random.default_rng(1).standard_normal((CHANNELS, CHANNELS, 3, 3), dtype=np.float32)


def cells(h, w):
    """Row and column of each of h * w cells, row by row."""
    return np.divmod(np.arange(h * w), w)


def interpolation(given, n):
    """[n, given]: linear, by half pixels."""
    at = np.clip((np.arange(n) + 0.5) * (given / n) - 0.5, 0, given - 1)
    low = np.floor(at).astype(int)
    weights = np.zeros((n, given))
    weights[np.arange(n), low] += 1 - (at - low)
    weights[np.arange(n), np.minimum(low + 1, given - 1)] += at - low
    return weights


def places(h, w):
    y, x = (each.astype(np.float32) + np.float32(0.5) for each in cells(h, w))
    return np.stack([x / np.float32(w), y / np.float32(h)], -1)


def sines(h, w):
    y, x = cells(h, w)
    return np.stack([np.sin(x), np.sin(x * 0.1), np.cos(y), np.cos(y * 0.1)], -1)


def distances(h, w):
    y, x = cells(h, w)
    return (abs(y[:, None] - y) + abs(x[:, None] - x)) * np.float32(-0.1)


def neighbours(h, w):
    y, x = cells(h, w)
    return (abs(y[:, None] - y) <= 1) & (abs(x[:, None] - x) <= 1)


# Of h * w cells: [h * w, columns].
TABLES = {
    "places": places,
    "sines": sines,
    "distances": distances,
    "neighbours": neighbours,
    "cells": lambda h, w: np.stack(cells(h, w), -1),
    "columns first": lambda h, w: np.stack(cells(w, h), -1),
    "from -1 to 1": lambda h, w: np.stack([each / max(n - 1, 1) * 2 - 1 for each, n in zip(cells(h, w), (h, w), strict=True)], -1),
    "resized": lambda h, w: np.einsum("ai,bj,ijc->abc", interpolation(6, h), interpolation(7, w), LEARNED).reshape(-1, 3),
    "by its width": lambda h, w: np.arange(h * w, dtype=np.float32)[:, None] / np.float32(1024 * w),
}


def image(h, w, stride):
    """A net, cells [1, CHANNELS, rows * columns] of an image in it, rows and columns."""
    net, x, step = Net(), "x", 1
    kernel = net.constant(KERNEL)
    while step < stride:
        x, step, h, w = net.add("Conv", x, kernel, strides=[2, 2], pads=[1, 1, 1, 1]), step * 2, up(h, 2), up(w, 2)
    return net, net.add("Reshape", x, net.ints(1, CHANNELS, h * w)), h, w


def beside_table(net, x, entries):
    """Cells, each behind its row of a table."""
    return net.add("Concat", net.add("Transpose", x, perm=[0, 2, 1]), net.constant(np.asarray(entries, np.float32)[None]), axis=2)


def with_table(table, stride):
    def model(h, w):
        net, x, rows, columns = image(h, w, stride)
        return net.model([1, CHANNELS, h, w], beside_table(net, x, TABLES[table](rows, columns)))
    return model


# Of a net, cells and their rows and columns: what a node makes of them.
OPERANDS = {
    "grid": lambda net, x, r, c: net.add("Conv", net.add("Reshape", x, net.ints(1, CHANNELS, r, c)), net.constant(KERNEL), pads=[1, 1, 1, 1]),
    "transposed": lambda net, x, r, c: net.add("Reshape", net.add("Transpose", net.add("Reshape", x, net.ints(1, CHANNELS, r, c)), perm=[0, 1, 3, 2]),
                                               net.ints(1, CHANNELS, r * c)),
    "slice": lambda net, x, r, c: net.add("Slice", x, net.ints(0), net.ints(c), net.ints(2)),
    "pad": lambda net, x, r, c: net.add("Pad", x, net.ints(0, 0, 0, 0, 0, c)),
    "number": lambda net, x, r, c: net.add("Mul", x, net.constant(np.float32(1 / c))),
    "root": lambda net, x, r, c: net.add("Mul", x, net.constant(np.float32(1) / np.sqrt(np.float32(r * c)))),
}


def with_operand(operand, stride):
    def model(h, w):
        net, x, rows, columns = image(h, w, stride)
        return net.model([1, CHANNELS, h, w], OPERANDS[operand](net, x, rows, columns))
    return model


def alike_sides(random, traces, stride, most):
    """Widths by height, of grids of fewer than `most` rows and as many columns."""
    sides = {}
    while len(sides) < traces or all(h == w for h, w in sides.items()):
        last = int(random.integers(3, most)) * stride
        height, width = (int(n) for n in random.integers(last - stride + 1, last + 1, 2))
        if height not in UNSEEN and len(sides) < traces:
            sides[height] = width
        elif len(sides) == traces:
            sides.popitem()
    return sides


def lift_at(thaw, save, tmp_path, build, sides):
    widths = UNSEEN | sides
    return seen_of(thaw, save, tmp_path, lambda h: build(h, widths[h]), list(sides), list(UNSEEN))


@pytest.mark.parametrize("draw", range(4))
@pytest.mark.parametrize("traces", [2, 3])
@pytest.mark.parametrize("table", TABLES)
def test_tables(thaw, save, tmp_path, table, traces, draw):
    random = np.random.default_rng([draw, traces, list(TABLES).index(table)])
    stride = int(random.choice([4, 8, 16]))
    sides = alike_sides(random, traces, stride, 11 if table in ("distances", "neighbours") else 20)
    seen = lift_at(thaw, save, tmp_path, with_table(table, stride), sides)
    assert set(seen.values()) <= {"right", "guard"}, (stride, sides, seen)


@pytest.mark.parametrize("draw", range(4))
@pytest.mark.parametrize("traces", [2, 3])
@pytest.mark.parametrize("operand", OPERANDS)
def test_operands(thaw, save, tmp_path, operand, traces, draw):
    random = np.random.default_rng([draw, traces, list(OPERANDS).index(operand)])
    stride = int(random.choice([4, 8, 16]))
    sides = alike_sides(random, traces, stride, 20)
    seen = lift_at(thaw, save, tmp_path, with_operand(operand, stride), sides)
    assert set(seen.values()) <= {"right", "guard"}, (stride, sides, seen)


@pytest.mark.parametrize("table", TABLES)
def test_a_trace_whose_grid_is_none_tells(thaw, save, tmp_path, table):
    seen = lift_at(thaw, save, tmp_path, with_table(table, 8), {101: 99, 54: 51, 77: 42})
    assert "right" in seen.values() and set(seen.values()) <= {"right", "guard"}, seen


ALIKE = {101: 99, 54: 51, 77: 78}  # 13, 7 and 10 cells of 8 along either side


@pytest.mark.parametrize("table", TABLES)
def test_runs_where_both_are_as_long(thaw, save, tmp_path, table):
    seen = lift_at(thaw, save, tmp_path, with_table(table, 8), ALIKE)
    assert set(seen.values()) <= {"right", "guard"} and seen[118] == seen[251] == "guard", seen
    assert seen[100] == "right" or table in ("distances", "neighbours"), seen  # these end elsewhere


def with_both(operand, table):
    """What one reads is the integer that the other is counted by; the operand's result adds nothing."""
    def model(h, w):
        net, x, rows, columns = image(h, w, 8)
        more = net.add("ReduceSum", OPERANDS[operand](net, x, rows, columns), keepdims=0)
        more = net.add("Mul", more, net.constant(np.float32(0)))
        return net.model([1, CHANNELS, h, w], net.add("Add", beside_table(net, x, TABLES[table](rows, columns)), more))
    return model


@pytest.mark.parametrize("table", ["places", "by its width", "cells"])
@pytest.mark.parametrize("operand", ["grid", "slice", "pad", "number"])
def test_beside_operands_of_that_integer(thaw, save, tmp_path, operand, table):
    seen = lift_at(thaw, save, tmp_path, with_both(operand, table), ALIKE)
    assert "guard" in seen.values() and set(seen.values()) <= {"right", "guard"}, seen


def with_branches(table, branches):
    """Beside tensors whose rows are rounded otherwise, and in these traces as many."""
    def model(h, w):
        net, x, rows, columns = image(h, w, 8)
        kernel = net.constant(np.ones((1, CHANNELS, 8, 8), np.float32))
        y = beside_table(net, x, TABLES[table](rows, columns))
        for branch in range(branches):
            more = net.add("Conv", "x", kernel, strides=[8, 8], pads=[3 + branch, 0, 0, 0])
            y = net.add("Add", y, net.add("Mul", net.add("ReduceSum", more, keepdims=0), net.constant(np.float32(0))))
        return net.model([1, CHANNELS, h, w], y)
    return model


@pytest.mark.parametrize("table", ["places", "by its width", "distances"])
@pytest.mark.parametrize("branches", [3, 6])
def test_beside_tensors_that_are_as_long(thaw, save, tmp_path, branches, table):
    seen = lift_at(thaw, save, tmp_path, with_branches(table, branches), ALIKE)
    assert "guard" in seen.values() and set(seen.values()) <= {"right", "guard"}, seen


@pytest.mark.parametrize("build", [with_table("by its width", 8), with_operand("number", 8), with_operand("root", 8)], ids=["table", "number", "root"])
def test_side_that_is_so_many_times_the_columns(thaw, save, tmp_path, build):
    """A number over 8 columns is one over the height where that is a multiple of 8 and there are as many columns as rows."""
    seen = lift_at(thaw, save, tmp_path, build, {104: 99, 56: 51, 80: 78})
    assert "guard" in seen.values() and set(seen.values()) <= {"right", "guard"}, seen


def test_says_what_tells(thaw, save, tmp_path):
    traces = {h: save(with_table("places", 8)(h, w), f"trace_{h}") for h, w in ALIKE.items()}
    done = thaw("lift", *traces.values(), "-o", tmp_path / "lifted.onnx")
    assert re.search(r"ceil\(x_dim[23]/8\): valid where it is ceil\(x_dim[23]/8\), which explains the traces as well; a trace at x_dim2 =", done.stdout), done.stdout
    done = thaw("lift", traces[101], traces[54], "-o", tmp_path / "lifted.onnx")
    assert done.returncode == 1, done.stdout
    assert re.search(r"whether it is ceil\(x_dim[23]/8\) or ceil\(x_dim[23]/8\); add a third trace at x_dim2 =", done.stdout), done.stdout
