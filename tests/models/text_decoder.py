"""A text decoder as Qwen2 and Llama are exported: RMSNorm, rotary positions, grouped keys and values, SwiGLU.

dynamic(): input_ids and attention_mask [batch, seq]; every size runs through Shape -> Gather -> Unsqueeze -> Concat.
static(batch, seq): the same weights, frozen as TorchScript freezes them: positions, masks and shapes are constants.
36 layers make about 6,900 nodes.
"""
from dataclasses import dataclass

import numpy as np

from .builder import BOOL, FLOAT, INT64, Builder

LOWEST = np.finfo(np.float32).min


@dataclass
class Config:
    layers: int = 2
    hidden: int = 64
    heads: int = 4
    kv_heads: int = 2
    mlp: int = 128
    vocab: int = 199
    theta: float = 1e6
    seed: int = 7

    @property
    def head(self):
        return self.hidden // self.heads


def dynamic(**options):
    return _model(Config(**options), None, None)


def static(batch, seq, **options):
    return _model(Config(**options), batch, seq)


def feeds(batch, seq, pad=0, seed=0, vocab=Config.vocab):
    """Inputs at a size; `pad` positions at the left of the first row are masked."""
    rng = np.random.default_rng(seed)
    mask = np.ones((batch, seq), np.int64)
    mask[0, :pad] = 0
    return {"input_ids": rng.integers(0, vocab, (batch, seq)), "attention_mask": mask}


def _model(c, batch, seq):
    b = Builder("text_decoder", seed=c.seed)
    dims = [batch or "batch", seq or "seq"]
    ids, mask = b.input("input_ids", INT64, dims), b.input("attention_mask", INT64, dims)
    with b.scope("model"):
        x = b.op("Gather", b.weight("model.embed_tokens.weight", c.vocab, c.hidden, fan=1), ids)
        rows, columns = b.size(ids, 0, batch), b.size(ids, 1, seq)
        bias = _causal_mask(b, mask, rows, columns)
        cos, sin = _rotary_tables(b, c, rows, columns)
        for i in range(c.layers):
            with b.scope(f"layers.{i}"):
                x = _layer(b, c, x, bias, cos, sin, f"model.layers.{i}", batch, seq)
        x = b.rms_norm(x, "model.norm", c.hidden)
    with b.scope("lm_head"):
        logits = b.linear(x, "lm_head", c.hidden, c.vocab, bias=False)
    b.output(logits, "logits", FLOAT, [*dims, c.vocab])
    return b.model()


def _causal_mask(b, mask, rows, columns):
    """[batch, 1, seq, seq]: 0 where a query may look, the lowest float where not."""
    padding = b.op("Cast", mask, to=BOOL)
    keys = b.op("Unsqueeze", b.arange(columns), [0, 1, 2]) if isinstance(columns, str) else \
        b.constant(np.arange(columns).reshape(1, 1, 1, -1))
    queries = b.op("Unsqueeze", b.arange(columns), [0, 1, 3]) if isinstance(columns, str) else \
        b.constant(np.arange(columns).reshape(1, 1, -1, 1))
    samples = b.op("Unsqueeze", b.arange(rows), [1, 2, 3]) if isinstance(rows, str) else \
        b.constant(np.arange(rows).reshape(-1, 1, 1, 1))
    causal = b.op("LessOrEqual", keys, queries)
    # padding[sample, key], flattened, as the exporter writes an index by two tensors
    width = b.op("Gather", b.op("Shape", padding), 1, axis=0)
    place = b.op("Add", keys, b.op("Mul", samples, width))
    flat = b.op("Gather", b.op("Flatten", padding, axis=2), b.op("Reshape", place, [-1], allowzero=0), axis=0)
    visible = b.op("Reshape", flat, b.op("Concat", b.op("Shape", place), axis=0), allowzero=0)
    allowed = b.expand(b.op("And", causal, b.op("Cast", visible, to=BOOL)), [rows, -1, columns, columns])
    return b.op("Where", allowed, 0.0, LOWEST)


def _rotary_tables(b, c, rows, columns):
    """cos and sin [batch, 1, seq, head]."""
    with b.scope("rotary_emb"):
        frequencies = 1.0 / c.theta ** (np.arange(0, c.head, 2, dtype=np.float32) / c.head)
        positions = b.op("Unsqueeze", b.arange(columns), [0]) if isinstance(columns, str) else \
            b.constant(np.arange(columns).reshape(1, -1))
        positions = b.op("Cast", b.op("Unsqueeze", b.expand(positions, [rows, -1]), [2]), to=FLOAT)
        angles = b.op("Mul", positions, frequencies.reshape(1, 1, -1).astype(np.float32))
        angles = b.op("Concat", angles, angles, axis=-1)
        tables = [b.op("Mul", b.op(f, angles), 1.0) for f in ("Cos", "Sin")]
        return [b.op("Unsqueeze", t, [1]) for t in tables]


def _layer(b, c, x, bias, cos, sin, name, batch, seq):
    h = b.rms_norm(x, f"{name}.input_layernorm", c.hidden)
    with b.scope("self_attn"):
        x = b.op("Add", x, _attention(b, c, h, bias, cos, sin, f"{name}.self_attn", batch, seq))
    h = b.rms_norm(x, f"{name}.post_attention_layernorm", c.hidden)
    with b.scope("mlp"):
        gate = b.silu(b.linear(h, f"{name}.mlp.gate_proj", c.hidden, c.mlp, bias=False))
        up = b.linear(h, f"{name}.mlp.up_proj", c.hidden, c.mlp, bias=False)
        return b.op("Add", x, b.linear(b.op("Mul", gate, up), f"{name}.mlp.down_proj", c.mlp, c.hidden, bias=False))


def _attention(b, c, h, bias, cos, sin, name, batch, seq):
    rows, columns = b.size(h, 0, batch), b.size(h, 1, seq)

    def heads(part, width):
        y = b.linear(h, f"{name}.{part}_proj", c.hidden, width)
        return b.op("Transpose", b.reshape(y, [rows, columns, -1, c.head]), perm=[0, 2, 1, 3])

    q, k, v = heads("q", c.hidden), heads("k", c.kv_heads * c.head), heads("v", c.kv_heads * c.head)
    q, k = (b.op("Add", b.op("Mul", t, cos), b.op("Mul", b.rotate_half(t, c.head), sin)) for t in (q, k))
    k, v = (_repeat(b, c, t, batch, seq) for t in (k, v))
    scores = b.op("Mul", b.op("MatMul", q, b.op("Transpose", k, perm=[0, 1, 3, 2])), float(c.head**-0.5))
    keys = b.size(k, 2, seq)
    ends = b.shape([keys])
    scores = b.op("Add", scores, b.op("Slice", bias, [0], ends, [3], [1]))
    weights = b.op("Cast", b.op("Softmax", scores, axis=-1), to=FLOAT)
    mixed = b.op("Transpose", b.op("MatMul", weights, v), perm=[0, 2, 1, 3])
    return b.linear(b.reshape(mixed, [rows, columns, -1]), f"{name}.o_proj", c.hidden, c.hidden, bias=False)


def _repeat(b, c, x, batch, seq):
    """[batch, kv_heads, seq, head] -> [batch, heads, seq, head] through Unsqueeze, Expand, Reshape."""
    rows, columns = b.size(x, 0, batch), b.size(x, 2, seq)
    x = b.expand(b.op("Unsqueeze", x, [2]), [rows, c.kv_heads, c.heads // c.kv_heads, columns, c.head])
    return b.reshape(x, [rows, c.heads, columns, c.head])
