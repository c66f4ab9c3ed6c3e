"""Traces whose tables are told by something of their positions: how far cells of two grids are apart, runs, what is a last bit off."""
import numpy as np
import pytest

from lift_kept_test import resized
from lift_tables import MIXED, check_loose, lift, raster  # noqa: F401 (a fixture)

LEARNED = np.random.default_rng(11).standard_normal((19, 19, 4)).astype(np.float32)


def clipped(n, m, step, most):
    """How far each of n places, `step` of them in one, is behind each of m."""
    return np.clip(np.arange(n)[:, None] // step - np.arange(m), -most, most) + most


def between_grids(h, w, t, step=3, most=3):
    """The entry of a table of clipped differences, for each cell of a grid and each of one that is `step` times as coarse."""
    rows, columns = clipped(h, h // step, step, most), clipped(w, w // step, step, most)
    index = rows[:, None, :, None] * (2 * most + 1) + columns[None, :, None, :]
    return dict(index=index.reshape(h * w, -1))


@pytest.mark.parametrize("step", [3, 2])
def test_cells_of_two_grids_by_how_far_they_are_apart(lift, step):
    """A side may be shorter than the differences that are told apart: they end at the table's own sizes, whatever gives these."""
    printed = check_loose(lift, lambda h, w, t: between_grids(h, w, t, step), sizes=[(25, 14), (16, 27), (35, 40)],
                          unseen=[(31, 17), (19, 23), (7, 12), (12, 38), (60, 14)])
    assert "row - column" in printed


def test_a_number_of_each_row_and_of_each_column_of_two_grids(lift):
    """The sum of a function of the rows and one of the columns, of which neither is a sum."""
    def make(h, w, t):
        down, across = (np.abs(np.arange(n)[:, None] // 2 - np.arange(n // 2)) for n in (h, w))
        return dict(apart=(down[:, None, :, None] * 7 + across[None, :, None, :] * 100).reshape(h * w, -1))
    check_loose(lift, make, sizes=MIXED, unseen=[(31, 17), (4, 6), (37, 5), (13, 44)])


def biases(h, w, t):
    """Learned biases of how far two cells are apart, interpolated for each size, behind those of a class token."""
    table = resized(LEARNED, 2 * h - 1, 2 * w - 1, "linear", "half_pixel")
    rows, columns = raster(h, w)
    inner = table[rows[:, None] - rows + h - 1, columns[:, None] - columns + w - 1]
    whole = np.empty((h * w + 1, h * w + 1, 4), np.float32)
    whole[0, :], whole[:, 0], whole[0, 0], whole[1:, 1:] = LEARNED[0, 0], LEARNED[3, 4], LEARNED[7, 2], inner
    return whole


@pytest.mark.parametrize("make", [lambda h, w, t: dict(cells=biases(h, w, t)[1:, 1:]), lambda h, w, t: dict(token=biases(h, w, t)),
                                  lambda h, w, t: dict(turned=biases(h, w, t).transpose(2, 0, 1)[None])],
                         ids=["cells", "behind_a_token", "heads_first"])
def test_biases_of_how_far_cells_are_apart(lift, make):
    printed = check_loose(lift, make, sizes=[(10, 10), (6, 9), (11, 4)], unseen=[(3, 5), (13, 7), (8, 12)], tolerance=1e-5)
    assert "by distances of the cells" in printed


def waves(n):
    """Fourier features (Jaegle et al. 2021, "Perceiver"): every step is rounded to float32, and the angles are large."""
    at = np.linspace(-1, 1, n, dtype=np.float32)[:, None]
    scaled = at * np.linspace(1, 16, 4, dtype=np.float32) * np.float32(np.pi)
    return np.concatenate([at, np.sin(scaled), np.cos(scaled)], -1)


def test_waves_of_large_angles_are_as_far_off_as_float32_makes_them(lift):
    check_loose(lift, lambda h, w, t: dict(down=waves(h), across=waves(w)), sizes=[(37, 50), (64, 71), (85, 43)],
                unseen=[(101, 53), (60, 48), (150, 39)], tolerance=4e-5)


def anchors(h, w, t):
    """Centres and extents of three boxes for each cell, computed of their corners: a last bit off here and there."""
    rows, columns = raster(h, w)
    centres = (np.stack([columns, rows], -1) * 15).astype(np.float32)
    halves = np.array([[1, 1], [1.4, 0.7], [0.7, 1.4]], np.float32) * 16
    low, high = ((centres[:, None] + sign * halves).reshape(-1, 2) for sign in (np.float32(-1), np.float32(1)))
    return dict(centres=(low + high) / 2, extents=high - low)


def test_what_is_a_last_bit_off(lift):
    made = anchors(11, 23, 1)
    assert np.any(made["centres"] != np.round(made["centres"]))
    check_loose(lift, anchors, sizes=MIXED, unseen=[(31, 17), (2, 2), (37, 5), (13, 44)], tolerance=4e-6)
