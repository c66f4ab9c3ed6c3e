"""Arrays between NumPy and the library. NumPy is imported when the first array is met."""
from __future__ import annotations

import sys
from typing import Any

# Types that NumPy has no name for: ml_dtypes' classes, by the library's names.
_ML_DTYPES = {
    "bfloat16": "bfloat16",
    "float8e4m3fn": "float8_e4m3fn",
    "float8e4m3fnuz": "float8_e4m3fnuz",
    "float8e5m2": "float8_e5m2",
    "float8e5m2fnuz": "float8_e5m2fnuz",
    "float8e8m0": "float8_e8m0fnu",
    "float4e2m1": "float4_e2m1fn",
    "float6e2m3": "float6_e2m3fn",
    "float6e3m2": "float6_e3m2fn",
    "int4": "int4",
    "uint4": "uint4",
    "int2": "int2",
    "uint2": "uint2",
}
_NAMES = {theirs: ours for ours, theirs in _ML_DTYPES.items()}
_BITS = {"int4": 4, "uint4": 4, "float4e2m1": 4, "int2": 2, "uint2": 2, "float6e2m3": 6, "float6e3m2": 6}


def dtype_of(name: str) -> Any:
    """The NumPy dtype of an element type's name, such as "float32" or "bfloat16"."""
    import numpy as np
    if name in _ML_DTYPES:
        import ml_dtypes
        return np.dtype(getattr(ml_dtypes, _ML_DTYPES[name]))
    return np.dtype(name)


def from_bytes(raw: Any, name: str, dims: tuple[int, ...]) -> Any:
    """A view of packed bytes; elements of less than a byte are unpacked."""
    import numpy as np
    dtype = dtype_of(name)
    bits = _BITS.get(name)
    if bits is None:
        return raw.view(dtype).reshape(dims)
    count = int(np.prod(dims, dtype=np.int64))
    spread = np.unpackbits(raw, bitorder="little")[:count * bits].reshape(count, bits)
    numbers = np.packbits(spread, axis=1, bitorder="little").reshape(count)
    if name.startswith("int"):  # the sign, into the whole byte
        numbers = ((numbers.astype(np.int8) << (8 - bits)) >> (8 - bits)).view(np.uint8)
    return numbers.view(dtype).reshape(dims)


def from_strings(strings: list[str], dims: tuple[int, ...]) -> Any:
    """An array of objects."""
    import numpy as np
    array = np.empty(len(strings), dtype=object)
    array[:] = strings
    return array.reshape(dims)


def as_numpy(source: Any) -> Any:
    """What NumPy, PyTorch or DLPack has, as an array of NumPy."""
    import numpy as np
    if isinstance(source, np.ndarray):
        return source
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(source, torch.Tensor):
        source = source.detach().cpu()
        if source.dtype is torch.bfloat16:  # DLPack has it, NumPy has not
            return source.contiguous().view(torch.uint16).numpy().view(dtype_of("bfloat16"))
        return source.numpy()
    if hasattr(source, "__dlpack__"):
        return np.from_dlpack(source)
    return np.asarray(source)


def to_parts(source: Any) -> tuple[str, list[int], Any]:
    """The element type's name, the shape, and the packed bytes or the list of strings."""
    import numpy as np
    array = as_numpy(source)
    dims = list(array.shape)
    if array.dtype.kind in "OUST":
        strings = [each.decode() if isinstance(each, bytes) else str(each) for each in array.ravel().tolist()]
        return "string", dims, strings
    name = str(array.dtype.name)
    name = _NAMES.get(name, name)
    array = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False))
    raw = array.reshape(-1).view(np.uint8)
    bits = _BITS.get(name)
    if bits is not None:
        spread = np.unpackbits(raw.reshape(-1, 1), axis=1, bitorder="little")[:, :bits]
        raw = np.packbits(spread.reshape(-1), bitorder="little")
    return name, dims, raw
