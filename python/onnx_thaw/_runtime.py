"""Which ONNX Runtime, found without importing it, and what models run on."""
from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from onnx_thaw import _options, _thaw

__all__ = ["providers", "set_onnxruntime", "set_providers", "use_that_of_environment"]


def set_onnxruntime(path: _options.PathLike) -> None:
    """Names ONNX Runtime for sessions and calls that begin later.

    Args:
        path: Its library, or a folder that holds it, such as `onnxruntime/` of another environment. The environment variable
            THAW_ONNXRUNTIME comes first.

    Raises:
        CannotRead: there is no such file.
    """
    _thaw.set_onnxruntime(Path(path))


def set_providers(providers: _options.Providers) -> None:
    """Execution providers of ONNX Runtime for all calls of this process that name none themselves.

    Args:
        providers: In the order in which they choose nodes: "cuda", ["tensorrt", "cuda:device_id=1"]. The CPU is the last of all, and
            alone where the list is empty.

    Raises:
        InvalidArgument: a text that names no provider, or one twice.

    Examples:
        >>> thaw.set_providers("cpu")
        >>> thaw.providers()
        ['cpu']
        >>> thaw.set_providers([])
    """
    _thaw.set_providers(_options.providers(providers))


def providers() -> list[str]:
    """Names of the execution providers that `set_providers` set, in their order."""
    return [provider.name for provider in _thaw.providers()]


def use_that_of_environment() -> None:
    """Names the library of the package `onnxruntime`, or of its siblings for other devices, which install under that name."""
    if os.environ.get("THAW_ONNXRUNTIME"):
        return
    spec = find_spec("onnxruntime")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        if os.path.isdir(folder):
            _thaw.set_onnxruntime(folder)
            return
