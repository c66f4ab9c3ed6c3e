"""What is there for CI: the hook of pre-commit, the action of GitHub, whose scripts run here as a runner would, and the files on docs/guide/ci.md."""
import json
import os
import re
import shlex
import subprocess

import onnx
import onnx.parser
import pytest
import yaml

from conftest import SOURCE

FINE = """<ir_version: 9, opset_import: ["" : 17]>
net (float[n,4] x) => (float[n,4] y) { y = Relu(x) }"""
# Fails at every n but 3.
FROZEN = """<ir_version: 9, opset_import: ["" : 17]>
net (float[n,4] x) => (float[n,4] y) {
  shape = Constant<value_ints=[3,4]>()
  y = Reshape(x, shape)
}"""
HOOK_KEYS = {"id", "name", "entry", "language", "files", "exclude", "types", "types_or", "exclude_types", "always_run", "fail_fast", "verbose",
             "pass_filenames", "require_serial", "description", "language_version", "minimum_pre_commit_version", "args", "stages",
             "additional_dependencies", "log_file"}
STEP_KEYS = {"name", "id", "if", "env", "run", "shell", "working-directory", "uses", "with", "continue-on-error"}
PAGE = (SOURCE / "docs" / "guide" / "ci.md").read_text()
ACTION = yaml.safe_load((SOURCE / "action.yml").read_text())
HOOKS = yaml.safe_load((SOURCE / ".pre-commit-hooks.yaml").read_text())
EXAMPLES = {name: yaml.safe_load(text) for name, text in re.findall(r"## (\S+)\n.*?```yaml\n(.*?)```", PAGE, re.S)}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "models" / "inner folder").mkdir(parents=True)
    onnx.save(onnx.parser.parse_model(FINE), tmp_path / "fine.onnx")
    onnx.save(onnx.parser.parse_model(FINE), tmp_path / "-fine.onnx")
    onnx.save(onnx.parser.parse_model(FROZEN), tmp_path / "models" / "inner folder" / "frozen.onnx")
    (tmp_path / "cut.onnx").write_bytes((tmp_path / "fine.onnx").read_bytes()[:20])
    return tmp_path


def environment(thaw, folder, **more):
    return {**os.environ, "PATH": f"{thaw.path.parent}:{os.environ['PATH']}", "GITHUB_OUTPUT": str(folder / "outputs"), **more}


def filled(text, values):
    """A value with its expressions replaced: inputs.NAME, steps.check.outputs.NAME."""
    return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", lambda match: values[match[1]], text)


def act(thaw, folder, **inputs):
    """Runs the action's steps but the upload: their exit code, what they print, and the outputs."""
    given = {name: one["default"] for name, one in ACTION["inputs"].items()} | inputs
    values = {f"inputs.{name}": value for name, value in given.items()}
    (folder / "outputs").write_text("")
    printed = ""
    for step in ACTION["runs"]["steps"]:
        if "run" not in step:
            continue
        assert "${{" not in step["run"]  # what an input says must not become a part of the script
        env = {name: filled(text, values) for name, text in step.get("env", {}).items()}
        run = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], cwd=folder, capture_output=True, text=True,
                             env=environment(thaw, folder, **env), timeout=120)
        printed += run.stdout
        outputs = dict(line.split("=", 1) for line in (folder / "outputs").read_text().splitlines())
        values |= {f"steps.check.outputs.{name}": value for name, value in outputs.items()}
        if run.returncode != 0:
            break
    assert step is ACTION["runs"]["steps"][-1], (step["name"], run.stderr)  # only the last one may fail
    assert set(outputs) == set(ACTION["outputs"])
    return run.returncode, printed, outputs


def test_the_action_is_one():
    assert {"name", "description", "inputs", "outputs", "runs"} <= set(ACTION) <= {"name", "author", "description", "branding", "inputs", "outputs", "runs"}
    assert set(ACTION["inputs"]) == {"models", "sizes", "args", "sarif", "upload"}
    for one in ACTION["inputs"].values():
        assert set(one) <= {"description", "required", "default", "deprecationMessage"} and one["description"] and isinstance(one["default"], str)
    assert all(set(one) == {"description", "value"} for one in ACTION["outputs"].values())
    assert set(ACTION["runs"]) == {"using", "steps"} and ACTION["runs"]["using"] == "composite"
    for step in ACTION["runs"]["steps"]:
        assert set(step) <= STEP_KEYS and ("run" in step) != ("uses" in step)
        assert ("shell" in step) == ("run" in step)
    upload, = (step for step in ACTION["runs"]["steps"] if "uses" in step)
    assert re.fullmatch(r"github/codeql-action/upload-sarif@v\d+", upload["uses"]) and set(upload["with"]) <= {"sarif_file", "category"}


def test_the_action_passes_where_models_do(thaw, folder):
    code, printed, outputs = act(thaw, folder, models="fine.onnx", sarif="out.sarif")
    assert (code, printed, outputs) == (0, "", {"sarif": "out.sarif", "exit-code": "0"})
    run, = json.loads((folder / "out.sarif").read_text())["runs"]
    assert run["results"] == [] and [one["location"]["uri"] for one in run["artifacts"]] == ["fine.onnx"]


