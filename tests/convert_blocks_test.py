"""thaw convert --to int4 and its kin: weights in blocks, in both forms, by every method; what stays and why."""
import json

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from build_towers_test import peak_mb
from conftest import SOURCE, run
from convert_half_test import convert, dims, model, random

F32 = TensorProto.FLOAT
MLP = """mlp (float[batch, seq, 64] x) => (float[batch, seq, 64] y) {
  n = LayerNormalization(x, scale, bias)
  g = MatMul(n, gate) u = MatMul(n, up)
  s = Sigmoid(g) a = Mul(g, s) h = Mul(a, u)
  d = MatMul(h, down) y = Add(d, x)
}"""
GEMM = """g (float[n, 64] x) => (float[n, 48] y, float[n, 64] z) {
  y = Gemm<alpha = 0.5, transB = 1>(x, wt, b)
  z = Gemm(y, w, c)
}"""
TIED = """t (int64[batch, seq] ids) => (float[batch, seq, 96] logits) {
  h = Gather(table, ids)
  t = Transpose<perm = [1, 0]>(table)
  logits = MatMul(h, t)
}"""


@pytest.fixture
def mlp(save):
    return save(model(MLP, opset=17, scale=random(64) + 1, bias=random(64), gate=random(64, 96), up=random(64, 96),
                      down=random(96, 64)), "mlp")


def operators(path):
    return [n.op_type for n in onnx.load(path).graph.node]


def optimized(path):
    """As ONNX Runtime has it before it fuses anything."""
    out = path.with_name(path.stem + "_basic.onnx")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(out)
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return out


def sqnr(before, after, feeds):
    got = run(after, feeds)
    return min(10 * np.log10((w**2).sum() / ((w - g) ** 2).sum()) for w, g in zip(run(before, feeds), got, strict=True))


