"""A Resize to [1, 24, 40, 40] of a batch that is free: it gave every image the first one's map, without a word."""
import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from check_rules_test import F, floats, ints, model, node
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
    (line,) = [n for n in report["remaining"] if n["where"] == "axis 0 of 'x'"]
    assert "'scores'" in line["message"] and "thaw batch" in line["message"]
    x = onnx.load(fixed).graph.input[0].type.tensor_type.shape.dim
    assert [d.dim_param or d.dim_value for d in x] == [1, 3, "x_dim2", "x_dim3"]


def conv(name, width_in, width, kernel=3):
    return numpy_helper.from_array(np.random.default_rng(len(name)).standard_normal((width, width_in, kernel, kernel)).astype(np.float32) / 4, name)


def shuffled(side, width=8, declared=(1, 3, "h", "w")):
    """Channels shuffled as an exporter writes it: rows by two groups and all places, then groups, channels, height and width."""
    high, wide = (-(-size // 8) for size in side)
    nodes = [node("Conv", ["x", "stem"], "a", strides=[2, 2], pads=[1] * 4), node("MaxPool", ["a"], "b", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4),
             node("Conv", ["b", "body"], "c", strides=[2, 2], pads=[1] * 4), node("Reshape", ["c", "rows"], "r"),
             node("Transpose", ["r"], "t", perm=[1, 0, 2]), node("Reshape", ["t", "maps"], "m"), node("Gather", ["m", "zero"], "y", axis=0)]
    constants = [conv("stem", 3, width), conv("body", width, width), ints("rows", [width // 2, 2, high * wide]),
                 ints("maps", [2, -1, width // 2, high, wide]), ints("zero", 0)]
    return model(nodes, [("x", F, list(declared))], [("y", F, None)], constants)


@pytest.mark.parametrize("declared", [(1, 3, "h", "w"), ("n", 3, "h", "w"), (1, 3, 352, 352)])
@pytest.mark.parametrize("side", [(352, 352), (352, 96), (88, 32)])
def test_a_number_that_several_sizes_give_is_told_as_such(thaw, save, tmp_path, declared, side):
    """44 is a height, a width, and half of what is left of a coarser map: none of them is made up."""
    declared = [1, 3, *side] if declared[2] == 352 else declared
    path = save(shuffled(side, declared=declared))
    for finding in thaw.findings(path):
        if finding["location"].get("tensor") == "maps" and "should be" in finding.get("details", {}):
            for part in finding["details"]["should be"].split(", "):
                assert part.startswith("one of several sizes in "), part
    report = thaw.json("fix", path, "-o", tmp_path / "fixed.onnx", code=1)
    assert [c for c in report["changed"] if c["code"].startswith("THAW01")] == []
    told = [n["message"] for n in report["remaining"] if n["where"] in ("rows", "maps")]
    assert any("is ambiguous" in message for message in told), told


def test_a_number_that_sizes_give_by_chance_is_not_written(thaw, save, tmp_path):
    """44 places are 2 by 22, or 4 by 11: that the width is 22, as a Slice's end is, does not follow."""
    path = save(model([node("Slice", ["x", "zero", "end", "three"], "s"), node("Relu", ["s"], "y"), node("ReduceMean", ["x"], "g", axes=[1], keepdims=1),
                       node("Flatten", ["g"], "f", axis=1), node("MatMul", ["f", "w"], "z")],
                      [("x", F, [1, 2, "h", "w"])], [("y", F, None), ("z", F, None)],
                      [ints("zero", [0]), ints("end", [22]), ints("three", [3]), floats("w", 44, 3)]))
    report = thaw.json("fix", path, "-o", tmp_path / "fixed.onnx", code=1)
    assert [c for c in report["changed"] if c["where"] == "end"] == []
    (end,) = [n for n in report["remaining"] if n["where"] == "end"]
    assert "22 is ambiguous" in end["message"]


@pytest.mark.parametrize("sizes, becomes", [([1, 1, 2, 3], [1, 1, 2, 3]), ([1, 1, 2, 8], [1, 1, 3, 12])])
def test_a_size_that_was_asked_for_is_no_factor(thaw, save, tmp_path, sizes, becomes):
    """3 is no part of 4: both sizes were asked for, and the 2 beside it is no half of the height. 8 is twice the width."""
    path = save(model([node("Resize", ["x", "", "", "sizes"], "y", mode="linear")], [("x", F, [1, 1, 4, 4])], [("y", F, None)], [ints("sizes", sizes)]))
    fixed = tmp_path / "fixed.onnx"
    thaw("fix", path, "-o", fixed, code=0)
    x = np.random.default_rng(2).standard_normal((1, 1, 6, 6)).astype(np.float32)
    free = onnx.load(fixed)
    for value in free.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            dim.Clear()
    assert list(session(free).run(None, {"x": x})[0].shape) == becomes
