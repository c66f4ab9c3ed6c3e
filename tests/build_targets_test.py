"""What thaw build and thaw convert write for a target: every operator takes its types as of the model's opset, ONNX Runtime
loads it or has no kernels of bfloat16, and the target's own check passes."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from build_text_test import checkpoint
from conftest import session
from models.tower_cases import CASES, inputs

DTYPES = ["f32", "f16", "bf16", "int4", "int4-f16", "int8-blocks"]
TARGETS = ["portable", "ort", "directml"]


def require_valid(path):
    """By ONNX's schemas, and by ONNX Runtime, which has few kernels of bfloat16 for processors."""
    import onnxruntime
    model = onnx.load(path, load_external_data=False)
    if not any(node.op_type == "SimplifiedLayerNormalization" for node in model.graph.node):  # ONNX Runtime's own
        onnx.checker.check_model(path, full_check=True)
    try:
        session(path)
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        assert any(value.data_type == TensorProto.BFLOAT16 for value in model.graph.initializer)


def towers():
    for family in ("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_asr", "phi4_mm"):
        folder = checkpoint(family).parent / "tower"
        yield family, folder, "audio" if family == "qwen3_asr" else "vision"


TEXTS = [(family, checkpoint(family), "text", options) for family in ("qwen3", "phi3")
         for options in ([], ["--kv-cache"], ["--pooling", "last"])]
PARTS = [*TEXTS, *((family, folder, part, []) for family, folder, part in towers())]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("family, folder, part, options", PARTS,
                         ids=[" ".join([family, part, *options]) for family, _, part, options in PARTS])
def test_parts_are_valid_for_their_target(thaw, tmp_path, family, folder, part, options, dtype, target):
    built = ["build", folder, "-o", tmp_path / "out", "--part", part, "--dtype", dtype, "--target", target, *options]
    if (dtype, target) == ("bf16", "directml"):
        assert "bfloat16" in thaw.error(*built)
        return
    report = thaw.json(*built, code=0)
    assert report["unsupported"] == []
    require_valid(tmp_path / "out" / f"{part}.onnx")
    thaw("check", tmp_path / "out" / f"{part}.onnx", "--target", target, code=0)


@pytest.mark.parametrize("opset", [18, 19, 20])
def test_bfloat16_convolutions_compute_in_float32(thaw, tmp_path, opset):
    """Conv takes bfloat16 from opset 22 on. The rest has it, and the features stay near those in float32."""
    folder = checkpoint("qwen3_asr").parent / "tower"
    path = {}
    for dtype in ("f32", "bf16"):
        thaw("build", folder, "-o", tmp_path / dtype, "--part", "audio", "--dtype", dtype, "--opset", opset, code=0)
        path[dtype] = tmp_path / dtype / "audio.onnx"
    require_valid(path["bf16"])
    feeds = inputs("qwen3_asr", CASES["qwen3_asr"][2], 2)
    expected = session(path["f32"]).run(None, feeds)[0]
    found = np.asarray(ReferenceEvaluator(str(path["bf16"])).run(None, feeds)[0]).astype(np.float32)
    assert np.abs(found - expected).max() <= 0.05 * np.abs(expected).max()


def decoder_like(lookup_dims=(40, 64), tied=False):
    """A table that is looked up, and a product; tied: with the same matrix."""
    rng = np.random.default_rng(0)
    table = rng.normal(0, 0.5, lookup_dims).astype(np.float32)
    matrix = table.T if tied else rng.normal(0, 0.5, (lookup_dims[1], 32)).astype(np.float32)
    nodes = [helper.make_node("Gather", ["table", "ids"], ["x"], "look")]
    weights = [numpy_helper.from_array(table, "table")]
    if tied:
        nodes += [helper.make_node("Transpose", ["table"], ["m"], "turn", perm=[1, 0])]
    else:
        weights.append(numpy_helper.from_array(matrix, "m"))
    nodes += [helper.make_node("MatMul", ["x", "m"], ["y"], "multiply")]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("ids", TensorProto.INT64, ["n", "s"])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", "s", None])], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


@pytest.mark.parametrize("to", ["int4", "int3", "int8-blocks", "f16"])
@pytest.mark.parametrize("tied", [False, True])
def test_what_is_converted_for_directml_passes_its_check(thaw, tmp_path, save, to, tied):
    out = tmp_path / "out.onnx"
    report = thaw.json("convert", save(decoder_like(tied=tied)), "-o", out, "--to", to, "--target", "directml", code=0)
    assert report["unsupported"] == []
    thaw("check", out, "--target", "directml", code=0)
    operators = {node.op_type for node in onnx.load(out).graph.node}
    if to != "f16":
        assert "MatMulNBits" in operators and "GatherBlockQuantized" not in operators
        assert any("no kernel of GatherBlockQuantized" in group["message"] for group in report["not_converted"])


@pytest.mark.parametrize("options, words", [
    (["--to", "int4", "--form", "qdq"], ["opset 21", "opset 20 at most"]),
    (["--to", "int2"], ["bits 4 or 8, not 2", "convert to int4 with --form matmulnbits"]),
    (["--to", "int4", "--real-zeros"], ["takes uint8 as input 3, not float32", "without --real-zeros"]),
])
def test_blocks_that_directml_does_not_read_are_refused(thaw, tmp_path, save, options, words):
    out = tmp_path / "out.onnx"
    message = thaw.error("convert", save(decoder_like()), "-o", out, "--target", "directml", *options)
    assert all(word in message for word in words), message
    assert not out.exists()


def test_what_directml_does_not_take_is_told_by_the_exit_code(thaw, tmp_path, save):
    model = decoder_like()
    model.graph.node.append(helper.make_node("Det", ["y"], ["d"], "determinant"))
    model.graph.output.append(helper.make_tensor_value_info("d", TensorProto.FLOAT, ["n"]))
    path, out = save(model), tmp_path / "out.onnx"
    report = thaw.json("convert", path, "-o", out, "--to", "int4", "--target", "directml", "--no-check", code=1)
    assert out.exists() and len(report["unsupported"]) == 1 and "Det" in report["unsupported"][0]
    text = thaw("convert", path, "-o", out, "--to", "int4", "--target", "directml", "--no-check", code=1).stdout
    assert "unsupported by DirectML: THAW030" in text
    thaw("convert", path, "-o", out, "--to", "int4", "--no-check", code=0)


def test_a_command_that_does_not_cure_is_not_named(thaw, tmp_path, save):
    """`optimize` makes no numbers of codes again."""
    out = tmp_path / "out.onnx"
    thaw("convert", save(decoder_like()), "-o", out, "--to", "int4", code=0)
    findings = thaw.json("check", out, "--target", "directml", code=1)["findings"]
    assert [finding["code"] for finding in findings] == ["THAW030"] and findings[0].get("commands", []) == []
