"""THAW021 by ONNX's schemas: every operand of a type that its operator does not take, and operands of one type that are of two, are
found; over ONNX's own node tests nothing is. `python tests/operand_types_test.py` prints the counts."""
import json
import os
import random
import subprocess
import tempfile
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper as h

BUILD = Path(os.environ.get("THAW_BUILD_DIR", Path(__file__).resolve().parent.parent / "build"))
THAW = os.environ.get("THAW_BIN", BUILD / "thaw")

ELEMENTS = {"float": T.FLOAT, "double": T.DOUBLE, "float16": T.FLOAT16, "bfloat16": T.BFLOAT16, "int8": T.INT8, "int16": T.INT16,
            "int32": T.INT32, "int64": T.INT64, "uint8": T.UINT8, "uint16": T.UINT16, "uint32": T.UINT32, "uint64": T.UINT64,
            "bool": T.BOOL, "string": T.STRING}


def cases():
    from onnx.backend.test import loader
    for case in loader.load_model_tests(kind="node"):
        if case.model is not None and case.data_sets:
            yield case.name, case.model


def found(models):
    """Which of the models, by name, have a THAW021."""
    with tempfile.TemporaryDirectory() as folder:
        for name, model in models.items():
            (Path(folder) / f"{name}.onnx").write_bytes(model.SerializeToString())
        run = subprocess.run([str(THAW), "check", folder, "--select", "THAW021", "--format", "json"], capture_output=True, text=True)
        report = json.loads(run.stdout)
    listed = report.get("models", [report])
    assert len(listed) == len(models)
    return {Path(one["model"]).stem: [f["message"] for f in one["findings"]] for one in listed if one.get("findings")}


def formal(schema, i):
    return schema.inputs[min(i, len(schema.inputs) - 1)]


def broken(name, model, rng):
    """The model with one input of a type outside of its operand's, and with one of another type than who shares its parameter."""
    node = model.graph.node[0]
    if len(model.graph.node) != 1 or any(a.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS) for a in node.attribute):
        return
    opsets = {o.domain: o.version for o in model.opset_import}
    if node.domain not in opsets or any(f.name == node.op_type for f in model.functions):
        return
    schema = onnx.defs.get_schema(node.op_type, opsets[node.domain], node.domain)
    types = {c.type_param_str: list(c.allowed_type_strs) for c in schema.type_constraints}
    inputs = {i.name: i for i in model.graph.input}
    for i, operand in enumerate(node.input):
        if operand not in inputs or not inputs[operand].type.HasField("tensor_type"):
            continue
        parameter = formal(schema, i).type_str
        taken = set(types.get(parameter, [parameter]))
        outside = [e for e in ELEMENTS if f"tensor({e})" not in taken]
        if outside:
            copy = onnx.ModelProto.FromString(model.SerializeToString())
            next(x for x in copy.graph.input if x.name == operand).type.tensor_type.elem_type = ELEMENTS[rng.choice(outside)]
            yield f"{name}__{i}_outside", copy
        sharers = [k for k, other in enumerate(node.input) if other in inputs and other != operand and formal(schema, k).type_str == parameter]
        others = [e for e in ELEMENTS if f"tensor({e})" in taken and ELEMENTS[e] != inputs[operand].type.tensor_type.elem_type]
        last = formal(schema, i)
        alike = last.option != onnx.defs.OpSchema.FormalParameterOption.Variadic or last.is_homogeneous
        if parameter in types and sharers and others and alike:
            copy = onnx.ModelProto.FromString(model.SerializeToString())
            next(x for x in copy.graph.input if x.name == operand).type.tensor_type.elem_type = ELEMENTS[rng.choice(others)]
            yield f"{name}__{i}_shared", copy


def sweep():
    rng = random.Random(11)
    whole = dict(cases())
    wrong = {name: model for case, m in whole.items() for name, model in broken(case, m, rng)}
    return whole, found(whole), wrong, found(wrong)


def test_node_tests_have_none_and_broken_ones_have():
    whole, false, wrong, seen = sweep()
    assert not false
    assert len(whole) > 1000 and sum("_outside" in n for n in wrong) > 1000 and sum("_shared" in n for n in wrong) > 500
    assert not sorted(set(wrong) - set(seen))


def model(nodes, inputs, opset=17, inits=()):
    graph = h.make_graph(nodes, "g", [h.make_tensor_value_info(*i) for i in inputs], [h.make_tensor_value_info("y", T.FLOAT, None)], list(inits))
    return h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=8)


@pytest.mark.parametrize(("opset", "wanted"), [(20, True), (22, False)])
def test_the_type_is_that_of_the_opset(thaw, save, tmp_path, opset, wanted):
    conv = model([h.make_node("Conv", ["x", "w"], ["c"]), h.make_node("Cast", ["c"], ["y"], to=T.FLOAT)],
                 [("x", T.BFLOAT16, [1, 3, 8, 8]), ("w", T.BFLOAT16, [4, 3, 1, 1])], opset)
    messages = [f for f in thaw.findings(save(conv)) if f["code"] == "THAW021"]
    assert bool(messages) == wanted
    if wanted:
        assert "no bfloat16 as operand 0 at opset 20" in messages[0]["message"]
        words = messages[0]["commands"][0].replace("newer.onnx", str(tmp_path / "newer.onnx")).split()
        assert words[:2] == ["thaw", "optimize"] and "22" in words
        thaw(*words[1:], code=0)
        assert not [f for f in thaw.findings(tmp_path / "newer.onnx") if f["code"] == "THAW021"]


def test_types_that_the_graph_computes_count_inside_branches_too(thaw, save):
    """Gather by what a Sqrt gives, inside an If's branch."""
    inner = h.make_graph([h.make_node("Sqrt", ["i"], ["f"]), h.make_node("Gather", ["x", "f"], ["g"], name="taken")], "then", [],
                         [h.make_tensor_value_info("g", T.FLOAT, None)])
    other = h.make_graph([h.make_node("Identity", ["x"], ["o"])], "else", [], [h.make_tensor_value_info("o", T.FLOAT, None)])
    made = model([h.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=other)],
                 [("c", T.BOOL, []), ("x", T.FLOAT, [4]), ("i", T.FLOAT, [2])])
    message = next(f["message"] for f in thaw.findings(save(made)) if f["code"] == "THAW021")
    assert "taken" in message and "int32 or int64" in message and "'f'" in message


if __name__ == "__main__":
    whole, false, wrong, seen = sweep()
    print(f"{len(whole)} node tests, {len(false)} with findings: {sorted(false)[:20]}")
    for kind in ("_outside", "_shared"):
        names = [n for n in wrong if n.endswith(kind)]
        print(f"{kind}: {len(names)} models, {sum(n in seen for n in names)} found; not: {[n for n in names if n not in seen][:30]}")
