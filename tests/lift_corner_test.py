"""Tables along two axes that no formula gives: a part of one larger table, as its corner, also before positions that stay, or its middle."""
import numpy as np
import pytest

from lift_left_out_test import lifted
from lift_net import Net

HEADS, LONGEST = 2, 30
LEARNED = np.random.default_rng(5).standard_normal((HEADS, LONGEST + 5, LONGEST + 5)).astype(np.float32)


def biased(n, table):
    """Scores [1, heads, n, n] and the table."""
    net = Net()
    return net.model([1, HEADS, n, n], net.add("Add", "x", net.constant(table[None])))


def corner(n):
    return LEARNED[:, :n, :n]


def before(n, behind):
    """n positions and `behind` others after them."""
    at = np.concatenate([np.arange(n - behind), LONGEST + np.arange(behind)])
    return LEARNED[:, at][:, :, at]


@pytest.mark.parametrize("make", [corner, lambda n: before(n, 3)], ids=["corner", "before_others"])
def test_the_corner_of_a_kept_table(thaw, save, tmp_path, make):
    run = lifted(thaw, save, tmp_path, {str(n): biased(n, make(n)) for n in (8, 20, 13)})
    for n in (8, 13, 20, 4, 17):
        x = np.random.default_rng(n).standard_normal((1, HEADS, n, n), dtype=np.float32)
        assert np.abs(run.run(None, {"x": x})[0] - x - make(n)).max() < 1e-6, n
    for n in (21, 22, 25, 40):
        with pytest.raises(Exception, match="guard_Reshape"):
            run.run(None, {"x": np.ones((1, HEADS, n, n), np.float32)})


def test_how_many_positions_stay_is_not_guessed(thaw, save, tmp_path):
    """The last of those that grow is the same in every trace: whether it is one that stays, nothing tells."""
    def table(n):
        grows = np.arange(n - 3)
        at = np.concatenate([np.where(np.isin(grows, [4, 9, 16]), LONGEST - 1, grows), LONGEST + np.arange(3)])
        return LEARNED[:, at][:, :, at]
    paths, out = [save(biased(n, table(n)), f"trace_{n}") for n in (8, 20, 13)], tmp_path / "lifted.onnx"
    said = thaw("lift", *paths, "-o", out, code=1)
    assert "nothing was written" in said.stdout + said.stderr and not out.exists()


def test_a_table_that_changes_with_its_size_is_no_corner(thaw, save, tmp_path):
    paths = [save(biased(n, corner(n) + np.float32(n % 3 == 1) * np.float32(1e-3)), f"trace_{n}") for n in (8, 20, 13)]
    said = thaw("lift", *paths, "-o", tmp_path / "lifted.onnx", code=1)
    assert "nothing was written" in said.stdout + said.stderr


POSITIONS = np.random.default_rng(6).standard_normal((41, 44, 3)).astype(np.float32)


def image(h, w, table):
    """Channels [1, h, w, 3] and the table."""
    net = Net()
    return net.model([1, h, w, 3], net.add("Add", "x", net.constant(table)))


def middle(h, w, sides=(41, 44)):
    """Positions cut from the middle of more (PatchEmbed of Stable Diffusion 3)."""
    top, left = ((side - n) // 2 for side, n in zip(sides, (h, w), strict=True))
    return POSITIONS[top:top + h, left:left + w]


def last(h, w):
    return POSITIONS[41 - h:, 44 - w:]


def corner_of(h, w):
    return POSITIONS[:h, :w]


@pytest.mark.parametrize("part", [middle, last, corner_of])
@pytest.mark.parametrize("sizes", [[(9, 14), (14, 7), (20, 11)], [(9, 14), (14, 17), (12, 10)]], ids=["none_is_largest", "one_is_largest"])
def test_a_part_of_a_kept_table(thaw, save, tmp_path, part, sizes):
    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": image(h, w, part(h, w)) for h, w in sizes})
    for h in range(5, 23):
        for w in range(6, 19):
            x = np.random.default_rng(h).standard_normal((1, h, w, 3), dtype=np.float32)
            if any(h <= rows and w <= columns for rows, columns in sizes):
                assert np.abs(run.run(None, {"x": x})[0] - x - part(h, w)).max() < 1e-6, (h, w)
            else:
                with pytest.raises(Exception, match="guard_Reshape"):
                    run.run(None, {"x": x})


@pytest.mark.parametrize("sides", [(40, 44), (41, 43)])
def test_sides_that_are_all_even_leave_open_where_the_middle_is(thaw, save, tmp_path, sides):
    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": image(h, w, middle(h, w, sides)) for h, w in [(8, 14), (14, 6), (20, 10)]})
    for h, w in [(6, 6), (12, 10), (20, 8), (14, 4)]:
        x = np.random.default_rng(h).standard_normal((1, h, w, 3), dtype=np.float32)
        assert np.abs(run.run(None, {"x": x})[0] - x - middle(h, w, sides)).max() < 1e-6, (h, w)
    for h, w in [(7, 6), (12, 9), (13, 5)]:
        with pytest.raises(Exception, match="guard_Reshape"):
            run.run(None, {"x": np.ones((1, h, w, 3), np.float32)})


def test_parts_that_differ_are_none(thaw, save, tmp_path):
    """Each is as the largest is, and two of them are not as each other."""
    def table(h, w):
        out = np.array(corner_of(h, w))
        if h == 14:
            out[12:, :6] += np.float32(0.5)  # that the widest one has no rows for
        return out
    paths = [save(image(h, w, table(h, w)), f"trace_{h}x{w}") for h, w in [(11, 40), (14, 7), (20, 8)]]
    assert "nothing was written" in thaw("lift", *paths, "-o", tmp_path / "lifted.onnx", code=1).stdout
