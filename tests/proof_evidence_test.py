"""`thaw verify --evidence` and `--replay`: what a proof wrote is checked step by step, and what was changed in it does not hold.

`THAW_MUTANTS` is how many changed files are tried, beside all models of the tests; else 240 are, beside some.
"""
import copy
import difflib
import json
import os
import random

import numpy as np
import pytest

from conftest import validate
from prove_test import EQUAL, EVERY, FLOAT, C, X, Y, cases, f, model, node, pair, verdicts

MUTANTS = int(os.environ.get("THAW_MUTANTS", "240"))


def proven(thaw, a, b, path, *options):
    """The report of a proof that is written."""
    return thaw.json("verify", a, "--against", b, "--prove", "--evidence", path, "--points", 1, *options)


def replayed(thaw, a, b, path, code=0):
    called = thaw("verify", a, "--against", b, "--replay", path, code=code)
    return called.stdout if code == 0 else called.stderr


def made_pairs(thaw, save, tmp_path):
    """Models and what verbs make of them."""
    for n, case in enumerate(cases()[2::4 * EVERY]):
        path, out = save(case.make(), f"origin_{n}"), tmp_path / f"made_{n}.onnx"
        thaw("optimize", path, "-o", out, *(["--target", "ort"] if n % 2 else ["--level", "clean"]), "--no-check", code=0)
        yield case.name, out, path


def test_what_is_proven_is_written_and_holds(thaw, save, tmp_path):
    seen = 0
    for name, out, origin in made_pairs(thaw, save, tmp_path):
        proof = tmp_path / f"{name}.json"
        report = proven(thaw, out, origin, proof)
        shown = [one["name"] for one in report["outputs"] if one["verdict"] == "proven"]
        if not shown:
            assert not proof.exists() and any("no evidence" in note for note in report["notes"])
            continue
        assert report["evidence"]["outputs"] == len(shown), f"{name}: {report['evidence']}, {report['notes']}"
        again = thaw.json("verify", out, "--against", origin, "--replay", proof, code=0)
        assert again["accepted"] and again["points"] == [] and again["evidence"] == report["evidence"]
        assert [one["name"] for one in again["outputs"] if one["verdict"] == "proven"] == shown, name
        validate(json.loads(proof.read_text()), "proof")
        seen += len(shown)
    assert seen > 5


@pytest.mark.parametrize("name", EQUAL)
def test_each_spelling_is_written_down(thaw, save, tmp_path, name):
    a, b = pair(*EQUAL[name], constants=C)
    paths = save(a, "a"), save(b, "b")
    report = proven(thaw, *paths, tmp_path / "proof.json")
    assert report["evidence"]["outputs"] == 1 and report["evidence"]["steps_by_laws"] >= 1, report
    assert "evidence holds" in replayed(thaw, *paths, tmp_path / "proof.json")


# One change -----------------------------------------------------------------------------------------------------------------


def places(value, at=()):
    """Every member, item and number of a JSON value."""
    yield at
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*at, key))


def changed(evidence, rng):
    """One change at one place; None where it would be another proof of the same."""
    made = copy.deepcopy(evidence)
    at = rng.choice([place for place in places(made) if place])
    holder = made
    for key in at[:-1]:
        holder = holder[key]
    key, value = at[-1], holder[at[-1]]
    is_of_outputs = "outputs" in at[:2]
    if rng.random() < 0.25:
        if (is_of_outputs and sum(len(one["outputs"]) for one in (evidence, evidence.get("quantized", {"outputs": []}))) > 1) or at == ("quantized",):
            return None  # a proof of fewer outputs
        if key == "needed":
            return None  # the same for a size that is given
        del holder[key]
    elif isinstance(value, str):
        others = sorted({inner for place in places(evidence) if isinstance(inner := value_at(evidence, place), str)} - {value})
        holder[key] = rng.choice([value + "x", value[:-1], *rng.sample(others, min(3, len(others)))])
    elif isinstance(value, bool):
        holder[key] = not value
    elif isinstance(value, (int, float)):
        holder[key] = value + rng.choice((-1, 1, 7, -1000, 0.5))
    elif isinstance(value, list):
        if len(value) > 1 and rng.random() < 0.5 and at[-1] != "steps":
            i, k = rng.sample(range(len(value)), 2)
            value[i], value[k] = value[k], value[i]
            if at[-1] == "outputs":
                return None  # the same in another order
        else:
            value.append(copy.deepcopy(value[0]) if value else 0)
    else:
        value["more"] = 1
    return None if made == evidence else made


