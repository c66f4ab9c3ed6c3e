"""`thaw verify --prove`: what is equal is proven, and what is proven is equal.

`THAW_MUTANTS` is how many random graphs with one change are held against their origin, beside all models of the tests; else 240 are, beside
every third model.
"""
import collections
import copy
import json
import os
import random
import shlex

import numpy as np
import onnx
import onnx.compose
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from batch_random_test import random_model
from models import exported_cases

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
# Runs of these need inputs that are not drawn.
FED = ("audio_encoder", "image_crops", "merge_grid_dynamic", "quantized")
MUTANTS = int(os.environ.get("THAW_MUTANTS", "240"))
EVERY = 1 if "THAW_MUTANTS" in os.environ else 3  # of the models


def cases():
    return [case for case in exported_cases.own() if not case.name.startswith(FED)]


def proofs(thaw, model, reference, *options):
    """Verdicts by output, and what is open; none where the two cannot be compared."""
    called = thaw("verify", model, "--against", reference, "--prove", "--format", "json", *options)
    if called.returncode not in (0, 1):
        return None
    return thaw.json("verify", model, "--against", reference, "--prove", *options, code=called.returncode)["outputs"]


def verdicts(outputs):
    return {one["name"]: one["verdict"] for one in outputs}


def model(nodes, inputs, outputs, constants=(), opset=17, functions=(), domains=()):
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [info(n, t, list(d)) for n, t, d in inputs], [info(n, t, None) for n, t in outputs],
                              [numpy_helper.from_array(np.asarray(a), n) for n, a in constants])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)],
                             functions=list(functions), ir_version=9)
    return made


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


# Models and how many of their outputs are proven after `optimize`: a floor that was measured.
@pytest.mark.parametrize(("options", "part"), [(["--level", "clean"], 0), (["--level", "clean"], 1), (["--target", "ort"], 1)])
def test_most_outputs_are_proven_after_optimize(thaw, save, tmp_path, options, part):
    counted, total = 0, 0
    for case in cases()[part::2 * EVERY]:
        before, after = save(case.make()), tmp_path / "after.onnx"
        thaw("optimize", before, "-o", after, *options, "--no-check", code=0)
        outputs = proofs(thaw, after, before, "--points", 1)
        assert outputs, case.name
        for one in outputs:
            assert one["verdict"] == "proven" or one["place"], f"{case.name}: {one} was proven and differs"
            counted += one["verdict"] == "proven"
            total += 1
    assert counted >= 0.95 * total, f"{counted} of {total}"


def test_every_output_of_a_model_is_proven_equal_to_itself(thaw, save):
    for case in cases()[1::3 * EVERY]:
        path = save(case.make())
        for one in proofs(thaw, path, path, "--points", 1):
            assert one["verdict"] == "proven", f"{case.name}: {one}"


# One change -----------------------------------------------------------------------------------------------------------------


def change_attribute(g, rng):
    found = [(n, a) for n in g.node for a in n.attribute if a.type in (onnx.AttributeProto.INT, onnx.AttributeProto.INTS, onnx.AttributeProto.FLOAT)]
    if not found:
        return False
    n, a = rng.choice(found)
    if a.type == onnx.AttributeProto.FLOAT:
        a.f = a.f * 1.5 + 0.25
    elif a.type == onnx.AttributeProto.INT:
        a.i = 1 - a.i if a.name in ("keepdims", "ceil_mode", "transA", "transB", "exclusive", "reverse") else a.i + rng.choice((-1, 1))
    elif len(a.ints) > 1 and rng.random() < 0.5:
        i, k = rng.sample(range(len(a.ints)), 2)
        a.ints[i], a.ints[k] = a.ints[k], a.ints[i]
    elif a.ints:
        a.ints[rng.randrange(len(a.ints))] += rng.choice((-1, 1))
    return True


def change_constant(g, rng):
    found = [t for t in g.initializer if t.data_type in (FLOAT, INT64) and numpy_helper.to_array(t).size]
    found += [a.t for n in g.node if n.op_type == "Constant" for a in n.attribute
              if a.HasField("t") and a.t.data_type in (FLOAT, INT64) and numpy_helper.to_array(a.t).size]
    if not found:
        return False
    tensor = rng.choice(found)
    array = numpy_helper.to_array(tensor).copy()
    i = rng.randrange(array.size)
    array.flat[i] = array.flat[i] + rng.choice((-1, 1)) if array.dtype == np.int64 else array.flat[i] * 1.3 + 0.05
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    return True


def swap_operands(g, rng):
    found = [n for n in g.node if len(n.input) >= 2 and n.input[0] and n.input[1] and n.input[0] != n.input[1]]
    if not found:
        return False
    n = rng.choice(found)
    n.input[0], n.input[1] = n.input[1], n.input[0]
    return True


def change_edge(g, rng):
    found = [(i, k) for i, n in enumerate(g.node) for k, name in enumerate(n.input) if name]
    if not found:
        return False
    i, k = rng.choice(found)
    earlier = [name for n in g.node[:i] for name in n.output if name] + [v.name for v in g.input]
    earlier = [name for name in earlier if name != g.node[i].input[k]]
    if not earlier:
        return False
    g.node[i].input[k] = rng.choice(earlier[-6:])
    return True


def change_operator(g, rng):
    like = {"Add": "Sub", "Sub": "Add", "Mul": "Div", "Div": "Mul", "Sigmoid": "Tanh", "Tanh": "Sigmoid", "Relu": "Abs",
            "ReduceMean": "ReduceMax", "ReduceMax": "ReduceMean", "Sqrt": "Abs", "Exp": "Abs", "Softmax": "LogSoftmax",
            "Equal": "Less", "Less": "Greater", "Greater": "Less", "Floor": "Ceil", "Max": "Min", "Min": "Max"}
    found = [n for n in g.node if n.op_type in like]
    if not found:
        return False
    n = rng.choice(found)
    n.op_type = like[n.op_type]
    return True


CHANGES = (change_attribute, change_constant, swap_operands, change_edge, change_operator)


def mutants(origin, rng, count):
    for _ in range(count):
        changed = copy.deepcopy(origin)
        del changed.graph.value_info[:]
        for v in changed.graph.output:
            if v.type.HasField("tensor_type"):
                v.type.tensor_type.ClearField("shape")
        if rng.choice(CHANGES)(changed.graph, rng) and changed.SerializeToString() != origin.SerializeToString():
            yield changed


def runs(changed):
    """Whether ONNX Runtime takes it: with drawn inputs, where sizes are known."""
    how = onnxruntime.SessionOptions()
    how.log_severity_level, how.graph_optimization_level = 4, onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(changed.SerializeToString(), how, providers=["CPUExecutionProvider"])
        dims = [one.shape for one in session.get_inputs()]
        if all(isinstance(d, int) for shape in dims for d in shape):
            session.run(None, {one.name: np.ones(one.shape, np.float32) for one in session.get_inputs()})
    except Exception:  # of whatever class: it is no model then
        return False
    return True


def hold(thaw, mutant, origin, seen):
    """No output is proven and differs."""
    outputs = proofs(thaw, mutant, origin, "--points", 2)
    if outputs is None:  # no size is found at which the origin runs, as the sizes are those that both declare
        seen["not compared"] += 1
        return
    assert outputs
    for one in outputs:
        assert one["verdict"] != "differs" or one.get("place"), f"{mutant} was proven equal to {origin} and differs: {one}"
        seen[one["verdict"]] += 1


