"""The small nets of sequences and sound of a second trial that was written without knowing how lifting works; see lifting_small_models.py."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from lifting_small_models import (
    FRESH,
    attend,
    audio_of,
    features_of,
    heads_of,
    ids_of,
    joined,
    net,
    rotated,
)


def later_of(n):
    """Hides what comes later."""
    return torch.full((n, n), float("-inf")).triu(1)


@net(FRESH, features_of)
class ZipformerStack(nn.Module):
    """Maps without padding to less than half; pairs weighted to one, the last frame repeated; compressed distances; repeated, cut and mixed in."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(1, 4, 3, 1, (0, 1)), nn.Conv2d(4, 6, 3, 2), nn.Conv2d(6, 6, 3, (1, 2))
        self.enter, self.weights, self.qkv, self.place = nn.Linear(18, 16), nn.Parameter(torch.randn(2)), nn.Linear(16, 48), nn.Linear(8, 16)
        self.scale, self.last, self.out = nn.Parameter(torch.rand(16)), nn.Parameter(torch.randn(2)), nn.Linear(16, 10)

    @staticmethod
    def halved(x, weights):
        n, b, c = x.shape
        few = (n + 1) // 2
        x = torch.cat([x, x[n - 1:].repeat(few * 2 - n, 1, 1)], 0)
        return (x.reshape(few, 2, b, c) * weights.softmax(0)[:, None, None]).sum(1)

    def forward(self, features):
        x = self.c(F.silu(self.b(F.silu(self.a(features.unsqueeze(1))))))
        _, c, n, f = x.size()
        x = F.layer_norm(self.enter(F.silu(x).transpose(1, 2).reshape(1, n, c * f)), (16,)).transpose(0, 1)
        y = self.halved(x, self.weights)
        few = int(y.shape[0])
        apart = torch.arange(-(few - 1), few).to(torch.float32).unsqueeze(1)
        width = 4 / (2.0 * math.pi)
        compressed = 4 ** 0.5 * apart.sign() * ((apart.abs() + 2).log() - math.log(2))
        angles = (compressed / width).atan() * torch.arange(1, 5)
        places = self.place(torch.stack([angles.cos(), angles.sin()], -1).flatten(1))
        q, k, v = self.qkv(y.transpose(0, 1)).chunk(3, -1)
        scores = q @ places.transpose(0, 1)
        rows = torch.arange(start=few - 1, end=-1, step=-1).unsqueeze(1)
        scores = scores.gather(2, (rows + torch.arange(few))[None])
        y = y + ((q @ k.transpose(1, 2) + scores) / 4).softmax(-1).matmul(v).transpose(0, 1)
        y = y.unsqueeze(1).expand(few, 2, 1, 16).reshape(few * 2, 1, 16)[:n]
        x = x + (y - x) * self.scale
        return self.out(self.halved(x, self.last)).transpose(0, 1).log_softmax(-1)


@net(FRESH, ids_of)
class VitsRelative(nn.Module):
    """Distances no further than 4 in keys and values, made absolute and back by padding and views; then transposed layers up to sound."""

    def __init__(self):
        super().__init__()
        self.table, self.qkv, self.out = nn.Embedding(50, 16), nn.Linear(16, 48), nn.Linear(16, 16)
        self.keys, self.values = nn.Parameter(torch.randn(1, 9, 8) / 3), nn.Parameter(torch.randn(1, 9, 8) / 3)
        self.up = nn.ModuleList([nn.ConvTranspose1d(16, 8, 8, 4, 2), nn.ConvTranspose1d(8, 6, 4, 2, 1)])
        self.body = nn.ModuleList(nn.ModuleList(nn.Conv1d(c, c, 3, 1, d, d) for d in (1, 3)) for c in (8, 6))
        self.sound = nn.Conv1d(6, 1, 7, 1, 3)

    @staticmethod
    def table_of(table, n):
        pad, start = max(n - 5, 0), max(5 - n, 0)
        if pad > 0:
            table = F.pad(table, (0, 0, pad, pad))
        return table[:, start:start + 2 * n - 1]

    @staticmethod
    def absolute(x):
        b, heads, n, _ = x.size()
        x = F.pad(x, (0, 1)).view(b, heads, n * 2 * n)
        return F.pad(x, (0, n - 1)).view(b, heads, n + 1, 2 * n - 1)[:, :, :n, n - 1:]

    @staticmethod
    def relative(x):
        b, heads, n, _ = x.size()
        x = F.pad(x, (0, n - 1)).view(b, heads, n ** 2 + n * (n - 1))
        return F.pad(x, (n, 0)).view(b, heads, n, 2 * n)[:, :, :, 1:]

    def forward(self, ids):
        x = self.table(ids) * 4
        n = int(ids.shape[1])
        q, k, v = (heads_of(part, 2) for part in self.qkv(x).chunk(3, -1))
        q = q / math.sqrt(8)
        scores = q @ k.transpose(-2, -1) + self.absolute(q @ self.table_of(self.keys, n).unsqueeze(0).transpose(-2, -1))
        share = scores.softmax(-1)
        y = share @ v + self.relative(share) @ self.table_of(self.values, n).unsqueeze(0)
        x = (x + self.out(joined(y))).transpose(1, 2)
        for up, body in zip(self.up, self.body, strict=True):
            x = up(F.leaky_relu(x, 0.1))
            for layer in body:
                x = x + layer(F.leaky_relu(x, 0.1))
        return self.sound(F.leaky_relu(x)).tanh()


