"""The ONNX Runtime of the environment, found without importing it."""
from __future__ import annotations

import os
from importlib.util import find_spec

from onnx_thaw import _thaw


def use_that_of_environment() -> None:
    """Names the library of the package `onnxruntime`, or of its siblings for other devices, which install under that name."""
    if os.environ.get("THAW_ONNXRUNTIME"):
        return
    spec = find_spec("onnxruntime")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        if os.path.isdir(folder):
            _thaw.set_onnxruntime(folder)
            return
