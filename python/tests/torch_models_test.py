"""Six small architectures of the table in docs/guide/torch.md, judged as bench/torch_export.py judges all of them."""
import sys

import pytest

from conftest import SOURCE

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("onnxscript", reason="onnxscript is not installed, which the dynamo exporter needs")
pytest.importorskip("transformers", reason="transformers is not installed")
sys.path.insert(0, str(SOURCE / "bench"))


@pytest.mark.parametrize("name", ["bert", "vit", "convnext", "wav2vec2_bert", "qwen2_with_cache_and_no_mask", "dict_of_ids_and_mask"])
def test_an_architecture_is_right_at_sizes_that_were_not_exported(name):
    from torch_export_cells import cell
    found = cell(name, "thaw")
    assert found["verdict"] == "right", found


class Scaled(torch.nn.Module):
    """Multiplies by its number of rows, as Python reads it."""

    def forward(self, x):
        return x * float(x.shape[0])


@pytest.mark.parametrize("exporter, verdict", [("thaw", "right"), ("torchscript", "wrong")])
def test_what_keeps_the_example_is_judged_wrong(exporter, verdict, monkeypatch):
    import torch_export_cells as cells
    row = cells.MODELS["dict_of_ids_and_mask"]
    monkeypatch.setitem(cells.MODELS, "scaled", type(row)(Scaled, lambda n: (torch.randn(n, 3),), "n=2..40"))
    assert cells.cell("scaled", exporter)["verdict"] == verdict
