"""Inputs for Phi-4-multimodal's vision tower, drawn anew wherever they are needed: images of several crop grids."""
import numpy as np

PATCH = 14
SIDE, CROP = 32, 448  # patches and pixels along a crop
ODD_SIDE = 5  # of a tower with smaller crops

# Of each image: crops down, crops across, patch rows hidden at the bottom, patch columns hidden at the right.
CASES = {
    "one crop, 28 x 26 patches": [(1, 1, 4, 6)],
    "two by three": [(2, 3, 6, 4)],
    "a row of four, odd borders": [(1, 4, 5, 3)],
    "three images": [(2, 2, 0, 0), (1, 3, 8, 2), (1, 1, 0, 31)],
    "a column of five": [(5, 1, 1, 0)],
    "nothing hidden": [(1, 1, 0, 0)],
}


ODD_CASE = [(2, 3, 1, 2), (1, 1, 0, 0), (1, 2, 2, 3)]


def draw(images, seed, side=SIDE):
    """pixel_values, image_attention_mask and image_sizes as the image processor would give them."""
    crops = max(1 + down * across for down, across, _, _ in images)
    pixels = np.random.default_rng(seed).standard_normal((len(images), crops, 3, side * PATCH, side * PATCH), dtype=np.float32)
    mask = np.ones((len(images), crops, side, side), bool)  # padding crops too, as the processor has it
    sizes = np.array([[down * side * PATCH, across * side * PATCH] for down, across, _, _ in images], np.int64)
    for image, (down, across, bottom, right) in enumerate(images):
        shown = np.zeros((down * side, across * side), bool)
        shown[: down * side - bottom, : across * side - right] = True
        split = shown.reshape(down, side, across, side).transpose(0, 2, 1, 3).reshape(-1, side, side)
        mask[image, 1 : 1 + down * across] = split
    return {"pixel_values": pixels, "image_attention_mask": mask, "image_sizes": sizes}


def feeds(name):
    return draw(CASES[name], seed=list(CASES).index(name))


def odd_feeds():
    return draw(ODD_CASE, seed=99, side=ODD_SIDE)


def num_tokens(images, side=SIDE):
    cells = (side + 1) // 2  # along a crop
    count = 0
    for down, across, bottom, right in images:
        rows, columns = (down - 1) * cells + (side - bottom + 1) // 2, (across - 1) * cells + (side - right + 1) // 2
        count += rows * (columns + 1) + 1 + cells * (cells + 1)
    return count
