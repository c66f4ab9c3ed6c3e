"""thaw convert --to int8: weights and activations of 8 bits that keep every size, no worse than ONNX Runtime's quantizer."""
import json
import os
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

from conftest import SOURCE, need_package
from int8_nets import (
    RNG,
    SEEN,
    UNSEEN,
    block,
    conv_net,
    images,
    model,
    peer,
    random,
    run,
    samples,
    skip_where_integers_overflow,
    sqnr,
    squared_error,
    tokens,
)

F32, I8, I32 = TensorProto.FLOAT, TensorProto.INT8, TensorProto.INT32


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


def dims(value):
    return [d.dim_value or d.dim_param for d in value.type.tensor_type.shape.dim]


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
    assert not report["not_converted"]
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


def test_a_block_of_a_transformer(thaw, save, tmp_path):
    path = save(block(), "block")
    feeds = tokens((1, 7), (2, 12), (1, 30))
    out, report = convert(thaw, path, "--data", samples(tmp_path / "s", feeds))
    # One pair for all that read a tensor; residuals and norms read and make float32.
    assert ops(out).count("QuantizeLinear") == 4
    assert all(constants(out)[f"{w}_quantized"].dtype == np.int8 for w in ("wq", "wk", "wv", "wo", "w1", "w2"))
    left = [n["message"] for n in report["not_converted"]]
    assert sum("both operands are computed" in m for m in left) == 2
    held_out = tokens((3, 5), (1, 64))
    assert sqnr(path, out, held_out) > 25


def test_products_of_two_activations_on_request(thaw, save, tmp_path):
    import onnxruntime
    path = save(block(), "block")
    folder = samples(tmp_path / "s", tokens((1, 7), (2, 12), (1, 30)))
    plain, _ = convert(thaw, path, "--data", folder)
    out, report = convert(thaw, path, "--data", folder, "--activation-products", name="products")
    assert not any("computed" in n["message"] for n in report["not_converted"])
    made = {o: n.op_type for n in onnx.load(out).graph.node for o in n.output}
    products = [n for n in onnx.load(out).graph.node if n.op_type == "MatMul"]
    assert len(products) == 8 and all(made.get(i) == "DequantizeLinear" for n in products for i in n.input)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.optimized_model_filepath = str(tmp_path / "run.onnx")
    onnxruntime.InferenceSession(str(out), options, providers=["CPUExecutionProvider"])
    assert "MatMul" not in ops(tmp_path / "run.onnx")
    held_out = tokens((3, 5), (1, 64))
    assert 20 < sqnr(path, out, held_out) < sqnr(path, plain, held_out)
    # A plan says it of single nodes.
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"nodes": [{"name": "s", "to": "int8", "activation_products": True}]}))
    one = path.with_name("one.onnx")
    thaw("convert", path, "-o", one, "--plan", plan, "--data", folder, "--no-optimize", code=0)
    assert ops(one).count("QuantizeLinear") == 2


def test_without_samples_it_says_so(thaw, net):
    path, _, _ = net
    out = path.with_name("none.onnx")
    said = thaw.error("convert", path, "-o", out, "--to", "int8")
    assert "--data" in said and "--dynamic" in said and not out.exists()


def linear(w, **more):
    return model("g (float[n, 8] x) => (float[n, m] y) { y = MatMul(x, w) }", w=w, **more)


def rows(*counts, width=8):
    return [{"x": random(n, width, scale=1)} for n in counts]


# --- Weights of every shape ----------------------------------------------------------------------------------------


def test_a_channel_of_zeros_and_one_that_is_tiny_beside_its_bias(thaw, save, tmp_path):
    w = random(4, 8, 1, 1)
    w[1] = 0
    w[2] *= 1e-12
    path = save(model("g (float[n, 8, h, w] x) => (float[n, 4, h, w] y) { y = Conv(x, k, b) }", k=w, b=[1, 2, 3, 0]), "odd")
    feeds = [{"x": random(1, 8, 5, s, scale=1)} for s in (3, 7)]
    out, _ = convert(thaw, path, "--data", samples(tmp_path / "s", feeds))
    assert all(np.isfinite(a).all() for a in constants(out).values() if a.dtype == np.float32)
    assert (constants(out)["k_quantized"][1] == 0).all()
    (wanted,), (got,) = run(path, feeds[0]), run(out, feeds[0])
    np.testing.assert_allclose(got[:, 1], 2, atol=0.03)
    np.testing.assert_allclose(got[:, 2], 3, atol=0.03)
    np.testing.assert_allclose(got, wanted, atol=0.1)


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_what_cannot_be_quantized_is_listed_with_the_reason(thaw, save, tmp_path, dynamic):
    path = save(model("""g (float[n, 8] x, float[8, 8] other) => (float[n] a, float[n, 8] b, float[n, 0] d) {
      a = MatMul(x, vector)
      b = MatMul(x, other)
      d = MatMul(x, empty)
    }""", vector=random(8), empty=np.zeros((8, 0))), "left")
    feeds = [f | {"other": random(8, 8)} for f in rows(3, 5)]
    how = ["--dynamic"] if dynamic else ["--data", samples(tmp_path / "s", feeds)]
    out, report = convert(thaw, path, *how, "--no-optimize", code=1)
    reasons = {n["where"]: n["message"] for n in report["not_converted"]}
    assert "a vector" in reasons["a"] and "computed" in reasons["b"] and "no elements" in reasons["d"]
    assert "nothing was converted to int8" in report["failures"][0] and not out.exists()


