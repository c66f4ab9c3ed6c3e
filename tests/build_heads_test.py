"""thaw build's text models by what `architectures` says follows the layers: embedders, rerankers and classifiers. What is
expected comes from transformers' logits: hidden states times the head are logits, and rows of the head are scores."""
import json

import numpy as np
import pytest

from build_text_checkpoints_test import entry, floats
from build_text_test import FAMILIES, TOLERANCE, checkpoint, references
from conftest import session
from models.checkpoints import copy_checkpoint, read_weights, same

CLASSES = {"qwen2": "Qwen2", "qwen3": "Qwen3", "llama": "Llama", "mistral": "Mistral", "phi3": "Phi3",
           "qwen2_vl": "Qwen2VL", "qwen2_5_vl": "Qwen2_5_VL", "qwen3_vl": "Qwen3VL", "qwen3_asr": "Qwen3ASR",
           "phi4_mm": "Phi4Multimodal"}
LABELS = [3, 50, 7]  # rows of the head that are read as scores


def head_of(family):
    weights = read_weights(checkpoint(family) / "model.safetensors")
    tied = next(name for name in weights if name.endswith("embed_tokens.weight"))
    return floats(weights.get("lm_head.weight", weights[tied]))


def bare(name):
    """As it is called in a class without a head."""
    return name.removeprefix("model.")


def with_architecture(name, **more):
    def change(config):
        return {**config, "architectures": [name], **more}
    return change


def without_head(weights):
    return {name: weight for name, weight in weights.items() if name != "lm_head.weight"}


def scored(family, bias=None):
    def change(weights):
        more = {"score.weight": entry(head_of(family)[LABELS])}
        if bias is not None:
            more["score.bias"] = entry(bias)
        return without_head(weights) | more
    return change


@pytest.fixture
def build(thaw, tmp_path):
    """build(folder, *options) -> a session of text.onnx"""
    def run(folder, *options):
        thaw("build", folder, "-o", tmp_path / "out", "--part", "text", *options, code=0)
        return session(tmp_path / "out" / "text.onnx")
    return run


@pytest.fixture
def bare_checkpoint(tmp_path):
    def make(family):
        vl = family in ("qwen2_vl", "qwen2_5_vl")
        rename = (lambda name: "language_model." + bare(name)) if vl else bare
        return copy_checkpoint(checkpoint(family), tmp_path / "bare", rename, with_architecture(CLASSES[family] + "Model"),
                               without_head)
    return make


@pytest.fixture
def scores_checkpoint(tmp_path):
    def make(family, kind="ForSequenceClassification", bias=None, **config):
        labels = {"id2label": {str(i): f"l{i}" for i in range(len(LABELS))}}
        return copy_checkpoint(checkpoint(family), tmp_path / "scores", same,
                               with_architecture(CLASSES[family] + kind, **{**labels, **config}), scored(family, bias))
    return make


def feeds_of(refs, i):
    return {"input_ids": refs[f"ids_{i}"], "attention_mask": refs[f"mask_{i}"]}


def last_of(mask):
    return mask.shape[1] - 1 - mask[:, ::-1].argmax(1)


@pytest.mark.parametrize("target", TOLERANCE)
@pytest.mark.parametrize("family", FAMILIES)
def test_hidden_states_are_those_that_the_head_reads(build, bare_checkpoint, family, target):
    refs, folder = references(family), bare_checkpoint(family)
    text = build(folder, "--target", target)
    assert [output.name for output in text.get_outputs()] == ["last_hidden_state"]
    for i in (0, 1):
        hidden = text.run(None, feeds_of(refs, i))[0]
        real = refs[f"mask_{i}"] == 1
        assert hidden.dtype == np.float32
        assert np.abs(hidden @ head_of(family).T - refs[f"logits_{i}"])[real].max() <= TOLERANCE[target]


