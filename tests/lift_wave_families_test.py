"""thaw lift: cosines and sines of places in a grid, as DETR and its kin fold them, whose slow columns the traces hardly show turning."""
import math

import numpy as np
import pytest

from conftest import session
from lift_net import Net, up

TRACES, UNSEEN = [(133, 110), (96, 70), (74, 145)], [(71, 107), (128, 128), (251, 400), (40, 33)]
SQUARES = [(128, 128), (96, 96), (160, 160)]
CHOSEN = [(224, 224), (256, 320), (320, 288)]
STRIDE = 8


def waves(places, rates, in_pairs):
    angles = (places.astype(np.float32)[:, None] * rates.astype(np.float32)).astype(np.float32)
    both = np.sin(angles), np.cos(angles)
    return np.stack(both, 2).reshape(len(places), -1) if in_pairs else np.concatenate(both, 1)


def table(h, w, width, of, base=10000.0, in_pairs=True, height=1.0):
    """Half of the columns for the rows, then half for the columns. of(side, both): the places of a side."""
    rates = base ** -(np.arange(width // 4) / (width // 4))
    rows, columns = (waves(of(side, (h, w)), rates, in_pairs) for side in (h, w))
    cells = [np.broadcast_to(rows[:, None], (h, w, width // 2)), np.broadcast_to(columns[None], (h, w, width // 2))]
    return (np.concatenate(cells, 2) * np.float32(height)).astype(np.float32)


def shares(one, more, scale):
    """Steps of an axis as shares of it, as DETR has it: more than none in float32 to divide by."""
    return lambda n, both: (np.arange(n, dtype=np.float32) + np.float32(one)) / np.float32(n + more) * np.float32(scale)


def of_longer(n, both):
    return ((np.arange(n, dtype=np.float32) + np.float32(0.5)) / np.float32(max(both)) * 2 - 1) * np.float32(2 * math.pi)


KINDS = {
    "detr": dict(of=shares(1, 1e-6, 2 * math.pi)),
    "half_a_turn": dict(of=shares(1, 1e-6, math.pi)),
    "halves": dict(of=shares(1, 1e-6, 2 * math.pi), in_pairs=False),
    "tenths": dict(of=shares(1, 1e-6, 2 * math.pi), in_pairs=False, height=0.1),
    "starts": dict(of=shares(0, 0, 1)),
    "centres": dict(of=shares(0.5, 0, 2 * math.pi)),
    "deformable": dict(of=shares(0.5, 1e-6, 2 * math.pi)),
    "longer_side": dict(of=of_longer, base=100.0, in_pairs=False),
    "index": dict(of=lambda n, both: np.arange(n)),
    "two_frequencies": dict(of=lambda n, both: np.arange(n), base=1e9),
    "index_of_half_height": dict(of=lambda n, both: np.arange(n), height=0.5),
}


def trace(height, width, columns, kind, is_map):
    """A grid of features, and its positions: as a map or as a list."""
    h, w = up(height, STRIDE), up(width, STRIDE)
    cells = table(h, w, columns, **KINDS[kind])
    net = Net()
    weights = net.constant(np.random.default_rng(0).standard_normal((columns, 3, 3, 3)).astype(np.float32) / 10)
    x = net.add("Conv", "x", weights, kernel_shape=[3, 3], strides=[STRIDE] * 2, pads=[1, 1, 1, 1])
    if is_map:
        return net.model([1, 3, height, width], net.add("Add", x, net.constant(np.ascontiguousarray(cells.transpose(2, 0, 1))[None])))
    rows = net.add("Transpose", net.add("Reshape", x, net.ints(1, columns, -1)), perm=[0, 2, 1])
    return net.model([1, 3, height, width], net.add("Add", rows, net.constant(cells.reshape(1, h * w, columns))))


def seen_at(thaw, save, tmp_path, traces, *of, unseen=UNSEEN):
    """Of each unseen size, whether the lifted model is right there, or the guard ends it; nothing where it is refused."""
    paths = [save(trace(*size, *of), f"trace_{i}") for i, size in enumerate(traces)]
    out = tmp_path / "lifted.onnx"
    if thaw("lift", *paths, "-o", out, code={0, 1}).returncode:
        return None
    run, seen = session(out), {}
    for size in unseen:
        x = np.random.default_rng(size[0]).standard_normal((1, 3, *size), dtype=np.float32)
        wanted = session(trace(*size, *of)).run(None, {"x": x})[0]
        try:
            seen[size] = np.abs(run.run(None, {"x": x})[0] - wanted).max() < 2e-5
        except Exception as error:
            assert "guard" in str(error), error
            seen[size] = "guard"
    return seen


@pytest.mark.parametrize("is_map", [False, True], ids=["list", "map"])
@pytest.mark.parametrize("columns", [16, 64, 256])
@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"two_frequencies"}))
def test_slow_ones_follow_from_fast_ones(thaw, save, tmp_path, kind, columns, is_map):
    assert seen_at(thaw, save, tmp_path, TRACES, columns, kind, is_map) == dict.fromkeys(UNSEEN, True)


@pytest.mark.parametrize("traces", [SQUARES, CHOSEN, TRACES[:2]], ids=["squares", "chosen", "two"])
@pytest.mark.parametrize("kind", KINDS)
def test_of_any_traces_it_is_right_or_guarded_or_not_written(thaw, save, tmp_path, kind, traces):
    seen = seen_at(thaw, save, tmp_path, traces, 64, kind, False)
    assert seen is None or set(seen.values()) <= {True, "guard"}, seen


WIDER = [(64, 96), (48, 128), (80, 104)]


@pytest.mark.parametrize("is_map", [False, True], ids=["list", "map"])
@pytest.mark.parametrize("kind", ["longer_side", "detr", "centres"])
@pytest.mark.parametrize("traces", [WIDER, [size[::-1] for size in WIDER]], ids=["wider", "taller"])
def test_one_axis_tells_whether_places_are_over_the_longer_side(thaw, save, tmp_path, traces, kind, is_map):
    """One side is the longer in every trace, and its own length and that of the longer side are one number there."""
    seen = seen_at(thaw, save, tmp_path, traces, 32, kind, is_map, unseen=[(56, 88), (88, 56), (296, 48), (48, 296), (104, 232)])
    assert seen and set(seen.values()) == {True}, seen


def cosines_and_ones(h, w, width, **_):
    """Cosines of rows, of a written base, and columns of 1 behind them, which slower cosines of another written base would be as well."""
    angles = np.arange(h, dtype=np.float32)[:, None] * (10.0 ** -np.arange(4)).astype(np.float32)
    rows = np.concatenate([np.cos(angles), np.ones((h, width - 4), np.float32)], 1)
    return np.ascontiguousarray(np.broadcast_to(rows[:, None], (h, w, width)), np.float32)


@pytest.mark.parametrize("is_map", [False, True], ids=["list", "map"])
@pytest.mark.parametrize("columns", [5, 6, 8])
def test_where_a_family_ends_is_not_guessed(thaw, save, tmp_path, monkeypatch, columns, is_map):
    monkeypatch.setitem(globals(), "table", cosines_and_ones)
    seen = seen_at(thaw, save, tmp_path, TRACES, columns, "index", is_map, unseen=[*UNSEEN, (8001, 24)])
    assert seen is None or set(seen.values()) <= {True, "guard"}, seen


@pytest.mark.parametrize("is_map", [False, True], ids=["list", "map"])
@pytest.mark.parametrize("kind", ["two_frequencies", "detr", "index"])
@pytest.mark.parametrize("columns", [8, 64])
def test_a_wave_that_turns_too_slowly_is_no_constant(thaw, save, tmp_path, kind, columns, is_map):
    """Far behind the traces, where slow ones turn too."""
    seen = seen_at(thaw, save, tmp_path, TRACES, columns, kind, is_map, unseen=[(8001, 24), (24, 8001)])
    assert seen is None or set(seen.values()) <= {True, "guard"}, seen
