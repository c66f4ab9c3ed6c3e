"""--report of thaw lift, thaw batch and thaw convert: a page that says all that the JSON says, and a file that is whole or not there."""
import html.parser
import json
import os
import re

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from conftest import session
from int8_nets import block
from models import scrfd, vit
from models.families import BY_NAME

VOID = {"meta", "link", "br", "hr", "img", "input", "wbr"}
HOSTILE = """</code></table><script>alert('x')</script><img src=x onerror="alert(1)">&lt;"""
TURNED = "a\u202eb\u2066c"


class Page(html.parser.HTMLParser):
    """The page's text, its elements and its tables; fails where elements do not nest."""

    def __init__(self, path):
        super().__init__()
        self.text, self.elements, self.attributes, self.tables, self.numbers = "", set(), [], [], []
        self.open = []
        self.source = path.read_text("utf-8")
        self.feed(self.source)
        self.close()
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag, attributes):
        self.elements.add(tag)
        self.attributes += attributes
        if tag not in VOID:
            self.open.append(tag)
        if tag == "data":
            self.numbers.append(float(dict(attributes)["value"]))
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data):
        if "style" in self.open:
            return
        self.text += data
        if self.open and ("td" in self.open or "th" in self.open):
            self.tables[-1][-1][-1] += data

    def rows(self, heading):
        """The rows below the table head that begins with these words, as dicts by column."""
        for table in self.tables:
            if table[0][:len(heading)] == heading:
                return [dict(zip(table[0], row, strict=True)) for row in table[1:]]
        raise AssertionError(f"no table {heading} among {[t[0] for t in self.tables]}")


def leaves(value):
    if isinstance(value, dict):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def assert_says_all(page, report):
    """Every text and number of the JSON is on the page; a size's values stand in cells of their own, before a remark."""
    sizes = [{**note, "message": note["message"].removeprefix(", ".join(note["values"])).removeprefix(": ")}
             for note in report.get("symbols", [])]
    report = {**report, "symbols": sizes}
    for leaf in leaves(report):
        if isinstance(leaf, bool) or leaf is None:
            continue
        if isinstance(leaf, (int, float)):
            in_sentences = (str(leaf), f"{leaf:,}", *([f"{leaf:.2g}"] if isinstance(leaf, float) else []))
            assert leaf in page.numbers or any(text in page.text for text in in_sentences), leaf
        else:
            for part in leaf.split(" -> "):
                assert part in page.text, part


def traces(save, tmp_path, family, sizes=None):
    paths, values = [], {}
    for size in sizes or family.sizes:
        paths.append(save(family.static(*size), "trace_" + "x".join(map(str, size))))
        values[paths[-1].name] = {
            name: dict(shape=list(value.shape)) if value.dtype.kind == "f" or value.size > 64 else value.tolist()
            for name, value in family.feeds(*size).items()}
    (tmp_path / "values.json").write_text(json.dumps(values))
    return [*paths, "--trace-values", tmp_path / "values.json"]


def twice(thaw, tmp_path, *args, code=0):
    """The page and the JSON of one call each; the JSON report is what --format json prints."""
    page, data = tmp_path / "report.html", tmp_path / "report.json"
    thaw(*args, "-o", tmp_path / "out.onnx", "--report", page, code=code)
    printed = thaw(*args, "-o", tmp_path / "out.onnx", "--report", data, "--format", "json", code=code).stdout
    assert data.read_text() == printed
    return Page(page), json.loads(printed)


def leftovers(folder):
    return [name for name in os.listdir(folder) if name.endswith(".tmp")]


@pytest.mark.parametrize("name", ["text_decoder", "ocr", "vit_resize"])
def test_the_page_of_lifting_says_what_the_json_says(thaw, save, tmp_path, name):
    page, report = twice(thaw, tmp_path, "lift", *traces(save, tmp_path, BY_NAME[name]))
    assert_says_all(page, report)
    assert len(report["traces"]) == 3 and len(report["checks"]) == 3
    assert all(check["agrees"] and check["inputs"] for check in report["checks"])
    assert "written" in page.text


