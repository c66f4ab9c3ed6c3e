"""thaw batch on If, Loop and Scan: what decides is the same for all samples, what they compute is not."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from batch_models_test import TOLERANCE, batch, samples_agree  # noqa: F401 (batch is a fixture)
from conftest import session

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def info(name, type_=FLOAT, dims=None):
    return helper.make_tensor_value_info(name, type_, dims)


def constant(name, values, type_=np.int64):
    return numpy_helper.from_array(np.array(values, type_), name)


def model_of(nodes, inputs, outputs, constants=(), opset=17):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def node(op, inputs, outputs, name=None, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), name or outputs.split()[0], **attributes)


def draw(count, seed=0, **shapes):
    rng = np.random.default_rng(seed)
    return [{name: rng.standard_normal(dims, dtype=np.float32) for name, dims in shapes.items()} for _ in range(count)]


def squeeze_where_it_can(after, width):
    """If(width of x == 1) Squeeze else Identity, as TorchScript writes squeeze, and what follows it."""
    squeezed = helper.make_graph([node("Squeeze", "x one_", "a")], "then", [], [info("a")])
    kept = helper.make_graph([node("Identity", "x", "b")], "else", [], [info("b")])
    nodes = [node("Shape", "x", "shape"), node("Gather", "shape one", "size"), node("Equal", "size one", "is_one"),
             node("If", "is_one", "i", then_branch=squeezed, else_branch=kept), *after]
    constants = [constant("one", 1), constant("one_", [1]), constant("zero_", [0]),
                 numpy_helper.from_array(np.random.default_rng(0).standard_normal((5, 3, 2)).astype(np.float32), "w")]
    return model_of(nodes, [info("x", dims=[1, width, 3, 7])], [info("y")], constants)


def test_an_if_that_can_go_one_way_only_is_settled(save, batch):
    """A Conv over one axis follows: it takes [1, 3, 7], not [1, n, 3, 7]."""
    model = save(squeeze_where_it_can([node("Conv", "i w", "y", kernel_shape=[2])], None))
    batched, _ = batch(model)
    assert "If" not in {n.op_type for n in onnx.load(batched).graph.node}
    assert samples_agree(model, batched, draw(5, x=(1, 1, 3, 7))) <= TOLERANCE


@pytest.mark.parametrize("width", [1, 2])
def test_an_if_that_sizes_decide_is_settled(save, batch, width):
    model = save(squeeze_where_it_can([node("Relu", "i", "y")], None))
    batched, _ = batch(model, "--sizes", f"x_dim1={width}")
    assert samples_agree(model, batched, draw(3, x=(1, width, 3, 7))) == 0


def test_an_if_that_can_go_both_ways_to_different_ranks_is_refused(thaw, save, tmp_path):
    message = thaw.error("batch", save(squeeze_where_it_can([node("Relu", "i", "y")], None)), "-o", tmp_path / "out.onnx")
    assert "If 'i'" in message and "different ranks" in message


@pytest.mark.parametrize("flag", [True, False])
def test_an_if_by_an_input_keeps_both_branches(save, batch, flag):
    """Branches of one rank: which one runs is said when it runs."""
    then = helper.make_graph([node("Transpose", "x", "a", perm=[0, 2, 1])], "then", [], [info("a")])
    other = helper.make_graph([node("Constant", "", "b", value=constant("", np.ones((1, 3, 2)), np.float32))], "else", [], [info("b")])
    model = save(model_of([node("If", "flag", "i", then_branch=then, else_branch=other), node("Mul", "i i", "y")],
                          [info("x", dims=[1, 2, 3]), info("flag", BOOL, [])], [info("y")]))
    batched, _ = batch(model, "--inputs", "x")
    assert samples_agree(model, batched, draw(5, x=(1, 2, 3)), dict(flag=np.array(flag))) == 0


def test_an_if_whose_condition_differs_gives_each_sample_its_own_branch(save, batch):
    """Both branches are computed for all; a value of the sample decides."""
    then = helper.make_graph([node("MatMul", "x w", "a")], "then", [], [info("a")])
    other = helper.make_graph([node("MatMul", "x v", "b0"), node("Neg", "b0", "b")], "else", [], [info("b")])
    rng = np.random.default_rng(1)
    weights = [numpy_helper.from_array(rng.standard_normal((5, 7)).astype(np.float32), name) for name in "wv"]
    model = save(model_of([node("ReduceSum", "x", "sum", keepdims=0), node("Greater", "sum zero", "more"),
                           node("If", "more", "i", then_branch=then, else_branch=other), node("Relu", "i", "y")],
                          [info("x", dims=[1, 3, 5])], [info("y")], [*weights, constant("zero", 0, np.float32)]))
    batched, _ = batch(model)
    samples = draw(11, x=(1, 3, 5))
    assert len({bool(s["x"].sum() > 0) for s in samples}) == 2
    assert samples_agree(model, batched, samples) <= TOLERANCE


def by_rate(first, second):
    """Frames of a length that goes with a rate, which decides an If: at a told length one of the branches cannot run."""
    def branch(name, frame):
        return f"""{name} = {name}_g () => (float[k] {name}_y) {{
          {name}_s = Constant<value_ints=[{frame}, -1]>() {name}_r = Reshape(x, {name}_s)
          {name}_a = Constant<value_ints=[{frame}, 3]>() {name}_c = Constant<value_float={frame}.0>()
          {name}_e = Expand({name}_c, {name}_a) {name}_q = Mul({name}_r, {name}_e)
          {name}_y = ReduceSum<keepdims=0>({name}_q, last) }}"""
    return onnx.parser.parse_model(f"""<ir_version: 9, opset_import: ["" : 17]> g (float[w] x, int64 rate) => (float[k] y) {{
      fast = Constant<value_int=16>() is = Equal(rate, fast) last = Constant<value_ints=[1]>()
      z = If(is) <{branch("then_branch", first)}, {branch("else_branch", second)}> y = Neg(z) }}""")


@pytest.mark.parametrize("frames, width, runs, fails", [((4, 7), 12, 16, 8), ((4, 7), 21, 8, 16), ((5, 2), 15, 16, 8)])
def test_a_branch_that_cannot_run_at_the_told_sizes_is_an_error_in_a_run(thaw, save, tmp_path, frames, width, runs, fails):
    model = by_rate(*frames)
    path, out, again = save(model), tmp_path / "out.onnx", tmp_path / "again.onnx"
    size = "w" if width == 12 else "x[0]"
    thaw("batch", path, "-o", out, "--inputs", "x", "--sizes", f"{size}={width}", "--values", f"rate={runs}", code=0)
    thaw("optimize", out, "-o", again, code=0)  # which leaves the guard where it is
    x = np.random.default_rng(3).standard_normal((5, width)).astype(np.float32)
    one = [session(model).run(None, {"x": row, "rate": np.array(runs)})[0] for row in x]
    for made in (out, again):
        np.testing.assert_allclose(session(made).run(None, {"x": x, "rate": np.array(runs)})[0], one, rtol=1e-5, atol=1e-5)
        with pytest.raises(Exception, match="Reshape"):
            session(made).run(None, {"x": x, "rate": np.array(fails)})
    with pytest.raises(Exception, match="ONNXRuntimeError"):  # as in the model itself
        session(model).run(None, {"x": x[0], "rate": np.array(fails)})


def test_an_input_that_decides_an_if_is_named_where_the_check_fails(thaw, save, tmp_path):
    report = thaw("batch", save(by_rate(4, 7)), "-o", tmp_path / "out.onnx", code={1, 2})
    said = report.stdout + report.stderr
    assert "--inputs" in said and not (tmp_path / "out.onnx").exists()



def loop_body(nodes, carried, scanned=(), names=("i", "go")):
    """A body that goes on: iteration and condition in, the condition, carried values and collected ones out."""
    inputs = [info(names[0], INT64, []), info(names[1], BOOL, []), *[info(a) for a, _ in carried]]
    outputs = [info("on", BOOL, []), *[info(b) for _, b in carried], *[info(s) for s in scanned]]
    return helper.make_graph([node("Identity", names[1], "on"), *nodes], "body", inputs, outputs)


@pytest.mark.parametrize("trips", [0, 1, 5])
@pytest.mark.parametrize("shape", [[1, 3, 5], [3, 5]])
def test_a_loop_carries_samples_and_collects_them(save, batch, trips, shape):
    """h' = tanh(h W) + x, where x is captured; h begins as zeros that are the same for all."""
    body = loop_body([node("MatMul", "h w", "p"), node("Tanh", "p", "t"), node("Add", "t x", "h2"),
                      node("ReduceSum", "h2", "r", keepdims=0), node("Identity", "h2", "step")], [("h", "h2")], ["r", "step"])
    body.output[2].CopyFrom(info("r", dims=[]))
    body.output[3].CopyFrom(info("step", dims=shape))
    weights = numpy_helper.from_array(np.random.default_rng(0).standard_normal((5, 5)).astype(np.float32) / 3, "w")
    zeros = numpy_helper.from_array(np.zeros(shape, np.float32), "zeros")
    model = save(model_of([node("Loop", "trips yes zeros", "last sums steps", name="loop", body=body)],
                          [info("x", dims=shape), info("trips", INT64, [])],
                          [info("last"), info("sums"), info("steps")], [weights, zeros, constant("yes", True, bool)]))
    batched, _ = batch(model, "--inputs", "x")
    assert samples_agree(model, batched, draw(7, x=shape), dict(trips=np.array(trips))) <= TOLERANCE


