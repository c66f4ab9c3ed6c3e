"""Traces whose tables hold positions: of another length in float32, of windows that are read, of positions beside positions."""
import functools
from fractions import Fraction

import numpy as np
import pytest

from conftest import session
from lift_kept_test import resized
from lift_left_out_test import lifted
from lift_net import Net
from lift_tables import check_loose, lift, loose, raster  # noqa: F401 (a fixture)

WIDTH = 3


def rows_of(n, side):
    """Linear interpolation of `side` rows to n, as PyTorch takes it apart: lower and upper row, weight of the upper."""
    scale = np.float32(side / n)
    place = np.maximum((np.arange(n, dtype=np.float32) + np.float32(0.5)) * scale - np.float32(0.5), np.float32(0))
    low = place.astype(np.int64)
    return low, np.minimum(low + 1, side - 1), np.clip(place - low, 0, 1).astype(np.float32)


def test_rows_that_are_interpolated_in_float32(thaw, save, tmp_path):
    """2 * n - 1 of 159 learned rows of distances: places that fall on a row are a bit before it or behind it."""
    side, learned = 159, np.random.default_rng(1).standard_normal((159, WIDTH), dtype=np.float32)

    def trace(n):
        net, (low, high, weight) = Net(), rows_of(2 * n - 1, side)
        table = net.constant(learned)
        low, high = net.add("GatherND", table, net.constant(low[:, None])), net.add("GatherND", table, net.constant(high[:, None]))
        rows = net.add("Add", low, net.add("Mul", net.add("Sub", high, low), net.constant(weight[:, None])))
        index = np.arange(n)[:, None] - np.arange(n) + n - 1
        bias = net.add("Gather", rows, net.constant(index), axis=0)
        return net.model([n, n, WIDTH], net.add("Add", "x", bias))

    run = lifted(thaw, save, tmp_path, {str(n): trace(n) for n in (8, 12, 20)})
    for n in (8, 12, 20, 7, 11, 31, 53, 97):
        low, high, weight = rows_of(2 * n - 1, side)
        rows = learned[low] + (learned[high] - learned[low]) * weight[:, None]
        x = np.random.default_rng(n).standard_normal((n, n, WIDTH), dtype=np.float32)
        true = x + rows[np.arange(n)[:, None] - np.arange(n) + n - 1]
        assert np.abs(run.run(None, {"x": x})[0] - true).max() < 1e-6, n


