"""The small nets of images of a second trial that was written without knowing how lifting works; see lifting_small_models.py."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from lifting_small_models import (
    FRESH,
    attend,
    conv,
    heads_of,
    image_of,
    joined,
    net,
    rotated,
    sides,
)


def two_images(h, w):
    random = np.random.default_rng(h * 1000 + w)
    first, noise = (random.standard_normal((1, 3, h, w), dtype=np.float32) for _ in range(2))
    return dict(first=first, second=np.roll(first, 3, 3) + noise / 4)


def tokens_of(x):
    return x.flatten(2).transpose(1, 2)


def map_of(x, h, w):
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], h, w)


def sines_of(values, width):
    """Sines and cosines, made by numpy as in the first diffusion transformers."""
    rates = 100.0 ** -(np.arange(width // 2, dtype=np.float64) / (width // 2))
    angles = np.outer(np.asarray(values, np.float64).reshape(-1), rates)
    return np.concatenate([np.sin(angles), np.cos(angles)], 1).astype(np.float32)


def windows_of(x, side):
    """Of (b, h, w, c): (windows, side * side, c)."""
    b, h, w, c = x.shape
    return x.view(b, h // side, side, w // side, side, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, side * side, c)


def unwindowed(x, side, h, w):
    return x.view(1, h // side, w // side, side, side, -1).permute(0, 1, 3, 2, 4, 5).reshape(1, h, w, -1)


@net(FRESH, image_of)
class PixartSincos(nn.Module):
    """Sines of each cell's share of a base grid of 16, the resolution and the aspect as conditions, patches laid out as an image again."""

    def __init__(self):
        super().__init__()
        self.patch, self.conditions = conv(3, 16, 8, 8, 0), nn.Linear(24, 96)
        self.table = nn.Parameter(torch.randn(6, 16) / 4)
        self.qkv, self.joined, self.mlp = nn.Linear(16, 48), nn.Linear(16, 16), nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))
        self.out = nn.Linear(16, 8 * 8 * 2)

    def forward(self, image):
        x = self.patch(image)
        h, w = sides(x)
        rows, columns = (np.arange(n, dtype=np.float32) / (n / 16) / 2 for n in (h, w))
        places = np.concatenate([sines_of(np.repeat(columns, h).reshape(w, h).T, 8), sines_of(np.repeat(rows, w), 8)], 1)
        x = tokens_of(x) + torch.from_numpy(places)[None]
        sizes = np.concatenate([sines_of([h * 8, w * 8], 8).reshape(1, -1), sines_of([h / w], 8)], 1)
        condition = self.table + self.conditions(torch.from_numpy(sizes)).view(6, 16)
        shift, scale, gate, shift2, scale2, gate2 = condition.unbind(0)
        y = F.layer_norm(x, (16,)) * (1 + scale) + shift
        x = x + gate * self.joined(joined(attend(*(heads_of(part, 2) for part in self.qkv(y).chunk(3, -1)))))
        x = x + gate2 * self.mlp(F.layer_norm(x, (16,)) * (1 + scale2) + shift2)
        x = self.out(x).reshape(1, h, w, 8, 8, 2)
        return torch.einsum("nhwpqc->nchpwq", x).reshape(1, 2, h * 8, w * 8)


