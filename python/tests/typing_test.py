"""The package and a user's file pass strict type checkers; the bindings have what the headers declare."""
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import onnx_thaw
from conftest import SOURCE

USER = '''
import onnx_thaw as thaw

model: thaw.Model = thaw.load("m.onnx")
report = thaw.check(model, sizes={"height": range(32, 65, 2)})
codes: list[str] = [finding.code for finding in report.findings]
fixed = thaw.fix(model, keep_chains=True)
if fixed.accepted:
    fixed.model.save("out.onnx")
optimize = thaw.ir.Optimize(target="ort")
with thaw.progress.bar("comparing") as bar:
    thaw.verify(model, model, progress=bar)
lifted = thaw.lift(["a.onnx", "b.onnx"])
best: thaw.Model | None = lifted.model
loss: float = thaw.convert(model, to="int8", data="samples").comparisons[0].sqnr_db
'''


def test_strict_type_checking(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "user.py").write_text(USER)
    settings = SOURCE / "mypy.ini"
    done = subprocess.run([sys.executable, "-m", "mypy", "--config-file", settings, "--cache-dir", tmp_path / "cache", "-p", "onnx_thaw"],
                          capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", tmp_path / "user.py"],
                          capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    for right, wrong in (("sqnr_db", "sqnr"), ('target="ort"', "nix=3"), ("thaw.lift", "thaw.nix")):
        (tmp_path / "user.py").write_text(USER.replace(right, wrong))
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", tmp_path / "user.py"],
                              capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path)
        assert done.returncode == 1 and wrong.partition("=")[0].removeprefix("thaw.") in done.stdout


def pyright(folder, settings):
    """What pyright says of files, an error a line. It is basedpyright: the same checker, with the Node.js that it runs in."""
    pytest.importorskip("basedpyright")
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    done = subprocess.run([sys.executable, "-m", "basedpyright", "--project", folder, "--pythonpath", sys.executable, "--level", "error", "--outputjson"],
                          capture_output=True, text=True, timeout=300, check=False, cwd=folder)
    said = json.loads(done.stdout)
    assert said["summary"]["filesAnalyzed"] > 0
    return [f"{Path(each['file']).name}:{each['range']['start']['line'] + 1}: {each['message']}" for each in said["generalDiagnostics"]]


# Optional packages may be missing, or have no types.
OPTIONAL = {"reportMissingImports": False, "reportMissingModuleSource": False}


def test_pyright_over_the_package(tmp_path):
    package = Path(onnx_thaw.__file__).parent
    assert pyright(tmp_path, {"include": [str(package)], "typeCheckingMode": "standard", **OPTIONAL}) == []


def test_strict_pyright_over_a_users_file(tmp_path):
    settings = {"include": ["user.py"], "typeCheckingMode": "strict"}
    (tmp_path / "user.py").write_text(USER)
    assert pyright(tmp_path, settings) == []
    for right, wrong in (("sqnr_db", "sqnr"), ('target="ort"', "nix=3"), ("thaw.lift", "thaw.nix"), ('thaw.load("m.onnx")', "thaw.load(3)")):
        (tmp_path / "user.py").write_text(USER.replace(right, wrong))
        assert pyright(tmp_path, settings) != [], wrong


def test_every_struct_of_the_headers_is_bound():
    by_hand = {"Array", "Error", "ErrorParts", "DiffPairs", "CheckedFile", "CheckSettings", "Split", "Cancelled", "Size", "WeightBytes",
               "SerializedApart", "CheckpointInMemory"}
    for header in sorted((SOURCE / "include" / "thaw").glob("*.h")):
        for name in re.findall(r"^(?:struct|class|enum class)(?: THAW_API)? (\w+)(?: : \w+)? \{", header.read_text("utf-8"), re.M):
            if name not in by_hand:
                assert hasattr(onnx_thaw._thaw, name), (header.name, name)


@pytest.mark.parametrize("text", ["struct Bad {\n  int values[4];\n};\n", "struct Bad {\n  Other(int x);\n  void change();\n};\n"])
def test_what_the_generator_does_not_understand_is_an_error(tmp_path, text):
    header = tmp_path / "bad.h"
    header.write_text(f"namespace thaw {{\n\n{text}\n}}\n")
    done = subprocess.run([sys.executable, SOURCE / "python" / "bindings" / "generate.py", tmp_path / "out", header],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0 and "Bad: cannot read" in done.stderr


def test_functions_say_what_they_take():
    import inspect
    for name in onnx_thaw.__all__:
        each = getattr(onnx_thaw, name)
        if not inspect.isfunction(each):
            continue
        assert each.__doc__, name
        parameters = list(inspect.signature(each).parameters)
        if "Args:" in each.__doc__:
            arguments = each.__doc__.partition("Args:")[2].partition("\n\n")[0]
            named = re.findall(r"^ {8}(\w+): ", arguments, re.M)
            assert named == parameters, name


def test_the_wheel_has_what_it_needs():
    folder = Path(onnx_thaw.__file__).parent
    assert {"py.typed", "_thaw.pyi", "_thaw.abi3.so", "bin/thaw", "lib/thaw/thaw-worker"} <= {
        str(path.relative_to(folder)) for path in folder.rglob("*")}
    for file in folder.rglob("*"):
        if file.is_file() and file.suffix in (".so", "") and file.stat().st_size > 10000:
            content = file.read_bytes()
            assert str(SOURCE).encode() not in content, f"{file.name} names the checkout"