@pytest.mark.parametrize("form", ["matmulnbits", "qdq"])
@pytest.mark.parametrize("symmetric", [False, True])
def test_three_bits_are_three_in_the_file(thaw, mlp, form, symmetric):
    options = ["--symmetric"] if symmetric else []
    out, report = convert(thaw, mlp, "--form", form, *options, to="int3")
    made = onnx.load(out)
    packed = [i for i in made.graph.initializer if "_Q3" in i.name]
    assert len(packed) == 3 and all(i.data_type == TensorProto.UINT8 and len(i.raw_data) == 64 * 96 * 3 // 8 for i in packed)
    assert [dims(v) for v in made.graph.input] == [["batch", "seq", 64]]
    four, _ = convert(thaw, mlp, "--form", form, *options, to="int4")
    eight, _ = convert(thaw, mlp, "--form", form, *options, to="int8-blocks")
    assert report["weight_bytes_after"] < 0.2 * report["weight_bytes_before"]
    for batch, seq in ((1, 1), (3, 7), (2, 31)):
        x = {"x": random(batch, seq, 64, scale=1)}
        assert 4 < sqnr(mlp, out, x) < sqnr(mlp, four, x) < sqnr(mlp, eight, x)
    assert not thaw.findings(out)
    # What ONNX Runtime reads once it has computed them.
    fused = onnx.load(optimized(out))
    assert {"BitShift", "BitwiseAnd", "BitwiseOr"}.isdisjoint(n.op_type for n in fused.graph.node)


def test_three_bits_of_a_tied_table_and_of_gemm(thaw, save):
    path = save(model(TIED, table=random(96, 64)), "tied")
    out, _ = convert(thaw, path, to="int3")
    packed = [i for i in onnx.load(out).graph.initializer if "_Q3" in i.name]
    assert len(packed) == 1 and len(packed[0].raw_data) == 96 * 64 * 3 // 8
    assert sqnr(path, out, {"ids": np.arange(14).reshape(2, 7)}) > 9
    path = save(model(GEMM, wt=random(48, 64), w=random(48, 64), b=random(48), c=random(64)), "gemm")
    for form in ("matmulnbits", "qdq"):
        out, _ = convert(thaw, path, "--form", form, to="int3")
        assert sqnr(path, out, {"x": random(5, 64, scale=1)}) > 9


@pytest.mark.parametrize("form", ["matmulnbits", "qdq"])
@pytest.mark.parametrize("block", [16, 32, 128])
@pytest.mark.parametrize("symmetric", [False, True])
def test_products_in_both_forms(thaw, mlp, form, block, symmetric):
    options = ["--symmetric"] if symmetric else []
    out, report = convert(thaw, mlp, "--form", form, "--block", block, *options, to="int4")
    assert sum(op in ("MatMulNBits", "DequantizeLinear") for op in operators(out)) == 3
    assert [dims(v) for v in onnx.load(out).graph.input] == [["batch", "seq", 64]]
    assert report["weight_bytes_after"] < 0.4 * report["weight_bytes_before"]
    for batch, seq in ((1, 1), (3, 7), (2, 31)):
        assert sqnr(mlp, out, {"x": random(batch, seq, 64, scale=1)}) > 10
    assert not thaw.findings(out)


def test_a_gemm_keeps_its_factors_and_bias(thaw, save):
    path = save(model(GEMM, wt=random(48, 64), w=random(48, 64), b=random(48), c=random(64)), "gemm")
    out, _ = convert(thaw, path, "--block", 16, to="int8-blocks")
    assert operators(out).count("MatMulNBits") == 2
    assert sqnr(path, out, {"x": random(5, 64, scale=1)}) > 35


def test_a_tied_table_stays_one(thaw, save):
    path = save(model(TIED, table=random(96, 64)), "tied")
    out, _ = convert(thaw, path, to="int4")
    assert sorted(set(operators(out)) - {"Reshape"}) == ["GatherBlockQuantized", "MatMulNBits"]
    packed = [i for i in onnx.load(out).graph.initializer if i.data_type == TensorProto.UINT8 and len(i.raw_data) > 1000]
    assert len(packed) == 1 and len(packed[0].raw_data) == 96 * 64 // 2
    assert sqnr(path, out, {"ids": np.arange(14).reshape(2, 7)}) > 15


def packed(path):
    """The tensors of codes."""
    return [i.name for i in onnx.load(path).graph.initializer if "_Q4" in i.name]


@pytest.mark.parametrize("how", ["int4", "int8 --dynamic"])
def test_a_tied_head_is_converted_for_onnx_runtime_too(thaw, save, how):
    to, *options = how.split()
    path = save(model(TIED, table=random(96, 64)), "tied")
    out, report = convert(thaw, path, "--target", "ort", *options, to=to)
    assert not report["not_converted"] and report["weight_bytes_after"] < 0.3 * report["weight_bytes_before"]
    assert sqnr(path, out, {"ids": np.arange(96).reshape(4, 24)}) > 12


@pytest.mark.parametrize("method", ["search", "gptq", "awq"])
def test_a_tied_table_stays_one_by_methods_that_need_samples(thaw, save, tmp_path, method):
    path = save(model(TIED, table=random(96, 64)), "tied")
    ids = {"ids": np.arange(96)[None]}
    np.savez(tmp_path / "ids.npz", **ids)
    out, report = convert(thaw, path, "--method", method, "--data", tmp_path / "ids.npz", to="int4")
    assert len(packed(out)) == 1 and sqnr(path, out, ids) > 12
    assert len(report["not_converted"]) == (method == "awq") and all("also looked up" in n["message"] for n in report["not_converted"])


SHARED = """s (float[n, 64] x) => (float[n, 64] y, float[n, 32] z) {
  a = Mul(x, up) h = MatMul(a, w) b = Relu(h) y = MatMul(b, w) z = MatMul(b, v)
}"""


@pytest.mark.parametrize("method", ["gptq", "awq"])
def test_a_weight_of_two_products_stays_one_and_serves_both(thaw, save, tmp_path, method):
    mix = random(8, 64, scale=1) * np.geomspace(0.05, 4, 64, dtype=np.float32)
    path = save(model(SHARED, up=np.geomspace(1, 9, 64, dtype=np.float32), w=random(64, 64), v=random(64, 32)), "shared")
    drawn = [{"x": random(300, 8, scale=1) @ mix + random(300, 64, scale=0.05)} for _ in range(2)]
    np.savez(tmp_path / "x.npz", **drawn[0])
    out, _ = convert(thaw, path, "--method", method, "--data", tmp_path / "x.npz", to="int4")
    assert len(packed(out)) == 2 and "MatMul" not in operators(out)
    with_samples = sqnr(path, out, drawn[1])
    out, _ = convert(thaw, path, to="int4")
    assert with_samples > sqnr(path, out, drawn[1])


def test_every_method_and_what_samples_are_good_for(thaw, save, tmp_path):
    # Inputs that go along with each other, as activations do: what a column is off another one makes good.
    path = save(model("g (float[n, 128] x) => (float[n, 64] y) { y = MatMul(x, w) }", w=random(128, 64)), "method")
    mix = random(8, 128, scale=1) * np.geomspace(0.05, 4, 128, dtype=np.float32)
    folder = tmp_path / "samples"
    folder.mkdir()
    for i, n in enumerate((97, 131, 211)):
        np.savez(folder / f"{i}.npz", x=random(n, 8, scale=1) @ mix + random(n, 128, scale=0.05))
    held_out = {"x": random(301, 8, scale=1) @ mix + random(301, 128, scale=0.05)}
    quality = {}
    for method in ("rtn", "hqq", "search", "awq", "gptq"):
        data = ["--data", folder] if method in ("awq", "gptq") else []
        out, _ = convert(thaw, path, "--method", method, "--symmetric", *data, to="int4")
        quality[method] = sqnr(path, out, held_out)
    assert quality["search"] > quality["rtn"]
    assert quality["gptq"] > quality["search"] and quality["awq"] > quality["search"]
    assert "--data" in thaw.error("convert", path, "-o", tmp_path / "o.onnx", "--to", "int4", "--method", "gptq")


@pytest.mark.parametrize("between", ["r = Relu(a)", "s = Relu(a) r = Identity(s)", "s = Sigmoid(a) t = Abs(a) r = Add(s, t)"])
def test_search_evens_out_what_inputs_of_one_sign_add_up(thaw, save, between):
    path = save(model(f"g (float[n, 256] x) => (float[n, 256] y) {{ a = MatMul(x, v) {between} y = MatMul(r, w) }}",
                      v=random(256, 256), w=random(256, 256)), "one_sided")
    feeds = {"x": random(64, 256, scale=1)}
    for to in ("int2", "int4"):
        found = {}
        for method in ("rtn", "search"):
            out, _ = convert(thaw, path, "--method", method, "--keep", "a", to=to)
            found[method] = sqnr(path, out, feeds)
        assert found["search"] > found["rtn"] + 1.5, found


def test_gptq_of_inputs_whose_squares_no_float_holds(thaw, save, tmp_path):
    path = save(model("g (float[n, 64] x) => (float[n, 32] y) { y = MatMul(x, w) }", w=random(64, 32)), "huge")
    x = random(200, 64, scale=1) @ random(64, 64, scale=1)
    quality = {}
    for scale in (1, 1e30):
        np.savez(tmp_path / "x.npz", x=x * np.float32(scale))
        out, _ = convert(thaw, path, "--method", "gptq", "--data", tmp_path / "x.npz", to="int4")
        quality[scale] = sqnr(path, out, {"x": x})
    assert quality[1e30] == pytest.approx(quality[1], abs=0.5)


def test_the_rest_may_be_float16(thaw, mlp, tmp_path):
    names = [n.output[0] for n in onnx.load(mlp).graph.node if n.op_type == "MatMul"]
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"default": "f16", "nodes": [{"name": n, "to": "int4", "block": 16} for n in names]}))
    out = tmp_path / "mixed.onnx"
    thaw("convert", mlp, "-o", out, "--plan", plan, code=0)
    made = onnx.load(out)
    scales = {i.name: i.data_type for i in made.graph.initializer if i.data_type != TensorProto.UINT8}
    assert operators(out).count("MatMulNBits") == 3 and set(scales.values()) == {TensorProto.FLOAT16}
    assert sqnr(mlp, out, {"x": random(2, 5, 64, scale=1)}) > 15