@pytest.mark.parametrize("option", ["--dynamic", "--dynamic --per-tensor", "--dynamic --asymmetric-weights",
                                    "", "--per-tensor", "--asymmetric-weights", "--smooth=0.5"])
def test_weights_that_are_shared_and_tied_stay_one_tensor(thaw, save, tmp_path, option):
    smooths = option.startswith("--smooth")
    path = save(model("""g (int64[n] ids) => (float[n, 20] y, float[n, 20] z) {
      e = Gather(table, ids)
      a = MatMul(e, w) b = Tanh(a) c = MatMul(b, w)
      y = Gemm<transB = 1>(c, table)
      t = Transpose<perm = [1, 0]>(table)
      z = MatMul(c, t)
    }""", table=random(20, 8), w=random(8, 8)), "tied")
    feeds = [{"ids": RNG.integers(0, 20, n)} for n in (20, 9)]
    data = [] if "--dynamic" in option else ["--data", samples(tmp_path / "s", feeds)]
    out, report = convert(thaw, path, *option.split(), *data, "--no-optimize")
    codes = [i.name for i in onnx.load(out).graph.initializer if i.data_type == I8 and len(i.dims) == 2]
    assert sorted(codes) == ["table_quantized", "w_smooth_quantized" if smooths else "w_quantized"]
    assert not [i for i in onnx.load(out).graph.initializer if i.data_type == F32 and len(i.dims) == 2 and i.dims[1] == 8]
    assert sqnr(path, out, feeds) > 26
    if smooths:  # both that read w are scaled alike; the table is looked up as it is
        assert {n["where"]: n["message"] for n in report["not_converted"] if n["message"].startswith("smooth")} == {
            "y": "smooth: its weight is also looked up: scaled, it would be stored twice",
            "z": "smooth: its weight is transposed"}


def test_products_of_every_form(thaw, save, tmp_path):
    body = {
        "plain": "y = Gemm(x, w, c)",
        "turned": "y = Gemm<transB = 1>(x, w, c)",
        "scaled": "y = Gemm<transB = 1, alpha = 0.5, beta = 3.0>(x, w, c)",
        "both turned": "t = Transpose<perm = [1, 0]>(x) y = Gemm<transA = 1, transB = 1>(t, w, c)",
        "no bias": "y = Gemm<alpha = 2.0>(x, w)",
        "constant on the left": "t = Transpose<perm = [1, 0]>(x) y = MatMul(w, t)",
        "constant on the left, turned": "y = Gemm<transA = 1, transB = 1>(w, x)",
        "constant on the left by what is turned": "y = Gemm<transB = 1, alpha = 2.0>(w, x)",
        "batches of weights": "first = Constant<value_ints = [0]>() u = MatMul(x, stack) y = ReduceMax<keepdims = 0>(u, first)",
    }
    for name, text in body.items():
        path = save(model("g (float[n, 8] x) => (float[p, q] y) { " + text + " }", w=random(8, 8), c=random(8),
                          stack=random(3, 8, 8)), "form")
        feeds, held_out = rows(300, 5), rows(11)
        for how in (["--data", samples(tmp_path / "s", feeds)], ["--dynamic"], ["--dynamic", "--asymmetric-weights"],
                    ["--data", tmp_path / "s", "--per-tensor"], ["--data", tmp_path / "s", "--unsigned-weights"],
                    ["--data", tmp_path / "s", "--asymmetric-weights", "--signed-activations", "--reduced-range"]):
            out, report = convert(thaw, path, *how, "--no-optimize")
            assert report["converted"], name
            assert sqnr(path, out, held_out) > 26, (name, how)


@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_recurrent_weights(thaw, save, tmp_path, op, dynamic):
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    path = save(model(f"""g (float[steps, batch, 8] x) => (float[steps, 2, batch, 16] y) {{
      y = {op}<hidden_size = 16, direction = "bidirectional">(x, w, r, b)
    }}""", w=random(2, gates * 16, 8), r=random(2, gates * 16, 16), b=random(2, gates * 32)), "cell")
    feeds = [{"x": random(t, 2, 8, scale=1)} for t in (5, 9)]
    out, _ = convert(thaw, path, *(["--dynamic"] if dynamic else ["--data", samples(tmp_path / "s", feeds)]))
    assert {constants(out)[f"{w}_quantized"].dtype for w in "wr"} == {np.dtype(np.int8)}
    assert {constants(out)[f"{w}_scale"].shape for w in "wr"} == {(gates * 16,)}
    assert sqnr(path, out, feeds) > 35


