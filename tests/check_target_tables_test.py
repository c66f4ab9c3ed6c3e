"""`thaw check --target` by the tables of all targets: what each asks of a node, what it makes of a model, and that the CPU's agrees with ONNX Runtime."""
import json
from collections import Counter

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto as T

from check_target_test import RULES, branch, codes, constant, model, node
from conftest import need_package, session
from schemas_test import validate

F, H = T.FLOAT, T.FLOAT16
ALL_RULES = RULES + ",THAW036,THAW037,THAW038,THAW039"
X = [("x", F, ["n", 6])]
FIXED = [("x", F, [2, 6])]
TABLES = ("cpu", "cuda", "directml", "webgpu", "tensorrt", "coreml", "coreml-neuralnetwork", "webnn", "openvino", "qnn", "xnnpack",
          "openvino-cpu", "openvino-gpu", "openvino-npu", "qnn-gpu", "qnn-npu", "tensorrt-rtx")


@pytest.fixture
def find(thaw, save):
    def ask(m, target, *options):
        return thaw.findings(save(m), "--target", target, "--select", ALL_RULES, *options)
    return ask


@pytest.fixture
def support(thaw, save):
    """support(model, target): what the report says of the target, by its name where that is "all"."""
    def ask(m, target="all"):
        report = thaw.json("check", save(m), "--target", target, "--exit-zero")
        validate(report, "check")
        by_name = {each["target"]: each for each in report["targets"]}
        return by_name if target == "all" else by_name[target]
    return ask


# What a kernel asks of a node.

def test_types_are_those_of_each_target(find):
    wide = model([node("Sigmoid", ["x"], "y")], [("x", T.DOUBLE, [2])], ["y"])
    assert find(wide, "cpu") == find(wide, "cuda") == []
    for target in ("directml", "webgpu", "tensorrt", "coreml", "webnn"):
        (finding,) = find(wide, target)
        assert finding["code"] == "THAW032" and "float64" in finding["message"], target


TESTED = ("openvino-cpu", "openvino-gpu", "openvino-npu", "qnn-gpu", "qnn-npu", "tensorrt-rtx")


@pytest.mark.parametrize("target", TESTED)
def test_what_did_not_run_in_tests_is_not_known(find, support, target):
    """Tests that ran say what is taken; that another operator, type or rank was not among them says nothing."""
    fixed = model([node("Abs", ["x"], "y")], [("x", F, [1, 3, 4])], ["y"])
    assert find(fixed, target) == [] and support(fixed, target)["support"] == "supported"
    others = [(model([node("Det", ["x"], "y")], [("x", F, [3, 3])], ["y"]), "no test of Det"),
              (model([node("Abs", ["x"], "y")], [("x", T.BFLOAT16, [1, 3, 4])], ["y"]), "no test with another type")]
    if target not in ("qnn-gpu", "tensorrt-rtx"):  # whose tests ran at ranks of all sorts
        others.append((model([node("Abs", ["x"], "y")], [("x", F, [1] * 9)], ["y"]), "rank 9"))
    for other, word in others:
        (finding,) = find(other, target)
        assert finding["code"] == "THAW038" and finding["severity"] == "note" and word in finding["message"], finding
        assert support(other, target)["support"] == "unknown"


def test_an_operand_that_has_to_be_constant(find):
    def reshape(shape, inits=()):
        return model([node("Reshape", ["x", "to"], "y")], [*FIXED, *shape], ["y"], inits)
    for target in ("coreml", "webnn"):
        assert find(reshape([], [constant("to", [3, 4])]), target) == []
        found = find(reshape([("to", T.INT64, [2])]), target)
        assert "THAW036" in codes(found) and found[0]["location"]["tensor"] == "to" and "shape" in found[0]["message"]
    assert find(reshape([("to", T.INT64, [2])]), "cuda") == []


def test_ranks(find):
    def pool(dims):
        return model([node("GlobalAveragePool", ["x"], "y")], [("x", F, dims)], ["y"])
    assert find(pool([1, 3, 8, 8]), "webnn") == []
    (finding,) = find(pool([1, 3, 4, 8, 8]), "webnn")
    assert finding["code"] == "THAW036" and "rank 5" in finding["message"] and "rank 4" in finding["message"]
    # A limit on all tensors.
    deep = model([node("Relu", ["x"], "y")], [("x", F, [1] * 6)], ["y"])
    (finding,) = find(deep, "coreml")
    assert finding["code"] == "THAW036" and "rank 5 at most" in finding["message"]
    assert find(deep, "cuda") == find(deep, "tensorrt") == []
    assert codes(find(model([node("Relu", ["x"], "y")], [("x", F, [1] * 9)], ["y"]), "tensorrt")) == {"THAW036": 1}


