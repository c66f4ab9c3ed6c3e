"""The small nets of lifting_small_models.py that lifting is developed on."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from lifting_small_models import (
    DEVELOP,
    attend,
    audio_of,
    conv,
    features_of,
    heads_of,
    ids_of,
    image_of,
    joined,
    net,
    rotated,
    sides,
)


@net(DEVELOP, image_of)
class UnetCrop(nn.Module):
    """The first U-Net: convolutions without padding, skips cropped to the middle."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = conv(3, 8, padding=0), conv(8, 12, padding=0), conv(12, 16, padding=0)
        self.up2, self.up1 = nn.ConvTranspose2d(16, 12, 2, 2), nn.ConvTranspose2d(12, 8, 2, 2)
        self.d2, self.d1 = conv(24, 12, padding=0), conv(16, 4, padding=0)

    @staticmethod
    def skip(small, large):
        (h, w), (big_h, big_w) = sides(small), sides(large)
        top, left = (big_h - h) // 2, (big_w - w) // 2
        return torch.cat([small, large[:, :, top:top + h, left:left + w]], 1)

    def forward(self, image):
        a = self.a(image).relu()
        b = self.b(F.max_pool2d(a, 2)).relu()
        c = self.c(F.max_pool2d(b, 2)).relu()
        x = self.d2(self.skip(self.up2(c), b)).relu()
        return self.d1(self.skip(self.up1(x), a))


@net(DEVELOP, image_of)
class FpnHeads(nn.Module):
    """A pyramid merged from the top by size, and heads whose rows are joined."""

    def __init__(self):
        super().__init__()
        self.stem = conv(3, 8, 7, 2)
        self.down = nn.ModuleList(conv(a, b, 3, 2) for a, b in ((8, 12), (12, 16), (16, 20)))
        self.lateral = nn.ModuleList(conv(a, 8, 1) for a in (12, 16, 20))
        self.extra = conv(8, 8, 3, 2)
        self.head = conv(8, 6)

    def forward(self, image):
        x, levels = self.stem(image).relu(), []
        for down, lateral in zip(self.down, self.lateral, strict=True):
            x = down(x).relu()
            levels.append(lateral(x))
        for i in (1, 0):
            levels[i] = levels[i] + F.interpolate(levels[i + 1], size=levels[i].shape[-2:], mode="nearest")
        levels.append(self.extra(levels[-1].relu()))
        return torch.cat([self.head(level).flatten(2).transpose(1, 2) for level in levels], 1)


