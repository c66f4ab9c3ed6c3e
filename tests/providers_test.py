"""Execution providers: which one runs a model is named, said in reports, and an error with what to install where it is not there. The wheel
of ONNX Runtime has Azure's provider, which takes no node of ONNX: models run on the CPU behind it."""
import json
import os
import re

import numpy as np
import onnx.parser
import pytest

from conftest import validate

NET = """<ir_version: 8, opset_import: ["" : 17]>
g (float[n, 4] x) => (float[n, 4] y) <float[4, 4] w = {0.5, 1, 2, 0, 1, 0.5, 0, 1, 3, 1, 1, 0, 0, 1, 2, 1}> {
  m = MatMul(x, w)  a = Softmax(m)  b = Erf(m)  y = Add(a, b)
}"""


@pytest.fixture
def net(save):
    return save(onnx.parser.parse_model(NET))


@pytest.mark.parametrize("verb", [("run", "--random"), ("fix",), ("optimize", "--dry-run"), ("verify", "--against-provider", "cpu")])
def test_one_that_is_not_there_is_an_error_with_what_is(thaw, net, verb, tmp_path):
    broken = tmp_path / "frozen.onnx"  # which fix changes, and then runs
    model = onnx.parser.parse_model(NET.replace("float[n, 4] y", "float[3, 4] y"))
    onnx.save(model, broken)
    line = thaw.error(verb[0], broken if verb[0] == "fix" else net, *verb[1:], "--provider", "cuda:device_id=1")
    assert re.search(r"ONNX Runtime 1\.\d+\.\d+ has no provider 'cuda'", line) and "cpu" in line, line
    assert "pip install onnxruntime-gpu" in line and "--onnxruntime" in line, line


def test_one_that_nobody_knows(thaw, net):
    line = thaw.error("run", net, "--random", "--provider", "cudda")
    assert "has no provider 'cudda' (did you mean 'cuda'?)" in line and "cpu" in line and "pip install" not in line, line


@pytest.mark.parametrize("given, says", [
    (["cuda:"], "no option behind"), ([":device_id=1"], "no name"), (["cuda:device_id"], "'device_id' is no option"),
    (["cuda:a=1,a=2"], "names a twice"), (["cpu:a=1"], "has options"), (["azure", "Azure"], "twice"), (["cpu", "azure"], "behind cpu")])
def test_what_is_no_provider_is_refused(thaw, net, given, says):
    words = [word for one in given for word in ("--provider", one)]
    assert says in thaw.error("run", net, "--random", *words)


def test_commas_stand_in_values_too(thaw, net):
    """TensorRT's shapes: a comma begins an option only where NAME= follows."""
    line = thaw.error("run", net, "--random", "--provider", "tensorrt:trt_profile_min_shapes=x:1x4,y:2x4,device_id=0,device_id=1")
    assert "names device_id twice" in line, line


def test_reports_name_it(thaw, net):
    report = thaw.json("run", net, "--random", "--provider", "AzureExecutionProvider")
    validate(report, "run")
    assert report["runtime"]["providers"] == [{"name": "AzureExecutionProvider"}]
    assert re.fullmatch(r"1\.\d+\.\d+", report["runtime"]["onnxruntime"])
    assert "s on Azure, ONNX Runtime 1." in thaw("run", net, "--random", "--provider", "azure", code=0).stdout
    plain = thaw.json("run", net, "--random")
    assert plain["runtime"] == {**report["runtime"], "providers": []} and "Runtime 1." not in thaw("run", net, "--random", code=0).stdout
    both = thaw.json("run", net, "--random", "--provider", "azure", "--provider", "cpu")
    assert both["runtime"] == report["runtime"]


def test_a_check_runs_on_it_and_says_so(thaw, save, tmp_path):
    model = save(onnx.parser.parse_model(NET.replace("float[n, 4] y", "float[3, 4] y")))
    done = thaw.json("fix", model, "-o", tmp_path / "o.onnx", "--provider", "azure")
    validate(done, "fix")
    assert done["checks"] and done["runtime"]["providers"] == [{"name": "AzureExecutionProvider"}]
    assert "ran on Azure, ONNX Runtime" in thaw("fix", model, "-o", tmp_path / "p.onnx", "--provider", "azure", code=0).stdout


