"""thaw convert and thaw build --target, for every target that check knows: what a target takes decides what is written, what it does
not take is refused with the reason, and the result is never supported less than the model in float32."""
import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from build_targets_test import decoder_like
from build_text_test import checkpoint
from conftest import SOURCE
from models.checkpoints import CHAT, with_tokenizer

TABLES = ("cpu", "cuda", "directml", "webgpu", "tensorrt", "coreml", "coreml-neuralnetwork", "webnn", "openvino", "qnn", "xnnpack",
          "openvino-cpu", "openvino-gpu", "openvino-npu", "qnn-gpu", "qnn-npu", "tensorrt-rtx")
FIXTURES = SOURCE / "tests" / "fixtures"
CASTS = {"Cast", "CastLike"}
SAMPLES = [np.random.default_rng(i).normal(0, 1, (1, 3, 16, 16)).astype(np.float32) for i in range(3)]


def net():
    """A convolution with a bias, a pool and a product."""
    rng = np.random.default_rng(0)

    def weight(name, *dims):
        return numpy_helper.from_array(rng.normal(0, 0.3, dims).astype(np.float32), name)
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], "conv", pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["r"], "relu"),
             helper.make_node("GlobalAveragePool", ["r"], ["g"], "pool"), helper.make_node("Flatten", ["g"], ["f"], "flat"),
             helper.make_node("MatMul", ["f", "m"], ["p"], "product"), helper.make_node("Add", ["p", "a"], ["s"], "bias"),
             helper.make_node("Softmax", ["s"], ["y"], "soft")]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 16, 16])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 32])],
                              [weight("w", 64, 3, 3, 3), weight("b", 64), weight("m", 64, 32), weight("a", 32)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def path(save, tmp_path):
    (tmp_path / "data").mkdir()
    for i, sample in enumerate(SAMPLES):
        np.savez(tmp_path / "data" / f"{i}.npz", x=sample)
    return save(net(), "net")


def unsupported(thaw, path, target):
    """Operators that the target does not take, but for Casts between types."""
    (found,) = [each for each in thaw.json("check", path, "--target", "all")["targets"] if each["target"] == target]
    return sum(each["nodes"] for each in found["operators"] if each["support"] == "unsupported" and each["op"] not in CASTS)


@pytest.mark.parametrize("target", TABLES)
def test_what_is_converted_for_a_target_is_supported_as_far_as_the_model_was(thaw, path, tmp_path, target):
    before, taken = unsupported(thaw, path, target), 0
    for i, how in enumerate((["f16"], ["int4"], ["int8", "--data", tmp_path / "data"], ["int8", "--dynamic"])):
        out = tmp_path / f"{i}.onnx"
        run = thaw("convert", path, "-o", out, "--to", *how, "--target", target)
        if run.returncode == 2:
            if how == ["f16"]:
                assert target == "coreml-neuralnetwork" and "'s kernel of MatMul takes float32 as input 0, not float16" in run.stderr, run.stderr
            else:
                assert "has no kernel of" in run.stderr or "takes no operators of" in run.stderr, run.stderr
            advice = "; leave it in float32" if target == "coreml-neuralnetwork" else "; convert to f16"
            assert f"--target {target}" in run.stderr and advice in run.stderr and not out.exists()
        elif out.exists():
            taken += 1
            assert unsupported(thaw, out, target) <= before, how
            assert run.returncode == thaw("check", out, "--target", target, "--select", "THAW03").returncode, run.stdout
        else:
            assert run.returncode == 1 and "nothing was converted" in run.stdout
    assert taken > 0 or target == "coreml-neuralnetwork"  # which has float32 alone


def looked_up(rows="n"):
    """Rows of a table, and a product."""
    rng = np.random.default_rng(1)
    weights = [numpy_helper.from_array(rng.normal(0, 1, dims).astype(np.float32), name) for name, dims in (("table", [100, 32]), ("m", [32, 32]))]
    graph = helper.make_graph([helper.make_node("Gather", ["table", "ids"], ["e"], "look"), helper.make_node("MatMul", ["e", "m"], ["y"], "product")], "g",
                              [helper.make_tensor_value_info("ids", TensorProto.INT64, [rows])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, 32])], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("target", TABLES)
