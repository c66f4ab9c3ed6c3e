"""What holds of `thaw fix` whatever the model: it brings in no error, freezes nothing, changes nothing the second time, and
computes what the model computed; an axis of an input that it frees moves.

On all of the project's own models, each case of the rules of `check`, and what third-party and shared models there are.
"""
import importlib.util
import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from check_rules_test import CASES
from conftest import SHARED, session, worst
from models import exported_cases

SITES = {"THAW010", "THAW011", "THAW012", "THAW016"}  # what a frozen constant that became an expression answers
PRIMES = (7, 11, 5, 13, 3, 2)
STEPS = (32, 64, 8, 16, 4, 28, 14, 48)  # what strides and patches divide
SIZES_ENOUGH = 2  # that an axis is seen to take
FEW_TO_RUN = 400  # nodes: a model of more is looked at, and not run
INTEGERS = {TensorProto.INT64: np.int64, TensorProto.INT32: np.int32}

OWN = {case.name: case for case in exported_cases.own()}
RULES = {f"{code}_{kind}": models[at] for code, models in CASES.items() for kind, at in (("has", 0), ("has_not", 2))}
FREED = {}  # by model, what the test below counts: axes of inputs that moved


def third_party():
    files = {"rapidocr_onnxruntime": "models/*.onnx", "silero_vad": "data/*.onnx"}
    for package, pattern in files.items():
        spec = importlib.util.find_spec(package)
        if spec:
            yield from sorted((SHARED.__class__(spec.origin).parent).glob(pattern))
    for folder in ("fixtures", "models"):
        yield from sorted((SHARED / folder).rglob("*.onnx"))


FILES = {f"{path.parent.name}/{path.stem}": path for path in third_party()}


def errors(thaw, path):
    """Rule and place: the tensor where one is at fault, else the node."""
    found = [f for f in thaw.findings(path) if f["severity"] == "error"]
    named = [(f["code"], f["location"]) for f in found]
    # Those of one cause are one finding, which has the others' places and codes.
    for f in found:
        codes = [code for code in f.get("details", {}) if code.startswith("THAW")]
        named += [(next((code for code in codes if one["message"].startswith(code)), f["code"]), one["location"]) for one in f.get("related", [])]
    return sorted((code, location.get("tensor") or location.get("node", "")) for code, location in named)


def sizes(thaw, path):
    """{tensor: its dims} as inference has them: numbers, texts, or nothing where a size is not known."""
    report = thaw.json("inspect", path)
    return {v["name"]: v["dims"] for v in [*report["tensors"], *report["outputs"]] if v.get("dims") is not None}


def declared(model):
    return {v.name: [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim] for v in model.graph.input}


def is_valid(path):
    try:
        onnx.checker.check_model(str(path))
    except onnx.checker.ValidationError:
        return False
    return True


def outputs(path):
    graph = onnx.load(path, load_external_data=False).graph
    return {v.name: [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim] for v in graph.output}


def is_symbol(size):
    return isinstance(size, str) and size not in ("", "?")


def symbols(dims):
    """The sizes of inputs that dims are made of; an axis of its own for a batch that was folded into another is as free."""
    return set(re.findall(r"[A-Za-z_][\w.]*(?!\w|\()", " ".join(map(str, dims)))) - {"floor", "ceil", "min", "max", "broadcast"}


def is_frozen(before, after):
    return len(before) == len(after) and any(is_symbol(a) and isinstance(b, int) for a, b in zip(before, after))


@pytest.fixture
def fixed(thaw, tmp_path):
    """fixed(path) -> the path of the fixed model, none where nothing changed, and the report, after all that needs no run
    was looked at."""
    def fix(path):
        out = tmp_path / "fixed.onnx"
        report = thaw.json("fix", path, "-o", out)
        if report["output"] is None:
            assert not report["changed"] and not out.exists()
            return None, report
        assert is_valid(out) or not is_valid(path)
        fresh = [e for e in errors(thaw, out) if e not in errors(thaw, path)]
        assert fresh == [], "errors that were not there"
        before, after = sizes(thaw, path), sizes(thaw, out)
        frozen = [(name, dims, after[name]) for name, dims in before.items()
                  if is_frozen(dims, after.get(name, ())) and not symbols(dims) <= symbols(after[name])]
        assert frozen == [], "sizes that were free"
        was, now = declared(onnx.load(path, load_external_data=False)), declared(onnx.load(out, load_external_data=False))
        assert was.keys() <= now.keys()
        gone = [(name, dims, now[name]) for name, dims in was.items()
                if any(is_symbol(d) and d != now[name][i] for i, d in enumerate(dims))]
        assert gone == [], "symbols of inputs that are gone"
        if any(code in SITES for code, _ in errors(thaw, out)):  # a number may be one because of what is frozen
            was, now = outputs(path), outputs(out)
            assert [n for n, dims in was.items() if is_frozen(dims, now[n])] == [], "names of outputs that became numbers"
        again = thaw.json("fix", out, "-o", tmp_path / "again.onnx")
        assert again["changed"] == [], "a second run changes more"
        return out, report
    return fix


