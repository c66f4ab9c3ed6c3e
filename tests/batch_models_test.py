"""thaw batch on whole models: row i of the result equals the original on sample i."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from conftest import need_package, need_shared, session
from models import ocr, scrfd, vit

TOLERANCE = 1e-5


def samples_agree(single, batched, samples, shared=None, relative=False):
    """samples: feeds of one sample each, in the shapes the single model takes. Returns the worst difference, as a part of
    the largest element where `relative`, for values of any size."""
    one, many = session(single), session(batched)
    ranks = {i.name: len(i.shape) for i in many.get_inputs()}
    feed = dict(shared or {})
    for name in samples[0]:
        values = [s[name] for s in samples]
        feed[name] = np.concatenate(values) if ranks[name] == values[0].ndim else np.stack(values)
    results = many.run(None, feed)
    names = [o.name for o in one.get_outputs()]
    assert [o.name for o in many.get_outputs()] == names
    worst = 0.0
    for k, sample in enumerate(samples):
        for wanted, result in zip(one.run(None, {**sample, **(shared or {})}), results):
            assert len(result) == len(samples)
            got = result[k] if result.ndim == wanted.ndim + 1 else result[k:k + 1]
            assert got.shape == wanted.shape
            scale = max(1.0, float(np.abs(wanted).max(initial=0))) if relative else 1.0
            worst = max(worst, float(np.abs(got.astype(np.float64) - wanted).max(initial=0)) / scale)
    return worst


def images(count, height, width, name, seed=0):
    rng = np.random.default_rng(seed)
    return [{name: rng.standard_normal((1, 3, height, width), dtype=np.float32)} for _ in range(count)]


@pytest.fixture
def batch(thaw, tmp_path):
    def make(model, *args):
        out = tmp_path / "batched.onnx"
        report = thaw.json("batch", model, "-o", out, *args, code=0)
        return out, report
    return make


@pytest.mark.parametrize("count, height, width", [(1, 96, 160), (2, 128, 96), (7, 64, 64), (32, 64, 96)])
def test_a_detector_whose_heads_merge_the_batch(thaw, save, batch, tmp_path, count, height, width):
    """Transpose(2, 3, 0, 1) -> Reshape(-1, 1): no renaming of dims gives these a batch."""
    model = save(scrfd.model())
    batched, report = batch(model)
    fixed = tmp_path / "fixed.onnx"
    thaw("fix", model, "-o", fixed, code=0)  # as it is, ONNX Runtime fails at most sizes
    name = report["inputs"][0]["name"]
    assert samples_agree(fixed, batched, images(count, height, width, name)) <= TOLERANCE


def test_the_outputs_of_the_detector_have_the_batch_first(thaw, save, batch):
    batched, _ = batch(save(scrfd.model()), "--name", "images")
    outputs = thaw.json("inspect", batched)["outputs"]
    assert {(o["dims"][0], o["dims"][2]) for o in outputs} == {("images", 1), ("images", 4), ("images", 10)}
    assert [f["code"] for f in thaw.findings(batched) if f["severity"] == "error"] == []


@pytest.mark.parametrize("width", [200, 320])
def test_text_recognition_with_a_hard_coded_batch(save, batch, width):
    """A Reshape to [1, ...] and one that a -1 hides."""
    for hide in (False, True):
        model = save(ocr.static(1, width, hide_batch=hide), f"ocr_{hide}")
        batched, _ = batch(model)
        samples = [ocr.feeds(1, width, seed=s) for s in range(5)]
        assert samples_agree(model, batched, samples) <= TOLERANCE


def test_a_vision_transformer_traced_at_one_image(save, batch):
    for kind in ("table", "resize"):
        model = save(vit.static(12, 20, kind=kind), f"vit_{kind}")
        batched, _ = batch(model)
        samples = [vit.feeds(1, 12, 20, seed=s) for s in range(3)]
        assert samples_agree(model, batched, samples) <= TOLERANCE


@pytest.mark.parametrize("file, sizes", [("ch_PP-OCRv4_det_infer.onnx", [(96, 160), (64, 64)]),
                                         ("ch_PP-OCRv4_rec_infer.onnx", [(48, 160), (48, 328)]),
                                         ("ch_ppocr_mobile_v2.0_cls_infer.onnx", [(48, 192)])])
def test_real_models_that_take_a_batch_already_stay_right(batch, file, sizes):
    model = need_package("rapidocr_onnxruntime") / "models" / file
    batched, _ = batch(model)
    for height, width in sizes:
        assert samples_agree(model, batched, images(3, height, width, "x")) <= TOLERANCE


@pytest.mark.parametrize("file, sample", [("silero_vad_op18_ifless.onnx", []),
                                          ("silero_vad_16k_op15.onnx", ["--sizes", "sequence=576"]),
                                          ("silero_vad_half.onnx", ["--sizes", "sequence=576"])])
def test_voice_detection_with_its_states(batch, file, sample):
    model = need_package("silero_vad") / "data" / file
    batched, report = batch(model, "--inputs", "input,state", *sample)
    assert [n["after"] for n in report["inputs"] if n["name"] == "state"] == ["float32[batch, 2, 1, 128]"]
    rng = np.random.default_rng(4)
    samples = [dict(input=rng.standard_normal((1, 576), dtype=np.float32), state=rng.standard_normal((2, 1, 128), dtype=np.float32))
               for _ in range(5)]
    takes_rate = any(i.name == "sr" for i in session(model).get_inputs())
    assert samples_agree(model, batched, samples, dict(sr=np.array(16000)) if takes_rate else {}) <= TOLERANCE


@pytest.mark.parametrize("rate, size", [(16000, 576), (8000, 288)])
def test_voice_detection_at_two_rates_in_one_if(batch, rate, size):
    """Each rate has a branch of its own, where `If(size == 1) Squeeze` can go one way only: sizes stay free for both."""
    model = need_package("silero_vad") / "data" / "silero_vad.onnx"
    batched, report = batch(model, "--inputs", "input,state", "--sizes", "input_dim0=1,state_dim1=1")
    assert [n["after"] for n in report["inputs"] if n["after"] != n["before"]] == ["float32[batch, ?]", "float32[batch, 2, 1, 128]"]
    rng = np.random.default_rng(rate)
    samples = [dict(input=rng.standard_normal((1, size), dtype=np.float32), state=rng.standard_normal((2, 1, 128), dtype=np.float32))
               for _ in range(5)]
    assert samples_agree(model, batched, samples, dict(sr=np.array(rate))) <= TOLERANCE


def test_voice_detection_over_a_sequence_of_windows(batch):
    batched, _ = batch(need_package("silero_vad") / "data" / "silero_vad_16k_sequence.onnx")
    model = need_package("silero_vad") / "data" / "silero_vad_16k_sequence.onnx"
    rng = np.random.default_rng(3)
    state = lambda: rng.standard_normal((1, 1, 128), dtype=np.float32)
    samples = [dict(input=rng.standard_normal((11, 576), dtype=np.float32), h=state(), c=state()) for _ in range(3)]
    assert samples_agree(model, batched, samples) <= TOLERANCE


def test_scrfd_itself(thaw, batch, tmp_path):
    model = need_shared("models/scrfd_2.5g.onnx")
    batched, _ = batch(model)
    fixed = tmp_path / "fixed.onnx"
    thaw("fix", model, "-o", fixed, code=0)
    for count, height, width in [(1, 320, 256), (2, 192, 352), (7, 224, 224), (32, 160, 128)]:
        assert samples_agree(fixed, batched, images(count, height, width, "input.1")) <= TOLERANCE


def quantized(save, tmp_path, how):
    """A model in 8 bit, by ONNX Runtime's tools: dynamic, or static in one of its two formats."""
    quantization = pytest.importorskip("onnxruntime.quantization")
    out = tmp_path / "quantized.onnx"
    if how == "dynamic":
        quantization.quantize_dynamic(save(vit.static(12, 20, kind="table")), out, weight_type=quantization.QuantType.QInt8)
        return out

    class Images(quantization.CalibrationDataReader):
        def __init__(self):
            self.feeds = iter(images(4, 64, 96, scrfd.model().graph.input[0].name))

        def get_next(self):
            return next(self.feeds, None)

    detector = scrfd.model()
    del detector.graph.value_info[:]  # what is declared there does not hold
    quantization.quantize_static(save(detector), out, Images(), quant_format=quantization.QuantFormat[how])
    return out


