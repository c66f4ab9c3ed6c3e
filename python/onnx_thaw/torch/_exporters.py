"""One static trace by one of PyTorch's exporters."""
from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from onnx_thaw.torch._module import Case, Subject, wrapper

DYNAMO, TORCHSCRIPT = "dynamo", "torchscript"
_LARGE = 1 << 30
_TORCHSCRIPT_OPSET = 17


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keeps what exporters print away from what the caller prints."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "torch.export", "torch._export", "onnxscript", "onnx_ir")]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def export_trace(exporter: str, subject: Subject, case: Case, path: Path, options: dict[str, Any]) -> None:
    """Writes a trace with the inputs' and outputs' names."""
    import torch
    assert case.outputs is not None
    module = wrapper(subject, case)
    size = sum(each.numel() * each.element_size() for each in module.state_dict().values() if isinstance(each, torch.Tensor))
    inputs = tuple(each.clone() for each in case.inputs.tensors)
    named = dict(input_names=list(case.inputs.names), output_names=list(case.outputs.names))
    with quiet(), torch.no_grad():
        if exporter == DYNAMO:
            torch.onnx.export(module, inputs, str(path), dynamo=True, external_data=size > _LARGE, **{**named, **options})
        else:
            torch.onnx.export(module, inputs, str(path), dynamo=False, **{"opset_version": _TORCHSCRIPT_OPSET, **named, **options})


def reason_of(error: BaseException) -> str:
    """The first lines of an exporter's error that say something."""
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
    text = " ".join(lines[:2]) if lines else ""
    return f"{type(cause).__name__}: {text}"[:400]
