"""The small nets of images of a third trial that was written without knowing how lifting works; see lifting_small_models.py."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from lifting_small_fresh import map_of, tokens_of
from lifting_small_models import (
    LATER,
    attend,
    conv,
    heads_of,
    image_of,
    joined,
    net,
    sides,
)


def two_images(h, w):
    random = np.random.default_rng(h * 1000 + w)
    first, noise = (random.standard_normal((1, 3, h, w), dtype=np.float32) for _ in range(2))
    return dict(first=first, second=np.roll(first, 10, 3) + noise / 4)


def table(values):
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))


def pairs_turned(x, cos, sin):
    """Rotary positions of interleaved pairs; cos and sin are half as wide as x."""
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)


def same_pad(x, kernel, stride, value=0.0):
    """What TensorFlow calls SAME: as much padding as makes ceil(n / stride) outputs, the odd place at the end."""
    h, w = (max((math.ceil(n / stride) - 1) * stride + kernel - n, 0) for n in sides(x))
    return F.pad(x, (w // 2, w - w // 2, h // 2, h - h // 2), value=value)


@net(LATER, image_of)
class EfficientdetBifpn(nn.Module):
    """SAME padding, squeeze and excitation, and two rounds of BiFPN: nearest up to each level's size, down by pools whose stride follows from both sizes."""

    def __init__(self):
        super().__init__()
        self.stem = nn.ModuleList(conv(a, 12, 3, 2, 0) for a in (3, 12, 12, 12, 12))
        self.squeeze, self.excite = conv(12, 4, 1), conv(4, 12, 1)
        self.nodes = nn.ModuleList(conv(12, 12, 3) for _ in range(8))
        self.weights = nn.Parameter(torch.rand(8, 3))
        self.classes, self.boxes = conv(12, 6, 3), conv(12, 12, 3)

    def resampled(self, x, size):
        h, w = sides(x)
        if h > size[0] or w > size[1]:
            down, across = int((h - 1) // size[0] + 1), int((w - 1) // size[1] + 1)
            ph, pw = (max((math.ceil(n / s) - 1) * s + s + 1 - n, 0) for n, s in ((h, down), (w, across)))
            x = F.pad(x, (pw // 2, pw - pw // 2, ph // 2, ph - ph // 2), value=-1e4)
            return F.max_pool2d(x, (down + 1, across + 1), (down, across))
        return F.interpolate(x, size=size, mode="nearest") if (h, w) != size else x

    def fused(self, number, *parts):
        size = sides(parts[0])
        weights = F.relu(self.weights[number, :len(parts)])
        weights = weights / (weights.sum() + 1e-4)
        return self.nodes[number](F.silu(sum(weights[i] * self.resampled(part, size) for i, part in enumerate(parts))))

    def forward(self, image):
        x, levels = image, []
        for layer in self.stem:
            x = F.silu(layer(same_pad(x, 3, 2)))
            x = x * torch.sigmoid(self.excite(F.silu(self.squeeze(x.mean((2, 3), keepdim=True))))) if layer is not self.stem[0] else x
            levels.append(x)
        p3, p4, p5 = levels[2:]
        for first in (0, 4):
            top = self.fused(first, p4, p5)
            bottom = self.fused(first + 1, p3, top)
            p4, p3 = self.fused(first + 2, p4, top, bottom), bottom
            p5 = self.fused(first + 3, p5, p4)
        levels = (p3, p4, p5)
        return tuple(torch.cat([tokens_of(head(x)).reshape(1, -1, n) for x in levels], 1) for head, n in ((self.classes, 3), (self.boxes, 4)))


@net(LATER, image_of)
class XcitFourier(nn.Module):
    """Waves of running counts as positions, attention of channels to channels over all places, a local mix of places, and class attention at the end."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(conv(3, 8, 3, 2), nn.GELU(), conv(8, 16, 3, 2), nn.GELU(), conv(16, 16, 3, 2))
        self.project, self.qkv, self.out = conv(16, 16, 1), nn.Linear(16, 48), nn.Linear(16, 16)
        self.temperature = nn.Parameter(torch.ones(2, 1, 1))
        self.near, self.norm, self.far = nn.Conv2d(16, 16, 3, 1, 1, groups=16), nn.GroupNorm(1, 16), nn.Conv2d(16, 16, 3, 1, 1, groups=16)
        self.token, self.class_qkv, self.head = nn.Parameter(torch.randn(1, 1, 16)), nn.Linear(16, 48), nn.Linear(16, 10)

    def positions(self, h, w):
        there = torch.ones(1, h, w)
        y, x = there.cumsum(1), there.cumsum(2)
        y, x = y / (y[:, -1:, :] + 1e-6) * 2 * math.pi, x / (x[:, :, -1:] + 1e-6) * 2 * math.pi
        rates = torch.arange(8)
        rates = 10000 ** (2 * torch.div(rates, 2, rounding_mode="floor") / 8)
        parts = [a[..., None] / rates for a in (y, x)]
        parts = [torch.stack((a[..., 0::2].sin(), a[..., 1::2].cos()), 4).flatten(3) for a in parts]
        return torch.cat(parts, 3).permute(0, 3, 1, 2)

    def forward(self, image):
        x = self.stem(image)
        h, w = sides(x)
        x = tokens_of(x + self.project(self.positions(h, w)))
        for _ in range(2):
            q, k, v = (heads_of(part, 2).transpose(-2, -1) for part in self.qkv(F.layer_norm(x, (16,))).chunk(3, -1))
            weights = (F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1) * self.temperature).softmax(-1)
            x = x + self.out((weights @ v).permute(0, 3, 1, 2).reshape(1, h * w, 16))
            x = x + tokens_of(self.far(self.norm(F.gelu(self.near(map_of(F.layer_norm(x, (16,)), h, w))))))
        x = torch.cat([self.token, x], 1)
        q, k, v = (heads_of(part, 2) for part in self.class_qkv(F.layer_norm(x, (16,))).chunk(3, -1))
        token = x[:, :1] + joined(attend(q[:, :, :1], k, v))
        return self.head(token[:, 0]), map_of(x[:, 1:], h, w)


@net(LATER, image_of)
class Dinov3Rope(nn.Module):
    """A class token and four registers before patches, rotary angles of centres as shares of the longer side, two layers' maps joined and stretched to the image."""

    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(3, 16, 8, 8)
        self.token, self.registers = nn.Parameter(torch.randn(1, 1, 16)), nn.Parameter(torch.randn(1, 4, 16))
        self.qkv = nn.ModuleList(nn.Linear(16, 48) for _ in range(2))
        self.gate, self.up, self.down = (nn.ModuleList(nn.Linear(a, b) for _ in range(2)) for a, b in ((16, 24), (16, 24), (24, 16)))
        self.scales = nn.Parameter(torch.rand(4, 16))
        self.head = conv(32, 5, 1)

    @staticmethod
    def angles(h, w):
        longer = max(h, w)
        y, x = torch.arange(0.5, h) / longer, torch.arange(0.5, w) / longer
        places = torch.stack(torch.meshgrid(y, x, indexing="ij"), -1).flatten(0, 1) * 2 - 1
        periods = 100.0 ** (2 * torch.arange(2) / 4)
        return (2 * math.pi * places[:, :, None] / periods).flatten(1, 2).tile(2)

    @staticmethod
    def turned(x, cos, sin):
        prefix, x = x[:, :, :5], x[:, :, 5:]
        a, b = x.chunk(2, -1)
        return torch.cat([prefix, x * cos + torch.cat([-b, a], -1) * sin], 2)

    def forward(self, image):
        x = self.patch(image)
        h, w = sides(x)
        angles = self.angles(h, w)
        cos, sin = angles.cos(), angles.sin()
        x, maps = torch.cat([self.token, self.registers, tokens_of(x)], 1), []
        for i in range(2):
            q, k, v = (heads_of(part, 2) for part in self.qkv[i](F.layer_norm(x, (16,))).chunk(3, -1))
            x = x + self.scales[2 * i] * joined(attend(self.turned(q, cos, sin), self.turned(k, cos, sin), v))
            y = F.layer_norm(x, (16,))
            x = x + self.scales[2 * i + 1] * self.down[i](F.silu(self.gate[i](y)) * self.up[i](y))
            maps.append(map_of(F.layer_norm(x, (16,))[:, 5:], h, w))
        return F.interpolate(self.head(torch.cat(maps, 1)), size=sides(image), mode="bilinear", align_corners=False), x[:, 0]


@net(LATER, image_of)
class SlideInference(nn.Module):
    """Crops of 64 every 43 places, the last ones moved back inside; what each says is padded to the image, added up and divided by how often a place was seen."""

    def __init__(self):
        super().__init__()
        self.stem, self.deep = conv(3, 8, 3, 2), conv(8, 12, 3, 2)
        self.whole, self.head = conv(12, 12, 1), conv(12, 4, 1)

    def crop_logits(self, x):
        y = F.relu(self.deep(F.relu(self.stem(x))))
        y = y + self.whole(y.mean((2, 3), keepdim=True))
        return F.interpolate(self.head(y), size=sides(x), mode="bilinear", align_corners=False)

    def forward(self, image):
        h, w = sides(image)
        crop, stride = 64, 43
        rows = max(h - crop + stride - 1, 0) // stride + 1
        columns = max(w - crop + stride - 1, 0) // stride + 1
        told, count = image.new_zeros((1, 4, h, w)), np.zeros((1, 1, h, w), np.float32)
        for row in range(rows):
            for column in range(columns):
                bottom, right = min(row * stride + crop, h), min(column * stride + crop, w)
                top, left = max(bottom - crop, 0), max(right - crop, 0)
                logits = self.crop_logits(image[:, :, top:bottom, left:right])
                told = told + F.pad(logits, (left, w - right, top, h - bottom))
                count[:, :, top:bottom, left:right] += 1
        return (told / table(count)).softmax(1)


@net(LATER, image_of)
class OwlvitBoxes(nn.Module):
    """Every patch is a box: its size and middle biased by the inverse sigmoid of where the patch ends; classes by likeness to five texts; boxes as places of a square."""

    def __init__(self):
        super().__init__()
        self.patch, self.places = conv(3, 16, 8, 8, 0), nn.Conv2d(16, 16, 3, 1, 1, groups=16)
        self.token, self.qkv = nn.Parameter(torch.randn(1, 1, 16)), nn.Linear(16, 48)
        self.boxes = nn.Sequential(nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 4))
        self.texts, self.classes = nn.Parameter(torch.randn(5, 12)), nn.Linear(16, 12)
        self.shift, self.scale, self.objectness = nn.Linear(16, 1), nn.Linear(16, 1), nn.Linear(16, 1)

    @staticmethod
    def bias(h, w):
        x, y = torch.arange(1, w + 1, dtype=torch.float32) / w, torch.arange(1, h + 1, dtype=torch.float32) / h
        y, x = torch.meshgrid(y, x, indexing="ij")
        corners = torch.stack((x, y), -1).view(-1, 2).clip(0.0, 1.0)
        middle = torch.log(corners + 1e-4) - torch.log1p(-corners + 1e-4)
        size = torch.ones(h * w, 2) / torch.tensor([w, h], dtype=torch.float32)
        return torch.cat([middle, torch.log(size + 1e-4) - torch.log1p(-size + 1e-4)], -1)

    def forward(self, image):
        x = self.patch(image)
        h, w = sides(x)
        x = torch.cat([self.token, tokens_of(x + self.places(x))], 1)
        x = x + joined(attend(*(heads_of(part, 2) for part in self.qkv(F.layer_norm(x, (16,))).chunk(3, -1))))
        x = F.layer_norm(x[:, 1:] * x[:, :1], (16,))
        boxes = torch.sigmoid(self.boxes(x) + self.bias(h, w))
        middle, half = boxes[..., :2], boxes[..., 2:] / 2
        boxes = torch.cat([middle - half, middle + half], -1) * max(sides(image))
        told = F.normalize(self.classes(x), dim=-1) @ F.normalize(self.texts, dim=-1).T
        return boxes, (told + self.shift(x)) * (F.elu(self.scale(x)) + 1), self.objectness(x)[..., 0]


@net(LATER, image_of)
class MmdetRescale(nn.Module):
    """Rescaled until the shorter side is 72 (or the longer 132), padded to sixteens; anchors of two levels by image over map; the ten best boxes in the first image."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(conv(3, 8, 3, 2), nn.ReLU(), conv(8, 12, 3, 2), nn.ReLU(), conv(12, 12, 3, 2))
        self.next, self.shared, self.score, self.delta = conv(12, 12, 3, 2), conv(12, 12), conv(12, 3, 1), conv(12, 12, 1)

    @staticmethod
    def anchors(h, w, down, across):
        ratios = np.sqrt([0.5, 1.0, 2.0])
        half_h, half_w = (np.round(s * 4 * r / 2) for s, r in ((down, ratios), (across, 1 / ratios)))
        base = np.stack([-half_w, -half_h, half_w, half_h], 1)
        y, x = np.meshgrid(np.arange(h) * down, np.arange(w) * across, indexing="ij")
        shifts = np.stack([x, y, x, y], -1).reshape(-1, 1, 4)
        return table((shifts + base).reshape(-1, 4))

    def forward(self, image):
        h, w = sides(image)
        factor = min(132 / max(h, w), 72 / min(h, w))
        new_h, new_w = int(h * factor + 0.5), int(w * factor + 0.5)
        x = F.interpolate(image, size=(new_h, new_w), mode="bilinear", align_corners=False)
        padded_h, padded_w = (math.ceil(n / 16) * 16 for n in (new_h, new_w))
        x = self.stem(F.pad(x, (0, padded_w - new_w, 0, padded_h - new_h)))
        scores, deltas, anchors = [], [], []
        for level in (x, self.next(F.relu(x))):
            fh, fw = sides(level)
            y = F.relu(self.shared(level))
            scores.append(self.score(y).permute(0, 2, 3, 1).reshape(-1))
            deltas.append(self.delta(y).permute(0, 2, 3, 1).reshape(-1, 4))
            anchors.append(self.anchors(fh, fw, padded_h // fh, padded_w // fw))
        scores, deltas, anchors = torch.cat(scores), torch.cat(deltas), torch.cat(anchors)
        best, chosen = scores.topk(10)
        deltas, anchors = deltas[chosen], anchors[chosen]
        size = anchors[:, 2:] - anchors[:, :2]
        middle = (anchors[:, 2:] + anchors[:, :2]) / 2 + deltas[:, :2] * size
        size = size * deltas[:, 2:].clamp(max=math.log(1000 / 16)).exp()
        left_top, right_bottom = middle - size / 2, middle + size / 2
        boxes = torch.stack([part[:, i].clamp(0, n) for part in (left_top, right_bottom) for i, n in ((0, new_w), (1, new_h))], -1)
        return boxes / torch.tensor([new_w / w, new_h / h, new_w / w, new_h / h]), best.sigmoid()


@net(LATER, image_of)
class LamaFourier(nn.Module):
    """Reflected to eights; a local half and a global one whose layers act on the waves of the map and of its four quarters (products with tables); cropped."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(conv(3, 8, 3, 2), nn.ReLU(), conv(8, 16, 3, 2), nn.ReLU())
        self.local, self.to_local, self.to_global = conv(8, 8), conv(8, 8), conv(8, 8)
        self.enter, self.whole, self.quarters, self.leave = conv(8, 8, 1), conv(16, 16, 1), conv(16, 16, 1), conv(8, 8, 1)
        self.up = nn.Sequential(nn.ConvTranspose2d(16, 8, 3, 2, 1, 1), nn.ReLU(), nn.ConvTranspose2d(8, 3, 3, 2, 1, 1))

    @staticmethod
    def waves(x, layer):
        h, w = sides(x)
        down = 2 * np.pi * np.outer(np.arange(h), np.arange(h)) / h
        across = 2 * np.pi * np.outer(np.arange(w), np.arange(w // 2 + 1)) / w
        twice = np.where((np.arange(w // 2 + 1) == 0) | (np.arange(w // 2 + 1) * 2 == w), 1, 2)[:, None]
        ch, sh, cw, sw = (table(f(a) / np.sqrt(len(a))) for a in (down, across) for f in (np.cos, np.sin))
        back_c, back_s = cw.T * table(twice), sw.T * table(twice)
        a, b = x @ cw, -(x @ sw)
        y = F.relu(layer(torch.cat([ch @ a + sh @ b, ch @ b - sh @ a], 1)))
        a, b = y.chunk(2, 1)
        return (ch @ a - sh @ b) @ back_c - (ch @ b + sh @ a) @ back_s

    def spectral(self, x):
        x = F.relu(self.enter(x))
        h, w = sides(x)
        parts = torch.cat(torch.split(x[:, :2], h // 2, 2), 1)
        parts = torch.cat(torch.split(parts, w // 2, 3), 1)
        return self.leave(x + self.waves(x, self.whole) + self.waves(parts, self.quarters).repeat(1, 1, 2, 2))

    def forward(self, image):
        h, w = sides(image)
        out_h, out_w = (n if n % 8 == 0 else (n // 8 + 1) * 8 for n in (h, w))
        x = self.stem(F.pad(image, (0, out_w - w, 0, out_h - h), mode="reflect"))
        near, far = x.chunk(2, 1)
        for _ in range(2):
            near, far = near + F.relu(self.local(near) + self.to_local(far)), far + F.relu(self.to_global(near) + self.spectral(far))
        return torch.sigmoid(self.up(torch.cat([near, far], 1)))[:, :, :h, :w]


@net(LATER, image_of)
class HunyuanRope(nn.Module):
    """Rotary positions from where the grid, resized to fit a base of 12, would be cropped: rounded lengths and starts, lines between; a long skip; an image of patches."""

    def __init__(self):
        super().__init__()
        self.patch, self.text, self.style = nn.Conv2d(3, 16, 8, 8), nn.Parameter(torch.randn(1, 4, 16)), nn.Parameter(torch.randn(1, 1, 16))
        self.qkv = nn.ModuleList(nn.Linear(16, 48) for _ in range(3))
        self.cross, self.skip, self.out = nn.Linear(16, 32), nn.Linear(32, 16), nn.Linear(16, 8 * 8 * 2)

    @staticmethod
    def region(h, w, base):
        if h / w > 1:
            resized_h, resized_w = base, round(base / h * w)
        else:
            resized_h, resized_w = round(base / w * h), base
        top, left = round((base - resized_h) / 2.0), round((base - resized_w) / 2.0)
        return (top, left), (top + resized_h, left + resized_w)

    def angles(self, h, w):
        start, stop = self.region(h, w, 12)
        rows, columns = (np.linspace(a, b * (n - 1) / n, n, dtype=np.float32) for a, b, n in zip(start, stop, (h, w)))
        x, y = np.meshgrid(columns, rows)
        rates = 1.0 / 10000.0 ** (np.arange(0, 4, 2, dtype=np.float32) / 4)
        return table(np.concatenate([np.outer(x.reshape(-1), rates), np.outer(y.reshape(-1), rates)], 1))

    def block(self, x, i, angles):
        q, k, v = (heads_of(part, 2) for part in self.qkv[i](F.layer_norm(x + self.style, (16,))).chunk(3, -1))
        q, k = (pairs_turned(F.layer_norm(part, (8,)), angles.cos(), angles.sin()) for part in (q, k))
        x = x + joined(attend(q, k, v))
        k, v = (heads_of(part, 2) for part in self.cross(self.text).chunk(2, -1))
        return x + joined(attend(q, k, v))

    def forward(self, image):
        x = self.patch(image)
        h, w = sides(x)
        angles = self.angles(h, w)
        first = self.block(tokens_of(x), 0, angles)
        x = self.block(first, 1, angles)
        x = self.block(self.skip(torch.cat([x, first], -1)), 2, angles)
        x = self.out(F.layer_norm(x, (16,))).reshape(1, h, w, 8, 8, 2)
        return x.permute(0, 5, 1, 3, 2, 4).reshape(1, 2, h * 8, w * 8)


@net(LATER, image_of)
class HrformerWindows(nn.Module):
    """Two branches at a quarter and an eighth, each attending in windows of 5 around which the map is padded on both sides, then exchanged by stride and stretching."""

    def __init__(self):
        super().__init__()
        self.stem, self.second = nn.Sequential(conv(3, 8, 3, 2), nn.ReLU(), conv(8, 8, 3, 2), nn.ReLU()), conv(8, 16, 3, 2)
        self.qkv = nn.ModuleList(nn.Linear(c, 3 * c) for c in (8, 16))
        self.bias = nn.ParameterList(nn.Parameter(torch.randn(2, 81) / 2) for _ in range(2))
        self.mix = nn.ModuleList(nn.Conv2d(c, c, 3, 1, 1, groups=c) for c in (8, 16))
        self.down, self.up, self.head = conv(8, 16, 3, 2), conv(16, 8, 1), conv(24, 5, 1)
        y, x = np.divmod(np.arange(25), 5)
        self.register_buffer("index", torch.from_numpy((y[:, None] - y + 4) * 9 + x[:, None] - x + 4))

    def block(self, x, i):
        c = x.shape[1]
        h, w = sides(x)
        pad_h, pad_w = (math.ceil(n / 5) * 5 - n for n in (h, w))
        y = F.pad(F.layer_norm(x.permute(0, 2, 3, 1), (c,)), (0, 0, pad_w // 2, pad_w - pad_w // 2, pad_h // 2, pad_h - pad_h // 2))
        rows, columns = (h + pad_h) // 5, (w + pad_w) // 5
        y = y.reshape(1, rows, 5, columns, 5, c).permute(0, 1, 3, 2, 4, 5).reshape(rows * columns, 25, c)
        y = joined(attend(*(heads_of(part, 2) for part in self.qkv[i](y).chunk(3, -1)), self.bias[i][:, self.index]))
        y = y.reshape(1, rows, columns, 5, 5, c).permute(0, 5, 1, 3, 2, 4).reshape(1, c, h + pad_h, w + pad_w)
        x = x + y[:, :, pad_h // 2:h + pad_h // 2, pad_w // 2:w + pad_w // 2]
        return x + F.gelu(self.mix[i](x))

    def forward(self, image):
        fine = self.stem(image)
        coarse = F.relu(self.second(fine))
        for _ in range(2):
            fine, coarse = self.block(fine, 0), self.block(coarse, 1)
            up = F.interpolate(self.up(coarse), size=sides(fine), mode="bilinear", align_corners=True)
            fine, coarse = F.relu(fine + up), F.relu(self.down(fine) + coarse)
        up = F.interpolate(coarse, size=sides(fine), mode="bilinear", align_corners=True)
        return self.head(torch.cat([fine, up], 1))


@net(LATER, two_images, "image")
class Sam2Memory(nn.Module):
    """A frame attends to itself and to two remembered maps and four pointers; rotary places by number over width, repeated for each memory and not for the pointers."""

    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(conv(3, 8, 4, 4, 0), nn.GELU(), conv(8, 16, 3, 2))
        self.mask, self.remember = nn.Sequential(conv(1, 4, 3, 2), nn.GELU(), conv(4, 16, 3, 2), nn.GELU(), conv(16, 16, 3, 2)), conv(16, 16)
        self.times, self.pointers = nn.Parameter(torch.randn(2, 16)), nn.Parameter(torch.randn(1, 4, 16))
        self.qkv, self.query, self.key, self.value = (nn.Linear(16, n) for n in (48, 16, 16, 16))
        self.up, self.lighter = nn.ConvTranspose2d(16, 8, 2, 2), nn.Conv2d(3, 1, 1)

    @staticmethod
    def angles(end_x, end_y):
        rates = 1.0 / 10000.0 ** (torch.arange(0, 16, 4)[:4].float() / 16)
        t = torch.arange(end_x * end_y, dtype=torch.float32)
        x, y = t % end_x, torch.div(t, end_x, rounding_mode="floor")
        return torch.cat([torch.outer(x, rates), torch.outer(y, rates)], -1)

    @staticmethod
    def sines(h, w):
        y = torch.arange(1, h + 1, dtype=torch.float32)[:, None].repeat(1, w) / (h + 1e-6) * 2 * math.pi
        x = torch.arange(1, w + 1, dtype=torch.float32)[None].repeat(h, 1) / (w + 1e-6) * 2 * math.pi
        parts = [a.reshape(-1, 1) / 10000.0 ** (torch.arange(4) / 4) for a in (y, x)]
        return torch.cat([f(a) for a in parts for f in (torch.sin, torch.cos)], -1)

    def memory(self, x, image, h, w):
        mask = F.interpolate(self.lighter(image), size=(h * 8, w * 8), mode="bilinear", align_corners=False)
        return tokens_of(self.remember(x + self.mask(torch.sigmoid(mask) * 20.0 - 10.0)))

    def forward(self, first, second):
        now, before = self.encode(first), self.encode(second)
        h, w = sides(now)
        sines, angles = self.sines(h, w), self.angles(w, h)
        x = tokens_of(now) + 0.1 * sines
        q, k, v = self.qkv(F.layer_norm(x, (16,))).chunk(3, -1)
        x = x + attend(pairs_turned(q, angles.cos(), angles.sin()), pairs_turned(k, angles.cos(), angles.sin()), v)
        memory = [self.memory(y, image, h, w) for y, image in ((before, second), (now, first))]
        places = torch.cat([sines + self.times[0], sines + self.times[1]])[None]
        memory = torch.cat([*memory, self.pointers], 1)
        places = F.pad(places, (0, 0, 0, 4))
        k = self.key(memory + places)
        repeated = angles.repeat(2, 1)
        k = torch.cat([pairs_turned(k[:, :-4], repeated.cos(), repeated.sin()), k[:, -4:]], 1)
        q = self.query(F.layer_norm(x, (16,)))
        x = x + attend(pairs_turned(q, angles.cos(), angles.sin()), k, self.value(memory))
        return self.up(map_of(F.layer_norm(x, (16,)), h, w))


@net(LATER, two_images, "image")
class GmflowSplits(nn.Module):
    """Two images padded to sixteens on both sides; windows of half the map, once moved by a quarter under a mask; flow as where all of the other image fits best."""

    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(conv(3, 8, 3, 2), nn.ReLU(), conv(8, 16, 3, 2), nn.ReLU(), conv(16, 16, 3, 2))
        self.qkv, self.query, self.cross = nn.ModuleList(nn.Linear(16, 48) for _ in range(2)), nn.Linear(16, 16), nn.Linear(16, 32)
        self.q, self.k = nn.Linear(16, 16), nn.Linear(16, 16)

    @staticmethod
    def mask(h, w, wh, ww):
        regions = np.zeros((h, w))
        for i, rows in enumerate((slice(0, -wh), slice(-wh, -(wh // 2)), slice(-(wh // 2), None))):
            for j, columns in enumerate((slice(0, -ww), slice(-ww, -(ww // 2)), slice(-(ww // 2), None))):
                regions[rows, columns] = i * 3 + j
        regions = regions.reshape(2, wh, 2, ww).transpose(0, 2, 1, 3).reshape(4, wh * ww)
        return table(np.where(regions[:, None] != regions[:, :, None], -100.0, 0.0))

    def layer(self, x, i, h, w):
        wh, ww = h // 2, w // 2
        y = torch.roll(x, (-(wh // 2), -(ww // 2)), (2, 3)) if i else x
        y = y.reshape(2, 16, 2, wh, 2, ww).permute(0, 2, 4, 3, 5, 1).reshape(8, wh * ww, 16)
        q, k, v = self.qkv[i](F.layer_norm(y, (16,))).chunk(3, -1)
        y = attend(q, k, v, self.mask(h, w, wh, ww).repeat(2, 1, 1) if i else None)
        y = y.reshape(2, 2, 2, wh, ww, 16).permute(0, 5, 1, 3, 2, 4).reshape(2, 16, h, w)
        x = x + (torch.roll(y, (wh // 2, ww // 2), (2, 3)) if i else y)
        rows = tokens_of(x)
        k, v = self.cross(torch.cat([rows[1:], rows[:1]])).chunk(2, -1)
        return x + map_of(attend(self.query(rows), k, v), h, w)

    def forward(self, first, second):
        h, w = sides(first)
        pad_h, pad_w = ((n // 16 + 1) * 16 - n for n in (h, w))
        pad_h, pad_w = pad_h % 16, pad_w % 16
        pads = (pad_w // 2, pad_w - pad_w // 2, pad_h // 2, pad_h - pad_h // 2)
        x = self.encode(F.pad(torch.cat([first, second]), pads, mode="replicate"))
        fh, fw = sides(x)
        for i in range(2):
            x = self.layer(x, i, fh, fw)
        one, other = tokens_of(x).chunk(2)
        y, x = torch.meshgrid(torch.arange(fh), torch.arange(fw), indexing="ij")
        places = torch.stack((x, y), -1).float().reshape(1, fh * fw, 2)
        flow = (one @ other.transpose(1, 2) / 16 ** 0.5).softmax(-1) @ places - places
        flow = map_of(attend(self.q(one), self.k(one), flow), fh, fw)
        flow = F.interpolate(flow, scale_factor=8, mode="bilinear", align_corners=True) * 8
        return flow[:, :, pads[2]:h + pad_h - pads[3], pads[0]:w + pad_w - pads[1]]


@net(LATER, image_of)
class BiformerRouting(nn.Module):
    """Four by four regions whose size follows from the padded map; each sees the places of the four regions most like itself, and a local mix is added; unpadded."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(conv(3, 8, 3, 2), nn.GELU(), conv(8, 16, 3, 2), nn.GELU(), conv(16, 16, 3, 2))
        self.qkv, self.near, self.out = nn.Linear(16, 48), nn.Conv2d(16, 16, 5, 1, 2, groups=16), nn.Linear(16, 16)
        self.mlp, self.head = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16)), conv(16, 6, 1)

    def regions(self, x, rh, rw):
        return x.reshape(1, 4, rh, 4, rw, -1).permute(0, 1, 3, 2, 4, 5).reshape(16, rh * rw, -1)

    def routed(self, x):
        _, h, w, _ = (int(n) for n in x.shape)
        x = F.pad(x, (0, 0, 0, (4 - w % 4) % 4, 0, (4 - h % 4) % 4))
        padded_h, padded_w = int(x.shape[1]), int(x.shape[2])
        rh, rw = padded_h // 4, padded_w // 4
        qkv = self.qkv(x)
        near = self.near(qkv[..., 32:].permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
        q, k, v = self.regions(qkv, rh, rw).chunk(3, -1)
        _, chosen = (q.mean(1) * 16 ** -0.5 @ k.mean(1).T).topk(4, -1)
        kv = torch.cat([k, v], -1)
        kv = torch.gather(kv[None].expand(16, -1, -1, -1), 1, chosen[:, :, None, None].expand(-1, -1, rh * rw, 32)).reshape(16, 4 * rh * rw, 32)
        y = joined(attend(*(heads_of(part, 2) for part in (q, *kv.chunk(2, -1)))))
        y = y.reshape(1, 4, 4, rh, rw, 16).permute(0, 1, 3, 2, 4, 5).reshape(1, padded_h, padded_w, 16)
        return self.out(y + near)[:, :h, :w]

    def forward(self, image):
        x = self.stem(image).permute(0, 2, 3, 1)
        x = x + self.routed(F.layer_norm(x, (16,)))
        x = x + self.mlp(F.layer_norm(x, (16,)))
        return self.head(x.permute(0, 3, 1, 2))


@net(LATER, image_of)
class InternimageCore(nn.Module):
    """Deformable convolutions of the third kind: reference points and a grid of neighbours as shares of the padded map, moved and weighted; strided, then dilated."""

    def __init__(self):
        super().__init__()
        self.stem, self.head = nn.Sequential(conv(3, 8, 3, 2), nn.GELU(), conv(8, 16, 3, 2)), conv(16, 4, 1)
        self.enter, self.leave = (nn.ModuleList(nn.Linear(16, 16) for _ in range(2)) for _ in range(2))
        self.depthwise = nn.ModuleList(nn.Conv2d(16, 16, 3, stride, 1, groups=16) for stride in (2, 1))
        self.offsets, self.weights = (nn.ModuleList(nn.Linear(16, 2 * 9 * n) for _ in range(2)) for n in (2, 1))

    def sampled(self, x, i, stride, dilation):
        told = F.gelu(F.layer_norm(self.depthwise[i](x).permute(0, 2, 3, 1), (16,)))
        offset, weight = self.offsets[i](told), self.weights[i](told)
        x = F.pad(self.enter[i](x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2), (dilation,) * 4)
        h, w = sides(x)
        reach = dilation * 2
        out_h, out_w = ((n - (reach + 1)) // stride + 1 for n in (h, w))
        first = reach // 2 + 0.5
        y, a = torch.meshgrid(torch.linspace(first, first + (out_h - 1) * stride, out_h), torch.linspace(first, first + (out_w - 1) * stride, out_w), indexing="ij")
        points = torch.stack((a.reshape(-1) / w, y.reshape(-1) / h), -1).reshape(1, out_h * out_w, 1, 2)
        steps = torch.linspace(-(reach // 2), -(reach // 2) + 2 * dilation, 3)
        a, y = torch.meshgrid(steps, steps, indexing="ij")
        around = torch.stack((a / w, y / h), -1).reshape(1, 1, 9, 2)
        places = (points + around).repeat(1, 1, 2, 1) + offset.reshape(1, out_h * out_w, 18, 2) / torch.tensor([w, h])
        places = (2 * places - 1).view(1, out_h * out_w, 2, 9, 2).transpose(1, 2).flatten(0, 1)
        y = F.grid_sample(x.reshape(2, 8, h, w), places, mode="bilinear", padding_mode="zeros", align_corners=False)
        weight = weight.reshape(out_h * out_w, 2, 9).softmax(-1).transpose(0, 1)[:, None]
        y = (y * weight).sum(-1).reshape(1, 16, out_h, out_w)
        return self.leave[i](y.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)

    def forward(self, image):
        x = self.stem(image)
        small = F.relu(self.sampled(x, 0, 2, 1))
        small = small + self.sampled(small, 1, 1, 2)
        return self.head(x + F.interpolate(small, size=sides(x), mode="nearest"))


@net(LATER, image_of)
class UnifuseCube(nn.Module):
    """A panorama stretched to twice its height; six faces of half its height sampled by tangents, a net on them, and laid back onto it by a table of which face is where."""

    def __init__(self):
        super().__init__()
        self.equi = nn.Sequential(conv(3, 8, 3, 2), nn.ReLU(), conv(8, 8, 3, 2))
        self.cube = nn.Sequential(conv(3, 8, 3, 2), nn.ReLU(), conv(8, 8, 3, 2))
        self.fuse, self.head = conv(16, 8), conv(8, 1)

    @staticmethod
    def to_faces(side):
        line = np.linspace(-1, 1, side)
        x, y = np.meshgrid(line, line)
        one = np.ones_like(x)
        faces = [(x, -y, one), (one, -y, -x), (-x, -y, -one), (-one, -y, x), (x, one, y), (x, -one, -y)]
        grids = [(np.arctan2(a, c) / np.pi, -np.arctan2(b, np.sqrt(a * a + c * c)) / (np.pi / 2)) for a, b, c in faces]
        return table(np.stack([np.stack(grid, -1) for grid in grids]))

    @staticmethod
    def from_faces(h, w):
        kind = np.roll(np.arange(4).repeat(w // 4)[None].repeat(h, 0), 3 * w // 8, 1)
        edge = np.linspace(-np.pi, np.pi, w // 4) / 4
        edge = h // 2 - np.round(np.arctan(np.cos(edge)) * h / np.pi).astype(int)
        above = np.concatenate([np.arange(h)[:, None] < edge] * 4, 1)
        above = np.roll(above, 3 * w // 8, 1)
        kind = np.where(above, 4, np.where(above[::-1], 5, kind))
        u, v = np.meshgrid(np.linspace(-np.pi, np.pi, w), np.linspace(np.pi, -np.pi, h) / 2)
        grids = [(np.tan(u - np.pi * i / 2), -np.tan(v) / np.cos(u - np.pi * i / 2)) for i in range(4)]
        tilt = np.tan(np.pi / 2 - np.abs(v))
        grids = [*grids, (tilt * np.sin(u), tilt * np.cos(u)), (tilt * np.sin(u), -tilt * np.cos(u))]
        return table(np.clip(np.stack([np.stack(grid, -1) for grid in grids]), -1, 1)), table(kind == np.arange(6)[:, None, None])[:, None]

    def forward(self, image):
        h = math.ceil(sides(image)[0] / 16) * 16
        equi = F.interpolate(image, size=(h, 2 * h), mode="bilinear", align_corners=False)
        blurred = F.avg_pool2d(equi, 2)
        faces = F.grid_sample(blurred.expand(6, -1, -1, -1), self.to_faces(h // 2), padding_mode="border", align_corners=False)
        x, faces = self.equi(equi), self.cube(faces)
        grid, mask = self.from_faces(*sides(x))
        back = (F.grid_sample(faces, grid, padding_mode="border", align_corners=True) * mask).sum(0, keepdim=True)
        x = F.pad(torch.cat([x, back], 1), (1, 1, 0, 0), mode="circular")
        x = self.head(F.relu(F.group_norm(self.fuse(x), 1))[:, :, :, 1:-1])
        return 10.0 * torch.sigmoid(F.interpolate(x, size=sides(image), mode="bilinear", align_corners=True))


@net(LATER, image_of)
class TpsRectifier(nn.Module):
    """Eight points told from the image bend it, by thin plates, into a line 32 high and as wide as its aspect makes it; columns of that line become letters."""

    def __init__(self):
        super().__init__()
        self.find = nn.Sequential(conv(3, 8, 3, 2), nn.ReLU(), nn.MaxPool2d(2), conv(8, 16, 3, 2), nn.ReLU())
        self.points = nn.Linear(16, 16)
        x, y = np.tile(np.linspace(-1.0, 1.0, 4), 2), np.repeat([-1.0, 1.0], 4)
        self.control = np.stack([x, y], 1)
        far = np.linalg.norm(self.control[:, None] - self.control, axis=2)
        np.fill_diagonal(far, 1)
        far = far ** 2 * np.log(far)
        ones, zeros = np.ones((8, 1)), np.zeros((3, 3))
        delta = np.concatenate([np.concatenate([ones, self.control, far], 1), np.concatenate([zeros, np.concatenate([ones, self.control], 1).T], 1)])
        self.register_buffer("inverse", table(np.linalg.inv(delta)))
        self.register_buffer("home", table(self.control))
        self.read = nn.Sequential(conv(3, 8), nn.ReLU(), nn.MaxPool2d(2), conv(8, 16), nn.ReLU(), nn.MaxPool2d((2, 1)), conv(16, 16), nn.ReLU())
        self.letters = nn.Linear(16, 11)

    def places(self, h, w):
        x, y = (np.arange(-w, w, 2) + 1.0) / w, (np.arange(-h, h, 2) + 1.0) / h
        p = np.stack(np.meshgrid(x, y), 2).reshape(-1, 2)
        far = np.linalg.norm(p[:, None] - self.control, axis=2)
        return table(np.concatenate([np.ones((len(p), 1)), p, far ** 2 * np.log(far + 1e-6)], 1))

    def forward(self, image):
        h, w = sides(image)
        line_h, line_w = 32, math.ceil(32 * (w / float(h)))
        moved = self.home + torch.tanh(self.points(self.find(image).mean((2, 3)))).view(8, 2) / 4
        bend = self.inverse @ F.pad(moved, (0, 0, 0, 3))
        grid = (self.places(line_h, line_w) @ bend).view(1, line_h, line_w, 2)
        line = F.grid_sample(F.avg_pool2d(image, 3, 2, 1), grid, padding_mode="border", align_corners=True)
        x = self.read(line).mean(2).transpose(1, 2)
        return self.letters(x).log_softmax(-1)


@net(LATER, image_of)
class TomesdMerge(nn.Module):
    """The first of every two by two tokens receives; half of all tokens are merged into the one most like them, what is left attends, and all are put back."""

    def __init__(self):
        super().__init__()
        self.enter, self.qkv, self.leave = conv(3, 16, 8, 8, 0), nn.Linear(16, 48), nn.ConvTranspose2d(16, 3, 8, 8)

    @staticmethod
    def order(h, w):
        rows, columns = h // 2, w // 2
        first = np.zeros((rows, columns, 4), np.int64)
        first[:, :, 0] = -1
        buffer = np.zeros((h, w), np.int64)
        buffer[:rows * 2, :columns * 2] = first.reshape(rows, columns, 2, 2).transpose(0, 2, 1, 3).reshape(rows * 2, columns * 2)
        order = torch.from_numpy(np.argsort(buffer.reshape(-1), kind="stable")).view(1, -1, 1)
        return order[:, rows * columns:], order[:, :rows * columns]

    def forward(self, image):
        x = self.enter(image)
        h, w = sides(x)
        x = tokens_of(x)
        a, b = self.order(h, w)
        count, c = int(a.shape[1]), 16

        def picked(values, index):
            return torch.gather(values, 1, index.expand(-1, -1, c))

        metric = x / x.norm(dim=-1, keepdim=True)
        best, where = (picked(metric, a) @ picked(metric, b).transpose(-1, -2)).max(-1)
        r = min(count, int(h * w * 0.5))
        edges = best.argsort(dim=-1, descending=True)[..., None]
        kept, merged = edges[:, r:], edges[:, :r]
        into = torch.gather(where[..., None], 1, merged)
        y = F.layer_norm(x, (c,))
        sources, targets = picked(y, a), picked(y, b)
        total = targets.scatter_add(1, into.expand(-1, -1, c), picked(sources, merged))
        seen = torch.ones(1, int(b.shape[1]), 1).scatter_add(1, into, torch.ones(1, r, 1))
        y = torch.cat([picked(sources, kept), total / seen], 1)
        y = joined(attend(*(heads_of(part, 2) for part in self.qkv(y).chunk(3, -1))))
        alone, targets = y[:, :count - r], y[:, count - r:]
        out = torch.zeros(1, h * w, c).scatter(1, b.expand(-1, -1, c), targets)
        out = out.scatter(1, torch.gather(a, 1, kept).expand(-1, -1, c), alone)
        out = out.scatter(1, torch.gather(a, 1, merged).expand(-1, -1, c), picked(targets, into))
        return self.leave(map_of(x + out, h, w))


@net(LATER, image_of)
class Pix2structPatches(nn.Module):
    """As many rows and columns as a root gives for no more than 60 patches; the image stretched to them, each patch with its row and column, zeros hidden after the last."""

    def __init__(self):
        super().__init__()
        self.patch, self.row, self.column = nn.Linear(8 * 8 * 3, 16), nn.Embedding(64, 16), nn.Embedding(64, 16)
        self.qkv, self.mlp, self.head = nn.Linear(16, 48), nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16)), nn.Linear(16, 10)

    def forward(self, image):
        h, w = sides(image)
        most, side = 60, 8
        scale = math.sqrt(most * (side / h) * (side / w))
        rows, columns = (max(min(math.floor(scale * n / side), most), 1) for n in (h, w))
        deviation = image.std((1, 2, 3), unbiased=False, keepdim=True).clamp(min=1.0 / math.sqrt(3 * h * w))
        x = (image - image.mean((1, 2, 3), keepdim=True)) / deviation
        x = F.interpolate(x, size=(max(rows * side, 1), max(columns * side, 1)), mode="bilinear", align_corners=False)
        x = x.reshape(1, 3, rows, side, columns, side).permute(0, 2, 4, 3, 5, 1).reshape(1, rows * columns, side * side * 3)
        row_ids = torch.arange(rows).reshape(rows, 1).repeat(1, columns).reshape(1, -1) + 1
        column_ids = torch.arange(columns).reshape(1, columns).repeat(rows, 1).reshape(1, -1) + 1
        lacking = most - rows * columns
        x, row_ids, column_ids = F.pad(x, (0, 0, 0, lacking)), F.pad(row_ids, (0, lacking)), F.pad(column_ids, (0, lacking))
        mask = (row_ids > 0).float()
        x = self.patch(x) + self.row(row_ids) + self.column(column_ids)
        hidden = (1.0 - mask)[:, None, None] * -10000.0
        for _ in range(2):
            x = x + joined(attend(*(heads_of(part, 2) for part in self.qkv(F.layer_norm(x, (16,))).chunk(3, -1)), hidden))
            x = x + self.mlp(F.layer_norm(x, (16,)))
        return self.head((x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)), x


@net(LATER, image_of)
class VmambaAtrous(nn.Module):
    """Every second place of an even-sided map, from four starts, two read down columns; each a state space in its quadratic form; woven together and cut again."""

    def __init__(self):
        super().__init__()
        self.stem, self.enter, self.leave = conv(3, 16, 4, 4, 0), nn.Linear(16, 32), nn.Linear(16, 16)
        self.near, self.told = nn.Conv2d(16, 16, 3, 1, 1, groups=16), nn.ModuleList(nn.Linear(16, 4 + 4 + 1) for _ in range(4))
        self.decay, self.through = nn.Parameter(torch.rand(4)), nn.Parameter(torch.rand(4, 16))
        self.head = conv(16, 5, 1)

    def scanned(self, x, i):
        b, c, dt = self.told[i](x).split((4, 4, 1), -1)
        dt = F.softplus(dt)
        total = (-self.decay[i].exp() * dt).cumsum(1)
        n = int(x.shape[1])
        later = torch.ones(n, n).tril()
        weights = ((total - total.transpose(1, 2)) * later).exp() * later
        return ((c @ b.transpose(1, 2)) * weights) @ (dt * x) + x * self.through[i]

    def forward(self, image):
        x = self.stem(image)
        h, w = sides(x)
        gate, y = self.enter(F.layer_norm(x.permute(0, 2, 3, 1), (16,))).chunk(2, -1)
        y = F.pad(F.silu(self.near(y.permute(0, 3, 1, 2))), (0, w % 2, 0, h % 2))
        half_h, half_w = math.ceil(h / 2), math.ceil(w / 2)
        parts = [y[:, :, ::2, ::2], y.transpose(2, 3)[:, :, ::2, 1::2], y[:, :, ::2, 1::2], y.transpose(2, 3)[:, :, 1::2, 1::2]]
        parts = [self.scanned(tokens_of(part), i) for i, part in enumerate(parts)]
        a, b, c, d = (map_of(part, half_w, half_h).transpose(2, 3) if i % 2 else map_of(part, half_h, half_w) for i, part in enumerate(parts))
        y = torch.stack([torch.stack([a, c], -1), torch.stack([b, d], -1)], 3)
        y = y.reshape(1, 16, half_h * 2, half_w * 2)[:, :, :h, :w]
        y = self.leave(F.layer_norm(y.permute(0, 2, 3, 1), (16,)) * F.silu(gate))
        return self.head(x + y.permute(0, 3, 1, 2))


@net(LATER, two_images, "image")
class SiamXcorr(nn.Module):
    """The middle five by five cells of one image's map are the kernel over the other's; scores mixed with a window of cosines, boxes around points counted from the middle."""

    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(conv(3, 8, 3, 2), nn.ReLU(), conv(8, 12, 3, 2), nn.ReLU(), conv(12, 12, 3, 2))
        self.kernel, self.search = conv(12, 12, 1), conv(12, 12, 1)
        self.score, self.box = conv(12, 1, 1), conv(12, 4, 1)

    @staticmethod
    def points(h, w, stride, middle_x, middle_y):
        x, y = (np.arange(n) * stride - (n // 2) * stride for n in (w, h))
        x, y = np.meshgrid(x + middle_x, y + middle_y)
        return table(np.stack([x, y]))

    def forward(self, first, second):
        template, x = self.encode(first), self.encode(second)
        h, w = sides(template)
        top, left = (h - 5) // 2, (w - 5) // 2
        kernel = self.kernel(template)[:, :, top:top + 5, left:left + 5]
        x = F.conv2d(self.search(x), kernel.reshape(12, 1, 5, 5), groups=12) / 5
        h, w = sides(x)
        window = table(np.outer(np.hanning(h), np.hanning(w)))
        score = torch.sigmoid(self.score(x)) * (1 - 0.3) + window * 0.3
        image_h, image_w = sides(second)
        points = self.points(h, w, 8, image_w / 2, image_h / 2)
        left_top, right_bottom = (self.box(x).exp() * 8).split(2, 1)
        boxes = torch.cat([points - left_top, points + right_bottom], 1)
        boxes = torch.stack([boxes[:, i].clamp(0, n) for i, n in enumerate((image_w, image_h, image_w, image_h))], 1)
        weights = (score.flatten(2) * 10).softmax(-1)
        return score, boxes, (boxes.flatten(2) * weights).sum(-1)


@net(LATER, image_of)
class VoloOutlook(nn.Module):
    """From each cell of a pool that rounds up, weights of three by three to three by three places; unfolded values weighted by them and folded where they overlap."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(conv(3, 8, 3, 2), nn.ReLU(), conv(8, 16, 3, 2))
        self.value, self.weights, self.out = nn.Linear(16, 16), nn.Linear(16, 2 * 81), nn.Linear(16, 16)
        self.merge, self.head = conv(16, 16, 2, 2, 0), nn.Linear(16, 6)
        self.register_buffer("fold", torch.eye(9).view(9, 1, 3, 3))

    def outlook(self, x):
        _, height, width, _ = (int(n) for n in x.shape)
        v = self.value(x).permute(0, 3, 1, 2)
        h, w = math.ceil(height / 2), math.ceil(width / 2)
        v = F.unfold(v, 3, padding=1, stride=2).reshape(1, 2, 8, 9, h * w).permute(0, 1, 4, 3, 2)
        pooled = F.avg_pool2d(x.permute(0, 3, 1, 2), 2, 2, ceil_mode=True).permute(0, 2, 3, 1)
        weights = self.weights(pooled).reshape(1, h * w, 2, 9, 9).permute(0, 2, 1, 3, 4)
        y = (weights * 8 ** -0.5).softmax(-1) @ v
        y = y.permute(0, 1, 4, 3, 2).reshape(16, 9, h, w)
        y = F.conv_transpose2d(y, self.fold, stride=2).reshape(1, 16, 2 * h + 1, 2 * w + 1)
        return self.out(y[:, :, 1:1 + height, 1:1 + width].permute(0, 2, 3, 1))

    def forward(self, image):
        x = self.stem(image).permute(0, 2, 3, 1)
        x = x + self.outlook(F.layer_norm(x, (16,)))
        small = self.merge(x.permute(0, 3, 1, 2))
        h, w = sides(small)
        y = tokens_of(small)
        y = y + joined(attend(*(heads_of(F.layer_norm(y, (16,)), 2) for _ in range(3))))
        return self.head(y.mean(1)), self.head(y).transpose(1, 2).reshape(1, 6, h, w), x
