"""An audio encoder as Qwen3-ASR's is exported: convolution over chunks, positions that restart in each chunk, valid
frames picked out by the mask, attention inside windows of chunks.

static(frames, valid): a trace; the only thing frozen is the list of window lengths, an input's *values* behind it.
dynamic(): the same weights, windows by a mask.
"""
from dataclasses import dataclass

import numpy as np
from onnx import numpy_helper

from .builder import FLOAT, INT64, Builder


@dataclass
class Config:
    layers: int = 2
    hidden: int = 32
    heads: int = 2
    mlp: int = 48
    out: int = 24
    mels: int = 16
    channels: int = 8
    chunk: int = 20        # frames that one convolution sees
    window: int = 4        # chunks that attend to each other
    seed: int = 13

    @property
    def head(self):
        return self.hidden // self.heads

    @property
    def tokens(self):      # of one chunk
        return _halved(self.chunk)


def dynamic(**options):
    return _model(Config(**options), None)


def static(frames, valid=None, **options):
    return _model(Config(**options), valid or frames)


def feeds(frames, valid=None, seed=0):
    mask = np.zeros((1, frames), np.int64)
    mask[0, : valid or frames] = 1
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((1, Config.mels, frames), dtype=np.float32)
    return {"input_features": features, "input_features_mask": mask}


def _halved(n):
    """After three convolutions of stride 2."""
    for _ in range(3):
        n = (n - 1) // 2 + 1 if n else 0
    return n