def unfolded(h, w):
    """Windows of 2 x 2 of a grid that was cut to whole ones: rows and columns that they read, [2, windows]."""
    return [np.arange(n // 2 * 2).reshape(-1, 2).T for n in (h, w)]


def test_windows_that_are_read_tell_sizes(thaw, save, tmp_path):
    """How many windows there are is 4, 1 and 2 in the traces, which is also a side less 1."""
    kernel = np.random.default_rng(0).standard_normal((WIDTH, WIDTH, 32, 32), dtype=np.float32) * 0.01

    def trace(h, w):
        net = Net()
        rows, columns = unfolded(h // 32, w // 32)
        x = net.add("Conv", "x", net.constant(kernel), strides=[32, 32])
        x = net.add("Gather", net.add("Gather", x, net.constant(rows), axis=2), net.constant(columns), axis=4)
        x = net.add("Transpose", x, perm=[0, 1, 2, 4, 3, 5])
        x = net.add("Reshape", x, net.ints(1, WIDTH, 4, rows.shape[1] * columns.shape[1]))
        return net.model([1, WIDTH, h, w], net.add("Softmax", x, axis=-1))

    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": trace(h, w) for h, w in [(64, 96), (96, 160), (160, 128)]})
    for h, w in [(64, 96), (96, 160), (160, 128), (128, 96), (192, 64), (224, 352)]:
        x = np.random.default_rng(h).standard_normal((1, WIDTH, h, w), dtype=np.float32)
        rows, columns = unfolded(h // 32, w // 32)
        y = np.einsum("nchawb,dcab->ndhw", x.reshape(1, WIDTH, h // 32, 32, w // 32, 32), kernel)
        y = y[:, :, rows][:, :, :, :, columns].transpose(0, 1, 2, 4, 3, 5).reshape(1, WIDTH, 4, -1)
        y = np.exp(y - y.max(-1, keepdims=True))
        got = run.run(None, {"x": x})[0]
        assert got.shape == y.shape and np.abs(got - y / y.sum(-1, keepdims=True)).max() < 1e-5, (h, w)


def test_a_side_that_is_the_same_in_every_trace(thaw, save, tmp_path):
    """Two rows of cells in each trace: a Reshape of 2 * columns holds as many cells as there are, at other sizes too."""
    kernel = np.random.default_rng(0).standard_normal((WIDTH, WIDTH, 32, 32), dtype=np.float32) * 0.01

    def trace(h, w):
        net = Net()
        x = net.add("Conv", "x", net.constant(kernel), strides=[32, 32])
        x = net.add("Transpose", net.add("Reshape", x, net.ints(1, WIDTH, (h // 32) * (w // 32))), perm=[0, 2, 1])
        x = net.add("Relu", x)
        x = net.add("Reshape", net.add("Transpose", x, perm=[0, 2, 1]), net.ints(1, WIDTH, h // 32, w // 32))
        return net.model([1, WIDTH, h, w], x)

    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": trace(h, w) for h, w in [(64, 96), (77, 59), (90, 131)]})
    for h, w in [(64, 96), (88, 70), (101, 115), (37, 331), (211, 97)]:
        x = np.random.default_rng(h).standard_normal((1, WIDTH, h, w), dtype=np.float32)
        a, b = h // 32, w // 32
        y = np.maximum(np.einsum("nchawb,dcab->ndhw", x[:, :, :a * 32, :b * 32].reshape(1, WIDTH, a, 32, b, 32), kernel), 0)
        got = run.run(None, {"x": x})[0]
        assert got.shape == y.shape and np.abs(got - y).max() < 1e-5, (h, w)


def distances(h, w):
    """BEiT's index of relative positions, with those of a class token: [h * w + 1, h * w + 1]."""
    y, x = (each.reshape(-1) for each in np.meshgrid(np.arange(h), np.arange(w), indexing="ij"))
    inner = (y[:, None] - y + h - 1) * (2 * w - 1) + x[:, None] - x + w - 1
    count = (2 * h - 1) * (2 * w - 1) + 3
    index = np.zeros((h * w + 1, h * w + 1), np.int64)
    index[1:, 1:] = inner
    index[0], index[:, 0], index[0, 0] = count - 3, count - 2, count - 1
    return index


def test_distances_over_a_grid_with_a_class_token(thaw, save, tmp_path):
    learned = np.random.default_rng(2).standard_normal(20000, dtype=np.float32)

    def trace(h, w):
        net, n = Net(), h * w + 1
        x = net.add("Reshape", "x", net.ints(1, WIDTH, h * w))
        x = net.add("Concat", net.constant(np.ones((1, WIDTH, 1), np.float32)), x, axis=2)
        scores = net.add("MatMul", net.add("Transpose", x, perm=[0, 2, 1]), x)
        bias = net.add("Gather", net.constant(learned), net.constant(distances(h, w).reshape(-1)))
        return net.model([1, WIDTH, h, w], net.add("Add", scores, net.add("Reshape", bias, net.ints(1, n, n))))

    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": trace(h, w) for h, w in [(8, 12), (9, 7), (11, 16)]})
    for h, w in [(8, 12), (9, 7), (11, 16), (13, 5), (2, 17), (19, 23)]:
        x = np.random.default_rng(h).standard_normal((1, WIDTH, h, w), dtype=np.float32)
        flat = np.concatenate([np.ones((1, WIDTH, 1), np.float32), x.reshape(1, WIDTH, -1)], 2)
        true = flat.transpose(0, 2, 1) @ flat + learned[distances(h, w)]
        assert np.abs(run.run(None, {"x": x})[0] - true).max() < 1e-5, (h, w)


def test_a_roll_by_a_few_where_all_sides_are_whole_windows(thaw, save, tmp_path):
    """The side less 3, at 66, 48 and 30: nothing speaks for windows of 6, and nothing against them."""
    def trace(n):
        net = Net()
        cut = net.ints(n // 2 - 3)
        x = net.add("Reshape", "x", net.ints(n // 2, 2))
        low = net.add("Slice", x, net.ints(0), cut, net.ints(0))
        high = net.add("Slice", x, cut, net.ints(n // 2), net.ints(0))
        return net.model([n], net.add("Concat", high, low, axis=0))

    run = lifted(thaw, save, tmp_path, {str(n): trace(n) for n in (132, 96, 60)})
    for n in (132, 84, 36, 204):
        x = np.arange(n, dtype=np.float32)
        assert np.array_equal(run.run(None, {"x": x})[0], np.roll(x.reshape(n // 2, 2), 3, 0)), n
    with pytest.raises(Exception, match="guard"):
        run.run(None, {"x": np.arange(70, dtype=np.float32)})


def test_buckets_of_fractions(thaw, save, tmp_path):
    """index / n among k / 30, each of them rounded: where they are equal, a bit decides (torch.bucketize, Idefics 3's positions)."""
    side = 30
    begins = np.arange(1, side, dtype=np.float32) * np.float32(1 / side)

    def ids(h, w):
        parts = [np.minimum(np.arange(n, dtype=np.float32) * (np.float32(1) / np.float32(n)), np.float32(1 - 1e-6)) for n in (h, w)]
        rows, columns = (np.searchsorted(begins, part, side="right") for part in parts)
        return (rows[:, None] * side + columns).reshape(1, -1)

    learned = np.random.default_rng(2).standard_normal((side * side, WIDTH), dtype=np.float32)

    def trace(h, w):
        net = Net()
        x = net.add("Reshape", "x", net.ints(1, h * w, WIDTH))
        return net.model([1, h, w, WIDTH], net.add("Add", x, net.add("Gather", net.constant(learned), net.constant(ids(h, w)))))

    sizes = [(8, 12), (12, 20), (20, 16)]
    exact = [np.array_equal(ids(h, w)[0].reshape(h, w)[:, 0] // side, np.arange(h) * side // h) for h, w in sizes]
    assert not all(exact)  # rounding is there to be got right
    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": trace(h, w) for h, w in sizes})
    for h, w in [*sizes, (10, 15), (7, 23), (13, 5), (29, 19), (30, 1)]:
        x = np.random.default_rng(h).standard_normal((1, h, w, WIDTH), dtype=np.float32)
        assert np.array_equal(run.run(None, {"x": x})[0], x.reshape(1, -1, WIDTH) + learned[ids(h, w)]), (h, w)


def test_rows_of_distances_that_were_resized(thaw, save, tmp_path):
    """[h, h, 3] for a grid's rows and [w, w, 3] for its columns, of 15 learned distances each, which no trace has for rows."""
    learned = np.random.default_rng(3).standard_normal((2, 15, WIDTH), dtype=np.float32)

    def table(n, which):
        return resized(learned[which][None], 1, 2 * n - 1, "linear", "half_pixel")[0][np.arange(n)[:, None] - np.arange(n) + n - 1]

    def trace(h, w):
        net = Net()
        down = net.add("Einsum", "x", net.constant(table(h, 0)), equation="bhwc,hkc->bhwk")
        across = net.add("Einsum", "x", net.constant(table(w, 1)), equation="bhwc,wkc->bhwk")
        return net.model([1, h, w, WIDTH], net.add("Concat", net.add("Softmax", down, axis=-1), across, axis=3))

    sizes = [(4, 6), (6, 10), (10, 8)]
    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": trace(h, w) for h, w in sizes})
    for h, w in [*sizes, (7, 13), (11, 5), (17, 2)]:
        x = np.random.default_rng(h).standard_normal((1, h, w, WIDTH), dtype=np.float32)
        down = np.einsum("bhwc,hkc->bhwk", x, table(h, 0))
        down = np.exp(down - down.max(-1, keepdims=True))
        across = np.einsum("bhwc,wkc->bhwk", x, table(w, 1))
        got = run.run(None, {"x": x})[0]
        assert np.abs(got - np.concatenate([down / down.sum(-1, keepdims=True), across], 3)).max() < 1e-4, (h, w)


def test_digits_of_a_fixed_grid_where_a_trace_is_too_short_to_wrap(thaw, save, tmp_path):
    """Angles of frame, row and column of a grid of 8 x 8, whatever the video is (V-JEPA 2): one trace ends before the second frame."""
    frequencies = (10.0 ** -np.arange(WIDTH)).astype(np.float32)

    def angles(cells):
        index = np.arange(cells)
        return [(digit[:, None] * frequencies).astype(np.float32) for digit in (index // 64, index // 8 % 8, index % 8)]

    def trace(t, h, w):
        net = Net()
        x = net.add("Conv", "x", net.constant(np.ones((WIDTH, 1, 2, 8, 8), np.float32)), strides=[2, 8, 8])
        x = net.add("Transpose", net.add("Reshape", x, net.ints(1, WIDTH, t // 2 * (h // 8) * (w // 8))), perm=[0, 2, 1])
        for table in angles(t // 2 * (h // 8) * (w // 8)):
            x = net.add("Mul", x, net.constant(np.cos(table)[None]))
        return net.model([1, 1, t, h, w], x)

    traces = [(4, 32, 48), (6, 48, 64), (10, 72, 40)]
    run = lifted(thaw, save, tmp_path, {f"{t}x{h}x{w}": trace(t, h, w) for t, h, w in traces})
    for t, h, w in [*traces, (8, 40, 56), (12, 64, 88), (2, 8, 16), (4, 104, 96)]:
        x = np.random.default_rng(t * h * w).standard_normal((1, 1, t, h, w), dtype=np.float32)
        sums = x.reshape(t // 2, 2, h // 8, 8, w // 8, 8).sum((1, 3, 5)).reshape(-1)
        true = np.repeat(sums[:, None], WIDTH, 1)
        for table in angles(len(sums)):
            true = true * np.cos(table)
        got = run.run(None, {"x": x})[0][0]
        assert got.shape == true.shape and np.abs(got - true).max() < 1e-4, (t, h, w)


def test_biases_of_grid_distances_that_were_resized(lift):
    """BEiT's: of how many rows and columns two cells are apart, learned for 5 x 5 cells, with a class token and without."""
    learned, side = np.random.default_rng(2).standard_normal((9, 9, 2)).astype(np.float32), 9

    def taken(n):
        """Linear interpolation from centre to centre, as a matrix."""
        place = np.clip((np.arange(n) + 0.5) * side / n - 0.5, 0, side - 1)
        low = np.minimum(place.astype(int), side - 2)
        return np.eye(side)[low] * (1 - place + low)[:, None] + np.eye(side)[low + 1] * (place - low)[:, None]

    def make(h, w, t):
        resized_biases = np.einsum("ya,xb,abc->yxc", taken(2 * h - 1), taken(2 * w - 1), learned)
        rows, columns = raster(h, w)
        cells = resized_biases[rows[:, None] - rows + h - 1, columns[:, None] - columns + w - 1].transpose(2, 0, 1)
        whole = np.empty((2, h * w + 1, h * w + 1), np.float32)
        whole[:, 1:, 1:] = cells
        whole[:, 0], whole[:, :, 0], whole[:, 0, 0] = [[3], [4]], [[5], [6]], [7, 8]
        pairs = np.ascontiguousarray(cells.transpose(1, 2, 0), np.float32).reshape(-1, 2)  # as gathered, where it is folded before its Reshape
        return dict(cells=cells.astype(np.float32), whole=whole[None], pairs=pairs)

    check_loose(lift, make, sizes=[(6, 9), (8, 5), (7, 11)], unseen=[(9, 6), (5, 5), (6, 13)], tolerance=1e-4)


def folded(n, side):
    """Linear interpolation from centre to centre as ONNX's reference evaluator folds it, as a matrix: what it adds to a place to pad the
    entries rounds a last bit away, and the place is taken for the entry before the one that it falls on."""
    matrix = np.zeros((n, side))
    for i in range(n):
        place = (i + 0.5) / (n / side) - 0.5
        weight = 1.0 if place == np.floor(place) else place - np.floor(place)
        low = int(np.floor(place + 1)) - (2 if place + 1 == np.floor(place + 1) else 1)
        matrix[i, np.clip(low, 0, side - 1)] += 1 - weight
        matrix[i, np.clip(low + 1, 0, side - 1)] += weight
    return matrix


@pytest.mark.parametrize("scale", [1000, 1])
def test_positions_that_the_exporter_folded_one_entry_off(thaw, save, tmp_path, scale):
    """At 21 of 15, the place of row 10 is entry 7, and 6 was folded: the lifted model has what was meant. It is compared with traces that have
    that, too."""
    side, learned = 15, np.random.default_rng(4).standard_normal((15, 15, WIDTH)) * 0.1
    assert folded(21, side)[10, 6] > 0.99 and folded(31, side)[15, 7] > 0.99

    def trace(h, w):
        table = np.einsum("ya,xb,abc->yxc", folded(h, side), folded(w, side), learned).reshape(1, h * w, WIDTH).astype(np.float32)
        net = Net()
        x = net.add("Transpose", net.add("Reshape", "x", net.ints(1, WIDTH, h * w)), perm=[0, 2, 1])
        x = net.add("Mul", x, net.constant(np.float32(scale)))
        return net.model([1, WIDTH, h, w], net.add("Add", x, net.constant(table)))

    sizes = [(21, 31), (15, 23), (17, 13)]
    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": trace(h, w) for h, w in sizes})
    for h, w in [(21, 31), (27, 19), (9, 33), (5, 7)]:
        x = np.random.default_rng(h).standard_normal((1, WIDTH, h, w), dtype=np.float32) / 100
        true = scale * x.reshape(1, WIDTH, -1).transpose(0, 2, 1) + resized(learned.astype(np.float32), h, w, "linear", "half_pixel").reshape(-1, WIDTH)
        assert np.abs(run.run(None, {"x": x})[0] - true).max() < 1e-4, (h, w)


@pytest.mark.parametrize("learned", [8, 14])
def test_positions_that_are_resized_by_a_little_more(thaw, save, tmp_path, learned):
    """DINO's: a tenth more than the sides are, so that what is rounded down is no row short."""
    grid = np.random.default_rng(7).standard_normal((1, 6, learned, learned), dtype=np.float32)

    def trace(h, w):
        net = Net()
        scales = net.constant(np.array([1, 1, (h + .1) / learned, (w + .1) / learned], np.float32))
        return net.model([1, 6, h, w], net.add("Add", "x", net.add("Resize", net.constant(grid), "", scales, mode="cubic", cubic_coeff_a=-.75)))

    sizes = [(8, 12), (11, 7), (12, 16)]
    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": trace(h, w) for h, w in sizes})
    for h, w in [*sizes, (9, 13), (20, 5), (31, 40)]:
        x = np.zeros((1, 6, h, w), np.float32)
        wanted = session(save(trace(h, w), "wanted")).run(None, {"x": x})[0]
        got = run.run(None, {"x": x})[0]
        assert got.shape == wanted.shape and np.abs(got - wanted).max() < 1e-5, (h, w)


def test_another_part_more_is_not_explained(thaw, save, tmp_path):
    grid = np.ones((1, 2, 8, 8), np.float32)

    def trace(n):
        net = Net()
        scales = net.constant(np.array([1, 1, (n + .37) / 8, 1], np.float32))
        return net.model([1, 2, n, 8], net.add("Add", "x", net.add("Resize", net.constant(grid), "", scales, mode="linear")))

    thaw("lift", *[save(trace(n), f"trace_{n}") for n in (9, 14, 21)], "-o", tmp_path / "out.onnx", code=1)
    assert not (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize("sizes", [(9, 17), (9, 17, 33), (13, 17, 25), (19, 37, 53)])
def test_places_that_traces_show_again_say_nothing_of_those_between(lift, sizes):
    """Any function of places between two ends is the same wherever they fall together; no table was learned and interpolated there."""
    @functools.cache
    def row(place):
        return np.random.default_rng([place.numerator, place.denominator]).standard_normal(4, dtype=np.float32)
    def make(n):
        return dict(rows=np.stack([row(Fraction(i, n - 1)) for i in range(n)]))
    _, printed = lift({(n, 2): loose(n, 2, 1, make(n)) for n in sizes}, code=1)
    assert "interpolation" not in printed
