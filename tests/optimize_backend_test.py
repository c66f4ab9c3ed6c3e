"""`thaw optimize --target` by the tables of targets: what a backend has no kernel for becomes what it has one for, and no result is worse than portable."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto as T

from check_target_tables_test import TABLES, chain
from check_target_test import branch, constant, model, node
from conftest import need_package
from models import scrfd

F = T.FLOAT
FIXED = [("x", F, [2, 6])]


def unsupported(thaw, path, target):
    report = thaw.json("check", path, "--target", target, "--select", "THAW03", "--exit-zero")
    return report["targets"][0]["unsupported"]


def ops_of(path):
    return [n.op_type for n in onnx.load(path).graph.node]


def models():
    yield "activations", chain(["Relu", "Mish", "HardSwish", "Abs"])
    yield "gelu", model([node("Gelu", ["x"], "g"), node("Neg", ["g"], "y")], FIXED, ["y"], opset=20)
    yield "later", model([node("Acos", ["x"], "a"), node("Sigmoid", ["a"], "y")], FIXED, ["y"], opset=22)
    yield "microsoft", model([node("FastGelu", ["x"], "f", domain="com.microsoft"), node("Relu", ["f"], "y")], FIXED, ["y"],
                             domains=["com.microsoft"])
    yield "skip", model([node("SkipLayerNormalization", ["x", "x", "w", "w"], "y", domain="com.microsoft")], [("x", F, [1, 2, 6])], ["y"],
                        [constant("w", [1.0] * 6, np.float32)], domains=["com.microsoft"])
    yield "branches", model([node("If", ["c"], "y", then_branch=branch([node("Neg", ["x"], "t")], "t"),
                                  else_branch=branch([node("Relu", ["x"], "e")], "e"))], [*FIXED, ("c", T.BOOL, [])], ["y"])
    yield "detector", scrfd.model()


MODELS = dict(models())


@pytest.mark.parametrize("target", TABLES)
@pytest.mark.parametrize("name", MODELS)
def test_no_result_is_worse_than_portable(thaw, save, tmp_path, name, target):
    path = save(MODELS[name])
    portable, made, again = tmp_path / "portable.onnx", tmp_path / "made.onnx", tmp_path / "again.onnx"
    thaw("optimize", path, "-o", portable, code=0)
    report = thaw.json("optimize", path, "-o", made, "--target", target, code={0, 1})
    # Written, so that it agrees with the original; what is not supported is among the findings.
    assert report["accepted"] and made.exists()
    assert unsupported(thaw, made, target) <= unsupported(thaw, portable, target)
    errors = [f for f in report["findings"] if f["severity"] == "error"]
    assert bool(errors) == any(f["severity"] == "error" for f in thaw.findings(made, "--target", target, "--select", "THAW03"))
    thaw.json("optimize", made, "-o", again, "--target", target, code={0, 1})
    assert ops_of(made) == ops_of(again)


def test_what_has_no_kernel_becomes_what_has_one(thaw, save, tmp_path):
    out, other = tmp_path / "o.onnx", tmp_path / "p.onnx"
    path = save(model([node("Mish", ["x"], "m"), node("Relu", ["m"], "y")], FIXED, ["y"], opset=18))
    thaw("optimize", path, "-o", out, "--target", "coreml", code=0)
    assert ops_of(out) == ["Softplus", "Tanh", "Mul", "Relu"] and unsupported(thaw, out, "coreml") == 0
    thaw("optimize", path, "-o", other, "--target", "tensorrt", code=0)
    assert ops_of(other) == ["Mish", "Relu"]


def test_operators_of_microsoft_stay_where_they_have_kernels(thaw, save, tmp_path):
    path = save(MODELS["microsoft"])
    for target, stays in (("cuda", True), ("cpu", True), ("coreml", False), ("webnn", False)):
        out = tmp_path / f"{target}.onnx"
        thaw("optimize", path, "-o", out, "--target", target, code={0, 1})
        assert ("FastGelu" in ops_of(out)) == stays, target


def test_branches_become_both_where_there_is_no_control_flow(thaw, save, tmp_path):
    path = save(MODELS["branches"])
    for target, stays in (("cuda", True), ("webnn", False)):
        out = tmp_path / f"{target}.onnx"
        thaw("optimize", path, "-o", out, "--target", target, code=0)
        assert ("If" in ops_of(out)) == stays, target


def test_the_opset_is_one_that_has_kernels(thaw, save, tmp_path):
    out = tmp_path / "o.onnx"
    # WebGPU's Acos is of opset 7, and the operator changed at 22.
    thaw("optimize", save(MODELS["later"]), "-o", out, "--target", "webgpu", code=0)
    assert onnx.load(out).opset_import[0].version < 22 and unsupported(thaw, out, "webgpu") == 0
    other = tmp_path / "p.onnx"
    thaw("optimize", save(MODELS["later"]), "-o", other, "--target", "openvino", code=0)
    assert onnx.load(other).opset_import[0].version == 22


def test_real_models(thaw, tmp_path):
    path = need_package("rapidocr_onnxruntime") / "models" / "ch_ppocr_mobile_v2.0_cls_infer.onnx"
    before = unsupported(thaw, path, "coreml")
    thaw("optimize", path, "-o", tmp_path / "o.onnx", "--target", "coreml", code={0, 1})
    assert unsupported(thaw, tmp_path / "o.onnx", "coreml") <= before


def test_a_name_that_is_no_target(thaw, save):
    assert "did you mean 'cuda'" in thaw.error("optimize", save(chain(["Relu"])), "--target", "cudo")