@pytest.mark.parametrize("how", [[], ["--per-tensor"], ["--unsigned-weights"], ["--asymmetric-weights"]], ids=str)
@pytest.mark.parametrize("cell", ["forward", "reverse", "bidirectional"])
def test_lstm_of_integers_for_onnxruntime(thaw, save, tmp_path, cell, how):
    count = 2 if cell == "bidirectional" else 1
    path = save(model(f"""g (float[steps, batch, 8] x, int32[batch] lens, float[{count}, batch, 16] h0, float[{count}, batch, 16] c0)
        => (float[steps, {count}, batch, 16] y, float[{count}, batch, 16] last) {{
      y, h, last = LSTM<hidden_size = 16, direction = "{cell}", layout = 0>(x, w, r, b, lens, h0, c0)
    }}""", w=random(count, 64, 8), r=random(count, 64, 16), b=random(count, 128)), "lstm")
    feeds = [{"x": random(t, n, 8, scale=1), "lens": np.full(n, t - 1, np.int32), "h0": random(count, n, 16),
              "c0": random(count, n, 16)} for t, n in ((5, 2), (9, 1))]
    out = path.with_name("lstm_int8.onnx")
    thaw("convert", path, "-o", out, "--to", "int8", "--dynamic", "--target", "ort", "--data", samples(tmp_path / "s", feeds), *how,
         code=0)
    assert "DynamicQuantizeLSTM" in ops(out) and "LSTM" not in ops(out)
    assert not [i for i in onnx.load(out).graph.initializer if i.data_type == F32 and len(i.dims) == 3]
    assert sqnr(path, out, feeds) > 30
    # No scale of com.microsoft's where only ONNX's operators are asked for, nor where W is computed.
    thaw("convert", path, "-o", out, "--to", "int8", "--dynamic", *how, code=0)
    assert "LSTM" in ops(out)


def test_an_lstm_whose_weights_are_computed_stays(thaw, save):
    path = save(model("""g (float[steps, batch, 8] x, float[1, 64, 16] r) => (float[1, batch, 16] h) {
      y, h = LSTM<hidden_size = 16>(x, w, r)
    }""", w=random(1, 64, 8)), "half")
    out = path.with_name("half_int8.onnx")
    thaw("convert", path, "-o", out, "--to", "int8", "--dynamic", "--target", "ort", code=0)
    assert "LSTM" in ops(out) and constants(out)["w_quantized"].dtype == np.int8


def test_a_convolution_whose_weights_are_computed_says_so(thaw, save):
    path = save(model("g (float[n, 4, h, w] x, float[6, 4, 3, 3] k) => (float[n, 6, i, j] y) { y = Conv(x, k) }"), "fed")
    _, report = convert(thaw, path, "--dynamic", code=1)
    assert [note["message"] for note in report["not_converted"]] == ["int8: its weights are computed, not constant"]


def test_a_weight_that_is_no_number_is_an_error_that_names_it(thaw, save, tmp_path):
    w = random(8, 8)
    w[3, 4] = np.nan
    path = save(linear(w), "nan")
    out = path.with_name("out.onnx")
    for how in (["--dynamic"], ["--data", samples(tmp_path / "s", rows(3))]):
        said = thaw.error("convert", path, "-o", out, "--to", "int8", *how)
        assert "'w'" in said and not out.exists()


# --- What is measured ----------------------------------------------------------------------------------------------


def test_a_tensor_that_is_no_number_on_a_sample_is_named(thaw, save, tmp_path):
    path = save(model("g (float[n, 8] x) => (float[n, 8] y) { l = Log(x) y = MatMul(l, w) }", w=random(8, 8)), "log")
    folder = samples(tmp_path / "s", [{"x": np.ones((2, 8), np.float32)}, {"x": -np.ones((2, 8), np.float32)}])
    out = path.with_name("out.onnx")
    for method in ("minmax", "entropy"):
        said = thaw.error("convert", path, "-o", out, "--to", "int8", "--data", folder, "--range", method)
        assert "'l'" in said and "sample 1" in said and not out.exists()


@pytest.mark.parametrize("method", ["minmax", "entropy", "mse"])
def test_one_place_that_is_no_number_is_named_where_it_comes_from(thaw, save, tmp_path, method):
    """Among many that are; what is made of it has more of them."""
    path = save(model("g (float[n, 8] x) => (float[n, 8] y) { a = MatMul(x, w) r = Relu(a) y = MatMul(r, w) }", w=random(8, 8)), "one")
    for number in (np.nan, np.inf):
        feeds = rows(40, 40)
        feeds[1]["x"][17, 3] = number
        said = thaw.error("convert", path, "-o", path.with_name("out.onnx"), "--to", "int8", "--data", samples(tmp_path / "s", feeds),
                          "--range", method)
        assert "'x'" in said and "sample 1" in said


@pytest.mark.parametrize("value", [0.0, 3.0, -2.5])
@pytest.mark.parametrize("method", ["minmax", "percentile", "entropy", "mse"])
def test_tensors_of_one_value(thaw, save, tmp_path, method, value):
    path = save(linear(random(8, 4)), "constant")
    feeds = [{"x": np.full((n, 8), value, np.float32)} for n in (2, 5)]
    out, _ = convert(thaw, path, "--data", samples(tmp_path / "s", feeds), "--range", method, "--no-check")
    (wanted,), (got,) = run(path, feeds[0]), run(out, feeds[0])
    np.testing.assert_allclose(got, wanted, atol=0.01 * max(abs(value), 1))
    (at_zero,) = run(out, {"x": np.zeros((3, 8), np.float32)})
    assert (at_zero == 0).all(), "0 is exact"