@net(FRESH, image_of)
class FluxAxes(nn.Module):
    """Latents packed two by two after five tokens of text; rotary places of three axes, the pairs interleaved; and unpacked."""

    def __init__(self):
        super().__init__()
        self.encode, self.decode = conv(3, 4, 4, 4, 0), nn.ConvTranspose2d(4, 3, 4, 4)
        self.text, self.enter = nn.Parameter(torch.randn(1, 5, 16)), nn.Linear(16, 16)
        self.qkv, self.mlp, self.out = nn.Linear(16, 48), nn.Linear(16, 32), nn.Linear(48, 16)

    @staticmethod
    def turned(x, cos, sin):
        pairs = x.reshape(*x.shape[:-1], -1, 2)
        a, b = pairs[..., 0], pairs[..., 1]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).reshape(x.shape)

    def forward(self, image):
        latents = self.encode(image)
        h, w = (side // 2 for side in sides(latents))
        packed = latents[:, :, :2 * h, :2 * w].reshape(1, 4, h, 2, w, 2).permute(0, 2, 4, 1, 3, 5).reshape(1, h * w, 16)
        ids = torch.zeros(h, w, 3)
        ids[..., 1] = ids[..., 1] + torch.arange(h)[:, None]
        ids[..., 2] = ids[..., 2] + torch.arange(w)[None]
        ids = torch.cat([torch.zeros(5, 3), ids.reshape(h * w, 3)])
        angles = torch.cat([ids[:, axis:axis + 1] * 100.0 ** -(torch.arange(pairs) / pairs) for axis, pairs in enumerate((2, 3, 3))], -1)
        x = torch.cat([self.text, self.enter(packed)], 1)
        y = F.layer_norm(x, (16,))
        q, k, v = self.qkv(y).chunk(3, -1)
        y = torch.cat([attend(self.turned(q, angles.cos(), angles.sin()), self.turned(k, angles.cos(), angles.sin()), v), F.gelu(self.mlp(y))], -1)
        x = (x + self.out(y))[:, 5:]
        return self.decode(x.view(1, h, w, 4, 2, 2).permute(0, 3, 1, 4, 2, 5).reshape(1, 4, h * 2, w * 2))


@net(FRESH, image_of)
class SamMasks(nn.Module):
    """Windows of 4 padded and cut again, a whole block with tables of rows and columns stretched to the grid, dense waves, two masks."""

    def __init__(self):
        super().__init__()
        self.patch, self.neck = conv(3, 16, 8, 8, 0), nn.Linear(16, 16)
        self.near, self.whole, self.cross = nn.Linear(16, 48), nn.Linear(16, 48), nn.Linear(16, 32)
        self.rows, self.columns = nn.Parameter(torch.randn(27, 16) / 2), nn.Parameter(torch.randn(27, 16) / 2)
        self.register_buffer("gauss", torch.randn(2, 8))
        self.tokens, self.hyper = nn.Parameter(torch.randn(1, 2, 16)), nn.Linear(16, 4)
        self.up = nn.Sequential(nn.ConvTranspose2d(16, 8, 2, 2), nn.GELU(), nn.ConvTranspose2d(8, 4, 2, 2), nn.GELU())

    @staticmethod
    def differences_of(n, table):
        size = 2 * n - 1
        if table.shape[0] != size:
            table = F.interpolate(table.reshape(1, table.shape[0], -1).permute(0, 2, 1), size=size, mode="linear").reshape(-1, size).permute(1, 0)
        return table[torch.arange(n)[:, None] - torch.arange(n)[None] + (n - 1)]

    def forward(self, image):
        height, width = sides(image)
        x = self.patch(F.pad(image, (0, -width % 16, 0, -height % 16))).permute(0, 2, 3, 1)
        h, w = int(x.shape[1]), int(x.shape[2])
        down, right = (4 - h % 4) % 4, (4 - w % 4) % 4
        parts = windows_of(F.pad(x, (0, 0, 0, right, 0, down)), 4)
        x = x + unwindowed(attend(*self.near(parts).chunk(3, -1)), 4, h + down, w + right)[:, :h, :w]
        q, k, v = self.whole(x.reshape(1, h * w, 16)).chunk(3, -1)
        grid = q.reshape(1, h, w, 16)
        rows = torch.einsum("bhwc,hkc->bhwk", grid, self.differences_of(h, self.rows))
        columns = torch.einsum("bhwc,wkc->bhwk", grid, self.differences_of(w, self.columns))
        bias = (rows[..., None] + columns[..., None, :]).reshape(1, h * w, h * w)
        x = x.reshape(1, h * w, 16) + attend(q, k, v, bias)
        ones = torch.ones(h, w)
        y, z = (ones.cumsum(0) - 0.5) / h, (ones.cumsum(1) - 0.5) / w
        waves = 2 * math.pi * (2 * torch.stack([z, y], -1) - 1) @ self.gauss
        k, v = self.cross(self.neck(x) + torch.cat([waves.sin(), waves.cos()], -1).reshape(1, h * w, 16)).chunk(2, -1)
        tokens = self.tokens + attend(self.tokens, k, v)
        fine = self.up(map_of(x, h, w))
        b, c, a, d = fine.shape
        masks = (self.hyper(tokens) @ fine.view(b, c, a * d)).view(b, -1, a, d)
        masks = F.interpolate(masks, size=(height + -height % 16, width + -width % 16), mode="bilinear", align_corners=False)
        return masks[..., :height, :width]


@net(FRESH, image_of)
class DepthAnything(nn.Module):
    """The image stretched to whole patches of 14; class token and patches as four maps of different scale, fused from the smallest."""

    def __init__(self):
        super().__init__()
        self.patch, self.token, self.places = conv(3, 12, 14, 14, 0), nn.Parameter(torch.randn(1, 1, 12)), nn.Parameter(torch.randn(1, 26, 12) / 2)
        self.blocks = nn.ModuleList(nn.Linear(12, 36) for _ in range(4))
        self.readout = nn.ModuleList(nn.Linear(24, 12) for _ in range(4))
        self.resize = nn.ModuleList([nn.ConvTranspose2d(12, 8, 4, 4), nn.ConvTranspose2d(12, 8, 2, 2), conv(12, 8, 1), conv(12, 8, 3, 2)])
        self.fuse, self.head, self.out = nn.ModuleList(conv(8, 8) for _ in range(4)), conv(8, 6), conv(6, 1)

    def forward(self, image):
        height, width = sides(image)
        rows, columns = math.ceil(height / 14), math.ceil(width / 14)
        image = F.interpolate(image, size=(rows * 14, columns * 14), mode="bilinear", align_corners=False)
        grid = F.interpolate(map_of(self.places[:, 1:], 5, 5), size=(rows, columns), mode="bicubic", align_corners=False)
        x = torch.cat([self.token + self.places[:, :1], tokens_of(self.patch(image)) + tokens_of(grid)], 1)
        maps = []
        for block, readout, resize in zip(self.blocks, self.readout, self.resize, strict=True):
            x = x + attend(*block(F.layer_norm(x, (12,))).chunk(3, -1))
            y = F.gelu(readout(torch.cat([x[:, 1:], x[:, :1].expand_as(x[:, 1:])], -1)))
            maps.append(resize(y.permute(0, 2, 1).reshape(1, 12, rows, columns)))
        y = self.fuse[3](maps[3].relu())
        for i in (2, 1, 0):
            y = F.interpolate(y, size=maps[i].shape[2:], mode="bilinear", align_corners=True)
            y = y + self.fuse[i]((maps[i] + y).relu())
        y = F.interpolate(self.head(y), (rows * 14, columns * 14), mode="bilinear", align_corners=True)
        return F.interpolate(self.out(y.relu()).relu(), size=(height, width), mode="bilinear", align_corners=True)


@net(FRESH, image_of)
class YoloDfl(nn.Module):
    """A letterbox of whole strides, pools in a row, a pyramid doubled and joined, distances as shares of four bins around cells of three levels."""

    def __init__(self):
        super().__init__()
        self.stem, self.c3, self.c4, self.c5 = conv(3, 8, 6, 4, 1), conv(8, 8, 3, 2), conv(8, 10, 3, 2), conv(10, 12, 3, 2)
        self.pools, self.up4, self.up3 = conv(48, 12, 1), conv(22, 10), conv(18, 8)
        self.box, self.name = (nn.ModuleList(conv(c, many, 1) for c in (8, 10, 12)) for many in (16, 3))

    def forward(self, image):
        height, width = sides(image)
        down, right = -height % 32, -width % 32
        top, left = down // 2, right // 2
        x = F.silu(self.stem(F.pad(image, (left, right - left, top, down - top), value=114 / 255)))
        p3 = F.silu(self.c3(x))
        p4 = F.silu(self.c4(p3))
        p5 = F.silu(self.c5(p4))
        pooled = [p5]
        for _ in range(3):
            pooled.append(F.max_pool2d(pooled[-1], 5, 1, 2))
        p5 = F.silu(self.pools(torch.cat(pooled, 1)))
        p4 = F.silu(self.up4(torch.cat([F.interpolate(p5, scale_factor=2, mode="nearest"), p4], 1)))
        p3 = F.silu(self.up3(torch.cat([F.interpolate(p4, scale_factor=2, mode="nearest"), p3], 1)))
        levels = (p3, p4, p5)
        boxes = torch.cat([head(p).view(1, 16, -1) for head, p in zip(self.box, levels, strict=True)], 2)
        names = torch.cat([head(p).view(1, 3, -1) for head, p in zip(self.name, levels, strict=True)], 2)
        cells, strides = [], []
        for p, stride in zip(levels, (8, 16, 32), strict=True):
            h, w = sides(p)
            y, z = torch.meshgrid(torch.arange(h) + 0.5, torch.arange(w) + 0.5, indexing="ij")
            cells.append(torch.stack([z, y], -1).view(-1, 2))
            strides.append(torch.full((h * w, 1), float(stride)))
        cells, strides = torch.cat(cells).transpose(0, 1), torch.cat(strides).transpose(0, 1)
        distance = (boxes.view(1, 4, 4, -1).softmax(2) * torch.arange(4.0)[None, None, :, None]).sum(2)
        before, after = distance.chunk(2, 1)
        low, high = cells - before, cells + after
        boxes = torch.cat([(low + high) / 2, high - low], 1) * strides - torch.tensor([left, top, 0, 0])[None, :, None]
        return torch.cat([boxes / 32, names.sigmoid()], 1)


@net(FRESH, image_of)
class CenternetDecode(nn.Module):
    """The ten best peaks of each kind and of all of them: rows and columns by division, offsets and sizes gathered there."""

    def __init__(self):
        super().__init__()
        self.stem, self.down, self.up = conv(3, 8, 3, 2), conv(8, 12, 3, 4), nn.ConvTranspose2d(12, 8, 4, 2, 1)
        self.heat, self.offset, self.size = conv(8, 3), conv(8, 2), conv(8, 2)

    @staticmethod
    def gathered(x, at):
        x = x.permute(0, 2, 3, 1).reshape(1, -1, 2)
        return x.gather(1, at[..., None].expand(1, 10, 2))

    def forward(self, image):
        x = self.up(self.down(self.stem(image).relu()).relu()).relu()
        heat = (self.heat(x) * 8).sigmoid()
        h, w = sides(heat)
        heat = heat * (F.max_pool2d(heat, 3, 1, 1) == heat).float()
        scores, at = heat.view(1, 3, -1).topk(10)
        at = at % (h * w)
        rows, columns = torch.div(at, w, rounding_mode="floor").float(), (at % w).float()
        scores, best = scores.view(1, -1).topk(10)
        at, rows, columns = (part.view(1, -1).gather(1, best) for part in (at, rows, columns))
        offset, size = self.gathered(self.offset(x), at), self.gathered(self.size(x), at)
        middle = torch.stack([columns, rows], -1) + offset
        boxes = torch.cat([middle - size / 2, middle + size / 2], -1) * torch.tensor([4 / (w * 4), 4 / (h * 4)] * 2)
        return boxes, scores


@net(FRESH, image_of)
class SwinCpb(nn.Module):
    """Reflected to whole windows, cosine attention with a bias told by logarithms of distances, a mask written region by region, and twice as large."""

    def __init__(self):
        super().__init__()
        self.stem, self.qkv = conv(3, 12, 3, 2), nn.ModuleList(nn.Linear(12, 36) for _ in range(2))
        self.scale, self.bias = nn.Parameter(torch.full((2, 2, 1, 1), 1.5)), nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2, bias=False))
        self.after, self.out = conv(12, 12), conv(12, 3 * 16)
        steps = torch.arange(-3.0, 4) / 3 * 8
        steps = steps.sign() * (steps.abs() + 1).log2() / 3
        self.register_buffer("table", torch.stack(torch.meshgrid(steps, steps, indexing="ij"), -1).view(-1, 2))
        at = torch.stack(torch.meshgrid(torch.arange(4), torch.arange(4), indexing="ij")).flatten(1)
        apart = at[:, :, None] - at[:, None] + 3
        self.register_buffer("index", apart[0] * 7 + apart[1])

    @staticmethod
    def mask_of(h, w):
        regions, count = torch.zeros(1, h, w, 1), 0
        for rows in (slice(0, -4), slice(-4, -2), slice(-2, None)):
            for columns in (slice(0, -4), slice(-4, -2), slice(-2, None)):
                regions[:, rows, columns, :] = count
                count += 1
        parts = windows_of(regions, 4).squeeze(-1)
        apart = parts.unsqueeze(1) - parts.unsqueeze(2)
        return apart.masked_fill(apart != 0, -100.0).masked_fill(apart == 0, 0.0)

    def forward(self, image):
        height, width = sides(image)
        x = self.stem(F.pad(image, (0, (8 - width % 8) % 8, 0, (8 - height % 8) % 8), mode="reflect"))
        h, w = sides(x)
        first, x = x, x.permute(0, 2, 3, 1)
        bias = 16 * self.bias(self.table)[self.index.view(-1)].view(16, 16, 2).permute(2, 0, 1).sigmoid()
        for i, qkv in enumerate(self.qkv):
            y = torch.roll(x, (-2, -2), (1, 2)) if i else x
            q, k, v = (heads_of(part, 2) for part in qkv(windows_of(y, 4)).chunk(3, -1))
            scores = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-1, -2) * self.scale[i].clamp(max=math.log(100)).exp() + bias
            if i:
                scores = scores + self.mask_of(h, w)[:, None]
            y = unwindowed(joined(scores.softmax(-1) @ v), 4, h, w)
            x = x + F.layer_norm(torch.roll(y, (2, 2), (1, 2)) if i else y, (12,))
        x = first + self.after(x.permute(0, 3, 1, 2))
        return F.pixel_shuffle(self.out(x), 4)[:, :, :height * 2, :width * 2]


