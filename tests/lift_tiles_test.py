"""thaw lift of learned entries that are laid side by side over a grid or a list: embeddings of the places in a window."""
import numpy as np

from lift_tables import check_loose, lift, loose  # noqa: F401

RNG = np.random.default_rng(23)
TILE, LIST = RNG.standard_normal((3, 4, 5)).astype(np.float32), RNG.standard_normal((7, 6)).astype(np.float32)


def tiled(h, w):
    return TILE[np.arange(h)[:, None] % 3, np.arange(w) % 4]


def test_a_tile_over_a_grid(lift):
    """Channels last and first; the last tile of each side may be cut."""
    printed = check_loose(lift, lambda h, w, t: dict(last=tiled(h, w)[None], first=np.ascontiguousarray(tiled(h, w).transpose(2, 0, 1))),
                          sizes=[(6, 16), (9, 8), (13, 11)], unseen=[(15, 4), (2, 2), (17, 31), (1, 3)])
    assert "kept entries of 3 x 4, again and again" in " ".join(printed.split())


def test_a_tile_over_a_list(lift):
    check_loose(lift, lambda h, w, t: dict(table=LIST[np.arange(h * w) % 7]), sizes=[(3, 5), (7, 4), (5, 9)],
                unseen=[(2, 2), (13, 7), (1, 3)])


def test_what_comes_again_along_one_side_alone_is_not_guessed(lift):
    rows = RNG.standard_normal((40, 4, 5)).astype(np.float32)

    def make(h, w):
        return dict(table=rows[np.arange(h)[:, None] + h, np.arange(w) % 4])
    out, printed = lift({size: loose(*size, 1, make(*size)) for size in [(6, 16), (9, 8), (13, 11)]}, code=1)
    assert "unexplained" in printed and not out.exists()


def test_an_entry_that_is_another_is_not_rounded_away(lift):
    def make(h, w):
        table = tiled(h, w).copy()
        table[h - 1, w - 1, 0] += 1e-4
        return dict(table=table)
    out, printed = lift({size: loose(*size, 1, make(*size)) for size in [(6, 16), (9, 8), (13, 11)]}, code=1)
    assert "unexplained" in printed and not out.exists()
