"""`check --sizes` with relations between inputs: sums over rows, inequalities, what the model states; and what data decide is no witness."""
import itertools

import numpy as np
import onnx.parser
import onnxruntime
import pytest

# A tower in small: a table of as many rows as `grid`'s rows make together, added to the patches.
TOWER = """<ir_version: 8, opset_import: ["" : 18]> g (float[num_patches, 4] x, int64[1, 3] grid) => (float[n, 16] y) {
  flat = Constant<value_ints=[-1]>() list = Reshape(grid, flat) axis = Constant<value_ints=[0]>()
  count = ReduceProd<keepdims=1>(list, axis) four = Constant<value_ints=[4]>() shape = Concat<axis=0>(count, four)
  one = Constant<value_float=1.0>() table = Expand(one, shape) sum = Add(x, table)
  to = Constant<value_ints=[-1, 16]>() y = Reshape(sum, to) }"""


def parsed(text):
    return onnx.parser.parse_model(text)


def stating(model, entries, key="thaw.sizes"):
    model.metadata_props.add(key=key, value=entries)
    return model


def proof(thaw, path, dims, *more):
    return thaw.json("check", path, "--sizes", dims, *more)


def codes(report):
    return {f["code"] for f in report["findings"]}


PRODUCT = "num_patches=sum(grid[:,0]*grid[:,1]*grid[:,2])"


@pytest.mark.parametrize("relation", [PRODUCT, "num_patches==grid[0]*grid[1]*grid[2]", "num_patches=grid[0]*grid[1]*grid[2]",
                                      "grid[0]*grid[1]*grid[2]==num_patches"])
def test_a_relation_to_the_rows_of_an_input_is_what_a_proof_needs(thaw, save, relation):
    path = save(parsed(TOWER))
    ranges = "grid[:,0]=1..4,grid[:,1]=2..32:2,grid[:,2]=2..32:2"
    report = proof(thaw, path, f"{ranges},{relation}")
    assert report["findings"] == [] and report["proof"]["refuted"] == report["proof"]["unknown"] == 0
    assert "THAW040" in codes(proof(thaw, path, ranges))  # 4 patches beside a grid of 6, say


@pytest.mark.parametrize("key", ["thaw.sizes", "thaw.valid_sizes", "thaw.domain"])  # the last is what older versions wrote
def test_what_the_model_states_is_taken_as_true_and_said(thaw, save, key):
    entries = "grid[:,0]=1.., grid[:,1]=2..:2, grid[:,2]=2..:2, " + PRODUCT
    path = save(stating(parsed(TOWER), entries, key))
    report = proof(thaw, path, "num_patches=0..4096")
    assert report["findings"] == [] and ", ".join(report["proof"]["assumptions"]) == entries
    assert "as the model states: grid[:,0]=1.." in thaw("check", path, "--sizes", "num_patches=4..4096", code=0).stdout
    # A range of the caller's outside of it is a wrong call, not a proof of nothing.
    line = thaw.error("check", path, "--sizes", "grid[:,1]=1")
    assert "which the model states" in line and "grid[:,1]=2..:2" in line


@pytest.mark.parametrize("entries", ["nonsense", "height=1..9", PRODUCT.replace("grid", "other"), "num_patches=sum(grid[:,7])", "a<=b",
                                     "=", "num_patches=sum(", "x" * 5000, "num_patches=1..4;num_patches=7", ""])
def test_what_a_model_states_of_what_it_has_not_is_left_out(thaw, save, entries):
    path = save(stating(parsed(TOWER), entries))
    report = proof(thaw, path, "num_patches=1..64")
    assert report["proof"]["assumptions"] == [] and "THAW040" in codes(report)


@pytest.mark.parametrize("dims", ["num_patches=sum(grid[:,9])", "num_patches=sum(x)", "num_patches=sum(", "a<=", "<=b", "num_patches<=nosuch(2)",
                                  "num_patches=1..4,num_patches<=0", "num_patches=sum(sum(grid[:,0]))", "x_dim1=sum(grid[:,0]*)"])
def test_a_wrong_relation_is_one_line(thaw, save, dims):
    assert thaw.error("check", save(parsed(TOWER)), "--sizes", dims)


