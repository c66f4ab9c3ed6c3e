"""thaw lift: tables of windows with ragged edges, their lengths and their masks."""
import numpy as np
import pytest

from lift_tables import FREQUENCIES, WINDOW_GRIDS, WINDOW_UNSEEN, blocks, check_loose, lift, patches_of, windows  # noqa: F401 (lift: a fixture)


def window_tables(h, w, t):
    index, lengths = windows(h // 2, w // 2, 4, t)
    return dict(index=index, inverse=np.argsort(index), patches=patches_of(index).astype(np.int32),
                patch_inverse=np.argsort(patches_of(index))[None])


def test_indices_of_windows(lift):
    printed = check_loose(lift, window_tables, unseen=WINDOW_UNSEEN)
    assert "windows of 4 x 4 in a grid" in printed


def test_windows_of_single_patches(lift):
    def make(h, w, t):
        index, lengths = windows(h, w, 7, t)
        return dict(index=index, inverse=np.argsort(index), lengths=lengths)
    check_loose(lift, make, unseen=[(17, 29), (29, 17), (3, 5), (7, 7)])


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
    printed = check_loose(lift, make, unseen=WINDOW_UNSEEN)
    assert "lengths of windows of 8 x 8" in printed
    check_loose(lift, make, sizes=[(18, 26), (22, 30, 2), (24, 32)], unseen=[*WINDOW_UNSEEN, (22, 30, 3)])


def test_windows_of_a_sequence(lift):
    def make(h, w, t):
        n = h * w
        lengths = np.array([104] * (n // 104) + [n % 104] * (n % 104 > 0))
        return dict(lengths=lengths, sums=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    printed = check_loose(lift, make, unseen=[(2, 2), (8, 13), (13, 16), (7, 89), (30, 22)])
    assert "windows of 104 of num_patches" in printed


@pytest.mark.parametrize("width", [20, 64])
def test_padding_of_blocks(lift, width):
    """A mask over positions in rows of one width: where it begins in the last row is another in every trace, which a column alone does not tell."""
    def make(h, w, t):
        n, count = h * w, -(-h * w // width)
        return dict(mask=(np.arange(count * width) >= n).reshape(count, 1, 1, width),
                    bias=np.where(np.arange(count * width) >= n, np.float32(-1e9), np.float32(0)).reshape(count, width))
    printed = check_loose(lift, make, unseen=[(2, 2), (8, 13), (13, 16), (7, 89), (30, 22), (64, 20)])
    assert f"rows of {width}: 0 below num_patches, then 1" in printed


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


def test_masks_between_ragged_windows(lift):
    def make(h, w, t):
        index, lengths = windows(h // 2, w // 2, 4, t)
        in_order = np.repeat(np.arange(len(lengths)), lengths * 4)
        of_unit = np.argsort(index)
        raster_order = np.repeat(np.arange(len(lengths)), lengths)[of_unit]
        return dict(in_order=in_order[:, None] == in_order, units=np.where(raster_order[:, None] == raster_order, 0, -1e9).astype(np.float32)[None])
    check_loose(lift, make, sizes=[(10, 14), (12, 22, 2), (18, 10)], unseen=[(22, 12), (2, 2), (8, 8), (6, 26), (10, 14, 2), (6, 10, 3)])
