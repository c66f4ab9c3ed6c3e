"""Activations as exporters write them: PyTorch's two exporters, Keras and tf2onnx, PaddlePaddle, JAX, and models of their own."""
import math

from spellings import near_miss, spelling

ROOT2 = math.sqrt(2)
TANH_SCALE = math.sqrt(2 / math.pi)


def x_of(g, width=16):
    return g.input("x", "b", "s", width)


# Gelu by erf.
GELU = {"left": "Gelu", "portable": (20,)}


@spelling(**GELU)
def gelu_of_torch(g):
    x = x_of(g)
    return x * (g.Erf(x / ROOT2) + 1.0) * 0.5


@spelling(**GELU)
def gelu_half_first(g):
    x = x_of(g)
    return (x * 0.5) * (1.0 + g.Erf(x / ROOT2))


@spelling(**GELU)
def gelu_of_keras(g):
    x = x_of(g)
    return 0.5 * x * (1.0 + g.Erf(x * 0.70710678))


@spelling(**GELU)
def gelu_half_inside(g):
    x = x_of(g)
    return x * (0.5 * (1.0 + g.Erf(x * 0.70710678)))


@spelling(**GELU)
def gelu_halved_at_the_end(g):
    x = x_of(g)
    return x * (g.Erf(x / g.Sqrt(g.value(2.0, x))) + 1.0) / 2.0


@spelling(**GELU)
def gelu_half_in_both_terms(g):
    x = x_of(g)
    return x * (0.5 + 0.5 * g.Erf(x / ROOT2))


@spelling(**GELU)
def gelu_multiplied_out(g):
    x = x_of(g)
    half = x * 0.5
    return half * g.Erf(x / ROOT2) + half


@spelling(**GELU)
def gelu_multiplied_out_last(g):
    x = x_of(g)
    return 0.5 * (x + x * g.Erf(x * 0.70710678))


@spelling(**GELU)
def gelu_of_jax_by_erfc(g):
    x = x_of(g)
    return 0.5 * x * (1.0 - g.Erf(-x * 0.70710678))


@spelling(**GELU)
def gelu_by_reciprocal(g):
    x = x_of(g)
    return (g.Erf(x * g.Reciprocal(g.Sqrt(g.value(2.0, x)))) + 1.0) * 0.5 * x


@spelling("Cast Gelu Cast", portable=(20,))
def gelu_in_float32_between_casts(g):
    g.half = True
    x = g.cast(x_of(g), "f")
    g.half = False
    return g.cast(x * (g.Erf(x / ROOT2) + 1.0) * 0.5, "h")


@spelling("Gelu", ort=(13,))
def gelu_of_bfloat_constants(g):
    x = x_of(g)
    return 0.5 * x * (1.0 + g.Erf(x / 1.4140625))


# Gelu by tanh.
TANH_GELU = {"left": {"ort": "FastGelu", "portable": "Gelu"}, "portable": (20,)}


@spelling(**TANH_GELU)
def gelu_new_of_gpt2(g):
    x = x_of(g)
    return 0.5 * x * (1.0 + g.Tanh(TANH_SCALE * (x + 0.044715 * x ** 3.0)))


@spelling(**TANH_GELU)
def gelu_by_tanh_cube_by_products(g):
    x = x_of(g)
    return x * 0.5 * (g.Tanh((x + 0.044715 * (x * x * x)) * TANH_SCALE) + 1.0)


@spelling(**TANH_GELU)
def gelu_of_megatron(g):
    x = x_of(g)
    return x * 0.5 * (1.0 + g.Tanh(0.79788456 * x * (1.0 + 0.044715 * x * x)))


@spelling(**TANH_GELU)
def gelu_by_tanh_scales_multiplied_out(g):
    x = x_of(g)
    return 0.5 * x * (1.0 + g.Tanh(0.79788456 * x + 0.03567741 * x * x * x))


@spelling(**TANH_GELU)
def gelu_by_tanh_factored_scale_inside(g):
    x = x_of(g)
    return 0.5 * x * (1.0 + g.Tanh(x * (0.79788456 + 0.03567741 * x * x)))


@spelling(**TANH_GELU)
def gelu_by_tanh_half_inside(g):
    x = x_of(g)
    return x * (0.5 * (1.0 + g.Tanh(TANH_SCALE * (x + 0.044715 * x ** 3.0))))