def test_the_evidence_stands_beside_the_expression(thaw, save, tmp_path):
    page, report = twice(thaw, tmp_path, "lift", *traces(save, tmp_path, BY_NAME["text_decoder"]))
    names = [trace["model"] for trace in report["traces"]]
    solved = {(row["became"], *(row[name] for name in names)): row for row in page.rows(["became"])}
    assert len(solved) < len(report["lifted"]), "equal explanations stand together"
    for note in report["lifted"]:
        row = solved[(note["message"], *note["values"])]
        assert note["where"] in row["where"]
    assert sum(int(row["locations"]) for row in solved.values()) == len(report["lifted"])
    # A list of integers: the sizes that the expression names, put in, give what each trace had.
    sizes = {size["name"]: [int(text) for text in size["values"]] for size in report["symbols"]}
    lists = [note for note in report["lifted"] if re.fullmatch(r"\[[\w, -]+\]", note["message"])]
    assert lists
    for note in lists:
        for k, text in enumerate(note["values"]):
            assert eval(note["message"], {}, {name: at[k] for name, at in sizes.items()}) == json.loads(text)


def test_what_is_said_of_a_size_besides_its_values_is_on_the_page(thaw, save, tmp_path):
    """One that is the same in all traces."""
    family = BY_NAME["vision_tower_angles"]
    page, report = twice(thaw, tmp_path, "lift", *traces(save, tmp_path, family), "--add-input", "grid_thw:int64[1,3]")
    said = [note for note in report["symbols"] if len(set(note["values"])) == 1 and "unobserved" in note["message"]]
    assert said
    rows = {row["size"]: row for row in page.rows(["size"])}
    for note in said:
        assert rows[note["name"]]["remark"] and note["message"].endswith(rows[note["name"]]["remark"])


def test_sizes_of_the_traces_are_told(thaw, save, tmp_path):
    family = BY_NAME["text_decoder"]
    page, report = twice(thaw, tmp_path, "lift", *traces(save, tmp_path, family))
    for size, trace, row in zip(family.sizes, report["traces"], page.rows(["trace", "inputs"])[:3], strict=True):
        shapes = {name: list(value.shape) for name, value in family.feeds(*size, for_static=True).items()}
        told = {i["name"]: json.loads(re.search(r"\[.*?\]", i["type"])[0]) for i in trace["inputs"] if "[" in i["type"]}
        assert told == shapes
        assert all(i["type"] in row["inputs"] for i in trace["inputs"])


def test_what_is_not_explained_is_on_the_page_and_nothing_is_written(thaw, save, tmp_path):
    """A table of numbers that no generator makes."""
    paths = []
    for k, rows in enumerate((6, 10, 14)):
        table = np.random.default_rng(k).standard_normal((rows, 4)).astype(np.float32)
        x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [rows, 4]) for n in "xy")
        graph = helper.make_graph([helper.make_node("Add", ["x", "odd"], ["y"], name="add")], "g", [x], [y],
                                  [numpy_helper.from_array(table, "odd")])
        paths.append(save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), f"t{rows}"))
    page, report = twice(thaw, tmp_path, "lift", *paths, code=1)
    assert report["output"] is None and not (tmp_path / "out.onnx").exists()
    assert [note["values"] for note in report["unexplained"]] == [["float32[6,4]", "float32[10,4]", "float32[14,4]"]]
    assert_says_all(page, report)
    assert "'odd'" in page.rows(["why"])[0]["where"] and "not written" in page.text


