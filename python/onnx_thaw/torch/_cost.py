"""What running a module takes, and what it would take at other sizes."""
from __future__ import annotations

import os
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

_Mode: Any = TorchDispatchMode


class Meter(_Mode):  # type: ignore[misc]
    """Counts the bytes that operators write, and the scores that fused attention would write in another runtime."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        import torch
        made = func(*args, **(kwargs or {}))
        for each in made if isinstance(made, (list, tuple)) else (made,):
            if isinstance(each, torch.Tensor):
                self.bytes += each.numel() * each.element_size()
        if "scaled_dot_product" in str(func) and len(args) > 1 and getattr(args[0], "ndim", 0) >= 2:
            self.bytes += 3 * (args[0].numel() // max(1, args[0].shape[-1])) * args[1].shape[-2] * args[0].element_size()
        return made


def free_bytes() -> int:
    """Memory that the machine has left."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    except (OSError, ValueError):
        return 4 << 30


def growth(cases: list[tuple[int, float]]) -> float:
    """The power of the inputs' elements that a cost grows with, 1 to 2, by its least and largest case; 2 where they are too near."""
    import math
    least, largest = min(cases), max(cases)
    if largest[0] < 1.5 * least[0] or least[1] <= 0:
        return 2.0
    return min(2.0, max(1.0, math.log(largest[1] / least[1]) / math.log(largest[0] / least[0]) + 0.15))