def _windows(c, valid):
    """Tokens of each window of attention."""
    tokens = valid // c.chunk * c.tokens + _halved(valid % c.chunk)
    span = c.tokens * c.window
    return [span] * (tokens // span) + ([tokens % span] if tokens % span else [])


def _model(c, valid):
    b = Builder("audio_encoder", seed=c.seed)
    features = b.input("input_features", FLOAT, [1, c.mels, "frames"])
    mask = b.input("input_features_mask", INT64, [1, "frames"])
    with b.scope("tower"):
        x = _valid_tokens(b, c, _chunks(b, c, features), mask)
        together = _Split(b, c, _windows(c, valid)) if valid else _Mask(b, c, x)
        for i in range(c.layers):
            with b.scope(f"layers.{i}"):
                x = _layer(b, c, x, together, f"layers.{i}")
        x = b.layer_norm(x, "ln_post", c.hidden)
        x = b.linear(x, "proj", c.hidden, c.out)
    b.output(x, "audio_features", FLOAT, ["num_tokens", c.out])
    return b.model()


def _chunks(b, c, x):
    """[1, mels, frames] -> [chunks, tokens, hidden]"""
    rows, mels, count = b.size(x, 0), b.size(x, 1), b.op("Div", b.size(x, 2), c.chunk)
    x = b.op("Transpose", b.reshape(x, [rows, mels, count, c.chunk]), perm=[0, 2, 1, 3])
    x = b.reshape(x, [b.op("Mul", rows, count), 1, mels, c.chunk])
    width = 1
    for i in range(3):
        with b.scope(f"conv2d{i + 1}"):
            weight = b.weight(f"conv2d{i + 1}.weight", c.channels, width, 3, 3, fan=9 * width)
            x = b.op("Conv", x, weight, b.weight(f"conv2d{i + 1}.bias", c.channels, fan=100), kernel_shape=[3, 3],
                     pads=[1] * 4, strides=[2, 2], dilations=[1, 1], group=1)
        x, width = b.gelu(x), c.channels
    rows, planes, height, steps = (b.size(x, axis) for axis in range(4))
    x = b.op("Transpose", x, perm=[0, 3, 1, 2])
    x = b.reshape(x, [rows, steps, b.op("Mul", planes, height)])
    with b.scope("conv_out"):
        x = b.linear(x, "conv_out", c.channels * _halved(c.mels), c.hidden, bias=False)
    angles = np.arange(c.tokens)[:, None] / 10000.0 ** (np.arange(c.hidden // 2) / (c.hidden // 2 - 1))
    table = b.constant(np.concatenate([np.sin(angles), np.cos(angles)], 1).astype(np.float32))
    return b.op("Add", x, b.op("Slice", table, [0], b.op("Unsqueeze", steps, [0]), [0], [1]))


def _valid_tokens(b, c, x, mask):
    """Tokens [n, hidden] of the frames that the mask marks."""
    rows, count = b.size(mask, 0), b.op("Div", b.size(mask, 1), c.chunk)
    lengths = b.op("ReduceSum", b.reshape(mask, [rows, count, c.chunk]), [-1], keepdims=0)
    lengths = b.reshape(lengths, [-1])
    for _ in range(3):
        zeros = b.op("ConstantOfShape", b.op("Shape", lengths), value=numpy_helper.from_array(np.array([0], np.int64)))
        shorter = b.op("Add", b.op("Div", b.op("Sub", lengths, 1), 2), 1)
        lengths = b.op("Where", b.op("Greater", lengths, 0), shorter, zeros)
    used = b.op("Less", b.op("Range", 0, b.size(x, 1), 1), b.op("Unsqueeze", lengths, [1]))
    places = b.op("NonZero", b.op("Reshape", used, [-1], allowzero=0))
    places = b.op("Squeeze", b.op("Transpose", places, perm=[1, 0]), [1])
    return b.op("Gather", b.reshape(x, [-1, b.size(x, 2)]), places, axis=0)


def _layer(b, c, x, together, name):
    h = b.layer_norm(x, f"{name}.self_attn_layer_norm", c.hidden)
    with b.scope("self_attn"):
        parts = []
        for part in ("q", "k", "v"):
            y = b.reshape(b.linear(h, f"{name}.self_attn.{part}_proj", c.hidden, c.hidden), [b.size(h, 0), c.heads, -1])
            parts.append(b.op("Unsqueeze", b.op("Transpose", y, perm=[1, 0, 2]), [0]))
        mixed = b.reshape(together.attend(*parts), [b.size(h, 0), -1])
        x = b.op("Add", x, b.linear(mixed, f"{name}.self_attn.out_proj", c.hidden, c.hidden))
    h = b.layer_norm(x, f"{name}.final_layer_norm", c.hidden)
    h = b.gelu(b.linear(h, f"{name}.fc1", c.hidden, c.mlp))
    return b.op("Add", x, b.linear(h, f"{name}.fc2", c.mlp, c.hidden))


def _attend(b, c, q, k, v, mask=None):
    scores = b.op("Mul", b.op("MatMul", q, b.op("Transpose", k, perm=[0, 1, 3, 2])), float(c.head**-0.5))
    if mask:
        scores = b.op("Add", scores, mask)
    mixed = b.op("MatMul", b.op("Softmax", scores, axis=-1), v)
    return b.op("Transpose", mixed, perm=[0, 2, 1, 3])


class _Split:
    def __init__(self, b, c, lengths):
        self.b, self.c, self.lengths = b, c, lengths
        self.sizes = b.constant(lengths)

    def attend(self, q, k, v):
        b = self.b
        parts = [b.op("Split", t, self.sizes, outputs=len(self.lengths), axis=2) for t in (q, k, v)]
        parts = parts if len(self.lengths) > 1 else [[p] for p in parts]
        mixed = []
        for i in range(len(self.lengths)):
            with b.scope(f"window.{i}"):
                mixed.append(_attend(b, self.c, *(p[i] for p in parts)))
        return b.op("Concat", *mixed, axis=1)


class _Mask:
    def __init__(self, b, c, x):
        self.b, self.c = b, c
        window = b.op("Div", b.op("Range", 0, b.size(x, 0), 1), c.tokens * c.window)
        same = b.op("Equal", b.op("Unsqueeze", window, [1]), b.op("Unsqueeze", window, [0]))
        self.mask = b.op("Where", same, 0.0, np.finfo(np.float32).min)

    def attend(self, q, k, v):
        return _attend(self.b, self.c, q, k, v, self.mask)