def test_a_result_that_differs_from_a_trace_is_not_written(thaw, save, tmp_path):
    """A weight differs in a place that aligning does not look at: of large tensors it compares some pages."""
    paths = []
    for rows in (6, 10, 14):
        weight = np.random.default_rng(3).standard_normal((1024, 512)).astype(np.float32)
        weight[5, 8] += 3 * (rows == 14)
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, 1024])
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2 * rows, 256])
        nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Reshape", ["p", "shape"], ["y"], name="cut")]
        graph = helper.make_graph(nodes, "g", [x], [y], [numpy_helper.from_array(weight, "w"),
                                                         numpy_helper.from_array(np.array([2 * rows, 256]), "shape")])
        paths.append(save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), f"t{rows}"))
    page, report = twice(thaw, tmp_path, "lift", *paths, code=1)
    assert [check["agrees"] for check in report["checks"]] == [True, True, False]
    assert "output 'y' differs: max abs diff" in report["checks"][2]["message"]
    assert report["output"] is None and not (tmp_path / "out.onnx").exists()
    assert_says_all(page, report)
    verdicts = [row["verdict"] for row in page.rows(["trace", "inputs", "max abs diff"])]
    assert verdicts[:2] == ["agrees"] * 2 and verdicts[2].startswith("differs: ")
    text = thaw("lift", *paths, "-o", tmp_path / "out.onnx", code=1).stdout
    assert "DIFFERS from t14.onnx" in text and "nothing was written" in text
    thaw("lift", *paths, "-o", tmp_path / "out.onnx", "--no-check", code=0)


def test_the_page_of_batching_says_what_the_json_says(thaw, save, tmp_path):
    page, report = twice(thaw, tmp_path, "batch", save(scrfd.model()))
    assert_says_all(page, report)
    nodes = {row["operator"]: row for row in page.rows(["operator"])}
    for kind, column in (("unchanged", "unchanged"), ("rewritten", "rewritten"), ("independent", "independent")):
        assert sum(int(row[column]) for row in nodes.values()) == report["nodes"][kind]
    assert int(nodes["Transpose"]["rewritten"]) == 9 and int(nodes["Conv"]["rewritten"]) == 0
    ports = {row["name"]: row for row in page.rows(["", "name"])}
    assert ports["input.1"]["one sample"] != ports["input.1"]["over a batch"]
    assert len(ports) == 10
    # The sizes of the check are distinct, and it ran on three samples.
    assert len(report["checks"]) == 2
    for check in report["checks"]:
        count, _, height, width = map(int, re.findall(r"\d+", check["inputs"]["input.1"].split("[")[1]))
        assert count == 3 and len({count, height, width, 1}) == 4


@pytest.mark.parametrize("options", [["--to", "int4", "--keep", "*Erf*"], ["--to", "int3", "--no-check"], ["--to", "f16"]])
def test_the_page_of_converting_says_what_the_json_says(thaw, save, tmp_path, options):
    page, report = twice(thaw, tmp_path, "convert", save(block()), *options)
    said = {"converted": [note["message"] for note in report["converted"]],
            "comparisons": [{**one, "dataset": None} for one in report["comparisons"]],
            "layers": report["layers"] and {**report["layers"], "dataset": None}}
    assert_says_all(page, {**report, **said})
    assert sum(int(row["nodes"]) for row in page.rows(["what", "nodes"]) if row["what"]) >= len(report["converted"]) > 0
    assert bool(report["comparisons"]) == ("--no-check" not in options)
    strip = re.findall(r'<span class="h\d"><b>(.*?)</b>', (tmp_path / "report.html").read_text())
    layers = report["layers"]["layers"] if report["layers"] else []
    assert strip == [*dict.fromkeys(error["output"] for error in report["comparisons"]), *(layer["node"] for layer in layers)]


def test_the_page_tells_inputs_that_samples_share(thaw, save, tmp_path):
    """Also from one that is called batch already."""
    x, w, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, ["batch", 4] if n != "w" else [1, 4]) for n in "xwy")
    graph = helper.make_graph([helper.make_node("Mul", ["x", "w"], ["y"])], "g", [x, w], [y])
    path = save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9))
    page, _ = twice(thaw, tmp_path, "batch", path, "--inputs", "x")
    told = {row["name"]: row["over a batch"] for row in page.rows(["", "name"])}
    assert told == {"x": "float32[batch, 4]", "w": "the same for all samples", "y": "float32[batch, 4]"}


