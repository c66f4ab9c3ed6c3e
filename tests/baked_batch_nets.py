"""Random small graphs in which a number of samples stands as a number: in repeats, targets, sizes, and tables that repeat their rows.

`build(spec, n)` writes the graph of a spec at n samples, so that the same spec at another n is what a mended model is held against.
"""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

F = TensorProto.FLOAT
COUNTS = (2, 3, 5, 8)


class Graph:
    def __init__(self, spec, n, is_free):
        self.n, self.S, self.C, self.H, self.way = n, spec["S"], spec["C"], spec["H"], spec["way"]
        self.as_nodes, self.nodes, self.inits, self.count = spec["as_nodes"], [], [], 0
        self.rng = np.random.default_rng(spec["seed"])
        self.inputs = [helper.make_tensor_value_info("x", F, ["batch" if is_free else n, self.S, self.C])]

    def new(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"

    def constant(self, array):
        array, name = np.asarray(array), self.new("c")
        if self.as_nodes and array.size < 32:
            self.nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array, name + "v")))
        else:
            self.inits.append(numpy_helper.from_array(array, name))
        return name

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def drawn(self, *shape):
        return self.rng.standard_normal(shape).astype(np.float32) * np.float32(0.5)

    def floats(self, *shape):
        return self.constant(self.drawn(*shape))

    def for_each(self, array, axis=0):
        """The array once for each sample, as a constant that was folded."""
        return self.constant(np.concatenate([array] * self.n, axis))

    def op(self, kind, *inputs, outputs=1, **attributes):
        made = [self.new("v") for _ in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), made, name=f"n{self.count}", **attributes))
        return made[-1]

    def attend(self, query, h):
        return self.op("MatMul", self.op("Softmax", self.op("MatMul", query, self.op("Transpose", h, perm=[0, 2, 1])), axis=-1), h)


def tiled_query(g, h):
    return g.attend(g.op("MatMul", g.op("Tile", g.floats(1, g.S, g.C), g.ints(g.n, 1, 1)), g.floats(g.C, g.C)), h)


def expanded_grid(g, h):
    return g.op("Mul", h, g.op("Expand", g.floats(1, g.S, g.C), g.ints(g.n, g.S, g.C)))


def class_token(g, h):
    token = g.op("Expand", g.floats(1, 1, g.C), g.ints(g.n, 1, g.C)) if g.way % 2 else g.for_each(g.drawn(1, 1, g.C))
    return g.op("Slice", g.op("Tanh", g.op("Concat", token, h, axis=1)), g.ints(1), g.ints(g.S + 1), g.ints(1))


def flat(g, h):
    y = g.op("MatMul", g.op("Reshape", h, g.ints(g.n, g.S * g.C if g.way % 2 else -1)), g.floats(g.S * g.C, g.S * g.C))
    return g.op("Reshape", y, g.ints(g.n, g.S, g.C))


def heads(g, h):
    depth = 2

    def split(t):
        t = g.op("Transpose", g.op("Reshape", t, g.ints(g.n, g.S, g.H, depth)), perm=[0, 2, 1, 3])
        return g.op("Reshape", t, g.ints(g.n * g.H, g.S if g.way % 2 else -1, depth))
    q, k, v = (split(g.op("MatMul", h, g.floats(g.C, g.H * depth))) for _ in range(3))
    if g.way % 3 == 0:
        q = g.op("Add", q, g.for_each(g.drawn(g.H, 1, depth)))  # a bias of each head
    a = g.op("MatMul", q, g.op("Transpose", k, perm=[0, 2, 1]))
    if g.way % 3 == 1:
        a = g.op("Add", a, g.constant(np.tile(np.triu(np.full((1, g.S, g.S), -9, np.float32), 1), (g.n * g.H, 1, 1))))
    a = g.op("Reshape", g.op("MatMul", g.op("Softmax", a, axis=-1), v), g.ints(g.n, g.H, g.S, depth))
    a = g.op("Reshape", g.op("Transpose", a, perm=[0, 2, 1, 3]), g.ints(g.n, g.S, g.H * depth))
    return g.op("Add", h, g.op("MatMul", a, g.floats(g.H * depth, g.C)))


def tiled_heads(g, h):
    """A query that is repeated for each sample and then cut into heads, before any sample has reached it."""
    depth = 2

    def split(t, length):
        t = g.op("Transpose", g.op("Reshape", t, g.ints(g.n, length, g.H, depth)), perm=[0, 2, 1, 3])
        return g.op("Reshape", t, g.ints(g.n * g.H, -1, depth))
    q = split(g.op("MatMul", g.op("Tile", g.floats(1, g.S, g.C), g.ints(g.n, 1, 1)), g.floats(g.C, g.H * depth)), -1)
    a = g.attend(q, split(g.op("MatMul", h, g.floats(g.C, g.H * depth)), g.S))
    a = g.op("Transpose", g.op("Reshape", a, g.ints(g.n, g.H, g.S, depth)), perm=[0, 2, 1, 3])
    return g.op("MatMul", g.op("Reshape", a, g.ints(g.n, g.S, g.H * depth)), g.floats(g.H * depth, g.C))


def filled(g, h):
    z = g.op("ConstantOfShape", g.ints(g.n, g.S, g.C), value=numpy_helper.from_array(np.array([0.5], np.float32)))
    return g.op("Add", h, z) if g.way % 2 else g.op("Slice", g.op("Concat", z, h, axis=1), g.ints(g.S), g.ints(2 * g.S), g.ints(1))