def test_a_loop_that_counts_by_what_it_carries(save, batch):
    """The counter is the same for all samples and stays a plain number; the condition reads it."""
    body = helper.make_graph(
        [node("Add", "n one", "n2"), node("Less", "n2 limit", "on"), node("Mul", "h half", "h2"), node("Add", "h2 n2", "h3")],
        "body", [info("i", INT64, []), info("go", BOOL, []), info("n", FLOAT, []), info("h")],
        [info("on", BOOL, []), info("n2", FLOAT, []), info("h3")])
    model = save(model_of([node("Loop", "none yes zero x", "n3 y", name="loop", body=body)],
                          [info("x", dims=[1, 3]), info("limit", FLOAT, [])], [info("n3"), info("y")],
                          [constant("yes", True, bool), constant("zero", 0, np.float32), constant("one", 1, np.float32),
                           constant("half", 0.5, np.float32), constant("none", 100)]))
    batched, _ = batch(model, "--inputs", "x")
    for limit in (2, 7):
        assert samples_agree(model, batched, draw(5, x=(1, 3)), dict(limit=np.array(limit, np.float32))) <= TOLERANCE


def test_loops_inside_loops_and_ifs(save, batch):
    """The inner one captures what the outer one carries; an If in it takes the even iterations."""
    then = helper.make_graph([node("Mul", "g x", "a")], "then", [], [info("a")])
    other = helper.make_graph([node("Sub", "g h", "b")], "else", [], [info("b")])
    inner = loop_body([node("Mod", "j two", "odd"), node("Cast", "odd", "c", to=BOOL),
                       node("If", "c", "g2", then_branch=then, else_branch=other)], [("g", "g2")], names=("j", "inner_go"))
    inner.output[0].name = inner.node[0].output[0] = "inner_on"
    outer = loop_body([node("Loop", "three yes h", "h2", body=inner), node("Tanh", "h2", "h3")], [("h", "h3")], ["h3_"],)
    outer.node.append(node("Neg", "h3", "h3_"))
    model = save(model_of([node("Loop", "two yes x", "y z", name="loop", body=outer)], [info("x", dims=[2, 3])], [info("y"), info("z")],
                          [constant("two", 2), constant("three", 3), constant("yes", True, bool)]))
    batched, _ = batch(model)
    assert samples_agree(model, batched, draw(5, x=(2, 3))) <= TOLERANCE


