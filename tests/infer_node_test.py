"""ONNX's own node tests, inferred: nothing contradicts what the cases store or ONNX Runtime computes, and most sizes are known.

Each case is one small model with inputs and outputs. Modes: (a) as it is declared; (b) with each input dim a fresh symbol,
but the length of 1-D integer inputs (shapes, axes, pads). `python tests/infer_node_test.py` prints the figures; SHOW=1 lists
what is not known.
"""

import collections
import json
import os
import re
import subprocess
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

warnings.filterwarnings("ignore")

BUILD = Path(os.environ.get("THAW_BUILD_DIR", Path(__file__).resolve().parent.parent / "build"))
TOOL = BUILD / "tests" / "infer_batch"

# Operators whose output sizes depend on the elements of their data: no expression in sizes can tell them.
DATA_DEPENDENT = {
    "Compress": "the condition's true elements",
    "NonMaxSuppression": "the boxes that are kept",
    "NonZero": "the elements that are not zero",
    "Unique": "the distinct elements",
    "StringSplit": "the longest split",
    "StringNormalizer": "the words that are no stop words",
    "ImageDecoder": "the image inside the bytes",
    "Loop": "the iterations that a fed condition allows",
}
# Inputs of these are float data that set the size (scales, ends of a range).
FLOAT_SIZES = {"Resize": 2, "Upsample": 1, "Range": 0, "OneHot": 1}

Case = collections.namedtuple("Case", "name model data")


def load_cases():
    import onnx.backend.test.loader as loader
    return [Case(c.name, c.model, c.data_sets) for c in loader.load_model_tests(kind="node")
            if c.model is not None and c.data_sets]


def array(value):
    """The stored value as an array; None for sequences, optionals and maps."""
    value = numpy_helper.to_array(value) if isinstance(value, TensorProto) else value
    return value if hasattr(value, "shape") else None


def symbolic(model, inputs):
    """The model with a symbol for each input dim, and what the symbols are in this case; None where an input is no tensor."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    sizes, values = {}, {}
    for i, info in enumerate(model.graph.input):
        x = array(inputs[i]) if i < len(inputs) else None
        if x is None or not info.type.HasField("tensor_type"):
            return None
        if x.dtype.kind in "iu":
            values[info.name] = x.ravel().tolist()
        dims = info.type.tensor_type.shape.dim
        if len(dims) == 1 and x.dtype.kind in "iu":
            continue
        for j, d in enumerate(dims):
            d.Clear()
            d.dim_param = f"d{i}_{j}"
            sizes[d.dim_param] = int(x.shape[j])
    return model, sizes, values


def declared(model, inputs):
    sizes, values = {}, {}
    for i, info in enumerate(model.graph.input):
        x = array(inputs[i]) if i < len(inputs) else None
        if x is None:
            continue
        if x.dtype.kind in "iu":
            values[info.name] = x.ravel().tolist()
        if info.type.HasField("tensor_type"):
            for j, d in enumerate(info.type.tensor_type.shape.dim):
                if j < x.ndim:
                    sizes[d.dim_param or f"{info.name}_dim{j}"] = int(x.shape[j])
    return onnx.ModelProto.FromString(model.SerializeToString()), sizes, values


def forget_types(model):
    """Drops what is declared of outputs and intermediate values: the answers."""
    del model.graph.value_info[:]
    for output in model.graph.output:
        if output.type.HasField("tensor_type"):
            output.type.tensor_type.ClearField("shape")


FUNCTIONS = {"floor": lambda q: q.numerator // q.denominator, "ceil": lambda q: -(-q.numerator // q.denominator),
             "min": min, "max": max, "broadcast": lambda *sizes: next((s for s in sizes if s != 1), 1)}


def evaluate(text, sizes, values):
    """The value of a dim's text; None where it names what only running tells."""
    from fractions import Fraction
    text = re.sub(r"([A-Za-z_][\w.:/-]*)\[(\d+)\]", lambda m: f"({values[m.group(1)][int(m.group(2))]})", text)
    # Division stands only inside floor and ceil: exact fractions.
    text = re.sub(r"\b(\d+)\b", r"Fraction(\1)", text)
    names = {name: Fraction(size) for name, size in sizes.items()}
    try:
        return int(eval(text, {**FUNCTIONS, "Fraction": Fraction}, names))  # our own tool's output
    except (NameError, ZeroDivisionError):
        return None


def infer(models):
    """What the tool says of each model, in one process."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for i, model in enumerate(models):
            paths.append(f"{folder}/{i}.onnx")
            Path(paths[-1]).write_bytes(model.SerializeToString())
        run = subprocess.run([str(TOOL)], input="\n".join(paths) + "\n", capture_output=True, text=True, timeout=600, check=True)
    lines = run.stdout.splitlines()
    assert len(lines) == len(models)
    return [json.loads(line) for line in lines]


def compare(dims, shape, sizes, values):
    """'known', 'unknown' or 'contradicted' for an output that has this shape."""
    if dims is None:
        return "unknown"
    if len(dims) != len(shape):
        return "contradicted"
    verdict = "known"
    for dim, size in zip(dims, shape):
        value = evaluate(dim, sizes, values) if isinstance(dim, str) else dim
        if value is None:
            verdict = "unknown"
        elif value != size:
            return "contradicted"
    return verdict


def operator_of(model):
    return model.graph.node[0].op_type if len(model.graph.node) == 1 else "several"


def sized_by_data(model):
    """Whether the case's sizes depend on the elements of (float) data."""
    fed = {i.name for i in model.graph.input}
    for node in model.graph.node:
        if node.op_type in DATA_DEPENDENT:
            return True
        k = FLOAT_SIZES.get(node.op_type)
        if k is not None and k < len(node.input) and node.input[k] in fed:
            kind = next(i.type.tensor_type.elem_type for i in model.graph.input if i.name == node.input[k])
            if kind in (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16):
                return True
    return False


