"""Writes the bindings of the structs and enums in include/thaw: the headers say what there is, and their comments become docstrings.

    python generate.py OUT_FOLDER HEADER...

For each header NAME.h that declares a struct or an enum there is bind_NAME.cc, and bindings.h names all of their functions. What is
not a plain aggregate (Model, Session, functions) is bound by hand in the sources beside this script. A declaration that the script
does not understand is an error.
"""
import keyword
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

# Bound by hand, or of the command and the C++ library alone.
LEFT_OUT = {"Array", "Model", "Session", "Error", "ErrorParts", "DiffPairs", "CheckedFile", "CheckSettings", "LiftResult", "Cancelled",
            "Split", "AddedInput", "WeightBytes", "SerializedApart", "CheckpointInMemory"}
# Results of functions that change a model: the Python class has the changed model too.
RESULTS = {"FixReport": "FixResult", "FixReferenceReport": "FixReferenceResult", "BatchReport": "BatchResult",
           "OptimizeReport": "OptimizeResult", "ConvertReport": "ConvertResult", "PinReport": "PinResult",
           "Annotation": "AnnotateResult"}
# The list that a report is about, for `to_pandas`: the first of these that it has.
MAIN = ("findings", "points", "comparisons", "units", "parts", "tensors", "changed", "lifted", "ports", "nodes", "files", "reports")
# What TextOptions has that a report's text depends on, beside `all`.
EXPLAINED = {"OptimizeReport"}
# Beyond the fields.
EXTRA = {"CheckReport": """      .def("to_sarif", [](const CheckReport& self) { return to_sarif(self); }, "A SARIF 2.1.0 log.")
      .def("to_github", [](const CheckReport& self) { return to_github(self); }, "Annotations for GitHub Actions.")
      .def("to_gitlab", [](const CheckReport& self) { return to_gitlab(self); }, "A Code Quality report for GitLab.")""",
         "TensorInfo": """      .def_prop_ro("sizes", [](const TensorInfo& self) { return to_sizes(self.dims); },
                   "The dims as expressions; None for one that is unknown, and for an unknown rank.")"""}
# A model's path; `model` is the model itself in Python.
RENAMED = {"model": "model_path"}


@dataclass
class Field:
    name: str
    type: str
    doc: str


@dataclass
class Struct:
    name: str
    doc: str
    fields: list[Field] = field(default_factory=list)
    enums: list["Enum"] = field(default_factory=list)
    properties: list[Field] = field(default_factory=list)  # methods without arguments


@dataclass
class Enum:
    name: str
    cpp: str
    doc: str
    values: list[tuple[str, str]] = field(default_factory=list)


def split_comment(line):
    """The code and the comment of a line."""
    code, slashes, comment = line.partition("//")
    return code.rstrip(), comment.strip() if slashes else ""


def statements(body):
    """(text, doc) of each declaration in the body of a struct or an enum: `doc` is the comment before it, or behind it."""
    found, code, before, after = [], "", [], []
    for raw in [*body.split("\n"), ""]:
        text, comment = split_comment(raw)
        if not text.strip():
            if not comment:
                if not code:
                    before = []
                continue
            if not code and found and raw.startswith(" " * 20):  # it goes on from the line above
                found[-1] = (found[-1][0], f"{found[-1][1]} {comment}".strip())
            elif not code:
                before.append(comment)
            else:
                after.append(comment)
            continue
        code += " " + text.strip()
        if comment:
            after.append(comment)
        depth = code.count("{") - code.count("}")
        if depth == 0 and code.rstrip().endswith((";", "}")):
            found.append((code.strip(), " ".join([*before, *after])))
            code, before, after = "", [], []
    if code.strip():
        raise SystemExit(f"cannot read: {code}")
    return found


def enum_name(value):
    words = re.findall(r"[A-Z0-9]+(?![a-z])|[A-Z][a-z0-9]*|[a-z0-9]+", value.removeprefix("k"))
    return "_".join(words).upper()


def parse_enum(name, cpp, body, doc):
    made = Enum(name, cpp, doc)
    for line in body.split("\n"):
        code, comment = split_comment(line)
        values = re.findall(r"\b(k\w+)\b(?:\s*=\s*\d+)?\s*(?:,|$)", code)
        for value in values:
            made.values.append((value, comment if len(values) == 1 else ""))
        if not values and comment and made.values and not code.strip():
            value, said = made.values[-1]
            made.values[-1] = (value, f"{said} {comment}".strip())
    return made


