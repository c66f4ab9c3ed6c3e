"""The detector that calls every size `?`: named before it runs, mended, and proven, with the batch declared as the field
did. On the project's own network and, where it is there, on the field's."""
import numpy as np
import onnx
import pytest

from conftest import need_shared, run, session, worst
from models import scrfd

SIZES = ((320, 256), (96, 160), (224, 352), (160, 416), (352, 96), (416, 224))


@pytest.fixture(params=["own", "shared"])
def detector(request):
    return scrfd.model() if request.param == "own" else onnx.load(need_shared("models", "scrfd_2.5g.onnx"))


def sweep(path):
    value = session(path).get_inputs()[0]
    names = [f"{value.name}_dim{i}" if not isinstance(d, str) or not d.isidentifier() else d
             for i, d in enumerate(value.shape)]
    return "; ".join(f"{names[2]}={h},{names[3]}={w}" for h, w in SIZES)


def test_check_names_the_clash(thaw, save, detector):
    findings = thaw.findings(save(scrfd.declare_batch(detector, 32)))
    clashes = [f for f in findings if "'?'" in f["message"]]
    names = {v.name for v in [*detector.graph.value_info, *detector.graph.input, *detector.graph.output]}
    places = [[f["location"], *(r["location"] for r in f.get("related", []) if "location" in r)] for f in clashes]
    both = [{p.get("tensor") for p in pair} & names for pair in places]
    assert any(len(pair) >= 2 for pair in both), "no finding names two tensors"


@pytest.mark.parametrize("batch", [1, 5])
def test_the_mended_detector_agrees_with_the_original(thaw, save, tmp_path, detector, batch):
    broken, mended = save(scrfd.declare_batch(detector, batch), "broken"), tmp_path / "mended.onnx"
    thaw("fix", broken, "-o", mended, code=0)
    reference = session(scrfd.without_value_info(scrfd.declare_batch(detector, batch)))
    fixed = session(mended)
    for h, w in SIZES:
        feeds = scrfd.feeds(batch, h, w)
        assert worst(fixed.run(None, feeds), reference.run(None, feeds)) < 1e-4
    report = thaw.json("verify", mended, "--against", broken, "--sizes", sweep(mended), code=0)
    assert report["accepted"] and len(report["points"]) == len(SIZES)


def test_the_mended_detector_runs_the_batch_that_failed(thaw, save, tmp_path, detector):
    broken, mended = save(scrfd.declare_batch(detector, 32), "broken"), tmp_path / "mended.onnx"
    feeds = scrfd.feeds(32, 64, 96)
    with pytest.raises(Exception, match="re-use buffer"):
        run(broken, feeds)
    thaw("fix", broken, "-o", mended, code=0)
    assert all(np.isfinite(y).all() for y in run(mended, feeds))
    assert not [f for f in thaw.findings(mended) if "'?'" in f["message"]]
