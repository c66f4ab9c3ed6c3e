#!/usr/bin/env python3
"""Holds the sources against the house as docs/design.md describes it.

    tools/lint_modules.py [ROOT]

1. The order of modules. The table of docs/design.md lists them; a module includes headers of those above it and of its own,
   so there are no cycles. A folder without a row belongs to the row of the folder around it. Tests may use every module.
   The headers of include/thaw, where there are any, may be used by all and use each other only. The command is a client of the library:
   it uses ONLY what is listed. Who checks shares no code with who writes: see NEVER.
2. Names of operators. What is known of an operator stands in ops/; elsewhere a name is compared only where the code is
   about that very operator, at most MOST_PLACES times. Not counted: ops/ itself, model/, which writes models, how
   rewrites read arithmetic, and names of nodes that are written or that patterns name.
3. Names of types. No two headers define one in the same namespace: a program that has both has one of them in the place of the other.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

MOST_PLACES = 30
# Arrows that still point up the table: none is added, and one that is gone leaves this list.
KNOWN_ARROWS: set[tuple[str, str]] = set()
# Modules that use these others alone, and modules that use none of these.
ONLY = {"cli": ("verbs", "report", "core")}
NEVER = {"confirm": ("fix", "lift", "optimize", "rewrite"), "prove": ("fix", "lift", "optimize", "rewrite", "sensitivity")}
# What the build writes; NAME.inc is the file NAME as a literal, where there is one.
GENERATED = {"version.h", "check/rules.inc", "ir/graph/schema_table.inc", "report/pages/chart.js.inc"}

IS_TEST = re.compile(r"_(test|testing)\.(h|cc)$")
INCLUDE = re.compile(r'^#include "thaw/([^"]+)"', re.M)
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{", re.M)
TYPE = re.compile(r"^(?:struct|class|enum class|union) (\w+)(?: final)?(?: : [^;{]*)? ?\{", re.M)
ROW = re.compile(r"^\| `([\w/]+)/` \|", re.M)
# What may hold a name of an operator that is not compared.
WRITES = {"emit", "write", "add_node", "insert_node", "reduce", "op", "maybe"}
TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>\w*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"'
    r"|\d[\w'.]*|'(?:\\.|[^'\\\n])*'|[(){}\[\]]|[A-Za-z_]\w*|\S",
    re.S,
)
OPERATOR = re.compile(r'"([A-Z][A-Za-z0-9]+)"')
# Modules and files that are about operators as such.
NOT_COUNTED = ("ops/", "model/", "optimize/", "prove/", "rewrite/match.cc", "rewrite/algebra.cc", "lift/table/formula/emit_formula.cc")


def table(root: Path) -> list[str]:
    """The modules, those that others stand on first."""
    page = (root / "docs" / "design.md").read_text()
    return ROW.findall(page.partition("\n## Modules\n")[2].partition("\n## ")[0])


def module_of(path: str, modules: list[str]) -> str | None:
    """The module of a file below src/thaw; None where the table has none."""
    folders = path.split("/")[:-1]
    names = ("/".join(folders[:count]) for count in range(len(folders), 0, -1))
    return next((name for name in names if name in modules), None)


def sources(root: Path) -> list[str]:
    """Paths below src/thaw of what is not a test."""
    home = root / "src" / "thaw"
    paths = (path for path in home.rglob("*") if path.suffix in (".h", ".cc") and not IS_TEST.search(path.name))
    return sorted(str(path.relative_to(home)) for path in paths)


def check_modules(root: Path) -> list[str]:
    modules = table(root)
    home, public = root / "src" / "thaw", root / "include" / "thaw"
    if not modules:
        return ["docs/design.md: no table of modules under '## Modules'"]
    wrong = [f"docs/design.md: {module}/ stands twice in the table" for module in sorted(set(modules)) if modules.count(module) > 1]
    files = sources(root)
    held = {module_of(path, modules) for path in files}
    wrong += [f"docs/design.md: there is no module {module}/" for module in modules if module not in held]
    homeless = {str(Path(path).parent) for path in files if module_of(path, modules) is None}
    wrong += [f"docs/design.md: the table has no row for src/thaw/{folder}/" for folder in sorted(homeless)]
    arrows = set()
    for path in files:
        module = module_of(path, modules)
        if module is None:
            continue
        for header in INCLUDE.findall((home / path).read_text()):
            embedded = header.endswith(".inc") and (home / header.removesuffix(".inc")).exists()
            if header in GENERATED or embedded or (public / header).exists():
                continue
            if not (home / header).exists():
                wrong.append(f"src/thaw/{path}: there is no thaw/{header}")
                continue
            other = module_of(header, modules)
            first, last = module.split("/")[0], (other or "").split("/")[0]
            if first != last and (last not in ONLY.get(first, (last,)) or last in NEVER.get(first, ())):
                wrong.append(f"src/thaw/{path}: {first}/ does not use {last}/, but includes thaw/{header}")
            if other is None or modules.index(other) <= modules.index(module):
                continue
            arrows.add((module, other))
            if (module, other) not in KNOWN_ARROWS:
                wrong.append(f"src/thaw/{path}: {module}/ includes thaw/{header}, but {other}/ stands below it")
    for path in sorted(public.rglob("*.h")):
        for header in INCLUDE.findall(path.read_text()):
            if header.removeprefix("thaw/") not in GENERATED and not (public / header).exists():
                wrong.append(f"{path.relative_to(root)}: a public header includes thaw/{header}, which is none")
    here = set(modules)
    stale = [arrow for arrow in sorted(KNOWN_ARROWS - arrows) if here.issuperset(arrow)]
    wrong += [f"tools/lint_modules.py: no file of {a}/ includes {b}/ any more: take it off the list" for a, b in stale]
    return wrong


def check_types(root: Path) -> list[str]:
    home = root / "src" / "thaw"
    defined = defaultdict(set)
    for path in sources(root):
        text = (home / path).read_text() if path.endswith(".h") else ""
        space = NAMESPACE.search(text)
        for name in TYPE.findall(text):
            defined[space.group(1) if space else "", name].add(path)
    return [
        f"{' and '.join(f'src/thaw/{path}' for path in sorted(paths))}: each defines a {space}::{name}"
        for (space, name), paths in sorted(defined.items())
        if len(paths) > 1
    ]


def operators(root: Path) -> set[str]:
    """The names that the files of ops/ add to the registry."""
    names = set()
    for path in (root / "src" / "thaw" / "ops").rglob("*.cc"):
        if not IS_TEST.search(path.name):
            _, _, added = path.read_text().partition("Registry& r) {")
            names.update(OPERATOR.findall(added))
    return names


def compared(text: str, names: set[str]) -> list[int]:
    """Lines in which names of operators stand that are not about to be written."""
    lines = set()
    open_brackets = []  # each with the word before it
    word = ""
    for token in TOKEN.finditer(text):
        part = token.group()
        if part.startswith(("//", "/*")):
            continue
        if part in "({[":
            open_brackets.append((part, word))
        elif part in ")}]":
            del open_brackets[-1:]
        elif part.startswith('"') and part[1:-1] in names and not is_written(open_brackets):
            lines.add(text.count("\n", 0, token.start()) + 1)
        word = part
    return sorted(lines)


def is_written(open_brackets: list[tuple[str, str]]) -> bool:
    """Whether an operand of emit("Add", …), or one of the names in op_of({"Add", "Sub"}, …)."""
    match open_brackets:
        case [*_, ("(", word)]:
            return word in WRITES
        case [*_, ("(", "op_of"), ("{", "(")]:
            return True
    return False


def check_names(root: Path) -> list[str]:
    names = operators(root)
    places = defaultdict(list)
    for path in sources(root):
        if not path.startswith(NOT_COUNTED):
            text = (root / "src" / "thaw" / path).read_text()
            places[path] = [(line, text.splitlines()[line - 1].strip()) for line in compared(text, names)]
    count = sum(len(lines) for lines in places.values())
    if count <= MOST_PLACES:
        return []
    listed = [f"src/thaw/{path}:{line}: {text}" for path, lines in places.items() for line, text in lines]
    return [*listed, f"names of operators are compared in {count} places outside ops/, more than {MOST_PLACES}"]


def main() -> int:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    wrong = check_modules(root) + check_names(root) + check_types(root)
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
