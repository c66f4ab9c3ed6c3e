"""Which sizes torch.export picks, for ranges at random. Needs no torch."""
import itertools
import random

import pytest

import onnx_thaw as thaw
from onnx_thaw.torch._choose import choose, ends, uncovered, unit_of, unseen
from onnx_thaw.torch._sizes import Ranges, range_text

NAMES = ("batch", "height", "width", "length")


def drawn_ranges(generator, least=1):
    """One to four sizes, with steps, lists and single values."""
    entries = []
    for name in NAMES[:generator.randint(1, 4)]:
        first, step = generator.choice([1, 2, 7, 16, 64, 224, 225]), generator.choice([1, 1, 2, 3, 8, 14, 32])
        count = generator.randint(least, generator.choice([4, 9, 40, 400]) + least)
        kind = generator.random()
        if kind < 0.15:
            entries.append(f"{name}={'|'.join(map(str, range(first, first + count * step, step)))}")
        else:
            entries.append(f"{name}={range_text(range(first, first + count * step, step))}")
    return Ranges(",".join(entries))


def test_sizes_of_exports_tell_the_axes_apart():
    generator = random.Random(5)
    apart: list[bool] = []
    for _ in range(300):
        ranges = drawn_ranges(generator, least=24)
        points = choose(ranges)
        assert len(points) == 3
        free = ranges.free
        for point in points:
            assert all(point[name] in ranges.values[name] for name in ranges.values)
        numbers = [point[name] for point in points for name in free]
        assert len(set(numbers)) == len(numbers), (ranges.text, points)
        for name in free:
            quotients = {point[name] // unit_of(ranges.values[name]) for point in points}
            both = {value // unit_of(ranges.values[name]) % 2 for value in ranges.values[name]}
            assert {quotient % 2 for quotient in quotients} == both, (ranges.text, points)
            own, values = sorted(point[name] for point in points), ranges.values[name]
            assert own[-1] <= max(values[min(47, len(values) - 1)], 2.25 * values[0]), "small"
            if values[-1] >= 2.25 * values[0] and len(values) >= 40:
                apart.append(own[1] >= 1.25 * own[0] and own[2] >= 1.25 * own[1])
        for x, y in itertools.combinations(free, 2):
            (a, b, c) = points
            assert (b[x] - a[x]) * (c[y] - a[y]) != (c[x] - a[x]) * (b[y] - a[y]), ("a line", ranges.text, points)
    assert sum(apart) >= 0.95 * len(apart) > 50  # parity and no number twice come first


@pytest.mark.parametrize("step", [1, 2, 4])
def test_cells_of_a_height_and_of_a_width_differ(step):
    """Of strides up to 32, however they are rounded: a Concat behind a backbone has cells alone."""
    for first in range(32, 256, 28):
        ranges = Ranges(f"batch=1..4,height={first}..640:{step},width={first}..640:{step}")
        points = choose(ranges)
        for stride, more in itertools.product((4, 8, 16, 32), (0, 1)):
            cells = [[(point[side] + more * (stride - 1)) // stride for point in points] for side in ("height", "width")]
            assert cells[0] != cells[1], (ranges.text, points, stride, more)


def test_small_ranges_give_what_they_have():
    generator = random.Random(7)
    for _ in range(150):
        ranges = drawn_ranges(generator)
        points = choose(ranges, 5)
        total = 1
        for values in ranges.values.values():
            total *= len(values)
        assert len(points) == min(5, total)
        assert len({tuple(point.items()) for point in points}) == len(points)
        for name in ranges.free:
            assert len(points) < 2 or len({point[name] for point in points}) > 1, (ranges.text, points)
        more = unseen(ranges, points, 3, lambda _: True)
        assert len(more) == min(3, total - len(points)) and not any(point in points for point in more)


def test_relations_hold_at_every_point():
    generator = random.Random(11)
    for _ in range(100):
        step = generator.choice([1, 14, 16, 32])
        ranges = Ranges(f"h={step}..{20 * step}:{step},w={step}..{20 * step}:{step},w>=h,n=floor(h/{step})*floor(w/{step}),n<=200")
        points = [*choose(ranges), *unseen(ranges, [], 4, lambda _: True), *ends(ranges)]
        assert len(points) >= 8
        for point in points:
            assert point["w"] >= point["h"] and point["n"] == (point["h"] // step) * (point["w"] // step) <= 200
            assert ranges.has(point) and not ranges.has({**point, "n": point["n"] + 1})


def test_further_sizes_are_larger_or_of_another_parity():
    ranges = Ranges("height=224..1024:32,width=224..1024:32")
    first = choose(ranges)
    fourth, fifth = choose(ranges, 2, first)
    assert max(point["height"] for point in first) < fourth["height"] and max(point["width"] for point in first) < fourth["width"]
    assert fifth not in [*first, fourth]


def test_comparisons_reach_the_remainders_that_no_export_has():
    for text in ("h=64..256:4,w=64..256:4", "n=8..200", "batch=1..40,h=224..2048:32,w=224..2048:32"):
        ranges = Ranges(text)
        exported = choose(ranges)
        found = uncovered(ranges, exported, lambda _: True)
        assert 0 < len(found) <= 8 and not any(point in exported for point in found)
        for name, values in ranges.values.items():
            for modulus in (2, 3, 4):
                wanted = {value // unit_of(values) % modulus for value in values}
                assert {point[name] // unit_of(values) % modulus for point in [*exported, *found]} == wanted, (name, modulus)
            assert all(point[name] <= values[len(values) // 2] for point in found), "small"
    assert uncovered(Ranges("n=1..2"), [{"n": 1}, {"n": 2}], lambda _: True) == []


def test_ends_are_those_of_the_ranges():
    found = ends(Ranges("a=2..9,b=4|8,c=3"))
    assert {"a": 2, "b": 4, "c": 3} in found and {"a": 9, "b": 8, "c": 3} in found and {"a": 2, "b": 8, "c": 3} in found


def test_points_that_do_not_fit_are_left_out():
    ranges = Ranges("h=1..1000,w=1..1000")
    found = unseen(ranges, [], 4, lambda point: point["h"] * point["w"] < 2000)
    assert len(found) == 4 and all(point["h"] * point["w"] < 2000 for point in found)


@pytest.mark.parametrize("text, word", [
    ("h", "no relation"), ("h=", "Dim"), ("h=9..3", "no value"), ("h=1..8:0", "no value"), ("h=4..", "no end"), ("h=1..2,h=3", "twice"),
    ("h=w", "'w'"), ("h=1..4,h<k", "'k'"), ("h=1..4,1<h<4", "two relations"), ("h=1..4,h>9", "relations hold"), ("h=1..4,w=h+", ""),
    ("a=b,b=a", "made of each other")])
def test_what_cannot_be_read_is_an_error(text, word):
    with pytest.raises(thaw.InvalidArgument) as caught:
        choose(Ranges(text))
    assert word == "Dim" or word in str(caught.value), caught.value


def test_torch_is_no_part_of_the_import():
    from conftest import python
    done = python("import sys, onnx_thaw; assert 'torch' not in sys.modules; onnx_thaw.torch.export; assert 'torch' not in sys.modules")
    assert done.returncode == 0, done.stderr


def test_a_range_may_be_of_any_length():
    (first, second, third) = choose(Ranges("n=1000000..1000000000000,m=1..4"))
    assert 1.25 ** 2 * first["n"] <= 1.25 * second["n"] <= third["n"] <= 2.25 * first["n"]
