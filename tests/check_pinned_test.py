"""THAW019: what a node needs of free sizes holds at few of them. Contracts between inputs are no findings."""
import onnx.parser
import pytest


def check(thaw, save, text):
    path = save(onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 18]> g ' + text))
    return thaw.findings(path)


def mixed(frozen, heads=4, width=32):
    """A Reshape of [length, batch, width] whose target has the length as a number beside a computed batch."""
    return f"""(float[length, batch, {width}] x) => (float[a, b, c] y) {{
      n = Shape<start=1, end=2>(x) h = Constant<value_ints=[{heads}]>() rows = Mul(n, h)
      size = Constant<value_ints=[{frozen}]>() each = Constant<value_ints=[{width // heads}]>()
      to = Concat<axis=0>(size, rows, each) y = Reshape(x, to) }}"""


@pytest.mark.parametrize("frozen, heads, width", [(7, 4, 32), (11, 1, 8), (2, 2, 6), (640, 8, 64), (1500, 3, 12)])
def test_a_number_beside_computed_sizes_is_found(thaw, save, frozen, heads, width):
    found = [f for f in check(thaw, save, mixed(frozen, heads, width)) if f["code"] in ("THAW010", "THAW019")]
    assert len(found) == 1 and found[0]["severity"] == "error", found
    assert found[0]["location"]["tensor"] == "size" and str(frozen) in found[0]["message"] and "length" in found[0]["message"]


# {what is pinned: a graph whose nodes need it}: found, at these sizes alone.
PINNED = {
    "n=2": """(float[n, m] x) => (float[a, b] y) { s = Shape(x) two = Constant<value_ints=[2]>() n = Shape<start=0, end=1>(x)
      m = Shape<start=1, end=2>(x) n2 = Mul(n, n) to = Concat<axis=0>(n2, m) t = Mul(to, two) half = Div(t, two)
      d = Constant<value_ints=[-1]>() flat = Reshape(x, d) twice = Concat<axis=0>(flat, flat) y = Reshape(twice, half) }""",
    "n=6": """(float[n, m] x) => (float[a, b] y) { n = Shape<start=0, end=1>(x) m = Shape<start=1, end=2>(x) six = Constant<value_ints=[6]>()
      k = Mul(m, six) d = Constant<value_ints=[1]>() to = Concat<axis=0>(k, d) y = Reshape(x, to) }""",
}


def frames(count, hop):
    """Frames of `hop` samples beside rows, laid out flat by a computed size that has the count of the export's frames."""
    return f"""(float[samples, m] x) => (float[a, b] y) {{ n = Shape<start=0, end=1>(x) hop = Constant<value_ints=[{hop}]>() k = Div(n, hop)
      m = Shape<start=1, end=2>(x) both = Concat<axis=0>(k, m) one = Constant<value = float[1] {{1.0}}>() ones = Expand(one, both)
      many = Constant<value_ints=[{count}]>() all = Mul(m, many) d = Constant<value_ints=[1]>() to = Concat<axis=0>(all, d) y = Reshape(ones, to) }}"""


@pytest.mark.parametrize("count, hop", [(30, 7), (3000, 160), (1500, 1024), (5, 320)])
def test_what_is_rounded_is_found_however_far(thaw, save, count, hop):
    found = [f for f in check(thaw, save, frames(count, hop)) if f["code"] == "THAW019"]
    assert len(found) == 1 and found[0]["severity"] == "error"
    assert f"samples={count * hop}..{count * hop + hop - 1} only" in found[0]["message"]


@pytest.mark.parametrize("at", PINNED)
def test_equations_with_one_solution_are_found(thaw, save, at):
    found = [f for f in check(thaw, save, PINNED[at]) if f["code"] in ("THAW010", "THAW019")]
    assert found and any(at in f["message"] or at.split("=")[1] in f["message"] for f in found), found


