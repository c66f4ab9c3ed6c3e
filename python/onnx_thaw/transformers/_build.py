"""The families of `build`, straight from a model in memory."""
from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from onnx_thaw import _thaw
from onnx_thaw._errors import InvalidArgument, InvalidFile, Unsupported, stated
from onnx_thaw._writing import build_options
from onnx_thaw.transformers._result import BuildResult
from onnx_thaw.transformers._tasks import Task


def built(model: Any, task: Task, options: Mapping[str, Any], processor: Any, seed: int) -> BuildResult:
    """Builds a model, and compares its parts with the module.

    Args:
        model: A model of transformers.
        task: What it is for.
        options: Those of `onnx_thaw.build`.
        processor: A tokenizer or processor to save beside it; None: none.
        seed: Of the inputs of comparisons.

    Returns:
        The result; not accepted where the library does not know the model.

    Raises:
        InvalidArgument: an option is wrong.
    """
    from onnx_thaw.transformers._checkpoint import save_settings, weights_of
    result = BuildResult()
    try:
        made = build_options(**{"part": task.part, **({} if task.classes else {"pooling": "none"} if task.part == "text" else {}), **options})
    except TypeError as error:
        raise stated("invalid_argument", f"build_options: {error}", expected="the keyword options of onnx_thaw.build",
                     next_step="see help(onnx_thaw.build)") from None
    settings, folder = result._path("settings"), result._path("parts")
    save_settings(model, settings, processor)
    try:
        _refuse_by_config(settings, folder, made)
        with _timed(result, "weights"):
            weights = weights_of(model, result.notes)
            if weights is None:
                result.notes.append("this version of transformers does not tell the names of saved weights: they were saved to a folder first")
                model.save_pretrained(settings)
        with _timed(result, "build"):
            result.report = _thaw.build(settings, folder, made) if weights is None else \
                _thaw.build_in_memory(settings, weights, folder, made)
    except (Unsupported, InvalidFile, InvalidArgument) as error:
        if isinstance(error, InvalidArgument) and (options or error.where != "--part"):
            raise
        return _not_built(result, f"{error.what}; expected {error.expected}")
    if not result.report.accepted:
        refused = result.report.refused
        return _not_built(result, f"ONNX Runtime does not load the part '{refused.part}': {refused.load_check.message}" if refused is not None
                          else "; ".join(result.report.unsupported))
    result.notes += result.report.warnings
    result.models = {file.part: _thaw.Model.load(file.path) for file in result.report.files}
    for part in result.models.values():
        part.keep_alive(result._folder)
    with _timed(result, "compare"):
        _compare(result, model, made, seed)
    wrong = [(part, each) for part, found in result.comparisons.items() for each in found if not each.agrees]
    result.reason = f"{wrong[0][0]}.onnx {wrong[0][1]}" if wrong else ""
    result.exporters["build"] = result.reason or ("accepted" if any(result.comparisons.values()) else "accepted, not compared")
    return result


def _refuse_by_config(settings: Path, folder: Path, options: _thaw.BuildOptions) -> None:
    """Lets the library look at the config first: weights may have to be merged or copied from another device for it.

    Raises:
        Unsupported: it does not know the model.
        InvalidArgument: an option is wrong.
    """
    with contextlib.suppress(InvalidFile):  # the first weight is missing
        _thaw.build_in_memory(settings, [], folder, options)


def _not_built(result: BuildResult, reason: str) -> BuildResult:
    result.reason = result.exporters["build"] = reason
    result._forget()
    return result


def _compare(result: BuildResult, model: Any, options: _thaw.BuildOptions, seed: int) -> None:
    """Compares all parts that have a counterpart in the module."""
    from onnx_thaw.torch._module import left_as_it_was
    from onnx_thaw.transformers._parts import NotComparable, compared, reference_of
    assert result.report is not None
    parts = [file.part for file in result.report.files]
    if options.dtype != _thaw.DataType.FLOAT or options.weights != _thaw.NumberFormat.KEEP:
        result.not_compared += [f"{part}: its numbers are of fewer bits than the module's; measure what that costs with onnx_thaw.verify"
                                for part in parts]
        return
    try:
        reference = reference_of(model)
    except NotComparable as why:
        result.not_compared += [f"{part}: {why}" for part in parts]
        return
    with left_as_it_was(reference, seed):
        for file in result.report.files:
            found = result.comparisons.setdefault(file.part, [])
            try:
                found.extend(compared(file.part, file.path, reference))
            except NotComparable as why:
                result.not_compared.append(f"{file.part}: {why}")


@contextlib.contextmanager
def _timed(result: BuildResult, phase: str) -> Iterator[None]:
    started = time.monotonic()
    try:
        yield
    finally:
        result.seconds[phase] += time.monotonic() - started
