"""No character that cannot be seen comes out raw where people read: each of Unicode's formats, controls and separators in each kind of name, by every verb."""
import csv
import json
import re
import subprocess
import sys
import unicodedata

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from conftest import validate

F = TensorProto.FLOAT
# NUL ends a text of protobuf for some readers, and no file has it in its name.
HIDDEN = [chr(code) for code in range(1, sys.maxunicode + 1) if unicodedata.category(chr(code)) in ("Cf", "Cc", "Zl", "Zp")]
ALSO = ["\u00a0", "\u2003", "\u3000", "\ufe0f", "\u034f", "\u115f", "\u3164", "\ue000", "\U000e01ef", "\ufffe", "\u0378"]
EVERY = [*HIDDEN, *ALSO]
# A line break ends the lines that Thaw itself prints; a name's is caught by the marks around it.
RAW = re.compile("(?!\n)[" + "".join(re.escape(c) for c in EVERY) + "]|<[\n]>|<\r>|<\t>")
# In each name the character stands in angle brackets, so that its absence, too, can be told from its not being printed.
assert len(HIDDEN) > 220


def named(kind, c):
    return f"{kind}<{c}>"


def wide_model():
    """A node, a value, a weight, a size, an operator, a domain and an attribute for each character, with something to find in most."""
    nodes, inputs, outputs, weights, infos, domains = [], [], [], [], [], set()
    for i, c in enumerate(EVERY):
        x, y, z, w = (named(kind, c) for kind in ("in", "out", "other", "weight"))
        size = named("size", c)
        inputs.append(helper.make_tensor_value_info(x, F, [size, 4]))
        if i % 2 == 0:
            nodes.append(helper.make_node("Reshape", [x, w], [y], name=named("node", c)))
            weights.append(numpy_helper.from_array(np.array([3, 4], np.int64), w))
        else:
            nodes.append(helper.make_node(named("Op", c), [x], [y], name=named("node", c), domain=named("domain", c),
                                          **{named("attribute", c): named("value", c)}))
            domains.add(named("domain", c))
            weights.append(numpy_helper.from_array(np.ones(4, np.float32), w))
            nodes.append(helper.make_node("Add", [x, w], [z], name=named("add", c)))
            outputs.append(helper.make_tensor_value_info(z, F, [size + "b", 4]))
            infos.append(helper.make_tensor_value_info(z, F, None))
        outputs.append(helper.make_tensor_value_info(y, F, [named("declared", c), 4]))
    graph = helper.make_graph(nodes, named("graph", "\u202e"), inputs, outputs, weights, doc_string=named("doc", "\u200b"))
    opsets = [helper.make_opsetid("", 17), *(helper.make_opsetid(domain, 1) for domain in sorted(domains))]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name=named("producer", "\u200b"),
                             producer_version=named("version", "\u2028"))
    helper.set_model_props(made, {named("key", c): named("prop", c) for c in EVERY})
    return made


def chains():
    """Runs in ONNX Runtime: a chain of Relus for each character, so that each name reaches what runs models too."""
    nodes, inputs, outputs, weights = [], [], [], []
    for c in EVERY:
        x, y, w, z = (named(kind, c) for kind in ("in", "out", "weight", "end"))
        inputs.append(helper.make_tensor_value_info(x, F, [named("size", c), 4]))
        outputs.append(helper.make_tensor_value_info(z, F, [named("size", c), 4]))
        weights.append(numpy_helper.from_array(np.eye(4, dtype=np.float32), w))
        nodes += [helper.make_node("MatMul", [x, w], [y], name=named("product", c)), helper.make_node("Relu", [y], [z], name=named("node", c))]
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def shown(text, what):
    found = RAW.search(text)
    assert not found, f"{what}: U+{ord(found[0].strip('<>') or found[0][1]):04X} in {text[max(0, found.start() - 80):found.end() + 20]!r}"


def exact(value):
    """All strings of what JSON held."""
    if isinstance(value, dict):
        return {text for pair in value.items() for one in pair for text in exact(one)}
    if isinstance(value, list):
        return {text for one in value for text in exact(one)}
    return {value} if isinstance(value, str) else set()


def said(thaw, *call, code=(0, 1, 2), files=(), **kw):
    run = thaw(*call, code=code, **kw)
    assert "internal error" not in run.stderr and "see `thaw" not in run.stderr, run.stderr
    for name, text in [("stdout", run.stdout), ("stderr", run.stderr), *((file.name, file.read_text("utf-8")) for file in files if file.exists())]:
        shown(text, f"{call[0]} {name}")
    return run


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    path = tmp_path_factory.mktemp("hidden") / "wide.onnx"
    onnx.save(wide_model(), path)
    return path


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    path = tmp_path_factory.mktemp("hidden") / "runs.onnx"
    onnx.save(chains(), path)
    return path


