"""Integers that are the same in every trace and are sizes all the same: what a Pad adds, where all traces leave as much of the last window."""
import numpy as np
import pytest

from lift_net import Net, seen_of, up

WIDTH = 3
UNSEEN = (27, 29, 41, 42, 43, 44, 48, 58, 61, 64, 66, 72)

def padded(net, x, amount, axis, rank=3):
    pads = [0] * (2 * rank)
    pads[rank + axis] = amount
    return net.add("Pad", x, net.ints(*pads))

def every(net, x, begin, step, axis):
    return net.add("Slice", x, net.ints(begin), net.ints(2**63 - 1), net.ints(axis), net.ints(step))

def joined_positions(n, parts):
    """Positions taken each so many times and joined, the last ones padded: patches that are merged."""
    net = Net()
    x = padded(net, "x", -n % parts, 1)
    return net.model([1, n, WIDTH], net.add("Neg", net.add("Concat", *[every(net, x, k, parts, 1) for k in range(parts)], axis=2)))

def merged_twice(n, parts):
    """The same once more of what that gives, and back to as many positions by a Resize."""
    net, m = Net(), up(n, parts)
    x = padded(net, "x", -n % parts, 1)
    x = net.add("Concat", *[every(net, x, k, parts, 1) for k in range(parts)], axis=2)
    x = padded(net, x, -m % parts, 1)
    x = net.add("Concat", *[every(net, x, k, parts, 1) for k in range(parts)], axis=2)
    x = net.add("ReduceMean", x, net.ints(2), keepdims=1)
    x = net.add("Expand", x, net.ints(1, 1, WIDTH))
    x = net.add("Resize", net.add("Transpose", x, perm=[0, 2, 1]), "", "", net.ints(1, WIDTH, n), mode="nearest",
                coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    return net.model([1, n, WIDTH], net.add("Add", net.add("Transpose", x, perm=[0, 2, 1]), "x"))

def blocks(n, parts):
    """Blocks of positions, each with the mean of its block taken away, cut back to what came in."""
    net, rows = Net(), up(n, parts)
    x = net.add("Relu", padded(net, "x", -n % parts, 1))
    x = net.add("Reshape", net.add("Mul", x, net.constant(np.float32(0.5))), net.ints(1, rows, parts, WIDTH))
    x = net.add("Sub", x, net.add("ReduceMean", x, net.ints(2), keepdims=1))
    x = net.add("Slice", net.add("Reshape", x, net.ints(1, rows * parts, WIDTH)), net.ints(0), net.ints(n), net.ints(1))
    return net.model([1, n, WIDTH], net.add("Add", x, "x"))

def strided(n, parts):
    """A convolution over whole windows: nothing contradicts another amount."""
    net = Net()
    x = padded(net, net.add("Transpose", "x", perm=[0, 2, 1]), -n % parts, 2)
    kernel = net.constant(np.full((WIDTH, 1, parts), 0.3, np.float32))
    return net.model([1, n, WIDTH], net.add("Conv", x, kernel, strides=[parts], group=WIDTH))

def summed(n, parts):
    """Nothing but a softmax over what was padded."""
    net = Net()
    return net.model([1, n, WIDTH], net.add("Softmax", padded(net, "x", -n % parts, 1), axis=1))


def sides(n, parts, columns):
    """An image whose sides are both filled up to whole windows by one Pad."""
    net = Net()
    x = net.add("Pad", "x", net.ints(0, 0, 0, 0, -n % parts, -columns % parts))
    return net.model([1, n, columns], net.add("Softmax", x, axis=1))


# All leave the same by 2; by 3; by 4 and 8; by none.
TRIPLES = [(25, 39, 53), (26, 41, 53), (27, 43, 67), (48, 63, 85)]

@pytest.mark.parametrize("lengths", TRIPLES, ids=str)
@pytest.mark.parametrize("parts", (2, 3, 4))
@pytest.mark.parametrize("build", (joined_positions, merged_twice, blocks, strided, summed))
def test_no_length_is_wrong(thaw, save, tmp_path, build, parts, lengths):
    seen = seen_of(thaw, save, tmp_path, lambda n: build(n, parts), lengths, UNSEEN)
    assert set(seen.values()) <= {"right", "guard"}, seen


# What is padded once more is as long as each other's remainder leaves it, in every trace: the nodes need the rest to be whole elsewhere, too.
@pytest.mark.parametrize(("parts", "lengths"), [(2, (26, 41, 53)), (3, (29, 46, 66)), (4, (41, 58, 91))])
def test_what_the_nodes_need_of_an_integer_that_is_the_same_in_every_trace(thaw, save, tmp_path, parts, lengths):
    amounts = {-up(n, parts) % parts for n in lengths}
    assert len(amounts) == 1 and amounts != {0}
    seen = seen_of(thaw, save, tmp_path, lambda n: merged_twice(n, parts), lengths, UNSEEN)
    assert set(seen.values()) == {"right"}, seen


# All have as much to add to their columns: nothing, or one, or two; their rows differ.
@pytest.mark.parametrize("columns", [(24, 36, 48), (23, 35, 47), (22, 34, 46), (23, 37, 46)], ids=str)
@pytest.mark.parametrize("parts", (2, 3, 4))
def test_no_side_is_wrong(thaw, save, tmp_path, parts, columns):
    lengths = (27, 40, 62)
    wide = {**dict(zip(lengths, columns, strict=True)), **{n: 20 + n % 17 for n in UNSEEN if n not in lengths}}
    seen = seen_of(thaw, save, tmp_path, lambda n: sides(n, parts, wide[n]), lengths, UNSEEN)
    assert set(seen.values()) <= {"right", "guard"}, seen
