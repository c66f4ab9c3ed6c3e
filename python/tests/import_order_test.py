"""The package beside others with native code in one process: whichever is imported first, all of them work."""
from importlib.util import find_spec

import pytest

from conftest import model, python

BEGIN = """
import numpy as np
x = np.arange(-4, 4, dtype=np.float32).reshape(2, 4)
y = np.maximum(x, 0) + x
"""
# What each does with its native code. All that compute something compare it.
USES = {
    "onnx_thaw": """
assert onnx_thaw.check(data).accepted and np.array_equal(onnx_thaw.run(data, {"x": x}).outputs["y"], y)
try:
    onnx_thaw.load(b"no model")
    raise SystemExit("it was read")
except onnx_thaw.InvalidFile:
    pass
""",
    "cv2": "assert np.array_equal(cv2.max(x, 0) + x, y)",
    "onnx": "onnx.checker.check_model(onnx.shape_inference.infer_shapes(onnx.load_model_from_string(data)))",
    "onnxruntime": "assert np.array_equal(onnxruntime.InferenceSession(data).run(None, {'x': x})[0], y)",
    "onnxsim": "import onnx; assert onnxsim.simplify(onnx.load_model_from_string(data))[1]",
    "openvino": "assert np.array_equal(openvino.compile_model(openvino.Core().read_model(data), 'CPU')({'x': x})[0], y)",
    "tensorflow": "assert np.array_equal(tensorflow.nn.relu(x).numpy() + x, y)",
    "torch": "assert np.array_equal(torch.nn.functional.relu(torch.from_numpy(x)).numpy() + x, y)",
}
OTHERS = [name for name in USES if name != "onnx_thaw"]


def works(names):
    """Imports and uses packages in an order, then uses them again the other way round, and ends."""
    data = model('g (float[batch, 4] x) => (float[batch, 4] y) { t = Relu(x) y = Add(t, x) }').SerializeToString()
    steps = [f"import {name}\n{USES[name]}" for name in names] + [USES[name] for name in reversed(names)]
    done = python("\n".join([BEGIN, f"data = {data!r}", *steps, "print('the end')"]), timeout=300)
    assert done.returncode == 0 and done.stdout.endswith("the end\n"), f"exit code {done.returncode}: {done.stderr}"


@pytest.mark.parametrize("is_first", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("other", OTHERS)
def test_beside_one_other(other, is_first):
    if find_spec(other) is None:
        pytest.skip(f"{other} is not installed")
    works(["onnx_thaw", other] if is_first else [other, "onnx_thaw"])


@pytest.mark.parametrize("place", ["first", "between", "last"])
def test_beside_all_others(place):
    there = [name for name in OTHERS if find_spec(name)]
    if len(there) < 2:
        pytest.skip(f"fewer than two of {', '.join(OTHERS)} are installed")
    there.insert({"first": 0, "between": len(there) // 2, "last": len(there)}[place], "onnx_thaw")
    works(there)
