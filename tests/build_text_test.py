"""thaw build's text.onnx and embedding.onnx against transformers' logits and greedy tokens, at sizes that are prime and
differ, with padding at the left and at the right."""
import itertools

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from conftest import SOURCE, session
from models.decoding import Cached, greedy

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
def test_cache_filled_in_steps_equals_one_step(build, family, target):
    refs = references(family)
    text = session(build(family, "--part", "text", "--kv-cache", "--target", target) / "text.onnx")
    length = lambda ids: [0, ids.shape[1]] if family.startswith("phi") else [0, 2, 5, ids.shape[1]]  # see test_longrope

    def steps(ids, mask):
        model, ends = Cached(text, len(ids)), length(ids)
        positions = np.broadcast_to(np.arange(ids.shape[1]), ids.shape)
        return np.concatenate([model(mask[:, :end], positions[:, begin:end], input_ids=ids[:, begin:end])
                               for begin, end in itertools.pairwise(ends)], 1)

    def run(ids, mask):
        if target != "ort":
            return steps(ids, mask)
        # ONNX Runtime's kernel takes several new tokens after a cache in a batch of one only.
        return np.concatenate([steps(ids[i:i + 1], mask[i:i + 1]) for i in range(len(ids))])

    assert worst_logits(run, refs) <= TOLERANCE[target]


@pytest.mark.parametrize("target", TOLERANCE)
def test_longrope_takes_the_long_factors_by_the_furthest_position(build, target):
    """Positions of up to 7 take Phi-3's short factors here, any of 8 or more the long ones: the same tokens at other
    positions give other logits only where that changes the distances' frequencies."""
    refs = references("phi3")
    text = session(build("phi3", "--part", "text", "--kv-cache", "--target", target) / "text.onnx")
    ids, mask = refs["ids_0"][2:], refs["mask_0"][2:]
    at = lambda first: Cached(text, 1)(mask, first + np.arange(7)[None], input_ids=ids)
    near, edge, far, further = at(0), at(1), at(2), at(40)
    assert np.abs(near - refs["logits_0"][2:]).max() <= TOLERANCE[target]
    assert np.abs(edge - near).max() <= 1e-4
    assert np.abs(far - near).max() > 1e-2
    assert np.abs(further - far).max() <= 1e-4


@pytest.mark.parametrize("target", TOLERANCE)
@pytest.mark.parametrize("family", ["qwen2", "qwen3_vl", "phi3"])
def test_a_row_of_padding_alone_harms_no_other(build, family, target):
    refs = references(family)
    text = session(build(family, "--part", "text", "--target", target) / "text.onnx")
    ids, mask = refs["ids_0"], refs["mask_0"].copy()
    mask[1] = 0
    logits = text.run(None, {"input_ids": ids, "attention_mask": mask})[0]
    assert np.isfinite(logits).all()
    assert np.abs(logits - refs["logits_0"])[[0, 2]][mask[[0, 2]] == 1].max() <= TOLERANCE[target]


@pytest.mark.parametrize("cache", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_all_sizes_are_proven(thaw, build, family, cache):
    options = ["--kv-cache"] if cache else []
    text = build(family, "--part", "text", *options) / "text.onnx"
    ranges = "batch=1..16,seq=1..32768" + (",past=0..32768" if cache else "")
    report = thaw.json("check", text, "--sizes", ranges, code=0)
    # Token ids are below the rows of their table, or not: no size decides it.
    assert {f["code"] for f in report["findings"]} == {"THAW043"} and report["proof"]["refuted"] == 0 and report["proof"]["unknown"] == 0
    values = thaw.json("inspect", text, "--tensors")["tensors"]
    assert values and all(dim is not None and dim != "?" for value in values for dim in value["dims"])


@pytest.mark.parametrize("opset", [18, 19])
@pytest.mark.parametrize("target", TOLERANCE)
@pytest.mark.parametrize("family", ["qwen2", "qwen3_vl", "phi3"])
def test_earlier_opsets(build, family, target, opset):
    path = build(family, "--part", "text", "--target", target, "--opset", opset) / "text.onnx"
    versions = {o.domain: o.version for o in onnx.load(path, load_external_data=False).opset_import}
    assert versions[""] == opset and (target == "ort" or versions.keys() == {""})
    text = session(path)
    run = lambda ids, mask: text.run(None, {"input_ids": ids, "attention_mask": mask})[0]
    assert worst_logits(run, references(family)) <= TOLERANCE[target]


@pytest.mark.parametrize("family", ["qwen2", "qwen3_vl", "phi3", "llama"])
def test_bfloat16_stays_near(build, family):
    """Run by ONNX's reference evaluator: ONNX Runtime has no kernels of bfloat16 for CPUs."""
    path = build(family, "--part", "text", "--dtype", "bf16") / "text.onnx"
    onnx.checker.check_model(path, full_check=True)
    text = ReferenceEvaluator(str(path))
    run = lambda ids, mask: text.run(None, {"input_ids": ids, "attention_mask": mask})[0]
    assert worst_logits(run, references(family)) <= 0.5


def test_directml_has_no_bfloat16(thaw, tmp_path):
    message = thaw.error("build", checkpoint("qwen3"), "-o", tmp_path, "--target", "directml", "--dtype", "bf16")
    assert "bfloat16" in message and "f16" in message


@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize("family", FAMILIES)
def test_directml_takes_every_node(thaw, build, family, dtype):
    for cache in ([], ["--kv-cache"]):
        text = build(family, "--part", "text", "--target", "directml", "--dtype", dtype, *cache) / "text.onnx"
        assert thaw.json("check", text, "--target", "directml", code=0)["findings"] == []


@pytest.mark.parametrize("family", FAMILIES)
def test_half_precision_stays_near(build, family):
    """float16 weights and activations, float32 norms, angles, softmax and logits."""
    text = session(build(family, "--part", "text", "--dtype", "f16") / "text.onnx")
    run = lambda ids, mask: text.run(None, {"input_ids": ids, "attention_mask": mask})[0]
    assert worst_logits(run, references(family)) <= 0.06


@pytest.mark.parametrize("dtype, target", [("f16", "portable"), ("f16", "directml"), ("f16", "ort"), ("bf16", "portable"),
                                           ("bf16", "ort")])
def test_types_of_inputs_and_outputs(thaw, build, dtype, target):
    folder = build("qwen3", "--part", "text", "--kv-cache", "--dtype", dtype, "--target", target)
    report = thaw.json("inspect", folder / "text.onnx")
    types = {value["name"]: value["dtype"] for value in report["inputs"] + report["outputs"]}
    half = {"f16": "float16", "bf16": "bfloat16"}[dtype]
    assert types["logits"] == "float32"
    assert types["past_key_values.1.value"] == types["present.0.key"] == half
    assert types["input_ids"] == types["attention_mask"] == types["position_ids"] == "int64"


def test_sizes_have_names_of_their_own(thaw, build):
    folder = build("qwen2_vl", "--part", "text", "--kv-cache")
    report = thaw.json("inspect", folder / "text.onnx")
    dims = {value["name"]: value["dims"] for value in report["inputs"] + report["outputs"]}
    assert dims["input_ids"] == ["batch", "seq"] and dims["position_ids"] == [3, "batch", "seq"]
    assert dims["attention_mask"] == ["batch", "seq + past"]
    assert dims["past_key_values.0.key"] == ["batch", 2, "past", 8]
    assert dims["present.1.value"] == ["batch", 2, "seq + past", 8]
    assert dims["logits"] == ["batch", "seq", 97]
