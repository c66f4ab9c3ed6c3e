"""Convolutions and products with what stands around them, as exporters write them."""
import ml_dtypes
import numpy as np

from spellings import near_miss, spelling

CONV = {"left": "Conv", "portable": (18,)}
FUSED_CONV = {"left": "FusedConv"}


def image(g, channels=4):
    return g.input("x", "b", channels, "h", "w")


def conv(g, x, out=6, inner=4, bias=False, **attributes):
    return g.Conv(x, g.weight(out, inner, 3, 3), *([g.weight(out)] if bias else []), pads=[1, 1, 1, 1], **attributes)


def batch_norm(g, x, channels=6):
    return g.BatchNormalization(x, g.weight(channels), g.weight(channels), g.weight(channels), g.weight(channels, positive=True))


@spelling(**CONV)
def conv_and_batch_norm(g):
    return batch_norm(g, conv(g, image(g)))


@spelling(**CONV)
def conv_with_bias_and_batch_norm(g):
    return batch_norm(g, conv(g, image(g), bias=True))


@spelling(**CONV)
def conv_by_depth_and_batch_norm(g):
    return batch_norm(g, conv(g, image(g, 6), inner=1, group=6))


@spelling(**CONV)
def conv_of_one_axis_and_batch_norm(g):
    x = g.input("x", "b", 4, "t")
    return batch_norm(g, g.Conv(x, g.weight(6, 4, 3)))


@spelling(**CONV)
def conv_and_frozen_batch_norm(g):
    """Detectron's: scale and shift are constants that are computed."""
    x = conv(g, image(g))
    scale = g.weight(1, 6, 1, 1) * g.Reciprocal(g.Sqrt(g.weight(1, 6, 1, 1, positive=True) + 1e-5))
    return x * scale + (g.weight(1, 6, 1, 1) - g.weight(1, 6, 1, 1) * scale)


@spelling(**CONV)
def conv_and_batch_norm_by_hand(g):
    x = conv(g, image(g))
    n = (x - g.weight(6, 1, 1)) / g.Sqrt(g.weight(6, 1, 1, positive=True) + 1e-5)
    return n * g.weight(6, 1, 1) + g.weight(6, 1, 1)


@spelling(**CONV)
def conv_and_layer_scale(g):
    return g.weight(6, 1, 1) * conv(g, image(g), bias=True)


@spelling(**CONV)
def conv_and_bias(g):
    return conv(g, image(g)) + g.weight(1, 6, 1, 1)


@spelling(**CONV)
def pad_and_conv(g):
    x = g.Pad(image(g), [0, 0, 1, 2, 0, 0, 1, 0], 0.0, mode="constant")
    return g.Conv(x, g.weight(6, 4, 3, 3))


@spelling(**CONV)
def pad_conv_and_batch_norm_of_tf(g):
    x = g.Pad(image(g), [0, 0, 0, 0, 0, 0, 1, 1])
    return batch_norm(g, g.Conv(x, g.weight(6, 4, 3, 3), strides=[2, 2], auto_pad="VALID"))


@spelling("ConvTranspose", portable=(18,))
def conv_transpose_and_batch_norm(g):
    return batch_norm(g, g.ConvTranspose(image(g), g.weight(4, 6, 2, 2), strides=[2, 2]))


@spelling("ConvTranspose", portable=(18,))
def conv_transpose_bias_and_batch_norm(g):
    return batch_norm(g, g.ConvTranspose(image(g), g.weight(4, 6, 2, 2), g.weight(6), strides=[2, 2]))


@spelling("Gemm", portable=(18,))
def gemm_and_batch_norm(g):
    return batch_norm(g, g.Gemm(g.input("x", "b", 8), g.weight(8, 6), g.weight(6)))


@spelling("Gemm", portable=(18,))
def gemm_of_torch_and_batch_norm(g):
    return batch_norm(g, g.Gemm(g.input("x", "b", 8), g.weight(6, 8), g.weight(6), transB=1))


@spelling("Gemm", portable=(18,))
def gemm_without_bias_and_batch_norm(g):
    return batch_norm(g, g.Gemm(g.input("x", "b", 8), g.weight(8, 6)))


@spelling("MatMul Add", portable=(18,))
def linear_layer_and_batch_norm(g):
    return batch_norm(g, (g.input("x", "b", 8) @ g.weight(8, 6)) + g.weight(6))


@spelling("MatMul Add", portable=(18,))
def matmul_and_batch_norm(g):
    return batch_norm(g, g.input("x", "b", 8) @ g.weight(8, 6))


@spelling("Gemm", portable=(18,))
def gemm_and_scale(g):
    return g.Gemm(g.input("x", "b", 8), g.weight(8, 6), g.weight(6)) * g.weight(6) + g.weight(6)


# What follows, in ONNX Runtime.
@spelling(**FUSED_CONV)
def conv_and_relu(g):
    return g.Relu(conv(g, image(g)))


@spelling(**FUSED_CONV)
def conv_batch_norm_and_relu(g):
    return g.Relu(batch_norm(g, conv(g, image(g))))


@spelling(**FUSED_CONV)
def conv_and_leaky_relu(g):
    return g.LeakyRelu(conv(g, image(g), bias=True), alpha=0.1)


@spelling(**FUSED_CONV)
def conv_and_relu6(g):
    return g.Clip(conv(g, image(g)), 0.0, 6.0)


@spelling(**FUSED_CONV)
def conv_and_relu6_of_tf(g):
    return g.Min(g.Relu(conv(g, image(g))), 6.0)


@spelling(**FUSED_CONV)
def conv_and_hard_sigmoid_by_hand(g):
    return g.Clip(conv(g, image(g)) + 3.0, 0.0, 6.0) / 6.0


