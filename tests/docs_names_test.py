"""What the pages name is there: files, folders, and words of the code."""

import re
from functools import cache

import pytest

from conftest import SOURCE

# But for the page on schemas, which has a table of former names.
PAGES = [page for page in [SOURCE / "README.md", *sorted((SOURCE / "docs").rglob("*.md"))] if page.parent.name != "schemas"]
FOLDERS = ["bench", "cmake", "docs", "fuzz", "include", "python", "src", "tests", "tools"]
# Names of other programs' files and words.
OTHERS = {"model.py", "modeling_<type>.py"}
OTHER_WORDS = {"TransformerEncoderLayer", "cu_seqlens", "dynamic_axes", "mse_v2", "ref_feat_shape"}


@cache
def files():
    paths = [path for folder in FOLDERS for path in (SOURCE / folder).rglob("*") if path.is_file()]
    return ["/" + str(path.relative_to(SOURCE)) for path in paths if "__pycache__" not in path.parts]


@cache
def words():
    """All identifiers of the sources, the tests and what they are made with."""
    text = "\n".join((SOURCE / path[1:]).read_text() for path in files() if path.endswith((".cc", ".h", ".py", ".cmake")))
    return set(re.findall(r"\w+", text + (SOURCE / "CMakeLists.txt").read_text()))


def text_of(page):
    """The page without its examples."""
    return re.sub(r"```.*?```|^    .*$", "", page.read_text(), flags=re.S | re.M)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_files_it_names_are_there(page):
    text = re.sub(r"#include <(.*?)>", r"\1", page.read_text())
    named = set(re.findall(r"[\w<>*/.-]+\.(?:cc|h|py)\b", text)) - OTHERS
    patterns = {name: re.compile("/" + re.escape(name).replace(r"\*", r"[^/]*") + "$") for name in named}
    assert [name for name in sorted(named) if not any(patterns[name].search(file) for file in files())] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_folders_it_names_are_there(page):
    named = set(re.findall(r"`([\w/]+)/`", text_of(page)))
    assert [name for name in sorted(named) if not any(f"/{name}/" in file for file in files())] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_words_of_code_it_names_are_there(page):
    """Names in code's own spelling: a_b, AbC, a::b, .a, a(…)."""
    named = set()
    for span in re.findall(r"`([^`]+)`", text_of(page)):
        match = re.fullmatch(r"\.?([A-Za-z]\w*(?:(?:::|\.)\w+)*)(\(.*\))?", span)
        if match and (match[2] or span[0] == "." or re.search(r"_|::|[a-z][A-Z]", match[1])):
            named.add(re.split(r"::|\.", match[1])[-1])
    assert sorted(named - words() - OTHER_WORDS) == []


def test_the_glossary_is_in_alphabetical_order():
    entries = re.findall(r"^- \*\*([^*]+)\*\*", (SOURCE / "docs" / "internals" / "glossary.md").read_text(), re.M)
    assert 20 < len(entries) <= 35 and len(set(entries)) == len(entries)
    assert entries == sorted(entries, key=lambda entry: re.sub(r"[^a-z ]", "", entry.lower()))
