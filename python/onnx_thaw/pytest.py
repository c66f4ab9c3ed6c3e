"""Assertions on models for tests, and a plugin of pytest that gives a run their defaults.

    from onnx_thaw.pytest import assert_same, assert_sizes

    def test_detector():
        assert_sizes("detector.onnx", "batch=1..8,height=64..1024:32")
        assert_same("detector.onnx", detector, sizes="batch=1..8,height=64..1024:32")  # a torch.nn.Module

A failure prints what the command `thaw` prints: the finding and its fix, or the outputs that differ, at which sizes and by how much.
"""
from __future__ import annotations

import inspect
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from onnx_thaw import _reading, _running
from onnx_thaw._errors import Error, InvalidArgument
from onnx_thaw._models import ModelLike, load
from onnx_thaw._options import Inputs, Sizes

if TYPE_CHECKING:
    import pytest

__all__ = ["assert_same", "assert_sizes"]

# A model, a path of an .npz file or of a folder of them, or what computes the outputs: a torch.nn.Module too.
Reference: TypeAlias = ModelLike | Callable[..., Any]

_configs: list[pytest.Config] = []  # of the runs of pytest that are going on, the innermost last


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options of a run."""
    group = parser.getgroup("thaw", "models in ONNX (onnx_thaw.pytest)")
    group.addoption("--thaw-target", metavar="TARGET", default="",
                    help="a name of thaw.targets(): what assert_sizes() checks against where the test names none")
    group.addoption("--thaw-sizes", metavar="SIZES", default="",
                    help="sizes such as batch=1..8 of assert_sizes() and assert_same() where the test names none")
    group.addoption("--thaw-ignore", metavar="CODE", action="append", default=[],
                    help="a rule whose findings assert_sizes() ignores where the test names none; may be given several times")


def pytest_configure(config: pytest.Config) -> None:
    """Begins a run."""
    _configs.append(config)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Ends a run."""
    if config in _configs:
        _configs.remove(config)


def _default(option: str) -> Any:
    return _configs[-1].getoption(option, "") if _configs else ""


def assert_sizes(model: ModelLike, sizes: Sizes = "", *, dims: Sizes | None = None, target: str = "",
                 ignore: str | Iterable[str] = (), run: bool = False) -> None:
    """Asserts that a model has no errors and warnings, and that no size of the ranges makes one of its nodes fail.

    Args:
        model: The model.
        sizes: Ranges that the model is proven over: "batch=1..8,height=64..1024:32"; by default those of `--thaw-sizes`.
        dims: Another name of `sizes`.
        target: One of `targets()`; by default that of `--thaw-target`.
        ignore: Codes of rules that do not apply; by default those of `--thaw-ignore`.
        run: Run the model at the sizes that the proof finds to fail, and add the outcome to the finding.

    Raises:
        AssertionError: there are findings; the message has them with their fix.
        InvalidArgument: an unknown code, size or target.
    """
    __tracebackhide__ = True
    if dims is not None:
        if sizes:
            raise InvalidArgument("sizes= and dims= are one option; give one of them")
        sizes = dims
    report = _reading.check(model, sizes=sizes or _default("thaw_sizes"), target=target or _default("thaw_target"),
                          ignore=ignore or _default("thaw_ignore") or (), run=run)
    if not report.accepted:
        raise AssertionError(str(report).strip())


def assert_same(model: ModelLike, reference: Reference, *, sizes: Sizes = "", points: int = 0, inputs: Inputs | None = None,
                values: Mapping[str, Iterable[int]] | None = None, seed: int = 0, atol: float | None = None,
                rtol: float | None = None, cosine: float | None = None, outputs: Iterable[str] = (), cast: bool = False) -> None:
    """Asserts that a model computes what a reference computes, at several sizes.

    Args:
        model: The model.
        reference: A model; an .npz file of inputs and expected outputs, or a folder of such files; a `torch.nn.Module`, which is
            called in evaluation mode; or a function. A function is called with arrays by keyword where its parameters are named like
            the model's inputs, else in the order of the inputs. It returns the outputs in the model's order, or by name in a dict,
            which may have some of them.
        sizes: Sizes to run at: "batch=1..8,height=64|96"; by default those of `--thaw-sizes`, else three are chosen.
        points: How many to choose in wide ranges; 0: 6.
        inputs: Arrays by input name; the rest is drawn.
        values: Elements of small inputs.
        seed: Of what is drawn.
        atol: Outputs agree where |actual - expected| <= atol + rtol * |expected|; by default by type, as `verify` has it.
        rtol: Relative tolerance.
        cosine: The least cosine of the two as vectors.
        outputs: Outputs to compare; by default all that the reference has.
        cast: Compare outputs of another dtype as numbers.

    Raises:
        AssertionError: an output differs, or a side does not run; the message names sizes, output, max abs diff and the worst index.
        InvalidArgument: an unknown size; or what the function returned are not the outputs.
    """
    __tracebackhide__ = True
    is_stored = isinstance(reference, (str, os.PathLike)) and (Path(reference).suffix == ".npz" or Path(reference).is_dir())
    if not is_stored:
        sizes = sizes or _default("thaw_sizes")
    if callable(reference):
        with tempfile.TemporaryDirectory(prefix="onnx_thaw_") as folder:
            cases = Path(folder, "cases.npz")
            _store(cases, model, reference, sizes, points, inputs, values, seed)
            report = _running.verify(model, cases, atol=atol, rtol=rtol, cosine=cosine, outputs=outputs, cast=cast)
    else:
        report = _running.verify(model, reference, sizes=sizes, points=points, inputs=inputs, values=values, seed=seed, atol=atol,
                                 rtol=rtol, cosine=cosine, outputs=outputs, cast=cast)
    if not report.accepted:
        text = str(report).partition("\n")[2].strip("\n")  # the first line may name the file of cases, which is gone
        raise AssertionError(f"{_named(model)} against {_named(reference)}\n\n{text}")


