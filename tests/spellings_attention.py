"""Attention and rotary embeddings as exporters and models write them. Four heads of 8."""
import math

import numpy as np

from spellings import near_miss, spelling

SCALE = 1 / math.sqrt(8)


def qkv(g, keys="s", kv_width=32):
    return g.input("q", "b", "s", 32), g.input("k", "b", keys, kv_width), g.input("v", "b", keys, kv_width)


def heads(g, x, count=4, perm=(0, 2, 1, 3)):
    return g.transpose(g.reshape(x, 0, -1, count, 8), *perm)


def joined(g, o):
    return g.reshape(g.transpose(o, 0, 2, 1, 3), 0, -1, 32)


def softmax(g, x):
    return g.Softmax(x, axis=-1)


def attention(g, q, k, v, mask=None, scale=SCALE, weights=softmax):
    """q, k and v as heads."""
    s = (q @ g.transpose(k, 0, 1, 3, 2)) * scale
    s = s if mask is None else mask(s)
    return joined(g, weights(g, s) @ v)


def plain(g, mask=None, keys="s", **how):
    q, k, v = (heads(g, x) for x in qkv(g, keys))
    return attention(g, q, k, v, mask, **how)


MHA = {"left": {"ort": ["MultiHeadAttention"], "portable": ["Attention"]}, "portable": (23,)}
ORT = {"left": ["MultiHeadAttention"]}


@spelling(**MHA)
def attention_of_bert(g):
    """The mask of 0 and 1 as 0 and -10000, read by all layers."""
    keep = g.cast(g.reduced("Unsqueeze", g.input("keep", "b", "s", kind="i"), (1, 2)), "f")
    added = (1.0 - keep) * -10000.0
    q, k, v = (heads(g, x) for x in qkv(g))
    s = (q @ g.transpose(k, 0, 1, 3, 2)) / math.sqrt(8)
    return joined(g, softmax(g, s + added) @ v)


@spelling(**MHA)
def attention_without_mask(g):
    return plain(g)


@spelling(**MHA)
def attention_across(g):
    return plain(g, keys="t")


@spelling(**MHA)
def attention_keys_transposed_at_once(g):
    q, k, v = qkv(g)
    s = (heads(g, q) @ heads(g, k, perm=(0, 2, 3, 1))) / math.sqrt(8)
    return joined(g, softmax(g, s) @ heads(g, v))


@spelling(**MHA)
def attention_scale_on_the_query(g):
    """ViT of timm: q times its scale."""
    q, k, v = (heads(g, x) for x in qkv(g))
    return joined(g, softmax(g, (q * SCALE) @ g.transpose(k, 0, 1, 3, 2)) @ v)


@spelling(**MHA)
def attention_scale_on_the_projection(g):
    """BART, Whisper, OPT: before the heads are split."""
    q, k, v = qkv(g)
    q = heads(g, q * SCALE)
    return joined(g, softmax(g, q @ heads(g, k, perm=(0, 2, 3, 1))) @ heads(g, v))


@spelling(**MHA)
def attention_scale_by_both_roots(g):
    """torch's scaled_dot_product_attention."""
    q, k, v = (heads(g, x) for x in qkv(g))
    root = SCALE ** 0.5
    return joined(g, softmax(g, (q * root) @ (g.transpose(k, 0, 1, 3, 2) * root)) @ v)


@spelling(**MHA)
def attention_scale_computed_from_the_shape(g):
    q, k, v = (heads(g, x) for x in qkv(g))
    width = g.Gather(g.Shape(q), g.constant(np.array(-1)))
    root = g.Sqrt(g.Div(1.0, g.Sqrt(g.cast(width, "f"))))
    return joined(g, softmax(g, (q * root) @ (g.transpose(k, 0, 1, 3, 2) * root)) @ v)


@spelling(**MHA)
def attention_scale_on_the_keys(g):
    q, k, v = (heads(g, x) for x in qkv(g))
    return joined(g, softmax(g, q @ (g.transpose(k, 0, 1, 3, 2) / math.sqrt(8))) @ v)


@spelling(**MHA)
def attention_of_t5(g):
    """No scale, and a bias of positions that is added."""
    bias = g.input("bias", 1, 4, "s", "s")
    q, k, v = (heads(g, x) for x in qkv(g))
    return joined(g, softmax(g, (q @ g.transpose(k, 0, 1, 3, 2)) + bias) @ v)


