"""A decoder with names as torch's exporter writes them: /model/layers.3/self_attn/q_proj/MatMul, about 50 nodes a layer, weights that
nobody runs."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
HIDDEN, HEADS, INNER, VOCABULARY = 32, 4, 64, 96


class Exporter:
    def __init__(self, seed=0):
        self.nodes, self.weights, self.counts, self.random = [], [], {}, np.random.default_rng(seed)

    def op(self, module, op_type, *inputs, outputs=1, **attributes):
        """A node in a module, called after its operator; the names of what it makes."""
        path = f"{module}/{op_type}"
        count = self.counts[path] = self.counts.get(path, -1) + 1
        name = path if count == 0 else f"{path}_{count}"
        made = [f"{name}_output_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op_type, list(inputs), made, name=name, **attributes))
        return made[0] if outputs == 1 else made

    def weight(self, name, *dims):
        self.weights.append(numpy_helper.from_array((self.random.standard_normal(dims) / 8).astype(np.float32), name))
        return name

    def integers(self, module, values):
        return self.op(module, "Constant", value=numpy_helper.from_array(np.array(values, np.int64)))

    def number(self, module, value):
        return self.op(module, "Constant", value=numpy_helper.from_array(np.array(value, np.float32)))

    def linear(self, module, x, columns_in, columns_out):
        return self.op(module, "MatMul", x, self.weight(module.strip("/").replace("/", ".") + ".weight", columns_in, columns_out))

    def norm(self, module, x):
        square = self.op(module, "Pow", x, self.number(module, 2.0))
        mean = self.op(module, "ReduceMean", square, axes=[-1])
        root = self.op(module, "Sqrt", self.op(module, "Add", mean, self.number(module, 1e-6)))
        scaled = self.op(module, "Div", x, root)
        return self.op(module, "Mul", scaled, self.weight(module.strip("/").replace("/", ".") + ".weight", HIDDEN))

    def heads(self, module, x, shape):
        return self.op(module, "Transpose", self.op(module, "Reshape", x, shape), perm=[0, 2, 1, 3])

    def attention(self, module, x, mask):
        size = self.op(module, "Shape", x)
        parts = [self.op(module, "Unsqueeze", self.op(module, "Gather", size, self.integers(module, i)), self.integers(module, [0])) for i in (0, 1)]
        shape = self.op(module, "Concat", *parts, self.integers(module, [HEADS]), self.integers(module, [HIDDEN // HEADS]), axis=0)
        q, k, v = (self.heads(module, self.linear(f"{module}/{part}_proj", x, HIDDEN, HIDDEN), shape) for part in "qkv")
        scores = self.op(module, "MatMul", q, self.op(module, "Transpose", k, perm=[0, 1, 3, 2]))
        scores = self.op(module, "Add", self.op(module, "Div", scores, self.number(module, 8.0)), mask)
        context = self.op(module, "MatMul", self.op(module, "Softmax", scores, axis=-1), v)
        context = self.op(module, "Transpose", context, perm=[0, 2, 1, 3])
        flat = self.op(module, "Concat", *parts, self.integers(module, [HIDDEN]), axis=0)
        return self.linear(f"{module}/o_proj", self.op(module, "Reshape", context, flat), HIDDEN, HIDDEN)

    def mlp(self, module, x):
        gate = self.linear(f"{module}/gate_proj", x, HIDDEN, INNER)
        active = self.op(f"{module}/act_fn", "Mul", gate, self.op(f"{module}/act_fn", "Sigmoid", gate))
        return self.linear(f"{module}/down_proj", self.op(module, "Mul", active, self.linear(f"{module}/up_proj", x, HIDDEN, INNER)), INNER, HIDDEN)


def decoder(layers=2, rename=lambda name: name):
    e = Exporter()
    x = e.op("/model/embed_tokens", "Gather", e.weight("model.embed_tokens.weight", VOCABULARY, HIDDEN), "input_ids")
    wide = e.op("/model", "Unsqueeze", e.op("/model", "Cast", "attention_mask", to=FLOAT), e.integers("/model", [1, 2]))
    mask = e.op("/model", "Mul", e.op("/model", "Sub", e.number("/model", 1.0), wide), e.number("/model", -1e4))
    for i in range(layers):
        module = f"/model/layers.{i}"
        x = e.op(module, "Add", x, e.attention(f"{module}/self_attn", e.norm(f"{module}/input_layernorm", x), mask))
        x = e.op(module, "Add", x, e.mlp(f"{module}/mlp", e.norm(f"{module}/post_attention_layernorm", x)))
    e.nodes.append(helper.make_node("MatMul", [e.norm("/model/norm", x), e.weight("lm_head.weight", HIDDEN, VOCABULARY)], ["logits"],
                                    name="/lm_head/MatMul"))
    for node in e.nodes:
        node.name = rename(node.name)
    info = helper.make_tensor_value_info
    graph = helper.make_graph(e.nodes, "main_graph", [info("input_ids", INT64, ["batch", "tokens"]), info("attention_mask", INT64, ["batch", "tokens"])],
                              [info("logits", FLOAT, ["batch", "tokens", VOCABULARY])], e.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="pytorch", producer_version="2.1.0")
