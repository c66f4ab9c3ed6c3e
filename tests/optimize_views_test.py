"""thaw optimize: shapes that allow sizes of 0, and reshapings around a Transpose that move whole axes."""
import itertools

import numpy as np
import onnx
import pytest

from conftest import session
from optimize_control_test import clean
from optimize_test import assert_equal_everywhere, model_of, typed

B, S = "z = Constant<value_ints=[0]>() b = Gather(h, z)", "o = Constant<value_ints=[1]>() s = Gather(h, o)"  # sizes of x
# name: (input, target's parts, what stays of nodes)
ALLOWED = {
    "sizes that keep their places": ("float[n,m,32] x", "h = Shape(x) {B} {S} l = Constant<value_ints=[4,8]>() t = Concat<axis=0>(b, s, l)", "Reshape"),
    "beside one that is left": ("float[n,m,32] x", "h = Shape(x) {B} {S} l = Constant<value_ints=[-1,8]>() t = Concat<axis=0>(b, s, l)", "Reshape"),
    "rows": ("float[n,m,32] x", "h = Shape(x) {B} {S} p = Mul(b, s) l = Constant<value_ints=[32]>() t = Concat<axis=0>(p, l)", "Reshape"),
    "sizes behind a copied one that may be 0": ("float[n,m,32] x", "h = Shape(x) {B} {S} k = Constant<value_ints=[8]>() p = Mul(s, k) l = Constant<value_ints=[4]>() t = Concat<axis=0>(b, p, l)", None),
    "two sizes as one behind another": ("float[n,3,m,5] x", "h = Shape(x) {B} w = Constant<value_ints=[2]>() s = Gather(h, w) l = Constant<value_ints=[3]>() k = Constant<value_ints=[5]>() p = Mul(s, k) t = Concat<axis=0>(b, l, p)", None),
    "a size that is 0": ("float[n,0,m] x", "h = Shape(x) {B} l = Constant<value_ints=[0]>() k = Constant<value_ints=[7]>() t = Concat<axis=0>(b, l, k)", None),
}
EMPTY = ({"n": 0, "m": 3}, {"n": 2, "m": 0}, {"n": 0, "m": 0})


def at_empty_sizes(before, after, empty=EMPTY):
    """What ran where there are no elements runs, with the same sizes."""
    shapes = [[d.dim_param or d.dim_value for d in i.type.tensor_type.shape.dim] for i in onnx.load(before).graph.input]
    assert len(shapes) == 1
    ran = 0
    for sizes in empty:
        feed = {"x": np.zeros([sizes.get(d, d) for d in shapes[0]], np.float32)}
        try:
            wanted = session(before).run(None, feed)[0]
        except Exception:
            continue
        assert session(after).run(None, feed)[0].shape == wanted.shape
        ran += 1
    return ran


@pytest.mark.parametrize("name", ALLOWED)
def test_a_target_that_allows_zeros(thaw, save, tmp_path, name):
    inputs, target, left = ALLOWED[name]
    body = f"{target.format(B=B, S=S)} y = Reshape<allowzero=1>(x, t)"
    path, out = save(typed(model_of(18, inputs, "y", body))), tmp_path / "out.onnx"
    operators = clean(thaw, path, out)
    assert operators == left if left else "Concat" in operators.split()
    if name != "a size that is 0":
        assert_equal_everywhere(path, out)
    if name != "beside one that is left":  # ONNX has no -1 beside a size of 0
        assert at_empty_sizes(path, out) > 0


@pytest.mark.parametrize(("target", "left"), [("[-1,8]", "Reshape Neg"), ("[0,8]", "Reshape Reshape Neg")])
def test_a_constant_target_that_allows_zeros(thaw, save, tmp_path, target, left):
    """Without a 0 it is a target as any other; with one it is a size, which only a tensor without elements has."""
    body = f"f = Constant<value_ints=[-1]>() t = Constant<value_ints={target}>() a = Reshape(x, f) b = Reshape<allowzero=1>(a, t) y = Neg(b)"
    path, out = save(typed(model_of(18, "float[n,m,8] x", "y", body))), tmp_path / "out.onnx"
    assert clean(thaw, path, out) == left
    if "0" in target:
        assert at_empty_sizes(path, out) > 0
    else:
        assert_equal_everywhere(path, out)


def test_a_kept_size_beside_frozen_ones(thaw, save, tmp_path):
    """Where a size was frozen, sizes that keep their places are written as 0 all the same."""
    body = (f"h = Shape(x) {B} {S} l = Constant<value_ints=[4,2]>() t = Concat<axis=0>(b, s, l) a = Reshape<allowzero=1>(x, t)"
            " u = Constant<value_ints=[6,5,8]>() v = Reshape(a, u) y = Neg(v)")
    path, out = save(typed(model_of(18, "float[n,m,8] x", "y", body))), tmp_path / "out.onnx"
    assert "Concat" not in clean(thaw, path, out).split()


SIZES = "h = Shape(x) i = Constant<value_ints=[0]>() j = Constant<value_ints=[1]>() k = Constant<value_ints=[2]>() l = Constant<value_ints=[3]>() g = Constant<value_ints=[-1]>()" \
        " b = Gather(h, i) c = Gather(h, j) s = Gather(h, k) d = Gather(h, l)"