def test_batching_compares_with_the_model_sample_by_sample(thaw, save, tmp_path):
    """The figure is the one that ONNX Runtime gives here: a model whose batched form is not the same to the last bit."""
    report = thaw.json("batch", save(vit.static(12, 20, kind="table")), "-o", tmp_path / "out.onnx", code=0)
    assert [check["agrees"] for check in report["checks"]] == [True]
    assert 0 <= report["checks"][0]["max_abs_diff"] < 1e-4 * report["checks"][0]["max_abs_expected"]


def chance(node, name="chance"):
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 4]) for n in "xy")
    graph = helper.make_graph([node], name, [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("custom", 1)], ir_version=9)


def test_a_model_that_does_not_run_here_is_not_written_and_said_to_be_unchecked(thaw, save, tmp_path):
    """Its reshape fits no size: the model fails by itself, whatever the batch."""
    x, y = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 6]), helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    rows = helper.make_tensor_value_info("rows", TensorProto.INT64, [1])
    nodes = [helper.make_node("Gather", ["x", "rows"], ["g"], axis=1), helper.make_node("Add", ["g", "x"], ["y"])]
    model = helper.make_model(helper.make_graph(nodes, "g", [x, rows], [y]), opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path = save(model)
    page, report = twice(thaw, tmp_path, "batch", path, "--inputs", "x", "--values", "rows=77", code=1)
    assert report["checks"] == [] and "does not run here" in report["not_compared"][0]
    assert not (tmp_path / "out.onnx").exists() and "Not checked" in page.text and "not written" in page.text
    # With a row that is there it runs, and is checked.
    assert thaw.json("batch", path, "-o", tmp_path / "out.onnx", "--inputs", "x", "--values", "rows=5", code=0)["checks"]


def test_a_model_that_memory_does_not_hold_is_not_run(thaw, tmp_path):
    """A terabyte of weights, all of it a hole in a file."""
    side, paths = 1 << 19, []
    with open(tmp_path / "w.data", "wb") as file:
        try:
            file.truncate(4 * side * side)
        except OSError as error:
            pytest.skip(f"no file of a terabyte here: {error}")
    for rows in (1, 5, 7):
        weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[side, side], data_location=TensorProto.EXTERNAL)
        for key, value in (("location", "w.data"), ("offset", "0"), ("length", str(4 * side * side))):
            weight.external_data.add(key=key, value=value)
        x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [rows, side]) for n in "xy")
        nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Reshape", ["p", "shape"], ["y"])]
        graph = helper.make_graph(nodes, "g", [x], [y], [weight, numpy_helper.from_array(np.array([rows, side]), "shape")])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        paths.append(tmp_path / f"t{rows}.onnx")
        paths[-1].write_bytes(model.SerializeToString())
    report = thaw.json("batch", paths[0], "-o", tmp_path / "out.onnx", code=1)
    assert report["checks"] == [] and "1099.5 GB" in report["not_compared"][0] and not (tmp_path / "out.onnx").exists()
    assert thaw.json("batch", paths[0], "-o", tmp_path / "out.onnx", "--no-check", code=0)["output"]
    message = thaw.error("lift", *paths[1:], "-o", tmp_path / "lifted.onnx")
    assert "1099.5 GB" in message and "--no-check" in message and not (tmp_path / "lifted.onnx").exists()
    assert thaw.json("lift", *paths[1:], "-o", tmp_path / "lifted.onnx", "--no-check", code=0)["output"]


def test_no_check_is_said(thaw, save, tmp_path):
    page, report = twice(thaw, tmp_path, "batch", save(scrfd.model()), "--no-check")
    assert report["checks"] == [] and "--no-check" in report["not_compared"][0] and "--no-check" in page.text


