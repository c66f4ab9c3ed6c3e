"""thaw convert --to int8: weights and activations of 8 bits that keep every size, no worse than ONNX Runtime's quantizer."""
import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, numpy_helper

from conftest import run

F32, I8, U8, I32 = TensorProto.FLOAT, TensorProto.INT8, TensorProto.UINT8, TensorProto.INT32
RNG = np.random.default_rng(7)


def model(text, opset=18, **weights):
    """A model in ONNX's text form, with weights by name."""
    made = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : {opset}]>\n{text}')
    made.graph.initializer.extend(numpy_helper.from_array(np.asarray(w, np.float32), name) for name, w in weights.items())
    return made


def random(*shape, scale=0.2):
    return (RNG.standard_normal(shape) * scale).astype(np.float32)


def samples(folder, feeds):
    """A folder of samples, one for each dict of arrays."""
    folder.mkdir(exist_ok=True)
    for i, arrays in enumerate(feeds):
        np.savez(folder / f"{i:03}.npz", **arrays)
    return folder


def convert(thaw, path, *args, code=0, name="int8"):
    out = path.with_name(f"{path.stem}_{name}.onnx")
    report = thaw.json("convert", path, "-o", out, "--to", "int8", *args, code=code)
    if code == 0:
        onnx.checker.check_model(out, full_check=True)
        onnx.shape_inference.infer_shapes(onnx.load(out), strict_mode=True, check_type=True, data_prop=True)
    return out, report


def ops(path):
    return [node.op_type for node in onnx.load(path).graph.node]


def constants(path):
    return {i.name: numpy_helper.to_array(i) for i in onnx.load(path).graph.initializer}


def sqnr(before, after, feeds):
    """Decibels over all outputs and samples."""
    noise = signal = 0.0
    for fed in feeds:
        for wanted, got in zip(run(before, fed), run(after, fed), strict=True):
            assert wanted.shape == got.shape and wanted.dtype == got.dtype
            signal += float(np.square(wanted.astype(np.float64)).sum())
            noise += float(np.square(wanted.astype(np.float64) - got).sum())
    return 10 * np.log10(signal / noise) if noise else np.inf


def squared_error(before, after, feeds):
    return sum(float(np.square(w.astype(np.float64) - g).sum())
               for fed in feeds for w, g in zip(run(before, fed), run(after, fed), strict=True))


def dims(value):
    return [d.dim_value or d.dim_param for d in value.type.tensor_type.shape.dim]


class Feeds:
    """onnxruntime's reader of samples, over dicts of arrays."""

    def __new__(cls, feeds):
        from onnxruntime.quantization import CalibrationDataReader

        class Reader(CalibrationDataReader):
            def __init__(self):
                self.left = iter(feeds)

            def get_next(self):
                return next(self.left, None)

        return Reader()


def peer(path, feeds, method="MinMax"):
    """The same by onnxruntime.quantization: QDQ, a scale for each channel."""
    import logging

    from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process
    logging.disable(logging.WARNING)
    ready, out = path.with_name(path.stem + "_ready.onnx"), path.with_name(path.stem + "_peer.onnx")
    quant_pre_process(str(path), str(ready), skip_symbolic_shape=True)
    quantize_static(str(ready), str(out), Feeds(feeds), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
                    calibrate_method=getattr(CalibrationMethod, method))
    return out


CONV_NET = """net (float[batch, 3, height, width] x) => (float[batch, 10] y) {
  a0 = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(x, w0, b0)
  a = Relu(a0)
  d0 = Conv<pads = [1, 1, 1, 1], group = 16>(a, wd, bd)
  d = Clip(d0, zero, six)
  p = Conv(d, wp, bp)
  r = Add(p, a)
  m = MaxPool<kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1>(r)
  c = Conv<pads = [1, 1, 1, 1]>(m, wc)
  s = Sigmoid(c)
  h = Mul(c, s)
  v = AveragePool<kernel_shape = [2, 2], strides = [1, 1], pads = [0, 0, 1, 1]>(h)
  j = Concat<axis = 1>(v, m)
  u = Conv(j, wu, bu)
  ur = Relu(u)
  g = GlobalAveragePool(ur)
  f = Flatten(g)
  y = Gemm<transB = 1>(f, wg, bg)
}"""


def conv_net():
    return model(CONV_NET, w0=random(16, 3, 3, 3), b0=random(16), wd=random(16, 1, 3, 3, scale=0.5), bd=random(16),
                 wp=random(16, 16, 1, 1, scale=0.3), bp=random(16), wc=random(24, 16, 3, 3, scale=0.1),
                 wu=random(32, 40, 1, 1), bu=random(32), wg=random(10, 32, scale=0.4), bg=random(10), zero=0.0, six=6.0)


def images(*sizes):
    return [{"x": random(n, 3, h, w, scale=1)} for n, h, w in sizes]


SEEN = [(1, 32, 32), (2, 24, 40), (1, 17, 33), (1, 48, 32)]
UNSEEN = [(1, 40, 40), (3, 32, 24), (1, 65, 31)]


@pytest.fixture(autouse=True)
def _the_same_numbers_in_any_order():
    RNG.bit_generator.state = np.random.default_rng(7).bit_generator.state


@pytest.fixture
def net(save, tmp_path):
    path = save(conv_net(), "net")
    feeds = images(*SEEN)
    return path, feeds, samples(tmp_path / "samples", feeds)