def test_no_network_with_one_change_is_proven_equal(thaw, save, tmp_path):
    rng, seen = random.Random(7), collections.Counter()
    small = cases()[::12 * EVERY]
    for n, case in enumerate(small):
        before, cleaned = save(case.make(), f"origin_{n}"), tmp_path / f"clean_{n}.onnx"
        thaw("optimize", before, "-o", cleaned, "--level", "clean", "--no-check", code=0)
        changed = mutants(onnx.load(cleaned) if n % 2 else onnx.load(before), rng, max(2, MUTANTS // 10 // len(small)))
        for k, mutant in enumerate(filter(runs, changed)):
            hold(thaw, save(mutant, f"mutant_{n}_{k}"), before if n % 2 else cleaned, seen)
    assert seen["differs"] >= MUTANTS // 40 and seen["not compared"] <= seen.total() // 20, seen


def together(models):
    """Graphs beside each other, in one model."""
    made = None
    for k, one in enumerate(models):
        one = onnx.compose.add_prefix(one, f"m{k}_")
        if made is None:
            made = one
            continue
        for part in ("node", "input", "output", "initializer"):
            getattr(made.graph, part).extend(getattr(one.graph, part))
    return made


def test_no_random_graph_with_one_change_is_proven_equal(thaw, save):
    """Many graphs a call, each with a change of its own."""
    each, rng, seen, counted, seed = 40, random.Random(8), collections.Counter(), 0, 500
    while counted < MUTANTS:
        origins, changed = [], []
        while len(changed) < each:
            seed += 5  # those have one opset
            origin = random_model(seed)[0]
            for mutant in filter(runs, mutants(origin, rng, 3) if origin.graph.output else ()):
                origins.append(origin)
                changed.append(mutant)
        counted += len(changed)
        hold(thaw, save(together(changed), f"mutants_{seed}"), save(together(origins), f"origins_{seed}"), seen)
    assert seen["differs"] >= MUTANTS // 2 and not seen["not compared"], seen


# Near-misses ----------------------------------------------------------------------------------------------------------------

X = [("x", FLOAT, ("n", 4, 6))]
Y = [("y", FLOAT)]


def pair(nodes, others, constants=(), inputs=X, **how):
    return model(nodes, inputs, Y, constants, **how), model(others, inputs, Y, constants, **how)


def f(*values):
    return np.array(values, dtype=np.float32)


def i(*values):
    return np.array(values, dtype=np.int64)


W, GAIN, BIAS, ROWS = (np.random.default_rng(3).standard_normal(s).astype(np.float32) for s in ((6, 5), (6,), (6,), (4, 1)))
C = [("w", W), ("gain", GAIN), ("bias", BIAS), ("rows", ROWS), ("two", f(2)), ("half", f(0.5)), ("root", f(np.sqrt(2.0))), ("one", f(1)),
     ("eps", f(1e-5)), ("last", i(-1)), ("middle", i(1)), ("flat", i(0, -1)), ("back", i(0, 4, 6)), ("other", i(0, 6, 4)), ("zero", i(0)), ("three", i(3)), ("end", i(99))]
GELU = [node("Div", "x root", "a"), node("Erf", "a", "b"), node("Add", "b one", "c"), node("Mul", "x c", "d"), node("Mul", "d half", "y")]
NORM = [node("ReduceMean", "x", "m", axes=[-1]), node("Sub", "x m", "d"), node("Mul", "d d", "q"), node("ReduceMean", "q", "v", axes=[-1]),
        node("Add", "v eps", "e"), node("Sqrt", "e", "s"), node("Div", "d s", "t"), node("Mul", "t gain", "g"), node("Add", "g bias", "y")]

EQUAL = {
    "sums in any order": ([node("Add", "x gain", "a"), node("Add", "a rows", "y")], [node("Add", "rows x", "a"), node("Add", "gain a", "y")]),
    "a difference is a sum": ([node("Sub", "x gain", "y")], [node("Neg", "gain", "a"), node("Add", "x a", "y")]),
    "a quotient is a product": ([node("Div", "x two", "y")], [node("Mul", "x half", "y")]),
    "reshapings that follow each other": ([node("Reshape", "x flat", "a"), node("Reshape", "a back", "y")], [node("Identity", "x", "y")]),
    "transposes that take each other back": ([node("Transpose", "x", "a", perm=[2, 0, 1]), node("Relu", "a", "b"), node("Transpose", "b", "y", perm=[1, 2, 0])],
                                             [node("Relu", "x", "y")]),
    "rows of a product": ([node("MatMul", "x w", "y")], [node("Reshape", "x rows_of", "a"), node("MatMul", "a w", "b"), node("Reshape", "b rows_back", "y")]),
    "a product of matrices and its bias": ([node("Reshape", "x rows_of", "a"), node("Gemm", "a w bias5", "y", alpha=2.0)],
                                           [node("Reshape", "x rows_of", "a"), node("MatMul", "a w", "b"), node("Mul", "b two", "c"), node("Add", "c bias5", "y")]),
    "Gelu": (GELU, [node("Mul", "x half", "h"), *GELU[:3], node("Mul", "c h", "y")]),
    "a norm": (NORM, [*NORM[:2], node("Pow", "d two", "q"), *NORM[3:6], node("Reciprocal", "s", "r"), node("Mul", "d r", "t"), *NORM[7:]]),
    "parts put together again": ([node("Slice", "x zero three middle", "a"), node("Slice", "x three end middle", "b"), node("Concat", "a b", "y", axis=1)],
                                 [node("Identity", "x", "y")]),
    "a limit twice": ([node("Relu", "x", "a"), node("Relu", "a", "y")], [node("Relu", "x", "y")]),
}
C += [("rows_of", i(-1, 6)), ("rows_back", i(-1, 4, 5)), ("bias5", W[0])]

APART = {
    "a difference turned around": ([node("Sub", "x gain", "y")], [node("Sub", "gain x", "y")]),
    "a quotient turned around": ([node("Div", "x gain", "y")], [node("Div", "gain x", "y")]),
    "another reshaping": ([node("Reshape", "x other", "a"), node("Reshape", "a back", "y")], [node("Transpose", "x", "a", perm=[0, 2, 1]), node("Reshape", "a back", "y")]),
    "another axis": ([node("Softmax", "x", "y", axis=1)], [node("Softmax", "x", "y", axis=2)]),
    "another mean": ([node("ReduceMean", "x", "y", axes=[1], keepdims=0)], [node("ReduceMean", "x", "a", axes=[2], keepdims=0), node("Slice", "a zero three", "y")]),
    "Gelu of another root": (GELU, [node("Div", "x two", "a"), *GELU[1:]]),
    "Gelu of another sign": (GELU, [*GELU[:2], node("Sub", "b one", "c"), *GELU[3:]]),
    "a norm whose epsilon comes too late": (NORM, [*NORM[:4], node("Sqrt", "v", "e"), node("Add", "e eps1", "s"), *NORM[6:]]),
    "a norm that is not centred": (NORM, [*NORM[:2], node("Mul", "x x", "q"), *NORM[3:]]),
    "a norm along the other axis": (NORM, [node("ReduceMean", "x", "m", axes=[1]), *NORM[1:]]),
    "parts in another order": ([node("Slice", "x zero three middle", "a"), node("Slice", "x three end middle", "b"), node("Concat", "b a", "y", axis=1)],
                               [node("Identity", "x", "y")]),
    "a root of a square": ([node("Mul", "x x", "a"), node("Sqrt", "a", "y")], [node("Identity", "x", "y")]),
    "a Cast that loses": ([node("Cast", "x", "a", to=TensorProto.FLOAT16), node("Cast", "a", "y", to=FLOAT)], [node("Identity", "x", "y")]),
    "a Cast to integers": ([node("Cast", "x", "a", to=INT64), node("Cast", "a", "y", to=FLOAT)], [node("Identity", "x", "y")]),
    "a bias by row and by column": ([node("MatMul", "x square", "a"), node("Add", "a bias", "y")], [node("MatMul", "x square", "a"), node("Add", "a rows", "y")]),
    "a scale before and after": ([node("Mul", "x gain", "a"), node("MatMul", "a square", "y")], [node("MatMul", "x square", "a"), node("Mul", "a gain", "y")]),
    "expanded and not": ([node("ReduceMax", "x", "y", axes=[1])], [node("ReduceMax", "x", "a", axes=[1]), node("Expand", "a four", "y")]),
    "a one in front": ([node("Relu", "x", "y")], [node("Relu", "x", "a"), node("Unsqueeze", "a zero", "y")]),
}
APART |= {
    "one part of a Concat": ([node("Concat", "x x", "a", axis=1), node("Mul", "a eight", "y")], [node("Mul", "x rows", "a"), node("Concat", "a a", "y", axis=1)]),
    "positions out of order": ([node("Gather", "x order", "y", axis=1)], [node("Identity", "x", "y")]),
    "repeated before and after": ([node("Unsqueeze", "x middle", "a"), node("Expand", "a whole", "b"), node("Reshape", "b eights", "y")],
                                  [node("Unsqueeze", "x last2", "a"), node("Expand", "a each", "b"), node("Reshape", "b eights", "y")]),
}
EQUAL |= {
    "a norm of each head": ([node("Reshape", "x heads", "r"), node("Mul", "r r", "q"), node("ReduceMean", "q", "m", axes=[-1]), node("Add", "m eps", "e"),
                             node("Sqrt", "e", "s"), node("Div", "r s", "t"), node("Mul", "t thirds", "y")],
                            [node("Reshape", "x heads", "r"), node("SimplifiedLayerNormalization", "r thirds", "y", epsilon=1e-5)]),
    "parts of a Concat": ([node("Concat", "x x", "a", axis=1), node("Sin", "a", "y")], [node("Sin", "x", "a"), node("Concat", "a a", "y", axis=1)]),
    "positions in order": ([node("Gather", "x inorder", "a", axis=1), node("Reshape", "a back", "y")], [node("Identity", "x", "y")]),
}
C += [("heads", i(0, 4, 2, 3)), ("thirds", GAIN[:3]), ("eight", np.tile(ROWS, (2, 1)) * np.arange(1, 9, dtype=np.float32)[:, None]), ("order", i(0, 1, 3, 2)), ("inorder", i(0, 1, 2, 3).reshape(2, 2)),
      ("last2", i(2)), ("whole", i(1, 2, 1, 1)), ("each", i(1, 1, 2, 1)), ("eights", i(-1, 8, 6))]
TURNED = node("Transpose", "x", "t", perm=[0, 2, 1])
WEIGHTS = [TURNED, node("MatMul", "x t", "a"), node("Softmax", "a", "w4")]  # of 4 rows, each of all 4
TANH = [node("Mul", "x x", "q"), node("Mul", "q half", "c"), node("Add", "c one", "p"), node("Mul", "x p", "m"), node("Tanh", "m", "y")]
EQUAL |= {
    "a sum in another layout": ([TURNED, node("Reshape", "t fours", "a"), node("Add", "a row4", "b"), node("Reshape", "b sixes", "c"), node("Transpose", "c", "y", perm=[0, 2, 1])],
                                [node("Add", "x rows", "y")]),
    "split and merged": ([node("Reshape", "x halves", "a"), node("Transpose", "a", "b", perm=[1, 2, 0, 3]), node("Relu", "b", "c"), node("Transpose", "c", "d", perm=[2, 0, 1, 3]),
                          node("Reshape", "d back", "y")], [node("Relu", "x", "y")]),
    "axes of size 1": ([node("Unsqueeze", "x middle", "a"), node("Unsqueeze", "rows zero", "r"), node("Add", "a r", "b"), node("Squeeze", "b middle", "y")], [node("Add", "x rows", "y")]),
    "resized to its own size": ([node("Shape", "x", "s"), helper.make_node("Resize", ["x", "", "", "s"], ["y"], mode="linear")], [node("Identity", "x", "y")]),
    "weights on the right": ([*WEIGHTS, node("Transpose", "w4", "v", perm=[0, 2, 1]), node("MatMul", "t v", "b"), node("Transpose", "b", "y", perm=[0, 2, 1])],
                             [*WEIGHTS, node("MatMul", "w4 x", "y")]),
    "a polynomial multiplied out": (TANH, [node("Pow", "x cube", "q"), node("Mul", "q half", "c"), node("Add", "c x", "m"), node("Tanh", "m", "y")]),
    "a product of constants with weights": ([node("MatMul", "square square", "a"), node("Softmax", "a", "b"), node("MatMul", "x b", "y")], [node("MatMul", "x weights", "y")]),
    "rows of a constant": ([node("Gather", "square order", "a"), node("Sigmoid", "a", "b"), node("Concat", "b b", "c", axis=0), node("Slice", "c zero three zero", "d"), node("ReduceSum", "d zero", "e"),
                            node("Mul", "x e", "y")], [node("Mul", "x summed", "y")]),
}
APART |= {
    "halves in another order": ([node("Reshape", "x halves", "a"), node("Transpose", "a", "b", perm=[0, 2, 1, 3]), node("Reshape", "b back", "y")], [node("Identity", "x", "y")]),
    "a sum of rows in another layout": ([TURNED, node("Reshape", "t fours", "a"), node("Add", "a row4", "b"), node("Reshape", "b fours6", "y")], [node("Add", "x rows", "y")]),
    "resized to another size": ([helper.make_node("Resize", ["x", "none", "short"], ["h"], mode="linear"), node("Slice", "h zero end", "y")], [node("Slice", "x zero three last", "y")]),
    "weights of columns": ([*WEIGHTS, node("MatMul", "t w4", "b"), node("Transpose", "b", "y", perm=[0, 2, 1])], [*WEIGHTS, node("MatMul", "w4 x", "y")]),
    "a polynomial of another power": (TANH, [node("Mul", "x x", "q"), *TANH[1:2], node("Add", "c x", "m"), TANH[-1]]),
    "weights of other constants": ([node("MatMul", "square square", "a"), node("Softmax", "a", "b", axis=0), node("MatMul", "x b", "y")], [node("MatMul", "x weights", "y")]),
    "other rows of a constant": ([node("Gather", "square inorder4", "a"), node("Sigmoid", "a", "b"), node("Slice", "b zero three zero", "d"), node("ReduceSum", "d zero", "e"), node("Mul", "x e", "y")],
                                 [node("Mul", "x summed", "y")]),
}
CAUSAL = [node("Range", "zero4 four1 one1", "p"), node("Unsqueeze", "p last2d", "q"), node("LessOrEqual", "p q", "k"), node("Where", "k one huge", "h"), node("Mul", "h quarter", "m")]
EQUAL |= {
    "an Einsum": ([node("Einsum", "square x", "y", equation="kj,bij->bik")], [node("Transpose", "square", "t", perm=[1, 0]), node("MatMul", "x t", "y")]),
    "an Einsum of elements": ([node("Einsum", "gain x", "y", equation="j,bij->bij")], [node("Mul", "x gain", "y")]),
    "a mask of constants": ([*CAUSAL, node("MatMul", "m x", "y")], [node("MatMul", "causal x", "y")]),
}
APART |= {
    "an Einsum of the other axis": ([node("Einsum", "square x", "y", equation="jk,bij->bik")], [node("Transpose", "square", "t", perm=[1, 0]), node("MatMul", "x t", "y")]),
    "a mask that is strict": ([*CAUSAL[:2], node("Less", "p q", "k"), *CAUSAL[3:], node("MatMul", "m x", "y")], [node("MatMul", "causal x", "y")]),
    "a mask turned around": ([*CAUSAL[:2], node("LessOrEqual", "q p", "k"), *CAUSAL[3:], node("MatMul", "m x", "y")], [node("MatMul", "causal x", "y")]),
}
WHOLE = [node("Cast", "x", "xi", to=INT64), node("Greater", "xi zero0", "g"), node("Slice", "x zero three middle", "t")]
FROM_END = [node("Shape", "x", "s"), node("Gather", "s zero", "n"), node("Neg", "n", "b")]
EQUAL |= {
    "a choice by the opposite": ([*WHOLE, node("Not", "g", "o"), node("Slice", "o zero three middle", "c"), node("Where", "c t half", "y")],
                                 [*WHOLE, node("Slice", "g zero three middle", "c"), node("Where", "c half t", "y")]),
    "all from the end": ([*FROM_END, node("Slice", "x b far zero", "y")], [node("Identity", "x", "y")]),
}
APART |= {
    "a choice of the other": ([*WHOLE, node("Not", "g", "o"), node("Slice", "o zero three middle", "c"), node("Where", "c t half", "y")],
                              [*WHOLE, node("Slice", "g zero three middle", "c"), node("Where", "c t half", "y")]),
    "all but one from the end": ([*FROM_END, node("Add", "b middle", "a"), node("Slice", "x a far zero", "h"), node("ReduceSum", "h zero", "y")], [node("ReduceSum", "x zero", "y")]),
}
LARGEST = [node("ReduceMax", "x", "m", axes=[0, 2], keepdims=0), node("ArgMax", "m", "k", axis=0, keepdims=1)]
EQUAL |= {"nothing added to one position": ([*LARGEST, node("Add", "k zero", "p"), node("Gather", "x p", "y", axis=1)], [*LARGEST, node("Gather", "x k", "y", axis=1)])}
APART |= {"a position times nothing": ([*LARGEST, node("Mul", "k zero", "p"), node("Gather", "x p", "y", axis=1)], [*LARGEST, node("Gather", "x k", "y", axis=1)])}
ONE_BY_ONE = [node("Add", "x gain", "a"), node("Slice", "a one3 three middle", "b"), node("Slice", "b zero three last2", "y")]
EQUAL |= {"two cuts at once": ([node("Add", "x gain", "a"), node("Slice", "a begins ends axes", "y")], ONE_BY_ONE)}
APART |= {"two cuts, one of them longer": ([node("Add", "x gain", "a"), node("Slice", "a begins others axes", "y")], ONE_BY_ONE)}
WEIGHED = [node("Mul", "x gain", "a"), node("Add", "a bias", "b")]
SCALED = [node("Mul", "x gain3", "a"), node("Add", "a bias3", "b")]
AFTERWARDS = [node("MatMul", "b square", "c"), node("Mul", "c third", "y")]
PARTS = [node("Sin", "x", "s"), node("Mul", "s rows", "r"), node("Concat", "b r", "p", axis=1)]
TWICE = [TURNED, node("Reshape", "t pieces", "r"), node("Mul", "r pair", "m"), node("Reshape", "m sixes", "o"), node("Transpose", "o", "y", perm=[0, 2, 1])]
LENGTH = [node("ReduceL2", "x", "l", axes=[-1], keepdims=1)]
EQUAL |= {
    "a scale in the weights of a norm": ([*SCALED, node("MatMul", "b square", "y")], [*WEIGHED, *AFTERWARDS]),
    "a scale in all parts of a Concat": ([*SCALED, node("Sin", "x", "s"), node("Mul", "s rows3", "r"), node("Concat", "b r", "p", axis=1), node("MatMul", "p square", "y")],
                                         [*WEIGHED, *PARTS, node("MatMul", "p square", "c"), node("Mul", "c third", "y")]),
    "a scale of what is multiplied": ([*SCALED, node("Sin", "x", "s"), node("Mul", "b s", "q"), node("MatMul", "q square", "y")],
                                      [*WEIGHED, node("Sin", "x", "s"), node("Mul", "b s", "q"), node("MatMul", "q square", "c"), node("Mul", "c third", "y")]),
    "pieces of a Transpose": (TWICE, [node("Reshape", "x last_pieces", "r"), node("Mul", "r first", "m"), node("Reshape", "m back", "y")]),
    "parts of a Concat that is reshaped": ([node("Concat", "x x", "a", axis=1), node("Reshape", "a sevens", "b"), node("Reshape", "x fours1", "c"), node("Concat", "b c", "y", axis=1)],
                                           [node("Reshape", "x fours1", "c"), node("Concat", "c c", "a", axis=1), node("Concat", "a c", "y", axis=1)]),
    "vectors over their length": ([node("LpNormalization", "x", "y")], [*LENGTH, node("Max", "l tiny", "m"), node("Expand", "m shape6", "e"), node("Div", "x e", "y")]),
    "vectors over their length, by squares": ([node("LpNormalization", "x", "y")], [node("Mul", "x x", "q"), node("ReduceSum", "q last", "l"), node("Max", "l tiniest", "m"),
                                                                                    node("Sqrt", "m", "r"), node("Div", "x r", "y")]),
    "vectors over the sum of their sizes": ([node("LpNormalization", "x", "y", p=1, axis=1)], [node("Abs", "x", "a"), node("ReduceSum", "a middle", "l"), node("Clip", "l tiny", "m"), node("Div", "x m", "y")]),
}
APART |= {
    "a scale in the weights of a norm, not in its bias": ([node("Mul", "x gain3", "a"), node("Add", "a bias", "b"), node("MatMul", "b square", "y")], [*WEIGHED, *AFTERWARDS]),
    "a scale in one part of a Concat": ([*SCALED, *PARTS, node("MatMul", "p square", "y")], [*WEIGHED, *PARTS, node("MatMul", "p square", "c"), node("Mul", "c third", "y")]),
    "a scale of what is multiplied twice": ([*SCALED, node("Mul", "b b", "q"), node("MatMul", "q square", "y")], [*WEIGHED, node("Mul", "b b", "q"), node("MatMul", "q square", "c"), node("Mul", "c third", "y")]),
    "other pieces of a Transpose": (TWICE, [node("Reshape", "x last_pieces", "r"), node("Mul", "r pair1", "m"), node("Reshape", "m back", "y")]),
    "vectors over a length that is limited": ([node("LpNormalization", "x", "y")], [*LENGTH, node("Max", "l three_f", "m"), node("Div", "x m", "y")]),
    "vectors over their length along another axis": ([node("LpNormalization", "x", "y", axis=1)], [*LENGTH, node("Max", "l tiny", "m"), node("Div", "x m", "y")]),
    "vectors over their largest": ([node("LpNormalization", "x", "y")], [node("Abs", "x", "a"), node("ReduceMax", "a", "l", axes=[-1], keepdims=1), node("Max", "l tiny", "m"), node("Div", "x m", "y")]),
}
STANDARD = [node("BatchNormalization", "rows_of_square ones noughts noughts ones", "s unused1 unused2", epsilon=1e-8, momentum=1.0, training_mode=1), node("Reshape", "s six", "w6"),
            node("MatMul", "x w6", "y")]
LENGTHS_OF = [node("Shape", "x", "s"), node("Gather", "s zero", "n"), node("Cast", "n", "c", to=FLOAT)]
FLAGS = [node("Shape", "x", "s"), node("Expand", "flags s", "e"), node("Cast", "e", "t", to=TensorProto.BOOL), node("Where", "t x half", "y")]
MERGED = [node("Reshape", "x halves", "h"), node("Slice", "h zero three last", "a"), node("Slice", "h three end last", "b"), node("Sin", "a", "c"), node("Sin", "b", "d")]
EQUAL |= {
    "weights that are standardized": (STANDARD, [node("MatMul", "x standard", "y")]),
    "a size over itself": ([*LENGTHS_OF, node("Div", "c c", "q"), node("Mul", "x q", "y")], [node("Identity", "x", "y")]),
    "truths of constants": (FLAGS, [node("Where", "truths x half", "y")]),
    "a Concat of what is merged": ([*MERGED, node("Reshape", "c rows_of3", "e"), node("Reshape", "d rows_of3", "f"), node("Concat", "f e", "g", axis=1), node("Reshape", "g fours6", "y")],
                                   [*MERGED, node("Concat", "d c", "g", axis=3), node("Reshape", "g fours6", "y")]),
}
APART |= {
    "weights that are standardized otherwise": (STANDARD, [node("MatMul", "x standard1", "y")]),
    "a size over another": ([*LENGTHS_OF, node("Div", "c two", "q"), node("Mul", "x q", "y")], [node("Identity", "x", "y")]),
    "other truths of constants": (FLAGS, [node("Where", "truths half x", "y")]),
    "a Concat of what is merged, along another axis": ([*MERGED, node("Reshape", "c rows_of3", "e"), node("Reshape", "d rows_of3", "f"), node("Concat", "f e", "g", axis=0), node("Reshape", "g fours6", "y")],
                                                       [*MERGED, node("Concat", "d c", "g", axis=3), node("Reshape", "g fours6", "y")]),
}
NEARLY = [node("Sin", "pis", "c"), node("Shape", "x", "s"), node("Expand", "c s", "e")]
HELD = [node("Shape", "x", "s"), node("Expand", "sines s", "e")]
STEPS = {"a truth": [node("Cast", "e", "t", to=TensorProto.BOOL), node("Where", "t x half", "y")], "a sign": [node("Sign", "e", "t"), node("Mul", "t x", "y")],
         "a comparison": [node("Less", "e nought", "t"), node("Where", "t x half", "y")], "an integer": [node("Mul", "e huge_f", "m"), node("Cast", "m", "i", to=INT64), node("Cast", "i", "d", to=FLOAT), node("Mul", "d x", "y")]}
APART |= {f"{step} of a constant that is nearly nothing": ([*NEARLY, *nodes], [*HELD, *nodes]) for step, nodes in STEPS.items()}
EQUAL |= {"a constant that is nearly nothing": ([*NEARLY, node("Mul", "e x", "y")], [*HELD, node("Mul", "e x", "y")]),
          "a truth of an input by a constant that is nearly nothing": ([*NEARLY, node("Less", "e x", "t"), node("Where", "t x half", "y")], [*HELD, node("Less", "e x", "t"), node("Where", "t x half", "y")])}
C += [("pis", np.array([np.pi, 1, 2, 0.5], np.float32).reshape(4, 1)), ("sines", np.array([0, *np.sin([1, 2, 0.5])], np.float32).reshape(4, 1)), ("nought", f(0)), ("huge_f", f(1e8))]
C += [("gain3", GAIN * np.float32(0.3)), ("bias3", BIAS * np.float32(0.3)), ("rows3", ROWS * np.float32(0.3)), ("third", f(0.3)), ("tiny", f(1e-12)), ("tiniest", f(1e-24)), ("three_f", f(3)),
      ("pieces", i(0, 2, 3, 4)), ("pair", f(0.5, 3).reshape(2, 1, 1)), ("last_pieces", i(0, 4, 2, 3)), ("first", f(0.5, 3).reshape(2, 1)), ("pair1", f(3, 0.5).reshape(2, 1)), ("sevens", i(0, 8, 1, 6)),
      ("fours1", i(0, 4, 1, 6)), ("shape6", i(1, 4, 6))]
C += [("one3", i(1)), ("begins", i(1, 0)), ("ends", i(3, 3)), ("axes", i(1, 2)), ("others", i(3, 4))]
C += [("far", i(2**63 - 1)), ("zero0", np.int64(0)), ("zero4", np.int64(0)), ("four1", np.int64(4)), ("one1", np.int64(1)), ("last2d", i(1)), ("huge", f(-3)), ("quarter", f(0.3)),
      ("causal", np.where(np.arange(4)[None, :] <= np.arange(4)[:, None], 0.3, -0.9).astype(np.float32))]
C += [("eps1", f(0.1)), ("square", np.random.default_rng(4).standard_normal((6, 6)).astype(np.float32)), ("four", i(1, 4, 1))]
C += [("fours", i(-1, 4)), ("row4", ROWS[:, 0]), ("halves", i(0, 2, 2, 6)), ("cube", f(3)), ("none", f()), ("fours6", i(-1, 4, 6)), ("short", f(1, 1, 0.5)), ("sixes", i(-1, 6, 4)), ("inorder4", i(0, 1, 2, 3))]
SQUARE = dict(C)["square"].astype(np.float64)
CENTRED = SQUARE - SQUARE.mean(1, keepdims=True)
C += [("rows_of_square", dict(C)["square"][None]), ("ones", np.ones(6, np.float32)), ("noughts", np.zeros(6, np.float32)), ("six", i(6, 6)), ("flags", f(1, 0, 0.25, -2).reshape(4, 1)),
      ("truths", np.array([[True], [False], [True], [True]])), ("rows_of3", i(-1, 3)), ("standard", (CENTRED / CENTRED.std(1, keepdims=True)).astype(np.float32)),
      ("standard1", (CENTRED / CENTRED.std(1, keepdims=True, ddof=1)).astype(np.float32))]
SCORES = np.exp(SQUARE @ SQUARE)
C += [("weights", (SCORES / SCORES.sum(1, keepdims=True)).astype(np.float32)), ("summed", (1 / (1 + np.exp(-SQUARE[[0, 1, 3]]))).sum(0, keepdims=True).astype(np.float32))]


RAMP = [node("Add", "x three_f", "a"), node("Clip", "a nought0 six0", "c")]
FALLING = [node("Mul", "x less", "a"), node("Max", "a low3", "b"), node("Min", "b three_f", "y")]
EQUAL |= {
    "a hard sigmoid": ([node("HardSigmoid", "x", "y", alpha=1 / 6)], [*RAMP, node("Div", "c six0", "y")]),
    "a hard sigmoid by a number": ([node("HardSigmoid", "x", "y", alpha=1 / 6)], [*RAMP, node("Mul", "c sixth", "y")]),
    "a hard sigmoid that falls": ([node("HardSigmoid", "x", "y", alpha=-0.5, beta=0.25)],
                                  [node("Sub", "half x", "a"), node("Min", "a two", "b"), node("Relu", "b", "c"), node("Mul", "half c", "y")]),
    "a hard swish": ([node("HardSwish", "x", "y")], [*RAMP, node("Mul", "x c", "m"), node("Div", "m six0", "y")]),
    "a hard swish of its gate": ([node("HardSwish", "x", "y")], [node("HardSigmoid", "x", "s", alpha=1 / 6), node("Mul", "s x", "y")]),
    "a hard swish of a biased sum": ([node("Add", "x bias", "b"), node("HardSwish", "b", "y")],
                                     [node("Add", "x bias", "b"), node("Add", "b three_f", "a"), *RAMP[1:], node("Mul", "b c", "m"), node("Div", "m six0", "y")]),
    "limits of what falls": (FALLING, [node("Max", "x low1", "a"), node("Min", "a three_3", "b"), node("Mul", "b less", "y")]),
    "limits in either order": ([node("Min", "x three_f", "a"), node("Max", "a half", "y")], [node("Max", "half x", "a"), node("Min", "a three_f", "y")]),
    "a limit beside a scaled one": ([node("Mul", "x three_f", "a"), node("Relu", "a", "b"), node("Max", "b rows", "y")],
                                    [node("Relu", "x", "a"), node("Mul", "a three_f", "b"), node("Max", "rows b", "y")]),
}
APART |= {
    "a hard sigmoid of another slope": ([node("HardSigmoid", "x", "y", alpha=0.2)], [*RAMP, node("Div", "c six0", "y")]),
    "a hard sigmoid of another offset": ([node("HardSigmoid", "x", "y", alpha=1 / 6, beta=0.4)], [*RAMP, node("Div", "c six0", "y")]),
    "a hard sigmoid of another limit": ([node("HardSigmoid", "x", "y", alpha=1 / 6)], [RAMP[0], node("Clip", "a nought0 three0", "c"), node("Div", "c six0", "y")]),
    "a hard sigmoid of another number": ([node("HardSigmoid", "x", "y", alpha=1 / 6)], [*RAMP, node("Mul", "c third", "y")]),
    "a hard swish of another slope": ([node("HardSwish", "x", "y")], [*RAMP, node("Mul", "x c", "m"), node("Mul", "m third", "y")]),
    "a hard swish of another sum": ([node("Add", "x bias", "b"), node("HardSwish", "b", "y")], [*RAMP, node("Mul", "x c", "m"), node("Div", "m six0", "y")]),
    "limits of what rises": (FALLING, [node("Max", "x less", "a"), node("Min", "a one", "b"), node("Mul", "b less", "y")]),
    "limits that cross in either order": ([node("Min", "x quarter", "a"), node("Max", "a half", "y")], [node("Max", "half x", "a"), node("Min", "a quarter", "y")]),
    "a negative number out of a limit": ([node("Mul", "x less", "a"), node("Relu", "a", "y")], [node("Relu", "x", "a"), node("Mul", "a less", "y")]),
    "a number out of one of two": ([node("Mul", "x three_f", "a"), node("Max", "a rows", "y")], [node("Max", "x rows", "a"), node("Mul", "a three_f", "y")]),
    "numbers of two signs out of a limit": ([node("Mul", "x signs", "a"), node("Relu", "a", "y")], [node("Relu", "x", "a"), node("Mul", "a signs", "y")]),
}
C += [("six0", np.float32(6)), ("nought0", np.float32(0)), ("three0", np.float32(3)), ("sixth", f(1 / 6)), ("less", f(-3)), ("low1", f(-1)), ("low3", f(-9)),
      ("three_3", f(3)), ("signs", f(1, -2, 0.5, 3).reshape(4, 1))]


@pytest.mark.parametrize("name", EQUAL)
def test_spellings_are_proven_equal(thaw, save, name):
    a, b = pair(*EQUAL[name], constants=C)
    outputs = proofs(thaw, save(a, "a"), save(b, "b"))
    assert verdicts(outputs) == {"y": "proven"}, outputs


@pytest.mark.parametrize("name", APART)
def test_near_misses_are_not_proven(thaw, save, name):
    a, b = pair(*APART[name], constants=C)
    outputs = proofs(thaw, save(a, "a"), save(b, "b"))
    # What float16 loses is within the tolerance of a run.
    assert verdicts(outputs) == {"y": "open" if name == "a Cast that loses" else "differs"} and outputs[0]["place"], outputs


MASK = "scores under a mask of -1e20 or less count nothing"
INTEGERS = "integers fit their types"
LENGTHS = "vectors that are divided by their length are 0, or longer than 1e-6"
SEEN = node("Greater", "x half", "seen")
ASSUMING = {
    "nothing": (EQUAL["Gelu"], X, []),
    "a mask": (([SEEN, node("Where", "seen nought low", "m"), node("Add", "m x", "a"), node("Softmax", "a", "y")],
                [SEEN, node("Where", "seen x low", "a"), node("Softmax", "a", "y")]), X, [MASK]),
    "minus infinity": (([SEEN, node("Where", "seen nought least", "m"), node("Add", "m x", "a"), node("Softmax", "a", "y")],
                        [SEEN, node("Where", "seen x least", "a"), node("Softmax", "a", "y")]), X, []),
    "a limit of lengths": (EQUAL["vectors over their length"], X, [LENGTHS]),
    "the same limit of lengths": (([*LENGTH, node("Max", "l tiny", "m"), node("Div", "x m", "y")], [*LENGTH, node("Clip", "l tiny", "m"), node("Div", "x m", "y")]), X, []),
    "integers": (([node("Less", "ids three", "a"), node("Cast", "a", "y", to=FLOAT)],
                  [node("GreaterOrEqual", "ids three", "a"), node("Not", "a", "b"), node("Cast", "b", "y", to=FLOAT)]), [("ids", INT64, ("n", 200))], [INTEGERS]),
}


@pytest.mark.parametrize("name", ASSUMING)
def test_what_is_taken_for_granted_is_named(thaw, save, tmp_path, name):
    """In the verdict, its text, the evidence, and when that is replayed."""
    nodes, inputs, wanted = ASSUMING[name]
    a, b = (save(one, part) for one, part in zip(pair(*nodes, constants=[*C, ("low", f(-3e38)), ("least", f(-np.inf))], inputs=inputs), "ab", strict=True))
    evidence = tmp_path / "proof.json"
    report = thaw.json("verify", a, "--against", b, "--prove", "--evidence", evidence, code=0)
    assert verdicts(report["outputs"]) == {"y": "proven"} and report.get("assumptions", []) == wanted, report
    steps = json.loads(evidence.read_text())["steps"]
    assert sorted({text for step in steps for text in step.get("assumptions", [])}) == wanted
    again = thaw.json("verify", a, "--against", b, "--replay", evidence, code=0)
    assert again.get("assumptions", []) == wanted
    text = thaw("verify", a, "--against", b, "--prove", code=0).stdout
    assert ("assumed: " + "; ".join(wanted) in text) if wanted else "assumed" not in text, text


@pytest.mark.parametrize("other", [[node("Div", "x l", "y")], [node("Max", "l three_f", "m"), node("Div", "x m", "y")]])
def test_a_limit_of_lengths_counts(thaw, save, other):
    """What is 0 over no length is NaN; beside it all numbers agree here, as those of x are far from 0."""
    limited = [*LENGTH, node("Max", "l tiny", "m"), node("Div", "x m", "y")]
    for nodes in (limited, [node("LpNormalization", "x", "y")]):
        a, b = (save(one, part) for one, part in zip(pair(nodes, [*LENGTH, *other], constants=C), "ab", strict=True))
        assert verdicts(proofs(thaw, a, b)) != {"y": "proven"}


def test_a_number_that_is_nearly_1_counts_before_a_step(thaw, save, tmp_path):
    """Positions times 1/41, times 41: float32 makes less of some than they are."""
    x = [("x", FLOAT, ("n",))]
    around = [node("Add", "x unit", "u"), node("Shape", "x", "s"), node("Gather", "s none", "n"), node("Range", "none n step", "r"), node("Cast", "r", "f", to=FLOAT)]
    near = [*around, node("Mul", "f part", "a"), node("Mul", "a parts", "k")]
    constants = [("unit", np.float32(1)), ("part", np.float32(1 / 41)), ("parts", np.float32(41)), ("none", np.int64(0)), ("step", np.int64(1))]
    for last, wanted in (([node("Add", "u k", "y")], "proven"), ([node("Floor", "k", "l"), node("Add", "l u", "y")], None)):
        a = save(model([*near, *last], x, Y, constants), "near")
        b = save(model([*around, node("Identity", "f", "k"), *last], x, Y, constants), "exact")
        (one,) = proofs(thaw, a, b, "--points", 1)
        assert (one["verdict"] == wanted) if wanted else (one["verdict"] != "proven" and one["place"]), one


@pytest.mark.parametrize("ops", [("Abs", "Ceil"), ("Ceil", "Abs"), ("Abs", "Abs")], ids=str)
def test_sizes_that_only_a_run_tells_are_those_of_their_branch(thaw, save, ops):
    """Branches that always run may call what is in them alike."""
    def branch(op, suffix):
        inner = [node("NonZero", f"part{suffix}", f"places{suffix}"), node("Shape", f"places{suffix}", f"shape{suffix}"),
                 node("Cast", f"shape{suffix}", f"made{suffix}", to=FLOAT)]
        make = lambda nodes, name: helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(nodes[-1].output[0], FLOAT, None)])
        return {"then_branch": make([node(op, "x", f"part{suffix}"), *inner], "then"), "else_branch": make([node("Neg", "x", f"other{suffix}")], "else")}
    def built(ops, suffixes):
        nodes = [node("If", "yes", name, **branch(op, suffix)) for name, op, suffix in zip("ab", ops, suffixes, strict=True)]
        return model([*nodes, node("Sub", "a b", "y")], [("x", FLOAT, ("n",))], Y, [("yes", np.array(True))])
    alike = save(built(ops, ("", "")), "alike")
    assert verdicts(proofs(thaw, alike, save(built(ops, ("_0", "_1")), "apart"))) == {"y": "proven"}
    if ops != ("Abs", "Abs"):
        assert verdicts(proofs(thaw, alike, save(built(("Abs", "Abs"), ("", "")), "both"))) != {"y": "proven"}