def test_the_action_fails_where_a_model_does(thaw, folder):
    (folder / "cut.onnx").unlink()
    code, printed, outputs = act(thaw, folder)
    assert code == 1 and outputs == {"sarif": "thaw.sarif", "exit-code": "1"}
    assert re.search(r"^::error title=Thaw \(THAW\d+\),file=models/inner folder/frozen.onnx::", printed, re.M)
    run, = json.loads((folder / "thaw.sarif").read_text())["runs"]
    assert len(run["artifacts"]) == 3 and run["results"]


def test_a_model_that_cannot_be_read_fails_the_action(thaw, folder):
    code, _, outputs = act(thaw, folder, models="*.onnx")
    assert code == 2 and json.loads((folder / outputs["sarif"]).read_text())["runs"]
    code, _, outputs = act(thaw, folder, models="cut.onnx", sarif="other.sarif")
    assert code == 2 and outputs["sarif"] == "" and not (folder / "other.sarif").exists()


def test_inputs_of_the_action(thaw, folder):
    assert act(thaw, folder, models="none/*.onnx")[0] == 2
    assert "no model matches none/*.onnx" in act(thaw, folder, models="none/*.onnx")[1]
    assert act(thaw, folder, models="fine.onnx\nmodels/inner folder/*.onnx")[0] == 1
    assert act(thaw, folder, models="models/**/*.onnx", args="--exit-zero")[0] == 0
    assert act(thaw, folder, models="fine.onnx", args="--target  directml\n --ignore THAW004,THAW006", sizes="n=1..8")[0] == 0
    assert act(thaw, folder, models="fine.onnx", args="--none")[0] == 2
    code, _, outputs = act(thaw, folder, models="models/**/*.onnx", sizes="n=1..8", args="--select THAW040,THAW041")
    assert code == int(outputs["exit-code"])
    # What would be a command in a script is a value here.
    for name in ("models", "sizes", "args", "sarif"):
        act(thaw, folder, **{"models": "fine.onnx", name: "$(touch made) `touch made`; touch made"})
    assert not (folder / "made").exists()


def test_the_action_uses_the_command_that_is_there(thaw, folder):
    """And installs the package only where there is none."""
    install = ACTION["runs"]["steps"][0]["run"]
    fakes = folder / "fakes"
    fakes.mkdir()
    (fakes / "python3").write_text('#!/bin/bash\necho "$@" >"$CALLED"\n')
    (fakes / "python3").chmod(0o755)
    for path, called in ((f"{thaw.path.parent}:{fakes}", None), (str(fakes), "-m pip install onnx-thaw\n")):
        env = {"PATH": path, "CALLED": str(folder / "called")}
        subprocess.run(["/bin/bash", "-eo", "pipefail", "-c", install], env=env, check=True, timeout=20)
        assert (folder / "called").exists() == (called is not None)
    assert (folder / "called").read_text() == called


def test_the_hook_is_one(thaw, folder):
    hook, = HOOKS
    assert {"id", "name", "entry", "language"} <= set(hook) <= HOOK_KEYS
    assert hook["id"] == "thaw-check" and hook["language"] == "system"
    assert re.search(hook["files"], "models/a.onnx") and not re.search(hook["files"], "models/a.onnx.data")
    for args, files, code in (([], ["fine.onnx"], 0), ([], ["models/inner folder/frozen.onnx", "fine.onnx"], 1), (["--target", "ort"], ["fine.onnx"], 0)):
        run = subprocess.run([*shlex.split(hook["entry"]), *args, *files], cwd=folder, env=environment(thaw, folder), capture_output=True, timeout=60)
        assert run.returncode == code


def test_the_page_has_what_is_there(thaw, folder):
    """Its examples name the inputs, the hook and the commands that there are."""
    assert set(EXAMPLES) == {"GitHub", "GitLab", "pre-commit"}
    step = EXAMPLES["GitHub"]["jobs"]["check"]["steps"][-1]
    assert step["uses"].startswith("OWNER/thaw@v") and set(step["with"]) <= set(ACTION["inputs"])
    assert EXAMPLES["GitHub"]["permissions"]["security-events"] == "write"
    listed = re.findall(r"^\| `([a-z]+)` \|", PAGE.split("## GitHub")[1].split("## GitLab")[0], re.M)
    assert listed == list(ACTION["inputs"])
    assert act(thaw, folder, models=step["with"]["models"], sizes="n=1..8")[0] == 1

    repo, = EXAMPLES["pre-commit"]["repos"]
    assert [hook["id"] for hook in repo["hooks"]] == [hook["id"] for hook in HOOKS]
    version = thaw("--version").stdout.split()[1]
    assert repo["rev"] == f"v{version}" == step["uses"].partition("@")[2]


def test_the_job_for_gitlab_runs(thaw, folder):
    job = EXAMPLES["GitLab"]["models"]
    script, = job["script"]
    run = subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=folder, env=environment(thaw, folder), capture_output=True, timeout=60)
    assert run.returncode == 1 and job["artifacts"]["when"] == "always"
    report = json.loads((folder / job["artifacts"]["reports"]["codequality"]).read_text())
    assert {entry["location"]["path"] for entry in report} == {"models/inner folder/frozen.onnx"}