@pytest.mark.parametrize("method", ["percentile", "entropy", "mse"])
def test_ranges_leave_out_what_is_rare(thaw, save, tmp_path, method):
    # One number in half a million is ten times as large as the others.
    path = save(linear(random(8, 8)), "outlier")
    feeds = rows(20000, 9000, 31000)  # samples of any size
    feeds[1]["x"][17, 3] = 30.0
    folder = samples(tmp_path / "s", feeds)
    held_out = rows(500)
    plain, _ = convert(thaw, path, "--data", folder, name="plain")
    ranged, _ = convert(thaw, path, "--data", folder, "--range", method, "--percentile", "99.99")
    assert constants(ranged)["x_scale"] < constants(plain)["x_scale"] / 1.5
    assert squared_error(path, ranged, held_out) < squared_error(path, plain, held_out) / 2


def test_samples_without_elements(thaw, save, tmp_path):
    path = save(linear(random(8, 8)), "empty")
    feeds = rows(0, 4)
    out, _ = convert(thaw, path, "--data", samples(tmp_path / "s", feeds), "--no-check")
    assert sqnr(path, out, rows(7)) > 20


# --- Steps before ---------------------------------------------------------------------------------------------------


def test_smoothing_moves_outliers_into_the_weights(thaw, save, tmp_path):
    # Two channels of what is normalized are fifty times as large as the others, and their weights small.
    scale = np.ones(32, np.float32)
    scale[[3, 17]] = 50
    w1 = random(32, 64)
    w1[[3, 17]] /= 50
    path = save(model("g (float[b, s, 32] x) => (float[b, s, 64] y) { n = LayerNormalization(x, scale, bias) y = MatMul(n, w1) }",
                      scale=scale, bias=random(32), w1=w1), "outliers")
    feeds = tokens((2, 16), (1, 40))
    folder, held_out = samples(tmp_path / "s", feeds), tokens((3, 9))
    plain, _ = convert(thaw, path, "--data", folder, name="plain")
    smooth, _ = convert(thaw, path, "--data", folder, "--smooth", "0.5", name="smooth")
    assert ops(smooth) == ops(plain), "the scales are a part of the norm"
    assert squared_error(path, smooth, held_out) < squared_error(path, plain, held_out) / 20
    # Where something else reads what is multiplied, it is divided by a Mul of its own.
    path = save(model("""g (float[b, s, 32] x) => (float[b, s, 64] y, float[b, s, 32] n) {
      n = LayerNormalization(x, scale, bias) y = MatMul(n, w1) }""", scale=scale, bias=random(32), w1=w1), "read_twice")
    smooth, _ = convert(thaw, path, "--data", folder, "--smooth", "0.5", name="smooth")
    assert "Mul" in ops(smooth)
    for wanted, got in zip(run(path, held_out[0])[1:], run(smooth, held_out[0])[1:], strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_smoothing_stores_no_weight_twice(thaw, save, tmp_path):
    # Outliers in what two products with one weight read, neither of which reads what the other does.
    spread = np.where(np.arange(32) % 8 == 3, 50, 1).astype(np.float32)
    path = save(model("""g (float[n, 32] x) => (float[n, 32] y, float[n, 32] z, float[n, 32] v, float[n, 32] r) {
      a = Mul(x, spread) y = MatMul(a, w)
      t = Tanh(x) b = Mul(t, spread) z = MatMul(b, w)
      c = Mul(x, x) u = MatMul(c, v1) v = MatMul(u, turned_too) r = Gemm<transB = 1>(c, turned_too)
    }""", spread=spread, w=random(32, 32) / spread[:, None], v1=random(32, 32), turned_too=random(32, 32)), "twice")
    feeds = rows(32, 64, width=32)
    folder = samples(tmp_path / "s", feeds)
    plain, _ = convert(thaw, path, "--data", folder, "--no-optimize", name="plain")
    out, report = convert(thaw, path, "--data", folder, "--no-optimize", "--smooth", "0.5", name="smooth")
    codes = [i.name for i in onnx.load(out).graph.initializer if i.data_type == I8 and len(i.dims) == 2]
    assert sorted(codes) == ["turned_too_quantized", "turned_too_quantized_1", "v1_smooth_quantized", "w_smooth_quantized"]
    assert {n["where"] for n in report["not_converted"] if "also read transposed" in n["message"]} == {"v", "r"}
    assert squared_error(path, out, feeds) < squared_error(path, plain, feeds)


def test_equalizing_evens_out_the_channels_of_two_convolutions(thaw, save, tmp_path):
    spread = np.exp(RNG.uniform(-4, 4, 16)).astype(np.float32)
    path = save(model("""g (float[n, 3, h, w] x) => (float[n, 8, h, w] y) {
      a = Conv<pads = [1, 1, 1, 1]>(x, k1, b1) r = Relu(a)
      d = Conv<pads = [1, 1, 1, 1], group = 16>(r, k2, b2) q = Relu(d)
      y = Conv(q, k3)
    }""", k1=random(16, 3, 3, 3) * spread[:, None, None, None], b1=random(16) * spread,
                      k2=random(16, 1, 3, 3), b2=random(16) * spread,
                      k3=random(8, 16, 1, 1) / spread[None, :, None, None]), "uneven")
    feeds = images((1, 16, 16), (1, 24, 20))
    folder, held_out = samples(tmp_path / "s", feeds), images((2, 17, 19))
    for how in ([], ["--per-tensor"]):
        plain, _ = convert(thaw, path, "--data", folder, *how, name="plain", code={0, 1})
        even, _ = convert(thaw, path, "--data", folder, "--equalize", *how, name="even")
        assert sqnr(path, even, held_out) > 25
        if plain.exists():
            assert squared_error(path, even, held_out) < squared_error(path, plain, held_out) / 4


def test_biases_take_up_the_mean_error_of_rounded_weights(thaw, save, tmp_path):
    # Few steps for the weights and inputs that are far from 0 on the average: the mean of each channel is off.
    w = random(32, 16)
    w[0] = 6
    made = model("g (float[n, 32] x) => (float[n, 16] a, float[n, 16] b) { a = MatMul(x, w) b = Gemm(x, v, c) }",
                 w=w, v=w[:, ::-1], c=random(16))
    path = save(made, "shifted")
    feeds = [{"x": random(n, 32, scale=0.1) + np.linspace(1, 2, 32, dtype=np.float32)} for n in (30, 50)]
    for f in feeds:
        f["x"][:, 0] *= 0.01
    folder = samples(tmp_path / "s", feeds)
    plain, _ = convert(thaw, path, "--data", folder, "--reduced-range", name="plain")
    corrected, _ = convert(thaw, path, "--data", folder, "--reduced-range", "--correct-bias", name="corrected")
    assert squared_error(path, corrected, feeds) < squared_error(path, plain, feeds) / 3


# --- Models as they come -------------------------------------------------------------------------------------------


def test_sizes_that_are_declared_wrong_do_not_matter(thaw, save, tmp_path):
    # "Inferred shape and existing shape differ in dimension 1: (896) vs (3584)": what an exporter declared of the tensor
    # between the products of an MLP is the width before, and the tools that quantize hold it against what they infer.
    made = model("g (float[b, s, 32] x) => (float[b, s, 32] y) { h = MatMul(x, up) a = Relu(h) y = MatMul(a, down) }",
                 up=random(32, 128), down=random(128, 32))
    for name in ("h", "a"):
        made.graph.value_info.append(onnx.helper.make_tensor_value_info(name, F32, ["b", "s", 32]))
    path = save(made, "stale")
    with pytest.raises(Exception, match=r"32.*128|128.*32"):
        onnx.shape_inference.infer_shapes(made, strict_mode=True)
    del made.graph.value_info[:]
    true = save(made, "true")
    feeds = tokens((1, 9), (2, 4))
    for how in (["--data", samples(tmp_path / "s", feeds)], ["--dynamic"]):
        out, _ = convert(thaw, path, *how, "--no-optimize")
        assert sqnr(true, out, tokens((3, 11))) > 20
        declared = {v.name: dims(v) for v in onnx.load(out).graph.value_info}
        assert all(sizes[-1] != 32 or name.startswith(("x", "y", "down")) for name, sizes in declared.items() if len(sizes) == 3), declared


def test_what_is_quantized_is_left_alone(thaw, net):
    path, _, folder = net
    once, _ = convert(thaw, path, "--data", folder)
    twice, report = convert(thaw, once, "--data", folder, "--no-optimize")
    assert not [c for c in report["converted"] if c["message"] == "int8"]
    assert ops(twice) == ops(once)
    # The optimizer does not make numbers of the constants that stand as codes.
    twice, report = convert(thaw, once, "--data", folder)
    assert not [c for c in report["converted"] if c["message"] == "int8"]
    assert {n: a.dtype for n, a in constants(twice).items() if "quantized" in n} == {
        n: a.dtype for n, a in constants(once).items() if "quantized" in n}
    assert sqnr(once, twice, images(*UNSEEN)) > 60


def test_an_old_opset_is_raised(thaw, save, tmp_path):
    made = model("g (float[n, 3, h, w] x) => (float[n, 4, h, w] y) { y = Conv(x, k, b) }", opset=11,
                 k=random(4, 3, 1, 1), b=random(4))
    path = save(made, "old")
    out, _ = convert(thaw, path, "--data", samples(tmp_path / "s", images((1, 5, 6))))
    assert onnx.load(out).opset_import[0].version >= 13
    assert sqnr(path, out, images((2, 7, 7))) > 25


def test_transposed_convolutions_and_resizes(thaw, save, tmp_path):
    path = save(model("""g (float[n, 8, h, w] x) => (float[n, 4, h2, w2] y) {
      a = Conv(x, k1) r = Relu(a)
      sc = Constant<value_floats = [1.0, 1.0, 2.0, 2.0]>() none = Constant<value_floats = [0.0]>()
      u = Resize<mode = "nearest">(r, , sc)
      t = ConvTranspose<strides = [2, 2], group = 2>(u, k2, b2) p = Relu(t)
      v = ConvTranspose<strides = [1, 1]>(p, k3)
      y = Conv(v, k4)
    }""", k1=random(8, 8, 1, 1), k2=random(8, 3, 2, 2), b2=random(6), k3=random(6, 5, 3, 3), k4=random(4, 5, 1, 1)), "up")
    feeds = [{"x": random(1, 8, 5, s, scale=1)} for s in (4, 6)]
    out, report = convert(thaw, path, "--data", samples(tmp_path / "s", feeds))
    assert constants(out)["k3_scale"].shape == (5,)
    assert sqnr(path, out, [{"x": random(2, 8, 3, 7, scale=1)}]) > 25
    out, report = convert(thaw, path, "--dynamic")
    assert any("no ConvTranspose of integers" in n["message"] for n in report["not_converted"])


GATED = {  # what reads the convolution, and from where on it makes a difference
    "y = HardSwish(c)": (-3, 9),
    "s = HardSigmoid<alpha = 0.25, beta = 0.5>(c) y = Mul(s, c)": (-2, 9),
    "s = Sigmoid(c) y = Mul(c, s)": (-11, 9),
    "t = Transpose<perm = [0, 1, 3, 2]>(c) y = HardSigmoid(t)": (-2.5, 2.5),
    "y = Tanh(c)": (-5, 5),
    "s = HardSigmoid(c) y = Add(c, s)": (-40, 9),
    "s = Sigmoid(c) y = Concat<axis = 1>(s, c)": (-40, 9),
}


@pytest.mark.parametrize("method", ["minmax", "percentile", "entropy", "mse"])
@pytest.mark.parametrize("readers", GATED)
def test_what_an_activation_cuts_off_has_no_codes(thaw, save, tmp_path, readers, method):
    # From -40 to 9, most of it at the lower end.
    path = save(model(f"g (float[n, 2, h, w] x) => (float[n, m, h2, w2] y) {{ c = Conv(x, k, b) {readers} }}",
                      k=np.eye(2).reshape(2, 2, 1, 1), b=np.zeros(2)), "gated")
    x = np.concatenate([np.linspace(-40, -5, 3000), np.linspace(-5, 9, 1096)]).reshape(1, 2, 32, 64).astype(np.float32)
    out, _ = convert(thaw, path, "--data", samples(tmp_path / "s", [{"x": x}]), "--range", method, "--no-optimize")
    low, high = GATED[readers]
    whole = low == -40
    span = 255 * constants(out)["c_scale"]
    assert span > 0.8 * (high - low) if whole else span <= 1.01 * (high - low), span
    # What is left out is missed by nobody.
    if not whole:
        assert squared_error(path, out, [{"x": x}]) <= x.size * 1.5 * (constants(out)["c_scale"] + 0.5 / 255) ** 2


def test_what_is_drawn_does_not_decide_where_there_are_samples(thaw, save, tmp_path):
    skip_where_integers_overflow()
    # Small differences of what is added: rounding the weights of a sum of 0 loses them, unless they are as large as in use.
    w = random(8, 8)
    path = save(model("g (float[n, 8] x) => (float[n, 8] y) { a = Add(x, far) y = MatMul(a, w) }", far=[1000.0],
                      w=w - w.mean(axis=0)), "far")
    out = path.with_name("far_int8.onnx")
    said = thaw("convert", path, "-o", out, "--to", "int8", "--dynamic", code=1).stdout
    assert "has an error larger than its signal" in said and "--data" in said and not out.exists()
    feeds = [{"x": random(n, 8, scale=1e5)} for n in (3, 9)]
    out, report = convert(thaw, path, "--dynamic", "--data", samples(tmp_path / "s", feeds))
    assert not report["warnings"], "what drawn inputs lose is none of the samples'"
    assert [e["sqnr_db"] > 20 for e in report["comparisons"]] == [e["dataset"] == "held_out" for e in report["comparisons"]], report["comparisons"]
    assert {e["dataset"] for e in report["comparisons"]} == {"held_out", "random"}
    feeds = [{"x": random(n, 8)} for n in (3, 9)]
    said = thaw("convert", path, "-o", out, "--to", "int8", "--dynamic", "--data", samples(tmp_path / "t", feeds), code=1).stdout
    assert "error: output 'y' has an error larger than its signal" in said and "over 2 held-out samples" in said


@pytest.mark.parametrize("mode", ["static", "--dynamic"])
def test_one_sample_of_next_to_nothing_does_not_decide(thaw, save, tmp_path, mode):
    """A score near the middle is lost in the noise of 8 bits; what the samples come to together is not."""
    w = random(8, 2)
    feeds = [{"x": random(1, 8, scale=1)} for _ in range(5)]
    x = feeds[2]["x"].astype(np.float64)
    feeds[2]["x"] = (x - x @ w @ np.linalg.pinv(w)).astype(np.float32)
    path = save(model("g (float[n, 8] x) => (float[n, 2] y) { y = MatMul(x, w) }", w=w), "score")
    out, report = convert(thaw, path, "--data", samples(tmp_path / "s", feeds), *([] if mode == "static" else [mode]))
    assert min(e["sqnr_db"] for e in report["comparisons"][:5]) < 0, report["comparisons"]
    kind = "calibration" if mode == "static" else "held-out"
    assert any(f"over 5 {kind} samples" in w for w in report["warnings"])
    assert sqnr(path, out, feeds) > 25


@pytest.mark.parametrize("how", ["int8", "int8 --dynamic", "int4", "int4 --method rtn", "int4 --method awq", "f16", "bf16"])
def test_samples_held_out_calibration_and_drawn_inputs_stand_apart(thaw, save, tmp_path, how):
    """What a conversion is chosen by is no proof of it, and noise that nobody feeds the model is none of it."""
    path = save(model("g (float[n, 64] x) => (float[n, 32] y) { y = MatMul(x, w) }", w=random(64, 32)), "apart")
    seen, unseen = ([{"x": random(rows, 64, scale=1) + 3} for rows in sizes] for sizes in ((3, 5, 7), (2, 9)))
    data, held = samples(tmp_path / "seen", seen), samples(tmp_path / "unseen", unseen)
    is_read = "dynamic" not in how and "rtn" not in how and how != "bf16"
    command = ["convert", path, "-o", tmp_path / "out.onnx", "--to", *how.split()]
    for with_held in (False, True):
        page = tmp_path / "page.html"
        given = ["--data", data, *(["--held-out", held] if with_held else []), "--report", page]
        report = thaw.json(*command, *given, code=0)
        kinds = [e["dataset"] for e in report["comparisons"]]
        wanted = ["held_out"] * 2 * with_held + ["calibration" if is_read else "held_out"] * 3
        assert [kind for kind in kinds if kind != "random"] == wanted and kinds.count("random") == 3
        assert kinds == sorted(kinds, key=["held_out", "calibration", "random"].index)
        if with_held:  # what stands there is what the written model does
            worst = min(e["sqnr_db"] for e in report["comparisons"][:2])
            assert how in ("f16", "bf16") or abs(worst - sqnr(path, tmp_path / "out.onnx", unseen)) < 3
        text = thaw(*command, *given, code=0).stdout
        first = wanted[0].replace("_", "-")
        assert f"accuracy on {first} samples\n" in text and "accuracy on random inputs, for information only" in text
        written = page.read_text("utf-8")
        titles = [f"Accuracy on {name}" for name in (f"{first} samples", "random inputs")]
        assert all(title in written for title in titles) and written.index(titles[0]) < written.index(titles[1])
        assert "not looked at" not in written


def test_warnings_and_the_verdict_are_of_the_first_kind_that_there_is(thaw, save, tmp_path):
    """Columns far apart in size: in 8 bits small inputs drown where large ones set the scale of all."""
    skip_where_integers_overflow()
    path = save(model("g (float[n, 64] x) => (float[n, 8] y) { y = MatMul(x, w) }", w=random(64, 8)), "kinds")
    large, small = ([{"x": random(5, 64, scale=scale)} for _ in range(3)] for scale in (1000, 0.5))
    large, small = samples(tmp_path / "large", large), samples(tmp_path / "small", small)
    out = tmp_path / "out.onnx"
    command = ["convert", path, "-o", out, "--to", "int8", "--no-optimize", "--data", large]
    report = thaw.json(*command, code=0)
    assert not report["warnings"] and min(e["sqnr_db"] for e in report["comparisons"] if e["dataset"] == "random") < 10
    report = thaw.json(*command, "--held-out", small, code=1)
    assert "has an error as large as its signal" in report["failures"][0] and "3 held-out samples" in report["failures"][0]
    report = thaw.json(*command, "--held-out", large, code=0)
    assert not report["warnings"] and {e["dataset"] for e in report["comparisons"]} == {"held_out", "calibration", "random"}


def test_what_differs_from_zeros_alone_is_not_equal(thaw, save, tmp_path):
    """-inf dB is no number of JSON, and null says that the two are equal."""
    w = np.random.default_rng(2).integers(-3, 4, (8, 8)).astype(np.float32)
    path = save(model("g (float[n, 8] x) => (float[n, 8] y) { a = Sub(x, x) b = Add(a, one) c = MatMul(b, w) y = Sub(c, k) }",
                      one=np.ones(8, np.float32), w=w, k=w.sum(axis=0)), "zeros")
    assert not run(path, {"x": random(3, 8)})[0].any()
    out, page = path.with_name("out.onnx"), tmp_path / "page.html"
    command = ["convert", path, "-o", out, "--to", "int4", "--no-optimize", "--method", "rtn"]
    report = thaw.json(*command, "--report", page, code=0)
    assert report["comparisons"] and all(e["sqnr_db"] == -300 and e["max_abs_expected"] == 0 < e["max_abs_diff"] for e in report["comparisons"]), report["comparisons"]
    assert any("is all zeros" in w for w in report["warnings"])
    for said in (page.read_text("utf-8"), thaw(*command).stdout):
        for but_constants in ("equal but for", "equal to the original at every size but for"):
            said = said.replace(but_constants, "")
        assert "equal" not in said


def test_nothing_compared_is_no_agreement(thaw, save, tmp_path):
    """An output of NaN or infinity throughout, or without elements, tells nothing of the other one."""
    for body, why in (("h = MatMul(x, w) z = Sub(h, h) y = Div(z, z)", "no finite number"),
                      ("h = MatMul(x, w) y = Slice(h, ends, starts, axes)", "no element")):
        ints = {"starts": np.array([0]), "ends": np.array([8]), "axes": np.array([1])}
        made = model("g (float[n, 8] x) => (float[n, k] y) { " + body + " }", w=random(8, 8))
        made.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in ints.items())
        path, out = save(made, "nothing"), tmp_path / "out.onnx"
        report = thaw.json("convert", path, "-o", out, "--to", "int4", "--no-optimize", code=1)
        assert report["comparisons"] == [] and not out.exists()
        assert any(why in text and "'y'" in text for text in report["not_compared"]), report["not_compared"]


