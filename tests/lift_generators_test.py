"""thaw lift, generator by generator: three traces with a table each, and the lifted model at sizes that none of them has."""
import json
import shlex

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from conftest import SOURCE, session

GRIDS = [(16, 24), (22, 30), (28, 20)]
UNSEEN = [(30, 22), (2, 2), (46, 10)]
SIDE = 13  # of the grid of positions that is interpolated


def blocks(h, w, m=2):
    """Row and column of each patch, in blocks of m x m."""
    rows, columns = np.meshgrid(np.arange(h), np.arange(w), indexing="ij")
    def turn(x):
        return x.reshape(h // m, m, w // m, m).transpose(0, 2, 1, 3).reshape(-1)
    return turn(rows), turn(columns)


def raster(h, w):
    return np.repeat(np.arange(h), w), np.tile(np.arange(w), h)


FREQUENCIES = (10000.0 ** (-np.arange(6) / 6)).astype(np.float32)


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


def loose(h, w, t, tables):
    """A model of t frames whose outputs are the tables as they are, beside x."""
    constants = [numpy_helper.from_array(np.ascontiguousarray(table), name) for name, table in tables.items()]
    nodes = [helper.make_node("Identity", [c.name], [f"{c.name}_out"]) for c in constants]
    nodes.append(helper.make_node("Neg", ["x"], ["x_out"]))
    outputs = [helper.make_tensor_value_info(f"{c.name}_out", c.data_type, [None] * len(c.dims)) for c in constants]
    outputs.append(helper.make_tensor_value_info("x_out", TensorProto.FLOAT, None))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["num_patches", 3])],
                              outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def check_loose(lift, make, sizes=None, unseen=None, tolerance=2e-6):
    """make(h, w, t) -> tables by name: lifted from some sizes, they are right at others, type and shape and all."""
    sizes, unseen = sizes or WINDOW_GRIDS, unseen or WINDOW_UNSEEN
    sizes, unseen = ([(*size, 1)[:3] for size in each] for each in (sizes, unseen))
    out, printed = lift({size: loose(*size, make(*size)) for size in sizes})
    run = session(out)
    for h, w, t in [*sizes, *unseen]:
        feed = dict(x=np.ones((t * h * w, 3), np.float32), grid_thw=np.array([[t, h, w]]))
        names = [o.name for o in run.get_outputs()]
        got = dict(zip(names, run.run(None, {i.name: feed[i.name] for i in run.get_inputs()})))
        for name, wanted in make(h, w, t).items():
            one = got[f"{name}_out"]
            assert one.shape == wanted.shape and one.dtype == wanted.dtype, (name, h, w, one.shape)
            if wanted.dtype.kind == "f":
                assert np.all((one == wanted) | (np.abs(one - wanted) <= tolerance * np.maximum(1, np.abs(wanted)))), (name, h, w)
            else:
                assert np.array_equal(one, wanted), (name, h, w)
    return printed


WINDOW_GRIDS = [(18, 26), (22, 30), (24, 32)]
WINDOW_UNSEEN = [(30, 22), (2, 2), (8, 8), (46, 10), (6, 74)]


@pytest.fixture
def lift(thaw, save, tmp_path):
    """lift(models by (h, w) or (h, w, t)) -> (path, what the command printed)"""
    def run(models, *args, code=0):
        paths, values = [], {}
        for (h, w, *frames), model in models.items():
            t = frames[0] if frames else 1
            paths.append(save(model, f"trace_{t}x{h}x{w}"))
            values[paths[-1].name] = dict(grid_thw=[[t, h, w]], x=dict(shape=[t * h * w, 3]))
        (tmp_path / "values.json").write_text(json.dumps(values))
        out = tmp_path / "lifted.onnx"
        result = thaw("lift", *paths, "-o", out, "--values", tmp_path / "values.json", "--add-input", "grid_thw:int64[1,3]",
                      *args, code=code)
        return out, result.stdout + result.stderr
    return run


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


def windows(h, w, s, t=1):
    """The cells of t frames of h x w in the order of windows of s x s, and the cells that each window holds."""
    cells = np.arange(h * w).reshape(h, w)
    each = [cells[i:i + s, j:j + s].reshape(-1) for i in range(0, h, s) for j in range(0, w, s)]
    return (np.concatenate([np.concatenate(each) + frame * h * w for frame in range(t)]),
            np.array([len(window) for window in each] * t))


def patches_of(units, m=2):
    """Each unit as its m * m patches, which stand together."""
    return (units[:, None] * m * m + np.arange(m * m)).reshape(-1)


