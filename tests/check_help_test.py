"""What `check` says is what one needs next: the command, what happens, like findings as one, the page of the rule."""

import json
import re
import shlex

import numpy as np
import pytest
from onnx import helper, numpy_helper

from conftest import SOURCE
from inspect_json_test import FLOAT, model

RULES = dict(re.findall(r"^## (THAW\d+) (.*)$", (SOURCE / "docs/rules.md").read_text(), re.M))


def clash(times=1):
    """One name for sizes that differ, `times` over."""
    nodes, values = [], []
    for i in range(times):
        nodes.append(helper.make_node("MaxPool", ["x"], [f"half{i}"], name=f"pool{i}", kernel_shape=[2, 2], strides=[2, 2]))
        nodes.append(helper.make_node("MaxPool", [f"half{i}"], [f"quarter{i}"], kernel_shape=[2, 2], strides=[2, 2]))
        nodes.append(helper.make_node("Relu", [f"quarter{i}"], [f"out{i}"]))
        values += [helper.make_tensor_value_info(f"{v}{i}", FLOAT, ["n", 3, f"a{i}", f"b{i}"]) for v in ("half", "quarter")]
    outputs = [(f"out{i}", FLOAT, ["n", 3, f"a{i}", f"b{i}"]) for i in range(times)]
    m = model(nodes, [("x", FLOAT, ["n", 3, "h", "w"])], outputs)
    m.graph.value_info.extend(values)
    return m


def frozen(times):
    """As many Reshapes that fix the same size."""
    nodes = [helper.make_node("Reshape", ["x", f"shape{i}"], [f"y{i}"], name=f"fold{i}") for i in range(times)]
    shapes = [numpy_helper.from_array(np.array([1, 12]), f"shape{i}") for i in range(times)]
    return model(nodes, [("x", FLOAT, [1, 3, 4])], [(f"y{i}", FLOAT, None) for i in range(times)], shapes)


def test_a_finding_names_the_command_on_the_users_own_file(thaw, save, tmp_path):
    path = save(clash(), "my model")
    text = thaw("check", path, code=1).stdout
    assert "consequence: ONNX Runtime will stop with 'Shape mismatch attempting to re-use buffer'" in text
    command = re.search(r"help: (thaw fix .*)", text)[1]
    words = shlex.split(command)[1:]
    assert words[1] == str(path)
    thaw(*words, code=0, cwd=tmp_path)  # as it stands
    assert not any(f["code"] == "THAW003" for f in thaw.findings(tmp_path / "fixed.onnx"))
    finding = thaw.findings(path)[0]
    assert finding["commands"] == [command] and "re-use buffer" in finding["consequence"]


def test_commands_are_verbs_and_options_that_there_are(thaw, save):
    for m in (clash(), frozen(1)):
        for finding in thaw.findings(save(m)):
            for command in finding.get("commands", []):
                verb, *words = shlex.split(command)[1:]
                text = thaw(verb, "--help", code=0).stdout
                assert all(word in text for word in words if word.startswith("-")), command


def test_a_model_for_one_sample_is_pointed_to_batch(thaw, save):
    nodes = [helper.make_node("Transpose", ["x"], ["t"], perm=[2, 3, 0, 1]),
             helper.make_node("Reshape", ["t", "shape"], ["y"])]
    m = model(nodes, [("x", FLOAT, ["batch", 3, "h", "w"])], [("y", FLOAT, None)],
              [numpy_helper.from_array(np.array([-1, 3]), "shape")])
    found = [f for f in thaw.findings(save(m)) if f["code"] == "THAW018"]
    assert found and found[0]["commands"][0].startswith("thaw batch ")


def test_findings_that_are_alike_are_one(thaw, save):
    path = save(frozen(9))
    found, = thaw.findings(path, "--select", "THAW010")
    text = thaw("check", path, "--select", "THAW010").stdout
    assert len(found["related"]) == 8 and "8 more of this rule" in text
    assert "'fold8'" not in text and "'fold8'" in thaw("check", path, "--select", "THAW010", "--all").stdout
    assert len(text.splitlines()) < 24


