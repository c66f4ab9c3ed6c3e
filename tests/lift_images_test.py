"""Traces of two images, whose grids are the lines of one input: a part of each table, and of each list of windows, for each."""
import json

import numpy as np
import pytest

from conftest import session
from lift_net import Net

WIDTH, MERGE, WINDOW = 4, 2, 2  # channels, patches in a block, blocks in a window
TRACES = [[(1, 6, 10), (1, 14, 4)], [(1, 10, 14), (1, 8, 22)], [(1, 4, 18), (1, 26, 6)]]
UNSEEN = [[(1, 22, 34), (1, 2, 26)], [(1, 2, 2), (1, 38, 14)], [(1, 14, 4), (1, 6, 10)]]
FRAMES = [[(2, 6, 10), (1, 14, 4)], [(3, 10, 14), (2, 8, 22)], [(4, 4, 18), (3, 26, 6)]]
UNSEEN_FRAMES = [[(5, 22, 6), (1, 2, 26)], [(1, 2, 2), (7, 10, 14)]]


def blocks(h, w):
    """Row and column of each patch, block by block."""
    at = np.stack(np.meshgrid(np.arange(h), np.arange(w), indexing="ij"), -1)
    return at.reshape(h // MERGE, MERGE, w // MERGE, MERGE, 2).transpose(0, 2, 1, 3, 4).reshape(-1, 2)


def angles(grid):
    parts = [np.tile(blocks(h, w), (t, 1)) for t, h, w in grid]
    place = np.concatenate(parts)[:, :, None] * np.array([1, 0.125])
    return np.cos(place).reshape(-1, WIDTH).astype(np.float32)


def windows_of(h, w):
    """The blocks of a frame, window by window."""
    index = np.arange(h // MERGE * (w // MERGE)).reshape(h // MERGE, w // MERGE)
    return [index[i:i + WINDOW, j:j + WINDOW].reshape(-1) for i in range(0, h // MERGE, WINDOW) for j in range(0, w // MERGE, WINDOW)]


def order(grid):
    """Where each block of the order by windows stands among those row by row, and how many patches each window has."""
    index, lengths, before = [], [], 0
    for t, h, w in grid:
        for _ in range(t):
            own = windows_of(h, w)
            index += [window + before for window in own]
            lengths += [len(window) * MERGE**2 for window in own]
            before += h * w // MERGE**2
    return np.concatenate(index), lengths


def expected(x, grid):
    index, lengths = order(grid)
    x = (x * angles(grid)).reshape(-1, MERGE**2, WIDTH)[index].reshape(-1, WIDTH)
    x = np.concatenate([part - part.max(0) for part in np.split(x, np.cumsum(lengths)[:-1])])
    frames = [h * w for t, h, w in grid for _ in range(t)]
    return np.concatenate([part * part.max(0) for part in np.split(x, np.cumsum(frames)[:-1])])


def pieces(net, x, lengths, op):
    """A branch for each piece, in the shape that attention gives it: its length is among what a Reshape makes."""
    split = net.add("Split", x, net.ints(*lengths), axis=0)
    net.nodes[-1].output.extend(f"{split}_{i}" for i in range(1, len(lengths)))
    made = []
    for i, length in enumerate(lengths):
        part = split if i == 0 else f"{split}_{i}"
        part = net.add("Reshape", part, net.ints(1, -1, length, WIDTH))
        part = net.add(op, part, net.add("ReduceMax", part, net.ints(2), keepdims=1))
        made.append(net.add("Reshape", part, net.ints(length, WIDTH)))
    return net.add("Concat", *made, axis=0)


def trace(grid):
    net = Net()
    index, lengths = order(grid)
    n = sum(t * h * w for t, h, w in grid)
    x = net.add("Mul", "x", net.constant(angles(grid)))
    x = net.add("Reshape", x, net.ints(n // MERGE**2, MERGE**2, WIDTH))
    x = net.add("Reshape", net.add("Gather", x, net.constant(index.astype(np.int64))), net.ints(n, WIDTH))
    x = pieces(net, x, lengths, "Sub")
    return net.model([n, WIDTH], pieces(net, x, [h * w for t, h, w in grid for _ in range(t)], "Mul"))


def lift(thaw, save, tmp_path, grids, told=None, code=0):
    """told: the grids that --values tells of, where they are not the traces' own."""
    paths = [save(trace(grid), f"trace_{i}") for i, grid in enumerate(grids)]
    values = tmp_path / "values.json"
    values.write_text(json.dumps({path.name: {"grid_thw": grid} for path, grid in zip(paths, told or grids, strict=True)}))
    out = tmp_path / "lifted.onnx"
    return out, thaw("lift", *paths, "-o", out, "--trace-values", values, "--add-input", "grid_thw:int64[2,3]", code=code)


@pytest.mark.parametrize("traces, unseen", [(TRACES, UNSEEN), (FRAMES, UNSEEN_FRAMES)], ids=["images", "frames"])
def test_each_image_is_as_large_as_its_own_line_says(thaw, save, tmp_path, traces, unseen):
    out, _ = lift(thaw, save, tmp_path, traces)
    run = session(out)
    for grid in [*traces, *unseen]:
        x = np.random.default_rng(len(str(grid))).standard_normal((sum(t * h * w for t, h, w in grid), WIDTH), dtype=np.float32)
        got = run.run(None, {"x": x, "grid_thw": np.array(grid, np.int64)})[0]
        wanted = expected(x, grid)
        assert got.shape == wanted.shape and np.abs(got - wanted).max() < 1e-5, grid


def test_frames_that_no_trace_has_are_an_error(thaw, save, tmp_path):
    out, _ = lift(thaw, save, tmp_path, TRACES)
    grid = [(2, 6, 10), (1, 14, 4)]
    x = np.zeros((sum(h * w for _, h, w in grid), WIDTH), np.float32)  # as many as without the second frame
    with pytest.raises(Exception, match="guard_Reshape"):
        session(out).run(None, {"x": x, "grid_thw": np.array(grid, np.int64)})


def test_the_part_that_is_not_explained_is_named(thaw, save, tmp_path):
    """Of a grid with other sides, as large as the second image's."""
    told = [[first, (frames, MERGE, h * w // MERGE)] for first, (frames, h, w) in TRACES]
    out, done = lift(thaw, save, tmp_path, TRACES, told, code=1)
    assert "of the part that grid_thw[1] tells" in done.stdout and not out.exists()