@net(FRESH, image_of)
class DappmContext(nn.Module):
    """A branch of detail and one of context, whose pools of growing kernels are brought back and added in a row; all brought to the image."""

    def __init__(self):
        super().__init__()
        self.stem, self.detail, self.deep = nn.Sequential(conv(3, 8, 3, 2), nn.ReLU(), conv(8, 8, 3, 2)), conv(8, 8, 3, 2), conv(8, 12, 3, 2)
        self.deeper, self.back = conv(12, 16, 3, 2), conv(12, 8, 1)
        self.scales, self.process = nn.ModuleList(conv(16, 6, 1) for _ in range(5)), nn.ModuleList(conv(6, 6) for _ in range(4))
        self.press, self.short, self.out = conv(30, 8, 1), conv(16, 8, 1), conv(8, 4, 1)

    def forward(self, image):
        size = image.shape[-2:]
        x = self.stem(image).relu()
        detail = self.detail(x).relu()
        deep = self.deep(detail).relu()
        detail = detail + F.interpolate(self.back(deep), size=[int(detail.shape[-2]), int(detail.shape[-1])], mode="bilinear")
        x = self.deeper(deep).relu()
        h, w = sides(x)
        pools = [F.avg_pool2d(x, 5, 2, 2), F.avg_pool2d(x, 9, 4, 4), F.avg_pool2d(x, 17, 8, 8), F.adaptive_avg_pool2d(x, (1, 1))]
        found = [self.scales[0](x)]
        for scale, process, pool in zip(self.scales[1:], self.process, pools, strict=True):
            found.append(process((F.interpolate(scale(pool), size=[h, w], mode="bilinear") + found[-1]).relu()))
        context = self.press(torch.cat(found, 1)) + self.short(x)
        context = F.interpolate(context, size=sides(detail), mode="bilinear", align_corners=False)
        return F.interpolate(self.out((context + detail).relu()), size=(int(size[0]), int(size[1])), mode="bilinear", align_corners=False)