@spelling(**TANH_GELU)
def gelu_by_tanh_multiplied_out(g):
    x = x_of(g)
    half = 0.5 * x
    return half + half * g.Tanh(TANH_SCALE * (x + 0.044715 * x ** 3.0))


@spelling(**TANH_GELU)
def gelu_by_sigmoid_of_twice_as_much(g):
    x = x_of(g)
    return x * g.Sigmoid(1.5957691216 * (x + 0.044715 * x ** 3.0))


@spelling(**TANH_GELU)
def gelu_by_exp_of_twice_as_much(g):
    x = x_of(g)
    return x / (1.0 + g.Exp(g.Neg(2 * TANH_SCALE * (x + 0.044715 * x ** 3.0))))


@spelling(**TANH_GELU)
def gelu_by_exp_of_a_negative_scale(g):
    x = x_of(g)
    return x / (g.Exp((x + 0.044715 * (x * x * x)) * (-2 * TANH_SCALE)) + 1.0)


# With a bias.
@spelling("BiasGelu")
def bias_gelu(g):
    x = x_of(g) + g.weight(16)
    return x * (g.Erf(x / ROOT2) + 1.0) * 0.5


@spelling("BiasGelu")
def bias_gelu_bias_first(g):
    x = g.weight(16) + x_of(g)
    return 0.5 * x * (1.0 + g.Erf(x * 0.70710678))


@spelling("BiasGelu", ort=(20,))
def bias_gelu_of_the_operator(g):
    return g.Gelu(x_of(g) + g.weight(16))


@spelling("FastGelu")
def bias_fast_gelu(g):
    x = x_of(g) + g.weight(16)
    return 0.5 * x * (1.0 + g.Tanh(TANH_SCALE * (x + 0.044715 * x ** 3.0)))


@spelling("MatMul BiasGelu")
def linear_layer_and_gelu(g):
    x = (x_of(g) @ g.weight(16, 32)) + g.weight(32)
    return x * (g.Erf(x / ROOT2) + 1.0) * 0.5


@spelling("FastGelu", ort=(20,))
def fast_gelu_of_the_operator(g):
    return g.Gelu(x_of(g) + g.weight(16), approximate="tanh")


# By the logistic function.
@spelling("QuickGelu")
def quick_gelu_of_clip(g):
    x = x_of(g)
    return x * g.Sigmoid(1.702 * x)


@spelling("QuickGelu")
def quick_gelu_sigmoid_first(g):
    x = x_of(g)
    return g.Sigmoid(x * 1.702) * x


@spelling("QuickGelu")
def quick_gelu_by_exp(g):
    x = x_of(g)
    return x / (1.0 + g.Exp(-1.702 * x))


@spelling("QuickGelu")
def silu(g):
    x = x_of(g)
    return x * g.Sigmoid(x)


@spelling("QuickGelu")
def silu_by_exp(g):
    x = x_of(g)
    return x / (1.0 + g.Exp(-x))


@spelling("QuickGelu")
def silu_by_one_over_exp(g):
    x = x_of(g)
    return x * (1.0 / (g.Exp(-x) + 1.0))


@spelling("QuickGelu")
def swish_of_another_slope(g):
    x = x_of(g)
    return x * g.Sigmoid(x * 1.5)


@spelling("Swish", ort=(), portable=(24,))
def silu_of_opset_24(g):
    x = x_of(g)
    return x * g.Sigmoid(x)


@spelling("Sigmoid", portable=(17,))
def sigmoid_by_exp(g):
    return 1.0 / (1.0 + g.Exp(-x_of(g)))


@spelling("Mul Sigmoid Mul", ort=(), portable=(17,))
def quick_gelu_by_exp_before_its_operator(g):
    x = x_of(g)
    return x / (1.0 + g.Exp(x * -1.702))


@spelling("Sigmoid Mul", ort=(17,), portable=(17, 24))
def gate_by_exp(g):
    return g.input("gated", "b", "s", 16) / (1.0 + g.Exp(-x_of(g)))


# Gates: ONNX Runtime's CPU has no operator for them; the activation and the product are left.
@spelling("MatMul MatMul QuickGelu Mul MatMul")
def swiglu_of_llama(g):
    x = x_of(g)
    gate = x @ g.weight(16, 32)
    return ((gate * g.Sigmoid(gate)) * (x @ g.weight(16, 32))) @ g.weight(32, 16)


