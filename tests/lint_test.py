"""`make lint` can fail: each of its parts on a made-up checkout that has one fault, and none on one that has none."""

import os
import shutil
import subprocess
import sys

import pytest

from conftest import SOURCE

ROOMS = """# The design

## Rooms

| room | owns |
|---|---|
| `low/` | what others stand on |
| `ops/onnx/` | operators |
| `high/` | the rest |

## More

| `none/` | a table of something else |
"""
OPERATORS = """
void add_some_ops(Registry& r) {
  r.add({.name = "Split"});
  r.group({})("Concat", concat);
}
"""


@pytest.fixture
def tree(tmp_path):
    """A checkout without faults; write(PATH, TEXT) adds a file, below src/thaw where it is a source."""

    def write(path, text):
        path = tmp_path / ("src/thaw" if path.endswith((".h", ".cc")) and not path.startswith("include/") else "") / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    write("docs/design.md", ROOMS)
    write("low/low.h", "#pragma once\n")
    write("ops/onnx/some.cc", OPERATORS)
    write("high/high.h", '#include "thaw/low/low.h"\n')
    write.root = tmp_path
    return write


def rooms(tree):
    command = [sys.executable, SOURCE / "tools" / "lint_rooms.py", tree.root]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.returncode == (1 if run.stderr else 0)
    return run.stderr.splitlines()


def test_this_checkout_keeps_the_order_of_rooms(tree):
    tree.root = SOURCE
    assert rooms(tree) == []


def test_a_house_in_order_passes(tree):
    assert rooms(tree) == []


def test_a_room_that_uses_one_below_it_is_named(tree):
    tree("low/deep/wrong.cc", '#include "thaw/high/high.h"\n')
    assert rooms(tree) == ["src/thaw/low/deep/wrong.cc: low/ includes thaw/high/high.h, but high/ stands below it"]


def test_tests_may_use_every_room(tree):
    tree("low/low_test.cc", '#include "thaw/high/high.h"\n')
    tree("low/low_testing.h", '#include "thaw/high/high.h"\n')
    assert rooms(tree) == []


def test_rooms_and_rows_go_together(tree):
    tree("new/new.h", "")
    tree("docs/design.md", ROOMS.replace("| `high/`", "| `older/` | gone |\n| `low/` | again |\n| `high/`"))
    assert rooms(tree) == [
        "docs/design.md: low/ stands twice in the table",
        "docs/design.md: there is no room older/",
        "docs/design.md: the table has no row for src/thaw/new/",
    ]


def test_a_page_without_the_table_is_no_excuse(tree):
    tree("docs/design.md", "# The design\n")
    assert rooms(tree) == ["docs/design.md: no table of rooms under '## Rooms'"]


def test_headers_that_are_not_there(tree):
    tree("low/low.cc", '#include "thaw/low/gone.h"\n#include "thaw/version.h"\n')
    assert rooms(tree) == ["src/thaw/low/low.cc: there is no thaw/low/gone.h"]


def test_public_headers_use_each_other_only(tree):
    tree("include/thaw/error.h", "")
    tree("include/thaw/thaw.h", '#include "thaw/error.h"\n')
    tree("low/low.cc", '#include "thaw/error.h"\n')
    assert rooms(tree) == []
    tree("include/thaw/thaw.h", '#include "thaw/low/low.h"\n')
    assert rooms(tree) == ["include/thaw/thaw.h: a public header includes thaw/low/low.h, which is none"]


def test_names_of_operators_are_counted_where_they_are_compared(tree):
    compared = 'bool f = node.op_type() == "Split" || is_onnx("Concat");\n'
    written = (
        '// "Split" in a comment\nauto* v = e.emit(twice ? "Split" : "Concat", {x, e.list({1})});\n'
        'const Pattern p = op("Concat", {op_of({"Split", "Concat"}, {kX})});\nauto s = "split";\nauto n = 1\'000;\n'
    )
    tree("high/high.cc", written * 9 + compared * 30)
    tree("ops/onnx/more.cc", compared * 9)
    assert rooms(tree) == []
    tree("high/more.cc", '\nconstexpr std::string_view kList[] = {"Concat"};\n')
    found = rooms(tree)
    assert len(found) == 32
    assert found[-2] == 'src/thaw/high/more.cc:2: constexpr std::string_view kList[] = {"Concat"};'
    assert found[-1] == "names of operators are compared in 31 places outside ops/, more than 30"


@pytest.fixture
def lint(tree):
    """tools/lint on the made-up checkout, up to where clang-tidy would begin: its build is another program here."""
    deps = SOURCE / ".deps" / "venv" / "bin"
    ruff = shutil.which("ruff", path=f"{deps}{os.pathsep}{os.environ['PATH']}")
    if not ruff or not shutil.which("clang-format-19"):
        pytest.skip("needs ruff and clang-format-19 (tools/setup lint)")
    for path in ("tools/lint", "tools/lint_rooms.py", "ruff.toml", ".clang-format"):
        (tree.root / path).parent.mkdir(exist_ok=True)
        shutil.copy(SOURCE / path, tree.root / path)
    for name, target in (("ruff", ruff), ("cmake", shutil.which("true"))):
        link = tree.root / ".deps" / "venv" / "bin" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
    tree("tests/fine_test.py", "import os\n\nprint(os.name)\n")
    tree("high/fine.cc", "int twice(int x) { return 2 * x; }\n")
    subprocess.run(["git", "init", "-q", tree.root], check=True)

    def run():
        done = subprocess.run([tree.root / "tools" / "lint"], capture_output=True, text=True, timeout=120)
        return done.returncode, done.stdout + done.stderr

    tree("ops/onnx/some.cc", OPERATORS.lstrip())
    assert run()[0] == 0, run()[1]
    return run


def test_lint_fails_for_a_wrong_arrow(tree, lint):
    tree("low/wrong.cc", '#include "thaw/high/high.h"\n')
    code, said = lint()
    assert code != 0 and "low/ includes thaw/high/high.h" in said


@pytest.mark.parametrize(("fault", "rule"), [("import os\n", "F401"), ("print(name)\n", "F821"), ("x=[]\ndef f(a=[]): pass\n", "B006")])
def test_lint_fails_for_faults_in_python(tree, lint, fault, rule):
    tree("tests/faulty_test.py", fault)
    code, said = lint()
    assert code != 0 and rule in said


def test_lint_fails_for_unformatted_sources(tree, lint):
    tree("high/fine.cc", "int twice( int x ) { return 2*x; }\n")
    code, said = lint()
    assert code != 0 and "fine.cc" in said


def test_formatting_leaves_comments_as_they_are(tree, lint):
    drawing = "//   merged    " + "[1, 3, h, w] -> [batch, 3, h, w] " * 3 + "all\n//   leading   [n, 4]\n"
    tree("high/fine.cc", drawing + "int twice(int x) { return 2 * x; }\n")
    assert lint()[0] == 0
    subprocess.run(["clang-format-19", "-i", tree.root / "src/thaw/high/fine.cc"], check=True)
    assert (tree.root / "src/thaw/high/fine.cc").read_text().startswith(drawing)
