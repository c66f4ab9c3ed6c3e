"""The graph as a picture: --report of thaw inspect and thaw diff, in a browser; light and dark; on a telephone; of 10,000 nodes; fed with
hostile names; cut where it would be too large."""
import json
import re
import shutil
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from browser import browser
from inspect_json_test import FLOAT, INT64, model
from models import torch_like

pytestmark = pytest.mark.skipif(shutil.which("chromedriver") is None, reason="no chromedriver here")

HOSTILE = """</script><img src=x onerror="document.title='owned'">\u202e"""
WIDE, NARROW = (1280, 900), (400, 800)
LARGE_LAYERS = 176  # 10,049 nodes


def frozen():
    """Torch-like names, and a Reshape that was frozen at 3 x 8."""
    return model([helper.make_node("Relu", ["x"], ["/stem/Relu_output_0"], name="/stem/Relu"),
                  helper.make_node("Sigmoid", ["/stem/Relu_output_0"], ["/stem/Sigmoid_output_0"], name="/stem/Sigmoid"),
                  helper.make_node("Reshape", ["/stem/Sigmoid_output_0", "shape"], ["/head/Reshape_output_0"], name="/head/Reshape"),
                  helper.make_node("Exp", ["/head/Reshape_output_0"], ["y"], name="/head/Exp")],
                 [("x", FLOAT, ["n", 3, 8])], [("y", FLOAT, None)], [numpy_helper.from_array(np.array([2, 24]), "shape")])


@pytest.fixture(scope="module")
def pages(thaw, tmp_path_factory):
    """Pages that several tests look at."""
    folder = tmp_path_factory.mktemp("pages")

    def write(name, m, *args):
        onnx.save(m, folder / f"{name}.onnx")
        thaw("inspect", folder / f"{name}.onnx", "--report", folder / f"{name}.html", *args, code=0)

    write("decoder", torch_like.decoder(3))
    write("frozen", frozen())
    changed = torch_like.decoder(3)
    gone = next(n for n in changed.graph.node if n.name == "/model/layers.1/mlp/Mul")
    keep = [n for n in changed.graph.node if n is not gone]
    for node in keep:
        if gone.output[0] in node.input:
            node.input[list(node.input).index(gone.output[0])] = gone.input[0]
    at = next(i for i, n in enumerate(keep) if n.name == "/model/layers.2/Add_1") + 1
    keep.insert(at, helper.make_node("Tanh", ["/model/layers.2/Add_1_output_0"], ["/model/layers.2/Tanh_output_0"], name="/model/layers.2/Tanh"))
    for node in keep[at + 1:]:
        for i, name in enumerate(node.input):
            if name == "/model/layers.2/Add_1_output_0":
                node.input[i] = "/model/layers.2/Tanh_output_0"
    del changed.graph.node[:]
    changed.graph.node.extend(keep)
    onnx.save(changed, folder / "changed.onnx")
    thaw("diff", folder / "decoder.onnx", folder / "changed.onnx", "--report", folder / "diff.html", code=1)
    return folder


@pytest.fixture(params=[(WIDE, False), (NARROW, True)], ids=["wide, light", "narrow, dark"])
def window(request):
    size, dark = request.param
    with browser(*size, dark=dark) as opened:
        yield opened


def titles(window, selector="#stage .box:not(.port)"):
    return window.run("return [...document.querySelectorAll(arguments[0])].map(box => box.querySelector('text').textContent)", selector)


def path(window):
    return window.run("return document.getElementById('path').textContent").split(" › ")


def details(window):
    return window.run("return document.getElementById('details').innerText")


def click(window, title):
    """Clicks the box of that title; waits until what it leads to is shown."""
    window.run("""const box = [...document.querySelectorAll('#stage .box')].find(box => box.querySelector('text').textContent === arguments[0]);
        box.dispatchEvent(new MouseEvent('click', {bubbles: true}))""", title)
    time.sleep(0.2)


def search(window, words):
    return window.run("""const box = document.getElementById('search'); box.value = arguments[0]; box.dispatchEvent(new Event('input'));
        return [...document.querySelectorAll('#found [role=option]')].map(row => row.textContent)""", words)


def choose(window, row):
    window.run("document.querySelectorAll('#found [role=option]')[arguments[0]].click()", row)
    time.sleep(0.2)