@net(DEVELOP, image_of)
class DetrSine(nn.Module):
    """Sine positions in two dimensions from running sums of a mask, and queries that look at the map."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(conv(3, 8, 7, 4), nn.ReLU(), conv(8, 16, 3, 2))
        self.qkv, self.queries, self.out = nn.Linear(16, 48), nn.Parameter(torch.randn(5, 16)), nn.Linear(16, 4)

    def forward(self, image):
        x = self.stem(image)
        ones = torch.ones_like(x[:, 0])
        y, z = ones.cumsum(1), ones.cumsum(2)
        y, z = y / (y[:, -1:, :] + 1e-6) * 2 * math.pi, z / (z[:, :, -1:] + 1e-6) * 2 * math.pi
        rate = 10000 ** (2 * torch.arange(4) / 8)
        parts = [f(p[..., None] / rate) for p in (y, z) for f in (torch.sin, torch.cos)]
        positions = torch.cat(parts, -1).flatten(1, 2)
        tokens = x.flatten(2).transpose(1, 2)
        q, k, v = self.qkv(tokens).chunk(3, -1)
        tokens = tokens + attend(q + positions, k + positions, v)
        return self.out(attend(self.queries[None], tokens + positions, tokens)).sigmoid(), tokens


@net(DEVELOP, image_of)
class WindowShift(nn.Module):
    """Windows of 5, the map padded to whole ones, shifted by 2, with a mask of what does not belong together."""

    def __init__(self):
        super().__init__()
        self.stem, self.qkv, self.project = conv(3, 16, 4, 4, 0), nn.Linear(16, 48), nn.Linear(16, 16)

    @staticmethod
    def windows(x):
        b, h, w, c = x.shape
        return x.view(b, h // 5, 5, w // 5, 5, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 25, c)

    def forward(self, image):
        x = self.stem(image).permute(0, 2, 3, 1)
        h, w = int(x.shape[1]), int(x.shape[2])
        padded = F.pad(x, (0, 0, 0, -w % 5, 0, -h % 5))
        full_h, full_w = int(padded.shape[1]), int(padded.shape[2])
        region, count = torch.zeros(1, full_h, full_w, 1), 0
        for rows in (slice(0, -5), slice(-5, -2), slice(-2, None)):
            for columns in (slice(0, -5), slice(-5, -2), slice(-2, None)):
                region[:, rows, columns] = count
                count += 1
        region = self.windows(region).squeeze(-1)
        mask = (region[:, None] != region[:, :, None]) * -100.0
        q, k, v = self.qkv(self.windows(padded.roll((-2, -2), (1, 2)))).chunk(3, -1)
        y = self.project(attend(q, k, v, mask))
        y = y.view(1, full_h // 5, full_w // 5, 5, 5, 16).permute(0, 1, 3, 2, 4, 5).reshape(1, full_h, full_w, 16)
        return x + y.roll((2, 2), (1, 2))[:, :h, :w]


@net(DEVELOP, image_of)
class GridOffsets(nn.Module):
    """Samples at a grid of every third place, moved by what the map says."""

    def __init__(self):
        super().__init__()
        self.stem, self.offset, self.out = conv(3, 8, 3, 2), conv(8, 2, 5, 3), conv(8, 4)

    def forward(self, image):
        x = self.stem(image).relu()
        offset = self.offset(x).tanh().permute(0, 2, 3, 1)
        h, w = int(offset.shape[1]), int(offset.shape[2])
        y = torch.linspace(0.5, h - 0.5, h) / h * 2 - 1
        z = torch.linspace(0.5, w - 0.5, w) / w * 2 - 1
        grid = torch.stack(torch.meshgrid(y, z, indexing="ij"), -1).flip(-1)
        moved = grid[None] + offset / torch.tensor([w, h])
        return self.out(F.grid_sample(x, moved.clamp(-1, 1), align_corners=False))


@net(DEVELOP, image_of)
class Anchors(nn.Module):
    """Anchors of three shapes on two levels, and boxes clipped to the image."""

    def __init__(self):
        super().__init__()
        self.one, self.two, self.delta = conv(3, 12, 9, 8, 1), conv(12, 12, 3, 2), conv(12, 12, 1)

    def forward(self, image):
        height, width = sides(image)
        one = self.one(image).relu()
        boxes = []
        for x, stride in ((one, 8), (self.two(one).relu(), 16)):
            h, w = sides(x)
            step_y, step_x = height // h, width // w
            y, z = torch.meshgrid(torch.arange(h) * step_y, torch.arange(w) * step_x, indexing="ij")
            shifts = torch.stack([z, y, z, y], -1).view(-1, 1, 4)
            shapes = torch.tensor([[-s, -t, s, t] for s, t in ((1.0, 1.0), (1.4, 0.7), (0.7, 1.4))]) * stride
            anchors = (shifts + shapes[None]).view(-1, 4)
            delta = self.delta(x).view(1, 3, 4, h, w).permute(0, 3, 4, 1, 2).reshape(1, -1, 4)
            centre, extent = (anchors[:, :2] + anchors[:, 2:]) / 2, anchors[:, 2:] - anchors[:, :2]
            middle, half = delta[..., :2] * extent + centre, delta[..., 2:].clamp(max=2).exp() * extent / 2
            low, high = middle - half, middle + half
            boxes.append(torch.stack([low[..., 0].clamp(0, width), low[..., 1].clamp(0, height), high[..., 0].clamp(0, width),
                                      high[..., 1].clamp(0, height)], -1))
        return torch.cat(boxes, 1)


@net(DEVELOP, image_of)
class VitBicubic(nn.Module):
    """Learned positions of 7 by 7, brought to the grid of patches, and a class token."""

    def __init__(self):
        super().__init__()
        self.patch, self.cls = conv(3, 16, 8, 8, 0), nn.Parameter(torch.randn(1, 1, 16))
        self.positions, self.qkv = nn.Parameter(torch.randn(1, 50, 16)), nn.Linear(16, 48)

    def forward(self, image):
        x = self.patch(image)
        grid = self.positions[:, 1:].reshape(1, 7, 7, 16).permute(0, 3, 1, 2)
        grid = F.interpolate(grid, size=sides(x), mode="bicubic", align_corners=False).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls, x.flatten(2).transpose(1, 2)], 1) + torch.cat([self.positions[:, :1], grid], 1)
        q, k, v = (heads_of(part, 2) for part in self.qkv(x).chunk(3, -1))
        x = x + joined(attend(q, k, v))
        return x[:, 0], x[:, 1:]


@net(DEVELOP, image_of)
class PatchMerge(nn.Module):
    """Two mergings of two by two, an odd side padded first; then back to the size of the stem."""

    def __init__(self):
        super().__init__()
        self.stem, self.m1, self.m2, self.out = conv(3, 8, 3, 3, 0), nn.Linear(32, 12), nn.Linear(48, 16), conv(24, 4, 1)

    @staticmethod
    def merge(x):
        h, w = int(x.shape[1]), int(x.shape[2])
        if h % 2 or w % 2:
            x = F.pad(x, (0, 0, 0, w % 2, 0, h % 2))
        return torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], -1)

    def forward(self, image):
        stem = self.stem(image)
        x = self.m1(self.merge(stem.permute(0, 2, 3, 1))).relu()
        x = self.m2(self.merge(x)).permute(0, 3, 1, 2)
        x = F.interpolate(x, size=sides(stem), mode="bilinear", align_corners=False)
        return self.out(torch.cat([stem, x], 1))


@net(DEVELOP, image_of)
class HalfBranch(nn.Module):
    """A branch that sees half and a quarter of the image; what it finds is brought back to every size."""

    def __init__(self):
        super().__init__()
        self.whole, self.halved, self.quarter = conv(3, 8, 3, 4), conv(3, 8, 3, 2), conv(3, 8, 5, 1)
        self.out = conv(24, 5, 1)

    def forward(self, image):
        half = F.interpolate(image, scale_factor=0.5, mode="bilinear", align_corners=False, recompute_scale_factor=True)
        quarter = F.avg_pool2d(image, 5, 4, 1)
        a, b, c = self.whole(image), self.halved(half), self.quarter(quarter)
        size = sides(b)
        x = torch.cat([F.interpolate(a, size=size, mode="bilinear", align_corners=True), b, F.interpolate(c, size=size, mode="nearest")], 1)
        return F.interpolate(self.out(x), size=sides(image), mode="bilinear", align_corners=True)


@net(DEVELOP, image_of)
class CeilPool(nn.Module):
    """Pools that round up, then one that rounds down, and a way back that is cropped."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.up, self.out = conv(3, 8, 5, 1, 0), conv(8, 8), nn.ConvTranspose2d(8, 8, 4, 4), conv(16, 4, 1)

    def forward(self, image):
        a = F.max_pool2d(self.a(image).relu(), 3, 2, ceil_mode=True)
        b = F.max_pool2d(self.b(a).relu(), 2, 2, ceil_mode=True)
        up = self.up(F.avg_pool2d(F.pad(b, (0, 1, 0, 1)), 2, 2))
        h, w = min(int(up.shape[2]), int(a.shape[2])), min(int(up.shape[3]), int(a.shape[3]))
        return self.out(torch.cat([a[:, :, :h, :w], up[:, :, :h, :w]], 1))


