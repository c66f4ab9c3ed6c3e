"""Axes that vary, in the words of torch.export, as ranges of sizes and a maker of inputs."""
from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from onnx_thaw._errors import InvalidArgument
from onnx_thaw.torch._module import _positional_names
from onnx_thaw.torch._nested import arguments, flatten

_BEYOND = 4       # an end that is not stated: this many times the example's size
_LARGEST = 1 << 30

# Of one axis: the size that it is made of, and the axis as a function of it.
_Axis = tuple[str, Callable[[int], int]]


def resized(module: Any, example: Any, dynamic_shapes: Any) -> tuple[Callable[..., Any], str]:
    """Makes inputs of an example at other sizes.

    Args:
        module: The module, whose parameters name what `dynamic_shapes` speaks of by position.
        example: Arguments at one size.
        dynamic_shapes: As torch.export.export takes them: by name, or by position; for a tensor a dict or a list of Dim, of multiples of
            one, or of Dim.AUTO, Dim.DYNAMIC and Dim.STATIC.

    Returns:
        A maker of arguments, and ranges of sizes.
    """
    positional, keywords = arguments(example)
    names = _positional_names(module)[:len(positional)]
    names += [f"input_{i}" for i in range(len(names), len(positional))]
    named = {**dict(zip(names, positional)), **keywords}
    if not isinstance(dynamic_shapes, Mapping):
        dynamic_shapes = dict(zip(named, dynamic_shapes))
    flat = flatten(named)
    specs = _specs(named, dynamic_shapes, "")
    unknown = sorted(specs.keys() - set(flat.names))
    if unknown:
        raise InvalidArgument(f"dynamic_shapes has {', '.join(unknown)}, of which the example has no tensor; it has {', '.join(flat.names)}")
    ranges: dict[str, tuple[int, int]] = {}
    axes: dict[str, dict[int, _Axis]] = {}
    hints: dict[int, str] = {}  # axes of Dim.AUTO that are as long as each other are one size
    for name, tensor in zip(flat.names, flat.tensors):
        for axis, dim in _by_axis(name, specs.get(name), tensor.ndim).items():
            made = _axis(dim, name, axis, int(tensor.shape[axis]), ranges, hints)
            if made is not None:
                axes.setdefault(name, {})[axis] = made
    if not ranges:
        raise InvalidArgument("dynamic_shapes has no axis that varies; give such as {\"x\": {0: Dim(\"batch\", min=1, max=8)}}")

    def make(**sizes: int) -> Any:
        tensors = []
        for name, tensor in zip(flat.names, flat.tensors):
            shape = [axes.get(name, {})[axis][1](sizes[axes[name][axis][0]]) if axis in axes.get(name, {}) else int(size)
                     for axis, size in enumerate(tensor.shape)]
            tensors.append(_drawn(tensor, shape))
        values = list(flat.build(tensors).values())
        return tuple(values[:len(positional)]), dict(zip(keywords, values[len(positional):]))
    return make, ",".join(f"{name}={first}..{last}" for name, (first, last) in ranges.items())


def _drawn(tensor: Any, shape: list[int]) -> Any:
    """Elements of the example, in another shape; they are drawn, so that no two rows are alike."""
    import torch
    if list(tensor.shape) == shape:
        return tensor.clone()
    if tensor.numel() == 0:
        return torch.zeros(shape, dtype=tensor.dtype)
    return tensor.reshape(-1)[torch.randint(0, tensor.numel(), shape)]


def _specs(value: Any, spec: Any, name: str) -> dict[str, Any]:
    """What is said of each tensor, by its name."""
    import torch
    if spec is None:
        return {}
    if isinstance(value, torch.Tensor):
        return {name: spec}
    joined = (lambda key: f"{name}.{key}") if name else str
    found: dict[str, Any] = {}
    if isinstance(spec, Mapping):
        for key, each in spec.items():
            inner = value.get(key) if isinstance(value, Mapping) else None
            if inner is None:
                if each is not None:
                    found[joined(key)] = each
            else:
                found.update(_specs(inner, each, joined(key)))
    elif isinstance(spec, (list, tuple)) and isinstance(value, (list, tuple)):
        for i, each in enumerate(spec):
            found.update(_specs(value[i] if i < len(value) else None, each, joined(i)))
    elif value is not None:
        raise InvalidArgument(f"dynamic_shapes: '{name}' is a {type(spec).__name__} beside a {type(value).__name__}; "
                              "expected the structure of the example")
    return found


def _by_axis(name: str, spec: Any, rank: int) -> dict[int, Any]:
    if spec is None:
        return {}
    if isinstance(spec, Mapping):
        return {axis % rank: dim for axis, dim in spec.items() if -rank <= axis < rank}
    if isinstance(spec, (list, tuple)) and len(spec) == rank:
        return dict(enumerate(spec))
    raise InvalidArgument(f"dynamic_shapes: what is said of '{name}' is no dict of axes and no list of {rank}")


def _axis(dim: Any, name: str, axis: int, at: int, ranges: dict[str, tuple[int, int]], hints: dict[int, str]) -> _Axis | None:
    if dim is None or isinstance(dim, int):
        return None
    root, function = getattr(dim, "root", dim), getattr(dim, "fn", None)
    hint = getattr(getattr(dim, "type", None), "name", "")
    if hint:
        if hint == "STATIC":
            return None
        size = hints.setdefault(at, re.sub(r"\W", "_", f"{name}_dim{axis}"))
        first, last = getattr(dim, "min", None), getattr(dim, "max", None)
        least, most = ranges.get(size, (0, _LARGEST))
        ranges[size] = (max(least, first if first is not None else min(2, at)), min(most, last if last is not None else _BEYOND * at))
        return size, lambda value: value
    if not hasattr(root, "min") or not hasattr(root, "max"):
        raise InvalidArgument(f"dynamic_shapes: axis {axis} of '{name}' is a {type(dim).__name__}; expected a torch.export.Dim, "
                              "a multiple of one, Dim.AUTO, or None")
    whole: Callable[[int], int] = function if function is not None else (lambda value: value)
    try:
        largest = int(root.max)
    except (TypeError, ValueError, OverflowError):
        largest = _LARGEST + 1
    if largest > _LARGEST:  # no end is stated
        slope = max(1, whole(2) - whole(1))
        largest = max(2, _BEYOND * at // slope)
    ranges[root.__name__] = (max(1, int(root.min)), largest)
    return root.__name__, whole