def _named(side: Reference) -> str:
    if isinstance(side, (str, os.PathLike)):
        return os.fspath(side)
    if callable(side):
        return str(getattr(side, "__qualname__", type(side).__qualname__))
    return f"<{type(side).__name__}>"


def _store(file: Path, subject: ModelLike, reference: Callable[..., Any], sizes: Sizes, points: int, inputs: Inputs | None,
           values: Mapping[str, Iterable[int]] | None, seed: int) -> None:
    """Writes what a function returns for the inputs that are drawn at each size, as cases of an .npz file."""
    __tracebackhide__ = True
    import numpy as np
    model = load(subject)
    # The library chooses the sizes: they are those of the model against itself.
    chosen = _running.verify(subject, subject, sizes=sizes, points=points, inputs=inputs, values=values, seed=seed)
    if not chosen.points:
        raise AssertionError(str(chosen).partition("\n")[2].strip())
    arrays: dict[str, Any] = {}
    for point in chosen.points:
        text = ",".join(f"{name}={size}" for name, size in point.sizes)
        try:
            given = _running.run(subject, inputs, values=values, sizes=text, random=True, seed=seed).inputs
        except Error as error:
            raise AssertionError(f"{_named(subject)} does not run at {text or 'the given inputs'}: {error}") from None
        feeds = {port.name: given[port.name] for port in model.inputs if port.name in given}
        returned = _by_name(_call(reference, feeds), [port.name for port in model.outputs])
        case = text.replace("/", "|") or "case"  # CASE/NAME are the names of arrays
        arrays |= {f"{case}/{name}": _storable(array) for name, array in {**feeds, **returned}.items()}
    np.savez(file, **arrays)


def _call(reference: Callable[..., Any], feeds: dict[str, Any]) -> Any:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(reference, torch.nn.Module):
        return _call_module(torch, reference, feeds)
    return _called(reference, reference, feeds)


def _called(function: Callable[..., Any], signature_of: Callable[..., Any], feeds: dict[str, Any]) -> Any:
    """By keyword where all inputs are parameters, else in order."""
    try:
        parameters = inspect.signature(signature_of).parameters.values()
    except (TypeError, ValueError):  # a builtin
        return function(*feeds.values())
    by_keyword = {each.name for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)}
    takes_all = any(each.kind is each.VAR_KEYWORD for each in parameters)
    is_positional = any(each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD, each.VAR_POSITIONAL) for each in parameters)
    if by_keyword >= feeds.keys() or (takes_all and not is_positional):
        return function(**feeds)
    return function(*feeds.values())


def _call_module(torch: Any, module: Any, feeds: dict[str, Any]) -> Any:
    first = next(module.parameters(), None)
    tensors = {name: _tensor(torch, array) for name, array in feeds.items()}
    if first is not None:
        tensors = {name: tensor.to(first.device) for name, tensor in tensors.items()}
    modes = [(each, each.training) for each in module.modules()]
    module.eval()
    try:
        with torch.no_grad():
            return _called(module, module.forward, tensors)
    finally:
        for each, training in modes:
            each.training = training


def _tensor(torch: Any, array: Any) -> Any:
    if array.dtype.name == "bfloat16":  # PyTorch has it, NumPy has not
        return torch.from_numpy(array.view("uint16").copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())


def _by_name(returned: Any, names: list[str]) -> dict[str, Any]:
    """What a function returned, as arrays by output name."""
    from onnx_thaw._arrays import as_numpy
    if isinstance(returned, Mapping) and any(name in names for name in returned):
        unknown = [name for name in returned if name not in names]
        if unknown:
            raise InvalidArgument(f"the reference returned '{unknown[0]}'; expected outputs of the model: {', '.join(names)}")
        return {name: as_numpy(array) for name, array in returned.items()}
    flat = list(_flat(returned))
    if len(flat) != len(names):
        raise InvalidArgument(f"the reference returned {len(flat)} arrays where the model has {len(names)} outputs ({', '.join(names)}); "
                              "return them in this order, or some by name in a dict")
    return {name: as_numpy(array) for name, array in zip(names, flat, strict=True)}


def _flat(returned: Any) -> Iterator[Any]:
    if isinstance(returned, Mapping):
        returned = list(returned.values())
    if isinstance(returned, (tuple, list)):
        for each in returned:
            yield from _flat(each)
    elif returned is not None:
        yield returned


def _storable(array: Any) -> Any:
    """As `verify` reads it from a file: integers of fewer than 8 bits in bytes, texts of one width."""
    import numpy as np
    if array.dtype.kind == "O":
        return array.astype(np.str_)
    if array.dtype.name in ("int4", "int2"):
        return array.astype(np.int8)
    return array.astype(np.uint8) if array.dtype.name in ("uint4", "uint2") else array
