"""What the registry says of axes is true of ONNX's own node tests, run in ONNX Runtime: positions along a kept axis keep
apart, and positions that are filled with the number that has no part have none."""
import collections
import json
import os
import subprocess

import numpy as np
import onnx
import onnxruntime
from onnx.backend.test.loader import load_model_tests

from conftest import BUILD

os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"  # ONNX Runtime tries opsets that are newer than itself
NEUTRAL = {"sum": 0.0, "mean": 0.0, "maximum": -1e30, "minimum": 1e30, "softmax": -1e30, "log_softmax": -1e30}


def cases():
    for case in load_model_tests(kind="node"):
        values = case.data_sets[0][0]
        if len(case.model.graph.node) == 1 and all(isinstance(v, np.ndarray) for v in values):
            yield case.name, case.model, values


def operands(model, values):
    """The node's inputs as they are numbered, with the feeds' names."""
    by_name = dict(zip([i.name for i in model.graph.input], values))
    return list(model.graph.node[0].input), by_name


def said(models, tmp_path):
    paths = []
    for k, model in enumerate(models):
        paths.append(tmp_path / f"{k}.onnx")
        onnx.save(model, paths[-1])
    run = subprocess.run([str(BUILD / "tests" / "axes_of")], input="\n".join(map(str, paths)), capture_output=True,
                         text=True, check=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def close(a, b):
    if a.dtype.kind in "fc":
        return a.shape == b.shape and np.allclose(a.astype(np.complex128 if a.dtype.kind == "c" else np.float64), b,
                                                  rtol=1e-3, atol=1e-4, equal_nan=True)
    return a.shape == b.shape and np.array_equal(a, b)


def kept_holds(run, names, feeds, wanted, link):
    """What is changed at one position changes the results at that position only."""
    places = [(names[i], axis) for i, axis in link["inputs"] if i < len(names) and names[i] in feeds]
    size = max((feeds[name].shape[axis] for name, axis in places), default=1)
    if size < 2 or any(feeds[n].shape[a] not in (1, size) for n, a in places):
        return None
    changed = dict(feeds)
    for name, axis in places:
        if feeds[name].shape[axis] == size:
            x = np.moveaxis(feeds[name].copy(), axis, 0)
            x[0] = x[-1]
            changed[name] = np.ascontiguousarray(np.moveaxis(x, 0, axis))
    got = run(changed)
    for k, (before, after) in enumerate(zip(wanted, got)):
        axes = [axis for o, axis in link["outputs"] if o == k]
        if not axes or before.shape[axes[0]] != size:
            continue
        if not close(np.delete(before, 0, axes[0]), np.delete(after, 0, axes[0])):
            return False
    return True


def fill_holds(run, names, feeds, link, rng):
    """Where the first operand is filled, what the others hold there makes no difference; and other fillings neither."""
    first, axis = link["inputs"][0]
    x = feeds.get(names[first]) if first < len(names) else None
    if x is None or x.dtype != np.float32 or x.shape[axis] < 2:
        return None
    at = [slice(None)] * x.ndim
    at[axis] = 0
    filled = dict(feeds)
    filled[names[first]] = x.copy()
    filled[names[first]][tuple(at)] = NEUTRAL[link["combine"]]
    reference = run(filled)
    other = dict(filled)
    if link["combine"] in ("maximum", "minimum", "softmax", "log_softmax"):
        other[names[first]] = x.copy()
        other[names[first]][tuple(at)] = NEUTRAL[link["combine"]] * 2
    for i, a in link["inputs"][1:]:
        y = feeds.get(names[i]) if i < len(names) else None
        if y is None or y.dtype != np.float32 or y.shape[a] != x.shape[axis]:
            return None
        there = [slice(None)] * y.ndim
        there[a] = 0
        other[names[i]] = y.copy()
        other[names[i]][tuple(there)] = rng.standard_normal(y[tuple(there)].shape)
    got = run(other)
    for k, (a, b) in enumerate(zip(reference, got)):
        for o, out_axis in link["outputs"]:
            if o == k:  # a log-softmax there is the filling less a constant
                a, b = np.delete(a, 0, out_axis), np.delete(b, 0, out_axis)
        if not close(a, b):
            return False
    return True


def test_kept_axes_keep_positions_apart(tmp_path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    rng = np.random.default_rng(7)
    everything = list(cases())
    tally, wrong = collections.Counter(), []
    for (name, model, values), answer in zip(everything, said([m for _, m, _ in everything], tmp_path)):
        assert answer is None or "error" not in answer, (name, answer)
        if answer is None:
            tally["said nothing"] += 1
            continue
        try:
            session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
            names, feeds = operands(model, values)
            run = lambda f: [np.asarray(r) for r in session.run(None, f)]
            wanted = run(feeds)
        except Exception:  # an opset or operator that it does not know
            tally["did not run"] += 1
            continue
        outputs = [o for o in model.graph.node[0].output if o]
        if len(outputs) != len(model.graph.node[0].output):
            continue  # numbered otherwise
        for link in answer["links"]:
            verdict = None
            try:
                if link["kind"] == "kept" and link["inputs"] and link["outputs"]:
                    verdict = kept_holds(run, names, feeds, wanted, link)
                elif link["combine"] in NEUTRAL and link["inputs"]:
                    verdict = fill_holds(run, names, feeds, link, rng)
            except Exception:  # what was changed is refused: it tells nothing
                tally["refused"] += 1
                continue
            tally[f"{link['kind']} {verdict}"] += 1
            if verdict is False:
                wrong.append((model.graph.node[0].op_type, name, link))
    print(dict(tally))
    for w in wrong:
        print("WRONG", w)
    assert not wrong, wrong[:10]
    assert tally["kept True"] > 1300
    assert tally["contracted True"] > 70
