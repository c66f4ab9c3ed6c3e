#!/usr/bin/env python3
"""Holds texts against the field's words, and sentences of the pages against a length.

    tools/lint_words.py [ROOT] [--thaw PROGRAM] [--scopes docs,help,messages,names]

1. Words. tools/words.txt has a rule a line: what is not said, what is said instead, and where the rule counts:
   docs      the pages: README.md and its like, docs/ with all folders in it; without what is code in them
   help      what `thaw VERB --help` prints, where --thaw names the program
   messages  what stands between quotes in src/thaw and include, tests apart
   names     identifiers of src/thaw and include, read word by word (kLongName, long_name), tests and src/thaw/lift apart
   names@src/thaw/dim counts below that folder alone. The line "on:" of that file says which scopes count where --scopes does not.
2. Sentences of the pages have MOST_WORDS words at most. Not counted: code, tables, headings and where links lead.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MOST_WORDS = 40
SCOPES = ("docs", "help", "messages", "names")
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
ABBREVIATIONS = ("e.g.", "i.e.", "cf.", "vs.", "et al.", "etc.", "no.", "v.")

IS_TEST = re.compile(r"_(test|testing)\.(h|cc)$")
FENCE = re.compile(r"^\s*(```|~~~)")
LIST_ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
CODE = re.compile(r"`[^`]*`")
END = re.compile(r"(?<=[.!?])[)\"'*_”]*\s+")
TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|^[ \t]*#[ \t]*include[^\n]*|R"(?P<mark>\w*)\((?P<raw>.*?)\)(?P=mark)"'
    r'|"(?P<text>(?:\\.|[^"\\\n])*)"|\'(?:\\.|[^\'\\\n])*\'|(?P<name>[A-Za-z_]\w*)|\S',
    re.S | re.M,
)
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass
class Rule:
    """What is not said (a regular expression of whole words), what is said instead, and where."""

    old: re.Pattern
    say: str
    scopes: dict[str, str]  # each with what the path begins with
    fine: list[re.Pattern]  # phrases in which the word means something else


@dataclass
class Place:
    """A text and where it stands."""

    where: str
    line: int
    text: str


def read_rules(path: Path) -> tuple[list[Rule], frozenset[str]]:
    """The rules of words.txt and the scopes that are on."""
    rules, on = [], frozenset({"docs"})
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("on:"):
            on = frozenset(line.removeprefix("on:").split())
            named = dict.fromkeys(on, "")
        else:
            fields = [field.strip() for field in line.split(" | ")]
            if len(fields) not in (2, 3, 4):
                sys.exit(f"{path.name}:{number}: expected OLD | SAY [| SCOPES [| FINE; FINE]]")
            given = fields[2].split() if len(fields) > 2 and fields[2] else SCOPES
            named = {scope: under for scope, _, under in (word.partition("@") for word in given)}
            fine = [re.compile(rf"\b(?:{phrase.strip()})\b", re.I) for phrase in fields[3].split(";")] if len(fields) > 3 else []
            rules.append(Rule(re.compile(rf"(?<![\w-])(?:{fields[0]})(?![\w-])", re.I), fields[1], named, fine))
        if not named.keys() <= set(SCOPES):
            sys.exit(f"{path.name}:{number}: expected scopes among {', '.join(SCOPES)}")
    return rules, on


def pages(root: Path) -> list[Path]:
    named = [root / name for name in PAGES if (root / name).exists()]
    return named + sorted((root / "docs").rglob("*.md"))


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Each paragraph and item of a list, with the line that it begins in; without code, tables and headings."""
    text = re.sub(r"<!--.*?-->", lambda found: "\n" * found[0].count("\n"), text, flags=re.S)
    held: list[str] = []
    begun = fenced = 0
    in_list = after_blank = False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        is_fence = bool(FENCE.match(line))
        blank = not line.strip()
        indented = line.startswith("    ") and after_blank and not in_list
        apart = blank or is_fence or fenced or indented or line.lstrip().startswith(("|", "#", "<"))
        item = LIST_ITEM.match(line)
        if held and (apart or item):
            yield begun, " ".join(held)
            held = []
        fenced ^= is_fence
        if not apart:
            begun = begun if held else number
            held.append(LIST_ITEM.sub("", line).strip())
            in_list = bool(item) or (in_list and line.startswith(" "))
        after_blank = blank or (indented and after_blank)