@pytest.mark.parametrize("how", [[], ["--dynamic"]])
def test_rows_are_looked_up_in_codes_where_the_target_does(thaw, save, tmp_path, target, how):
    path, out, data = save(looked_up(7), "rows"), tmp_path / "out.onnx", tmp_path / "ids.npz"
    np.savez(data, ids=np.arange(7))
    before = unsupported(thaw, path, target)
    run = thaw("convert", path, "-o", out, "--to", "int8", "--target", target, *(how or ["--data", data]))
    if not out.exists():
        assert "has no kernel of" in run.stderr or "takes no operators of" in run.stderr or "nothing was converted" in run.stdout, run.stderr
        return
    assert unsupported(thaw, out, target) <= before, run.stdout


def test_free_sizes_that_want_a_profile_are_no_refusal(thaw, save, tmp_path):
    path = save(looked_up(), "rows")
    assert "in part" in thaw("check", path, "--target", "tensorrt").stdout
    report = thaw.json("convert", path, "-o", tmp_path / "out.onnx", "--to", "f16", "--target", "tensorrt", code=0)
    assert report["unsupported"] == [] and any("THAW039" in warning for warning in report["warnings"])
    assert thaw("optimize", path, "-o", tmp_path / "optimized.onnx", "--target", "tensorrt").returncode == 0


def written(thaw, path, out, target, *how):
    thaw("convert", path, "-o", out, "--target", target, *how, code=0)
    return onnx.load(out)


def operators(model):
    return {node.op_type for node in model.graph.node}


@pytest.mark.parametrize("target, form", [("cpu", "MatMulNBits"), ("cuda", "MatMulNBits"), ("webgpu", "MatMulNBits"), ("webnn", "MatMulNBits"),
                                          ("openvino", "MatMulNBits"), ("qnn", "DequantizeLinear"), ("tensorrt", "DequantizeLinear"),
                                          ("tensorrt-rtx", "DequantizeLinear")])
def test_the_table_chooses_the_form_of_blocks(thaw, save, tmp_path, target, form):
    made = written(thaw, pinned(thaw, save), tmp_path / "out.onnx", target, "--to", "int4")
    assert form in operators(made)
    assert ("GatherBlockQuantized" in operators(made)) == (target in ("cpu", "cuda", "webgpu", "webnn"))


def pinned(thaw, save):
    """Of fixed sizes, which some targets ask for."""
    free = save(decoder_like(), "free")
    thaw("pin", free, "-o", free.parent / "pinned.onnx", "--sizes", "n=2,s=3", code=0)
    return free.parent / "pinned.onnx"


def test_tensorrt_gets_no_zero_points(thaw, save, path, tmp_path):
    """Blocks of signed values without them, signed activations about 0, and biases in float32."""
    out = tmp_path / "blocks.onnx"
    made = written(thaw, pinned(thaw, save), out, "tensorrt", "--to", "int4")
    (dequantize,) = [node for node in made.graph.node if node.op_type == "DequantizeLinear"]
    codes = {each.name: each for each in made.graph.initializer}[dequantize.input[0]]
    assert len(dequantize.input) == 2 and codes.data_type == TensorProto.INT4 and made.opset_import[0].version >= 21
    made = written(thaw, path, tmp_path / "int8.onnx", "tensorrt", "--to", "int8", "--data", tmp_path / "data")
    weights = {each.name: each for each in made.graph.initializer}
    for node in made.graph.node:
        if node.op_type in ("QuantizeLinear", "DequantizeLinear") and len(node.input) > 2:
            zero = weights[node.input[2]]
            assert zero.data_type == TensorProto.INT8 and not numpy_helper.to_array(zero).any()
    assert not [each for each in made.graph.initializer if each.data_type == TensorProto.INT32]
    thaw("convert", path, "-o", tmp_path / "ort.onnx", "--to", "int8", "--data", tmp_path / "data", code=0)
    assert any(each.data_type == TensorProto.INT32 for each in onnx.load(tmp_path / "ort.onnx").graph.initializer)


def test_zero_points_are_compared(thaw, path, tmp_path):
    thaw("convert", path, "-o", tmp_path / "signed.onnx", "--to", "int8", "--data", tmp_path / "data", "--signed-activations", code=0)
    found = thaw.findings(tmp_path / "signed.onnx", "--target", "tensorrt", "--select", "THAW036")
    assert {each["code"] for each in found} == {"THAW036"} and "other numbers than 0" in found[0]["message"]


def test_a_refusal_says_what_is_taken(thaw, save, path, tmp_path):
    def refusal(*how):
        return thaw.error("convert", path, "-o", tmp_path / "out.onnx", *how)
    assert "opset 21, and DirectML supports opset 20 at most" in refusal("--target", "directml", "--to", "int4", "--form", "qdq")
    plan = tmp_path / "plan.json"
    plan.write_text('{"nodes": [{"name": "product", "to": "int4", "form": "qdq", "symmetric": false}]}')
    message = refusal("--target", "tensorrt", "--plan", plan)
    assert "not uint4" in message and "product" in message and "--form qdq --symmetric" in message
    assert "bits 4 or 8, not 2" in refusal("--target", "webnn", "--to", "int2")


