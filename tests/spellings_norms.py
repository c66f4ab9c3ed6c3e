"""Normalizations as exporters write them."""

from spellings import near_miss, spelling

LAYER = {"left": "LayerNormalization", "portable": (17, 18)}
RMS = {"left": {"ort": "SimplifiedLayerNormalization", "portable": "RMSNormalization"}, "portable": (23,)}
EPSILON = 1e-5


def x_of(g, name="x"):
    return g.input(name, "b", "s", 16)


def layer_norm(g, x, scale=True):
    d = x - g.mean(x)
    n = d / g.Sqrt(g.mean(d ** 2.0) + EPSILON)
    return n * g.weight(16) + g.weight(16) if scale else n


def rms_norm(g, x, weight=True):
    n = x * g.Reciprocal(g.Sqrt(g.mean(x ** 2.0) + EPSILON))
    return g.weight(16) * n if weight else n


@spelling(**LAYER)
def layer_norm_of_torch(g):
    return layer_norm(g, x_of(g))


@spelling(**LAYER)
def layer_norm_square_by_product(g):
    x = x_of(g)
    d = x - g.mean(x, (2,))
    return g.weight(16) * (d / g.Sqrt(EPSILON + g.mean(d * d, (2,)))) + g.weight(16)


@spelling(**LAYER)
def layer_norm_root_by_power(g):
    x = x_of(g)
    d = x - g.mean(x)
    return d * ((g.mean(d ** 2.0) + EPSILON) ** -0.5) * g.weight(16) + g.weight(16)


@spelling(**LAYER)
def layer_norm_with_power_of_a_half(g):
    x = x_of(g)
    d = x - g.mean(x)
    return g.weight(16) + g.weight(16) * (d / ((g.mean(d ** 2.0) + EPSILON) ** 0.5))


@spelling(**LAYER)
def layer_norm_by_reciprocal_of_root(g):
    x = x_of(g)
    d = x - g.mean(x)
    return d * g.Reciprocal(g.Sqrt(g.mean(d * d) + EPSILON)) * g.weight(16) + g.weight(16)


@spelling(**LAYER)
def layer_norm_by_one_over_root(g):
    x = x_of(g)
    d = x - g.mean(x)
    return d * (1.0 / g.Sqrt(g.mean(d * d) + EPSILON)) * g.weight(16) + g.weight(16)


@spelling(**LAYER)
def layer_norm_mean_twice(g):
    x = x_of(g)
    d = x - g.mean(x)
    c = x - g.mean(x)
    return d / g.Sqrt(g.mean(c ** 2.0) + EPSILON) * g.weight(16) + g.weight(16)


@spelling(**LAYER)
def layer_norm_of_keras(g):
    """tf.nn.batch_normalization over moments: x inv + (beta - mean inv)."""
    x = x_of(g)
    mean = g.mean(x)
    inv = g.Reciprocal(g.Sqrt(g.mean((x - mean) * (x - mean)) + EPSILON)) * g.weight(16)
    return x * inv + (g.weight(16) - mean * inv)


@spelling(**LAYER)
def layer_norm_of_keras_squared_difference(g):
    x = x_of(g)
    mean = g.mean(x)
    d = mean - x
    inv = g.weight(16) * g.Reciprocal(g.Sqrt(EPSILON + g.mean(d * d)))
    return (g.weight(16) - inv * mean) + inv * x


@spelling(**LAYER)
def layer_norm_of_keras_without_weights(g):
    x = x_of(g)
    mean = g.mean(x)
    d = x - mean
    inv = g.Reciprocal(g.Sqrt(g.mean(d * d) + EPSILON))
    return x * inv - mean * inv


@spelling(**LAYER)
def layer_norm_mean_of_square_less_square_of_mean(g):
    x = x_of(g)
    mean = g.mean(x)
    variance = g.mean(x * x) - mean * mean
    return (x - mean) / g.Sqrt(variance + EPSILON) * g.weight(16) + g.weight(16)


@spelling(**LAYER)
def layer_norm_mean_of_square_less_power(g):
    x = x_of(g)
    mean = g.mean(x)
    variance = g.mean(x ** 2.0) - mean ** 2.0
    return g.weight(16) + (x - mean) * ((variance + EPSILON) ** -0.5) * g.weight(16)


