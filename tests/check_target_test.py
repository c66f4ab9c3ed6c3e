"""`thaw check --target`: what a target takes, wherever a node stands, and nothing that never reaches the target."""
import csv
import json
import os
import re
from collections import Counter

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

from conftest import SOURCE, need_package, need_shared, session

F = T.FLOAT
RULES = "THAW030,THAW031,THAW032,THAW033,THAW034,THAW035"


def model(nodes, inputs, outputs, inits=(), opset=17, functions=(), domains=()):
    graph = h.make_graph(list(nodes), "g", [h.make_tensor_value_info(*i) for i in inputs],
                         [h.make_tensor_value_info(o, F, None) for o in outputs], list(inits))
    imports = [h.make_opsetid("", opset), *(h.make_opsetid(d, 1) for d in domains)]
    return h.make_model(graph, opset_imports=imports, ir_version=8, functions=list(functions))


def node(op, inputs, output, **attributes):
    return h.make_node(op, inputs, [output] if isinstance(output, str) else output, name=f"{op}_{output}", **attributes)


def constant(name, values, dtype=np.int64):
    return numpy_helper.from_array(np.array(values, dtype), name)


@pytest.fixture
def find(thaw, save):
    """find(model, target): the findings of the rules of targets; each code stands with the nodes that it names."""
    def ask(m, target="directml"):
        path = save(m) if not isinstance(m, (str, os.PathLike)) else m
        return thaw.findings(path, "--target", target, "--select", RULES)
    return ask


def codes(findings):
    return Counter(f["code"] for f in findings)


X = [("x", F, ["n", 6])]


# Domains and operators.

def test_portable_takes_the_standard_only(find):
    fused = model([node("Gelu", ["x"], "y", domain="com.microsoft")], X, ["y"], domains=["com.microsoft"])
    (finding,) = find(fused, "portable")
    assert finding["code"] == "THAW030" and "com.microsoft" in finding["message"] and finding["location"]["node"] == "Gelu_y"
    assert find(fused, "ort") == find(fused, "directml") == []


def test_a_custom_operator_is_taken_nowhere(find):
    custom = model([node("Mine", ["x"], "y", domain="here")], X, ["y"], domains=["here"])
    for target in ("portable", "ort", "directml"):
        assert codes(find(custom, target)) == {"THAW030": 1}


def test_ort_takes_the_operators_it_has(find):
    unknown = model([node("Gelus", ["x"], "y", domain="com.microsoft")], X, ["y"], domains=["com.microsoft"])
    assert codes(find(unknown, "ort")) == {"THAW030": 1}
    ml = model([node("Normalizer", ["x"], "y", domain="ai.onnx.ml")], X, ["y"], domains=["ai.onnx.ml"])
    assert codes(find(ml, "ort")) == {} and codes(find(ml, "portable")) == {"THAW030": 1}


def test_ort_takes_each_operator_that_the_runtime_lists(find):
    state = pytest.importorskip("onnxruntime.capi.onnxruntime_pybind11_state")
    if not hasattr(state, "get_all_operator_schema"):
        pytest.skip("this build of onnxruntime does not list its operators")
    names = sorted({s.name for s in state.get_all_operator_schema() if s.domain == "com.microsoft"})
    assert len(names) > 100
    nodes = [node(name, ["x"], f"y{i}", domain="com.microsoft") for i, name in enumerate(names)]
    assert find(model(nodes, X, ["y0"], domains=["com.microsoft"]), "ort") == []


def operand_words():
    """Of Thaw's table: inputs, outputs and the parameters that may be float16, by operator of com.microsoft."""
    text = (SOURCE / "src" / "thaw" / "ops" / "rule" / "operand_types.cc").read_text()
    words = r'\s*"([^"]*)"'
    rows = re.findall(r"\{kMicrosoft," + ",".join([words] * 4) + r"\}", re.sub(r'"\s*\n\s*"', "", text))
    return {op: rest for op, *rest in rows}


