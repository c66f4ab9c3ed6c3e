"""thaw lift: tables with several axes that grow."""
import numpy as np

from lift_tables import FREQUENCIES, MIXED, check_primes, far, lift, raster  # noqa: F401 (lift: a fixture)

LOWEST = np.float32(np.finfo(np.float32).min)


def test_causal_masks(lift):
    def make(h, w, t):
        n = h * w // 7
        d = far(n, n)
        return dict(allowed=d >= 0, added=np.where(d >= 0, 0, LOWEST).astype(np.float32)[None, None],
                    infinite=np.where(d < 0, -np.inf, 0).astype(np.float32), strict=(d > 0)[None], upper=np.triu(np.ones((n, n), np.int64)),
                    rectangular=far(h, w) >= 0, at_the_end=far(h, h + w) + w >= 0,
                    half=np.where(d >= 0, 0, np.finfo(np.float16).min).astype(np.float16))
    check_primes(lift, make, sizes=[(11, 23), (16, 31), (35, 19)], unseen=[(31, 17), (7, 2), (37, 5), (13, 43)])


def test_a_first_column_that_all_see(lift):
    """The streams of ProphetNet: what is before a position, and the first one."""
    def make(h, w, t):
        n = h * w
        apart = far(n, n)
        mask = np.where((apart > 0) | (np.arange(n) == 0), np.float32(0), np.float32(-1e4))
        own = np.where(apart == 0, np.float32(0), np.float32(-1e4))
        return dict(mask=mask, later=((apart > 1) | (np.arange(n) == 0)), beside=np.concatenate([mask, own], 1))
    check_primes(lift, make, sizes=[(3, 5), (4, 7), (2, 11)], unseen=[(1, 2), (5, 7), (3, 13)])


def test_sliding_windows_and_identity(lift):
    def make(h, w, t):
        n = h * w // 5
        d = far(n, n)
        return dict(sliding=(d >= 0) & (d < 13), both_ways=np.where(np.abs(d) <= 4, 0, -np.inf).astype(np.float32)[None, None],
                    identity=np.eye(n, dtype=np.float32), one_hot=np.eye(h, w, dtype=np.int64), unlike=~np.eye(w, dtype=bool))
    check_primes(lift, make, sizes=MIXED, unseen=[(31, 17), (5, 2), (37, 5), (13, 43), (3, 5)])


def test_boards_of_two_sides(lift):
    """What comes again along both axes counts from the diagonal, also where all traces are as wide but for whole repeats."""
    def make(h, w, t):
        board = far(h, w) % 2
        return dict(board=board, signs=(1 - 2 * board).astype(np.float32), dark=board == 1, apart=np.abs(far(h, w)) % 3)
    check_primes(lift, make, sizes=[(11, 24), (17, 32), (29, 18)], unseen=[(31, 17), (2, 2), (37, 5), (13, 43)])


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


def test_sums_and_products_of_two_axes(lift):
    def make(h, w, t):
        i, j = np.arange(h)[:, None], np.arange(w)
        tenth = np.float32(0.1)
        return dict(index=i * w + j, scaled=(3 * i - 2 * j + 5).astype(np.int32)[None], relative=far(h, h) + h - 1,
                    apart=np.abs(far(w, w)), outer=(np.float32(.5) * (i + 1)) * np.cos(tenth * j, dtype=np.float32),
                    bias=-np.abs(far(w, w))[None] * np.array([.5, .25, .125], np.float32)[:, None, None],
                    clipped=np.clip(far(w, w), -8, 8) + 8, zeros=np.zeros((h, w, 4), np.float32), true=np.ones((1, 1, h, w), bool),
                    grid=np.stack([np.repeat(i, w, 1), np.repeat(j[None], h, 0)], -1))
    check_primes(lift, make, sizes=MIXED)


def test_positions_on_several_axes(lift):
    def make(h, w, t):
        rows, columns = np.meshgrid(np.arange(h), np.arange(w), indexing="ij")
        angles = np.concatenate([rows[..., None] * FREQUENCIES, columns[..., None] * FREQUENCIES], -1).astype(np.float32)
        shape = np.zeros((t, h, w), np.int64)
        return dict(angles=angles, cos=np.cos(angles), first=np.cos(angles).transpose(2, 0, 1)[None],
                    all=shape + np.arange(t)[:, None, None] * 1000 + np.arange(h)[:, None] * w + np.arange(w),
                    mask=(far(w, w) >= 0)[None] & np.ones((h, 1, 1), bool))
    check_primes(lift, make, sizes=[(11, 23, 2), (17, 31, 3), (29, 19, 5)], unseen=[(31, 17, 7), (2, 2, 1), (37, 5, 2)], tolerance=2e-5)


def test_a_column_whose_steps_are_no_larger_than_a_rounding(lift):
    """It stays the same from each entry to the next, all but, and not from the first to the last."""
    def make(h, w, t):
        slow = np.broadcast_to(1 - 1.5e-6 * np.arange(w), (h, w))
        return dict(table=np.stack([np.broadcast_to(np.arange(h)[:, None], (h, w)), slow], -1).astype(np.float32))
    check_primes(lift, make)