def test_what_may_be_nothing_is_not_cancelled(thaw, save):
    a, b = (save(one, part) for one, part in zip(pair([node("Div", "x x", "q"), node("Mul", "x q", "y")], [node("Identity", "x", "y")]), "ab", strict=True))
    assert verdicts(proofs(thaw, a, b)) == {"y": "open"}


def test_evidence_that_hides_an_assumption_is_refused(thaw, save, tmp_path):
    nodes, inputs, _ = ASSUMING["integers"]
    a, b = (save(one, part) for one, part in zip(pair(*nodes, constants=C, inputs=inputs), "ab", strict=True))
    evidence = tmp_path / "proof.json"
    thaw.json("verify", a, "--against", b, "--prove", "--evidence", evidence, code=0)
    written = json.loads(evidence.read_text())
    for step in written["steps"]:
        step.pop("assumptions", None)
    evidence.write_text(json.dumps(written))
    thaw("verify", a, "--against", b, "--replay", evidence, code=2)


def test_random_numbers_are_never_proven_equal(thaw, save):
    path = save(model([node("RandomNormalLike", "x", "r"), node("Add", "x r", "y")], X, Y))
    (one,) = proofs(thaw, path, path)
    assert one["verdict"] == "open" and "RandomNormalLike" in one["place"]