def test_operands_have_the_types_that_the_runtime_lists():
    state = pytest.importorskip("onnxruntime.capi.onnxruntime_pybind11_state")
    if not hasattr(state, "get_all_operator_schema"):
        pytest.skip("this build of onnxruntime does not list its operators")

    def words(formal):
        several = "*" if formal and "Variadic" in str(formal[-1].option) else ""
        return " ".join("." if "(" in each.typeStr else each.typeStr for each in formal) + several

    schemas = {s.name: s for s in state.get_all_operator_schema() if s.domain == "com.microsoft"}
    expected = {}
    for name, schema in schemas.items():
        used = {each.typeStr for each in [*schema.inputs, *schema.outputs]}
        half = sorted(c.type_param_str for c in schema.type_constraints
                      if "tensor(float16)" in c.allowed_type_strs and c.type_param_str in used)
        expected[name] = [words(schema.inputs), words(schema.outputs), " ".join(half)]
    assert len(expected) > 100 and operand_words() == expected


def test_types_of_the_runtimes_own_operators_are_compared(find):
    """MatMulNBits on CUDA takes no double, CDist has no kernel there, and Inverse takes one."""
    def of(op, inputs, **attributes):
        given = [(f"i{n}", elem_type, shape) for n, (elem_type, shape) in enumerate(inputs)]
        return model([node(op, [name for name, _, _ in given], "y", domain="com.microsoft", **attributes)], given, ["y"],
                     domains=["com.microsoft"])
    assert codes(find(of("Inverse", [(T.DOUBLE, [4, 4])]), "cuda")) == {}
    assert codes(find(of("Inverse", [(T.BFLOAT16, [4, 4])]), "cuda")) == {"THAW032": 1}
    assert codes(find(of("CDist", [(T.FLOAT, [4, 4]), (T.FLOAT, [4, 4])], metric="sqeuclidean"), "cuda")) == {"THAW030": 1}
    assert codes(find(of("CDist", [(T.FLOAT16, [4, 4]), (T.FLOAT16, [4, 4])], metric="sqeuclidean"), "cpu")) == {"THAW032": 1}


def test_an_operator_of_a_later_opset_says_when_it_came(find):
    (finding,) = find(model([node("Gelu", ["x"], "y")], X, ["y"], opset=19), "portable")
    assert finding["code"] == "THAW030" and "opset 20" in finding["message"] and "opset 20" in finding["fix"]


def test_a_deprecated_operator_is_refused(find):
    m = model([node("Scatter", ["x", "i", "x"], "y")], [*X, ("i", T.INT64, ["n", 6])], ["y"], opset=13)
    for target in ("portable", "directml"):
        (finding,) = find(m, target)
        assert finding["code"] == "THAW030" and "deprecated since opset 11" in finding["message"]


# Versions: a kernel serves the operator as it was at the kernel's opset.

def test_a_kernel_does_not_serve_what_the_operator_became(find):
    def grid_sample(opset):
        return model([node("GridSample", ["x", "g"], "y")], [("x", F, ["n", 3, "h", "w"]), ("g", F, ["n", "h", "w", 2])], ["y"],
                     opset=opset)
    assert find(grid_sample(19)) == []
    (finding,) = find(grid_sample(20))
    assert finding["code"] == "THAW030" and "opset 16" in finding["message"] and "opset 19" in finding["fix"]


def test_a_newer_model_is_looked_at_as_of_the_newest_opset(find):
    # Relu did not change at opset 22 but Sigmoid and Conv did: only the opset is wrong with them. RMSNormalization is of
    # opset 23.
    convertible = model([node("Sigmoid", ["x"], "s"), node("Relu", ["s"], "y")], X, ["y"], opset=22)
    (finding,) = find(convertible)
    assert finding["code"] == "THAW031" and "22" in finding["message"] and "20" in finding["fix"]
    later = model([node("RMSNormalization", ["x", "w"], "y")], X, ["y"], [constant("w", [1.0] * 6, np.float32)], opset=23)
    assert codes(find(later)) == {"THAW031": 1, "THAW030": 1}
    assert find(convertible, "portable") == find(later, "ort") == []


def test_an_opset_that_no_runtime_takes_yet(find):
    assert codes(find(model([node("Relu", ["x"], "y")], X, ["y"], opset=27), "portable")) == {"THAW031": 1}


# Types.

