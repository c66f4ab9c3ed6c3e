"""What `convert` makes, by proof: equal but for the constants that were quantized, which are named; and nothing else is."""
import collections
import json
import random

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from conftest import validate
from proof_evidence_test import changed, difference
from prove_test import (
    FLOAT,
    INT64,
    change_attribute,
    change_edge,
    change_operator,
    model,
    node,
    runs,
    swap_operands,
    verdicts,
)

RNG = np.random.default_rng(17)
ROWS, IN, BACK = (RNG.standard_normal(shape).astype(np.float32) for shape in ((40, 64), (64, 96), (96, 64)))
MAKERS = ("DequantizeLinear", "MatMulNBits", "GatherBlockQuantized")


def network():
    """A table of rows, and products with and without a bias."""
    nodes = [node("Gather", "rows ids", "x"), node("LayerNormalization", "x gain", "n", axis=-1), node("MatMul", "n in", "a"), node("Add", "a bias", "b"),
             node("Sigmoid", "b", "s"), node("Mul", "b s", "c"), node("MatMul", "c back", "d"), node("Add", "d x", "e"), node("Softmax", "e", "y", axis=-1)]
    return model(nodes, [("ids", INT64, ("n", "t"))], [("y", FLOAT)], [("rows", ROWS), ("in", IN), ("back", BACK), ("bias", IN[0]), ("gain", ROWS[1])])


def converted(thaw, save, tmp_path, *how):
    path, out = save(network()), tmp_path / "quantized.onnx"
    return path, out, thaw.json("convert", path, "-o", out, *how, code=0)


def run(path, **feeds):
    how = onnxruntime.SessionOptions()
    how.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(path, how, providers=["CPUExecutionProvider"]).run(None, feeds)[0]


@pytest.mark.parametrize("target", ["ort", "portable"])
@pytest.mark.parametrize("to", ["int4", "int8-blocks"])
def test_weights_in_fewer_bits_are_all_that_differs(thaw, save, tmp_path, to, target):
    path, out, report = converted(thaw, save, tmp_path, "--to", to, "--target", target)
    validate(report, "convert")
    proof = report["proof"]
    assert verdicts(proof["outputs"]) == {"y": "quantized"}, proof
    makers = [n for n in onnx.load(out).graph.node if n.op_type in MAKERS]
    assert len(proof["quantized"]) == len(makers) >= 2
    most = 0.2 if to == "int4" else 0.01
    assert all(0 < one["difference"] < most for one in proof["quantized"]), proof["quantized"]
    again = thaw.json("verify", out, "--against", path, "--prove", "--points", 1, "--rtol", 1, "--atol", 1, code=0)
    validate(again, "verify")
    assert verdicts(again["outputs"]) == {"y": "quantized"} and again["quantized"] == proof["quantized"]
    text = thaw("verify", out, "--against", path, "--prove", "--points", 1, "--rtol", 1, "--atol", 1, code=0).stdout
    assert f"equal at every size but for {len(makers)} constants that were quantized" in text and "proven" not in text, text


def test_the_difference_is_that_of_the_constants(thaw, save, tmp_path):
    """As ONNX Runtime reads them."""
    _, out, report = converted(thaw, save, tmp_path, "--to", "int4", "--target", "portable")
    made = onnx.load(out)
    said = {one["name"]: one["difference"] for one in report["proof"]["quantized"]}
    tensors = {t.name: t for t in made.graph.initializer}
    for n in (n for n in made.graph.node if n.op_type == "DequantizeLinear"):
        graph = helper.make_graph([n], "g", [], [helper.make_tensor_value_info(n.output[0], FLOAT, None)], [tensors[name] for name in n.input])
        alone = helper.make_model(graph, opset_imports=made.opset_import, ir_version=made.ir_version)
        numbers = run(alone.SerializeToString())
        wanted = next(w for w in (ROWS, IN, BACK) if w.shape == numbers.shape and np.abs(w - numbers).max() < 1)
        assert said[n.input[0]] == pytest.approx(np.abs(wanted - numbers).max() / np.abs(wanted).max(), rel=1e-5)


@pytest.mark.parametrize("how", [["--to", "f16"], ["--to", "int8", "--dynamic"], ["--to", "int4", "--accuracy-level", "4"]])
def test_what_is_computed_in_fewer_bits_stays_open(thaw, save, tmp_path, how):
    _, _, report = converted(thaw, save, tmp_path, *how)
    assert [one["verdict"] for one in report["proof"]["outputs"]] == ["open"] and report["proof"]["outputs"][0]["place"], report["proof"]
    assert "quantized" not in report["proof"]