WRITES = {verb: ["-o", "out", "--no-check"] for verb in ("lift", "batch", "fix", "optimize", "convert", "split", "pin")}
CALLS = [["inspect"], ["inspect", "--tensors", "--weights", "--cost"], ["check", "--all"], ["check", "--target", "directml", "--all"], ["diff"],
         ["fix", "--all"], ["batch", "--allow-loop"], ["optimize"], ["convert", "--to", "f16"], ["convert", "--to", "int8", "--dynamic"],
         ["convert", "--to", "int4"], ["split", "--parts", "2"], ["run", "--random"], ["verify"], ["lift", "--all"]]


@pytest.mark.parametrize("call", CALLS, ids=" ".join)
@pytest.mark.parametrize("of", ["wide", "runs"])
def test_no_verb_prints_them(thaw, request, tmp_path, call, of):
    path = request.getfixturevalue(of)
    verb, *options = call
    given = {"diff": [path, tmp_path / "other.onnx"], "verify": [path, "--against", path], "lift": [path, path]}.get(verb, [path])
    if verb == "diff":
        changed = onnx.load(path)
        for node in changed.graph.node:
            node.name += "<\u202e>"
        changed.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.zeros(2, np.int64), changed.graph.initializer[0].name))
        del changed.graph.output[1]
        onnx.save(changed, tmp_path / "other.onnx")
    if verb in WRITES:
        writes, out, *no_check = WRITES[verb]
        options += [writes, tmp_path / (out if verb == "split" else "out.onnx"), *no_check]
    page = tmp_path / "page.html"
    code = {0, 1} if of == "runs" and verb != "lift" else {0, 1, 2}
    said(thaw, verb, *given, *options, *(["--report", page] if verb != "run" else []), files=[page], code=code)
    assert page.exists() or verb in ("run", "lift") or of == "wide"
    for format in ("sarif", "github") if verb == "check" else ():
        log = said(thaw, verb, *given, *options, "--format", format).stdout
        for text in exact(json.loads(log)) if format == "sarif" else ():
            shown(text, "a string of SARIF")
    run = said(thaw, verb, *given, *options, "--format", "json")
    if verb in ("inspect", "check", "diff"):
        report = json.loads(run.stdout)
        validate(report, verb)
        # Exact names, and so the characters.
        missing = [c for c in EVERY if not any(f"<{c}>" in text for text in exact(report))] if "--tensors" in options else []
        assert not missing, missing


def test_sensitivity_writes_them_shown(thaw, save, tmp_path):
    """CSV, the page and report.json, whose names are exact."""
    few = EVERY[::9]
    x = "x"
    nodes = [helper.make_node("MatMul", [x if i == 0 else named("out", few[i - 1]), named("weight", c)], [named("out", c)], name=f"/{named('layer', c)}/{named('n', c)}")
             for i, c in enumerate(few)]
    weights = [numpy_helper.from_array((np.eye(32) + 0.1 * np.random.default_rng(i).standard_normal((32, 32))).astype(np.float32), named("weight", c))
               for i, c in enumerate(few)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F, [2, 32])],
                              [helper.make_tensor_value_info(named("out", few[-1]), F, [2, 32])], weights)
    path = save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    (tmp_path / "data").mkdir()
    np.savez(tmp_path / "data" / "0.npz", x=np.random.default_rng(0).standard_normal((2, 32)).astype(np.float32))
    out = tmp_path / "report"
    said(thaw, "sensitivity", path, "--data", tmp_path / "data", "--to", "int4", "-o", out, code=0)
    written = [file for file in out.iterdir() if file.suffix in (".csv", ".json", ".html", ".jsonl")]
    assert {file.suffix for file in written} >= {".csv", ".json", ".html"}
    for file in written:
        shown(file.read_text("utf-8").replace("\r\n", "\n"), file.name)
    names = {unit["name"] for unit in json.loads((out / "report.json").read_text())["units"]}
    assert all(any(f"<{c}>" in name for name in names) for c in few)
    with open(out / "errors.csv", newline="") as file:
        assert all("<\\" in row["name"] for row in csv.DictReader(file))
    said(thaw, "plan", out, "--max-bytes", "1", "-o", tmp_path / "plan.json", files=[tmp_path / "plan.json"])


