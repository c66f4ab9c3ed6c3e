"""`make lint` can fail: each of its parts on a made-up checkout that has one fault, and none on one that has none."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from conftest import SOURCE

ROOMS = """# The design

## Modules

| module | owns |
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
FINE = '#include "thaw/ops/onnx/ops.h"\n\nint main(int n, char**) { return add_some_ops(n), 2 * n; }\n'


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


def said_by(part, tree, *more):
    command = [sys.executable, SOURCE / "tools" / part, tree.root, *more]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.returncode == (1 if run.stderr else 0)
    return run.stderr.splitlines()


def modules(tree):
    return said_by("lint_modules.py", tree)


def unused(tree):
    """Names that nothing calls, each with its file and line, of what the test wrote."""
    said = [line.partition(": nothing calls ") for line in said_by("lint_unused.py", tree)]
    return [f"{place.removeprefix('src/thaw/')} {name.strip(chr(39))}" for place, _, name in said if "ops/onnx" not in place]


def test_this_checkout_keeps_the_order_of_rooms(tree):
    tree.root = SOURCE
    assert modules(tree) == []


def test_a_house_in_order_passes(tree):
    assert modules(tree) == []


def test_a_room_that_uses_one_below_it_is_named(tree):
    tree("low/deep/wrong.cc", '#include "thaw/high/high.h"\n')
    assert modules(tree) == ["src/thaw/low/deep/wrong.cc: low/ includes thaw/high/high.h, but high/ stands below it"]


def test_the_command_uses_the_library_and_no_room_behind_it(tree):
    table = "".join(f"| `{module}/` | |\n" for module in ("core", "rewrite", "confirm", "report", "verbs", "cli"))
    tree("docs/design.md", f"# The design\n\n## Modules\n\n{table}\n## More\n")
    for module in ("core", "rewrite", "report", "verbs"):
        tree(f"{module}/{module}.h", "")
    tree("cli/fine.cc", "".join(f'#include "thaw/{module}/{module}.h"\n' for module in ("core", "report", "verbs")))
    tree("confirm/fine.cc", '#include "thaw/core/core.h"\n')
    tree.root.joinpath("src/thaw/low/low.h").unlink()
    tree.root.joinpath("src/thaw/high/high.h").unlink()
    tree.root.joinpath("src/thaw/ops/onnx/some.cc").unlink()
    assert modules(tree) == []
    tree("cli/wrong.cc", '#include "thaw/rewrite/rewrite.h"\n')
    tree("confirm/wrong.cc", '#include "thaw/rewrite/rewrite.h"\n')
    assert modules(tree) == ["src/thaw/cli/wrong.cc: cli/ does not use rewrite/, but includes thaw/rewrite/rewrite.h",
                           "src/thaw/confirm/wrong.cc: confirm/ does not use rewrite/, but includes thaw/rewrite/rewrite.h"]


def test_tests_may_use_every_room(tree):
    tree("low/low_test.cc", '#include "thaw/high/high.h"\n')
    tree("low/low_testing.h", '#include "thaw/high/high.h"\n')
    assert modules(tree) == []


def test_rooms_and_rows_go_together(tree):
    tree("new/new.h", "")
    tree("docs/design.md", ROOMS.replace("| `high/`", "| `older/` | gone |\n| `low/` | again |\n| `high/`"))
    assert modules(tree) == [
        "docs/design.md: low/ stands twice in the table",
        "docs/design.md: there is no module older/",
        "docs/design.md: the table has no row for src/thaw/new/",
    ]


def test_a_page_without_the_table_is_no_excuse(tree):
    tree("docs/design.md", "# The design\n")
    assert modules(tree) == ["docs/design.md: no table of modules under '## Modules'"]


def test_headers_that_are_not_there(tree):
    tree("low/low.cc", '#include "thaw/low/gone.h"\n#include "thaw/version.h"\n')
    assert modules(tree) == ["src/thaw/low/low.cc: there is no thaw/low/gone.h"]


