"""`check --dims --run`: the sizes that a proof says break the model are tried."""

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
    finding = broken(thaw, path, "--dims", f"{name}=2..9", "--run")
    assert finding["where"]["node"] == "rows"
    assert finding["details"]["smallest size"] == f"{name}=3"
    assert finding["details"]["when run"].startswith("fails in ONNX Runtime: ")
    assert "when run" in thaw("check", path, "--dims", f"{name}=2..9", "--run", code=1).stdout


def test_nothing_is_run_unless_asked_for(thaw, save):
    assert "when run" not in broken(thaw, save(reshaped("n")), "--dims", "n=2..9")["details"]


def test_sizes_that_hold_are_proven(thaw, save):
    report = thaw.json("check", save(reshaped("n")), "--dims", "n=2..64:2", "--run", code={0, 1})
    assert "THAW040" not in {f["code"] for f in report["findings"]}
    assert report["proof"]["broken"] == 0 < report["proof"]["proven"]


def test_inputs_too_large_to_make_are_not_made(thaw, save):
    finding = broken(thaw, save(reshaped("n")), "--dims", "n=100000001..100000009:2", "--run")
    assert finding["details"]["when run"] == "not run: the inputs would be too large"


def test_run_needs_sizes(thaw, save):
    assert "--dims" in thaw.error("check", save(reshaped("n")), "--run")