def attempt(model, feeds):
    """What the session gives; None where there is none, or it fails."""
    try:
        return model.run(None, feeds)
    except Exception:
        return None


def made_up(model, sizes_of):
    """Inputs of these sizes ({input: dims}), of small numbers that index nothing out of bounds."""
    rng, feeds = np.random.default_rng(5), {}
    taken = {t.name for t in model.graph.initializer}
    for value in model.graph.input:
        if value.name in taken:
            continue
        kind = value.type.tensor_type.elem_type
        if kind == TensorProto.FLOAT:
            feeds[value.name] = rng.standard_normal(sizes_of[value.name]).astype(np.float32)
        elif kind in INTEGERS:
            feeds[value.name] = np.ones(sizes_of[value.name], INTEGERS[kind])
        else:
            return None
    return feeds


def own_sizes(model, free):
    return {v.name: [d.dim_value or free for d in v.type.tensor_type.shape.dim] for v in model.graph.input}


def undeclared(path):
    """A session of the model without what it declares of tensors in between, which may be what is wrong with it."""
    model = onnx.load(path)
    del model.graph.value_info[:]
    try:
        return session(model)
    except Exception:
        return None


def assert_same_numbers(path, out, feeds):
    expected = attempt(undeclared(path), feeds)
    if expected is None:
        return False
    assert worst(session(out).run(None, feeds), expected) < 1e-4
    return True


def freed_axes(path, out, report):
    """{name: [(input, axis)]} of what was a number and is a name, and of names that a frozen constant was rewritten by."""
    before, now, axes = declared(onnx.load(path)), declared(onnx.load(out)), {}
    rewritten = set().union(*(symbols([c["message"]]) for c in report["changed"] if c["code"] in SITES))
    for name, dims in before.items():
        for axis, size in enumerate(dims):
            is_opened = isinstance(size, int) and size > 0 and is_symbol(now[name][axis])
            if is_opened or size in rewritten:
                axes.setdefault(now[name][axis], []).append((name, axis))
    return axes


def assert_moves(path, out, report, own):
    """Each axis that was freed takes other sizes; where it is a batch of one, each sample's numbers are the original's."""
    model, mended, original = onnx.load(path), session(out), undeclared(path)
    freed = freed_axes(path, out, report)
    for name, axes in freed.items():
        moved = 0
        for size in (*PRIMES, *STEPS):
            if moved == SIZES_ENOUGH:
                break
            sizes_of = {key: list(dims) for key, dims in own.items()}
            for key, axis in axes:
                sizes_of[key][axis] = size
            if sizes_of == own:
                continue
            feeds = made_up(model, sizes_of)
            outputs = attempt(mended, feeds)
            moved += outputs is not None
            if outputs is not None and all(axis == 0 and own[key][0] == 1 for key, axis in axes) and len(axes) == len(own):
                for i in range(size):
                    alone = original.run(None, {key: value[i:i + 1] for key, value in feeds.items()})
                    if all(len(y) == size for y in outputs):
                        assert worst([y[i:i + 1] for y in outputs], alone) < 1e-4, f"sample {i} of {size}"
        assert moved, f"'{name}' of {axes} is free, and takes no other size"
    return list(freed)


@pytest.mark.parametrize("name", OWN)
def test_on_own_models(fixed, save, name):
    case = OWN[name]
    path = save(case.make())
    out, report = fixed(path)
    FREED[name] = []
    if out is None:
        return
    feeds = case.feeds(*case.sizes)
    assert assert_same_numbers(path, out, feeds), "the model does not run at its own sizes"
    FREED[name] = assert_moves(path, out, report, {key: list(value.shape) for key, value in feeds.items()})


def test_that_axes_were_freed():
    """Of the models above, so many as are freed today: fewer, and the test above says nothing."""
    assert set(FREED) == set(OWN), "run with the rest of this file, where all passed"
    assert sum(bool(axes) for axes in FREED.values()) >= 34, {k: v for k, v in FREED.items() if v}


@pytest.mark.parametrize("name", RULES)
def test_on_cases_of_rules(fixed, save, name):
    model = RULES[name]
    path = save(model)
    out, _ = fixed(path)
    if out is not None:
        feeds = made_up(model, own_sizes(model, 4))
        if feeds:
            assert_same_numbers(path, out, feeds)


@pytest.mark.parametrize("name", FILES)
def test_on_models_of_others(fixed, name):
    path = FILES[name]
    out, report = fixed(path)
    if out is None or len(onnx.load(path).graph.node) > FEW_TO_RUN:
        return
    model = onnx.load(path)
    for free in (64, 4, 1):
        own = own_sizes(model, free)
        feeds = made_up(model, own)
        if feeds and assert_same_numbers(path, out, feeds):
            assert_moves(path, out, report, own)
            return


def test_that_there_are_models_of_others():
    if not FILES:
        pytest.skip("neither ../shared nor the packages with models are there; the test runs on the project's own models only")
    assert len(FILES) > 1
