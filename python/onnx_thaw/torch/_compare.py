"""The module's outputs beside the ONNX model's."""
from __future__ import annotations

from typing import Any

from onnx_thaw._arrays import as_numpy
from onnx_thaw.torch._nested import Flat
from onnx_thaw.torch._sizes import Point, text_of

# As in thaw verify: absolute and relative, by the coarser type.
_TOLERANCES = {"float64": (1e-4, 1e-3), "float32": (1e-4, 1e-3), "float16": (1e-2, 1e-2), "bfloat16": (1e-2, 1e-2)}
_COARSE = (0.1, 0.1)


class Comparison:
    """The model beside the module at one point.

    Attributes:
        sizes: The point.
        exported: Whether the model was made of a trace at this point.
        agrees: Whether all outputs agree.
        max_abs_diff: Largest absolute difference of all floating-point outputs that were compared.
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
    """Compares all outputs; what differs stands in `found`."""
    import numpy as np
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
        if wanted.dtype.kind not in "fV" and wanted.dtype.name not in ("bfloat16",) and not wanted.dtype.name.startswith("float"):
            if not np.array_equal(wanted, got):
                found.fail(f"{np.sum(wanted != got)} of {wanted.size} elements of '{name}' differ")
            continue
        atol, rtol = _TOLERANCES.get(wanted.dtype.name, _COARSE)
        a, b = got.astype(np.float64).ravel(), wanted.astype(np.float64).ravel()
        if not a.size:
            continue
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        finite = np.isfinite(a) & np.isfinite(b)
        with np.errstate(invalid="ignore"):
            difference = np.where(finite, np.abs(a - b), 0.0)
        outside = ~same & (~finite | (difference > atol + rtol * np.abs(np.where(finite, b, 0.0))))
        found.max_abs_diff = max(found.max_abs_diff, float(difference.max()))
        found.cosine = min(found.cosine, _cosine(a[finite], b[finite]))
        if outside.any():
            found.fail(f"{outside.sum()} of {a.size} elements of '{name}' differ by more than {atol:g} + {rtol:g} * |expected|; "
                       f"max abs diff {difference.max():.3g} (max |output| {np.abs(b[np.isfinite(b)]).max(initial=0):.3g})")
    return found


def _cosine(a: Any, b: Any) -> float:
    import numpy as np
    lengths = float(np.linalg.norm(a)), float(np.linalg.norm(b))
    if 0.0 in lengths:
        return 1.0 if lengths == (0.0, 0.0) else 0.0
    return min(1.0, float(a @ b) / (lengths[0] * lengths[1]))