def test_attributes(find):
    def resize(**attributes):
        return model([node("Resize", ["x", "", "s"], "y", **attributes)], [("x", F, [1, 3, 8, 8])], ["y"],
                     [constant("s", [1, 1, 2, 2], np.float32)])
    assert "THAW036" not in codes(find(resize(mode="linear"), "tensorrt"))
    found = [f for f in find(resize(mode="cubic"), "tensorrt") if f["code"] == "THAW036"]
    assert len(found) == 1 and "mode=cubic" in found[0]["message"] and "nearest, linear" in found[0]["message"]
    # What is not given has its default, which has to be taken as well.
    required = [f for f in find(resize(), "coreml-neuralnetwork") if f["code"] == "THAW036"]
    assert "coordinate_transformation_mode=its default" in required[0]["message"]


def test_numbers_of_outputs(find):
    def pool(outputs):
        return model([node("MaxPool", ["x"], outputs, kernel_shape=[2, 2])], [("x", F, [1, 3, 8, 8])], outputs)
    assert find(pool(["y"]), "tensorrt") == []
    assert codes(find(pool(["y", "i"]), "tensorrt")) == {"THAW036": 1}


def test_quantized_tensors_are_told_by_the_nodes_around_them(find):
    # Qualcomm's Asin is quantized alone.
    inits = [constant("s", 0.1, np.float32), constant("z", 0, np.uint8)]
    between = model([node("DequantizeLinear", ["x", "s", "z"], "a"), node("Asin", ["a"], "b"), node("QuantizeLinear", ["b", "s", "z"], "y")],
                    [("x", T.UINT8, [4])], ["y"], inits)
    assert codes(find(between, "qnn")) == {}
    (finding,) = find(model([node("Asin", ["x"], "y")], [("x", F, [4])], ["y"]), "qnn")
    assert finding["code"] == "THAW032" and "quantized int8" in finding["message"]


def test_what_is_taken_in_part_and_what_is_not_known_are_notes(thaw, save, find):
    add = model([node("Add", ["x", "x"], "s"), node("Cast", ["s"], "y", to=F)], [("x", T.INT64, [4])], ["y"])
    finding = find(add, "webgpu")[0]
    assert finding["code"] == "THAW037" and finding["severity"] == "note" and "enableInt64" in finding["message"]
    thaw("check", save(add), "--target", "webgpu", code=0)
    fused = model([node("Gelu", ["x"], "y", domain="com.microsoft")], FIXED, ["y"], domains=["com.microsoft"])
    (finding,) = find(fused, "tensorrt")
    assert finding["code"] == "THAW038" and finding["severity"] == "note" and "com.microsoft" in finding["message"]
    assert codes(find(fused, "webnn")) == {"THAW030": 1}


def test_converters_serve_ranges_and_kernels_versions(find):
    # Acos changed at opset 22: the kernel of 7 serves no later one, the converter of OpenVINO does.
    late = model([node("Acos", ["x"], "y")], FIXED, ["y"], opset=22)
    assert codes(find(late, "webgpu")) == {"THAW030": 1}
    assert find(late, "openvino") == [] and find(late, "cuda") == find(model([node("Acos", ["x"], "y")], FIXED, ["y"], opset=22), "cuda")


def test_what_computes_shapes_alone_stays_on_the_cpu(support):
    nodes = [node("Shape", ["x"], "s"), node("Gather", ["s", "zero"], "n"), node("Mul", ["n", "two"], "m"),
             node("Concat", ["m", "rest"], "to", axis=0), node("Reshape", ["x", "to"], "r"), node("Relu", ["r"], "y")]
    m = model(nodes, [("x", F, ["n", 6])], ["y"], [constant("zero", [0]), constant("two", [2]), constant("rest", [3])])
    found = support(m)
    assert found["cuda"]["shape_nodes"] == found["webgpu"]["shape_nodes"] == 4 and found["cuda"]["support"] == "supported"
    assert found["directml"]["shape_nodes"] == 0


# Sizes.

def test_free_sizes_are_refused_wanted_or_slow(find):
    free = model([node("Relu", ["x"], "y")], [("x", F, ["batch", 3])], ["y"])
    (finding,) = find(free, "webnn")
    assert finding["code"] == "THAW039" and finding["severity"] == "error" and "batch" in finding["message"]
    assert any(command.startswith("thaw pin ") and "--sizes 'batch=SIZE'" in command for command in finding["commands"])
    (finding,) = find(free, "coreml")
    assert finding["severity"] == "note"
    (finding,) = find(free, "tensorrt")
    assert finding["severity"] == "warning" and "--profiles" in finding["commands"][0]
    assert find(free, "cuda") == find(model([node("Relu", ["x"], "y")], [("x", F, [2, 3])], ["y"]), "webnn") == []