def test_a_size_is_bound_by_its_axis_and_not_by_its_name(thaw, save):
    """Both call a size n; it is the first input's in one model and the second's in the other."""
    def made(first, second):
        nodes = [node("Shape", "b", "s", start=0, end=1), node("ConstantOfShape", "s", "y")]
        return model(nodes, [("a", FLOAT, (first,)), ("b", FLOAT, (second,))], Y, opset=17)
    same, other = save(made("n", "m"), "same"), save(made("m", "n"), "other")
    assert verdicts(proofs(thaw, same, other)) == {"y": "proven"}
    swapped = model([node("Shape", "a", "s", start=0, end=1), node("ConstantOfShape", "s", "y")], [("a", FLOAT, ("n",)), ("b", FLOAT, ("m",))], Y)
    (one,) = proofs(thaw, save(swapped, "swapped"), other, "--sizes", "a_dim0=2|3,b_dim0=5") or proofs(thaw, save(swapped, "swapped"), other)
    assert one["verdict"] != "proven"


def test_sizes_that_only_a_run_tells_are_apart(thaw, save):
    """NonZero of two tensors, under one name."""
    def made(of):
        return model([node("NonZero", of, "z"), node("Shape", "z", "y")], [("a", FLOAT, ("n",)), ("b", FLOAT, ("n",))], [("y", INT64)])
    a, b = save(made("a"), "a"), save(made("b"), "b")
    assert verdicts(proofs(thaw, a, b))["y"] != "proven"
    assert verdicts(proofs(thaw, a, a)) == {"y": "proven"}


