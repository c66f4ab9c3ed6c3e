"""The small nets of sequences and sound of that third trial; see lifting_small_models.py."""
import itertools
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from lifting_small_models import (
    LATER,
    attend,
    audio_of,
    features_of,
    heads_of,
    ids_of,
    joined,
    net,
)


def waves_of(size, window):
    """Kernels of a transform of frames: the real parts of all bins, then the imaginary ones."""
    angles = torch.arange(size // 2 + 1)[:, None] * torch.arange(size) * (2 * math.pi / size)
    return torch.cat([angles.cos() * window, -angles.sin() * window])


@net(LATER, ids_of)
class BigbirdBlocks(nn.Module):
    """Text padded to blocks of 2: the first and last block see all, the others themselves, their neighbours, both ends and one block from a plan."""

    def __init__(self):
        super().__init__()
        self.table, self.places = nn.Embedding(50, 16, padding_idx=0), nn.Embedding(256, 16)
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 12)

    @staticmethod
    def look(q, k, v, seen):
        return (q @ k.transpose(-1, -2) / math.sqrt(8) + (1.0 - seen) * -10000.0).softmax(-1) @ v

    @staticmethod
    def planned(x, plan):
        """Blocks of x (1, heads, blocks, 2, d) by their numbers (1, heads, rows, 1), from one flat list."""
        _, heads, blocks, size, d = x.shape
        shift = torch.arange(heads).repeat_interleave(plan.shape[2]) * blocks
        return x.reshape(heads * blocks, size, d).index_select(0, plan.view(-1) + shift).view(1, heads, -1, size, d)

    def forward(self, ids):
        n = int(ids.shape[1])
        lack = (2 - n % 2) % 2
        mask = torch.ones(1, n)
        if lack > 0:
            ids, mask = F.pad(ids, (0, lack), value=0), F.pad(mask, (0, lack), value=0.0)
        whole = n + lack
        blocks = whole // 2
        x = F.layer_norm(self.table(ids) + self.places(torch.arange(whole)), (16,))
        q, k, v = (heads_of(part, 2) for part in self.qkv(x).chunk(3, -1))
        qb, kb, vb = (part.reshape(1, 2, blocks, 2, 8) for part in (q, k, v))
        mb = mask.view(1, 1, blocks, 2)
        plan = torch.from_numpy(np.zeros((1, 2, blocks - 2, 1), np.int64))  # nothing random but in training
        kr, vr, mr = self.planned(kb, plan), self.planned(vb, plan), self.planned(mb.view(1, 1, blocks, 2, 1).expand(1, 2, -1, -1, -1), plan)[..., 0]
        first, last = (self.look(qb[:, :, i], k, v, mask[:, None, None]) for i in (0, -1))

        wide, many = mb.expand(1, 2, blocks, 2), blocks - 4

        def edge(i, parts, row):
            keys, values, seen = (torch.cat([a[:, :, j] for j in parts] + [r[:, :, row]], 2) for a, r in ((kb, kr), (vb, vr), (wide, mr)))
            return self.look(qb[:, :, i], keys, values, seen[:, :, None])[:, :, None]

        def around(a, r):
            ends = (a[:, :, i:i + 1].expand(1, 2, many, *a.shape[3:]) for i in (0, blocks - 1))
            return torch.cat([next(ends), a[:, :, 1:-3], a[:, :, 2:-2], a[:, :, 3:-1], r[:, :, 1:-1], next(ends)], 3)

        middle = self.look(qb[:, :, 2:-2], around(kb, kr), around(vb, vr), around(wide, mr)[:, :, :, None])
        y = torch.cat([first[:, :, None], edge(1, (0, 1, 2, -1), 0), middle, edge(-2, (0, -3, -2, -1), -1), last[:, :, None]], 2)
        return self.out(x + joined(y.view(1, 2, whole, 8)) * mask[..., None])[:, :n]


