"""thaw lift: cosines so slow that they are 1 in every trace are no constants, and what nothing tells of them is not made up."""
import numpy as np
import pytest

from conftest import session
from lift_net import Net

TRACES, BEYOND = (19, 34, 53), (7, 499, 4001)


def all_at_once(n, base, width):
    """Each frequency twice, as text has it."""
    f = (base ** (-np.arange(width // 2) * 2 / width)).astype(np.float32)
    return np.tile(np.arange(n, dtype=np.float32)[:, None] * f, 2)


def in_sections(n, base, width, side=4):
    """Rows and columns of a grid and frames take a part of one family of frequencies each (mRoPE)."""
    f = (base ** (-np.arange(width // 2) * 2 / width)).astype(np.float32)
    row, frame = np.arange(n) // side, np.arange(n)
    third = width // 8
    places = [frame] * third + [row] * third + [frame] * (width // 2 - 2 * third)
    return np.tile((np.stack(places, 1).astype(np.float32) * f).astype(np.float32), 2)


def partial(n, base, width):
    """Half of the columns turn, the others are 1."""
    return np.concatenate([all_at_once(n, base, width // 2), np.zeros((n, width // 2), np.float32)], 1)


def trace(n, angles, base, width):
    net = Net()
    return net.model([n, width], net.add("Mul", "x", net.constant(np.cos(angles(n, base, width)).astype(np.float32))))


@pytest.mark.parametrize("angles", [all_at_once, in_sections, partial], ids=lambda f: f.__name__)
@pytest.mark.parametrize("base", [1e4, 5e5, 1e6, 1e7])
@pytest.mark.parametrize("width", [16, 32, 64])
def test_far_behind_the_traces_it_is_right_or_not_written(thaw, save, tmp_path, angles, base, width):
    out = tmp_path / "lifted.onnx"
    is_one_family = angles is not in_sections  # of one coordinate: all of it is known
    paths = [save(trace(n, angles, base, width), f"trace_{n}") for n in TRACES]
    thaw("lift", *paths, "-o", out, code=0 if is_one_family else {0, 1})
    if not out.exists():
        return
    run = session(out)
    for n in BEYOND:
        try:
            got = run.run(None, {"x": np.ones((n, width), np.float32)})[0]
        except Exception:
            assert not is_one_family and n > max(TRACES)  # known up to the largest trace
            continue
        assert np.abs(got - np.cos(angles(n, base, width))).max() <= 1e-4, n
