"""Which constants of a trace were frozen: those that another trace of the same network has otherwise."""
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
    """Names, in a's order, of the constants of `a` that differ in `b`. Where the two have the same list of operators
    they are paired by place (exporters number names by the whole process), else by name."""
    ca, cb = constants(a), constants(b)
    if [n.op_type for n in a.graph.node] == [n.op_type for n in b.graph.node]:
        pairs = [(x.output[0], y.output[0]) for x, y in zip(a.graph.node, b.graph.node) if x.op_type == "Constant"]
        pairs += [(i.name, i.name) for i in a.graph.initializer]
    else:
        pairs = [(name, name) for name in ca]
    return [x for x, y in pairs if x in ca and y in cb and not same(ca[x], cb[y])]