@pytest.mark.parametrize("how", ["dynamic", "QDQ", "QOperator"])
def test_models_in_8_bit(save, batch, tmp_path, how):
    """Dynamic: a scale for each sample, found when it runs, as the model alone finds it."""
    model = quantized(save, tmp_path, how)
    batched, _ = batch(model, "--no-check")
    name = onnx.load(model).graph.input[0].name
    samples = ([{name: vit.feeds(1, 12, 20, seed=k)[name] * (k + 1)} for k in range(5)] if how == "dynamic"
               else images(3, 64, 96, name))
    assert samples_agree(model, batched, samples) <= TOLERANCE


def sized_by_data():
    """Rows that are positive: their number differs from sample to sample, and then their sum."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 6])
    y = helper.make_tensor_value_info("y", TensorProto.INT64, None)
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("NonZero", ["r"], ["y"], name="find")]
    return helper.make_model(helper.make_graph(nodes, "g", [x], [y]), opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_what_cannot_be_batched_is_named_with_the_reason(thaw, save, tmp_path):
    message = thaw.error("batch", save(sized_by_data()), "-o", tmp_path / "out.onnx")
    assert "'find'" in message and "depends on its data" in message and "--allow-loop" in message
    assert not (tmp_path / "out.onnx").exists()


def test_an_operator_without_a_rule_runs_sample_by_sample_where_that_is_allowed(save, batch):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 11, 7])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    regions = numpy_helper.from_array(np.array([[0, 0, 0, 5, 6], [0, 1, 2, 6, 10], [0, 2, 1, 3, 4]], np.float32), "regions")
    nodes = [helper.make_node("Neg", ["x"], ["n"]), helper.make_node("MaxRoiPool", ["n", "regions"], ["y"], name="pool", pooled_shape=[2, 3])]
    model = save(helper.make_model(helper.make_graph(nodes, "g", [x], [y], [regions]),
                                   opset_imports=[helper.make_opsetid("", 17)], ir_version=9))
    batched, report = batch(model, "--allow-loop")
    assert ["pool" in n["where"] for n in report["per_sample_nodes"]] == [True]
    assert "Scan" in {n.op_type for n in onnx.load(batched).graph.node}
    rng = np.random.default_rng(2)
    samples = [dict(x=rng.standard_normal((1, 2, 11, 7), dtype=np.float32)) for _ in range(5)]
    assert samples_agree(model, batched, samples) <= TOLERANCE


def test_a_new_axis_before_a_fixed_one(save, batch, thaw):
    model = save(vit.static(12, 20, kind="table"))
    batched, _ = batch(model, "--new-axis", "--name", "samples")
    dims = [i["dims"] for i in thaw.json("inspect", batched)["inputs"]]
    assert dims[0][:2] == ["samples", "batch"]
    samples = [vit.feeds(1, 12, 20, seed=s) for s in range(3)]
    assert samples_agree(model, batched, samples) <= TOLERANCE


@pytest.mark.parametrize("args, words", [
    (["--inputs", "nothing"], ["no input 'nothing'", "expected one of"]),
    (["--sizes", "height=3"], ["there is no size 'height'"]),
])
def test_wrong_calls(thaw, save, tmp_path, args, words):
    message = thaw.error("batch", save(sized_by_data()), "-o", tmp_path / "out.onnx", *args)
    assert all(word in message for word in words), message