def test_a_net_of_convolutions(thaw, net):
    path, feeds, folder = net
    out, report = convert(thaw, path, "--data", folder)
    found, kept = ops(out), constants(out)
    types = {i.name: i.data_type for i in onnx.load(out).graph.initializer}
    assert {types[f"{w}_quantized"] for w in ("w0", "wd", "wp", "wc", "wu", "wg")} == {I8}
    assert {types[f"{b}_quantized"] for b in ("b0", "bd", "bp", "bu", "bg")} == {I32}
    assert kept["wd_scale"].shape == (16,) and kept["wg_scale"].shape == (10,)
    # A pair each of: x, a, d, p, r, m, c, s, h, v, j, ur, g, f. What is moved or pooled by maximum shares its scale.
    assert found.count("QuantizeLinear") == 14
    assert not [n for n in report["kept"] if "int8" in str(n)]
    before, after = onnx.load(path), onnx.load(out)
    assert [dims(v) for v in after.graph.input] == [dims(v) for v in before.graph.input]
    assert [dims(v) for v in after.graph.output] == [dims(v) for v in before.graph.output]
    assert sqnr(path, out, images(*UNSEEN)) > 25
    assert path.stat().st_size > 2 * len(b"".join(i.raw_data for i in after.graph.initializer if i.data_type == I8))


def test_kernels_of_8_bits_are_found(thaw, net, tmp_path):
    import onnxruntime
    path, _, folder = net
    out, _ = convert(thaw, path, "--data", folder)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.optimized_model_filepath = str(tmp_path / "run.onnx")
    onnxruntime.InferenceSession(str(out), options, providers=["CPUExecutionProvider"])
    found = ops(tmp_path / "run.onnx")
    assert "Conv" not in found and "Gemm" not in found and "Add" not in found, found
    assert found.count("QLinearConv") == 5 and "QGemm" in found and "QLinearAdd" in found and "QLinearConcat" in found
    assert found.count("QuantizeLinear") == 1 and "Relu" not in found and "Clip" not in found


@pytest.mark.parametrize("method", ["minmax", "percentile", "entropy"])
@pytest.mark.parametrize("kind", ["net", "block"])
def test_no_worse_than_onnxruntimes_static_quantizer(thaw, save, tmp_path, kind, method):
    ours, theirs = [], []
    for _ in range(3):
        path = save(conv_net() if kind == "net" else block(), kind)
        # Its histograms need samples of one size.
        feeds = images(*[(1, 32, 32)] * 6) if kind == "net" else tokens(*[(1, 16)] * 6)
        held_out = images(*UNSEEN) if kind == "net" else tokens((3, 5), (1, 64))
        out, _ = convert(thaw, path, "--data", samples(tmp_path / "one", feeds), "--range", method)
        other = peer(path, feeds, {"minmax": "MinMax", "percentile": "Percentile", "entropy": "Entropy"}[method])
        ours.append(sqnr(path, out, held_out))
        theirs.append(sqnr(path, other, held_out))
    assert np.mean(ours) >= np.mean(theirs), (ours, theirs)


BLOCK = """block (float[batch, seq, 32] x) => (float[batch, seq, 32] y) {
  n = LayerNormalization(x, ls, lb)
  q0 = MatMul(n, wq) q = Add(q0, bq)
  k = MatMul(n, wk)
  v = MatMul(n, wv)
  t = Transpose<perm = [0, 2, 1]>(k)
  s = MatMul(q, t)
  p = Softmax(s)
  o = MatMul(p, v)
  z = MatMul(o, wo)
  r = Add(z, x)
  n2 = LayerNormalization(r, ls2, lb2)
  h0 = MatMul(n2, w1) h1 = Add(h0, b1) e = Erf(h1) h = Mul(h1, e)
  d = MatMul(h, w2)
  y = Add(d, r)
}"""


def block(**more):
    return model(BLOCK, **({"ls": random(32) + 1, "lb": random(32), "wq": random(32, 32), "bq": random(32),
                            "wk": random(32, 32), "wv": random(32, 32), "wo": random(32, 32), "ls2": random(32) + 1,
                            "lb2": random(32), "w1": random(32, 64), "b1": random(64), "w2": random(64, 32)} | more))


def tokens(*sizes):
    return [{"x": random(*size, 32, scale=1)} for size in sizes]


def test_a_block_of_a_transformer(thaw, save, tmp_path):
    path = save(block(), "block")
    feeds = tokens((1, 7), (2, 12), (1, 30))
    out, report = convert(thaw, path, "--data", samples(tmp_path / "s", feeds))
    # One pair for all that read a tensor; residuals and norms read and make float32.
    assert ops(out).count("QuantizeLinear") == 4
    assert all(constants(out)[f"{w}_quantized"].dtype == np.int8 for w in ("wq", "wk", "wv", "wo", "w1", "w2"))
    left = [n["message"] for n in report["kept"]]
    assert sum("both of its operands are computed" in m for m in left) == 2
    held_out = tokens((3, 5), (1, 64))
    assert sqnr(path, out, held_out) > 25


def test_without_samples_it_says_so(thaw, net):
    path, _, _ = net
    out = path.with_name("none.onnx")
    said = thaw.error("convert", path, "-o", out, "--to", "int8")
    assert "--data" in said and "--dynamic" in said and not out.exists()
