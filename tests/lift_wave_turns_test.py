"""Cosines and sines of shares of a grid's sides, as DETR adds them, in grids so small that faster waves along all cells give the same entries."""
import numpy as np
import pytest

from lift_alike_sides_test import CHANNELS, beside_table, cells, image
from lift_net import seen_of

UNSEEN = {13: 44, 21: 9, 38: 27, 50: 61, 85: 70}  # widths by height
COLUMNS = 4


def positions(r, c):
    """Carion et al. 2020, "End-to-End Object Detection with Transformers": rows before columns, shares of a side times 2 pi."""
    y, x = (np.float32(2 * np.pi) * (np.float32(i) + 1) / (np.float32(n) + np.float32(1e-6)) for i, n in zip(cells(r, c), (r, c)))
    speed = np.float32(10000) ** (2 * (np.arange(COLUMNS) // 2) / np.float32(COLUMNS)).astype(np.float32)
    angles = np.concatenate([y[:, None] / speed, x[:, None] / speed], -1)
    return np.where(np.arange(2 * COLUMNS) % 2, np.cos(angles), np.sin(angles))


def drawn(seed, count):
    random = np.random.default_rng(seed)
    while True:
        heights, widths = (random.choice(np.arange(9, 56), count, replace=False).tolist() for _ in range(2))
        sides = dict(zip(heights, widths))
        if len({-(-h // 8) for h in heights}) == len({-(-w // 8) for w in widths}) == count:
            return sides


@pytest.mark.parametrize("sides", [{33: 27, 24: 17, 19: 11}, *(drawn(seed, 3) for seed in range(8)), *(drawn(seed, 4) for seed in range(4))], ids=str)
def test_shares_of_small_grids(thaw, save, tmp_path, sides):
    widths = UNSEEN | sides

    def build(h):
        net, x, r, c = image(h, widths[h], 8)
        return net.model([1, CHANNELS, h, widths[h]], beside_table(net, x, positions(r, c)))
    seen = seen_of(thaw, save, tmp_path, build, list(sides), list(UNSEEN), within=1e-5)
    assert set(seen.values()) <= {"right", "guard"} and "right" in seen.values(), seen


@pytest.mark.parametrize("of", [np.sin, np.cos], ids=["sin", "cos"])
@pytest.mark.parametrize("turns", [1, 2, 4, 8])
@pytest.mark.parametrize("sides", [{64: 16, 34: 26, 79: 116}, {64: 32, 32: 64, 96: 120}], ids=str)
def test_waves_of_many_turns(thaw, save, tmp_path, of, turns, sides):
    """Of few columns a wave of several turns is 0 everywhere in most traces (Mildenhall et al. 2020, "NeRF")."""
    widths = UNSEEN | sides

    def build(h):
        net, x, r, c = image(h, widths[h], 8)
        table = np.stack([of(2 * np.pi * turns * (i + 1) / n) for i, n in zip(cells(r, c), (r, c))], -1)
        return net.model([1, CHANNELS, h, widths[h]], beside_table(net, x, table))
    seen = seen_of(thaw, save, tmp_path, build, list(sides), list(UNSEEN), within=1e-4)
    assert set(seen.values()) <= {"right", "guard"}, seen
