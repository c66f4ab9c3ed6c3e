"""The module as a function of flat lists of tensors, as it was found: mode, random numbers and inputs are left alone."""
from __future__ import annotations

import contextlib
import inspect
import random
from collections.abc import Callable, Iterator
from typing import Any

from onnx_thaw._errors import InvalidArgument
from onnx_thaw.torch._nested import Flat, arguments, flatten
from onnx_thaw.torch._sizes import Point, text_of

PRESENT = "present"


@contextlib.contextmanager
def left_as_it_was(module: Any, seed: int) -> Iterator[None]:
    """Sets a module to eval, and seeds torch, NumPy and random; all is put back after."""
    import numpy as np
    import torch
    modes = [(each, each.training) for each in module.modules()] if isinstance(module, torch.nn.Module) else []
    drawn, drawn_numpy = random.getstate(), np.random.get_state()
    try:
        with torch.random.fork_rng():
            for each, _ in modes:
                each.training = False
            _seed(seed)
            yield
    finally:
        for each, mode in modes:
            each.training = mode
        random.setstate(drawn)
        np.random.set_state(drawn_numpy)


def _seed(seed: int) -> None:
    import numpy as np
    import torch
    torch.manual_seed(seed)
    np.random.seed(seed % 2**32)
    random.seed(seed)


class Case:
    """Inputs at one point, and what the module makes of them.

    Attributes:
        point: The sizes.
        inputs: The tensors, flat, with a function that makes the arguments of them.
        outputs: The module's, flat; set by `run`.
        seconds: How long the module ran.
        cost: Bytes that the module's operators wrote.
    """

    def __init__(self, point: Point, inputs: Flat) -> None:
        self.point, self.inputs = point, inputs
        self.outputs: Flat | None = None
        self.seconds, self.cost = 0.0, 0

    @property
    def elements(self) -> int:
        """Of all inputs."""
        return sum(each.numel() for each in self.inputs.tensors)

    @property
    def shapes(self) -> dict[str, list[int]]:
        """Of the inputs."""
        return {name: list(tensor.shape) for name, tensor in zip(self.inputs.names, self.inputs.tensors)}


class Subject:
    """The module or function with the maker of its inputs."""

    def __init__(self, module: Any, make_inputs: Callable[..., Any], seed: int) -> None:
        self.module, self.make_inputs, self.seed = module, make_inputs, seed
        self.positional = _positional_names(module)

    def case(self, point: Point, draw: int = 0) -> Case:
        """Inputs at a point; another `draw`: other numbers."""
        _seed(self.seed + draw)
        given = self.make_inputs(**point)
        positional, keywords = arguments(given)
        names = self.positional[:len(positional)]
        names += [f"input_{i}" for i in range(len(names), len(positional))]
        flats = flatten({**dict(zip(names, positional)), **keywords})
        count = len(positional)

        def build(tensors: list[Any]) -> Any:
            values = list(flats.build(tensors).items())
            return tuple(value for _, value in values[:count]), dict(values[count:])
        if not flats.tensors:
            raise InvalidArgument(f"make_inputs returns no tensor at {text_of(point)}; expected a dict, tuple or list with tensors")
        if len(set(flats.names)) != len(flats.names):
            raise InvalidArgument(f"make_inputs returns two tensors of one name at {text_of(point)}: {', '.join(flats.names)}")
        return Case(point, Flat(flats.names, flats.tensors, flats.others, build))

    def call(self, case: Case, tensors: list[Any]) -> Any:
        """The module's own result."""
        positional, keywords = case.inputs.build(tensors)
        return self.module(*positional, **keywords)

    def run(self, case: Case) -> None:
        """Runs the module on copies of the inputs."""
        import time

        import torch

        from onnx_thaw.torch._cost import Meter
        started = time.monotonic()
        with torch.no_grad(), Meter() as meter:
            case.outputs = outputs_of(self.call(case, [each.clone() for each in case.inputs.tensors]))
        case.seconds, case.cost = time.monotonic() - started, meter.bytes


def outputs_of(value: Any) -> Flat:
    """Outputs by name: those of a dict or a ModelOutput, else output, or output_0, output_1, …"""
    import torch
    if isinstance(value, torch.Tensor):
        return flatten(value, "output")
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        value = {f"output_{i}": each for i, each in enumerate(value)}
    return flatten(value, cache_name=PRESENT)


def _positional_names(module: Any) -> list[str]:
    """The names of a module's or function's positional parameters."""
    try:
        signature = inspect.signature(getattr(module, "forward", module))
    except (TypeError, ValueError):
        return []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [name for name, parameter in signature.parameters.items() if parameter.kind in kinds]


def wrapper(subject: Subject, case: Case) -> Any:
    """A module of flat tensors, as the exporters take it."""
    import torch

    base: Any = torch.nn.Module

    class Flattened(base):  # type: ignore[misc]
        """Calls the module with the arguments that the tensors make."""

        def __init__(self) -> None:
            super().__init__()
            if isinstance(subject.module, torch.nn.Module):
                self.module = subject.module

        def forward(self, *tensors: Any) -> Any:
            """Flat outputs of flat inputs."""
            made = outputs_of(subject.call(case, list(tensors))).tensors
            return made[0] if len(made) == 1 else tuple(made)

    made = Flattened()
    made.training = False
    return made