def test_only_what_the_plan_names(thaw, mlp, tmp_path):
    plan = tmp_path / "plan.json"
    down = next(n.output[0] for n in onnx.load(mlp).graph.node if "down" in n.input)
    plan.write_text(json.dumps({"nodes": [{"name": down, "to": "int4", "method": "rtn"}]}))
    out = tmp_path / "one.onnx"
    thaw("convert", mlp, "-o", out, "--plan", plan, code=0)
    assert operators(out).count("MatMulNBits") == 1 and operators(out).count("MatMul") == 2
    plan.write_text(json.dumps({"nodes": [{"name": down, "to": "int4", "block": 48}]}))
    assert "not 48" in thaw.error("convert", mlp, "-o", out, "--plan", plan)


def test_wrong_weights_and_options_are_errors(thaw, save, tmp_path):
    w = random(64, 64)
    w[3, 5] = np.inf
    path = save(model("g (float[n, 64] x) => (float[n, 64] y) { y = MatMul(x, odd) }", odd=w), "odd")
    out = tmp_path / "o.onnx"
    assert "'odd'" in thaw.error("convert", path, "-o", out, "--to", "int4")
    assert not out.exists()
    assert "not 48" in thaw.error("convert", path, "-o", out, "--to", "int4", "--block", 48)