@net(FRESH, features_of)
class BigvganResample(nn.Module):
    """Bands to sound, each snake between a doubling and a halving by a filter over repeated edges; faded in and out at both ends."""

    def __init__(self):
        super().__init__()
        self.enter, self.up, self.out = nn.Conv1d(16, 12, 7, 1, 3), nn.ConvTranspose1d(12, 8, 8, 4, 2), nn.Conv1d(8, 1, 7, 1, 3, bias=False)
        self.body, self.alpha, self.beta = nn.Conv1d(8, 8, 3, 1, 1), nn.Parameter(torch.zeros(2, 1, 8, 1)), nn.Parameter(torch.zeros(2, 1, 8, 1))
        taps = torch.kaiser_window(12, periodic=False, beta=4.66) * torch.sinc((torch.arange(12) - 5.5) / 2) / 2
        self.register_buffer("filter", (taps / taps.sum()).view(1, 1, 12))

    def snake(self, x, i):
        c = int(x.shape[1])
        x = 2 * F.conv_transpose1d(F.pad(x, (5, 5), mode="replicate"), self.filter.expand(c, -1, -1), stride=2, groups=c)
        x = x[..., 15:-15]
        x = x + 1.0 / (self.beta[i].exp() + 1e-9) * (x * self.alpha[i].exp()).sin().pow(2)
        return F.conv1d(F.pad(x, (5, 6), mode="replicate"), self.filter.expand(c, -1, -1), stride=2, groups=c)

    def forward(self, features):
        x = self.up(self.enter(features.transpose(1, 2)))
        x = x + self.body(self.snake(x, 0))
        x = self.out(self.snake(x, 1)).clamp(-1, 1)
        n = int(features.shape[1]) * 4
        ramp = torch.linspace(0, 1, 12)
        return x * torch.cat([ramp, torch.ones(n - 24), ramp.flip(0)])


@net(FRESH, features_of)
class VocosIstft(nn.Module):
    """Magnitudes and phases of frames of 32 every 8, back to sound by waves; frames added up and divided by the sum of their windows; the ends cut."""

    def __init__(self):
        super().__init__()
        self.enter, self.depth, self.wide, self.narrow = nn.Conv1d(16, 16, 7, 1, 3), nn.Conv1d(16, 16, 7, 1, 3, groups=16), nn.Linear(16, 32), nn.Linear(32, 16)
        self.head = nn.Linear(16, 34)
        angles = torch.arange(17)[:, None] * torch.arange(32) * (2 * math.pi / 32)
        twice = torch.where((torch.arange(17) % 16) == 0, 1.0, 2.0)[:, None] / 32
        self.register_buffer("cos", angles.cos() * twice)
        self.register_buffer("sin", angles.sin() * twice)
        self.register_buffer("window", torch.hann_window(32))
        self.register_buffer("eye", torch.eye(32)[:, None])

    def forward(self, features):
        x = self.enter(features.transpose(1, 2))
        y = F.layer_norm(self.depth(x).transpose(1, 2), (16,))
        x = x.transpose(1, 2) + self.narrow(F.gelu(self.wide(y)))
        size, phase = self.head(F.layer_norm(x, (16,))).transpose(1, 2).chunk(2, 1)
        size = size.exp().clip(max=1e2)
        frames = (size * phase.cos()).transpose(1, 2) @ self.cos - (size * phase.sin()).transpose(1, 2) @ self.sin
        n = int(frames.shape[1])
        pad = (32 - 8) // 2
        whole = (n - 1) * 8 + 32
        y = F.conv_transpose1d((frames * self.window).transpose(1, 2), self.eye, stride=8)[:, 0, pad:whole - pad]
        squares = self.window.square().expand(1, n, -1).transpose(1, 2)
        envelope = F.conv_transpose1d(squares, self.eye, stride=8).squeeze()[pad:whole - pad]
        return y / envelope


