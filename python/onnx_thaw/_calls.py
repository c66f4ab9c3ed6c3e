"""What each call of a verb does beside its work: it logs its time, and issues the warnings of its report."""
from __future__ import annotations

import functools
import sys
import time
import warnings
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from onnx_thaw._errors import ThawWarning

P = ParamSpec("P")
R = TypeVar("R")


def verb(function: Callable[P, R]) -> Callable[P, R]:
    """A function that logs a debug record to the logger "onnx_thaw", and warns of what its report warns of."""
    @functools.wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> R:
        begin = time.perf_counter()
        try:
            result = function(*args, **options)
        except BaseException as error:
            _log(function.__name__, time.perf_counter() - begin, type(error).__name__)
            raise
        _log(function.__name__, time.perf_counter() - begin, "")
        for message in getattr(result, "warnings", ()):
            warnings.warn(message, ThawWarning, stacklevel=2)
        return result
    return call


def _log(name: str, seconds: float, error: str) -> None:
    # Who listens has imported it. To import it here would be slow, and a fork meanwhile would leave its lock taken in the child.
    get_logger = getattr(sys.modules.get("logging"), "getLogger", None)
    if get_logger is None:
        return
    logger = get_logger("onnx_thaw")
    logger.debug("%s took %.3f s%s", name, seconds, error and f" until {error}", extra={"verb": name, "seconds": seconds})
