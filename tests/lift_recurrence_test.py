"""Recurrences that an exporter wrote out step by step: the steps become one Scan, of any length."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from conftest import session
from lift_net import Net

WIDTH, STATE = 3, 4
TRACES, UNSEEN = (5, 8, 11), (1, 2, 3, 7, 13, 29)
RNG = np.random.default_rng(7)
WEIGHTS = {name: RNG.standard_normal(shape, dtype=np.float32) * 0.4
           for name, shape in dict(W=(WIDTH, 3 * STATE), U=(STATE, 3 * STATE), V=(STATE, 3 * STATE), D=(STATE, STATE), b=(3 * STATE,), A=(STATE,)).items()}


class Cells(Net):
    """Weights stand in it once."""

    def __init__(self):
        super().__init__()
        self.constants = [numpy_helper.from_array(array, name) for name, array in WEIGHTS.items()]

    def zeros(self, *shape):
        return self.constant(np.zeros(shape, np.float32))

    def row(self, x, t):
        """x[:, t]"""
        return self.add("Gather", x, self.constant(np.int64(t)), axis=1)

    def stack(self, values):
        return self.add("Concat", *[self.add("Unsqueeze", value, self.ints(1)) for value in values], axis=1)

    def gru(self, x, h, weights="U"):
        gates = self.add("Add", self.add("Add", self.add("MatMul", x, "W"), "b"), self.add("MatMul", h, weights))
        parts = [self.add("Slice", gates, self.ints(i * STATE), self.ints((i + 1) * STATE), self.ints(1)) for i in range(3)]
        keep = self.add("Sigmoid", parts[0])
        new = self.add("Tanh", self.add("Mul", parts[1], self.add("Sigmoid", parts[2])))
        return self.add("Add", self.add("Mul", keep, h), self.add("Mul", self.add("Sub", self.constant(np.float32(1)), keep), new))

    def model(self, n, *results, batch=2, width=WIDTH, opset=18):
        for i, result in enumerate(results):
            self.nodes.append(helper.make_node("Identity", [result], [f"y{i}"]))
        outputs = [helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, None) for i in range(len(results))]
        used = {name for node in self.nodes for name in node.input}
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, n, width])], outputs,
                                  [c for c in self.constants if c.name in used])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def gru(n):
    net = Cells()
    h, results = net.zeros(2, STATE), []
    for t in range(n):
        h = net.gru(net.row("x", t), h)
        results.append(h)
    return net.model(n, net.stack(results), h)


def linear(n, backwards=False):
    """A state that decays and takes in what is there, read through a product, as state spaces are."""
    net = Cells()
    x, h, results = net.add("MatMul", "x", "W"), net.zeros(2, 3 * STATE), []
    for t in reversed(range(n)) if backwards else range(n):
        piece = net.add("Slice", x, net.ints(t), net.ints(t + 1), net.ints(1))
        h = net.add("Add", net.add("Mul", h, "b"), net.add("Squeeze", piece, net.ints(1)))
        results.append(net.add("Tanh", h))
    return net.model(n, net.stack(results[::-1] if backwards else results))


def last_state_only(n):
    net = Cells()
    h = net.zeros(2, STATE)
    for t in range(n):
        h = net.gru(net.row("x", t), h)
    return net.model(n, net.add("MatMul", h, "D"))


def two_layers(n, joined):
    """The second reads what the first has stacked, or the first's results one by one."""
    net, pieces, h = Cells(), [], None
    for name in ("U", "V"):
        h, results = net.zeros(2, STATE), []
        for t in range(n):
            row = net.row("x", t) if not pieces else pieces[t]
            row = row if name == "U" else net.add("MatMul", row, "D")
            wide = net.add("Slice", row, net.ints(0), net.ints(WIDTH), net.ints(1))
            h = net.gru(wide, h, name)
            results.append(h)
        if joined:
            whole = net.stack(results)
            pieces = [net.row(whole, t) for t in range(n)]
        else:
            pieces = results
    return net.model(n, whole if joined else net.stack(results), h)


def both_directions(n):
    """The second goes from the end, over what the first has left, one by one."""
    net, h, results = Cells(), None, []
    h = net.zeros(2, STATE)
    for t in range(n):
        h = net.gru(net.row("x", t), h)
        results.append(h)
    back, h = [], net.zeros(2, STATE)
    for t in reversed(range(n)):
        h = net.add("Tanh", net.add("Add", net.add("MatMul", h, "D"), results[t]))
        back.append(h)
    return net.model(n, net.stack(back[::-1]))