@net(FRESH, audio_of)
class HybridDemucs(nn.Module):
    """A spectrum of as many frames as strides of 16 and a branch in time meet, each normalised by itself; back to the length of every layer."""

    def __init__(self):
        super().__init__()
        angles = torch.arange(33)[:, None] * torch.arange(64) * (2 * math.pi / 64)
        window = torch.hann_window(64) / 8
        self.register_buffer("waves", torch.cat([angles.cos() * window, -angles.sin() * window])[:, None])
        self.f1, self.f2, self.f3 = nn.Conv2d(2, 6, (8, 1), (4, 1), (2, 0)), nn.Conv2d(6, 8, (8, 1), (4, 1), (2, 0)), nn.Conv2d(8, 12, (2, 1))
        self.t1, self.t2 = nn.Conv1d(1, 6, 8, 4, 2), nn.Conv1d(6, 12, 8, 4, 2)
        self.u2, self.u1, self.mask = nn.ConvTranspose1d(12, 6, 8, 4), nn.ConvTranspose1d(6, 1, 8, 4), nn.Conv1d(12, 33, 1)

    @staticmethod
    def strided(layer, x):
        n = int(x.shape[-1])
        if n % 4 != 0:
            x = F.pad(x, (0, 4 - n % 4))
        return F.gelu(layer(x))

    def forward(self, audio):
        n = int(audio.shape[-1])
        few = math.ceil(n / 16)
        pad = 16 // 2 * 3
        x = F.pad(audio, (pad, pad + few * 16 - n), mode="reflect")
        x = F.conv1d(F.pad(x, (32, 32), mode="reflect"), self.waves, stride=16)[..., 2:2 + few]
        spectrum = torch.stack(x.chunk(2, 1), 1)[:, :, :-1]
        spectrum = spectrum.reshape(1, 2, 32, few)
        mean, deviation = spectrum.mean((1, 2, 3), keepdim=True), spectrum.std((1, 2, 3), keepdim=True)
        f = F.gelu(self.f2(F.gelu(self.f1((spectrum - mean) / (1e-5 + deviation)))))
        f = self.f3(f).squeeze(2)
        t = (audio - audio.mean((1, 2), keepdim=True)) / (1e-5 + audio.std((1, 2), keepdim=True))
        a = self.strided(self.t1, t)
        b = self.strided(self.t2, a) + f
        mask = self.mask(b)[:, :-1].softmax(1)
        y = F.gelu(self.u2(b)[..., 2:2 + int(a.shape[-1])]) + a
        return self.u1(y)[..., 2:2 + n] + audio / 2, mask * spectrum.square().sum(1) * few


