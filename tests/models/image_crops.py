"""What Phi-4-multimodal's image path adds to a plain tower, in two small models.

bucket_positions(n): fractional positions k/n counted into buckets of 1/32, as SigLIP picks its learned positions for a
partly masked crop. The exporter writes them as Range over floats, and ONNX Runtime adds the step up in float32: at n = 28
the position 21/28 = 24/32 falls short of its boundary and lands in bucket 23. With exact=True the positions are an
integer Range divided by n, which lands where the source does.

tiling_static(rows, columns, used_rows, used_columns): the features of rows x columns crops laid out as one image, cut to
the part that the mask marks as used, each line closed by a newline feature. The used height and width were read out of
the mask while tracing: Slice ends and a Tile repeat are constants whose source is a *value* of an input.
tiling_dynamic(): the same, computed from the mask.
"""
import numpy as np

from .builder import FLOAT, INT64, Builder

BUCKETS = 32
SIDE = 4       # features along one side of a crop
WIDTH = 8      # of a feature


def bucket_positions(exact=False):
    b = Builder("bucket_positions", seed=19)
    count = b.input("patches", INT64, [])
    if exact:
        positions = b.op("Div", b.op("Cast", b.op("Range", 0, count, 1), to=FLOAT), b.op("Cast", count, to=FLOAT))
    else:
        step = b.op("Reciprocal", b.op("Cast", count, to=FLOAT))
        positions = b.op("Range", 0.0, float(np.float32(1 - 1e-6)), step)
    boundaries = (np.arange(1, BUCKETS) / BUCKETS).astype(np.float32)
    reached = b.op("LessOrEqual", boundaries, b.op("Unsqueeze", positions, [1]))
    buckets = b.op("ReduceSum", b.op("Cast", reached, to=INT64), [1], keepdims=0)
    b.output(buckets, "buckets", INT64, ["positions"])
    return b.model()


def true_buckets(n):
    return np.array([k * BUCKETS // n for k in range(n)])


def tiling_dynamic():
    return _tiling(None)


def tiling_static(rows, columns, used_rows=None, used_columns=None):
    """Crops and the used part of the mask (in features) that the trace was made with."""
    return _tiling((used_rows or rows * SIDE, used_columns or columns * SIDE))


def tiling_feeds(rows, columns, used_rows=None, used_columns=None, seed=0):
    """crop_mask [crops, SIDE, SIDE] marks the used features, crops in row order."""
    rng = np.random.default_rng(seed)
    mask = np.zeros((rows * SIDE, columns * SIDE), np.int64)
    mask[: used_rows or rows * SIDE, : used_columns or columns * SIDE] = 1
    crops = mask.reshape(rows, SIDE, columns, SIDE).transpose(0, 2, 1, 3).reshape(-1, SIDE, SIDE)
    return {"features": rng.standard_normal((rows * columns, SIDE**2, WIDTH), dtype=np.float32),
            "crop_mask": np.ascontiguousarray(crops), "image_size": np.array([rows, columns])}


def _tiling(used):
    b = Builder("image_crops", seed=23)
    features = b.input("features", FLOAT, ["crops", SIDE**2, WIDTH])
    mask = b.input("crop_mask", INT64, ["crops", SIDE, SIDE])
    layout = b.input("image_size", INT64, [2])
    rows, columns = b.op("Gather", layout, 0, axis=0), b.op("Gather", layout, 1, axis=0)

    def whole(x, width):
        """Crops [rows * columns, SIDE, SIDE, width] as one image [1, rows * SIDE, columns * SIDE, width]."""
        x = b.op("Transpose", b.reshape(x, [rows, columns, SIDE, SIDE, width]), perm=[0, 2, 1, 3, 4])
        return b.reshape(x, [1, b.op("Mul", rows, SIDE), b.op("Mul", columns, SIDE), width])

    plane = whole(mask, 1)
    image = whole(features, WIDTH)
    newline = b.weight("newline", 1, 1, 1, WIDTH)
    if used:
        height, width = b.constant([used[0]]), b.constant([used[1]])
        repeats = b.constant([1, used[0], 1, 1])
    else:
        height = b.op("ReduceSum", b.op("ReduceMax", plane, axes=[0, 2, 3], keepdims=0), [0], keepdims=1)
        width = b.op("ReduceSum", b.op("ReduceMax", plane, axes=[0, 1, 3], keepdims=0), [0], keepdims=1)
        repeats = b.op("Concat", b.constant([1]), height, b.constant([1, 1]), axis=0)
    image = b.op("Slice", image, [0], height, [1], [1])
    image = b.op("Slice", image, [0], width, [2], [1])
    lines = b.op("Concat", image, b.op("Tile", newline, repeats), axis=2)
    y = b.reshape(lines, [1, -1, WIDTH])
    y = b.op("Squeeze", b.linear(y, "img_projection", WIDTH, WIDTH), [0])
    b.output(y, "image_features", FLOAT, ["tokens", WIDTH])
    return b.model()