def test_a_plan_says_how_each_node_is_converted(thaw, save, tmp_path):
    path = save(block(), "block")
    plan = tmp_path / "plan.json"
    plan.write_text('{"nodes": [{"name": "d", "to": "int8", "dynamic": true}, {"name": "z", "to": "keep"}], "default": "int8"}')
    out = tmp_path / "planned.onnx"
    thaw("convert", path, "-o", out, "--plan", plan, "--data", samples(tmp_path / "s", tokens((1, 8))), code=0)
    assert ops(out).count("MatMulInteger") == 1
    assert constants(out)["wo"].dtype == np.float32


def with_constants(case):
    """A node test whose operands, but for the first, are constants; None where that makes no sense. And its first operand."""
    made = onnx.ModelProto()
    made.CopyFrom(case.model)
    node = made.graph.node[0]
    arrays = dict(zip([i.name for i in made.graph.input], case.data_sets[0][0], strict=True))
    if any(a.dtype != np.float32 for n, a in arrays.items() if n in list(node.input)[:2]):
        return None, None
    for name, array in arrays.items():
        if name != node.input[0]:
            made.graph.initializer.append(numpy_helper.from_array(array, name))
    kept = [i for i in made.graph.input if i.name == node.input[0]]
    del made.graph.input[:]
    made.graph.input.extend(kept)
    return made, {node.input[0]: arrays[node.input[0]]}