def test_public_headers_use_each_other_only(tree):
    tree("include/thaw/error.h", "")
    tree("include/thaw/thaw.h", '#include "thaw/error.h"\n')
    tree("low/low.cc", '#include "thaw/error.h"\n')
    assert modules(tree) == []
    tree("include/thaw/thaw.h", '#include "thaw/low/low.h"\n')
    assert modules(tree) == ["include/thaw/thaw.h: a public header includes thaw/low/low.h, which is none"]


def test_types_of_one_name_and_namespace(tree):
    of = "#pragma once\nnamespace thaw::{} {{\n\n{}\n}}  // namespace thaw::{}\n".format
    tree("low/one.h", of("low", "struct Piece {\n  int first;\n};\nclass Whole;", "low"))
    tree("low/other.h", of("other", "struct Piece : Base {\n};\nclass Whole {\n};", "other"))
    tree("high/high_test.cc", of("low", "struct Piece {\n};", "low"))
    assert modules(tree) == []
    tree("high/again.h", of("low", "enum class Piece : int { kFirst };\nstruct Scope::Whole {\n};", "low"))
    assert modules(tree) == ["src/thaw/high/again.h and src/thaw/low/one.h: each defines a thaw::low::Piece"]


def test_names_of_operators_are_counted_where_they_are_compared(tree):
    compared = 'bool f = node.op_type() == "Split" || is_onnx("Concat");\n'
    written = (
        '// "Split" in a comment\nauto* v = e.emit(twice ? "Split" : "Concat", {x, e.list({1})});\n'
        'const Pattern p = op("Concat", {op_of({"Split", "Concat"}, {kX})});\nauto s = "split";\nauto n = 1\'000;\n'
    )
    tree("high/high.cc", written * 9 + compared * 30)
    tree("ops/onnx/more.cc", compared * 9)
    assert modules(tree) == []
    tree("high/more.cc", '\nconstexpr std::string_view kList[] = {"Concat"};\n')
    found = modules(tree)
    assert len(found) == 32
    assert found[-2] == 'src/thaw/high/more.cc:2: constexpr std::string_view kList[] = {"Concat"};'
    assert found[-1] == "names of operators are compared in 31 places outside ops/, more than 30"


def test_this_checkout_has_nothing_that_nothing_calls(tree):
    tree.root = SOURCE
    assert unused(tree) == []


DECLARED = """#pragma once
#include <vector>
namespace thaw {
inline constexpr int kMost = 3;  // kMost in a comment calls nothing
using Sizes = std::vector<int>;
enum class Way : int { kUp, kDown };
template <typename T>
T twice(T x);
struct Box {
  explicit Box(int size) : size_(size) {}
  int size() const { return size_; }
  static Box of(int size);

 private:
  int size_ = 0;
};
}  // namespace thaw
"""
DEFINED = """#include "thaw/low/box.h"
namespace thaw {
template <typename T>
T twice(T x) { return 2 * x; }
Box Box::of(int size) { return Box(size); }
namespace {
constexpr int kHere = 4;
}
}  // namespace thaw
"""


def test_what_is_only_declared_and_defined_is_found(tree):
    tree("low/box.h", DECLARED)
    tree("low/box.cc", DEFINED)
    assert unused(tree) == [
        "low/box.cc:7 kHere", "low/box.h:4 kMost", "low/box.h:5 Sizes", "low/box.h:6 Way", "low/box.h:8 twice",
        "low/box.h:11 size", "low/box.h:12 of",
    ]  # fmt: skip


def test_what_is_called_in_any_way_is_none_of_it(tree):
    tree("low/box.h", DECLARED)
    tree("low/box.cc", DEFINED.replace("constexpr int kHere = 4;", ""))
    tree("low/more.h", '#include "thaw/low/box.h"\n')
    calls = """#include "thaw/low/more.h"
int main() {
  const thaw::Sizes sizes(thaw::kMost);
  auto each = &thaw::Box::size;
  return thaw::twice<int>(thaw::Way::kUp == thaw::Way::kDown) + (thaw::Box::of(3).*each)() + sizes[0];
}
"""
    tree("high/main.cc", calls)
    assert unused(tree) == []
    # One that does not read the header means something else.
    tree("high/main.cc", calls.replace("low/more.h", "low/low.h"))
    assert "low/box.h:4 kMost" in unused(tree)


