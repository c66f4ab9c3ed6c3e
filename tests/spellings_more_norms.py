"""Normalizations with the sum before them, of groups and instances, and of lengths, as exporters write them."""
import numpy as np

from spellings import near_miss, spelling
from spellings_norms import EPSILON, NORMS, layer_norm, rms_norm, x_of


# With what stands before them.
@spelling("SkipLayerNormalization")
def sum_and_layer_norm(g):
    return layer_norm(g, x_of(g) + x_of(g, "y"))


@spelling("SkipLayerNormalization Relu")
def sum_and_layer_norm_sum_read_later(g):
    x = x_of(g) + x_of(g, "y")
    return layer_norm(g, x), g.Relu(x)


@spelling("SkipLayerNormalization")
def sum_and_layer_norm_sum_an_output(g):
    x = x_of(g) + x_of(g, "y")
    return layer_norm(g, x), x


@spelling("SkipLayerNormalization")
def bias_sum_and_layer_norm(g):
    return layer_norm(g, (x_of(g) + g.weight(16)) + x_of(g, "y"))


@spelling("SkipLayerNormalization")
def bias_of_three_axes_sum_and_layer_norm(g):
    return layer_norm(g, (x_of(g) + g.weight(1, 1, 16)) + x_of(g, "y"))


@spelling("SkipLayerNormalization")
def skip_first_bias_and_layer_norm(g):
    return layer_norm(g, x_of(g, "y") + (g.weight(16) + x_of(g)))


@spelling("SkipLayerNormalization")
def bias_after_the_sum_and_layer_norm(g):
    return layer_norm(g, (x_of(g) + x_of(g, "y")) + g.weight(16))


@spelling("MatMul SkipLayerNormalization")
def linear_layer_sum_and_layer_norm(g):
    x = x_of(g)
    return layer_norm(g, ((x @ g.weight(16, 16)) + g.weight(16)) + x)


@spelling("SkipLayerNormalization")
def sum_and_layer_norm_without_weights(g):
    return layer_norm(g, x_of(g) + x_of(g, "y"), scale=False)


@spelling("Add LayerNormalization")
def sum_and_layer_norm_of_two_axes_in_all(g):
    """Which ONNX Runtime's CPU runs in a fifth of the time of SkipLayerNormalization."""
    return layer_norm(g, g.input("x", "s", 16) + g.input("y", "s", 16))


@spelling("SkipLayerNormalization", ort=(17,))
def sum_and_layer_norm_operator(g):
    return g.LayerNormalization(x_of(g) + x_of(g, "y"), g.weight(16), g.weight(16), epsilon=1e-6)


@spelling("SkipSimplifiedLayerNormalization")
def sum_and_rms_norm(g):
    return rms_norm(g, x_of(g) + x_of(g, "y"))


@spelling("SkipSimplifiedLayerNormalization MatMul Add")
def sum_and_rms_norm_of_a_decoder(g):
    h = x_of(g) + x_of(g, "y")
    return h + (rms_norm(g, h) @ g.weight(16, 16))


@spelling("Add SimplifiedLayerNormalization")
def sum_and_rms_norm_of_two_axes_in_all(g):
    return rms_norm(g, g.input("x", "s", 16) + g.input("y", "s", 16))


@spelling("SkipSimplifiedLayerNormalization", ort=(23,))
def sum_and_rms_norm_operator(g):
    return g.RMSNormalization(x_of(g) + x_of(g, "y"), g.weight(16), epsilon=1e-6)


@spelling("SkipSimplifiedLayerNormalization")
def sum_and_rms_norm_between_casts(g):
    g.half = True
    h = x_of(g) + x_of(g, "y")
    g.half = False
    n = g.cast(rms_norm(g, g.cast(h, "f"), weight=False), "h")
    g.half = True
    return g.weight(16) * n, h


# Groups and instances.
GROUPS = {"ort": "Reshape Shape InstanceNormalization Reshape Mul Add", "portable": "GroupNormalization"}


def image(g, channels=6):
    return g.input("x", "b", channels, "h", "w")


def per_channel(g, x, channels=6):
    return x * g.weight(channels, 1, 1) + g.weight(channels, 1, 1)


@spelling(GROUPS, ort=(18,), portable=(21,))
def group_norm_of_torch(g):
    x = image(g)
    shape = g.Shape(x)
    n = g.InstanceNormalization(g.reshape(x, 0, 3, -1), g.constant(np.ones(3, np.float32)), g.constant(np.zeros(3, np.float32)), epsilon=1e-5)
    return per_channel(g, g.Reshape(n, shape))


