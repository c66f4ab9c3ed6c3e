"""A detector with anchors for one size: what the table holds stays, all of it, and is said; the batch, which it does not
hold, is freed all through."""
import numpy as np
import onnx
import pytest

from conftest import session, worst
from models import exported

SIDE = 640
DECLARED = {"numbers": None, "free": ["n", 3, "h", "w"], "batch": ["n", 3, SIDE, SIDE]}


def dims(path):
    graph = onnx.load(path).graph
    return {v.name: [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim] for v in [*graph.input, *graph.output]}


def left_axes(report):
    return [n for n in report["remaining"] if n["where"].startswith("axis ")]


@pytest.mark.parametrize("declared", ["numbers", "batch"])
def test_the_batch_is_freed_and_the_sides_are_not(thaw, save, tmp_path, declared):
    export = exported.detector_with_anchors(SIDE, DECLARED[declared])
    path, fixed = save(export.model), tmp_path / "fixed.onnx"
    thaw("fix", path, "-o", fixed, code=(0, 1))
    batch = "n" if declared == "batch" else "x_dim0"
    assert dims(fixed) == {"x": [batch, 3, SIDE, SIDE], "scores": [batch, 12800, 1], "boxes": [batch, 12800, 4],
                           "coarse": [batch, 8, 40, 40]}
    feeds = export.feeds(3, 3, SIDE, SIDE)
    together, original = session(fixed).run(None, feeds), session(exported.detector_with_anchors(SIDE).model)
    for i in range(3):
        alone = original.run(None, {"x": feeds["x"][i:i + 1]})
        assert worst([y[i:i + 1] for y in together], alone) < 1e-5, f"sample {i}"


def test_what_stays_is_said_with_its_place_and_a_next_step(thaw, save):
    path = save(exported.detector_with_anchors(SIDE).model)
    report = thaw.json("fix", path, "--dry-run", code=1)
    assert [n["code"] for n in report["remaining"] if n["where"] == "anchors"] == ["THAW013"]
    (line,) = left_axes(report)
    assert line["where"] == "axis 2 of 'x', axis 3 of 'x'"
    assert "'anchors'" in line["message"] and "thaw lift" in line["message"] and "--reference" in line["message"]
    text = thaw("fix", path, "--dry-run", code=1).stdout
    assert "unresolved (2)" in text and "axis 2 of 'x', axis 3 of 'x'" in text


def test_axes_that_were_declared_free_are_not_half_mended(thaw, save, tmp_path):
    """Height, width and batch meet in one Resize: with the table, none of its sizes is written."""
    path, fixed = save(exported.detector_with_anchors(SIDE, DECLARED["free"]).model), tmp_path / "fixed.onnx"
    report = thaw.json("fix", path, "-o", fixed, code=1)
    assert [c for c in report["changed"] if c["code"].startswith("THAW01")] == []
    assert {n["where"] for n in left_axes(report)} == {"axis 0 of 'x'", "axis 2 of 'x', axis 3 of 'x'"}
    before, after = onnx.load(path), onnx.load(fixed)
    assert before.graph.node == after.graph.node and before.graph.input == after.graph.input
    feeds = exported.images(1, 3, SIDE, SIDE)
    assert worst(session(fixed).run(None, feeds), session(path).run(None, feeds)) == 0


def test_without_the_table_every_side_is_freed(thaw, save, tmp_path):
    """The same network with nothing that holds it: what stays above is the table's doing."""
    export = exported.detector_with_anchors(320, anchors=False)
    fixed = tmp_path / "fixed.onnx"
    report = thaw.json("fix", save(export.model), "-o", fixed, code=0)
    assert dims(fixed)["x"] == ["x_dim0", 3, "x_dim2", "x_dim3"] and left_axes(report) == []
    own = session(save(exported.detector_with_anchors(192, anchors=False).model, "other"))
    feeds = exported.images(1, 3, 192, 192)
    assert worst(session(fixed).run(None, feeds), own.run(None, feeds)) < 1e-5
    assert np.isfinite(session(fixed).run(None, exported.images(5, 3, 224, 96))[0]).all()