@net(FRESH, features_of)
class TimesPeriods(nn.Module):
    """A series laid out in rows of 6 and of 10, filled with zeros; maps of both, weighted by how strong each period is; what it is made of given back."""

    def __init__(self):
        super().__init__()
        self.enter = nn.Conv1d(16, 12, 3, 1, 1, padding_mode="circular", bias=False)
        self.wide = nn.ModuleList(nn.Conv2d(12, 12, 2 * i + 1, padding=i) for i in range(2))
        self.narrow, self.out = nn.Conv2d(12, 12, 3, 1, 1), nn.Linear(12, 16)

    def forward(self, features):
        n = int(features.shape[1])
        mean = features.mean(1, keepdim=True)
        deviation = (features.var(1, keepdim=True, unbiased=False) + 1e-5).sqrt()
        x = self.enter(((features - mean) / deviation).transpose(1, 2)).transpose(1, 2)
        waves = torch.arange(n)[None] / torch.tensor([6.0, 10.0])[:, None] * (2 * math.pi)
        strength = ((waves.cos() @ x).square() + (waves.sin() @ x).square()).sqrt().mean(-1) / math.sqrt(n)
        found = []
        for period in (6, 10):
            whole = (n + period - 1) // period * period
            y = torch.cat([x, torch.zeros(1, whole - n, 12)], 1)
            y = y.reshape(1, whole // period, period, 12).permute(0, 3, 1, 2).contiguous()
            y = self.narrow(F.gelu(torch.stack([layer(y) for layer in self.wide], -1).mean(-1)))
            found.append(y.permute(0, 2, 3, 1).reshape(1, -1, 12)[:, :n])
        share = strength.softmax(1).unsqueeze(1).unsqueeze(1).repeat(1, n, 12, 1)
        return self.out((torch.stack(found, -1) * share).sum(-1) + x) * deviation + mean


@net(FRESH, features_of)
class InformerDistil(nn.Module):
    """As many queries as three times a logarithm are chosen by a sample of keys and attend, all others take the mean; halved by a pool, twice."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.ModuleList(nn.Linear(16, 48) for _ in range(2))
        self.press = nn.ModuleList(nn.Conv1d(16, 16, 3, 1, 1, padding_mode="circular") for _ in range(2))
        self.norm, self.out = nn.ModuleList(nn.BatchNorm1d(16) for _ in range(2)), nn.Linear(16, 6)

    @staticmethod
    def sparse(q, k, v):
        n = int(k.shape[1])
        few = min(3 * math.ceil(math.log(n)), n)
        sample = k[:, (torch.arange(few) * 5 + 2) % n]
        scores = q @ sample.transpose(1, 2)
        at = (scores.max(-1)[0] - scores.sum(-1) / n).topk(few, sorted=False)[1]
        at = at[..., None].expand(1, few, 16)
        found = (q.gather(1, at) @ k.transpose(1, 2) / 4).softmax(-1) @ v
        return v.mean(1, keepdim=True).expand(1, n, 16).clone().scatter(1, at, found)

    def forward(self, features):
        x = features
        for qkv, press, norm in zip(self.qkv, self.press, self.norm, strict=True):
            x = F.layer_norm(x + self.sparse(*qkv(x).chunk(3, -1)), (16,))
            x = F.max_pool1d(F.elu(norm(press(x.transpose(1, 2)))), 3, 2, 1).transpose(1, 2)
        return self.out(x)


@net(FRESH, features_of)
class AutoCorrelation(nn.Module):
    """The three shifts at which a series is most like itself; what lies there, weighted and added up; a moving mean with repeated ends taken away."""

    def __init__(self):
        super().__init__()
        self.qkv, self.seasonal, self.trend = nn.Linear(16, 48), nn.Linear(16, 5), nn.Linear(16, 5)

    @staticmethod
    def mean_of(x, kernel):
        front, end = x[:, 0:1].repeat(1, (kernel - 1) // 2, 1), x[:, -1:].repeat(1, (kernel - 1) // 2, 1)
        return F.avg_pool1d(torch.cat([front, x, end], 1).permute(0, 2, 1), kernel, 1).permute(0, 2, 1)

    def forward(self, features):
        n = int(features.shape[1])
        q, k, v = self.qkv(features).chunk(3, -1)
        t = torch.arange(n)
        pairs = (q @ k.transpose(1, 2))[0]
        likeness = pairs.gather(1, (t[:, None] - t) % n).mean(0) / 16  # by shift
        weights, shifts = likeness.topk(3)
        weights = weights.softmax(0)
        twice = v.repeat(1, 2, 1)
        y = 0
        for i in range(3):
            y = y + twice[:, t + shifts[i]] * weights[i]
        x = features + y
        trend = self.mean_of(x, 9)
        return self.seasonal(x - trend) + self.trend(trend)


@net(FRESH, ids_of)
class LongformerChunks(nn.Module):
    """Filled up to eights; chunks of 8 that overlap by half, their products skewed by padding into a band of 9, and back for the values."""

    def __init__(self):
        super().__init__()
        self.table, self.places, self.qkv, self.out = nn.Embedding(50, 16, padding_idx=0), nn.Embedding(256, 16), nn.Linear(16, 48), nn.Linear(16, 12)

    @staticmethod
    def band_of(q, k):
        heads, n, d = q.shape
        chunks = n // 4 - 1
        q, k = (torch.cat([x.view(heads, n // 4, 4, d)[:, :-1], x.view(heads, n // 4, 4, d)[:, 1:]], 2) for x in (q, k))
        skew = F.pad(torch.einsum("bcxd,bcyd->bcxy", q, k), (0, 0, 0, 1)).view(heads, chunks, 8, 9)
        band = skew.new_zeros(heads, chunks + 1, 4, 9)
        band[:, :-1, :, 4:] = skew[:, :, :4, :5]
        band[:, -1, :, 4:] = skew[:, -1, 4:, :5]
        band[:, 1:, :, :4] = skew[:, :, -5:-1, 5:]
        band[:, 0, 1:4, 1:4] = skew[:, 0, :3, -3:]
        return band.view(heads, n, 9)

    @staticmethod
    def gathered(share, v):
        heads, n, d = v.shape
        chunks = n // 4
        share = F.pad(share.reshape(heads, chunks, 4, 9), (0, 4 + 1)).view(heads, chunks, -1)[:, :, :-4]
        share = share.view(heads, chunks, 4, 13)[..., :-1]
        padded = F.pad(v, (0, 0, 4, 4), value=-1).view(heads, chunks + 2, 4, d)
        padded = torch.cat([padded[:, :-2], padded[:, 1:-1], padded[:, 2:]], 2)
        return torch.einsum("bcwd,bcdh->bcwh", share, padded).reshape(heads, n, d)

    def forward(self, ids):
        n = int(ids.shape[1])
        more = (8 - n % 8) % 8
        whole = n + more
        ids = F.pad(ids, (0, more), value=0)
        x = self.table(ids) + self.places(torch.arange(whole))[None]
        q, k, v = (heads_of(part, 2)[0] for part in self.qkv(x).chunk(3, -1))
        at = torch.arange(whole)[:, None] + torch.arange(-4, 5)
        band = (self.band_of(q / math.sqrt(8), k)).masked_fill((at < 0) | (at >= n), -1e9)
        y = self.gathered(band.softmax(-1), v)
        return self.out(x + y.transpose(0, 1).reshape(1, whole, 16))[:, :n]


@net(FRESH, ids_of)
class DebertaDisentangled(nn.Module):
    """Distances in buckets whose far half is logarithmic, from content to place and from place to content, gathered from one table of 32."""

    def __init__(self):
        super().__init__()
        self.table, self.places, self.qkv, self.out = nn.Embedding(50, 16), nn.Embedding(32, 16), nn.Linear(16, 48), nn.Linear(16, 9)

    @staticmethod
    def buckets_of(n):
        apart = np.arange(n)[:, None] - np.arange(n)
        sign, middle = np.sign(apart), 8
        near = np.where((apart < middle) & (apart > -middle), middle - 1, np.abs(apart))
        far = np.ceil(np.log(near / middle) / np.log(127 / middle) * (middle - 1)) + middle
        return torch.from_numpy(np.where(near <= middle, apart, far * sign).astype(np.int64))

    def forward(self, ids):
        n = int(ids.shape[1])
        x = F.layer_norm(self.table(ids), (16,))
        q, k, v = (heads_of(part, 2) for part in self.qkv(x).chunk(3, -1))
        place_q, place_k, _ = (heads_of(part, 2) for part in self.qkv(F.layer_norm(self.places.weight, (16,)))[None].chunk(3, -1))
        apart = self.buckets_of(n)[None, None]
        scale = math.sqrt(8 * 3)
        scores = q @ k.transpose(-1, -2) / scale
        scores = scores + (q @ place_k.transpose(-1, -2)).gather(-1, (apart + 16).clamp(0, 31).expand(1, 2, n, n)) / scale
        scores = scores + (k @ place_q.transpose(-1, -2)).gather(-1, (-apart + 16).clamp(0, 31).expand(1, 2, n, n)).transpose(-1, -2) / scale
        return self.out(x + joined(scores.softmax(-1) @ v))


def ids_and_past(n):
    random = np.random.default_rng(n)
    past = {f"past_{name}": random.standard_normal((1, 2, n, 8), dtype=np.float32) for name in ("key", "value")}
    return dict(ids=random.integers(1, 50, (1, 4)), **past)


@net(FRESH, ids_and_past, "sequence")
class PastCache(nn.Module):
    """Four tokens after a past: half of each head rotary in interleaved pairs, from tables cut at their places; four heads of queries, two of keys."""

    def __init__(self):
        super().__init__()
        self.table, self.q, self.kv, self.o, self.out = nn.Embedding(50, 16), nn.Linear(16, 32), nn.Linear(16, 32), nn.Linear(32, 16), nn.Linear(16, 50)
        angles = (torch.arange(256)[:, None] * 100.0 ** -(torch.arange(2) / 2)).repeat_interleave(2, -1)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())
        self.register_buffer("seen", torch.tril(torch.ones(256, 256, dtype=torch.bool)).view(1, 1, 256, 256))

    @staticmethod
    def turned(x, cos, sin):
        part, rest = x[..., :4], x[..., 4:]
        other = torch.stack([-part[..., 1::2], part[..., ::2]], -1).flatten(-2)
        return torch.cat([part * cos + other * sin, rest], -1)

    def forward(self, ids, past_key, past_value):
        n = int(ids.shape[1])
        past = int(past_key.shape[-2])
        x = self.table(ids)
        cos, sin = self.cos[past:past + n], self.sin[past:past + n]
        q, (k, v) = heads_of(self.q(x), 4), (heads_of(part, 2) for part in self.kv(x).chunk(2, -1))
        q, k = self.turned(q, cos, sin), self.turned(k, cos, sin)
        k, v = torch.cat([past_key, k], -2), torch.cat([past_value, v], -2)
        whole = past + n
        wide_k, wide_v = (a[:, :, None].expand(1, 2, 2, whole, 8).reshape(1, 4, whole, 8) for a in (k, v))
        scores = q @ wide_k.transpose(-1, -2) / math.sqrt(8)
        scores = torch.where(self.seen[:, :, whole - n:whole, :whole], scores, torch.finfo(torch.float32).min)
        x = x + self.o(joined(scores.softmax(-1) @ wide_v))
        return self.out(x), k, v


def bands_and_ids(n):
    random = np.random.default_rng(n)
    return dict(bands=random.standard_normal((1, 16, n), dtype=np.float32), ids=random.integers(1, 50, (1, n // 3 + 2)))


@net(FRESH, bands_and_ids, "sequence")
class WhisperPair(nn.Module):
    """Bands at half their rate with sines cut from a table; words with learned places and a cut mask look at them; the table of words answers."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv1d(16, 16, 3, 1, 1), nn.Conv1d(16, 16, 3, 2, 1)
        self.words, self.places = nn.Embedding(50, 16), nn.Parameter(torch.randn(96, 16) / 2)
        self.encode, self.decode, self.q, self.kv = nn.Linear(16, 48), nn.Linear(16, 48), nn.Linear(16, 16), nn.Linear(16, 32)
        angles = torch.arange(128)[:, None] * 100.0 ** -(torch.arange(8) / 7)
        self.register_buffer("sines", torch.cat([angles.sin(), angles.cos()], 1))
        self.register_buffer("mask", torch.empty(96, 96).fill_(float("-inf")).triu_(1))

    def forward(self, bands, ids):
        x = F.gelu(self.b(F.gelu(self.a(bands)))).permute(0, 2, 1)
        x = x + self.sines[:int(x.shape[1])]
        x = x + joined(attend(*(heads_of(part, 2) for part in self.encode(F.layer_norm(x, (16,))).chunk(3, -1))))
        n = int(ids.shape[-1])
        y = self.words(ids) + self.places[:n]
        q, k, v = (heads_of(part, 2) for part in self.decode(F.layer_norm(y, (16,))).chunk(3, -1))
        y = y + joined(attend(q, k, v, self.mask[:n, :n]))
        k, v = (heads_of(part, 2) for part in self.kv(F.layer_norm(x, (16,))).chunk(2, -1))
        y = y + joined(attend(heads_of(self.q(F.layer_norm(y, (16,))), 2), k, v))
        return F.layer_norm(y, (16,)) @ self.words.weight.transpose(0, 1)


def points_of(n):
    return dict(points=np.random.default_rng(n).standard_normal((1, n, 3), dtype=np.float32))


@net(FRESH, points_of, "sequence")
class PointNeighbors(nn.Module):
    """Five nearest of each point by one flat index; the most of all beside each; every fourth point, and back from its three nearest by their distance."""

    def __init__(self):
        super().__init__()
        self.edge, self.whole = nn.Conv2d(6, 12, 1), nn.Conv1d(12, 8, 1)
        self.coarse, self.out = nn.Linear(12, 12), nn.Linear(32, 5)

    def forward(self, points):
        x = points.transpose(1, 2).contiguous()
        n = int(x.shape[2])
        inner = -2 * x.transpose(2, 1) @ x
        square = (x ** 2).sum(1, keepdim=True)
        index = (-square - inner - square.transpose(2, 1)).topk(5)[1]
        index = (index + torch.arange(1).view(-1, 1, 1) * n).view(-1)
        near = x.transpose(2, 1).contiguous().view(n, -1)[index].view(1, n, 5, 3)
        own = points.view(1, n, 1, 3).repeat(1, 1, 5, 1)
        x = F.leaky_relu(self.edge(torch.cat([near - own, own], 3).permute(0, 3, 1, 2)), 0.2).max(-1)[0]
        most = self.whole(x).max(-1, keepdim=True)[0].repeat(1, 1, n)
        x = x.transpose(1, 2)
        few, values = points[:, ::4], self.coarse(x[:, ::4]).relu()
        distance = (points[:, :, None] - few[:, None]).square().sum(-1)
        distance, at = distance.topk(3, largest=False)
        weight = 1.0 / (distance + 1e-2)
        weight = weight / weight.sum(-1, keepdim=True)
        found = (values[0][at.view(-1)].view(1, n, 3, 12) * weight[..., None]).sum(2)
        return self.out(torch.cat([x, found, most.transpose(1, 2)], -1)).log_softmax(-1)


@net(FRESH, ids_of)
class HyenaFilter(nn.Module):
    """A filter as long as the text, told from places between 0 and 1 and fading with them; a convolution of the past over everything."""

    def __init__(self):
        super().__init__()
        self.table, self.enter, self.short = nn.Embedding(50, 12), nn.Linear(12, 36), nn.Conv1d(36, 36, 3, padding=2, groups=36)
        self.filter, self.bias, self.out = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 12)), nn.Parameter(torch.randn(12)), nn.Linear(12, 50)
        self.register_buffer("fading", torch.linspace(1.5, 8, 12))

    def forward(self, ids):
        n = int(ids.shape[1])
        x = self.table(ids)
        a, b, v = self.short(self.enter(x).transpose(1, 2))[..., :n].chunk(3, 1)
        t = torch.linspace(0, 1, n)[:, None]
        angles = torch.linspace(1e-4, 1, 2)[None] * (2 * math.pi * torch.arange(n)[:, None] / n)
        filters = self.filter(torch.cat([t, angles.cos(), -angles.sin()], -1)) * (torch.exp(-t * self.fading) + 0.01)
        v = v * b
        y = F.conv1d(v, filters.transpose(0, 1).flip(-1)[:, None], padding=n - 1, groups=12)[..., :n]
        y = (y + v * self.bias[:, None]) * a
        return self.out(x + y.transpose(1, 2) / math.sqrt(n))