def value_at(evidence, place):
    for key in place:
        evidence = evidence[key]
    return evidence


def difference(evidence, made):
    lines = [json.dumps(one, indent=1).splitlines() for one in (evidence, made)]
    return list(difflib.unified_diff(*lines, n=4))


def test_no_changed_evidence_holds(thaw, save, tmp_path):
    rng, counted = random.Random(21), 0
    pairs = [(name, out, origin) for name, out, origin in made_pairs(thaw, save, tmp_path)]
    for name in ("Gelu", "a norm", "parts of a Concat", "rows of a product"):
        a, b = pair(*EQUAL[name], constants=C)
        pairs.append((name.replace(" ", "_"), save(a, f"a {name}"), save(b, f"b {name}")))
    written = []
    for name, a, b in pairs:
        path = tmp_path / f"{name}.json"
        proven(thaw, a, b, path)
        if path.exists():
            written.append((name, a, b, json.loads(path.read_text())))
    while counted < MUTANTS:
        name, a, b, evidence = written[counted % len(written)]
        made = changed(evidence, rng)
        if made is None:
            continue
        counted += 1
        path = tmp_path / "mutant.json"
        path.write_text(json.dumps(made))
        called = thaw("verify", a, "--against", b, "--replay", path)
        assert called.returncode == 2 and "internal" not in called.stderr, f"{name}: {difference(evidence, made)}\n{called.stdout}{called.stderr}"


def test_evidence_is_of_two_models(thaw, save, tmp_path):
    """Another constant, in either."""
    def made(number):
        return save(model([node("Mul", "x c", "a"), node("Add", "a x", "y")], X, Y, [("c", np.float32(number))]), f"by {number}")
    proof = tmp_path / "proof.json"
    proven(thaw, made(2), made(2), proof)
    assert "evidence holds" in replayed(thaw, made(2), made(2), proof)
    assert "of another model" in replayed(thaw, made(3), made(2), proof, code=2)
    assert "of another reference" in replayed(thaw, made(2), made(3), proof, code=2)
    evidence = json.loads(proof.read_text())
    other = tmp_path / "other.json"
    proven(thaw, made(3), made(3), other)
    evidence["model"] = json.loads(other.read_text())["model"]
    proof.write_text(json.dumps(evidence))
    assert "does not follow" in replayed(thaw, made(3), made(2), proof, code=2)


def test_a_false_step_does_not_follow(thaw, save, tmp_path):
    """What no prover wrote: two products by other numbers, said to be equal."""
    a, b = (save(model([node("Mul", "x c", "y")], X, Y, [("c", f(n, 2, 3, 4, 5, 6))]), f"by {n}") for n in (1, 7))
    proof = tmp_path / "proof.json"
    proven(thaw, a, a, proof)
    hashes = []
    for path in (a, b):
        proven(thaw, path, path, proof)
        hashes.append(json.loads(proof.read_text())["model"])
    steps = [{"model": n, "reference": n, "by": by} for n, by in (("x", "input"), ("c", "constant"))]
    for last in ({"by": "node", "given": [0, 1]}, {"by": "laws", "given": [0], "model_nodes": ["Mul 'y'"], "reference_nodes": ["Mul 'y'"], "term": ["step 0"]}):
        evidence = json.loads(proof.read_text()) | {"model": hashes[0], "reference": hashes[1], "outputs": [{"name": "y", "step": 2}],
                                                    "steps": [*steps, {"model": "y", "reference": "y"} | last]}
        proof.write_text(json.dumps(evidence))
        assert "step 1 does not follow" in replayed(thaw, a, b, proof, code=2)
        evidence["steps"] = [steps[0], {"model": "y", "reference": "y"} | last | {"given": [0]}]
        evidence["outputs"][0]["step"] = 1
        proof.write_text(json.dumps(evidence))
        assert "step 1 does not follow" in replayed(thaw, a, b, proof, code=2)


