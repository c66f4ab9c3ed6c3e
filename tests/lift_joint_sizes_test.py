"""Integers that nodes tie to each other: the parts of a Split, both sides of an Add, what is joined. Each alone is another formula by chance."""
import numpy as np
import pytest

from lift_net import Net, seen_of, up

WIDTH = 3
UNSEEN = (27, 29, 41, 42, 43, 44, 48, 58, 61, 64, 66, 72)

def chunks(n, parts):
    """torch.chunk: parts that are as long as each other, but the last."""
    net, each = Net(), up(n, parts)
    names = [f"part{k}" for k in range(parts)]
    x = net.add("Relu", "x")
    net.add("Split", x, net.ints(*[each] * (parts - 1), n - each * (parts - 1)), axis=1)
    net.nodes[-1].output[:] = names
    maxima = [net.add("ReduceMax", name, net.ints(1), keepdims=1) for name in names]
    return net.model([1, n, WIDTH], net.add("Concat", *maxima, axis=1))

def halves(n, parts):
    """Two ways down to a part of the length, one of which is resized to what the other gives; and back."""
    net = Net()
    x = net.add("Transpose", "x", perm=[0, 2, 1])
    short = net.add("MaxPool", x, kernel_shape=[parts], strides=[parts])
    long = net.add("MaxPool", x, kernel_shape=[3], strides=[parts], pads=[1, 1])
    resized = net.add("Resize", long, "", "", net.ints(1, WIDTH, n // parts), mode="nearest", coordinate_transformation_mode="asymmetric",
                      nearest_mode="floor")
    joined = net.add("Concat", short, resized, axis=1)
    return net.model([1, n, WIDTH], net.add("Resize", joined, "", "", net.ints(1, 2 * WIDTH, n), mode="nearest",
                                            coordinate_transformation_mode="asymmetric", nearest_mode="floor"))

def cut_to_the_shorter(n, parts):
    """What came in and what strides make of it, cut to the shorter of the two."""
    net = Net()
    x = net.add("Transpose", "x", perm=[0, 2, 1])
    kernel = net.constant(np.full((WIDTH, 1, parts + 1), 0.3, np.float32))
    down = net.add("Conv", x, kernel, strides=[parts], pads=[1, 1], group=WIDTH)
    length = ((n + 2 - parts - 1) // parts) * parts + parts + 1
    back = net.add("ConvTranspose", down, kernel, strides=[parts], group=WIDTH)
    end = min(n, length)
    cut = [net.add("Slice", each, net.ints(0), net.ints(end), net.ints(2)) for each in (x, back)]
    return net.model([1, n, WIDTH], net.add("Add", *cut))

def middle(n, parts):
    """As the first U-Net: convolutions without padding, and the middle of what skips a level."""
    net = Net()
    x = net.add("Transpose", "x", perm=[0, 2, 1])
    kernel, wide = (net.constant(np.full((WIDTH, 1, size), 0.3, np.float32)) for size in (3, parts))
    skipped = net.add("Conv", x, kernel, group=WIDTH)
    down = net.add("MaxPool", skipped, kernel_shape=[parts], strides=[parts])
    up = net.add("ConvTranspose", net.add("Conv", down, kernel, group=WIDTH), wide, strides=[parts], group=WIDTH)
    length = ((n - 2) // parts - 2) * parts
    begin = (n - 2 - length) // 2
    cut = net.add("Slice", skipped, net.ints(begin), net.ints(begin + length), net.ints(2))
    return net.model([1, n, WIDTH], net.add("Concat", up, cut, axis=1))


# Of the last but one, the middle begins at one place in all.
TRIPLES = [(19, 37, 53), (50, 53, 71), (48, 63, 85), (40, 44, 60), (46, 88, 76), (17, 26, 51)]

@pytest.mark.parametrize("lengths", TRIPLES, ids=str)
@pytest.mark.parametrize("parts", (2, 3, 4))
@pytest.mark.parametrize("build", (chunks, halves, cut_to_the_shorter, middle))
def test_no_length_is_wrong(thaw, save, tmp_path, build, parts, lengths):
    seen = seen_of(thaw, save, tmp_path, lambda n: build(n, parts), lengths, UNSEEN)
    assert set(seen.values()) <= {"right", "guard"}, seen

# Lengths of each remainder.
@pytest.mark.parametrize(("build", "parts", "lengths"), [(chunks, 2, (31, 50, 77)), (halves, 2, (31, 50, 77)),
                                                         (cut_to_the_shorter, 3, (31, 50, 75)), (middle, 3, (31, 50, 75)),
                                                         (chunks, 4, (31, 50, 77, 96)), (middle, 4, (32, 51, 73))])
def test_what_the_traces_tell_is_right(thaw, save, tmp_path, build, parts, lengths):
    seen = seen_of(thaw, save, tmp_path, lambda n: build(n, parts), lengths, UNSEEN)
    assert set(seen.values()) == {"right"}, seen


def test_outputs_that_each_trace_calls_otherwise_are_proven_equal(thaw, save, tmp_path):
    """As TorchScript numbers them."""
    paths = []
    for n in (31, 50, 75):
        trace = middle(n, 3)
        trace.graph.output[0].name = trace.graph.node[-1].output[0] = f"v{n}"
        paths.append(save(trace, f"trace_{n}"))
    report = thaw("lift", *paths, "-o", tmp_path / "lifted.onnx", code=0).stdout
    assert "proven equal to every trace at its sizes: 1 output" in report, report


def test_an_integer_without_a_formula_that_stands_in_two_shapes(thaw, save, tmp_path):
    """Two of three traces tell it alike: it is looked at without the third, too."""
    def trace(n, untold):
        net = Net()
        one = net.add("ReduceMean", "x", net.ints(1))
        wide = net.add("ReduceSum", net.add("Expand", one, net.ints(untold, 3)), net.ints(1))
        return net.model([1, n], net.add("Mul", wide, net.add("Expand", one, net.ints(untold, 2))))

    paths = [save(trace(n, untold), f"trace_{n}") for n, untold in ((11, 33), (23, 69), (38, 7919))]
    run = thaw("lift", *paths, "-o", tmp_path / "out.onnx", code=1)
    assert "no size of the inputs gives some of its integers" in run.stdout and "internal" not in run.stdout + run.stderr


def by_index(n, index):
    """One of eight numbers for each of n, by an index into them."""
    net = Net()
    return net.model([1, n], net.add("Mul", "x", net.add("Gather", net.constant(np.arange(1, 9, dtype=np.float32)), net.constant(index), axis=0)))


@pytest.mark.parametrize("lengths", [(16, 28, 35), (12, 20, 27), (8, 19, 31)])
def test_places_in_four_cells_are_told_from_quotients(thaw, save, tmp_path, lengths):
    """Cells of 4, 7 and 9 places are a fourth of each length rounded up, and so are those of `i // ceil(n / 4)`."""
    seen = seen_of(thaw, save, tmp_path, lambda n: by_index(n, np.arange(n) * 4 // n), lengths, (9, 14, 18, 33, 41, 50))
    assert set(seen.values()) == {"right"}, seen


@pytest.mark.parametrize("lengths", [(63, 48, 85), (31, 61, 36)])
def test_a_last_row_of_one_trace_is_no_quotient(thaw, save, tmp_path, lengths):
    """What is left of the last three: all of it in two of the traces, one in the third."""
    def build(n):
        net, count = Net(), up(n, 3)
        rows = net.add("ReduceMax", net.add("Reshape", net.add("Pad", "x", net.ints(0, 0, 0, count * 3 - n)), net.ints(1, count, 3)), net.ints(2), keepdims=0)
        return net.model([1, n], net.add("Div", rows, net.constant(np.minimum(3, n - 3 * np.arange(count)).astype(np.float32))))

    seen = seen_of(thaw, save, tmp_path, build, lengths, (29, 45, 58, 130, 160, 171))
    assert set(seen.values()) <= {"right", "guard"}, seen