def test_it_opens_and_asks_for_nothing(window, pages):
    window.open(pages / "decoder.html")
    assert window.log() == []
    assert window.fetched() == {(pages / "decoder.html").resolve().as_uri()}
    wide, inner = window.run("return [document.documentElement.scrollWidth, innerWidth]")
    assert wide <= inner
    assert path(window) == ["decoder.onnx"] and titles(window) == ["model", "MatMul"]
    assert titles(window, "#stage .port") == ["input_ids", "attention_mask", "logits"]
    ink, paper = (window.run("return getComputedStyle(document.body)[arguments[0]].match(/\\d+/g).map(Number)", name)
                  for name in ("color", "backgroundColor"))
    assert (sum(ink) > sum(paper)) == (inner < 600)
    # Boxes stand apart, each whole, and its text inside it.
    boxes = window.run("""return [...document.querySelectorAll('#stage .box')].map(box => {
        const frame = box.querySelector('.front').getBoundingClientRect();
        return {left: frame.left, right: frame.right, top: frame.top, bottom: frame.bottom,
                out: [...box.querySelectorAll('text')].some(text => text.getBoundingClientRect().width > frame.width)}; })""")
    assert not any(box["out"] for box in boxes)
    assert not [1 for a in boxes for b in boxes if a is not b and a["left"] < b["right"] and b["left"] < a["right"] and a["top"] < b["bottom"]
                and b["top"] < a["bottom"]]


def test_a_module_opens_and_the_way_back_leads_back(window, pages):
    window.open(pages / "decoder.html")
    click(window, "model")
    assert path(window) == ["decoder.onnx", "model"]
    assert [t for t in titles(window) if t.startswith("layers")] == ["layers.0", "layers.1", "layers.2"]
    click(window, "layers.1")
    click(window, "self_attn")
    assert path(window) == ["decoder.onnx", "model", "layers.1", "self_attn"] and "Softmax" in titles(window)
    window.run("history.back()")
    time.sleep(0.3)
    assert path(window) == ["decoder.onnx", "model", "layers.1"]
    window.run("document.querySelector('#path button').click()")
    time.sleep(0.2)
    assert path(window) == ["decoder.onnx"]
    assert window.log() == []


def test_edges_carry_the_sizes_that_inspect_prints(window, pages, thaw):
    told = {v["name"]: v["dims"] for v in thaw.json("inspect", pages / "decoder.onnx")["tensors"]}
    window.open(pages / "decoder.html")
    for title in ("model", "layers.1", "self_attn"):
        click(window, title)
    scores = "[" + ", ".join(map(str, told["/model/layers.1/self_attn/MatMul_output_0"])) + "]"
    assert scores == "[batch, 4, tokens, tokens]"
    labels = window.run("return [...document.querySelectorAll('#stage .label')].map(label => label.querySelector('title').textContent)")
    assert scores in labels and "[batch, tokens, 32]" in labels
    lines = window.run("return [...document.querySelectorAll('#stage .line title')].map(title => title.textContent)")
    assert f"/model/layers.1/self_attn/MatMul_output_0  float32 {scores}" in lines


def test_a_nodes_details(window, pages):
    window.open(pages / "decoder.html")
    assert any("/model/layers.1/self_attn/Reshape" in row for row in search(window, "layers.1 self_attn reshape"))
    choose(window, 0)
    assert path(window) == ["decoder.onnx", "model", "layers.1", "self_attn"]
    assert titles(window, "#stage .box.chosen") == ["Reshape"]
    text = details(window)
    for part in ("/model/layers.1/self_attn/Reshape", "data", "float32 [batch, tokens, 32]", "= [batch, tokens, 4, 8]", "float32 [batch, tokens, 4, 8]"):
        assert part in text, part
    search(window, "layers.0 transpose")
    choose(window, 0)
    assert "perm = [0, 2, 1, 3]" in details(window)
    search(window, "layers.0 q_proj matmul")
    choose(window, 0)
    text = details(window)
    assert "model.layers.0.self_attn.q_proj.weight" in text and "2048*batch*tokens" in text and "4.10 kB" in text


def test_search_finds_nodes_operators_and_tensors(window, pages):
    window.open(pages / "decoder.html")
    assert len(search(window, "softmax")) == 3
    found = search(window, "layers.2.mlp.down_proj.weight")
    assert found == ["weight model.layers.2.mlp.down_proj.weight"]
    choose(window, 0)
    assert path(window)[-1] == "mlp" and "read by" in details(window)
    assert search(window, "logits") == ["tensor logits"] or "logits" in search(window, "logits")[0]
    assert search(window, "no such thing") == []
    assert "0 nodes, 0 tensors" in window.run("return document.getElementById('found').textContent")
    # What was found is marked in what is open.
    search(window, "layers.1 softmax")
    window.run("location.hash = ''")
    time.sleep(0.2)
    assert titles(window, "#stage .box.found") == ["model"]