def test_a_conversion_says_where_it_was_compared(thaw, net, tmp_path):
    done = thaw.json("convert", net, "-o", tmp_path / "o.onnx", "--to", "f16", "--provider", "azure")
    validate(done, "convert")
    assert done["comparisons"] and done["runtime"]["providers"] == [{"name": "AzureExecutionProvider"}]
    run = thaw("convert", net, "-o", tmp_path / "p.onnx", "--to", "f16", "--provider", "azure", "--report", tmp_path / "p.html", code=0)
    assert "ran on Azure, ONNX Runtime" in run.stdout and "Ran on Azure, ONNX Runtime" in (tmp_path / "p.html").read_text("utf-8")
    assert thaw.json("convert", net, "-o", tmp_path / "q.onnx", "--to", "f16")["runtime"]["providers"] == []
    assert "runtime" not in thaw.json("convert", net, "-o", tmp_path / "r.onnx", "--to", "f16", "--no-check")


AZURE, CPU = ("--provider", "azure"), ()


@pytest.fixture
def measure(thaw, net, tmp_path):
    named = onnx.load(net)
    for node in named.graph.node:
        node.name = f"n_{node.op_type}"
    onnx.save(named, net)
    (tmp_path / "data").mkdir()
    np.savez(tmp_path / "data" / "one.npz", x=np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32))

    def measure(folder, *words):
        return thaw.json("sensitivity", net, "--data", tmp_path / "data", "-o", tmp_path / folder, "--to", "f16", "--only-in", *words)
    return measure


def test_a_measurement_says_where_it_ran(thaw, measure, tmp_path):
    report = measure("report", *AZURE)
    validate(report, "sensitivity")
    assert report["runtime"]["providers"] == [{"name": "AzureExecutionProvider"}]
    assert "Ran on Azure, ONNX Runtime" in (tmp_path / "report" / "report.html").read_text("utf-8")
    plan = thaw.json("plan", tmp_path / "report", "--max-error", 1, "-o", tmp_path / "plan.json", *AZURE)
    validate(plan, "plan")
    assert plan["runtime"] == report["runtime"] and plan["warnings"] == []
    elsewhere = thaw.json("plan", tmp_path / "report", "--max-error", 1, "-o", tmp_path / "plan.json")
    assert re.search(r"^the plan was measured on the CPU, ONNX Runtime .*, and the report's nodes on Azure, ", elsewhere["warnings"][0])
    assert "runtime" not in thaw.json("plan", tmp_path / "report", "--max-error", 1, "-o", tmp_path / "plan.json", "--no-check")


def test_shards_of_different_providers_are_not_merged(thaw, measure, tmp_path):
    measure("a", "--shard", "1/2", *AZURE)
    measure("b", "--shard", "2/2", *CPU)
    line = thaw.error("sensitivity", "merge", tmp_path / "a", tmp_path / "b", "-o", tmp_path / "all")
    assert re.search(r"b was measured on the CPU, ONNX Runtime 1\.\d+\.\d+, and .*a on Azure, ONNX Runtime", line), line
    measure("c", "--shard", "2/2", *AZURE)
    merged = thaw.json("sensitivity", "merge", tmp_path / "a", tmp_path / "c", "-o", tmp_path / "all")
    assert merged["runtime"]["providers"] == [{"name": "AzureExecutionProvider"}]


def test_what_ran_on_another_runtime_is_measured_again(thaw, measure, tmp_path):
    """Of the report and of its journal, one with the version of ONNX Runtime changed."""
    first = measure("report")
    lines = (tmp_path / "report" / "measured.jsonl").read_text().splitlines()
    assert measure("report", "--resume") == first and (tmp_path / "report" / "measured.jsonl").read_text().splitlines() == lines
    assert measure("report", "--resume", *AZURE)["run_key"] != first["run_key"]
    assert len((tmp_path / "report" / "measured.jsonl").read_text().splitlines()) == 2 * len(lines)
    told = json.loads((tmp_path / "report" / "report.json").read_text())
    told["runtime"]["onnxruntime"] = "1.2.3"
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "report.json").write_text(json.dumps(told))
    line = thaw.error("sensitivity", "merge", tmp_path / "report", tmp_path / "old", "-o", tmp_path / "all")
    assert "old was measured on Azure, ONNX Runtime 1.2.3, and" in line, line


@pytest.mark.parametrize("runtime, says", [
    (3, "'onnxruntime' is missing"), ({"onnxruntime": 1, "providers": []}, "no text"), ({"onnxruntime": "1"}, "'providers' is missing"),
    ({"onnxruntime": "1", "providers": [{"name": "x", "options": {"a": 1}}]}, "no text"),
    ({"onnxruntime": "1", "providers": [{"name": "x", "options": "a"}]}, "is missing")])
def test_a_report_with_a_broken_runtime_is_refused(thaw, measure, tmp_path, runtime, says):
    measure("report")
    told = json.loads((tmp_path / "report" / "report.json").read_text())
    told["runtime"] = runtime
    (tmp_path / "report" / "report.json").write_text(json.dumps(told))
    line = thaw.error("plan", tmp_path / "report", "--max-error", 1, "--no-check")
    assert "report.json, runtime" in line and says in line, line


