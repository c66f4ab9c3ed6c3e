"""thaw plan --file-format: what the quantizers of other tools read names exactly the plan's nodes. ONNX Runtime's is run with it, as docs/guide/plan.md
shows; Olive's, Neural Compressor's and ModelOpt's where they can be imported."""
import json
import re

import numpy as np
import onnx
import pytest

import sensitivity_nets as nets
from conftest import SOURCE, validate

BLOCKS = re.compile(r"```python\n(.*?)```", re.S)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("formats")


@pytest.fixture(scope="module")
def tower(folder, thaw):
    """As written, and as the page's command makes it."""
    onnx.save(nets.tower(1), folder / "tower.onnx")
    thaw("optimize", folder / "tower.onnx", "-o", folder / "optimized.onnx", "--skip", "conv-activations,standard", "--external", "inline", code=0)
    return folder / "tower.onnx"


@pytest.fixture(scope="module")
def samples(folder):
    return nets.write_samples(folder / "samples", 2)


@pytest.fixture(scope="module")
def report(thaw, tower, samples, folder):
    out = folder / "report"
    thaw.json("sensitivity", tower, "--data", samples, "-o", out, "--to", "int4,int8", "--only-in", code=0)
    return out


def mixed(report):
    """The report, of whose nodes some have one precision each alone: every plan that is tight has both, and unchanged ones."""
    told = json.loads((report / "report.json").read_text())
    told["uniform"] = [{**one, "bytes_saved": 0} for one in told["uniform"]]
    for i, unit in enumerate(told["units"]):
        for error in unit["errors"]:
            if i % 3 == 2 or error["precision"] != i % 3:
                error.update(status="failed", message="for the test")
                for key in ("bytes_saved", "one_at_a_time", "leave_one_out"):
                    error.pop(key, None)
    changed = report.parent / "mixed"
    changed.mkdir(exist_ok=True)
    (changed / "report.json").write_text(json.dumps(told))
    return changed


def planned(thaw, report, tmp_path, file_format, *options):
    """The plan as JSON, its file, and the nodes by precision."""
    out = tmp_path / f"{file_format}.json"
    told = thaw.json("plan", report, "--max-error", 1e9, "--file-format", file_format, "-o", out, "--no-check", *options, code=0)
    validate(told, "plan")
    nodes = {to: {unit["name"] for unit in told["units"] if unit["to"] == to} for to in ("int4", "int8", "keep")}
    return told, out, nodes


def kinds(model):
    """By name, how each product with a weight is computed."""
    made = {output: node.op_type for node in model.graph.node for output in node.output}
    weights = {tensor.name for tensor in model.graph.initializer}
    found = {}
    for node in model.graph.node:
        if node.op_type == "MatMulNBits":
            found[node.name.removesuffix("_Q4")] = "int4"
        elif node.op_type == "MatMul" and made.get(node.input[1]) == "DequantizeLinear":
            found[node.name.removesuffix("_quant")] = "int8"
        elif node.op_type == "MatMul" and node.input[1] in weights:
            found[node.name] = "keep"
    return found


def reader_of(samples):
    quantization = pytest.importorskip("onnxruntime.quantization")

    class Reader(quantization.CalibrationDataReader):
        def __init__(self):
            self.left = [dict(np.load(path)) for path in sorted(samples.glob("*.npz"))]

        def get_next(self):
            return self.left.pop() if self.left else None

    return Reader


def quantized_by_ort(plan, folder, samples, monkeypatch, tmp_path):
    (code,) = BLOCKS.findall((SOURCE / "docs" / "guide" / "plan.md").read_text())
    names = {}
    exec(code, names)
    monkeypatch.chdir(tmp_path)
    return names["quantize"](onnx.load(folder / "optimized.onnx"), plan, reader_of(samples))


def assert_planned(model, nodes):
    assert all(nodes.values())
    assert kinds(model) == {name: to for to, names in nodes.items() for name in names}


def assert_close(model, folder, samples):
    onnx.save(model, folder / "by_ort.onnx")
    (wanted,), (got,) = (nets.outputs(folder / name, samples, ["y"])[0] for name in ("optimized.onnx", "by_ort.onnx"))
    assert 0 < np.abs(got - wanted).max() < 0.3 * np.abs(wanted).max()


def only(report, to):
    """The report without units of another precision."""
    told = json.loads((mixed(report) / "report.json").read_text())
    for unit in told["units"]:
        for error in unit["errors"]:
            if error["to"] != to and error["status"] != "failed":
                error.update(status="failed", message="for the test")
                for key in ("bytes_saved", "one_at_a_time", "leave_one_out"):
                    error.pop(key, None)
    folder = report.parent / f"only_{to}"
    folder.mkdir(exist_ok=True)
    (folder / "report.json").write_text(json.dumps(told))
    return folder


