"""Tables of cells of which each trace shows places that others show again: what lies between them no trace tells, and a learned grid that is
resized gives all of them, whatever they hold."""
import numpy as np
import pytest

from lift_alike_sides_test import CHANNELS, beside_table, cells, image
from lift_net import seen_of

UNSEEN = {13: 44, 21: 9, 38: 27, 50: 61, 85: 70}  # widths by height
FUNCTIONS = {"tanh": lambda x: np.tanh(3 * x), "cube": lambda x: x ** 3 - x, "peak": lambda x: 1 / (1 + 7 * x * x), "root": lambda x: np.sqrt(np.abs(x))}
SIDES = [{39: 19, 45: 32, 21: 50}, {18: 17, 41: 30, 52: 55}, {35: 33, 28: 17, 17: 27}, {20: 40, 36: 24, 52: 56}]


@pytest.mark.parametrize("sides", SIDES, ids=str)
@pytest.mark.parametrize("is_both", [False, True], ids=["columns", "rows and columns"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_places_between_two_ends(thaw, save, tmp_path, name, is_both, sides):
    widths, of = UNSEEN | sides, FUNCTIONS[name]

    def build(h):
        net, x, r, c = image(h, widths[h], 8)
        down, across = (of(2 * i / max(n - 1, 1) - 1) for i, n in zip(cells(r, c), (r, c)))
        columns = [across, across * 2 + 0.3, across - 1, across * 0.7] + ([down, across + down, down * 3, across - down] if is_both else [])
        return net.model([1, CHANNELS, h, widths[h]], beside_table(net, x, np.stack(columns, -1).astype(np.float32)))
    seen = seen_of(thaw, save, tmp_path, build, list(sides), list(UNSEEN), within=1e-4)
    assert set(seen.values()) <= {"right", "guard"}, seen


def resized(grid, n, axis):
    """Linearly, with half-pixel coordinates, along one axis."""
    side = grid.shape[axis]
    at = np.clip((np.arange(n) + 0.5) * side / n - 0.5, 0, side - 1)
    low = np.minimum(np.floor(at).astype(int), side - 2)
    part = (at - low).reshape([-1 if k == axis else 1 for k in range(grid.ndim)])
    return np.take(grid, low, axis) * (1 - part) + np.take(grid, low + 1, axis) * part


@pytest.mark.parametrize("sides", [{39: 19, 45: 32, 21: 50}, {56: 61, 70: 45, 33: 79}], ids=str)
def test_learned_grids_are_still_found(thaw, save, tmp_path, sides):
    widths = UNSEEN | sides
    grid = np.random.default_rng(3).standard_normal((4, 4, 6))

    def build(h):
        net, x, r, c = image(h, widths[h], 8)
        table = resized(resized(grid, r, 0), c, 1).reshape(r * c, 6)
        return net.model([1, CHANNELS, h, widths[h]], beside_table(net, x, table.astype(np.float32)))
    seen = seen_of(thaw, save, tmp_path, build, list(sides), list(UNSEEN), within=1e-4)
    assert seen and set(seen.values()) <= {"right", "guard"}, seen