def test_the_advice_of_pin_helps(thaw, save, tmp_path, find):
    m = model([node("Relu", ["x"], "y")], [("x", F, ["batch", 3])], ["y"])
    (finding,) = find(m, "webnn")
    command = next(c for c in finding["commands"] if c.startswith("thaw pin ")).replace("SIZE", "4")
    sizes = command.split("--sizes ")[1].strip("'")
    pinned = tmp_path / "p.onnx"
    thaw("pin", save(m), "-o", pinned, "--sizes", sizes, code=0)
    thaw("check", pinned, "--target", "webnn", "--select", ALL_RULES, code=0)


def test_profiles(thaw, save, tmp_path):
    m = model([node("Add", ["x", "w"], "s"), node("MatMul", ["s", "z"], "y")], [("x", F, ["batch", 3, "h"]), ("w", F, [1]), ("z", F, ["h", 5])], ["y"])
    path, out = save(m), tmp_path / "profiles.json"
    thaw("check", path, "--target", "tensorrt", "--sizes", "batch=1..8,h=32..96:32", "--opt", "batch=4,h=64", "--profiles", out, code=0)
    profiles = json.loads(out.read_text())
    assert profiles["schema"] == 1
    assert profiles["inputs"] == [{"input": "x", "min": [1, 3, 32], "opt": [4, 3, 64], "max": [8, 3, 96]},
                                  {"input": "z", "min": [32, 5], "opt": [64, 5], "max": [96, 5]}]
    assert profiles["trtexec"] == ["--minShapes=x:1x3x32,z:32x5", "--optShapes=x:4x3x64,z:64x5", "--maxShapes=x:8x3x96,z:96x5"]
    assert profiles["provider_options"]["trt_profile_max_shapes"] == "x:8x3x96,z:96x5"
    # Each shape is one that the model runs at.
    runs = session(path)
    for which in ("min", "opt", "max"):
        feeds = {p["input"]: np.ones(p[which], np.float32) for p in profiles["inputs"]} | {"w": np.ones(1, np.float32)}
        assert runs.run(None, feeds)[0].shape[0] == feeds["x"].shape[0]


@pytest.mark.parametrize("sizes, opt, said", [
    ("batch=1..", "batch=4", "no least and largest"), ("batch=1..8", "batch=9", "not among"), ("batch=1..8", "h=9", "no range of 'h'"),
    ("batch=1..8:2", "batch=4", "not among"), ("batch=2*h,h=1..2", "h=1", "no least and largest")])
def test_profiles_are_refused_where_a_size_is_open(thaw, save, tmp_path, sizes, opt, said):
    path = save(model([node("Add", ["x", "z"], "y")], [("x", F, ["batch", 3]), ("z", F, ["h", 1, 1])], ["y"]))
    out = tmp_path / "profiles.json"
    assert said in thaw.error("check", path, "--sizes", sizes, "--opt", opt, "--profiles", out)
    assert not out.exists()


def test_profiles_name_the_size_without_a_range(thaw, save, tmp_path):
    path = save(model([node("Relu", ["x"], "y")], [("x", F, ["batch", "h"])], ["y"]))
    assert "no range of 'h'" in thaw.error("check", path, "--sizes", "batch=1..8", "--opt", "batch=4", "--profiles", tmp_path / "p.json")
    assert "--opt" in thaw.error("check", path, "--sizes", "batch=1..8,h=1..2", "--profiles", tmp_path / "p.json")
    assert "page" in thaw.error("check", path, "--sizes", "batch=1..8,h=1..2", "--opt", "batch=1,h=1", "--profiles", tmp_path / "p.html")


# Parts of a model.

def chain(ops):
    names = ["x", *(f"t{i}" for i in range(len(ops) - 1)), "y"]
    return model([node(op, [names[i]], names[i + 1]) for i, op in enumerate(ops)], FIXED, ["y"], opset=18)


def test_islands_and_the_tensors_between(support):
    # DirectML has no Mish.
    assert support(chain(["Relu", "Neg"]), "directml")["islands"] == 1
    cut = support(chain(["Relu", "Mish", "Neg", "Abs", "Mish", "Exp"]), "directml")
    assert cut["islands"] == 3 and cut["crossing_tensors"] == 4 and cut["unsupported"] == 2 and cut["support"] == "unsupported"
    assert [cut["operators"][0][key] for key in ("op", "nodes", "support")] == ["Mish", 2, "unsupported"]
    nothing = support(chain(["Mish"]), "directml")
    assert nothing["islands"] == 0 and nothing["crossing_tensors"] == 0


