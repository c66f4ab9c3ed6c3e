"""What the README says of the package."""
import re
import tomllib

import pytest

from conftest import SOURCE

README = (SOURCE / "README.md").read_text("utf-8")


def test_its_module_is_exported(tmp_path, monkeypatch):
    pytest.importorskip("torch", reason="needs torch")
    pytest.importorskip("onnxscript", reason="torch.onnx.export needs it")
    blocks = re.findall(r"^```python\n(.*?)^```", README, re.M | re.S)
    assert len(blocks) == 1
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(blocks[0], "README.md", "exec"), names)
    printed = str(names["result"])
    assert "agrees with the module at batch=8,height=1024,width=1024: max abs diff " in printed
    assert (tmp_path / "model.onnx").exists()


def test_it_installs_what_the_export_needs():
    command = re.search(r"^\$ pip install dist/onnx_thaw-\*\.whl (.*)$", README, re.M)
    extras = tomllib.loads((SOURCE / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    needed = {re.split(r"\W", each)[0] for name in ("torch", "runtime") for each in extras[name]}
    assert set(command[1].split()) == needed
