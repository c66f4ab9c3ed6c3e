"""Types that do not fit: `thaw fix` changes the `to` of one Cast or the type of one constant where that cures it, and exits with 1
where errors of `check` are left."""
import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import numpy_helper

import half_nets
from check_rules_test import F, model, node
from conftest import session, worst

HALF = T.FLOAT16
RNG = np.random.default_rng(3)
MENDED = []  # seeds, which a test counts


def array(name, *dims, half=True):
    numbers = 0.2 * np.random.default_rng(sum(dims)).standard_normal(dims)
    return numpy_helper.from_array(numbers.astype(np.float16 if half else np.float32), name)


def converted():
    """A model in float16 between Casts, as a converter leaves it: a mask that was cast to float32 before is cast to float16."""
    nodes = [node("Cast", ["x"], "h", to=HALF), node("MatMul", ["h", "w1"], "a"), node("Add", ["a", "b1"], "b"),
             node("Cast", ["mask"], "m", to=HALF), node("Sub", ["one", "m"], "s"), node("Mul", ["s", "low"], "t"),
             node("Add", ["b", "t"], "c"), node("Softmax", ["c"], "p", axis=-1), node("Sqrt", ["p"], "q"),
             node("Cast", ["q"], "wide", to=F), node("Mul", ["wide", "scale"], "u"), node("Cast", ["u"], "v", to=HALF),
             node("MatMul", ["v", "w2"], "z"), node("Cast", ["z"], "y", to=F)]
    inits = [array("w1", 8, 8), array("b1", 8), array("one", 1), array("low", 1), array("w2", 8, 4), array("scale", 1, half=False)]
    return model(nodes, [("x", F, ["n", 8]), ("mask", T.INT64, ["n", 8])], [("y", F, ["n", 4])], inits)


def break_at(place):
    """The model with one Cast, or one constant, of the other type."""
    m = converted()
    casts = [n for n in m.graph.node if n.op_type == "Cast"]
    if place < len(casts):
        to = casts[place].attribute[0]
        to.i = F if to.i == HALF else HALF
    else:
        tensor = m.graph.initializer[place - len(casts)]
        numbers = numpy_helper.to_array(tensor)
        kind = np.float32 if numbers.dtype == np.float16 else np.float16
        tensor.CopyFrom(numpy_helper.from_array(numbers.astype(kind), tensor.name))
    return m


FEEDS = {"x": RNG.standard_normal((3, 8)).astype(np.float32), "mask": RNG.integers(0, 2, (3, 8))}


def loads(m):
    try:
        return session(m)
    except Exception:
        return None


@pytest.mark.parametrize("place", range(11))
def test_one_cast_or_constant_of_the_wrong_type_is_mended(thaw, save, tmp_path, place):
    broken, fixed = break_at(place), tmp_path / "fixed.onnx"
    if loads(broken):
        return  # it is of another type, and fits
    found = {f["code"] for f in thaw.findings(save(broken))}
    report = thaw.json("fix", save(broken), "-o", fixed, code=0)
    # The last Cast makes another type than the model declares of its output.
    assert found & {"THAW021", "THAW005"} and "THAW021" in {c["code"] for c in report["changed"]}
    assert worst(session(fixed).run(None, FEEDS), session(converted()).run(None, FEEDS)) < 5e-3
    assert not [f for f in thaw.findings(fixed) if f["severity"] == "error"]


def test_most_of_them_do_not_load():
    assert sum(loads(break_at(place)) is None for place in range(11)) >= 9


def test_a_constant_of_the_type_that_an_operator_does_not_take(thaw, save, tmp_path):
    nodes = [node("Resize", ["x", "", "scales"], "y", mode="nearest")]
    scales = numpy_helper.from_array(np.array([1, 1, 2, 2], np.float16), "scales")
    fixed = tmp_path / "fixed.onnx"
    thaw("fix", save(model(nodes, [("x", HALF, ["n", 3, 4, 4])], [("y", HALF, None)], [scales])), "-o", fixed, code=0)
    x = {"x": RNG.standard_normal((2, 3, 4, 4)).astype(np.float16)}
    assert session(fixed).run(None, x)[0].shape == (2, 3, 8, 8)


@pytest.mark.parametrize("value", [np.float32, np.float16])
def test_a_tensor_that_a_node_fills(thaw, save, tmp_path, value):
    from onnx import helper
    filled = helper.make_node("ConstantOfShape", ["s"], ["f"], name="fill", value=numpy_helper.from_array(np.array([2], value)))
    nodes = [node("Shape", ["x"], "s"), filled, node("Sqrt", ["f"], "r"), node("Mul", ["x", "r"], "y")]
    kind, fixed = (HALF, np.float16) if value == np.float32 else (F, np.float32), tmp_path / "fixed.onnx"
    thaw("fix", save(model(nodes, [("x", kind[0], ["n", 3])], [("y", kind[0], ["n", 3])])), "-o", fixed, code=0)
    x = {"x": RNG.standard_normal((2, 3)).astype(kind[1])}
    assert worst(session(fixed).run(None, x), [x["x"] * kind[1](np.sqrt(2))]) < 5e-3


def test_what_no_cast_cures_is_left_with_exit_code_1(thaw, save, tmp_path):
    m = model([node("MatMul", ["a", "b"], "c"), node("Relu", ["c"], "y")], [("a", F, ["n", 8]), ("b", T.DOUBLE, [8, "k"])], [("y", F, ["?", "?"])])
    fixed = tmp_path / "fixed.onnx"
    report = thaw.json("fix", save(m), "-o", fixed, code=1)
    assert "THAW021" in {left["code"] for left in report["remaining"]}


def test_errors_that_no_rewrite_answers_fail_the_verb(thaw, save, tmp_path):
    m = model([node("MatMul", ["a", "b"], "y")], [("a", F, ["n", 4]), ("b", F, [5, "m"])], [("y", F, ["?", "?"])])
    report = thaw.json("fix", save(m), "-o", tmp_path / "fixed.onnx", code=1)
    assert "THAW001" in {left["code"] for left in report["remaining"]}


@pytest.mark.parametrize("seed", range(48))
def test_what_a_converter_left_half_done_loads_and_agrees(thaw, save, tmp_path, seed):
    net = half_nets.float32(seed)
    path, fixed = save(half_nets.badly_converted(net, seed)), tmp_path / "fixed.onnx"
    run = thaw("fix", path, "-o", fixed, code=(0, 1))
    if run.returncode == 1:
        return
    mended = session(fixed if fixed.exists() else path)
    x = RNG.standard_normal((2, 4, 6, 4)).astype(np.float32)
    kind = np.float16 if mended.get_inputs()[0].type == "tensor(float16)" else np.float32
    got = mended.run(None, {"x": x.astype(kind)})[0].astype(np.float32)
    wanted = session(net).run(None, {"x": x})[0]
    assert np.abs(got - wanted).max() <= 3e-2 * np.abs(wanted).max()
    MENDED.append(seed)


def test_that_nearly_all_are_mended():
    assert len(MENDED) >= 46, "run with the rest of this file, where all passed"


def test_types_stay_where_they_are_kept(thaw, save, tmp_path):
    report = thaw.json("fix", save(break_at(1)), "-o", tmp_path / "fixed.onnx", "--keep-types", code=1)
    assert not [c for c in report["changed"] if c["code"] == "THAW021"]
