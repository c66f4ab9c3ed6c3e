"""`thaw check --sizes`: a proof for all sizes of a range, or the smallest that breaks."""
import numpy as np
import onnx
import onnxruntime
import pytest

from check_rules_test import F, ints, model, node
from conftest import session


def proof(thaw, path, dims):
    return thaw.json("check", path, "--sizes", dims)


def two_scales():
    """Halves the image twice and doubles it back: only multiples of four come out as they went in."""
    pool = dict(kernel_shape=[2, 2], strides=[2, 2])
    up = np.array([1, 1, 4, 4], np.float32)
    nodes = [node("MaxPool", ["x"], "p", **pool), node("MaxPool", ["p"], "q", **pool),
             node("Resize", ["q", "", "scales"], "u", mode="nearest"), node("Add", ["x", "u"], "y")]
    return model(nodes, [("x", F, ["n", 3, "h", "w"])], [("y", F, None)], [onnx.numpy_helper.from_array(up, "scales")])


def test_proven_where_the_step_divides(thaw, save):
    report = proof(thaw, save(two_scales()), "n=1..32,h=64..1024:32,w=4..4096:4")
    assert report["proof"]["refuted"] == report["proof"]["unknown"] == 0
    assert report["findings"] == []


def test_the_smallest_size_that_breaks_is_shown_and_does_break(thaw, save):
    path = save(two_scales())
    report = proof(thaw, path, "n=1..2,h=4..64,w=4..64:4")
    broken = [f for f in report["findings"] if f["code"] == "THAW040"]
    assert broken and "Add" in broken[0]["location"]["op"]
    sizes = dict(part.split("=") for part in broken[0]["details"]["smallest size"].split(", "))
    n, h, w = (int(sizes[k]) for k in "nhw")
    assert (n, h, w) == (1, 5, 4)  # 4 is fine, 5 is not
    runs = session(path)
    runs.run(None, {"x": np.zeros((1, 3, 4, 4), np.float32)})
    with pytest.raises(Exception, match="Add"):
        runs.run(None, {"x": np.zeros((n, 3, h, w), np.float32)})


@pytest.mark.parametrize("parts, range_, breaks", [([3, 8], "n=1..64", "n=1"), ([3, 8], "n=11..11", None)])
def test_a_split_list_holds_for_its_sum_alone(thaw, save, parts, range_, breaks):
    nodes = [onnx.helper.make_node("Split", ["x", "parts"], ["a", "b"], axis=0, name="split"), node("Concat", ["b", "a"], "y", axis=0)]
    path = save(model(nodes, [("x", F, ["n", 4])], [("y", F, None)], [ints("parts", parts)]))
    broken = [f for f in proof(thaw, path, range_)["findings"] if f["code"] == "THAW040"]
    assert bool(broken) == bool(breaks)
    if breaks:
        assert broken[0]["details"]["smallest size"] == breaks


def test_a_declared_number_can_be_given_a_range_by_its_axis(thaw, save):
    nodes = [node("Reshape", ["x", "to"], "y")]
    path = save(model(nodes, [("x", F, [1, 6])], [("y", F, None)], [ints("to", [1, 2, 3])]))
    assert proof(thaw, path, "x_dim0=1..1")["proof"]["refuted"] == 0
    assert proof(thaw, path, "x_dim0=1..8")["proof"]["refuted"] > 0


def test_values_of_an_input_have_ranges_too(thaw, save):
    nodes = [onnx.helper.make_node("Split", ["grid"], ["h", "w"], axis=0, num_outputs=2, name="split"),
             node("Concat", ["h", "w", "width"], "to", axis=0), node("Reshape", ["x", "to"], "y")]
    m = model(nodes, [("x", F, ["patches", 8]), ("grid", onnx.TensorProto.INT64, [2])], [("y", F, None)], [ints("width", [8])], opset=18)
    path = save(m)
    assert proof(thaw, path, "grid[0]=1..64,grid[1]=1..64,patches=grid[0]*grid[1]")["findings"] == []
    assert any(f["code"] == "THAW040" for f in proof(thaw, path, "grid[0]=1..64,grid[1]=1..64,patches=1..4096")["findings"])


