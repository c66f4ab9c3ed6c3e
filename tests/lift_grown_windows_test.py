"""thaw lift of windows that grow with the image: what an MLP's first layer makes of distances, and masks of windows over the edge."""
import numpy as np
import pytest

from lift_tables import PRIMES, check_loose, lift, loose  # noqa: F401

UNSEEN = [(31, 17), (2, 2), (37, 5), (13, 43), (8, 6), (3, 2)]
RNG = np.random.default_rng(11)


def distances(n, scaling):
    at = np.arange(1 - n, n, dtype=np.float32)
    if scaling == "farthest":
        at *= np.float32(8) / np.float32(n - 1)
    elif scaling == "learned window":
        at *= np.float32(8) / np.float32(11)
    return (np.sign(at) * np.log1p(np.abs(at))).astype(np.float32)


def coordinates(h, w, scaling):
    return np.stack(np.meshgrid(distances(h, scaling), distances(w, scaling), indexing="ij"), -1)


@pytest.mark.parametrize("width", [24, 400])
@pytest.mark.parametrize("scaling", ["one", "farthest", "learned window"])
@pytest.mark.parametrize("added", [False, True])
def test_what_a_layer_makes_of_distances(lift, scaling, width, added):
    weights = RNG.standard_normal((2, width)).astype(np.float32)
    bias = RNG.standard_normal(width).astype(np.float32) * added

    def make(h, w, t):
        return dict(table=(coordinates(h, w, scaling) @ weights + bias)[None])
    printed = check_loose(lift, make, sizes=PRIMES, unseen=UNSEEN, tolerance=4e-6)
    assert f"{width} learned combinations of" in " ".join(printed.split())


def test_what_a_layer_makes_of_places_between_0_and_1(lift):
    weights = RNG.standard_normal((2, 32)).astype(np.float32)
    bias = RNG.standard_normal(32).astype(np.float32)

    def make(h, w, t):
        places = np.stack(np.meshgrid((np.arange(h) + 0.5) / h, (np.arange(w) + 0.5) / w, indexing="ij"), -1)
        return dict(table=(places.astype(np.float32) @ weights + bias)[None])
    check_loose(lift, make, sizes=PRIMES, unseen=UNSEEN, tolerance=4e-6)


@pytest.mark.parametrize("curve", [lambda table: np.maximum(table, 0), lambda table: np.tanh(table)])
def test_what_more_than_one_layer_makes_is_not_guessed(lift, curve):
    weights = RNG.standard_normal((2, 24)).astype(np.float32)
    bias = RNG.standard_normal(24).astype(np.float32)
    tables = {(h, w): dict(table=curve(coordinates(h, w, "farthest") @ weights + bias)) for h, w in PRIMES}
    out, printed = lift({size: loose(*size, 1, table) for size, table in tables.items()}, code=1)
    assert "unexplained" in printed and "table" in printed
    assert not out.exists()


def test_a_column_that_goes_its_own_way_is_not_rounded_away(lift):
    """A 2,000th of the others: too much for a rounding, too little to tell what curve it is."""
    weights = RNG.standard_normal((2, 24)).astype(np.float32)

    def make(h, w):
        table = coordinates(h, w, "one") @ weights
        table[..., 5] += 5e-4 * np.random.default_rng(h).standard_normal(table.shape[:2])
        return dict(table=table.astype(np.float32))
    out, _ = lift({size: loose(*size, 1, make(*size)) for size in PRIMES}, code=1)
    assert not out.exists()


def mask(h, w, down, across):
    """Windows of h x w at the lower edge, the right edge, the corner and inside; rolled by so many rows and columns."""
    rows, columns = np.repeat(np.arange(h), w), np.tile(np.arange(w), h)
    below, right = rows >= h - down, columns >= w - across
    apart = [np.zeros((h * w, h * w), bool), below[:, None] != below, right[:, None] != right,
             (below[:, None] != below) | (right[:, None] != right)]
    return np.where(np.stack(apart)[None, :, None], -100, 0).astype(np.float32)


def test_masks_of_windows_that_grow(lift):
    check_loose(lift, lambda h, w, t: dict(mask=mask(h, w, h // 2, w // 2)), sizes=[(3, 7), (5, 4), (8, 3)],
                unseen=[(7, 3), (2, 2), (4, 9), (1, 6), (11, 5)])


def test_cuts_that_no_size_gives_are_not_guessed(lift):
    cuts = {(5, 7): (1, 3), (11, 4): (7, 2), (8, 9): (3, 4)}
    out, printed = lift({size: loose(*size, 1, dict(mask=mask(*size, *cut))) for size, cut in cuts.items()}, code=1)
    assert "mask" in printed and not out.exists()
