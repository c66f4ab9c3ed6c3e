"""Running built decoders: feeds, caches, greedy decoding."""
import numpy as np


def positions_of(mask):
    """As generation counts them: tokens from 0, padding 1."""
    return np.where(mask == 1, np.cumsum(mask, 1) - 1, 1)


class Cached:
    """A text.onnx built with --kv-cache. Keeps the cache between calls."""

    def __init__(self, session, batch):
        self.session = session
        self.axes = {i.name: len(i.shape) for i in session.get_inputs()}
        self.past = {i.name: np.zeros((batch, i.shape[1], 0, i.shape[3]), dtype_of(i))
                     for i in session.get_inputs() if i.name.startswith("past_key_values.")}
        self.outputs = [o.name for o in session.get_outputs()]

    def __call__(self, mask, positions, **tokens):
        if self.axes["position_ids"] == 3 and positions.ndim == 2:
            positions = np.stack([positions] * 3)
        feeds = {**tokens, "attention_mask": mask, "position_ids": positions, **self.past}
        out = dict(zip(self.outputs, self.session.run(None, feeds), strict=True))
        self.past = {name: out[name.replace("past_key_values", "present")] for name in self.past}
        return out["logits"]


def dtype_of(node):
    return {"tensor(float)": np.float32, "tensor(float16)": np.float16}[node.type]


def greedy(session, prompt, mask, count, embed=None, positions=None, deltas=0):
    """The `count` tokens that follow. embed(ids) -> what the model takes instead of input_ids."""
    embed = embed or (lambda ids: {"input_ids": ids})
    model = Cached(session, len(prompt))
    positions = positions_of(mask) if positions is None else positions
    ids, tokens = prompt, []
    for _ in range(count):
        ids = model(mask, positions, **embed(ids))[:, -1].argmax(-1)[:, None].astype(np.int64)
        tokens.append(ids)
        mask = np.concatenate([mask, np.ones_like(ids)], 1)
        positions = mask.sum(1, keepdims=True) - 1 + deltas
    return np.concatenate(tokens, 1)