@pytest.mark.parametrize("name", [HOSTILE, TURNED, "a\x1b[31mb", "größe 大"])
def test_names_are_shown_as_text(thaw, save, tmp_path, name):
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 5]) for n in (name, name + "y"))
    node = helper.make_node("Relu", [name], [name + "y"], name=name)
    path = save(helper.make_model(helper.make_graph([node], name, [x], [y]), opset_imports=[helper.make_opsetid("", 17)], ir_version=9))
    page = tmp_path / "report.html"
    thaw("batch", path, "-o", tmp_path / "out.onnx", "--report", page, code=0)
    read = Page(page)
    assert not read.elements & {"script", "img", "iframe", "a", "link"}
    assert not [a for a, _ in read.attributes if a.startswith("on") or a in ("href", "src")]
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", read.source)
    if name in (HOSTILE, "größe 大"):
        assert name in read.text


def test_a_page_needs_nothing_else(thaw, save, tmp_path):
    page, _ = twice(thaw, tmp_path, "batch", save(scrfd.model()))
    assert "http" not in page.source.replace("http-equiv", "")
    assert "default-src 'none'" in page.source and "prefers-color-scheme: dark" in page.source
    assert "url(" not in page.source and "@import" not in page.source


@pytest.mark.parametrize("report, words", [
    ("nowhere/report.html", ["cannot be opened"]),
    ("report.txt", [".html or .json"]),
    ("report", [".html or .json"]),
    ("link.html", ["symbolic link"]),
    ("folder.html", ["not a regular file"]),
])
def test_a_report_that_cannot_be_written_is_an_error_before_the_work(thaw, save, tmp_path, report, words):
    (tmp_path / "folder.html").mkdir()
    (tmp_path / "aim").write_text("kept")
    (tmp_path / "link.html").symlink_to(tmp_path / "aim")
    for args in (["batch", save(scrfd.model())], ["lift", *traces(save, tmp_path, BY_NAME["ocr"])]):
        message = thaw.error(*args, "-o", tmp_path / "out.onnx", "--report", tmp_path / report)
        assert all(word in message for word in words), message
        assert not (tmp_path / "out.onnx").exists()
    assert (tmp_path / "aim").read_text() == "kept" and not leftovers(tmp_path)


def test_a_report_does_not_replace_what_the_command_reads_or_writes(thaw, save, tmp_path):
    args = traces(save, tmp_path, BY_NAME["ocr"])
    before = (tmp_path / "values.json").read_bytes()
    message = thaw.error("lift", *args, "-o", tmp_path / "out.onnx", "--report", tmp_path / "." / "values.json")
    assert "would replace" in message and (tmp_path / "values.json").read_bytes() == before
    message = thaw.error("batch", args[0], "-o", tmp_path / "out.html", "--report", tmp_path / "out.html")
    assert "would replace" in message and not (tmp_path / "out.html").exists()


def test_an_error_leaves_the_report_that_was_there(thaw, save, tmp_path):
    page = tmp_path / "report.html"
    page.write_text("kept")
    node = helper.make_node("RandomUniformLike", ["x"], ["y"], name="noise")
    thaw.error("batch", save(chance(node)), "-o", tmp_path / "out.onnx", "--report", page)
    assert page.read_text() == "kept" and not leftovers(tmp_path)


def test_an_output_keeps_its_name_where_its_operator_is_replaced(thaw, save, tmp_path):
    """Shape's result over a batch is made by other nodes."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [5, 7])
    y = helper.make_tensor_value_info("y", TensorProto.INT64, [2])
    graph = helper.make_graph([helper.make_node("Shape", ["x"], ["y"])], "g", [x], [y])
    path = save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9))
    thaw("batch", path, "-o", tmp_path / "out.onnx", code=0)
    run = session(tmp_path / "out.onnx")
    assert [o.name for o in run.get_outputs()] == ["y"]
    assert run.run(["y"], dict(x=np.zeros((3, 5, 7), np.float32)))[0].tolist() == [[5, 7]] * 3