def declarators(text):
    """Type and names of `type a = 1, b;`; None for a function or what is no data member."""
    text = text.rstrip(";").strip()
    depth, parts, last = 0, [], 0
    for i, letter in enumerate(text):
        depth += letter in "<({[" and not text.startswith("<=", i)
        depth -= letter in ">)}]"
        if letter == "," and depth == 0:
            parts.append(text[last:i])
            last = i + 1
    parts.append(text[last:])
    first = re.fullmatch(r"(?P<type>[\w:]+(?:<.*?>)?(?:<.*>)?)\s+(?P<name>\w+)\s*(?:=.*)?", parts[0].strip(), re.S)
    if not first:
        # A template type with spaces and commas inside.
        first = re.fullmatch(r"(?P<type>[\w:]+<.*>)\s+(?P<name>\w+)\s*(?:=.*)?", parts[0].strip(), re.S)
    if not first:
        return None
    names = [first["name"]]
    for part in parts[1:]:
        more = re.fullmatch(r"(\w+)\s*(?:=.*)?", part.strip(), re.S)
        if not more:
            return None
        names.append(more[1])
    return first["type"], names


METHOD = re.compile(r"(?:THAW_API )?(bool|std::string|int64_t) (\w+)\(\) const(?:;| \{.*\})", re.S)
SKIPPED = re.compile(r"bool operator==|friend |static |using |explicit |enum |std::shared_ptr<|std::function<.*&.*Session")


def parse_struct(name, body, doc):
    made = Struct(name, doc)

    def take_enum(match):
        made.enums.append(parse_enum(name + match["name"], f"{name}::{match['name']}", match["body"], ""))
        return ""

    body = re.sub(r"enum class (?P<name>\w+)[^{]*\{(?P<body>[^}]*)\};", take_enum, body)
    for text, said in statements(body):
        if method := METHOD.fullmatch(text):
            made.properties.append(Field(method[2], method[1], said))
        elif not SKIPPED.match(text):
            found = declarators(text)
            if found is None:
                raise SystemExit(f"{name}: cannot read: {text}")
            for member in found[1]:
                made.fields.append(Field(member, found[0], said))
    return made


TOP = re.compile(r"(?P<doc>(?://[^\n]*\n)*)(?P<kind>struct|enum class)(?: THAW_API)? (?P<name>\w+)(?: : \w+)? \{"
                 r"(?P<body>[^\n]*?(?=\};)|.*?\n(?=\};))\};", re.S)


def parse_header(text):
    """Enums and structs in order, and the names of the types with to_json, to_text and to_html of their own."""
    found = []
    for match in TOP.finditer(text):
        doc = " ".join(line.removeprefix("//").strip() for line in match["doc"].splitlines())
        name = match["name"]
        if name in LEFT_OUT:
            continue
        body = match["body"]
        if match["kind"] == "struct":
            found.append(parse_struct(name, body, doc))
        else:
            found.append(parse_enum(name, name, body, doc))
    writers = {kind: set(re.findall(rf"to_{kind}\(const (\w+)&[^,)]*(?:, const TextOptions&[^,)]*)?\)", text))
               for kind in ("json", "text", "html")}
    texts_with_options = set(re.findall(r"to_text\(const (\w+)&[^,)]*, const TextOptions&", text))
    return found, writers, texts_with_options


