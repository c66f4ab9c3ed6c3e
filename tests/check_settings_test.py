"""thaw.toml: settings come from the call and its folder, never from a stranger's, and what they turn off is told in every format."""
import json
import os
import shutil

import pytest
from onnx import helper

from check_help_test import clash
from conftest import limits, validate
from inspect_json_test import FLOAT, model

OFF = '[check]\nignore = ["THAW00"]\n'
LOOSENING = {"ignore": 'ignore = ["THAW003"]', "select": 'select = ["THAW013"]', "exit-zero": "exit-zero = true"}


@pytest.fixture
def path(save):
    return save(clash())


@pytest.fixture
def here(tmp_path):
    """The caller's folder, which is not the model's."""
    folder = tmp_path / "here"
    folder.mkdir()
    return folder


def reports(thaw, path, *options, cwd, code):
    """What each format says, as text; SARIF and JSON as objects too."""
    said = {name: thaw("check", path, *options, "--format", name, cwd=cwd, code=code).stdout for name in ("text", "json", "sarif", "github")}
    thaw("check", path, *options, "--report", cwd / "page.html", "-q", cwd=cwd, code=code)
    said["html"] = (cwd / "page.html").read_text()
    report = json.loads(said["json"])
    validate(report, "check")
    return said, report, json.loads(said["sarif"])["runs"][0]


@pytest.mark.parametrize("name", LOOSENING)
@pytest.mark.parametrize("where", ["beside the model", "in the working folder"])
def test_what_turns_findings_off_is_not_obeyed_and_that_is_said(thaw, path, here, name, where):
    plain = thaw.findings(path)
    assert any(f["code"] == "THAW003" for f in plain)
    folder = path.parent if where == "beside the model" else here
    (folder / "thaw.toml").write_text(f"[check]\n{LOOSENING[name]}\n")
    said, report, run = reports(thaw, path, cwd=here, code=1)
    assert report["findings"] == plain
    assert len(run["results"]) == len(plain) and not any(r.get("suppressions") for r in run["results"])
    (clause,) = report["settings"]["ignored"]
    assert "is ignored" in clause and "--config" in clause and report["settings"]["applied"] == []
    for format in ("text", "github"):
        assert sum("is ignored" in line for line in said[format].splitlines()) == 1, said[format]
    assert "is ignored" in said["html"]
    (invocation,) = run["invocations"]
    assert invocation["properties"]["ignored"] == [clause]
    assert "is ignored" in invocation["toolConfigurationNotifications"][0]["message"]["text"]


def test_a_config_that_the_call_names_is_obeyed_and_told_everywhere(thaw, path, here):
    plain = thaw.findings(path)
    config = here / "mine.toml"
    config.write_text(OFF)
    said, report, run = reports(thaw, path, "--config", config, cwd=here, code=0)
    left = [f for f in plain if not f["code"].startswith("THAW00")]
    off = [f for f in plain if f["code"].startswith("THAW00")]
    assert report["findings"] == left and off
    assert report["settings"] == {"file": str(config), "applied": ['ignore = ["THAW00"]'], "ignored": []}
    assert sum(report["suppressed"].values()) == len(off) and set(report["suppressed"]) == {f["code"] for f in off}
    for format in ("text", "github", "html"):
        assert "mine.toml" in said[format] and "THAW003 ×2" in said[format], said[format]
    suppressed = [r for r in run["results"] if r["suppressions"]]
    assert sorted(r["ruleId"] for r in suppressed) == sorted(f["code"] for f in off) and len(run["results"]) == len(plain)
    assert all(s["kind"] == "external" and str(config) in s["justification"] for r in suppressed for s in r["suppressions"])
    assert run["invocations"][0]["properties"]["settingsFile"] == str(config)
    assert run["invocations"][0]["properties"]["applied"] == ['ignore = ["THAW00"]']
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert {f["code"] for f in plain} <= rules


def test_each_setting_of_a_named_config(thaw, path, here):
    config = here / "thaw.toml"
    config.write_text("[check]\nexit-zero = true\n")
    said, report, _ = reports(thaw, path, "--config", "thaw.toml", cwd=here, code=0)
    assert report["findings"] == thaw.findings(path) and "exit-zero = true" in said["text"] and "suppressed" not in report
    config.write_text('[check]\nselect = ["THAW013"]\n')
    said, report, _ = reports(thaw, path, "--config", "thaw.toml", cwd=here, code=0)
    assert report["findings"] == [] and "THAW003 ×2" in said["text"]
    # What the call says goes before the file.
    assert thaw.findings(path, "--config", config, "--select", "THAW003") != []
    config.write_text(OFF)
    assert thaw.findings(path, "--config", config, "--ignore", "THAW013") != []
    assert thaw.findings(path, "--config", config, "--ignore", "THAW003") == thaw.findings(path, "--ignore", "THAW003")


def test_what_looks_for_more_is_obeyed_in_the_working_folder(thaw, save, here):
    looped = save(model([helper.make_node("Unique", ["x"], ["y"])], [("x", FLOAT, ["n"])], [("y", FLOAT, None)]))
    (here / "thaw.toml").write_text('[check]\ntarget = "directml"\nignore = ["THAW03"]\n')
    report = thaw.json("check", looped, cwd=here)
    assert report["findings"] == thaw.json("check", looped, "--target", "directml")["findings"] != thaw.findings(looped)
    assert report["settings"]["applied"] == ['target = "directml"'] and len(report["settings"]["ignored"]) == 1
    assert thaw.json("check", looped, "--target", "portable", cwd=here)["findings"] == thaw.findings(looped, "--target", "portable")


