"""Networks as exporters write them, node by node, for the tests of lifting."""
import numpy as np
from onnx import helper, numpy_helper


class Net:
    """A graph that is written node by node; integers are initializers, wherever they are read."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, array):
        self.constants.append(numpy_helper.from_array(np.asarray(array, order="C"), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def add(self, op, *inputs, **attributes):
        self.nodes.append(helper.make_node(op, list(inputs), [f"v{len(self.nodes)}"], name=f"n{len(self.nodes)}", **attributes))
        return self.nodes[-1].output[0]
