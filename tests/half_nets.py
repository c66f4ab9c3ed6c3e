"""Random nets in float32, and what a converter that makes mistakes leaves of them in float16: operators that stay in float32 with a
Cast beside them, without, or to the wrong type; constants, scales of norms, filled tensors, bodies and declarations that were left out."""
import copy

import numpy as np
from onnx import AttributeProto, helper, numpy_helper
from onnx import TensorProto as T


class Net:
    def __init__(self, rng):
        self.rng, self.nodes, self.inits, self.count = rng, [], [], 0

    def new(self, prefix="v"):
        self.count += 1
        return f"{prefix}{self.count}"

    def constant(self, array):
        self.inits.append(numpy_helper.from_array(np.asarray(array), self.new("c")))
        return self.inits[-1].name

    def number(self, value):
        return self.constant(np.float32(value))

    def floats(self, *dims):
        return self.constant((self.rng.standard_normal(dims) * .3).astype(np.float32))

    def op(self, kind, *inputs, **attributes):
        made = self.new()
        self.nodes.append(helper.make_node(kind, list(inputs), [made], name=f"n{self.count}", **attributes))
        return made


def conv(g, h):
    return g.op("Relu", g.op("Conv", h, g.floats(4, 4, 3, 3), g.floats(4), pads=[1, 1, 1, 1]))


def resize(g, h):
    y = g.op("Resize", h, "", g.constant(np.array([1, 1, 2, 2], np.float32)), mode="nearest")
    return g.op("AveragePool", y, kernel_shape=[2, 2], strides=[2, 2])


def skip(g, h):
    other = g.op("Resize", h, "", g.constant(np.ones(4, np.float32)), mode="linear")
    return g.op("Conv", g.op("Concat", h, other, axis=1), g.floats(4, 8, 1, 1))


def norm(g, h):
    return g.op("LayerNormalization", h, g.floats(4), g.floats(4), axis=-1)


def power(g, h):
    return g.op("Div", g.op("Pow", h, g.number(2)), g.number(1.7))


def where(g, h):
    return g.op("Where", g.op("Less", g.op("Abs", h), g.number(1e4)), h, g.number(.25))


def filled(g, h):
    return g.op("Add", h, g.op("ConstantOfShape", g.op("Shape", h), value=numpy_helper.from_array(np.array([.5], np.float32))))


def ranged(g, h):
    return g.op("Add", h, g.op("Mul", g.op("Range", g.number(0), g.number(4), g.number(1)), g.number(.1)))


def attention(g, h):
    return g.op("MatMul", g.op("Softmax", g.op("MatMul", h, g.op("Transpose", h, perm=[0, 1, 3, 2])), axis=-1), h)


def autocast(g, h):
    y = g.op("Mul", g.op("Sigmoid", g.op("Cast", h, to=T.FLOAT)), g.number(1.1))
    return g.op("Add", h, g.op("Cast", y, to=T.FLOAT))


def branch(g, h):
    a, b, w = g.new("then"), g.new("else"), g.floats(4)
    returned = [helper.make_tensor_value_info(name, T.FLOAT, None) for name in (a, b)]
    then = helper.make_graph([helper.make_node("Mul", [h, w], [a], name=a + "_n")], "then", [], returned[:1])
    other = helper.make_graph([helper.make_node("Tanh", [h], [b], name=b + "_n")], "else", [], returned[1:])
    is_small = g.op("Less", g.op("ReduceMax", h, keepdims=0), g.number(1e4))
    return g.op("If", is_small, then_branch=then, else_branch=other)


def loop(g, h):
    k, w = g.new("loop"), g.floats(4)
    nodes = [helper.make_node("Identity", [k + "_go"], [k + "_on"], name=k + "_i"), helper.make_node("Add", [k + "_h", w], [k + "_s"], name=k + "_m"),
             helper.make_node("Tanh", [k + "_s"], [k + "_out"], name=k + "_t")]
    takes = [helper.make_tensor_value_info(k + "_n", T.INT64, []), helper.make_tensor_value_info(k + "_go", T.BOOL, []),
             helper.make_tensor_value_info(k + "_h", T.FLOAT, None)]
    gives = [helper.make_tensor_value_info(k + "_on", T.BOOL, []), helper.make_tensor_value_info(k + "_out", T.FLOAT, None)]
    return g.op("Loop", g.constant(np.array(3, np.int64)), g.constant(np.array(True)), h, body=helper.make_graph(nodes, "body", takes, gives))


