"""A lifted model beside traces that ONNX Runtime computes in another order: what differs by rounding alone is no difference."""
import numpy as np

from conftest import session
from lift_net import Net

WIDTH = 4


def trace(h):
    """ONNX Runtime multiplies the weights by 1 / h, where it is a constant; the sine makes of the last bit another number."""
    net = Net()
    kernel = np.random.default_rng(0).standard_normal((WIDTH, 3, 3, 3), dtype=np.float32)
    x = net.add("Conv", "x", net.constant(kernel), net.constant(np.ones(WIDTH, np.float32)))
    x = net.add("Mul", x, net.constant(np.float32(1) / np.float32(h)))
    return net.model([1, 3, h, 16], net.add("Sin", net.add("Mul", x, net.constant(np.float32(1e8)))))


def test_what_rounds_otherwise_is_compared_as_it_is_written(thaw, save, tmp_path):
    paths = [save(trace(h), f"trace_{h}") for h in (12, 19, 26)]
    out = tmp_path / "lifted.onnx"
    printed = thaw("lift", *paths, "-o", out, code=0).stdout
    assert printed.count("with ONNX Runtime's optimizations disabled: max abs diff 0 (max |output|") >= 2
    assert session(out).run(None, {"x": np.ones((1, 3, 15, 16), np.float32)})[0].shape == (1, WIDTH, 13, 14)