WHOLE = {
    "heads beside the batch": ("float[n,4,m,8] x", "t = Concat<axis=0>(g, s, d) v = Reshape(x, t) w = Transpose<perm=[0,2,1]>(v) u = Concat<axis=0>(b, c, d, s) y = Reshape(w, u)",
                               [0, 1, 3, 2]),
    "rows of all": ("float[n,m,3,5] x", "p = Mul(c, s) t = Concat<axis=0>(b, p, d) v = Reshape(x, t) w = Transpose<perm=[2,0,1]>(v) u = Concat<axis=0>(d, b, c, s) y = Reshape(w, u)",
                    [3, 0, 1, 2]),
    "an axis of 1": ("float[n,1,m,5] x", "a = Squeeze(x, j) w = Transpose<perm=[2,0,1]>(a) y = Unsqueeze(w, k)", [3, 0, 1, 2]),
    "an axis in two that stay together": ("float[n,m,6,5] x", "e = Constant<value_ints=[2]>() f = Constant<value_ints=[3]>() t = Concat<axis=0>(b, c, e, f, d) v = Reshape(x, t)"
                                          " w = Transpose<perm=[0,2,3,1,4]>(v) u = Concat<axis=0>(b, s, c, d) y = Reshape(w, u)", [0, 2, 1, 3]),
}
PARTED = {
    "an axis in two that change places": ("float[n,m,6,5] x", "e = Constant<value_ints=[2]>() f = Constant<value_ints=[3]>() t = Concat<axis=0>(b, c, e, f, d) v = Reshape(x, t)"
                                          " w = Transpose<perm=[0,3,2,1,4]>(v) u = Concat<axis=0>(b, s, c, d) y = Reshape(w, u)"),
    "windows": ("float[n,m,6,6] x", "e = Constant<value_ints=[2]>() f = Constant<value_ints=[3]>() t = Concat<axis=0>(b, c, e, f, e, f) v = Reshape(x, t)"
                " w = Transpose<perm=[0,1,2,4,3,5]>(v) u = Concat<axis=0>(b, c, s, d) y = Reshape(w, u)"),
    "sizes that go elsewhere": ("float[n,m,6,5] x", "p = Mul(c, s) t = Concat<axis=0>(b, p, d) v = Reshape(x, t) w = Transpose<perm=[0,2,1]>(v) u = Concat<axis=0>(b, c, s, d) y = Reshape(w, u)"),
    "a Transpose that something else reads": ("float[n,4,m,8] x", "t = Concat<axis=0>(g, s, d) v = Reshape(x, t) w = Transpose<perm=[0,2,1]>(v) u = Concat<axis=0>(b, c, d, s) a = Reshape(w, u)"
                                              " e = ReduceMax<keepdims=0>(w) y = Add(a, e)"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_reshapings_around_a_transpose_that_moves_whole_axes(thaw, save, tmp_path, name):
    inputs, body, order = WHOLE[name]
    path, out = save(typed(model_of(18, inputs, "y", f"{SIZES} {body}"))), tmp_path / "out.onnx"
    assert clean(thaw, path, out) == "Transpose"
    assert list(onnx.load(out).graph.node[0].attribute[0].ints) == order
    assert_equal_everywhere(path, out)
    assert at_empty_sizes(path, out, EMPTY[:1]) > 0


@pytest.mark.parametrize("name", PARTED)
def test_reshapings_around_a_transpose_that_parts_axes_stay(thaw, save, tmp_path, name):
    inputs, body = PARTED[name]
    path, out = save(typed(model_of(18, inputs, "y", f"{SIZES} {body}"))), tmp_path / "out.onnx"
    assert clean(thaw, path, out).split().count("Reshape") == 2
    assert_equal_everywhere(path, out)


@pytest.mark.parametrize("seed", range(40))
def test_drawn_views(thaw, save, tmp_path, seed):
    """Axes of 2, 3, 1 and n, parted or joined anyhow: the numbers are those of NumPy, and what stays is no more than there was."""
    rng = np.random.default_rng(seed)
    n = 7
    factors = [int(f) for f in rng.choice([2, 3, 1, n], size=rng.integers(3, 6))]

    def joined(sizes):
        cuts = sorted(rng.choice(range(1, len(sizes)), size=rng.integers(1, len(sizes)), replace=False).tolist())
        return [int(np.prod(sizes[a:b])) for a, b in itertools.pairwise([0, *cuts, len(sizes)])]

    start, viewed = joined(factors), joined(factors)
    order = [int(axis) for axis in rng.permutation(len(viewed))]
    end = joined([viewed[axis] for axis in order])
    if rng.random() < 0.5 and len(start) == len(end):
        end = [start[axis] for axis in rng.permutation(len(start))]
    free = start.index(n) if start.count(n) == 1 else -1
    shape = ["n" if axis == free else size for axis, size in enumerate(start)]

    def target(sizes):
        return f"[{','.join(map(str, [-1 if free >= 0 and size % n == 0 and sum(s % n == 0 for s in sizes) == 1 else size for size in sizes]))}]"

    body = f"t = Constant<value_ints={target(viewed)}>() u = Constant<value_ints={target(end)}>() v = Reshape(x, t) w = Transpose<perm={order}>(v) y = Reshape(w, u)"
    path, out = save(typed(model_of(18, f"float[{','.join(map(str, shape))}] x", "y", body))), tmp_path / "out.onnx"
    assert len(clean(thaw, path, out).split()) <= 3
    x = rng.standard_normal(start).astype(np.float32)
    wanted = x.reshape(viewed).transpose(order).reshape(end)
    np.testing.assert_array_equal(session(out).run(None, {"x": x})[0], wanted)