@pytest.mark.parametrize("by", ["node", "laws"])
def test_a_step_of_constants_that_are_the_same_but_for_rounding_does_not_follow(thaw, save, tmp_path, by):
    """The search never writes it: what is the same but for rounding, and whole numbers of that."""
    whole = np.arange(1, 7, dtype=np.float32)
    near = np.nextafter(whole, np.float32(0))  # its Floor is another
    rest = [node("Floor", "c", "d"), node("Add", "x c", "y"), node("Add", "x d", "z")]
    outputs = [*Y, ("z", FLOAT)]
    a = save(model([node("Mul", "third three", "c"), *rest], X, outputs, [("third", whole / np.float32(3)), ("three", np.full(6, 3, np.float32))]), "computed")
    b = save(model([node("Identity", "near", "c"), *rest], X, outputs, [("near", near)]), "read")
    proof = tmp_path / "proof.json"
    thaw("verify", a, "--against", b, "--prove", "--evidence", proof)
    evidence = json.loads(proof.read_text())
    assert [one["name"] for one in evidence["outputs"]] == ["y"], evidence
    number = {one["model"]: k for k, one in enumerate(evidence["steps"])}
    assert evidence["steps"][number["c"]]["rounded"], evidence
    last = len(evidence["steps"])
    how = {"by": "node", "given": [number["c"]]} if by == "node" else {"by": "laws", "given": [number["c"]], "model_nodes": ["Floor 'd'"], "reference_nodes": ["Floor 'd'"],
                                                                       "term": ["step 0"]}
    evidence["steps"] += [{"model": "d", "reference": "d"} | how, {"model": "z", "reference": "z", "by": "node", "given": [number["x"], last]}]
    evidence["outputs"].append({"name": "z", "step": last + 1})
    proof.write_text(json.dumps(evidence))
    assert f"step {last} does not follow" in replayed(thaw, a, b, proof, code=2)


def test_a_step_by_laws_stands_alone(thaw, save, tmp_path):
    """One Gelu was fused: the rest of the model needs no law."""
    gelu = [node("Div", "a root", "b"), node("Erf", "b", "c"), node("Add", "c one", "d"), node("Mul", "a d", "e"), node("Mul", "e half", "g")]
    around = [node("MatMul", "x square", "a")], [node("Softmax", "g", "s", axis=-1), node("Tanh", "s", "y")]
    constants = [(n, v) for n, v in C if n in ("root", "one", "half", "square")]
    a = save(model([*around[0], *gelu, *around[1]], X, Y, constants), "a")
    b = save(model([*around[0], node("Gelu", "a", "g"), *around[1]], X, Y, constants, opset=20), "b")
    proof = tmp_path / "proof.json"
    report = proven(thaw, a, b, proof)
    assert report["evidence"]["steps_by_laws"] == 1, proof.read_text()
    (laws,) = [step for step in json.loads(proof.read_text())["steps"] if step["by"] == "laws"]
    assert laws["reference_nodes"] == ["Gelu 'g'"] and len(laws["model_nodes"]) == 5 and laws["model"] == laws["reference"] == "g"
    assert laws["rounded"][0]["ulp"] <= laws["rounded"][0]["bound"]


def test_nothing_is_written_where_nothing_is_proven(thaw, save, tmp_path):
    a, b = (save(model([node(op, "x", "y")], X, Y), op) for op in ("Sin", "Cos"))
    proof = tmp_path / "proof.json"
    called = thaw("verify", a, "--against", b, "--prove", "--evidence", proof, code=1)
    assert "no evidence was written" in called.stdout and not proof.exists()


@pytest.mark.parametrize(("options", "said"), [(["--evidence", "proof.json"], "add --prove"), (["--replay", "p.json", "--prove"], "leave out --prove"),
                                               (["--replay", "p.json", "--sizes", "n=2"], "leave out --sizes"), (["--replay", "p.json", "--cast"], "there is no proof")])
def test_calls_that_mean_nothing_are_refused(thaw, save, options, said):
    path = save(model([node("Relu", "x", "y")], X, Y))
    assert said in thaw("verify", path, "--against", path, *options, code=2).stderr


def test_evidence_is_the_same_each_time(thaw, save, tmp_path):
    a, b = (save(made, n) for made, n in zip(pair(*EQUAL["a norm"], constants=C), "ab"))
    for n in (1, 2):
        proven(thaw, a, b, tmp_path / f"{n}.json")
    assert (tmp_path / "1.json").read_bytes() == (tmp_path / "2.json").read_bytes()


