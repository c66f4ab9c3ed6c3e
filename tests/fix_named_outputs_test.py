"""An output that is declared free and is a number in the graph: the number is mended where it follows, else the name stays, `thaw
fix` exits with 1 and `check` says so."""
import numpy as np
import onnx
import pytest

from check_rules_test import F, floats, ints, model, node
from conftest import session, worst


def upsampled(sizes, names, table=None, axes=("height", "width")):
    """Depth of an image: pooled, brought to constant sizes, the channel taken out."""
    pool = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]} if table else {"kernel_shape": [2, 2], "strides": [2, 2]}
    nodes = [node("AveragePool", ["x"], "p", **pool), node("ReduceMean", ["p"], "m", axes=[1], keepdims=1),
             node("Resize", ["m", "", "", "sizes"], "r", mode="nearest"), node("Squeeze", ["r", "one"], "s")]
    inits = [ints("one", [1]), ints("sizes", sizes)]
    nodes.append(node("Relu", ["s"], "y"))
    if table:
        nodes.append(node("Expand", ["line", "to"], "e"))
        nodes.append(node("Add", ["x", "e"], "z"))
        inits += [ints("to", [1, 1, *table]), floats("line", 1, 1, 1, 1)]
    outputs = [("y", F, names), *([("z", F, None)] if table else [])]
    return model(nodes, [("x", F, ["batch", 3, *axes])], outputs, inits)


def declared(path):
    return [d.dim_param or d.dim_value for d in onnx.load(path).graph.output[0].type.tensor_type.shape.dim]


@pytest.mark.parametrize("names", [["batch", "height", "width"], ["batch", "out_height", "out_width"]])
@pytest.mark.parametrize("sizes", [[1, 1, 70, 98], [1, 1, 140, 98]])
def test_the_name_stays_and_the_exit_code_says_that_it_is_not_true(thaw, save, tmp_path, names, sizes):
    path, fixed = save(upsampled(sizes, names)), tmp_path / "fixed.onnx"
    assert "THAW010" in {f["code"] for f in thaw.findings(path)}
    report = thaw.json("fix", path, "-o", fixed, code=1)
    assert any("declared '" + names[1] in left["message"] or "70" in left["message"] or "140" in left["message"] for left in report["remaining"])
    written = fixed if fixed.exists() else path
    assert declared(written)[1:] == names[1:]
    assert [f for f in thaw.findings(written) if f["severity"] == "error"]
    again = thaw.json("fix", written, "-o", tmp_path / "again.onnx", code=1)
    assert not again["changed"]


def test_what_the_rest_of_the_graph_tells_is_mended(thaw, save, tmp_path):
    path, fixed = save(upsampled([1, 1, 70, 98], ["batch", "height", "width"], table=(70, 98))), tmp_path / "fixed.onnx"
    thaw("fix", path, "-o", fixed, code=0)
    x = {"x": np.random.default_rng(0).standard_normal((2, 3, 44, 52)).astype(np.float32)}
    y = session(fixed).run(["y"], x)[0]
    wanted = session(upsampled([2, 1, 44, 52], ["batch", "height", "width"], table=(1, 1))).run(["y"], x)[0]
    assert worst([y], [wanted]) == 0


def test_a_number_that_a_weight_makes_is_what_it_is(thaw, save, tmp_path):
    m = model([node("GlobalAveragePool", ["x"], "g"), node("Flatten", ["g"], "f"), node("MatMul", ["f", "w"], "y")],
              [("x", F, ["batch", 3, "height", "width"])], [("y", F, ["batch", "classes"])], [floats("w", 3, 10)])
    fixed = tmp_path / "fixed.onnx"
    thaw("fix", save(m), "-o", fixed, code=0)
    assert declared(fixed) == ["batch", 10]
