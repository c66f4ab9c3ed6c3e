"""Other execution providers on the processor: OpenVINO's, part of ONNX Runtime, and ggml's, a library of its own. The verbs that run models run
on them, and what they find is what the CPU's provider finds. `tools/setup providers` installs both; without them these tests are skipped."""
import os
import re
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

from conftest import SOURCE, validate

FOLDER = Path(os.environ.get("THAW_PROVIDERS", SOURCE / ".deps" / "providers"))
NAMES = {"openvino": "OpenVINOExecutionProvider", "ggml": "ggml"}


class Provider:
    def __init__(self, word):
        self.word, self.name, self.folder = word, NAMES[word], FOLDER / word / "onnxruntime"
        if not self.folder.is_dir():
            pytest.skip(f"there is no {self.folder} (tools/setup providers installs it)")

    def __call__(self, options=""):
        return ["--onnxruntime", self.folder, "--provider", self.word + options]


@pytest.fixture(params=list(NAMES))
def provider(request):
    return Provider(request.param)


@pytest.fixture
def openvino():
    return Provider("openvino")


@pytest.fixture
def ggml():
    return Provider("ggml")


def tower(seed=2, heads=2, width=16):
    """Attention and a layer norm, as towers have them."""
    rng = np.random.default_rng(seed)
    weights = {name: rng.normal(0, 0.3, (width, width)).astype(np.float32) for name in ("wq", "wk", "wv", "wo")}
    weights |= {"scale": np.ones(width, np.float32), "bias": np.zeros(width, np.float32),
                "split": np.array([0, 0, heads, width // heads], np.int64), "joined": np.array([0, 0, width], np.int64)}
    node = onnx.helper.make_node
    nodes = []
    for part in "qkv":
        nodes += [node("MatMul", ["x", f"w{part}"], [f"{part}0"]), node("Reshape", [f"{part}0", "split"], [f"{part}1"]),
                  node("Transpose", [f"{part}1"], [f"{part}2"], perm=[0, 2, 3, 1] if part == "k" else [0, 2, 1, 3])]
    nodes += [node("MatMul", ["q2", "k2"], ["logits"]), node("Softmax", ["logits"], ["weights"], axis=-1),
              node("MatMul", ["weights", "v2"], ["mixed"]), node("Transpose", ["mixed"], ["mixed1"], perm=[0, 2, 1, 3]),
              node("Reshape", ["mixed1", "joined"], ["mixed2"]), node("MatMul", ["mixed2", "wo"], ["out"]),
              node("Add", ["x", "out"], ["sum"]), node("LayerNormalization", ["sum", "scale", "bias"], ["y"], axis=-1)]
    graph = onnx.helper.make_graph(
        nodes, "g", [onnx.helper.make_tensor_value_info("x", 1, ["batch", "seq", width])],
        [onnx.helper.make_tensor_value_info("y", 1, ["batch", "seq", width])],
        [onnx.numpy_helper.from_array(array, name) for name, array in weights.items()])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def model(save):
    return save(tower())


def test_it_runs_there_within_the_sandbox(thaw, provider, model):
    report = thaw.json("run", model, "--sizes", "batch=2,seq=5", *provider())
    validate(report, "run")
    (used,) = report["runtime"]["providers"]
    assert used["name"] == provider.name and report["runtime"]["onnxruntime"].startswith("1.")
    assert ("device" in used and used["device"].startswith("CPU")) == (provider.word == "ggml"), used
    here = thaw.json("run", model, "--sizes", "batch=2,seq=5")
    for figure in ("min", "max"):
        assert here["outputs"][0][figure] == pytest.approx(report["outputs"][0][figure], abs=5e-3)


def test_options_reach_it(thaw, openvino, ggml, model):
    report = thaw.json("run", model, "--sizes", "batch=1,seq=3", *openvino(":device_type=CPU"))
    validate(report, "run")
    assert report["runtime"]["providers"] == [{"name": openvino.name, "options": {"device_type": "CPU"}}]
    assert "no_such" in thaw.error("run", model, "--sizes", "batch=1,seq=3", *openvino(":no_such=1"))
    report = thaw.json("run", model, "--sizes", "batch=1,seq=3", *ggml(":hardware=CPU,threads=1"))
    assert report["runtime"]["providers"][0]["device"].startswith("CPU")
    line = thaw.error("run", model, "--sizes", "batch=1,seq=3", *ggml(":hardware=npu"))
    assert "has no device 'npu'" in line and "of what it has: CPU" in line, line


def test_it_agrees_with_the_cpu_of_its_own_version(thaw, provider, model):
    report = thaw.json("verify", model, *provider(), "--against-provider", "cpu", "--atol", "5e-3", code=0)
    validate(report, "verify")
    assert report["accepted"] and len(report["points"]) == 3
    assert report["runtime"]["providers"][0]["name"] == provider.name and report["reference_runtime"]["providers"] == []
    assert report["runtime"]["onnxruntime"] == report["reference_runtime"]["onnxruntime"]


def test_placement_tells_its_nodes_from_the_cpus(thaw, provider, save):
    model = tower()
    model.graph.node.append(onnx.helper.make_node("Unique", ["x"], ["u"], name="odd"))  # which neither takes
    model.graph.output.append(onnx.helper.make_tensor_value_info("u", 1, ["m"]))
    path = save(model, "with_unique")
    part = ":partial=1" if provider.word == "ggml" else ""  # ggml takes a model whole, or else parts only where it is told to
    report = thaw.json("run", path, "--sizes", "batch=1,seq=3", "--placement", *provider(part))
    validate(report, "run")
    by_provider = {}
    for node in report["placement"]["nodes"]:
        by_provider.setdefault(node["provider"], []).append(node["op_type"])
    assert by_provider["CPUExecutionProvider"] == ["Unique"] and "Softmax" in by_provider[provider.name], by_provider
    timed = {node["provider"]: node for node in report["placement"]["timed"]}
    assert set(timed) == {provider.name, "CPUExecutionProvider"} and all(node["seconds"] > 0 for node in timed.values())
    text = thaw("run", path, "--sizes", "batch=1,seq=3", "--placement", *provider(part), code=0).stdout
    assert re.search(rf"^{provider.word} +\d+ +1 ", text, re.M | re.I) and "fell to the CPU: 1 node" in text and "Unique" in text, text


def test_where_names_what_differs(thaw, openvino, save, model):
    changed = tower()
    for tensor in changed.graph.initializer:
        if tensor.name == "wo":
            tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor) * np.float32(1.2), "wo"))
    report = thaw.json("verify", save(changed, "changed"), "--against", model, "--where", *openvino(), "--against-provider", "cpu", code=1)
    (found,) = report["where"]["tensors"]
    assert found["name"] == "out" and found["op_type"] == "MatMul" and not found["alone"]["agrees"]


