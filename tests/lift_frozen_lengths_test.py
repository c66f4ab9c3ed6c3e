"""Sizes of what is made of frozen tables alone, as the sums of a box filter's ones are (He, Sun, 2015); numbers that are the same in every trace
beside others that follow a side; halves of paddings, and long pieces."""
import numpy as np
import pytest

from lift_net import Net, seen_of, up

CHANNELS = 2
KERNEL = np.random.default_rng(3).standard_normal((CHANNELS, CHANNELS, 3, 3), dtype=np.float32)
UNSEEN = {128: 160, 179: 133, 45: 77, 61: 52, 150: 149, 96: 200, 251: 170}  # widths by height


def cut(net, x, axis, begin, end):
    return net.add("Slice", x, net.ints(begin), net.ints(end), net.ints(axis))


def box_sums(net, x, axis, n, r):
    """Sums of 2 * r + 1 places, fewer at the ends, as differences of running sums."""
    x, rest = net.add("CumSum", x, net.constant(np.array(axis, np.int64))), n - 2 * r - 1
    middle = net.add("Sub", cut(net, x, axis, 2 * r + 1, n), cut(net, x, axis, 0, rest))
    last = net.add("Sub", cut(net, x, axis, n - 1, n), cut(net, x, axis, rest, rest + r))
    return net.add("Concat", cut(net, x, axis, r, 2 * r + 1), middle, last, axis=axis)


def box_filter(h, w, r=1):
    net, sides = Net(), (up(h, 2), up(w, 2))
    x = net.add("Conv", "x", net.constant(KERNEL), strides=[2, 2], pads=[1, 1, 1, 1])
    ones = net.constant(np.ones((1, 1, *sides), np.float32))
    for axis, n in zip((2, 3), sides, strict=True):
        x, ones = box_sums(net, x, axis, n, r), box_sums(net, ones, axis, n, r)
    return net.model([1, CHANNELS, h, w], net.add("Div", x, ones))


def whole(side, piece):
    return up(side, piece) * piece


def resized(piece):
    def build(h, w):
        net = Net()
        sizes = net.ints(1, CHANNELS, whole(h, piece), whole(w, piece))
        x = net.add("Resize", "x", "", "", sizes, mode="linear", coordinate_transformation_mode="half_pixel")
        x = net.add("Conv", x, net.constant(KERNEL), strides=[2, 2], pads=[1, 1, 1, 1])
        return net.model([1, CHANNELS, h, w], x)
    return build


def laid_out(piece):
    """A row of zeros behind the image, as wide as it is: an Expand takes any size."""
    def build(h, w):
        net = Net()
        zeros = net.add("Expand", net.constant(np.zeros((1, 1, 1, 1), np.float32)), net.ints(1, 1, whole(h, piece), whole(w, piece)))
        mean = net.add("ReduceMean", "x", net.ints(1, 2, 3))
        return net.model([1, CHANNELS, h, w], net.add("Add", zeros, mean))
    return build


def lift_at(thaw, save, tmp_path, build, sides):
    widths = UNSEEN | sides
    return seen_of(thaw, save, tmp_path, lambda h: build(h, widths[h]), list(sides), list(UNSEEN))


@pytest.mark.parametrize("sides", [{133: 110, 96: 70, 74: 45}, {74: 45, 133: 110, 96: 70}, {97: 69, 74: 144, 113: 101}, {136: 144, 104: 72, 128: 64}], ids=str)
def test_sums_of_ones(thaw, save, tmp_path, sides):
    """A Slice of a table that is frozen ends with the first trace's, the longest there: its length is no size."""
    seen = lift_at(thaw, save, tmp_path, box_filter, sides)
    assert set(seen.values()) <= {"right", "guard"} and "right" in seen.values(), seen


@pytest.mark.parametrize("build", [resized(64), laid_out(64), resized(32), laid_out(48)], ids=["resized to 64", "expanded to 64", "to 32", "to 48"])
@pytest.mark.parametrize("sides", [{67: 101, 89: 53, 113: 83}, {101: 67, 53: 89, 83: 113}, {130: 40, 188: 100, 150: 161}, {70: 100, 90: 150, 126: 193}], ids=str)
def test_one_side_that_fills_as_many_pieces_in_every_trace(thaw, save, tmp_path, build, sides):
    """128 is 64 * ceil(h / 64) in every trace, where the other side is 64 * ceil(w / 64), or the number."""
    seen = lift_at(thaw, save, tmp_path, build, sides)
    assert set(seen.values()) <= {"right", "guard"}, seen


def halves(which, window, more_before, read):
    """A Pad to whole windows, half of it before and half behind, of the sides that are told."""
    def build(h, w):
        net, amounts = Net(), [0] * 8
        for axis, side in ((2, h), (3, w)):
            missing = whole(side, window) - side if axis in which else 0
            amounts[axis], amounts[axis + 4] = (missing + more_before) // 2, (missing + 1 - more_before) // 2
        x = net.add("Pad", "x", net.ints(*amounts))
        rows, columns = h + amounts[2] + amounts[6], w + amounts[3] + amounts[7]
        if read == "Conv":
            x = net.add("Conv", x, net.constant(KERNEL[:, :, :window, :window]), strides=[window, window])
        elif 3 in which:
            x = net.add("Reshape", x, net.ints(1, CHANNELS, rows // window, window, columns // window, window))
        else:
            x = net.add("Reshape", x, net.ints(1, CHANNELS, rows // window, window, columns))
        return net.model([1, CHANNELS, h, w], x)
    return build


@pytest.mark.parametrize("read", ["Conv", "Reshape"])
@pytest.mark.parametrize("more_before", [0, 1])
@pytest.mark.parametrize("which", [(2,), (3, 2)], ids=["rows", "both"])
@pytest.mark.parametrize("sides", [{47: 80, 64: 72, 80: 32}, {46: 12, 50: 91, 89: 20}, {67: 101, 89: 53, 113: 83}, {31: 47, 45: 64, 100: 110}], ids=str)
def test_halves_before_and_behind(thaw, save, tmp_path, sides, which, more_before, read):
    seen = lift_at(thaw, save, tmp_path, halves(which, 3, more_before, read), sides)
    assert set(seen.values()) <= {"right", "guard"}, seen


def test_halves_are_solved(thaw, save, tmp_path):
    seen = lift_at(thaw, save, tmp_path, halves((2, 3), 3, 0, "Conv"), {67: 101, 89: 53, 113: 83})
    assert "right" in seen.values() and set(seen.values()) <= {"right", "guard"}, seen


@pytest.mark.parametrize("of", [lambda n: max(500 - n, 0), lambda n: 1348 - n, lambda n: -n % 449, lambda n: n % 331, lambda n: -n % 160], ids=range(5))
@pytest.mark.parametrize("lengths", [(300, 311, 450), (1145, 1029, 963), (420, 1130, 777)], ids=str)
def test_long_pieces_are_told_by_several_numbers_of_them(thaw, save, tmp_path, of, lengths):
    """Where n and what is laid out are as many together in every trace, they are a number: no piece is told."""
    def build(n):
        net = Net()
        zeros = net.add("Expand", net.constant(np.zeros((1, 1), np.float32)), net.ints(1, of(n)))
        return net.model([2, n], net.add("Add", zeros, net.add("ReduceMean", "x", net.ints(0, 1))))
    if min(of(n) for n in lengths) < 1:
        return
    unseen = [n for n in (333, 480, 510, 700, 1200, 1349, 2131) if of(n) > 0]
    seen = seen_of(thaw, save, tmp_path, build, lengths, unseen)
    assert "wrong" not in seen.values(), seen