def halved(collects=False):
    """Halves until the sum of squares is small; counts how often. The counter begins alike and differs in the end."""
    body = helper.make_graph(
        [node("Mul", "h half", "h2"), node("ReduceSumSquare", "h2", "s", keepdims=0), node("Greater", "s one", "on"),
         node("Add", "n one", "n2"), *([node("Identity", "h2", "kept")] if collects else [])],
        "body", [info("i", INT64, []), info("go", BOOL, []), info("h"), info("n", FLOAT, [])],
        [info("on", BOOL, []), info("h2"), info("n2", FLOAT, []), *([info("kept")] if collects else [])])
    outputs = ["y", "count", *(["z"] if collects else [])]
    loop = node("Loop", "many starts scaled zero", " ".join(outputs), name="halve", body=body)
    nodes = [node("Mul", "x scale", "scaled"), node("ReduceSum", "scaled", "first", keepdims=0), node("Greater", "first one", "starts"), loop]
    return model_of(nodes, [info("x", dims=[1, 3]), info("scale", dims=[1])], [info(o) for o in outputs],
                    [constant("one", 1, np.float32), constant("zero", 0, np.float32), constant("half", 0.5, np.float32), constant("many", 5)])


def test_a_loop_that_each_sample_leaves_at_another_time(save, batch):
    """By its condition: some samples do not begin, some reach the limit, some stop between."""
    model = save(halved())
    batched, _ = batch(model, "--inputs", "x")
    rng = np.random.default_rng(8)
    samples = [dict(x=(rng.standard_normal((1, 3)) * size).astype(np.float32)) for size in (0.5, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 377, 987)]
    shared = dict(scale=np.ones(1, np.float32))
    counts = {float(session(model).run(["count"], {**s, **shared})[0]) for s in samples}
    assert {0.0, 5.0} < counts and len(counts) >= 4
    assert samples_agree(model, batched, samples, shared) <= TOLERANCE