def test_a_batch_norm_that_went_into_a_convolution(thaw, save):
    rng = np.random.default_rng(11)
    weight, bias = rng.standard_normal((4, 3, 3, 3)).astype(np.float32), rng.standard_normal(4).astype(np.float32)
    scale, shift, mean = (rng.standard_normal(4).astype(np.float32) for _ in range(3))
    variance = rng.random(4).astype(np.float32) + 0.5
    image = [("x", FLOAT, ("n", 3, "h", "w"))]
    apart = model([node("Conv", "x w b", "c"), node("BatchNormalization", "c s t m v", "y")], image, Y,
                  [("w", weight), ("b", bias), ("s", scale), ("t", shift), ("m", mean), ("v", variance)])
    factor = scale / np.sqrt(variance + np.float32(1e-5))
    whole = [("w", weight * factor[:, None, None, None]), ("b", (bias - mean) * factor + shift)]
    folded = model([node("Conv", "x w b", "y")], image, Y, whole)
    path = save(apart, "apart")
    called = thaw.json("verify", save(folded, "folded"), "--against", path, "--prove", code=0)
    assert verdicts(called["outputs"]) == {"y": "proven"}, called["outputs"]
    assert called["rounded_constants"] >= 1 and 0 < called["rounding_steps"] < 16
    beyond = model([node("Conv", "x w b", "y")], image, Y, [("w", whole[0][1] * np.float32(1.0001)), whole[1]])
    (one,) = proofs(thaw, save(beyond, "beyond"), path)
    assert one["verdict"] != "proven" and one["place"]