def test_a_type_names_operand_kernel_and_types(find):
    wide = model([node("Relu", ["x"], "y")], [("x", T.DOUBLE, ["n"])], ["y"])
    (finding,) = find(wide)
    assert finding["code"] == "THAW032" and finding["location"]["tensor"] == "x"
    assert "float64" in finding["message"] and "float32, float16" in finding["message"] and "float32" in finding["fix"]
    assert finding["details"]["kernel"] == "Relu of opset 14, type parameter T"


def test_each_type_parameter_is_held_against_its_own_types(find):
    # Tind of Gather may be int64 and int32, T anything; bool indices are no model, uint64 data is fine.
    gather = model([node("Gather", ["x", "i"], "y")], [("x", T.UINT64, ["n", 6]), ("i", T.INT32, ["k"])], ["y"])
    assert find(gather) == []
    # The scales of MatMulNBits are T1, its weights T2.
    def quantized(zero_points):
        return model([node("MatMulNBits", ["x", "b", "s", "z"], "y", domain="com.microsoft", K=32, N=4, bits=4, block_size=32)],
                     [("x", F, ["n", 32]), ("b", zero_points, [4, 1, 16]), ("s", F, [4]), ("z", T.UINT8, [4])], ["y"],
                     domains=["com.microsoft"])
    assert find(quantized(T.UINT8)) == []
    (finding,) = find(quantized(T.INT8))
    assert finding["code"] == "THAW032" and finding["location"]["tensor"] == "b"


def test_nodes_with_one_fault_are_one_finding(find):
    nodes = [node("Mod", ["x" if i == 0 else f"m{i}", "seven"], f"m{i + 1}") for i in range(11)]
    (finding,) = find(model(nodes, [("x", T.INT64, ["n"])], ["m11"], [constant("seven", 7)]))
    assert finding["location"]["node"] == "Mod_m1"
    assert [r["location"]["node"] for r in finding["related"]] == [f"Mod_m{i}" for i in range(2, 12)]


# Where nodes stand.

def branch(nodes, output):
    return h.make_graph(nodes, f"b_{output}", [], [h.make_tensor_value_info(output, F, None)])


def test_subgraphs_are_looked_into(find):
    m = model([node("If", ["c"], "y", then_branch=branch([node("Mish", ["x"], "t")], "t"),
                    else_branch=branch([node("Relu", ["x"], "e")], "e"))], [*X, ("c", T.BOOL, [])], ["y"], opset=18)
    found = {f["code"]: f["location"] for f in find(m)}
    assert set(found) == {"THAW030", "THAW033"}
    assert found["THAW030"]["node"] == "Mish_t" and "then_branch" in found["THAW030"]["graph"]


def test_a_loop_is_control_flow(find):
    body = h.make_graph([node("Identity", ["go"], "on"), node("Relu", ["s"], "t")], "body",
                        [h.make_tensor_value_info(*i) for i in (("i", T.INT64, []), ("go", T.BOOL, []), ("s", F, None))],
                        [h.make_tensor_value_info("on", T.BOOL, []), h.make_tensor_value_info("t", F, None)])
    m = model([node("Loop", ["k", "", "x"], "y", body=body)], [*X, ("k", T.INT64, [])], ["y"])
    assert codes(find(m)) == {"THAW033": 1} and find(m, "ort") == []


def function(name, nodes, opset=17):
    return h.make_function("mine", name, ["a"], ["b"], nodes, [h.make_opsetid("", opset)])


def test_functions_are_looked_into_at_the_types_of_each_call(find):
    f = function("Wrap", [node("Floor", ["a"], "b")])
    m = model([node("Wrap", ["x"], "p", domain="mine"), node("Wrap", ["d"], "q", domain="mine")],
              [*X, ("d", T.DOUBLE, ["m"])], ["p", "q"], functions=[f], domains=["mine"])
    (finding,) = find(m)
    assert finding["code"] == "THAW032" and "float64" in finding["message"]
    assert finding["location"]["graph"] == "function 'mine.Wrap'" and finding["location"]["node"] == "Floor_b"
    # A function that nobody calls is no part of what runs.
    assert find(model([node("Relu", ["x"], "y")], X, ["y"], functions=[function("Idle", [node("Mish", ["a"], "b")], 18)],
                      domains=["mine"])) == []