def test_weights_and_costs_by_module(window, pages, thaw):
    window.open(pages / "decoder.html")
    cost = thaw.json("inspect", pages / "decoder.onnx", "--cost", "--sizes", "batch=64,tokens=64")
    text = details(window)
    assert re.search(rf"operations\s+{cost['cost']['flops'] / 1e6:.3g} M", text), text
    assert "numbers at batch = 64, tokens = 64" in text
    weights = cost["weights"]["bytes"] + cost["constants"]["bytes"]
    assert f"{weights / 1e3:.3g} kB" in text
    shares = window.run("return [...document.querySelectorAll('#details .contents .number')].map(cell => cell.textContent)")
    assert sum(float(share[:-2]) for share in shares if share.endswith("%")) == pytest.approx(100, abs=0.2)
    window.run("const select = document.getElementById('measure'); select.value = 'nodes'; select.dispatchEvent(new Event('change'))")
    assert re.search(r"model\s+146\s+99.3 %", details(window))
    assert "147 and 41 constants" in details(window)


def test_frozen_sizes_are_marked(window, pages):
    window.open(pages / "frozen.html")
    assert titles(window, "#stage .box.frozen") == ["head"]
    assert "frozen" in window.run("return document.getElementById('notes').textContent")
    click(window, "head")
    assert titles(window, "#stage .box.frozen") == ["Reshape"]
    click(window, "Reshape")
    text = details(window)
    assert "THAW01" in text and "meant to be [n" in text
    assert window.run("return document.querySelectorAll('#stage .line.frozen').length") >= 1
    # The table says it without a script.
    assert "THAW01" in (pages / "frozen.html").read_text().split("<h2>Frozen sizes</h2>")[1]


def test_what_differs_is_marked(window, pages):
    window.open(pages / "diff.html")
    assert window.log() == []
    marks = window.run("return [...document.querySelectorAll('#stage .marks')].map(text => text.textContent).join()")
    assert "1 removed" in marks and "1 added" in marks and "changed" in marks
    click(window, "model")
    click(window, "layers.1")
    click(window, "mlp")
    assert titles(window, "#stage .box.removed") == ["Mul"] and "changed" in details(window)
    assert window.run("return document.querySelectorAll('#stage .line.removed').length") >= 2
    assert window.run("return document.querySelectorAll('#stage .line.added').length") == 1
    search(window, "layers.2 tanh")
    choose(window, 0)
    assert titles(window, "#stage .box.added") == ["Tanh"] and "added" in details(window)
    search(window, "layers.1 mlp down_proj matmul")
    choose(window, 0)
    assert "input 0: " in details(window)


def test_two_equal_models(thaw, save, tmp_path):
    same = save(torch_like.decoder(1))
    thaw("diff", same, same, "--report", tmp_path / "d.html", code=0)
    with browser(*WIDE) as window:
        window.open(tmp_path / "d.html")
        assert window.log() == [] and titles(window) == ["model", "MatMul"]
        assert window.run("return document.querySelectorAll('.marks').length") == 0


def test_names_are_text(thaw, save, tmp_path):
    then = helper.make_graph([helper.make_node("Relu", ["x"], ["t"], name=f"/a/{HOSTILE}/Relu")], HOSTILE, [], [helper.make_tensor_value_info("t", FLOAT, None)])
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["e"])], "e", [], [helper.make_tensor_value_info("e", FLOAT, None)])
    m = model([helper.make_node("If", ["c"], [HOSTILE], then_branch=then, else_branch=other, name=HOSTILE),
               helper.make_node(f"Op{HOSTILE}", [HOSTILE, "w"], ["y"], name=f"/b/{HOSTILE}", domain=HOSTILE, text=HOSTILE)],
              [("c", TensorProto.BOOL, []), ("x", FLOAT, [HOSTILE, 2])], [("y", FLOAT, None)], [numpy_helper.from_array(np.ones(2, np.float32), "w")])
    m.opset_import.append(helper.make_opsetid(HOSTILE, 1))
    file = save(m, "m")
    thaw("inspect", file, "--report", tmp_path / "p.html", code=0)
    thaw("diff", file, save(torch_like.decoder(1), "other"), "--report", tmp_path / "d.html", code=1)
    for name in ("p", "d"):
        source = (tmp_path / f"{name}.html").read_text()
        assert "</script><img" not in source and "<img" not in source
    with browser(*WIDE) as window:
        for name in ("d", "p"):
            window.open(tmp_path / f"{name}.html")
            assert window.run("return document.title").startswith("thaw ")
            assert window.run("return document.images.length") == 0 and window.log() == []
        assert any("owned" in title for title in titles(window))
        rows = search(window, "onerror")
        assert len(rows) >= 3
        for row in range(len(rows)):
            search(window, "onerror")
            choose(window, row)
            assert "onerror" in details(window)
        assert window.run("return document.images.length") == 0 and "owned" not in window.run("return document.title")
        assert window.log() == []