@net(FRESH, features_of)
class RetentionDecay(nn.Module):
    """Rotary places, and a past that fades at each head's own rate, every row's weights made one; divided by what they come to; a gate."""

    def __init__(self):
        super().__init__()
        self.qkv, self.gate, self.out = nn.Linear(16, 48), nn.Linear(16, 16), nn.Linear(16, 16)
        self.register_buffer("decay", torch.log(1 - 2.0 ** (-2 - torch.arange(2))))

    def forward(self, features):
        n = int(features.shape[1])
        q, k, v = (heads_of(part, 2) for part in self.qkv(features).chunk(3, -1))
        at = torch.arange(n)
        angles = at[:, None] * 100.0 ** -(torch.arange(4) / 4)
        q, k = rotated(q, angles), rotated(k / math.sqrt(8), angles)
        apart = torch.masked_fill((at[:, None] - at).float(), ~torch.ones(n, n).tril().bool(), float("inf"))
        mask = torch.nan_to_num(torch.exp(apart * self.decay[:, None, None]))
        mask = mask / mask.sum(-1, keepdim=True).sqrt()
        scores = q @ k.transpose(-1, -2) * mask
        scores = scores / scores.abs().sum(-1, keepdim=True).clamp(min=1)
        y = F.layer_norm(scores @ v, (8,))
        return self.out(F.silu(self.gate(features)) * joined(y))


