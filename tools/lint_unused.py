#!/usr/bin/env python3
"""Finds what the sources declare and nothing calls.

    tools/lint_unused.py [ROOT]

A function, type or constant that a header of src/thaw declares is looked for in the files that read this header, directly
or by way of others, those of programs in cmake/ among them; one that a .cc file declares for itself, in that file. What has the name only where it is declared and
defined is dead. Tests, benchmarks and fuzzers are no callers, except of what is there for tests.

Names are compared, not what they mean: a name that two things share, where one file sees both, may hide a dead one, but
what is called is never reported. Not looked for: members that hold data and enumerators, which may be used without their
names, and what the headers of include/thaw declare, which is for users of the library.
"""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

# Called by others, who know the names.
CALLED_BY = {
    "the system": {"main"},
    "the standard library": {"difference_type", "iterator_category", "pointer", "reference", "value_type"},
    "Highway": {"SupportedTargets", "GetChosenTarget"},
    "GoogleTest": {"PrintTo"},
}
CALLED_BY_OTHERS = set().union(*CALLED_BY.values())
# Headers that are there for tests as well: models are built in code by both.
FOR_TESTS_TOO = {"ir/graph/builder.h"}

IS_TEST = re.compile(r"_(test|testing)\.(h|cc)$")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include "thaw/([^"]+)"', re.M)
# Of a #define, what it stands for is read as code.
TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|^[ \t]*#[ \t]*(?:define[ \t]+\w+|(?!define)[^\n]*)"
    r'|R"(?P<mark>\w*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"'
    r"|\d[\w'.]*|'(?:\\.|[^'\\\n])*'|\[\[.*?\]\]|[A-Za-z_]\w*|::|->|&&|\S",
    re.S | re.M,
)
NO_CODE = ("//", "/*", "#", "[[")
WORD = re.compile(r"[A-Za-z_]\w*\Z")
KEYWORDS = set(
    "alignas auto bool case char class concept const consteval constexpr constinit default decltype delete double else enum"
    " explicit export extern false final float for friend if inline int long mutable namespace new noexcept nullptr operator"
    " override private protected public register requires return short signed sizeof static static_assert struct switch"
    " template this thread_local throw true typedef typename union unsigned using virtual void volatile while".split()
)
TYPES = {"class", "struct", "union", "enum"}
OPEN, CLOSE = set("([{"), set(")]}")


@dataclass
class Source:
    """What a file declares, each with its line, and what it uses."""

    declared: dict[str, int] = field(default_factory=dict)
    members: dict[str, int] = field(default_factory=dict)  # functions that are called on an object
    used: set[str] = field(default_factory=set)
    called: set[str] = field(default_factory=set)  # of these, those that are called or pointed at
    includes: list[str] = field(default_factory=list)