def interleaved(n):
    """Two at a time that do not know of each other."""
    net = Cells()
    a, b, left, right = net.zeros(2, STATE), net.zeros(2, STATE), [], []
    for t in range(n):
        a = net.gru(net.row("x", t), a, "U")
        b = net.gru(net.row("x", n - 1 - t), b, "V")
        left.append(a)
        right.append(b)
    return net.model(n, net.add("Concat", net.stack(left), net.stack(right[::-1]), axis=2))


def written_in_place(n, rows):
    """out[:, t] = h: ScatterND by rows of indices, or ScatterElements by the axis."""
    net = Cells()
    out, h = net.zeros(2, n, STATE), net.zeros(2, STATE)
    for t in range(n):
        h = net.gru(net.row("x", t), h)
        if rows:
            out = net.add("ScatterND", out, net.ints([0, t], [1, t]), h)
        else:
            where = net.constant(np.full((2, 1, STATE), t, np.int64))
            out = net.add("ScatterElements", out, where, net.add("Unsqueeze", h, net.ints(1)), axis=1)
    return net.model(n, net.add("Neg", out))


def state_of_two_steps(n):
    """h[t] = tanh(D h[t - 2] + x[t])"""
    net = Cells()
    before, h, results = net.zeros(2, STATE), net.constant(np.full((2, STATE), 0.5, np.float32)), []
    for t in range(n):
        wide = net.add("MatMul", net.row("x", t), "W")
        part = net.add("Slice", wide, net.ints(0), net.ints(STATE), net.ints(1))
        before, h = h, net.add("Tanh", net.add("Add", net.add("MatMul", before, "D"), part))
        results.append(h)
    return net.model(n, net.stack(results), h)


def first_step_folded(n):
    """The product with the zeros of the start was folded, as exporters do."""
    net, results = Cells(), []
    product = net.constant(np.zeros((2, STATE), np.float32) @ WEIGHTS["D"] + WEIGHTS["A"])
    for t in range(n):
        wide = net.add("Slice", net.add("MatMul", net.row("x", t), "W"), net.ints(0), net.ints(STATE), net.ints(1))
        h = net.add("Tanh", net.add("Add", wide, product))
        results.append(h)
        if t + 1 < n:
            product = net.add("Add", net.add("MatMul", h, "D"), "A")
    return net.model(n, net.stack(results))


def split_into_rows(n):
    """x.unbind(1): one Split of as many results as there are steps."""
    net, h, results = Cells(), None, []
    h = net.zeros(2, STATE)
    net.nodes.append(helper.make_node("Split", ["x", net.ints(*[1] * n)], [f"x{t}" for t in range(n)], axis=1))
    for t in range(n):
        h = net.gru(net.add("Squeeze", f"x{t}", net.ints(1)), h)
        results.append(h)
    return net.model(n, net.stack(results))


def begins_with_first_row(n, width=WIDTH):
    """h[0] = x[0], and from the second row on h[t] = tanh(h[t - 1]) + x[t]: nothing is left to do at length 1."""
    net = Cells()
    h = net.row("x", 0)
    results = [h]
    for t in range(1, n):
        h = net.add("Add", net.add("Tanh", h), net.row("x", t))
        results.append(h)
    return net.model(n, net.stack(results), h)


def ends_with_second_row(n):
    """The same from the end."""
    net = Cells()
    h = net.row("x", n - 1)
    results = [h]
    for t in reversed(range(n - 1)):
        h = net.add("Add", net.add("Tanh", h), net.row("x", t))
        results.append(h)
    return net.model(n, net.stack(results[::-1]), h)


def chunks(n):
    """Four rows at a time, of lengths that are multiples of four."""
    net, results = Cells(), []
    h = net.zeros(2, 1, STATE)
    wide = net.add("Slice", net.add("MatMul", "x", "W"), net.ints(0), net.ints(STATE), net.ints(2))
    for t in range(0, n, 4):
        piece = net.add("Slice", wide, net.ints(t), net.ints(t + 4), net.ints(1))
        results.append(net.add("Add", net.add("Tanh", piece), net.add("MatMul", h, "D")))
        h = net.add("ReduceMean", results[-1], axes=[1], keepdims=1)
    return net.model(n, net.add("Concat", *results, axis=1), h, opset=17)


RECURRENCES = dict(
    gru=gru, linear=linear, backwards=lambda n: linear(n, True), last_state_only=last_state_only, two_layers=lambda n: two_layers(n, True),
    two_layers_piece_by_piece=lambda n: two_layers(n, False), both_directions=both_directions, interleaved=interleaved,
    rows_in_place=lambda n: written_in_place(n, True), elements_in_place=lambda n: written_in_place(n, False),
    state_of_two_steps=state_of_two_steps, first_step_folded=first_step_folded, split_into_rows=split_into_rows,
    begins_with_first_row=begins_with_first_row, ends_with_second_row=ends_with_second_row)


