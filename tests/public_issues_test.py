"""docs/cases/public-issues.md: what people reported of other tools, on the smallest model that fails as theirs; then the command, and right numbers.

Issues whose model is a PyTorch module are in python/tests/public_issues_test.py.
"""
import re

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

from conftest import SOURCE, run, session, worst
from models import scrfd

PAGE = SOURCE / "docs" / "cases" / "public-issues.md"
RNG = np.random.default_rng(36)


def model(text, opset=18, **weights):
    made = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : {opset}]>\n{text}')
    made.graph.initializer.extend(numpy_helper.from_array(each, name) for name, each in weights.items())
    return made


def numbers(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def rows(made, feeds):
    """What a model for one sample computes, sample by sample."""
    one = session(made)
    count = len(next(iter(feeds.values())))
    outputs = [one.run(None, {name: array[i:i + 1] for name, array in feeds.items()}) for i in range(count)]
    return [np.concatenate(each) for each in zip(*outputs, strict=True)]


def dims(path, output=0):
    return [dim.dim_param or dim.dim_value for dim in onnx.load(path).graph.output[output].type.tensor_type.shape.dim]


def test_onnx_3483_a_classifier_of_one_sample_takes_32(thaw, save, tmp_path):
    made = model("""g (float[1, 3, 32, 32] x) => (float[1, 10] y) {
      c = Conv<kernel_shape = [3, 3], strides = [2, 2]>(x, w)  p = GlobalAveragePool(c)
      s = Constant<value_ints = [1, 16]>()  q = Reshape(p, s)  y = Gemm(q, v) }""", w=numbers(16, 3, 3, 3), v=numbers(16, 10))
    feeds = {"x": numbers(32, 3, 32, 32)}
    renamed = onnx.ModelProto()
    renamed.CopyFrom(made)
    renamed.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    with pytest.raises(Exception, match=r"Input shape:\{32,16,1,1\}, requested shape:\{1,16\}"):
        run(renamed, feeds)
    thaw("fix", save(made), "-o", tmp_path / "fixed.onnx", code=0)
    assert worst(run(tmp_path / "fixed.onnx", feeds), rows(made, feeds)) < 1e-4


def test_onnxruntime_10463_the_head_of_yolo_takes_a_batch(thaw, save, tmp_path):
    made = model("""g (float[batch, 16, 13, 13] x) => (float[batch, boxes, 85] y) {
      c = Conv<kernel_shape = [1, 1]>(x, w)  s = Constant<value_ints = [1, 3, 85, 13, 13]>()  q = Reshape(c, s)
      t = Transpose<perm = [0, 1, 3, 4, 2]>(q)  e = Sigmoid(t)  u = Constant<value_ints = [1, 507, 85]>()  y = Reshape(e, u) }""",
                 w=numbers(255, 16, 1, 1))
    feeds = {"x": numbers(8, 16, 13, 13)}
    with pytest.raises(Exception, match=r"Input shape:\{8,255,13,13\}, requested shape:\{1,3,85,13,13\}"):
        run(made, feeds)
    thaw("fix", save(made), "-o", tmp_path / "fixed.onnx", code=0)
    assert worst(run(tmp_path / "fixed.onnx", feeds), rows(made, feeds)) < 1e-4


def test_onnxruntime_2779_an_upscaler_takes_images_of_other_sizes(thaw, save, tmp_path):
    text = """g (float[1, 1, height, width] x) => (float[1, 1, out_height, out_width] y) {{
      c = Conv<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(x, w)  s = Constant<value_ints = [1, 1, 3, 3, {0}, {1}]>()  q = Reshape(c, s)
      t = Transpose<perm = [0, 1, 4, 2, 5, 3]>(q)  u = Constant<value_ints = [1, 1, {2}, {3}]>()  y = Reshape(t, u) }}"""
    w = numbers(9, 1, 3, 3)
    made = model(text.format(244, 204, 732, 612), w=w)
    feeds = {"x": numbers(1, 1, 444, 204)}
    with pytest.raises(Exception, match=r"Input shape:\{1,9,444,204\}, requested shape:\{1,1,3,3,244,204\}"):
        run(made, feeds)
    thaw("fix", save(made), "-o", tmp_path / "fixed.onnx", code=0)
    assert worst(run(tmp_path / "fixed.onnx", feeds), run(model(text.format(444, 204, 1332, 612), w=w), feeds)) < 1e-5


def test_insightface_2878_a_detector_of_one_image_takes_five(thaw, save, tmp_path):
    made = scrfd.without_value_info(scrfd.model())
    thaw("batch", save(made), "-o", tmp_path / "batched.onnx", code=0)
    images = scrfd.feeds(5, 64, 96)
    name, pixels = next(iter(images.items()))
    expected = [np.stack(each) for each in zip(*(run(made, {name: pixels[i:i + 1]}) for i in range(5)), strict=True)]
    assert worst(run(tmp_path / "batched.onnx", images), expected) < 1e-4


def test_onnxsim_101_what_was_free_stays_free(thaw, save, tmp_path):
    made = model("""g (float[batch, 3, height, width] x) => (float[batch, features] y) {
      c = Conv<kernel_shape = [3, 3]>(x, w)  s = Shape(c)  i = Constant<value_ints = [0]>()  b = Gather<axis = 0>(s, i)
      m = Constant<value_ints = [-1]>()  t = Concat<axis = 0>(b, m)  y = Reshape(c, t) }""", w=numbers(4, 3, 3, 3))
    thaw("optimize", save(made), "-o", tmp_path / "small.onnx", code=0)
    assert len(onnx.load(tmp_path / "small.onnx").graph.node) == 2 < len(made.graph.node)
    assert dims(tmp_path / "small.onnx")[0] == "batch" and isinstance(dims(tmp_path / "small.onnx")[1], str)
    for shape in ((1, 3, 8, 9), (8, 3, 21, 13)):
        feeds = {"x": numbers(*shape)}
        assert worst(run(tmp_path / "small.onnx", feeds), run(made, feeds)) == 0


def test_onnxconverter_common_320_a_cast_to_float32_is_converted_too(thaw, save, tmp_path):
    made = model("""g (float[batch, 8] x, int64[batch, 1] k) => (float[batch, 8] y) {
      h = MatMul(x, w)  i = Cast<to = 1>(k)  z = Mul(h, i)  y = Relu(z) }""", w=numbers(8, 8))
    thaw("convert", save(made), "-o", tmp_path / "half.onnx", "--to", "f16", code=0)
    converted = onnx.load(tmp_path / "half.onnx")
    assert {each.data_type for each in converted.graph.initializer} == {onnx.TensorProto.FLOAT16}
    feeds = {"x": numbers(3, 8), "k": np.array([[1], [2], [3]])}
    assert worst(run(tmp_path / "half.onnx", feeds), run(made, feeds)) < 0.05


def test_every_issue_of_the_page_has_a_test_and_no_other():
    listed = {f"{repository}_{number}" for repository, number in
              re.findall(r"^\| \[[\w.-]+/([\w.-]+)#(\d+)\]\(https://github\.com/[\w.-]+/\1/issues/\2\)", PAGE.read_text("utf-8"), re.M)}
    tests = [SOURCE / "tests" / "public_issues_test.py", SOURCE / "python" / "tests" / "public_issues_test.py"]
    tested = {f"{name.replace('_', '-')}_{number}" for path in tests
              for name, number in re.findall(r"^def test_(\w+?)_(\d+)_", path.read_text("utf-8"), re.M)}
    assert len(listed) == 8 and listed == tested
