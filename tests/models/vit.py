"""An image transformer whose learned positions lie on a square grid and are interpolated to the image's grid.

dynamic(kind) computes the interpolation; static(h, w, kind) is a trace at h x w pixels, in three kinds:

    "table"    the interpolated positions folded into one float table                        (ViT, DINO)
    "resize"   Resize to constant sizes                                                      (ViT, nothing folded)
    "corners"  indices and weights of the four neighbours of each patch as constant tables   (Qwen3-VL)
"""
from dataclasses import dataclass

import numpy as np

from .builder import FLOAT, INT64, Builder

KINDS = ("table", "resize", "corners")


@dataclass
class Config:
    blocks: int = 2
    hidden: int = 32
    heads: int = 2
    mlp: int = 48
    classes: int = 11
    patch: int = 8
    grid: int = 7          # side of the learned grid of positions
    seed: int = 17

    @property
    def head(self):
        return self.hidden // self.heads


def dynamic(kind="resize", **options):
    return _model(Config(**options), kind, None)


def static(h, w, kind="table", **options):
    """h and w in pixels, multiples of the patch."""
    return _model(Config(**options), kind, (h, w))


def feeds(batch, h, w, seed=0):
    return {"image": np.random.default_rng(seed).standard_normal((batch, 3, h, w), dtype=np.float32)}


