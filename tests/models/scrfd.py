"""A face detector of SCRFD's shape, as mmdetection's exporter (opset 11) and a round of shape inference leave it.

One name, `?`, stands for every size at every scale: declared so in the inputs, the outputs and value_info. Sizes of the
pyramid's Resize nodes go Shape -> Slice -> Concat; heads end in Transpose(2, 3, 0, 1) -> Reshape(-1, 1 | 4 | 10).
"""
import numpy as np
from onnx import helper

from .builder import FLOAT, Builder

STRIDES = (8, 16, 32)
UNKNOWN = "?"


class _Writer(Builder):
    """Names as that exporter gives them: values by a running number, nodes by operator and number."""

    def __init__(self, *args, **kw):
        super().__init__(*args, **kw)
        self._number = 0
        self.shapes = {}

    def new_name(self, op):
        self._number += 1
        return f"{op}_{self._number}"

    def output_name(self, node_name, index):
        return str(270 + int(node_name.rsplit("_", 1)[1]))

    def declare(self, value, dims):
        self.shapes[value] = dims
        self.value_info.append(helper.make_tensor_value_info(value, FLOAT, dims))
        return value

    def channels(self, value):
        return self.shapes[value][1]

    def like(self, value, source, channels=None):
        """Declares `value` as the shape inference of the time did: batch and channels of `source`, sizes unknown."""
        batch = self.shapes[source][0]
        return self.declare(value, [batch, channels or self.channels(source), UNKNOWN, UNKNOWN])

    def conv(self, x, name, channels, kernel=3, stride=1):
        width = self.channels(x)
        pad = kernel // 2
        weight = self.weight(f"{name}.weight", channels, width, kernel, kernel, fan=width * kernel * kernel)
        y = self.op("Conv", x, weight, self.weight(f"{name}.bias", channels, fan=100), dilations=[1, 1], group=1,
                    kernel_shape=[kernel, kernel], pads=[pad] * 4, strides=[stride, stride])
        return self.like(y, x, channels)

    def relu(self, x):
        return self.like(self.op("Relu", x), x)

    def add(self, x, y):
        out = self.op("Add", x, y)
        batch = self.shapes[x][0] if self.shapes[x][0] == self.shapes[y][0] else UNKNOWN
        return self.declare(out, [batch, self.channels(x), UNKNOWN, UNKNOWN])

    def pool(self, kind, x, **attributes):
        y = self.op(kind, x, kernel_shape=[2, 2], pads=[0] * 4, strides=[2, 2], **attributes)
        return self.like(y, x)


def model(width=8, neck=8, head=16, stages=(1, 1, 1, 1), seed=3):
    """`width` and `neck` are the channels of the stem and of the pyramid; `stages` the blocks of each stage."""
    b = _Writer("scrfd", opset=11, ir_version=6, seed=seed)
    x = b.input("input.1", FLOAT, [1, 3, UNKNOWN, UNKNOWN])
    b.shapes[x] = [1, 3, UNKNOWN, UNKNOWN]
    x = b.relu(b.conv(x, "stem.0", width, stride=2))
    x = b.relu(b.conv(x, "stem.1", width))
    x = b.relu(b.conv(x, "stem.2", 2 * width))
    x = b.pool("MaxPool", x, ceil_mode=0)
    levels = []
    for i, (blocks, channels) in enumerate(zip(stages, (2 * width, 4 * width, 4 * width, 6 * width))):
        for k in range(blocks):
            x = _block(b, x, f"layer{i + 1}.{k}", channels, stride=2 if i and k == 0 else 1)
        levels.append(x)
    outputs = [_head(b, x, stride, head) for x, stride in zip(_pyramid(b, levels[1:], neck), STRIDES)]
    for kind, columns in enumerate((1, 4, 10)):
        for scores_boxes_points in outputs:
            b.outputs.append(helper.make_tensor_value_info(scores_boxes_points[kind], FLOAT, [UNKNOWN, columns]))
    made = {o.name for o in b.outputs}
    b.value_info = [v for v in b.value_info if v.name not in made]
    return b.model()