@pytest.mark.parametrize("odd", [-1, 0, np.inf, np.nan, 3e38, 1e-42])
def test_constants_that_make_no_number_together(thaw, save, odd):
    """Under a root, as a factor and as a divisor: a model is itself all the same."""
    rng = np.random.default_rng(13)
    scale, shift, mean, variance = (rng.random(4).astype(np.float32) + 0.5 for _ in range(4))
    variance[1] = scale[2] = odd
    by = np.array([2, odd, 0.5, 3], np.float32)[:, None, None]
    nodes = [node("BatchNormalization", "x s t m v", "a"), node("Mul", "a two", "b"), node("Mul", "b by", "c"), node("Div", "c by", "d"),
             node("Add", "d b", "e"), node("Mul", "e two", "y")]
    constants = [("s", scale), ("t", shift), ("m", mean), ("v", variance), ("by", by), ("two", np.float32(2))]
    path = save(model(nodes, [("x", FLOAT, ("n", 4, "h", "w"))], Y, constants), "odd")
    assert verdicts(proofs(thaw, path, path)) == {"y": "proven"}


def test_a_scale_that_went_into_a_weight(thaw, save):
    """Of all channels, behind a product and before one, in a sum."""
    rng = np.random.default_rng(12)
    kernel, square = rng.standard_normal((4, 3, 3, 3)).astype(np.float32), rng.standard_normal((6, 6)).astype(np.float32)
    scale, bias = np.float32(0.37), rng.standard_normal(4).astype(np.float32)
    image = [("x", FLOAT, ("n", 3, "h", "w"))]
    apart = model([node("Conv", "x w b", "c"), node("Mul", "c s", "y")], image, Y, [("w", kernel), ("b", bias), ("s", scale)])
    for factor, wanted in ((scale, "proven"), (scale * np.float32(1.0001), "open")):
        folded = model([node("Conv", "x w b", "y")], image, Y, [("w", kernel * factor), ("b", bias * scale)])
        assert verdicts(proofs(thaw, save(folded, "folded"), save(apart, "apart"))) == {"y": wanted}
    # Behind it a ramp, as a Clip and as an operator.
    ramp = [node("Add", "t three", "a"), node("Clip", "a nought six", "r"), node("Mul", "t r", "p"), node("Div", "p six", "h"), node("Conv", "h w2", "y")]
    others = [("w2", rng.standard_normal((5, 4, 1, 1)).astype(np.float32)), ("three", np.float32(3)), ("nought", np.float32(0)), ("six", np.float32(6))]
    apart = save(model([node("Conv", "x w b", "c"), node("Mul", "c s", "t"), *ramp], image, Y, [("w", kernel), ("b", bias), ("s", scale), *others]), "apart")
    for factor, wanted in ((scale, "proven"), (-scale, "differs")):
        folded = model([node("Conv", "x w b", "t"), node("HardSwish", "t", "h"), ramp[-1]], image, Y, [("w", kernel * factor), ("b", bias * factor), *others[:1]])
        assert verdicts(proofs(thaw, save(folded, "folded"), apart)) == {"y": wanted}
    # Below 2^-126, where a product is rounded as far as that number.
    small = kernel.copy()
    small.flat[[5, 17, 40]] = np.float32(3e-41), np.float32(-2e-38), np.float32(1e-45)
    of_all, of_each = np.float32(0.37), np.array([2, 0.37, -3, 0.1], np.float32)[:, None, None]
    for by in (of_all, of_each):
        apart = save(model([node("Conv", "x w", "c"), node("Mul", "c s", "y")], image, Y, [("w", small), ("s", by)]), "apart")
        rounded = small * (by if by.ndim == 0 else by[..., None])
        other = rounded.copy()
        other.flat[5] *= np.float32(1.01)
        for weight, wanted in ((rounded, "proven"), (other, "open")):
            assert verdicts(proofs(thaw, save(model([node("Conv", "x w", "y")], image, Y, [("w", weight)]), "folded"), apart)) == {"y": wanted}
    scores = [node("MatMul", "x w", "q"), node("Add", "q b", "p"), node("Transpose", "x", "k", perm=[0, 2, 1])]
    apart = model([*scores, node("MatMul", "p k", "m"), node("Mul", "m s", "y")], X, Y, [("w", square), ("b", bias[:1]), ("s", scale)])
    folded = model([*scores, node("MatMul", "p k", "y")], X, Y, [("w", square * scale), ("b", bias[:1] * scale)])
    assert verdicts(proofs(thaw, save(folded, "folded"), save(apart, "apart"))) == {"y": "proven"}