def test_onnxruntime_is_named(thaw, net, tmp_path):
    import onnxruntime
    folder = os.path.dirname(onnxruntime.__file__)
    report = thaw.json("run", net, "--random", "--onnxruntime", folder)
    assert report["runtime"]["onnxruntime"] == onnxruntime.__version__
    line = thaw.error("run", net, "--random", "--onnxruntime", tmp_path / "none")
    assert "is not there" in line and "none" in line, line


def test_placement_says_where_each_node_ran(thaw, net, tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()
    report = thaw.json("run", net, "--random", "--placement", "--optimization", "none", cwd=folder)
    validate(report, "run")
    placement = report["placement"]
    assert not list(folder.iterdir()), "the profile is left behind"
    assert sorted(node["op_type"] for node in placement["timed"]) == ["Add", "Erf", "MatMul", "Softmax"]
    assert {node["provider"] for node in placement["timed"]} == {"CPUExecutionProvider"}
    assert placement["runs"] >= 1 and 0 < sum(node["seconds"] for node in placement["timed"]) <= placement["seconds"]
    assert sorted(node["op_type"] for node in placement["nodes"]) == ["Add", "Erf", "MatMul", "Softmax"]
    text = thaw("run", net, "--random", "--placement", code=0).stdout
    assert re.search(r"^CPU +\d", text, re.M) and "what took longest" in text and "fell to" not in text, text
    assert "placement" not in thaw.json("run", net, "--random")


def test_placement_without_the_sandbox(thaw, net, tmp_path):
    report = thaw.json("run", net, "--random", "--placement", "--no-sandbox", cwd=tmp_path)
    assert report["placement"]["timed"] and [path.name for path in tmp_path.iterdir()] == [net.name]


def test_a_provider_against_another(thaw, net):
    report = thaw.json("verify", net, "--provider", "azure", "--against-provider", "cpu")
    validate(report, "verify")
    assert report["accepted"] and report["reference"] == report["model"] == str(net)
    assert report["runtime"]["providers"] == [{"name": "AzureExecutionProvider"}] and not report["reference_runtime"]["providers"]
    assert "ran on Azure, ONNX Runtime" in thaw("verify", net, "--provider", "azure", "--against-provider", "cpu", code=0).stdout
    assert "no reference is given" in thaw.error("verify", net)


def chain(length, width=4):
    """A chain of pairs MatMul, Neg, whose tensors are m0, t0, m1, …; two heads at its end. Rotations, through which no difference fades."""
    rng = np.random.default_rng(3)
    nodes, weights = [], []
    last = "x"
    for i in range(length):
        weights.append(onnx.numpy_helper.from_array(np.linalg.qr(rng.normal(0, 1, (width, width)))[0].astype(np.float32), f"w{i}"))
        nodes += [onnx.helper.make_node("MatMul", [last, f"w{i}"], [f"m{i}"], name=f"mul{i}"),
                  onnx.helper.make_node("Neg", [f"m{i}"], [f"t{i}"], name=f"neg{i}")]
        last = f"t{i}"
    nodes += [onnx.helper.make_node("Exp", [last], ["y"]), onnx.helper.make_node("Abs", ["t0"], ["z"])]
    ports = {name: onnx.helper.make_tensor_value_info(name, 1, ["n", width]) for name in "xyz"}
    graph = onnx.helper.make_graph(nodes, "g", [ports["x"]], [ports["y"], ports["z"]], weights)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)


def with_weight(model, name, change):
    for tensor in model.graph.initializer:
        if tensor.name == name:
            tensor.CopyFrom(onnx.numpy_helper.from_array(change(onnx.numpy_helper.to_array(tensor)).astype(np.float32), name))
    return model


@pytest.mark.parametrize("at", [0, 1, 37, 199])
def test_where_finds_the_operator_in_few_runs(thaw, save, at):
    length = 200
    good = save(chain(length), "good")
    bad = save(with_weight(chain(length), f"w{at}", lambda w: w * 1.5), "bad")
    report = thaw.json("verify", bad, "--against", good, "--where", code=1)
    validate(report, "verify")
    where = report["where"]
    assert [tensor["name"] for tensor in where["tensors"]] == [f"m{at}"], where
    found = where["tensors"][0]
    assert found["node"] == f"mul{at}" and found["op_type"] == "MatMul" and found["operators"] == ["MatMul"]
    assert found["inputs"] == ([f"t{at - 1}"] if at else []) and not found["alone"]["agrees"]
    assert where["candidates"] == 2 * length + 2 and where["compared"] <= 60 and where["runs"] <= 12, where
    text = thaw("verify", bad, "--against", good, "--where", code=1).stdout
    assert f"m{at}  float32[" in text and f"MatMul 'mul{at}'" in text and "on both sides MatMul differs too" in text, text