def test_a_wrong_name_lists_those_there_are(thaw, save):
    line = thaw.error("check", save(two_scales()), "--sizes", "batch=1..4")
    assert "'batch'" in line and "n, h, w" in line


def test_a_column_of_an_inputs_values_can_have_a_range(thaw, save):
    """A Reshape by a value: 2 and 4 divide 12, 5 does not."""
    integer = onnx.TensorProto.INT64
    nodes = [node("Gather", ["grid", "one"], "column", axis=1), node("Gather", ["column", "one"], "size", axis=0),
             node("Unsqueeze", ["size", "zero"], "list"), node("Concat", ["keep", "list", "rest"], "shape", axis=0),
             node("Reshape", ["x", "shape"], "y")]
    constants = [ints("zero", [0]), ints("keep", [0]), ints("rest", [-1]),
                 onnx.numpy_helper.from_array(np.array(1, np.int64), "one")]
    path = save(model(nodes, [("x", F, ["n", 12]), ("grid", integer, [2, 2])], [("y", F, None)], constants))
    good = proof(thaw, path, "n=1..9,grid[:,1]=2..4:2")
    assert good["proof"]["refuted"] == 0 and good["proof"]["unknown"] == 0
    bad = proof(thaw, path, "n=1..9,grid[:,1]=2..6")
    assert [f["details"]["smallest size"] for f in bad["findings"] if f["code"] == "THAW040"]
    assert "there is no size 'grid[:,2]'" in thaw.error("check", path, "--sizes", "grid[:,2]=1..3")


def attention_with_past():
    """A layer of a GPT-2 that decodes with a past: its mask is as long as past and new tokens together."""
    rows = np.random.default_rng(3)
    weights = [onnx.numpy_helper.from_array(rows.standard_normal(s).astype(np.float32), n) for n, s in (("w", (12, 36)), ("bias", (36,)))]
    attention = onnx.helper.make_node("Attention", ["x", "w", "bias", "mask", "past"], ["y", "present"], name="attention",
                                      domain="com.microsoft", num_heads=3, unidirectional=1)
    made = model([attention], [("x", F, ["b", "s", 12]), ("mask", onnx.TensorProto.INT32, ["b", "total"]),
                               ("past", F, [2, "b", 3, "p", 4])], [("y", F, None), ("present", F, None)], weights)
    made.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    return made


def test_a_mask_that_is_not_past_and_new_breaks_an_attention(thaw, save):
    path = save(attention_with_past())
    report = thaw.json("check", path, "--sizes", "b=2..3,s=1..4,p=1..6,total=1..12", "--run", code=1)
    broken = [f for f in report["findings"] if f["code"] == "THAW040"]
    assert broken and all(f["location"]["node"] == "attention" for f in broken)
    assert broken[0]["details"]["when run"].startswith("fails in ONNX Runtime: "), broken[0]["details"]
    report = thaw.json("check", path, "--sizes", "b=1..3,s=1..4,p=1..6,total=p+s", code=0)
    assert report["proof"]["refuted"] == report["proof"]["unknown"] == 0 and report["findings"] == []


def rows_by(nodes, constants=(), rows=10, inputs=(("x", F, ["n", 4]),)):
    """A table of so many rows, read by the list of integers 'at' that the nodes make of x's sizes."""
    table = onnx.numpy_helper.from_array(np.zeros((rows, 2), np.float32), "table")
    known = [onnx.numpy_helper.from_array(np.array(value, np.int64), name) for name, value in (("zero", 0), ("one", 1), ("zeros", [0]))]
    sized = [node("Shape", ["x"], "shape"), node("Gather", ["shape", "zero"], "n")]
    read = onnx.helper.make_node("Gather", ["table", "at"], ["y"], name="read")
    return model([*sized, *nodes, read], list(inputs), [("y", F, None)], [table, *known, *constants])


