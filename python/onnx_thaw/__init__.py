"""ONNX models at every size, and the proof: inspect, check, fix, batch, lift, build, optimize, convert, pin, split, verify.

    import onnx_thaw as thaw

    report = thaw.check("detector.onnx", sizes="height=320..1024:32,width=320..1024:32")
    if not report.accepted:
        fixed = thaw.fix("detector.onnx")
        fixed.save("detector_fixed.onnx")
        assert thaw.verify("detector_fixed.onnx", "detector.onnx").accepted

Every verb of the command `thaw` is a function with options of the same names. A result prints as the command prints it, has `accepted`,
`to_json()` and, in a notebook, a page.
"""
from typing import TYPE_CHECKING

from onnx_thaw import _runtime, _thaw, progress
from onnx_thaw._errors import (
    CannotRead,
    CannotWrite,
    Error,
    InternalError,
    InvalidArgument,
    InvalidFile,
    NotFound,
    OutOfBudget,
    Refused,
    RuntimeFailed,
    RuntimeMissing,
    ThawWarning,
    Unsupported,
)
from onnx_thaw._models import ModelLike, load
from onnx_thaw._precision import convert, merge_reports, plan, sensitivity
from onnx_thaw._reading import Inspection, check, diff, inspect, profiles_json, prove, rules, targets
from onnx_thaw._running import generate, inputs, run, verify
from onnx_thaw._runtime import providers, set_onnxruntime, set_providers
from onnx_thaw._session import Session
from onnx_thaw._tables import to_pandas
from onnx_thaw._thaw import Dim, Limits, Model, SaveOptions, limits, set_limits
from onnx_thaw._writing import (
    annotate,
    batch,
    build,
    cut_points,
    fix,
    fix_with_reference,
    lift,
    optimize,
    optimize_passes,
    pin,
    pin_each,
    split,
)

if TYPE_CHECKING:
    from onnx_thaw import ir as ir
    from onnx_thaw import pytest as pytest
    from onnx_thaw import torch as torch
    from onnx_thaw import transformers as transformers
else:
    def __getattr__(name):
        """Modules that need other packages are imported when they are asked for."""
        import importlib.util
        if name.startswith("_") or importlib.util.find_spec(f"{__name__}.{name}") is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return importlib.import_module(f"{__name__}.{name}")

_runtime.use_that_of_environment()
__version__: str = _thaw.version()

__all__ = [
    "CannotRead",
    "CannotWrite",
    "Dim",
    "Error",
    "Inspection",
    "InternalError",
    "InvalidArgument",
    "InvalidFile",
    "Limits",
    "Model",
    "ModelLike",
    "NotFound",
    "OutOfBudget",
    "Refused",
    "RuntimeFailed",
    "RuntimeMissing",
    "SaveOptions",
    "Session",
    "ThawWarning",
    "Unsupported",
    "__version__",
    "annotate",
    "batch",
    "build",
    "check",
    "convert",
    "cut_points",
    "diff",
    "fix",
    "fix_with_reference",
    "generate",
    "inputs",
    "inspect",
    "lift",
    "limits",
    "load",
    "merge_reports",
    "optimize",
    "optimize_passes",
    "pin",
    "pin_each",
    "plan",
    "profiles_json",
    "progress",
    "prove",
    "providers",
    "rules",
    "run",
    "sensitivity",
    "set_limits",
    "set_onnxruntime",
    "set_providers",
    "split",
    "targets",
    "to_pandas",
    "verify",
]