def test_the_page_shows_what_differs_first(thaw, save, tmp_path):
    good, bad = save(chain(20), "good"), save(with_weight(chain(20), "w7", lambda w: w * 1.5), "bad")
    thaw("verify", bad, "--against", good, "--where", "--report", tmp_path / "v.html", "--provider", "azure", code=1)
    page = (tmp_path / "v.html").read_text("utf-8")
    first = page[page.index("First differences"):]
    assert "m7 float32[" in first and "MatMul &#39;mul7&#39;" in first.replace("'", "&#39;") and "differs: max abs diff" in first, first
    assert "t6" in first and "Ran on Azure, ONNX Runtime" in page
    thaw("verify", bad, "--against", good, "--report", tmp_path / "w.html", code=1)
    assert "First differences" not in (tmp_path / "w.html").read_text("utf-8")


def test_a_folder_says_how_its_models_are_placed(thaw, tmp_path):
    (tmp_path / "built").mkdir()
    line = thaw.error("run", tmp_path / "built", "--prompt", "a", "--placement")
    assert "is run by many sessions" in line and "thaw run FOLDER/text.onnx --random --placement" in line, line


def test_where_finds_each_of_several(thaw, save):
    good = save(chain(60), "good")
    model = with_weight(with_weight(chain(60), "w50", lambda w: w + 0.3), "w7", lambda w: w.T)
    report = thaw.json("verify", save(model, "bad"), "--against", good, "--where", code=1)
    assert [tensor["name"] for tensor in report["where"]["tensors"]] == ["m7", "m50"]
    assert not any(tensor["alone"]["agrees"] for tensor in report["where"]["tensors"])


def test_where_tells_an_operator_from_its_inputs(thaw, save):
    """Each step is within the tolerance; their sum is not, and no operator is to blame."""
    def net(step):
        numbers = onnx.numpy_helper.from_array(np.full(4, step, np.float32), "s")
        big = onnx.numpy_helper.from_array(np.full(4, 1e4, np.float32), "big")
        text = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
            g (float[n, 4] x) => (float[n, 4] y) { zero = Sub(x, x)  a = Add(zero, s)  y = Mul(a, big) }""")
        text.graph.initializer.extend([numbers, big])
        return text
    report = thaw.json("verify", save(net(1e-5), "a"), "--against", save(net(0), "b"), "--where", "--sizes", "n=2", code=1)
    (found,) = report["where"]["tensors"]
    assert found["name"] == "y" and found["inputs"] == ["a"] and found["alone"]["agrees"], found


def test_where_needs_two_models_and_says_nothing_where_they_agree(thaw, net, tmp_path):
    np.savez(tmp_path / "io.npz", x=np.ones((2, 4), np.float32), y=np.ones((2, 4), np.float32))
    assert "the reference is no model" in thaw.error("verify", net, "--against", tmp_path / "io.npz", "--where")
    assert "where" not in thaw.json("verify", net, "--against", net, "--where")


def test_where_by_other_names(thaw, save):
    """A model whose tensors have other names but for the outputs: what lies between is one piece."""
    def net(name, scale):
        model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 17]>
            g (float[n, 4] x) => (float[n, 4] y) {{ {name}1 = Tanh(x)  {name}2 = Mul({name}1, s)  y = Exp({name}2) }}""")
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.full(4, scale, np.float32), "s"))
        return model
    report = thaw.json("verify", save(net("a", 2), "a"), "--against", save(net("b", 3), "b"), "--where", code=1)
    (found,) = report["where"]["tensors"]
    assert found["name"] == "y" and found["operators"] == ["Tanh", "Mul", "Exp"] and not found["alone"]["agrees"]


def test_the_page_marks_each_node_with_its_provider(thaw, save, tmp_path):
    model = onnx.parser.parse_model(NET)
    for node in model.graph.node:
        node.name = f"n_{node.op_type}"
    thaw("run", save(model), "--random", "--optimization", "none", "--report", tmp_path / "run.html", code=0)
    page = (tmp_path / "run.html").read_text("utf-8")
    data = json.loads(re.search(r'<script[^>]*id="graph"[^>]*>(.*?)</script>', page, re.S)[1])
    assert [mark[0][0] for mark in data["node_marks"].values()] == ["on_cpu"] * 4 and "n_Softmax" in page
    assert json.loads(thaw("run", save(model), "--random", "--format", "json", "--report", tmp_path / "run.json", code=0).stdout)["placement"]["timed"]