def test_the_smallest_sizes_at_which_outputs_differ(thaw, save):
    """From four rows on: the others were left out."""
    inputs = [("x", FLOAT, ("n", "m"))]
    all_rows = model([node("ReduceSum", "x zero", "y")], inputs, Y, [("zero", i(0))])
    three = model([node("Slice", "x zero three", "a"), node("ReduceSum", "a zero", "y")], inputs, Y, [("zero", i(0)), ("three", i(3))])
    a, b = save(three, "three rows"), save(all_rows, "all")
    report = thaw.json("verify", a, "--against", b, "--prove", "--seed", 5, code=1)
    found = report["counterexample"]
    assert verdicts(report["outputs"]) == {"y": "differs"} and found["sizes"] == {"n": 4, "m": 1} and found["output"] == "y", found
    words = shlex.split(found["command"])
    assert words[0] == "thaw" and "--seed" in words
    again = thaw.json(*words[1:], code=1)
    (point,) = again["points"]
    assert point["status"] == "differs" and point["outputs"][0]["max_abs_diff"] == found["max_abs_diff"]
    text = thaw("verify", a, "--against", b, "--prove", code=1).stdout
    assert "differs already at n=4, m=1: output 'y'" in text, text
    assert "counterexample" not in thaw.json("verify", a, "--against", b, "--prove", "--sizes", "n=3,m=2", code=0)
    assert "counterexample" not in thaw.json("verify", a, "--against", b, "--prove", "--values", "x=1", code=1)


# What verbs write ----------------------------------------------------------------------------------------------------------


VERBS = {"optimize": ["--level", "clean"], "fix": [], "pin": ["--sizes", "batch=2,seq=5"], "split": ["--parts", "2"]}


def written(verb, report):
    return report["models"][0] if verb == "pin" else report


@pytest.mark.parametrize("verb", VERBS)
def test_a_result_is_proven_before_it_is_written(thaw, save, tmp_path, verb):
    (case,) = [case for case in exported_cases.own() if case.name == "text_decoder_dynamic"]
    made = case.make()
    made.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "wrong"  # for `fix`
    path, out = save(made), tmp_path / "out.onnx"
    report = written(verb, thaw.json(verb, path, "-o", out, *VERBS[verb], code=0))
    assert all(run["agrees"] for run in report["checks"]) and report["proof"]["terms"] > 100
    assert report["proof"]["outputs"] == [{"name": "logits", "verdict": "proven"}], report["proof"]
    text = thaw(verb, path, "-o", tmp_path / "text.onnx", *VERBS[verb], code=0).stdout
    assert "proven equal to the original at every size: 1 output" in text, text
    assert "proof" not in written(verb, thaw.json(verb, path, "-o", tmp_path / "unchecked.onnx", *VERBS[verb], "--no-check", code=0))


def test_what_is_open_is_written_and_named(thaw, save, tmp_path):
    path = save(model([node("Resize", "x none scales", "r", mode="nearest"), node("Relu", "r", "a"), node("Relu", "a", "y")], X, Y,
                      [("none", f()), ("fours6", i(-1, 4, 6)), ("scales", f(1, 2, 1))]))
    report = thaw.json("optimize", path, "-o", tmp_path / "out.onnx", code=0)
    assert report["accepted"] and report["proof"]["outputs"][0]["name"] == "y"
    random = save(model([node("RandomNormalLike", "x", "r"), node("Add", "x r", "a"), node("Relu", "a", "b"), node("Relu", "b", "y")], X, Y))
    called = thaw("optimize", random, "-o", tmp_path / "random.onnx", code=0).stdout
    assert "not proven at other sizes: output 'y', RandomNormalLike" in called and "wrote" in called, called


def test_a_lifted_model_is_proven_equal_to_each_trace(thaw, save, tmp_path):
    def trace(n, *last):
        nodes = [node("Reshape", "x rows_of", "a"), node("MatMul", "a w", "b"), node("Reshape", "b back5", "c"), node("Slice", "c zero end two1", "d"), *last]
        return save(model(nodes, [("x", FLOAT, (1, n, 6))], Y, [*C, ("back5", i(1, n, 5)), ("two1", i(2))]), f"trace_{n}.onnx")

    traces = [trace(n, node("Relu", "d", "y")) for n in (4, 7, 12)]
    report = thaw.json("lift", *traces, "-o", tmp_path / "lifted.onnx", code=0)
    assert report["proof"]["outputs"] == [{"name": "y", "verdict": "proven"}] and "sizes" not in report["proof"], report
    text = thaw("lift", *traces, "-o", tmp_path / "again.onnx", code=0).stdout
    assert "proven equal to every trace at its sizes: 1 output" in text, text
    assert "proof" not in thaw.json("lift", *traces, "-o", tmp_path / "unchecked.onnx", "--no-check", code=0)
    page = tmp_path / "lift.html"
    thaw("lift", *traces, "-o", tmp_path / "page.onnx", "--report", page, code=0)
    assert "Equal to every trace at its sizes" in page.read_text()