def window_tables(h, w, t):
    index, lengths = windows(h // 2, w // 2, 4, t)
    return dict(index=index, inverse=np.argsort(index), patches=patches_of(index).astype(np.int32),
                patch_inverse=np.argsort(patches_of(index))[None])


def test_indices_of_windows(lift):
    printed = check_loose(lift, window_tables, unseen=[*WINDOW_UNSEEN, (22, 30, 3), (10, 26, 2)])
    assert "windows of 4 x 4 in a grid" in printed


def test_windows_of_single_patches(lift):
    def make(h, w, t):
        index, lengths = windows(h, w, 7, t)
        return dict(index=index, inverse=np.argsort(index), lengths=lengths)
    check_loose(lift, make, unseen=[(17, 29), (29, 17), (3, 5), (7, 7), (11, 13, 3)])


def test_windows_from_traces_with_frames(lift):
    check_loose(lift, window_tables, sizes=[(18, 26, 2), (22, 30, 3), (24, 32, 1)], unseen=[(30, 22, 5), (2, 2, 2)])


@pytest.mark.parametrize("sizes", [WINDOW_GRIDS, [(98, 100), (90, 104), (100, 86)]])
def test_rotary_tables_in_the_order_of_windows(lift, sizes):
    def make(h, w, t):
        index, _ = windows(h // 2, w // 2, 4, t)
        rows, columns = (np.tile(x, t)[patches_of(index)] for x in blocks(h, w))
        both = np.concatenate([rows[:, None] * FREQUENCIES, columns[:, None] * FREQUENCIES], 1).astype(np.float32)
        return dict(angles=both, cos=np.cos(np.concatenate([both, both], 1)), sin=np.sin(both)[:, None],
                    columns_first=np.cos(both[:, ::-1]))
    printed = check_loose(lift, make, sizes=sizes, tolerance=2e-5)
    assert "windows of 4 x 4 blocks of 2 x 2" in printed


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_lengths_of_windows_and_their_sums(lift, dtype):
    def make(h, w, t):
        _, lengths = windows(h // 2, w // 2, 4, t)
        lengths = (lengths * 4).astype(dtype)
        return dict(lengths=lengths, sums=np.concatenate([[0], np.cumsum(lengths)]).astype(dtype))
    printed = check_loose(lift, make, unseen=[*WINDOW_UNSEEN, (22, 30, 3)])
    assert "lengths of windows of 8 x 8" in printed


def test_windows_of_a_sequence(lift):
    def make(h, w, t):
        n = h * w
        lengths = np.array([104] * (n // 104) + [n % 104] * (n % 104 > 0))
        return dict(lengths=lengths, sums=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    printed = check_loose(lift, make, unseen=[(2, 2), (8, 13), (13, 16), (7, 89), (30, 22)])
    assert "windows of 104 of num_patches" in printed


def test_sums_of_frames(lift):
    def make(h, w, t):
        return dict(sums=np.arange(t + 1, dtype=np.int32) * h * w)
    check_loose(lift, make, sizes=[(18, 26, 2), (22, 30, 3), (24, 32, 5)], unseen=[(30, 22, 1), (2, 2, 7), (46, 10, 4)])


def test_shifted_windows(lift):
    def make(h, w, t):
        cells = np.roll(np.arange(h * w).reshape(h, w), (-3, -3), (0, 1))
        order = cells.reshape(h // 6, 6, w // 6, 6).transpose(0, 2, 1, 3).reshape(-1)
        whole, _ = windows(h, w, 6)
        return dict(order=order, back=np.argsort(order), whole=whole, whole_back=np.argsort(whole))
    printed = check_loose(lift, make, sizes=[(18, 30), (24, 36), (30, 24)], unseen=[(30, 18), (6, 6), (42, 66), (6, 30)])
    assert "rolled by 3" in printed


PRIMES = [(11, 23), (17, 31), (29, 19)]
PRIMES_UNSEEN = [(31, 17), (2, 2), (37, 5), (13, 43), (1, 7)]


def check_primes(lift, make, **options):
    return check_loose(lift, make, **dict(dict(sizes=PRIMES, unseen=PRIMES_UNSEEN), **options))


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
    check_primes(lift, make)


def test_linspace(lift):
    def make(h, w, t):
        ends, centres = np.linspace(-1, 1, h), (np.arange(w) + .5) / w
        return dict(ends=ends.astype(np.float32), centres=centres.astype(np.float32), signed=(2 * centres - 1).astype(np.float32)[None],
                    side=np.linspace(0, 27, w).astype(np.float32), rows=np.repeat(ends, w).astype(np.float32)[:, None],
                    both=np.stack([np.repeat(ends, w), np.tile(2 * centres - 1, h)], 1).astype(np.float32))
    check_primes(lift, make)


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


LOWEST = np.float32(np.finfo(np.float32).min)


def far(n, m):
    """How far row i is after column j."""
    return np.arange(n)[:, None] - np.arange(m)


def test_causal_masks(lift):
    def make(h, w, t):
        n = h * w // 7
        d = far(n, n)
        return dict(allowed=d >= 0, added=np.where(d >= 0, 0, LOWEST).astype(np.float32)[None, None],
                    infinite=np.where(d < 0, -np.inf, 0).astype(np.float32), strict=(d > 0)[None], upper=np.triu(np.ones((n, n), np.int64)),
                    rectangular=far(h, w) >= 0, at_the_end=far(h, h + w) + w >= 0,
                    half=np.where(d >= 0, 0, np.finfo(np.float16).min).astype(np.float16))
    check_primes(lift, make, unseen=[(31, 17), (7, 2), (37, 5), (13, 43)])


def test_sliding_windows_and_identity(lift):
    def make(h, w, t):
        n = h * w // 5
        d = far(n, n)
        return dict(sliding=(d >= 0) & (d < 13), both_ways=np.where(np.abs(d) <= 4, 0, -np.inf).astype(np.float32)[None, None],
                    identity=np.eye(n, dtype=np.float32), one_hot=np.eye(h, w, dtype=np.int64), unlike=~np.eye(w, dtype=bool))
    check_primes(lift, make, unseen=[(31, 17), (5, 2), (37, 5), (13, 43), (3, 5)])


def test_masks_between_groups(lift):
    def make(h, w, t):
        n, (rows, columns) = t * h * w, raster(h, w)
        chunk, frame = np.arange(n) // 12, np.arange(n) // (h * w)
        row, column = np.tile(rows, t), np.tile(columns, t)
        def same(x):
            return x[:, None] == x
        def after(x):
            return x[:, None] - x
        return dict(chunks=same(chunk), frames=np.where(same(frame), 0, -np.inf).astype(np.float32)[None],
                    rows=same(row), columns=same(column), up_to_chunk=after(chunk) >= 0,
                    left_context=(after(chunk) >= 0) & (after(chunk) <= 2), causal_chunks=same(chunk) & (far(n, n) >= 0))
    check_primes(lift, make, sizes=[(5, 7, 2), (7, 11, 3), (3, 13, 5)], unseen=[(7, 5, 4), (2, 2, 2), (11, 3, 3), (1, 3, 1)])


def test_masks_between_ragged_windows(lift):
    def make(h, w, t):
        index, lengths = windows(h // 2, w // 2, 4, t)
        in_order = np.repeat(np.arange(len(lengths)), lengths * 4)
        of_unit = np.argsort(index)
        raster_order = np.repeat(np.arange(len(lengths)), lengths)[of_unit]
        return dict(in_order=in_order[:, None] == in_order, units=np.where(raster_order[:, None] == raster_order, 0, -1e9).astype(np.float32)[None])
    check_loose(lift, make, sizes=[(10, 14), (12, 22), (18, 10)], unseen=[(22, 12), (2, 2), (8, 8), (6, 26), (10, 14, 2)])


def test_sums_and_products_of_two_axes(lift):
    def make(h, w, t):
        i, j = np.arange(h)[:, None], np.arange(w)
        tenth = np.float32(0.1)
        return dict(index=i * w + j, scaled=(3 * i - 2 * j + 5).astype(np.int32)[None], relative=far(h, h) + h - 1,
                    apart=np.abs(far(w, w)), outer=(np.float32(.5) * (i + 1)) * np.cos(tenth * j, dtype=np.float32),
                    bias=-np.abs(far(w, w))[None] * np.array([.5, .25, .125], np.float32)[:, None, None],
                    clipped=np.clip(far(w, w), -8, 8) + 8, zeros=np.zeros((h, w, 4), np.float32), true=np.ones((1, 1, h, w), bool),
                    grid=np.stack([np.repeat(i, w, 1), np.repeat(j[None], h, 0)], -1))
    check_primes(lift, make)


def test_positions_on_several_axes(lift):
    def make(h, w, t):
        rows, columns = np.meshgrid(np.arange(h), np.arange(w), indexing="ij")
        angles = np.concatenate([rows[..., None] * FREQUENCIES, columns[..., None] * FREQUENCIES], -1).astype(np.float32)
        shape = np.zeros((t, h, w), np.int64)
        return dict(angles=angles, cos=np.cos(angles), first=np.cos(angles).transpose(2, 0, 1)[None],
                    all=shape + np.arange(t)[:, None, None] * 1000 + np.arange(h)[:, None] * w + np.arange(w),
                    mask=(far(w, w) >= 0)[None] & np.ones((h, 1, 1), bool))
    check_primes(lift, make, sizes=[(11, 23, 2), (17, 31, 3), (29, 19, 5)], unseen=[(31, 17, 7), (2, 2, 1), (37, 5, 2)], tolerance=2e-5)


LEARNED = np.random.default_rng(3).standard_normal((4000, 5)).astype(np.float32)


def fails_beyond(lift, make, sizes, fits, beyond):
    """Right at the sizes that fit into what the traces hold; an error of ONNX Runtime at others."""
    out, printed = lift({size: loose(*size, 1, make(*size, 1)) for size in sizes})
    run = session(out)
    for h, w in [*sizes, *fits]:
        feed = dict(x=np.ones((h * w, 3), np.float32), grid_thw=np.array([[1, h, w]]))
        got = dict(zip([o.name for o in run.get_outputs()], run.run(None, {i.name: feed[i.name] for i in run.get_inputs()})))
        for name, wanted in make(h, w, 1).items():
            assert np.array_equal(got[f"{name}_out"], wanted), (name, h, w)
    for h, w in beyond:
        feed = dict(x=np.ones((h * w, 3), np.float32), grid_thw=np.array([[1, h, w]]))
        with pytest.raises(Exception, match="(?i)gather"):
            run.run(None, {i.name: feed[i.name] for i in run.get_inputs()})
    return printed


def test_the_first_rows_of_a_larger_table(lift):
    printed = fails_beyond(lift, lambda h, w, t: dict(first=LEARNED[:h * w][None]), PRIMES, [(31, 17), (2, 2), (19, 29)], [(19, 31)])
    assert "known below 551" in printed


def test_the_last_and_the_middle_rows_of_a_larger_table(lift):
    printed = fails_beyond(lift, lambda h, w, t: dict(last=LEARNED[1000 - h:1000]), PRIMES, [(13, 3), (28, 2), (1, 5)], [(30, 3), (31, 2)])
    assert "the last rows of a kept table, known up to 29" in printed
    def middle(h, w, t):
        return dict(middle=LEARNED[500 - h // 2:500 - h // 2 + h])
    assert "middle rows" in fails_beyond(lift, middle, PRIMES, [(13, 3), (27, 2)], [(31, 3)])


def test_cells_of_a_larger_grid(lift):
    grid = LEARNED[:3600].reshape(60, 60, 5)
    printed = fails_beyond(lift, lambda h, w, t: dict(cells=grid[:h, :w].reshape(-1, 5)), [(11, 23), (29, 31), (17, 19)],
                           [(23, 11), (2, 2), (29, 30)], [(5, 32), (30, 5), (1, 33)])
    assert "known up to 29 x 31" in printed


def test_learned_rows_of_a_grid(lift):
    def make(h, w, t):
        return dict(rows=np.repeat(LEARNED[:h], w, 0), columns=np.tile(LEARNED[100:100 + w], (h, 1)))
    fails_beyond(lift, make, PRIMES, [(28, 30), (2, 2), (29, 1)], [(30, 5), (5, 32)])


def test_padding(lift):
    def make(h, w, t):
        pad = np.full((h, 5), .5, np.float32)
        return dict(after=np.concatenate([LEARNED[:7], pad]), before=np.concatenate([pad, LEARNED[:7]]),
                    valid=np.arange(h * w) < w, held=np.minimum(np.arange(64), h), fixed=np.arange(50) < h,
                    corner=(np.arange(40)[:, None] < h) & (np.arange(48) < w),
                    weights=((np.arange(40)[:, None] < h) & (np.arange(48) < w)).astype(np.float32)[None])
    check_primes(lift, make, unseen=[(31, 17), (2, 2), (37, 5), (13, 43)])


def resized(table, h, w, mode, coordinates):
    """A grid of learned rows [side, side, d], resized by ONNX Runtime."""
    attributes = dict(mode=mode, coordinate_transformation_mode=coordinates)
    nodes = [helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], **attributes)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None] * 4),
                                           helper.make_tensor_value_info("sizes", TensorProto.INT64, [4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * 4)])
    run = session(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8))
    side = table.transpose(2, 0, 1)[None]
    return run.run(None, dict(x=side, sizes=np.array([1, table.shape[2], h, w])))[0][0].transpose(1, 2, 0)


@pytest.mark.parametrize("coordinates", ["half_pixel", "align_corners"])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_learned_positions_that_were_interpolated(lift, mode, coordinates):
    learned = LEARNED[:14 * 14].reshape(14, 14, 5)
    def make(h, w, t):
        table = resized(learned, h, w, mode, coordinates)
        flat = table.reshape(-1, 5)
        merged = table.reshape(h // 2, 2, w // 2, 2, 5).transpose(0, 2, 1, 3, 4).reshape(-1, 5)
        return dict(flat=flat[None], token=np.concatenate([LEARNED[500:501], flat])[None], image=table.transpose(2, 0, 1)[None], merged=merged)
    printed = check_loose(lift, make, sizes=[(10, 22), (14, 14), (18, 6)], unseen=[(22, 10), (2, 2), (30, 26)], tolerance=1e-5)
    assert f"{mode} interpolation ({coordinates}) of the 14 x 14 positions" in printed


def test_masks_of_shifted_windows(lift):
    """Swin's: what was rolled to the other side of the image is not seen, window by window."""
    def make(h, w, t):
        region = np.zeros((h, w), np.int64)
        for i, rows in enumerate((slice(0, -6), slice(-6, -3), slice(-3, None))):
            for j, columns in enumerate((slice(0, -6), slice(-6, -3), slice(-3, None))):
                region[rows, columns] = 3 * i + j
        parts = region.reshape(h // 6, 6, w // 6, 6).transpose(0, 2, 1, 3).reshape(-1, 36)
        mask = np.where(parts[:, None] == parts[:, :, None], 0, -100).astype(np.float32)
        return dict(mask=mask, heads=mask[:, None])
    printed = check_loose(lift, make, sizes=[(18, 30), (24, 36), (30, 24)], unseen=[(30, 18), (6, 6), (42, 66), (6, 30), (12, 6)])
    assert "last row and column" in printed


def test_grids_of_rounded_sides(lift):
    """An image whose last rows and columns fill no patch, or are padded up to one."""
    def make(h, w, t):
        rows, columns = raster(h // 14, w // 14)
        up = raster(-(-h // 8), -(-w // 8))
        return dict(down=np.stack([rows, columns], 1), up=up[0] * 1000 + up[1],
                    token=np.concatenate([[[-7, 7]], np.stack([rows, columns], 1)]))
    check_loose(lift, make, sizes=[(61, 97), (89, 127), (103, 73)], unseen=[(97, 61), (31, 29), (15, 83), (141, 139)])


def test_a_grid_behind_a_class_token(lift):
    def make(h, w, t):
        rows, columns = raster(h, w)
        angles = np.concatenate([rows[:, None] * FREQUENCIES, columns[:, None] * FREQUENCIES], 1)
        return dict(cos=np.concatenate([np.ones((1, 12)), np.cos(angles)]).astype(np.float32)[None],
                    index=np.concatenate([[-1, -2, -3, -4, -5], rows * w + columns]), positions=np.stack([np.append(0, rows + 1), np.append(0, columns + 1)]))
    check_primes(lift, make, tolerance=2e-5)


def test_what_is_not_explained_is_named_and_nothing_is_written(lift):
    rng = np.random.default_rng(8)
    out, printed = lift({(h, w): trace(h, w, [rng.standard_normal((h * w, 2)).astype(np.float32)]) for h, w in GRIDS}, code=1)
    assert "not explained" in printed and "table0" in printed and "no generator" in printed
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


def test_the_command_of_the_page_on_lifting_runs(thaw, save, tmp_path):
    page = (SOURCE / "docs" / "how-lifting-works.md").read_text()
    command = next(line.strip() for line in page.splitlines() if line.startswith("    thaw "))
    grids = {}
    for h, w in GRIDS:
        save(trace(h, w, [np.stack(blocks(h, w), 1)]), f"trace_{h}x{w}")
        grids[f"trace_{h}x{w}.onnx"] = dict(grid_thw=[[1, h, w]])
    (tmp_path / "grids.json").write_text(json.dumps(grids))
    thaw(*shlex.split(command)[1:], code=0, cwd=tmp_path)
    assert (tmp_path / "lifted.onnx").exists()
