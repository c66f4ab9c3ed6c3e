"""Progress of long calls, for their argument `progress`.

    with onnx_thaw.progress.bar("measuring") as bar:
        report = onnx_thaw.sensitivity("tower.onnx", data="samples", progress=bar)
"""
from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, TextIO

from onnx_thaw._errors import InvalidArgument

_BETWEEN = 0.1  # seconds between two writes of the plain line


class bar:
    """A progress bar, in notebooks too. It is called with what is done, and in total.

    Args:
        description: What stands before the bar.
        file: Where the bar is written; stderr by default.
        kind: "tqdm" or "rich", which must be installed then, or "plain", a line; None: the first of these that there is.
    """

    def __init__(self, description: str = "", *, file: TextIO | None = None, kind: str | None = None) -> None:
        if kind not in (None, *_KINDS):
            raise InvalidArgument(f"there is no bar of kind '{kind}'; expected one of {', '.join(_KINDS)}")
        self._description = description
        self._file = file
        self._kind = kind
        self._shown: Any = None

    def __enter__(self) -> bar:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __call__(self, done: int, total: int | str) -> None:
        """Shows what is done. A text instead of the total, as `generate` gives it, leaves the end open."""
        if self._shown is None:
            self._shown = _shown(self._kind, self._description, self._file)
        self._shown.total = None if isinstance(total, str) else total
        self._shown.update(done - self._shown.n)

    def close(self) -> None:
        """Ends the bar, as it stands."""
        if self._shown is not None:
            self._shown.close()
            self._shown = None


def _shown(kind: str | None, description: str, file: TextIO | None) -> Any:
    for name in (kind,) if kind is not None else _KINDS:
        try:
            return _KINDS[name](description, file)
        except ImportError:
            if kind is not None:
                raise
    return None


def _tqdm(description: str, file: TextIO | None) -> Any:
    from tqdm.auto import tqdm
    return tqdm(desc=description or None, file=file)


class _Rich:
    """What `bar` uses of tqdm, shown by rich."""

    def __init__(self, description: str, file: TextIO | None) -> None:
        from rich.console import Console
        from rich.progress import Progress
        self.n = 0
        self.total: int | None = None
        self._progress = Progress(console=Console(file=file, stderr=file is None))
        self._task = self._progress.add_task(description, total=None)
        self._progress.start()

    def update(self, more: int) -> None:
        self.n += more
        self._progress.update(self._task, completed=self.n, total=self.total)

    def close(self) -> None:
        self._progress.stop()


class _Line:
    """What `bar` uses of tqdm: rewritten on a terminal; elsewhere written once, at the end."""

    def __init__(self, description: str, file: TextIO | None) -> None:
        self.n = 0
        self.total: int | None = None
        self._before = f"{description}: " if description else ""
        self._file = file or sys.stderr
        self._is_terminal = self._file.isatty()
        self._last = 0.0

    def _write(self, end: str) -> None:
        total = "" if self.total is None else f" of {self.total}"
        self._file.write(f"{chr(13) * self._is_terminal}{self._before}{self.n}{total}{end}")
        self._file.flush()

    def update(self, more: int) -> None:
        self.n += more
        now = time.monotonic()
        if self._is_terminal and now - self._last >= _BETWEEN:
            self._last = now
            self._write("")

    def close(self) -> None:
        self._write("\n")


_KINDS: dict[str, Callable[[str, TextIO | None], Any]] = {"tqdm": _tqdm, "rich": _Rich, "plain": _Line}