def test_onnx_own_tests_of_what_has_weights(thaw, tmp_path):
    from onnx.backend.test.loader import load_model_tests
    names = ("test_conv_", "test_basic_conv", "test_convtranspose", "test_gemm", "test_matmul", "test_lstm", "test_gru", "test_rnn",
             "test_simple_rnn")
    wrong, converted = {}, 0
    for case in load_model_tests(kind="node"):
        if not case.name.startswith(names) or "batchwise" in case.name or len(case.model.graph.node) != 1:
            continue
        made, feeds = with_constants(case)
        if made is None:
            continue
        path = tmp_path / "case.onnx"
        onnx.save(made, path)
        for how in (["--data", samples(tmp_path / "one", [feeds])], ["--dynamic"]):
            out = tmp_path / "out.onnx"
            out.unlink(missing_ok=True)
            report = thaw.json("convert", path, "-o", out, "--to", "int8", "--no-optimize", "--no-check", *how, code={0, 1, 2})
            if any("nothing was converted" in failure for failure in report.get("failures", [])):
                continue
            if not out.exists():
                wrong[case.name, how[0]] = report
                continue
            converted += bool(report["converted"])
            decibels = sqnr(path, out, [feeds])
            if decibels < 18:
                wrong[case.name, how[0]] = decibels
    assert not wrong, wrong
    assert converted > 60


