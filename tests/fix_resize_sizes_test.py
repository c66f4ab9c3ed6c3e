"""A Resize to [1, 24, 40, 40] of a batch that is free: it gave every image the first one's map, without a word."""
import onnx
import pytest

from conftest import session, worst
from models import exported


def test_the_original_is_wrong_without_a_word():
    """What the others are about."""
    export = exported.resize_frozen_at_one_image()
    assert session(export.model).run(["points"], export.feeds(2, 3, 320, 320))[0].shape[0] == 1


def test_check_names_it(thaw, save):
    findings = thaw.findings(save(exported.resize_frozen_at_one_image().model))
    found = [f for f in findings if f["code"] == "THAW010"]
    assert len(found) == 1 and "[1, 24, 40, 40]" in found[0]["message"] and "batch" in found[0]["message"]


@pytest.mark.parametrize("batch", [2, 3])
def test_each_image_gets_its_own(thaw, save, tmp_path, batch):
    export = exported.resize_frozen_at_one_image()
    path, fixed = save(export.model), tmp_path / "fixed.onnx"
    thaw("fix", path, "-o", fixed, code=0)
    points = {v.name: v for v in onnx.load(fixed).graph.output}["points"].type.tensor_type.shape.dim
    assert [d.dim_param or d.dim_value for d in points] == ["batch", 4, 40, 40]
    feeds, original = export.feeds(batch, 3, 320, 320), session(path)
    together = session(fixed).run(["points"], feeds)[0]
    for i in range(batch):
        assert worst([together[i:i + 1]], original.run(["points"], {"x": feeds["x"][i:i + 1]})) < 1e-5


def test_a_batch_that_an_output_would_fold_stays(thaw, save, tmp_path):
    """All numbers: height and width are freed; the batch would be mixed into the rows of 'scores'."""
    path, fixed = save(exported.resize_frozen_at_one_image((1, 3, 320, 320)).model), tmp_path / "fixed.onnx"
    report = thaw.json("fix", path, "-o", fixed, code=0)
    (line,) = [n for n in report["left"] if n["where"] == "axis 0 of 'x'"]
    assert "'scores'" in line["message"] and "thaw batch" in line["message"]
    x = onnx.load(fixed).graph.input[0].type.tensor_type.shape.dim
    assert [d.dim_param or d.dim_value for d in x] == [1, 3, "x_dim2", "x_dim3"]