@spelling(**MHA)
def attention_of_gpt2(g):
    """Causal by Where with the lowest number, and a mask that is added."""
    added = g.input("added", "b", 1, 1, "s")
    causal = g.input("causal", 1, 1, "s", "s", kind="b")
    lowest = g.value(-3.4028234663852886e38)
    return plain(g, lambda s: g.Where(causal, s, lowest) + added)


@spelling(**MHA)
def attention_of_distilbert(g):
    keep = g.input("keep", "b", "s", kind="i")
    gone = g.reduced("Unsqueeze", g.Equal(keep, g.constant(np.array(0))), (1, 2))
    return plain(g, lambda s: g.Where(gone, g.value(-3.4028234663852886e38), s))


@spelling(**MHA)
def attention_of_llama(g):
    """Softmax in float32, an additive causal mask."""
    added = g.input("added", "b", 1, "s", "s")
    return plain(g, lambda s: s + added)


@spelling(**ORT)
def attention_in_float16_with_softmax_in_float32(g):
    g.half = True
    added = g.input("added", "b", 1, "s", "s")
    return plain(g, lambda s: s + added, weights=lambda g, s: g.cast(g.Softmax(g.cast(s, "f"), axis=-1), "h"))


@spelling(**{**MHA, "ort": (14, 18)})
def attention_causal_by_trilu(g):
    size = g.reshape(g.slice(g.Shape(g.input("ids", "b", "s", kind="i")), 1, 2, 0), 1)
    square = g.Expand(g.constant(np.ones((1, 1), np.int64)), g.Concat(size, size, axis=0))
    keep = g.cast(g.Trilu(square, upper=0), "b")
    return plain(g, lambda s: g.Where(keep, s, g.value(-1e9)))


@spelling(**MHA)
def attention_of_scaled_dot_product_boolean(g):
    """torch: a boolean mask becomes 0 and minus infinity, weights that are NaN become 0."""
    keep = g.input("keep", "b", 1, "s", "s", kind="b")
    added = g.Where(keep, g.value(0.0), g.value(-np.inf))
    def weights(g, s):
        p = g.Softmax(s, axis=-1)
        return g.Where(g.IsNaN(p), g.value(0.0), p)
    return plain(g, lambda s: s + added, weights=weights)


@spelling(**MHA)
def attention_softmax_by_hand(g):
    def weights(g, s):
        e = g.Exp(s - g.reduced("ReduceMax", s))
        return e / g.reduced("ReduceSum", e)
    return plain(g, weights=weights)


@spelling(**MHA)
def attention_packed_split(g):
    x = g.input("x", "b", "s", 96)
    q, k, v = (heads(g, part) for part in g.split(x, [32, 32, 32]))
    return attention(g, q, k, v)


@spelling(**MHA)
def attention_packed_of_vit(g):
    x = g.transpose(g.reshape(g.input("x", "b", "s", 96), 0, -1, 3, 4, 8), 2, 0, 3, 1, 4)
    q, k, v = (g.Gather(x, g.constant(np.array(i)), axis=0) for i in range(3))
    return attention(g, q, k, v)


@spelling(**MHA)
def attention_packed_of_gpt_neox(g):
    """Heads first, then q, k and v of each."""
    x = g.transpose(g.reshape(g.input("x", "b", "s", 96), 0, -1, 4, 24), 0, 2, 1, 3)
    q, k, v = g.split(x, [8, 8, 8])
    return attention(g, q, k, v)


@spelling(**MHA)
def attention_packed_by_slices(g):
    x = g.input("x", "b", "s", 96)
    q, k, v = (heads(g, g.slice(x, 32 * i, 32 * i + 32)) for i in range(3))
    return attention(g, q, k, v)


@spelling(**MHA)
def attention_projected(g):
    x = g.input("x", "b", "s", 32)
    q, k, v = (heads(g, (x @ g.weight(32, 32)) + g.weight(32)) for _ in range(3))
    s = (q @ g.transpose(k, 0, 1, 3, 2)) * SCALE
    return joined(g, softmax(g, s) @ v)


@spelling(**MHA)
def attention_by_einsum(g):
    q, k, v = (g.reshape(x, 0, -1, 4, 8) for x in qkv(g))
    s = g.Einsum(q, k, equation="bqhd,bkhd->bhqk") * SCALE
    return g.reshape(g.Einsum(softmax(g, s), v, equation="bhqk,bkhd->bqhd"), 0, -1, 32)