@pytest.mark.parametrize("target", ["ort", "directml"])
def test_what_a_target_fuses_does_not_keep_convolutions_from_8_bits(thaw, net, target):
    path, _, folder = net
    out, report = convert(thaw, path, "--data", folder, "--target", target)
    assert {"a0", "d0", "p", "c", "u", "y"} <= {n["where"] for n in report["converted"]} and not report["not_converted"]
    assert sqnr(path, out, images(*UNSEEN)) > 25


@pytest.mark.parametrize("name, package", [("ocr-rec", "rapidocr_onnxruntime"), ("silero", "silero_vad")])
def test_models_in_use_beside_onnxruntime(thaw, name, package):
    need_package(package)
    made = subprocess.run([sys.executable, SOURCE / "bench" / "int8.py", "--only", name, "--methods", "minmax"], check=True,
                          capture_output=True, text=True, env=os.environ | {"THAW_BIN": str(thaw.path)})
    decibels = {line.split()[2]: float(line.split()[3]) for line in made.stdout.splitlines() if line.split()[:1] == [name]}
    assert decibels["thaw"] > decibels["onnxruntime"], decibels


def test_weights_that_are_inputs_too(thaw, save, tmp_path):
    made = onnx.parser.parse_model('<ir_version: 6, opset_import: ["" : 13]> g (float[n,16] x, float[16,16] w) => (float[n,16] y) { y = MatMul(x, w) }')
    made.graph.initializer.append(numpy_helper.from_array(np.random.default_rng(0).standard_normal((16, 16)).astype(np.float32), "w"))
    path, out = save(made, "listed"), tmp_path / "out.onnx"
    report = thaw.json("convert", path, "-o", out, "--to", "int8", "--dynamic", code=1)
    assert report["converted"] == [] and not out.exists() and "1 weight is also an input" in report["warnings"][0]
    report = thaw.json("convert", path, "-o", out, "--to", "int8", "--dynamic", "--constant-weights", code=0)
    assert len(report["converted"]) == 1 and [i.name for i in onnx.load(out).graph.input] == ["x"]