def test_onnx_runtime_quantizes_the_plans_nodes_to_int8(thaw, report, folder, samples, tmp_path, monkeypatch):
    _, plan, nodes = planned(thaw, only(report, "int8"), tmp_path, "ort")
    model = quantized_by_ort(plan, folder, samples, monkeypatch, tmp_path)
    assert not nodes.pop("int4")
    assert_planned(model, nodes)
    assert_close(model, folder, samples)


def test_onnx_runtime_quantizes_a_mixed_plan(thaw, report, folder, samples, tmp_path, monkeypatch):
    pytest.importorskip("onnx_ir", reason="ONNX Runtime's quantizer of blocks needs onnx_ir")
    _, plan, nodes = planned(thaw, mixed(report), tmp_path, "ort")
    model = quantized_by_ort(plan, folder, samples, monkeypatch, tmp_path)
    assert_planned(model, nodes)
    assert_close(model, folder, samples)


def products_of(folder):
    return [node.name for node in onnx.load(folder / "optimized.onnx").graph.node if node.op_type == "MatMul"]


def test_each_file_names_the_same_nodes(thaw, report, folder, tmp_path):
    everything = [node.name for node in onnx.load(folder / "optimized.onnx").graph.node]
    products = products_of(folder)
    _, path, nodes = planned(thaw, mixed(report), tmp_path, "ort")
    int8, int4 = json.loads(path.read_text())["steps"]
    assert set(int8["arguments"]["nodes_to_quantize"]) == nodes["int8"] and int8["call"].endswith("quantize_static")
    assert set(products) - set(int4["arguments"]["nodes_to_exclude"]) == nodes["int4"] and int4["arguments"]["bits"] == 4

    passes = json.loads(planned(thaw, mixed(report), tmp_path, "olive")[1].read_text())["passes"]
    assert list(passes) == ["int8", "int4"]
    assert set(passes["int8"]["nodes_to_quantize"]) == nodes["int8"] and set(passes["int4"]["nodes_to_include"]) == nodes["int4"]

    told, path, _ = planned(thaw, mixed(report), tmp_path, "inc")
    int8, int4 = json.loads(path.read_text())["steps"]
    for step, names, to, dtype in ((int8, everything, "int8", "int8"), (int4, products, "int4", "int")):
        for name in names:  # each is matched once
            (config,) = [config for pattern, config in step["op_name_dict"].items() if re.fullmatch(pattern, name)]
            assert config["weight"]["dtype"] == [dtype if name in nodes[to] else "fp32"], name
        assert len(step["op_name_dict"]) == len(names)

    told, path, _ = planned(thaw, mixed(report), tmp_path, "modelopt")
    int8, int4 = json.loads(path.read_text())["steps"]
    matched = [name for name in everything if any(re.match(pattern, name) for pattern in int8["nodes_to_quantize"])]
    assert set(matched) == nodes["int8"]
    matched = [name for name in products if any(re.match(pattern, name) for pattern in int4["nodes_to_exclude"])]
    assert set(products) - set(matched) == nodes["int4"] and int4["block_size"] == 32
    assert "ModelOpt has no INT8 activations with zero points, which the plan was measured with" in told["warnings"][0]


def test_olive_loads_the_passes(thaw, report, folder, samples, tmp_path):
    pytest.importorskip("olive", reason="Olive is not installed")
    from olive.hardware.accelerator import DEFAULT_CPU_ACCELERATOR
    from olive.model import ONNXModelHandler
    from olive.passes.olive_pass import create_pass_from_dict
    from olive.passes.onnx.quantization import OnnxStaticQuantization
    from olive.passes.onnx.rtn_quantization import OnnxBlockWiseRtnQuantization
    _, path, nodes = planned(thaw, mixed(report), tmp_path, "olive")
    model = ONNXModelHandler(str(folder / "optimized.onnx"))
    for name, kind in (("int8", OnnxStaticQuantization), ("int4", OnnxBlockWiseRtnQuantization)):
        config = json.loads(path.read_text())["passes"][name]
        assert config.pop("type") == kind.__name__
        if name == "int8":
            config["data_config"] = data_of_olive(samples)
        model = create_pass_from_dict(kind, config, disable_search=True, accelerator_spec=DEFAULT_CPU_ACCELERATOR).run(model, str(tmp_path / name))
    assert_planned(onnx.load(model.model_path), nodes)


