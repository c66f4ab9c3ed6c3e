"""thaw lift on whole networks: three static traces in, and the dynamic network's numbers out at sizes that none has."""
import json

import numpy as np
import onnx
import pytest

from conftest import need_shared, session
from models.families import BY_NAME

GRID = "grid_thw:int64[1,3]"


def told(feeds):
    """Values of integer inputs; of data, their shape."""
    return {name: dict(shape=list(value.shape)) if value.dtype.kind == "f" else value.tolist()
            for name, value in feeds.items()}


def lifted(thaw, save, tmp_path, family, code=0, options=()):
    paths, values = [], {}
    for size in family.sizes:
        paths.append(save(family.static(*size), "trace_" + "x".join(map(str, size))))
        values[paths[-1].name] = told(family.feeds(*size))
    (tmp_path / "values.json").write_text(json.dumps(values))
    out = tmp_path / "lifted.onnx"
    run = thaw("lift", *paths, "-o", out, "--trace-values", tmp_path / "values.json", *options, code=code)
    return out, run.stdout + run.stderr


@pytest.mark.parametrize("name", ["text_decoder", "ocr", "vit_resize", "image_crops"])
def test_equals_the_dynamic_network_at_sizes_that_no_trace_has(thaw, save, tmp_path, name):
    family = BY_NAME[name]
    out, _ = lifted(thaw, save, tmp_path, family)
    one, other = session(out), session(family.dynamic())
    for size in (*family.sizes, *family.unseen):
        feed = family.feeds(*size)
        for got, wanted in zip(one.run(None, feed), other.run(None, feed), strict=True):
            assert got.shape == wanted.shape
            assert np.abs(got.astype(np.float64) - wanted).max() <= 1e-5


@pytest.mark.parametrize("name", ["text_decoder", "ocr"])
def test_nothing_is_frozen_any_more(thaw, save, tmp_path, name):
    out, _ = lifted(thaw, save, tmp_path, BY_NAME[name])
    assert [f for f in thaw.findings(out) if f["severity"] == "error"] == []


@pytest.mark.parametrize("name", ["vision_tower_angles", "vision_tower_folded", "vision_tower_gathered"])
def test_unrolled_windows_become_one_batch_at_any_grid(thaw, save, tmp_path, name):
    """The traces have 4, 4 and 12 windows; ragged ones on one side, on both, and none."""
    family = BY_NAME[name]
    out, printed = lifted(thaw, save, tmp_path, family, options=["--add-input", GRID])
    assert "4 branches | 4 branches | 12 branches" in printed and "joins a branch for each window" in printed
    one, other = session(out), session(family.dynamic())
    for size in (*family.sizes, *family.unseen, (26, 22), (2, 2), (2, 38), (34, 46)):
        feed = family.feeds(*size)
        for got, wanted in zip(one.run(None, feed), other.run(None, feed), strict=True):
            assert got.shape == wanted.shape
            assert np.abs(got - wanted).max() <= 1e-5, size
    assert [f for f in thaw.findings(out) if f["severity"] == "error"] == []


def test_plain_sizes_may_be_inputs_too(thaw, save, tmp_path):
    family, paths, values = BY_NAME["vision_tower_folded"], [], {}
    for h, w in family.sizes:
        paths.append(save(family.static(h, w), f"trace_{h}x{w}"))
        values[paths[-1].name] = {"grid_h": h, "grid_w": [w]}
    (tmp_path / "values.json").write_text(json.dumps(values))
    out = tmp_path / "lifted.onnx"
    thaw("lift", *paths, "-o", out, "--trace-values", tmp_path / "values.json", "--add-input", "grid_h:int64[]", "--add-input",
         "grid_w:int64[1]", code=0)
    feed = family.feeds(30, 22)
    got = session(out).run(None, dict(pixel_values=feed["pixel_values"], grid_h=np.array(30), grid_w=np.array([22])))[0]
    assert np.abs(got - session(family.dynamic()).run(None, feed)[0]).max() <= 1e-5


def test_an_input_that_is_there_does_not_come_back(thaw, save, tmp_path):
    family = BY_NAME["vision_tower_folded"]
    paths = [save(family.static(h, w), f"trace_{h}x{w}") for h, w in family.sizes]
    message = thaw.error("lift", *paths, "-o", tmp_path / "out.onnx", "--add-input", "pixel_values:int64[1]")
    assert "an input 'pixel_values' already" in message and "leave --add-input out" in message


