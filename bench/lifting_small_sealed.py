"""The small nets of images that were written without knowing how lifting works; see lifting_small_models.py."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from lifting_small_models import (
    SEALED,
    attend,
    conv,
    image_of,
    net,
    rotated,
    sides,
)


@net(SEALED, image_of)
class HighResolution(nn.Module):
    """Three branches of different strides, each fused from all others: strides down, and up to the size of the other."""

    def __init__(self):
        super().__init__()
        self.stem, self.to4, self.to8 = conv(3, 6, 3, 2), conv(6, 8, 3, 2), conv(8, 10, 3, 2)
        self.body = nn.ModuleList(conv(c, c) for c in (6, 8, 10))
        self.up = nn.ModuleDict({"10": conv(8, 6, 1), "20": conv(10, 6, 1), "21": conv(10, 8, 1)})
        self.down = nn.ModuleDict({"01": conv(6, 8, 3, 2), "02": nn.Sequential(conv(6, 6, 3, 2), nn.ReLU(), conv(6, 10, 3, 2)),
                                   "12": conv(8, 10, 3, 2)})
        self.out = conv(24, 5, 1)

    def forward(self, image):
        a = self.stem(image).relu()
        b = self.to4(a).relu()
        branches = [body(x).relu() for body, x in zip(self.body, (a, b, self.to8(b).relu()), strict=True)]
        fused = []
        for i, target in enumerate(branches):
            y = target
            for j, source in enumerate(branches):
                if j > i:
                    y = y + F.interpolate(self.up[f"{j}{i}"](source), size=sides(target), mode="nearest")
                elif j < i:
                    y = y + self.down[f"{j}{i}"](source)
            fused.append(y.relu())
        whole = [F.interpolate(y, size=sides(fused[0]), mode="bilinear", align_corners=False) for y in fused[1:]]
        return self.out(torch.cat([fused[0], *whole], 1))


@net(SEALED, image_of)
class Hourglass(nn.Module):
    """Halved three times and doubled three times; where an odd side was lost, its last row is repeated."""

    def __init__(self):
        super().__init__()
        self.stem, self.out = conv(3, 8, 7, 2), conv(8, 4, 1)
        self.skip, self.low = nn.ModuleList(conv(8, 8) for _ in range(3)), nn.ModuleList(conv(8, 8) for _ in range(3))

    def level(self, x, depth):
        y = self.low[depth](F.max_pool2d(x, 2)).relu()
        if depth < 2:
            y = self.level(y, depth + 1)
        y = F.interpolate(y, scale_factor=2, mode="nearest")
        (h, w), (small_h, small_w) = sides(x), sides(y)
        return self.skip[depth](x) + F.pad(y, (0, w - small_w, 0, h - small_h), mode="replicate")

    def forward(self, image):
        return self.out(self.level(self.stem(image).relu(), 0))


@net(SEALED, image_of)
class UnetPadded(nn.Module):
    """What is doubled with its corners aligned is padded on both sides to the skip, the odd place at the end."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = (nn.Sequential(conv(i, o), nn.BatchNorm2d(o), nn.ReLU()) for i, o in ((3, 6), (6, 8), (8, 8)))
        self.d2, self.d1, self.out = conv(16, 6), conv(12, 6), conv(6, 2, 1)

    @staticmethod
    def join(small, skip):
        up = F.interpolate(small, scale_factor=2, mode="bilinear", align_corners=True)
        down, right = (a - b for a, b in zip(sides(skip), sides(up), strict=True))
        return torch.cat([skip, F.pad(up, (right // 2, right - right // 2, down // 2, down - down // 2))], 1)

    def forward(self, image):
        a = self.a(image)
        b = self.b(F.max_pool2d(a, 2))
        c = self.c(F.max_pool2d(b, 3))
        c = F.interpolate(c, scale_factor=1.5, mode="nearest", recompute_scale_factor=True)
        x = self.d2(self.join(c, b)).relu()
        return self.out(self.d1(self.join(x, a)).relu())


@net(SEALED, image_of)
class DeformableLevels(nn.Module):
    """Every place of two levels samples both levels around itself; offsets are shares of each level's sides."""

    def __init__(self):
        super().__init__()
        self.one, self.two = conv(3, 12, 8, 8, 2), conv(12, 12, 3, 2)
        self.value, self.offset, self.weight, self.out = nn.Linear(12, 12), nn.Linear(12, 16), nn.Linear(12, 8), nn.Linear(12, 4)

    def forward(self, image):
        one = self.one(image).relu()
        levels = [one, self.two(one)]
        tokens = torch.cat([x.flatten(2).transpose(1, 2) for x in levels], 1)
        points = []
        for x in levels:
            h, w = sides(x)
            y, z = torch.meshgrid(torch.linspace(0.5, h - 0.5, h) / h, torch.linspace(0.5, w - 0.5, w) / w, indexing="ij")
            points.append(torch.stack([z, y], -1).view(-1, 2))
        points = torch.cat(points)
        n = int(points.shape[0])
        offset, weight = self.offset(tokens).view(n, 2, 2, 2, 2), self.weight(tokens).view(n, 2, 4).softmax(-1).view(n, 2, 2, 2)
        values = self.value(tokens).split([a * b for a, b in map(sides, levels)], 1)
        total = 0
        for i, (x, value) in enumerate(zip(levels, values, strict=True)):
            h, w = sides(x)
            at = points[:, None, None] + offset[:, :, i] / torch.tensor([w, h])
            value = value.transpose(1, 2).reshape(2, 6, h, w)
            sampled = F.grid_sample(value, at.transpose(0, 1) * 2 - 1, mode="bilinear", padding_mode="zeros", align_corners=False)
            total = total + (sampled * weight[:, :, i].transpose(0, 1)[:, None]).sum(-1)
        return self.out(tokens + total.reshape(1, 12, n).transpose(1, 2))


@net(SEALED, image_of)
class SpatialPyramid(nn.Module):
    """The first spatial pyramid pooling: kernels, strides and padding that follow from the map, and a vector of one length."""

    def __init__(self):
        super().__init__()
        self.stem, self.out = nn.Sequential(conv(3, 8, 5, 2), nn.ReLU(), conv(8, 6)), nn.Linear(6 * 21, 7)

    def forward(self, image):
        x = self.stem(image)
        h, w = sides(x)
        parts = []
        for n in (4, 2, 1):
            kernel = -(h // -n), -(w // -n)
            padding = (kernel[0] * n - h + 1) // 2, (kernel[1] * n - w + 1) // 2
            parts.append(F.max_pool2d(x, kernel, kernel, padding).flatten(1))
        return self.out(torch.cat(parts, 1))


@net(SEALED, image_of)
class PoolMatrix(nn.Module):
    """An adaptive mean in 5 by 4 bins as two products with tables of who belongs where, and each place's own bin back."""

    def __init__(self):
        super().__init__()
        self.stem, self.mix, self.out = conv(3, 8, 4, 3, 1), nn.Linear(8, 8), conv(16, 4)

    @staticmethod
    def share(n, side):
        low, high = torch.arange(n) * side // n, ((torch.arange(n) + 1) * side + n - 1) // n
        at = torch.arange(side)
        inside = ((at >= low[:, None]) & (at < high[:, None])).float()
        return inside / (high - low)[:, None]

    def forward(self, image):
        x = self.stem(image).relu()
        h, w = sides(x)
        bins = self.share(5, h) @ x @ self.share(4, w).transpose(0, 1)
        bins = bins.permute(0, 2, 3, 1)
        bins = (bins + self.mix(bins).tanh()).permute(0, 3, 1, 2)
        back = bins[:, :, torch.arange(h) * 5 // h][:, :, :, torch.arange(w) * 4 // w]
        return self.out(torch.cat([x, back], 1))


@net(SEALED, image_of)
class RelativeTable(nn.Module):
    """A learned table of distances, brought to the distances that the grid has, and read for each pair of places."""

    def __init__(self):
        super().__init__()
        self.stem, self.qkv = nn.Sequential(conv(3, 8, 3, 2), nn.GELU(), conv(8, 12, 7, 7, 1)), nn.Linear(12, 36)
        self.bias = nn.Parameter(torch.randn(1, 2, 13, 13))

    def forward(self, image):
        x = self.stem(image)
        h, w = sides(x)
        table = F.interpolate(self.bias, size=(2 * h - 1, 2 * w - 1), mode="bilinear", align_corners=False)
        y, z = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        y, z = y.flatten(), z.flatten()
        index = (y[:, None] - y + h - 1) * (2 * w - 1) + z[:, None] - z + w - 1
        bias = table.flatten(2)[0, :, index.flatten()].view(1, 2, h * w, h * w)
        q, k, v = self.qkv(x.flatten(2).transpose(1, 2)).view(1, h * w, 3, 2, 6).permute(2, 0, 3, 1, 4).unbind(0)
        return x + attend(q, k, v, bias).transpose(2, 3).reshape(1, 12, h, w)


@net(SEALED, image_of)
class HieraUnroll(nn.Module):
    """Tokens reordered so that pools are maxima over a dimension; a tile of positions repeated over the whole; two maps back."""

    def __init__(self):
        super().__init__()
        self.patch, self.near, self.far = conv(3, 12, 7, 4), nn.Linear(12, 36), nn.Linear(12, 36)
        self.positions, self.tile = nn.Parameter(torch.randn(1, 12, 6, 6)), nn.Parameter(torch.randn(1, 12, 4, 4))

    def forward(self, image):
        x = self.patch(image)
        x = F.pad(x, (0, -int(x.shape[3]) % 4, 0, -int(x.shape[2]) % 4))
        h, w = sides(x)
        rows, columns = h // 4, w // 4
        x = x + F.interpolate(self.positions, size=(h, w), mode="bicubic", align_corners=False) + self.tile.repeat(1, 1, rows, columns)
        x = x.view(12, rows, 2, 2, columns, 2, 2).permute(2, 5, 3, 6, 1, 4, 0).reshape(16, rows * columns, 12)
        units = x.transpose(0, 1)
        x = x + attend(*self.near(units).chunk(3, -1)).transpose(0, 1)
        x = x.view(4, 4, rows * columns, 12).amax(1)
        middle = x.view(2, 2, rows, columns, 12).permute(4, 2, 0, 3, 1).reshape(1, 12, rows * 2, columns * 2)
        x = x.reshape(1, -1, 12)
        x = x + attend(*self.far(x).chunk(3, -1))
        last = x.view(4, rows * columns, 12).amax(0).transpose(0, 1).reshape(1, 12, rows, columns)
        return middle, last


@net(SEALED, image_of)
class Neighborhood(nn.Module):
    """Each place sees 5 by 5 around it; at the edge the window stays inside, and its distances change."""

    def __init__(self):
        super().__init__()
        self.stem, self.qkv, self.bias = conv(3, 8, 6, 6, 0), nn.Linear(8, 24), nn.Parameter(torch.randn(9, 9))

    def forward(self, image):
        x = self.stem(image)[0].permute(1, 2, 0)
        h, w = int(x.shape[0]), int(x.shape[1])
        q, k, v = self.qkv(x).chunk(3, -1)
        rows, columns = ((torch.arange(n) - 2).clamp(0, n - 5)[:, None] + torch.arange(5) for n in (h, w))
        away_y, away_x = (at - torch.arange(n)[:, None] + 4 for at, n in ((rows, h), (columns, w)))
        at_y, at_x = rows[:, None, :, None], columns[None, :, None, :]
        k, v = k[at_y, at_x].reshape(h, w, 25, 8), v[at_y, at_x].reshape(h, w, 25, 8)
        bias = self.bias[away_y[:, None, :, None], away_x[None, :, None, :]].reshape(h, w, 1, 25)
        return (x + attend(q[:, :, None], k, v, bias)[:, :, 0]).permute(2, 0, 1)[None]


@net(SEALED, image_of)
class LinesCtc(nn.Module):
    """A recurrent net down the height of columns, and one both ways over the width, with a head for CTC."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(conv(3, 8), nn.ReLU(), nn.MaxPool2d(2), conv(8, 8), nn.ReLU(), nn.MaxPool2d((2, 4), (2, 4), (1, 0)))
        self.down, self.across, self.out = nn.GRU(8, 6, batch_first=True), nn.GRU(6, 5, batch_first=True, bidirectional=True), nn.Linear(10, 9)

    def forward(self, image):
        x = self.stem(image)
        h, w = sides(x)
        columns = x.permute(0, 3, 2, 1).reshape(w, h, 8)
        read = self.down(columns)[0][:, -1]
        return self.out(self.across(read[None])[0]).log_softmax(-1)


@net(SEALED, image_of)
class RetinaTop(nn.Module):
    """Anchors of nine shapes on three levels, as shares of the image; a tenth of them is kept."""

    def __init__(self):
        super().__init__()
        self.levels = nn.ModuleList([conv(3, 12, 9, 8, 4), conv(12, 12, 3, 2), conv(12, 12, 3, 2)])
        self.score, self.delta = conv(12, 9), conv(12, 36)

    def forward(self, image):
        height, width = sides(image)
        x, boxes, scores = image, [], []
        for level, stride in zip(self.levels, (8, 16, 32), strict=True):
            x = level(x).relu()
            h, w = sides(x)
            y, z = torch.meshgrid((torch.arange(h) + 0.5) * stride, (torch.arange(w) + 0.5) * stride, indexing="ij")
            extents = torch.tensor([[s * r, s / r] for s in (1, 2 ** (1 / 3), 2 ** (2 / 3)) for r in (0.7, 1.0, 1.4)]) * 4 * stride
            centres = torch.stack([z, y], -1).view(-1, 1, 2).expand(-1, 9, 2).reshape(-1, 2)
            extents = extents[None].expand(h * w, 9, 2).reshape(-1, 2)
            delta = self.delta(x).permute(0, 2, 3, 1).reshape(-1, 4)
            middle, half = centres + delta[:, :2] * extents, (delta[:, 2:] * 0.2).exp() * extents / 2
            boxes.append(torch.cat([middle - half, middle + half], 1) / torch.tensor([width, height, width, height]))
            scores.append(self.score(x).permute(0, 2, 3, 1).reshape(-1))
        boxes, scores = torch.cat(boxes), torch.cat(scores)
        best, index = scores.topk(max(1, int(scores.shape[0]) // 10))
        return best, best.softmax(0) @ boxes[index].clamp(0, 1), boxes


@net(SEALED, image_of)
class BirdsEye(nn.Module):
    """Columns spread over depths, seen from above: a half as deep as the map is wide, each cell where its ray falls."""

    def __init__(self):
        super().__init__()
        self.stem, self.depth, self.out = conv(3, 8, 8, 8, 3), conv(8, 6, 1), conv(8, 4)

    def forward(self, image):
        x = self.stem(image).relu()
        w = int(x.shape[3])
        polar = torch.einsum("bchw,bdhw->bcdw", x, self.depth(x).softmax(1)) / int(x.shape[2])
        deep = (w + 1) // 2
        z, across = (torch.arange(deep) + 0.5) / deep, torch.linspace(-1, 1, w + 2)
        z, across = torch.meshgrid(z, across, indexing="ij")
        grid = torch.stack([across / (z + 0.3), (z ** 2 + across ** 2).sqrt() * 1.4 - 1], -1)
        return self.out(F.grid_sample(polar, grid[None], mode="bilinear", padding_mode="border", align_corners=True))


@net(SEALED, image_of)
class VoxelBlocks(nn.Module):
    """Blocks of 4 by 4 places stand as 16 layers of a volume, which strides halve in every direction and doubling gives back."""

    def __init__(self):
        super().__init__()
        self.down, self.up = nn.Conv3d(3, 6, 3, 2, 1), nn.ConvTranspose3d(6, 3, 3, 2, 1)
        self.thin, self.out = nn.Conv3d(6, 6, (8, 1, 1)), conv(6, 3, 1)

    def forward(self, image):
        h, w = sides(image)
        x = F.pad(image, (0, -w % 4, 0, -h % 4), mode="replicate")
        rows, columns = (side // 4 for side in sides(x))
        x = x.view(1, 3, rows, 4, columns, 4).permute(0, 1, 3, 5, 2, 4).reshape(1, 3, 16, rows, columns)
        small = self.down(x).relu()
        x = x + self.up(small, output_size=(16, rows, columns))
        x = x.view(1, 3, 4, 4, rows, columns).permute(0, 1, 4, 2, 5, 3).reshape(1, 3, rows * 4, columns * 4)[:, :, :h, :w]
        flat = self.out(self.thin(small).squeeze(2))
        return x + F.interpolate(flat, size=(h, w), mode="bilinear", align_corners=False)


@net(SEALED, image_of)
class GridGraph(nn.Module):
    """Cells as the nodes of a graph, joined to the right and down; messages weighted by what they say, and divided by it."""

    def __init__(self):
        super().__init__()
        self.patch, self.message, self.gate = conv(3, 8, 8, 8, 0), nn.Linear(16, 8), nn.Linear(16, 1)

    def forward(self, image):
        x = self.patch(image)
        h, w = sides(x)
        node = torch.arange(h * w).view(h, w)
        source = torch.cat([node[:, :-1].reshape(-1), node[:-1].reshape(-1)])
        target = torch.cat([node[:, 1:].reshape(-1), node[1:].reshape(-1)])
        source, target = torch.cat([source, target]), torch.cat([target, source])
        x = x.flatten(2)[0].transpose(0, 1)
        for _ in range(2):
            pair = torch.cat([x[source], x[target]], 1)
            weight = self.gate(pair).sigmoid()
            total = torch.zeros(h * w, 8).scatter_add(0, target[:, None].expand(-1, 8), self.message(pair) * weight)
            count = torch.zeros(h * w, 1).scatter_add(0, target[:, None], weight)
            x = x + (total / count).relu()
        degree = torch.zeros(h * w).scatter_add(0, target, torch.ones(2 * (h * (w - 1) + (h - 1) * w)))
        return x.mean(0), (x * degree[:, None].rsqrt()).view(h, w, 8)


@net(SEALED, image_of)
class RolledHalves(nn.Module):
    """The map turned by half of each side, by a third of its width, and by single places; convolved around the edge; mirrored."""

    def __init__(self):
        super().__init__()
        self.stem, self.wrap, self.out = conv(3, 12, 5, 3), conv(12, 12, 5, 1, 0), conv(12, 4, 1)

    def forward(self, image):
        x = self.stem(image)
        h, w = sides(x)
        centred = x.roll((h // 2, w // 2), (2, 3))
        y = self.wrap(F.pad(centred, (2, 2, 2, 2), mode="circular")).relu().roll((-(h // 2), -(w // 2)), (2, 3))
        a, b, c, d = y.chunk(4, 1)
        shifted = torch.cat([a.roll(1, 2), b.roll(-1, 2), c.roll(w // 3, 3), F.pad(d[..., 1:], (0, 1))], 1)
        return self.out(x + shifted + y.flip(3))


@net(SEALED, image_of)
class CrissCross(nn.Module):
    """Each place attends to its row and its column at once, itself counted only in the row."""

    def __init__(self):
        super().__init__()
        self.stem, self.qk, self.v, self.scale = conv(3, 8, 7, 5, 1), conv(8, 8, 1), conv(8, 8, 1), nn.Parameter(torch.ones(1))

    def forward(self, image):
        x = self.stem(image)
        h, w = sides(x)
        q, k = self.qk(x).chunk(2, 1)
        v = self.v(x)
        rows = torch.einsum("bchw,bchg->bhwg", q, k)
        columns = torch.einsum("bchw,bcgw->bhwg", q, k).masked_fill(torch.eye(h, dtype=torch.bool)[:, None], float("-inf"))
        share = torch.cat([columns, rows], -1).softmax(-1)
        y = torch.einsum("bhwg,bcgw->bchw", share[..., :h], v) + torch.einsum("bhwg,bchg->bchw", share[..., h:], v)
        return x + self.scale * y


@net(SEALED, image_of)
class CrossStripes(nn.Module):
    """Half of the channels attends in stripes of 3 rows, the other half in stripes of 3 columns, the last stripe shorter."""

    def __init__(self):
        super().__init__()
        self.stem, self.qkv = conv(3, 12, 7, 7, 3), conv(12, 36, 1)
        self.near = nn.ModuleList(nn.Conv2d(6, 6, 3, padding=1, groups=6) for _ in range(2))

    @staticmethod
    def stripes(x):
        """Of (3, 6, h, w): attention among each three rows; what was padded is masked."""
        h, w = sides(x)
        count = -(h // -3)
        x = F.pad(x, (0, 0, 0, count * 3 - h)).reshape(3, 6, count, 3 * w).permute(0, 2, 3, 1)
        hidden = (torch.arange(count * 3) >= h).view(count, 3, 1).expand(count, 3, w).reshape(count, 1, 3 * w)
        y = attend(x[0], x[1], x[2], hidden * -1e4)
        return y.view(count * 3, w, 6)[:h].permute(2, 0, 1)[None]

    def forward(self, image):
        x = self.stem(image)
        h, w = sides(x)
        flat, tall = self.qkv(x).view(3, 2, 6, h, w).unbind(1)
        y = torch.cat([self.stripes(flat) + self.near[0](flat[2:]), self.stripes(tall.transpose(2, 3)).transpose(2, 3) + self.near[1](tall[2:])], 1)
        return x + y


@net(SEALED, image_of)
class DiffusionPatches(nn.Module):
    """Positions cut from the middle of a table, rotary ones of shares of the sides, and patches laid out as an image again."""

    def __init__(self):
        super().__init__()
        self.patch, self.qkv, self.out = conv(3, 16, 8, 8, 0), nn.Linear(16, 48), nn.Linear(16, 8 * 8 * 2)
        self.register_buffer("table", torch.randn(1, 40, 40, 16) * 0.3)

    def forward(self, image):
        height, width = sides(image)
        x = self.patch(F.pad(image, (0, -width % 8, 0, -height % 8), mode="replicate")).permute(0, 2, 3, 1)
        h, w = int(x.shape[1]), int(x.shape[2])
        top, left = (40 - h) // 2, (40 - w) // 2
        x = (x + self.table[:, top:top + h, left:left + w]).reshape(1, h * w, 16)
        rate = 2 * math.pi / 100 ** (torch.arange(4) / 4)
        y, z = torch.meshgrid((torch.arange(h) + 0.5) / h * 2 - 1, (torch.arange(w) + 0.5) / w * 2 - 1, indexing="ij")
        angles = (torch.stack([y, z], -1)[..., None] * rate).view(h * w, 8)
        q, k, v = self.qkv(x).chunk(3, -1)
        x = self.out(x + attend(rotated(q, angles), rotated(k, angles), v)).view(1, h, w, 8, 8, 2)
        return torch.einsum("nhwpqc->nchpwq", x).reshape(1, 2, h * 8, w * 8)[:, :, :height, :width]


@net(SEALED, image_of)
class TokensToTokens(nn.Module):
    """Overlapping pieces become tokens, those a map again, whose pieces become fewer tokens; sines by their number."""

    def __init__(self):
        super().__init__()
        self.one, self.two, self.qkv, self.cls = nn.Linear(147, 12), nn.Linear(108, 16), nn.Linear(12, 36), nn.Parameter(torch.randn(1, 1, 16))
        self.last = nn.Linear(16, 48)

    def forward(self, image):
        height, width = sides(image)
        x = self.one(F.unfold(image, 7, stride=4, padding=2).transpose(1, 2))
        h, w = (height - 3) // 4 + 1, (width - 3) // 4 + 1
        q, k, v = self.qkv(x).chunk(3, -1)
        x = x + q.softmax(-1) @ (k.softmax(1).transpose(1, 2) @ v)
        x = self.two(F.unfold(x.transpose(1, 2).reshape(1, 12, h, w), 3, stride=2, padding=1).transpose(1, 2))
        n = int(x.shape[1]) + 1
        angle = torch.arange(n)[:, None] / 10000 ** (torch.arange(16) // 2 * 2 / 16)
        x = torch.cat([self.cls, x], 1) + torch.where(torch.arange(16) % 2 == 0, angle.sin(), angle.cos())
        x = x + attend(*self.last(x).chunk(3, -1))
        return x[:, 0], x[:, 1:].transpose(1, 2).reshape(1, 16, (h + 1) // 2, (w + 1) // 2)


@net(SEALED, image_of)
class LocalImplicit(nn.Module):
    """An image of two thirds, each place told from the nearest cell and the one before, how far they are, and how large a cell is."""

    def __init__(self):
        super().__init__()
        self.stem, self.tell = nn.Sequential(conv(3, 8, 5, 4), nn.ReLU(), conv(8, 8)), nn.Sequential(nn.Linear(12, 12), nn.ReLU(), nn.Linear(12, 3))

    @staticmethod
    def nearest(cells, places):
        at = torch.arange(places)
        cell = (2 * at + 1) * cells // (2 * places)
        return cell, (at + 0.5) / places * cells - cell - 0.5

    def forward(self, image):
        x = self.stem(image)[0].permute(1, 2, 0)
        rows, columns = int(x.shape[0]), int(x.shape[1])
        h, w = (side * 2 // 3 for side in sides(image))
        (row, down), (column, right) = self.nearest(rows, h), self.nearest(columns, w)
        size = torch.tensor([rows / h, columns / w]).expand(h, w, 2)
        total = 0
        for back in (0, 1):
            cells = x[(row - back).clamp(min=0)][:, (column - back).clamp(min=0)]
            away = torch.stack([(down + back)[:, None].expand(h, w), (right + back)[None].expand(h, w)], -1)
            total = total + self.tell(torch.cat([cells, away, size], -1)) * (0.75 - back / 2)
        return total.permute(2, 0, 1)[None]