def test_the_node_is_named_once(thaw, save):
    text = thaw("check", save(frozen(1)), "--select", "THAW010").stdout
    line = next(line for line in text.splitlines() if "fold0" in line)
    assert line.count("'fold0'") == 1 and line.count("'shape0'") <= 1


def test_rule_prints_the_page(thaw):
    listed = thaw("rule", code=0).stdout
    assert all(code in listed and title in listed for code, title in RULES.items())
    for code, title in RULES.items():
        page = thaw("rule", code, code=0).stdout
        assert page.startswith(f"{code} {title} (") and len(page) > 100 and "](" not in page
    assert "re-use buffer" in thaw("rule", "thaw003", code=0).stdout
    assert "`thaw rule` lists them" in thaw.error("rule", "THAW999")
    assert thaw.json("rule", "THAW013", code=0)["page"].startswith("A constant")
    assert [rule["code"] for rule in thaw.json("rule", code=0)["rules"]] == sorted(RULES)


def test_sarif_has_the_page_of_each_rule(thaw, save):
    run, = json.loads(thaw("check", save(clash()), "--format", "sarif", code=1).stdout)["runs"]
    for rule in run["tool"]["driver"]["rules"]:
        assert re.match(r"[a-z]+:", rule["helpUri"]) and rule["helpUri"].endswith(rule["id"])
        assert len(rule["help"]["text"]) > 80 and rule["id"] in rule["help"]["markdown"]
    assert any("help: thaw fix" in result["message"]["text"] for result in run["results"])


@pytest.fixture
def folder(tmp_path, thaw):
    """Two models, one of them in a folder below, one with an error."""
    import onnx
    (tmp_path / "models" / "below").mkdir(parents=True)
    onnx.save(model([helper.make_node("Relu", ["x"], ["y"])], [("x", FLOAT, ["n"])], [("y", FLOAT, ["n"])]),
              tmp_path / "models" / "sound.onnx")
    onnx.save(clash(), tmp_path / "models" / "below" / "clash.onnx")
    return tmp_path / "models"


def test_several_models_and_folders(thaw, folder):
    text = thaw("check", folder, code=1).stdout
    assert "sound.onnx" in text and "clash.onnx" in text and "2 models, 1 with errors or warnings" in text
    thaw("check", folder / "sound.onnx", folder / "sound.onnx", code=0)
    report = thaw.json("check", folder, folder / "sound.onnx", code=1)
    assert [m["counts"]["errors"] > 0 for m in report["models"]] == [True, False, False]
    (folder / "broken.onnx").write_text("Not Found")
    run = thaw("check", folder, code=2)
    assert "is text" in run.stderr and "clash.onnx" in run.stdout  # the others are checked all the same
    assert "error" in thaw.json("check", folder, code=2)["models"][1]
    (folder / "broken.onnx").unlink()
    sarif, = json.loads(thaw("check", folder, "--format", "sarif", code=1).stdout)["runs"]
    assert len(sarif["artifacts"]) == 2
    for result in sarif["results"]:
        place = result["locations"][0]["physicalLocation"]["artifactLocation"]
        assert sarif["artifacts"][place["index"]]["location"]["uri"] == place["uri"]


def test_exit_zero(thaw, save, tmp_path):
    path = save(clash())
    assert "THAW003" in thaw("check", path, "--exit-zero", code=0).stdout
    (tmp_path / "text.onnx").write_text("text")
    thaw("check", tmp_path / "text.onnx", "--exit-zero", code=2)


@pytest.mark.parametrize("options, found", [
    (["--select", "THAW00"], True), (["--select", "THAW01"], False), (["--ignore", "THAW00"], False),
    (["--select", "THAW003", "--ignore", "THAW00"], True), (["--select", "THAW00", "--ignore", "THAW003"], False),
    (["--ignore", "THAW"], False)])
def test_rules_are_chosen_by_what_they_begin_with(thaw, save, options, found):
    codes = {f["code"] for f in thaw.findings(save(clash()), *options)}
    assert ("THAW003" in codes) == found


def test_a_code_that_is_none_is_refused(thaw, save):
    assert "did you mean 'THAW003'" in thaw.error("check", save(clash()), "--select", "THAV003")
