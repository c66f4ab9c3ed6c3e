"""Export of a PyTorch module at every size, proven against the module itself.

    result = onnx_thaw.torch.export(
        module,
        lambda batch, height, width: {"pixel_values": torch.randn(batch, 3, height, width)},
        sizes="batch=1..8,height=224..1024:32,width=224..1024:32")
    print(result)
    result.save("model.onnx")

torch is imported when `export` is called.
"""
from onnx_thaw.torch._compare import Comparison
from onnx_thaw.torch._export import export
from onnx_thaw.torch._result import ExportResult

__all__ = ["Comparison", "ExportResult", "export"]