@pytest.mark.parametrize("to", ["int2", "int4"])
@pytest.mark.parametrize("type", [np.float32, np.float16])
def test_real_zero_points(thaw, save, to, type):
    # 80 is no multiple of 32: the last block of a column is cut off.
    w = (random(80, 48) + np.where(np.arange(48) % 3, 0.3, -1)).astype(type)
    name = "float" if type == np.float32 else "float16"
    made = model(f"g ({name}[n, 80] x) => ({name}[n, 48] y) {{ y = MatMul(x, w) }}")
    made.graph.initializer.append(numpy_helper.from_array(w, "w"))
    path, x = save(made, "real"), random(40, 80, scale=1).astype(type)
    error = {}
    for how in ([], ["--real-zeros"]):
        out, _ = convert(thaw, path, *how, to=to)
        (product,) = onnx.load(out).graph.node
        constants = {i.name: i for i in onnx.load(out).graph.initializer}
        zeros = constants[product.input[3]]
        assert zeros.data_type == (helper.np_dtype_to_tensor_dtype(np.dtype(type)) if how else TensorProto.UINT8)
        assert list(zeros.dims) == ([48 * 3] if how else [48 * (2 if to == "int4" else 1)])
        error[bool(how)] = np.square(x.astype(np.float64) @ w - run(out, {"x": x})[0]).sum()
    assert error[True] < 0.98 * error[False]


def test_real_zero_points_that_no_kernel_takes_are_errors(thaw, mlp, tmp_path):
    out = tmp_path / "o.onnx"
    for to, how, why in [("int8-blocks", [], "no kernel for 8 bits"), ("int4", ["--form", "qdq"], "the quantized type"),
                         ("int4", ["--symmetric"], "need zero points"), ("int4", ["--method", "rtn"], "search and awq")]:
        assert why in thaw.error("convert", mlp, "-o", out, "--to", to, "--real-zeros", *how)


def test_a_table_that_is_looked_up_keeps_whole_zero_points(thaw, save):
    path = save(model(TIED, table=random(96, 64)), "tied")
    out, _ = convert(thaw, path, "--real-zeros", to="int4")
    model_ = onnx.load(out)
    constants = {i.name: i.data_type for i in model_.graph.initializer}
    zeros = {n.op_type: constants.get(n.input[3]) for n in model_.graph.node if n.op_type in ("MatMulNBits", "GatherBlockQuantized")}
    assert zeros == {"MatMulNBits": F32, "GatherBlockQuantized": TensorProto.UINT8}
    assert sqnr(path, out, {"ids": np.arange(96)[None]}) > 10


def test_zeros_and_single_values_are_exact(thaw, save):
    w = np.zeros((64, 32), np.float32)
    w[:, 1] = 0.3
    w[:32, 2] = -7
    path = save(model("g (float[n, 64] x) => (float[n, 32] y) { y = MatMul(x, w) }", w=w), "plain")
    out, report = convert(thaw, path, to="int4")
    assert all(e["not_finite"] == 0 and (e["sqnr_db"] is None or e["sqnr_db"] > 100) for e in report["comparisons"])


def test_a_stale_declaration_does_not_survive(thaw, save):
    # A quantizer that takes the declared size for the weight's: "Inferred shape (896) and existing shape (3584) differ".
    made = model("""g (float[n, 64] x) => (float[n, 64] y) { h = MatMul(x, up) r = Relu(h) y = MatMul(r, down) }""",
                 up=random(64, 128), down=random(128, 64))
    stale = onnx.helper.make_tensor_value_info("h", TensorProto.FLOAT, ["n", 64])
    made.graph.value_info.append(stale)
    path = save(made, "stale")
    for to, form in (("int4", ["--form", "qdq"]), ("f16", [])):
        out, _ = convert(thaw, path, *form, "--no-optimize", to=to)
        onnx.shape_inference.infer_shapes(onnx.load(out), strict_mode=True, data_prop=True)
        declared = {v.name: dims(v) for v in onnx.load(out).graph.value_info}
        assert declared.get("h", ["n", 128])[1] == 128


@pytest.mark.parametrize("to", ["int4", "f16", "int8"])
def test_outputs_declare_what_they_did(thaw, save, to):
    # Names of the user's stay, also of sizes that have longer expressions or are frozen; what was false by number does not.
    made = model("""g (float[n, 64] x, float[m, 64] past) => (float[total, 64] y, float[rows, 64] z, float[320, 64] w, float[n, 32] v) {
      first = Constant<value_ints = [0]>() w = MatMul(x, up) y = Concat<axis = 0>(past, w) z = ReduceMax<keepdims = 1>(y, first) v = Neg(w) }""", up=random(64, 64))
    path = save(made, "named")
    out, _ = convert(thaw, path, "--no-check", *(["--dynamic"] if to == "int8" else []), to=to)
    assert [dims(v) for v in onnx.load(out).graph.output] == [["total", 64], ["rows", 64], [320, 64], ["n", 64]]


