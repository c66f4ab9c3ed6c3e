"""Inputs for Phi-4-multimodal's vision tower, drawn anew wherever they are needed: images of several crop grids."""
import numpy as np

SIDE, CROP = 32, 448  # patches and pixels along a crop

# Of each image: crops down, crops across, patch rows hidden at the bottom, patch columns hidden at the right.
CASES = {
    "one crop, 28 x 26 patches": [(1, 1, 4, 6)],
    "two by three": [(2, 3, 6, 4)],
    "a row of four, odd borders": [(1, 4, 5, 3)],
    "three images": [(2, 2, 0, 0), (1, 3, 8, 2), (1, 1, 0, 31)],
    "a column of five": [(5, 1, 1, 0)],
    "nothing hidden": [(1, 1, 0, 0)],
}


def draw(images, seed):
    """pixel_values, image_attention_mask and image_sizes as the image processor would give them."""
    crops = max(1 + down * across for down, across, _, _ in images)
    pixels = np.random.default_rng(seed).standard_normal((len(images), crops, 3, CROP, CROP), dtype=np.float32)
    mask = np.ones((len(images), crops, SIDE, SIDE), bool)  # padding crops too, as the processor has it
    sizes = np.array([[down * CROP, across * CROP] for down, across, _, _ in images], np.int64)
    for image, (down, across, bottom, right) in enumerate(images):
        shown = np.zeros((down * SIDE, across * SIDE), bool)
        shown[: down * SIDE - bottom, : across * SIDE - right] = True
        split = shown.reshape(down, SIDE, across, SIDE).transpose(0, 2, 1, 3).reshape(-1, SIDE, SIDE)
        mask[image, 1 : 1 + down * across] = split
    return pixels, mask, sizes


def feeds(name):
    pixels, mask, sizes = draw(CASES[name], seed=list(CASES).index(name))
    return {"pixel_values": pixels, "image_attention_mask": mask, "image_sizes": sizes}


def num_tokens(images):
    half = SIDE // 2
    count = 0
    for down, across, bottom, right in images:
        rows, columns = (down * SIDE - bottom + 1) // 2, (across * SIDE - right + 1) // 2
        count += rows * (columns + 1) + 1 + half * (half + 1)
    return count
