"""`check --sizes --run`: the sizes that a proof says break the model are tried."""

import numpy as np
import pytest
from onnx import helper, numpy_helper

from inspect_json_test import FLOAT, model


def reshaped(dim):
    """[dim, 6] in rows of four: runs where 4 divides 6 * dim."""
    shape = numpy_helper.from_array(np.array([-1, 4], np.int64), "shape")
    return model([helper.make_node("Reshape", ["x", "shape"], ["y"], name="rows")],
                 [("x", FLOAT, [dim, 6])], [("y", FLOAT, None)], [shape])


def broken(thaw, path, *args):
    finding, = [f for f in thaw.json("check", path, *args, code=1)["findings"] if f["code"] == "THAW040"]
    return finding


@pytest.mark.parametrize("dim, name", [("n", "n"), (2, "x_dim0")])
def test_it_fails_as_the_proof_says(thaw, save, dim, name):
    path = save(reshaped(dim))
    finding = broken(thaw, path, "--sizes", f"{name}=2..9", "--run")
    assert finding["location"]["node"] == "rows"
    assert finding["details"]["smallest size"] == f"{name}=3"
    assert finding["details"]["when run"].startswith("fails in ONNX Runtime: ")
    assert "when run" in thaw("check", path, "--sizes", f"{name}=2..9", "--run", code=1).stdout


def test_nothing_is_run_unless_asked_for(thaw, save):
    assert "when run" not in broken(thaw, save(reshaped("n")), "--sizes", "n=2..9")["details"]


def test_sizes_that_hold_are_proven(thaw, save):
    report = thaw.json("check", save(reshaped("n")), "--sizes", "n=2..64:2", "--run", code={0, 1})
    assert "THAW040" not in {f["code"] for f in report["findings"]}
    assert report["proof"]["refuted"] == 0 < report["proof"]["proven"]


def test_inputs_too_large_to_make_are_not_made(thaw, save):
    finding = broken(thaw, save(reshaped("n")), "--sizes", "n=100000001..100000009:2", "--run")
    assert finding["details"]["when run"] == "not run: the inputs would be too large"


def test_run_needs_sizes(thaw, save):
    assert "--sizes" in thaw.error("check", save(reshaped("n")), "--run")


def pooled(kernel, stride, then=(), inits=()):
    """A pool over the last axis of [1, 1, n], and what comes after it."""
    nodes = [helper.make_node("MaxPool", ["x"], ["p"], name="pool", kernel_shape=[kernel], strides=[stride]), *then]
    return model(nodes, [("x", FLOAT, [1, 1, "n"])], [(nodes[-1].output[0], FLOAT, None)], inits)


def codes(report):
    return {f["code"] for f in report["findings"]}


def test_a_pool_larger_than_its_input_is_outside_of_the_specification_and_runs(thaw, save):
    path = save(pooled(3, 2))
    report = thaw.json("check", path, "--sizes", "n=1..9", "--run", code=0)
    finding, = report["findings"]
    assert (finding["code"], finding["severity"]) == ("THAW042", "note")
    assert finding["details"]["smallest size"] == "n=1" and "3 <= n" in finding["message"]
    assert finding["details"]["when run"] == "runs in ONNX Runtime all the same"
    assert report["proof"]["refuted"] == 0
    assert not thaw.json("check", path, "--sizes", "n=3..9", code=0)["findings"]


def test_a_pool_larger_by_two_strides_is_refused(thaw, save):
    finding = broken(thaw, save(pooled(8, 2)), "--sizes", "n=1..9", "--run")
    assert finding["location"]["node"] == "pool" and finding["details"]["smallest size"] == "n=1"
    assert finding["details"]["when run"].startswith("fails in ONNX Runtime: ")
    report = thaw.json("check", save(pooled(8, 2)), "--sizes", "n=5..9", "--run", code=0)
    assert codes(report) == {"THAW042"}


def test_what_follows_a_pool_is_proven_with_the_sizes_that_run(thaw, save):
    """1, 1, 1, 1, 1, 2: the formula of the specification has 0 below 3, at which nothing could be squeezed."""
    axis = numpy_helper.from_array(np.array([2], np.int64), "axis")
    path = save(pooled(3, 3, [helper.make_node("Squeeze", ["p", "axis"], ["y"], name="squeeze")], [axis]))
    assert codes(thaw.json("check", path, "--sizes", "n=1..5", "--run", code=0)) == {"THAW042"}
    finding = broken(thaw, path, "--sizes", "n=1..6", "--run")
    assert finding["location"]["node"] == "squeeze" and finding["details"]["smallest size"] == "n=6"


def test_a_convolution_larger_than_its_input_is_refused(thaw, save):
    weight = numpy_helper.from_array(np.ones((1, 1, 3), np.float32), "w")
    path = save(model([helper.make_node("Conv", ["x", "w"], ["y"], name="conv", strides=[3])],
                      [("x", FLOAT, [1, 1, "n"])], [("y", FLOAT, None)], [weight]))
    assert broken(thaw, path, "--sizes", "n=1..9", "--run")["details"]["when run"].startswith("fails in ONNX Runtime: ")


def test_a_size_at_which_it_was_seen_to_run_is_no_error(thaw, save):
    """Pools refuse an axis of no elements, but not where the batch has none either."""
    path = save(model([helper.make_node("MaxPool", ["x"], ["y"], name="pool", kernel_shape=[1])],
                      [("x", FLOAT, ["b", 1, "n"])], [("y", FLOAT, None)]))
    report = thaw.json("check", path, "--sizes", "b=0..1,n=0..9", "--run", code=0)
    finding, = [f for f in report["findings"] if f["code"] == "THAW040"]
    assert finding["severity"] == "note" and finding["details"]["when run"] == "runs in ONNX Runtime all the same"
    assert thaw.json("check", path, "--sizes", "b=1..2,n=0..9", "--run", code=1)["counts"]["errors"] == 1
