"""An int8 feed-forward block whose value_info is stale: it was declared before the block was made, one size for all.

The hidden width is 3584 where value_info says 896. onnx's inference stops with "Inferred shape and existing shape differ
in dimension 2: (3584) vs (896)", and ONNX Runtime, which believes what is declared, refuses to load the model
("Incompatible dimensions for matrix multiplication"). The weights are right: without value_info it runs.
"""
import numpy as np
from onnx import TensorProto, helper

from .builder import FLOAT, Builder

WIDTH, HIDDEN = 896, 3584


def model(stale=True, width=WIDTH, hidden=HIDDEN):
    """`width` and `hidden` may be made smaller; their ratio is what matters."""
    b = Builder("quantized", seed=31)
    x = b.input("x", FLOAT, ["batch", "seq", width])
    with b.scope("mlp"):
        up = _quantized_linear(b, x, "fc1", width, hidden)
        middle = b.gelu(up)
        y = b.op("Add", x, _quantized_linear(b, middle, "fc2", hidden, width))
    b.output(y, "y", FLOAT, ["batch", "seq", width])
    if stale:
        for value in (up, middle):
            b.value_info.append(helper.make_tensor_value_info(value, FLOAT, ["batch", "seq", width]))
    return b.model()


def feeds(batch, seq, width=WIDTH, seed=0):
    return {"x": np.random.default_rng(seed).standard_normal((batch, seq, width), dtype=np.float32)}


def _quantized_linear(b, x, name, width_in, width_out):
    """DynamicQuantizeLinear -> MatMulInteger -> scale and bias, as onnxruntime's dynamic quantization writes it."""
    weight = b.rng.integers(-127, 128, (width_in, width_out)).astype(np.int8)
    scale = np.float32(1 / (73 * np.sqrt(width_in)))
    with b.scope(name):
        values, x_scale, x_zero = b.op("DynamicQuantizeLinear", x, outputs=3)
        w = b.initializer(f"{name}.weight_quantized", weight)
        zero = b.initializer(f"{name}.weight_zero_point", np.int8(0))
        product = b.op("MatMulInteger", values, w, x_zero, zero)
        factor = b.op("Mul", x_scale, b.initializer(f"{name}.weight_scale", scale))
        y = b.op("Mul", b.op("Cast", product, to=TensorProto.FLOAT), factor)
        return b.op("Add", y, b.weight(f"{name}.bias", width_out, fan=100))
