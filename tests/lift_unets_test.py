"""thaw lift: U-Nets of sides that their pools do not divide, whose halves are cut from the middle or padded on both sides (Ronneberger et al. 2015)."""
import numpy as np
import pytest

from lift_net import Net, seen_of

TRACES = {"mixed": [(133, 110), (96, 170), (174, 145)], "others": [(147, 149), (172, 84), (165, 106)], "odd": [(67, 101), (89, 153), (113, 83)],
          "chosen": [(224, 224), (256, 320), (320, 288)], "squares": [(128, 128), (160, 160), (192, 192)], "two": [(133, 110), (96, 170)]}
UNSEEN = [(71, 107), (90, 162), (121, 75), (128, 160), (179, 133), (224, 192)]


def cut_from_middle(net, skip, sides, up, to):
    """What is joined is as large as what came up: a Slice for each side, as torch writes it."""
    for axis, (side, kept) in enumerate(zip(sides, to, strict=True), 2):
        begin = (side - kept) // 2
        skip = net.add("Slice", skip, net.ints(begin), net.ints(begin + kept), net.ints(axis), net.ints(1))
    return skip, up, to


def padded(net, skip, sides, up, to):
    missing = [side - have for side, have in zip(sides, to, strict=True)]
    before, behind = [n // 2 for n in missing], [n - n // 2 for n in missing]
    return skip, net.add("Pad", up, net.ints(0, 0, *before, 0, 0, *behind)), sides


def unet(size, depth, join):
    net, random = Net(), np.random.default_rng(depth)

    def conv(x, channels, made):
        weights = random.standard_normal((made, channels, 3, 3), dtype=np.float32) / np.float32(3 * channels**0.5)
        return net.add("Relu", net.add("Conv", x, net.constant(weights), kernel_shape=[3, 3], pads=[1, 1, 1, 1]))

    x, skips = conv("x", 2, 2), []
    for level in range(depth):
        skips.append((x, size))
        x = conv(net.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), 2 + level, 3 + level)
        size = tuple(side // 2 for side in size)
    for level in reversed(range(depth)):
        weights = random.standard_normal((3 + level, 3 + level, 2, 2), dtype=np.float32) / 4
        up = net.add("ConvTranspose", x, net.constant(weights), kernel_shape=[2, 2], strides=[2, 2])
        skip, up, size = join(net, *skips[level], up, tuple(2 * side for side in size))
        x = conv(net.add("Concat", skip, up, axis=1), 2 + level + 3 + level, 2 + level)
    return net.model([1, 2, *skips[0][1]], x)


@pytest.mark.parametrize("join", [cut_from_middle, padded], ids=lambda f: f.__name__)
@pytest.mark.parametrize("depth", [2, 3, 4])
@pytest.mark.parametrize("traces", TRACES)
def test_halves_are_joined_at_any_size(thaw, save, tmp_path, traces, depth, join):
    seen = seen_of(thaw, save, tmp_path, lambda size: unet(size, depth, join), TRACES[traces], [*UNSEEN], within=1e-4)
    assert set(seen.values()) <= {"right", "guard"}, seen
    if traces in ("mixed", "others"):
        assert set(seen.values()) == {"right"}, seen
