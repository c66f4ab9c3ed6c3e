"""What was built of a model in memory."""
from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from onnx_thaw import _thaw
from onnx_thaw._errors import Refused, stated
from onnx_thaw._options import PathLike, choice
from onnx_thaw.torch._compare import Comparison
from onnx_thaw.torch._result import Shown


class BuildResult(Shown):
    """The models of a built family, a part each, and how they were compared with the module.

    Attributes:
        models: By part: "text", "vision", "audio", "embedding". Use them only where `accepted`.
        model: The only one, or that of "text"; None where there is none.
        reason: Why they are not accepted; empty where they are.
        exporter: "build".
        exporters: What each exporter that was tried came to.
        report: Of `build`; None where nothing was built.
        comparisons: By part, with the module at several sizes.
        not_compared: Parts that were not compared, and why.
        notes: What else is to be known.
        seconds: By phase: "weights", "build", "compare".
    """

    def __init__(self) -> None:
        self.models: dict[str, _thaw.Model] = {}
        self.reason = "nothing was built"
        self.exporter = "build"
        self.exporters: dict[str, str] = {}
        self.report: _thaw.BuildReport | None = None
        self.comparisons: dict[str, list[Comparison]] = {}
        self.not_compared: list[str] = []
        self.notes: list[str] = []
        self.seconds = {"weights": 0.0, "build": 0.0, "compare": 0.0}
        self._folder = tempfile.TemporaryDirectory(prefix="onnx_thaw_")  # of the parts, whose weights the models read

    @property
    def model(self) -> _thaw.Model | None:
        """The only model, or the decoder's."""
        return self.models.get("text") or next(iter(self.models.values()), None)

    @property
    def accepted(self) -> bool:
        """Whether all parts were built, and those that were compared agree with the module."""
        return not self.reason

    def save(self, path: PathLike, *, external: str = "keep") -> list[Path]:
        """Writes the models.

        Args:
            path: A folder for <part>.onnx and what goes with them; or, of one part, a file that ends in .onnx.
            external: Where weights go: "keep", "single" or "inline".

        Returns:
            The files.

        Raises:
            Refused: they are not accepted.
            InvalidArgument: there are several parts, and the path is that of one file.
        """
        if not self.accepted or self.report is None:
            raise Refused(self)
        options, to = _thaw.SaveOptions(), Path(path)
        options.external = choice(_thaw.ExternalPolicy, external)
        if to.suffix == ".onnx":
            if len(self.models) != 1:
                raise stated("invalid_argument", f"there are {len(self.models)} parts: {', '.join(self.models)}", where=str(to),
                             expected="a folder", next_step="give a folder, or build one part: build_options={'part': 'text'}")
            return next(iter(self.models.values())).save(to, options)
        to.mkdir(parents=True, exist_ok=True)
        files = [file for name, model in self.models.items() for file in model.save(to / f"{name}.onnx", options)]
        for file in self.report.other_files:
            shutil.copyfile(file, to / file.name)
            files.append(to / file.name)
        return files

    def to_json(self) -> str:
        """All of it but the models, as JSON; "build" as `thaw build --format json` prints it."""
        return json.dumps({
            "accepted": self.accepted, "reason": self.reason, "exporter": self.exporter, "exporters": self.exporters,
            "comparisons": {part: [each.to_dict() for each in found] for part, found in self.comparisons.items()},
            "not_compared": self.not_compared, "notes": self.notes,
            "seconds": {name: round(value, 3) for name, value in self.seconds.items()},
            "build": json.loads(self.report.to_json()) if self.report is not None else None}, indent=1)

    def to_text(self, *, all: bool = False) -> str:
        """What `print` shows; `all`: every tensor that no part reads."""
        lines = []
        for file in self.report.files if self.report is not None else []:
            lines.append(f"{file.part}.onnx: {file.num_nodes} nodes, {file.weight_bytes / 1e6:.1f} MB of weights")
            lines += [f"  {each}" for each in self.comparisons.get(file.part, [])]
        lines += [f"exporter {name}: {outcome}" for name, outcome in self.exporters.items()]
        unused = self.report.unused_tensors if self.report is not None else []
        if unused:
            lines.append(f"weights that no part reads ({len(unused)})")
            lines += [f"  {name}" for name in (unused if all else unused[:3])]
            if not all and len(unused) > 3:
                lines.append(f"  … {len(unused) - 3} more")
        for title, items in (("notes", self.notes), ("not compared", self.not_compared)):
            if items:
                lines.append(f"{title} ({len(items)})")
                lines += [f"  {item}" for item in items]
        lines.append(", ".join(f"{name} {value:.1f} s" for name, value in self.seconds.items()))
        lines.append("accepted" if self.accepted else f"not accepted: {self.reason}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"BuildResult(accepted={self.accepted}, parts={', '.join(self.models) or 'none'}{'' if self.accepted else f', {self.reason}'})"

    def _path(self, name: str) -> Path:
        path = Path(self._folder.name, name)
        path.mkdir()
        return path

    def _forget(self) -> None:
        """Removes the files of what is not used."""
        self.models = {}
        self._folder.cleanup()


