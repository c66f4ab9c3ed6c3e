"""What is taken as a model, and a model as other libraries have it."""
from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from onnx_thaw._thaw import ExternalPolicy, Model, SaveOptions

if TYPE_CHECKING:
    import onnx
    import onnx_ir

ModelLike: TypeAlias = Union[Model, str, "os.PathLike[str]", bytes, "onnx.ModelProto", "onnx_ir.Model"]


def load(source: ModelLike) -> Model:
    """Reads a model.

    Args:
        source: A path; the bytes of a file; an `onnx.ModelProto`; an `onnx_ir.Model`; or a `Model`, which is given back.

    Returns:
        The model. Weights of a file stay there until they are needed, so the file must not be changed meanwhile.

    Raises:
        NotFound: there is no such file.
        InvalidFile: it is no valid ONNX model.
        TypeError: `source` is none of these.
    """
    if isinstance(source, Model):
        return source
    if isinstance(source, (str, os.PathLike)):
        return Model.load(Path(source))
    if isinstance(source, bytes):
        return Model.parse(source)
    if type(source).__module__.partition(".")[0] == "onnx_ir":
        import onnx_ir
        source = onnx_ir.to_proto(source)
    serialize = getattr(source, "SerializeToString", None)
    if serialize is None:
        raise TypeError(f"a model is a path, bytes, onnx.ModelProto, onnx_ir.Model or onnx_thaw.Model, not {type(source).__name__}")
    return Model.parse(serialize())


def to_proto(model: Model) -> Any:
    """The model as an `onnx.ModelProto`; external data stays in its files."""
    import onnx
    return onnx.load_model_from_string(model.serialize())


def to_ir(model: Model) -> Any:
    """The model as an `onnx_ir.Model`, whose external tensors are read when they are needed."""
    import onnx_ir
    made = onnx_ir.from_proto(to_proto(model))
    if model.data_files:
        onnx_ir.external_data.set_base_dir(made.graph, model.path.parent)
    return made


@contextmanager
def as_file(source: ModelLike) -> Iterator[Path]:
    """The path of a model; one that is not a file is written to a folder that is removed after."""
    if isinstance(source, (str, os.PathLike)):
        yield Path(source)
        return
    model = load(source)
    with tempfile.TemporaryDirectory(prefix="onnx_thaw_") as folder:
        path = Path(folder, "model.onnx")
        options = SaveOptions()
        options.external = ExternalPolicy.SINGLE
        model.save(path, options)
        yield path
