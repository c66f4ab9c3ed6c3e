"""Static exports at sizes that tell most, lifted to one model, which is compared with the module itself."""
from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnx_thaw import _thaw
from onnx_thaw._arrays import as_numpy
from onnx_thaw._errors import Error, InvalidArgument
from onnx_thaw._options import PathLike, Sizes, text_of_sizes
from onnx_thaw.torch._choose import choose, ends, uncovered, unseen
from onnx_thaw.torch._compare import Comparison, compare
from onnx_thaw.torch._result import ExportResult
from onnx_thaw.torch._sizes import Point, Ranges, text_of

if TYPE_CHECKING:
    from onnx_thaw.torch._module import Case, Subject

_EXPORTERS = {"auto": ("dynamo", "torchscript"), "dynamo": ("dynamo",), "torchscript": ("torchscript",)}
_FIRST_TRACES = 3
_DRAWN = 2               # sizes that are compared beside the ends of the ranges, and at which remainders are others
_MOST_KEPT = 1 << 26     # elements of outputs at a size that is not exported, for another look
_LEAST_SECONDS = 10.0    # for the comparisons beyond those that are always made
_MOST_VALUES = 1 << 16   # elements of an integer input whose values lifting is given


class _Refusal(Exception):
    """Why an exporter's traces make no model; the next exporter may, unless it is final."""

    def __init__(self, reason: str, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.is_final = is_final


def export(module: Any, make_inputs: Callable[..., Any] | None = None, *, sizes: Sizes = "", example: Any = None,
           dynamic_shapes: Any = None, exporter: str = "auto", most_traces: int = 5, keep_traces: PathLike | None = None,
           seed: int = 0, max_memory: int = 0, max_seconds: float = 120.0,
           exporter_options: Mapping[str, Any] | None = None) -> ExportResult:
    """Exports a module at every size, and compares the model with the module itself at sizes that were not exported.

    The module is exported without dynamic axes at a few sizes, and the exports are lifted to one model. A module is set to eval meanwhile.

    Args:
        module: A torch.nn.Module, or a function of tensors.
        make_inputs: Called with one number for each size, by name. Returns the arguments: a dict of keyword arguments, a tuple or
            list of positional ones, both as (tuple, dict), or one tensor. They may be nested; what is no tensor is passed through.
        sizes: Ranges, as thaw check takes them: "batch=1..8,height=224..1024:32,width=224..1024:32", with relations where there
            are any: "height>=width,tokens=height*width".
        example: In place of make_inputs: arguments at one size, as make_inputs returns them; others draw their elements from it.
        dynamic_shapes: With example: the axes that vary, as torch.export takes them (Dim, multiples of one, Dim.AUTO).
        exporter: "auto" (dynamo, then torchscript where that does not do), "dynamo" or "torchscript".
        most_traces: How many exports to make at most where three leave something open.
        keep_traces: A folder for the exports; by default they are removed.
        seed: Of random numbers; the caller's generators are left as they are.
        max_memory: Bytes that a comparison may take, as estimated; 0: a third of what is free.
        max_seconds: What one run of the module may take in a comparison, as estimated.
        exporter_options: Passed to torch.onnx.export: {"opset_version": 20}.

    Returns:
        The result, also where the model is not accepted: `accepted`, `reason`, `model`, `comparisons`, …

    Raises:
        InvalidArgument: sizes cannot be read, or make_inputs returns no tensor.
        Error: ONNX Runtime is not there.
        Exception: what make_inputs or the module raises at its own sizes.
    """
    if exporter not in _EXPORTERS:
        raise InvalidArgument(f"exporter {exporter!r} is not known; expected one of {', '.join(_EXPORTERS)}")
    if most_traces < 2:
        raise InvalidArgument(f"most_traces is {most_traces}; expected 2 or more")
    try:
        import torch  # noqa: F401  (the other modules import it)
    except ImportError:
        raise InvalidArgument("onnx_thaw.torch.export needs PyTorch; pip install 'onnx-thaw[torch]'") from None
    from onnx_thaw.torch._module import Subject, left_as_it_was
    if dynamic_shapes is not None or example is not None:
        if make_inputs is not None or sizes or example is None or dynamic_shapes is None:
            raise InvalidArgument("give make_inputs with sizes, or example with dynamic_shapes")
        from onnx_thaw.torch._dims import resized
        make_inputs, sizes = resized(module, example, dynamic_shapes)
    if make_inputs is None:
        raise InvalidArgument("give make_inputs with sizes, or example with dynamic_shapes")
    ranges = Ranges(text_of_sizes(sizes))
    result = ExportResult(ranges)
    with left_as_it_was(module, seed):
        work = _Export(Subject(module, make_inputs, seed), ranges, result, most_traces, max_memory, max_seconds,
                       dict(exporter_options or {}), keep_traces)
        work.run(_EXPORTERS[exporter])
    return result


class _Export:
    """One export: the cases that are shared by exporters, and what was found so far."""

    def __init__(self, subject: Subject, ranges: Ranges, result: ExportResult, most_traces: int, max_memory: int, max_seconds: float,
                 options: dict[str, Any], keep_traces: PathLike | None) -> None:
        self.subject, self.ranges, self.result, self.most_traces = subject, ranges, result, most_traces
        self.max_memory, self.max_seconds, self.options = max_memory, max_seconds, options
        self.keep_traces = Path(keep_traces) if keep_traces is not None else None
        self.cases: list[Case] = []           # that are exported
        self._others: dict[tuple[Any, ...], Case] = {}  # that are compared

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Adds to the seconds of a phase."""
        started = time.monotonic()
        try:
            yield
        finally:
            self.result.seconds[phase] += time.monotonic() - started

    def run(self, exporters: Sequence[str]) -> None:
        """Tries one exporter after the other."""
        result = self.result
        if self.keep_traces is not None:
            self.keep_traces.mkdir(parents=True, exist_ok=True)
            folder = self.keep_traces
        else:
            result._folder = tempfile.TemporaryDirectory(prefix="onnx_thaw_")
            folder = Path(result._folder.name)
        try:
            with self.timed("module"):
                for point in choose(self.ranges, min(_FIRST_TRACES, self.most_traces)):
                    self.add_case(point)
                result.reason = self.unsteady()
        except _Refusal as refusal:
            result.reason = str(refusal)
        if result.reason:
            return
        for other in self.cases[0].inputs.others:
            result.notes.append(f"{other} is no tensor, and part of the model as it is")
        first = len(self.cases)
        reasons = {}
        for name in exporters:
            result.model, result.report, result.comparisons, result.frozen, result.not_compared = None, None, [], [], []
            del self.cases[first:]
            result.exporter, reason, is_final = name, "", False
            attempt = folder if len(exporters) == 1 else folder / name
            attempt.mkdir(exist_ok=True)
            try:
                self.attempt(name, attempt)
            except _Refusal as refusal:
                reason, is_final = str(refusal), refusal.is_final
            result.sizes = [case.point for case in self.cases]
            if self.keep_traces is not None:
                result.traces = sorted(attempt.glob("*.onnx"))
            result.exporters[name] = reason or "accepted"
            if not reason:
                result.reason = ""
                return
            reasons[name] = reason
            if is_final:
                break
        result.reason = "; ".join(reasons.values() if len(reasons) == 1 else (f"{name}: {reason}" for name, reason in reasons.items()))

    def add_case(self, point: Point) -> None:
        """Runs the module at another point that is exported."""
        self.cases.append(self._others.get(tuple(point.values())) or self.ran(self.subject.case(point)))

    def ran(self, case: Case) -> Case:
        """The case, after the module ran.

        Raises:
            _Refusal: the module raises an error there, and did not at another size. What it raises at the first is the caller's.
        """
        try:
            self.subject.run(case)
        except Exception as error:
            if not self.cases:
                raise
            raise _Refusal(f"the module fails at {text_of(case.point)}: {type(error).__name__}: {str(error)[:200]}; narrow the ranges",
                           is_final=True) from error
        return case

    def unsteady(self) -> str:
        """Why the module cannot be compared: it gives other results each time, or none."""
        import torch
        first = self.cases[0]
        assert first.outputs is not None
        if not first.outputs.tensors:
            return "the module returns no tensor"
        for other in first.outputs.others:
            self.result.notes.append(f"output {other} is no tensor, and not exported")
        again = self.subject.case(first.point)
        torch.manual_seed(self.subject.seed + 7919)
        self.subject.run(again)
        assert again.outputs is not None
        for name, a, b in zip(first.outputs.names, first.outputs.tensors, again.outputs.tensors):
            if a.shape != b.shape or not torch.allclose(a.double() if a.is_floating_point() else a, b.double() if b.is_floating_point()
                                                        else b, rtol=1e-3, atol=1e-4, equal_nan=True):
                return f"the module gives another '{name}' each time on the same inputs; make it deterministic"
        return ""

    def attempt(self, exporter: str, folder: Path) -> None:
        """Exports, lifts and compares; exports at one more size while that settles something.

        Raises:
            _Refusal: no model.
        """
        result, traces = self.result, list[Path]()
        before: list[str] = []
        while True:
            for case in self.cases[len(traces):]:
                traces.append(self.trace(exporter, case, folder))
            if len(traces) == 1:
                self.set_model(_thaw.Model.load(traces[0]))
                found = self.compared_with_module()
                if found is not None:
                    raise _Refusal(f"the model {found}")
                return
            reason = self.lifted(traces, folder)
            point: Point | None = None
            if not reason:
                point = self.outside_of_valid_sizes()
                if point is not None:
                    reason = f"the exports do not determine the model at {text_of(point)}"
            if not reason:
                failed = self.compared_with_module()
                if failed is None:
                    return
                reason, point = f"the model {failed}", failed.sizes
                if failed.exported:
                    raise _Refusal(reason)
            if len(traces) >= self.most_traces or (before and result.frozen == before):  # one more said nothing of it
                raise _Refusal(reason)
            before = list(result.frozen)
            assert result.report is not None
            is_ended = any("valid up to" in note.message for note in result.report.valid_sizes)
            if point is not None and is_ended and len(traces) > _FIRST_TRACES:  # what ends within the ranges ends with their end
                point = next((end for end in ends(self.ranges)[1:2] if self.fits(end) and end not in [case.point for case in self.cases]),
                             point)
            if point is None or not self.fits(point):
                more = choose(self.ranges, 1, [case.point for case in self.cases])
                if not more:
                    raise _Refusal(reason)
                point = more[0]
            with self.timed("module"):
                self.add_case(point)
            try:
                traces.append(self.trace(exporter, self.cases[-1], folder))
            except _Refusal:
                self.cases.pop()
                raise _Refusal(reason) from None

    def trace(self, exporter: str, case: Case, folder: Path) -> Path:
        """Exports at a point, and compares the export with the module there.

        Raises:
            _Refusal: the exporter fails, or what it makes is not what the module does.
        """
        import numpy as np

        from onnx_thaw.torch._exporters import export_trace, reason_of
        assert case.outputs is not None
        name = "_".join(f"{size}{value}" for size, value in case.point.items()) or "static"
        path = folder / (re.sub(r"[^\w.-]", "_", name) + ".onnx")
        with self.timed("export"):
            try:
                export_trace(exporter, self.subject, case, path, self.options)
            except Exception as error:
                raise _Refusal(f"the exporter fails at {text_of(case.point)}: {reason_of(error)}") from None
        values = {name: as_numpy(tensor) for name, tensor in zip(case.inputs.names, case.inputs.tensors)
                  if not tensor.is_floating_point() and not tensor.is_complex() and tensor.numel() <= _MOST_VALUES}
        kept = {port.name for port in _thaw.Model.load(path).inputs}
        values = {name: array for name, array in values.items() if name in kept and array.dtype != bool}
        if values:
            np.savez(path.with_suffix(".npz"), **values)
        with self.timed("compare"):
            found = self.beside(_thaw.Model.load(path), case, exported=True)
        if not found.agrees:
            raise _Refusal(f"the export itself {found}")
        return path

    def lifted(self, traces: Sequence[Path], folder: Path) -> str:
        """Lifts the exports; returns why they make no model."""
        from onnx_thaw._writing import lift
        result = self.result
        result.model, result.report, result.frozen = None, None, []
        values = [path for path in (trace.with_suffix(".npz") for trace in traces) if path.exists()]
        with self.timed("lift"):
            try:
                made = lift(traces, trace_values=values if len(values) == len(traces) else ())
            except Error as error:
                result.frozen = self.with_origins(traces[0], [("", str(error))])
                return f"lifting: {result.frozen[0]}"
        result.report = made.report
        if not made.report.accepted:
            notes = [(note.where, note.message) for note in made.report.unexplained]
            if not notes:
                bad = [check for check in made.report.checks if not check.agrees]
                return f"the lifted model differs from an export: {bad[0].message if bad else 'see the report'}"
            result.frozen = self.with_origins(traces[0], notes)
            return f"not explained: {result.frozen[0]}" + (f", and {len(notes) - 1} more" if len(notes) > 1 else "")
        assert made.model is not None
        self.set_model(made.model)
        self.name_sizes()
        return ""

    def set_model(self, model: _thaw.Model) -> None:
        """Makes it the result, which keeps the folder that has its weights."""
        if self.result._folder is not None:
            model.keep_alive(self.result._folder)
        self.result.model = model

    def with_origins(self, trace: Path, notes: Sequence[tuple[str, str]]) -> list[str]:
        """Notes with the lines of the module's code that they are about."""
        from onnx_thaw.torch._origin import Origins
        origins, texts = Origins(trace), []
        for where, message in notes:
            line = origins.of(where or message)
            texts.append((f"{where}: " if where else "") + message + (f"; from {line}" if line else ""))
        return texts

    def name_sizes(self) -> None:
        """Gives the model's sizes the names that the caller has for them, where the numbers are the same in every export."""
        assert self.result.model is not None
        taken, renamed = set[str](), {}
        for name, axis, symbol in self.symbols():
            if symbol in renamed or symbol in self.ranges.names:
                continue
            at = [case.shapes[name][axis] for case in self.cases]
            for size in self.ranges.names:
                if size not in taken and at == [case.point[size] for case in self.cases] and len(set(at)) > 1:
                    renamed[symbol] = size
                    taken.add(size)
                    break
        if renamed:
            self.result.model.rename_sizes(list(renamed.items()))

    def symbols(self) -> list[tuple[str, int, str]]:
        """Input, axis and name of each free size of the model."""
        assert self.result.model is not None
        found = []
        for port in self.result.model.inputs:
            for axis, dim in enumerate(port.dims or []):
                if not dim.isdigit() and port.name in self.cases[0].shapes and axis < len(self.cases[0].shapes[port.name]):
                    found.append((port.name, axis, dim))
        return found

    def outside_of_valid_sizes(self) -> Point | None:
        """A point in the ranges that the model refuses, as the exports did not determine it there."""
        assert self.result.report is not None and self.result.model is not None
        if not self.result.report.valid_sizes:
            return None
        stated = {each.key: each.value for each in self.result.model.to_proto().metadata_props}.get("thaw.valid_sizes", "")
        try:
            valid = Ranges(stated, is_open_allowed=True)
        except InvalidArgument:
            return None  # of elements or columns: the comparisons meet them
        symbols = self.symbols()
        exported = [case.point for case in self.cases]
        for point in [*choose(self.ranges, 4, exported), *unseen(self.ranges, exported, 24, self.fits, self.subject.seed), *ends(self.ranges)]:
            if not self.fits(point):
                continue
            shapes = self.subject.case(point).shapes
            if not valid.has({symbol: shapes[name][axis] for name, axis, symbol in symbols}):
                return point
        return None

    def fits(self, point: Point) -> bool:
        """Whether memory and time allow to run the module and the model there, by what they took at the exports."""
        return not self.too_large(point)

    def too_large(self, point: Point) -> str:
        """Why a point is left out."""
        from onnx_thaw.torch._cost import free_bytes, growth
        known = self._others.get(tuple(point.values()))
        if known is not None and known.outputs is not None:
            return ""
        elements = self.elements_at(point)
        largest = max(self.cases, key=lambda case: case.elements)
        ratio = elements / max(1, largest.elements)
        if ratio <= 1:
            return ""
        written = largest.cost * ratio ** growth([(case.elements, float(case.cost)) for case in self.cases])
        allowed = self.max_memory or free_bytes() // 3
        if written / 2 > allowed:
            return f"it may take {written / 2 / 2**30:.1f} GB"
        seconds = largest.seconds * written / max(1, largest.cost)
        return f"it may take {seconds:.0f} s" if seconds > self.max_seconds else ""

    def elements_at(self, point: Point) -> int:
        """Elements of the inputs at a point, where it can be without memory for them."""
        import torch
        try:
            with torch.device("meta"):
                return self.subject.case(point).elements
        except Exception:  # make_inputs looks at its tensors
            pass
        return self.subject.case(point).elements

    def compared_with_module(self) -> Comparison | None:
        """Compares at the exported sizes, at others and at the ends of the ranges; returns what differs first."""
        result = self.result
        assert result.model is not None
        result.comparisons, result.not_compared = [], []
        exported = [case.point for case in self.cases]
        for case in self.cases:
            if not self.take(self.beside(result.model, case, exported=True)):
                return result.comparisons[-1]
        drawn = unseen(self.ranges, exported, _DRAWN, self.fits, self.subject.seed + len(exported))
        points = drawn + [point for point in ends(self.ranges) if point not in exported and point not in drawn]
        more = uncovered(self.ranges, exported + points, self.fits, self.subject.seed + len(exported))
        deadline = time.monotonic() + max(_LEAST_SECONDS, result.seconds["export"] / 2)
        for index, point in enumerate([*points, *more]):
            if index >= len(points) and time.monotonic() > deadline:
                break
            reason = self.too_large(point)
            if reason:
                result.not_compared.append(f"{text_of(point)}: {reason}")
                continue
            with self.timed("module"):
                key = tuple(point.values())
                other = self._others.get(key)
                if other is None:
                    other = self.ran(self.subject.case(point, draw=1))
                    assert other.outputs is not None
                    if sum(each.numel() for each in other.outputs.tensors) <= _MOST_KEPT:
                        self._others[key] = other
            if not self.take(self.beside(result.model, other)):
                return result.comparisons[-1]
        if not (points or more) or all(each.exported for each in result.comparisons):
            self.compare_other_numbers(bool(points or more))
            if not result.comparisons[-1].agrees:
                return result.comparisons[-1]
        return None

    def compare_other_numbers(self, are_there_others: bool) -> None:
        """Where every size was exported: compares at each with other numbers.

        Raises:
            _Refusal: there are sizes that were not exported, and none was compared.
        """
        if are_there_others:
            raise _Refusal(f"no size that was not exported could be compared: {'; '.join(self.result.not_compared)}; give smaller ranges "
                           "or a larger max_memory")
        assert self.result.model is not None
        for case in self.cases:
            other = self.subject.case(case.point, draw=1)
            with self.timed("module"):
                self.subject.run(other)
            if not self.take(self.beside(self.result.model, other, exported=True)):
                return

    def take(self, found: Comparison) -> bool:
        """Keeps a comparison."""
        self.result.comparisons.append(found)
        return found.agrees

    def beside(self, model: _thaw.Model, case: Case, *, exported: bool = False) -> Comparison:
        """Runs a model on a case's inputs, and compares."""
        from onnx_thaw._session import Session
        found = Comparison(case.point, exported=exported)
        assert case.outputs is not None
        with self.timed("compare"):
            try:
                session = self.session(model, Session)
                taken = {port.name for port in session.inputs}
                outputs = session.run({name: as_numpy(tensor) for name, tensor in zip(case.inputs.names, case.inputs.tensors)
                                       if name in taken})
            except Error as error:
                if error.code == "runtime_missing":  # it is not about the model
                    raise
                return found.fail(str(error)[:300], runs=False)
            return compare(found, case.outputs, outputs)

    _loaded: tuple[Any, Any] = (None, None)

    def session(self, model: _thaw.Model, kind: Any) -> Any:
        """The model in ONNX Runtime; the last one is kept."""
        if self._loaded[0] is not model:
            self._loaded = (None, None)
            self._loaded = (model, kind(model))
        return self._loaded[1]
