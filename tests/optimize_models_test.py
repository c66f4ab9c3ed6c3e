"""thaw optimize on whole models: the same numbers at four sizes, symbols alive, no new finding, nothing left to do."""
import numpy as np
import onnx
import pytest

from batch_random_test import random_model
from conftest import need_package, need_shared, session
from fix_property_test import errors
from models import scrfd
from models.families import FAMILIES

TOLD = {"audio_encoder", "image_crops"}  # whose traces run with the masks and sizes that they were made with alone
TOLERANCE = 1e-5  # of the largest element; fused kernels of ONNX Runtime round otherwise than what they stand for


def differs(before, after, feed):
    worst = 0.0
    for wanted, got in zip(session(before).run(None, feed), session(after).run(None, feed), strict=True):
        assert got.dtype == wanted.dtype and got.shape == wanted.shape
        scale = float(np.abs(wanted.astype(np.float64)).max(initial=1e-6))
        worst = max(worst, float(np.abs(got.astype(np.float64) - wanted).max(initial=0)) / scale)
    return worst


def declared(path):
    return {v.name: [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim]
            for v in onnx.load(path, load_external_data=False).graph.input}


def optimized(thaw, model, out, *options):
    """Optimizes, and holds what must hold of every result. Returns the report."""
    report = thaw.json("optimize", model, "-o", out, *options, code=0)
    assert all(check["agrees"] for check in report["checks"])
    assert declared(out) == declared(model)
    assert set(errors(thaw, out)) <= set(errors(thaw, model)), "a finding that was not there"
    assert thaw.json("optimize", out, "--dry-run", code=0)["changed"] == []
    assert report["nodes_after"] <= report["nodes_before"]
    return report


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_a_network_with_free_sizes(thaw, save, tmp_path, family):
    model, out = save(family.dynamic()), tmp_path / "out.onnx"
    optimized(thaw, model, out)
    for size in (*family.sizes, *family.unseen):
        assert differs(model, out, family.feeds(*size)) <= TOLERANCE


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_a_static_trace(thaw, save, tmp_path, family):
    size = family.sizes[0]
    model, out = save(family.static(*size)), tmp_path / "out.onnx"
    report = optimized(thaw, model, out, *(["--no-check"] if family.name in TOLD else []))
    assert report["nodes_after"] < report["nodes_before"]
    assert differs(model, out, family.feeds(*size, True)) <= TOLERANCE


def test_a_detector(thaw, save, tmp_path):
    model, out = save(scrfd.model()), tmp_path / "out.onnx"
    optimized(thaw, model, out)


def test_a_reader_of_text(thaw, save, tmp_path):
    package = need_package("rapidocr_onnxruntime")
    for path in sorted((package / "models").glob("*.onnx")):
        optimized(thaw, path, tmp_path / path.name)


@pytest.mark.parametrize("first", range(0, 100, 25))
def test_random_graphs(thaw, save, tmp_path, first):
    for seed in range(first, first + 25):
        model, inputs, g = random_model(seed)
        if not model.graph.output:
            continue
        before, after = save(model), tmp_path / "after.onnx"
        thaw("optimize", before, "-o", after, "--no-check", code=0)
        assert thaw.json("optimize", after, "--dry-run", code=0)["changed"] == [], f"seed {seed}"
        feed = {name: g.random.standard_normal(shape).astype(np.float32) for name, shape in inputs.items()}
        assert differs(before, after, feed) <= TOLERANCE, f"seed {seed}"


@pytest.mark.parametrize("path", ["fixtures/qwen2_5_vl/trace_22x30.onnx", "fixtures/qwen3_asr/trace_1000.onnx", "models/scrfd_2.5g.onnx"])
def test_shared_models(thaw, tmp_path, path):
    optimized(thaw, need_shared(*path.split("/")), tmp_path / "out.onnx", *(["--no-check"] if "asr" in path else []))


def test_a_check_looks_for_integers_that_the_model_takes(thaw, save, tmp_path):
    """A trace that was made with nothing masked runs with a mask of ones alone, which is not what is drawn first."""
    text = """<ir_version: 9, opset_import: ["" : 17]> g (float[n,4] x, int64[40,40] mask) => (float[n,m] y)
    { a = Identity(x) k = ReduceMin<keepdims=0>(mask) two = Constant<value_ints=[2]>() s = Mul(k, two) sizes = Concat<axis=0>(s, two) b, c = Split<axis=1>(a, sizes) y = Sub(b, c) }"""
    path, out = save(onnx.parser.parse_model(text)), tmp_path / "out.onnx"
    report = thaw.json("optimize", path, "-o", out, code=0)
    assert report["checks"] and not report["not_compared"]
