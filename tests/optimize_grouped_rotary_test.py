"""thaw optimize --target ort: GroupQueryAttention turns queries and keys itself where they are turned by the angles of positions from 0 on,
and caps scores before it masks them."""
import numpy as np
import onnx
import pytest

from conftest import session
from spelling import Graph

HEADS, KEPT, SIZES = 4, 2, ((1, 1), (2, 5), (3, 7), (1, 13), (5, 11))


def halves(g, x, turned, interleaved):
    if not interleaved:
        return g.Concat(-g.slice(x, turned // 2, 2 ** 63 - 1), g.slice(x, 0, turned // 2), axis=-1)
    pairs = [g.slice(x, first, 2 ** 63 - 1, step=2) for first in (0, 1)]
    return g.Reshape(g.Concat(g.Unsqueeze(-pairs[1], [-1]), g.Unsqueeze(pairs[0], [-1]), axis=-1), g.Shape(x))


def rotated(g, x, cos, sin, width, turned, interleaved):
    rest = g.slice(x, turned, 2 ** 63 - 1) if turned < width else None
    x = g.slice(x, 0, turned) if turned < width else x
    y = x * cos + halves(g, x, turned, interleaved) * sin
    return g.Concat(y, rest, axis=-1) if turned < width else y


def decoder(width=16, turned=None, interleaved=False, cap=0, window=0, given=False, sizes=("b", "s"), keys_turned=True):
    """Grouped attention of tokens up to the query's own, of positions that are counted or given."""
    turned, g = turned or width, Graph(17)
    q, k, v = (g.input(name, *sizes, count * width) for name, count in (("q", HEADS), ("k", KEPT), ("v", KEPT)))
    query, key, value = (g.transpose(g.reshape(x, 0, 0, count, width), 0, 2, 1, 3) for x, count in ((q, HEADS), (k, KEPT), (v, KEPT)))
    place = g.Range(g.constant(np.array(0)), g.Squeeze(g.Shape(q, start=1, end=2), [0]), g.constant(np.array(1)))
    rates = g.constant((100.0 ** -(np.arange(0, turned, 2) / turned)).astype(np.float32))
    angles = g.Unsqueeze(g.cast(g.input("positions", *sizes, kind="i") if given else place, "f"), [-1]) * rates
    if interleaved:
        angles = g.reshape(g.Concat(*[g.Unsqueeze(angles, [-1])] * 2, axis=-1), *([0, 0] if given else [-1]), turned)
    else:
        angles = g.Concat(angles, angles, axis=-1)
    cos, sin = (g.Unsqueeze(of, [1] if given else [0, 1]) for of in (g.Cos(angles), g.Sin(angles)))
    query = rotated(g, query, cos, sin, width, turned, interleaved)
    key = rotated(g, key, cos, sin, width, turned, interleaved) if keys_turned else key
    key, value = (g.reshape(g.Expand(g.Unsqueeze(x, [2]), [1, 1, HEADS // KEPT, 1, 1]), 0, HEADS, -1, width) for x in (key, value))
    scores = (query @ g.transpose(key, 0, 1, 3, 2)) * width ** -0.5
    scores = g.Tanh(scores / cap) * cap if cap else scores
    row, column = g.Unsqueeze(place, [1]), g.Unsqueeze(place, [0])
    seen = g.LessOrEqual(column, row)
    seen = g.And(seen, g.Greater(column, g.Sub(row, g.constant(np.array(window))))) if window else seen
    g.output(g.reshape(g.transpose(g.Softmax(scores + g.Where(seen, g.value(0.0), g.value(-1e9)), axis=-1) @ value, 0, 2, 1, 3), 0, 0, HEADS * width))
    return g.model()


def feeds(model, batch, tokens):
    rng = np.random.default_rng(tokens)
    sizes = {"b": batch, "s": tokens}
    for value in model.graph.input:
        shape = [sizes.get(d.dim_param) or d.dim_value for d in value.type.tensor_type.shape.dim]
        of_integers = value.type.tensor_type.elem_type == onnx.TensorProto.INT64
        yield value.name, rng.integers(0, 50, shape) if of_integers else 2 * rng.standard_normal(shape).astype(np.float32)


def optimized(thaw, tmp_path, **how):
    """Pinned at each size, as the kernel refuses sizes that may be 0; which nodes are left."""
    found = []
    for batch, tokens in SIZES:
        made = decoder(sizes=(batch, tokens), **how)
        model, out = tmp_path / "model.onnx", tmp_path / "out.onnx"
        onnx.save(made, model)
        thaw("optimize", model, "-o", out, "--target", "ort", code=0)
        feed = dict(feeds(made, batch, tokens))
        np.testing.assert_allclose(session(out).run(None, feed)[0], session(model).run(None, feed)[0], rtol=1e-4, atol=1e-5)
        assert thaw.json("optimize", out, "--target", "ort", "--dry-run", code=0)["changed"] == []
        found.append(onnx.load(out))
    return found


def grouped(model):
    (node,) = [n for n in model.graph.node if n.op_type == "GroupQueryAttention"]
    return node, {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


INSIDE = {
    "all places": {}, "wider heads": {"width": 32}, "interleaved": {"interleaved": True}, "half of the places": {"width": 32, "turned": 16},
    "half of the places, interleaved": {"width": 32, "turned": 16, "interleaved": True}, "with a window": {"window": 3},
    "with a softcap": {"cap": 5.0}, "with a softcap and a window": {"cap": 5.0, "window": 3},
}


@pytest.mark.parametrize("case", INSIDE)
def test_queries_and_keys_are_turned_inside(thaw, tmp_path, case):
    for model in optimized(thaw, tmp_path, **INSIDE[case])[1:]:  # of one token some of it is nothing
        node, attributes = grouped(model)
        assert attributes["do_rotary"] == 1 and attributes.get("rotary_interleaved", 0) == INSIDE[case].get("interleaved", 0)
        assert attributes.get("softcap", 0) == INSIDE[case].get("cap", 0)
        assert list(node.input[:3]) == ["q", "k", "v"], "the projections as they are"
        assert not {"RotaryEmbedding", "Tanh", "Softmax"} & {n.op_type for n in model.graph.node}


OUTSIDE = {
    "positions that are given": {"given": True}, "heads of 24": {"width": 24}, "few places": {"width": 32, "turned": 8}, "queries alone": {"keys_turned": False},
}


@pytest.mark.parametrize("case", OUTSIDE)
def test_what_the_kernel_would_turn_otherwise(thaw, tmp_path, case):
    """Without a past it turns all samples by the first rows of a table, whatever it is given, and takes no such widths."""
    for (batch, _), model in list(zip(SIZES, optimized(thaw, tmp_path, **OUTSIDE[case]), strict=True))[1:]:
        if batch == 1 and OUTSIDE[case].get("given"):
            assert grouped(model)[1]["do_rotary"] == 1, "the rows are those of the one sample"
            continue
        assert "do_rotary" not in grouped(model)[1] and "RotaryEmbedding" in {n.op_type for n in model.graph.node}


def test_a_softcap_where_a_size_may_be_0(thaw, tmp_path):
    """GroupQueryAttention is not written there, and MultiHeadAttention has none."""
    model, out = tmp_path / "model.onnx", tmp_path / "out.onnx"
    made = decoder(cap=5.0)
    onnx.save(made, model)
    text = thaw("optimize", model, "-o", out, "--target", "ort", "--explain", code=0)
    assert "MultiHeadAttention has no softcap" in text.stdout
    assert "Tanh" in {n.op_type for n in onnx.load(out).graph.node}
    for batch, tokens in SIZES:
        feed = dict(feeds(made, batch, tokens))
        np.testing.assert_allclose(session(out).run(None, feed)[0], session(model).run(None, feed)[0], rtol=1e-4, atol=1e-5)
