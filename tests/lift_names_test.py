"""Traces of which some name a size and others write it down."""
import numpy as np
import pytest

from conftest import session
from lift_net import Net


def trace(rows, declared):
    net = Net()
    table = np.arange(rows)[:, None] * np.array([1.0, 0.5, 3.0], np.float32)
    return net.model([declared, 3], net.add("Add", "x", net.constant(table.astype(np.float32))))


@pytest.mark.parametrize("named", [0, 1, 2])
def test_a_size_that_one_trace_alone_names(thaw, save, tmp_path, named):
    paths = [save(trace(rows, "rows" if i == named else rows), f"trace_{rows}") for i, rows in enumerate((5, 7, 11))]
    out = tmp_path / "lifted.onnx"
    thaw("lift", *paths, "-o", out, code=0)
    x = np.random.default_rng(0).standard_normal((13, 3), dtype=np.float32)
    wanted = x + np.arange(13)[:, None] * np.array([1.0, 0.5, 3.0], np.float32)
    run = session(out)
    assert run.get_inputs()[0].shape == ["rows", 3] and np.abs(run.run(None, {"x": x})[0] - wanted).max() < 1e-5