OPEN_ROWS = """<ir_version: 8, opset_import: ["" : 18]> g (float[num_patches, 4] x, int64[num_images, 3] grid) => (float[n, 16] y, int64[num_images, 3] z) {
  to = Constant<value_ints=[-1, 16]>() y = Reshape(x, to) z = Identity(grid) }"""


def test_sums_over_an_open_number_of_rows(thaw, save):
    """What divides each row divides the sum; a witness comes with the rows that make it."""
    path = save(parsed(OPEN_ROWS))
    assert proof(thaw, path, PRODUCT + ",grid[:,0]=1..9,grid[:,1]=2..32:2,grid[:,2]=2..32:2")["proof"]["refuted"] == 0
    report = proof(thaw, path, PRODUCT + ",num_images=2..4,grid[:,0]=1..9,grid[:,1]=1..32,grid[:,2]=2..32:2", "--run")
    found, = [f for f in report["findings"] if f["code"] == "THAW040"]
    sizes = {k: int(v) for k, v in (part.split("=") for part in found["details"]["smallest size"].split(", "))}
    rows = np.array([[sizes[f"grid[{3 * r + j}]"] for j in range(3)] for r in range(sizes["num_images"])])
    assert int(rows.prod(1).sum()) == sizes["num_patches"] and sizes["num_patches"] % 4 != 0
    assert (rows[:, 2] % 2 == 0).all() and rows.min() >= 1 and found["details"]["when run"].startswith("fails in ONNX Runtime")


def test_an_inequality_keeps_a_witness_within_it(thaw, save):
    # A table of 64 places: more tokens than that it has not.
    text = """<ir_version: 8, opset_import: ["" : 18]> g (float[h, w, 4] x) => (float[n, 4] y) {
      to = Constant<value_ints=[-1, 4]>() rows = Reshape(x, to) table = Constant<value = float[1] {1.0}>()
      shape = Constant<value_ints=[64, 4]>() places = Expand(table, shape) n = Shape<start=0, end=1>(rows)
      zero = Constant<value_ints=[0]>() part = Slice(places, zero, n) y = Add(rows, part) }"""
    path = save(parsed(text))
    report = proof(thaw, path, "h=1..32,w=1..32")
    assert [f for f in report["findings"] if f["code"] == "THAW040"]
    assert proof(thaw, path, "h=1..32,w=1..32,h*w<=64")["findings"] == []
    broken, = [f for f in proof(thaw, path, "h=1..32,w=1..32,h*w<=66")["findings"] if f["code"] == "THAW040"]
    sizes = dict(part.split("=") for part in broken["details"]["smallest size"].split(", "))
    assert 64 < int(sizes["h"]) * int(sizes["w"]) <= 66


# What data decide: {name: (model, what is said of a size that data count)}.
BY_DATA = {
    "NonZero": """(float[n] x) => (float[m, 4] y) { at = NonZero(x) flat = Constant<value_ints=[-1]>() list = Reshape(at, flat)
      f = Cast<to=1>(list) to = Constant<value_ints=[-1, 4]>() y = Reshape(f, to) }""",
    "Unique": """(float[n] x) => (float[m] y) { u = Unique(x) c = Constant<value = float[5] {1.0, 2.0, 3.0, 4.0, 5.0}>() y = Add(u, c) }""",
    "Compress": """(float[n, 4] x, bool[n] keep) => (float[m, 4] y) { k = Compress<axis=0>(x, keep)
      l = Constant<value_ints=[3, 4]>() a, b = Split<axis=0>(k, l) y = Concat<axis=0>(b, a) }""",
    "Range by a value": """(float[n, 4] x, float[1] limit) => (float[m, 4] y) { i = Cast<to=7>(limit) s = Squeeze(i) zero = Constant<value_int=0>()
      one = Constant<value_int=1>() r = Range(zero, s, one) f = Cast<to=1>(r) a = Constant<value_ints=[1]>() c = Unsqueeze(f, a) y = Add(x, c) }""",
}


@pytest.mark.parametrize("name", BY_DATA)
def test_what_data_count_is_open_not_broken(thaw, save, name):
    path = save(parsed('<ir_version: 8, opset_import: ["" : 18]> g ' + BY_DATA[name]))
    report = proof(thaw, path, "n=1..64")
    assert report["proof"]["refuted"] == 0 and report["proof"]["unknown"] > 0
    reasons = [f["message"] for f in report["findings"] if f["code"] == "THAW041"]
    assert any("known only at run time" in reason for reason in reasons), reasons


