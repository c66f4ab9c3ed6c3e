"""The small nets of lifting_small_models.py that are held back while lifting is developed."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from lifting_small_models import (
    HELD_BACK,
    attend,
    audio_of,
    conv,
    features_of,
    ids_of,
    image_of,
    net,
    rotated,
    sides,
)


@net(HELD_BACK, image_of)
class DilatedContext(nn.Module):
    """Dilated convolutions and the mean of all, joined and brought to the size of the image."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(conv(3, 8, 3, 2, 0), nn.ReLU(), conv(8, 8, 3, 2, 0))
        self.rates = nn.ModuleList(nn.Conv2d(8, 6, 3, padding=r, dilation=r) for r in (1, 2, 4))
        self.mean, self.out = conv(8, 6, 1), conv(24, 4, 1)

    def forward(self, image):
        x = self.stem(image).relu()
        parts = [rate(x) for rate in self.rates]
        mean = self.mean(F.adaptive_avg_pool2d(x, 1))
        parts.append(F.interpolate(mean, size=sides(x), mode="bilinear", align_corners=False))
        return F.interpolate(self.out(torch.cat(parts, 1)), size=sides(image), mode="bilinear", align_corners=True)


@net(HELD_BACK, image_of)
class OutputPadding(nn.Module):
    """Transposed convolutions whose output padding gives back the sizes that strides have rounded."""

    def __init__(self):
        super().__init__()
        self.a, self.b = conv(3, 8, 3, 2), conv(8, 12, 3, 2)
        self.up2, self.up1 = nn.ConvTranspose2d(12, 8, 3, 2, 1), nn.ConvTranspose2d(8, 3, 3, 2, 1)

    def forward(self, image):
        a = self.a(image).relu()
        b = self.b(a).relu()
        x = self.up2(b, output_size=sides(a)).relu() + a
        return self.up1(x, output_size=sides(image)) + image


@net(HELD_BACK, image_of)
class HaloAttention(nn.Module):
    """Blocks of 4 that see two places around them, the edge filled with zeros."""

    def __init__(self):
        super().__init__()
        self.stem, self.q, self.kv = conv(3, 8, 5, 4), conv(8, 8, 1), conv(8, 16, 1)

    def forward(self, image):
        x = self.stem(image)
        h, w = sides(x)
        padded = F.pad(x, (0, -w % 4, 0, -h % 4))
        full_h, full_w = sides(padded)
        rows, columns = full_h // 4, full_w // 4
        q = self.q(padded).view(1, 8, rows, 4, columns, 4).permute(0, 2, 4, 3, 5, 1).reshape(rows * columns, 16, 8)
        kv = F.unfold(self.kv(padded), 8, padding=2, stride=4).view(16, 64, rows * columns).permute(2, 1, 0)
        k, v = kv.chunk(2, -1)
        y = attend(q, k, v).view(rows, columns, 4, 4, 8).permute(4, 0, 2, 1, 3).reshape(1, 8, full_h, full_w)
        return x + y[:, :, :h, :w]


@net(HELD_BACK, image_of)
class SpaceToDepth(nn.Module):
    """Four by four places into channels and back, the image reflected to whole cells."""

    def __init__(self):
        super().__init__()
        self.body, self.out = conv(48, 16), conv(16, 48)

    def forward(self, image):
        h, w = sides(image)
        down, right = (4 - h % 4) % 4, (4 - w % 4) % 4
        x = F.pad(image, (0, right, 0, down), mode="reflect")
        y = F.pixel_shuffle(self.out(self.body(F.pixel_unshuffle(x, 4)).relu()), 4)
        return (x + y)[:, :, :h, :w]


@net(HELD_BACK, image_of)
class SoftKeypoints(nn.Module):
    """Coordinates as channels, heatmaps, and where their weight lies in places of the image."""

    def __init__(self):
        super().__init__()
        self.stem, self.heat = conv(5, 12, 5, 3, 1), conv(12, 6)

    def forward(self, image):
        h, w = sides(image)
        y, x = torch.meshgrid(torch.arange(h) / (h - 1), torch.arange(w) / (w - 1), indexing="ij")
        heat = self.heat(self.stem(torch.cat([image, y[None, None] * 2 - 1, x[None, None] * 2 - 1], 1)).relu())
        small_h, small_w = sides(heat)
        share = heat.flatten(2).softmax(-1).view(1, 6, small_h, small_w)
        at_x = (share.sum(2) * (torch.arange(small_w) + 0.5)).sum(-1) * (w / small_w)
        at_y = (share.sum(3) * (torch.arange(small_h) + 0.5)).sum(-1) * (h / small_h)
        return torch.stack([at_x, at_y], -1) / max(h, w), share


