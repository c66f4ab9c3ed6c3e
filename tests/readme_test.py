"""The README's commands do what it says, on a model of the kind that it speaks of."""
import re
import shlex
import subprocess
import sys

import pytest

from cases_test import BLOCK, commands_of
from conftest import SOURCE
from terminal_test import as_shown, on_terminal, width_of  # noqa: F401 (a fixture)

README = (SOURCE / "README.md").read_text()
BUILDING = (SOURCE / "docs" / "building-from-source.md").read_text()
PAGES = [SOURCE / "README.md", SOURCE / "CONTRIBUTING.md", SOURCE / "SECURITY.md", SOURCE / "CHANGELOG.md",
         *sorted((SOURCE / "docs").rglob("*.md"))]
# Each command with the lines below it, which are what a terminal shows; then those of the table of problems.
SCREENS = [pair for block in BLOCK.findall(README) for pair in commands_of(block) if pair[0].startswith("thaw ")]
TABLE = [command for line in README.splitlines() if line.startswith("| ") for command in re.findall(r"`(thaw [^`]+)`", line)]
NUMBER = re.compile(r"-?\d[\d.,]*(?:e[+-]?\d+)?")


def plain(text):
    """Without what differs from machine to machine: numbers, and where lines are broken for their sake."""
    return re.sub(r"\s+", " ", NUMBER.sub("#", text)).strip()


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """What `make example` writes, on which the README's commands are called."""
    folder = tmp_path_factory.mktemp("readme") / "example"
    subprocess.run([sys.executable, SOURCE / "tools" / "example.py", folder], check=True, timeout=120)
    return folder


def test_the_screens_are_what_a_terminal_shows(on_terminal, example):
    assert len(SCREENS) >= 4
    codes = {"thaw check detector.onnx": 1}
    for command, lines in SCREENS:
        # The README is read at any width, its screens at 96 columns.
        text, code = on_terminal(96, *shlex.split(command)[1:], cwd=example)
        assert code == codes.get(command, 0), (command, text)
        shown = plain(as_shown(text))
        for line in lines:
            assert line.strip() == "…" or plain(line) in shown, (command, line, text)
        assert max(map(width_of, as_shown(text).splitlines())) <= 96
    assert (example / "batched.onnx").exists()


def test_the_table_has_every_verb_and_its_commands_run(thaw, example):
    verbs = set(re.findall(r"^  ([a-z]+) ", thaw("--help").stdout.split("\nOptions\n")[0], re.M)) - {"completion"}
    assert {shlex.split(command)[1] for command in TABLE} == verbs
    needs = "thaw fix detector.onnx -o fixed.onnx"
    assert needs in TABLE
    for command in [needs, *TABLE]:
        thaw(*shlex.split(command)[1:], code=1 if command.startswith(("thaw check", "thaw diff")) else 0, cwd=example)


def test_the_commands_that_set_up_stand_on_both_pages():
    for command in ("apt-get install -y make", "make test"):
        assert all(re.search(rf"^    {command}\b", page, re.M) for page in (README, BUILDING))


@pytest.mark.parametrize("link", re.findall(r"\]\((docs/[^)]+)\)", README))
def test_the_pages_it_names_are_there(link):
    assert (SOURCE / link.partition("#")[0]).exists()


@pytest.mark.parametrize("target", sorted({*re.findall(r"^\| `make (\w+)`", BUILDING, re.M), *re.findall(r"(?:`|\$ |^    )make ([a-z]+)", README, re.M)}))
def test_the_targets_it_names_are_there(target):
    assert f"\n{target}:" in (SOURCE / "Makefile").read_text()


def links():
    for page in PAGES:
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
        for target in re.findall(r"\]\(([^)#:]*(?:#[^)]*)?)\)", text):
            yield page, target


def anchors(page):
    heads = re.findall(r"^#+ (.*)", page.read_text(), re.M)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize(("page", "target"), list(links()), ids=lambda value: getattr(value, "name", value))
def test_links_between_pages_lead_somewhere(page, target):
    path, _, anchor = target.partition("#")
    there = page.parent / path if path else page
    assert there.exists()
    assert not anchor or anchor in anchors(there)


ROWS = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \| \[[^]]*\]\(([^)#]+)[^)]*\) \|$", (SOURCE / "docs" / "peers.md").read_text(), re.M)


@pytest.mark.parametrize(("job", "ours", "theirs", "page"), ROWS, ids=[row[0] for row in ROWS])
def test_the_figures_of_peers_stand_on_the_page_that_is_named(job, ours, theirs, page):
    words = set(re.findall(r"[\d.,]*\d", (SOURCE / "docs" / page).read_text()))
    assert [number for number in re.findall(r"(?<![\w.-])[\d.,]*\d", ours + theirs) if number not in words] == []


def test_there_are_figures_of_peers():
    assert len(ROWS) >= 8 and sum(len(re.findall(r"\d+", row[1])) > 0 for row in ROWS) >= 7


def test_the_code_on_adding_a_model_is_the_code():
    """Each line of its C++ stands in the sources."""
    page = (SOURCE / "docs" / "internals" / "adding-a-model.md").read_text()
    sources = "\n".join(path.read_text() for path in (SOURCE / "src" / "thaw" / "model").rglob("*.[ch]*"))
    code = [line for block in re.findall(r"```cpp\n(.*?)```", page, re.S) for line in block.splitlines() if line.strip()]
    assert len(code) > 15
    assert [line for line in code if line not in sources] == []
