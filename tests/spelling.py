"""Small models written as arithmetic, for tests of what `thaw optimize` fuses: one node a call, in the order of the calls.

    g = Graph(17)
    x = g.input("x", "b", "s", 16)
    g.output(0.5 * x * (1 + g.Erf(x / 2**0.5)))

Operators on values are nodes (`x / y` is Div); numbers beside them are constants of x's type, in turn an initializer without axes, a Constant
node, and an initializer of one axis, as exporters have them.
"""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {"f": TensorProto.FLOAT, "h": TensorProto.FLOAT16, "b": TensorProto.BOOL, "i": TensorProto.INT64}
AXES_OPERAND_FROM = {"ReduceSum": 13, "Squeeze": 13, "Unsqueeze": 13}  # the other reductions: from 18 on


class Value:
    def __init__(self, graph, name):
        self.graph, self.name = graph, name

    def _with(op, swapped=False):
        def apply(self, other):
            other = self.graph.value(other, self)
            return self.graph.node(op, [other, self] if swapped else [self, other])
        return apply

    __add__, __radd__ = _with("Add"), _with("Add", True)
    __sub__, __rsub__ = _with("Sub"), _with("Sub", True)
    __mul__, __rmul__ = _with("Mul"), _with("Mul", True)
    __truediv__, __rtruediv__ = _with("Div"), _with("Div", True)
    __pow__, __matmul__ = _with("Pow"), _with("MatMul")

    def __neg__(self):
        return self.graph.node("Neg", [self])


class Graph:
    def __init__(self, opset, seed=3):
        self.opset, self.rng, self.half = opset, np.random.default_rng(seed), False
        self.nodes, self.inputs, self.outputs, self.initializers, self.domains = [], [], [], [], set()
        self.constants = 0

    def __getattr__(self, op):
        """g.Erf(x), g.Softmax(x, axis=-1): attributes by name; None for an operand that is left out."""
        if not op[0].isupper():
            raise AttributeError(op)
        return lambda *operands, **attributes: self.node(op, operands, **attributes)

    def node(self, op, operands, outputs=1, domain="", **attributes):
        first = next((v for v in operands if isinstance(v, Value)), None)
        names = [f"{op.lower()}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, [self.value(v, first).name if v is not None else "" for v in operands], names, domain=domain, **attributes))
        self.domains.add(domain)
        made = [Value(self, name) for name in names]
        return made[0] if outputs == 1 else made

    def input(self, name, *shape, kind=None):
        kind = kind or ("h" if self.half else "f")
        self.inputs.append(helper.make_tensor_value_info(name, TYPES[kind], list(shape)))
        return Value(self, name)

    def output(self, *values):
        self.outputs += values

    def value(self, value, _like=None):
        if isinstance(value, Value):
            return value
        if isinstance(value, (list, np.ndarray)):
            return self.constant(np.asarray(value))
        self.constants += 1
        dtype = np.float16 if self.half else np.float32
        return self.constant(np.array([value] if self.constants % 3 == 0 else value, dtype), as_node=self.constants % 3 == 2)

    def constant(self, array, as_node=False):
        array = array.astype(np.int64) if array.dtype.kind in "iu" and array.dtype.itemsize > 1 else array
        if as_node:
            return self.node("Constant", [], value=numpy_helper.from_array(array))
        name = f"constant_{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(array, name))
        return Value(self, name)

    def weight(self, *shape, positive=False, half=None):
        array = self.rng.standard_normal(shape) / max(1, shape[0] if len(shape) > 1 else 1) ** 0.5
        array = np.abs(array) + 0.5 if positive else array
        return self.constant(array.astype(np.float16 if (self.half if half is None else half) else np.float32))

    def cast(self, x, kind):
        return self.Cast(x, to=TYPES[kind])

    def reduced(self, op, x, axes=(-1,), keepdims=1):
        """The axes as the opset has them: an attribute or an operand."""
        keep = {} if keepdims == 1 and "queeze" not in op and len(self.nodes) % 2 else {"keepdims": keepdims} if "queeze" not in op else {}
        if self.opset >= AXES_OPERAND_FROM.get(op, 18):
            return self.node(op, [x, list(axes)], **keep)
        return self.node(op, [x], axes=list(axes), **keep)

    def mean(self, x, axes=(-1,)):
        return self.reduced("ReduceMean", x, axes)

    def reshape(self, x, *shape):
        return self.Reshape(x, list(shape))

    def transpose(self, x, *perm):
        return self.Transpose(x, perm=perm)

    def slice(self, x, start, end, axis=-1, step=None):
        return self.node("Slice", [x, [start], [end], [axis]] + ([[step]] if step else []))

    def split(self, x, sizes, axis=-1):
        if self.opset >= 13:
            return self.node("Split", [x, list(sizes)], outputs=len(sizes), axis=axis)
        return self.node("Split", [x], outputs=len(sizes), axis=axis, split=list(sizes))

    def model(self):
        results = [helper.make_tensor_value_info(v.name, TensorProto.UNDEFINED, None) for v in self.outputs]
        graph = helper.make_graph(self.nodes, "spelling", self.inputs, results, self.initializers)
        opsets = [helper.make_opsetid("", self.opset)] + [helper.make_opsetid(d, 1) for d in sorted(self.domains - {""})]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        inferred = onnx.shape_inference.infer_shapes(model)
        for declared, known in zip(model.graph.output, inferred.graph.output, strict=True):
            declared.type.tensor_type.elem_type = known.type.tensor_type.elem_type or TensorProto.FLOAT
        return model