@net(FRESH, features_of)
class CrfUnrolled(nn.Module):
    """How likely each of four states is after every place, one place after the other, by their logarithms; what no trace of another size can tell."""

    def __init__(self):
        super().__init__()
        self.emission, self.transition, self.start = nn.Linear(16, 4), nn.Parameter(torch.randn(4, 4)), nn.Parameter(torch.randn(4))

    def forward(self, features):
        emission = self.emission(features)
        alpha = self.start + emission[:, 0]
        found = [alpha]
        for i in range(1, features.shape[1]):
            alpha = torch.logsumexp(alpha[:, :, None] + self.transition, 1) + emission[:, i]
            found.append(alpha)
        return torch.stack(found, 1).log_softmax(-1), alpha.logsumexp(-1) / features.shape[1]


@net(FRESH, ids_of)
class MegabytePatches(nn.Module):
    """Bytes in patches of 4, filled up; a start before the patches, which see the past; inside of each patch its bytes, moved by one, see theirs."""

    def __init__(self):
        super().__init__()
        self.bytes, self.places, self.start = nn.Embedding(50, 8), nn.Embedding(256, 8), nn.Parameter(torch.randn(1, 1, 32))
        self.whole, self.near, self.inside, self.first = nn.Linear(32, 96), nn.Linear(8, 24), nn.Linear(32, 32), nn.Parameter(torch.randn(1, 1, 8))
        self.steps, self.out = nn.Parameter(torch.randn(4, 8)), nn.Linear(8, 50)

    def forward(self, ids):
        n = int(ids.shape[1])
        padded = F.pad(ids, (0, -n % 4), value=0)
        patches = int(padded.shape[1]) // 4
        x = self.bytes(padded)
        y = (x + self.places(torch.arange(patches * 4))).reshape(1, patches, 32)
        y = torch.cat([self.start, y[:, :-1]], 1)
        q, k, v = (heads_of(part, 2) for part in self.whole(F.layer_norm(y, (32,))).chunk(3, -1))
        y = self.inside(y + joined(attend(q, k, v, later_of(patches)))).reshape(patches, 4, 8)
        x = x.reshape(patches, 4, 8)
        x = torch.cat([self.first.expand(patches, 1, 8), x[:, :-1]], 1) + self.steps + y
        x = x + attend(*self.near(F.layer_norm(x, (8,))).chunk(3, -1), later_of(4))
        return self.out(x.reshape(1, patches * 4, 8)[:, :n])


