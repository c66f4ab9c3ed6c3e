"""Two sizes that are the same in every trace, at places of one model: the nodes tell one of them, and nothing the other."""
import numpy as np
import pytest

from lift_net import Net, seen_of, up

# What is true where nothing tells it, and traces in which it is what strides of 4 make.
OTHERS = {
    "floor(n/4)+1": (lambda n: n // 4 + 1, (85, 131, 174)),
    "floor((n+2)/4)": (lambda n: (n + 2) // 4, (86, 131, 175)),
    "2*ceil(n/8)": (lambda n: 2 * up(n, 8), (86, 128, 174)),
}
UNSEEN = (88, 89, 90, 93, 100, 101, 119, 120, 121, 160)
MODES = ["held, other", "other, held", "reshaped, other", "other, reshaped", "other, cut", "cut, other", "other"]


def build(n, mode, other):
    """Columns that a pool's strides made, and zeros of another count beside them; each mode asks for these in its own order."""
    net = Net()
    x = net.add("Transpose", "x", perm=[0, 2, 1])
    pooled = net.add("MaxPool", x, kernel_shape=[4], strides=[4], ceil_mode=1)
    m = up(n, 4)

    def zeros(count):
        one = net.add("Pad", net.add("Slice", x, net.ints(0), net.ints(1), net.ints(2)), net.ints(0, 0, 0, 0, 0, 0))
        return net.add("Expand", one, net.ints(1, 3, count))

    parts = {"other": lambda: zeros(other(n)), "held": lambda: net.add("Add", zeros(m), pooled),
             "reshaped": lambda: net.add("Add", net.add("Reshape", net.add("Relu", pooled), net.ints(1, 3, m)), pooled),
             "cut": lambda: net.add("Slice", pooled, net.ints(0), net.ints(m), net.ints(2))}
    made = [parts[part]() for part in mode.split(", ")]
    return net.model([1, n, 3], net.add("Concat", pooled, *made, axis=2))


@pytest.mark.parametrize("formula", OTHERS)
@pytest.mark.parametrize("mode", MODES)
def test_what_one_place_tells_is_not_taken_for_the_other(thaw, save, tmp_path, mode, formula):
    other, traces = OTHERS[formula]
    seen = seen_of(thaw, save, tmp_path, lambda n: build(n, mode, other), traces, UNSEEN)
    assert set(seen.values()) <= {"right", "guard"}, seen


def test_a_size_that_all_places_tell_needs_no_guard(thaw, save, tmp_path):
    seen = seen_of(thaw, save, tmp_path, lambda n: build(n, "held, reshaped", lambda n: up(n, 4)), (85, 131, 174), UNSEEN)
    assert len(seen) == len(UNSEEN) and set(seen.values()) == {"right"}, seen


def chunks(n):
    """Chunks of 20 frames that overlap by half: frames are padded by 1 to 20 more than a whole number of halves."""
    net = Net()
    more = 20 - (10 + n) % 20
    count = (n + 20 + more - 10) // 20
    y = net.add("Pad", "x", net.ints(0, 10, 0, 0, more + 10, 0))

    def cut(begin):
        part = net.add("Slice", y, net.ints(begin), net.ints(begin + 20 * count), net.ints(1))
        return net.add("Softmax", net.add("Reshape", part, net.ints(count, 20, 3)), axis=1)

    both = net.add("Add", cut(0), cut(10))
    y = net.add("Reshape", both, net.ints(1, 20 * count, 3))
    return net.model([1, n, 3], net.add("Slice", y, net.ints(0), net.ints(n), net.ints(1)))


@pytest.mark.parametrize("traces", [(599, 319, 580), (99, 140, 219), (41, 82, 163), (57, 138, 205)], ids=str)
def test_windows_that_may_be_filled_from_any_share_of_one(thaw, save, tmp_path, traces):
    """Where all traces leave about the same of a window, nothing says from where on it counts as another."""
    unseen = (*traces, 60, 101, 127, 163, 200, 703, 708, 713)
    seen = seen_of(thaw, save, tmp_path, chunks, traces, unseen)
    assert set(seen.values()) <= {"right", "guard"}, seen
    assert all(seen[n] == "right" for n in traces if seen), seen


def test_a_narrow_domain_is_asked_about_at_its_own_sizes(thaw, save, tmp_path):
    """A cut that does nothing in any trace leaves multiples of 11; at some of these what stands beside it is another number."""
    other, traces = OTHERS["floor(n/4)+1"]
    seen = seen_of(thaw, save, tmp_path, lambda n: build(n, "cut, other", other), traces, [n for n in range(85, 175) if up(n, 4) % 11 == 0])
    assert set(seen.values()) <= {"right", "guard"} and np.any([v == "right" for v in seen.values()]), seen


def twice(n, first):
    """Zeros beside what strides of 4 leave, and beside twice what strides of 8 leave: as many in traces of which no count is odd."""
    net = Net()
    x = net.add("Transpose", "x", perm=[0, 2, 1])
    four, eight = (net.add("MaxPool", x, kernel_shape=[stride], strides=[stride], ceil_mode=1) for stride in (4, 8))
    eight = net.add("Resize", eight, "", net.constant(np.array([1, 1, 2], np.float32)), mode="nearest", nearest_mode="floor",
                    coordinate_transformation_mode="asymmetric")

    def filled(part):
        zeros = net.add("ConstantOfShape", net.ints(1, 3, up(n, 4) if part is four else 2 * up(n, 8)))
        return net.add("Add", net.add("Relu", zeros), part)

    parts = [filled(part) for part in ((four, eight) if first == "four" else (eight, four))]
    return net.model([1, n, 3], net.add("Concat", *parts, axis=2))


@pytest.mark.parametrize("first", ["four", "eight"])
def test_each_place_is_what_its_own_nodes_say(thaw, save, tmp_path, first):
    seen = seen_of(thaw, save, tmp_path, lambda n: twice(n, first), OTHERS["2*ceil(n/8)"][1], UNSEEN)
    assert len(seen) == len(UNSEEN) and set(seen.values()) == {"right"}, seen
