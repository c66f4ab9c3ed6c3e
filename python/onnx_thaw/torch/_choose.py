"""Sizes to export at, and sizes to compare at. Needs no torch.

What all traces share tells nothing about the rest: a batch equal to a height, three heights that are even, a width that grows with the
height. So no number comes twice, quotients by the step are mixed (odd and prime, and even in another trace for each size), and no size
is a line of another.
"""
from __future__ import annotations

import bisect
import itertools
import math
import random
from collections.abc import Callable, Iterable, Sequence

from onnx_thaw._errors import InvalidArgument
from onnx_thaw.torch._sizes import Point, Ranges, is_prime

_MOST_CANDIDATES = 48    # values of one size that are looked at
_APART = 1.25            # sizes nearer to each other than this ratio tell little of what is rounded, or divided by a number
_STRIDES = (4, 8, 16, 32, 64)
_MOST_COMBINED = 20_000  # points that are looked at for one trace
_ORDINARY = 5            # quotients from here on, where a range has enough of them: smaller ones are often special cases
_ENOUGH = 12


def unit_of(values: Sequence[int]) -> int:
    """What divides all values, so that parity is that of the quotients."""
    return max(1, math.gcd(*itertools.islice(values, 64)))


def candidates(values: Sequence[int], beyond: int = 0) -> list[int]:
    """Small values of a size that are no special cases, or the next ones beyond a value. `values` may be a range of any length."""
    larger = values[bisect.bisect_right(values, beyond):]
    ordinary = larger[bisect.bisect_left(larger, _ORDINARY * unit_of(values)):]
    if len(ordinary) >= _ENOUGH:
        return _spread(ordinary)
    several = larger[bisect.bisect_right(larger, 1):]
    return list((several if len(several) >= 3 else larger)[:_MOST_CANDIDATES] or values[-1:])


