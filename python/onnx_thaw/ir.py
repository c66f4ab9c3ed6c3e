"""The verbs as passes of onnx_ir, for its `PassManager`.

    import onnx_ir
    import onnx_thaw as thaw

    passes = onnx_ir.passes.PassManager([thaw.ir.Fix(), thaw.ir.Optimize(target="ort"), thaw.ir.Convert(to="int4")])
    result = passes(onnx_ir.load("decoder.onnx"))

A pass takes the options of the function of its name. It returns another model, and leaves the one that it was given. External data
stays in its files, and is not read by passing a model on. A result that is not accepted raises `onnx_thaw.Refused`, which a `PassManager`
raises as the cause of its `PassError`.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Concatenate, ParamSpec

import onnx_ir
import onnx_ir.passes

from onnx_thaw import _precision, _writing
from onnx_thaw._errors import Refused
from onnx_thaw._models import ModelLike, load
from onnx_thaw._options import PathLike

__all__ = ["Annotate", "Batch", "Convert", "Fix", "Optimize", "Pin"]

P = ParamSpec("P")


def _options_of(verb: Callable[Concatenate[ModelLike, PathLike | None, P], Any]) -> Callable[
        [Callable[..., None]], Callable[Concatenate[Any, P], None]]:
    """Gives a constructor the keyword options of a verb."""
    def decorate(constructor: Callable[..., None]) -> Callable[Concatenate[Any, P], None]:
        def construct(self: Any, /, *args: P.args, **options: P.kwargs) -> None:
            constructor(self, *args, **options)
        construct.__signature__ = _signature(verb)  # type: ignore[attr-defined]
        return construct
    return decorate


def _signature(verb: Callable[..., Any]) -> Any:
    """That of the verb, with `self` for the model and without the path."""
    import inspect
    given = inspect.signature(verb)
    model, _, *options = given.parameters.values()
    return given.replace(parameters=[model.replace(name="self", annotation=inspect.Parameter.empty), *options],
                         return_annotation=None)


class _Verb(onnx_ir.passes.FunctionalPass):
    """A verb that makes a model of a model."""

    verb: ClassVar[Callable[..., Any]]

    def _set(self, options: dict[str, Any]) -> None:
        _signature(type(self).verb).bind(self, **options)  # what the verb does not take is an error here, not in a run
        self._options = options

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._options.items())})"

    def call(self, model: onnx_ir.Model) -> onnx_ir.passes.PassResult:
        given = load(model)
        result = type(self).verb(given, **self._options)
        if not result.accepted:
            raise Refused(result)
        modified = result.modified if hasattr(result, "modified") else result.model.serialize() != given.serialize()
        return onnx_ir.passes.PassResult(result.model.to_ir(), modified)


class Annotate(_Verb):
    """`onnx_thaw.annotate` as a pass."""

    verb = staticmethod(_writing.annotate)

    @_options_of(_writing.annotate)
    def __init__(self, **options: Any) -> None:
        self._set(options)


class Batch(_Verb):
    """`onnx_thaw.batch` as a pass."""

    verb = staticmethod(_writing.batch)

    @_options_of(_writing.batch)
    def __init__(self, **options: Any) -> None:
        self._set(options)


class Convert(_Verb):
    """`onnx_thaw.convert` as a pass."""

    verb = staticmethod(_precision.convert)

    @_options_of(_precision.convert)
    def __init__(self, **options: Any) -> None:
        self._set(options)


class Fix(_Verb):
    """`onnx_thaw.fix` as a pass."""

    verb = staticmethod(_writing.fix)

    @_options_of(_writing.fix)
    def __init__(self, **options: Any) -> None:
        self._set(options)


class Optimize(_Verb):
    """`onnx_thaw.optimize` as a pass."""

    verb = staticmethod(_writing.optimize)

    @_options_of(_writing.optimize)
    def __init__(self, **options: Any) -> None:
        self._set(options)


class Pin(_Verb):
    """`onnx_thaw.pin` as a pass."""

    verb = staticmethod(_writing.pin)

    @_options_of(_writing.pin)
    def __init__(self, **options: Any) -> None:
        self._set(options)