def test_what_is_computed_at_load_reaches_no_target(find):
    # int64 Mod of constants, of the fixed shape of an input; an If that a constant decides; a Dropout that drops nothing.
    nodes = [node("Mod", ["five", "seven"], "m"), node("Shape", ["w"], "s"), node("Mod", ["s", "seven"], "r"),
             node("Add", ["m", "r"], "k"), node("Expand", ["x", "k"], "e"),
             node("If", ["true"], "i", then_branch=branch([node("Relu", ["e"], "t")], "t"),
                  else_branch=branch([node("Mish", ["e"], "f")], "f")),
             node("Dropout", ["i"], "d"), node("Neg", ["d"], "y")]
    fixed = model(nodes, [("x", F, ["n", 1]), ("w", F, [3, 5])], ["y"],
                  [constant("five", [5, 5]), constant("seven", [7, 7]), constant("true", True, bool)], opset=18)
    assert find(fixed) == []
    # With a free axis the shape is computed when the model runs.
    free = model(nodes, [("x", F, ["n", 1]), ("w", F, ["h", 5])], ["y"],
                 [constant("five", [5, 5]), constant("seven", [7, 7]), constant("true", True, bool)], opset=18)
    (finding,) = find(free)
    assert finding["code"] == "THAW032" and finding["location"]["node"] == "Mod_r"


def test_a_default_that_the_caller_may_replace_is_computed_with(find):
    m = model([node("Mod", ["k", "seven"], "m"), node("Cast", ["m"], "y", to=F)], [("k", T.INT64, [1])], ["y"],
              [constant("k", [5]), constant("seven", [7])])
    assert codes(find(m)) == {"THAW032": 1}


# Chains and ranks.

def test_a_chain_that_needs_its_nodes_is_none(find):
    # Two new axes: no constant target says which is which.
    nodes = [node("Shape", ["x"], "s"), node("Gather", ["s", "one"], "w"), node("Div", ["w", "two"], "half"),
             node("Concat", ["minus", "half", "two"], "to", axis=0), node("Reshape", ["x", "to"], "y")]
    m = model(nodes, [("x", F, ["n", "w"])], ["y"], [constant("one", [1]), constant("two", [2]), constant("minus", [-1])])
    assert find(m) == []


@pytest.mark.parametrize("allowed", [{}, {"allowzero": 1}])
def test_fix_answers_a_chain(thaw, find, save, tmp_path, allowed):
    nodes = [node("Shape", ["x"], "s"), node("Gather", ["s", "zero"], "n"), node("Concat", ["n", "rest"], "to", axis=0),
             node("Reshape", ["x", "to"], "y", **allowed)]
    path = save(model(nodes, [("x", F, ["n", 12])], ["y"], [constant("zero", [0]), constant("rest", [3, 4])]))
    (finding,) = find(path)
    assert finding["code"] == "THAW034" and finding["severity"] == "warning" and "[0, 3, 4]" in finding["message"]
    fixed = tmp_path / "fixed.onnx"
    thaw("fix", path, "-o", fixed, code=0)
    assert find(fixed) == []
    for rows in (0, 5):
        x = np.arange(rows * 12, dtype=np.float32).reshape(rows, 12)
        assert session(fixed).run(None, {"x": x})[0].tolist() == x.reshape(rows, 3, 4).tolist()


def test_a_rank_is_lost_where_the_shape_has_no_fixed_length(find):
    m = model([node("Reshape", ["x", "to"], "r"), node("Relu", ["r"], "y")], [*X, ("to", T.INT64, ["k"])], ["y"])
    (finding,) = find(m)
    assert finding["code"] == "THAW035" and finding["location"]["tensor"] == "r"
    assert codes(find(model([node("Relu", ["x"], "y")], [("x", F, None)], ["y"]))) == {"THAW035": 1}


# The command.

def test_targets_and_their_errors(thaw, save):
    path = save(model([node("Relu", ["x"], "y")], X, ["y"]))
    for target in ("portable", "ort", "directml"):
        thaw("check", path, "--target", target, code=0)
    message = thaw.error("check", path, "--target", "directm")
    assert "portable|ort|" in message and "|all" in message and "did you mean 'directml'" in message


