"""Export of a model of transformers at every size, proven against the model itself.

    result = onnx_thaw.transformers.export(model)
    print(result)
    result.save("model.onnx")

torch and transformers are imported when `export` is called.
"""
from onnx_thaw.transformers._export import export
from onnx_thaw.transformers._result import BuildResult
from onnx_thaw.transformers._tasks import tasks

__all__ = ["BuildResult", "export", "tasks"]
