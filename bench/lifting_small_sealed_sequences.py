"""The small nets of sequences and sound that were written without knowing how lifting works; see lifting_small_models.py."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from lifting_small_models import (
    SEALED,
    attend,
    audio_of,
    features_of,
    heads_of,
    ids_of,
    joined,
    net,
    rotated,
    sides,
)


@net(SEALED, ids_of)
class DynamicNtk(nn.Module):
    """Rotary positions whose base grows beyond 32 places, and queries that grow with the logarithm of how many there are."""

    def __init__(self):
        super().__init__()
        self.table, self.qkv, self.out = nn.Embedding(50, 16), nn.Linear(16, 48), nn.Linear(16, 50)

    def forward(self, ids):
        x = self.table(ids)
        n = int(ids.shape[1])
        base = 100 * (max(n, 32) / 32) ** (16 / 14)
        angles = torch.arange(n)[:, None] * base ** -(torch.arange(8) / 8)
        q, k, v = self.qkv(x).chunk(3, -1)
        later = torch.ones(n, n, dtype=torch.bool).triu(1)
        scores = rotated(q, angles) @ rotated(k, angles).transpose(1, 2) * (math.log(n) / math.log(32) / 4)
        x = x + scores.masked_fill(later, float("-inf")).softmax(-1) @ v
        return self.out(x) / math.sqrt(n)


@net(SEALED, features_of)
class BandedGlobal(nn.Module):
    """Each place sees 3 to both sides, what is outside masked; the first one sees all and is seen by all."""

    def __init__(self):
        super().__init__()
        self.qkv, self.all = nn.Linear(16, 48), nn.Linear(16, 48)

    def forward(self, features):
        n = int(features.shape[1])
        q, k, v = self.qkv(features).chunk(3, -1)
        near_k, near_v = (torch.stack([F.pad(part, (0, 0, 3, 3))[:, i:i + n] for i in range(7)], 2) for part in (k, v))
        at = torch.arange(n)[:, None] + torch.arange(-3, 4)
        near = (near_k @ q[..., None]).squeeze(-1) / 4 + torch.where((at >= 0) & (at < n), 0.0, -1e9)
        first = (q @ k[:, :1].transpose(1, 2)) / 4
        share = torch.cat([first, near], -1).softmax(-1)
        y = share[..., :1] * v[:, :1] + (share[..., None, 1:] @ near_v).squeeze(-2)
        q, k, v = self.all(features).chunk(3, -1)
        return features + torch.cat([attend(q[:, :1], k, v), y[:, 1:]], 1)


@net(SEALED, features_of)
class ChunkConformer(nn.Module):
    """Maps of time and bands without padding to a quarter, chunks of 4 that see two before, and convolutions of the past."""

    def __init__(self):
        super().__init__()
        self.sub, self.inner = nn.Sequential(nn.Conv2d(1, 4, 3, 2), nn.ReLU(), nn.Conv2d(4, 4, 3, 2), nn.ReLU()), nn.Linear(12, 16)
        self.qkv, self.wide, self.past, self.norm = nn.Linear(16, 48), nn.Conv1d(16, 32, 1), nn.Conv1d(16, 16, 5, groups=16), nn.LayerNorm(16)
        self.out = nn.Linear(16, 11)

    def forward(self, features):
        x = self.sub(features[:, None])
        n = int(x.shape[2])
        x = self.inner(x.transpose(1, 2).reshape(1, n, 12)) * 4
        chunk = torch.arange(n) // 4
        seen = (chunk[:, None] >= chunk) & (chunk[:, None] - chunk <= 2)
        q, k, v = (heads_of(part, 2) for part in self.qkv(self.norm(x)).chunk(3, -1))
        x = x + joined(attend(q, k, v, torch.zeros(n, n).masked_fill(~seen, -1e4)))
        y = F.glu(self.wide(self.norm(x).transpose(1, 2)), 1)
        x = x + self.past(F.pad(y, (4, 0))).transpose(1, 2)
        return self.out(F.silu(x)).log_softmax(-1)


@net(SEALED, features_of)
class ExpertCapacity(nn.Module):
    """Four experts with room for a share of the tokens; each takes two while there is room, the first choices before the second."""

    def __init__(self):
        super().__init__()
        self.route, self.up, self.down = nn.Linear(16, 4), nn.Parameter(torch.randn(4, 16, 12) / 4), nn.Parameter(torch.randn(4, 12, 16) / 4)

    def forward(self, features):
        x = features[0]
        n = int(x.shape[0])
        room = math.ceil(1.25 * 2 * n / 4)
        gates, expert = self.route(x).softmax(-1).topk(2, -1)
        chosen = F.one_hot(expert.transpose(0, 1).reshape(2 * n), 4)
        place = ((chosen.cumsum(0) - 1) * chosen).sum(1)
        slot = F.one_hot(place.clamp(max=room), room + 1)[:, :room]
        sent = (chosen[:, :, None] * slot[:, None]).float().view(2, n, 4, room)
        inside = torch.einsum("jner,nd->erd", sent, x)
        y = F.gelu(inside @ self.up) @ self.down
        gates = gates / gates.sum(-1, keepdim=True)
        load = sent.sum((0, 1, 3)) / n
        return torch.einsum("jner,nj,erd->nd", sent, gates, y)[None] + features, load


@net(SEALED, ids_of)
class CumulativeNorm(nn.Module):
    """Dilated convolutions of the past, each normalised by all that came before; and the mean so far."""

    def __init__(self):
        super().__init__()
        self.table, self.scale = nn.Embedding(50, 12), nn.Parameter(torch.ones(3, 12, 1))
        self.convs, self.out = nn.ModuleList(nn.Conv1d(12, 12, 3, dilation=d) for d in (1, 2, 4)), nn.Linear(24, 10)

    def forward(self, ids):
        x = self.table(ids).transpose(1, 2)
        n = int(ids.shape[1])
        count = torch.arange(1, n + 1, dtype=torch.float32)
        for i, layer in enumerate(self.convs):
            y = layer(F.pad(x, (2 * 2 ** i, 0))).relu()
            mean = y.sum(1, keepdim=True).cumsum(2) / (count * 12)
            square = (y ** 2).sum(1, keepdim=True).cumsum(2) / (count * 12)
            x = x + (y - mean) * (square - mean ** 2 + 1e-2).rsqrt() * self.scale[i]
        return self.out(torch.cat([x, x.cumsum(2) / count], 1).transpose(1, 2))


@net(SEALED, features_of)
class NystromLandmarks(nn.Module):
    """Five landmarks, each the mean of a fifth; padded at the front, an inverse by iteration, and what was padded left out."""

    def __init__(self):
        super().__init__()
        self.qkv, self.near = nn.Linear(16, 48), nn.Conv1d(16, 16, 5, padding=2, groups=16)

    def forward(self, features):
        n = int(features.shape[1])
        x = F.pad(features, (0, 0, (5 - n % 5) % 5, 0))
        size = int(x.shape[1]) // 5
        q, k, v = self.qkv(x).chunk(3, -1)
        few_q, few_k = (part.reshape(1, 5, size, 16).sum(2) / size for part in (q / 4, k))
        a, b, c = (q / 4 @ few_k.transpose(1, 2)).softmax(-1), (few_q @ few_k.transpose(1, 2)).softmax(-1), (few_q @ k.transpose(1, 2)).softmax(-1)
        inverse = b.transpose(1, 2) / (b.sum(-1).amax(-1) * b.sum(-2).amax(-1))
        eye = torch.eye(5)
        for _ in range(4):
            once = b @ inverse
            inverse = 0.25 * inverse @ (13 * eye - once @ (15 * eye - once @ (7 * eye - once)))
        y = a @ inverse @ (c @ v) + self.near(v.transpose(1, 2)).transpose(1, 2)
        return features + y[:, -n:]


@net(SEALED, ids_of)
class CharacterBlocks(nn.Module):
    """Characters in blocks of 1, 2, 3 and 4, of which each place chooses; then a third as many, the last one of what is left."""

    def __init__(self):
        super().__init__()
        self.table, self.score, self.qkv = nn.Embedding(50, 16), nn.Linear(16, 1), nn.Linear(16, 48)

    def forward(self, ids):
        n = int(ids.shape[1])
        x = F.pad(self.table(ids), (0, 0, 0, -n % 12))
        whole = int(x.shape[1])
        blocks = torch.stack([x.view(1, whole // b, b, 16).mean(2).repeat_interleave(b, 1) for b in (1, 2, 3, 4)], 2)
        scores = self.score(blocks).squeeze(-1).softmax(-1)
        scores = (scores @ scores.transpose(1, 2)).softmax(-1) @ scores
        x = (scores[..., None] * blocks).sum(2)[:, :n]
        less = -(n // -3)
        x = F.pad(x, (0, 0, 0, less * 3 - n)).view(1, less, 3, 16)
        x = x.sum(2) / torch.full((less,), 3.0).minimum(n - torch.arange(less) * 3.0)[:, None]
        return x + attend(*self.qkv(x).chunk(3, -1))


@net(SEALED, features_of)
class SeriesPatches(nn.Module):
    """A series normalised by itself, its moving mean apart, overlapping patches of the rest, and a line through all of it."""

    def __init__(self):
        super().__init__()
        self.patch, self.qkv, self.ahead = nn.Linear(8, 16), nn.Linear(16, 48), nn.Linear(16, 6)

    def forward(self, features):
        x = features.transpose(1, 2)
        n = int(x.shape[2])
        mean, deviation = x.mean(2, keepdim=True), (x.var(2, keepdim=True, unbiased=False) + 1e-5).sqrt()
        x = (x - mean) / deviation
        trend = F.avg_pool1d(F.pad(x, (3, 3), mode="replicate"), 7, 1)
        at = torch.arange(n) - (n - 1) / 2
        slope = (x * at).sum(2) / (n * (n * n - 1) / 12)
        line = slope[:, :, None] * (torch.arange(6) + (n + 1) / 2)
        index = torch.arange((n - 4) // 4 + 1)[:, None] * 4 + torch.arange(8)
        patches = self.patch(F.pad(x - trend, (0, 4), mode="replicate")[0][:, index])
        patches = patches + attend(*self.qkv(patches).chunk(3, -1))
        ahead = self.ahead(patches).mean(1)[None] + line + trend[..., -1:]
        return (ahead * deviation + mean).transpose(1, 2), patches


@net(SEALED, features_of)
class WaveFilter(nn.Module):
    """Waves of as many frequencies as half of the places, each weighted by a table brought to their number, and back."""

    def __init__(self):
        super().__init__()
        self.weight, self.out = nn.Parameter(torch.randn(1, 32, 9)), nn.Linear(16, 16)

    def forward(self, features):
        n = int(features.shape[1])
        few = n // 2 + 1
        angle = torch.arange(few)[:, None] * torch.arange(n) % n * (2 * math.pi / n)
        real, imaginary = angle.cos() @ features / math.sqrt(n), -angle.sin() @ features / math.sqrt(n)
        weight = F.interpolate(self.weight, size=few, mode="linear", align_corners=True).transpose(1, 2)
        a, b = weight.chunk(2, -1)
        real, imaginary = real * a - imaginary * b, real * b + imaginary * a
        twice = torch.where((torch.arange(few) == 0) | (torch.arange(few) * 2 == n), 1.0, 2.0)[:, None] / math.sqrt(n)
        y = angle.cos().transpose(0, 1) @ (real * twice) - angle.sin().transpose(0, 1) @ (imaginary * twice)
        return self.out(F.gelu(y)) + features


def two_lengths(n):
    return dict(features=np.random.default_rng(n).standard_normal((2, n, 16), dtype=np.float32), lengths=np.array([n, n // 2 + 1], np.int64))


@net(SEALED, two_lengths, "sequence")
class ReversedLengths(nn.Module):
    """Two sequences, read forwards and from their own ends; the last real place, the most and the mean of each."""

    def __init__(self):
        super().__init__()
        self.past, self.out = nn.ModuleList(nn.Conv1d(16, 12, 4) for _ in range(2)), nn.Linear(72, 8)

    def forward(self, features, lengths):
        n = int(features.shape[1])
        at = torch.arange(n)[None]
        real = at < lengths[:, None]
        index = torch.where(real, lengths[:, None] - 1 - at, at)
        back = features.gather(1, index[..., None].expand(-1, -1, 16))
        found = []
        for layer, x in zip(self.past, (features, back), strict=True):
            y = layer(F.pad((x * real[..., None]).transpose(1, 2), (3, 0))).tanh()
            last = y.gather(2, (lengths - 1)[:, None, None].expand(-1, 12, 1)).squeeze(2)
            most = y.masked_fill(~real[:, None], float("-inf")).amax(2)
            mean = (y * real[:, None]).sum(2) / lengths[:, None]
            found += [last, most, mean]
        return self.out(torch.cat(found, 1))


@net(SEALED, ids_of)
class PrefixLatents(nn.Module):
    """The last quarter looks at all before itself, then only at itself; nothing of what comes later."""

    def __init__(self):
        super().__init__()
        self.table, self.places = nn.Embedding(50, 16), nn.Embedding(200, 16)
        self.q, self.kv, self.qkv, self.out = nn.Linear(16, 16), nn.Linear(16, 32), nn.Linear(16, 48), nn.Linear(16, 50)

    def forward(self, ids):
        n = int(ids.shape[1])
        few = n // 4
        x = self.table(ids) + self.places(torch.arange(n - 1, -1, -1))
        latents = x[:, n - few:]
        k, v = self.kv(x).chunk(2, -1)
        later = torch.ones(few, n, dtype=torch.bool).triu(n - few + 1)
        latents = latents + attend(self.q(latents), k, v, later * -1e9)
        q, k, v = self.qkv(latents).chunk(3, -1)
        latents = latents + attend(q, k, v, torch.full((few, few), -1e9).triu(1))
        return self.out(latents)


@net(SEALED, features_of)
class DiagonalPrior(nn.Module):
    """A third as many keys as queries, aligned along the diagonal of shares; waves whose rate is that of the two lengths."""

    def __init__(self):
        super().__init__()
        self.less, self.q, self.out = nn.Conv1d(16, 16, 5, 3, 2), nn.Linear(16, 16), nn.Linear(16, 16)

    @staticmethod
    def waves(n, rate):
        angle = torch.arange(n)[:, None] * rate / 1000 ** (torch.arange(8) / 8)
        return torch.cat([angle.sin(), angle.cos()], -1)

    def forward(self, features):
        few = self.less(features.transpose(1, 2)).transpose(1, 2)
        n, m = int(features.shape[1]), int(few.shape[1])
        away = (torch.arange(n)[:, None] + 0.5) / n - (torch.arange(m) + 0.5) / m
        q, k = self.q(features) + self.waves(n, 1), few + self.waves(m, n / m)
        share = (q @ k.transpose(1, 2) / 4 - away ** 2 / (2 * 0.2 ** 2)).softmax(-1)
        return self.out(share @ few) + features, share.sum(1) * m / n


@net(SEALED, features_of)
class SparseTop(nn.Module):
    """Each query keeps the best quarter of the keys, rounded up; then the best half of the places by their norm, in order."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 8)

    def forward(self, features):
        n = int(features.shape[1])
        q, k, v = self.qkv(features).chunk(3, -1)
        scores = q @ k.transpose(1, 2) / 4
        least = scores.topk((n + 3) // 4, -1).values[..., -1:]
        x = features + scores.masked_fill(scores < least, float("-inf")).softmax(-1) @ v
        index = (x ** 2).sum(-1).topk(n // 2, 1).indices.sort(1).values
        return self.out(x.gather(1, index[..., None].expand(-1, -1, 16)))


@net(SEALED, audio_of)
class WavenetSkips(nn.Module):
    """Companded sound through dilated convolutions without padding; what is left of each is cut to the end of the last."""

    def __init__(self):
        super().__init__()
        self.stem, self.gates = nn.Conv1d(1, 6, 4, 2), nn.ModuleList(nn.Conv1d(6, 12, 2, dilation=2 ** i) for i in range(5))
        self.mix, self.skip, self.out = nn.ModuleList(nn.Conv1d(6, 6, 1) for _ in range(5)), nn.Conv1d(6, 6, 1), nn.Conv1d(6, 10, 1)

    def forward(self, audio):
        x = self.stem(audio.sign() * (255 * audio.abs()).log1p() / math.log1p(255))
        last = int(x.shape[2]) - sum(2 ** i for i in range(5))
        total = 0
        for i, (gate, mix) in enumerate(zip(self.gates, self.mix, strict=True)):
            a, b = gate(x).chunk(2, 1)
            y = a.tanh() * b.sigmoid()
            total = total + self.skip(y[..., int(y.shape[2]) - last:])
            x = mix(y) + x[..., 2 ** i:]
        return self.out((total + x).relu())


@net(SEALED, audio_of)
class CodecPadding(nn.Module):
    """Each stride reflects just as much as its last frame lacks; the transposed ones are trimmed, and the whole is cut."""

    def __init__(self):
        super().__init__()
        self.strides = (2, 4, 5)
        self.down = nn.ModuleList(nn.Conv1d(a, b, 2 * s, s) for a, b, s in zip((1, 4, 6), (4, 6, 8), self.strides, strict=True))
        self.up = nn.ModuleList(nn.ConvTranspose1d(b, a, 2 * s, s) for a, b, s in zip((1, 4, 6), (4, 6, 8), self.strides, strict=True))
        self.rate = nn.Parameter(torch.rand(1, 8, 1) + 0.5)

    def forward(self, audio):
        x = audio
        for layer, stride in zip(self.down, self.strides, strict=True):
            length = int(x.shape[2])
            frames = (length - stride) / stride + 1
            extra = (math.ceil(frames) - 1) * stride + stride - length
            x = F.elu(layer(F.pad(x, (stride - stride // 2, stride // 2 + extra), mode="reflect")))
        x = x + (self.rate * x).sin() ** 2 / self.rate
        code = x
        for layer, stride in zip(reversed(self.up), reversed(self.strides), strict=True):
            x = layer(F.elu(x))
            x = x[..., stride - stride // 2:int(x.shape[2]) - stride // 2]
        return x[..., :int(audio.shape[2])], code


@net(SEALED, audio_of)
class SineSource(nn.Module):
    """A pitch of each 40 samples, whose running sum is drawn to a line and is a wave; strides of it join what transposed layers make."""

    def __init__(self):
        super().__init__()
        self.frames, self.pitch = nn.Conv1d(1, 8, 80, 40, 20), nn.Conv1d(8, 1, 3, padding=1)
        self.up1, self.up2 = nn.ConvTranspose1d(8, 6, 16, 8, 4), nn.ConvTranspose1d(6, 4, 9, 5, 2)
        self.join1, self.join2, self.out = nn.Conv1d(3, 6, 10, 5, 3), nn.Conv1d(3, 4, 1), nn.Conv1d(4, 1, 7, padding=3)

    def forward(self, audio):
        n = int(audio.shape[2])
        x = self.frames(audio)
        phase = (F.softplus(self.pitch(x)) * 0.01).cumsum(2) * 2 * math.pi
        phase = F.interpolate(phase, scale_factor=40, mode="linear", align_corners=False)
        source = torch.cat([phase.sin(), (2 * phase).sin(), (3 * phase).sin()], 1)
        x = F.leaky_relu(self.up1(x), 0.1) + self.join1(source)
        x = F.leaky_relu(self.up2(x), 0.1) + self.join2(source)
        y = self.out(x).tanh()
        return F.pad(y, (0, n - int(y.shape[2])))


@net(SEALED, audio_of)
class LowFrameRate(nn.Module):
    """Frames without padding in a logarithm, five stacked at every third, the first and the last repeated as they lack."""

    def __init__(self):
        super().__init__()
        self.bank = nn.Conv1d(1, 8, 40, 16, bias=False)
        self.inner, self.qkv, self.memory = nn.Linear(40, 16), nn.Linear(16, 48), nn.Conv1d(16, 16, 7, groups=16, bias=False)

    def forward(self, audio):
        x = (self.bank(audio) ** 2 + 1e-4).log()
        x = x - x.mean(2, keepdim=True)
        frames = int(x.shape[2])
        n = math.ceil(frames / 3)
        x = F.pad(x, (2, n * 3 - frames), mode="replicate")
        x = torch.cat([x[..., i:i + 3 * (n - 1) + 1:3] for i in range(5)], 1).transpose(1, 2)
        angle = torch.arange(1, n + 1)[:, None] * 10000 ** -(torch.arange(8) / 7)
        x = self.inner(x) * 4 + torch.cat([angle.sin(), angle.cos()], -1)
        q, k, v = self.qkv(x).chunk(3, -1)
        memory = self.memory(F.pad(v.transpose(1, 2), (4, 2))).transpose(1, 2)
        return attend(q, k, v) + memory + v


@net(SEALED, audio_of)
class DualPath(nn.Module):
    """Chunks of 20 frames that overlap by half, attended inside and across, and added where they overlap."""

    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Conv1d(1, 8, 8, 4), nn.ConvTranspose1d(8, 1, 8, 4)
        self.inside, self.across = nn.Linear(8, 24), nn.Linear(8, 24)

    def forward(self, audio):
        x = self.encode(audio).relu()
        frames = int(x.shape[2])
        gap = 20 - (10 + frames % 20) % 20
        y = F.pad(x, (10, gap + 10)).transpose(1, 2)[0]
        count = (int(y.shape[0]) - 10) // 20
        y = torch.stack([y[:count * 20].view(count, 20, 8), y[10:10 + count * 20].view(count, 20, 8)], 1).view(count * 2, 20, 8)
        y = y + attend(*self.inside(y).chunk(3, -1))
        y = (y + attend(*self.across(y.transpose(0, 1)).chunk(3, -1)).transpose(0, 1)).view(count, 2, 20, 8)
        first, second = y[:, 0].reshape(count * 20, 8), y[:, 1].reshape(count * 20, 8)
        y = (first[10:] + second[:-10])[:frames].transpose(0, 1)[None]
        y = self.decode(x * y.sigmoid())
        return F.pad(y, (0, int(audio.shape[2]) - int(y.shape[2])))


@net(SEALED, audio_of)
class SpectrogramPatches(nn.Module):
    """Bands of reflected frames no more than 8 below the loudest, overlapping patches, positions stretched in time alone, two tokens more."""

    def __init__(self):
        super().__init__()
        t = torch.arange(64) * 2 * math.pi / 64
        angles = torch.arange(33)[:, None] * t
        self.register_buffer("basis", (torch.cat([angles.cos(), angles.sin()]) * (0.5 - 0.5 * t.cos()))[:, None])
        self.register_buffer("bank", torch.rand(20, 33))
        self.patch, self.qkv, self.tokens = nn.Conv2d(1, 12, (8, 6), (6, 4)), nn.Linear(12, 36), nn.Parameter(torch.randn(1, 2, 12))
        self.positions, self.ends = nn.Parameter(torch.randn(1, 12, 3, 20)), nn.Parameter(torch.randn(1, 2, 12))

    def forward(self, audio):
        real, imaginary = F.conv1d(F.pad(audio, (32, 32), mode="reflect"), self.basis, stride=16)[..., :-1].chunk(2, 1)
        mel = (self.bank @ (real ** 2 + imaginary ** 2)).clamp(min=1e-6).log10()
        mel = (mel.maximum(mel.amax((1, 2), keepdim=True) - 8) + 4) / 4
        x = self.patch(mel[:, None])
        x = x + F.interpolate(self.positions, size=sides(x), mode="bilinear", align_corners=False)
        x = torch.cat([self.tokens + self.ends, x.flatten(2).transpose(1, 2)], 1)
        x = x + attend(*self.qkv(x).chunk(3, -1))
        return x[:, :2].mean(1), x[:, 2:]


@net(SEALED, audio_of)
class AttentiveStatistics(nn.Module):
    """Splits in a row of dilated convolutions around reflected ends; weights that know mean and deviation of all time."""

    def __init__(self):
        super().__init__()
        self.stem, self.splits = nn.Conv1d(1, 12, 25, 10), nn.ModuleList(nn.Conv1d(4, 4, 3, dilation=d) for d in (2, 3))
        self.squeeze, self.weigh, self.out = nn.Linear(12, 12), nn.Conv1d(36, 12, 1), nn.Linear(24, 8)

    def forward(self, audio):
        x = self.stem(audio).relu()
        a, b, c = x.chunk(3, 1)
        b = self.splits[0](F.pad(b, (2, 2), mode="reflect")).relu()
        c = self.splits[1](F.pad(b + c, (3, 3), mode="reflect")).relu()
        y = torch.cat([a, b, c], 1)
        x = x + y * self.squeeze(y.mean(2)).sigmoid()[..., None]
        n = int(x.shape[2])
        mean, deviation = x.mean(2, keepdim=True), (x.var(2, keepdim=True) + 1e-4).sqrt()
        weight = self.weigh(torch.cat([x, mean.repeat(1, 1, n), deviation.expand(-1, -1, n)], 1).tanh()).softmax(2)
        mean = (weight * x).sum(2)
        spread = ((weight * x ** 2).sum(2) - mean ** 2).clamp(min=1e-3).sqrt()
        return self.out(torch.cat([mean, spread], 1)), weight * n
