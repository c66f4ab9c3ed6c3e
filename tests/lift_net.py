"""Networks as exporters write them, node by node, for the tests of lifting."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper


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

    def model(self, dims, result, opset=18):
        self.nodes.append(helper.make_node("Identity", [result], ["y"]))
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9, producer_name="pytorch")