def test_graphs_inside_nodes_open(thaw, save, tmp_path):
    body = helper.make_graph([helper.make_node("Add", ["state", "x"], ["next"], name="step/Add"), helper.make_node("Identity", ["going"], ["on"], name="step/Identity")],
                             "body", [helper.make_tensor_value_info("i", INT64, []), helper.make_tensor_value_info("going", TensorProto.BOOL, []),
                                      helper.make_tensor_value_info("state", FLOAT, ["n"])],
                             [helper.make_tensor_value_info("on", TensorProto.BOOL, []), helper.make_tensor_value_info("next", FLOAT, ["n"])])
    m = model([helper.make_node("Relu", ["x"], ["r"], name="Relu"), helper.make_node("Loop", ["", "go", "r"], ["y"], body=body, name="Loop")],
              [("x", FLOAT, ["n"]), ("go", TensorProto.BOOL, [])], [("y", FLOAT, ["n"])])
    thaw("inspect", save(m), "--report", tmp_path / "p.html", code=0)
    with browser(*WIDE) as window:
        window.open(tmp_path / "p.html")
        assert titles(window) == ["Relu", "Loop"]
        click(window, "Loop")
        assert path(window) == ["model.onnx", "body"] and titles(window) == ["Add", "Identity"]
        assert {"state", "going", "x"} <= set(titles(window, "#stage .port"))
        rows = search(window, "step/Add")
        assert rows and window.log() == []


def test_sizes_inside_functions_are_those_of_all_calls(thaw, save, tmp_path):
    inner = helper.make_function("local", "Inner", ["v"], ["w"], [helper.make_node("Relu", ["v"], ["w"], name="Relu")], [helper.make_opsetid("", 18)])
    outer = helper.make_function("local", "Outer", ["a"], ["d"], [
        helper.make_node("Inner", ["a"], ["b"], domain="local", name="Inner"), helper.make_node("Constant", [], ["axes"], value_ints=[1]),
        helper.make_node("ReduceSum", ["b", "axes"], ["d"], name="Sum")], [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)])
    calls = [helper.make_node("Outer", [name], [f"{name}_sum"], domain="local", name=f"call_{name}") for name in ("x", "z")]
    m = model(calls, [("x", FLOAT, ["n", "m", 4]), ("z", FLOAT, ["n", 7, 4])], [("x_sum", FLOAT, None), ("z_sum", FLOAT, None)])
    m.functions.extend([inner, outer])
    m.opset_import.append(helper.make_opsetid("local", 1))
    thaw("inspect", save(m), "--report", tmp_path / "p.html", code=0)
    with browser(*WIDE) as window:
        window.open(tmp_path / "p.html")
        assert {"float32 [n, m, 4]", "float32 [n, 7, 4]"} <= sizes(window)
        click(window, "Outer")
        assert {"float32 [n, ?, 4]", "float32 [n, 1, 4]"} <= sizes(window)
        click(window, "Inner")
        assert sizes(window) == {"float32 [n, ?, 4]"}


def sizes(window):
    """What the lines of the picture carry."""
    lines = window.run("return [...document.querySelectorAll('#stage .line title')].map(title => title.textContent)")
    return {line.split("  ", 1)[1] for line in lines}


def test_keys_lead_around(pages):
    with browser(*WIDE) as window:
        window.open(pages / "decoder.html")
        press = """const key = new KeyboardEvent('keydown', {key: arguments[0], bubbles: true, cancelable: true});
            (document.activeElement ?? document.body).dispatchEvent(key)"""
        window.run("document.querySelector('#stage [tabindex=\"0\"]').focus()")
        window.run(press, "Enter")
        time.sleep(0.2)
        assert path(window)[-1] == "model"
        window.run("document.querySelector('#stage [tabindex=\"0\"]').focus()")
        first = window.run("return document.activeElement.querySelector('text').textContent")
        window.run(press, "ArrowDown")
        assert window.run("return document.activeElement.classList.contains('box')")
        assert window.run("return document.activeElement.querySelector('text').textContent") != first
        before = window.run("return Number(document.querySelector('#stage svg').getAttribute('width'))")
        window.run(press, "+")
        assert window.run("return Number(document.querySelector('#stage svg').getAttribute('width'))") == pytest.approx(1.25 * before, rel=0.01)
        window.run(press, "Backspace")
        time.sleep(0.2)
        assert path(window) == ["decoder.onnx"]
        window.run(press, "/")
        assert window.run("return document.activeElement.id") == "search"