def _spread(values: Sequence[int]) -> list[int]:
    """The first values, and some of those that follow up to where three sizes fit that are apart."""
    first = _MOST_CANDIDATES // 2
    until = max(values[:_MOST_CANDIDATES][-1], math.ceil(values[0] * _APART ** 3))
    rest = values[first:bisect.bisect_right(values, until)]
    stride = max(1, len(rest) // first) | 1  # an odd one leaves odd and even quotients
    return [*values[:first], *rest[::stride]]


def _cost(value: int, unit: int, want_even: bool, own: Sequence[int]) -> float:
    """How little a value of one size tells beside those that it has already."""
    quotient = value // unit
    cost = (30.0 if len(set(own)) > 1 else 60.0) * (value in own)
    cost += 8.0 * ((quotient % 2 == 0) != want_even)
    cost += 4.0 * (quotient % 4 in [each // unit % 4 for each in own])  # windows and strides of 4 are common
    cost += 25.0 * (len(own) > 1 and {each // unit % 2 for each in own} == {quotient % 2})
    cost += 2.0 * (not want_even and not is_prime(quotient))
    cost += 3.0 * (want_even and quotient > 2 and quotient & (quotient - 1) == 0)  # 8 = 2 * 2 * 2 stays even when it is halved
    cost += 12.0 * any(_near(value, each) for each in own if each != value)
    cost += 45.0 * (value <= 1)  # a batch of one is traced otherwise
    return cost


def _near(a: int, b: int) -> bool:
    return max(a, b) < _APART * min(a, b)


def choose(ranges: Ranges, count: int = 3, taken: Sequence[Point] = ()) -> list[Point]:
    """Points to export at.

    Args:
        ranges: What sizes may be.
        count: How many more points; fewer where the ranges have no more.
        taken: Points that were exported already; those that are added are then larger, as most of what three small sizes
            leave open lies beyond them.

    Returns:
        Complete points, all different.

    Raises:
        InvalidArgument: no point meets the relations.
    """
    points = list(taken)
    free = ranges.free
    most = math.prod(len(values) for values in ranges.values.values())
    for _ in range(min(count, most - len(points))):
        number = len(points)
        lists = []
        for index, name in enumerate(free):
            values, own = ranges.values[name], [point[name] for point in points]
            unit = unit_of(values)
            want_even = number % max(3, len(free)) == index % max(3, len(free))
            beyond = (4 * max(own)) // 3 if taken and number % 2 == 1 and own else 0
            some = candidates(values, beyond)
            lists.append(sorted(some, key=lambda value: (_cost(value, unit, want_even, own) + 8 * some.index(value) / len(some), value)))
        best = _best(ranges, free, lists, points)
        if best is None:
            break
        points.append(best)
    if not points:
        raise InvalidArgument(f"sizes: no small sizes meet {ranges.text!r}; give ranges in which the relations hold")
    return points[len(taken):]


def _best(ranges: Ranges, free: Sequence[str], lists: Sequence[list[int]], points: Sequence[Point]) -> Point | None:
    seen = {tuple(point[name] for name in ranges.names) for point in points}
    used = {point[name] for point in points for name in ranges.free}
    alike = _alike(free, points)
    fixed = {name: values[0] for name, values in ranges.values.items() if len(values) == 1}
    for share in (_few(len(free)), _MOST_CANDIDATES):
        best: tuple[float, int, Point] | None = None
        if share == _MOST_CANDIDATES and free:
            shuffled = random.Random(0)
            combined: Iterable[tuple[int, ...]] = itertools.chain(
                itertools.islice(itertools.product(*(some[:2] for some in lists)), _MOST_COMBINED),
                (tuple(shuffled.choice(ranges.values[name]) for name in free) for _ in range(_MOST_COMBINED)))
        else:
            combined = itertools.product(*(some[:share] for some in lists))
        for order, values in enumerate(combined):
            point = ranges.complete({**fixed, **dict(zip(free, values, strict=True))})
            if point is None:
                continue
            point = {name: point[name] for name in ranges.names}
            if tuple(point.values()) in seen:
                continue
            cost = sum(0.4 * some.index(value) if value in some else 20 for some, value in zip(lists, values, strict=True))
            cost += 50.0 * (len(values) - len(set(values)) + sum(value in used for value in values))
            cost += 6.0 * sum(_near(a, b) for a, b in itertools.combinations(values, 2))  # which are one number when they are divided
            number = len(points)
            for index, name in enumerate(free):
                want_even = number % max(3, len(free)) == index % max(3, len(free))
                cost += _cost(point[name], unit_of(ranges.values[name]), want_even, [each[name] for each in points])
            cost += 20.0 * _lines(free, [*points, point]) + 6.0 * sum(_is_alike(point, *each) for each in alike)
            if best is None or (cost, order) < best[:2]:
                best = (cost, order, point)
        if best is not None:
            return best[2]
    return None


def _few(sizes: int) -> int:
    return max(2, min(10, int(2000 ** (1 / max(1, sizes)))))


def _lines(names: Sequence[str], points: Sequence[Point]) -> int:
    """How many pairs of sizes lie on a line at the last three points."""
    if len(points) < 3:
        return 0
    a, b, c = points[-3:]
    return sum((b[x] - a[x]) * (c[y] - a[y]) == (c[x] - a[x]) * (b[y] - a[y]) for x, y in itertools.combinations(names, 2))


def _alike(names: Sequence[str], points: Sequence[Point]) -> list[tuple[str, str, int, int]]:
    """Quotients of a pair of sizes, by a stride that vision models have and rounded one way, that are one number at each of the points: cells
    of a height and of a width, which nothing tells apart though the sizes differ. Each as both sizes, what is added first, and the stride."""
    return [(x, y, more, stride) for x, y in itertools.combinations(names, 2) for stride in _STRIDES for more in (0, stride - 1)
            if all(_is_alike(point, x, y, more, stride) for point in points)]


def _is_alike(point: Point, x: str, y: str, more: int, stride: int) -> bool:
    a, b = point[x], point[y]
    return a >= stride and b >= stride and (a + more) // stride == (b + more) // stride


def unseen(ranges: Ranges, taken: Sequence[Point], count: int, fits: Callable[[Point], bool], seed: int = 0) -> list[Point]:
    """Points that were not exported, drawn in the ranges; smaller ones where the larger do not fit."""
    drawn, generator = list[Point](), random.Random(seed)
    seen = {tuple(sorted(point.items())) for point in taken}
    share = 1.0
    for tries in range(400):
        if len(drawn) == count:
            break
        if tries % 20 == 19:
            share = max(0.02, share * 0.7)
        picked = {name: values[generator.randrange(max(1, math.ceil(len(values) * share)))] for name, values in ranges.values.items()}
        point = ranges.complete(picked)
        if point is None or tuple(sorted(point.items())) in seen or not fits(point):
            continue
        seen.add(tuple(sorted(point.items())))
        drawn.append(point)
    if len(drawn) < count and math.prod(len(values) for values in ranges.values.values()) <= 4096:  # few points: all of them
        for picked_values in itertools.product(*ranges.values.values()):
            point = ranges.complete(dict(zip(ranges.values, picked_values, strict=True)))
            if len(drawn) < count and point is not None and tuple(sorted(point.items())) not in seen and fits(point):
                seen.add(tuple(sorted(point.items())))
                drawn.append(point)
    return drawn


def uncovered(ranges: Ranges, taken: Sequence[Point], fits: Callable[[Point], bool], seed: int = 0, most: int = 8) -> list[Point]:
    """Small points whose quotients leave remainders that none of the others leaves, by 2, 3, 4, 7 and 8: formulas that differ there
    are alike at the others."""
    def remainders(point: Point) -> set[tuple[str, int, int]]:
        return {(name, modulus, point[name] // unit_of(ranges.values[name]) % modulus) for name in ranges.free for modulus in (2, 3, 4, 7, 8)}
    covered = {each for point in taken for each in remainders(point)}
    small = Ranges("")
    small.values = {name: values[:max(2, len(values) // 2)] for name, values in ranges.values.items()}
    small.given, small.relations = ranges.given, ranges.relations
    drawn = unseen(small, taken, 40, fits, seed)
    found: list[Point] = []
    while drawn and len(found) < most:
        best = max(drawn, key=lambda point: len(remainders(point) - covered))
        if not remainders(best) - covered:
            break
        drawn.remove(best)
        covered |= remainders(best)
        found.append(best)
    return found


def ends(ranges: Ranges) -> list[Point]:
    """The least sizes, the largest, and the largest of each size beside the least of the others, as far as relations hold."""
    low = {name: values[0] for name, values in ranges.values.items()}
    high = {name: values[-1] for name, values in ranges.values.items()}
    picked = [low, high, *({**low, name: high[name]} for name in ranges.free)]
    made: list[Point] = []
    for each in picked:
        point = ranges.complete(each)
        if point is not None and point not in made:
            made.append(point)
    return made