def data_of_olive(samples):
    from olive.data.config import DataComponentConfig, DataConfig
    from olive.data.registry import Registry
    reader = reader_of(samples)

    @Registry.register_dataloader()
    def thaw_samples(dataset, **kwargs):
        given = reader()
        return [(feeds, None) for feeds in iter(given.get_next, None)]

    @Registry.register_dataset()
    def thaw_none(**kwargs):
        return []

    return DataConfig(name="samples", load_dataset_config=DataComponentConfig(type="thaw_none"),
                      dataloader_config=DataComponentConfig(type="thaw_samples"))


def test_neural_compressor_quantizes_the_plans_nodes(thaw, report, folder, samples, tmp_path, monkeypatch):
    if not hasattr(pytest.importorskip("neural_compressor", reason="Neural Compressor is not installed"), "PostTrainingQuantConfig"):
        pytest.skip("this is Neural Compressor 3, which does not take ONNX models")
    from neural_compressor import PostTrainingQuantConfig, quantization
    _, path, nodes = planned(thaw, mixed(report), tmp_path, "inc")
    monkeypatch.chdir(tmp_path)

    class Loader:
        batch_size = 1

        def __iter__(self):
            given = reader_of(samples)()
            return ((feeds, None) for feeds in iter(given.get_next, None))

    model = onnx.load(folder / "optimized.onnx")
    for step in json.loads(path.read_text())["steps"]:
        model = quantization.fit(model, PostTrainingQuantConfig(**step), calib_dataloader=Loader()).model
    assert_planned(model, nodes)


def test_modelopt_quantizes_the_plans_nodes(thaw, report, folder, samples, tmp_path):
    modelopt = pytest.importorskip("modelopt.onnx.quantization.quantize", reason="ModelOpt is not installed")
    _, path, nodes = planned(thaw, mixed(report), tmp_path, "modelopt")
    feeds = dict(np.load(sorted(samples.glob("*.npz"))[0]))
    at = folder / "optimized.onnx"
    seen = {}
    for i, step in enumerate(json.loads(path.read_text())["steps"]):
        out = tmp_path / f"{i}.onnx"
        modelopt.quantize(str(at), output_path=str(out), calibration_eps=["cpu"], calibration_data=feeds, **step)
        for name, kind in kinds(onnx.load(out)).items():
            seen.setdefault(name, {"int8": step["quantize_mode"], "keep": "keep"}[kind])
            if seen[name] == "keep" and kind != "keep":
                seen[name] = step["quantize_mode"]
        at = out
    assert seen == {name: to for to, names in nodes.items() for name in names}


def test_float16_blocks_all_other_nodes(thaw, tower, samples, folder, tmp_path):
    thaw.json("sensitivity", tower, "--data", samples, "-o", tmp_path / "report", "--to", "f16", "--only-in", "--keep", "Softmax", code=0)
    told = thaw.json("plan", tmp_path / "report", "--max-error", 1e9, "--file-format", "ort", "-o", tmp_path / "p.json", "--no-check", code=0)
    (step,) = json.loads((tmp_path / "p.json").read_text())["steps"]
    kept = {node.name for node in onnx.load(folder / "optimized.onnx").graph.node} - {u["name"] for u in told["units"] if u["to"] == "f16"}
    assert set(step["arguments"]["node_block_list"]) == kept and "blocks.0.softmax" in kept


def test_what_a_quantizer_lacks_is_refused(thaw, tower, samples, tmp_path):
    thaw.json("sensitivity", tower, "--data", samples, "-o", tmp_path / "report", "--to", "int3", "--only-in", code=0)
    error = thaw.error("plan", tmp_path / "report", "--max-error", 1e9, "--file-format", "ort", "-o", tmp_path / "p.json", "--no-check")
    assert "ONNX Runtime's quantizer does not convert to int3" in error and "int4" in error and not (tmp_path / "p.json").exists()


def test_a_node_without_a_name_is_refused(thaw, samples, tmp_path):
    model = nets.tower(1)
    next(node for node in model.graph.node if node.name == "blocks.0.attn.k_proj/MatMul").ClearField("name")
    onnx.save(model, tmp_path / "m.onnx")
    thaw.json("sensitivity", tmp_path / "m.onnx", "--data", samples, "-o", tmp_path / "report", "--to", "int4", "--only-in", "--no-optimize", code=0)
    error = thaw.error("plan", tmp_path / "report", "--max-error", 1e9, "--file-format", "ort", "-o", tmp_path / "p.json", "--no-check")
    assert "'blocks.0.attn.k_proj/MatMul' is the name of no node" in error and "give every node a name" in error, error