def test_names_of_files_are_shown(thaw, runs, tmp_path):
    """In what is printed, in errors, and in what a command suggests."""
    letters = [c for c in EVERY if c != "/"]
    for i in range(0, len(letters), 60):
        path = tmp_path / ("".join(letters[i:i + 60]) + ".onnx")
        path.write_bytes(runs.read_bytes())
        said(thaw, "inspect", path, code=0)
        said(thaw, "check", path)
        log = said(thaw, "check", path, "--format", "sarif").stdout
        for text in exact(json.loads(log)):
            shown(text, "a string of SARIF")
        said(thaw, "optimize", path, "-o", tmp_path / ("o" + path.name), "--no-check")
        path.write_bytes(b"\xff\xff")
        for call in (["inspect"], ["check"], ["run"], ["inputs", "--for", "qwen2_5_vl", "-o", tmp_path / "in.npz"]):
            said(thaw, *call, path, code=2)
        said(thaw, "inspect", path.with_suffix(".none"), code=2)
        shown(thaw("check", path, f"--{path.stem}", code=2).stderr, "an unknown option")
        said(thaw, "run", path, "--values", f"{path.stem}=1", code=2)


def test_bytes_that_are_no_text_are_shown(wide, tmp_path, thaw):
    """Protobuf's texts may hold any bytes; what is printed is UTF-8, with each of those as an escape."""
    bad, page = tmp_path / "bad.onnx", tmp_path / "page.html"
    broken = wide.read_bytes().replace("<\u0378>".encode(), b"<\xff\xfe>")
    assert broken.count(b"<\xff\xfe>") > 5
    bad.write_bytes(broken)
    for call in (["inspect", "--tensors", "--weights"], ["check", "--all"], ["check", "--format", "github"], ["check", "--format", "sarif"],
                 ["diff", wide], ["inspect", "--format", "json", "--tensors"]):
        run = subprocess.run([thaw.path, *call, bad], capture_output=True, check=False)
        text = (run.stdout + run.stderr).decode()  # strictly
        shown(text, call)
        assert r"<\xff\xfe>" in text or r"<\ufffd\ufffd>" in text or r"<\\xff\\xfe>" in text, call
    said(thaw, "inspect", bad, "--report", page, files=[page])


def test_checkpoints_show_theirs(thaw, tmp_path):
    """Names of tensors and of kinds."""
    header = json.dumps({named("tensor", c): {"dtype": "F32", "shape": [1], "data_offsets": [4 * i, 4 * i + 4]} for i, c in enumerate(EVERY)})
    weights = len(header).to_bytes(8, "little") + header.encode() + bytes(4 * len(EVERY))
    for config in ({"model_type": named("type", "".join(EVERY))}, {"model_type": "llama", "hidden_size": named("size", "".join(EVERY))},
                   {"model_type": "qwen2_vl", "architectures": [named("architecture", "".join(EVERY))]}):
        (tmp_path / "config.json").write_text(json.dumps(config))
        (tmp_path / "model.safetensors").write_bytes(weights)
        said(thaw, "build", tmp_path, "-o", tmp_path / "built", code=2)
        broken = header.replace("[1]", "[7]", 1)
        (tmp_path / "model.safetensors").write_bytes(len(broken).to_bytes(8, "little") + broken.encode() + bytes(4 * len(EVERY)))
        said(thaw, "build", tmp_path, "-o", tmp_path / "built", code=2)


@pytest.mark.parametrize("text", ['{"<%s>": 1}', '"<%s>"', '{"schema": 1, "model": "<%s>", "units": [{"name": "<%s>"}]}', "<%s>"])
def test_files_of_other_kinds_show_theirs(thaw, runs, tmp_path, text):
    """Of JSON, lists and settings."""
    every = "".join(c for c in EVERY if ord(c) >= 0x20)
    file = tmp_path / "plan.json"
    file.write_text(text.replace("%s", every), "utf-8")
    for call in (["convert", runs, "--plan", file, "-o", tmp_path / "o.onnx"], ["plan", tmp_path, "-o", tmp_path / "p.json"], ["build", tmp_path, "-o", tmp_path / "b"],
                 ["check", runs, "--config", file], ["verify", runs, "--against", file], ["run", runs, "--input", f"x={file}"]):
        for name in ("report.json", "config.json"):
            (tmp_path / name).write_text(file.read_text("utf-8"), "utf-8")
        said(thaw, *call, code=2)
