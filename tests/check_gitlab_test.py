"""`check --format gitlab`: what GitLab documents of a Code Quality report, whose fingerprints stay from run to run and are each one finding's."""
import json
import shutil

import jsonschema
import onnx
import onnx.parser
import pytest
from onnx import helper

from inspect_json_test import FLOAT, model

# "Code Quality report format" of GitLab's documentation; no byte order mark, and no other property is read.
SCHEMA = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "additionalProperties": False,
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "additionalProperties": False,
                "properties": {
                    "path": {"type": "string", "pattern": "^[^/]"},
                    "lines": {"type": "object", "required": ["begin"], "additionalProperties": False,
                              "properties": {"begin": {"type": "integer", "minimum": 1}}},
                },
            },
        },
    },
}
SEVERITY = {"error": "major", "warning": "minor", "note": "info"}

# Names that stand for several sizes, a frozen Reshape; the same twice at one place.
TWICE = """<ir_version: 9, opset_import: ["" : 17]>
net (float["?", "?"] x, float["?", "?"] y) => (float[rows, 4] z, float[rows, 4] w) {
  shape = Constant<value_ints=[-1,4]>()
  z = Reshape(x, shape)
  w = Reshape(y, shape)
}"""


@pytest.fixture
def folder(tmp_path):
    """Models with findings of each severity, one without, and the same model in two folders."""
    broken = model([helper.make_node("Transpose", ["x"], ["y"], name="turn", perm=[0, 1, 2]),
                    helper.make_node("Transpose", ["x"], ["t"], name="turn too", perm=[0, 1, 2]),
                    helper.make_node("Mystery", ["x"], ["z"], domain="my.domain")],
                   [("x", FLOAT, ["n", 5])], [("y", FLOAT, None), ("t", FLOAT, None), ("z", FLOAT, [3])])
    broken.opset_import.append(helper.make_opsetid("my.domain", 1))
    (tmp_path / "models").mkdir()
    onnx.save(broken, tmp_path / "broken.onnx")
    onnx.save(broken, tmp_path / "models" / "broken.onnx")
    onnx.save(onnx.parser.parse_model(TWICE), tmp_path / "twice.onnx")
    onnx.save(model([helper.make_node("Relu", ["x"], ["y"])], [("x", FLOAT, ["n", 5])], [("y", FLOAT, ["n", 5])]),
              tmp_path / "sound.onnx")
    return tmp_path


@pytest.fixture
def gitlab(thaw, folder):
    def call(*args, code=1):
        text = thaw("check", *args, "--format", "gitlab", cwd=folder, code=code).stdout
        report = json.loads(text)
        jsonschema.validate(report, SCHEMA, cls=jsonschema.Draft202012Validator)
        prints = [entry["fingerprint"] for entry in report]
        assert len(set(prints)) == len(prints)
        return report
    return call


def test_each_finding_is_an_entry(thaw, folder, gitlab):
    files = ["broken.onnx", "models/broken.onnx", "twice.onnx", "sound.onnx"]
    entries = gitlab(*files)
    found = thaw.json("check", *files, cwd=folder)["models"]
    wanted = [(one["model"], finding["code"], SEVERITY[finding["severity"]]) for one in found for finding in one["findings"]]
    assert [(entry["location"]["path"], entry["check_name"], entry["severity"]) for entry in entries] == wanted
    assert {"major", "info"} <= {entry["severity"] for entry in entries}
    for entry, message in zip(entries, [finding["message"] for one in found for finding in one["findings"]], strict=True):
        assert message.split("\n")[0] in entry["description"]


def test_a_sound_model_has_no_entry(gitlab):
    assert gitlab("sound.onnx", code=0) == []


def test_fingerprints_stay(folder, gitlab):
    """From run to run, beside other models, and however the path is spelled."""
    def prints(*args):
        return {entry["fingerprint"] for entry in gitlab(*args) if entry["location"]["path"] == "broken.onnx"}

    first = prints("broken.onnx")
    assert first and first == prints("broken.onnx") == prints("./broken.onnx") == prints(folder / "broken.onnx")
    assert first == prints("twice.onnx", "models/broken.onnx", "broken.onnx")
    other = {entry["fingerprint"] for entry in gitlab("models/broken.onnx")}
    assert not first & other


def test_fingerprints_of_what_is_left_stay(folder, gitlab):
    """Once one of several findings is solved, GitLab must take no other for it."""
    before = {entry["fingerprint"]: entry["description"] for entry in gitlab("broken.onnx")}
    solved = onnx.load(folder / "broken.onnx")
    solved.graph.node[1].ClearField("attribute")
    onnx.save(solved, folder / "broken.onnx")
    after = {entry["fingerprint"]: entry["description"] for entry in gitlab("broken.onnx")}
    assert set(after) < set(before)
    assert all("turn too" in before[gone] for gone in set(before) - set(after) if "Transpose" in before[gone])


def test_what_could_not_be_checked_is_an_entry(folder, gitlab):
    """What a report leaves out counts as solved."""
    (folder / "cut.onnx").write_bytes((folder / "broken.onnx").read_bytes()[:40])
    entry, = (entry for entry in gitlab("sound.onnx", "cut.onnx", code=2))
    assert (entry["location"]["path"], entry["severity"], entry["check_name"]) == ("cut.onnx", "blocker", "invalid_file")


def test_what_settings_turn_off_is_said(folder, gitlab):
    (folder / "thaw.toml").write_text('[check]\nignore = ["THAW001"]\n')
    entries = gitlab("broken.onnx", "--config", "thaw.toml", code={0, 1})
    assert "THAW001" not in {entry["check_name"] for entry in entries}
    said = {entry["check_name"]: entry for entry in entries}
    assert "THAW001 ×2" in said["suppressed"]["description"] and said["suppressed"]["location"]["path"] == "broken.onnx"
    assert 'ignore = ["THAW001"]' in said["settings"]["description"] and said["settings"]["location"]["path"] == "thaw.toml"


def test_a_model_of_another_folder_keeps_its_path(thaw, folder, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    shutil.copy(folder / "broken.onnx", elsewhere / "broken.onnx")
    report = json.loads(thaw("check", elsewhere / "broken.onnx", "--format", "gitlab", cwd=folder, code=1).stdout)
    assert {entry["location"]["path"] for entry in report} == {str(elsewhere / "broken.onnx")}
