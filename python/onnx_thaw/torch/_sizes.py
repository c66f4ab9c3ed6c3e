"""Ranges of sizes and relations between them, as the options `--sizes` take them. Needs no torch."""
from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from onnx_thaw import _thaw
from onnx_thaw._errors import InvalidArgument

Point = dict[str, int]

_NAME = re.compile(r"[A-Za-z_][\w.:]*(?:\[\d+\])?")
_RELATION = re.compile(r"(<=|>=|==|<|>)")
_HOLDS: dict[str, Callable[[Any, Any], bool]] = {"<=": operator.le, ">=": operator.ge, "==": operator.eq, "<": operator.lt,
                                                 ">": operator.gt}
_RANGE = re.compile(r"\s*(-?\d+)\s*(?:\.\.\s*(-?\d+)?\s*(?::\s*(\d+))?)?\s*")
_GRAMMAR = "ranges such as \"batch=1..8,height=224..1024:32,width=224|320\" and relations such as \"width>=height\""


class Expression:
    """An expression of sizes, or a relation between two."""

    def __init__(self, text: str) -> None:
        self.text = text.strip()
        parts = _RELATION.split(self.text)
        self.sides = [_thaw.Dim(part.strip()) for part in parts[::2]]
        self.relation = parts[1] if len(parts) == 3 else ""
        if len(parts) > 3:
            raise InvalidArgument(f"sizes: {text!r} has two relations; give them apart: {_GRAMMAR}")
        self.names = {name for side in self.sides for name in side.symbols}

    def at(self, point: Mapping[str, int]) -> int | None:
        """Its value, a relation's as 0 or 1; None where it has none: a division by 0."""
        values = [side.evaluate(point) for side in self.sides]
        if None in values or not self.relation:
            return values[0] if not self.relation else None
        return int(_HOLDS[self.relation](*values))


class Ranges:
    """What sizes may be.

    Attributes:
        values: Of each free size, its values from the least on.
        given: Sizes that are expressions of others.
        relations: What holds of them.
    """

    def __init__(self, text: str, *, is_open_allowed: bool = False) -> None:
        self.text = text
        self.values: dict[str, Sequence[int]] = {}
        self.given: dict[str, Expression] = {}
        self.relations: list[Expression] = []
        for entry in _split(text):
            name, rest = _definition(entry)
            if not name:
                relation = Expression(entry)
                if not relation.relation:
                    raise InvalidArgument(f"sizes: {entry!r} says no range and no relation; expected {_GRAMMAR}")
                self.relations.append(relation)
                continue
            if name in self.values or name in self.given:
                raise InvalidArgument(f"sizes: {name!r} is there twice; give it once")
            parts = [_RANGE.fullmatch(part) for part in rest.split("|")]
            if all(parts):
                self.values[name] = _values(name, [part for part in parts if part], is_open_allowed)
            else:
                self.given[name] = Expression(rest)
        for expression in [*self.given.values(), *self.relations]:
            for unknown in sorted(expression.names - self.values.keys() - self.given.keys()):
                raise InvalidArgument(f"sizes: {expression.text!r} has {unknown!r}, which has no range; add such as \"{unknown}=1..8\"")

    @property
    def names(self) -> list[str]:
        """Of the free sizes, then of the expressions."""
        return [*self.values, *self.given]

    @property
    def free(self) -> list[str]:
        """Sizes with more than one value."""
        return [name for name, values in self.values.items() if len(values) > 1]

    def complete(self, point: Mapping[str, int]) -> Point | None:
        """The point with the sizes that are expressions; None where a relation fails."""
        made = dict(point)
        left = dict(self.given)
        while left:
            ready = [name for name, expression in left.items() if expression.names <= made.keys()]
            if not ready:
                raise InvalidArgument(f"sizes: {', '.join(left)} are made of each other; give one of them a range")
            for name in ready:
                value = left.pop(name).at(made)
                if value is None or value < 0:
                    return None
                made[name] = value
        return made if all(relation.at(made) for relation in self.relations) else None

    def has(self, point: Mapping[str, int]) -> bool:
        """Whether all that is said of the point's sizes holds; sizes that it does not have are left out."""
        for name, values in self.values.items():
            if name in point and point[name] not in values:
                return False
        if any(expression.at(point) != point[name] for name, expression in self.given.items()
               if name in point and expression.names <= point.keys()):
            return False
        return all(relation.at(point) for relation in self.relations if relation.names <= point.keys())


def defined(text: str) -> list[str]:
    """The names of the sizes that have a range or an expression."""
    return [name for name, _ in map(_definition, _split(text)) if name]


def _definition(entry: str) -> tuple[str, str]:
    """The name and the values of a size; no name where it is a relation."""
    name, equals, rest = entry.partition("=")
    name = name.strip()
    return (name, rest) if equals and not rest.startswith("=") and _NAME.fullmatch(name) else ("", "")


def _split(text: str) -> list[str]:
    """Entries, apart by commas that stand in no parentheses."""
    entries, depth, last = [], 0, ""
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            entries.append(last)
            last = ""
        else:
            last += letter
    return [entry.strip() for entry in [*entries, last] if entry.strip()]


def _values(name: str, parts: Iterable[re.Match[str]], is_open_allowed: bool) -> Sequence[int]:
    made: list[range] = []
    for part in parts:
        first, last, step = part[1], part[2], part[3]
        if ".." not in part[0]:
            last = first
        elif last is None:
            if not is_open_allowed:
                raise InvalidArgument(f"sizes: the range of {name!r} has no end; give one, such as \"{name}={first}..{int(first) + 64}\"")
            last = str(2**40)
        values = range(int(first), int(last) + 1, int(step or 1)) if int(step or 1) > 0 else range(0)
        if not values or values[0] < 0:
            raise InvalidArgument(f"sizes: {name!r} has no value in {part[0].strip()!r}; expected such as \"{name}=1..8\"")
        made.append(values)
    return made[0] if len(made) == 1 else sorted({value for values in made for value in values})


def text_of(point: Mapping[str, int]) -> str:
    """A point as the command prints it."""
    return ",".join(f"{name}={value}" for name, value in point.items()) or "its one size"


def range_text(values: Sequence[int]) -> str:
    """Values as `--sizes` takes them."""
    if len(values) == 1:
        return str(values[0])
    if isinstance(values, range):
        return f"{values[0]}..{values[-1]}" + (f":{values.step}" if values.step > 1 else "")
    return "|".join(map(str, values))


def is_prime(number: int) -> bool:
    """Whether a number has no divisor but 1 and itself."""
    return number > 1 and all(number % each for each in range(2, int(number**0.5) + 1))