# Contracts: nothing is frozen.
CONTRACTS = {
    "two inputs of one size": "(float[n] x, float[m] z) => (float[k] y) { y = Add(x, z) }",
    "inner sizes": "(float[n, k] x, float[j, m] z) => (float[n, m] y) { y = MatMul(x, z) }",
    "past and new": """(float[b, s, 4] x, float[b, p, 4] past, float[b, total] mask) => (float[b, t, 4] y) {
      all = Concat<axis=1>(past, x) a = Constant<value_ints=[2]>() m = Unsqueeze(mask, a) y = Mul(all, m) }""",
    "heads": """(float[b, s, 32] x) => (float[b, s, 4, 8] y) { to = Constant<value_ints=[0, 0, 4, 8]>() y = Reshape(x, to) }""",
    "patches of 14": """(float[b, 3, h, w] x) => (float[b, 3, p, 14, q, 14] y) { b = Shape<start=0, end=2>(x) h = Shape<start=2, end=3>(x)
      w = Shape<start=3, end=4>(x) f = Constant<value_ints=[14]>() p = Div(h, f) q = Div(w, f) to = Concat<axis=0>(b, p, f, q, f)
      y = Reshape(x, to) }""",
    "a patch on each side of a square": """(float[b, 3, s, s] x) => (float[b, 3, p, 14, q, 14] y) { b = Shape<start=0, end=2>(x)
      h = Shape<start=2, end=3>(x) f = Constant<value_ints=[14]>() p = Div(h, f) to = Concat<axis=0>(b, p, f, p, f) y = Reshape(x, to) }""",
    "down and up": """(float[b, c, h, w] x) => (float[b, c, h, w] y) { p = MaxPool<kernel_shape=[2, 2], strides=[2, 2]>(x)
      q = MaxPool<kernel_shape=[2, 2], strides=[2, 2]>(p) e = Constant<value = float[0] {}>() s = Constant<value = float[4] {1.0, 1.0, 4.0, 4.0}>()
      u = Resize<mode="nearest">(q, e, s) y = Add(x, u) }""",
    "a grid and its cells": """(float[n, 4] x, float[h, w, 4] z) => (float[n, 4] y) { to = Constant<value_ints=[-1, 4]>() r = Reshape(z, to) y = Add(x, r) }""",
    "no more places than there are": """(float[s, 4] x) => (float[s, 4] y) { t = Constant<value = float[1] {1.0}>() k = Constant<value_ints=[64, 4]>()
      places = Expand(t, k) n = Shape<start=0, end=1>(x) z = Constant<value_ints=[0]>() p = Slice(places, z, n) y = Add(x, p) }""",
    "values of a grid": """(float[n, 1] x, int64[2] grid) => (float[a, b] y) { y = Reshape(x, grid) }""",
    "two of each": """(float[n, 4] x, float[m, 2, 4] z) => (float[n, 4] y) { to = Constant<value_ints=[-1, 4]>() r = Reshape(z, to) y = Add(x, r) }""",
    "halves by halves": """(float[h, w, 4] x) => (float[p, q, 4] y) { i = Constant<value_ints=[-1, 16]>() a = Reshape(x, i) h = Shape<start=0, end=1>(x)
      w = Shape<start=1, end=2>(x) two = Constant<value_ints=[2]>() p = Div(h, two) q = Div(w, two) n = Constant<value_ints=[16]>()
      to = Concat<axis=0>(p, q, n) y = Reshape(a, to) }""",
}


@pytest.mark.parametrize("name", CONTRACTS)
def test_contracts_are_no_findings(thaw, save, name):
    assert [f for f in check(thaw, save, CONTRACTS[name]) if f["code"] == "THAW019"] == []


SQUARE = """(float[x, x] image) => (float[n] y) { side = Shape<start=0, end=1>(image) three = Constant<value_ints=[3]>() four = Constant<value_ints=[4]>()
  up = Add(side, three) p = Div(up, four) cells = Mul(p, p) all = Size(image) one = Constant<value_ints=[1]>() count = Reshape(all, one)
  sixteen = Constant<value_ints=[16]>() n = Div(count, sixteen) z = Constant<value = float[1] {1.0}>()
  a = Expand(z, cells) b = Expand(z, n) c = Add(a, b) y = Reshape(c, n) }"""


def test_two_paths_that_round_otherwise_are_a_warning(thaw, save):
    found = [f for f in check(thaw, save, SQUARE) if f["code"] == "THAW019"]
    assert found and {f["severity"] for f in found} == {"warning"}
    # Where the model states that its sides are multiples of 4, what must hold does.
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 18]> g ' + SQUARE)
    model.metadata_props.add(key="thaw.sizes", value="x=4..:4")
    assert [f for f in thaw.findings(save(model)) if f["code"] == "THAW019"] == []


def test_node_tests_over_free_sizes_have_none(thaw, tmp_path):
    """ONNX's own node tests and those of com.microsoft, a symbol for each size: what they need of sizes are contracts."""
    import infer_microsoft_test as microsoft
    import infer_node_test as nodes
    paths = []

    def write(model, name):
        paths.append(tmp_path / f"{len(paths)}_{name}.onnx")
        paths[-1].write_bytes(model.SerializeToString())

    for case in nodes.load_cases():
        if made := nodes.symbolic(case.model, case.data[0][0]):
            nodes.forget_types(made[0])
            write(made[0], case.name)
    for name, case in microsoft.CASES.items():
        write(microsoft.build(name.split()[0], *case)[0], name.split()[0])
    report = thaw.json("check", *paths, "--select", "THAW019")
    found = [(m["model"], f["message"]) for m in report["models"] for f in m.get("findings", [])]
    assert len(paths) > 1000 and found == [], found[:10]
