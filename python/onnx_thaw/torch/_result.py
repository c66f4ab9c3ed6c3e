"""What an export found."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from onnx_thaw import _thaw
from onnx_thaw._errors import Refused
from onnx_thaw._options import PathLike, choice
from onnx_thaw.torch._compare import Comparison
from onnx_thaw.torch._sizes import Point, Ranges, range_text, text_of

_MOST_LISTED = 5


class Shown:
    """What is shown by its text."""

    def to_text(self, *, all: bool = False) -> str:
        """What `print` shows."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        import html
        return f"<pre>{html.escape(self.to_text())}</pre>"


class ExportResult(Shown):
    """The model, and how it was made and compared.

    Attributes:
        model: The model; None where there is none. Use it only where `accepted`.
        reason: Why it is not accepted; empty where it is.
        ranges: What sizes may be, by name.
        sizes: The sizes of the exports, in order.
        exporter: "dynamo" or "torchscript", the one whose traces were used; empty where none worked.
        exporters: What each exporter that was tried came to.
        report: Of `lift`; None for a static export, and where no export got that far.
        comparisons: Of the model with the module, at sizes that were exported and at others.
        not_compared: Ends of the ranges that were left out, and why.
        frozen: What lifting did not explain, with the line of the module's code that it comes from.
        notes: What else is to be known.
        traces: The files of the exports where `keep_traces` was given.
        seconds: By phase: "module", "export", "lift", "compare".
    """

    def __init__(self, ranges: Ranges) -> None:
        self.model: _thaw.Model | None = None
        self.reason = "nothing was exported"
        self.ranges = {name: range_text(values) for name, values in ranges.values.items()}
        self.ranges.update({name: expression.text for name, expression in ranges.given.items()})
        self.sizes: list[Point] = []
        self.exporter = ""
        self.exporters: dict[str, str] = {}
        self.report: _thaw.LiftReport | None = None
        self.comparisons: list[Comparison] = []
        self.not_compared: list[str] = []
        self.frozen: list[str] = []
        self.notes: list[str] = []
        self.traces: list[Path] = []
        self.seconds = {"module": 0.0, "export": 0.0, "lift": 0.0, "compare": 0.0}
        self._folder: Any = None  # of the traces, whose weights the model reads

    @property
    def accepted(self) -> bool:
        """Whether the model agrees with the module at all sizes that were compared, of which one at least was not exported."""
        return not self.reason and self.model is not None

    def save(self, path: PathLike, *, external: str = "keep") -> list[Path]:
        """Writes the model.

        Args:
            path: The file.
            external: Where weights go: "keep", "single" or "inline".

        Returns:
            The files.

        Raises:
            Refused: it is not accepted.
        """
        if not self.accepted or self.model is None:
            raise Refused(self)
        options = _thaw.SaveOptions()
        options.external = choice(_thaw.ExternalPolicy, external)
        return self.model.save(Path(path), options)

    def to_json(self) -> str:
        """All of it but the model, as JSON; "lift" as `thaw lift --format json` prints it."""
        return json.dumps({
            "accepted": self.accepted, "reason": self.reason, "ranges": self.ranges, "sizes": self.sizes, "exporter": self.exporter,
            "exporters": self.exporters, "comparisons": [each.to_dict() for each in self.comparisons],
            "not_compared": self.not_compared, "frozen": self.frozen, "notes": self.notes,
            "traces": [str(path) for path in self.traces],
            "seconds": {name: round(value, 3) for name, value in self.seconds.items()},
            "lift": json.loads(self.report.to_json()) if self.report is not None else None}, indent=1)

    def to_text(self, *, all: bool = False) -> str:
        """What `print` shows; `all`: every explanation of lifting."""
        lines = [f"sizes ({len(self.ranges)})"]
        for name, values in self.ranges.items():
            exported = ", ".join(str(point[name]) for point in self.sizes if name in point)
            lines.append(f"  {name}: {values}" + (f"; exported at {exported}" if exported else ""))
        for name, outcome in self.exporters.items():
            lines.append(f"exporter {name}: {outcome}")
        if self.report is not None and (self.report.lifted or self.report.unexplained):
            shown = self.report.lifted if all else self.report.lifted[:_MOST_LISTED]
            lines.append(f"lifted ({len(self.report.lifted)})")
            lines += [f"  {note.message} at {note.where}" for note in shown]
            if len(shown) < len(self.report.lifted):
                lines.append(f"  … {len(self.report.lifted) - len(shown)} more")
        for title, items in (("unexplained", self.frozen), ("notes", self.notes), ("not compared", self.not_compared)):
            if items:
                shown_items = items if all else items[:_MOST_LISTED]
                lines.append(f"{title} ({len(items)})")
                lines += [f"  {item}" for item in shown_items]
                if len(shown_items) < len(items):
                    lines.append(f"  … {len(items) - len(shown_items)} more")
        lines += [str(each) + (", exported there" if each.exported else "") for each in self.comparisons]
        lines.append(", ".join(f"{name} {value:.1f} s" for name, value in self.seconds.items()))
        lines.append("accepted" if self.accepted else f"not accepted: {self.reason}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        at = "; ".join(text_of(point) for point in self.sizes)
        return f"ExportResult(accepted={self.accepted}, exported at {at or 'no size'}{'' if self.accepted else f', {self.reason}'})"