@spelling(**MHA)
def attention_by_einsum_of_keras(g):
    """MultiHeadAttention of Keras: keys before queries."""
    q, k, v = (g.reshape(x, 0, -1, 4, 8) for x in qkv(g))
    s = g.Einsum(k, q * SCALE, equation="aecd,abcd->acbe")
    return g.reshape(g.Einsum(softmax(g, s), v, equation="acbe,aecd->abcd"), 0, -1, 32)


@spelling(**MHA)
def attention_of_three_axes_of_torch(g):
    """nn.MultiheadAttention: [positions, batch * heads, width], turned."""
    q, k, v = (g.input(n, "s", "b", 32) for n in "qkv")
    shape = g.Shape(q)
    positions, batch = (g.slice(shape, i, i + 1, 0) for i in range(2))
    split = g.Concat(positions, g.Mul(batch, [4]), [8], axis=0)
    q, k, v = (g.transpose(g.Reshape(x, split), 1, 0, 2) for x in (q, k, v))
    o = softmax(g, (q * SCALE) @ g.transpose(k, 0, 2, 1)) @ v
    return g.Reshape(g.transpose(o, 1, 0, 2), shape)


@spelling(**MHA)
def attention_of_three_axes_of_bart(g):
    """[batch * heads, positions, width] by a Reshape of the heads."""
    q, k, v = (heads(g, x) for x in qkv(g))
    three = g.Concat([-1], g.slice(g.Shape(q), 2, 3, 0), [8], axis=0)
    a, b, c = (g.Reshape(x, three) for x in (q, k, v))
    o = softmax(g, (a * SCALE) @ g.transpose(b, 0, 2, 1)) @ c
    return joined(g, g.Reshape(o, g.Concat([-1], [4], g.slice(g.Shape(q), 2, 3, 0), [8], axis=0)))


def in_three_axes(g, q, k, v, mask, outer=None):
    """Batch and heads as one axis to the scores, with a mask there, and four axes for another and the softmax."""
    sizes = g.Shape(q)
    batch, tokens = g.slice(sizes, 0, 1, 0), g.slice(sizes, 2, 3, 0)
    three, four = g.Concat([-1], tokens, [8], axis=0), g.Concat(batch, [4], tokens, tokens, axis=0)
    q, k, v = (g.Reshape(x, three) for x in (q, k, v))
    s = (q @ g.transpose(k, 0, 2, 1)) * SCALE + mask(batch, tokens)
    weights = s if outer is None else outer(g.Reshape(s, four))
    weights = g.Reshape(softmax(g, weights), g.Concat([-1], tokens, tokens, axis=0))
    return joined(g, g.Reshape(weights @ v, g.Concat(batch, [4], tokens, [8], axis=0)))


@spelling(**MHA)
def attention_of_bloom(g):
    """Slopes times positions, a row for each head of each sample, and a causal mask for all."""
    slopes = g.constant(np.array([0.5, 0.25, 0.125, 0.0625], np.float32).reshape(4, 1, 1))
    place = g.cast(g.input("place", "s", kind="i"), "f")
    later = g.Greater(g.reduced("Unsqueeze", place, (0,)), g.reduced("Unsqueeze", place, (1,)))
    return in_three_axes(g, *(heads(g, x) for x in qkv(g)), lambda batch, tokens: g.Tile(slopes * place, g.Concat(batch, [1, 1], axis=0)),
                         lambda s: g.Where(later, g.value(-3.4028234663852886e38), s))


@spelling(**MHA)
def attention_of_three_axes_with_positions_of_each_head(g):
    relative = g.input("relative", "b", 4, "s", "s")
    return in_three_axes(g, *(heads(g, x) for x in qkv(g)),
                         lambda batch, tokens: g.Neg(g.Reshape(relative, g.Concat([-1], tokens, tokens, axis=0))))


@spelling(**MHA)
def attention_of_swin(g):
    """A bias of positions for each head, and a mask for each window."""
    q, k, v = (heads(g, g.input(n, "b", 16, 32)) for n in "qkv")
    return attention(g, q, k, v, lambda s: s + g.weight(1, 4, 16, 16))


@spelling(**MHA)
def attention_of_shifted_swin(g):
    """Four windows an image; the mask of each is the same in all images."""
    q, k, v = (heads(g, g.reshape(g.input(n, "b", 4, 9, 32), -1, 9, 32)) for n in "qkv")
    bias, mask = g.weight(1, 4, 9, 9), g.weight(1, 4, 1, 9, 9)
    return attention(g, q, k, v, lambda s: g.reshape(g.reshape(s + bias, -1, 4, 4, 9, 9) + mask, -1, 4, 9, 9))