def test_without_scripts_the_tables_are_there(pages):
    with browser(*WIDE) as window:
        window.devtools("Emulation.setScriptExecutionDisabled", {"value": True})
        window.open(pages / "decoder.html")
        source = window.call("GET", "/source")
        assert "[batch, tokens, 96]" in source and 'id="viewer" aria-label="The graph" hidden' in source


def test_the_json_report_is_what_format_json_prints(thaw, save, tmp_path):
    file = save(torch_like.decoder(1))
    thaw("inspect", file, "--report", tmp_path / "r.json", code=0)
    assert (tmp_path / "r.json").read_text() == thaw("inspect", file, "--format", "json").stdout
    thaw("diff", file, file, "--report", tmp_path / "d.json", code=0)
    assert json.loads((tmp_path / "d.json").read_text())["equal"]
    file = file.rename(tmp_path / "model.json")
    assert "would replace" in thaw.error("inspect", file, "--report", file)


def opened(window, page):
    """Seconds until a page was first painted, and until its picture stood."""
    started = time.perf_counter()
    window.open(page)
    paint = window.run("return performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? performance.now()")
    return paint / 1000, time.perf_counter() - started


def seconds(window, script):
    return window.run(f"const begin = performance.now(); {script}; document.getElementById('stage').getBoundingClientRect(); return performance.now() - begin") / 1000


@pytest.mark.parametrize("flat", [False, True], ids=["nested", "flat"])
def test_ten_thousand_nodes(thaw, save, tmp_path, flat):
    """Bounds are generous: the figures are some ten times smaller."""
    file = save(torch_like.decoder(LARGE_LAYERS, (lambda name: "") if flat else (lambda name: name)))
    m = onnx.load(file)
    if flat:
        numbers = {}
        for node in m.graph.node:
            for names in (node.input, node.output):
                for i, name in enumerate(names):
                    if "_output_" in name:
                        names[i] = numbers.setdefault(name, f"value_{len(numbers)}")
        onnx.save(m, file)
    assert len(m.graph.node) >= 10_000
    page = tmp_path / "large.html"
    started = time.perf_counter()
    thaw("inspect", file, "--report", page, code=0)
    assert time.perf_counter() - started < 20
    assert page.stat().st_size < 6e6
    with browser(*WIDE) as window:
        paint, whole = opened(window, page)
        assert paint < 5 and whole < 10
        assert window.log() == []
        if flat:
            assert "too many to draw at once" in window.run("return document.getElementById('notes').textContent")
            assert 1 < len(titles(window)) <= 300
        else:
            assert seconds(window, "location.hash = 'm1'; dispatchEvent(new Event('hashchange'))") < 5
            assert len([t for t in titles(window) if t.startswith("layers.")]) == LARGE_LAYERS
        first = window.run("return document.querySelector('#stage .opens').dataset.box")
        opening = "document.querySelector(`#stage [data-box='%s']`).dispatchEvent(new MouseEvent('click', {bubbles: true})); dispatchEvent(new Event('hashchange'))"
        assert seconds(window, opening % first) < 5
        time.sleep(0.2)
        assert len(titles(window)) > 1
        assert seconds(window, "const box = document.getElementById('search'); box.value = 'softmax'; box.dispatchEvent(new Event('input'))") < 5
        assert "176 nodes" in window.run("return document.getElementById('found').textContent")
        choose(window, 50)
        assert titles(window, "#stage .box.chosen") == ["Softmax"] and window.log() == []


def test_what_is_left_out_is_said(thaw, save, tmp_path):
    """A name of 20 kB for each of 1,500 nodes: 30 MB of names alone."""
    nodes = [helper.make_node("Relu", [f"v{i}"], [f"v{i + 1}"], name=f"{i}_" + "x" * 20_000) for i in range(1500)]
    file = save(model(nodes, [("v0", FLOAT, ["n"])], [("v1500", FLOAT, ["n"])]))
    thaw("inspect", file, "--report", tmp_path / "p.html", code=0)
    assert 8e6 < (tmp_path / "p.html").stat().st_size < 18e6
    with browser(*WIDE) as window:
        window.open(tmp_path / "p.html")
        notes = window.run("return document.getElementById('notes').textContent")
        left = int(re.search(r"The last ([\d,]+) nodes are left out", notes)[1].replace(",", ""))
        assert 500 < left < 1200 and "too many to draw" in notes
        shown = int(re.search(r"nodes\s+([\d,]+)", details(window))[1].replace(",", ""))
        assert shown == 1500 - left and window.log() == []
