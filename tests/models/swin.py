"""A Swin transformer in small: windows of whole rows of cells by Reshape, every other block on windows that are shifted by
half, a mask that keeps what the shift joins apart, padding up to whole windows, and patch merging between two stages.

static(batch, h, w): a trace at h x w pixels, multiples of 8. Everything that follows from the size is a constant: Reshape
targets, padding, ends of Slices, and the masks as tables [1, windows, 1, cells, cells].
"""
from dataclasses import dataclass

import numpy as np

from .builder import FLOAT, Builder


@dataclass
class Config:
    stages: int = 2
    hidden: int = 16
    heads: int = 2
    mlp: int = 24
    patch: int = 4
    window: int = 3        # cells along one side
    seed: int = 29
    left_out: bool = False  # Slices that cut nothing off, as exporters leave them out

    @property
    def head(self):
        return self.hidden // self.heads


def static(batch, h, w, **options):
    c = Config(**options)
    b = Builder("swin", seed=c.seed)
    x = b.input("image", FLOAT, [batch, 3, h, w])
    with b.scope("patch_embed"):
        weight = b.weight("patch_embed.weight", c.hidden, 3, c.patch, c.patch)
        x = b.op("Conv", x, weight, kernel_shape=[c.patch] * 2, strides=[c.patch] * 2, pads=[0] * 4, dilations=[1, 1], group=1)
        rows, columns, width = h // c.patch, w // c.patch, c.hidden
        x = b.op("Transpose", b.reshape(x, [batch, width, rows * columns]), perm=[0, 2, 1])
    for stage in range(c.stages):
        for block in range(2):
            with b.scope(f"stage.{stage}.block.{block}"):
                x = _block(b, c, x, batch, rows, columns, width, c.window // 2 if block else 0, f"{stage}.{block}")
        if stage + 1 < c.stages:
            with b.scope(f"stage.{stage}.merge"):
                x, rows, columns, width = _merge(b, x, batch, rows, columns, width, f"{stage}.merge")
    b.output(b.layer_norm(x, "norm", width), "features", FLOAT, ["batch", "cells", width])
    return b.model()


def feeds(batch, h, w, seed=0):
    return {"image": np.random.default_rng(seed).standard_normal((batch, 3, h, w), dtype=np.float32)}


def _block(b, c, x, batch, rows, columns, width, shift, name):
    m = c.window
    padded = -(-rows // m) * m, -(-columns // m) * m
    y = b.reshape(b.layer_norm(x, f"{name}.norm1", width), [batch, rows, columns, width])
    y = b.op("Pad", y, [0, 0, 0, 0, 0, padded[0] - rows, padded[1] - columns, 0], 0.0)
    if shift:
        y = _rolled(b, _rolled(b, y, shift, padded[0], 1), shift, padded[1], 2)
    down, across = padded[0] // m, padded[1] // m
    y = b.op("Transpose", b.reshape(y, [batch, down, m, across, m, width]), perm=[0, 1, 3, 2, 4, 5])
    y = b.reshape(y, [batch * down * across, m * m, width])
    y = _attend(b, c, y, batch, down * across, width, _mask(*padded, m, shift) if shift else None, name)
    y = b.op("Transpose", b.reshape(y, [batch, down, across, m, m, width]), perm=[0, 1, 3, 2, 4, 5])
    y = b.reshape(y, [batch, *padded, width])
    if shift:
        y = _rolled(b, _rolled(b, y, padded[0] - shift, padded[0], 1), padded[1] - shift, padded[1], 2)
    for axis, size in ((1, rows), (2, columns)):
        if not c.left_out or size < padded[axis - 1]:
            y = b.slice(y, 0, size, axis)
    x = b.op("Add", x, b.reshape(y, [batch, rows * columns, width]))
    y = b.gelu(b.linear(b.layer_norm(x, f"{name}.norm2", width), f"{name}.fc1", width, c.mlp))
    return b.op("Add", x, b.linear(y, f"{name}.fc2", c.mlp, width))


def _rolled(b, x, by, size, axis):
    return b.op("Concat", b.slice(x, by, size, axis), b.slice(x, 0, by, axis), axis=axis)


def _mask(rows, columns, m, shift):
    """-100 between cells of one window that were not neighbours before the shift."""
    part = np.zeros((rows, columns), np.int64)
    for i, r in enumerate((slice(0, -m), slice(-m, -shift), slice(-shift, None))):
        for j, s in enumerate((slice(0, -m), slice(-m, -shift), slice(-shift, None))):
            part[r, s] = 3 * i + j
    cells = part.reshape(rows // m, m, columns // m, m).transpose(0, 2, 1, 3).reshape(-1, m * m)
    apart = cells[:, None, :] != cells[:, :, None]
    return np.where(apart, -100.0, 0.0).astype(np.float32)[None, :, None]


def _attend(b, c, x, batch, windows, width, mask, name):
    cells, heads = c.window**2, c.heads
    parts = []
    for part in "qkv":
        y = b.reshape(b.linear(x, f"{name}.{part}", width, width), [batch * windows, cells, heads, width // heads])
        parts.append(b.op("Transpose", y, perm=[0, 2, 1, 3]))
    q, k, v = parts
    scores = b.op("Mul", b.op("MatMul", q, b.op("Transpose", k, perm=[0, 1, 3, 2])), float((width // heads) ** -0.5))
    scores = b.op("Add", scores, b.weight(f"{name}.bias_table", 1, heads, cells, cells, fan=4))
    if mask is not None:
        scores = b.op("Add", b.reshape(scores, [batch, windows, heads, cells, cells]), b.constant(mask))
        scores = b.reshape(scores, [batch * windows, heads, cells, cells])
    y = b.op("Transpose", b.op("MatMul", b.op("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
    return b.linear(b.reshape(y, [batch * windows, cells, width]), f"{name}.proj", width, width)


def _merge(b, x, batch, rows, columns, width, name):
    """Four neighbours become one cell of twice the width."""
    x = b.reshape(x, [batch, rows, columns, width])
    corners = [b.op("Slice", x, [i, j], [rows, columns], [1, 2], [2, 2]) for j in (0, 1) for i in (0, 1)]
    x = b.reshape(b.op("Concat", *corners, axis=3), [batch, rows * columns // 4, 4 * width])
    x = b.linear(b.layer_norm(x, f"{name}.norm", 4 * width), f"{name}.reduction", 4 * width, 2 * width, bias=False)
    return x, rows // 2, columns // 2, 2 * width
