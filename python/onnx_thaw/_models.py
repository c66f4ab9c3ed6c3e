"""What is taken as a model, and a model as other libraries have it."""
from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias, Union

from onnx_thaw._thaw import ExternalPolicy, Model, SaveOptions


class ModelProto(Protocol):
    """An `onnx.ModelProto`, to type checkers that may not have onnx."""

    def SerializeToString(self) -> bytes: ...


class IrModel(Protocol):
    """An `onnx_ir.Model`, to type checkers that may not have onnx_ir."""

    @property
    def graph(self) -> Any: ...
    @property
    def functions(self) -> Any: ...


ModelLike: TypeAlias = Union[Model, str, "os.PathLike[str]", bytes, ModelProto, IrModel]


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

    Examples:
        >>> thaw.load("tower.onnx")
        Model(x: float[batch, seq, 64] -> y: float[batch, seq, 64])
        >>> thaw.load(Path("tower.onnx").read_bytes()).inputs[0].name
        'x'
    """
    if isinstance(source, Model):
        return source
    if isinstance(source, (str, os.PathLike)):
        return Model.load(Path(source))
    if isinstance(source, bytes):
        return Model.parse(source)
    if type(source).__module__.partition(".")[0] == "onnx_ir":
        return _of_ir(source)
    serialize = getattr(source, "SerializeToString", None)
    if serialize is None:
        raise TypeError(f"a model is a path, bytes, onnx.ModelProto, onnx_ir.Model or onnx_thaw.Model, not {type(source).__name__}")
    return Model.parse(serialize())


def _external_tensors(model: Any) -> Iterator[tuple[Any, Callable[[Any], None]]]:
    """The tensors of an `onnx_ir.Model` that lie in files, each with what puts another in its place."""
    import onnx_ir
    for graph in [*model.graphs(), *model.functions.values()]:
        for value in getattr(graph, "initializers", {}).values():
            if isinstance(value.const_value, onnx_ir.ExternalTensor):
                yield value.const_value, partial(setattr, value, "const_value")
        for node in graph:
            for name, attribute in list(node.attributes.items()):
                if attribute.type == onnx_ir.AttributeType.TENSOR and isinstance(attribute.value, onnx_ir.ExternalTensor):
                    yield attribute.value, lambda tensor: node.attributes.add(onnx_ir.AttrTensor(name, tensor))


def _of_ir(source: Any) -> Model:
    """A model of an `onnx_ir.Model`, whose external data stays in its files."""
    import onnx_ir
    folders = {os.path.abspath(tensor.base_dir) for tensor, _ in _external_tensors(source)}
    if len(folders) > 1:  # a model names its files from one folder: that below which all of them lie
        source = source.clone()
        above = os.path.commonpath(folders)
        for tensor, replace in _external_tensors(source):
            location = os.path.relpath(os.path.abspath(tensor.path), above)
            replace(onnx_ir.ExternalTensor(location, tensor.offset, tensor.length, tensor.dtype, shape=tensor.shape, name=tensor.name,
                                           doc_string=tensor.doc_string, base_dir=above))
        folders = {above}
    return Model.parse(onnx_ir.to_proto(source).SerializeToString(), *map(Path, folders))


def to_proto(model: Model) -> Any:
    """The model as an `onnx.ModelProto`; external data stays in its files."""
    import onnx
    return onnx.load_model_from_string(model.serialize())


def to_ir(model: Model) -> Any:
    """The model as an `onnx_ir.Model`, whose external tensors are read when they are needed."""
    import onnx_ir
    made = onnx_ir.from_proto(to_proto(model))
    files = {os.path.abspath(file) for file in model.data_files}
    for tensor, _ in _external_tensors(made):
        location = os.path.normpath(tensor.location)
        tensor.base_dir = next((file.removesuffix(location) for file in files if file.endswith(os.sep + location)), tensor.base_dir)
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