def test_a_value_that_no_trace_varies_is_an_error_at_another(thaw, save, tmp_path):
    """One frame in every trace: two frames would run, and be wrong."""
    out, printed = lifted(thaw, save, tmp_path, BY_NAME["vision_tower_folded"], options=["--add-input", GRID])
    assert "grid_thw[0]: 1, 1, 1: right at this value, unobserved at others" in printed
    feed = BY_NAME["vision_tower_folded"].feeds(12, 16)
    run = session(out)
    run.run(None, feed)
    two = dict(pixel_values=np.concatenate([feed["pixel_values"]] * 2), grid_thw=np.array([[2, 12, 16]]))
    with pytest.raises(Exception, match=r"lift_|guard_Reshape|Gather"):
        run.run(None, two)
    with pytest.raises(Exception, match="guard_Reshape"):
        run.run(None, feed | dict(grid_thw=np.array([[2, 12, 16]])))


def test_windows_of_what_a_mask_marks(thaw, save, tmp_path):
    """The positions that are cut into windows are as many as running the model tells: 1, 2, 3 and 7 windows."""
    family = BY_NAME["audio_encoder"]
    out, _ = lifted(thaw, save, tmp_path, family)
    one, other = session(out), session(family.dynamic())
    for frames, valid in ((*family.sizes, *family.unseen, (60, 43), (80, 80), (160, 141), (540, 531))):
        feed = family.feeds(frames, valid)
        for got, wanted in zip(one.run(None, feed), other.run(None, feed), strict=True):
            assert got.shape == wanted.shape
            assert np.abs(got - wanted).max() <= 1e-5, (frames, valid)


def test_the_numbers_decide(thaw, save, tmp_path):
    """A table that two traces explain and the third's numbers do not: another generator would have to be known."""
    family = BY_NAME["text_decoder"]
    first, second = (save(family.static(*size), f"trace_{i}") for i, size in enumerate(family.sizes[:2]))
    changed = family.static(*family.sizes[1])
    for value in changed.graph.initializer:
        weights = onnx.numpy_helper.to_array(value)
        if weights.dtype == np.float32 and weights.size > 64:
            value.CopyFrom(onnx.numpy_helper.from_array(weights * np.float32(1.25), value.name))
            break
    other = save(changed, "changed")
    thaw("lift", first, second, "-o", tmp_path / "out.onnx", code=0)
    run = thaw("lift", first, other, "-o", tmp_path / "wrong.onnx", code=1)
    assert "unexplained" in run.stdout and not (tmp_path / "wrong.onnx").exists()


@pytest.mark.parametrize("text, words", [
    ("{", ["the file is not JSON"]),
    ('{"other.onnx": {}}', ["'other.onnx' is none of the traces"]),
    ('{"a.onnx": {"input_ids": [[1, 2], [3]]}}', ["not as long as its neighbours"]),
    ('{"a.onnx": {"input_ids": [1.5]}}', ["not an integer"]),
])
def test_wrong_values_are_named(thaw, save, tmp_path, text, words):
    family = BY_NAME["text_decoder"]
    a, b = (save(family.static(*size), name) for size, name in zip(family.sizes, "ab"))
    (tmp_path / "values.json").write_text(text)
    message = thaw.error("lift", a, b, "-o", tmp_path / "out.onnx", "--trace-values", tmp_path / "values.json")
    assert all(word in message for word in words), message


def test_values_may_come_from_an_archive_for_each_trace(thaw, save, tmp_path):
    family = BY_NAME["image_crops"]
    paths, archives = [], []
    for size in family.sizes:
        paths.append(save(family.static(*size), "trace_" + "x".join(map(str, size))))
        archives += ["--trace-values", paths[-1].with_suffix(".npz")]
        np.savez(archives[-1], **family.feeds(*size))
    thaw("lift", *paths, "-o", tmp_path / "lifted.onnx", *archives, code=0)
    feed = family.feeds(*family.unseen[0])
    got, wanted = (session(m).run(None, feed)[0] for m in (tmp_path / "lifted.onnx", family.dynamic()))
    assert np.abs(got - wanted).max() <= 1e-5
    np.savez(tmp_path / "other.npz", **feed)
    assert "name of no trace" in thaw.error("lift", *paths, "-o", tmp_path / "o.onnx", "--trace-values", tmp_path / "other.npz")