@pytest.mark.parametrize("verb", ["fix", "batch", "optimize", "convert", "pin", "split", "sensitivity"])
def test_verbs_check_their_results_on_it(thaw, openvino, save, model, tmp_path, verb):
    frozen = tower()
    frozen.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 7
    words = {"fix": [save(frozen, "frozen")], "batch": [save(unbatched(), "one")], "optimize": [model], "convert": [model, "--to", "f16"],
             "pin": [model, "--sizes", "seq=6"], "split": [model, "--parts", "2"],
             "sensitivity": [model, "--to", "f16", "--data", tmp_path / "data.npz"]}[verb]
    np.savez(tmp_path / "data.npz", x=np.random.default_rng(1).normal(size=(1, 4, 16)).astype(np.float32))
    report = thaw.json(verb, *words, "-o", tmp_path / ("result" if verb in ("split", "sensitivity") else "result.onnx"), *openvino(), code=0)
    report = report["models"][0] if verb == "pin" else report
    assert ("runtime" in report) == bool(report.get("checks") or report.get("comparisons") or report.get("units")), report
    if "runtime" in report:
        assert report["runtime"]["providers"][0]["name"] == openvino.name, report["runtime"]
    else:
        assert verb == "optimize", "nothing was compared"


def unbatched():
    return onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        g (float[1, 3, h, w] x) => (float[1, 3, h, w] y) { a = Relu(x)  y = Sigmoid(a) }""")


def test_a_cache_of_compiled_models_is_written_where_its_folder_is_named(thaw, openvino, model, tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    for _ in range(2):
        thaw.json("run", model, "--sizes", "batch=1,seq=3", *openvino(f":device_type=CPU,cache_dir={cache}"))
    assert any(path.is_file() for path in cache.rglob("*"))
    thaw("run", model, "--sizes", "batch=1,seq=3", *openvino(f":device_type=CPU,cache_dir={tmp_path / 'none'}"))
    assert not (tmp_path / "none").exists()


def test_a_library_of_its_own_is_named(thaw, ggml, model, tmp_path):
    library = next((FOLDER / "ggml" / "onnxruntime_ggml").rglob("libonnxruntime_ggml.so"))
    report = thaw.json("run", model, "--sizes", "batch=1,seq=3", "--no-sandbox", *ggml(f":library={library}"))
    assert report["runtime"]["providers"][0]["name"] == "ggml"
    line = thaw.error("run", model, "--sizes", "batch=1,seq=3", *ggml(f":library={tmp_path / 'none.so'}"))
    assert "none.so" in line, line


def test_16_bits_are_those_of_its_kernels(thaw, openvino, save, tmp_path):
    """OpenVINO leaves Hardmax to the CPU, which has no kernel of that type: it alone is computed in float32 and rounded."""
    node, rng = onnx.helper.make_node, np.random.default_rng(0)
    nodes = [node("MatMul", ["x", "v"], ["m"], name="first"), node("Hardmax", ["m"], ["h"], name="odd"),
             node("MatMul", ["h", "w"], ["y"], name="last")]
    weights = [onnx.numpy_helper.from_array(rng.standard_normal((8, 8)).astype(np.float32), name) for name in "vw"]
    values = [onnx.helper.make_tensor_value_info(name, 1, ["batch", 8]) for name in "xy"]
    path = save(onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", values[:1], values[1:], weights),
                                       opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8))
    np.savez(tmp_path / "data.npz", x=rng.standard_normal((3, 8)).astype(np.float32))
    words = ("sensitivity", path, "--data", tmp_path / "data.npz", "--to", "f16,int8-blocks", "-o", tmp_path / "report")
    report = thaw.json(*words, *openvino())
    validate(report, "sensitivity")
    half, blocks = report["uniform"]
    assert half["computed_in_float32"] == ["odd"], half
    assert "computed_in_float32" not in blocks
    assert "computed in float32 and rounded, for want of a kernel, 1: odd" in thaw(*words, *openvino(), code=0).stdout
    plan = ("plan", tmp_path / "report", "--max-error", "1", "-o", tmp_path / "plan.json", *openvino())
    assert thaw.json(*plan)["measured"]["mse"] is not None
    assert thaw.json(*words)["uniform"][0]["computed_in_float32"] == ["*"]