def test_tests_are_no_callers_but_of_what_is_there_for_tests(tree):
    tree("low/box.h", "int most();\n")
    tree("low/box_test.cc", '#include "thaw/low/box.h"\nint x = most();\n')
    assert unused(tree) == ["low/box.h:1 most"]
    (tree.root / "src/thaw/low/box.h").rename(tree.root / "src/thaw/low/box_testing.h")
    tree("low/box_test.cc", '#include "thaw/low/box_testing.h"\nint x = most();\n')
    assert unused(tree) == []


def test_programs_of_their_own_are_callers(tree):
    tree("low/box.h", "int most();\n")
    program = tree.root / "cmake" / "program.cc"
    program.parent.mkdir()
    program.write_text("int main() { return most(); }\n")
    assert unused(tree) == ["low/box.h:1 most"]
    program.write_text('#include "thaw/low/box.h"\nint main() { return most(); }\n')
    assert unused(tree) == []


def test_names_that_are_used_without_being_called_are_let_be(tree):
    tree(
        "low/all.h",
        """struct Walker {
  virtual ~Walker() = default;
  virtual void visit(int at = start()) = 0;
  friend bool operator==(const Walker&, const Walker&) = default;
  static int start();
  static bool is_before(int a, int b) { return a < b; }
  void run() { sort(list, is_before); visit(3); run(); }
  int list[3], place = 0;
  int (*made)(int) = nullptr;
};
struct Printer : Walker {
  void visit(int at) override;
};
#define FOR_ALL(x) walk_all(x)
void walk_all(Walker& walker);
""",
    )
    tree("low/all.cc", '#include "thaw/low/all.h"\nvoid f() { Printer p; FOR_ALL(p); f(); }\n')
    assert unused(tree) == []


RULES = """# a comment
on: docs help messages names

rooms? | module |  | room (for|on); no room
taken apart | decomposed
gave up | stopped | docs
made once | memo cache | names
"""


@pytest.fixture
def words(tree):
    """words(*options): what the lint of words says of the checkout without where it stands to be read."""
    def said(*options):
        return said_by("lint_words.py", tree, *options)
    tree("tools/words.txt", RULES)
    return said


def test_this_checkout_has_the_fields_words_and_short_sentences(tree):
    tree.root = SOURCE
    assert said_by("lint_words.py", tree, "--thaw", os.environ["THAW_BIN"]) == []


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/page.md", "docs/guide/page.md"])
def test_a_word_on_a_page_is_named(tree, words, page):
    assert words() == []
    tree(page, "# A page\n\nIt is fine.\nTwo Rooms were taken\napart, one room.\n")
    assert words() == [f"{page}:4: 'Rooms': say module", f"{page}:5: 'room': say module"]


def test_what_is_code_on_a_page_is_no_word(tree, words):
    tree("docs/page.md", "There is no room for it, nor room on the disk, in `rooms`, [here](rooms.md) or a bedroom.\n\n"
                         "```cpp\nint rooms;\n```\n\n    thaw rooms\n")
    assert words() == []
    tree("docs/page.md", "See [the rooms](page.md).\n")
    assert words() == ["docs/page.md:1: 'rooms': say module"]


def test_words_of_messages_and_names(tree, words):
    source = """// a comment on rooms
#include "thaw/low/rooms.h"
auto kRoomsTakenApart = "it is fine";
auto made_once = "three rooms, gave up";
auto text = R"(raw
rooms)";
char c = '"'; auto broom = "room for one", more = "taken apart";
"""
    tree("high/high.cc", source)
    tree("high/high_test.cc", source)
    tree("lift/high.cc", source)
    messages = [(4, "rooms", "module"), (5, "rooms", "module"), (7, "taken apart", "decomposed")]
    names = [(3, "Rooms", "module"), (3, "Taken Apart", "decomposed"), (4, "made once", "memo cache")]
    wanted = {"messages": [f"src/thaw/{folder}/high.cc:{line}: '{old}': say {say}" for folder in ("high", "lift") for line, old, say in messages],
              "names": [f"src/thaw/high/high.cc:{line}: '{old}': say {say}" for line, old, say in names]}
    for scope, said in wanted.items():
        assert words("--scopes", scope) == said
    assert words() == wanted["messages"] + wanted["names"]
    assert words("--scopes", "docs") == []


