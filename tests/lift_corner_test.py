"""Tables along two axes that no formula gives: the corner of one larger table, also before positions that stay."""
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