@net(FRESH, audio_of)
class WavevecPositions(nn.Module):
    """Strided layers without padding; places from an even kernel, one frame cut; the last fifth is silence, whose frames are counted and hidden."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv1d(a, b, k, s, bias=False) for a, b, k, s in ((1, 8, 10, 5), (8, 12, 3, 2), (12, 16, 2, 2)))
        self.norm, self.enter, self.places = nn.GroupNorm(8, 8), nn.Linear(16, 16), nn.Conv1d(16, 16, 16, padding=8, groups=4)
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 10)

    def forward(self, audio):
        samples = int(audio.shape[-1])
        real = samples - samples // 5
        audio = audio * (torch.arange(samples) < real)
        x = audio
        for i, layer in enumerate(self.layers):
            x = layer(x)
            x = F.gelu(self.norm(x) if i == 0 else x)
            real = (real - layer.kernel_size[0]) // layer.stride[0] + 1
        x = self.enter(F.layer_norm(x.transpose(1, 2), (16,)))
        n = int(x.shape[1])
        seen = torch.arange(n) < real
        x = x * seen[None, :, None]
        x = x + F.gelu(self.places(x.transpose(1, 2))[:, :, :-1]).transpose(1, 2)
        hidden = (1.0 - seen.float()).expand(1, 1, n, n) * torch.finfo(torch.float32).min
        q, k, v = (heads_of(part, 2) for part in self.qkv(F.layer_norm(x, (16,))).chunk(3, -1))
        x = x + joined(attend(q, k, v, hidden))
        pooled = (x * seen[None, :, None]).sum(1) / real
        return self.out(x).log_softmax(-1), pooled


def nodes_and_edges(n):
    random = np.random.default_rng(n)
    edges = np.concatenate([np.stack([np.arange(n), np.arange(n)]), random.integers(0, n, (2, 2 * n + 3))], 1)
    return dict(nodes=random.standard_normal((n, 16), dtype=np.float32), edges=edges)


@net(FRESH, nodes_and_edges, "sequence")
class GraphEdges(nn.Module):
    """Messages along given edges, each node's weighted to one by sums into zeros; the degrees of both ends; how a node differs from the mean of all."""

    def __init__(self):
        super().__init__()
        self.enter, self.source, self.target, self.second, self.out = nn.Linear(16, 16), nn.Linear(16, 2), nn.Linear(16, 2), nn.Linear(16, 16), nn.Linear(32, 4)

    def forward(self, nodes, edges):
        n = int(nodes.shape[0])
        source, target = edges[0], edges[1]
        x = self.enter(nodes)
        scores = F.leaky_relu(self.source(x)[source] + self.target(x)[target], 0.2).exp()
        many = int(edges.shape[1])
        total = torch.zeros(n, 2).scatter_add(0, target.unsqueeze(-1).expand(many, 2), scores)
        share = scores / (total[target] + 1e-16)
        messages = x.view(n, 2, 8)[source] * share.unsqueeze(-1)
        x = F.elu(torch.zeros(n, 2, 8).scatter_add(0, target.view(-1, 1, 1).expand(many, 2, 8), messages)).view(n, 16)
        degree = torch.zeros(n).scatter_add(0, target, torch.ones(many)).clamp(min=1).pow(-0.5)
        weight = degree[source] * degree[target]
        y = torch.zeros(n, 16).scatter_add(0, target[:, None].expand(many, 16), self.second(x)[source] * weight[:, None])
        y = y.relu()
        return self.out(torch.cat([y, y - y.sum(0, keepdim=True) / n], -1))