# What stays, and why: by what is said of it.
STAYING = {
    "is the left operand": "float[64, m] x) => (float[64, m] y) { y = MatMul(w, x)",
    "is a vector": "float[n, 64] x) => (float[n] y) { y = MatMul(x, v)",
    "is computed by a Cast": "float[n, 64] x) => (float[n, 64] y) { f = Cast<to = 1>(whole) y = MatMul(x, f)",
    "both of its operands are computed": "float[n, 64] x) => (float[n, n] y) { t = Transpose<perm = [1, 0]>(x) y = MatMul(x, t)",
    "along axis 1": "int64[n] x) => (float[64, n] y) { y = Gather<axis = 1>(w, x)",
    "not for Einsum": "float[b, n, 64] x) => (float[b, n, 64] y) { y = Einsum<equation = \"bnk,km->bnm\">(x, w)",
}


@pytest.fixture
def branches(save):
    return save(model("""g (float[n, 64] x, bool first) => (float[n, 64] y) {
      y = If(first)<then_branch = t () => (float[n, 64] o) { r = Relu(x) a = MatMul(r, shared) s = Relu(a) o = MatMul(s, own) },
                    else_branch = e () => (float[n, 64] p) { k = Sigmoid(x) p = MatMul(k, shared) }>
    }""", shared=random(64, 64), own=random(64, 64)), "branches")


def fed_branches(folder, *firsts):
    feeds = [{"x": random(64, 64, scale=1), "first": np.array(first)} for first in firsts]
    for i, fed in enumerate(feeds):
        np.savez(folder / f"{i}.npz", **fed)
    return feeds


@pytest.mark.parametrize("how", ["int4", "int4 --form qdq", "int3 --form qdq", "int4 --method gptq", "int4 --method awq"])
def test_branches_that_share_a_weight(thaw, branches, tmp_path, how):
    to, *options = how.split()
    feeds = fed_branches(tmp_path, True, False, True, False)
    out, report = convert(thaw, branches, *options, *["--data", tmp_path] * ("--method" in options), to=to)
    assert len(report["converted"]) == 3 and report["weight_bytes_after"] < 0.3 * report["weight_bytes_before"] and not report["not_converted"]
    found = [sqnr(branches, out, fed) for fed in feeds]
    plain, _ = convert(thaw, branches, "--method", "rtn", to=to)  # written over the other
    more = 1.5 if "--method" in options else 0
    for of_one, fed in zip(found, feeds, strict=True):
        assert of_one > max(9, sqnr(branches, plain, fed) + more)


def test_a_branch_that_no_sample_takes_has_its_codes_by_search(thaw, branches, tmp_path):
    feeds = fed_branches(tmp_path, False, False)
    out, report = convert(thaw, branches, "--method", "gptq", "--data", tmp_path, to="int4")
    assert {k["where"]: k["message"] for k in report["not_converted"]} == {
        "o": "gptq: no sample reaches its weight: search quantizes it"}
    assert len(report["converted"]) == 3 and sqnr(branches, out, feeds[0]) > 15


@pytest.mark.parametrize("why", STAYING)
def test_what_stays_says_why(thaw, save, why):
    made = model("g (" + STAYING[why] + " }", w=random(64, 64), v=random(64))
    made.graph.initializer.append(numpy_helper.from_array(np.eye(64, dtype=np.int8), "whole"))
    out, report = convert(thaw, save(made, "stays"), "--no-optimize", to="int4", code=1)
    assert not report["converted"] and report["failures"] == ["nothing was converted to int4: each unchanged node has its reason"]
    assert not out.exists()
    assert [k for k in report["not_converted"] if why in k["message"]], report["not_converted"]


def test_what_a_plan_names_and_cannot_lie_in_blocks_says_so(thaw, mlp, tmp_path):
    name = next(n.name or n.output[0] for n in onnx.load(mlp).graph.node if n.op_type == "Sigmoid")
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"nodes": [{"name": name, "to": "int4"}]}))
    report = thaw.json("convert", mlp, "-o", tmp_path / "out.onnx", "--plan", plan, "--no-optimize", code=1)
    assert [k for k in report["not_converted"] if k["where"] == name and "no weights" in k["message"]], report["not_converted"]


def test_an_axis_from_the_end_is_the_first(thaw, save):
    path = save(model("g (int64[n] x) => (float[n, 64] y) { y = Gather<axis = -2>(w, x) }", w=random(96, 64)), "end")
    out, _ = convert(thaw, path, to="int4")
    assert operators(out) == ["GatherBlockQuantized"]
    ids = np.array([0, 95, 17], np.int64)
    assert np.abs(run(out, {"x": ids})[0] - run(path, {"x": ids})[0]).max() < 0.1


