"""Nested arguments and outputs as flat lists of named tensors, and back."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

Build = Callable[[list[Any]], Any]


@dataclasses.dataclass
class Flat:
    """The tensors of a nested value.

    Attributes:
        names: Where each stands: "pixel_values", "past_key_values.0.key", "hidden_states.2".
        tensors: They.
        others: Of values that are no tensors, where they stand and their types.
        build: Makes the value again of other tensors; only for kinds that arguments may be of.
    """

    names: list[str]
    tensors: list[Any]
    others: list[str]
    build: Build


def is_cache(value: Any) -> bool:
    """Whether it is a cache of keys and values of transformers that grows."""
    return any(kind.__name__ == "DynamicCache" and kind.__module__.startswith("transformers.") for kind in type(value).__mro__)


def is_other_cache(value: Any) -> bool:
    """Whether it is a cache of transformers of another kind."""
    return any(kind.__name__ in ("Cache", "EncoderDecoderCache") and kind.__module__.startswith("transformers.")
               for kind in type(value).__mro__) and not is_cache(value)


def flatten(value: Any, name: str = "", *, cache_name: str = "") -> Flat:
    """Finds the tensors of a value.

    Args:
        value: A tensor; a dict, list, tuple, dataclass or DynamicCache of such; or anything else, which is kept.
        name: Where it stands.
        cache_name: What a cache is called; by default where it stands.

    Raises:
        TypeError: a cache of another kind than DynamicCache.
    """
    import torch
    if isinstance(value, torch.Tensor):
        return Flat([name], [value], [], lambda tensors: tensors[0])
    if is_cache(value):
        return _flatten_cache(value, cache_name or name)
    if is_other_cache(value):
        raise TypeError(f"'{name}' is a {type(value).__name__}, which is not supported; give a DynamicCache, or none (use_cache=False)")
    if isinstance(value, Mapping):
        kind = type(value)
        keys = list(value)
        rebuild: Callable[[list[Any]], Any] = lambda values: (dict if kind is dict else _made_as(kind))(zip(keys, values))
        return _join([(str(key), value[key]) for key in keys], name, cache_name, rebuild)
    if isinstance(value, tuple) and (names := getattr(value, "_fields", None)) is not None:
        named = type(value)
        return _join(list(zip(names, value)), name, cache_name, lambda values: named(*values))
    if isinstance(value, (list, tuple)):
        sequence = type(value)
        return _join([(str(i), each) for i, each in enumerate(value)], name, cache_name, lambda values: sequence(values))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        kept = value
        fields = [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
        return _join(fields, name, cache_name,
                     lambda values: dataclasses.replace(kept, **dict(zip([key for key, _ in fields], values))))
    return Flat([], [], [] if value is None else [f"{name}: {type(value).__name__}"], lambda _: value)


def _made_as(kind: type[Any]) -> Callable[[Any], Any]:
    def make(pairs: Any) -> Any:
        try:
            return kind(pairs)
        except TypeError:
            return kind(**dict(pairs))
    return make


def _join(parts: list[tuple[str, Any]], name: str, cache_name: str, rebuild: Callable[[list[Any]], Any]) -> Flat:
    flats = [flatten(each, f"{name}.{key}" if name else key, cache_name=cache_name) for key, each in parts]
    counts = [len(flat.tensors) for flat in flats]

    def build(tensors: list[Any]) -> Any:
        values, at = [], 0
        for flat, count in zip(flats, counts):
            values.append(flat.build(tensors[at:at + count]))
            at += count
        return rebuild(values)
    return Flat([each for flat in flats for each in flat.names], [each for flat in flats for each in flat.tensors],
                [each for flat in flats for each in flat.others], build)


def _flatten_cache(cache: Any, name: str) -> Flat:
    kind = type(cache)
    pairs = [(layer.keys, layer.values) for layer in cache.layers if layer.keys is not None]
    if any(type(layer).__name__ != "DynamicLayer" for layer in cache.layers):
        kinds = sorted({type(layer).__name__ for layer in cache.layers} - {"DynamicLayer"})
        raise TypeError(f"'{name}' has layers of {', '.join(kinds)}, which are not supported; give a DynamicCache of DynamicLayer")
    names = [f"{name}.{i}.{part}" for i in range(len(pairs)) for part in ("key", "value")]

    def build(tensors: list[Any]) -> Any:
        return kind([(tensors[i], tensors[i + 1]) for i in range(0, len(tensors), 2)])
    return Flat(names, [each for pair in pairs for each in pair], [], build)


def arguments(given: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What `make_inputs` returned as positional and keyword arguments."""
    import torch
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], tuple) and isinstance(given[1], dict):
        return given
    if isinstance(given, Mapping):
        return (), dict(given)
    if isinstance(given, torch.Tensor) or not isinstance(given, (tuple, list)):
        return (given,), {}
    return tuple(given), {}
