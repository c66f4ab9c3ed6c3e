"""Models that are quantized, what they are fed, and onnxruntime's quantizer on them: for tests and benchmarks of INT8."""
import functools
import logging
import platform
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnx.version_converter
import pytest
from onnx import numpy_helper

import conftest
from half_nets import graphs_of

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


def graphs(graph):
    """It and those inside it."""
    yield graph
    for inner in graphs_of(graph):
        yield from graphs(inner)


@functools.cache
def overflows():
    """Whether this processor adds two products of uint8 and int8 in 16 bits, where they overflow: x86 without VNNI."""
    return platform.machine() in ("x86_64", "AMD64") and "vnni" not in Path("/proc/cpuinfo").read_text()


def skip_where_integers_overflow():
    if overflows():
        pytest.skip("this processor has no VNNI: products of uint8 and int8 overflow, so that figures of 8 bits are not the model's")


def run(model, feeds, names=None):
    """As a test's `run`; skips where the figures would be this processor's and not the model's."""
    return session(model).run(names, feeds)


def session(model):
    """As a test's `session`; skips as `run` does."""
    if overflows():
        made = onnx.load(model, load_external_data=False) if isinstance(model, str | Path) else model
        if any(tensor.data_type == onnx.TensorProto.INT8 for graph in graphs(made.graph) for tensor in graph.initializer):
            skip_where_integers_overflow()
    return conftest.session(model)


def sqnr(before, after, feeds):
    """As `signal_to_noise`; skips as `run` does."""
    return signal_to_noise(before, after, feeds, session)


def signal_to_noise(before, after, feeds, session=conftest.session):
    """In decibels, over all outputs and samples."""
    noise = signal = 0.0
    before, after = session(before), session(after)
    for fed in feeds:
        for wanted, got in zip(before.run(None, fed), after.run(None, fed), strict=True):
            assert wanted.shape == got.shape and wanted.dtype == got.dtype
            signal += float(np.square(wanted.astype(np.float64)).sum())
            noise += float(np.square(wanted.astype(np.float64) - got).sum())
    return 10 * np.log10(signal / noise) if noise else np.inf


def squared_error(before, after, feeds):
    before, after = session(before), session(after)
    return sum(float(np.square(w.astype(np.float64) - g).sum())
               for fed in feeds for w, g in zip(before.run(None, fed), after.run(None, fed), strict=True))


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
    from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process
    logging.disable(logging.WARNING)
    ready, out = path.with_name(path.stem + "_ready.onnx"), path.with_name(path.stem + "_peer.onnx")
    made = onnx.load(path)
    if made.opset_import[0].version < 13:  # it writes scales by channel all the same, which no runtime takes
        made = onnx.version_converter.convert_version(made, 13)
    onnx.save(made, ready)
    quant_pre_process(str(ready), str(ready), skip_symbolic_shape=True)
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
