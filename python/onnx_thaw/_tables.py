"""Reports as DataFrames of pandas, which is optional."""
from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from typing import Any

from onnx_thaw import _thaw

_STRUCT = re.compile(r"-> (?P<list>list\[)?(?:\w+\.)*(?P<name>\w+)(?(list)\]|(?: \| None)?)$")


def to_pandas(items: Any) -> Any:
    """A list of a report's structs as a `pandas.DataFrame`, a row each; of a report the list that it is about.

    Args:
        items: A list such as `report.suppressed`; or a result, whose method `to_pandas` says which list it is about.

    Returns:
        Columns are the fields; those of a struct within are called as "where.node". Enumerations are their names in lower case.

    Raises:
        TypeError: a result without such a list, or a list of anything else.
        ImportError: pandas is not installed.
    """
    if isinstance(items, Iterable):
        return _table(None, list(items))
    if hasattr(items, "to_pandas"):
        return items.to_pandas()
    raise TypeError(f"{type(items).__name__} has no list that it is about; give one of its lists, or what another verb returned")


def list_of(report: Any, name: str) -> Any:
    """One of a report's lists as a `pandas.DataFrame`, with columns where it is empty too."""
    return _table(_struct(type(report), name, True), getattr(report, name))


def _table(kind: type | None, rows: list[Any]) -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_pandas() needs pandas, which is not installed; `pip install pandas`") from error
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
