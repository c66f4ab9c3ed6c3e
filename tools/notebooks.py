"""The notebooks of docs/notebooks: executed beside the models of `make example`, as in the checkout; and as Markdown."""
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

SOURCE = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((SOURCE / "docs" / "notebooks").glob("*.ipynb"))
MOST_LINES = 40  # of what a cell prints

Notebook = dict[str, Any]


def missing(notebook: Notebook) -> list[str]:
    """Modules that the notebook's metadata says it needs, and that are not installed."""
    return [module for module in notebook["metadata"].get("needs", ()) if find_spec(module) is None]


def executed(path: Path, package: Path | None = None) -> Notebook:
    """The notebook with its outputs.

    Args:
        path: The notebook.
        package: The folder onnx_thaw that it imports; by default what is installed.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell raises.
    """
    import nbclient
    import nbformat
    notebook = nbformat.read(path, as_version=4)
    environment = {**os.environ, "TQDM_DISABLE": "1"}
    if package is not None:
        environment["PYTHONPATH"] = os.pathsep.join([str(package.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    with TemporaryDirectory(prefix="notebook_") as folder:
        there = Path(folder, "docs", "notebooks")
        there.mkdir(parents=True)
        subprocess.run([sys.executable, SOURCE / "tools" / "example.py", Path(folder, "example")], check=True, stdout=subprocess.DEVNULL)
        client = nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(there)}})
        client.execute(env=environment)
    return notebook


def as_markdown(notebook: Notebook) -> str:
    """Its text, its code, and what the code printed and drew."""
    parts = []
    for cell in notebook["cells"]:
        text = "".join(cell["source"]).rstrip()
        if cell["cell_type"] == "markdown":
            parts.append(text)
            continue
        parts.append(f"```python\n{text}\n```")
        parts += [part for output in cell["outputs"] if output.get("name") != "stderr" and (part := _drawn(output))]
    return "\n\n".join(parts) + "\n"


def _drawn(output: Notebook) -> str:
    data = output.get("data", {})
    if "text/html" in data:
        return '<div class="notebook-page">' + "".join(data["text/html"]).strip() + "</div>"
    lines = "".join(data.get("text/plain", output.get("text", ""))).rstrip().split("\n")
    if len(lines) > MOST_LINES:
        lines[MOST_LINES // 2:-MOST_LINES // 2] = ["…"]
    return "```text\n" + "\n".join(lines) + "\n```" if lines != [""] else ""
