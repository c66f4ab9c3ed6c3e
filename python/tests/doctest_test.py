"""The examples of docstrings, on the models of `make example`."""
import doctest
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import onnx_thaw as thaw
from conftest import SOURCE

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
NAMES = [name for name in thaw.__all__ if getattr(getattr(thaw, name), "__doc__", None)]


def examples(name):
    found = doctest.DocTestFinder(exclude_empty=True).find(getattr(thaw, name), name, globs={"thaw": thaw, "np": np, "Path": Path})
    return [each for each in found if each.examples]


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    folder = tmp_path_factory.mktemp("doctest") / "example"
    subprocess.run([sys.executable, SOURCE / "tools" / "example.py", folder], check=True, capture_output=True, timeout=300)
    return folder


@pytest.mark.parametrize("name", [name for name in NAMES if examples(name)])
def test_its_examples_are_right(name, example, tmp_path, monkeypatch):
    monkeypatch.chdir(example)
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    said: list[str] = []
    for each in examples(name):
        runner.run(each, out=said.append)
    monkeypatch.chdir(tmp_path)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)


def test_what_is_called_most_has_examples():
    needed = {"Dim", "Session", "batch", "check", "convert", "fix", "inspect", "lift", "load", "optimize", "pin", "plan", "prove", "split", "verify"}
    assert sorted(name for name in needed if not examples(name)) == []