def test_what_is_left_and_entered_again_is_two_islands(support):
    # Relu feeds Add directly and by way of Mish: one piece would wait for itself.
    m = model([node("Relu", ["x"], "r"), node("Mish", ["r"], "m"), node("Add", ["r", "m"], "y")], FIXED, ["y"], opset=18)
    cut = support(m, "directml")
    assert cut["islands"] == 2 and cut["crossing_tensors"] == 2


def test_a_node_with_branches_is_where_all_of_it_is(support):
    m = model([node("Relu", ["x"], "r"), node("If", ["c"], "y", then_branch=branch([node("Mish", ["r"], "t")], "t"),
                                              else_branch=branch([node("Neg", ["r"], "e")], "e"))], [*FIXED, ("c", T.BOOL, [])], ["y"], opset=18)
    found = support(m, "webgpu")
    assert found["unsupported"] == 1 and found["islands"] == 1 and found["crossing_tensors"] == 1


# All targets.

def test_all_targets_at_once(thaw, save, support):
    m = chain(["Relu", "Mish", "Neg"])
    found = support(m)
    assert list(found)[:2] == ["portable", "ort"] and set(TABLES) <= set(found)
    for target in found:
        alone = support(m, target)
        assert alone == found[target], target
        assert alone["supported"] + alone["partial"] + alone["unknown"] + alone["unsupported"] + alone["shape_nodes"] == alone["nodes"] == 3
    text = thaw("check", save(m), "--target", "all", code=0).stdout
    assert all(any(line.split()[:1] == [target] for line in text.splitlines()) for target in found)
    assert "THAW03" not in text


def test_models_by_target(thaw, save, tmp_path):
    paths = [save(chain(["Relu"])), save(chain(["Mish", "Neg"]))]
    page = tmp_path / "page.html"
    text = thaw("check", *paths, "--target", "all", "--report", page, code=0).stdout
    head = next(line for line in text.splitlines() if line.split()[:2] == ["model", "portable"])
    assert head.split()[1:3] == ["portable", "ort"] and set(TABLES) <= set(head.split())
    html = page.read_text()
    assert "Models by target" in html and "Operators by target" in html


def test_a_name_that_is_no_target(thaw, save):
    message = thaw.error("check", save(chain(["Relu"])), "--target", "cude")
    assert "did you mean 'cuda'" in message


# The CPU's table against ONNX Runtime itself.

@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_cpu_takes_what_onnx_runtime_takes(thaw, save):
    """ONNX's tests of one node, one for each operator, opset and types: a session is made exactly where the check says so."""
    if not onnxruntime.__version__.startswith("1.31."):
        pytest.skip(f"the table is of ONNX Runtime 1.31, and this is {onnxruntime.__version__}")
    from onnx.backend.test.loader import load_model_tests
    cases = {}
    for case in load_model_tests(kind="node"):
        m = case.model
        if m is not None and len(m.graph.node) == 1:
            cases.setdefault((m.graph.node[0].op_type, m.opset_import[0].version, *(v.type.SerializeToString() for v in [*m.graph.input, *m.graph.output])), case)
    seen, wrong = Counter(), []
    for case in cases.values():
        path = save(case.model)
        try:
            onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
            runs, why = True, ""
        except Exception as error:
            runs, why = False, str(error)
        if "locale" in why:
            continue  # of the machine, not of the provider
        report = thaw.json("check", path, "--target", "cpu", "--select", "THAW03", "--exit-zero")
        says = report["targets"][0]["support"]
        seen[runs, says] += 1
        # What has no kernel is run as the operators that ONNX defines it by, whose kernels are not looked at.
        composed = any("if it has kernels for these" in each.get("reason", "") for each in report["targets"][0]["operators"])
        if runs == (says == "unsupported") and not (composed and not runs):
            wrong.append((case.name, why[:120], report["targets"][0]["operators"], report["targets"][0]["limits"]))
    print(dict(seen))
    assert not wrong
    assert seen[True, "supported"] > 300 and seen[False, "unsupported"] > 100


def test_real_models(thaw):
    folder = need_package("rapidocr_onnxruntime") / "models"
    report = thaw.json("check", folder / "ch_PP-OCRv4_det_infer.onnx", "--target", "all", "--exit-zero")
    found = {each["target"]: each for each in report["targets"]}
    assert found["cpu"]["unsupported"] == found["cuda"]["unsupported"] == found["portable"]["unsupported"] == 0
    assert any("free" in limit for limit in found["webnn"]["limits"])
