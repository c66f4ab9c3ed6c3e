"""Learned positions that were interpolated before the export with anti-aliasing, or as a list for each side of a grid, and learned angles."""
import numpy as np
import pytest

from lift_left_out_test import lifted
from lift_net import Net
from lift_tables import LEARNED, raster

PATCH, WIDTH = 4, 5
SIZES, UNSEEN = [(8, 12), (12, 20), (20, 16)], [(12, 16), (24, 8), (5, 7), (31, 29)]


def weights(n, side, cubic, antialias=True):
    """How PyTorch weighs `side` entries in each of n: with anti-aliasing, what is outside is left out."""
    step = side / n
    shrunk, reach, a = max(step, 1) if antialias else 1, 2 if cubic else 1, -0.5 if antialias else -0.75
    out = np.zeros((n, side))
    for i in range(n):
        centre = step * (i + 0.5)
        places = np.arange(int(np.floor(centre - reach * shrunk)) - 1, int(np.ceil(centre + reach * shrunk)) + 1)
        x = np.abs((places + 0.5 - centre) / shrunk)
        near, far = ((a + 2) * x - (a + 3)) * x * x + 1, ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        weight = np.where(x < 1, near, np.where(x < 2, far, 0)) if cubic else np.maximum(1 - x, 0)
        if antialias:
            weight = np.where((places >= 0) & (places < side), weight, 0)
            weight /= weight.sum()
        np.add.at(out[i], np.clip(places, 0, side - 1), weight)
    return out


def resized(learned, h, w, cubic, antialias=True):
    """[side, side, d] in another size."""
    down, across = (weights(n, side, cubic, antialias) for n, side in zip((h, w), learned.shape))
    return np.einsum("ha,wb,abd->hwd", down, across, learned.astype(np.float64)).astype(np.float32)


def patches(h, w, table, opset=18):
    """Patches of an image [1, 1, 4 h, 4 w], each times its row of the table."""
    net = Net()
    x = net.add("Conv", "x", net.constant(np.ones((table.shape[1], 1, PATCH, PATCH), np.float32)), strides=[PATCH, PATCH])
    x = net.add("Transpose", net.add("Reshape", x, net.ints(1, table.shape[1], h * w)), perm=[0, 2, 1])
    return net.model([1, 1, h * PATCH, w * PATCH], net.add("Mul", x, net.constant(table)), opset)


def is_right(run, h, w, table, tolerance):
    x = np.random.default_rng(h * 100 + w).standard_normal((1, 1, h * PATCH, w * PATCH), dtype=np.float32)
    sums = x.reshape(h, PATCH, w, PATCH).sum((1, 3)).reshape(-1, 1)
    got = run.run(None, {"x": x})[0][0]
    return got.shape == table.shape and np.abs(got - sums * table).max() <= tolerance * np.abs(sums).max()


def check(thaw, save, tmp_path, make, sizes=None, unseen=None, tolerance=3e-5):
    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": patches(h, w, make(h, w)) for h, w in sizes or SIZES})
    for h, w in [*(sizes or SIZES), *(unseen or UNSEEN)]:
        assert is_right(run, h, w, make(h, w), tolerance), (h, w)
    return run


def refused(thaw, save, tmp_path, models):
    out = tmp_path / "lifted.onnx"
    said = thaw("lift", *[save(model, f"trace_{name}") for name, model in models.items()], "-o", out, code=1)
    assert not out.exists()
    return said.stdout + said.stderr


@pytest.mark.parametrize("cubic", [True, False])
@pytest.mark.parametrize("side", [12, 10])
def test_positions_that_were_resized_with_antialiasing(thaw, save, tmp_path, cubic, side):
    """Smaller along one side in one trace, larger in the others; sizes that are smaller along both."""
    learned = LEARNED[:side * side].reshape(side, side, WIDTH)
    check(thaw, save, tmp_path, lambda h, w: resized(learned, h, w, cubic).reshape(-1, WIDTH))


