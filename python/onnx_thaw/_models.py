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

_LARGE = 1 << 16  # bytes of a weight that is not copied


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
        The model. Weights of a file stay there until they are needed, so the file must not be changed meanwhile. Weights of an
        `onnx_ir.Model` in memory are not copied, and must not be changed either.

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


def path_or_model(source: ModelLike) -> tuple[Path, Model | None]:
    """The path of a file, which is read where it is; or a model in memory, with an empty path."""
    if isinstance(source, (str, os.PathLike)):
        return Path(source), None
    return Path(), load(source)


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
    """A model of an `onnx_ir.Model`, whose external data stays in its files, and large weights where they are in memory."""
    import onnx_ir
    folders = {os.path.abspath(tensor.base_dir) for tensor, _ in _external_tensors(source)}
    large = [value.name for value in source.graph.initializers.values() if _is_large(value.const_value)]
    if len(folders) > 1 or large:
        source = source.clone()
    if len(folders) > 1:  # a model names its files from one folder: that below which all of them lie
        above = os.path.commonpath(folders)
        for tensor, replace in _external_tensors(source):
            location = os.path.relpath(os.path.abspath(tensor.path), above)
            replace(onnx_ir.ExternalTensor(location, tensor.offset, tensor.length, tensor.dtype, shape=tensor.shape, name=tensor.name,
                                           doc_string=tensor.doc_string, base_dir=above))
        folders = {above}
    weights: list[tuple[str, Any]] = []
    for name in large:
        value = source.graph.initializers[name]
        tensor = value.const_value
        raw = _bytes_of(tensor)
        location = f"in_memory/{len(weights)}"
        weights.append((location, raw))
        value.const_value = onnx_ir.ExternalTensor(location, 0, len(raw), tensor.dtype, shape=tensor.shape, name=tensor.name,
                                                   doc_string=tensor.doc_string)
    return Model.parse_with_weights(onnx_ir.to_proto(source).SerializeToString(), next(map(Path, folders), Path()), weights)


def _is_large(tensor: Any) -> bool:
    import onnx_ir
    if tensor is None or isinstance(tensor, (onnx_ir.ExternalTensor, onnx_ir.StringTensor)):
        return False
    return int(tensor.nbytes) >= _LARGE


def _bytes_of(tensor: Any) -> Any:
    """The bytes of a tensor as NumPy's, packed as in TensorProto.raw_data; without a copy where each element has bytes of its own."""
    import numpy as np
    if tensor.dtype.bitwidth < 8:
        return np.frombuffer(tensor.tobytes(), np.uint8)
    array = np.ascontiguousarray(tensor.numpy())
    return array.astype(array.dtype.newbyteorder("<"), copy=False).reshape(-1).view(np.uint8)


def to_proto(model: Model) -> Any:
    """The model as an `onnx.ModelProto`; external data stays in its files."""
    import onnx
    return onnx.load_model_from_string(model.serialize())


def to_ir(model: Model) -> Any:
    """The model as an `onnx_ir.Model`. External tensors are read when they are needed; large weights in memory are not copied."""
    import onnx
    import onnx_ir
    rest, weights = model.serialize_apart(_LARGE)
    made = onnx_ir.from_proto(onnx.load_model_from_string(rest))
    for value in made.graph.initializers.values():
        tensor = value.const_value
        if isinstance(tensor, onnx_ir.ExternalTensor) and tensor.location in weights:
            value.const_value = onnx_ir.Tensor(weights[tensor.location], dtype=tensor.dtype, name=tensor.name,
                                               doc_string=tensor.doc_string)
    files = {os.path.abspath(file) for file in model.data_files}
    for tensor, _ in _external_tensors(made):
        location = os.path.normpath(tensor.location)
        fitting = [file for file in files if file.endswith(os.sep + location)]
        if fitting:  # all hang below one folder: of "w.data" and "b/w.data", both end as the first location does
            tensor.base_dir = min(fitting, key=len).removesuffix(location)
    return made


@contextmanager
def as_file(source: ModelLike) -> Iterator[Path]:
    """The path of a model, for other processes; one that is not a file is written to a folder that is removed after."""
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