def test_a_rule_for_a_folder_counts_there_alone(tree, words):
    tree("tools/words.txt", RULES + "lanes? | column | names@src/thaw/low\n")
    for folder in ("low", "high"):
        tree(f"{folder}/lanes.cc", "int lanes = 1;\n")
    assert words() == ["src/thaw/low/lanes.cc:1: 'lanes': say column"]


def test_words_of_the_help(tree, words):
    program = tree.root / "program"
    program.write_text("""#!/bin/sh
case "$1" in
  --help) printf 'Usage\\n\\nVerbs\\n  one   counts rooms\\n  two   is fine\\n\\nOptions\\n  three  is none\\n' ;;
  one) echo 'all is fine' ;;
  two) printf 'fine\\ntaken apart\\n' ;;
  *) exit 1 ;;
esac
""")
    program.chmod(0o755)
    assert words("--thaw", program) == ["thaw --help:4: 'rooms': say module", "thaw two --help:2: 'taken apart': say decomposed"]
    assert words("--thaw", program, "--scopes", "docs") == []
    assert words() == []


def test_a_rule_that_is_none_is_an_error(tree, words):
    for faulty in ("rooms\n", "rooms | module | pages\n", "on: pages\n", "a | b | docs | c | d\n"):
        tree("tools/words.txt", RULES + faulty)
        assert len(words()) == 1 and "words.txt:8: expected" in words()[0]


def sentence(count):
    return " ".join(["word"] * (count - 1)) + " end."


@pytest.mark.parametrize("text", [
    sentence(41),
    "Short. " + sentence(41) + " Short.",
    "It is `code` of [a link](where/it/leads.md) " + sentence(35),
    "1. Fine.\n2. " + sentence(41).replace(" word word end", "\n   word word end"),
    "- Fine.\n\n  " + sentence(41),
    "as in e.g. " + sentence(38),
])
def test_a_long_sentence_is_named(tree, words, text):
    tree("docs/page.md", f"# A page\n\n{text}\n")
    assert len(words()) == 1 and "a sentence of 41 words, more than 40" in words()[0]


@pytest.mark.parametrize("text", [
    sentence(40),
    sentence(30) + " " + sentence(30),
    sentence(30).replace(".", "?") + ' "' + sentence(30).replace(".", '!" ') + sentence(30),
    "- " + sentence(30).replace(".", "") + "\n- " + sentence(30),
    "| " + sentence(60) + " |\n|---|",
    "# " + sentence(60),
    "```\n" + sentence(60) + "\n```",
    "Code:\n\n    " + sentence(60),
    "<!-- " + sentence(60) + " -->",
    sentence(39).replace(" end", " [end](" + "a/" * 60 + ")"),
    sentence(39).replace(" end", " `" + "a " * 60 + "` end"),
])
def test_other_sentences_pass(tree, words, text):
    tree("docs/page.md", f"{text}\n")
    assert words() == []


def deterministic(tree):
    return [line.removeprefix("src/thaw/") for line in said_by("lint_deterministic.py", tree)]


def test_this_checkout_asks_no_address_clock_or_locale(tree):
    tree.root = SOURCE
    assert deterministic(tree) == []


BY_ADDRESS = {
    "set": "std::set<const ir::Node*> found;",
    "unordered set": "std::unordered_set<ir::Value*> found{first, second};",
    "map": "const std::map<const Node*, std::map<int, Dim>>& found = all();",
    "pair": "std::unordered_map<std::pair<const Node*, int>, size_t, Hash> found;",
    "tuple": "std::multimap<std::tuple<size_t, Value*>, int> found(a, b);",
    "alias": "using Facts = std::unordered_map<const Value*, Fact>;\nFacts found = facts_of(model);",
    "parameter": "void look(const std::set<Value*>& found) {",
}
NOT_BY_ADDRESS = {
    "number": "std::map<int, const Node*> found;",
    "text": "std::unordered_map<std::string, Node*> found;",
    "order of its own": "std::set<const Atom*, ByMaking> found;",
    "list": "std::vector<const Node*> found;",
    "listed": "ListedSet<const Node*> found;",
    "name of another": "std::set<const Node*> other;",
}