@net(DEVELOP, image_of)
class AspectSquare(nn.Module):
    """The image is padded to a square of its longer side, on both sides of the shorter, and cropped again."""

    def __init__(self):
        super().__init__()
        self.conv, self.mix, self.out = conv(3, 8, 3, 2), nn.Linear(8, 8), conv(8, 4, 1)

    def forward(self, image):
        h, w = sides(image)
        side = max(h, w)
        top, left = (side - h) // 2, (side - w) // 2
        x = self.conv(F.pad(image, (left, side - w - left, top, side - h - top)))
        x = x + self.mix(x.mean((2, 3)))[:, :, None, None] * (h / w)
        x = F.interpolate(self.out(x), size=(side, side), mode="nearest")
        return x[:, :, top:top + h, left:left + w]


@net(DEVELOP, image_of)
class AxialRotary(nn.Module):
    """Rotary positions, half of the channels by row and half by column."""

    def __init__(self):
        super().__init__()
        self.patch, self.qkv = conv(3, 16, 8, 7, 2), nn.Linear(16, 48)

    def forward(self, image):
        x = self.patch(image)
        h, w = sides(x)
        rate = 100.0 ** -(torch.arange(4) / 4)
        rows = (torch.arange(h)[:, None] * rate)[:, None].expand(h, w, 4)
        columns = (torch.arange(w)[:, None] * rate)[None].expand(h, w, 4)
        angles = torch.cat([rows, columns], -1).reshape(h * w, 8)
        x = x.flatten(2).transpose(1, 2)
        q, k, v = self.qkv(x).chunk(3, -1)
        return (x + attend(rotated(q, angles), rotated(k, angles), v)).transpose(1, 2).reshape(1, 16, h, w)


