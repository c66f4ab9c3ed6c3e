"""A batch that was baked into Tile, Expand, targets of Reshapes and a table of equal rows: all of them move, or what holds it is said."""
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import baked_batch_nets as nets
from check_rules_test import F, floats, ints, model, node
from conftest import session, worst

RNG = np.random.default_rng(2)


def baked(batch, rows_differ=False):
    """A query that Tile repeats for each of `batch` images, a grid that Expand repeats, and scales with a row for each."""
    free = batch is None
    n = 1 if free else batch
    scales = np.tile(np.array([[2.0, 0.5]], np.float32), (n, 1)) * (1 + np.arange(n, dtype=np.float32)[:, None] if rows_differ else 1)
    nodes = [node("Reshape", ["x", "flat"], "m0"), node("Transpose", ["m0"], "m", perm=[0, 2, 1])]
    inits = [ints("flat", [0 if free else n, 4, 9]), numpy_helper.from_array(scales, "scales"), ints("apart", [n, 1, 1, 2]),
             numpy_helper.from_array(np.arange(18, dtype=np.float32).reshape(1, 3, 3, 2), "grid"), floats("query", 1, 5, 4),
             floats("w", 4, 4), ints("k", [5]), ints("two", [2]), ints("pairs", [1, 1, 2])]
    if free:
        nodes += [node("Shape", ["x"], "s"), node("Slice", ["s", "begin", "end"], "n"), node("Concat", ["n", "ones2"], "reps", axis=0),
                  node("Concat", ["n", "grid_dims"], "grid_to", axis=0), node("Concat", ["n", "rest"], "list_to", axis=0)]
        inits += [ints("begin", [0]), ints("end", [1]), ints("ones2", [1, 1]), ints("grid_dims", [3, 3, 2]), ints("rest", [-1, 2])]
    else:
        inits += [ints("reps", [n, 1, 1]), ints("grid_to", [n, 3, 3, 2]), ints("list_to", [n, -1, 2])]
    nodes += [node("Tile", ["query", "reps"], "q0"), node("MatMul", ["q0", "w"], "q"), node("MatMul", ["q", "m0"], "scores"),
              node("Softmax", ["scores"], "p", axis=-1), node("MatMul", ["p", "m"], "h"), node("Reshape", ["scales", "apart"], "sc"),
              node("Expand", ["grid", "grid_to"], "g0"), node("Div", ["g0", "sc"], "g"), node("Reshape", ["g", "list_to"], "props"),
              node("ReduceMax", ["m"], "best", axes=[2], keepdims=0)]
    nodes += [helper.make_node("TopK", ["best", "k"], ["tv", "ti"], axis=1, name="topk"), node("Unsqueeze", ["ti", "two"], "tu"),
              node("Tile", ["tu", "pairs"], "tt"), node("GatherElements", ["props", "tt"], "at", axis=1)]
    return model(nodes, [("x", F, ["batch", 4, 3, 3])], [("h", F, None), ("at", F, None)], inits)


@pytest.mark.parametrize("batch", [8, 3])
def test_a_baked_batch_moves(thaw, save, tmp_path, batch):
    path, fixed = save(baked(batch)), tmp_path / "fixed.onnx"
    found = {f["location"].get("tensor") for f in thaw.findings(path)}
    assert {"reps", "grid_to", "flat", "scales"} <= found and "q" not in found
    thaw("fix", path, "-o", fixed, code=0)
    for n in (1, 2, 5, 11):
        x = {"x": RNG.standard_normal((n, 4, 3, 3)).astype(np.float32)}
        assert worst(session(fixed).run(None, x), session(baked(None)).run(None, x)) < 1e-6, n


def test_rows_that_differ_hold_the_batch(thaw, save, tmp_path):
    path, fixed = save(baked(8, rows_differ=True)), tmp_path / "fixed.onnx"
    report = thaw.json("fix", path, "-o", fixed, code=1)
    assert "scales" in {left["where"] for left in report["remaining"]}


OTHERS = (1, 2, 4, 11)
OUTCOMES = {}  # by spec, what the last test counts


def assert_right(path, spec):
    x = RNG.standard_normal((max(OTHERS), spec["S"], spec["C"])).astype(np.float32)
    mended = session(path)
    for n in OTHERS:
        expected = session(nets.build(spec, n, is_reference=True)).run(None, {"x": x[:n]})
        got = mended.run(None, {"x": x[:n]})
        assert got[0].shape == expected[0].shape and worst(got, expected) < 2e-3, n


@pytest.mark.parametrize("piece", nets.MENDED, ids=lambda piece: piece.__name__)
def test_each_place_of_a_free_batch_is_written(thaw, save, tmp_path, piece):
    spec = {**nets.draw(len(piece.__name__), [piece.__name__]), "free": True}
    path, fixed = save(nets.build(spec, spec["n"])), tmp_path / "fixed.onnx"
    assert [f for f in thaw.findings(path) if f["severity"] == "error"]
    thaw("fix", path, "-o", fixed, code=0)
    assert_right(fixed, spec)
    assert not [f for f in thaw.findings(fixed) if f["severity"] == "error"]
    again = thaw.json("fix", fixed, "-o", tmp_path / "again.onnx", code=0)
    assert again["changed"] == []


@pytest.mark.parametrize("seed", range(36))
def test_right_for_any_number_or_refused(thaw, save, tmp_path, seed):
    spec, fixed = nets.draw(seed), tmp_path / "fixed.onnx"
    report = thaw.json("fix", save(nets.build(spec, spec["n"])), "-o", fixed, code=(0, 1))
    is_free = fixed.exists() and not onnx.load(fixed).graph.input[0].type.tensor_type.shape.dim[0].dim_value
    told = bool(report["remaining"]) or not is_free
    if not told or (is_free and not spec["free"]):
        assert_right(fixed, spec)
    OUTCOMES[seed] = not told


def test_that_most_are_right():
    assert len(OUTCOMES) == 36, "run with the rest of this file, where all passed"
    assert sum(OUTCOMES.values()) >= 18, OUTCOMES


@pytest.mark.parametrize("piece", nets.MENDED[:8], ids=lambda piece: piece.__name__)
def test_batch_of_such_a_model_names_fix(thaw, save, tmp_path, piece):
    spec = {**nets.draw(3, [piece.__name__]), "free": True}
    run = thaw("batch", save(nets.build(spec, spec["n"])), "-o", tmp_path / "batched.onnx", code=2)
    assert "thaw fix" in run.stderr
