"""thaw batch on random graphs: chains of operators that move, join and reduce axes, some inputs differing, some shared.

A step takes a value and its shape and adds an operator that fits; what no other step reads is an output. The samples are
compared one by one. A seed that fails says all that is needed to see it again.
"""
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from batch_models_test import samples_agree

MOST_ELEMENTS = 3000


class Graph:
    def __init__(self, seed, opset):
        self.random, self.opset = np.random.default_rng(seed), opset
        self.nodes, self.constants, self.shapes = [], [], {}

    def name(self):
        return f"v{len(self.nodes)}_{len(self.constants)}"

    def constant(self, values):
        name = "c" + self.name()
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def floats(self, *shape):
        return self.constant(self.random.standard_normal(shape).astype(np.float32))

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def add(self, op, inputs, shape=None, **attributes):
        """A node; with a shape its output is a value for later steps."""
        name = self.name()
        self.nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        if shape is not None:
            self.shapes[name] = tuple(shape)
        return name

    def by_axes(self, op, x, axes, shape):
        """Axes are an attribute before opset 13."""
        if self.opset < 13:
            return self.add(op, [x], shape, axes=axes)
        return self.add(op, [x, self.ints(*axes)], shape)

    def one_of(self, values):
        values = list(values)
        return values[self.random.integers(len(values))]

    def like(self, fits):
        """A value whose shape fits."""
        return self.one_of(name for name, shape in self.shapes.items() if fits(shape))

    def flip(self, often=0.5):
        return self.random.random() < often

    def axis(self, rank):
        return int(self.random.integers(rank))

    def counted(self, axis, rank):
        """From the front or from the end."""
        return axis if self.flip() else axis - rank


def broadcast(*shapes):
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


def product(a, b):
    try:
        return np.matmul(np.zeros(a), np.zeros(b)).shape
    except ValueError:
        return None


def arithmetic(g, x, shape):
    y = g.like(lambda other: broadcast(shape, other))
    g.add(g.one_of(["Add", "Sub", "Mul"]), [x, y], broadcast(shape, g.shapes[y]))


def with_constant(g, x, shape):
    rank = int(g.random.integers(len(shape) + 2))
    near = [1] * rank if rank > len(shape) else shape[len(shape) - rank:]
    c = [g.one_of([1, d]) for d in near]
    operands = [x, g.floats(*c)]
    g.add("Add", operands if g.flip() else operands[::-1], broadcast(shape, tuple(c)))


def choose(g, x, shape):
    y = g.like(lambda other: broadcast(shape, other))
    positive = g.add("Greater", [x, g.constant(np.float32(0))])
    g.add("Where", [positive, y, x], broadcast(shape, g.shapes[y]))


def transpose(g, x, shape):
    order = g.random.permutation(len(shape)).tolist()
    g.add("Transpose", [x], [shape[a] for a in order], perm=order)


def reshape(g, x, shape):
    factors, left = [1] * g.random.integers(3), int(np.prod(shape))
    for prime in (2, 3, 5):
        if left % prime == 0 and g.flip(0.7):
            factors.append(prime)
            left //= prime
    factors.append(left)
    g.random.shuffle(factors)
    target = [0 if i < len(shape) and d == shape[i] and g.flip() else d for i, d in enumerate(factors)]
    if g.flip(0.6):
        target[g.axis(len(target))] = -1
    g.add("Reshape", [x, g.ints(*target)], factors)


def reshape_like(g, x, shape):
    y = g.like(lambda other: np.prod(other) == np.prod(shape))
    g.add("Reshape", [x, g.add("Shape", [y])], g.shapes[y])


def squeeze(g, x, shape):
    ones = [a for a, d in enumerate(shape) if d == 1 and g.flip(0.7)]
    if ones:
        g.by_axes("Squeeze", x, [g.counted(a, len(shape)) for a in ones], [d for a, d in enumerate(shape) if a not in ones])


def unsqueeze(g, x, shape):
    a = g.axis(len(shape) + 1)
    g.by_axes("Unsqueeze", x, [g.counted(a, len(shape) + 1)], [*shape[:a], 1, *shape[a:]])


