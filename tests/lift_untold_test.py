"""What traces leave open in models of people: frames around their middles, windows that shrink, lines that squares make, nearest places."""
import math

import numpy as np
import pytest

from lift_net import Net, seen_of, up


def framed(n, hop, window=30):
    """Frames around their middles, as Kaldi counts them without snipped edges: half a hop and more makes another."""
    net = Net()
    count = (n + hop // 2) // hop
    x = net.add("Pad", "x", net.ints(0, 0, window, window))
    places = np.arange(count)[:, None] * hop + np.arange(window)[None]
    return net.model([1, n], net.add("Gather", x, net.constant(places), axis=1))


@pytest.mark.parametrize("traces", [(1013, 1499, 2111), (1024, 1536, 2560), (2400, 1280, 2324), (1666, 2316, 1164), (619, 858, 1417)], ids=str)
@pytest.mark.parametrize("hop", [15, 20, 24, 50, 60])
def test_frames_around_their_middles(thaw, save, tmp_path, hop, traces):
    unseen = [*range(1100, 2100, 37), *(hop * 40 + r for r in (0, 1, hop // 2 - 1, hop // 2, hop // 2 + 1, hop - 1))]
    seen = seen_of(thaw, save, tmp_path, lambda n: framed(n, hop), traces, unseen)
    assert set(seen.values()) <= {"right", "guard"}, (hop, traces, seen)


def filled(n, whole):
    """Zeros of whole pieces, and what comes in written over the first of them; a stride of 10 and three halves."""
    net = Net()
    count = up(n, whole) * whole
    indices = np.arange(n)[:, None]
    flat = net.add("Reshape", "x", net.ints(n))
    y = net.add("ScatterND", net.constant(np.zeros(count, np.float32)), net.constant(indices), flat)
    y = net.add("Reshape", y, net.ints(1, 1, count))
    y = net.add("MaxPool", y, kernel_shape=[10], strides=[10])
    return net.model([1, n], net.add("MaxPool", y, kernel_shape=[whole // 10], strides=[whole // 10]))


@pytest.mark.parametrize("whole", [80, 160, 320])
@pytest.mark.parametrize("traces", [(2291, 1197, 908), (1013, 1499, 2111), (1307, 1750, 2816)], ids=str)
def test_whole_pieces_longer_than_windows(thaw, save, tmp_path, traces, whole):
    seen = seen_of(thaw, save, tmp_path, lambda n: filled(n, whole), traces, (911, 1300, 1601, 2001, 2079, 2081, 2250, 3527))
    assert set(seen.values()) <= {"right", "guard"}, seen


def attended(n, window):
    """Means of windows that are no longer than all there is."""
    net = Net()
    window = min(window, n)
    count = up(n, window)
    y = net.add("Pad", "x", net.ints(0, 0, 0, 0, count * window - n, 0))
    y = net.add("Reshape", y, net.ints(1, count, window, 3))
    y = net.add("Sub", y, net.add("ReduceMean", y, net.ints(2), keepdims=1))
    y = net.add("Reshape", y, net.ints(1, count * window, 3))
    return net.model([1, n, 3], net.add("Slice", y, net.ints(0), net.ints(n), net.ints(1)))


@pytest.mark.parametrize("traces", [(50, 53, 71), (63, 48, 85), (37, 101, 130)], ids=str)
def test_windows_no_longer_than_all_there_is(thaw, save, tmp_path, traces):
    """No trace is shorter than a window: nothing says what becomes of one that is."""
    unseen = (7, 20, 29, 31, 33, 60, 97, 150)
    seen = seen_of(thaw, save, tmp_path, lambda n: attended(n, 32), traces, unseen)
    assert set(seen.values()) <= {"right", "guard"} and "right" in seen.values(), seen


def test_a_trace_shorter_than_a_window_is_no_reason_for_a_guard(thaw, save, tmp_path):
    def windows(n):
        net = Net()
        count = up(n, 16)
        y = net.add("Pad", "x", net.ints(0, 0, 0, 0, count * 16 - n, 0))
        y = net.add("Reshape", y, net.ints(1, count, 16, 3))
        y = net.add("Reshape", net.add("ReduceSum", y, net.ints(2), keepdims=0), net.ints(1, count, 3))
        return net.model([1, n, 3], y)
    seen = seen_of(thaw, save, tmp_path, windows, (13, 37, 53), (5, 9, 20, 45, 64, 80))
    assert len(seen) == 6 and set(seen.values()) == {"right"}, seen


def rectified(h, w):
    """A grid of 32 rows, and as many columns as keep the aspect."""
    net = Net()
    columns = math.ceil(32 * w / h)
    rows = np.linspace(-1, 1, 32, dtype=np.float32)[:, None].repeat(columns, 1)
    across = np.linspace(-1, 1, columns, dtype=np.float32)[None].repeat(32, 0)
    grid = net.constant(np.stack([across, rows], -1)[None])
    return net.model([1, 1, h, w], net.add("GridSample", "x", grid, align_corners=1))


def test_a_count_that_squares_make_is_known_of_squares(thaw, save, tmp_path):
    seen = seen_of(thaw, save, tmp_path, lambda size: rectified(*size), [(48, 48), (64, 64), (80, 80)], [(56, 56), (48, 64), (71, 53)])
    assert set(seen.values()) <= {"right", "guard"}, seen


def spread(n, share):
    """Rounded shares of the way from the first to the last, to even ones, as float32 has it."""
    net = Net()
    count = int(n * share)
    step = np.float32(n - 1) / np.float32(count - 1)
    places = np.round(step * np.arange(count, dtype=np.float32)).astype(np.int64)
    return net.model([1, n, 3], net.add("Gather", "x", net.constant(places), axis=1))


@pytest.mark.parametrize("share", [1.25, 1.5, 0.75, 2.5])
@pytest.mark.parametrize("traces", [(19, 37, 53), (50, 53, 71), (63, 48, 85), (40, 44, 60)], ids=str)
def test_which_of_two_places_is_the_nearest(thaw, save, tmp_path, traces, share):
    seen = seen_of(thaw, save, tmp_path, lambda n: spread(n, share), traces, (*range(29, 47), 58, 103, 160, 171))
    assert set(seen.values()) <= {"right", "guard"}, (traces, share, seen)


def timed(n):
    """Letters that last two, one and three frames in turn."""
    net = Net()
    durations = np.resize([2.0, 1.0, 3.0], n).astype(np.float32)
    frames = net.add("Expand", net.add("ReduceMean", "x", net.ints(1), keepdims=1), net.ints(1, int(durations.sum())))
    return net.model([1, n], net.add("Concat", net.add("Mul", "x", net.constant(durations)), frames, axis=1))


@pytest.mark.parametrize("traces", [(19, 37), (50, 53), (63, 48)], ids=str)
def test_two_traces_that_end_at_the_same_place_of_a_pattern(thaw, save, tmp_path, traces):
    seen = seen_of(thaw, save, tmp_path, timed, traces, (29, 30, 31, 45, 58, 160))
    assert set(seen.values()) <= {"right", "guard"}, seen


def padded_to_the_longer(h, w):
    """Zeros on the right, half as many as the longer side has."""
    net = Net()
    more = max(h, w) // 2
    return net.model([1, 1, h, w], net.add("Pad", "x", net.ints(0, 0, 0, 0, 0, 0, 0, more)))


@pytest.mark.parametrize("traces", [((65, 97), (129, 161), (193, 225)), ((53, 122), (115, 179), (174, 197)), ((122, 53), (179, 115), (197, 174))], ids=str)
def test_a_side_that_is_the_longer_in_every_trace(thaw, save, tmp_path, traces):
    unseen = [(71, 107), (90, 62), (161, 193), (179, 133), (97, 129), (193, 129), (161, 97), (129, 193)]
    seen = seen_of(thaw, save, tmp_path, lambda size: padded_to_the_longer(*size), traces, unseen)
    assert set(seen.values()) <= {"right", "guard"} and seen, seen


def test_what_is_not_tried_in_time_is_guarded(thaw, save, tmp_path):
    """Half of the visits are for what cannot be done without: with few of them fewer terms are tried, and the model is still right or guarded."""
    codes = []
    for visits in (300, 1000, 1500, 2000, 3000, 5000, 20000):
        def lift(*arguments, visits=visits):
            codes.append(thaw(*arguments, "--max-visits", visits))
            return codes[-1]
        seen = seen_of(lift, save, tmp_path, lambda n: framed(n, 20), (1013, 1499, 2111), (1101, 1307, 1750, 1760, 2001))
        (tmp_path / "lifted.onnx").unlink(missing_ok=True)
        assert set(seen.values()) <= {"right", "guard"}, (visits, seen)
    assert codes[0].returncode == 2 and codes[-1].returncode == 0, [each.returncode for each in codes]


def segmented(n, hop=20, window=30):
    """Frames around their middles, every second one, and beside each what its segment of twelve has in the mean."""
    net = Net()
    count = (n + hop // 2) // hop
    x = net.add("Pad", "x", net.ints(0, 0, window, window))
    frames = net.add("Gather", x, net.constant(np.arange(count)[:, None] * hop + np.arange(window)[None]), axis=1)
    y = net.add("ReduceMean", frames, net.ints(2), keepdims=0)
    y = net.add("MaxPool", net.add("Reshape", y, net.ints(1, 1, count)), kernel_shape=[1], strides=[2])
    half = up(count, 2)
    means = net.add("AveragePool", net.add("Pad", y, net.ints(0, 0, 0, 0, 0, up(half, 12) * 12 - half)), kernel_shape=[12], strides=[12])
    segments = up(half, 12)
    means = net.add("Expand", net.add("Reshape", means, net.ints(1, segments, 1)), net.ints(1, segments, 12))
    means = net.add("Slice", net.add("Reshape", means, net.ints(1, 1, segments * 12)), net.ints(0), net.ints(half), net.ints(2))
    return net.model([1, n], net.add("Add", y, means))


@pytest.mark.parametrize("traces", [(1013, 1499, 2111), (1024, 1536, 2560), (2400, 1280, 2324), (1666, 2316, 1164), (619, 858, 1417)], ids=str)
def test_integers_that_follow_what_another_count_is_taken_for(thaw, save, tmp_path, traces):
    """What stands for them in a trial may be right at some sizes alone, and speaks against nothing then."""
    seen = seen_of(thaw, save, tmp_path, segmented, traces, (1101, 1190, 1307, 1750, 1760, 2001, 2250, 2816))
    assert set(seen.values()) <= {"right", "guard"}, seen


def counted(side, count):
    """Numbers over an image's means, as many as are given; nothing else says how many."""
    net = Net()
    rows = net.constant((np.arange(count) * 0.37).astype(np.float32))
    return net.model([1, 2, *side], net.add("Mul", net.add("ReduceMean", "x", net.ints(2, 3), keepdims=1), rows))


WHOLE = [((64, 64), (96, 128), (160, 96)), ((96, 160), (128, 224), (192, 256)), ((128, 320), (192, 64), (64, 192))]


@pytest.mark.parametrize("sides", WHOLE, ids=str)
@pytest.mark.parametrize("stride, piece", [(4, 8), (8, 4), (2, 16), (4, 4), (16, 2)])
def test_a_count_of_whole_pieces_that_all_traces_have(thaw, save, tmp_path, stride, piece, sides):
    """Sides that are multiples of 32 say nothing of the cells that fill the last piece."""
    unseen = [(83, 104), (72, 144), (100, 200), (96, 160), (128, 288), (171, 208), (192, 96), (163, 248), (192, 256)]
    seen = seen_of(thaw, save, tmp_path, lambda size: counted(size, up(up(size[1], stride), piece) * piece), sides, unseen)
    assert set(seen.values()) <= {"right", "guard"} and "right" in seen.values(), seen


def test_what_many_formulas_explain_is_refused(thaw, save, tmp_path):
    """A sum of two parts is none of the forms that cost less than the integers, of which many meet 12, 8 and 20."""
    def summed(side):
        net = Net()
        means = net.add("ReduceMean", "x", net.ints(2, 3), keepdims=1)
        return net.model([1, 2, *side], net.add("Expand", means, net.ints(1, 2, up(side[1], 16) + up(side[1], 32), 1)))
    paths = [save(summed(side), f"trace_{side[1]}") for side in ((53, 122), (115, 79), (174, 197))]
    report = thaw.json("lift", *paths, "-o", tmp_path / "lifted.onnx", code=1)
    note = report["unexplained"][0]
    assert note["where"] == "12, 8, 20" and " others; add a trace at " in note["message"], report
    assert not (tmp_path / "lifted.onnx").exists()


# Made of what one side is longer than the other by, which it is in each trace.
OF_DIFFERENCES = {
    "padded": lambda net, longer: net.add("Pad", "x", net.ints(0, 0, 0, 0, 0, 0, max(longer, 0), 0)),
    "the distance": lambda net, longer: net.add("Pad", "x", net.ints(0, 0, 0, 0, 0, 0, 0, abs(longer))),
    "sliced": lambda net, longer: net.add("Slice", "x", net.ints(0), net.ints(max(longer, 0)), net.ints(3)),
    "from there": lambda net, longer: net.add("Slice", "x", net.ints(max(longer, 0)), net.ints(1 << 30), net.ints(3)),
    "repeated": lambda net, longer: net.add("Expand", net.add("ReduceMean", "x", net.ints(2, 3), keepdims=1), net.ints(1, 2, abs(longer), 1)),
}


@pytest.mark.parametrize("sides", [((97, 131), (150, 211)), ((97, 131), (150, 211), (53, 115)), ((64, 128), (96, 224), (160, 192)),
                                   ((20, 200), (30, 400), (25, 350))], ids=str)
@pytest.mark.parametrize("made", OF_DIFFERENCES)
def test_a_difference_of_sides_that_no_trace_has_below_zero(thaw, save, tmp_path, made, sides):
    def build(size):
        net = Net()
        return net.model([1, 2, *size], OF_DIFFERENCES[made](net, size[1] - size[0]))
    unseen = [(178, 155), (101, 90), (120, 121), (130, 71), (100, 180), (128, 160), (192, 128), (61, 163), (200, 150)]
    seen = seen_of(thaw, save, tmp_path, build, sides, unseen)
    assert set(seen.values()) <= {"right", "guard"}, seen
    assert "right" in seen.values() or len(sides) == 2 or made == "repeated" or sides[0] == (20, 200), seen


# What is filled up to 64, and what is more than 8: in no trace below 0.
@pytest.mark.parametrize("lengths", [(12, 20, 33), (12, 33), (17, 28, 41)], ids=str)
@pytest.mark.parametrize("amount", [lambda n: max(64 - n, 0), lambda n: max(n - 8, 0)], ids=["filled", "more"])
def test_amounts_of_pads_that_no_trace_has_below_zero(thaw, save, tmp_path, amount, lengths):
    def padded(n):
        net = Net()
        return net.model([1, n], net.add("Pad", "x", net.ints(0, 0, 0, amount(n))))
    seen = seen_of(thaw, save, tmp_path, padded, lengths, (5, 7, 9, 18, 40, 64, 70, 100))
    assert set(seen.values()) <= {"right", "guard"}, seen
    assert len(lengths) == 2 or seen[18] == seen[40] == "right", seen


# Two tables that frames count, of two shapes.
@pytest.mark.parametrize("lengths", [(1024, 1536, 2560), (800, 1600, 2000), (640, 960, 1280)], ids=str)
@pytest.mark.parametrize("hop", [40, 48, 56])
def test_a_guess_is_no_evidence_of_itself(thaw, save, tmp_path, hop, lengths):
    """Where one table is taken for a count, by what it is cut says nothing of another one that is as long."""
    def counted(n):
        net = Net()
        frames = np.arange(1 + n // hop, dtype=np.float32)
        first = net.add("Slice", "x", net.ints(0), net.ints(5), net.ints(1))
        scaled = net.add("Mul", net.constant(frames[:, None]), first)
        return net.model([1, n], net.add("Add", scaled, net.constant(np.repeat(frames[:, None] * 2, 5, 1))))
    unseen = [600, 1000, 1040, 1307, 1599, 2235, 2432, 2816, 3527]
    seen = seen_of(thaw, save, tmp_path, counted, lengths, unseen, within=1e-3)
    assert set(seen.values()) <= {"right", "guard"}, seen


# Even and odd entries beside each other, of as many in every trace: elsewhere there is an even one more.
@pytest.mark.parametrize("lengths", [(112, 128, 160), (224, 256, 320), (128, 240, 256)], ids=str)
@pytest.mark.parametrize("folds", [False, True], ids=["as it is", "folded and back"])
def test_what_nodes_need_beyond_the_traces_is_guarded(thaw, save, tmp_path, folds, lengths):
    def paired(n):
        net = Net()
        x = net.add("Conv", "x", net.constant(np.arange(28, dtype=np.float32).reshape(4, 1, 7) / 28), strides=[7], kernel_shape=[7])
        count = (n - 7) // 7 + 1
        if folds:
            x = net.add("Reshape", net.add("Reshape", x, net.ints(1, 4 * count)), net.ints(1, 4, count))
        even = net.add("Slice", x, net.ints(0), net.ints(count // 2 * 2), net.ints(2), net.ints(2))
        odd = net.add("Slice", x, net.ints(1), net.ints(1 << 30), net.ints(2), net.ints(2))
        return net.model([1, 1, n], net.add("Add", even, odd))
    seen = seen_of(thaw, save, tmp_path, paired, lengths, (64, 80, 96, 100, 144, 176, 192, 208, 288, 336, 500))
    assert set(seen.values()) <= {"right", "guard"}, seen


def test_where_a_slice_ends_follows_where_it_begins(thaw, save, tmp_path):
    """Three pieces of 24 frames, each from the middle of a third: what else explains a beginning needs another end, too."""
    def cut(n):
        net, frames = Net(), (n - 40) // 20 + 1
        x = net.add("Conv", "x", net.constant(np.random.default_rng(3).standard_normal((4, 1, 40), dtype=np.float32)), strides=[20], kernel_shape=[40])
        begins = [int(third[len(third) // 2]) for third in np.array_split(np.arange(frames - 23), 3)]
        pieces = [net.add("Slice", x, net.ints(begin), net.ints(begin + 24), net.ints(2), net.ints(1)) for begin in begins]
        return net.model([1, 1, n], net.add("Concat", *pieces, axis=1))
    unseen = (880, 1000, 1307, 1600, 1700, 1750, 2250, 2816, 3527)
    for lengths in ((1666, 2316, 1164), (1280, 1600, 2000), (1013, 1499, 2111)):
        seen = seen_of(thaw, save, tmp_path, cut, lengths, unseen, within=1e-4)
        assert set(seen.values()) <= {"right", "guard"}, (lengths, seen)


@pytest.mark.parametrize("lengths", [(1666, 2316, 1164), (1280, 1600, 2000), (1013, 1499, 2111), (1040, 1360, 2000)], ids=str)
@pytest.mark.parametrize("channels", [1, 2, 3])
def test_channels_do_not_tell_up_to_which_windows_a_pad_fills(thaw, save, tmp_path, channels, lengths):
    """One frame more in every trace, up to an even number; windows of four, of all channels, are joined in one axis."""
    def unfolded(n):
        net, frames = Net(), (n - 32) // 16 + 1
        random = np.random.default_rng(4)
        x = net.add("Conv", "x", net.constant(random.standard_normal((channels, 1, 32), dtype=np.float32)), strides=[16], kernel_shape=[32])
        x = net.add("Pad", x, net.ints(0, 0, 0, 0, 0, frames % 2))
        count = (frames + frames % 2 - 4) // 2 + 1
        windows = net.add("Gather", x, net.constant(np.arange(4)[:, None] + 2 * np.arange(count)), axis=2)
        windows = net.add("Reshape", windows, net.ints(1, 4 * channels, count))
        back = net.add("ConvTranspose", windows, net.constant(random.standard_normal((4 * channels, channels, 4), dtype=np.float32)), strides=[2],
                       kernel_shape=[4])
        return net.model([1, 1, n], net.add("Slice", net.add("Add", x, back), net.ints(0), net.ints(frames), net.ints(2), net.ints(1)))
    seen = seen_of(thaw, save, tmp_path, unfolded, lengths, (880, 1000, 1120, 1248, 1307, 1400, 1760, 2162, 2500), within=1e-3)
    assert set(seen.values()) <= {"right", "guard"}, seen
