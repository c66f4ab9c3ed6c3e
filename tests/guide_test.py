"""docs/guide and docs/internals: each command of each page runs, in the page's order, on what tools/example.py writes, and says what stands under it.

A command with no lines under it has only to run. THAW_WRITE_CASES=1 writes what the commands say now into the pages where that is not what
stands there.
"""

import os
import re
import shutil
import subprocess
import sys

import pytest

from cases_test import BLOCK, assert_says, commands_of, said, shortened
from conftest import SOURCE

PAGES = sorted(page for page in (SOURCE / "docs" / "guide").glob("*.md") if "\n$ thaw " in page.read_text())
INTERNALS = [page for page in sorted((SOURCE / "docs" / "internals").glob("*.md")) if BLOCK.search(page.read_text())]
# Verbs whose page is another's.
SHARED = {"rule": "check", "completion": None}
# Pages on something else than a verb, and the verb that they begin with.
TASKS = {"ci": "check", "targets": "check", "providers": "run"}


@pytest.fixture(scope="session")
def example(tmp_path_factory):
    folder = tmp_path_factory.mktemp("example")
    subprocess.run([sys.executable, SOURCE / "tools" / "example.py", folder], check=True, timeout=120)
    return folder


@pytest.mark.parametrize("page", PAGES + INTERNALS, ids=lambda page: page.stem)
def test_the_commands_of_the_page_run(thaw, example, tmp_path, page):
    folder = tmp_path / "here"
    shutil.copytree(example, folder)
    text = page.read_text()
    blocks = BLOCK.findall(text)
    commands = [command for block in blocks for command, _ in commands_of(block)]
    verb = TASKS.get(page.stem, page.stem.split("-")[0])
    assert page in INTERNALS or any(command.startswith(f"thaw {verb} ") for command in commands[:2])
    for block in blocks:
        written = ""
        for command, wanted in commands_of(block):
            lines = said(thaw, command, folder)
            assert not any(line.startswith("thaw: ") for line in lines), (command, lines)
            if wanted:
                try:
                    assert_says(lines, wanted, command)
                except AssertionError:
                    if not os.environ.get("THAW_WRITE_CASES"):
                        raise
                    wanted = shortened(command, lines)
            written += "\n".join([f"$ {command}", *wanted]) + "\n"
        text = text.replace(f"```console\n{block}```", f"```console\n{written}```")
    if os.environ.get("THAW_WRITE_CASES"):
        page.write_text(text)


def test_every_verb_has_a_page(thaw):
    verbs = re.findall(r"^  ([a-z]+) ", thaw("--help").stdout.split("\nOptions\n")[0], re.M)
    pages = {page.stem for page in PAGES}
    assert {SHARED.get(verb, verb) for verb in verbs} - {None} <= pages


def test_the_contents_name_every_page():
    listed = (SOURCE / "docs" / "README.md").read_text()
    pages = [*(SOURCE / "docs").glob("*.md"), *PAGES, *(SOURCE / "docs" / "internals").glob("*.md")]
    missing = [str(page.relative_to(SOURCE / "docs")) for page in pages if page.name != "README.md"]
    assert [name for name in missing if f"({name})" not in listed] == []