@net(DEVELOP, image_of)
class PyramidBins(nn.Module):
    """Pooling into 1, 2 and 3 bins a side, each bin cut from the map (floor of where it begins, ceil of where it ends)."""

    def __init__(self):
        super().__init__()
        self.stem, self.mix, self.out = conv(3, 8, 5, 4), nn.ModuleList(conv(8, 4, 1) for _ in range(3)), conv(20, 4)

    @staticmethod
    def bins(x, n):
        h, w = sides(x)
        def cells(side):
            return [(i * side // n, -((i + 1) * side // -n)) for i in range(n)]
        rows = [torch.cat([x[:, :, a:b, c:d].mean((2, 3), keepdim=True) for c, d in cells(w)], 3) for a, b in cells(h)]
        return torch.cat(rows, 2)

    def forward(self, image):
        x = self.stem(image).relu()
        pooled = [F.interpolate(mix(self.bins(x, n)), size=sides(x), mode="bilinear", align_corners=False)
                  for mix, n in zip(self.mix, (1, 2, 3), strict=True)]
        return self.out(torch.cat([x, *pooled], 1))


@net(DEVELOP, features_of)
class ConformerRelative(nn.Module):
    """Attention with relative positions (Transformer-XL's shift) after two strided convolutions, and a depthwise one."""

    def __init__(self):
        super().__init__()
        self.sub = nn.Sequential(nn.Conv1d(16, 16, 3, 2), nn.ReLU(), nn.Conv1d(16, 16, 3, 2, 1))
        self.qkv, self.position = nn.Linear(16, 48), nn.Linear(16, 16)
        self.u, self.v = nn.Parameter(torch.randn(2, 1, 8)), nn.Parameter(torch.randn(2, 1, 8))
        self.depthwise = nn.Conv1d(16, 16, 5, padding=2, groups=16)

    def forward(self, features):
        x = self.sub(features.transpose(1, 2)).transpose(1, 2)
        n = int(x.shape[1])
        place = torch.arange(n - 1, -n, -1.0)[:, None] * 1000 ** -(torch.arange(8) / 8)
        p = heads_of(self.position(torch.cat([place.sin(), place.cos()], -1))[None], 2)
        q, k, v = (heads_of(part, 2) for part in self.qkv(x).chunk(3, -1))
        score = (q + self.v) @ p.transpose(-1, -2)
        score = F.pad(score, (1, 0)).view(1, 2, 2 * n, n)[:, :, 1:].reshape(1, 2, n, 2 * n - 1)[..., :n]
        x = x + joined(attend(q + self.u, k, v, score * 8 ** -0.5))
        return x + self.depthwise(x.transpose(1, 2)).transpose(1, 2)


@net(DEVELOP, ids_of)
class AlibiCausal(nn.Module):
    """Slopes of distance, nothing of what comes later."""

    def __init__(self):
        super().__init__()
        self.table, self.qkv, self.out = nn.Embedding(50, 16), nn.Linear(16, 48), nn.Linear(16, 10)

    def forward(self, ids):
        x = self.table(ids)
        n = int(ids.shape[1])
        distance = torch.arange(n)[None] - torch.arange(n)[:, None]
        slopes = torch.tensor([2.0 ** -2, 2.0 ** -4])[:, None, None]
        bias = distance * slopes + torch.full((n, n), float("-inf")).triu(1)
        q, k, v = (heads_of(part, 2) for part in self.qkv(x).chunk(3, -1))
        return self.out(x + joined(attend(q, k, v, bias)))


@net(DEVELOP, ids_of)
class BucketsT5(nn.Module):
    """Distances in buckets that grow with their logarithm, both ways."""

    def __init__(self):
        super().__init__()
        self.table, self.qkv, self.bias = nn.Embedding(50, 16), nn.Linear(16, 48), nn.Embedding(16, 2)

    def forward(self, ids):
        x = self.table(ids)
        n = int(ids.shape[1])
        distance = torch.arange(n)[None] - torch.arange(n)[:, None]
        bucket, far = (distance > 0) * 8, distance.abs()
        large = 4 + ((far.float().clamp(min=1) / 4).log() / math.log(40 / 4) * 4).long()
        bucket = bucket + torch.where(far < 4, far, large.clamp(max=7))
        q, k, v = (heads_of(part, 2) for part in self.qkv(x).chunk(3, -1))
        return x + joined(attend(q, k, v, self.bias(bucket).permute(2, 0, 1)))


@net(DEVELOP, features_of)
class ChunkedAttention(nn.Module):
    """Chunks of 6, the last one padded; each sees the one before it."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(16, 48)

    def forward(self, features):
        n = int(features.shape[1])
        x = F.pad(features, (0, 0, 0, -n % 6))
        count = x.shape[1] // 6
        q, k, v = self.qkv(x).view(1, count, 6, 48).chunk(3, -1)
        real = (torch.arange(count * 6) < n).view(1, count, 1, 6)
        before = F.pad(real[:, :-1].float(), (0, 0, 0, 0, 1, 0)) > 0
        bias = torch.where(torch.cat([before, real], -1), 0.0, -1e4)
        k, v = (torch.cat([F.pad(part[:, :-1], (0, 0, 0, 0, 1, 0)), part], 2) for part in (k, v))
        return features + attend(q, k, v, bias).reshape(1, count * 6, 16)[:, :n]


@net(DEVELOP, ids_of)
class TextCnn(nn.Module):
    """Kernels of 2, 3 and 5 over words, the most of each, and the mean of three parts of the text."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(50, 12)
        self.convs, self.out = nn.ModuleList(nn.Conv1d(12, 8, k) for k in (2, 3, 5)), nn.Linear(60, 6)

    def forward(self, ids):
        x = self.table(ids).transpose(1, 2)
        third = -(int(x.shape[2]) // -3)
        parts = [part.mean(2) for part in x.split(third, 2)]
        return self.out(torch.cat([c(x).relu().amax(2) for c in self.convs] + parts, 1))


@net(DEVELOP, features_of)
class PerceiverFourier(nn.Module):
    """Latents that look at what came, with waves of places between -1 and 1; queries of half as many read them."""

    def __init__(self):
        super().__init__()
        self.latents, self.kv, self.out = nn.Parameter(torch.randn(1, 6, 16)), nn.Linear(25, 32), nn.Linear(9, 16)

    @staticmethod
    def waves(n):
        at = torch.linspace(-1, 1, n)[:, None]
        scaled = at * torch.linspace(1, 16, 4) * math.pi
        return torch.cat([at, scaled.sin(), scaled.cos()], -1)[None]

    def forward(self, features):
        n = int(features.shape[1])
        k, v = self.kv(torch.cat([features, self.waves(n)], -1)).chunk(2, -1)
        latents = self.latents + attend(self.latents, k, v)
        return attend(self.out(self.waves((n + 1) // 2)), latents, latents)


@net(DEVELOP, features_of)
class CumsumScan(nn.Module):
    """A state space whose steps are closed by running sums, in chunks of 8 that carry what is left."""

    def __init__(self):
        super().__init__()
        self.gate, self.value = nn.Linear(16, 16), nn.Linear(16, 16)

    def forward(self, features):
        n = int(features.shape[1])
        pad = (8 - n % 8) % 8
        decay = F.pad(F.logsigmoid(self.gate(features)) * 0.1, (0, 0, 0, pad)).view(1, -1, 8, 16)
        value = F.pad(self.value(features), (0, 0, 0, pad)).view(1, -1, 8, 16)
        inner = decay.cumsum(2)
        gaps = inner[:, :, :, None] - inner[:, :, None]
        inside = (gaps.exp() * torch.ones(8, 8).tril()[:, :, None] * value[:, :, None]).sum(3)
        total = inner[:, :, -1].cumsum(1)
        carried = F.pad((inside[:, :, -1] * (-total).exp()).cumsum(1) * total.exp(), (0, 0, 1, 0))[:, :-1]
        return (inside + carried[:, :, None] * inner.exp()).reshape(1, -1, 16)[:, :n]


@net(DEVELOP, audio_of)
class Vocoder(nn.Module):
    """Strided convolutions down, transposed ones with odd kernels up, snakes between; cut to what came in."""

    def __init__(self):
        super().__init__()
        self.down1, self.down2 = nn.Conv1d(1, 8, 7, 4, 2), nn.Conv1d(8, 12, 9, 5, 3)
        self.up2, self.up1 = nn.ConvTranspose1d(12, 8, 11, 5, 3, output_padding=1), nn.ConvTranspose1d(8, 4, 9, 4, 2)
        self.rate, self.out = nn.Parameter(torch.rand(1, 12, 1) + 0.5), nn.Conv1d(4, 1, 7, padding=3)

    def forward(self, audio):
        x = self.down2(self.down1(audio).relu())
        x = x + (self.rate * x).sin() ** 2 / self.rate
        x = self.out(self.up1(self.up2(x).relu()))
        n = min(int(x.shape[2]), int(audio.shape[2]))
        return audio[..., :n] + x[..., :n]


@net(DEVELOP, audio_of)
class MelFrames(nn.Module):
    """Frames of a reflected signal against a basis of waves, a mel bank, each band normalised over time, pairs stacked."""

    def __init__(self):
        super().__init__()
        t = torch.arange(64) * 2 * math.pi / 64
        window = 0.5 - 0.5 * t.cos()
        angles = torch.arange(33)[:, None] * t
        self.register_buffer("basis", (torch.cat([angles.cos(), angles.sin()]) * window)[:, None])
        self.register_buffer("bank", torch.rand(12, 33))
        self.out = nn.Linear(24, 8)

    def forward(self, audio):
        x = F.conv1d(F.pad(audio, (32, 32), mode="reflect"), self.basis, stride=20)
        real, imaginary = x.chunk(2, 1)
        mel = (self.bank @ (real ** 2 + imaginary ** 2)).clamp(min=1e-5).log()
        n = int(mel.shape[2])
        mean = mel.mean(2, keepdim=True)
        deviation = ((mel - mean) ** 2).sum(2, keepdim=True) / (n - 1)
        mel = (mel - mean) / (deviation.sqrt() + 1e-5)
        pairs = n // 2
        return self.out(mel[..., :pairs * 2].transpose(1, 2).reshape(1, pairs, 24))