class Reader:
    """Tells declarations from uses, scope by scope: what stands in a body, in brackets or behind a = is a use."""

    def __init__(self, text: str):
        found = [(match.group(), match.start()) for match in TOKEN.finditer(text)]
        self.tokens = [(word, start) for word, start in found if not word.lstrip().startswith(NO_CODE)]
        self.text = text
        self.source = Source(includes=INCLUDE.findall(text))
        self.at = 0

    def read(self) -> Source:
        while self.at < len(self.tokens):
            self.scope("namespace", "")
            self.at += 1
        return self.source

    def word(self, ahead: int = 0) -> str:
        at = self.at + ahead
        return self.tokens[at][0] if 0 <= at < len(self.tokens) else ""

    def line(self, at: int) -> int:
        return self.text.count("\n", 0, self.tokens[at][1]) + 1

    def use(self) -> None:
        self.source.used.add(self.word())
        if self.word(1) in {"(", "<", "{"} or self.word(-1) in {"::", "&"}:
            self.source.called.add(self.word())

    def use_bracket(self) -> None:
        """All that stands in a bracket; then this is the one that closes it."""
        depth = 0
        while self.at < len(self.tokens):
            depth += (self.word() in OPEN) - (self.word() in CLOSE)
            if depth == 0:
                return
            if WORD.match(self.word()):
                self.use()
            self.at += 1

    def use_angles(self) -> None:
        """All that stands between a < and its >, at which this is then."""
        depth = 0
        while self.at < len(self.tokens):
            depth += (self.word() == "<") - (self.word() == ">")
            if depth == 0:
                return
            if self.word() in OPEN:
                self.use_bracket()
            elif WORD.match(self.word()):
                self.use()
            self.at += 1

    def scope(self, kind: str, name: str) -> None:
        """Statements, up to the bracket that closes the scope."""
        while self.at < len(self.tokens) and self.word() != "}":
            if kind == "enum":
                self.enumerator()
            else:
                self.statement(kind, name)

    def enumerator(self) -> None:
        while self.at < len(self.tokens) and self.word() not in {",", "}"}:
            if self.word() == "(":
                self.use_bracket()
            elif WORD.match(self.word()) and self.word(-1) not in {",", "{"}:
                self.use()
            self.at += 1
        self.at += self.word() == ","

    def statement(self, kind: str, enclosing: str) -> None:
        """A declaration or a definition, in a namespace or a class: `kind`, `enclosing`."""
        words: list[str] = []  # those outside of brackets; a bracket is the one that closes it
        declared: list[tuple[str, int]] = []
        opens = ""  # what the next { is: of a namespace, a class, an enum
        is_function = is_value = False
        while self.at < len(self.tokens) and self.word() != "}":
            word, before = self.word(), words[-1] if words else ""
            if word == ";":
                self.at += 1
                break
            if word == "{" and opens:
                self.at += 1
                self.scope(opens, declared[-1][0] if declared else "")
                if opens == "namespace":
                    self.at += 1
                    break
                opens = ""
            elif word == "{":
                self.use_bracket()
                if is_function and self.word(1) not in {",", "{"}:  # as members have that are made before the body
                    self.at += 1
                    break
            elif word in OPEN:
                self.use_bracket()
                words.append(")")
            elif word == "<" and not is_value:
                self.use_angles()
                words.append(">")
            elif word == "operator":
                is_function = True
                while self.word(1) != "(" or (self.word(2) == ")" and self.word(3) == "("):  # operator()(
                    self.at += 1
                words.append(word)
            elif word == "=":
                is_value = True
            elif word == ":" and before in {"public", "private", "protected"}:
                words.clear()
            elif word in KEYWORDS or not WORD.match(word):
                if word == "namespace" or (word in TYPES and not opens and before != "friend"):
                    opens = word if word in {"namespace", "enum"} else "class"
                is_value = is_value and (word != "," or is_function)
                words.append(word)
            elif opens and before in TYPES | {"namespace"}:
                # An enum that is not scoped may have a name for its own sake; one that is declared ahead is elsewhere.
                if opens == "class" or (opens == "enum" and "class" in words):
                    declared.append((word, self.at))
                if self.word(1) == ";":
                    declared.clear()
                words.append(word)
            elif is_value or opens or before == "~" or not self.declares(words, is_function):
                if before != "~" and not (before != "::" and self.word(1) == "::" and self.defines_member()):
                    self.use()
                words.append(word)
            else:
                is_function = is_function or self.word(1) == "("
                is_data = kind == "class" and not is_function and not {"static", "using"} & set(words)
                if before != "::" and word != enclosing and not is_data:
                    declared.append((word, self.at))
                words.append(word)
            self.at += 1
        if "friend" in words or "override" in words:
            return
        is_called_on_one = kind == "class" and is_function and "static" not in words
        for name, at in declared:
            (self.source.members if is_called_on_one else self.source.declared).setdefault(name, self.line(at))

    def declares(self, words: list[str], is_function: bool) -> bool:
        """Whether this word is the name that a declaration is about."""
        before, after = words[-1] if words else "", self.word(1)
        if is_function or self.word().isupper():  # or a macro
            return False
        has_type = WORD.match(before) is not None or before in {">", "*", "&", "&&", ",", "::"}
        if after == "(" and self.word(2) in {"*", "&"}:  # the type of what a pointer to a function gives
            return False
        return after == "(" or (has_type and after in {";", "=", "{", ",", "["})

    def defines_member(self) -> bool:
        """Whether this is the first name in A::B::f(, which uses no A."""
        ahead = 0
        while WORD.match(self.word(ahead)) and self.word(ahead + 1) == "::":
            ahead += 2
        return self.word(ahead) in {"~", "operator"} or self.word(ahead + 1) == "("


def sources(root: Path) -> dict[str, Source]:
    home = root / "src" / "thaw"
    paths = (path for path in sorted(home.rglob("*")) if path.suffix in (".h", ".cc"))
    return {str(path.relative_to(home)): Reader(path.read_text()).read() for path in paths}


def programs(root: Path) -> dict[str, Source]:
    """Sources that only programs are made of: they call what the modules declare."""
    return {f"cmake/{path.name}": Reader(path.read_text()).read() for path in sorted((root / "cmake").glob("*.cc"))}


def public_names(root: Path) -> set[str]:
    read = [Reader(path.read_text()).read() for path in (root / "include" / "thaw").rglob("*.h")]
    return set().union(*(source.declared for source in read))


def readers(files: dict[str, Source]) -> dict[str, set[str]]:
    """For each file, those that read it, itself among them."""
    read_by: dict[str, set[str]] = {path: set() for path in files}
    for path, source in files.items():
        todo, seen = list(source.includes), {path}
        while todo:
            header = todo.pop()
            if header in files and header not in seen:
                seen.add(header)
                todo.extend(files[header].includes)
        for header in seen:
            read_by[header].add(path)
    return read_by


def unused(root: Path) -> list[str]:
    files = sources(root)
    callers_too = files | programs(root)
    read_by = readers(callers_too)
    in_headers = public_names(root).union(*(source.declared for path, source in files.items() if path.endswith(".h")))
    wrong = []
    for path, source in files.items():
        if path.endswith("_test.cc"):
            continue
        callers = read_by[path]
        if not IS_TEST.search(path) and path not in FOR_TESTS_TOO:
            callers = {caller for caller in callers if not caller.endswith("_test.cc")}
        used = CALLED_BY_OTHERS.union(*(callers_too[caller].used for caller in callers))
        called = CALLED_BY_OTHERS.union(*(callers_too[caller].called for caller in callers))
        if path.endswith(".cc"):
            used |= in_headers  # looked for where it is declared
        dead = {name: line for name, line in source.declared.items() if name not in used}
        dead |= {name: line for name, line in source.members.items() if name not in called}
        by_line = sorted(dead.items(), key=lambda item: item[1])
        wrong += [f"src/thaw/{path}:{line}: nothing calls '{name}'" for name, line in by_line]
    return wrong


def main() -> int:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    wrong = unused(root)
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
