"""Arrays between NumPy and the library keep every element, of every type."""
import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import onnx_thaw as thaw

TYPES = {"float32": np.float32, "float64": np.float64, "float16": np.float16, "int8": np.int8, "int16": np.int16, "int32": np.int32,
         "int64": np.int64, "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32, "uint64": np.uint64, "bool": np.bool_,
         "bfloat16": ml_dtypes.bfloat16, "int4": ml_dtypes.int4, "uint4": ml_dtypes.uint4,
         "float8_e4m3fn": ml_dtypes.float8_e4m3fn, "float8_e5m2": ml_dtypes.float8_e5m2}


def identity(dtype, rank=2):
    """A model that gives back its input; of a type that the runtime only moves."""
    tensor = helper.np_dtype_to_tensor_dtype(np.dtype(dtype)) if dtype is not str else TensorProto.STRING
    x, y = (helper.make_tensor_value_info(name, tensor, [f"d{i}" for i in range(rank)]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def through(array, dtype):
    return thaw.run(identity(dtype, len(getattr(array, "shape", np.shape(array)))), {"x": array}).inputs["x"]


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("shape", [(), (0, 3), (1,), (7,), (3, 5), (2, 3, 4)])
def test_elements_go_there_and_back(name, shape):
    dtype = TYPES[name]
    rng = np.random.default_rng(len(shape))
    array = (rng.integers(0, 2, shape) if name in ("bool",) else rng.integers(0 if name[0] == "u" else -7, 7, shape)).astype(dtype)
    try:
        got = through(array, dtype)
    except thaw.RuntimeFailed as error:  # the runtime has no Identity of the type: the arrays went there all the same
        assert "implemented" in str(error) or "type" in str(error).lower(), error
        pytest.skip("onnxruntime does not move the type")
    assert got.dtype == np.dtype(dtype) and got.shape == shape
    np.testing.assert_array_equal(got.astype(np.float64), array.astype(np.float64))


def test_layouts_that_are_not_contiguous():
    base = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    for view in (base[:, ::2], base.transpose(2, 0, 1), base[::-1], np.asfortranarray(base), base.astype(">f4")):
        np.testing.assert_array_equal(through(view, np.float32), view)


def test_strings():
    array = np.array([["a", "über"], ["", "日本"]], dtype=object)
    got = through(array, str)
    assert got.tolist() == array.tolist()
    assert through(np.array(["a", "bc"]), str).tolist() == ["a", "bc"]


def test_lists_scalars_and_dlpack():
    class Exports:
        def __init__(self, array):
            self.array, self.shape = array, array.shape

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(through(Exports(array), np.float32), array)
    np.testing.assert_array_equal(thaw.run(identity(np.int64, 1), {"x": [1, 2, 3]}).outputs["y"], [1, 2, 3])


def test_tensors_of_torch():
    torch = pytest.importorskip("torch")
    for dtype, numpy_dtype in ((torch.float32, np.float32), (torch.bfloat16, ml_dtypes.bfloat16), (torch.int64, np.int64)):
        tensor = torch.arange(6).reshape(2, 3).to(dtype).requires_grad_(dtype.is_floating_point)
        got = through(tensor, numpy_dtype)
        np.testing.assert_array_equal(got.astype(np.float64), np.arange(6.0).reshape(2, 3))


def test_outputs_own_their_memory():
    session = thaw.Session(identity(np.float32))
    first = session.run({"x": np.ones((2, 3), np.float32)})["y"]
    second = session.run({"x": np.zeros((2, 3), np.float32)})["y"]
    del session
    assert first.sum() == 6 and second.sum() == 0
    first[0, 0] = 5
    assert first.sum() == 10


def test_what_is_no_array_is_an_error():
    with pytest.raises((TypeError, thaw.Error)):
        thaw.run(identity(np.float32), {"x": object()})


def test_small_integers_are_packed_as_onnx_packs_them():
    array = np.array([1, -2, 3, -4, 5], dtype=ml_dtypes.int4)
    packed = onnx.numpy_helper.from_array(array, "x")
    from onnx_thaw._arrays import to_parts
    name, dims, raw = to_parts(array)
    assert (name, dims, bytes(raw)) == ("int4", [5], packed.raw_data)