def test_the_folder_of_the_model_may_be_the_working_folder(thaw, path):
    """One file, one line; and links are the file that they lead to."""
    (path.parent / "thaw.toml").write_text(OFF)
    report = thaw.json("check", path.name, cwd=path.parent, code=1)
    assert len(report["settings"]["ignored"]) == 1
    report = thaw.json("check", path, "--config", path.parent / "thaw.toml", cwd="/", code=0)
    assert report["settings"]["ignored"] == []
    os.symlink(path.parent / "thaw.toml", path.parent / "other.toml")
    report = thaw.json("check", path, "--config", path.parent / "other.toml", cwd="/", code=0)
    assert report["settings"]["ignored"] == []


def test_a_linked_model_has_the_folder_that_it_is_named_in(thaw, path, here):
    (path.parent / "thaw.toml").write_text(OFF)
    (here / "models").mkdir()
    os.symlink(path, here / "models" / "linked.onnx")
    os.symlink(path.parent / "thaw.toml", here / "models" / "thaw.toml")
    for named in (here / "models" / "linked.onnx", here / "models"):
        report = thaw.json("check", named, cwd=here, code=1)
        assert len(report["settings"]["ignored"]) == 1 and any(f["code"] == "THAW003" for f in report["findings"])


def test_folders_are_said_once_each(thaw, path, here):
    for name in ("a", "b"):
        (here / name).mkdir()
        for k in range(3):
            shutil.copy(path, here / name / f"{k}.onnx")
        (here / name / "thaw.toml").write_text(OFF)
    said, report, _ = reports(thaw, here, cwd=here, code=1)
    assert len(report["settings"]["ignored"]) == 2 and len(report["models"]) == 6
    assert sum("is ignored" in line for line in said["text"].splitlines()) == 2


@pytest.mark.parametrize("text, says", [("[check]\nignroe = []", "did you mean 'ignore'"), ("[check", "line 1"),
                                        ("[check]\nselect = 3", "no list"), ("select = []", "[check]"),
                                        ('[check]\nselect = ["THAW9"]', "THAW9"), ('[check]\nignore = ["THAV003"]', "THAW003"),
                                        ("[check]\nexit-zero = 1", "true or false"), ("[check]\ntarget = 3", "no text"),
                                        ('[check]\ntarget = "toaster"', "toaster"), ('[check]\nselect = [""]', "line 2"),
                                        ("a = " + "[" * 100_000, "16 KiB"), ("a = " + "[" * 10_000, "line 1"),
                                        (".".join("a" * 8_000) + " = 1", "[check]"), ("[" + ".".join("a" * 8_000) + "]", "'a'"),
                                        ("[check]\nselect = [\"\\u0000\"]", "line 2"), ("\x00", "line 1"), ("#" * 20_000, "16 KiB")])
@pytest.mark.parametrize("named", [True, False])
def test_a_config_that_is_wrong_says_where(thaw, path, here, text, says, named):
    (here / "thaw.toml").write_text(text)
    config = ["--config", "thaw.toml"] if named else []
    assert says in thaw.error("check", path, *config, cwd=here, preexec_fn=limits(200 << 20, 5))


def test_a_config_is_a_regular_file_within_bounds(thaw, path, here):
    config = here / "thaw.toml"
    with open(config, "wb") as file:
        file.truncate(1 << 30)
    assert "16 KiB" in thaw.error("check", path, "--config", config, preexec_fn=limits(200 << 20, 5))
    config.unlink()
    os.mkfifo(config)
    for call in (["--config", config], []):
        assert "not a regular file" in thaw.error("check", path, *call, cwd=here, timeout=10)
    config.unlink()
    os.symlink("/dev/zero", config)
    assert "not a regular file" in thaw.error("check", path, cwd=here, timeout=10)
    config.unlink()
    os.symlink("nowhere", config)
    assert "cannot be opened" in thaw.error("check", path, cwd=here)
    config.unlink()
    config.mkdir()  # a folder of that name says nothing
    assert "settings" not in thaw.json("check", path, cwd=here)
    assert "is a folder" in thaw.error("check", path, "--config", config)
    assert "cannot be opened" in thaw.error("check", path, "--config", here / "none.toml")


def test_a_report_does_not_take_the_place_of_the_config(thaw, path, here):
    config = here / "settings.json"  # a name that a report may have
    config.write_text(OFF)
    thaw("check", path, "--config", config, "--report", config, code=2)
    assert config.read_text() == OFF


def test_names_in_settings_are_shown_safe(thaw, path, here):
    folder = here / "a\x1b[31m\u202e"
    folder.mkdir()
    shutil.copy(path, folder / "m.onnx")
    (folder / "thaw.toml").write_text(OFF)
    said, report, _ = reports(thaw, folder / "m.onnx", cwd=here, code=1)
    assert any(str(folder) in clause for clause in report["settings"]["ignored"])
    assert not any(hidden in text for text in said.values() for hidden in ("\x1b", "\u202e"))