@spelling(GROUPS, ort=(18,), portable=(21,))
def group_norm_of_five_axes(g):
    x = image(g)
    r = g.reshape(x, 0, 3, 2, -1)
    d = r - g.mean(r, (2, 3))
    n = d / g.Sqrt(g.mean(d * d, (2, 3)) + EPSILON)
    return per_channel(g, g.Reshape(n, g.Shape(x)))


@spelling({"ort": "Reshape Shape InstanceNormalization Reshape Mul Add QuickGelu", "portable": "GroupNormalization Sigmoid Mul"}, ort=(18,), portable=(21,))
def group_norm_and_silu_of_a_unet(g):
    x = image(g)
    n = g.InstanceNormalization(g.reshape(x, 0, 3, -1), g.constant(np.ones(3, np.float32)), g.constant(np.zeros(3, np.float32)), epsilon=1e-5)
    y = per_channel(g, g.Reshape(n, g.Shape(x)))
    return y * g.Sigmoid(y)


@spelling("InstanceNormalization", portable=(18,))
def instance_norm_by_hand(g):
    x = image(g)
    d = x - g.mean(x, (2, 3))
    return per_channel(g, d / g.Sqrt(g.mean(d ** 2.0, (2, 3)) + EPSILON))


@spelling("InstanceNormalization", portable=(18,))
def instance_norm_of_keras(g):
    x = image(g)
    mean = g.mean(x, (2, 3))
    d = x - mean
    inv = g.Reciprocal(g.Sqrt(g.mean(d * d, (2, 3)) + EPSILON)) * g.weight(1, 6, 1, 1)
    return x * inv + (g.weight(1, 6, 1, 1) - mean * inv)


@spelling("InstanceNormalization", portable=(18,))
def instance_norm_by_mean_of_square(g):
    x = image(g)
    mean = g.mean(x, (-1, -2))
    return per_channel(g, (x - mean) / g.Sqrt(g.mean(x * x, (-1, -2)) - mean * mean + EPSILON))


# Lengths.
LENGTH = {"left": "LpNormalization", "portable": (18,)}


@spelling(**LENGTH)
def normalize_of_torch(g):
    """F.normalize: the length limited from below, and spread."""
    x = x_of(g)
    length = g.Clip(g.reduced("ReduceL2", x), 1e-12, None)
    return x / g.Expand(length, g.Shape(x))


@spelling(**LENGTH)
def normalize_by_max(g):
    x = x_of(g)
    return x / g.Max(g.reduced("ReduceL2", x), 1e-12)


@spelling(**LENGTH)
def normalize_of_clip_model(g):
    x = g.input("x", "b", 16)
    return x / g.reduced("ReduceL2", x)


@spelling(**LENGTH)
def normalize_by_root_of_sum(g):
    x = x_of(g)
    return x / g.Sqrt(g.reduced("ReduceSum", x * x))


@spelling(**LENGTH)
def normalize_of_keras(g):
    """tf.math.l2_normalize: x rsqrt(max(sum, eps))."""
    x = x_of(g)
    return x * g.Reciprocal(g.Sqrt(g.Max(g.reduced("ReduceSum", x * x), 1e-12)))


@spelling("ReduceL2 Max Div", portable=(18,))
def normalize_channels(g):
    """ONNX Runtime's kernel is slower along another axis than the last."""
    x = image(g)
    return x / g.Max(g.reduced("ReduceL2", x, (1,)), 1e-12)


@spelling(**LENGTH)
def normalize_by_sum_of_absolutes(g):
    x = x_of(g)
    return x / g.Max(g.reduced("ReduceL1", x), 1e-12)


# Near-misses.
@near_miss("SkipLayerNormalization")
def sum_that_spreads_and_layer_norm(g):
    return layer_norm(g, x_of(g) + g.input("y", 1, "s", 16))


@near_miss("SkipSimplifiedLayerNormalization")
def difference_and_rms_norm(g):
    return rms_norm(g, x_of(g) - x_of(g, "y"))


@near_miss(*NORMS, portable=(18,))
def normalize_with_an_epsilon_that_counts(g):
    x = x_of(g)
    return x / g.Max(g.reduced("ReduceL2", x), 1.0)


@near_miss(*NORMS, portable=(18,))
def normalize_with_epsilon_added(g):
    x = x_of(g)
    return x / (g.reduced("ReduceL2", x) + 1e-2)


@near_miss(*NORMS, portable=(18,))
def normalize_over_two_axes(g):
    x = x_of(g)
    return x / g.Max(g.reduced("ReduceL2", x, (1, 2)), 1e-12)


@near_miss("GroupNormalization", ort=(), portable=(21,))
def group_norm_with_a_scale_each_group(g):
    x = image(g)
    n = g.InstanceNormalization(g.reshape(x, 0, 3, -1), g.weight(3), g.constant(np.zeros(3, np.float32)), epsilon=1e-5)
    return g.Reshape(n, g.Shape(x))
