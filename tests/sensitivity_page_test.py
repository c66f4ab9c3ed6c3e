"""report.html of thaw sensitivity, in a browser: charts, heat map, search and sort; light and dark; on a telephone; fed with hostile names."""
import json

import onnx
import pytest

import sensitivity_nets as nets
from browser import browser

HOSTILE = """</script><img src=x onerror="document.title='owned'">"""
WIDE, NARROW = (1280, 900), (400, 800)


@pytest.fixture(scope="module")
def page(tmp_path_factory, thaw):
    folder = tmp_path_factory.mktemp("page")
    model = nets.tower(3)
    kept = next(n for n in model.graph.node if n.name == "blocks.1.mlp.up_proj/MatMul")
    kept.name = f"blocks.1.mlp.{HOSTILE}/MatMul"
    onnx.save(model, folder / "model.onnx")
    samples = nets.write_samples(folder / "samples", 3)
    thaw("sensitivity", folder / "model.onnx", "--data", samples, "--to", "int4,int8-blocks", "-o", folder / "report", "--no-optimize", code=0)
    thaw("plan", folder / "report", "--max-bytes", "120000", "-o", folder / "plan.json", code=0)
    return folder / "report" / "report.html"


@pytest.fixture(params=[(WIDE, False), (NARROW, True)], ids=["wide, light", "narrow, dark"])
def shown(page, request):
    size, dark = request.param
    with browser(*size, dark=dark) as window:
        window.open(page)
        yield window


def column(window, index):
    """What stands in a column of the table, of the rows that are shown."""
    return window.run("""return [...document.querySelectorAll("#nodes tbody tr")].filter(row => !row.hidden).map(row => {
        const cell = row.cells[arguments[0]], data = cell.querySelector("data");
        return data ? Number(data.value) : cell.textContent; })""", index)


def head(window, name):
    return window.run("""return [...document.querySelectorAll("#nodes th")].findIndex(th => th.textContent === arguments[0])""", name)


def chart(window, name):
    return window.run("""const chart = Chart.getChart(arguments[0]);
        return {data: chart.data.datasets.map(set => set.data), labels: chart.data.labels,
                area: chart.chartArea.width * chart.chartArea.height}""", name)


def test_it_fits_and_asks_for_nothing(shown, page, tmp_path):
    assert shown.log() == []
    assert shown.fetched() == {page.resolve().as_uri()}
    wide, inner = shown.run("return [document.documentElement.scrollWidth, innerWidth]")
    assert wide <= inner
    assert shown.run("return document.title").startswith("thaw sensitivity")
    # Of the paper and the ink, one is light.
    ink, paper = (shown.run("return getComputedStyle(document.body)[arguments[0]].match(/\\d+/g).map(Number)", name)
                  for name in ("color", "backgroundColor"))
    assert (sum(ink) > sum(paper)) == (inner < 600)
    for name in ("in-order", "sorted", "frontier"):
        assert chart(shown, name)["area"] > 30_000
        colors = shown.run("""const canvas = document.getElementById(arguments[0]);
            const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
            const seen = new Set();
            for (let i = 0; i < pixels.length; i += 4) seen.add(pixels.slice(i, i + 4).join());
            return seen.size""", name)
        assert colors > 3, name