@net(LATER, ids_of)
class CanineMolecules(nn.Module):
    """Characters by eight hashes; strides of 4 into molecules, the last given up for the first character; each repeated, the last until all is filled."""

    def __init__(self):
        super().__init__()
        self.hashes, self.places = nn.ModuleList(nn.Embedding(16, 2) for _ in range(8)), nn.Embedding(256, 16)
        self.near, self.deep, self.far = nn.Linear(16, 48), nn.Linear(16, 48), nn.Linear(16, 48)
        self.press, self.project, self.out = nn.Conv1d(16, 16, 4, 4), nn.Conv1d(32, 16, 4), nn.Linear(16, 10)

    @staticmethod
    def layer(x, linear, bias=None):
        y = joined(attend(*(heads_of(part, 2) for part in linear(x).chunk(3, -1)), bias))
        return F.layer_norm(x + y, (16,))

    def forward(self, ids):
        n = ids.shape[1]
        x = torch.cat([table(((ids + 1) * prime) % 16) for table, prime in zip(self.hashes, (31, 43, 59, 61, 73, 97, 103, 113), strict=True)], -1)
        x = F.layer_norm(x + self.places(torch.arange(n).unsqueeze(0)), (16,))
        mask = (ids > 3).to(torch.float32)  # the first few are padding, say
        mask = torch.where(torch.arange(n) == 0, 1.0, mask)
        x = self.layer(x, self.near, (1.0 - mask[:, None, None]) * -10000.0)
        molecules = F.gelu(self.press(x.transpose(1, 2))).transpose(1, 2)
        molecules = F.layer_norm(torch.cat([x[:, 0:1], molecules[:, 0:-1]], 1), (16,))
        pooled = F.max_pool1d(mask[:, None], 4, 4)
        molecules = self.layer(molecules, self.deep, (1.0 - pooled[:, :, None]) * -10000.0)
        repeated = molecules[:, 1:].repeat_interleave(4, dim=1)
        rest = math.fmod(int(n), 4)
        last = molecules[:, -1:].repeat_interleave(int(rest) + 4, dim=1)
        y = torch.cat([x, torch.cat([repeated, last], -2)], -1).transpose(1, 2)
        pad = 4 - 1
        y = F.gelu(self.project(F.pad(y, (pad // 2, pad - pad // 2)))).transpose(1, 2)
        return self.out(self.layer(F.layer_norm(y, (16,)), self.far)), F.linear(molecules[:, 0], self.out.weight).tanh()


@net(LATER, ids_of)
class EnformerBasis(nn.Module):
    """Letters pooled in pairs by weights; distances as decays whose halves reach the whole length, steps and gamma densities; shifted; ends cropped."""

    def __init__(self):
        super().__init__()
        self.stem, self.pool = nn.Conv1d(4, 16, 15, padding=7), nn.Conv2d(16, 16, 1, bias=False)
        self.qkv, self.relative, self.o = nn.Linear(16, 48), nn.Linear(12, 16, bias=False), nn.Linear(16, 16)
        self.content_bias, self.place_bias, self.out = nn.Parameter(torch.randn(1, 2, 1, 8)), nn.Parameter(torch.randn(1, 2, 1, 8)), nn.Linear(16, 6)

    @staticmethod
    def places_of(n, features=12):
        distances = torch.arange(-n + 1, n)
        many = features // 6
        far = distances.abs().to(torch.float32)[:, None]
        half = 2 ** torch.linspace(3.0, math.log(n) / math.log(2.0), many)
        exponential = torch.exp(-math.log(2.0) / half[None] * far)
        widths = 2 ** torch.arange(1, many + 1).float() - 1
        central = (widths[None] > far).float()
        x, deviation, mean = np.abs(np.arange(-n + 1, n))[:, None].astype(np.float64), n / (2 * many), np.linspace(n / many, n, many)[None]
        shape, rate = (mean / deviation) ** 2, mean / deviation ** 2
        norm = np.array([[math.lgamma(a) for a in shape[0]]]) - shape * np.log(rate)
        density = np.exp(np.where(x > 0, (shape - 1) * np.log(np.maximum(x, 1)), -np.inf) - rate * x - norm) + 1e-8
        gamma = torch.from_numpy((density / density.max()).astype(np.float32))
        basis = torch.cat([exponential, central, gamma], -1)
        return torch.cat([basis, distances.sign()[:, None] * basis], -1)

    @staticmethod
    def shifted(x):
        x = torch.cat([torch.zeros_like(x[..., :1]), x], -1)
        _, h, t1, t2 = x.shape
        x = x.reshape(-1, h, t2, t1)[:, :, 1:, :].reshape(-1, h, t1, t2 - 1)
        return x[..., :((t2 + 1) // 2)]

    def forward(self, ids):
        x = self.stem(F.one_hot(ids % 4, 4).to(torch.float32).transpose(1, 2))
        n = int(x.shape[-1])
        rest = n % 2
        mask = torch.zeros(1, 1, n)
        if rest > 0:
            x, mask = F.pad(x, (0, rest), value=0), F.pad(mask, (0, rest), value=1.0)
        x = x.view(1, 16, (n + rest) // 2, 2)
        logits = self.pool(x).masked_fill(mask.view(1, 1, (n + rest) // 2, 2) > 0.5, -1e9)
        x = (x * logits.softmax(-1)).sum(-1).transpose(1, 2)
        few = int(x.shape[1])
        q, k, v = (heads_of(part, 2) for part in self.qkv(F.layer_norm(x, (16,))).chunk(3, -1))
        q, places = q * 8 ** -0.5, self.relative(self.places_of(few)).view(2 * few - 1, 2, 8).transpose(0, 1)
        scores = (q + self.content_bias) @ k.transpose(-1, -2) + self.shifted(torch.einsum("bhid,hjd->bhij", q + self.place_bias, places))
        x = x + self.o(joined(scores.softmax(-1) @ v))
        return F.softplus(self.out(x[:, 2:-2]))


def alignment_of(n):
    return dict(msa=np.random.default_rng(n).integers(0, 21, (1, 4, n)))


@net(LATER, alignment_of, "sequence")
class EvoformerPair(nn.Module):
    """Four aligned rows and all pairs of their columns: distances clipped at 8, rows biased by pairs, mean outer products, triangles of pairs."""

    def __init__(self):
        super().__init__()
        self.table, self.left, self.right, self.relative = nn.Embedding(22, 8), nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(17, 8)
        self.row, self.bias, self.column = nn.Linear(8, 24), nn.Linear(8, 2, bias=False), nn.Linear(8, 24)
        self.a, self.b, self.outer = nn.Linear(8, 4), nn.Linear(8, 4), nn.Linear(16, 8)
        self.ab, self.gate, self.end, self.distances, self.trust = nn.Linear(8, 16), nn.Linear(8, 24), nn.Linear(8, 8), nn.Linear(8, 6), nn.Linear(8, 5)

    def forward(self, msa):
        _, rows, n = msa.size()
        m = self.table(msa)[0]
        at = torch.arange(n)
        apart = (at[:, None] - at[None, :] + 8).clip(0, 16)
        first = m[0]
        pair = self.left(first)[:, None] + self.right(first)[None] + self.relative(F.one_hot(apart, 17).to(torch.float32))
        bias = self.bias(F.layer_norm(pair, (8,))).permute(2, 0, 1)[None]
        m = m + joined(attend(*(heads_of(part, 2) for part in self.row(F.layer_norm(m, (8,))).chunk(3, -1)), bias))
        columns = F.layer_norm(m, (8,)).transpose(0, 1)
        m = m + joined(attend(*(heads_of(part, 2) for part in self.column(columns).chunk(3, -1)))).transpose(0, 1)
        mask = torch.ones(rows, n, 1)
        y = F.layer_norm(m, (8,))
        a, b = mask * self.a(y), mask * self.b(y)
        outer = torch.einsum("sic,sjd->ijcd", a, b).reshape(n, n, 16)
        pair = pair + self.outer(outer) / (1e-3 + torch.einsum("sic,sjc->ijc", mask, mask))
        z = F.layer_norm(pair, (8,))
        gate_a, gate_b, gate = self.gate(z).sigmoid().chunk(3, -1)
        a, b = self.ab(z).chunk(2, -1)
        z = torch.einsum("ikc,jkc->ijc", a * gate_a, b * gate_b)
        pair = pair + gate * self.end(F.layer_norm(z, (8,)))
        logits = self.distances(pair)
        return logits + logits.transpose(0, 1), self.trust(F.layer_norm(m[0], (8,)))


def ids_and_memory(n):
    random = np.random.default_rng(n)
    return dict(ids=random.integers(1, 50, (1, n)), memory=random.standard_normal((n // 2 + 5, 1, 16), dtype=np.float32))


@net(LATER, ids_and_memory, "sequence")
class XlnetSegments(nn.Module):
    """Text after a memory, its last third another segment: content, clipped places both ways and segments in the scores; the last 16 states kept."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(50, 16)
        self.q, self.k, self.v, self.r, self.o = (nn.Parameter(torch.randn(16, 2, 8) / 4) for _ in range(5))
        self.bias, self.segments, self.out = nn.Parameter(torch.randn(3, 2, 8)), nn.Parameter(torch.randn(2, 2, 8)), nn.Linear(16, 50)

    @staticmethod
    def shifted(x, klen):
        size = x.shape
        x = x.reshape(size[0], size[1], size[3], size[2])[:, :, 1:, :]
        return x.reshape(size[0], size[1], size[2], size[3] - 1).index_select(3, torch.arange(klen))

    def forward(self, ids, memory):
        ids = ids.transpose(0, 1).contiguous()
        qlen, mlen = int(ids.shape[0]), int(memory.shape[0])
        klen = mlen + qlen
        types = (torch.arange(qlen) >= qlen - qlen // 3).to(torch.int64)
        both = torch.cat([torch.zeros(mlen, dtype=torch.int64), types])
        differs = F.one_hot((types[:, None] != both[None, :]).long(), 2).float()
        hidden = torch.zeros(qlen, klen)
        hidden[:, -1] = 1.0  # what is to be told is seen by nobody
        own = torch.cat([torch.zeros(qlen, mlen), -torch.eye(qlen)], -1)
        hidden = (hidden + own > 0).float()
        places = torch.arange(klen, -qlen, -1.0).clamp(-40, 40)
        angles = places[:, None] * (1 / 100.0 ** (torch.arange(0, 16, 2.0) / 16))[None]
        places = torch.cat([angles.sin(), angles.cos()], -1)
        h = self.table(ids)
        cat = torch.cat([memory, h], 0)
        q, k, v = torch.einsum("ibh,hnd->ibnd", h, self.q), torch.einsum("ibh,hnd->ibnd", cat, self.k), torch.einsum("ibh,hnd->ibnd", cat, self.v)
        r = torch.einsum("ih,hnd->ind", places, self.r)
        ac = torch.einsum("ibnd,jbnd->bnij", q + self.bias[0], k)
        bd = self.shifted(torch.einsum("ibnd,jnd->bnij", q + self.bias[1], r), klen)
        ef = torch.einsum("ijs,ibns->bnij", differs, torch.einsum("ibnd,snd->ibns", q + self.bias[2], self.segments))
        scores = (ac + bd + ef) * (1 / 8 ** 0.5) - 65500 * hidden
        y = torch.einsum("bnij,jbnd->ibnd", scores.softmax(-1), v)
        h = F.layer_norm(h + torch.einsum("ibnd,hnd->ibh", y, self.o), (16,))
        return self.out(h).permute(1, 0, 2), torch.cat([memory, h], 0)[-16:]


@net(LATER, ids_of)
class RwkvCirculant(nn.Module):
    """Half of the channels from one step before; a table of 192 steps tiled into a circulant, cut to the text; divided by running sums of keys."""

    def __init__(self):
        super().__init__()
        self.table, self.shift, self.kvr, self.o = nn.Embedding(50, 16), nn.ZeroPad2d((0, 0, 1, -1)), nn.Linear(16, 48), nn.Linear(16, 16)
        distance = torch.arange(191, -1, -1.0)[None]
        self.time_w = nn.Parameter(torch.exp(-distance * torch.tensor([[0.3], [0.05]])))
        self.alpha, self.beta, self.gamma = (nn.Parameter(0.5 + torch.rand(size)) for size in ((2, 1, 192), (2, 192, 1), (192, 1)))
        self.mix_k, self.mix_v, self.mix_r = nn.Linear(16, 32), nn.Linear(32, 16), nn.Linear(16, 16)

    def shifted(self, x):
        c = x.shape[-1]
        return torch.cat([self.shift(x[:, :, :c // 2]), x[:, :, c // 2:]], -1)

    def forward(self, ids):
        x = self.table(ids)
        b, t, c = x.size()
        whole = 192
        w = F.pad(self.time_w, (0, whole))
        w = torch.tile(w, [whole])
        w = w[:, :-whole].reshape(-1, whole, 2 * whole - 1)
        w = w[:, :, whole - 1:]
        w = w[:, :t, :t] * self.alpha[:, :, :t] * self.beta[:, :t, :]
        k, v, r = self.kvr(self.shifted(F.layer_norm(x, (16,)))).chunk(3, -1)
        k = torch.exp(torch.clamp(k, max=30, min=-60))
        sums = torch.cumsum(k, dim=1)
        kv = (k * v).view(b, t, 2, 8)
        wkv = torch.einsum("htu,buhc->bthc", w, kv).contiguous().view(b, t, -1)
        x = x + self.o(r.sigmoid() * wkv / sums) * self.gamma[:t, :]
        y = self.shifted(F.layer_norm(x, (16,)))
        x = x + self.mix_r(y).sigmoid() * self.mix_v(self.mix_k(y).relu().square())
        return F.layer_norm(x, (16,)) @ self.table.weight.transpose(0, 1)


@net(LATER, features_of)
class MegaEma(nn.Module):
    """Damped means of past and future as a kernel of the whole length; squares of what is positive over the length; a table of distances tiled to rows."""

    def __init__(self):
        super().__init__()
        self.delta, self.alpha = nn.Parameter(torch.randn(32, 2, 1)), nn.Parameter(torch.randn(32, 2, 1))
        self.beta, self.gamma, self.omega = nn.Parameter(torch.randn(32, 2, 1)), nn.Parameter(torch.randn(32, 2)), nn.Parameter(torch.randn(16))
        self.places, self.scale, self.shift = nn.Parameter(torch.randn(2 * 256 - 1) / 4), nn.Parameter(torch.randn(2, 8)), nn.Parameter(torch.randn(2, 8))
        self.v, self.mix, self.h, self.out = nn.Linear(16, 24), nn.Linear(16, 16 + 8 + 24 + 16), nn.Linear(24, 16), nn.Linear(16, 7)

    def averaged(self, x):
        length = int(x.shape[-1])
        p, alpha = self.delta.sigmoid(), self.alpha.sigmoid()
        steps = torch.arange(length).to(p).view(1, 1, length) * torch.log(1.0 - p * alpha)
        kernel = torch.einsum("dnl,dn->dl", p * self.beta * torch.exp(steps), self.gamma * math.sqrt(1 / 2))
        past, future = kernel.split(16, 0)
        both = F.pad(past, (length - 1, 0)) + F.pad(future.flip(-1), (0, length - 1))
        whole = 2 * (2 * length - 1)  # so long that nothing comes around
        bins = torch.arange(whole // 2 + 1)[:, None]
        angles = (bins * torch.arange(whole)) % whole * (2 * math.pi / whole)
        cos, sin = angles.cos(), angles.sin()
        (kr, ki), (xr, xi) = ((part @ cos[:, :2 * length - 1].T, -(part @ sin[:, :2 * length - 1].T)) for part in (both, F.pad(x, (length - 1, 0))))
        twice = torch.where(torch.logical_or(bins == 0, bins == whole // 2), 1.0, 2.0) / whole
        y = (xr * kr - xi * ki) @ (cos * twice) - (xr * ki + xi * kr) @ (sin * twice)
        start = 2 * length - 2
        return F.silu(y[..., start:start + length] + x * self.omega[:, None])

    def distances(self, n):
        b = self.places[256 - n:256 + n - 1]
        t = torch.tile(F.pad(b, (0, n)), (n,))
        t = t[:-n].view(n, 3 * n - 2)
        r = (2 * n - 1) // 2
        return t[:, r:t.size(1) - r]

    def forward(self, features):
        x = F.layer_norm(features, (16,))
        n = int(x.shape[1])
        v = F.silu(self.v(x))
        mx = self.averaged(x.transpose(1, 2)).transpose(1, 2)
        u, z, r, hx = self.mix(mx).split([16, 8, 24, 16], -1)
        u, z, r = u.sigmoid(), F.silu(z), F.silu(r)
        q, k = (z.unsqueeze(2) * self.scale + self.shift).unbind(2)
        scores = q @ k.transpose(1, 2) / n + self.distances(n)
        h = F.silu(hx + self.h(torch.square(F.relu(scores)) @ v * r))
        return self.out(torch.addcmul(features, u, h - features))


@net(LATER, features_of)
class LongnetDilated(nn.Module):
    """Segments of 8, and of 32 (or all) where each head keeps another of every two places; mixed by how much each has seen."""

    def __init__(self):
        super().__init__()
        self.qkv, self.norm, self.out = nn.Linear(16, 48), nn.LayerNorm(16), nn.Linear(16, 9)

    @staticmethod
    def gathered(x, segment, ratio):
        _, n, heads, d = x.shape
        if n % segment != 0:
            x = F.pad(x, (0, 0, 0, 0, 0, segment - n % segment))
        x = x.reshape(-1, segment, heads, d)
        if segment % ratio > 0:
            x = F.pad(x, (0, 0, 0, 0, 0, ratio - segment % ratio))
        x = x.reshape(x.shape[0], -1, ratio, ratio, heads // ratio, d)
        return torch.stack([x[:, :, i, i] for i in range(ratio)], 2).flatten(2, 3).transpose(1, 2)

    @staticmethod
    def scattered(x, n, segment, ratio, fill):
        parts, heads, _, d = x.shape
        x = x.transpose(1, 2).reshape(parts, -1, 1, ratio, heads // ratio, d)
        own = torch.eye(ratio).view(1, 1, ratio, ratio, 1, 1) > 0
        x = torch.where(own, x, torch.full((), fill)).reshape(parts, -1, heads, d)
        return x[:, :segment].reshape(1, -1, heads, d)[:, :n]

    def forward(self, features):
        n = int(features.shape[1])
        q, k, v = (part.view(1, n, 2, 8) for part in self.qkv(self.norm(features)).chunk(3, -1))
        found, seen = [], []
        for segment, ratio in ((8, 1), (32, 2)):
            segment = min(segment, n)
            a, b, c = (self.gathered(part, segment, ratio) for part in (q, k, v))
            scores = a @ b.transpose(-1, -2) / math.sqrt(8)
            found.append(self.scattered(scores.softmax(-1) @ c, n, segment, ratio, 0.0))
            seen.append(self.scattered(scores.logsumexp(-1, keepdim=True), n, segment, ratio, -1e8))
        share = torch.stack(seen).softmax(0)
        y = (torch.stack(found) * share).sum(0).reshape(1, n, 16)
        return self.out(features + F.layer_norm(y, (16,)))


@net(LATER, features_of)
class PyraformerScales(nn.Module):
    """A series, its fours and their pairs in one row; each sees its neighbours, its parts and what it is part of; every step takes all of its scales."""

    windows = (4, 2)

    def __init__(self):
        super().__init__()
        self.enter, self.down, self.up, self.norm = nn.Conv1d(16, 16, 3, padding=1, padding_mode="circular"), nn.Linear(16, 8), nn.Linear(8, 16), nn.LayerNorm(16)
        self.press = nn.ModuleList(nn.Conv1d(8, 8, w, w) for w in self.windows)
        self.batch, self.qkv, self.wide = nn.ModuleList(nn.BatchNorm1d(8) for _ in self.windows), nn.Linear(16, 48), nn.Linear(16, 16)
        self.out = nn.Linear(48, 5)

    def mask_of(self, n, inner=3):
        sizes = [n]
        for i, window in enumerate(self.windows):
            sizes.append(math.floor(sizes[i] / window))
        mask = np.zeros((sum(sizes), sum(sizes)), np.float32)
        for layer, size in enumerate(sizes):
            start = sum(sizes[:layer])
            for i in range(start, start + size):
                mask[i, max(i - inner // 2, start):min(i + inner // 2 + 1, start + size)] = 1
        for layer in range(1, len(sizes)):
            start, window = sum(sizes[:layer]), self.windows[layer - 1]
            for i in range(start, start + sizes[layer]):
                left = start - sizes[layer - 1] + (i - start) * window
                right = start if i == start + sizes[layer] - 1 else left + window
                mask[i, left:right] = mask[left:right, i] = 1
        return sizes, torch.from_numpy(mask == 0)

    def scales_of(self, sizes):
        index = np.zeros((sizes[0], len(sizes)), np.int64)
        for i in range(sizes[0]):
            index[i, 0] = former = i
            for j in range(1, len(sizes)):
                start = sum(sizes[:j])
                former = start + min((former - (start - sizes[j - 1])) // self.windows[j - 1], sizes[j] - 1)
                index[i, j] = former
        return torch.from_numpy(index)

    def forward(self, features):
        n = int(features.shape[1])
        sizes, hidden = self.mask_of(n)
        x = self.enter(features.transpose(1, 2)).transpose(1, 2)
        y, scales = self.down(x).transpose(1, 2), []
        for press, batch in zip(self.press, self.batch, strict=True):
            y = F.elu(batch(press(y)))
            scales.append(y)
        x = self.norm(torch.cat([x, self.up(torch.cat(scales, 2).transpose(1, 2))], 1))
        q, k, v = (heads_of(part, 2) for part in self.qkv(x).chunk(3, -1))
        scores = (q / 8 ** 0.5 @ k.transpose(2, 3)).masked_fill(hidden, -1e9)
        x = F.layer_norm(x + joined(scores.softmax(-1) @ v), (16,))
        x = x + F.gelu(self.wide(x))
        index = self.scales_of(sizes)[None, :, :, None].repeat(1, 1, 1, 16).view(1, -1, 16)
        return self.out(torch.gather(x, 1, index).view(1, n, -1))


@net(LATER, features_of)
class FedformerModes(nn.Module):
    """The lowest eight waves weighted one by one; half of the series and 12 steps to come, with zeros and the mean; waves that look at waves."""

    def __init__(self):
        super().__init__()
        self.enter, self.leave, self.trend, self.share = nn.Linear(16, 16), nn.Linear(16, 4), nn.Linear(16, 4), nn.Linear(1, 2)
        self.weights = nn.ParameterList([nn.Parameter(torch.randn(2, 2, 8, 8, 8) / 4) for _ in range(3)])

    @staticmethod
    def times(form, a, b):
        """A sum of products of complex numbers."""
        (ar, ai), (br, bi) = a, b
        return torch.einsum(form, ar, br) - torch.einsum(form, ai, bi), torch.einsum(form, ar, bi) + torch.einsum(form, ai, br)

    @staticmethod
    def spectrum(x):
        """The lowest of the n // 2 + 1 waves of (1, n, 16), by heads."""
        n = int(x.shape[1])
        angles = torch.arange(n)[:, None] * torch.tensor(list(range(n // 2))[:8]) * (2 * math.pi / n)
        x = x.view(1, n, 2, 8).permute(0, 2, 3, 1)
        return x @ angles.cos(), -(x @ angles.sin())

    def back(self, waves, i, n, scale=1):
        """The waves weighted, and the series of n steps that they and no others make."""
        few = int(waves[0].shape[-1])
        waves = self.times("bhix,hiox->bhox", waves, self.weights[i][..., :few])
        real, imaginary = (F.pad(part, (0, n // 2 + 1 - few)) / scale for part in waves)
        angles = torch.arange(n // 2 + 1)[:, None] * torch.arange(n) * (2 * math.pi / n)
        twice = torch.tensor([1.0] + [2.0] * ((n - 1) // 2) + [1.0] * (1 - n % 2)) / n
        return ((real * twice) @ angles.cos() - (imaginary * twice) @ angles.sin()).permute(0, 3, 1, 2).reshape(1, n, 16)

    def apart(self, x):
        means = []
        for kernel in (5, 10):
            half = math.floor((kernel - 1) // 2)
            y = torch.cat([x[:, 0:1].repeat(1, kernel - 1 - half, 1), x, x[:, -1:].repeat(1, half, 1)], 1)
            means.append(F.avg_pool1d(y.permute(0, 2, 1), kernel, 1).permute(0, 2, 1))
        mean = (torch.stack(means, -1) * self.share(x.unsqueeze(-1)).softmax(-1)).sum(-1)
        return x - mean, mean

    def forward(self, features):
        n = int(features.shape[1])
        label = n // 2
        season, trend = self.apart(features)
        trend = torch.cat([trend[:, -label:], features.mean(1, keepdim=True).repeat(1, 12, 1)], 1)
        y, x = self.enter(features), self.enter(F.pad(season[:, -label:], (0, 0, 0, 12)))
        y, _ = self.apart(y + self.back(self.spectrum(y), 0, n))
        x, more = self.apart(x + self.back(self.spectrum(x), 1, label + 12))
        q, k = self.spectrum(x), self.spectrum(y)
        real, imaginary = self.times("bhex,bhey->bhxy", q, k)
        scores = (real.square() + imaginary.square() + 1e-9).sqrt().softmax(-1).transpose(-1, -2)
        y = self.back((k[0] @ scores, k[1] @ scores), 2, label + 12, 16)
        return (self.leave(x + y) + self.trend(trend + more))[:, -12:], self.leave(x)[:, :label]


def features_and_lengths(n):
    return dict(features=np.random.default_rng(n).standard_normal((1, n, 16), dtype=np.float32), lengths=np.array([n - n // 4]))


@net(LATER, features_and_lengths, "sequence")
class FastconformerContext(nn.Module):
    """An eighth as many frames by maps padded for the past, masked at each; chunks of 2 that see three before; distances read from a table's middle."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Conv2d(1, 8, 3, 2), nn.Conv2d(8, 8, 3, 2, groups=8), nn.Conv2d(8, 8, 3, 2, groups=8)])
        self.points, self.enter = nn.ModuleList(nn.Conv2d(8, 8, 1) for _ in range(2)), nn.Linear(24, 16)
        places = torch.arange(63, -64, -1.0)[:, None] * torch.exp(torch.arange(0, 16, 2.0) * -(math.log(100.0) / 16))
        self.register_buffer("table", torch.stack([places.sin(), places.cos()], -1).flatten(1)[None])
        self.qkv, self.place, self.bias, self.o = nn.Linear(16, 48), nn.Linear(16, 16, bias=False), nn.Parameter(torch.randn(2, 2, 1, 8)), nn.Linear(16, 16)
        self.gate, self.depth, self.batch, self.out = nn.Conv1d(16, 32, 1), nn.Conv1d(16, 16, 5, groups=16), nn.BatchNorm1d(16), nn.Linear(16, 11)

    @staticmethod
    def masked(x, lengths):
        return x * (torch.arange(x.size(2)) < lengths[:, None])[:, None, :, None].to(x.dtype)

    def forward(self, features, lengths):
        x = features.unsqueeze(1)
        for i, layer in enumerate(self.layers):
            x = layer(F.pad(self.masked(x, lengths), (2, 1, 2, 1)))
            lengths = torch.floor((lengths.to(torch.float32) + (3 - 3)) / 2 + 1.0).to(torch.int64)
            x = F.relu(self.points[i - 1](x) if i > 0 else x)
        b, c, n, f = x.size()
        x = self.enter(self.masked(x, lengths).transpose(1, 2).reshape(b, n, c * f)) * 4
        center = self.table.size(1) // 2 + 1
        places = self.place(self.table[:, center - n:center + n - 1]).view(1, -1, 2, 8).transpose(1, 2)
        valid = torch.arange(n)[None] < lengths[:, None]
        chunk = torch.div(torch.arange(n), 2, rounding_mode="trunc")
        apart = chunk[:, None] - chunk[None, :]
        seen = torch.logical_and(torch.logical_and(apart <= 3, apart >= 0), valid[:, None, :] & valid[:, :, None])[:, None]
        q, k, v = (heads_of(part, 2) for part in self.qkv(F.layer_norm(x, (16,))).chunk(3, -1))
        bd = (q + self.bias[1]) @ places.transpose(-2, -1)
        bd = F.pad(bd, (1, 0)).view(1, 2, -1, n)[:, :, 1:].view(1, 2, n, 2 * n - 1)[:, :, :, :n]
        scores = ((q + self.bias[0]) @ k.transpose(-2, -1) + bd) / math.sqrt(8)
        share = scores.masked_fill(~seen, -10000.0).softmax(-1).masked_fill(~seen, 0.0)
        x = x + self.o(joined(share @ v))
        y = F.glu(self.gate(F.layer_norm(x, (16,)).transpose(1, 2)), 1).masked_fill(~valid[:, None], 0.0)
        x = x + F.silu(self.batch(self.depth(F.pad(y, (4, 0))))).transpose(1, 2)
        return self.out(x).log_softmax(-1), lengths


@net(LATER, ids_of)
class NatUniform(nn.Module):
    """A quarter more places than words, each a copy of the word at its rounded share; they see the words, and weigh the links to all later places."""

    def __init__(self):
        super().__init__()
        self.table, self.places = nn.Embedding(50, 16, padding_idx=0), nn.Embedding(320, 16, padding_idx=0)
        self.encode, self.decode = nn.Linear(16, 48), nn.Linear(16, 48)
        self.q, self.kv, self.links, self.share = nn.Linear(16, 16), nn.Linear(16, 32), nn.Linear(32, 32), nn.Linear(16, 2)

    @staticmethod
    def placed(ids):
        mask = ids.ne(0).int()
        return (torch.cumsum(mask, dim=1).type_as(mask) * mask).long()

    @staticmethod
    def uniform(source, target):
        steps = (torch.tensor([source]).float() - 1) / (torch.tensor([target]).float() - 1)
        index = torch.arange(target).float()
        return torch.round(steps[:, None] * index[None, :]).long()

    def forward(self, ids):
        source = int(ids.shape[1])
        x = self.table(ids) * 4 + self.places(self.placed(ids))
        x = F.layer_norm(x + joined(attend(*(heads_of(part, 2) for part in self.encode(x).chunk(3, -1)))), (16,))
        target = int(source * 1.25)
        index = self.uniform(source, target)
        tokens = torch.full((1, target), 3, dtype=torch.int64)
        tokens[:, 0], tokens[:, -1] = 1, 2
        places = self.places(self.placed(tokens))
        y = x.gather(1, index.unsqueeze(-1).expand(1, target, 16)) + self.table(tokens) + places
        y = F.layer_norm(y + joined(attend(*(heads_of(part, 2) for part in self.decode(y).chunk(3, -1)))), (16,))
        k, v = (heads_of(part, 2) for part in self.kv(x).chunk(2, -1))
        y = F.layer_norm(y + joined(attend(heads_of(self.q(y), 2), k, v)), (16,))
        a, b = (heads_of(part, 2) for part in self.links(torch.cat([y, places], -1)).chunk(2, -1))
        later = torch.ones(target, target, dtype=torch.bool).triu(1)
        links = (a @ b.transpose(-1, -2) / math.sqrt(8)).masked_fill(~later, -1e4).softmax(-1)
        links = (links * later.sum(-1, keepdim=True).ne(0) * self.share(y).softmax(-1).transpose(1, 2).unsqueeze(-1)).sum(1)
        return (y @ self.table.weight.transpose(0, 1)).log_softmax(-1), links


@net(LATER, ids_of)
class MatchaPath(nn.Module):
    """Each letter as long as its turn of three says, along a path of running sums; frames padded to fours, halved twice under masks, doubled and cut."""

    def __init__(self):
        super().__init__()
        self.table, self.before, self.mean = nn.Embedding(50, 16), nn.Conv1d(16, 16, 5, padding=2), nn.Conv1d(16, 8, 1)
        self.blocks = nn.ModuleList(nn.Conv1d(a, b, 3, padding=1) for a, b in ((8, 12), (12, 16), (16, 16), (32, 12), (24, 12)))
        self.norms = nn.ModuleList(nn.GroupNorm(4, c) for c in (12, 16, 16, 12, 12))
        self.downs = nn.ModuleList(nn.Conv1d(c, c, 3, 2, 1) for c in (12, 16))
        self.ups, self.final = nn.ModuleList(nn.ConvTranspose1d(c, c, 4, 2, 1) for c in (16, 12)), nn.Conv1d(12, 8, 1)

    @staticmethod
    def lengths_mask(lengths, most):
        return torch.arange(most)[None, :] < lengths.unsqueeze(1)

    def block(self, i, x, mask):
        return F.mish(self.norms[i](self.blocks[i](x * mask))) * mask

    def forward(self, ids):
        n = int(ids.shape[1])
        x = self.table(ids).transpose(1, 2) * 4
        mean = self.mean(x + self.before(x).relu())
        durations = torch.tensor([1.3, 0.8, 2.4]).repeat(math.ceil(n / 3))[:n]
        durations = torch.ceil(durations * 1.0)
        length = int(durations.sum())
        whole = int(math.ceil(length / 2 ** 2) * 2 ** 2)
        mask = self.lengths_mask(torch.tensor([length]), whole).float()[:, None]
        path = self.lengths_mask(torch.cumsum(durations, 0), whole).float()
        path = path - F.pad(path, (0, 0, 1, 0))[:-1]
        mu = torch.matmul((path[None] * mask).transpose(1, 2), mean.transpose(1, 2)).transpose(1, 2)
        half, quarter = mask[:, :, ::2], mask[:, :, ::2][:, :, ::2]
        a = self.block(0, mu, mask)
        b = self.block(1, self.downs[0](a * mask), half)
        x = self.block(2, self.downs[1](b * half), quarter)
        x = self.ups[0](x * quarter)
        x = self.block(3, torch.cat([x, b], 1), half)
        x = self.ups[1](x * half)
        x = self.block(4, torch.cat([x, a], 1), mask)
        return (self.final(x * mask) * mask)[:, :, :length], path[:, :length].sum(-1)


@net(LATER, audio_of)
class CampplusKaldi(nn.Module):
    """Frames around their middles with mirrored ends, logarithms of bands less their mean; gates told by all time and by segments of 12, the last shorter."""

    def __init__(self):
        super().__init__()
        window = torch.hann_window(50, periodic=False).pow(0.85)
        self.register_buffer("window", window)
        self.register_buffer("waves", waves_of(64, torch.ones(64)))

        def mel(hz):
            return 1127.0 * np.log(1.0 + hz / 700.0)
        low, high = mel(20.0), mel(1000.0)
        delta = (high - low) / 17
        left = low + np.arange(16)[:, None] * delta
        at = mel(2000 / 64 * np.arange(32))[None]
        bank = np.maximum(0, np.minimum((at - left) / delta, (left + 2 * delta - at) / delta))
        self.register_buffer("bank", torch.from_numpy(np.pad(bank, ((0, 0), (0, 1))).astype(np.float32)))
        self.map, self.enter = nn.Conv2d(1, 4, 3, (2, 1), 1), nn.Conv1d(32, 16, 5, 2, 2)
        self.local, self.a, self.b = nn.Conv1d(16, 16, 3, padding=2, dilation=2), nn.Conv1d(16, 8, 1), nn.Conv1d(8, 16, 1)
        self.out = nn.Linear(32, 12)

    @staticmethod
    def segments(x, length=12):
        part = F.avg_pool1d(x, kernel_size=length, stride=length, ceil_mode=True)
        shape = part.shape
        return part.unsqueeze(-1).expand(shape[0], shape[1], shape[2], length).reshape(shape[0], shape[1], -1)[..., :x.shape[-1]]

    def forward(self, audio):
        wave = audio[0, 0] * 32
        n = int(wave.shape[0])
        frames = (n + 20 // 2) // 20
        pad = 50 // 2 - 20 // 2
        mirrored = wave.flip(0)
        wave = torch.cat([mirrored[-pad:], wave, mirrored], 0)
        x = wave[torch.arange(frames)[:, None] * 20 + torch.arange(50)]
        x = x - x.mean(1, keepdim=True)
        before = F.pad(x.unsqueeze(0), (1, 0), mode="replicate").squeeze(0)
        x = F.pad((x - 0.97 * before[:, :-1]) * self.window, (0, 64 - 50))
        real, imaginary = (x @ self.waves.transpose(0, 1)).chunk(2, -1)
        x = ((real.square() + imaginary.square()) @ self.bank.transpose(0, 1)).clamp(min=1.1920928955078125e-07).log()
        x = x - x.mean(0, keepdim=True)
        x = self.map(x.transpose(0, 1)[None, None]).relu()
        x = self.enter(x.reshape(1, x.shape[1] * x.shape[2], x.shape[3]))
        y = self.local(x)
        context = x.mean(-1, keepdim=True) + self.segments(x)
        x = x + y * self.b(self.a(context).relu()).sigmoid()
        return self.out(torch.cat([x.mean(-1), x.std(-1, unbiased=True)], -1)), x


@net(LATER, audio_of)
class SudormrfScales(nn.Module):
    """A wave filled with zeros to what a stride of 10 and four levels share; halved in a row, doubled and added in turn; two masks, and cut."""

    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Conv1d(1, 12, 21, 10, 10, bias=False), nn.ConvTranspose1d(24, 2, 21, 10, 10, output_padding=9, groups=1, bias=False)
        self.enter, self.norm, self.wide = nn.Conv1d(12, 8, 1), nn.GroupNorm(1, 12), nn.Conv1d(8, 16, 1)
        self.spread = nn.ModuleList(nn.Conv1d(16, 16, 5, 1 if i == 0 else 2, 2, groups=16) for i in range(4))
        self.norms, self.slopes = nn.ModuleList(nn.GroupNorm(1, 16) for _ in range(5)), nn.ModuleList(nn.PReLU() for _ in range(3))
        self.narrow, self.mask = nn.Conv1d(16, 8, 1), nn.Conv1d(8, 24, 1)

    @staticmethod
    def filled(x, step=10, depth=4):
        shared = abs(step * 2 ** depth) // math.gcd(step, 2 ** depth)
        over = int(x.shape[-1]) % shared
        if over:
            whole = torch.zeros(x.shape[0], x.shape[1], int(x.shape[-1]) + shared - over)
            whole[..., :x.shape[-1]] = x
            return whole
        return x

    def forward(self, audio):
        mean, deviation = audio.mean(-1, keepdim=True), audio.std(-1, keepdim=True)
        x = self.filled((audio - mean) / (deviation + 1e-9))
        code = self.encode(x).relu()
        x = self.enter(self.norm(code))
        y = self.slopes[0](self.norms[0](self.wide(x)))
        levels = [self.norms[1](self.spread[0](y))]
        for i in range(1, 4):
            levels.append(self.norms[i + 1](self.spread[i](levels[-1])))
        for _ in range(3):
            top = F.interpolate(levels.pop(-1), scale_factor=2, mode="nearest")
            levels[-1] = levels[-1] + top
        x = x + self.narrow(self.slopes[1](levels[-1]))
        masks = self.mask(self.slopes[2](x)).view(1, 2, 12, -1).relu()
        y = self.decode((masks * code.unsqueeze(1)).view(1, 24, -1))
        return y[..., :audio.shape[-1]] * deviation + mean


@net(LATER, audio_of)
class DenoiserValid(nn.Module):
    """A wave padded to what strided layers give back whole, doubled by a sinc between its samples; skips cut to what came up; every second sample again."""

    def __init__(self):
        super().__init__()
        widths = (1, 6, 10, 14)
        self.encoder = nn.ModuleList(nn.Sequential(nn.Conv1d(a, b, 8, 4), nn.ReLU(), nn.Conv1d(b, 2 * b, 1), nn.GLU(1)) for a, b in itertools.pairwise(widths))
        self.decoder = nn.ModuleList(nn.Sequential(nn.Conv1d(b, 2 * b, 1), nn.GLU(1), nn.ConvTranspose1d(b, a, 8, 4))
                                     for a, b in reversed(list(itertools.pairwise(widths))))
        self.lstm = nn.LSTM(14, 14)
        window = torch.hann_window(4 * 8 + 1, periodic=False)[1::2]
        t = torch.linspace(-8 + 0.5, 8 - 0.5, 2 * 8) * math.pi
        self.register_buffer("kernel", (t.sin() / t * window).view(1, 1, -1))

    @staticmethod
    def valid(length, resample=2):
        length = math.ceil(length * resample)
        for _ in range(3):
            length = math.ceil((length - 8) / 4) + 1
            length = max(length, 1)
        for _ in range(3):
            length = (length - 1) * 4 + 8
        return math.ceil(length / resample)

    def doubled(self, x):
        *other, time = x.shape
        between = F.conv1d(x.view(-1, 1, time), self.kernel, padding=8)[..., 1:].view(*other, time)
        return torch.stack([x, between], -1).view(*other, -1)

    def halved(self, x):
        if int(x.shape[-1]) % 2 != 0:
            x = F.pad(x, (0, 1))
        even, odd = x[..., ::2], x[..., 1::2]
        *other, time = odd.shape
        return (even + F.conv1d(odd.reshape(-1, 1, time), self.kernel, padding=8)[..., :-1].view(*other, time)) * 0.5

    def forward(self, audio):
        deviation = audio.mean(1, keepdim=True).std(-1, keepdim=True)
        x = audio / (1e-3 + deviation)
        length = int(x.shape[-1])
        x = self.doubled(F.pad(x, (0, self.valid(length) - length)))
        skips = []
        for layer in self.encoder:
            x = layer(x)
            skips.append(x)
        x = self.lstm(x.permute(2, 0, 1))[0].permute(1, 2, 0)
        for i, layer in enumerate(self.decoder):
            skip = skips.pop(-1)
            x = layer(x + skip[..., :x.shape[-1]])
            x = x.relu() if i < 2 else x
        return deviation * self.halved(x)[..., :length]


@net(LATER, audio_of)
class ResampleRatio(nn.Module):
    """147 samples of every 160 by windowed sincs, as many as the ratio rounded up; a residual at that rate, resampled to what came, and its excess cut."""

    def __init__(self):
        super().__init__()
        self.register_buffer("down", self.sincs(160, 147))
        self.register_buffer("up", self.sincs(147, 160))
        self.layers = nn.ModuleList(nn.Conv1d(a, b, 5, padding=2 * d, dilation=d) for a, b, d in ((1, 8, 1), (8, 8, 3), (8, 1, 1)))
        self.level = nn.Conv1d(8, 4, 20, 10)

    @staticmethod
    def width(old, new):
        return math.ceil(6 * old / (min(old, new) * 0.99))

    @classmethod
    def sincs(cls, old, new):
        base, width = min(old, new) * 0.99, cls.width(old, new)
        t = torch.arange(0, -new, -1, dtype=torch.float64)[:, None, None] / new + torch.arange(-width, width + old, dtype=torch.float64)[None, None] / old
        t = (t * base).clamp(-6, 6)
        window = torch.cos(t * math.pi / 6 / 2) ** 2
        t = t * math.pi
        return (torch.where(t == 0, torch.ones_like(t), t.sin() / t) * window * base / old).float()

    def resampled(self, x, old, new, kernel):
        n, width = int(x.shape[-1]), self.width(old, new)
        x = F.conv1d(F.pad(x, (width, width + old)), kernel, stride=old)
        x = x.transpose(1, 2).reshape(1, 1, -1)
        return x[..., :math.ceil(new * n / old)]

    def forward(self, audio):
        n = int(audio.shape[-1])
        x = self.resampled(audio, 160, 147, self.down)
        y = F.leaky_relu(self.layers[0](x), 0.2)
        y = y + F.leaky_relu(self.layers[1](y), 0.2)
        level = self.level(y)
        x = x + self.layers[2](y).tanh()
        x = self.resampled(x, 147, 160, self.up)
        return x[..., :n] - audio, level.square().mean(-1) * (int(level.shape[-1]) / n), level


@net(LATER, audio_of)
class BasicpitchWindows(nn.Module):
    """Windows of 512 that overlap by six frames, harmonics stacked by shifted bins; three frames cut at both ends, and as many kept as 62 a second make."""

    def __init__(self):
        super().__init__()
        hertz = 40.0 * 2.0 ** (torch.arange(36) / 12)
        angles = hertz[:, None] * (torch.arange(64) - 32)[None] * (2 * math.pi / 1000)
        window = torch.hann_window(64) / 16
        self.register_buffer("waves", torch.cat([angles.cos() * window, angles.sin() * window])[:, None])
        self.batch, self.contour, self.note = nn.BatchNorm2d(1), nn.Conv2d(4, 6, (5, 3), padding=(2, 1)), nn.Conv2d(6, 1, 3, (1, 3), 1)
        self.onset, self.both = nn.Conv2d(4, 6, 3, (1, 3), 1), nn.Conv2d(7, 1, 3, padding=1)

    @staticmethod
    def stacked(x, many=24):
        found = []
        for harmonic in (0.5, 1, 2, 3):
            shift = round(12.0 * math.log2(harmonic))
            if shift == 0:
                y = x
            elif shift > 0:
                y = F.pad(x[..., shift:], (0, shift))
            else:
                y = F.pad(x[..., :shift], (-shift, 0))
            found.append(y)
        return torch.cat(found, 1)[..., :many]

    def unwrapped(self, x, samples):
        half = int(0.5 * 6)
        x = x[:, half:-half, :]
        frames = int(np.floor(samples * (62 / 1000)))
        return x.reshape(x.shape[0] * x.shape[1], x.shape[2])[:frames]

    def forward(self, audio):
        samples = int(audio.shape[-1])
        overlap, whole = 6 * 16, 512
        hop = whole - overlap
        padded = samples + overlap // 2
        many = len(range(0, padded, hop))
        wave = F.pad(audio[0, 0], (overlap // 2, (many - 1) * hop + whole - padded))
        x = wave[(np.arange(many)[:, None] * hop + np.arange(whole)[None])]
        x = F.conv1d(F.pad(x[:, None], (32, 32), mode="reflect"), self.waves, stride=16)[..., :32]
        real, imaginary = x.chunk(2, 1)
        x = 10 * torch.log10(real.square() + imaginary.square() + 1e-6).transpose(1, 2)
        least = x.amin((1, 2), keepdim=True)
        x = x - least
        x = self.batch((x / (x.amax((1, 2), keepdim=True) + 1e-6))[:, None])
        x = self.stacked(x)
        contour = self.contour(x).relu()
        note = self.note(contour).sigmoid()
        onset = self.both(torch.cat([note, self.onset(x).relu()], 1)).sigmoid()
        return self.unwrapped(note[:, 0], samples), self.unwrapped(onset[:, 0], samples)


@net(LATER, audio_of)
class DfnetFilter(nn.Module):
    """Frames with two to come; gains of bands as wide as hearing, and for the lowest bins five complex taps over frames; added up, its delay cut."""

    def __init__(self):
        super().__init__()
        window = torch.sin(math.pi / 2 * torch.sin(math.pi * (torch.arange(32) + 0.5) / 32) ** 2)
        self.register_buffer("waves", waves_of(32, window)[:, None])
        twice = torch.where(torch.arange(17) % 16 == 0, 1.0, 2.0)[:, None] / 32
        self.register_buffer("back", (waves_of(32, window) * twice.repeat(2, 1))[:, None])
        widths = (1, 1, 1, 2, 2, 3, 3, 4)
        bank = torch.repeat_interleave(torch.eye(8), torch.tensor(widths), 0)
        self.register_buffer("bank", bank)
        self.a, self.b, self.c = nn.Conv2d(1, 6, 3, padding=(0, 1)), nn.Conv2d(6, 6, (1, 3), (1, 2), (0, 1)), nn.Conv2d(2, 6, 3, padding=(0, 1))
        self.gru, self.enter, self.gains, self.taps = nn.GRU(24, 16, batch_first=True), nn.Linear(24 + 36, 24), nn.Linear(16, 8), nn.Linear(16, 6 * 5 * 2)

    def forward(self, audio):
        n = int(audio.shape[-1])
        x = F.pad(audio, (0, 32))
        frames = int(x.shape[-1]) // 16
        x = F.conv1d(F.pad(x, (16, 0))[..., :frames * 16 + 16], self.waves, stride=16).transpose(1, 2)
        real, imaginary = x.chunk(2, -1)
        power = (real.square() + imaginary.square()) @ (self.bank / self.bank.sum(0))
        bands = torch.log10(power + 1e-6)
        bands = (bands - bands.mean(1, keepdim=True))[:, None]
        low = torch.stack([real[..., :6], imaginary[..., :6]], 1)
        ahead = nn.ConstantPad2d((0, 0, -2, 2), 0.0)
        past = nn.ConstantPad2d((0, 0, 2, 0), 0.0)
        y = self.b(self.a(past(ahead(bands))).relu()).relu()
        z = self.c(past(ahead(low))).relu()
        many = int(y.shape[2])
        both = torch.cat([y.permute(0, 2, 3, 1).reshape(1, many, 24), z.permute(0, 2, 3, 1).reshape(1, many, 36)], -1)
        state, _ = self.gru(self.enter(both).relu())
        gains = self.gains(state).sigmoid() @ self.bank.transpose(0, 1)
        taps = self.taps(state).tanh().view(1, many, 5, 6, 2)
        spectrum = torch.stack([real, imaginary], -1)
        padded = F.pad(spectrum[..., :6, :], (0, 0, 0, 0, 5 - 2 - 1, 2))
        order = torch.stack([padded[:, i:many + i] for i in range(5)], 2)
        re = (order[..., 0] * taps[..., 0] - order[..., 1] * taps[..., 1]).sum(2)
        im = (order[..., 1] * taps[..., 0] + order[..., 0] * taps[..., 1]).sum(2)
        gained = spectrum * gains.unsqueeze(-1)
        whole = torch.cat([torch.stack([re, im], -1), gained[..., 6:, :]], 2)
        y = F.conv_transpose1d(torch.cat([whole[..., 0], whole[..., 1]], -1).transpose(1, 2), self.back, stride=16)
        delay = 32 - 16
        return y[..., delay:n + delay], gains


@net(LATER, audio_of)
class HtsatFold(nn.Module):
    """Bands of frames stretched to 128 steps, four quarters of time under each other as a square; its parts unfolded in time and brought to the frames."""

    def __init__(self):
        super().__init__()
        self.register_buffer("waves", waves_of(64, torch.hann_window(64) / 8)[:, None])
        self.bank, self.batch = nn.Parameter(torch.rand(33, 8)), nn.BatchNorm2d(8)
        self.patch, self.qkv, self.merge = nn.Conv2d(1, 12, 4, 4), nn.Linear(12, 36), nn.Linear(48, 16)
        self.second, self.name = nn.Linear(16, 48), nn.Conv2d(16, 5, (1, 3), padding=(0, 1))

    @staticmethod
    def square(x, size=32, ratio=4):
        b, c, t, f = x.shape
        steps, bands = int(size * ratio), size // ratio
        assert t <= steps and f <= bands
        if t < steps:
            x = F.interpolate(x, (steps, f), mode="bicubic", align_corners=True)
        x = x.permute(0, 1, 3, 2).contiguous()
        x = x.reshape(b, c, bands, ratio, steps // ratio).permute(0, 1, 3, 2, 4).contiguous()
        return x.reshape(b, c, bands * ratio, steps // ratio)

    def forward(self, audio):
        x = F.conv1d(F.pad(audio, (32, 32), mode="reflect"), self.waves, stride=32)
        real, imaginary = x.chunk(2, 1)
        x = 10.0 * ((real.square() + imaginary.square()).transpose(1, 2) @ self.bank.abs()).clamp(min=1e-10).log10()
        frames = int(x.shape[1])
        x = self.batch(x[:, None].transpose(1, 3)).transpose(1, 3)
        x = self.patch(self.square(x)).flatten(2).transpose(1, 2)
        windows = x.view(1, 2, 4, 2, 4, 12).permute(0, 1, 3, 2, 4, 5).reshape(4, 16, 12)
        windows = joined(attend(*(heads_of(part, 2) for part in self.qkv(F.layer_norm(windows, (12,))).chunk(3, -1))))
        x = x + windows.view(1, 2, 2, 4, 4, 12).permute(0, 1, 3, 2, 4, 5).reshape(1, 64, 12)
        x = x.view(1, 8, 8, 12)
        x = torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], -1).view(1, 16, 48)
        x = self.merge(F.layer_norm(x, (48,)))
        x = x + joined(attend(*(heads_of(part, 2) for part in self.second(F.layer_norm(x, (16,))).chunk(3, -1))))
        x = x.permute(0, 2, 1).reshape(1, 16, 4, 4)
        few = 4 // 4
        x = x.reshape(1, 16, 4 // few, few, 4).permute(0, 1, 3, 2, 4).contiguous().reshape(1, 16, few, -1)
        parts = self.name(x).flatten(2)
        clip = parts.mean(-1).sigmoid()
        steps = parts.sigmoid().permute(0, 2, 1)
        steps = steps[:, :, None, :].repeat(1, 1, 8, 1).reshape(1, -1, 5)
        return clip, F.interpolate(steps.transpose(1, 2), size=frames, mode="linear", align_corners=False).transpose(1, 2)