@spelling(**MHA)
def attention_grouped_by_expand(g):
    q, k, v = qkv(g, kv_width=16)
    def repeated(x):
        five = g.Expand(g.reduced("Unsqueeze", heads(g, x, 2), (2,)), [1, 1, 2, 1, 1])
        return g.reshape(five, 0, 4, -1, 8)
    return attention(g, heads(g, q), repeated(k), repeated(v))


@spelling(**MHA)
def attention_of_one_head_of_keys(g):
    """Falcon, StarCoder: all heads read the same keys."""
    q, k, v = g.input("q", "b", "s", 32), g.input("k", "b", "s", 8), g.input("v", "b", "s", 8)
    s = (heads(g, q) @ g.reduced("Unsqueeze", g.transpose(k, 0, 2, 1), (1,))) * SCALE
    return joined(g, softmax(g, s) @ g.reduced("Unsqueeze", v, (1,)))


@spelling(**MHA)
def attention_with_a_cache(g):
    q, k, v = (heads(g, x) for x in qkv(g))
    k = g.Concat(g.input("past_k", "b", 4, "t", 8), k, axis=2)
    v = g.Concat(g.input("past_v", "b", 4, "t", 8), v, axis=2)
    return attention(g, q, k, v), k, v


@spelling(**MHA)
def attention_with_norms_of_q_and_k(g):
    """Qwen 3."""
    q, k, v = qkv(g)
    def normed(x):
        x = g.reshape(x, 0, -1, 4, 8)
        return g.transpose(x * g.Reciprocal(g.Sqrt(g.mean(x ** 2.0) + 1e-6)) * g.weight(8), 0, 2, 1, 3)
    return attention(g, normed(q), normed(k), heads(g, v))


@spelling({"portable": ["Attention"]}, ort=(), portable=(23,))
def attention_with_softcap(g):
    return plain(g, lambda s: g.Tanh(s / 30.0) * 30.0)


@spelling(**MHA)
def attention_of_deberta(g):
    """Scores of content and positions, all divided by the root of three widths."""
    q, k, v = (heads(g, x) for x in qkv(g))
    relative = g.input("relative", "b", 4, "s", "s")
    s = (q @ g.transpose(k, 0, 1, 3, 2)) / math.sqrt(24) + relative / math.sqrt(24)
    return joined(g, softmax(g, s) @ v)


@spelling(**MHA)
def attention_of_a_vision_tower_without_batch(g):
    q, k, v = (g.transpose(g.reshape(g.input(n, "s", 32), -1, 4, 8), 1, 0, 2) for n in "qkv")
    o = softmax(g, (q @ g.transpose(k, 0, 2, 1)) * SCALE) @ v
    return g.reshape(g.transpose(o, 1, 0, 2), -1, 32)


@spelling(**MHA)
def attention_of_one_head(g):
    """VAE of diffusers."""
    q, k, v = qkv(g)
    return softmax(g, (q @ g.transpose(k, 0, 2, 1)) * 32 ** -0.5) @ v


@spelling(**MHA)
def attention_of_yolo(g):
    """C2PSA: positions last, the weights on the right and turned."""
    x = g.reshape(g.input("x", "b", 96, "h", "w"), 0, 4, 24, -1)
    q, k, v = g.split(x, [8, 8, 8], axis=2)
    s = g.Softmax((g.transpose(q, 0, 1, 3, 2) @ k) * SCALE, axis=-1)
    return g.reshape(v @ g.transpose(s, 0, 1, 3, 2), 0, 32, -1)


@spelling(**MHA)
def attention_of_vqgan(g):
    q, k, v = (g.reshape(g.input(n, "b", 16, "h", "w"), 0, 16, -1) for n in "qkv")
    s = g.Softmax((g.transpose(q, 0, 2, 1) @ k) * 0.25, axis=2)
    return v @ g.transpose(s, 0, 2, 1)


@spelling(**MHA)
def attention_with_the_keys_first(g):
    """k q^T, a softmax down its columns, v^T times that."""
    q, k, v = (heads(g, x) for x in qkv(g, "t"))
    o = g.transpose(v, 0, 1, 3, 2) @ g.Softmax((k @ g.transpose(q, 0, 1, 3, 2)) * SCALE, axis=2)
    return g.reshape(g.transpose(o, 0, 3, 1, 2), 0, -1, 32)