def rows(n, width=WIDTH):
    return np.random.default_rng(n).standard_normal((2, n, width), dtype=np.float32)


def count_of(model, op):
    return sum(node.op_type == op for node in model.graph.node)


@pytest.mark.parametrize("name", RECURRENCES)
def test_a_recurrence_runs_at_every_length(thaw, save, tmp_path, name):
    make, out = RECURRENCES[name], tmp_path / "lifted.onnx"
    thaw("lift", *[save(make(n), f"trace_{n}") for n in TRACES], "-o", out, code=0)
    run = session(out)
    for n in (*TRACES, *UNSEEN):
        wanted = session(save(make(n), "wanted")).run(None, {"x": rows(n)})
        for got, want in zip(run.run(None, {"x": rows(n)}), wanted, strict=True):
            assert got.shape == want.shape and np.abs(got - want).max() < 1e-5, (name, n)
    model = onnx.load(out)
    assert 1 <= count_of(model, "Scan") <= 2 and len(model.graph.node) < 40
    thaw("check", out, "--sizes", "x_dim1=1..4096", code=0)


def test_pieces_of_several_rows(thaw, save, tmp_path):
    out = tmp_path / "lifted.onnx"
    thaw("lift", *[save(chunks(n), f"trace_{n}") for n in (12, 20, 28)], "-o", out, code=0)
    run = session(out)
    for n in (4, 8, 12, 20, 28, 52):
        wanted = session(save(chunks(n), "wanted")).run(None, {"x": rows(n)})
        for got, want in zip(run.run(None, {"x": rows(n)}), wanted, strict=True):
            assert got.shape == want.shape and np.abs(got - want).max() < 1e-5, n


def test_rows_that_fill_the_last_chunk_are_not_there_in_every_trace(thaw, save, tmp_path):
    """What a divisible length leaves out, a Pad and a Slice, is put there before the traces are aligned."""
    def trace(n):
        net, results, more = Cells(), [], -n % 4
        h = net.zeros(2, 1, STATE)
        wide = net.add("Slice", net.add("MatMul", "x", "W"), net.ints(0), net.ints(STATE), net.ints(2))
        if more:
            wide = net.add("Pad", wide, net.ints(0, 0, 0, 0, more, 0))
        for t in range(0, n + more, 4):
            piece = net.add("Slice", wide, net.ints(t), net.ints(t + 4), net.ints(1))
            results.append(net.add("Add", net.add("Tanh", piece), net.add("MatMul", h, "D")))
            h = net.add("ReduceMean", results[-1], axes=[1], keepdims=1)
        joined = net.add("Concat", *results, axis=1)
        if more:
            joined = net.add("Slice", joined, net.ints(0), net.ints(n), net.ints(1))
        return net.model(n, net.add("Neg", joined), opset=17)

    out = tmp_path / "lifted.onnx"
    thaw("lift", *[save(trace(n), f"trace_{n}") for n in (13, 20, 27)], "-o", out, code=0)
    run = session(out)
    for n in (1, 4, 9, 13, 20, 27, 50):
        got, wanted = run.run(None, {"x": rows(n)})[0], session(save(trace(n), "wanted")).run(None, {"x": rows(n)})[0]
        assert got.shape == wanted.shape and np.abs(got - wanted).max() < 1e-5, n


def test_traces_that_are_too_short_are_compared_alone(thaw, save, tmp_path):
    out = tmp_path / "lifted.onnx"
    run = thaw("lift", *[save(gru(n), f"trace_{n}") for n in (1, 6, 2, 9)], "-o", out, code=0).stdout
    assert all(f"agrees with trace_{n}.onnx" in run for n in (1, 2, 6, 9))
    assert run.count("too short to separate one step from the next") == 2
    for n in (1, 4, 23):
        got, wanted = (session(model).run(None, {"x": rows(n)}) for model in (out, save(gru(n), "wanted")))
        assert all(np.abs(a - b).max() < 1e-5 for a, b in zip(got, wanted, strict=True)), n


def one_step_otherwise(n, how):
    """A GRU of which the fourth last step is another."""
    net = Cells()
    h, results = net.zeros(2, STATE), []
    for t in range(n):
        other = t == n - 4
        before = h
        h = net.gru(net.row("x", t), h, "V" if other and how == "weight" else "U")
        if how == "operator":
            h = net.add("Sin" if other else "Tanh", h)
        if how == "order":
            h = net.add("Sub", *((before, h) if other else (h, before)))
        if how == "wider":
            h = net.add("Concat", h, net.row("x", t), axis=1) if other else h
            h = net.add("Slice", h, net.ints(0), net.ints(STATE), net.ints(1)) if other else h
        results.append(h)
    outputs = [net.stack(results)]
    if how == "read":
        outputs.append(net.add("Neg", results[n - 4]))
    return net.model(n, *outputs)