def test_what_is_to_be_portable_has_onnx_own_operators(thaw, mlp):
    out, _ = convert(thaw, mlp, "--target", "portable", to="int4")
    assert {n.domain for n in onnx.load(out).graph.node} <= {"", "ai.onnx"}
    assert not thaw.json("check", out, "--target", "portable", code=0)["findings"]
    out, _ = convert(thaw, mlp, "--target", "portable", "--form", "matmulnbits", to="int4")
    assert "MatMulNBits" in operators(out)


@pytest.mark.parametrize("options, of", [(["--to", "f16", "--method", "rtn"], "int4"), (["--to", "int4", "--dynamic"], "int8"),
                                         (["--to", "int4", "--io", "convert"], "f16"), (["--to", "f16", "--smooth", 0.5], "--data"),
                                         (["--to", "int8", "--dynamic", "--range", "mse"], "--data")])
def test_options_that_would_change_nothing_are_errors(thaw, mlp, tmp_path, options, of):
    said = thaw.error("convert", mlp, "-o", tmp_path / "out.onnx", *options)
    assert str(options[2]) in said or options[-2] in said
    assert f"expected it with --to {of}" in said or f"and {of}" in said, said


def test_nodes_of_a_mixed_plan_are_said_once(thaw, mlp, tmp_path):
    nodes = [n for n in onnx.load(mlp).graph.node if n.op_type == "MatMul"]
    names = [n.name or n.output[0] for n in nodes]
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"nodes": [{"name": names[0], "to": "int4"}, {"name": names[1], "to": "f16"}], "projections": "apart"}))
    report = thaw.json("convert", mlp, "-o", tmp_path / "out.onnx", "--plan", plan, "--no-optimize", code=0)
    own = {n.name or n.output[0] for n in onnx.load(mlp).graph.node}
    assert all(names[0] not in k["where"] for k in report["not_converted"])
    assert {k["where"] for k in report["not_converted"]} <= own


@pytest.mark.parametrize("method", ["gptq", "awq", "search"])
def test_samples_that_are_no_numbers_are_errors(thaw, mlp, tmp_path, method):
    for number in (np.nan, np.inf):
        x = random(2, 5, 64, scale=1)
        x[1, 2, 3] = number
        np.savez(tmp_path / "bad.npz", x=x)
        said = thaw.error("convert", mlp, "-o", tmp_path / "out.onnx", "--to", "int4", "--method", method, "--data", tmp_path / "bad.npz")
        assert "NaN or an infinity" in said and not (tmp_path / "out.onnx").exists()


FORMATS = {"int4": "int4", "int3": "int3", "int2 --form qdq": "int2", "int4 --form qdq": "int4", "int3 --form qdq": "int3",
           "int8-blocks": "int8-blocks", "f16": "f16", "int8 --dynamic": "int8"}


@pytest.mark.parametrize("how", FORMATS)
def test_only_what_is_in_the_form_already_is_written_again(thaw, mlp, tmp_path, how):
    to, *options = how.split()
    out, again = tmp_path / "out.onnx", tmp_path / "again.onnx"
    first = thaw.json("convert", mlp, "-o", out, "--to", to, *options, code=0)
    assert first["converted"] and not first["already_converted"]
    for wanted in dict.fromkeys(FORMATS.values()):
        if wanted == "f16" and to != "f16":
            continue  # what is float32 besides its codes is converted
        more = ["--dynamic"] if wanted == "int8" else []
        report = thaw.json("convert", out, "-o", again, "--to", wanted, "--no-optimize", *more, code={0, 1})
        if report["converted"]:
            assert to in ("f16", "int8") and wanted != to
        elif wanted == to:
            assert report["warnings"] == [f"nothing was converted: it is {to} already"] and len(report["already_converted"]) >= 2
            assert not report["failures"] and again.exists()
        else:
            assert report["output"] is None and f"nothing was converted to {wanted}" in report["failures"][0]
            assert not again.exists() and not report["already_converted"]
            assert to == "f16" or [k for k in report["not_converted"] if f"it is already quantized to {to}" in k["message"]], report["not_converted"]
        again.unlink(missing_ok=True)


