"""Pictures and sounds that are made up: edges, waves and noise, the same wherever they are made."""
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


def sound(count, rate, seed=0):
    """A sweep, a tone that comes and goes, noise and a pause: `count` samples of float32."""
    t = np.arange(count) / rate
    samples = 0.4 * np.sin(2 * np.pi * (200 + 900 * t) * t) + 0.2 * np.sin(2 * np.pi * 1333 * t) * (np.sin(3 * t) > 0)
    samples += np.random.default_rng(seed).normal(0, 0.003, count)
    samples[count // 3:count // 3 + count // 10] = 0
    return samples.astype(np.float32)