@net(FRESH, audio_of)
class PannsFramewise(nn.Module):
    """Logarithms of bands of reflected frames, pooled by 8 in time; what each part says is repeated, the last one until there are as many as frames."""

    def __init__(self):
        super().__init__()
        angles = torch.arange(17)[:, None] * torch.arange(40) * (2 * math.pi / 40)
        window = torch.hann_window(40)
        self.register_buffer("waves", torch.cat([angles.cos() * window, -angles.sin() * window])[:, None])
        self.bank, self.norm = nn.Parameter(torch.rand(17, 16)), nn.BatchNorm2d(16)
        self.blocks = nn.ModuleList(nn.Conv2d(a, b, 3, 1, 1) for a, b in ((1, 6), (6, 8), (8, 12)))
        self.attention, self.name = nn.Conv1d(12, 5, 1), nn.Conv1d(12, 5, 1)

    def forward(self, audio):
        x = F.conv1d(F.pad(audio, (20, 20), mode="reflect"), self.waves, stride=20)
        real, imaginary = x.chunk(2, 1)
        x = ((real.square() + imaginary.square()).transpose(1, 2) @ self.bank.abs()).clamp(min=1e-5).log10()[:, None]
        frames = int(x.shape[2])
        x = self.norm(x.transpose(1, 3)).transpose(1, 3)
        for block in self.blocks:
            x = F.avg_pool2d(block(x).relu(), 2)
        x = x.mean(3)
        x = F.max_pool1d(x, 3, 1, 1) + F.avg_pool1d(x, 3, 1, 1)
        share, names = self.attention(x).tanh().softmax(-1), self.name(x).sigmoid()
        clip = (share * names).sum(2)
        parts = names.transpose(1, 2)
        _, few, kinds = parts.shape
        parts = parts[:, :, None, :].repeat(1, 1, 8, 1).reshape(1, few * 8, kinds)
        return clip, torch.cat([parts, parts[:, -1:].repeat(1, frames - few * 8, 1)], 1)
