"""thaw lift: windows that are written out, as many in every trace. No trace says how many there are elsewhere: it is guarded, not guessed."""
import random

import pytest

from lift_net import Net, seen_of, up

WIDTH = 3


def written_out(starts, ends, body, first=0):
    """x [1, n, 3] in windows of these ends, each through `body`, joined along n; what is before `first` as it is."""
    def build(n):
        net = Net()
        axis = net.ints(1)
        pieces = [net.add("Slice", "x", net.ints(0), net.ints(first), axis)] if first else []
        pieces += [body(net, net.add("Slice", "x", net.ints(start), net.ints(end), axis)) for start, end in zip(starts(n), ends(n), strict=True)]
        return net.model([1, n, WIDTH], net.add("Concat", *pieces, axis=1))
    return build


def mean(net, piece):
    return net.add("ReduceMean", piece, net.ints(1), keepdims=1)


def softmax(net, piece):
    return net.add("Softmax", piece, axis=1)


def doubled(net, piece):
    return net.add("Add", piece, piece)


def cut(length, stride, kind, first=0, is_clamped=True):
    """Starts and ends by n: `until_end`, while the start is in x; `until_seen`, while there is something that no window has; `whole`, while all
    of the window is in x."""
    def starts(n):
        rest = n - first
        count = {"until_end": up(rest, stride), "until_seen": 1 + max(0, up(rest - length, stride)), "whole": (rest - length) // stride + 1}[kind]
        return [first + i * stride for i in range(count)]

    def ends(n):
        return [min(start + length, n) if is_clamped else start + length for start in starts(n)]
    return starts, ends


@pytest.mark.parametrize("seed", range(24))
def test_as_many_windows_in_every_trace(thaw, save, tmp_path, seed):
    draw = random.Random(seed)
    stride = draw.randint(3, 9)
    length = draw.choice([stride, stride + draw.randint(1, stride), 3 * stride])
    kind = draw.choice(["until_end", "until_seen", "whole"])
    first = draw.choice([0, 0, 1])
    starts, ends = cut(length, stride, kind, first, draw.random() < 0.5)
    shortest = first + length + 1 + draw.randint(3 if first else 1, 5) * stride
    count = len(starts(shortest))
    alike = [n for n in range(shortest, shortest + 40) if len(starts(n)) == count]
    if len(alike) < 3:
        pytest.skip("no three lengths of as many windows")
    lengths = draw.sample(alike, 3)
    unseen = [n for n in range(first + length, max(alike) + 4 * stride + 2, 2) if n not in lengths]
    body = draw.choice([mean, softmax, doubled])
    seen = seen_of(thaw, save, tmp_path, written_out(starts, ends, body, first), lengths, unseen)
    assert seen, (kind, length, stride, first, lengths)
    assert set(seen.values()) <= {"right", "guard"}, (kind, length, stride, first, count, lengths, seen)
    between = [n for n in seen if min(lengths) < n < max(lengths)]
    assert all(seen[n] == "right" for n in between), (between, seen)


@pytest.mark.parametrize("body", [mean, softmax])
def test_one_window_that_ends_past_every_trace(thaw, save, tmp_path, body):
    starts, ends = cut(8, 8, "until_end", is_clamped=False)
    seen = seen_of(thaw, save, tmp_path, written_out(starts, ends, body), [7, 5, 6], [2, 3, 8, 9, 16, 17, 34])
    assert seen == {2: "right", 3: "right", 8: "right", 9: "guard", 16: "guard", 17: "guard", 34: "guard"}


def test_pieces_that_are_no_windows_are_not_guarded(thaw, save, tmp_path):
    """A class token, and what is behind it; a prompt shorter than the rest."""
    for first in (1, 4):
        def starts(n, first=first):
            return [0, first]

        def ends(n, first=first):
            return [first, n]
        seen = seen_of(thaw, save, tmp_path, written_out(starts, ends, softmax), [11, 18, 23], [7 + first, 13, 40, 59])
        assert set(seen.values()) == {"right"}, (first, seen)


@pytest.mark.parametrize("is_clamped", [True, False])
def test_windows_up_to_the_end_are_a_batch(thaw, save, tmp_path, is_clamped):
    """However the end of the last one is written: as that of the axis, or past it as x[i : i + 8] does."""
    starts, ends = cut(8, 8, "until_end", is_clamped=is_clamped)
    seen = seen_of(thaw, save, tmp_path, written_out(starts, ends, softmax), [21, 30, 43], [7, 8, 19, 32, 33, 50, 65])
    assert set(seen.values()) == {"right"}, seen


def test_pieces_of_the_beginning_alone_are_no_windows(thaw, save, tmp_path):
    def starts(n):
        return [0, 8]

    def ends(n):
        return [8, 16]
    seen = seen_of(thaw, save, tmp_path, written_out(starts, ends, softmax), [19, 23, 41], [17, 22, 29, 40, 67])
    assert set(seen.values()) == {"right"}, seen
