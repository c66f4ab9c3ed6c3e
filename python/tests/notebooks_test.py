"""docs/notebooks: each runs from its first cell to its last, and shows results as pages."""
import json
import sys

import pytest

from conftest import SOURCE

sys.path.insert(0, str(SOURCE / "tools"))
from notebooks import NOTEBOOKS, as_markdown, executed, missing


def test_there_are_five():
    assert {path.stem for path in NOTEBOOKS} == {"detector", "tower", "int4", "text", "torch"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path):
    if needed := missing(json.loads(path.read_text("utf-8"))):
        pytest.skip(f"needs {', '.join(needed)}")
    notebook = executed(path)
    outputs = [output for cell in notebook["cells"] if cell["cell_type"] == "code" for output in cell["outputs"]]
    assert any("<iframe" in output.get("data", {}).get("text/html", "") for output in outputs)
    assert "<iframe" in as_markdown(notebook)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_stored_without_outputs(path):
    cells = [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)


def test_a_cell_that_raises_is_an_error(tmp_path):
    from nbclient.exceptions import CellExecutionError
    notebook = json.loads(NOTEBOOKS[0].read_text("utf-8"))
    notebook["cells"][-1]["source"] = ["assert False, 'no'"]
    (tmp_path / "bad.ipynb").write_text(json.dumps(notebook), "utf-8")
    with pytest.raises(CellExecutionError, match="no"):
        executed(tmp_path / "bad.ipynb")


def test_what_is_printed_is_cut_in_its_middle():
    cell = {"cell_type": "code", "source": ["print()"], "outputs": [{"name": "stdout", "text": [f"{i}\n" for i in range(100)]},
                                                                   {"name": "stderr", "text": ["a warning"]}]}
    page = as_markdown({"cells": [cell]})
    assert "\n19\n…\n80\n" in page and "a warning" not in page
