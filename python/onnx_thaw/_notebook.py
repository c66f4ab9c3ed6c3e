"""How results are shown."""
from __future__ import annotations

import html
from typing import Any


def frame(page: str) -> str:
    """A page as a frame: its style and its scripts stay inside."""
    return f'<iframe srcdoc="{html.escape(page)}" style="width: 100%; height: 32rem; border: 0" sandbox="allow-scripts"></iframe>'


def text_of(item: Any) -> str:
    """The fields of a struct that say something, on a line; long lists by their length."""
    shown = []
    for name in type(item)._fields:
        value = getattr(item, name)
        if value is None or value == "" or (isinstance(value, (list, dict)) and not value):
            continue
        text = f"<{len(value)}>" if isinstance(value, (list, dict)) and len(value) > 3 else repr(value)
        shown.append(f"{name}={text}")
    return f"{type(item).__name__}({', '.join(shown)})"


def text_of_model(model: Any) -> str:
    """Inputs and outputs of a model with their dims, on a line."""
    def ports(given: Any) -> str:
        return ", ".join(f"{port.name}: {port.dtype.name.lower()}[{', '.join(port.dims or ['…'])}]" for port in given)
    return f"Model({ports(model.inputs)} -> {ports(model.outputs)})"