def literal(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def write_enum(enum):
    lines = [f'  nb::enum_<{enum.cpp}>(m, "{enum.name}", {literal(enum.doc)})']
    lines += [f'      .value("{enum_name(value)}", {enum.cpp}::{value}, {literal(doc)})' for value, doc in enum.values]
    return "\n".join(lines) + ";\n"


def table_fields(struct):
    """Names of fields that are lists of structs."""
    return {each.name for each in struct.fields if re.fullmatch(r"std::vector<[A-Z]\w*>", each.type)}


def write_struct(struct, writers, texts_with_options):
    is_option = struct.name.endswith("Options") or struct.name in ("Output", "Tolerance", "ValueRange", "ImageSize", "PlannedNode",
                                                                   "LiftTrace", "InputValues", "RuleChoice", "Limits", "MixedPlan")
    lines = [f'  nb::class_<{struct.name}>(m, "{struct.name}", {literal(struct.doc)})']
    if is_option:
        lines.append("      .def(nb::init<>())")
    names = []
    for each in struct.fields:
        name = RENAMED.get(each.name, each.name) if struct.name in RESULTS or struct.name.endswith("Report") else each.name
        name += "_" * keyword.iskeyword(name)
        names.append(name)
        if is_option:
            lines.append(f'      .def_rw("{name}", &{struct.name}::{each.name}, {literal(each.doc)})')
        else:
            lines.append(f'      .def_ro("{name}", &{struct.name}::{each.name}, {literal(each.doc)})')
    for each in struct.properties:
        lines.append(f'      .def_prop_ro("{each.name}", [](const {struct.name}& self) {{ return self.{each.name}(); }}, '
                     f'{literal(each.doc)})')
    if struct.name in writers["json"]:
        lines.append(f'      .def("to_json", [](const {struct.name}& self) {{ return to_json(self); }}, '
                     f'"What the command prints with --format json.")')
    lines.append('      .def("__repr__", [](nb::handle self) { return to_repr(self); })')
    if struct.name in writers["text"]:
        with_options = struct.name in texts_with_options
        if with_options and struct.name in EXPLAINED:
            lines.append(f'      .def("to_text", [](const {struct.name}& self, bool all, bool explain) {{ '
                         'return to_text(self, TextOptions{.all = all || explain, .explain = explain}); }, '
                         'nb::kw_only(), nb::arg("all") = false, nb::arg("explain") = false, "What the command prints; `all`: every '
                         'item of long lists; `explain`: also why the remaining patterns were not fused.")')
        elif with_options:
            lines.append(f'      .def("to_text", [](const {struct.name}& self, bool all) {{ '
                         'return to_text(self, TextOptions{.all = all}); }, '
                         'nb::kw_only(), nb::arg("all") = false, "What the command prints; `all`: every item of long lists.")')
        lines.append(f'      .def("__str__", [](const {struct.name}& self) {{ return to_text(self); }})')
    if struct.name in writers["html"]:
        lines.append(f'      .def("to_html", [](const {struct.name}& self) {{ return to_html(self); }}, '
                     f'"The page that the command writes with --report, one file that needs no network.")')
        lines.append(f'      .def("_repr_html_", [](const {struct.name}& self) {{ return to_notebook(to_html(self)); }})')
    if not is_option and (main_list := next((name for name in MAIN if name in table_fields(struct)), None)):
        lines.append(f'      .def("to_pandas", [](nb::handle self) {{ return to_table(self, "{main_list}"); }}, '
                     f'nb::sig("def to_pandas(self) -> typing.Any"), "`{main_list}` as a pandas.DataFrame, a row each.")')
    if struct.name in EXTRA:
        lines.append(EXTRA[struct.name])
    names += [each.name for each in struct.properties]
    listed = ", ".join(f'"{name}"' for name in names)
    lines.append(f'      .attr("_fields") = nb::make_tuple({listed})')
    text = "\n".join(lines) + ";\n"
    if struct.name in RESULTS:
        text += f'  bind_result<{struct.name}>(m, "{RESULTS[struct.name]}");\n'
    return text


def main():
    out, headers = Path(sys.argv[1]), [Path(p) for p in sys.argv[2:]]
    out.mkdir(parents=True, exist_ok=True)
    by_name = {h.name: h.read_text("utf-8") for h in headers}
    order, seen = [], set()

    def visit(name):
        if name in seen or name not in by_name:
            return
        seen.add(name)
        for needed in re.findall(r'#include "thaw/(\w+\.h)"', by_name[name]):
            visit(needed)
        order.append(name)

    for name in sorted(by_name):
        visit(name)
    functions = []
    for name in order:
        found, writers, texts_with_options = parse_header(by_name[name])
        stem = name.removesuffix(".h")
        path = out / f"bind_{stem}.cc"
        body = []
        for each in found:
            if isinstance(each, Struct):
                body += [write_enum(enum) for enum in each.enums]
                body.append(write_struct(each, writers, texts_with_options))
            else:
                body.append(write_enum(each))
        text = ('#include "casters.h"\n#include "result.h"\n\n'
                f'#include "thaw/{name}"\n\nnamespace thaw::python {{\n\nvoid bind_{stem}([[maybe_unused]] nb::module_& m) {{\n'
                + "".join(body) + "}\n\n}  // namespace thaw::python\n")
        write_if_different(path, text)
        functions.append(f"bind_{stem}")
    text = "#pragma once\n\n#include <nanobind/nanobind.h>\n\nnamespace thaw::python {\n\n"
    text += "".join(f"void {function}(nanobind::module_& m);\n" for function in functions)
    text += "\n// In an order in which each type comes before those that have it as a member.\ninline void bind_structs(nanobind::module_& m) {\n"
    text += "".join(f"  {function}(m);\n" for function in functions) + "}\n\n}  // namespace thaw::python\n"
    write_if_different(out / "bindings.h", text)


def write_if_different(path, text):
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
