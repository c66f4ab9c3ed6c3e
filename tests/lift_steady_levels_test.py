"""Traces whose smallest level of a pyramid is of one size in all of them: what was frozen of it differs in none."""
import json

import numpy as np
import pytest

from conftest import session
from lift_left_out_test import lifted
from lift_net import Net

WIDTH = 4
ALIKE = [(16, 20), (20, 17), (23, 21)]  # 2 x 2 cells of 8 in each
APART = [(16, 20), (20, 33), (47, 21), (71, 88)]
UNSEEN = [(18, 22), (33, 27), (40, 16)]


def image(h, w):
    return np.random.default_rng(h * 100 + w).standard_normal((1, WIDTH, h, w), dtype=np.float32)


def level(x, stride):
    h, w = x.shape[2] // stride, x.shape[3] // stride
    return x[:, :, :h * stride, :w * stride].reshape(1, WIDTH, h, stride, w, stride).mean((3, 5))


def sampling(h, w, strides, at_once=False):
    """Of each level, what lies at positions that the image gives: RAFT's lookup. [1, levels * 4, 1, 4]"""
    net, found = Net(), []
    positions = net.add("Abs", net.add("Slice", "x", net.ints(0, 0, 0), net.ints(2, 1, 4), net.ints(1, 2, 3)))
    positions = net.add("Transpose", positions, perm=[0, 2, 3, 1])
    for stride in strides:
        pooled = net.add("AveragePool", "x", kernel_shape=[stride] * 2, strides=[stride] * 2) if stride > 1 else "x"
        if at_once:
            part = net.add("Div", net.add("Mul", positions, net.constant(np.float32(2))), net.constant(np.array([w // stride - 1, h // stride - 1], np.float32)))
            found.append(net.add("GridSample", pooled, net.add("Sub", part, net.constant(np.float32(1))), align_corners=1))
            continue
        parts = []
        for axis, size in enumerate((w // stride, h // stride)):
            part = net.add("Slice", positions, net.ints(axis), net.ints(axis + 1), net.ints(3))
            part = net.add("Div", net.add("Mul", part, net.constant(np.float32(2))), net.constant(np.float32(size - 1)))
            parts.append(net.add("Sub", part, net.constant(np.float32(1))))
        found.append(net.add("GridSample", pooled, net.add("Concat", *parts, axis=3), align_corners=1))
    return net.model([1, WIDTH, h, w], net.add("Concat", *found, axis=1))


def sampled(x, strides):
    positions, found = np.abs(x[0, :2, 0, :4]), []
    for stride in strides:
        cells = np.pad(level(x, stride)[0], ((0, 0), (0, 1), (0, 1)))
        columns = []
        for px, py in positions.T:
            i, j = int(py), int(px)
            if i + 1 >= cells.shape[1] or j + 1 >= cells.shape[2]:
                columns.append(np.full(WIDTH, np.nan))  # past the level's end
                continue
            a, b = py - i, px - j
            columns.append((cells[:, i, j] * (1 - b) + cells[:, i, j + 1] * b) * (1 - a) + (cells[:, i + 1, j] * (1 - b) + cells[:, i + 1, j + 1] * b) * a)
        found.append(np.stack(columns, 1)[None, :, None])
    return np.concatenate(found, 1)


def check_samples(run, strides):
    for size in UNSEEN:
        got, true = run.run(None, {"x": image(*size)})[0], sampled(image(*size), strides)
        told = np.isfinite(true)
        assert got.shape == true.shape and told.mean() > 0.5 and np.abs(got - true)[told].max() < 1e-4, size


@pytest.mark.parametrize("sizes", [ALIKE, APART])
def test_coordinates_of_a_level_are_scaled_as_those_of_others(thaw, save, tmp_path, sizes):
    """x / (2 - 1) in all traces: the others divide by their width less one."""
    check_samples(lifted(thaw, save, tmp_path, {f"{h}x{w}": sampling(h, w, (1, 2, 8)) for h, w in sizes}), (1, 2, 8))


def refusal(thaw, save, tmp_path, models):
    paths = [save(model, f"trace_{name}") for name, model in models.items()]
    run = thaw("lift", *paths, "-o", tmp_path / "out.onnx", "--format", "json", code=1)
    assert not (tmp_path / "out.onnx").exists()
    return json.loads(run.stdout)["unexplained"][0]


def check_guarded(thaw, save, tmp_path, trace, sizes, elsewhere, held):
    """It runs at sizes of the traces' kind, equal to a trace there, and its guard ends it at each of these. held: what the report says is held."""
    paths = [save(trace(*size), f"trace_{k}") for k, size in enumerate(sizes)]
    report = thaw.json("lift", *paths, "-o", tmp_path / "out.onnx")
    valid = [f"{note['where']}: {note['message']}" for note in report["valid_sizes"]]
    assert all(any(text in note for note in valid) for text in held), valid
    run, ended = session(tmp_path / "out.onnx"), 0
    for size in [*sizes, *elsewhere]:
        truth = session(trace(*size))
        feed = {"x": np.random.default_rng(size[-1]).standard_normal(list(truth.get_inputs()[0].shape), dtype=np.float32)}
        try:
            got = run.run(None, feed)[0]
        except Exception as error:
            assert "guard_Reshape" in str(error) and size in elsewhere, (size, error)
            ended += 1
            continue
        wanted = truth.run(None, feed)[0]
        assert got.shape == wanted.shape and np.allclose(got, wanted, atol=1e-5), size
    assert ended


def test_coordinates_that_nothing_else_tells_of(thaw, save, tmp_path):
    check_guarded(thaw, save, tmp_path, lambda h, w: sampling(h, w, (8,)), ALIKE, [(18, 22), *UNSEEN, (64, 40)],
                  ["floor(x_dim2/8): valid where it is 2", "floor(x_dim3/8): valid where it is 2"])


def test_coordinates_of_both_axes_at_once(thaw, save, tmp_path):
    """The width varies, and its divisor; the height does not."""
    check_guarded(thaw, save, tmp_path, lambda h, w: sampling(h, w, (8,), at_once=True), [(16, 20), (20, 33), (23, 45)], [(18, 49), *UNSEEN, (64, 40)],
                  ["floor(x_dim2/8): valid where it is 2"])
    check_samples(lifted(thaw, save, tmp_path, {f"{h}x{w}": sampling(h, w, (8,), at_once=True) for h, w in APART}), (8,))


def test_a_number_that_other_levels_have_too(thaw, save, tmp_path):
    """2 * x - 1 of places from 0 to 1, as deformable attention has it: 2 is no size of the last level."""
    def trace(h, w):
        net, found = Net(), []
        places = net.add("Sigmoid", net.add("Slice", "x", net.ints(0, 0, 0), net.ints(2, 1, 4), net.ints(1, 2, 3)))
        places = net.add("Mul", net.add("Transpose", places, perm=[0, 2, 3, 1]), net.constant(np.float32(2)))
        for stride in (2, 8):
            pooled = net.add("AveragePool", "x", kernel_shape=[stride] * 2, strides=[stride] * 2)
            found.append(net.add("GridSample", pooled, net.add("Sub", places, net.constant(np.float32(1)))))
        return net.model([1, WIDTH, h, w], net.add("Concat", *found, axis=1))

    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": trace(h, w) for h, w in ALIKE})
    for size in UNSEEN:
        assert np.allclose(run.run(None, {"x": image(*size)})[0], session(trace(*size)).run(None, {"x": image(*size)})[0], atol=1e-6), size


def flattened(h, w, strides):
    net, levels = Net(), []
    for stride in strides:
        pooled = net.add("AveragePool", "x", kernel_shape=[stride] * 2, strides=[stride] * 2)
        levels.append(net.add("Reshape", net.add("Relu", pooled), net.ints(1, WIDTH, (h // stride) * (w // stride))))
    return net.model([1, WIDTH, h, w], net.add("Concat", *levels, axis=2) if len(levels) > 1 else levels[0])


@pytest.mark.parametrize("strides", [(2, 8), (8,)])
@pytest.mark.parametrize("sizes", [ALIKE, APART])
def test_a_shape_that_is_one_in_all_traces(thaw, save, tmp_path, strides, sizes):
    """4 cells, which a Reshape has to hold: as many as there are."""
    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": flattened(h, w, strides) for h, w in sizes})
    for size in UNSEEN:
        true = np.concatenate([np.maximum(level(image(*size), stride), 0).reshape(1, WIDTH, -1) for stride in strides], 2)
        assert np.abs(run.run(None, {"x": image(*size)})[0] - true).max() < 1e-5, size


def test_a_level_that_nothing_reads_by_its_size(thaw, save, tmp_path):
    """Means of it have no size of it frozen: it may be as it is."""
    def trace(h, w):
        net = Net()
        pooled = net.add("AveragePool", "x", kernel_shape=[8, 8], strides=[8, 8])
        return net.model([1, WIDTH, h, w], net.add("Reshape", net.add("GlobalAveragePool", pooled), net.ints(1, WIDTH)))

    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": trace(h, w) for h, w in ALIKE})
    for size in UNSEEN:
        assert np.abs(run.run(None, {"x": image(*size)})[0] - level(image(*size), 8).mean((2, 3))).max() < 1e-5, size


def test_windows_that_are_whole_in_all_traces(thaw, save, tmp_path):
    """Their length stands in a Reshape of each branch, and no trace has another: the report asks for one."""
    def trace(n):
        net, pieces = Net(), []
        for i in range(0, n, 8):
            piece = net.add("Softmax", net.add("Slice", "x", net.ints(i), net.ints(i + 8), net.ints(1)), axis=1)
            pieces.append(net.add("Reshape", piece, net.ints(1, 8, 4)))
        return net.model([1, n, 4], net.add("Concat", *pieces, axis=1))

    note = refusal(thaw, save, tmp_path, {n: trace(n) for n in (16, 24, 40)})
    assert "all windows of all traces are 8 long: add a trace with a shorter one" in note["message"]


def test_chunks_of_which_every_trace_has_one(thaw, save, tmp_path):
    """A loop over chunks of 8 was written out a step for each: nothing contradicts two chunks, and what stands in the second would be lost."""
    def trace(n):
        net, count = Net(), -(-n // 8)
        x = net.add("Reshape", net.add("Pad", "x", net.ints(0, 0, 0, 0, count * 8 - n, 0)), net.ints(1, -1, 8, 4))
        done = net.constant(np.zeros((1, count, 8, 4), np.float32)) if count > 1 else net.add("Mul", x, net.constant(np.float32(0)))
        for i in range(count):
            piece = net.add("Softmax", net.add("Gather", x, net.constant(np.array(i)), axis=1), axis=1)
            done = net.add("ScatterND", done, net.constant(np.array([[0, i]])), piece)
        done = net.add("Reshape", done, net.ints(1, -1, 4))
        return net.model([1, n, 4], net.add("Slice", done, net.ints(0), net.ints(n), net.ints(1)))

    check_guarded(thaw, save, tmp_path, trace, [(3,), (5,), (6,)], [(4,), (8,), (11,), (24,)], ["ceil(x_dim1/8): valid where it is 1"])


def test_coordinates_that_may_be_of_either_axis(thaw, save, tmp_path):
    """2, 3 and 4 cells along both axes of the level, of images that are not square."""
    check_guarded(thaw, save, tmp_path, lambda h, w: sampling(h, w, (1, 8)), [(16, 20), (24, 27), (33, 36)], [(18, 22), (40, 16), (16, 40)],
                  ["floor(x_dim2/8): valid where it is floor(x_dim3/8)"])


def turned(h, w):
    """Cells of 8 as a list, and waves by row and by column of their grid."""
    net, rows, columns = Net(), h // 8, w // 8
    cells = net.add("Reshape", net.add("MaxPool", "x", kernel_shape=[8, 8], strides=[8, 8]), net.ints(1, WIDTH, rows * columns))
    row, column = (np.repeat(np.arange(rows), columns), np.tile(np.arange(columns), rows))
    waves = np.stack([np.cos(row), np.sin(row), np.cos(column / 10), np.sin(column / 10)]).astype(np.float32)
    return net.model([1, WIDTH, h, w], net.add("Reshape", net.add("Mul", cells, net.constant(waves)), net.ints(1, WIDTH, rows, columns)))


@pytest.mark.parametrize("sizes", [[(48, 83), (97, 80)], [(48, 83), (97, 80), (129, 87)], [(83, 48), (80, 97), (87, 129)]])
def test_a_grid_of_as_many_columns_in_every_trace(thaw, save, tmp_path, sizes):
    """Whether rows are counted by ten or by columns: the model runs where these are one."""
    out = tmp_path / "lifted.onnx"
    report = thaw.json("lift", *[save(turned(*size), f"trace_{size[0]}x{size[1]}") for size in sizes], "-o", out, code=(0, 1))
    if not out.exists():
        assert any("add a third trace" in note["message"] for note in report["unexplained"])
        return
    ended = 0
    for h, w in [*sizes, (64, 81), (81, 64), (90, 104), (104, 90), (88, 88)]:
        try:
            got = session(out).run(None, {"x": image(h, w)})[0]
        except Exception as error:
            assert "guard_Reshape" in str(error), (h, w)
            ended += 1
            continue
        wanted = session(save(turned(h, w), "wanted")).run(None, {"x": image(h, w)})[0]
        assert got.shape == wanted.shape and np.abs(got - wanted).max() < 1e-5, (h, w)
    assert 0 < ended < 5


def weighed(h, w):
    """Cells of 8 as a list, times one number for each row and column of their grid, as a list too."""
    net, rows, columns = Net(), h // 8, w // 8
    x = net.add("Reshape", net.add("MaxPool", "x", kernel_shape=[8, 8], strides=[8, 8]), net.ints(1, WIDTH, -1))
    weight = net.add("Expand", net.constant(np.float32([[2]])), net.ints(rows, columns))
    return net.model([1, WIDTH, h, w], net.add("Mul", x, net.add("Reshape", weight, net.ints(1, 1, -1))))


@pytest.mark.parametrize("sizes", [[(48, 83), (97, 80), (129, 87)], [(83, 48), (80, 97), (87, 129), (82, 56)]])
def test_no_size_ends_in_an_error_of_the_runtime(thaw, save, tmp_path, sizes):
    """Where the node that contradicts other numbers of columns reads a list, and no size that all traces share."""
    out = tmp_path / "lifted.onnx"
    thaw("lift", *[save(weighed(*size), f"trace_{size[0]}x{size[1]}") for size in sizes], "-o", out, code=(0, 1))
    for h, w in [(64, 81), (81, 64), (90, 104), (104, 90), (88, 120)] if out.exists() else ():
        try:
            got = session(out).run(None, {"x": image(h, w)})[0]
        except Exception as error:
            assert "guard_Reshape" in str(error), (h, w)
            continue
        assert np.array_equal(got, session(save(weighed(h, w), "wanted")).run(None, {"x": image(h, w)})[0]), (h, w)
