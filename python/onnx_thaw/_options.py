"""Arguments as the library's options."""
from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, Union

from onnx_thaw import _thaw
from onnx_thaw._errors import InvalidArgument

PathLike: TypeAlias = Union[str, "os.PathLike[str]"]
# "height=320..640:32,width=224", or {"height": range(320, 641, 32), "width": 224}.
Sizes: TypeAlias = str | Mapping[str, int | str | range]
Inputs: TypeAlias = Mapping[str, Any]
Values: TypeAlias = Mapping[str, Iterable[int]]
# "cuda", or several in their order: ["tensorrt", "cuda:device_id=1"].
Providers: TypeAlias = str | Iterable[str]
Ranges: TypeAlias = Mapping[str, tuple[float, float]]

E = TypeVar("E")
T = TypeVar("T")


def text_of_sizes(sizes: Sizes) -> str:
    """Sizes as the command writes them."""
    if isinstance(sizes, str):
        return sizes
    return ",".join(f"{name}={_text_of_size(size)}" for name, size in sizes.items())


def _text_of_size(size: int | str | range) -> str:
    if not isinstance(size, range):
        return str(size)
    if len(size) == 0 or size.step < 1:
        raise InvalidArgument(f"{size} has no sizes; give a range with a positive step, such as range(64, 1025, 32)")
    return f"{size[0]}..{size[-1]}" + (f":{size.step}" if size.step > 1 else "")


def named_sizes(sizes: Sizes) -> list[tuple[str, int]]:
    """One number for each size."""
    return list(_thaw.parse_sizes(text_of_sizes(sizes)))


def choice(kind: type[E], given: str | E) -> E:
    """A value of an enumeration by the word that the command takes, in any spelling."""
    if not isinstance(given, str):
        return given
    plain = _plain(given)
    plain = {"f16": "float16", "fp16": "float16", "half": "float16", "bf16": "bfloat16", "i8": "int8"}.get(plain, plain)
    values: dict[str, E] = {_plain(each.name): each for each in kind}  # type: ignore[attr-defined]
    if plain not in values:
        words = ", ".join(each.name.lower().replace("_", "-") for each in values.values())  # type: ignore[attr-defined]
        raise InvalidArgument(f"{kind.__name__} has no '{given}'; expected one of {words}")
    return values[plain]


def _plain(word: str) -> str:
    return word.lower().replace("-", "").replace("_", "")


def word(option: str, given: str, meanings: Mapping[str, T]) -> T:
    """What one of a few words stands for."""
    if given not in meanings:
        raise InvalidArgument(f"{option} is '{given}'; expected one of {', '.join(meanings)}")
    return meanings[given]


def added(inputs: str | Iterable[str]) -> list[_thaw.AddedInput]:
    """Inputs by texts such as "grid_thw:int64[1,3]"."""
    return [_thaw.parse_added_input(text) for text in many(inputs)]


def feeds(inputs: Inputs | None, values: Values | None, seed: int, ranges: Ranges | None = None) -> _thaw.FeedOptions:
    """What a model is run on; inputs that are not given are drawn."""
    made = _thaw.FeedOptions()
    if inputs:
        made.arrays = dict(inputs)
    if values:
        made.values = {name: [str(each) for each in elements] for name, elements in values.items()}
    if ranges:
        made.ranges = {name: _range(*bounds) for name, bounds in ranges.items()}
    made.seed = seed
    return made


def _range(lowest: float, highest: float) -> _thaw.ValueRange:
    made = _thaw.ValueRange()
    made.lowest, made.highest = lowest, highest
    return made


def tolerance(atol: float | None, rtol: float | None, cosine: float | None) -> _thaw.Tolerance:
    """When outputs agree; what is None is by the outputs' type."""
    made = _thaw.Tolerance()
    made.absolute, made.relative, made.cosine = atol, rtol, cosine
    return made


def output(path: PathLike | None, external: str, rename: Mapping[str, str] | None, in_place: bool) -> _thaw.Output:
    """Where a result is written."""
    made = _thaw.Output()
    if path is not None:
        made.path = Path(path)
    made.save.external = choice(_thaw.ExternalPolicy, external)
    made.rename = list((rename or {}).items())
    made.in_place = in_place
    return made


def providers(given: Providers) -> list[_thaw.Provider]:
    """Execution providers, each as the command takes it: "cuda", "cuda:device_id=1"."""
    return [_thaw.parse_provider(each) for each in many(given)]


def paths(given: PathLike | Iterable[PathLike]) -> list[Path]:
    """One path or several as a list."""
    if isinstance(given, (str, os.PathLike)):
        return [Path(given)]
    return [Path(each) for each in given]


def shard_of(given: tuple[int, int]) -> tuple[int, int]:
    """A shard as the library counts it, from 0."""
    number, count = given
    if not 1 <= number <= count:
        raise InvalidArgument(f"{given} is no shard; expected (1, 4), (2, 4), …: which of how many")
    return number - 1, count


def many(given: str | Iterable[str]) -> list[str]:
    """One word or several as a list."""
    return [given] if isinstance(given, str) else list(given)