def test_what_breaks_whatever_data_count_is_broken(thaw, save):
    text = """<ir_version: 8, opset_import: ["" : 18]> g (float[n] x, float[k] z) => (float[m, 4] y, float[5] w) {
      at = NonZero(x) flat = Constant<value_ints=[-1]>() list = Reshape(at, flat) f = Cast<to=1>(list)
      joined = Concat<axis=0>(f, z) no = Shape<start=0, end=1>(joined) c = Constant<value = float[5] {1.0, 2.0, 3.0, 4.0, 5.0}>()
      w = Add(z, c) to = Constant<value_ints=[-1, 1]>() y = Reshape(joined, to) }"""
    report = proof(thaw, save(parsed(text)), "n=1..64,k=1..8")
    assert report["proof"]["refuted"] > 0  # k = 2 beside 5


def pieces():
    """Small graphs over sizes h and w and a list `at` of two values, each with statements of its own."""
    yield "rows by the list", """flat = Constant<value_ints=[-1]>() l = Reshape(at, flat) z = Constant<value_ints=[0]>() p = ReduceProd<keepdims=1>(l, z)
      one = Constant<value_ints=[1]>() s = Concat<axis=0>(p, one) y = Reshape(x, s)"""
    yield "half of the rows", "to = Constant<value_ints=[2, -1]>() y = Reshape(x, to)"
    yield "a table of 6", """c = Constant<value = float[6, 1] {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}>() f = Constant<value_ints=[-1, 1]>() r = Reshape(x, f)
      y = Add(r, c)"""
    yield "as many as the list", """n = Shape<start=0, end=1>(x) first = Constant<value_ints=[0]>() h = Gather(at, first) two = Constant<value_ints=[2]>()
      d = Mul(h, two) y = Reshape(x, d)"""


RELATIONS = ["rows=at[0]*at[1]", "rows=2*at[0]", "rows<=at[0]*at[1]", "at[0]<=at[1]", "rows==6", "rows>=at[0]+at[1]", "rows*2==at[0]*at[1]", "at[0]==at[1]"]


def as_written(path):
    """ONNX Runtime's own fusions run a Reshape by a computed size as one by -1."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def stops(runs, rows, at):
    try:
        runs.run(None, {"x": np.zeros((rows, 1), np.float32), "at": np.array(at)})
    except Exception:
        return True
    return False


def test_verdicts_agree_with_what_runs(thaw, save):
    """Each small graph under each relation, by ONNX Runtime at every size of a small range: what is proven runs wherever the
    relation holds, and the witness of what is broken satisfies it and stops."""
    proven = broken = 0
    for (name, body), relation in itertools.product(pieces(), RELATIONS):
        rank = "[a]" if name == "as many as the list" else "[a, b]"
        path = save(parsed(f"""<ir_version: 8, opset_import: ["" : 18]> g (float[rows, 1] x, int64[2] at) => (float{rank} y) {{ {body} }}"""))
        given = relation.startswith("rows=") and not relation.startswith("rows==")
        report = proof(thaw, path, f"{'' if given else 'rows=1..6,'}at[0]=1..4,at[1]=1..4,{relation}")
        runs = as_written(path)
        condition = relation if "==" in relation or "<=" in relation or ">=" in relation else relation.replace("=", "==")
        points = [(rows, at) for rows in range(1, 17 if given else 7) for at in itertools.product(range(1, 5), repeat=2)
                  if eval(condition, {"rows": rows, "at": at})]
        if not report["findings"]:
            proven += 1
            assert not any(stops(runs, *point) for point in points), (name, relation)
        for f in (f for f in report["findings"] if f["code"] == "THAW040"):
            broken += 1
            sizes = {k: int(v) for k, v in (part.split("=") for part in f["details"]["smallest size"].split(", "))}
            point = sizes["rows"], (sizes.get("at[0]", 1), sizes.get("at[1]", 1))
            assert point in points and stops(runs, *point), (name, relation, f)
    assert proven >= 4 and broken >= 10, (proven, broken)
