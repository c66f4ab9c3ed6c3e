"""Pictures that are drawn: edges, waves and noise, the same wherever they are drawn."""
import numpy as np
from PIL import Image


def picture(width, height, seed=0):
    """[height, width, 3] of uint8."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    waves = [127 + 120 * np.sin(x / 7 + seed), 127 + 120 * np.cos(y / 5 + x / 13), 255.0 * ((x // 9 + y // 7) % 2)]
    noise = np.random.default_rng(seed).normal(0, 20, (height, width, 3))
    return np.clip(np.stack(waves, -1) + noise, 0, 255).astype(np.uint8)


def save(path, width, height, seed=0, **options):
    Image.fromarray(picture(width, height, seed)).save(path, **options)
    return path
