"""Writes ONNX graphs with the names and idioms of torch's TorchScript exporter.

A size is an int (a trace froze it) or the name of a scalar int64 value (the graph computes it). One network function
written over sizes gives both the static and the dynamic model:

    batch = b.size(x, 0, frozen)          # the int `frozen`, or Shape -> Gather where frozen is None
    y = b.reshape(x, [batch, -1, 16])     # a constant shape, or Unsqueeze, Unsqueeze, ... -> Concat -> Reshape
"""
from contextlib import contextmanager

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
END = np.iinfo(np.int64).max  # "to the end", as exporters write it in Slice


class Builder:
    def __init__(self, name, opset=17, ir_version=8, seed=0):
        self.name, self.opset, self.ir_version = name, opset, ir_version
        self.rng = np.random.default_rng(seed)
        self.nodes, self.initializers, self.inputs, self.outputs, self.value_info = [], [], [], [], []
        self._scopes, self._counts = [], {}

    @contextmanager
    def scope(self, name):
        self._scopes.append(name)
        yield
        self._scopes.pop()

    def new_name(self, op):
        """/scope/Op, /scope/Op_1, ..."""
        stem = "/" + "/".join([*self._scopes, op])
        count = self._counts.get(stem, 0)
        self._counts[stem] = count + 1
        return stem if count == 0 else f"{stem}_{count}"

    def output_name(self, node_name, index):
        return f"{node_name}_output_{index}"

    # ---- what the graph holds

    def input(self, name, dtype, dims):
        self.inputs.append(helper.make_tensor_value_info(name, dtype, dims))
        return name

    def output(self, value, name, dtype, dims):
        """Declares `value`, made by the newest node that makes it, as the output `name`."""
        for node in self.nodes:
            for names in (node.input, node.output):
                for i, old in enumerate(names):
                    if old == value:
                        names[i] = name
        self.outputs.append(helper.make_tensor_value_info(name, dtype, dims))

    def initializer(self, name, array):
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weight(self, name, *shape, fan=None):
        """Random float32 weights that keep activations near 1."""
        scale = 1.0 / np.sqrt(fan or np.prod(shape[1:]) or 1)
        return self.initializer(name, (self.rng.standard_normal(shape) * scale).astype(np.float32))

    def constant(self, value, dtype=None):
        """A Constant node: ints become int64, floats float32."""
        array = np.asarray(value, dtype=dtype)
        if dtype is None:
            array = array.astype({"i": np.int64, "u": np.int64, "f": np.float32, "b": np.bool_}[array.dtype.kind])
        node = self.new_name("Constant")
        out = self.output_name(node, 0)
        self.nodes.append(helper.make_node("Constant", [], [out], node, value=numpy_helper.from_array(array, "")))
        return out

    def op(self, op_type, *inputs, outputs=1, domain="", **attributes):
        """Adds a node; numbers, lists and arrays among the inputs become Constant nodes. Returns its output's name, or
        the list of names where `outputs` is not 1."""
        names = [x if isinstance(x, str) else "" if x is None else self.constant(x) for x in inputs]
        node = self.new_name(op_type)
        outs = [self.output_name(node, i) for i in range(outputs)]
        self.nodes.append(helper.make_node(op_type, names, outs, node, domain=domain, **attributes))
        return outs[0] if outputs == 1 else outs

    # ---- sizes

    def size(self, x, axis, frozen=None):
        if frozen is not None:
            return frozen
        return self.op("Gather", self.op("Shape", x), axis, axis=0)

    def arithmetic(self, op_type, a, b):
        """a op b over sizes (Mul, Add, Sub, Div, Mod); Div and Mod as of non-negative integers."""
        if isinstance(a, int) and isinstance(b, int):
            python = {"Mul": int.__mul__, "Add": int.__add__, "Sub": int.__sub__, "Div": int.__floordiv__, "Mod": int.__mod__}
            return python[op_type](a, b)
        return self.op(op_type, a, b)

    def shape(self, sizes):
        """A 1-D int64 value of sizes: a constant, or the exporter's Unsqueeze -> Concat chain."""
        if all(isinstance(s, int) for s in sizes):
            return self.constant(np.array(sizes, np.int64))
        parts = [self.op("Unsqueeze", s, [0]) if isinstance(s, str) else self.constant([s]) for s in sizes]
        return self.op("Concat", *parts, axis=0)

    def arange(self, size):
        return self.constant(np.arange(size)) if isinstance(size, int) else self.op("Range", 0, size, 1)

    # ---- idioms

    def reshape(self, x, sizes):
        allowzero = {"allowzero": 0} if self.opset >= 14 else {}
        return self.op("Reshape", x, self.shape(sizes), **allowzero)

    def expand(self, x, sizes):
        """torch's expand: -1 keeps a dim, so the exporter turns each -1 into a 1 with Equal and Where."""
        target = self.shape(sizes)
        ones = self.op("ConstantOfShape", [len(sizes)], value=numpy_helper.from_array(np.array([1], np.int64)))
        minus = self.op("Mul", ones, -1)
        return self.op("Expand", x, self.op("Where", self.op("Equal", target, minus), ones, target))

    def slice(self, x, start, end, axis):
        return self.op("Slice", x, [start], [end], [axis], [1])

    def linear(self, x, name, width_in, width_out, bias=True):
        """x @ W (+ b), W stored transposed as the exporter folds it."""
        y = self.op("MatMul", x, self.weight(f"{name}.weight", width_in, width_out, fan=width_in))
        return self.op("Add", self.weight(f"{name}.bias", width_out, fan=100), y) if bias else y

    def layer_norm(self, x, name, width):
        scale = self.initializer(f"{name}.weight", 1 + 0.1 * self.rng.standard_normal(width).astype(np.float32))
        bias = self.weight(f"{name}.bias", width, fan=100)
        return self.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=1e-5)

    def rms_norm(self, x, name, width):
        with self.scope(name.rsplit(".", 1)[-1]):
            x = self.op("Cast", x, to=FLOAT)
            mean = self.op("ReduceMean", self.op("Pow", x, 2.0), axes=[-1], keepdims=1)
            inverse = self.op("Div", 1.0, self.op("Sqrt", self.op("Add", mean, 1e-6)))
            y = self.op("Cast", self.op("Mul", x, inverse), to=FLOAT)
            scale = self.initializer(f"{name}.weight", 1 + 0.1 * self.rng.standard_normal(width).astype(np.float32))
            return self.op("Mul", scale, y)

    def gelu(self, x):
        erf = self.op("Erf", self.op("Div", x, np.sqrt(2.0)))
        return self.op("Mul", self.op("Mul", x, self.op("Add", erf, 1.0)), 0.5)

    def silu(self, x):
        return self.op("Mul", x, self.op("Sigmoid", x))

    def rotate_half(self, x, width):
        first, second = self.slice(x, 0, width // 2, 3), self.slice(x, width // 2, END, 3)
        return self.op("Concat", self.op("Neg", second), first, axis=-1)

    def model(self):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.initializers,
                                  value_info=self.value_info)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)],
                                 ir_version=self.ir_version, producer_name="pytorch", producer_version="2.0")
