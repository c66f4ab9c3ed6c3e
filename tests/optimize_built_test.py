"""thaw optimize on what thaw build writes: attention is found in every block, windows and grouped heads included, and the
result agrees with transformers."""
import onnx
import pytest

import build_text_test as text
import build_towers_test as towers
from conftest import session

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
    assert towers.worst(optimized(thaw, model, tmp_path / "out.onnx", "--no-check"), family) <= TOLERANCE


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