def declare_batch(source, batch):
    """What the field did to get a batch: writes it over the 1 in the input and in value_info."""
    changed = type(source)()
    changed.CopyFrom(source)
    for value in [*changed.graph.input, *changed.graph.value_info]:
        dims = value.type.tensor_type.shape.dim
        if len(dims) == 4 and dims[0].dim_value == 1:
            dims[0].dim_value = batch
    return changed


def without_value_info(source):
    """The same network with nothing declared inside: ONNX Runtime runs it at every size, so it serves as reference."""
    changed = type(source)()
    changed.CopyFrom(source)
    del changed.graph.value_info[:]
    return changed


def feeds(batch, height, width, seed=0):
    return {"input.1": np.random.default_rng(seed).standard_normal((batch, 3, height, width), dtype=np.float32)}


def _block(b, x, name, channels, stride):
    y = b.relu(b.conv(x, f"{name}.conv1", channels, stride=stride))
    y = b.conv(y, f"{name}.conv2", channels)
    if stride == 2:
        x = b.conv(b.pool("AveragePool", x, ceil_mode=1), f"{name}.downsample", channels, kernel=1)
    return b.relu(b.add(y, x))


def _upsample(b, x, like):
    """Resize of x to the height and width of `like`."""
    sides = [b.op("Gather", b.op("Shape", like), _scalar(b, axis), axis=0) for axis in (2, 3)]
    sides = [b.op("Unsqueeze", side, axes=[0]) for side in sides]
    zero, two = _vector(b, "starts", [0]), _vector(b, "ends", [2])
    leading = b.op("Slice", b.op("Shape", x), zero, two, zero)
    empty = b.empty = getattr(b, "empty", None) or b.initializer("roi", np.zeros(0, np.float32))
    y = b.op("Resize", x, empty, empty, b.op("Concat", leading, *sides, axis=0), mode="nearest", nearest_mode="floor",
             coordinate_transformation_mode="asymmetric", cubic_coeff_a=-0.75)
    return b.declare(y, [UNKNOWN] * 4)


def _pyramid(b, levels, neck):
    fine, middle, coarse = (b.conv(x, f"neck.lateral_convs.{i}", neck, kernel=1) for i, x in enumerate(levels))
    middle = b.add(middle, _upsample(b, coarse, middle))
    fine = b.add(fine, _upsample(b, middle, fine))
    fine, middle, coarse = (b.conv(x, f"neck.fpn_convs.{i}", neck) for i, x in enumerate((fine, middle, coarse)))
    middle = b.add(middle, b.conv(fine, "neck.downsample_convs.0", neck, stride=2))
    coarse = b.add(coarse, b.conv(middle, "neck.downsample_convs.1", neck, stride=2))
    return [fine, b.conv(middle, "neck.pafpn_convs.0", neck), b.conv(coarse, "neck.pafpn_convs.1", neck)]


def _head(b, x, stride, channels):
    """Scores [-1, 1], boxes [-1, 4] and key points [-1, 10] of two anchors a place."""
    name = f"bbox_head.({stride}, {stride})"
    for i in range(2):
        x = b.relu(b.conv(x, f"{name}.{i}", channels))
    scale = b.initializer(f"{name}.scale", np.float32(1.1))
    outputs = []
    for part, columns in (("cls", 1), ("reg", 4), ("kps", 10)):
        y = b.conv(x, f"{name}.{part}", 2 * columns)
        if part == "reg":
            y = b.like(b.op("Mul", y, scale), y)
        y = b.declare(b.op("Transpose", y, perm=[2, 3, 0, 1]), [UNKNOWN, UNKNOWN, UNKNOWN, 2 * columns])
        y = b.declare(b.op("Reshape", y, _vector(b, f"rows_of_{columns}", [-1, columns])), [UNKNOWN, columns])
        outputs.append(b.declare(b.op("Sigmoid", y), [UNKNOWN, 1]) if part == "cls" else y)
    return outputs


def _vector(b, name, values):
    """An initializer, written once."""
    if name not in {i.name for i in b.initializers}:
        b.initializer(name, np.array(values, np.int64))
    return name


def _scalar(b, value):
    name = f"axis_{value}"
    if name not in {i.name for i in b.initializers}:
        b.initializer(name, np.array(value, np.int64))
    return name