def test_samples_choose_gptq_unless_another_method_is_named(thaw, save, tmp_path):
    rng = np.random.default_rng(3)
    path = save(model("g (float[n, 64] x) => (float[n, 64] y) { h = MatMul(x, w) r = Relu(h) y = MatMul(r, v) }",
                      w=random(64, 64), v=random(64, 64)), "chosen")
    mixed = rng.standard_normal((64, 64)).astype(np.float32)
    for folder, count in (("seen", 6), ("unseen", 3)):
        (tmp_path / folder).mkdir()
        for i in range(count):
            np.savez(tmp_path / folder / f"{i}.npz", x=rng.standard_normal((80, 64)).astype(np.float32) @ mixed)
    given = ["--data", tmp_path / "seen", "--held-out", tmp_path / "unseen"]
    found = {}
    for to, options, method in (("int4", [], "gptq"), ("int3", [], "gptq"), ("int2", ["--form", "qdq"], "gptq"), ("int8-blocks", [], "search"),
                                ("int4", ["--real-zeros"], "search"), ("int4", ["--method", "search"], "search"), ("int4", ["--method", "rtn"], "rtn")):
        out, report = convert(thaw, path, *given, *options, to=to)
        assert report["method"] == method
        assert f"block quantization method: {method}" in thaw("convert", path, "-o", out, "--to", to, *given, *options, code=0).stdout
        found[to, *options] = min(e["sqnr_db"] for e in report["comparisons"] if e["dataset"] == "held_out")
    assert found["int4",] > found["int4", "--method", "search"] + 1
    _, report = convert(thaw, path, to="int4")
    assert report["method"] == "search"
    _, report = convert(thaw, path, *given, to="f16")
    assert report["method"] is None


@pytest.mark.parametrize("to", ["f16", "bf16", "int8 --dynamic", "int4", "int3", "int2 --form qdq", "int8-blocks"])
@pytest.mark.parametrize("body", ["y = Relu(x)", "i = Cast<to = 7>(x) k = Add(i, i) y = Cast<to = 1>(k)", "y = Identity(x)"])
def test_what_has_nothing_to_convert_is_not_written(thaw, save, tmp_path, to, body):
    path, out = save(model("g (float[n, 8] x) => (float[n, 8] y) { " + body + " }"), "nothing"), tmp_path / "out.onnx"
    for more in ([], ["--no-check"], ["--no-optimize"]):
        report = thaw.json("convert", path, "-o", out, "--to", *to.split(), *more, code=1)
        assert len(report["failures"]) == 1 and f"nothing was converted to {to.split()[0]}" in report["failures"][0]
        assert report["files"] == [] and not out.exists()
    assert "nothing was written" in thaw("convert", path, "-o", out, "--to", *to.split(), code=1).stdout


def test_converting_again_changes_nothing(thaw, mlp, tmp_path):
    out, _ = convert(thaw, mlp, to="int4")
    again = tmp_path / "again.onnx"
    report = thaw.json("convert", out, "-o", again, "--to", "int4", code=0)
    assert report["converted"] == [] and report["warnings"] == ["nothing was converted: it is int4 already"]
    assert report["already_converted"] and thaw("convert", out, "-o", again, "--to", "int4").stdout.count("already") == 2
    x = {"x": random(2, 5, 64, scale=1)}
    np.testing.assert_array_equal(run(out, x)[0], run(again, x)[0])
    weights = [numpy_helper.to_array(i) for i in onnx.load(out).graph.initializer]
    assert sum(w.nbytes for w in weights) <= report["weight_bytes_before"]


ATTENTION = """a (float[batch, seq, 64] x) => (float[batch, seq, 64] y) {
  q = MatMul(x, wq) k = MatMul(x, wk) v = MatMul(x, wv)
  t = Transpose<perm = [0, 2, 1]>(k) s = MatMul(q, t) p = Softmax(s) o = MatMul(p, v)
  h = MatMul(o, wo) u = MatMul(h, up) g = MatMul(h, gate) y = Mul(u, g)
}"""


def test_the_projections_of_an_attention_go_together(thaw, save, tmp_path):
    path = save(model(ATTENTION, **{w: random(64, 64) for w in ("wq", "wk", "wv", "wo", "up", "gate")}), "attention")
    plan, out = tmp_path / "plan.json", tmp_path / "out.onnx"

    def converted(*nodes, default="keep"):
        plan.write_text(json.dumps({"default": default, "nodes": [{"name": n, "to": to} for n, to in nodes]}))
        report = thaw.json("convert", path, "-o", out, "--plan", plan, "--no-optimize", "--no-check", code=0)
        made = onnx.load(out)
        return report, {n.output[0].split("/")[0]: next(a.i for a in n.attribute if a.name == "bits") for n in made.graph.node
                        if n.op_type == "MatMulNBits"}

    report, bits = converted(("k", "int4"))
    assert bits == {"q": 4, "k": 4, "v": 4} and any("follows the other" in n["message"] for n in report["not_converted"])
    assert converted(("u", "int4"))[1] == {"u": 4}
    assert converted(("q", "int4"), ("v", "int8-blocks"))[1] == {"q": 8, "k": 8, "v": 8}
    assert converted(("v", "keep"), default="int4")[1] == {"h": 4, "u": 4, "g": 4}