def _model(c, kind, size):
    b = Builder("vit", seed=c.seed)
    image = b.input("image", FLOAT, ["batch", 3, "height", "width"])
    with b.scope("vit"):
        weight = b.weight("patch_embed.weight", c.hidden, 3, c.patch, c.patch)
        x = b.op("Conv", image, weight, b.weight("patch_embed.bias", c.hidden, fan=100), kernel_shape=[c.patch] * 2,
                 strides=[c.patch] * 2, pads=[0] * 4, dilations=[1, 1], group=1)
        rows = b.size(x, 2, size and size[0] // c.patch)
        columns = b.size(x, 3, size and size[1] // c.patch)
        x = b.reshape(x, [b.size(x, 0), c.hidden, b.arithmetic("Mul", rows, columns)])
        x = b.op("Transpose", x, perm=[0, 2, 1])
        learned = (b.rng.standard_normal((1, c.hidden, c.grid, c.grid)) * 0.7).astype(np.float32)
        with b.scope("positions"):
            x = b.op("Add", x, _POSITIONS[kind](b, c, learned, rows, columns))
        for i in range(c.blocks):
            with b.scope(f"blocks.{i}"):
                x = _block(b, c, x, f"blocks.{i}")
        x = b.layer_norm(x, "norm", c.hidden)
        x = b.linear(b.op("ReduceMean", x, axes=[1], keepdims=0), "head", c.hidden, c.classes)
    b.output(x, "logits", FLOAT, ["batch", c.classes])
    return b.model()


def _block(b, c, x, name):
    h = b.layer_norm(x, f"{name}.norm1", c.hidden)
    with b.scope("attn"):
        qkv = b.linear(h, f"{name}.attn.qkv", c.hidden, 3 * c.hidden)
        qkv = b.reshape(qkv, [b.size(h, 0), b.size(h, 1), 3, c.heads, c.head])
        qkv = b.op("Transpose", qkv, perm=[2, 0, 3, 1, 4])
        q, k, v = (b.op("Gather", qkv, i, axis=0) for i in range(3))
        scores = b.op("Mul", b.op("MatMul", q, b.op("Transpose", k, perm=[0, 1, 3, 2])), float(c.head**-0.5))
        mixed = b.op("Transpose", b.op("MatMul", b.op("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
        mixed = b.reshape(mixed, [b.size(h, 0), b.size(h, 1), c.hidden])
        x = b.op("Add", x, b.linear(mixed, f"{name}.attn.proj", c.hidden, c.hidden))
    with b.scope("mlp"):
        h = b.gelu(b.linear(b.layer_norm(x, f"{name}.norm2", c.hidden), f"{name}.mlp.fc1", c.hidden, c.mlp))
        return b.op("Add", x, b.linear(h, f"{name}.mlp.fc2", c.mlp, c.hidden))


def _resized(b, c, learned, rows, columns):
    table = b.initializer("pos_embed", learned)
    leading = b.op("Slice", b.op("Shape", table), [0], [2], [0])
    sizes = b.constant([1, c.hidden, rows, columns]) if isinstance(rows, int) else \
        b.op("Concat", leading, b.op("Unsqueeze", rows, [0]), b.op("Unsqueeze", columns, [0]), axis=0)
    x = b.op("Resize", table, None, None, sizes, mode="linear", coordinate_transformation_mode="align_corners")
    return b.op("Transpose", b.reshape(x, [1, c.hidden, -1]), perm=[0, 2, 1])


def _folded(b, c, learned, rows, columns):
    if not isinstance(rows, int):
        return _resized(b, c, learned, rows, columns)
    places, weights = _corners(c, rows, columns)
    flat = learned.reshape(c.hidden, -1).T
    return b.constant((flat[places] * weights[..., None]).sum(0)[None].astype(np.float32))


def _gathered(b, c, learned, rows, columns):
    table = b.initializer("pos_embed", np.ascontiguousarray(learned.reshape(c.hidden, -1).T))
    if isinstance(rows, int):
        places, weights = _corners(c, rows, columns)
        places, weights = b.constant(places), b.constant(weights[..., None])
    else:
        places, weights = _computed_corners(b, c, rows, columns)
    parts = b.op("Mul", b.op("Gather", table, places, axis=0), weights)
    total = b.op("Gather", parts, 0, axis=0)
    for i in range(1, 4):
        total = b.op("Add", total, b.op("Gather", parts, i, axis=0))
    return b.op("Unsqueeze", total, [0])


def _corners(c, rows, columns):
    """Indices [4, patches] into the learned grid and their bilinear weights."""
    def line(n):
        at = np.arange(n, dtype=np.float32) * np.float32(c.grid - 1) / np.float32(max(n - 1, 1))
        low = np.floor(at).astype(np.int64)
        return low, np.minimum(low + 1, c.grid - 1), at - low
    top, bottom, down = (t[:, None] for t in line(rows))
    left, right, along = (t[None, :] for t in line(columns))
    one = np.float32(1)
    places = [top * c.grid + left, top * c.grid + right, bottom * c.grid + left, bottom * c.grid + right]
    weights = [(one - down) * (one - along), (one - down) * along, down * (one - along), down * along]
    return np.stack([p.reshape(-1) for p in places]), np.stack([w.reshape(-1) for w in weights]).astype(np.float32)


def _computed_corners(b, c, rows, columns):
    """The same as nodes."""
    def line(n, axis):
        steps = b.op("Cast", b.op("Max", b.op("Sub", n, 1), 1), to=FLOAT)
        at = b.op("Cast", b.op("Range", 0, n, 1), to=FLOAT)
        at = b.op("Unsqueeze", b.op("Div", b.op("Mul", at, float(c.grid - 1)), steps), [axis])
        low = b.op("Floor", at)
        first = b.op("Cast", low, to=INT64)
        return first, b.op("Min", b.op("Add", first, 1), c.grid - 1), b.op("Sub", at, low)
    (top, bottom, down), (left, right, along) = line(rows, 1), line(columns, 0)
    up, back = b.op("Sub", 1.0, down), b.op("Sub", 1.0, along)

    def flat(op, p, q):
        return b.op("Reshape", b.op(op, p, q), [1, -1], allowzero=0)
    places = [flat("Add", b.op("Mul", y, c.grid), x) for y in (top, bottom) for x in (left, right)]
    weights = [flat("Mul", y, x) for y in (up, down) for x in (back, along)]
    return b.op("Concat", *places, axis=0), b.op("Unsqueeze", b.op("Concat", *weights, axis=0), [2])


_POSITIONS = {"table": _folded, "resize": _resized, "corners": _gathered}