@pytest.mark.parametrize("how", ["weight", "operator", "order", "wider", "read"])
def test_steps_that_are_not_the_same_stay(thaw, save, tmp_path, how):
    out = tmp_path / "lifted.onnx"
    error = thaw.error("lift", *[save(one_step_otherwise(n, how), f"trace_{n}") for n in TRACES], "-o", out)
    assert "recurrence" in error and not out.exists(), error


def test_a_state_that_grows_is_none_of_a_scan(thaw, save, tmp_path):
    """A cache, to which each step adds a row."""
    def trace(n):
        net, results = Cells(), []
        cache = net.zeros(2, 1, WIDTH)
        for t in range(n):
            cache = net.add("Concat", cache, net.add("Unsqueeze", net.row("x", t), net.ints(1)), axis=1)
            results.append(net.add("ReduceMean", cache, axes=[1], keepdims=1))
        return net.model(n, net.add("Concat", *results, axis=1), opset=17)

    out = tmp_path / "lifted.onnx"
    assert "same sizes in each step" in thaw.error("lift", *[save(trace(n), f"trace_{n}") for n in TRACES], "-o", out)
    assert not out.exists()


def test_layers_of_one_weight_stay_layers(thaw, save, tmp_path):
    """As often in every trace: no recurrence over the rows."""
    def trace(n):
        net = Cells()
        x = net.add("MatMul", net.add("MatMul", "x", "W"), net.constant(np.eye(3 * STATE, STATE, dtype=np.float32)))
        for _ in range(6):
            x = net.add("Tanh", net.add("Add", net.add("MatMul", x, "D"), net.add("ReduceMean", x, axes=[1], keepdims=1)))
        return net.model(n, net.add("Slice", x, net.ints(0), net.ints(n - 1), net.ints(1)), opset=17)

    out = tmp_path / "lifted.onnx"
    thaw("lift", *[save(trace(n), f"trace_{n}") for n in TRACES], "-o", out, code=0)
    assert count_of(onnx.load(out), "Scan") == 0 and count_of(onnx.load(out), "Tanh") == 6


def test_an_old_opset_is_raised_to_one_with_scans(thaw, save, tmp_path):
    def trace(n):
        net = Cells()
        h = net.row("x", 0)
        for t in range(n):
            h = net.add("Tanh", net.add("Add", h, net.row("x", t)))
        return net.model(n, h, opset=8)

    out = tmp_path / "lifted.onnx"
    thaw("lift", *[save(trace(n), f"trace_{n}") for n in TRACES], "-o", out, code=0)
    assert count_of(onnx.load(out), "Scan") == 1
    for n in (4, 13):
        x = np.random.default_rng(n).standard_normal((2, n, WIDTH), dtype=np.float32)
        wanted = session(save(trace(n), "wanted")).run(None, {"x": x})[0]
        assert np.abs(session(out).run(None, {"x": x})[0] - wanted).max() < 1e-5, n


def test_a_target_without_loops_says_so(thaw, save, tmp_path):
    out = tmp_path / "lifted.onnx"
    thaw("lift", *[save(gru(n), f"trace_{n}") for n in TRACES], "-o", out, code=0)
    found = thaw.findings(out, "--target", "directml")
    assert any("Scan" in str(finding) for finding in found), found


def test_sizes_inside_a_step_are_solved_too(thaw, save, tmp_path):
    """The batch is written down in what the state begins with, and in a Reshape of each step."""
    def trace(batch, n):
        net, results = Cells(), []
        h = net.zeros(batch, STATE)
        for t in range(n):
            h = net.gru(net.row("x", t), h)
            h = net.add("Reshape", net.add("Transpose", net.add("Reshape", h, net.ints(batch, 2, 2)), perm=[0, 2, 1]), net.ints(batch, STATE))
            results.append(h)
        return net.model(n, net.stack(results), h, batch=batch)

    out, sizes = tmp_path / "lifted.onnx", [(2, 5), (3, 8), (5, 12)]
    thaw("lift", *[save(trace(*size), "trace_{}x{}".format(*size)) for size in sizes], "-o", out, code=0)
    for batch, n in [*sizes, (1, 7), (7, 1), (4, 23)]:
        x = np.random.default_rng(n).standard_normal((batch, n, WIDTH), dtype=np.float32)
        got, wanted = (session(model).run(None, {"x": x}) for model in (out, save(trace(batch, n), "wanted")))
        assert all(a.shape == b.shape and np.abs(a - b).max() < 1e-5 for a, b in zip(got, wanted, strict=True)), (batch, n)
    thaw("check", out, "--sizes", "x_dim0=1..64,x_dim1=1..4096", code=0)
