"""Which constants of a trace were frozen: those that another trace of the same network has otherwise."""
from difflib import SequenceMatcher

import numpy as np
from onnx import AttributeProto, numpy_helper


def constants(model):
    """Name -> array of every initializer and Constant node of the main graph."""
    found = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type != "Constant":
            continue
        for attribute in node.attribute:
            if attribute.type == AttributeProto.TENSOR:
                found[node.output[0]] = numpy_helper.to_array(attribute.t)
    return found


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b)


def frozen(a, b):
    """Names, in a's order, of the constants of `a` that are otherwise in `b`. Initializers are paired by name, Constant
    nodes by place: exporters number them through the process, and unroll a loop as often as the size asks."""
    ca, cb = constants(a), constants(b)
    pairs = [(i.name, i.name) for i in a.graph.initializer]
    blocks = SequenceMatcher(None, _keys(a), _keys(b), autojunk=False).get_matching_blocks()
    for block in blocks:
        for x, y in zip(a.graph.node[block.a : block.a + block.size], b.graph.node[block.b : block.b + block.size]):
            if x.op_type == "Constant":
                pairs.append((x.output[0], y.output[0]))
    return [x for x, y in pairs if x in ca and y in cb and not same(ca[x], cb[y])]


def _keys(model):
    """What two traces' nodes are told apart by: operator and scope; for a constant its type, rank and first reader."""
    readers = {}
    for node in model.graph.node:
        for i, name in enumerate(node.input):
            readers.setdefault(name, (node.op_type, i))
    arrays = constants(model)
    keys = []
    for node in model.graph.node:
        scope = node.name.rpartition("/")[0]
        array = arrays.get(node.output[0]) if node.op_type == "Constant" else None
        if array is None:
            keys.append((node.op_type, scope))
        else:
            keys.append(("Constant", scope, str(array.dtype), array.ndim, readers.get(node.output[0])))
    return keys
