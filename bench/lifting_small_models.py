"""Small nets written for the trial of lifting: of every kind the field has, half of which round sizes in unusual ways.

DEVELOP, HELD_BACK, SEALED, FRESH and LATER: by name, what makes the torch model, what makes its inputs of a size, and its kind. What lifting
gets wrong in the first is mended; the second is run only to see whether that was mended for its class. The others were written without
knowing how lifting works, one after the other. Each runs in under 100 ms.
"""
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

DEVELOP, HELD_BACK, SEALED, FRESH, LATER = {}, {}, {}, {}, {}


@dataclass
class SmallNet:
    name: str
    make: Callable  # -> torch.nn.Module whose forward takes the inputs in their order
    inputs: Callable  # (*size) -> numpy arrays by name
    kind: str  # image, sequence or audio


def image_of(h, w):
    return dict(image=np.random.default_rng(h * 1000 + w).standard_normal((1, 3, h, w), dtype=np.float32))


def ids_of(n):
    return dict(ids=np.random.default_rng(n).integers(1, 50, (1, n)))


def features_of(n):
    return dict(features=np.random.default_rng(n).standard_normal((1, n, 16), dtype=np.float32))


def audio_of(n):
    return dict(audio=np.random.default_rng(n).standard_normal((1, 1, n), dtype=np.float32))


KIND_OF = {image_of: "image", ids_of: "sequence", features_of: "sequence", audio_of: "audio"}


def net(nets, inputs, kind=None):
    """Adds a class to a list, under its name in lower case."""
    def add(cls):
        name = "".join("_" + c.lower() if c.isupper() else c for c in cls.__name__).lstrip("_")
        nets[name] = SmallNet(name, cls, inputs, kind or KIND_OF[inputs])
        return cls
    return add


def sides(x):
    """The last two sides of a map, as integers while it is traced too."""
    return int(x.shape[-2]), int(x.shape[-1])


def conv(a, b, kernel=3, stride=1, padding=None):
    return nn.Conv2d(a, b, kernel, stride, kernel // 2 if padding is None else padding)


def attend(q, k, v, bias=None):
    """Attention of (..., n, d), written out."""
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    return (scores if bias is None else scores + bias).softmax(-1) @ v


def heads_of(x, heads):
    b, n, d = x.shape
    return x.view(b, n, heads, d // heads).transpose(1, 2)


def joined(x):
    b, heads, n, d = x.shape
    return x.transpose(1, 2).reshape(b, n, heads * d)


def rotated(x, angles):
    """Rotary positions of (..., n, d): halves turned against each other."""
    a, b = x.chunk(2, -1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


import lifting_small_develop  # noqa: E402, F401 (each adds its own nets)
import lifting_small_fresh  # noqa: E402, F401
import lifting_small_fresh_sequences  # noqa: E402, F401
import lifting_small_held_back  # noqa: E402, F401
import lifting_small_later  # noqa: E402, F401
import lifting_small_later_sequences  # noqa: E402, F401
import lifting_small_sealed  # noqa: E402, F401
import lifting_small_sealed_sequences  # noqa: E402, F401