@pytest.mark.parametrize("cache", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_pooled_state_is_that_of_the_last_token(build, family, cache):
    """Padding at the left and at the right, and with a cache; whatever the architecture."""
    refs, options = references(family), ["--kv-cache"] if cache else []
    whole = build(checkpoint(family), "--pooling", "none")
    pooled = build(checkpoint(family), "--pooling", "last", *options)
    assert pooled.get_outputs()[0].name == "sentence_embedding"
    for i in (0, 1):
        feeds = feeds_of(refs, i)
        hidden = whole.run(None, feeds)[0]
        if cache:
            batch, seq = feeds["input_ids"].shape
            for value in pooled.get_inputs():
                if value.name == "position_ids":
                    feeds[value.name] = np.broadcast_to(np.arange(seq), [*[3] * (len(value.shape) == 3), batch, seq]).copy()
                elif value.name.startswith("past"):
                    feeds[value.name] = np.zeros([batch, value.shape[1], 0, value.shape[3]], np.float32)
        found = pooled.run(["sentence_embedding"], feeds)[0]
        expected = hidden[np.arange(len(hidden)), last_of(feeds["attention_mask"])]
        assert np.abs(found - expected).max() <= 2e-5


def test_the_pooled_state_after_a_cache_is_that_of_the_new_tokens(build):
    refs = references("qwen3")
    ids, mask = refs["ids_1"], np.ones_like(refs["mask_1"])
    text = build(checkpoint("qwen3"), "--pooling", "last", "--kv-cache")
    caches = [value.name for value in text.get_inputs() if value.name.startswith("past")]
    shape = next(value.shape for value in text.get_inputs() if value.name.startswith("past"))
    batch, seq = ids.shape

    def step(begin, end, past):
        feeds = {"input_ids": ids[:, begin:end], "attention_mask": mask[:, :end],
                 "position_ids": np.broadcast_to(np.arange(begin, end), [batch, end - begin]).copy()}
        return text.run(None, feeds | dict(zip(caches, past)))
    empty = [np.zeros([batch, shape[1], 0, shape[3]], np.float32)] * len(caches)
    whole = step(0, seq, empty)[0]
    after = step(3, seq, step(0, 3, empty)[1:])[0]
    assert np.abs(whole - after).max() <= 2e-5


@pytest.mark.parametrize("target", TOLERANCE)
@pytest.mark.parametrize("family", FAMILIES)
def test_scores_are_of_the_last_token(build, scores_checkpoint, family, target):
    refs = references(family)
    text = build(scores_checkpoint(family, pad_token_id=None), "--target", target)
    for i in (0, 1):
        scores = text.run(None, feeds_of(refs, i))[0]
        logits = refs[f"logits_{i}"]
        expected = logits[np.arange(len(logits)), last_of(refs[f"mask_{i}"])][:, LABELS]
        assert scores.shape == expected.shape and scores.dtype == np.float32
        assert np.abs(scores - expected).max() <= TOLERANCE[target]


def test_tokens_of_padding_have_no_score(build, scores_checkpoint):
    """As transformers has it: the last token that is not pad_token_id, though the mask may have it; 0 where all are."""
    text = build(scores_checkpoint("qwen3", pad_token_id=5))
    ids = np.array([[9, 8, 7, 5, 5], [9, 8, 7, 6, 4], [5, 5, 5, 5, 5], [5, 9, 5, 9, 9]])
    mask = np.ones_like(ids)
    mask[3, 4:] = 0
    all_tokens = build(checkpoint("qwen3")).run(None, {"input_ids": ids, "attention_mask": mask})[0]
    found = text.run(None, {"input_ids": ids, "attention_mask": mask})[0]
    assert np.abs(found - all_tokens[np.arange(4), [2, 4, 0, 3]][:, LABELS]).max() <= 2e-5


@pytest.mark.parametrize("family", ["llama", "qwen2_vl"])
def test_scores_of_tokens(build, scores_checkpoint, family):
    refs, bias = references(family), np.array([0.5, -1, 2], np.float32)
    text = build(scores_checkpoint(family, "ForTokenClassification", bias))
    scores = text.run(None, feeds_of(refs, 0))[0]
    real = refs["mask_0"] == 1
    assert np.abs(scores - refs["logits_0"][:, :, LABELS] - bias)[real].max() <= 2e-5


@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize("family", ["qwen2", "qwen3", "phi3", "qwen3_vl"])
def test_directml_takes_every_node_and_sizes_are_proven(thaw, tmp_path, scores_checkpoint, family, dtype):
    ranges = ["--sizes", "batch=1..16,seq=1..32768"]
    folder = scores_checkpoint(family)
    for name, options in (("scores", []), ("pooled", ["--pooling", "last"])):
        out = tmp_path / name
        thaw("build", folder, "-o", out, "--part", "text", "--dtype", dtype, "--target", "directml", *options, code=0)
        report = thaw.json("check", out / "text.onnx", "--target", "directml", *ranges, code=0)
        # Token ids are below the rows of their table, or not: no size decides it.
        assert {f["code"] for f in report["findings"]} <= {"THAW043"} and report["proof"]["refuted"] == report["proof"]["unknown"] == 0


@pytest.mark.parametrize("config, words", [
    (with_architecture("Qwen3ForQuestionAnswering"), ["'Qwen3ForQuestionAnswering'", "--pooling none", "thaw lift"]),
    (with_architecture("Qwen3ForRewardModel"), ["'Qwen3ForRewardModel'", "…ForSequenceClassification"]),
    (with_architecture("Qwen3BidirectionalModel"), ["'Qwen3BidirectionalModel'", "three sizes", "thaw lift"]),
    (with_architecture("Qwen3ForCausalLM", is_causal=False), ["'is_causal' is false"]),
    (with_architecture("Qwen3Model", use_bidirectional_attention=True), ["'use_bidirectional_attention' is true"]),
    (with_architecture("Qwen3ForSequenceClassification"), ["'score.weight' is missing", "[2, 32]"]),
    (with_architecture("Gemma9ForCausalLM", model_type="gemma9"), ["'gemma9'", "three sizes", "thaw lift"]),
])
def test_what_is_not_known_is_refused(thaw, tmp_path, config, words):
    folder = copy_checkpoint(checkpoint("qwen3"), tmp_path / "checkpoint", config=config)
    message = thaw.error("build", folder, "-o", tmp_path / "out")
    assert all(word in message for word in words), message
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("architecture, options, words", [
    ("Qwen3ForSequenceClassification", ["--kv-cache"], ["--kv-cache", "scores"]),
    ("Qwen3ForSequenceClassification", ["--genai"], ["--genai", "no logits"]),
    ("Qwen3Model", ["--genai"], ["--genai", "…ForCausalLM"]),
    ("Qwen3VLForConditionalGeneration", ["--part", "vision", "--pooling", "last"], ["--pooling", "'vision'"]),
])
def test_options_that_do_not_go_with_a_head(thaw, tmp_path, architecture, options, words):
    family = "qwen3_vl" if "VL" in architecture else "qwen3"
    folder = copy_checkpoint(checkpoint(family), tmp_path / "checkpoint", config=with_architecture(architecture))
    message = thaw.error("build", folder, "-o", tmp_path / "out", *options)
    assert all(word in message for word in words), message
    assert not (tmp_path / "out").exists()


def test_hidden_states_of_a_head_that_is_not_known(build, tmp_path):
    folder = copy_checkpoint(checkpoint("qwen3"), tmp_path / "checkpoint",
                             config=with_architecture("Qwen3ForQuestionAnswering"))
    assert build(folder, "--pooling", "none").get_outputs()[0].name == "last_hidden_state"


def test_an_embedder_that_is_called_a_decoder_is_told(thaw, tmp_path):
    """As Qwen3-Embedding is stored: without `model.`, tied, as …ForCausalLM."""
    folder = copy_checkpoint(checkpoint("qwen2"), tmp_path / "checkpoint", bare)
    (folder / "modules.json").write_text(json.dumps([{"idx": 0, "name": "0", "path": "", "type": "Transformer"}]))
    report = thaw.json("build", folder, "-o", tmp_path / "out", code=0)
    assert any("--pooling last" in warning for warning in report["warnings"])
    report = thaw.json("build", folder, "-o", tmp_path / "out", "--pooling", "last", code=0)
    assert report["warnings"] == []
    assert session(tmp_path / "out" / "text.onnx").get_outputs()[0].name == "sentence_embedding"