@pytest.mark.parametrize("target, providers", [("cuda", [{"cuda": {}}]), ("webgpu", [{"WebGPU": {}}]), ("cpu", []), ("coreml", None)])
def test_genai_is_told_the_provider(thaw, tmp_path, target, providers):
    source = with_tokenizer(checkpoint("qwen3"), FIXTURES / "inputs" / "tokenizer", tmp_path / "checkpoint", CHAT)
    built = ["build", source, "-o", tmp_path / "out", "--part", "text", "--genai", "--no-check", "--target", target]
    if providers is None:
        assert "which provider onnxruntime-genai runs for 'coreml' is not known" in thaw.error(*built)
        return
    thaw(*built, code={0, 1})
    config = json.loads((tmp_path / "out" / "genai_config.json").read_text())
    assert config["model"]["decoder"]["session_options"]["provider_options"] == providers


@pytest.mark.parametrize("target", ["cpu", "cuda", "webgpu", "tensorrt", "openvino", "qnn", "webnn", "coreml", "xnnpack"])
def test_parts_are_built_for_each_target(thaw, tmp_path, target):
    """Never supported less than the portable part, and blocks in the form that is taken, or refused."""
    folder = checkpoint("qwen3")
    built = ["build", folder, "--part", "text", "--no-check"]
    thaw(*built, "-o", tmp_path / "portable", code=0)
    report = thaw.json(*built, "-o", tmp_path / "own", "--target", target, code=(0, 1))
    own = unsupported(thaw, tmp_path / "own" / "text.onnx", target)
    assert own <= unsupported(thaw, tmp_path / "portable" / "text.onnx", target)
    assert bool(report["unsupported"]) or own == 0
    run = thaw(*built, "-o", tmp_path / "int4", "--target", target, "--dtype", "int4")
    if target in ("coreml", "xnnpack"):
        assert run.returncode == 2 and f"--dtype int4, --target {target}: " in run.stderr and "build with --dtype f32 or f16" in run.stderr
        assert not (tmp_path / "int4").exists()
        return
    made = operators(onnx.load(tmp_path / "int4" / "text.onnx", load_external_data=False))
    assert ("MatMulNBits" in made) != ("DequantizeLinear" in made)
    assert "bfloat16" in thaw.error(*built, "-o", tmp_path / "bf16", "--target", "webgpu", "--dtype", "bf16")


@pytest.mark.parametrize("target", ["portable", "ort", *TABLES])
def test_sensitivity_measures_what_is_converted_for_a_target(thaw, path, tmp_path, target):
    """Its plan of all nodes writes what `convert` writes, and what the one refuses the other refuses in the same words."""
    data, report, plan, direct, planned = (tmp_path / name for name in ("data", "report", "plan.json", "direct.onnx", "planned.onnx"))
    for how in (["int4", "--method", "search"], ["int8"], ["int8", "--dynamic"]):
        samples = [] if "--dynamic" in how else ["--data", data]
        wanted = thaw("convert", path, "-o", direct, "--to", *how, *samples, "--target", target, "--no-check")
        run = thaw("sensitivity", path, "-o", report, "--to", *how, "--data", data, "--target", target, "--only-in")
        if wanted.returncode == 2:
            assert run.returncode == 2 and run.stderr == wanted.stderr
            continue
        assert run.returncode == 0, run.stderr
        assert json.loads((report / "report.json").read_text())["target"] == target
        thaw("plan", report, "--max-error", 1e30, "-o", plan, "--no-check", code=0)
        thaw("convert", path, "-o", planned, "--plan", plan, *samples, "--target", target, "--no-check", code={0, 1})
        assert operators(onnx.load(planned)) == operators(onnx.load(direct)), how


def test_a_report_names_a_target_that_there_is(thaw, path, tmp_path):
    thaw("sensitivity", path, "-o", tmp_path / "report", "--to", "int4", "--data", tmp_path / "data", "--target", "webnn", "--only-in", code=0)
    report = tmp_path / "report" / "report.json"
    report.write_text(report.read_text().replace('"target": "webnn"', '"target": "toaster"'))
    assert "toaster" in thaw.error("plan", tmp_path / "report", "--max-bytes", 10**6, "-o", tmp_path / "plan.json")
