"""The module's outputs beside the ONNX model's."""
from __future__ import annotations

from typing import Any

from onnx_thaw import _thaw
from onnx_thaw._arrays import as_numpy
from onnx_thaw.torch._nested import Flat
from onnx_thaw.torch._sizes import Point, text_of


class Comparison:
    """The model beside the module at one point.

    Attributes:
        sizes: The point.
        exported: Whether the model was made of a trace at this point.
        agrees: Whether all outputs agree.
        max_abs_diff: Largest absolute difference of all outputs that were compared.
        cosine: The least cosine of an output with that of the module, as vectors.
        reason: Why it does not agree.
    """

    def __init__(self, sizes: Point, *, exported: bool = False) -> None:
        self.sizes, self.exported = dict(sizes), exported
        self.agrees, self.max_abs_diff, self.cosine, self.reason = True, 0.0, 1.0, ""
        self._runs = True

    def fail(self, reason: str, *, runs: bool = True) -> Comparison:
        """Marks it as one that does not agree."""
        self._runs = runs
        self.agrees, self.reason = False, self.reason or reason
        return self

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"sizes": self.sizes, "exported": self.exported, "agrees": self.agrees,
                "max_abs_diff": self.max_abs_diff, "cosine": self.cosine, "reason": self.reason}

    def __str__(self) -> str:
        if self.agrees:
            return f"agrees with the module at {text_of(self.sizes)}: max abs diff {self.max_abs_diff:.3g}, cosine {self.cosine:.6f}"
        return f"{'differs from the module' if self._runs else 'does not run'} at {text_of(self.sizes)}: {self.reason}"

    def __repr__(self) -> str:
        return f"Comparison({self})"


def compare(found: Comparison, expected: Flat, actual: dict[str, Any]) -> Comparison:
    """Compares all outputs as `thaw verify` does; what differs stands in `found`."""
    more = sorted(set(actual) - set(expected.names))
    if more:
        found.fail(f"the module does not return {', '.join(more)}")
    for name, tensor in zip(expected.names, expected.tensors):
        if name not in actual:
            return found.fail(f"'{name}' is not among the outputs: {', '.join(actual)}")
        wanted, got = as_numpy(tensor), actual[name]
        if wanted.shape != got.shape:
            return found.fail(f"'{name}' is {list(got.shape)}, and {list(wanted.shape)} by the module")
        if wanted.dtype != got.dtype:
            return found.fail(f"'{name}' is {got.dtype}, and {wanted.dtype} by the module")
        one = _thaw.compare(got, wanted, _thaw.Tolerance())
        found.max_abs_diff = max(found.max_abs_diff, one.max_abs_diff)
        found.cosine = min(found.cosine, one.cosine)
        if not one.agrees:
            found.fail(f"of '{name}' {one.reason}; max abs diff {one.max_abs_diff:.3g}")
    return found