@spelling(**LAYER)
def layer_norm_of_flax(g):
    """The variance as a difference that is kept from below 0."""
    x = x_of(g)
    mean = g.mean(x)
    variance = g.Max(g.value(0.0, x), g.mean(x * x) - mean * mean)
    return (x - mean) * (g.Reciprocal(g.Sqrt(variance + 1e-6)) * g.weight(16)) + g.weight(16)


@spelling("LayerNormalization")
def layer_norm_of_absolutes(g):
    x = x_of(g)
    d = x - g.mean(x)
    a = g.Abs(d)
    return d / g.Sqrt(g.mean(a * a) + EPSILON) * g.weight(16) + g.weight(16)


@spelling(**LAYER)
def layer_norm_by_sums(g):
    x = x_of(g)
    d = x - g.reduced("ReduceSum", x) / 16.0
    return d / g.Sqrt(g.reduced("ReduceSum", d * d) / 16.0 + EPSILON) * g.weight(16) + g.weight(16)


@spelling(**LAYER)
def layer_norm_by_sum_of_squares(g):
    x = x_of(g)
    d = x - g.mean(x)
    return d / g.Sqrt(g.reduced("ReduceSumSquare", d) * 0.0625 + EPSILON) * g.weight(16) + g.weight(16)


@spelling(**LAYER)
def layer_norm_axes_without_keepdims(g):
    x = x_of(g)
    d = x - g.reduced("Unsqueeze", g.reduced("ReduceMean", x, keepdims=0))
    return d / g.Sqrt(g.reduced("Unsqueeze", g.reduced("ReduceMean", d * d, keepdims=0)) + EPSILON) * g.weight(16) + g.weight(16)


@spelling(**LAYER)
def layer_norm_weight_before_the_division(g):
    x = x_of(g)
    d = x - g.mean(x)
    return (g.weight(16) * d) / g.Sqrt(g.mean(d ** 2.0) + EPSILON) + g.weight(16)


@spelling(**LAYER)
def layer_norm_weight_on_the_reciprocal(g):
    x = x_of(g)
    d = x - g.mean(x)
    return d * (g.weight(16) / g.Sqrt(g.mean(d ** 2.0) + EPSILON)) + g.weight(16)


@spelling(**LAYER)
def layer_norm_without_bias(g):
    x = x_of(g)
    d = x - g.mean(x)
    return d / g.Sqrt(g.mean(d ** 2.0) + EPSILON) * g.weight(16)


@spelling(**LAYER)
def layer_norm_without_weight(g):
    x = x_of(g)
    d = x - g.mean(x)
    return d / g.Sqrt(g.mean(d ** 2.0) + EPSILON) + g.weight(16)


@spelling("LayerNormalization Mul Add", portable=(18,))
def layer_norm_modulated(g):
    """DiT: norm(x) (1 + scale) + shift, of each sample."""
    return layer_norm(g, x_of(g), scale=False) * g.input("scale", "b", 1, 16) + g.input("shift", "b", 1, 16)


@spelling(**LAYER)
def layer_norm_1p(g):
    x = x_of(g)
    d = x - g.mean(x)
    return d / g.Sqrt(g.mean(d ** 2.0) + EPSILON) * (g.weight(16) + 1.0) + g.weight(16)


@spelling(**LAYER)
def layer_norm_weights_of_three_axes(g):
    x = x_of(g)
    d = x - g.mean(x)
    return d / g.Sqrt(g.mean(d ** 2.0) + EPSILON) * g.weight(1, 1, 16) + g.weight(1, 1, 16)


@spelling("LayerNormalization", portable=(18,))
def layer_norm_in_float32_between_casts(g):
    g.half = True
    x = x_of(g)
    g.half = False
    wide = g.cast(x, "f")
    d = wide - g.mean(wide)
    n = g.cast(d / g.Sqrt(g.mean(d ** 2.0) + EPSILON), "h")
    g.half = True
    return n * g.weight(16) + g.weight(16)


@spelling("LayerNormalization", portable=(18,))
def layer_norm_all_in_float32_between_casts(g):
    g.half = True
    x, w, b = x_of(g), g.weight(16), g.weight(16)
    g.half = False
    wide = g.cast(x, "f")
    d = wide - g.mean(wide)
    return g.cast(d / g.Sqrt(g.mean(d ** 2.0) + EPSILON) * g.cast(w, "f") + g.cast(b, "f"), "h")