def test_a_loop_that_runs_as_often_as_each_sample_says(save, batch):
    body = loop_body([node("Mul", "h half", "h2")], [("h", "h2")])
    model = save(model_of([node("Loop", "trips yes x", "y", name="loop", body=body)], [info("x", dims=[2, 3]), info("trips", INT64, [])],
                          [info("y")], [constant("half", 0.5, np.float32), constant("yes", True, bool)]))
    batched, _ = batch(model)
    samples = [dict(sample, trips=np.array(k)) for sample, k in zip(draw(5, x=(2, 3)), (3, 0, 7, 1, 2))]
    assert samples_agree(model, batched, samples) == 0


def test_what_such_a_loop_collects_differs_in_size_and_is_refused(thaw, save, tmp_path):
    message = thaw.error("batch", save(halved(collects=True)), "-o", tmp_path / "out.onnx", "--inputs", "x")
    assert "Loop 'halve'" in message and "what it collects differs in size" in message and "--allow-loop" not in message


@pytest.mark.parametrize("axes", [{}, dict(scan_input_axes=[1, 0], scan_output_axes=[2, 0]),
                                  dict(scan_input_axes=[-2, -2], scan_output_axes=[-1, -3]),
                                  dict(scan_input_directions=[1, 0], scan_output_directions=[0, 1])])
@pytest.mark.parametrize("inputs", ["x,z", "x", "z"])
def test_a_scan_over_any_axis(save, batch, axes, inputs):
    """Two scanned inputs, of which one or both differ; a state that begins alike; two outputs."""
    at = axes.get("scan_input_axes", [0, 0])
    x_shape, z_shape = [3, 2], [2]
    x_shape.insert(at[0] % 3, 7)
    z_shape.insert(at[1] % 2, 7)
    body = helper.make_graph([node("Add", "xs zs", "q"), node("Add", "h q", "h2"), node("Sub", "q h", "a"), node("Mul", "h2 q", "b")],
                             "body", [info("h"), info("xs"), info("zs")], [info("h2"), info("a"), info("b")])
    zeros = numpy_helper.from_array(np.full((3, 2), 0.5, np.float32), "zeros")
    model = save(model_of([node("Scan", "zeros x z", "last as bs", name="scan", body=body, num_scan_inputs=2, **axes)],
                          [info("x", dims=x_shape), info("z", dims=z_shape)], [info("last"), info("as"), info("bs")], [zeros]))
    batched, _ = batch(model, "--inputs", inputs)
    samples = draw(5, x=x_shape, z=z_shape)
    shared = {name: samples[0][name] for name in ("x", "z") if name not in inputs.split(",")}
    samples = [{name: s[name] for name in inputs.split(",")} for s in samples]
    assert samples_agree(model, batched, samples, shared) <= TOLERANCE


