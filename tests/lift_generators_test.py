"""thaw lift, generator by generator: three traces with a table each, and the lifted model at sizes that none of them has."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from conftest import session
from lift_tables import (
    FREQUENCIES,
    GRIDS,
    MIXED,
    WINDOW_GRIDS,
    blocks,
    check_loose,
    check_primes,
    lift,  # noqa: F401 (a fixture)
    loose,
    raster,
    windows,
)

UNSEEN = [(30, 22), (2, 2), (46, 10)]
SIDE = 13  # of the grid of positions that is interpolated


def angles(h, w):
    rows, columns = blocks(h, w)
    return np.concatenate([rows[:, None] * FREQUENCIES, columns[:, None] * FREQUENCIES], 1).astype(np.float32)


def taps(index, size):
    exact = index * np.float32(SIDE - 1) / np.float32(max(size - 1, 1))
    low = index * (SIDE - 1) // max(size - 1, 1)
    return low, np.minimum(low + 1, SIDE - 1), (exact - low).astype(np.float32)


def corners(h, w):
    rows, columns = raster(h, w)
    (y0, y1, _), (x0, x1, _) = taps(rows, h), taps(columns, w)
    return np.stack([y0 * SIDE + x0, y0 * SIDE + x1, y1 * SIDE + x0, y1 * SIDE + x1], 1)


def weights(h, w):
    rows, columns = raster(h, w)
    (_, _, fy), (_, _, fx) = taps(rows, h), taps(columns, w)
    return np.stack([(1 - fy) * (1 - fx), (1 - fy) * fx, fy * (1 - fx), fy * fx], 1)


TABLES = {
    "arange": lambda h, w: np.arange(h * w)[:, None],
    "affine": lambda h, w: 3 * np.arange(h * w)[:, None] + np.array([[5, -2]]),
    "positions": lambda h, w: np.stack(blocks(h, w), 1),
    "raster positions": lambda h, w: np.stack(raster(h, w), 1),
    "cosines": lambda h, w: np.cos(angles(h, w)),
    "sines": lambda h, w: np.sin(angles(h, w)),
    "cosines then sines": lambda h, w: np.concatenate([np.cos(angles(h, w)), np.sin(angles(h, w))], 1),
    "outer product": lambda h, w: np.arange(h * w, dtype=np.float32)[:, None] * FREQUENCIES,
    "reordering": lambda h, w: (blocks(h, w)[0] * w + blocks(h, w)[1])[:, None],
    "corners": corners,
    "corners and weights": lambda h, w: corners(h, w) * 1.0,
}


def trace(h, w, tables, axis_last=False):
    """x [num_patches, width] plus each table; tables that grow along their last axis are turned first."""
    nodes, constants, last = [], [], "x"
    for i, table in enumerate(tables):
        table = np.ascontiguousarray(table.T) if axis_last else table
        constants.append(numpy_helper.from_array(table, f"table{i}"))
        name = f"table{i}"
        if axis_last:
            nodes.append(helper.make_node("Transpose", [name], [f"turned{i}"], perm=[1, 0]))
            name = f"turned{i}"
        nodes.append(helper.make_node("Cast", [name], [f"cast{i}"], to=TensorProto.FLOAT))
        nodes.append(helper.make_node("Concat", [last, f"cast{i}"], [f"y{i}"], axis=1))
        last = f"y{i}"
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["num_patches", 3])],
                              [helper.make_tensor_value_info(last, TensorProto.FLOAT, None)], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.parametrize("axis_last", [False, True])
@pytest.mark.parametrize("name", TABLES)
def test_a_table(lift, name, axis_last):
    make = TABLES[name]
    tables = (lambda h, w: [corners(h, w), weights(h, w)]) if name == "corners and weights" else (lambda h, w: [make(h, w)])
    out, _ = lift({size: trace(*size, tables(*size), axis_last) for size in GRIDS})
    run = session(out)
    for h, w in [*GRIDS, *UNSEEN]:
        x = np.random.default_rng(h).standard_normal((h * w, 3), dtype=np.float32)
        feed = dict(x=x, grid_thw=np.array([[1, h, w]]))
        got = run.run(None, {i.name: feed[i.name] for i in run.get_inputs()})[0]
        wanted = np.concatenate([x, *(t.astype(np.float32) for t in tables(h, w))], 1)
        assert got.shape == wanted.shape
        assert np.abs(got - wanted).max() <= 2e-5 * max(1, np.abs(wanted).max())


def test_rotary_tables_of_far_positions(lift):
    """Frequencies that small traces hardly show: as many again in each table, or each twice in a row."""
    def make(h, w, t):
        frequencies = 1 / (1000000 ** (np.arange(16, dtype=np.float32) / 16))
        angles = np.arange(h * w, dtype=np.float32)[:, None] * frequencies
        return dict(halves=np.cos(np.concatenate([angles, angles], 1))[None], pairs=np.sin(np.repeat(angles, 2, 1)),
                    rows=np.cos(np.arange(w, dtype=np.float32)[:, None] * frequencies))
    check_primes(lift, make, unseen=[(31, 17), (2, 2), (97, 89), (3, 20011)], tolerance=1e-3)
    check_primes(lift, make, unseen=[(31, 17), (2, 2), (37, 31)], tolerance=1.5e-4)


def test_repeats_tiles_and_digits(lift):
    def make(h, w, t):
        frames, rows, columns = np.meshgrid(np.arange(t), np.arange(h), np.arange(w), indexing="ij")
        n = np.arange(h * w * t)
        return dict(positions=np.stack([frames.reshape(-1), rows.reshape(-1), columns.reshape(-1)]),
                    pairs=n // 2, threes=np.repeat(np.arange(h), 3), tiles=np.tile(np.arange(h), 5).astype(np.int32),
                    rest=n % 7, waves=np.cos(columns.reshape(-1)[:, None] * FREQUENCIES).astype(np.float32),
                    middle=5 * rows.reshape(-1) + 2)
    check_primes(lift, make, sizes=[(11, 23, 2), (17, 31, 3), (29, 19, 5)], unseen=[(31, 17, 7), (2, 2, 1), (37, 5, 2)])


def test_strides_and_reversals(lift):
    def make(h, w, t):
        n = h * w
        return dict(backwards=np.arange(n)[::-1], by_size=np.arange(h) * w, from_size=np.arange(h) + w, steps=np.arange(w) * 3 - 5,
                    backwards_real=np.arange(h, dtype=np.float32)[::-1], all_true=np.ones(h, bool), zeros=np.zeros((w, 5), np.float32),
                    clipped=np.minimum(np.arange(w), 8), sums=np.cumsum(np.full(h, w)), padded=np.arange(h * w) < h)
    check_primes(lift, make, sizes=MIXED)


def test_linspace(lift):
    def make(h, w, t):
        ends, centres = np.linspace(-1, 1, h), (np.arange(w) + .5) / w
        return dict(ends=ends.astype(np.float32), centres=centres.astype(np.float32), signed=(2 * centres - 1).astype(np.float32)[None],
                    side=np.linspace(0, 27, w).astype(np.float32), rows=np.repeat(ends, w).astype(np.float32)[:, None],
                    both=np.stack([np.repeat(ends, w), np.tile(2 * centres - 1, h)], 1).astype(np.float32))
    check_primes(lift, make)


def test_log_odds_of_the_corners_of_cells(lift):
    """As OWL-ViT adds them to its boxes: a little more on both sides, step by step in float32, where 1 is all but 0 from 0."""
    def log_odds(p):
        more = np.float32(1e-4)
        return np.log(p + more) - np.log(np.float32(1) + (more - p))

    def make(h, w, t):
        rows, columns = raster(h, w)
        places = [(columns + 1) / w, (rows + 1) / h, np.full(h * w, 1 / w), np.full(h * w, 1 / h)]
        return dict(boxes=np.stack([log_odds(place.astype(np.float32)) for place in places], 1),
                    cells=np.stack([np.full(h, 1 / w), (np.arange(h) + 1) / h], 1).astype(np.float32))
    check_primes(lift, make, unseen=[(31, 17), (2, 2), (37, 5), (13, 43), (101, 103)], tolerance=1e-5)


def test_waves_of_normalised_places(lift):
    """Angles of the place in the image rather than of the row: the same span at every size."""
    periods = (100 ** (np.arange(4) / 4)).astype(np.float32)
    def make(h, w, t):
        rows, columns = (2 * ((x + np.float32(.5)) / n) - 1 for x, n in zip(raster(h, w), (h, w)))
        angles = 2 * np.pi * np.stack([rows, columns], 1)[:, :, None] / periods
        angles = np.tile(angles.reshape(h * w, -1), 2).astype(np.float32)
        return dict(cos=np.cos(angles), sin=np.sin(angles), ends=np.cos(3 * np.linspace(0, 1, w)).astype(np.float32))
    check_primes(lift, make, unseen=[(31, 17), (2, 2), (37, 5), (101, 103)], tolerance=1e-5)


def half_pixel(n, side):
    exact = np.maximum((np.arange(n) + .5) * side / n - .5, 0)
    low = np.maximum((2 * np.arange(n) + 1) * side - n, 0) // (2 * n)
    return low, np.minimum(low + 1, side - 1), (exact - low).astype(np.float32)


def test_positions_in_another_length(lift):
    def make(h, w, t):
        i, (low, high, rest) = np.arange(h), half_pixel(w, 13)
        return dict(nearest=i * 16 // h, to_other=i * w // h, by_centres=(2 * i + 1) * 32 // (2 * h), bins=np.arange(h) * 48 // h,
                    low=low, high=high, rest=rest, lower=1 - rest,
                    aligned=np.arange(w) * 15 // max(w - 1, 1))
    check_primes(lift, make)


def test_positions_of_a_grid_in_a_square(lift):
    def make(h, w, t):
        rows, columns = raster(h, w)
        return dict(bucketed=rows * 32 // h * 32 + columns * 32 // w,
                    by_centres=(2 * rows + 1) * 24 // (2 * h) * 24 + (2 * columns + 1) * 24 // (2 * w))
    check_primes(lift, make)


def test_half_pixel_weights_of_a_grid(lift):
    def make(h, w, t):
        rows, columns = raster(h, w)
        (y0, y1, fy), (x0, x1, fx) = half_pixel(h, 16), half_pixel(w, 16)
        pairs = [(y, x) for y in (y0, y1) for x in (x0, x1)]
        index = np.stack([y[rows] * 16 + x[columns] for y, x in pairs])
        weight = np.stack([y[rows] * x[columns] for y in (1 - fy, fy) for x in (1 - fx, fx)])[..., None]
        return dict(index=index, weight=weight.astype(np.float32))
    check_primes(lift, make)


def test_grids_of_rounded_sides(lift):
    """An image whose last rows and columns fill no patch, or are padded up to one."""
    def make(h, w, t):
        rows, columns = raster(h // 14, w // 14)
        up = raster(-(-h // 8), -(-w // 8))
        return dict(down=np.stack([rows, columns], 1), up=up[0] * 1000 + up[1],
                    token=np.concatenate([[[-7, 7]], np.stack([rows, columns], 1)]))
    check_loose(lift, make, sizes=[(61, 97), (89, 127), (103, 73)], unseen=[(97, 61), (31, 29), (15, 83), (141, 139)])


def test_what_is_not_explained_is_named_and_nothing_is_written(lift):
    rng = np.random.default_rng(8)
    out, printed = lift({(h, w): trace(h, w, [rng.standard_normal((h * w, 2)).astype(np.float32)]) for h, w in GRIDS}, code=1)
    assert "unexplained" in printed and "table0" in printed and "no generator" in printed
    assert not out.exists()


def test_the_generator_that_comes_nearest_is_named(lift):
    def make(h, w, t):
        index, lengths = windows(h // 2, w // 2, 4)
        index[-5:] = index[-5:][::-1]
        lengths[-1] += 1
        lengths[-2] -= 1
        rng = np.random.default_rng(h)
        return dict(index=index, lengths=lengths * 4, learned=rng.standard_normal((h * w, 16)).astype(np.float32),
                    pairs=rng.standard_normal((h, w)).astype(np.float32))
    out, printed = lift({size: loose(*size, 1, make(*size, 1)) for size in WINDOW_GRIDS}, code=1)
    printed = " ".join(printed.split())
    assert "windows of 4 x 4 in a grid" in printed and "gives the first 187 of 192" in printed
    assert "lengths of windows of 8 x 8" in printed and "give the first 10 of 12, 12, 12" in printed
    assert "16 numbers a row look learned" in printed and "give a trace at the size" in printed and "function of a distance" in printed
    assert not out.exists()


def test_a_constant_that_is_kept(lift):
    rng = np.random.default_rng(8)
    models = {(h, w): trace(h, w, [np.stack(blocks(h, w), 1)]) for h, w in GRIDS}
    for model in models.values():
        noise = numpy_helper.from_array(rng.standard_normal((1, 3)).astype(np.float32), "noise")
        model.graph.initializer.append(noise)
        model.graph.node.insert(0, helper.make_node("Add", ["x", "noise"], ["shaken"]))
        model.graph.node[2].input[0] = "shaken"
    assert "noise" in lift(models, code=1)[1]
    assert lift(models, "--keep-static", "noise", "--no-check")[0].exists()
