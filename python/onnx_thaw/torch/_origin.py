"""Where in the module's code a node of a trace comes from."""
from __future__ import annotations

import ast
import re
from collections import deque
from pathlib import Path
from typing import Any

_FRAME = re.compile(r'File "([^"]+)", line (\d+), in ([^\n]+)(?:\n\s*([^\n]+))?')
_MOST_NODES = 64


class Origins:
    """The nodes of one trace, with the stack traces and scopes that the exporter wrote."""

    def __init__(self, path: Path) -> None:
        import onnx
        graph = onnx.load(str(path), load_external_data=False).graph
        self._named: dict[str, Any] = {}
        self._readers: dict[str, list[Any]] = {}
        self._makers: dict[str, Any] = {}
        for node in graph.node:
            self._named.setdefault(node.name, node)
            for each in node.input:
                self._readers.setdefault(each, []).append(node)
            for each in node.output:
                self._makers[each] = node

    def of(self, where: str) -> str:
        """The line of the module's code, and the scope, nearest to what a note names ("Add 'node' reads 'tensor'"); may be empty."""
        start = []
        for name in re.findall(r"'([^']+)'", where) or [where]:
            start += [self._named[name]] if name in self._named else self._readers.get(name, [])
            start += [self._makers[name]] if name in self._makers else []
        queue, seen, scope = deque(start), set[int](), ""
        while queue and len(seen) < _MOST_NODES:
            node = queue.popleft()
            if id(node) in seen:
                continue
            seen.add(id(node))
            facts = {each.key: each.value for each in node.metadata_props}
            scope = scope or _scope(facts, node.name)
            line = _line(facts.get("pkg.torch.onnx.stack_trace", ""))
            if line:
                return f"{line} ({scope})" if scope else line
            for each in node.output:
                queue.extend(self._readers.get(each, []))
            queue.extend(self._makers[each] for each in node.input if each in self._makers)
        return scope


def _line(stack: str) -> str:
    frames = [match for match in _FRAME.finditer(stack)
              if "/onnx_thaw/torch/" not in match[1] and "/torch/" not in match[1].rpartition("site-packages")[2]]
    if not frames:
        return ""
    last = frames[-1]
    code = f": {last[4].strip()}" if last[4] else ""
    return f"{last[1]}:{last[2]}, in {last[3]}{code}"


def _scope(facts: dict[str, str], name: str) -> str:
    """The submodule: "encoder.layer.0.attention"."""
    text = facts.get("pkg.torch.onnx.name_scopes", "")
    if text:
        try:
            scopes = [each for each in ast.literal_eval(text) if each]
        except (SyntaxError, ValueError):
            scopes = []
        path = scopes[-2] if len(scopes) > 1 else ""
    else:
        path = ".".join(name.strip("/").split("/")[:-1]) if name.startswith("/") else ""
    return path.removeprefix("module.") if path != "module" else ""