PIECES = [conv, resize, skip, norm, power, where, filled, ranged, attention, autocast, branch, loop]
KEPT = ["Resize", "Range", "ConstantOfShape", "Pow", "LayerNormalization", "Softmax", "Cast", "If", "Loop", "Where"]
WITH_GRAPHS = ("If", "Loop")


def float32(seed):
    rng = np.random.default_rng(seed)
    g, h = Net(rng), "x"
    for k in rng.choice(len(PIECES), int(rng.integers(2, 6))):
        h = PIECES[k](g, h)
    y = g.op("Identity", h)
    graph = helper.make_graph(g.nodes, "net", [helper.make_tensor_value_info("x", T.FLOAT, ["n", 4, 6, 4])],
                              [helper.make_tensor_value_info(y, T.FLOAT, None)], g.inits)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def in_half(tensor):
    tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float16), tensor.name))


def graphs_of(graph):
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield attribute.g


def convert_attributes(graph, kept, rng):
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.name == "value" and attribute.t.data_type == T.FLOAT and "ConstantOfShape" not in kept:
                in_half(attribute.t)
            if attribute.name == "to" and "Cast" not in kept and rng.integers(2):
                attribute.i = T.FLOAT16
    for inner in graphs_of(graph):
        if rng.integers(2):
            for value in [*inner.input, *inner.output]:
                if value.type.tensor_type.elem_type == T.FLOAT:
                    value.type.tensor_type.elem_type = T.FLOAT16
        convert_attributes(inner, kept, rng)


def keep(node, rng):
    """The node in float32, with the Casts that were not forgotten."""
    before, after = [], []
    if node.op_type not in (*WITH_GRAPHS, "Where") and rng.integers(3):
        wide = f"{node.input[0]}_for_{node.name}"
        before.append(helper.make_node("Cast", [node.input[0]], [wide], to=T.FLOAT, name="cast_" + wide))
        node.input[0] = wide
    if node.op_type not in WITH_GRAPHS and rng.integers(3):
        made = node.output[0]
        node.output[0] = made + "_wide"
        after.append(helper.make_node("Cast", [made + "_wide"], [made], to=T.FLOAT16 if rng.integers(4) else T.FLOAT, name="cast_" + made))
    return [*before, node, *after]


def read_instead(graph, name, other):
    for node in graph.node:
        for k, taken in enumerate(node.input):
            if taken == name:
                node.input[k] = other
    for inner in graphs_of(graph):
        read_instead(inner, name, other)


def badly_converted(model, seed):
    rng = np.random.default_rng(seed + 9999)
    model = copy.deepcopy(model)
    graph = model.graph
    kept = set(rng.choice(KEPT, int(rng.integers(1, 4)), replace=False))
    scales = {node.input[2] for node in graph.node if node.op_type == "Resize"}
    stays = {name for node in graph.node if node.op_type in kept for name in node.input} if rng.integers(3) else set()
    for tensor in graph.initializer:
        if tensor.data_type == T.FLOAT and tensor.name not in scales | stays and rng.integers(12):
            in_half(tensor)
    convert_attributes(graph, kept, rng)
    cast = kept - {"Range", "ConstantOfShape", "Cast"}
    nodes = [part for node in graph.node for part in (keep(node, rng) if node.op_type in cast else [node])]
    del graph.node[:]
    graph.node.extend(nodes)
    inputs = int(rng.integers(3))
    if inputs == 0:
        graph.input[0].type.tensor_type.elem_type = T.FLOAT16
    elif inputs == 1:
        read_instead(graph, "x", "x_half")
        graph.node.insert(0, helper.make_node("Cast", ["x"], ["x_half"], to=T.FLOAT16, name="cast_x"))
    if rng.integers(2):
        graph.output[0].type.tensor_type.elem_type = T.FLOAT16
    return model
