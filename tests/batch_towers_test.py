"""thaw batch on vision towers, audio encoders and text decoders: images of one grid, clips of one length, prompts.

Traces have their grid in tables, so that a batch of images of that grid is all that is left; models with the grid as an
input take it once, for all samples (`--inputs pixel_values`).
"""
import numpy as np
import pytest

from batch_models_test import TOLERANCE, batch, samples_agree  # noqa: F401 (batch is a fixture)
from conftest import SOURCE, need_shared, session
from models import audio_encoder, text_decoder, tower_cases, vision_tower

GRIDS = [(10, 14), (6, 22)]


def shared_of(feeds, *inputs):
    """One feed as samples of some inputs, and what is the same for all."""
    return {name: value for name, value in feeds.items() if name not in inputs}


def drawn(feeds, name, count):
    rng = np.random.default_rng(count)
    return [{name: rng.standard_normal(feeds[name].shape, dtype=np.float32)} for _ in range(count)]


@pytest.mark.parametrize("rotary", ["angles", "folded", "gathered"])
@pytest.mark.parametrize("grid", GRIDS)
def test_a_trace_takes_several_images_of_its_grid(save, batch, grid, rotary):
    model = save(vision_tower.static(*grid, rotary=rotary))
    batched, _ = batch(model, "--no-check")
    samples = drawn(vision_tower.feeds(*grid, with_grid=False), "pixel_values", 3)
    assert samples_agree(model, batched, samples) <= TOLERANCE


@pytest.mark.parametrize("grid", GRIDS)
def test_a_tower_takes_several_images_of_any_one_grid(save, batch, grid):
    model = save(vision_tower.dynamic())
    batched, _ = batch(model, "--inputs", "pixel_values", "--no-check")
    feeds = vision_tower.feeds(*grid)
    assert samples_agree(model, batched, drawn(feeds, "pixel_values", 5), shared_of(feeds, "pixel_values")) <= TOLERANCE


@pytest.mark.parametrize("target", ["portable", "ort"])
@pytest.mark.parametrize("family", ["qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_asr"])
def test_a_built_tower_takes_several_samples(thaw, batch, tmp_path, family, target):
    """Also where a sample is a call of several images, or several clips; com.microsoft's attention has a batch of its own."""
    part, name = ("audio", "input_features") if family == "qwen3_asr" else ("vision", "pixel_values")
    thaw("build", SOURCE / "tests" / "fixtures" / family / "tower", "-o", tmp_path, "--part", part, "--target", target, code=0)
    model = tmp_path / f"{part}.onnx"
    clips_apart = ["--new-axis", "--name", "samples"] if family == "qwen3_asr" else []
    batched, _ = batch(model, "--inputs", name, "--no-check", *clips_apart)
    for i, case in enumerate(tower_cases.CASES[family]):
        feeds = tower_cases.inputs(family, case, i)
        assert samples_agree(model, batched, drawn(feeds, name, 3), shared_of(feeds, name)) <= TOLERANCE


@pytest.mark.parametrize("target", ["portable", "ort"])
def test_a_grid_for_each_sample_is_refused(thaw, tmp_path, target):
    """How many tokens there are depends on it."""
    thaw("build", SOURCE / "tests" / "fixtures" / "qwen3_vl" / "tower", "-o", tmp_path, "--part", "vision", "--target", target, code=0)
    message = thaw.error("batch", tmp_path / "vision.onnx", "-o", tmp_path / "out.onnx")
    assert "depends on its data, which differs from sample to sample" in message


@pytest.mark.parametrize("pad", [0, 3])
def test_a_text_decoder_traced_at_one_prompt(save, batch, pad):
    model = save(text_decoder.static(1, 11))
    batched, _ = batch(model, "--no-check")
    samples = [text_decoder.feeds(1, 11, pad=pad if k else 0, seed=k) for k in range(5)]
    assert samples_agree(model, batched, samples) <= TOLERANCE


def test_an_audio_encoder_traced_at_one_clip(save, batch):
    model = save(audio_encoder.static(100))
    feeds = audio_encoder.feeds(100)
    name = next(n for n, value in feeds.items() if value.dtype == np.float32)
    batched, _ = batch(model, "--inputs", name, "--no-check")
    assert samples_agree(model, batched, drawn(feeds, name, 3), shared_of(feeds, name)) <= TOLERANCE


@pytest.mark.parametrize("trace, width", [("qwen2_5_vl/trace_18x26", 1176), ("qwen3_vl/trace_16x24", 1536), ("traces_more/qwen3_vl_8x12", 1536),
                                          ("traces_more/qwen2_5_vl_16x16", 1176), ("traces_more/qwen3_vl_gridconst_16x24", 1536)])
def test_real_traces_take_several_images(batch, trace, width):
    model = need_shared("fixtures", *f"{trace}.onnx".split("/"))
    height, length = map(int, trace.split("_")[-1].split("x"))
    batched, _ = batch(model, "--inputs", "pixel_values", "--no-check")
    feeds = dict(pixel_values=np.zeros((height * length, width), np.float32))
    takes_grid = "gridconst" not in trace and trace != "qwen2_5_vl/trace_18x26"
    grid = dict(grid_thw=np.array([[1, height, length]])) if takes_grid else {}
    assert samples_agree(model, batched, drawn(feeds, "pixel_values", 3), grid) <= TOLERANCE


@pytest.mark.parametrize("target", ["portable", "ort"])
@pytest.mark.parametrize("family", ["llama", "phi3", "qwen3", "qwen2_5_vl"])
def test_a_built_decoder_with_its_cache(thaw, batch, tmp_path, family, target):
    """A prompt, then a token over a past: caches, masks and positions are each sample's own. With a target of ort the
    rotary tables are made from the positions, and so are each sample's own too."""
    thaw("build", SOURCE / "tests" / "fixtures" / family / "decoder", "-o", tmp_path, "--part", "text", "--target", target, "--kv-cache", code=0)
    model = tmp_path / "text.onnx"
    batched, report = batch(model, "--no-check")
    assert report["outputs"][0]["after"].startswith("float32[batch, seq, ")
    inputs = session(model).get_inputs()
    rng = np.random.default_rng(4)
    for seq, past in [(5, 0), (1, 7)]:
        sizes = dict(batch=1, seq=seq, past=past)

        def sample():
            feed = {i.name: rng.standard_normal([sizes.get(d, d if isinstance(d, int) else past + seq) for d in i.shape]) for i in inputs}
            for name, value in feed.items():
                feed[name] = value.astype(np.float32)
            feed["input_ids"] = rng.integers(3, 60, (1, seq))
            feed["attention_mask"] = np.ones((1, past + seq), np.int64)
            feed["position_ids"] = np.broadcast_to(np.arange(past, past + seq), feed["position_ids"].shape).astype(np.int64)
            return feed
        assert samples_agree(model, batched, [sample() for _ in range(3)]) <= TOLERANCE
