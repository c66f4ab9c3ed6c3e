"""Patches of a grid merged two by two, as an exporter freezes it: Reshape by [1, 11, 2, 15, 2, -1] at a grid of 22 x 30.

static(h, w): a trace of one frame. The Reshape's target, the lengths of a Split and the target of an Expand hold the
grid's sizes; 2 is the side of a merge, the number of heads and the number of frames in a patch. `grid` says whether
grid_thw is still an input. Any number of patches is declared; some run at 22 x 30 only, and 30 x 22 runs and is wrong.
dynamic(): the same weights with the sizes computed from grid_thw, which may have more frames than one.
"""
import numpy as np

from .builder import FLOAT, INT64, Builder

PATCH, WIDTH, HEADS, MERGE, OUT = 24, 16, 2, 2, 12


def dynamic():
    return _model(None, True)


def static(h, w, grid=True):
    return _model((1, h, w), grid)


def feeds(h, w, t=1, seed=0):
    pixels = np.random.default_rng(seed).standard_normal((t * h * w, PATCH), dtype=np.float32)
    return {"pixel_values": pixels, "grid_thw": np.array([[t, h, w]])}


def _model(size, grid):
    b = Builder("merge_grid", seed=3)
    x = b.input("pixel_values", FLOAT, ["num_patches", PATCH])
    given = b.input("grid_thw", INT64, [1, 3]) if grid else None
    if size:
        t, h, w = size
    else:
        flat = b.op("Reshape", given, [-1], allowzero=0)
        t, h, w = (b.op("Gather", flat, i, axis=0) for i in range(3))
    rows, columns = b.arithmetic("Div", h, MERGE), b.arithmetic("Div", w, MERGE)
    tokens = b.arithmetic("Mul", t, b.arithmetic("Mul", rows, columns))
    x = b.linear(x, "embed", PATCH, WIDTH)
    with b.scope("merge"):
        x = b.reshape(x, [t, rows, MERGE, columns, MERGE, -1])
        x = b.op("Transpose", x, perm=[0, 1, 3, 2, 4, 5])
        x = b.reshape(x, [t, rows, columns, MERGE * MERGE * WIDTH])
    with b.scope("rows"):  # each token sees the mean of its row
        mean = b.op("ReduceMean", x, axes=[2], keepdims=1)
        x = b.op("Add", x, b.op("Expand", mean, b.shape([t, rows, columns, MERGE * MERGE * WIDTH])))
    with b.scope("heads"):
        x = b.linear(b.reshape(x, [tokens, MERGE * MERGE * WIDTH]), "mix", MERGE * MERGE * WIDTH, WIDTH)
        x = b.op("Transpose", b.reshape(x, [-1, HEADS, WIDTH // HEADS]), perm=[1, 0, 2])
        one = b.op("Split", x, b.shape([tokens]), outputs=1, axis=1)
        x = b.reshape(b.op("Transpose", b.op("Softmax", one, axis=-1), perm=[1, 0, 2]), [-1, WIDTH])
    b.output(b.linear(x, "out", WIDTH, OUT), "features", FLOAT, ["num_tokens", OUT])
    return b.model()