POSITIONS = node("Range", ["zero", "n", "one"], "at")
BY_SIZES = {
    "range": ([POSITIONS], 11),
    "range and three": ([node("Range", ["zero", "n", "one"], "r"), node("Add", ["r", "three"], "at")], 8),
    "reversed": ([node("Range", ["zero", "n", "one"], "r"), node("Sub", ["n", "r"], "at")], 10),
    "the last": ([node("Sub", ["n", "one"], "last"), node("Unsqueeze", ["last", "zeros"], "at")], 11),
    "within the rows": ([node("Range", ["zero", "n", "one"], "r"), node("Mod", ["r", "three"], "at")], None),
}


@pytest.mark.parametrize("case", BY_SIZES)
def test_a_table_is_proven_as_far_as_it_has_rows(thaw, save, case):
    nodes, breaks = BY_SIZES[case]
    path = save(rows_by(nodes, [onnx.numpy_helper.from_array(np.array(3, np.int64), "three")]))
    report = proof(thaw, path, "n=1..70")
    codes = {f["code"] for f in report["findings"]}
    if breaks:
        assert "THAW040" in codes
        found = next(f for f in report["findings"] if f["code"] == "THAW040")
        assert found["details"]["smallest size"] == f"n={breaks}"
        assert proof(thaw, path, f"n=1..{breaks - 1}")["findings"] == []
        # Optimized, a Gather of a Range is a Slice, which gives fewer rows without a word.
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        with pytest.raises(Exception, match="out of data bounds"):
            onnxruntime.InferenceSession(path, options).run(None, {"x": np.zeros((breaks, 4), np.float32)})
    else:
        assert report["findings"] == []


BY_DATA = {
    "CumSum": [node("Range", ["zero", "n", "one"], "rows"), node("CumSum", ["rows", "zero"], "at")],
    "ArgMax": [onnx.helper.make_node("ArgMax", ["x"], ["at"], axis=1, keepdims=0)],
    "TopK": [onnx.helper.make_node("TopK", ["x", "ones"], ["top", "at"], axis=0)],
}


@pytest.mark.parametrize("case", BY_DATA)
def test_places_that_only_running_tells_are_open(thaw, save, case):
    path = save(rows_by(BY_DATA[case], [ints("ones", [1])]))
    report = thaw.json("check", path, "--sizes", "n=1..9", code=0)
    assert [(f["code"], f["severity"]) for f in report["findings"]] == [("THAW041", "note")]
    assert report["proof"]["unknown"] == report["proof"]["unknown_values"] == 1 and report["proof"]["proven"] == 0
    assert "the numbers in 'at'" in report["findings"][0]["message"]


def test_what_an_input_holds_is_a_condition_and_no_fault(thaw, save):
    inputs = (("x", F, ["n", 4]), ("at", onnx.TensorProto.INT64, ["n"]))
    report = thaw.json("check", save(rows_by([], inputs=inputs)), "--sizes", "n=1..9", code=0)
    assert report["proof"]["unknown"] == report["proof"]["refuted"] == 0 and report["proof"]["input_conditions"] == 2
    texts = [f["message"] for f in report["findings"] if f["code"] == "THAW043"]
    assert any("highest_of_at must be at most 9" in t for t in texts) and any("lowest_of_at must be at least -10" in t for t in texts)


def test_an_integer_is_not_divided_by_a_size_that_may_be_0(thaw, save):
    """A quarter of the height, which is 0 below 4."""
    nodes = [node("Div", ["n", "four"], "quarter"), node("Div", ["n", "quarter"], "q"), node("Unsqueeze", ["q", "zeros"], "list"),
             node("Mod", ["list", "four"], "at")]
    path = save(rows_by(nodes, [onnx.numpy_helper.from_array(np.array(4, np.int64), "four")]))
    broken = [f for f in proof(thaw, path, "n=1..64")["findings"] if f["code"] == "THAW040"]
    assert broken[0]["details"]["smallest size"] == "n=1" and "divisor" in broken[0]["message"]
    assert proof(thaw, path, "n=4..64")["findings"] == []
