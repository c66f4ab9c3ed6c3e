"""docs/cases/public-issues.md: the modules of issues on PyTorch's exporters, with fewer layers."""
import pytest

import onnx_thaw as thaw

torch = pytest.importorskip("torch", reason="needs torch")
pytest.importorskip("onnxscript", reason="torch.onnx.export needs it")


def exported(module, make_inputs, sizes):
    """The result, compared with the module at sizes that were not exported."""
    torch.manual_seed(0)
    result = thaw.torch.export(module.eval(), make_inputs, sizes=sizes)
    assert result.accepted, result
    fresh = [each for each in result.comparisons if not each.exported]
    assert len(fresh) >= 4 and all(each.agrees for each in fresh)
    return result


def test_pytorch_110347_the_time_of_a_transformer_encoder_varies():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.emb = torch.nn.Embedding(15, 96)
            layer = torch.nn.TransformerEncoderLayer(d_model=96, nhead=12, dim_feedforward=96, dropout=0.2, batch_first=True)
            self.attn_layers = torch.nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=True)

        def forward(self, x):
            return self.attn_layers(self.emb(x))

    result = exported(Model(), lambda batch, time: torch.randint(0, 15, (batch, time)), "batch=1..8,time=1..128")
    assert [str(size) for size in result.model.outputs[0].dims] == ["batch", "time", "96"]


def test_pytorch_122321_batch_and_length_of_a_transformer_vary():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            layer = torch.nn.TransformerEncoderLayer(d_model=256, nhead=4, dim_feedforward=1024, dropout=0.1, activation="gelu")
            self.seqTransEncoder = torch.nn.TransformerEncoder(layer, num_layers=2)

        def forward(self, inputs):
            return self.seqTransEncoder(inputs)

    result = exported(Model(), lambda seq, batch: torch.randn(seq, batch, 256), "batch=1..8,seq=1..128")
    assert [str(size) for size in result.model.outputs[0].dims] == ["seq", "batch", "256"]