def test_the_findings_decide_the_exit_code_in_each_format(thaw, save):
    path = save(model([node("Mish", ["x"], "y")], X, ["y"], opset=18))
    assert "THAW030" in thaw("check", path, "--target", "directml", code=1).stdout
    sarif = json.loads(thaw("check", path, "--target", "directml", "--format", "sarif", code=1).stdout)
    (result,) = sarif["runs"][0]["results"]
    assert result["ruleId"] == "THAW030" and result["level"] == "error"
    thaw("check", path, code=0)


# Real models.

def test_real_models_run_on_directml(find):
    folder = need_package("rapidocr_onnxruntime") / "models"
    assert find(folder / "ch_PP-OCRv4_det_infer.onnx") == []
    # The recogniser's and the classifier's Reshapes compute targets that constants say as well.
    for name in ("ch_PP-OCRv4_rec_infer.onnx", "ch_ppocr_mobile_v2.0_cls_infer.onnx"):
        assert set(codes(find(folder / name))) == {"THAW034"}
    for name in folder.glob("*.onnx"):
        assert find(name, "portable") == []


def test_a_voice_detector_branches(find):
    folder = need_package("silero_vad") / "data"
    assert codes(find(folder / "silero_vad_16k_op15.onnx"))["THAW033"] == 12
    for target in ("portable", "ort"):
        assert find(folder / "silero_vad_16k_op15.onnx", target) == []


# Every operator, against the published table read in another way.

def published():
    """(operator, opset of the kernel) -> {type parameter: types}, of ai.onnx."""
    table = {}
    with need_shared("directml_kernels.tsv").open() as file:
        for row in csv.DictReader((line for line in file if line[0] != "#"), delimiter="\t"):
            if row["domain"] == "ai.onnx":
                types = dict(part.split(" = ") for part in row["types"].split("; "))
                table[row["operator"], int(row["opset"].rstrip("+"))] = {k: set(v.split(", ")) for k, v in types.items()}
    return table


def type_text(proto):
    which = proto.WhichOneof("value")
    if which == "tensor_type":
        return T.DataType.Name(proto.tensor_type.elem_type).lower()
    inner = proto.sequence_type if which == "sequence_type" else proto.optional_type
    return {"sequence_type": "seq(", "optional_type": "optional("}[which] + type_text(inner.elem_type)


def expected(table, m):
    (n,) = m.graph.node
    if n.op_type in ("If", "Loop", "Scan", "SequenceMap"):
        return {"THAW033"}
    if n.domain:
        return {"THAW030"}
    opset = min(20, next(i.version for i in m.opset_import if not i.domain))
    try:
        schema = onnx.defs.get_schema(n.op_type, opset, n.domain)
        kernel = table[n.op_type, schema.since_version]
    except (onnx.defs.SchemaError, KeyError):
        return {"THAW030"}
    types = {v.name: type_text(v.type) for v in [*m.graph.input, *m.graph.output]}
    for formal, names in ((schema.inputs, n.input), (schema.outputs, n.output)):
        for i, name in enumerate(names):
            if name and types[name] not in kernel.get(formal[min(i, len(formal) - 1)].type_str, {types[name]}):
                return {"THAW032"}
    return set()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_operator_is_judged_as_the_table_says(thaw, save):
    table = published()
    from onnx.backend.test.loader import load_model_tests
    models = {}
    for case in load_model_tests(kind="node"):
        if case.model is not None and len(case.model.graph.node) == 1 and case.model.graph.node[0].op_type != "Constant":
            types = [type_text(v.type) for v in [*case.model.graph.input, *case.model.graph.output]]
            models.setdefault((case.model.graph.node[0].op_type, case.model.opset_import[0].version, *types), case)
    seen, wrong = Counter(), []
    for case in models.values():
        want = expected(table, case.model)
        found = codes(thaw.findings(save(case.model), "--target", "directml", "--select", "THAW030,THAW032,THAW033"))
        seen.update(want or {"taken"})
        # What stands in a branch or a body has findings of its own.
        if not want <= set(found) if "THAW033" in want else set(found) != want:
            wrong.append((case.name, set(found), want))
    print(dict(seen))
    assert not wrong
    assert seen["taken"] > 100 and seen["THAW030"] > 50 and seen["THAW032"] > 50 and seen["THAW033"] > 3