def test_constants_that_stand_for_others_do_not_hide_what_else_changed(thaw, save, tmp_path):
    """One change, but in what makes the constants: where the numbers are others then, the two are not equal but for constants."""
    rng, seen = random.Random(5), collections.Counter()
    path, out, _ = converted(thaw, save, tmp_path, "--to", "int4")
    origin, ids = onnx.load(out), RNG.integers(0, 40, (2, 3))
    wanted = run(str(out), ids=ids)
    for k in range(60):
        changed = onnx.load(out)
        apart = [n for n in changed.graph.node if n.op_type in MAKERS]
        before = [n.SerializeToString() for n in apart]
        del changed.graph.value_info[:]
        if not rng.choice((change_attribute, swap_operands, change_edge, change_operator))(changed.graph, rng) or not runs(changed):
            continue
        makers_changed = any(list(n.attribute) != list(onnx.NodeProto.FromString(b).attribute) or n.input[1:] != onnx.NodeProto.FromString(b).input[1:] for n, b in zip(apart, before, strict=True))
        if makers_changed or changed.SerializeToString() == origin.SerializeToString():
            continue
        try:
            made = run(changed.SerializeToString(), ids=ids)
        except Exception:  # of whatever class: it does not run
            continue
        is_same = made.shape == wanted.shape and np.allclose(made, wanted, 1e-4, 1e-5)
        report = thaw("verify", save(changed, f"changed_{k}"), "--against", path, "--prove", "--points", 1, "--format", "json")
        if report.returncode not in (0, 1):
            continue
        said = [one["verdict"] for one in json.loads(report.stdout)["outputs"]]
        assert is_same or ("quantized" not in said and "proven" not in said), f"changed_{k}: {said}"
        seen[is_same] += 1
    assert seen[False] >= 15, seen


def test_another_constant_is_not_one_that_was_quantized(thaw, save, tmp_path):
    path, out, _ = converted(thaw, save, tmp_path, "--to", "int4", "--target", "portable")
    changed = onnx.load(out)
    codes = next(t for t in changed.graph.initializer if list(t.dims) == [64, 96])
    scales = next(t for t in changed.graph.initializer if t.name == next(n.input[1] for n in changed.graph.node if codes.name in n.input))
    scales.CopyFrom(numpy_helper.from_array(-numpy_helper.to_array(scales), scales.name))
    outputs = thaw.json("verify", save(changed, "negated"), "--against", path, "--prove", "--points", 1, code=1)["outputs"]
    assert [one["verdict"] for one in outputs] == ["differs"], outputs


# Evidence -------------------------------------------------------------------------------------------------------------------

LOOSE = ("--points", 1, "--rtol", 1, "--atol", 1)


def two_outputs():
    """One is made of a constant that is quantized, the other of none."""
    made = network()
    made.graph.node.append(node("Sigmoid", "n", "z"))
    made.graph.output.append(helper.make_tensor_value_info("z", FLOAT, None))
    return made


def written(thaw, save, tmp_path, made, *how):
    """The model, what `convert` makes of it, and the evidence."""
    path, out, proof = save(made), tmp_path / "quantized.onnx", tmp_path / "proof.json"
    thaw("convert", path, "-o", out, *how, code=0)
    report = thaw.json("verify", out, "--against", path, "--prove", "--evidence", proof, *LOOSE, code=0)
    return path, out, proof, report


@pytest.mark.parametrize("target", ["ort", "portable"])
@pytest.mark.parametrize("to", ["int4", "int8-blocks"])
def test_evidence_names_the_constants_and_holds(thaw, save, tmp_path, to, target):
    path, out, proof, report = written(thaw, save, tmp_path, network(), "--to", to, "--target", target)
    evidence = json.loads(proof.read_text())
    validate(evidence, "proof")
    assert evidence["outputs"] == evidence["steps"] == [] and [one["name"] for one in evidence["quantized"]["outputs"]] == ["y"]
    assert {one["reference"] for one in evidence["quantized"]["constants"]} <= {"rows", "in", "back"}
    assert report["evidence"]["outputs"] == 1 and report["evidence"]["steps"] == len(evidence["quantized"]["steps"])
    again = thaw.json("verify", out, "--against", path, "--replay", proof, code=0)
    validate(again, "verify")
    for member in ("evidence", "quantized", "outputs"):
        assert again[member] == report[member], member
    assert verdicts(again["outputs"]) == {"y": "quantized"} and again["points"] == []
    text = thaw("verify", out, "--against", path, "--replay", proof, code=0).stdout
    assert "constants that were quantized" in text and "evidence holds" in text and "proven" not in text, text


