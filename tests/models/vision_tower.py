"""A vision tower as Qwen2.5-VL's is exported: patches in merge order, rotary angles, attention inside windows.

static(h, w): a trace of one image of h x w patches. The window order, its inverse, the rotary angles and the lengths of
the windows are constants; each window is a branch of its own between Split and Concat. Only the number of patches is
declared dynamic. `rotary` says how the angles of the positions were folded: "angles" (a table [patches, head / 2] that
goes through the window order), "folded" (cosines and sines, ready), "gathered" (a table of the longer side, read by a
table of positions, as Qwen3-VL has it).
dynamic(): the same weights with grid_thw as an input (one image): angles and windows are computed, and a mask keeps
attention inside its window. Both agree at every size.
"""
from dataclasses import dataclass

import numpy as np

from .builder import BOOL, FLOAT, INT64, Builder


@dataclass
class Config:
    blocks: int = 4
    full: tuple = (1, 3)   # blocks whose attention sees the whole frame
    hidden: int = 32
    heads: int = 2
    mlp: int = 48
    out: int = 24
    channels: int = 3
    frames: int = 2        # in one patch
    patch: int = 4
    merge: int = 2
    window: int = 4        # merge units along one side of a window
    rotary: str = "angles"
    seed: int = 11

    @property
    def head(self):
        return self.hidden // self.heads

    @property
    def patch_dim(self):
        return self.channels * self.frames * self.patch**2


def dynamic(**options):
    return _model(Config(**options), None)


def static(h, w, **options):
    return _model(Config(**options), (h, w))


def feeds(h, w, with_grid=True, seed=0):
    pixels = np.random.default_rng(seed).standard_normal((h * w, Config().patch_dim), dtype=np.float32)
    return {"pixel_values": pixels, **({"grid_thw": np.array([[1, h, w]])} if with_grid else {})}


def _model(c, size):
    b = Builder("vision_tower", seed=c.seed)
    x = b.input("pixel_values", FLOAT, ["num_patches", c.patch_dim])
    grid = b.input("grid_thw", INT64, [1, 3]) if size is None else None
    with b.scope("visual"):
        with b.scope("patch_embed"):
            kernel = [c.frames, c.patch, c.patch]
            x = b.reshape(x, [-1, c.channels, *kernel])
            weight = b.weight("patch_embed.proj.weight", c.hidden, c.channels, *kernel)
            x = b.op("Conv", x, weight, kernel_shape=kernel, strides=kernel, pads=[0] * 6, dilations=[1] * 3, group=1)
            x = b.reshape(x, [-1, c.hidden])
        layout = _Frozen(b, c, *size) if size else _Computed(b, c, x, grid)
        x = layout.enter(x)
        for i in range(c.blocks):
            with b.scope(f"blocks.{i}"):
                x = _block(b, c, x, layout, i)
        with b.scope("merger"):
            x = b.rms_norm(x, "merger.ln_q", c.hidden)
            x = b.reshape(x, [-1, c.merge**2 * c.hidden])
            x = b.gelu(b.linear(x, "merger.mlp.0", c.merge**2 * c.hidden, c.merge**2 * c.hidden))
            x = layout.leave(b.linear(x, "merger.mlp.2", c.merge**2 * c.hidden, c.out))
    b.output(x, "vision_features", FLOAT, ["num_tokens", c.out])
    return b.model()


def _block(b, c, x, layout, i):
    with b.scope("attn"):
        h = b.rms_norm(x, f"blocks.{i}.norm1", c.hidden)
        qkv = b.linear(h, f"blocks.{i}.attn.qkv", c.hidden, 3 * c.hidden)
        qkv = b.op("Transpose", b.reshape(qkv, [b.size(h, 0), 3, c.heads, -1]), perm=[1, 0, 2, 3])
        q, k, v = (b.op("Squeeze", t, [0]) for t in b.op("Split", qkv, [1, 1, 1], outputs=3, axis=0))
        q, k = (_rotate(b, c, t, layout) for t in (q, k))
        q, k, v = (b.op("Unsqueeze", b.op("Transpose", t, perm=[1, 0, 2]), [0]) for t in (q, k, v))
        mixed = layout.attend(q, k, v, full=i in c.full)  # [1, patches, heads, head]
        mixed = b.reshape(mixed, [b.size(h, 0), -1])
        x = b.op("Add", x, b.linear(mixed, f"blocks.{i}.attn.proj", c.hidden, c.hidden))
    with b.scope("mlp"):
        h = b.rms_norm(x, f"blocks.{i}.norm2", c.hidden)
        gate = b.silu(b.linear(h, f"blocks.{i}.mlp.gate_proj", c.hidden, c.mlp))
        h = b.op("Mul", gate, b.linear(h, f"blocks.{i}.mlp.up_proj", c.hidden, c.mlp))
        return b.op("Add", x, b.linear(h, f"blocks.{i}.mlp.down_proj", c.mlp, c.hidden))


def _rotate(b, c, x, layout):
    """Rotary positions on [patches, heads, head]."""
    half = c.head // 2
    first, second = b.slice(x, 0, half, 2), b.slice(x, half, np.iinfo(np.int64).max, 2)
    turned = b.op("Concat", b.op("Neg", second), first, axis=-1)
    return b.op("Add", b.op("Mul", x, layout.cos), b.op("Mul", turned, layout.sin))


