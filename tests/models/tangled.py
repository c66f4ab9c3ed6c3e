"""Graphs in which nodes read many values from everywhere, in no order: what a tool keeps of them has an order only if it gives it one."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH = 8


def model(seed=0, nodes=160, inputs=16, batch="n"):
    """Of inputs x0, x1, … [batch, 8]: sums of many values, products, norms, heads, branches that read values from outside, weights in
    several places and equal ones under several names."""
    return _Tangle(seed, batch).model(nodes, inputs)


class _Tangle:
    def __init__(self, seed, batch):
        self.rng, self.batch = np.random.default_rng(seed), batch
        self.nodes, self.weights, self.values = [], {}, []

    def weight(self, array, name=None):
        name = name or f"w{len(self.weights)}"
        self.weights[name] = np.asarray(array)
        return name

    def add(self, op, inputs, **attributes):
        output = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [output], name=f"n{len(self.nodes)}", **attributes))
        return output

    def some(self, count):
        return [str(name) for name in self.rng.choice(self.values, min(count, len(self.values)), replace=False)]

    def square(self):
        """A weight [8, 8], often one that is there."""
        known = [name for name, array in self.weights.items() if array.shape == (WIDTH, WIDTH)]
        if known and self.rng.random() < 0.4:
            name = str(self.rng.choice(known))
            return name if self.rng.random() < 0.5 else self.weight(self.weights[name])
        return self.weight(self.rng.standard_normal((WIDTH, WIDTH)).astype(np.float32) / 3)

    def branch(self, name, captured):
        body = [helper.make_node("Sum", captured, [f"{name}_sum"], name=f"{name}/Sum"),
                helper.make_node("Tanh", [f"{name}_sum"], [f"{name}_out"], name=f"{name}/Tanh")]
        return helper.make_graph(body, name, [], [helper.make_tensor_value_info(f"{name}_out", TensorProto.FLOAT, [self.batch, WIDTH])])

    def step(self):
        kind, name = int(self.rng.integers(9)), f"b{len(self.nodes)}"
        if kind == 0:
            return self.add("Tanh", [self.add("Sum", self.some(int(self.rng.integers(2, 12))))])
        if kind == 1:
            parts = self.some(3)
            rows = self.weight(self.rng.standard_normal((WIDTH * len(parts), WIDTH)).astype(np.float32) / 4)
            return self.add("MatMul", [self.add("Concat", parts, axis=1), rows])
        if kind == 2:
            return self.add("Add", [self.add("MatMul", [*self.some(1), self.square()]), self.weight(self.rng.standard_normal(WIDTH).astype(np.float32))])
        if kind == 3:
            a, b = self.some(2)
            return self.add("Where", [self.add("Less", [a, b]), b, a])
        if kind == 4:
            ones, zeros = self.weight(np.ones(WIDTH, np.float32)), self.weight(np.zeros(WIDTH, np.float32))
            return self.add("LayerNormalization", [*self.some(1), ones, zeros], axis=-1)
        if kind == 5:
            heads = self.add("Reshape", [*self.some(1), self.weight(np.array([0, 2, 4]))])
            turned = self.add("Transpose", [self.add("Softmax", [heads], axis=-1)], perm=[0, 2, 1])
            return self.add("Reshape", [turned, self.weight(np.array([0, WIDTH]))])
        if kind == 6:
            flag = self.add("Greater", [self.add("ReduceSum", self.some(1), keepdims=0), self.weight(np.float32(0))])
            return self.add("If", [flag], then_branch=self.branch(f"{name}_then", self.some(6)), else_branch=self.branch(f"{name}_else", self.some(4)))
        if kind == 7:
            size = self.add("Shape", self.some(1))
            return self.add("Reshape", [*self.some(1), size])
        return self.add("Mul", [self.add("Sigmoid", self.some(1)), *self.some(1)])

    def model(self, nodes, inputs):
        self.values = [f"x{i}" for i in range(inputs)]
        while len(self.nodes) < nodes:
            self.values.append(self.step())
        outputs = []
        for i in range(4):
            result = self.some(9)
            self.nodes.append(helper.make_node("Sum", result, [f"y{i}"], name=f"y{i}/Sum"))
            outputs.append(f"y{i}")
        info = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, [self.batch, WIDTH]) for name in names]
                for names in ([f"x{i}" for i in range(inputs)], outputs)]
        graph = helper.make_graph(self.nodes, "tangled", *info, [numpy_helper.from_array(array, name) for name, array in self.weights.items()])
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(made)
        return made
