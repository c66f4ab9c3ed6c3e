"""thaw build's text.onnx and embedding.onnx against transformers' logits and greedy tokens, at sizes that are prime and
differ, with padding at the left and at the right."""
import numpy as np
import pytest

from conftest import SOURCE, session
from models.decoding import Cached, greedy, positions_of

FIXTURES = SOURCE / "tests" / "fixtures"
FAMILIES = ["qwen2", "qwen3", "llama", "mistral", "phi3", "qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_asr", "phi4_mm"]
VISION_FAMILIES = ["qwen2_vl", "qwen2_5_vl", "qwen3_vl"]
TOLERANCE = {"portable": 2e-5, "directml": 2e-5, "ort": 1e-4}


def checkpoint(family):
    return FIXTURES / family / "decoder"


def references(family, kind="text"):
    with np.load(checkpoint(family) / f"{kind}.npz") as file:
        return dict(file)


@pytest.fixture
def build(thaw, tmp_path):
    """build(family, *options) -> the folder of the models."""
    def run(family, *options, name="out"):
        thaw("build", checkpoint(family), "-o", tmp_path / name, *options, code=0)
        return tmp_path / name
    return run


def worst_logits(run, refs):
    """The largest difference at tokens that are no padding, over both cases; all logits must be finite."""
    worst = 0
    for i in (0, 1):
        logits = run(refs[f"ids_{i}"], refs[f"mask_{i}"])
        assert logits.shape == refs[f"logits_{i}"].shape and logits.dtype == np.float32
        assert np.isfinite(logits).all()
        real = refs[f"mask_{i}"] == 1
        worst = max(worst, float(np.abs(logits - refs[f"logits_{i}"])[real].max()))
    return worst


@pytest.mark.parametrize("target", TOLERANCE)
@pytest.mark.parametrize("family", FAMILIES)
def test_logits_equal_those_of_transformers(build, family, target):
    text = session(build(family, "--part", "text", "--target", target) / "text.onnx")
    run = lambda ids, mask: text.run(None, {"input_ids": ids, "attention_mask": mask})[0]
    assert worst_logits(run, references(family)) <= TOLERANCE[target]


@pytest.mark.parametrize("target", TOLERANCE)
@pytest.mark.parametrize("family", FAMILIES)
def test_greedy_tokens_equal_those_of_transformers(build, family, target):
    refs = references(family)
    text = session(build(family, "--part", "text", "--kv-cache", "--target", target) / "text.onnx")
    tokens = greedy(text, refs["prompt"], refs["prompt_mask"], refs["tokens"].shape[1])
    assert (tokens == refs["tokens"]).all()


@pytest.mark.parametrize("target", TOLERANCE)
@pytest.mark.parametrize("family", FAMILIES)
def test_cache_filled_in_two_steps_equals_one_step(build, family, target):
    refs = references(family)
    text = session(build(family, "--part", "text", "--kv-cache", "--target", target) / "text.onnx")

    def run(ids, mask):
        whole = np.broadcast_to(np.arange(ids.shape[1]), ids.shape)
        if family.startswith("phi"):  # which frequencies count hangs on the furthest position of a call
            return Cached(text, len(ids))(mask, whole, input_ids=ids)
        model = Cached(text, len(ids))
        parts = [model(mask[:, :end], whole[:, begin:end], input_ids=ids[:, begin:end])
                 for begin, end in ((0, 2), (2, 5), (5, ids.shape[1]))]
        return np.concatenate(parts, 1)

    assert worst_logits(run, refs) <= TOLERANCE[target]