def _attend(b, c, q, k, v, mask=None):
    scores = b.op("Mul", b.op("MatMul", q, b.op("Transpose", k, perm=[0, 1, 3, 2])), float(c.head**-0.5))
    if mask:
        scores = b.op("Add", scores, mask)
    return b.op("Transpose", b.op("MatMul", b.op("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])


def _frequencies(c):
    return (1.0 / 10000.0 ** (np.arange(0, c.head // 2, 2, dtype=np.float32) / (c.head // 2))).astype(np.float32)


class _Frozen:
    """The layout of one image size, as a trace keeps it."""

    def __init__(self, b, c, h, w):
        self.b, self.c = b, c
        self.patches, unit = h * w, c.merge**2
        places = np.stack(_positions(c, h, w), 1)
        self.order, self.lengths = _windows(c, h, w)
        angles = (places[:, :, None] * _frequencies(c)).reshape(self.patches, -1).astype(np.float32)
        if c.rotary == "folded":
            angles = angles.reshape(-1, unit, angles.shape[1])[self.order].reshape(self.patches, -1)
            angles = np.concatenate([angles, angles], 1)[:, None]
            self.cos, self.sin = b.constant(np.cos(angles)), b.constant(np.sin(angles))
            return
        if c.rotary == "gathered":
            table = b.constant(np.arange(max(h, w), dtype=np.float32)[:, None] * _frequencies(c))
            read = b.op("Gather", table, b.op("Slice", b.constant(places), [0], [2], [1], [1]), axis=0)
            angles = b.op("Flatten", read, axis=1)
        angles = b.op("Gather", b.op("Reshape", angles, [len(self.order), unit, -1], allowzero=0), self.order, axis=0)
        angles = b.reshape(angles, [self.patches, -1])
        angles = b.op("Concat", angles, angles, axis=-1)
        self.cos, self.sin = (b.op("Unsqueeze", b.op(f, angles), [1]) for f in ("Cos", "Sin"))

    def enter(self, x):
        b, unit = self.b, self.c.merge**2
        patches = b.size(x, 0)
        units = b.op("Div", patches, unit)
        x = b.op("Gather", b.reshape(x, [units, unit, -1]), b.constant(self.order), axis=0)
        return b.reshape(x, [patches, -1])

    def leave(self, x):
        return self.b.op("Gather", x, np.argsort(self.order), axis=0)

    def attend(self, q, k, v, full):
        b, lengths = self.b, [self.patches] if full else self.lengths
        sizes = b.constant(lengths)
        parts = [b.op("Split", t, sizes, outputs=len(lengths), axis=2) for t in (q, k, v)]
        if len(lengths) == 1:
            return _attend(b, self.c, *parts)
        mixed = []
        for i in range(len(lengths)):
            with b.scope(f"window.{i}"):
                mixed.append(_attend(b, self.c, *(p[i] for p in parts)))
        return b.op("Concat", *mixed, axis=1)


class _Computed:
    """The layout as arithmetic on grid_thw: patches stay in place and a mask parts the windows."""

    def __init__(self, b, c, x, grid):
        self.b, self.c = b, c
        unit, merge = c.merge**2, c.merge
        with b.scope("layout"):
            flat = b.op("Reshape", grid, [-1], allowzero=0)
            w = b.op("Gather", flat, 2, axis=0)
            place = b.op("Range", 0, b.size(x, 0), 1)
            inside, unit_index = b.op("Mod", place, unit), b.op("Div", place, unit)
            columns = b.op("Div", w, merge)
            unit_row, unit_column = b.op("Div", unit_index, columns), b.op("Mod", unit_index, columns)
            row = b.op("Add", b.op("Mul", unit_row, merge), b.op("Div", inside, merge))
            column = b.op("Add", b.op("Mul", unit_column, merge), b.op("Mod", inside, merge))
            places = [b.op("Unsqueeze", b.op("Cast", p, to=FLOAT), [1]) for p in (row, column)]
            angles = [b.op("Mul", p, _frequencies(c)) for p in places]
            angles = b.op("Concat", *angles, *angles, axis=-1)
            self.cos, self.sin = (b.op("Unsqueeze", b.op(f, angles), [1]) for f in ("Cos", "Sin"))
            across = b.op("Add", b.op("Div", columns, c.window), 1)
            window_row, window_column = b.op("Div", unit_row, c.window), b.op("Div", unit_column, c.window)
            window = b.op("Add", b.op("Mul", window_row, across), window_column)
            same = b.op("Equal", b.op("Unsqueeze", window, [1]), b.op("Unsqueeze", window, [0]))
            self.mask = b.op("Where", b.op("Cast", same, to=BOOL), 0.0, np.finfo(np.float32).min)

    def enter(self, x):
        return x

    def leave(self, x):
        return x

    def attend(self, q, k, v, full):
        return _attend(self.b, self.c, q, k, v, None if full else self.mask)


def _positions(c, h, w):
    """Row and column of each patch, in merge order."""
    rows, columns = np.meshgrid(np.arange(h), np.arange(w), indexing="ij")
    units = (h // c.merge, c.merge, w // c.merge, c.merge)
    return [p.reshape(units).transpose(0, 2, 1, 3).reshape(-1) for p in (rows, columns)]


def _windows(c, h, w):
    """The order of merge units by window, and the patches of each window."""
    h, w = h // c.merge, w // c.merge
    index = np.arange(h * w).reshape(h, w)
    order, lengths = [], []
    for i in range(0, h, c.window):
        for j in range(0, w, c.window):
            part = index[i : i + c.window, j : j + c.window].reshape(-1)
            order.append(part)
            lengths.append(len(part) * c.merge**2)
    return np.concatenate(order), lengths