@spelling("MatMul Split QuickGelu Mul")
def swiglu_of_phi_packed(g):
    gate, up = g.split(x_of(g) @ g.weight(16, 64), [32, 32])
    return up * (gate * g.Sigmoid(gate))


@spelling("MatMul MatMul FastGelu Mul")
def geglu_of_gemma(g):
    x = x_of(g)
    gate = x @ g.weight(16, 32)
    return 0.5 * gate * (1.0 + g.Tanh(TANH_SCALE * (gate + 0.044715 * gate ** 3.0))) * (x @ g.weight(16, 32))


@spelling("Split Gelu Mul")
def geglu_of_diffusers(g):
    value, gate = g.split(x_of(g), [8, 8])
    return value * (gate * (g.Erf(gate / ROOT2) + 1.0) * 0.5)


# Hard ones.
@spelling("HardSwish", ort=(14, 18), portable=(14,))
def hard_swish_of_torch(g):
    x = x_of(g)
    return x * g.Clip(x + 3.0, 0.0, 6.0) / 6.0


@spelling("HardSwish", ort=(14, 18), portable=(14,))
def hard_swish_gate_first(g):
    x = x_of(g)
    return (g.Clip(3.0 + x, 0.0, 6.0) * 0.16666667) * x


@spelling("HardSwish", ort=(14, 18), portable=(14,))
def hard_swish_of_hard_sigmoid(g):
    x = x_of(g)
    return x * g.HardSigmoid(x, alpha=1 / 6, beta=0.5)


@spelling("HardSwish", ort=(14, 18), portable=(14,))
def hard_swish_by_min_and_max(g):
    x = x_of(g)
    return x * g.Min(g.Max(x + 3.0, 0.0), 6.0) / 6.0


@spelling("HardSwish", ort=(14, 18), portable=(14,))
def hard_swish_by_relu_and_min(g):
    x = x_of(g)
    return x * (g.Min(g.Relu(x + 3.0), 6.0) / 6.0)


@spelling("HardSwish", ort=(14, 18), portable=(14,))
def hard_swish_clipped_at_1(g):
    x = x_of(g)
    return x * g.Clip(x / 6.0 + 0.5, 0.0, 1.0)


@spelling("HardSigmoid Mul", ort=(13,), portable=(13,))
def hard_swish_before_its_opset(g):
    x = x_of(g)
    return x * g.Clip(x + 3.0, 0.0, 6.0) / 6.0


@spelling("HardSigmoid", portable=(13,))
def hard_sigmoid_of_torch(g):
    return g.Clip(x_of(g) + 3.0, 0.0, 6.0) / 6.0


@spelling("HardSigmoid", portable=(13,))
def hard_sigmoid_of_keras(g):
    return g.Clip(0.2 * x_of(g) + 0.5, 0.0, 1.0)


@spelling("HardSigmoid", portable=(13,))
def hard_sigmoid_by_max_and_min(g):
    return g.Max(g.Min(x_of(g) * 0.2 + 0.5, 1.0), 0.0)


# Softplus and Mish.
@spelling("Softplus", portable=(13,))
def softplus(g):
    return g.Log(1.0 + g.Exp(x_of(g)))


@spelling("Softplus", portable=(13,))
def softplus_without_overflow(g):
    x = x_of(g)
    return g.Max(x, 0.0) + g.Log(1.0 + g.Exp(-g.Abs(x)))


@spelling("Softplus", portable=(13,))
def softplus_without_overflow_by_relu(g):
    x = x_of(g)
    return g.Log(g.Exp(-g.Abs(x)) + 1.0) + g.Relu(x)


@spelling("Mish", portable=(18,), ort=(18,))
def mish(g):
    x = x_of(g)
    return x * g.Tanh(g.Softplus(x))


@spelling("Mish", portable=(18,), ort=(18,))
def mish_of_yolo(g):
    x = x_of(g)
    return g.Tanh(g.Log(1.0 + g.Exp(x))) * x


@spelling("Softplus Tanh Mul", ort=(13,))
def mish_before_its_opset(g):
    x = x_of(g)
    return x * g.Tanh(g.Log(1.0 + g.Exp(x)))


@spelling("Mish", portable=(18,), ort=(18,))
def mish_without_exponent_twice(g):
    x = x_of(g)
    e = g.Exp(x)
    n = e * (e + 2.0)
    return x * (n / (n + 2.0))