@pytest.mark.parametrize("kind", BY_ADDRESS)
def test_a_loop_in_the_order_of_addresses(tree, kind):
    tree("low/loop.cc", BY_ADDRESS[kind] + "\nfor (const auto& each : found) print(each);\n")
    line = 1 + BY_ADDRESS[kind].count("\n") + 1
    assert deterministic(tree) == [f"low/loop.cc:{line}: 'found' is in the order of addresses: list its items (core/listed_set.h), or say '// any order: …'"]
    tree("low/loop.cc", BY_ADDRESS[kind] + "\nfor (const auto& each : found) add(each);  // any order: a sum\n")
    assert deterministic(tree) == []
    tree("low/loop.cc", BY_ADDRESS[kind] + "\n// any order: a sum\nfor (const auto& [a, b] : found) add(each);\n")
    assert deterministic(tree) == []


@pytest.mark.parametrize("kind", NOT_BY_ADDRESS)
def test_a_loop_in_another_order(tree, kind):
    tree("low/loop.cc", NOT_BY_ADDRESS[kind] + "\nfor (const auto& each : found) print(each);\n")
    assert deterministic(tree) == []


def test_a_member_that_the_header_declares(tree):
    tree("low/loop.h", "class Loop {\n  std::unordered_set<Node*> nodes_;  // in a set\n};\n")
    tree("low/loop.cc", "void Loop::run() {\n  for (Node* node : nodes_) print(node);\n}\n")
    tree("low/other.cc", "void Other::run() {\n  for (Node* node : nodes_) print(node);\n}\n")
    tree("low/loop_test.cc", "std::set<Node*> nodes;\nfor (Node* node : nodes) print(node);\n")
    assert [line.split(": ")[0] for line in deterministic(tree)] == ["low/loop.cc:2"]


def test_pointers_that_are_sorted_by_nothing_else(tree):
    tree("low/sorted.cc", """std::vector<const Node*> nodes;
std::vector<int> sizes;
std::ranges::sort(nodes);
std::sort(nodes.begin(), nodes.end());
std::ranges::sort(sizes);
std::ranges::sort(nodes, {}, position_of);
std::sort(nodes.begin(), nodes.end(), by_position);
""")
    assert deterministic(tree) == [f"low/sorted.cc:{line}: 'nodes' is sorted by addresses" for line in (3, 4)]


@pytest.mark.parametrize("line", ["std::tolower(c);", "#include <cctype>", "setlocale(LC_ALL, name);", "std::random_device seed;",
                                  "auto now = std::chrono::system_clock::now();", "std::srand(time(nullptr));", 'fmt::format("{}", fmt::ptr(node));',
                                  "const auto start = std::chrono::steady_clock::now();"])
def test_what_differs_from_run_to_run(tree, line):
    tree("low/wrong.cc", f"// {line}\n{line}\n")
    assert {found.split(": ")[0] for found in deterministic(tree)} == {"low/wrong.cc:2"}
    tree("low/wrong.cc", f"// {line}\nascii::to_lower(c), run_time(0), measured.time(0);\n")
    assert deterministic(tree) == []


def test_time_may_be_measured(tree):
    tree("core/phase.cc", "const auto start = std::chrono::steady_clock::now();\n")
    assert deterministic(tree) == []


