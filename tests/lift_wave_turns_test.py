"""Cosines and sines of shares of a grid's sides, as DETR adds them, in grids so small that other waves give the same entries."""
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


PLACES = {
    "centres from -1": lambda i, n: (i + 0.5) / n * 2 - 1,
    "ends from -1": lambda i, n: i / max(n - 1, 1) * 2 - 1,
    "centres": lambda i, n: (i + 0.5) / n,
    "starts": lambda i, n: i / n,
    "counts": lambda i, n: (i + 1) / n,
}


def drawn_waves(seed):
    """Where the cells are, their angular frequencies, and the traces' sides."""
    random = np.random.default_rng(seed)
    place = list(PLACES)[random.integers(len(PLACES))]
    first, times = random.choice([np.pi / 2, np.pi, 2 * np.pi, 1.0, 3.0, 10.0]), random.choice([1.5, 2.0, 3.0])
    return place, [first * times ** k for k in range(random.integers(1, 5))], drawn(seed, random.integers(3, 5))


def seen_of_waves(thaw, save, tmp_path, place, frequencies, sides):
    widths = UNSEEN | sides

    def build(h):
        net, x, r, c = image(h, widths[h], 8)
        y, across = (PLACES[place](i, n) for i, n in zip(cells(r, c), (r, c)))
        table = np.stack([of(f * at) for f in frequencies for at in (across, y) for of in (np.sin, np.cos)], -1)
        return net.model([1, CHANNELS, h, widths[h]], beside_table(net, x, table.astype(np.float32)))
    return seen_of(thaw, save, tmp_path, build, list(sides), list(UNSEEN), within=2e-3)


@pytest.mark.parametrize("seed", range(40))
def test_drawn_waves(thaw, save, tmp_path, seed):
    """Sampled too few times to tell, they are refused."""
    seen = seen_of_waves(thaw, save, tmp_path, *drawn_waves(seed))
    assert set(seen.values()) <= {"right", "guard"}, seen


@pytest.mark.parametrize("place", PLACES)
def test_waves_of_few_turns(thaw, save, tmp_path, place):
    """The cosines of 5 rows and 7 columns are those of faster waves, too. The sines beside them tell."""
    seen = seen_of_waves(thaw, save, tmp_path, place, [np.pi / 2, np.pi, 2 * np.pi], {35: 50, 52: 37, 20: 79})
    assert set(seen.values()) == {"right"}, seen


def test_octaves_that_give_each_others_entries(thaw, save, tmp_path):
    """Between the ends of 10, 7 and 15 columns cos(16 pi x) is cos(2 pi x) everywhere, and both are in the table."""
    seen = seen_of_waves(thaw, save, tmp_path, "ends from -1", [np.pi * 2 ** k for k in range(6)], {64: 80, 104: 56, 48: 120})
    assert set(seen.values()) <= {"right", "guard"}, seen
