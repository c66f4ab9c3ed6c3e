#!/usr/bin/env python3
"""Finds what may differ from run to run: the order of addresses, clocks, the locale, random devices.

    tools/lint_deterministic.py [ROOT]

1. A loop over a set of pointers or a map by pointers (or by pairs that have one), which is ordered by addresses or their hashes:
   use core/listed_set.h. Where the order gets out nowhere, a comment on the line or the one before says why: "// any order: …".
2. Pointers that are sorted by nothing else.
3. <cctype> and locales (core/ascii.h is there), clocks but where time is measured, random devices, addresses as text.

A loop is over a variable, which is declared in the file or in the header of its name. Fields of other structs and what functions
return are not followed, so that what is said is true. Tests are not looked at.
"""

import re
import sys
from pathlib import Path

IS_TEST = re.compile(r"_(test|testing)\.(h|cc)$")
# Where time is measured, limited or waited for.
CLOCKS = re.compile(r"(core|cli|generate)/|run/(channel|python|verifier|worker)\b|run/worker_|verbs/run\.cc$")
FORBIDDEN = {
    r"\bstd::(?:is(?:alnum|alpha|digit|lower|print|punct|space|upper|xdigit)|to(?:lower|upper))\b|<cctype>|<ctype\.h>":
        "letters go by the locale: take those of core/ascii.h",
    r"\bsetlocale\b|\bstd::locale\b|<locale>": "a locale decides what is written",
    r"\bsystem_clock\b|\brandom_device\b|(?<![\w:.>])s?rand\(|(?<![\w:.>])time\((?:nullptr|NULL|0)\)": "it differs each time",
    r"\bfmt::ptr\b|%p\b": "an address differs each time",
}
COMMENT = re.compile(r"//[^\n]*")
TEMPLATE = re.compile(r"\bstd::((?:unordered_)?(?:multi)?(?:set|map)|vector|span)<")
ALIAS = re.compile(r"\busing (\w+) =\s*(?:const )?$")
VARIABLE = re.compile(r"\s*[&*]*\s*(?:const )?(\w+)\s*(?:[;={,):]|\((?![^()]*\) (?:const )?[{]))")
LOOP = re.compile(r"\bfor \((?:const )?\w[^;\n]*? : (\w+)\)")
SORT = re.compile(r"\bstd::(?:ranges::)?(?:stable_)?sort\((\w+)(?:\.begin\(\), \1\.end\(\))?\)")
EXCUSE = re.compile(r"//.*\bany order: ")


def arguments(text, begin):
    """A template's arguments, the first of which begins there, and where the template ends."""
    found, depth = [], 0
    for i in range(begin, len(text)):
        if text[i] in "<(":
            depth += 1
        elif text[i] in ">)":
            depth -= 1
        if depth < 0 or (text[i] == "," and depth == 0):
            found.append(text[begin:i].strip())
            begin = i + 1
        if depth < 0:
            return found, i + 1
    return [""], len(text)


def has_pointer(key):
    several = re.match(r"std::(?:pair|tuple)<", key)
    return any(part.endswith("*") for part in (arguments(key, several.end())[0] if several else [key]))


def declared(text):
    """Variables that are in the order of addresses, and those that are lists of pointers."""
    unordered, lists = set(), set()
    for match in TEMPLATE.finditer(text):
        (key, *more), end = arguments(text, match.end())
        if not has_pointer(key):
            continue
        kind = match[1]
        if more[("map" in kind):] and not kind.startswith("unordered"):
            continue  # by an order of its own
        alias = ALIAS.search(text, max(0, match.start() - 60), match.start())
        type_ends = [m.end() for m in re.finditer(rf"\b{alias[1]}\b", text)] if alias else [end]
        for at in type_ends:
            if variable := VARIABLE.match(text, at):
                (lists if kind in ("vector", "span") else unordered).add(variable[1])
    return unordered, lists


def faults(path, inside):
    text = path.read_text()
    code, header = COMMENT.sub("", text), path.with_suffix(".h")
    around = COMMENT.sub("", header.read_text()) if path.suffix == ".cc" and header.exists() else ""
    unordered, lists = declared(around + code)
    lines = text.split("\n")
    for i, line in enumerate(code.split("\n")):
        yield from ((i, why) for what, why in FORBIDDEN.items() if re.search(what, line))
        if "steady_clock" in line and not CLOCKS.match(inside):
            yield i, "time decides what is done: let work decide"
        if (sort := SORT.search(line)) and sort[1] in lists:
            yield i, f"'{sort[1]}' is sorted by addresses"
        if (loop := LOOP.search(line)) and loop[1] in unordered and not any(map(EXCUSE.search, lines[max(0, i - 1):i + 1])):
            yield i, f"'{loop[1]}' is in the order of addresses: list its items (core/listed_set.h), or say '// any order: …'"


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    sources, found = root / "src" / "thaw", []
    for path in sorted([*sources.rglob("*.h"), *sources.rglob("*.cc")]):
        if not IS_TEST.search(path.name):
            found += (f"{path.relative_to(root)}:{i + 1}: {what}" for i, what in faults(path, path.relative_to(sources).as_posix()))
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