def test_sequences_hold_all_samples_in_each_item(save, batch):
    """Split, insert, take out, ask for the length, join again; a loop that fills an empty one."""
    body = helper.make_graph([node("Identity", "go", "on"), node("Mul", "x i_", "part"), node("Cast", "i", "i_", to=FLOAT),
                              node("SequenceInsert", "s part", "s2")],
                             "body", [info("i", INT64, []), info("go", BOOL, []), helper.make_tensor_sequence_value_info("s", FLOAT, None)],
                             [info("on", BOOL, []), helper.make_tensor_sequence_value_info("s2", FLOAT, None)])
    body.node.insert(1, body.node.pop(2))
    nodes = [node("SplitToSequence", "x sizes", "parts", axis=1), node("SequenceAt", "parts one", "second"),
             node("SequenceErase", "parts zero", "rest"), node("SequenceInsert", "rest second", "more"), node("SequenceLength", "more", "n"),
             node("ConcatFromSequence", "more", "joined", axis=1), node("Cast", "n", "n_", to=FLOAT), node("Mul", "joined n_", "y"),
             node("SequenceEmpty", "", "none"), node("Loop", "three yes none", "filled", body=body),
             node("ConcatFromSequence", "filled", "z", axis=0, new_axis=1)]
    model = save(model_of(nodes, [info("x", dims=[3, 7])], [info("y"), info("z")],
                          [constant("sizes", [2, 3, 2]), constant("zero", 0), constant("one", 1), constant("three", 3), constant("yes", True, bool)]))
    batched, _ = batch(model)
    assert samples_agree(model, batched, draw(5, x=(3, 7))) == 0


def test_calls_of_the_models_own_functions_are_opened(save, batch):
    """A function that calls another, with an attribute that is given, one that has a default, and an operand left out."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    refer = lambda op, i, o, **refs: _with_references(node(op, i, o), refs)
    scaled = helper.make_function("own", "Scaled", ["a", "low"], ["d"], [refer("LeakyRelu", "a", "b", alpha="slope"), node("Clip", "b low", "c"), refer("Transpose", "c", "d", perm="order")],
                                  opsets, attributes=["order"], attribute_protos=[helper.make_attribute("slope", 0.25)])
    twice = helper.make_function("own", "Twice", ["a"], ["c"], [helper.make_node("Scaled", ["a"], ["b"], domain="own", order=[0, 2, 1], slope=0.5),
                                                                helper.make_node("Scaled", ["b"], ["c"], domain="own", order=[1, 0, 2])], opsets)
    nodes = [helper.make_node("Twice", ["x"], ["t"], domain="own"), helper.make_node("Scaled", ["t", "zero"], ["y"], domain="own", order=[2, 0, 1])]
    model = model_of(nodes, [info("x", dims=[1, 2, 3])], [info("y")], [constant("zero", -0.1, np.float32)])
    model.opset_import.append(opsets[1])
    model.functions.extend([scaled, twice])
    model = save(model)
    batched, _ = batch(model)
    assert {n.domain for n in onnx.load(batched).graph.node} == {""}
    assert samples_agree(model, batched, draw(5, x=(1, 2, 3))) == 0


def _with_references(of, refs):
    """A node of a function whose attributes stand for the function's."""
    kinds = dict(alpha=onnx.AttributeProto.FLOAT, perm=onnx.AttributeProto.INTS)
    for name, reference in refs.items():
        of.attribute.append(onnx.AttributeProto(name=name, ref_attr_name=reference, type=kinds[name]))
    return of