@pytest.fixture
def lint(tree):
    """tools/lint on the made-up checkout, up to where clang-tidy would begin: its build is another program here."""
    deps = SOURCE / ".deps" / "venv" / "bin"
    ruff = shutil.which("ruff", path=f"{deps}{os.pathsep}{os.environ['PATH']}")
    if not ruff or not shutil.which("clang-format-19"):
        pytest.skip("needs ruff and clang-format-19 (tools/setup lint)")
    for path in ("tools/lint", "tools/lint_modules.py", "tools/lint_unused.py", "tools/lint_deterministic.py", "tools/lint_words.py", "tools/words.txt", "ruff.toml", ".clang-format", ".clang-tidy"):
        (tree.root / path).parent.mkdir(exist_ok=True)
        shutil.copy(SOURCE / path, tree.root / path)
    for name, target in (("ruff", ruff), ("cmake", shutil.which("true"))):
        link = tree.root / ".deps" / "venv" / "bin" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
    tree("tests/fine_test.py", "import os\n\nprint(os.name)\n")
    tree("ops/onnx/ops.h", "void add_some_ops(Registry& r);\n")
    tree("high/fine.cc", FINE)
    subprocess.run(["git", "init", "-q", tree.root], check=True)

    def run(*options):
        done = subprocess.run([tree.root / "tools" / "lint", *options], capture_output=True, text=True, timeout=120)
        return done.returncode, done.stdout + done.stderr

    tree("ops/onnx/some.cc", OPERATORS.lstrip())
    assert run()[0] == 0, run()[1]
    return run


def test_lint_fails_for_what_nothing_calls(tree, lint):
    tree("low/low.h", "#pragma once\nint most();\n")
    code, said = lint()
    assert code != 0 and "low/low.h:2: nothing calls 'most'" in said


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
    tree("high/fine.cc", FINE.replace("(int n", "( int n"))
    code, said = lint()
    assert code != 0 and "fine.cc" in said


def test_formatting_leaves_comments_as_they_are(tree, lint):
    drawing = "//   merged    " + "[1, 3, h, w] -> [batch, 3, h, w] " * 3 + "all\n//   leading   [n, 4]\n"
    tree("high/fine.cc", FINE + drawing)
    assert lint()[0] == 0
    subprocess.run(["clang-format-19", "-i", tree.root / "src/thaw/high/fine.cc"], check=True)
    assert (tree.root / "src/thaw/high/fine.cc").read_text().endswith(drawing)


def test_lint_fails_for_a_word(tree, lint):
    tree("README.md", "Which rooms there are.\n")
    code, said = lint()
    assert code != 0 and "README.md:1: 'rooms'" in said


def commit(tree):
    names = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "-C", tree.root, "add", "-A"], check=True)
    subprocess.run(["git", "-C", tree.root, *names, "commit", "-q", "--allow-empty", "-m", "Change it"], check=True)


def test_lint_of_what_changed(tree, lint):
    """clang-tidy looks at what the last commit changed alone, and says so where there is none."""
    if not shutil.which("clang-tidy-19"):
        pytest.skip("needs clang-tidy-19 (tools/setup lint)")
    fault = '#include "thaw/ops/onnx/ops.h"\n\nint main(int n, char** text) {\n  char** none = 0;\n  return add_some_ops(n), none == text;\n}\n'
    paths = [tree.root / "src/thaw/high" / name for name in ("fine.cc", "older.cc")]
    command = "clang++-19 -std=c++20 -fsyntax-only -I{}/src -c {}"
    (tree.root / "build-lint").mkdir()
    (tree.root / "build-lint/compile_commands.json").write_text(json.dumps(
        [{"directory": str(tree.root), "file": str(path), "command": command.format(tree.root, path)} for path in paths]))
    tree("high/older.cc", fault)
    tree("ops/onnx/ops.h", "void add_some_ops(int r);\n")
    (tree.root / ".gitignore").write_text("build-lint/\n.deps/\n")
    for _ in range(2):
        code, said = lint("--changed")
        assert code == 0 and "there is no earlier commit here" in said, said
        commit(tree)
    tree("high/fine.cc", FINE.replace("2 * n", "3 * n"))
    commit(tree)
    code, said = lint("--changed")
    assert code == 0 and "clang-tidy looked at 1 files" in said, said
    tree("high/fine.cc", fault)
    code, said = lint("--changed")
    assert code != 0 and "fine.cc" in said and "use nullptr" in said and "older.cc" not in said, said
