"""thaw lift on whole networks: three static traces in, and the dynamic network's numbers out at sizes that none has."""
import json

import numpy as np
import onnx
import pytest

from conftest import need_shared, session
from models.families import BY_NAME

GRID = "grid_thw:int64[1,3]"


def lifted(thaw, save, tmp_path, family, code=0):
    paths, values = [], {}
    for size in family.sizes:
        paths.append(save(family.static(*size), "trace_" + "x".join(map(str, size))))
        values[paths[-1].name] = {
            name: dict(shape=list(value.shape)) if value.dtype.kind == "f" or value.size > 64 else value.tolist()
            for name, value in family.feeds(*size).items()}
    (tmp_path / "values.json").write_text(json.dumps(values))
    out = tmp_path / "lifted.onnx"
    run = thaw("lift", *paths, "-o", out, "--values", tmp_path / "values.json", code=code)
    return out, run.stdout + run.stderr


@pytest.mark.parametrize("name", ["text_decoder", "ocr", "vit_resize"])
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


@pytest.mark.parametrize("name", ["vision_tower_folded", "audio_encoder"])
def test_unrolled_windows_are_refused_with_the_place(thaw, save, tmp_path, name):
    out, printed = lifted(thaw, save, tmp_path, BY_NAME[name], code={1, 2})
    assert "Split" in printed or "not the same" in printed
    assert not out.exists()


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
    assert "not explained" in run.stdout and not (tmp_path / "wrong.onnx").exists()


@pytest.mark.parametrize("text, words", [
    ("{", ["no JSON object"]),
    ('{"other.onnx": {}}', ["'other.onnx' is none of the traces"]),
    ('{"a.onnx": {"input_ids": [[1, 2], [3]]}}', ["not as long as its neighbours"]),
    ('{"a.onnx": {"input_ids": [1.5]}}', ["not an integer"]),
])
def test_wrong_values_are_named(thaw, save, tmp_path, text, words):
    family = BY_NAME["text_decoder"]
    a, b = (save(family.static(*size), name) for size, name in zip(family.sizes, "ab"))
    (tmp_path / "values.json").write_text(text)
    message = thaw.error("lift", a, b, "-o", tmp_path / "out.onnx", "--values", tmp_path / "values.json")
    assert all(word in message for word in words), message


def test_one_trace_is_not_enough(thaw, save, tmp_path):
    family = BY_NAME["text_decoder"]
    message = thaw.error("lift", save(family.static(3, 7)), "-o", tmp_path / "out.onnx")
    assert "one trace" in message


def grids(paths):
    return {p.name: dict(grid_thw=[[1, *map(int, p.stem.rsplit("_", 1)[1].split("x"))]]) for p in paths}


@pytest.mark.parametrize("names, held_back, add", [
    (["qwen3_vl_16x24", "qwen3_vl_22x30", "qwen3_vl_28x20"], "qwen3_vl_8x12", False),
    (["qwen3_vl_gridconst_16x24", "qwen3_vl_gridconst_22x30", "qwen3_vl_gridconst_28x20"], "qwen3_vl_8x12", True),
])
def test_a_vision_tower_equals_the_trace_that_was_held_back(thaw, tmp_path, names, held_back, add):
    folder = need_shared("fixtures", "traces_more")
    paths = [folder / f"{name}.onnx" for name in names]
    (tmp_path / "values.json").write_text(json.dumps(grids(paths)))
    out = tmp_path / "lifted.onnx"
    thaw("lift", *paths, "-o", out, "--values", tmp_path / "values.json", *(["--add-input", GRID] if add else []), code=0)
    run, held = session(out), session(folder / f"{held_back}.onnx")
    feed = dict(pixel_values=np.random.default_rng(0).standard_normal((96, 1536), dtype=np.float32), grid_thw=np.array([[1, 8, 12]]))
    for got, wanted in zip(run.run(None, feed), held.run(None, feed), strict=True):
        assert np.abs(got - wanted).max() <= 2e-5