def test_a_built_tower_is_compared_at_grids_of_its_own(thaw, tmp_path):
    """Integers that are drawn are no grid of an image; without --values it is small ones that the two are compared at."""
    thaw("build", SOURCE / "tests" / "fixtures" / "qwen3_vl" / "tower", "-o", tmp_path, "--part", "vision", code=0)
    report = thaw.json("convert", tmp_path / "vision.onnx", "-o", tmp_path / "int4.onnx", "--to", "int4", code=0)
    assert {error["case"] for error in report["comparisons"]} == {"num_patches=4", "num_patches=64"}
    assert report["not_compared"] == []


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("method", ["rtn", "search", "hqq", "gptq", "awq"])
def test_codes_of_the_largest_float16_are_finite(thaw, save, tmp_path, method, symmetric):
    w = np.clip(random(64, 16, scale=3e4), -65504, 65504)
    w[:, 0], w[:, 1], w[::2, 2], w[1::2, 2] = 65504, -27190, 65504, -65504
    made = model("g (float16[n, 64] x) => (float16[n, 16] y) { y = MatMul(x, w) }")
    made.graph.initializer.append(numpy_helper.from_array(w.astype(np.float16), "w"))
    path = save(made, "largest")
    np.savez(tmp_path / "x.npz", x=random(100, 64, scale=1e-3).astype(np.float16))
    options = ["--data", tmp_path / "x.npz"] if method in ("gptq", "awq") else []
    out, _ = convert(thaw, path, "--method", method, *options, *(["--symmetric"] if symmetric else []), "--no-check", to="int4")
    (product,) = (n for n in onnx.load(out).graph.node if n.op_type == "MatMulNBits")
    codes, scales, *zeros = (numpy_helper.to_array(i) for name in product.input[1:] for i in onnx.load(out).graph.initializer
                             if i.name == name)
    pairs = [np.stack([bytes_ & 15, bytes_ >> 4], -1).reshape(16, 2, -1).astype(int) for bytes_ in (codes, *zeros)]
    steps = pairs[0] - (pairs[1] if zeros else 8)
    assert np.abs(steps * scales.reshape(16, 2, 1).astype(float)).max() <= 65504


def test_products_of_zeros_are_no_failure_where_the_kernel_rounds_activations(thaw, save):
    path = save(model("g (float[n, 64] x) => (float[n, 16] y) { y = MatMul(x, w) }", w=np.zeros((64, 16), np.float32)), "zeros")
    _, report = convert(thaw, path, "--form", "qdq", to="int4")
    assert report["failures"] == []


def test_an_accuracy_level_is_of_matmulnbits_alone(thaw, mlp, tmp_path):
    error = thaw.error("convert", mlp, "-o", tmp_path / "o.onnx", "--to", "int4", "--form", "qdq", "--accuracy-level", "4")
    assert "session.qdq_matmulnbits_accuracy_level" in error


def test_memory_does_not_grow_with_the_weights(thaw, tmp_path):
    """Five weights of 138 MB, all but zeros of a sparse file, stored by rows and read in two strips of columns, the last a narrow one."""
    rows, columns, count = 4096, 16384 + 416, 5
    size = rows * columns * 2
    weights = []
    for i in range(count):
        tensor = onnx.TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT16, dims=[rows, columns], data_location=TensorProto.EXTERNAL)
        for key, value in (("location", "large.data"), ("offset", i * size), ("length", size)):
            tensor.external_data.add(key=key, value=str(value))
        weights.append(tensor)
    nodes = [helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"y{i}"], name=f"m{i}") for i in range(count)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT16, ["n", rows]) for i in range(count)],
                              [helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT16, ["n", columns]) for i in range(count)], weights)
    (tmp_path / "large.onnx").write_bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
    with open(tmp_path / "large.data", "wb") as file:
        file.truncate(count * size)
        for i in range(count):  # equal weights are stored once
            file.seek(i * size)
            file.write(np.float16(i + 1).tobytes())
    peak = peak_mb(thaw, "convert", tmp_path / "large.onnx", "--to", "int4", "--method", "rtn", "--no-check", "-o", tmp_path / "small.onnx")
    assert (tmp_path / "small.onnx.data").stat().st_size > count * size / 5
    assert peak < 2.5 * size / 1e6, peak
