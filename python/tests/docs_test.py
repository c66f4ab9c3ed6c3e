"""The examples of the guide's page, in its order, on the guide's models."""
import re
import subprocess
import sys
import types
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import onnx_thaw as thaw
from conftest import SOURCE


def test_the_page_of_the_guide_runs(tmp_path, monkeypatch):
    page = (SOURCE / "docs" / "guide" / "python.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    assert len(blocks) >= 2
    folder = tmp_path / "example"
    subprocess.run([sys.executable, SOURCE / "tools" / "example.py", folder], check=True, capture_output=True, timeout=300)
    monkeypatch.chdir(folder)
    module = types.ModuleType("guide")
    monkeypatch.setitem(sys.modules, "guide", module)
    names = vars(module)
    names["np"] = np
    monkeypatch.setenv("OLIVE_DISABLE_TELEMETRY", "1")
    for number, block in enumerate(blocks):
        needed = re.findall(r"^(?:import|from) (\w+)", block, re.M)
        if all(find_spec(name) for name in needed):  # pandas, onnx_ir, onnxscript and olive are optional
            script = tmp_path / f"block_{number}.py"  # onnxscript reads the source of functions, and what module they are of
            script.write_text(block, "utf-8")
            exec(compile(block, script, "exec"), names)
    names["test_detector"]()
    assert names["fixed"].accepted and Path("detector_fixed.onnx").exists()
    assert names["outputs"]["y"].shape == (2, 5, 64)
    monkeypatch.chdir(tmp_path)


def test_every_verb_works_where_there_is_nothing_else(tmp_path):
    folder = tmp_path / "example"
    subprocess.run([sys.executable, SOURCE / "tools" / "example.py", folder], check=True, capture_output=True, timeout=300)
    done = subprocess.run([sys.executable, SOURCE / "python" / "tests" / "every_verb.py", folder], capture_output=True, text=True,
                          timeout=600, check=False)
    assert done.returncode == 0 and done.stdout.startswith("every verb"), done.stderr


def test_the_command_is_that_of_the_package():
    program = Path(sys.executable).with_name("thaw")
    for call in ([program], [sys.executable, "-m", "onnx_thaw"]):
        done = subprocess.run([*call, "--version"], capture_output=True, text=True, timeout=60, check=True)
        assert thaw.__version__ in done.stdout
    linked = Path("linked")
    linked.symlink_to(program)
    done = subprocess.run([linked.absolute(), "--version"], capture_output=True, text=True, timeout=60, check=True)
    assert thaw.__version__ in done.stdout
    linked.unlink()