def reduce(g, x, shape):
    axes, keep = [a for a in range(len(shape)) if g.flip(0.4)] or [0], int(g.flip())
    left = [1 if a in axes else d for a, d in enumerate(shape) if keep or a not in axes]
    if g.opset >= 18:
        g.add("ReduceMax", [x, g.ints(*axes)], left, keepdims=keep)
    else:
        g.add("ReduceMax", [x], left, axes=axes, keepdims=keep)


def along_an_axis(g, x, shape):
    a = g.axis(len(shape))
    if g.flip():
        g.add("Softmax", [x], shape, axis=g.counted(a, len(shape)))
    else:
        g.add("CumSum", [x, g.constant(np.array(g.counted(a, len(shape)), g.one_of([np.int32, np.int64])))], shape)


def concat(g, x, shape):
    a = g.axis(len(shape))
    y = g.like(lambda other: len(other) == len(shape) and all(d == e for i, (d, e) in enumerate(zip(shape, other)) if i != a))
    extra = [*shape[:a], 2, *shape[a + 1:]]
    g.add("Concat", [x, g.floats(*extra), y], [*shape[:a], shape[a] + 2 + g.shapes[y][a], *shape[a + 1:]], axis=g.counted(a, len(shape)))


def part(g, x, shape):
    a = g.axis(len(shape))
    begin = g.axis(shape[a])
    end = begin + 1 + g.axis(shape[a] - begin)
    g.add("Slice", [x, g.ints(begin), g.ints(end), g.ints(g.counted(a, len(shape)))], [*shape[:a], end - begin, *shape[a + 1:]])


def gather(g, x, shape):
    a, of = g.axis(len(shape)), g.one_of([(), (2,), (1, 3)])
    g.add("Gather", [x, g.constant(g.random.integers(0, shape[a], of))], [*shape[:a], *of, *shape[a + 1:]], axis=a)


def gather_by_value(g, x, shape):
    """Indices that each sample has of its own, into a table or into another value."""
    a = g.axis(len(shape))
    table = g.like(lambda other: any(d >= shape[a] for d in other))
    at = g.one_of(i for i, d in enumerate(g.shapes[table]) if d >= shape[a])
    left, into = [d for i, d in enumerate(shape) if i != a], g.shapes[table]
    result = [*into[:at], *left, *into[at + 1:]]
    if len(result) < 7:
        g.add("Gather", [table, g.add("ArgMax", [x], axis=a, keepdims=0)], result, axis=at)


def elements(g, x, shape):
    a = g.axis(len(shape))
    few = [*shape[:a], 1, *shape[a + 1:]]
    indices = g.constant(g.random.integers(0, shape[a], few))
    if g.flip():
        g.add("GatherElements", [x, indices], few, axis=a)
    else:
        g.add("ScatterElements", [x, indices, g.floats(*few)], shape, axis=a)


def rows(g, x, shape):
    k = 1 + g.axis(len(shape))
    index = np.array([[g.axis(shape[a]) for a in range(k)]])
    if g.flip():
        g.add("GatherND", [x, g.constant(index)], [1, *shape[k:]])
    else:
        g.add("ScatterND", [x, g.constant(index), g.floats(1, *shape[k:])], shape)


def matmul(g, x, shape):
    width = shape[-1]
    y = g.one_of([(width, 3), (width,), (1, width, 2), (2, 1, width, 3)])
    if product(shape, y) is not None:
        g.add("MatMul", [x, g.floats(*y)], product(shape, y))
    if product((5, shape[-2] if len(shape) > 1 else width), shape) is not None:
        z = (5, shape[-2] if len(shape) > 1 else width)
        g.add("MatMul", [g.floats(*z), x], product(z, shape))


def matmul_of_two(g, x, shape):
    fitting = [n for n, other in g.shapes.items() if other and product(shape, other) is not None]
    if fitting:
        y = g.one_of(fitting)
        g.add("MatMul", [x, y], product(shape, g.shapes[y]))