@spelling("LayerNormalization", portable=(18,))
def layer_norm_float16_square_in_float32(g):
    g.half = True
    x = x_of(g)
    d = x - g.mean(x)
    n = d / g.Sqrt(g.mean(d ** 2.0) + 1e-4)
    return n * g.weight(16) + g.weight(16)


@spelling("LayerNormalization", portable=(18,))
def layer_norm_of_two_axes(g):
    x = g.input("x", "b", "s", 4, 4)
    d = x - g.mean(x, (-2, -1))
    return d / g.Sqrt(g.mean(d ** 2.0, (2, 3)) + EPSILON) * g.weight(4, 4) + g.weight(4, 4)


@spelling("Transpose LayerNormalization Transpose", portable=(18,))
def layer_norm_of_channels_of_convnext(g):
    x = g.transpose(g.input("x", "b", 16, "h", "w"), 0, 2, 3, 1)
    return g.transpose(layer_norm(g, x), 0, 3, 1, 2)


# RMS.
@spelling(**RMS)
def rms_norm_of_llama(g):
    return rms_norm(g, x_of(g))


@spelling(**RMS)
def rms_norm_divided(g):
    x = x_of(g)
    return x / g.Sqrt(g.mean(x * x) + 1e-6) * g.weight(16)


@spelling(**RMS)
def rms_norm_by_power(g):
    x = x_of(g)
    return x * (g.mean(x ** 2.0) + 1e-6) ** -0.5 * g.weight(16)


@spelling(**RMS)
def rms_norm_of_t5(g):
    x = x_of(g)
    return g.weight(16) * (x * (1.0 / g.Sqrt(g.mean(x ** 2.0) + 1e-6)))


@spelling(**RMS)
def rms_norm_of_gemma(g):
    x = x_of(g)
    n = x * g.Reciprocal(g.Sqrt(1e-6 + g.mean(x ** 2.0)))
    return n * (1.0 + g.weight(16))


@spelling(**RMS)
def rms_norm_of_sum_of_squares(g):
    x = x_of(g)
    return x / g.Sqrt(g.reduced("ReduceSumSquare", x) / 16.0 + 1e-6) * g.weight(16)


@spelling(**RMS)
def rms_norm_of_length(g):
    x = x_of(g)
    return x / g.Sqrt(g.reduced("ReduceL2", x) ** 2.0 / 16.0 + 1e-6) * g.weight(16)


@spelling(**RMS)
def rms_norm_of_absolute(g):
    x = x_of(g)
    a = g.Abs(x)
    return x / g.Sqrt(g.mean(a * a) + 1e-6) * g.weight(16)


@spelling(**RMS)
def rms_norm_weight_on_the_reciprocal(g):
    x = x_of(g)
    return x * (g.Reciprocal(g.Sqrt(g.mean(x * x) + 1e-6)) * g.weight(16))


@spelling(**RMS)
def rms_norm_without_weight(g):
    x = x_of(g)
    return x * g.Reciprocal(g.Sqrt(g.mean(x * x) + 1e-6))


@spelling(**RMS)
def rms_norm_weight_as_input(g):
    return rms_norm(g, x_of(g), weight=False) * g.input("w", 16)


@spelling(**RMS)
def rms_norm_of_heads(g):
    x = g.input("x", "b", "s", 4, 16)
    return rms_norm(g, x)


@spelling("SimplifiedLayerNormalization")
def rms_norm_between_casts(g):
    g.half = True
    x = x_of(g)
    g.half = False
    n = g.cast(rms_norm(g, g.cast(x, "f"), weight=False), "h")
    g.half = True
    return g.weight(16) * n


@spelling("Cast SimplifiedLayerNormalization Cast")
def rms_norm_of_gemma_between_casts(g):
    """(1 + w), which 16 bits do not hold, and the product in float32."""
    g.half = True
    x, w = x_of(g), g.weight(16)
    g.half = False
    n = rms_norm(g, g.cast(x, "f"), weight=False)
    return g.cast(n * (1.0 + g.cast(w, "f")), "h")


@spelling("SimplifiedLayerNormalization")
def rms_norm_product_between_casts(g):
    g.half = True
    x, w = x_of(g), g.weight(16)
    g.half = False
    n = rms_norm(g, g.cast(x, "f"), weight=False)
    return g.cast(g.cast(w, "f") * n, "h")


