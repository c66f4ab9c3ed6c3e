"""The inputs that the tower fixtures are compared at, drawn again from numpy each time."""
import numpy as np

# Grids (frames, height, width in patches) of the images of a call.
GRIDS = [
    [(1, 22, 30)],
    [(1, 30, 22)],  # the same number of patches, turned
    [(1, 2, 2)],
    [(2, 10, 14)],
    [(1, 6, 26), (3, 4, 10), (1, 2, 2)],
    [(1, 14, 14), (1, 34, 2)],
]
# Frames of the batch, and of each clip in it.
CLIPS = [
    (1000, [950]),
    (437, [437]),
    (53, [53]),
    (1201, [1201]),
    (300, [297, 211, 61]),
    (200, [3, 200]),
]
CASES = dict(qwen2_vl=GRIDS, qwen2_5_vl=GRIDS, qwen3_vl=GRIDS, qwen3_asr=CLIPS)
PATCH_FEATURES = 3 * 2 * 4 * 4
MEL_BINS = 24


def inputs(family, case, i):
    rng = np.random.default_rng(100 + i)
    if family == "qwen3_asr":
        frames, lengths = case
        mask = (np.arange(frames)[None] < np.array(lengths)[:, None]).astype(np.int64)
        features = rng.standard_normal((len(lengths), MEL_BINS, frames), dtype=np.float32)
        return dict(input_features=features, input_features_mask=mask)
    grid = np.array(case, np.int64)
    return dict(pixel_values=rng.standard_normal((int(grid.prod(1).sum()), PATCH_FEATURES), dtype=np.float32), grid_thw=grid)
