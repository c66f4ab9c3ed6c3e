#!/usr/bin/env python3
"""Builds the site, build/site/html, of the pages as they are; `make site` calls it.

    tools/make_site.py [--package FOLDER] [--out FOLDER] [--run]

The pages are laid out as in the checkout, so that links between them stay. Two kinds are made: the reference of the Python package, a
page for each part of it, from its docstrings; and a page for each notebook. With --run the notebooks are executed, and their pages show
what they print and draw. Zensical then builds the site by mkdocs.yml, and ends with an error at a link that leads nowhere.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import griffe

from notebooks import NOTEBOOKS, as_markdown, executed, missing

SOURCE = Path(__file__).resolve().parent.parent
# Pages beside docs/, and what they link to.
TOP = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE"]


def reference(package: Path) -> Iterator[tuple[str, str]]:
    """(name, text) of the reference's pages: what the package exports, by kind; its public modules; the structs of results."""
    root = griffe.load("onnx_thaw", search_paths=[package.parent], resolve_aliases=True)
    exported = [root[name] for name in root.exports or () if name in root.members and not name.startswith("__")]
    errors = [each for each in exported if each.canonical_path.startswith("onnx_thaw._errors.")]
    yield "functions", _page("Functions", "The verbs of the command, and what goes with them. Examples are of the folder that `make example` writes.", [each for each in exported if each.is_function])
    types = [each for each in exported if (each.is_class or each.is_attribute) and each not in errors]
    yield "classes", _page("Classes", "Models, sizes and sessions.", types)
    yield "errors", _page("Errors and warnings", "All errors are an `Error`.", errors)
    named = {each.canonical_path for each in exported}
    structs = [each for each in root["_thaw"].members.values() if not each.is_alias and each.is_class and each.path not in named]
    yield "results", _page("Results and their parts", "What functions return; made by the library.", structs)
    for path in sorted([*package.glob("[a-z]*.py"), *(each.parent for each in package.glob("[a-z]*/__init__.py"))]):
        yield path.stem, f"# onnx_thaw.{path.stem}\n\n::: onnx_thaw.{path.stem}\n    options:\n      show_root_heading: false\n      show_root_toc_entry: false\n"


def _page(title: str, about: str, objects: list[griffe.Object | griffe.Alias]) -> str:
    return f"# {title}\n\n{about}\n\n" + "".join(f"::: {each.path}\n\n" for each in objects)


def lay_out(out: Path, package: Path, run: bool) -> None:
    """Writes all that the site is built of: mkdocs.yml, the pages, the package."""
    pages = out / "pages"
    for made in (pages, out / "html", out / "package"):
        shutil.rmtree(made, ignore_errors=True)
    pages.mkdir(parents=True)
    shutil.copy(SOURCE / "mkdocs.yml", out)
    copy = out / "package" / "onnx_thaw"  # a build folder may have links to files of the checkout that are no more
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("*.so", "bin", "lib", "__pycache__"), ignore_dangling_symlinks=True)
    for name in TOP:
        shutil.copy(SOURCE / name, pages)
    shutil.copytree(SOURCE / "docs", pages / "docs")
    (pages / "docs" / "api").mkdir()
    for name, text in reference(copy):
        (pages / "docs" / "api" / f"{name}.md").write_text(text)
    for path in NOTEBOOKS:
        notebook = json.loads(path.read_text())
        if run and not missing(notebook):
            notebook = executed(path, package)
        (pages / "docs" / "notebooks" / f"{path.stem}.md").write_text(as_markdown(notebook))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", type=Path, default=SOURCE / "build" / "python" / "onnx_thaw", help="the built package")
    parser.add_argument("--out", type=Path, default=SOURCE / "build" / "site", help="what is written; the site is its folder html")
    parser.add_argument("--run", action="store_true", help="execute the notebooks")
    given = parser.parse_args()
    if not (given.package / "_thaw.pyi").exists():
        print(f"site: error: {given.package} has no _thaw.pyi, which the build of the Python package writes; call `make site`", file=sys.stderr)
        return 1
    lay_out(given.out.resolve(), given.package.resolve(), given.run)
    done = subprocess.run([sys.executable, "-m", "zensical", "build", "--strict"], cwd=given.out, env={**os.environ, "NO_COLOR": "1"}, check=False)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