@spelling("SimplifiedLayerNormalization")
def rms_norm_variance_in_float32(g):
    """T5 and mT5 in 16 bits: only the mean square is in float32."""
    g.half = True
    x = x_of(g)
    g.half = False
    r = g.Reciprocal(g.Sqrt(g.mean(g.cast(x, "f") ** 2.0) + 1e-6))
    g.half = True
    return g.weight(16) * g.cast(g.cast(x, "f") * r, "h")


# Near-misses.
NORMS = ("LayerNormalization", "SimplifiedLayerNormalization", "RMSNormalization", "LpNormalization", "InstanceNormalization", "GroupNormalization")


@near_miss(*NORMS, portable=(23,))
def layer_norm_with_an_epsilon_each(g):
    x = x_of(g)
    d = x - g.mean(x)
    return d / g.Sqrt(g.mean(d ** 2.0) + g.weight(16, positive=True))


@near_miss(*NORMS, portable=(23,))
def layer_norm_over_another_axis(g):
    x = g.input("x", "b", 16, 16)
    d = x - g.mean(x, (1,))
    return d / g.Sqrt(g.mean(d ** 2.0, (1,)) + EPSILON) * g.weight(16) + g.weight(16)


@near_miss("LayerNormalization", portable=(23,))
def layer_norm_over_two_different_axes(g):
    x = g.input("x", "b", 16, 16)
    d = x - g.mean(x, (1,))
    return d / g.Sqrt(g.mean(d ** 2.0, (2,)) + EPSILON) * g.weight(16) + g.weight(16)


@near_miss(*NORMS, portable=(23,))
def layer_norm_with_epsilon_outside_the_root(g):
    """The annotated transformer's: another function."""
    x = x_of(g)
    d = x - g.mean(x)
    return d / (g.Sqrt(g.mean(d ** 2.0)) + 1e-2) * g.weight(16) + g.weight(16)


@near_miss(*NORMS, portable=(23,))
def layer_norm_of_the_unbiased_variance(g):
    x = x_of(g)
    d = x - g.mean(x)
    return d / g.Sqrt(g.reduced("ReduceSum", d * d) / 15.0 + EPSILON) * g.weight(16) + g.weight(16)


@near_miss(*NORMS, portable=(23,))
def layer_norm_mean_of_square_plus_square_of_mean(g):
    x = x_of(g)
    mean = g.mean(x)
    return (x - mean) / g.Sqrt(g.mean(x * x) + mean * mean + EPSILON)


@near_miss(*NORMS, portable=(23,))
def layer_norm_variance_of_another(g):
    x, z = x_of(g), x_of(g, "z")
    mean = g.mean(x)
    return (x - mean) / g.Sqrt(g.mean(z * z) - mean * mean + 20.0)


@near_miss(*NORMS, portable=(23,))
def layer_norm_whose_variance_is_an_output(g):
    x = x_of(g)
    d = x - g.mean(x)
    variance = g.mean(d ** 2.0)
    return d / g.Sqrt(variance + EPSILON), variance


@near_miss(*NORMS, portable=(23,))
def layer_norm_of_keras_with_another_mean(g):
    x = x_of(g)
    mean, other = g.mean(x), g.mean(x_of(g, "z"))
    d = x - mean
    inv = g.Reciprocal(g.Sqrt(g.mean(d * d) + EPSILON)) * g.weight(16)
    return x * inv + (g.weight(16) - other * inv)


@near_miss(*NORMS, portable=(23,))
def rms_norm_over_axis_1(g):
    x = g.input("x", "b", 16, 16)
    return x / g.Sqrt(g.mean(x * x, (1,)) + EPSILON) * g.weight(16)


@near_miss(*NORMS, portable=(23,))
def rms_norm_by_mean_of_absolutes(g):
    x = x_of(g)
    return x / g.Sqrt(g.mean(g.Abs(x)) + EPSILON) * g.weight(16)


@near_miss(*NORMS, portable=(23,))
def rms_norm_with_epsilon_outside_the_root(g):
    x = x_of(g)
    return x / (g.Sqrt(g.mean(x * x)) + 1e-2) * g.weight(16)


@near_miss(*NORMS, portable=(23,))
def rms_norm_of_another(g):
    z = x_of(g, "z")
    return x_of(g) / g.Sqrt(g.mean(z * z) + EPSILON) * g.weight(16)