@net(FRESH, two_images, "image")
class RaftLookup(nn.Module):
    """All pairs of two images' cells, pooled once and looked up around where the flow points, twice; the flow as a convex sum of neighbours."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(conv(3, 8, 7, 4), nn.ReLU(), conv(8, 12, 3, 2))
        self.motion, self.flow, self.mask = conv(20, 12), conv(12, 2), conv(12, 64 * 9)

    @staticmethod
    def sampled(x, at):
        h, w = sides(x)
        columns, rows = at.split([1, 1], -1)
        return F.grid_sample(x, torch.cat([2 * columns / (w - 1) - 1, 2 * rows / (h - 1) - 1], -1), align_corners=True)

    def forward(self, first, second):
        height, width = sides(first)
        down, right = (((height // 8) + 1) * 8 - height) % 8, (((width // 8) + 1) * 8 - width) % 8
        edges = [right // 2, right - right // 2, down // 2, down - down // 2]
        a, b = (self.features(F.pad(x, edges, mode="replicate")) for x in (first, second))
        h, w = sides(a)
        pairs = (a.view(1, 12, h * w).transpose(1, 2) @ b.view(1, 12, h * w) / math.sqrt(12)).reshape(h * w, 1, h, w)
        pyramid = [pairs, F.avg_pool2d(pairs, 2, stride=2)]
        y, z = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        start = torch.stack([z, y]).float()[None]
        steps = torch.linspace(-1, 1, 3)
        window = torch.stack(torch.meshgrid(steps, steps, indexing="ij"), -1).view(1, 3, 3, 2)
        at = start
        for _ in range(2):
            centres = at.permute(0, 2, 3, 1).reshape(h * w, 1, 1, 2)
            seen = [self.sampled(level, centres / 2 ** i + window).view(1, h, w, 9) for i, level in enumerate(pyramid)]
            motion = self.motion(torch.cat([torch.cat(seen, -1).permute(0, 3, 1, 2), at - start], 1)).relu()
            at = at + self.flow(motion)
        mask = self.mask(motion).view(1, 1, 9, 8, 8, h, w).softmax(2)
        flow = F.unfold(8 * (at - start), (3, 3), padding=1).view(1, 2, 9, 1, 1, h, w)
        flow = (mask * flow).sum(2).permute(0, 1, 4, 2, 5, 3).reshape(1, 2, 8 * h, 8 * w)
        return flow[..., edges[2]:flow.shape[-2] - edges[3], edges[0]:flow.shape[-1] - edges[1]]


@net(FRESH, two_images, "image")
class GroupwiseStereo(nn.Module):
    """Products of groups of channels for five shifts, written into a volume; its doubling in all directions, and the expected shift."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(conv(3, 8, 3, 2), nn.ReLU(), conv(8, 12, 3, 2))
        self.a, self.down, self.up, self.b = nn.Conv3d(3, 6, 3, 1, 1), nn.Conv3d(6, 6, 3, 2, 1), nn.Conv3d(6, 6, 3, 1, 1), nn.Conv3d(6, 1, 3, 1, 1)

    @staticmethod
    def products(a, b):
        _, c, h, w = a.shape
        return (a * b).view(1, 3, c // 3, h, w).mean(2)

    def forward(self, first, second):
        height, width = sides(first)
        left, right = self.features(first), self.features(second)
        h, w = sides(left)
        volume = left.new_zeros(1, 3, 5, h, w)
        for i in range(5):
            if i > 0:
                volume[:, :, i, :, i:] = self.products(left[:, :, :, i:], right[:, :, :, :-i])
            else:
                volume[:, :, i] = self.products(left, right)
        x = self.a(volume).relu()
        x = x + self.up(F.interpolate(self.down(x).relu(), size=(5, h, w), mode="nearest"))
        cost = F.interpolate(self.b(x.relu()) * 50, size=(20, height, width), mode="trilinear", align_corners=False).squeeze(1)
        return (cost.softmax(1) * torch.arange(20.0).view(1, 20, 1, 1)).sum(1) / width


@net(FRESH, two_images, "image")
class LoftrMatching(nn.Module):
    """Sines cut from a large table, linear attention across, a softmax both ways without the border, and windows of 5 around the best match."""

    def __init__(self):
        super().__init__()
        self.stem, self.coarse = conv(3, 8, 3, 2), nn.Sequential(nn.ReLU(), conv(8, 16, 7, 4))
        self.q, self.kv, self.merge = nn.Linear(16, 16), nn.Linear(16, 32), nn.Linear(32, 16)
        rows, columns = torch.ones(64, 64).cumsum(0)[None], torch.ones(64, 64).cumsum(1)[None]
        rates = torch.exp(torch.arange(0, 8, 2) * (-math.log(10000.0) / 8))[:, None, None]
        table = torch.zeros(16, 64, 64)
        table[0::4], table[1::4], table[2::4], table[3::4] = (columns * rates).sin(), (columns * rates).cos(), (rows * rates).sin(), (rows * rates).cos()
        self.register_buffer("table", table[None])

    def across(self, x, source):
        q, (k, v) = F.elu(self.q(x)) + 1, self.kv(source).chunk(2, -1)
        k, many = F.elu(k) + 1, int(v.shape[1])
        values = k.transpose(1, 2) @ (v / many)
        y = q @ values / ((q * k.sum(1, keepdim=True)).sum(-1, keepdim=True) + 1e-6) * many
        return x + self.merge(torch.cat([x, y], -1))

    def forward(self, first, second):
        fine = [self.stem(x) for x in (first, second)]
        maps = [self.coarse(x) for x in fine]
        h, w = sides(maps[0])
        a, b = (tokens_of(x + self.table[:, :, :h, :w]) for x in maps)
        a = self.across(a, b)
        b = self.across(b, a)
        scores = a @ b.transpose(1, 2) / 16
        sure = (scores.softmax(1) * scores.softmax(2)).view(1, h, w, h, w).clone()
        sure[:, :1] = 0
        sure[:, :, :, :1] = 0
        sure[:, -1:] = 0
        sure[:, :, :, :, -1:] = 0
        sure = sure.view(1, h * w, h * w)
        best, at = sure.max(2)
        ahead, behind = (F.unfold(x, (5, 5), stride=4, padding=2).view(1, 8, 25, -1).permute(0, 3, 2, 1) for x in fine)
        behind = behind[:, at[0]]
        heat = (behind @ ahead[:, :, 12][..., None] / 8 ** 0.5).squeeze(-1).softmax(-1)
        steps = torch.linspace(-1, 1, 5)
        apart = heat @ torch.stack(torch.meshgrid(steps, steps, indexing="ij"), -1).view(25, 2)
        where = torch.stack([torch.div(at, w, rounding_mode="floor"), at % w], -1) * 8 + apart * 4
        return where / (8 * h), best * (h * w)


@net(FRESH, image_of)
class NafnetLocal(nn.Module):
    """Zeros until all strides are whole; means of 12 by 12 places from running sums, their edges repeated; halves multiplied; doubled and cut."""

    def __init__(self):
        super().__init__()
        self.intro, self.down, self.up, self.end = conv(3, 8), conv(8, 12, 2, 2, 0), conv(12, 32, 1), conv(8, 3)
        self.deep = conv(12, 12, 2, 2, 0)
        self.wide, self.narrow, self.gate, self.deeper = conv(12, 24), conv(12, 12, 1), conv(12, 12, 1), conv(12, 48, 1)

    @staticmethod
    def local_mean(x):
        h, w = sides(x)
        rows, columns = min(h, 12), min(w, 12)
        s = F.pad(x.cumsum(-1).cumsum(-2), (1, 0, 1, 0))
        y = (s[:, :, :-rows, :-columns] + s[:, :, rows:, columns:] - s[:, :, :-rows, columns:] - s[:, :, rows:, :-columns]) / (rows * columns)
        right, down = w - int(y.shape[3]), h - int(y.shape[2])
        return F.pad(y, (right // 2, (right + 1) // 2, down // 2, (down + 1) // 2), mode="replicate")

    def block(self, x):
        a, b = self.wide(F.layer_norm(x.permute(0, 2, 3, 1), (12,)).permute(0, 3, 1, 2)).chunk(2, 1)
        y = a * b
        return x + self.narrow(y * self.gate(self.local_mean(y)))

    def forward(self, image):
        height, width = sides(image)
        image = F.pad(image, (0, (4 - width % 4) % 4, 0, (4 - height % 4) % 4))
        x = self.intro(image)
        y = self.down(x)
        z = self.block(self.deep(y))
        y = y + F.pixel_shuffle(self.deeper(z), 2)
        x = self.end(x + F.pixel_shuffle(self.up(y), 2)) + image
        return x[:, :, :height, :width]


@net(FRESH, image_of)
class SoloMasks(nn.Module):
    """Coordinates as channels; a grid of 6 by 6, whatever the image, tells kernels and scores; the kernels make masks of a finer map."""

    def __init__(self):
        super().__init__()
        self.stem, self.four, self.eight, self.sixteen = conv(3, 8, 3, 2), conv(8, 8, 3, 2), conv(8, 8, 3, 2), conv(8, 8, 3, 2)
        self.kernel, self.score, self.masks, self.lateral = conv(10, 6), conv(8, 3), conv(10, 6), conv(8, 8, 1)

    @staticmethod
    def with_places(x):
        h, w = sides(x)
        y, z = torch.meshgrid(torch.linspace(-1, 1, h), torch.linspace(-1, 1, w), indexing="ij")
        return torch.cat([x, z.expand(1, 1, h, w), y.expand(1, 1, h, w)], 1)

    def forward(self, image):
        four = self.four(self.stem(image).relu()).relu()
        eight = self.eight(four).relu()
        low = self.sixteen(eight).relu()
        cells = F.interpolate(self.with_places(low), size=6, mode="bilinear", align_corners=False)
        scores = self.score(cells[:, :-2]).sigmoid()
        most = F.max_pool2d(scores, 2, 1, 1)[:, :, :-1, :-1]
        scores = scores * (scores == most).float()
        kernels = self.kernel(cells).permute(0, 2, 3, 1).reshape(36, 6, 1, 1)
        merged = four + F.interpolate(self.lateral(eight), size=four.shape[-2:], mode="bilinear", align_corners=False)
        masks = F.conv2d(self.masks(self.with_places(merged)), kernels).sigmoid()
        h, w = sides(masks)
        masks = F.interpolate(masks, scale_factor=4, mode="bilinear", align_corners=False)[:, :, :image.shape[2], :image.shape[3]]
        return (scores.view(3, 36) @ masks.reshape(36, -1)).view(1, 3, *sides(masks)) / math.sqrt(h * w)


@net(FRESH, image_of)
class FourierOperator(nn.Module):
    """Shares of the sides as channels; the domain is padded by 5, its lowest waves are weighted one by one, and the padding is cut away."""

    def __init__(self):
        super().__init__()
        self.lift, self.skip, self.out = conv(5, 8, 1), nn.ModuleList(conv(8, 8, 1) for _ in range(2)), conv(8, 2, 1)
        self.real, self.imaginary = (nn.Parameter(torch.randn(2, 8, 8, 7, 4) / 6) for _ in range(2))

    def spectral(self, x, real, imaginary):
        h, w = sides(x)
        rows = torch.arange(-3, 4)[:, None] * torch.arange(h) * (2 * math.pi / h)
        columns = torch.arange(w)[:, None] * torch.arange(4) * (2 * math.pi / w)
        # e^-i(a + b) = (cos a - i sin a)(cos b - i sin b)
        by_cos, by_sin = x @ columns.cos(), x @ columns.sin()
        re, im = rows.cos() @ by_cos - rows.sin() @ by_sin, -(rows.sin() @ by_cos + rows.cos() @ by_sin)
        re, im = (torch.einsum("bixy,ioxy->boxy", re, real) - torch.einsum("bixy,ioxy->boxy", im, imaginary),
                  torch.einsum("bixy,ioxy->boxy", re, imaginary) + torch.einsum("bixy,ioxy->boxy", im, real))
        rows = rows.transpose(0, 1)
        columns = columns.transpose(0, 1)
        a, b = rows.cos() @ re - rows.sin() @ im, rows.sin() @ re + rows.cos() @ im
        return (a @ columns.cos() - b @ columns.sin()) / (h * w)

    def forward(self, image):
        x = F.avg_pool2d(image, 3, 2)
        h, w = sides(x)
        y = torch.linspace(0, 1, h).reshape(1, 1, h, 1).repeat(1, 1, 1, w)
        z = torch.linspace(0, 1, w).reshape(1, 1, 1, w).repeat(1, 1, h, 1)
        x = F.pad(self.lift(torch.cat([x, y, z], 1)), [0, 5, 0, 5])
        for i, skip in enumerate(self.skip):
            x = F.gelu(self.spectral(x, self.real[i], self.imaginary[i]) + skip(x))
        return self.out(x[..., :-5, :-5])


@net(FRESH, image_of)
class HaarWavelet(nn.Module):
    """Two transforms into averages and differences by slices of every second place; the way back writes those slices into zeros."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c, self.d = conv(12, 8), conv(32, 12), conv(12, 32), conv(8, 12)

    @staticmethod
    def apart(x):
        upper, lower = x[:, :, 0::2, :] / 2, x[:, :, 1::2, :] / 2
        a, b, c, d = upper[:, :, :, 0::2], lower[:, :, :, 0::2], upper[:, :, :, 1::2], lower[:, :, :, 1::2]
        return torch.cat([a + b + c + d, -a - b + c + d, -a + b - c + d, a - b - c + d], 1)

    @staticmethod
    def together(x):
        b, many, h, w = x.shape
        c = many // 4
        p, q, r, s = (x[:, i * c:(i + 1) * c] / 2 for i in range(4))
        whole = torch.zeros([b, c, h * 2, w * 2]).float()
        whole[:, :, 0::2, 0::2] = p - q - r + s
        whole[:, :, 1::2, 0::2] = p - q + r - s
        whole[:, :, 0::2, 1::2] = p + q - r - s
        whole[:, :, 1::2, 1::2] = p + q + r + s
        return whole

    def forward(self, image):
        height, width = sides(image)
        padded = F.pad(image, (0, -width % 4, 0, -height % 4), mode="reflect")
        a = self.a(self.apart(padded)).relu()
        b = self.b(self.apart(a)).relu()
        b = b * b.mean((2, 3), keepdim=True).sigmoid()
        a = a + self.together(self.c(b))
        return (padded + self.together(self.d(a.relu())))[:, :, :height, :width]


@net(FRESH, image_of)
class RtdetrSelect(nn.Module):
    """The coarsest level attends with waves of its grid; every cell of two levels is an anchor, invalid ones hidden; the best six refine their boxes."""

    def __init__(self):
        super().__init__()
        self.stem, self.one, self.two = conv(3, 8, 3, 4), conv(8, 16, 3, 2), conv(16, 16, 3, 2)
        self.qkv, self.lateral, self.score, self.box = nn.Linear(16, 48), conv(32, 16), nn.Linear(16, 3), nn.Linear(16, 4)
        self.q, self.kv, self.place, self.last = nn.Linear(16, 16), nn.Linear(16, 32), nn.Linear(4, 16), nn.Linear(16, 4)

    @staticmethod
    def waves(w, h):
        z, y = torch.meshgrid(torch.arange(int(w), dtype=torch.float32), torch.arange(int(h), dtype=torch.float32), indexing="ij")
        rates = 1.0 / 100 ** (torch.arange(4, dtype=torch.float32) / 4)
        z, y = z.flatten()[..., None] @ rates[None], y.flatten()[..., None] @ rates[None]
        return torch.cat([z.sin(), z.cos(), y.sin(), y.cos()], 1)[None]

    @staticmethod
    def anchors_of(shapes):
        anchors = []
        for level, (h, w) in enumerate(shapes):
            y, z = torch.meshgrid(torch.arange(h, dtype=torch.float32), torch.arange(w, dtype=torch.float32), indexing="ij")
            at = (torch.stack([z, y], -1)[None] + 0.5) / torch.tensor([w, h])
            anchors.append(torch.cat([at, torch.ones_like(at) * 0.05 * 2.0 ** level], -1).view(-1, h * w, 4))
        anchors = torch.cat(anchors, 1)
        valid = ((anchors > 0.03) & (anchors < 1 - 0.03)).all(-1, keepdim=True)
        return torch.where(valid, torch.log(anchors / (1 - anchors)), float("inf")), valid

    def forward(self, image):
        one = self.one(self.stem(image).relu()).relu()
        two = self.two(one)
        h, w = sides(two)
        x, waves = tokens_of(two), self.waves(w, h)
        q, k, v = self.qkv(x + waves).chunk(3, -1)
        two = map_of(x + attend(q, k, v), h, w)
        one = self.lateral(torch.cat([one, F.interpolate(two, size=sides(one), mode="nearest")], 1)).relu()
        levels = [one, two]
        memory = torch.cat([tokens_of(x) for x in levels], 1)
        anchors, valid = self.anchors_of([sides(x) for x in levels])
        memory = torch.where(valid, memory, 0.0)
        scores, boxes = self.score(memory), self.box(memory) + anchors
        _, at = scores.max(-1).values.topk(6, 1)
        boxes = boxes.gather(1, at.unsqueeze(-1).repeat(1, 1, 4))
        queries = memory.gather(1, at.unsqueeze(-1).repeat(1, 1, 16))
        k, v = self.kv(memory).chunk(2, -1)
        queries = queries + attend(self.q(queries + self.place(boxes.sigmoid())), k, v)
        return (self.last(queries) + boxes).sigmoid(), self.score(queries)


@net(FRESH, image_of)
class MaskedQueries(nn.Module):
    """Five queries look at one level after the other, each only where its last mask, brought to that level, is on; what they see is the image's map."""

    def __init__(self):
        super().__init__()
        self.stem, self.down = conv(3, 8, 3, 2), nn.ModuleList(conv(8, 8, 3, 2) for _ in range(4))
        self.lateral, self.project = conv(8, 8, 1), nn.ModuleList(conv(8, 16, 1) for _ in range(3))
        self.level, self.queries = nn.Parameter(torch.randn(3, 16)), nn.Parameter(torch.randn(1, 5, 16))
        self.kv, self.q, self.name, self.mask = nn.Linear(16, 32), nn.Linear(16, 16), nn.Linear(16, 4), nn.Linear(16, 8)

    @staticmethod
    def sines(x):
        ones = torch.ones(1, *sides(x))
        y, z = ones.cumsum(1, dtype=torch.float32), ones.cumsum(2, dtype=torch.float32)
        y, z = y / (y[:, -1:, :] + 1e-6) * 2 * math.pi, z / (z[:, :, -1:] + 1e-6) * 2 * math.pi
        rates = 100 ** (2 * torch.div(torch.arange(8, dtype=torch.float32), 2, rounding_mode="floor") / 8)
        parts = [torch.stack([a[..., 0::2].sin(), a[..., 1::2].cos()], 4).flatten(3) for a in (y[..., None] / rates, z[..., None] / rates)]
        return torch.cat(parts, 3).flatten(1, 2)

    def masks(self, queries, fine, size):
        masks = torch.einsum("bqc,bchw->bqhw", self.mask(F.layer_norm(queries, (16,))), fine)
        hidden = F.interpolate(masks, size=size, mode="bilinear", align_corners=False).sigmoid().flatten(2) < 0.5
        return masks, hidden & ~hidden.all(-1, keepdim=True)

    def forward(self, image):
        levels = [self.stem(image).relu()]
        for down in self.down:
            levels.append(down(levels[-1]).relu())
        fine, coarse = levels[1], levels[:1:-1]
        fine = self.lateral(fine) + F.interpolate(levels[2], size=sides(fine), mode="bilinear", align_corners=False)
        queries = self.queries
        for i, level in enumerate(coarse):
            masks, hidden = self.masks(queries, fine, sides(level))
            x = tokens_of(self.project[i](level)) + self.level[i]
            k, v = self.kv(x).chunk(2, -1)
            scores = (self.q(queries) @ (k + self.sines(level)).transpose(1, 2)) / 4
            queries = queries + scores.masked_fill(hidden, float("-inf")).softmax(-1) @ v
        masks, _ = self.masks(queries, fine, sides(coarse[0]))
        masks = F.interpolate(masks, size=(int(image.shape[-2]), int(image.shape[-1])), mode="bilinear", align_corners=False)
        return torch.einsum("bqc,bqhw->bchw", self.name(queries).softmax(-1)[..., :-1], masks.sigmoid())


@net(FRESH, image_of)
class SvtrMixing(nn.Module):
    """Cells of 8 by 4 places with learned rows and columns see 3 rows and 5 columns to each side, then half of the rows all; one line of letters."""

    def __init__(self):
        super().__init__()
        self.a, self.b = conv(3, 8, 3, 2), nn.Conv2d(8, 16, 3, (4, 2), 1)
        self.rows, self.columns = nn.Parameter(torch.randn(1, 16, 48, 1) / 2), nn.Parameter(torch.randn(1, 16, 1, 64) / 2)
        self.near, self.whole, self.merge, self.out = nn.Linear(16, 48), nn.Linear(16, 48), nn.Conv2d(16, 16, 3, (2, 1), 1), nn.Linear(16, 11)

    def forward(self, image):
        x = self.b(F.gelu(self.a(image)))
        h, w = sides(x)
        x = tokens_of(x + self.rows[:, :, :h] + self.columns[..., :w])
        mask = torch.ones(h * w, h + 6, w + 10)
        mask = mask.view(h, w, h + 6, w + 10)
        y, z = torch.arange(h + 6) - torch.arange(h)[:, None], torch.arange(w + 10) - torch.arange(w)[:, None]
        inside = ((y >= 0) & (y < 7))[:, None, :, None] & ((z >= 0) & (z < 11))[None, :, None, :]
        mask = mask.masked_fill(inside, 0.0)[:, :, 3:h + 3, 5:w + 5].flatten(2).reshape(h * w, h * w)
        q, k, v = (heads_of(part, 2) for part in self.near(F.layer_norm(x, (16,))).chunk(3, -1))
        x = x + joined(attend(q, k, v, torch.where(mask < 1, 0.0, float("-inf"))))
        x = self.merge(map_of(x, h, w))
        h, w = sides(x)
        x = tokens_of(x)
        x = x + joined(attend(*(heads_of(part, 2) for part in self.whole(F.layer_norm(x, (16,))).chunk(3, -1))))
        x = F.adaptive_avg_pool2d(map_of(x, h, w), (1, w)).squeeze(2).permute(0, 2, 1)
        return self.out(F.hardswish(x)).log_softmax(-1)


@net(FRESH, image_of)
class MobilevitUnfold(nn.Module):
    """A map stretched to even sides where it has odd ones; each of the four places of all cells attends apart; squeezed back and joined."""

    def __init__(self):
        super().__init__()
        self.stem, self.local, self.enter = nn.Sequential(conv(3, 8, 3, 2), nn.SiLU(), conv(8, 12, 3, 4)), conv(12, 12), conv(12, 16, 1)
        self.qkv, self.leave, self.fuse, self.out = nn.Linear(16, 48), conv(16, 12, 1), conv(24, 12), conv(12, 3, 1)

    def forward(self, image):
        short = self.stem(image)
        x = self.enter(self.local(short))
        h, w = sides(x)
        new_h, new_w = math.ceil(h / 2) * 2, math.ceil(w / 2) * 2
        rows, columns = new_h // 2, new_w // 2
        stretched = new_h != h or new_w != w
        if stretched:
            x = F.interpolate(x, size=(new_h, new_w), mode="bilinear", align_corners=False)
        x = x.reshape(16 * rows, 2, columns, 2).transpose(1, 2)
        x = x.reshape(1, 16, rows * columns, 4).transpose(1, 3).reshape(4, rows * columns, 16)
        x = x + joined(attend(*(heads_of(part, 2) for part in self.qkv(F.layer_norm(x, (16,))).chunk(3, -1))))
        x = x.contiguous().view(1, 4, rows * columns, 16).transpose(1, 3).reshape(16 * rows, columns, 2, 2)
        x = x.transpose(1, 2).reshape(1, 16, rows * 2, columns * 2)
        if stretched:
            x = F.interpolate(x, size=(h, w), mode="bilinear", align_corners=False)
        return self.out(self.fuse(torch.cat([short, self.leave(x)], 1)))


@net(FRESH, image_of)
class QwenMerge(nn.Module):
    """Sides rounded to 16; patches in the order of their two by two; rows closed by a token; text before and after, its places beyond the longer side."""

    def __init__(self):
        super().__init__()
        self.patch, self.qkv, self.merger = nn.Linear(3 * 64, 16), nn.Linear(16, 48), nn.Sequential(nn.Linear(64, 32), nn.GELU(), nn.Linear(32, 12))
        self.newline, self.text = nn.Parameter(torch.randn(1, 12)), nn.Parameter(torch.randn(7, 12))
        self.language, self.out = nn.Linear(12, 36), nn.Linear(12, 9)

    def forward(self, image):
        height, width = (max(16, round(side / 16) * 16) for side in sides(image))
        x = F.interpolate(image, size=(height, width), mode="bilinear", align_corners=False)
        h, w = height // 8, width // 8
        x = x.reshape(3, h // 2, 2, 8, w // 2, 2, 8).permute(1, 4, 2, 5, 0, 3, 6).reshape(h * w, 3 * 64)
        rows, columns = torch.arange(h)[:, None].expand(-1, w), torch.arange(w)[None].expand(h, -1)
        at = torch.stack([a.reshape(h // 2, 2, w // 2, 2).permute(0, 2, 1, 3).flatten() for a in (rows, columns)], -1)
        table = torch.arange(max(h, w))[:, None] * 100.0 ** -(torch.arange(4) / 4)
        angles = table[at].flatten(1)
        x = self.patch(x)
        q, k, v = self.qkv(F.layer_norm(x, (16,))).chunk(3, -1)
        x = x + attend(rotated(q, angles), rotated(k, angles), v)
        x = self.merger(F.layer_norm(x, (16,)).view(-1, 64))
        h, w = h // 2, w // 2
        x = torch.cat([x.view(h, w, 12), self.newline.expand(h, 1, 12)], 1).reshape(h * (w + 1), 12)
        rows, columns = torch.arange(h).view(-1, 1).expand(-1, w + 1).flatten(), torch.arange(w + 1).view(1, -1).expand(h, -1).flatten()
        start = torch.arange(3).view(1, -1).expand(3, -1)
        end = torch.arange(4).view(1, -1).expand(3, -1) + 3 + max(h, w + 1)
        at = torch.cat([start, torch.stack([torch.zeros_like(rows), rows, columns]) + 3, end], 1)
        angles = at[:, :, None] * 100.0 ** -(torch.arange(6) / 6)
        angles = torch.cat([part[i] for i, part in enumerate(angles.split([2, 2, 2], -1))], -1)
        x = torch.cat([self.text[:3], x, self.text[3:]])
        q, k, v = self.language(F.layer_norm(x, (12,))).chunk(3, -1)
        n = int(x.shape[0])
        x = x + attend(rotated(q, angles), rotated(k, angles), v, torch.full((n, n), float("-inf")).triu(1))
        return self.out(x)