def gemm(g, x, shape):
    if len(shape) == 2:
        turned = int(g.flip())
        m, k = shape[::-1] if turned else shape
        g.add("Gemm", [x, g.floats(k, 4), g.floats(*g.one_of([(), (4,), (1, 4), (m, 4), (m, 1)]))], (m, 4), transA=turned, alpha=0.5, beta=2.0)


def repeat(g, x, shape):
    times = [g.one_of([1, 1, 2]) for _ in shape]
    if g.flip():
        g.add("Tile", [x, g.ints(*times)], [d * t for d, t in zip(shape, times)])
    else:
        target = [d * t if d == 1 else g.one_of([1, d]) for d, t in zip(shape, times)]
        g.add("Expand", [x, g.ints(*target)], broadcast(shape, tuple(target)))


def pad(g, x, shape):
    begins, ends = ([int(g.flip(0.3)) for _ in shape] for _ in range(2))
    g.add("Pad", [x, g.ints(*begins, *ends)], [b + d + e for b, d, e in zip(begins, shape, ends)])


def flatten(g, x, shape):
    a = g.axis(len(shape) + 1)
    g.add("Flatten", [x], [int(np.prod(shape[:a])), int(np.prod(shape[a:]))], axis=a)


def by_its_size(g, x, shape):
    g.add("Div", [x, g.add("Cast", [g.add("Size", [x])], to=1)], shape)


def convolve(g, x, shape):
    if len(shape) in (3, 4):
        g.add("Conv", [x, g.floats(2, shape[1], *[1] * (len(shape) - 2)), g.floats(2)], [shape[0], 2, *shape[2:]])


def normalize(g, x, shape):
    if g.opset < 17:
        return
    a = g.axis(len(shape))
    g.add("LayerNormalization", [x, g.floats(*shape[a:]), g.floats(*shape[a:])], shape, axis=g.counted(a, len(shape)))


STEPS = [arithmetic, with_constant, choose, transpose, reshape, reshape_like, squeeze, unsqueeze, reduce, along_an_axis, concat, part, gather,
         gather_by_value, elements, rows, matmul, matmul_of_two, gemm, repeat, pad, flatten, by_its_size, convolve, normalize]
OF_ANY_RANK = {arithmetic, with_constant, choose, reshape, reshape_like, unsqueeze, flatten, by_its_size}


def random_model(seed):
    g = Graph(seed, (11, 12, 17, 18, 20)[seed % 5])
    inputs = {f"x{i}": tuple(int(g.one_of([1, 1, 2, 3, 5])) for _ in range(1 + g.axis(4))) for i in range(1 + g.axis(3))}
    g.shapes.update(inputs)
    for _ in range(4 + g.axis(28)):
        x = g.like(lambda shape: np.prod(shape) <= MOST_ELEMENTS and len(shape) < 6)
        step = g.one_of(STEPS)
        if g.shapes[x] or step in OF_ANY_RANK:
            step(g, x, g.shapes[x])
    read = {name for node in g.nodes for name in node.input}
    outputs = [name for name in g.shapes if name not in read and name not in inputs]
    graph = helper.make_graph(g.nodes, "g", [helper.make_tensor_value_info(name, 1, shape) for name, shape in inputs.items()],
                              [onnx.ValueInfoProto(name=name) for name in outputs], g.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", g.opset)], ir_version=9), inputs, g


@pytest.mark.parametrize("first", range(0, 200, 25))
def test_random_graphs(thaw, save, tmp_path, first):
    for seed in range(first, first + 25):
        model, inputs, g = random_model(seed)
        if not model.graph.output:
            continue
        single, batched = save(model), tmp_path / "batched.onnx"
        differing = [name for name in inputs if g.flip(0.75)] or list(inputs)[:1]
        thaw("batch", single, "-o", batched, "--no-check", "--inputs", ",".join(differing), *(["--new-axis"] if g.flip(0.4) else []), code=0)
        draw = lambda names: {name: g.random.standard_normal(inputs[name]).astype(np.float32) for name in names}
        samples = [draw(differing) for _ in range(3)]
        worst = samples_agree(single, batched, samples, draw(name for name in inputs if name not in differing), relative=True)
        assert worst <= 1e-4, f"seed {seed}"