@net(HELD_BACK, image_of)
class PointCells(nn.Module):
    """Cells of 8 by 8 places and one for none, opened to the whole map; descriptors brought there too."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(conv(3, 8, 3, 2), nn.MaxPool2d(2), conv(8, 16), nn.ReLU(), nn.MaxPool2d(2))
        self.points, self.describe = conv(16, 65, 1), conv(16, 6, 1)

    def forward(self, image):
        x = self.stem(image)
        h, w = sides(x)
        points = self.points(x).softmax(1)[:, :-1]
        points = points.permute(0, 2, 3, 1).reshape(1, h, w, 8, 8).permute(0, 1, 3, 2, 4).reshape(1, h * 8, w * 8)
        best = points * (F.max_pool2d(points, 5, 1, 2) == points)
        described = F.interpolate(self.describe(x), size=(h * 8, w * 8), mode="bicubic", align_corners=False)
        return best, described / (described.pow(2).sum(1, keepdim=True) + 1e-6).sqrt()


@net(HELD_BACK, image_of)
class YoloDecode(nn.Module):
    """Two levels of cells, each adding its place to what it says, in places of the image."""

    def __init__(self):
        super().__init__()
        self.stem, self.next = nn.Sequential(conv(3, 8, 6, 2, 2), nn.SiLU(), conv(8, 12, 3, 4)), conv(12, 12, 3, 2)
        self.heads = nn.ModuleList(conv(12, 14, 1) for _ in range(2))

    def forward(self, image):
        x, found = self.stem(image), []
        for head, stride in zip(self.heads, (8, 16), strict=True):
            h, w = sides(x)
            y = head(x).view(1, 2, 7, h, w).permute(0, 1, 3, 4, 2)
            row, column = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
            cell = torch.stack([column, row], -1).view(1, 1, h, w, 2).float()
            shapes = torch.tensor([[1.0, 2.0], [2.0, 1.0]]).view(1, 2, 1, 1, 2).expand(1, 2, h, w, 2) * stride
            centre = (y[..., :2].sigmoid() * 2 - 0.5 + cell) * stride
            extent = (y[..., 2:4].sigmoid() * 2) ** 2 * shapes
            found.append(torch.cat([centre, extent, y[..., 4:].sigmoid()], -1).reshape(1, -1, 7))
            x = self.next(x).relu()
        return torch.cat(found, 1)


@net(HELD_BACK, image_of)
class CostVolume(nn.Module):
    """The left half of the image against the right, moved by up to 5 places, and the mean of what fits."""

    def __init__(self):
        super().__init__()
        self.stem, self.smooth = conv(3, 8, 3, 2), nn.Conv3d(1, 1, 3, padding=1)

    def forward(self, image):
        x = self.stem(image)
        half = int(x.shape[3]) // 2
        left, right = x[..., :half], x[..., -half:]
        costs = [left.mul(F.pad(right, (d, 0))[..., :half]).mean(1) for d in range(6)]
        share = self.smooth(torch.stack(costs, 1)[:, None]).squeeze(1).softmax(1)
        shift = (share * torch.arange(6).view(1, 6, 1, 1)).sum(1, keepdim=True)
        return F.interpolate(shift, size=(int(image.shape[2]), int(image.shape[3]) // 2), mode="bilinear", align_corners=False)


@net(HELD_BACK, image_of)
class ScaledPositions(nn.Module):
    """Learned positions brought to the grid by a scale a little above the true one, as the first DINO does; and no class token."""

    def __init__(self):
        super().__init__()
        self.patch, self.positions, self.mix = conv(3, 12, 6, 6, 0), nn.Parameter(torch.randn(1, 12, 9, 9)), nn.Linear(12, 12)

    def forward(self, image):
        x = self.patch(image)
        h, w = sides(x)
        positions = F.interpolate(self.positions, scale_factor=((h + 0.1) / 9, (w + 0.1) / 9), mode="bilinear", align_corners=False)
        x = (x + positions[:, :, :h, :w]).flatten(2).transpose(1, 2)
        return x + attend(x, self.mix(x), x)


@net(HELD_BACK, image_of)
class LearnedRows(nn.Module):
    """A table of rows and one of columns, read from their middle outwards, and each row's own attention."""

    def __init__(self):
        super().__init__()
        self.stem = conv(3, 12, 5, 5, 1)
        self.rows, self.columns, self.qkv = nn.Embedding(64, 12), nn.Embedding(64, 12), nn.Linear(12, 36)

    def forward(self, image):
        x = self.stem(image).permute(0, 2, 3, 1)
        h, w = int(x.shape[1]), int(x.shape[2])
        x = x + self.rows(torch.arange(h) - h // 2 + 32)[:, None] + self.columns(torch.arange(w) - w // 2 + 32)[None]
        q, k, v = self.qkv(x).chunk(3, -1)
        x = x + attend(q, k, v)
        q, k, v = self.qkv(x.transpose(1, 2)).chunk(3, -1)
        return (x + attend(q, k, v).transpose(1, 2)).permute(0, 3, 1, 2)


@net(HELD_BACK, image_of)
class ReducedAttention(nn.Module):
    """Keys of a strided convolution, relative places between two grids in a table of clipped differences."""

    def __init__(self):
        super().__init__()
        self.patch, self.q, self.kv = conv(3, 12, 7, 4), nn.Linear(12, 12), conv(12, 24, 3, 3, 0)
        self.bias = nn.Embedding(81, 1)

    def forward(self, image):
        x = self.patch(image)
        h, w = sides(x)
        kv = self.kv(x)
        small_h, small_w = sides(kv)
        k, v = kv.flatten(2).transpose(1, 2).chunk(2, -1)
        rows = (torch.arange(h)[:, None] // 3 - torch.arange(small_h)[None]).clamp(-4, 4) + 4
        columns = (torch.arange(w)[:, None] // 3 - torch.arange(small_w)[None]).clamp(-4, 4) + 4
        index = rows[:, None, :, None] * 9 + columns[None, :, None, :]
        bias = self.bias(index.reshape(h * w, small_h * small_w)).squeeze(-1)
        x = x.flatten(2).transpose(1, 2)
        return (x + attend(self.q(x), k, v, bias)).transpose(1, 2).reshape(1, 12, h, w)


@net(HELD_BACK, image_of)
class LaplacianPyramid(nn.Module):
    """Blurs of reflected edges, every second place kept, differences to what is brought back, and the whole put together."""

    def __init__(self):
        super().__init__()
        blur = torch.tensor([1.0, 4.0, 6.0, 4.0, 1.0])
        self.register_buffer("kernel", (blur[:, None] * blur / 256)[None, None].repeat(3, 1, 1, 1))
        self.mix = nn.ModuleList(conv(3, 3) for _ in range(3))

    def forward(self, image):
        x, details = image, []
        for mix in self.mix[:2]:
            small = F.conv2d(F.pad(x, (2, 2, 2, 2), mode="reflect"), self.kernel, groups=3)[:, :, ::2, ::2]
            details.append(mix(x - F.interpolate(small, size=sides(x), mode="bilinear", align_corners=False)))
            x = small
        x = self.mix[2](x)
        for detail in reversed(details):
            x = F.interpolate(x, size=sides(detail), mode="bilinear", align_corners=False) + detail
        return x


@net(HELD_BACK, image_of)
class GridAttention(nn.Module):
    """A grid of three by three places, spread over the whole map, attends to itself; the map is padded at its beginning too."""

    def __init__(self):
        super().__init__()
        self.stem, self.qkv = conv(3, 12, 4, 4, 0), nn.Linear(12, 36)

    def forward(self, image):
        x = self.stem(image)
        h, w = sides(x)
        down, right = -h % 3, -w % 3
        padded = F.pad(x, (right // 2, right - right // 2, down // 2, down - down // 2))
        rows, columns = (side // 3 for side in sides(padded))
        tokens = padded.view(1, 12, 3, rows, 3, columns).permute(0, 3, 5, 2, 4, 1).reshape(-1, 9, 12)
        y = attend(*self.qkv(tokens).chunk(3, -1)).view(1, rows, columns, 3, 3, 12).permute(0, 5, 3, 1, 4, 2)
        y = y.reshape(1, 12, rows * 3, columns * 3)
        return x + y[:, :, down // 2:down // 2 + h, right // 2:right // 2 + w]


@net(HELD_BACK, ids_of)
class RotaryMemory(nn.Module):
    """Rotary positions after a memory of 5, of which everything is seen, and a window of 9."""

    def __init__(self):
        super().__init__()
        self.table, self.memory, self.qkv = nn.Embedding(50, 16), nn.Parameter(torch.randn(1, 5, 16)), nn.Linear(16, 48)

    def forward(self, ids):
        x = self.table(ids)
        n = int(x.shape[1])
        q, k, v = self.qkv(torch.cat([self.memory, x], 1)).chunk(3, -1)
        angles = torch.arange(n + 5)[:, None] * 10000 ** -(torch.arange(8) / 8)
        at = torch.arange(n + 5)
        gap = at[5:, None] - at[None]
        seen = ((gap >= 0) & (gap < 9)) | (at[None] < 5)
        bias = torch.zeros(n, n + 5).masked_fill(~seen, torch.finfo(torch.float32).min)
        return x + attend(rotated(q[:, 5:], angles[5:]), rotated(k, angles), v, bias)


def with_length(n):
    return features_of(n) | dict(length=np.array([n - n // 4], np.int64))


@net(HELD_BACK, with_length, "sequence")
class MaskedLengths(nn.Module):
    """What lies beyond a given length is neither seen nor counted, at the half rate too."""

    def __init__(self):
        super().__init__()
        self.down, self.qkv = nn.Conv1d(16, 16, 4, 2, 1), nn.Linear(16, 48)

    def forward(self, features, length):
        x = self.down(features.transpose(1, 2)).transpose(1, 2)
        n = int(x.shape[1])
        real = torch.arange(n)[None] < ((length + 1) // 2)[:, None]
        q, k, v = self.qkv(x).chunk(3, -1)
        x = x + attend(q, k, v, torch.where(real, 0.0, -1e9)[:, None])
        share = real.float() / real.sum(1, keepdim=True)
        return (x * share[..., None]).sum(1)


@net(HELD_BACK, features_of)
class UnfoldWindows(nn.Module):
    """Windows of 8 every 4 places, the last one filled with zeros, added where they overlap."""

    def __init__(self):
        super().__init__()
        self.mix, self.out = nn.Linear(16, 16), nn.Linear(16, 16)

    def forward(self, features):
        n = int(features.shape[1])
        rest = max(8 - n, 0) if n < 8 else -(n - 8) % 4
        x = F.pad(features, (0, 0, 0, rest))
        count = (int(x.shape[1]) - 8) // 4 + 1
        windows = torch.stack([x[:, :-4].reshape(1, count, 4, 16), x[:, 4:].reshape(1, count, 4, 16)], 2).reshape(1, count, 8, 16)
        y = windows + attend(self.mix(windows), windows, windows)
        first, second = y[:, :, :4].reshape(1, -1, 16), y[:, :, 4:].reshape(1, -1, 16)
        whole = F.pad(first, (0, 0, 0, 4)) + F.pad(second, (0, 0, 4, 0))
        return self.out(whole)[:, :n]


@net(HELD_BACK, features_of)
class LinearAttention(nn.Module):
    """Causal attention by running sums, each divided by how many it has seen."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(16, 48)

    def forward(self, features):
        q, k, v = self.qkv(features).chunk(3, -1)
        q, k = F.elu(q) + 1, F.elu(k) + 1
        n = int(features.shape[1])
        seen = torch.arange(1, n + 1).view(1, n, 1, 1)
        state = (k[..., None] * v[..., None, :]).cumsum(1) / seen
        norm = k.cumsum(1) / seen[..., 0]
        return (q[..., None, :] @ state).squeeze(-2) / (q * norm).sum(-1, keepdim=True) + features / math.sqrt(n)


def frames_and_labels(n):
    return features_of(n) | dict(labels=ids_of(6)["ids"])


@net(HELD_BACK, frames_and_labels, "sequence")
class TransducerJoint(nn.Module):
    """Three frames stacked to one, the rest left out, joined with each label."""

    def __init__(self):
        super().__init__()
        self.frames, self.labels, self.out = nn.Linear(48, 16), nn.Embedding(50, 16), nn.Linear(16, 12)

    def forward(self, features, labels):
        n = int(features.shape[1]) // 3
        frames = self.frames(features[:, :n * 3].reshape(1, n, 48))
        history = F.pad(self.labels(labels), (0, 0, 1, 0))
        return self.out((frames[:, :, None] + history[:, None]).tanh()).log_softmax(-1)


@net(HELD_BACK, features_of)
class PooledFunnel(nn.Module):
    """Pairs pooled, an odd one alone, attended and repeated again; and a third as many by a stride."""

    def __init__(self):
        super().__init__()
        self.qkv, self.third = nn.Linear(16, 48), nn.Linear(16, 16)

    def forward(self, features):
        n = int(features.shape[1])
        pooled = F.avg_pool1d(features.transpose(1, 2), 2, 2, ceil_mode=True, count_include_pad=False).transpose(1, 2)
        q, k, v = self.qkv(pooled).chunk(3, -1)
        up = (pooled + attend(q, k, v)).repeat_interleave(2, 1)[:, :n]
        third = self.third(features[:, ::3])
        return up + attend(features, third, third)


@net(HELD_BACK, ids_of)
class ClippedRelative(nn.Module):
    """Shaw's vectors of distances, none beyond 6, and a text read from both ends."""

    def __init__(self):
        super().__init__()
        self.table, self.near, self.qkv = nn.Embedding(50, 16), nn.Embedding(13, 16), nn.Linear(16, 48)

    def forward(self, ids):
        x = self.table(ids)
        x = x + self.table(ids.flip(1))
        n = int(x.shape[1])
        at = torch.arange(n)
        near = self.near((at[None] - at[:, None]).clamp(-6, 6) + 6)
        q, k, v = self.qkv(x).chunk(3, -1)
        scores = (q @ k.transpose(1, 2) + torch.einsum("bid,ijd->bij", q, near)) / 4
        return scores.softmax(-1) @ v


@net(HELD_BACK, audio_of)
class WaveUnet(nn.Module):
    """Padded until every stride is whole, down and up again, the middle of it given back."""

    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList(nn.Conv1d(a, b, 8, 4) for a, b in ((1, 6), (6, 10)))
        self.up = nn.ModuleList(nn.ConvTranspose1d(a, b, 8, 4) for a, b in ((10, 6), (6, 1)))

    def forward(self, audio):
        n = int(audio.shape[2])
        length = n
        for _ in self.down:
            length = max(math.ceil((length - 8) / 4) + 1, 1)
        for _ in self.down:
            length = (length - 1) * 4 + 8
        extra = length - n
        x, skips = F.pad(audio, (extra // 2, extra - extra // 2)), []
        for down in self.down:
            x = down(x).relu()
            skips.append(x)
        for up, skip in zip(self.up, reversed(skips), strict=True):
            x = up(x + skip[..., :x.shape[2]])
        return x[..., extra // 2:extra // 2 + n]


@net(HELD_BACK, audio_of)
class FrameMask(nn.Module):
    """Frames into bands, a mask from strided maps of time and frequency, and the frames added up again."""

    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Conv1d(1, 18, 32, 16), nn.ConvTranspose1d(18, 1, 32, 16)
        self.down, self.up = nn.Conv2d(1, 6, 3, (2, 3), (1, 1)), nn.Conv2d(6, 1, 1)

    def forward(self, audio):
        n = int(audio.shape[2])
        rest = 16 - n % 16  # a whole hop where nothing is left over
        bands = self.encode(F.pad(audio, (16, rest + 16)))
        mask = self.up(self.down(bands[:, None]).relu())
        mask = F.interpolate(mask, size=sides(bands), mode="nearest").squeeze(1).sigmoid()
        return self.decode(bands * mask)[..., 16:16 + n]
