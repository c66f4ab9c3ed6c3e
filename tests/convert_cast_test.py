"""thaw convert of weights that are stored in 16 bits and read through a Cast, as half-precision checkpoints are exported."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from int8_nets import RNG, model, random, run, samples, sqnr

TYPES = {"f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}
NET = """g (int64[b, s] ids, float[b, s, 64] x) => (float[b, s, 80] y, float[b, s, 48] v) {
  wide = Cast<to = 1>(table) e = Gather(wide, ids)
  h = Add(e, x)
  wider = Cast<to = 1>(w) a = MatMul(h, wider) t = Tanh(a) u = MatMul(t, wider)
  head = Transpose<perm = [1, 0]>(wide) y = MatMul(u, head)
  flat = Constant<value_ints = [-1, 64]>() r = Reshape(h, flat) gw = Cast<to = 1>(g2) gb = Cast<to = 1>(bias)
  p = Gemm<transB = 1>(r, gw, gb) two = Shape<end = 2>(ids) fine = Constant<value_ints = [48]>() size = Concat<axis = 0>(two, fine)
  v = Reshape(p, size)
}"""
SHAPES = {"table": (80, 64), "w": (64, 64), "g2": (48, 64), "bias": (48,)}


@pytest.fixture(params=list(TYPES))
def net(request, save):
    made = model(NET)
    for name, shape in SHAPES.items():
        numbers = onnx.numpy_helper.from_array(random(*shape), name)
        made.graph.initializer.append(cast_tensor(numbers, TYPES[request.param]))
    return save(made, f"net_{request.param}")


def cast_tensor(tensor, data_type):
    numbers = numpy_helper.to_array(tensor).astype(helper.tensor_dtype_to_np_dtype(data_type))
    return numpy_helper.from_array(numbers, tensor.name)


def feeds_of(*sizes):
    return [{"ids": RNG.integers(0, 80, (b, s)), "x": random(b, s, 64)} for b, s in sizes]


@pytest.mark.parametrize("how", ["--to int4", "--to int4 --no-optimize", "--to int4 --form qdq", "--to int2", "--to int3",
                                 "--to int8-blocks --symmetric", "--to int8 --dynamic", "--to int8", "--to int8 --no-optimize",
                                 "--to int8 --per-tensor", "--to int8 --smooth 0.5 --correct-bias"])
def test_weights_behind_casts_are_converted(thaw, tmp_path, net, how):
    feeds = feeds_of((2, 9), (1, 30), (3, 5))
    is_static = (how.startswith("--to int8 ") and "--dynamic" not in how) or how == "--to int8"
    data = ["--data", samples(tmp_path / "s", feeds)] if is_static else []
    out = tmp_path / "out.onnx"
    thaw.json("convert", net, "-o", out, *how.split(), *data)
    onnx.checker.check_model(out, full_check=True)
    tensors = {i.name: i for i in onnx.load(out).graph.initializer}
    # A table that is looked up stays as it was where DequantizeLinear would make numbers of all of it.
    assert {name for name, t in tensors.items() if len(t.dims) == 2 and t.data_type in TYPES.values()} == (
        {"table"} if "qdq" in how else set())
    assert not {name for name in SHAPES if name in tensors and name not in ("table", "bias")}
    codes = [name for name, t in tensors.items() if name.split("_")[-1] in ("quantized", "Q2", "Q3", "Q4", "Q8") and len(t.dims) > 1]
    assert len(codes) == 3, "one of each weight"
    least = {"--to int2": 2, "--to int3": 8}.get(how, 15 if "int4" in how else 24)
    assert sqnr(net, out, feeds_of((2, 11))) > least


def test_what_is_looked_up_in_float16_is_cast_back(thaw, save, tmp_path):
    made = model("""g (int64[n] ids) => (float16[n, 32] e, float[n, 32] y) {
      e = Gather(table, ids) h = Cast<to = 1>(e) wide = Cast<to = 1>(w) y = MatMul(h, wide) }""")
    for name, shape in {"table": (50, 32), "w": (32, 32)}.items():
        made.graph.initializer.append(cast_tensor(numpy_helper.from_array(random(*shape), name), TensorProto.FLOAT16))
    path, feeds = save(made, "looked_up"), [{"ids": np.arange(50)}]
    out = tmp_path / "out.onnx"
    thaw.json("convert", path, "-o", out, "--to", "int8", "--dynamic")
    assert {t.data_type for t in onnx.load(out).graph.initializer if len(t.dims) == 2 and t.dims[1] == 32} == {TensorProto.INT8}
    assert [r.dtype for r in run(out, feeds[0])] == [np.float16, np.float32] and sqnr(path, out, feeds) > 30


def test_half_a_model_in_16_bits_reads_its_weights_as_they_are(thaw, tmp_path, net):
    to = net.stem.split("_")[1]
    out = tmp_path / "out.onnx"
    thaw.json("convert", net, "-o", out, "--to", to)
    assert {t.data_type for t in onnx.load(out).graph.initializer if len(t.dims) == 2} == {TYPES[to]}
    assert out.stat().st_size < 1.2 * net.stat().st_size
