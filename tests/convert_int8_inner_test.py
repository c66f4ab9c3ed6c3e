"""thaw convert --to int8 of what stands inside If, Loop and Scan: ranges measured inside, each weight stored once."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto

from convert_int8_test import convert
from int8_nets import RNG, graphs, model, random, samples, skip_where_integers_overflow, sqnr


@pytest.fixture(autouse=True)
def _the_same_numbers_in_any_order():
    RNG.bit_generator.state = np.random.default_rng(7).bit_generator.state


def inner_ops(path):
    return [node.op_type for graph in list(graphs(onnx.load(path).graph))[1:] for node in graph.node]


def stored(path):
    """Numbers of float32, and codes of weights, by name."""
    tensors = [i for graph in graphs(onnx.load(path).graph) for i in graph.initializer]
    return (sorted(i.name for i in tensors if i.data_type == TensorProto.FLOAT and len(i.dims) > 1),
            sorted(i.name for i in tensors if i.data_type == TensorProto.INT8 and len(i.dims) > 1))


@pytest.fixture
def merged(save):
    """As decoders are merged: one set of weights, read in both branches, whose names are the same and whose numbers are not."""
    return save(model("""g (float[b, s, 16] x, bool first) => (float[b, s, 16] y) {
      h = MatMul(x, w0)
      y = If(first)<then_branch = t () => (float[b, s, 16] o) { a = MatMul(h, w1) c = Relu(a) o = MatMul(c, w2) },
                    else_branch = e () => (float[b, s, 16] p) { k = Mul(h, fifty) d = MatMul(k, w1) f = Relu(d) p = MatMul(f, w2) }>
    }""", w0=random(16, 16), w1=random(16, 32), w2=random(32, 16), fifty=np.float32(50)), "merged")


def feeds_of(merged_first):
    return [{"x": random(2, 7, 16, scale=1), "first": np.array(first)} for first in merged_first]


@pytest.mark.parametrize("how", ["minmax", "percentile", "entropy", "mse", "dynamic"])
def test_both_branches_of_an_if(thaw, tmp_path, merged, how):
    feeds = feeds_of([True, False] * 3)
    options = ["--dynamic"] if how == "dynamic" else ["--data", samples(tmp_path / "s", feeds), "--range", how]
    out, report = convert(thaw, merged, *options)
    assert {n["where"] for n in report["converted"]} == {"h", "a", "o", "d", "p"} and not report["not_converted"]
    assert stored(out) == ([], ["w0_quantized", "w1_quantized", "w2_quantized"])
    assert inner_ops(out).count("MatMulInteger" if how == "dynamic" else "QuantizeLinear") == (4 if how == "dynamic" else 3)
    for first in (True, False):
        assert sqnr(merged, out, feeds_of([first])) > 27


def test_a_branch_that_no_sample_takes_has_its_weights_alone_in_8_bits(thaw, tmp_path, merged):
    out, report = convert(thaw, merged, "--data", samples(tmp_path / "s", feeds_of([True] * 12)))
    assert {n["where"]: n["message"] for n in report["not_converted"]} == dict.fromkeys(("d", "p"), "int8: no sample runs its subgraph: only its weights are quantized")
    assert stored(out) == ([], ["w0_quantized", "w1_quantized", "w2_quantized"])
    for first in (True, False):
        assert sqnr(merged, out, feeds_of([first])) > 27


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_bodies_of_loops_and_scans(thaw, save, tmp_path, dynamic):
    path = save(model("""g (float[n, 16] x, int64 rounds, float[s, n, 16] steps, int64[n] ids) => (float[n, 16] y, float[r, n, 16] all, float[n, 16] z) {
      go = Constant<value_ints = [1]>() one = Constant<value_ints = [0]>() yes = Cast<to = 9>(go) t = Squeeze(yes, one)
      y, all = Loop(rounds, t, x)<body = b (int64 i, bool c, float[n, 16] h) => (bool d, float[n, 16] next, float[n, 16] seen) {
        d = Identity(c) u = MatMul(h, w1) v = Tanh(u) next = MatMul(v, w2) e = Gather(table, ids) seen = Add(next, e) }>
      z, outs = Scan(x, steps)<num_scan_inputs = 1, body = q (float[n, 16] state, float[n, 16] step) => (float[n, 16] after, float[n, 16] out) {
        m = Add(state, step) r = Gemm<transB = 1>(m, w3, bias) after = Tanh(r) out = Identity(after) }>
    }""", w1=random(16, 16, scale=0.3), w2=random(16, 16, scale=0.3), w3=random(16, 16), bias=random(16), table=random(9, 16)), "rounds")
    feeds = [{"x": random(3, 16, scale=1), "rounds": np.array(rounds), "steps": random(5, 3, 16, scale=1),
              "ids": RNG.integers(0, 9, 3)} for rounds in (4, 2, 0, 3)]
    how = ["--dynamic"] if dynamic else ["--data", samples(tmp_path / "s", feeds), "--range", "entropy"]
    if dynamic:
        skip_where_integers_overflow()
    out, report = convert(thaw, path, *how, "--no-optimize")
    assert {"u", "next", "e", "r"} <= {n["where"] for n in report["converted"]} and not report["not_converted"]
    assert stored(out) == (["table_row_scales"], ["table_quantized", "w1_quantized", "w2_quantized", "w3_quantized"])
    assert sqnr(path, out, feeds) > 25


def test_a_loop_inside_an_if_that_is_not_always_taken(thaw, save, tmp_path):
    path = save(model("""g (float[n, 16] x, bool often, int64 rounds) => (float[n, 16] y) {
      y = If(often)<then_branch = t () => (float[n, 16] o) {
        go = Identity(often)
        o = Loop(rounds, go, x)<body = b (int64 i, bool c, float[n, 16] h) => (bool d, float[n, 16] next) {
          d = Identity(c) u = MatMul(h, w) next = Tanh(u) }> },
                    else_branch = e () => (float[n, 16] p) { p = MatMul(x, w) }>
    }""", w=random(16, 16, scale=0.4)), "nested")
    feeds = [{"x": random(3, 16, scale=1), "often": np.array(often), "rounds": np.array(3)} for often in (True, False, True)]
    out, report = convert(thaw, path, "--data", samples(tmp_path / "s", feeds), "--range", "mse")
    assert {n["where"] for n in report["converted"]} == {"u", "p"} and stored(out) == ([], ["w_quantized"])
    assert sqnr(path, out, feeds) > 30


def test_layers_of_a_detector_of_speech_in_a_branch(thaw, save, tmp_path):
    path = save(model("""g (float[b, t] x, int64 rate, float[1, b, 8] state) => (float[b, 1] y, float[1, b, 8] after) {
      high = Constant<value_int = 16000>() is_high = Equal(rate, high)
      y, after = If(is_high)<then_branch = h () => (float[b, 1] p, float[1, b, 8] s) {
        axis = Constant<value_ints = [1]>() i = Unsqueeze(x, axis)
        c = Conv<strides = [8]>(i, filters, shifts) r = Relu(c) q = Transpose<perm = [2, 0, 1]>(r)
        all, s = LSTM<hidden_size = 8>(q, wx, wh, wb, , state, state)
        last = Squeeze(s) z = Constant<value_ints = [-1, 8]>() l = Reshape(last, z) m = Gemm<transB = 1>(l, head, hb) p = Sigmoid(m) },
                             else_branch = w () => (float[b, 1] v, float[1, b, 8] u) {
        n = ReduceMean<keepdims = 1>(x, ones) v = Sigmoid(n) u = Identity(state) }>
    }""", filters=random(16, 1, 32), shifts=random(16), wx=random(1, 32, 16), wh=random(1, 32, 8), wb=random(1, 64), head=random(1, 8),
                      hb=random(1)), "speech")
    loaded = onnx.load(path)
    loaded.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1]), "ones"))
    onnx.save(loaded, path)
    feeds = [{"x": random(2, t, scale=1), "rate": np.array(16000), "state": random(1, 2, 8)} for t in (256, 512, 320)]
    out, report = convert(thaw, path, "--data", samples(tmp_path / "s", feeds))
    assert not report["not_converted"] and {"Conv", "LSTM", "Gemm", "QuantizeLinear"} <= set(inner_ops(out))
    assert sqnr(path, out, feeds) > 28
