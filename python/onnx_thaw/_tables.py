"""Reports as DataFrames of pandas, which is optional."""
from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from typing import Any

from onnx_thaw import _thaw

# The list of a report that its table is made of: the first of these that it has.
_MAIN = ("findings", "points", "comparisons", "units", "parts", "tensors", "changed", "lifted", "ports", "nodes", "files")
_STRUCT = re.compile(r"-> (?P<list>list\[)?(?:\w+\.)*(?P<name>\w+)(?(list)\]|(?: \| None)?)$")


def to_pandas(items: Any) -> Any:
    """A list of a report's structs as a `pandas.DataFrame`, a row each; of a report the list that it is about.

    Args:
        items: A list such as `report.suppressed`; or a result, of which it is `findings`, `points`, `comparisons`, `units`, `parts`,
            `tensors`, `changed`, `lifted`, `ports`, `nodes` or `files`: the first that it has.

    Returns:
        Columns are the fields; those of a struct within are called as "where.node". Enumerations are their names in lower case.

    Raises:
        TypeError: a result without such a list, or a list of anything else.
        ImportError: pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_pandas() needs pandas, which is not installed; `pip install pandas`") from error
    kind, rows = (None, list(items)) if isinstance(items, Iterable) else _main_list(items)
    if rows:
        kind = type(rows[0])
    if any(not hasattr(row, "_fields") or type(row) is not kind for row in rows):
        raise TypeError(f"a table is made of a result, or of a list of its structs of one kind, not of {kind.__name__ if kind else rows}")
    columns = _columns(kind) if kind is not None else []
    return pandas.DataFrame({".".join(column): [_value(row, column) for row in rows] for column in columns})


def _struct(holder: type, name: str, in_list: bool) -> type | None:
    """The struct that a field is declared as, or as a list of."""
    getter = getattr(getattr(holder, name), "fget", None)
    declared = _STRUCT.search(getter.__nb_signature__[0][0]) if getter is not None else None
    if declared is None or bool(declared["list"]) != in_list:
        return None
    kind = getattr(_thaw, declared["name"], None)
    return kind if hasattr(kind, "_fields") else None


def _main_list(result: Any) -> tuple[type, list[Any]]:
    report = getattr(result, "report", getattr(result, "found", result))
    fields = getattr(report, "_fields", ())
    for name in _MAIN:
        kind = _struct(type(report), name, True) if name in fields else None
        if kind is not None:
            return kind, getattr(report, name)
    raise TypeError(f"{type(result).__name__} has no list that it is about; give one of its lists, or what another verb returned")


def _columns(kind: type) -> list[tuple[str, ...]]:
    """The fields; of structs within, theirs."""
    found: list[tuple[str, ...]] = []
    for name in kind._fields:  # type: ignore[attr-defined]
        within = _struct(kind, name, False)
        found += [(name, *rest) for rest in _columns(within)] if within is not None else [(name,)]
    return found


def _value(row: Any, column: tuple[str, ...]) -> Any:
    for name in column:
        row = None if row is None else getattr(row, name)
    return row.name.lower() if isinstance(row, enum.Enum) else row
