"""Rotary embeddings as exporters and models write them, and the layer of a decoder around them."""
import numpy as np

from spellings import near_miss, spelling
from spellings_attention import attention, heads


def rotary(g, x, rotated, cos, sin):
    return x * cos + rotated * sin


def half_turned(g, x, width=8):
    x1, x2 = g.slice(x, 0, width // 2), g.slice(x, width // 2, 2 ** 63 - 1)
    return g.Concat(-x2, x1, axis=-1)


def angles(g, width=8, axis=1):
    frequencies = g.constant((10000.0 ** -(np.arange(0, width, 2) / width)).astype(np.float32))
    a = g.reduced("Unsqueeze", g.cast(g.input("ids", "b", "s", kind="i"), "f"), (2,)) * frequencies
    a = g.Concat(a, a, axis=-1)
    return g.reduced("Unsqueeze", g.Cos(a), (axis,)), g.reduced("Unsqueeze", g.Sin(a), (axis,))


ROTARY = {"left": {"ort": ["RotaryEmbedding"], "portable": ["RotaryEmbedding"]}, "portable": (23,)}


@spelling(**ROTARY)
def rotary_of_llama(g):
    x = g.input("x", "b", 4, "s", 8)
    return rotary(g, x, half_turned(g, x), *angles(g))


@spelling(**ROTARY)
def rotary_negative_by_product(g):
    x = g.input("x", "b", 4, "s", 8)
    x1, x2 = g.split(x, [4, 4])
    cos, sin = angles(g)
    return (cos * x) + (sin * g.Concat(x2 * -1.0, x1, axis=-1))


@spelling(**ROTARY)
def rotary_from_the_end(g):
    """Slices that count from the end."""
    x = g.input("x", "b", 4, "s", 8)
    cos, sin = angles(g)
    return x * cos + g.Concat(-g.slice(x, -4, 2 ** 63 - 1), g.slice(x, 0, -4), axis=3) * sin


@spelling(**ROTARY)
def rotary_sine_first(g):
    x = g.input("x", "b", 4, "s", 8)
    cos, sin = angles(g)
    return sin * half_turned(g, x) + cos * x


@spelling(**ROTARY)
def rotary_partial_of_gpt_neox(g):
    x = g.input("x", "b", 4, "s", 16)
    turning, rest = g.slice(x, 0, 8), g.slice(x, 8, 2 ** 63 - 1)
    return g.Concat(rotary(g, turning, half_turned(g, turning), *angles(g)), rest, axis=-1)


@spelling(**ROTARY)
def rotary_interleaved_of_gpt_j(g):
    x = g.input("x", "b", "s", 4, 8)
    even, odd = g.slice(x, 0, 2 ** 63 - 1, step=2), g.slice(x, 1, 2 ** 63 - 1, step=2)
    a = g.input("a", "b", "s", 1, 4)
    cos, sin = g.Cos(a), g.Sin(a)
    first, second = even * cos - odd * sin, odd * cos + even * sin
    return g.reshape(g.Concat(g.reduced("Unsqueeze", first, (-1,)), g.reduced("Unsqueeze", second, (-1,)), axis=-1), 0, 0, 0, 8)


@spelling(**ROTARY)
def rotary_by_complex_numbers(g):
    """The first Llama: pairs as real and imaginary parts."""
    x = g.reshape(g.input("x", "b", "s", 4, 8), 0, 0, 4, 4, 2)
    real, imaginary = (g.Gather(x, g.constant(np.array(i)), axis=-1) for i in range(2))
    a = g.input("a", "b", "s", 1, 4)
    cos, sin = g.Cos(a), g.Sin(a)
    first, second = real * cos - imaginary * sin, real * sin + imaginary * cos
    both = g.Concat(g.reduced("Unsqueeze", first, (-1,)), g.reduced("Unsqueeze", second, (-1,)), axis=-1)
    return g.reshape(both, 0, 0, 0, 8)


@spelling(**ROTARY)
def rotary_of_two_halves(g):
    x = g.input("x", "b", 4, "s", 8)
    x1, x2 = g.split(x, [4, 4])
    a = g.input("a", "b", 1, "s", 4)
    cos, sin = g.Cos(a), g.Sin(a)
    return g.Concat(x1 * cos - x2 * sin, x1 * sin + x2 * cos, axis=-1)


@spelling(**ROTARY)
def rotary_of_a_cut_table(g):
    """Rows of a table for as many positions as there are."""
    x = g.input("x", "b", 4, "s", 8)
    a = np.outer(np.arange(16), 10000.0 ** -(np.arange(0, 8, 2) / 8))
    a = np.concatenate([a, a], -1).astype(np.float32)
    end = g.slice(g.Shape(x), 2, 3, 0)
    cos, sin = (g.reduced("Unsqueeze", g.Slice(g.constant(t), [0], end, [0]), (0, 1)) for t in (np.cos(a), np.sin(a)))
    return rotary(g, x, half_turned(g, x), cos, sin)


@spelling(**ROTARY)
def rotary_of_gathered_rows(g):
    x = g.input("x", "b", 4, "s", 8)
    a = np.outer(np.arange(16), 10000.0 ** -(np.arange(0, 8, 2) / 8))
    a = np.concatenate([a, a], -1).astype(np.float32)
    ids = g.input("ids", "b", "s", kind="i")
    cos, sin = (g.reduced("Unsqueeze", g.Gather(g.constant(t), ids, axis=0), (1,)) for t in (np.cos(a), np.sin(a)))
    return rotary(g, x, half_turned(g, x), cos, sin)


@spelling({"ort": ["RotaryEmbedding"]})
def rotary_in_float16_with_angles_in_float32(g):
    cos, sin = (g.cast(t, "h") for t in angles(g))
    g.half = True
    x = g.input("x", "b", 4, "s", 8)
    return rotary(g, x, half_turned(g, x), cos, sin)


@spelling({"ort": ["SkipSimplifiedLayerNormalization", "MultiHeadAttention"]})
def attention_of_a_decoder_layer(g):
    """Llama: norm, projections, rotary of q and k, grouped heads, sum and norm."""
    x = g.input("x", "b", "s", 32)
    def norm(x):
        return g.weight(32) * (x * g.Reciprocal(g.Sqrt(g.mean(x ** 2.0) + 1e-6)))
    n = norm(x)
    cos, sin = angles(g)
    added = g.input("added", "b", 1, "s", "s")
    q, k, v = heads(g, n @ g.weight(32, 32)), heads(g, n @ g.weight(32, 16), 2), heads(g, n @ g.weight(32, 16), 2)
    q, k = (rotary(g, part, half_turned(g, part), cos, sin) for part in (q, k))
    def repeated(part):
        return g.reshape(g.Expand(g.reduced("Unsqueeze", part, (2,)), [1, 1, 2, 1, 1]), 0, 4, -1, 8)
    o = attention(g, q, repeated(k), repeated(v), lambda s: s + added)
    return norm(x + (o @ g.weight(32, 32)))


@spelling(**ROTARY)
def rotary_scaled_by_a_factor(g):
    """YaRN: cos and sin times a number."""
    x = g.input("x", "b", 4, "s", 8)
    cos, sin = angles(g)
    return rotary(g, x, half_turned(g, x), cos * 1.2, sin * 1.2)


# Near-misses.
@near_miss("RotaryEmbedding", portable=(23,))
def rotary_with_the_sign_on_the_other_half(g):
    x = g.input("x", "b", 4, "s", 8)
    cos, sin = angles(g)
    return x * cos + g.Concat(g.slice(x, 4, 8), -g.slice(x, 0, 4), axis=-1) * sin


@near_miss(portable=(23,))
def rotary_of_two_axes(g):
    """Each half of a head turns by the angles of an axis of its own, one half after the other: no pair spans the head."""
    x = g.input("x", "b", 4, "s", 8)
    parts = []
    for i, name in enumerate(("rows", "columns")):
        part = g.slice(x, 4 * i, 4 * i + 4)
        a = g.input(name, "b", 1, "s", 2)
        a = g.Concat(a, a, axis=-1)
        parts.append(part * g.Cos(a) + g.Concat(-g.slice(part, 2, 4), g.slice(part, 0, 2), axis=-1) * g.Sin(a))
    return g.Concat(*parts, axis=-1)


@near_miss("RotaryEmbedding", portable=(23,))
def rotary_with_an_angle_each(g):
    x = g.input("x", "b", 4, "s", 8)
    a = g.input("a", "b", 1, "s", 8)
    return x * g.Cos(a) + half_turned(g, x) * g.Sin(a)
