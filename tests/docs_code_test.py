"""The C++ on the pages for those who extend Thaw stands in the sources, word for word, where the unit tests run it."""

import re

import pytest

from conftest import SOURCE

PAGES = {
    "internals/adding-an-operator.md": ["ops/onnx/expand.cc", "ops/onnx/movement_test.cc"],
    "internals/adding-a-pass.md": ["rewrite/example_pass_test.cc", "optimize/optimize.cc"],
}


def fragments(page):
    """Blocks of C++, and parts of them where lines are left out by a "…"."""
    for block in re.findall(r"```cpp\n(.*?)```", (SOURCE / "docs" / page).read_text(), re.S):
        yield from re.split(r"^…\n", block, flags=re.M)


@pytest.mark.parametrize("page", PAGES)
def test_the_code_is_the_code(page):
    sources = [(SOURCE / "src" / "thaw" / path).read_text() for path in PAGES[page]]
    parts = list(fragments(page))
    assert sum(len(part.splitlines()) for part in parts) > 20
    assert [part for part in parts if not any(part in source for source in sources)] == []


def test_a_fusion_takes_fewer_than_15_lines():
    first = next(part for part in fragments("internals/adding-a-pass.md") if "Fusion" in part)
    assert len([line for line in first.splitlines() if line.strip() and not line.lstrip().startswith("//")]) < 15


@pytest.mark.parametrize("module", ["fix", "optimize", "quant/int8"])
def test_a_pass_is_in_the_file_of_its_name(module):
    """So that a row of a list of passes tells where to look."""
    home = SOURCE / "src" / "thaw" / module
    passes = re.findall(r"^(?:int|std::(?:span|vector)<.*>) (\w+)\(", (home / "passes.h").read_text(), re.M)
    sources = {path.stem: path.read_text() for path in home.rglob("*.cc")}
    assert len(passes) >= 3
    assert [name for name in passes if not re.search(rf"\b{name}\(.*\) \{{", sources.get(name, ""))] == []