def test_evidence_of_both(thaw, save, tmp_path):
    """An output that is proven, and one that is so but for constants: neither is taken for the other."""
    rows = two_outputs()
    rows.graph.node[0].CopyFrom(node("Identity", "given", "x"))  # so that no table goes into both
    del rows.graph.input[:]
    rows.graph.input.append(helper.make_tensor_value_info("given", FLOAT, ["n", 64]))
    path, out, proof, report = written(thaw, save, tmp_path, rows, "--to", "int4")
    assert verdicts(report["outputs"]) == {"y": "quantized", "z": "proven"}
    again = thaw.json("verify", out, "--against", path, "--replay", proof, code=0)
    assert verdicts(again["outputs"]) == {"y": "quantized", "z": "proven"} and again["evidence"] == report["evidence"]
    evidence = json.loads(proof.read_text())
    assert [one["name"] for one in evidence["outputs"]] == ["z"]
    for forged in ({**evidence, **{k: v for k, v in evidence["quantized"].items() if k != "constants"}},  # said to be proven
                   {**evidence, "outputs": evidence["outputs"] + evidence["quantized"]["outputs"]},
                   {**evidence, "quantized": {**evidence["quantized"], "constants": evidence["quantized"]["constants"][1:]}},
                   {**evidence, "quantized": {**evidence["quantized"], "outputs": []}},
                   {**evidence, "quantized": {**evidence["quantized"], "outputs": evidence["quantized"]["outputs"] * 2}}):
        proof.write_text(json.dumps(forged))
        assert thaw("verify", out, "--against", path, "--replay", proof).returncode == 2, forged


def test_no_changed_evidence_of_constants_holds(thaw, save, tmp_path):
    path, out, proof, _ = written(thaw, save, tmp_path, two_outputs(), "--to", "int4")
    evidence, rng, seen = json.loads(proof.read_text()), random.Random(22), 0
    while seen < 80:
        made = changed(evidence, rng)
        if made is None:
            continue
        seen += 1
        proof.write_text(json.dumps(made))
        called = thaw("verify", out, "--against", path, "--replay", proof)
        assert called.returncode == 2 and "internal" not in called.stderr, f"{difference(evidence, made)}\n{called.stdout}{called.stderr}"


def test_evidence_of_a_constant_that_is_too_far_does_not_hold(thaw, save, tmp_path):
    """Two thirds as far away as it is long: no constant that was quantized, whatever the file says of the two models."""
    path, out, proof, _ = written(thaw, save, tmp_path, network(), "--to", "int4", "--target", "portable")
    evidence = json.loads(proof.read_text())
    for factor, holds in ((1.3, True), (1.7, False)):
        far = onnx.load(out)
        codes = evidence["quantized"]["constants"][0]["name"]
        scale = next(n.input[1] for n in far.graph.node if codes in n.input)
        tensor = next(t for t in far.graph.initializer if t.name == scale)
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) * np.float32(factor), scale))
        other, own = save(far, f"far_{factor}"), tmp_path / "own.json"
        thaw("verify", other, "--against", other, "--prove", "--evidence", own, "--points", 1, code=0)
        said = json.loads(json.dumps(evidence)) | {"model": json.loads(own.read_text())["model"]}
        if holds:  # a farther one that the rule allows: with its own difference the evidence is of this model
            report = thaw.json("verify", other, "--against", path, "--prove", *LOOSE)
            differences = {one["name"]: one["difference"] for one in report["quantized"]}
            assert differences[codes] > said["quantized"]["constants"][0]["difference"]
            for one in said["quantized"]["constants"]:
                one["difference"] = differences[one["name"]]
        proof.write_text(json.dumps(said))
        called = thaw("verify", other, "--against", path, "--replay", proof)
        assert called.returncode == (0 if holds else 2), called.stdout + called.stderr
        assert holds or f"constant '{codes}' does not stand for" in called.stderr, called.stderr