# Ranges ---------------------------------------------------------------------------------------------------------------------


def even_rows(thaw, save):
    """The rows up to the last even one, and all: the same where there is an even number of them."""
    nodes = [node("Shape", "x", "s", start=0, end=1), node("Div", "s two64", "h"), node("Mul", "h two64", "e"), node("Slice", "x zero e zero", "y")]
    a = model(nodes, [("x", FLOAT, ("rows", 4))], Y, [("two64", np.array([2])), ("zero", np.array([0]))])
    b = model([node("Identity", "x", "y")], [("x", FLOAT, ("rows", 4))], Y)
    return save(a, "even"), save(b, "all")


@pytest.mark.parametrize(("sizes", "wanted", "said"), [("rows=2..64:2", "proven", ["rows=2..64:2"]), ("x_dim0=4|8|16", "proven", ["rows=4..16:4"]),
                                                       ("rows=6", "proven", ["rows=6"]), ("rows=2..64:2;rows=128", "proven", ["rows=2..128:2"]),
                                                       ("rows=2..8", "differs", ["rows=2..8"]), ("rows=3", "differs", ["rows=3"]),
                                                       ("rows=2..:2", "proven", ["rows=2..:2"])])
def test_a_proof_is_for_the_sizes_that_are_given(thaw, save, tmp_path, sizes, wanted, said):
    a, b = even_rows(thaw, save)
    proof = tmp_path / "proof.json"
    report = thaw.json("verify", a, "--against", b, "--prove", "--sizes", sizes, "--evidence", proof, code=0 if wanted == "proven" else 1)
    assert verdicts(report["outputs"]) == {"y": wanted} and report["proof_sizes"] == said
    if wanted != "proven":
        assert not proof.exists()
        return
    again = thaw.json("verify", a, "--against", b, "--replay", proof, code=0)
    assert again["proof_sizes"] == said and "for " + said[0] in replayed(thaw, a, b, proof)
    # For sizes at which the two differ there is no such proof.
    evidence = json.loads(proof.read_text())
    (bound,) = [one for one in evidence["sizes"] if "first" in one]
    bound.pop("number", None)
    bound |= {"first": bound["first"], "last": bound["first"] + 100, "step": 1}
    proof.write_text(json.dumps(evidence))
    assert thaw("verify", a, "--against", b, "--replay", proof).returncode == 2


def test_without_sizes_a_proof_is_for_all(thaw, save):
    a, b = even_rows(thaw, save)
    report = thaw.json("verify", a, "--against", b, "--prove", "--points", 1)
    assert verdicts(report["outputs"])["y"] != "proven" and "proof_sizes" not in report
    text = thaw("verify", b, "--against", b, "--prove", "--points", 1, code=0).stdout
    assert "proven equal at every size" in text, text


def test_a_size_that_the_other_model_does_not_have_is_refused(thaw, save):
    a, _ = even_rows(thaw, save)
    frozen = save(model([node("Identity", "x", "y")], [("x", FLOAT, (10, 4))], Y), "frozen")
    assert "no size of axis 0 of input 'x'" in thaw("verify", a, "--against", frozen, "--prove", "--sizes", "rows=2..8", code=2).stderr
    report = thaw.json("verify", a, "--against", frozen, "--prove", "--sizes", "rows=10", code=0)
    assert verdicts(report["outputs"]) == {"y": "proven"}


def test_elements_have_ranges_too(thaw, save, tmp_path):
    """`n` counts rows: an even number of them."""
    nodes = [node("Div", "n two64", "h"), node("Mul", "h two64", "e"), node("Slice", "x zero e zero", "y")]
    inputs = [("x", FLOAT, (64, 4)), ("n", 7, (1,))]
    a = save(model(nodes, inputs, Y, [("two64", np.array([2])), ("zero", np.array([0]))]), "even")
    b = save(model([node("Slice", "x zero n zero", "y")], inputs, Y, [("zero", np.array([0]))]), "all")
    proof = tmp_path / "proof.json"
    report = thaw.json("verify", a, "--against", b, "--prove", "--sizes", "n[0]=2..64:2", "--evidence", proof, code=0)
    assert verdicts(report["outputs"]) == {"y": "proven"} and report["proof_sizes"] == ["n[0]=2..64:2"]
    assert "for n[0]=2..64:2" in replayed(thaw, a, b, proof)