@pytest.mark.parametrize("rows", [(1, "n", 6), ("n", 6)], ids=["merged", "leading"])
@pytest.mark.parametrize("opset", [12, 17])
def test_a_batched_model_is_proven_equal_to_the_original_of_one_sample(thaw, save, tmp_path, rows, opset):
    path = save(model([node("MatMul", "x square", "a"), node("Add", "a gain", "b"), node("Elu", "b", "c"), node("Softmax", "c", "y", axis=len(rows) - 1)], [("x", FLOAT, rows)], Y, C, opset=opset))
    report = thaw.json("batch", path, "-o", tmp_path / "batched.onnx", code=0)
    assert report["proof"]["outputs"] == [{"name": "y", "verdict": "proven"}], report["proof"]
    text = thaw("batch", path, "-o", tmp_path / "again.onnx", code=0).stdout
    assert "proven equal to the original sample by sample at every size: 1 output" in text, text
    assert "proof" not in thaw.json("batch", path, "-o", tmp_path / "unchecked.onnx", "--no-check", code=0)


def test_an_input_that_became_a_constant_is_that_in_the_original(thaw, save, tmp_path):
    path = save(model([node("Mul", "x factor", "a"), node("Add", "a x", "y")], [*X, ("factor", FLOAT, ("k",))], Y))
    report = thaw.json("pin", path, "-o", tmp_path / "out.onnx", "--sizes", "n=3", "--values", "factor=2.5", code=0)
    assert report["models"][0]["proof"]["outputs"] == [{"name": "y", "verdict": "proven"}]


def test_parts_are_compared_as_one_model(thaw, save, tmp_path):
    """A later part has a branch that reads what an earlier one makes, and hands an input on."""
    info = helper.make_tensor_value_info
    yes = helper.make_graph([node("Mul", "a shift", "p")], "yes", [], [info("p", FLOAT, None)])
    no = helper.make_graph([node("Sub", "b a", "q")], "no", [], [info("q", FLOAT, None)])
    nodes = [node("Sin", "x", "a"), node("Exp", "a", "b"), node("Cos", "b", "c"), node("ReduceMax", "c", "m", keepdims=0), node("Greater", "m half", "is"),
             node("If", "is", "d", then_branch=yes, else_branch=no), node("Add", "d x", "y")]
    path = save(model(nodes, X, Y, [("half", np.float32(0.5)), ("shift", f(3))]))
    report = thaw.json("split", path, "-o", tmp_path / "parts", "--at", "b", code=0)
    assert len(report["parts"]) == 2 and report["proof"]["outputs"] == [{"name": "y", "verdict": "proven"}], report


def test_a_function_is_its_body(thaw, save):
    body = helper.make_function("own", "Twice", ["a"], ["b"], [node("Add", "a a", "b")], [helper.make_opsetid("", 17)])
    call = helper.make_node("Twice", ["x"], ["y"], domain="own")
    called = model([call], X, Y, functions=[body], domains=["own"])
    plain = model([node("Mul", "x two", "y")], X, Y, [("two", f(2))])
    assert verdicts(proofs(thaw, save(called, "called"), save(plain, "plain"))) == {"y": "proven"}


def test_a_branch_that_is_always_taken(thaw, save):
    info = helper.make_tensor_value_info
    yes = helper.make_graph([node("Relu", "x", "p")], "yes", [], [info("p", FLOAT, None)])
    no = helper.make_graph([node("Neg", "x", "q")], "no", [], [info("q", FLOAT, None)])
    for known, wanted in ((True, "proven"), (False, "differs")):
        chosen = model([node("If", "c", "y", then_branch=yes, else_branch=no)], X, Y, [("c", np.array(known))])
        plain = model([node("Relu", "x", "y")], X, Y)
        assert verdicts(proofs(thaw, save(chosen, "chosen"), save(plain, "plain"))) == {"y": wanted}


@pytest.mark.parametrize("options", [["--cast"], ["--per-sample"], ["--map", "x=x"]])
def test_what_cannot_be_proven_is_refused(thaw, save, options):
    path = save(model([node("Relu", "x", "y")], X, Y))
    assert "--prove" in thaw("verify", path, "--against", path, "--prove", *options, code=2).stderr


def test_a_flag_that_is_neither_yes_nor_no_is_refused(thaw, save):
    """Inference and runtimes may take it for different things."""
    path = save(model([node("ReduceMax", "x", "y", keepdims=2, axes=[1])], X, Y))
    assert "'keepdims' is 2" in thaw("verify", path, "--against", path, "--prove", code=2).stderr


def test_a_deep_graph_takes_no_stack(thaw, save):
    """Nodes that follow each other."""
    count = 20_000
    nodes = [node("Sin" if k % 2 else "Add", f"v{k}" if k % 2 else f"v{k} x", f"v{k + 1}") for k in range(count)]
    nodes[0].input[0] = "x"
    nodes.append(node("Identity", f"v{count}", "y"))
    path = save(model(nodes, [("x", FLOAT, ("n",))], Y))
    assert verdicts(proofs(thaw, path, path, "--points", 1)) == {"y": "proven"}


# Where both run -------------------------------------------------------------------------------------------------------------


RESHAPE = [("flat2", i(2, -1)), ("three24", i(3, 24)), ("whole3", i(3, -1)), ("rows2", np.ones((2, 4, 6), np.float32) * 3), ("three4", np.ones((3, 1, 1), np.float32))]


def test_a_size_that_a_model_needs_is_that_number(thaw, save):
    """A batch that is frozen in a Reshape; beside it what is free."""
    frozen = save(model([node("Reshape", "x three24", "a"), node("Relu", "a", "y")], X, Y, RESHAPE), "frozen")
    free = save(model([node("Relu", "x", "a"), node("Flatten", "a", "y")], X, Y), "free")
    report = thaw.json("verify", free, "--against", frozen, "--prove", code=0)
    assert verdicts(report["outputs"]) == {"y": "proven"} and report["proof_sizes"] == ["n=3"]
    assert "proven equal for n=3" in thaw("verify", frozen, "--against", free, "--prove", code=0).stdout
    # Nothing needs it to be 3 here: the others are another matter.
    report = thaw.json("verify", free, "--against", free, "--prove", code=0)
    assert verdicts(report["outputs"]) == {"y": "proven"} and "proof_sizes" not in report


@pytest.mark.parametrize("number", ["rows2", "three4"])
def test_sizes_that_broadcast_may_be_one(thaw, save, number):
    """x of [n, 4, 6] and a constant of 2 or 3 rows: n is as many, or 1."""
    made = save(model([node("Add", f"x {number}", "y")], X, Y, [one for one in RESHAPE if one[0] == number]))
    report = thaw.json("verify", made, "--against", made, "--prove", code=0)
    assert verdicts(report["outputs"]) == {"y": "proven"} and "proof_sizes" not in report


def test_rows_that_are_never_one_are_as_many_as_they_are_added_to(thaw, save):
    """24 elements a row, flat, and 72 of a constant."""
    constants = [("line", i(-1)), ("many", np.arange(72, dtype=np.float32)), ("flat", i(3, 24)), ("block", np.arange(72, dtype=np.float32).reshape(3, 24))]
    added = save(model([node("Reshape", "x line", "a"), node("Add", "a many", "y")], X, Y, constants[:2]), "added")
    block = save(model([node("Reshape", "x flat", "a"), node("Add", "a block", "b"), node("Reshape", "b line", "y")], X, Y, [constants[0], *constants[2:]]), "block")
    report = thaw.json("verify", added, "--against", added, "--prove", code=0)
    assert report["proof_sizes"] == ["n=3"]
    assert verdicts(thaw.json("verify", block, "--against", added, "--prove", code=0)["outputs"])["y"] != "differs"


def test_what_no_output_needs_is_not_asked_for(thaw, save):
    dead = model([node("Reshape", "x three24", "a"), node("Relu", "x", "y")], X, Y, RESHAPE)
    free = model([node("Relu", "x", "y")], X, Y)
    report = thaw.json("verify", save(dead, "dead"), "--against", save(free, "free"), "--prove")
    assert verdicts(report["outputs"])["y"] == "proven" and "proof_sizes" not in report


def test_models_that_run_together_nowhere_are_open(thaw, save):
    two, three = (save(model([node("Reshape", f"x {shape}", "a"), node("ReduceSum", "a", "y", keepdims=0)], X, Y, [(shape, i(rows, 24))]), shape)
                  for shape, rows in (("two24", 2), ("three24", 3)))
    called = thaw("verify", two, "--against", three, "--prove", "--format", "json", "--sizes", "n=3")
    assert called.returncode == 1 and "proven" not in called.stdout, called.stdout
