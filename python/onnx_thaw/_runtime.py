"""Finds the ONNX Runtime of the environment, and the worker of the package, without importing either."""
from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

_HERE = Path(__file__).parent


def _library_of_environment() -> Path | None:
    spec = find_spec("onnxruntime")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        found = sorted(Path(folder, "capi").glob("libonnxruntime.so*"))
        if found:
            return found[-1]
    return None


if "THAW_ONNXRUNTIME" not in os.environ:
    _library = _library_of_environment()
    if _library is not None:
        os.environ["THAW_ONNXRUNTIME"] = str(_library)
if "THAW_WORKER" not in os.environ and (_HERE / "bin" / "thaw-worker").exists():
    os.environ["THAW_WORKER"] = str(_HERE / "bin" / "thaw-worker")
