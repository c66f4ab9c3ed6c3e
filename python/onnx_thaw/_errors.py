"""What the library throws, as Python's exceptions."""
from __future__ import annotations

import os
from typing import Any


class ThawWarning(UserWarning):
    """What a report warns of: its `warnings`, each of which a call issues too."""


class Error(Exception):
    """What Thaw could not do: one sentence with what was wrong, where, what was expected and what to do next.

    Attributes:
        code: "invalid_argument", "cannot_read", "cannot_write", "invalid_file", "unsupported", "runtime_missing", "runtime_failed",
            "out_of_budget" or "internal".
        what: what was wrong.
        where: the file, node or tensor; may be empty.
        expected: what would have been right; may be empty.
        next_step: what to do; may be empty.
    """

    code: str = "internal"
    what: str = ""
    where: str = ""
    expected: str = ""
    next_step: str = ""


class InvalidArgument(Error, ValueError):
    """The call is wrong: an option, a name or a size that the model does not have."""


class CannotRead(Error, OSError):
    """A file or folder cannot be read."""


class NotFound(CannotRead, FileNotFoundError):
    """A file or folder is not there."""


class CannotWrite(Error, OSError):
    """A file cannot be written; what was there before still is."""


class InvalidFile(Error, ValueError):
    """A file is not what it should be: truncated, malformed, outside its folder."""


class Unsupported(Error, NotImplementedError):
    """The file is valid, and has something that the function does not support."""


class RuntimeMissing(Error, ImportError):
    """ONNX Runtime is missing or too old."""


class RuntimeFailed(Error, RuntimeError):
    """ONNX Runtime does not load the model, or fails at run time."""


class OutOfBudget(Error, RuntimeError):
    """More memory, time or work than there is or than the limits allow."""


class InternalError(Error, RuntimeError):
    """A bug in Thaw."""


class Refused(Error, RuntimeError):
    """A result that is not accepted was to be saved.

    Attributes:
        result: the result, whose report says why.
    """

    def __init__(self, result: Any) -> None:
        super().__init__(f"the result is not accepted, so that it is not saved:\n{result}")
        self.result = result
        self.code = "refused"


_CLASSES: dict[str, type[Error]] = {
    "invalid_argument": InvalidArgument,
    "cannot_read": CannotRead,
    "cannot_write": CannotWrite,
    "invalid_file": InvalidFile,
    "unsupported": Unsupported,
    "runtime_missing": RuntimeMissing,
    "runtime_failed": RuntimeFailed,
    "out_of_budget": OutOfBudget,
    "internal": InternalError,
}


def stated(code: str, what: str, *, where: str = "", expected: str = "", next_step: str = "") -> Error:
    """An error of Python's part, in one sentence as the library puts it."""
    parts = [f"{where}: {what}" if where else what, f"expected {expected}" if expected else "", next_step]
    return make(code, "; ".join(part for part in parts if part), what, where, expected, next_step)


def make(code: str, message: str, what: str, where: str, expected: str, next_step: str) -> Error:
    """The exception of an error of the library."""
    kind = _CLASSES.get(code, Error)
    if kind is CannotRead and where and not os.path.lexists(where):
        kind = NotFound
    error = kind(message)
    error.code, error.what, error.where, error.expected, error.next_step = code, what, where, expected, next_step
    return error
