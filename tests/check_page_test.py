"""--report of thaw check and thaw verify: pages that say what the text says, at any width, light and dark."""

import shutil

import pytest
from onnx import helper

from browser import browser
from check_help_test import clash
from inspect_json_test import FLOAT, model
from report_test import HOSTILE, Page


def two_axes():
    return model([helper.make_node("Sigmoid", ["x"], ["s"], name="head/act/Sigmoid"),
                  helper.make_node("Exp", ["s"], ["y"], name="head/out/Exp")],
                 [("x", FLOAT, ["n", 3, "h", "w"])], [("y", FLOAT, ["n", 3, "h", "w"])])


def test_the_page_of_check(thaw, save, tmp_path):
    path = save(clash(3))
    report = thaw("check", path, "--report", tmp_path / "report.html", code=1)
    page = Page(tmp_path / "report.html")
    for finding in thaw.findings(path):
        assert all(part in page.text for part in [finding["code"], finding["title"], finding["message"], *finding["commands"]])
    assert "THAW003" in report.stdout
    rows = page.rows(["module", "nodes"])
    assert sum(int(row["nodes"]) for row in rows) == 9
    thaw("check", path, "--report", tmp_path / "report.json", code=1)
    assert (tmp_path / "report.json").read_text() == thaw("check", path, "--format", "json", code=1).stdout


def test_frozen_nodes_are_marked_in_their_modules(thaw, save, tmp_path):
    import numpy as np
    from onnx import numpy_helper
    m = model([helper.make_node("Relu", ["x"], ["r"], name="stem/Relu"),
               helper.make_node("Reshape", ["r", "shape"], ["y"], name="head/fold/Reshape")],
              [("x", FLOAT, ["n", 3, 4])], [("y", FLOAT, None)], [numpy_helper.from_array(np.array([1, 12]), "shape")])
    path = save(m)
    found = [f for f in thaw.findings(path) if f["location"].get("node") == "head/fold/Reshape"]
    assert found
    thaw("check", path, "--report", tmp_path / "r.html")
    rows = {row["module"]: row for row in Page(tmp_path / "r.html").rows(["module", "nodes"])}
    assert rows["head/fold"]["marked"] == "1 node" and rows["stem"]["marked"] == ""
    assert "r [n, 3, 4]" in rows["stem"]["outputs"]


def test_modules_are_those_of_torchs_names(thaw, save, tmp_path):
    m = two_axes()
    m.graph.node[0].name, m.graph.node[1].name = "/model/layers.0/act/Sigmoid", "/out/Exp"
    thaw("check", save(m), "--report", tmp_path / "r.html", code=0)
    rows = Page(tmp_path / "r.html").rows(["module", "nodes"])
    assert [(row["module"], row["nodes"]) for row in rows] == [("/model/layers.0/act", "1"), ("/out", "1")]


def test_the_page_of_verify_has_a_heat_map_of_the_sweep(thaw, save, tmp_path):
    path = save(two_axes())
    args = ["verify", path, "--against", path, "--sizes", "h=2|5|7,w=3|4", "--report", tmp_path / "r.html"]
    thaw(*args, code=0)
    page = Page(tmp_path / "r.html")
    heat = next(table for table in page.tables if table[0][0] == "h \\ w")
    by_output = next(table for table in page.tables if table[0][0] == "output" and len(table[0]) == 7)
    assert len(by_output) == 1 + len(page.rows(["output", "status"])) and all("e" in cell for cell in by_output[1][1:])
    assert page.rows(["output", "status"])[0]["min cosine"] == "1.000000"
    assert heat[0][1:] == ["3", "4"] and [row[0] for row in heat[1:]] == ["2", "5", "7"]
    assert all(cell == "0.0e+00" for row in heat[1:] for cell in row[1:])
    assert len(page.rows(["sizes", "status"])) == 6
    one = [*args[:4], "--sizes", "n=1,h=2,w=2", "--report", tmp_path / "one.html"]
    thaw(*one, code=0)
    assert not any("\\" in table[0][0] for table in Page(tmp_path / "one.html").tables)


def test_names_are_text_and_nothing_else(thaw, save, tmp_path):
    m = clash()
    m.graph.node[0].name = HOSTILE
    m.graph.value_info[0].type.tensor_type.shape.dim[2].dim_param = HOSTILE
    m.graph.output[0].type.tensor_type.shape.dim[2].dim_param = HOSTILE
    path = save(m)
    thaw("check", path, "--report", tmp_path / "r.html", code={0, 1})
    page = Page(tmp_path / "r.html")
    assert "script" not in page.elements and "img" not in page.elements and HOSTILE in page.text


def test_a_page_of_several_models(thaw, save, tmp_path):
    wrong, sound, other = save(clash(3), "wrong"), save(two_axes(), "sound"), tmp_path / "other.onnx"
    other.write_text("no model")
    run = thaw("check", wrong, sound, other, "--report", tmp_path / "r.html", code=2)
    page = Page(tmp_path / "r.html")
    rows = page.rows(["model", "outcome"])
    assert [(row["model"], row["outcome"]) for row in rows] == [
        (str(wrong), "findings"), (str(sound), "fine"), (str(other), "not checked")]
    assert rows[2]["what was found"] in run.stderr
    assert all(f["message"] in page.text for f in thaw.findings(wrong))
    modules = [table for table in page.tables if table[0][:2] == ["module", "nodes"]]
    assert [sum(int(row[1]) for row in table[1:]) for table in modules] == [9, 2]


def test_a_report_takes_no_inputs_place(thaw, save, tmp_path):
    path = save(clash())
    assert "would replace" in thaw.error("verify", path, "--against", tmp_path / "a.npz", "--report", tmp_path / "a.npz") \
        or not (tmp_path / "a.npz").exists()


@pytest.mark.skipif(shutil.which("chromedriver") is None, reason="no chromedriver here")
@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_cut_at_any_width(thaw, save, tmp_path, width, dark):
    long = "ceil(" * 12 + "height" + "/2)" * 12
    m = clash(4)
    for value in (m.graph.value_info[0], m.graph.output[0]):
        value.type.tensor_type.shape.dim[2].dim_param = long
    thaw("check", save(m), "--report", tmp_path / "check.html", code={0, 1})
    other = save(two_axes(), "axes")
    thaw("verify", other, "--against", other, "--sizes", "h=2|5|7,w=3|4", "--report", tmp_path / "verify.html", code=0)
    with browser(width=width, dark=dark) as view:
        for name in ("check", "verify"):
            view.open(tmp_path / f"{name}.html")
            assert view.run("return document.documentElement.scrollWidth") <= width
            # What scrolls by itself may be wider: the heat map, whose cells have a row and a column.
            cut = view.run("""return [...document.querySelectorAll('.cards td, p, h1, h2, pre')].filter(e =>
                e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display != 'inline').map(e => e.textContent)""")
            assert cut == []
            shown = view.run("return getComputedStyle(document.querySelector('.cards td')).display")
            assert shown == ("block" if width == 400 else "table-cell")
            view.picture(tmp_path / f"{name}_{width}_{'dark' if dark else 'light'}.png")
            assert [e for e in view.log() if e["level"] == "SEVERE"] == []