@spelling(**MHA)
def attention_of_learned_queries(g):
    """Perceiver: one sample's queries are all samples'."""
    q = heads(g, g.weight(1, 6, 32))
    k, v = heads(g, g.input("k", "b", "t", 32)), heads(g, g.input("v", "b", "t", 32))
    return attention(g, q, k, v)


@spelling(**MHA)
def attention_of_segments(g):
    """Positions see those of their own document."""
    ids = g.input("ids", "b", "s", kind="i")
    same = g.Equal(g.reduced("Unsqueeze", ids, (1, 3)), g.reduced("Unsqueeze", ids, (1, 2)))
    return plain(g, lambda s: g.Where(same, s, g.value(-1e9)))


@spelling(**MHA)
def attention_in_a_sliding_window(g):
    place = g.cast(g.input("place", "s", kind="i"), "f")
    apart = g.reduced("Unsqueeze", place, (1,)) - g.reduced("Unsqueeze", place, (0,))
    keep = g.And(g.GreaterOrEqual(apart, 0.0), g.Less(apart, 4.0))
    return plain(g, lambda s: g.Where(keep, s, g.value(-3.4028234663852886e38)))


@spelling(**MHA)
def attention_with_sinks(g):
    """gpt-oss: a score of each head that takes its part and has no value."""
    q, k, v = (heads(g, x) for x in qkv(g))
    added = g.input("added", "b", 1, "s", "s")
    s = (q @ g.transpose(k, 0, 1, 3, 2)) * SCALE + added
    shape = g.Concat(g.slice(g.Shape(q), 0, 1, 0), [-1], g.slice(g.Shape(q), 2, 3, 0), [-1], axis=0)
    one = g.constant(np.ones(4, np.int64))
    shape = g.Where(g.Equal(shape, g.constant(np.full(4, -1))), one, shape)
    both = g.Concat(s, g.Expand(g.reshape(g.weight(4), 1, -1, 1, 1), shape), axis=-1)
    p = g.Softmax(both - g.reduced("ReduceMax", both), axis=-1)
    return joined(g, g.slice(p, 0, -1) @ v)


@spelling(**MHA)
def attention_with_sinks_without_mask(g):
    q, k, v = (heads(g, x) for x in qkv(g, "t"))
    sinks = g.Expand(g.weight(1, 4, 1, 1), g.Concat(g.slice(g.Shape(q), 0, 1, 0), [4], g.slice(g.Shape(q), 2, 3, 0), [1], axis=0))
    p = g.Softmax(g.Concat((q @ g.transpose(k, 0, 1, 3, 2)) * SCALE, sinks, axis=-1), axis=-1)
    return joined(g, g.slice(p, 0, -1) @ v)


def with_sinks_of_the_shape_of_scores(g, batch, queries):
    q, k, v = (heads(g, x) for x in qkv(g))
    s = (q @ g.transpose(k, 0, 1, 3, 2)) * SCALE + g.input("added", "b", 1, "s", "s")
    sinks = g.Expand(g.weight(1, 4, 1, 1), g.Concat(batch(s), [4], queries(s), [1], axis=0))
    p = g.Softmax(g.Concat(s, sinks, axis=-1), axis=-1)
    return joined(g, g.slice(p, 0, -1) @ v)


@spelling(**MHA)
def attention_with_sinks_of_the_shape_of_scores(g):
    return with_sinks_of_the_shape_of_scores(g, lambda s: g.slice(g.Shape(s), 0, 1, 0), lambda s: g.slice(g.Shape(s), 2, 3, 0))


@spelling(**MHA)
def attention_with_sinks_of_single_sizes_of_scores(g):
    return with_sinks_of_the_shape_of_scores(g, lambda s: g.reduced("Unsqueeze", g.Gather(g.Shape(s), g.constant(np.int64(0)), axis=0), (0,)),
                                             lambda s: g.Gather(g.Shape(s), g.constant(np.array([2])), axis=0))


@spelling(MHA["left"], ort=(18,), portable=(23,))
def attention_with_sinks_of_stretches_of_scores(g):
    return with_sinks_of_the_shape_of_scores(g, lambda s: g.Shape(s, start=0, end=1), lambda s: g.Shape(s, start=2, end=3))


@spelling(**MHA)
def attention_largest_taken_off(g):
    return plain(g, weights=lambda g, s: g.Softmax(s - g.reduced("ReduceMax", s), axis=-1))


