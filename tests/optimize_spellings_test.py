"""thaw optimize finds a fusion however it is written: spellings of exporters and models, and near-misses that must stay."""
import numpy as np
import onnx
import pytest

import spellings_activations
import spellings_attention
import spellings_more_norms
import spellings_norms
import spellings_products
import spellings_rotary
from conftest import session
from spellings import NEAR_MISSES, SPELLINGS, fits

FILL_THE_REGISTRY = (spellings_activations, spellings_attention, spellings_more_norms, spellings_norms, spellings_products, spellings_rotary)
SIZES = ({"b": 2, "s": 5, "t": 7, "h": 11, "w": 13, "b4": 8}, {"b": 3, "s": 7, "t": 4, "h": 9, "w": 5, "b4": 12})


def feed_of(model, sizes, rng):
    feed = {}
    for value in model.graph.input:
        kind = value.type.tensor_type
        shape = [sizes[d.dim_param] if d.dim_param else d.dim_value for d in kind.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        if dtype == np.bool_:
            feed[value.name] = rng.random(shape) < 0.6
            feed[value.name][..., 0] = True
        elif dtype == np.int64:
            feed[value.name] = (rng.random(shape) < 0.7).astype(np.int64)
            feed[value.name][..., 0] = 1
        else:
            feed[value.name] = rng.standard_normal(shape).astype(dtype)
    return feed


def unoptimized(path):
    """ONNX Runtime's own fusions refuse some of the spellings."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def optimized(thaw, save, tmp_path, case):
    """The operators that are left; the numbers are the same at two sizes, and a second run changes nothing."""
    model = case.model()
    path, out = save(model), tmp_path / "out.onnx"
    thaw("optimize", path, "-o", out, "--target", case.target, "--no-check", code=0)
    before, after, rng = unoptimized(path), session(out), np.random.default_rng(2)
    for sizes in SIZES:
        feed = feed_of(model, sizes, rng)
        for wanted, got in zip(before.run(None, feed), after.run(None, feed), strict=True):
            assert got.dtype == wanted.dtype
            tolerance = 1e-2 if wanted.dtype == np.float16 else 1e-4
            np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance * max(0.1, float(np.abs(wanted).max())))
    assert thaw.json("optimize", out, "--target", case.target, "--dry-run", "--no-check", code=0)["changed"] == []
    return [node.op_type for node in onnx.load(out).graph.node]


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_spelling_fuses(thaw, save, tmp_path, name):
    left = optimized(thaw, save, tmp_path, SPELLINGS[name])
    assert fits(left, SPELLINGS[name].left), left


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_a_near_miss_stays(thaw, save, tmp_path, name):
    left = optimized(thaw, save, tmp_path, NEAR_MISSES[name])
    assert not set(NEAR_MISSES[name].without) & set(left), left
