"""thaw optimize on every ONNX node test, its sizes made free: the same numbers, nothing renamed, nothing more the second time."""
import collections

import numpy as np
import onnx
from onnx.backend.test.loader import load_model_tests

from batch_node_test import parts, session

LEAST_COMPARED = 1350


def freed(model):
    """Each axis of each input as a name of its own; what is declared inside and of outputs goes."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for value in copy.graph.input:
        if value.type.WhichOneof("value") != "tensor_type":
            continue
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            dim.Clear()
            dim.dim_param = f"{value.name}_{axis}"
    del copy.graph.value_info[:]
    for value in copy.graph.output:
        if value.type.WhichOneof("value") == "tensor_type":
            value.type.tensor_type.ClearField("shape")
    return copy


def attempt(thaw, case, tmp_path):
    model = freed(case.model)
    path, out, again = (tmp_path / f"{name}.onnx" for name in ("model", "out", "again"))
    onnx.save(model, path)
    run = thaw("optimize", path, "-o", out, "--no-check", "--level", "clean", runtime=False)
    if run.returncode != 0:
        return "fails: " + run.stderr
    repeated = thaw.json("optimize", out, "-o", again, "--no-check", "--level", "clean", code=0, runtime=False)
    if repeated["changed"]:
        return f"changes again: {repeated['changed'][:2]}"
    now = onnx.load(out)
    for kind in ("input", "output"):
        if [v.name for v in getattr(now.graph, kind)] != [v.name for v in getattr(model.graph, kind)]:
            return f"renames an {kind}"
    if [v.type for v in now.graph.input] != [v.type for v in model.graph.input]:
        return "declares an input otherwise"
    names = [i.name for i in model.graph.input]
    feed = dict(zip(names, case.data_sets[0][0]))
    try:
        wanted = session(str(path)).run(None, feed)
    except Exception:
        return "not run"
    try:
        got = session(str(out)).run(None, feed)
    except Exception as error:
        return f"does not run: {str(error)[:200]}"
    for one, other in zip(parts(wanted), parts(got), strict=True):
        if not isinstance(one, np.ndarray):
            continue
        if one.shape != other.shape or one.dtype != other.dtype:
            return f"gives {other.dtype}{other.shape} for {one.dtype}{one.shape}"
        if one.dtype.kind in "fc" and not np.array_equal(one, other, equal_nan=True):
            return "differs"
        if one.dtype.kind not in "fc" and not np.array_equal(one, other):
            return "differs"
    return "agrees"


def is_random(model):
    random = {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial", "Dropout"}
    return any(node.op_type in random for node in model.graph.node)


def test_every_node_test_is_the_same(thaw, tmp_path):
    count, wrong = collections.Counter(), {}
    for case in load_model_tests(kind="node"):
        if is_random(case.model):
            continue
        result = attempt(thaw, case, tmp_path)
        count[result if result in ("agrees", "not run") else "wrong"] += 1
        if result not in ("agrees", "not run"):
            wrong[case.name] = result
    assert wrong == {}
    assert count["agrees"] >= LEAST_COMPARED, count
