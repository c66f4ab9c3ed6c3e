"""`check` names every size and table that a trace froze: what differs between two traces of one network is the truth.

Each pair is two traces; the constants of the first that are otherwise in the second must each be named by a finding that
says which input the size came from. Models that are dynamic get no such finding.
"""
import itertools

import onnx
import pytest

from conftest import SHARED, need_package, need_shared
from models import truth
from models.families import BY_NAME, FAMILIES
from models.sound import SOUND

# Traces of one network in ../shared/fixtures, by folder and first part of the name.
SHARED_TRACES = ("qwen2_5_vl/trace_text_", "qwen2_5_vl/trace_[0-9]", "qwen3_vl/trace_", "qwen3_asr/trace_",
                 "traces_more/text_", "traces_more/qwen2_5_vl_[0-9]", "traces_more/qwen2_5_vl_gridconst_",
                 "traces_more/qwen3_vl_[0-9]", "traces_more/qwen3_vl_gridconst_", "traces_more/phi4_mm_ts_")


def is_about_sizes(finding):
    """A finding that says that a size was frozen."""
    return bool(finding.get("source"))


def named(findings):
    """The tensors that findings about frozen sizes name, in their own place or a related one."""
    names = set()
    for finding in filter(is_about_sizes, findings):
        places = [finding, finding.get("location") or {}]
        places += [r.get("location") or r for r in finding.get("related") or []]
        names |= {p["tensor"] for p in places if p.get("tensor")}
    return names


def missed(thaw, path, first, second):
    return [n for n in truth.frozen(first, second) if n not in named(thaw.findings(path))]


@pytest.mark.parametrize("name", [f.name for f in FAMILIES])
def test_no_frozen_size_is_missed(thaw, save, name):
    family = BY_NAME[name]
    traces = {size: family.static(*size) for size in family.sizes}
    for size, model in traces.items():
        path = save(model, "x".join(map(str, size)))
        for other in traces.values():
            if other is not model:
                assert missed(thaw, path, model, other) == []


@pytest.mark.parametrize("name", [f.name for f in FAMILIES])
def test_findings_say_which_input_a_size_comes_from(thaw, save, name):
    family = BY_NAME[name]
    first, second = (family.static(*size) for size in family.sizes[:2])
    findings = [f for f in thaw.findings(save(first)) if is_about_sizes(f)]
    frozen = set(truth.frozen(first, second))
    about = [f for f in findings if frozen & named([f])]
    assert about and all(any(source in f["source"] for source in family.sources) for f in about)


@pytest.mark.parametrize("name", [f.name for f in FAMILIES])
def test_a_dynamic_model_has_no_frozen_size(thaw, save, name):
    assert [f for f in thaw.findings(save(BY_NAME[name].dynamic())) if is_about_sizes(f)] == []


@pytest.mark.parametrize("name", SOUND)
def test_constants_that_are_no_sizes_raise_no_alarm(thaw, save, name):
    model, _, _ = SOUND[name]()
    assert [f for f in thaw.findings(save(model)) if is_about_sizes(f) or f["severity"] == "error"] == []


@pytest.mark.parametrize("package, file", [("rapidocr_onnxruntime", "models/ch_PP-OCRv4_det_infer.onnx"),
                                           ("rapidocr_onnxruntime", "models/ch_PP-OCRv4_rec_infer.onnx"),
                                           ("rapidocr_onnxruntime", "models/ch_ppocr_mobile_v2.0_cls_infer.onnx"),
                                           ("silero_vad", "data/silero_vad.onnx"),
                                           ("silero_vad", "data/silero_vad_16k_op15.onnx")])
def test_real_dynamic_models_have_no_frozen_size(thaw, package, file):
    assert [f for f in thaw.findings(need_package(package) / file) if is_about_sizes(f)] == []


@pytest.mark.parametrize("stem", SHARED_TRACES)
def test_no_frozen_size_of_the_shared_traces_is_missed(thaw, stem):
    need_shared("fixtures")
    paths = sorted((SHARED / "fixtures").glob(f"{stem}*.onnx"))
    assert len(paths) > 1
    models = {path: onnx.load(path) for path in paths}
    for first, second in itertools.permutations(paths, 2):
        assert missed(thaw, first, models[first], models[second]) == [], f"{first.name} against {second.name}"