def test_positions_with_antialiasing_that_no_trace_has_whole(thaw, save, tmp_path):
    learned = LEARNED[:14 * 14].reshape(14, 14, WIDTH)
    check(thaw, save, tmp_path, lambda h, w: resized(learned, h, w, True).reshape(-1, WIDTH), sizes=[(10, 14), (14, 12), (11, 22)])


def test_averages_of_many_positions_leave_them_open(thaw, save, tmp_path):
    learned = LEARNED[:14 * 14].reshape(14, 14, WIDTH)
    said = refused(thaw, save, tmp_path, {f"{h}x{w}": patches(h, w, resized(learned, h, w, True).reshape(-1, WIDTH)) for h, w in [(5, 9), (8, 6), (7, 7)]})
    assert "nothing was written" in said


@pytest.mark.parametrize("opset", [17, 18])
def test_linear_positions_do_not_tell_of_antialiasing_where_all_traces_are_larger(thaw, save, tmp_path, opset):
    """With and without it a larger grid is the same: a smaller one is an error, not a guess. What is folded may have it at any opset."""
    learned = LEARNED[:8 * 8].reshape(8, 8, WIDTH)
    sizes = [(8, 12), (12, 20), (20, 16)]
    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": patches(h, w, resized(learned, h, w, False).reshape(-1, WIDTH), opset) for h, w in sizes})
    for h, w in [*sizes, (9, 8), (31, 29)]:
        assert is_right(run, h, w, resized(learned, h, w, False).reshape(-1, WIDTH), 3e-5), (h, w)
    for h, w in [(7, 9), (12, 7), (5, 5)]:
        with pytest.raises(Exception, match="guard_Reshape"):
            run.run(None, {"x": np.ones((1, 1, h * PATCH, w * PATCH), np.float32)})


def test_an_opset_without_antialiasing_has_none(thaw, save, tmp_path):
    learned = LEARNED[:12 * 12].reshape(12, 12, WIDTH)
    said = refused(thaw, save, tmp_path, {f"{h}x{w}": patches(h, w, resized(learned, h, w, True).reshape(-1, WIDTH), 17) for h, w in SIZES})
    assert "nothing was written" in said


def factorized(side, h, w, longer, cubic=False):
    rows, columns = (LEARNED[at:at + side].astype(np.float64) for at in (0, 200))
    down, across = (max(h, w), max(h, w)) if longer else (h, w)
    rows, columns = weights(down, side, cubic, False)[:h] @ rows, weights(across, side, cubic, False)[:w] @ columns
    return (rows[:, None] + columns).reshape(-1, WIDTH).astype(np.float32)


@pytest.mark.parametrize("longer", [True, False])
@pytest.mark.parametrize("cubic", [True, False])
def test_a_list_for_each_side_of_a_grid(thaw, save, tmp_path, longer, cubic):
    """Both were learned with 14 entries; what is seen are sums. Where cells are square, lists are as long as the longer side and cut."""
    check(thaw, save, tmp_path, lambda h, w: factorized(14, h, w, longer, cubic), sizes=[(10, 12), (16, 12), (11, 22)])


def test_rows_that_no_trace_tells(thaw, save, tmp_path):
    """The ends of the learned rows are in no trace: all are wider than high."""
    said = refused(thaw, save, tmp_path, {f"{h}x{w}": patches(h, w, factorized(14, h, w, True)) for h, w in [(10, 14), (12, 16), (11, 22)]})
    assert "14 rows and 14 columns that were learned" in said and "add one of at least 14 x 14 cells" in said


def angles(h, w, across, down, offset=0.0):
    rows, columns = raster(h, w)
    turned = columns[:, None] * across + rows[:, None] * down + offset
    return np.concatenate([np.cos(turned), np.sin(turned)], 1).astype(np.float32)


def test_angles_that_were_learned_along_both_sides(thaw, save, tmp_path):
    """Some turn by more than a quarter a cell, some along one side only."""
    across, down = np.array([0.9, -0.3, 0.02, 2.5, 0.0, 1.1]), np.array([0.2, 0.7, -0.11, -1.9, 0.4, 0.0])
    check(thaw, save, tmp_path, lambda h, w: angles(h, w, across, down), sizes=[(4, 6), (10, 5), (7, 12)], tolerance=2e-5)