def plain(text: str) -> str:
    """What a reader reads: code as one word, links without where they lead."""
    return LINK.sub(r"\1", CODE.sub("CODE", text))


def sentences(text: str) -> list[str]:
    found = [""]
    for piece in END.split(plain(text)):
        if found[-1].lower().endswith(ABBREVIATIONS):
            found[-1] += " " + piece
        else:
            found.append(piece)
    return found[1:]


def long_sentences(root: Path) -> list[str]:
    wrong = []
    for page in pages(root):
        for line, text in paragraphs(page.read_text()):
            for sentence in sentences(text):
                count = len(re.findall(r"[\w%][^\s]*", sentence))
                if count > MOST_WORDS:
                    begin = " ".join(sentence.split()[:6])
                    wrong.append(f"{page.relative_to(root)}:{line}: a sentence of {count} words, more than {MOST_WORDS}: '{begin} …'")
    return wrong


def in_docs(root: Path) -> Iterator[Place]:
    for page in pages(root):
        fenced = False
        for number, line in enumerate(page.read_text().splitlines(), 1):
            if FENCE.match(line):
                fenced = not fenced
            elif not fenced and not line.startswith("    "):
                yield Place(str(page.relative_to(root)), number, plain(line))


def in_help(program: str) -> Iterator[Place]:
    def printed(*words: str) -> str:
        return subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=True, timeout=60).stdout

    first = printed()
    verbs = re.findall(r"^  ([a-z]+) ", first.split("\nOptions\n")[0], re.M)
    for verb, text in [("", first), *((verb, printed(verb)) for verb in verbs)]:
        for number, line in enumerate(text.splitlines(), 1):
            yield Place(f"thaw {verb} --help".replace("  ", " "), number, line)


def sources(root: Path) -> list[Path]:
    found = [path for folder in ("src/thaw", "include") for path in (root / folder).rglob("*")]
    return sorted(path for path in found if path.suffix in (".h", ".cc") and not IS_TEST.search(path.name))


def in_sources(root: Path, group: str) -> Iterator[Place]:
    """What stands between quotes ("text"), or the identifiers ("name")."""
    for path in sources(root):
        where = str(path.relative_to(root))
        if group == "name" and where.startswith("src/thaw/lift/"):
            continue
        text = path.read_text()
        for token in TOKEN.finditer(text):
            if token[0].startswith(("//", "/*")):
                continue
            held = token["text"] or token["raw"] if group == "text" else token["name"]
            if held:
                words = " ".join(WORD.findall(held)) if group == "name" else held
                yield Place(where, text.count("\n", 0, token.start()) + 1, words)


def wrong_words(places: Iterator[Place], rules: list[Rule], scope: str) -> list[str]:
    wrong, seen = [], set()
    for place in places:
        for rule in rules:
            if scope not in rule.scopes or not place.where.startswith(rule.scopes[scope]):
                continue
            text = place.text
            for phrase in rule.fine:
                text = phrase.sub("", text)
            found = rule.old.search(text)
            if found and (place.where, place.line, found[0]) not in seen:
                seen.add((place.where, place.line, found[0]))
                wrong.append(f"{place.where}:{place.line}: '{found[0]}': say {rule.say}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", default=Path(__file__).parent.parent, type=Path)
    parser.add_argument("--thaw", help="the program whose help is read")
    parser.add_argument("--scopes", help="where words count, in place of what words.txt says")
    given = parser.parse_args()
    root = given.root.resolve()
    rules, on = read_rules(root / "tools" / "words.txt")
    if given.scopes:
        on = frozenset(given.scopes.split(","))
    wrong = long_sentences(root) if "docs" in on else []
    for scope in SCOPES:
        if scope not in on:
            continue
        if scope == "docs":
            wrong += wrong_words(in_docs(root), rules, scope)
        elif scope == "help":
            wrong += wrong_words(in_help(given.thaw), rules, scope) if given.thaw else []
        else:
            wrong += wrong_words(in_sources(root, "text" if scope == "messages" else "name"), rules, scope)
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