Tally = collections.namedtuple("Tally", "cases outputs known contradicted unknown failed problems")


def measure(cases, mode):
    """All outputs of all cases in one mode; `unknown` and `contradicted` list (operator, case, dims, shape, by data)."""
    prepared = []
    for case in cases:
        made = (symbolic if mode == "b" else declared)(case.model, case.data[0][0])
        if made:
            forget_types(made[0])
            prepared.append((case, *made))
    answers = infer([p[1] for p in prepared])
    outputs = known = 0
    contradicted, unknown, failed, problems = [], [], [], []
    for (case, _model, sizes, values), answer in zip(prepared, answers):
        if "error" in answer:
            failed.append((case.name, answer["error"]))
        problems += [(case.name, p) for p in answer.get("problems", [])]
        by_data = sized_by_data(case.model)
        for k, stored in enumerate(case.data[0][1]):
            stored = array(stored)
            if stored is None:
                continue
            outputs += 1
            dims = answer["outputs"][k]["dims"] if k < len(answer.get("outputs", [])) else None
            verdict = compare(dims, stored.shape, sizes, values)
            entry = (operator_of(case.model), case.name, dims, stored.shape, by_data)
            known += verdict == "known"
            if verdict == "contradicted":
                contradicted.append(entry)
            elif verdict == "unknown":
                unknown.append(entry)
    return Tally(len(prepared), outputs, known, contradicted, unknown, failed, problems)


def summary(mode, t):
    by_data = sum(1 for u in t.unknown if u[4])
    rest = t.outputs - by_data
    return (f"mode ({mode}): {t.cases} cases, {t.outputs} outputs, fully known {t.known} ({100 * t.known / t.outputs:.1f} %; "
            f"{100 * t.known / rest:.2f} % without {by_data} sized by data), contradicted {len(t.contradicted)}, "
            f"failed {len(t.failed)}, refused {len(t.problems)}")


def check(t, least, least_without_data):
    assert not t.failed, t.failed[:10]
    assert not t.contradicted, t.contradicted[:10]
    assert not t.problems, t.problems[:10]
    assert t.known >= least * t.outputs
    assert t.known >= least_without_data * (t.outputs - sum(1 for u in t.unknown if u[4]))


def test_declared_dims():
    tally = measure(load_cases(), "a")
    print(summary("a", tally))
    check(tally, 0.9, 0.99)


def test_symbolic_dims():
    tally = measure(load_cases(), "b")
    print(summary("b", tally))
    check(tally, 0.88, 0.95)


# Operators whose kernels read out of bounds in ONNX Runtime when sizes do not fit each other.
UNSAFE = {"RNN", "GRU", "LSTM"}
# How sizes of a case are changed, all alike, so that those that were equal stay equal.
CHANGES = (lambda n: n + 1 if n > 1 else n, lambda n: 3 * n if n > 1 else n, lambda n: 2 * n)


def resized(model, inputs, change):
    """Feeds with changed sizes (and changed small integers in lists), the symbols' sizes and the integers' values."""
    feeds, sizes, values = {}, {}, {}
    for i, (info, x) in enumerate(zip(model.graph.input, map(array, inputs))):
        if x.ndim == 1 and x.dtype.kind in "iu":
            is_size = info.name not in ("axes", "axis")
            y = np.array([change(int(v)) if is_size and 1 < v < 40 else v for v in x], x.dtype)
        else:
            shape = [change(n) for n in x.shape]
            y = np.asarray(np.resize(x, shape) if x.size else np.zeros(shape, x.dtype), x.dtype)
            sizes.update({f"d{i}_{j}": n for j, n in enumerate(shape)})
        if x.dtype.kind in "iu":
            values[info.name] = y.ravel().tolist()
        feeds[info.name] = y
    return feeds, sizes, values


def test_onnx_runtime_agrees_at_other_sizes():
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    cases = [(c, made[0]) for c in load_cases() if operator_of(c.model) not in UNSAFE
             if (made := symbolic(c.model, c.data[0][0]))]
    for _, model in cases:
        forget_types(model)
    tally = collections.Counter()
    contradicted = []
    for k, ((case, model), answer) in enumerate(zip(cases, infer([m for _, m in cases]))):
        feeds, sizes, values = resized(model, case.data[0][0], CHANGES[k % len(CHANGES)])
        if any(node.op_type in UNSAFE for node in model.graph.node):
            continue
        try:
            session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
            computed = session.run(None, feeds)
        except Exception:  # a newer opset than it knows, or sizes that do not fit each other
            tally["did not run"] += 1
            continue
        for output, y in zip(answer["outputs"], computed):
            if not hasattr(y, "shape"):
                continue
            verdict = compare(output["dims"], y.shape, sizes, values)
            tally[verdict] += 1
            if verdict == "contradicted":
                contradicted.append((operator_of(case.model), case.name, output["dims"], y.shape))
    print(dict(tally))
    assert not contradicted, contradicted[:10]
    assert tally["known"] > 1000


if __name__ == "__main__":
    everything = load_cases()
    for which in "ab":
        result = measure(everything, which)
        print(summary(which, result))
        for title, entries in (("FAILED", result.failed), ("REFUSED", result.problems), ("CONTRADICTED", result.contradicted)):
            for entry in entries[:40]:
                print(" ", title, *entry)
        if os.environ.get("SHOW"):
            for entry in sorted(result.unknown, key=lambda u: (u[4], u[0], u[1])):
                print("  UNKNOWN", *entry)