@spelling("Conv QuickGelu")
def conv_batch_norm_and_silu(g):
    x = batch_norm(g, conv(g, image(g)))
    return x * g.Sigmoid(x)


@spelling("Conv Add Relu")
def conv_sum_and_relu_of_resnet(g):
    return g.Relu(batch_norm(g, conv(g, image(g))) + g.input("skip", "b", 6, "h", "w"))


@spelling("Conv Add Relu")
def conv_sum_and_relu_skip_first(g):
    return g.Relu(g.input("skip", "b", 6, "h", "w") + conv(g, image(g), bias=True))


@spelling("FusedConv Conv Add Relu Relu")
def two_layers_of_resnet(g):
    x = g.input("x", "b", 6, "h", "w")
    skip = g.Relu(x)
    y = g.Relu(batch_norm(g, conv(g, skip, inner=6)))
    return g.Relu(batch_norm(g, conv(g, y, inner=6)) + skip)


# Products.
@spelling("FusedMatMul")
def product_and_scale(g):
    return (g.input("x", "b", "s", 8) @ g.input("y", "b", 8, "t")) * 0.125


@spelling("FusedMatMul")
def product_and_quotient(g):
    return (g.input("x", "b", "s", 8) @ g.input("y", "b", 8, "t")) / 8.0


@spelling("FusedMatMul")
def scale_first_and_product(g):
    return (0.125 * g.input("x", "b", "s", 8)) @ g.input("y", "b", 8, "t")


@spelling("FusedMatMul")
def transposed_and_product(g):
    return g.input("x", "b", "s", 8) @ g.transpose(g.input("y", "b", "t", 8), 0, 2, 1)


@spelling("FusedMatMul")
def transposed_left_and_product(g):
    return g.transpose(g.input("x", "b", 8, "s"), 0, 2, 1) @ g.input("y", "b", 8, "t")


@spelling("FusedMatMul")
def both_transposed_and_scaled(g):
    return (g.transpose(g.input("x", "b", 8, "s"), 0, 2, 1) @ g.transpose(g.input("y", "b", "t", 8), 0, 2, 1)) * 2.0


@spelling("FusedMatMul")
def scale_by_both_roots(g):
    k = g.transpose(g.input("y", "b", "h", "t", 8), 0, 1, 3, 2)
    return (g.input("x", "b", "h", "s", 8) * 8 ** -0.25) @ (k * 8 ** -0.25)


@spelling("FusedMatMul")
def transposed_without_perm(g):
    return g.input("x", "s", 8) @ g.Transpose(g.input("y", "t", 8))


@spelling("MatMul Add", portable=(18,))
def linear_layer_stays(g):
    return (g.input("x", "b", "s", 8) @ g.weight(8, 6)) + g.weight(6)


def turned_block_weight(g):
    rng = np.random.default_rng(1)
    packed, zeros = (g.constant(rng.integers(0, 15, shape).astype(ml_dtypes.uint4)) for shape in ((6, 32), (6, 2)))
    return g.DequantizeLinear(packed, g.constant(rng.random((6, 2)).astype(np.float32)), zeros, axis=1, block_size=16)


@spelling("MatMulNBits", ort=(21,))
def weight_in_blocks_transposed(g):
    return g.input("x", "b", "s", 32) @ g.transpose(turned_block_weight(g), 1, 0)


@spelling("MatMulNBits Add", ort=(21,))
def weight_in_blocks_and_bias(g):
    return (g.input("x", "b", "s", 32) @ g.transpose(turned_block_weight(g), 1, 0)) + g.weight(6)


@spelling("MatMulNBits Add", ort=(21,))
def weight_in_blocks_that_gemm_turns(g):
    return g.Gemm(g.input("x", "s", 32), turned_block_weight(g), g.weight(6), transB=1)


@spelling("QuantizeLinear Transpose DequantizeLinear", portable=(18,))
def quantized_there_and_back(g):
    scale, zero = g.constant(np.float32(0.1)), g.constant(np.int8(3))
    d = g.DequantizeLinear(g.QuantizeLinear(g.input("x", "b", "s", 8), scale, zero), scale, zero)
    return g.DequantizeLinear(g.QuantizeLinear(g.transpose(d, 0, 2, 1), scale, zero), scale, zero)


# Near-misses.
@near_miss("FusedConv", portable=(18,))
def conv_read_twice_and_batch_norm(g):
    x = conv(g, image(g))
    return batch_norm(g, x), g.Relu(x)


@near_miss("FusedConv")
def conv_that_is_an_output_and_relu(g):
    x = conv(g, image(g))
    return g.Relu(x), x


@near_miss("FusedConv")
def conv_sum_that_spreads_and_relu(g):
    return g.Relu(conv(g, image(g)) + g.input("skip", "b", 6, 1, 1))


@near_miss("FusedConv")
def conv_sum_read_twice_and_relu(g):
    x = conv(g, image(g)) + g.input("skip", "b", 6, "h", "w")
    return g.Relu(x), g.Sigmoid(x)


@near_miss("FusedMatMul")
def product_scaled_by_a_row(g):
    return (g.input("x", "b", "s", 8) @ g.input("y", "b", 8, 6)) * g.weight(6)


@near_miss("FusedMatMul")
def transposed_batches_and_product(g):
    return g.input("x", "b", "s", 8) @ g.transpose(g.input("y", 8, "b", "t"), 1, 0, 2)


@near_miss("FusedMatMul")
def product_and_a_number_added(g):
    return (g.input("x", "b", "s", 8) @ g.input("y", "b", 8, "t")) + 0.125


@near_miss(portable=(18,))
def gemm_and_a_column(g):
    return g.Gemm(g.input("x", 6, 8), g.weight(8, 6), g.weight(6)) * g.weight(6, 1)