@spelling(**MHA)
def attention_of_alibi(g):
    slopes = g.constant(np.array([0.5, 0.25, 0.125, 0.0625], np.float32).reshape(1, 4, 1, 1))
    place = g.cast(g.input("place", "b", 1, 1, "s", kind="i"), "f")
    return plain(g, lambda s: s + slopes * place)


@spelling(**MHA)
def attention_with_a_mask_and_the_keys_first(g):
    q, k, v = (heads(g, x) for x in qkv(g))
    s = (k @ g.transpose(q, 0, 1, 3, 2)) * SCALE + g.input("mask", "b", 1, "s", "s")
    o = g.transpose(v, 0, 1, 3, 2) @ g.Softmax(s, axis=-2)
    return g.reshape(g.transpose(o, 0, 3, 1, 2), 0, -1, 32)


@spelling(MHA["left"], ort=(18,), portable=(23,))
def attention_up_to_the_query_with_the_keys_first(g):
    """A later key is one below the diagonal there."""
    q, k, v = (heads(g, x) for x in qkv(g))
    s = (k @ g.transpose(q, 0, 1, 3, 2)) * SCALE
    size = g.Squeeze(g.Shape(s, start=2, end=3), g.value([0]))
    place = g.Range(g.constant(np.array(0)), size, g.constant(np.array(1)))
    later = g.Greater(g.Unsqueeze(place, g.value([1])), g.Unsqueeze(place, g.value([0])))
    o = g.transpose(v, 0, 1, 3, 2) @ g.Softmax(g.Where(later, g.value(-1e9), s), axis=-2)
    return g.reshape(g.transpose(o, 0, 3, 1, 2), 0, -1, 32)


# Near-misses.
NONE = ("MultiHeadAttention", "Attention", "GroupQueryAttention")
@near_miss(*NONE, portable=(23,))
def attention_softmax_over_queries(g):
    return plain(g, weights=lambda g, s: g.Softmax(s, axis=2))


@near_miss(*NONE, portable=(23,))
def attention_over_queries_with_the_keys_first(g):
    q, k, v = (heads(g, x) for x in qkv(g))
    o = g.transpose(v, 0, 1, 3, 2) @ g.Softmax((k @ g.transpose(q, 0, 1, 3, 2)) * SCALE, axis=-1)
    return g.reshape(g.transpose(o, 0, 3, 1, 2), 0, -1, 32)


@near_miss(*NONE, portable=(23,))
def attention_mask_after_the_softmax(g):
    keep = g.input("keep", "b", 1, "s", "s")
    return plain(g, weights=lambda g, s: g.Softmax(s, axis=-1) * keep)


@near_miss(*NONE, portable=(23,))
def attention_scale_of_each_head(g):
    return plain(g, scale=g.weight(4, 1, 1))


@near_miss(*NONE, portable=(23,))
def attention_whose_weights_are_an_output(g):
    kept = []
    def weights(g, s):
        kept.append(g.Softmax(s, axis=-1))
        return kept[0]
    return plain(g, weights=weights), kept[0]


@near_miss(*NONE, portable=(23,))
def attention_mask_that_still_counts(g):
    keep = g.input("keep", "b", 1, "s", "s", kind="b")
    return plain(g, lambda s: g.Where(keep, s, g.value(-3.0)))


@near_miss(*NONE, portable=(23,))
def attention_with_a_sink_of_the_first_place(g):
    """What is left out is the first, and the sink stands last."""
    q, k, v = (heads(g, x) for x in qkv(g))
    p = g.Softmax(g.Concat((q @ g.transpose(k, 0, 1, 3, 2)) * SCALE, g.input("sink", "b", 4, "s", 1), axis=-1), axis=-1)
    return joined(g, g.slice(p, 1, 2 ** 63 - 1) @ v)


@near_miss(*NONE, portable=(23,))
def attention_with_talking_heads(g):
    """CaiT: weights of heads are mixed before they are multiplied with v."""
    def weights(g, s):
        p = g.Softmax(s, axis=-1)
        return g.transpose(g.transpose(p, 0, 2, 3, 1) @ g.weight(4, 4), 0, 3, 1, 2)
    return plain(g, weights=weights)


@near_miss(*NONE, portable=(23,))
def attention_with_a_sigmoid(g):
    return plain(g, weights=lambda g, s: g.Sigmoid(s))


@near_miss(*NONE, portable=(23,))
def attention_normed_by_another(g):
    return plain(g, weights=lambda g, s: g.Relu(s) / g.reduced("ReduceSum", g.Relu(s) + 1e-6))
