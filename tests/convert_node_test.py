"""thaw convert --to f16 --io convert on every ONNX node test of float32, its sizes free: types fit, and the numbers up to float16."""
import collections

import numpy as np
import onnx
from onnx import TensorProto
from onnx.backend.test.loader import load_model_tests

from batch_node_test import parts, session
from optimize_node_test import freed, is_random

LEAST_COMPARED = 700
# Whose results hang on a comparison of numbers that float16 does not tell apart, or on more than it has.
LEFT_OUT = ("test_ai_onnx_ml_tree", "test_nonmaxsuppression", "test_unique", "test_topk", "test_quantizelinear", "test_dynamicquantizelinear",
            "test_argmax", "test_argmin", "test_hardmax", "test_mod", "test_cast", "test_training", "test_adam", "test_momentum",
            "test_adagrad", "test_nesterov", "test_isinf", "test_isnan", "test_roialign", "test_grid_sample", "test_dft",
            "test_stft", "test_det", "test_exp", "test_pow", "test_floor", "test_ceil", "test_round",
            "test_logsoftmax_large_number", "test_softmax_large_number", "test_reduce_prod_default",
            "test_attention_4d_with_past_and_present_qk_matmul_bias")


def narrow(array):
    return array.astype(np.float16) if isinstance(array, np.ndarray) and array.dtype == np.float32 else array


def attempt(thaw, case, tmp_path):
    model = freed(case.model)
    path, out = tmp_path / "model.onnx", tmp_path / "out.onnx"
    onnx.save(model, path)
    run = thaw("convert", path, "-o", out, "--to", "f16", "--io", "convert", "--no-check", "--no-optimize", runtime=False)
    if run.returncode != 0:
        return "fails: " + run.stderr
    now = onnx.load(out)
    for before, after in zip([*model.graph.input, *model.graph.output], [*now.graph.input, *now.graph.output], strict=True):
        if before.name != after.name:
            return f"renames {before.name}"
        kinds = [v.type.WhichOneof("value") for v in (before, after)]
        if kinds == ["tensor_type"] * 2:
            was, now_is = (v.type.tensor_type.elem_type for v in (before, after))
            if now_is != (TensorProto.FLOAT16 if was == TensorProto.FLOAT else was):
                return f"{before.name} is of type {now_is}"
    feed = dict(zip([i.name for i in model.graph.input], case.data_sets[0][0]))
    try:
        wanted = session(str(path)).run(None, feed)
    except Exception:
        return "not run"
    try:
        got = session(str(out)).run(None, {name: narrow(array) for name, array in feed.items()})
    except Exception as error:
        return f"does not run: {str(error)[:300]}"
    for one, other in zip(parts(wanted), parts(got), strict=True):
        if not isinstance(one, np.ndarray) or one.size == 0 or one.dtype != np.float32:
            continue
        if one.shape != other.shape:
            return f"gives {other.shape} for {one.shape}"
        largest = np.abs(one[np.isfinite(one)]).max(initial=1e-3)
        if not np.allclose(other.astype(np.float32), one, rtol=0, atol=2e-2 * largest, equal_nan=True):
            return f"differs by {np.nanmax(np.abs(other.astype(np.float32) - one)):.3g} of {largest:.3g}"
    return "agrees"


def takes_float(model):
    return any(v.type.tensor_type.elem_type == TensorProto.FLOAT for v in model.graph.input)


def test_every_node_test_in_float16(thaw, tmp_path):
    count, wrong = collections.Counter(), {}
    for case in load_model_tests(kind="node"):
        if is_random(case.model) or not takes_float(case.model) or case.name.startswith(LEFT_OUT):
            continue
        result = attempt(thaw, case, tmp_path)
        known = result in ("agrees", "not run")
        count[result if known else "wrong"] += 1
        if not known:
            wrong[case.name] = result
    print(count)
    assert not wrong, f"{len(wrong)}: " + "\n".join(f"{k}: {v}" for k, v in list(wrong.items())[:60])
    assert count["agrees"] >= LEAST_COMPARED, count