@spelling("Clip", portable=(13,))
def relu6(g):
    return g.Min(g.Relu(x_of(g)), 6.0)


@spelling("Softmax", portable=(13,))
def softmax_by_hand(g):
    x = x_of(g)
    e = g.Exp(x - g.reduced("ReduceMax", x))
    return e / g.reduced("ReduceSum", e)


@spelling("LeakyRelu", portable=(16,))
def leaky_relu_by_max(g):
    x = x_of(g)
    return g.Max(x, x * 0.1)


# Near-misses.
@near_miss("Gelu", ort=(18, 20), portable=(20,))
def gelu_with_another_root(g):
    x = x_of(g)
    return 0.5 * x * (1.0 + g.Erf(x * 0.75))


@near_miss("Gelu", portable=(20,))
def gelu_with_2_for_1(g):
    x = x_of(g)
    return 0.5 * x * (2.0 + g.Erf(x / ROOT2))


@near_miss("Gelu", portable=(20,))
def gelu_with_a_tensor_for_1(g):
    x = x_of(g)
    return 0.5 * x * (g.input("one", 16) + g.Erf(x / ROOT2))


@near_miss("Gelu", portable=(20,))
def gelu_of_two_tensors(g):
    x = x_of(g)
    return 0.5 * g.input("z", "b", "s", 16) * (1.0 + g.Erf(x / ROOT2))


@near_miss("Gelu", portable=(20,))
def gelu_whose_erf_is_an_output(g):
    x = x_of(g)
    erf = g.Erf(x / ROOT2)
    return 0.5 * x * (1.0 + erf), erf


@near_miss("Gelu", portable=(20,))
def gelu_with_minus(g):
    x = x_of(g)
    return 0.5 * x * (1.0 - g.Erf(x / ROOT2))


@near_miss("Gelu", "FastGelu", portable=(20,))
def gelu_by_tanh_with_half_the_cube(g):
    x = x_of(g)
    return 0.5 * x * (1.0 + g.Tanh(TANH_SCALE * (x + 0.0223575 * x ** 3.0)))


@near_miss("Gelu", "FastGelu", portable=(20,))
def gelu_by_tanh_of_a_square(g):
    x = x_of(g)
    return 0.5 * x * (1.0 + g.Tanh(TANH_SCALE * (x + 0.044715 * x ** 2.0)))


@near_miss("Gelu", "FastGelu", portable=(20,))
def gelu_by_sigmoid_of_as_much(g):
    x = x_of(g)
    return x * g.Sigmoid(TANH_SCALE * (x + 0.044715 * x ** 3.0))


@near_miss("BiasGelu")
def bias_gelu_of_a_row_each(g):
    x = x_of(g) + g.input("z", "s", 16)
    return x * (g.Erf(x / ROOT2) + 1.0) * 0.5


@near_miss("QuickGelu")
def silu_of_another(g):
    return x_of(g) * g.Sigmoid(g.input("z", "b", "s", 16))


@near_miss("QuickGelu")
def silu_with_a_slope_each(g):
    x = x_of(g)
    return x * g.Sigmoid(x * g.weight(16))


@near_miss("QuickGelu", "Sigmoid")
def silu_by_exp_of_more(g):
    x = x_of(g)
    return x / (1.0 + g.Exp(x))


@near_miss("HardSwish", "HardSigmoid", portable=(18,))
def hard_swish_with_another_limit(g):
    x = x_of(g)
    return x * g.Clip(x + 3.0, 0.0, 5.0) / 6.0


@near_miss("HardSwish", portable=(18,))
def hard_swish_of_another_gate(g):
    x = x_of(g)
    return x * g.HardSigmoid(x, alpha=0.2, beta=0.5)


@near_miss("Softplus", portable=(18,))
def softplus_of_2(g):
    return g.Log(2.0 + g.Exp(x_of(g)))


@near_miss("Softmax", portable=(18,))
def softmax_over_two_axes_by_hand(g):
    x = x_of(g)
    e = g.Exp(x - g.reduced("ReduceMax", x))
    return e / g.reduced("ReduceSum", e, (-2,))


@near_miss("Mish", "Softplus", portable=(18,))
def mish_with_another_2(g):
    x = x_of(g)
    e = g.Exp(x)
    n = e * (e + 3.0)
    return x * (n / (n + 2.0))
