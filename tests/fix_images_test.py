"""`thaw fix --reference` of a trace of two images, whose grids are the lines of one input."""
import numpy as np

from conftest import session
from lift_images_test import WIDTH, angles, pieces
from lift_net import Net

EXPORT = [(1, 6, 10), (1, 14, 4)]
CASES = [EXPORT, [(1, 10, 14), (1, 8, 22)], [(1, 4, 18), (1, 26, 6)]]
UNSEEN = [[(1, 22, 34), (1, 2, 26)], [(1, 2, 2), (1, 38, 14)]]
GRID = ("--sizes", "grid_thw=" + ",".join(str(size) for line in EXPORT for size in line), "--add-input", "grid_thw:int64[2,3]")


def trace():
    net = Net()
    lengths = [h * w for _, h, w in EXPORT]
    return net.model([sum(lengths), WIDTH], pieces(net, net.add("Mul", "x", net.constant(angles(EXPORT))), lengths, "Mul"))


def feed(grid):
    n = sum(h * w for _, h, w in grid)
    return {"x": np.random.default_rng(n).standard_normal((n, WIDTH), dtype=np.float32), "grid_thw": np.array(grid, np.int64)}


def expected(x, grid_thw):
    parts = np.split(x * angles(grid_thw.tolist()), np.cumsum(grid_thw.prod(1))[:-1])
    return np.concatenate([part * part.max(0) for part in parts])


def refer(path, grids):
    cases = [dict(feed(grid), y=expected(**feed(grid))) for grid in grids]
    np.savez(path, **{f"{name}_{i}": array for i, case in enumerate(cases) for name, array in case.items()})
    return path


def test_each_image_has_its_own_part_of_a_table(thaw, save, tmp_path):
    out = tmp_path / "fixed.onnx"
    report = thaw.json("fix", save(trace()), "-o", out, *GRID, "--reference", refer(tmp_path / "refs.npz", CASES), code=0)
    assert report["accepted"] and all(case["agrees"] for case in report["cases"])
    run = session(out)
    for grid in [*CASES, *UNSEEN]:
        assert np.abs(run.run(None, feed(grid))[0] - expected(**feed(grid))).max() < 1e-5, grid


def test_a_reference_of_something_else_is_not_confirmed(thaw, save, tmp_path):
    """The second image's columns stand where its rows are counted."""
    turned = [[grid[0], (1, grid[1][2], grid[1][1])] for grid in CASES[1:]]
    cases = [dict(feed(grid), y=expected(feed(grid)["x"], np.array(other))) for grid, other in zip(CASES[1:], turned, strict=True)]
    cases.append(dict(feed(EXPORT), y=expected(**feed(EXPORT))))
    refs, out = tmp_path / "refs.npz", tmp_path / "fixed.onnx"
    np.savez(refs, **{f"{name}_{i}": array for i, case in enumerate(cases) for name, array in case.items()})
    thaw("fix", save(trace()), "-o", out, *GRID, "--reference", refs, code=1)
    assert not out.exists()
