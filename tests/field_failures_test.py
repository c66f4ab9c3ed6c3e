"""The failures of the field, on the project's own models, as ONNX Runtime and onnx show them today."""
import numpy as np
import onnx
import onnxruntime
import pytest

from conftest import run, session
from models import image_crops, ocr, quantized, scrfd


@pytest.mark.parametrize("batch", [1, 5, 32])
def test_one_name_for_all_sizes_makes_onnxruntime_reuse_a_buffer_of_another_size(batch):
    model = scrfd.declare_batch(scrfd.model(), batch)
    message = rf"Shape mismatch attempting to re-use buffer. \{{{batch},8,\d+,\d+\}} != \{{{batch},8,\d+,\d+\}}"
    with pytest.raises(Exception, match=message):
        run(model, scrfd.feeds(batch, 32, 48))
    # Which node meets it first follows from the processor's layouts of convolutions, but where there are none.
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.log_severity_level = 4
    plain = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    message = rf"Resize_\d+.*Shape mismatch attempting to re-use buffer. \{{{batch},8,2,3\}} != \{{{batch},8,4,6\}}"
    with pytest.raises(Exception, match=message):
        plain.run(None, scrfd.feeds(batch, 32, 48))
    assert [y.shape for y in run(scrfd.without_value_info(model), scrfd.feeds(batch, 32, 48))][:3] == \
        [(batch * 24 * 2, 1), (batch * 6 * 2, 1), (batch * 2 * 2, 1)]


def test_stale_value_info_of_a_quantized_model_is_believed():
    model = quantized.model(stale=True, width=28, hidden=112)
    with pytest.raises(Exception, match=r"Inferred shape and existing shape differ in dimension 2: \(112\) vs \(28\)"):
        onnx.shape_inference.infer_shapes(model, strict_mode=True)
    with pytest.raises(Exception, match="Incompatible dimensions for matrix multiplication"):
        session(model)
    fresh = quantized.model(stale=False, width=28, hidden=112)
    assert run(fresh, quantized.feeds(2, 3, width=28))[0].shape == (2, 3, 28)


def test_a_range_over_floats_lands_one_bucket_off_at_21_of_28():
    summed, divided = session(image_crops.bucket_positions()), session(image_crops.bucket_positions(exact=True))
    feeds = {"patches": np.array(28)}
    wrong = np.flatnonzero(summed.run(None, feeds)[0] != image_crops.true_buckets(28))
    assert wrong.tolist() == [21]
    for n in range(1, 33):
        assert (divided.run(None, {"patches": np.array(n)})[0] == image_crops.true_buckets(n)).all()


def test_a_minus_one_hides_a_frozen_width_as_a_larger_batch():
    dynamic, hidden = ocr.dynamic(), ocr.static(3, 44, hide_batch=True)
    assert run(hidden, ocr.feeds(7, 44))[0].shape == (7, 11, ocr.LETTERS)
    assert run(dynamic, ocr.feeds(3, 88))[0].shape == (3, 22, ocr.LETTERS)
    assert run(hidden, ocr.feeds(3, 88))[0].shape == (6, 11, ocr.LETTERS)