def test_one_of_three_traces_is_a_holdout(thaw, save, tmp_path):
    """What the other two say otherwise is listed: the explanation then has no witness to spare."""
    def model(n, size):
        shape = onnx.numpy_helper.from_array(np.array([size], np.int64), "size")
        x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [n])
        y = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [None])
        one = onnx.numpy_helper.from_array(np.array([0.5], np.float32), "one")
        nodes = [onnx.helper.make_node("Expand", ["one", "size"], ["e"]),
                 onnx.helper.make_node("ReduceSum", ["x"], ["s"]), onnx.helper.make_node("Mul", ["e", "s"], ["y"])]
        return onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", [x], [y], [shape, one]), ir_version=8,
                                      opset_imports=[onnx.helper.make_opsetid("", 17)])
    def held(*sizes):
        paths = [save(model(n, size), f"t{n}_{size}") for n, size in sizes]
        return thaw.json("lift", *paths, "-o", tmp_path / "out.onnx")["holdout"]
    assert [note["message"] for note in held((10, 5), (14, 7), (22, 11))] == ["1/1 constants predicted from the other 2 traces"]
    told = held((10, 3), (11, 3), (14, 4))  # a third, rounded down; two traces alone say 3
    assert "0/1" in told[0]["message"] and "without" in told[1]["message"]
    assert held((10, 5), (14, 7)) == []


def test_one_trace_is_not_enough(thaw, save, tmp_path):
    family = BY_NAME["text_decoder"]
    message = thaw.error("lift", save(family.static(3, 7)), "-o", tmp_path / "out.onnx")
    assert "one trace" in message


def grids(paths):
    return {p.name: dict(grid_thw=[[1, *map(int, p.stem.rsplit("_", 1)[1].split("x"))]]) for p in paths}


Q3, Q25 = ("16x24", "22x30", "28x20"), ("18x26", "22x30", "24x32")


@pytest.mark.parametrize("family, sizes, holdout, add", [
    ("qwen3_vl", Q3, "qwen3_vl_8x12", False),
    ("qwen3_vl_gridconst", Q3, "qwen3_vl_8x12", True),
    ("qwen2_5_vl", Q25, "qwen2_5_vl_16x16", False),
    ("qwen2_5_vl", ("16x16", "22x30", "24x32"), "qwen2_5_vl_18x26", False),  # 4, 12 and 12 windows
    ("qwen2_5_vl_gridconst", Q25, "qwen2_5_vl_16x16", True),
])
def test_a_vision_tower_equals_the_trace_that_was_held_back(thaw, tmp_path, family, sizes, holdout, add):
    folder = need_shared("fixtures", "traces_more")
    paths = [folder / f"{family}_{size}.onnx" for size in sizes]
    (tmp_path / "values.json").write_text(json.dumps(grids(paths)))
    out = tmp_path / "lifted.onnx"
    thaw("lift", *paths, "-o", out, "--trace-values", tmp_path / "values.json", *(["--add-input", GRID] if add else []), code=0)
    run, held = session(out), session(folder / f"{holdout}.onnx")
    h, w = map(int, holdout.rsplit("_", 1)[1].split("x"))
    width = run.get_inputs()[0].shape[1]
    feed = dict(pixel_values=np.random.default_rng(0).standard_normal((h * w, width), dtype=np.float32),
                grid_thw=np.array([[1, h, w]]))
    for got, wanted in zip(run.run(None, feed), held.run(None, feed), strict=True):
        assert np.abs(got - wanted).max() <= 2e-5


def test_an_audio_encoder_equals_the_references(thaw, tmp_path):
    folder = need_shared("fixtures", "qwen3_asr")
    paths = [folder / f"trace_{frames}.onnx" for frames in (1000, 1200, 1600)]
    masks = {f"trace_{frames}.onnx": {"input_features_mask": [[1] * valid + [0] * (frames - valid)]}
             for frames, valid in ((1000, 950), (1200, 1200), (1600, 1333))}
    (tmp_path / "values.json").write_text(json.dumps(masks))
    thaw("lift", *paths, "-o", tmp_path / "lifted.onnx", "--trace-values", tmp_path / "values.json", code=0)
    run, references = session(tmp_path / "lifted.onnx"), np.load(folder / "ref.npz")
    for i, frames, valid in ((0, 1000, 950), (1, 1200, 1200), (2, 500, 437), (4, 300, 101)):
        mask = np.zeros((1, frames), np.int64)
        mask[0, :valid] = 1
        features = np.random.default_rng(1020 + i).standard_normal((1, 128, frames), dtype=np.float32)
        got = run.run(None, {"input_features": features, "input_features_mask": mask})[0]
        assert np.abs(got - references[f"audio_features_{i}"]).max() <= 2e-5