def table(g, h):
    return g.op("Add", h, g.for_each(g.drawn(1, g.S, g.C) if g.way % 2 else np.zeros((1, g.S, g.C), np.float32)))


def scale(g, h):
    t = g.for_each(g.drawn(1, g.C))
    return g.op("Mul", h, g.op("Reshape", t, g.ints(g.n, 1, g.C)) if g.way % 2 else g.op("Unsqueeze", t, g.ints(1)))


def looked_up(g, h):
    return g.op("Add", h, g.op("Gather", g.floats(7, g.C), g.for_each(g.rng.integers(0, 7, (1, g.S)))))


def query_table(g, h):
    return g.attend(g.op("MatMul", g.for_each(g.drawn(1, g.S, g.C)), g.floats(g.C, g.C)), h)


def best_rows(g, h):
    found = g.op("TopK", g.op("ReduceMax", h, axes=[2], keepdims=0), g.ints(g.S), outputs=2, axis=1)
    at = g.op("Unsqueeze", found, g.ints(2))
    at = g.op("Expand", at, g.ints(g.n, g.S, g.C)) if g.way % 2 else g.op("Tile", at, g.ints(1, 1, g.C))
    rows = h if g.way % 3 else g.op("Expand", g.floats(1, g.S, g.C), g.ints(g.n, g.S, g.C))
    return g.op("Add", h, g.op("GatherElements", rows, at, axis=1))


def joined_target(g, h):
    sizes = g.op("Shape", h)
    target = g.op("Concat", g.ints(g.n), g.op("Gather", sizes, g.ints(2)), g.ints(-1), axis=0)
    y = g.op("Reshape", g.op("Transpose", h, perm=[0, 2, 1]), target)
    target = g.op("Concat", g.ints(g.n), g.op("Slice", sizes, g.ints(1), g.ints(3), g.ints(0)), axis=0)
    return g.op("Sub", g.op("Transpose", g.op("Tanh", y), perm=[0, 2, 1]), g.op("Expand", g.floats(1, 1, g.C), target))


def resized(g, h):
    y = g.op("Resize", g.op("Unsqueeze", h, g.ints(1)), "", "", g.ints(g.n, 1, 2 * g.S, g.C), mode="nearest")
    return g.op("Slice", g.op("Reshape", y, g.ints(g.n, 2 * g.S, g.C)), g.ints(0), g.ints(g.S), g.ints(1))


def recurrent(g, h):
    first = np.zeros((1, 1, g.C), np.float32)
    first = g.for_each(first, axis=1) if g.way % 2 else g.op("Expand", g.constant(first), g.ints(1, g.n, g.C))
    y = g.op("GRU", g.op("Transpose", h, perm=[1, 0, 2]), g.floats(1, 3 * g.C, g.C), g.floats(1, 3 * g.C, g.C), "", "", first,
             hidden_size=g.C)
    return g.op("Transpose", g.op("Squeeze", y, g.ints(1)), perm=[1, 0, 2])


def rows(g, h):
    y = g.op("Gemm", g.op("Reshape", h, g.ints(g.n * g.S, g.C)), g.floats(g.C, g.C), g.floats(g.C))
    y = g.op("Add", y, g.op("Tile", g.floats(g.S, g.C), g.ints(g.n, 1)))
    return g.op("Reshape", y, g.ints(g.n, g.S, g.C))


def rows_that_differ(g, h):
    return g.op("Add", h, g.constant(np.arange(g.n, dtype=np.float32)[:, None, None] * np.ones((1, g.S, g.C), np.float32)))


def numbered(g, h):
    """x[arange(n), order]: coordinates that name each sample."""
    at = np.stack(np.broadcast_arrays(np.arange(g.n)[:, None], np.arange(g.S)[::-1]), -1)
    return g.op("GatherND", h, g.constant(at.astype(np.int64)))


MENDED = [tiled_query, expanded_grid, class_token, flat, heads, tiled_heads, filled, table, scale, looked_up, query_table, best_rows, joined_target,
          resized, recurrent, rows]
PIECES = {piece.__name__: piece for piece in [*MENDED, rows_that_differ, numbered]}


def draw(seed, pieces=None):
    """Axes that are as long as there are samples, now and then, by chance. Of coordinates alone, nothing but a name tells what they are."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice(COUNTS))
    pieces = pieces or [list(PIECES)[k] for k in rng.choice(len(PIECES), int(rng.integers(1, 4)))]
    return {"seed": seed, "n": n, "S": int(rng.choice([n, 4, 6, 7])), "C": int(rng.choice([n, 4, 5, 9])), "H": int(rng.choice([n, 2, 3])),
            "way": int(rng.integers(0, 12)), "as_nodes": bool(rng.integers(2)), "free": bool(rng.integers(3)),
            "named": bool(rng.integers(2)) or "numbered" in pieces, "pieces": pieces}


def build(spec, n, is_reference=False):
    g = Graph(spec, n, spec["free"] and not is_reference)
    h = g.op("MatMul", "x", g.floats(g.C, g.C))
    for piece in spec["pieces"]:
        h = PIECES[piece](g, h)
    y = g.op("Identity", h)
    first = "batch" if spec["named"] and not is_reference else n
    graph = helper.make_graph(g.nodes, "baked", g.inputs, [helper.make_tensor_value_info(y, F, [first, None, None])], g.inits)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
