"""thaw optimize on what thaw build and thaw lift write: attention is found in every block, windows and grouped heads included, and the
result agrees with transformers."""
import json

import numpy as np
import onnx
import pytest

import build_text_test as text
import build_towers_test as towers
from conftest import need_shared, session
from lift_models_test import grids

TOLERANCE = 1e-4


def count(model, *names):
    return sum(node.op_type in names for node in onnx.load(model, load_external_data=False).graph.node)


def optimized(thaw, model, out, *options):
    """The model for ONNX Runtime: attention in the place of every softmax, and nothing left to do."""
    thaw("optimize", model, "-o", out, "--target", "ort", *options, code=0)
    assert count(model, "Softmax") == count(out, "MultiHeadAttention") > 0
    assert count(out, "Softmax") == 0
    assert count(out, "RotaryEmbedding") == (2 * count(out, "MultiHeadAttention") if count(model, "Cos", "Sin") else 0)
    assert thaw.json("optimize", out, "--target", "ort", "--dry-run", code=0)["changed"] == []
    return out


@pytest.mark.parametrize("family", towers.FAMILIES)
def test_a_tower(thaw, tmp_path, family):
    model = towers.built(thaw, family, tmp_path / "built")
    assert towers.worst(optimized(thaw, model, tmp_path / "out.onnx"), family) <= TOLERANCE


@pytest.mark.parametrize("family", towers.FAMILIES)
def test_a_tower_in_operators_of_the_standard(thaw, tmp_path, family):
    model, out = towers.built(thaw, family, tmp_path / "built"), tmp_path / "out.onnx"
    thaw("optimize", model, "-o", out, "--opset", "23", code=0)
    assert count(model, "Softmax") == count(out, "Attention") > 0
    assert towers.worst(out, family) <= TOLERANCE


@pytest.mark.parametrize("family", ["qwen3", "phi3"])
def test_a_decoder_in_operators_of_the_standard(thaw, tmp_path, family):
    """Attention takes the heads of keys as they are."""
    model, out = tmp_path / "built" / "text.onnx", tmp_path / "out.onnx"
    thaw("build", text.checkpoint(family), "-o", model.parent, "--part", "text", code=0)
    thaw("optimize", model, "-o", out, "--opset", "23", code=0)
    assert count(model, "Softmax") == count(out, "Attention") > 0 and count(out, "RotaryEmbedding") == 2 * count(out, "Attention")
    run = session(out)
    assert text.worst_logits(lambda ids, mask: run.run(None, {"input_ids": ids, "attention_mask": mask})[0], text.references(family)) <= TOLERANCE
    assert thaw.json("optimize", out, "--dry-run", code=0)["changed"] == []


@pytest.mark.parametrize("family", text.FAMILIES)
def test_a_decoder(thaw, tmp_path, family):
    thaw("build", text.checkpoint(family), "-o", tmp_path / "built", "--part", "text", code=0)
    run = session(optimized(thaw, tmp_path / "built" / "text.onnx", tmp_path / "out.onnx"))
    assert text.worst_logits(lambda ids, mask: run.run(None, {"input_ids": ids, "attention_mask": mask})[0],
                             text.references(family)) <= TOLERANCE


def test_a_decoder_with_a_cache(thaw, tmp_path):
    """The check of optimize itself compares them, at sizes that nothing declares."""
    thaw("build", text.checkpoint("qwen3"), "-o", tmp_path / "built", "--part", "text", "--kv-cache", code=0)
    optimized(thaw, tmp_path / "built" / "text.onnx", tmp_path / "out.onnx")


@pytest.mark.parametrize("options", [(), ("--kv-cache",)], ids=str)
def test_a_decoder_in_float16(thaw, tmp_path, options):
    thaw("build", text.checkpoint("qwen3"), "-o", tmp_path / "built", "--part", "text", "--dtype", "f16", *options, code=0)
    out = optimized(thaw, tmp_path / "built" / "text.onnx", tmp_path / "out.onnx", "--no-check")
    if not options:
        run = session(out)
        assert text.worst_logits(lambda ids, mask: run.run(None, {"input_ids": ids, "attention_mask": mask})[0],
                                 text.references("qwen3")) <= 2e-2


def test_windows_as_lift_writes_them(thaw, tmp_path):
    folder = need_shared("fixtures", "traces_more")
    paths = [folder / f"qwen2_5_vl_{size}.onnx" for size in ("18x26", "22x30", "24x32")]
    (tmp_path / "values.json").write_text(json.dumps(grids(paths)))
    thaw("lift", *paths, "-o", tmp_path / "lifted.onnx", "--trace-values", tmp_path / "values.json", code=0)
    out = tmp_path / "out.onnx"
    thaw("optimize", tmp_path / "lifted.onnx", "-o", out, "--target", "ort", code=0)
    assert count(tmp_path / "lifted.onnx", "Softmax") == count(out, "MultiHeadAttention") == 4
    assert count(out, "RotaryEmbedding") == 8
    before, after = session(tmp_path / "lifted.onnx"), session(out)
    for h, w in ((16, 16), (14, 22), (34, 10)):
        feed = dict(pixel_values=np.random.default_rng(h).standard_normal((h * w, 1176), dtype=np.float32), grid_thw=np.array([[1, h, w]]))
        for wanted, got in zip(before.run(None, feed), after.run(None, feed), strict=True):
            assert np.abs(got - wanted).max() <= 1e-5 * np.abs(wanted).max()


def test_sizes_that_only_running_tells(thaw, tmp_path):
    """Qwen3-VL's positions are cut and reshaped by numbers of grid_thw, so that no rule tells how many rows there are; a width stays what
    it is, divided by them and multiplied."""
    folder = need_shared("fixtures", "traces_more")
    paths = [folder / f"qwen3_vl_{size}.onnx" for size in ("16x24", "22x30", "28x20")]
    (tmp_path / "values.json").write_text(json.dumps(grids(paths)))
    lifted, out = tmp_path / "lifted.onnx", tmp_path / "out.onnx"
    thaw("lift", *paths, "-o", lifted, "--trace-values", tmp_path / "values.json", code=0)
    thaw("optimize", lifted, "-o", out, "--target", "ort", code=0)
    assert count(lifted, "Softmax") == count(out, "MultiHeadAttention") == 4
    assert count(out, "RotaryEmbedding") == 8
    assert sum(node.op_type == "Split" and "attn" in node.name for node in onnx.load(out).graph.node) == 4, "q, k and v; none into one part"
    assert thaw.json("optimize", out, "--target", "ort", "--dry-run", code=0)["changed"] == []
    before, after = session(lifted), session(out)
    for h, w in ((16, 16), (14, 22), (34, 10)):
        feed = dict(pixel_values=np.random.default_rng(h).standard_normal((h * w, 1536), dtype=np.float32), grid_thw=np.array([[1, h, w]]))
        for wanted, got in zip(before.run(None, feed), after.run(None, feed), strict=True):
            assert np.abs(got - wanted).max() <= 1e-5 * np.abs(wanted).max()


@pytest.mark.parametrize("name", ["qwen2_5_vl_22x30", "qwen3_vl_28x20", "qwen3_vl_8x12"])
def test_a_trace_is_compared_at_its_own_grid(thaw, tmp_path, name):
    report = thaw.json("optimize", need_shared("fixtures", "traces_more") / f"{name}.onnx", "-o", tmp_path / "out.onnx", "--target", "ort", code=0)
    assert report["checks"] and all(check["agrees"] for check in report["checks"])