def test_angles_that_hardly_turn_along_a_side_are_not_guessed(thaw, save, tmp_path):
    """Cosines of angles that are almost 0 everywhere."""
    table = lambda h, w: angles(h, w, np.array([1e-5, 0.7]), np.array([2e-5, 0.3]))[:, :2]
    said = refused(thaw, save, tmp_path, {f"{h}x{w}": patches(h, w, table(h, w)) for h, w in [(4, 6), (10, 5), (7, 12)]})
    assert "nothing was written" in said


def test_angles_that_begin_elsewhere_are_kept(thaw, save, tmp_path):
    """As far as the traces go, of which none is the largest along both sides."""
    table = lambda h, w: angles(h, w, np.array([0.9, 0.3]), np.array([0.2, 0.7]), np.array([0.0, 0.4]))
    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": patches(h, w, table(h, w)) for h, w in [(4, 6), (10, 5), (7, 12)]})
    for h, w in [(10, 5), (7, 12), (9, 4), (7, 11), (1, 1)]:
        assert is_right(run, h, w, table(h, w), 1e-6), (h, w)
    for h, w in [(8, 6), (10, 12), (11, 5), (7, 13)]:
        with pytest.raises(Exception, match="guard_Reshape"):
            is_right(run, h, w, table(h, w), 1e-6)


def test_places_that_are_told_in_cells_of_a_larger_grid(thaw, save, tmp_path):
    """Sines of (i + 1) / n of 24 cells: the first of them may be some turns on."""
    frequencies = 10000.0 ** (-np.arange(3) / 3)
    def table(h, w):
        rows, columns = raster(h, w)
        turned = np.concatenate([np.outer((c + 1) / n * 24, frequencies) for c, n in ((columns, w), (rows, h))], 1)
        return np.concatenate([np.sin(turned), np.cos(turned)], 1).astype(np.float32)
    check(thaw, save, tmp_path, table, sizes=[(4, 6), (10, 5), (7, 12)], unseen=[(8, 6), (13, 14), (3, 17)], tolerance=2e-5)


def projected(h, w, basis, weight, folded):
    """Sines of normalised places through a product with what was learned, folded or not."""
    rows, _ = raster(h, w)
    place = (np.outer((rows + 1) / h, basis)).astype(np.float32)
    net = Net()
    x = net.add("Conv", "x", net.constant(np.ones((weight.shape[1], 1, PATCH, PATCH), np.float32)), strides=[PATCH, PATCH])
    x = net.add("Transpose", net.add("Reshape", x, net.ints(1, weight.shape[1], h * w)), perm=[0, 2, 1])
    if folded:
        table = net.constant((np.sin(place).astype(np.float64) @ weight).astype(np.float32))
    else:
        table = net.add("MatMul", net.add("Sin", net.constant(place)), net.constant(weight))
    return net.model([1, 1, h * PATCH, w * PATCH], net.add("Mul", x, table))


def test_a_trace_in_which_what_was_learned_is_folded_is_only_compared_with(thaw, save, tmp_path):
    basis, weight = 2 * np.pi / 100.0 ** (np.arange(9) / 9), np.random.default_rng(1).standard_normal((9, 8)).astype(np.float32)
    sizes, table = [(4, 6), (10, 5), (7, 12), (9, 8)], lambda h, w: np.sin(np.outer((raster(h, w)[0] + 1) / h, basis)) @ weight
    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": projected(h, w, basis, weight, (h, w) == sizes[0]) for h, w in sizes})
    for h, w in [*sizes, (8, 6), (13, 14)]:
        assert is_right(run, h, w, table(h, w), 1e-5), (h, w)


def test_a_folded_trace_that_is_another_model_is_told(thaw, save, tmp_path):
    basis, weight = 2 * np.pi / 100.0 ** (np.arange(9) / 9), np.random.default_rng(1).standard_normal((9, 8)).astype(np.float32)
    models = {f"{h}x{w}": projected(h, w, basis, weight * (1.1 if h == 4 else 1), h == 4) for h, w in [(4, 6), (10, 5), (7, 12), (9, 8)]}
    refused(thaw, save, tmp_path, models)