def test_charts_show_the_reports_figures(shown, page):
    report = json.loads((page.parent / "report.json").read_text())
    for to in ("int4", "int8-blocks"):
        for metric in ("mse", "cosine", "kl", "sqnr"):
            shown.run("""for (const [id, text] of [["to", arguments[0]], ["metric", arguments[1]]]) {
                const select = document.getElementById(id);
                select.value = [...select.options].find(o => o.textContent === text || o.value === text).value;
                select.dispatchEvent(new Event("change")); }""", to, metric)
            drawn = chart(shown, "in-order")
            assert drawn["data"][0] == pytest.approx([u["errors"][("int4", "int8-blocks").index(to)]["one_at_a_time"][{"sqnr": "sqnr_db"}.get(metric, metric)] for u in report["units"]])
            ordered = chart(shown, "sorted")["data"][0]
            assert ordered == sorted(ordered, reverse=metric != "sqnr")
            assert len(ordered) == 18
            cells = shown.run("return [...document.querySelectorAll('#heat td')].map(cell => [cell.textContent, Number(cell.dataset.share)])")
            assert len(cells) == 3 * 6 + 3  # the node of another kind has a column of its own
            assert max(c[1] for c in cells if c[0]) == 1 and min(c[1] for c in cells if c[0]) == 0
    plans = chart(shown, "frontier")["data"]
    assert len(plans) == 4 and len(plans[0]) > 10 and len(plans[1]) == 2
    sizes = [point["x"] for point in plans[0]]
    assert plans[2][0]["x"] == pytest.approx(plans[3][0]["x"]) and min(sizes) < plans[2][0]["x"] <= 0.12


def test_the_table_is_sorted_and_searched(shown):
    for name, is_text in (("mse", False), ("saves, bytes", False), ("node", True)):
        index = head(shown, name)
        for down in (True, False):
            shown.run("document.querySelectorAll('#nodes th')[arguments[0]].querySelector('button').click()", index)
            values = column(shown, index)
            assert len(values) == 36
            if not is_text:
                assert values == sorted(values, reverse=down)
            assert shown.run("return document.querySelectorAll('#nodes th')[arguments[0]].ariaSort", index) == ("descending" if down else "ascending")
    search = "const box = document.getElementById('search'); box.value = arguments[0]; box.dispatchEvent(new Event('input'))"
    shown.run(search, "v_proj int4")
    assert column(shown, 0) == [f"blocks.{i}.attn.v_proj/MatMul" for i in range(3)] and set(column(shown, 3)) == {"int4"}
    assert shown.run("return document.getElementById('shown').textContent") == "3 of 36"
    shown.run(search, "no such node")
    assert column(shown, 0) == []


def test_each_row_shows_its_error_and_status(shown):
    """On a telephone as a card, with the heads above them to sort by; nothing of it is cut off or scrolls."""
    row = shown.run("""const row = document.querySelector("#nodes tbody tr"), cells = [...row.cells];
        return cells.map(cell => { const box = cell.getBoundingClientRect();
            return {label: cell.dataset.column, left: box.left, right: box.right, top: box.top, bottom: box.bottom,
                    cut: cell.scrollWidth > cell.clientWidth + 1, display: getComputedStyle(row).display}; });""")
    assert [cell["label"] for cell in row][-1] == "status"
    assert all(cell["left"] >= 0 and cell["right"] <= shown.run("return innerWidth") and not cell["cut"] for cell in row)
    narrow = shown.run("return innerWidth") < 600
    assert {cell["display"] for cell in row} == {"grid" if narrow else "table-row"}
    apart = [(a, b) for a in row for b in row if a is not b and a["right"] > a["left"] and b["right"] > b["left"]]
    assert not [1 for a, b in apart if a["left"] < b["right"] - 1 and b["left"] < a["right"] - 1 and a["top"] < b["bottom"] - 1 and b["top"] < a["bottom"] - 1]
    head = shown.run("const box = document.querySelector('#nodes th:last-child button').getBoundingClientRect(); return [box.width, box.right]")
    assert head[0] > 0 and head[1] <= shown.run("return innerWidth")
    assert shown.run("const box = document.querySelector('#nodes').parentElement; return box.scrollWidth - box.clientWidth") <= 0


def test_names_are_text(shown):
    assert HOSTILE in "".join(column(shown, 0))
    assert "owned" not in shown.run("return document.title")
    assert shown.run("return document.images.length") == 0


def test_without_scripts_the_table_is_there(page):
    with browser(*WIDE) as window:
        window.devtools("Emulation.setScriptExecutionDisabled", {"value": True})
        window.open(page)
        source = window.call("GET", "/source")
        assert source.count("<tr>") >= 38 and "class=\"controls\" hidden" in source
