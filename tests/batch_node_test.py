"""thaw batch on every ONNX node test: the batched model's result i is the model's on sample i."""
import collections
import os

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx.backend.test.loader import load_model_tests
from onnx.reference import ReferenceEvaluator

os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"  # ONNX Runtime tries opsets that are newer than itself
SAMPLES = 3
# Inputs of these kinds differ from sample to sample; at least so many cases must be batched and agree.
LEAST_BATCHED = {"f": 1240, "iub": 425}


def session(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def run_all(model, feeds, by_reference):
    run = ReferenceEvaluator(str(model)) if by_reference else session(str(model))
    return [run.run(None, feed) for feed in feeds]


def parts(results):
    """Results with the items of sequences one by one."""
    for result in results:
        yield from result if isinstance(result, list) else [result]


def another(rng, value):
    """Another sample of the same kind: floats vary, integers and booleans change places."""
    if value.dtype.kind == "f":
        return (value * rng.uniform(0.5, 1.5, value.shape) + 0.01).astype(value.dtype)
    if value.dtype.kind in "iub" and value.ndim and value.size > 1:
        return rng.permutation(value.reshape(-1)).reshape(value.shape)
    return value


def cases():
    for case in load_model_tests(kind="node"):
        model = case.model
        names = [i.name for i in model.graph.input]
        values = case.data_sets[0][0]
        if all(isinstance(v, np.ndarray) for v in values):  # no sequences and optionals
            yield case.name, model, dict(zip(names, values))


def attempt(thaw, model, feed, tmp_path, rng, kinds="f"):
    """What became of one case: "agrees", "refused", "not run", or a difference."""
    data = [name for name, value in feed.items() if value.dtype.kind in kinds]
    if not data:
        return "no data"
    path, out = tmp_path / "model.onnx", tmp_path / "batched.onnx"
    onnx.save(model, path)
    # All of them, else the first: weights are the same for every sample.
    run = thaw("batch", path, "-o", out, "--no-check", "--new-axis", "--inputs", ",".join(data), runtime=False)
    if run.returncode == 2 and len(data) > 1:
        data = data[:1]
        run = thaw("batch", path, "-o", out, "--no-check", "--new-axis", "--inputs", data[0], runtime=False)
    if run.returncode == 2:
        return "refused " + run.stderr.split(", because ")[-1].split(";")[0]
    assert run.returncode == 0, run.stderr
    samples = [{name: another(rng, value) if name in data and k else value for name, value in feed.items()}
               for k in range(SAMPLES)]
    by_reference = False
    try:
        wanted = run_all(path, samples, by_reference)
    except Exception:  # no kernel in ONNX Runtime
        by_reference = True
        try:
            wanted = run_all(path, samples, by_reference)
        except Exception:
            return "not run"
    stacked = {name: np.stack([s[name] for s in samples]) if name in data else feed[name] for name in feed}
    try:
        if [o.name for o in onnx.load(out).graph.output] != [o.name for o in model.graph.output]:
            return "names differ"
        batched = run_all(out, [stacked], by_reference)[0]
    except Exception as error:
        return f"fails: {str(error)[:300]}"
    for k in range(SAMPLES):
        for one, all_of_them in zip(parts(wanted[k]), parts(batched), strict=True):
            if not isinstance(one, np.ndarray):
                return "not run"
            if all_of_them.shape[:1] != (SAMPLES,) or all_of_them[k].shape != one.shape:
                return f"shape {all_of_them.shape} for {one.shape}"
            if one.dtype.kind == "f":
                if not np.allclose(all_of_them[k].astype(np.float64), one.astype(np.float64), atol=2e-3 if one.dtype == np.float16 else 1e-5, rtol=1e-4,
                                   equal_nan=True):
                    return f"differs by {np.nanmax(np.abs(all_of_them[k].astype(np.float64) - one)):.3g}"
            elif not np.array_equal(all_of_them[k], one):
                return "differs"
    return "agrees"


@pytest.mark.parametrize("kinds", LEAST_BATCHED)
def test_every_node_test_agrees_or_is_refused(thaw, tmp_path, kinds):
    rng = np.random.default_rng(5)
    count, wrong, refused = collections.Counter(), {}, collections.Counter()
    for name, model, feed in cases():
        result = attempt(thaw, model, feed, tmp_path, rng, kinds)
        count[result.split(" ")[0].rstrip(":")] += 1
        if result.startswith("refused"):
            refused[result[8:].strip()] += 1
        elif result not in ("agrees", "no data", "not run"):
            wrong[name] = result
    print(dict(count))
    print("refused:", dict(refused))
    for name, result in wrong.items():
        print(name, result)
    assert not wrong
    assert count["agrees"] >= LEAST_BATCHED[kinds]
